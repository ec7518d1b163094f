"""Second derivatives, functional transforms, meta-learning, and what has no history."""

from tests.programs.kit import flags, leaf, program, programs, raises, weighted

M = [[0.5, 1.25], [2.0, 0.75]]


def second(T, f, data=M, flat=False):
    """The value, the gradient and the gradient of a weighted sum of the gradient."""
    x = leaf(T, data, "float64")
    y = f(x)
    (g,) = T.autograd.grad(weighted(T, y), x, create_graph=True)
    if not g.requires_grad:
        return [g, None]
    e = []
    r = raises(lambda: e.append(T.autograd.grad(weighted(T, g), x, create_graph=True, allow_unused=True)[0]))
    h = e[0] if e else None
    third = h is not None and h.requires_grad and T.autograd.grad(weighted(T, h), x, allow_unused=True)[0]
    return [g.detach(), r, h is not None and h.detach(), third]


def node_of_gradient(T, f):
    x = leaf(T, [1.0, 2.0])
    return T.autograd.grad(f(x), x, create_graph=True)[0].grad_fn.name()


programs(
    arc_functions=lambda T: {n: second(T, getattr(T, n), [0.3, -0.5]) for n in ("asin", "acos")},
    in_place=lambda T: [
        second(T, f)
        for f in (
            lambda x: (x * 1).mul_(x),
            lambda x: (x * 1).exp_(),
            lambda x: put(x * 1, 0, x[1] ** 2),
            lambda x: put(x * x, (0, 0), 0.0),
            lambda x: put(x**2, x > 1, 0.0),
            lambda x: put(T.zeros(2, 2, dtype=T.float64), 1, x[0] ** 2),
            lambda x: part(x * x, lambda h: h[0].mul_(x[1])),
            lambda x: part(x * x, lambda h: h.t()[0].exp_()),
            lambda x: (x * 1).pow_(2).add_(x),
            lambda x: (x * x).copy_(x**3),
            lambda x: part(x * x, lambda h: h.view(4)[1:3].add_(x[0] ** 2)),
        )
    ],
    jacobians=lambda T: [
        T.autograd.functional.jacobian(*a)
        for a in (
            (lambda x: x**2, T.ones(2)),
            (lambda x: x.sum(), T.ones(2)),
            (lambda x, y: x * y, (T.ones(2), T.tensor([2.0, 3.0]))),
            (lambda x: (x, x * 2), T.ones(1)),
            (lambda x: x @ x, T.tensor([[1.0, 2.0], [3.0, 4.0]])),
            (lambda x: T.ones(2), T.ones(2)),
            (lambda x: x, T.tensor(2.0)),
        )
    ],
    functional_flags=lambda T: [
        flags(T.autograd.functional.jacobian(lambda x: x**2, leaf(T, [1.0, 2.0]))),
        flags(T.autograd.functional.jacobian(lambda x: x**2, leaf(T, [1.0, 2.0]), create_graph=True)),
        flags(T.autograd.functional.hessian(lambda x: (x**3).sum(), leaf(T, [1.0]), create_graph=True)),
        [flags(t) for t in T.autograd.functional.vjp(lambda x: x**2, leaf(T, [1.0]), T.ones(1), create_graph=True)],
    ],
    node_of_the_gradient_of_an_index=lambda T: node_of_gradient(T, lambda x: (x[T.tensor([0, 0])] ** 2).sum()),
    variance_of_too_few=lambda T: [
        *(second(T, f, [1.5]) for f in (T.var, T.std, lambda x: x.var(0), lambda x: x[0].var())),
        *(second(T, lambda x, c=c: x.var(correction=c)) for c in (3, 4, 5)),
    ],
    functional_vectorized=lambda T: T.autograd.functional.jacobian(lambda x: x**2, T.ones(2), vectorize=True),
)


def put(h, i, v):
    h[i] = v
    return h


def part(h, act):
    act(h)
    return h


@program
def mixed_partials(T):
    x, y = leaf(T, [1.0, 2.0]), leaf(T, [3.0])
    z = (x**2 * y).sum()
    gx, gy = T.autograd.grad(z, [x, y], create_graph=True)
    return [
        T.autograd.grad(gx.sum(), [x, y], retain_graph=True),
        T.autograd.grad(gy.sum(), [x, y], allow_unused=True),
        flags(gx),
        flags(gy),
    ]


@program
def second_derivatives_of_norms_of_a_batch(T):
    out = []
    for f in (
        lambda x: T.nn.functional.layer_norm(x, (2,)),
        lambda x: T.nn.functional.batch_norm(x, None, None, training=True),
    ):
        out.append(second(T, f)[:3])  # PyTorch's third derivative takes the statistics for constants
    return out


@program
def inputs_without_a_batch(T):
    F = T.nn.functional
    x = T.arange(32.0).view(2, 4, 4)
    return [F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.conv2d(x, T.ones(1, 2, 2, 2)), F.conv1d(x[0], T.ones(1, 4, 2))]
