"""Exercise 05b.p1: two ways of clearing."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The program of the question."""
    v = torch.ones(2, requires_grad=True)
    (v * 7).sum().backward()
    first = v.grad
    v.grad = None
    (v * 7).sum().backward()
    second = v.grad
    v.grad.zero_()
    return [first[0].item(), second[0].item()]


def read(answer):
    """Two numbers; an element may be written as the whole tensor, [7, 7]."""
    try:
        numbers = [_one(each) for each in answer]
    except (TypeError, ValueError, IndexError):
        return None
    return numbers if len(numbers) == 2 else None


def _one(each):
    """A number, or the number that a list holds in each of its places."""
    if hasattr(each, "tolist"):
        each = each.tolist()
    if isinstance(each, (list, tuple)):
        if len(set(each)) != 1:
            raise ValueError
        each = each[0]
    return float(each)


EXERCISE = Predict(
    id="05b.p1", title="Two ways of clearing", minutes=1, difficulty=1, puzzles=(12,),
    question="Two passes each send a 7 to every element of `v`. The first gradient is put aside as `first`, and "
    "cleared with `v.grad = None`; the second as `second`, and cleared with `v.grad.zero_()`. What does each hold?",
    hints=(
        "Two names for one object: which of the two lines writes to the object?",
        "`v.grad = None` changes what the attribute of `v` refers to. Does that touch the tensor that was there?",
    ),
    solution="answer = [7, 0]\n",
    why="`v.grad = None` writes into no tensor. `zero_()` writes zeros into the one tensor that both names mean.",
    alternatives=("answer = (7.0, 0.0)\n", "answer = [[7, 7], [0, 0]]\n", "answer = torch.tensor([7.0, 0.0])\n"),
    read=read, truth=truth, equal=agree, wanted="Two numbers in a list are wanted.",
    shown="`v.grad = None` only lets go of the tensor, and `zero_()` writes into it.",
    otherwise="Each pass sends a 7. What does the line that clears do to the tensor that was put aside?",
    mistakes=(
        Mistake("both cleared", "`first` was not touched: `v.grad = None` writes into no tensor, it only makes `v` "
                "forget this one.", [0, 0]),
        Mistake("none cleared", "The first is right. But `second` is a second name for `v.grad`, and `zero_()` writes "
                "into that tensor.", [7, 7]),
        Mistake("the other way round", "It is the other way round: which of the two lines writes into a tensor?",
                [0, 7]),
        Mistake("second pass added", "The second pass did not add to `first`. `v.grad` was None by then, so it stored "
                "a tensor of its own.", [14, 0], also=([14, 14], [7, 14], [0, 14])),
    ),
    reveals=("first: tensor([7., 7.])", "only made `v` forget"),
)  # fmt: skip
