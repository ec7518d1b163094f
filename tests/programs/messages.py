"""Errors and warnings of every kind, to the letter."""

from kit import kind, leaf, program, raises, warned


@program
def backward_inputs_forms(T):
    out = []
    for k in ("t", "l", "tu", "e", "g", "d", "s"):
        x, w = leaf(T, [2.0]), leaf(T, [3.0])
        y = (x * w).sum()
        i = {"t": x, "l": [x], "tu": (x, w), "e": [], "g": (t for t in (x, w)), "d": {"a": x}, "s": {x}}[k]
        out.append([raises(lambda: y.backward(inputs=i)), x.grad, w.grad])
        x, w = leaf(T, [2.0]), leaf(T, [3.0])
        y = (x * w).sum()
        i = {"t": x, "l": [x], "tu": (x, w), "e": [], "g": (t for t in (x, w)), "d": {"a": x}, "s": {x}}[k]
        out.append([raises(lambda: T.autograd.backward(y, inputs=i)), x.grad, w.grad])
    return out


@program
def grad_outputs_count(T):
    x = leaf(T, [2.0, 1.0])
    y = x * 2
    z = x * 3
    return [
        raises(lambda: T.autograd.grad([y, z], x, grad_outputs=[T.ones(2)])),
        raises(lambda: T.autograd.grad([y, z], x, [T.ones(2), T.ones(2), None])),
        raises(lambda: T.autograd.backward([y, z], [T.ones(2)])),
        raises(lambda: T.autograd.grad(y, x, [T.ones(2), T.ones(2)])),
        raises(lambda: T.autograd.grad(y, x, [])),
        raises(lambda: T.autograd.grad([], x)),
        raises(lambda: T.autograd.backward([])),
        raises(lambda: T.autograd.grad(y, [])),
    ]


@program
def gradient_for_number(T):
    class Num(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, a, k):
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g, None, g

    x = leaf(T, [1.0])
    return raises(lambda: Num.apply(x, T.ones(1), 2.0).sum().backward())


@program
def checkpoint_detects_nondeterminism(T):
    n = [0]

    def f(x):
        n[0] += 1
        return x.sin() if n[0] == 1 else x * 2

    def g(x):
        n[0] += 1
        return x.sin()[:1] if n[0] == 1 else x[:1].sin()

    def h(x):
        n[0] += 1
        return x.sin() if n[0] == 1 else x.sin().sin()

    out = []
    for k in (f, g, h):
        for dc in ("default", "none"):
            n[0] = 0
            x = leaf(T, [2.0, 3.0])
            y = T.utils.checkpoint.checkpoint(k, x, use_reentrant=False, determinism_check=dc)
            out.append([(raises(lambda: y.sum().backward()) or [])[:2], x.grad])
    return out


@program
def pack_must_not_write(T):
    x = leaf(T, [2.0])

    def p(t):
        t.mul_(2)
        return t

    def q(t):
        t.detach().mul_(2)
        return t

    def r(t):
        t.data.mul_(2)
        return t

    out = []
    for k in (p, q, r):

        def go():
            with T.autograd.graph.saved_tensors_hooks(k, lambda t: t):
                return (x * 1) ** 2

        out.append(raises(go))
    y = (x * 1) ** 2
    out.append(raises(lambda: y.grad_fn._raw_saved_self.register_hooks(p, lambda t: t)))
    return out


@program
def inference_messages(T):
    with T.inference_mode():
        c = T.ones(2)
    a = T.ones(2)
    with T.inference_mode():
        vb = a[:1]
    x = leaf(T, [1.0, 2.0])
    h = x * 1
    with T.inference_mode():
        vh = h[:1]
    return [
        raises(lambda: c.add_(1)),
        raises(lambda: setattr(c, "requires_grad", True)),
        raises(lambda: vb.zero_()),
        raises(lambda: vh.mul_(2)),
        raises(lambda: c._version),
        raises(lambda: c.detach_()),
        raises(lambda: c.__setitem__(0, 1.0)),
        raises(lambda: vh._is_view()),
        raises(lambda: c.set_(a)),
    ]


@program
def load_state_dict_strictness(T):
    m = T.nn.Linear(2, 1)
    sd = {"weight": T.zeros(1, 2), "extra": T.ones(1)}
    r = raises(lambda: m.load_state_dict(sd))
    k = m.load_state_dict(sd, strict=False)
    return [
        r,
        repr(k),
        k.unexpected_keys,
        repr(m.load_state_dict(m.state_dict())),
        raises(lambda: m.load_state_dict([1])),
        raises(lambda: m.load_state_dict({"weight": T.ones(2), "bias": T.ones(1)})),
    ]


