"""The claims of lesson 00, on our engine and on real PyTorch."""

import random

from lessons.claims_kit import from_lesson, names_behind


def test_c00_1_grad_fn_only_where_a_gradient_is_needed(torch):
    """Arithmetic on a tensor that requires grad leaves a node in the result's `grad_fn`; otherwise it is None."""
    x = torch.tensor(3.0, requires_grad=True)
    plain = torch.tensor(3.0)

    assert (x * x + x).grad_fn.name() == "AddBackward0"
    assert (plain * x).grad_fn.name() == "MulBackward0"
    assert (plain * plain + plain).grad_fn is None
    assert x.grad_fn is None


def test_c00_2_an_arrow_for_each_differentiable_operand(torch):
    """`next_functions` holds one arrow for each tensor operand of arithmetic, in order: to that operand's node, or to
    nothing if no slope is wanted for it."""
    x = torch.tensor(3.0, requires_grad=True)
    first, second = x.exp(), x.sin()
    difference = first - second

    assert difference.grad_fn.next_functions == ((first.grad_fn, 0), (second.grad_fn, 0))
    assert (second - first).grad_fn.next_functions == ((second.grad_fn, 0), (first.grad_fn, 0))
    assert (x * 2).grad_fn.next_functions[1] == (None, 0)
    for result in (x**2, 2**x, 1 - x):  # the number is a setting of the operation, and no operand
        assert len(result.grad_fn.next_functions) == 1
    for result in (2 * x, 2 + x):  # run as x * 2 and x + 2
        assert [node is None for node, _ in result.grad_fn.next_functions] == [False, True]


def test_c00_3_paths_end_in_the_accumulator_of_a_leaf(torch):
    """At a leaf the arrows end in an `AccumulateGrad` node, whose `variable` is that very tensor."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    product, accumulate = [node for node, _ in y.grad_fn.next_functions]

    assert type(accumulate).__name__ == "AccumulateGrad"
    assert accumulate.variable is x
    assert accumulate.next_functions == ()
    assert all(node is accumulate for node, _ in product.next_functions)


def test_c00_4_products_along_paths_are_added(torch):
    """Backward multiplies slopes along each path and adds the products where paths meet."""
    for _ in range(5):
        value = random.uniform(-2, 2)
        x = torch.tensor(value, requires_grad=True, dtype=torch.float64)
        (x * x + x).backward()
        assert abs(x.grad.item() - (value + value + 1)) < 1e-12

        square, plain = (torch.tensor(value, requires_grad=True, dtype=torch.float64) for _ in range(2))
        (square * square + plain).backward()  # each path with a leaf of its own
        assert abs(x.grad.item() - (square.grad + plain.grad).item()) < 1e-12


def test_c00_5_new_nodes_each_run_one_accumulator(torch):
    """Each run of a line builds new nodes; graphs of one leaf that are alive together share its accumulator."""
    x = torch.tensor(3.0, requires_grad=True)
    results = [x * x for _ in range(3)]
    nodes = [result.grad_fn for result in results]
    accumulators = [node.next_functions[0][0] for node in nodes]

    assert len(set(nodes)) == 3
    assert len(set(accumulators)) == 1


def test_c00_6_only_what_ran_is_recorded(torch):
    """The graph records what ran: a branch of an `if` that was not taken leaves no node."""
    times = from_lesson(torch, "00", "times").times
    x = torch.tensor(3.0, requires_grad=True)
    for n in (2, 3, 7):
        names = names_behind(times(x, n))
        assert names.count("AddBackward0") == n - 1 and len(names) == n
    assert names_behind(times(x, 1)) == ["ExpBackward0", "AccumulateGrad"]
