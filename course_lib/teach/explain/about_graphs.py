"""What `explain()` knows about errors of autograd itself: one row for each kind of message.

A row is matched by its pattern, a regular expression with PyTorch's key phrases; the named groups are the facts
that its sentences repeat. `seek` says what to look for in the picture (explain.py), `silences` holds pairs: what
makes the message go away without repairing anything, and what that costs.
"""

from dataclasses import dataclass


@dataclass
class Row:
    """One kind of error: what happened, in three sentences; cures; what only silences it; where to read."""

    key: str
    pattern: str
    says: tuple
    cures: tuple
    silences: tuple = ()
    lesson: int | None = None
    seek: str = ""


SAVED = (
    Row(
        "version",
        r"modified by an inplace operation: \[(?P<kind>[\w.]+) (?P<shape>\[[\d, ]*\])\]"
        r"(?:, which is output (?P<output>\d+) of (?P<op>[\w:]+),)? is at version (?P<now>\d+); "
        r"expected version (?P<wanted>\d+)"
        r"(?:.*?(?P<node>\w+) saved the tensor at version \d+ in (?P<line>.*?); "
        r"it was first changed after that by (?P<change>.*)\.$)?",
        (
            "A backward node kept a tensor of shape {shape} ({kind}) when its memory was at version {wanted}; "
            "when the backward pass came to use it, that memory was at version {now}, so it had been written to "
            "{times} in between.",
            "{origin}",
            "{where}",
        ),
        (
            "Write out of place: `y = y + 1` where there is `y += 1`, `y = y.relu()` where there is `y.relu_()`; "
            "leave out `inplace=True` and `out=`.",
            "Move the write behind backward(): in training, optimizer.step() comes after the last backward().",
            "Write to a copy: `y = y.clone()` before the write leaves what was saved alone.",
        ),
        (
            ("writing through .data", "the counter does not move, so nothing notices, and the gradient is wrong"),
            ("retain_graph=True", "does not help here at all; the version stays what it is"),
            ("detach() of what enters the operation", "the error goes, and so does the gradient of that branch"),
        ),
        7,
        "stale",
    ),
    Row(
        "slot freed",
        r"register_hooks on a saved tensor after it has been freed",
        (
            "The slot that should get a pair of hooks is empty: a backward pass has freed it.",
            "Packing happens when the hooks are registered, and there is nothing left to pack.",
            "A slot can be given hooks only between the forward and the backward pass.",
        ),
        ("Register the hooks before backward().", "Or use saved_tensors_hooks() around the forward pass."),
        (("retain_graph=True", "the slot stays full, and the memory that packing should save is held"),),
        14,
        "freed",
    ),
    Row(
        "freed",
        r"backward through the graph a second time|Trying to backward through a graph",
        (
            "A backward pass went through this graph and let go of the tensors that its nodes had saved; now "
            "somebody wants one of them again.",
            "Usually the loss was rebuilt, but a part of its graph was not: something computed before the loop, or "
            "a state carried over from the last step, still hangs on the old graph.",
            "Nodes that saved nothing can be passed twice, so the error appears at the first node whose slot is "
            "already empty.",
        ),
        (
            "Compute everything that the loss depends on anew in each step.",
            "Carry a state over with `state = state.detach()`.",
            "Add the losses and call backward() once.",
            "If two passes over one graph are meant: retain_graph=True on all but the last.",
        ),
        (
            (
                "retain_graph=True in a training loop",
                "with a state carried over, the graph grows and each pass gets slower; with `scale = x * x` "
                "from before the loop the next error is about versions; with `scale = x.exp()` no error ever comes, "
                "and a part of the gradient belongs to the old x",
            ),
        ),
        6,
        "freed",
    ),
    Row(
        "saved detached",
        r"saved tensor that has been detached in-place",
        (
            "A node saved a tensor, and afterwards detach_() took that very tensor out of its graph.",
            "The node cannot know any more where the gradient of its input should go.",
            "detach() makes a second tensor and leaves the first one where it is; detach_() changes the first.",
        ),
        ("Use `h = h.detach()` for what comes next, and leave the saved tensor alone.",),
        (("detaching before the operation", "no error, and no gradient reaches what h was computed from"),),
        9,
        "detached",
    ),
    Row(
        "slot hooked",
        r"whose hooks have already been set",
        (
            "This slot was packed by a pair of hooks before, and one slot takes one pair.",
            "The second pair would have to pack what the first pair made of the tensor.",
            "Also saved_tensors_hooks() around the forward pass counts as the first pair.",
        ),
        ("Put both steps into one pack and one unpack function.",),
        (),
        14,
    ),
    Row(
        "slot of a leaf that was",
        r"grad_accumulator\(\) should be only called on leaf Variables",
        (
            "A slot's tensor was a leaf when it was saved, and was overwritten since by something that requires grad.",
            "To pack it, its place in the graph must be noted, and that place is no leaf any more.",
            "Nothing was changed; a backward pass would refuse the slot, too.",
        ),
        ("Register the hooks before the tensor is overwritten.", "Write out of place: `y = x * t`."),
        (),
        14,
    ),
    Row(
        "slot empty",
        r"register_hooks on a saved tensor with value None",
        (
            "The node did not need this tensor, so the slot never held one.",
            "A node saves what its derivative needs for the inputs that require grad, and no more.",
            "There is nothing to pack here.",
        ),
        ("Ask `node._saved_x is not None` first.",),
        (),
        6,
    ),
    Row(
        "pack writes",
        r"pack hook is modifying its input",
        (
            "The pack hook wrote into the tensor that it was given.",
            "That tensor is the original, not a copy: the forward pass goes on computing with it.",
            "Its version counter moved during pack, and that is how it was noticed.",
        ),
        ("Pack a new tensor: `t * 2` or `t.clone()` where there is `t.mul_(2)`.",),
        (),
        14,
    ),
    Row(
        "unpack type",
        r"unpack_hook expected to be a Tensor but got result of type (?P<got>\w+)",
        (
            "The unpack hook was asked for the saved tensor and gave a thing of type {got}.",
            "What pack returns may be anything, a file name or a number; what unpack returns must be the tensor again.",
            "It appears when the slot is read, mostly during backward, though the hook was installed earlier.",
        ),
        ("Let unpack build the tensor from what pack returned.", "Check that unpack has a `return`."),
        (),
        14,
    ),
)

