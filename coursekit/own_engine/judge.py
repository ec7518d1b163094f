"""`L.build("05")`: the learner's own `my_engine.py`, loaded afresh and judged at the checkpoint of a lesson.

A checkpoint is passed when the engine prints what PyTorch prints, in the lesson's program and in those of all lessons
before, and shows none of the mistakes of mistakes.py. (Our engine answers in PyTorch's place: it prints the same, which
is proved, and is there for everybody.)
"""

import ast
import contextlib
import functools
import gc
import hashlib
import importlib
import itertools
import linecache
import os
import sys
import types
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType

from coursekit.judge import bounds
from coursekit.judge import exercise as ex
from coursekit.own_engine import checkpoints, stages
from coursekit.own_engine.drawable import drawable, show_slots
from coursekit.own_engine.mistakes import known

NAME = stages.NAME
FILE = f"<{NAME}>"  # as tracebacks call it
COMMAND = "python3 course.py my-engine"
IN_A_BROWSER = sys.platform == "emscripten"  # no terminal
CELL = "from coursekit.own_engine.stages import write; write"
LOOK_SECONDS = 3.5 * bounds.SLOWER  # for all that one `L.build` asks of an engine
DRAW_SECONDS = bounds.SECONDS  # for its picture
MISSING = f"there is no {NAME} beside this notebook. One of these commands writes it, " + (
    "in a cell:" if IN_A_BROWSER else "in a terminal in the course's folder:"
)
UNTOUCHED = f"{NAME} is as it was given to you. Open it beside this notebook, write the lines, and run this cell again."
STRETCH = {
    True: "The stretch of lesson 08 is there, too: a write through a view changes the history of its base.",
    False: "The stretch of lesson 08 is not there yet: after `y[0] = w` your engine does not give what PyTorch gives.",
}

HALF = "steps 1 to 4 are right: nothing is recorded or computed for what is frozen. Step 5, the switch, comes next."

Judged = namedtuple("Judged", "result picture digest")  # a Result; a Picture or None; by what the file is known


@dataclass
class Look:
    """Partial results of an inspection of an engine; they stand, whatever stops the inspection."""

    doing: str = f"{NAME} was still being read"
    differs: dict = field(default_factory=dict)  # lesson -> the Ran of its program, where that is not as it should be
    mistake: object = None
    half: bool = False  # lesson 02: all that is asked for before the switch is there
    program: object = None  # lesson 02 without the switch: the program that ran in place of the lesson's own
    stretch: bool | None = None  # whether it does what the stretch of lesson 08 asks for; None if it does not try


def judge(lesson, path=None, torch=None, passed=None) -> Judged:
    """Judged for the file at the checkpoint of a lesson; raises nothing, and always ends within seconds.

    torch: the engine that says what is right. passed: {lesson: digest of the file that passed its checkpoint}.
    """
    ident, passed = f"{lesson:02d}.b", passed or {}
    torch = importlib.import_module("course_lib") if torch is None else torch
    try:
        source = (Path(NAME) if path is None else Path(path)).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Judged(ex.Result(ident, ex.NOT_ATTEMPTED, MISSING, how_to_begin(lesson)), None, "")
    except (OSError, UnicodeDecodeError) as error:
        return Judged(ex.Result(ident, ex.ERROR, f"{NAME} cannot be read: {ex.error_text(error)}"), None, "")
    digest = digest_of(source)
    if not source.strip() or digest == digest_of(stages.start()):
        return Judged(ex.Result(ident, ex.NOT_ATTEMPTED, UNTOUCHED, [show_program(lesson)]), None, digest)
    learn_what_is_right(lesson, torch)
    look, ran = looked(source, lesson, torch, passed)
    if ran.busy:  # once more
        look, ran = looked(source, lesson, torch, passed)
    described = bounds.run(lambda: result_of(ident, lesson, look, ran, torch, passed, digest))
    result = described.value or ex.Result(ident, ex.ERROR, "what your engine gave cannot be put into words.")
    result.printed = ex.without_addresses(ran.printed)
    picture = picture_of(lesson, source, result) if result.outcome == ex.CORRECT or look.half else None
    return Judged(result, picture, digest)


