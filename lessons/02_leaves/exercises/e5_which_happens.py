"""Exercise 02.5: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import near

from .shared import stored

HAPPENS = {
    "A": "w = leaf * 0.01; loss = (w * x).sum()",
    "B": "w = ones; loss = (w * x).sum(); w.requires_grad_()",
    "C": "w = leaf.float(); loss = (w * x).sum()",
    "D": "w = leaf; loss = 1 - (w * x > 3.5).float().mean()",
    "E": "w = leaf; loss = 1 - (w * x > 3.5).float().mean(); loss.requires_grad = True",
    "F": "w = leaf; h = w * x; h.requires_grad = False; loss = h.sum()",
    "G": "w = leaf.double(); w.retain_grad(); loss = (w * x).sum()",
    "H": "w = ones.long().requires_grad_(); loss = (w * x).sum()",
}


def what_happens(torch, letter):
    """Run one program of exercise 02.5 and compare w.grad with the slope of w * x, which is x."""
    values = [3.0, 4.0]
    space = {
        "x": torch.tensor(values),
        "ones": torch.tensor([1.0, 1.0]),
        "leaf": torch.tensor([1.0, 1.0], requires_grad=True),
    }

    def right(space):
        grad = stored(space["w"])
        return grad is not None and near(grad.tolist(), values)

    return happens((HAPPENS[letter], "loss.backward()"), space, right)


EXERCISE = WhichHappens(
    id="02.5", title="Which happens?", minutes=8, difficulty=2, puzzles=(10, 11),
    question="Fine, raises now, raises at backward, or silently wrong (no error, but `w.grad` is not the slope of the "
    "loss)?\n\n" + "\n".join(f"- {letter}: `{program}`" for letter, program in HAPPENS.items()),
    hints=(
        "Two questions for each: does the loss lead back to a leaf that requires grad, and is w that leaf?",
        "Refused is what can never make sense: a flag on whole numbers, a result's flag switched off.",
        "One program reads the gradient of a result in the way that is meant for it.",
    ),
    why="A and E run and leave w.grad None. B sets the flag after the operation ran, D loses the way in a comparison: "
    "backward has nothing to start from. F and H are refused on the spot. C is the leaf itself, G asked in time.",
    right={"A": "silently wrong", "B": "raises at backward", "C": "fine", "D": "raises at backward",
           "E": "silently wrong", "F": "raises now", "G": "fine", "H": "raises now"},
    measure=what_happens,
    shown="you know which of these are refused, and which only mislead.",
    mistakes=(
        Mistake("scaled leaf", "A: w names the product, a result. The gradient arrives at leaf, and w.grad stays "
                "None.", {"A": "fine"}),
        Mistake("nothing is refused", "A: every line is allowed, and backward finds a leaf. It is only not the "
                "tensor whose .grad you read.", {"A": ("raises at backward", "raises now")}),
        Mistake("a late flag", "B: the flag is set when the product has already run, unrecorded. It adds no arrow.",
                {"B": "fine"}),
        Mistake("nothing to start from", "B: no operation was recorded, so loss requires no grad, and backward "
                "cannot even start.", {"B": "silently wrong"}),
        Mistake("the flag is allowed", "B: setting the flag of a leaf of floats is always allowed. It comes too late "
                "for this loss; who notices?", {"B": "raises now"}),
        Mistake("float is a result", "C: float() of a float32 tensor hands back that tensor: w is the leaf.",
                {"C": ("silently wrong", "raises now", "raises at backward")}),
        Mistake("a truth value has a slope", "D: the comparison gives truth values. They have no slope, and the "
                "float() after it does not bring the way back.", {"D": "fine"}),
        Mistake("a flat step", "D: one could say that the slope of a step is zero. But nothing was recorded, so "
                "there is no gradient at all, and backward says so.", {"D": "silently wrong"}),
        Mistake("comparing is allowed", "D: comparing is allowed; one does it to count hits. The error comes from "
                "the one who misses the history.", {"D": "raises now"}),
        Mistake("the forum", "E: there is no error any more. And w.grad is None: the flag brought no history back.",
                {"E": "fine"}),
        Mistake("still an error", "E: with the flag, loss is a leaf that requires grad, and backward has something "
                "to start from: loss itself.", {"E": "raises at backward"}),
        Mistake("a refused flag", "E: a result would refuse the flag. But this loss is a leaf: no recorded operation "
                "computed it, for the comparison had cut the way.", {"E": "raises now"}),
        Mistake("a way to freeze", "F: a result's flag follows from its operands; the line that sets it raises.",
                {"F": ("silently wrong", "fine")}),
        Mistake("refused later", "F: it is refused, but not by backward. Setting the flag of a result raises at once.",
                {"F": "raises at backward"}),
        Mistake("retain_grad does nothing", "G: w is a result, and retain_grad() was called on it before backward. "
                "That is just what it is for.", {"G": ("silently wrong", "raises now")}),
        Mistake("retain_grad is refused", "G: the cast result requires grad and has a history, so backward can start "
                "and pass through it. retain_grad() only keeps what passes.", {"G": "raises at backward"}),
        Mistake("whole numbers", "H: long() gives whole numbers, and they have no slopes. The flag is refused.",
                {"H": ("fine", "silently wrong")}),
        Mistake("whole numbers later", "H: it is refused, but who refuses? The flag cannot even be set.",
                {"H": "raises at backward"}),
    ),
)  # fmt: skip
