"""Exercise 05.3: put the lines in order."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import agree

LINES = {
    "A": "w.grad = None",
    "B": "loss.backward()",
    "C": "with torch.no_grad(): w -= 0.1 * w.grad",
    "D": "loss = ((w - 3) ** 2).sum()",
}


def check(answer, torch):
    """Run the lines in the given order, three times, and compare with gradient descent done by hand."""
    if not isinstance(answer, str):
        return not_yet('A string of letters is wanted, such as "ABCD".')
    order = [letter for letter in answer.upper() if letter.isalnum()]
    if any(letter not in LINES for letter in order):
        return not_yet("Only the letters A, B, C and D name lines.")
    if "C" not in order and set(order) == {"A", "B", "D"}:
        return almost("never updated")
    if order and "D" not in order:
        return almost("one loss for all passes")
    place = {letter: order.index(letter) for letter in order}
    w = torch.tensor([1.0, 5.0], requires_grad=True)
    names, expected = {"torch": torch, "w": w}, w.tolist()
    try:
        for _ in range(3):
            for letter in order:
                exec(LINES[letter], names)
            expected = [value - 0.1 * 2 * (value - 3) for value in expected]
    except (NameError, TypeError, RuntimeError) as error:
        if "D" in place and "B" in place and place["D"] > place["B"]:
            return almost("backward before the loss")
        if {"A", "B", "C"} <= place.keys() and place["B"] < place["A"] < place["C"]:
            return almost("cleared too early")
        if "B" in place and "C" in place and place["C"] < place["B"]:
            return almost("update before the gradient")
        return not_yet(f"In this order the loop stops with {type(error).__name__}: {str(error)[:80]}")
    if sorted(order) == sorted(LINES) and agree(names["w"].tolist(), expected):
        return correct("Cleared before or after, but never between the backward and the update.")
    if sorted(order) == ["B", "C", "D"]:
        return almost("never cleared")
    if len(order) != 4:
        return not_yet("Each of the four lines is wanted exactly once.")
    return not_yet(f"After three passes w is {names['w'].tolist()}; by hand it is {expected}.")


EXERCISE = Exercise(
    id="05.3", kind="reorder", title="Put the lines in order", minutes=2, difficulty=1, puzzles=(12,),
    question="A: `w.grad = None`, B: `loss.backward()`, C: the update, D: the loss. Give an order, as a string, that "
    "makes every pass of the loop one correct step of gradient descent.",
    name="order", starter="order = None\n",
    hints=(
        "Which line needs a name that another line makes? Which line needs a gradient?",
        "Loss, backward, update must follow each other. There is more than one place for the clearing.",
    ),
    solution='order = "DBCA"\n',
    why="The gradient is made from this pass's loss, used, and then cleared before the next one arrives.",
    alternatives=('order = "A, D, B, C"\n', 'order = "DABC"\n', 'order = ["D", "B", "C", "A"]\n'),
    mistakes=(
        Mistake("cleared too early", "The gradient is cleared after it was made and before it was used: the update "
                "finds None.", 'order = "DBAC"\n'),
        Mistake("update before the gradient", "In the first pass there is no gradient yet when the update wants one.",
                'order = "DCBA"\n'),
        Mistake("backward before the loss", "Backward runs before this pass has a loss to start from.",
                'order = "BDCA"\n'),
        Mistake("never updated", "Without C, w stays where it is: gradients come and go, and nothing is learned.",
                'order = "DBA"\n'),
        Mistake("one loss for all passes", "Without D in the loop there is no loss of this pass, so backward has "
                "nothing new to start from.", 'order = "BCA"\n'),
        Mistake("never cleared", "Without A the loop runs, and from the second pass on it moves by a sum of "
                "gradients.", 'order = "DBC"\n'),
    ),
    check=check,
)  # fmt: skip
