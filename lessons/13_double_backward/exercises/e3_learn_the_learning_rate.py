"""Exercise 13.3: learn the learning rate."""

import functools

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons import shared
from lessons.shared import array, finite_differences, flat, leaf

from .shared import IN_PLACE, NO_HISTORY, near


def inner_and_outer(torch, a, b):
    """A curved inner loss whose graph keeps w itself, and an outer one."""
    return lambda w: ((w**3) * a).sum() + (w * w).sum() * (w * b).sum(), lambda w: ((w - b) ** 2).sum() + w.prod()


def trained(torch, inner, outer, steps, w, lr):
    """The outer loss after the steps, as a number."""
    for _ in range(steps):
        w = w.detach().requires_grad_()
        w = w - lr * torch.autograd.grad(inner(w), w)[0]
    return outer(w.detach()).item()


CASES_5 = (((3,), 3), ((2, 1, 2), 1), ((), 2), ((1,), 2), ((3,), 0))


def check(answer, torch):
    for shape, steps in CASES_5:
        w, lr = array(torch, *shape, low=0.2, high=0.9, requires_grad=True), leaf(torch, 0.07, torch.float64)
        inner, outer = inner_and_outer(torch, array(torch, *shape), array(torch, *shape))
        try:
            loss = answer(torch, w, lr, inner, outer, steps)
        except RuntimeError as error:
            if "leaf Variable" in str(error):
                return almost("a leaf")
            if NO_HISTORY in str(error):
                return almost("unrecorded")
            raise
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return not_yet("Return the outer loss, as a tensor of one element.")
        value = functools.partial(trained, torch, inner, outer)
        right = value(steps, w.detach(), lr.detach())
        if not shared.near(flat(loss), [right], 1e-9):
            return name_training(torch, value, inner, steps, w.detach(), lr.detach(), loss.item(), right)
        wanted = finite_differences(torch, functools.partial(value, steps), [w.detach(), lr.detach()])
        verdict = gradients_of_training(torch, loss, (w, lr), wanted, inner, outer, steps)
        if verdict is not None:
            return verdict
    return correct("the outer gradient goes through every step, to where it began and to how long the steps were.")


def name_training(torch, value, inner, steps, w, lr, found, right):
    """The verdict on a number that is not the outer loss after these steps."""
    others = {"uphill": value(steps, w, -lr), "one step too many": value(steps + 1, w, lr)}
    if steps > 1:
        others |= {"one step only": value(1, w, lr), "one step too few": value(steps - 1, w, lr)}
    for name, number in others.items():
        if shared.near([found], [number], 1e-9):
            return almost(name)
    return not_yet(f"After {steps} steps the outer loss is {right:.5g}; your function returns {found:.5g}.")


def gradients_of_training(torch, loss, leaves, wanted, inner, outer, steps):
    """The verdict on the gradients of the outer loss, or None when they are right."""
    if not loss.requires_grad:
        return almost("cut")
    try:
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        return almost("written over")
    if found == (None, None):
        return almost("cut")
    if found[0] is None:
        return almost("last step only")
    if found[1] is None:
        return None if steps == 0 and near(found[0], wanted[0], 1e-5) else almost("lr as a number")
    if all(map(near, found, wanted, (1e-5, 1e-5))):
        return None
    for name in ("first order", "w cut off", "recorded at the end", "recorded at first"):
        if all(map(near, found, half_trained(torch, name, leaves, inner, outer, steps), (1e-7, 1e-7))):
            return almost(name)
    which, at = ("w", 0) if not near(found[0], wanted[0], 1e-5) else ("lr", 1)
    shown = [", ".join(f"{number:.4g}" for number in flat(each[at])) for each in (found, wanted)]
    return not_yet(f"After {steps} steps the outer loss is right. Its gradient for {which} is [{shown[0]}]; finite "
                   f"differences give [{shown[1]}].")  # fmt: skip


def half_trained(torch, name, leaves, inner, outer, steps):
    """The gradients when part of the history is missing from every step."""
    w, lr = leaves
    plain = {"first order": range(steps), "recorded at the end": range(steps - 1), "recorded at first": range(1, steps)}
    for step in range(steps):
        (g,) = torch.autograd.grad(inner(w), w, create_graph=True)
        w = (w.detach() if name == "w cut off" else w) - lr * (g.detach() if step in plain.get(name, ()) else g)
    return torch.autograd.grad(outer(w), leaves)


STARTER_5 = """\
def after_training(torch, w, lr, inner, outer, steps):
    for _ in range(steps):
        (g,) = torch.autograd.grad(inner(w), w)
        with torch.no_grad():
            w -= lr * g
    return outer(w)"""
UPDATE_5 = "        with torch.no_grad():\n            w -= lr * g\n"
SOLVED_5 = STARTER_5.replace("(inner(w), w)", "(inner(w), w, create_graph=True)").replace(
    UPDATE_5, "        w = w - lr * g\n"
)

