"""THE TABLE, second page: rows that work like those of the first and teach nothing new.

PyTorch: tools/autograd/derivatives.yaml. Read a row as in engine/derivatives.py.
"""

from course_lib.engine import derivatives  # noqa: F401  (the first page)
from course_lib.engine.ops import row

# --- arithmetic ----------------------------------------------------------------------------------------------

row("reciprocal(self)", "1 / self", names="function method", floating=True,
    self="-grad * (result * result)")
# With a number as the other operand: what Python's operators do with one is another node. Formulas use these.
row("add_number(self, other: Number)", "self + other", node="AddBackward1", elementwise=False, floating=True,
    self="grad")
row("mul_number(self, other: Number)", "self * other", node="MulBackward1", elementwise=False,
    self="mul_number(grad, other)")
row("div_number(self, other: Number)", "self / other", node="DivBackward1", elementwise=False,
    self="div_number(grad, other)")
row("pow_tensor(self, exponent)", "kernels.power(self, exponent)", node="PowBackward1",
    keeps=("exponent", "result", "self"),
    self="where(exponent == 0, 0.0, grad * (exponent * self ** (exponent - 1)))",
    exponent="grad * where((self == 0) & (exponent >= 0), 0.0, result * log(self))")
row("rsub(self, other: Number)", "kernels.subtract(other, self)", node="RsubBackward1", in_place=False,
    self="-grad")
row("add_scaled(self, other, alpha: Number)", "self + kernels.scaled(other, alpha)", node="AddBackward0",
    self="grad",
    other="by_factor(grad, alpha)")
row("sub_scaled(self, other, alpha: Number)", "kernels.subtract(self, kernels.scaled(other, alpha))",
    node="SubBackward0", promotes="promote_difference",
    self="grad",
    other="by_factor(-grad, alpha)")
row("number_pow(self, exponent)", "kernels.number_power(self, exponent)", node="PowBackward2", elementwise=False,
    exponent="grad * number_power_grad(self, exponent, result)")
row("remainder(self, other: Number)", "kernels.remainder(self, other)", names="function method __mod__ __imod__",
    node="RemainderBackward0", elementwise=False, in_place=True, of_tensor="remainder_tensor",
    self="grad")
row("remainder_tensor(self, other)", "kernels.remainder(self, other)", node="RemainderBackward1",
    self="grad",
    other="-grad * rounded_quotient(self, other, 'floor')")
row("floor_divide(self, other)", "np.floor_divide(self, kernels.divisor(self, other))",
    names="function method __floordiv__ __ifloordiv__", node="NotImplemented",
    self="no_derivative('aten::floor_divide')",
    other="no_derivative('aten::floor_divide')")
row("div_rounded(self, other, rounding_mode)", "kernels.rounded_quotient(self, other, rounding_mode)",
    node="DivBackward2", keeps=("other", "rounding_mode", "self with other"),
    self="zeros_like(grad)",
    other="zeros_like(grad)")

row("lerp(self: Tensor, end, weight: Number)", "kernels.lerp(self, end, weight, 'lerp_kernel_scalar')",
    names="function in_place", of_tensor="lerp_tensor",
    self="mul_number(grad, 1 - weight)",
    end="mul_number(grad, weight)")
row("lerp_tensor(self: Tensor, end, weight)", "kernels.lerp(self, end, weight, 'lerp_kernel_tensor')",
    node="LerpBackward1", keeps=("weight",),
    self="grad * (1 - weight)",
    end="grad * weight",
    weight="grad * (end - self)")
row("addcmul(self: Tensor, tensor1, tensor2, value: Number=1)", "value * tensor1 * tensor2 + self",
    names="method in_place",
    self="grad",
    tensor1="grad * mul_number(tensor2, value)",
    tensor2="grad * mul_number(tensor1, value)")
row("addcdiv(self: Tensor, tensor1, tensor2, value: Number=1)", "self + value * (tensor1 / tensor2)",
    names="method in_place", keeps=("tensor2",),
    self="grad",
    tensor1="grad * (value / tensor2)",
    tensor2="-grad * (mul_number(tensor1, value) / (tensor2 * tensor2))")

# --- writing a tensor without dimensions ---------------------------------------------------------------------

row("fill_tensor(self, value)", "kernels.only_number(value, self)", node="FillBackward3", elementwise=False,
    broadcasts=("self", "value"), in_place="only",
    self="zeros_like(grad)",
    value="grad")
