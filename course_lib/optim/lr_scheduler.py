"""Learning-rate schedulers: each `step` writes a new "lr" into the optimizer's groups.

PyTorch: torch/optim/lr_scheduler.py.

Chained schedulers multiply the present rate, so a rate set by hand survives and two schedulers on one optimizer
multiply. LambdaLR computes it from "initial_lr", which is noted when the first scheduler is made.
"""

import math
import warnings
from bisect import bisect_right
from collections import Counter

from course_lib.engine.tensor import Tensor
from course_lib.nn.module import REQUIRED, bound
from course_lib.optim.optimizer import Optimizer
from course_lib.surface.left_out import doors


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


def one_for_each_group(name, value, optimizer):
    """A list with one value for each group; ValueError for a list of another length, TypeError for no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, list | tuple) else [value] * count
    if len(values) != count:
        raise ValueError(f"Expected {count} {name}, but got {len(values)}")
    return values


class LRScheduler:
    """The base of all schedulers. A subclass defines `get_lr`, one rate a group for the epoch `last_epoch`."""

    _is_initial, _get_lr_called_within_step, settings = False, False, {}

    def __init__(self, optimizer, *args, **options):
        given = bound(self, {**self.settings, "last_epoch": -1}, args, options)
        last_epoch = given["last_epoch"]
        self.__dict__.update(given)
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if "initial_lr" not in optimizer.param_groups[0]:
            optimizer._opt_called = False  # the first scheduler looks out for the first step from now on
        for group, rate in zip(optimizer.param_groups, values(optimizer, "lr"), strict=True):
            if last_epoch == -1:
                group.setdefault("initial_lr", rate)
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self):
        """The rates for the epoch `last_epoch`, one for each group."""
        raise NotImplementedError

    def first_lr(self):
        """The rates for epoch 0, when the present ones are those of another scheduler."""
        return self.get_lr()

    def get_last_lr(self):
        """The rates that the last step set, one for each group."""
        return self._last_lr

    def step(self):
        """Go on to the next epoch and set its rates. Call it after `optimizer.step()`."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                "do this will result in PyTorch skipping the first value of the learning rate schedule. See more "
                "details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning, stacklevel=2,
            )
        self._step_count += 1
        self.go_to(self.last_epoch + 1, self.get_lr)

    def go_to(self, epoch, rates):
        """Make this the epoch, and set the rates that a function gives for it."""
        self.last_epoch = epoch
        self._get_lr_called_within_step = True
        set_rates(self.optimizer, rates())
        self._get_lr_called_within_step = False
        self._last_lr = self.present()

    def present(self):
        """The rates as they are now."""
        return values(self.optimizer, "lr")

    def warn_outside_step(self):
        """get_lr answers for the step that is being taken: asked at another time, it is probably a mistake."""
        if not self._get_lr_called_within_step:
            text = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
            warnings.warn(text, UserWarning, stacklevel=3)

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
        super().__init__(optimizer, last_epoch=last_epoch)

    def get_lr(self):
        """initial_lr * f(epoch)."""
        self.warn_outside_step()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self):
        """The state; functions cannot be saved, None stands in their place."""
        return {**super().state_dict(), "lr_lambdas": [None] * len(self.lr_lambdas)}

    def load_state_dict(self, state_dict):
        """Take over another scheduler's state, but for functions."""
        super().load_state_dict({**state_dict, "lr_lambdas": self.lr_lambdas})


class Chained(LRScheduler):
    """A scheduler that multiplies: a subclass defines `change`, the factor of the epoch `last_epoch`."""

    def get_lr(self):
        """The present rates, changed."""
        self.warn_outside_step()
        return [rate * self.change() for rate in self.present()]

    def first_lr(self):
        """The initial rates, changed."""
        return [base * self.change() for base in self.base_lrs]


class StepLR(Chained):
    """Times gamma every step_size epochs."""

    settings = {"step_size": REQUIRED, "gamma": 0.1}

    def change(self):
        """gamma at the end of each stretch."""
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1


