"""The claims of lesson 17, two machines, on our engine and on real PyTorch."""

from coursekit.notebook.processes import processes
from lessons.claims_kit import CHANGED, from_lesson, raises


def two_forwards(torch, write, copy=False):
    """The gradient of the lesson's module, with 2 written into the buffer in between."""
    lesson = from_lesson(torch, 17, "Scaled", "Copying", "two_forwards")
    return lesson.two_forwards(write, lesson.Copying if copy else lesson.Scaled)


def stage(torch, way):
    """The lesson's stage: it prints the gradients of two micro-batches, with a step of this kind after each."""
    return from_lesson(torch, 17, "stage", edit=lambda text: text.partition("def one_f_one_b")[0]).stage(way)


def test_c17_1_equal_shares(torch):
    """The average of the gradients of equal shares is the gradient of the whole batch, and of unequal shares they
    must be weighted by their samples."""
    slope, x = from_lesson(torch, 17, "loss_of", "gradient").gradient, [2.0, 4.0, 6.0, 12.0]

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
    assert two_forwards(torch, lambda size, two: None) == 2.0


def test_c17_4_buffers(torch):
    """If the buffer of the first forward is overwritten, backward raises if the write was counted, and gives a
    wrong gradient if it was not; a copy made in forward is right."""
    raises("is at version 1; expected version 0", lambda: two_forwards(torch, lambda size, two: size.copy_(two)))
    assert two_forwards(torch, lambda size, two: size.data.copy_(two)) == 5.0
    assert two_forwards(torch, lambda size, two: size.copy_(two), copy=True) == 2.0


def test_c17_5_false_alarm(torch):
    """Batch norm in training raises if its running mean was overwritten and counted before backward, although its
    gradient does not depend on it."""
    slopes = from_lesson(torch, 17, "slopes").slopes
    raises(CHANGED, lambda: slopes(lambda mean: mean.fill_(7.0)))
    assert torch.equal(slopes(lambda mean: mean.data.fill_(7.0)), slopes(lambda mean: None))


def test_c17_6_synchronised(torch):
    """Batch norm on two ranks has the gradient of the whole batch if its sums in backward are those of all ranks
    and the count, too."""
    x = torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64, requires_grad=True)
    dy = torch.tensor([1.0, 0.0, 2.0, 1.0], dtype=torch.float64)
    xmu = x - x.mean()
    (xmu / (xmu**2).mean().sqrt()).backward(dy)
    xmu = xmu.detach()
    variance, ranks = (xmu**2).mean(), (slice(0, 2), slice(2, 4))
    sum_dy = sum(dy[r].sum() for r in ranks)
    sum_dy_xmu = sum((dy[r] * xmu[r]).sum() for r in ranks)

    def parts(count):
        return torch.cat(
            [(dy[r] - sum_dy / count - xmu[r] * sum_dy_xmu / (variance * count)) / variance.sqrt() for r in ranks]
        )

    assert torch.allclose(parts(4), x.grad)
    assert not torch.allclose(parts(2), x.grad)


def test_c17_7_stepped_too_early(torch):
    """A stage that steps before an older micro-batch comes back raises the version error."""
    raises("is at version 1; expected version 0", lambda: stage(torch, "sub_"))


def test_c17_8_two_versions(torch, capsys):
    """If the step is hidden from the counters, the gradient of the older micro-batch mixes two versions of the
    weights without an error."""
    stage(torch, ".data")
    assert capsys.readouterr().out.endswith("micro-batch 1: gradients [2.0, 4.0]\n")


def test_c17_9_stashed(torch, capsys):
    """With copies of the weights each micro-batch gets the gradient of the weights that it used."""
    stage(torch, "copies")
    assert capsys.readouterr().out.endswith("micro-batch 1: gradients [6.0, 4.0]\n")


def test_c17_10_a_pipeline(torch, capsys):
    """In a pipeline of two stages that take turns, the gradients of the micro-batches add up to that of the whole
    batch if no step comes in between; with steps and copies, each is the gradient of the weights that it used, and the
    first stage has two micro-batches under way and the last one."""
    own = from_lesson(torch, 17, "one_f_one_b", "on_one_machine")
    resting, stepping = zip(*processes(own.one_f_one_b, torch), strict=True)
    assert [line.rpartition("; ")[2] for line in capsys.readouterr().out.splitlines()] == [
        "at most 2 under way", "at most 1 under way",
    ]  # fmt: skip

    def same(found, stages, version, samples):
        """Whether these gradients are those of these samples on one machine, with the weights of a version."""
        wanted = own.on_one_machine([stage["copies"][version] for stage in stages], samples)
        return all(torch.allclose(torch.tensor(a), b, atol=1e-6) for a, b in zip(found, wanted, strict=True))

    added = [sum(map(torch.tensor, stage["gradients"])).tolist() for stage in resting]
    assert same(added, resting, 0, slice(4))
    for k in range(4):
        found = [stage["gradients"][k] for stage in stepping]
        assert same(found, stepping, k, slice(k, k + 1))
        assert same(found, stepping, 0, slice(k, k + 1)) == (k == 0)


def test_c17_11_a_sum_that_is_not_counted(torch, capsys):
    """If all_reduce writes into a result that exp has saved, the version stays 0 and the gradient is wrong without an
    error; a detached copy is summed without harm."""
    processes(from_lesson(torch, 17, "summed").summed, torch)
    assert capsys.readouterr().out.splitlines() == [
        "rank 0, into e itself: version of e 0, gradient 10.107, slope 2.718",
        "rank 0, into a copy: version of e 0, gradient 2.718, slope 2.718",
        "rank 1, into e itself: version of e 0, gradient 10.107, slope 7.389",
        "rank 1, into a copy: version of e 0, gradient 7.389, slope 7.389",
    ]
