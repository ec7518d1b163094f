"""Exercise 16b.2: how far back does the second pass go?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import near

TANH, ADD = "h = torch.tanh(w * h)", "h = w + h"
PROGRAMS = {
    "A": (TANH, "h.backward()", TANH, "h.backward()"),
    "B": (TANH, "h.backward()", "h = h.clone()", TANH, "h.backward()"),
    "C": (TANH, "h.backward()", "h = h.detach()", TANH, "h.backward()"),
    "D": (TANH, "h.backward(retain_graph=True)", TANH, "h.backward()"),
    "E": (TANH, "h.backward(retain_graph=True)", "with torch.no_grad(): w.sub_(0.1)", TANH, "h.backward()"),
    "F": (ADD, "h.backward()", ADD, "h.backward()"),
    "G": (TANH, "h.backward()", "with torch.no_grad(): h = h * 1", TANH, "h.backward()"),
}


def own_slopes(torch, letter):
    """The sum of each window's own gradient: the state that arrives is a number."""
    w, h, total = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0), 0.0
    for _ in range(2):
        result = w + h if letter == "F" else torch.tanh(w * h)
        total += torch.autograd.grad(result, w)[0].item()
        h = result.detach()
    return total


def what_happens(torch, letter):
    """Run a program and say which of the four outcomes it has."""
    w = torch.tensor(0.5, requires_grad=True)
    space = {"torch": torch, "w": w, "h": torch.tensor(1.0, requires_grad=True)}
    return happens(PROGRAMS[letter], space, lambda _: near([w.grad.item()], [own_slopes(torch, letter)]))


EXERCISE = WhichHappens(
    id="16b.2", title="How far back?", minutes=6, difficulty=2, puzzles=(7,),
    question='w is 0.5 and h is 1; both require a gradient. Two windows of a single step. "fine" means that w.grad is '
    "the sum of each window's own gradient. Fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{'; '.join(program)}`" for letter, program in PROGRAMS.items()),
    hints=(
        "For each program: does a way lead from the second window into the first?",
        "If there is a way: what does the pass need there, and is it still there, as it was?",
    ),
    why="A and B lead into the freed first window; a clone keeps the history. C and G cut. D walks on and adds what "
    "is not its own, E meets a weight that was updated. F saves nothing, so nothing was freed, and nothing raises.",
    right={"A": "raises at backward", "B": "raises at backward", "C": "fine", "D": "silently wrong",
           "E": "raises at backward", "F": "silently wrong", "G": "fine"},
    measure=what_happens,
    shown="you can say how far back a pass goes, and what tells you so.",
    mistakes=(
        Mistake("a graph of its own", "A: the second window has nodes of its own, but its operand h has a history.",
                {"A": ("fine", "silently wrong")}),
        Mistake("a clone cuts", "B: a clone has memory of its own, and a node: the way back goes on through it.",
                {"B": ("fine", "silently wrong")}),
        Mistake("detached is wrong", "C: the state arrives as a number, and each window has its own gradient.",
                {"C": ("silently wrong", "raises at backward")}),
        Mistake("retained is fine", "D: nothing raises. But the second pass goes through the first window, too, and "
                "adds the gradient of h for its w.", {"D": "fine"}),
        Mistake("retained raises", "D: what the first window saved is still there, and no weight has changed.",
                {"D": "raises at backward"}),
        Mistake("an update is harmless", "E: the second pass comes to the product of the first window, which has saved "
                "w. And w was written to.", {"E": ("fine", "silently wrong")}),
        Mistake("a leaf", "E: under no_grad a leaf may be written to.", {"E": "raises now"}),
        Mistake("nothing freed", "F: a sum saves nothing, so nothing can be freed. Where does the pass go, then?",
                {"F": "raises at backward"}),
        Mistake("nothing raised", "F: the second pass goes through both sums, and the first one's w gets a gradient a "
                "second time.", {"F": "fine"}),
        Mistake("no_grad is not enough", "G: the product under no_grad is not recorded, so its result has no history.",
                {"G": ("raises at backward", "silently wrong")}),
    ),
)  # fmt: skip
