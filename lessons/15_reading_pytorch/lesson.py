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
# # 15 · Reading PyTorch with the same eyes: can you find your way in a real model, and in PyTorch's own source?
#
# **You have written a small language model. It has fifty lines, and forward runs. Then backward stops with a message that you know: something is at version 4, version 3 was expected. It names a tensor of shape [8, 6, 8], and many tensors of your model have that shape. The traceback ends in the line `loss.backward()`, which is right. Below it, everything is C++.**
#
# Until now the programs of this course had three lines, and you could see the whole graph at a glance. A real model has some hundred nodes, and nobody looks at them all. But there is nothing new in them. Nearly every node of this model is one that you have met, and so is every line that its error comes from. In this lesson you use what you know on a model of a real size. Then you open PyTorch's own source, and you will find that you can read it.
#
# After this lesson you can
#
# - say for a node of a large graph which line of the model made it;
# - find the line that broke a model, with four tools in a fixed order;
# - find the C++ function behind an error of PyTorch's, and read the two most important ones;
# - recognise what mixed precision and the compiler put into a graph, and what training on several machines does not.
#
# **Minutes** 130, in two sittings of about the same length: a rest is marked in the middle · **Needs** lessons 04, 06, 07, 09 and 14 (saved-tensor hooks) · **Out of scope** how kernels compute, GPUs, how the compiler works inside; several machines come in lesson 17
#
# [← 14 Packing and checkpointing](14_packing_and_checkpointing.ipynb) · [all lessons](home.ipynb) · [16 Five bug reports →](16_five_bug_reports.ipynb)
#
# (You need no PyTorch for this lesson. Some cells are about things that only real PyTorch can do. They print a *record* of what PyTorch 2.13 has printed, and say so.)

# %%
import course_lib as torch
import collections
import textwrap
import warnings

from backscope import draw, explain, ledger, watch
from coursekit import chart, expect_error, lesson, show
from coursekit.records import recorded
from coursekit.records.differences import differences
from coursekit.records.sources import sources

L = lesson(15)
nn, F = torch.nn, torch.nn.functional

# %% [markdown]
# Here is the model. It is a **transformer**, the kind of network behind the large language models, only very small. It reads a text of numbers, and at each place it guesses the next number. You do not have to know transformers. These are the three parts:
#
# - **Attention** lets each place look at the places before it. It computes a table `weights` with a row for each place. The row says how much this place takes from each other place. (`masked_fill` forbids to look ahead, and `softmax` makes the numbers of a row add up to 1.) The line with `torch.rand` drops about every tenth number of the table, at random, so that the model does not rely on single places.
# - **A block** is attention, and after it two ordinary layers, `mlp`. Both *add* their result to `x`, which goes through the whole model.
# - **The transformer** looks up a row of numbers for each letter and for each place, sends them through some blocks, and ends in a layer with a score for each letter.


