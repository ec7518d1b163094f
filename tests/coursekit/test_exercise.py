"""exercise.py: five outcomes, whatever a learner hands in."""

import functools
import types

import pytest

import course_lib
from coursekit.judge.exercise import define, engine_for, judge, not_yet
from tests.coursekit.exercise_samples import DOUBLE, SAVED, changed


def written(source, torch, name="double"):
    """What a learner's cell with this source defines."""
    return define(source, name, torch, "a learner's cell")


def outcome_of(source, torch, exercise=DOUBLE):
    return judge(exercise, written(source, torch, exercise.name), torch)


@pytest.mark.parametrize("nothing", [None, ...], ids=["None", "Ellipsis"])
def test_none_and_ellipsis_are_not_attempted(nothing, torch):
    """None and `...` mean that nobody has tried yet, and say what to do."""
    result = judge(DOUBLE, nothing, torch)

    assert result.outcome == "not attempted"
    assert result.render() == (
        '98.1   not attempted — change `double`, then run this cell again. L.hint("98.1") helps.'
    )


@pytest.mark.parametrize(
    "source",
    [
        DOUBLE.starter,
        "def double(x):\n    # I shall think about it\n    ...\n",
        'def double(x):\n    """Twice x."""\n    ...\n',
        "\n\n\ndef double(x):\n    pass\n",
    ],
    ids=["starter", "comment", "docstring", "pass"],
)
def test_a_function_with_the_starters_code_is_not_attempted(source, torch):
    """Comments, a docstring and other lines do not make an attempt: the compiled code does."""
    result = outcome_of(source, torch)

    assert result.outcome == "not attempted"


FUNCTION = """class Double(torch.autograd.Function):
    rate = 1

    @staticmethod
    def forward(ctx, x):
        ...

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g
"""
ATTEMPTS = {
    "another line": ("double", "def double(x):\n    y = x * 3\n    z = x * 2\n    return y\n", "return y", "return z"),
    "another keyword": ("double", "def double(x):\n    return x.sum(keepdim=True)\n", "keepdim", "other"),
    "an attribute": ("Double", FUNCTION, "rate = 1", "rate = 2"),
    "a method": ("Double", FUNCTION, "...", "return x"),
    "a method under a decorator": ("Double", FUNCTION, "return g", "return g * 2"),
    "no decorator": ("Double", FUNCTION, "    @torch.autograd.function.once_differentiable\n", ""),
}


@pytest.mark.parametrize("name, starter, old, new", ATTEMPTS.values(), ids=ATTEMPTS)
def test_a_starter_with_code_counts_until_its_code_changes(name, starter, old, new, torch):
    """What the learner wrote is looked at: not what an engine adds to a Function, nor a decorator's own function."""
    exercise = changed(DOUBLE, name=name, starter=starter, check=lambda answer, torch: not_yet("seen"))

    assert outcome_of(starter, torch, exercise).outcome == "not attempted"
    assert outcome_of(starter.replace(old, new), torch, exercise).outcome == "not yet"


def test_a_value_equal_to_the_starters_is_not_attempted(torch):
    """A starter value that is not None, such as an order to change, counts as untouched while it is equal."""
    exercise = changed(SAVED, starter='answer = ["b", {"a": (1, None)}]\n')

    assert judge(exercise, ["b", {"a": (1, None)}], torch).outcome == "not attempted"
    assert judge(exercise, ["b", {"a": (1, 2)}], torch).outcome == "not yet"
    assert judge(exercise, ["b", {"a": (True, None)}], torch).outcome == "not yet"


def test_an_unnamed_wrong_answer_is_not_yet_and_offers_a_hint(torch):
    """Wrong in a new way: what was seen, and where the hints are."""
    result = outcome_of("def double(x):\n    return x * 7\n", torch)

    assert result.render() == ('98.1   not yet — For 5.0 it gave [35.0].\n       L.hint("98.1") gives a hint.')


def test_a_function_that_raises_did_not_forget_its_return(torch):
    """When the check catches what the learner's function raises, nothing is said about `return`."""

    def check(answer, torch):
        try:
            return answer(torch.ones(1))
        except ValueError:
            return not_yet("It raised.")

    result = outcome_of("def double(x):\n    raise ValueError\n", torch, changed(DOUBLE, check=check))

    assert (result.outcome, result.text) == ("not yet", "It raised.")