WRITING = (
    Row(
        "view of leaf",
        r"a view of a leaf Variable that requires grad is being used in an in-place",
        (
            "The write goes to a view of a leaf that requires grad, and so into the leaf itself: `x[0] = 1` writes "
            "to a view, too.",
            "A leaf is where gradients end; if its contents came from an operation, it would have a history and be "
            "no leaf any more.",
            "It is refused at once, before anything is changed.",
        ),
        (
            "To initialise or update it: write under `with torch.no_grad():`.",
            "To compute with a changed copy: `y = x.clone(); y[0] = 1`.",
        ),
        (
            ("x.data[0] = 1", "works, and does not count the write: what was saved goes wrong without an error"),
            ("x.requires_grad_(False)", "the write is allowed, and nothing is learned"),
        ),
        8,
        "leaf",
    ),
    Row(
        "leaf marked dirty",
        r"a leaf Variable that requires grad has been used in an in-place",
        (
            "A custom Function named a leaf that requires grad, or a view made inside of forward, in ctx.mark_dirty.",
            "A leaf is where gradients end; if its contents came from an operation, it would have a history and be "
            "no leaf any more.",
            "forward has run: if it wrote to the tensor, the new values are there in spite of the error.",
        ),
        ("Write to a copy: `y = x.clone()` in forward, and return that.", "Call apply() on a computed tensor."),
        (),
        11,
        "leaf",
    ),
    Row(
        "leaf",
        r"a leaf Variable that requires grad is being used in an in-place",
        (
            "A leaf that requires grad was to be overwritten while operations are recorded.",
            "A leaf is where gradients end; if its contents came from an operation, it would have a history and be "
            "no leaf any more.",
            "It is refused at once, before anything is changed, even if the value would stay the same.",
        ),
        (
            "To update a parameter: write under `with torch.no_grad():`, as optimizers do.",
            "To compute on: out of place, `y = x + 1`.",
        ),
        (
            ("x.data.add_(1)", "works, and does not count the write: what was saved goes wrong without an error"),
            ("x = x.detach()", "no error, and x is no longer the thing that learns"),
        ),
        7,
        "leaf",
    ),
    Row(
        "leaf that is none any more",
        r"leaf variable has been moved into the graph interior",
        (
            "The backward pass arrived at a tensor that was a leaf when this graph was recorded, and is computed now.",
            "Its requires_grad was switched off, and then something that requires grad was written into it.",
            "It appears during backward: what its `.grad` would have been about is no longer there.",
        ),
        ("Write into a new tensor: `y = x.detach() * w`.", "Record the graph again after the write."),
        (),
        7,
    ),
    Row(
        "view of several",
        r"Output (?P<output>\d+) of (?P<op>\w+) is a view and (?P<how>.*?)\. This view is the output of a function "
        r"that returns multiple views",
        (
            "{op} returns several views of one memory at once, and output {output} of it may not be part of a write "
            "({how}).",
            "A write to a view makes the history of all its memory anew, and with several outputs of one node "
            "PyTorch does not keep track of that.",
            "split, chunk, unbind and `for row in x` are all of this kind.",
        ),
        (
            "Write out of place: `a = a * 2`.",
            "Take the views one by one: `x[0]`, `x[1]` may be written to.",
            "Clone the view first, if only the copy should change.",
        ),
        (
            ("PyTorch's unsafe_split, unsafe_chunk", "no check: correct only if nobody else looks at that memory"),
            ("no_grad around the write", "it is done, not recorded; the next use of a view raises this again"),
        ),
        8,
        "view",
    ),
    Row(
        "view made unrecorded",
        r"view was created in (?P<mode>no_grad mode|inference mode) and (?P<how>.*?) (?:with grad mode enabled|"
        r"in normal"
        r" mode)|is a view of a view which was created in (?P<mode2>no_grad mode|inference mode) and (?P<how2>.*?) "
        r"(?:with grad mode enabled|in normal mode)",
        (
            "A view was made in {mode}, where nothing is recorded, and now a write outside of it concerns its memory "
            "({how}).",
            "Should the write be part of the graph or not? Both answers are plausible, so PyTorch refuses to guess.",
            "If the base was written to, it is noticed only when the view is next used.",
        ),
        (
            "Make the view where the write is: both inside the block, or both outside.",
            "Clone the view, if it should keep the old values.",
        ),
        (("view.detach() or .data", "the write happens and is not in the graph: gradients ignore it"),),
        8,
        "view",
    ),
    Row(
        "view from a Function",
        r"Output (?P<output>\d+) of (?P<op>\w+) is a view and (?P<how>.*?)\. This view was created inside a custom",
        (
            "The custom Function {op} returned a view of its input, or the input itself, and it may not be part of a "
            "write ({how}).",
            "A write to a view would replace the history of the memory, and with it the backward that the Function "
            "defines.",
            "That gradient would be wrong without a word, so it is forbidden.",
        ),
        (
            "Return a copy from forward: `return x.clone()` or `x.view(-1).clone()`.",
            "If the Function is meant to write to its input: ctx.mark_dirty(x).",
        ),
        (),
        11,
        "view",
    ),
    Row(
        "overlaps itself",
        r"more than one element of the written-to tensor refers to a single memory location",
        (
            "The tensor that should be written to shows one element in several places: expand() makes such tensors.",
            "Several values would be written into one place of memory, and the last one would win.",
            "It is refused before anything is changed.",
        ),
        ("`t = t.clone()` first: a clone has a place for every element.", "Write to the tensor that was expanded."),
        (),
        8,
    ),
    Row(
        "overlaps operand",
        r"some elements of the input tensor and the written-to tensor refer to a single memory",
        (
            "What is read and what is written share a part of their memory, shifted against each other.",
            "The result would depend on the order in which elements are visited.",
            "It is refused before anything is changed.",
        ),
        ("Clone what is read: `x[1:].add_(x[:-1].clone())`.",),
        (),
        8,
    ),
    Row(
        "out=",
        r"(?P<op>\w+)\(\): functions with out=",
        (
            "{op} was told with out= to write its result into an existing tensor, and one of the tensors requires "
            "grad.",
            "Writing with out= is not recorded: the result could not know where it came from.",
            "PyTorch refuses it while operations are recorded.",
        ),
        ("Leave out= away: `y = torch.{op}(…)`.", "Under `with torch.no_grad():` out= is allowed."),
        (("detach() of the tensors that enter", "it computes, and the result has no history"),),
        1,
    ),
    Row(
        "out= resized",
        r"An output with one or more elements was resized",
        (
            "out= named a tensor of another shape than the result has.",
            "The tensor took the result's shape; views of it and other tensors on its memory keep theirs.",
            "PyTorch warns for now, and computed the result.",
        ),
        ("Make the tensor in the result's shape.", "Leave out= away: the result is a new tensor."),
    ),
    Row(
        "detach view",
        r"Can't detach views in-place",
        (
            "detach_() was called on a view.",
            "A view's history belongs to its base: taken out alone, the two would disagree about one memory.",
            "The long message is about one case that people met with DistributedDataParallel; the rule is general.",
        ),
        ("`v = v.detach()`: a new tensor on the same memory, out of the graph.",),
        (),
        9,
        "view",
    ),
    Row(
        "inference saved",
        r"Inference tensors cannot be saved for backward",
        (
            "A tensor made in inference_mode takes part in an operation that has to save it for backward.",
            "Inference tensors have no version counter, so nobody could check that the saved tensor is unchanged.",
            "Without a gradient to compute, the same operation would have been fine.",
        ),
        ("`c = c.clone()` outside of inference_mode.", "Make the tensor under no_grad in place of inference_mode."),
        (),
        9,
    ),
    Row(
        "inference written",
        r"Inplace update to inference tensor outside InferenceMode",
        (
            "A tensor made in inference_mode is written to outside of it.",
            "It has no version counter, so the write could not be counted. PyTorch has written by the time it raises; "
            "our engine has not.",
            "Inside the block the same write is allowed.",
        ),
        ("`c = c.clone()` first: the clone is an ordinary tensor.", "Move the write into the block."),
        (),
        9,
    ),
    Row(
        "inference version",
        r"Inference tensors do not track version counter",
        (
            "`_version` was asked of a tensor that was made in inference_mode.",
            "Such tensors have no counter: that saves a little time for each of them.",
            "Nothing is wrong with the tensor.",
        ),
        ("Ask `t.is_inference()` first.", "Use no_grad, whose tensors have counters."),
        (),
        9,
    ),
    Row(
        "inference requires grad",
        r"Setting requires_grad=True on inference tensor",
        (
            "A tensor made in inference_mode should become a leaf that requires grad.",
            "It has no version counter, and its flag can be set only where it was made, inside of the mode.",
            "The mode in which a tensor was made stays with it.",
        ),
        ("`c = c.clone().requires_grad_()` outside of inference_mode.",),
        (),
        9,
    ),
)

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
                "no error any more and nothing is learned: the loss is a leaf, and the gradient ends right there",
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
        r"forward\(\) got (an unexpected keyword argument|multiple values for argument) '(?P<name>\w+)'",
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

