"""Exercise 05b.1: the gradient that was used again."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree, flat


def place(tensor):
    """Return where the numbers of a tensor begin in memory."""
    return tensor.data_ptr()


def check(answer, torch):
    """Keep everything that arrives at x and compare memories; then count, with nobody watching.

    PyTorch makes what arrives at an empty x.grad the new x.grad. What is added to a full one is only read.
    """
    times = 3  # as in the question; and then 2 and 1
    x, g = torch.ones(2, requires_grad=True), _column(torch)
    arrived, found, left = [], [], []  # kept alive, so that equal places mean one memory

    def note(grad):
        arrived.append(grad)
        found.append(x.grad)

    x.register_hook(note)
    x.register_post_accumulate_grad_hook(lambda leaf: left.append(leaf.grad))
    answer(torch, x, g, times)
    places = [place(grad) for grad in arrived]
    if not places:
        return almost("by hand") if x.grad is not None else not_yet("No gradient arrived at x by a backward pass.")
    moved_in = [place for place, grad in zip(places, found, strict=True) if grad is None]
    if place(g) in moved_in:
        if len(moved_in) == 1 and len(found) > 1 and place(found[1]) != place(left[0]):
            return almost("copied afterwards")
        only_first = len(places) > 1 and place(g) not in places[1:]
        return almost("handed over at first" if only_first else "still the caller's")
    if any(places.count(one) > 1 for one in moved_in) and len(moved_in) < 2:
        return almost("one clone for all")
    if len(places) != times:
        return almost("one pass for all" if len(places) != 1 or not multiplies(answer, torch) else "one pass, then "
                      "multiplied")
    for before, times in ((None, 3), ([[random.uniform(1, 2)] for _ in range(3)], 2), (None, 1)):
        size = 2 if before is None else 3
        x, g = torch.ones(size, requires_grad=True), _column(torch, size)
        x.grad = None if before is None else torch.tensor(before).view(size)
        wanted = g.tolist()
        answer(torch, x, g, times)
        base = [0.0] * size if before is None else [row[0] for row in before]
        if x.grad is None:
            return not_yet("Afterwards x.grad is None.")
        if not agree(g.tolist(), wanted):
            return almost("g used up")
        if agree(x.grad.tolist(), [a + times * row[0] for a, row in zip(base, wanted, strict=True)]):
            continue
        if agree(x.grad.tolist(), [row[0] for row in wanted]):
            return almost("only the last")
        if agree(x.grad.tolist(), [times * row[0] for row in wanted]):
            return almost("what was there" if moved_in else "zeros, whatever was there")
        if agree(x.grad.tolist(), [a + 3 * row[0] for a, row in zip(base, wanted, strict=True)]):
            return almost("always three")
        return not_yet(f"For g = {wanted}, x.grad should gain {times} times these numbers; it is {x.grad.tolist()}.")
    return correct("nobody else's numbers move now. As the function was given, PyTorch makes g's memory x.grad in the "
                   "first pass, and adds it to itself in the two others: g, 2g, 4g.")


def multiplies(answer, torch):
    """Does what was in x.grad before the call grow with it?"""
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 100.0)
    answer(torch, x, _column(torch), 3)
    return x.grad is not None and min(flat(x.grad)) > 250


def _column(torch, size=2):
    return torch.tensor([[random.uniform(1, 2)] for _ in range(size)])


PASSES = "def passes(torch, x, g, times):\n"
LOOP = "    for _ in range(times):\n"

EXERCISE = Exercise(
    id="05b.1", kind="repair", title="The gradient that was used again", minutes=8, difficulty=2, puzzles=(26,),
    question="`times` passes hand the same `g` to backward. Repair it so that x.grad gains `times` times `g`, and no "
    "gradient that arrives at x while x.grad is None shares memory with `g` or with the gradient of another pass.",
    name="passes", starter=PASSES + LOOP + "        x.view(-1, 1).backward(g)\n",
    hints=(
        "Write down what is in g's memory after each pass, if this memory is x.grad from the first pass on.",
        "Backward through a view hands on the memory that it was given. What could you give it that nobody else has, "
        "in each pass anew?",
    ),
    solution=PASSES + LOOP + "        x.view(-1, 1).backward(g.clone())\n",
    why="In PyTorch the first pass makes g's memory x.grad; the second adds g to itself (2g), the third again (4g). A "
    "clone in each pass belongs to nobody else, so it may become x.grad or be added to it. (Or let x.grad be full "
    "before the first pass: then nothing moves in.)",
    alternatives=(
        PASSES + LOOP + "        (x.view(-1, 1) * g).sum().backward()\n",
        PASSES + LOOP + "        (x * 1.0).view(-1, 1).backward(g)\n",
        PASSES + LOOP + "        x.backward((g + 0).view(-1))\n",
        PASSES + "    for copy in g.repeat(times, 1, 1):\n        x.view(-1, 1).backward(copy)\n",
        edit(" times):", " times):\n    if x.grad is None:\n        x.grad = torch.zeros_like(x)", ".clone()", ""),
        PASSES + "    x.view(-1, 1).backward(g.clone())\n    for _ in range(times - 1):\n"
        + "        x.view(-1, 1).backward(g)\n",
    ),
    mistakes=(
        Mistake("still the caller's", "What arrives at x lies in g's memory while x.grad is None, so that PyTorch "
                "may make it x.grad. detach(), .data, a view and contiguous() give one memory another name, and "
                "a clone of x copies no gradient. What you hand to backward has to be copied or computed.",
                PASSES + LOOP + "        x.view(-1, 1).backward(g.detach())\n"),
        Mistake("copied afterwards", "You copy x.grad after the first pass, which saves g, too. But until then "
                "PyTorch has g's own memory as x.grad. Nothing was to be shared when the gradient arrives.",
                PASSES + LOOP + "        x.view(-1, 1).backward(g)\n        x.grad = x.grad.clone()\n"),
        Mistake("handed over at first", "The first pass has handed over the caller's own memory before anything was "
                "copied.", PASSES + LOOP + "        x.view(-1, 1).backward(g)\n        g = g.clone()\n"),
        Mistake("one clone for all", "The caller's g is safe, but all passes are given one clone. In PyTorch it "
                "becomes x.grad in the first pass, and the later ones add it to itself.",
                PASSES + "    g = g.clone()\n" + LOOP + "        x.view(-1, 1).backward(g)\n"),
        Mistake("one pass for all", "`times` passes were asked for, each with a gradient of its own; another number "
                "of gradients arrives at x.", PASSES + "    x.view(-1, 1).backward(g * times)\n"),
        Mistake("zeros, whatever was there", "A full x.grad takes nothing over, that is right. But your zeros also "
                "replace what was in it before the call.",
                PASSES + "    x.grad = torch.zeros_like(x)\n" + LOOP + "        x.view(-1, 1).backward(g)\n"),
        Mistake("always three", "Three passes are run, whatever `times` is.",
                PASSES + "    for _ in range(3):\n        x.view(-1, 1).backward(g.clone())\n"),
        Mistake("by hand", "x.grad was written by your own code; no pass brought anything to x.",
                edit("for _ in range(times):\n        x.view(-1, 1).backward(g.clone())",
                     "more = times * g.view(-1)\n    x.grad = more if x.grad is None else x.grad + more")),
        Mistake("one pass, then multiplied", "x.grad is multiplied afterwards, and with it what was there before. "
                "`times` passes were asked for.",
                PASSES + "    x.view(-1, 1).backward(g.clone())\n    x.grad *= times\n"),
        Mistake("only the last", "Only the last pass is left in x.grad: clearing inside the loop throws the others "
                "away.", PASSES + LOOP + "        x.grad = None\n        x.view(-1, 1).backward(g.clone())\n"),
        Mistake("what was there", "x.grad holds the gain alone: what was in it before the call has been lost.",
                PASSES + "    x.grad = None\n" + LOOP + "        x.view(-1, 1).backward(g.clone())\n"),
        Mistake("guard: wrote into an argument", "x.grad is right, but the caller's g holds other numbers now: your "
                "own code writes into it.",
                edit(" times):", " times):\n    part = g.clone()", "g.clone())", "part.clone())\n    g.mul_(times)")),
    ),
    may_change=("x.grad",),
    check=check,
)  # fmt: skip
