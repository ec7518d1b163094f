"""`course.py check`: proves every exercise of the course, on our engine and on PyTorch when it is installed.

For each record: the starter counts as not attempted, the solution and every alternative as correct, every
wrong answer gets its own sentence, junk is never correct. For each lesson: the notebook holds the record's
starter and no solution, and with all solutions put in, the whole notebook runs and every check says correct.

    python -m coursekit.judge.prove            a table, and what to do about each failure
    python -m coursekit.judge.prove --json     the counts
    python -m coursekit.judge.prove 7 9        some lessons only
"""

import argparse
import ast
import contextlib
import importlib
import importlib.util
import json
import linecache
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.judge import bounds, guard
from coursekit.judge import exercise as ex
from coursekit.judge.discovery import exercises_module, lesson_numbers, number_in, number_of
from coursekit.judge.source import cells_of
from coursekit.notebook.lesson import Lesson
from coursekit.own_engine import proving
from coursekit.rooms import LESSONS as SOURCES

LESSON_SECONDS = 150.0  # a notebook takes a second or two; those of 17 start processes, each of which loads PyTorch
PUZZLES = range(1, 27)
FEWEST = {"exercises": 4, "mistakes": 4, "hints": 2, "alternatives": 1}


# ----------------------------------------------------------------------------- one record, by itself


def record_complaints(exercise, number) -> list[str]:
    """List what is wrong with a record as it is written, before anything is run: sentences, or []."""
    said = []
    if not re.fullmatch(rf"{number}\.p?\d+", str(exercise.id)):
        said.append(f"its id should look like {number}.1 or {number}.p1, as its lesson does.")
    if exercise.kind not in ex.KINDS:
        said.append(f"its kind {exercise.kind!r} is unknown; choose one of: {', '.join(ex.KINDS)}.")
    if (exercise.kind == "predict") != (".p" in str(exercise.id)):
        said.append("an id with p and the kind 'predict' belong together; change one of the two.")
    for what in ("title", "question", "why", "name"):
        if not str(getattr(exercise, what)).strip():
            said.append(f"its {what} is empty; write it.")
    if not (isinstance(exercise.minutes, (int, float)) and exercise.minutes > 0):
        said.append(f"minutes is {exercise.minutes!r}; say how long it takes.")
    if exercise.difficulty not in (1, 2, 3):
        said.append(f"difficulty is {exercise.difficulty!r}; it is 1, 2 or 3.")
    if strange := [p for p in exercise.puzzles if p not in PUZZLES]:
        said.append(f"puzzles {strange} do not exist; they are numbered {PUZZLES[0]} to {PUZZLES[-1]}.")
    for what in ("mistakes", "hints", "alternatives"):
        have = getattr(exercise, what)
        if isinstance(have, str):
            said.append(f"{what} is one text; a comma makes it a tuple.")
        elif len(have) < FEWEST[what]:
            said.append(f"it has {len(have)} {what}; write at least {FEWEST[what]}.")
    names = Counter(mistake.name for mistake in exercise.mistakes)
    for mistake in exercise.mistakes:
        if mistake.name.startswith("guard: ") and not guard_kind(mistake):
            said.append(f"the guard has no kind {mistake.name!r}; the kinds are: {', '.join(guard.KINDS)}.")
    sentences = Counter(" ".join(each.says.split()) for each in exercise.mistakes if each.says or not guard_kind(each))
    for name in (name for name, times in names.items() if times > 1):
        said.append(f"two mistakes are called {name!r}; check() could not tell them apart. Rename one.")
    for sentence in (sentence for sentence, times in sentences.items() if times > 1 or not sentence):
        said.append(f"{sentences[sentence]} mistakes say “{sentence}”; each needs a sentence of its own.")
    for hint in exercise.hints:
        if line := given_away(exercise, hint):
            said.append(f"the hint “{shortened(hint)}” gives away “{line}”; say what to look at instead.")
    return said


def guard_kind(mistake) -> str | None:
    """Return what the guard calls this mistake; '' for one that the exercise's own check recognises."""
    return next((kind for kind in guard.KINDS if mistake.name.startswith(f"guard: {kind}")), "")


def given_away(exercise, text) -> str | None:
    """Return the line (or the value) of the solution that stands in `text`, or ''."""
    text = squeezed(text)
    return next((line for line in key_parts(exercise) if squeezed(line) in text), "")


