"""Reproduce the order in which PyTorch's std::priority_queue pops AccumulateGrad nodes of equal priority.

PyTorch: torch/csrc/autograd/engine.h (ReadyQueue). Every AccumulateGrad has the same number, the highest, so their
order is whatever the heap makes of it. course_lib has the same rule for its own queue; a test holds the two equal.
"""


def pop_order(pushed: list, waiting: int) -> list:
    """Return the order in which items leave a binary heap where all of them are equal and stand above the rest.

    pushed   what was pushed, in order; None for things of the rest
    waiting  how many of the rest were in the heap before
    """
    heap, order = [None] * waiting, []
    for item in pushed:
        heap.append(None)
        rise(heap, len(heap) - 1, item)
    while heap and heap[0] is not None:
        order.append(heap[0])
        last = heap.pop()
        if heap:
            rise(heap, sink(heap), last)
    return order


def rise(heap, hole, item) -> None:
    """Put an item into a hole, or above it as long as what stands there belongs to the rest."""
    while hole and item is not None and heap[(hole - 1) // 2] is None:
        heap[hole], hole = None, (hole - 1) // 2
    heap[hole] = item


def sink(heap) -> int:
    """Fill the hole at the top from below by the larger child, the right one of equals; return the last hole."""
    hole = 0
    while (right := 2 * hole + 2) < len(heap):
        child = right - 1 if heap[right] is None and heap[right - 1] is not None else right
        heap[hole], hole = heap[child], child
    if 2 * hole + 2 == len(heap):
        heap[hole], hole = heap[2 * hole + 1], 2 * hole + 1
    return hole
