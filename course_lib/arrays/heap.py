"""In which order C++'s priority queue gives out equals: accumulators that became ready in one step.

PyTorch: torch/csrc/autograd/engine.h (ReadyQueue, a std::priority_queue). Every AccumulateGrad has the same number, the
highest, so their order is whatever the heap makes of it.
"""


def in_turn(pushed: list, waiting: int) -> list:
    """Return the order in which things leave a binary heap where all of them are equal and stand above the rest.

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


def rise(heap: list, hole: int, item: object) -> None:
    """Put an item into a hole, or above it, as long as what stands above belongs to the rest."""
    while hole and item is not None and heap[(hole - 1) // 2] is None:
        heap[hole], hole = None, (hole - 1) // 2
    heap[hole] = item


def sink(heap: list) -> int:
    """Fill the hole at the top from below, always by the larger child, the right one when they are equal."""
    hole = 0
    while (right := 2 * hole + 2) < len(heap):
        child = right - 1 if heap[right] is None and heap[right - 1] is not None else right
        heap[hole], hole = heap[child], child
    if 2 * hole + 2 == len(heap):
        heap[hole], hole = heap[2 * hole + 1], 2 * hole + 1
    return hole


def priority_queue_order(node: object, leaves: list, ready: list, newest: object) -> list:
    """Reproduce the order in which PyTorch's std::priority_queue pops leaves that became complete at once.

    `ready` and `newest` are the other nodes in that queue: backward.py keeps one of them outside of its own.
    """
    others = [n for _, n, _ in ready] + [newest] * (newest is not None)
    grads = dict(leaves)
    arrived = dict.fromkeys(edge[0] if type(edge) is tuple else edge for edge in reversed(node.edges))
    pushed = [n if n in grads else None for n in reversed(arrived) if n in grads or n in others]  # by their last edge
    return [(leaf, grads[leaf]) for leaf in in_turn(pushed, len(others) - pushed.count(None))]