# %%
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = [part.reshape(batch, time, self.heads, self.size).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]
        scores = q @ k.transpose(-2, -1) / self.size**0.5
        ahead = torch.ones(time, time).triu(1) == 1
        weights = scores.masked_fill(ahead, float("-inf")).softmax(-1)
        weights *= torch.rand(weights.shape) > 0.1
        return self.out((weights @ v).transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x += self.attention(self.norm1(x))
        x += self.mlp(self.norm2(x))
        return x


class Transformer(nn.Module):
    def __init__(self, letters=10, time=6, width=8, heads=2, blocks=2):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(time, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, text):
        x = self.letter(text) + self.place(torch.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


# %% [markdown]
# The texts count upwards, by ones or by threes: 0 1 2 3 …, or 1 4 7 0 …. There are eight of them, with six letters each. The target is the same text, moved by one letter.

# %% tags=["P2"]
torch.manual_seed(0)
starts, steps = torch.arange(8).view(8, 1), torch.tensor([1, 3, 1, 3, 1, 3, 1, 3]).view(8, 1)
letters = (starts + steps * torch.arange(7)) % 10
text, target = letters[:, :-1].clone(), letters[:, 1:].clone()
model = Transformer()


def loss_of(model):
    return F.cross_entropy(model(text).flatten(0, 1), target.flatten())


loss = loss_of(model)
print(f"loss {loss.item():.4f}")
with expect_error(RuntimeError, "is at version 4; expected version 3"):
    loss.backward()

# %% [markdown]
# The loss is there, and it is about right for a model that knows nothing yet: −log(1/10) is 2.3. Backward refuses.
#
# Leave the error for a moment. To find a line in a large graph, you have to know which node belongs to which line. So let us begin with the names.
#
# ## What does one `nn.Linear` leave in the graph?
#
# The model has nine `nn.Linear` layers in it. Here is one alone, on an input like that of the model, with three dimensions: 8 texts, 6 places and 8 numbers for each place.
#
# ```python
# layer, x = nn.Linear(8, 4), torch.ones(8, 6, 8, requires_grad=True)
# y = layer(x)
# ```
#
# **Predict.** Which nodes are in the graph of `y`? Choose from `"LinearBackward0"`, `"MmBackward0"`, `"AddBackward0"`, `"AddmmBackward0"`, `"TBackward0"` and `"ViewBackward0"`, and answer with a list of names. Name each only once, and leave out the nodes of the leaves. (A layer computes `input @ weight.T + bias`. The product of two matrices is called `mm` in PyTorch, and a product with an addition, in a single step, is called `addmm`.)

# %%
L.predict("15.p1", None)

# %% tags=["C15.1"]
layer, x = nn.Linear(8, 4), torch.ones(8, 6, 8, requires_grad=True)
y = layer(x)
draw(layer, y, detail=0)

# %% [markdown]
# **Notice:** begin at the top, with the leaves.
#
# - The weight goes through `t()`, which turns a matrix around. That is the `.T` of the formula. (Its memory is at version 1, because the initial values were written into it.)
# - `addmm` works on matrices only. So the input is first made a matrix of 48 rows, by a `view`. After the product, another `view` gives the result its three dimensions back.
# - No node is called *Linear*. A layer is a Python object which calls some operations, and only operations make nodes.
#
# So the name of a node says which *operation* ran, deep inside of PyTorch. It need not be one that you called yourself. Here are some more lines, each with the `grad_fn` of its result. That is the outermost node, the one that was made last:

# %% tags=["C15.2"]
w, rows = torch.ones(4, requires_grad=True), torch.ones(2, 2, requires_grad=True)
lines = {
    "w.sum()": lambda: w.sum(),
    "rows.sum(0)": lambda: rows.sum(0),
    "w ** 2": lambda: w**2,
    "2 ** w": lambda: 2**w,
    "2 * w": lambda: 2 * w,
    "1 - w": lambda: 1 - w,
    "w[0]": lambda: w[0],
    "w[torch.tensor([0, 2])]": lambda: w[torch.tensor([0, 2])],
    "rows @ rows": lambda: rows @ rows,
    "rows @ w[:2]": lambda: rows @ w[:2],
    "rows.reshape(4)": lambda: rows.reshape(4),
    "rows.t().reshape(2, 2)": lambda: rows.t().reshape(2, 2),
    "rows.t().reshape(4)": lambda: rows.t().reshape(4),
    "F.dropout(w)": lambda: F.dropout(w),
    "F.layer_norm(w, (4,))": lambda: F.layer_norm(w, (4,)),
    "F.cross_entropy(rows, …)": lambda: F.cross_entropy(rows, torch.tensor([0, 1])),
}
for line, run in lines.items():
    print(f"{line:26} {run().grad_fn.name()}")

# %% [markdown]
# Three things in this list help you in any graph.
#
# - **The digit at the end counts forms of one operation.** A sum over everything is another form than a sum over one dimension, because their gradients are computed in another way: `SumBackward0` and `SumBackward1`.
# - **One line may take different ways.** `reshape` gives a view where that is possible. (If the numbers do not lie in order, this view is called `ReshapeAlias`.) Where it is not possible, it makes a copy (`Clone`) and views that (`UnsafeView`).
# - **A line of Python may be several operations.** `cross_entropy` is a logarithm of a softmax, and after it `nll_loss`. `dropout` on a CPU is a product. (On a GPU it is one operation of its own, and its node is called `NativeDropoutBackward0`.)
#
# > **The rule.** A node is named after the operation that ran in C++, not after the layer or function that you called; the digit tells forms of one operation apart.
#
# Now the whole model. `nodes_of` walks through the graph as you did in lesson 01, and we count the names:


# %% tags=["C15.3"]
def nodes_of(result):
    met = [result.grad_fn]
    for node in met:
        met += [after for after, _ in node.next_functions if after is not None and after not in met]
    return met


loss = loss_of(model)
counts = collections.Counter(node.name().removeprefix("torch::autograd::") for node in nodes_of(loss))
print(counts.total(), "nodes,", len(list(model.parameters())), "parameters")
for name, count in counts.most_common():
    print(f"{count:3} {name}")

# %% [markdown]
# With this list you can find every layer again. There are 9 `Addmm`, and the model has 9 linear layers: four in each block (`qkv`, `out`, and two in `mlp`), and the `head`. There are 5 layer norms, 2 softmaxes, 2 GELUs, one loss. The 30 `AccumulateGrad` are the 30 parameters.
#
# (The pictures below speak of 113 nodes. They do not count the 30 `AccumulateGrad`.)
#
# And about half of all nodes compute nothing at all. `View`, `UnsafeView`, `Transpose`, `T`, `Expand` and their relatives only put numbers into another shape. In a real graph you learn to read over them.
#
# ## Which line stopped the backward pass?
#
# Back to the error. It said:
#
# > … [torch.FloatTensor [8, 6, 8]], which is output 0 of … is at version 4; expected version 3 instead.
#
# These lines of the model are the candidates:
#
# | | line | in |
# | --- | --- | --- |
# | A | `x = self.letter(text) + self.place(…)` | `Transformer.forward` |
# | B | `weights *= torch.rand(weights.shape) > 0.1` | `Attention.forward` |
# | C | `x += self.attention(self.norm1(x))` | `Block.forward` |
# | D | `x += self.mlp(self.norm2(x))` | `Block.forward` |
# | E | `return self.head(self.norm(x))` | `Transformer.forward` |
#
# **Predict.** Which line wrote the fourth version, the one that made backward stop? Answer with a letter. (The model has two blocks. Count the writes into `x`, and think of who has saved it in between.)

# %%
L.predict("15.p2", None)

# %% [markdown]
# At work you need not count. There are four tools for it, best used in this order: **watch, explain, draw, cure**.
#
# **Watch.** `watch` writes down what happens while the model runs. We ask it for the writes only:

# %% tags=["C15.4"]
with watch(names=model) as log:
    loss = loss_of(model)
log.only("bumped")

# %% [markdown]
# **Notice:** there are six writes, and the log says for each which line it was. (A line is counted from the top of its cell. So `line 25` and `line 26` are the two lines of `Block.forward`.) Four writes go into one tensor, and count 1, 2, 3, 4. The other two go into results of `softmax`, one in each block.
#
# **Explain.** Now let it fail again, and ask what the message means. (We compute the loss once more, without `watch`. On PyTorch `watch` packs what nodes save, as in lesson 14, and then a picture cannot show it. The `None` means: the error that was raised last.)

# %%
loss = loss_of(model)
with expect_error(RuntimeError, "is at version 4; expected version 3"):
    loss.backward()
explain(None, loss, names=model)

# %% [markdown]
# **Notice:** the column on the left is the graph, with the loss at the bottom. It is so large that it is folded, into boxes named after the layers. But the node that is broken is never folded away: it is node 95, in the middle of `blocks.1`. It has an orange drawer, marked `HERE`. A `NativeLayerNormBackward0` has saved a tensor at version 3, and that tensor is at version 4 now. It is our `x`; names are known for parameters only, so it has a number here. The boxes below had run already, and what they had saved is *FREED*. So the answer to the prediction is D:
#
# - A layer norm saves its *input*. `norm2` of the second block saved `x` when `x` was at version 3.
# - Line D of the second block computed `self.mlp(self.norm2(x))`, and then added the result into the same `x`. That was write number 4.
# - Backward starts at the end of the model, so it met this layer norm first. Five more saved tensors are stale, all in the two orange boxes above: the inputs of three layer norms, and the table `weights` of each block.
#
# Look also at the name in the message: *output 0 of Add*. It is not the name of the layer norm that has saved the tensor. It names the operation that made what is in the tensor *now*, which is the `+=`. This name is often the culprit itself, but not always, as you will see in a moment.
#
# **Draw.** Let us see the fault alone. This is line D with a GELU, which saves its input too, instead of the layer norm and the `mlp`. (The `clone()` is there because a leaf may not be written to.)

# %%
start = torch.ones(3, 8, requires_grad=True)
x = start.clone()
x += F.gelu(x)
draw(x)

# %% [markdown]
# **Notice:** follow the orange line. Node 2 has saved `x` at version 0, and the memory of `x` is now at version 1. The `+=` made a new node, which came *after* the GELU, but it wrote into the memory that was there before.
#
# **Cure.** Write the two lines out of place:


# %% tags=["C15.4"]
def forward(self, x):
    x = x + self.attention(self.norm1(x))
    return x + self.mlp(self.norm2(x))


Block.forward = forward
loss = loss_of(model)
with expect_error(RuntimeError, "is at version 1; expected version 0"):
    loss.backward()

# %% [markdown]
# That was the first one, and now backward comes further, to the second. The shape is [8, 2, 6, 6]. That is a number for each text, each head, each place, and each place to look at. Only the tables of attention have this shape. The write is `weights *= …`, line B. This time the message does not name the write, but `Softmax`. (Why not, you will see in the second half.)

# %% tags=["C15.4"]
def forward(self, x):
    batch, time, width = x.shape
    q, k, v = [part.reshape(batch, time, self.heads, self.size).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]
    scores = q @ k.transpose(-2, -1) / self.size**0.5
    ahead = torch.ones(time, time).triu(1) == 1
    weights = scores.masked_fill(ahead, float("-inf")).softmax(-1)
    weights = weights * (torch.rand(weights.shape) > 0.1)  # was *=
    return self.out((weights @ v).transpose(1, 2).reshape(batch, time, width))


Attention.forward = forward
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(61):
    optimizer.zero_grad()
    loss = loss_of(model)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step:2}: loss {loss.item():.2f}")

# %% [markdown]
# It trains. (The loss does not become zero. From a single letter, nobody can tell whether a text counts by ones or by threes.)
#
# Three signs were changed, two `+=` and one `*=`, and nothing else. No `clone()`, no `retain_graph=True`, no `.data`. You could also have found both by reading the model. But in a model of ten thousand lines you cannot, and the four steps are the same there.
#
# > **The rule.** Watch for the writes, let the message be explained, draw the smallest piece that shows the fault, and cure the line that wrote.
#
# ## What does attention keep until backward?
#
# The longer the text, the more memory a transformer takes, and the greatest part of it goes into the tables of attention. Here they are once more, in the cured form. Each of these six has a number for every pair of places:
#
# ```python
# scores = q @ k.transpose(-2, -1)
# scaled = scores / self.size**0.5
# masked = scaled.masked_fill(ahead, float("-inf"))
# weights = masked.softmax(-1)
# keep = torch.rand(weights.shape) > 0.1
# dropped = weights * keep
# mixed = dropped @ v
# ```
#
# **Predict.** Which of `scores`, `scaled`, `masked`, `weights`, `keep` and `dropped` are saved by some node of the graph? Answer with a list of names. (`keep` requires no gradient. The size is a plain number. Go through the operations one by one: what does the slope of each need, as in lesson 06?)

# %%
L.predict("15.p3", None)

# %% tags=["C15.5"]
torch.manual_seed(1)
q, k, v = [torch.randn(6, 4, requires_grad=True) * 1 for _ in range(3)]
ahead = torch.ones(6, 6).triu(1) == 1
with ledger(leaves=False) as held:
    scores = q @ k.transpose(-2, -1)
    scaled = scores / 4**0.5
    masked = scaled.masked_fill(ahead, float("-inf"))
    weights = masked.softmax(-1)
    keep = torch.rand(weights.shape) > 0.1
    dropped = weights * keep
    mixed = dropped @ v
held.table()

# %% [markdown]
# **Notice:** read the column *slot*. Each slot is named after the argument that the gradient formula needs.
#
# - The product saves both of its operands, `q` and `k`. Its result, `scores`, is saved by nobody: a division by a number needs only the number, and `masked_fill` only the mask.
# - `softmax` saves its own result, `weights`. That is why its result may not be overwritten.
# - The product with `keep` saves `keep`, for the gradient of `weights`. It does not save `weights`, since `keep` wants no gradient. Booleans take one byte each, and so `keep` is a quarter as large as the others. (It is a leaf, in the sense of lesson 02: nothing that was recorded made it. The ledger was told to leave leaves out.)
# - The last product saves `dropped`, and `v`.
#
# So three of the six are held: two large ones, and a small one. All three grow with the *square* of the length of the text, and so does the mask. What the `mlp` saves grows with the length alone:

# %% tags=["C15.5"]
held_by = {"attention": {}, "the mlp": {}}
for time in (4, 16, 64, 256):
    block, x = Block(8, 2), torch.ones(1, time, 8, requires_grad=True) * 1
    for name, part in {"attention": block.attention, "the mlp": block.mlp}.items():
        with ledger(leaves=False) as held:
            part(x)
        held_by[name][time] = held.peak
chart({"saved by one block": held_by}, across="places in the text", up="bytes", log=True)

# %% [markdown]
# **Notice:** for a text of four places the `mlp` saves more than attention. For longer ones it is the other way round, and the curve of attention becomes twice as steep as the other. (Both axes are logarithmic. There a quantity that grows with the square is a line twice as steep as one that grows with the length.) This is why long texts are expensive.
#
# Written out like this, attention is easy to read, but real models seldom run it so. They call `F.scaled_dot_product_attention(q, k, v, is_causal=True)`, which PyTorch computes by a kernel of its own, block by block. Our engine has this function, too, and computes it by hand. So here is a record of what PyTorch's saves, for a text of 256 places, beside the same computation by hand:

# %% tags=["C15.17"]
recorded("attention, two ways")

# %% [markdown]
# **Notice:** by hand, nearly all of the bytes are the table. With the kernel there is one node, and it saves no table, only `q`, `k`, `v`, its result and one number for each row. (That number and the mask have no history, so they are not counted here.) In backward it computes the table again, block by block. This is the checkpoint of lesson 14 inside of a single operation. What it saves grows with the length alone.
#
# > **The rule.** What a model keeps follows from the formulas of its operations; a slot is named after the argument that the formula needs.

# %% [markdown]
# ## Exercises: four for the first half
#
# `L.hint("15.1")` helps, `L.solution("15.1")` explains, and `L.progress()` lists what you have solved.
#
# **15.1 · Which name?** (6 minutes). `x` and `W` are matrices that require grad, and `t` is data. What is the `grad_fn` of each line called?
#
# | | line | | line |
# | --- | --- | --- | --- |
# | A | `F.linear(x, W)` | F | `F.dropout(x, 0.5)` |
# | B | `x.mean(1)` | G | `x.flatten()` |
# | C | `x[:, 0]` | H | `x.t().flatten()` |
# | D | `x[:1]` | I | `x.double()` |
# | E | `x[torch.tensor([1, 0])]` | J | `F.mse_loss(x, t)` |
#
# Choose from `LinearBackward0`, `MmBackward0`, `AddmmBackward0`, `MeanBackward0`, `MeanBackward1`, `SelectBackward0`, `SliceBackward0`, `IndexBackward0`, `DropoutBackward0`, `MulBackward0`, `FlattenBackward0`, `ViewBackward0`, `UnsafeViewBackward0`, `ToCopyBackward0`, `DoubleBackward0` and `MseLossBackward0`.

# %%
names = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None, "I": None, "J": None}