def number_of(lesson) -> int | None:
    """5, "5" and "05" mean the checkpoint of lesson 05; None for what means none."""
    try:
        number = int(lesson)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number in checkpoints.programs() else None


def lessons_up_to(lesson) -> list[int]:
    return [number for number in checkpoints.programs() if number <= lesson]


def how_to_begin(lesson) -> list[str]:
    """Return the commands that write a file, one a line."""
    begin = f"{CELL}()  # its beginning" if IN_A_BROWSER else f"{COMMAND}                   its beginning"
    return [f"    {begin}"] + catch_up(lesson)


def catch_up(lesson) -> list[str]:
    """Return the command that writes what comes before a lesson; [] before lesson 01."""
    before = min(lesson - 1, stages.LAST)
    what = "lesson 00 builds" if before == 0 else f"lessons 00 to {before:02d} build"
    command = f"{CELL}({before})  #" if IN_A_BROWSER else f"{COMMAND} --catch-up {before:02d}    "
    return [f"    {command} what {what}"] if before >= 0 else []


# ------------------------------------------------------------------------------------------ looking


@functools.lru_cache(maxsize=32)
def digest_of(source) -> str:
    """By what a file is known: its code, whatever its comments and blank lines are; its text where it is no code."""
    try:
        text = ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        text = source
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def compiled(source) -> CodeType:
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    return compile(source, FILE, "exec", dont_inherit=True)


def looked(source, lesson, torch, passed) -> tuple:
    """Return (what was seen of the engine, how the look ended), within bounds."""
    look = Look()
    with as_it_was():
        ran = bounds.run(lambda: look_at(source, lesson, torch, passed, look), seconds=LOOK_SECONDS)
    return look, ran


@contextlib.contextmanager
def as_it_was() -> Iterator:
    """Put back what `bounds` does not look after: the working folder, and whether garbage is collected."""
    folder, collecting = os.getcwd(), gc.isenabled()
    try:
        yield
    finally:
        os.chdir(folder)
        (gc.enable if collecting else gc.disable)()


def load(source) -> ModuleType:
    """Read the engine as a module of its own. (While it is read it can be found by its name, which dataclasses do.)"""
    module, before = types.ModuleType("my_engine"), sys.modules.get("my_engine")
    sys.modules["my_engine"] = module
    try:
        exec(compiled(source), module.__dict__)
    finally:
        if before is None:
            sys.modules.pop("my_engine", None)
        else:
            sys.modules["my_engine"] = before
    return module


@functools.cache
def wanted(number, torch) -> str:
    """Return the expected output of a lesson's program."""
    return printed(checkpoints.programs()[number], torch).value


def learn_what_is_right(lesson, torch) -> None:
    """Have all answers before the clock runs; whatever the learner has switched off in this engine, it is on here."""
    bounds.run(lambda: [wanted(number, torch) for number in lessons_up_to(lesson)], [torch], seconds=60.0)


def printed(program, torch) -> bounds.Ran:
    """Return a Ran whose value is what the program printed (not the engine itself); its error, if it raised one."""
    ran = bounds.Ran()
    with checkpoints.printing() as lines:
        try:
            program(torch)
        except Exception as error:
            ran.error = error
    ran.value = "".join(lines)
    return ran


def look_at(source, lesson, torch, passed, look) -> None:
    """Ask for the mistake that would never end, run all programs, then ask for the other mistakes, newest first."""
    load(source)
    look.doing = "a small program still ran"
    ask(source, lesson, look, [each for each in known() if each.first])
    if look.mistake:
        return
    for number in lessons_up_to(lesson):
        look.doing = f"the program of lesson {number:02d} still ran"
        program, engine = checkpoints.programs()[number], load(source)
        got = printed(program, engine)
        if got.error is not None or got.value != wanted(number, torch):
            look.differs[number] = got
    look.doing = "a small program still ran"
    engine = load(source)
    if lesson >= 8 and hasattr(getattr(engine, "Tensor", None), "__setitem__"):
        stretch = checkpoints.pieces()[8].stretch_08
        look.stretch = printed(stretch, engine).value == printed(stretch, torch).value
    without_switch = lesson == 2 and [*look.differs] == [2] and not hasattr(engine, "no_grad")
    if without_switch:  # steps 1 to 4 come first, and have a program of their own
        look.program = half = checkpoints.pieces()[2].half_02
        look.differs[2] = printed(half, load(source))
    first = comes_first(lesson, look, passed)
    ask(source, lesson, look, [each for each in known() if each.lesson == first] + list(known()))
    if without_switch and not look.mistake:
        look.half = look.differs[2].value == printed(half, torch).value


