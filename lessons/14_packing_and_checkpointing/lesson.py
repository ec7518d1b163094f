# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 14 · Packing and checkpointing: what may a node hold instead of a saved tensor?
#
# **Your network is too large for the memory of your machine. A colleague shows you a function called `checkpoint`. You write `h = checkpoint(encoder, x)` instead of `h = encoder(x)`, and what the encoder computes need not be stored. The memory falls to almost nothing, the loss falls, and you go home. A week later you compare the files. Every weight of the encoder is, to the last digit, what it was on the first day.**
#
# Nothing is wrong with the idea. A saved tensor is only a *promise* that backward will get certain numbers, and a promise can be kept in many ways. The numbers may wait in fewer bits, or in a file. They need not wait at all if they can be computed a second time. But if you keep the promise yourself, you also have to do what PyTorch did for you.
#
# After this lesson you can
#
# - make the nodes of a graph hold something other than tensors;
# - write a checkpoint yourself, in two ways, and say which of them PyTorch gives you;
# - find the mistakes that packing and checkpoints make possible, most of which raise no error.
#
# **Minutes** 84, and 8 for more exercises · **Needs** lessons 00, 02, 05, 06, 07 and 11, above all saved tensors (06) and Functions (11) · **Out of scope** how much memory packing saves (part [14b](14b_what_packing_costs.ipynb)), where to put checkpoints (part [14c](14c_memory_against_time.ipynb)), `torch.compile`
#
# [← 13 Double backward](13_double_backward.ipynb) · [all lessons](home.ipynb) · [15 Reading PyTorch →](15_reading_pytorch.ipynb)

# %%
import course_lib as torch
import itertools

from backscope import draw
from coursekit import lesson

L = lesson(14)
nn = torch.nn
hooks = torch.autograd.graph.saved_tensors_hooks
checkpoint = torch.utils.checkpoint.checkpoint

# %% [markdown]
# Here is the story, made small. An *encoder* of six layers turns each sample into 16 features, and a *head*, a single layer, turns the features into the answer. `changed` has the colleague's line.

# %%
def network():
    torch.manual_seed(0)
    encoder = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(16, 16), nn.Tanh())])
    return encoder, nn.Linear(16, 1), torch.randn(256, 16)


def plain(encoder, samples):
    return encoder(samples)


def changed(encoder, samples):
    return checkpoint(encoder, samples)


ways = {"as usual": plain, "with checkpoint": changed}
L.stage.trainings(torch, network, ways, ask_ledger=True)

# %% [markdown]
# (`L.stage` holds this lesson's training loop and its charts. It trains for 60 steps, and it asks the `ledger` of lesson 06 how many bytes nodes have saved.)
#
# With the changed line the nodes hold next to nothing, and the loss falls. But it stays far above the other curve, and the first weights of the encoder have not moved at all. The head has learned what a head can learn from features that never change.
#
# There was no error. There were two warnings, among all the other lines of the log. We will read them when you know how a checkpoint works, and for that you need to know what a node can hold.
#
# ## What may a node hold instead of a tensor?
#
# Between forward and backward, nothing reads a saved tensor. So the node could hold something smaller in the meantime, as long as the right numbers are back when its turn comes. PyTorch lets you decide what it holds. You write two functions:
#
# - **`pack(tensor)`** is called with a tensor that a node is about to save. The node holds whatever it returns: a smaller tensor, a file name, a number, any Python object.
# - **`unpack(packed)`** is called with this object, and must return a tensor with the numbers that the formula wants to read.
#
# The two are handed over as a pair of **saved-tensor hooks**, with `torch.autograd.graph.saved_tensors_hooks(pack, unpack)`. In the first cell of this lesson we gave it the short name `hooks`. In this program the two functions only print what they are given:

# %%
def pack(tensor):
    print("pack", tensor.tolist(), "with recording", torch.is_grad_enabled())
    return tensor.detach()


def unpack(packed):
    print("unpack", packed.tolist())
    return packed


def two_passes():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with hooks(pack, unpack):
        total = ((x * w).sin() + x).sum()
    picture = draw(total)
    print("--- first backward")  # both passes run outside of the block
    total.backward(retain_graph=True)
    print("--- second backward")
    total.backward()
    return picture