L.check("15.1", names)

# %% [markdown]
# **15.4 · Cure the block** (6 minutes). Forward runs, and backward raises. Cure the block: the same result, and the right gradients for `h`, `w` and `gate` (all three want one). Decide for each of the three writes whether it has to go.


# %%
def block(torch, h, w, gate):
    scores = h @ h.transpose(-2, -1)
    scores /= 2
    weights = scores.softmax(-1)
    weights *= gate
    mixed = torch.tanh(weights @ (h @ w))
    mixed += h
    return mixed


L.check("15.4", block)

# %% [markdown]
# **15.6 · Another model** (8 minutes). Forward runs, and backward raises. When that fault is cured, it raises once more. Find both with the four tools. Which of the writes A to D is the first error about (`"first"`), which the second (`"second"`), and which of them `"may stay"`?


# %%
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.gate, self.leave = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = self.enter(x)
        h *= 0.5  # A
        g = torch.sigmoid(self.gate(h))
        h -= h.mean(1, keepdim=True)  # B
        g += 0.1  # C
        out = self.leave(torch.tanh(h * g))
        out *= 10  # D
        return out


gated = Gated()
result = gated(torch.randn(3, 4)).sum()  # and now? result.backward() raises

# %%
writes = {"A": None, "B": None, "C": None, "D": None}

