"""Tools of autograd that are used seldom: hooks on several tensors, edges, slots, anomaly mode."""

import warnings

from kit import anomaly, flags, leaf, program, quiet, raises


@program
def multi_grad_hook_details(T):
    R = T.autograd.graph.register_multi_grad_hook
    out = []
    for mode in ("all", "any"):

        def mk():
            x, w, log = leaf(T, [1.0]), leaf(T, [2.0]), []
            a = x * 2
            b = w * 3
            c = a * b
            return x, w, a, b, c, log

        def cb(log):
            return (lambda gs: log.append(["all", gs])) if mode == "all" else (lambda g: log.append(["any", g]))

        x, w, a, b, c, log = mk()
        R((a, b, c), cb(log), mode=mode)
        c.sum().backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        R((x, w), cb(log), mode=mode)
        c.sum().backward(retain_graph=True)
        c.sum().backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        R((a, T.ones(1, requires_grad=True), b), cb(log), mode=mode)
        c.sum().backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        R((a,), cb(log), mode=mode)
        R((a, b), cb(log), mode=mode)
        a.register_hook(lambda g: log.append("a"))
        c.sum().backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        a.register_hook(lambda g: g * 10)
        R((a, b), cb(log), mode=mode)
        a.register_hook(lambda g: g * 10)
        c.sum().backward()
        out.append([log, x.grad])
        x, w, a, b, c, log = mk()
        R((a, b), cb(log), mode=mode)
        out.append([raises(lambda: c.sum().backward(inputs=[x])), log])
        x, w, a, b, c, log = mk()
        R((a, b), cb(log), mode=mode)
        out.append([T.autograd.grad(c.sum(), b), log])
        x, w, a, b, c, log = mk()
        R((a, b, c), cb(log), mode=mode)
        out.append([T.autograd.grad(c.sum(), [a, w]), log])
        x, w, a, b, c, log = mk()
        h = R((a, a), cb(log), mode=mode)
        c.sum().backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        h = R([a, b], cb(log), mode=mode)
        h.remove()
        h.remove()
        c.sum().backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        R((a, b), cb(log), mode=mode)
        (a.sum() * 5).backward()
        out.append(log)
        x, w, a, b, c, log = mk()
        R((a, b), cb(log), mode=mode)
        quiet(lambda: c.sum().backward(create_graph=True))
        out.append(
            [
                [entry[0] for entry in log],
                [flags(entry[1]) if isinstance(entry[1], T.Tensor) else [flags(g) for g in entry[1]] for entry in log],
            ]
        )
    return out


@program
def mutation_allowed(T):
    A = T.autograd.graph.allow_mutation_on_saved_tensors
    out = []
    x = leaf(T, [1.0, 2.0])
    with A() as ctx:
        h = x * 1
        y = h.sin() * h.exp()
        h.mul_(5)
        h.zero_()
        y.sum().backward()
        out.append([type(ctx).__name__ and 0, h, x.grad])
    x.grad = None
    with A():
        h = x * 1
        y = (h * h).sum()
        h.add_(1)
    out.append(raises(lambda: y.backward()))
    with A():
        e = (x * 1).exp()
        e.mul_(2)
        out.append(raises(lambda: e.sum().backward()))
        out.append(x.grad)

    def nest():
        with A():
            with A():
                pass

    out.append(raises(nest))
    return out


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
    out += [E(b).output_nr, E(b).node is E(a).node]
    out.append(T.autograd.grad(E(y), x, T.ones(1), retain_graph=True))
    x.grad = None
    y.backward(T.ones(1), inputs=[f], retain_graph=True)
    out.append(x.grad)
    x.grad = None
    T.autograd.backward(E(y), T.ones(1))
    out.append(x.grad)
    return out


@program
def anomaly_forms(T):
    A = T.autograd
    out = []

    def bad(x):
        return (x.sqrt() * 0).sum()

    for f in (
        lambda: A.detect_anomaly(),
        lambda: A.detect_anomaly(True),
        lambda: A.detect_anomaly(check_nan=False),
        lambda: A.set_detect_anomaly(True),
        lambda: A.set_detect_anomaly(True, check_nan=False),
        lambda: A.set_detect_anomaly(False),
    ):
        x = leaf(T, [0.0])

        def go():
            with f():
                bad(x).backward()

        out.append([quiet(lambda: raises(go)), x.grad, anomaly(T)[0], anomaly(T)[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with A.detect_anomaly():
            y = leaf(T, [1.0, 2.0]) * 2
            m = y.grad_fn.metadata
            out.append(type(m).__name__)
            x = leaf(T, [1.0])
            h = x * 1
            z = h.exp()
            z.add_(1)
            out.append((raises(lambda: z.sum().backward()) or [0, 0, ""])[1])
    for g in (
        lambda x: x.log().sum(),
        lambda x: (x / x).sum(),
        lambda x: (x**0.5).sum() * 0,
        lambda x: T.where(x > 0, x.log(), x).sum(),
    ):
        x = leaf(T, [0.0, 1.0])

        def watched():
            with A.detect_anomaly():
                g(x).backward()

        out.append([quiet(lambda: raises(watched)), x.grad])
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

    class F(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * 2)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * ctx.saved_tensors[1]

    f = F.apply(x)
    out.append(len(f.grad_fn._raw_saved_tensors))
    f.grad_fn._raw_saved_tensors[1].register_hooks(lambda t: t.detach(), lambda t: t * 0 + 1)
    x.grad = None
    f.sum().backward()
    out.append(x.grad)
    return out


@program
def accumulator_facts(T):
    x = leaf(T, [1.0, 2.0])
    a = x.expand_as(x).grad_fn.next_functions[0][0]
    b = (x * 2).grad_fn.next_functions[0][0]
    out = [a is b, a.name(), a.variable is x, a.next_functions, raises(lambda: a.variable.grad)]
    a.register_hook(lambda gi, go: out.append([gi, go[0].clone(), x.grad.clone()]))
    (x * 3).sum().backward()
    (x * 4).sum().backward()
    n = leaf(T, [1.0])
    y = n * 2
    acc = y.grad_fn.next_functions[0][0]
    n.requires_grad_(False)
    out.append([acc.variable is n])
    y.sum().backward()
    out.append(n.grad)
    z = leaf(T, [1.0])
    t = z * 2
    z.data = T.tensor([5.0, 6.0])
    out.append(raises(lambda: t.sum().backward()))
    out.append(z.grad)
    return out
