"""torch.autograd.functional: Jacobians, Hessians and products with them, of a function and its inputs.

PyTorch: torch/autograd/functional.py.
"""

from course_lib.arrays import errors
from course_lib.autograd.grad_mode import enable_grad
from course_lib.engine.backward import grad
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.functions import reshape
from course_lib.surface.joining import stack
from course_lib.surface.left_out import doors

OF_FUNCTION = "outputs of the user-provided function"


def checked(value, what, name):
    """A tuple of tensors from one or several; TypeError, naming the caller, for anything else."""
    values = value if isinstance(value, tuple) else (value,)
    for position, v in enumerate(values):
        if not isinstance(v, Tensor):
            which = f"value at index {position}" if isinstance(value, tuple) else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(v)}."
            )
    return values


def fresh(inputs, create_graph):
    """The inputs as the starting points of a new graph; connected to the old one only with create_graph."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def call(func, inputs, name):
    """(outputs as a tuple, whether they came as one)."""
    result = func(*inputs)
    return checked(result, "outputs of the user-provided function", name), isinstance(result, tuple)


def gradients(outputs, inputs, vectors, create_graph):
    """autograd.grad of those outputs that have history; None for inputs that are not reached."""
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in pairs], inputs, [v for _, v in pairs], create_graph=create_graph, retain_graph=True,
        allow_unused=True,
    )


def filled(grads, like):
    """Zeros for gradients that are None."""
    return tuple(creation.zeros_like(x.detach()) if g is None else g for g, x in zip(grads, like, strict=True))


def finished(values, is_tuple, create_graph):
    """One tensor or a tuple, without history unless it was asked for."""
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if is_tuple else values[0]


def vectors_for(v, like, name):
    """The vector of a product, checked against what it multiplies; 1 when that has a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            what = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return (creation.ones_like(like[0].detach()),)
    v = checked(v, "v", name)
    if len(v) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
    for position, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.size() != b.size():
            entry = f"Entry {position} in v" if len(like) > 1 else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.size()} but got {a.size()}.")
    return v


def vjp(func, inputs, v=None, create_graph=False):
    """(func(inputs), v times the Jacobian): one backward pass."""
    with enable_grad():
        is_tuple = isinstance(inputs, tuple)
        inputs = fresh(checked(inputs, "inputs", "vjp"), create_graph)
        outputs, several = call(func, inputs, "vjp")
        vectors = vectors_for(v, outputs, "vjp")
        grads = gradients(outputs, inputs, vectors, create_graph)
        products = filled(grads, inputs)
    return finished(outputs, several, create_graph), finished(products, is_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False):
    """(func(inputs), the Jacobian times v): the vjp is linear in its vector, so differentiate it by that vector."""
    with enable_grad():
        inputs = fresh(checked(inputs, "inputs", "jvp"), create_graph)
        vectors = vectors_for(v, inputs, "jvp")
        outputs, several = call(func, inputs, "jvp")
        probes = tuple(creation.zeros_like(o.detach()).requires_grad_() for o in outputs)
        grads = gradients(outputs, inputs, probes, True)
        products = gradients(grads, probes, vectors, create_graph)
        products = filled(products, probes)
    return finished(outputs, several, create_graph), finished(products, several, create_graph)


def jacobian(func, inputs, create_graph=False, vectorize=False, strategy="reverse-mode"):
    """All derivatives: for output o and input x a tensor of shape (*o.shape, *x.shape), one backward pass a row.

    A tuple of outputs or of inputs gives a tuple for each. `vectorize` changes nothing here. NotSupportedError for a
    strategy other than "reverse-mode".
    """
    if strategy != "reverse-mode":
        raise errors.not_supported(f"the strategy {strategy!r}", 'Use "reverse-mode".')
    with enable_grad():
        is_tuple = isinstance(inputs, tuple)
        inputs = fresh(checked(inputs, "inputs", "jacobian"), create_graph)
        outputs, several = call(func, inputs, "jacobian")
        blocks = [rows_of(o, inputs, create_graph) for o in outputs]
    blocks = [finished(block, is_tuple, create_graph) for block in blocks]
    return tuple(blocks) if several else blocks[0]


def rows_of(output, inputs, create_graph):
    """The Jacobian of one output, for each input."""
    if not output.numel():
        return tuple(creation.zeros((*output.shape, *x.shape), dtype=x.dtype) for x in inputs)
    rows = []
    for element in reshape(output, -1):
        row = gradients((element,), inputs, (creation.ones_like(element.detach()),), create_graph)
        rows.append(filled(row, inputs))
    columns = zip(*rows, strict=True)
    return tuple(
        reshape(stack(column, 0), (*output.shape, *x.shape)) for column, x in zip(columns, inputs, strict=True)
    )


def check_single(result, name):
    """RuntimeError unless a function returned one number, as a tensor by itself."""
    if isinstance(result, tuple):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if result.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def hessian(func, inputs, create_graph=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """All second derivatives of a function that returns one number: the Jacobian of its Jacobian."""
    is_tuple = isinstance(inputs, tuple)
    checked(inputs, "inputs", "hessian")

    def scalar(*own):
        result = func(*own)
        checked(result, "outputs of the user-provided function", "hessian")
        check_single(result, "hessian")
        return reshape(result, ())

    def slope(*own):
        return jacobian(scalar, own, True)

    inputs = inputs if is_tuple else (inputs,)
    result = jacobian(slope, inputs, create_graph, vectorize, outer_jacobian_strategy)
    return result if is_tuple else result[0][0]


def second_products(func, inputs, v, create_graph, name):
    """(func(inputs), a product of the Hessian with v): the gradient is differentiated, once for vhp, twice for hvp."""
    with enable_grad():
        is_tuple = isinstance(inputs, tuple)
        inputs = fresh(checked(inputs, "inputs", name), create_graph)
        vectors = vectors_for(v, inputs, name)
        outputs, several = call(func, inputs, name)
        check_single(outputs if several else outputs[0], name)
        slopes = gradients(outputs, inputs, (creation.ones_like(outputs[0].detach()),), True)
        if name == "vhp":
            products = gradients(slopes, inputs, vectors, create_graph)
        else:  # the product v H is linear in v: its derivative by v, in the direction of v, is H v
            probes = tuple(creation.zeros_like(x.detach()).requires_grad_() for x in inputs)
            twice = gradients(slopes, inputs, probes, True)
            products = gradients(twice, probes, vectors, create_graph)
        products = filled(products, inputs)
    return finished(outputs, False, create_graph), finished(products, is_tuple, create_graph)


def vhp(func, inputs, v=None, create_graph=False):
    """(func(inputs), v times the Hessian) of a function that returns one number."""
    return second_products(func, inputs, v, create_graph, "vhp")


def hvp(func, inputs, v=None, create_graph=False):
    """(func(inputs), the Hessian times v) of a function that returns one number."""
    return second_products(func, inputs, v, create_graph, "hvp")


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__getattr__, __dir__ = doors("torch.autograd.functional", __all__)
