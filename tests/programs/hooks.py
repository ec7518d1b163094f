"""Hooks of every kind, their order, what they may return, and saved-tensor hooks and checkpoints."""

from tests.programs.kit import leaf, program, programs, quiet, raises


def hooked(T, *hooks, retain=False):
    x = leaf(T, [2.0])
    h = x * 3
    if retain:
        h.retain_grad()
    for f in hooks:
        h.register_hook(f)
    r = raises(lambda: (h * h).sum().backward())
    return [r, x.grad, quiet(lambda: h.grad)]


programs(
    chains_of_tensor_hooks=lambda T: [
        hooked(T, lambda g: g + 1, lambda g: g * 2),
        hooked(T, lambda g: g * 2, lambda g: None, lambda g: g + 1, retain=True),
        hooked(T, lambda g: g.mul_(2), retain=True),
    ],
    wrong_returns_of_tensor_hooks=lambda T: [
        hooked(T, f) for f in (lambda g: (g,), lambda g: T.ones(2), lambda g: g.double(), lambda g: True)
    ],
    not_callable=lambda T: hooked(T, 3),
    post_accumulate_returns=lambda T: [
        post_hook(T, *several)
        for several in (
            [lambda p: None],
            [lambda p: 3],
            [lambda p: p.grad],
            [lambda p: p.grad.sum()],
            [lambda p: p],
            [lambda p: p.grad.zero_() and None],
            [lambda p: setattr(p, "grad", None)],
            [lambda p: p.grad, lambda p: 3],
            [lambda p: p.grad * 7, lambda p: p.mul_(2) and None],
        )
    ],
    node_hook_returns=lambda T: [
        node_hook(T, f)
        for f in (
            lambda gi, go: None,
            lambda gi, go: (gi[0] * 2, None),
            lambda gi, go: (gi[0] * 2,),
            lambda gi, go: gi[0],
            lambda gi, go: (3, None),
            lambda gi, go: (T.ones(2), None),
        )
    ],
    node_prehook_returns=lambda T: [
        node_prehook(T, f)
        for f in (
            lambda go: None,
            lambda go: (go[0] * 2,),
            lambda go: go[0] * 2,
            lambda go: (),
            lambda go: (T.ones(2),),
            lambda go: (None,),
            lambda go: (go[0], go[0]),
            lambda go: (3,),
        )
    ],
)


def post_hook(T, *several):
    x = leaf(T, [2.0])
    for hook in several:
        x.register_post_accumulate_grad_hook(hook)
    return [raises(lambda: (x * x).sum().backward()), x.grad]


def node_hook(T, f):
    x = leaf(T, [2.0])
    y = x * 3
    y.grad_fn.register_hook(f)
    return [raises(lambda: y.sum().backward()), x.grad]


def node_prehook(T, f):
    x = leaf(T, [2.0])
    y = x * 3
    y.grad_fn.register_prehook(f)
    return [raises(lambda: y.sum().backward()), x.grad]


@program
def removal_in_every_way(T):
    x, log = leaf(T, [1.0]), []
    h1 = x.register_hook(lambda g: log.append(1))
    h2 = x.register_hook(lambda g: (log.append(2), h2.remove())[1])
    h3 = x.register_post_accumulate_grad_hook(lambda p: log.append(3))
    for _ in range(2):
        (x * 1).sum().backward()
    h1.remove()
    h3.remove()
    h3.remove()
    (x * 1).sum().backward()
    return [log, type(h1).__name__, hasattr(h1, "id")]


@program
def hooks_and_inputs(T):
    x, w, log = leaf(T, [2.0]), leaf(T, [3.0]), []
    for t, n in ((x, "x"), (w, "w")):
        t.register_hook(lambda g, n=n: log.append(n))
        t.register_post_accumulate_grad_hook(lambda p, n=n: log.append(n + " post"))
    (x * w).sum().backward(inputs=[x])
    return log


def packs(T, pack=None, unpack=None):
    return T.autograd.graph.saved_tensors_hooks(pack or (lambda t: t), unpack or (lambda t: t))


@program
def saved_reads_run_unpack(T):
    x, log = leaf(T, [2.0]), []
    with packs(T, lambda t: t.detach(), lambda t: log.append(1) or t * 10):
        y = x**2
    return [y.grad_fn._saved_self, y.grad_fn._saved_self, len(log)]


@program
def nested_saved_hooks(T):
    x, log = leaf(T, [2.0]), []
    with packs(T, lambda t: log.append("out") or t.detach()), packs(T, lambda t: log.append("in") or t.detach()):
        (x**2).sum().backward()
    with packs(T, lambda t: log.append("a") or (t * t).detach()):
        (x**2).sum()
    return [log, x.grad]


@program
def disabled_saved_hooks(T):
    g = T.autograd.graph
    out = []
    with g.disable_saved_tensors_hooks("no"):
        out.append(raises(lambda: packs(T).__enter__()))
    with packs(T):
        out.append(raises(lambda: g.disable_saved_tensors_hooks("no").__enter__()))
    with packs(T):
        (leaf(T, [1.0]) ** 2).sum().backward()
    return out


@program
def save_on_cpu_keeps_values(T):
    x = leaf(T, [2.0])
    with T.autograd.graph.save_on_cpu():
        h = x * 1
        y = (h**2).sum()
    y.backward()
    return x.grad


def linear(T):
    m = T.nn.Linear(2, 2)
    with T.no_grad():
        m.weight.copy_(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
        m.bias.copy_(T.tensor([0.5, -0.5]))
    return m


@program
def module_hook_returns(T):
    out = []
    for put in (
        lambda m: m.register_forward_pre_hook(lambda mod, a: a[0] * 2),
        lambda m: m.register_forward_pre_hook(lambda mod, a: (a[0] * 2,)),
        lambda m: m.register_forward_hook(lambda mod, a, o: o * 2),
        lambda m: m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,)),
        lambda m: m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 10,)),
        lambda m: m.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0])),
    ):
        m = linear(T)
        put(m)
        x = leaf(T, [[1.0, 1.0]])

        def go():
            y = m(x)
            y.sum().backward()
            out.append(y.detach())

        out.append([raises(go), x.grad, m.bias.grad])
    return out


@program
def module_hook_order(T):
    m, log = linear(T), []
    for n in "ab":
        m.register_forward_hook(lambda mod, a, o, n=n: log.append(n))
        m.register_forward_pre_hook(lambda mod, a, n=n: log.append("pre " + n))
    h = m.register_forward_hook(lambda mod, a, o: log.append("removed"))
    m(T.ones(1, 2))
    h.remove()
    log.append("|")
    m(T.ones(1, 2))
    return log


@program
def module_hooks_nested(T):
    net, log = T.nn.Sequential(linear(T), T.nn.ReLU(), linear(T)), []
    for name, mod in net.named_modules():
        mod.register_forward_hook(lambda mod, a, o, name=name: log.append(["f", name]))
        mod.register_full_backward_hook(lambda mod, gi, go, name=name: log.append(["b", name, gi[0] is None]))
    net(leaf(T, [[1.0, 1.0]])).sum().backward()
    return log