row("masked_fill_tensor(self, mask: Tensor, value)", "kernels.masked_fill(self, mask, value)",
    node="MaskedFillBackward1", elementwise=False, broadcasts=("self", "value"), in_place=True,
    self="zero_where(mask, grad)",
    value="where(mask, grad, 0.0)")

# --- functions of one number ---------------------------------------------------------------------------------

row("sign(self)", "kernels.sign(self)", names="function method",
    self="zeros_like(grad)")
row("sgn(self)", "kernels.sign(self)", in_place=False, keeps=("result", "self"),
    self="zeros_like(grad)")
row("expm1(self)", "np.expm1(self)", names="function", floating=True,
    self="grad * add_number(result, 1)")
row("log1p(self)", "np.log1p(self)", names="function method", floating=True, node="Log1PBackward0",
    self="grad / add_number(self, 1)")
row("log2(self)", "np.log2(self)", names="function", floating=True,
    self="grad / mul_number(self, 0.6931471805599453)")
row("rsqrt(self)", "1 / np.sqrt(self)", names="function method", floating=True,
    self="mul_number(grad, -0.5) * result ** 3")
row("tan(self)", "np.tan(self)", names="function method", floating=True,
    self="grad * add_number(result ** 2, 1)")
row("asin(self)", "np.arcsin(self)", names="function", floating=True,
    self="grad * rsqrt(1 - self * self)")
row("acos(self)", "np.arccos(self)", names="function", floating=True,
    self="grad * -rsqrt(1 - self * self)")
row("atan(self)", "np.arctan(self)", names="function", floating=True,
    self="grad / add_number(self * self, 1)")
row("sinh(self)", "np.sinh(self)", names="function", floating=True,
    self="grad * cosh(self)")
row("cosh(self)", "np.cosh(self)", names="function", floating=True,
    self="grad * sinh(self)")
row("clamp_min(self, min)", "kernels.clip(self, min, None)", names="method", of_tensor="clamp_min_tensor",
    self="where(self >= min, grad, 0.0)")
row("clamp_max(self, max)", "kernels.clip(self, None, max)", names="method", of_tensor="clamp_max_tensor",
    self="where(self <= max, grad, 0.0)")
row("clamp_min_tensor(self, min)", "np.maximum(min, self)", node="ClampMinBackward1",
    self="where(self >= min, grad, 0.0)",
    min="where(self < min, grad, 0.0)")
row("clamp_max_tensor(self, max)", "np.minimum(max, self)", node="ClampMaxBackward1",
    self="where(self <= max, grad, 0.0)",
    max="where(self > max, grad, 0.0)")
row("threshold_backward(grad_output, self, threshold: Number)",
    "kernels.threshold_backward(grad_output, self, threshold)", node="ThresholdBackwardBackward0", elementwise=False,
    keeps=("self",),
    grad_output="threshold_backward(grad, self, threshold)",
    self="zeros_like(grad)")
row("erf(self)", "kernels.error_function(self)", names="function method", floating=True,
    self="mul_number(exp(-(self ** 2)), 1.1283791670955126) * grad")
row("floor(self)", "kernels.rounded(np.floor, self)", names="function method",
    self="zeros_like(grad)")
row("ceil(self)", "kernels.rounded(np.ceil, self)", names="function method",
    self="zeros_like(grad)")
row("round(self)", "kernels.rounded(np.round, self)",
    self="zeros_like(grad)")
row("log10(self)", "np.log10(self)", names="function", floating=True,
    self="grad / mul_number(self, 2.302585092994046)")
row("nan_to_num(self, nan=0.0, posinf=None, neginf=None)", "np.nan_to_num(self, True, nan or 0.0, posinf, neginf)",
    names="function",
    self="grad * finite(self)")
row("atan2(self: Tensor, other)", "np.arctan2(self, other)", names="function", floating=True,
    self="grad * (other * inverse_or_zero(self * self + other * other))",
    other="grad * (-self * inverse_or_zero(self * self + other * other))")

# --- comparing two tensors -----------------------------------------------------------------------------------

row("minimum(self: Tensor, other)", "np.minimum(other, self)", names="function method", in_place=False,
    self="share_of_larger(grad, other, self)",
    other="share_of_larger(grad, self, other)")
row("masked_fill(self, mask: Tensor, value: Number)", "kernels.masked_fill(self, mask, value)",
    names="function method in_place", elementwise=False, broadcasts=("self",), in_place=True,
    of_tensor="masked_fill_tensor",
    self="zero_where(mask, grad)")

