"""Exercise 00.1: make a graph."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import nodes_behind

from .shared import node_name


def check(answer, torch):
    """Look at the returned tensor's node, and count the leaves behind it."""
    y = answer(torch)
    if isinstance(y, float | int):
        return almost("a number")
    if not hasattr(y, "grad_fn"):
        return not_yet(f"A tensor is wanted, and the function returned {type(y).__name__}.")
    if y.grad_fn is None:
        return almost("the leaf itself" if y.requires_grad else "plain")
    if node_name(y.grad_fn) != "ExpBackward0":
        names = {node_name(node) for node in nodes_behind(y)}
        if "ExpBackward0" in names:
            return almost("one operation too many")
        if node_name(y.grad_fn).startswith("PowBackward"):
            return almost("a power")
        return not_yet(f"The result's node is {node_name(y.grad_fn)}.")
    if y.numel() != 1:
        return almost("several elements")
    leaves = [node for node in nodes_behind(y) if not node.next_functions]
    if len(leaves) != 1:
        return almost("two leaves")
    if not leaves[0].variable.requires_grad:
        return almost("switched off")
    if len(nodes_behind(y)) > 2:
        return correct("`exp` ran last, and behind all your operations there is one leaf.")
    return correct("One operation on one leaf: two nodes, one arrow. That is the smallest graph there is.")


MAKE = "def make(torch):\n"

EXERCISE = Exercise(
    id="00.1", kind="edges", title="Make a graph", minutes=2, difficulty=1,
    question="Return a one-element tensor whose `grad_fn` is an `ExpBackward0` and behind which exactly one leaf "
    "waits for a gradient.",
    name="make", starter=MAKE + "    x = torch.tensor(1.0)\n    return x\n",
    hints=(
        "A node appears only on a result. Which operation leaves `ExpBackward0` behind?",
        "`x.exp()` is half of it. A node is made only if an operand requires grad. Does `x`?",
    ),
    solution=MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp()\n",
    why="The leaf asks for a gradient, so the one operation on it is recorded, and it is the last one.",
    alternatives=(
        MAKE + "    x = torch.zeros(1)\n    x.requires_grad_()\n    return torch.exp(x * 2)\n",
        MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp().exp_()\n",
    ),
    mistakes=(
        Mistake("plain", "Your result has no node. Either nothing that went into the operation required grad, or it "
                "was not recorded, or the result was cut from its history afterwards.",
                MAKE + "    x = torch.tensor(1.0)\n    return x.exp()\n"),
        Mistake("a number", "That is a Python number: it has a value and no node, as after `.item()`. Return the "
                "tensor.", MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp().item()\n"),
        Mistake("one operation too many", "`grad_fn` is the node of the last operation, and something ran after "
                "`exp`.", MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp() * 1\n"),
        Mistake("two leaves", "The node is right, but more than one leaf waits behind it; one is wanted.",
                edit("return x", "w = torch.tensor(2.0, requires_grad=True)\n    return (x * w)")),
        Mistake("a power", "The same value, by another operation: a power leaves another node. The graph is that of "
                "what ran.", MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return 2.718281828 ** x\n"),
        Mistake("several elements", "The node is right, but the tensor has more than one element, or none; one is "
                "wanted.", MAKE + "    x = torch.tensor([1.0, 2.0], requires_grad=True)\n    return x.exp()\n"),
        Mistake("the leaf itself", "You returned a leaf. It waits for a gradient, but it is no result of an "
                "operation that was recorded.", MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x\n"),
        Mistake("switched off", "The node is right, and one leaf stands behind it. But its flag was taken away "
                "again: it waits for nothing any more.",
                edit("return x.exp()", "y = x.exp()\n    x.requires_grad_(False)\n    return y")),
    ),
    check=check,
)  # fmt: skip
