"""What nodes keep, under which names, with which values; and when it is let go."""

from tests.programs.kit import flags, fn, graph, kept, leaf, program, programs, raises

M = [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]


def keeps(T, *functions, data=M, dtype=None):
    """The node of each function of a leaf, and all that it keeps."""
    return [
        [f"{type(y.grad_fn).__name__}", kept(T, y.grad_fn), graph(y.grad_fn, 4)]
        for y in (f(leaf(T, data, dtype)) for f in functions)
    ]


programs(
    absent_slots=lambda T: (lambda f: [f._saved_self is None, hasattr(f, "_saved_nothing"), f._saved_other])(
        (leaf(T, [2.0]) * 3).grad_fn
    ),
)


@program
def reading_after_release(T):
    x = leaf(T, [1.0, 2.0])
    out = []
    for f in (
        lambda: x * x,
        lambda: x.exp(),
        lambda: x**2,
        lambda: x[T.tensor([0])],
        lambda: x.sum(0),
        lambda: x.view(2, 1),
    ):
        y = f()
        n = y.grad_fn
        y.sum().backward()
        out.append(
            [
                raises(lambda: [getattr(n, a) for a in dir(n) if a.startswith("_saved_")]),
                raises(lambda: y.sum().backward()),
            ]
        )
    return out


@program
def detached_in_place(T):
    out = []
    for f in (lambda h: h * h, lambda h: h.exp(), lambda h: h.sin(), lambda h: h.relu(), lambda h: h * 3):
        h = leaf(T, [1.0]) * 1
        y = f(h)
        h.detach_()
        out.append([raises(lambda: y.sum().backward()), flags(h)])
    return out


@program
def save_for_backward_of_everything(T):
    out = []
    for what in (
        lambda x, y: (x,),
        lambda x, y: (y,),
        lambda x, y: (x, y, None),
        lambda x, y: ([x],),
        lambda x, y: (x, 3),
        lambda x, y: (x, "a"),
        lambda x, y: (x, (y,)),
        lambda x, y: (),
    ):

        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y, x)  # the last call counts
            ctx.save_for_backward(*what(x, y))
            return y

        def backward(ctx, g):
            out.append([t is not None and [t, t.requires_grad, t.is_leaf] for t in ctx.saved_tensors])
            return g

        out.append(raises(lambda: fn(T, forward, backward).apply(leaf(T, [1.0])).sum().backward()))
    return out
