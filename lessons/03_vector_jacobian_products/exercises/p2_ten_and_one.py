"""Exercise 03.p2: ten and one."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree

from .shared import plain, two_outputs


def read(answer):
    """Two entries, in lists."""
    given = plain(answer)
    return given if isinstance(given, list) and len(given) == 2 else None


def truth(torch):
    u, v, y = two_outputs(torch)
    y.backward(gradient=torch.tensor([10.0, 1.0]))
    return [u.grad, v.grad]


EXERCISE = Predict(
    id="03.p2", title="Ten and one", minutes=2, difficulty=1,
    question="`y` is `[u * v, u + v]` at u = 2, v = 3. After `y.backward(gradient=[10, 1])`: u.grad and v.grad?",
    hints=(
        "What is the slope of u * v for u? And that of u + v?",
        "The first output counts ten times, the second once; then add what arrives at u.",
    ),
    solution="answer = [31, 21]",
    why="u gets ten times the slope 3 of the product and once the slope 1 of the sum; v gets ten times 2, and 1.",
    alternatives=("answer = (31.0, 21.0)",),
    read=read, truth=truth, equal=agree, wanted="Give two numbers in a list: u.grad and v.grad.",
    shown="each output's slopes count as often as its upstream number says.",
    otherwise="Find the slopes of u * v and of u + v first, then let the 10 and the 1 count them.",
    mistakes=(
        Mistake("weights handed back", "10 and 1 belong to the two outputs. They are multiplied by slopes on the way "
                "to u and v.", [10, 1]),
        Mistake("no weights", "That is the gradient of the plain sum of both outputs: each counts 1. Here the first "
                "output counts ten times.", [4, 3]),
        Mistake("first output only", "The second output counts 1, not 0, and its slopes are 1 and 1: add them.",
                [30, 20]),
        Mistake("a table", "These are the right contributions, one row an output. They meet at u and at v, and what "
                "meets is added.", [[30, 20], [1, 1]]),
        Mistake("exchanged", "The slope of u * v for u is v, which is 3, not 2.", [21, 31]),
        Mistake("one answer for both", "v has slopes of its own: that of u * v for v is u, which is 2.", [31, 31]),
        Mistake("one output for each", "That pairs u with the first output and v with the second. Both outputs use "
                "both inputs, so each input gets two shares.", [30, 1]),
        Mistake("one slope each", "Those are the slopes of the first output alone, without the 10. Each output "
                "has a slope for each input, and an upstream number.", [3, 2]),
        Mistake("weights added", "You added 10 and 1. On its way to u each of them is multiplied by the slope of "
                "its output, and those are not all 1.", [11, 11]),
        Mistake("one weight for both", "10 belongs to the first output only; you let it count the second one "
                "as well.", [40, 30]),
        Mistake("weighted outputs", "You multiplied the outputs themselves, 6 and 5, by 10 and 1. What travels "
                "back is slopes.", [60, 5]),
    ),
    reveals=("tensor(31.) tensor(21.)", "10·3 + 1·1 = 31"),
)  # fmt: skip
