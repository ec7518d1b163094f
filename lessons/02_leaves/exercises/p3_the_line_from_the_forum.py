"""Exercise 02.p3: the line from the forum."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def read(answer):
    """Two numbers, or None for each of them."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    if any(isinstance(each, str) or each is not None and as_number(each) is None for each in answer):
        return not_yet("A number, or None without quotes, is wanted for each of the two.")
    return [None if each is None else as_number(each) for each in answer]


def truth(torch):
    w = torch.tensor(0.5, requires_grad=True)
    hits = (w * torch.tensor([1.0, -2.0, 3.0]) > 0.4).float()
    loss = 1 - hits.mean()
    loss.requires_grad = True
    loss.backward()
    return [None if each is None else each.item() for each in (w.grad, loss.grad)]


EXERCISE = Predict(
    id="02.p3", title="The line from the forum", minutes=2, difficulty=2, puzzles=(11,),
    question="`hits = (w * x > 0.4).float(); loss = 1 - hits.mean(); loss.requires_grad = True; loss.backward()`: "
    "what are w.grad and loss.grad?",
    hints=(
        "What does loss remember of how it was made? It raised without the flag.",
        "After the flag is set, is loss a leaf? What do leaves do with what arrives at them?",
    ),
    solution="answer = [None, 1.0]",
    why="loss has no node. The flag makes it a leaf that requires grad, so the 1 that backward starts with is stored "
    "in loss itself; no arrow leads to w.",
    alternatives=("answer = (None, 1)", "answer = [None, torch.tensor(1.0)]"),
    read=read, truth=truth, wanted="Give a list of two: w.grad and loss.grad, each a number or None.",
    shown="the error is gone, and so is the learning.",
    otherwise="Begin at the loss, with slope 1. Is there an arrow? And which tensor stores what arrives?",
    mistakes=(
        Mistake("zero", "Zero would mean that a gradient arrived at w, and was zero. None means that none arrived: "
                "there is no way from this loss to w.", [0.0, 1.0], also=([0.0, 0.0],)),
        Mistake("nothing at all", "w gets nothing, right. But backward started somewhere, and that tensor is now a "
                "leaf that requires grad.", [None, None]),
        Mistake("passed on", "You expect loss to hand its slope on, as a result does. It has no arrow to hand it on "
                "along.", [1.0, None]),
        Mistake("through", "You expect a way from loss to w. Had there been one, the line from the forum would not "
                "have been needed.",
                [-0.5, None], also=([1, 1],), when=lambda two, _: two[0] is not None and two[1] in (None, 1)),
        Mistake("its own slope", "w gets nothing, right. loss.grad is the slope of loss for loss itself, not its "
                "value.", [None, 1 / 3], when=lambda two, _: two[0] is None),
        Mistake("nothing to say", "w gets nothing, right. A slope of 0 for loss would mean that loss does not move "
                "when loss moves.", [None, 0.0]),
    ),
    reveals=("loss.grad tensor(1.)", "stores the 1 there"),
)  # fmt: skip
