"""What `explain()` knows about hooks, and the forward and backward of a custom Function."""

from backscope.explaining.rows import Row

HOOKS = (
    Row(
        "hook type",
        r"expected Variable, but hook returned '(?P<got>\w+)'",
        (
            "A hook on a tensor returned a thing of type {got}.",
            "What a hook returns takes the place of the gradient, None leaves it as it is; a post-accumulate hook may "
            "return None only.",
            "A lambda returns its value even if nobody wants it: item() gives a number, print and append give None.",
        ),
        ("Return a tensor of the gradient's shape, or nothing; from a post-accumulate hook nothing.",),
        (),
        12,
        "hooks",
    ),
    Row(
        "hook on nothing",
        r"can't replace a None gradient with a non-None value",
        (
            "A hook returned a gradient where none had arrived: it was called with None.",
            "An output that nothing used, or an input that needs no gradient, has None in its place.",
            "A hook may change a gradient, but it cannot make one.",
        ),
        ("Return None for None: `return None if g is None else g * 2`.",),
        (),
        12,
        "hooks",
    ),
    Row(
        "hook size",
        r"hook '(?P<hook>.*?)' has changed the (size|type) of value",
        (
            "The hook {hook} returned a gradient of another shape or element type than the one it was given.",
            "A gradient has the shape and the type of its tensor, and the next node relies on that.",
            "The pass stopped there; leaves that were reached before keep what they got.",
        ),
        ("Return the same shape: mask with zeros in place of cutting out.",),
        (),
        12,
        "hooks",
    ),
    Row(
        "hook count",
        r"hook '(?P<hook>.*?)' has returned an incorrect number of values \(got (?P<got>\d+), but expected "
        r"(?P<wanted>\d+)",
        (
            "The node hook {hook} returned {got} gradients, and the node has {wanted}.",
            "A hook on a node gets and returns tuples: after the node one gradient for each input, before it one for "
            "each output.",
            "None in place of the tuple leaves them as they are.",
        ),
        ("Return a tuple as long as the one that you change: `return (g * 2,)`.",),
        (),
        12,
        "hooks",
    ),
    Row(
        "hook tuple",
        r"expected tuple, but hook returned '(?P<got>\w+)'",
        (
            "A hook on a node returned a thing of type {got}.",
            "Such a hook returns a tuple of gradients, even if there is only one; None leaves them as they are.",
            "It appears during backward, when the node runs.",
        ),
        ("Return a tuple: `return (g * 2,)`.", "Return nothing."),
        (),
        12,
        "hooks",
    ),
    Row(
        "post hook returns",
        r"post accumulate grad hooks should return None",
        (
            "A post-accumulate hook returned something.",
            "It gets the leaf, after .grad was added to, and there is nothing left to replace.",
            "To change the gradient, write to leaf.grad in the hook.",
        ),
        ("Return nothing.", "`leaf.grad.mul_(0.5)` inside the hook changes it."),
        (),
        12,
        "hooks",
    ),
)

