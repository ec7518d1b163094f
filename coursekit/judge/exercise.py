"""Exercises as data, and the judge of an answer to one.

A record holds everything about one exercise: the question, the starter, the hints, a solution, other right
answers, wrong answers with the sentence each must get, and the check. `judge` turns a learner's answer into
one of five outcomes and never raises; `course.py check` (prove.py) proves every record.
"""

import ast
import contextlib
import dis
import functools
import importlib
import importlib.util
import inspect
import linecache
import re
import reprlib
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from coursekit.judge import bounds, forms
from coursekit.judge import guard as guards

NOT_ATTEMPTED = "not attempted"
ERROR = "error in your code"
NOT_YET = "not yet"
ALMOST = "almost"
CORRECT = "correct"
OUTCOMES = (NOT_ATTEMPTED, ERROR, NOT_YET, ALMOST, CORRECT)

KINDS = (
    "predict",
    "predict saved",
    "predict state",
    "which happens",
    "reorder",
    "repair",
    "write a row",
    "write a Function",
    "write a hook",
    "write it yourself",
    "edges",
    "cause this error",
    "order the queue",
    "diagnose",
)

WIDTH = 100  # characters of a printed line
INDENT = "       "  # as wide as "07.p1  "


# ------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Verdict:
    """The answer of a check: an outcome word and its text (a mistake's name for `almost`)."""

    outcome: str
    text: str
    lead: str = ""  # what stands before a mistake's sentence; with it, the text of NOT_YET is a mistake's name, too


def correct(shown: str) -> Verdict:
    """Say that the answer is right; `shown` says what the learner has just shown."""
    return Verdict(CORRECT, shown)


def almost(mistake: str, lead: str = "") -> Verdict:
    """Say that the answer is a known wrong one: `mistake` names the Mistake, `lead` stands before its sentence."""
    return Verdict(ALMOST, mistake, lead)


def not_yet(seen: str) -> Verdict:
    """Say that the answer is wrong in a way nobody named; `seen` says what was seen, never the solution."""
    return Verdict(NOT_YET, seen)


@dataclass(frozen=True)
class Mistake:
    """One plausible wrong answer and the sentence it must get."""

    name: str  # for an answer that the guard catches: "guard: " and one of guard.KINDS (and words that tell two apart)
    says: str  # "" for what the guard catches: it has a sentence of its own, and `says` only adds to it
    answer: Any  # source text that defines the exercise's `name`, as a learner would have written it; or its value
    also: tuple = ()  # other values that are the same mistake (predict.py)
    when: Callable[[Any, Any], bool] | None = None  # when(value, truth): recognises it where values do not (predict.py)


@dataclass(frozen=True)
class Exercise:
    """One exercise, complete: what the learner sees, what is right, what is wrong, and how we know."""

    id: str  # "07.3", or "07.p1" for a prediction
    kind: str  # one of KINDS
    title: str
    question: str  # markdown
    minutes: int
    difficulty: int  # 1, 2 or 3
    name: str  # what the sources define and the learner passes to L.check
    starter: str  # source text of the learner's cell, without its last line
    hints: tuple[str, ...]
    solution: str
    why: str
    alternatives: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    check: Callable[[Any, Any], Verdict]  # check(answer, torch)
    puzzles: tuple[int, ...] = ()
    may_change: tuple[str, ...] = ()  # what right answers change: "W", "x.grad", "leaves.grad", or one of guard.KINDS
    slow: str = ""  # what usually takes so long, if time is up
    prepare: Callable[[Any], Any] | None = None  # prepare(torch): what a library does once, and for seconds
    reveals: tuple[str, ...] = ()  # of a prediction: words of the lesson that tell the answer; none may stand above it

    def __post_init__(self):
        """Answers that are given as edits of the solution become source text."""
        written = [replace(each, answer=edited(self.solution, each.answer)) for each in self.mistakes]
        object.__setattr__(self, "mistakes", tuple(written))
        if not isinstance(self.alternatives, str):  # a forgotten comma: prove.py says so
            object.__setattr__(self, "alternatives", tuple(edited(self.solution, each) for each in self.alternatives))


