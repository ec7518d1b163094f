"""Exercise 09.p2: three products."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import number_or_error

PRODUCTS = {
    "A": lambda x: x * x.detach(),
    "B": lambda x: x * x.clone(),
    "C": lambda x: x.detach() * x.clone(),
}


def read(answer):
    """The gradient of each of the three products."""
    return [number_or_error(each) for each in answer] if isinstance(answer, list | tuple) and len(answer) == 3 else None


def truth(torch):
    """Run backward from each product."""
    found = []
    for compute in PRODUCTS.values():
        x = torch.tensor([3.0], requires_grad=True)
        try:
            compute(x).sum().backward()
            found.append(x.grad.item())
        except RuntimeError:
            found.append("error")
    return found


def what_to_look_at(answer, truth):
    """Say how many entries are right, and which are not."""
    wrong = [name for name, one, other in zip(PRODUCTS, read(answer), truth, strict=True) if one != other]
    return (f"{3 - len(wrong)} of 3 are right; look again at {', '.join(wrong)}. Which of the two factors leads back "
            "to x? Each that does adds the value of the other one, which is 3.")  # fmt: skip


EXERCISE = Predict(
    id="09.p2", title="Three products", minutes=2, difficulty=2, puzzles=(9, 15),
    question="`x` is 3. What is `x.grad` after backward from A `x * x.detach()`, B `x * x.clone()`, "
    'C `x.detach() * x.clone()`: a number, or "error"?',
    hints=(
        "Each factor that leads back to x adds the value of the other factor to the gradient.",
        "Which of detach and clone is an operation that is recorded?",
    ),
    solution="answer = [3, 6, 3]\n",
    why="detach cuts the path of one factor. clone is recorded, so its factor leads to x.",
    alternatives=("answer = (3.0, 6.0, 3.0)\n", 'answer = ["3", "6", "3"]\n'),
    read=read, truth=truth, wanted='A list of three is wanted, such as [1, 2, "error"].',
    shown="One of the two exits leads out of the graph, and the other does not.",
    otherwise=what_to_look_at,
    mistakes=(
        Mistake("clone is a way out", "B and C: copying is an operation. It is recorded, and gradients go back through "
                "it.", [3, 3, "error"]),
        Mistake("nothing is cut", "The values are those of x * x in all three. But a detached factor counts as a "
                "constant, and adds no slope.", [6, 6, 6]),
        Mistake("one cut is enough", "C: the first factor is cut, and the second is not: it is a clone, which leads to "
                "x.", [3, 6, "error"]),
        Mistake("everything is cut", "A: `x.detach()` is a new tensor. The first factor is still `x` itself, with its "
                "path.", ["error", 6, "error"]),
        Mistake("a copy is a constant", "B: the copy has numbers of its own, and still a history: it was computed from "
                "x.", [3, 3, 3]),
    ),
    reveals=("both factors lead to `x`", "Copying is an operation", "stop-gradient"),
)  # fmt: skip
