"""Exercise 04.p1: the node of h."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict

from .shared import near, number


def read(answer):
    """Read how often, and the gradient."""
    return tuple(answer) if isinstance(answer, (list, tuple)) and len(answer) == 2 else None


def truth(torch):
    """Ask a prehook of the node what it sees."""
    x = number(torch, 2.0)
    h = x * x
    seen = []
    h.grad_fn.register_prehook(lambda grads: seen.append(grads[0].item()))
    (h.sqrt() + (-h)).backward()
    return len(seen), seen[0]


def what_to_look_at(answer, truth):
    if near(answer[0], truth[1]):
        return "The other way round: first how often, then which gradient."
    if answer[0] != truth[0]:
        return "Each further run of this node would cost one of all that is behind it. How many need be?"
    return "What does the node of the square root send, what that of the minus, and who adds?"


EXERCISE = Predict(
    id="04.p1", title="The node of h", minutes=3, difficulty=1,
    question="`h = x * x; p = h.sqrt(); q = -h; y = p + q` at x = 2: how often does the node of h run in "
    "`y.backward()`, and which gradient is it given the first time?",
    hints=(
        "The slope of a root is 1 / (2 · root), and the root of 4 is 2.",
        "Two gradients are on their way to the node. Does it need them one by one, or is their sum enough?",
    ),
    solution="answer = (1, -0.75)",
    why="p sends 0.25 and q sends -1. The engine adds them and runs the node once, on -0.75: a backward function "
    "multiplies by slopes, so the sum is all it needs.",
    alternatives=("answer = [1, -0.75]", "answer = (1, 0.25 - 1)"),
    read=read, truth=truth, equal=lambda one, other: one[0] == other[0] and near(one[1], other[1]),
    wanted="Give a pair: how often the node runs, and the gradient that it is given first.",
    shown="two gradients arrive, they are added, and the node runs once.",
    otherwise=what_to_look_at,
    mistakes=(
        Mistake("once for each", "That is one run for each consumer. It would give the right slope, and the work "
                "would double at every fork; the engine waits and runs the node once.", (2, 0.25), also=((2, -1.0),)),
        Mistake("the sum twice", "Running twice on the sum would count both gradients twice. Once it has run, "
                "nothing more arrives.", (2, -0.75)),
        Mistake("one of the two", "It runs once, and so nothing may be missing: you gave what one of p and q sends. "
                "The other is on its way as well.", (1, -1.0), also=((1, 0.25),)),
        Mistake("multiplied", "Along a path slopes are multiplied, but these two come along different paths, and "
                "those are added.", (1, -0.25)),
        Mistake("the minus", "0.25 comes through the square root. What comes through the minus has its sign turned: "
                "the slope of -h is -1.", (1, 1.25)),
        Mistake("the larger one wins", "The size is right. What comes through the minus is negative, and it is the "
                "larger of the two.", (1, 0.75)),
        Mistake("half a root", "Adding is right. One of the two is not: the slope of a root is 1 / (2 · root), and "
                "the root of 4 is 2.", (1, -0.5)),
        Mistake("the seed", "1 is what the pass starts with at y. On the way to h it has gone through the square "
                "root, and through the minus.", (1, 1.0)),
        Mistake("one node on", "-3 is what arrives at x, one node further: the node of h multiplies what it is given "
                "by 2x.", (1, -3.0)),
    ),
    reveals=("runs on tensor(-0.7500", "it runs on the sum", "0.25 − 1"),
)  # fmt: skip