class Edit(tuple):
    """An answer that is the solution with some of its text replaced: pairs (old, new)."""


def edit(*texts) -> Edit:
    """Make an answer of an edit of the solution: edit(old, new), or more such pairs, each on what the last one left."""
    return Edit(zip(texts[::2], texts[1::2], strict=True))


def edited(solution, answer) -> str:
    """Return the source text of an answer, whether it is given as text or as an Edit."""
    if not isinstance(answer, Edit):
        return answer
    for old, new in answer:
        if solution.count(old) != 1:
            raise ValueError(f"{old!r} stands {solution.count(old)} times in the solution; an edit needs it once.")
        solution = solution.replace(old, new)
    return solution


# ------------------------------------------------------------------------------------------- judging


@dataclass
class Result:
    """The outcome for one answer, ready to print."""

    id: str
    outcome: str
    text: str
    details: list[str] = field(default_factory=list)  # further lines, printed as they are
    printed: str = ""  # what the learner's code printed
    mistake: str = ""  # the name of the recognised mistake
    malformed: bool = False  # not in the form of an answer: no first prediction yet
    word: str = ""  # what is shown in place of the outcome
    allowed: set = field(default_factory=set)  # which entries of the record's `may_change` were needed

    def render(self) -> str:
        """Return the whole printed answer; its first line carries the outcome word."""
        lines = [wrap(f"{self.id:5}  {self.word or self.outcome} — {self.text}", first="")]
        lines += [INDENT + line if line else "" for line in self.details]
        if self.printed:
            shown = self.printed.splitlines()
            cut = [f"… and {len(shown) - 20} more lines."] if len(shown) > 20 else []
            lines.append(INDENT + "Your code printed:")
            lines += [INDENT + "| " + line[:WIDTH] for line in shown[:20] + cut]
        return "\n".join(lines)


@dataclass
class Calls:
    """The calls of a learner's function during one check."""

    count: int = 0
    gave_value: bool = False
    returned: int = 0
    last: Any = None
    guard: Any = None  # the Guard of the check, once there is one
    code: Any = None  # marks, in a traceback, where the learner's code begins
    malformed: bool = False  # the answer has not the form of an answer at all

    @property
    def findings(self) -> list:
        """List what the guard noticed, first things first."""
        return [] if self.guard is None else self.guard.findings


LEFT_TO_PYTORCH = "and this course leaves it to PyTorch"  # in the error of a name that our engine leaves out


def judge(exercise, answer, torch, seconds=bounds.SECONDS) -> Result:
    """Return the Result for one answer, with `torch` (our engine or PyTorch) given to the check. Never raises.

    An answer that uses a name which our engine leaves out is judged on PyTorch, if that is here and finds it right.
    """
    result = judge_on(exercise, answer, torch, seconds)
    if LEFT_TO_PYTORCH in result.text and torch.__name__ != "torch" and importlib.util.find_spec("torch"):
        there = judge_on(exercise, answer, importlib.import_module("torch"), seconds)
        result = there if there.outcome == CORRECT else result
    return result


def judge_on(exercise, answer, torch, seconds) -> Result:
    """Return the Result for one answer on this library."""
    calls = Calls()
    engines = loaded_engines(torch)
    if exercise.prepare is not None:
        exercise.prepare(torch)  # no time of the learner's
    ran = bounds.run(lambda: verdict_of(exercise, answer, torch, calls), engines, seconds)
    if ran.error is None and is_correct(ran.value) and not calls.findings:
        bounds.run(lambda: look_for_swallowed_errors(exercise, answer, torch, calls), engines, seconds)

    def in_words():  # bounded as well: a learner's own __repr__ or error class may be asked for its text
        learners_error = ran.error and learners_line(ran.error, answer, calls)
        if calls.findings and not learners_error and not is_left_over(calls.findings[0], ran.value):
            return result_of_finding(exercise, calls.findings[0])
        if ran.error is None:
            return result_of(exercise, ran.value, calls)
        if ran.busy:
            return machine_was_busy(exercise.id)
        return result_of_error(exercise, answer, ran.error, calls, seconds)

    described = bounds.run(in_words, engines)
    result = described.value
    if described.error is not None:
        text = f"what it gave cannot be put into words ({type(described.error).__name__} while trying)."
        result = Result(exercise.id, ERROR, text)
    result.printed = without_addresses(ran.printed)
    result.malformed = calls.malformed and result.outcome == NOT_YET
    result.allowed = set() if calls.guard is None else calls.guard.allowed
    return result


