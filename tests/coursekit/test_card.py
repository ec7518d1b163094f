"""Cards: the same words as text and as HTML, nothing that an untrusted notebook drops, and verdicts that wait."""

import html
import re
from types import SimpleNamespace

import pytest
from IPython.core.events import EventManager, post_run_cell

from coursekit.judge import exercise as ex
from coursekit.judge import verdicts
from coursekit.notebook import card
from coursekit.notebook.cells import expect_error
from coursekit.notebook.lesson import lesson

MESSAGE = "one of the variables needed for gradient computation has been modified by an inplace operation: <[2]> & more"


def words(text):
    return re.findall(r"\w+", text)


def without_tags(text):
    """What is to be read of HTML."""
    return html.unescape(re.sub(r"<[^>]*>", " ", text))


@pytest.mark.parametrize("outcome", ex.OUTCOMES)
def test_a_verdict_says_the_same_in_both_forms(outcome):
    """Every outcome has a sign and a colour; each word of the text stands in the HTML, in the same order."""
    result = ex.Result("07.1", outcome, "`x < y` is\n    x.add_(1)", ["line 2 of your cell:  x", "Look."], "a\n<b>")
    made = card.verdict(result)
    sign, colour = card.SIGNS[outcome]

    assert made.text == result.render() == repr(made)
    assert words(without_tags(made.html)) == words(made.text)
    assert f"{sign} {outcome}" in made.html and colour in made.html
    assert len({sign for sign, _ in card.SIGNS.values()}) == len(card.SIGNS)


def test_nothing_is_dropped_in_an_untrusted_notebook():
    """No script, no style sheet, no handler; and no colour of words, as nobody knows on which ground they stand."""
    made = [
        card.verdict(ex.Result("07.1", ex.CORRECT, "yes", printed="<script>alert(1)</script>")),
        card.error(f"RuntimeError: {MESSAGE}"),
        card.listing("course_lib/x.py", ["def f(x):", "    return x  # <b>"], "# … and 3 more lines"),
        card.hint("text", "07.1", ["one", "`two`"], 2),
        card.solution("text", "07.1", "Title", "x = 1\n", "Because."),
    ]
    for each in made:
        tags = set(re.findall(r"<(\w+)", each.html))
        assert tags <= {"div", "span", "b", "i", "code", "pre", "details", "summary"}
        assert not re.search(r"<\w+[^>]* on\w+=|<style|[\";]color:|#FFF|#111", each.html)


def test_words_of_an_error_are_never_broken():
    """The message stands in one piece, in an element that breaks lines between words only."""
    made = card.error(f"RuntimeError: {MESSAGE}")

    assert html.escape(MESSAGE, quote=False) in made.html
    assert "word-break:normal" in made.html and "white-space:pre-wrap" in made.html


def test_hints_before_the_newest_are_folded_and_solutions_are_open():
    """What was asked for last is open; who asks for a solution sees it at once."""
    hint, solution = card.hint("", "07.1", ["one", "two"], 3).html, card.solution("", "07.1", "T", "x = 1", "").html

    assert re.findall(r"<details( open)?>.*?(\d) of 3", hint) == [("", "1"), (" open", "2")]
    assert "<details" not in solution and "1</span>" in solution


def test_a_long_message_can_be_short(torch, capsys):
    """Of the version error short=True keeps the tensor and its two numbers, of other messages the fragment, if any."""
    x = torch.ones(2, requires_grad=True) * 1
    y = x.sin()
    x.add_(1)
    with expect_error(RuntimeError, "modified by an inplace operation", short=True):
        y.sum().backward()
    with expect_error(ValueError, short=True):
        raise ValueError("no")
    with expect_error(ValueError, "of many", short=True):
        raise ValueError("a message of many words")

    told = "[torch.FloatTensor [2]], which is output 0 of Add, is at version 1; expected version 0 instead"
    assert capsys.readouterr().out.splitlines() == [
        f"RuntimeError: … {told} …", "ValueError: no", "ValueError: … of many …",
    ]  # fmt: skip


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    """Lesson 7 in a notebook; `run(*calls)` is a cell that does these calls."""
    shell = SimpleNamespace(events=EventManager(None, {"post_run_cell": post_run_cell}))
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(verdicts, "waiting", {})
    monkeypatch.setattr(verdicts, "made_now", False)
    monkeypatch.setattr(verdicts, "left_out", False)

    def run(*calls, source="", error=None):
        for call in calls:
            call()
        ran = SimpleNamespace(info=SimpleNamespace(raw_cell=source), error_in_exec=error)
        shell.events.trigger("post_run_cell", ran)

    return SimpleNamespace(L=lesson(7), run=run)


def test_the_verdict_on_a_first_prediction_comes_below_the_next_cell(notebook, capsys):
    """First it is noted; the cell after it ends with the verdict; a second try is judged at once."""
    L, wrong = notebook.L, notebook.L.exercises["07.p1"].mistakes[0]
    answer = ex.define(wrong.answer, L.exercises["07.p1"].name, None, "answer")
    notebook.run(lambda: L.predict("07.p1", answer))
    noted = capsys.readouterr().out
    notebook.run(lambda: print("what the program says"))
    told = capsys.readouterr().out
    notebook.run(lambda: L.predict("07.p1", answer))
    again = capsys.readouterr().out
    notebook.run(lambda: print("nothing more"))

    assert "noted" in noted and wrong.says[:20] not in noted
    assert told.startswith("what the program says\n07.p1  almost")
    assert again.startswith("07.p1  almost")
    assert capsys.readouterr().out == "nothing more\n"


def test_the_verdict_waits_while_a_cell_above_was_left_out(notebook, capsys):
    """A NameError says that the program was not run: the verdict would tell before the answer is seen."""
    L, wrong = notebook.L, notebook.L.exercises["07.p1"].mistakes[0]
    answer = ex.define(wrong.answer, L.exercises["07.p1"].name, None, "answer")
    notebook.run(lambda: L.predict("07.p1", answer))
    capsys.readouterr()
    notebook.run(source="L.run(program)", error=NameError("name 'program' is not defined"))
    notebook.run(source="def program(): ...")
    assert capsys.readouterr().out == ""
    notebook.run(source="L.run(program)")

    assert capsys.readouterr().out.startswith("07.p1  almost")


def test_a_prediction_without_the_form_of_one_is_not_noted(notebook, capsys):
    """None, and what cannot be read, are answered at once."""
    notebook.run(lambda: notebook.L.predict("07.p1", None), lambda: notebook.L.predict("07.p1", object()))
    notebook.run()
    out = capsys.readouterr().out

    assert "not attempted" in out and "noted" not in out
    assert "first" not in notebook.L.kept.entry("07.p1")
