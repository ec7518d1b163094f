"""The claims of part 15b, PyTorch's own source, on our engine and on real PyTorch.

Which C++ function raises is proved on PyTorch by making the record anew; on our engine the test reads the record that
the lesson prints.
"""

import contextlib
import re
import warnings

import pytest

from coursekit.records.sources import ENGINE, sources
from lessons.claims_kit import CHANGED, FREED, from_lesson, function, raises, shown

DETACHED = "detached in-place"


def begin(torch):
    return from_lesson(torch, "15b", "begin").begin()


def test_c15b_1_our_file_and_theirs(torch):
    """Every file of our engine names the files of PyTorch that it stands for."""
    found = sources()

    assert sorted(found) == sorted(f"engine/{file.name}" for file in ENGINE.glob("*.py") if file.stem != "__init__")
    assert all(re.match(r"[\w/]+\.(h|cpp|py|yaml)\b|[\w/*]+\.cpp", theirs) for theirs in found.values())
    assert found["engine/saved.py"].startswith("torch/csrc/autograd/saved_variable.h")


def test_c15b_2_who_raises(torch):
    """The errors about a freed and about an overwritten saved tensor both come from SavedVariable::unpack, which a
    node calls when Engine::evaluate_function runs it."""
    lines = dict(line.split(": ", 1) for line in shown(torch, "who raised it").splitlines())

    for name, node in (("freed", "MulBackward0::apply"), ("changed", "SinBackward0::apply")):
        functions = lines[name].split(", ")
        assert functions[:2] == ["SavedVariable::unpack", node]
        assert "Engine::evaluate_function" in functions


def test_c15b_3_which_question_comes_first(torch):
    """A freed slot is reported before a detached tensor, and that before a changed version; with hooks no version is
    compared, and a detach_() of a node's own result does no harm."""

    def after(*edits, op=torch.sin, hooked=False):
        """x, the result of op, and its sum, after what `edits` names: a pass, a write, detach_() of what was saved."""
        x, h = begin(torch)
        saving = torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda p: p)
        with saving if hooked else contextlib.nullcontext():
            result = op(h)
        y, kept = result.sum(), result if op is torch.exp else h
        for edit in edits:
            {"pass": y.backward, "write": lambda: kept.mul_(2), "detach": lambda: kept.detach_()}[edit]()
        return x, result, y

    raises(FREED, after("pass", "write", "detach")[2].backward)
    raises(DETACHED, after("write", "detach")[2].backward)
    x, _, y = after("write", hooked=True)
    y.backward()
    assert x.grad.tolist() == pytest.approx(x.cos().tolist())
    x, result, y = after("detach", op=torch.exp)
    y.backward()
    assert x.grad.tolist() == pytest.approx(result.tolist())
    raises(CHANGED, after("write", "detach", op=torch.exp)[2].backward)


def test_c15b_4_what_is_read(torch):
    """A saved input is read as the very tensor that was saved, a saved result as a new tensor with the same memory and
    the same node."""
    x, h = begin(torch)
    square = torch.ones(2, 2, requires_grad=True) * 1

    for each in (x, h, h[:1], h.sum()):  # a leaf, a result, a view, a single number
        assert all(y.grad_fn._saved_self is each for y in (each.sin(), each.cos(), each.log(), each**3))
    assert (h * h).grad_fn._saved_other is h and square.mm(square).grad_fn._saved_mat2 is square
    for result in (h.exp(), h.tanh(), h.sigmoid(), h.sqrt(), h.relu(), h.softmax(0)):
        kept = result.grad_fn._saved_result
        assert kept is not result and kept is not result.grad_fn._saved_result
        assert kept.data_ptr() == result.data_ptr() and kept.grad_fn is result.grad_fn


def test_c15b_5_the_name_in_the_message(torch):
    """The version error names the last recorded write into a saved input, or its maker if no write was recorded; the
    saving node itself for its own result; and nothing for a leaf."""

    def unrecorded(tensor):
        with torch.no_grad():
            tensor.add_(1)

    writes = {
        "Mul": (lambda t: t.mul_(2), lambda t: (t.add_(1), t.mul_(2)), unrecorded, lambda t: t.detach().add_(1)),
        "Add": (lambda t: (t.mul_(2), t.add_(1)), lambda t: (t.add_(1), unrecorded(t))),
        "Exp": (lambda t: t.exp_(),),
        "torch::autograd::CopySlices": (lambda t: t[0].mul_(2), lambda t: t.__setitem__(0, 5.0)),
    }
    for name, ways in writes.items():
        for write in ways:
            _, h = begin(torch)  # h is the result of a product
            y = h.sin().sum()
            write(h)
            raises(rf"output 0 of {name}, is at version \d; expected version 0", y.backward)
            _, h = begin(torch)
            e = h.sigmoid()
            y = e.sum()
            write(e)
            raises(r"output 0 of Sigmoid, is at version \d; expected version 0", y.backward)
    x, _ = begin(torch)
    y = x.sin().sum()
    unrecorded(x)
    raises(r"\[2\]\] is at version 1", y.backward)


def test_c15b_6_half_a_pass(torch):
    """After an error in a backward pass, the leaves that were served have their gradient, the others have none, and
    without retain_graph the nodes that had run are freed."""
    w = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(4)]
    h0 = torch.ones(2) * w[0]
    h1 = h0 * w[1]
    h2 = h1 * w[2]
    h3 = h2 * w[3]
    loss, older = h3.sum(), h1.grad_fn
    h1.mul_(2)
    raises(CHANGED, loss.backward)

    assert [each.grad is None for each in w] == [True, True, True, False]
    assert w[3].grad.tolist() == [1.0, 8.0]
    raises(FREED, lambda: h3.grad_fn._saved_self)
    assert older._saved_self is h0  # it never ran


def test_c15b_7_checked_released_delivered(torch):
    """A node whose gradient has a wrong shape still has what it saved, and one whose gradient is not a number has it
    no more."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    _, h = begin(torch)
    y = function(torch, forward, lambda ctx, grad: torch.ones(3)).apply(h)
    raises(r"invalid gradient at index 0 - got \[3\]", y.sum().backward)
    assert y.grad_fn.saved_tensors[0].tolist() == [1.0, 2.0]
    root = (h * 0).sqrt()
    with warnings.catch_warnings(action="ignore"), torch.autograd.set_detect_anomaly(True):
        raises("returned nan values in its 0th output", (root * 0).sum().backward)
    raises("after they have already been freed", lambda: root.grad_fn._saved_result)
