"""backscope beside a library: what is loaded when, and that its copies of an engine's rules are the engine's."""

import os
import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import course_lib
from backscope import adapters, draw
from backscope.events.recording import place_words, writer_name
from backscope.graph.tensor_facts import one_counter
from backscope.stepping.heap import pop_order
from course_lib.arrays import errors, heap
from course_lib.autograd import anomaly_mode
from course_lib.engine.graph import forward_name
from tests.libraries import LIBRARIES

HEAVY = ("course_lib", "torch", "matplotlib", "IPython", "coursekit", "lessons")


def run(code, *options):
    """What a new process prints that runs these lines."""
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_backscope_loads_no_library():
    """`import backscope` takes NumPy: no engine, no PyTorch, nothing that plots or draws, none of the other rooms."""
    code = "import sys, backscope; print([name for name in {} if name in sys.modules])"

    assert run(code.format(HEAVY)) == "[]"


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_the_library_that_is_met_is_loaded(library):
    """Every instrument works beside one library while the other cannot be imported."""
    other = {"course_lib": "torch", "torch": "course_lib"}[library]
    code = f"""
import sys
sys.modules[{other!r}] = None
import {library} as torch, backscope
w = torch.ones(3, requires_grad=True)
with backscope.watch() as log, backscope.ledger() as held:
    (w * 2).exp().sum().backward()
h = (w * 2).exp()
loss = (h * h[:]).sum()
before = backscope.draw(loss)
h.detach().add_(1)
try:
    loss.backward()
except RuntimeError as error:
    text = str(backscope.explain(error, loss))
steps = str(backscope.step((w * w).sum()))
words = str(log), str(held.table()), str(backscope.compare(before, backscope.draw(loss))), text, steps
print([sign in part for sign, part in zip(("saved", "bytes", "STALE", "HERE", "AccumulateGrad"), words)])
print([name for name in sys.modules if name.startswith("backscope.adapters.")])
"""

    assert run(code).splitlines() == ["[True, True, True, True, True]", f"['backscope.adapters.{library}']"]


def test_a_text_is_explained_beside_no_library():
    """explain() of a message asks no library anything."""
    code = """
import sys
sys.modules["torch"] = sys.modules["course_lib"] = None
import backscope
print(backscope.explain("element 0 of tensors does not require grad and does not have a grad_fn").lesson)
"""

    assert run(code).startswith("Read lesson")


def test_a_tensor_has_the_adapter_of_its_library():
    """So has a parameter; an array and a learner's own Tensor have none."""
    mine = type("Tensor", (), {"__module__": "my_engine"})()
    parameter = course_lib.nn.Parameter(course_lib.ones(2))

    assert adapters.adapter_of(parameter) is adapters.adapter("course_lib")
    assert [adapters.adapter_of(thing) for thing in (np.ones(2), None, mine)] == [None] * 3


def test_pytorchs_tensors_have_its_adapter(real_torch):
    """So has a subclass made elsewhere, even one that is called Tensor as well."""
    subclass = type("Tensor", (real_torch.Tensor,), {"__module__": "somebodys"})

    assert adapters.library_of(real_torch.ones(2).as_subclass(subclass)) == "torch"
    assert adapters.loaded()[0] is adapters.adapter("torch")


def test_a_half_imported_library_is_not_looked_at(monkeypatch):
    """A module that has no Tensor yet is not attached to: backscope may be imported while it loads."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__=os.__file__))

    assert [each.__name__ for each in adapters.loaded()] == ["backscope.adapters.course_lib"]


# --- rules that both have ------------------------------------------------------------------------------------


def test_equal_nodes_leave_the_queue_in_the_engines_order():
    """step()'s heap and the engine's give the same order, for every small mix of leaves and other nodes."""
    dice = random.Random(7)
    for _ in range(2000):
        pushed = [dice.choice([None, number]) for number in range(dice.randrange(12))]
        waiting = dice.randrange(6)

        assert pop_order(list(pushed), waiting) == heap.in_turn(list(pushed), waiting)


def test_a_line_has_the_same_words_as_in_the_engines_errors():
    """watch() names lines as anomaly mode does."""
    assert place_words("/somewhere/train.py", 12) == anomaly_mode.place_words("/somewhere/train.py", 12)
    assert place_words("/somewhere/train.py", 12) == "train.py line 12"


def test_the_version_error_has_the_same_words_as_the_engines(real_torch):
    """What watch() raises on PyTorch is the message that course_lib has from PyTorch."""
    adapter = adapters.adapter("torch")
    facts = "torch.FloatTensor", (2, 3), ", which is output 0 of Mul,", 3, 1
    hints = {adapter.NO_ANOMALY_HINT: "", adapter.ANOMALY_HINT: anomaly_mode.LOOK_ABOVE}
    for hint, report in hints.items():
        assert str(adapter.modified_in_place(*facts, hint)) == str(errors.modified_in_place(*facts, report))
    for name in ("MulBackward0", "PowBackward1", "MyExpBackward", "torch::autograd::CopySlices", "NoEnding"):
        node = SimpleNamespace(name=lambda name=name: name)
        assert adapter.forward_name(node) == forward_name(node)


def test_detach_shares_the_counter_and_data_does_not(torch):
    """Each adapter tells them apart, and the counter stays where it was."""
    x = torch.ones(2)

    assert one_counter(x, x.detach()) and not one_counter(x, x.data)
    assert x._version == 0


def test_the_writer_is_named_by_what_either_library_has():
    """A method of either library's tensors is an operation; a method of somebody else's object is not."""
    assert writer_name(["write", "add_", "_call"]) == "add_"
    assert writer_name(["rearrange_", "update"]) == "update"


def calls_in(action):
    """How many Python functions `action` enters."""
    entered = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_qualname) if event == "call" else None)
    try:
        action()
    finally:
        sys.setprofile(None)
    return entered


def test_five_nodes_are_read_in_three_hundred_calls():
    """Each fact of a tensor is asked once: five nodes take 300 Python calls, those of course_lib included."""
    w, b = (course_lib.tensor([3.0, 4.0], requires_grad=True) for _ in range(2))
    loss = (w * b).exp().sum()
    look = eval("lambda: draw(loss)", {"draw": draw, "w": w, "b": b, "loss": loss})  # no other variable is looked at

    assert "3 backward nodes, 2 leaves" in look().text
    assert len(calls_in(look)) <= 300
