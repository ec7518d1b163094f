"""film: a program statement by statement; the same words on both libraries; nothing that goes wrong is ours."""

import base64
import contextlib
import gc
import html
import importlib.util
import os
import re
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

import course_lib
from backscope import film
from tools import film as movie

REF, SUPPRESS = weakref.ref, contextlib.suppress  # for the programs, which see the names of this file
IN_PLACE = """
w = torch.tensor([2.0, 1.0, 0.5], requires_grad=True)
x = torch.tensor([0.2, 0.4, 0.8])
gate = torch.tensor([0.0, 2.0, 2.0])
h = torch.tanh(w * x)
h *= gate
loss = h.sum()
loss.backward()
"""
IN_PLACE_TEXT = """\
A film of 7 frames, and an error at the end.

frame 1, line 1: w = torch.tensor([2.0, 1.0, 0.5], requires_grad=True)
   new: w = [2., 1., 0.5], v0, a leaf that requires grad

frame 2, line 2: x = torch.tensor([0.2, 0.4, 0.8])
   new: x = [0.2, 0.4, 0.8], v0, no grad

frame 3, line 3: gate = torch.tensor([0.0, 2.0, 2.0])
   new: gate = [0., 2., 2.], v0, no grad

frame 4, line 4: h = torch.tanh(w * x)
   new: h = [0.3799, 0.3799, 0.3799], v0, made by TanhBackward0 (node 2)
   new nodes: 1 MulBackward0 (saved other = x), 2 TanhBackward0 (saved result = h)

frame 5, line 5: h *= gate
   STALE: TanhBackward0 (node 2) saved result = h at v0, and its memory is at v1 now
   h: [0.3799, 0.3799, 0.3799] -> [0., 0.7599, 0.7599], v0 -> v1
   h.grad_fn: TanhBackward0 (node 2) -> MulBackward0 (node 3)
   new node: 3 MulBackward0 (saved other = gate)

frame 6, line 6: loss = h.sum()
   new: loss = 1.52, v0, made by SumBackward0 (node 4)
   new node: 4 SumBackward0

frame 7, line 7 raises: loss.backward()
   line 5 wrote into what TanhBackward0 (node 2) had saved as result
   raises RuntimeError: one of the variables needed for gradient computation has been modified by an inplace \
operation: [torch.FloatTensor [3]], which is output 0 of Tanh, is at version 1; expected version 0 instead.
   FREED: other of MulBackward0 (node 3)"""


def test_a_film_in_words(torch):
    """Each statement is a frame; each frame says what the line changed, the point first; the error is the last."""
    seen = film(IN_PLACE)

    assert seen.text == str(seen) == repr(seen) == IN_PLACE_TEXT
    assert len(seen) == 7
    assert type(seen.error) is RuntimeError and seen.error.__traceback__ is None


def test_a_function_is_called_and_its_body_filmed(torch):
    """film(function, *args) runs the function with these arguments, and each statement of its body is a frame."""

    def scaled(a, b):
        """Multiply, then write through a view."""
        c = a * b
        c[0].mul_(3)
        return c.sum()

    seen = film(scaled, torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0]))

    assert [frame.title for frame in seen.reel.frames] == ["line 1", "line 3", "line 4", "line 5"]
    assert seen.changes(0)[0] == "new: a = [1., 2.], v0, a leaf that requires grad"
    assert "c: [3., 8.] -> [9., 8.], v0 -> v1" in seen.changes(2)
    assert seen.changes(3)[0].startswith("new: returned = 17., v0")


LOOP = """
w = torch.tensor(1.0, requires_grad=True)
def f(x):
    a = x * 2
    return a.exp()
for i in range(2):
    loss = f(w)
    loss.backward()
"""


def test_loops_and_calls_are_entered_or_are_one_frame(torch):
    """Each turn of a loop and each call of a function of the program has its frames; with enter=False it is one."""
    titles = [frame.title for frame in film(LOOP).reel.frames]

    assert titles == [
        "line 1", "line 3 in f", "line 4 in f", "line 6", "line 7",
        "line 3 in f, time 2", "line 4 in f, time 2", "line 6, time 2", "line 7, time 2",
    ]  # fmt: skip
    assert [frame.title for frame in film(LOOP, enter=False).reel.frames] == ["line 1", "line 5"]


