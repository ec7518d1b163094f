"""Exercise 03b.p1: one input, and a thousand."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons import shared


def sweeps(inputs, outputs, hidden=32):
    """Multiplications of the backward and of the forward sweeps through inputs -> 32 -> 32 -> outputs."""
    once = hidden * inputs + hidden * hidden + outputs * hidden
    return outputs * once, inputs * once


def check(answer, torch):
    numbers = [shared.as_number(part) for part in answer] if isinstance(answer, (list, tuple)) else []
    if len(numbers) != 2 or None in numbers:
        return not_yet("Give a pair of numbers: the factor for 1 input, and the factor for 1024 inputs.")
    truth = [forwards / backwards for backwards, forwards in (sweeps(1, 1), sweeps(1024, 1))]
    if numbers == truth:
        return correct("a forward sweep for each input, against one backward sweep for the loss.")
    wrong = {
        (1.0, 1.0): "no difference",
        (3.0, 3.0): "always three",
        (3.0, 1024.0): "three at one",
        (1.0, 32.0): "without the identity",
        (1.0, 1024.0**2): "squared",
        (1.0, 1 / 1024): "upside down",
    }
    named = wrong.get(tuple(numbers))
    return almost(named) if named else not_yet("How often do you have to start, forwards and backwards?")


EXERCISE = Exercise(
    id="03b.p1", kind="predict", title="One input, and a thousand", minutes=2, difficulty=1,
    question="A network n → 32 → 32 → 1. How many times as many multiplications do the forward sweeps need as the "
    "backward sweep, for n = 1 and for n = 1024? A pair of numbers. (Whole sweeps: the product with the 1 and the "
    "zeros that a sweep begins with counts, too.)",
    name="answer", starter="answer = None",
    hints=(
        "One forward sweep meets the same tables as the backward sweep. How many forward sweeps are there?",
        "For each input, one start. And for the single output?",
    ),
    solution="answer = (1, 1024)",
    why="One sweep costs the same in both directions, since it meets the same tables. Forwards there is one sweep for "
    "each input, backwards one for each output.",
    alternatives=("answer = [1.0, 1024.0]",),
    mistakes=(
        Mistake("no difference", "One sweep costs the same in both directions, that is right. But forwards you need a "
                "sweep for every input.", "answer = (1, 1)"),
        Mistake("always three", "3 is how many inputs the small network has. This one has n.", "answer = (3, 3)"),
        Mistake("three at one", "The second number is right. With a single input there is a single forward sweep.",
                "answer = (3, 1024)"),
        Mistake("without the identity", "That is a right count of something cheaper: no sweep multiplies by the ones "
                "and zeros that it begins with. Then a table in the middle is still met once for each input, but the "
                "first one is not. The question counts whole sweeps, from their first 1.", "answer = (1, 32)"),
        Mistake("squared", "The number of forward multiplications does grow with the square of n. But the backward "
                "sweep grows as well, since its last table has n columns.", "answer = (1, 1048576)"),
        Mistake("upside down", "The question is how many times as many the forward sweeps need.",
                "answer = (1, 1 / 1024)"),
    ),
    check=check, reveals=("34,635,776", "by exactly the factor n", "a billion sweeps forwards"),
)  # fmt: skip