# %% [markdown]
# **Predict.** How many calls of `pack` are there in the whole forward pass? How many of `unpack` in the forward pass? In the first backward? In the second? Answer with a list of four numbers. (Go through the operations as in lesson 06: what does each of them save?)

# %%
L.predict("14.p1", None)

# %% tags=["C14.1"]
L.run(two_passes, after="14.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - `pack` was called three times, at once and during forward: for the two factors of the product and for the input of `sin`. The addition and the sum save no tensor. In the picture, three drawers say *packed by hooks*, and no tensor is drawn in them.
# - While `pack` runs, recording is off (`False` in the log). What it computes leaves no nodes.
# - `unpack` was called when a slot was read. Nothing remembers what it returned, so the second pass called it three times more.
# - Both passes ran outside of the block. That makes no difference. The pair belongs to the slots that were filled inside of the block, for as long as these slots live.
#
# (Our `pack` returns `tensor.detach()`. If it returned `tensor` itself, a result and its node could keep each other alive: part [14b](14b_what_packing_costs.ipynb).)
#
# > **The rule.** With saved-tensor hooks a node holds what `pack` returned, and its formula reads what `unpack` returns, at each reading anew.

# %% [markdown]
# Two things are refused:

# %% tags=["C14.2"]
def pack_writes():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with hooks(lambda tensor: tensor.mul_(0.5), unpack):
        (x * 1).sin()


def unpack_returns_text():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with hooks(lambda tensor: "wait for me", lambda packed: packed):
        y = x.sin().sum()
    print("the forward pass has ended")
    y.backward()


L.run(pack_writes)
L.run(unpack_returns_text)

# %% [markdown]
# `pack` may not write into the tensor that it is given, because your program goes on computing with that tensor. And `unpack` must return a tensor. The second error came in backward, long after the mistake: PyTorch does not look at what `pack` returns.
#
# ## Is a packed tensor still checked?
#
# Remember the version check of lesson 07. A node notes the version of a tensor that it saves. If somebody writes into this tensor before backward, the pass raises. Here is such a program. The slope of h² is 2h, so `h ** 2` saves `h`.

# %%
def overwritten(pack=None):
    x = torch.tensor([2.0], requires_grad=True)
    h = x * 1
    if pack is None:
        y = h**2
    else:
        with hooks(pack, lambda packed: packed):
            y = h**2
    h.mul_(10)  # somebody reuses the memory of h
    y.sum().backward()
    print("x.grad:", x.grad)


def alias(tensor):
    return tensor.detach()


def copy(tensor):
    return tensor.clone()

# %% [markdown]
# When `y` was computed, `h` was 2, so the right gradient is 4. The program is run three times: without hooks, with `alias` as `pack`, and with `copy` as `pack`.
#
# **Predict.** What is `x.grad` in the three cases? Answer with a list of three. Each entry is a number, or `"error"` if backward raises. (What does the node hold in each case? And what could PyTorch compare?)

# %%
L.predict("14.p2", None)

# %% tags=["C14.3"]
L.run(overwritten, after="14.p2")
L.run(overwritten, alias, after="14.p2")
L.run(overwritten, copy, after="14.p2")

# %% [markdown] tags=["tells"]
# Without hooks the check does its work. With hooks there is no check at all.
#
# - The alias looks at the memory of `h`. The node read 20 where it had been promised 2, and the gradient 4 became 40, without a word.
# - The copy still holds the 2, and the gradient is right, although `h` was overwritten.
#
# There is a reason. After the write a copy is still good and an alias is not, and PyTorch cannot tell which of the two `pack` has returned. So it checks neither.
#
# > **The rule.** A packed tensor has no version check. A copy stays right whatever is overwritten, and an alias goes wrong without an error.

# %% [markdown]
# What packing buys, and when it costs memory instead, is the question of part [14b](14b_what_packing_costs.ipynb). Here we go one step further.
#
# ## Can a node hold nothing at all?
#
# Take some layers in a row, a *part* of a network. Everything that is computed in it can be computed again, from the tensor that went in and the weights. This is the plan:
#
# 1. **Forward**: run the part with recording off. No nodes are made, and nothing is saved. Put the input aside.
# 2. **Backward**: run the part a second time, now with recording on. This makes a small graph. Run backward through it, and throw it away.
#
# You have had a tool for this since lesson 11: a Function, whose `forward` runs with recording off anyway.

# %%
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, h):
        ctx.part = part
        ctx.save_for_backward(h)
        return part(h)

    @staticmethod
    def backward(ctx, grad):
        (h,) = ctx.saved_tensors
        h = h.detach().requires_grad_()  # where the small graph begins
        with torch.enable_grad():
            result = ctx.part(h)  # the second run
        result.backward(grad)  # a backward pass inside of the backward pass
        return None, h.grad


