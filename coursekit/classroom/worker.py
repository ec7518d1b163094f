"""Run one returned notebook inside the fence, cell by cell, with the judge that learners have.

stdin brings the cells and a key, stdout takes records away: each is a line of JSON with a seal made from the key, so
that printing, or writing to the pipe, gives nothing that counts. `L` is the ordinary lesson, except that it reports
what it has judged, and keeps its solutions to itself. Code that runs in the same process as the judge can defeat all
this if it searches Python's memory for the key; docs/classroom.md says so.
"""

import builtins
import contextlib
import functools
import hashlib
import hmac
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterator

import numpy

import course_lib.teach  # noqa: F401  (old copies import from it)
from coursekit.judge import bounds
from coursekit.judge import exercise as ex
from coursekit.notebook import lesson as lessons
from coursekit.rooms import COURSE_FILES

CHECK_SECONDS = 10.0  # for one check: more than in a lesson, since a machine that grades is busy
LONGEST = 4000  # characters of one text in a record
PACKAGES = os.path.dirname(os.path.dirname(numpy.__file__))
GENUINE = (*COURSE_FILES, PACKAGES, sys.prefix, sys.base_prefix, "<frozen", "<__array_function__")
SEALED = ("coursekit.judge.", "coursekit.notebook.", "coursekit.classroom.", "lessons.")
ASKS = re.compile(r"""L\s*\.\s*(?:check|predict)\s*\(\s*["'](\d?\d[a-z]?\.p?\d+)["']""")


# ------------------------------------------------------------------------------------------- the way out


def sealed_line(key, number, record) -> str:
    """Return a record as a line that only the holder of the key can write, and only at this place."""
    text = json.dumps(record, ensure_ascii=True)
    return f"{seal(key, number, text)} {text}\n"


def seal(key, number, text) -> str:
    """Return the seal of one line."""
    return hmac.new(key, f"{number} {text}".encode(), hashlib.sha256).hexdigest()


def reporter(file, key, entries) -> Callable:
    """Return a function that writes one record after the other. Key and file are known to it alone.

    Only what is called from this file counts, entered by one of `entries`: a cell that finds it cannot use it.
    """
    count, process = 0, os.getpid()

    def report(**record):
        nonlocal count
        if os.getpid() != process:
            return  # a fork of ours
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_back.f_code.co_filename == __file__:
            frame = frame.f_back
        if frame.f_code not in entries:
            return
        data = sealed_line(key, count, record).encode("ascii")
        count += 1
        while data:
            data = data[os.write(file, data) :]

    return report


# ---------------------------------------------------------------------------- what a notebook must not touch


class Tools:
    """The judge and Python's own functions as they were before a cell ran, to notice what has been changed."""

    def __init__(self, records):
        self.records = records
        self.before = dict(self.parts())

    def parts(self) -> Iterator:
        """Pairs (name, what it is) for everything that decides a verdict."""
        for record in self.records:
            for each, value in vars(record).items():
                yield f"{record.id}.{each}", value
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType) and name.startswith(SEALED):
                for each, value in list(vars(module).items()):
                    if callable(value) and not each.startswith("_") or each.isupper():
                        yield from self.inside(f"{name}.{each}", value)
        for each, value in list(vars(builtins).items()):
            if callable(value) and getattr(value, "__module__", "") == "builtins":  # IPython lends some of its own
                yield f"builtins.{each}", value

    def inside(self, name, value) -> Iterator:
        """Yield a function with its code, a class with its methods."""
        yield name, value
        if isinstance(value, types.FunctionType):
            yield f"{name}.__code__", value.__code__
        if isinstance(value, type) and value.__module__.startswith(SEALED):
            for each, member in list(vars(value).items()):
                if isinstance(member, types.FunctionType):
                    yield from self.inside(f"{name}.{each}", member)

    def changed(self) -> str:
        """Return the name of something that is not what it was, or ''."""
        now = dict(self.parts())
        for name, was in self.before.items():
            if now.get(name) is not was:
                return name
        return patched_engine()


def patched_engine() -> str:
    """Name a function of our engine, of NumPy or of math whose code has come from a notebook's cell, or ''."""
    for name, module in list(sys.modules.items()):
        ours = name.partition(".")[0] == "course_lib" or name in ("numpy", "math")
        if not ours or not isinstance(module, types.ModuleType):
            continue
        for each, value in list(vars(module).items()):
            if from_a_cell(value):
                return f"{name}.{each}"
            if isinstance(value, type) and value.__module__.startswith("course_lib"):
                for inner, member in list(vars(value).items()):
                    if from_a_cell(member):
                        return f"{name}.{each}.{inner}"
    return ""


