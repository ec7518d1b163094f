"""Exercise 11b.p6: the slope of a tensor that forward has written into, without a mark and with it."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import number_or_word


def read(answer):
    """Two entries, each a number or "error"."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    given = [number_or_word(part) for part in answer]
    return None if any(isinstance(part, str) and part != "error" for part in given) else given


def truth(torch):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, mark):
            if mark:
                ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad, None

    found = []
    for mark in (False, True):
        x = torch.tensor(2.0, requires_grad=True)
        h = x * 1
        Triple.apply(h, mark)
        found.append(torch.autograd.grad(h, x)[0].item())
    return found


EXERCISE = Predict(
    id="11b.p6", title="A write that is told", minutes=2, difficulty=2,
    question="forward multiplies its argument h = x * 1 by 3, in place. What is the slope of h with respect to x "
    'afterwards, without mark_dirty and with it? A pair; each is a number or "error".',
    hints=(
        "forward is not recorded, so without the mark nobody knows of the write. Which node hangs on h then?",
        "With the mark the engine knows that h is now a result of your Function. Which nodes stand between h and x?",
    ),
    solution="answer = (1, 3)",
    why="Without the mark h still hangs on the node of x * 1, whose slope is 1. With it h hangs on the node of Triple, "
    "and that on the node of x * 1: 3 · 1.",
    alternatives=("answer = [1.0, 3.0]", 'answer = ("1", "3")'),
    read=read, truth=truth, wanted='Give a pair; each entry is a number or "error".',
    shown="only the mark moves h to the node of your Function.",
    otherwise="Ask which node hangs on h, each time, and follow the arrows to x.",
    mistakes=(
        Mistake("the engine sees it", "With the mark you are right. Without it the engine would have to look into "
                "forward, and forward is not recorded.", (3, 3)),
        Mistake("the mark does nothing", "Without the mark you are right. The mark tells the engine that h has become "
                "a result of this Function.", (1, 1)),
        Mistake("an error without the mark", "With the mark you are right. Without it nothing raises: the way from h "
                "to x reads nothing that was written to.", ("error", 3)),
        Mistake("an error with the mark", "h is no leaf, so it may be written to, and the mark says so.", (1, "error"),
                also=((3, "error"), ("error", "error"), ("error", 1))),
        Mistake("the other way round", "The other way round: with the mark the node of your Function hangs on h.",
                (3, 1)),
        Mistake("counted twice", "Without the mark you are right. With it one product by 3 stands between h and x, and "
                "not two.", (1, 9), also=((3, 9),)),
        Mistake("the value", "6 is what h holds. Asked is how much h changes when x changes by 1.", (6, 6),
                also=((1, 6), (2, 6), (3, 6))),
    ),
    reveals=("the slope of h: 1.0", "so 3 is right", "and its slope is wrong"),
)  # fmt: skip