def verdict_of(exercise, answer, torch, calls) -> Verdict:
    """Ask the record's check, unless there is nothing to ask about."""
    starter = define(exercise.starter, exercise.name, torch, f"{exercise.id} starter")
    if answer is None or answer is Ellipsis or same(answer, starter):
        return Verdict(NOT_ATTEMPTED, invitation(exercise))
    wrong_form = form_complaint(exercise, answer, starter, torch)
    if wrong_form:
        calls.malformed = True
        return not_yet(wrong_form)
    if not callable(starter):
        if forms.too_long(answer):
            calls.malformed = True
            return not_yet("your answer has thousands of elements; the question asks for a few.")
        known = known_values(exercise, torch)
        answer = forms.fitted(answer, known)
        calls.malformed = not forms.fits(answer, known)
    with guards.Guard(torch, loaded_engines(torch), starter, exercise.may_change) as guard:
        calls.guard = guard
        verdict = guarded_check(exercise, answer, torch, calls, guard)
        if is_correct(verdict) and not guard.findings:
            calls.last = None
            guard.alive()
    return verdict


def guarded_check(exercise, answer, torch, calls, guard) -> Verdict:
    """Return the verdict of the record's check, with the guard around whatever of the answer can be called."""
    if isinstance(answer, type):
        with guard.around_methods(answer):
            return exercise.check(answer, torch)
    return exercise.check(watched(answer, calls, guard), torch)


def look_for_swallowed_errors(exercise, answer, torch, calls) -> None:
    """Ask the check once more with an error planted in what it calls: a right answer lets it through."""
    if isinstance(answer, type) or not calls.guard.passes:
        return
    starter = define(exercise.starter, exercise.name, torch, f"{exercise.id} starter")
    with guards.Guard(torch, [], starter, exercise.may_change, planting=True) as guard:
        with contextlib.suppress(Exception):
            exercise.check(watched(answer, Calls(), guard), torch)
        if guard.swallowed:
            guard.found(guards.SWALLOWED, "", f"an error raised inside {guard.swallowed} does not come out of your "
                        "code: somebody who calls it never learns of it.")  # fmt: skip
            calls.guard.findings.extend(each for each in guard.findings if each.kind == guards.SWALLOWED)


def is_correct(verdict) -> bool:
    return isinstance(verdict, Verdict) and verdict.outcome == CORRECT


def is_left_over(finding, verdict) -> bool:
    """Hooks that were left come after a mistake that the check has named: they are seldom its cause."""
    hooks = finding.kind in (guards.HOOKS, guards.HOOKS_AFTER_ERROR)
    return hooks and isinstance(verdict, Verdict) and verdict.outcome == ALMOST


def result_of_finding(exercise, finding) -> Result:
    """Put what the guard saw before what the check concludes (but for hooks): it is certain, and often the cause."""
    name = f"guard: {finding.kind}"
    says = {mistake.name: tidy(mistake.says) for mistake in exercise.mistakes}.get(name)
    return Result(exercise.id, ALMOST, finding.sentence, [says] if says else [], mistake=name)


