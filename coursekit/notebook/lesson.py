"""`L = lesson(7)`: the learner's side of the exercises. Predict, check, hint, solution, progress.

Every method prints a short text whose first line carries the outcome, never raises, and leaves the notebook
alone. Where progress is kept: see progress.py.
"""

import functools
import importlib
import re
import textwrap
from collections.abc import Callable
from types import ModuleType

from coursekit.judge import bounds, discovery, verdicts
from coursekit.judge import exercise as ex
from coursekit.judge.moved import ProgressBefore, records_before
from coursekit.notebook import card as cards
from coursekit.notebook.card import show_card
from coursekit.notebook.progress import Progress
from coursekit.notebook.run import run

BUILT = {"b": "your own engine", "10.t": "a network on your engine", "13.t": "your tests"}  # in progress(), once tried
NOTHING = object()  # "no argument given"; None is an answer that means "not attempted"


def lesson(number, torch=None, edition="") -> "Lesson":
    """Return the exercises of one lesson. `torch` names the engine for the checks (usually found by itself).

    edition: "0.9.0" for a notebook of that course or an earlier one: it asks exercises by the numbers they had.
    """
    numbers = discovery.lesson_numbers()
    try:
        wanted = discovery.number_of(number)
    except ValueError:
        wanted = None
    if wanted not in numbers:
        have = ", ".join(f"lesson({int(each)})" if each.isdigit() else f'lesson("{each}")' for each in numbers)
        raise ValueError(f"lesson({number!r}): no lesson of that number has exercises. There are: {have}.")
    if edition == "0.9.0":
        return Lesson(wanted, records_before(wanted), torch, ProgressBefore(Progress()))
    return Lesson(wanted, discovery.exercises_module(wanted).EXERCISES, torch)


def in_words(method) -> Callable:
    """Return a method that prints a sentence where it would have raised: a lesson never stops for its tools."""

    @functools.wraps(method)
    def careful(self, *args, **kwargs):
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            verb = "predict" if method.__name__ == "predict" else "check"
            print(
                f"L.{method.__name__} could not do this: {ex.error_text(error)}. Your notebook is unchanged. "
                f'Use it like this: L.{verb}("{self.example(verb)}", answer) or L.hint("{self.example(verb)}").'
            )

    return careful


