"""The backward pass: roots, gradients, inputs, order, release, errors, re-entry, and autograd.grad."""

import threading

from kit import flags, graph, kind, leaf, program, programs, quiet, raises, warned


def probe(T, name, log):
    """An identity that writes its name when its backward runs."""

    class Probe(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            log.append([name, g])
            return g

    return Probe.apply


def after(T, run, data=(2.0, 3.0)):
    """What a pass raises or returns, and the two leaves' gradients after it."""
    x, w = leaf(T, list(data)), leaf(T, [5.0, 7.0])
    r = raises(lambda: run(x, w))
    return [r, x.grad, w.grad]


programs(
    gradient_arguments=lambda T: [
        after(T, lambda x, w: (x * w).backward(g()))
        for g in (
            lambda: T.ones(2),
            lambda: None,
            lambda: T.ones(2, 1),
            lambda: T.ones(1),
            lambda: T.ones(2, dtype=T.float64),
            lambda: T.tensor([1, 2]),
            lambda: 1.0,
            lambda: [1.0, 2.0],
            lambda: T.ones(2, requires_grad=True),
            lambda: T.tensor([True, False]),
            lambda: (T.ones(2),),
            lambda: "a",
            lambda: T.ones(1, 2),
        )
    ],
    scalar_gradient_arguments=lambda T: [
        after(T, lambda x, w: (x * w).sum().backward(g()))
        for g in (
            lambda: T.tensor(2.0),
            lambda: T.tensor([2.0]),
            lambda: 3.0,
            lambda: None,
            lambda: T.tensor(2),
            lambda: T.tensor(2.0, dtype=T.float64),
        )
    ],
    one_element_of_any_shape=lambda T: [
        after(T, lambda x, w: (x * w)[:1].backward()),
        after(T, lambda x, w: (x * w)[:1].view(1, 1).backward()),
        after(T, lambda x, w: (x * w)[:0].backward()),
    ],
    backward_keywords=lambda T: [
        after(T, lambda x, w: (x * w).sum().backward(retain_graph=True)),
        after(T, lambda x, w: (x * w).backward(gradient=T.ones(2), inputs=[x])),
        after(T, lambda x, w: (x * w).sum().backward(None, True, False)),
        kind(lambda: leaf(T, 1.0).backward(nothing=1)),
    ],
    backward_returns_none=lambda T: [leaf(T, 1.0).backward(), T.autograd.backward(leaf(T, 1.0) * 2)],
    functional_backward=lambda T: [
        after(T, lambda x, w: T.autograd.backward([(x * w).sum(), (x * 3).sum()])),
        after(T, lambda x, w: T.autograd.backward((x * w, x * 3), (T.ones(2), None))),
        after(T, lambda x, w: T.autograd.backward((x * w, x[:1] * 3), (T.ones(2), None))),
        after(T, lambda x, w: T.autograd.backward(x * w, T.ones(2))),
        after(T, lambda x, w: T.autograd.backward([x * w], [])),
        after(T, lambda x, w: T.autograd.backward([x * w, w * 1], [T.ones(2)])),
        after(T, lambda x, w: T.autograd.backward([x * w], T.ones(2))),
        after(T, lambda x, w: T.autograd.backward([])),
        after(T, lambda x, w: T.autograd.backward((x * w).sum(), grad_tensors=T.tensor(2.0), inputs=w)),
    ],
    gradients_of_wrong_kind=lambda T: [
        after(T, lambda x, w: T.autograd.backward([x * w], [2.0])),
        after(T, lambda x, w: T.autograd.grad(x * w, x, 2.0)),
        after(T, lambda x, w: T.autograd.grad(x * w, x, [T.ones(3)])),
        after(T, lambda x, w: T.autograd.grad([x * w], [x], [None])),
        after(T, lambda x, w: T.autograd.grad(x * w, x)),
        after(T, lambda x, w: T.autograd.grad((x * w).sum(), x, T.ones(2))),
    ],
    inputs_arguments=lambda T: [
        after(T, lambda x, w: (x * w).sum().backward(inputs=i(x, w)))
        for i in (
            lambda x, w: x,
            lambda x, w: [x],
            lambda x, w: (x, w),
            lambda x, w: [],
            lambda x, w: [x, x],
            lambda x, w: [T.ones(2)],
            lambda x, w: [x * 1],
            lambda x, w: [leaf(T, [1.0])],
            lambda x, w: (t for t in [x]),
        )
    ],
    inputs_of_other_kinds=lambda T: [
        kind(lambda: leaf(T, 1.0).backward(inputs=[1.0])),
        kind(lambda: T.autograd.grad(leaf(T, 1.0) * 1, [1.0])),
        kind(lambda: T.autograd.grad(leaf(T, 1.0) * 1, "x")),
        kind(lambda: T.autograd.grad(1.0, leaf(T, 1.0))),
        kind(lambda: T.autograd.backward(1.0)),
    ],
    grad_results=lambda T: (
        lambda x, w: [
            T.autograd.grad((x * w).sum(), x),
            T.autograd.grad((x * w).sum(), (w, x)),
            T.autograd.grad((x * w).sum(), [w]),
            T.autograd.grad([(x * w).sum(), x.sum()], x),
            T.autograd.grad(x * w, x, T.ones(2)),
            x.grad,
        ]
    )(leaf(T, [1.0, 2.0]), leaf(T, [3.0, 4.0])),
    grad_unused=lambda T: (
        lambda x, w, z: [
            raises(lambda: T.autograd.grad((x * 2).sum(), [z])),
            raises(lambda: T.autograd.grad((x * 2).sum(), [x, w, z])),
            T.autograd.grad((x * 2).sum(), [z, x], allow_unused=True),
            T.autograd.grad((x * 2).sum(), [z, x], materialize_grads=True),
            raises(lambda: T.autograd.grad((x * 2).sum(), z, allow_unused=False)),
        ]
    )(leaf(T, [1.0]), leaf(T, [2.0]), leaf(T, [3.0, 4.0])),
    grad_refusals=lambda T: (
        lambda x: [
            raises(lambda: T.autograd.grad((x * 2).sum(), [])),
            raises(lambda: T.autograd.grad((x * 2).sum(), T.ones(1))),
            raises(lambda: T.autograd.grad((x * 2).sum(), [x, T.ones(1)])),
            raises(lambda: T.autograd.grad(T.ones(1), x)),
            raises(lambda: T.autograd.grad([], x)),
            raises(lambda: T.autograd.grad(x.detach().sum(), x)),
            raises(lambda: T.autograd.grad((x * 2).sum(), x.detach())),
            raises(lambda: T.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)),
        ]
    )(leaf(T, [1.0])),
    grad_of_dict=lambda T: (
        lambda x, w: [
            T.autograd.grad((x * w).sum(), {"w": w, "x": x}),
            raises(lambda: T.autograd.grad((x * 1).sum(), {"w": w})),
            T.autograd.grad((x * 1).sum(), {"w": w, "x": x}, allow_unused=True),
        ]
    )(leaf(T, [1.0]), leaf(T, [2.0])),
    grad_with_is_grads_batched=lambda T: kind(lambda: T.autograd.grad(leaf(T, [1.0]) * 1, leaf(T, [1.0]), nothing=1)),
    grad_of_leaf_by_itself=lambda T: (
        lambda x: [T.autograd.grad(x, x), T.autograd.grad(x, x, T.tensor([5.0])), T.autograd.grad(x * 1, x)]
    )(leaf(T, [2.0])),
    twice_and_retain=lambda T: [
        twice(T, f)
        for f in (
            lambda x: x + 1,
            lambda x: x * 2,
            lambda x: x * x,
            lambda x: x.exp(),
            lambda x: x.sum(),
            lambda x: x.view(2, 1),
            lambda x: x[0],
            lambda x: x[T.tensor([0])],
            lambda x: x.clone(),
            lambda x: x.max(0)[0],
            lambda x: T.cat([x, x]),
            lambda x: x.expand(2, 2),
            lambda x: x.mean(),
            lambda x: x.double(),
            lambda x: -x,
            lambda x: x.cumsum(0),
            lambda x: x.flip(0),
            lambda x: x / 2,
            lambda x: x.relu(),
            lambda x: T.where(x > 0, x, x),
            lambda x: x.t(),
            lambda x: x.abs(),
            lambda x: x.sort()[0],
            lambda x: x.var(),
            lambda x: x.repeat(2),
        )
    ],
    graphs_of_composites=lambda T: [
        graph(f(leaf(T, [[1.0, 2.0], [3.0, 4.0]])).grad_fn)
        for f in (
            lambda x: x.norm(),
            lambda x: 2 / x,
            lambda x: x @ x,
            lambda x: T.nn.functional.cross_entropy(x, T.tensor([0, 1])),
            lambda x: T.nn.functional.l1_loss(x, T.zeros(2, 2)),
            lambda x: x.unsqueeze(0) @ x,
            lambda x: x.square().mean(),
            lambda x: T.nn.functional.normalize(x),
            lambda x: x.std(),
            lambda x: x - x.mean(),
            lambda x: T.outer(x[0], x[1]),
            lambda x: x.t().reshape(4),
            lambda x: x @ x[0],
            lambda x: x[0] @ x,
            lambda x: T.stack([x[0], x[1]]),
            lambda x: x.softmax(0).log(),
            lambda x: T.nn.functional.mse_loss(x, T.zeros(2, 2)),
        )
    ],
    edges_of_numbers=lambda T: [
        [n and type(n).__name__ for n, _ in f.grad_fn.next_functions]
        for f in (
            leaf(T, [1.0]) * 2,
            leaf(T, [1.0]) * T.ones(1),
            leaf(T, [1.0]) + 1,
            1 - leaf(T, [1.0]),
            T.cat([leaf(T, [1.0]), T.ones(1)]),
            T.where(T.tensor([True]), leaf(T, [1.0]), T.ones(1)),
            T.stack([T.ones(1), leaf(T, [1.0])]),
        )
    ],
    output_numbers_in_edges=lambda T: (
        lambda a: [
            [i for _, i in (a[1] * 2).grad_fn.next_functions],
            a[1].output_nr,
            (a[0] + a[1]).grad_fn.next_functions[1][1],
        ]
    )(leaf(T, [1.0, 2.0]).unbind()),
)


