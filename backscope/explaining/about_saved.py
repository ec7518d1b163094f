"""What `explain()` knows about saved tensors: versions that moved, slots that were freed, hooks that pack."""

from backscope.explaining.rows import Row

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
