"""Exercise 11.p5: the same number twice?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import function, number_or_word, scalar


def mix_forward(ctx, x, y, z):
    w = x * z
    ctx.save_for_backward(x, y, w)
    ctx.z = z
    return x * y + y * z + w * y


def mix_backward(ctx, grad):
    x, y, w = ctx.saved_tensors
    return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


def second_derivatives(torch, apply, x, y, z):
    """gx by y and gy by x; 0 where the engine sees no path."""
    gx, gy = torch.autograd.grad(apply(x, y, z), (x, y), create_graph=True)
    found = []
    for g, v in ((gx, y), (gy, x)):
        (second,) = torch.autograd.grad(g, v, retain_graph=True, allow_unused=True)
        found.append(0.0 if second is None else second.item())
    return found


def read(answer):
    """Two numbers, or words where somebody expects an error."""
    return [number_or_word(part) for part in answer] if isinstance(answer, (list, tuple)) and len(answer) == 2 else None


def truth(torch):
    mix = function(torch, mix_forward, mix_backward, "Mix")
    return second_derivatives(torch, mix.apply, scalar(torch, 2), scalar(torch, 3), 4.0)


EXERCISE = Predict(
    id="11.p5", title="The same number twice?", minutes=3, difficulty=2,
    question="x = 2, y = 3, z = 4, gx = y + y·z and gy = x + z + w with w saved by forward. gx by y, and gy by x?",
    hints=(
        "x and y are inputs: what was saved is the caller's own tensor, with its history.",
        "Was forward recorded while it computed w = x * z? Then what does w know of x?",
    ),
    solution="answer = (5, 1)",
    why="gx = y + y·z depends on the input y: 1 + z = 5. gy = x + z + w depends on x twice, but w was computed "
    "without recording and is a constant: 1 is left.",
    alternatives=("answer = [5.0, 1.0]",),
    read=read, truth=truth, wanted="Give a pair of numbers: gx by y, and gy by x.",
    shown="an intermediate is a number to whoever differentiates once more.",
    otherwise="Write gx and gy with the saved letters, and differentiate those.",
    mistakes=(
        Mistake("as in calculus", "Calculus says so. But w was computed in forward, where nothing is recorded, so "
                "the path from w to x is missing.", (5, 5)),
        Mistake("the wrong one", "One of them is 1, but not that one: w stands in gy, and gx is made of the input y "
                "alone.", (1, 5)),
        Mistake("both", "gx = y + y·z has no w in it. It loses nothing.", (1, 1)),
        Mistake("nothing recorded", "forward is not recorded, but backward is, with create_graph=True, and saved "
                "inputs come back with their history.", (0, 0)),
        Mistake("no path at all", "gy = x + z + w: the path through w is gone, the x in front is still there.", (5, 0)),
        Mistake("first derivatives", "Those are gx and gy themselves. Asked is how gx changes with y, and gy with x.",
                (15, 14)),
        Mistake("an error", "Both are numbers, and that is the trouble: a path that is missing in a graph is no "
                "error.", (5, "error"), when=lambda two, _: any(isinstance(part, str) for part in two)),
    ),
    reveals=("gx by y: 5.0", "gy by x: 1.0", "it lacks something", "came out of its slot without a history"),
)  # fmt: skip
