"""Exercise 05.p4: momentum, zero and None."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The three steps of the question."""
    w, path = torch.tensor(1.0, requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    for gradient in (torch.tensor(1.0), torch.tensor(0.0), None):
        w.grad = gradient
        optimizer.step()
        path.append(w.item())
    return path


EXERCISE = Predict(
    id="05.p4", title="Zero, None and momentum", minutes=2, difficulty=2, puzzles=(13,),
    question="SGD with momentum 0.9, learning rate 1, `w` is 1 and the velocity 0. The gradients are 1, then 0, then "
    "None. What is `w` after each of the three steps? A list of three numbers.",
    hints=(
        "Write down the velocity after each step, too. It is not cleared between steps.",
        "With the gradient 0 the first of the two lines still has a term that is not 0.",
    ),
    solution="answer = [0.0, -0.9, -0.9]\n",
    why="The velocity is 1, then 0.9, and in the third step nobody touches it: 1 - 1 = 0, 0 - 0.9 = -0.9, and then "
    "nothing.",
    alternatives=("answer = torch.tensor([0.0, -0.9, -0.9])\n", "answer = (0, -0.9, -0.9)\n"),
    read=lambda answer: answer if isinstance(answer, (list, tuple)) and len(answer) == 3 else None,
    truth=truth, equal=agree, wanted="Three numbers in a list are wanted.",
    shown="the velocity of the first step still moves `w` when the gradient is zero; None leaves both alone.",
    otherwise="The program prints something else. Compute the velocity first, then the step, three times.",
    mistakes=(
        Mistake("zero is rest", "You let `w` stop at 0. The gradient is 0 in the second step, but the velocity is not: "
                "it is 0.9 times the old one.", [0, 0, 0]),
        Mistake("None is zero", "In the third step you let the velocity roll on. A gradient of zero would do that; "
                "None means that the step is skipped, velocity and all.", [0, -0.9, -1.71]),
        Mistake("nothing fades", "The old velocity is multiplied by 0.9 before it is used again.", [0, -1, -1]),
        Mistake("nothing fades and None is zero", "Two things: the old velocity is multiplied by 0.9, and with None "
                "the step is skipped.", [0, -1, -2]),
        Mistake("uphill", "The signs are the other way round: the step subtracts the velocity.", [2, 2.9, 2.9]),
        Mistake("up with the velocity", "The first step is right. In the second the velocity is 0.9, and it is "
                "subtracted like the first one.", [0, 0.9, 0.9]),
        Mistake("before each step", "You give `w` as it is before each step: the list begins with 1. Asked is `w` "
                "after each step.", [1, 0, -0.9], also=([1, 0, 0],)),
        Mistake("the gradient alone", "Your second step moves by a tenth: it has 0.1 times the velocity. What remains "
                "of it is 0.9 times.", [0, -0.1, -0.1]),
    ),
    reveals=("-0.9,", "fades to 0.9", "moves `w` by 0.9"),
)  # fmt: skip