# %% [markdown]
# This technique is called **checkpointing**, also *gradient checkpointing*, *activation checkpointing* or *rematerialisation*. (It has nothing to do with the checkpoint file in which you save the weights of a model.)
#
# Here is a small part, written as usual and with our Function:

# %% tags=["C14.4"]
x = torch.tensor([0.5, 1.0], requires_grad=True)
w = torch.tensor([1.0, 2.0], requires_grad=True)


def part(h):
    return torch.tanh(h * w).exp()


usual, checkpointed = part(x), Checkpoint.apply(part, x)
for y in (usual, checkpointed):
    x.grad = w.grad = None
    y.sum().backward(retain_graph=True)
    print("x.grad", x.grad, "w.grad", w.grad)
draw(usual, checkpointed, detail=0)

# %% [markdown]
# **Notice:**
#
# - The gradients are the same, those of `w` included.
# - The usual graph has three nodes. The checkpoint is a single node.
# - From node 4, the checkpoint, an arrow leads to `x`, and none leads to `w`. Still, `w` got its gradient. It came from the *inner* pass, which found `w` in the small graph. Keep this in mind: the graph of your program, the *large* one, knows nothing of `w`.
#
# A pass that begins while another pass is running is called **re-entrant**: the engine is entered a second time.
#
# The missing arrow is a weakness. `torch.autograd.grad` hands gradients back and stores none, so it looks for a way in the large graph. We also try PyTorch's own `checkpoint`. Its argument `use_reentrant` chooses between two forms, and with True it is written like our Function:

# %% tags=["C14.5"]
def gradient_of(leaf, run):
    return torch.autograd.grad(run(part, x).sum(), leaf)


def reentrant(part, *arguments):
    return checkpoint(part, *arguments, use_reentrant=True)


L.run(gradient_of, w, Checkpoint.apply)
L.run(gradient_of, x, reentrant)

# %% [markdown]
# There is no way to `w`. PyTorch's re-entrant form refuses `autograd.grad` altogether, even for `x`, to which there is a way.
#
# > **The rule.** A checkpoint puts aside the input of a part, and in backward it runs the part again to get everything else. The re-entrant form is one node, which knows the arguments and not the weights inside.
#
# ## Could saved-tensor hooks do it as well?
#
# Yes. Run the part as usual, with recording *on*, so that all nodes and all arrows are there. But let `pack` return nothing more than a number, which says "I am the third tensor that was saved in here". When the first number has to be unpacked, run the part again, under a second pair of hooks. It catches everything that this run wants to save. Then the third number gets the third tensor.

# %%
def checkpoint_by_hooks(part, *arguments):
    places, again = itertools.count(), []

    def catch(tensor):
        again.append(tensor.detach())

    def unpack(place):
        if not again:  # the first one that is asked for
            with torch.enable_grad(), hooks(catch, lambda packed: packed):
                part(*arguments)
        return again[place]

    with hooks(lambda tensor: next(places), unpack):
        return part(*arguments)


# %% tags=["C14.5"]
L.run(gradient_of, w, checkpoint_by_hooks)
L.run(lambda: draw(checkpoint_by_hooks(part, x)))

# %% [markdown]
# **Notice:** this graph has all the nodes of the usual one, and an arrow to `w`. Only the drawers are different. Four tensors were packed, and instead of them the nodes hold the numbers 0 to 3. (`torch.enable_grad()` is needed because recording is off during a backward pass. Without it the second run would save nothing.)
#
# PyTorch's `checkpoint` is this form if you say `use_reentrant=False`. It does more than our sketch. It puts the arguments aside in slots, as a node does with what it saves. It has a second run for each backward pass, and it lets go of each tensor that it has handed out.
#
# > **The rule.** The re-entrant form replaces the nodes of a part by one node. The form with hooks keeps the nodes and replaces what they have saved.
#
# ## Which of the two do you get if you do not say?
#
# The story's line was `checkpoint(encoder, samples)`, as in many scripts on the web. Here is such a call:

