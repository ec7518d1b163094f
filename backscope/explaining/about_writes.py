"""What `explain()` knows about writes in place, to leaves and to views: what is refused at once."""

from backscope.explaining.rows import Row

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
