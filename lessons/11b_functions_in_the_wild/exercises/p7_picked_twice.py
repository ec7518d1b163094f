"""Exercise 11b.p7: picked twice."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import flat, some_numbers


def truth(torch):
    x = torch.tensor([[10.0, 20.0, 30.0, 40.0]], requires_grad=True)
    picked = x.gather(1, torch.tensor([[2, 2, 0]]))
    (picked * torch.tensor([[1.0, 2.0, 4.0]])).sum().backward()
    return flat(x.grad)


def read(answer):
    """Four numbers, also in a list of their own, as x.grad prints them."""
    if isinstance(answer, (list, tuple)) and len(answer) == 1 and isinstance(answer[0], (list, tuple)):
        (answer,) = answer
    return some_numbers(4)(answer)


EXERCISE = Predict(
    id="11b.p7", title="Picked twice", minutes=2, difficulty=1,
    question="x = [[10, 20, 30, 40]] is gathered at [[2, 2, 0]], the result is multiplied by [[1, 2, 4]] and summed. "
    "What are the four numbers in x.grad?",
    hints=(
        "Write the sum with the elements of x: which of them stand in it, and with which factors?",
        "The third element stands in it twice. If it grows by 1, by how much does the sum grow?",
    ),
    solution="answer = [4, 0, 3, 0]",
    why="The sum is 1 · x[2] + 2 · x[2] + 4 · x[0]. So x[0] has the slope 4, x[2] has 1 + 2, and the others have 0.",
    alternatives=("answer = (4.0, 0, 3, 0)", "answer = [[4, 0, 3, 0]]", "answer = ['4', '0', '3', '0']"),
    read=read, truth=truth, wanted="A list of four numbers is wanted, one for each element of x.",
    shown="a gradient goes back to the place that was read, and two of them add up.",
    otherwise="Write the sum out: which elements of x stand in it, and how often?",
    mistakes=(
        Mistake("the last one wins", "The third element was read twice. You let the second gradient overwrite the "
                "first.", [4, 0, 2, 0]),
        Mistake("the first one wins", "The third element was read twice. You have counted the first time only.",
                [4, 0, 1, 0]),
        Mistake("only where", "You have marked the places that were read. The slope also has the factor by which each "
                "picked number is multiplied.", [1, 0, 1, 0], also=([1, 0, 2, 0],)),
        Mistake("not sent back", "You have left the factors in the order of the picked numbers. Each belongs to the "
                "place that its number was read from.", [1, 2, 4, 0], also=([0, 1, 2, 4],)),
        Mistake("in order of places", "The index begins with 2: the factors 1 and 2 belong to the third element of x, "
                "and the factor 4 to the first.", [3, 0, 4, 0]),
        Mistake("with the values", "Those are parts of the sum itself. A slope says how the sum changes, and the "
                "product with a factor has this factor as its slope.", [40, 0, 90, 0], also=([40, 0, 60, 0],)),
        Mistake("counted from 1", "Places are counted from 0: place 2 holds the 30.",
                [0, 3, 0, 0], also=([4, 3, 0, 0], [0, 3, 0, 4])),
        Mistake("the mean", "Two gradients for one element are added, and not averaged.", [4, 0, 1.5, 0]),
    ),
    reveals=("tensor([[4., 0., 3., 0.]])", "so its slope is 1 + 2 = 3", "what was read twice gets the sum"),
)  # fmt: skip
