"""The claims of lesson 11, custom Functions, on our engine and on real PyTorch."""

import gc
import weakref

from coursekit.judge.discovery import import_from_lessons
from lessons.claims_kit import from_lesson, no_collector, raises
from lessons.claims_kit import function as make


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), dtype=torch.float64, requires_grad=True)


def test_c11_1_ctx_is_the_node(torch):
    """The ctx of a custom Function is the graph node itself, and forward runs with recording off."""
    seen = []

    def forward(ctx, x):
        seen.append((ctx, x, torch.is_grad_enabled(), (x * 2).requires_grad))
        return x * 1

    x = leaf(torch)
    y = make(torch, forward, lambda ctx, grad: grad, "Keep").apply(x)
    ((ctx, given, recording, recorded),) = seen

    assert y.grad_fn is ctx and y.grad_fn.name() == "KeepBackward"
    assert given is x and x.requires_grad
    assert not recording and not recorded


def test_c11_2_the_last_call_counts(torch):
    """Every call of save_for_backward replaces the call before; None is kept as None, and anything but a tensor or
    None is refused when apply records."""
    x, Keep = leaf(torch), from_lesson(torch, 11, "Keep").Keep
    kept = Keep.apply(x, None).grad_fn.saved_tensors
    assert len(kept) == 2 and kept[0] is None and kept[1] is x
    for wrong in (3, "text", [x], 2.5):
        message = f"can only save variables, but argument 0 is of type {type(wrong).__name__}"
        raises(message, lambda: Keep.apply(x, wrong), TypeError)
        with torch.no_grad():
            Keep.apply(x, wrong)  # nothing is recorded, so nothing is packed


def test_c11_3_only_names(torch, capsys):
    """save_for_backward only notes what to keep: inside forward saved_tensors is still empty."""
    node = from_lesson(torch, 11, "Keep").Keep.apply(leaf(torch), None).grad_fn

    assert capsys.readouterr().out.startswith("inside of forward: 0")
    assert len(node.saved_tensors) == 2


def test_c11_4_slot_or_attribute(torch):
    """A tensor given to save_for_backward is checked for its version when it is read; as an attribute of ctx it is
    not, and after a write the gradient can be wrong without an error."""
    own = from_lesson(torch, 11, "Cube", "Stash")
    for edited in (False, True):
        for fn in (own.Cube, own.Stash):
            x = leaf(torch, 2.0)
            h = x * 1
            y = fn.apply(h)
            if edited:
                h.mul_(10)
            if edited and fn is own.Cube:
                raises("is at version 1; expected version 0 instead", y.backward)
            else:
                y.backward()
                assert x.grad.item() == (1200.0 if edited else 12.0)


def test_c11_5_a_result_on_ctx(torch):
    """A result kept as an attribute of ctx waits for the garbage collector; a result given to save_for_backward is
    freed with its last name."""
    Exp = from_lesson(torch, 11, "Exp").Exp
    with no_collector():
        held = [weakref.ref(Exp.apply(leaf(torch), in_slot)) for in_slot in (True, False)]
        assert [result() is not None for result in held] == [False, True]
        gc.collect()
        assert [result() is not None for result in held] == [False, False]


def second_derivatives(torch, fn):
    """gx by y, and gy by x, at x = 2, y = 3, z = 4."""
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    gx, gy = torch.autograd.grad(fn.apply(x, y, 4.0), (x, y), create_graph=True)
    assert (gx.item(), gy.item()) == (15.0, 14.0)
    return [torch.autograd.grad(g, v, retain_graph=True)[0].item() for g, v in ((gx, y), (gy, x))]


def test_c11_6_intermediates_are_constants(torch):
    """An intermediate that forward saved is a constant to the second derivative, which then lacks a term without
    any error."""
    own = from_lesson(torch, 11, "Mix", "Again")
    assert second_derivatives(torch, own.Mix) == [5.0, 1.0]
    assert second_derivatives(torch, own.Again) == [5.0, 5.0]


def test_c11_7_gradgradcheck(torch):
    """gradcheck passes a Function whose second derivative is wrong, and gradgradcheck does not."""
    x, y = leaf(torch, 2.0, -1.0), leaf(torch, 3.0, 0.5)
    found, own = [], from_lesson(torch, 11, "Mix", "Again")
    for fn in (own.Mix, own.Again):
        for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
            found.append(check(lambda x, y, fn=fn: fn.apply(x, y, 4.0), (x, y), raise_exception=False))

    assert found == [True, False, True, True]