L.check("15.6", writes)

# %% [markdown]
# **15.5 · Who is not reached?** (10 minutes). Return the names of the parameters of `model` to which `loss.backward()` would give no gradient. Look at the graph as it is now; do not run the pass. (A node of a leaf has an attribute `variable`.) The graph may be deep, and there may be very many ways through it.


# %%
def not_reached(model, loss):
    return ...


L.check("15.5", not_reached)

# %% [markdown]
# ## A rest
#
# This is the middle of the lesson. You have taken a real model apart, from the outside. In the second half you look into the machine itself.
#
# ## In which file of PyTorch is it?
#
# PyTorch has some millions of lines. What this course is about stands in a few dozen files. Every file of our engine begins with a sentence that says where PyTorch keeps the same thing. So the map can be printed:

# %% tags=["C15.6"]
for ours, theirs in sources().items():
    line = f"{ours.removeprefix('engine/'):15} {theirs}"
    print(textwrap.fill(line, 100, subsequent_indent=" " * 16, break_on_hyphens=False))

# %% [markdown]
# You find these files on GitHub, in the repository `pytorch/pytorch`. Four folders matter to you:
#
# | folder | holds | is like our |
# | --- | --- | --- |
# | `c10/core` | what a tensor is: memory, shape, version counter | `tensor.py`, `version.py` |
# | `aten/src/ATen` | what operations compute; nothing of graphs | `arrays/` |
# | `torch/csrc/autograd` | **the graph and the engine**: nodes, saved tensors, hooks, backward | `graph.py`, `saved.py`, `backward.py` |
# | `tools/autograd` | `derivatives.yaml`, the table of all gradient formulas, and the scripts that write C++ from it | `derivatives.py`, `ops.py` |
#
# There is one thing that confuses everybody at first. If you search the source for `SigmoidBackward0`, you find no class of that name. It is *generated* when PyTorch is compiled, from one row of `derivatives.yaml`. So search for `sigmoid` in that file. You will find the formula, and the names in it are the slots that a ledger shows. Our engine does the same when an operation is first used, and lets you see what it has written:

# %% tags=["engine"]
show("sigmoid")

# %% [markdown]
# This is what every operation does, here and in PyTorch: it computes; it asks whether anybody records; it makes a node, sets its arrows, and gives it a number; and it saves what the formula needs, here its own result.
#
# For errors there is a shorter way than searching. If the environment variable `TORCH_SHOW_CPP_STACKTRACES` is `1` before your program starts, each error of PyTorch's tells you through which C++ functions it came. In a shell that is:
#
# ```console
# $ TORCH_SHOW_CPP_STACKTRACES=1 python train.py
# ```
#
# The list is long and ugly, and most of it is Python's own. The record below has made it short. For ten errors it gives first the function of autograd that raised it, then the one that had called this function, and so on. You have met these errors:
#
# - *freed*: a second backward. *changed*: a saved tensor was overwritten. *an inference tensor*: such a tensor was to be saved. *a pack that writes*: lesson 14.
# - *a gradient of a wrong shape*, *too many gradients*: the backward of a custom Function returned them.
# - *not a number*: anomaly mode has found a NaN. *no history*: the loss does not require grad.
# - *a leaf written to*, *one of several views*: the writes of lessons 07 and 08 that are refused at once.

# %% tags=["C15.7"]
recorded("who raised it", program=False)

