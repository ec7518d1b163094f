"""Exercise 17b.p2: a micro-batch comes back."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import numbers_or_errors


def truth(torch):
    """The gradient of a for micro-batch 1, with sub_, .data.sub_ and copies."""
    found = []
    for way in ("sub_", ".data", "copies"):
        weights, waiting = [torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)], []
        for x in (1.0, 2.0):
            used = [w.detach().clone().requires_grad_() for w in weights] if way == "copies" else weights
            waiting.append((used[0] * x * used[1], used))
        grads = torch.autograd.grad(*waiting[0])
        with torch.no_grad():
            for w, g in zip(weights, grads, strict=True):
                (w.data if way == ".data" else w).sub_(g)
        try:
            found.append(torch.autograd.grad(*waiting[1])[0].item())
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="17b.p2", title="It comes back", minutes=4, difficulty=2, puzzles=(23,),
    question="A stage computes a * x * b, with a = 2 and b = 3. The inputs 1 and 2 go forward; then the first "
    "comes back "
    "and the weights step by 1 times their gradient. What is the gradient of a for input 2: step with `sub_`, with "
    "`.data.sub_`, with copies of the weights?",
    hints=(
        "The slope of a * x * b for a is x * b. Which b does backward find?",
        "The first gradients are 3 for a and 2 for b. What are a and b after the step?",
    ),
    solution='answer = ["error", 2, 6]',
    why="After the step b is 1. The check refuses it; hidden from the check it gives 2 * 1; the copy gives 2 * 3.",
    alternatives=('answer = ("error", 2.0, 6.0)', 'answer = ["Raises", "2", "6"]'),
    read=numbers_or_errors(3), truth=truth, wanted='A list of three is wanted, such as [1, 2, "error"].',
    shown="you know which version of a weight a micro-batch needs.",
    otherwise="The slope of a is x * b. Find for each way the b that backward reads.",
    mistakes=(
        Mistake("no check", "sub_ is counted, and a product saves its operands: b is not what it was.", [2, 2, 6]),
        Mistake("all checked", "A write through .data is not counted.", ["error", "error", 6]),
        Mistake("old numbers", ".data writes into the same memory. Backward reads the new b, which is 1.",
                ["error", 6, 6]),
        Mistake("copies follow", "The copies were made in forward. The step writes into the weights, and not into "
                "them.", ["error", 2, 2]),
        Mistake("copies raise", "Nobody writes into the copies, so their versions stay.", ["error", 2, "error"]),
        Mistake("one gradient for both", "The gradient of b is 2, not 3: b is 1 after the step, not 0.",
                ["error", 0, 6]),
        Mistake("slope of b", "4 is the slope of b, which is x * a. Asked is the slope of a.", ["error", 4, 4],
                also=(["error", 4, 6],)),
        Mistake("the input left out", "3 is b, and the gradient of a for the input 1. For the input 2 it is 2 * b, "
                "with the b that backward finds.", ["error", 3, 6]),
    ),
    reveals=("The slope of `a` was computed with the new `b`", "the gradient of no network"),
)  # fmt: skip
