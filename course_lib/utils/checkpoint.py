"""Checkpointing: keep a segment's inputs instead of what it saves, and run it again in backward.

PyTorch: torch/utils/checkpoint.py.

Two forms. The re-entrant one (CheckpointFunction) runs the segment unrecorded inside a custom Function, and in that
Function's backward runs it recorded and calls backward inside backward. The other records the segment as usual, but
under saved-tensor hooks that keep only numbers; the first number asked for in backward runs the segment again.
"""

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator

from course_lib.arrays.errors import not_supported
from course_lib.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from course_lib.autograd.graph import saved_tensors_hooks
from course_lib.engine.backward import backward
from course_lib.engine.function import Function
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import Node
from course_lib.engine.saved import PackedVariable, SavedVariable
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.left_out import doors


class CheckpointError(RuntimeError):
    """The second run of a segment did not save what the first had saved."""


class _StopRecomputationError(Exception):
    """Ends the second run as soon as it has saved everything that the first had."""


def checkpoint(
    function: Callable, *args, use_reentrant: bool | None = None, determinism_check: str = "default",
    debug: bool = False, early_stop: bool = True, preserve_rng_state: bool = True, context_fn: object = None, **kwargs,
) -> Tensor | tuple:
    """Call function(*args, **kwargs), keeping for backward the arguments only.

    use_reentrant=False is the form to use: it works with autograd.grad, keyword arguments and inputs that do not
    require grad, and raises CheckpointError when the second run saves something else. With True the output has
    history only if a tensor among the arguments requires grad. preserve_rng_state gives both runs the same random
    numbers. With debug=True a CheckpointError tells which operations both runs recorded; nothing is printed otherwise.
    """
    if context_fn is not None:
        raise not_supported("context_fn of checkpoint", "Open the contexts inside of the function.")
    if said_or_true(use_reentrant):
        if kwargs or debug:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs or ["debug"]))
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if not is_grad_enabled():
        return function(*args, **kwargs)
    segment = Segment(function, args, kwargs, determinism_check == "default", early_stop, preserve_rng_state)
    if debug:
        from course_lib.utils.checkpoint_log import OperationLog  # few programs need that file

        segment.log = OperationLog()
    return segment.first_run(args)


def said_or_true(use_reentrant: bool | None) -> bool:
    """Return what the caller said, or True and a warning."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.", stacklevel=3,
        )
    return use_reentrant is None or use_reentrant


def checkpoint_sequential(
    functions: object, segments: int, input: Tensor, use_reentrant: bool | None = None, *,
    preserve_rng_state: bool = True,
) -> Tensor:
    """Return a chain of modules in so many pieces of equal length, all but the last checkpointed."""
    use_reentrant, functions = said_or_true(use_reentrant), list(functions)
    length = len(functions) // segments

    def piece(start, end):
        def run(value):
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    last = length * (segments - 1)
    for start in range(0, last, length):
        part = piece(start, start + length)
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return piece(last, len(functions))(input)


# --- random numbers ----------------------------------------------------------------------------------------


def random_state() -> tuple:
    """Return where the stream of random numbers stands."""
    return creation.source_of()[1].place


@contextlib.contextmanager
def replayed(saved: tuple) -> Iterator:
    """Replay the random numbers from a remembered place on; afterwards the stream goes on where it was."""
    if saved is None:
        yield
        return
    source = creation.source_of()[1]
    before, source.place = source.place, saved
    try:
        yield
    finally:
        source.place = before


# --- the form without re-entrance --------------------------------------------------------------------------


class _Arguments(Node):
    """Stands for the node that PyTorch keeps a segment's arguments in."""

    notes = None


class _Place:
    """The stand-in that a node of a segment keeps for a tensor: which of the tensors saved it stands for."""

    __slots__ = ("number", "__weakref__")

    def __init__(self, number):
        self.number = number


