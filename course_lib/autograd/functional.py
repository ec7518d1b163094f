"""torch.autograd.functional: Jacobians, Hessians and products with them, of a function and its inputs.

PyTorch: torch/autograd/functional.py.
"""

from course_lib import errors
from course_lib.autograd.grad_mode import enable_grad
from course_lib.native import creation
from course_lib.native.composites import reshape, stack
from course_lib.tensor import Tensor


def checked(value, what, name):
    """A tuple of tensors from one or several; TypeError, naming the caller, for anything else."""
    values = value if isinstance(value, tuple) else (value,)
    for position, v in enumerate(values):
        if not isinstance(v, Tensor):
            if isinstance(value, tuple):
                raise TypeError(
                    f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at index "
                    f"{position} has type {type(v)}."
                )
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the given {what} has "
                f"type {type(value)}."
            )
    return values


def fresh(inputs, create_graph):
    """The inputs as the starting points of a new graph; connected to the old one only with create_graph."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def call(func, inputs, name):
    """(outputs as a tuple, whether they came as one)."""
    result = func(*inputs)
    return checked(result, "outputs of the user-provided function", name), isinstance(result, tuple)


def check_strict(outputs, strict):
    """In strict mode every output must depend on something that requires grad."""
    for position, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise RuntimeError(
                f"Output {position} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode."
            )


def gradients(outputs, inputs, vectors, create_graph):
    """autograd.grad of those outputs that have history; None for inputs that are not reached."""
    from course_lib.autograd import grad

    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in pairs], inputs, [v for _, v in pairs], create_graph=create_graph, retain_graph=True,
        allow_unused=True,
    )


def filled(grads, inputs, strict, message):
    """Zeros for gradients that are None; in strict mode an error."""
    result = []
    for position, (g, x) in enumerate(zip(grads, inputs, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(message.format(position))
            g = creation.zeros_like(x.detach())
        result.append(g)
    return tuple(result)


def finished(values, is_tuple, create_graph):
    """One tensor or a tuple, without history unless it was asked for."""
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if is_tuple else values[0]


def vectors_for(v, like, none_message, name):
    """The vector of a product, checked against what it multiplies; 1 when that has a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(none_message)
        return (creation.ones_like(like[0].detach()),)
    v = checked(v, "v", name)
    if len(v) != len(like):
        if len(like) == 1:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
    for position, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.size() != b.size():
            entry = f"Entry {position} in v" if len(like) > 1 else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.size()} but got {a.size()}.")
    return v


ONE_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)
ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)
INDEPENDENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), v times the Jacobian): one backward pass."""
    with enable_grad():
        is_tuple = isinstance(inputs, tuple)
        inputs = fresh(checked(inputs, "inputs", "vjp"), create_graph)
        outputs, several = call(func, inputs, "vjp")
        check_strict(outputs, strict)
        vectors = vectors_for(v, outputs, ONE_OUTPUT, "vjp")
        grads = gradients(outputs, inputs, vectors, create_graph)
        products = filled(grads, inputs, strict, INDEPENDENT)
    return finished(outputs, several, create_graph), finished(products, is_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), the Jacobian times v): the vjp is linear in its vector, so differentiate it by that vector."""
    with enable_grad():
        inputs = fresh(checked(inputs, "inputs", "jvp"), create_graph)
        vectors = vectors_for(v, inputs, ONE_INPUT, "jvp")
        outputs, several = call(func, inputs, "jvp")
        check_strict(outputs, strict)
        probes = tuple(creation.zeros_like(o.detach()).requires_grad_() for o in outputs)
        grads = filled(gradients(outputs, inputs, probes, True), inputs, strict, INDEPENDENT)
        products = gradients(grads, probes, vectors, create_graph)
        products = filled(products, probes, strict, INDEPENDENT)
    return finished(outputs, several, create_graph), finished(products, several, create_graph)