# %% [markdown]
# This is a *record*, like the one about attention. Your computer did not make this output just now. It was made on PyTorch, and a test makes it again and compares. On a machine with PyTorch you can do that, too: `from coursekit.records import again`, and then `again("who raised it")`. Where PyTorch is not installed, `again` says so.
#
# Read the first two entries, *freed* and *changed*, from right to left. `thread_main` is the loop that takes the next node from the queue. It calls `evaluate_function` with that node. `Node::operator()` runs the node, `apply` is the generated formula, and the formula *unpacks* what it has saved. There the error was raised.
#
# So the most famous error of PyTorch comes from a function with the name `SavedVariable::unpack`, and the way to it leads through `Engine::evaluate_function`. These are the two pages that we are going to read.
#
# > **The rule.** `TORCH_SHOW_CPP_STACKTRACES=1` names the C++ function that raised an error; node classes are generated, so look for their formulas in `derivatives.yaml`.
#
# ## If a saved tensor has two faults, which one is reported?
#
# In each of these programs `x` is `torch.tensor([1.0, 2.0], requires_grad=True)` and `h = x * 1`. `detach_()` is `detach()` in place: the tensor itself loses its history. `hooks` is the pair of lesson 14.
#
# | | program |
# | --- | --- |
# | A | `y = h.sin().sum()`, then `y.backward()`, then `h.mul_(2)`, then `y.backward()` again |
# | B | `y = h.sin().sum()`, then `h.mul_(2)`, then `h.detach_()`, then `y.backward()` |
# | C | `with hooks(lambda t: t.clone(), lambda p: p): y = h.sin().sum()`, then `h.mul_(2)`, then `y.backward()` |
# | D | `e = h.exp()` and `y = e.sum()`, then `e.mul_(2)`, then `e.detach_()`, then `y.backward()` |
#
# Two facts help. The message about a version names the node that made the saved tensor, as in *output 0 of Add*. And a node that has saved its own result knows who made it.
#
# **Predict.** What does the last `backward` of each program say? Answer with a list of four words: `"freed"` (it complains of a second backward), `"detached"` (of the `detach_()`), `"version"` (of the write), or `"fine"`.

# %%
L.predict("15.p4", None)

# %% tags=["C15.8"]
hooks = torch.autograd.graph.saved_tensors_hooks


def begin():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x, x * 1


x, h = begin()
y = h.sin().sum()
y.backward()
h.mul_(2)
with expect_error(RuntimeError, "backward through the graph a second time"):
    y.backward()
x, h = begin()
y = h.sin().sum()
h.mul_(2)
h.detach_()
with expect_error(RuntimeError, "detached in-place"):
    y.backward()
x, h = begin()
with hooks(lambda t: t.clone(), lambda p: p):
    y = h.sin().sum()
h.mul_(2)
y.backward()
print("C: no error")
x, h = begin()
e = h.exp()
y = e.sum()
e.mul_(2)
e.detach_()
with expect_error(RuntimeError, "modified by an inplace operation"):
    y.backward()

# %% [markdown]
# The order of the answers is the order of the questions in one function. Here it is.
#
# ### A page of C++: `SavedVariable::unpack`
#
# The function stands in `torch/csrc/autograd/saved_variable.cpp`, a file of some three hundred lines. You need not know C++ to read it. This small phrase book is enough:
#
# | you see | it means |
# | --- | --- |
# | `SavedVariable::unpack` | the method `unpack` of the class `SavedVariable` |
# | `SavedVariable::SavedVariable` | its *constructor*, which is `__init__` in Python |
# | `data_`, with an underscore at its end | a field of the object, `self.data` in Python |
# | `node->name()` | `node.name()`; the arrow is used if `node` is a pointer |
# | `c10::intrusive_ptr<Node>` | a pointer that counts references, as each name in Python does (`std::shared_ptr<Node>` before 2.13) |
# | `auto`, `const auto&` | "some type or other"; read over it |
# | `std::move(x)` | give `x` away: afterwards nobody uses it here any more |
# | `std::lock_guard` | until the end of this block, other threads wait |
# | `TORCH_CHECK(condition, words)` | raise `RuntimeError(words)` unless the condition holds |
#
# A `SavedVariable` is one slot of a node. Its constructor saves a tensor, and `unpack` reads it. These are its fields:
#
# | PyTorch | ours | what it is |
# | --- | --- | --- |
# | `data_` | `tensor` | the saved tensor |
# | `saved_version_` | `version` | the version of its memory when it was saved |
# | `is_output_` | `is_output` | is it a result of the very node that saves it? |
# | `saved_original_` | the class: `SavedVariable`, and not `SavedOutput` | is `data_` the very tensor that was given? |
# | `hooks_` | the class `PackedVariable` | the pair of saved-tensor hooks, if there is one |
# | `is_leaf_`, `grad_fn_`, `output_nr_` | `is_leaf`, `history`, `output_nr` | the place of the tensor in the graph |
#
# PyTorch's own lines are under a licence, so we do not print them. This is a shorter function that we have written in the same style, with the same questions in the same order:
#
# ```cpp
# Tensor Slot::read(const c10::intrusive_ptr<Node>& reader) const {
#   TORCH_CHECK(data_.defined() || hooks_, "backward through the graph a second time");   // 1
#   auto maker = is_output_ ? reader : maker_of(data_);                                   // 2
#   TORCH_CHECK(maker || is_leaf_, "detached in-place");
#   if (!hooks_) {                                                                        // 3
#     TORCH_CHECK(data_.version() == saved_version_, "modified by an inplace operation");
#   }
#   if (!hooks_ && saved_original_) {                                                     // 4
#     return data_;
#   }
#   return with_history(hooks_ ? hooks_->unpack() : data_, maker);                        // 5
# }
# ```
#
# Read it with the phrase book, and find for each of the programs A to D the line at which it ends. Then compare with these five steps of `unpack`:
#
# 1. **Is there anything?** If `data_` is empty and there are no hooks, the slot was freed. Raise *Trying to backward through the graph a second time*. This is program A. The version is not looked at any more, because there is no tensor left whose version could be asked.
# 2. **Which node made the tensor?** A node's own result was made by the node that holds the slot. So `unpack` is told this node, and in D the `detach_()` does no harm. With hooks the maker was noted beside the slot. Otherwise `unpack` asks the saved tensor itself. If a tensor that is not a leaf has no node *now*, somebody has called `detach_()` on it. Raise. This is program B.
# 3. **Is it still the same?** Only without hooks: compare the version of now with `saved_version_`. If they differ, raise *modified by an inplace operation*. This is program D. With hooks nothing is compared, which is program C, and the reason why lesson 14 had to warn you.
# 4. **Was the tensor itself saved?** Then return it, the very same one. Nothing is copied.
# 5. **Otherwise** call the unpack hook, or take `data_`, and make a new tensor on that memory. Give it the history that it had, so that second derivatives can go on from there, and the version counter of the memory.
#
# Now open PyTorch's file on GitHub (in the tag `v2.13.0`), search for `SavedVariable::unpack`, and find the five steps again. It is longer, because it also makes sure that nobody frees the node meanwhile. If you have no network, go on here.
#
# This is the same function in our engine. It is cut in two: `unpack` has step 2, and `read`, which it calls, has steps 3 and 4. Step 1 is a class of its own, `Freed`: it stands in a slot that is empty, and its `read` raises.

