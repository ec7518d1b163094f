"""Exercise 16c.p1: how many results are alive."""

import weakref

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.reports import no_collector
from lessons.shared import some_numbers


def function(torch, clean, detach):
    class Squash(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x / (1 + x.abs())
            ctx.y = y.detach() if detach else y
            return y

        @staticmethod
        def backward(ctx, grad):
            slope = (1 - ctx.y.abs()) ** 2
            if clean:
                ctx.y = None
            return grad * slope

    return Squash.apply


def alive(torch, activation, training):
    x, references = torch.ones(3, requires_grad=True), []
    with no_collector():
        for _ in range(5):
            h = activation(x * 2)
            references.append(weakref.ref(h))
            if training:
                (h * h).sum().backward()
            del h
        count = sum(each() is not None for each in references)
    return count


def truth(torch):
    """For A and B, in training and in validation."""
    answers = function(torch, True, False), function(torch, False, True)
    return [alive(torch, each, training) for each in answers for training in (True, False)]


EXERCISE = Predict(
    id="16c.p1", title="How many are alive?", minutes=4, difficulty=2, puzzles=(17,),
    question="A clears `ctx.y` in backward, B keeps `y.detach()`. How many of five results are alive at last: A in "
    "training, A in validation (no backward), B in training, B in validation?",
    hints=(
        "Is there a ring, from the result to the node and from there to the result? What opens it, and when?",
        "detach() gives a new tensor on the same memory. Does the new one know the node?",
    ),
    solution="answer = [0, 5, 0, 0]",
    why="A opens the ring in backward, so it stays where backward never runs. In B there is no ring: what ctx "
    "holds has "
    "no history, and so it does not hold the node.",
    alternatives=("answer = (0, 5, 0, 0)", "answer = [0.0, 5.0, 0.0, 0.0]"),
    read=some_numbers(4), truth=truth, wanted="A list of four numbers is wanted, such as [5, 5, 5, 5].",
    shown="you know who holds whom, and who lets go when.",
    otherwise="Who holds the result after its last name is gone, and does backward run to change that?",
    mistakes=(
        Mistake("clearing is enough", "A: the line that clears stands in backward. Who runs it in validation?",
                [0, 0, 0, 0]),
        Mistake("clearing is too late", "A in training: backward runs while the result still has its name. After it "
                "there is no ring, and the result goes with its name.", [5, 5, 0, 0]),
        Mistake("detached holds, too", "B: what detach() gives is another tensor. It has no grad_fn, so the ring does "
                "not close.", [0, 5, 5, 5], also=([5, 5, 5, 5],)),
        Mistake("detached needs backward", "B: no ring, no need for anybody to open it, with backward or without.",
                [0, 5, 0, 5]),
        Mistake("the last one stays", "The last result loses its name as well, in the last line of the loop.",
                [1, 5, 1, 1], also=([0, 5, 1, 1], [1, 5, 0, 0])),
        Mistake("four and the last", "All five are in rings of their own; one more or less name makes no difference.",
                [0, 4, 0, 0]),
        Mistake("swapped", "In which of the two loops does backward run, and clear?", [5, 0, 0, 0]),
    ),
    reveals=("a helps where backward runs", "B closes the leak"),
)  # fmt: skip
