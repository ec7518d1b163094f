"""Exercise 07.p6: which parameter must hold still?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among, small_network


def truth(torch):
    """The names of the parameters after whose edit backward raises."""
    refused = set()
    for name in ("W1", "b1", "W2", "b2"):
        x, t, parameters = small_network(torch)
        W1, b1, W2, b2 = parameters.values()
        loss = ((torch.relu(x @ W1 + b1) @ W2 + b2 - t) ** 2).mean()
        with torch.no_grad():
            parameters[name].mul_(0.9)
        try:
            loss.backward()
        except RuntimeError:
            refused.add(name)
    return refused


EXERCISE = Predict(
    id="07.p6", title="Which parameter must hold still?", minutes=3, difficulty=2, puzzles=(1, 8),
    question="Which of W1, b1, W2, b2 may not be written to between forward and backward?",
    hints=(
        "A matrix product saves a factor only if the other factor needs a gradient.",
        "Which of x and h needs a gradient?",
    ),
    solution='answer = ["W2"]',
    why="W2 is read for the gradient of h. W1 would be read for the gradient of x, which is plain data; biases are "
    "added, and addition saves nothing.",
    alternatives=('answer = ("W2",)', 'answer = "W2"'),
    read=names_among("W1", "b1", "W2", "b2"), truth=truth,
    wanted='Give a list with some of the names "W1", "b1", "W2" and "b2"; it may be empty.',
    shown="you found the one parameter that a formula still has to read.",
    mistakes=(
        Mistake("all", "That is a safe habit and not what happens: addition saves nothing, so backward does not "
                "read the old biases, and one of the weights is not saved either.", ["W1", "b1", "W2", "b2"]),
        Mistake("both weights", "W1 is read only for the gradient of x, and x is plain data. Need decides, not the "
                "kind of parameter.", ["W1", "W2"]),
        Mistake("none", "Then the gradient of h, which is made of W2, would be taken at another W2 than the one that "
                "computed the loss.", []),
        Mistake("a bias", "A bias is added, its slope is 1, and addition saves neither operand.",
                ["W2", "b2"], when=lambda names, _: True),
        Mistake("the biases", "You named the two that are added. For them the formulas read nothing but the incoming "
                "gradient.", ["b1", "b2"]),
        Mistake("the first layer", "The gradients of the first layer are made of x, of where relu let something "
                "through, and of the gradient that arrives. Which parameter is that last one made of?", ["W1", "b1"]),
        Mistake("first only", "The other way round: the first product multiplies plain data by W1 and saves the "
                "data; the second multiplies h, which needs a gradient.", ["W1"]),
    ),
    reveals=("Only `W2` has to stay as it is", "The biases are added"),
)  # fmt: skip
