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
# # 14 · Packing and checkpointing: how do you train a network whose activations do not fit?
#
# **Your network is too large for the memory of your machine. A colleague shows you a function called `checkpoint`: wrap the call of the encoder in it, and what the encoder computes need not be stored. You change one line, and the memory falls to almost nothing. The training starts, the loss falls, and you go home. A week later you compare the files. Every weight of the encoder is, to the last digit, what it was on the first day.**
#
# Nothing was wrong with the idea. It is one of the most useful ideas there are: a saved tensor is only a *promise* that backward will get certain numbers, and there are many ways to keep a promise. The numbers may wait in fewer bits. They may wait in a file. They need not wait at all, if they can be computed a second time. But whoever takes over the keeping of a promise also takes over what PyTorch used to do for it, and PyTorch used to do more than most people know.
#
# After this lesson you can
#
# - have the nodes of a graph hold something other than tensors: half the bits, a file, or nothing;
# - work out, before you try, how much memory a checkpoint saves and how much computing it costs;
# - choose which part of a network is worth computing twice;
# - find the mistakes that a checkpoint makes possible, most of which raise no error.
#
# **Minutes** 150, in two sittings of about the same length: a rest is marked in the middle · **Needs** lessons 00, 02, 05, 06, 07 and 11, above all saved tensors (06) and Functions (11) · **Out of scope** memory of weights and optimizers, several machines (lesson 17), `torch.compile`
#
# [← 13 Double backward](13_double_backward.ipynb) · [all lessons](home.ipynb) · [15 Reading PyTorch →](15_reading_pytorch.ipynb)

# %%
import course_lib as torch
import gc
import itertools
import os
import tempfile
import warnings
import weakref

import numpy as np

from backscope import draw, ledger
from coursekit import chart, expect_error, lesson, show

L = lesson(14)
nn, hooks, checkpoint = torch.nn, torch.autograd.graph.saved_tensors_hooks, torch.utils.checkpoint.checkpoint

# %% [markdown]
# Here is the story, made small. An *encoder* of six layers turns each sample into 16 features, and a *head*, a single layer, turns the features into the answer. `plain` calls the encoder as usual, and `changed` is the changed line. `train` runs 60 steps, and prints the first and the last loss, and how far the first weights of the encoder have moved.


# %%
def network():
    torch.manual_seed(0)
    encoder = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(16, 16), nn.Tanh())])
    return encoder, nn.Linear(16, 1), torch.randn(256, 16)


def plain(encoder, samples):
    return encoder(samples)


def changed(encoder, samples):
    return checkpoint(encoder, samples)  # the changed line


