"""Exercise 09.p4: a write under no_grad."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict

from .p1_three_ways_to_write_30 import number_or_error


def read(answer):
    """A number or "error"; also as a tensor or a list of one."""
    one = answer[0] if isinstance(answer, list | tuple) and len(answer) == 1 else answer
    found = number_or_error(one)
    return 0.0 if found == "none" else None if isinstance(found, str) and found != "error" else found


def truth(torch):
    """Run the program of the question."""
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    with torch.no_grad():
        x.mul_(10)
    try:
        y.backward()
    except RuntimeError:
        return "error"
    return x.grad.item()


EXERCISE = Predict(
    id="09.p4", title="A write under no_grad", minutes=1, difficulty=2, puzzles=(21,),
    question="`x` is 3 and `y = (x * x).sum()`. Then `x.mul_(10)` runs under `no_grad`, and then `y.backward()`. What "
    'is `x.grad`: a number, or "error"?',
    hints=(
        "Was y computed inside of the block, or before it?",
        "A write changes memory and moves a counter. Which of these two has to do with recording?",
    ),
    solution='answer = "error"\n',
    why="no_grad stops the recording. The write is counted as everywhere else, and the product kept x at version 0.",
    alternatives=('answer = "Raises"\n', 'answer = ["error"]\n'),
    read=read, truth=truth, wanted='A number is wanted, or "error".',
    shown="The write was counted, and the check of lesson 07 found it.",
    otherwise="The slope of x * x is twice x. Which x would backward read, and would it read it unchecked?",
    mistakes=(
        Mistake("the old value", "6 would need the old x, but the product kept x itself and no copy, and x is "
                "overwritten.", 6),
        Mistake("not counted", "60 would need a write that nobody counts, such as one through `.data`. Is no_grad like "
                "that?", 60),
        Mistake("no graph", "y was computed before the block, so it has its graph. The block concerns what is computed "
                "inside.", 0),
        Mistake("recorded", "The product by 10 is not recorded, so it has no slope that could take part.", 600),
    ),
    reveals=("The counting goes on", "An update that comes too early", "under the same counter"),
)  # fmt: skip
