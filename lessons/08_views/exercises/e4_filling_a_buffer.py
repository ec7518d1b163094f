"""Exercise 08.4: filling a buffer."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import flat, leaf, near, nodes_behind, numbers

from .shared import LEAF_VIEW, NO_GRAD_VIEW

MODIFIED = "modified by an inplace operation"


def check(answer, torch):
    for steps in (3, 1, 4):
        start, factor = numbers(2)
        start, factor = random.choice([-1, 1]) * start, random.choice([-1, 1]) * factor
        x0, w = leaf(torch, start), leaf(torch, factor)
        weights = numbers(steps + 1)
        try:
            out = answer(torch, x0, w, steps)
        except RuntimeError as error:
            if NO_GRAD_VIEW in str(error):
                return not_yet("A view made under no_grad is written to outside. That is another error, not a cure.")
            if LEAF_VIEW in str(error):
                return almost("a leaf as buffer")
            raise
        if not isinstance(out, torch.Tensor) or out.dim() != 1:
            return not_yet("The function should return a tensor with one dimension.")
        states = [start * factor**t for t in range(steps + 1)]
        if near(flat(out), states[1:]) or near(flat(out), [factor * state for state in states]):
            return almost("x0 is missing")
        if not near(flat(out), states):
            return not_yet(f"For {steps} steps the result should hold x0, x0 * w, x0 * w * w, and so on, "
                           f"{steps + 1} numbers in all.")  # fmt: skip
        if not out.requires_grad:
            return almost("no history")
        try:
            (out * torch.tensor(weights)).sum().backward()
        except RuntimeError as error:
            if MODIFIED not in str(error):
                raise
            return still_shared(out, str(error))
        wanted_x0 = sum(k * factor**t for t, k in enumerate(weights))
        wanted_w = sum(k * t * start * factor ** max(t - 1, 0) for t, k in enumerate(weights))
        if out.is_leaf:
            return almost("a new leaf")
        if w.grad is None:
            whole = x0.grad is not None and near(flat(x0.grad), [wanted_x0], 1e-3)
            return almost("w cut" if whole else "unrecorded")
        if x0.grad is None:
            return almost("x0 cut")
        found = [x0.grad.item(), w.grad.item()]
        if not near(found, [wanted_x0, wanted_w], 1e-3):
            one_step = sum(k * state for k, state in zip(weights[1:], states, strict=False))
            if near(found, [weights[0], one_step], 1e-3):
                return almost("numbers")
            return not_yet("The states are right, but x0 and w do not get their gradients.")
    return correct(
        "what the products save has memory of its own, and every state's history is kept. Three ways are usual: "
        "`out[t].clone() * w`; a name for the state, `state = state * w` and then `out[t + 1] = state`; or a list, "
        "and `torch.stack` at the end, where nothing is written to at all."
    )


def still_shared(out, message):
    """Backward found a stale tensor: what kind of copy was made, if any?"""
    if "which is output" not in message:
        return almost("detached view")
    nodes = nodes_behind(out)
    clones = [node for node in nodes if type(node).__name__ == "CloneBackward0"]
    if not clones:
        return almost("still shared")
    if any(type(after).__name__ == "MulBackward0" for clone in clones for after, _ in clone.next_functions):
        return almost("copied too late")
    products = [node for node in nodes if type(node).__name__ == "MulBackward0"]
    if any(leads_to(product, clone) for product in products for clone in clones):
        return almost("copied too early")
    return almost("copied at the end")


def leads_to(node, goal):
    """Is there a way from one node to another along the edges?"""
    waiting, known = [node], set()
    while waiting:
        node = waiting.pop()
        if node is goal:
            return True
        if node is not None and node not in known:
            known.add(node)
            waiting += [after for after, _ in node.next_functions]
    return False


STARTER_6 = """\
def simulate(torch, x0, w, steps):
    out = torch.zeros(steps + 1)
    out[0] = x0
    for t in range(steps):
        out[t + 1] = out[t] * w
    return out"""
LIST_6 = """\
def simulate(torch, x0, w, steps):
    states = [x0]
    for t in range(steps):
        states.append(states[-1] * w)
    return torch.stack(states)
