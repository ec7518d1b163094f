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
# # 14b · What packing costs: does half the precision take half the memory?
#
# **You have read that two short functions halve the memory of training. One packs each saved tensor into float16, the other one turns it back when it is read. You put them around your forward pass. The loss is the same, and the gradients are nearly the same. But the memory does not halve. It grows by a half.**
#
# This part needs lesson 14, and no later lesson needs this part. The pair of functions is a pair of saved-tensor hooks, `pack` and `unpack`.
#
# After this lesson you can
#
# - say what a pair of hooks packs that was not there before, and leave it alone;
# - write a pair that keeps no result alive for too long;
# - estimate whether it pays to move saved tensors to a slower memory.
#
# **Minutes** 50, and 6 for more exercises · **Needs** lesson 14 · **Out of scope** memory of weights and optimizers, 8-bit formats
#
# [← 14 Packing and checkpointing](14_packing_and_checkpointing.ipynb) · [all lessons](home.ipynb) · [14c Memory against time →](14c_memory_against_time.ipynb)

# %%
import course_lib as torch
import gc
import itertools
import os
import tempfile
import weakref

import numpy as np

from backscope import draw, ledger
from coursekit import lesson

L = lesson("14b")
hooks = torch.autograd.graph.saved_tensors_hooks

# %% [markdown]
# Here is the story, small: four layers, 64 rows, 64 wide. So each matrix between the input and the loss holds 64 · 64 numbers. We call such a matrix *an activation*. In float32 it takes 16,384 bytes, and in float16 it takes 8,192.
#
# In PyTorch the pair is `hooks(lambda t: t.half(), lambda packed: packed.float())`. Our engine has no float16, but NumPy has, and PyTorch's tensors can go through NumPy as well. So the pair below runs on both. It notes how many bytes each call of `pack` has packed.

# %% tags=["C14b.1"]
def layer(h, w):
    return torch.tanh(h @ w)


def forward(layer):
    torch.manual_seed(1)
    ws = [(torch.randn(64, 64) / 8).requires_grad_() for _ in range(4)]
    h = torch.ones(64, 64, requires_grad=True)
    for w in ws:
        h = layer(h, w)
    return h.sum(), ws


def to_half(tensor):
    with np.errstate(over="ignore"):  # of what is too large, later
        packed = tensor.detach().numpy().astype(np.float16)
    sizes.append(packed.nbytes)
    return packed


def from_half(packed):
    return torch.from_numpy(packed.astype(np.float32))


def compare(layer, pack, unpack):
    with ledger(leaves=False) as held:
        forward(layer)
    sizes.clear()
    with hooks(pack, unpack):
        forward(layer)
    print(f"saved as float32: {held.peak:,} bytes")
    print(f"packed as float16: {sum(sizes):,} bytes in {len(sizes)} calls")


sizes = []
compare(layer, to_half, from_half)

# %% [markdown]
# ## What is packed that was not there before?
#
# `pack` is called with *everything* that a node saves, so also with leaves: the four weights, and the input of the network. These tensors exist anyway. To save one of them costs nothing, because the node only holds on to what is there. To pack one of them makes a second thing, and that takes memory. So give leaves back as they are:

# %%
def to_half_or_leaf(tensor):
    return tensor if tensor.is_leaf else to_half(tensor)


def from_half_or_leaf(packed):
    return packed if isinstance(packed, torch.Tensor) else from_half(packed)

# %% [markdown]
# What is left are activations. A product saves its two operands, of which `h` may be an activation, and `tanh` saves its result.
#
# **Predict.** How many bytes does `to_half_or_leaf` pack in the four layers? Answer with one number.

# %%
L.predict("14b.p1", None)

# %% tags=["C14b.1"]
L.run(compare, layer, to_half_or_leaf, from_half_or_leaf, after="14b.p1")

# %%
def two_layers():
    x, v, w = (torch.ones(2, 2, requires_grad=True) for _ in range(3))
    h = layer(x, v)
    y = layer(h, w)
    return draw(y)


L.run(two_layers, after="14b.p1")

# %% [markdown] tags=["tells"]
# Two bytes instead of four, and the memory has shrunk by no more than an eighth. The picture shows the reason, without hooks and for two layers. `h` is in two drawers: the first `tanh` has saved it as its result, and the second product as its operand. It is one tensor, so its memory is held once (lesson 06). `pack` is called once for each *slot*, so it packs such a tensor twice. The results of layers 1 to 3 are saved by `tanh` and as the input of the next product, the last result by `tanh` alone: 7 slots of 8,192 bytes. In the story, 5 leaves were packed as well.
#
# > **The rule.** Packing pays for what a single slot holds alone. A packed leaf is a copy too many, and a tensor in two slots is packed twice.

