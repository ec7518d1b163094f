"""Checkpointing in both forms: the same lines on our engine and on real PyTorch."""

import warnings

import pytest
from facts import check_program, name_of

import course_lib


def seen(value):
    """What two libraries are compared by."""
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, list | tuple):
        return [seen(v) for v in value]
    return value


def result(call, length=None):
    """Warnings, and what came out: a value or the error with the beginning of its text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = seen(call())
        except Exception as raised:
            value = f"{type(raised).__name__}: {raised}"[:length]
    return [str(w.message) for w in caught] + [value]


def leaf(torch, *values):
    return torch.tensor(values or (0.5, 1.0), requires_grad=True)


def wave(t):
    return (t.sin() * t).exp()


def both_forms(torch):
    """Outputs and gradients are those without a checkpoint; the nodes differ."""
    checkpoint, found = torch.utils.checkpoint.checkpoint, []
    for reentrant in (True, False):
        x = leaf(torch)
        y = checkpoint(wave, x, use_reentrant=reentrant)
        found.append([name_of(y.grad_fn), seen(y)])
        y.sum().backward()
        found.append(seen(x.grad))
    x = leaf(torch)
    wave(x).sum().backward()
    return [found, seen(x.grad)]


def how_often_it_runs(torch):
    """The segment runs again once a pass, and only as far as is needed."""
    checkpoint, log = torch.utils.checkpoint.checkpoint, []

    def segment(t):
        a = t * 2
        log.append("before exp")
        b = a.exp()
        log.append("after exp")
        return b + 1

    x = leaf(torch)
    y = checkpoint(segment, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    early = list(log)
    log.clear()
    checkpoint(segment, x, use_reentrant=False, early_stop=False).sum().backward()
    return [early, log, result(lambda: y.backward()), seen(x.grad)]


def second_derivatives(torch):
    """The form without re-entrance can be differentiated twice and used with autograd.grad."""
    x = leaf(torch)
    y = torch.utils.checkpoint.checkpoint(wave, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    z = torch.utils.checkpoint.checkpoint(wave, x, use_reentrant=True)
    return [
        seen(g),
        seen(gg),
        result(lambda: torch.autograd.grad(z.sum(), x)),
        result(lambda: z.sum().backward(inputs=[x])),
    ]


def segments_that_change(torch):
    """A second run that saves fewer tensors, or tensors of another form, is found."""
    checkpoint = torch.utils.checkpoint.checkpoint

    def changing(first, second):
        runs = []

        def segment(t):
            runs.append(1)
            return first(t) if len(runs) == 1 else second(t)

        return segment

    def run(first, second, **settings):
        return result(
            lambda: checkpoint(changing(first, second), leaf(torch), use_reentrant=False, **settings).sum().backward(),
            180,
        )

    return [
        run(lambda t: (t * t).sin(), lambda t: t.sin()),
        run(lambda t: t.sin(), lambda t: (t * t).sin()),
        run(lambda t: t * t, lambda t: t.double() * t.double())[-1][:120],
        run(lambda t: t * t, lambda t: t.double() * t.double(), determinism_check="none"),
        run(lambda t: t, lambda t: t, determinism_check="other"),
    ]


def inputs(torch):
    """Plain inputs, keywords, things that are no tensors, grad mode off."""
    checkpoint, w = torch.utils.checkpoint.checkpoint, leaf(torch)

    def segment(t, scale=None, table=None):
        return t * w * (scale or 1), 3

    plain = torch.ones(2)
    y, three = checkpoint(segment, plain, use_reentrant=False, scale=2)
    y.sum().backward()
    with torch.no_grad():
        off = checkpoint(segment, plain, use_reentrant=False)[0]
    return [
        three,
        seen(w.grad),
        off.requires_grad,
        result(lambda: checkpoint(segment, plain, use_reentrant=True)[0].requires_grad),
        result(lambda: checkpoint(segment, w, 2, {"a": 1}, use_reentrant=True)),
        result(lambda: checkpoint(segment, w, use_reentrant=True, scale=2)),
        result(lambda: checkpoint(segment, w)),
        result(lambda: checkpoint(lambda t: t.detach(), w, use_reentrant=True).sum().backward()),
    ]


def nested_and_chained(torch):
    """A checkpoint inside a checkpoint, a chain in pieces, a module's parameters."""
    checkpoint, x = torch.utils.checkpoint.checkpoint, leaf(torch)
    checkpoint(lambda t: checkpoint(wave, t, use_reentrant=False).exp(), x, use_reentrant=False).sum().backward()
    nn = torch.nn
    chain = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2), nn.Sigmoid())
    with torch.no_grad():
        for p in chain.parameters():
            p.fill_(0.3)
    y = torch.utils.checkpoint.checkpoint_sequential(chain, 2, x, use_reentrant=False)
    y.sum().backward()
    return [seen(x.grad), seen(y), [seen(p.grad) for p in chain.parameters()]]