def twice(T, f):
    x = leaf(T, [2.0, 3.0])
    y = f(x)
    g = T.ones(y.shape).to(y.dtype)
    a = raises(lambda: y.backward(g))
    return [a, raises(lambda: y.backward(g)), x.grad]


@program
def orders(T):
    out = []
    for combine in (
        lambda a, b, c: a + b + c,
        lambda a, b, c: c + (b + a),
        lambda a, b, c: T.stack([b, a, c]).sum(0),
        lambda a, b, c: T.cat([c, a, b]),
        lambda a, b, c: a * b + c * b,
        lambda a, b, c: (a + 1) * (b + c + a),
    ):
        log = []
        x = leaf(T, [1.0])
        a, b, c = (probe(T, n, log)(x) for n in "abc")
        combine(a, b, c).sum().backward()
        out.append(log)
    return out


@program
def order_over_two_roots(T):
    log = []
    x = leaf(T, [1.0])
    a, b = probe(T, "a", log)(x), probe(T, "b", log)(x)
    T.autograd.backward([b.sum() * 2, a.sum() * 3])
    return [log, x.grad]


@program
def same_root_twice(T):
    x = leaf(T, [2.0])
    y = (x * x).sum()
    T.autograd.backward([y, y])
    return x.grad


@program
def root_inside_anothers_graph(T):
    log = []
    x = leaf(T, [2.0])
    h = probe(T, "h", log)(x)
    y = probe(T, "y", log)(h * 3)
    T.autograd.backward([y, h], [T.tensor([10.0]), T.tensor([1.0])])
    return [log, x.grad]