# %% tags=["C14.6"]
def without_the_argument():
    y = checkpoint(part, x)
    print("its node:", y.grad_fn.name())


L.run(without_the_argument)

# %% [markdown]
# You get the older, re-entrant form, and a warning. This is the first of the two warnings in the story's log. It goes on to say that from PyTorch 2.9 on such a call raises an exception. In PyTorch 2.13, with which this course is compared, it still does not. PyTorch recommends the other form.
#
# > **The rule.** `checkpoint` without `use_reentrant` is re-entrant. Write `use_reentrant=False` in each call.
#
# ## Who is trained if the input requires no gradient?
#
# Back to the story. An encoder with a weight `W` turns plain data into features, and a head with a weight `V` uses them. Here are five other ways to call the encoder:

# %%
def A(encode, W, x):
    return checkpoint(encode, x, use_reentrant=False)


def B(encode, W, x):
    return checkpoint(encode, x.requires_grad_(), use_reentrant=True)


def C(encode, W, x):
    return checkpoint(lambda a, W: torch.tanh(a @ W), x, W, use_reentrant=True)


def D(encode, W, x):
    with torch.enable_grad():
        return checkpoint(encode, x, use_reentrant=True)


def E(encode, W, x):
    return checkpoint(encode, x, use_reentrant=True).requires_grad_()


def one_pass(way):
    W, V = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    h = way(lambda a: torch.tanh(a @ W), W, torch.ones(3, 2))
    (h @ V).sum().backward()
    found = "None" if W.grad is None else "a tensor"
    print(f"{way.__name__} - W.grad is {found}")

# %% [markdown]
# **Predict.** With which of the five does `W` get a gradient? Answer with a list of letters. Think of the two graphs: which node, if any, does the large graph have for the encoder, and what would start the inner pass?

# %%
L.predict("14.p3", None)

# %% tags=["C14.7", "P24"]
for way in (A, B, C, D, E):
    L.run(one_pass, way, after="14.p3")

# %% [markdown] tags=["tells"]
# Think of our Function. `apply` makes a node if one of the *tensors that it is given* requires a gradient. That is the rule of lesson 01, and it knows nothing about what happens inside. In the story the only tensor given was plain data. So no node was made, and the features came out without a history. The loss had one way back, to the head. The second run never took place, because there was no node to start it.
#
# - **B** and **C** give `apply` a tensor that requires a gradient: the input, or the weight itself. Then there is a node, and a second run. (In B a gradient for the data is computed as well, which you do not need.)
# - **D** changes nothing. Recording was on already. What is missing is a tensor that requires a gradient.
# - **E** silences an error, if there is one, and brings no history back (lesson 02).
# - **A** runs the part with recording on. Each operation decides for itself, `a @ W` has an operand that requires a gradient, and all is as it would be without a checkpoint.
#
# A and C are also the cures if the input *cannot* require a gradient, such as the token numbers of a language model, which are integers. The warning that D and E show is the second one in the story's log.
#
# > **The rule.** In the re-entrant form the tensors among the arguments decide whether there is a node. In the form with hooks each operation decides.

# %% [markdown]
# Now the *whole* network is in the checkpoint:

# %% tags=["C14.7", "P24"]
def all_of_it():
    W = torch.ones(2, 2, requires_grad=True)
    loss = reentrant(lambda a: torch.tanh(a @ W).sum(), torch.ones(3, 2))
    loss.backward()


L.run(all_of_it, after="14.p3")

# %% [markdown] tags=["tells"]
# Here you are luckier. The loss has no history at all, and that is an old error.

# %% [markdown]
# And here is the story again, with the argument:

# %% tags=["P24"]
def cured(encoder, samples):
    return checkpoint(encoder, samples, use_reentrant=False)


ways = {"with checkpoint": changed, "cured": cured}
L.run(L.stage.trainings, torch, network, ways, after="14.p3")

# %% [markdown] tags=["tells"]
# The loss is that of the training without a checkpoint, 0.1896 in the end, and the first weights have moved.

