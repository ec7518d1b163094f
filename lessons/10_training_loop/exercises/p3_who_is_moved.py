"""Exercise 10.p3: who is moved by the second step?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def truth(torch):
    """The parameters that the second step of the question's program moves."""
    three = a, b, c = [torch.ones(1, requires_grad=True) for _ in range(3)]
    optimizer = torch.optim.SGD(three, lr=0.1, weight_decay=0.5)
    (a + b + c).backward()
    optimizer.step()
    before = [p.item() for p in three]
    a.grad = None
    b.grad = torch.zeros(1)
    c.requires_grad_(False)
    optimizer.step()
    return {name for name, p, old in zip("abc", three, before, strict=True) if p.item() != old}


EXERCISE = Predict(
    id="10.p3", title="Who is moved?", minutes=2, difficulty=2, puzzles=(13,),
    question="SGD with weight decay makes one step with the gradient 1 for a, b and c. Then a.grad is None, b.grad is "
    "zero, and c is frozen with requires_grad_(False) and keeps its old gradient. Which of them does the next step "
    "move? A list of letters.",
    hints=(
        "What does `step()` read of a parameter, and what does it not ask for?",
        "What does weight decay add to a gradient of zero?",
    ),
    solution='answer = ["b", "c"]',
    why="step() skips only a parameter whose .grad is None. Decay adds 0.5 times b to the zero, and c has a gradient, "
    "whatever its requires_grad says.",
    alternatives=('answer = "b, c"', 'answer = {"c", "b"}'),
    read=names_among("a", "b", "c"), truth=truth, wanted='Give a list with some of "a", "b" and "c".',
    shown="only None keeps a parameter out of a step.",
    mistakes=(
        Mistake("freezing protects", "b is right. c is frozen for the next backward; but `step()` asks for .grad, and "
                "the old gradient is still there.", ["b"]),
        Mistake("zero is rest", "c is right. The gradient of b is zero, but the decay is added to it, and the sum is "
                "not zero.", ["c"]),
        Mistake("decay for all", "a is left out of the step, and its decay with it: its .grad is None.",
                ["a", "b", "c"]),
        Mistake("decay for all but the frozen", "Two things: a is left out of the step, its decay too; and `step()` "
                "never asks for requires_grad.", ["a", "b"]),
        Mistake("None and the frozen", "You have a and b the wrong way round. None leaves a parameter out of the step.",
                ["a", "c"]),
        Mistake("only None", "It is the other way round: a is the only one that the step leaves out.", ["a"]),
        Mistake("nobody", "Two of them have a .grad, and that is all that `step()` asks for.", []),
    ),
    reveals=("plain SGD moves only the frozen one", "never for `requires_grad`", "The frozen weight goes up"),
)  # fmt: skip
