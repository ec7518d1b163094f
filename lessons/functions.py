"""Helpers that the exercises of lesson 11 and of its part 11b share: Functions, and what is said of them."""

import functools
import re

from coursekit.judge.exercise import not_yet
from lessons import shared

IN_PLACE = "modified by an inplace operation"
COUNT = "incorrect number of gradients"
SHAPE = "returned an invalid gradient"
ONCE = "marked with @once_differentiable"


def near(found, wanted, tolerance=1e-5):
    """Two tensors have one shape and agree."""
    return shared.alike(found, wanted, tolerance)


def is_function(answer, torch):
    """Is it a Function class that fits this engine?"""
    return isinstance(answer, type) and issubclass(answer, torch.autograd.Function)


NO_FUNCTION = "Keep the class line: the answer is a subclass of torch.autograd.Function."
RETURNED = (  # what the engine says about backward's return, and how to say it to the learner
    (r"incorrect number of gradients \(expected (\d+), got (\d+)\)",
     "backward must return {} gradients, one for each argument of forward. It returned {}."),
    (r"gradient different than None at position (\d+)",
     "Argument {} of forward is no tensor, so backward returns None for it, and nothing else will do."),
    (r"invalid gradient at index (\d+) - got (\[.*?\]) but expected shape compatible with (\[.*?\])",
     "backward's gradient number {} (counted from 0) has the shape {}; its argument has the shape {}."),
    (r"expected Variable or None \(got (\w+)\)",
     "backward returned a {} where the gradient of a tensor belongs: a tensor, or None."),
)  # fmt: skip


def of_a_function(check):
    """A check that asks for a Function class first, and puts what the engine says of its return into words."""

    @functools.wraps(check)
    def careful(answer, torch):
        if not is_function(answer, torch):
            return not_yet(NO_FUNCTION)
        try:
            return check(answer, torch)
        except RuntimeError as error:
            for pattern, words in RETURNED:
                if found := re.search(pattern, str(error)):
                    return not_yet(words.format(*found.groups()))
            raise

    return careful


def tensors_on(node, torch):
    """The tensors that somebody put on a node as attributes, also inside a list, tuple or dict."""
    found = []
    for name, value in list(vars(node).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            value = list(value.values())
        values = value if isinstance(value, (list, tuple)) else [value]
        found += [one for one in values if isinstance(one, torch.Tensor)]
    return found


def slots_of(node):
    """The tensors in the slots of a custom Function's node."""
    return [slot for slot in node.saved_tensors if slot is not None]


def shares(one, other):
    """Do two tensors lie in one memory?"""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def graph_of_gradient(torch, output, inputs):
    """Tell what differentiating the gradients once more would meet: "a graph", "an error", or "nothing"."""
    grad = torch.full(tuple(output.shape), 0.5, dtype=torch.float64, requires_grad=True)
    found = torch.autograd.grad(output, inputs, grad, create_graph=True)
    if not all(each.requires_grad for each in found):
        return "nothing"
    try:
        sum((each * each).sum() for each in found).backward()  # the node that refuses leads to no input
    except RuntimeError as error:
        if ONCE not in str(error):
            raise
        return "an error"
    return "a graph"


def function(torch, forward, backward, name="Fn"):
    """A Function class with these two static methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)


def number_or_word(part):
    """A number, also one written as text; any other text in lower case."""
    try:
        return float(part)
    except (TypeError, ValueError):
        return str(part).strip().lower()


def scalar(torch, value):
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


FIRST_6 = "    @staticmethod\n    def backward"
REFUSED_6 = "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward"
