"""Exercise 11b.p4: a loss made of a result without a gradient, unmarked and marked."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import function, scalar

from .p2_a_tensor_in_a_list import NOTHING, read


def truth(torch):
    found = []
    for marked in (False, True):

        def forward(ctx, x, marked=marked):
            rounded = x.round()
            if marked:
                ctx.mark_non_differentiable(rounded)
            return x * 2, rounded

        x = scalar(torch, 2)
        _, rounded = function(torch, forward, lambda ctx, grad, _: 2 * grad, "Twin").apply(x)
        try:
            rounded.backward()
            found.append(NOTHING if x.grad is None else x.grad.item())
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="11b.p4", title="A loss of rounded numbers", minutes=2, difficulty=2,
    question="Twin returns x * 2 and x.round(), and its backward returns 2 times the gradient of the first. A loss is "
    'made of the second result alone. What is x.grad, and what if the second is marked: a number, None or "error"?',
    hints=(
        "Unmarked, the second result hangs on the node, so the node's backward runs. What is it given for the first "
        "result, which no loss has used?",
        "Marked, the second result requires no gradient. What does backward() say, called on such a tensor?",
    ),
    solution='answer = (0, "error")',
    why="Unmarked, backward runs, is given 0 for the first result and returns 2 · 0. Marked, the second result has no "
    "node and requires no gradient, so backward() raises at once.",
    alternatives=('answer = [0.0, "Error"]', 'answer = ("0", "error")'),
    read=read, truth=truth, wanted='Give a pair; each entry is a number, None or "error".',
    shown="the mark turns a loss that trains nothing into an error.",
    otherwise="Ask for each: does the second result hang on the node? What then arrives for the first?",
    mistakes=(
        Mistake("raises in both", "Marked, it raises. Unmarked, every floating-point result of a Function requires a "
                "gradient, whatever its backward does.", ("error", "error"), also=(("error", 2), ("error", 1))),
        Mistake("as if used", "Marked you are right. Unmarked, backward returns 2 times the gradient of the first "
                "result. No loss has used that result: what is this gradient?", (2, "error"), also=((1, "error"),)),
        Mistake("raises in neither", "Unmarked you are right. Marked, the result requires no gradient: what does "
                "backward() say of that?", (0, 0), also=((0, None),)),
        Mistake("nothing arrives", "Marked you are right. Unmarked, the node's backward runs, and what it returns is "
                "added into x.grad.", (None, "error")),
        Mistake("the other way round", "It is the other way round: the mark is what takes the result off the node.",
                ("error", 0), also=(("error", None),)),
        Mistake("nothing in both", "Unmarked, the node's backward runs and returns a number. Marked, nobody gets as "
                "far as x.", (None, None), also=((None, 0),)),
        Mistake("the other result", "2 is what the first result would bring. The loss is made of the second one.",
                (2, 0), also=((2, 2), (2, None), (0, 2), (1, 1), (1, 0), (0, 1))),
    ),
    reveals=("x.grad: tensor(0.)", "Unmarked, this loss trains nothing"),
)  # fmt: skip
