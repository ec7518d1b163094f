"""Backward passes, custom Functions, hooks and modes."""

from tests.programs.kit import flags, fn, kind, leaf, program, raises


@program
def node_repr_and_dir(T):
    x = leaf(T, [1.0, 2.0])
    y = x * 2
    My = fn(T, lambda ctx, x: x * 1, lambda ctx, g: g, "My")
    z = My.apply(x)
    acc = y.grad_fn.next_functions[0][0]
    return [
        repr(y.grad_fn),
        repr(z.grad_fn),
        repr(acc),
        str(y.grad_fn),
        y.grad_fn.name(),
        z.grad_fn.name(),
        acc.name(),
        type(z.grad_fn).__name__,
        type(acc).__name__,
        type(z.grad_fn).__qualname__,
        y.grad_fn.next_functions[1],
        acc.next_functions,
        acc._sequence_nr() > 2**60,
        y.grad_fn.metadata,
        y.grad_fn.requires_grad if hasattr(y.grad_fn, "requires_grad") else None,
        repr(z),
        repr(y),
        My.__name__,
        raises(lambda: y.grad_fn.nope),
        raises(lambda: y.grad_fn.variable),
        raises(lambda: setattr(y.grad_fn, "note", 1)),
        raises(lambda: setattr(z.grad_fn, "note", 1)),
        y.grad_fn == y.grad_fn,
        hash(y.grad_fn) == hash(y.grad_fn),
        len({y.grad_fn, y.grad_fn}),
        y.grad_fn != z.grad_fn,
        bool(y.grad_fn),
        y.grad_fn(T.ones(2)),
        raises(lambda: y.grad_fn()),
    ]


@program
def once_differentiable_forms(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3, x * 2

    def backward(ctx, a, b):
        (x,) = ctx.saved_tensors
        return a * 3 * x * x + b * 2

    F = fn(T, forward, T.autograd.function.once_differentiable(backward))
    x = leaf(T, [2.0])
    w = leaf(T, [1.0])
    p, q = F.apply(x)
    (g,) = T.autograd.grad((p * w).sum(), x, create_graph=True)
    return [
        g,
        flags(g),
        g.grad_fn,
        raises(lambda: g.sum().backward()),
        raises(lambda: T.autograd.grad(g.sum(), w)),
        raises(lambda: T.autograd.grad(g.sum(), x)),
        raises(lambda: T.autograd.grad(g.sum(), [x, w], allow_unused=True)),
    ]


@program
def saved_hooks_and_custom_functions(T):
    log = []

    def fw(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x * x

    F = fn(T, fw, lambda ctx, g: g * ctx.saved_tensors[1])
    x = leaf(T, [3.0])
    with T.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append(["pack", t, t.requires_grad, T.is_grad_enabled()]), t.detach() * 1)[1],
        lambda t: (log.append(["unpack", t]), t)[1],
    ):
        y = F.apply(x)
    y.sum().backward()
    return [log, x.grad]


@program
def saved_hooks_that_do_wrong(T):
    """An unpack hook that returns no tensor is noticed in backward, a pack hook that writes at once."""
    out, same = [], lambda t: t  # noqa: E731
    for pack, unpack in ((same, lambda t: None), (same, lambda t: [t]), (lambda t: t.mul_(2), same), (3, 4)):
        x = leaf(T, [3.0])

        def act(x=x, pack=pack, unpack=unpack):
            with T.autograd.graph.saved_tensors_hooks(pack, unpack):
                y = (x * 1) ** 2
            y.sum().backward()

        out.append([kind(act) if pack == 3 else raises(act), x.grad])
    return out


@program
def modes_as_objects(T):
    out, off, x = [], T.no_grad(), leaf(T, [1.0])

    def look(*more):
        out.append([T.is_grad_enabled(), *more])

    with off:
        with off:
            look()
        look()
    look()
    T.set_grad_enabled(True)
    switch = T.set_grad_enabled(False)
    look(type(off).__name__, repr(T.set_grad_enabled(True)))
    with switch:
        look()
    look()
    T.set_grad_enabled(True)
    for block in (T.no_grad(), T.enable_grad(), T.inference_mode(), T.set_grad_enabled(mode=False)):
        with block as given:
            look(given)

    @T.set_grad_enabled(False)
    def unrecorded():
        return T.is_grad_enabled()

    @T.inference_mode(False)
    def usual(x):
        return (x * 2).is_inference(), (x * 2).requires_grad

    look(unrecorded())
    with T.inference_mode(mode=True):
        look(usual(x))
    look(usual(x), raises(lambda: T.set_grad_enabled(1)), raises(lambda: T.set_grad_enabled("a")))
    T.set_grad_enabled(True)
    return out


@program
def generators_and_modes(T):
    out = []

    @T.no_grad()
    def gen():
        """doc"""
        out.append(T.is_grad_enabled())
        x = yield 1
        out.append([T.is_grad_enabled(), x])
        try:
            yield 2
        except ValueError:
            out.append("caught")
            yield 3
        return 4

    g = gen()
    out += [next(g), T.is_grad_enabled(), g.send("s"), T.is_grad_enabled(), g.throw(ValueError()), T.is_grad_enabled()]
    try:
        next(g)
    except StopIteration as e:
        out.append(e.value)
    closed = gen()
    next(closed)
    closed.close()
    out += [gen.__name__, gen.__doc__, T.is_grad_enabled()]

    class C:
        @T.no_grad()
        def m(self):
            return T.is_grad_enabled()

        @staticmethod
        @T.no_grad()
        def s():
            return T.is_grad_enabled()

        @classmethod
        @T.no_grad()
        def c(cls):
            return T.is_grad_enabled()

    return out + [C().m(), C.s(), C.c()]
