"""The checks have teeth: a healthy notebook passes all of them, and each way of breaking it is noticed.

The healthy notebook is made here, not taken from the lessons, so that each line below breaks one thing only.
"""

import base64
import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jupytext
import nbformat
import pytest

from tests.lessons.notebook_rules import ROOT, claims, given_away, hygiene, in_order, spoilt, template
from tools import build_notebooks

TELLS = "(tells) "  # what a text begins with that has the tag
CELLS = [  # a text, or a code cell as its name below, its source, and its tags
    """# 07 · Version counters: how does backward notice?
It hurts. After this lesson you can

- read it;
- cure it;
- tell it.

**Minutes** 30 · **Needs** lesson 06 · **Out of scope** views · [all](home.ipynb), [05](05_leaf_accumulation.ipynb)""",
    ("setup", "import course_lib as torch\nfrom backscope import draw\n"
              "from coursekit import expect_error, lesson\n\nL = lesson(7)"),
    "## Who counts?\nWhat will it print?",
    ("predict", 'L.predict("07.p1", None)'),
    "Run it.",
    ("run", 'L.run(count, after="07.p1")', "C07.1"),
    TELLS + "That was the counter.",
    ("see", 'L.run(draw, x, after="07.p1")'),
    TELLS + "**Notice:** it grew by one.",
    "The rule.\n## Who compares?\nSomebody does.",
    ("break", 'with expect_error(RuntimeError, "modified by an inplace operation"):\n    y.backward()'),
    "This is how.",
    ("engine", 'show("engine.version.bump")', "engine"),
    "## Build your own engine: a counter\nNow yours.",
    ("build", 'L.build("07")'),
    "## Exercises\nEasy ones first.",
    ("exercise", 'answer = None\n\nL.check("07.1", answer)'),
    "## What you can now claim\n- **C07.1** Every in-place operation adds one to the version counter.",
]
TESTS = '''
def test_c07_1_in_place_adds_one(torch):
    """Every in-place operation adds one to the version counter."""
'''

RECORDS = [SimpleNamespace(id="07.p1", reveals=("grew by one", "version 1"))]
SVG = base64.b64encode(b"<svg>a picture</svg>").decode()
STEM = "07_sample"
CODE = {part[0]: index for index, part in enumerate(CELLS) if isinstance(part, tuple)}


def bare():
    """The notebook that keeps every rule, not yet run."""
    v4, cells = nbformat.v4, []
    for part in CELLS:
        if isinstance(part, str):
            tagged = {"tags": ["tells"]} if part.startswith(TELLS) else {}
            cells.append(v4.new_markdown_cell(part.removeprefix(TELLS), metadata=tagged))
        else:
            cells.append(v4.new_code_cell(part[1], metadata={"tags": list(part[2:])}))
    return build_notebooks.normalise(v4.new_notebook(cells=cells), STEM)


def healthy():
    """A notebook with outputs that keeps every rule."""
    nb, v4 = bare(), nbformat.v4
    for count, index in enumerate(CODE.values(), 1):
        nb.cells[index].execution_count = count
    for name, text in {"run": "it is at version 1\n", "engine": "# engine/version.py\nbump\n"}.items():
        out(nb, name).append(v4.new_output("stream", name="stdout", text=text))
    html = f'<img alt="x" src="data:image/svg+xml;base64,{SVG}">'
    data = {"text/plain": "x  value 1", "text/html": html, "image/png": "iVBOR"}
    out(nb, "see").append(v4.new_output("execute_result", data=data, execution_count=4))
    return nb


def cell(nb, name):
    return nb.cells[CODE[name]]


def out(nb, name):
    return cell(nb, name).outputs


CHECKS = {
    "hygiene": hygiene,
    "template": lambda nb: template(nb, "07"),
    "given away": lambda nb: given_away(nb, RECORDS),
    "spoilt": lambda nb: spoilt(nb, RECORDS),
    "in order": in_order,
    "claims": lambda nb: claims(nb, "07", TESTS),
}


