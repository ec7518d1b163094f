"""Exercise 11.p4: two calls of save_for_backward, read inside of forward and afterwards."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import function, number_or_word, scalar


def read(answer):
    """Two entries, each a number or "error"."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    given = [number_or_word(part) for part in answer]
    return None if any(isinstance(part, str) and part != "error" for part in given) else given


def truth(torch):
    seen = []

    def forward(ctx, x, mask):
        ctx.save_for_backward(x, x, x)
        ctx.save_for_backward(mask, x)
        seen.append(len(ctx.saved_tensors))
        return x * 1

    y = function(torch, forward, lambda ctx, grad: (grad, None), "Keep").apply(scalar(torch, 2), None)
    return [seen[0], len(y.grad_fn.saved_tensors)]


EXERCISE = Predict(
    id="11.p4", title="Saved twice", minutes=2, difficulty=1,
    question="forward calls save_for_backward(x, x, x) and then save_for_backward(mask, x), where mask is None. How "
    "many saved_tensors are there inside of forward, after these lines, and how many on the node afterwards?",
    hints=(
        "What a slot does with a tensor depends on whether it is a result. Can that be known inside of forward?",
        "Does the second call add to the first, or does it replace it? And None is allowed: it takes a place.",
    ),
    solution="answer = (0, 2)",
    why="Inside of forward nothing is packed yet, so nothing can be read. Afterwards the node holds what the last call "
    "named: None and x.",
    alternatives=("answer = [0, 2]", 'answer = ("0", "2")'),
    read=read, truth=truth, wanted='Give a pair of numbers: inside of forward, and afterwards.',
    shown="save_for_backward only notes, and the last note counts.",
    otherwise="Ask when the tensors are packed, and what the second call does to the first.",
    mistakes=(
        Mistake("at once", "The second number is right. But the slots are filled only when forward has returned: "
                "before that nobody knows which tensors are results.", (2, 2), also=((3, 2), (5, 2), (1, 2))),
        Mistake("added", "The second call does not add to the first.", (5, 5), also=((0, 5), (3, 5), (0, 4), (4, 4))),
        Mistake("the first one counts", "Only one of the two calls counts, that is right. It is not the first one.",
                (0, 3), also=((3, 3),)),
        Mistake("None dropped", "None keeps its place, so that backward can take the tensors out in the order in which "
                "they were named.", (0, 1), also=((1, 1),)),
        Mistake("refused", "Neither the second call nor the None is an error.", (0, "error"),
                also=(("error", "error"),)),
        Mistake("reading is an error", "Reading too early is no error. There is just nothing to be read.",
                ("error", 2), also=(("error", 5), ("error", 3), ("error", 1))),
        Mistake("nothing at all", "Inside of forward it is so. apply packs them when forward has returned, and there "
                "they stay until backward has run.", (0, 0)),
    ),
    reveals=("afterwards: 2 -", "has *replaced* the first"),
)  # fmt: skip