# %% [markdown]
# And the memory? The ledger looks at the slots of nodes, and this form keeps its tensors in lists of its own. So the ledger reports too little here, as the last line of its table says. `L.stage.peaks` counts by other means: an activation counts until its memory is let go.

# %% tags=["P24"]
L.run(L.stage.peaks, torch, network, (0, 1, 2), after="14.p3")

# %% [markdown] tags=["tells"]
# With one checkpoint around the whole encoder the peak is what it was. The second run needs all activations at once, after all. So the colleague's line would have saved nothing at the peak. Its few bytes were the sign that the encoder was left out. With two checkpoints, of three layers each, it is 4 activations instead of 6. Where to put them is the question of part [14c](14c_memory_against_time.ipynb).

# %% [markdown]
# ## Is a checkpoint checked as a saved tensor is?
#
# In this part the slope is 2 · a · w, so for a = 2 and w = 3 it is 12. Between forward and backward the weight is doubled in place. An optimizer does this if `step()` comes too early.

# %%
def stepped_too_early(forward):
    x = torch.tensor([2.0], requires_grad=True)
    w = torch.tensor([3.0], requires_grad=True)
    y = forward(x, w)
    with torch.no_grad():
        w.mul_(2)
    y.backward()
    print(x.grad)


def usual_way(x, w):
    return w * x**2


def finds_w(x, w):
    return checkpoint(lambda a: w * a**2, x, use_reentrant=False)


def is_given_w(x, w):
    return checkpoint(lambda a, w: w * a**2, x, w, use_reentrant=False)

# %% [markdown]
# **Predict.** What is `x.grad` with `usual_way`, with `finds_w` and with `is_given_w`? Answer with a list of three. Each entry is a number, or `"error"` if backward raises. (In each case, what is in a slot?)

# %%
L.predict("14.p4", None)

# %% tags=["C14.8"]
L.run(stepped_too_early, usual_way, after="14.p4")
L.run(stepped_too_early, finds_w, after="14.p4")
L.run(stepped_too_early, is_given_w, after="14.p4")

# %% [markdown] tags=["tells"]
# Without a checkpoint, the product had saved `w`, and the check of lesson 07 stops the pass. With `finds_w` nothing has saved it. The function is simply called again, finds `w` where it always was, with the new number in it, and the gradient is 24. It belongs to a loss that was never computed. With `is_given_w` the weight is an argument. Arguments are put aside in slots, a slot notes the version, and the check is back.
#
# In practice the weights are parameters of a module, and the module is what you checkpoint. Then `finds_w` is your case. The order "first backward, then step" is a rule that PyTorch no longer watches over.
#
# > **The rule.** Tensor arguments of a checkpoint are checked for their version when the second run begins. What its function finds elsewhere is not checked, and is used as it is by then.

# %% [markdown]
# ### Exercise: which happens?
#
# **14.1 · Which happens?** (8 minutes). In every program `y` is the sine of `x`, which is `torch.tensor([0.5, 1.0], requires_grad=True)`. Afterwards `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the cosine of `x`).
#
# | | program |
# | --- | --- |
# | A | `h = x * 1`, then `with hooks(lambda t: t.clone(), lambda p: p): y = h.sin()`, then `h.mul_(3)` |
# | B | `h = x * 1`, then `with hooks(lambda t: t.detach(), lambda p: p): y = h.sin()`, then `h.mul_(3)` |
# | C | `with hooks(lambda t: None, lambda p: x.detach()): y = x.sin()` |
# | D | `with hooks(lambda t: t.tolist(), lambda p: p): y = x.sin()` |
# | E | `with hooks(lambda t: t.mul_(2), lambda p: p / 2): y = (x * 1).sin()` |
# | F | `h = x * 1`, then `y = checkpoint(torch.sin, h, use_reentrant=False)`, then `h.mul_(3)` |
# | G | `k = torch.ones(2)`, then `y = checkpoint(lambda a: (a * k).sin(), x, use_reentrant=False)`, then `k.mul_(3)` |
# | H | `y = checkpoint(torch.sin, x.detach(), use_reentrant=True)` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("14.1", happens)

# %% [markdown]
# ## Does the second run see the same random numbers?
#
# Dropout sets a random half of the numbers to 0 and doubles the others. The gradient of a number is 2 if it was kept and 0 if it was dropped. So for an input of ones, output and gradient must be the same tensor.

