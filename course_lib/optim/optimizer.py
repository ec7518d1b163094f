"""Optimizer: parameters in groups with settings, and a state for each parameter.

PyTorch: torch/optim/optimizer.py.
"""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from copy import deepcopy

import numpy as np

from course_lib.arrays.errors import not_supported
from course_lib.autograd.grad_mode import enable_grad, no_grad
from course_lib.engine.hooks import RemovableHandle
from course_lib.engine.tensor import Tensor
from course_lib.nn.module import bind_settings, reset_grad
from course_lib.surface import creation


def run_with_hooks(step: Callable) -> Callable:
    """Return a step method with the step hooks around it."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        self._opt_called = True
        for hook in [*self._optimizer_step_pre_hooks.values()]:
            given = hook(self, (self, *args), kwargs)
            if given is not None:
                if not (isinstance(given, tuple) and len(given) == 2):
                    raise RuntimeError(f"{wrapper} must return None or a tuple of (new_args, new_kwargs), got {given}.")
                (_, *args), kwargs = given
        result = step(self, *args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values()]:
            hook(self, (self, *args), kwargs)
        return result

    return wrapper


class Optimizer:
    """The base of all optimizers. A subclass calls `super().__init__(params, defaults)` and defines `step`.

    params: tensors, or dictionaries {"params": tensors, setting: value, ...}, one for each group
    """

    _opt_called = False  # was a step taken since the first scheduler was made?

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = run_with_hooks(cls.step)

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = defaultdict(dict)  # parameter -> what the algorithm remembers about it
        self.param_groups = []  # dictionaries: "params" and the settings
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type()
            )
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(dict(group) if isinstance(group, dict) else group)

    def add_param_group(self, param_group: dict | int) -> None:
        """Add a group; settings it does not name come from the defaults.

        TypeError for what is no tensor, ValueError for a computed tensor and for one that another group has.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        if any(isinstance(p, tuple) for p in params):
            if not all(isinstance(p, tuple) for p in params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3,
            )
        if len({"param_names" in group for group in [*self.param_groups, param_group]}) > 1:
            raise ValueError("all optimizer param groups should be with/without names")
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in taken for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or with set_to_none=False overwrite them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                reset_grad(param, set_to_none)

    def step(self, closure: object = None) -> object:
        """Change the parameters once. A closure computes the loss anew and returns it."""
        raise NotImplementedError

    # --- saving and loading --------------------------------------------------------------------------------

    def state_dict(self) -> dict:
        """Return {"state": by number of the parameter, "param_groups": the settings, and numbers for parameters}."""
        numbers, start, groups = {}, 0, []
        for group in self.param_groups:
            params = group["params"]
            numbers.update({id(p): i for i, p in enumerate(params, start) if id(p) not in numbers})
            settings = {k: v for k, v in group.items() if k != "params"}
            groups.append({**settings, "params": [numbers[id(p)] for p in params]})
            start += len(params)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over the settings and the state of another optimizer with the same groups, by position."""
        groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_number = {}
        for mine, theirs in zip(self.param_groups, groups, strict=True):
            by_number.update(zip(theirs["params"], mine["params"], strict=True))
            theirs["params"] = mine["params"]
            if "param_names" in mine:
                theirs.setdefault("param_names", mine["param_names"])
        self.state, self.param_groups = defaultdict(dict), groups
        for key, value in state_dict["state"].items():
            if key in by_number:
                self.state[by_number[key]] = fitted(value, by_number[key])
            else:
                self.state[key] = value

    def __getstate__(self):
        """Return what a copy or a file keeps; the hooks are not among it."""
        return {name: vars(self)[name] for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state):
        """Take over the attributes of a copy or a file."""
        self.__dict__.update(state, _optimizer_step_pre_hooks=OrderedDict(), _optimizer_step_post_hooks=OrderedDict())

    # --- hooks ---------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other (args, kwargs)."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def fitted(value: Tensor | dict, param: Tensor, key: str | None = None) -> Tensor | dict:
    """Return loaded state in the parameter's type; step counts stay as they are."""
    if isinstance(value, dict):
        return {k: fitted(v, param, k) for k, v in value.items()}
    return value.to(param.dtype) if isinstance(value, Tensor) and key != "step" else value


class BuiltIn(Optimizer):
    """The base of this folder's optimizers: settings, and `step`, which walks over the parameters.

    A subclass lists `settings`, in the order in which they are given, and `common`, which are given by name only.
    """

    settings, common, order = {}, {}, ""  # order: of the settings in a group, where it is another

    def __init__(self, params, *args, **given):
        common = {name: given.pop(name, default) for name, default in self.common.items()}
        values = bind_settings(self, self.settings, args, given)
        defaults = {name: values[name] for name in self.order.split() or values} | common
        for name in ("differentiable", "fused", "capturable"):
            if defaults.get(name):
                raise not_supported(f"optimizers with {name}=True", "Leave it out.")
        for name in [name for name in self.settings if name not in ("dampening", "betas")]:
            if isinstance(defaults[name], Tensor) and defaults[name].numel() != 1:
                raise ValueError(f"Tensor {name} must be 1-element")
            if not defaults[name] >= 0.0:
                raise ValueError(f"Invalid {IN_WORDS.get(name, f'{name} value')}: {defaults[name]}")
        for index, beta in enumerate(defaults.get("betas", ())):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        super().__init__(params, defaults)

    @no_grad()
    def step(self, closure: Callable | int | None = None) -> Tensor:
        """Change every parameter whose `.grad` is not None, in place and unrecorded.

        The closure, if there is one, runs with recording on; its loss is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self.update(param, -param.grad if group["maximize"] else param.grad, group)
        return loss

    def begun(self, param: Tensor, *names) -> dict:
        """Return what is remembered of a parameter, one step on: zeros under these names, before its first step."""
        state = self.state[param]
        if not state:
            state["step"] = creation.tensor(0.0)
            state.update({name: creation.zeros_like(param) for name in names})
        state["step"].add_(1)
        return state

    def update(self, param: Tensor, grad: Tensor | np.ndarray, group: dict) -> None:
        """Step one parameter; what it must remember until the next step goes into `self.state[param]`."""
        raise NotImplementedError


IN_WORDS = {"lr": "learning rate", "eps": "epsilon value"}
