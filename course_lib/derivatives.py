"""THE TABLE: every differentiable operation in one row, its value in NumPy and its gradients in calculus.

PyTorch: tools/autograd/derivatives.yaml. How a row becomes an operation is told in ops.py (Row).

Read a row as: name(parameters), how the value is computed, and for each input the gradient that flows back to
it, given `grad`, the gradient of the result. The names in a formula are what the operation saves.
"""

from course_lib.ops import row

# --- arithmetic --------------------------------------------------------------------------------------------

row("add(self, other)", "self + other",
    self="grad",
    other="grad")
row("sub(self, other)", "kernels.subtract(self, other)",
    self="grad",
    other="-grad")
row("rsub(self, other)", "kernels.subtract(other, self)", node="RsubBackward1", in_place=False,
    self="-grad")
row("mul(self, other)", "self * other",
    self="grad * other",
    other="grad * self")
row("div(self, other)", "self / other", floating=True,
    self="grad / other",
    other="-grad * ((self / other) / other)")
row("add_scaled(self, other, alpha)", "self + alpha * other", node="AddBackward0",
    self="grad",
    other="grad * alpha")
row("sub_scaled(self, other, alpha)", "self - alpha * other", node="SubBackward0",
    self="grad",
    other="-grad * alpha")
row("neg(self)", "-kernels.truth_refused(self, kernels.NO_NEGATIVE)",
    self="-grad")
row("reciprocal(self)", "1 / self", floating=True,
    self="-grad * (result * result)")
row("pow_number(self, exponent)", "kernels.power(self, exponent)", node="PowBackward0",
    self="power_grad(grad, self, exponent)")
row("pow_tensor(self, exponent)", "kernels.power(self, exponent)", node="PowBackward1",
    keeps=("exponent", "result", "self"),
    self="grad * where(exponent == 0, 0.0, exponent * self ** (exponent - 1))",
    exponent="grad * where((self == 0) & (exponent >= 0), 0.0, result * log(self))")
row("number_pow(self, exponent)", "kernels.number_power(self, exponent)", node="PowBackward2", elementwise=False,
    exponent="grad * number_power_grad(self, exponent, result)")
row("remainder(self, other)", "kernels.remainder(self, other)", node="RemainderBackward1",
    self="grad",
    other="-grad * floor(self / other)")
row("remainder_number(self, other)", "kernels.remainder(self, other)", node="RemainderBackward0",
    self="grad")
row("lerp(self, end, weight)", "self + weight * (end - self)",
    self="grad * (1 - weight)",
    end="grad * weight")
row("addcmul(self, tensor1, tensor2, value=1)", "self + value * tensor1 * tensor2",
    self="grad",
    tensor1="grad * (tensor2 * value)",
    tensor2="grad * (tensor1 * value)")
row("addcdiv(self, tensor1, tensor2, value=1)", "self + value * (tensor1 / tensor2)", floating=True,
    keeps=("tensor2",),
    self="grad",
    tensor1="grad * (value / tensor2)",
    tensor2="-grad * (value * tensor1 / (tensor2 * tensor2))")

# --- functions of one number -------------------------------------------------------------------------------

row("exp(self)", "np.exp(self)", floating=True,
    self="grad * result")
row("expm1(self)", "np.expm1(self)", floating=True,
    self="grad * (result + 1)")
row("log(self)", "np.log(self)", floating=True,
    self="grad / self")
row("log1p(self)", "np.log1p(self)", floating=True, node="Log1PBackward0",
    self="grad / (self + 1)")
row("log2(self)", "np.log2(self)", floating=True,
    self="grad / (self * 0.6931471805599453)")
row("sqrt(self)", "np.sqrt(self)", floating=True,
    self="grad / (2 * result)")
row("rsqrt(self)", "1 / np.sqrt(self)", floating=True,
    self="-0.5 * grad * result ** 3")
row("sin(self)", "np.sin(self)", floating=True,
    self="grad * cos(self)")
row("cos(self)", "np.cos(self)", floating=True,
    self="grad * -sin(self)")
row("tan(self)", "np.tan(self)", floating=True,
    self="grad * (1 + result * result)")
row("asin(self)", "np.arcsin(self)", floating=True,
    self="grad * rsqrt(1 - self * self)")
row("acos(self)", "np.arccos(self)", floating=True,
    self="grad * -rsqrt(1 - self * self)")
row("atan(self)", "np.arctan(self)", floating=True,
    self="grad / (self * self + 1)")
row("sinh(self)", "np.sinh(self)", floating=True,
    self="grad * cosh(self)")
