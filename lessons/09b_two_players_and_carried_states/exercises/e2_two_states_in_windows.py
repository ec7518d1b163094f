"""Exercise 09b.2: two states, in windows."""

import copy

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import array, flat, near, nodes_behind

CASES = ((6, 2, 2, 1), (7, 3, 1, 2), (4, 1, 3, 2), (2, 5, 2, 3))  # (time, window, batch, features)
SECOND = "Trying to backward through the graph a second time"


def run(torch, cell, inputs, window, **other):
    """(gradients, last states) of a training in windows, done as asked, or with what `other` names done otherwise."""
    cell = copy.deepcopy(cell)
    zeros = torch.zeros(inputs.shape[1], cell.hidden_size, dtype=inputs.dtype)
    h, c, loss, waiting = zeros, zeros, 0.0, 0
    for number, x in enumerate(inputs):
        if other.get("states") == "reset" and number % window == 0:
            h = c = zeros
        h, c = cell(x, (h, c))
        step = (h * h).sum()
        loss, waiting = loss * (other.get("losses") != "last") + step, waiting + 1
        if (number + other.get("begin", 1)) % other.get("every", window) == 0:
            if other.get("losses") == "mean":
                loss = loss / waiting
            if other.get("clear"):
                cell.zero_grad()
            loss.backward(retain_graph=other.get("states") == "attached")
            if other.get("states") != "attached":
                h, c = h.detach(), c.detach()
            loss, waiting = loss if other.get("states") == "attached" else 0.0, 0
    if waiting and other.get("rest") != "lost":
        if other.get("losses") == "mean":
            loss = loss / waiting
        if other.get("clear"):
            cell.zero_grad()
        loss.backward()
    return [None if p.grad is None else flat(p.grad) for p in cell.parameters()], (h, c)


OTHERS = (  # what a training can do otherwise
    ("the rest is lost", {"rest": "lost"}),
    ("cut at every step", {"every": 1}),
    ("not truncated", {"every": 10**6}),
    ("states start again", {"states": "reset"}),
    ("counted again", {"states": "attached"}),
    ("the last loss only", {"losses": "last"}),
    ("a mean", {"losses": "mean"}),
    ("cleared in between", {"clear": True}),
    ("a step early", {"begin": 0}),
    ("a step early", {"begin": 0, "rest": "lost"}),
)


def check(answer, torch):
    """Compare gradients and states with those of `run`, for windows that fit and windows that do not."""
    for time, window, batch, features in CASES:
        cell = torch.nn.LSTMCell(features, 3)
        inputs = array(torch, time, batch, features).float()
        verdict = judged(torch, answer, cell, inputs, window)
        if verdict:
            return verdict
    return correct(
        "each pass runs through one window, and two values cross its border. (With `.data` they would, too. "
        "`detach()` is safer: a write to what it gives is counted.)"
    )


def judged(torch, answer, cell, inputs, window):
    """The verdict about one training, or None when it is right."""
    wanted, states = run(torch, cell, inputs, window)
    others = [(name, run(torch, cell, inputs, window, **other)[0]) for name, other in OTHERS]
    try:
        returned = answer(torch, cell, inputs, window)
    except RuntimeError as error:
        if SECOND in str(error):
            return almost("still attached")
        if "does not require grad" in str(error):
            return almost("cut too early")
        raise
    found = [None if p.grad is None else flat(p.grad) for p in cell.parameters()]
    if not agrees(found, wanted):
        name = next((name for name, grads in others if agrees(found, grads)), "")
        return almost(name) if name else not_yet(
            f"{len(inputs)} steps in windows of {window}: the gradients are not sums over the windows.")  # fmt: skip
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        return not_yet("Return the pair (h, c), as they are after the last step.")
    h, c = returned
    if not near(flat(h), flat(states[0])) or not near(flat(c), flat(states[1])):
        turned = near(flat(h), flat(states[1])) and near(flat(c), flat(states[0]))
        return almost("the other way round") if turned else not_yet(
            "The states that come back are not those after the last step.")  # fmt: skip
    if any(each.requires_grad and nodes_behind(each) for each in (h, c)):
        return almost("returned attached")
    return None


def agrees(found, wanted):
    """Two lists of gradients are the same."""
    pairs = zip(found, wanted, strict=True)
    return all(a is b if a is None or b is None else near(a, b, 1e-5) for a, b in pairs)


BEGIN = """\
def train_in_windows(torch, cell, inputs, window):
    h = c = torch.zeros(inputs.shape[1], cell.hidden_size)
    loss = 0.0
    for number, x in enumerate(inputs):
        h, c = cell(x, (h, c))
        loss = loss + (h * h).sum()
"""
STARTER = BEGIN + """\
        if number % window == 0:
            loss.backward()
            h, loss = h.detach(), 0.0
    return h, c
"""
SOLUTION = BEGIN + """\
        if (number + 1) % window == 0 or number + 1 == len(inputs):
            loss.backward()
            h, c, loss = h.detach(), c.detach(), 0.0
    return h, c
"""
ZEROS, CUT = "torch.zeros(inputs.shape[1], cell.hidden_size)", "h, c, loss = h.detach(), c.detach(), 0.0"

