"""Exercise 11.p1: a backward that writes into the gradient that arrives."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import function

from .p4_saved_twice import read


def truth(torch):
    double = function(torch, lambda ctx, x: x * 2, lambda ctx, grad: grad.mul_(2), "Double")
    x, grad = torch.tensor([5.0], requires_grad=True), torch.tensor([1.0])
    h = x * 1
    (found,) = torch.autograd.grad(h + double.apply(h), x, grad)
    return [found.item(), grad.item()]


EXERCISE = Predict(
    id="11.p1", title="Doubled in place", minutes=2, difficulty=2,
    question="h = x * 1, and the backward of Double returns grad.mul_(2). What is the gradient of h + Double.apply(h) "
    "by x, when the caller passes in a 1, and what does the caller's tensor hold afterwards? Each a number or "
    '"error".',
    hints=(
        "The addition sends one tensor to two places: to h, and to the node of Double. How many tensors are "
        "there?",
        "If it is one tensor, what happens to that which goes to h, when the node of Double doubles it? And whose "
        "tensor was it before?",
    ),
    solution="answer = (4, 2)",
    why="There is only one tensor, the caller's 1. It is on its way to h when Double makes a 2 of it; what Double "
    "returns is the same 2. The sum is 2 + 2, and the caller's tensor is 2.",
    alternatives=("answer = [4.0, 2.0]", 'answer = ("4", "2")'),
    read=read, truth=truth, wanted='Give a pair; each entry is a number or "error".',
    shown="a gradient that arrives belongs to others as well.",
    otherwise="Count the tensors: is what goes to h another one than what Double writes into?",
    mistakes=(
        Mistake("as in calculus", "3 is the slope. Is what the addition sends to h a copy, so that it stays 1?",
                (3, 1)),
        Mistake("only the caller", "The caller's tensor becomes 2, that is right. It is also the tensor that is on its "
                "way to h.", (3, 2)),
        Mistake("the caller spared", "The gradient is right. But where would the engine have made a copy of the "
                "caller's tensor?", (4, 1)),
        Mistake("an error", "It would be good if it raised. mul_ in a pass that is not recorded is an ordinary write.",
                ("error", "error"), also=(("error", 1), ("error", 2), (3, "error"), (4, "error"))),
        Mistake("one path only", "Two paths lead from the sum to h, and both bring something.", (2, 2),
                also=((2, 1), (1, 1))),
        Mistake("the sum written back", "The sum of what has come to h is a tensor of its own. Nobody writes it into "
                "the caller's.", (4, 4), also=((3, 3),)),
        Mistake("doubled twice", "Double runs once. Both paths bring the number that stands in the tensor then.",
                (6, 2), also=((6, 4), (5, 2), (8, 4), (4, 3))),
    ),
    reveals=("the caller's grad: tensor([2.])", "The gradient is 4 instead of 3"),
)  # fmt: skip
