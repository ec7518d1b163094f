"""Exercise 12b.p2: how many gradients is an old hook of a linear layer given?"""

import warnings

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def truth(torch):
    """Count the gradients in grad_input of an old hook of a linear layer with a bias."""
    found, layer = [], torch.nn.Linear(2, 3)
    layer.register_backward_hook(lambda module, grad_input, grad_output: found.append(len(grad_input)))
    with warnings.catch_warnings(action="ignore"):
        layer(torch.ones(4, 2, requires_grad=True)).sum().backward()
    return float(found[0])


EXERCISE = Predict(
    id="12b.p2", title="How many gradients?", minutes=1, difficulty=1,
    question="An old hook on a linear layer with a bias. The layer is one node: it multiplies the rows by the weight "
    "and adds the bias. How many gradients are in grad_input?",
    hints=(
        "The hook is given what its node sends on. How many does a node send on?",
        "One for each operand. Which operands does rows @ weight.T + bias have?",
    ),
    solution="answer = 3",
    why="The hook is one of the node, and a node sends on a gradient for each operand: the bias, the rows, and the "
    "weight.",
    alternatives=('answer = "3"', "answer = 3.0"),
    read=as_number, truth=truth, wanted="A number is wanted.",
    shown="an old hook counts the operands of a node, and not the inputs of a module.",
    mistakes=(
        Mistake("the module's input", "The module has one input, and a full hook would be given one gradient. But this "
                "hook is attached to a node. How many operands has it?", 1),
        Mistake("without the bias", "The rows and the weight are two operands. What is added to their product?", 2),
        Mistake("with the output", "The gradient of the output is what came to the node. It is in grad_output.", 4),
        Mistake("none", "The node sends gradients on, and the hook is given them.", 0),
    ),
    reveals=("is given three gradients", "gradients of shapes [(3,)"),
)  # fmt: skip
