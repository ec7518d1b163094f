"""Exercise 07b.p3: how long must anomaly mode be on?"""

import warnings

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import leaf, names_among, numbers

WAYS = {"A": (True, True), "B": (True, False), "C": (False, True)}  # on in forward, on in backward


def truth(torch):
    """The letters of the ways in which the line that saved is told."""
    named = set()
    for letter, (in_forward, in_backward) in WAYS.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autograd.set_detect_anomaly(in_forward):
                y = leaf(torch, numbers(2)).tanh()  # this line saves
                y.mul_(2)
            with torch.autograd.set_detect_anomaly(in_backward):
                try:
                    y.sum().backward()
                except RuntimeError:
                    pass
        if any("# this line saves" in str(each.message) for each in caught):
            named.add(letter)
    return named


EXERCISE = Predict(
    id="07b.p3", title="How long must the mode be on?", minutes=2, difficulty=1, puzzles=(1,),
    question="Anomaly mode is on A: around forward and backward, B: around forward only, C: around backward only. "
    "Which of the three tell you the line that saved the tensor?",
    hints=(
        "Two things must happen: the line is remembered, and it is told. When does each of them happen?",
        "A line can only be remembered while the operation runs. It is told when its node fails.",
    ),
    solution='answer = ["A"]',
    why="The line is remembered in forward, and told when the node fails in backward. The mode must be on for both.",
    alternatives=('answer = {"A"}', 'answer = "a"'),
    read=names_among(*WAYS), truth=truth,
    wanted='Give a list with some of the letters "A", "B" and "C"; it may be empty.',
    shown="you ask when the line is remembered, and when it is told.",
    otherwise="For each way: is the mode on when the line runs, and is it on when the node fails?",
    mistakes=(
        Mistake("told afterwards", "C: when backward begins, forward has run. A line that was not remembered then "
                "cannot be told now.", ["A", "C"]),
        Mistake("remembered is enough", "B: the lines are remembered, but the mode is off when the node fails, and "
                "then PyTorch raises the plain error.", ["A", "B"]),
        Mistake("always", "In B the mode is off when the node fails, and in C it is off when the line runs.",
                ["A", "B", "C"], also=(["B", "C"],)),
        Mistake("where the error is", "C: the node fails in backward, but the line that you want to know ran in "
                "forward. What has remembered it?", ["C"]),
        Mistake("where the line is", "B: the line is remembered, and the mode is off when it should be told. And "
                "what is missing in A?", ["B"]),
        Mistake("never", "The long message above was made in one of these three ways.", []),
    ),
    reveals=("Only A names it", "the line that saved: True", "the mode was off when the node failed"),
)  # fmt: skip
