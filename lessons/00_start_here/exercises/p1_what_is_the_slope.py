"""Exercise 00.p1: what is the slope?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def truth(torch):
    """The gradient of the program itself."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    y.backward()
    return x.grad.item()


EXERCISE = Predict(
    id="00.p1", title="What is the slope?", minutes=1, difficulty=1,
    question="`x` is 3 and `y = x * x + x`. After `y.backward()`, what does `print(x.grad)` show? One number.",
    hints=(
        "Forget the tensors for a moment: what is the derivative of x² + x?",
        "It is 2x + 1. The lesson shows how the same number comes out of three small steps.",
    ),
    solution="answer = 7\n",
    why="The derivative of x² + x is 2x + 1, and x is 3.",
    alternatives=("answer = torch.tensor(7.0)\n",),
    read=as_number, truth=truth, wanted="A number is wanted, for example 1.5.",
    shown="7 it is, the slope 2x + 1 at 3. Now find out where it comes from.",
    otherwise=lambda answer, _: f"The program prints another number than {answer!r}. Differentiate x*x + x by hand.",
    mistakes=(
        Mistake("only the product", "6 is the slope of x*x alone; the `+ x` adds a path of its own, with slope 1.", 6),
        Mistake("the value", "12 is the value of y. `.grad` holds a slope: how fast y moves when x moves.", 12),
        Mistake("only the last operation", "1 is what the addition hands straight to x; the product brings more to "
                "the same x.", 1),
        Mistake("x once", "4 would count x*x as if x stood there once; both factors are x, and each brings a 3.", 4),
        Mistake("the square", "9 is the value of x*x. `.grad` holds a slope: how fast y moves when x moves.", 9),
        Mistake("one path of three", "3 is what one of the two factors brings. x is written twice more, and every "
                "place counts.", 3),
    ),
    reveals=("the slope is 7", "3 + 3 + 1", "tensor(7.)"),
)  # fmt: skip
