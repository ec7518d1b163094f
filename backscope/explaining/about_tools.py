"""What `explain()` knows about what stands around autograd: gradcheck, modules, checkpoint, optimizers."""

from backscope.explaining.rows import Row

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