def result_of(exercise, verdict, calls) -> Result:
    """From the check's verdict to a Result: names become sentences, a forgotten return is recognised."""
    if not isinstance(verdict, Verdict) or verdict.outcome not in OUTCOMES:
        text = f"the check gave no verdict ({short(verdict)}); that is a mistake of the course, not yours."
        return Result(exercise.id, NOT_YET, text)
    text = tidy(verdict.text)
    if verdict.outcome == ALMOST or verdict.lead:
        says = {mistake.name: mistake.says for mistake in exercise.mistakes}
        text = verdict.lead + tidy(says.get(verdict.text, text))
    if verdict.outcome == ALMOST:
        return Result(exercise.id, ALMOST, text, mistake=verdict.text)
    if verdict.outcome == NOT_YET:
        if forgot_return(exercise, calls):
            return Result(exercise.id, ERROR, NO_RETURN)
        return Result(exercise.id, NOT_YET, text, [f'L.hint("{exercise.id}") gives a hint.'])
    return Result(exercise.id, verdict.outcome, text)


NO_RETURN = (
    "your function gave back None. It ran to its end without handing over a result: is a `return` missing?"
)


def forgot_return(exercise, calls) -> bool:
    """Tell whether every call that ended by itself gave None although a right answer returns something."""
    if not calls.returned or calls.gave_value:
        return False
    returns = [node for node in ast.walk(ast.parse(exercise.solution)) if isinstance(node, ast.Return)]
    return any(not is_none(node.value) for node in returns)


def is_none(node) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def watched(answer, calls, guard) -> object:
    """Return a learner's function that also notes its calls, and what they change; anything else as it is."""
    if not callable(answer) or isinstance(answer, type) or inspect.isgeneratorfunction(answer):
        return answer
    call = guard.around(answer)

    @functools.wraps(answer)
    def learners_function(*args, **kwargs):
        calls.count += 1
        calls.last = call(*args, **kwargs)
        calls.returned += 1
        calls.gave_value = calls.gave_value or calls.last is not None
        return calls.last

    calls.code = call.__code__
    return learners_function


# ------------------------------------------------------------------- was it attempted, and what is it


def define(source, name, torch, label="exercise") -> object:
    """Run source text in a namespace of its own, with the global `torch`, and return what it calls `name`."""
    filename = f"<{label}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space = {"__name__": "exercise", "torch": torch}
    exec(compile(source, filename, "exec", dont_inherit=True), space)
    if name not in space:
        raise ValueError(f"the source of {label} does not define `{name}`, which the exercise is about.")
    return space[name]


def same(one, other) -> bool:
    """Equal plain values, or functions and classes compiled from the same code. Other objects never are."""
    if type(one) is not type(other) and not (isinstance(one, type) and isinstance(other, type)):
        return False
    if isinstance(one, types.FunctionType):
        return (
            fingerprint(one.__code__) == fingerprint(other.__code__)
            and same(one.__defaults__, other.__defaults__)
            and same(getattr(one, "__wrapped__", None), getattr(other, "__wrapped__", None))  # under a decorator
        )
    if isinstance(one, type):
        return same(members(one), members(other))
    if isinstance(one, (staticmethod, classmethod)):
        return same(one.__func__, other.__func__)
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if type(one) in (int, float, bool, str, bytes, set, frozenset):
        return one == other
    return one is other


def members(cls) -> dict:
    """Return what the class statement itself defines. (PyTorch gives each Function a class that refers back to it.)"""
    made = (types.FunctionType, staticmethod, classmethod)
    return {
        name: value
        for name, value in vars(cls).items()
        if isinstance(value, made) or not (name.startswith("_") or isinstance(value, type))
    }


def fingerprint(code) -> tuple:
    """Return what a function does, without its name, comments, docstring and place."""
    steps = [(step.opname, fingerprint_of_argument(step, code)) for step in dis.get_instructions(code)]
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], code.co_flags & 0x0C, steps


def fingerprint_of_argument(step, code) -> object:
    """Return what an instruction works on. (Names of keywords: Python 3.11 gives only their place in the constants.)"""
    value = code.co_consts[step.arg] if step.opname == "KW_NAMES" else step.argval
    return fingerprint(value) if inspect.iscode(value) else repr(value)


