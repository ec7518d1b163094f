"""The claims of part 13b, on our engine and on real PyTorch."""

from lessons.claims_kit import number


def arrived(torch, *programs):
    """Count the arrows that lead to x in each program's graph, and read x.grad after one pass of each."""
    x, arrows = number(torch, 3.0), []
    for program in programs:
        y = program(x)
        nodes = [y.grad_fn]
        for node in nodes:
            nodes += [to for to, _ in node.next_functions if to is not None]
        arrows.append(sum(getattr(node, "variable", None) is x for node in nodes))
        y.backward()
    return arrows, x.grad.item()


def test_c13b_1_where_gradients_meet(torch):
    """In `x * x` two gradients meet at x in one pass. In `x * 2 * 5` none meet, and in two passes they are added in
    `.grad`."""
    assert arrived(torch, lambda x: x * x) == ([2], 6.0)
    assert arrived(torch, lambda x: x * 2 * 5) == ([1], 10.0)
    assert arrived(torch, lambda x: x * 2, lambda x: x * 5) == ([1, 1], 7.0)


def test_c13b_2_mean_and_sum(torch):
    """The mean of one number has the gradient of its sum; with two numbers they differ."""
    for values, wanted in (([3.0], [1.0]), ([2.0, 4.0], [0.5, 0.5])):
        x = torch.tensor(values, requires_grad=True)
        (mean,) = torch.autograd.grad(x.mean(), x)
        (total,) = torch.autograd.grad(x.sum(), x)
        assert mean.tolist() == wanted and total.tolist() == [1.0] * len(values)