def test_names_that_the_program_gives_first_are_not_those_of_the_caller(torch):
    """What a name meant before is not shown, also when the program writes in place later."""
    h = w = torch.ones(1)
    seen = film("h = torch.zeros(1)\nh += 1\nw += 1")

    assert h is not None and w.item() == 2
    assert seen.changes(0) == ["there is: w = [1.], v0, no grad"]


def test_names_of_the_caller_are_seen_and_not_touched(torch):
    """The program sees the names around it; what it assigns stays inside, also where a name means something else."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = "mine"
    seen = film("y = x * x\ny.sum().backward()")

    assert y == "mine" and x.grad.tolist() == [2.0, 4.0]
    assert seen.reel.frames[0].title == "before the first line"
    assert seen.changes(0) == ["there is: x = [1., 2.], v0, a leaf that requires grad"]


CAUGHT = """
w = torch.ones(1, requires_grad=True)
y = w.exp()
y.mul_(2)
with SUPPRESS(RuntimeError):
    y.backward()
try:
    y.backward()
except RuntimeError:
    z = w * 2
with torch.no_grad():
    raise ValueError("end")
"""


def test_an_error_that_the_program_catches_has_a_frame(torch):
    """Whether `except` catches it or a `with`; one that ends the film is told once."""
    seen = film(CAUGHT)

    assert [frame.title for frame in seen.reel.frames[3:]] == [
        "line 5 raises", "line 7 raises", "line 9", "line 11 raises"
    ]  # fmt: skip
    assert seen.changes(3)[0] == "line 3 wrote into what ExpBackward0 (node 1) had saved as result"
    assert isinstance(seen.error, ValueError)


NODES = """
w = torch.tensor([1.0, 3.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
"""


def test_backward_node_by_node(torch):
    """With nodes=True each node of the pass has a frame; afterwards all is as it is without."""
    seen = film(NODES, nodes=True)

    assert [frame.title for frame in seen.reel.frames[2:]] == [
        "line 3, SumBackward0 has run", "line 3, MulBackward0 has run", "line 3, AccumulateGrad has run"
    ]  # fmt: skip
    assert seen.changes(3) == [
        "got [1., 1.]",
        "sent [0] [1., 3.] to AccumulateGrad of w: 2→1",
        "sent [1] [1., 3.] to AccumulateGrad of w: 1→0, ready, [1., 3.] + [1., 3.] = [2., 6.]",
        "FREED: other and self of MulBackward0 (node 1)",
    ]
    assert seen.changes(4) == ["got [2., 6.]", "w.grad: None -> [2., 6.]"]
    assert "has just run" in drawings(seen)[3]


PART = """
y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True) * 2
y[1:].mul_(10)
y.sum().backward()
"""


def test_a_node_that_frees_nothing_has_its_frame(torch):
    """The graph looks the same after it as before; what it got and sent is what the frame is for."""
    seen = film(PART, nodes=True)

    (at,) = [k for k, frame in enumerate(seen.reel.frames) if frame.title == "line 3, CopySlices has run"]
    assert seen.changes(at) == ["got [1., 1., 1.]", "sent [0] [1., 10., 10.] to 1 MulBackward0: 1→0, ready"]


def test_a_pass_node_by_node_that_fails(torch):
    """The nodes that ran have their frames, then comes the error; a pass that cannot begin raises what it would."""
    seen = film(IN_PLACE, nodes=True)
    scalar = film("y = torch.ones(2, requires_grad=True) * 2\ny.backward()", nodes=True)

    assert [frame.title for frame in seen.reel.frames[6:]] == [
        "line 7, SumBackward0 has run", "line 7, MulBackward0 has run", "line 7 raises"
    ]  # fmt: skip
    assert "line 5 wrote into what TanhBackward0 (node 2) had saved as result" in seen.changes(8)
    assert "grad can be implicitly created only for scalar outputs" in str(scalar.error)


CELLS = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import {} as torch\\nfrom backscope import film")
shell.run_cell(
    "%%film nodes=True\\nw = torch.ones(1, requires_grad=True)\\n"
    "def f(x):\\n    return x * 2\\ny = f(w)\\ny.backward()"
)
seen = shell.user_ns["_"]
assert type(seen).__name__ == "Film" and len(seen) == 5, seen
assert "line 5, MulBackward0 has run" in seen.text
shell.run_cell("film(f, y)")
assert "frame 2, line 2: return x * 2" in shell.user_ns["_"].text, shell.user_ns["_"].text
shell.run_cell("z = f(y)")
assert shell.user_ns["z"].item() == 4 and shell.user_ns["w"].grad.item() == 2
result = shell.run_cell("%%film colour=True\\nq = 1")
assert type(result.error_in_exec).__name__ == "UsageError" and "q" not in shell.user_ns
shell.run_cell("%%film\\nw = torch.ones(1)\\n%time v = w + 1")
assert shell.user_ns["_"].error is None and shell.user_ns["v"].item() == 2
print("fine")
"""


def test_a_cell_is_filmed_in_the_notebooks_own_names(torch):
    """%%film: names stay, functions of the cell work afterwards, magics run, and a wrong option is told."""
    call = [sys.executable, "-c", CELLS.format(torch.__name__)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=100)

    assert done.stdout.endswith("fine\n"), done.stdout + done.stderr


# --- bad input -----------------------------------------------------------------------------------------------


def test_a_film_of_nothing(torch):
    """Of no program, and of one that makes no tensor, there is a sentence."""
    for program in ("", "# only a comment", "a = 1"):
        assert film(program).text.startswith("A film of nothing")


def test_ten_thousand_lines_do_not_run(torch):
    """A long program is refused in a sentence before anything has run."""
    ran = []
    seen = film("ran.append(1)\n" * 10_000)

    assert ran == []
    assert "up to 30 lines, and this one has 10,000: it has not run" in seen.text


def test_what_python_cannot_compile_is_told_in_a_sentence(torch):
    """An expression that is nested too deep, a null byte."""
    for program in ("x = " + "+".join("1" * 5000), "x = 1\0"):
        seen = film(program)
        assert "Nothing has run." in seen.text and seen.error.__traceback__ is None


def test_many_tensors_are_told_in_words(torch):
    seen = film("xs = [torch.ones(1) for _ in range(100)]")

    assert "The frames have 100 tensors together, and a picture holds 60: in words only." in seen.text
    assert "<img" not in seen.html


def test_no_python_is_told_in_a_sentence(torch):
    seen = film("a = 1\nb = = 2")

    assert "Line 2 is no Python: invalid syntax. Nothing has run." in seen.text
    assert isinstance(seen.error, SyntaxError)


STUBBORN = """
def f():
    while True:
        try:
            x * 2
        except BaseException:
            pass
f()"""


@pytest.mark.parametrize("loop", ["while True:\n    pass", "while True:\n    x = x + 1", STUBBORN])
def test_an_endless_loop_is_stopped(torch, loop):
    seen = film("x = torch.ones(2)\n" + loop)

    assert "The program was stopped after 10,000 statements: a loop without an end?" in seen.text
    assert 1 <= len(seen) <= 40


def test_a_long_run_shows_its_last_frame(torch):
    seen = film("x = torch.zeros(1)\nfor i in range(100):\n    x += 1")

    assert len(seen) == 40
    assert "61 steps before the last frame are not shown." in seen.text
    assert seen.changes(39) == ["x: [38.] -> [100.], v38 -> v100"]


def test_a_megabyte_that_is_printed_is_cut(torch, capsys):
    seen = film("x = torch.ones(1)\nprint('ab' * 500_000)\nx += 1")

    assert capsys.readouterr().out == ""
    assert "… and 999,801 more letters" in seen.text
    assert len(seen.text) < 1000


def test_names_may_be_deleted(torch):
    seen = film("x = torch.ones(1, requires_grad=True)\ny = x * 2\ndel x\ndel y")

    assert seen.changes(3)[-1].startswith("gone: ")


def test_a_film_does_not_film_itself(torch):
    seen = film("from backscope import film\nx = torch.ones(1)\nfilm('y = 1')\n")

    assert isinstance(seen.error, RuntimeError)
    assert "film() was called by a program that is being filmed; one film at a time." in seen.text


@pytest.mark.parametrize("end", ["", "\nraise ValueError('end')", "\nwhile True: pass"])
def test_modes_are_afterwards_as_before(torch, end):
    """Grad mode, default dtype and anomaly mode, however the program ends."""

    def anomaly():
        guard = torch.autograd.set_detect_anomaly(True)
        guard.__exit__()
        return guard.prev if hasattr(guard, "prev") else guard.previous[0]

    before = torch.get_default_dtype(), anomaly()
    dtype = "torch.set_default_dtype(torch.float64)\n" if hasattr(torch, "set_default_dtype") else ""
    film(f"torch.set_grad_enabled(False)\n{dtype}torch.autograd.set_detect_anomaly(True)\nx = torch.ones(1)" + end)

    assert torch.is_grad_enabled() and (torch.get_default_dtype(), anomaly()) == before
    assert not hasattr(sys.stdout, "take")


@pytest.mark.parametrize(
    "program", [IN_PLACE, LOOP, "w = torch.ones(1)\nclass A:\n    t = w"], ids=["error", "def", "class"]
)
def test_nothing_is_kept_alive(torch, program):
    """When the film is over the tensors of the program die, also those of one that failed or made functions."""
    refs = []
    first, _, rest = program.strip().partition("\n")
    gc.disable()
    try:
        seen = film(f"{first}\nrefs.append(REF(w))\n{rest}")
        alive = [ref() for ref in refs]
    finally:
        gc.enable()

    assert alive == [None]
    assert len(seen) > 0


def test_what_the_caller_lets_go_of_dies(torch):
    """A film holds none of the names around it, either."""
    x = torch.ones(1)
    dies = weakref.ref(x)
    assert len(film("y = x * 2")) == 2
    del x

    assert dies() is None


def test_what_a_film_is_not_made_of_is_refused_in_a_sentence():
    refused = {
        3: "takes a program as text, or a function; not int",
        len: "needs the source of len",
        type("A", (), {}): "needs the source of A",
        (lambda: 1): "a lambda has no statements",
    }
    for wrong, says in refused.items():
        with pytest.raises(TypeError, match=says):
            film(wrong)
    with pytest.raises(TypeError, match="takes no arguments"):
        film("x = 1", course_lib.tensor(1.0))


# --- pictures and the card -----------------------------------------------------------------------------------

TWELVE = """
w = torch.tensor([1.0, 3.0], requires_grad=True)
b = torch.tensor([0.5], requires_grad=True)
x = torch.tensor([2.0, 4.0])
h = torch.relu(w * x + b)
y = torch.sigmoid(h)
v = y[0]
loss = (y * y).mean() + v
loss.backward()
s = w.detach()
w.data.mul_(2)
w.grad.zero_()
w.grad = None
"""


def drawings(seen):
    """The SVG of each frame, as the card has it."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', seen.html)
    return [base64.b64decode(data).decode() for data in found]


def box_of(name, svg):
    """Where the box stands that holds a tensor's name, and how large it is."""
    for found in re.finditer(rf">{re.escape(name)}<", svg):
        kind, place = re.findall(r'<rect class="(\w+)"[^>]* (x="[^"]*" y="[^"]*" width="[^"]*" height="[^"]*")',
                                 svg[: found.start()])[-1]  # fmt: skip
        if kind != "ghost":
            return place
    raise AssertionError(f"{name} is not in the picture")


@pytest.mark.parametrize("program", [IN_PLACE, LOOP, TWELVE], ids=["in place", "loop", "twelve"])
def test_all_frames_have_one_layout(torch, program):
    """Every picture has the same size, and what stays the same tensor or node keeps its place."""
    seen = film(program)
    drawn = drawings(seen)

    assert len(drawn) == len(seen)
    assert len({re.search(r"viewBox=\"[^\"]*\"", svg)[0] for svg in drawn}) == 1
    for k in range(1, len(seen)):
        for i, value in seen.reel.sides[k].values.items():
            before = seen.reel.sides[k - 1].values.get(i)
            if before is not None and before.name == value.name:
                assert box_of(value.name, drawn[k - 1]) == box_of(value.name, drawn[k]), (k, value.name)


@pytest.mark.parametrize("program", [IN_PLACE, LOOP, TWELVE], ids=["in place", "loop", "twelve"])
def test_a_film_is_small_and_quick(torch, program):
    """At most 400 kB for twelve lines, and 60 ms a frame, the best of three."""
    assert film(program).html  # warm
    times = []
    for _ in range(3):
        start = time.perf_counter()
        seen = film(program)
        size = len(seen.html)
        times.append((time.perf_counter() - start) / len(seen))

    assert size < 400_000
    assert min(times) < 0.06


def test_the_card_is_readable_without_a_script(torch):
    """A step for each frame: a <details> with its line, its words and a picture whose alt text says the same."""
    seen = film(IN_PLACE)
    page = seen._repr_mimebundle_()["text/html"]

    assert seen._repr_mimebundle_()["text/plain"] == seen.text
    assert page.count("<details") == page.count("<img ") == page.count('class="bs-film-says"') == 7
    assert page.count("<details data-lines") == 7 and page.count(" open") == 1
    assert 'data-spoilt="5-5"' in page and page.count("data-raises") == 1
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "") and " id=" not in page
    alts = [html.unescape(alt) for alt in re.findall(r'alt="([^"]*)"', page)]
    assert alts[4].startswith("line 5: h *= gate. STALE: TanhBackward0 (node 2) saved result = h at v0")
    assert all(0 < len(alt) <= 300 for alt in alts)
    assert [line for line in IN_PLACE.strip().split("\n") if html.escape(line, quote=False) not in page] == []


