"""Exercise 13b.1: one defect, one test."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct

from .shared import SECOND, stage, unfit


def check(test, torch):
    """Try the test on the finished engine, on the one with the defect, and on two that say what it looks at."""
    if said := unfit(test):
        return almost("fails on a right engine", lead=said)
    if not stage.passes(test, stage.engine(SECOND)):
        return correct("your test tells an engine with this defect from one without.")
    if stage.passes(test, with_grad(lambda given, flags: tuple(g * 7 for g in given))):
        return almost("asserts nothing")
    seen = []
    watched = with_grad(lambda given, flags: seen.append(flags.get("create_graph")) or given)
    stage.passes(test, watched)
    return almost("an operand is saved" if any(seen) else "the first derivative")


def with_grad(change):
    """The finished engine, whose autograd.grad returns change(gradients, flags)."""
    engine = stage.engine()
    grad = engine.autograd.grad
    engine.autograd.grad = lambda *args, **flags: change(grad(*args, **flags), flags)
    return engine


SOLUTION = """\
def test_second_derivative(torch):
    x = torch.tensor(0.0, requires_grad=True)
    y = x.exp()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    assert h.item() == 1
"""
STARTER = """\
def test_second_derivative(torch):
    x = torch.tensor(0.0, requires_grad=True)
    y = x.exp()
    (g,) = torch.autograd.grad(y, x)
    assert g.item() == 1"""

EXERCISE = Exercise(
    id="13b.1", kind="write it yourself", title="One defect, one test", minutes=6, difficulty=2,
    question="In an engine a second derivative leaves out what a saved *result* depends on. Write a test that fails on "
    "it, and passes on an engine without a defect.",
    name="test_second_derivative", starter=STARTER,
    hints=(
        "The defect is in the second derivative: which pass has to be recorded?",
        "Not every operation saves its result. x**3 saves x. What do exp and tanh save (lesson 06)?",
        "Take a point at which you know the second derivative: of exp at 0 it is 1.",
    ),
    solution=SOLUTION,
    why="exp saves its result, and its gradient is computed with it. An engine that takes the result out of its slot "
    "without a history finds no way from the gradient back to x.",
    alternatives=(
        "def test_second_derivative(torch):\n    x = torch.tensor(1.0, requires_grad=True)\n    y = x.tanh()\n"
        "    (g,) = torch.autograd.grad(y, x, create_graph=True)\n    (h,) = torch.autograd.grad(g, x)\n"
        "    t = y.item()\n    assert abs(h.item() + 2 * t * (1 - t * t)) < 1e-5\n",
        SOLUTION.replace("(y, x,", "(y * y, x,").replace("== 1", "== 4"),
    ),
    mistakes=(
        Mistake("fails on a right engine", "A test has to pass on an engine without a defect. Work the number out by "
                "hand once more, and allow for rounding with abs(…) < 1e-5.", SOLUTION.replace("== 1", "== 2")),
        Mistake("asserts nothing", "Your test passes on the engine with the defect. It even passes on one whose "
                "autograd.grad returns 7 times each gradient: let its assert look at a gradient.",
                SOLUTION.replace("    assert h.item() == 1\n", "    print(h)\n").replace("x.exp()", "x * x.exp()")),
        Mistake("the first derivative", "Your test passes on the engine with the defect. It looks at first "
                "derivatives, which are right there. Which pass has to be recorded so that a second one can follow?",
                STARTER.replace("0.0", "0").replace("tensor(0,", "tensor(0.0,").replace("x.exp()", "x.exp() * 1")),
        Mistake("an operand is saved", "Your test takes a second derivative, and passes on the engine with the defect. "
                "The gradient of the operation that you chose is not computed with its *result*. Of which one is it?",
                SOLUTION.replace("0.0", "2.0").replace("x.exp()", "x**3").replace("== 1", "== 12")),
    ),
    check=check,
)  # fmt: skip
