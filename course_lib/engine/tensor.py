"""The Tensor: an array, the node that made it, and the counter of the memory it looks at.

PyTorch: c10/core/TensorImpl.h, torch/csrc/autograd/variable.h (AutogradMeta, DifferentiableViewMeta).

The array says what the values are, the node where they came from, the counter how often their memory was written to.
Nearly every tensor of a program is an ordinary result and needs no more; `meta` is for the others.
"""

import weakref

import numpy as np

from course_lib.arrays import dtypes, errors
from course_lib.arrays.memory import Storage
from course_lib.arrays.printing import Size, format_tensor
from course_lib.engine.version import VersionCounter


class Tensor:
    """An array that remembers how it was computed.

    This file holds what a tensor *is*. surface/methods.py attaches operators and methods such as `sum`;
    surface/autograd_methods.py what autograd adds, such as `grad_fn` and `requires_grad`.
    """

    __slots__ = (
        "array",  # the elements: a NumPy array; a NumPy scalar for a 0-d result nobody else looks at
        "node",  # the graph node that computed it, or None; read it through `grad_fn`
        "version",  # the VersionCounter of the memory, or None: Note [Counters are made late]
        "meta",  # AutogradMeta for leaves with grad, views and other special cases; None for an ordinary result
        "__weakref__",
        "__dict__",  # attributes of the user's own, as on any Python object
    )
    __array_priority__ = 1000  # `array * tensor` is ours to compute, not NumPy's

    # --- shape and type ------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple:
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.of_array(self.array)

    # --- memory --------------------------------------------------------------------------------------------

    def data_ptr(self) -> int:
        """Return the address of the first element: equal for two tensors that begin at the same place."""
        return writable_array(self).__array_interface__["data"][0]

    def storage_offset(self) -> int:
        """Return how many elements after the beginning of its storage this tensor begins."""
        return (self.data_ptr() - self.untyped_storage().data_ptr()) // self.array.itemsize

    def untyped_storage(self) -> Storage:
        """Return the memory that this tensor, its base and all views of it share."""
        return Storage(writable_array(self))

    def is_contiguous(self) -> bool:
        """Return True when the elements lie in row-major order without gaps."""
        return writable_array(self).flags.c_contiguous

    @property
    def _version(self):
        if self.meta is not None and self.meta.inference is True:
            raise RuntimeError(errors.INFERENCE_NO_VERSION)
        return 0 if self.version is None else self.version.value

    def is_inference(self) -> bool:
        """Return True for a tensor made in inference mode, which counts no writes, and for others on its memory."""
        return self.meta is not None and bool(self.meta.inference)

    # --- in words ------------------------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents=None):
        try:
            name = None if self.grad_fn is None else type(self.grad_fn).__name__
        except RuntimeError:
            name = "Invalid"  # a view that can no longer be used can still be looked at
        return format_tensor(self.array, dtype_name=self.dtype.name, requires_grad=self.requires_grad, grad_fn=name)

    def __hash__(self):
        return id(self)  # tensors are compared element by element, so identity is all that can be hashed


NO_EDGE = weakref.ref(set())  # the `leaf_edge` of most tensors: a dead weak reference, which gives None


class AutogradMeta:
    """The fields that only some tensors need: leaves that require grad, views, outputs after the first, and so on.

    An operation looks at a tensor's node only, as long as there is no meta: `x.node if x.meta is None else ...` is the
    one question that it asks of each input, and `gradient_edge` (views.py) sorts out the rest.
    """

    __slots__ = (
        "requires_grad",  # True for a leaf that wants a gradient; computed tensors are known by their node
        "grad",  # the gradient accumulated so far, a Tensor or None
        "accumulator",  # weak reference to the leaf's AccumulateGrad node; the graph keeps it alive
        "leaf_edge",  # the same reference, or `NO_EDGE`: Note [A leaf's edge is kept twice], in views.py
        "hooks",  # tensor hooks of a leaf, by number; those of a computed tensor sit on its node
        "post_accumulate_hooks",
        "retains_grad",  # True after retain_grad() on a computed tensor
        "output_nr",  # which output of its node this tensor is
        "edge_to_output",  # True when the node has several outputs, so that edges must say which
        "view",  # ViewOf: the base and where the view was made; None for a tensor that is no view
        "inference",  # False; True: made in inference mode; "counted": its detach() outside of it, which counts writes
    )

    def __init__(self):
        self.requires_grad = self.retains_grad = self.edge_to_output = self.inference = False
        self.grad = self.accumulator = self.hooks = self.post_accumulate_hooks = self.view = None
        self.output_nr, self.leaf_edge = 0, NO_EDGE


# allocate(Tensor) is a tensor whose fields are still to be filled in. (Tensor(...) itself is torch.Tensor([1, 2]).)
allocate = object.__new__


def new_tensor(array: np.ndarray, cls: type = Tensor) -> Tensor:
    """Return a tensor without history and without a counter of its own yet."""
    result = allocate(cls)
    result.array = array
    result.node = result.version = result.meta = None
    return result


if dtypes.NARROW:  # only in a browser, where NumPy's own integers have 32 bits
    just_new = new_tensor

    def new_tensor(array: np.ndarray, cls: type = Tensor) -> Tensor:
        """Return a tensor without history and without a counter of its own yet, of integers with 64 bits."""
        return just_new(dtypes.widened(array), cls)


def meta_of(tensor: Tensor) -> AutogradMeta:
    """Return the tensor's AutogradMeta, made when it is first needed."""
    if tensor.meta is None:
        tensor.meta = AutogradMeta()
    return tensor.meta


def mark_inference(*results) -> Tensor:
    """Mark results as made in inference mode: they say so, and have no counter."""
    for result in results:
        meta_of(result).inference = True
    return results[0] if len(results) == 1 else results


# Note [0-d results are NumPy scalars]
# `np.float32(2) * np.float32(3)` is several times faster than the same on 0-d arrays, so a 0-d result is kept as the
# scalar that NumPy returns. A scalar cannot be shared or written to; `writable_array` turns it into an array the
# first time somebody wants to share or change the memory.


def writable_array(tensor: Tensor) -> np.ndarray:
    """Return the tensor's array as memory that can be shared and written to."""
    if type(tensor.array) is not np.ndarray:
        tensor.array = np.array(tensor.array)
    return tensor.array


def counter_of(tensor: Tensor) -> VersionCounter:
    """Return the version counter of the tensor's memory, made when first needed: a 0-d result becomes an array then."""
    if tensor.version is None:
        if type(tensor.array) is not np.ndarray:
            writable_array(tensor)
        tensor.version = VersionCounter()
    return tensor.version


def alias(tensor: Tensor, array: object = None) -> Tensor:
    """Return a new tensor on the same memory and counter, without history: what detach() returns and views begin as."""
    version = tensor.version or counter_of(tensor)
    result = allocate(Tensor)
    result.array = tensor.array if array is None else array
    result.node = result.meta = None
    result.version = version
    return result
