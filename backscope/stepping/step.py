"""`step(loss)`: the backward pass, one node at a time, to page through; on our engine and on real PyTorch.

    step(loss)                    what the notebook shows: one frame for each node
    print(step(loss))             the whole trace in words
    step(loss).part(90, 120)      other frames of a long pass (only the first and the last are shown)

What to read: step_record.py (the pass, recorded through hooks), step_text.py (the trace), step_picture.py (the
pictures and the card).
"""

import re
import sys
import warnings
from types import ModuleType
from typing import Any

from backscope.adapters import library_of
from backscope.graph.tensor_facts import is_module, is_tensor, shape_of
from backscope.pictures.draw import check_used, given_names, name_parameters, names_in
from backscope.stepping import step_picture, step_text
from backscope.stepping.step_record import PassRecorder, PassRecording, Queue, StepReader, needed_for, order_of

FIRST, LAST = 40, 20  # of a longer pass, so many frames from its beginning and from its end are shown


def one_line(error: BaseException) -> str:
    """Write an error's name and the first line of what it says, without addresses."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", lines[0]) if lines else "(no message)"
    return f"{type(error).__name__}: {first}"


def step(
    *tensors: Any, gradient: Any = None, inputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, names: Any = None,
) -> "Steps":  # fmt: skip
    """Run a backward pass as `.backward()` does, and show each node's turn.

    Parameters
        tensors         where the pass begins: step(loss).
        gradient        what it begins with: a tensor, or a list with one for each tensor given; 1 for a scalar.
        inputs, retain_graph, create_graph      what they mean to `backward()`.
        names           what it means to `draw()`.

    Returns the pass: a notebook shows frames with buttons, print() writes them; .part(3, 7) is a few of them, .order
    the nodes in the order in which they ran, .error what ended the pass, len() the number of frames. `.grad` really
    grows and saved tensors are really freed. An error in the pass is not raised: the last frame shows it.
    Raises TypeError or ValueError, in a sentence, for arguments with which no pass can begin.
    Limits: a pass of some hundred nodes; of more, look at a part of the loss. On PyTorch the ready queue is worked out
    from the graph, as PyTorch does not show its own.
    """
    check_tensors(tensors)
    known, around = names_in(sys._getframe(1))
    around += name_parameters([names] if is_module(names) else [], known)
    given = given_names(None if is_module(names) else names, tensors)
    for key, name, tensor in given:
        known[key] = [name]
        around.append(tensor)
    seeds = check_gradients(tensors, gradient, known)
    inputs = check_inputs(inputs, known)
    torch = module_of(tensors[0])
    edges = [torch.autograd.graph.get_gradient_edge(tensor) for tensor in tensors]
    reader = StepReader(tensors, known, [*around, *(inputs or [])])
    reader.roots = [(edge.node, edge.output_nr) for edge in edges]
    graph = reader.read()
    check_used(given, reader)
    return record(torch, reader, graph, tensors, seeds, inputs, retain_graph, create_graph)


def record(torch, reader, graph, tensors, seeds, inputs, retain_graph, create_graph) -> "Steps":
    """Run the pass under a PassRecorder."""
    roots = [(reader.index[id(node)], output) for node, output in reader.roots]
    targets = None
    if inputs is not None:
        found = [torch.autograd.graph.get_gradient_edge(tensor).node for tensor in inputs]
        targets = [reader.index[id(node)] for node in found if id(node) in reader.index]
    needed, order = needed_for(graph, targets), order_of(reader.found)
    recorder = PassRecorder(reader, graph, watched(reader, graph, inputs))
    first_grads, started = dict(recorder.grads), {}
    for (node, output), tensor, grad in zip(roots, tensors, seeds, strict=True):
        seed = torch.ones_like(tensor) if grad is None else grad.detach().to(tensor.dtype)
        recorder.seed(node, output, seed)
        started[node] = "; ".join(s.text for s in recorder.buffers[node].values())
    error = None
    try:
        with recorder, warnings.catch_warnings():
            # The sentence of step_text.notes says the same, where it is read.
            warnings.filterwarnings("ignore", r"Using backward\(\) with create_graph=True will create", UserWarning)
            torch.autograd.backward(list(tensors), list(seeds), retain_graph, create_graph, inputs=inputs)
        recorder.settle()
    except Exception as problem:
        error = without_frames(problem)
        queue = Queue(graph, order, roots, needed)
        for done in recorder.steps:
            queue.take(done.node)
            for sent in done.sent:
                queue.deliver(sent.target)
        recorder.fail(error, one_line(error), queue.next())
    if recorder.fault is not None:
        raise recorder.fault
    recording = PassRecording(graph, order, roots, needed, started, recorder.steps, first_grads)
    recording.error = error
    recording.notes = step_text.notes(recording, retain_graph, create_graph, inputs is not None)
    return Steps(recording)


class Steps:
    """A backward pass to page through, as `step` returns it, and its trace in words."""

    def __init__(self, recording, shown=None):
        self._recording = recording
        self._shown = list(shown_numbers(len(recording.steps)) if shown is None else shown)
        self._card = None

    def __len__(self):
        return len(self._recording.steps)

    @property
    def error(self) -> Exception | None:
        """The error that ended the pass; None when it came to its end."""
        return self._recording.error

    @property
    def order(self) -> list[str]:
        """The names of the nodes in the order in which they ran; the last may have failed."""
        return [self._recording.graph.node_title(step.node) for step in self._recording.steps]

    @property
    def text(self) -> str:
        """The trace: every frame in words."""
        return step_text.trace(self._recording, self._shown)

    @property
    def html(self) -> str:
        """The card that a notebook shows."""
        if self._card is None:
            self._card = step_picture.card(self._recording, self._shown)
        return self._card

    def part(self, first: int, last: int) -> "Steps":
        """Return the same pass with the frames from `first` to `last` shown."""
        total = len(self)
        if not 0 <= first <= last <= total:
            raise ValueError(f"part({first}, {last}): frames are numbered from 0 (before the first step) to {total}.")
        return Steps(self._recording, range(first, last + 1))

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def shown_numbers(total) -> list[int] | range:
    """Return the numbers of the frames to show: all of them, or the first and the last."""
    if total <= FIRST + LAST:
        return range(total + 1)
    return [*range(FIRST + 1), *range(total - LAST + 1, total + 1)]


def watched(reader, graph, inputs) -> dict:
    """Return {node: [(index of a value, its tensor)]}: when a node runs, these tensors may get a new .grad."""
    tensors = {id(value): tensor for value, tensor in zip(reader.values, reader.tensors, strict=True)}
    wanted = {id(tensor) for tensor in inputs or ()}
    found = {}
    leaves = {node.leaf: i for i, node in enumerate(graph.nodes) if node.leaf is not None}
    for v, value in enumerate(graph.values):
        tensor = tensors[id(value)]
        if v in leaves:
            found.setdefault(leaves[v], []).append((v, tensor))
        elif value.node is not None and (value.retains_grad or id(tensor) in wanted):
            found.setdefault(value.node, []).append((v, tensor))
    return found


def without_frames(error: BaseException) -> BaseException:
    """Return the error without tracebacks: they would keep every tensor of the pass alive."""
    seen, todo = set(), [error]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            todo += [one.__cause__, one.__context__]
    return error


# --- what was given ----------------------------------------------------------------------------------------


def module_of(tensor) -> ModuleType:
    """Return the library that a tensor belongs to, as a module; TypeError for one that is neither PyTorch nor ours."""
    library = library_of(tensor)
    if library is None:
        raise TypeError(f"step() knows the tensors of course_lib and of torch, not {type(tensor).__name__}.")
    return sys.modules[library]


def check_tensors(tensors) -> None:
    """Raise TypeError unless there are tensors, ValueError unless they have a history."""
    if not tensors:
        raise TypeError("step() needs the tensor to start from: step(loss).")
    for thing in tensors:
        if is_tensor(thing):
            continue
        if is_module(thing):
            advice = "call it on an input and give the loss: step(loss)."
        elif isinstance(thing, (list, tuple)) and thing and all(map(is_tensor, thing)):
            advice = "put a star in front: step(*tensors)."
        elif hasattr(thing, "next_functions"):
            advice = "give it the tensor whose grad_fn it is."
        else:
            advice = "give it the tensor that you would call .backward() on."
        raise TypeError(f"step() takes tensors, not {type(thing).__name__}: {advice}")


def called(tensor, known) -> str:
    """Return a tensor's name, or what to call it."""
    return known.get(id(tensor), ["the tensor"])[0]


