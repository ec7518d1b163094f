"""Exercise 00.p3: one place at a time."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The slopes of a * b + c, where each letter is a place of x."""
    places = [torch.tensor(3.0, requires_grad=True) for _ in range(3)]
    a, b, c = places
    (a * b + c).backward()
    return [place.grad.item() for place in places]


EXERCISE = Predict(
    id="00.p3", title="One place at a time", minutes=1, difficulty=1,
    question="`x` stands three times in `x * x + x`, and each time it is 3. One place at a time is made a little "
    "larger. How fast does the result change, for the first, the second and the third place? Three numbers in a list.",
    hints=(
        "The first place is multiplied by the second, which is 3. What becomes of 0.001 more?",
        "The third place is added, and multiplied by nothing.",
    ),
    solution="answer = [3, 3, 1]\n",
    why="Each factor is multiplied by the other one, which is 3. The summand is taken as it is.",
    alternatives=("answer = (3.0, 3.0, 1.0)\n", "answer = torch.tensor([3.0, 3.0, 1.0])\n"),
    read=lambda answer: answer if hasattr(answer, "__len__") and not isinstance(answer, (str, dict, set))
    and len(answer) == 3 else None,
    truth=truth, equal=agree, wanted="Three numbers in a list are wanted.",
    shown="Each factor counts 3, the summand 1; all three together make the 7 of `x.grad`.",
    otherwise=lambda answer, _: f"Not {list(answer)}. Take 3.001 for one place, and compute the result by hand.",
    mistakes=(
        Mistake("all at once", "7 is what comes when all three places move together. Here one moves, and the other two "
                "stay at 3.", [7, 7, 7]),
        Mistake("the slope of the square", "6 is the slope of x * x when both factors move. Here one of them stays "
                "at 3.", [6, 6, 1]),
        Mistake("each counts one", "The two factors are multiplied by something: 0.001 more in one of them is 0.003 "
                "more in the product.", [1, 1, 1]),
        Mistake("a share of 7", "The three places do not share the 7 equally: a factor counts for more than a "
                "summand.", [7 / 3, 7 / 3, 7 / 3]),
        Mistake("the sum multiplied", "The third place is added, and multiplied by nothing.", [3, 3, 3]),
    ),
    reveals=("0.003 more", "3 + 3 + 1", "is multiplied by the second"),
)  # fmt: skip
