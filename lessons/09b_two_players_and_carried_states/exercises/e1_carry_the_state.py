"""Exercise 09b.1: carry the state."""

import math
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree, nodes_behind


def check(answer, torch):
    """Compare with the truncated gradient done by hand, and count how often w is reached."""
    for length, shape in ((1, (1,)), (4, (1,)), (3, ())):
        inputs = [random.uniform(-1, 1) for _ in range(length)]
        verdict = judged_steps(answer, torch, inputs, torch.full(shape, random.uniform(0.3, 0.9)).requires_grad_())
        if verdict:
            return verdict
    return correct(
        "Each pass walks one step: the state crosses as a number, and memory stays flat. (With `.data` it would, too. "
        "`detach()` is safer: a write to what it gives is counted.)"
    )


def judged_steps(answer, torch, inputs, w):
    """The verdict about one training run of 09b.1, or None when it is right."""
    length, start, arrivals = len(inputs), w.item(), []
    w.register_hook(lambda grad: arrivals.append(grad.item()))
    try:
        last = answer(torch, w, [torch.tensor([x]) for x in inputs])
    except RuntimeError as error:
        if "second time" in str(error):
            return almost("two passes a step" if length == 1 else "still attached")
        if "does not require grad" in str(error):
            return almost("cut too early")
        raise
    if not hasattr(last, "tolist"):
        return almost("a number returned") if isinstance(last, float) else not_yet(
            f"Return the last state, a tensor; this is {last!r}.")  # fmt: skip
    state, own, through_all = by_hand(inputs, start)
    if not agree(last.tolist(), [state]):
        if agree(last.tolist(), [math.tanh(inputs[-1])]):
            return almost("forgets the state")
        return not_yet(f"The last state should be {state:.4f}, and {last.tolist()} came back.")
    got = 0.0 if w.grad is None else w.grad.item()
    if agree(got, sum(own)) and len(arrivals) == length:
        if last.grad_fn is not None and len(nodes_behind(last)) > 6:
            return not_yet("The state that comes back still carries the graphs of all steps.")
        return None
    if length > 1 and len(arrivals) == length and agree(arrivals, own) and agree(got, own[-1]):
        return almost("last step only")
    if agree(got, through_all) and len(arrivals) in (1, length):
        return almost("retains everything" if len(arrivals) == length else "one pass at the end")
    if len(arrivals) != length:
        return not_yet(f"Steps: {length}. Backward passes that reached w: {len(arrivals)}. Each step wants one.")
    return not_yet(f"The steps' own gradients add up to {sum(own):.4f}; w.grad is {got:.4f}.")


def by_hand(inputs, w):
    """The last state, each step's own gradient, and the gradient of all losses through all steps."""
    h, own, carried, through_all = 0.0, [], 0.0, 0.0
    for x in inputs:
        before, h = h, math.tanh(w * h + x)
        own.append(2 * h * (1 - h * h) * before)
        carried = (1 - h * h) * (before + w * carried)
        through_all += 2 * h * carried
    return h, own, through_all


TRAIN = "def train(torch, w, inputs):\n    h = torch.zeros(1)\n"
LOOP = "    for x in inputs:\n"
STATE = "        h = torch.tanh(w * h + x)\n"

EXERCISE = Exercise(
    id="09b.1", kind="repair", title="Carry the state", minutes=5, difficulty=2, puzzles=(7, 8),
    question="Repair the loop with one call: each step learns from its own loss, and the state arrives from the step "
    "before as a number. Return the last state.",
    name="train", starter=TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n    return h\n",
    hints=(
        "Which tensor connects one step with the step before?",
        "Cut it after the backward pass of its own step, or just before it is used in the next.",
    ),
    solution=TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n        h = h.detach()\n    return h\n",
    why="After its own backward the state is only a number, and detach says so.",
    alternatives=(
        TRAIN + LOOP + "        h = torch.tanh(w * h.detach() + x)\n        (h * h).sum().backward()\n    return h\n",
        TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n        h = torch.tensor([h.item()])\n    return h\n",
        TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n        h.detach_()\n    return h\n",
    ),
    mistakes=(
        Mistake("retains everything", "It runs, but each pass walks through all earlier steps: slower each time, and "
                "another gradient.",
                TRAIN + LOOP + STATE + "        (h * h).sum().backward(retain_graph=True)\n    return h\n"),
        Mistake("still attached", "A pass walks into a step that an earlier pass has emptied: what crosses from step "
                "to step is attached, be it the state, copied or not, or a sum of losses.",
                TRAIN + LOOP + STATE + "        (h * h).sum().backward()\n        h = h.clone()\n    return h\n"),
        Mistake("cut too early", "The loss of a step has no graph, so nothing leads from it to w. Is something cut "
                "before that step's own backward?",
                TRAIN + LOOP + STATE + "        h = h.detach()\n        (h * h).sum().backward()\n    return h\n"),
        Mistake("forgets the state", "The graphs are separate now, but so are the values: the state does not arrive "
                "in the next step.", edit("h = h.detach(", "last, h = h, torch.zeros(1", "return h", "return last")),
        Mistake("guard: wrote into an argument", "",
                edit("w * h + x", "x.add_(w * h.detach())", "\n        h = h.detach()", "")),
        Mistake("guard: wrote into an argument, by a step", "",
                edit("h +", "h.detach() +", "h = h.detach()", "w.data -= 0.1 * w.grad")),
        Mistake("last step only", "Each step's gradient arrives, but clearing in the loop leaves only that of the "
                "last one.",
                edit("h = torch.tanh", "w.grad = None\n        h = torch.tanh",
                     "h +", "h.detach() +",
                     "\n        h = h.detach()", "")),
        Mistake("one pass at the end", "One pass over all steps: each step was to have a backward of its own, "
                "reaching no further back.",
                edit("1)", "1)\n    loss = 0.0",
                     "(h", "loss = loss + (h",
                     ".backward()\n        h = h.detach", "\n    loss.backward")),
        Mistake("two passes a step", "With a single input it raises already, so the state is not to blame: the graph "
                "of one step is walked a second time. Each step wants one backward.",
                edit("h +", "h.detach() +",
                     "(h", "loss = (h",
                     ").backward", ")\n        loss.backward",
                     "h = h.detach", "loss.backward")),
        Mistake("a number returned", "A Python number came back. The last state is wanted as the tensor that it is "
                "in the loop.", edit("return h", "return h.item()")),
        Mistake("guard: left a setting", "",
                edit("inputs:", "inputs:\n        torch.set_grad_enabled(True)",
                     "h = h.detach", "torch.set_grad_enabled(False)\n        h = h.clone")),
    ),
    may_change=("w.grad",),
    check=check,
)  # fmt: skip
