"""The claims of part 03b, on our engine and on real PyTorch."""

import pytest

from lessons.claims_kit import from_lesson


def test_c03b_1_backwards_or_forwards(torch):
    """A pass through a chain of matrix steps takes as many multiplications backwards as forwards; backwards it
    serves one output, forwards one input.
    """
    J1 = torch.arange(16.0).reshape(4, 4)
    steps = [J1, J1.T + 1, J1[1:2]]
    own = from_lesson(torch, "03b", "times", "count", "backward_sweeps", "forward_sweeps", counted=[])
    row, backwards = own.count(own.backward_sweeps, steps)
    columns, forwards = own.count(own.forward_sweeps, steps)

    assert torch.equal(row, columns)
    assert backwards == 4 + 16 + 16  # a single pass, from the one output
    assert forwards == 4 * (16 + 16 + 4)  # a pass for each of the four inputs

    for sizes in ((1, 1), (3, 5), (7, 2, 4), (2, 6, 3, 5)):
        steps = [torch.rand(after, before) for before, after in zip(sizes, sizes[1:], strict=False)]
        table, backwards = own.count(own.backward_sweeps, steps)
        same, forwards = own.count(own.forward_sweeps, steps)
        once = sum(step.numel() for step in steps)
        assert torch.allclose(table, same) and table.shape == (sizes[-1], sizes[0])
        assert (backwards, forwards) == (sizes[-1] * once, sizes[0] * once)


def test_c03b_2_all_weights_in_one_sweep(torch):
    """One backward sweep through a chain of matrix steps gives the slopes of one output for all weights; a forward
    sweep that starts at one weight gives the slope for this one.
    """
    names = ("times", "count", "run", "backwards_to_weights", "forwards_from_weights")
    own = from_lesson(torch, "03b", *names, counted=[])
    for sizes in ((2, 1), (3, 2, 1), (4, 3, 5, 1)):
        weights = [torch.rand(after, before) for before, after in zip(sizes, sizes[1:], strict=False)]
        x = torch.rand(sizes[0], 1)
        leaves, y = [W.clone().requires_grad_() for W in weights], x
        for W in leaves:
            y = W @ y
        y.backward()

        one, backwards = own.count(own.backwards_to_weights, weights, x)
        each, forwards = own.count(own.forwards_from_weights, weights, x)
        for W, a, b in zip(leaves, one, each, strict=True):
            assert torch.allclose(a, W.grad) and torch.allclose(b, W.grad)
        assert backwards == 3 * sum(W.numel() for W in weights)
        later = [sum(W.numel() for W in weights[place + 1 :]) for place in range(len(weights))]
        walks = sum(W.numel() * way for W, way in zip(weights, later, strict=True))  # each weight, to the output
        assert forwards == walks + sum(W.numel() for W in weights)


def test_c03b_3_some_rules_read_nothing(torch):
    """The nodes of `t + t`, `-t` and `t.sum()` keep no tensor for backward; those of `t * t` and `t.exp()` do."""

    def keeps(result):
        node = result.grad_fn
        saved = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        return any(isinstance(each, torch.Tensor) for each in saved)

    for shape in ((), (1,), (3,), (2, 3), (0,)):
        t = torch.ones(shape, requires_grad=True)
        for source in (t, t.expand(4, *shape), t.reshape(-1)):
            assert not any(keeps(each) for each in (source + source, -source, source.sum()))
            assert keeps(source * source) and keeps(source.exp())


def test_c03b_4_measured_slopes_agree(torch):
    """In float64, where a function is smooth, a central difference along any direction d agrees closely with the
    gradient times d.
    """
    start = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    functions = (
        lambda x: (x * x.exp()).sum(), lambda x: x.tanh().sum() * x[0], lambda x: (x[:, None] / x).log().exp().mean(),
    )  # fmt: skip
    for f in functions:
        x = start.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(f(x), x)
        for values in ([3.0, -1.0, 2.0], [1.0, 0.0, 0.0], [-0.3, 0.2, 0.7]):
            d = torch.tensor(values, dtype=torch.float64)
            measured = (f(start + 1e-5 * d) - f(start - 1e-5 * d)) / 2e-5
            assert measured.item() == pytest.approx((gradient * d).sum().item(), rel=1e-7)


def test_c03b_5_the_best_step(torch):
    """For the lesson's sum of x * x * x in float32, the step 0.001 measures the slope better than 0.1, 0.00001 or
    0.0000001.
    """
    own = from_lesson(torch, "03b", "cubes", "measure")
    x, d = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([3.0, -1.0, 2.0])
    wanted = (3 * x * x * d).sum().item()
    missed = {step: abs(own.measure(own.cubes, x, d, step) - wanted) for step in (0.1, 1e-3, 1e-5, 1e-7)}

    assert min(missed, key=missed.get) == 1e-3 and missed[1e-3] < 0.005
