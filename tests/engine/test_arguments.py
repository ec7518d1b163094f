"""What functions are handed: numbers of NumPy, its words, and what nobody asked for.

Each line is a call with a place for an argument, {}. Every number is put there, on course_lib and on real PyTorch:
values, element types, nodes, gradients and errors must be the same.
"""

import importlib
import pickle
import types

import numpy as np
import pytest

import course_lib
from tests.engine.facts import attempt, name_of, same, value_of

NUMBERS = [np.float64(0.5), np.float32(0.5), np.float64(2), np.int64(2), np.int32(2), np.bool_(True), 0.5, 2]
TAKE_NUMBERS = """
    x + {}
    {} - x
    {} ** i
    x ** {}
    i % {}
    torch.add(x, y, alpha={})
    torch.sub(x, y, alpha={})
    torch.clamp(x, {})
    x.addcmul(x, y, value={})
    x.addcdiv(y, y, value={})
    torch.index_add(x, 0, p, y, alpha={})
    torch.lerp(x, y, {})
    x.std(1, correction={})
    torch.norm(x, {})
    torch.where(x > 0, x, {})
    torch.masked_fill(x, x > 0, {})
    F.softplus(x, {}, {})
    F.layer_norm(x, (3,), None, None, {})
    F.batch_norm(x, None, None, None, None, True, 0.1, {})
    F.pad(x, (1, 1), "constant", {})
""".strip().splitlines()


def outcome(torch, call, argument):
    """What a call gives: value, node and gradients, or the error as 'Type: first line'."""

    def make(values, dtype="float32"):
        return torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=dtype == "float32")

    names = {
        "torch": torch, "F": torch.nn.functional, "np": np, "argument": argument, "p": make([1, 0], "int64"),
        "x": make([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]]), "y": make([[1.5, 0.75, -0.5], [2.5, 1.0, 0.25]]),
        "s": make([[2.0, -0.5], [0.75, 1.5]]), "v": make([0.5, -1.5]), "i": make([2, 1], "int64"),
    }  # fmt: skip
    result = eval(call.strip().replace("{}", "argument"), names)
    if not isinstance(result, torch.Tensor):
        return str(result)
    facts = [value_of(result), name_of(result.grad_fn)]
    if result.requires_grad:
        leaves = [names[name] for name in "xysv"]
        grads = torch.autograd.grad(result.sum(), leaves, allow_unused=True)
        facts += [grad if grad is None else value_of(grad) for grad in grads]
    return facts


@pytest.mark.parametrize("call", TAKE_NUMBERS, ids=str.strip)
def test_numbers_of_numpy_are_numbers(call, real_torch):
    """A number of NumPy counts as Python's: it widens no result, and no gradient."""
    for number in NUMBERS:
        ours, theirs = (attempt(lambda t=t, n=number: outcome(t, call, n)) for t in (course_lib, real_torch))
        assert same(ours, theirs), (number, ours, theirs)


RARE = """
    len(s[0, 0])
    (p > 0).argmax()
    x.detach().copy_(v)
    s[0, 0].log_softmax(0)
    torch.add(p > 0, p > 0, alpha=False)
    torch.inference_mode()(v.detach().__deepcopy__)({}).is_inference()
    repr((lambda h: (h.unbind()[1], h.mul_(2))[0])(x * 1))
""".strip().splitlines()


@pytest.mark.parametrize("call", RARE, ids=str.strip)
def test_calls_that_are_seldom_made(call, real_torch):
    """What they are given is unusual: no dimension, truth values, inference mode, a view that may not be used."""
    ours, theirs = (attempt(lambda t=t: outcome(t, call, None)) for t in (course_lib, real_torch))

    assert same(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("call", ["torch.topk(x, 1, nothing=1)", "x.amax(0, False, 3)", "torch.diag()"])
def test_arguments_that_nobody_asked_for(call, real_torch):
    """Unknown words, too many arguments and missing ones are TypeErrors."""
    for torch in (course_lib, real_torch):
        with pytest.raises(TypeError):
            outcome(torch, call, None)


def test_whole_numbers_may_come_from_numpy_and_from_tensors(torch):
    """A dimension may be an integer of NumPy, or a tensor that holds one."""
    x = torch.arange(6.0).reshape(2, 3)

    for one in (np.int64(1), np.int32(1), torch.tensor(1)):
        assert x.argmax(one).tolist() == [2, 2] and x.unsqueeze(one).shape == (2, 1, 3)


def test_numpys_words_and_input(torch):
    """axis, keepdims and input are understood, as in PyTorch."""
    x = torch.arange(6.0).reshape(2, 3)

    assert torch.amax(input=x, axis=1, keepdims=True).tolist() == [[2], [5]]
    assert torch.exp(input=x).shape == (2, 3) and x.softmax(axis=0).shape == (2, 3)


def test_an_operator_by_name_refuses_what_it_cannot_use(torch):
    """x + "a" is left to the other side; torch.add and x.add_ say that it is no operand."""
    x = torch.ones(2)

    for call in (lambda: torch.add(x, "a"), lambda: x.mul_("a"), lambda: x.eq("a"), lambda: torch.div(x, [1])):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("module", ["course_lib", "course_lib.nn.functional", "course_lib.linalg"])
def test_functions_are_pickled_by_name(module):
    """A module that keeps torch.softmax as an attribute can be saved: the parser before it is found where it stands."""
    owner = importlib.import_module(module)
    functions = [getattr(owner, name) for name in dir(owner) if not name.startswith("_")]
    functions = [each for each in functions if isinstance(each, types.FunctionType)]
    lost = []
    for function in functions:
        try:
            if pickle.loads(pickle.dumps(function)) is not function:
                lost.append(function)
        except (pickle.PicklingError, AttributeError):
            lost.append(function)

    assert functions and lost == []
