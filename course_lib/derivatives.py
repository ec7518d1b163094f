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
row("mul(self, other)", "self * other",
    self="grad * other",
    other="grad * self")
row("div(self, other)", "self / other", floating=True,
    self="grad / other",
    other="-grad * ((self / other) / other)")
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

# --- functions of one number -------------------------------------------------------------------------------

row("exp(self)", "np.exp(self)", floating=True,
    self="grad * result")
row("log(self)", "np.log(self)", floating=True,
    self="grad / self")
row("sqrt(self)", "np.sqrt(self)", floating=True,
    self="grad / (2 * result)")
row("sin(self)", "np.sin(self)", floating=True,
    self="grad * cos(self)")
row("cos(self)", "np.cos(self)", floating=True,
    self="grad * -sin(self)")
row("tanh(self)", "np.tanh(self)", floating=True,
    self="grad * (1 - result * result)")
row("sigmoid(self)", "kernels.logistic(self)", floating=True,
    self="grad * ((1 - result) * result)")
row("relu(self)", "kernels.relu(self)",
    self="threshold_backward(grad, result, 0)")
row("abs(self)", "np.abs(kernels.truth_refused(self, kernels.NO_ABS, NotImplementedError))",
    self="grad * sign(self)")
row("sign(self)", "kernels.sign(self)",
    self="zeros_like(grad)")
row("clamp(self, min=None, max=None)", "kernels.clip(self, min, max)", node="ClampBackward1",
    self="where(within(self, min, max), grad, 0.0)")

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
    broadcasts=("self",), in_place=True,
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
row("max_all(self)", "kernels.extreme(self, np.max, 'max')", node="MaxBackward1", elementwise=False,
    self="share_among_equals(grad, self, result, None, False)")
row("max_dim(self, dim, keepdim=False)", "kernels.extreme_along(self, np.argmax, dim, keepdim)",
    node="MaxBackward0", outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, keepdim)")
row("cumsum(self, dim)", "kernels.running(np.cumsum, self, dim)", elementwise=False,
    self="flip(cumsum(flip(grad, (dim,)), dim), (dim,))")
row("softmax(self, dim)", "kernels.softmax(self, dim)", elementwise=False,
    self="result * (grad - sum_dim(grad * result, dim, True))")
row("log_softmax(self, dim)", "kernels.log_softmax(self, dim)", elementwise=False,
    self="grad - exp(result) * sum_dim(grad, dim, True)")

# --- products of matrices ----------------------------------------------------------------------------------

row("mm(self, mat2)", "kernels.matrix_product(self, mat2)", elementwise=False,
    self="product_like(grad, t(mat2), self_sym_sizes, self_sym_strides)",
    mat2="product_like(t(self), grad, mat2_sym_sizes, mat2_sym_strides)")
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
    mat1="product_like(grad, t(mat2), mat1_sym_sizes, mat1_sym_strides)",
    mat2="product_like(t(mat1), grad, mat2_sym_sizes, mat2_sym_strides)")

# --- views: the result looks at the same memory ------------------------------------------------------------

row("view(self, shape)", "kernels.view(self, shape)", view=True,
    self="reshape(grad, self_sym_sizes)")
row("t(self)", "self.T", view=True,
    self="t(grad)")
row("transpose(self, dim0, dim1)", "kernels.swap(self, dim0, dim1)", view=True,
    self="transpose(grad, dim0, dim1)")
row("permute(self, dims)", "self.transpose(dims)", view=True,
    self="permute(grad, inverse_order(dims))")
row("unsqueeze(self, dim)", "kernels.add_dim(self, dim)", view=True,
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
row("alias(self)", "self[...]", view=True,
    self="grad")
row("unbind(self, dim)", "kernels.unbind(self, dim)", view="multiple outputs",
    self="stack_grads(grads, self_sym_sizes, dim)")
row("split(self, split_size, dim)", "kernels.split(self, split_size, dim)", view="multiple outputs",
    self="cat_grads(grads, self_sym_sizes, split_size, dim)")

# --- rearranging into new memory ---------------------------------------------------------------------------

row("clone(self)", "kernels.copy(self)", elementwise=False,
    self="grad")
row("to_copy(self, dtype)", "kernels.astype(self, dtype)", elementwise=False, broadcasts=("self",),
    self="grad")
row("flip(self, dims)", "kernels.flip(self, dims)", elementwise=False,
    self="flip(grad, dims)")
row("index_select(self, dim, index: Tensor)", "kernels.take_places(self, dim, index)", elementwise=False,
    self="index_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")
row("gather(self, dim, index: Tensor)", "kernels.pick(self, dim, index)", elementwise=False,
    keeps=("self",),
    self="scatter_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")

# --- only in place -----------------------------------------------------------------------------------------

row("copy(self, src)", "kernels.broadcast_like(src, self)", node="CopyBackwards", elementwise=False,
    broadcasts=("self", "src"), in_place="only",
    self="zeros_like(grad)",
    src="grad")
row("fill(self, value)", "kernels.full_like(self, value)", node="FillBackward2", elementwise=False,
    in_place="only",
    self="zeros_like(grad)")
row("zero(self)", "kernels.full_like(self, 0)", elementwise=False, in_place="only",
    self="zeros_like(grad)")
