"""What AccumulateGrad needs now and then: a gradient copied in the layout of its leaf, and refusals.

PyTorch: torch/csrc/autograd/functions/accumulate_grad.h (accumulateGrad: "stealable").
"""

from sys import getrefcount

import numpy as np

from course_lib.arrays import messages
from course_lib.arrays.kernels import broadcast_like
from course_lib.arrays.memory import UNSHARED, check_overlap, is_dense
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import counter_of
from course_lib.engine.version import VersionCounter


def no_gradients(leaf):
    """What AccumulateGrad sends on for a leaf that wants no gradient any more. RuntimeError if it is computed now."""
    if leaf.node is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    return ()


def counter_to_add(grad):
    """The counter of a `.grad` that is about to grow.

    RuntimeError for one that was made in inference mode, outside of it, and for elements that share a place.
    """
    if grad.is_inference() and not state.inference:
        raise RuntimeError(messages.INFERENCE_IN_PLACE)
    check_overlap(grad, ())
    return counter_of(grad)


def copy_like(grad, like):
    """A copy whose memory layout follows the leaf's, when the leaf's elements fill their memory densely.

    RuntimeError for a gradient that cannot be seen in the shape that the leaf has by now. As in PyTorch it keeps its
    own shape when nobody else sees it and it is stepped through like the leaf, which PyTorch would take over, or when
    the leaf's elements do not fill their memory.
    """
    if grad.shape != like.shape:
        alone = getrefcount(grad) <= UNSHARED + 2  # it came by way of run_with_care, which holds it twice
        taken_over = alone and not state.grad_enabled and steps_alike(grad, like)
        if taken_over or like.size and not is_dense(like):
            return np.array(grad)
        grad = broadcast_like(grad, like)
    if like.ndim < 2 or like.flags.c_contiguous:
        return np.array(grad, order="C")
    order = sorted(range(like.ndim), key=lambda d: -like.strides[d])
    copy = np.empty([like.shape[d] for d in order], grad.dtype).transpose(np.argsort(order))
    if copy.strides != like.strides:
        return np.array(grad, order="C")
    copy[...] = grad
    return copy


def counter_of_copy(like):
    """The counter of a gradient that was copied for `.grad`.

    PyTorch makes memory stepped through like the leaf and writes the gradient into it, which counts as a write.
    """
    return VersionCounter(1) if like.flags.c_contiguous or is_dense(like) else None


def steps_alike(grad, like):
    """True when each dimension of the gradient that is longer than 1 is stepped through like that of the leaf.

    A leaf without elements whose shape is that of its gradient backwards is one that was transposed in place.
    """
    turned = not like.size and grad.shape == like.shape[::-1]
    steps = zip(grad.shape, steps_of(grad), steps_of(grad)[::-1] if turned else steps_of(like), strict=False)
    return grad.ndim <= like.ndim and all(n == 1 or step == wanted for n, step, wanted in steps)


def steps_of(array):
    """An array's strides in elements; when it has none, for which NumPy does not tell, those of rows.

    A dimension of length 1 counts as added later, as by unsqueeze: then nothing follows it, so its stride is 0.
    """
    if array.size:
        return [step // array.itemsize for step in array.strides]
    steps, step = [], 1
    for n, following in zip(array.shape[::-1], (1, *array.shape[:0:-1]), strict=True):
        step *= max(following, 1)
        steps.insert(0, 0 if n == 1 and not following else step)
    return steps
