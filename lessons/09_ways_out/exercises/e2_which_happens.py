"""Exercise 09.2: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import agree

INFERENCE = "with torch.inference_mode(): f = torch.ones(1) * 2"
WHICH = {
    "A": (("y = (x * x).sum()", "x.data.fill_(30.0)", "y.backward()", "got = x.grad"), [6]),
    "B": (("y = (x * x).sum()", "x.detach().fill_(30.0)", "y.backward()", "got = x.grad"), [6]),
    "C": (("y = (x * 2).sum()", "x.detach().fill_(30.0)", "y.backward()", "got = x.grad"), [2]),
    "D": (("c = x.clone()", "(c * c).sum().backward()", "got = x.grad"), None),
    "E": ((INFERENCE, "y = (x * f).sum()", "y.backward()", "got = x.grad"), [2]),
    "F": ((INFERENCE, "y = (x + f).sum()", "y.backward()", "got = x.grad"), [1]),
    "G": (("with torch.no_grad(): h = x * x", "h.sum().backward()", "got = x.grad"), [6]),
}


def measure(torch, letter):
    lines, wanted = WHICH[letter]
    space = {"torch": torch, "x": torch.tensor([3.0], requires_grad=True)}
    return happens(lines, space, lambda space: agree(space["got"], wanted))


EXERCISE = WhichHappens(
    id="09.2", title="Which happens?", minutes=8, difficulty=3, puzzles=(1, 15, 21),
    question="For each of the programs A to G: raises now, raises at backward, silently wrong, or fine?",
    name="verdicts",
    hints=(
        "For A to C: what did the operation keep, and whose counter did the write move?",
        "For E to G: does the operation have to save the tensor? And is there a graph to walk at all?",
    ),
    why="A write matters only where the written tensor was kept (A, B, not C), and is caught only where it is counted "
    "(B). A product must save the inference tensor, a sum need not.",
    right={"A": "silently wrong", "B": "raises at backward", "C": "fine", "D": "silently wrong", "E": "raises now",
           "F": "fine", "G": "raises at backward"},
    alternatives=('verdicts = dict.fromkeys("CF", "fine") | dict.fromkeys("AD", "silently wrong")\n'
                  'verdicts |= dict.fromkeys("BG", "raises at backward") | {"E": "raises now"}\n',),
    measure=measure,
    shown="The silent ones are A and D: uncounted memory, and a copy that is still attached.",
    mistakes=(
        Mistake("data is checked", "A: the check compares x's counter, and a write through .data moves another one.",
                {"A": "raises at backward"}),
        Mistake("data is harmless", "A: the product kept x itself, so the new 30 takes part in the slope.",
                {"A": "fine"}),
        Mistake("detach is unchecked", "B: the result of detach shares x's counter, so this write is seen.",
                {"B": "silently wrong"}),
        Mistake("detach refuses writes", "B: the write itself is allowed, for a detached tensor requires no grad; "
                "the check comes later.", {"B": "raises now"}),
        Mistake("detach is safe", "B: detach copies nothing. The 30 lands in x's memory, which the product kept.",
                {"B": "fine"}),
        Mistake("no_grad is a detour", "G: what is computed under no_grad has no way back to x, however it is used "
                "later.", {"G": "fine"}),
        Mistake("every write is fatal", "C: x * 2 keeps the 2 and not x; nobody asks about x's version.",
                {"C": "raises at backward"}),
        Mistake("every write is wrong", "C: the slope of x * 2 is 2, whatever x holds now.", {"C": "silently wrong"}),
        Mistake("clone is a way out", "D: a clone is still in the graph, so x does get a gradient.", {"D": "fine"}),
        Mistake("refused later", "E: the product has to save f when it runs, so it is refused there, before any "
                "backward.", {"E": "raises at backward"}),
        Mistake("inference is no_grad", "E: under no_grad this would be fine; an inference tensor may not be saved "
                "for backward.", {"E": "fine"}),
        Mistake("inference is useless", "F: a sum saves neither summand, so nothing stands against it.",
                {"F": "raises now"}),
        Mistake("nothing recorded, nothing said", "G: h has no grad_fn, and backward says so instead of doing "
                "nothing.", {"G": "silently wrong"}),
        Mistake("h is refused", "G: h is an ordinary tensor, and sum() takes it. It is backward() that finds no "
                "graph.", {"G": "raises now"}),
        Mistake("data refuses writes", "A: what `.data` gives is no leaf that requires grad; it requires none, so it "
                "may be written to.", {"A": "raises now"}),
        Mistake("a leaf is written to", "C: x itself may not be written to while operations are recorded. The "
                "detached tensor requires no grad, and may.", {"C": "raises now"}),
        Mistake("a clone cannot go back", "D: nothing was written to, and nothing was released. The pass goes "
                "through CloneBackward to x.", {"D": "raises at backward"}),
        Mistake("the factor is lost", "E: no number is wrong here, for none is computed: the product cannot keep f "
                "for backward.", {"E": "silently wrong"}),
        Mistake("summands are read", "F: the slope of a sum is 1 for each summand, so backward reads neither of them.",
                {"F": "raises at backward"}),
    ),
)  # fmt: skip