class Lesson:
    """One lesson's exercises, for one learner."""

    def __init__(self, number, exercises, torch=None, progress=None):
        self.number = discovery.number_of(number)  # "07", or "07b" for a part
        self.exercises = {each.id: each for each in exercises}
        self.torch = torch  # None: look at the answer, else our engine
        self.kept = progress if progress is not None else Progress()
        self.results = {}  # the last Result for each id: what the prover reads

    def __repr__(self):
        return f"Lesson {self.number}: {', '.join(self.exercises) or 'no exercises'}"

    @in_words
    def check(self, id=NOTHING, answer=NOTHING) -> None:
        """Judge an answer: not attempted · error in your code · not yet · almost · correct."""
        exercise = self.find(id, answer, "check")
        if exercise is not None:
            show_card(cards.verdict(self.judge(exercise, answer)))

    @in_words
    def predict(self, id=NOTHING, answer=NOTHING) -> None:
        """Judge a prediction. The first one is kept, shown by `progress()`, and judged below the next cell."""
        exercise = self.find(id, answer, "predict")
        if exercise is None:
            return
        result = self.judge(exercise, answer)
        if result.outcome == ex.NOT_ATTEMPTED or result.malformed:  # a slip of the pen is no first prediction
            show_card(cards.verdict(result))
            return
        is_first = "first" not in self.kept.entry(exercise.id)
        now = bounds.run(lambda: ex.short(answer)).value or "(something without a text)"
        entry = self.kept.change(exercise.id, lambda entry: entry.setdefault("first", now))
        if entry["first"] != now:
            result.details.append(f"Your first prediction was {entry['first']}.")
        if is_first and verdicts.after_the_next_cell(exercise.id, cards.verdict(result)):
            text = f"you said {now}. Run the next cell and look; what your prediction was worth stands below it."
            result = ex.Result(exercise.id, "noted", text)
        show_card(cards.verdict(result))

    @property
    def stage(self) -> ModuleType:
        """The lesson's own helpers, the code that only feeds a chart: stage.py in its folder."""
        return discovery.import_from_lessons(f"{discovery.folder_of(self.number).name}.stage")

    @in_words
    def run(self, program, *args, after=None) -> None:
        """Call a program and show whatever comes: prints, a value, a picture or an error.

        after: the id of a prediction. In your copy the program waits until that prediction was made.
        """
        run(program, args, after, self.kept, self.number)

    @in_words
    def build(self, lesson=None) -> None:
        """Judge the learner's own `my_engine.py` at this lesson's checkpoint, and draw a graph that it has made."""
        from coursekit.own_engine.judge import judge, number_of

        number = number_of(self.number if lesson is None else lesson)
        if number is None:
            print(f'L.build: no checkpoint is called {ex.short(lesson)}. Write the number of a lesson: L.build("05").')
            return
        passed = {n: self.kept.entry(f"{n:02d}.b").get("file") for n in range(number)}
        judged = judge(number, torch=self.torch, passed={n: file for n, file in passed.items() if file})
        self.tell(judged.result, judged.picture)
        if judged.result.outcome == ex.CORRECT:
            self.kept.change(judged.result.id, lambda entry: entry.update(file=judged.digest))

    def tell(self, result, picture) -> None:
        """Remember an outcome about the learner's own engine, print it, and show what belongs to it."""
        self.results[result.id] = result
        self.remember(result)
        show_card(cards.verdict(result))
        if picture is not None:
            show_picture(picture)

    @in_words
    def train(self) -> None:
        """Train a network on the learner's own engine, beside ours and PyTorch's."""
        from coursekit.own_engine.training import trained

        self.tell(*trained())

    @in_words
    def defects(self) -> None:
        """Try the learner's own tests, `my_tests.py`, on engines in which a defect was planted."""
        from coursekit.own_engine.defects import defects

        self.tell(defects(), None)

    @in_words
    def hint(self, id=NOTHING) -> None:
        """Show the next hint: one a call. After the last one, the last one again."""
        if self.built(id, "hint"):
            return
        exercise = self.find(id, None, "hint")
        if exercise is None:
            return
        total = len(exercise.hints)
        entry = self.kept.change(
            exercise.id, lambda entry: entry.update(hints=min(count(entry, "hints") + 1, total))
        )
        number = entry["hints"]
        text = f"{exercise.id:5}  hint {number} of {total} — {exercise.hints[number - 1]}"
        text = ex.wrap(ex.tidy(text), first="")
        if number == total:
            text += f'\n{ex.INDENT}That was the last one; L.solution("{exercise.id}") shows a solution.'
        show_card(cards.hint(text, exercise.id, exercise.hints[:number], total))

    @in_words
    def solution(self, id=NOTHING) -> None:
        """Show a right answer, and why it is right."""
        if self.built(id, "solution"):
            return
        exercise = self.find(id, None, "solution")
        if exercise is None:
            return
        self.kept.change(exercise.id, lambda entry: entry.update(solution_seen=True))
        text = "\n".join(
            [
                ex.wrap(f"{exercise.id:5}  a solution of “{exercise.title}”", first=""),
                textwrap.indent(exercise.solution.strip("\n"), ex.INDENT),
                ex.wrap(exercise.why),
            ]
        )
        show_card(cards.solution(text, exercise.id, exercise.title, exercise.solution, exercise.why))

    def built(self, id, what) -> bool:
        """Return True, after help with one's own engine was printed, if the id is a checkpoint's, such as "05.b"."""
        from coursekit.own_engine import hints

        number = hints.number_in(id)
        if number is not None:
            kept = self.kept.entry(f"{number:02d}.b")
            if what == "hint":
                text, which = hints.hint(number, count(kept, "hints"))
                seen = {"hints": which}
            else:
                text, seen = hints.lines_of(number), {"solution_seen": True}
            self.kept.change(f"{number:02d}.b", lambda entry: entry.update(seen))
            show_card(cards.words(text))
        return number is not None

    @in_words
    def progress(self) -> None:
        """Show a small table: what is solved, how often it was tried, how many hints were read."""
        rows, solved = [], 0
        for exercise in self.exercises.values():
            entry = self.kept.entry(exercise.id)
            solved += entry.get("solved") is True
            outcome = ex.CORRECT if entry.get("solved") is True else entry.get("outcome", ex.NOT_ATTEMPTED)
            note = f"  (you first said {entry['first']})" if "first" in entry else ""
            note += "  (solution seen)" if entry.get("solution_seen") else ""
            numbers = f"{count(entry, 'tries'):5}  {count(entry, 'hints'):5}"
            rows.append(f"  {exercise.id:5}  {outcome!s:18}  {numbers}  {exercise.title}{note}")
        lines = [
            f"Lesson {self.number}: {solved} of {len(rows)} correct",
            f"  {'id':5}  {'outcome':18}  {'tries':>5}  {'hints':>5}  exercise",
            *rows,
        ]
        for id, title in BUILT.items():
            id = f"{self.number}.b" if id == "b" else id
            if id.startswith(f"{self.number[:2]}.") and (entry := self.kept.entry(id)):
                outcome = ex.CORRECT if entry.get("solved") is True else entry.get("outcome", ex.NOT_ATTEMPTED)
                lines.append(f"  {id:5}  {outcome!s:18}  {count(entry, 'tries'):5}  {'':5}  {title}")
        show_card(cards.table("\n".join(lines)))

    def judge(self, exercise, answer) -> ex.Result:
        """Judge, remember and return the Result. A starter that nobody touched leaves no trace."""
        torch = self.torch if self.torch is not None else ex.engine_for(answer, our_engine())
        result = self.results[exercise.id] = ex.judge(exercise, answer, torch)
        self.remember(result)
        return result

    def remember(self, result) -> None:
        """Put an outcome into the learner's progress, unless nothing was tried."""

        def note(entry):
            entry["outcome"] = result.outcome
            entry["tries"] = count(entry, "tries") + 1
            entry["solved"] = entry.get("solved") is True or result.outcome == ex.CORRECT

        if result.outcome != ex.NOT_ATTEMPTED:
            self.kept.change(result.id, note)

    def find(self, id, answer, method) -> ex.Exercise | None:
        """Return the exercise with this id; None, after a sentence, when there is none or something is missing."""
        key = normal(id)
        if key not in self.exercises:
            given = "no id was given" if id is NOTHING else f"there is no exercise {ex.short(id)}"
            text = f"L.{method}: {given} in lesson {self.number}. {self.ids()}"
            print(ex.wrap(text, first="", rest=""))
            return None
        if answer is NOTHING:
            name = self.exercises[key].name
            print(f'L.{method}: an answer is missing. Write it after the id: L.{method}("{key}", {name}).')
            return None
        return self.exercises[key]

    def ids(self) -> str:
        return f"It has {', '.join(self.exercises)}; write one in quotes, like \"{next(iter(self.exercises), '')}\"."

    def example(self, verb) -> str | None:
        """Return an id that this verb takes: predictions have a p in theirs."""
        fitting = (id for id in self.exercises if (".p" in id) == (verb == "predict"))
        return next(fitting, f"{self.number}.1")


def normal(id) -> str | None:
    """Read "7.3", " 07.3 " and "07.P1" as they are meant; anything that is not text stays as it is."""
    if not isinstance(id, str):
        return None
    return re.sub(r"^(?=\d(?!\d))", "0", id.strip().lower())


def count(entry, key) -> int:
    """Return a counter in a progress entry, whatever somebody has written there by hand."""
    value = entry.get(key, 0)
    return value if isinstance(value, int) and value >= 0 else 0


def show_picture(picture) -> None:
    """Show a picture under the cell, or its text where there is no notebook."""
    try:
        from IPython.display import display
    except ImportError:
        print(picture)
    else:
        display(picture)


def our_engine() -> ModuleType:
    return importlib.import_module("course_lib")
