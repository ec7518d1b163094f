"""Exercise 17b.p1: how many micro-batches are under way?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import some_numbers

TURNS = ("F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2")


def truth(torch):
    """For each stage, how many forwards at most wait for their backward."""
    most = []
    for turns in TURNS:
        counts = [0]
        for turn in turns.split():
            counts.append(counts[-1] + (1 if turn[0] == "F" else -1))
        most.append(max(counts))
    return most


EXERCISE = Predict(
    id="17b.p1", title="Under way", minutes=1, difficulty=1, puzzles=(23,),
    question="Stage 0 has the turns F0 F1 B0 F2 B1 B2, and stage 1 has F0 B0 F1 B1 F2 B2. A micro-batch is under way "
    "from its forward to its backward. How many are so at most, in stage 0 and in stage 1?",
    hints=(
        "Walk along the turns of a stage: F is one more under way, B is one less.",
        "When B0 begins in stage 0, which forwards have been there?",
    ),
    solution="answer = [2, 1]",
    why="Stage 0 has done F1 before B0 comes back. In stage 1 each backward follows its forward at once.",
    alternatives=("answer = (2, 1)",),
    read=some_numbers(2), truth=truth, wanted="A list of two numbers is wanted.",
    shown="you can say for how many micro-batches a stage must keep what backward needs.",
    otherwise="Walk along the turns: F is one more, B is one less.",
    mistakes=(
        Mistake("all of them", "All three pass through each stage, but not at the same time: B0 comes back before F2.",
                [3, 3], also=([3, 1], [3, 2])),
        Mistake("both alike", "Look at stage 1: which turn follows each of its forwards?", [2, 2]),
        Mistake("one at a time", "Look at the second turn of stage 0. Has micro-batch 0 come back by then?", [1, 1]),
        Mistake("exchanged", "It is the first stage that is ahead, since its gradients come back late.", [1, 2]),
    ),
    reveals=("at most 2 under way", "stage 0 is one forward ahead"),
)  # fmt: skip
