"""What `explain()` knows about autograd's neighbours in PyTorch: DDP, torch.func, checkpoint, GradScaler, compile.

These rows are looked at first: their messages are long, and hold words that other rows know, too.
"""

from backscope.explaining.rows import Row

NOT_LOOKED_INTO = "What happens inside of a transform of torch.func is not recorded: no line is named that wrote."

NEIGHBOURS = (
    Row(
        "not a tensor",
        r"'(?P<got>float|int|numpy\.\w+|ndarray|list|tuple|dict|str|NoneType)' object has no attribute 'backward'",
        (
            "backward() was called on a thing of type {got}, which has no graph.",
            "item(), float(), tolist() and NumPy give numbers; the history stays behind with the tensor.",
            "It was raised by the line itself, and nothing was computed.",
        ),
        (
            "Keep the loss as a tensor, and take its number for the log only: `print(loss.item())`.",
            "Of several losses make one: `torch.stack(losses).mean()`, or `sum(losses)`.",
        ),
        (("torch.tensor(loss, requires_grad=True)", "no error any more, and nothing is learned"),),
        9,
    ),
    Row(
        "numpy's function",
        r"received an invalid combination of arguments - got \((?:[^)]*, )?(?:out|dtype|axis|keepdims)=|"
        r"\w+\(\) got an unexpected keyword argument '(?:axis|keepdims|out)'",
        (
            "A function of NumPy was called with a tensor, and called the tensor's own method in its turn.",
            "The two take other arguments: NumPy says axis and out, PyTorch dim.",
            "It was raised by the line itself: no graph is needed for that.",
        ),
        (
            "`torch.mean(x)` in place of `np.mean(x)`: recorded, and differentiated.",
            "For the log: `np.mean(x.detach().numpy())`.",
        ),
        (),
        9,
    ),
    Row(
        "complex loss",
        r"grad can be implicitly created only for real scalar outputs but got (?P<got>\S+)",
        (
            "backward() was called on a loss of {got}, and a complex number cannot be made small.",
            "A loss is one real number; its gradient says in which direction it falls.",
            "Nothing was computed.",
        ),
        ("Take a real number of it: `loss.abs()`, `loss.real`, or `(z * z.conj()).real.sum()`.",),
        (),
        3,
    ),
    Row(
        "ddp unfinished",
        r"Expected to have finished reduction in the prior iteration(?:.*?did not receive grad for rank \d+: "
        r"(?P<indices>\d[\d ]*))?",
        (
            "DistributedDataParallel averages the gradient of every parameter over all processes, and waits until each "
            "has one.",
            "In the pass before, some parameters got none{unused}: forward did not use them, or the loss left out what "
            "they were for.",
            "So the next forward pass found the reduction unfinished.",
        ),
        (
            "If they should learn: let the loss depend on them in every pass, on every process.",
            "If they should not: freeze them before the model is wrapped, `p.requires_grad_(False)`.",
            "If that changes from pass to pass: `DistributedDataParallel(model, find_unused_parameters=True)`. It "
            "costs a walk through the graph after each forward pass.",
        ),
        (
            ("adding `0 * p.sum()` to the loss", "the reduction ends, and gradients of zero go over the network"),
            ("no_sync() around the pass", "nothing is averaged: the processes drift apart"),
        ),
        12,
    ),
    Row(
        "ddp ready twice",
        r"Expected to mark a variable ready only once(?:.*?Parameter at index \d+ with name (?P<name>[\w.]+) has "
        r"been)?",
        (
            "DistributedDataParallel hangs a hook on each parameter and sends its gradient when the hook has run: once "
            "in a pass.",
            "Here it ran twice{twice}: the parameter is used in several reentrant checkpoints, or forward ran several "
            "times before backward().",
            "The second gradient would come after the first was sent.",
        ),
        (
            "With checkpoint(): `use_reentrant=False`, which records as usual. Only the reentrant kind runs a pass of "
            "its own for each block.",
            "One forward pass of the wrapped model for one backward(): join the batches, or call the parts inside of "
            "forward.",
            "`DistributedDataParallel(model, static_graph=True)`, if every pass uses the same parameters equally "
            "often: it counts in the first pass, and takes that for all others.",
        ),
        (("find_unused_parameters=True", "does not help here, and makes this error more likely with checkpoint()"),),
        12,
    ),
    Row(
        "ddp nothing to do",
        r"DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient",
        (
            "A model without a parameter that requires grad should be wrapped in DistributedDataParallel.",
            "It averages gradients, and there will be none.",
            "Often everything was frozen before the model was wrapped.",
        ),
        ("Call the model without the wrapper.", "Unfreeze what should learn before it is wrapped."),
        (),
        2,
    ),
    Row(
        "func write",
        r"During a (?:grad|vjp).*? transform, the function provided attempted to call in-place operation "
        r"\((?P<op>[\w:.]+)\)",
        (
            "A function that torch.func differentiates wrote in place ({op}) to a tensor that it was not given as an "
            "argument.",
            "The transform follows arguments only: a write to anything else would be lost to it, or leak out of it. "
            "A batch norm in training mode writes to its running statistics.",
            NOT_LOOKED_INTO,
        ),
        (
            "Pass clones of the buffers with the parameters: `buffers = {name: one.clone() for name, one in "
            "net.named_buffers()}`, and `functional_call(net, (params, buffers), (x,))`.",
            "Without running statistics: `torch.func.replace_all_batch_norm_modules_(net)` before.",
            "Write out of place, or return the new value beside the result (`has_aux=True`).",
        ),
        (("net.eval()", "nothing is written; and the statistics of the batch are not used either"),),
        15,
    ),
    Row(
        "func backward inside",
        r"backward\(\) called inside a functorch transform|attempting to call Tensor\.requires_grad_\(\).*?inside of a "
        r"function being transformed",
        (
            "backward() or requires_grad_() was called in a function that torch.func transforms.",
            "The transform itself says what is differentiated: its arguments; and it returns the gradient.",
            NOT_LOOKED_INTO,
        ),
        (
            "Return the loss, and let `torch.func.grad(f)(x)` give the gradient; nest it for a second one.",
            "Or leave torch.func out, and call backward() on the result.",
        ),
        (),
        15,
    ),
    Row(
        "func not scalar",
        r"Expected f\(\*args\) to return a (?:scalar )?[Tt]ensor",
        (
            "torch.func.grad() was given a function that does not return a single number.",
            "It differentiates one number; for several, a vector must be said, or all rows of the Jacobian asked for.",
            NOT_LOOKED_INTO,
        ),
        (
            "Reduce it: `lambda x: f(x).mean()`.",
            "`torch.func.jacrev(f)` for all derivatives, `torch.func.vjp(f, x)` for one vector.",
            "If f returns more than the loss: `torch.func.grad(f, has_aux=True)`.",
        ),
        (),
        3,
    ),
    Row(
        "func and Functions",
        r"use an autograd\.Function with functorch transforms|You tried to vmap over (?P<name>\w+), but it does not "
        r"have vmap support",
        (
            "A custom Function is called in a function that torch.func transforms, and it is not written for that.",
            "grad and vjp need forward without ctx and a setup_context; vmap needs a rule, or leave to make one.",
            NOT_LOOKED_INTO,
        ),
        (
            "Write `forward(x)` and `setup_context(ctx, inputs, output)` in place of `forward(ctx, x)`.",
            "For vmap: `generate_vmap_rule = True` in the class, if forward and backward are tensor operations.",
        ),
        (),
        11,
    ),
    Row(
        "vmap value",
        r"vmap: It looks like you're (?P<what>calling \.item\(\)|attempting to use a Tensor in some data-dependent|"
        r"calling \S+)",
        (
            "A function under vmap asked for the value of a tensor: item(), an `if`, a mask as an index.",
            "It runs once for all samples, so there is no one value to decide by.",
            NOT_LOOKED_INTO,
        ),
        ("`torch.where(condition, a, b)` in place of `if`.", "Keep tensors in place of item(), int() and float()."),
        (),
        15,
    ),
    Row(
        "vmap random",
        r"vmap: called random operation while in randomness error mode",
        (
            "A function under vmap draws random numbers, and nobody said whether the samples share them.",
            "Dropout is the usual one.",
            NOT_LOOKED_INTO,
        ),
        ("`torch.vmap(f, randomness='different')` for each its own, `'same'` for one for all.",),
        (),
        15,
    ),
    Row(
        "vmap write",
        r"vmap: inplace arithmetic|vmap: \S+ is not possible because",
        (
            "A function under vmap writes in place to a tensor that has no dimension for the samples.",
            "Each sample would write another value to the same place.",
            NOT_LOOKED_INTO,
        ),
        ("Write out of place: `y = y + x`.", "Make the tensor that is written to from the sample: `zeros_like(x)`."),
        (),
        15,
    ),
    Row(
        "full backward hook",
        r"Output \d+ of (?:BackwardHookFunction|_DDPSink)(?:Backward)? is a view and is being modified inplace",
        (
            "{hooked} passes its {side} through a node of PyTorch's own, which calls the hook, and the result is "
            "written to in place.",
            "The node gives out a view; a write to it would replace the node, and the hook would see a wrong gradient.",
            "No Function of yours is concerned: it is the hook and the write that do not go together.",
        ),
        (
            "Write out of place behind the module: without `inplace=True`, `y = y + x` in place of `y += x`.",
            "If the write has to stay: a hook on the tensor, `y.register_hook(…)` in a forward hook, in place of the "
            "full backward hook.",
        ),
        (("clone() of the module's output before the write", "right, too: it costs the memory that inplace saves"),),
        12,
        "view",
    ),
    Row(
        "second derivative of attention",
        r"derivative for '?aten::_(?:scaled_dot_product|efficient_attention|flash_attention)\w* is not implemented",
        (
            "A second derivative reached fused attention, and its backward has no derivative of its own.",
            "scaled_dot_product_attention picks a kernel; the fused ones are differentiated once, the plain one (MATH) "
            "any number of times.",
            "It appears at the second pass; the first had no need of it.",
        ),
        (
            "Have the plain kernel for this forward pass: `with sdpa_kernel(SDPBackend.MATH):`, from "
            "torch.nn.attention. It needs the memory of the whole attention matrix.",
            "Or ask for the gradient penalty before the attention layers.",
        ),
        (("create_graph=False", "the error goes, and the penalty is a constant: it teaches nothing"),),
        13,
        "NotImplemented",
    ),
    Row(
        "second derivative of cudnn",
        r"derivative for '?(?:aten::)?_cudnn_rnn_backward'? is not implemented|cudnn RNN backward can only be called "
        r"in training mode",
        (
            "cuDNN's recurrent layer has no derivative for what was asked: a second one, or one in eval mode.",
            "PyTorch's own implementation has both, and is slower.",
            "It appears at backward; the forward pass had no need of it.",
        ),
        (
            "`with torch.backends.cudnn.flags(enabled=False):` around the forward pass.",
            "For a first derivative: train() for the recurrent layer alone, with its dropout at 0.",
        ),
        (),
        13,
    ),
    Row(
        "checkpoint and grad",
        r"torch\.utils\.checkpoint is incompatible with \.grad\(\)|Checkpointing is not compatible with \.grad\(\)",
        (
            "autograd.grad(), or backward(inputs=…), met a reentrant checkpoint.",
            "The reentrant kind runs a backward pass of its own, which adds to every leaf's .grad: it cannot give a "
            "gradient for some tensors only.",
            "The other kind records as usual, and can.",
        ),
        ("`checkpoint(f, x, use_reentrant=False)`.", "Or backward() without `inputs`."),
        (),
        14,
    ),
    Row(
        "to another process",
        r"Cowardly refusing to serialize non-leaf tensor",
        (
            "A tensor with a history should go to another process: through a queue, or out of a DataLoader's worker.",
            "Its graph cannot go along, so a gradient could not come back.",
            "Saying that this is meant is detach().",
        ),
        (
            "`queue.put(x.detach())`.",
            "In a Dataset: make its tensors under `with torch.no_grad():`, or from data that requires no grad.",
        ),
        (),
        9,
    ),
    Row(
        "scaler",
        r"No inf checks were recorded for this optimizer|unscale_\(\) has already been called|unscale_\(\) is being "
        r"called after step|step\(\) has already been called since the last update|Attempted (?:step|update|unscale_) "
        r"but _scale is None",
        (
            "GradScaler keeps count of what was done with each optimizer, and this call does not fit its count.",
            "The order is: scale(loss).backward(), unscale_(optimizer) at most once, step(optimizer), and one update() "
            "for all.",
            "“No inf checks” means that no parameter of the optimizer has a .grad: the scaled loss does not reach it.",
        ),
        (
            "`scaler.scale(loss).backward()`, `scaler.step(optimizer)`, `scaler.update()`, once in each step; "
            "unscale_() only before clipping.",
            "If no gradient arrived: look where the history of the loss ends, or give the optimizer the parameters of "
            "the model that ran.",
        ),
        (),
        10,
    ),
    Row(
        "closure",
        r"missing 1 required positional argument: 'closure'",
        (
            "This optimizer computes the loss several times in a step, and was not told how.",
            "LBFGS looks along a line: it calls a function that clears the gradients, computes the loss and calls "
            "backward().",
            "Nothing was changed.",
        ),
        ("`optimizer.step(closure)`, where closure() calls zero_grad() and backward() and returns the loss.",),
        (),
        10,
    ),
    Row(
        "sparse gradients",
        r"(?P<name>\w+) does not support sparse gradients",
        (
            "{name} met a sparse gradient: that of an Embedding with sparse=True.",
            "It holds the rows that were looked up, and this optimizer works on whole tensors.",
            "The pass was right; only the step is refused.",
        ),
        (
            "`sparse=False` in the Embedding: a whole gradient.",
            "`torch.optim.SparseAdam` or SGD for this weight, another optimizer for the rest.",
        ),
        (),
        10,
    ),
    Row(
        "donated buffers",
        r"compiled with non-empty donated buffers",
        (
            "torch.compile has given the memory of saved tensors to the backward pass, to use it again.",
            "That holds for one pass; retain_graph=True and create_graph=True ask for a second.",
            "What torch.compile has compiled is not recorded: no line is named.",
        ),
        (
            "Add the losses and call backward() once.",
            "If two passes are meant: `torch._functorch.config.donated_buffer = False` before the first call. It costs "
            "the memory that was to be used again.",
        ),
        (),
        6,
    ),
    Row(
        "forward mode",
        r"[Tt]rying to use forward AD with (?P<op>\w+) that does not support it",
        (
            "jvp(), jacfwd() or hessian() met {op}, which has no derivative in forward mode.",
            "Most operations have one in both directions, this one in reverse only.",
            "It was raised by the forward pass itself.",
        ),
        ("In reverse: `jacrev` in place of `jacfwd`, `vjp` in place of `jvp`, `jacrev(jacrev(f))` for a hessian.",),
        (),
        3,
    ),
    Row(
        "functional tensors",
        r"FunctionalTensor|FakeTensor|functionaliz",
        (
            "The message comes from what stands below torch.compile and torch.export: they run the program on tensors "
            "without values.",
            "Operations that need values, or memory of their own, cannot run there.",
            "That is not looked into here.",
        ),
        ("Run it without torch.compile: if the error stays, it is the program's own, and is explained then.",),
        (),
        15,
    ),
)
