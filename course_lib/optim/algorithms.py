"""The algorithms: SGD, Adam, AdamW, RMSprop, Adagrad. Each is one `update`, a few lines of in-place arithmetic.

PyTorch: torch/optim (sgd.py, adam.py, adamw.py, rmsprop.py, adagrad.py).
"""

import math

from course_lib.engine.tensor import Tensor
from course_lib.optim.optimizer import BuiltIn
from course_lib.surface import creation


class SGD(BuiltIn):
    """param -= lr * direction.

    The direction is the gradient plus weight_decay * param; with momentum, a running sum of it: the first is taken
    as it is, later ones are scaled by 1 - dampening. nesterov looks one step ahead.
    """

    settings = dict(lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False)
    common = dict(maximize=False, foreach=None, differentiable=False, fused=None)

    def __init__(self, params, *args, **given):
        super().__init__(params, *args, **given)
        if self.defaults["nesterov"] and (self.defaults["momentum"] <= 0 or self.defaults["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def update(self, param: Tensor, grad: Tensor, group: dict) -> None:
        """Step one parameter."""
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            buffer = self.state[param].get("momentum_buffer")
            if buffer is None:
                buffer = self.state[param]["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-float(group["lr"]))


class Adam(BuiltIn):
    """param -= lr * mean / (sqrt(mean of squares) + eps), both means running and corrected for their start at 0.

    weight_decay is added to the gradient; with decoupled_weight_decay (AdamW) the parameter is shrunk instead.
    """

    settings = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False)
    common = dict(
        maximize=False, foreach=None, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False
    )

    def update(self, param: Tensor, grad: Tensor, group: dict) -> None:
        """Step one parameter."""
        state = self.begun(param, "exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * group["amsgrad"])
        (beta1, beta2), lr, steps = map(float, group["betas"]), float(group["lr"]), state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * group["weight_decay"])
            else:
                grad = grad.add(param, alpha=group["weight_decay"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
        size = square.sqrt().div_(math.sqrt(1 - beta2**steps)).add_(group["eps"])
        param.addcdiv_(mean, size, value=-lr / (1 - beta1**steps))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter by lr * weight_decay and leaves the gradient alone."""

    settings = {**Adam.settings, "weight_decay": 1e-2}
    common = {**Adam.common, "decoupled_weight_decay": True}


class RMSprop(BuiltIn):
    """param -= lr * grad / (sqrt(running mean of squares) + eps); centered subtracts the running mean's square."""

    settings = dict(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False)
    order = "lr momentum alpha eps centered weight_decay"
    common = dict(capturable=False, foreach=None, maximize=False, differentiable=False)

    def update(self, param: Tensor, grad: Tensor, group: dict) -> None:
        """Step one parameter."""
        names = ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * group["centered"]
        state = self.begun(param, "square_avg", *names)
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        alpha, lr = group["alpha"], float(group["lr"])
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        size = square.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            param.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, size), alpha=-lr)
        else:
            param.addcdiv_(grad, size, value=-lr)


class Adagrad(BuiltIn):
    """param -= lr * grad / (sqrt(sum of all squares so far) + eps)."""

    settings = dict(lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10)
    order = "lr lr_decay eps weight_decay initial_accumulator_value"
    common = dict(foreach=None, maximize=False, differentiable=False, fused=None)

    def __init__(self, params, *args, **given):
        super().__init__(params, *args, **given)
        for group in self.param_groups:
            for param in group["params"]:
                start = creation.full_like(param, group["initial_accumulator_value"])
                self.state[param] = {"step": creation.tensor(0.0), "sum": start}

    def update(self, param: Tensor, grad: Tensor, group: dict) -> None:
        """Step one parameter."""
        state = self.begun(param)
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        lr = float(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        state["sum"].addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, state["sum"].sqrt().add_(group["eps"]), value=-lr)
