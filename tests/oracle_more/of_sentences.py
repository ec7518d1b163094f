"""Sentence by sentence through what is known of passes, functions, checkpoints, layers and steps."""

import copy
import math

from kit import flags, leaf, program, quiet, raises, weighted


def fn(T, forward, backward=None, name="Fn", **extra):
    body = dict(forward=staticmethod(forward), **extra)
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return type(name, (T.autograd.Function,), body)


@program
def in_place_function_versions(T):
    def fw(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def fw2(ctx, x):
        x.detach().numpy()[:] *= 2
        ctx.mark_dirty(x)
        return x

    def fw3(ctx, x):
        x.mul_(2)
        return x

    out = []
    for f in (fw, fw2, fw3):
        F = fn(T, f, lambda ctx, g: g * 2)
        h = leaf(T, [1.0, 2.0]) * 1
        r = []
        e = raises(lambda: r.append(F.apply(h)))
        out.append(
            [
                e,
                h._version,
                h.detach(),
                bool(r) and r[0] is h,
                flags(h),
                raises(lambda: r[0].sum().backward()) if r else None,
            ]
        )
    a = T.ones(2)
    F = fn(T, fw, lambda ctx, g: g * 2)
    b = F.apply(a)
    out.append([b is a, a._version, flags(a)])
    with T.no_grad():
        h = leaf(T, [1.0, 2.0]) * 1
        b = F.apply(h)
        out.append([b is h, h._version, flags(b)])
    v = (leaf(T, [1.0, 2.0]) * 1)[:1]
    out.append([raises(lambda: F.apply(v)), v._version])
    return out


@program
def numbers_survive(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    ys = [
        x**3,
        x.sum(1),
        x.mean(),
        x.view(4),
        x.permute(1, 0),
        x * 2.5,
        x.clamp(0, 1),
        x.var(),
        x.softmax(1),
        x[0],
        x[:, 1:],
        x.expand(2, 2, 2),
        x.unsqueeze(0),
        x.cumsum(1),
    ]
    for y in ys:
        y.sum().backward()
    out = []
    for y in ys:
        f = y.grad_fn
        d = {}
        for n in sorted(n for n in dir(f) if n.startswith("_saved_")):
            r = []
            e = raises(lambda: r.append(getattr(f, n)))
            d[n] = e[:2] if e else (r[0] if not isinstance(r[0], T.Tensor) else "tensor")
        out.append(
            {
                k: v
                for k, v in d.items()
                if k
                in (
                    "_saved_exponent",
                    "_saved_dim",
                    "_saved_keepdim",
                    "_saved_self_sym_sizes",
                    "_saved_self_sym_numel",
                    "_saved_result",
                    "_saved_self",
                    "_saved_min",
                    "_saved_max",
                    "_saved_dims",
                    "_saved_start",
                    "_saved_step",
                    "_saved_index",
                )
            }
        )
    return out


@program
def failing_pass_leaves(T):
    a, b, c = leaf(T, [1.0]), leaf(T, [2.0]), leaf(T, [3.0])

    def boom(g):
        raise KeyError("boom")

    h = a * 2
    h.register_hook(boom)
    k = b * 3
    m = c.exp()
    y = (h + k + m).sum()
    e = raises(lambda: y.backward())
    f = raises(lambda: y.backward())
    n = raises(lambda: m.grad_fn._saved_result)
    return [e, f, n, a.grad, b.grad, c.grad, T.is_grad_enabled()]


@program
def failing_in_create_graph(T):
    x = leaf(T, [1.0])
    h = x * 2

    def boom(g):
        raise KeyError("boom")

    h.register_hook(boom)
    with T.no_grad():
        e = raises(lambda: T.autograd.grad(h.sum(), x, create_graph=True))
        m = T.is_grad_enabled()
    return [e, m, T.is_grad_enabled()]


@program
def partial_grad_and_release(T):
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    a = x * x
    b = w * w
    y = (a * b).sum()
    g = T.autograd.grad(y, w)
    return [
        g,
        raises(lambda: a.grad_fn._saved_self is x),
        raises(lambda: b.grad_fn._saved_self),
        raises(lambda: T.autograd.grad(y, x)),
        raises(lambda: T.autograd.grad(a.sum(), x)),
    ]


@program
def unused_inputs(T):
    x, w, u = leaf(T, [1.0]), leaf(T, [2.0]), leaf(T, [3.0])
    y = (x * w).sum()
    return [
        raises(lambda: T.autograd.grad(y, [x, u], retain_graph=True)),
        raises(lambda: T.autograd.grad(y, [u, x], retain_graph=True)),
        T.autograd.grad(y, [x, u], allow_unused=True, retain_graph=True),
        T.autograd.grad(y, [u], materialize_grads=True, retain_graph=True),
        T.autograd.grad(y, {"u": u, "x": x}, allow_unused=True, retain_graph=True),
        raises(lambda: T.autograd.grad(y, {"u": u}, retain_graph=True)),
        raises(lambda: T.autograd.grad(y, T.ones(1))),
        raises(lambda: T.autograd.grad(y, [x, T.ones(1)])),
        raises(lambda: T.autograd.grad(y, None)),
        raises(lambda: T.autograd.grad(y, x * 1)),
        raises(lambda: T.autograd.grad(None, x)),
        raises(lambda: T.autograd.grad(3, x)),
    ]


@program
def roots_of_all_kinds(T):
    x = leaf(T, [2.0])
    out = []
    a = x * 3
    b = a * 2
    T.autograd.backward([a, b])
    out.append(x.grad.clone())
    x.grad = None
    a = x * 3
    T.autograd.backward([a, a])
    out.append(x.grad.clone())
    x.grad = None
    T.autograd.backward([x])
    out.append(x.grad.clone())
    x.grad = None
    T.autograd.backward([x, x * 2], [T.tensor([5.0]), T.tensor([7.0])])
    out.append(x.grad.clone())
    x.grad = None
    out.append(T.autograd.grad([x * 2, x * 3], x))
    out.append(T.autograd.grad([x], [x]))
    out.append(raises(lambda: T.autograd.backward([x * 2, T.ones(1)])))
    out.append(raises(lambda: T.autograd.backward(x * 2, T.ones(2))))
    out.append(raises(lambda: T.autograd.backward(T.ones(1))))
    out.append(raises(lambda: T.autograd.backward([x * 2], [None])))
    out.append(x.grad)
    out.append(raises(lambda: (x * T.ones(2)).backward()))
    out.append(raises(lambda: (x * T.ones(2)).backward(None)))
    out.append(
        raises(lambda: (x * 2).backward(gradient=T.tensor([2.0]), retain_graph=False, create_graph=False, inputs=None))
    )
    out.append(raises(lambda: (x * 2).backward(2.0)))
    out.append(raises(lambda: (x * 2).backward([T.ones(1)])))
    out.append(raises(lambda: (x * 2).backward(T.tensor([1]))))
    out.append(x.grad)
    return out


@program
def retain_grad_matrix(T):
    out = []
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    h.retain_grad()
    h.mul_(2)
    (h * 5).sum().backward()
    out.append([h.grad, h.retains_grad, x.grad])
    x = leaf(T, [2.0])
    h = x * 3
    v = h[:]
    v.retain_grad()
    h.retain_grad()
    (v * 2 + h).sum().backward()
    out.append([v.grad, h.grad, x.grad])
    x = leaf(T, [2.0, 3.0])
    a, b = x.unbind(0)
    a.retain_grad()
    (a * 2).backward()
    out.append([a.grad, quiet(lambda: b.grad)])
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    g = T.autograd.grad((h * 2).sum(), x)
    out.append([h.grad, g])
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    quiet(lambda: (h**2).sum().backward(create_graph=True))
    out.append([h.grad, flags(h.grad)])
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    h.register_hook(lambda g: g * 10)
    (h * 2).sum().backward()
    out.append([h.grad, x.grad])
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    k = h
    del h
    (k * 1).sum().backward()
    out.append(k.grad)
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    z = (h * 1).sum()
    z.backward(retain_graph=True)
    h.grad = None
    z.backward()
    out.append(h.grad)
    x = leaf(T, [2.0])
    h = x * 3
    h.retain_grad()
    d = h.detach()
    out.append([d.retains_grad, d.grad])
    x = leaf(T, [2.0])
    h = (x * 3).requires_grad_()
    h.retain_grad()
    h.sum().backward(inputs=[h])
    out.append([h.grad, x.grad])
    return out


@program
def hooks_on_shared_things(T):
    x, log = leaf(T, [2.0]), []

    def hook(g):
        log.append(g)

    h = x * 3
    a = h.register_hook(hook)
    h.register_hook(hook)
    (h * 1).sum().backward(retain_graph=True)
    n = len(log)
    a.remove()
    (h * 1).sum().backward()
    out = [n, len(log)]
    p = leaf(T, [1.0])
    c = p.register_hook(lambda g: g * 2)
    q = copy.deepcopy(p)
    (q * 1).sum().backward()
    out.append(q.grad)
    s = p.clone()
    s.sum().backward()
    out.append(p.grad)
    c.remove()
    p.grad = None
    s2 = p.clone()
    s2.sum().backward()
    out.append(p.grad)
    v = p.view(1)
    v.register_hook(lambda g: g * 7)
    p.grad = None
    (p * 1).sum().backward()
    out.append(p.grad)
    p.grad = None
    v.sum().backward()
    out.append(p.grad)
    return out


@program
def mode_and_function_matrix(T):
    out = []
    F = fn(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    x = leaf(T, [1.0])
    for m in (T.no_grad, T.enable_grad, T.inference_mode):
        with m():
            y = F.apply(x)
            out.append(
                [y.requires_grad, y.is_leaf, y.is_inference(), T.is_grad_enabled(), T.is_inference_mode_enabled()]
            )
            with T.enable_grad():
                y = F.apply(x)
                out.append([y.requires_grad, y.is_inference()])
            with T.no_grad():
                y = F.apply(x)
                out.append([y.requires_grad, y.is_inference()])
            with T.set_grad_enabled(True):
                y = x * 2
                out.append([y.requires_grad])
            with T.inference_mode(False):
                y = x * 2
                out.append([y.requires_grad, y.is_inference(), T.is_grad_enabled()])
    return out


@program
def where_and_masks_second_order(T):
    def second(f, data=(0.5, 1.5, -0.7)):
        x = leaf(T, data, "float64")
        (g,) = T.autograd.grad(weighted(T, f(x)), x, create_graph=True)
        return [g.detach(), T.autograd.grad((g * g).sum(), x, allow_unused=True)[0] if g.requires_grad else None]

    return [
        second(f)
        for f in (
            lambda x: T.where(x > 0, x**2, x**3),
            lambda x: (x**2).masked_fill(x > 1, 0.0),
            lambda x: (x**2)[x > 0],
            lambda x: x.clamp(0, 1) ** 2,
            lambda x: x.relu() ** 2,
            lambda x: x.abs() ** 3,
            lambda x: T.maximum(x, x * x),
            lambda x: (x**3).max().reshape(1),
            lambda x: (x**3).sort()[0],
            lambda x: (x**2).cumsum(0),
            lambda x: (x**2).prod().reshape(1),
            lambda x: x.norm().reshape(1),
            lambda x: x.std().reshape(1),
            lambda x: x.var().reshape(1),
            lambda x: x.logsumexp(0).reshape(1),
            lambda x: x.softmax(0),
            lambda x: x.log_softmax(0),
            lambda x: T.stack([x, x**2]).sum(0),
            lambda x: T.cat([x**2, x]),
            lambda x: (x**2).gather(0, T.tensor([0, 0, 2])),
            lambda x: (x**2).flip(0),
            lambda x: (x**2).repeat(2),
            lambda x: x.expand(2, 3) ** 2,
            lambda x: x.sigmoid(),
            lambda x: x.tanh(),
            lambda x: (x * x + 1).sqrt(),
            lambda x: (x * x + 1).log(),
            lambda x: 1 / (x * x + 1),
            lambda x: x.exp(),
            lambda x: 2**x,
            lambda x: (x * x + 1) ** x,
            lambda x: x.sin() * x.cos(),
            lambda x: T.nn.functional.gelu(x),
            lambda x: T.nn.functional.softplus(x),
            lambda x: T.nn.functional.silu(x),
            lambda x: T.nn.functional.mse_loss(x**2, x.detach()).reshape(1),
            lambda x: T.nn.functional.layer_norm(x, (3,)),
            lambda x: x.outer(x).reshape(-1),
            lambda x: x.dot(x).reshape(1),
            lambda x: (x.reshape(1, 3) @ x.reshape(3, 1)).reshape(1),
            lambda x: T.atan2(x, x + 2),
            lambda x: x.median().reshape(1),
        )
    ]


@program
def half_of_the_graph_kept(T):
    x = leaf(T, [2.0])
    h = x * x
    a = (h * 3).sum()
    b = (h * h).sum()
    a.backward(retain_graph=True)
    r = [x.grad.clone()]
    b.backward()
    r.append(x.grad.clone())
    r.append(raises(lambda: a.backward()))
    return r + [x.grad]


@program
def leaves_in_containers(T):
    ps = {"a": leaf(T, [1.0]), "b": [leaf(T, [2.0]), leaf(T, [3.0])]}
    loss = (ps["a"] * ps["b"][0] * ps["b"][1]).sum()
    flat = [ps["a"], *ps["b"]]
    gs = T.autograd.grad(loss, flat)
    new = [p - 0.1 * g for p, g in zip(flat, gs, strict=True)]
    return [gs, new, [flags(p) for p in new], [p.grad for p in flat]]


@program
def checkpoint_forms(T):
    C = T.utils.checkpoint.checkpoint
    out = []

    def f(x, w=None, *, s=1):
        return (x * s).sin() if w is None else (x * w * s).sin()

    for r in (True, False):
        x, w = leaf(T, [1.0, 2.0]), leaf(T, [3.0, 4.0])
        y = C(f, x, w, use_reentrant=r)
        y.sum().backward()
        out.append([x.grad, w.grad, type(y.grad_fn).__name__])
        x = leaf(T, [1.0, 2.0])
        e = raises(lambda: C(f, x, s=2, use_reentrant=r))
        out.append(e[:2] if e else None)
        x = leaf(T, [1.0, 2.0])
        h = x * 1
        y = C(lambda a: (a * a, a.sum()), h, use_reentrant=r)
        (y[0].sum() * y[1]).backward()
        out.append([type(y).__name__, x.grad])
        x = leaf(T, [1.0, 2.0])
        y = C(lambda a: a.detach(), x, use_reentrant=r)
        out.append(flags(y))
        x = leaf(T, [1.0, 2.0])
        y = C(lambda a: None, x, use_reentrant=r)
        out.append(y)
        x = leaf(T, [1.0, 2.0])
        y = C(f, x, use_reentrant=r)
        y.sum().backward(retain_graph=True)
        g = x.grad.clone()
        e = raises(lambda: y.sum().backward())
        out.append([g, e and e[:2], x.grad])
        x = leaf(T, [1.0, 2.0])

        def boom(a):
            raise ValueError("in segment")

        out.append(raises(lambda: C(boom, x, use_reentrant=r)))
    x = leaf(T, [1.0, 2.0])
    n = [0]

    def g(a):
        n[0] += 1
        if n[0] == 2:
            raise ValueError("again")
        return a.exp()

    y = C(g, x, use_reentrant=False)
    out.append([raises(lambda: y.sum().backward()), x.grad])
    return out


@program
def checkpoint_sequential(T):
    S = T.utils.checkpoint.checkpoint_sequential
    fs = [lambda a: a.sin(), lambda a: a * 2, lambda a: a.exp()]
    x = leaf(T, [0.5, 1.0])
    y = S(fs, 2, x, use_reentrant=False)
    y.sum().backward()
    z = leaf(T, [0.5, 1.0])
    (z.sin() * 2).exp().sum().backward()
    m = T.nn.Sequential(T.nn.Tanh(), T.nn.Sigmoid())
    w = leaf(T, [0.5])
    S(m, 2, w, use_reentrant=False).sum().backward()
    return [x.grad, z.grad, w.grad]


@program
def module_backward_hooks(T):
    out = []
    for kind_ in ("full", "pre", "legacy"):
        m = T.nn.Linear(2, 1)
        with T.no_grad():
            m.weight.copy_(T.tensor([[1.0, 2.0]]))
            m.bias.zero_()
        log = []
        x = leaf(T, [[3.0, 4.0]])
        if kind_ == "full":
            h = m.register_full_backward_hook(lambda mod, gi, go: log.append([mod is m, gi, go]))
        elif kind_ == "pre":
            h = m.register_full_backward_pre_hook(lambda mod, go: log.append([mod is m, go]))
        else:
            h = m.register_backward_hook(lambda mod, gi, go: log.append([mod is m, len(gi), go]))
        quiet(lambda: m(x).sum().backward())
        h.remove()
        quiet(lambda: m(x).sum().backward())
        out.append([log, x.grad])
    m = T.nn.Linear(2, 1)
    x = leaf(T, [[3.0, 4.0]])
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    with T.no_grad():
        m.weight.fill_(1.0)
    m(x).sum().backward()
    out.append(x.grad)
    m = T.nn.Linear(2, 1)
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 10,))
    with T.no_grad():
        m.weight.fill_(1.0)
    x = leaf(T, [[3.0, 4.0]])
    m(x).sum().backward()
    out.append([x.grad, m.weight.grad])
    m = T.nn.Linear(2, 1)
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))
    out.append(raises(lambda: m(x).sum().backward()))
    return out


