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
# # 14c · Memory against time: which layers should be computed twice?
#
# **Your next model is four times as deep as the last one, and the activations that it saves take four times the memory. Your machine has twice the memory. A colleague says that this is enough. With checkpoints in the right places a training step takes a third more products, and everything fits. You put a checkpoint here and a checkpoint there, and the peak does not move.**
#
# This part needs lesson 14, and no later lesson needs this part. A checkpoint puts aside the input of a part of the network, and runs the part again in backward.
#
# After this lesson you can
#
# - work out, before you try, how much memory a plan of checkpoints needs and how much computing it costs;
# - put checkpoints where the peak is lowest;
# - choose which operations of a block are worth computing twice.
#
# **Minutes** 46, and 12 for more exercises · **Needs** lesson 14 · **Out of scope** packing (part [14b](14b_what_packing_costs.ipynb)), several machines (lesson 17), `torch.compile`, which chooses by itself what to compute again
#
# [← 14 Packing and checkpointing](14_packing_and_checkpointing.ipynb) · [all lessons](home.ipynb) · [15 Reading PyTorch →](15_reading_pytorch.ipynb)

# %%
import course_lib as torch

from backscope import ledger
from coursekit import lesson

L = lesson("14c")
checkpoint_sequential = torch.utils.checkpoint.checkpoint_sequential

# %% [markdown]
# The block below is a matrix product and GELU, a smooth relative of ReLU that many language models use. It is written out, so that we see everything that is saved. With 64 rows and layers that are 64 wide, every matrix between the input and the loss holds 64 · 64 numbers. We call such a matrix *an activation*, and use it as our unit.

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
    return h.sum()


for n, rows in ((2, 64), (8, 640), (8, 64)):
    with ledger(leaves=False) as held:
        forward(block, n, rows).backward()
    print(f"{n} blocks, {rows:3} rows: {held.peak / UNIT:.0f} activations at the peak")
held.plot()

# %% [markdown]
# **Notice:**
#
# - Each block adds 5 activations. (The first one adds 4. Its input is a leaf, which exists anyway and is not counted.) Ten times the rows are ten times the memory.
# - The plot is the one for 8 blocks and 64 rows. The line climbs during all of the forward pass, and falls again during backward. What the *first* block saved waits longest.
#
# So four times as deep is four times the memory. Now we look for the right places.
#
# ## How long should a segment be?
#
# We take a simpler layer, `tanh(h @ w)`. Each layer saves one activation more, its result. (It saves its input as well, but that is the result of the layer before.) With 16 layers and no checkpoints the peak is 16 activations.
#
# Now cut the 16 layers into *segments* of equal length, and checkpoint each segment. We use the Function of lesson 14, because the ledger sees all that it holds. (PyTorch's `use_reentrant=False` holds as much, in lists of its own.)

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
        h = h.detach().requires_grad_()
        with torch.enable_grad():
            result = ctx.part(h)
        result.backward(grad)
        return None, h.grad


def layer(h, w):
    return torch.tanh(h @ w)


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

# %% [markdown]
# With `length` 1 each layer is checkpointed by itself. With `length` 16 there is a single checkpoint around the whole network.
#
# **Predict.** What is the peak, in activations, if `length` is 1? If it is 4? If it is 16? Answer with a list of three numbers. (The input of the whole network is a leaf, and not counted.)

# %%
L.predict("14c.p1", None)

