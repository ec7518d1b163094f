"""What people do with leaves, detached tensors, gradients and plain Python."""

import copy
import gc
import pickle
import threading
import weakref

from kit import flags, graph, kind, leaf, program, quiet, raises, warned


@program
def detach_forms(T):
    x = leaf(T, [1.0, 2.0])
    y = x * 2
    d = x.detach()
    e = d.detach()
    p = T.nn.Parameter(T.ones(2))
    pd = p.detach()
    d.requires_grad_()
    (d * 3).sum().backward()
    return [
        d.grad,
        x.grad,
        flags(d),
        flags(x),
        type(pd).__name__,
        e._is_view(),
        d._base is None,
        y.detach()._is_view(),
        y[:1].detach()._is_view(),
        y.detach().data_ptr() == y.data_ptr(),
        d is e,
        y.detach().output_nr,
        y.detach().grad,
        x.detach().detach_() is x,
        T.tensor([1]).detach(),
        flags(y.detach().requires_grad_()),
        y.data.requires_grad,
        flags(y.data),
        flags(p.data),
        type(p.data).__name__,
    ]


@program
def detach_in_place_forms(T):
    x = leaf(T, [1.0, 2.0])
    h = x * 2
    k = h * 3
    z = (k * k).sum()
    h.detach_()
    z.backward()
    a = x.grad
    h2 = x * 2
    z2 = h2 * h2
    h2.detach_()
    r = raises(lambda: z2.sum().backward())
    h3 = x * 2
    h3.retain_grad()
    z3 = (h3 * 3).sum()
    h3.detach_()
    r3 = [raises(lambda: z3.backward()), h3.retains_grad, quiet(lambda: h3.grad)]
    h4 = x * 2
    log = []
    h4.register_hook(lambda g: log.append(g))
    z4 = (h4 * 3).sum()
    h4.detach_()
    z4.backward()
    h5 = x * 2
    v = h5.view(2)
    return [
        a,
        r,
        r3,
        log,
        h2._version,
        flags(h2),
        raises(lambda: v.detach_()),
        raises(lambda: h5.detach_()),
        raises(lambda: v.sum()),
        x.detach_() is x,
        flags(x),
        raises(lambda: x.detach_()),
    ]


@program
def teacher_student(T):
    s, t = leaf(T, [1.0]), leaf(T, [2.0])
    log = []
    for _ in range(3):
        loss = ((s * 2 - (t * 2).detach()) ** 2).sum()
        s.grad = None
        loss.backward()
        with T.no_grad():
            s -= 0.05 * s.grad
            t.mul_(0.9).add_(s, alpha=0.1)
        log += [s.item(), t.item()]
    return [log, t.grad, s._version, t._version]


