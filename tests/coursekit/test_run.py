"""`L.run`: whatever a program does is shown, in a learner's copy not before its prediction."""

import sys
import types
import warnings

import pytest

from coursekit.judge import verdicts
from coursekit.notebook import run
from coursekit.notebook.lesson import Lesson
from coursekit.notebook.progress import Progress
from tests.coursekit.exercise_samples import DOUBLE, SAVED

LESSON = """\
# %%
L.predict("98.p1", None)

# %%
L.run(first, after="98.p1")

# %% [markdown] tags=["tells"]
# Because of this.

# %% [markdown] tags=["tells"]
# > **The rule.** So it is.

# %% [markdown]
# In the open.

# %% tags=["C98.1"]
L.run(second, 3, after="98.p1")

# %% [markdown] tags=["tells"]
# And of that.

# %%
L.run(third, after="98.p1")
"""


@pytest.fixture
def L(tmp_path, monkeypatch):
    """A lesson of which no prediction was made, in a learner's folder."""
    monkeypatch.chdir(tmp_path)
    return Lesson(98, [SAVED, DOUBLE], progress=Progress(tmp_path / "course_progress.json"))


def prints_and_returns(torch, start):
    print("at first", start)
    return torch.tensor(start) * 2


def raises(torch):
    print("so far")
    torch.ones(2, requires_grad=True).backward()


def warns():
    warnings.warn("mind this", UserWarning, stacklevel=1)


def test_whatever_comes_is_shown(L, torch, capsys):
    """Prints, a value, a warning, an error and nothing at all, each in the words that both libraries use."""
    said = {}
    for name, program, args in (
        ("value", prints_and_returns, (torch, 2.0)),
        ("error", raises, (torch,)),
        ("warning", warns, ()),
        ("nothing", list.clear, ([],)),
    ):
        assert L.run(program, *args) is None
        said[name] = capsys.readouterr().out

    assert said == {
        "value": "at first 2.0\nreturns tensor(4.)\n",
        "error": "so far\nRuntimeError: grad can be implicitly created only for scalar outputs\n",
        "warning": "UserWarning: mind this\n",
        "nothing": "(it ran to its end, and there is nothing to show)\n",
    }


def test_a_picture_is_shown_as_a_picture(L, capsys):
    """What a program returns is shown as it shows itself, if it can."""

    class Picture:
        text = "a picture"

        def _repr_mimebundle_(self, include=None, exclude=None):
            return {"text/plain": self.text}

    L.run(Picture)

    assert capsys.readouterr().out == "a picture\n"


def test_a_copy_waits_for_the_prediction(L, capsys):
    """Without a prediction the program does not run; with one, or once the solution was seen, it does."""
    ran = []
    L.run(ran.append, 1, after="98.p1")
    assert not ran and 'Predict first: write your answer into L.predict("98.p1", …)' in capsys.readouterr().out

    L.predict("98.p1", ["_saved_self"])
    L.run(ran.append, 2, after="98.p1")
    L.kept.path.unlink()
    L.run(ran.append, 3, after="98.p1")
    L.solution("98.p1")
    L.run(ran.append, 4, after="98.p1")

    assert ran == [2, 4]


def test_a_published_notebook_waits_for_nobody(L, tmp_path, monkeypatch):
    """In notebooks/, where outputs stand in the open, everything is run."""
    ran = []
    for name in ("notebooks", "lessons"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    L.run(ran.append, 1, after="98.p1")

    assert ran == [1]


def test_the_texts_that_tell_belong_to_the_cell_above_them(tmp_path):
    """Each cell that runs after a prediction has the tagged texts right below it; a text in the open ends them."""
    (tmp_path / "lesson.py").write_text(LESSON, encoding="utf-8")

    assert run.telling(tmp_path / "lesson.py", "98.p1") == {
        'L.run(first, after="98.p1")': ["Because of this.", "> **The rule.** So it is."],
        'L.run(second, 3, after="98.p1")': ["And of that."],
        'L.run(third, after="98.p1")': [],
    }
    assert run.telling(tmp_path / "lesson.py", "98.p2") == {}
    assert run.call_in('x = 1\nL.run(first, after="98.p1")  # mine') == 'L.run(first, after="98.p1")  # mine'


class Shell:
    """As much of a notebook as verdicts need."""

    def __init__(self):
        self.events, self.called = self, []

    def register(self, name, function):
        self.called.append(function)

    def unregister(self, name, function):
        self.called.remove(function)


def test_an_explanation_comes_once_after_the_verdict(monkeypatch):
    """Below a cell with two runs: the verdict on the prediction, then the text, once; afterwards nobody listens."""
    shell, shown = Shell(), []
    monkeypatch.setattr(verdicts, "waiting", {})
    monkeypatch.setattr(verdicts, "at_the_end", {})
    monkeypatch.setattr(verdicts, "made_now", False)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr(verdicts, "show_card", shown.append)
    assert verdicts.after_the_next_cell("98.p1", "the verdict")
    verdicts.show_waiting(None)
    for _ in range(2):
        verdicts.once_in_this_cell(run.markdown("the text"))
    verdicts.show_waiting(None)

    assert [getattr(each, "data", each) for each in shown] == ["the verdict", "the text"]
    assert shell.called == []


def test_the_call_names_what_it_was_given(monkeypatch):
    """Of several outcomes one sees which is which: by a name, by a short text, or … for what has neither."""
    kept = [1.0, 2.0]
    shell = types.SimpleNamespace(user_ns={"a": kept, "y": kept, "_": warns})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))

    assert "prints_and_returns(a)" == run.call_text(prints_and_returns, (kept,))
    assert "warns('W2', 3, None, raises, …, …)" == run.call_text(warns, ("W2", 3, None, raises, [3], "long" * 9))
