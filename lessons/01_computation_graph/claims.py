"""The claims of lesson 01, a computation is a graph, on our engine and on real PyTorch."""

import random
import weakref

import pytest

from lessons.claims_kit import alive, names_behind, no_collector, nodes_behind
from lessons.claims_kit import number as leaf


def leaves_behind(y):
    return {node.variable for node in nodes_behind(y) if hasattr(node, "variable")}


def test_c01_1_arrows_run_back(torch):
    """Arrows lead from a result back to every leaf that requires grad and went into it through recorded operations;
    from a leaf they lead nowhere."""
    a, b, unused = leaf(torch), leaf(torch, 3.0), leaf(torch, 4.0)
    plain = torch.tensor(5.0)
    for _ in range(20):
        results = {a: {a}, b: {b}, plain: set()}
        for _ in range(6):
            one, two = random.choices(list(results), k=2)
            operation = random.choice([torch.add, torch.mul, torch.sub])
            results[operation(one, two)] = results[one] | results[two]
        for result, used in results.items():
            if result.grad_fn is not None:
                assert leaves_behind(result) == used
    assert unused.grad_fn is None
    (accumulate,) = [node for node in nodes_behind(a * 2) if hasattr(node, "variable")]
    assert accumulate.next_functions == ()


def test_c01_2_plain_operands_leave_nothing(torch):
    """An operation none of whose operands requires grad leaves no node; where recorded arithmetic uses its result, the
    arrow leads to nothing."""
    w, x = leaf(torch), torch.tensor(5.0)
    for q in (x + 1, x * x, x.exp(), torch.stack([x, x]).sum()):
        assert q.grad_fn is None
        assert (w * q).grad_fn.next_functions[1] == (None, 0)
        assert (q - w).grad_fn.next_functions[0] == (None, 0)
        assert len(nodes_behind(w * q)) == 2


def test_c01_3_used_twice_or_computed_twice(torch):
    """A result that is used twice is one node with two arrows into it; a result that is computed twice is
    two nodes."""
    w, x = leaf(torch), leaf(torch, 3.0)
    h = w * x
    shared, repeated = h * h, (w * x) * (w * x)
    left, right = (node for node, _ in repeated.grad_fn.next_functions)

    assert shared.grad_fn.next_functions == ((h.grad_fn, 0), (h.grad_fn, 0))
    assert left is not right
    assert shared.item() == repeated.item()
    assert (len(nodes_behind(shared)), len(nodes_behind(repeated))) == (4, 5)


def test_c01_4_names_are_not_in_the_graph(torch):
    """Names are not in the graph: giving a name to another tensor, or deleting it, changes no arrow."""
    x = leaf(torch, 4.0)
    h = x * 2
    y = h * h
    node, before = h.grad_fn, y.grad_fn.next_functions
    h = x.exp()

    assert y.grad_fn.next_functions == before == ((node, 0), (node, 0))
    del h
    assert y.grad_fn.next_functions == before
    assert torch.autograd.grad(y, x)[0].item() == 8 * 4.0


def test_c01_5_no_cycles(torch):
    """An arrow leads to nothing, to a leaf, or to an operation that ran earlier, so no graph has a cycle."""
    h = leaf(torch)
    for _ in range(30):
        h = random.choice([lambda h: h + h, lambda h: h * 0.5, lambda h: h.sin() - h, lambda h: -h])(h)
    for node in nodes_behind(h):
        for after, _ in node.next_functions:
            if after is not None and after.next_functions:
                assert after._sequence_nr() < node._sequence_nr()


def test_c01_6_nodes_and_leaves_are_kept_alive(torch):
    """A result that is no view keeps the nodes behind it and their leaves alive, but a tensor in between only if a node
    has saved it."""

    def run():
        w = leaf(torch)
        plus, times, sine = w + 1, w * 3, w - 2
        y = (plus + 4) + times / 5 + sine.sin()
        return y, [weakref.ref(tensor) for tensor in (w, plus, times, sine)]

    with no_collector():
        y, looks = run()
        assert alive(looks) == [True, False, False, True]
        base = leaf(torch) * 2
        view, look = base.view(1), weakref.ref(base)
        del base
        assert alive([look]) == [True]
        total = view + 1  # computed from the view, and no view itself
        del view
        assert alive([look]) == [False] and total.grad_fn is not None
        assert names_behind(y).count("AccumulateGrad") == 1


@pytest.mark.parametrize("held", ["the result", "one of its nodes"])


def test_c01_7_gone_at_once(torch, held):
    """When you let go of a result and of its nodes, its graph goes at once, without waiting for the garbage
    collector."""

    def run(x):
        w = leaf(torch)
        h = x * w
        return (h.exp() + h.sin()).sum(), weakref.ref(w), weakref.ref(h)

    with no_collector():
        x = leaf(torch, 3.0)
        y, *looks = run(x)
        if held == "one of its nodes":
            y = y.grad_fn
        assert alive(looks) == [True, True]
        del y
        assert alive(looks) == [False, False]


def test_c01_8_item_leaves_the_graph(torch):
    """A number taken out with `item()` is outside the graph: no arrow leads back through it."""
    x = leaf(torch, 4.0)
    y = (x * x).item() * x

    assert names_behind(y) == ["MulBackward0", "AccumulateGrad"]
    assert torch.autograd.grad(y, x)[0].item() == 16.0
    assert torch.tensor((x * x).item()).grad_fn is None