def check_gradients(tensors, gradient, known) -> list:
    """Return the gradients to start with, one a tensor; ValueError or TypeError when the pass could not begin."""
    if gradient is None or is_tensor(gradient):
        gradients = [gradient] * (1 if is_tensor(gradient) else len(tensors))
    else:
        gradients = list(gradient) if isinstance(gradient, (list, tuple)) else [gradient]
    if len(gradients) != len(tensors):
        raise ValueError(
            f"gradient has {len(gradients)} entries for {len(tensors)} tensors: give a list with one for each, "
            "None where the tensor has a single element."
        )
    for tensor, grad in zip(tensors, gradients, strict=True):
        name = called(tensor, known)
        if not tensor.requires_grad:
            raise ValueError(
                f"{name} has no history: nothing that it was computed from requires grad, or the way back was cut "
                "(detach, no_grad), so there is no backward pass to step through. Create an input with "
                "requires_grad=True and compute it again, where recording is on."
            )
        if grad is None and tensor.numel() != 1:
            raise ValueError(
                f"{name} has {tensor.numel()} elements, and a pass starts from one number: step through "
                f"{name}.sum(), or give gradient=, a tensor of shape {shape_of(tensor)} that weighs the elements."
            )
        if grad is not None and not is_tensor(grad):
            raise TypeError(f"gradient must be a tensor of shape {shape_of(tensor)}, not {type(grad).__name__}.")
        if grad is not None and tuple(grad.shape) != tuple(tensor.shape):
            raise ValueError(
                f"gradient has shape {shape_of(grad)}, but {name} has shape {shape_of(tensor)}: it needs one weight "
                "for each element."
            )
    return gradients


def check_inputs(inputs, known) -> list | None:
    """Return `inputs` as a list; ValueError or TypeError for what could not receive a gradient."""
    if inputs is None:
        return None
    inputs = [inputs] if is_tensor(inputs) else list(inputs)
    if not inputs:
        raise ValueError("inputs is empty: name the tensors that shall receive a gradient, or leave it out for all.")
    for thing in inputs:
        if not is_tensor(thing):
            raise TypeError(f"inputs must be tensors, not {type(thing).__name__}.")
        if not thing.requires_grad:
            raise ValueError(
                f"inputs: {called(thing, known)} does not require grad, so no gradient can be stored in it. Take it "
                "out of inputs, or create it with requires_grad=True."
            )
    return inputs