# %% tags=["C14c.1"]
L.run(L.stage.valley, peak, 16, 64, after="14c.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - At both ends, nothing is gained. One checkpoint for each layer has the same peak as none at all, and so has a single one around everything.
# - In between there is a valley: 7 activations instead of 16, and 15 instead of 64.
#
# If every layer is a segment, the checkpoints put aside the input of every layer, and these are all the activations that there are. If the whole network is one segment, nothing is put aside. But the second run has to run the whole network with recording on, and then all of it is saved at once.

# %% [markdown]
# And in between? Here is the memory over time for 16 layers in 4 segments of 4:

# %%
def over_time():
    with ledger(leaves=False) as held:
        in_segments(16, 4).backward()
    return held.plot()


L.run(over_time, after="14c.p1")

# %% [markdown] tags=["tells"]
# **Notice:** the small steps on the left are the whole forward pass. Three inputs are put aside, and nothing else. (They are the plain part of the picture. What second runs save is hatched.) Then comes backward, with one peak for each segment. The last segment is run again first, and adds its 4 activations to the 3 that are put aside: 7. When it is done, its 4 are gone, and so is its input. So each peak is lower by one than the peak before.
#
# For n layers in segments of k layers, there are n/k segments. Each of them puts aside its input, except that the first input is a leaf: that makes n/k − 1. The second run of a segment saves k more. Two numbers with a given product have the smallest sum when they are equal, so k = √n is best, with a peak of 2√n − 1. This is called the **√n law**.

# %% [markdown]
# Let us measure the best length for deeper and deeper networks:

# %% tags=["C14c.1"]
L.run(L.stage.deeper, peak, 4, 16, 64, 256, after="14c.p1")

# %% [markdown] tags=["tells"]
# So the colleague was right. A network that is four times as deep needs about twice the memory.
#
# A block that saves several activations, such as the one with GELU, gains already if each block is a segment: one of its five is put aside, and the other four are there for a moment only, one block at a time. That is why most programs checkpoint block by block and do not count any further.
#
# > **The rule.** The peak is what the checkpoints put aside plus what one segment saves. With n equal layers that is smallest for segments of √n layers.

# %% [markdown]
# ## What does it cost in time?
#
# Time on the clock is different on every machine, so we count how often a layer runs, in forward and again. PyTorch has a function that cuts a chain into segments, too: `checkpoint_sequential(functions, number_of_segments, h)`.

# %% tags=["C14c.2"]
runs, plain_layer = [], layer


def layer(h, w):
    runs.append(1)
    return plain_layer(h, w)


def counted(name, forward):
    runs.clear()
    with ledger(leaves=False) as held:
        forward().backward()
    print(f"{name}: {len(runs)} runs, peak {int(held.peak / UNIT)}")


def sequential(n, segments):
    ws, h = begin(n)
    layers = [lambda h, w=w: layer(h, w) for w in ws]
    return checkpoint_sequential(layers, segments, h, use_reentrant=True).sum()


counted("16 layers without", lambda: forward(layer, 16))
counted("in 16 segments", lambda: in_segments(16, 1))
counted("in 4 segments", lambda: in_segments(16, 4))
counted("by checkpoint_sequential", lambda: sequential(16, 4))

# %% [markdown]
# Each checkpointed layer runs twice, whatever the length of the segments. `checkpoint_sequential` is a little cleverer. It does not checkpoint the last segment. This one would be computed again as soon as backward begins, so its activations may as well stay where they are. The peak is the same, and four runs are saved.
#
# How much is that in a whole training step? Backward computes two products for each product of forward, one for each operand (lesson 03). So a step without checkpoints takes 3 products a layer, and with checkpoints it takes 4: one third more, and not twice as much.
#
# If even 2√n is too much, you can put checkpoints inside of checkpoints. Each level runs every layer once more, and brings less than the level before. One level is nearly always enough.
#
# > **The rule.** A level of checkpoints runs every layer once more. This turns the 3 products of a training step into 4.
#
# ### Exercise: the bill
#
# Now you can say what a plan costs before you try it.
#
# **14c.1 · The bill** (8 minutes). A network has twelve layers like those of the lesson: each saves one activation, its result, and the input of the network is a leaf. Six plans:
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

L.check("14c.1", bill)

# %% [markdown]
# ## Which part of a block is worth computing twice?
#
# Not every operation is equally expensive. Look at the block with GELU. For each of its numbers, the matrix product computes 64 multiplications and 64 additions. GELU computes about ten small operations. So nearly all of the *time* goes into the product, while nearly all of the *memory* is taken by GELU: of the five activations that a block saves, four are steps in the middle of GELU.
#
# So compute again what is cheap and takes much room, and store the result of what is expensive. This is called **selective** recomputation. It takes no new tool. You choose what you wrap:

# %% tags=["C14c.3"]
products = []


def product(h, w):
    products.append(1)
    return h @ w


def nothing(h, w):
    return gelu(product(h, w))


def whole_block(h, w):
    return Checkpoint.apply(lambda h: gelu(product(h, w)), h)


def gelu_only(h, w):
    return Checkpoint.apply(gelu, product(h, w))


for way in (nothing, whole_block, gelu_only):
    products.clear()
    with ledger(leaves=False) as held:
        forward(way, 8).backward()
    print(f"computed again: {way.__name__}")
    print(f"  {int(held.peak / UNIT)} activations at the peak, {len(products)} products")

# %% [markdown]
# With GELU alone in the checkpoint, the peak is less than half of what it was, and not a single product is computed twice. If you wrap the whole block, the peak falls further, and every product is paid for again. You can count both. With the whole block, 7 inputs of blocks are put aside, and one block saves 4 more, that is 11. With GELU only, 7 inputs and all 8 results of products stay, and one GELU saves 3 more, that is 18.
#
# Many of the large models of today rest on the same thought. In *attention*, every word of a text is compared with every other one, which gives a table whose size is the square of the length of the text. Stored for every layer, these tables would fill any memory. So they are computed again in backward, by kernels such as "FlashAttention".
#
# PyTorch can also choose inside of a part, operation by operation. A *policy* says for each operation whether its result is stored. Our engine does not have this. On PyTorch, the following stores the results of the matrix products of a block, and computes everything else twice:
#
# ```python
# from functools import partial
# from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
#
# def policy(ctx, operation, *args, **kwargs):
#     expensive = operation in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
#     return CheckpointPolicy.MUST_SAVE if expensive else CheckpointPolicy.PREFER_RECOMPUTE
#
# contexts = partial(create_selective_checkpoint_contexts, policy)
# h = checkpoint(block, h, w, use_reentrant=False, context_fn=contexts)
# ```
#
# > **The rule.** Compute again what is cheap to compute and large to store, and store what is expensive.
#
# ### Exercise: only what is cheap
#
# **14c.2 · Only what is cheap** (6 minutes). `product(h, w)` is expensive, and the gate after it is cheap. Rewrite `gated`, so that the product is computed once, in forward and backward together, and of all that is computed only its operand `h` and its result stay in memory. The value and the gradients of `h`, `w` and `g` remain the same, also where `g` alone requires one. (PyTorch's own form of our `Checkpoint` takes several tensors: `torch.utils.checkpoint.checkpoint(part, *arguments, use_reentrant=False)`.)


# %%
def gated(torch, product, h, w, g):
    u = product(h, w)
    return u * torch.sigmoid(g * u)


L.check("14c.2", gated)

# %% [markdown]
# ## Exercises: more, if you like
#
# **14c.3 · Better than equal segments** (12 minutes, harder). The √n law is about segments of *equal* length. Can other lengths have a smaller peak? Return the lengths of the segments, first to last, for `n` layers that save one activation each, so that the peak is as small as it can be with one level of checkpoints. Plan F of the bill is a hint. (As there, the input of the network is not counted, and the last segment is checkpointed, too.)


# %%
def plan(n):
    return ...


L.check("14c.3", plan)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C14c.1** With n layers that save one activation each, in segments of k layers, n/k - 1 + k activations are held at the peak, which is as many as without checkpoints for k = 1 and k = n, and 2√n - 1 for k = √n.
# - **C14c.2** Each checkpointed layer runs twice; checkpoint_sequential does not checkpoint the last segment.
# - **C14c.3** If only GELU is checkpointed and not the product in front of it, less than half of the activations are held and no product is computed twice.
#
# **A recipe.** If memory is short: `checkpoint(block, h, use_reentrant=False)` around each block. If time is short as well: only around what is cheap and large.
#
# **Next:** [lesson 15](15_reading_pytorch.ipynb), a model of a real size.
