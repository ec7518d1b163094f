"""Helpers that the exercises of lesson 12 and of its part 12b share."""

import functools
import inspect
import math
import random
import re

from coursekit.judge.exercise import not_yet
from lessons.shared import numbers

NOT_A_TENSOR = "expected Variable, but hook returned"
PLAIN = "cannot register a hook on a tensor that doesn't require gradient"


def tensor_hooks(t):
    """The tensor hooks and the post-accumulate hooks of a tensor, in one list."""
    return [*(t._backward_hooks or {}).values(), *(t._post_accumulate_grad_hooks or {}).values()]


def leaf_like(torch, *shape, low=0.5, high=2.0):
    """A random float64 leaf that requires grad."""
    values = torch.tensor(numbers(math.prod(shape), low, high), dtype=torch.float64).reshape(shape)
    return values.detach().requires_grad_()


def hooks_in_words(check):
    """A check that says of an error in a pass that a learner's hook raised it, or that it returned what is refused."""

    @functools.wraps(check)
    def careful(answer, torch):
        try:
            return check(answer, torch)
        except Exception as error:
            code, step, met = getattr(inspect.unwrap(answer), "__code__", None), error.__traceback__, []
            while step is not None:
                met.append(step.tb_frame.f_code)
                step = step.tb_next
            if code is None or code in met:
                raise
            if re.search(r"hook '.*' has|hook returned|hooks should return", str(error)):
                return not_yet(f"The pass refuses what your hook returned: {error}.")
            if not any(each.co_filename == code.co_filename for each in met):
                raise
            said = str(error).rstrip(".")
            return not_yet(f"When the pass called your hook, it raised {type(error).__name__}: {said}.")

    return careful


def mixed(torch, shape):
    """Weights for a loss: of either sign, a zero and a large one among them."""
    sizes, sign = numbers(math.prod(shape), 0.2, 3.0), random.choice((-1, 1))
    sizes[-1] *= 20
    values = [size * sign * (-1) ** place for place, size in enumerate(sizes)]
    values[:1] = [0.0] if len(values) > 2 else values[:1]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)