def test_the_healthy_notebook():
    """Nothing is wrong with the notebook that the other tests break."""
    assert [problem for check in CHECKS.values() for problem in check(healthy())] == []


def says(name, text, stream="stdout"):
    """A mutation: a cell prints something more."""
    return lambda nb: out(nb, name).append(nbformat.v4.new_output("stream", name=stream, text=text))


def shows(name, mime, data):
    """A mutation: a cell shows something more."""
    return lambda nb: out(nb, name).append(nbformat.v4.new_output("display_data", data={mime: data}))


def changed(name, **changes):
    """A mutation: one cell is changed."""
    return lambda nb: cell(nb, name).update(**changes)


def source(name, text):
    """A mutation: a cell has another source."""
    return changed(name, source=text)


def markdown(old, new):
    """A mutation: other words, wherever they stand in the markdown cells."""

    def mutate(nb):
        hit = [c for c in nb.cells if c.cell_type == "markdown" and re.search(old, c.source)]
        assert hit, f"the healthy notebook has no {old!r}"
        for c in hit:
            c.source = re.sub(old, new, c.source)

    return mutate


def tagged(name, *tags):
    """A mutation: a cell has these tags."""
    return lambda nb: cell(nb, name).metadata.update(tags=list(tags))


def hidden_picture(text):
    """A mutation: a picture whose drawing carries this text."""
    data = base64.b64encode(text.encode()).decode()
    return shows("see", "text/html", f'<img src="data:image/svg+xml;base64,{data}">')


def says_version():
    """An output that answers the prediction."""
    return nbformat.v4.new_output("stream", name="stdout", text="x is at version 1")


TRACEBACK = "Traceback (most recent call last)\n"

