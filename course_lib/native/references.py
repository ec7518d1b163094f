"""How often Python refers to an array that nobody but the engine can see.

PyTorch: torch/csrc/autograd/functions/accumulate_grad.h, which asks the same of a tensor's use_count.
"""

from sys import getrefcount


def _count_references():
    """What getrefcount says of an array in a function that a node's `apply` calls, when only the engine holds it."""
    seen = []

    class Probe:
        base, flags = None, None

    def like_a_formula(grad):
        seen.append(getrefcount(grad))

    def like_apply(node, grad):
        like_a_formula(grad)

    def like_evaluate():
        grad = Probe()
        like_apply(None, grad)

    like_evaluate()
    return seen[0]


UNSHARED = _count_references()