# %% [markdown]
# With another layer the same pair does what was promised. GELU is a smooth relative of ReLU that many language models use. It is written out here, so that we see everything that is saved:

# %% tags=["C14b.1"]
def gelu(u):
    return 0.5 * u * (1 + torch.tanh(0.8 * (u + 0.045 * u**3)))


def block(h, w):
    return gelu(h @ w)


compare(block, to_half_or_leaf, from_half_or_leaf)

# %% [markdown]
# This is exactly a half.
#
# ## What do the packed numbers do to the gradients?
#
# A float16 has some three decimal digits. For a gradient that is often enough, since the gradient of a random batch is an estimate anyway:

# %% tags=["C14b.2"]
def largest_error():
    loss, ws = forward(block)
    exact = torch.autograd.grad(loss, ws)
    with hooks(to_half_or_leaf, from_half_or_leaf):
        loss, ws = forward(block)
    halved = torch.autograd.grad(loss, ws)
    pairs = zip(halved, exact, strict=True)
    errors = [((a - b).abs().max() / b.abs().max()).item() for a, b in pairs]
    print(f"the largest error, compared with the largest gradient: {max(errors):.4f}")


def does_not_fit():
    x = torch.tensor([1.0, 12.0, -20.0], requires_grad=True)
    with hooks(to_half, from_half):
        y = x.exp()
    y.sum().backward()
    print("the powers of e:               ", y.detach())
    print("the slopes, by way of float16: ", x.grad)


L.run(largest_error)
L.run(does_not_fit)

# %% [markdown]
# The first error is less than a thousandth of the largest gradient. (A small gradient may still be wrong altogether.)
#
# The second program has another problem. The largest number that a float16 can hold is 65,504, and numbers below 0.00000003 become zero. The forward pass is right, because hooks do not touch what your program computes with. Only backward gets the packed numbers. So an infinite gradient appears out of a loss that looks perfectly healthy, and a small one is gone.
#
# > **The rule.** Numbers that do not fit into what they are packed in change the gradient, and not the loss.
#
# ## What happens if `pack` returns the very tensor that it was given?
#
# `to_half_or_leaf` returns leaves as they are. But in lesson 14 the first `pack`, which only printed, returned `tensor.detach()` and not `tensor`. Why? The exponential saves its own result. We delete the only name of this result, and look whether it is gone. (The garbage collector is switched off meanwhile, as in lesson 11.)

# %%
def still_there(pack, then=lambda loss: None):
    gc.disable()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with hooks(pack, lambda packed: packed):
        y = x.exp()
    then(y.sum())
    alive = weakref.ref(y)
    del y
    print("the result is", "alive" if alive() is not None else "gone")
    gc.enable()


def detached(tensor):
    return tensor.detach()


def as_it_is(tensor):
    return tensor


def backward(loss):
    loss.backward()


def backward_retained(loss):
    loss.backward(retain_graph=True)

# %% [markdown]
# Four calls:
#
# | | |
# | --- | --- |
# | A | `still_there(detached)` |
# | B | `still_there(as_it_is)` |
# | C | `still_there(as_it_is, backward)` |
# | D | `still_there(as_it_is, backward_retained)` |
#
# **Predict.** In which of the four is the result still alive when its name is deleted? Answer with a list of letters.

# %%
L.predict("14b.p2", None)

# %% tags=["C14b.3"]
L.run(still_there, detached, after="14b.p2")
L.run(still_there, as_it_is, after="14b.p2")
L.run(still_there, as_it_is, backward, after="14b.p2")
L.run(still_there, as_it_is, backward_retained, after="14b.p2")

# %% [markdown] tags=["tells"]
# In B and D it is alive. It is the ring of lesson 06 again. The result holds its node (as `grad_fn`), and the node holds what `pack` returned. If that is the result itself, each keeps the other one alive. Without hooks PyTorch avoids the ring by saving a result without its history. With hooks it holds whatever you return.
#
# Backward opens the ring, as C shows: a node that has run lets go of what `pack` returned. So an ordinary training loop loses nothing. Memory is lost by forward passes that no backward follows, as in a validation that forgot `no_grad`, and by `retain_graph=True`. In our engine the garbage collector finds such a ring in the end. PyTorch's nodes are made in C++, where the collector does not look, and the memory is lost until the program ends.
#
# A leaf has no node, so there is no ring, and it may be returned as it is.
#
# > **The rule.** What `pack` returns must not hold the tensor that it was given, unless that is a leaf.

