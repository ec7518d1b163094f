"""Exercise 12.p9: whose gradients?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import array, names_among


def truth(torch):
    """The names whose gradients a full backward hook of a linear layer is given as its inputs'."""
    layer, x, found = torch.nn.Linear(2, 3, bias=False), array(torch, 4, 2, requires_grad=True), []
    layer.double().register_full_backward_hook(lambda module, grad_input, grad_output: found.extend(grad_input))
    y = layer(x)
    y.sum().backward()
    shapes = [tuple(grad.shape) for grad in found]
    named = {"x": x, "weight": layer.weight, "output": y}
    return {name for name, tensor in named.items() if tuple(tensor.shape) in shapes}


EXERCISE = Predict(
    id="12.p9", title="Whose gradients?", minutes=1, difficulty=1,
    question="A linear layer without a bias is called with x; x and the layer's weight require a gradient. Whose "
    "gradients are in grad_input of a full backward hook of the layer?",
    hints=(
        "A forward hook is given the module, its arguments and its output. What would be the same, backwards?",
        "By which way does the weight come into the product: through the call, or from the module itself?",
    ),
    solution='answer = ["x"]',
    why="grad_input has one place for each tensor that the call was given. The weight belongs to the module and comes "
    "in by another way.",
    alternatives=('answer = "x"', 'answer = {"x"}'),
    read=names_among("x", "weight", "output"), truth=truth,
    wanted='Give a list with some of the names "x", "weight", "output"; it may be empty.',
    shown="a full backward hook stands at the doors of a module, and parameters do not come through them.",
    mistakes=(
        Mistake("both", "Both get a gradient. But grad_input has one place for each tensor that the call was given, "
                "and layer(x) was given one.", ["x", "weight"]),
        Mistake("the parameter", "The weight is a parameter of the module, and was not given to the call.",
                ["weight"]),
        Mistake("what came", "The gradient of the output is what came to the layer, and has a tuple of its own.",
                ["output"], when=lambda given, _: "output" in given),
        Mistake("none", "x requires a gradient, so one is computed for it, and the hook is told.", []),
    ),
    reveals=("and nothing for the weight", "so a backward hook never sees it"),
)  # fmt: skip
