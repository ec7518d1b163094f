"""Exercise 05b.p3: what does `given` hold in PyTorch?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import flat


def truth(torch):
    """The program of the question. On our engine what PyTorch does in the first pass is done by hand."""
    x, given = torch.ones(2, requires_grad=True), torch.ones(2, 1)
    x.view(2, 1).backward(given)
    if torch.__name__ == "course_lib":
        x.grad = given.view(2)
    x.view(2, 1).backward(given.clone())
    return flat(given)


def read(answer):
    """Two numbers, also in the shape of `given`."""
    try:
        numbers = [float(each[0] if isinstance(each, (list, tuple)) else each) for each in answer]
    except (TypeError, ValueError, IndexError):
        return None
    return numbers if len(numbers) == 2 else None


EXERCISE = Predict(
    id="05b.p3", title="What does given hold?", minutes=1, difficulty=2, puzzles=(26,),
    question="In PyTorch `x.view(2, 1).backward(given)` runs, and then the same with `given.clone()`. `given` was "
    "ones. Which two numbers does it hold at the end? A list.",
    hints=(
        "In whose memory does `x.grad` lie after the first pass?",
        "What does the second pass do to the `.grad` that is there already, and where?",
    ),
    solution="answer = [2, 2]\n",
    why="The first pass makes given's memory x.grad. The second one adds a 1 to each number of x.grad, in place.",
    alternatives=("answer = [[2.0], [2.0]]\n", "answer = torch.tensor([[2.0], [2.0]])\n", "answer = (2, 2)\n"),
    read=read, truth=truth, wanted="Two numbers in a list are wanted.",
    shown="`x.grad` lies in given's memory after the first pass, and the second pass adds to it in place.",
    otherwise="PyTorch leaves other numbers there. What lies in given's memory after the first pass, and what does the "
    "second pass add to it?",
    mistakes=(
        Mistake("nobody wrote to it", "So it is on our engine, which copies. In PyTorch `x.grad` lies in given's "
                "memory after the first pass, and the second pass writes into `x.grad`.", [1, 1]),
        Mistake("added twice", "Each pass brings a 1. The first one is not added to anything: given's memory becomes "
                "`x.grad` as it is.", [3, 3]),
        Mistake("added to itself", "The second pass hands over a clone of given, which holds 1s, and it is added once.",
                [4, 4]),
        Mistake("cleared", "Backward does not empty what it was handed.", [0, 0]),
        Mistake("only one of the two", "Both numbers of given lie in the memory of `x.grad`, and a 1 arrives for each.",
                [2, 1], also=([1, 2],)),
    ),
    reveals=("[[2.0], [2.0]]", "and so into `given`"),
)  # fmt: skip