BREAKS = {
    "hygiene": [
        (lambda nb: cell(nb, "run").update(execution_count=7), "execution counts"),
        (lambda nb: cell(nb, "run").update(execution_count=None), "execution counts"),
        (says("run", "UserWarning", "stderr"), "stderr"),
        (says("run", "<Node at 0x7f3a12bc>"), "a memory address"),
        (says("run", "140234567890123"), "id()"),
        (says("run", "/home/someone/course/x.py"), "an absolute path"),
        (says("run", r"C:\Users\someone"), "an absolute path"),
        (says("run", "took 1.25 s"), "a time"),
        (says("run", "12:30:01"), "a time"),
        (hidden_picture("<text>0x7f3a12bc</text>"), "a memory address in its picture"),
        (shows("run", "image/png", "iVBOR"), "image/png"),
        (hidden_picture("<text>y</text>"), "a picture without its PNG"),
        (shows("see", "image/svg+xml", "<svg/>"), "image/svg+xml"),
        (tagged("run", "nbval-skip"), "nbval-skip"),
        (tagged("run", "nbval-ignore-output"), "nbval-ignore-output"),
        (tagged("run", "raises-exception"), "raises-exception"),
        (tagged("run", "skip-execution"), "skip-execution"),
        (source("run", "# NBVAL_IGNORE_OUTPUT\nx"), "nbval not to look"),
        (source("run", "%time x"), "a magic"),
        (says("run", TRACEBACK + TRACEBACK), "2 raw tracebacks"),
    ],
    "template": [
        (markdown(r"notice\?", "notice"), "no first line"),
        (markdown("- tell it.", "tell it."), "2 abilities"),
        (markdown(r"\*\*Minutes\*\* 30", ""), "no `**Minutes**"),
        (markdown("Needs", "Wants"), "no `**Needs**"),
        (markdown("Out of", "In"), "no `**Out of"),
        (markdown(r"home\.ipynb", "house.ipynb"), "no link to home.ipynb"),
        (markdown("05_leaf", "05_leave"), "which is no notebook"),
        (markdown("It hurts.", "It hurts.\n\n- **C07.1** Early.\n\n"), "claims stand under"),
        (markdown("## What you can now claim", "## The end"), "the last section is"),
        (markdown("Build your own engine: a counter", "Your engine?"), "no section 'Build"),
        (markdown("Who compares.", "It compares"), "fewer than two headings"),
        (markdown("Who compares.", "It compares"), "a heading is a question"),
        (markdown("Who counts.", "A rest"), "under the question that it answers"),
        (changed("engine", source='L.predict("07.p2", None)'), "nothing is run after"),
        (changed("exercise", source="answer = None"), "no L.check"),
        (changed("build", source="1"), "no L.build"),
        (changed("see", outputs=[]), "no picture"),
        (lambda nb: [nb.cells.pop(8) for _ in range(2)], "nothing says what was seen"),
        (changed("predict", source="import math"), "an import outside"),
        (source("setup", "import torch\nL = lesson(7)"), "import course_lib as torch"),
        (source("setup", "import course_lib as torch\nL = lesson(6)"), "lesson(7)"),
        (source("run", "def f():\n    from math import pi"), "an import outside"),
        (says("engine", "line\n" * 25), "shows 26 lines of the engine"),
        (lambda nb: [tagged(n, "engine")(nb) for n in ("run", "see")], "3 of 8 code cells are tagged engine"),
    ],
    "given away": [
        (markdown("It hurts.", "It grew  by one."), "stands above it, in 0"),
        (markdown("grew by one", "grew"), "stands nowhere below it"),
    ],
    "spoilt": [
        (lambda nb: nb.cells[CODE["see"] + 1].metadata.clear(), "'grew by one' stands in cell 8, which a copy shows"),
        (markdown("The rule.", "The  Rule: version 1."), "'version 1' stands in cell 9, which a copy shows"),
        (markdown("Who compares", "What if it grew by one"), "'grew by one' stands in cell 9, which a copy shows"),
        (source("run", "print(x._version)"), "cell 5 shows the answer without `L.run("),
        (source("run", "print(x._version)"), "the next code cell does not run its program"),
        (source("see", "draw(x)"), None),
        (changed("see", source="draw(x)", outputs=[says_version()]), "cell 7 shows the answer without `L.run("),
        (source("run", 'L.run(count, "version 1", after="07.p1")'), "'version 1' stands in the code of cell 5"),
        (source("run", 'with expect_error(): L.run(count, after="07.p1")'), "the code of cell 5 has 'expect_error'"),
        (source("run", 'L.run(count, after="07.p1")  # it raises'), "cell 5 has a comment"),
        (source("run", 'L.run(count, after="07.p2")'), "the next code cell does not run its program"),
    ],
    "in order": [
        (source("exercise", 'L.check("07.2", answer)'), "exercises are read in the order 2, not 1"),
        (source("engine", 'L.predict("07.p3", None)'), "predictions are read in the order p1, p3, not p1, p2"),
    ],
    "claims": [
        (markdown("adds one to", "adds two to"), "last section says"),
        (tagged("run"), "C07.1 is missing from a cell's tags"),
        (tagged("see", "C07.2"), "C07.2 is missing from the last section"),
        (markdown(r"\*\*C07.1\*\*", "**C07.3**"), "wanted ['C07.1']"),
        (lambda nb: cell(nb, "run").update(source="x", outputs=[]), "neither prints nor asserts"),
    ],
}


@pytest.mark.parametrize(
    "rules, mutate, fragment",
    [(rules, mutate, fragment) for rules, rows in BREAKS.items() for mutate, fragment in rows],
    ids=[f"{rules}-{n}" for rules, rows in BREAKS.items() for n in range(len(rows))],
)
def test_each_break_is_noticed(rules, mutate, fragment):
    """The right check names the problem."""
    nb = healthy()
    mutate(nb)
    problems = CHECKS[rules](nb)

    assert not problems if fragment is None else any(fragment in problem for problem in problems), problems


