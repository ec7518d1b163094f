"""Operations with several results that all have a gradient, and one node for them; and operations made of others.

PyTorch: tools/autograd/derivatives.yaml (the rows of convolution_backward, native_layer_norm_backward, aminmax ...).

A row of the table has a gradient for its first result only. What has more is made here: the gradients of convolution
and normalising, which are differentiated together, and functions that are many operations here and one in PyTorch.
"""

from course_lib.engine import grad_mode
from course_lib.engine.build import mark_inference, on_arrays_function, on_tensors_function
from course_lib.engine.graph import Node, init_node
from course_lib.engine.ops import instrument
from course_lib.engine.saved import FREED, SavedOutput, SavedVariable, add_slot_properties
from course_lib.engine.tensor import Tensor, meta_of, new_tensor
from course_lib.engine.views import gradient_edge

state = grad_mode.state


class Joint(Node):
    """The history of several results: `formula(grads, edges, *inputs, *numbers)` gives a gradient for each input."""

    __slots__ = ("output_count",)
    several_outputs = chooses = True

    def values(self):
        """What was kept: tensors after the version check, and numbers."""
        kept = [getattr(self, f"kept_{name}") for name in self.saved_names]
        return [slot.unpack(self) if isinstance(slot, SavedVariable) else slot for slot in kept]

    def apply(self, grads, edges=None):
        values = [value.array if isinstance(value, Tensor) else value for value in self.values()]
        return on_arrays_function(self.formula)(grads, edges or self.edges, *values)

    def apply_to_tensors(self, grads, edges=None):
        return on_tensors_function(self.formula)(grads, edges or self.edges, *self.values())

    def release(self):
        for name in self.saved_tensor_names:
            if getattr(self, f"kept_{name}") is not None:
                setattr(self, f"kept_{name}", FREED)


_kinds = {}


def kind_of(name, tensors, numbers, **more):
    """The class of nodes of a name, which keep these tensors and numbers."""
    key = name, *more.values()
    if key not in _kinds:
        slots = tuple(f"kept_{each}" for each in (*tensors, *numbers))
        names = {"__slots__": slots, "saved_names": (*tensors, *numbers), "saved_tensor_names": tuple(tensors), **more}
        _kinds[key] = add_slot_properties(type(name, (Joint,), names))
    return _kinds[key]


def joint(name, formula, inputs, arrays, unkept=(), kept_results=(), constants=None, **numbers):
    """The results that these arrays are, None for None, with one node: its edges are those of the inputs, by name.

    unkept: names of inputs that have an edge and are not saved; kept_results: names of the results, if they are;
    constants: what PyTorch's node shows as well.
    """
    kept = {each: value for each, value in inputs.items() if each not in unkept}
    shown = {f"_saved_{each}": value for each, value in (constants or {}).items()}
    results = [None if array is None else new_tensor(array) for array in arrays]
    if state.recording < 0:
        return [None if result is None else mark_inference(result) for result in results]
    edges = tuple(None if t is None else gradient_edge(t) for t in inputs.values())
    if state.recording == 0 or all(edge is None for edge in edges):
        return results
    node = init_node(kind_of(name, (*kept, *kept_results), numbers, formula=formula, **shown)(), edges)
    node.output_count = len(results)
    for number, result in enumerate(results):
        if result is not None:
            result.node, meta = node, meta_of(result)
            meta.output_nr, meta.edge_to_output = number, len(results) > 1
    for each, value in (kept | numbers).items():
        setattr(node, f"kept_{each}", SavedVariable.of(value) if isinstance(value, Tensor) else value)
    for each, result in zip(kept_results, results, strict=False):
        setattr(node, f"kept_{each}", SavedOutput.of(result))
    if state.recording == 2:
        instrument(node, next(result for result in results if result is not None))
    return results