row("cosh(self)", "np.cosh(self)", floating=True,
    self="grad * sinh(self)")
row("tanh(self)", "np.tanh(self)", floating=True,
    self="grad * (1 - result * result)")
row("sigmoid(self)", "kernels.logistic(self)", floating=True,
    self="grad * ((1 - result) * result)")
row("relu(self)", "np.maximum(kernels.truth_refused(self, 'Boolean inputs not supported for relu'), 0)",
    self="threshold_backward(grad, result, 0)")
row("threshold_backward(grad_output, self, threshold)", "np.where(self <= threshold, 0, grad_output)",
    node="ThresholdBackwardBackward0", elementwise=False, keeps=("self",),
    grad_output="where(self <= threshold, 0.0, grad)",
    self="zeros_like(grad)")
row("abs(self)", "np.abs(kernels.truth_refused(self, kernels.NO_ABS, NotImplementedError))",
    self="grad * sign(self)")
row("erf(self)", "kernels.error_function(self)", floating=True,
    self="grad * (1.1283791670955126 * exp(-(self * self)))")
row("sign(self)", "kernels.sign(self)",
    self="zeros_like(grad)")
row("floor(self)", "np.floor(self)",
    self="zeros_like(grad)")
row("ceil(self)", "np.ceil(self)",
    self="zeros_like(grad)")
row("round(self)", "np.round(self)",
    self="zeros_like(grad)")
row("trunc(self)", "np.trunc(self)",
    self="zeros_like(grad)")
row("clamp(self, min=None, max=None)", "kernels.clip(self, min, max)", node="ClampBackward1",
    self="where(within(self, min, max), grad, 0.0)")
row("gelu(self, approximate='none')", "kernels.gelu(self)",
    self="grad * gelu_slope(self)")
row("softplus(self, beta=1, threshold=20)", "kernels.softplus(self, beta, threshold)",
    self="where(self * beta > threshold, grad, grad * sigmoid(self * beta))")
row("leaky_relu(self, negative_slope=0.01)", "np.where(self > 0, self, self * negative_slope)",
    self="leaky_relu_backward(grad, self, negative_slope)")
row("leaky_relu_backward(grad_output, self, negative_slope)",
    "np.where(self > 0, grad_output, grad_output * negative_slope)", elementwise=False, keeps=("self",),
    grad_output="where(self > 0, grad, grad * negative_slope)",
    self="zeros_like(grad)")
row("silu(self)", "self * kernels.logistic(self)",
    self="grad * (sigmoid(self) * (1 + self * (1 - sigmoid(self))))")
row("elu(self, alpha=1.0)", "np.where(self > 0, self, alpha * np.expm1(self))",
    self="where(self > 0, grad, grad * (alpha * exp(self)))")

# --- comparing two tensors ---------------------------------------------------------------------------------

row("maximum(self, other)", "np.maximum(self, other)", in_place=False,
    self="share_of_larger(grad, self, other)",
    other="share_of_larger(grad, other, self)")
row("minimum(self, other)", "np.minimum(self, other)", in_place=False,
    self="share_of_larger(grad, other, self)",
    other="share_of_larger(grad, self, other)")
row("select_where(condition: Tensor, self, other)", "np.where(condition, self, other)", node="WhereBackward0",
    elementwise=("self", "other"), in_place=False,
    self="where(condition, grad, 0.0)",
    other="where(condition, 0.0, grad)")
row("masked_fill(self, mask: Tensor, value)", "kernels.masked_fill(self, mask, value)", elementwise=False,
    broadcasts=True, in_place=True,
    self="where(mask, 0.0, grad)")

# --- reductions --------------------------------------------------------------------------------------------

row("sum_all(self)", "kernels.total(self)", node="SumBackward0", elementwise=False,
    self="expand(grad, self_sym_sizes)")
row("sum_dim(self, dim, keepdim=False)", "kernels.total(self, dim, keepdim)", node="SumBackward1",
    elementwise=False,
    self="expand(restore_dim(grad, self_sym_sizes, dim, keepdim), self_sym_sizes)")
row("mean_all(self)", "kernels.mean(self)", node="MeanBackward0", elementwise=False,
    self="expand(grad / numel(self_sym_sizes), self_sym_sizes)")
row("mean_dim(self, dim, keepdim=False)", "kernels.mean(self, dim, keepdim)", node="MeanBackward1",
    elementwise=False,
    self="expand(restore_dim(grad / numel(self_sym_sizes, dim), self_sym_sizes, dim, keepdim), self_sym_sizes)")