"""

EXERCISE = Exercise(
    id="08.4", kind="repair", title="Filling a buffer", minutes=8, difficulty=2, puzzles=(1, 2),
    question="A loop writes each state into its place of a tensor. Repair it so that backward gives the gradients for "
    "x0 and w.",
    name="simulate", starter=STARTER_6,
    hints=(
        "What does the product save, and which memory does that lie in? Which line writes to this memory next?",
        "The message says AsStrided: the saved tensor is a view of out. It needs memory of its own, and it needs it "
        "before the product saves it.",
        "Or keep the states in a Python list, where nothing is written to, and make one tensor at the end.",
    ),
    solution=STARTER_6.replace("out[t] * w", "out[t].clone() * w") + "\n",
    why="The product saves the clone, and the next write does not touch that. A list and torch.stack at the end avoid "
    "the writes altogether.",
    alternatives=(
        LIST_6,
        edit("out[t ", "new = out.clone()\n        new[t ", ".clone() * w", " * w\n        out = new", "out\n", "out"),
        STARTER_6.replace("    out[0] = x0", "    state = out[0] = x0")
            .replace("        out[t + 1] = out[t] * w", "        state = state * w\n        out[t + 1] = state"),
        "def simulate(torch, x0, w, steps):\n    return x0 * w ** torch.arange(steps + 1)\n",
        edit("out[t].clone(", "(out[t] + 0", "out\n", "out"),
        "def simulate(torch, x0, w, steps):\n    return x0 * torch.cat([torch.ones(1), w.expand(steps)]).cumprod(0)\n",
    ),
    mistakes=(
        Mistake("copied too late", "Backward still finds a stale view. The product saved out[t], and the loop writes "
                "to that memory afterwards: it is out[t] that needs memory of its own, before the product saves it.",
                edit("out[t].clone() * w", "(out[t] * w).clone()", "out\n", "out")),
        Mistake("copied too early", "A copy of the whole buffer, and then the product reads it and the write goes "
                "into that same copy. Reader and writer still share.",
                STARTER_6.replace("        out[t + 1]", "        out = out.clone()\n        out[t + 1]")),
        Mistake("still shared", "Backward still finds a stale view: a product saved a part of the buffer, and "
                "afterwards the loop writes to another part of the same memory.",
                edit(" = out[t].clone() * w", ".copy_(out[t] * w)", "out\n", "out")),
        Mistake("a leaf as buffer", "With requires_grad=True the buffer is a leaf, and a recorded write to a view of "
                "a leaf is refused. What is written brings its history with it; the buffer needs no flag.",
                edit("1)", "1, requires_grad=True)", ".clone()", "", "out\n", "out")),
        Mistake("x0 is missing", "The first number is x0 * w already. The result begins with x0 itself.",
                "def simulate(torch, x0, w, steps):\n    states = []\n    for t in range(steps):\n        x0 = x0 * w\n"
                "        states.append(x0)\n    return torch.stack(states)\n"),
        Mistake("copied at the end", "The copy comes when the products have saved their views and the loop has "
                "overwritten the memory: no copy of the result can undo that.",
                edit(".clone()", "", "out\n", "out.clone()")),
        Mistake("detached view", "detach() leaves the memory and its counter shared, so the version error stays. And "
                "the states would be cut from each other.", edit("clone", "detach", "out\n", "out")),
        Mistake("numbers", "No error and the right states, but wrong gradients: each step took the state before it "
                "as a mere number, without its history.", edit("clone", "item", "out\n", "out")),
        Mistake("unrecorded", "No error, but w gets no gradient: what is written into the buffer brings no history "
                "with it.", edit("out[t ", "out.data[t ", ".clone()", "", "out\n", "out")),
        Mistake("a new leaf", "The states are right, and the result is a leaf that your function made: the gradient "
                "ends there, and no arrow leads on to x0 and w.",
                "def simulate(torch, x0, w, steps):\n    states = [(x0 * w**t).item() for t in range(steps + 1)]\n"
                "    return torch.tensor(states, requires_grad=True)\n"),
        Mistake("w cut", "No error, and x0 gets its gradient, but w gets none: it takes part in the products as a "
                "mere number.", edit(".clone() * w", " * w.detach()", "out\n", "out")),
        Mistake("x0 cut", "No error, and w gets its gradient, but x0 gets none: the first state has no history.",
                edit("= x0", "= x0.item()", "out\n", "out")),
        Mistake("no history", "The states are right, and the result has no history at all: there is nothing to go "
                "back through.", edit(".clone()", "", "out\n", "out.detach()")),
    ),
    check=check,
)  # fmt: skip