def key_parts(exercise) -> list[str]:
    """List what must not be given away: lines of the solution that the starter lacks, and a value's text."""
    starter = {squeezed(line) for line in exercise.starter.splitlines()}
    lines = [line.strip() for line in exercise.solution.splitlines()]
    parts = [line for line in lines if squeezed(line) not in starter and len(squeezed(line)) >= 8]
    parts = [line for line in parts if not line.startswith(("#", "def ", "class ", "import ", '"""'))]
    with contextlib.suppress(SyntaxError):
        for node in ast.parse(exercise.solution).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple, ast.Dict)):
                value = ast.unparse(node.value)
                parts += [value] if len(squeezed(value)) >= 4 else []
    return parts


def squeezed(text) -> str:
    return re.sub(r"\s+", "", text).replace("'", '"')


def shortened(text, limit=60) -> str:
    text = " ".join(str(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ----------------------------------------------------------------------- one record, on one engine


def exercise_complaints(exercise, torch) -> list[str]:
    """List what the check gets wrong on one engine. Sentences; [] when it is proved."""
    said = []

    def judged(source, label):
        name = f"{exercise.id} {label}"
        made = bounds.run(lambda: ex.define(source, exercise.name, torch, name), ex.loaded_engines(torch))
        if made.error is not None:
            said.append(f"the {label} cannot be run: {ex.error_text(made.error)}. Repair its source text.")
            return None
        return ex.judge(exercise, made.value, torch)

    def expect(result, outcome, label, advice):
        if result is not None and result.outcome != outcome:
            said.append(f"the {label} gets “{result.outcome} — {shortened(told(result), 200)}”. {advice}")

    expect(
        judged(exercise.starter, "starter"), ex.NOT_ATTEMPTED, "starter",
        "A starter that nobody touched must count as not attempted: leave `...` or None in it.",
    )  # fmt: skip
    first = judged(exercise.solution, "solution")
    allowed = set() if first is None else set(first.allowed)
    expect(first, ex.CORRECT, "solution", "Repair the check, or the solution.")
    if first is not None and first.outcome == ex.CORRECT:
        if not first.text:
            said.append("correct(...) says nothing; say what the learner has just shown.")
        again = judged(exercise.solution, "solution")
        if again is not None and again.render() != first.render():
            said.append("the solution gets a different text the second time; a printed text may not vary.")
    for number, source in enumerate(exercise.alternatives, 1):
        result = judged(source, f"alternative {number}")
        allowed |= set() if result is None else result.allowed
        expect(
            result, ex.CORRECT, f"alternative {number}",
            "The check must accept every right answer: test a property, not one way of writing it.",
        )  # fmt: skip
    if unneeded := sorted(set(exercise.may_change) - allowed - {guard.ALIVE}):
        said.append(f"may_change says {unneeded}, and no right answer changes that. Take it out.")
    for mistake in exercise.mistakes:
        result = judged(mistake.answer, f"wrong answer {mistake.name!r}")
        expect(
            result, ex.ALMOST, f"wrong answer {mistake.name!r}",
            f"The check must recognise it and return almost({mistake.name!r}).",
        )  # fmt: skip
        name = f"guard: {guard_kind(mistake)}" if guard_kind(mistake) else mistake.name
        if result is not None and result.outcome == ex.ALMOST and result.mistake != name:
            said.append(f"the wrong answer {mistake.name!r} is taken for {result.mistake!r}.")
    junk = {"an object that is no answer": object(), "a function that does nothing": lambda *a, **k: object()}
    for label, value in junk.items():
        result = ex.judge(exercise, value, torch)
        if result.outcome == ex.CORRECT:
            said.append(f"{label} counts as correct. The check looks at too little.")
    return said


def told(result) -> str:
    return " ".join([result.text, *result.details])


# ------------------------------------------------------------------------------------ the notebook


def read_notebook(path) -> list:
    """Return the cells of a notebook source, with the exercise cells recognised."""
    cells = cells_of(path.read_text(encoding="utf-8"))
    for cell in cells:
        if cell.kind == "code":
            recognise(cell)
    return cells


def recognise(cell) -> None:
    """Fill in `asks`, `how` and `given` when the cell ends with L.check(...) or L.predict(...)."""
    try:
        body = ast.parse(cell.source).body
    except SyntaxError:
        return
    call = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return
    if call.func.attr not in ("check", "predict") or len(call.args) != 2:
        return
    if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
        cell.asks, cell.how = call.args[0].value, call.func.attr
        cell.given = "\n".join(cell.source.splitlines()[: body[-1].lineno - 1]).strip()
        if not cell.given and not isinstance(call.args[1], ast.Name):  # L.predict("07.p1", None)
            cell.given = f"answer = {ast.unparse(call.args[1])}"


def notebook_complaints(exercises, cells) -> list[str]:
    """List where a notebook and its records disagree: sentences that begin with an exercise's id."""
    said = []
    asked = Counter(cell.asks for cell in cells if cell.asks)
    known = {exercise.id: exercise for exercise in exercises}
    for id in asked:
        if id not in known:
            said.append(f"{id}: the notebook asks it and no record has this id. Write one.")
    for exercise in exercises:
        if asked[exercise.id] != 1:
            said.append(f"{exercise.id}: {asked[exercise.id]} cells of the notebook ask it, not one.")
    for cell in cells:
        exercise = known.get(cell.asks)
        if exercise is not None:
            wanted = "predict" if exercise.kind == "predict" else "check"
            if cell.how != wanted:
                said.append(f"{cell.asks}: cell {cell.number} calls L.{cell.how}; its kind wants L.{wanted}.")
            if not same_source(cell.given, exercise.starter):
                said.append(f"{cell.asks}: the starter in cell {cell.number} differs from the record's.")
        if "L.solution(" in cell.source and cell.kind == "code":
            said.append(f"cell {cell.number}: it calls L.solution, which prints one into the notebook.")
        for exercise in exercises:
            if holds_solution(cell, exercise):
                said.append(f"{exercise.id}: its solution stands in cell {cell.number}. Take it out.")
    return said


def same_source(one, other) -> bool:
    """Equal up to blank lines at the ends; a single assignment also up to its spelling."""
    if one.strip() == other.strip():
        return True
    try:
        one, other = ast.parse(one).body, ast.parse(other).body
    except SyntaxError:
        return False
    if len(one) == len(other) == 1 and isinstance(one[0], ast.Assign) and isinstance(other[0], ast.Assign):
        return ast.dump(one[0]) == ast.dump(other[0])
    return False


def holds_solution(cell, exercise) -> bool:
    """Tell whether the cell shows all that the solution adds to the starter (or the exercise's value)."""
    text = squeezed(cell.source)
    added = [line for line in key_parts(exercise) if not line.startswith(("[", "(", "{"))]
    if not added:
        return False
    return squeezed("".join(added)) in text or all(squeezed(line) in text for line in added)


def injected(cell, exercises) -> str:
    """Return the source of a cell as a learner who knows everything would leave it."""
    exercise = {each.id: each for each in exercises}.get(cell.asks)
    if exercise is None:
        return cell.source
    return f'{exercise.solution.rstrip()}\n\n\nL.{cell.how}("{exercise.id}", {exercise.name})\n'


def solved_notebook_complaints(number, exercises, cells, torch) -> list[str]:
    """Run the whole notebook with all solutions put in: every check must say correct."""
    space, said, passed_over = {"__name__": "__main__"}, [], set()
    on_real_torch = torch.__name__ == "torch"

    def run_all():
        for cell in cells:
            if cell.kind != "code":
                continue
            if on_real_torch and "engine" in cell.tags:  # shows our engine's inside
                passed_over.add(cell.asks)
                continue
            source = injected(cell, exercises)
            if on_real_torch:
                source = re.sub(r"(?m)^import course_lib as torch$", "import torch", source)
            filename = f"<lesson {number}, cell {cell.number}>"
            linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
            try:
                exec(compile(source, filename, "exec", dont_inherit=True), space)
            except Exception as error:
                said.append(f"with all solutions put in, cell {cell.number} stops: {ex.error_text(error)}.")
                return

    with tempfile.TemporaryDirectory() as folder, environment(COURSE_PROGRESS=folder):
        ran = bounds.run(run_all, ex.loaded_engines(torch), LESSON_SECONDS)
    if ran.error is not None:
        said.append(f"with all solutions put in it does not end: {ex.error_text(ran.error)}.")
    results = {}
    for value in space.values():
        if isinstance(value, Lesson):
            results.update(value.results)
    for exercise in exercises:
        result = results.get(exercise.id)
        if result is None and exercise.id not in passed_over and not said:
            said.append(f"{exercise.id}: no check of it was run in the solved notebook.")
        elif result is not None and result.outcome != ex.CORRECT:
            said.append(
                f"{exercise.id}: its solution in the whole notebook gets “{result.outcome} — "
                f"{shortened(told(result), 200)}”. Does an earlier cell change a name that it uses?"
            )
    return said


@contextlib.contextmanager
def environment(**values) -> Iterator:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# ------------------------------------------------------------------------------------- all of them


@dataclass
class Report:
    """The exercises that were proved, and those that were not."""

    failures: list = field(default_factory=list)  # (where, sentence)

    def add(self, where, sentences) -> str:
        self.failures += [(where, sentence) for sentence in sentences]
        return "ok" if not sentences else "FAILED"


def exercises_of(number) -> list:
    """Return the records of one lesson."""
    return list(exercises_module(number).EXERCISES)


def notebook_of(number, sources=None) -> Path | None:
    """Return the path of a lesson's percent-format source, or None."""
    return next(iter(sorted((sources or SOURCES).glob(f"{number}_*/lesson.py"))), None)


def lesson_complaints(number, exercises) -> list[str]:
    """List what is wrong with the records of a lesson taken together."""
    said = []
    for id, times in Counter(exercise.id for exercise in exercises).items():
        if times > 1:
            said.append(f"{id}: {times} records have this id. Give each its own.")
    if number != "00" and len(exercises) < FEWEST["exercises"]:
        said.append(f"the lesson has {len(exercises)} exercises; it needs at least {FEWEST['exercises']}.")
    return said


def engines(names=()) -> tuple:
    """Return the modules to prove on, and the names of those that are not there."""
    for library in ("OMP", "OPENBLAS", "MKL"):  # before PyTorch is read: on a busy machine its threads only wait
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    found, missing = [], []
    for name in names or ("course_lib", "torch"):
        module = importlib.import_module(name) if importlib.util.find_spec(name) else None
        if hasattr(module, "Tensor"):
            found.append(module)
        else:
            missing.append(name)
    return found, missing


def counts(numbers, sources=None) -> dict:
    """Return the numbers that `--json` prints."""
    lessons = [exercises_of(number) for number in numbers]
    all_exercises = [exercise for lesson in lessons for exercise in lesson]
    built = [int(number) for number in numbers if proving.has_checkpoint(number) and sources is None]
    puzzles = sorted({puzzle for exercise in all_exercises for puzzle in exercise.puzzles})
    found = sorted((sources or SOURCES).glob("[0-9][0-9]*_*/lesson.py"))
    # All but the appendices.
    notebooks = [path for path in found if number_in(path.parent.name) in numbers or path.parent.name < "90"]
    claims = {
        claim
        for path in notebooks
        for claim in re.findall(r"(?m)^# - \*\*(C\d\d[a-z]?\.\d+)\*\*", path.read_text(encoding="utf-8"))
    }
    return {
        "lessons": len(notebooks),
        "lessons_with_exercises": len(lessons),
        "claims": len(claims),
        "exercises": len(all_exercises),
        "predictions": sum(exercise.kind == "predict" for exercise in all_exercises),
        "wrong_answers": sum(len(exercise.mistakes) for exercise in all_exercises),
        "right_answers": sum(1 + len(exercise.alternatives) for exercise in all_exercises),
        "hints": sum(len(exercise.hints) for exercise in all_exercises),
        "checkpoints": len(built),
        "wrong_engines": sum(len(proving.wrong_engines(number)) for number in built),
        "right_engines": sum(1 + len(proving.others(number)) for number in built),
        "puzzles_answered": len(puzzles),
        "puzzles": puzzles,
        "kinds": dict(sorted(Counter(exercise.kind for exercise in all_exercises).items())),
    }


def prove_all(numbers, modules, say, sources=None) -> Report:
    """Prove every exercise of these lessons on these engines; `say` gets the table line by line."""
    report = Report()
    for number in numbers:
        exercises = exercises_of(number)
        for exercise in exercises:
            where = f"{exercise.id}"
            row = report.add(where, record_complaints(exercise, number))
            cells = [
                report.add(f"{where} on {module.__name__}", exercise_complaints(exercise, module))
                for module in modules
            ]
            right = 1 + len(exercise.alternatives)
            line = f"{exercise.id:9} {exercise.kind:17} {len(exercise.mistakes):5} {right:5}  {row:7} "
            say(line + "  ".join(f"{cell:10}" for cell in cells))
        report.add(f"lesson {number}", lesson_complaints(number, exercises))
        if proving.has_checkpoint(number) and sources is None:
            prove_checkpoint(int(number), modules, report, say)
        path = notebook_of(number, sources)
        if path is None:
            report.add(f"lesson {number}", ["lessons/ has no source for it. Write it."])
            say(f"lesson {number} has no notebook  FAILED")
            continue
        notebook = read_notebook(path)
        row = report.add(path.name, notebook_complaints(exercises, notebook))
        cells = [
            report.add(
                f"{path.name} on {module.__name__}",
                solved_notebook_complaints(number, exercises, notebook, module),
            )
            for module in modules
        ]
        line = f"{f'notebook {number}, all solved':39} {row:7} "
        say(line + "  ".join(f"{cell:10}" for cell in cells))
    return report


def prove_in_processes(numbers, names, say) -> Report:
    """Prove the lessons one by one in as many processes as there are processors; the table keeps their order."""
    report = Report()
    spawn = multiprocessing.get_context("spawn")  # no fork: PyTorch has threads
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(numbers)), mp_context=spawn) as pool:
        for lines, failures in pool.map(prove_lesson, numbers, [names] * len(numbers)):
            for line in lines:
                say(line)
            report.failures += failures
    return report