# --- reductions ----------------------------------------------------------------------------------------------

row("mean_dim(self, dim, keepdim=False)", "kernels.mean(self, dim, keepdim)", node="MeanBackward1",
    elementwise=False,
    self="mean_grad(restore_dim(grad, self_sym_sizes, dim, keepdim), self_sym_sizes, numel(self_sym_sizes, dim))")
row("max_all(self)", "kernels.extreme(self, np.max, 'max')", node="MaxBackward1", elementwise=False,
    self="share_among_equals(grad, self, result, None, False)")
row("cumsum(self, dim: dim)", "kernels.running(np.cumsum, self, dim)", elementwise=False, in_place=True,
    self="flip(cumsum(flip(grad, (dim,)), dim), (dim,))")
row("softmax(self, dim)", "kernels.softmax(self, dim)", elementwise=False,
    self="softmax_backward(grad, result, dim)")
row("softmax_backward(grad_output, output, dim)",
    "output * (grad_output - kernels.total(grad_output * output, dim, True))",
    node="SoftmaxBackwardDataBackward0", elementwise=False, keeps=("grad_output",),
    grad_output="softmax_backward(grad, output, dim)",
    output="grad_output * grad - sum_dim(output * grad_output, dim, True) * grad"
           " - grad_output * sum_dim(output * grad, dim, True)")
row("log_softmax_backward(grad_output, output, dim)",
    "grad_output - np.exp(output) * kernels.total(grad_output, dim, True)",
    node="LogSoftmaxBackwardDataBackward0", elementwise=False, keeps=("grad_output",),
    grad_output="grad - sum_dim(grad * exp(output), dim, True)",
    output="-sum_dim(grad_output, dim, True) * exp(output) * grad")
row("prod_all(self)", "kernels.product(self)", node="ProdBackward0", elementwise=False, keeps=("result",),
    self="prod_grad(grad, self, result)")
row("prod_dim(self, dim, keepdim=False)", "kernels.product(self, dim, keepdim)", node="ProdBackward1",
    elementwise=False, keeps=("result",),
    self="restore_dim(grad, self_sym_sizes, dim, keepdim)"
         " * products_of_others(self, restore_dim(result, self_sym_sizes, dim, keepdim), dim)")
row("var(self, dim, correction: Number, keepdim=False)", "kernels.variance(self, dim, correction, keepdim)",
    elementwise=False,
    self="var_grad(grad, self, dim, correction, keepdim)")
row("std(self, dim, correction: Number, keepdim=False)", "np.sqrt(kernels.variance(self, dim, correction, keepdim))",
    elementwise=False,
    self="std_grad(grad, self, result, dim, correction, keepdim)")
row("norm(self, ord, dim, keepdim=False)", "kernels.vector_norm(self, ord, dim, keepdim)",
    node="LinalgVectorNormBackward0", elementwise=False, keeps=("result", "self"),
    self="norm_grad(grad, self, result, ord, dim, keepdim)")
row("min_all(self)", "kernels.extreme(self, np.min, 'min')", node="MinBackward1", elementwise=False,
    self="share_among_equals(grad, self, result, None, False)")
row("amax(self, dim, keepdim=False)", "kernels.in_rows(np.max(self, axis=dim, keepdims=keepdim))", elementwise=False,
    self="share_among_equals(grad, self, result, dim, keepdim)")
row("amin(self, dim, keepdim=False)", "kernels.in_rows(np.min(self, axis=dim, keepdims=keepdim))", elementwise=False,
    self="share_among_equals(grad, self, result, dim, keepdim)")
row("min_dim(self, dim, keepdim=False)", "kernels.extreme_along(self, np.argmin, dim, keepdim)",
    node="MinBackward0", outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, keepdim)")
row("sort_dim(self, dim, descending)", "kernels.sort(self, dim, descending)", node="SortBackward0",
    outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, True)")
row("topk_dim(self, k, dim, largest)", "kernels.topk(self, k, dim, largest)", node="TopkBackward0",
    outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, True)")
row("logsumexp(self, dim, keepdim=False)", "kernels.logsumexp(self, dim, keepdim)", elementwise=False,
    floating=True,
    self="restore_dim(grad, self_sym_sizes, dim, keepdim)"
         " * exp(self - restore_dim(result, self_sym_sizes, dim, keepdim))")
row("cumprod(self, dim: dim)", "kernels.running(np.cumprod, self, dim)", elementwise=False, in_place=True,
    keeps=("result",),
    self="cumprod_grad(grad, self, result, dim)")