def from_a_cell(value) -> bool:
    """Recognise a function that neither we nor a package has written. (A dataclass writes some methods itself.)"""
    if not isinstance(value, types.FunctionType):
        return False
    file = value.__code__.co_filename
    return not (file.startswith(GENUINE) or file == "<string>" and value.__name__.startswith("__"))


class Private:
    """An attribute of a record that only the course reads: a cell that asks gets an empty one, and is noted."""

    def __init__(self, name, note):
        self.name, self.note = name, note

    def __get__(self, record, kind=None):
        if record is None:
            return self
        value = record.__dict__[self.name]
        if sys._getframe(1).f_code.co_filename.startswith((*COURSE_FILES, sys.base_prefix)):
            return value
        self.note("reads the course's solution of", record.__dict__["id"])
        return type(value)()

    def __set__(self, record, value):
        record.__dict__[self.name] = value


# ----------------------------------------------------------------------------------------------- the lesson


class Graded(lessons.Lesson):
    """The lesson as a notebook uses it: judges as ever, and reports instead of showing."""

    def __init__(self, lesson, torch, run):
        super().__init__(lesson.number, lesson.exercises.values(), torch, progress=Nothing())
        self._run = run

    def run(self, program, *args, after=None) -> None:
        """Run the program, for what later cells need of it; show nothing."""
        with contextlib.suppress(Exception):
            program(*args)

    def check(self, id=lessons.NOTHING, answer=lessons.NOTHING) -> None:
        """Judge an answer."""
        self._asked(id, answer)

    def predict(self, id=lessons.NOTHING, answer=lessons.NOTHING) -> None:
        """Judge a prediction."""
        self._asked(id, answer)

    def _asked(self, id, answer):
        known = self._run.exercises.get(lessons.normal(id))
        if known is not None and answer is not lessons.NOTHING:
            self.results[known.id] = self._run.judge(known, answer, self.torch)

    def hint(self, id=lessons.NOTHING) -> None:
        """Do nothing while grading."""

    def solution(self, id=lessons.NOTHING) -> None:
        """Shows nothing while grading; the page says that the notebook asks for it."""
        self._run.note("asks L.solution for", ex.short(id).strip("'"))

    def build(self, lesson=None) -> None:
        """Do nothing while grading: the learner's own engine stays with the learner."""

    def progress(self) -> None:
        """Do nothing while grading."""

    train = defects = progress


class Nothing:
    """No progress is kept while grading."""

    def entry(self, id) -> dict:
        """Return what is known of an exercise: nothing."""
        return {}

    def change(self, id, change) -> dict:
        """Remember nothing."""
        return {}


