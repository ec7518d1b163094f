"""Operations: values, gradients at odd places, types, shapes and refusals."""

import math

from kit import flags, grad_of, kind, leaf, program, programs, raises, weighted

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
    smooth_unary=unary("exp", "sin", "cos", "tan", "tanh", "sigmoid", "sinh", "cosh", "atan", "erf", "expm1"),
    half_line_unary=unary("log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal", data=[0.0, 0.25, 1.0, 4.0, INF]),
    unary_of_infinity=unary("exp", "tanh", "sigmoid", "relu", "abs", "atan", "sign", data=[INF, -INF, NAN]),
    arc_at_the_ends=unary("asin", "acos", data=[-1.0, -0.5, 0.0, 0.5, 1.0]),
    round_half_to_even=lambda T: T.round(T.tensor([0.5, 1.5, 2.5, -0.5, -1.5])),
    unary_of_integers=lambda T: [
        getattr(T, n)(T.tensor([1, 2])) for n in ("exp", "sqrt", "sin", "sigmoid", "tanh", "log", "reciprocal", "erf")
    ],
    rounding_of_integers=lambda T: [
        getattr(T, n)(T.tensor([-1, 2])) for n in ("round", "floor", "ceil", "abs", "neg", "sign", "square", "relu")
    ],
    unary_of_bool=lambda T: [getattr(T, n)(T.tensor([True, False])) for n in ("exp", "sqrt", "sigmoid", "sign")],
    unary_of_bool_refused=lambda T: [
        raises(lambda n=n: getattr(T, n)(T.tensor([True]))) for n in ("neg",)
    ],
    negative_integer_power=lambda T: raises(lambda: T.tensor([2, 3]) ** -1),
    integer_power=lambda T: [
        T.tensor([2, 3]) ** 2,
        T.tensor([2, 3]) ** 2.0,
        T.tensor([2, 3]) ** 0.5,
        2 ** T.tensor([2, 3]),
        2.0 ** T.tensor([2, 3]),
    ],
    bool_arithmetic=lambda T: [
        T.tensor([True, False]) + T.tensor([True, True]),
        T.tensor([True]) * 2,
        T.tensor([True]) + 1.5,
        T.tensor([True]) / T.tensor([True]),
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
    float_floor_division=lambda T: [
        T.tensor([7.0, -7.0, 1.0]) // 2,
        T.tensor([7.0, -7.0]) % 3,
        T.tensor([1.0, -1.0]) // 0.0,
    ],
    pow_negative_base=lambda T: [
        grad_of(T, lambda x: x**2, [-2.0, 0.0]),
        grad_of(T, lambda x: x**3, [-2.0, 0.0]),
        grad_of(T, lambda x: x**0.5, [-2.0, 4.0]),
        grad_of(T, lambda x: x**-1, [2.0]),
    ],
    pow_zero_exponent=lambda T: grad_of(T, lambda x: x**0, [0.0, 2.0]),
    pow_half_at_zero=lambda T: grad_of(T, lambda x: x**0.5, [0.0, 4.0]),
    pow_one=lambda T: grad_of(T, lambda x: x**1, [0.0, 4.0]),
    zero_to_the_power=lambda T: grad_of(T, lambda x: 0**x, [0.0, 1.0, 2.0]),
    negative_number_power=lambda T: grad_of(T, lambda x: (-2) ** x, [1.0, 2.0]),
    pow_tensor_negative_base=lambda T: grad_of(T, lambda x: T.tensor([-2.0, 3.0]) ** x, [2.0, 2.0]),
    remainder_gradients=lambda T: [
        grad_of(T, lambda x: x % 3, [7.0, -7.0]),
        grad_of(T, lambda x: T.tensor([7.0, -7.0]) % x, [3.0, 2.0]),
    ],
    floor_division_has_zero_gradient=lambda T: flags(leaf(T, [7.0]) // 2),
    maximum_with_nan=lambda T: [T.maximum(T.tensor([1.0, NAN]), T.tensor([NAN, 1.0])), T.tensor([1.0, NAN]).max()],
    max_with_ties=lambda T: grad_of(T, lambda x: x.max(), [3.0, 1.0, 3.0]),
    min_with_ties=lambda T: grad_of(T, lambda x: x.min(), [1.0, 1.0, 1.0, 2.0]),
    min_dim_of_ties=lambda T: grad_of(T, lambda x: x.min(dim=1)[0], [[1.0, 1.0], [2.0, 0.0]]),
    max_keepdim=lambda T: [T.tensor(M).max(dim=0, keepdim=True), T.tensor(M).min(1, True).indices],
    max_of_zero_dim=lambda T: [grad_of(T, lambda x: x.max(dim=0)[0], 3.0), T.tensor(3.0).argmax()],
    amax_over_two_dims=lambda T: grad_of(T, lambda x: T.amax(x, (0, 1)), [[3.0, 3.0], [1.0, 3.0]]),
    amax_keepdim=lambda T: grad_of(T, lambda x: x.amax(1, keepdim=True), M),
    clamp_with_tensors=lambda T: grad_of(
        T, lambda x: x.clamp(T.tensor([0.0, 0.0, 0.0]), T.tensor([1.0, 1.0, 1.0])), [-1.0, 0.5, 2.0]
    ),
    clamp_min_max_methods=lambda T: [
        grad_of(T, lambda x: x.clamp_min(0.0), SIGNED),
        grad_of(T, lambda x: x.clamp_max(0.0), SIGNED),
    ],
    clamp_crossed_bounds=lambda T: grad_of(T, lambda x: x.clamp(1.0, -1.0), [-2.0, 0.0, 2.0]),
    clamp_without_bounds=lambda T: raises(lambda: T.tensor([1.0]).clamp()),
    clamp_of_integers=lambda T: [T.tensor([1, 5]).clamp(2, 4), T.tensor([1, 5]).clamp(max=2.5)],
    clip_is_clamp=lambda T: [T.tensor(SIGNED).clip(-1, 1), T.tensor(SIGNED).clip(min=0)],
    where_with_numbers=lambda T: [
        T.where(T.tensor([True, False]), 1.0, 2.0),
        T.where(T.tensor([True]), 1, 2),
        T.where(T.tensor([True, False]), T.tensor([1.0, 2.0]), 0),
    ],
    where_broadcasts=lambda T: grad_of(T, lambda x: T.where(T.tensor([[True], [False]]), x, -x), [1.0, 2.0]),
    where_of_one_argument=lambda T: T.where(T.tensor([[0, 1], [1, 0]])),
    where_condition_must_be_bool=lambda T: raises(lambda: T.where(T.tensor([1.0]), T.tensor([1.0]), 0.0)),
    where_promotes=lambda T: T.where(T.tensor([True]), T.tensor([1.0], dtype=T.float64), T.tensor([1.0])),
    method_where=lambda T: grad_of(T, lambda x: x.where(x > 0, T.zeros(3)), [-1.0, 0.0, 1.0]),
    lerp_forms=lambda T: [
        grad_of(T, lambda x: T.lerp(x, T.ones(2), 0.25), [0.0, 4.0]),
        grad_of(T, lambda x: T.lerp(T.zeros(2), T.ones(2), x), [0.5, 0.25]),
    ],
    addcmul_addcdiv=lambda T: [
        grad_of(T, lambda x: x.addcmul(x, x, value=2), [1.0, 2.0]),
        grad_of(T, lambda x: x.addcdiv(x, x + 1, value=0.5), [1.0, 2.0]),
    ],
    comparisons=lambda T: [
        op(T.tensor([1.0, 2.0, NAN]), T.tensor([1.0, 1.0, NAN])) for op in (T.eq, T.ne, T.lt, T.le, T.gt, T.ge)
    ],
    comparison_methods=lambda T: [getattr(T.tensor([1, 2]), n)(1) for n in ("eq", "ne", "lt", "le", "gt", "ge")],
    comparison_of_leaf=lambda T: flags(leaf(T, [1.0]) > 0),
    comparison_with_none=lambda T: [T.tensor([1.0]) == None, T.tensor([1.0]) != None],  # noqa: E711
    bitwise=lambda T: [
        T.tensor([True, False]) & T.tensor([True, True]),
        T.tensor([6]) | 1,
        T.tensor([6]) ^ 3,
        ~T.tensor([True]),
        ~T.tensor([5]),
        T.tensor([True]) | False,
    ],
    bitwise_of_floats=lambda T: kind(lambda: T.tensor([1.0]) & T.tensor([1.0])),
    invert_of_floats=lambda T: raises(lambda: ~T.tensor([1.0])),
    logical=lambda T: [
        T.logical_and(T.tensor([1.0, 0.0]), T.tensor([2.0, 2.0])),
        T.logical_or(T.tensor([0]), T.tensor([0])),
        T.logical_not(T.tensor([0.0, 2.0])),
    ],
    isnan_family=lambda T: [f(T.tensor([1.0, INF, -INF, NAN])) for f in (T.isnan, T.isinf, T.isfinite)],
    all_any=lambda T: [
        T.tensor(M).all(),
        T.tensor([[0, 1], [1, 1]]).all(dim=0),
        T.tensor([]).any(),
        T.tensor([]).all(),
        T.tensor([[0, 1]]).any(1, keepdim=True),
    ],
    sum_of_types=lambda T: [
        T.tensor([True, True]).sum(),
        T.tensor([1, 2]).sum(),
        T.tensor([1, 2]).sum(dtype=T.float64),
        T.tensor([1.0], dtype=T.float64).sum(),
    ],
    sum_dims=lambda T: [
        T.ones(2, 3, 4).sum((0, 2)),
        T.ones(2, 3).sum([]),
        T.ones(2, 3).sum(()),
        T.ones(2, 3).sum(-1, True),
    ],
    sum_bad_dims=lambda T: [
        raises(lambda: T.ones(2).sum(1)),
        raises(lambda: T.ones(2, 2).sum((0, 0))),
        raises(lambda: T.ones(2, 2).sum((0, -2))),
    ],
    mean_of_integers=lambda T: raises(lambda: T.tensor([1, 2]).mean()),
    mean_dtype=lambda T: T.tensor([1, 2]).mean(dtype=T.float32),
    mean_of_empty_dim=lambda T: [T.zeros(0, 3).mean(0), T.zeros(0, 3).sum(0), T.zeros(2, 0).prod(1)],
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
    var_mean_std_mean=lambda T: [T.var_mean(T.tensor(M), 1), T.std_mean(T.tensor(M))],
    var_of_integers=lambda T: raises(lambda: T.tensor([1, 2]).var()),
    norms=lambda T: {str(p): grad_of(T, lambda x: x.norm(p), [3.0, -4.0, 0.0]) for p in (0, 1, 2, 3, INF, -INF, 0.5)},
    norms_along_dim=lambda T: [
        grad_of(T, lambda x: x.norm(dim=1), M),
        grad_of(T, lambda x: x.norm(1, 0, True), M),
        grad_of(T, lambda x: x.norm(2, (0, 1)), M),
    ],
    norm_of_integers=lambda T: raises(lambda: T.tensor([3, 4]).norm()),
    logsumexp_of_infinities=lambda T: grad_of(T, lambda x: T.logsumexp(x, 0), [-INF, -INF]),
    logsumexp_dims=lambda T: [
        grad_of(T, lambda x: x.logsumexp((0, 1)), M),
        grad_of(T, lambda x: x.logsumexp(1, True), M),
    ],
    softmax_of_infinity=lambda T: [
        T.softmax(T.tensor([-INF, 0.0]), 0),
        T.softmax(T.tensor([-INF, -INF]), 0),
        T.log_softmax(T.tensor([-INF, 0.0]), 0),
    ],
    softmax_of_integers=lambda T: kind(lambda: T.tensor([1, 2]).softmax(0)),
    softmax_dtype=lambda T: T.tensor([1, 2]).softmax(0, dtype=T.float64),
    softmax_needs_dim=lambda T: kind(lambda: T.softmax(T.tensor([1.0]))),
    cumulative=lambda T: [
        grad_of(T, lambda x: x.cumprod(0), [2.0, 0.0, 3.0]),
        grad_of(T, lambda x: x.cumsum(1), M),
        T.tensor([True, True]).cumsum(0),
        T.tensor([1, 2]).cumprod(0),
        T.tensor(3.0).cumsum(0),
    ],
    sort_forms=lambda T: [
        T.tensor([2.0, 1.0, 2.0]).sort(),
        T.tensor([2, 1]).sort(descending=True),
        T.tensor(M).sort(0, descending=True),
        T.sort(T.tensor([True, False])).values,
    ],
    argsort_topk=lambda T: [
        T.tensor([3.0, 1.0, 2.0]).argsort(),
        T.tensor([3.0, 1.0, 2.0]).topk(2),
        T.tensor(M).topk(1, 0, largest=False),
        raises(lambda: T.tensor([1.0]).topk(2)),
    ],
    topk_gradient=lambda T: grad_of(T, lambda x: x.topk(2).values, [3.0, 1.0, 2.0]),
    kthvalue_median=lambda T: [T.kthvalue(T.tensor([3.0, 1.0, 2.0]), 2)],
    arg_extremes=lambda T: [
        T.tensor(M).argmax(),
        T.tensor(M).argmin(1),
        T.tensor([1.0, 1.0]).argmax(),
        T.tensor(M).argmax(0, keepdim=True),
    ],
    arg_extremes_of_nothing=lambda T: [
        raises(lambda: T.zeros(0).argmax()),
        raises(lambda: T.zeros(0, 2).argmin(0)),
        T.zeros(0, 2).argmin(1),
    ],
    extremes_of_nothing=lambda T: [
        raises(lambda: T.zeros(0).min()),
        raises(lambda: T.zeros(0).amax()),
        raises(lambda: T.zeros(0, 2).max(0)),
        T.zeros(0, 2).max(1).values,
    ],
    unique=lambda T: [
        T.tensor([3, 1, 3, 2]).unique(),
        T.unique(T.tensor([3, 1, 3]), return_counts=True),
        T.unique(T.tensor([3, 1, 3]), return_inverse=True),
    ],
    nonzero=lambda T: [
        T.nonzero(T.tensor([0, 2, 3])),
        T.tensor([[0, 1], [1, 0]]).nonzero(as_tuple=True),
    ],
    isin_isclose=lambda T: [T.isclose(T.tensor([1.0, 2.0]), T.tensor([1.0, 2.1]))],
    matmul_errors=lambda T: [
        raises(lambda: T.ones(2, 3) @ T.ones(2, 3)),
        raises(lambda: T.ones(2) @ T.ones(3)),
        raises(lambda: T.ones(2, 3) @ T.ones(2)),
        raises(lambda: T.ones(2, 2, 3) @ T.ones(3, 3, 2)),
        raises(lambda: T.ones(2) @ T.tensor(1.0)),
        raises(lambda: T.ones(2, 2, 3) @ T.ones(2, 2, 3)),
        raises(lambda: T.ones(3) @ T.ones(2, 2)),
    ],
    matmul_dtype_error=lambda T: [
        raises(lambda: T.ones(2, 2) @ T.ones(2, 2, dtype=T.float64)),
        raises(lambda: T.mm(T.ones(2, 2), T.ones(2, 2, dtype=T.int64))),
    ],
    matmul_of_integers=lambda T: [T.tensor([[1, 2]]) @ T.tensor([[1], [2]]), T.tensor([1, 2]) @ T.tensor([3, 4])],
    matmul_many_dims=lambda T: [
        (T.ones(2, 1, 2, 3) @ T.ones(4, 3, 2)).shape,
        (T.ones(3) @ T.ones(2, 3, 4)).shape,
        (T.ones(2, 3, 4) @ T.ones(4)).shape,
        (T.ones(5, 3) @ T.ones(2, 3, 4)).shape,
    ],
    matmul_of_zero_inner=lambda T: T.ones(2, 0) @ T.ones(0, 3),
    named_products=lambda T: [
        T.mv(T.tensor(M), T.ones(3)),
        T.dot(T.ones(2), T.ones(2)),
        T.outer(T.ones(2), T.arange(3.0)),
        T.bmm(T.ones(1, 2, 2), T.ones(1, 2, 1)),
        T.ones(2).addmm(T.ones(1, 2), T.ones(2, 2)),
        T.inner(T.ones(2, 2), T.ones(2)),
    ],
    addmm_with_factors=lambda T: grad_of(
        T, lambda x: T.ones(2, 2).addmm(x, x, beta=0.5, alpha=2.0), [[1.0, 2.0], [3.0, 4.0]]
    ),
    product_errors=lambda T: [
        raises(lambda: T.mm(T.ones(2), T.ones(2, 2))),
        raises(lambda: T.mv(T.ones(2), T.ones(2))),
        raises(lambda: T.dot(T.ones(2), T.ones(3))),
        raises(lambda: T.dot(T.ones(2, 2), T.ones(2))),
        raises(lambda: T.bmm(T.ones(2, 2), T.ones(2, 2))),
        raises(lambda: T.bmm(T.ones(2, 2, 3), T.ones(3, 3, 2))),
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
    division_types=lambda T: [T.tensor([1]) / T.tensor([2]), T.tensor([1.0], dtype=T.float64) / 2, 1 / T.tensor([2])],
    inplace_type_errors=lambda T: [
        raises(lambda: T.tensor([1]).mul_(1.5)),
        raises(lambda: T.tensor([1]).div_(2)),
        raises(lambda: T.tensor([True]).add_(1)),
        raises(lambda: T.tensor([1]).sub_(T.ones(1))),
        raises(lambda: T.tensor([1]).exp_()),
        raises(lambda: T.tensor([1]).pow_(0.5)),
    ],
    inplace_number_ok=lambda T: [
        T.tensor([1.0]).add_(1),
        T.tensor([5]).mul_(2),
        T.tensor([5]).fill_(2.7),
        T.tensor([True]).mul_(False),
    ],
    wrong_operands=lambda T: [
        kind(lambda: T.ones(1) + "a"),
        kind(lambda: T.ones(1) * None),
        kind(lambda: T.ones(1) + [1.0]),
        kind(lambda: "a" + T.ones(1)),
        kind(lambda: T.add(T.ones(1), "a")),
        kind(lambda: T.exp(1.0)),
        kind(lambda: T.sum([1.0])),
        kind(lambda: T.ones(1) @ 2),
    ],
    numpy_operands=lambda T: [T.ones(2) * __import__("numpy").float32(2), __import__("numpy").float64(2) * T.ones(2)],
    item_errors=lambda T: [raises(lambda: T.ones(2).item()), raises(lambda: T.ones(0).item()), T.ones(1, 1).item()],
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
    float_of_leaf=lambda T: float(leaf(T, 2.0)),
    math_of_tensor=lambda T: quiet_math(T),
    contains=lambda T: [1.0 in T.tensor([1.0, 2.0]), T.tensor(3.0) in T.tensor([1.0])],
    cat_types=lambda T: [
        T.cat([T.tensor([1]), T.tensor([1.5])]),
        T.cat([T.ones(2), T.zeros(0)]),
        T.cat((T.ones(1, 2), T.ones(2, 2)), 0).shape,
    ],
    cat_errors=lambda T: [
        raises(lambda: T.cat([T.ones(1, 2), T.ones(1, 3)], 0)),
        raises(lambda: T.cat([T.ones(1), T.ones(1, 1)])),
        raises(lambda: T.cat([T.tensor(1.0), T.tensor(2.0)])),
        raises(lambda: T.cat([])),
        kind(lambda: T.cat(T.ones(2))),
        raises(lambda: T.cat([T.ones(1)], 1)),
    ],
    stack_errors=lambda T: [
        raises(lambda: T.stack([T.ones(1), T.ones(2)])),
        raises(lambda: T.stack([])),
        raises(lambda: T.stack([T.ones(1)], 2)),
    ],
    stack_dims=lambda T: [
        T.stack([T.zeros(2), T.ones(2)], 1),
        T.stack([T.zeros(2), T.ones(2)], -1),
        T.stack([T.tensor(1.0), T.tensor(2.0)]),
    ],
    stacks=lambda T: [
        T.vstack([T.ones(2), T.zeros(2)]),
        T.hstack([T.ones(1), T.zeros(2)]),
    ],
    cat_gradient=lambda T: [
        grad_of(T, lambda x: T.cat([x, x * 2, T.ones(2)]), [1.0, 2.0]),
        grad_of(T, lambda x: T.cat([x, x], 1), M),
    ],
    roll_rot=lambda T: [T.tensor([1, 2, 3]).roll(1), T.roll(T.tensor(M), 1, 0)],
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
        T.tensor([1, 2]).tile(2),
        raises(lambda: T.ones(2, 2).repeat(2)),
    ],
    repeat_interleave=lambda T: [
        T.tensor([1, 2]).repeat_interleave(2),
        grad_of(T, lambda x: x.repeat_interleave(2, 0), [1.0, 2.0]),
    ],
    gather_scatter=lambda T: [grad_of(T, lambda x: T.gather(x, 1, T.tensor([[0, 0], [2, 1]])), M)],
    gather_errors=lambda T: [
        raises(lambda: T.gather(T.ones(2), 0, T.tensor([2]))),
        raises(lambda: T.gather(T.ones(2), 0, T.tensor([0.5]))),
        raises(lambda: T.gather(T.ones(2, 2), 0, T.tensor([0]))),
    ],
    index_functions=lambda T: [T.index_select(T.tensor(M), 1, T.tensor([2, 0]))],
    index_select_errors=lambda T: [
        raises(lambda: T.index_select(T.ones(2), 0, T.tensor([2]))),
        raises(lambda: T.index_select(T.ones(2), 0, T.tensor([0.0]))),
        raises(lambda: T.index_select(T.ones(2), 1, T.tensor([0]))),
    ],
    index_add_alpha=lambda T: grad_of(
        T, lambda x: T.index_add(T.zeros(3), 0, T.tensor([0, 0]), x, alpha=2), [1.0, 2.0]
    ),
    masked_functions=lambda T: [
        T.masked_select(T.tensor(M), T.tensor(M) > 2),
        T.tensor(M).masked_fill(T.tensor([True, False, True]), 0),
        raises(lambda: T.ones(2).masked_fill(T.tensor([1.0, 0.0]), 0.0)),
    ],
    meshgrid=lambda T: [T.meshgrid(T.arange(2), T.arange(3), indexing="ij")[0]],
    split_forms=lambda T: [T.split(T.arange(5), 2), T.arange(5).split([1, 4]), T.chunk(T.arange(5), 3)],
    split_errors=lambda T: [
        raises(lambda: T.arange(5).split([1, 1])),
        raises(lambda: T.arange(5).chunk(0)),
        raises(lambda: T.tensor(1.0).split(1)),
    ],
    sum_to_size=lambda T: [
        grad_of(T, lambda x: x.sum_to_size(1, 3), M),
        raises(lambda: T.ones(2, 3).sum_to_size(2, 2)),
    ],
    unflatten=lambda T: [
        grad_of(T, lambda x: x.unflatten(0, (2, 2)), [1.0, 2.0, 3.0, 4.0]),
        T.arange(6).unflatten(0, (2, -1)).shape,
    ],
    movedim=lambda T: [
        T.ones(2, 3, 4).movedim(0, 2).shape,
        T.ones(2, 3).swapaxes(0, 1).shape,
    ],
    as_strided=lambda T: [
        T.arange(4.0).as_strided((2, 2), (1, 1)),
        grad_of(T, lambda x: x.as_strided((2, 2), (1, 1)), [1.0, 2.0, 3.0]),
    ],
    unfold=lambda T: [T.arange(5.0).unfold(0, 3, 1), grad_of(T, lambda x: x.unfold(0, 2, 1), [1.0, 2.0, 3.0])],
    arithmetic_aliases=lambda T: [
        T.true_divide(T.ones(1), 2),
        T.floor_divide(T.tensor([7]), 2),
    ],
    type_methods=lambda T: [
        T.tensor([1.7]).long(),
        T.tensor([1, 0]).bool(),
        T.tensor([True]).float(),
        T.tensor([1]).double(),
        T.tensor([NAN, 2.0]).bool(),
        T.tensor(1.0).type(),
        T.ones(1).type(T.float64),
    ],
    zero_dim_arithmetic=lambda T: [
        T.tensor(2) + T.tensor(1.5),
        T.tensor(2.0) * 3,
        T.tensor(5) // 2,
        -T.tensor(2.0),
        abs(T.tensor(-3)),
        T.tensor(2.0) ** 3,
    ],
    empty_shapes=lambda T: [
        T.zeros(0).sum(),
        T.zeros(0).prod(),
        T.zeros(0, 2).t().shape,
        T.zeros(2, 0).reshape(0).shape,
        T.cat([T.zeros(0), T.zeros(0)]),
        T.zeros(0).cumsum(0),
    ],
    sizes_of_tensors=lambda T: [
        T.ones(2, 3).size(),
        T.ones(2, 3).size(-1),
        T.ones(2, 3).shape[0],
        T.ones(2, 3).ndim,
        T.ones(2, 3).nelement(),
        T.numel(T.ones(2, 3)),
        T.Size([2, 3]).numel(),
        T.Size([1]) + T.Size([2]),
        T.ones(2, 3).dim(),
        T.is_tensor(1),
        kind(lambda: T.ones(2).size(3)),
    ],
)


def quiet_math(T):
    return [math.sqrt(T.tensor(4.0)), math.floor(T.tensor(4.5)), round(float(T.tensor(4.5)))]


@program
def broadcasting_three_ways(T):
    a, b, c = leaf(T, [[1.0], [2.0]]), leaf(T, [1.0, 2.0, 3.0]), leaf(T, 2.0)
    weighted(T, a * b / c + b**c - a).backward()
    return [a.grad, b.grad, c.grad]


@program
def gradient_through_every_product(T):
    out = []
    for s, t in [
        ((2,), (2,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((2, 2, 3), (3, 2)),
        ((2, 2, 3), (2, 3, 1)),
        ((2, 3), (2, 3, 1)),
        ((3,), (2, 3, 1)),
        ((2, 2, 3), (3,)),
        ((2, 1, 1, 3), (2, 3, 1)),
    ]:
        a = (T.arange(1.0, 1 + math.prod(s)).reshape(s) / 3).requires_grad_()
        b = (T.arange(1.0, 1 + math.prod(t)).reshape(t) / 5).requires_grad_()
        y = T.matmul(a, b)
        weighted(T, y).backward()
        out.append([flags(y), y.shape, a.grad, b.grad])
    return out


@program
def rows_of_a_sum_with_an_out_argument(T):
    o = T.zeros(2)
    r = T.add(T.ones(2), 1, out=o)
    T.mul(o, 3, out=o)
    return [r is o, o, o._version]


@program
def floor_divide_has_no_derivative(T):
    """The quotient rounded down requires grad, and backward says that it has none."""
    x = leaf(T, [3.0, -5.0])
    y = x // 2
    return y, y.requires_grad, raises(lambda: y.sum().backward()), T.floor_divide(7, T.tensor([2])), 7 // x.detach()