def test_c11_8_once_differentiable(torch):
    """once_differentiable turns a wrong second derivative into an error; but if the gradient that came in has no
    history, the result has none either, and in a loss it is a constant, without an error."""
    own = from_lesson(torch, 11, "Mix", "Once")
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    plain = torch.autograd.grad(own.Mix.apply(x, y, 4.0) ** 2, (x, y))
    gx, gy = torch.autograd.grad(own.Once.apply(x, y, 4.0) ** 2, (x, y), create_graph=True)

    assert [gx.item(), gy.item()] == [g.item() for g in plain]
    raises("differentiate twice a function that was marked with @once_different", gy.backward)

    gx, gy = torch.autograd.grad(own.Once.apply(x, y, 4.0), (x, y), create_graph=True)
    assert not gx.requires_grad and not gy.requires_grad
    (7 * x + gx * gx + gy * gy).backward()  # a loss and a penalty: the penalty is a constant
    assert x.grad.item() == 7.0


def test_c11_9_what_backward_owes(torch):
    """backward must return one answer for each argument of forward: None for what is no tensor, and for a tensor a
    gradient of its shape, or of a shape that it could be broadcast to, or None."""
    refused = {
        r"incorrect number of gradients \(expected 2, got 1\)": lambda ctx, g: 2 * g,
        r"incorrect number of gradients \(expected 2, got 3\)": lambda ctx, g: (2 * g, None, g),
        "gradient different than None at position 2": lambda ctx, g: (2 * g, 0.0),
        r"invalid gradient at index 0 - got \[\] but expected shape compatible with \[2\]": (
            lambda ctx, g: (g.sum(), None)
        ),
        r"got \[3\] but expected shape compatible with \[2\]": lambda ctx, g: (torch.ones(3), None),
        r"expected Variable or None \(got float\)": lambda ctx, g: (2.0, None),
    }
    for message, backward in refused.items():
        y = make(torch, lambda ctx, x, n: x * n, backward).apply(leaf(torch), 2)
        raises(message, y.sum().backward)
    for answer, wanted in ((torch.ones(2), [1.0, 1.0]), (torch.ones(3, 2), [3.0, 3.0]), (None, None)):
        x = leaf(torch)
        make(torch, lambda ctx, x, n: x * n, lambda ctx, g, answer=answer: (answer, None)).apply(x, 2).sum().backward()
        assert (x.grad if x.grad is None else x.grad.tolist()) == wanted


def test_c11_10_needs_input_grad(torch):
    """needs_input_grad has one flag for each argument of forward, and plain tensors and numbers have False."""
    seen = []

    def forward(ctx, x, k, n):
        seen.append(ctx.needs_input_grad)
        return x * k * n

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, grad, None

    fn = make(torch, forward, backward)
    fn.apply(leaf(torch), torch.ones(2), 3).sum().backward()
    fn.apply(torch.ones(2), leaf(torch) * 1, 3).sum().backward()

    assert seen == [(True, False, False)] * 2 + [(False, True, False)] * 2


def test_c11_11_setup_context(torch):
    """With setup_context, forward takes no ctx, and called on its own it is recorded like any other code."""
    TidyCube, x = from_lesson(torch, 11, "Cube", "TidyCube").TidyCube, leaf(torch)
    direct, applied = TidyCube.forward(x), TidyCube.apply(x)

    assert direct.grad_fn.name() == "PowBackward0" and applied.grad_fn.name() == "TidyCubeBackward"
    for y in (direct, applied):
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 12.0]


def test_c11_12_the_gradient_that_comes_in(torch):
    """A backward that writes into the gradient that comes in can change it for other nodes and for the caller, without
    an error."""
    found = []
    for backward in (lambda ctx, grad: grad.mul_(2), lambda ctx, grad: grad * 2):
        x, grad = leaf(torch), torch.ones(2, dtype=torch.float64)
        h = x * 1
        y = h + make(torch, lambda ctx, x: x * 2, backward).apply(h)
        (slope,) = torch.autograd.grad(y, x, grad)
        found.append((slope.tolist(), grad.tolist()))

    assert found == [([4.0] * 2, [2.0] * 2), ([3.0] * 2, [1.0] * 2)]


def test_c11_13_rounded_weights(torch):
    """torch.round sends exactly zero to the weights that it rounds, so training does not move them; with a
    straight-through estimator the network learns."""
    own = from_lesson(torch, 11, "scores", "RoundThrough")
    train = import_from_lessons("11_custom_functions.stage").train
    flat, _ = train(torch, own.scores, torch.round)
    assert len({*flat.values()}) == 1 and flat[0] < 0.1
    through, _ = train(torch, own.scores, own.RoundThrough.apply)
    exact, rounded_late = train(torch, own.scores, lambda w: w)
    assert through[0] == flat[0] and rounded_late < through[8] < exact[8] and through[8] > 0.9

    weights = [(torch.rand(*shape) - 0.5).requires_grad_() for shape in ((64, 32), (32, 10))]
    for rounded, learns in ((torch.round, False), (own.RoundThrough.apply, True)):
        found = torch.autograd.grad(own.scores(torch.rand(5, 64), weights, rounded).square().sum(), weights)
        assert [bool((each != 0).any()) for each in found] == [learns, learns]