WRITES = "def helper(x):\n    x.add_(1)\n    return x\n\ndef double(x):\n    return helper(x)\n"  # the engine raises


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("y = x * 2\n    return y[99]", ["IndexError: ", "line 3 of your code:  return y[99]", "how many elements"]),
        (WRITES, ["RuntimeError: a leaf Variable that", "line 2 of your code:  x.add_(1)", "may not be written to"]),
        ("y = x * 2", ["`return` missing"]),
        ("def double():\n    return 2\n", ["Its first line should stay:  def double(x):"]),
        ("return y", ["NameError: name 'y' is not defined", "line "]),
        ("return double(x)", ["calls itself without end", "line "]),
        ("__import__('sys').exit()", ["SystemExit", "line "]),
        ("raise GeneratorExit", ["GeneratorExit", "line "]),
        ("raise KeyboardInterrupt", ["interrupted", "line "]),
        ("None.grad", ["Something here is None", "line "]),
        ("1 / 0", ["Something that divides is 0", "line "]),
    ],
)
def test_every_way_to_fail_is_an_error_in_your_code(source, parts, torch):
    """Type, message, the learner's own line with its text, helpers included, and advice where there is one."""
    result = outcome_of(source if "def " in source else f"def double(x):\n    {source}\n", torch)

    assert result.outcome == "error in your code"
    for part in parts:
        assert part in result.render()


STRANGE = [42, "text", [], {}, object(), lambda *a: "text", lambda *a: object(), print, dict, 3 + 4j]


@pytest.mark.parametrize("answer", STRANGE, ids=lambda answer: type(answer).__name__)
@pytest.mark.parametrize("exercise", [DOUBLE, SAVED], ids=lambda exercise: exercise.id)
def test_strange_answers_never_raise_and_are_never_correct(exercise, answer, torch):
    """Whatever is handed in, the answer is one of the five outcomes, and short."""
    result = judge(exercise, answer, torch)

    assert result.outcome in ("not yet", "error in your code", "almost")
    assert "Traceback" not in result.render()
    assert "0x7" not in result.render()
    assert len(result.render()) < 600


@pytest.mark.parametrize(
    "exercise, answer, said",
    [
        (DOUBLE, 5.0, "the function `double` itself, without parentheses"),
        (SAVED, list, "wants a value"),
        (SAVED, 5, "your answer is 5, and the check could not go on with that (TypeError: 'int' object is not iter"),
    ],
)
def test_an_answer_of_another_form_is_told_so(exercise, answer, said, torch):
    """The function's value in place of the function, the other way round, and what the check trips over."""
    result = judge(exercise, answer, torch)

    assert result.outcome == "not yet" and said in result.text


def test_printed_output_comes_after_the_verdict_and_is_bounded(torch):
    """What the learner's function prints is shown below the verdict; a flood is cut with a count."""
    few = outcome_of("def double(x):\n    print('x is', x.tolist())\n    return x * 2\n", torch)
    flood = outcome_of("def double(x):\n    print('line\\n' * 100000)\n    return x * 2\n", torch)

    assert few.render().splitlines()[1:3] == ["       Your code printed:", "       | x is [5.0]"]
    assert flood.outcome == "correct"
    assert len(flood.render().splitlines()) == 23
    assert "more lines" in flood.render()


def test_the_answers_own_torch_is_the_engine(torch):
    """A function's or a method's global `torch`, tensors however nested; plain values leave it to the lesson."""
    other = types.ModuleType("other")
    function = written(DOUBLE.solution, torch)
    cls = written("class Double:\n    @staticmethod\n    def forward(ctx):\n        return 1\n", torch, "Double")

    for answer in (function, functools.partial(function), cls, {"a": [1, (torch.ones(1),)]}):
        assert engine_for(answer, other) is torch
    assert engine_for([1, "a", None], other) is other


def test_a_name_that_is_left_to_pytorch_is_judged_there(real_torch):
    """A right answer with a name that our engine leaves out is right where PyTorch is; a wrong one is told why."""
    source = "def double(x):\n    first, second = (x.repeat(2) * {}).tensor_split(2)\n    return first + second * 0\n"
    right, wrong = (judge(DOUBLE, define(source.format(n), "double", None, "a cell"), course_lib) for n in (2, 5))

    assert "correct" == right.outcome
    assert "error in your code" == wrong.outcome and "leaves it to PyTorch" in wrong.text
