"""torch.autograd: backward, grad, Function, anomaly mode, gradcheck, and the functional interface.

PyTorch: torch/autograd/__init__.py.
"""

import warnings

import numpy as np

from course_lib import errors
from course_lib.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from course_lib.engine import GraphTask, run
from course_lib.function import Function
from course_lib.grad_mode import state
from course_lib.graph import AccumulateGrad, DeadEnd
from course_lib.native.creation import zeros_like
from course_lib.tensor import Tensor, new_tensor
from course_lib.views import gradient_edge, requires_grad

from . import function, graph


def as_list(values):
    """A list from one value or a sequence of them."""
    return list(values) if isinstance(values, list | tuple) else [values]


def seed(tensor, grad, create_graph, position):
    """The gradient a pass starts with at one root: what was given, checked, or 1 for a single element."""
    array = tensor.array
    if grad is None:
        if array.size != 1:
            raise RuntimeError(errors.NOT_A_SCALAR)
        ones = np.ones(array.shape, array.dtype) if type(array) is np.ndarray else array.dtype.type(1)
        return new_tensor(ones) if create_graph else ones
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad.array.shape != array.shape:
        raise errors.gradient_shape_mismatch(position, grad.shape, tensor.shape)
    if create_graph:
        return grad if grad.array.dtype == array.dtype else grad.to(tensor.dtype)
    return grad.array.astype(array.dtype, copy=False)


def begin(outputs, grad_outputs, create_graph):
    """The edges a pass starts from and the gradients it starts with. RuntimeError for what cannot be a root."""
    if grad_outputs is None:
        grad_outputs = [None] * len(outputs)
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    if len(grad_outputs) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grad_outputs)} gradients")
    seeds = []
    for position, (output, grad) in enumerate(zip(outputs, grad_outputs, strict=True)):
        if grad is None and not requires_grad(output):
            seeds.append(None)
            continue
        seeds.append(seed(output, grad, create_graph, position))
    for position, output in enumerate(outputs):
        if not requires_grad(output):
            raise errors.no_history(position)
    edges = [gradient_edge(output) for output in outputs]
    for position, edge in enumerate(edges):
        if type(edge) is DeadEnd:
            raise errors.no_history(position)
    return edges, seeds


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the gradients of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves they depend on.

    With `inputs` only those tensors receive a gradient, leaves or not. RuntimeError when a tensor has no history,
    or a gradient is missing for one with several elements, or has another shape.
    """
    if create_graph:
        warnings.warn(errors.CREATE_GRAPH_CYCLE, UserWarning, stacklevel=3)
    targets = set()
    if inputs is not None:
        inputs = as_list(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, seeds = begin(as_list(tensors), grad_tensors, create_graph)
    if inputs is not None:
        for tensor in inputs:
            if isinstance(tensor, Tensor):
                if not requires_grad(tensor) or tensor.grad_fn is not None:
                    tensor.retain_grad()
                edge = gradient_edge(tensor)
            else:
                edge = tensor.node
            targets.add(edge[0] if isinstance(edge, tuple) else edge)
    retain_graph = create_graph if retain_graph is None else retain_graph
    run(GraphTask(roots, seeds, create_graph, retain_graph, accumulate_into=targets))


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None,
    is_grads_batched=False, materialize_grads=False,
):
    """The gradients of `outputs` (weighted by `grad_outputs`) for `inputs`, as a tuple (a dict for a dict).

    Nothing is stored in `.grad`. RuntimeError for an input that the outputs do not depend on, unless allow_unused
    (then None) or materialize_grads (then zeros).
    """
    if is_grads_batched:
        raise errors.not_supported("is_grads_batched", "Call autograd.grad once for each gradient.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs = as_list(outputs)
    keys = list(inputs) if isinstance(inputs, dict) else None
    inputs = list(inputs.values()) if keys is not None else inputs_list(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots, seeds = begin(outputs, grad_outputs, create_graph)
    captures = {}
    for position, tensor in enumerate(inputs):
        node, output_nr = edge_of_input(tensor)
        captures.setdefault(node, []).append((output_nr, position))
    task = GraphTask(roots, seeds, create_graph, create_graph if retain_graph is None else retain_graph, captures)
    run(task)
    results = finish_gradients(task, inputs, allow_unused, materialize_grads)
    return dict(zip(keys, results, strict=True)) if keys is not None else tuple(results)


def inputs_list(inputs):
    """The inputs of autograd.grad as a list; a gradient edge is one input, not a pair."""
    return [inputs] if isinstance(inputs, graph.GradientEdge) else as_list(inputs)


def edge_of_input(tensor):
    """(node, output number) at which a gradient for an input can be caught."""
    if isinstance(tensor, graph.GradientEdge):
        return tensor.node, tensor.output_nr
    edge = gradient_edge(tensor) if requires_grad(tensor) else None
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge if isinstance(edge, tuple) else (edge, 0)


def finish_gradients(task, inputs, allow_unused, materialize_grads):
    """What was caught, as tensors; what was not, as an error, None or zeros."""
    results, made = [], {}
    for position, tensor in enumerate(inputs):
        caught = task.captured.get(position)
        if caught is None:
            if not allow_unused:
                raise errors.unused_input(position)
            if materialize_grads:
                caught = zeros_like(tensor)
                caught.requires_grad = task.create_graph
            results.append(caught)
            continue
        if not isinstance(caught, Tensor):
            if id(caught) not in made:  # the same array for two inputs: the same tensor, as in PyTorch
                made[id(caught)] = new_tensor(caught if getattr(caught, "base", None) is None else caught.copy())
            caught = made[id(caught)]
        results.append(caught)
    return results


class set_detect_anomaly:
    """Switch anomaly mode on or off: errors then say more, and a gradient with NaN is an error."""

    def __init__(self, mode, check_nan=True):
        self.previous = state.anomaly, state.anomaly_check_nan
        state.anomaly, state.anomaly_check_nan = mode, check_nan
        state.update()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        state.anomaly, state.anomaly_check_nan = self.previous
        state.update()


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a block."""

    def __init__(self, check_nan=True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.", stacklevel=2,
        )
        super().__init__(True, check_nan)


def is_anomaly_enabled():
    """True when anomaly mode is on."""
    return state.anomaly


__all__ = [
    "AccumulateGrad", "Function", "backward", "detect_anomaly", "enable_grad", "function", "grad", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]


def __getattr__(name):
    """`functional` is imported when first asked for."""
    if name == "functional":
        import importlib

        return importlib.import_module("course_lib.autograd.functional")
    raise AttributeError(f"module 'course_lib.autograd' has no attribute {name!r}")


from .gradcheck import gradcheck, gradgradcheck  # noqa: E402  (it needs `grad` from above)
