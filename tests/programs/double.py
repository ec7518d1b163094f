"""Second derivatives, functional transforms, meta-learning, and what has no history."""

from kit import flags, leaf, program, programs, raises, weighted

M = [[0.5, 1.25], [2.0, 0.75]]

UNARY = """
    exp log sin cos tan tanh sigmoid sqrt rsqrt reciprocal square abs relu neg expm1 log1p log2 erf sinh cosh atan sign
    floor
""".split()


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


programs(
    of_one_number=lambda T: {n: second(T, getattr(T, n)) for n in UNARY},
    arc_functions=lambda T: {n: second(T, getattr(T, n), [0.3, -0.5]) for n in ("asin", "acos")},
    reductions=lambda T: [
        second(T, f)
        for f in (
            lambda x: x.sum() ** 2,
            lambda x: x.mean(0) ** 3,
            lambda x: x.prod(),
            lambda x: x.prod(1),
            lambda x: x.var(0),
            lambda x: x.std(),
            lambda x: x.norm(),
            lambda x: x.norm(dim=1),
            lambda x: x.norm(3),
            lambda x: x.max() ** 2,
            lambda x: x.min(0)[0] ** 2,
            lambda x: x.amax(1) ** 2,
            lambda x: x.logsumexp(0),
            lambda x: x.cumsum(0) ** 2,
            lambda x: x.cumprod(1),
            lambda x: x.sum(),
            lambda x: x.norm(1),
            lambda x: x.softmax(1),
            lambda x: x.log_softmax(0),
            lambda x: x.sort(0)[0] ** 2,
            lambda x: x.topk(1)[0] ** 2,
        )
    ],
    shapes=lambda T: [
        second(T, f)
        for f in (
            lambda x: x.t() ** 2,
            lambda x: x.view(4) ** 2,
            lambda x: x.reshape(1, 4) * x.flatten(),
            lambda x: x[0] * x[1],
            lambda x: x[:, 1:] ** 2,
            lambda x: x[T.tensor([0, 0])] ** 2,
            lambda x: x[x > 1] ** 2,
            lambda x: x.expand(2, 2, 2) ** 2,
            lambda x: x.repeat(2, 1) ** 2,
            lambda x: T.cat([x, x * x]),
            lambda x: T.stack([x, x**3]),
            lambda x: x.flip(0) * x,
            lambda x: x.unbind()[0] * x.unbind()[1],
            lambda x: x.split(1)[1] ** 2,
            lambda x: x.diagonal() ** 2,
            lambda x: T.where(x > 1, x**2, x**3),
            lambda x: x.masked_fill(x > 1, 0.0) ** 2,
            lambda x: x.gather(1, T.tensor([[0], [1]])) ** 2,
            lambda x: x.index_select(0, T.tensor([1])) ** 2,
            lambda x: x.triu() ** 2,
            lambda x: x.permute(1, 0) * x,
            lambda x: x.unsqueeze(0).squeeze(0) ** 2,
            lambda x: x.clone() ** 2,
            lambda x: x.float().double() ** 2,
            lambda x: x.clamp(0.6, 1.5) ** 2,
            lambda x: T.maximum(x, x.t()) ** 2,
            lambda x: x.scatter_add(0, T.tensor([[0, 1]]), x[:1] ** 2),
            lambda x: x.index_add(0, T.tensor([0]), x[1:] ** 2),
        )
    ],
    products=lambda T: [
        second(T, f)
        for f in (
            lambda x: x @ x,
            lambda x: x @ x[0],
            lambda x: x[0] @ x,
            lambda x: x[0] @ x[1],
            lambda x: x.unsqueeze(0) @ x.unsqueeze(0),
            lambda x: T.outer(x[0], x[1]),
            lambda x: x.addmm(x, x),
            lambda x: x.unsqueeze(0) @ x,
            lambda x: x.inner(x),
            lambda x: x.mv(x[0] ** 2),
        )
    ],
    in_place=lambda T: [
        second(T, f)
        for f in (
            lambda x: (x * 1).mul_(x),
            lambda x: (x * 1).exp_(),
            lambda x: (x * 1).sin_(),
            lambda x: put(x * 1, 0, x[1] ** 2),
            lambda x: put(x * x, (0, 0), 0.0),
            lambda x: put(x**2, x > 1, 0.0),
            lambda x: put(T.zeros(2, 2, dtype=T.float64), 1, x[0] ** 2),
            lambda x: part(x * x, lambda h: h[0].mul_(x[1])),
            lambda x: part(x * x, lambda h: h.t()[0].exp_()),
            lambda x: (x * 1).pow_(2).add_(x),
            lambda x: (x * x).copy_(x**3),
            lambda x: (x * x).zero_() + x**2,
            lambda x: (x * 1).div_(x + 1),
            lambda x: part(x * x, lambda h: h.view(4)[1:3].add_(x[0] ** 2)),
            lambda x: (x * x).masked_fill_(x > 1, 0.0),
        )
    ],
    no_second_derivative=lambda T: [
        no_second(T, f)
        for f in (
            lambda x: x * 2,
            lambda x: x.sum(),
            lambda x: x + 1,
            lambda x: x.relu(),
            lambda x: x.abs(),
            lambda x: x[0],
            lambda x: x.view(4),
            lambda x: x.max(),
            lambda x: x.clamp(0, 1),
            lambda x: x.mean(),
            lambda x: x.cumsum(0),
            lambda x: T.cat([x, x]),
            lambda x: x @ T.ones(2, 2, dtype=T.float64),
            lambda x: x.floor(),
            lambda x: -x,
            lambda x: T.where(x > 1, x, -x),
            lambda x: x.expand(2, 2, 2),
            lambda x: x.double(),
            lambda x: x.clone(),
            lambda x: x.sort(0)[0],
            lambda x: x.norm(1),
            lambda x: T.nn.functional.leaky_relu(x),
            lambda x: T.nn.functional.l1_loss(x, x.detach() * 2),
            lambda x: T.maximum(x, x * 2),
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
    hessians=lambda T: [
        T.autograd.functional.hessian(*a)
        for a in (
            (lambda x: (x**3).sum(), T.tensor([1.0, 2.0])),
            (lambda x, y: (x * y * y).sum(), (T.ones(2), T.tensor([2.0, 3.0]))),
            (lambda x: x.sum(), T.ones(2)),
            (lambda x: x**2, T.tensor(3.0)),
        )
    ],
    vector_products=lambda T: [
        getattr(T.autograd.functional, n)(
            lambda x: x**2 if n in ("vjp", "jvp") else (x**3).sum(), T.tensor([1.0, 2.0]), T.tensor([1.0, 10.0])
        )
        for n in ("vjp", "jvp", "vhp", "hvp")
    ],
    functional_flags=lambda T: [
        flags(T.autograd.functional.jacobian(lambda x: x**2, leaf(T, [1.0, 2.0]))),
        flags(T.autograd.functional.jacobian(lambda x: x**2, leaf(T, [1.0, 2.0]), create_graph=True)),
        flags(T.autograd.functional.hessian(lambda x: (x**3).sum(), leaf(T, [1.0]), create_graph=True)),
        [flags(t) for t in T.autograd.functional.vjp(lambda x: x**2, leaf(T, [1.0]), T.ones(1), create_graph=True)],
    ],
    functional_errors=lambda T: [
        raises(lambda: T.autograd.functional.jacobian(lambda x: 3, T.ones(1))),
        raises(lambda: T.autograd.functional.hessian(lambda x: x, T.ones(2))),
        raises(lambda: T.autograd.functional.vjp(lambda x: x, T.ones(2), T.ones(3))),
        raises(lambda: T.autograd.functional.hvp(lambda x: x, T.ones(2), T.ones(2))),
    ],
    functional_vectorized=lambda T: T.autograd.functional.jacobian(lambda x: x**2, T.ones(2), vectorize=True),
)


def put(h, i, v):
    h[i] = v
    return h


def part(h, act):
    act(h)
    return h


def no_second(T, f):
    x = leaf(T, M, "float64")
    (g,) = T.autograd.grad(weighted(T, f(x)), x, create_graph=True)
    return [
        flags(g)[:2],
        raises(lambda: T.autograd.grad(g.sum(), x)),
        g.requires_grad
        and T.autograd.grad(T.autograd.grad(weighted(T, f(x)), x, create_graph=True)[0].sum(), x, allow_unused=True),
    ]


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
def norms_of_unusual_order(T):
    return [second(T, lambda x, p=p: x.norm(p))[:3] for p in (1.5, 3, 4, float("inf"), -float("inf"))]


@program
def inputs_without_a_batch(T):
    F = T.nn.functional
    x = T.arange(32.0).view(2, 4, 4)
    return [F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.conv2d(x, T.ones(1, 2, 2, 2)), F.conv1d(x[0], T.ones(1, 4, 2))]