PROGRAMS = [
    both_forms,
    how_often_it_runs,
    second_derivatives,
    segments_that_change,
    inputs,
    nested_and_chained,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_as_in_pytorch(program, real_torch):
    """The program's docstring says what it shows; both libraries must show the same."""
    check_program(program, course_lib, real_torch)


@pytest.mark.parametrize("reentrant", [True, False])
def test_both_runs_see_the_same_random_numbers(torch, reentrant):
    """Dropout in a checkpointed segment uses one mask; the stream of random numbers goes on undisturbed."""
    x = torch.ones(200, requires_grad=True)
    torch.manual_seed(3)
    y = torch.utils.checkpoint.checkpoint(lambda t: torch.nn.functional.dropout(t) * t, x, use_reentrant=reentrant)
    following = torch.randn(3)
    y.sum().backward()
    after = torch.randn(3)
    torch.manual_seed(3)
    torch.nn.functional.dropout(x)

    assert x.grad.tolist() == (2 * y.detach()).tolist()
    assert following.tolist() == torch.randn(3).tolist()
    assert after.tolist() == torch.randn(3).tolist()


def test_a_segment_keeps_no_activation(torch):
    """Until backward, nothing inside a checkpointed segment is alive."""
    import gc
    import weakref

    alive = []

    def segment(t):
        h = t.exp()
        alive.append(weakref.ref(h))
        return h.sin()

    y = torch.utils.checkpoint.checkpoint(segment, torch.ones(2, requires_grad=True), use_reentrant=False)
    gc.collect()

    assert alive[0]() is None
    assert y.requires_grad


def test_debug_tells_the_operations_of_both_runs(torch):
    """With debug=True a CheckpointError lists both runs; without it does not."""
    tools, heard = torch.utils.checkpoint, []
    for debug in (True, False):
        calls = []

        def segment(t, calls=calls):
            calls.append(None)
            h = t * t
            return (h.exp() if len(calls) == 1 else h).sin()

        y = tools.checkpoint(segment, leaf(torch), use_reentrant=False, debug=debug)
        with pytest.raises(tools.CheckpointError) as caught:
            y.sum().backward()
        text = str(caught.value)
        heard.append([phrase in text for phrase in (
            "Operations executed during the original forward:", "Operations executed during recomputation:"
        )])  # fmt: skip

    assert heard == [[True, True], [False, False]]


def test_debug_names_the_first_difference():
    """Our list names operation, form and line, and says where the second run left the first."""
    tools, calls = course_lib.utils.checkpoint, []

    def segment(t):
        calls.append(None)
        h = t * t
        return (h.exp() if len(calls) == 1 else h).sin() + 1

    y = tools.checkpoint(segment, leaf(course_lib), use_reentrant=False, debug=True)
    with pytest.raises(tools.CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)

    assert "1. Mul -> float32 (2,), `h = t * t` (test_checkpoint.py line" in text
    assert "They first differ at operation 2: Exp -> float32 (2,) in the forward pass, Sin -> float32 (2,)" in text


def test_debug_says_nothing_when_both_runs_agree(torch, capsys):
    """debug=True prints nothing and changes no gradient while the runs agree; with a context_fn it is refused."""
    tools, x = torch.utils.checkpoint, leaf(torch)
    tools.checkpoint(wave, x, use_reentrant=False, debug=True).sum().backward()
    expected = leaf(torch)
    wave(expected).sum().backward()

    assert seen(x.grad) == seen(expected.grad)
    assert "Mul" not in capsys.readouterr().out
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        tools.checkpoint(wave, x, use_reentrant=False, debug=True, context_fn=lambda: (None, None))
