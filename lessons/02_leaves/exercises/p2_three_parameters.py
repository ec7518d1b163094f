"""Exercise 02.p2: three parameters."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among, numbers

from .shared import stored


def truth(torch):
    """The names of the tensors that have a gradient after the program."""
    w = torch.tensor(numbers(2), requires_grad=True).double()
    v = torch.tensor(numbers(2), requires_grad=True) * 0.01
    u = torch.tensor(numbers(2), requires_grad=True).float()
    (w * v * u).sum().backward()
    return {name for name, tensor in {"w": w, "v": v, "u": u}.items() if stored(tensor) is not None}


EXERCISE = Predict(
    id="02.p2", title="Three parameters", minutes=2, difficulty=2, puzzles=(10,),
    question="`w` is a leaf's `.double()`, `v` a leaf times 0.01, `u` a float32 leaf's `.float()`. Backward from `(w "
    "* v * u).sum()`: who has a .grad?",
    hints=(
        "A leaf is what no recorded operation computed. What does each name refer to at the end of its line?",
        "Lesson 01 had a call that leaves no node.",
    ),
    solution='answer = ["u"]',
    why="w and v name results; the leaves behind them have lost their names. float() of a float32 tensor is that "
    "tensor.",
    alternatives=('answer = "u"', 'answer = {"u"}'),
    read=names_among("w", "v", "u"), truth=truth,
    wanted='Give a list with some of the names "w", "v", "u"; it may be empty.',
    shown="you saw which call computes something, and which has nothing to do.",
    otherwise="Which of the three were computed from another tensor?",
    mistakes=(
        Mistake("the flag stays", "All three require grad, that is right. But only leaves store gradients, and not "
                "all three are leaves.", ["w", "v", "u"]),
        Mistake("a cast is no operation", "v is a result, right. So is w: a cast to another type computes new "
                "numbers, and is recorded as an operation.", ["w", "u"]),
        Mistake("a factor is nothing", "v is not the leaf: the product made a new tensor, and the name v was given "
                "to that one.", ["v", "u"], when=lambda names, _: "v" in names),
        Mistake("a cast keeps", "w is a result: the cast was recorded. And one of the other two is the very leaf "
                "that was made on its line.", ["w"]),
        Mistake("float computes", "float() makes float32. The tensor is float32 already, so what is there to "
                "compute, and what is handed back?", []),
    ),
    reveals=("'w': None", "`u` is a leaf"),
)  # fmt: skip