def train(encoded):
    encoder, head, samples = network()
    target, before, losses = samples[:, :1] * samples[:, 1:2], encoder[0].weight.detach().clone(), []
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = ((head(encoded(encoder, samples)) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    moved = (encoder[0].weight - before).abs().max().item()
    print(f"loss {losses[0]:.4f}, at the end {losses[-1]:.4f}; the first weights have moved by up to {moved:.2f}")


# %% [markdown]
# First as usual, and then with the changed line. There are two forms of a checkpoint, and an argument `use_reentrant` chooses. The call leaves it out, as many scripts on the web do. PyTorch 2.13 then warns, and takes the older form; the second sitting explains both. The `ledger` of lesson 06 says how many bytes nodes had saved in one step, at the peak.

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # there was a warning, among all the lines of the log
    for encoded in (plain, changed):
        encoder, head, samples = network()
        with ledger(leaves=False) as held:
            head(encoded(encoder, samples)).sum().backward()
        print("as usual" if encoded is plain else "with checkpoint", "-", f"{held.peak:,} bytes at the peak")
        train(encoded)

# %% [markdown]
# Not one byte is saved, and the loss falls. But the first training brings the loss down to a sixth of what it was, and the second takes off less than a tenth. The head has learned what a head alone can learn, from features that never changed.
#
# We will come back to this program when you know how a checkpoint works. To know that, you have to know where the memory of a training step goes, and what may be done about it.
#
# ## Where does the memory of a training step go?
#
# Lesson 06 has the answer for one small network. Let us now make the network deeper. The block below is a matrix product and GELU, a smooth relative of ReLU that many language models use. It is written out, so that we see everything that is saved. The batch has 64 rows, the layers are 64 wide, and so every matrix between the input and the loss holds 64 · 64 numbers, which are 16,384 bytes. We call such a matrix *an activation*, and use it as our unit.

# %%
UNIT = 64 * 64 * 4  # bytes of an activation


def gelu(u):
    return 0.5 * u * (1 + torch.tanh(0.8 * (u + 0.045 * u**3)))


def block(h, w):
    return gelu(h @ w)


def begin(n, rows=64):
    torch.manual_seed(1)
    ws = [(torch.randn(64, 64) / 8).requires_grad_() for _ in range(n)]
    return ws, torch.ones(rows, 64, requires_grad=True)


def forward(layer, n, rows=64):
    ws, h = begin(n, rows)
    for w in ws:
        h = layer(h, w)
    return h.sum(), ws


for n, rows in ((1, 64), (2, 64), (4, 64), (8, 640), (8, 64)):
    with ledger(leaves=False) as held:
        loss, ws = forward(block, n, rows)
        loss.backward()
    print(f"blocks: {n}, rows: {rows:3}, at the peak {held.peak / UNIT:.0f} activations")
held.plot()

# %% [markdown]
# **Notice:**
#
# - The peak grows by 5 activations with every block. (The first block has one less. Its input is a leaf, which is not counted.) It also grows with the number of rows: ten times the batch is ten times the memory.
# - The plot is the one for 8 blocks and 64 rows. The line climbs during all of the forward pass, and falls again during backward. The tensor that was saved last is read first. What the *first* block saved waits longest.
# - The weights are not in these numbers, because they exist anyway (`leaves=False` leaves them out). A weight matrix does not grow with the batch. (Here it happens to be as large as our unit.)
#
# So the peak is depth × the rows of the batch × what a block saves for each row. It is the part of all memory that you can do something about without changing what is computed.
#
# > **The rule.** What is saved for backward grows with the depth and with the batch, and all of it is alive at the end of the forward pass.
#
# ## What may a node hold instead of a tensor?
#
# Between forward and backward, nothing reads these tensors. So the node could hold something smaller, as long as the right numbers are back when its turn comes. PyTorch lets you decide what it is. You write two functions:
#
# - **`pack(tensor)`** is called with a tensor that a node is about to save. Whatever it returns is what the node holds: a smaller tensor, a file name, a number, any Python object.
# - **`unpack(packed)`** is called with this object, and must return a tensor with the numbers that the formula wants to read.
#
# The two are handed over together, as a pair of **saved-tensor hooks**: `with torch.autograd.graph.saved_tensors_hooks(pack, unpack):`. At the top of this lesson we gave it the short name `hooks`. In this program the two functions do nothing but keep a log:
#
# ```python
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# w = torch.tensor([3.0, 4.0], requires_grad=True)
# with hooks(pack, unpack):
#     total = ((x * w).sin() + x).sum()
# total.backward(retain_graph=True)     # both passes are
# total.backward()                      # outside of the block
# ```
#
# **Predict.** How many calls of `pack` are there in the whole forward pass? How many of `unpack` in the forward pass? In the first backward? In the second? Answer with a list of four numbers. (Go through the operations as in lesson 06: what does each of them save?)

# %%
L.predict("14.p1", None)

# %% tags=["C14.1"]
log = []


def pack(tensor):
    log.append(f"pack {tensor.tolist()}, recording is {'on' if torch.is_grad_enabled() else 'off'}")
    return tensor.detach()


def unpack(packed):
    log.append(f"unpack {packed.tolist()}")
    return packed


x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
with hooks(pack, unpack):
    total = ((x * w).sin() + x).sum()
packed_picture = draw(total)
log.append("--- first backward")
total.backward(retain_graph=True)
log.append("--- second backward")
total.backward()
print(*log, sep="\n")

# %%
packed_picture

# %% [markdown]
# **Notice:**
#
# - `pack` was called three times, at once and during forward: for the two factors of the product and for the input of `sin`. The addition and the sum save no tensor. In the picture the three drawers say *packed by hooks*, and no tensor is drawn in them.
# - While `pack` runs, recording is off, so what it computes leaves no nodes.
# - `unpack` was called when a slot was read, and each time anew. Nothing remembers what it returned, so the second pass called it three times more.
# - Both passes ran outside of the block. That did not matter. The pair belongs to the slots that were filled inside of the block, for as long as these live. (If several such blocks stand inside of each other, only the innermost pair is used.)
#
# Two things are refused. `pack` may not write into the tensor that it is given, because your program goes on computing with that one. And what `unpack` returns has to be a tensor:

# %% tags=["C14.2"]
with expect_error(RuntimeError, "A saved tensor pack hook is modifying its input in place"):
    with hooks(lambda tensor: tensor.mul_(0.5), unpack):
        (x * 1).sin()
with hooks(lambda tensor: "wait for me", lambda packed: packed):
    y = (x * 1).sin()
with expect_error(TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type str"):
    y.sum().backward()

# %% [markdown]
# The second error came in backward, long after the mistake. PyTorch does not look at what `pack` returns. It cannot know what a good answer would be.
#
# > **The rule.** With saved-tensor hooks a node holds what `pack` returned, and its formula reads what `unpack` returns, at every reading anew.
#
# ## Is a packed tensor still checked?
#
# You remember the version check of lesson 07: a node notes the version of what it saves, and if somebody writes into that tensor before backward, the pass raises. Here is such a program. The slope of h² is 2h, so `h ** 2` saves `h`.
#
# ```python
# x = torch.tensor([2.0], requires_grad=True)
# h = x * 1
# with hooks(pack, lambda packed: packed):
#     y = h ** 2
# h.mul_(10)                # somebody reuses the memory of h
# y.sum().backward()
# print(x.grad)
# ```
#
# When `y` was computed, `h` was 2, so the gradient of `y` is 4. The program is run three times: without any hooks, then with `pack = lambda t: t.detach()`, and then with `pack = lambda t: t.clone()`.
#
# **Predict.** What is `x.grad` in the three cases? Answer with a list of three. Each entry is a number, or `"error"` if backward raises.

# %%
L.predict("14.p2", None)


# %% tags=["C14.3"]
def overwritten(pack=None):
    x = torch.tensor([2.0], requires_grad=True)
    h = x * 1
    if pack is None:
        y = h**2
    else:
        with hooks(pack, lambda packed: packed):
            y = h**2
    h.mul_(10)
    y.sum().backward()
    return x.grad.item()


with expect_error(RuntimeError, "is at version 1; expected version 0"):
    overwritten()
print("packed by detach():", overwritten(lambda tensor: tensor.detach()))
print("packed by clone(): ", overwritten(lambda tensor: tensor.clone()))

# %% [markdown]
# Without hooks the check does its work. With hooks there is no check at all.
#
# - `detach()` looks at the memory of `h`. The node read 20 where it had been promised 2, and the gradient 4 became 40, without a word.
# - `clone()` is a copy. It still holds the 2, and the gradient is right, although `h` was overwritten.
#
# There is a reason. After the write a copy is still good and an alias is not, and PyTorch cannot tell which of the two `pack` has returned. So it checks neither. The pair of hooks answers for the numbers.
#
# > **The rule.** A packed tensor has no version check: a copy stays right whatever is overwritten, and an alias goes wrong without an error.
#
# ## Does half the precision take half the memory?
#
# A float32 has four bytes. A float16 has two, and some three decimal digits are left. For a gradient that is often enough, since the gradient of a random batch is an estimate anyway.
#
# In PyTorch the pair is short: `hooks(lambda t: t.half(), lambda packed: packed.float())`. Our engine has no float16, but NumPy has, and PyTorch's tensors go through NumPy as well. So this cell runs on both. `sizes` is a list of how many bytes each call of `pack` has packed.

# %% tags=["C14.4"]
sizes = []


def to_half(tensor):
    with np.errstate(over="ignore"):  # what is too large for float16 becomes inf: of that later
        packed = tensor.detach().numpy().astype(np.float16)
    sizes.append(packed.nbytes)
    return packed


def from_half(packed):
    return torch.from_numpy(packed.astype(np.float32))


with ledger(leaves=False) as held:
    loss, ws = forward(block, 4)
exact = torch.autograd.grad(loss, ws)
with hooks(to_half, from_half):
    loss, ws = forward(block, 4)
print(f"saved as float32: {held.peak:,} bytes, packed as float16: {sum(sizes):,} bytes")
halved = torch.autograd.grad(loss, ws)
error = max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(halved, exact, strict=True))
print(f"the largest error, compared with the largest gradient: {error:.4f}")

# %% [markdown]
# The largest error is less than a thousandth of the largest gradient. (The error is compared with the *largest* gradient. A small one may be wrong altogether.) And the memory did shrink, but not to a half, which would be 155,648. What has been packed too much?
#
# `pack` is called with *everything* that a node saves, so also with leaves: the four weights, and the input of the network. These tensors exist anyway. To save one of them costs nothing, because the node only holds on to what is there. To pack one of them makes a second thing, and that takes memory. Five leaves of 8,192 bytes each are just the difference. So give leaves back as they are:

# %% tags=["C14.4"]
def to_half_or_leaf(tensor):
    return tensor if tensor.is_leaf else to_half(tensor)


def from_half_or_leaf(packed):
    return packed if isinstance(packed, torch.Tensor) else from_half(packed)


sizes.clear()
with hooks(to_half_or_leaf, from_half_or_leaf):
    loss, ws = forward(block, 4)
print(f"packed as float16: {sum(sizes):,} bytes")


# %% [markdown]
# That is exactly the half. Now the same pair with a simpler layer, in which the activation function is `tanh`. It saves less: a product saves its input `h`, and `tanh` saves its result, which is the `h` of the next layer.
#
# **Predict.** There are four layers, and an activation in float16 is 8,192 bytes. How many bytes does `to_half_or_leaf` pack? Answer with one number.

# %%
L.predict("14.p7", None)


# %% tags=["C14.4"]
def layer(h, w):
    return torch.tanh(h @ w)


with ledger(leaves=False) as held:
    loss, ws = forward(layer, 4)
print(f"saved as float32: {held.peak:,} bytes")
for pair in ((to_half_or_leaf, from_half_or_leaf), (to_half, from_half)):
    sizes.clear()
    with hooks(*pair):
        loss, ws = forward(layer, 4)
    print(f"packed by {pair[0].__name__}: {sum(sizes):,} bytes")

# %% [markdown]
# Two bytes instead of four, and the memory has shrunk by no more than an eighth. You know the reason from lesson 06: when two nodes save the same tensor, its memory is held once. `pack` is called once for each *slot*, so it packs such a tensor twice. The results of layers 1 to 3 are saved by `tanh` and as the input of the next product, the last result by `tanh` alone: 7 slots of 8,192 bytes. With our first pair, which packs leaves as well, this network takes *more* memory than without any hooks.
#
# There is a second price, and it is not memory. The largest number that a float16 can hold is 65,504, and numbers below 0.00000003 become zero:

# %% tags=["C14.5"]
x = torch.tensor([1.0, 12.0, -20.0], requires_grad=True)
with hooks(to_half, from_half):
    y = x.exp()
print(f"e to the power of 12 is {y[1].item():,.0f}, and of -20 it is {y[2].item():.1e}")
y.sum().backward()
print("the slopes, by way of float16:", x.grad)

# %% [markdown]
# The forward pass is right, because hooks do not touch what your program computes with. Only backward gets the packed numbers. So an infinite gradient appears out of a loss that looks perfectly healthy, and a small one is gone.
#
# > **The rule.** Packing pays for what a single slot holds alone: a packed leaf is a copy too many, a tensor in two slots is packed twice, and the numbers must fit.
#
# ## What happens if `pack` returns the very tensor that it was given?
#
# Our `to_half_or_leaf` returns leaves as they are. Why did our first `pack`, which only kept a log, return `tensor.detach()` and not `tensor`? The exponential below saves its own result. We pack it in both ways, delete the only name that it has, and look whether it is gone. (The garbage collector is switched off for a moment, as in lesson 11.)

# %% tags=["C14.6"]
gc.disable()
for name, pack in {"tensor": lambda tensor: tensor, "tensor.detach()": lambda tensor: tensor.detach()}.items():
    with hooks(pack, lambda packed: packed):
        y = x.exp()
    alive = weakref.ref(y)
    del y
    print(f"pack returns {name}: the result is", "alive" if alive() is not None else "gone")
gc.enable()

# %% [markdown]
# It is the ring of lesson 06 again. The result holds its node (as `grad_fn`), and the node holds what `pack` returned. If that is the result, each keeps the other one alive. Without hooks PyTorch avoids the ring by saving a result without its history. With hooks it holds whatever you return. In our engine the garbage collector finds this ring in the end. In PyTorch nodes are made in C++, where the collector does not look, and the memory is lost until the program ends. What opens the ring is backward: a node that has run lets go of what `pack` returned. So a training loop with such a hook loses nothing. Forward passes without a backward lose memory, as in a validation that forgot `no_grad`, and so does `retain_graph=True`:

# %% tags=["C14.6"]
gc.disable()
for retain_graph in (False, True):
    with hooks(lambda tensor: tensor, lambda packed: packed):
        y = x.exp()
    y.sum().backward(retain_graph=retain_graph)
    alive = weakref.ref(y)
    del y
    print(f"after backward(retain_graph={retain_graph}): the result is", "alive" if alive() is not None else "gone")
gc.enable()

# %% [markdown]
# A leaf has no node, so there is no ring, and it may be returned as it is.
#
# > **The rule.** What `pack` returns must not hold the tensor that it was given, unless that is a leaf.
#
# ## Can a saved tensor wait on the disk?
#
# What a node holds may be any Python object. So let it be an object that knows the name of a file. It writes the tensor when it is made, and it removes the file when it dies:

# %%
class File:
    """A tensor in a file. The file lives as long as this object."""

    def __init__(self, tensor, path):
        self.path = path
        torch.save(tensor.detach(), path)

    def read(self):
        return torch.load(self.path)

    def __del__(self):
        os.remove(self.path)


# %% [markdown]
# `numbers` counts the files. We look into the folder after forward, in the middle of the backward pass (a hook on `h` runs when the gradient of `h` is there, as in lesson 12), and at the end.

# %% tags=["C14.7"]
with tempfile.TemporaryDirectory() as folder:
    numbers = itertools.count()

    def pack(tensor):
        return tensor if tensor.is_leaf else File(tensor, os.path.join(folder, f"{next(numbers)}.pt"))

    def unpack(packed):
        return packed.read() if isinstance(packed, File) else packed

    w = torch.ones(50, 50, requires_grad=True)
    with ledger(leaves=False) as held, hooks(pack, unpack):
        h = block(torch.ones(50, 50), w)
        h.register_hook(lambda grad: print("when h has its gradient:", len(os.listdir(folder)), "files"))
        loss = block(h, w).sum()
        print("after forward:", held.now, "bytes in memory,", len(os.listdir(folder)), "files")
        loss.backward()
    print("after backward:", len(os.listdir(folder)), "files")

# %% [markdown]
# **Notice:** no line of the program removes the files. A node lets go of its slots right after it has run. The `File` in the slot dies, and its file with it. So you get the same timing for a file as for memory: in the middle of the pass, the files of the second block had gone, and those of the first one were still needed.
#
# On a GPU the usual place to wait is the memory of the computer around it, which is larger and slower. PyTorch has that pair ready made, as `torch.autograd.graph.save_on_cpu()`. People call all of this *offloading*. It costs no computing, but every saved byte is moved twice, out and back, and the pass waits whenever the bus to the GPU is slower than the layers.
#
# > **The rule.** What `pack` returned lives exactly as long as the slot: it dies when the node has run, or with the graph.

# %% [markdown]
# ## Exercises: one about packing
#
# `L.hint("14.3")` helps, `L.solution("14.3")` explains, and `L.progress()` lists what you have solved.
#
# **14.3 · Half of a double** (10 minutes). A network computes in float64, and what it saves shall wait in float32. Somebody has posted a pair for it, in which three things are wrong. Return a pair `(pack, unpack)` with which
#
# - everything in float64 that was *computed* is held in half the bytes, also if it is small;
# - leaves, and what is not in float64, are not copied;
# - everything comes back in its own type, also in networks that compute in float32, and for masks and indices;
# - no result is kept alive in a ring.


# %%
def pair(torch):
    def pack(tensor):
        if tensor.numel() < 100:
            return tensor  # not worth it
        return tensor.float()

    def unpack(packed):
        return packed

    return pack, unpack


L.check("14.3", pair)

# %% [markdown]
# ## Can a node hold nothing at all?
#
# Take a part of a network, some layers in a row. Everything that is computed in it can be computed again, from the tensor that went in and the weights. So between forward and backward you need only what went in. This is the plan:
#
# 1. **Forward**: run the part with recording off. No nodes are made, and nothing is saved. Put aside the input.
# 2. **Backward**: run the part a second time, now with recording on. This makes a small graph. Go through it backward, and throw it away.
#
# You have a tool for that since lesson 11: a Function, whose `forward` runs with recording off anyway.


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
# The name is that of the technique: **checkpointing**, also called *gradient checkpointing*, *activation checkpointing*, *recomputation* or *rematerialisation*. (It has nothing to do with the file that is also called a checkpoint, in which you save the weights of a model.)
#
# First a part that is small enough for a picture, with the same part written as usual beside it:

# %% tags=["C14.8"]
x = torch.tensor([0.5, 1.0], requires_grad=True)
w = torch.tensor([1.0, 2.0], requires_grad=True)


def part(h):
    return torch.tanh(h * w).exp()


usual, checkpointed = part(x), Checkpoint.apply(part, x)
for y in (usual, checkpointed):
    x.grad = w.grad = None
    y.sum().backward(retain_graph=True)
    print("x.grad", x.grad, "w.grad", w.grad)
print("saved by the checkpoint:", *checkpointed.grad_fn.saved_tensors)
draw(usual, checkpointed, detail=0)

# %% [markdown]
# **Notice:**
#
# - The gradients are the same, those of `w` included.
# - The usual graph has three nodes. The checkpoint is a single node, and all that it has saved is `x`, which exists anyway.
# - From node 4, the checkpoint, an arrow leads to `x`, and none leads to `w`. Still, `w` got its gradient. It came by way of the *inner* pass, which found the way to `w` in the small graph. Keep this in mind: the graph of your program, the *large* one, knows nothing of `w`.
#
# A pass that begins while another pass is running is called **re-entrant**, because the engine is entered a second time. You have met this word in the story, as `use_reentrant=True`.
#
# > **The rule.** A checkpoint saves the input of a part, and in backward it runs the part again to get everything else.
#
# ## How much memory is saved if every layer is checkpointed?
#
# We build a deep network of the simple layer, `tanh(h @ w)`. Each layer saves one activation more, its result. (It saves its input as well, but that is the result of the layer before.) With 16 layers and no checkpoints the peak is 16 activations.
#
# Now cut the 16 layers into *segments* of equal length, and checkpoint each segment:
#
# ```python
# for i in range(0, 16, length):
#     h = Checkpoint.apply(chain(ws[i : i + length]), h)    # so many layers in a row
# ```
#
# With `length` 1 each layer is checkpointed by itself. With `length` 16 there is a single checkpoint around the whole network.
#
# **Predict.** What is the peak, in activations, if `length` is 1? If it is 4? If it is 16? Answer with a list of three numbers. (The input of the whole network is a leaf, and not counted.)

# %%
L.predict("14.p3", None)


# %%
def chain(ws):
    def part(h):
        for w in ws:
            h = layer(h, w)
        return h

    return part


def in_segments(n, length):
    ws, h = begin(n)
    for i in range(0, n, length):
        h = Checkpoint.apply(chain(ws[i : i + length]), h)
    return h.sum()


def peak(n, length):
    with ledger(leaves=False) as held:
        in_segments(n, length).backward()
    return int(held.peak / UNIT)


# %% tags=["C14.9"]
panels = {
    f"{n} layers": {
        "checkpointed": {length: peak(n, length) for length in (1, 2, 4, 8, 16, 32, 64) if length <= n},
        "without": {1: n, n: n},
    }
    for n in (16, 64)
}
chart(panels, across="layers in a segment", up="activations at the peak", log=True, numbers=True)

# %% [markdown]
# **Notice:**
#
# - At both ends, nothing is gained. One checkpoint for each layer has the same peak as none at all, and so has a single one around everything.
# - In between there is a valley: 7 activations instead of 16, and 15 instead of 64.
#
# Both ends are easy to understand afterwards. If every layer is a segment, then the checkpoints put aside the input of every layer, and these are all the activations that there are. If the whole network is one segment, nothing is put aside. But the second run has to run the whole network, with recording on, and then all of it is saved at once.
#
# And in between? Here is the memory over time for 16 layers in 4 segments of 4, the lowest point of the valley:

# %%
with ledger(leaves=False) as held:
    in_segments(16, 4).backward()
held.plot()

# %% [markdown]
# **Notice:** the small steps on the left are the whole forward pass. Three inputs are put aside, and nothing else. (They are the plain part of the picture. What second runs save is hatched.) Then comes backward, with one peak for each segment. The last segment is run again first, and adds its 4 activations to the 3 that are put aside: 7. When it is done, its 4 are gone, and so is its input. So each peak is lower by one than the peak before.
#
# For n layers in segments of k layers, there are n/k segments. Each of them puts aside its input, except that the first input is a leaf: that makes n/k − 1. The second run of a segment saves k more. For n = 16 the sums n/k + k are 16 + 1, 8 + 2, 4 + 4, 2 + 8 and 1 + 16. Two numbers with a given product have the smallest sum when they are equal, so k = √n is best, with a peak of 2√n − 1. This is called the **√n law**. Let us measure the best segment for deeper and deeper networks:

# %% tags=["C14.9"]
depths = (4, 16, 64, 256)
best = {n: peak(n, int(n**0.5)) for n in depths}
chart(
    {"four times as deep, twice the memory": {"without": {n: n for n in depths}, "in segments of √n layers": best}},
    across="layers", up="activations at the peak", log=True, numbers=True,
)

# %% [markdown]
# **Notice:** a network that is four times as deep needs twice the memory, and no longer four times.
#
# All this was for a layer that saves one activation. A block that saves five of them, such as the one with GELU, gains already if each block is a segment: one of the five is put aside, and the other four are there for a moment only, one block at a time. That is why most programs checkpoint block by block and do not count any further. But now you know what to count: what is put aside, plus what the largest segment saves.
#
# > **The rule.** The peak is what the checkpoints put aside plus what one segment saves, and with n equal layers that is smallest for segments of √n layers.
#
# ## What does it cost in time?
#
# Time on the clock is different on every machine, so we count. `layer` now counts how often it runs, in forward and again. PyTorch has a function that cuts a chain into segments, too: `checkpoint_sequential(functions, number_of_segments, h)`.

# %% tags=["C14.10"]
runs = []


def layer(h, w):
    runs.append(1)
    return torch.tanh(h @ w)


def counted(forward):
    runs.clear()
    with ledger(leaves=False) as held:
        forward().backward()
    return len(runs), int(held.peak / UNIT)


def sequential(n, segments):
    ws, h = begin(n)
    layers = [lambda h, w=w: layer(h, w) for w in ws]
    return torch.utils.checkpoint.checkpoint_sequential(layers, segments, h, use_reentrant=True).sum()


print("(runs, peak) without:                    ", counted(lambda: forward(layer, 16)[0]))
print("(runs, peak) in 16 segments:             ", counted(lambda: in_segments(16, 1)))
print("(runs, peak) in 4 segments:              ", counted(lambda: in_segments(16, 4)))
print("(runs, peak) with checkpoint_sequential: ", counted(lambda: sequential(16, 4)))

# %% [markdown]
# Each checkpointed layer runs twice, whatever the length of the segments. `checkpoint_sequential` is a little cleverer. It does not checkpoint the last segment. This one would be computed again at once, when backward begins, so its activations may as well stay where they are. The peak is the same, and four runs are saved.
#
# How much is that in a whole training step? Backward computes two products for each product of forward, one for each operand (lesson 03). So a step without checkpoints takes 3 products a layer, and with checkpoints it takes 4: one third more, and not twice as much.
#
# If even 2√n is too much, put checkpoints inside of checkpoints. While a segment is computed again, it is checkpointed in smaller segments. `(16, 4)` below means segments of 16 layers, in which there are segments of 4. With each number of levels each length goes about equally often into the one before, as in `(32, 8, 2)`, where each is a quarter of the one before:

# %% tags=["C14.10"]
def nested(h, ws, lengths):
    if not lengths:
        return chain(ws)(h)
    first, *further = lengths
    for i in range(0, len(ws), first):
        h = Checkpoint.apply(lambda h, ws=ws[i : i + first]: nested(h, ws, further), h)
    return h


def in_levels(*lengths):
    ws, h = begin(64)
    return nested(h, ws, lengths).sum()


for plan in ((), (8,), (16, 4), (32, 8, 2), (32, 16, 8, 4, 2)):
    print("{} levels: {:3} runs, peak {:2}".format(len(plan), *counted(lambda plan=plan: in_levels(*plan))), plan)

# %% [markdown]
# Each level runs all 64 layers once more. The first one is a bargain: the peak falls from 64 to 15. The second one costs as much, and brings 5: with `(16, 4)` there are 3 inputs of long segments, 3 of short ones, and the 4 layers of one short segment, together 10. After that there is little left to win, so one level is nearly always enough.
#
# > **The rule.** A level of checkpoints runs every layer once more, which turns the 3 products of a training step into 4.
#
# So you can say what a plan costs before you try it:

# %% [markdown]
# **14.2 · The bill** (8 minutes). A network has twelve layers like those of the lesson: each saves one activation, its result, and the input of the network is a leaf. Six plans:
#
# | | segments, each in a `Checkpoint`, first to last | and then, without a checkpoint |
# | --- | --- | --- |
# | A | none | 12 layers |
# | B | 3, 3, 3, 3 layers | |
# | C | 6, 6 | |
# | D | 3, 3, 3 | 3 layers |
# | E | 2, 4, 6 | |
# | F | 6, 4, 2 | |
#
# Give a pair for each plan: how many activations are held at the peak, and how many times a layer runs, in forward and backward together. For a plan without checkpoints of, say, two layers it would be `(2, 2)`.

# %%
bill = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("14.2", bill)

# %% [markdown]
# ## Which part of a block is worth computing twice?
#
# Not every operation is equally expensive. Look at the block with GELU. For each of its numbers, the matrix product computes 64 multiplications and 64 additions. GELU computes about ten small operations. So nearly all of the *time* goes into the product, while nearly all of the *memory* is taken by GELU: of the five activations that a block saves, four are steps in the middle of GELU.
#
# So compute again what is cheap and takes much room, and store the result of what is expensive. This is called **selective** recomputation. It takes no new tool. You choose what you wrap:

# %% tags=["C14.11"]
products = []


def product(h, w):
    products.append(1)
    return h @ w


ways = {
    "nothing": lambda h, w: gelu(product(h, w)),
    "the whole block": lambda h, w: Checkpoint.apply(lambda h: gelu(product(h, w)), h),
    "GELU only": lambda h, w: Checkpoint.apply(gelu, product(h, w)),
}
for what, way in ways.items():
    products.clear()
    with ledger(leaves=False) as held:
        forward(way, 8)[0].backward()
    print(f"computed again: {what:16} peak {int(held.peak / UNIT)} activations, {len(products)} products")

# %% [markdown]
# With GELU alone in the checkpoint, the peak is less than half of what it was, and not a single product is computed twice. If you wrap the whole block, the peak falls further, and every product is paid for again. You can count both: 7 inputs of blocks are put aside, and one block saves 4 more, that is 11. Or 7 inputs and all 8 results of products stay, and one GELU saves 3 more, that is 18.
#
# Many of the large models of today rest on the same thought. In *attention*, every word of a text is compared with every other one, which gives a table whose size is the square of the length of the text. Stored for every layer, these tables would fill any memory. So they are computed again in backward. "FlashAttention" does that inside of a single program of the GPU.
#
# PyTorch can also choose inside of a part, operation by operation. You give it a list of operations whose results shall be stored, and all others are computed again. Our engine does not have this. On PyTorch, the following stores the results of the matrix products of a block and computes everything else twice:
#
# ```python
# import functools
# from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
#
# keep_products = functools.partial(  # a function that needs no more arguments
#     create_selective_checkpoint_contexts, [torch.ops.aten.mm.default]
# )
# h = checkpoint(block, h, w, use_reentrant=False, context_fn=keep_products)
# ```
#
# Instead of the list you may give a function that decides for each operation:
#
# ```python
# from torch.utils.checkpoint import CheckpointPolicy
#
# def policy(ctx, operation, *args, **kwargs):
#     expensive = operation in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
#     return CheckpointPolicy.MUST_SAVE if expensive else CheckpointPolicy.PREFER_RECOMPUTE
# ```
#
# > **The rule.** Compute again what is cheap to compute and large to store, and store what is expensive.
#
# Do the same with a gate:

# %% [markdown]
# **14.8 · Only what is cheap** (6 minutes). `product(h, w)` is expensive, and the gate after it is cheap. Rewrite `gated`, so that the product is computed once, in forward and backward together, and of all that is computed only its operand `h` and its result stay in memory. The value and the gradients of `h`, `w` and `g` remain the same, also where `g` alone requires one. (PyTorch's own form of our `Checkpoint` takes several tensors: `torch.utils.checkpoint.checkpoint(part, *arguments, use_reentrant=False)`.)


# %%
def gated(torch, product, h, w, g):
    u = product(h, w)
    return u * torch.sigmoid(g * u)


L.check("14.8", gated)

# %% [markdown]
# ## A rest
#
# This is the middle of the lesson. You can decide what the slots of a node hold, and what is not held at all and computed again. In the second half you meet PyTorch's own `checkpoint`, in its two forms, with what it does for you and what it does not. The encoder that never moved comes back as well.
#
# ## Could saved-tensor hooks do it as well?
#
# Our Function has a weak point, which you have seen in the picture: no arrow leads to `w`. Its gradient comes from the inner pass. `torch.autograd.grad` hands gradients back and stores none, so it looks for a way to `w` in the large graph, and there is none:

# %% tags=["C14.12"]
y = Checkpoint.apply(part, x)
with expect_error(RuntimeError, "appears to not have been used in the graph"):
    torch.autograd.grad(y.sum(), w)
y = checkpoint(part, x, use_reentrant=True)
with expect_error(RuntimeError, "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()"):
    torch.autograd.grad(y.sum(), x)

# %% [markdown]
# The second error is PyTorch's. Its older form is written like our Function, and it refuses `autograd.grad` altogether, also for an input.
#
# There is another way to write a checkpoint, with saved-tensor hooks. Run the part as usual, with recording *on*, so that all nodes and all arrows are there. But let `pack` return nothing more than a number: "I am the third tensor that was saved in here". When the first number has to be unpacked, run the part again under a second pair of hooks, which catches everything that this run wants to save. Then the third number gets the third tensor.


# %%
def checkpoint_by_hooks(part, *arguments):
    places, again = itertools.count(), []

    def unpack(place):
        if not again:  # the first one that is asked for
            with torch.enable_grad(), hooks(lambda tensor: again.append(tensor.detach()), lambda packed: packed):
                part(*arguments)
        return again[place]

    with hooks(lambda tensor: next(places), unpack):
        return part(*arguments)


# %% tags=["C14.12"]
y = checkpoint_by_hooks(part, x)
print("gradient of w:", torch.autograd.grad(y.sum(), w, retain_graph=True))
draw(y)

# %% [markdown]
# **Notice:** this graph has all the nodes of the usual one, and an arrow to `w`. Only the drawers are different. Four tensors were packed, and what the nodes hold instead is the numbers 0 to 3. `torch.enable_grad()` is needed, because during a backward pass recording is off. Without it the second run would save nothing, and `again` would stay empty. (The second `pack` returns None. That does no harm, since nothing goes backward through the graph of the second run.)
#
# PyTorch's `checkpoint` has both forms in it, and an argument chooses: `use_reentrant=True` is our Function, and `use_reentrant=False` is the form with hooks. The second one is newer, and PyTorch recommends it. But if you leave the argument out, you still get the first one, with a warning:

# %% tags=["C14.18"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = checkpoint(part, x)
print("its node:", y.grad_fn.name())
print("told:", str(caught[0].message).partition(". ")[0])

# %% [markdown]
# So write `use_reentrant=False` in every call. (The warning goes on to say that from PyTorch 2.9 on such a call raises. In 2.13 it does not.)
#
# The form with hooks does more than our sketch of it. Ours never empties `again`: after the first pass it holds everything. PyTorch's has a second run for each backward pass, and lets go at once of what it has handed out. It also puts the arguments aside in slots. And it does two things for which there are sections of their own below.
#
# > **The rule.** The re-entrant form replaces the nodes of a part by one node, and the form with hooks keeps the nodes and replaces what they have saved.
#
# ## Who is trained if the input requires no gradient?
#
# Back to the story. An encoder with a weight `W` turns plain data into features, and a head with a weight `V` uses them:
#
# ```python
# W, V = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
# x = torch.ones(3, 2)                      # plain data
# encode = lambda a: torch.tanh(a @ W)
# h = ...                                   # one of the lines below
# (h @ V).sum().backward()
# ```
#
# In the story the line was `h = checkpoint(encode, x)`, which is the re-entrant form, and the encoder got no gradient. Here are five other lines:
#
# | | |
# | --- | --- |
# | A | `h = checkpoint(encode, x, use_reentrant=False)` |
# | B | `x.requires_grad_(); h = checkpoint(encode, x, use_reentrant=True)` |
# | C | `h = checkpoint(lambda a, W: torch.tanh(a @ W), x, W, use_reentrant=True)` |
# | D | `with torch.enable_grad(): h = checkpoint(encode, x, use_reentrant=True)` |
# | E | `h = checkpoint(encode, x, use_reentrant=True).requires_grad_()` |
#
# **Predict.** With which of the five does `W` get a gradient? Answer with a list of letters. Think of the two graphs: which node, if any, does the large graph have for the encoder, and who would start the inner pass?

# %%
L.predict("14.p4", None)

# %% tags=["C14.13", "P24"]
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


for way in (A, B, C, D, E):
    W, V = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (way(lambda a: torch.tanh(a @ W), W, torch.ones(3, 2)) @ V).sum().backward()
    print(way.__name__, "- W", "is trained" if W.grad is not None else "gets nothing", *[f"({w.message})" for w in caught])

# %% [markdown]
# Think of our Function. `apply` makes a node if one of the *tensors that it is given* requires a gradient. That is the rule of lesson 01, and it knows nothing about what happens inside. In the story the only tensor given was `x`, and `x` is plain data. So no node was made. The features came out without a history, like data. The loss had one way back, to the head, and backward went it. The second run never took place, because there was no node that would have started it.
#
# - **B** and **C** give `apply` a tensor that requires a gradient: the input, or the weight itself. Then there is a node, and the inner pass reaches `W` by its own graph. (In B a gradient for the data is computed as well. You do not need it, and it costs time.)
# - **D** changes nothing. Recording was on already. It was a tensor that was missing.
# - **E** is a cure of the kind that you know from lesson 02. It silences the error, if there is one, and brings no history back.
# - **A** runs the part with recording on. So every operation decides for itself, `a @ W` has an operand that requires a gradient, and all is as it would be without a checkpoint.
#
# A and C are also the cures if the input *cannot* require a gradient. Numbers of words, which a language model looks up in a table, are integers.
#
# There was a warning in the story. Here it appears with D and E: "None of the inputs have requires_grad=True". It is the only sign. If the *whole* network is checkpointed, you are luckier. Then the loss has no history at all, and that is an old error:

# %% tags=["C14.13", "P24"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    loss = checkpoint(lambda a: torch.tanh(a @ W).sum(), torch.ones(3, 2), use_reentrant=True)
with expect_error(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
    loss.backward()

# %% [markdown]
# Here is the story again, with the argument `use_reentrant=False`:

# %% tags=["P24"]
train(lambda encoder, samples: checkpoint(encoder, samples, use_reentrant=False))

# %% [markdown]
# The loss is that of the training without a checkpoint, to the last digit, and the first weights have moved. And the memory? The ledger looks at the slots of nodes, and this form keeps its tensors in lists of its own. So the ledger would report too little here, as the line below its table says. So we count by ourselves: a hook on each `Tanh` notes its result, until the memory of that result is let go. (`early_stop=False` is for the counting. Without it a second run ends as soon as it has saved the last tensor, before the hook could note it.)


# %% tags=["P24"]
def in_pieces(encoder, h, length):
    for i in range(0, 12, 2 * length):  # a layer is two modules
        h = checkpoint(encoder[i : i + 2 * length], h, use_reentrant=False, early_stop=False)
    return h


def noted(part, given, result):
    memory = result.untyped_storage()  # PyTorch's object for the memory; ours has the array in it
    alive.add(number := len(counts))
    weakref.finalize(getattr(memory, "array", memory), alive.discard, number)
    counts.append(len(alive))


for length in (None, 6, 3):
    encoder, head, samples = network()
    for part in encoder[1::2]:
        part.register_forward_hook(noted)
    alive, counts = set(), []
    head(in_pieces(encoder, samples, length) if length else encoder(samples)).sum().backward()
    what = f"segments of {length} layers" if length else "as usual"
    print(f"{what}: {max(counts) * 256 * 16 * 4:,} bytes at the peak")

# %% [markdown]
# As usual it is what the ledger said at the beginning. With one checkpoint around the whole encoder it is the same: this is the right end of the valley. So the colleague's line would have saved nothing at the peak. Its 0 bytes were the sign that the encoder was left out. With two segments of 3 layers, one activation is put aside and 3 are saved again: 4 instead of 6.
#
# > **The rule.** In the re-entrant form the arguments decide whether there is a node, and without one the weights inside of the part are not trained; in the form with hooks each operation decides.
#
# ## Is a checkpoint checked as a saved tensor is?
#
# Here the slope of the part is 2 · a · w, so for a = 2 and w = 3 it is 12. Between forward and backward the weight is doubled in place. An optimizer does this if `step()` comes too early.
#
# ```python
# x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
# y = ...                          # one of three lines
# with torch.no_grad():
#     w.mul_(2)
# y.backward()
# print(x.grad)
# ```
#
# The three lines are
#
# 1. `y = w * x**2`,
# 2. `y = checkpoint(lambda a: w * a**2, x, use_reentrant=False)`,
# 3. `y = checkpoint(lambda a, w: w * a**2, x, w, use_reentrant=False)`.
#
# **Predict.** What is `x.grad` in the three cases? Answer with a list of three. Each entry is a number, or `"error"` if backward raises.

# %%
L.predict("14.p5", None)


# %% tags=["C14.16"]
def stepped_too_early(forward):
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    y = forward(x, w)
    with torch.no_grad():
        w.mul_(2)
    try:
        y.backward()
    except RuntimeError as error:
        return "error: … " + str(error).partition("operation: ")[2].partition(". Hint")[0]
    return x.grad


print(1, stepped_too_early(lambda x, w: w * x**2))
print(2, stepped_too_early(lambda x, w: checkpoint(lambda a: w * a**2, x, use_reentrant=False)))
print(3, stepped_too_early(lambda x, w: checkpoint(lambda a, w: w * a**2, x, w, use_reentrant=False)))

# %% [markdown]
# Without a checkpoint, the product had saved `w`, and the check of lesson 07 stops the pass. In the second line nothing was saved. The function is simply called again. It finds `w` where it always was, with the new number in it, and the gradient is 24. It belongs to a loss that was never computed. In the third line `w` is an argument, and arguments are put aside in slots. A slot notes the version, so the check is back.
#
# In practice the weights are parameters of a module, and the module is what you checkpoint. Then line 2 is your case. The order "first backward, then step" is a rule that PyTorch no longer keeps an eye on.
#
# > **The rule.** The arguments of a checkpoint are checked for their version; what its function finds elsewhere is not, and is used as it is when the second run comes.
#
# ## Does the second run see the same random numbers?
#
# Dropout sets a random half of the numbers to 0 and doubles the others. The gradient of a number is 2 if it was kept and 0 if it was dropped. So for an input of ones, output and gradient must be the same tensor, wherever they were computed.
#
# Put dropout into a checkpoint, with an input of 1000 ones, and compare the output with the gradient, place by place.
#
# **Predict.** In how many of the 1000 places do the two agree, roughly, with our Function? And with PyTorch's `checkpoint`? Answer with a list of two numbers.

# %%
L.predict("14.p6", None)


# %% tags=["C14.14"]
def drop(h):
    return nn.functional.dropout(h, 0.5)


def agrees(forward):
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    y = forward(x)
    y.sum().backward()
    return f"{(y == x.grad).sum().item()} of 1000 gradients belong to the output"


print("our Function:       ", agrees(lambda x: Checkpoint.apply(drop, x)))
print("our hooks:          ", agrees(lambda x: checkpoint_by_hooks(drop, x)))
print("use_reentrant=True: ", agrees(lambda x: checkpoint(drop, x, use_reentrant=True)))
print("use_reentrant=False:", agrees(lambda x: checkpoint(drop, x, use_reentrant=False)))

# %% [markdown]
# The two checkpoints that we wrote are wrong, and there was no error. The second run drew a second mask. The loss was computed with one network, and the gradient with another one. Half of the gradients agree, by accident, as often as two coins do.
#
# PyTorch's `checkpoint` notes the state of the random numbers before the first run. It sets it back for the second one, and afterwards goes on where it was. You can switch this off with `preserve_rng_state=False`, to save a little time, when there is nothing random inside. In our engine the second run stands in this block:

# %% tags=["engine"]
show("utils.checkpoint.replayed")

# %% [markdown]
# But which random numbers does it know? Those of `torch` itself. If you draw from a generator of your own, from NumPy or from Python's `random`, it does not know them:

# %% tags=["C14.14"]
generator = torch.Generator()
generator.manual_seed(0)


def noisy(h):
    return h * torch.rand(1000, generator=generator)


print("a generator inside: ", agrees(lambda x: checkpoint(noisy, x, use_reentrant=False)))
print("drawn outside:      ", agrees(
    lambda x: checkpoint(lambda h, noise: h * noise, x, torch.rand(1000, generator=generator), use_reentrant=False)
))

# %% [markdown]
# The cure is in the last line: draw outside of the checkpoint, and give the numbers to it as an argument. Arguments are put aside and are the same in both runs.
#
# Random numbers are not the only thing that a second run meets in another state. `BatchNorm` counts the batches that it has seen, and moves its running mean a little with each. Here is one training step:

# %% tags=["C14.15"]
ways = {
    "without a checkpoint": lambda norm, x: torch.tanh(norm(x)),
    "inside of a checkpoint": lambda norm, x: checkpoint(lambda h: torch.tanh(norm(h)), x, use_reentrant=False),
    "in front of a checkpoint": lambda norm, x: checkpoint(torch.tanh, norm(x), use_reentrant=False),
}
for name, run in ways.items():
    norm, x = nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0]], requires_grad=True)
    run(norm, x).sum().backward()
    print(f"{name}: {norm.num_batches_tracked.item()} batches seen, running mean {norm.running_mean.item():.2f}")