@program
def module_forward_hook_kinds(T):
    log = []

    class M(T.nn.Module):
        def forward(self, x, k=1):
            return x * k

    m = M()
    m.register_forward_pre_hook(
        lambda mod, args, kw: (log.append(["pre", args, kw]), ((args[0] + 1,), {"k": 3}))[1], with_kwargs=True
    )
    m.register_forward_hook(lambda mod, args, kw, out: (log.append(["post", args, kw]), out * 10)[1], with_kwargs=True)
    m.register_forward_hook(lambda mod, args, out: log.append(["first"]), prepend=True)
    m.register_forward_pre_hook(lambda mod, args: log.append(["pre0"]), prepend=True)
    y = m(T.ones(1), k=2)
    n = M()
    n.register_forward_pre_hook(lambda mod, args: args[0] * 5)
    z = n(T.ones(1))
    o = M()
    always = []
    o.register_forward_hook(lambda mod, args, out: always.append("ran"), always_call=True)
    e = raises(lambda: o(T.ones(1), zz=1))
    return [log, y, z, e, always]


@program
def losses_against_formula(T):
    F = T.nn.functional
    out = []
    x = leaf(T, [[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]])
    t = T.tensor([2, 0])
    p = T.softmax(x, 1)
    for f in (
        lambda: F.cross_entropy(x, t),
        lambda: F.cross_entropy(x, t, reduction="none"),
        lambda: F.cross_entropy(x, t, reduction="sum"),
        lambda: F.cross_entropy(x, t, label_smoothing=0.2),
        lambda: F.cross_entropy(x, T.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])),
        lambda: F.cross_entropy(x, t, weight=T.tensor([1.0, 2.0, 3.0])),
        lambda: F.cross_entropy(x, T.tensor([-100, 1])),
        lambda: F.cross_entropy(x, T.tensor([-100, -100])),
        lambda: F.cross_entropy(x, T.tensor([1, 2]), ignore_index=2),
        lambda: F.cross_entropy(x[0], T.tensor(1)),
        lambda: F.nll_loss(F.log_softmax(x, 1), t),
        lambda: F.mse_loss(x, T.zeros(2, 3)),
        lambda: F.mse_loss(x, T.zeros(2, 3), reduction="none"),
        lambda: F.l1_loss(x, T.zeros(2, 3)),
        lambda: F.smooth_l1_loss(x, T.zeros(2, 3)),
        lambda: F.smooth_l1_loss(x, T.zeros(2, 3), beta=0.5),
        lambda: F.huber_loss(x, T.zeros(2, 3), delta=0.7),
        lambda: F.binary_cross_entropy(p, T.ones(2, 3) * 0.3),
        lambda: F.binary_cross_entropy_with_logits(x, T.ones(2, 3)),
        lambda: F.binary_cross_entropy_with_logits(x, T.ones(2, 3), pos_weight=T.tensor([1.0, 2.0, 3.0])),
        lambda: F.kl_div(F.log_softmax(x, 1), p.detach(), reduction="batchmean"),
        lambda: F.softmax(x, 1),
        lambda: F.log_softmax(x, -1),
        lambda: F.softplus(x),
        lambda: F.gelu(x),
        lambda: F.normalize(x),
        lambda: F.one_hot(t) * 1.0,
        lambda: F.cosine_similarity(x, T.ones(2, 3)),
    ):
        x.grad = None
        y = f()
        if y.requires_grad:
            y.sum().backward()
        out.append([y.detach(), x.grad])
        p = T.softmax(x, 1)
    return out