EXERCISE = Exercise(
    id="09b.2", kind="repair", title="Two states, in windows", minutes=10, difficulty=2, puzzles=(7, 8),
    question="Train an LSTM cell with truncated backpropagation through time: one backward pass for each window, a "
    "shorter one at the end included; both states go on as values, and come back without a history.",
    name="train_in_windows", starter=STARTER,
    hints=(
        "Which tensors of one window does the next one use? There are three names that cross the border.",
        "The first window is full after `window` steps, and enumerate counts from 0. And what if the steps run out?",
        "After a pass the loss of the window is used up: if the next window adds to it, the old graph is in it.",
    ),
    solution=SOLUTION,
    why="Three names cross the border of a window: h and c, which are detached, and the loss, which begins anew. The "
    "last window may be shorter, and wants a pass as well.",
    alternatives=(
        "def train_in_windows(torch, cell, inputs, window):\n"
        "    state = (torch.zeros(inputs.shape[1], cell.hidden_size, dtype=inputs.dtype),) * 2\n"
        "    for part in inputs.split(window):\n"
        "        losses = []\n"
        "        for x in part:\n"
        "            state = cell(x, state)\n"
        "            losses.append((state[0] * state[0]).sum())\n"
        "        sum(losses).backward()\n"
        "        state = tuple(s.detach() for s in state)\n"
        "    return state\n",
        edit("        if (number + 1) % window == 0 or number + 1 == len(inputs):\n            loss.backward()\n"
             "            " + CUT + "\n",
             "        if (number + 1) % window == 0:\n            loss.backward()\n            " + CUT + "\n"
             "    if len(inputs) % window:\n        loss.backward()\n",
             "return h, c", "return h.detach(), c.detach()"),
    ),
    mistakes=(
        Mistake("still attached", "A pass walks into a window that an earlier pass has emptied. Three things cross the "
                "border between two windows: h, c and the loss. Which of them is still attached?",
                edit("c.detach(), 0.0", "c, 0.0")),
        Mistake("cut too early", "The loss has no history, so no pass can start from it. Is something detached before "
                "the pass of its own window?",
                edit("        loss = loss + (h * h)",
                     "        h, c = h.detach(), c.detach()\n        loss = loss + (h * h)")),
        Mistake("counted again", "The losses of earlier windows are in the sum of the later ones, too, so they count "
                "several times. retain_graph has silenced the error that would have told you.",
                edit("loss.backward()", "loss.backward(retain_graph=True)", "            " + CUT + "\n", "",
                     "return h, c", "return h.detach(), c.detach()")),
        Mistake("the rest is lost", "The steps after the last full window have no backward pass. If the sequence is "
                "shorter than a window, nothing is learned at all.",
                edit(" or number + 1 == len(inputs)", "", "return h, c", "return h.detach(), c.detach()")),
        Mistake("a step early", "Your first backward pass comes after one step, and not after a whole window: "
                "enumerate counts from 0.",
                edit("(number + 1) %", "number %", "return h, c", "return h.detach(), c.detach()")),
        Mistake("cut at every step", "The states are detached at each step, so no gradient crosses from one step to "
                "the next, inside of a window either.",
                edit("cell(x, (h, c))", "cell(x, (h.detach(), c.detach()))")),
        Mistake("not truncated", "The gradients are those of the whole sequence: nothing stops them at the border of a "
                "window. On a long sequence that is the graph that windows should avoid.",
                edit("(number + 1) % window == 0 or number + 1", "number + 1")),
        Mistake("states start again", "Each window begins with zeros. Only the gradient should stop at the border. The "
                "values of the states go on.",
                edit(CUT, "h = c = torch.zeros_like(h.detach())\n            loss = 0.0")),
        Mistake("the last loss only", "Of each window, only the loss of its last step is used. All of its steps should "
                "be learned from.", edit("loss = loss + (h * h)", "loss = (h * h)")),
        Mistake("a mean", "The loss of a window is the mean over its steps here. The sum was asked for; with a mean, "
                "the steps of a short last window would count more.",
                edit("            loss.backward()", "            (loss / (number % window + 1)).backward()")),
        Mistake("cleared in between", "The gradients are cleared for each window, so only those of the last one are "
                "left. Clearing belongs to the caller here.",
                edit("            loss.backward()", "            cell.zero_grad()\n            loss.backward()")),
        Mistake("returned attached", "The states that come back still have the graph of the last window behind them. "
                "Whoever goes on with them would walk into it.",
                edit(CUT, "last, " + CUT.replace("h, c, loss =", "h, c, loss = (h, c),"),
                     "return h, c", "return last")),
        Mistake("the other way round", "The pair comes back as (c, h). The hidden state comes first, as in the cell.",
                edit("return h, c", "return c, h")),
    ),
    may_change=("cell.grad",),
    check=check,
)  # fmt: skip