EXERCISE = Exercise(
    id="13.3", kind="repair", title="Learn the learning rate", minutes=8, difficulty=3,
    question="Steps on inner, then outer: right gradients for the caller's w and lr, and the caller's w untouched.",
    name="after_training", starter=STARTER_5,
    hints=(
        "There are two places to mend: how the gradient is asked for, and how the step is made.",
        "lr is in the step alone. Is the step in a graph?",
        "If the numbers are close, but wrong: does g know how it depends on w?",
    ),
    solution=SOLVED_5 + "\n",
    why="Each step makes a new tensor, whose history leads to the old one, to lr, and through the recorded gradient "
    "to the old one again. The caller's w is only read.",
    alternatives=(
        SOLVED_5.replace("w = w - lr * g", "w = torch.sub(w, g * lr)"),
        SOLVED_5.replace("    for _", "    w = w.clone()\n    for _"),
        "def after_training(torch, w, lr, inner, outer, steps):\n"
        "    if steps == 0:\n        return outer(w)\n"
        "    (g,) = torch.autograd.grad(inner(w), w, create_graph=True)\n"
        "    return after_training(torch, w - lr * g, lr, inner, outer, steps - 1)\n",
    ),
    mistakes=(
        Mistake("first order", "The steps are in the graph, but g is a constant in them. How g depends on w is "
                "missing, and that was the point.", SOLVED_5.replace(", create_graph=True", "")),
        Mistake("guard: wrote into an argument", "Take the steps on tensors of your own.",
                STARTER_5.replace("(inner(w), w)", "(inner(w), w, create_graph=True)")),
        Mistake("written over", "The steps are recorded, but made in place: they write over the w that the graph of "
                "g has saved, and the outer pass finds another version.",
                SOLVED_5.replace("w = w - lr * g", "w -= lr * g").replace("    for _", "    w = w.clone()\n    for _")),
        Mistake("a leaf", "w is a leaf that requires grad: with recording on, it may not be written to in place.",
                SOLVED_5.replace("w = w - lr * g", "w -= lr * g")),
        Mistake("cut", "Nothing leads from the result to the caller's w or lr: there is a detach() in between, or a "
                "new leaf, or something was not recorded.",
                SOLVED_5.replace("w = w - lr * g", "w = (w - lr * g).detach().requires_grad_()")),
        Mistake("unrecorded", "The new w has no history (no_grad, detach), and the next step asks for its gradient.",
                SOLVED_5.replace("        w = w - lr * g\n",
                                 "        with torch.no_grad():\n            w = w - lr * g\n")),
        Mistake("lr as a number", "w has a gradient. But lr went in without its history (item, float, detach, "
                "no_grad, data), so nothing leads to it.", SOLVED_5.replace("lr * g", "lr.item() * g")),
        Mistake("guard: wrote into an argument, and put it back", "",
                "def after_training(torch, w, lr, inner, outer, steps):\n"
                "    old = w.detach().clone()\n"
                "    for _ in range(steps):\n"
                "        (g,) = torch.autograd.grad(inner(w), w, create_graph=True)\n"
                "        with torch.no_grad():\n            w -= lr * g\n"
                "    loss = outer(w)\n"
                "    with torch.no_grad():\n        w.copy_(old)\n    return loss\n"),
        Mistake("guard: changed a .grad", "autograd.grad returns gradients, and stores nothing.",
                SOLVED_5.replace("(g,) = torch.autograd.grad(inner(w), w, create_graph=True)",
                                 "w.retain_grad()\n        inner(w).backward(create_graph=True)\n        g = w.grad")),
        Mistake("w cut off", "g knows how it depends on w. But the w from which lr * g is taken away has lost its "
                "history in every step.", SOLVED_5.replace("w = w - lr * g", "w = w.detach() - lr * g")),
        Mistake("recorded at the end", "In the last step g has a history. In the steps before it, g is a constant: "
                "each step needs create_graph=True.",
                SOLVED_5.replace("for _ in", "for step in").replace("=True", "=step == steps - 1, retain_graph=True")),
        Mistake("recorded at first", "In the first step g has a history. In the steps after it, g is a constant: each "
                "step needs create_graph=True.",
                SOLVED_5.replace("for _ in", "for step in").replace("=True", "=step == 0, retain_graph=True")),
        Mistake("uphill", "The steps go along the gradient. Descent goes against it.",
                SOLVED_5.replace("w - lr", "w + lr")),
        Mistake("one step only", "Several steps were asked for, and the outer loss is that after one.",
                SOLVED_5.replace("    for _ in range(steps):\n", "    if steps:\n")),
        Mistake("one step too many", "The outer loss is that after one step more than asked for.",
                SOLVED_5.replace("range(steps)", "range(steps + 1)")),
        Mistake("one step too few", "The outer loss is that after one step less than asked for.",
                SOLVED_5.replace("range(steps)", "range(1, steps)")),
        Mistake("last step only", "lr has a gradient, w has none: something between the caller's w and the result is "
                "cut, and only the steps after it are in the graph.",
                SOLVED_5.replace("    for _", "    w = w.detach().requires_grad_()\n    for _")),
    ),
    check=check,
)  # fmt: skip
