"""The claims of part 07b, the hunt, on our engine and on real PyTorch."""

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from backscope import ledger
from coursekit.judge.discovery import import_from_lessons
from lessons.claims_kit import CHANGED, LESSONS, from_lesson, leaf, raises

STAGE = import_from_lessons("07b_the_hunt.stage")
OUT = "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad"


def versions(seen, expected):
    """A pattern for the end of the message."""
    return rf"{CHANGED}.* is at version {seen}; expected version {expected} instead"


def quoted(first_words):
    """The lines of a fenced block of the lesson's text, by the words in its first line."""
    (source,) = LESSONS.glob("07b_*/lesson.py")
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in source.read_text("utf-8").splitlines())
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if first_words in block.splitlines()[0]]
    return block.splitlines()


def test_c07b_1_inplace_and_out(torch):
    """A module with `inplace=True` writes in place, and so does `out=`: both count, and both make a saved tensor stale;
    `out=` refuses tensors that require grad."""
    nn = torch.nn
    for write in (
        nn.ReLU(inplace=True), nn.Dropout(0.5, inplace=True), nn.LeakyReLU(inplace=True),
        lambda h: nn.functional.relu(h, inplace=True), lambda h: nn.functional.dropout(h, 0.5, inplace=True),
    ):  # fmt: skip
        h = leaf(torch).sigmoid()
        assert write(h) is h and h._version == 1
        raises("output 0 of Sigmoid, is at version 1; expected version 0 instead", h.sum().backward)

    for name in ("add", "mul", "sub"):
        factor, op = torch.ones(3), getattr(torch, name)
        y = leaf(torch) * factor
        assert op(factor, 1, out=factor) is factor and factor._version == 1
        raises(versions(1, 0), y.sum().backward)
        for operands, out in (((factor, leaf(torch)), factor), ((factor, 1), leaf(torch) * 1), ((factor, 1), y)):
            raises(OUT, lambda op=op, operands=operands, out=out: op(*operands, out=out))


def test_c07b_2_relu_in_place(torch):
    """A ReLU with `inplace=True` may follow a linear layer, which did not save its result; but every other name for
    that result sees the overwritten numbers, without any error."""
    x, relu = leaf(torch), torch.nn.ReLU(inplace=True)
    layer = torch.nn.Linear(3, 2)
    slopes = [torch.autograd.grad(last(layer(x)).sum(), x)[0].tolist() for last in (torch.nn.ReLU(), relu)]
    assert slopes[0] == slopes[1]

    h = x - 2.0
    skip = h
    y = relu(h) + skip
    assert y.tolist() == [0.0, 0.0, 2.0]  # and not -1, 0, 2
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0]  # right for what was computed


def test_c07b_3_the_hunt(torch, tmp_path):
    """In the script of the hunt only `x += h` makes backward raise, and `python -m backscope` names this line and the
    line that saved."""
    raises(r"\[8, 16\]\], which is output 0 of Add, is at version 3; expected version 2", lambda: STAGE.train(torch))
    assert [line for line in STAGE.OUT_OF_PLACE if STAGE.runs(torch, line)] == [23]

    if torch.__name__ == "torch":  # the command looks at PyTorch
        (tmp_path / "train.py").write_text(STAGE.SCRIPT, "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "backscope", "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(LESSONS.parent), "PYTHONUTF8": "1"}, timeout=120, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 1
        assert "\n".join(quoted("Where")) in done.stderr


def test_c07b_4_anomaly_mode(torch):
    """Anomaly mode names the line that saved the tensor if it is on in the forward pass and still on in backward."""
    x, told = leaf(torch, 4.0, 9.0), []
    for in_forward, in_backward in ((True, True), (True, False), (False, True)):
        with warnings.catch_warnings(record=True, action="always") as caught:
            with torch.autograd.set_detect_anomaly(in_forward):
                a = x.sqrt()  # the line that saves
                a += 1  # the line that writes
            with torch.autograd.set_detect_anomaly(in_backward):
                raises(CHANGED, a.sum().backward)
        told.append("\n".join(str(warning.message) for warning in caught))

    assert ["a = x.sqrt()" in words for words in told] == [True, False, False]
    assert "No forward pass information available" in told[2]