def ask(source, lesson, look, mistakes) -> None:
    """Note the first mistake that the engine shows, of this lesson or one before. Each is asked of a fresh engine."""
    for each in mistakes:
        with contextlib.suppress(Exception):  # an engine that cannot be asked does not show it
            asked = each.lesson == lesson if each.only else each.lesson <= lesson
            if asked and each.seen(load(source)):
                look.mistake = each
                return


def comes_first(lesson, look, passed) -> int:
    """Return the lesson to speak about: one before this whose checkpoint was never passed, or else this one."""
    return min([number for number in look.differs if number not in passed] + [lesson])


# --------------------------------------------------------------------------------------- in words


def result_of(ident, lesson, look, ran, torch, passed, digest) -> ex.Result:
    """From what was seen to a Result."""
    if ran.error is None and not look.mistake and not look.differs:
        now = checkpoints.pieces()[lesson].NOW
        result = ex.Result(ident, ex.CORRECT, f"your engine prints what PyTorch prints. {now}")
        result.details += [STRETCH[look.stretch]] if look.stretch is not None else []
        return result
    if (done := lesson_of(digest, lesson, passed)) is not None:
        return unchanged(ident, lesson, done)
    if look.half:
        return ex.Result(ident, ex.ALMOST, HALF)
    if ran.busy:
        return ex.machine_was_busy(ident)
    if isinstance(ran.error, bounds.TimeUp):
        text = f"{look.doing} after {LOOK_SECONDS:g} seconds and was stopped."
        advice = "Is there a loop that never ends, or a part of the graph that is walked again and again?"
        return ex.Result(ident, ex.ERROR, text, [*place_of(ran.error), advice])
    if ran.error is not None:
        return ex.Result(ident, ex.ERROR, ex.error_text(ran.error), details_of_error(ran.error))
    if look.mistake:
        lead, more = lead_and_more(look.mistake.lesson, lesson, passed)
        return ex.Result(ident, ex.ALMOST, lead + look.mistake.says, more, mistake=look.mistake.name)
    number = comes_first(lesson, look, passed)
    if number not in look.differs or same_error(look.differs[number], look.differs.get(lesson)):
        number = max(look.differs)
    program = look.program or checkpoints.programs()[number]
    return result_of_difference(ident, lesson, number, program, look.differs[number], torch, passed)


def same_error(one, other) -> bool:
    """Tell whether two programs stop for one reason, which then is no matter of a lesson."""
    return other is not None and one.error is not None and ex.error_text(one.error) == ex.error_text(other.error)


def lesson_of(digest, lesson, passed) -> int | None:
    """Return the lesson after which the file was just as it is now; None when it is nobody's known file."""
    before = range(min(lesson, stages.LAST + 1))
    known = [number for number in before if passed.get(number) == digest]
    known += [number for number in before if digest == digest_of(stages.stage(number))]
    return max(known, default=None)


def unchanged(ident, lesson, done) -> ex.Result:
    """Say that nothing was written since an earlier lesson."""
    text = f"{NAME} is as it was after lesson {done:02d}. "
    if done == lesson - 1:
        text += "Write this lesson's lines into it, and run this cell again."
        return ex.Result(ident, ex.NOT_ATTEMPTED, text, [show_program(lesson)])
    text += f"Lesson {done + 1:02d} comes next. If you want to go on here, this writes what lies between:"
    return ex.Result(ident, ex.NOT_ATTEMPTED, text, catch_up(lesson))