# %% [markdown]
# Inside of a checkpoint it has seen the batch twice. The gradients are right, since in training the statistics of the batch are used. But the running mean moves twice in each step, and it is used when you evaluate. The last line is the cure: leave such a module outside. (`LayerNorm` and `GroupNorm` count nothing, and may stay inside.) The same is true of everything else that your code changes while it runs: counters, caches, lists that you append to.
#
# > **The rule.** The second run must meet what the first one met: `checkpoint` sets back the random numbers of torch, and nothing else.
#
# ## What if the second run does something else?
#
# One thing is checked after all. The second run has to save as many tensors as the first one, and tensor by tensor the shape, the dtype and the device must be the same. Otherwise PyTorch would hand out the wrong tensor. Here a flag changes between the two runs. It might as well be a counter, or a dictionary that is filled in the meantime.

# %% tags=["C14.17"]
settings = {"deep": True}


def changing(h):
    h = h.sin()
    if settings["deep"]:
        h = h.exp()
    return h


x = torch.tensor([0.5, 1.0], requires_grad=True)
y = checkpoint(changing, x, use_reentrant=False)
settings["deep"] = False
with expect_error(torch.utils.checkpoint.CheckpointError, "A different number of tensors was saved"):
    y.sum().backward()

# %% [markdown]
# That is the first line of the message. The whole message of PyTorch goes on like this (there is a long part about `torch.compile`, which we leave out):
#
# ```text
# torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.
# Number of tensors saved during forward: 2
# Number of tensors saved during recomputation: 1.
#
# Tip: To see a more detailed error message, either pass `debug=True` to
# `torch.utils.checkpoint.checkpoint(...)` or wrap the code block
# with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
# enable checkpoint‑debug mode globally.
# …
# ```
#
# So it says *that* the two runs differ, and not where. That is what `debug=True` is for. Both runs are then written down, operation by operation. This is our engine's report:

# %% tags=["engine", "C14.17"]
settings["deep"] = True
y = checkpoint(changing, x, use_reentrant=False, debug=True)
settings["deep"] = False
try:
    y.sum().backward()
except torch.utils.checkpoint.CheckpointError as error:
    print(str(error).partition("An error happened")[2])

# %% [markdown]
# Read the two lists side by side, from the top, and look for the first line in which they differ. The second list ends after `Sin`, where the first one goes on with `Exp`, and the line of your program stands beside it.
#
# PyTorch's report is some hundred lines long, because it gives the whole stack of calls for each operation. The part that you want stands near the end, under "Log of operators in the original forward and recomputation":
#
# ```text
# Operations executed during the original forward:
#
# $1: f32[2] = torch._ops.aten.sin.default($0)
# $2: f32[2] = torch._ops.aten.exp.default($1)
# …
# Operations executed during recomputation:
#
# $1: f32[2] = torch._ops.aten.detach.default($0)
# $2: f32[2] = torch._ops.aten.sin.default($0)
# ```
#
# (`$0` is the input of the part, `$1` what its first operation returned. `detach` is added by the mechanism itself.)
#
# What is *not* noticed is a second run that saves tensors of the same shapes, with other numbers in them. The next program has a factor instead of a flag:

# %% tags=["C14.17"]
settings["factor"] = 1.0
y = checkpoint(lambda h: (h * settings["factor"]).sin(), x, use_reentrant=False)
settings["factor"] = 100.0
y.sum().backward()
print("gradient:", x.grad)
print("right:   ", torch.autograd.grad(x.sin().sum(), x)[0])

