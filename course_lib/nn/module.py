"""Module: a tree of parameters, buffers and submodules, called like a function, with hooks around the call.

PyTorch: torch/nn/modules/module.py.
"""

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator

from course_lib.arrays.dtypes import float32, float64
from course_lib.autograd.grad_mode import no_grad
from course_lib.engine.hooks import RemovableHandle
from course_lib.engine.tensor import Tensor
from course_lib.nn.backward_hooks import BackwardHook, hang_on_last_node
from course_lib.nn.parameter import Buffer, Parameter
from course_lib.surface import creation
from course_lib.surface.left_out import NameLeftOut

MISSING = object()
REGISTERED = {"parameter": "_parameters", "module": "_modules", "buffer": "_buffers"}
KINDS = list(REGISTERED)
EXPECTED = dict(parameter="torch.nn.Parameter", module="torch.nn.Module", buffer="torch.nn.Buffer, torch.Tensor")
HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
LEFT_OUT = """
    bfloat16 compile cuda get_buffer get_parameter get_submodule half register_state_dict_post_hook set_submodule
    share_memory to_empty type
""".split()


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of load_state_dict: the names it did not find and those it did not know."""

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"


class Module:
    """The base of everything with parameters. Call `super().__init__()` first, then assign; define `forward`.

    Assigning a Parameter, a Buffer or a Module to an attribute registers it. They live in the dictionaries
    `_parameters`, `_buffers` and `_modules`, not in `__dict__`, and are found there by attribute access.
    """

    _shown = ()
    _is_full_backward_hook = None  # False: its backward hooks are of the old kind; a module takes one kind

    def __init__(self):
        fields = self.__dict__  # filled directly: assignment through __setattr__ needs these to be there
        fields["training"] = True
        for name in REGISTERED.values():
            fields[name] = {}
        fields["_non_persistent_buffers_set"] = set()
        for name in HOOKS:
            fields[name] = OrderedDict()

    def forward(self, *args) -> None:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # --- calling -------------------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        """Run the forward pre-hooks, `forward`, the forward hooks; and set up the backward hooks, if any."""
        if not (
            self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args, kwargs):
        for hook in [*self._forward_pre_hooks.values()]:
            given = hook(self, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
        backward_hook = None
        full = self._backward_hooks if self._is_full_backward_hook else {}
        if full or self._backward_pre_hooks:
            backward_hook = BackwardHook(self, [*full.values()], [*self._backward_pre_hooks.values()])
            args = backward_hook.watch_inputs(args)
        result = self.forward(*args, **kwargs)
        for hook in [*self._forward_hooks.values()]:
            given = hook(self, args, result)
            result = result if given is None else given
        result = result if backward_hook is None else backward_hook.watch_outputs(result)
        if self._backward_hooks and not full:
            hang_on_last_node(self, [*self._backward_hooks.values()], args, result)
        return result

    # --- hooks ---------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns (a tuple, or one value) replaces the args."""
        return RemovableHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        return RemovableHandle(self._forward_hooks, hook)

    def register_full_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` in backward, once the inputs' gradients are known.

        A tuple it returns replaces grad_input. Inputs that need no gradient show as None.
        """
        return self._register_backward_hook(hook, full=True)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` with what the *last node* of the module gets and sends.

        The old kind, deprecated: only for a module of a single node is that what the names say.
        """
        return self._register_backward_hook(hook, full=False)

    def _register_backward_hook(self, hook, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full
        return RemovableHandle(self._backward_hooks, hook)

    def register_full_backward_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, grad_output)` in backward before the module's own; a tuple replaces grad_output."""
        return RemovableHandle(self._backward_pre_hooks, hook)

    # --- attributes ----------------------------------------------------------------------------------------

    def __getattr__(self, name):
        for kind in REGISTERED.values():
            found = self.__dict__.get(kind, {}).get(name, MISSING)
            if found is not MISSING:
                return found
        if name in LEFT_OUT:
            raise NameLeftOut(
                f"torch.nn.Module.{name} is a method of PyTorch's, and this course leaves it to PyTorch: change "
                "`import course_lib as torch` to `import torch`, and the cell runs there."
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        new = kind_of(value)
        old = next((kind for kind, place in REGISTERED.items() if name in self.__dict__.get(place, ())), None)
        if new is None and old is None:
            object.__setattr__(self, name, value)
        elif value is None or old == "buffer" and new is None and isinstance(value, Tensor):
            self.__dict__[REGISTERED[old]][name] = value
        elif new is None or old is not None and KINDS.index(old) < KINDS.index(new):
            what = "child module" if old == "module" else old
            raise TypeError(f"cannot assign '{type_name(value)}' as {what} '{name}' ({EXPECTED[old]} or None expected)")
        elif new == "buffer":
            self.register_buffer(name, value)
        else:
            self._check_initialised("parameters" if new == "parameter" else new)
            if old != new:  # its own kind is spared: replacing must not change the order
                self._forget(name)
            getattr(self, f"register_{new}")(name, value)

    def __delattr__(self, name):
        if any(name in self.__dict__.get(place, ()) for place in REGISTERED.values()):
            self._forget(name)
        else:
            object.__delattr__(self, name)

    def _forget(self, name):
        """Drop a name from wherever it is kept."""
        for place in REGISTERED.values():
            self.__dict__[place].pop(name, None)
        self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _check_initialised(self, what):
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _register(self, kind, name, value, cls, expected):
        """Add a value of a class, or None, under a name: a non-empty string without dots that means nothing else."""
        self._check_initialised(kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        place = self.__dict__[REGISTERED[kind]]
        if hasattr(self, name) and name not in place:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if not isinstance(value, cls | None):
            raise TypeError(f"cannot assign '{type_name(value)}' object to {kind} '{name}' ({expected} required)")
        place[name] = value

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Add a parameter under a name; None reserves the name and appears nowhere."""
        if isinstance(param, Parameter) and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._register("parameter", name, param, Parameter, "torch.nn.Parameter or None")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool | None = None) -> None:
        """Add a tensor that is state but not trained; persistent=False keeps it out of the state dict."""
        persistent = getattr(tensor, "persistent", True) if persistent is None else persistent
        self._register("buffer", name, tensor, Tensor, "torch Tensor or None")
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: "Module | int") -> None:
        """Add a submodule under a name, which need not be a Python identifier."""
        if not isinstance(module, Module | None):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._register("module", name, module, Module, "")

    register_module = add_module

    # --- walking the tree ----------------------------------------------------------------------------------

    def named_modules(self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator:
        """Return (dotted name, module) for this module and all below; a module used twice comes once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> object:
        """Return this module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator:
        """Return (name, module) for the direct submodules, each once."""
        seen = {None}
        for name, child in self._modules.items():
            if child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> object:
        """Return the direct submodules, each once."""
        return (child for _, child in self.named_children())

    def _named_members(self, place, prefix, recurse, remove_duplicate):
        seen = {None}
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, member in getattr(module, place).items():
                if member not in seen:
                    if remove_duplicate:
                        seen.add(member)
                    yield (f"{module_prefix}.{name}" if module_prefix else name), member

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> object:
        """Return (dotted name, parameter), each parameter once however many modules share it."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> object:
        """Return the parameters of this module and, with recurse, of all below, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> object:
        """Return (dotted name, buffer), persistent or not."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator:
        """Return the buffers of this module and, with recurse, of all below, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    # --- changing the whole tree ---------------------------------------------------------------------------

    def apply(self, fn: Callable) -> "Module":
        """Call `fn(module)` for every module below and then for this one; returns self."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn):
        """Put fn(tensor) in the place of every parameter, its gradient, and every buffer; the parameters stay."""
        for module in self.modules():
            with no_grad():
                for parameter in module._parameters.values():
                    if parameter is not None:
                        parameter.data = fn(parameter)
                    if parameter is not None and parameter.grad is not None:
                        parameter.grad.data = fn(parameter.grad)
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else fn(buffer)
        return self

    def train(self, mode: int = True) -> "Module":
        """Set training mode for this module and all below: dropout drops, batch norm follows the batches."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> "Module":
        """Set evaluation mode: the opposite of train(). It has nothing to do with recording gradients."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        """Freeze or unfreeze all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or with set_to_none=False overwrite them with zeros."""
        for parameter in self.parameters():
            reset_grad(parameter, set_to_none)

    def to(self, *args, **kwargs) -> "Module":
        """Convert the floating-point parameters and buffers; the parameters stay the same objects.

        The arguments are those of Tensor.to: a dtype, a device (the CPU), or a tensor to be like.
        """
        dtype = creation.zeros(1, dtype=bool).to(*args, **kwargs).dtype
        if dtype.name == "bool":
            return self
        if not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype}")
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> "Module":
        """Return the floating-point parameters and buffers as float32."""
        return self.to(float32)

    def double(self) -> "Module":
        """Return the floating-point parameters and buffers as float64."""
        return self.to(float64)

    def cpu(self) -> "Module":
        """Return the module itself: everything is on the CPU."""
        return self

    # --- saving and loading --------------------------------------------------------------------------------

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict:
        """Return {dotted name: tensor} for all parameters and persistent buffers: detached aliases, not copies."""
        return OrderedDict(
            (prefix + key, tensor if keep_vars else tensor.detach()) for key, _, _, tensor in self._persistent()
        )

    def _persistent(self):
        """Yield (dotted name, module, name in it, tensor) of all that a state dict holds."""
        for path, module in self.named_modules(remove_duplicate=False):
            for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is not None and name not in module._non_persistent_buffers_set:
                    yield (f"{path}.{name}" if path else name), module, name, tensor

    def load_state_dict(self, state_dict: dict | int, strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy the values of a state dict into this module's tensors (or, with assign, take its tensors over).

        RuntimeError that lists every name missing, every name unknown (both only if strict), and every shape that
        does not fit. What fits has been loaded even then.
        """
        if not hasattr(state_dict, "keys") or not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, known, problems = [], set(), []
        for key, module, name, tensor in [*self._persistent()]:
            known.add(key)
            if key not in state_dict:
                missing.append(key)
            elif (problem := module._load_one(name, tensor, key, state_dict[key], assign)) is not None:
                problems.append(problem)
        unexpected = [key for key in state_dict if key not in known]
        for keys, text in ((unexpected, "Unexpected"), (missing, "Missing")):
            if keys and strict:
                names = ", ".join(f'"{key}"' for key in keys)
                problems.insert(0, f"{text} key(s) in state_dict: {names}. ")
        if problems:
            text = "\n\t".join(problems)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return _IncompatibleKeys(missing, unexpected)

    def _load_one(self, name, tensor, key, value, assign):
        """Load one tensor; the sentence that says why not, or None."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
        if value.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                f"current model is {tensor.shape}."
            )
        with no_grad():
            if not assign:
                tensor.copy_(value)
            elif isinstance(tensor, Parameter):  # frozen or not is this module's affair, not the checkpoint's
                value = value if isinstance(value, Parameter) else Parameter(value, tensor.requires_grad)
                self._parameters[name] = value.requires_grad_(tensor.requires_grad)
            else:
                self._buffers[name] = value
        return None

    # --- printing ------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return what is printed between the parentheses: the settings that `_shown` names, or a subclass's own."""
        return settings_text(self, *self._shown)

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): {indented(repr(child))}" for name, child in self._modules.items()]
        if not children and len(extra) <= 1:
            return f"{self._get_name()}({''.join(extra)})"
        lines = "".join(f"\n  {line}" for line in [*extra, *children])
        return f"{self._get_name()}({lines}\n)"


REQUIRED = object()  # in the place of a default


def bind_settings(owner: object, settings: dict, args: tuple, options: dict) -> dict:
    """Return a class's settings {name: default} with the values that its constructor was given; or TypeError."""
    given = dict(zip(settings, args, strict=False)) | options
    values = {**settings, **given}
    missing = [name for name, value in values.items() if value is REQUIRED]
    if missing or len(args) > len(settings) or given.keys() - settings:
        unknown = sorted(given.keys() - settings)
        wrong = f"got an unexpected keyword argument {unknown[0]!r}" if unknown else "got too many arguments"
        wrong = f"missing the argument {missing[0]!r}" if missing else wrong
        raise TypeError(f"{type(owner).__name__}.__init__() {wrong}")
    return values


def kind_of(value: object) -> str | None:
    """Return what a value is registered as when it is assigned to an attribute: a key of REGISTERED, or None."""
    kinds = ((Parameter, "parameter"), (Module, "module"), (Buffer, "buffer"))
    return next((kind for cls, kind in kinds if isinstance(value, cls)), None)


def type_name(value: Tensor | int) -> str:
    """Return how messages name what somebody tried to assign: 'torch.FloatTensor', 'int' or '__main__.Net'."""
    if isinstance(value, Tensor):
        return value.type()
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
    return name if module in (None, "builtins") else f"{module}.{name}"


def settings_text(module: Module, *names) -> str:
    """Return the settings of a module as extra_repr shows them: "p=0.5, inplace=False"; of a bias, if there is one."""
    values = {name: getattr(module, name) for name in names}
    return ", ".join(f"{k}={v is not None if k == 'bias' else v!r}" for k, v in values.items())


def indented(text: str) -> str:
    """Return all lines but the first, two spaces further in."""
    return text.replace("\n", "\n  ")


def reset_grad(parameter: Tensor, set_to_none: bool) -> None:
    """Drop one gradient, or cut its history and overwrite it with zeros."""
    if set_to_none or parameter.grad is None:
        parameter.grad = None
    else:
        parameter.grad.detach_() if parameter.grad.grad_fn is not None else parameter.grad.requires_grad_(False)
        parameter.grad.zero_()