# %% tags=["engine"]
show("engine.saved.SavedVariable.unpack")
show("engine.saved.SavedVariable.read")

# %% [markdown]
# (The second sentence of the docstring of `unpack` is about generated code. You may skip it.)
#
# Steps 4 and 5 can be seen from outside, in PyTorch as well as here. `sin` saves its input, and `exp` its result:

# %% tags=["C15.9"]
x, h = begin()
sine, exponential = h.sin(), h.exp()
print("sin: the saved tensor is h itself:", sine.grad_fn._saved_self is h)
kept = exponential.grad_fn._saved_result
print("exp: it is the result itself:", kept is exponential)
print("     it looks at the same memory:", kept.data_ptr() == exponential.data_ptr())
print("     it has the same node:", kept.grad_fn is exponential.grad_fn)
print("     it is a new one each time:", exponential.grad_fn._saved_result is not kept)

# %% [markdown]
# And now you can explain the name in the message, which was *output 0 of Add* in our model. In step 2, `unpack` asks the *saved tensor* for its node. A tensor that was written to has a new node, that of the write. So the message names the last recorded write. For a node's own result it names the node itself, as with *Softmax*, and tells you nothing about the writer. And a leaf has no node, so nothing is named at all:

# %% tags=["C15.10"]
x, h = begin()
y = h.sin().sum()
h.mul_(2)
h.add_(1)
with expect_error(RuntimeError, "which is output 0 of Add, is at version 2; expected version 0"):
    y.backward()
x, h = begin()
e = h.exp()
y = e.sum()
e.add_(1)
with expect_error(RuntimeError, "which is output 0 of Exp, is at version 1; expected version 0"):
    y.backward()
x, h = begin()
y = x.sin().sum()
with torch.no_grad():
    x.add_(1)
with expect_error(RuntimeError, "[2]] is at version 1; expected version 0"):
    y.backward()

# %% [markdown]
# > **The rule.** Reading a saved tensor asks in this order: is it there, has it been detached, has it been written to; hooks switch off the last question.
#
# ## What is left of a graph whose backward pass has failed?
#
# Four weights are multiplied in a row. Then somebody writes into the second product, which the third one has saved.
#
# ```python
# w = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(4)]
# h0 = torch.ones(2) * w[0]
# h1 = h0 * w[1]
# h2 = h1 * w[2]
# h3 = h2 * w[3]
# loss = h3.sum()
# h1.mul_(2)
# loss.backward()      # raises: the version
# ```
#
# **Predict.** After the error, which of `w0`, `w1`, `w2` and `w3` have a gradient in `.grad`? Answer with a list of names.

# %%
L.predict("15.p5", None)

# %% tags=["C15.11"]
w = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(4)]
h0 = torch.ones(2) * w[0]
h1 = h0 * w[1]
h2 = h1 * w[2]
h3 = h2 * w[3]
loss = h3.sum()
h1.mul_(2)
with expect_error(RuntimeError, "is at version 1; expected version 0"):
    loss.backward()
for i, each in enumerate(w):
    print(f"w{i}.grad is", each.grad)
with expect_error(RuntimeError, "backward through the graph a second time"):
    loss.backward()

# %% [markdown]
# One weight has its gradient, the others have none. And the second attempt fails with another message, because a part of the graph is gone. So nothing is undone. If you catch such an error and go on, clear the gradients and compute the loss anew.
#
# ### A second page of C++: `Engine::evaluate_function`
#
# It is in `torch/csrc/autograd/engine.cpp`, a long file, most of which is about threads and devices. `thread_main` takes the node with the highest number from the queue (lesson 04), and calls `evaluate_function` for it. This is what happens then, in our words:
#
# | | what PyTorch does | in C++ | ours | lesson |
# | --- | --- | --- | --- | --- |
# | 1 | For `autograd.grad`: has a gradient that was asked for arrived here? Put it aside. If nothing that this node leads to is needed, stop. | `exec_info_`, `captures_`, `needed_` | `capture`, `task.needed` | 04 |
# | 2 | Run the hooks that come before, then the node, and look whether the gradients fit: right number, right shape, right type. Then run the hooks that come after. | `call_function`, `validate_outputs` | `run_node_with_hooks`, `validate_outputs` | 12 |
# | 3 | Let go of what the node has saved, unless the graph is retained. | `release_variables` | `node.release()` | 06 |
# | 4 | In anomaly mode: is there a NaN among the gradients? | `AnomalyMode` | `anomaly.check_nan` | 07 |
# | 5 | Deliver. For each arrow: add the gradient to the buffer of the next node, and take one from the count of gradients for which that node waits. At zero the node goes into the queue. | `InputBuffer::add`, `dependencies_`, `not_ready_` | `collect`, `queue` | 04 |
#
# You have known each of these steps for ten lessons. Only one thing is new: the steps have an *order*, and an error may come between any two of them. With that, the last program is easy:
#
# - The newest nodes came first: the sum, and then the product with `w[3]`. Both ran, let go of what they had saved (step 3), and delivered (step 5). Among others, they delivered to the leaf `w[3]`, and a leaf is always next. So `w[3]` has its gradient.
# - The product with `w[2]` raised in step 2, when it unpacked `h1`. It never came to step 5. So `w[2]` got nothing, and nothing reached the older nodes either.
# - In the second attempt, the product with `w[3]` finds its slots empty. That is step 1 of `unpack`.
#
# What about a node that fails itself? A gradient of a wrong shape is found in step 2, and a NaN in step 4. In between lies step 3. So after the one error the node still has what it had saved, and after the other it has not:

# %% tags=["C15.12"]
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.ones(3)  # two are wanted


x, h = begin()
y = Wrong.apply(h)
with expect_error(RuntimeError, "returned an invalid gradient at index 0 - got [3]"):
    y.sum().backward()
print("what the node had saved:", y.grad_fn.saved_tensors[0].tolist())

root = (h * 0).sqrt()
with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
    warnings.simplefilter("ignore")  # anomaly mode tells at length where the node was made
    with expect_error(RuntimeError, "returned nan values in its 0th output"):
        (root * 0).sum().backward()
with expect_error(RuntimeError, "after they have already been freed"):
    root.grad_fn._saved_result

# %% [markdown]
# In our engine steps 2 and 3 stand together in one small function, which `evaluate` calls for each node:

# %% tags=["engine"]
show("engine.backward.run_and_release")