def invitation(exercise) -> str:
    """Say what to do with an exercise that nobody has touched yet."""
    if exercise.kind == "predict":
        return "write your prediction in place of None, then run this cell again. A wrong guess teaches too."
    return f'change `{exercise.name}`, then run this cell again. L.hint("{exercise.id}") helps.'


def form_complaint(exercise, answer, starter, torch) -> str:
    """Return a sentence when a value was given for a function or a function for a value, otherwise ''."""
    name = exercise.name
    if callable(starter) and not callable(answer):
        what = "class" if isinstance(starter, type) else "function"
        given = f"it was given {short(answer)}"
        return f"the check wants the {what} `{name}` itself, without parentheses; {given}."
    if callable(answer) and not callable(starter):
        solution = define(exercise.solution, name, torch, f"{exercise.id} solution")
        if not callable(solution):
            return f"the check wants a value; it was given {short(answer)}, which has not been called."
    return ""


def known_values(exercise, torch) -> list:
    """Return the values in the record, right ones first: what an answer's spelling is brought to."""
    sources = [exercise.solution, *exercise.alternatives, *(mistake.answer for mistake in exercise.mistakes)]
    return [define(source, exercise.name, torch, f"{exercise.id} value") for source in sources]


def engine_for(answer, default) -> ModuleType:
    """Return the module the answer was written with: its own global `torch`, or the one its tensors come from."""
    functions = [answer.func if isinstance(answer, functools.partial) else answer]
    if isinstance(answer, type):
        functions = [getattr(value, "__func__", value) for value in vars(answer).values()]
    for function in functions:
        if isinstance(function, types.FunctionType):
            module = function.__globals__.get("torch")
            if isinstance(module, types.ModuleType) and hasattr(module, "Tensor"):
                return module
    for value in values_in(answer):
        root = type(value).__module__.partition(".")[0]
        if root in ("torch", "course_lib") and hasattr(sys.modules.get(root), "Tensor"):
            return sys.modules[root]
    return default


def values_in(answer, most=1000) -> Iterator:
    """Yield the values inside nested lists, tuples and dicts, at most `most` of them."""
    waiting, seen = [answer], 0
    while waiting and seen < most:
        value = waiting.pop()
        seen += 1
        if type(value) is dict:
            value = list(value.values())
        if type(value) in (list, tuple):
            waiting.extend(value[:most])
        else:
            yield value


def loaded_engines(torch) -> list:
    """Return every engine whose settings a learner's code could leave changed."""
    found = [sys.modules.get("course_lib"), sys.modules.get("torch"), torch]
    return list({id(each): each for each in found if isinstance(each, types.ModuleType)}.values())


# ---------------------------------------------------------------------------------- errors, in words


def machine_was_busy(id) -> Result:
    """Return the Result of code that was stopped before it had its time of the processor."""
    text = "your machine was busy with something else, and the time was up. Run this cell again in a moment."
    return Result(id, NOT_ATTEMPTED, text, word="not judged")


def result_of_error(exercise, answer, error, calls, seconds) -> Result:
    """From an exception to a Result: whose it is, on which of the learner's lines, and what usually helps."""
    place = learners_line(error, answer, calls)
    if isinstance(error, KeyboardInterrupt):
        return Result(exercise.id, ERROR, "it was interrupted before it ended.", place)
    if isinstance(error, bounds.TimeUp):
        text = f"it was still running after {seconds:g} seconds and was stopped."
        advice = exercise.slow or "Look for a loop, or a wait, that never ends or takes far too long."
        return Result(exercise.id, ERROR, text, [*place, advice])
    if place:
        details = place + wrap(help_for(error, exercise), first="", rest="").splitlines()
        return Result(exercise.id, ERROR, error_text(error), details)
    if could_not_be_called(error, calls):
        first = next(line for line in exercise.starter.splitlines() if line.startswith(("def ", "class ")))
        return Result(exercise.id, ERROR, error_text(error), [f"Its first line should stay:  {first}"])
    if forgot_return(exercise, calls):
        return Result(exercise.id, ERROR, NO_RETURN)
    given = f"your function gave {short(calls.last)}" if calls.count else f"your answer is {short(answer)}"
    text = f"{given}, and the check could not go on with that ({error_text(error)})."
    if "backward through the graph a second time" in text:
        return Result(exercise.id, NOT_YET, text, ["Does your code call backward itself? Leave that to the check."])
    return Result(exercise.id, NOT_YET, text, ["Does it have the form that the question asks for?"])


