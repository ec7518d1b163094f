"""Seldom algorithms: Adadelta, Adamax, NAdam, RAdam. Read when the first of them is used.

PyTorch: torch/optim (adadelta.py, adamax.py, nadam.py, radam.py).
"""

from course_lib.native import creation
from course_lib.optim.optimizer import BuiltIn, check_numbers, refuse


class Adadelta(BuiltIn):
    """param -= lr * grad * root of the mean of squared steps / root of the mean of squared gradients."""

    def __init__(
        self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
        differentiable=False,
    ):  # fmt: skip
        check_numbers(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_numbers(eps=eps, weight_decay=weight_decay)
        refuse(differentiable)
        super().__init__(params, dict(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
            foreach=foreach, differentiable=differentiable,
        ))  # fmt: skip

    def update(self, param, grad, group):
        """One step of one parameter."""
        state, rho, eps = self.state[param], group["rho"], group["eps"]
        if not state:
            state["step"] = creation.tensor(0.0)
            state["square_avg"], state["acc_delta"] = creation.zeros_like(param), creation.zeros_like(param)
        state["step"].add_(1)
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-float(group["lr"]))


class Adamax(BuiltIn):
    """param -= lr * mean / largest recent magnitude of the gradient, the mean running and corrected."""

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
        differentiable=False, capturable=False,
    ):  # fmt: skip
        check_numbers(lr=lr, eps=eps, weight_decay=weight_decay, betas=betas)
        refuse(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        ))  # fmt: skip

    def update(self, param, grad, group):
        """One step of one parameter."""
        state, (beta1, beta2) = self.state[param], group["betas"]
        if not state:
            state["step"] = creation.tensor(0.0)
            state["exp_avg"], state["exp_inf"] = creation.zeros_like(param), creation.zeros_like(param)
        state["step"].add_(1)
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        largest = state["exp_inf"].mul_(beta2)
        largest.copy_(largest.maximum(grad.abs().add_(group["eps"])))
        rate = float(group["lr"]) / (1 - beta1 ** state["step"].item())
        param.addcdiv_(state["exp_avg"], largest, value=-rate)


class _Moments(BuiltIn):
    """What NAdam and RAdam share: two running means, and weight decay of either kind."""

    def moments(self, param, grad, group):
        """(state, the running means, both decays, how many steps were taken), after this gradient."""
        state, (beta1, beta2) = self.state[param], group["betas"]
        if not state:
            self.begin(state, param)
        state["step"].add_(1)
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - float(group["lr"]) * group["weight_decay"])
            else:
                grad = grad.add(param, alpha=group["weight_decay"])
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        return grad, mean, square, beta1, beta2, state["step"].item()

    def begin(self, state, param):
        """What is remembered before the first step."""
        state["step"] = creation.tensor(0.0)
        state["exp_avg"], state["exp_avg_sq"] = creation.zeros_like(param), creation.zeros_like(param)


class NAdam(_Moments):
    """Adam that looks one step ahead, as Nesterov momentum does."""

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
        decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_numbers(lr=lr, eps=eps, betas=betas)
        check_numbers(weight_decay=weight_decay)
        if not momentum_decay >= 0.0:
            raise ValueError(f"Invalid momentum_decay value: {momentum_decay}")
        refuse(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        ))  # fmt: skip

    def begin(self, state, param):
        """The means, and the product of all momenta so far."""
        state["step"], state["mu_product"] = creation.tensor(0.0), creation.tensor(1.0)
        state["exp_avg"], state["exp_avg_sq"] = creation.zeros_like(param), creation.zeros_like(param)

    def update(self, param, grad, group):
        """One step of one parameter."""
        grad, mean, square, beta1, beta2, steps = self.moments(param, grad, group)
        lr, slower = float(group["lr"]), group["momentum_decay"]
        now, ahead = (beta1 * (1.0 - 0.5 * 0.96 ** (n * slower)) for n in (steps, steps + 1))
        product = self.state[param]["mu_product"].mul_(now).item()
        size = square.div(1 - beta2**steps).sqrt().add_(group["eps"])
        param.addcdiv_(grad, size, value=-lr * (1.0 - now) / (1.0 - product))
        param.addcdiv_(mean, size, value=-lr * ahead / (1.0 - product * ahead))


class RAdam(_Moments):
    """Adam that begins as plain momentum, until the mean of squares can be relied on."""

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
        foreach=None, maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_numbers(lr=lr, eps=eps, weight_decay=weight_decay, betas=betas)
        refuse(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        ))  # fmt: skip

    def update(self, param, grad, group):
        """One step of one parameter. `length`: over how many gradients the mean of squares reaches by now."""
        _, mean, square, beta1, beta2, steps = self.moments(param, grad, group)
        lr, most, corrected = float(group["lr"]), 2 / (1 - beta2) - 1, 1 - beta2**steps
        length = most - 2 * steps * beta2**steps / corrected
        step = mean / (1 - beta1**steps) * lr
        if length > 5.0:
            certain = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
            step = step * (corrected**0.5 / square.sqrt().add_(group["eps"])) * certain
        param.add_(step, alpha=-1.0)