# %% [markdown]
# > **The rule.** For each node the engine runs, checks shapes, releases, looks for NaN if it was told to, and delivers, in this order; an error stops it there, and nothing that is done is undone.
#
# ## Exercises: three about the source
#
# The last one is hard.
#
# **15.2 · Which file?** (6 minutes). In which file of PyTorch's would you look?
#
# - A what the gradient of `tanh` is
# - B why one node runs before another
# - C who writes the words *expected version*
# - D whether `.grad` takes a gradient over or copies it
# - E why a write into a leaf is refused
# - F what happens to the history of the whole when a part of it is written to
# - G what is done with the tuple that your own `backward` returns
# - H how a gradient gets back to the shape that it had before a broadcast
#
# Choose from `derivatives.yaml`, `engine.cpp`, `saved_variable.cpp`, `accumulate_grad.h`, `VariableTypeUtils.h`, `functions/tensor.cpp`, `python_function.cpp`, `ExpandUtils.h`, `python_hook.cpp`, `GradMode.h` and `TensorImpl.h`.

# %%
files = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("15.2", files)

# %% [markdown]
# **15.3 · Who raised it?** (8 minutes). Eight errors on real PyTorch. Which C++ function raises each of them? `x` is a leaf of two numbers.
#
# - A `y = x.exp()`, then a backward pass, and then somebody looks at `y.grad_fn._saved_result`
# - B `y = (x * 1).softmax(0)`, then `y += 1`, then `y.sum().backward()`
# - C `x[:1].clamp_(0, 1)`
# - D a custom Function has three inputs, and its `backward` returns a single tensor
# - E the same Function returns three values, and the first is a gradient with five elements instead of two
# - F in anomaly mode, a square root of 0 is multiplied with 0, and backward begins
# - G `torch.autograd.grad(x.sum(), another_leaf)`
# - H a custom Function calls `ctx.save_for_backward(mask)`, and `mask` was made in inference mode
#
# Choose from `SavedVariable::unpack`, `SavedVariable::SavedVariable` (the constructor), `check_inplace`, `PyNode::apply`, `InputMetadata::maybe_reduce`, `Engine::evaluate_function` and `THPEngine_run_backward`.

# %%
raisers = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("15.3", raisers)

# %% [markdown]
# **15.7 · Who would fail?** (12 minutes, harder). Return the names of all nodes in the graph of `loss` that could not read what they have saved, because it was overwritten or freed. Each name need stand there only once. Run no pass. (The slots of a node are its attributes whose names begin with `_saved_`. Those of a custom Function are read with `saved_tensors`. Reading a slot asks the questions of `unpack`.)


# %%
def would_fail(loss):
    return ...


L.check("15.7", would_fail)

# %% [markdown]
# ## What does autocast put into a graph?
#
# The main line of this lesson ends here. Seven short records follow, about what can change your graph although your model stays as it is. Read them now, or when you meet these things. This course's engine has none of them.
#
# **Mixed precision** computes large products in 16 bits, which is faster and takes less memory. The block `with torch.autocast(…):` does this for you: before a product it makes a copy of its operands in `bfloat16`, a type of two bytes. The node of such a copy is called `ToCopyBackward0`, and in backward it copies the gradient back into the type of the original. Here is a small network under autocast:

# %% tags=["C15.13"]
recorded("autocast")

# %% [markdown]
# (Each line is a node. The nodes and leaves to which its arrows lead come after `->`.)
#
# **Notice:** begin at `2.weight`, and read the listing upwards: the weight (float32), a copy in bfloat16, `t`, `addmm`. So each parameter has a copy of its own. The scores are bfloat16. The loss is float32, because there is another copy in front of `log_softmax`. The cross-entropy is one of the functions that autocast computes with all digits. (Which functions these are is not the same on CPUs and GPUs; PyTorch's documentation has the lists.) The gradient of the weight is float32 again.
#
# Now *one* layer is called twice in a row, with plain data. Count its copies:

# %% tags=["C15.13"]
recorded("autocast, one layer twice")

# %% [markdown]
# There are two: one for the weight, one for the bias. Autocast remembers the copy of a parameter until the block ends, and both calls use it. (The data is copied, too. But it requires no gradient, so its copy leaves no node.)
#
# What happens if a weight is changed in the middle of the block, by an optimizer, say?
#
# ```python
# layer, x = nn.Linear(2, 2, bias=False), torch.ones(1, 2)
# with torch.autocast("cpu", dtype=torch.bfloat16):
#     before = layer(x)
#     with torch.no_grad():
#         layer.weight.mul_(10)
#     after = layer(x)
# ```
#
# **Predict.** How many times as large as `before` is `after`? Answer with a number, or with `"raises"`.

# %%
L.predict("15.p6", None)

# %% tags=["C15.13"]
recorded("autocast, and a write")

# %% [markdown]
# The weight is ten times as large, and the result is what it was. The second call has used the old copy, without a word. That memory is a trap. So put only forward and the loss into the block, and the optimizer's step after it.
#
# > **The rule.** Autocast adds a `ToCopyBackward0` for each parameter that it computes with in 16 bits, once in a block, and wherever else a tensor with history has to change its type; gradients arrive in the type of the parameter.
#
# ## What is left of a model that was compiled or wrapped?
#
# **`torch.compile`** takes your function, finds out which operations it runs, and makes one program of them, for forward and for backward. Here is the small network once more:

# %% tags=["C15.14"]
recorded("compile")

# %% [markdown]
# **Notice:** the whole network is *one* node. It is called `CompiledFunctionBackward`, without a digit, and that tells you what it is: a custom `Function` as in lesson 11. The compiler has written its forward and its backward. What happens inside of it is compiled code, and makes no nodes.
#
# The node saves three tensors. The compiler chose them. It may save something, or compute it again in backward, as you did in lesson 14.
#
# Since the node is a custom Function, what it has saved with `save_for_backward` is checked for its version, as you know it:

# %% tags=["C15.14"]
recorded("compile, and a write")

# %% [markdown]
# But look how little the message tells: only a shape. There is one node for the whole model, and none of its operations can be named. If a compiled model raises such an error, take the line with `torch.compile` out, and search in the model as it is.
#
# Not everything can be compiled. A `print`, for example, cannot: the compiler would have to print while it plans. So at such a line it stops, leaves the line to Python, and begins anew after it:
#
# ```python
# layer = nn.Linear(4, 4)
#
# def forward(x):
#     h = torch.tanh(layer(x))
#     print("half way")
#     return torch.tanh(layer(h))
#
# y = torch.compile(forward, backend="aot_eager")(torch.randn(3, 4))
# ```
#
# **Predict.** How many nodes stand in the graph of `y`, if the `AccumulateGrad` nodes are not counted?