class Run:
    """One notebook's cells in one shell, and what was judged on the way."""

    def __init__(self, job, report):
        self.report, self.judged, self.notes, self.cell = report, set(), set(), None
        self.seconds, self.process = job["cell_seconds"], os.getpid()
        self.shell = quiet_shell()
        edition = job.get("edition", "")
        self.exercises = {each.id: each for each in lessons.lesson(job["lesson"], edition=edition).exercises.values()}
        sys.modules["coursekit"].lesson = self.lesson
        sys.modules["course_lib.teach"].lesson = functools.partial(self.lesson, edition="0.9.0")
        for kind in {each for record in self.exercises.values() for each in type(record).__mro__[:-1]}:
            for name in ("solution", "alternatives"):
                setattr(kind, name, Private(name, self.note))
        self.tools = Tools(list(self.exercises.values()))

    def lesson(self, number, torch=None, edition="") -> Graded:
        """Return what `lesson(7)` is inside the fence: the ordinary lesson, which reports."""
        return Graded(lessons.lesson(number, edition=edition), torch, self)

    def note(self, what, id) -> None:
        """Something that a teacher wants to know of an exercise; said once."""
        if (what, id) not in self.notes and len(self.notes) < 50:
            self.notes.add((what, id))
            self.report(kind="note", what=what, id=id[:20])

    def changed(self) -> str:
        """Return the name of something that the notebook has replaced, or ''; it is reported."""
        name = self.tools.changed()
        if name:
            self.report(kind="replaced", what=name[:200], cell=self.cell)
        return name

    def judge(self, exercise, answer, torch=None) -> ex.Result:
        """Return the verdict of the record's check, reported; none when the notebook has changed what judges."""
        changed = self.changed()
        if not changed:
            torch = torch if torch is not None else ex.engine_for(answer, lessons.our_engine())
            result = ex.judge(exercise, answer, torch, CHECK_SECONDS)
            changed = self.changed()
        if changed:
            self.tell(exercise, refusal(exercise, changed))
            return refusal(exercise, changed)
        said = bounds.run(lambda: ex.short(answer)).value if exercise.kind == "predict" else None
        self.tell(exercise, result, said=said)
        return result

    def tell(self, exercise, result, **more) -> None:
        self.judged.add(exercise.id)
        self.report(
            kind="verdict", id=exercise.id, outcome=result.outcome, text=result.text[:LONGEST], cell=self.cell,
            details=[each[:LONGEST] for each in result.details[:5]], printed=result.printed[:LONGEST],
            mistake=result.mistake, malformed=result.malformed, **more,
        )  # fmt: skip

    def run(self, cells, skip) -> None:
        """Run the cells in order, as Run All does, but go on after an error."""
        for number, cell in enumerate(cells):
            self.cell = number
            if number in skip:
                continue
            self.report(kind="cell", cell=number)
            error = self.run_cell(cell["source"])
            if os.getpid() != self.process:
                os._exit(0)  # a fork of ours, in which a cell went on
            if error is not None:
                self.report(kind="error", cell=number, text=in_words(error, self.seconds))
            asked = set(ASKS.findall(cell["source"])) | ({cell["asks"]} if cell["asks"] else set())
            for id in sorted({lessons.normal(each) for each in asked} - self.judged):
                if id in self.exercises:
                    self.without_a_check(self.exercises[id], error)
            self.changed()  # also where no check comes after it
        self.report(kind="end")

    def run_cell(self, source) -> BaseException | None:
        """Run one cell; return what went wrong, or None."""
        clock = bounds.AlarmClock if bounds.AlarmClock.works_here() else bounds.Watchdog
        try:
            with clock(bounds.Spent(self.seconds)):
                ran = bounds.inside(lambda: self.shell.run_cell(source, store_history=False))
        except BaseException as error:  # a second ring of the alarm may come in the shell's own lines
            return error
        return ran.error_before_exec or ran.error_in_exec

    def without_a_check(self, exercise, error) -> None:
        """Report a verdict on an exercise whose cell has run and judged nothing."""
        if error is not None:
            text = f"its cell stops before the check: {in_words(error, self.seconds)}."
            details = [] if isinstance(error, bounds.TimeUp) else [ex.help_for(error, exercise)]
            self.tell(exercise, ex.Result(exercise.id, ex.ERROR, text, details))
        elif exercise.name in self.shell.user_ns:  # the line L.check(...) is gone; the answer is there
            self.judge(exercise, self.shell.user_ns[exercise.name])


def in_words(error, seconds) -> str:
    """Say what ended a cell."""
    if isinstance(error, bounds.TimeUp):
        return f"it ran longer than {seconds:g} seconds"
    said = bounds.run(lambda: ex.error_text(error)).value or "an error without words"
    return re.sub(r" ?\(<ipython-input[^>]*>, line (\d+)\)", r" in line \1", said)[:LONGEST]


def refusal(exercise, changed) -> ex.Result:
    """Return the result that a notebook gets which has changed what would judge it."""
    text = f"the notebook changes `{changed}`, with which answers are judged. So this one was not."
    return ex.Result(exercise.id, "not judged", text)


def quiet_shell() -> object:
    """Return an IPython shell that runs cells, keeps no history and shows nothing."""
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    HistoryManager.enabled = False
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = ["text/plain"]
    shell.display_formatter.format = lambda *args, **kwargs: ({}, {})
    shell.display_pub.publish = lambda *args, **kwargs: None
    sys.displayhook = lambda value: None
    shell.showtraceback = shell.showsyntaxerror = lambda *args, **kwargs: None
    return shell


def main() -> None:
    """Take the job from stdin, run it, report."""
    job = json.loads(sys.stdin.readline())
    key = bytes.fromhex(job.pop("key"))
    file = os.dup(1)
    empty = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(empty, number)
    sys.stdin, sys.stdout, sys.stderr = (open(os.devnull, mode, encoding="utf-8") for mode in "rww")
    sys.path.append("")
    entries = {each.__code__ for each in (main, Graded.check, Graded.predict, Graded.solution, Private.__get__)}
    run = Run(job, reporter(file, key, entries))
    del key, file
    with contextlib.suppress(BaseException):
        run.run(job["cells"], set(job["skip"]))
    os._exit(0)


if __name__ == "__main__":
    main()
