"""A `backward()` of the program node by node: run through the recorder of `step`, with a frame for each node.

The graph is not read while the pass runs. Each frame is made from the graph as it was before and from the record.
"""

import copy
from collections.abc import Iterator

from backscope.graph.model import FREED, link_inputs
from backscope.graph.reader import Reader
from backscope.graph.tensor_facts import is_tensor
from backscope.stepping import step as steps


def frames_of(camera, tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> Iterator:
    """Run the pass. Yields (name of a node, graph after it has run, its key, (recording, frame of the recording)).

    A pass that cannot be recorded runs as it would without a film.
    """
    known, around, _ = camera.named()
    try:
        seeds, targets = steps.check_gradients((tensor,), gradient, known), steps.check_inputs(inputs, known)
        torch = steps.module_of(tensor)
    except (TypeError, ValueError):
        tensor.backward(gradient, retain_graph, create_graph, inputs=inputs)  # raises what the program would see
        return
    edge = torch.autograd.graph.get_gradient_edge(tensor)
    reader = steps.StepReader((tensor,), known, [*around, *(targets or [])])
    reader.roots = [(edge.node, edge.output_nr)]
    graph = reader.read()
    asked = [t for t in around if not all(name.endswith(".grad") for name in known[id(t)])]
    before = Reader([*asked, tensor], known, around).read()
    link_inputs(before)
    done = steps.record(torch, reader, graph, (tensor,), seeds, targets, retain_graph, create_graph)
    recording = done._recording
    for frame in recording.frames(set(range(len(done) + 1))):
        if frame.step is not None and not frame.step.error:
            name = graph.nodes[frame.step.node].name
            yield name, *after(before, graph, frame), (recording, frame)
    if recording.error is not None:
        raise recording.error


def after(before, graph, frame) -> tuple:
    """Return (the graph after a node of the pass has run, the key of this node)."""
    now = copy.deepcopy(before)
    place = {key_of(now, node): node for node in now.nodes}
    for i in frame.freed:
        for slot in place[key_of(graph, graph.nodes[i])].slots:
            slot.state, slot.value, slot.content, slot.saved, slot.now = FREED, None, "", None, None
    for v, text in frame.grads.items():
        for value in now.values:
            if value.token == graph.values[v].token:
                value.grad = text
    return now, key_of(graph, graph.nodes[frame.step.node])


def key_of(graph, node) -> tuple:
    """Return the same for the same node, in the graph that the film reads and in the one that is recorded."""
    return ("leaf", graph.values[node.leaf].token) if node.accumulates else ("node", node.key)


def can_be_stepped(thing) -> bool:
    """Return True for a tensor with a history."""
    return is_tensor(thing) and bool(getattr(thing, "requires_grad", False))