@pytest.mark.parametrize(
    "tests, fragment",
    [
        (None, "claims.py is missing in the folder of lesson 07"),
        ("", "C07.1 is missing from the claims tests"),
        (TESTS.replace("(torch)", "()"), "its first argument is not `torch`"),
        (TESTS.replace("in-place operation adds", "operation adds"), "last section says"),
        (TESTS + TESTS.replace("_1_in", "_2_in"), "C07.2 is missing from the last section"),
        (TESTS + TESTS, "a second test"),
        (TESTS + "def test_more(torch): pass", "named like"),
    ],
)
def test_breaks_in_claims_tests(tests, fragment):
    """A claim that its tests do not state in the same words is noticed."""
    assert any(fragment in problem for problem in claims(healthy(), "07", tests))


def test_after_lesson_13_no_engine_is_built():
    """A lesson after the last piece of the learner's engine needs no such section."""
    nb = healthy()
    del nb.cells[CODE["build"] - 1 : CODE["build"] + 1]
    assert not [problem for problem in template(nb, "14") if "uild" in problem]
    assert any("no section 'Build" in problem for problem in template(nb, "13"))


def test_breaks_between_source_and_notebook(tmp_path):
    """Other words, other tags, another order, other metadata: each makes the source check complain."""
    for name in ("notebooks", f"lessons/{STEM}"):
        (tmp_path / name).mkdir(parents=True)
    path = tmp_path / "lessons" / STEM / "lesson.py"
    jupytext.write(bare(), path, fmt="py:percent")
    good = healthy()

    def complaints(nb):
        build_notebooks.target(path).write_text(nbformat.writes(nb), encoding="utf-8")
        return build_notebooks.check(path)

    assert complaints(good) == []
    for mutate in (
        source("run", "print(x._version )"),
        markdown("Notice", "notice"),
        tagged("run"),
        lambda nb: nb.cells.reverse(),
        lambda nb: nb.cells.pop(),
        lambda nb: nb.metadata.update(authors=[]),
        lambda nb: cell(nb, "run").update(id="other"),
        lambda nb: cell(nb, "run").metadata.update(scrolled=True),
    ):
        bad = copy.deepcopy(good)
        mutate(bad)
        assert complaints(bad) != []


@pytest.mark.check
def test_nbval_is_strict_but_for_pictures(tmp_path):
    """nbval with our sanitiser fails on one changed character, but not on how a picture is drawn."""
    v4, html = nbformat.v4, '<img src="data:image/svg+xml;base64,{}">'
    show = f"""class P:
    def _repr_mimebundle_(self, **_):
        return {{"text/plain": "P", "text/html": '{html.format(SVG)}'}}
P()"""
    html = html.format(base64.b64encode(b"<svg>drawn elsewhere</svg>").decode())
    rows = [
        ("1", {"text/plain": "1"}),
        (show, {"text/plain": "P", "text/html": html}),
        ("1", {"text/plain": "2"}),
        ("P()", {"text/plain": "Q", "text/html": html}),
        ("P()", {"text/plain": "P", "text/html": html.replace("<img", "<img ")}),
    ]
    outputs = [[v4.new_output("execute_result", data=data)] for _, data in rows]
    cells = [v4.new_code_cell(row[0], execution_count=1, outputs=out) for row, out in zip(rows, outputs, strict=True)]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "mini.ipynb")
    config = Path(__file__).with_name("nbval_sanitize.cfg")
    strict = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", str(config)]
    # jsonschema's optional check of addresses, which no notebook needs, takes a second to load.
    begin = "import sys; sys.modules['rfc3987_syntax'] = None; import pytest; sys.exit(pytest.main())"
    done = subprocess.run(
        [sys.executable, "-c", begin, "--rootdir", str(tmp_path), "-rA", *strict, "mini.ipynb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    verdicts = re.findall(r"^(PASSED|FAILED) .*::Cell (\d)", done.stdout, re.MULTILINE)
    by_cell = [verdict for verdict, _ in sorted(verdicts, key=lambda pair: pair[1])]

    assert by_cell == ["PASSED", "PASSED", "FAILED", "FAILED", "FAILED"], done.stdout