TOOLS = (
    Row(
        "gradcheck mismatch",
        r"Jacobian mismatch for output (?P<output>\d+) with respect to input (?P<input>\d+)",
        (
            "gradcheck moved each element of input {input} a little and compared with what backward says: they differ "
            "for output {output}.",
            "The first matrix in the message is measured, the second comes from backward.",
            "With float32 the measurement itself is too coarse; at kinks there is no derivative.",
        ),
        ("Use dtype=torch.float64.", "Divide the two matrices: a constant factor names the forgotten one."),
        (("a larger eps or atol", "the test passes, and the wrong gradient stays"),),
        11,
    ),
    Row(
        "gradcheck inputs",
        r"gradcheck expects at least one input tensor to require gradient",
        (
            "gradcheck got no input that requires grad.",
            "It compares derivatives, and there is none to compare.",
            "Nothing was checked.",
        ),
        ("`x = torch.randn(3, dtype=torch.float64, requires_grad=True)`.",),
        (),
        11,
    ),
    Row(
        "gradcheck other",
        r"Backward is not reentrant|Numerical gradient for function expected to be zero|backward not multiplied by "
        r"grad_output|grad is incorrect (type|size)|undefined output grads|not overlapping|gradcheck|"
        r"overlapping memory",
        (
            "gradcheck ran backward with several starts, and one of its questions got a wrong answer.",
            "Backward must give the same twice, be proportional to grad_output, and return the input's shape and type.",
            "The message names the question.",
        ),
        ("Write backward as `grad * …`, without state that changes between two calls.",),
        (("raise_exception=False", "returns False in place of the message"),),
        11,
    ),
    Row(
        "functional",
        r"user-provided function|must be either a Tensor or a tuple of Tensors|given to (jacobian|hessian|vjp|jvp|hvp|"
        r"vhp|the user)|[Ff]unction given to|"
        r"[Gg]iven v should|"
        r"is a tuple of invalid length|has invalid size: should be",
        (
            "One of jacobian, hessian, vjp and jvp was called with a function or vectors that it cannot use.",
            "They take a function of tensors to tensors, hessian, hvp and vhp one to a single number, and a "
            "vector of the "
            "shape that it is multiplied with.",
            "With strict=True a result that does not depend on an input is an error, too.",
        ),
        ("Print the shapes of inputs, outputs and v.", "End the function in `.sum()` for a hessian."),
        (),
        3,
    ),
    Row(
        "module hooks",
        r"Backward [\w-]+ returned an invalid number|Backward hook for Modules|"
        r"regular backward hooks and full backward hooks|"
        r"forward pre-hook must return|load_state_dict_post_hook",
        (
            "A hook on a module returned something that it may not, or two kinds of backward hooks were mixed.",
            "A backward hook gets and returns tuples with one gradient for each input; None changes nothing.",
            "Old (register_backward_hook) and full hooks see different things, so a module takes one kind.",
        ),
        ("register_full_backward_hook() for all; return a tuple or nothing.",),
        (),
        12,
    ),
    Row(
        "mutation allowed",
        r"allow_mutation_on_saved_tensors",
        (
            "allow_mutation_on_saved_tensors() copies a saved tensor just before it is overwritten.",
            "It knows of saved tensors only while its block is open, and only one block can be open.",
            "Forward and backward must be inside the same block.",
        ),
        ("One block around the forward and the backward pass.", "Or write out of place, and need no block."),
        (),
        7,
    ),
    Row(
        "norm not finite",
        r"total norm of order",
        (
            "clip_grad_norm_ was told to raise if the gradients' norm is nan or infinite, and it is.",
            "Scaling by it would have made every gradient nan or zero.",
            "Some gradient was nan or infinite already.",
        ),
        ("Find where it comes from: `torch.autograd.set_detect_anomaly(True)`.", "Look at the loss, and at the rate."),
        (("error_if_nonfinite=False", "the step goes on with gradients of nan, and of 0 if the norm is infinite"),),
        10,
    ),
    Row(
        "checkpoint changed",
        r"torch\.utils\.checkpoint: (A different number of tensors|Recomputed values|trying to save more tensors)|"
        r"Detected non-determinism while running activation checkpointing|debug=True noted the recorded operations",
        (
            "During backward the checkpointed function was run again, and what it saved differs from the first time.",
            "Checkpointing drops what was saved and relies on the second run to make it anew.",
            "Something else decides what it does: a global, random numbers, the mode, or grad mode.",
        ),
        (
            "Make the function depend on its arguments only.",
            "Leave preserve_rng_state at True.",
            "To find the place: checkpoint(…, debug=True) tells the operations of both runs.",
        ),
        (("determinism_check='none'", "switches the comparison off: a wrong recomputation goes unnoticed"),),
        14,
    ),
    Row(
        "checkpoint",
        r"checkpoint\(|use_reentrant|torch\.utils\.checkpoint|none of output has requires_grad|"
        r"None of the inputs have requires_grad|context_fn",
        (
            "checkpoint() cannot do what was asked of it with these arguments.",
            "The reentrant kind needs an input that requires grad, since it runs its own backward pass; and neither "
            "kind "
            "makes sense if no output requires grad.",
            "The other kind, use_reentrant=False, records as usual and only drops what was saved.",
        ),
        ("Say use_reentrant=False.",),
        (("x.requires_grad_() on the data", "the error goes; a gradient for the data is computed for nothing"),),
        14,
    ),
    Row(
        "optimizer non-leaf",
        r"can't optimize a non-leaf Tensor",
        (
            "The optimizer was given a tensor that was computed from others.",
            "Its .grad stays None: backward() stores gradients in leaves only.",
            "`.to(…)`, `.double()` or `* 0.01` after requires_grad=True is the usual cause.",
        ),
        ("Make the leaf last: `w = (torch.randn(3) * 0.01).requires_grad_()`, or nn.Parameter(…).",),
        (("w.detach().requires_grad_()", "right, if nothing else should learn through it"),),
        5,
        "asked",
    ),
    Row(
        "optimizer arguments",
        r"optimizer got an empty parameter list|optimizer parameters need to be|more than one parameter group|"
        r"parameter group|param_group|"
        r"params argument "
        r"given to the optimizer|can only optimize Tensors|Invalid (?!source)(learning rate|momentum|"
        r"weight_decay|beta|epsilon|"
        r"eps|lr"
        r"|\w+ value|\w+):? |Nesterov|loaded state dict",
        (
            "The optimizer cannot be built, or loaded, with these arguments.",
            "It needs a list of leaves, each of them once, and numbers in their allowed range.",
            "A generator that was used before, such as model.parameters(), is empty the second time.",
        ),
        ("`list(model.parameters())`, each tensor in one group.",),
        (),
        10,
    ),
    Row(
        "scheduler order",
        r"lr_scheduler\.step\(\)` before `optimizer\.step\(\)",
        (
            "scheduler.step() was called before the first optimizer.step(); this is a warning.",
            "The schedule is then one step ahead: its first learning rate is used once less, or never.",
            "The order is: backward(), optimizer.step(), scheduler.step().",
        ),
        ("Call scheduler.step() after optimizer.step().",),
        (),
        10,
    ),
    Row(
        "not here",
        r"course_lib does not support (?P<what>.*?)\. (?P<instead>.*)$|"
        r"elements of type (?P<type>\w+) are not supported",
        (
            "This engine does not have {what}, which PyTorch has.",
            "The message says what to do in its place: {instead}",
            "Nothing is wrong with the program as a PyTorch program.",
        ),
        ("Do what the message says, or run the cell with `import torch`.",),
        (),
        0,
    ),
)

ROWS = SAVED + WRITING + LEAVES + PASSES + HOOKS + FUNCTIONS + TOOLS