# %%
def drop(h):
    return nn.functional.dropout(h, 0.5)


def agrees(run, part=drop):
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    y = run(part, x)
    y.sum().backward()
    same = (y == x.grad).sum().item()
    print(f"{same} of 1000 gradients belong to the output")


def with_hooks(part, *arguments):
    return checkpoint(part, *arguments, use_reentrant=False)

# %% [markdown]
# **Predict.** In how many of the 1000 places do output and gradient agree, roughly, with our Function `Checkpoint.apply`? And with PyTorch's `checkpoint`? Answer with a list of two numbers.

# %%
L.predict("14.p5", None)

# %% tags=["C14.9"]
L.run(agrees, Checkpoint.apply, after="14.p5")
L.run(agrees, checkpoint_by_hooks, after="14.p5")
L.run(agrees, reentrant, after="14.p5")
L.run(agrees, with_hooks, after="14.p5")

# %% [markdown] tags=["tells"]
# The first two lines are the checkpoints that we wrote. They are wrong, and there was no error. The second run drew a second mask. The loss was computed with one network, and the gradient with another one. Half of the gradients agree by accident, as often as two coins do.
#
# PyTorch's `checkpoint`, in both forms, notes the state of the random numbers before the first run. It sets it back for the second one. (`preserve_rng_state=False` switches this off, to save a little time.)

# %% [markdown]
# In the next two programs the numbers come from a generator of our own:

# %% tags=["C14.9"]
generator = torch.Generator()


def noisy(h):
    return h * torch.rand(1000, generator=generator)


def drawn_outside(part, x):
    noise = torch.rand(1000, generator=generator)
    return checkpoint(lambda h, noise: h * noise, x, noise, use_reentrant=False)


L.run(agrees, with_hooks, noisy, after="14.p5")
L.run(agrees, drawn_outside, after="14.p5")

# %% [markdown] tags=["tells"]
# `checkpoint` does not know this generator, nor NumPy's, nor Python's `random`. The cure is `drawn_outside`: draw outside of the checkpoint, and give the numbers to it as an argument.
#
# > **The rule.** `checkpoint` sets back the random numbers of torch for the second run, and no others.

# %% [markdown]
# ### Exercise: repair the noise
#
# **14.2 · Repair the noise** (5 minutes). A block multiplies its result by noise from the caller's generator. (`w` is square, so the noise has the shape of `h`.) Without the checkpoint its gradients are right, with it they are not. Repair it: the same output as now, gradients that belong to it, and the result of `tanh` still not stored until backward.


# %%
def noisy_block(torch, h, w, generator):
    def block(h):
        noise = torch.rand(h.shape, generator=generator).to(h.dtype)
        return torch.tanh(h @ w) * noise

    return torch.utils.checkpoint.checkpoint(block, h, use_reentrant=False)


L.check("14.2", noisy_block)

# %% [markdown]
# ## What else may be different in the second run?
#
# `BatchNorm` counts the batches that it has seen, and moves its running mean a little with each. Here is one training step:

# %% tags=["C14.10"]
def one_step(run):
    norm = nn.BatchNorm1d(1)
    run(norm, torch.tensor([[1.0], [3.0]], requires_grad=True)).sum().backward()
    print("batches seen:", norm.num_batches_tracked, "running mean:", norm.running_mean)


def directly(part, x):
    return part(x)


L.run(one_step, directly)
L.run(one_step, with_hooks)

# %% [markdown]
# In a checkpoint it has seen the one batch twice. The gradients are right, since in training the statistics of the batch are used. But the running mean moves twice in each step, and you use it when you evaluate. So leave such a module outside. (`LayerNorm` and `GroupNorm` count nothing, and may stay.) The same is true of everything else that your code changes while it runs: counters, caches, lists that you append to.
#
# Now a flag changes between the two runs, once from True to False and once from False to True. It might as well be a counter, or a cache that is filled in the meantime.

# %% tags=["C14.11"]
settings = {"deep": True}


def changing(h):
    if settings["deep"]:
        h = h.exp()
    return h.sin()


def two_runs(first, second, **options):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    settings["deep"] = first
    y = checkpoint(changing, x, use_reentrant=False, **options)
    settings["deep"] = second
    y.sum().backward()
    print("gradient:", x.grad, " right:", x.detach().cos())