@program
def optimizer_over_views_and_types(T):
    out = []
    w = T.nn.Parameter(T.arange(6.0).view(2, 3).t())
    o = T.optim.SGD([w], lr=0.1, momentum=0.9)
    (w * w).sum().backward()
    o.step()
    out += [w, w.stride(), o.state[w]["momentum_buffer"].stride(), w.grad.stride()]
    d = leaf(T, [1.0, 2.0], "float64")
    o = T.optim.Adam([d], lr=0.1)
    (d * d).sum().backward()
    o.step()
    out += [d, o.state[d]["exp_avg"].dtype, o.state[d]["step"].dtype, o.state[d]["step"]]
    z = leaf(T, 2.0)
    o = T.optim.AdamW([z], lr=0.1)
    (z * z).backward()
    o.step()
    out += [z, o.state[z]["exp_avg"].shape]
    e = T.zeros(0, requires_grad=True)
    o = T.optim.SGD([e], lr=0.1)
    (e * 2).sum().backward()
    o.step()
    out += [e, e.grad]
    return out


@program
def lr_changes_by_hand(T):
    p = leaf(T, [1.0])
    o = T.optim.SGD([p], lr=0.1)
    out = []
    for lr in (0.1, 1.0, 0.0):
        o.param_groups[0]["lr"] = lr
        o.zero_grad()
        (p * 2).sum().backward()
        o.step()
        out.append(p.item())
    for g in o.param_groups:
        g["lr"] *= 0.5
    return [out, o.param_groups[0]["lr"], o.defaults["lr"], sorted(o.state_dict()["param_groups"][0])]


