"""Optimizer: parameters in groups with settings, and a state for each parameter.

PyTorch: torch/optim/optimizer.py.
"""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy

from course_lib.autograd.grad_mode import enable_grad, no_grad
from course_lib.engine.graph import RemovableHandle
from course_lib.engine.tensor import Tensor
from course_lib.nn.module import reset_grad
from course_lib.surface import creation

REQUIRED = object()  # the default of a setting that every group must have


def run_with_hooks(step):
    """A step method with the step hooks around it."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        for hook in [*before.values()]:
            given = hook(self, (self, *args), kwargs)
            if given is not None:
                if not (isinstance(given, tuple) and len(given) == 2):
                    raise RuntimeError(
                        f"{wrapper} must return None or a tuple of (new_args, new_kwargs), but got {given}."
                    )
                (_, *args), kwargs = given
        result = step(self, *args, **kwargs)
        for hook in [*after.values()]:
            hook(self, (self, *args), kwargs)
        return result

    return wrapper


class Optimizer:
    """The base of all optimizers. A subclass calls `super().__init__(params, defaults)` and defines `step`.

    params: tensors, or dictionaries {"params": tensors, setting: value, ...}, one for each group
    """

    _opt_called = False  # was a step taken since a scheduler began to watch?

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = run_with_hooks(cls.step)

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = defaultdict(dict)  # parameter -> what the algorithm remembers about it
        self.param_groups = []  # dictionaries: "params" and the settings
        for kind in _HOOKS:
            setattr(self, f"_optimizer_{kind}_hooks", OrderedDict())
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

    def add_param_group(self, param_group):
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
            check_parameter(param)
        for name, default in self.defaults.items():
            if default is REQUIRED and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {which} to the "
                    "optimizer"
                )
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in taken for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Drop all gradients, or with set_to_none=False overwrite them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                reset_grad(param, set_to_none)

    def step(self, closure=None):
        """Change the parameters once. A closure computes the loss anew and returns it."""
        raise NotImplementedError

    # --- saving and loading --------------------------------------------------------------------------------

    def state_dict(self):
        """{"state": by number of the parameter, "param_groups": the settings, and numbers for parameters}."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, start, groups = {}, 0, []
        for group in self.param_groups:
            params = group["params"]
            numbers.update({id(p): i for i, p in enumerate(params, start) if id(p) not in numbers})
            settings = {k: v for k, v in group.items() if k != "params"}
            groups.append({**settings, "params": [numbers[id(p)] for p in params]})
            start += len(params)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            given = hook(self, result)
            result = result if given is None else given
        return result

    def load_state_dict(self, state_dict):
        """Take over the settings and the state of another optimizer with the same groups, by position."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            given = hook(self, state_dict)
            state_dict = state_dict if given is None else given
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
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param = by_number.get(key)
            state[key if param is None else param] = value if param is None else fitted(value, param)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self):
        """What a copy or a file keeps; the hooks are not among it."""
        return {name: vars(self)[name] for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state):
        """Take over attributes: from a copy, a file, or load_state_dict."""
        self.__dict__.update(state)
        for kind in _HOOKS:
            self.__dict__.setdefault(f"_optimizer_{kind}_hooks", OrderedDict())
        self.defaults.setdefault("differentiable", False)

    # --- hooks ---------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other (args, kwargs)."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` before the state dict is made."""
        return added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` on a finished state dict; what it returns takes its place."""
        return added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` on a copy before it is loaded; what it returns takes its place."""
        return added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` when a state dict was loaded."""
        return added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


_HOOKS = (
    "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post",
)  # fmt: skip


def added(hooks, hook, prepend):
    """Register a hook, last or first, and return the handle that removes it."""
    handle = RemovableHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def check_parameter(param):
    """TypeError for what is no tensor, ValueError for a computed tensor."""
    if not isinstance(param, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
    if not (param.is_leaf or param.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def fitted(value, param, key=None):
    """Loaded state in the parameter's type; step counts stay as they are."""
    if isinstance(value, Tensor):
        floats = param is not None and param.is_floating_point() and key != "step"
        return value.to(param.dtype) if floats else value
    if isinstance(value, dict):
        return {k: fitted(v, param, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(fitted(v, param) for v in value)
    return value


class BuiltIn(Optimizer):
    """What the optimizers of this folder share: `step` walks over the parameters that have a gradient."""

    added_later = {}  # settings that older state dicts do not have, and what holds for them

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.added_later.items():
                group.setdefault(name, value)
            for param in group["params"]:
                known = self.state.get(param, {})
                if "step" in known and not isinstance(known["step"], Tensor):
                    known["step"] = creation.tensor(float(known["step"]))

    @no_grad()
    def step(self, closure=None):
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

    def update(self, param, grad, group):
        """One parameter's step; what it must remember until the next one goes into `self.state[param]`."""
        raise NotImplementedError


def check_numbers(lr=0.0, eps=0.0, weight_decay=0.0, betas=(), **others):
    """ValueError for settings outside their range."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    named = {"learning rate": lr, "epsilon value": eps, **{f"{k} value": v for k, v in others.items()}}
    for name, value in {**named, "weight_decay value": weight_decay}.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name}: {value}")
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def checked_betas(betas, floats_only):
    """Adam's two betas: floats, or tensors of one element. ValueError for anything else, integers too."""
    kinds = [float if isinstance(beta, float) else Tensor if isinstance(beta, Tensor) else None for beta in betas]
    if kinds[0] is None or kinds[0] is not kinds[1]:
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas if kinds[0] is Tensor else ()):
        if floats_only:
            raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")
    return tuple(beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta for beta in betas)


def refuse_capturable(group):
    """AssertionError, as in PyTorch, for a setting that only other devices have."""
    if group["capturable"]:
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', "
            "'privateuseone', 'xla']."
        )


def refuse(differentiable, fused=None):
    """The two settings of PyTorch's optimizers that this engine leaves out."""
    from course_lib.arrays.errors import not_supported

    if differentiable:
        raise not_supported("optimizers with differentiable=True", "Write the step with out-of-place operations.")
    if fused:
        raise not_supported("optimizers with fused=True", "Leave it out: the result is the same.")
