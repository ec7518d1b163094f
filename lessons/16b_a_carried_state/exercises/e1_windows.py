"""Exercise 16b.1: windows."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.reports import (
    NO_GRAPH,
    SECOND,
    STALE,
    alike_all,
    errors_of_passes,
    fresh,
    values,
)
from lessons.shared import alike


def check(answer, torch):
    """Windows of several lengths, a state that is not zero; weights and state are compared after all windows."""
    for count, length, rows in ((3, 3, 2), (2, 1, 1), (3, 2, 1), (1, 2, 2)):
        verdict = judged(answer, torch, count, length, rows)
        if verdict:
            return verdict
    return correct("each window learns from all of its own steps, and the state crosses as numbers.")


def judged(answer, torch, count, length, rows):
    cell, out = fresh(torch, torch.nn.LSTMCell(1, 3), 2.0), fresh(torch, torch.nn.Linear(3, 1), 2.0)
    windows = [(torch.rand(length, rows, 1) * 2 - 1, torch.rand(length, rows, 1)) for _ in range(count)]
    state = torch.rand(rows, 3), torch.rand(rows, 3)
    parameters, rate = [*cell.parameters(), *out.parameters()], random.uniform(0.3, 0.6)
    optimizer, start = torch.optim.SGD(parameters, lr=rate), [p.detach().clone() for p in parameters]
    worlds = {}
    for name in ("right", "cut inside", "cut before out", "zeros", "all zeros", "c forgotten", "leftovers", "one pass"):
        put(torch, parameters, start)
        worlds[name] = by_hand(torch, cell, out, windows, state, parameters, rate, name)
    put(torch, parameters, start)
    for p in parameters:
        p.grad = None
    try:
        with errors_of_passes(torch) as raised:
            last = answer(torch, cell, out, windows, state, optimizer)
    except RuntimeError as error:
        return refused(error, count)
    if raised:
        return almost("swallowed")
    ends, (right, wanted) = [p.detach().clone() for p in parameters], worlds["right"]
    if not isinstance(last, (tuple, list)) or len(last) != 2 or not all(hasattr(each, "grad_fn") for each in last):
        return not_yet("Return the last state as the cell gives it: a pair of tensors.")
    if alike_all(values(ends), values(right), 1e-5):
        if not all(alike(a, b) for a, b in zip(last, wanted, strict=True)):
            return not_yet("The weights are right, but what comes back is not the last state.")
        return almost("the last graph") if any(each.grad_fn is not None for each in last) else None
    if alike_all(values(ends), values(start), 1e-6):
        return almost("nothing learned")
    if alike_all(values(ends[:4]), values(start[:4]), 1e-6):
        return almost("the cell rests")
    names = {"cut inside": "cut inside", "cut before out": "cut inside", "zeros": "zeros", "all zeros": "zeros",
             "leftovers": "leftovers", "c forgotten": "c forgotten", "one pass": "one pass"}  # fmt: skip
    for name, mistake in names.items():
        if alike_all(values(ends), values(worlds[name][0]), 1e-5):
            return almost(mistake)
    return not_yet(f"With {count} windows of {length} steps the weights do not end where steps by each window's own "
                   "gradient lead.")  # fmt: skip


def by_hand(torch, cell, out, windows, state, parameters, rate, name):
    """Train as `name` says; the weights and the state at the end."""
    kept, losses = [torch.zeros(tuple(p.shape)) for p in parameters], 0
    for number, (window, target) in enumerate(windows):
        if name != "one pass":
            state = [each.detach() for each in state]
        if name == "all zeros" or (name == "zeros" and number):
            state = [torch.zeros(tuple(each.shape)) for each in state]
        if name == "c forgotten" and number:
            state = [state[0], torch.zeros(tuple(state[1].shape))]
        said = []
        for x in window:
            if name == "cut inside":
                state = [each.detach() for each in state]
            state = cell(x, tuple(state))
            if name == "cut before out":
                state = [each.detach() for each in state]
            said.append(out(state[0]))
        loss = ((torch.stack(said) - target) ** 2).mean()
        losses = losses + loss
        if name == "one pass" and number < len(windows) - 1:
            continue
        wanted = parameters[4:] if name == "cut before out" else parameters
        found = torch.autograd.grad(losses if name == "one pass" else loss, wanted)
        gradients = [torch.zeros(tuple(p.shape)) for p in parameters[:-len(wanted)]] + list(found)
        kept = [a + g for a, g in zip(kept, gradients, strict=True)] if name == "leftovers" else gradients
        with torch.no_grad():
            for p, gradient in zip(parameters, kept, strict=True):
                p -= rate * gradient
    return [p.detach().clone() for p in parameters], [each.detach() for each in state]


def put(torch, parameters, numbers):
    with torch.no_grad():
        for p, number in zip(parameters, numbers, strict=True):
            p.copy_(number)


def refused(error, count):
    if STALE in str(error):
        return almost("retained")
    if SECOND in str(error):
        return almost("still attached")
    if NO_GRAPH in str(error):
        return almost("cut everything")
    raise error


STARTER = """\
def listen_to(torch, cell, out, windows, state, optimizer):
    for window, target in windows:
        said = []
        for x in window:
            state = cell(x, state)
            said.append(out(state[0]))
        loss = ((torch.stack(said) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
    return state
"""
CUT = "state = tuple(each.detach() for each in state)"
SOLVED = STARTER.replace("retain_graph=True", "").replace("step()\n", f"step()\n        {CUT}\n")

EXERCISE = Exercise(
    id="16b.1", kind="repair", title="Windows", minutes=10, difficulty=2, puzzles=(7, 8),
    question="Each window is trained on its own loss, through all of its steps and no further. The state "
    "arrives in the "
    "next window as numbers. Return the last state, with no graph behind it.",
    name="listen_to", starter=STARTER,
    hints=(
        "What leads from the loss of the second window back into the first? Count the tensors.",
        "Between two steps of a window nothing may be cut. So where, of the two loops, does the cut belong?",
    ),
    solution=SOLVED,
    why="After the pass of a window its state is only a pair of numbers for the next one, and detach says so for both. "
    "retain_graph is not needed: no pass meets the graph of another.",
    alternatives=(
        STARTER.replace("retain_graph=True", "").replace("        said = []\n", f"        {CUT}\n        said = []\n")
        .replace("return state", "return tuple(each.detach() for each in state)"),
        edit(CUT, "h, c = state\n        state = h.detach(), c.detach()"),
        edit(CUT, "for each in state:\n            each.detach_()"),
        edit(CUT, "with torch.no_grad():\n            state = state[0].detach().clone(), state[1].detach().clone()"),
    ),
    mistakes=(
        Mistake("retained", "This is the error that comes after the first one: the graph of the window before is still "
                "there, the pass walks into it, and meets weights that were stepped since.",
                edit("backward()", "backward(retain_graph=True)", f"        {CUT}\n", "        state = "
                "tuple(state)\n")),
        Mistake("still attached", "The pass of a window walks into the window before and finds it empty. Some tensor "
                "of the state is carried over with its history: an LSTM carries two.",
                edit(CUT, "state = (state[0].detach(), state[1])")),
        Mistake("cut inside", "The cut is inside of the windows: at each step a gradient reaches one step "
                "back at most. "
                "Nothing tells an earlier step what a later one needs.",
                edit("cell(x, state)", "cell(x, tuple(each.detach() for each in state))")),
        Mistake("the cell rests", "Only `out` has moved. The state is cut off before `out` reads it, or the cell has "
                "run with recording off, so no gradient reaches the cell.",
                edit("            state = cell(x, state)\n", "            with torch.no_grad():\n"
                     "                state = cell(x, state)\n")),
        Mistake("c forgotten", "`h` arrives in the next window, and `c` begins there with zeros. `c` is the memory of "
                "the network.", edit(CUT, "last = tuple(each.detach() for each in state)\n        state = last[0], "
                                 "torch.zeros_like(last[1])", "return state", "return last")),
        Mistake("swallowed", "A pass of yours raises, and nobody hears of it. The step is made with whatever has "
                "arrived by then.", edit("        loss.backward()\n", "        try:\n            loss.backward()\n"
                                 "        except RuntimeError:\n            pass\n", f"        {CUT}\n", "",
                                 "return state", "return tuple(each.detach() for each in state)")),
        Mistake("zeros", "Each window begins with a state of zeros: there is no error, and all that the network has "
                "heard before is lost.",
                edit(CUT, "last = tuple(each.detach() for each in state)\n        state = tuple(torch.zeros_like(each) "
                     "for each in state)", "return state", "return last")),
        Mistake("one pass", "All windows are added up into one pass at the end. Wanted is a pass and a step for each "
                "window, and memory for one.",
                edit("    for window", "    total = 0\n    for window",
                     "loss =", "total = total +",
                     "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
                     f"        {CUT}\n",
                     "    optimizer.zero_grad()\n    total.backward()\n    optimizer.step()\n"
                     "    state = tuple(each.detach() for each in state)\n")),
        Mistake("leftovers", "From the second window on, the step uses the sum of all gradients so far. What clears "
                "them?", edit("        optimizer.zero_grad()\n", "")),
        Mistake("nothing learned", "No weight has moved: between backward and step the gradients are cleared, or the "
                "loss was made to require a gradient without having a graph.",
                edit("        optimizer.zero_grad()\n        loss.backward()\n", "        loss.backward()\n"
                     "        optimizer.zero_grad()\n")),
        Mistake("cut everything", "The loss itself has no graph. What was detached before it was computed?",
                edit("torch.stack(said)", "torch.stack(said).detach()")),
        Mistake("the last graph", "All is right but the end: the state that comes back still has the graph of the last "
                "window behind it.",
                edit(f"        {CUT}\n", "", "        said = []\n", f"        {CUT}\n        said = []\n")),
    ),
    may_change=("cell", "out"),
    prepare=lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1),
    check=check,
)  # fmt: skip
