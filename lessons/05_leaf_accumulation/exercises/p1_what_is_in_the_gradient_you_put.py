"""Exercise 05.p1: what is in the gradient you put aside?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The program of the question."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w.sum() * 3).backward()
    g = w.grad
    (w.sum() * 5).backward()
    return g.tolist()


EXERCISE = Predict(
    id="05.p1", title="What is in the gradient you put aside?", minutes=1, difficulty=1, puzzles=(12,),
    question="The first pass sends a 3 to each element of `w`. Then `g = w.grad`. The second pass sends a 5 to each. "
    "What does `g` hold? Two numbers in a list.",
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
        Mistake("the first, times w", "That is 3 times w. The slope of `w.sum() * 3` is 3 for each element, whatever "
                "w is; and the second pass comes too.", [3, 6]),
        Mistake("the second, times w", "That is 5 times w. The slope of `w.sum() * 5` is 5 for each element, whatever "
                "w is; and the first pass has left something.", [5, 10]),
        Mistake("cleared by itself", "Nothing clears a gradient by itself: neither a pass nor a second name for it.",
                [0, 0]),
        Mistake("times w", "That is 8 times w. The slope of `w.sum() * 8` is 8 for each element, whatever w is.",
                [8, 16]),
    ),
    reveals=("8., 8.", "added to the 3s", "gives a second name"),
)  # fmt: skip