def test_the_card_has_no_colour_that_is_wrong_in_one_theme(torch):
    """Words take the page's colour, grounds are half transparent; the pictures bring their own dark colours."""
    page = re.sub(r'src="[^"]*"', "", film(IN_PLACE).html)

    assert set(re.findall(r"(?<![-\w])color:([^;\"]+)", page)) == {"inherit"}
    assert not re.search(r"background:#", page)
    assert all("prefers-color-scheme:dark" in svg for svg in drawings(film(IN_PLACE)))


def test_what_changed_is_marked_and_what_went_is_seen_to_go(torch):
    drawn = drawings(film(IN_PLACE + "del h, loss\nw = None"))[:7]
    gone = drawings(film("x = torch.ones(1, requires_grad=True)\ny = x.exp()\ny = None"))

    assert 'class="behind"' in drawn[4] and "STALE" in drawn[4] and "line 5 wrote" in drawn[4]
    assert "fails here" in drawn[6] and "FREED" in drawn[6]
    assert ">gone<" in gone[2] and ">gone<" not in gone[1]


def test_too_many_nodes_are_told_in_words(torch):
    """Beyond 60 nodes there is a sentence, and the card without pictures."""
    seen = film("x = torch.ones(1, requires_grad=True)\ny = x\nfor i in range(70):\n    y = y * 2", enter=False)

    assert "and a picture holds 60: in words only." in seen.text
    assert "<img" not in seen.html and seen.html.count("<details") == len(seen)


