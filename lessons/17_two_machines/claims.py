"""The claims of lesson 17, two machines, on our engine and on real PyTorch."""

import re

from coursekit.notebook.processes import processes
from lessons.claims_kit import CHANGED, from_lesson, raises


def two_forwards(torch, write, copy=False):
    """The gradient of the lesson's module on rank 1, with this write into the buffer between its two forwards."""
    lesson = from_lesson(torch, 17, "Scaled", "Copying", "rank_1")
    return lesson.rank_1(write, lesson.Copying if copy else lesson.Scaled)


def counted(size):
    size.fill_(2.0)


def hidden(size):
    size.data.fill_(2.0)


def test_c17_1_equal_shares(torch):
    """The average of the gradients of equal shares is the gradient of the whole batch, and of unequal shares they
    must be weighted by their samples."""
    slope, x = from_lesson(torch, 17, "gradient").gradient, [2.0, 4.0, 6.0, 12.0]

    assert (slope(x[:2]) + slope(x[2:])) / 2 == slope(x)
    assert (slope(x[:1]) + slope(x[1:])) / 2 != slope(x)
    assert (slope(x[:1]) + 3 * slope(x[1:])) / 4 == slope(x)


def test_c17_2_replicas_stay_equal(torch):
    """Replicas that begin with the same weights and step with the same averaged gradient stay equal."""
    replicas = [torch.ones(1, requires_grad=True) for _ in range(2)]
    for _ in range(3):
        grads = [torch.autograd.grad(((w * x - 1) ** 2).sum(), w)[0] for x, w in zip((2.0, 5.0), replicas, strict=True)]
        assert grads[0] != grads[1]
        with torch.no_grad():
            for w in replicas:
                w -= 0.01 * sum(grads) / 2
        assert torch.equal(*replicas)
    assert replicas[0] != 1


def test_c17_3_one_machine(torch):
    """A module that makes a new buffer in each forward may run twice before one backward on one machine."""
    assert two_forwards(torch, lambda size: None) == 2.0


def test_c17_4_buffers(torch):
    """If the buffer of the first forward is overwritten, and its node has saved it, backward raises if the write was
    counted, and gives a wrong gradient if it was not; a copy made in forward is right."""
    raises("is at version 1; expected version 0", lambda: two_forwards(torch, counted))
    assert two_forwards(torch, hidden) == 5.0
    assert two_forwards(torch, counted, copy=True) == two_forwards(torch, hidden, copy=True) == 2.0


def test_c17_5_false_alarm(torch):
    """Batch norm in training raises if its running mean was overwritten and counted before backward, although its
    gradient does not depend on it."""
    slopes = from_lesson(torch, 17, "slopes").slopes
    raises(CHANGED, lambda: slopes(lambda mean: mean.fill_(7.0)))
    assert torch.equal(slopes(lambda mean: mean.data.fill_(7.0)), slopes(lambda mean: None))


def without_sums_in_backward(torch, group):
    """Batch norm of the lesson's numbers, with a sum over the ranks that forgets the other ranks in backward."""

    def total(x):
        other = x.detach().clone()
        group.all_reduce(other)
        return x + (other - x.detach())

    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])[group.rank].requires_grad_()
    mean = total(x.sum()) / 4
    y = (x - mean) / (total(((x - mean) ** 2).sum()) / 4).sqrt()
    (y * torch.tensor([[1.0, 0.0], [2.0, 1.0]])[group.rank]).sum().backward()
    print(f"rank {group.rank}: batch norm {x.grad}")


def test_c17_6_synchronised(torch, capsys):
    """Batch norm on two ranks has the gradient of the whole batch if its sums over the ranks are summed over the ranks
    in backward, too."""
    x = torch.tensor([1.0, 2.0, 3.0, 6.0], requires_grad=True)
    centred = x - x.mean()
    (centred / (centred**2).mean().sqrt()).backward(torch.tensor([1.0, 0.0, 2.0, 1.0]))

    def is_right(program):
        processes(program, torch)
        lists = re.findall(r"batch norm tensor\(\[(.*)\]\)", capsys.readouterr().out)
        found = torch.tensor([float(number) for each in lists for number in each.split(",")])
        return torch.allclose(found, x.grad, atol=1e-4)

    assert is_right(from_lesson(torch, 17, "with_a_node").with_a_node)
    assert not is_right(without_sums_in_backward)


def test_c17_7_a_sum_that_is_not_counted(torch, capsys):
    """If all_reduce writes into a result that exp has saved, the version stays 0 and the gradient is wrong without an
    error."""
    processes(from_lesson(torch, 17, "summed").summed, torch)
    assert capsys.readouterr().out.splitlines() == [
        "rank 0: e 10.107 at version 0, gradient 10.107",
        "rank 1: e 10.107 at version 0, gradient 10.107",
    ]