# --- products of matrices ------------------------------------------------------------------------------------

row("mv(self, vec)", "kernels.matrix_product(self, vec)", elementwise=False,
    self="outer_product(grad, vec)",
    vec="mv(t(self), grad)")
row("dot(self, tensor)", "kernels.matrix_product(self, tensor)", elementwise=False,
    self="grad * tensor",
    tensor="grad * self")
row("bmm(self, mat2)", "kernels.matrix_product(self, mat2)", elementwise=False,
    self="bmm(grad, transpose(mat2, 1, 2))",
    mat2="bmm(transpose(self, 1, 2), grad)")
row("inv(A)", "kernels.inverse(A)", node="LinalgInvExBackward0", elementwise=False,
    A="-(result.mT @ grad @ result.mT)")
row("solve(A, B)", "kernels.solution(A, B)", node="LinalgSolveExBackward0", elementwise=False,
    A="-(solve(A.mT, grad) @ result.mT)",
    B="solve(A.mT, grad)")

# --- views: the result looks at the same memory --------------------------------------------------------------

row("transpose(self, dim0: dim, dim1: dim)", "kernels.swap(self, dim0, dim1)", names="function method", view=True,
    self="transpose(grad, dim0, dim1)")
row("permute(self, dims)", "self.transpose(dims)", view=True,
    self="permute(grad, inverse_order(dims))")
row("squeeze(self)", "kernels.squeeze(self)", view=True,
    self="unsqueeze_to(grad, self_sym_sizes)")
row("squeeze_dim(self, dim)", "kernels.squeeze(self, dim)", node="SqueezeBackward1", view=True, keeps=("dim",),
    self="unsqueeze_to(grad, self_sym_sizes, dim)")
row("split(self, split_size, dim)", "kernels.split(self, split_size, dim)", view="multiple outputs",
    self="cat_grads(grads, self_sym_sizes, split_size, dim)")
row("reshape_alias(self, shape)", "kernels.view(self, shape)", node="ReshapeAliasBackward0", view=True,
    self="reshape(grad, self_sym_sizes)")
row("select_backward(grad_output, sizes, dim, index)", "kernels.place(grad_output, sizes, dim, index)",
    node="SelectBackwardBackward0", elementwise=False,
    grad_output="select(grad, dim, index)")
row("slice_backward(grad_output, sizes, dim, start, end, step)",
    "kernels.place(grad_output, sizes, dim, slice(start, end, step))",
    node="SliceBackwardBackward0", elementwise=False,
    grad_output="slice_dim(grad, dim, start, end, step)")
row("diagonal_backward(grad_output, sizes, offset, dim1, dim2)",
    "kernels.place_diagonal(grad_output, sizes, offset, dim1, dim2)",
    node="DiagonalBackwardBackward0", elementwise=False,
    grad_output="diagonal(grad, offset, dim1, dim2)")
row("diagonal(self, offset, dim1, dim2)", "kernels.diagonal(self, offset, dim1, dim2)", view=True,
    self="place_diagonal(grad, self_sym_sizes, offset, dim1, dim2)")
row("as_strided(self, size, stride, storage_offset, ahead)", "kernels.as_strided(self, size, stride, storage_offset)",
    view=True,
    self="back_from_strides(grad, self_sym_sizes, self_sym_strides, size, stride, ahead)")
row("split_with_sizes(self, split_sizes, dim)", "kernels.split(self, split_sizes, dim)", view="multiple outputs",
    self="cat_grads(grads, self_sym_sizes, split_sizes, dim)")

# --- rearranging into new memory -----------------------------------------------------------------------------

row("to_copy(self, dtype)", "kernels.astype(self, dtype)", elementwise=False, broadcasts=("self",),
    self="grad")
row("flip(self, dims)", "kernels.flip(self, dims)", elementwise=False,
    self="flip(grad, dims)")
row("index_select(self, dim: dim, index: Tensor)", "kernels.take_places(self, dim, index)", names="function method",
    elementwise=False,
    self="index_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")
row("clone_contiguous(self)", "np.array(self, order='C')", node="CloneBackward0", elementwise=False,
    self="grad")
row("unsafe_view(self, shape)", "kernels.copy_shaped(self, shape)", node="UnsafeViewBackward0", elementwise=False,
    self="reshape(grad, self_sym_sizes)")