@program
def load_optimizer_with_other_shapes(T):
    p, q = leaf(T, [1.0, 2.0]), leaf(T, [1.0])
    o = T.optim.Adam([p], lr=0.1)
    p.grad = T.ones(2)
    o.step()
    sd = o.state_dict()
    o2 = T.optim.Adam([q], lr=0.5)
    e = raises(lambda: o2.load_state_dict(sd))
    s = o2.state[q]["exp_avg"].shape
    o3 = T.optim.Adam([p, q])
    e3 = raises(lambda: o3.load_state_dict(sd))
    o4 = T.optim.SGD([p], lr=0.3)
    e4 = raises(lambda: o4.load_state_dict(sd))
    q.grad = T.ones(1)
    e5 = raises(lambda: o2.step())
    return [e, s, e3, e4, e5 and e5[:2]]


@program
def scheduler_closed_forms(T):
    S = T.optim.lr_scheduler
    out = []
    for mk in (
        lambda o: S.CosineAnnealingLR(o, T_max=10, eta_min=0.01),
        lambda o: S.StepLR(o, step_size=3, gamma=0.5),
        lambda o: S.ExponentialLR(o, gamma=0.95),
        lambda o: S.LambdaLR(o, lr_lambda=lambda e: min(1, (e + 1) / 5)),
        lambda o: S.LambdaLR(o, lambda e: math.cos(e)),
        lambda o: S.ReduceLROnPlateau(o, patience=1, factor=0.5),
    ):
        o = T.optim.SGD([leaf(T, [1.0])], lr=0.3)
        s = mk(o)
        lrs = []
        for _ in range(12):
            o.step()
            s.step(1.0) if "Plateau" in type(s).__name__ else s.step()
            lrs.append(o.param_groups[0]["lr"])
        out.append([type(s).__name__, lrs])
    return out


