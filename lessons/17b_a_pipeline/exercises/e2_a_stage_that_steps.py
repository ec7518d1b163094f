"""Exercise 17b.2: a stage that steps."""

import gc
import weakref

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import array, flat, near

SCHEDULES = (
    ("F0", "F1", "B0", "F2", "B1", "B2"),
    ("F0", "B0", "F1", "B1"),
    ("F0", "F1", "F2", "B0", "F3", "B1", "B2", "B3"),
    ("F0", "F1", "B0", "B1"),
)
RATE = 0.3


def by_hand(torch, a, b, inputs, arriving, turns, how="right"):
    """The gradients of all micro-batches, and both weights at the end; with the slips that have a name."""
    a, b, used, gradients = a.detach().clone(), b.detach().clone(), {}, {}
    start = a, b
    for turn in turns:
        k = int(turn[1:])
        if turn[0] == "F":
            used[k] = {"the oldest": start}.get(how, (a, b))
            continue
        in_a, in_b = used[k]
        t = torch.tanh(inputs[k] * in_a)
        slope_b = b if how in ("mixed", "at the newest") else in_b
        if how == "at the newest":
            t = torch.tanh(inputs[k] * a)
        gradients[k] = arriving[k] * slope_b * (1 - t * t) * inputs[k], arriving[k] * t
        rate = -RATE if how == "uphill" else RATE
        a, b = a - rate * gradients[k][0], b - rate * gradients[k][1]
    return gradients, (a, b)


def check(answer, torch):
    """Several schedules: the gradients, the weights at the end, and what is still kept when all have come back."""
    for turns in SCHEDULES:
        count = sum(turn[0] == "F" for turn in turns)
        a, b = (array(torch, 3, low=0.5, high=1.5, requires_grad=True) for _ in range(2))
        inputs, arriving = ([array(torch, 3, low=0.5, high=1.5) for _ in range(count)] for _ in range(2))
        start = a.detach().clone(), b.detach().clone()
        try:
            found = answer(torch, a, b, list(inputs), list(arriving), list(turns), RATE)
        except RuntimeError as error:
            if "modified by an inplace operation" in str(error):
                return almost("still raises")
            if "a leaf Variable" in str(error):
                return almost("recorded step")
            raise
        if not isinstance(found, dict) or sorted(found) != list(range(count)):
            return not_yet("Return {k: (gradient of a, gradient of b)} for every micro-batch k.")
        if not all(isinstance(each, (tuple, list)) and len(each) == 2 and None not in each for each in found.values()):
            return not_yet("Two gradients are wanted for each micro-batch: that of a and that of b.")
        verdict = compared(torch, a, b, start, inputs, arriving, turns, found)
        if verdict:
            return verdict
    return kept(answer, torch) or correct("each micro-batch has met the weights that it used, and no copy outlives it.")


def compared(torch, a, b, start, inputs, arriving, turns, found):
    """The verdict about one schedule, or None."""

    def world(how):
        gradients, ends = by_hand(torch, *start, inputs, arriving, turns, how)
        return [number for k in sorted(gradients) for each in gradients[k] for number in flat(each)], ends

    said = [number for k in sorted(found) for each in found[k] for number in flat(each)]
    wanted, ends = world("right")
    if near(said, wanted):
        if near(flat(a) + flat(b), flat(ends[0]) + flat(ends[1])):
            return None
        rest = near(flat(a) + flat(b), flat(start[0]) + flat(start[1]))
        return almost("the copies step") if rest else not_yet("The gradients are right; a and b do not end where the "
                                                              "steps by them lead.")  # fmt: skip
    if near(flat(a) + flat(b), flat(start[0]) + flat(start[1])):
        return almost("the copies step")
    for how in ("mixed", "at the newest", "the oldest", "uphill"):
        if near(said, world(how)[0]):
            return almost(how)
    return not_yet(f"With the turns {' '.join(turns)} the gradients are not those of the weights that were used.")


def kept(answer, torch):
    """Is any copy of a weight alive when its micro-batch has come back? Seen by what multiplies the inputs."""
    seen = []

    class Input:
        """Stands for an input: it notes which tensor it is multiplied by, and who of them is alive."""

        def __init__(self, tensor, k):
            self.tensor, self.k = tensor, k

        def __mul__(self, other):
            if self.k == 2:
                gc.collect()
            seen.append((self.k, weakref.ref(other), [k for k, ref, _ in seen if ref() is not None and k < self.k - 1]))
            return self.tensor * other

        __rmul__ = __mul__

    a, b = (array(torch, 3, requires_grad=True) for _ in range(2))
    values = [array(torch, 3) for _ in range(3)]
    turns = ["F0", "B0", "F1", "B1", "F2", "B2"]
    try:
        answer(torch, a, b, [Input(x, k) for k, x in enumerate(values)], list(values), turns, RATE)
    except (TypeError, AttributeError):
        return None  # it does something else with its input than multiply
    return almost("kept for ever") if seen and seen[-1][2] and seen[-1][1]() is not a else None


