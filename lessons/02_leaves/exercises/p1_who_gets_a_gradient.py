"""Exercise 02.p1: who gets a gradient?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among

from .shared import matrix, stored


def truth(torch):
    """The names of the tensors that have a gradient after the program."""
    x, W1 = matrix(torch, 1, 2), matrix(torch, 2, 2, True)
    W2, W3 = matrix(torch, 2, 2), matrix(torch, 2, 1, True)
    h1 = x @ W1
    h2 = h1 @ W2
    (h2 @ W3).sum().backward()
    tensors = {"x": x, "W1": W1, "W2": W2, "W3": W3, "h1": h1, "h2": h2}
    return {name for name, tensor in tensors.items() if stored(tensor) is not None}


EXERCISE = Predict(
    id="02.p1", title="Who gets a gradient?", minutes=2, difficulty=1,
    question="`h1 = x @ W1; h2 = h1 @ W2; loss = (h2 @ W3).sum(); loss.backward()`, where W1 and W3 require grad. Who "
    "has a .grad afterwards?",
    hints=(
        "Lesson 00: at which tensors do the arrows end?",
        "Does the way from the loss to W1 lead past W2, or through it?",
    ),
    solution='answer = ["W1", "W3"]',
    why="Gradients are stored in leaves that require grad. The slope for h1 is made of W2's values, whether W2 is "
    "frozen or not, so W1 is reached.",
    alternatives=('answer = {"W3", "W1"}', 'answer = "W1, W3"'),
    read=names_among("x", "W1", "W2", "W3", "h1", "h2"), truth=truth,
    wanted='Give a list with some of the names "x", "W1", "W2", "W3", "h1", "h2".',
    shown="the frozen layer in between gets nothing, and stops nothing.",
    otherwise="Who requires grad, and who can be reached from the loss?",
    mistakes=(
        Mistake("stopped", "You expect the frozen layer to stop the way. It wants no gradient for itself; W1 behind "
                "it still does.", ["W3"]),
        Mistake("frozen as well", "W2 does not require grad. Then nobody asks for its gradient, and it is not stored.",
                ["W1", "W2", "W3"], when=lambda names, _: "W2" in names and "x" not in names),
        Mistake("results", "Gradients for h1 and h2 are computed on the way, and handed on. Only leaves store.",
                ["W1", "W3", "h1", "h2"], when=lambda names, _: names & {"h1", "h2"} and "x" not in names),
        Mistake("data", "x is plain data: it does not require grad, so nothing is computed for it.",
                ["x", "W1", "W3"], when=lambda names, _: "x" in names),
        Mistake("only the first", "W1 is reached, right. W3 is a leaf that requires grad, too, and the loss was "
                "computed from it in the last product.", ["W1"]),
        Mistake("none", "Two of the six are leaves that require grad, and the loss was computed from both.", []),
    ),
    reveals=("W2: None", "`W1` and `W3` have a gradient"),
)  # fmt: skip
