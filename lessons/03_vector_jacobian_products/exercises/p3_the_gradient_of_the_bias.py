"""Exercise 03.p3: the gradient of the bias."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree

from .shared import numbers, plain


def truth(torch):
    A, B = torch.tensor(numbers(2, 3)), torch.tensor(numbers(3, 2))
    c = torch.tensor(numbers(2), requires_grad=True)
    (gradient,) = torch.autograd.grad(A @ B + c, c, torch.tensor([[1.0, 2.0], [10.0, 20.0]]))
    return gradient


EXERCISE = Predict(
    id="03.p3", title="The gradient of the bias", minutes=2, difficulty=1,
    question="`y = A @ B + c` is 2 by 2, `c` has two numbers, and the upstream gradient is [[1, 2], [10, 20]]. The "
    "gradient for `c`?",
    hints=(
        "Write y out: c[0] is added in how many places, and which numbers of G belong to these?",
        "A gradient has the shape of its tensor, and c has shape (2,).",
    ),
    solution="answer = [11, 22]",
    why="c[0] stands in both rows of column 0, with 1 and 10 upstream; c[1] in column 1, with 2 and 20. The slope of "
    "an addition is 1.",
    alternatives=("answer = (11.0, 22.0)",),
    read=plain, truth=truth, equal=agree,
    shown="c is used once in each row, so its two gradients are added.",
    otherwise="c[0] is added in row 0 and in row 1. Which numbers of G belong to these two places?",
    mistakes=(
        Mistake("not added", "That has the shape of y. c has two numbers, and each stands in two places: its two "
                "gradients are added.", [[1, 2], [10, 20]]),
        Mistake("two dimensions", "The numbers are right. c has one dimension, so its gradient has one as well.",
                [[11, 22]], also=([[11], [22]],)),
        Mistake("in the shape of y", "The two numbers are right, and c has only two: the rows of y are two uses of "
                "them, and the gradient does not repeat.", [[11, 22], [11, 22]]),
        Mistake("a slope for each place", "The slope of each of the four places is 1. They still want their numbers of "
                "G, and c has two numbers.", [[1, 1], [1, 1]]),
        Mistake("half of it", "That is what c[0] gets. c has two numbers.", 11),
        Mistake("times the value", "You multiplied by the values of c. What c holds does not matter: the slope of an "
                "addition is 1.", [1100, 4400]),
        Mistake("along the row", "You added within the rows. c[0] is used down column 0, in both rows, so its "
                "upstream numbers are 1 and 10.", [3, 30]),
        Mistake("averaged", "Two uses of one number add up; nothing divides by two.", [5.5, 11]),
        Mistake("no weights", "That counts the uses of each number of c, 1 for each use. G gives them other "
                "numbers.", [2, 2]),
        Mistake("one row, no weights", "The slope of an addition is 1, true, but each number is used twice, and G "
                "holds a number for each use.", [1, 1]),
        Mistake("one number", "You added everything. c[0] and c[1] are different inputs, each with a gradient of its "
                "own.", 33),
        Mistake("first row", "c was added to the second row, too.", [1, 2]),
        Mistake("last row", "Nothing is overwritten: the first row used c as well, and uses add up.", [10, 20]),
    ),
    reveals=("tensor([11., 22.])", "adding the rows of `G`"),
)  # fmt: skip