@program
def ops_errors(T):
    x = T.ones(2, 3)
    return [
        raises(lambda: T.ones(2) + T.ones(3)),
        raises(lambda: T.ones(2, 3) * T.ones(2)),
        raises(lambda: T.cat([T.ones(2), T.ones(1, 1)])),
        raises(lambda: T.stack([T.ones(2), T.ones(1)])),
        raises(lambda: T.nn.functional.cross_entropy(T.ones(1, 2), T.tensor([-1]))),
        raises(lambda: x.expand(3)),
        raises(lambda: T.tensor(1.0) @ T.tensor(2.0)),
        raises(lambda: T.tensor([True]).mean()),
        T.tensor([1, 2]).sum(),
        raises(lambda: T.tensor([1, 2]).softmax(0)),
        raises(lambda: T.tensor([1, 2]).log_softmax(0)),
        T.tensor([4, 1]).sqrt(),
        T.tensor([3, 2]).cumsum(0),
        kind(lambda: T.zeros(0).max()),
        raises(lambda: T.zeros(0, 2).max(0)),
        raises(lambda: x.view(-1, -1)),
        raises(lambda: x[2]),
        raises(lambda: x[:, 3]),
        raises(lambda: x.transpose(0, 2)),
        raises(lambda: x.t().t().unsqueeze(0).t()),
        raises(lambda: x.narrow(0, 1, 2)),
        raises(lambda: x.unbind(2)),
        raises(lambda: T.ones(2, 2).mv(T.ones(3))),
        raises(lambda: T.index_select(x, 0, T.tensor([2]))),
        raises(lambda: x.clamp()),
    ]


@program
def mse_warns(T):
    F = T.nn.functional
    return [
        warned(lambda: F.mse_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: F.l1_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: T.nn.MSELoss()(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: F.smooth_l1_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: F.huber_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        raises(lambda: F.mse_loss(T.ones(2), T.ones(3))),
        raises(lambda: F.binary_cross_entropy(T.ones(2, 1), T.ones(2))),
        raises(lambda: F.mse_loss(T.ones(2), T.ones(2), reduction="avg")),
    ]


@program
def versions_messages(T):
    x = leaf(T, [1.0, 2.0])
    out = []
    c = x > 1.5
    y = T.where(c, x, x * 2).sum()
    out.append(raises(lambda: y.backward()))
    h = x * 1
    v = h.view(2)
    z = v.sin().sum()
    h.add_(1)
    out.append(raises(lambda: z.backward()))
    h = x + 0
    z = h.sin().sum()
    h.add_(0)
    out.append(raises(lambda: z.backward()))
    h = x - 0
    z = h.sin().sum()
    h.add_(1)
    h.sub_(1)
    out.append(raises(lambda: z.backward()))
    h = x * 1
    z = (h * h).sum()
    T.autograd.graph.increment_version(h)
    out.append(raises(lambda: z.backward()))
    h = x * 1
    z = (h * h).sum()
    T.autograd.graph.increment_version([h, x])
    out.append([h._version, x._version, raises(lambda: z.backward())])
    a = leaf(T, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) * 1
    b = leaf(T, [[1.0], [2.0]])
    z = (a @ b).sum()
    a[0, 0] = 7.0
    out.append(raises(lambda: z.backward()))

    class Two(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            return a + b * 2

    p, q = Two.apply(x)
    z = (q * q).sum()
    q.detach().add_(1)
    out.append(raises(lambda: z.backward()))
    e = leaf(T, [[1.0, 2.0]]).exp()
    e.mul_(2)
    out.append(raises(lambda: e.sum().backward()))
    s = leaf(T, 2.0, "float64") + 1
    z = s * s
    s.add_(1)
    out.append(raises(lambda: z.backward()))
    h = x * 1
    z = h.sin()
    h.add_(1)
    h.mul_(2)
    out.append(raises(lambda: z.sum().backward()))
    r = (x * 1).relu()
    z = r.relu_()
    out.append(raises(lambda: z.sum().backward()))
    t = (x * 1).tanh_()
    w = t.tanh_()
    out.append(raises(lambda: (w * 0).sum().backward()))
    return out