def prove_lesson(number, names) -> tuple:
    """Prove one lesson on the engines of these names: the lines of its table, and its failures."""
    lines = []
    report = prove_all([number], engines(names)[0], lines.append)
    return lines, report.failures


def prove_checkpoint(number, modules, report, say) -> None:
    """Prove the learner's own engine after a lesson: one more line of the table."""
    where = f"{number:02d}.b"
    row = report.add(where, proving.record_complaints(number))
    cells = []
    for place, module in enumerate(modules):
        said = proving.engine_complaints(number, module, modules[0] if place else None)
        cells.append(report.add(f"{where} on {module.__name__}", said))
    wrong, right = len(proving.wrong_engines(number)), 1 + len(proving.others(number))
    line = f"{where:9} {'build an engine':17} {wrong:5} {right:5}  {row:7} "
    say(line + "  ".join(f"{cell:10}" for cell in cells))


def main(arguments=None) -> int:
    """Prove, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="course.py check", description="Prove every exercise.")
    parser.add_argument("lessons", nargs="*", type=number_of, help="lesson numbers (default: all)")
    parser.add_argument("--json", action="store_true", help="print the counts, and the failures, as JSON")
    parser.add_argument("--engine", action="append", choices=("course_lib", "torch"), help="default: both")
    options = parser.parse_args(arguments)
    have = lesson_numbers()
    numbers = options.lessons or have
    if unknown := [number for number in numbers if number not in have]:
        print(f"No exercises for lesson {unknown[0]}; there are: {', '.join(map(str, have)) or 'none'}.")
        return 2
    begun = time.monotonic()
    stream = sys.stderr if options.json else sys.stdout

    def say(line):
        print(line, file=stream, flush=True)

    modules, missing = engines(options.engine or ())
    heads = "  ".join(f"{module.__name__:10}" for module in modules)
    say(f"{'exercise':9} {'kind':17} {'wrong':>5} {'right':>5}  {'record':7} {heads}")
    if len(numbers) > 1 and (os.cpu_count() or 1) > 1:
        report = prove_in_processes(numbers, options.engine or (), say)
    else:
        report = prove_all(numbers, modules, say)
    required = os.environ.get("COURSE_REQUIRE_TORCH") == "1"
    for name in missing:
        if name == "torch" and not required:
            say("torch is not installed: proved on course_lib only. pip install torch==2.13.0 adds the rest.")
        else:
            report.add("engines", [f"{name} is missing, so nothing was proved on it. Install it."])
    if not numbers:
        report.add("lessons", ["no lesson has exercises: nothing was proved."])
    total = counts(numbers)
    total["engines"] = {module.__name__: str(getattr(module, "__version__", "")) for module in modules}
    total["failures"] = [f"{where}: {sentence}" for where, sentence in report.failures]
    for line in total["failures"]:
        say(f"✗ {line}")
    seconds = time.monotonic() - begun
    built = total["wrong_engines"], total["right_engines"]
    engines_proved = "{} wrong and {} right engines of learners, ".format(*built) if any(built) else ""
    say(
        f"{total['exercises']} exercises, {total['wrong_answers']} wrong and {total['right_answers']} right "
        f"answers, {engines_proved}on {' and '.join(total['engines']) or 'no engine'}: "
        f"{len(report.failures) or 'no'} failure{'s' * (len(report.failures) != 1)} ({seconds:.1f} s)."
    )
    if options.json:
        print(json.dumps(total, indent=1, ensure_ascii=False))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