STARTER = """\
def stage(torch, a, b, inputs, arriving, turns, rate):
    under_way, gradients = {}, {}
    for turn in turns:
        k = int(turn[1:])
        if turn[0] == "F":
            under_way[k] = torch.tanh(inputs[k] * a) * b
        else:
            gradients[k] = torch.autograd.grad(under_way[k], (a, b), arriving[k])
            with torch.no_grad():
                for w, gradient in zip((a, b), gradients[k], strict=True):
                    w.sub_(rate * gradient)
    return gradients
"""
SOLVED = """\
def stage(torch, a, b, inputs, arriving, turns, rate):
    under_way, gradients = {}, {}
    for turn in turns:
        k = int(turn[1:])
        if turn[0] == "F":
            used = [w.detach().clone().requires_grad_() for w in (a, b)]
            under_way[k] = torch.tanh(inputs[k] * used[0]) * used[1], used
        else:
            result, used = under_way.pop(k)
            gradients[k] = torch.autograd.grad(result, used, arriving[k])
            with torch.no_grad():
                for w, gradient in zip((a, b), gradients[k], strict=True):
                    w.sub_(rate * gradient)
    return gradients
"""

EXERCISE = Exercise(
    id="17b.2", kind="repair", title="A stage that steps", minutes=8, difficulty=2, puzzles=(23,),
    question="`stage` computes tanh(x * a) * b in the given turns and steps after each backward. Repair it: each "
    "micro-batch has the gradients of the weights that its forward has used, each forward uses the newest weights, and "
    "a copy is kept only until its micro-batch comes back. Return {k: (gradient of a, gradient of b)}; a and b stay "
    "the tensors that they are.",
    name="stage", starter=STARTER,
    hints=(
        "Which tensors do the two products save, and which of them does a step write into?",
        "What has to be remembered between F1 and B1? It needs memory of its own, and it must be what the gradient is "
        "asked for.",
        "The step is made on a and b, by the gradients of the copies. And a dictionary can give away what it held.",
    ),
    solution=SOLVED,
    why="The copy made in forward belongs to one micro-batch. The step writes into a and b, which no graph holds, and "
    "pop lets the copy go when its micro-batch has come back.",
    alternatives=(
        edit("w.detach().clone().requires_grad_()", "(w + 0).detach().requires_grad_()"),
        edit("            gradients[k] = torch.autograd.grad(result, used, arriving[k])\n",
             "            result.backward(arriving[k])\n            gradients[k] = tuple(w.grad for w in used)\n",
             "w.sub_(rate * gradient)", "w -= rate * gradient"),
        edit("w.detach().clone().requires_grad_()", "w.clone()"),
    ),
    mistakes=(
        Mistake("still raises", "A step still writes into a tensor that an older micro-batch has saved. Has the copy "
                "memory of its own, as detach() has not?", edit(".clone()", "")),
        Mistake("mixed", "No error, and the gradient of a was computed with the new b and the old tanh: that of no "
                "network that ever existed.", STARTER.replace("w.sub_(", "w.data.sub_(")),
        Mistake("at the newest", "The forward is computed again when the micro-batch comes back, with the weights of "
                "that moment. It has used older ones.",
                edit("            used = [w.detach().clone().requires_grad_() for w in (a, b)]\n"
                     "            under_way[k] = torch.tanh(inputs[k] * used[0]) * used[1], used\n",
                     "            under_way[k] = inputs[k]\n",
                     "            result, used = under_way.pop(k)\n",
                     "            used = [w.detach().clone().requires_grad_() for w in (a, b)]\n"
                     "            result = torch.tanh(under_way.pop(k) * used[0]) * used[1]\n")),
        Mistake("the oldest", "All micro-batches use the weights of the beginning. A forward should use the newest.",
                edit("            used = [w.detach().clone().requires_grad_() for w in (a, b)]\n", "",
                     "    for turn in turns:\n", "    used = [w.detach().clone().requires_grad_() for w in (a, b)]\n"
                     "    for turn in turns:\n")),
        Mistake("uphill", "The weights step *along* the gradient. A step goes against it.",
                edit("w.sub_(", "w.add_(")),
        Mistake("the copies step", "a and b are where they were: the step went into the copies, which are thrown away.",
                edit("zip((a, b), gradients[k]", "zip(used, gradients[k]")),
        Mistake("recorded step", "The step is recorded: a and b are leaves, so it needs no_grad.",
                edit("            with torch.no_grad():\n                for w, gradient in zip((a, b), gradients[k], "
                     "strict=True):\n                    w", "            for w, gradient in zip((a, b), gradients[k], "
                     "strict=True):\n                w")),
        Mistake("kept for ever", "All gradients are right. But the copies of micro-batches that came back long ago are "
                "still there: after a thousand micro-batches, a thousand copies.",
                edit("under_way.pop(k)", "under_way[k]")),
    ),
    may_change=("a", "b"),
    check=check,
)  # fmt: skip