def lead_and_more(number, lesson, passed) -> tuple:
    """Return the words before a sentence about another lesson than this one, and the way to skip that lesson."""
    if number == lesson:
        return "", []
    if number in passed:
        return f"what lesson {number:02d} asked for worked before, and does not now: ", []
    return f"something from lesson {number:02d} comes first: ", ["To skip it:", *catch_up(lesson)]


def result_of_difference(ident, lesson, number, program, got, torch, passed) -> ex.Result:
    """Tell what the program could not use, an error with its line, or the learner's output beside PyTorch's."""
    lead, more = lead_and_more(number, lesson, passed)
    if got.error is not None:
        place = place_of(got.error)
        if not place:  # it was raised by the program's own line, about something that is not there
            text = f"{lead}the program of lesson {number:02d} stops: {ex.error_text(got.error)}."
            line = line_of(got.error, program.__code__.co_filename)
            return ex.Result(ident, ex.NOT_YET, text, [*line, *more, show_program(number)])
        return ex.Result(ident, ex.ERROR, lead + ex.error_text(got.error), details_of_error(got.error) + more)
    right, yours = printed(program, torch).value.splitlines(), got.value.splitlines()
    differ = [place for place, two in enumerate(itertools.zip_longest(right, yours)) if two[0] != two[1]]
    details = ["PyTorch prints:", *lines_of(right, differ), "your engine prints:", *lines_of(yours, differ)]
    text = f"{lead}the program of lesson {number:02d} does not print what PyTorch prints: {len(differ)} of "
    text += f"{max(len(right), len(yours))} lines differ. It shows this: "
    text += " ".join(program.__doc__.split())
    return ex.Result(ident, ex.NOT_YET, text, [*details, *more, show_program(number)])


def show_program(number) -> str:
    return f'L.hint("{number:02d}.b") shows the program.'


def lines_of(lines, places, most=8) -> list[str]:
    """Return the lines of an output at these places."""
    shown = [f"  line {at + 1}:  {lines[at][: ex.WIDTH]}" for at in places if at < len(lines)] or ["  (nothing)"]
    return shown[:most] + ["  …"] * (len(shown) > most)


def details_of_error(error) -> list[str]:
    """Return the line of the learner's file, and what usually helps."""
    with contextlib.suppress(Exception):
        for kind, fragment, sentence in ex.HELP:
            if isinstance(error, kind) and fragment in str(error) and kind is not RuntimeError:
                return [*place_of(error), sentence]
    return place_of(error)


def place_of(error, file=FILE) -> list[str]:
    """Return [] or one line: where in a learner's file the error was raised."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == file else None
    for step in ex.steps(error):
        line = step.tb_lineno if step.tb_frame.f_code.co_filename == file else line
    return [f"line {line} of {file[1:-1]}:  {linecache.getline(file, line).strip()[: ex.WIDTH]}"] if line else []


def line_of(error, file) -> list[str]:
    """Return [] or one line: the last line of a file of ours that the error came through."""
    found = [step.tb_lineno for step in ex.steps(error) if step.tb_frame.f_code.co_filename == file]
    return [f"in this line:  {linecache.getline(file, found[-1]).strip()[: ex.WIDTH]}"] if found else []


def picture_of(lesson, source, result) -> object:
    """Return the learner's own graph, drawn; or None, and a sentence among the result's details."""
    from backscope.pictures.draw import draw

    def drawn():
        engine = drawable(load(source))
        y, names, words = checkpoints.picture(engine, lesson)
        several = show_slots(engine, y)
        picture = draw(y, names=names)
        str(picture), picture.svg  # noqa: B018  both are made here, within bounds
        result.details.append(f"Below is your own graph of  {words}")
        if several:
            result.details.append("(Your engine has an accumulator for each use of a leaf. They are drawn as one.)")
        return picture

    with as_it_was():
        ran = bounds.run(drawn, seconds=DRAW_SECONDS)
    if ran.error is not None:
        result.details.append("(No picture: drawing your graph asks your engine for more than this lesson does.)")
    return ran.value
