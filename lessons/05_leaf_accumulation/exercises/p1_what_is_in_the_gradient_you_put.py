"""Exercise 05.p1: what is in the gradient you put aside?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The program of the question."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * 3).sum().backward()
    g = w.grad
    (w * 5).sum().backward()
    return g.tolist()


EXERCISE = Predict(
    id="05.p1", title="What is in the gradient you put aside?", minutes=1, difficulty=1, puzzles=(12,),
    question="`(w * 3).sum().backward()`, then `g = w.grad`, then `(w * 5).sum().backward()`. What does `g` hold? Two "
    "numbers in a list.",
    hints=(
        "There are two questions in one: what does the second pass do to `.grad`, and is `g` a copy?",
        "In Python, `g = w.grad` gives a second name to one object.",
    ),
    solution="answer = [8, 8]\n",
    why="The second pass adds its 5s to the 3s, in the very tensor that `g` names.",
    alternatives=("answer = torch.tensor([8.0, 8.0])\n",),
    read=lambda answer: answer if isinstance(answer, (list, tuple)) and len(answer) == 2 else None,
    truth=truth, equal=agree, wanted="Two numbers in a list are wanted.",
    shown="`g` is w.grad itself, and the second pass added its 5s to the 3s in place.",
    otherwise=lambda answer, _: f"The program prints something else than {list(answer)}. What does each pass send "
    "to w?",
    mistakes=(
        Mistake("put aside", "[3, 3] would be right if `g` were a copy, or if the sum went into a new tensor, as in "
                "your own engine of lesson 04. But `g` is a second name for the tensor that is added to.", [3, 3]),
        Mistake("overwritten", "[5, 5] is the second pass alone; backward adds to what is there, it does not replace "
                "it.", [5, 5]),
        Mistake("multiplied", "15 multiplies the slopes; that happens along one path, and these are two separate "
                "passes.", [15, 15]),
        Mistake("averaged", "4 is the average of 3 and 5; nothing here divides by the number of passes.", [4, 4]),
        Mistake("the first, times w", "That is 3 times w, the result of the product. The slope of w * 3 is 3; and "
                "the second pass comes too.", [3, 6]),
        Mistake("the second, times w", "That is 5 times w, the result of the second product. The slope of w * 5 is 5; "
                "and the first pass has left something.", [5, 10]),
        Mistake("cleared by itself", "Nothing clears a gradient by itself: neither a pass nor a second name for it.",
                [0, 0]),
        Mistake("times w", "That is 8 times w. The slope of w * 8 is 8, whatever w is.", [8, 16]),
    ),
    reveals=("8., 8.", "what arrives is added", "from 3s to 8s"),
)  # fmt: skip
