"""Tools of autograd that are used seldom: hooks on several tensors, edges, slots, anomaly mode."""

from tests.programs.kit import fn, leaf, program, raises


def hooked_together(T, mode, choose, act, before=lambda a: None):
    """What one hook on several tensors sees of a pass, and what the pass gives."""
    x, w, log = leaf(T, [1.0]), leaf(T, [2.0]), []
    a, b = x * 2, w * 3
    c = a * b
    before(a)
    hook = lambda g: log.append(g if mode == "all" else [g])  # noqa: E731
    handle = T.autograd.graph.register_multi_grad_hook(choose(x, w, a, b, c), hook, mode=mode)
    gave = []
    error = raises(lambda: gave.append(act(T, handle, x, w, a, b, c)))
    return [error, gave, log, x.grad]


@program
def multi_grad_hook_details(T):
    def plain(T, handle, x, w, a, b, c):
        c.sum().backward()

    def twice(T, handle, x, w, a, b, c):
        c.sum().backward(retain_graph=True)
        c.sum().backward()

    def removed(T, handle, x, w, a, b, c):
        handle.remove()
        handle.remove()
        c.sum().backward()

    both = lambda x, w, a, b, c: (a, b)  # noqa: E731
    every = lambda x, w, a, b, c: (a, b, c)  # noqa: E731
    wrong = raises(lambda: hooked_together(T, "some", both, plain))
    return [wrong] + [
        [
            hooked_together(T, mode, every, plain),
            hooked_together(T, mode, lambda x, w, a, b, c: (x, w), twice),
            hooked_together(T, mode, lambda x, w, a, b, c: (a, T.ones(1, requires_grad=True), b), plain),
            hooked_together(T, mode, both, plain, lambda a: a.register_hook(lambda g: g * 10)),
            hooked_together(T, mode, both, lambda T, handle, x, w, a, b, c: T.autograd.grad(c.sum(), b)),
            hooked_together(T, mode, both, lambda T, handle, x, w, a, b, c: (a.sum() * 5).backward()),
            hooked_together(T, mode, both, removed),
        ]
        for mode in ("all", "any")
    ]


@program
def gradient_edges_more(T):
    E = T.autograd.graph.get_gradient_edge
    x = leaf(T, [2.0])
    h = x * 3
    y = h * h
    e = E(h)
    f = E(x)
    out = [
        type(e).__name__,
        e.node is h.grad_fn,
        e.output_nr,
        type(f.node).__name__,
        f.output_nr,
        f.node is E(x).node,
        e == E(h),
        T.autograd.grad(y, [e, f], retain_graph=True),
        raises(lambda: E(T.ones(1))),
    ]
    a, b = leaf(T, [1.0, 2.0]).unbind(0)
    out += [E(b).output_nr, E(b).node is E(a).node, T.autograd.grad(a + b * 3, E(b)), x.grad]
    out.append(T.autograd.grad(E(y), x, T.ones(1), retain_graph=True))
    x.grad = None
    y.backward(T.ones(1), inputs=[f], retain_graph=True)
    out.append(x.grad)
    x.grad = None
    T.autograd.backward(E(y), T.ones(1))
    out.append(x.grad)
    return out


@program
def raw_saved_details(T):
    x = leaf(T, [2.0])
    y = x**3
    r = y.grad_fn._raw_saved_self
    out = [
        type(r).__name__,
        raises(lambda: r.register_hooks(3, 4))[:2],
        raises(lambda: r.register_hooks(lambda t: t))[:2],
    ]
    r.register_hooks(lambda t: t * 2, lambda t: t + 1)
    out.append(y.grad_fn._saved_self)
    y.sum().backward()
    out.append(x.grad)
    out.append(raises(lambda: r.register_hooks(lambda t: t, lambda t: t)))
    out.append(raises(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)))
    e = x.exp()
    e.grad_fn._raw_saved_result.register_hooks(lambda t: t.detach(), lambda t: t * 0)
    x.grad = None
    e.sum().backward()
    out.append(x.grad)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        z = x**2
    out.append(raises(lambda: z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)))
    out.append(raises(lambda: (x * 2).grad_fn._raw_saved_self))
    out.append(raises(lambda: (x * 2).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)))
    F = fn(
        T,
        lambda ctx, x: ctx.save_for_backward(x, x * 2) or x * 1,
        lambda ctx, g: g * ctx.saved_tensors[0] * ctx.saved_tensors[1],
    )
    f = F.apply(x)
    out.append(len(f.grad_fn._raw_saved_tensors))
    f.grad_fn._raw_saved_tensors[1].register_hooks(lambda t: t.detach(), lambda t: t * 0 + 1)
    x.grad = None
    f.sum().backward()
    out.append(x.grad)
    return out