class Segment:
    """One call of a checkpointed function: its arguments, the forms of what it saved, and what later runs saved."""

    log = None  # with debug=True: the OperationLog

    def __init__(self, function, args, kwargs, check_forms, early_stop, preserve_rng_state):
        self.function, self.args, self.kwargs = function, [self.keep(arg) for arg in args], kwargs
        self.check_forms, self.early_stop = check_forms, early_stop
        self.random_state = random_state() if preserve_rng_state else None
        self.forms = []  # of each saved tensor: shape, type, device
        self.places = []  # a weak reference to the place of each: it dies with its node
        self.runs = weakref.WeakKeyDictionary()  # backward pass -> {number: what its second run saved}

    def first_run(self, args: tuple) -> Tensor | tuple:
        """Run the function; its nodes keep places instead of tensors."""
        with saved_tensors_hooks(self.pack, self.unpack), self.log.first() if self.log else contextlib.nullcontext():
            return self.function(*args, **self.kwargs)

    @staticmethod
    def keep(arg: Tensor) -> PackedVariable | SavedVariable:
        """Return an argument as a node would keep it: tensors with version, packed by the hooks around the call."""
        if not isinstance(arg, Tensor):
            return arg
        if state.saved_tensor_hooks:
            return PackedVariable(arg, *state.saved_tensor_hooks[-1])
        return SavedVariable.of(arg)

    def pack(self, tensor: Tensor) -> _Place:
        """Note the form of a tensor and keep its place."""
        place = _Place(len(self.places))
        self.forms.append(form_of(tensor))
        self.places.append(weakref.ref(place))
        return place

    def unpack(self, place: _Place) -> Tensor:
        """Return the tensor of a place. With debug=True a CheckpointError tells what both runs did."""
        try:
            return self.take(place)
        except CheckpointError as error:
            if self.log is None:
                raise
            raise CheckpointError(self.log.report(error)) from error

    def take(self, place: _Place) -> Tensor:
        """Return the tensor of a place, once for each backward pass: the first place asked for runs the segment again.

        What was handed out is let go at once, so that memory falls while the pass goes on. CheckpointError when it
        is asked for again.
        """
        caught = self.runs.get(state.task) if state.task else None  # outside of a pass, each reading runs it anew
        if caught is None:
            caught = self.second_run()
            if state.task:
                self.runs[state.task] = caught
        if caught.get(place.number) is None:
            raise CheckpointError(UNPACKED_TWICE)
        return caught.pop(place.number)

    def second_run(self) -> dict:
        """Return {number: what it saves} of the function run again, recorded. It ends as soon as all places are filled.

        RuntimeError for an argument that was overwritten since. A place whose node is gone stays empty: a backward
        pass inside of the segment has freed it.
        """
        args = [arg.unpack(_Arguments()) if isinstance(arg, SavedVariable) else arg for arg in self.args]
        caught = {}

        def catch(tensor):
            number, tensor = len(caught), tensor.detach() if tensor.requires_grad else tensor
            if number >= len(self.places):
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                    f"original forward pass.\n\n{HINT}"
                )
            caught[number] = None if self.places[number]() is None else tensor
            if self.early_stop and len(caught) == len(self.places):
                raise _StopRecomputationError
            return tensor

        log = self.log.second() if self.log else contextlib.nullcontext()
        with (
            contextlib.suppress(_StopRecomputationError), replayed(self.random_state),
            saved_tensors_hooks(catch, lambda tensor: tensor), enable_grad(), log,
        ):
            self.function(*args, **self.kwargs)
        self.check(caught)
        return caught

    def check(self, caught: dict) -> None:
        """Raise CheckpointError unless the second run saved as many tensors as the first, of the same forms."""
        if len(self.places) != len(caught):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
                f"Number of tensors saved during recomputation: {len(caught)}.\n\n{HINT}"
            )
        differing = [
            f"tensor at position {number}:\nsaved metadata: {self.forms[number]}\n"
            f"recomputed metadata: {form_of(tensor)}\n"
            for number, tensor in caught.items()
            if tensor is not None and self.forms[number] != form_of(tensor)
        ]
        if differing and self.check_forms:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{''.join(differing)}.\n\n{HINT}"
            )


UNPACKED_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
    "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details "
    "on your use case."
)
HINT = (
    "Tip: the checkpointed function must do the same thing both times. Look for a branch on something that "
    "changed since the forward pass: a counter, a global, random numbers with preserve_rng_state=False. "
    "checkpoint(..., debug=True) tells the operations of both runs."
)


def form_of(tensor: Tensor) -> dict:
    """Return what must be the same in both runs."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


# --- the re-entrant form -----------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """Runs the segment unrecorded; its backward runs it again, recorded, and calls backward on the result."""

    @staticmethod
    def forward(ctx: Node, function: Callable, preserve_rng_state: bool, *args) -> Tensor | tuple:
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
    def backward(ctx: Node, *grads) -> tuple:
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


__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]
__getattr__, __dir__ = doors("torch.utils.checkpoint", __all__)