def test_a_film_is_saved_as_a_page_or_as_text(torch, tmp_path):
    seen = film(IN_PLACE)
    seen.save(tmp_path / "a.html")
    seen.save(tmp_path / "a.txt")

    assert (tmp_path / "a.txt").read_text("utf-8") == seen.text + "\n"
    assert seen.html in (tmp_path / "a.html").read_text("utf-8")
    with pytest.raises(ValueError, match="writes .html or .txt files, not '.mp4'"):
        seen.save(tmp_path / "a.mp4")


def test_a_film_is_written_as_a_moving_picture(torch, tmp_path, capsys):
    """`make film`: each frame is one SVG with the source, the words and the graph; then APNG or GIF."""
    seen = film(IN_PLACE)
    drawn = [movie.still(seen, k) for k in range(len(seen))]
    program = tmp_path / "program.py"
    program.write_text(IN_PLACE, encoding="utf-8")

    assert len({re.search(r"<svg [^>]*>", svg)[0] for svg in drawn}) == 1
    assert all(" 5  h *= gate<" in svg for svg in drawn)
    assert "STALE: TanhBackward0" in drawn[4] and "STALE: TanhBackward0" not in drawn[5]
    if importlib.util.find_spec("resvg_py") is None:
        with pytest.raises(SystemExit, match="is missing: pip install"):
            movie.main([str(program), "--engine", torch.__name__])
    else:
        movie.main([str(program), "--engine", torch.__name__])
        assert "program.png: 7 frames" in capsys.readouterr().out
        assert b"acTL" in program.with_suffix(".png").read_bytes()[:2000]


