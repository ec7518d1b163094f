"""gradcheck and gradgradcheck: compares what backward computes with finite differences.

PyTorch: torch/autograd/gradcheck.py.

A column of the numerical Jacobian comes from calling the function twice, with one input element moved up and down by
eps. A column of the analytical one comes from one backward pass, started with a single 1.
"""

import warnings
from collections.abc import Callable

import numpy as np

from course_lib.arrays import errors
from course_lib.engine.backward import grad
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation

ONLY_BACKWARD = "Leave it out: backward mode is what is compared with finite differences."


class GradcheckError(RuntimeError):
    """The gradients are wrong; the message shows both Jacobians."""


def gradcheck(
    func: Callable, inputs: Tensor | tuple, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_batched_grad: bool = False, check_forward_ad: bool = False, fast_mode: bool = False,
) -> bool:
    """Return True when the gradients of func for every input that requires grad agree with finite differences.

    inputs: a tensor or a tuple; use float64. GradcheckError (False with raise_exception=False) when they disagree,
    when backward gives another answer the second time, does not multiply by the gradient it is given, or cannot do
    without one (check_undefined_grad). fast_mode changes nothing here: every entry is compared. NotSupportedError
    for the checks that this engine cannot make: a check asked for and left out would look like one that passed.
    """
    errors.refuse("gradcheck", ONLY_BACKWARD, check_forward_ad=check_forward_ad, check_batched_grad=check_batched_grad)
    inputs = as_tuple(inputs)
    try:
        check_inputs(inputs)
        outputs = differentiable(func(*inputs))
        if not outputs:
            check_zero(func, inputs, eps)
            return True
        compare(func, inputs, outputs, eps, atol, rtol, nondet_tol)
        check_multiplies(outputs, inputs)
        if check_undefined_grad:
            check_undefined(func, inputs, len(outputs))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable, inputs: Tensor | tuple, grad_outputs: Tensor | None = None, *, check_fwd_over_rev: bool = False,
    check_batched_grad: bool = False, **options,
) -> bool:
    """Run gradcheck on the gradient: as a function of the inputs and of grad_outputs (random unless given)."""
    further = dict(check_fwd_over_rev=check_fwd_over_rev, check_batched_grad=check_batched_grad)
    errors.refuse("gradgradcheck", ONLY_BACKWARD, **further)
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*inputs))
        given = tuple((creation.rand(o.shape, dtype=o.dtype) * 2 - 1).requires_grad_() for o in outputs)
    else:
        given = as_tuple(grad_outputs)

    def gradient(*args):
        own, vectors = args[: len(inputs)], args[len(inputs) :]
        outputs = differentiable(func(*own))
        grads = grad(outputs, wanted(own), vectors, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(gradient, inputs + given, **options)


# --- the parts ---------------------------------------------------------------------------------------------


def as_tuple(value: Tensor | tuple) -> tuple:
    """Return a tuple from one value or several."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def differentiable(outputs: Tensor | tuple) -> tuple:
    """Return the outputs that require grad."""
    return tuple(o for o in as_tuple(outputs) if o.requires_grad)


def wanted(inputs: tuple) -> list:
    """Return the inputs that require grad."""
    return [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]


def check_inputs(inputs: tuple) -> None:
    """Raise ValueError when nothing requires grad, RuntimeError for shared memory; warn of float32."""
    if not wanted(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for position, x in enumerate(inputs):
        if not (isinstance(x, Tensor) and x.requires_grad):
            continue
        if x.dtype.name != "float64":
            warnings.warn(
                f"Input #{position} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )


def numerical_jacobians(outputs_of: Callable, x: Tensor, eps: float) -> list:
    """Return, for each output, the matrix (elements of x, elements of the output) of difference quotients.

    x is changed through NumPy, which no version counter sees, and restored.
    """
    memory, found = x.data.numpy(), [np.zeros((x.numel(), o.numel()), o.array.dtype) for o in outputs_of()]
    for number, place in enumerate(np.ndindex(memory.shape)):
        before = memory[place].copy()
        memory[place] = before + eps
        above = [o.detach().clone() for o in outputs_of()]
        memory[place] = before - eps
        below = [o.detach().clone() for o in outputs_of()]
        memory[place] = before
        for matrix, a, b in zip(found, above, below, strict=True):
            matrix[number] = ((a - b) / (2 * eps)).reshape(-1).numpy()
    return found


def analytical_jacobians(output: Tensor, inputs: list) -> list | None:
    """Return, for each input, the matrix (its elements, elements of the output), one backward pass a column."""
    found = [np.zeros((x.numel(), output.numel()), x.array.dtype) for x in inputs]
    for number in range(output.numel()):
        start = creation.zeros(output.numel(), dtype=output.dtype)
        start[number] = 1
        grads = grad(output, inputs, start.reshape(output.shape), retain_graph=True, allow_unused=True)
        for matrix, g in zip(found, grads, strict=True):
            matrix[:, number] = 0 if g is None else g.detach().reshape(-1).numpy()
    return found


def compare(
    func: Callable, inputs: tuple, outputs: tuple, eps: float, atol: float, rtol: float, nondet_tol: float
) -> None:
    """Raise GradcheckError unless every analytical Jacobian is near the numerical one, and the same twice."""
    tensors = wanted(inputs)
    numerical = [numerical_jacobians(lambda: differentiable(func(*inputs)), x, eps) for x in tensors]
    for o, output in enumerate(outputs):
        first, again = analytical_jacobians(output, tensors), analytical_jacobians(output, tensors)
        for x, a, n in zip(tensors, first, numerical, strict=True):
            if not np.allclose(a, n[o], rtol, atol):
                position = next(i for i, each in enumerate(inputs) if each is x)
                raise GradcheckError(
                    f"Jacobian mismatch for output {o} with respect to input {position},\n"
                    f"numerical:{creation.tensor(n[o])}\nanalytical:{creation.tensor(a)}\n"
                )
        if any(a.size and np.abs(a - b).max() > nondet_tol for a, b in zip(first, again, strict=True)):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {nondet_tol}. Pass `nondet_tol=<tol>` if that is expected."
            )


def check_zero(func: Callable, inputs: tuple, eps: float) -> bool:
    """Return a function without differentiable outputs must not depend on its inputs."""

    def floats():
        return [o for o in as_tuple(func(*inputs)) if o.is_floating_point()]

    for x in wanted(inputs):
        if any(j.any() for j in numerical_jacobians(floats, x, eps)):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def check_multiplies(outputs: tuple, inputs: tuple) -> None:
    """Check that zeros go out where zeros come in. (Their shape and type are the engine's affair.)"""
    zeros = [creation.zeros_like(o.detach()) for o in outputs]
    for g in grad(outputs, wanted(inputs), zeros, allow_unused=True):
        if g is not None and bool((g != 0).any()):
            raise GradcheckError("backward not multiplied by grad_output")


def check_undefined(func: Callable, inputs: tuple, count: int) -> None:
    """Check that a backward copes with gradients that are undefined: all of them, and each one by itself."""
    for undefined in [range(count), *([i] for i in range(count) if count > 1)]:
        check_without(func, inputs, undefined)


def check_without(func: Callable, inputs: tuple, undefined: list | range) -> None:
    """Raise GradcheckError unless undefined gradients for these outputs, zeros for others, give zeros or nothing."""
    from course_lib.autograd.function import UndefinedGrad  # read late, as Function is

    tensors, outputs = wanted(inputs), list(differentiable(func(*inputs)))
    for i in undefined:
        outputs[i] = UndefinedGrad.apply(outputs[i])
    zeros = [creation.zeros_like(o.detach()) for o in outputs]
    try:
        grads = grad(outputs, tensors, zeros, allow_unused=True)
    except RuntimeError as error:
        raise GradcheckError(f"Expected backward function to handle undefined output grads. {UNDEFINED}") from error
    if any(g is not None and bool((g != 0).any()) for g in grads):
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero. " + UNDEFINED
        )


UNDEFINED = "Pass check_undefined_grad=False to leave out this check."