def test_c07b_5_anomaly_mode_as_it_is_printed(torch, tmp_path):
    """In anomaly mode PyTorch first warns, with the traceback of the forward call that saved, and then raises."""
    first, *frames = quoted("UserWarning: Error detected in")
    script, name = tmp_path / "train.py", torch.__name__
    text = STAGE.SCRIPT.replace("import torch\nfrom torch import nn", f"import {name} as torch\nnn = torch.nn")
    lines = text.splitlines()
    lines.insert(2, "torch.autograd.set_detect_anomaly(True)")
    script.write_text("\n".join(lines) + "\n", "utf-8")
    try:
        with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError, match=CHANGED):
            runpy.run_path(str(script))
    finally:
        torch.autograd.set_detect_anomaly(False)
    told = str(caught[0].message).replace(str(Path(script)), "train.py").splitlines()
    assert first.removeprefix("UserWarning: ") == told[0].strip()
    places = [told.index(frame) for frame in frames]  # other frames, of nn.Module, stand between them
    assert places == sorted(places) and [told[at + 1] for at in places[::2]] == frames[1::2]


def test_c07b_6_retaining_is_no_cure(torch):
    """After an in-place update of a saved weight, retain_graph=True does not make a second backward
    possible."""
    x, t = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0], [0.0]])
    found = from_lesson(torch, "07b", "a", "b", "c", "two_passes", x=x, t=t)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found.two_passes(lambda *parameters: None)  # without an update it is possible
        found.two_passes(found.a)
        found.two_passes(found.b)
        raises(versions(1, 0), lambda: found.two_passes(found.c))
    assert printed.getvalue().count("done") == 3


def test_c07b_7_the_hidden_clone(torch):
    """`h *= gate` saves a clone of the old h if the gate requires grad, and nothing of h if it does not."""
    for shape in ((4,), (2, 4), ()):  # the gate's: its h has two rows
        for learned in (False, True):
            for write in ("mul_", "div_"):
                h, gate = leaf(torch, *[[1.0, 2.0, 3.0, 4.0]] * 2) * 1, torch.full(shape, 2.0, requires_grad=learned)
                old = h.tolist()
                with ledger(leaves=False) as held:
                    getattr(h, write)(gate)
                assert held.now == (h.numel() * 4 if learned else 0)
                if learned:
                    saved = h.grad_fn._saved_self
                    assert saved.tolist() == old and saved.data_ptr() != h.data_ptr()
                    assert type(saved.grad_fn).__name__ == "CloneBackward0"
                else:
                    assert h.grad_fn._saved_self is None


def test_c07b_8_against_itself(torch):
    """`h.mul_(h)` and `h.div_(h)` make the tensor stale that they have saved themselves."""
    for write, name in (("mul_", "Mul"), ("div_", "Div")):
        h = leaf(torch) * 1
        getattr(h, write)(h)
        raises(f"output 0 of {name}, is at version 1; expected version 0", h.sum().backward)
    for write in ("add_", "sub_"):  # they save nothing
        h = leaf(torch) * 1
        getattr(h, write)(h).sum().backward()


def test_c07b_9_mutation_allowed(torch):
    """In allow_mutation_on_saved_tensors() a saved tensor may be overwritten, and the gradient is right."""
    for op, write in (("tanh", "mul_"), ("sin", "neg_"), ("exp", "add_")):
        found = []
        for allowed in (True, False):
            x = leaf(torch)
            h = x * 1
            with torch.autograd.graph.allow_mutation_on_saved_tensors() if allowed else contextlib.nullcontext():
                y = getattr(h, op)()
                if allowed:
                    h.mul_(10)
                    getattr(y, write)(*[3.0][: write != "neg_"])
                else:
                    y = getattr(y, write.rstrip("_"))(*[3.0][: write != "neg_"])
                y.sum().backward()
            found.append(x.grad.tolist())
        assert found[0] == found[1]
