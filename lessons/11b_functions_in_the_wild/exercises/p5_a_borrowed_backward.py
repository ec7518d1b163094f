"""Exercise 11b.p5: a borrowed backward."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import number_or_word


def truth(torch):
    """The gradient, or "error"."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t**3

        @staticmethod
        def backward(ctx, grad):
            (t,) = ctx.saved_tensors
            return 3 * t * t * grad

    class Borrows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, stride):
            out = Cube.forward(ctx, x * 10)
            ctx.save_for_backward(x)
            ctx.stride = torch.tensor(stride)
            return out

        @staticmethod
        def backward(ctx, grad):
            return Cube.backward(ctx, grad) * 10, None

    x = torch.tensor([1.0], requires_grad=True)
    try:
        Borrows.apply(x, 2).backward()
    except RuntimeError:
        return "error"
    return x.grad.item()


def read(answer):
    """A number, or the word "error"; None for anything else."""
    if isinstance(answer, (list, tuple)) and len(answer) == 1:
        (answer,) = answer
    value = number_or_word(answer)
    return value if isinstance(value, float) or value == "error" else None


EXERCISE = Predict(
    id="11b.p5", title="A borrowed backward", minutes=3, difficulty=2,
    question="`Borrows` calls `Cube.forward(ctx, x * 10)` on its own ctx, then saves x, and in backward returns "
    "`Cube.backward(ctx, grad) * 10`. What is x.grad for x = 1: a number, or \"error\"?",
    hints=(
        "How many calls of save_for_backward are there in this forward, all in all, and what does each find?",
        "Cube.backward takes one tensor out of the slots. Whose slots are they, and which tensor is it?",
    ),
    solution="answer = 30",
    why="Both calls of save_for_backward go to one ctx, and the second replaces the first: x = 1 is in the slot. "
    "Cube.backward takes it for its t, and returns 3 · 1 · 1. Times 10 that is 30.",
    alternatives=("answer = 30.0", 'answer = "30"', "answer = [30]"),
    read=read, truth=truth, wanted='A number is wanted, or "error".',
    shown="a borrowed backward reads the slots of the ctx that it is given.",
    otherwise="Follow the slots: what is in them when Cube.backward reads them, and what does it compute from that?",
    mistakes=(
        Mistake("what it should be", "That is the slope that calculus gives. Is the 10 that Cube has saved still in "
                "the slot when its backward reads it?", 3000),
        Mistake("an error", "What would the engine object to? There is one tensor in the slot, and one tensor is taken "
                "out.", "error"),
        Mistake("not times ten", "3 is what Cube.backward returns here. Line 4 multiplies it by 10.", 3),
        Mistake("ten without a square", "With t = 10 it would be 3 · 100, times 10. With the tensor that is really in "
                "the slot it is neither.", 300),
        Mistake("the result", "1000 is the value of the result.", 1000),
        Mistake("nothing", "The engine does call this backward: Borrows.apply has made the node. And what it returns "
                "is not 0.", 0),
        Mistake("the stride", "The stride is only kept. Nothing in this backward reads it.", 60),
    ),
    reveals=("x.grad: tensor([30.])", "30 instead of 3000"),
)  # fmt: skip
