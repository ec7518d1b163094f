"""Exercise 13b.p1: which test notices?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among

from .shared import LOST, noticed


def a_chain(torch):
    """Test A of the lesson."""
    x = torch.tensor(3.0, requires_grad=True)
    (x * 2 * 5).backward()
    assert x.grad.item() == 10


def two_passes(torch):
    """Test B of the lesson."""
    x = torch.tensor(3.0, requires_grad=True)
    (x * 2).backward()
    (x * 5).backward()
    assert x.grad.item() == 7


def a_square(torch):
    """Test C of the lesson."""
    x = torch.tensor(3.0, requires_grad=True)
    (x * x).backward()
    assert x.grad.item() == 6


EXERCISE = Predict(
    id="13b.p1", title="Which test notices?", minutes=2, difficulty=2,
    question="An engine loses one of two gradients that meet in a pass. Which tests fail on it: A a chain, B two "
    "passes, C a square?",
    hints=(
        "Where do two gradients meet *within one pass*? Draw the arrows of each program.",
        "In B each pass brings one gradient to x. Where is it added to the other one: in a buffer of the pass, or in "
        ".grad?",
    ),
    solution='answer = ["C"]',
    why="In x * x both operands are x, so two gradients arrive there in one pass. In A there is one path, and in B one "
    "path in each pass: what is added there is added in .grad.",
    alternatives=('answer = "C"', 'answer = {"C"}'),
    read=names_among("A", "B", "C"),
    truth=lambda torch: noticed(LOST, {"A": a_chain, "B": two_passes, "C": a_square}),
    wanted="Give a list of letters, such as [\"A\", \"B\"]; it may be empty.",
    shown="a test notices a defect only if its program goes where the defect is.",
    mistakes=(
        Mistake("two passes are two", "C is right. In B the gradients come one after the other, each in a pass of its "
                "own. They meet in .grad, and adding there is another line of the engine.", ["B", "C"]),
        Mistake("only .grad", "In B the two gradients come in two passes. In which program do two come in one?", ["B"]),
        Mistake("all of them", "In A there is a single path from the result to x: what could be lost of one "
                "gradient?", ["A", "B", "C"]),
        Mistake("a chain has two products", "A has two products, one behind the other. Each node gets one gradient.",
                ["A"], also=(["A", "C"], ["A", "B"])),
        Mistake("none", "One of the tests does have two gradients that meet in one pass. Which operation has the same "
                "operand twice?", []),
    ),
    reveals=("both arrows of node 1 lead to `x`",),
)  # fmt: skip