row("prod_all(self)", "kernels.product(self)", node="ProdBackward0", elementwise=False, keeps=("result",),
    self="grad * products_of_others(self, None)")
row("prod_dim(self, dim, keepdim=False)", "kernels.product(self, dim, keepdim)", node="ProdBackward1",
    elementwise=False, keeps=("result",),
    self="restore_dim(grad, self_sym_sizes, dim, keepdim) * products_of_others(self, dim)")
row("var(self, dim, correction, keepdim=False)", "kernels.spread(np.var, self, dim, correction, keepdim)",
    elementwise=False,
    self="restore_dim(grad, self_sym_sizes, dim, keepdim) * deviations(self, dim)"
         " * (2 / degrees(self_sym_sizes, dim, correction))")
row("std(self, dim, correction, keepdim=False)", "kernels.spread(np.std, self, dim, correction, keepdim)",
    elementwise=False,
    self="std_grad(grad, self, result, dim, correction, keepdim)")
row("norm(self, ord, dim, keepdim=False)", "kernels.vector_norm(self, ord, dim, keepdim)",
    node="LinalgVectorNormBackward0", elementwise=False, keeps=("result", "self"),
    self="norm_grad(grad, self, result, ord, dim, keepdim)")
row("max_all(self)", "kernels.extreme(self, np.max, 'max')", node="MaxBackward1", elementwise=False,
    self="share_among_equals(grad, self, result, None, False)")
row("min_all(self)", "kernels.extreme(self, np.min, 'min')", node="MinBackward1", elementwise=False,
    self="share_among_equals(grad, self, result, None, False)")
row("amax(self, dim, keepdim=False)", "np.max(self, axis=dim, keepdims=keepdim)", elementwise=False,
    self="share_among_equals(grad, self, result, dim, keepdim)")
row("amin(self, dim, keepdim=False)", "np.min(self, axis=dim, keepdims=keepdim)", elementwise=False,
    self="share_among_equals(grad, self, result, dim, keepdim)")
row("max_dim(self, dim, keepdim=False)", "kernels.extreme_along(self, np.argmax, dim, keepdim)",
    node="MaxBackward0", outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, keepdim)")
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
row("cumsum(self, dim)", "kernels.running(np.cumsum, self, dim)", elementwise=False,
    self="flip(cumsum(flip(grad, (dim,)), dim), (dim,))")
row("cumprod(self, dim)", "kernels.running(np.cumprod, self, dim)", elementwise=False, keeps=("result",),
    self="cumprod_grad(grad, self, dim)")
row("softmax(self, dim)", "kernels.softmax(self, dim)", elementwise=False,
    self="result * (grad - sum_dim(grad * result, dim, True))")
row("log_softmax(self, dim)", "kernels.log_softmax(self, dim)", elementwise=False,
    self="grad - exp(result) * sum_dim(grad, dim, True)")

# --- products of matrices ----------------------------------------------------------------------------------

row("mm(self, mat2)", "kernels.matrix_product(self, mat2)", elementwise=False,
    self="grad @ mat2.T",
    mat2="self.T @ grad")
row("mv(self, vec)", "kernels.matrix_product(self, vec)", elementwise=False,
    self="outer_product(grad, vec)",
    vec="self.T @ grad")
row("dot(self, tensor)", "kernels.matrix_product(self, tensor)", elementwise=False,
    self="grad * tensor",
    tensor="grad * self")
row("bmm(self, mat2)", "kernels.matrix_product(self, mat2)", elementwise=False,
    self="grad @ transpose(mat2, 1, 2)",
    mat2="transpose(self, 1, 2) @ grad")
row("addmm(self, mat1, mat2)", "kernels.matrix_product_plus(self, mat1, mat2)", elementwise=False,
    broadcasts=("self",),
    self="grad",
    mat1="grad @ mat2.T",
    mat2="mat1.T @ grad")

# --- views: the result looks at the same memory ------------------------------------------------------------

row("view(self, shape)", "kernels.view(self, shape)", view=True,
    self="reshape(grad, self_sym_sizes)")
row("reshape_alias(self, shape)", "kernels.view(self, shape)", node="ReshapeAliasBackward0", view=True,
    self="reshape(grad, self_sym_sizes)")
row("t(self)", "self.T", view=True,
    self="t(grad)")
row("transpose(self, dim0, dim1)", "kernels.swap(self, dim0, dim1)", view=True,
    self="transpose(grad, dim0, dim1)")
