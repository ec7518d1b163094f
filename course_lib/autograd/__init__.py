"""torch.autograd: backward, grad, Function, anomaly mode, gradcheck, and the functional interface.

PyTorch: torch/autograd/__init__.py.
"""

import warnings

import numpy as np

from course_lib import errors
from course_lib.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from course_lib.engine import GraphTask, run
from course_lib.grad_mode import state
from course_lib.graph import AccumulateGrad
from course_lib.native import messages
from course_lib.native.building import mark_inference
from course_lib.native.checks import as_tensor
from course_lib.native.creation import zeros_like
from course_lib.native.kernels import copy_of_gradient
from course_lib.native.messages import warn_once
from course_lib.native.sum_to import fit_seeds
from course_lib.tensor import Tensor, new_tensor
from course_lib.views import edge_of, requires_grad


def is_edge(value):
    """True for a GradientEdge, known by its last field: without the file of its class an import is 0.5 % quicker."""
    return isinstance(value, tuple) and hasattr(value, "ownership_token")


def as_list(values):
    """A list from one tensor or gradient edge, or from several in a sequence or a dict."""
    if type(values) is Tensor:
        return [values]
    values = values.values() if isinstance(values, dict) else values
    return [values] if isinstance(values, Tensor) or is_edge(values) else list(values)


def seed(tensor, grad, create_graph, position):
    """The gradient a pass starts with at one root: what was given, checked, or 1 for a single element."""
    if type(tensor) is not Tensor and is_edge(tensor):
        return seed_of_edge(tensor, grad, create_graph, position)
    array = tensor.array
    if grad is None:
        if array.size != 1:
            raise RuntimeError(errors.NOT_A_SCALAR)
        ones = np.ones(array.shape, array.dtype) if type(array) is np.ndarray else array.dtype.type(1)
        return as_tensor(ones) if create_graph else ones
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad.array.shape != array.shape:
        raise messages.gradient_shape_mismatch(position, grad.shape, tensor.shape)
    if create_graph:
        return grad if grad.array.dtype == array.dtype else grad.to(tensor.dtype)
    return grad.array.astype(array.dtype, copy=False)


def seed_of_edge(edge, grad, create_graph, position):
    """The same at a gradient edge. Where the form of its tensor is not known, any gradient is taken as it is."""
    if edge.form is not None:
        return seed(new_tensor(np.empty(*edge.form)), grad, create_graph, position)
    if grad is None:
        raise RuntimeError(errors.NOT_A_SCALAR)
    return grad if create_graph else grad.array


def begin(outputs, grad_outputs, create_graph):
    """The edges a pass starts from and the gradients it starts with. RuntimeError for what cannot be a root."""
    if grad_outputs is None:
        if len(outputs) == 1 and type(outputs[0]) is Tensor and requires_grad(outputs[0]):
            seeds, edge = [seed(outputs[0], None, create_graph, 0)], edge_of(outputs[0])
            if edge:
                return [edge], seeds  # a loss, with which nearly every pass begins: no more needs to be asked
        grad_outputs = [None] * len(outputs)
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)[: len(outputs)]
    rooted = [has_history(output) for output in outputs]
    seeds = [
        seed(output, grad, create_graph, position) if known or grad is not None else None
        for position, (output, grad, known) in enumerate(zip(outputs, grad_outputs, rooted, strict=False))
    ]
    if len(grad_outputs) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grad_outputs)} gradients")
    edges = []
    for position, (output, known) in enumerate(zip(outputs, rooted, strict=True)):
        edges.append(edge_of_root(output) if known else None)
        if not edges[-1]:  # no history, or a dead end
            raise errors.no_history(position)
    return edges, seeds


def has_history(root):
    """True for a gradient edge and for a tensor that requires grad. AssertionError for what is neither."""
    if not (isinstance(root, Tensor) or is_edge(root)):
        raise AssertionError("Expected output to be a torch.Tensor")
    return is_edge(root) or requires_grad(root)


