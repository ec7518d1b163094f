"""forms.py: how an answer is spelled never decides."""

import numpy as np
import pytest

from coursekit.judge.forms import fits, fitted, too_long

SAME = [
    # the solution's value, and ways to write it
    (["C"], ("C",), "C", "c", {"C"}, "'C'", '["c"]', ['"C"'], frozenset("c")),
    (["b", "e"], ("b", "e"), "be", "b e", "B, E", ["E", "b"][::-1], "['b', 'e']"),
    (7, "7", 7.0, "7.0", np.float32(7), np.array([7]), [7], (7.0,)),
    ((3, 1), [3, 1], "3,1", "(3, 1)", "3 1", "3 and 1", ["3", "1.0"], np.array([3, 1])),
    ((1, -0.75), "(1,-0.75)", [1.0, "-0.75"]),
    ([None, 1.0], (None, 1), ["none", "1"], "None, 1"),
    (["error", 60, 6], ("Error", "60", 6.0), ["ERROR", 60, 6]),
    ("DBCA", "dbca", "D B C A", "d, b, c, a", ["D", "B", "C", "A"], "D-B-C-A", "'DBCA'", ["DBCA"]),
    ({"A": "fine", "B": "raises now"}, {"a": "Fine", "b": " raises  now "}, "{'A': 'fine', 'B': 'raises now'}"),
    ({4: [3, "b"]}, {"4": (3, "B")}, {4: ("3", "'b'")}),
    ({"c": [False, True]}, {"c": (0, 1)}, {"C": ["false", "True"]}),
    ([("ExpBackward0", "AddBackward0")], [["ExpBackward0", "addbackward0"]], (("ExpBackward0", "AddBackward0"),)),
    ("raises", "Raises", " raises ", "'raises'"),
    ({"x", "y"}, ["x", "y"], ("Y", "x"), "x y"),
]


PAIRS = {
    f"{number}, spelling {place}": (solution, spelled)
    for number, (solution, *others) in enumerate(SAME)
    for place, spelled in enumerate(others)
}


@pytest.mark.parametrize("solution, spelled", PAIRS.values(), ids=PAIRS)
def test_spellings_of_one_answer_are_one_answer(solution, spelled):
    """Case, quotes, kind of list, numbers as text, tensors: none of them decides."""
    found = fitted(spelled, [solution])

    assert found == solution
    assert type(found) is type(solution) or isinstance(solution, int)
    assert fits(found, [solution])


def test_tensors_are_numbers(torch):
    """A 0-d tensor, a tensor with one element and a vector are what they hold."""
    assert fitted(torch.tensor(3), [7]) == 3
    assert fitted(torch.tensor([3.0], requires_grad=True), [7]) == 3.0
    assert fitted(torch.tensor([3, 1]), [(3, 1)]) == (3, 1)
    assert fitted([torch.tensor(3), torch.tensor(1.0)], [(3, 1)]) == (3, 1)


def test_case_decides_where_one_answer_holds_both():
    """With `x` and `X` in one answer, each keeps its own name."""
    solution = ["x", "X"]

    assert fitted(["X", "x"], [solution]) == ["X", "x"]
    assert fitted("x", [["X"]]) == ["X"]


def test_a_solution_decides_how_a_word_is_spelled():
    """An alternative that is spelled in another way does not bring its spelling along."""
    assert fitted("d, b, c, a", ["DBCA", "d, b, c, a"]) == "DBCA"


def test_a_word_instead_of_a_list_stays_a_word():
    """ "error" is an answer of its own where others give three numbers."""
    assert fitted("Error", [[1, 2, 3], "error"]) == "error"


def test_a_wrong_answer_stays_wrong():
    """What is brought to the form of the solution keeps its content: nothing is filled in or cut off."""
    assert fitted([3, 1, 2], [(3, 1)]) == (3, 1, 2)
    assert fitted([1, 3], [(3, 1)]) == (1, 3)
    assert fitted({"A": "fine"}, [{"A": "fine", "B": "fine"}]) == {"A": "fine"}
    assert fitted(33, [[11, 22]]) == 33


@pytest.mark.parametrize("malformed", ["three", ["x"], object(), {"A": 1}, 3 + 1j], ids=lambda it: type(it).__name__)
def test_what_cannot_be_an_answer_is_known(malformed):
    """A word nobody knows where a number belongs has not the form of an answer."""
    known = [7, 8]

    assert not fits(fitted(malformed, known), known)


def test_none_is_an_empty_list_of_names():
    """ "none" names none where a list of names is wanted, unless the record has that word."""
    assert fitted("None", [["w"]]) == []
    assert fitted({"A": "neither", "B": "x"}, [{"A": [], "B": ["x"]}]) == {"A": [], "B": ["x"]}
    assert fitted("none", [["none", "w"]]) == ["none"]


STRANGE = {"object": object(), "deep": [[[[[[[[1]]]]]]]], "long text": "9" * 10**6, "long list": list(range(10**5))}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_what_cannot_be_read_stays_as_it_is(strange):
    """Depth and length are bounded; nothing raises."""
    for solution in (7, [7], "DBCA", {"A": 7}, {1, 2}):
        fitted(strange, [solution])


def test_what_nobody_can_have_meant_is_too_long(torch):
    """A huge tensor, list or text is refused before anybody reads it; ordinary answers are not."""
    assert all(map(too_long, (torch.zeros(100, 100), np.zeros(2000), [0] * 2000, "x" * 2000)))
    assert not any(map(too_long, (torch.zeros(3), 7, [1, 2], "DBCA", object(), None)))