row("permute(self, dims)", "np.transpose(self, dims)", view=True,
    self="permute(grad, inverse_order(dims))")
row("unsqueeze(self, dim)", "np.expand_dims(self, dim)", view=True,
    self="squeeze_dim(grad, dim)")
row("squeeze(self)", "kernels.squeeze(self)", view=True,
    self="reshape(grad, self_sym_sizes)")
row("squeeze_dim(self, dim)", "kernels.squeeze(self, dim)", node="SqueezeBackward1", view=True,
    self="reshape(grad, self_sym_sizes)")
row("expand(self, sizes)", "kernels.broadcast(self, sizes)", view=True,
    self="sum_to(grad, self_sym_sizes)")
row("select(self, dim, index)", "kernels.take_index(self, dim, index)", view=True,
    self="place(grad, self_sym_sizes, dim, index)")
row("slice_dim(self, dim, start, end, step)", "kernels.take_slice(self, dim, start, end, step)",
    node="SliceBackward0", view=True,
    self="place(grad, self_sym_sizes, dim, slice_of(start, end, step))")
row("diagonal(self, offset, dim1, dim2)", "kernels.diagonal(self, offset, dim1, dim2)", view=True,
    self="place_diagonal(grad, self_sym_sizes, offset, dim1, dim2)")
row("alias(self)", "self[...]", view=True,
    self="grad")
row("unbind(self, dim)", "kernels.unbind(self, dim)", view="multiple outputs",
    self="stack_grads(grads, self_sym_sizes, dim)")
row("split(self, split_size, dim)", "kernels.split(self, split_size, dim)", view="multiple outputs",
    self="cat_grads(grads, self_sym_sizes, split_size, dim)")
row("split_with_sizes(self, split_sizes, dim)", "kernels.split(self, split_sizes, dim)", view="multiple outputs",
    self="cat_grads(grads, self_sym_sizes, split_sizes, dim)")

# --- rearranging into new memory ---------------------------------------------------------------------------

row("clone(self)", "kernels.copy(self)", elementwise=False,
    self="grad")
row("clone_contiguous(self)", "np.ascontiguousarray(self)", node="CloneBackward0", elementwise=False,
    self="grad")
row("unsafe_view(self, shape)", "kernels.copy_shaped(self, shape)", node="UnsafeViewBackward0", elementwise=False,
    self="reshape(grad, self_sym_sizes)")
row("to_copy(self, dtype)", "kernels.astype(self, dtype)", elementwise=False, broadcasts=True,
    self="grad")
row("repeat(self, repeats)", "np.tile(self, repeats)", elementwise=False,
    self="sum_repeats(grad, self_sym_sizes, repeats)")
row("flip(self, dims)", "kernels.flip(self, dims)", elementwise=False,
    self="flip(grad, dims)")
row("triu(self, diagonal=0)", "kernels.triangle(np.triu, self, diagonal)", elementwise=False,
    self="triu(grad, diagonal)")
row("tril(self, diagonal=0)", "kernels.triangle(np.tril, self, diagonal)", elementwise=False,
    self="tril(grad, diagonal)")
row("index_select(self, dim, index: Tensor)", "kernels.take_places(self, dim, index)", elementwise=False,
    self="index_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")
row("gather(self, dim, index: Tensor)", "kernels.pick(self, dim, index)", elementwise=False,
    keeps=("self",),
    self="scatter_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")
row("scatter_add(self, dim, index: Tensor, src)", "kernels.scatter_add(self, dim, index, src)", elementwise=False,
    in_place=True,
    self="grad",
    src="gather(grad, dim, index)")
row("index_add(self, dim, index: Tensor, source)", "kernels.index_add(self, dim, index, source)",
    elementwise=False, in_place=True, keeps=("source with source",),
    self="grad",
    source="index_select(grad, dim, index)")
row("masked_select(self, mask: Tensor)", "kernels.masked_select(self, mask)", elementwise=False, keeps=("self",),
    self="masked_scatter(zeros_like(self), mask, grad)")

# --- only in place -----------------------------------------------------------------------------------------

row("copy(self, src)", "kernels.broadcast_like(src, self)", node="CopyBackwards", elementwise=False,
    broadcasts=True, in_place="only",
    self="zeros_like(grad)",
    src="grad")
row("fill(self, value)", "kernels.full_like(self, value)", node="FillBackward2", elementwise=False,
    in_place="only",
    self="zeros_like(grad)")
row("zero(self)", "kernels.full_like(self, 0)", elementwise=False, in_place="only",
    self="zeros_like(grad)")
