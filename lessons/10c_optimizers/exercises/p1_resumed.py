"""Exercise 10c.p1: the losses of a training that is resumed with the weights alone."""

import copy

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among
from lessons.training import fresh


def three_rounds(torch, model, optimizer):
    """The losses of three rounds."""
    losses = []
    for _ in range(3):
        loss = torch.nn.MSELoss()(model(torch.ones(1, 1)), torch.full((1, 1), 3.0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def truth(torch):
    """The letters of the rounds whose losses are equal."""
    model, optimizer = fresh(torch, lr=0.02, momentum=0.9)
    three_rounds(torch, model, optimizer)
    saved = copy.deepcopy(model.state_dict())
    again, its = fresh(torch, lr=0.02, momentum=0.9)
    again.load_state_dict(saved)
    pairs = zip("ABC", three_rounds(torch, again, its), three_rounds(torch, model, optimizer), strict=True)
    return {letter for letter, one, other in pairs if one == other}


EXERCISE = Predict(
    id="10c.p1", title="Resumed", minutes=2, difficulty=1,
    question="After three rounds with momentum the weights are saved. A new model gets them, with a new optimizer of "
    "the same settings, and makes three rounds; the old pair makes three more, too. Which losses are equal in both? "
    "A: the first; B: the second; C: the third. A list of letters; it may be empty.",
    hints=(
        "A round computes its loss before it steps. What does the first loss depend on?",
        "With momentum, what does a step read besides the gradient, and where does that stand?",
    ),
    solution='answer = ["A"]',
    why="The first loss depends on the weights alone. The first step already differs: the old optimizer adds 0.9 of "
    "the sum that it remembers, and the new one remembers nothing.",
    alternatives=('answer = "A"', 'answer = {"A"}'),
    read=names_among("A", "B", "C"), truth=truth, wanted='Give a list with some of "A", "B" and "C".',
    shown="the weights give the first loss, and from the first step on the missing sum is felt.",
    otherwise="Ask of each loss: which steps were made before it, and were they the same in both runs?",
    mistakes=(
        Mistake("the weights are all", "A is right. But the first step reads more than weights and gradients: with "
                "momentum there is a sum, and the new optimizer has none.", ["A", "B", "C"]),
        Mistake("different from the start", "Each round computes its loss before it steps. The weights are the same, "
                "so what is the first loss?", []),
        Mistake("a step later", "A is right. The second loss comes after the first step, and the new optimizer makes "
                "that step without the old sum.", ["A", "B"]),
        Mistake("it catches up", "From the first step on the two runs have different weights. Only what was computed "
                "before it can be equal.", ["C"], also=(["A", "C"], ["B", "C"], ["B"])),
    ),
    reveals=("Only the first loss is the same", "With the model alone"),
)  # fmt: skip