# %% [markdown]
# There is no error. The numbers of the two runs are not compared, because for that the first ones would have to be stored, and that is the very memory that you wanted to do without.
#
# > **The rule.** A `CheckpointError` means that the second run saved something else, `debug=True` shows where, and a second run with other numbers of the same shapes is not noticed.
#
# ## Exercises
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
# **14.4 · Repair the noise** (5 minutes). A block multiplies its result by noise from the caller's generator. (`w` is square, so the noise has the shape of `h`.) Without the checkpoint its gradients are right, with it they are not. Repair it: the same output as now, gradients that belong to it, and the result of `tanh` still not stored until backward.


# %%
def noisy_block(torch, h, w, generator):
    def block(h):
        noise = torch.rand(h.shape, generator=generator).to(h.dtype)
        return torch.tanh(h @ w) * noise

    return torch.utils.checkpoint.checkpoint(block, h, use_reentrant=False)


L.check("14.4", noisy_block)

# %% [markdown]
# **14.6 · Diagnose** (6 minutes). Seven bug reports. Which change cures each? Choose from `"use_reentrant=False"`, `"draw it outside"`, `"give it as an argument"`, `"backward first"`, `"detach in pack"`, `"leave leaves alone"` and `"preserve_rng_state=True"`. One of them cures two reports, and one is not needed.
#
# - A "With my pack hook the memory grows with every batch of my validation, which runs without `no_grad` and without backward, and `gc.collect()` does not help. `pack` compresses what is large, and ends in `return tensor` for everything else."
# - B "I have checkpointed the first part of my language model: token numbers go in, it looks them up in a table, and then come some layers. The part after it learns. The first part does not, and there is no error."
# - C "My block multiplies by noise from a `torch.Generator` of my own. With a checkpoint around it, the gradients are different."
# - D "After forward I clip the weights, then comes backward. This used to raise an error about an in-place operation. Since I have checkpoints it runs, and trains worse. I want right gradients."
# - E "I pack everything into float16. The network is small, the batch is 1. It takes *more* memory than before."
# - F "My function uses a mask that I fill anew for each sample, in place. By mistake I filled it before backward. The gradients were wrong, and nothing raised. I want to be told."
# - G "With checkpoints, `torch.autograd.grad(loss, weights)` raises. `loss.backward()` works."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("14.6", cures)

