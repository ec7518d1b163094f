"""Exercise 14.p5: two masks?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import Checkpoint, checkpoint_of
from lessons.shared import some_numbers


def truth(torch):
    """Count how many of 1000 gradients belong to the output: with our Function, with PyTorch's checkpoint."""
    found, state = [], torch.get_rng_state()
    torch.manual_seed(0)
    for run in (Checkpoint(torch).apply, lambda part, x: checkpoint_of(torch)(part, x, use_reentrant=True)):
        x = torch.ones(1000, requires_grad=True)
        y = run(lambda h: torch.nn.functional.dropout(h, 0.5), x)
        y.sum().backward()
        found.append((y.detach() == x.grad).sum().item())
    torch.set_rng_state(state)  # the notebook's own random numbers go on where they were
    return found


def close(one, other):
    """Two pairs of counts that are roughly the same."""
    return all(abs(a - b) <= 100 for a, b in zip(one, other, strict=True))


EXERCISE = Predict(
    id="14.p5", title="Two masks?", minutes=2, difficulty=2,
    question="Dropout with a half inside of a checkpoint, on 1000 ones. Of the 1000 gradients, how many belong to the "
    "output, roughly: with the Function of this lesson, and with PyTorch's `checkpoint`? A list of two.",
    hints=(
        "Our Function runs dropout twice. Is there anything in it that would make the second mask the first one?",
        "If two masks have nothing to do with one another: how often do two coins show the same side?",
    ),
    solution="answer = [500, 1000]",
    why="Our second run draws a new mask, which agrees with the first in half of the places, by accident. PyTorch "
    "sets the random numbers back before the second run.",
    alternatives=("answer = (480, 1000)", 'answer = ["500", "1000"]', "answer = [550.0, 1000.0]"),
    read=some_numbers(2), truth=truth, equal=close, wanted="A list of two numbers is wanted, from 0 to 1000.",
    shown="a second run draws again, unless the random numbers are set back.",
    otherwise="Which mask has the output, which has the gradient, and how often do the two agree?",
    mistakes=(
        Mistake("nothing happens", "The gradient of our Function comes from the second run, and that has drawn a mask "
                "of its own. Nothing in our Function deals with random numbers.", [1000, 1000]),
        Mistake("never the same", "Two masks that have nothing to do with one another still agree in many places: "
                "each has only two possibilities.", [0, 1000]),
        Mistake("a quarter", "It is a quarter of the places in which both have kept the number. But both may also "
                "have dropped it.", [250, 1000]),
        Mistake("both wrong", "Ours, yes. But many networks have dropout in them, and PyTorch's function was written "
                "for them.", [500, 500], also=([0, 500], [0, 0])),
        Mistake("the other way round", "The other way round. Which of the two could know about random numbers?",
                [1000, 500], also=([1000, 0],)),
    ),
    reveals=("470 of 1000", "The second run drew a second mask"),
)  # fmt: skip
