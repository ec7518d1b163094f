"""THE TABLE: every differentiable operation in one row, its value in NumPy and its gradients in calculus.

PyTorch: tools/autograd/derivatives.yaml. How a row becomes an operation is told in ops.py (Row).

Read a row as: name(parameters), how the value is computed, and for each input the gradient that flows back to
it, given `grad`, the gradient of the result. For y = x * x2 and a loss L, `grad` is dL/dy, and the chain rule
says dL/dx = dL/dy * dy/dx = grad * x2. No Jacobian is ever written down: a formula is the product of one with
`grad`, which for most operations is cheap where the Jacobian would be huge.

The names in a formula are what the operation saves: `mul` keeps `other` for the gradient of `self`, and keeps
nothing that no gradient will need. `result` is the operation's own result; exp, tanh and sqrt have slopes that are
written most simply in it, so they keep it instead of the input. That choice decides what a learner may overwrite
before backward: the input of exp, but not the input of sin.

A function that a formula calls is a row itself (cos, expand) or stands in arrays/kernels (mean_grad, sum_to). For
second derivatives it has to take tensors: engine/build.py makes that form, or finds it in surface/twins.py.

The rest of the table, which works the same and teaches nothing new, is surface/derivatives.py.
"""

from course_lib.engine.ops import row

# --- arithmetic --------------------------------------------------------------------------------------------
# Shapes and types may differ between the operands. No formula deals with it: the engine sums each gradient back to
# the shape of its input (engine/unbroadcast.py). add and sub save nothing at all.

row("add(self, other)", "self + other", names="__add__ __radd__ __iadd__",
    self="grad",
    other="grad")
row("sub(self, other)", "kernels.subtract(self, other)", names="__sub__ __isub__", promotes="promote_difference",
    self="grad",
    other="-grad")
row("mul(self, other)", "self * other", names="in_place __mul__ __rmul__ __imul__",
    self="grad * other",
    other="grad * self")
# With y = a / b: dy/da = 1 / b and dy/db = -a / b**2 = -y / b. The second is divided twice and never squared, since
# b * b of a small b is 0 where y / b is still a number.
row("div(self, other)", "self / other", names="__truediv__ __itruediv__", floating=True,
    self="grad / other",
    other="-grad * ((self / other) / other)")
row("neg(self)", "-kernels.reject_bool(self, kernels.NO_NEGATIVE)", names="function method in_place __neg__",
    self="-grad")
row("pow_number(self, exponent)", "kernels.power(self, exponent)", node="PowBackward0",
    self="power_grad(grad, self, exponent)")

# --- functions of one number -------------------------------------------------------------------------------
# The Jacobian of a function that works element by element is diagonal: a gradient is a product, element by element.
# At a kink the formula chooses: relu has slope 0 at 0. Second derivatives come from the operations that a formula is
# made of. tanh_backward is a row of its own, so there it is one operation.

# To check a formula by hand, write y for the result and differentiate: y = sqrt(x) means y * y = x, so 2 * y * dy = dx
# and dy/dx = 1 / (2 * y). That is the row of sqrt, and it shows why sqrt keeps its result.

row("exp(self)", "np.exp(self)", names="function method in_place", floating=True,
    self="grad * result")
row("log(self)", "np.log(self)", names="function method", floating=True,
    self="grad / self")
row("sqrt(self)", "np.sqrt(self)", names="function method in_place", floating=True,
    self="grad / mul_number(result, 2)")
row("sin(self)", "np.sin(self)", names="function method in_place", floating=True,
    self="grad * cos(self)")
row("cos(self)", "np.cos(self)", names="function method", floating=True,
    self="grad * -sin(self)")
row("tanh(self)", "np.tanh(self)", names="function method in_place", floating=True,
    self="tanh_backward(grad, result)")
row("tanh_backward(grad_output, output)", "grad_output * (1 - output * output)", node="TanhBackwardBackward0",
    elementwise=False, keeps=("grad_output",),
    grad_output="tanh_backward(grad, output)",
    output="grad * (mul_number(output, -2) * grad_output)")
