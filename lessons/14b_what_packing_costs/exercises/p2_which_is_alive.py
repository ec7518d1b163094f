"""Exercise 14b.p2: which is alive?"""

import weakref

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import hooks_of, no_collector
from lessons.shared import names_among


def truth(torch):
    """The letters of the calls after which the result outlives its name."""
    calls = {
        "A": (lambda tensor: tensor.detach(), lambda loss: None),
        "B": (lambda tensor: tensor, lambda loss: None),
        "C": (lambda tensor: tensor, lambda loss: loss.backward()),
        "D": (lambda tensor: tensor, lambda loss: loss.backward(retain_graph=True)),
    }
    found = set()
    with no_collector():
        for letter, (pack, then) in calls.items():
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            with hooks_of(torch)(pack, lambda packed: packed):
                y = x.exp()
            then(y.sum())
            alive = weakref.ref(y)
            del y
            if alive() is not None:
                found.add(letter)
    return found


EXERCISE = Predict(
    id="14b.p2", title="Which is alive?", minutes=2, difficulty=2,
    question="The exponential saves its own result, and the result loses its only name. Is it still alive if pack A: "
    "detaches it, B: returns it as it is, C: returns it as it is, and backward has run, D: the same with "
    "retain_graph=True? Give the letters of those that are alive.",
    hints=(
        "What does the result hold, by way of its grad_fn? And what does that node hold?",
        "When does a node let go of what pack has returned?",
    ),
    solution='answer = ["B", "D"]',
    why="In B and D the result holds its node, and the node holds the result. detach() makes another tensor, without "
    "a node. And a node that has run lets go of what it holds, unless the graph is retained.",
    alternatives=('answer = {"D", "B"}', 'answer = "bd"', 'answer = "B, D"'),
    read=names_among(*"ABCD"), truth=truth,
    wanted='Give a list with some of the letters "A" to "D"; it may be empty.',
    shown="what pack returns must not hold the tensor that it was given.",
    otherwise="Draw the two arrows: from the result to its node, and from the node to what pack returned. Do they "
    "close a ring?",
    mistakes=(
        Mistake("none", "A deleted name frees a tensor only if nothing else holds it. In B, what does the node of the "
                "exponential hold?", []),
        Mistake("all of them", "In A the node holds another tensor: the same memory, without a node of its own. So it "
                "does not hold the result.", ["A", "B", "C", "D"], also=(["A", "B"], ["A", "B", "D"], ["A"])),
        Mistake("backward changes nothing", "In C the node has run. What does a node do then with what it has saved?",
                ["B", "C", "D"], also=(["B", "C"], ["C", "D"], ["C"])),
        Mistake("any backward opens it", "In D backward ran with retain_graph=True, so that the node can run once "
                "more. What must it still hold for that?", ["B"]),
        Mistake("only the retained one", "In B no backward has run at all, so the node has let go of nothing.", ["D"]),
    ),
    reveals=("In B and D it is alive", "each keeps the other one alive", "Backward opens the ring"),
)  # fmt: skip
