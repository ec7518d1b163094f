"""Which of equal elements topk takes: the steps by which C++ finds and sorts the first few of a line.

PyTorch: aten/src/ATen/native/TopKImpl.h (std::partial_sort, or std::nth_element and std::sort; those of libstdc++).
"""

import functools
import math


def first_in_order(values, k, largest):
    """The places of the k largest or smallest values of a list, in the order in which PyTorch gives them."""
    line = list(range(len(values)))
    if largest:  # NaN counts as larger than everything
        def before(a, b):
            a, b = values[a], values[b]
            return a > b or (a != a and b == b)
    else:
        def before(a, b):
            a, b = values[a], values[b]
            return a < b or (b != b and a == a)
    if k * 64 <= len(line):
        partial_sort(line, 0, k, len(line), before)
    elif k:
        nth_element(line, k - 1, before)
        sort(line, 0, k - 1, before)
    return line[:k]


def nth_element(line, nth, before):
    """Bring to place `nth` what belongs there in order, and before it what comes before."""
    first, last = 0, len(line)
    depth = 2 * int(math.log2(last))
    while last - first > 3:
        if depth == 0:
            heap_select(line, first, nth + 1, last, before)
            line[first], line[nth] = line[nth], line[first]
            return
        depth -= 1
        cut = partition(line, first, last, before)
        first, last = (cut, last) if cut <= nth else (first, cut)
    insertion_sort(line, first, last, before)


def sort(line, first, last, before):
    """Sort a stretch of the line: quicksort down to 16 elements, insertion sort at the end."""
    if last - first > 1:
        introsort(line, first, last, 2 * int(math.log2(last - first)), before)
        insertion_sort(line, first, last, before)


def introsort(line, first, last, depth, before):
    """Partition until no part has more than 16 elements; heapsort for a part that was cut too often."""
    while last - first > 16:
        if depth == 0:
            partial_sort(line, first, last, last, before)
            return
        depth -= 1
        cut = partition(line, first, last, before)
        introsort(line, cut, last, depth, before)
        last = cut


def partition(line, first, last, before):
    """Exchange elements around a median of three; where the second part begins."""
    median_to_front(line, first, first + 1, first + (last - first) // 2, last - 1, before)
    low, high = first + 1, last
    while True:
        while before(line[low], line[first]):
            low += 1
        high -= 1
        while before(line[first], line[high]):
            high -= 1
        if low >= high:
            return low
        line[low], line[high] = line[high], line[low]
        low += 1


def median_to_front(line, front, a, b, c, before):
    """Exchange the element at `front` with the middle one of three others."""
    if before(line[a], line[b]):
        middle = b if before(line[b], line[c]) else c if before(line[a], line[c]) else a
    else:
        middle = a if before(line[a], line[c]) else c if before(line[b], line[c]) else b
    line[front], line[middle] = line[middle], line[front]


def insertion_sort(line, first, last, before):
    """Sort a stretch by inserting each element behind its equals."""
    order = functools.cmp_to_key(lambda a, b: -before(a, b) or before(b, a))
    line[first:last] = sorted(line[first:last], key=order)


def partial_sort(line, first, middle, last, before):
    """Sort what belongs before `middle` by means of a heap."""
    heap_select(line, first, middle, last, before)
    for end in range(middle - 1, first, -1):
        item, line[end] = line[end], line[first]
        sift(line, first, 0, end - first, item, before)


def heap_select(line, first, middle, last, before):
    """Make a heap of the stretch before `middle` and exchange its top for everything behind that comes before it."""
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        sift(line, first, parent, length, line[first + parent], before)
    for i in range(middle, last):
        if before(line[i], line[first]):
            item, line[i] = line[i], line[first]
            sift(line, first, 0, length, item, before)


def sift(line, first, hole, length, item, before):
    """Let a hole sink to the bottom of a heap, by the child that comes last, and the item rise from there."""
    top = hole
    while (child := 2 * hole + 2) < length:
        if before(line[first + child], line[first + child - 1]):
            child -= 1
        line[first + hole] = line[first + child]
        hole = child
    if child == length:
        line[first + hole] = line[first + child - 1]
        hole = child - 1
    while hole > top and before(line[first + (hole - 1) // 2], item):
        line[first + hole] = line[first + (hole - 1) // 2]
        hole = (hole - 1) // 2
    line[first + hole] = item


def quick_select(values, k):
    """The place of the k-th smallest of a list, counted from 0: that of equals to which kthvalue's steps lead.

    PyTorch: aten/src/ATen/native/Sorting.cpp (quick_select_template).
    """
    values, line = list(values), list(range(len(values)))

    def after(a, b):
        return a != a and b == b or a > b  # NaN counts as larger than everything

    def swap(i, j):
        values[i], values[j], line[i], line[j] = values[j], values[i], line[j], line[i]

    first, last = 0, len(values) - 1
    while last > first:
        if last == first + 1:
            if after(values[first], values[last]):
                swap(first, last)
            break
        swap(first + (last - first) // 2, first + 1)
        for i, j in ((first + 1, last), (first, last), (first + 1, first)):
            if after(values[i], values[j]):
                swap(i, j)
        i, j, pivot = first + 1, last, values[first]
        while True:
            i, j = i + 1, j - 1
            while after(pivot, values[i]):
                i += 1
            while after(values[j], pivot):
                j -= 1
            if j < i:
                break
            swap(i, j)
        swap(first, j)
        first, last = i if j <= k else first, j - 1 if j >= k else last
    return line[k]
