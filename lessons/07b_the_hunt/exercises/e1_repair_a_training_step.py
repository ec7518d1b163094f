"""Exercise 07b.1: repair a training step."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import IN_PLACE, finite_differences, flat, near, small_network


def loss_of(torch, x, t, values, mask):
    """The loss of exercise 07b.1, out of place and without a graph; `values` are the four parameters."""
    W1, b1, W2, b2 = values
    with torch.no_grad():
        return ((torch.relu(x @ W1 + b1) * mask @ W2 + b2 - t) ** 2).mean().item()


def check(answer, torch):
    for samples, inputs, hidden in ((3, 2, 2), (4, 3, 5)):
        verdict = check_one_step(answer, torch, samples, inputs, hidden)
        if verdict:
            return verdict
    return correct("everything that backward reads is read before it is written, and every gradient is exact.")


def random_mask(torch, samples, hidden):
    """Zeros and twos, with at least one of each in every column."""
    columns = [random.sample([0.0, 2.0] + random.choices([0.0, 2.0], k=samples - 2), samples) for _ in range(hidden)]
    return torch.tensor(columns, dtype=torch.float64).T.contiguous()


def check_one_step(answer, torch, samples, inputs, hidden):
    """Judge a step of a network of this size: a verdict, or None."""
    x, t, parameters = small_network(torch, torch.float64, samples, inputs, hidden)
    names, tensors = list(parameters), list(parameters.values())
    mask = random_mask(torch, samples, hidden)
    old = [tensor.detach().clone() for tensor in tensors]
    gradients = finite_differences(torch, lambda *values: loss_of(torch, x, t, values, mask), old)
    gradients = [flat(gradient) for gradient in gradients]
    try:
        returned = answer(torch, x, t, *tensors, mask)
    except (RuntimeError, TypeError) as error:
        if IN_PLACE in str(error):
            return almost("decay too early" if f"[{hidden}, 1]" in str(error) else "mask in place")
        if isinstance(error, TypeError) and "NoneType" in str(error):
            reached = {name for name, tensor in parameters.items() if tensor.grad is not None}
            if not reached:
                return almost("no pass")
            if "W2" not in reached:
                return almost("W2 cut")
            if "W1" not in reached:
                return almost("cut")
            return almost("another W2")
        raise
    if isinstance(returned, torch.Tensor):
        return not_yet("The loss should come back as a Python number: loss.item().")
    if not isinstance(returned, float):
        return not_yet("The function should return the loss, as a Python number.")
    if not near([returned], [loss_of(torch, x, t, old, mask)]):
        W1, b1, W2, b2 = old
        if near([returned], [loss_of(torch, x, t, (W1, b1, 0.99 * W2, b2), mask)]):
            return almost("decay before forward")
        if near([returned], [loss_of(torch, x, t, old, torch.ones_like(mask))]):
            return almost("no mask")
        return not_yet("The loss that is returned is not that of the masked network at the old parameters.")
    moves = [flat(new.detach() - was) for new, was in zip(tensors, old, strict=True)]
    if not any(map(any, (moves[names.index(name)] for name in ("W1", "b1", "b2")))):
        return almost("names moved")
    unseen = [unmasked(torch, x, t, old, mask), [slope / 2 for slope in gradients[0]]]  # 2 is what the mask lets in
    for name, move, was, slopes in zip(names, moves, old, gradients, strict=True):
        grad = parameters[name].grad
        if grad is not None and near(flat(grad), [2 * slope for slope in slopes], 1e-6):
            return almost("two passes")
        found = judge_move(name, move, flat(was), slopes, unseen)
        if found:
            return found
    return None


def unmasked(torch, x, t, values, mask):
    """The gradient for W1 of a step whose mask changes the numbers and not their slopes."""
    W1, b1, W2, b2 = (value.clone().requires_grad_() for value in values)
    h = torch.relu(x @ W1 + b1)
    h = h + (h * mask - h).detach()
    return flat(torch.autograd.grad(((h @ W2 + b2 - t) ** 2).mean(), W1)[0])


def judge_move(name, move, was, slopes, unseen):
    """Judge the way that one parameter has gone: a verdict, or None.

    unseen: gradients for W1 of steps that hide the mask from backward.
    """
    step = [-0.1 * slope for slope in slopes]
    decayed = [m - 0.01 * w for w, m in zip(was, step, strict=True)]
    late = [0.99 * (w + m) - w for w, m in zip(was, step, strict=True)]
    if near(move, decayed if name == "W2" else step, 1e-6):
        return None
    if near(move, [-m for m in step], 1e-6):
        return almost("uphill")
    if name != "W2" and near(move, decayed, 1e-6):
        return almost("all decayed")
    if name == "W2" and near(move, late, 1e-6):
        return almost("decay too late")
    if name == "W2" and near(move, step, 1e-6):
        return almost("no decay")
    if name == "W1" and near(move, [0.99 * m for m in step], 1e-6):
        return almost("uncounted decay")
    if name == "W1" and any(near(move, [-0.1 * slope for slope in other], 1e-6) for other in unseen):
        return almost("uncounted mask")
    return not_yet(f"{name} did not move by what the question asks for.")


STARTER_5 = """\
def train_step(torch, x, t, W1, b1, W2, b2, mask):
    h = torch.relu(x @ W1 + b1)
    h *= mask
    loss = ((h @ W2 + b2 - t) ** 2).mean()
    with torch.no_grad():
        W2 *= 0.99
    loss.backward()
    with torch.no_grad():
        for p in (W1, b1, W2, b2):
            p -= 0.1 * p.grad
    return loss.item()"""
EARLY = "    with torch.no_grad():\n        W2 *= 0.99\n    loss.backward()\n"
ORDERED = "    loss.backward()\n    with torch.no_grad():\n        W2 *= 0.99\n"
MASKED = STARTER_5.replace("h *= mask", "h = h * mask")
SOLVED = MASKED.replace(EARLY, ORDERED)

EXERCISE = Exercise(
    id="07b.1", kind="repair", title="Repair a training step", minutes=12, difficulty=3, puzzles=(1, 2, 3, 8),
    question="Dropout and weight decay by hand. Make the step run, with exact gradients and the updates as described.",
    name="train_step", starter=STARTER_5,
    hints=(
        "There are two mistakes. Repair the one that the message names, run it again, and read the next message.",
        "What did relu save? Which line writes into it, and how would you write that line without writing into it?",
        "Which line reads everything that was saved? Updates of parameters belong after it; decay before the step.",
    ),
    solution=SOLVED + "\n",
    why="relu saved h, so the mask makes a new tensor. The second product saved W2, so decay waits until backward has "
    "read it, and comes before the step so that the step itself is not shrunk.",
    alternatives=(
        edit("\n    h = h", "", "*= 0.99\n    with torch.no_grad():", "-= 0.01 * W2", "item()\n", "item()"),
        edit("with torch.no_grad():\n        W2 *= 0.99", "W2.detach().mul_(0.99)", "item()\n", "item()"),
        SOLVED.replace("    loss.backward()\n", "    slopes = torch.autograd.grad(loss, (W1, b1, W2, b2))\n")
            .replace("for p in (W1, b1, W2, b2)", "for p, slope in zip((W1, b1, W2, b2), slopes)")
            .replace("0.1 * p.grad", "0.1 * slope"),
    ),
    mistakes=(
        Mistake("mask in place", "W2 is in order now. The mask still writes into the result that relu saved, and "
                "relu's slope is read from it.", edit("= h *", "*=", "item()\n", "item()")),
        Mistake("decay too early", "W2 is written to before backward has read it: the gradient of h is made of W2.",
                MASKED),
        Mistake("uncounted mask", "No error, but W1 gets the gradient of a network without the mask: the mask was "
                "applied where backward does not see it, through .data, no_grad or detach().",
                edit(" = h * mask", ".data.mul_(mask)", "item()\n", "item()")),
        Mistake("uncounted decay", "No error, but W1 and b1 moved by 1 % too little: W2 was shrunk behind the "
                "counter's back, and backward used the shrunk one.",
                MASKED.replace(EARLY, "    W2.data.mul_(0.99)\n    loss.backward()\n")),
        Mistake("decay too late", "Nothing raises, but the decay comes after the step, and so shrinks the step as "
                "well: 0.99 · (W2 - 0.1 · gradient).",
                MASKED.replace(EARLY, "    loss.backward()\n")
                    .replace("    return", "        W2 *= 0.99\n    return")),
        Mistake("no pass", "No parameter has a gradient when the update comes: no backward pass has run.",
                edit("loss.backward()\n    ", "", "item()\n", "item()")),
        Mistake("decay before forward", "The loss that is returned is that of the shrunk W2: it was decayed before "
                "the loss was computed. Loss and gradients are wanted at the parameters that were given.",
                MASKED.replace(EARLY, "    loss.backward()\n")
                    .replace("    h = torch.relu",
                             "    with torch.no_grad():\n        W2 *= 0.99\n    h = torch.relu")),
        Mistake("no mask", "The loss that is returned is that of a network without the mask: what h * mask gives "
                "must go on into the second product.", edit("h = h", "h", "item()\n", "item()")),
        Mistake("guard: wrote into an argument", "x, t and mask are only to be read.",
                edit("h = h *", "mask *= h\n    h =", "item()\n", "item()")),
        Mistake("names moved", "W1, b1 and b2 are where they were. The caller's parameters must be written to; a "
                "line such as p = p - … only moves the name p to a new tensor.",
                edit("-=", "= p -", "item()\n", "item()")),
        Mistake("uphill", "A parameter goes the right length in the wrong direction: descent subtracts the gradient.",
                edit(" -=", " +=", "item()\n", "item()")),
        Mistake("cut", "The first layer gets no gradient any more: h was cut from the graph, which silences the "
                "error and stops the learning.", edit("h *", "h.detach() *", "item()\n", "item()")),
        Mistake("all decayed", "Only W2 was to be decayed; your step shrinks the other parameters as well.",
                MASKED.replace(EARLY, "    loss.backward()\n")
                    .replace("            p -=", "            p *= 0.99\n            p -=")),
        Mistake("no decay", "The step is right, but W2 is not decayed: the caller's W2 itself must shrink by 0.99.",
                MASKED.replace(EARLY, "    loss.backward()\n")),
        Mistake("another W2", "All four parameters have a gradient, but the update meets a tensor that has none. W2 "
                "= W2 * 0.99, for one, makes a new tensor that is called W2 inside the function only.",
                MASKED.replace("W2 *= 0.99", "W2 = W2 * 0.99")),
        Mistake("W2 cut", "No gradient reaches the W2 that was given: the second product was computed with another "
                "tensor, or with W2 cut from the graph.", edit(" W2 +", " W2.detach() +", "item()\n", "item()")),
        Mistake("two passes", "A parameter's .grad holds its gradient twice: two passes ran, and the second one "
                "added to the first.",
                edit("backward()", "backward(retain_graph=True)\n    loss.backward()", "item()\n", "item()")),
    ),
    may_change=("W1", "b1", "W2", "b2"),
    check=check,
)  # fmt: skip
