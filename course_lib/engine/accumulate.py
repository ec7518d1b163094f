"""What AccumulateGrad needs now and then: a gradient copied in the layout of its leaf, and refusals.

PyTorch: torch/csrc/autograd/functions/accumulate_grad.h (accumulateGrad: "stealable").
"""

import numpy as np

from course_lib.arrays.kernels import broadcast_like
from course_lib.arrays.memory import is_dense
from course_lib.engine.version import VersionCounter


def no_gradients(leaf):
    """What AccumulateGrad sends on for a leaf that wants no gradient any more. RuntimeError if it is computed now."""
    if leaf.node is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    return ()


def copy_like(grad, like):
    """A copy whose memory layout follows the leaf's, when the leaf's elements fill their memory densely.

    RuntimeError for a gradient that cannot be seen in the shape that the leaf has by now.
    """
    if grad.shape != like.shape:
        grad = broadcast_like(grad, like)
    if like.ndim < 2 or like.flags.c_contiguous:
        return np.array(grad, order="C")
    order = sorted(range(like.ndim), key=lambda d: -like.strides[d])
    copy = np.empty([like.shape[d] for d in order], grad.dtype).transpose(np.argsort(order))
    if copy.strides != like.strides:  # the leaf has gaps: PyTorch then makes rows
        return np.array(grad, order="C")
    copy[...] = grad
    return copy


def counter_of_copy(like):
    """The counter of a gradient that was copied for `.grad`.

    PyTorch makes memory stepped through like the leaf and writes the gradient into it, which counts as a write.
    """
    return VersionCounter(1) if like.flags.c_contiguous or is_dense(like) else None
