"""What `explain()` knows about backward passes: where one starts, what it was asked for, and what stops it."""

from backscope.explaining.rows import Row

PASSES = (
    Row(
        "not a scalar",
        r"grad can be implicitly created only for scalar outputs",
        (
            "backward() was called on a tensor of more or fewer than one element, and without a gradient to start "
            "from.",
            "For one number the start is 1; for a vector, backward computes v · J, and v has to be said.",
            "Usually a loss was not reduced to one number.",
        ),
        (
            "Reduce it: `loss.sum().backward()` or `loss.mean().backward()`.",
            "Say the vector: `y.backward(torch.ones_like(y))` is the same as the sum.",
        ),
        (("y[0].backward()", "no error; only the first element is differentiated"),),
        3,
        "asked",
    ),
    Row(
        "no history",
        r"element (?P<index>\d+) of tensors does not require grad and does not have a grad_fn",
        (
            "backward() was started at a tensor (number {index}, counted from 0) that nothing in the graph leads back "
            "from.",
            "Either no input requires grad, or the history was cut on the way: by detach(), .data, .item(), no_grad, "
            "integers, or NumPy.",
            "Nothing was computed.",
        ),
        (
            "Let a leaf require grad before the computation, and look whether loss.grad_fn is set.",
            "Walk backwards and print `t.requires_grad`: the line where it becomes False is the cut.",
            "If it is made of a gradient, ask for that gradient with `create_graph=True`: without, a gradient has no "
            "history, and a penalty made of it is a constant (lesson 13).",
        ),
        (
            (
                "loss.requires_grad_()",
                "no error any more, and nothing is learned",
            ),
        ),
        2,
        "plain",
    ),
    Row(
        "gradient type",
        r"gradients can be either Tensors or None, but got (?P<got>\w+)",
        (
            "The gradient to start from was given as {got}.",
            "It is the vector v in v · J and has to be a tensor of the output's shape.",
            "Nothing was computed.",
        ),
        ("`y.backward(torch.ones_like(y))`; for several outputs a list of tensors, one each.",),
        (),
        3,
        "asked",
    ),
    Row(
        "not iterable",
        r"^'(?P<got>\w+)' object is not iterable",
        (
            "A thing of type {got} stands where a tensor or a list is expected, and it has no items to walk through.",
            "In backward() and grad() that is the gradient to start from: v in v · J, a tensor of the output's shape.",
            "A plain number is none, not even for an output of one element.",
        ),
        ("`y.backward(torch.ones_like(y))`, or `torch.tensor(1.0)` for a single number.", "Elsewhere: give a list."),
        (),
        3,
        "asked",
    ),
    Row(
        "gradient shape",
        r"Mismatch in shape: grad_output\[(?P<index>\d+)\] has a shape of (?P<got>.*?) and output\[\d+\] has a shape "
        r"of "
        r"(?P<wanted>.*?)\.$",
        (
            "The gradient to start from has shape {got}, and the output that it is for has shape {wanted}.",
            "v · J needs one number of v for each element of the output; nothing is broadcast.",
            "Nothing was computed.",
        ),
        ("Give it the output's shape: `torch.ones_like(y)`, or `v.expand_as(y)`.",),
        (),
        3,
        "asked",
    ),
    Row(
        "gradient count",
        r"got (?P<tensors>\d+) tensors and (?P<gradients>\d+) gradients",
        (
            "There are {tensors} tensors to start from and {gradients} gradients.",
            "Each start needs its own; None stands for 1, and is allowed for single numbers.",
            "Nothing was computed.",
        ),
        ("Give a list with one gradient for each tensor.",),
        (),
        3,
    ),
    Row(
        "no inputs",
        r"inputs.? argument to .?(?P<call>backward|grad)\(\).? cannot be empty",
        (
            "{call}() was asked for the gradients of an empty list.",
            "An empty list means no leaf at all; None, or leaving it out, means every leaf.",
            "A generator that was used before is empty the second time: model.parameters() is one.",
        ),
        ("Leave `inputs` out, or make a list first: `list(model.parameters())`.",),
        (),
        5,
    ),
    Row(
        "create_graph cycle",
        r"Using backward\(\) with create_graph=True will create a reference cycle",
        (
            "backward(create_graph=True) stores gradients that have a history themselves; this is a warning.",
            "A parameter holds its .grad, the .grad holds its graph, and that graph holds the parameter: a cycle.",
            "Reference counting cannot free a cycle; it stays until the collector comes by.",
        ),
        (
            "`torch.autograd.grad(loss, params, create_graph=True)`: returns the gradients and stores nothing.",
            "Or set .grad to None after use.",
        ),
        (("filtering the warning", "the memory grows all the same"),),
        13,
    ),
    Row(
        "grad for plain",
        r"One of the differentiated Tensors does not require grad",
        (
            "A gradient was asked for with respect to a tensor that does not require grad.",
            "Nothing was recorded for it: no edge of the graph leads to it.",
            "The flag must be set before the computation.",
        ),
        ("`x.requires_grad_()` before y is computed.", "Ask for the leaf itself, not for a copy of it."),
        (("allow_unused=True", "does not help: the tensor is refused before the pass begins"),),
        2,
        "plain",
    ),
    Row(
        "unused",
        r"differentiated Tensor at index (?P<index>\d+) appears to not have been used",
        (
            "A gradient was asked for with respect to input {index} (counted from 0), and the output does not depend "
            "on it.",
            "No way back from the output leads to it, so no gradient could arrive.",
            "Often the name leads to another tensor than the one that was used: a copy, a view, an earlier value.",
        ),
        (
            "Ask for the tensor that entered the computation.",
            "Draw the output: what is not in the picture is not used.",
        ),
        (
            ("allow_unused=True", "gives None for it: right only if it may be unused"),
            ("materialize_grads=True", "gives zeros, which look like a gradient"),
        ),
        1,
        "unused",
    ),
    Row(
        "contradicting flags",
        r"allow_unused to be True or not passed when materialize_grads=True",
        (
            "allow_unused=False says that an unused input is an error, materialize_grads=True that it gets zeros.",
            "Both cannot hold.",
            "Nothing was computed.",
        ),
        ("Leave allow_unused out, or let it be True.",),
        (),
        1,
    ),
    Row(
        "edge with zeros",
        r"materialize_grads cannot be used when the given input is a GradientEdge",
        (
            "A gradient edge names a place in the graph, not a tensor: zeros for it would have no shape.",
            "The output does not depend on that place, so that no gradient arrived either.",
            "What could run for the other inputs has run; only the answers were dropped.",
        ),
        ("Ask for the tensor itself, or use allow_unused=True and take None for zero.",),
        (),
        1,
    ),
    Row(
        "nan",
        r"Function '(?P<node>\w+)' returned nan values in its (?P<output>\d+)th output",
        (
            "Anomaly mode looked at each gradient, and the first one that is not a number came out of {node} "
            "(output {output}).",
            "Usually an infinite slope met a zero: sqrt, log or division at 0, times a gradient of 0, is nan.",
            "A mask after the operation does not help: 0 · inf is still nan.",
        ),
        (
            "Keep the argument away from the edge before the operation: `(x + eps).sqrt()` or `x.clamp(min=eps)`.",
            "With where: replace the bad *input* first, then compute, then select.",
        ),
        (("nan_to_num on gradients", "the step goes on with a zero where the true slope is infinite"),),
        3,
        "node",
    ),
    Row(
        "anomaly mode",
        r"Anomaly Detection has been enabled",
        (
            "Anomaly mode is being switched on; this is a warning, nothing is wrong.",
            "It notes the line of every operation and, unless check_nan=False, looks for nan in every gradient.",
            "That makes each step slower.",
        ),
        ("Switch it off when the error is found.",),
        (),
        7,
    ),
)
