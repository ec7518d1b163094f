"""Exercise 17.p1: unequal shares."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import some_numbers


def truth(torch):
    """The averaged gradient, and the gradient of the whole batch."""

    def slope(*samples):
        w = torch.tensor(1.0, requires_grad=True)
        (w * torch.tensor(samples)).mean().backward()
        return w.grad.item()

    return [(slope(2.0) + slope(4.0, 6.0, 12.0)) / 2, slope(2.0, 4.0, 6.0, 12.0)]


EXERCISE = Predict(
    id="17.p1", title="Unequal shares", minutes=2, difficulty=1, puzzles=(),
    question="Rank 0 has the sample 2, rank 1 has 4, 6 and 12; the loss is the mean of w * x. What is the "
    "average of the "
    "two gradients, and what is the gradient of the whole batch?",
    hints=(
        "The gradient of a rank is the mean of its own samples. Compute the two first.",
        "How much does the sample 2 count in each of the two numbers?",
    ),
    solution="answer = [4.666667, 6]",
    why="The means are 2 and 22/3, and their average is 14/3. The mean of all four samples is 24/4 = 6.",
    alternatives=("answer = (14 / 3, 6.0)", "answer = [14 / 3, 6]"),
    read=some_numbers(2), truth=truth, wanted="A list of two numbers is wanted.",
    equal=lambda one, other: all(abs(a - b) < 0.01 for a, b in zip(one, other, strict=True)),
    shown="you know when the average of the gradients is not that of the batch.",
    otherwise="The gradient of w is the mean of the samples. Which mean, of which samples?",
    mistakes=(
        Mistake("always the same", "6 is right for the whole batch. But the average of the means counts rank 0 as much "
                "as rank 1.", [6, 6]),
        Mistake("both averages", "14/3 is the average of the two means. The whole batch has four samples of equal "
                "weight.", [14 / 3, 14 / 3]),
        Mistake("turned round", "The numbers are right, in the other order.", [6, 14 / 3]),
        Mistake("sums", "Those are the sums of the samples. The loss is a mean.", [24, 24], also=([12, 24],)),
        Mistake("not divided", "That is the sum of the two gradients. After the sum comes a division by the world "
                "size.", [28 / 3, 6]),
    ),
    reveals=("three times as much as each sample",),
)  # fmt: skip
