"""The backward pass: roots, gradients, inputs, order, release, errors, re-entry, and autograd.grad."""

import threading

from tests.programs.kit import flags, fn, kind, leaf, program, programs, quiet, raises, warned


def probe(T, name, log):
    """An identity that writes its name when its backward runs."""

    return fn(T, lambda ctx, x: x * 1, lambda ctx, g: log.append([name, g]) or g, "Probe").apply


def after(T, run, data=(2.0, 3.0)):
    """What a pass raises or returns, and the two leaves' gradients after it."""
    x, w = leaf(T, list(data)), leaf(T, [5.0, 7.0])
    r = raises(lambda: run(x, w))
    return [r, x.grad, w.grad]


programs(
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
    backward_keywords=lambda T: [
        after(T, lambda x, w: (x * w).sum().backward(retain_graph=True)),
        after(T, lambda x, w: (x * w).backward(gradient=T.ones(2), inputs=[x])),
        after(T, lambda x, w: (x * w).sum().backward(None, True, False)),
        kind(lambda: leaf(T, 1.0).backward(nothing=1)),
    ],
    gradients_of_wrong_kind=lambda T: [
        after(T, lambda x, w: T.autograd.backward([x * w], [2.0])),
        after(T, lambda x, w: T.autograd.grad(x * w, x, 2.0)),
        after(T, lambda x, w: T.autograd.grad(x * w, x, [T.ones(3)])),
        after(T, lambda x, w: T.autograd.grad([x * w], [x], [None])),
        after(T, lambda x, w: T.autograd.grad(x * w, x)),
        after(T, lambda x, w: T.autograd.grad((x * w).sum(), x, T.ones(2))),
    ],
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
    twice_and_retain=lambda T: [
        twice(T, f)
        for f in (
            lambda x: x + 1,
            lambda x: x.sum(),
            lambda x: x[T.tensor([0])],
            lambda x: x.max(0)[0],
            lambda x: T.where(x > 0, x, x),
        )
    ],
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
def nested_passes(T):
    x, w, log = leaf(T, [1.0]), leaf(T, [2.0]), []
    h = x * 3

    def inner(g):
        with T.enable_grad():
            y, z = (w * w).sum(), (w * 5).sum()
        y.backward()
        log.append([T.is_grad_enabled(), w.grad])
        (gw,) = T.autograd.grad(z, w)
        return g * 2 + gw * 0

    h.register_hook(inner)
    h.sum().backward()
    return [log, x.grad, w.grad]


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
def create_graph_gives_grad_a_history(T):
    x = leaf(T, [2.0])
    quiet(lambda: (x**3).sum().backward(create_graph=True))
    return [x.grad, flags(x.grad), warned(lambda: T.autograd.grad((x**3).sum(), x, create_graph=True))]


@program
def sums_of_zero_and_none(T):
    Nothing = fn(T, lambda ctx, a, b: a + b, lambda ctx, g: (None, g), "Nothing")
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
def backward_with_frozen_leaves(T):
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    y = (x * w).sum()
    w.requires_grad_(False)
    y.backward()
    return [x.grad, w.grad, raises(lambda: T.autograd.grad((x * w).sum(), w))]


@program
def a_node_called_by_itself(T):
    """A node gives what its formulas give; that an operand was broadcast or promoted, only a pass undoes."""
    A, w, s = T.ones(2, 2), leaf(T, [1.0, 2.0]), leaf(T, 3.0)
    results = [A + w, A * w, w * s, w.double() * s, T.where(A > 0, w, s), w.sum(), w.exp()]
    called = [result.grad_fn(T.ones_like(result).detach()) for result in results]
    (A + w).sum().backward()
    return [*called, w.grad]
