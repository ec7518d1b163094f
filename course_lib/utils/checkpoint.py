"""Checkpointing: keep a segment's inputs instead of what it saves, and run it again in backward.

PyTorch: torch/utils/checkpoint.py.

Two forms. The re-entrant one (CheckpointFunction) runs the segment unrecorded inside a custom Function, and in that
Function's backward runs it recorded and calls backward inside backward. The other records the segment as usual, but
under saved-tensor hooks that keep only numbers; the first number asked for in backward runs the segment again.
"""

import contextlib
import threading
import warnings
import weakref

from course_lib.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from course_lib.autograd.graph import saved_tensors_hooks
from course_lib.function import Function
from course_lib.grad_mode import state
from course_lib.graph import Node
from course_lib.native import creation
from course_lib.saved import PackedVariable, SavedVariable
from course_lib.tensor import Tensor


class CheckpointError(RuntimeError):
    """The second run of a segment did not save what the first had saved."""


class _Stop(Exception):
    """Ends the second run as soon as it has saved everything that the first had."""


_settings = threading.local()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """False: inside the block segments are run to their end in backward, whatever is still needed."""
    before = getattr(_settings, "early_stop", True)
    _settings.early_stop = enable
    try:
        yield
    finally:
        _settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Accepted as PyTorch's; errors here say all they know in any case."""
    yield


def noop_context_fn():
    """Two contexts that do nothing: for the first run and for the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
    early_stop=True, preserve_rng_state=True, **kwargs,
):
    """function(*args, **kwargs), keeping for backward the arguments only.

    use_reentrant=False is the form to use: it works with autograd.grad, keyword arguments and inputs that do not
    require grad, and raises CheckpointError when the second run saves something else. With True the output has
    history only if a tensor among the arguments requires grad. preserve_rng_state gives both runs the same random
    numbers.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if "
            "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to "
            "docs for more "
            "details on the differences between the two variants.", stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if not is_grad_enabled():
        return function(*args, **kwargs)
    segment = Segment(function, args, kwargs, context_fn, determinism_check, early_stop, preserve_rng_state)
    return segment.first_run(args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A chain of modules in so many pieces of equal length, all but the last checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
            "recommended, "
            "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer "
            "to docs for "
            "more details on the differences between the two variants.", stacklevel=2,
        )
        use_reentrant = True
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    length = len(functions) // segments

    def piece(start, end):
        def run(value):
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    last = length * (segments - 1)
    for start in range(0, last, max(length, 1)):
        input = checkpoint(piece(start, start + length), input, use_reentrant=use_reentrant, **kwargs)
    return piece(last, len(functions))(input)


# --- random numbers ----------------------------------------------------------------------------------------


def random_state():
    """Where the stream of random numbers stands."""
    return creation.generator().bit_generator.state


@contextlib.contextmanager
def replayed(saved):
    """The random numbers from a remembered place on; afterwards the stream goes on where it was."""
    if saved is None:
        yield
        return
    before = random_state()
    creation.generator().bit_generator.state = saved
    try:
        yield
    finally:
        creation.generator().bit_generator.state = before


# --- the form without re-entrance --------------------------------------------------------------------------


class _Arguments(Node):
    """Stands for the node that PyTorch keeps a segment's arguments in."""

    notes = None


class Segment:
    """One call of a checkpointed function: its arguments, the forms of what it saved, and what later runs saved."""

    def __init__(self, function, args, kwargs, context_fn, determinism_check, early_stop, preserve_rng_state):
        self.function, self.args, self.kwargs = function, [self.keep(arg) for arg in args], kwargs
        self.first_context, self.second_context = context_fn()
        self.check_forms = determinism_check == "default"
        self.early_stop = early_stop and getattr(_settings, "early_stop", True)
        self.random_state = random_state() if preserve_rng_state else None
        self.forms = []  # of each saved tensor: shape, type, device
        self.runs = weakref.WeakKeyDictionary()  # backward pass -> the tensors that the second run for it saved

    def first_run(self, args):
        """Run the function; its nodes keep numbers instead of tensors."""
        with saved_tensors_hooks(self.pack, self.unpack), self.first_context:
            return self.function(*args, **self.kwargs)

    @staticmethod
    def keep(arg):
        """An argument as a node would keep it: tensors with their version, and packed by the hooks around the call."""
        if not isinstance(arg, Tensor):
            return arg
        if state.saved_tensor_hooks:
            return PackedVariable(arg, *state.saved_tensor_hooks[-1])
        return SavedVariable.of(arg)

    def arguments(self):
        """The arguments; RuntimeError for a tensor that was overwritten since."""
        return [arg.unpack(_Arguments()) if isinstance(arg, SavedVariable) else arg for arg in self.args]

    def pack(self, tensor):
        """Note the form of a tensor and keep its number."""
        self.forms.append(form_of(tensor))
        return len(self.forms) - 1

    def unpack(self, number):
        """The tensor with that number, from the second run; each backward pass makes one of its own."""
        if state.task is None:
            return self.second_run()[number]
        if state.task not in self.runs:
            self.runs[state.task] = self.second_run()
        return self.runs[state.task][number]

    def second_run(self):
        """Run the function again, recorded, and catch what it saves."""
        caught, args = [], self.arguments()

        def catch(tensor):
            caught.append(tensor.detach())
            if self.early_stop and len(caught) == len(self.forms):
                raise _Stop
            return caught[-1]

        try:
            with (
                replayed(self.random_state), saved_tensors_hooks(catch, lambda tensor: tensor), enable_grad(),
                self.second_context,
            ):
                self.function(*args, **self.kwargs)
        except _Stop:
            pass
        self.check(caught)
        return caught

    def check(self, caught):
        """CheckpointError unless the second run saved as many tensors as the first, of the same forms."""
        if len(caught) != len(self.forms):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.forms)}\n"
                f"Number of tensors saved during recomputation: {len(caught)}.\n\n{HINT}"
            )
        if not self.check_forms:
            return
        differing = [
            f"tensor at position {number}:\nsaved metadata: {before}\nrecomputed metadata: {form_of(tensor)}\n"
            for number, (before, tensor) in enumerate(zip(self.forms, caught, strict=True))
            if before != form_of(tensor)
        ]
        if differing:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{''.join(differing)}.\n\n{HINT}"
            )


HINT = (
    "Tip: the checkpointed function must do the same thing both times. Look for a branch on something that "
    "changed since "
    "the forward pass: a counter, a global, random numbers with preserve_rng_state=False."
)


def form_of(tensor):
    """What must be the same in both runs."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


# --- the re-entrant form -----------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """Runs the segment unrecorded; its backward runs it again, recorded, and calls backward on the result."""

    @staticmethod
    def forward(ctx, function, preserve_rng_state, *args):
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)
        ctx.function = function
        ctx.random_state = random_state() if preserve_rng_state else None
        ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        from course_lib.autograd import backward

        if state.task is not None and state.task.needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        with replayed(ctx.random_state), enable_grad():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(arg.grad if isinstance(arg, Tensor) else None for arg in args))
