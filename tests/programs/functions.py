"""Custom Functions: everything forward, backward and ctx may do, and the errors when they do something else."""

from tests.programs.kit import flags, fn, graph, kind, leaf, program, programs, quiet, raises


def back(T, returned, inputs=2, data=(1.0, 2.0)):
    """What a backward that returns this does to the leaves."""
    xs = [leaf(T, list(data)) for _ in range(inputs)]
    F = fn(T, lambda ctx, *a: sum(a), lambda ctx, g: returned(g))
    return [raises(lambda: F.apply(*xs).sum().backward()), *[x.grad for x in xs]]


programs(
    what_backward_may_return=lambda T: [
        back(T, r)
        for r in (
            lambda g: (g, g),
            lambda g: (g, g, None),
            lambda g: (g, g, g),
            lambda g: [g, g],
            lambda g: (g.double(), g),
            lambda g: (T.ones(1), g),
            lambda g: (1.0, g),
            lambda g: (g, "a"),
        )
    ],
    what_backward_may_return_for_one=lambda T: [
        back(T, r, 1)
        for r in (
            lambda g: g,
            lambda g: (g,),
            lambda g: [g],
            lambda g: None,
            lambda g: (None,),
            lambda g: (g, None, None),
            lambda g: (g, g),
            lambda g: T.ones(5, 2),
            lambda g: g.sum(),
            lambda g: {"a": g},
        )
    ],
    what_forward_may_return=lambda T: [
        forward_returns(T, r)
        for r in (
            lambda x: x * 2,
            lambda x: [x * 2],
            lambda x: x.detach(),
            lambda x: x,
            lambda x: None,
            lambda x: (x.long(), x * 1),
            lambda x: x.sum(),
            lambda x: (x * 2, (x * 3, 1)),
        )
    ],
    missing=lambda T: [
        raises(lambda: type("A", (T.autograd.Function,), {}).apply(leaf(T, [1.0]))),
        raises(lambda: fn(T, lambda ctx, x: x * 1).apply(leaf(T, [1.0])).sum().backward()),
    ],
)


def forward_returns(T, r):
    x = leaf(T, [1.0, 2.0])
    log = []

    def backward(ctx, *gs):
        log.append(gs)
        return next((g for g in gs if g is not None and g.shape == x.shape), T.ones(2))

    F = fn(T, lambda ctx, a: r(a), backward)
    try:
        out = F.apply(x)
    except Exception as e:
        return [type(e).__name__, str(e)]
    first = next(
        (o for o in (out if isinstance(out, tuple) else (out,)) if isinstance(o, T.Tensor) and o.requires_grad), None
    )
    err = None if first is None else raises(lambda: first.sum().backward())
    return [out, first is not None and [first._is_view(), first is x, first.output_nr], err, log, x.grad]


@program
def gradients_for_plain_inputs(T):
    out = []
    for value in (None, 1.0, T.ones(1)):
        F = fn(
            T,
            lambda ctx, x, a, k: x * k + a,
            lambda ctx, g: (g, value if value is None or isinstance(value, T.Tensor) else value, None),
        )
        x = leaf(T, [1.0])
        out.append([raises(lambda: F.apply(x, T.ones(1), 2).sum().backward()), x.grad])
        G = fn(T, lambda ctx, x, a, k: x * k + a, lambda ctx, g: (g, None, value))
        x = leaf(T, [1.0])
        out.append([raises(lambda: G.apply(x, T.ones(1), 2).sum().backward()), x.grad])
    return out


@program
def unused_outputs(T):
    out = []
    for materialize in (True, False):
        log = []

        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 1, x.double() * 2, x.long(), x.sum()

        def backward(ctx, *gs):
            log.append(gs)
            return T.zeros(2)

        F = fn(T, forward, backward)
        for pick in range(4):
            y = F.apply(leaf(T, [1.0, 2.0]))
            out.append(flags(y[pick]))
            if y[pick].requires_grad:
                y[pick].sum().backward()
        out.append(log)
    return out


@program
def non_differentiable_outputs(T):
    log = []

    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx, ga, gb):
        log.append([ga, gb])
        return ga

    a, b = fn(T, forward, backward).apply(leaf(T, [1.0]))
    a.sum().backward()
    return [flags(a), flags(b), log, raises(lambda: b.sum().backward())]


