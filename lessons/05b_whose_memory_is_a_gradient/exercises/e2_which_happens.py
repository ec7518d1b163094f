"""Exercise 05b.2: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import agree

WHICH = {
    "A": (
        "(w * 3).sum().backward()",
        "w.grad = torch.zeros(2)",
        "(w * 5).sum().backward()",
        "got = w.grad",
    ),
    "B": (
        "(w * 3).sum().backward()",
        "got = w.grad",
        "w.grad.zero_()",
        "(w * 5).sum().backward()",
    ),
    "C": (
        "(w * 1).sum().backward()",
        "w.sub_(w.grad)",
        "got = w",
    ),
    "D": (
        "h = w * w",
        "(h + 1).sum().backward()",
        "(h * 2).sum().backward()",
        "got = w.grad",
    ),
    "E": (
        "h = w * 3",
        "h.retain_grad()",
        "(h * h).sum().backward()",
        "got = h.grad",
    ),
    "F": (
        "s = w * 0.5",
        "s.sum().backward()",
        "got = w.grad",
    ),
}
WANTED = {"A": [5, 5], "B": [3, 3], "C": [0, 1], "D": [6, 12], "E": [6, 12], "F": [1, 1]}


def measure(torch, letter):
    space = {"torch": torch, "w": torch.tensor([1.0, 2.0], requires_grad=True)}
    return happens(WHICH[letter], space, lambda space: agree(space["got"], WANTED[letter]))


EXERCISE = WhichHappens(
    id="05b.2", title="Which happens?", minutes=8, difficulty=3, puzzles=(12,),
    question="For each of the programs A to F: raises now, raises at backward, silently wrong, or fine?",
    name="verdicts",
    hints=(
        "First ask of each program: is a leaf that requires grad written to in place while recording is on?",
        "Then ask: of which tensor is `got` the gradient, and who writes to that memory afterwards? For D, look at "
        "what `w * w` has to keep, and until when.",
    ),
    why="B puts aside a name, not a copy, and F reads the leaf where the result was meant; both run without a word. "
    "In D the product's kept operands were released by the first pass.",
    right={"A": "fine", "B": "silently wrong", "C": "raises now", "D": "raises at backward", "E": "fine",
           "F": "silently wrong"},
    alternatives=('verdicts = dict.fromkeys("AE", "fine") | dict.fromkeys("BF", "silently wrong")\n'
                  'verdicts |= {"C": "raises now", "D": "raises at backward"}\n',),
    measure=measure,
    shown="There are two silent ones. One reads a gradient after it was overwritten, the other reads the `.grad` of "
    "another tensor than the one that the comment asks for.",
    mistakes=(
        Mistake("zeros are no reset", "A: assigning zeros is a reset like any other; the next gradient is added to 0.",
                {"A": "silently wrong"}),
        Mistake("grad may be assigned", "A: `.grad` may be assigned: None, or a tensor of the leaf's shape. Zeros of "
                "two are one.", {"A": "raises now"}),
        Mistake("two graphs", "A: the two passes run over two graphs, each made by its own line. None is used up "
                "twice.", {"A": "raises at backward"}),
        Mistake("a gradient may be written", "B: w.grad is an ordinary tensor that requires no grad, so `zero_()` "
                "may write into it, and nothing saved it.", {"B": ("raises now", "raises at backward")}),
        Mistake("s has one sum", "F: s.sum() is one number, and backward starts from it.", {"F": "raises at backward"}),
        Mistake("put aside is not copied", "B: `got` is a second name for w.grad, and `zero_()` and the next pass "
                "write into that tensor.", {"B": "fine"}),
        Mistake("leaf written silently", "C: nothing goes wrong silently here; a leaf that requires grad refuses the "
                "in-place write.", {"C": "silently wrong"}),
        Mistake("leaf may be written", "C: the update needs `with torch.no_grad():`; with recording on, the leaf "
                "refuses it.", {"C": "fine"}),
        Mistake("leaf refuses later", "C: it does raise, but at the write itself. Backward was over by then, and "
                "nothing was wrong in it.", {"C": "raises at backward"}),
        Mistake("shared part is forgotten", "D: what the first pass released is missed aloud. Backward does not go "
                "on with numbers it lacks.", {"D": "silently wrong"}),
        Mistake("nothing is written", "D: it raises at the second `backward()`, so not now. None of the lines is "
                "refused for what it writes.", {"D": "raises now"}),
        Mistake("s is asked for", "F: nothing raises here. `got` is w.grad, and that exists; s.grad would be None "
                "with a warning, but nothing asks for it.", {"F": "raises now"}),
        Mistake("retain is refused", "E: retain_grad() may be called on any result that requires grad, as in the "
                "lesson.", {"E": ("raises now", "raises at backward")}),
        Mistake("shared part survives", "D: both passes go through `w * w`, and the first one released what that "
                "product had kept.", {"D": "fine"}),
        Mistake("retain does nothing", "E: retain_grad() was called before the pass, so h keeps its gradient, 2h.",
                {"E": "silently wrong"}),
        Mistake("w for s", "F: the gradient for w carries one more factor than the gradient for s = w * 0.5.",
                {"F": "fine"}),
    ),
)  # fmt: skip
