"""Exercise 14.p4: stepped too early."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import checkpoint_of
from lessons.shared import numbers_or_errors


def truth(torch):
    """x.grad in the three cases."""
    checkpoint, found = checkpoint_of(torch), []
    for forward in (
        lambda x, w: w * x**2,
        lambda x, w: checkpoint(lambda a: w * a**2, x, use_reentrant=False),
        lambda x, w: checkpoint(lambda a, w: w * a**2, x, w, use_reentrant=False),
    ):
        x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
        y = forward(x, w)
        with torch.no_grad():
            w.mul_(2)
        try:
            y.backward()
            found.append(x.grad.item())
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="14.p4", title="Stepped too early", minutes=3, difficulty=2, puzzles=(2,),
    question="The slope of w · x² at 2 is 4w, which is 12 for w = 3. Before backward w is doubled in place. What is "
    "`x.grad` without a checkpoint, with one whose function takes w from outside, and with one that is given w as an "
    "argument?",
    hints=(
        "In each of the three cases, is w saved, and is its version noted?",
        "In the second case w is not saved. Where does the second run find it, and with which number in it?",
    ),
    solution='answer = ["error", 24, "error"]',
    why="A saved tensor and an argument are put aside with their version. What a function finds outside is simply "
    "read when it runs: 4 · 6 = 24.",
    alternatives=('answer = ("error", 24.0, "error")', 'answer = ["raises", "24", "raises"]'),
    read=numbers_or_errors(3), truth=truth, wanted='A list of three is wanted, such as [1, "error", 3].',
    shown="the second run reads the present, and only arguments are checked.",
    otherwise="In each case, is w saved, and by what? If not, which w does the second run find?",
    mistakes=(
        Mistake("never an error", "Without a checkpoint the product has saved w and noted its version. That is the "
                "error of lesson 07.", [24, 24, 24], also=([12, 24, 24], [12, 24, "error"], [24, 24, "error"])),
        Mistake("always an error", "In the second case nothing has saved w: the function takes it from outside, and "
                "is called again. There is no version to compare.", ["error", "error", "error"]),
        Mistake("the old weight", "The second run calls the function again. It finds w as it is then, and that is 6.",
                ["error", 12, "error"]),
        Mistake("arguments unchecked", "Arguments are put aside as a node saves tensors: with their version.",
                ["error", 24, 24], also=(["error", 24, 12],)),
        Mistake("arguments are copied", "An argument is put aside and not copied. Two of your three entries cannot "
                "both be: does the second case find the old w, or the new one?", ["error", 12, 12]),
        Mistake("the other way round", "The other way round: which w does PyTorch put aside, the one that a function "
                "finds outside, or the one that it is given?", ["error", "error", 24], also=(["error", "error", 12],)),
    ),
    reveals=("the gradient is 24",),
)  # fmt: skip