@program
def marks_of_wrong_things(T):
    def one(act):
        def forward(ctx, x):
            act(ctx, x)
            return x * 2

        return raises(lambda: quiet(lambda: fn(T, forward, lambda ctx, g: g).apply(leaf(T, [1.0]) * 1)))

    return [
        one(lambda c, x: c.mark_dirty(3)),
        one(lambda c, x: c.mark_non_differentiable(3)),
        one(lambda c, x: c.mark_dirty(x)),
        one(lambda c, x: c.mark_non_differentiable(x)),
        one(lambda c, x: c.mark_dirty()),
        one(lambda c, x: c.save_for_backward()),
    ]


@program
def in_place_functions(T):
    out = []
    for target in (
        lambda: leaf(T, [1.0, 2.0]) * 1,
        lambda: T.ones(2),
        lambda: leaf(T, [1.0, 2.0]),
        lambda: (leaf(T, [1.0, 2.0, 3.0]) * 1)[:2],
        lambda: T.ones(3)[:2],
        lambda: leaf(T, [1.0, 2.0])[:2],
        lambda: (leaf(T, [1.0, 2.0]) * 1).unbind()[0],
    ):

        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        h = target()
        F = fn(T, forward, lambda ctx, g: g * 2, "Twice_")
        y = []
        e = raises(lambda: y.append(F.apply(h)))
        out.append(
            [
                e,
                h.detach(),
                h._version,
                raises(lambda: h.grad_fn),
                y and [y[0] is h, flags(y[0]), graph(y[0].grad_fn, 3)],
                h._base is not None and h._base.requires_grad and graph(h._base.grad_fn, 3),
                raises(lambda: y and y[0].requires_grad and y[0].sum().backward()),
            ]
        )
    return out


def adds(ctx, a, w=1):
    """A forward that adds to its first input."""
    a.add_(w)
    ctx.mark_dirty(a)
    return a


@program
def in_place_with_second_input(T):
    F = fn(T, adds, lambda ctx, g: (g, g * 3))
    a, w = T.zeros(2), leaf(T, [1.0, 2.0])
    y = F.apply(a, w)
    y.sum().backward()
    return [y is a, flags(a), a._version, w.grad]


@program
def in_place_and_more_outputs(T):
    F = fn(T, lambda ctx, a: (adds(ctx, a), a * 2), lambda ctx, g, h: g + 2 * h)
    x = leaf(T, [1.0, 2.0])
    h = x * 1
    a, b = F.apply(h)
    (a + b * 10).sum().backward()
    k = (x * 1)[:1]
    return [a is h, flags(a), flags(b), a.output_nr, b.output_nr, x.grad, raises(lambda: F.apply(k))]


@program
def in_place_under_no_grad(T):
    F = fn(T, adds, lambda ctx, g: g)
    x = leaf(T, [1.0])
    with T.no_grad():
        y = F.apply(x)
    return [y is x, flags(y), x, x._version]


@program
def base_written_after_returned_view(T):
    h = leaf(T, [1.0, 2.0]) * 1
    y = fn(T, lambda ctx, a: a.view(2, 1), lambda ctx, g: g.view(2)).apply(h)
    h.add_(1)
    return [raises(lambda: y.sum()), raises(lambda: y.grad_fn), y.detach()]


@program
def setup_context_in_full(T):
    log = []

    def forward(x, k):
        log.append(T.is_grad_enabled())
        return x * k, x + k

    def setup_context(ctx, inputs, output):
        log.append([len(inputs), isinstance(output, tuple), T.is_grad_enabled(), inputs[0].requires_grad])
        ctx.k = inputs[1]
        ctx.save_for_backward(inputs[0])

    F = fn(T, forward, lambda ctx, a, b: (a * ctx.k + b, None), setup_context=staticmethod(setup_context))
    x = leaf(T, [2.0])
    p, q = F.apply(x, 3)
    (p + q).sum().backward()
    return [log, x.grad, flags(p)]


@program
def keywords_to_apply(T):
    F = fn(T, lambda ctx, x, k=2, *, s=1: x * k * s, lambda ctx, g: (g * 7, None, None))
    x = leaf(T, [1.0])
    return [
        raises(lambda: F.apply(x, k=3).sum().backward()),
        kind(lambda: F.apply(x, 3, s=2).sum().backward()),
        x.grad,
        kind(lambda: F.apply(x, x=x)),
        raises(lambda: F.apply(k=2, x=x).sum().backward()),
        x.grad,
    ]