def error_text(error) -> str:
    """Return `TypeName: first lines of the message`, bounded and without addresses."""
    try:
        message = str(error).strip()
    except Exception:
        message = "(its message cannot be printed)"
    name = type(error).__name__
    return tidy(f"{name}: {message}", 500) if message else f"{name}, without a message"


def learners_line(error, answer, calls) -> list[str]:
    """Return [], or one line where the error is from the learner's code: its number and its text."""
    files, begun, found = files_of(answer), False, None
    for step in steps(error):
        code = step.tb_frame.f_code
        if begun and found is None:
            files.add(code.co_filename)
        if code.co_filename in files or begun and is_cell(code.co_filename):
            found = step
        begun = begun or code is calls.code
    if found is None:
        # The alarm may ring again while its first TimeUp is on its way out: the line is in that one's traceback.
        earlier = error.__context__ if isinstance(error, bounds.TimeUp) else None
        return [] if earlier is None else learners_line(earlier, answer, calls)
    number, filename = found.tb_lineno, found.tb_frame.f_code.co_filename
    text = linecache.getline(filename, number).strip()[:WIDTH]
    where = "of your cell" if is_cell(filename) else "of your code"
    return [f"line {number} {where}:  {text}" if text else f"line {number} {where}"]


def steps(error) -> list:
    """Return the frames an error came through, outermost first."""
    found, step = [], error.__traceback__
    while step is not None:
        found.append(step)
        step = step.tb_next
    return found


def could_not_be_called(error, calls) -> bool:
    """Tell whether the call of the learner's function itself failed, before its first line."""
    passed = steps(error)
    return isinstance(error, TypeError) and bool(passed) and passed[-1].tb_frame.f_code is calls.code


def is_cell(filename) -> bool:
    """Return True for the file name that a notebook gives to a cell."""
    return "ipykernel" in filename or filename.startswith("<ipython-input")


def files_of(answer) -> set:
    """Return the files with the learner's own functions, for an answer that is a class or an object of one."""
    if isinstance(answer, types.FunctionType):
        return set()  # its calls are marked by `watched`
    cls = answer if isinstance(answer, type) else type(answer)
    if cls.__module__.partition(".")[0] in ("torch", "course_lib", "builtins", "numpy"):
        return set()
    functions = [getattr(value, "__func__", value) for value in vars(cls).values()]
    return {f.__code__.co_filename for f in functions if isinstance(f, types.FunctionType)}


