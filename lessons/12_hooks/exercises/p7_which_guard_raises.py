"""Exercise 12.p7: which guard raises?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names, leaf


def read(answer):
    """One of the three names; "none" for no guard, "sqrt" for the operation; None for anything else."""
    names = as_names(answer)
    name = names[0].strip().lower() if names and len(names) == 1 else None
    return name if name in ("y", "root", "x", "none", "sqrt") else None


def truth(torch):
    """The name of the first tensor whose gradient is not finite."""
    x = leaf(torch, [4.0, 0.0])
    root = x.sqrt()
    y = torch.where(x > 0, root, 0.0)
    found = []

    def look(name):
        return lambda grad: None if grad.isfinite().all() else found.append(name)

    for name, tensor in (("y", y), ("root", root), ("x", x)):
        tensor.register_hook(look(name))
    y.sum().backward()
    return found[0]


EXERCISE = Predict(
    id="12.p7", title="Which guard raises?", minutes=2, difficulty=2,
    question="`y = torch.where(x > 0, x.sqrt(), 0)` for x = [4, 0]. Guards on `y`, on `root` (the result of the square "
    "root) and on `x` raise at the first gradient that is not finite. Which one raises?",
    hints=(
        "For the second number: which gradient comes to y, and which of the two operands of where gets it?",
        "The gradient of root is finite. By what does the node of the square root divide it?",
    ),
    solution='answer = "x"',
    why="1 comes to y. where sends 0 to root for the second number. The node of the root makes 0 / (2 · √0) of it, "
    "which is NaN, and that goes to x.",
    alternatives=('answer = ["x"]', 'answer = " X "'),
    read=read, truth=truth, wanted='One of the three names is wanted, such as "y".',
    shown="the guards of y and root saw finite numbers, so the node between root and x has made the NaN.",
    mistakes=(
        Mistake("at y", "The gradient of y is what the sum sends: ones.", "y"),
        Mistake("at root", "where sends 0 to root for the second number, and 0 is finite. Who computes with it next?",
                "root"),
        Mistake("none at all", "Zero times an infinite slope is not zero. Which node has an infinite slope at 0?",
                "none"),
        Mistake("the operation", "That is the operation that makes it. A guard hangs on a tensor. Which one gets what "
                "the node of the root sends on?", "sqrt"),
    ),
    reveals=("the gradient of x is [0.25, nan]", "At `x` there is a NaN"),
)  # fmt: skip