FUNCTIONS = (
    Row(
        "no forward",
        r"must implement the forward function for custom",
        (
            "A Function class has no forward.",
            "forward computes the value; apply() calls it.",
            "Perhaps the name is misspelt, or the method was written outside of the class.",
        ),
        ("Write `@staticmethod def forward(ctx, x): …`.",),
        (),
        11,
    ),
    Row(
        "no backward",
        r"must implement either the backward or vjp method",
        (
            "The backward pass reached a Function that has no backward.",
            "Autograd cannot look into forward: nothing in there is recorded.",
            "It appears at backward; the forward pass had no need of it.",
        ),
        ("Write `@staticmethod def backward(ctx, grad): …`, one gradient for each argument of forward.",),
        (("ctx.mark_non_differentiable(result)", "no error; the result is a constant, and no gradient passes"),),
        11,
        "node",
    ),
    Row(
        "no derivative for an argument",
        r"The function '(?P<op>\w+)' is not differentiable with respect to argument '(?P<name>\w+)'",
        (
            "{name} requires grad, and {op} has no derivative for it.",
            "The function has a derivative for its other arguments only.",
            "It was raised by the forward pass: a gradient that is silently missing would be worse.",
        ),
        (
            "`{name}.detach()`, if it is no parameter.",
            "Where it is the weight of a loss: take the losses with reduction='none' and multiply by it yourself.",
        ),
        (("no_grad() around the call", "no error, and no gradient for anything"),),
        11,
    ),
    Row(
        "no derivative",
        r"derivative for (?P<op>'[^']*'|\S+) is not implemented",
        (
            "The backward pass reached {op}, an operation that nobody has written a derivative for.",
            "Its result requires grad like any other, because its input does; what is missing is only noticed here.",
            "It appears at backward; the forward pass had no need of it.",
        ),
        (
            "Replace the operation by one that has a derivative: a division and floor() for a floor division.",
            "Write it as an autograd.Function with a backward of your own.",
        ),
        (("detach() of its input", "the error goes, and so does the gradient of that branch"),),
        11,
        "NotImplemented",
    ),
    Row(
        "node called",
        r"'\w*Backward' object is not callable|expected \d+ arguments, got \d+ instead",
        (
            "A backward node was called by hand, in a way that it cannot be called.",
            "Nodes are run by the engine, which gives them one gradient for each of their outputs; that of a Python "
            "Function cannot be called at all.",
            "It was raised by the call itself; no gradient has been computed.",
        ),
        (
            "Let the engine do it: `y.backward(grad)`, or `torch.autograd.grad(y, x, grad)`.",
            "Give one gradient for each output of the operation, None where there is none.",
        ),
        (),
        4,
    ),
    Row(
        "no setup_context",
        r"setup_context is not implemented",
        (
            "The Function's own setup_context was called, and it does nothing but raise.",
            "A forward without ctx needs a setup_context(ctx, inputs, output) that saves what backward needs.",
            "Both styles are allowed, but not half of each.",
        ),
        ("Write setup_context, or take ctx as forward's first argument.",),
        (),
        11,
    ),
    Row(
        "backward and vjp",
        r"both 'backward' and 'vjp' for a custom Function",
        (
            "The class defines backward and vjp, which are two names for one thing.",
            "Autograd cannot know which of them is meant.",
            "It appears during backward, when the method is looked for; apply() does not look.",
        ),
        ("Remove one of them.",),
        (),
        11,
    ),
    Row(
        "gradient number",
        r"function (?P<node>\w+) returned an incorrect number of gradients \(expected (?P<wanted>\d+), got "
        r"(?P<got>\d+)",
        (
            "backward of {node} returned {got} gradients, and apply() was given {wanted} arguments.",
            "Each of them gets one, in order; None for what needs none, such as numbers and flags.",
            "It appears at backward, though the cause is the Function's definition.",
        ),
        ("Return one gradient, or None, for each argument that apply() is given.",),
        (),
        11,
        "node",
    ),
    Row(
        "gradient for a number",
        r"function (?P<node>\w+) returned a gradient different than None at position (?P<position>\d+)",
        (
            "backward of {node} returned a tensor at position {position} (counted from 1), where forward got something "
            "that is no tensor.",
            "A gradient there has nowhere to go.",
            "It would be dropped silently, so it is refused.",
        ),
        ("Return None at that position.", "If its gradient is wanted, pass it to apply() as a tensor."),
        (),
        11,
        "node",
    ),
    Row(
        "gradient kind",
        r"expected Variable or None \(got (?P<got>\w+)\)",
        (
            "backward returned a thing of type {got} as a gradient.",
            "A gradient is a tensor, or None.",
            "A list in place of a tuple counts as one thing.",
        ),
        ("`return grad * 2`, or for several arguments a tuple: `return grad_x, None`.",),
        (),
        11,
    ),
    Row(
        "gradient does not fit",
        r"Function (?P<node>\w+) returned an invalid gradient at index (?P<index>\d+) - got (?P<got>.*?) but expected "
        r"shape "
        r"compatible with (?P<wanted>.*)$",
        (
            "{node} returned a gradient of shape {got} for its input {index} (counted from 0), whose shape is "
            "{wanted}.",
            "A gradient has its input's shape; a larger one is summed down if it broadcasts from there.",
            "Often forward broadcast the input and backward does not add up again, or it adds up too much.",
        ),
        ("Sum over the broadcast dimensions, and check with `grad.shape == x.shape`.", "gradcheck finds this."),
        (),
        11,
        "node",
    ),
    Row(
        "saves no tensor",
        r"save_for_backward can only save variables, but argument (?P<index>\d+) is of type (?P<got>\w+)",
        (
            "ctx.save_for_backward was given a thing of type {got} (argument {index}, counted from 0).",
            "It keeps tensors and watches their versions; other things have none.",
            "They are kept as attributes.",
        ),
        ("`ctx.n = n` for numbers, flags and shapes; save_for_backward for tensors.",),
        (("torch.tensor(n) to get it through", "works, and hides that no gradient is meant for it"),),
        11,
    ),
    Row(
        "apply keywords",
        r"forward\(\) (got an unexpected keyword argument|(got )?multiple values for argument) '(?P<name>\w+)'",
        (
            "apply() passed the keyword argument '{name}' on, and forward cannot take it.",
            "Either forward has no argument of this name, or it got one by position already.",
            "Nothing was computed.",
        ),
        ("Give each argument of forward once; by position is the safe way, as gradients are returned by position.",),
        (),
        11,
    ),
    Row(
        "legacy",
        r"Legacy autograd function with non-static forward",
        (
            "A Function was made and called like a module: `Fn()(x)`.",
            "That is the oldest style, and PyTorch refuses it now: the methods are static and ctx carries the state.",
            "Old tutorials still show it.",
        ),
        ("Add @staticmethod, take ctx in place of self, and call `Fn.apply(x)`.",),
        (),
        11,
    ),
    Row(
        "dirty not returned",
        r"marked as dirty during the forward method were not returned",
        (
            "forward wrote to an input, said so with ctx.mark_dirty, and returned something else.",
            "After the write the input itself is the Function's output: its history must become this node.",
            "If it is not returned, it would keep the old history with new contents.",
        ),
        ("`return x`, the marked tensor itself.", "Or do not write: `return x * 2`."),
        (("leaving mark_dirty out", "no error, and the input's history is wrong from then on"),),
        11,
    ),
    Row(
        "dirty non-input",
        r"mark_dirty\(\) received a tensor that was not an input",
        (
            "ctx.mark_dirty was given a tensor that is no input; for a view this is an error, otherwise a warning.",
            "Only inputs can be dirty: they existed before, with a history that is now out of date.",
            "For new tensors there is nothing to mark.",
        ),
        ("Mark the input that is written to, or nothing.",),
        (),
        11,
    ),
    Row(
        "dirty view, two outputs",
        r"If your Function modifies inplace an input that is a view",
        (
            "forward wrote to an input that is a view, and returned more than one tensor.",
            "A write to a view makes the history of the whole base anew, and that works for a single output only.",
            "Nothing has been recorded.",
        ),
        ("Clone the input before apply().", "Split it into two Functions: one that writes, one for the rest."),
        (),
        11,
    ),
    Row(
        "returned input saved",
        r"input that has been returned as-is as output is being saved",
        (
            "forward returned its input itself, and setup_context saves that output.",
            "Input and output would be one tensor with two histories.",
            "A view has the same values and is a tensor of its own.",
        ),
        ("`return x.view_as(x)` in forward.",),
        (),
        11,
    ),
    Row(
        "saved_tensors once",
        r"saved_tensors can only be accessed once",
        (
            "The class sets clear_saved_tensors_on_access, and backward read ctx.saved_tensors a second time.",
            "The first reading handed the tensors out and let go of them, to save memory.",
            "Each `ctx.saved_tensors[0]` is a reading.",
        ),
        ("Read them once: `x, y = ctx.saved_tensors`.",),
        (),
        11,
    ),
    Row(
        "saved_variables",
        r"'saved_variables' is deprecated",
        (
            "backward reads ctx.saved_variables, the name from before PyTorch 0.4; this is a warning.",
            "It gives the same as ctx.saved_tensors.",
            "Variables and tensors have been one thing since then.",
        ),
        ("Write ctx.saved_tensors.",),
        (),
        11,
    ),
    Row(
        "once differentiable",
        r"differentiate twice a function that was marked with @once_differentiable",
        (
            "A second derivative was asked for through a Function whose backward is marked @once_differentiable.",
            "The mark says that backward computes with things autograd cannot follow, so its result has no history.",
            "Without the mark such a second derivative would be wrong without a word.",
        ),
        ("Write backward with tensor operations on saved inputs and outputs, and remove the mark.",),
        (("removing the mark alone", "what backward computes outside of autograd counts as constant from then on"),),
        13,
    ),
)