row("relu(self)", "kernels.relu(self)", names="function method in_place",
    self="threshold_backward(grad, result, 0)")

# --- comparing two tensors ---------------------------------------------------------------------------------
# The gradient goes to the one that was taken; equal elements share it half and half.

row("maximum(self: Tensor, other)", "np.maximum(other, self)", names="function method", in_place=False,
    self="share_of_larger(grad, self, other)",
    other="share_of_larger(grad, other, self)")

# --- reductions --------------------------------------------------------------------------------------------
# What a sum adds up has slope 1 in each element: the gradient is spread out again. These save shapes, not tensors,
# which is why `x.sum().backward()` can be called twice on one graph and `(x * x).sum().backward()` cannot. `expand`
# repeats the gradient without a copy; `mean_grad` writes grad / count into each place of new memory.

row("sum_all(self)", "kernels.total(self)", node="SumBackward0", elementwise=False,
    self="expand(grad, self_sym_sizes)")
row("sum_dim(self, dim, keepdim=False)", "kernels.total(self, dim, keepdim)", node="SumBackward1",
    elementwise=False,
    self="expand(restore_dim(grad, self_sym_sizes, dim, keepdim), self_sym_sizes)")
row("mean_all(self)", "kernels.mean(self)", node="MeanBackward0", elementwise=False,
    self="mean_grad(grad, self_sym_sizes, numel(self_sym_sizes))")
# y_i = x_i - log(sum of exp(x_j)). So each x_k has a direct part, grad_k, less what goes through the sum, on which all
# of the y_i depend: exp(x_k) / sum, which is exp(y_k), times the sum of grad.
row("log_softmax(self, dim)", "kernels.log_softmax(self, dim)", elementwise=False,
    self="log_softmax_backward(grad, result, dim)")

# --- products of matrices ----------------------------------------------------------------------------------
# For C = A @ B: dA = dC @ B.T and dB = A.T @ dC. Shapes alone leave no other choice. The functions also choose
# the layout in memory, so that the gradient of a transposed weight can become its `.grad` without a copy.

row("mm(self, mat2)", "kernels.matrix_product(self, mat2)", elementwise=False,
    self="grad_of_left(grad, mat2, self_sym_sizes, self_sym_strides)",
    mat2="grad_of_right(self, grad, mat2_sym_sizes, mat2_sym_strides)")
row("addmm(self, mat1, mat2)", "kernels.matrix_product_plus(self, mat1, mat2)", elementwise=False,
    broadcasts=("self",),
    self="grad",
    mat1="grad_of_left(grad, mat2, mat1_sym_sizes, mat1_sym_strides)",
    mat2="grad_of_right(mat1, grad, mat2_sym_sizes, mat2_sym_strides)")

# --- views: the result looks at the same memory ------------------------------------------------------------
# The way back undoes the way there; `place` makes zeros of the whole's shape, with the gradient in its part. unbind
# returns several tensors from one node, so its formula takes `grads`, with None for results that nobody used.

row("view(self, shape)", "kernels.view(self, shape)", view=True,
    self="reshape(grad, self_sym_sizes)")
row("t(self)", "self.T", view=True,
    self="t(grad)")
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

# --- rearranging into new memory ---------------------------------------------------------------------------
# What was read more than once gets the sum of its gradients: scatter_add is the way back of gather.

row("clone(self)", "kernels.copy(self)", names="function method", elementwise=False,
    self="grad")
row("gather(self, dim: dim, index: Tensor)", "kernels.pick(self, dim, index)", names="function method",
    elementwise=False, keeps=("self",),  # as PyTorch's node does, though no formula asks for it
    self="scatter_add(zeros_of(grad, self_sym_sizes), dim, index, grad)")

# --- only in place -----------------------------------------------------------------------------------------
# The old values of self are lost, so no gradient reaches them; that of the values copied in is theirs.

row("copy(self, src)", "kernels.broadcast_like(src, self)", node="CopyBackwards", elementwise=False,
    broadcasts=("self", "src"), in_place="only",
    self="zeros_like(grad)",
    src="grad")
