"""Exercise 12b.p1: two kinds of backward hooks."""

import warnings

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, as_number, flat


def truth(torch):
    """Return what `grad_input[0]` is in a full hook, and in an old one."""
    found = []

    class Square(torch.nn.Module):
        def forward(self, x):
            return (x * 3) ** 2

    for register in ("register_full_backward_hook", "register_backward_hook"):
        square, x = Square(), torch.tensor([1.0, 2.0], requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(square, register)(lambda module, grad_input, grad_output: found.append(flat(grad_input[0])))
            square(x).sum().backward()
    return found


def read(answer):
    """Two lists of two numbers; None when it is anything else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    pairs = [[as_number(n) for n in pair] if isinstance(pair, (list, tuple)) else [None] for pair in answer]
    return None if any(len(pair) != 2 or None in pair for pair in pairs) else pairs


EXERCISE = Predict(
    id="12b.p1", title="Two kinds of hooks", minutes=3, difficulty=2,
    question="A module computes `(x * 3) ** 2` for x = [1, 2], and its sum goes backward. What is `grad_input[0]` in a "
    "full backward hook of the module, and what in an old one, made by `register_backward_hook`? Two lists of two "
    "numbers.",
    hints=(
        "With respect to what would grad_input be a gradient, if the name is right?",
        "The old hook hangs on something that was there before modules had hooks: a single node. Which one can be "
        "found from the module's result?",
    ),
    solution="answer = [[18, 36], [6, 12]]",
    why="The full hook gets the gradient of the module's input, 18x. The old one hangs on the node of the square and "
    "gets what this node sends on: the gradient of 3x, which is 2 · 3x.",
    alternatives=("answer = ([18.0, 36.0], [6.0, 12.0])", 'answer = [["18", "36"], ["6", "12"]]'),
    read=read, truth=truth, equal=agree, wanted="Two lists of two numbers are wanted, the full hook first.",
    shown="the old hook sees the last step of the module, and takes it for the whole.",
    otherwise="For the full hook take the slope of 9x². For the old one, go back from the result by a single node.",
    mistakes=(
        Mistake("no difference", "You let both hooks see the gradient of the module's input. Then nobody would have "
                "needed a new one.", [[18, 36], [18, 36]]),
        Mistake("the other way round", "The new hook is the one that keeps what the name grad_input promises.",
                [[6, 12], [18, 36]]),
        Mistake("the first node", "You let the old hook hang on the product, the first node of the module. From a "
                "result one finds the node that made it, which is the last.", [[18, 36], [3, 3]],
                also=([[18, 36], [3, 6]],)),
        Mistake("what came", "The 1 is what came to the module: grad_output. It is the same for both hooks.",
                [[18, 36], [1, 1]], also=([[1, 1], [1, 1]],)),
        Mistake("by x", "The square's own operand is 3x, and not x: its slope is twice 3x.",
                [[18, 36], [2, 4]]),
        Mistake("without the inner slope", "9x² has the slope 18x: the 3 counts twice, once inside of the square and "
                "once for the slope of 3x.", [[6, 12], [6, 12]], also=([[6, 12], [2, 4]], [[6, 12], [3, 3]])),
        Mistake("the values", "Those are values of the forward pass. A hook of the backward pass is given slopes.",
                [[9, 36], [9, 36]], also=([[9, 36], [3, 6]], [[1, 2], [3, 6]], [[1, 2], [9, 36]])),
    ),
    reveals=("grad_input: (tensor([ 6., 12.])", "The old one got 6x", "on node 2, the last one of the module"),
)  # fmt: skip