# %% [markdown]
# **14.7 · Repair the loop** (8 minutes). The loop checkpoints `layers`, a list of functions, in segments of `length` (the last one may be shorter). The result is right. The gradients are not. Two things are wrong, and the second one shows only if `h` is plain data. Each layer should run once in forward, and at most once more in backward.


# %%
def run_in_segments(torch, layers, h, length):
    for i in range(0, len(layers), length):

        def segment(a):
            for layer in layers[i : i + length]:
                a = layer(a)
            return a

        h = torch.utils.checkpoint.checkpoint(segment, h, use_reentrant=True)
    return h


L.check("14.7", run_in_segments)

# %% [markdown]
# **14.5 · Better than equal segments** (12 minutes, harder). The √n law is about segments of *equal* length. Can other lengths have a smaller peak? Return the lengths of the segments, first to last, for `n` layers that save one activation each, so that the peak is as small as it can be with one level of checkpoints. Plan F of the bill is a hint. (As there, the input of the network is not counted, and the last segment is checkpointed, too.)


# %%
def plan(n):
    return ...


L.check("14.5", plan)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/14_packing_and_checkpointing/claims.py`).
#
# *Packing*
#
# - **C14.1** pack is called once for each tensor that a node saves, during forward and with recording off; unpack is called anew at every reading, also outside of the block.
# - **C14.2** pack may not write into the tensor that it is given, and unpack must return a tensor.
# - **C14.3** A packed tensor is not checked for its version: a copy gives the right gradient after the tensor was overwritten, an alias a wrong one without an error.
# - **C14.4** pack is called for leaves, too, and twice for a tensor that two nodes save, although without hooks its memory is held once.
# - **C14.5** Numbers that do not fit into what they are packed in change the gradient and not the forward pass.
# - **C14.6** A result that pack returns as it is outlives its last name unless backward has run without retain_graph; one that is detached does not.
# - **C14.7** What pack returned is let go when the node has run.
#
# *Checkpointing*
#
# - **C14.8** A checkpoint of some layers gives the gradients of the layers without one, those of weights inside included, and saves only the input.
# - **C14.9** With n layers that save one activation each, in segments of k layers, n/k - 1 + k activations are held at the peak, which is as many as without checkpoints for k = 1 and k = n, and 2√n - 1 for k = √n.
# - **C14.10** Each checkpointed layer runs twice; checkpoint_sequential does not checkpoint the last segment.
# - **C14.11** If only GELU is checkpointed and not the product in front of it, less than half of the activations are held and no product is computed twice.
# - **C14.12** With use_reentrant=True the weights inside are not in the large graph, and autograd.grad does not reach them; with use_reentrant=False all nodes are there.
#
# *What a checkpoint does not do for you*
#
# - **C14.13** With use_reentrant=True weights inside are trained only if a tensor among the arguments requires grad, and otherwise there is a warning; with use_reentrant=False they are always trained.
# - **C14.14** checkpoint gives both runs the same random numbers of torch; with numbers from a generator of one's own the gradient is wrong without an error.
# - **C14.15** BatchNorm inside of a checkpoint counts each batch twice.
# - **C14.16** An argument of a checkpoint that was overwritten before backward raises; a tensor that its function finds elsewhere is used with its new numbers.
# - **C14.17** A second run that saves another number of tensors raises CheckpointError, and debug=True names the operations of both runs; one that saves other numbers of the same shapes is not noticed.
# - **C14.18** checkpoint without use_reentrant is the re-entrant form, and warns.
#
# **A recipe.** If memory is short: `checkpoint(block, h, use_reentrant=False)` around each block. If time is short as well: only around what is cheap and large. Draw random numbers outside or with torch's own generators. Give to the function as arguments what you want to be checked. Backward first, and everything that writes into weights after it. Then compare the gradients with those of one step without a checkpoint, from the same seed: they must be equal up to rounding.
#
# **Your own engine** was finished in lesson 13, and no checkpoint waits for it here. If you want to go on by yourself: `SavedVariable` in `my_engine.py` is the place where `pack` and `unpack` would be called.
#
# **Left out, compared with PyTorch.** Our engine cannot choose operation by operation (`create_selective_checkpoint_contexts`). PyTorch sets back the random numbers of GPUs, too, and `torch.compile` chooses by itself what to compute again. Our engine has no float16. Both have `save_on_cpu`, which on a machine without a GPU moves nothing.
#
# **Read on in our engine:** `course_lib/utils/checkpoint.py`, and `PackedVariable` in `course_lib/engine/saved.py`.
#
# **Next:** a real model, and PyTorch's own source, read with the same eyes: [lesson 15](15_reading_pytorch.ipynb).
