"""What `explain()` knows about which tensors have a history, a flag and a `.grad`, and how they are made and left."""

from backscope.explaining.rows import Row

LEAVES = (
    Row(
        "flag of a computed tensor",
        r"you can only change requires_grad flags of leaf variables",
        (
            "requires_grad was set, to False or True, on a tensor that was computed from one that requires grad.",
            "For such a tensor the flag is a consequence of its history and no choice.",
            "Only leaves have a flag of their own.",
        ),
        (
            "To have it off: `y = y.detach()`, the same values without the history, or freeze the leaf behind it.",
            "It is on already; to see its gradient: `y.retain_grad()` before backward.",
        ),
        (),
        2,
        "asked",
    ),
    Row(
        "only floats",
        r"[Oo]nly Tensors of floating point|Autograd not support dtype",
        (
            "A tensor of integers or bools should require grad, or be computed from one that does.",
            "A derivative asks what happens when a value moves a little, and integers cannot.",
            "`torch.tensor([1, 2])` is made of integers; `torch.tensor([1., 2.])` is not.",
        ),
        ("Write the numbers with a point, or say dtype=torch.float32.", "`t.float().requires_grad_()`."),
        (),
        2,
    ),
    Row(
        "flag is a bool",
        r"requires_grad must be a bool|argument 'requires_grad' must be bool",
        (
            "requires_grad was set to something that is neither True nor False.",
            "It is a yes or no, and numbers are not accepted for it.",
            "Nothing was changed.",
        ),
        ("`x.requires_grad = True`, or `x.requires_grad_()`.",),
        (),
        2,
    ),
    Row(
        "a fact",
        r"attribute '(?P<name>\w+)' of '[\w.]+' objects is not writable",
        (
            "Something was assigned to `{name}` of a tensor or a node, which says what is true of it and is no choice.",
            "Shape and type come from its memory, grad_fn and is_leaf from how it was computed.",
            "Nothing was changed. A tensor takes any other name, misspelt ones too; so does the node of a "
            "custom Function, "
            "and other nodes take none.",
        ),
        ("Make another tensor, and give it the old name: `x = x.reshape(2, 3)`, `x = x.double()`, `x = x.detach()`.",),
        (),
        2,
    ),
    Row(
        "data",
        r"data set to a tensor that requires gradients must be floating|Variable data has to be a tensor",
        (
            "`.data = …` replaces the contents of a tensor by those of another tensor, and this other thing does not "
            "fit: it must be a tensor, and of floating point if the first one requires grad.",
            "Assigning .data is not recorded and does not count in the version.",
            "Nothing was changed.",
        ),
        ("`with torch.no_grad(): x.copy_(new)`: converts, is counted, and keeps the memory.",),
        (),
        9,
    ),
    Row(
        "numpy",
        r"Can't call numpy\(\) on Tensor that requires grad",
        (
            "numpy() hands out the tensor's memory, and NumPy records nothing.",
            "What is computed there would be missing from the graph, so PyTorch asks you to say that this is meant.",
            "Saying so is detach().",
        ),
        ("For a plot or a print: `x.detach().numpy()`.", "To go on differentiating: stay with tensor operations."),
        (("x.data.numpy()", "the same array, but writes to it are not counted"),),
        9,
        "asked",
    ),
    Row(
        "scalar of grad",
        r"Converting a tensor with requires_grad=True to a scalar",
        (
            "A tensor that requires grad was turned into a Python number; this is a warning, and the number is right.",
            "The number has no history: what is computed with it is not in the graph.",
            "For logging that is what you want; inside a loss it loses gradients without an error.",
        ),
        ("For logging: `loss.item()` or `loss.detach()`.", "Inside a computation: keep the tensor."),
        (),
        9,
    ),
    Row(
        "deepcopy",
        r"support the deepcopy protocol at the moment",
        (
            "copy.deepcopy was asked for a copy of a tensor that has a history.",
            "A deep copy would have to copy the graph behind it as well, so only leaves may be copied.",
            "Often the tensor is an attribute of a module that is copied, such as a stored activation.",
        ),
        ("`y.detach().clone()` for the values, `y.clone()` to stay in the graph.", "Do not keep results on modules."),
        (),
        2,
        "asked",
    ),
    Row(
        "hook left behind",
        r"backward hook .* on tensor will not be serialized",
        (
            "A tensor with a hook was pickled or copied by copy.copy; this is a warning.",
            "A hook is code that lives in this process, and neither a file nor a copy takes it along.",
            "The copy has the values and no hooks.",
        ),
        (
            "Register the hook again on what was read or copied.",
            "Nobody will miss it: `hook.__torch_unserializable__ = True` silences the warning.",
        ),
        (),
        12,
        "asked",
    ),
    Row(
        "grad of a non-leaf",
        r"The \.grad attribute of a Tensor that is not a leaf",
        (
            "`.grad` was read on a tensor that was computed; this is a warning, and the answer is None.",
            "backward() stores gradients in leaves only; what passes through the others is used and dropped.",
            "A parameter made with `torch.randn(3, requires_grad=True) * 0.01` is such a tensor: the product is.",
        ),
        (
            "`h.retain_grad()` before backward, if the gradient of an intermediate tensor is wanted.",
            "Make the leaf last: `w = (torch.randn(3) * 0.01).requires_grad_()`.",
        ),
        (),
        5,
        "asked",
    ),
    Row(
        "grad is None",
        r"^'NoneType' object has no attribute '(?P<name>[a-z]\w*_|data|norm|detach|clone|abs|sum|mean|item|numpy)'$",
        (
            "`{name}` was asked of something that is None. If it is a `.grad`, no gradient has arrived in this tensor.",
            "backward() stores gradients in leaves only. `w = w - lr * w.grad`, `w.to(device)` and `w * 0.01` make "
            "computed tensors, and their `.grad` stays None.",
            "It is None, too, before the first backward(), after zero_grad(), and where the loss does not depend on "
            "the tensor.",
        ),
        (
            "Update the leaf itself: `with torch.no_grad(): w -= lr * w.grad`.",
            "Make the leaf last: `w = (torch.randn(3) * 0.01).requires_grad_()`.",
            "If it may be None: `if w.grad is not None:` before it.",
        ),
        (),
        5,
    ),
    Row(
        "retain grad",
        r"can't retain_grad on Tensor that has requires_grad=False",
        (
            "A gradient should be kept for a tensor that requires none.",
            "No gradient will ever arrive there: it has no history and is no leaf that requires grad.",
            "The cause is earlier: this tensor was detached, made under no_grad, or nothing behind it requires grad.",
        ),
        ("`x.requires_grad_()` before the computation.", "Find where the history was lost: draw(x)."),
        (("calling requires_grad_() on the result", "a new leaf: its gradient goes no further back"),),
        5,
        "asked",
    ),
    Row(
        "hook on plain",
        r"cannot register a hook on a tensor that doesn't require grad|Expected gradient function to be set",
        (
            "A hook should be called when the gradient of this tensor arrives, and none will.",
            "The tensor requires no grad: it has no history and is no leaf that requires grad.",
            "Perhaps it was made under no_grad, or detached.",
        ),
        ("Register it on the tensor that is in the graph.", "`x.requires_grad_()` before the computation."),
        (),
        12,
        "asked",
    ),
    Row(
        "multi hook in grad",
        r"A leaf node was passed to _will_engine_execute_node",
        (
            "A hook on several tensors has a leaf among them, and autograd.grad() runs.",
            "To know when all gradients are there it must know which nodes will run, and autograd.grad() runs no "
            "leaf's node: it only catches what arrives there.",
            "backward() does run it, so the same hook works there.",
        ),
        ("Call backward() instead of autograd.grad().", "Register the hook on computed tensors only."),
        (),
        12,
    ),
    Row(
        "post hook on non-leaf",
        r"post accumulate grad hooks cannot be registered on non-leaf",
        (
            "This kind of hook is called after .grad has been added to, and only leaves have that.",
            "The tensor was computed, so its gradient is handed on and not accumulated.",
            "register_hook() is the kind for computed tensors: it sees the gradient on its way.",
        ),
        ("`h.register_hook(…)`.", "Register it on the leaf."),
        (),
        12,
        "asked",
    ),
    Row(
        "gradient edge",
        r"gradient edge for a Tensor that does not require grad",
        (
            "A gradient edge is the place in the graph where a tensor's gradient is computed.",
            "This tensor requires no grad, so there is no such place.",
            "Nothing was changed.",
        ),
        ("`x.requires_grad_()` first.",),
        (),
        1,
        "asked",
    ),
    Row(
        "gradient edge in inference mode",
        r"'NoneType' object has no attribute 'next_functions'",
        (
            "The gradient edge of a leaf was asked for in inference mode, or that of a leaf made there.",
            "PyTorch finds a leaf's node through a view of the leaf, and in inference mode views are not recorded.",
            "Nothing was changed.",
        ),
        ("Ask outside the block.", "Use no_grad() in place of inference_mode()."),
        (),
        1,
        "asked",
    ),
    Row(
        "grad type",
        r"assigned grad expected to be a Tensor or None but got grad of type (?P<got>\w+)",
        (
            "`.grad` was set to a thing of type {got}.",
            "backward() adds to what stands in .grad, and optimizers read it: it has to be a tensor or None.",
            "Nothing was changed.",
        ),
        ("`x.grad = torch.tensor(…)`, or `x.grad = None` to start afresh.",),
        (),
        5,
    ),
    Row(
        "grad size",
        r"assign a gradient of size '(?P<got>\[.*?\])' to a tensor of size '(?P<wanted>\[.*?\])'",
        (
            "`.grad` was set to a tensor of shape {got}, and the tensor has shape {wanted}.",
            "A gradient says for each element how the loss changes with it, so the shapes are equal.",
            "A shape that could be broadcast is refused, too.",
        ),
        ("Give it the tensor's shape: `g.expand_as(x).clone()` or `g.reshape(x.shape)`.",),
        (),
        5,
    ),
    Row(
        "grad dtype",
        r"assign a gradient with dtype '(?P<got>[\w ]+)' to a tensor with grad_dtype '(?P<wanted>\w+)'",
        (
            "`.grad` was set to a tensor of {got}, and the tensor holds {wanted}.",
            "The optimizer computes with both, so they have one element type.",
            "NumPy's float64 arrays are the usual source.",
        ),
        ("`x.grad = g.to(x.dtype)`.",),
        (),
        5,
    ),
    Row(
        "own grad",
        r"can't assign Variable as its own grad",
        (
            "A tensor was assigned to its own .grad.",
            "The first backward() would add gradients to the values themselves.",
            "Nothing was changed.",
        ),
        ("Assign a copy: `x.grad = x.detach().clone()`.",),
        (),
        5,
        "asked",
    ),
)
