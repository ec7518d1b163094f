"""Learning-rate schedulers: each `step` writes a new "lr" into the optimizer's groups.

PyTorch: torch/optim/lr_scheduler.py.

Chained schedulers multiply the present rate, so a rate set by hand survives and two schedulers on one optimizer
multiply. LambdaLR computes it from "initial_lr", which is noted when the first scheduler is made.
"""

import math
import warnings

from course_lib.engine.tensor import Tensor
from course_lib.nn.module import REQUIRED, bind_settings
from course_lib.optim.optimizer import Optimizer
from course_lib.surface.left_out import doors


def values(optimizer: Optimizer, key: str) -> list:
    """Return a setting of each group; of a rate that is a tensor, a copy."""
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def set_rates(optimizer: Optimizer, rates: list) -> None:
    """Write a rate into each group; a rate that is a tensor is overwritten in place."""
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate.squeeze() if isinstance(rate, Tensor) else rate)
        else:
            group["lr"] = rate


def check_optimizer(optimizer: Optimizer | int) -> Optimizer:
    """Return the optimizer; TypeError when it is none."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


class LRScheduler:
    """The base of all schedulers. A subclass defines `get_lr`, one rate a group for the epoch `last_epoch`."""

    _is_initial, _get_lr_called_within_step, settings = False, False, {}

    def __init__(self, optimizer, *args, **options):
        given = bind_settings(self, {**self.settings, "last_epoch": -1}, args, options)
        last_epoch = given["last_epoch"]
        self.__dict__.update(given)
        self.optimizer = check_optimizer(optimizer)
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

    def get_lr(self) -> None:
        """Return the rates for the epoch `last_epoch`, one for each group."""
        raise NotImplementedError

    def get_last_lr(self) -> list:
        """Return the rates that the last step set, one for each group."""
        return self._last_lr

    def step(self) -> None:
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
        self.last_epoch += 1
        self._get_lr_called_within_step = True
        set_rates(self.optimizer, self.get_lr())
        self._get_lr_called_within_step = False
        self._last_lr = self.present()

    def present(self) -> list:
        """Return the rates as they are now."""
        return values(self.optimizer, "lr")

    def warn_outside_step(self) -> None:
        """Warn that get_lr answers for the step that is being taken: asked at another time, it is a mistake."""
        if not self._get_lr_called_within_step:
            text = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
            warnings.warn(text, UserWarning, stacklevel=3)

    def state_dict(self) -> dict:
        """Return everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over another scheduler's state; the optimizer's rates are left alone."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """initial_lr times a function of the epoch; one function, or one for each group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        count = len(check_optimizer(optimizer).param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch=last_epoch)

    def get_lr(self) -> list:
        """Return initial_lr * f(epoch)."""
        self.warn_outside_step()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict:
        """Return the state; functions cannot be saved, None stands in their place."""
        return {**super().state_dict(), "lr_lambdas": [None] * len(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over another scheduler's state, but for functions."""
        super().load_state_dict({**state_dict, "lr_lambdas": self.lr_lambdas})


class Chained(LRScheduler):
    """A scheduler that multiplies: a subclass defines `change`, the factor of the epoch `last_epoch`."""

    def get_lr(self) -> list:
        """Return the present rates, changed."""
        self.warn_outside_step()
        return [rate * self.change() for rate in self.present()]



class StepLR(Chained):
    """Times gamma every step_size epochs."""

    settings = {"step_size": REQUIRED, "gamma": 0.1}

    def change(self) -> float:
        """Return gamma at the end of each stretch, 1 elsewhere."""
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1


class ExponentialLR(Chained):
    """Times gamma every epoch."""

    settings = {"gamma": REQUIRED}

    def change(self) -> float:
        """Return gamma after the first epoch."""
        return 1 if self._is_initial or not self.last_epoch else self.gamma


class CosineAnnealingLR(LRScheduler):
    """Down along half a cosine from the initial rate to eta_min at epoch T_max, and up again after it."""

    settings = {"T_max": REQUIRED, "eta_min": 0.0}

    def get_lr(self) -> list:
        """Return the present rates' distance from eta_min, times this epoch's cosine over the last one's."""
        self.warn_outside_step()
        if self._is_initial:
            return self.present()
        before, now = (1 + math.cos(math.pi * n / self.T_max) for n in (self.last_epoch - 1, self.last_epoch))
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom there is nothing to multiply
            return [
                lr + (base - self.eta_min) * now / 2 for base, lr in zip(self.base_lrs, self.present(), strict=True)
            ]
        return [now / before * (lr - self.eta_min) + self.eta_min for lr in self.present()]


__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "StepLR"]
__getattr__, __dir__ = doors("torch.optim.lr_scheduler", __all__)
