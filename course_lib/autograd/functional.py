"""torch.autograd.functional: Jacobians, Hessians and products with them, of a function and its inputs.

PyTorch: torch/autograd/functional.py.
"""

from collections.abc import Callable

from course_lib.arrays import errors
from course_lib.autograd.grad_mode import enable_grad
from course_lib.engine.backward import grad
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.functions import reshape
from course_lib.surface.joining import stack
from course_lib.surface.left_out import doors


def checked(value: object, what: str, name: str) -> tuple:
    """Return a tuple of tensors from one or several; TypeError, naming the caller, for anything else."""
    values = value if isinstance(value, tuple) else (value,)
    for position, v in enumerate(values):
        if not isinstance(v, Tensor):
            which = f"value at index {position}" if isinstance(value, tuple) else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(v)}."
            )
    return values


def called(func: Callable, inputs: Tensor | int | tuple, name: str, create_graph: bool) -> tuple:
    """Return (inputs that begin a new graph, outputs, whether each of both came as a tuple).

    With create_graph the new graph hangs on the old one.
    """
    own = checked(inputs, "inputs", name)
    own = tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in own)
    result = func(*own)
    outputs = checked(result, "outputs of the user-provided function", name)
    return own, outputs, isinstance(inputs, tuple), isinstance(result, tuple)


def gradients(outputs: tuple, inputs: tuple, vectors: tuple, create_graph: bool) -> tuple:
    """Return autograd.grad of those outputs that have history; zeros for inputs that are not reached."""
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    found = [None] * len(inputs)
    if pairs:
        starts, vectors = zip(*pairs, strict=True)
        found = grad(starts, inputs, vectors, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return tuple(zeros(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def zeros(x: Tensor) -> Tensor:
    """Return zeros like a tensor, without its history."""
    return creation.zeros_like(x.detach())


def finished(values: tuple, is_tuple: bool, create_graph: bool) -> Tensor | tuple:
    """Return one tensor or a tuple, without history unless it was asked for."""
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if is_tuple else values[0]


def vectors_for(v: Tensor | tuple | None, like: tuple, name: str) -> tuple:
    """Return the vector of a product, checked against what it multiplies; 1 when that has a single element."""
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


@enable_grad()
def vjp(func: Callable, inputs: Tensor, v: Tensor | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), v times the Jacobian): one backward pass."""
    inputs, outputs, is_tuple, several = called(func, inputs, "vjp", create_graph)
    products = gradients(outputs, inputs, vectors_for(v, outputs, "vjp"), create_graph)
    return finished(outputs, several, create_graph), finished(products, is_tuple, create_graph)


@enable_grad()
def jvp(func: Callable, inputs: Tensor, v: Tensor | tuple | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), the Jacobian times v): the vjp is linear in its vector, so differentiate it by that."""
    inputs, outputs, _, several = called(func, inputs, "jvp", create_graph)
    vectors = vectors_for(v, inputs, "jvp")
    probes = tuple(zeros(o).requires_grad_() for o in outputs)
    products = gradients(gradients(outputs, inputs, probes, True), probes, vectors, create_graph)
    return finished(outputs, several, create_graph), finished(products, several, create_graph)


@enable_grad()
def jacobian(
    func: Callable, inputs: Tensor | int | tuple, create_graph: bool = False, *, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tensor | tuple:
    """Return all derivatives: for output o and input x a tensor of shape (*o.shape, *x.shape), one backward pass a row.

    A tuple of outputs or of inputs gives a tuple for each. `vectorize` changes nothing here. NotSupportedError for a
    strategy other than "reverse-mode".
    """
    if strategy != "reverse-mode":
        raise errors.not_supported(f"the strategy {strategy!r}", 'Use "reverse-mode".')
    inputs, outputs, is_tuple, several = called(func, inputs, "jacobian", create_graph)
    blocks = tuple(finished(rows_of(o, inputs, create_graph), is_tuple, create_graph) for o in outputs)
    return blocks if several else blocks[0]


def rows_of(output: Tensor, inputs: tuple, create_graph: bool) -> tuple:
    """Return the Jacobian of one output, for each input."""
    if not output.numel():
        return tuple(creation.zeros((*output.shape, *x.shape), dtype=x.dtype) for x in inputs)
    one = creation.ones((), dtype=output.dtype)
    rows = [gradients((element,), inputs, (one,), create_graph) for element in reshape(output, -1)]
    columns = zip(*rows, strict=True)
    return tuple(
        reshape(stack(column, 0), (*output.shape, *x.shape)) for column, x in zip(columns, inputs, strict=True)
    )


def check_single(result: Tensor, name: str) -> None:
    """Raise RuntimeError unless a function returned one number, as a tensor by itself."""
    if isinstance(result, tuple) or result.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def hessian(
    func: Callable, inputs: Tensor | tuple, create_graph: bool = False, *, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensor | tuple | None:
    """Return all second derivatives of a function that returns one number: the Jacobian of its Jacobian."""
    is_tuple = isinstance(inputs, tuple)
    checked(inputs, "inputs", "hessian")

    def scalar(*own):
        result = func(*own)
        checked(result, "outputs of the user-provided function", "hessian")
        check_single(result, "hessian")
        return reshape(result, ())

    def slope(*own):
        return jacobian(scalar, own, True)

    result = jacobian(slope, inputs if is_tuple else (inputs,), create_graph, strategy=outer_jacobian_strategy)
    return result if is_tuple else result[0][0]


@enable_grad()
def vhp(
    func: Callable, inputs: Tensor, v: Tensor | None = None, create_graph: bool = False, *, transposed: bool = False
) -> tuple:
    """Return (func(inputs), v times the Hessian) of a function that returns one number."""
    name = "hvp" if transposed else "vhp"
    inputs, outputs, is_tuple, several = called(func, inputs, name, create_graph)
    vectors = vectors_for(v, inputs, name)
    check_single(outputs if several else outputs[0], name)
    slopes = gradients(outputs, inputs, (creation.ones_like(outputs[0].detach()),), True)
    if transposed:  # v H is linear in v: its derivative by v, in the direction of v, is H v
        probes = tuple(zeros(x).requires_grad_() for x in inputs)
        products = gradients(gradients(slopes, inputs, probes, True), probes, vectors, create_graph)
    else:
        products = gradients(slopes, inputs, vectors, create_graph)
    return finished(outputs, False, create_graph), finished(products, is_tuple, create_graph)


def hvp(func: Callable, inputs: Tensor, v: Tensor | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), the Hessian times v) of a function that returns one number."""
    return vhp(func, inputs, v, create_graph, transposed=True)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__getattr__, __dir__ = doors("torch.autograd.functional", __all__)