def two_full_runs(first, second):
    two_runs(first, second, early_stop=False)


L.run(two_runs, True, False)
L.run(two_runs, False, True)
L.run(two_full_runs, False, True)

# %% [markdown]
# The first program raises, because the second run has saved fewer tensors than the first. A tensor of another shape, dtype or device raises as well.
#
# The second program has no error, and its gradient is wrong. Its second run would save *more* tensors, but `checkpoint` stops it as soon as it has as many as it needs. With `early_stop=False`, in the third program, the second run goes on to its end, and raises. The numbers themselves are not compared in any case, because for that the first ones would have to be stored.
#
# The error says *that* the two runs differ, and not where. For this there is `debug=True`: both runs are written down, operation by operation. This is our engine's report:

# %% tags=["engine", "C14.11"]
try:
    two_runs(True, False, debug=True)
except torch.utils.checkpoint.CheckpointError as error:
    print(str(error).partition("An error happened")[2])

# %% [markdown]
# Read the two lists side by side, and look for the first line in which they differ. The line of your program stands beside it. (PyTorch's report has some hundred lines, because it gives the whole stack of calls for each operation. The two lists stand near its end, under "Log of operators in the original forward and recomputation".)
#
# > **The rule.** The second run must meet what the first one met. A `CheckpointError` says that it saved too few tensors or tensors of another form. Other numbers are not noticed, and more tensors only with `early_stop=False`.
#
# ## Exercises: more, if you like
#
# **14.3 · Repair the loop** (8 minutes). The loop checkpoints `layers`, a list of functions, in segments of `length` (the last one may be shorter). The result is right. The gradients are not. Two things are wrong, and the second one shows only if `h` is plain data. Each layer should run once in forward, and at most once more in backward.


# %%
def run_in_segments(torch, layers, h, length):
    for i in range(0, len(layers), length):

        def segment(a):
            for layer in layers[i : i + length]:
                a = layer(a)
            return a

        h = torch.utils.checkpoint.checkpoint(segment, h, use_reentrant=True)
    return h


L.check("14.3", run_in_segments)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C14.1** pack is called once for each slot that a node fills with a tensor of the program, during forward and with recording off; unpack is called anew at each reading, also outside of the block.
# - **C14.2** pack may not write into the tensor that it is given, and unpack must return a tensor.
# - **C14.3** A packed tensor is not checked for its version: a copy gives the right gradient after the tensor was overwritten, an alias a wrong one without an error.
# - **C14.4** A checkpoint of some layers gives the gradients of the layers without one, those of weights inside included, and the graph saves only the input.
# - **C14.5** With use_reentrant=True the weights inside are not in the large graph, and autograd.grad does not reach them; with use_reentrant=False all nodes are there.
# - **C14.6** checkpoint without use_reentrant is the re-entrant form, and warns.
# - **C14.7** With use_reentrant=True weights inside are trained only if a tensor among the arguments requires grad, and otherwise there is a warning; with use_reentrant=False they are trained as without a checkpoint.
# - **C14.8** A tensor argument that was overwritten raises when the second run begins; a tensor that the function finds elsewhere is used with its new numbers.
# - **C14.9** checkpoint gives both runs the same random numbers of torch; with numbers from a generator of one's own the gradient is wrong without an error.
# - **C14.10** BatchNorm inside of a checkpoint counts each training batch twice.
# - **C14.11** A second run that saves fewer tensors, or tensors of another shape or dtype, raises CheckpointError, and debug=True names the operations of both runs; one that saves other numbers, or would go on to save more tensors, is not noticed.
#
# **A recipe.** `checkpoint(block, h, use_reentrant=False)`. Random numbers from torch, or drawn outside. Backward before everything that writes into weights. Then compare the gradients with those of one step without a checkpoint, from the same seed.
#
# **Left out:** GPUs, whose random numbers PyTorch sets back, too.
#
# **Read on in our engine:** `course_lib/utils/checkpoint.py`, and `PackedVariable` in `course_lib/engine/saved.py`.
#
# **Next:** a model of a real size, in [lesson 15](15_reading_pytorch.ipynb). Or first [14b](14b_what_packing_costs.ipynb), what packing costs, and [14c](14c_memory_against_time.ipynb), where to put checkpoints.
