"""Learning-rate schedulers: each `step` writes a new "lr" into the optimizer's groups.

PyTorch: torch/optim/lr_scheduler.py.

Chainable schedulers compute the next rate from the present one, so a rate set by hand survives and two schedulers on
one optimizer multiply. LambdaLR computes it from "initial_lr", which is noted when the first scheduler is made.
"""

import functools
import math
import types
import warnings
import weakref
from bisect import bisect_right
from collections import Counter

from course_lib.engine.tensor import Tensor
from course_lib.optim.optimizer import Optimizer
from course_lib.surface.left_out import doors

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def values(optimizer, key):
    """A setting of each group; of a rate that is a tensor, a copy."""
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def set_rates(optimizer, rates):
    """Write a rate into each group; a rate that is a tensor is overwritten in place."""
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate.squeeze() if isinstance(rate, Tensor) else rate)
        else:
            group["lr"] = rate


def watch(optimizer):
    """From now on each step of the optimizer is noted, for the schedulers' warning about the order of steps."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step, watched = optimizer.step.__func__, weakref.ref(optimizer)  # a weak one: no ring of references

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        watched()._opt_called = True
        return step(watched(), *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True
    optimizer.step = wrapper


class LRScheduler:
    """The base of all schedulers. A subclass defines `get_lr`, one rate a group for the epoch `last_epoch`."""

    _is_initial = _get_lr_called_within_step = False

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", values(optimizer, "lr")[number])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from "
                    "a checkpoint "
                    "but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a "
                    "fresh training "
                    "run (not recommended)"
                )
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        watch(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self):
        """The rates for the epoch `last_epoch`, one for each group."""
        raise NotImplementedError

    def get_last_lr(self):
        """The rates that the last step set, one for each group."""
        return self._last_lr

    def step(self, epoch=None):
        """Go on to the next epoch and set its rates. Call it after `optimizer.step()`."""
        if self._step_count == 1 and not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {HOW_TO}",
                UserWarning, stacklevel=2,
            )
        elif self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                f"do this will result in PyTorch skipping the first value of the learning rate schedule. {HOW_TO}",
                UserWarning, stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            rates = self._get_closed_form_lr() if closed else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        set_rates(self.optimizer, rates)
        self._last_lr = self.present()

    def present(self):
        """The rates as they are now."""
        return values(self.optimizer, "lr")

    def warn_outside_step(self):
        """get_lr answers for the step that is being taken: asked at another time, it is probably a mistake."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning,
                stacklevel=3,
            )

    def state_dict(self):
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take over another scheduler's state; the optimizer's rates are left alone."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """initial_lr times a function of the epoch; one function, or one for each group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = one_for_each_group("lr_lambdas", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """initial_lr * f(epoch)."""
        self.warn_outside_step()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self):
        """The state; functions are left out (as None), objects that are callable keep their attributes."""
        return state_without_functions(super().state_dict())

    def load_state_dict(self, state_dict):
        """Take over another scheduler's state, but for functions."""
        load_but_functions(self, state_dict)


def one_for_each_group(name, functions, optimizer):
    """A list of functions, one for each group; ValueError when their number does not fit."""
    count = len(optimizer.param_groups)
    if not isinstance(functions, list | tuple):
        return [functions] * count
    if len(functions) != count:
        raise ValueError(f"Expected {count} {name}, but got {len(functions)}")
    return list(functions)


def state_without_functions(state):
    """A copy of the state with None in the place of plain functions, which cannot be saved."""
    state = dict(state)
    functions = state.pop("lr_lambdas")
    kept = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in functions]
    return {**state, "lr_lambdas": kept}


