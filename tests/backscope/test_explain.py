"""explain.py: every error of the engine has a row, rows are filled with the error's facts, the culprit is found."""

import gc
import re
import sys
import warnings
import weakref
from pathlib import Path

import pytest

import course_lib
from backscope.explaining.report import explain
from backscope.explaining.rows import read, rows
from coursekit.notebook.cells import expect_error
from tests.backscope.refusals import raises
from tools.explain_cures import CURES, run

GOLDEN = Path(__file__).parent.parent / "engine" / "golden" / "errors.txt"

# Messages that are the words of whoever wrote the program, so that no row can know them.
NOT_OURS = {"ours: left_out_of_linalg": "the error says itself what is to be done"}


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    """No error of an earlier test is the last one."""
    monkeypatch.setattr(sys.modules["backscope.explaining.report"], "_remembered", None)
    monkeypatch.delattr(sys, "last_value", raising=False)


def engine_errors():
    """{program: (type, message)}: every error of the engine, as pinned by tests/engine/test_errors.py."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return {name: tuple(said.split(": ", 1)) for name, said in (line.split(" | ", 1) for line in lines)}


ERRORS = engine_errors()


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_every_error_of_the_engine_is_explained(name):
    """Each message that the engine has leads to a row, and its sentences come out whole."""
    kind, message = ERRORS[name]
    told = explain(f"{kind}: {message}")

    assert (told.row is None) == (name in NOT_OURS)
    if told.row is not None:
        assert len(told.what) == 3 and told.cures
        assert not re.search(r"\{\w*\}", " ".join([*told.what, *told.cures]))
        assert all(sentence.endswith(".") for sentence in told.what + told.cures)


HALF = """
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x / 2
    @staticmethod
    def backward(ctx, g): return g / 2, None, g
y = Half.apply(x).sum(); give(y); y.backward()"""
PROGRAMS = {  # a program that fails, and gives tensors to explain(): row, lesson, what is marked in the picture
    "y = x.exp(); z = (y * 2).sum(); y.add_(1); give(z); z.backward()": ("version", 7, "result = #1 of Exp"),
    "z = (x * x).sum(); give(z)\nwith torch.no_grad(): x.sub_(1)\nz.backward()": ("version", 7, "other = unnamed 1 of"),
    "z = (x ** 2).sum(); z.backward(); give(z); z.backward()": ("freed", 6, "saved self of PowBackward0 (node 1)"),
    "h = x * 2; z = (h * h).sum(); h.detach_(); give(z); z.backward()": ("saved detached", 9, "other = [2., 4.] of"),
    "give(x); x.add_(1)": ("leaf", 7, "given[0]"),
    "v = x[0:1]; give(v); v.add_(1)": ("view of leaf", 8, "unnamed 1"),
    "a, b = (x * 2).unbind(); give(a); a.mul_(2)": ("view of several", 8, "given[0]"),
    "y = x * 2; give(y); y.backward()": ("not a scalar", 3, "given[0]"),
    "z = x.detach().sum(); give(z); z.backward()": ("no history", 2, "given[0]"),
    "w = x.detach().requires_grad_(); y = x.sum(); give(y, w); torch.autograd.grad(y, w)": ("unused", 1, "given[1]"),
    "h = x * 2; h.register_hook(lambda g: 3); z = h.sum(); give(z, h); z.backward()": ("hook type", 12, "given[1]"),
    HALF: ("gradient number", 11, "HalfBackward (node 1)"),
    "w = x * 0.01; give(w); torch.optim.SGD([w], lr=0.1)": ("optimizer non-leaf", 5, "given[0]"),
    "y = x.exp(); y.sum().backward(); give(y); y.grad_fn._raw_saved_result.register_hooks(abs, abs)": (
        "slot freed", 14, "saved result of ExpBackward0 (node 1)"
    ),
}  # fmt: skip


def failing(torch, program):
    """The error of a program, and the tensors that it gave."""
    given, x = [], torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        exec(program, {"torch": torch, "x": x, "give": lambda *tensors: given.extend(tensors)})
    except Exception as error:
        return error, given


@pytest.mark.parametrize("program", PROGRAMS)
def test_right_row_lesson_and_culprit(torch, program):
    """Programs as people write them, on both libraries: which row, which lesson, what is marked in the picture."""
    key, lesson, marked = PROGRAMS[program]
    error, given = failing(torch, program)
    told = explain(error, *given)

    assert (told.row.key, told.row.lesson) == (key, lesson)
    assert told.seen.startswith("In the picture HERE marks ") and marked in told.seen


def test_facts_of_the_version_error(torch):
    """Shape, type, versions, how often, and which operation, of this error."""
    h = torch.tensor([1.0, 2.0, 3.0], requires_grad=True) * 1
    y = h.sin()
    h.mul_(2)
    h.add_(1)
    with expect_error(RuntimeError):
        y.sum().backward()
    first, second, third = explain().what

    assert "shape [3] (float32) when its memory was at version 0;" in first
    assert "that memory was at version 2, so it had been written to twice" in first
    assert "“output 0 of Add”" in second
    assert "look upwards" in third


@pytest.mark.parametrize(
    "write, named",
    [
        (lambda torch, h: h.add_(1), "Add"),
        (lambda torch, h: h.detach().add_(1), "Mul"),
        (lambda torch, h: h[0:1].mul_(2), "CopySlices"),
    ],
    ids=["recorded", "through detach", "through a view"],
)
def test_the_operation_in_the_message_made_the_tensor_or_its_last_recorded_write(torch, write, named):
    """A write through detach() is the culprit and is not named: the message has the operation that made h."""
    h = torch.tensor([1.0, 2.0], requires_grad=True) * 2
    loss = (h * h).sum()
    write(torch, h)
    with expect_error(RuntimeError):
        loss.backward()

    assert explain().what[1] == (
        f"“output 0 of {named}” says what it is: this operation made the tensor, or made its last recorded write; a "
        "write under no_grad or through detach() is not named."
    )


def test_a_view_that_was_written_to_is_called_as_strided(torch):
    """A saved view whose memory was written to has a new node; it is no result, and nobody wrote its contents."""
    weight = torch.ones(2, 2, requires_grad=True)
    h = torch.ones(1, 2, requires_grad=True) @ weight.t()
    with torch.no_grad():
        weight.add_(1)
    with expect_error(RuntimeError, "output 0 of AsStrided"):
        h.sum().backward()
    origin = explain().what[1]

    assert "a view" in origin and "given a new node" in origin
    assert "made the tensor" not in origin


def test_for_a_parameter_the_cure_is_a_new_loss(torch):
    """A leaf's update cannot be written out of place: the loss is computed again, and then it works."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.5)
    with expect_error(RuntimeError):
        loss.backward()
    told = explain()

    assert "compute the loss again after the update" in told.cures[0]
    assert not any("y + 1" in cure for cure in told.cures)
    assert "`inplace=True`, `out=`" in told.what[2]
    (w * w).sum().backward()
    assert w.grad.tolist() == [1.0, 3.0]