@program
def leaf_gets_its_gradient_early(T):
    seen = []
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    a = x * 1
    b = w * 2
    a.register_hook(lambda g: seen.append([x.grad, w.grad]))
    (a + b).sum().backward()
    return seen


@program
def leaf_complete_only_at_the_end(T):
    seen = []
    x = leaf(T, [1.0])
    a = x * 2
    b = x * 3
    x.register_hook(lambda g: seen.append(["leaf", g]))
    a.register_hook(lambda g: seen.append(["a", x.grad]))
    b.register_hook(lambda g: seen.append(["b", x.grad]))
    (a + b).sum().backward()
    return [seen, x.grad]


@program
def pruned_branches(T):
    log = []
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    a, b = probe(T, "x", log)(x), probe(T, "w", log)(w)
    T.autograd.grad((a * b).sum(), w)
    first = list(log)
    log.clear()
    (probe(T, "x", log)(x) + probe(T, "w", log)(w)).sum().backward(inputs=[x])
    return [first, log, w.grad]


@program
def intermediate_and_beyond(T):
    log = []
    x = leaf(T, [2.0])
    h = probe(T, "h", log)(x)
    k = probe(T, "k", log)(h)
    y = (k * k).sum()
    g = T.autograd.grad(y, k, retain_graph=True)
    a = list(log)
    log.clear()
    g2 = T.autograd.grad(y, [x, k])
    return [g, a, g2, log]


