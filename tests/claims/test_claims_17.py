"""The claims of lesson 17, two machines, on our engine and on real PyTorch."""

from claims_kit import CHANGED, from_lesson, raises


def two_forwards(torch, write, copy=False):
    """The gradient of the lesson's module, with 2 written into the buffer in between."""
    lesson = from_lesson(torch, 17, "Scaled", "Copying", "two_forwards")
    return lesson.two_forwards(write, lesson.Copying if copy else lesson.Scaled)


def second_gradients(torch, step, copies=False):
    """The gradients of the second micro-batch, which went forward before the step of the first one."""
    weights = [torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)]
    waiting = []
    for x in (1.0, 2.0):
        used = [w.detach().clone().requires_grad_() for w in weights] if copies else weights
        waiting.append((used[0] * x * used[1], used))
    for result, used in waiting:
        grads = torch.autograd.grad(result, used)
        with torch.no_grad():
            for w, g in zip(weights, grads, strict=True):
                step(w, g)
    return [g.item() for g in grads]


def test_c17_1_equal_shares(torch):
    """The average of the gradients of equal shares is the gradient of the whole batch, and of unequal shares they
    must be weighted by their samples."""
    x = torch.tensor([2.0, 4.0, 6.0, 12.0])

    def slope(samples):
        w = torch.tensor(1.0, requires_grad=True)
        (w * samples).mean().backward()
        return w.grad

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
    raises("is at version 1; expected version 0", lambda: second_gradients(torch, lambda w, g: w.sub_(g)))


def test_c17_8_two_versions(torch):
    """If the step is hidden from the counters, the gradient of the older micro-batch mixes two versions of the
    weights without an error."""
    assert second_gradients(torch, lambda w, g: w.data.sub_(g)) == [2.0, 4.0]


def test_c17_9_stashed(torch):
    """With copies of the weights each micro-batch gets the gradient of the weights that it used."""
    assert second_gradients(torch, lambda w, g: w.sub_(g), copies=True) == [6.0, 4.0]


def pipeline(torch, weights, x, target, rate):
    """Two stages that take the turns F0 F1 B0 F2 B1 ...: what each used, the gradients, and the most under way."""
    weights, under_way, most = list(weights), ({}, {}), [0, 0]
    used, gradients = ([], []), ([], [])

    def forward(stage, k, given):
        given, w = given.detach().requires_grad_(), weights[stage].clone().requires_grad_()
        result = torch.tanh(given @ w)
        under_way[stage][k] = ((result - target[k]) ** 2).sum() / 4 if stage else result, given, w
        most[stage] = max(most[stage], len(under_way[stage]))
        return result

    def backward(stage, k, arriving=None):
        result, given, w = under_way[stage].pop(k)
        result.backward(arriving)
        weights[stage] = weights[stage] - rate * w.grad
        used[stage].append(w.detach())
        gradients[stage].append(w.grad)
        return given.grad

    sent = [forward(0, 0, x[:1])]
    for k in range(4):
        if k < 3:
            sent.append(forward(0, k + 1, x[k + 1 : k + 2]))
        forward(1, k, sent[k])
        backward(0, k, backward(1, k))
    return used, gradients, most


def test_c17_10_a_pipeline(torch):
    """In a pipeline of two stages that take turns, the gradients of the micro-batches add up to that of the whole
    batch if no step comes in between; with steps and copies, each is the gradient of the weights that it used, and the
    first stage has two micro-batches under way and the last one."""
    weights = [torch.randn(3, 2).to(torch.float64), torch.randn(2, 1).to(torch.float64)]
    x, target = torch.randn(4, 3).to(torch.float64), torch.randn(4, 1).to(torch.float64)

    def on_one_machine(used, samples):
        used = [w.clone().requires_grad_() for w in used]
        said = torch.tanh(torch.tanh(x[samples] @ used[0]) @ used[1])
        return torch.autograd.grad(((said - target[samples]) ** 2).sum() / 4, used)

    _, resting, _ = pipeline(torch, weights, x, target, 0.0)
    for gradients, wanted in zip(resting, on_one_machine(weights, slice(4)), strict=True):
        assert torch.allclose(sum(gradients), wanted)
    used, gradients, most = pipeline(torch, weights, x, target, 0.5)
    for k in range(4):
        wanted = on_one_machine((used[0][k], used[1][k]), slice(k, k + 1))
        assert torch.allclose(gradients[0][k], wanted[0]) and torch.allclose(gradients[1][k], wanted[1])
    assert torch.equal(*used[0][:2]) and not torch.equal(*used[1][:2])
    assert most == [2, 1]