# %% [markdown]
# ### Exercise: half of a double
#
# **14b.1 · Half of a double** (10 minutes). A network computes in float64, and what it saves should wait in float32. Somebody has posted a pair for it, in which three things are wrong. Return a pair `(pack, unpack)` with which
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


L.check("14b.1", pair)

# %% [markdown]
# ## Can a saved tensor wait somewhere else?
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
# We count the files after forward, in the middle of backward (a hook on `h` runs when the gradient of `h` is there, as in lesson 12), and at the end. We also count the bytes that go out to files, and those that come back.

# %% tags=["C14b.4"]
def on_disk(folder):
    numbers, out, back = itertools.count(), [], []

    def pack(tensor):
        if tensor.is_leaf:
            return tensor
        out.append(tensor.numel() * 4)
        return File(tensor, os.path.join(folder, f"{next(numbers)}.pt"))

    def unpack(packed):
        if not isinstance(packed, File):
            return packed
        tensor = packed.read()
        back.append(tensor.numel() * 4)
        return tensor

    def count(when):
        print(when, "-", len(os.listdir(folder)), "files")

    w = torch.ones(50, 50, requires_grad=True)
    with hooks(pack, unpack):
        h = block(torch.ones(50, 50), w)
        h.register_hook(lambda grad: count("when h has its gradient"))
        loss = block(h, w).sum()
    count("after forward")
    loss.backward()
    count("after backward")
    print(f"{sum(out):,} bytes went out, and {sum(back):,} came back")


with tempfile.TemporaryDirectory() as folder:
    on_disk(folder)

# %% [markdown]
# **Notice:** no line of the program removes the files. A node lets go of its slots right after it has run. The `File` in the slot dies, and its file with it. In the middle of the pass the files of the second block were gone, and those of the first one were still needed.
#
# > **The rule.** What `pack` returned lives as long as the slot: until its node has run without `retain_graph`, or until the graph is gone.
#
# ## What does it cost to move saved tensors out and back?
#
# On a GPU the usual place to wait is the memory of the computer around it, which is larger and slower. PyTorch has this pair ready made, as `torch.autograd.graph.save_on_cpu()`. This is called *offloading*. It computes nothing twice. But every saved byte is moved twice, as the last line above shows. (`save_on_cpu` packs leaves, too, so the weights are moved as well. And it waits for each move, unless you say `pin_memory=True`.)
#
# At best the moves take place beside the computing. Then the pass waits only if the bus is slower than the layers.
#
# When is it slower? Take a block with GELU that is n wide, with b rows. It saves 5 activations of 4 · b · n bytes. Moved out and back, that is 40 · b · n bytes. In a training step it computes 3 products, one in forward and two in backward, of 2 · b · n² operations each. That is 6 · b · n² operations. The bus keeps up if
#
# 40 · b · n / (bytes per second) ≤ 6 · b · n² / (operations per second).
#
# The batch b cancels out, and one n. What is left says how wide the layers must be:

# %%
def wide_enough(machine, operations, bus):
    print(f"{machine}: layers at least {40 / 6 * operations / bus:,.0f} wide")


wide_enough("a laptop and its disk", 1e11, 1e9)
wide_enough("a GPU and the memory of its computer", 1e13, 25e9)
wide_enough("a faster GPU", 1e14, 25e9)

# %% [markdown]
# (The speeds are of the right order and no more. Put in those of your machine.) A larger batch does not help, and a faster GPU on the same bus makes it worse. So people offload wide layers, and only some of what these save.
#
# > **The rule.** Offloading moves each saved byte twice. It costs little time if the layers are wide enough for the bus, whatever the batch.
#
# ## Exercises: more, if you like
#
# **14b.2 · Diagnose** (6 minutes). Seven bug reports, about this part and lesson 14. Which change cures each? Choose from `"use_reentrant=False"`, `"draw it outside"`, `"give it as an argument"`, `"backward first"`, `"detach in pack"`, `"leave leaves alone"` and `"preserve_rng_state=True"`. One of them cures two reports, and one is not needed.
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

L.check("14b.2", cures)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C14b.1** pack is called for leaves, too, and twice for a tensor that two nodes save, although without hooks its memory is held once.
# - **C14b.2** Numbers that do not fit into what they are packed in change the gradient and not the forward pass.
# - **C14b.3** If a node saves its own result and pack returns it as it is, the result outlives its last name, unless backward has run without retain_graph; one that is detached does not.
# - **C14b.4** What pack returned is let go when the node has run, or with retain_graph when the graph is gone.
#
# **Left out:** packing into 8 bits with a scale for each block, which some optimizers and libraries do.
#
# **Next:** part [14c](14c_memory_against_time.ipynb), in which nodes hold nothing and compute it again. Or [lesson 15](15_reading_pytorch.ipynb).