@program
def inputs_fill_computed_tensors(T):
    x = leaf(T, [2.0])
    h = x * 3
    (h * h).sum().backward(inputs=[h])
    return [quiet(lambda: h.grad), x.grad, h.retains_grad]


@program
def failing_in_the_middle(T):
    out = []
    for retain in (False, True):
        x, w = leaf(T, [1.0]), leaf(T, [2.0])

        def boom(g):
            raise KeyError("boom")

        h = x.exp()
        handle = h.register_hook(boom)
        k = w.exp()
        y = (h * k).sum()
        first = raises(lambda: y.backward(retain_graph=retain))
        handle.remove()
        out.append([first, x.grad, w.grad, raises(lambda: y.backward()), x.grad, w.grad, T.is_grad_enabled()])
    return out


@program
def errors_of_many_kinds_come_through(T):
    class Own(Exception):
        pass

    out = []
    for error in (
        ValueError("v"),
        KeyError("k"),
        Own("own"),
        ZeroDivisionError("z"),
        StopIteration("s"),
        TypeError("t"),
        IndexError("i"),
        AssertionError("a"),
    ):
        h = leaf(T, [1.0]) * 1

        def boom(g, error=error):
            raise error

        h.register_hook(boom)
        out.append(raises(lambda: h.sum().backward()))
    return out


@program
def nested_passes(T):
    x, w, log = leaf(T, [1.0]), leaf(T, [2.0]), []
    h = x * 3

    def inner(g):
        with T.enable_grad():
            y = (w * w).sum()
        y.backward()
        log.append([T.is_grad_enabled(), w.grad])
        (gw,) = T.autograd.grad(_fresh(T, w), w)
        return g * 2 + gw * 0

    h.register_hook(inner)
    h.sum().backward()
    return [log, x.grad, w.grad]


def _fresh(T, w):
    with T.enable_grad():
        return (w * 5).sum()


@program
def nested_error(T):
    x = leaf(T, [1.0])
    h = x * 1

    def inner(g):
        T.ones(1).backward()

    h.register_hook(inner)
    return [raises(lambda: h.sum().backward()), x.grad, T.is_grad_enabled()]


@program
def backward_from_threads(T):
    x = leaf(T, [1.0])

    def work(k):
        (x * k).sum().backward()

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
        t.join()
    return x.grad


@program
def gradient_edges(T):
    x = leaf(T, [2.0])
    h = x * 3
    e, f = T.autograd.graph.get_gradient_edge(h), T.autograd.graph.get_gradient_edge(x)
    y = (h * h).sum()
    out = [
        e.node,
        e.output_nr,
        f.node,
        f.output_nr,
        T.autograd.grad(y, [e, x], retain_graph=True),
        T.autograd.grad(y, f, retain_graph=True),
    ]
    T.autograd.backward(T.autograd.graph.get_gradient_edge(y), T.tensor(1.0))
    return [*out, x.grad, type(e).__name__]


@program
def gradient_edge_of_plain(T):
    return raises(lambda: T.autograd.graph.get_gradient_edge(T.ones(1)))


@program
def gradient_edge_of_outputs(T):
    a, b = leaf(T, [1.0, 2.0]).unbind()
    e = T.autograd.graph.get_gradient_edge(b)
    return [e.output_nr, e.node, T.autograd.grad(a + b * 3, e)]


