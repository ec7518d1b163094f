"""Exercise 01.p5: a number in the middle."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def truth(torch):
    """The slope that the program itself gives."""
    x = torch.tensor(4.0, requires_grad=True)
    return torch.autograd.grad((x * x).item() * x, x)[0].item()


EXERCISE = Predict(
    id="01.p5", title="A number in the middle", minutes=1, difficulty=1,
    question="`x` is 4. Which slope does `torch.autograd.grad((x * x).item() * x, x)` give? One number.",
    hints=(
        "Which of the two products leaves an arrow that you can follow from the result to `x`?",
        "`item()` gives a plain 16. What is the slope of `16 * x`?",
    ),
    solution="answer = 16\n",
    why="Backward sees a plain 16 times x.",
    alternatives=("answer = torch.tensor(16.0)\n",),
    read=as_number, truth=truth, wanted="A number is wanted, for example 1.5.",
    shown="The 16 is a plain number. No arrow leads back through it, so its share of the slope is missing.",
    otherwise=lambda answer, _: f"The slope is another number than {answer!r}. Which operand has a node?",
    mistakes=(
        Mistake("the formula", "48 is the slope of x * x * x. A plain number has no node, so two of the three factors "
                "count for nothing in backward.", 48),
        Mistake("the value", "64 is the value. The slope says how fast it changes with x.", 64),
        Mistake("nothing arrives", "Outside of `item()` there is still one `* x`, and an arrow from it to x.", 0),
        Mistake("the inner slope", "8 is the slope of x * x. That product is cut off; what is left is 16 times x.", 8),
        Mistake("the other share", "32 is what is missing: the share of x * x. What is left is the rest of 48.", 32),
    ),
    reveals=("16 times x", "sees only"),
)  # fmt: skip
