"""Exercise 12.p8: which guard raises in a longer chain?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names, leaf

NAMES = ("y", "spread", "variance", "centred", "x", "none")


def read(answer):
    """One of the five names; "none" for no guard; None for anything else."""
    names = as_names(answer)
    name = names[0].strip().lower() if names and len(names) == 1 else None
    return name if name in NAMES else None


def truth(torch):
    """The name of the first tensor whose gradient is not finite."""
    x, found = leaf(torch, [2.0, 2.0]), []
    centred = x - x.mean()
    variance = (centred * centred).mean()
    spread = variance.sqrt()
    y = centred / (spread + 1e-5)

    def look(name):
        return lambda grad: None if grad.isfinite().all() else found.append(name)

    for name, tensor in zip(NAMES, (y, spread, variance, centred, x), strict=False):
        tensor.register_hook(look(name))
    (y * torch.tensor([1.0, 3.0])).sum().backward()
    return found[0]


EXERCISE = Predict(
    id="12.p8", title="The longer chain", minutes=2, difficulty=2,
    question="For x = [2, 2]: `centred = x - x.mean()`, `variance = (centred * centred).mean()`, `spread = "
    "variance.sqrt()`, `y = centred / (spread + 1e-5)`. Guards on all five raise at the first gradient that is not "
    "finite. The pass begins at `(y * torch.tensor([1.0, 3.0])).sum()`. Which guard raises?",
    hints=(
        "Write down the values first: what are centred, variance and spread?",
        "Go back from y, node by node. Does the division divide by 0? Which node does?",
    ),
    solution='answer = "variance"',
    why="The division is safe, and sends finite gradients to centred and to spread; that of spread is 0, as centred is "
    "0. The root makes 0 / (2 · √0) of it, which is NaN, and that goes to variance.",
    alternatives=('answer = ["variance"]', 'answer = " Variance "'),
    read=read, truth=truth, wanted='One of the five names is wanted, such as "y".',
    shown="the guards of y and spread saw finite numbers, so the root, between spread and variance, has made the NaN.",
    mistakes=(
        Mistake("at y", "The gradient of y is what the product sends: 1 and 3.", "y"),
        Mistake("at spread", "The division divides by 1e-5, and that is not 0: what it sends to spread is finite. Who "
                "computes with it next?", "spread"),
        Mistake("at centred", "The NaN does come to centred, but another guard has seen it before. centred is used "
                "three times. So what must have run before its guard is called?", "centred"),
        Mistake("at x", "The NaN would come to x as well, but other guards are called before that of x. Which node "
                "makes it?", "x"),
        Mistake("none at all", "The 1e-5 keeps the division safe. But which node has an infinite slope at 0?",
                "none"),
    ),
    reveals=("the gradient of variance is nan", "So it is the root again"),
)  # fmt: skip
