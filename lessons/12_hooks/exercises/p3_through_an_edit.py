"""Exercise 12.p3: through an in-place edit."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, as_number, leaf


def truth(torch):
    """Return what the first hook is given, what the second, and what retain_grad() keeps."""
    seen, x = [], leaf(torch, [1.0, -1.0])
    h = x * 3
    h.register_hook(lambda grad: seen.append(("before", grad.tolist())))
    h.retain_grad()
    h.relu_()
    h.register_hook(lambda grad: seen.append(("after", grad.tolist())))
    h.sum().backward()
    return [dict(seen)["before"], dict(seen)["after"], h.grad.tolist()]


def read(answer):
    """Three lists of two numbers; None when it is anything else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 3:
        return None
    pairs = [[as_number(n) for n in pair] if isinstance(pair, (list, tuple)) else [None] for pair in answer]
    return None if any(len(pair) != 2 or None in pair for pair in pairs) else pairs


EXERCISE = Predict(
    id="12.p3", title="Through an in-place edit", minutes=2, difficulty=2,
    question="`h = x * 3` for x = [1, -1]; a hook on `h`, `h.retain_grad()`, `h.relu_()`, and a second hook on `h`. "
    "What does the first hook get in the pass from `h.sum()`, what the second, and what is `h.grad`?",
    hints=(
        "At registration the hook was given to the node of h. Which node was that?",
        "The pass goes back from the sum to the value behind the ReLU, and then to the value before it. Which gradient "
        "has each of the two?",
    ),
    solution="answer = [[1, 0], [1, 1], [1, 1]]",
    why="The first hook is kept by the node of the product, so it is given the gradient of the value before the ReLU. "
    "The second was registered on the new value, and h is the new value when the pass comes.",
    alternatives=("answer = ([1.0, 0.0], [1.0, 1.0], [1.0, 1.0])", 'answer = [["1", "0"], ["1", "1"], ["1", "1"]]'),
    read=read, truth=truth, equal=agree,
    wanted="Three lists of two numbers are wanted: the first hook, the second, h.grad.",
    shown="a hook stays with the value on which it was registered, and retain_grad() goes along.",
    otherwise="The sum sends ones to the value behind the ReLU. What does the ReLU's node send on?",
    mistakes=(
        Mistake("the hook moves", "You let the first hook go along to the new value. It is kept by the node that h had "
                "at registration.", [[1, 1], [1, 1], [1, 1]]),
        Mistake("retain_grad stays", "Both hooks are right. retain_grad() asks for the gradient of h, as h is in the "
                "end.", [[1, 0], [1, 1], [1, 0]]),
        Mistake("the other way round", "The sum sends ones to the value behind the ReLU: that is the second hook's. "
                "Then the ReLU sets one of them to 0, for the value before it.", [[1, 1], [1, 0], [1, 0]],
                also=([[1, 1], [1, 0], [1, 1]],)),
        Mistake("masked everywhere", "Only what goes through the ReLU backwards is masked. The value behind it gets "
                "what the sum sends.", [[1, 0], [1, 0], [1, 0]]),
        Mistake("of x", "With the 3 in it, that is the gradient of x: the product's node multiplies after the hook was "
                "called.", [[3, 0], [1, 1], [1, 1]], when=lambda given, _: 3 in [*given[0], *given[1], *given[2]]),
        Mistake("the values", "A hook is given slopes. Those are the values of h.", [[3, -3], [3, 0], [3, 0]]),
    ),
    reveals=("registered before: tensor([1., 0.])", "which the ReLU has masked"),
)  # fmt: skip
