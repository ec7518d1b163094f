"""Exercise 02.2: small weights."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import near, numbers


def check(answer, torch):
    for values in (numbers(3), [-1.5, 0.0, *numbers(3)], numbers(1)):
        verdict = small_weights_are_wrong(answer, torch, values)
        if verdict is not None:
            return verdict
    return correct("first the values, then the flag: what is returned is the leaf.")


def small_weights_are_wrong(answer, torch, values):
    """The verdict on the weights made of `values`, or None when they are right."""
    w = answer(torch, list(values))
    if not isinstance(w, torch.Tensor):
        return not_yet(f"Return a tensor; your function returned {type(w).__name__}.")
    if tuple(w.shape) != (len(values),):
        return not_yet(f"For {len(values)} values the shape is {tuple(w.shape)}: one element for each is wanted.")
    if not near(w.tolist(), [0.01 * value for value in values], 1e-6):
        if near(w.tolist(), values, 1e-6):
            return almost("not scaled")
        place = max(range(len(values)), key=lambda k: abs(w.tolist()[k] - 0.01 * values[k]))
        return not_yet(f"0.01 times {values[place]:.4g} was wanted, and {w.tolist()[place]:.4g} is there.")
    if not w.requires_grad:
        return almost("no flag")
    if w.dtype != torch.float64:
        return almost("single precision")
    if not w.is_leaf:
        return almost("kept, not a leaf" if w.retains_grad else "another result")
    if w.grad is not None and any(w.grad.tolist()):
        return almost("a gradient in advance")
    (w * w).sum().backward()
    if not near(w.grad.tolist(), [2 * each for each in w.tolist()], 1e-6):
        return not_yet("Backward from (w * w).sum() leaves another gradient than 2 * w.")
    return None


SMALL = "def small_weights(torch, values):\n"

EXERCISE = Exercise(
    id="02.2", kind="repair", title="Small weights", minutes=5, difficulty=1, puzzles=(10,),
    question="Return a float64 leaf that requires grad, with the given values times 0.01.",
    name="small_weights",
    starter=SMALL + "    w = torch.tensor(values, requires_grad=True)\n    return w.double() * 0.01",
    hints=(
        "At which moment does the flag have to be set, so that nothing after it is recorded?",
        "Compute with plain tensors as long as you like: no recorded operation, so whatever comes out is a leaf.",
    ),
    solution=SMALL + "    w = torch.tensor(values, dtype=torch.float64) * 0.01\n    return w.requires_grad_()\n",
    why="As long as nothing requires grad nothing is recorded, so the product is a leaf; then it is given the flag.",
    alternatives=(
        SMALL + "    return (torch.tensor(values).double() * 0.01).requires_grad_()\n",
        SMALL + "    return torch.tensor([0.01 * v for v in values], dtype=torch.float64, requires_grad=True)\n",
        SMALL + "    w = torch.tensor(values, requires_grad=True)\n"
        "    return (w.double() * 0.01).detach().requires_grad_()\n",
    ),
    mistakes=(
        Mistake("kept, not a leaf", "With retain_grad() one can read its gradient, and an optimizer accepts it. But "
                "it is still a result: a step moves the result, and the leaf behind it stays as it was.",
                SMALL + "    w = torch.tensor(values, requires_grad=True).double() * 0.01\n    w.retain_grad()\n"
                "    return w\n"),
        Mistake("another result", "After the flag was first set something was still computed and recorded. What you "
                "return is a result, and no flag makes a leaf of it.",
                SMALL + "    return torch.tensor(values, dtype=torch.float64, requires_grad=True) * 0.01\n"),
        Mistake("single precision", "It requires grad and has the right values, but in float32.",
                SMALL + "    return (torch.tensor(values) * 0.01).requires_grad_()\n"),
        Mistake("no flag", "It has the right values; but it does not require grad.",
                SMALL + "    return torch.tensor(values).double() * 0.01\n"),
        Mistake("a gradient in advance", "Your leaf has a gradient in .grad already, before anybody else has called "
                "backward: the next gradient would be added to it.",
                SMALL + "    w = (torch.tensor(values).double() * 0.01).requires_grad_()\n"
                "    (w * w).sum().backward()  # does it work?\n    return w\n"),
        Mistake("guard: changed a container", "",
                SMALL + "    for place in range(len(values)):\n        values[place] *= 0.01\n"
                "    return torch.tensor(values, dtype=torch.float64, requires_grad=True)\n"),
        Mistake("not scaled", "A leaf with the values as they were given; they were to be multiplied by 0.01.",
                SMALL + "    return torch.tensor(values).double().requires_grad_()\n"),
    ),
    check=check,
)  # fmt: skip