row("squeeze_fresh(self, dim)", "kernels.copy_shaped(self, self.shape[1:])", node="SqueezeBackward4", elementwise=False,
    keeps=("dim",),
    self="unsqueeze_to(grad, self_sym_sizes, dim)")
row("repeat(self, repeats)", "np.array(np.tile(self, repeats), order='C')", elementwise=False,
    self="sum_repeats(grad, self_sym_sizes, repeats)")
row("triu(self, diagonal: int=0)", "kernels.triangle(np.triu, self, diagonal)", names="function method",
    elementwise=False, in_place=True,
    self="triu(grad, diagonal)")
row("tril(self, diagonal: int=0)", "kernels.triangle(np.tril, self, diagonal)", names="function method",
    elementwise=False, in_place=True,
    self="tril(grad, diagonal)")
row("scatter_add(self, dim: dim, index: Tensor, src)", "kernels.scatter_add(self, dim, index, src)",
    names="function method in_place", elementwise=False, in_place=True,
    self="grad",
    src="gather(grad, dim, index)")
row("index_add(self, dim: dim, index: Tensor, source, alpha: Number=1)",
    "kernels.index_add(self, dim, index, source, alpha)", names="function method in_place", elementwise=False,
    in_place=True, keeps=("source with source",),
    self="grad",
    source="by_factor(index_select(grad, dim, index), alpha)")
row("scatter_tensor(self, dim: dim, index: Tensor, src)", "kernels.put_at(self, dim, index, src)",
    node="ScatterBackward0", elementwise=False, in_place=True,
    self="scatter(grad, dim, index, 0.0)",
    src="gather(grad, dim, index)")
row("scatter(self, dim: dim, index: Tensor, src)", "kernels.put_at(self, dim, index, src)",
    names="function method in_place", node="ScatterBackward1", elementwise=False, in_place=True,
    of_tensor="scatter_tensor",
    self="scatter(grad, dim, index, 0.0)")
row("roll(self, shifts, dims)", "kernels.rolled(self, shifts, dims)", elementwise=False,
    self="roll_back(grad, shifts, dims)")

# --- only in place -------------------------------------------------------------------------------------------

row("zero(self)", "kernels.full_like(self, 0)", names="in_place", elementwise=False, in_place="only",
    self="zeros_like(grad)")

# --- only in place: random numbers ---------------------------------------------------------------------------

for _name, _node in {"uniform": None, "normal": None, "random": "RandomBackward1",
                     "bernoulli_draw": "BernoulliBackward2"}.items():
    row(f"{_name}(self, values)", "np.asarray(values).astype(self.dtype)", elementwise=False, in_place="only",
        node=_node,
        self="zeros_like(grad)")
row("bernoulli(self, values)", "np.asarray(values).astype(self.dtype)", elementwise=False,
    self="zeros_like(grad)")
# --- met on every day, and like what the first page has --------------------------------------------------------
# At a kink the formula chooses: abs has slope 0 at 0, clamp slope 1 on its limits.

row("sigmoid(self)", "kernels.logistic(self)", names="function method in_place", floating=True,
    self="sigmoid_backward(grad, result)")
row("sigmoid_backward(grad_output, output)", "grad_output * ((1 - output) * output)",
    node="SigmoidBackwardBackward0", elementwise=False, keeps=("grad_output",),
    grad_output="sigmoid_backward(grad, output)",
    output="grad * grad_output * add_number(mul_number(output, -2), 1)")
row("abs(self)", "np.abs(self)", names="function method in_place __abs__",
    self="grad * sgn(self)")
row("clamp(self, min=None, max=None)", "kernels.clip(self, min, max)", node="ClampBackward1",
    self="where(within(self, min, max), grad, 0.0)")
row("select_where(condition: Tensor, self, other)", "np.where(condition, self, other)", node="WhereBackward0",
    elementwise=("self", "other"), in_place=False,
    self="where(condition, grad, 0.0)",
    other="where(condition, 0.0, grad)")
row("max_dim(self, dim, keepdim=False)", "kernels.extreme_along(self, np.argmax, dim, keepdim)",
    node="MaxBackward0", outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, keepdim)")
row("unsqueeze(self, dim: new dim)", "kernels.add_dim(self, dim)", names="function method", view=True,
    self="squeeze_dim(grad, dim)")
row("fill(self, value: Number)", "kernels.full_like(self, value)", names="in_place", node="FillBackward2",
    elementwise=False, in_place="only", of_tensor="fill_tensor",
    self="zeros_like(grad)")
