"""Exercise 09.p3: written under no_grad."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number, number_or_error


def read(answer):
    """The version of x after the block, and what backward leaves in x.grad."""
    if not isinstance(answer, list | tuple) or len(answer) != 2:
        return None
    return [as_number(answer[0]), number_or_error(answer[1])]


def truth(torch):
    """Write to x in the block, and run backward from the y that was computed before."""
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    with torch.no_grad():
        x.mul_(10)
    try:
        y.backward()
    except RuntimeError:
        return [x._version, "error"]
    return [x._version, x.grad.item()]


EXERCISE = Predict(
    id="09.p3", title="Written under no_grad", minutes=2, difficulty=2,
    question="`x` is a leaf with the value 3, at version 0, and `y = x * x`. Then `x.mul_(10)` runs under `no_grad`. "
    'At which version is `x` after that, and what is `x.grad` after `y.backward()`: a number, or "error"?',
    hints=(
        "no_grad is about nodes. Is a version counter a part of the graph?",
        "The product saved x at version 0. Backward compares that with what the counter of x says.",
    ),
    solution='answer = [1, "error"]\n',
    why="no_grad stops the recording, and a write is counted all the same. So the check of lesson 07 finds it.",
    alternatives=('answer = (1, "raises")\n', 'answer = ["1", "Error"]\n'),
    read=read, truth=truth, wanted='A list of two is wanted, such as [7, 2] or [7, "error"].',
    shown="no_grad hides a write from the graph, and not from the counter.",
    otherwise="The version: how many in-place writes were there? The gradient: what does the check compare?",
    mistakes=(
        Mistake("nothing is counted", "That is what .data would do. no_grad makes no new tensor: x itself was written "
                "to, and x has one counter.", [0, 60]),
        Mistake("nothing is seen", "The write did arrive in the memory that the product had saved. And was it not "
                "counted?", [0, 6]),
        Mistake("counted, not checked", "Version 1, yes. But the product saved x at version 0, and backward compares "
                "the two.", [1, 60]),
        Mistake("the old value", "Version 1, yes. But where should the old value come from? The product kept no copy "
                "of x, only its version.", [1, 6]),
        Mistake("an error for another reason", "There is an error, yes. What does the check compare, if not two "
                "versions?", [0, "error"]),
    ),
    reveals=("The counting goes on",),
)  # fmt: skip