NONE = "Something here is None: a .grad before backward(), or what a function without return gave."
ARGUMENTS = "The call and the `def` line do not agree about the arguments."
HELP = (
    (RecursionError, "", "A function calls itself without end: is there a case in which it stops?"),
    (MemoryError, "", "Your code asked for more memory than there is: look at the sizes."),
    (SystemExit, "", "exit() would end the notebook's kernel. A function ends with `return`."),
    (NotImplementedError, "", "Something here does not exist yet; the line, or the message, says what."),
    (UnboundLocalError, "", "The name gets its value further down, or in a branch that did not run."),
    (NameError, "", "Is it spelled as where it was made? A function sees its arguments and earlier cells."),
    (TypeError, "positional argument", ARGUMENTS),
    (TypeError, "unexpected keyword", ARGUMENTS),
    (TypeError, "'NoneType'", NONE),
    (AttributeError, "'NoneType'", NONE),
    (TypeError, "not callable", "Parentheses after something that is not a function: is a name reused?"),
    (AttributeError, "", "Check the spelling; dir(x) lists what x has."),
    (
        RuntimeError,
        "modified by an inplace operation",
        "backward() found a saved tensor newer than when it was saved. Which line before this one writes "
        "in place? draw() marks the stale tensor.",
    ),
    (
        RuntimeError,
        "a view of a leaf Variable",
        "A write through a view reaches the leaf itself, which requires grad. Lesson 08 says where that is "
        "allowed.",
    ),
    (
        RuntimeError,
        "a leaf Variable",
        "A leaf that requires grad may not be written to while operations are recorded. Lesson 05 says where "
        "it may.",
    ),
    (
        RuntimeError,
        "backward through the graph a second time",
        "An earlier backward() has freed what this one needs. Should both use one graph, or should the graph "
        "be built again?",
    ),
    (
        RuntimeError,
        "does not require grad",
        "Nothing leads from here back to a leaf that requires grad: was the chain cut, or never recorded?",
    ),
    (
        RuntimeError,
        "returns multiple views",
        "Several views from one call (unbind, split, chunk, a for loop over a tensor) may not be written to while "
        "operations are recorded. Index instead, or work out of place: lesson 08.",
    ),
    (
        RuntimeError,
        "can only change requires_grad flags",
        "The flag of a result follows from its operands; only a leaf has one of its own. Lesson 02 says more.",
    ),
    (
        RuntimeError,
        "support the deepcopy protocol",
        "A deep copy of a result would need a copy of its history. clone() copies the numbers.",
    ),
    (
        RuntimeError,
        "Boolean value of Tensor",
        "An if wants one answer, and this tensor has several elements: .any() or .all() makes one of them.",
    ),
    (RuntimeError, "only for scalar outputs", "backward() without an argument starts from a single number."),
    (RuntimeError, "Can't call numpy", "An array has no history: .detach() first says that you give it up."),
    (IndexError, "", "The index is outside: how many elements are there?"),
    (KeyError, "", "There is no such key: print the keys."),
    (ZeroDivisionError, "", "Something that divides is 0."),
    (AssertionError, "", "An assert in your own code does not hold: the line says which."),
)


def help_for(error, exercise) -> str:
    """Find the first sentence of HELP whose type and key phrase fit, else a general one."""
    try:
        message = str(error)
    except Exception:
        message = ""
    for kind, fragment, sentence in HELP:
        if isinstance(error, kind) and fragment in message:
            return sentence
    if not isinstance(error, Exception):
        return f"{type(error).__name__} is made to end programs; raise an ordinary Exception instead."
    return f'Run the line on its own in a new cell to look at its parts; L.hint("{exercise.id}") helps too.'


# ----------------------------------------------------------------------------------------- plain text


def short(value, limit=80) -> str:
    """Return `repr(value)` on one line and bounded, for any value: huge, strange, or with a broken __repr__."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return f"the function {value.__name__}"
    try:
        text = SHORT.repr(value)
    except Exception:
        text = f"a {type(value).__name__} that cannot be printed"
    return tidy(" ".join(text.split()), limit)


SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxtuple, SHORT.maxdict = 4, 12, 12, 12
SHORT.maxstring = SHORT.maxother = 200


def tidy(text, limit=1500) -> str:
    """Return text that is safe to print: no addresses, bounded."""
    text = without_addresses(str(text)).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def without_addresses(text) -> str:
    return re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", text)


def wrap(text, first=INDENT, rest=INDENT) -> str:
    """Fold long lines; lines that begin with four spaces are code and stay as they are."""
    folded = []
    for number, line in enumerate(text.splitlines()):
        lead = rest if number else first
        if line.startswith("    "):
            folded.append(lead + line)
        else:
            folded.append(
                textwrap.fill(
                    line, WIDTH, initial_indent=lead, subsequent_indent=rest,
                    break_long_words=False, break_on_hyphens=False,
                )
            )  # fmt: skip
    return "\n".join(folded)
