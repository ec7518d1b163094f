"""Checkpointing in both forms."""

from tests.programs.kit import outcome, program, seen


def leaf(T, *values):
    return T.tensor(values or (0.5, 1.0), requires_grad=True)


def wave(t):
    return (t.sin() * t).exp()


@program
def how_often_it_runs(T):
    """The segment runs again once a pass, and only as far as is needed."""
    checkpoint, log = T.utils.checkpoint.checkpoint, []

    def segment(t):
        a = t * 2
        log.append("before exp")
        b = a.exp()
        log.append("after exp")
        return b + 1

    x = leaf(T)
    y = checkpoint(segment, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    early = list(log)
    log.clear()
    checkpoint(segment, x, use_reentrant=False, early_stop=False).sum().backward()
    return [early, log, outcome(lambda: y.backward()), seen(x.grad)]


@program
def second_derivatives(T):
    """The form without re-entrance can be differentiated twice and used with autograd.grad."""
    x = leaf(T)
    y = T.utils.checkpoint.checkpoint(wave, x, use_reentrant=False)
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = T.autograd.grad(g.sum(), x)
    z = T.utils.checkpoint.checkpoint(wave, x, use_reentrant=True)
    return [
        seen(g),
        seen(gg),
        outcome(lambda: T.autograd.grad(z.sum(), x)),
        outcome(lambda: z.sum().backward(inputs=[x])),
    ]


@program
def segments_that_change(T):
    """A second run that saves fewer tensors, or tensors of another form, is found."""
    checkpoint = T.utils.checkpoint.checkpoint

    def changing(first, second):
        runs = []

        def segment(t):
            runs.append(1)
            return first(t) if len(runs) == 1 else second(t)

        return segment

    def run(first, second, **settings):
        return outcome(
            lambda: checkpoint(changing(first, second), leaf(T), use_reentrant=False, **settings).sum().backward(),
            180,
        )

    return [
        run(lambda t: (t * t).sin(), lambda t: t.sin()),
        run(lambda t: t.sin(), lambda t: (t * t).sin()),
        run(lambda t: t.sin()[:1], lambda t: t[:1].sin(), determinism_check="none"),
        run(lambda t: t * t, lambda t: t.double() * t.double())[-1][:120],
        run(lambda t: t * t, lambda t: t.double() * t.double(), determinism_check="none"),
        run(lambda t: t, lambda t: t, determinism_check="other"),
    ]


@program
def inputs(T):
    """Plain inputs, keywords, things that are no tensors, grad mode off."""
    checkpoint, w = T.utils.checkpoint.checkpoint, leaf(T)

    def segment(t, scale=None, table=None):
        return t * w * (scale or 1), 3

    plain = T.ones(2)
    y, three = checkpoint(segment, plain, use_reentrant=False, scale=2)
    y.sum().backward()
    with T.no_grad():
        off = checkpoint(segment, plain, use_reentrant=False)[0]
    return [
        three,
        seen(w.grad),
        off.requires_grad,
        outcome(lambda: checkpoint(segment, plain, use_reentrant=True)[0].requires_grad),
        outcome(lambda: checkpoint(segment, w, 2, {"a": 1}, use_reentrant=True)),
        outcome(lambda: checkpoint(segment, w, use_reentrant=True, scale=2)),
        outcome(lambda: checkpoint(segment, w)),
        outcome(lambda: checkpoint(lambda t: t.detach(), w, use_reentrant=True).sum().backward()),
    ]


@program
def nested_and_chained(T):
    """A checkpoint inside a checkpoint, a chain in pieces, a module's parameters."""
    checkpoint, x = T.utils.checkpoint.checkpoint, leaf(T)
    checkpoint(lambda t: checkpoint(wave, t, use_reentrant=False).exp(), x, use_reentrant=False).sum().backward()
    nn = T.nn
    chain = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2), nn.Sigmoid())
    with T.no_grad():
        for p in chain.parameters():
            p.fill_(0.3)
    y = T.utils.checkpoint.checkpoint_sequential(chain, 2, x, use_reentrant=False)
    y.sum().backward()
    return [seen(x.grad), seen(y), [seen(p.grad) for p in chain.parameters()]]