# %%
L.predict("15.p7", None)

# %% tags=["C15.14"]
recorded("compile, with a break")

# %% [markdown]
# Such a place is called a **graph break**. You can find it by counting: there is one compiled node for each piece.
#
# **DistributedDataParallel** (DDP) trains one model on several machines: each has a copy of the model and its own part of the batch, and the gradients are averaged. What does this do to the graph?

# %% tags=["C15.15"]
recorded("DDP")

# %% [markdown]
# **Notice:** in the first listing, nothing was added. There are only the names of the parameters, which begin with `module.`, since the model is now a part of another one. (So a file of weights that was saved from the one does not fit the other, which many people have met.)
#
# How can DDP average gradients, if there is no node for it? Its documentation says how: it uses hooks on the `AccumulateGrad` nodes of the parameters, the last ones of lesson 12. When the gradient of a parameter is complete, its hook runs, and sends it to the others while the rest of the pass still computes.
#
# With `find_unused_parameters=True` there is one more node, in front of everything. A hook can only run if a gradient arrives. A parameter that was not used gets none, and the other machines would go on waiting for it. So after each forward DDP walks through the graph, as you do in exercise 15.5, and looks which parameters are not in it. The node `_DDPSinkBackward` is DDP's own: it comes before all nodes of the model. What averaging does to training is the subject of lesson 17.
#
# > **The rule.** Compiling leaves one custom Function for each piece without a break; DDP adds at most one node, in front, and works with hooks.
#
# ## Where does our engine answer otherwise than PyTorch?
#
# You have worked with an engine of three and a half thousand lines of Python. It gives PyTorch's answers, names and messages included, as the tests of this course prove. But it is not PyTorch. Here is the list of the differences:

# %% tags=["C15.16"]
differences()

# %% [markdown]
# You need not believe this list. Behind each row is a program, and a test runs it on both.
#
# The first two rows show that there may be many ways to one result. For a whole LSTM, PyTorch calls a library made for it (oneDNN, once called MKL-DNN) which computes all steps at once, backward too. So the graph has a single node. Ours has every step in it, and you could draw it.
#
# In row three PyTorch saves itself a copy. A gradient that you hand over may become `.grad` itself, and then the next pass adds to it (exercise 05b.1). Row four is the ring of lesson 14, which goes through a node made in C++. PyTorch's collector cannot look into such a node. (It does find the ring of a custom Function that keeps its result on `ctx`, because the node of a custom Function is a Python object. Lesson 16 has that one.) In row five, ours tells you more than PyTorch does.
#
# The rows after these are things that one of the two has and the other has not. Several hundred names are left out of our engine, most of them functions that this course does not need, and the last five rows stand for them. Whoever uses such a name is told so:

# %% tags=["engine"]
with expect_error(AttributeError, "torch.compile"):
    torch.compile(model)

# %% [markdown]
# One difference cannot be listed. NumPy and PyTorch add up long sums in different orders, so the last digit of a number may differ. (It may also differ between two machines with PyTorch.)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/15_reading_pytorch/claims.py`).
#
# *A real model*
#
# - **C15.1** A linear layer on an input of three dimensions leaves nodes named ViewBackward0, TBackward0 and AddmmBackward0, and none that is named after the layer.
# - **C15.2** Nodes are named after the operation that ran, and the digit tells its forms apart: SumBackward0 is a sum over everything, SumBackward1 one over a dimension.
# - **C15.3** The graph of a transformer has one AccumulateGrad for each parameter and one AddmmBackward0 for each linear layer.
# - **C15.4** A layer norm saves its input and softmax its result: with a write into either backward raises, and with the same lines out of place the model trains.
# - **C15.5** Of six tables in attention three are saved, the result of softmax, the mask that drops and what is left after it; what attention saves grows with the square of the length of the text.
#
# *PyTorch's own source*
#
# - **C15.6** Every file of our engine names the files of PyTorch that it stands for.
# - **C15.7** The errors about a freed and about an overwritten saved tensor both come from SavedVariable::unpack, which a node calls when Engine::evaluate_function runs it.
# - **C15.8** A freed slot is reported before a detached tensor, and that before a changed version; with hooks no version is compared, and a detach_() of a node's own result does no harm.
# - **C15.9** A saved input is read as the very tensor that was saved, a saved result as a new tensor with the same memory and the same node.
# - **C15.10** The version error names the last recorded write for a saved input, the saving node itself for its own result, and nothing for a leaf.
# - **C15.11** After an error in a backward pass, the leaves that were served have their gradient, the others have none, and without retain_graph the nodes that had run are freed.
# - **C15.12** A node whose gradient has a wrong shape still has what it saved, and one whose gradient is not a number has it no more.
#
# *What is put into a graph (records)*
#
# - **C15.13** autocast copies a parameter of a linear layer once in a block, with a ToCopyBackward0, even if the parameter is changed in the block, and gradients arrive in the type of the parameter.
# - **C15.14** A compiled function is one CompiledFunctionBackward for each piece between two breaks, and what it saves is checked for its version.
# - **C15.15** DistributedDataParallel adds no node to the graph, and with find_unused_parameters=True one.
# - **C15.16** Our engine and PyTorch give each its own answer to every row of the table of differences.
# - **C15.17** scaled_dot_product_attention of PyTorch is one node on a CPU and saves no table, so what it saves grows with the length of the text.
#
# **Your own engine** was finished in lesson 13. If you want, print the table of your own files and PyTorch's, by adding a line to each class of `my_engine.py`.
#
# **Left out, compared with PyTorch.** The map shows autograd only. How kernels are chosen (the *dispatcher*), how GPUs and streams are waited for, and how the compiler works are subjects of their own. `evaluate_function` has lines for all of them, and you may read over them. PyTorch is free software under a licence of the BSD kind; nothing of its source is copied here.
#
# **Read on in PyTorch:** `torch/csrc/autograd/saved_variable.cpp`, then `functions/accumulate_grad.h`, which has the three ways to `.grad` of lesson 05 in it, then `engine.cpp` from `evaluate_function` downwards. **In our engine:** `course_lib/README.md` has an order for an evening.
#
# **Next:** [lesson 16](16_five_bug_reports.ipynb), bug reports as people really write them, and then two machines.
