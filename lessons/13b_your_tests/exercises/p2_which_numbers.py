"""Exercise 13b.p2: which numbers?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among

from .shared import MEAN, noticed


def one_number(torch):
    """Test A of the lesson."""
    x = torch.tensor([3.0], requires_grad=True)
    x.mean().backward()
    assert x.grad.tolist() == [1]


def two_numbers(torch):
    """Test B of the lesson."""
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    x.mean().backward()
    assert x.grad.tolist() == [0.5, 0.5]


def the_value(torch):
    """Test C of the lesson."""
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    x.mean().backward()
    assert x.mean().item() == 3


EXERCISE = Predict(
    id="13b.p2", title="Which numbers?", minutes=2, difficulty=1,
    question="An engine gives a mean the gradient of a sum. Which tests fail on it: A one number, B two numbers, C the "
    "value?",
    hints=("Work out the wrong gradient for each test. Is it different from the right one?",
           "What does C look at in the end?"),
    solution='answer = ["B"]',
    why="The mean of one number is its sum, so the wrong gradient is the right one in A. C runs the wrong formula and "
    "never looks at what it gave.",
    alternatives=('answer = "B"', 'answer = ("B",)'),
    read=names_among("A", "B", "C"),
    truth=lambda torch: noticed(MEAN, {"A": one_number, "B": two_numbers, "C": the_value}),
    wanted="Give a list of letters, such as [\"A\", \"B\"]; it may be empty.",
    shown="a test notices what its numbers can tell apart, and what its assert looks at.",
    mistakes=(
        Mistake("one is enough", "B is right. In A there is one number. What is the gradient of its sum, and what "
                "that of its mean?", ["A", "B"]),
        Mistake("all of them", "A has one number, whose mean is its sum. And C asserts something about the value "
                "only.", ["A", "B", "C"]),
        Mistake("it ran", "B is right. C runs backward, too, but its assert looks at the value of the mean.",
                ["B", "C"]),
        Mistake("only the value", "The value of the mean is right on this engine. What is wrong is its gradient.",
                ["C"], also=(["A", "C"],)),
        Mistake("only one number", "With one number the wrong gradient is 1, and so is the right one.", ["A"]),
        Mistake("none", "One of them looks at a gradient that is [1, 1] on this engine.", []),
    ),
    reveals=("The mean of one number is its sum",),
)  # fmt: skip