class MultiStepLR(Chained):
    """Times gamma at each of the given epochs."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch=last_epoch)

    def change(self):
        """gamma at a milestone, once for each time it is listed."""
        return self.gamma ** self.milestones[self.last_epoch]


class ExponentialLR(Chained):
    """Times gamma every epoch."""

    settings = {"gamma": REQUIRED}

    def change(self):
        """gamma after the first epoch."""
        return 1 if self._is_initial or not self.last_epoch else self.gamma


class LinearLR(Chained):
    """A factor that goes in a straight line from start_factor to end_factor within total_iters epochs."""

    settings = {"start_factor": 1.0 / 3, "end_factor": 1.0, "total_iters": 5}

    def change(self):
        """This epoch's factor over the last one's."""
        if not (0 < self.start_factor <= 1 and 0 <= self.end_factor <= 1):
            raise ValueError("Starting and ending multiplicative factors are expected to be between 0 and 1.")
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        way = self.end_factor - self.start_factor
        return 1.0 + way / (self.total_iters * self.start_factor + (self.last_epoch - 1) * way)


class CosineAnnealingLR(LRScheduler):
    """Down along half a cosine from the initial rate to eta_min at epoch T_max, and up again after it."""

    settings = {"T_max": REQUIRED, "eta_min": 0.0}

    def get_lr(self):
        """The present rates' distance from eta_min, times this epoch's cosine over the last one's."""
        self.warn_outside_step()
        if self._is_initial:
            return self.present()
        before, now = (1 + math.cos(math.pi * n / self.T_max) for n in (self.last_epoch - 1, self.last_epoch))
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom there is nothing to multiply
            return [
                lr + (base - self.eta_min) * now / 2 for base, lr in zip(self.base_lrs, self.present(), strict=True)
            ]
        return [now / before * (lr - self.eta_min) + self.eta_min for lr in self.present()]

    def first_lr(self):
        """The initial rates."""
        return [self.eta_min + (base - self.eta_min) for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to max_lr within pct_start of all steps, then down to almost nothing; the momentum the other way."""

    def __init__(
        self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
        anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
        final_div_factor=1e4, last_epoch=-1,
    ):
        limits = dict(max_lr=max_lr, base_momentum=base_momentum, max_momentum=max_momentum)
        each = [one_for_each_group(name, value, optimizer) for name, value in limits.items()]
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0 or not 0 <= pct_start <= 1 or (
            anneal_strategy not in ("cos", "linear")
        ):
            raise ValueError(
                "Expected positive integer total_steps, pct_start between 0 and 1, anneal_strategy 'cos' or 'linear'. "
                f"Got {total_steps}, {pct_start}, {anneal_strategy!r}"
            )
        self.total_steps, self.peak, self.anneal_strategy = total_steps, pct_start * total_steps - 1, anneal_strategy
        self.cycle_momentum, self.use_beta1 = cycle_momentum, "betas" in optimizer.defaults
        if cycle_momentum and not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        if last_epoch == -1:
            for group, top, low, high in zip(optimizer.param_groups, *each, strict=True):
                group["initial_lr"], group["max_lr"] = top / div_factor, top
                group["min_lr"] = group["initial_lr"] / final_div_factor
                group.update({"max_momentum": high, "base_momentum": low} if cycle_momentum else {})
        super().__init__(optimizer, last_epoch=last_epoch)

    def between(self, start, end, part):
        """A number on the way from start to end."""
        if self.anneal_strategy == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self):
        """The rates at this step; the momentum is written into the groups."""
        self.warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        rises = self.last_epoch <= self.peak
        start, end = (0.0, self.peak) if rises else (self.peak, self.total_steps - 1)
        part = (self.last_epoch - start) / (end - start)
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            ends = ("max_momentum", "base_momentum") if rises else ("base_momentum", "max_momentum")
            momentum = self.between(group[ends[0]], group[ends[1]], part)
            group.update({"betas": (momentum, *group["betas"][1:])} if self.use_beta1 else {"momentum": momentum})
        ends = ("initial_lr", "max_lr") if rises else ("max_lr", "min_lr")
        return [self.between(group[ends[0]], group[ends[1]], part) for group in self.optimizer.param_groups]


class SequentialLR(LRScheduler):
    """One scheduler after another: the next begins at its milestone, as if that were epoch 0."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        others = SequentialLR, ReduceLROnPlateau
        if any(isinstance(each, others) or each.optimizer is not optimizer for each in schedulers):
            raise ValueError(
                "SequentialLR expects all schedulers to belong to the same optimizer, and none of them to be a "
                "ReduceLROnPlateau or a SequentialLR"
            )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        set_rates(optimizer, values(optimizer, "initial_lr"))
        for scheduler in schedulers:
            scheduler.last_epoch -= 1  # each of them has taken its first step when it was made
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self):
        """One step of the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler.go_to(0, scheduler.first_lr)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self):
        """The state, with that of each scheduler."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Take over another one's state, scheduler by scheduler."""
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)
        super().load_state_dict({**state_dict, "_schedulers": self._schedulers})


class ReduceLROnPlateau(LRScheduler):
    """Times factor when a measured number has not improved for more than `patience` epochs: step(number)."""

    def __init__(
        self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
        min_lr=0, eps=1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"mode {mode} or threshold mode {threshold_mode} is unknown!")
        self.min_lrs = one_for_each_group("min_lrs", min_lr, optimizer)
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.optimizer, self.factor = optimizer, factor
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch, self._last_lr = 0, self.present()
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.best = self.mode_worse = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def _is_better(self, value, best):
        sign = -1 if self.mode == "min" else 1
        wanted = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return value > wanted if sign == 1 else value < wanted

    def step(self, metrics):
        """Note the number of this epoch, and lower the rates after too many without improvement."""
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            low = self.min_lrs if self.default_min_lr is None else self.default_min_lr
            self.min_lrs = one_for_each_group("min_lrs", low, self.optimizer)  # a group may have been added
            new = [max(float(old) * self.factor, low) for old, low in zip(self.present(), self.min_lrs, strict=True)]
            rates = zip(self.present(), new, strict=True)
            set_rates(self.optimizer, [new if float(old) - new > self.eps else old for old, new in rates])
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.present()


__all__ = """
    CosineAnnealingLR ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR OneCycleLR ReduceLROnPlateau SequentialLR
    StepLR
""".split()
__getattr__, __dir__ = doors("torch.optim.lr_scheduler", __all__)