def edge_of_root(root):
    """The edge that a pass starts from, at a tensor or at a gradient edge."""
    if not is_edge(root):
        return edge_of(root)
    return (root.node, root.output_nr) if root.node.several_outputs else root.node


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradients of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves they depend on.

    With `inputs` only those tensors receive a gradient, leaves or not. RuntimeError when a tensor has no history,
    or a gradient is missing for one with several elements, or has another shape. `grad_variables` is the old name of
    `grad_tensors`.
    """
    if grad_variables is not None:
        grad_tensors = renamed_gradients(grad_tensors, grad_variables)
    targets = set()
    if inputs is not None:
        inputs = as_list(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, seeds = begin(as_list(list(tensors) if isinstance(tensors, dict) else tensors), grad_tensors, create_graph)
    if inputs is not None:
        for tensor in inputs:
            check_input(tensor)
            if isinstance(tensor, Tensor):
                if not requires_grad(tensor) or tensor.grad_fn is not None:
                    tensor.retain_grad()
                edge = edge_of(tensor)
            else:
                edge = tensor.node
            targets.add(edge[0] if isinstance(edge, tuple) else edge)
    fit_seeds(roots, seeds)
    retain_graph = create_graph if retain_graph is None else retain_graph
    try:
        run(GraphTask(roots, seeds, create_graph, retain_graph, accumulate_into=targets))
    finally:
        if create_graph:
            warn_once(messages.CREATE_GRAPH_CYCLE, stacklevel=3)


def renamed_gradients(grad_tensors, grad_variables):
    """What came under the old name of `grad_tensors`, with a warning. RuntimeError when both names were used."""
    warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
    if grad_tensors is not None:
        raise RuntimeError(messages.GRADIENTS_TWICE)
    return grad_variables


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
    is_grads_batched=False, materialize_grads=False,
):
    """The gradients of `outputs` (weighted by `grad_outputs`) for `inputs`, as a tuple (a dict for a dict).

    Nothing is stored in `.grad`. RuntimeError for an input that the outputs do not depend on, unless allow_unused
    (then None) or materialize_grads (then zeros). `only_inputs` is a relic: whatever it is, it changes nothing.
    """
    if not only_inputs:
        warnings.warn(messages.ONLY_INPUTS, FutureWarning, stacklevel=2)
    if is_grads_batched:
        raise errors.not_supported("is_grads_batched", "Call autograd.grad once for each gradient.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs = as_list(list(outputs) if isinstance(outputs, dict) else outputs)
    keys = list(inputs) if isinstance(inputs, dict) else None
    inputs = list(inputs.values()) if keys is not None else as_list(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots, seeds = begin(outputs, grad_outputs, create_graph)
    captures = {}
    for position, tensor in enumerate(inputs):
        node, output_nr = edge_of_input(tensor)
        captures.setdefault(node, []).append((output_nr, position))
    fit_seeds(roots, seeds)
    task = GraphTask(roots, seeds, create_graph, create_graph if retain_graph is None else retain_graph, captures)
    run(task)
    results = finish_gradients(task, inputs, allow_unused, materialize_grads)
    return dict(zip(keys, results, strict=True)) if keys is not None else tuple(results)


def check_input(tensor):
    """RuntimeError for an input that no gradient can arrive at: it must be a tensor or a gradient edge."""
    if not isinstance(tensor, Tensor) and not is_edge(tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")


def edge_of_input(tensor):
    """(node, output number) at which a gradient for an input can be caught."""
    check_input(tensor)
    if is_edge(tensor):
        return tensor.node, tensor.output_nr
    edge = edge_of(tensor) if requires_grad(tensor) else None
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
                raise messages.unused_input(position)
            if materialize_grads:
                if is_edge(tensor):
                    raise RuntimeError(messages.MATERIALIZED_EDGE)
                caught = zeros_like(tensor)
                caught.requires_grad = task.create_graph
            results.append(caught)
            continue
        if not isinstance(caught, Tensor):
            if id(caught) not in made:  # the same array for two inputs: the same tensor, as in PyTorch
                alone = getattr(caught, "base", None) is None
                made[id(caught)] = new_tensor(caught if alone else copy_of_gradient(caught))
            caught = made[id(caught)]
        results.append(caught)
    if state.inference:
        mark_inference(*made.values())
    return results


def is_anomaly_enabled():
    """True when anomaly mode is on."""
    return state.anomaly


def is_anomaly_check_nan_enabled():
    """True when anomaly mode looks for NaN."""
    return state.anomaly_check_nan


def _backward_of_tensor(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Compute gradients of this tensor for all leaves it was computed from, and add them to their `.grad`.

    gradient: what to start with, of this tensor's shape; may be left out for a single element.
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward_of_tensor.__name__, _backward_of_tensor.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _backward_of_tensor


__all__ = [
    "AccumulateGrad", "Function", "backward", "detect_anomaly", "enable_grad", "function", "grad", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]


_ELSEWHERE = {
    "Function": "function", "FunctionCtx": "function", "Variable": "variable",
    **dict.fromkeys(("detect_anomaly", "set_detect_anomaly"), "anomaly_mode"),
    **dict.fromkeys(("is_multithreading_enabled", "set_multithreading_enabled"), "threads"),
}


def __getattr__(name):
    """Function, `graph`, `functional`, the switches and the checks are imported when first asked for."""
    if name in _ELSEWHERE:
        import importlib

        globals()[name] = getattr(importlib.import_module("course_lib.autograd." + _ELSEWHERE[name]), name)
        return globals()[name]
    if name in ("anomaly_mode", "graph", "function", "functional", "gradcheck", "gradgradcheck"):
        import importlib

        module = importlib.import_module("course_lib.autograd." + name.replace("gradgrad", "grad"))
        if not name.endswith("check"):
            return module
        globals().update(gradcheck=module.gradcheck, gradgradcheck=module.gradgradcheck)  # not the module of that name
        return globals()[name]
    from course_lib.native.left_out import missing

    raise missing("torch.autograd", name)


def __dir__():
    return sorted({*globals(), *__all__})