def test_the_culprit_has_the_versions_of_the_message(torch):
    """Of two stale tensors the one that the message describes is marked, even if another was saved later."""
    w, c = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    loss = (w * c).sum()
    c.add_(1)
    with expect_error(RuntimeError):
        loss.backward()
    d = torch.tensor([5.0, 6.0])
    other = (w * d).sum()
    d.add_(1)
    d.add_(1)

    assert explain(loss, other).seen == "In the picture HERE marks saved other = c of MulBackward0 (node 1)."


def test_lines_under_anomaly_mode():
    """Our engine in anomaly mode names the two lines; so does the explanation."""
    torch = course_lib
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True):
            h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
            y = h.sin()
            h.mul_(2)
            with expect_error(RuntimeError):
                y.sum().backward()
    third = explain().what[2]

    assert re.fullmatch(
        r"Anomaly mode knows the lines: `y = h\.sin\(\)` \(.*line \d+\) saved it, `h\.mul_\(2\)` \(.*\) changed it\.",
        third,
    )


class AddsAWrongShape:
    """Shapes that do not fit, on the ways in which a backward pass runs a learner's line; or in the pass itself."""

    def __init__(self, torch):
        self.torch, self.x = torch, torch.tensor([1.0, 2.0], requires_grad=True)

    def wrong(self, grad):
        return grad + self.torch.ones(3)

    def custom_backward(self):
        wrong = self.wrong

        class Fn(self.torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                return wrong(grad)

        Fn.apply(self.x).sum().backward()

    def hook_of_a_leaf(self):
        self.x.register_post_accumulate_grad_hook(self.wrong)
        self.x.sum().backward()

    def the_pass_itself(self):
        y = (self.x * 1).sum()
        self.x.data, self.x.grad = self.torch.ones(4), self.torch.ones(4)
        y.backward()


@pytest.mark.parametrize("way", [name for name in vars(AddsAWrongShape) if name[0] != "_" and name != "wrong"])
def test_a_line_that_the_pass_called_is_not_said_to_have_failed_by_itself(torch, way):
    """The message is that of any line; the traceback tells that a backward pass ran it, also when it is remembered."""
    with pytest.raises(RuntimeError) as caught:
        getattr(AddsAWrongShape(torch), way)()
    with expect_error(RuntimeError, "size of tensor a"):
        raise caught.value

    raised = "by backward() or grad()" if way == "the_pass_itself" else "during a backward pass, by a line that the"
    for told in (explain(caught.value), explain()):
        assert told.row.key == "broadcast"
        assert told.what[2].startswith(f"It was raised {raised}")
    assert explain(str(caught.value)).lesson == "No lesson is about this: it needs no graph."


def test_a_warning_is_no_error_of_a_line(torch):
    """mse_loss warns and goes on, and so it is told; made an error, the warning is told as the same."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        loss = torch.nn.functional.mse_loss(torch.ones(3, 1), torch.zeros(3))
    warned = met[0].message

    assert loss.item() == 1.0
    for told in (explain(warned), explain(f"UserWarning: {warned}")):
        assert told.row.key == "loss shapes"
        assert told.what[2] == "This is a warning: unless warnings are made errors, the line goes on to its end."


def fail(torch):
    loss = torch.tensor([1.0, 2.0]).sum()
    loss.backward()


def test_an_error_shown_later_is_newer(monkeypatch):
    """An error that the notebook has shown since goes before the remembered one; an older one does not."""
    monkeypatch.setattr(sys, "last_value", ValueError("shown before"), raising=False)
    with expect_error(RuntimeError):
        fail(course_lib)
    assert explain().row.key == "no history"

    monkeypatch.setattr(sys, "last_value", RuntimeError("grad can be implicitly created only for scalar outputs"))
    assert explain().row.key == "not a scalar"


def test_remembering_keeps_no_tensor_alive(torch):
    """The remembered error holds words; the tensors of its traceback are let go of."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    gone = weakref.ref(loss)
    with expect_error(RuntimeError):
        loss.backward()
    del loss
    gc.collect()

    assert gone() is None
    assert explain().row.key == "freed" and explain().seen == ""


def test_the_slot_that_was_found_empty_is_marked():
    """The failing pass freed what exp had saved, and met the empty slot of an older node: that one, also remembered."""
    x = course_lib.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    h.sum().backward()
    loss = h.exp().sum()
    with expect_error(RuntimeError):
        loss.backward()

    assert explain(loss).seen == "In the picture HERE marks saved other of MulBackward0 (node 1)."


def test_an_unknown_error_is_said_to_be_unknown():
    """No row: an honest sentence, and no cure."""
    told = explain(RuntimeError("the moon is full"))

    assert told.row is None and told.cures == told.silences == []
    assert told.what[0].startswith("explain() does not know this message") and "the moon is full" in told.what[0]
    assert "explain() does not know" in told.text and "explain() does not know" in told.html
    assert "it has no words" in explain(KeyError()).text


def test_text_is_complete(torch):
    """Message, sentences, cures, false cures, lesson, and the listing of the picture."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    with expect_error(RuntimeError):
        loss.backward()
    told = explain()
    text = told.text
    places = [
        text.index(part)
        for part in (
            "RuntimeError: Trying to backward", "What happened", "What cures it", "What only silences it",
            "Read lesson 06 (saved tensors and memory).", "In the picture HERE marks saved other of MulBackward0 "
            "(node 1).",
            "The graph of loss:", "saved other: FREED",
        )
    ]  # fmt: skip

    assert places == sorted(places)
    assert told.svg.count(">HERE<") == 1


def test_html_is_a_card(torch):
    """The card holds the words and the picture; what the message holds cannot become HTML."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        x.add_(1)
    card = explain(caught.value, x).html

    assert card.startswith("<div") and ">y = x + 1</code>" in card
    assert "<img " in card
    assert "<script>" not in explain("RuntimeError: <script>alert(1)</script>").html


def test_a_node_without_a_derivative_is_marked(torch):
    """Such nodes have no name of their own on either library; the message names the operation."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x // 2).sum()
    with expect_error(RuntimeError, "is not implemented"):
        y.backward()
    told = explain(y)

    assert told.seen == "In the picture HERE marks NotImplemented (node 1)."
    assert "reached floor_divide" in told.what[0]


def test_no_error_yet():
    """Without any error explain() says what to give."""
    raises("There is no error to explain yet. Give one: explain", explain, ValueError)


def test_not_an_error():
    """What is neither error nor text nor tensor is refused."""
    raises("explain.. takes an error, its text, or tensors, not int", lambda: explain(3), TypeError)
    raises("takes tensors, not str", lambda: explain(RuntimeError("x"), "y"), TypeError)


@pytest.mark.parametrize("row, broken, cured", CURES, ids=lambda part: part[:40] if isinstance(part, str) else "")
def test_what_a_row_says_cures_it(torch, row, broken, cured):
    """Without the cure: the error of this row. With it: no error, no warning, and what the asserts say."""
    error = run(torch, broken)

    assert error is not None
    assert explain(error).row is not None and explain(error).row.key == row, error
    for program in cured:
        assert run(torch, program) is None, program


@pytest.mark.parametrize(
    "broken, cured",
    [
        ("x.detach().int()", "x.detach().long()"),
        ("torch.compile(abs)(x)", "abs(x)"),
        ("x.to('cuda')", "x.to('cpu')"),
        ("torch.ones(2, dtype=torch.int8)", "torch.ones(2, dtype=torch.int64)"),
    ],
)
def test_what_is_not_here_says_what_to_do_instead(broken, cured):
    """The row for this engine alone: PyTorch has these, and the engine's message names what works here."""
    error = run(course_lib, broken)

    assert error is not None and explain(error).row.key == "not here", error
    assert run(course_lib, cured) is None


def test_every_row_has_an_executed_cure():
    """A row that is added brings a program that fails and one that does not; "not here" has its own, above."""
    elsewhere = {row["key"] for row in read("neighbours")["error"]}  # tests/command/test_neighbours.py

    assert {row.key for row in rows()} - {key for key, _, _ in CURES} == {"not here"} | elsewhere
