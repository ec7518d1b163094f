"""Exercise 13.p4: through a step."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, leaf, some_numbers


def slopes(torch):
    """The slope of the outer loss for the old w, with g recorded and with g detached."""
    w, lr = leaf(torch, 2.0), 0.125
    (g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=True)
    outer = (w - lr * g) ** 2, (w - lr * g.detach()) ** 2
    return [torch.autograd.grad(one, w, retain_graph=True)[0].item() for one in outer]


EXERCISE = Predict(
    id="13.p4", title="Through a step", minutes=3, difficulty=2,
    question="w = 2, inner loss (w − 5)², lr = 0.125, so g = −6 and the new w is 2.75. The outer loss is the square of "
    "the new w. What is its slope for the old w, (A) with g recorded, (B) with g detached?",
    hints=(
        "The slope of a square is two times its base. Here the base is the new w. By how much does the new w change "
        "when the old one does?",
        "The new w is w − 0.125 · g, and g = 2w − 10. In which of the two does autograd know the second of these?",
    ),
    solution="answer = [4.125, 5.5]",
    why="2 · 2.75 = 5.5, times the slope of the new w for the old one. That is 1 − 0.125 · 2 = 0.75 when g is known to "
    "depend on w, and 1 when it is a constant.",
    alternatives=("answer = (4.125, 5.5)", "answer = [33 / 8, 11 / 2]"),
    read=some_numbers(2), truth=slopes, equal=agree, wanted="Give a list of two numbers.",
    shown="the history of g is the factor 0.75.",
    mistakes=(
        Mistake("no history anywhere", "5.5 is right for B. In A autograd also knows that g = 2w − 10 changes with w.",
                [5.5, 5.5]),
        Mistake("history everywhere", "4.125 is right for A. In B g is a constant: then the new w moves just as the "
                "old one does.", [4.125, 4.125]),
        Mistake("exchanged", "The other way round: only with a recorded g does autograd see that g depends on w.",
                [5.5, 4.125]),
        Mistake("nothing in B", "In B only g is cut off. The w in front of the minus still leads to w.", [4.125, 0],
                when=lambda two, _: two[1] == 0),
        Mistake("at the old w", "The outer loss is the square of the *new* w, 2.75. You took the slope of a square at "
                "2.", [3, 4]),
        Mistake("the sign of g's slope", "When w rises by 1, g rises by 2, and the new w is w *minus* 0.125 · g.",
                [6.875, 5.5]),
    ),
    reveals=("tensor(4.1250)", "It makes 5.5 · 0.75"),
)  # fmt: skip