def test_what_is_no_film_is_told_by_the_tool(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("a = 1", encoding="utf-8")
    for words, says in (
        ([str(program)], "A film of nothing"),
        ([str(tmp_path / "none.py")], "none.py cannot be read: "),
        ([str(program), "--out", "a.mp4"], "is written as .png .APNG. or .gif, not a.mp4"),
    ):
        with pytest.raises(SystemExit, match=says):
            movie.main(words)


SCRIPT = """import sys
import course_lib as torch

w = torch.ones(3, requires_grad=True)
print("arguments", sys.argv[1:])
for _ in range(3):
    y = (w * 2).sigmoid()
    y *= 2
    loss = y.sum()
    loss.backward()
"""


def run_filmed(folder, *words):
    """`python -m backscope --film …` in a folder with SCRIPT as script.py."""
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    call = [sys.executable, "-m", "backscope", "--film", *words]
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.run(
        call, cwd=folder, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, timeout=100
    )


def test_some_lines_of_a_script_are_filmed(tmp_path):
    """The script prints, raises and ends as ever; the film of its lines, with their numbers, lies beside it."""
    done = run_filmed(tmp_path, "7-10", "script.py", "one")
    page = (tmp_path / "film.html").read_text("utf-8")

    assert done.stdout == "arguments ['one']\n" and done.returncode == 1
    assert "A film of lines 7-10, 4 frames: film.html" in done.stderr
    assert "modified by an inplace operation" in done.stderr and "filming" not in done.stderr
    for words in ('data-first="7"', "line 8 wrote into what SigmoidBackward0", "frame 4, line 10 raises"):
        assert words in page


@pytest.mark.parametrize(("span", "says"), [
    ("x", "takes the numbers of two lines, such as 10-20, not 'x'"), ("9-3", "takes the numbers of two lines"),
    ("1-40", "shows up to 30 lines; 1-40 are 40"), ("50", "script.py has 11 lines"),
])  # fmt: skip
def test_lines_that_cannot_be_filmed_are_told_before_the_script_runs(tmp_path, span, says):
    done = run_filmed(tmp_path, span, "script.py")

    assert says in done.stderr and done.stdout == "" and "Traceback" not in done.stderr


def test_lines_that_never_ran_are_told(tmp_path):
    assert "no statement of lines 1-2 ran that could be shown" in run_filmed(tmp_path, "1-2", "script.py").stderr


def test_a_tensor_keeps_the_name_it_had(torch):
    """A loop variable is a second name of an item, and no new name for it."""
    seen = film("parts = [torch.ones(1), torch.zeros(1)]\nfor part in parts:\n    s = part * 2")

    assert "parts[0] and part are one tensor" in seen.changes(1)
    assert "parts[1] and part are one tensor" in seen.changes(2)
    assert "called" not in seen.text


def test_the_drawer_that_a_failing_pass_found_empty_is_named(torch):
    """Not one that the failing pass has emptied itself, before it came to the node at which it fails."""
    shared = "s = torch.zeros(1, requires_grad=True)\nw = torch.ones(1, requires_grad=True)\ngate = s.sigmoid()\n"
    seen = film(shared + "loss = (gate * w).sum()\nloss.backward()\nloss = (gate * w).sum()\nloss.backward()")

    assert "line 5 let go of what SigmoidBackward0 (node 1) had saved as result" in seen.text
    assert "FREED: other and self of MulBackward0 (node 4)" in seen.text
