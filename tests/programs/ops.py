"""Operations: values, gradients at odd places, types, shapes and refusals."""

import math

from tests.programs.kit import grad_of, graph, kind, leaf, program, programs, raises, weighted

M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
SIGNED = [-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5]
INF, NAN = float("inf"), float("nan")


def unary(*names, data=SIGNED):
    """A program that takes value and gradient of functions at the same places."""

    def run(T):
        return {n: grad_of(T, getattr(T, n), data) for n in names}

    return run


programs(
    kinks_of_unary=unary("abs", "relu", "sign", "round", "floor", "ceil", "neg", "square"),
    unary_of_infinity=unary("exp", "tanh", "sigmoid", "relu", "abs", "atan", "sign", data=[INF, -INF, NAN]),
    unary_of_integers=lambda T: [
        getattr(T, n)(T.tensor([1, 2])) for n in ("exp", "sqrt", "sin", "sigmoid", "tanh", "log", "reciprocal", "erf")
    ],
    minus_a_bool_refused=lambda T: [raises(lambda: -T.tensor([True])), raises(lambda: T.neg(T.tensor([True])))],
    types_of_bits_in_place=lambda T: [
        raises(lambda t=t, u=u: T.ones(3).to(t).__iand__(T.ones(3).to(u)))
        for t in (T.int64, T.bool, T.float32)
        for u in (T.int64, T.bool, T.float32)
    ],
    negative_integer_power=lambda T: raises(lambda: T.tensor([2, 3]) ** -1),
    integer_power=lambda T: [
        T.tensor([2, 3]) ** 2,
        T.tensor([2, 3]) ** 2.0,
        T.tensor([2, 3]) ** 0.5,
        2 ** T.tensor([2, 3]),
        2.0 ** T.tensor([2, 3]),
    ],
    bool_subtraction=lambda T: [
        raises(lambda: T.tensor([True]) - T.tensor([False])),
        raises(lambda: T.tensor([True]) - 1),
        raises(lambda: 1 - T.tensor([True])),
    ],
    integer_division=lambda T: [
        T.tensor([7, -7]) / 2,
        T.tensor([7, -7]) // 2,
        T.tensor([7, -7]) % 3,
        T.div(T.tensor([7, -7]), 2, rounding_mode="trunc"),
    ],
    integer_division_by_zero=lambda T: [
        raises(lambda: T.tensor([1]) // 0),
        raises(lambda: T.tensor([1]) % 0),
        T.tensor([1]) / 0,
    ],
    pow_negative_base=lambda T: [
        grad_of(T, lambda x: x**2, [-2.0, 0.0]),
        grad_of(T, lambda x: x**3, [-2.0, 0.0]),
        grad_of(T, lambda x: x**0.5, [-2.0, 4.0]),
        grad_of(T, lambda x: x**-1, [2.0]),
    ],
    pow_zero_exponent=lambda T: grad_of(T, lambda x: x**0, [0.0, 2.0]),
    zero_to_the_power=lambda T: grad_of(T, lambda x: 0**x, [0.0, 1.0, 2.0]),
    max_of_zero_dim=lambda T: [grad_of(T, lambda x: x.max(dim=0)[0], 3.0), T.tensor(3.0).argmax()],
    amax_over_two_dims=lambda T: grad_of(T, lambda x: T.amax(x, (0, 1)), [[3.0, 3.0], [1.0, 3.0]]),
    bounds_and_ties=lambda T: {
        "clamp": grad_of(T, lambda x: x.clamp(0, 1), [0.0, 1.0, 2.0]),
        "sqrt": grad_of(T, lambda x: x.sqrt(), [0.0]),
        "norm": grad_of(T, lambda x: x.norm(), [0.0, 0.0]),
        "prod": grad_of(T, lambda x: x.prod(), [0.0, 2.0, 3.0]),
        "max": grad_of(T, lambda x: x.max(), [3.0, 3.0, 1.0]),
        "max along": grad_of(T, lambda x: x.max(0).values, [3.0, 3.0, 1.0]),
        "maximum": grad_of(T, lambda x: T.maximum(x, T.tensor([1.0])), [1.0]),
        "where": grad_of(T, lambda x: T.where(x > 0, x.sqrt(), x * 0), [-1.0]),
    },
    clamp_with_tensors=lambda T: grad_of(
        T, lambda x: x.clamp(T.tensor([0.0, 0.0, 0.0]), T.tensor([1.0, 1.0, 1.0])), [-1.0, 0.5, 2.0]
    ),
    clamp_min_max_methods=lambda T: [
        grad_of(T, lambda x: x.clamp_min(0.0), SIGNED),
        grad_of(T, lambda x: x.clamp_max(0.0), SIGNED),
        raises(lambda: T.ones(2).clamp()),
    ],
    lerp_forms=lambda T: [
        grad_of(T, lambda x: T.lerp(x, T.ones(2), 0.25), [0.0, 4.0]),
        grad_of(T, lambda x: T.lerp(T.zeros(2), T.ones(2), x), [0.5, 0.25]),
    ],
    logical=lambda T: [
        T.logical_and(T.tensor([1.0, 0.0]), T.tensor([2.0, 2.0])),
        T.logical_or(T.tensor([0]), T.tensor([0])),
        T.logical_not(T.tensor([0.0, 2.0])),
    ],
    isnan_family=lambda T: [f(T.tensor([1.0, INF, -INF, NAN])) for f in (T.isnan, T.isinf, T.isfinite)],
    sum_of_types=lambda T: [
        T.tensor([True, True]).sum(),
        T.tensor([1, 2]).sum(),
        T.tensor([1, 2]).sum(dtype=T.float64),
        T.tensor([1.0], dtype=T.float64).sum(),
    ],
    sum_bad_dims=lambda T: [
        raises(lambda: T.ones(2).sum(1)),
        raises(lambda: T.ones(2, 2).sum((0, 0))),
        raises(lambda: T.ones(2, 2).sum((0, -2))),
    ],
    prod_forms=lambda T: [
        grad_of(T, lambda x: x.prod(1), [[2.0, 0.0], [0.0, 0.0]]),
        grad_of(T, lambda x: x.prod(0, keepdim=True), M),
        T.tensor([2, 3]).prod(),
        T.tensor([True]).prod(),
        T.tensor([2.0]).prod(dtype=T.float64),
    ],
    var_std_forms=lambda T: [
        grad_of(T, lambda x: x.var(1), M),
        grad_of(T, lambda x: x.std(0, unbiased=False), M),
        grad_of(T, lambda x: x.var(dim=(0, 1), correction=0), M),
        grad_of(T, lambda x: x.std(), [1.0, 1.0]),
        T.tensor([1.0]).std(unbiased=False),
    ],
    norms=lambda T: {str(p): grad_of(T, lambda x: x.norm(p), [3.0, -4.0, 0.0]) for p in (0, 1, 2, 3, INF, -INF, 0.5)},
    cumulative=lambda T: [
        grad_of(T, lambda x: x.cumprod(0), [2.0, 0.0, 3.0]),
        grad_of(T, lambda x: x.cumsum(1), M),
        T.tensor([True, True]).cumsum(0),
        T.tensor([1, 2]).cumprod(0),
        T.tensor(3.0).cumsum(0),
    ],
    topk_gradient=lambda T: grad_of(T, lambda x: x.topk(2).values, [3.0, 1.0, 2.0]),
    arg_extremes=lambda T: [
        T.tensor(M).argmax(),
        T.tensor(M).argmin(1),
        T.tensor([1.0, 1.0]).argmax(),
        T.tensor(M).argmax(0, keepdim=True),
    ],
    extremes_of_nothing=lambda T: [
        kind(lambda: T.zeros(0).min()),
        *[kind(lambda f=f: f(T.zeros(0))) for f in (T.amax, T.amin, T.argmax)],
        *[raises(lambda f=f: f(T.zeros(0, 2), 0)) for f in (T.amax, T.argmin)],
        kind(lambda: T.zeros(0).norm(-1)),
        raises(lambda: T.zeros(0, 2).max(0)),
        T.zeros(0, 2).max(1).values,
    ],
    nonzero=lambda T: [
        T.nonzero(T.tensor([0, 2, 3])),
        T.tensor([[0, 1], [1, 0]]).nonzero(as_tuple=True),
    ],
    equal_and_close=lambda T: [
        T.isclose(T.tensor([1.0, 2.0]), T.tensor([1.0, 2.1])),
        *(T.equal(T.tensor([1.0, 2.0]), other) for other in (T.tensor([1.0, 2.0]), T.zeros(2), T.ones(1))),
    ],
    matmul_errors=lambda T: [
        raises(lambda: T.ones(2, 3) @ T.ones(2, 3)),
        raises(lambda: T.ones(2) @ T.ones(3)),
        raises(lambda: T.ones(2, 3) @ T.ones(2)),
        raises(lambda: T.ones(2, 2, 3) @ T.ones(3, 3, 2)),
        raises(lambda: T.ones(2) @ T.tensor(1.0)),
        raises(lambda: T.ones(2, 2, 3) @ T.ones(2, 2, 3)),
        raises(lambda: T.ones(3) @ T.ones(2, 2)),
        kind(lambda: T.ones(1) @ 2),
    ],
    matmul_dtype_error=lambda T: [
        raises(lambda: T.ones(2, 2) @ T.ones(2, 2, dtype=T.float64)),
        raises(lambda: T.mm(T.ones(2, 2), T.ones(2, 2, dtype=T.int64))),
    ],
    addmm_of_one_tensor=lambda T: grad_of(T, lambda x: T.ones(2, 2).addmm(x, x), [[1.0, 2.0], [3.0, 4.0]]),
    kinds_of_errors=lambda T: [  # one of PyTorch's kind, where NumPy has its own or none
        kind(f)
        for x in (T.tensor(M),)
        for f in (
            lambda: x.sum(keepdim=True),
            lambda: x.sum(0, keepdim=1),
            lambda: x.diagonal(0, 1, 1),
            lambda: x.repeat(-1, 2),
            lambda: T.tensordot(x, x, -1),
            lambda: T.tensor([x, x]),
            lambda: T.tensor([2**63]),
            lambda: T.linspace(0, 1, -1),
            lambda: T.tensor([1, 2]).round(decimals=1),
            lambda: x.clone().index_put_((T.tensor([0, 5]),), T.ones(2, 3), accumulate=True),
            lambda: T.ones(2).double().addmm(x, x.t()),
            lambda: T.nn.functional.pad(x, (-2, -2)),
            lambda: T.nn.functional.embedding(T.tensor([0]), T.ones(2)),
            lambda: T.nn.functional.cross_entropy(x, x.softmax(1), T.ones(1)),
            lambda: T.nn.functional.scaled_dot_product_attention(x[0], x, x),
            lambda: T.nn.functional.nll_loss(x, T.tensor([0, 1]), 3),
            lambda: T.nn.RNN(2, 0),
            lambda: T.nn.Embedding.from_pretrained(T.ones(3)),
        )
    ],
    rare_numbers=lambda T: [
        T.tensor([2, 1, -1, 3]) ** T.tensor([-1, -3, -3, 2]),
        T.tensor([True, False]) ** False,
        T.tensor(M).sum(dtype=int),
        T.linspace(0.5, 10.7, 4, dtype=T.int64),
        T.linspace(0.1, 0.7, 100),
        T.tensor(M).div(3).round(decimals=1),
        T.zeros(0, 2).chunk(3),
        grad_of(T, lambda x: x.amax(1) * math.nan, M),
        grad_of(T, lambda x: T.nn.functional.glu(x.t(), 1), [[1.0], [2.0]]),
        grad_of(T, lambda x: x[T.tensor([[0, 1], [1, -1]])], M),
    ],
    cross_and_trace=lambda T: [T.trace(T.tensor([[1.0, 2.0], [3.0, 4.0]]))],
    diag=lambda T: [
        T.diag(T.tensor([1.0, 2.0])),
        T.diag(T.tensor([[1.0, 2.0], [3.0, 4.0]])),
        T.diag(T.tensor([1.0, 2.0]), 1),
    ],
    triangles=lambda T: [T.triu(T.ones(3, 3), 1), T.tril(T.ones(2, 3), -1), raises(lambda: T.triu(T.ones(2)))],
    broadcast_errors=lambda T: [
        raises(lambda: T.ones(2) + T.ones(3)),
        raises(lambda: T.ones(2, 3) * T.ones(2, 2)),
        raises(lambda: T.where(T.tensor([True, False]), T.ones(3), T.ones(3))),
        raises(lambda: T.ones(2) < T.ones(3)),
        raises(lambda: T.maximum(T.ones(2), T.ones(3))),
        raises(lambda: T.ones(2).add_(T.ones(3))),
    ],
    promotion_table=lambda T: [
        a.dtype if hasattr(a := x + y, "dtype") else None
        for x in (
            T.tensor([True]),
            T.tensor([1]),
            T.tensor([1.0]),
            T.tensor([1.0], dtype=T.float64),
            T.tensor(1.0, dtype=T.float64),
            T.tensor(2),
        )
        for y in (True, 1, 1.5, T.tensor([1]), T.tensor([1.0]), T.tensor(1.0, dtype=T.float64), T.tensor(1))
    ],
    gradient_of_promoted=lambda T: [
        grad_of(T, lambda x: x * T.ones(2, dtype=T.float64), [1.0, 2.0]),
        grad_of(T, lambda x: x + T.tensor([1, 2]), [1.0, 2.0]),
    ],
    inplace_type_errors=lambda T: [
        raises(lambda: T.tensor([1]).mul_(1.5)),
        raises(lambda: T.tensor([1]).div_(2)),
        raises(lambda: T.tensor([True]).add_(1)),
        raises(lambda: T.tensor([1]).sub_(T.ones(1))),
        raises(lambda: T.tensor([1]).exp_()),
        raises(lambda: T.tensor([1]).pow_(0.5)),
    ],
    truth=lambda T: [
        bool(T.tensor(0.0)),
        bool(T.tensor([[3]])),
        raises(lambda: bool(T.ones(2))),
        raises(lambda: bool(T.ones(0))),
    ],
    python_conversions=lambda T: [
        int(T.tensor(2.7)),
        float(T.tensor([3])),
        [1, 2, 3][T.tensor(1)],
        kind(lambda: int(T.ones(2))),
        range(T.tensor(3)),
        kind(lambda: [1, 2][T.tensor(1.0)]),
        T.tensor(3).__index__(),
    ],
    contains=lambda T: [1.0 in T.tensor([1.0, 2.0]), T.tensor(3.0) in T.tensor([1.0])],
    cat_errors=lambda T: [
        raises(lambda: T.cat([T.ones(1, 2), T.ones(1, 3)], 0)),
        raises(lambda: T.cat([T.ones(1), T.ones(1, 1)])),
        raises(lambda: T.cat([T.tensor(1.0), T.tensor(2.0)])),
        raises(lambda: T.cat([])),
        kind(lambda: T.cat(T.ones(2))),
        raises(lambda: T.stack([T.ones(2), T.ones(1)])),
        raises(lambda: T.cat([T.ones(1)], 1)),
    ],
    stacks=lambda T: [
        T.vstack([T.ones(2), T.zeros(2)]),
        T.hstack([T.ones(1), T.zeros(2)]),
    ],
    roll_gradient=lambda T: grad_of(T, lambda x: x.roll(1), [1.0, 2.0, 3.0]),
    flip_forms=lambda T: [
        T.flip(T.tensor(M), [0]),
        T.tensor(M).flip(0, 1),
        T.tensor(M).flip((1,)),
        raises(lambda: T.flip(T.tensor(M), [0, 0])),
    ],
    repeat_forms=lambda T: [
        T.tensor([1, 2]).repeat(2),
        T.tensor([1, 2]).repeat(2, 2),
        raises(lambda: T.ones(2, 2).repeat(2)),
    ],
    gather_errors=lambda T: [
        raises(lambda: T.gather(T.ones(2), 0, T.tensor([2]))),
        raises(lambda: T.gather(T.ones(2), 0, T.tensor([0.5]))),
        raises(lambda: T.gather(T.ones(2, 2), 0, T.tensor([0]))),
    ],
    index_functions=lambda T: [T.index_select(T.tensor(M), 1, T.tensor([2, 0]))],
    index_add_alpha=lambda T: grad_of(
        T, lambda x: T.index_add(T.zeros(3), 0, T.tensor([0, 0]), x, alpha=2), [1.0, 2.0]
    ),
    masked_functions=lambda T: [
        T.masked_select(T.tensor(M), T.tensor(M) > 2),
        T.tensor(M).masked_fill(T.tensor([True, False, True]), 0),
        raises(lambda: T.ones(2).masked_fill(T.tensor([1.0, 0.0]), 0.0)),
    ],
    meshgrid=lambda T: [T.meshgrid(T.arange(2), T.arange(3), indexing="ij")[0]],
    split_errors=lambda T: [
        raises(lambda: T.arange(5).split([1, 1])),
        raises(lambda: T.arange(5).chunk(0)),
        kind(lambda: T.tensor(1.0).split(1)),
    ],
    sizes_of_tensors=lambda T: [
        T.ones(2, 3).size(),
        T.ones(2, 3).shape[0],
        T.numel(T.ones(2, 3)),
        T.Size([2, 3]).numel(),
        T.Size([1]) + T.Size([2]),
        T.ones(2, 3).dim(),
    ],
)


@program
def broadcasting_three_ways(T):
    a, b, c = leaf(T, [[1.0], [2.0]]), leaf(T, [1.0, 2.0, 3.0]), leaf(T, 2.0)
    weighted(T, a * b / c + b**c - a).backward()
    return [a.grad, b.grad, c.grad]


@program
def floor_divide_has_no_derivative(T):
    """The quotient rounded down requires grad, and backward says that it has none."""
    x = leaf(T, [3.0, -5.0])
    y = x // 2
    return y, y.requires_grad, raises(lambda: y.sum().backward()), T.floor_divide(7, T.tensor([2])), 7 // x.detach()


@program
def stacks_of_matrices(T):
    """Which products of stacks are one product of two matrices: a stack of one, and what lies in rows."""
    stack, one = leaf(T, [[[1.0, 2.0]], [[3.0, 4.0]]]), leaf(T, [[[1.0], [2.0]]])
    constant = T.ones(2, 3)
    products = stack @ one, one.mT @ stack.mT, stack @ constant, stack.mT.contiguous().mT @ constant
    return [graph(p.grad_fn, 4) for p in products], [
        raises(lambda: stack @ one.long()),
        raises(lambda: T.ones(2, 2) @ T.ones(2, 2).double()),
    ]
