"""`L.build("05")`: the learner's own `my_engine.py`, loaded afresh and judged at the checkpoint of a lesson.

A checkpoint is passed when the engine prints what PyTorch prints, in the lesson's program and in those of all lessons
before. (Our engine answers in PyTorch's place: it prints the same, which tests prove, and is there for everybody.)
"""

import contextlib
import functools
import importlib
import io
import linecache
import types
from pathlib import Path

from course_lib.teach.building import checkpoints, stages
from course_lib.teach.building.drawable import drawable
from course_lib.teach.building.mistakes import MISTAKES
from course_lib.teach.practice import bounds
from course_lib.teach.practice import exercise as ex

NAME = stages.NAME
PROBE_SECONDS = 3.0  # for all questions to the engine about known mistakes
MISSING = (
    f"there is no {NAME} beside this notebook. One of these commands writes it, in a terminal in the course's folder:"
)
COMMAND = "python3 course.py my-engine"
UNTOUCHED = f"{NAME} is as it was given to you. Open it beside this notebook, write the lines, and run this cell again."


def judge(lesson, path=None):
    """The Result for the file at the checkpoint of a lesson, and the learner's picture or None. Never raises."""
    path = Path(NAME) if path is None else Path(path)
    ident = f"{lesson:02d}.b"
    try:
        source = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ex.Result(ident, ex.NOT_ATTEMPTED, MISSING, how_to_begin(lesson)), None
    except (OSError, UnicodeDecodeError) as error:
        return ex.Result(ident, ex.ERROR, f"{NAME} cannot be read: {ex.error_text(error)}"), None
    if source.strip() in ("", stages.start().strip()):
        return ex.Result(ident, ex.NOT_ATTEMPTED, UNTOUCHED), None
    loaded = bounds.run(lambda: load(source))
    if loaded.error is not None:
        return result_of_error(ident, loaded.error, loaded.printed), None
    return judged(lesson, ident, source)


def number_of(lesson):
    """5, "5" and "05" mean the checkpoint of lesson 05; None for what means none."""
    try:
        number = int(lesson)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number in range(stages.LAST + 1) else None


def how_to_begin(lesson):
    """The commands that write a file, one a line."""
    commands = [f"    {COMMAND}                   its beginning"]
    if lesson:
        what = "lesson 00 builds" if lesson == 1 else f"lessons 00 to {lesson - 1:02d} build"
        commands.append(f"    {COMMAND} --catch-up {lesson - 1:02d}     what {what}")
    return commands


def load(source):
    """The engine as a module of its own, its lines known to tracebacks."""
    file = f"<{NAME}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType("my_engine")
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    return module


def judged(lesson, ident, source):
    """Run the checkpoints up to this lesson, newest first: what the learner has just written is asked for first."""
    difference = None
    for number in (lesson, *range(lesson)):
        program, engine = checkpoints.PROGRAMS[number], load(source)
        got = bounds.run(lambda program=program, engine=engine: printed(program, engine))
        if isinstance(got.error, bounds.TimeUp):
            text = f"the program of lesson {number:02d} still ran after {bounds.SECONDS:g} seconds and was stopped."
            return ex.Result(
                ident, ex.ERROR, text, ["Does your engine walk along a part of the graph many times?"]
            ), None
        if got.error is not None or got.value.error is not None or got.value.value != wanted(number):
            difference = number, got
            break
    found = bounds.run(lambda: mistake_in(source, lesson), seconds=PROBE_SECONDS).value
    if found is not None:
        return ex.Result(ident, ex.ALMOST, found.says, mistake=found.seen.__name__), None
    if difference is not None:
        return result_of_difference(ident, lesson, *difference), None
    text = f"your engine prints what PyTorch prints. From now on {checkpoints.NOW[lesson]}"
    return ex.Result(ident, ex.CORRECT, text), picture_of(lesson, load(source))


@functools.cache
def wanted(number):
    """What PyTorch prints for the program of a lesson."""
    return printed(checkpoints.PROGRAMS[number], importlib.import_module("course_lib")).value


def mistake_in(source, lesson):
    """The first Mistake that the engine shows, of this lesson or of those before. Each is asked of a fresh engine."""
    for each in sorted(MISTAKES, key=lambda each: -each.lesson):
        with contextlib.suppress(Exception):  # an engine that cannot be asked does not show it
            if each.lesson <= lesson and each.seen(load(source)):
                return each
    return None


def printed(program, torch):
    """A Ran whose value is what the program printed; its error, if it raised one."""
    ran, out = bounds.Ran(), io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            program(torch)
        except Exception as error:
            ran.error = error
    ran.value = out.getvalue()
    return ran


def result_of_difference(ident, lesson, number, got):
    """An error with its line, or the learner's output beside PyTorch's."""
    if error := got.error or got.value.error:
        return result_of_error(ident, error, "")
    where = "" if number == lesson else f" in the program of lesson {number:02d}"
    details = ["PyTorch prints:", *lines_of(wanted(number)), "your engine prints:", *lines_of(got.value.value)]
    text = f"your engine does not print what PyTorch prints{where}. {program_said(number)}"
    return ex.Result(ident, ex.NOT_YET, text, details)


def program_said(number):
    return "It is this: " + " ".join(checkpoints.PROGRAMS[number].__doc__.split())


def lines_of(text, most=8):
    lines = text.splitlines()
    return ["  " + line[: ex.WIDTH] for line in lines[:most]] + ["  …"] * (len(lines) > most)


def result_of_error(ident, error, output):
    """From what the learner's file raised to a Result with the line of the file."""
    if isinstance(error, bounds.TimeUp):
        text = f"{NAME} was still being read after {bounds.SECONDS:g} seconds: a loop at its top level never ends."
        return ex.Result(ident, ex.ERROR, text)
    line = error.lineno if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == f"<{NAME}>":
            line = step.tb_lineno
        step = step.tb_next
    place = [f"line {line} of {NAME}:  {linecache.getline(f'<{NAME}>', line).strip()[: ex.WIDTH]}"] if line else []
    result = ex.Result(ident, ex.ERROR, ex.error_text(error), place)
    result.printed = output
    return result


def picture_of(lesson, engine):
    """The learner's own graph, drawn; None when the instruments cannot read it."""
    from course_lib.teach.pictures.draw import draw

    def drawn():
        result, names = checkpoints.picture(engine, lesson)
        drawable(engine)
        picture = draw(result, names=names)
        str(picture)
        return picture

    return bounds.run(drawn).value
