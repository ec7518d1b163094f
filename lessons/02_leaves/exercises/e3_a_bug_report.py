"""Exercise 02.3: A bug report."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import called, near, nodes_behind, numbers


def mean_squared(w, xs, ts):
    """The loss of exercise 02.3 in plain numbers."""
    errors = [sum(a * b for a, b in zip(w, x, strict=True)) - t for x, t in zip(xs, ts, strict=True)]
    return sum(error * error for error in errors) / len(errors)


def slopes_of(w, xs, ts, step=1e-6):
    """Its slopes for w, by central differences."""
    found = []
    for place in range(len(w)):
        ends = []
        for sign in (1, -1):
            moved = list(w)
            moved[place] += sign * step
            ends.append(mean_squared(moved, xs, ts))
        found.append((ends[0] - ends[1]) / (2 * step))
    return found


def check(answer, torch):
    for count, width, before in ((4, 2, None), (3, 3, 7.0), (5, 1, None), (1, 2, 7.0)):
        start, xs = numbers(width, -2.0, -0.5), [numbers(width) for _ in range(count)]
        ts = numbers(count, 3.0, 5.0)
        w = torch.tensor(start, requires_grad=True, dtype=torch.float64)
        if before is not None:  # a gradient of an earlier pass
            w.grad = torch.full_like(w, before).detach()
        rows = [torch.tensor(x, dtype=torch.float64) for x in xs]
        try:
            loss = answer(torch, w, rows, [torch.tensor(t, dtype=torch.float64) for t in ts])
        except RuntimeError as error:
            if "can only change requires_grad flags" not in str(error):
                raise
            return almost("the flag left in")
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return almost("one for each row") if isinstance(loss, torch.Tensor) else not_yet(
                f"Return the loss as a tensor; your function returned {type(loss).__name__}.")
        value, wanted = mean_squared(start, xs, ts), slopes_of(start, xs, ts)
        if not near([loss.item()], [value]):
            if near([loss.item()], [value * count]):
                return almost("a sum")
            return not_yet(f"Its value is {loss.item():.5g}, and the mean of the squares is {value:.5g}.")
        if not loss.requires_grad:
            if called(answer, "item"):
                return almost("the error again")
            if called(answer, "tensor") and not called(answer, "detach"):
                return almost("numbers again")
            return not_yet("The loss has no history: somewhere between w and the loss the way still ends. Print "
                "requires_grad of each step.")
        if loss.is_leaf:
            return almost("the forum's line")
        leaves = [node.variable for node in nodes_behind(loss) if hasattr(node, "variable")]
        if all(leaf is not w for leaf in leaves):
            return almost("a leaf of errors")
        loss.backward()
        gradient = [now - (before or 0.0) for now in w.grad.tolist()]
        if near(gradient, [slope / 2 for slope in wanted], 1e-3):
            return almost("half a gradient")
        rows_alone = [slopes_of(start, [x], [t]) for x, t in zip(xs, ts, strict=True)]
        if count > 1 and any(near(gradient, [slope / count for slope in alone], 1e-3) for alone in rows_alone):
            return almost("one row only")
        if not near(gradient, wanted, 1e-3):
            return not_yet("A gradient arrives at w, but it is not that of the mean of the squares.")
    return correct("the loss leads back to w, on every path.")


LOSS = """\
def loss_of(torch, w, xs, ts):
    errors = []
    for x, t in zip(xs, ts, strict=True):
        error = (w * x).sum() - t
        errors.append((error * error).item())
    loss = torch.tensor(errors).mean()
    loss.requires_grad = True
    return loss"""
FLAG = "    loss.requires_grad = True\n"
SOLVED = (
    LOSS.replace("(error * error).item()", "error * error")
    .replace("torch.tensor(errors)", "torch.stack(errors)")
    .replace(FLAG, "")
    + "\n"
)

EXERCISE = Exercise(
    id="02.3", kind="diagnose", title="A bug report", minutes=8, difficulty=2, puzzles=(11,),
    question="“My model does not learn.” Repair loss_of: the same value, and after loss.backward() the gradient is in "
    "w.grad.",
    name="loss_of", starter=LOSS,
    hints=(
        "Take the flag out first. Then the message is right about something: where does the way from loss to w end?",
        "There are two places where numbers are taken out of their graph. Which two?",
    ),
    solution=SOLVED,
    why="item() took the errors out of the graph, and torch.tensor makes new leaves from numbers. Kept as tensors and "
    "stacked, they keep their history, and no flag is needed.",
    alternatives=(
        "def loss_of(torch, w, xs, ts):\n    total = 0\n    for x, t in zip(xs, ts, strict=True):\n"
        "        total = total + ((w * x).sum() - t) ** 2\n    return total / len(xs)\n",
        "def loss_of(torch, w, xs, ts):\n    errors = (torch.stack(xs) * w).sum(1) - torch.stack(ts)\n"
        "    return (errors * errors).mean()\n",
    ),
    mistakes=(
        Mistake("the forum's line", "The loss is a leaf with a flag: backward runs, and w.grad stays None. A flag "
                "silences the message and repairs nothing.",
                LOSS.replace("torch.tensor(errors)", "torch.tensor(errors, dtype=w.dtype)") + "\n"),
        Mistake("the error again", "Without the flag the message is back, and it is right. Your function calls "
                "item(): what that gives has no history, nor has what is made of it alone.",
                LOSS.replace(FLAG, "") + "\n"),
        Mistake("numbers again", "Nothing calls item() now, and still the loss has no history. torch.tensor, given "
                "results, reads the numbers out of them and makes a new leaf.", edit("stack", "tensor")),
        Mistake("a leaf of errors", "The arrows end in a leaf that your function made. That leaf gets the gradient, "
                "and no arrow leads on to w.",
                LOSS.replace("torch.tensor(errors)", "torch.tensor(errors, requires_grad=True)").replace(FLAG, "")
                + "\n"),
        Mistake("half a gradient", "A gradient arrives, but only half of it, and the value is whole: so half of the "
                "value comes from something without a history. Look at both factors of the square.",
                edit("error)", "error.item())")),
        Mistake("the flag left in", "The loss has a history now, and a result refuses the flag. Is the line still "
                "needed?", edit("return", "loss.requires_grad = True\n    return")),
        Mistake("guard: wrote into an argument, by a step", "", edit("return", "w.data -= 0.1\n    return")),
        Mistake("guard: wrote into an argument", "Your function was asked for a loss: the caller needs these values "
                "again.", edit("(w * x", "x.mul_(w")),
        Mistake("guard: changed a .grad", "Return the loss, and leave .grad to the caller.",
                edit("return", "loss.backward()\n    return")),
        Mistake("guard: changed a .grad, and cleared it", "", edit("return", "w.grad = None\n    return")),
        Mistake("guard: changed a container", "The caller's lists are the caller's.",
                SOLVED.replace("    errors = []", "    errors = ts").replace("for x, t in zip(xs, ts, strict=True)",
                    "for place, (x, t) in enumerate(zip(xs, list(ts), strict=True))").replace(
                    "errors.append(error * error)", "errors[place] = error * error")),
        Mistake("guard: changed a container, by popping", "",
                "def loss_of(torch, w, xs, ts):\n    total, count = 0, len(xs)\n    while xs:\n"
                "        total = total + ((w * xs.pop()).sum() - ts.pop()) ** 2\n    return total / count\n"),
        Mistake("one row only", "A gradient arrives, but of one row alone: the squares of the others are in the "
                "value, and no arrow leads back from them.",
                "def loss_of(torch, w, xs, ts):\n    total = 0\n    for x, t in zip(xs, ts, strict=True):\n"
                "        total = total.item() if isinstance(total, torch.Tensor) else total\n"
                "        total = total + ((w * x).sum() - t) ** 2\n    return total / len(xs)\n"),
        Mistake("one for each row", "Return one number, their mean. What you return has another number of elements.",
                edit(".mean()", "")),
        Mistake("a sum", "The value is the sum of the squares, where it was the mean.", edit("mean", "sum")),
    ),
    check=check,
)  # fmt: skip
