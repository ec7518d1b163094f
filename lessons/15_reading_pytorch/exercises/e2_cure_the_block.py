"""Exercise 15.2: cure the block."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import array, flat, near

STALE = "modified by an inplace operation"


def reference(torch, h, w, gate):
    """The block without a write."""
    scores = (h @ h.transpose(-2, -1)) / 2
    mixed = torch.tanh((scores.softmax(-1) * gate) @ (h @ w))
    return mixed + h


def check(answer, torch):
    for time, width in ((3, 2), (1, 4), (5, 5)):
        h, w = array(torch, time, width, requires_grad=True), array(torch, width, width, requires_grad=True)
        gate = array(torch, time, time, low=0.5, requires_grad=True)
        leaves = (h, w, gate)
        wanted = reference(torch, *leaves)
        slopes = torch.autograd.grad((wanted * wanted).sum(), leaves)
        found = answer(torch, h * 1, w, gate)
        verdict = judged(torch, found, wanted, slopes, leaves)
        if verdict is not None:
            return verdict
    return correct("the value is the same, and all three gradients are right. The division may stay as it is: "
                   "no node has saved its tensor.")


def judged(torch, found, wanted, slopes, leaves):
    """The verdict on one result, or None."""
    if not isinstance(found, torch.Tensor) or tuple(found.shape) != tuple(wanted.shape):
        return not_yet("The block should return a tensor of the shape of h.")
    if not near(flat(found), flat(wanted)):
        return almost("other numbers")
    if found.grad_fn is None:
        return almost("cut")
    try:
        grads = torch.autograd.grad((found * found).sum(), leaves, allow_unused=True)
    except RuntimeError as error:
        if STALE not in str(error):
            return not_yet(f"Backward says: {str(error)[:200]}")
        return almost("softmax" if "Softmax" in str(error) else "tanh" if "Tanh" in str(error) else "another")
    if any(grad is None for grad in grads):
        return almost("cut" if grads[1] is None else "the gate")
    right = all(near(flat(grad), flat(slope)) for grad, slope in zip(grads, slopes, strict=True))
    return None if right else almost("a wrong gradient")


STARTER = """\
def block(torch, h, w, gate):
    scores = h @ h.transpose(-2, -1)
    scores /= 2
    weights = scores.softmax(-1)
    weights *= gate
    mixed = torch.tanh(weights @ (h @ w))
    mixed += h
    return mixed
"""
HEAD = STARTER[: STARTER.index("    weights *=")]
SOLVED = STARTER.replace("weights *= gate", "weights = weights * gate").replace("mixed += h", "mixed = mixed + h")

EXERCISE = Exercise(
    id="15.2", kind="repair", title="Cure the block", minutes=6, difficulty=2, puzzles=(1, 2),
    question="forward runs, backward raises. Cure the block: the same result, right gradients for h, w and gate (all "
    "three want one). Decide for each of the three writes whether it has to go.",
    name="block", starter=STARTER,
    hints=(
        "There are three writes in place. For each of them: has a node saved what is overwritten?",
        "Which operations save their own result? The message names the first of them; there is a second one.",
    ),
    solution=SOLVED,
    why="softmax and tanh save their results, so these may not be overwritten. No node has saved the result of the "
    "product, and dividing it in place does no harm.",
    alternatives=(
        SOLVED.replace("scores /= 2", "scores = scores / 2"),
        STARTER.replace("scores.softmax(-1)", "scores.softmax(-1).clone()").replace(
            "torch.tanh(weights @ (h @ w))", "torch.tanh(weights @ (h @ w)).clone()"),
        HEAD + "    return h + torch.tanh((weights * gate) @ (h @ w))\n",
    ),
    mistakes=(
        Mistake("tanh", "Backward still raises, and the message names Tanh: it has saved its own result, and something "
                "writes into that.", edit("mixed = mixed + h", "mixed += h")),
        Mistake("softmax", "Tanh is cured, and now backward comes to the next one: the message names Softmax.",
                edit("weights = weights * gate", "weights *= gate")),
        Mistake("other numbers", "The result is not the one of the block as it was given.",
                edit("    weights = weights * gate\n", "")),
        Mistake("a wrong gradient", "No error, but a gradient is wrong. A write that the version counter does not see "
                "is not cured but hidden.",
                STARTER.replace("mixed += h", "mixed = mixed + h").replace(
                    "weights *= gate", "weights.data.mul_(gate.data); weights = weights * (gate / gate.detach())")),
        Mistake("the gate", "The gate gets no gradient any more. All three tensors want one.",
                edit("weights * gate", "weights * gate.detach()")),
        Mistake("cut", "No gradient comes to w any more: something cuts the history off.",
                edit("h @ w)", "h @ w.detach())")),
        Mistake("guard: wrote into an argument", "",
                edit("mixed = mixed + h\n    return mixed", "h += mixed\n    return h")),
        Mistake("another", "Backward raises because of a write into a tensor that neither softmax nor tanh has made. "
                "You have put a new one in.", edit("h @ w))\n", "h @ w))\n    weights.mul_(1)\n")),
    ),
    check=check,
)  # fmt: skip
