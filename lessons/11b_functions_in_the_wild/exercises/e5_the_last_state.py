"""Exercise 11b.5: the last state of each sentence."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import alike, array, near

CASES = (((3, 5, 4), (2, 3, 4)), ((4, 4, 2), (4, 2, 3, 4)), ((1, 6, 3), (2,)), ((2, 3, 1), (3, 1)), ((5, 7, 5), None))


def check(answer, torch):
    """Compare values and shapes, and ask where a gradient goes."""
    for (batch, time, hidden), lengths in CASES:
        states = array(torch, batch, time, hidden, requires_grad=True)
        lengths = list(lengths or (random.randint(1, time) for _ in range(batch)))
        verdict = judged(torch, answer(torch, states, torch.tensor(lengths)), states, lengths)
        if verdict:
            return verdict
    return correct("one state for each sentence, and the gradient goes back to these states alone.")


def judged(torch, found, states, lengths):
    """The verdict about one batch, or None when it is right."""
    batch, time, hidden = states.shape
    wanted = torch.stack([states.detach()[i, n - 1] for i, n in enumerate(lengths)])
    if not isinstance(found, torch.Tensor):
        return not_yet(f"A tensor of shape ({batch}, {hidden}) is wanted.")
    if tuple(found.shape) != (batch, hidden):
        return wrong_shape(tuple(found.shape), batch, hidden)
    if not alike(found, wanted):
        return wrong_values(torch, found.detach(), states.detach(), lengths)
    if not found.requires_grad:
        return almost("cut off")
    upstream = array(torch, batch, hidden)
    (grad,) = torch.autograd.grad(found, states, upstream)
    expected = torch.zeros(batch, time, hidden, dtype=torch.float64)
    for i, n in enumerate(lengths):
        expected[i, n - 1] = upstream[i]
    return None if alike(grad, expected) else not_yet("The values are right. The gradient does not go back to them.")


def wrong_shape(shape, batch, hidden):
    named = {(batch, 1): "one feature", (batch, 1, 1): "one feature", (batch,): "one feature",
             (batch, 1, hidden): "a dimension too many", (batch, batch, hidden): "every pair",
             (hidden,): "squeezed too much"}  # fmt: skip
    if shape in named and not (shape == (batch,) and hidden == 1):
        return almost(named[shape])
    if shape in ((batch,), (hidden,), ()):
        return almost("squeezed too much")
    return not_yet(f"The result has the shape {shape}; ({batch}, {hidden}) is wanted.")


def wrong_values(torch, found, states, lengths):
    """The verdict about a result of the right shape."""
    batch, time, hidden = states.shape
    others = {
        "the last place": states[:, -1],
        "the first place": states[:, 0],
        "one too far": torch.stack([states[i, min(n, time - 1)] for i, n in enumerate(lengths)]),
        "one too early": torch.stack([states[i, n - 2] for i, n in enumerate(lengths)]),
        "a sum": torch.stack([states[i, :n].sum(0) for i, n in enumerate(lengths)]),
        "a mean": torch.stack([states[i, :n].mean(0) for i, n in enumerate(lengths)]),
    }
    name = next((name for name, other in others.items() if alike(found, other)), "")
    if not name and all(near(row, row[:1] * hidden) for row in found.tolist()) and hidden > 1:
        return almost("one feature")
    return almost(name) if name else not_yet("These are not the states after the last real words.")


STARTER = "def last_states(torch, states, lengths):\n    return states[:, -1]\n"
SOLUTION = """\
def last_states(torch, states, lengths):
    index = (lengths - 1)[:, None, None].expand(-1, 1, states.shape[2])
    return states.gather(1, index)[:, 0]
"""
EXPANDED = ".expand(-1, 1, states.shape[2])"

EXERCISE = Exercise(
    id="11b.5", kind="repair", title="The last state", minutes=8, difficulty=2,
    question="`states` is (batch, time, hidden), `lengths` says how many words of each sentence are real. Return the "
    "state after the last real word of each, (batch, hidden). `gather` does it without a loop.",
    name="last_states", starter=STARTER,
    hints=(
        "gather gives one number for each place of the index. How many numbers do you want from each sentence?",
        "So the index is (batch, 1, hidden), and in each row the same place stands hidden times: expand does that "
        "without a copy.",
        "The last of n words stands at place n - 1.",
    ),
    solution=SOLUTION,
    why="The index needs three dimensions, as states has, and a place for each number of the result: (batch, 1, "
    "hidden). gather gives that shape, and [:, 0] takes away the 1.",
    alternatives=(
        "def last_states(torch, states, lengths):\n    return states[torch.arange(len(lengths)), lengths - 1]\n",
        "def last_states(torch, states, lengths):\n"
        "    return torch.stack([states[i, n - 1] for i, n in enumerate(lengths.tolist())])\n",
        edit("[:, 0]", ".squeeze(1)"),
    ),
    mistakes=(
        Mistake("the last place", "These are the states after the filling. Where a sentence is shorter than the "
                "longest one, its last real word stands further in front.",
                "def last_states(torch, states, lengths):\n    return states[:, states.shape[1] - 1]\n"),
        Mistake("one feature", "The index has one place for each sentence, and gather gives one number for each place: "
                "the first feature of the state, and not the whole state. Nothing raises.",
                edit(EXPANDED, "")),
        Mistake("one too far", "You read the place after the last real word. A sentence of n words has them at 0 to "
                "n - 1.", edit("(lengths - 1)", "lengths.clamp(max=states.shape[1] - 1)")),
        Mistake("one too early", "You read the place before the last real word.", edit("lengths - 1", "lengths - 2")),
        Mistake("the first place", "You read the state after the first word of each.",
                edit("lengths - 1", "lengths * 0")),
        Mistake("a dimension too many", "The result has a dimension of size 1 in the middle: there is one place in "
                "time left. Take it away.", edit("[:, 0]", "")),
        Mistake("squeezed too much", "A squeeze without a dimension takes away every 1. With a single sentence, or a "
                "single feature, the result has another shape than with several.", edit("[:, 0]", ".squeeze()")),
        Mistake("every pair", "From each sentence you take the places of all sentences. With two indices, one for the "
                "sentences and one for the places, they go in pairs.",
                "def last_states(torch, states, lengths):\n    return states[:, lengths - 1]\n"),
        Mistake("a sum", "You add up the states of all real words.",
                "def last_states(torch, states, lengths):\n"
                "    real = torch.arange(states.shape[1]) < lengths[:, None]\n"
                "    return (states * real[:, :, None]).sum(1)\n"),
        Mistake("a mean", "You take the mean over all real words. That is done, too, but asked is the last one.",
                "def last_states(torch, states, lengths):\n"
                "    real = torch.arange(states.shape[1]) < lengths[:, None]\n"
                "    return (states * real[:, :, None]).sum(1) / lengths[:, None]\n"),
        Mistake("cut off", "The values are right, but they have no history: nothing in front of them would learn.",
                edit("states.gather", "states.detach().gather")),
        Mistake("guard: wrote into an argument", "Somebody else may still need the lengths.",
                edit("    index = (lengths - 1)", "    lengths -= 1\n    index = lengths")),
    ),
    check=check,
)  # fmt: skip