@program
def create_graph_gives_grad_a_history(T):
    x = leaf(T, [2.0])
    quiet(lambda: (x**3).sum().backward(create_graph=True))
    return [x.grad, flags(x.grad), warned(lambda: T.autograd.grad((x**3).sum(), x, create_graph=True))]


@program
def create_graph_accumulates(T):
    x = leaf(T, [2.0])
    quiet(lambda: (x**3).sum().backward(create_graph=True))
    g = x.grad
    quiet(lambda: (x**3).sum().backward(create_graph=True))
    second = [x.grad is g, flags(x.grad), x.grad]
    (x**2).sum().backward()
    return [second, x.grad is g, flags(x.grad), x.grad]


@program
def grad_modes_in_backward(T):
    out = []
    for create in (False, True):
        for outside in (False, True):
            x, seen = leaf(T, [2.0]), []
            h = x * x
            h.register_hook(lambda g: seen.append([T.is_grad_enabled(), g.requires_grad, (g * x).requires_grad]))
            y = h.sum()
            with T.set_grad_enabled(outside):
                (g,) = T.autograd.grad(y, x, create_graph=create)
            out.append([seen, flags(g), T.is_grad_enabled()])
    return out


@program
def sums_of_zero_and_none(T):
    class Nothing(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return None, g

    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    Nothing.apply(x, w).sum().backward()
    first = [x.grad, w.grad]
    Nothing.apply(x * 2, x * 3).sum().backward()
    return [
        first,
        x.grad,
        raises(lambda: T.autograd.grad(Nothing.apply(x, w).sum(), x)),
        T.autograd.grad(Nothing.apply(x, w).sum(), x, allow_unused=True),
        T.autograd.grad(Nothing.apply(x, w).sum(), [x, w], materialize_grads=True),
    ]


@program
def accumulation_rules_of_a_leaf(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    (x * 2).sum().backward()
    g = x.grad
    (x * 3).sum().backward()
    same = x.grad is g
    x.grad = None
    (x * 3).sum().backward()
    fresh = [x.grad is g, g, x.grad]
    x.grad = T.ones(2, 2)
    x.t().sum().backward()
    return [same, fresh, x.grad, x.grad.stride()]


@program
def gradient_layouts(T):
    out = []
    for make in (
        lambda: T.arange(6.0).view(2, 3),
        lambda: T.arange(6.0).view(3, 2).t(),
        lambda: T.arange(12.0).view(2, 6)[:, ::2],
        lambda: T.ones(1).expand(2, 3),
        lambda: T.arange(6.0).view(1, 2, 3).permute(2, 0, 1),
    ):
        x = make().detach().requires_grad_()
        for f in (lambda x: x * 2, lambda x: x.t() if x.dim() == 2 else x * 3, lambda x: x.sum(0), lambda x: x.exp()):
            x.grad = None
            f(x).sum().backward()
            out.append([x.grad.stride(), x.grad.is_contiguous(), x.grad.sum()])
    return out


@program
def deep_graphs(T):
    x = leaf(T, [1.0])
    y = x
    for _ in range(20000):
        y = y + 1
    for _ in range(20000):
        y = -y
    y.sum().backward()
    return x.grad


@program
def wide_graphs(T):
    x = leaf(T, [1.0])
    ys = [x * k for k in range(1000)]
    T.stack(ys).sum().backward()
    return x.grad


@program
def backward_with_frozen_leaves(T):
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    y = (x * w).sum()
    w.requires_grad_(False)
    y.backward()
    return [x.grad, w.grad, raises(lambda: T.autograd.grad((x * w).sum(), w))]


@program
def leaf_switched_on_too_late(T):
    a, x = T.ones(1), leaf(T, [1.0])
    y = (a * x).sum()
    a.requires_grad_()
    y.backward()
    return [a.grad, x.grad]


@program
def thread_local_modes_in_backward(T):
    seen = []
    x = leaf(T, [1.0])
    h = x * 1
    h.register_hook(lambda g: seen.append(T.is_grad_enabled()))
    with T.inference_mode():
        r = raises(lambda: h.sum().backward())
    return [r, seen, x.grad]
