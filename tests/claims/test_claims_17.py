"""The claims of lesson 17, two machines, on our engine and on real PyTorch."""

from claims_kit import CHANGED, raises


def two_forwards(torch, write=lambda size: None, copy=False):
    """The gradient of the lesson's module, with something written into the buffer in between."""

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("size", torch.ones(1))

        def forward(self, x):
            self.size = x.abs().mean(dim=0, keepdim=True)
            return self.w * x / (self.size.clone() if copy else self.size)

    module = Scaled()
    first = module(torch.tensor([8.0]))
    with torch.no_grad():
        write(module.size)
    (first + module(torch.tensor([24.0]))).sum().backward()
    return module.w.grad.item()


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
    assert two_forwards(torch) == 2.0


def test_c17_4_buffers(torch):
    """If the buffer of the first forward is overwritten, backward raises if the write was counted, and gives a
    wrong gradient if it was not; a copy made in forward is right."""
    two = torch.tensor([2.0])
    raises("is at version 1; expected version 0", lambda: two_forwards(torch, lambda size: size.copy_(two)))
    assert two_forwards(torch, lambda size: size.data.copy_(two)) == 5.0
    assert two_forwards(torch, lambda size: size.copy_(two), copy=True) == 2.0


def test_c17_5_false_alarm(torch):
    """Batch norm in training raises if its running mean was overwritten and counted before backward, although its
    gradient does not depend on it."""
    def slopes(write):
        norm, x = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0]], requires_grad=True)
        y = norm(x)
        with torch.no_grad():
            write(norm.running_mean)
        (y**3).sum().backward()
        return x.grad

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


class Stage:
    """One stage of a pipeline of two: it takes a forward or a backward turn when it has what it needs."""

    def __init__(self, torch, weight, ahead, batch, rate):
        self.torch, self.weight, self.ahead, self.batch, self.rate = torch, weight, ahead, batch, rate
        self.under_way, self.used, self.gradients, self.most, self.forwards = {}, [], [], 0, 0

    def forward(self, given):
        k, used = self.forwards, self.weight.clone().requires_grad_()
        given = given.detach().requires_grad_()
        result = self.torch.tanh(given @ used)
        if not self.ahead:
            result = ((result - self.batch[1][k : k + 1]) ** 2).sum() / len(self.batch[0])
        self.under_way[k] = result, given, used
        self.forwards, self.most = k + 1, max(self.most, len(self.under_way))
        return result

    def backward(self, arriving):
        result, given, used = self.under_way.pop(len(self.gradients))
        result.backward(arriving)
        self.weight = self.weight - self.rate * used.grad
        self.used.append(used.detach())
        self.gradients.append(used.grad)
        return given.grad


def pipeline(torch, weights, batch, rate):
    """Both stages after the turns F0 F1 B0 F2 B1 ... of the first one."""
    first, last = (Stage(torch, w.clone(), ahead, batch, rate) for w, ahead in zip(weights, (1, 0), strict=True))
    sent = [first.forward(batch[0][:1])]
    for turn in range(1, len(batch[0]) + 1):
        if turn < len(batch[0]):
            sent.append(first.forward(batch[0][turn : turn + 1]))
        last.forward(sent.pop(0))
        first.backward(last.backward(torch.ones(()).to(torch.float64)))
    return first, last


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

    resting = pipeline(torch, weights, (x, target), 0.0)
    for stage, wanted in zip(resting, on_one_machine(weights, slice(4)), strict=True):
        assert torch.allclose(sum(stage.gradients), wanted)
    first, last = pipeline(torch, weights, (x, target), 0.5)
    for k in range(4):
        wanted = on_one_machine((first.used[k], last.used[k]), slice(k, k + 1))
        assert torch.allclose(first.gradients[k], wanted[0])
        assert torch.allclose(last.gradients[k], wanted[1])
    assert torch.equal(first.used[0], first.used[1])
    assert not torch.equal(last.used[0], last.used[1])
    assert (first.most, last.most) == (2, 1)
