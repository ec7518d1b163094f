"""Exercise 13b.2: a test that looks away."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct

from .shared import COPIED, stage, unfit


def check(test, torch):
    """Try the test on the finished engine, on the one with the defect, and on one that says what it looks at."""
    if said := unfit(test):
        return almost("fails on a right engine", lead=said)
    if not stage.passes(test, stage.engine(COPIED)):
        return correct("your test tells an engine that undoes broadcasting from one that does not.")
    sums = []
    stage.passes(test, with_fit(lambda grad, fitted: sums.append(grad.shape != fitted.shape) or fitted))
    if not any(sums):
        return almost("nothing is broadcast")
    wrong = with_fit(lambda grad, fitted: fitted if grad.shape == fitted.shape else fitted * 7)
    return almost("not looked at" if stage.passes(test, wrong) else "the total is the same")


def with_fit(change):
    """The finished engine, in which what is summed to an operand's shape goes through change(before, after)."""
    engine = stage.engine()
    fit = engine.fit
    engine.fit = lambda grad, *shape: change(grad, fit(grad, *shape))
    return engine


STARTER = """\
def test_broadcast(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    a = torch.tensor([3.0, 4.0])
    (w * a).sum().backward()
    assert w.grad.tolist() == [3, 4]"""
SOLUTION = """\
def test_broadcast(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    a = torch.tensor([[3.0, 4.0], [5.0, 6.0]])
    (w * a).sum().backward()
    assert w.grad.tolist() == [8, 10]
"""
BIG = "    a = torch.tensor([[3.0, 4.0], [5.0, 6.0]], requires_grad=True)\n"

EXERCISE = Exercise(
    id="13b.2", kind="write it yourself", title="A test that looks away", minutes=5, difficulty=1,
    question="An engine does not undo broadcasting in backward. Write a test that fails on it, and passes on an engine "
    "without a defect.",
    name="test_broadcast", starter=STARTER,
    hints=(
        "Which shapes are broadcast? Give the two operands different shapes.",
        "The gradient of the smaller operand is a sum over the copies (lesson 03). Work it out by hand.",
        "Compare the whole gradient, with tolist().",
    ),
    solution=SOLUTION,
    why="w is used for both rows of a, so its gradient is the sum of the rows. Without that sum it has the shape of a.",
    alternatives=(
        SOLUTION.replace("== [8, 10]", "== [8.0, 10.0] and w.grad.shape == (2,)"),
        "def test_broadcast(torch):\n    b = torch.tensor(0.0, requires_grad=True)\n"
        "    (torch.tensor([1.0, 2.0, 3.0]) + b).sum().backward()\n    assert b.grad.tolist() == 3\n",
    ),
    mistakes=(
        Mistake("fails on a right engine", "A test has to pass on an engine without a defect. Work the gradient out by "
                "hand once more.", SOLUTION.replace("[8, 10]", "[3, 4]")),
        Mistake("nothing is broadcast", "Your test passes on the engine with the defect. In its program no operand "
                "that requires a gradient is broadcast, so the broken line has nothing to do.",
                STARTER.replace("w.grad.tolist()", "w.grad.tolist() == [3, 4] and [3, 4]")),
        Mistake("not looked at", "Your test passes on the engine with the defect. An operand is broadcast there, but "
                "the assert does not look at its gradient.",
                SOLUTION.replace("    a = torch.tensor([[3.0, 4.0], [5.0, 6.0]])\n", BIG)
                .replace("w.grad.tolist() == [8, 10]", "a.grad.tolist() == [[1, 2], [1, 2]]")),
        Mistake("the total is the same", "Your test passes on the engine with the defect. It looks at something that "
                "is the same with the copies and with their sum, such as the total. Compare the whole gradient.",
                SOLUTION.replace("w.grad.tolist() == [8, 10]", "w.grad.sum().item() == 18")),
    ),
    check=check,
)  # fmt: skip