@program
def batchnorm_details(T):
    out = []
    m = T.nn.BatchNorm1d(2, momentum=0.5)
    x = leaf(T, [[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]])
    y = m(x)
    weighted(T, y).backward()
    out += [
        y,
        x.grad,
        m.weight.grad,
        m.bias.grad,
        m.running_mean,
        m.running_var,
        m.num_batches_tracked,
        m.running_mean._version,
    ]
    y1 = m(x)
    y2 = m(x * 2)
    (y1.sum() + weighted(T, y2)).backward()
    out += [x.grad, m.num_batches_tracked]
    m.eval()
    x.grad = None
    weighted(T, m(x)).backward()
    out += [x.grad, m.weight.grad]
    m.reset_running_stats()
    out += [m.running_mean, m.running_var]
    n = T.nn.BatchNorm1d(2, track_running_stats=False)
    out += [n.running_mean, n(x), n.eval()(x), list(n.state_dict())]
    k = T.nn.BatchNorm1d(2, affine=False)
    out += [k.weight, k(x), list(k.state_dict())]
    out += [
        raises(lambda: T.nn.BatchNorm1d(3)(x)),
        raises(lambda: T.nn.BatchNorm1d(2)(T.ones(2))),
        raises(lambda: T.nn.BatchNorm1d(2)(T.ones(1, 2))),
        T.nn.BatchNorm1d(2)(T.ones(1, 2, 3)).shape,
    ]
    return out


@program
def error_in_the_middle_of_modules(T):
    class Bad(T.nn.Module):
        def forward(self, x):
            return x @ T.ones(5, 5)

    m = T.nn.Sequential(T.nn.Linear(1, 1), Bad())
    return [raises(lambda: m(T.ones(1, 1))), raises(lambda: m(T.ones(1, 2)))]


@program
def attention_masks(T):
    q = leaf(T, [[1.0, 0.0], [0.5, 1.0]])
    s = q @ q.t() / math.sqrt(2)
    mask = T.triu(T.ones(2, 2), diagonal=1).bool()
    a = s.masked_fill(mask, float("-inf")).softmax(-1)
    a.sum().backward()
    z = s.detach().masked_fill(T.ones(2, 2, dtype=T.bool), float("-inf")).softmax(-1)
    return [a, q.grad, z]
