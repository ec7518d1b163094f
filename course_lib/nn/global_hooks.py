"""Hooks on all modules at once: on calls, on backward passes, and on what is registered in a module.

PyTorch: torch/nn/modules/module.py. While there is none of them, a call of a module does not ask for them: the first
one puts another `__call__` into the class Module, and the first call after the last is gone takes it out again.
"""

from collections import OrderedDict

from course_lib.graph import RemovableHandle

forward_pre, forward, backward_pre, backward = (OrderedDict() for _ in range(4))
registrations = {kind: OrderedDict() for kind in ("parameter", "buffer", "module")}
watched = []  # the function that makes Module ask; module.py puts it here
is_full = None  # which form the hooks of backward passes have; the two cannot be mixed


def watch(hooks, entry):
    """Register a hook on calls and have Module ask for such hooks."""
    watched[0]()
    return RemovableHandle(hooks, entry)


def register_module_forward_pre_hook(hook):
    """Call `hook(module, args)` before forward of any module, before the module's own hooks."""
    return watch(forward_pre, (hook, False))


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call `hook(module, args, output)` after forward of any module, before the module's own hooks."""
    return watch(forward, (hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook):
    """Call `hook(module, grad_output)` in backward of any module."""
    return watch(backward_pre, hook)


def register_module_full_backward_hook(hook):
    """Call `hook(module, grad_input, grad_output)` in backward of any module."""
    return _backward_hook(hook, True)


def register_module_backward_hook(hook):
    """The old form of register_module_full_backward_hook."""
    return _backward_hook(hook, False)


def _backward_hook(hook, full):
    global is_full
    if is_full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    is_full = full
    return watch(backward, hook)


def register_module_parameter_registration_hook(hook):
    """Call `hook(module, name, parameter)` for each that is registered; what it returns takes its place."""
    return RemovableHandle(registrations["parameter"], hook)


def register_module_buffer_registration_hook(hook):
    """Call `hook(module, name, buffer)` for each that is registered; what it returns takes its place."""
    return RemovableHandle(registrations["buffer"], hook)


def register_module_module_registration_hook(hook):
    """Call `hook(module, name, submodule)` for each that is registered; what it returns takes its place."""
    return RemovableHandle(registrations["module"], hook)


def registered(kind, module, name, value):
    """What the hooks make of something that is registered in a module."""
    for hook in registrations[kind].values():
        given = hook(module, name, value)
        value = value if given is None else given
    return value