def backward_only(strategy):
    """NotSupportedError for forward mode, which this engine leaves out."""
    if strategy != "reverse-mode":
        raise errors.not_supported(f"the strategy {strategy!r}", 'Use "reverse-mode".')


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """All derivatives: for output o and input x a tensor of shape (*o.shape, *x.shape), one backward pass a row.

    A tuple of outputs or of inputs gives a tuple for each. `vectorize` changes nothing here. NotSupportedError for a
    strategy other than "reverse-mode".
    """
    backward_only(strategy)
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        is_tuple = isinstance(inputs, tuple)
        inputs = fresh(checked(inputs, "inputs", "jacobian"), create_graph)
        outputs, several = call(func, inputs, "jacobian")
        check_strict(outputs, strict)
        blocks = [rows_of(o, number, inputs, create_graph, strict) for number, o in enumerate(outputs)]
    blocks = [finished(block, is_tuple, create_graph) for block in blocks]
    return tuple(blocks) if several else blocks[0]


def rows_of(output, number, inputs, create_graph, strict):
    """The Jacobian of one output, for each input."""
    message = (
        f"Output {number} of the user-provided function is independent of input {{}}. This is not allowed in "
        "strict mode."
    )
    rows = []
    for element in reshape(output, -1):
        grads = gradients((element,), inputs, (creation.ones_like(element.detach()),), create_graph)
        rows.append(filled(grads, inputs, strict, message))
    if not rows:
        return tuple(creation.zeros((*output.shape, *x.shape), dtype=x.dtype) for x in inputs)
    columns = zip(*rows, strict=True)
    return tuple(
        reshape(stack(column, 0), (*output.shape, *x.shape)) for column, x in zip(columns, inputs, strict=True)
    )


def single(func, name):
    """func, checked to return one number."""

    def scalar(*inputs):
        result = func(*inputs)
        checked(result, "outputs of the user-provided function", name)
        if isinstance(result, tuple) and len(result) != 1:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        result = result[0] if isinstance(result, tuple) else result
        if result.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return reshape(result, ())

    return scalar


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """All second derivatives of a function that returns one number: the Jacobian of its Jacobian."""
    backward_only(outer_jacobian_strategy)
    is_tuple = isinstance(inputs, tuple)
    checked(inputs, "inputs", "hessian")
    scalar = single(func, "hessian")

    def slope(*own):
        grads = jacobian(scalar, own, create_graph=True, strict=strict)
        check_second(grads, strict)
        return grads

    result = jacobian(slope, inputs if is_tuple else (inputs,), create_graph=create_graph, strict=strict)
    return result if is_tuple else result[0][0]


def check_second(grads, strict):
    """In strict mode every gradient must itself depend on something."""
    for position, g in enumerate(grads):
        if strict and not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {position} is independent of the input. This is not allowed in strict mode. You "
                "should ensure that "
                "your function is twice differentiable and that the jacobian depends on the inputs (this "
                "would be violated "
                "by a linear function for example)."
            )


def hessian_product(func, inputs, v, create_graph, strict, name):
    """(func(inputs), the Hessian times v): the gradient, differentiated in the direction v. The Hessian is "
    "symmetric."""
    with enable_grad():
        is_tuple = isinstance(inputs, tuple)
        inputs = fresh(checked(inputs, "inputs", name), create_graph)
        vectors = vectors_for(v, inputs, ONE_INPUT, name)
        outputs, _ = call(func, inputs, name)
        output = single(lambda *_: outputs[0], name)()
        check_strict((output,), strict)
        grads = filled(gradients((output,), inputs, (creation.ones_like(output.detach()),), True), inputs, strict,
                       INDEPENDENT)
        check_second(grads, strict)
        products = filled(gradients(grads, inputs, vectors, create_graph), inputs, strict, INDEPENDENT)
    return finished((outputs[0],), False, create_graph), finished(products, is_tuple, create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), v times the Hessian) of a function that returns one number."""
    return hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), the Hessian times v) of a function that returns one number."""
    return hessian_product(func, inputs, v, create_graph, strict, "hvp")
