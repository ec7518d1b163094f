"""Exercise 17.p2: a sum over ranks in a forward pass."""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import numbers_or_errors


def truth(torch):
    """The gradients on both ranks, with the sum of both results written into each result, uncounted."""
    weights = [torch.tensor([value], requires_grad=True) for value in (1.0, 2.0)]
    results = [w.exp() for w in weights]
    total = sum(results).detach().clone()
    for e in results:
        e.data.copy_(total)
        e.sum().backward()
    return [w.grad.item() for w in weights]


def alike(one, other):
    """Two entries are the same: two words, or two numbers that are near."""
    return one == other if "error" in (one, other) else abs(one - other) < 0.02


E1, E2 = math.exp(1), math.exp(2)

EXERCISE = Predict(
    id="17.p2", title="A sum in forward", minutes=2, difficulty=2, puzzles=(),
    question="Rank 0 has w = 1, rank 1 has w = 2. Each computes e = w.exp(), then all_reduce writes the sum of both "
    "into e, and e.sum().backward() is called. Which gradient has w on rank 0, and which on rank 1?",
    hints=(
        "What does the node of exp save, and what is the slope of exp?",
        "Which numbers does backward find in that memory? Has a version moved?",
    ),
    solution="answer = [10.107, 10.107]",
    why="exp saved its result, and in this memory stands the sum. The write was not counted, so backward reads it.",
    alternatives=("answer = (10.11, 10.11)", 'answer = ["10.107", "10.107"]'),
    read=numbers_or_errors(2), truth=truth, wanted='A list of two is wanted, such as [1, "error"].',
    equal=lambda one, other: all(map(alike, one, other)),
    shown="you know what backward finds after a write that nobody counted.",
    otherwise="The slope of exp is its result. Which number does backward read as that result?",
    mistakes=(
        Mistake("own slopes", "These are the slopes of the two results. But the results were overwritten, and exp "
                "reads its slope from there.", [E1, E2]),
        Mistake("raises", "The check compares versions, and all_reduce does not count its write.",
                ["error", "error"]),
        Mistake("both losses", "Twice the own slopes would be right, because both losses contain the sum. Backward "
                "knows nothing of the other rank.", [2 * E1, 2 * E2]),
        Mistake("a counted write", "One of the two is right. The same thing happens on both ranks.",
                [E1 + E2, "error"], also=(["error", E1 + E2], [E1 + E2, E2], [E1, E1 + E2])),
        Mistake("twice the sum", "The sum is right. Each rank goes backward through its own graph, once.",
                [2 * (E1 + E2), 2 * (E1 + E2)]),
        Mistake("exchanged", "Each rank has its own w. And what was saved is the result, after the write.", [E2, E1]),
    ),
    reveals=("It gave 10.107 on both ranks", "the version of `e` is still 0"),
)  # fmt: skip