def load_but_functions(scheduler, state_dict):
    """Load all but the functions; callable objects get their attributes back."""
    state = dict(state_dict)
    for function, attributes in zip(scheduler.lr_lambdas, state.pop("lr_lambdas"), strict=True):
        if attributes is not None:
            function.__dict__.update(attributes)
    scheduler.__dict__.update(state)


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The present rates, times gamma at the end of each stretch."""
        self.warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self.present()
        return [lr * self.gamma for lr in self.present()]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at each of the given epochs."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The present rates, times gamma at a milestone (once for each time it is listed)."""
        self.warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self.present()
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self.present()]

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The present rates, times gamma after the first epoch."""
        self.warn_outside_step()
        return self.present() if self._is_initial else [lr * self.gamma for lr in self.present()]

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor that goes in a straight line from start_factor to end_factor within total_iters epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The present rates, times this epoch's factor over the last one's."""
        self.warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self.present()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self.present()
        way = self.end_factor - self.start_factor
        change = 1.0 + way / (self.total_iters * self.start_factor + (self.last_epoch - 1) * way)
        return [lr * change for lr in self.present()]

    def _get_closed_form_lr(self):
        way, gone = self.end_factor - self.start_factor, min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + way * gone / self.total_iters) for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Down along half a cosine from the initial rate to eta_min at epoch T_max, and up again after it."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def cosine(self, epoch):
        """1 + cos, which falls from 2 to 0 within T_max epochs."""
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self):
        """The present rates' distance from eta_min, times this epoch's cosine over the last one's."""
        self.warn_outside_step()
        if self._is_initial:
            return self.present()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom there is nothing to multiply
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                lr + (base - self.eta_min) * rise for base, lr in zip(self.base_lrs, self.present(), strict=True)
            ]
        change = self.cosine(self.last_epoch) / self.cosine(self.last_epoch - 1)
        return [change * (lr - self.eta_min) + self.eta_min for lr in self.present()]

    def _get_closed_form_lr(self):
        half = self.cosine(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * half for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to max_lr within pct_start of all steps, then down to almost nothing; the momentum the other way."""

    def __init__(
        self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
        anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
        final_div_factor=1e4, three_phase=False, last_epoch=-1,
    ):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        counts = dict(total_steps=total_steps)
        if total_steps is None:
            counts = dict(epochs=epochs, steps_per_epoch=steps_per_epoch)
        if None in counts.values():
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, count in counts.items():
            if not isinstance(count, int) or count <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {count}")
        self.total_steps = math.prod(counts.values())
        up, last = ("initial_lr", "max_lr", "max_momentum", "base_momentum"), self.total_steps - 1
        peak = float(pct_start * self.total_steps) - 1
        down, out = ("max_lr", "min_lr", *up[:1:-1]), ("initial_lr", "min_lr", "max_momentum", "max_momentum")
        phases = [(peak, *up), (last, *down)]
        if three_phase:
            back = ("max_lr", "initial_lr", *up[:1:-1])
            phases = [(peak, *up), (float(2 * pct_start * self.total_steps) - 2, *back), (last, *out)]
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases = [dict(zip(names, phase, strict=True)) for phase in phases]
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highest = self._each("max_lr", max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._cycle_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _each(self, name, value):
        """One value for each group; ValueError when their number does not fit."""
        groups = self.optimizer.param_groups
        if not isinstance(value, list | tuple):
            value = [value] * len(groups)
        elif len(value) != len(groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                f"param_groups has {len(groups)}."
            )
        return [v.clone() if isinstance(v, Tensor) else v for v in value]

    def _cycle_momentum(self, base_momentum, max_momentum, last_epoch):
        """Begin with the largest momentum; both ends are noted in the groups."""
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        highest, lowest = self._each("max_momentum", max_momentum), self._each("base_momentum", base_momentum)
        if last_epoch == -1:
            for group, high, low in zip(self.optimizer.param_groups, highest, lowest, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group, momentum):
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def _between(self, start, end, part):
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self):
        """The rates at this step of its phase; the momentum is written into the groups."""
        self.warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        ends = [phase["end_step"] for phase in self._schedule_phases]
        turn = next((i for i, end in enumerate(ends) if self.last_epoch <= end), len(ends) - 1)
        start, phase = ends[turn - 1] if turn else 0.0, self._schedule_phases[turn]
        part = (self.last_epoch - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, part))
        return rates


class SequentialLR(LRScheduler):
    """One scheduler after another: the next begins at its milestone, as if that were epoch 0."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        set_rates(optimizer, values(optimizer, "initial_lr"))
        self.recursive_undo()  # each of them has taken its first step when it was made
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _check(self, schedulers, optimizer):
        """ValueError or TypeError for schedulers that cannot be put together."""
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def recursive_undo(self, sched=None):
        """Take back one epoch of all that are inside."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self):
        """One step of the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self):
        """The state, with that of each scheduler."""
        own = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        return {**own, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Take over another one's state, scheduler by scheduler."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for index, state in enumerate(state_dict["_schedulers"]):
            self._schedulers[index].load_state_dict(state)


class ReduceLROnPlateau(LRScheduler):
    """Times factor when a measured number has not improved for more than `patience` epochs: step(number)."""

    def __init__(
        self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
        min_lr=0, eps=1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.factor, self.optimizer, count = factor, optimizer, len(optimizer.param_groups)
        several = isinstance(min_lr, list | tuple)
        if several and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * count
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch, self._last_lr = 0, self.present()
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode, threshold, threshold_mode):
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self):
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def _is_better(self, value, best):
        sign = -1 if self.mode == "min" else 1
        wanted = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return value > wanted if sign == 1 else value < wanted

    @property
    def in_cooldown(self):
        """True in the epochs after a change in which bad ones are not counted."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Note the number of this epoch, and lower the rates after too many without improvement."""
        value = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.present()

    def _reduce_lr(self, epoch):
        """Multiply the rates by the factor; a change smaller than eps is not made."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        rates = [max(float(group["lr"]) * self.factor, low) for group, low in zip(groups, self.min_lrs, strict=True)]
        kept = [float(group["lr"]) - rate <= self.eps for group, rate in zip(groups, rates, strict=True)]
        old = self.present()
        set_rates(self.optimizer, [a if keep else b for a, b, keep in zip(old, rates, kept, strict=True)])

    def load_state_dict(self, state_dict):
        """Take over another one's state."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


__all__ = """
    CosineAnnealingLR ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR OneCycleLR ReduceLROnPlateau SequentialLR
    StepLR
""".split()
__getattr__, __dir__ = doors("torch.optim.lr_scheduler", __all__)
