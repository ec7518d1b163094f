"""What AccumulateGrad needs now and then: a refusal, and the counter of a gradient that was copied.

PyTorch: torch/csrc/autograd/functions/accumulate_grad.h (accumulateGrad: "stealable").
"""

from course_lib.arrays.memory import is_dense
from course_lib.engine.version import VersionCounter


def no_gradients(leaf):
    """What AccumulateGrad sends on for a leaf that wants no gradient any more. RuntimeError if it is computed now."""
    if leaf.node is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    return ()


def counter_of_copy(like):
    """The counter of a gradient that was copied for `.grad`.

    PyTorch makes memory stepped through like the leaf and writes the gradient into it, which counts as a write.
    """
    return VersionCounter(1) if like.flags.c_contiguous or is_dense(like) else None
