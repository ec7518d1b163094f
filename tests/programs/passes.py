"""Backward passes, custom Functions, hooks and modes."""

import copy

from kit import flags, graph, kind, leaf, program, raises


def fn(T, forward, backward=None, name="Fn", **extra):
    body = dict(forward=staticmethod(forward), **extra)
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return type(name, (T.autograd.Function,), body)


@program
def node_repr_and_dir(T):
    x = leaf(T, [1.0, 2.0])
    y = x * 2

    class My(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

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
    ]


@program
def sequence_numbers(T):
    x = leaf(T, [1.0])
    a = x * 2
    b = a * 3
    c = x + 1
    with T.no_grad():
        x * 5
    d = c * 2
    n = [t.grad_fn._sequence_nr() for t in (a, b, c, d)]
    return [n[i + 1] - n[i] for i in range(3)]


@program
def sequence_numbers_of_composites(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a = x * 1
    T.nn.functional.cross_entropy(x, T.tensor([0, 1]))
    c = x * 1
    _ = x.norm(), 2 / x
    f = x * 1
    return [c.grad_fn._sequence_nr() - a.grad_fn._sequence_nr(), f.grad_fn._sequence_nr() - c.grad_fn._sequence_nr()]


@program
def call_a_node(T):
    x, w = leaf(T, [2.0]), leaf(T, [3.0])
    y = x * w
    return [
        y.grad_fn(T.ones(1)),
        y.grad_fn(T.tensor([2.0])),
        raises(lambda: y.grad_fn()),
        (x + 1).grad_fn(T.ones(1)),
        x.exp().grad_fn(T.ones(1)),
        raises(lambda: y.grad_fn(T.ones(1), T.ones(1))),
    ]


@program
def grad_mode_inside_backward(T):
    log = []
    f = fn(
        T,
        lambda ctx, x: x * 1,
        lambda ctx, g: (log.append([T.is_grad_enabled(), g.requires_grad, T.is_inference_mode_enabled()]), g)[1],
    )
    x = leaf(T, [1.0])
    f.apply(x).sum().backward()
    with T.no_grad():
        y = None
    y = f.apply(x)
    with T.no_grad():
        y.sum().backward() if 0 else T.autograd.backward(y, T.ones(1))
    y = f.apply(x)
    T.autograd.grad(y.sum(), x, create_graph=True)
    y = f.apply(x).sum()
    with T.inference_mode():
        r = raises(lambda: y.backward())
    return [log, x.grad, r]


@program
def backward_under_inference_mode(T):
    x = leaf(T, [2.0])
    y = (x * x).sum()
    with T.inference_mode():
        r = raises(lambda: y.backward())
    return [r, x.grad]


@program
def materialize_flags(T):
    log = []

    def fw(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def bw(ctx, a, b):
        log.append([a, b])
        return (a if a is not None else 0) + (b * 2 if b is not None else 0)

    F = fn(T, fw, bw)
    x = leaf(T, [1.0])
    p, q = F.apply(x)
    p.sum().backward()
    r = x.grad.clone()
    p, q = F.apply(x)
    q.sum().backward()
    p, q = F.apply(x)
    (p + q).sum().backward()
    return [log, r, x.grad]


@program
def ctx_facts(T):
    log = []

    def fw(ctx, x, k):
        log.append([type(ctx).__name__, ctx.needs_input_grad, ctx.saved_tensors, hasattr(ctx, "to_save")])
        ctx.a = 1
        ctx.b = [2]
        return x * k

    def bw(ctx, g):
        log.append(
            [
                type(ctx).__name__,
                ctx.needs_input_grad,
                ctx.saved_tensors,
                ctx.a,
                ctx.b,
                ctx.next_functions,
                ctx.name(),
                ctx.metadata,
            ]
        )
        return g, None

    F = fn(T, fw, bw)
    x = leaf(T, [1.0])
    y = F.apply(x, 3)
    y.sum().backward()
    return [
        log,
        y.grad_fn.a,
        isinstance(y.grad_fn, F),
        isinstance(y.grad_fn, T.autograd.Function),
        issubclass(type(y.grad_fn), F),
        raises(lambda: y.grad_fn.nothing),
        y.grad_fn.needs_input_grad,
        raises(lambda: y.grad_fn.saved_tensors),
        y.grad_fn.requires_grad if hasattr(y.grad_fn, "requires_grad") else None,
    ]


@program
def function_returning_things(T):
    x = leaf(T, [1.0, 2.0])
    out = []
    for r in (
        lambda x: None,
        lambda x: (x * 1,),
        lambda x: [x * 1, x * 2],
        lambda x: {"a": x * 1},
        lambda x: (),
        lambda x: x,
        lambda x: (x, x),
        lambda x: x.detach(),
        lambda x: x.view(2),
        lambda x: (x * 1).long(),
        lambda x: ((x * 1).long(), x * 2),
        lambda x: "a",
        lambda x: (x * 1, None),
        lambda x: T.ones(2),
        lambda x: (x * 1, (x * 2,)),
    ):
        F = fn(T, lambda ctx, x, r=r: r(x), lambda ctx, *g: sum((t for t in g if t is not None), T.zeros(2)))
        res = []
        e = raises(lambda: res.append(F.apply(x)))
        v = res[0] if res else None
        out.append([e, type(v).__name__, v, raises(lambda: v.sum().backward()) if isinstance(v, T.Tensor) else None])
    return out + [x.grad]


@program
def gradient_counts(T):
    x, y = leaf(T, [1.0]), leaf(T, [2.0])
    out = []
    for ret in (
        lambda g: g,
        lambda g: (g,),
        lambda g: (g, g),
        lambda g: (g, g, None),
        lambda g: (g, g, g),
        lambda g: None,
        lambda g: (None, None),
        lambda g: (None, g),
        lambda g: (),
        lambda g: [g, g],
        lambda g: (g, 1.0),
        lambda g: (g, "a"),
        lambda g: (g.double(), g.long()),
        lambda g: (g.expand(3), g),
        lambda g: (g.reshape(()), g),
        lambda g: (g.reshape(1, 1), g),
        lambda g: (T.tensor(2.0), g),
    ):
        F = fn(T, lambda ctx, a, b: a + b, lambda ctx, g, ret=ret: ret(g), name="Two")
        x.grad = y.grad = None
        out.append([raises(lambda: F.apply(x, y).sum().backward()), x.grad, y.grad])
    return out


@program
def kinds_of_arguments(T):
    log = []

    def fw(ctx, *a):
        log.append([type(t).__name__ for t in a] + [ctx.needs_input_grad])
        return a[0] * 1

    F = fn(T, fw, lambda ctx, g: (g,) + (None,) * (len(ctx.needs_input_grad) - 1))
    x = leaf(T, [1.0])
    p = T.nn.Parameter(T.ones(1))
    for a in ((x,), (x, 1, "s", None, [x], {"a": x}), (p, x), (T.ones(1), x), (x, x), (x * 2, T.tensor([1]))):
        y = F.apply(*a)
        log.append([y.requires_grad, [n and n.name() for n, _ in y.grad_fn.next_functions] if y.grad_fn else None])
    return log


@program
def nested_functions_and_double(T):
    class Sq(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return SqB.apply(g, x)

    class SqB(T.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return g * 2 * x

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return gg * 2 * x, gg * 2 * g

    x = leaf(T, [3.0], "float64")
    (g,) = T.autograd.grad(Sq.apply(x).sum(), x, create_graph=True)
    return [
        g,
        graph(g.grad_fn, 3),
        T.autograd.grad(g.sum(), x),
        T.autograd.gradcheck(Sq.apply, (x,)),
        T.autograd.gradgradcheck(Sq.apply, (x,)),
    ]


@program
def gradcheck_options(T):
    x = leaf(T, [1.0, 2.0], "float64")
    G = T.autograd.gradcheck
    out = [
        G(lambda t: t * t, x),
        G(lambda t: t * t, [x]),
        G(lambda t: t * t, (x,), eps=1e-4, atol=1e-3, rtol=1e-2),
        G(lambda t: (t * t, t.sum()), (x,)),
        G(T.sin, (x,), fast_mode=True),
        G(lambda t: t.abs(), (leaf(T, [0.5], "float64"),), raise_exception=False),
        raises(lambda: G(lambda t: t * t, (T.ones(1, dtype=T.float64),))),
        raises(lambda: G(lambda t: t.detach(), (x,))),
        raises(lambda: G(lambda t: 1.0, (x,))),
        G(lambda t: t * T.ones(2, dtype=T.float64), (x,), check_undefined_grad=False),
        G(lambda t, k: t * k, (x, 2.0)),
        G(lambda a, b: a @ b, (leaf(T, [[1.0, 2.0]], "float64"), leaf(T, [[1.0], [2.0]], "float64"))),
        T.autograd.gradgradcheck(lambda t: t**3, (x,)),
        T.autograd.gradgradcheck(lambda t: t * 2, (x,)),
        T.autograd.gradgradcheck(T.exp, x, grad_outputs=T.ones(2, dtype=T.float64)),
        G(lambda t: t * t, (x,), nondet_tol=1e-3),
        G(lambda t: t.sum(), (x,), check_batched_grad=False),
    ]
    bad = fn(T, lambda ctx, x: x * 3, lambda ctx, g: g * 2)
    out += [
        raises(lambda: G(bad.apply, (x,))),
        G(bad.apply, (x,), raise_exception=False),
        raises(lambda: G(lambda a, b: bad.apply(b) + a, (x, x.detach().clone().requires_grad_()))),
    ]
    return out


@program
def gradcheck_none_grad(T):
    x = leaf(T, [1.0, 2.0], "float64")
    F = fn(T, lambda ctx, x: x * 3, lambda ctx, g: None)
    return [
        raises(lambda: T.autograd.gradcheck(F.apply, (x,))),
        T.autograd.gradcheck(F.apply, (x,), raise_exception=False),
    ]


@program
def once_differentiable_forms(T):
    once = T.autograd.function.once_differentiable

    class F(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3, x * 2

        @staticmethod
        @once
        def backward(ctx, a, b):
            (x,) = ctx.saved_tensors
            return a * 3 * x * x + b * 2

    x = leaf(T, [2.0])
    w = leaf(T, [1.0])
    p, q = F.apply(x)
    (g,) = T.autograd.grad((p * w).sum(), x, create_graph=True)
    return [
        g,
        flags(g),
        type(g.grad_fn).__name__ if g.grad_fn else None,
        raises(lambda: g.sum().backward()),
        raises(lambda: T.autograd.grad(g.sum(), w)),
        raises(lambda: T.autograd.grad(g.sum(), x)),
        raises(lambda: T.autograd.grad(g.sum(), [x, w], allow_unused=True)),
    ]


@program
def ordering_of_nodes_and_hooks(T):
    x, log = leaf(T, [1.0]), []
    a = x * 2
    b = x * 3
    c = a * b
    d = a + c
    e = d.sum()
    for n, t in zip("abcd", (a, b, c, d), strict=True):
        t.register_hook(lambda g, n=n: log.append(n))
        t.grad_fn.register_hook(lambda gi, go, n=n: log.append(n + "n"))
        t.grad_fn.register_prehook(lambda go, n=n: log.append(n + "p"))
    x.register_hook(lambda g: log.append("x"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("X"))
    e.backward()
    return log


@program
def leaves_complete_early(T):
    x, y, log = leaf(T, [1.0]), leaf(T, [2.0]), []
    x.register_post_accumulate_grad_hook(lambda p: log.append("x"))
    y.register_post_accumulate_grad_hook(lambda p: log.append("y"))
    h = x * 2
    h.register_hook(lambda g: log.append("h"))
    k = y * h
    k.register_hook(lambda g: log.append("k"))
    (k + x).sum().backward()
    log.append("|")
    (x * y).sum().backward()
    log.append("|")
    (y * x + y).sum().backward()
    return log


@program
def optimizer_in_backward(T):
    ps = [leaf(T, [1.0]), leaf(T, [2.0])]
    opts = {id(p): T.optim.SGD([p], lr=0.1) for p in ps}

    def hook(p):
        opts[id(p)].step()
        opts[id(p)].zero_grad()

    for p in ps:
        p.register_post_accumulate_grad_hook(hook)
    (ps[0] * ps[1]).sum().backward()
    return [ps, [p.grad for p in ps], [p._version for p in ps]]


@program
def hooks_that_change_grads_in_place(T):
    x = leaf(T, [1.0, 2.0])
    h = x * 2
    h.register_hook(lambda g: g.mul_(3) and None)
    r = raises(lambda: (h * 1).sum().backward())
    x2 = leaf(T, [1.0, 2.0])
    h2 = x2 * 2

    def f(g):
        g.mul_(3)

    h2.register_hook(f)
    (h2 * 1).sum().backward()
    x3 = leaf(T, [1.0, 2.0])
    x3.register_hook(f)
    (x3 * 2).sum().backward()
    v = T.ones(2)
    x4 = leaf(T, [1.0, 2.0])
    x4.register_hook(f)
    (x4 * 1).backward(v)
    return [r, x.grad, x2.grad, x3.grad, x4.grad, v]


@program
def hook_handle_facts(T):
    x = leaf(T, [1.0])
    h = x.register_hook(lambda g: None)
    p = x.register_post_accumulate_grad_hook(lambda p: None)
    y = x * 2
    n = y.grad_fn.register_hook(lambda a, b: None)
    q = y.grad_fn.register_prehook(lambda a: None)
    m = T.nn.Linear(1, 1)
    k = m.register_forward_hook(lambda *a: None)
    return [type(t).__name__ for t in (h, p, n, q, k)] + [
        h.id != p.id,
        h.remove(),
        h.remove(),
        len(x._backward_hooks or {}),
        len(m._forward_hooks),
        k.remove(),
        len(m._forward_hooks),
        list(x._backward_hooks or {}),
    ]


@program
def hooks_see_grad_flags(T):
    x, log = leaf(T, [2.0]), []
    h = x * 3
    h.register_hook(
        lambda g: log.append([g.requires_grad, g.is_leaf, g.grad_fn is None, g.shape, str(g.dtype), g._version])
    )
    x.register_hook(lambda g: log.append(["leaf", g.requires_grad]))
    (h * 1).sum().backward(retain_graph=True)
    T.autograd.grad((h * h).sum(), x, create_graph=True)
    return log


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
def saved_hooks_returning_wrong(T):
    out = []
    for u in (lambda t: None, lambda t: 5, lambda t: [t], lambda t: t * 1):
        x = leaf(T, [3.0])
        with T.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), u):
            y = (x * 1) ** 2
        out.append([raises(lambda: y.sum().backward()), x.grad])
    out.append(kind(lambda: T.autograd.graph.saved_tensors_hooks(3, 4).__enter__()))
    out.append(kind(lambda: T.autograd.graph.saved_tensors_hooks(lambda t: t)))
    return out


@program
def modes_as_objects(T):
    n = T.no_grad()
    out = []
    with n:
        out.append(T.is_grad_enabled())
    with n:
        with n:
            out.append(T.is_grad_enabled())
        out.append(T.is_grad_enabled())
    out.append(T.is_grad_enabled())
    T.set_grad_enabled(True)
    s = T.set_grad_enabled(False)
    out.append(T.is_grad_enabled())
    with s:
        out.append(T.is_grad_enabled())
    out.append(T.is_grad_enabled())
    T.set_grad_enabled(True)
    with T.set_grad_enabled(True):
        out.append(T.is_grad_enabled())
    with T.set_grad_enabled(mode=False):
        out.append(T.is_grad_enabled())

    @T.set_grad_enabled(False)
    def f():
        return T.is_grad_enabled()

    out += [
        T.is_grad_enabled(),
        f(),
        T.is_grad_enabled(),
        repr(T.set_grad_enabled(True)) and 0,
        type(T.no_grad()).__name__,
        type(T.inference_mode()).__name__,
    ]
    with T.no_grad() as z:
        out.append(z)
    with T.enable_grad() as z:
        out.append(z)
    with T.inference_mode() as z:
        out.append(z)

    @T.inference_mode()
    def g(x):
        return (x * 2).is_inference(), T.is_inference_mode_enabled()

    @T.inference_mode
    def h(x):
        return (x * 2).is_inference()

    @T.inference_mode(False)
    def k(x):
        return (x * 2).is_inference(), (x * 2).requires_grad

    x = leaf(T, [1.0])
    out += [g(x), h(x), k(x)]
    with T.inference_mode(mode=True):
        out.append(k(x))
    out.append(raises(lambda: T.set_grad_enabled(1)))
    out.append(raises(lambda: T.set_grad_enabled("a")))
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
    out += [gen.__name__, gen.__doc__]

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


@program
def inference_corner_cases(T):
    x = leaf(T, [1.0, 2.0])
    with T.inference_mode():
        a = T.ones(2)
        b = x * 2
        v = x.view(2)
        c = x[:1]
        d = x.detach()
        e = x.clone()
        f = a.requires_grad_()
        y_ok = raises(lambda: x.add_(1))
    return [
        raises(lambda: flags(v)),
        flags(b),
        b.is_inference(),
        v.is_inference(),
        d.is_inference(),
        e.is_inference(),
        f.requires_grad,
        y_ok,
        x,
        x._version,
        raises(lambda: a * x),
        raises(lambda: (a + x).sum().backward()),
        x.grad,
        raises(lambda: b.backward()),
        raises(lambda: T.autograd.grad(b.sum(), x)),
        raises(lambda: b.sum()),
        raises(lambda: (b + 1).is_inference()),
        raises(lambda: b.mul_(2)),
        raises(lambda: c.mul_(2)),
        T.cat([a, T.ones(1)]).is_inference(),
        a.view(2, 1).is_inference(),
        a.tolist(),
        a.numpy() if not a.requires_grad else raises(lambda: a.numpy()),
        copy.deepcopy(b).is_inference(),
        T.nn.Parameter(b.clone()).requires_grad,
        raises(lambda: T.nn.Parameter(b)),
        raises(lambda: b.to(T.float64).is_inference()),
        b.to(T.float32) is b,
        b.contiguous() is b,
    ]