@program
def gumbel_straight_through(T):
    x = leaf(T, [[0.2, 1.5, -0.3]])
    soft = x.softmax(1)
    i = soft.argmax(1, keepdim=True)
    hard = T.zeros_like(soft).scatter_add(1, i, T.ones(1, 1))
    y = hard - soft.detach() + soft
    (y * T.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    return [y, x.grad]


@program
def reward_baseline(T):
    w = leaf(T, [0.5, 0.1])
    logp = T.log_softmax(w, 0)
    reward = T.tensor([1.0, 2.0])
    base = (logp.exp() * reward).sum().detach()
    loss = -(logp * (reward - base)).sum()
    loss.backward()
    return [loss, w.grad, flags(base)]


@program
def detach_and_hooks(T):
    x, log = leaf(T, [1.0]), []
    x.register_hook(lambda g: log.append(g))
    d = x.detach().requires_grad_()
    (d * 2).sum().backward()
    return [log, d.grad, x.grad, d._backward_hooks, x._backward_hooks is None]


@program
def detach_versions(T):
    x = T.ones(2)
    d = x.detach()
    e = d.detach()
    f = d[:1]
    g = x.data
    h = g.data
    for t in (x, d, e, f, g, h):
        t.add_(1)
    return [[t._version for t in (x, d, e, f, g, h)], x]


@program
def detach_of_numpy_alias(T):
    import numpy

    a = numpy.ones(2)
    t = T.from_numpy(a).requires_grad_()
    y = t * 2
    t.detach().numpy()[0] = 5
    y.sum().backward()
    return [a.tolist(), t, t.grad]


@program
def leaf_facts(T):
    x = leaf(T, [1.0, 2.0])
    return [
        x.grad_fn,
        x.output_nr,
        x.retains_grad,
        x._is_view(),
        x._base,
        x._backward_hooks,
        x._post_accumulate_grad_hooks if hasattr(x, "_post_accumulate_grad_hooks") else 0,
        x.name if hasattr(x, "name") else None,
        x.is_leaf,
        x.ndim,
        x.dim(),
        x.numel(),
        x.nelement(),
        x.element_size(),
        x.itemsize,
        x.nbytes,
        x.storage_offset(),
        x.stride(0),
        x.size(0),
        x.size(),
        x.device.type,
        x.layout,
        x.is_sparse,
        x.is_cuda,
        x.is_floating_point(),
        x.type(),
        x.requires_grad,
        len(x),
        x.T.shape,
        leaf(T, [[1.0, 2.0]]).mT.shape,
        x.itemsize,
        x.is_contiguous(),
        hash(x) == id(x),
        x.volatile if 0 else 0,
    ]


@program
def t_of_wrong_dims(T):
    return [
        warned(lambda: T.ones(2).T)[0][0][0],
        warned(lambda: T.ones(1, 2, 3).T)[1].shape,
        raises(lambda: T.ones(2).mT),
        raises(lambda: T.ones(2, 2, 2).t()),
        T.ones(2).t().shape,
        T.tensor(1.0).t().shape,
    ]


@program
def requires_grad_forms(T):
    x = T.ones(2)

    def put(t, v):
        t.requires_grad = v

    out = [
        x.requires_grad_(True) is x,
        x.requires_grad_(False).requires_grad,
        x.requires_grad_(requires_grad=True).requires_grad,
        raises(lambda: x.requires_grad_(1)),
        raises(lambda: x.requires_grad_("a")),
        raises(lambda: x.requires_grad_(None)),
        raises(lambda: put(x, 0)),
        raises(lambda: put(x, None)),
        raises(lambda: put(x, T.tensor(True))),
    ]
    y = x * 2
    out += [raises(lambda: put(y, False)), raises(lambda: put(y, True)), raises(lambda: y.requires_grad_(False))]
    with T.no_grad():
        z = x * 2
        z.requires_grad_()
        w = z * 2
    out += [flags(z), flags(w), raises(lambda: T.ones(1, dtype=T.int64).requires_grad_(False))]
    return out


@program
def grad_assignment(T):
    x = leaf(T, [1.0, 2.0])
    out = []

    def put(t, v):
        t.grad = v

    for v in (
        T.ones(2),
        T.ones(1, 2),
        T.ones(2).double(),
        T.tensor([1, 2]),
        T.ones(2, requires_grad=True),
        x * 2,
        [1.0, 2.0],
        "a",
        x,
        x.detach(),
        T.ones(1).expand(2),
        None,
    ):
        out.append([raises(lambda: put(x, v)), x.grad, x.grad is v])
    y = x * 2
    out += [
        raises(lambda: put(y, T.ones(2))),
        quiet(lambda: y.grad),
        raises(lambda: put(T.tensor([1]), T.tensor([2]))),
        raises(lambda: put(T.ones(1), T.ones(1))),
        raises(lambda: put(T.tensor([1]), T.tensor([2.0]))),
    ]
    del x.grad
    return out + [x.grad]


@program
def assigned_grad_with_history(T):
    x = leaf(T, [1.0, 2.0])
    w = leaf(T, [3.0, 4.0])
    x.grad = w * 2
    (x * x).sum().backward()
    return [x.grad, flags(x.grad), quiet(lambda: raises(lambda: x.grad.sum().backward())), w.grad]


@program
def zeroing_in_all_ways(T):
    out = []

    def z1(x):
        x.grad = None

    def z2(x):
        x.grad.zero_()

    def z3(x):
        x.grad.data.zero_()

    def z4(x):
        x.grad = T.zeros_like(x)

    def z5(x):
        x.grad *= 0

    def z6(x):
        x.grad.detach_().zero_()

    def z7(x):
        del x.grad

    def z8(x):
        x.grad.fill_(0)

    for f in (z1, z2, z3, z4, z5, z6, z7, z8):
        x = leaf(T, [1.0, 2.0])
        (x * x).sum().backward()
        f(x)
        a = None if x.grad is None else x.grad.clone()
        (x * 3).sum().backward()
        out.append([a, x.grad])
    return out


@program
def parameter_forms(T):
    P = T.nn.Parameter
    a = T.ones(2)
    p = P(a)
    q = P(p)
    r = P(leaf(T, [1.0]) * 2)
    out = [
        q is p,
        q.data_ptr() == a.data_ptr(),
        type(p * 1).__name__,
        type(p.clone()).__name__,
        type(p.detach()).__name__,
        type(p.data).__name__,
        type(p[0]).__name__,
        flags(r),
        P(data=T.ones(1), requires_grad=False).requires_grad,
        type(copy.deepcopy(p)).__name__,
        type(copy.copy(p)).__name__,
        repr(P()),
        repr(p),
        str(p),
        repr(P(T.tensor([1]), False)),
        P(T.ones(1), requires_grad=False),
        isinstance(p, P),
        isinstance(a, P),
        isinstance(p, T.Tensor),
        issubclass(P, T.Tensor),
        type(p.to(T.float64)).__name__,
        p.to(T.float32) is p,
        type(T.zeros_like(p)).__name__,
        type(p.requires_grad_(False)).__name__,
        kind(lambda: P([1.0])),
        p.is_leaf,
        p.grad,
        type(p + p).__name__,
        type(T.stack([p, p])).__name__,
        type(p.float()).__name__,
        p.float() is p,
        pickle.loads(pickle.dumps(p)),
        type(pickle.loads(pickle.dumps(p))).__name__,
    ]
    return out


@program
def deepcopy_forms(T):
    x = leaf(T, [1.0, 2.0])
    (x * 2).sum().backward()
    x.register_hook(lambda g: g * 5)
    c = copy.deepcopy(x)
    log = [c.grad, c.grad is x.grad]
    c.grad = None
    (c * 2).sum().backward()
    v = T.arange(4.0)[1:3]
    cv = copy.deepcopy(v)
    a = T.ones(2)
    pair = copy.deepcopy([a, a, a[:1]])
    s = copy.copy(x)
    d = {"a": x}
    dd = copy.deepcopy(d)
    return [
        log,
        c.grad,
        cv,
        cv._is_view(),
        cv.storage_offset(),
        pair[0] is pair[1],
        pair[2].data_ptr() == pair[0].data_ptr(),
        s is x,
        s.data_ptr() == x.data_ptr(),
        s.requires_grad,
        s.grad,
        flags(s),
        dd["a"],
        raises(lambda: copy.deepcopy(x * 2)),
        raises(lambda: copy.copy(x * 2)),
        copy.deepcopy((x * 2).detach()),
        x._version,
        c._version,
    ]


@program
def accumulation_identity(T):
    x = leaf(T, [1.0, 2.0])
    g = T.ones(2)
    (x * 1).backward(g)
    a = x.grad is g
    y = leaf(T, [1.0, 2.0])
    y.backward(g)
    c = y.grad is g
    g.mul_(7)
    return [a, c, x.grad, y.grad]


@program
def two_step_history(T):
    w = leaf(T, [2.0])
    out = []
    for k in range(3):
        loss = (w * w).sum()
        loss.backward()
        out.append(w.grad.clone())
        with T.no_grad():
            w -= 0.1 * w.grad
        if k == 1:
            w.grad = None
    return [out, w, w._version]


@program
def pitfall_lists_and_tuples(T):
    x = leaf(T, [1.0, 2.0, 3.0])
    return [
        kind(lambda: T.sum([x, x])),
        sum(x),
        flags(sum(x)),
        max(x),
        flags(max(x)),
        [flags(t) for t in x],
        sorted(T.tensor([3.0, 1.0]))[0],
        list(T.tensor([1, 2])),
        tuple(x.detach()),
        x in [x] if 0 else 0,
        raises(lambda: x == [1, 2, 3]),
        (x == x).all().item(),
        raises(lambda: x in [T.ones(3)]),
        T.tensor([1.0, 2.0]).tolist(),
        [i for i in T.tensor([[1, 2], [3, 4]])],
        dict(zip("ab", T.tensor([1, 2]), strict=True))["b"],
        enumerate(x).__class__.__name__,
        len(x),
        reversed(x),
    ]


@program
def pitfall_math_module(T):
    import math

    x = leaf(T, 2.0)
    return [
        math.sqrt(x),
        math.exp(x.detach()),
        raises(lambda: math.sqrt(T.ones(2))),
        pow(x, 2),
        flags(pow(x, 2)),
        abs(-x),
        flags(abs(-x)),
        divmod(7, 2),
        raises(lambda: divmod(x, 2)),
        -x,
        +x,
        flags(+x),
        (+x) is x,
        x // 2,
        x % 2,
        flags(x // 2),
        flags(x % 2),
        raises(lambda: (2 // x).backward())[:2],
        (2 % x).detach(),
        2**x,
        x**0.5,
        x**x,
        ~T.tensor(True),
        T.tensor(3) & T.tensor(1),
        T.tensor(3) | 4,
        T.tensor(3) ^ 1,
        T.tensor(1) << 2,
        T.tensor(8) >> 1,
        raises(lambda: x << 1) and 0,
    ]


@program
def pitfall_bool_conditions(T):
    x = leaf(T, [1.0, 2.0])
    return [
        bool(x[0] > 0),
        flags(x > 0),
        raises(lambda: bool(x > 0)),
        (x > 0).any().item(),
        (x > 0).sum(),
        raises(lambda: 1 if x else 2),
        not T.tensor(0.0),
        raises(lambda: x and 1),
        raises(lambda: x.any() and None),
        T.tensor([]).any().item(),
        T.tensor([]).all().item(),
        (x > 0) & (x < 2),
        raises(lambda: (x > 0) and (x < 2)),
        x != x,
        x is not None,
        x.eq(1.0),
        x.gt(1.0),
        x.lt(T.tensor(2.0)),
        x.ge(1),
        x.le(1),
        x.ne(1),
    ]


@program
def loss_history_keeps_graphs(T):
    x = leaf(T, [1.0])
    refs = []
    losses = []
    for _ in range(3):
        h = x * 2
        refs.append(weakref.ref(h))
        losses.append((h * h).sum())
    del h
    a = [r() is not None for r in refs]
    losses = [loss.item() for loss in losses]
    return [a, [r() is not None for r in refs], losses]


@program
def accumulate_total_loss(T):
    x = leaf(T, [1.0, 2.0])
    total = 0
    for i in range(3):
        total = total + (x * i).sum()
    total.backward()
    t2 = T.zeros(1)
    for i in range(3):
        t2 += (x * i).sum()
    return [x.grad, flags(t2), graph(t2.grad_fn, 3), raises(lambda: t2.backward()), x.grad]


@program
def running_sum_in_place_on_loss(T):
    x = leaf(T, [1.0, 2.0])
    loss = (x * x).sum()
    loss += 1
    loss *= 2
    loss /= 4
    loss.backward()
    l2 = (x * x).sum()
    l2 **= 2
    return [x.grad, loss._version, raises(lambda: l2.backward()), x.grad]


@program
def norm_clipping(T):
    c = T.nn.utils.clip_grad_norm_
    v = T.nn.utils.clip_grad_value_

    def mk(*gs):
        ps = [leaf(T, [0.0] * len(g)) for g in gs]
        for p, g in zip(ps, gs, strict=True):
            p.grad = T.tensor(g)
        return ps

    out = []
    for kw in (
        {},
        {"norm_type": 1},
        {"norm_type": float("inf")},
        {"norm_type": 3.0},
        {"error_if_nonfinite": True},
        {"foreach": False},
        {"norm_type": "inf"},
    ):
        ps = mk([3.0, 4.0], [12.0])
        r = []
        e = raises(lambda: r.append(c(ps, 1.0, **kw)))
        out.append([e, r, [p.grad for p in ps]])
    ps = mk([3.0, float("nan")])
    out.append([c(ps, 1.0), ps[0].grad, raises(lambda: c(ps, 1.0, error_if_nonfinite=True))])
    out.append([c(mk([3.0, 4.0])[0], 1.0), c(iter(mk([3.0, 4.0])), max_norm=10.0)])
    ps = mk([3.0, -4.0], [0.5])
    out.append([v(ps, 1.0), [p.grad for p in ps], v(mk([5.0])[0], clip_value=2)])
    out.append(T.nn.utils.get_total_norm([p.grad for p in mk([3.0, 4.0])]))
    return out


@program
def set_forms(T):
    out = []
    a = T.ones(2)
    b = T.zeros(3)
    r = a.set_(b)
    out += [r is a, a, a._version, a.data_ptr() == b.data_ptr(), b._version]
    b.add_(1)
    out += [a, a._version]
    x = leaf(T, [1.0, 2.0])
    out.append(raises(lambda: x.set_(T.ones(2))))
    with T.no_grad():
        out.append([raises(lambda: x.set_(T.ones(3))), x, x.requires_grad])
    h = leaf(T, [1.0, 2.0]) * 2
    out.append([raises(lambda: h.set_(T.ones(2))), flags(h)])
    c = T.ones(2)
    c.set_()
    out.append(c.shape)
    d = T.ones(2)
    out.append(raises(lambda: d.set_(T.ones(2, dtype=T.float64))))
    v = T.ones(4)[1:3]
    v.set_(T.zeros(2))
    out += [v, v._is_view()]
    out.append(kind(lambda: d.set_(3)))
    return out


@program
def data_forms(T):
    x = leaf(T, [1.0, 2.0])
    y = x * 2
    out = []

    def put(t, v):
        t.data = v

    z = (x * x).sum()
    put(x, T.tensor([5.0, 6.0]))
    z.backward()
    out += [x.grad, x, x._version]
    out += [
        raises(lambda: put(x, T.tensor([1, 2]))),
        raises(lambda: put(x, [1.0])),
        raises(lambda: put(x, T.ones(2, dtype=T.float64))),
        x.dtype,
        raises(lambda: put(y, T.ones(2))),
        y,
        flags(y),
        raises(lambda: put(x, T.nn.Parameter(T.ones(2)))),
        x.requires_grad,
    ]
    w = leaf(T, [1.0])
    put(w, w.data * 3)
    out += [w, flags(w)]
    w.data[0] = 9.0
    w.data += 1
    out += [w, w._version]
    p = T.nn.Parameter(T.ones(2))
    p.data = p.data.double()
    out += [p.dtype, type(p).__name__]
    (p * 2).sum().backward()
    out.append(p.grad)
    q = leaf(T, [1.0, 2.0])
    (q * 2).sum().backward()
    put(q, T.ones(3))
    out.append(raises(lambda: (q * 2).sum().backward()))
    out.append(q.grad)
    return out


@program
def rnn_with_detach(T):
    w = leaf(T, [[0.5]])
    u = leaf(T, [[1.0]])
    h = T.zeros(1, 1)
    losses = []
    opt = T.optim.SGD([w, u], lr=0.1)
    for t in range(4):
        h = T.tanh(h @ w + T.tensor([[float(t)]]) @ u)
        loss = (h - 0.5).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
        losses.append(loss.item())
    return [losses, w, u, h]


@program
def gan_loop(T):
    T.manual_seed(0)
    G = T.nn.Linear(1, 1)
    D = T.nn.Sequential(T.nn.Linear(1, 4), T.nn.LeakyReLU(0.2), T.nn.Linear(4, 1))
    with T.no_grad():
        for i, p in enumerate(list(G.parameters()) + list(D.parameters())):
            p.copy_((T.arange(float(p.numel())).reshape(p.shape) + i) / 10)
    og, od = T.optim.Adam(G.parameters(), lr=0.01), T.optim.Adam(D.parameters(), lr=0.01)
    bce = T.nn.BCEWithLogitsLoss()
    z = T.tensor([[0.1], [0.7]])
    real = T.tensor([[1.0], [2.0]])
    log = []
    for _ in range(3):
        fake = G(z)
        ld = bce(D(real), T.ones(2, 1)) + bce(D(fake.detach()), T.zeros(2, 1))
        od.zero_grad()
        ld.backward()
        od.step()
        lg = bce(D(fake), T.ones(2, 1))
        og.zero_grad()
        lg.backward()
        og.step()
        log += [ld.item(), lg.item()]
    return [log, G.weight, D[0].bias]


@program
def maml(T):
    w = leaf(T, [1.0, 2.0], "float64")
    out = []
    for _ in range(2):
        fast = w
        for _ in range(2):
            (g,) = T.autograd.grad(
                ((fast * T.tensor([1.0, 2.0], dtype=T.float64)).sum() - 3) ** 2, fast, create_graph=True
            )
            fast = fast - 0.1 * g
        loss = ((fast**2).sum() - 1) ** 2
        w.grad = None
        loss.backward()
        out.append([loss, w.grad])
        with T.no_grad():
            w -= 0.01 * w.grad
    return [out, w]


@program
def wgan_penalty(T):
    D = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Tanh(), T.nn.Linear(3, 1))
    with T.no_grad():
        for i, p in enumerate(D.parameters()):
            p.copy_((T.arange(float(p.numel())).reshape(p.shape) - 1) / 5 + i / 7)
    x = T.tensor([[0.3, -0.2], [1.0, 0.5]], requires_grad=True)
    (g,) = T.autograd.grad(D(x).sum(), x, create_graph=True)
    pen = ((g.norm(2, dim=1) - 1) ** 2).mean()
    pen.backward()
    return [pen, [p.grad for p in D.parameters()], x.grad]


@program
def hessian_vector(T):
    x = leaf(T, [1.0, 2.0, 3.0], "float64")
    f = (x**3).sum() + x[0] * x[1] * x[2]
    v = T.tensor([1.0, 0.0, -1.0], dtype=T.float64)
    (g,) = T.autograd.grad(f, x, create_graph=True)
    hv = T.autograd.grad(g, x, v, retain_graph=True)[0]
    hv2 = T.autograd.grad((g * v).sum(), x, retain_graph=True)[0]
    H = T.stack([T.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(3)])
    return [hv, hv2, H, H @ v, T.equal(H, H.t())]


@program
def gradient_accumulation_and_clip(T):
    m = T.nn.Linear(2, 1)
    with T.no_grad():
        m.weight.copy_(T.tensor([[1.0, -1.0]]))
        m.bias.zero_()
    o = T.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    out = []
    for i in range(4):
        loss = ((m(T.tensor([[float(i), 1.0]])) - 1) ** 2).mean() / 2
        loss.backward()
        if i % 2:
            n = T.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            o.step()
            o.zero_grad()
            out.append([n, m.weight.detach().clone(), m.weight.grad])
    return out


@program
def early_stopping_copy(T):
    m = T.nn.Linear(1, 1, bias=False)
    with T.no_grad():
        m.weight.fill_(2.0)
    best = m.state_dict()
    deep = copy.deepcopy(m.state_dict())
    cl = {k: v.clone() for k, v in m.state_dict().items()}
    with T.no_grad():
        m.weight.fill_(7.0)
    return [best["weight"], deep["weight"], cl["weight"], m.load_state_dict(cl) is not None, m.weight, best["weight"]]


@program
def frozen_layers(T):
    m = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.Linear(1, 1))
    for p in m[0].parameters():
        p.requires_grad_(False)
    with T.no_grad():
        for p in m.parameters():
            p.fill_(0.5)
    y = m(T.ones(1, 1))
    y.sum().backward()
    o = T.optim.SGD((p for p in m.parameters() if p.requires_grad), lr=1.0)
    o.step()
    return [
        graph(y.grad_fn),
        [p.grad for p in m.parameters()],
        [p for p in m.parameters()],
        len(o.param_groups[0]["params"]),
        [n for n, p in m.named_parameters() if p.requires_grad],
    ]


@program
def memory_of_loss_sum(T):
    x = leaf(T, [1.0])
    total = 0.0
    tt = 0
    for i in range(3):
        loss = (x * i).sum()
        total += loss.item()
        tt += loss
    return [total, type(tt).__name__, flags(tt), flags(T.tensor(total))]


@program
def in_place_activation_chain(T):
    out = []
    for names in (
        ("relu_", "relu_"),
        ("sigmoid_", "relu_"),
        ("tanh_", "mul"),
        ("relu_", "tanh_"),
        ("mul", "relu_"),
        ("add", "sigmoid_", "add"),
        ("sqrt_", "add"),
        ("neg_", "exp_"),
        ("clamp_", "sigmoid_"),
        ("abs_", "sqrt_"),
    ):
        x = leaf(T, [0.5, 1.5])
        h = x * 1
        for n in names:
            h = {"mul": lambda: h.mul_(2), "add": lambda: h.add_(1), "clamp_": lambda: h.clamp_(0, 1)}.get(
                n, lambda: getattr(h, n)()
            )()
        out.append([names, raises(lambda: h.sum().backward()), x.grad, h._version, graph(h.grad_fn)])
    return out


@program
def residual_blocks(T):
    out = []

    def a(h, w):
        r = h
        h = (h * w).relu()
        h += r
        return h

    def b(h, w):
        r = h
        h = h.relu_()
        h = h * w
        h += r
        return h

    def c(h, w):
        h += h * w
        return h

    def d(h, w):
        h = h + (h * w).tanh_()
        return h

    def e(h, w):
        y = h * w
        h += y
        return h

    def f(h, w):
        h *= w
        h *= w
        return h

    def g(h, w):
        h = h.clone()
        h[0] += 1
        h[1] *= w[0]
        return h

    for k in (a, b, c, d, e, f, g):
        x, w = leaf(T, [0.5, -1.5]), leaf(T, [2.0, 3.0])
        out.append([k.__name__, raises(lambda: k(x * 1, w).sum().backward()), x.grad, w.grad])
    return out


@program
def mutated_inputs_of_function(T):
    def f(t):
        t += 1
        return t * 2

    def g(t):
        t = t + 1
        return t * 2

    x = leaf(T, [1.0])
    return [raises(lambda: f(x)), g(x), f(x * 1), f(x.clone()), f(x.detach()), x, x._version]


@program
def iterate_and_index(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    total = 0
    for i, row in enumerate(x):
        total = total + row.sum() * i
    for a, b in zip(x, x.t(), strict=True):
        total = total + (a * b).sum()
    (total + sum(v for r in x for v in r)).backward()
    return [total, x.grad, [r.tolist() for r in x], max(x.flatten().tolist())]


@program
def conditional_graph(T):
    out = []
    for v in (2.0, -2.0):
        x = leaf(T, [v])
        y = x * x if x > 0 else x.abs() * 3
        while y < 10:
            y = y * 2
        y.backward()
        out.append([y, x.grad, graph(y.grad_fn)])
    return out


@program
def numpy_mixing(T):
    import numpy as np

    x = leaf(T, [1.0, 2.0])
    a = np.array([3.0, 4.0])
    out = [
        raises(lambda: np.sum(x)) and 0,
        raises(lambda: np.array(x)),
        np.array(x.detach()).tolist(),
        raises(lambda: x.numpy()),
        (x * T.from_numpy(a)).dtype,
        flags(x * T.tensor(a)),
        raises(lambda: x * a),
        kind(lambda: a * x),
    ]
    out += [
        kind(lambda: a + T.ones(2)),
        type(T.ones(2) + np.float64(2)).__name__,
        (T.ones(2) + np.float64(2)).dtype,
        (T.ones(2) * np.float32(2)).dtype,
        (T.tensor([1]) * np.int64(2)).dtype,
        T.tensor(np.float64(2.0)).dtype,
        T.tensor([np.float32(1), 2.0]).dtype,
        T.tensor(np.array([1, 2], dtype="int64")).dtype,
        x.detach().numpy().dtype.name,
        T.ones(2).numpy().sum().item(),
        T.as_tensor(np.ones(2)).dtype,
        x.tolist(),
        np.asarray(T.ones(2)).shape,
    ]
    return out


@program
def thread_backward(T):
    x = leaf(T, [2.0])
    y = (x * x).sum()
    res = []
    t = threading.Thread(target=lambda: res.append(raises(lambda: y.backward())))
    t.start()
    t.join()
    z = leaf(T, [1.0])
    ts = [threading.Thread(target=lambda: (z * 1).sum().backward()) for _ in range(4)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    return [res, x.grad, z.grad]


@program
def weak_refs(T):
    x = leaf(T, [1.0, 2.0])
    y = x * 2
    r = weakref.ref(y)
    z = y.sum()
    del y
    a = [r() is None]
    del z
    b = []
    h = x.exp()
    rh = weakref.ref(h)
    del h
    c = rh() is None
    m = x.sin()
    rm = weakref.ref(m)
    q = m * m
    del m
    d = rm() is not None
    q.sum().backward()
    e = rm() is None
    g = weakref.ref(x)
    return a + b + [c, d, e, g() is x]


@program
def cycle_by_create_graph(T):
    gc.collect()
    x = leaf(T, [2.0])
    y = (x**3).sum()
    quiet(lambda: y.backward(create_graph=True))
    g = x.grad
    out = [flags(g), g]
    (gg,) = T.autograd.grad(g.sum(), x, retain_graph=True)
    out.append(gg)
    g.sum().backward()
    out.append(x.grad)
    return out


@program
def grads_of_views_of_leaf(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x
    (a * b).sum().backward()
    g1 = x.grad.clone()
    x.grad = None
    x[0].sum().backward()
    x[:, 1].pow(2).sum().backward()
    x.t()[0].sum().backward()
    x.view(-1)[3].backward()
    return [g1, x.grad, x.grad.is_contiguous()]


@program
def module_of_names(T):
    return [
        T.autograd.Function is T.autograd.function.Function,
        T.autograd.function.FunctionCtx.__name__,
        T.autograd.graph.GradientEdge.__name__,
        T.nn.parameter.Parameter is T.nn.Parameter,
        T.nn.Module.__name__,
        T.optim.Optimizer.__name__,
        T.optim.lr_scheduler.LRScheduler.__name__,
        issubclass(T.optim.SGD, T.optim.Optimizer),
        issubclass(T.optim.lr_scheduler.StepLR, T.optim.lr_scheduler.LRScheduler),
        T.utils.checkpoint.CheckpointError.__name__,
        issubclass(T.utils.checkpoint.CheckpointError, RuntimeError),
        T.autograd.gradcheck.__name__,
        T.no_grad.__name__,
        T.Tensor.__name__,
        T.Size.__name__,
        T.autograd.grad.__name__,
        T.autograd.gradcheck.GradcheckError.__name__ if hasattr(T.autograd.gradcheck, "GradcheckError") else 0,
        T.optim.sgd.SGD is T.optim.SGD if hasattr(T.optim, "sgd") else 0,
    ]
