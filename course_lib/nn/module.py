"""Module: a tree of parameters, buffers and submodules, called like a function, with hooks around the call.

PyTorch: torch/nn/modules/module.py.
"""

import inspect
import warnings
from collections import OrderedDict, namedtuple

from course_lib.arrays.errors import not_supported
from course_lib.autograd.grad_mode import no_grad
from course_lib.engine.graph import RemovableHandle
from course_lib.engine.tensor import Tensor
from course_lib.nn.parameter import Buffer, Parameter

MISSING = object()


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the names it did not find and those it did not know."""

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


_IncompatibleKeys.__name__ = "_IncompatibleKeys"


def type_name(value):
    """How messages name what somebody tried to assign: 'torch.FloatTensor', 'int' or '__main__.Net'."""
    if isinstance(value, Tensor):
        return value.type()
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
    return name if module in (None, "builtins") else f"{module}.{name}"


def _forward_is_missing(self, *args):
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class _Call:
    """One call of a module that has hooks: its arguments and its output as they stand, and the hooks that ran."""

    def __init__(self, args, kwargs):
        self.args, self.kwargs, self.result, self.ran = args, kwargs, None, set()

    def seen(self, with_kwargs):
        """What a forward hook is called with, after the module."""
        return (self.args, self.kwargs, self.result) if with_kwargs else (self.args, self.result)

    def take(self, given):
        """What a forward hook returned: a new output, or None."""
        if given is not None:
            self.result = given


class Module:
    """The base of everything with parameters. Call `super().__init__()` first, then assign; define `forward`.

    Assigning a Parameter, a Buffer or a Module to an attribute registers it. They live in the dictionaries
    `_parameters`, `_buffers` and `_modules`, not in `__dict__`, and are found there by attribute access.
    """

    call_super_init = False  # True: __init__ passes its arguments on, to the next class of several bases
    _version = 1
    dump_patches = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            what = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                what = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            raise TypeError(f"{type(self).__name__}.__init__() {what}")
        fields = self.__dict__  # filled directly: assignment through __setattr__ needs these to be there
        fields["training"] = True
        for name in ("_parameters", "_buffers", "_modules"):
            fields[name] = {}
        fields["_non_persistent_buffers_set"] = set()
        for name in _HOOKS:
            fields[name] = OrderedDict()
        fields["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward = _forward_is_missing

    # --- calling -------------------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        """Run the forward pre-hooks, `forward`, the forward hooks; and set up the backward hooks, if any."""
        if not (
            self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return self._call_slowly(*args, **kwargs)

    def _call_slowly(self, *args, **kwargs):
        call = _Call(args, kwargs)
        try:
            return self._call_with_hooks(call)
        except Exception:
            self._run_always_called(call)
            raise

    def _call_with_hooks(self, call):
        self._run_forward_pre_hooks(call)
        backward_hook, before, hooks = None, [*self._backward_pre_hooks.values()], [*self._backward_hooks.values()]
        full, old_style = (hooks, []) if self._is_full_backward_hook else ([], hooks)
        if before or full:
            from course_lib.nn.backward_hooks import BackwardHook

            backward_hook = BackwardHook(self, full, before)
            call.args = backward_hook.watch_inputs(call.args)
        call.result = self.forward(*call.args, **call.kwargs)
        for number, (hook, with_kwargs, _) in [*self._forward_hooks.items()]:
            call.ran.add(number)
            call.take(hook(self, *call.seen(with_kwargs)))
        if backward_hook is not None:
            call.result = backward_hook.watch_outputs(call.result)
        if old_style:
            from course_lib.nn.backward_hooks import register_old_style

            register_old_style(self, old_style, call.args, call.result)
        return call.result

    def _run_forward_pre_hooks(self, call):
        for hook, with_kwargs in [*self._forward_pre_hooks.values()]:
            if with_kwargs:
                given = hook(self, call.args, call.kwargs)
                if given is not None:
                    if not (isinstance(given, tuple) and len(given) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {given}."
                        )
                    call.args, call.kwargs = given
            else:
                given = hook(self, call.args)
                if given is not None:
                    call.args = given if isinstance(given, tuple) else (given,)

    def _run_always_called(self, call):
        """After an error in the call: hooks registered with always_call=True that have not run yet.

        They see what there was by then: the arguments as the pre-hooks left them, the output or None.
        """
        for number, (hook, with_kwargs, always) in [*self._forward_hooks.items()]:
            if always and number not in call.ran:
                try:
                    call.take(hook(self, *call.seen(with_kwargs)))
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}", stacklevel=2,
                    )

    # --- hooks ---------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before forward; what it returns (a tuple, or one value) replaces the args.

        with_kwargs: call `hook(module, args, kwargs)`, which may return (args, kwargs).
        """
        return _add(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        return _add(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` in backward, once the inputs' gradients are known.

        A tuple it returns replaces grad_input. Inputs that need no gradient show as None.
        """
        self._choose_backward_hooks(full=True)
        return _add(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` in backward before the module's own; a tuple replaces grad_output."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """The old form: sees the gradients of the last operation in forward only. Use the full form."""
        self._choose_backward_hooks(full=False)
        return _add(self._backward_hooks, hook, False)

    def _choose_backward_hooks(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full

    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before this module's entries are collected."""
        return _add(self._state_dict_pre_hooks, hook, False)

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata)` when they have been."""
        return _add(self._state_dict_hooks, hook, False)

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)` first."""
        return _add(self._load_state_dict_pre_hooks, hook, False)

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys)` after loading; it may empty the lists to accept them."""
        return _add(self._load_state_dict_post_hooks, hook, False)

    # --- attributes ----------------------------------------------------------------------------------------

    def __getattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind, {}).get(name, MISSING)
            if found is not MISSING:
                return found
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        fields = self.__dict__
        parameters, modules, buffers = (fields.get(k) for k in ("_parameters", "_modules", "_buffers"))
        if isinstance(value, Parameter):
            self._check_initialised("parameters")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._check_initialised("module")
            self._forget(name, "_parameters", "_buffers")
            modules[name] = value
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = value
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._assign_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _assign_buffer(self, name, value):
        self._check_initialised("buffer")
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                "expected)"
            )
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        own = type(self).register_buffer is not Module.register_buffer
        if not own or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not allowed."
            )

    def __delattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _forget(self, name, *kinds):
        """Drop a name from wherever else it is kept. Its own kind is spared: replacing must not change the order."""
        for kind in kinds:
            self.__dict__[kind].pop(name, None)
        self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _check_initialised(self, what):
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _check_name(self, kind, name, existing):
        """A name must be a non-empty string without dots that means nothing else yet."""
        self._check_initialised(kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        if hasattr(self, name) and name not in existing:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_parameter(self, name, param):
        """Add a parameter under a name; None reserves the name and appears nowhere."""
        self._check_name("parameter", name, self.__dict__.get("_parameters", ()))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but not trained; persistent=False keeps it out of the state dict."""
        self._check_name("buffer", name, self.__dict__.get("_buffers", ()))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """Add a submodule under a name, which need not be a Python identifier."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name("module", name, self.__dict__.get("_modules", ()))
        self._modules[name] = module

    register_module = add_module

    # --- walking the tree ----------------------------------------------------------------------------------

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(dotted name, module) for this module and all below; a module used twice comes once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self):
        """(name, module) for the direct submodules, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        """The direct submodules, each once."""
        return (child for _, child in self.named_children())

    def _named_members(self, members_of, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, member in members_of(module).items():
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{module_prefix}.{name}" if module_prefix else name), member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(dotted name, parameter), each parameter once however many modules share it."""
        return self._named_members(lambda module: module._parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters of this module and, with recurse, of all below, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(dotted name, buffer), persistent or not."""
        return self._named_members(lambda module: module._buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers of this module and, with recurse, of all below, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target):
        """The module at a dotted path; "" is this module. AttributeError when there is none."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put a module at a dotted path, in the place of the one there; strict: only if there is one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def _get_member(self, target):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a dotted path; AttributeError when there is none."""
        _, name, parameter = self._get_member(target)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target):
        """The buffer at a dotted path; AttributeError when there is none."""
        module, name, buffer = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    # --- changing the whole tree ---------------------------------------------------------------------------

    def apply(self, fn):
        """Call `fn(module)` for every module below and then for this one; returns self."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn):
        """Put fn(tensor) in the place of every parameter, its gradient, and every buffer; the objects stay."""
        for child in self.children():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                with no_grad():
                    converted = fn(parameter)
                    parameter.data = converted
                    if parameter.grad is not None:
                        parameter.grad.data = fn(parameter.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def train(self, mode=True):
        """Training mode for this module and all below: dropout drops, batch norm follows the batches."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """Evaluation mode: the opposite of train(). It has nothing to do with recording gradients."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Freeze or unfreeze all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop all gradients, or with set_to_none=False overwrite them with zeros."""
        for parameter in self.parameters():
            reset_grad(parameter, set_to_none)

    def to(self, *args, **kwargs):
        """Convert the floating-point parameters and buffers; the parameters stay the same objects."""
        dtype = self._asked_dtype(*args, **kwargs)
        if dtype is None:
            return self
        if not dtype.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def _asked_dtype(self, *args, tensor=None, dtype=None, device=None, non_blocking=False, copy=None, **others):
        flag_too_early = isinstance(args[1] if len(args) > 1 else None, bool) and _is_device(args[0])
        unknown = [name for name in others if name != "memory_format"]
        if unknown or flag_too_early or args and isinstance(args[0], bool | list | tuple | dict):
            given = ", ".join([*(type(a).__name__ for a in args), *unknown])
            raise TypeError(f"to() received an invalid combination of arguments - got ({given})")
        if copy is not None or any(isinstance(a, bool) and a for a in args[2 + _is_device(args[0] if args else 0) :]):
            raise RuntimeError(".to() does not accept copy argument")
        Parameter(requires_grad=False).to(*(a for a in args if not isinstance(a, Tensor)), device=device)
        for given in (*args, tensor):
            if given is not None and not _is_device(given):
                dtype = given.dtype if isinstance(given, Tensor) else given
        return dtype

    def type(self, dst_type):
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self):
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def cpu(self):
        """The module itself: everything is on the CPU."""
        return self

    def half(self):
        raise not_supported("Module.half()", "Use .float() or .double().")

    def bfloat16(self):
        raise not_supported("Module.bfloat16()", "Use .float() or .double().")

    def cuda(self, device=None):
        raise not_supported("the device 'cuda'", "Everything is computed on the CPU.")

    # --- saving and loading --------------------------------------------------------------------------------

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Dotted name -> tensor for all parameters and persistent buffers: detached aliases, not copies."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning, stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            if hook(self, destination, prefix, local_metadata) is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _persistent(self):
        """The parameters and buffers of this module alone that a state dict holds."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._persistent():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def get_extra_state(self):
        """Override together with set_extra_state to keep more than tensors in the state dict."""
        raise RuntimeError(NEVER_CALLED.format("get_extra_state"))

    def set_extra_state(self, state):
        """Override together with get_extra_state: it is given what that returned."""
        raise RuntimeError(NEVER_CALLED.format("set_extra_state"))

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy the values of a state dict into this module's tensors (or, with assign, take its tensors over).

        RuntimeError that lists every name missing, every name unknown (both only if strict), and every shape that
        does not fit. What fits has been loaded even then.
        """
        if not hasattr(state_dict, "keys") or not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        missing, unexpected, errors = [], [], []
        self._load_tree(state_dict, "", metadata, strict, assign, missing, unexpected, errors)
        problems = list(errors)
        if strict:
            if missing:
                problems.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing)))
            if unexpected:
                names = ", ".join(f'"{k}"' for k in unexpected)
                problems.insert(1 if missing else 0, f"Unexpected key(s) in state_dict: {names}. ")
        if problems:
            text = "\n\t".join(problems)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return _IncompatibleKeys(missing, unexpected)

    def _load_tree(self, state_dict, prefix, metadata, strict, assign, missing, unexpected, errors):
        local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
        local_metadata["assign_to_params_buffers"] = assign
        self._load_from_state_dict(state_dict, prefix, local_metadata, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                theirs = OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(below))
                child._load_tree(theirs, below, metadata, strict, assign, missing, unexpected, errors)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load this module's own tensors, and note what is missing, unknown or of another shape."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in list(self._persistent()):
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            error = self._load_one(name, tensor, key, state_dict[key], assign)
            if error is not None:
                error_msgs.append(error)
        self._load_extra_state(state_dict, prefix + "_extra_state", missing_keys, unexpected_keys)
        for key in state_dict:
            if key.startswith(prefix) and key != prefix + "_extra_state":
                first, _, rest = key[len(prefix) :].partition(".")
                known = first in self._modules if rest else first in dict(self._persistent())
                if not known and strict:
                    unexpected_keys.append(key)

    def _load_extra_state(self, state_dict, key, missing_keys, unexpected_keys):
        if type(self).set_extra_state is not Module.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            else:
                missing_keys.append(key)
        elif key in state_dict:
            unexpected_keys.append(key)

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
        try:
            with no_grad():
                if assign:
                    if isinstance(tensor, Parameter):  # frozen or not is this module's affair, not the checkpoint's
                        value = value if isinstance(value, Parameter) else Parameter(value, tensor.requires_grad)
                        value.requires_grad_(tensor.requires_grad)
                    setattr(self, name, value)
                else:
                    tensor.copy_(value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
            )
        return None

    # --- printing ------------------------------------------------------------------------------------------

    def extra_repr(self):
        """What a subclass wants printed between the parentheses."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): {indented(repr(child))}" for name, child in self._modules.items()]
        return framed(self._get_name(), extra, children)


NEVER_CALLED = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)
_HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)


def _add(hooks, hook, prepend):
    """Register a hook, last or first, and return the handle that removes it."""
    handle = RemovableHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _is_device(value):
    return value is None or isinstance(value, str | bool) or (
        hasattr(value, "index") and not hasattr(value, "is_floating_point")
    )  # fmt: skip


def indented(text):
    """All lines but the first, two spaces further in."""
    return text.replace("\n", "\n  ")


def framed(name, extra, children):
    """Name(...): on one line when there is at most one line to say and no children."""
    if not children and len(extra) <= 1:
        return f"{name}({''.join(extra)})"
    lines = "".join(f"\n  {line}" for line in [*extra, *children])
    return f"{name}({lines}\n)"


def reset_grad(parameter, set_to_none):
    """Drop one gradient, or cut its history and overwrite it with zeros."""
    if parameter.grad is None:
        return
    if set_to_none:
        parameter.grad = None
        return
    if parameter.grad.grad_fn is not None:
        parameter.grad.detach_()
    else:
        parameter.grad.requires_grad_(False)
    parameter.grad.zero_()


