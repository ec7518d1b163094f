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
# # 15 · Reading PyTorch: which line of a real model made this node, this error, this gigabyte?
#
# **You have written a small language model. It has fifty lines, and forward runs. Then backward stops with a message that you know: something is at version 4, version 3 was expected. It names a tensor of shape [8, 6, 8], and many tensors of your model have that shape. The traceback ends in the line `loss.backward()`, which is right. Below it, everything is C++.**
#
# Until now the programs of this course had three lines, and you could see the whole graph at a glance. A real model has a hundred nodes or more, and nobody looks at them all. But nearly every node of it is one that you have met. Here you use what you know on a model of a real size: you go from a node to its line, from an error to its line, and from the memory to its line.
#
# After this lesson you can
#
# - say for a node of a large graph which line of the model made it;
# - find the line that broke a model, with four tools in a fixed order;
# - say what attention keeps until backward, written out and as real models run it.
#
# **Minutes** 80, and 20 for more exercises · **Needs** lessons 04, 06, 07 and 14 · **Out of scope** PyTorch's own source (part [15b](15b_inside_pytorch.ipynb)); autocast, the compiler and DDP (part [15c](15c_around_a_model.ipynb)); GPUs
#
# [← 14 Packing and checkpointing](14_packing_and_checkpointing.ipynb) · [all lessons](home.ipynb) · [16 Five bug reports →](16_five_bug_reports.ipynb)
#
# (You need no PyTorch for this lesson. Two cells are about something that only real PyTorch does. They print a *record* of what PyTorch 2.13 printed, and say so.)

# %%
import course_lib as torch
import collections

from backscope import draw, explain, film, ledger, watch
from coursekit import expect_error, lesson
from coursekit.records import recorded

L = lesson(15)
nn, F = torch.nn, torch.nn.functional

# %% [markdown]
# Here is the model. It is a **transformer**, the kind of network behind the large language models, only very small. It reads a text of numbers, and at each place it guesses the next number. You do not have to know transformers. These are the three parts:
#
# - **Attention** lets each place look at the places before it. It computes a table `weights` with a row for each place. The row says how much this place takes from each other place. (`masked_fill` rules out looking ahead, and `softmax` makes the numbers of a row add up to 1.) `drop` sets about every tenth number of the table to 0, at random, so that the model does not rely on single places.
# - **A block** is attention, and after it two ordinary layers, `mlp`. Both *add* their result to `x`, which runs through the whole model.
# - **The transformer** looks up a row of numbers for each letter and for each place, sends them through some blocks, and ends in a layer with a score for each letter.


# %%
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        shape = batch, time, self.heads, self.size
        q, k, v = [part.reshape(shape).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]
        scores = q @ k.transpose(-2, -1) / self.size**0.5
        ahead = torch.ones(time, time).triu(1) == 1
        weights = self.drop(scores.masked_fill(ahead, float("-inf")).softmax(-1))
        return self.out((weights @ v).transpose(1, 2).reshape(batch, time, width))

    def drop(self, weights):
        weights *= torch.rand(weights.shape) > 0.1
        return weights


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
# The texts count upwards, by ones or by threes: 0 1 2 3 …, or 1 4 7 0 …. There are eight of them, with six letters each. The target is the same text, shifted by one letter.

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


# %%
def one_layer():
    layer, x = nn.Linear(8, 4), torch.ones(8, 6, 8, requires_grad=True)
    y = layer(x)
    return draw(y, detail=0)


# %% [markdown]
# **Predict.** Which nodes are in the graph of `y`? Choose from `"LinearBackward0"`, `"MmBackward0"`, `"AddBackward0"`, `"AddmmBackward0"`, `"TBackward0"` and `"ViewBackward0"`, and answer with a list of names. Name each only once, and leave out the nodes of the leaves. (A layer computes `input @ weight.T + bias`. The product of two matrices is called `mm` in PyTorch, and a product with an addition, in a single step, is called `addmm`.)

# %%
L.predict("15.p1", None)

# %% tags=["C15.1"]
L.run(one_layer, after="15.p1")

# %% [markdown] tags=["tells"]
# **Notice:** begin at the top, with the leaves.
#
# - The weight goes through `t()`, which transposes a matrix. That is the `.T` of the formula. (Its memory is at version 1, because the initial values were written into it.)
# - `addmm` works on matrices only. So the input is first made a matrix of 48 rows, by a `view`. After the product, another `view` gives the result its three dimensions back.
# - No node is called *Linear*. A layer is a Python object which calls some operations, and only operations make nodes.

# %% [markdown]
# ## How does a line of Python become the name of a node?
#
# The name of a node says which *operation* ran, deep inside PyTorch. It need not be one that you called yourself. Here are some lines, each with the `grad_fn` of its result. That is the outermost node, the one that was made last:

# %% tags=["C15.2"]
w, rows = torch.ones(4, requires_grad=True), torch.ones(2, 2, requires_grad=True)
lines = [
    "w.sum()", "rows.sum(0)", "w ** 2", "2 ** w", "2 * w", "1 - w", "w[0]", "w[torch.tensor([0, 2])]",
    "rows @ rows", "rows @ w[:2]", "rows.reshape(4)", "rows.t().reshape(2, 2)", "rows.t().reshape(4)",
    "F.dropout(w)", "F.layer_norm(w, (4,))", "F.cross_entropy(rows, torch.tensor([0, 1]))",
]  # fmt: skip
for line in lines:
    print(f"{line:45} {eval(line).grad_fn.name()}")

# %% [markdown]
# Three things in this list help you in any graph.
#
# - **The digit at the end tells apart the forms of one operation.** A sum over everything is another form than a sum over one dimension, because their gradients are computed in another way: `SumBackward0` and `SumBackward1`.
# - **One line may take different ways.** `reshape` gives a view where that is possible. (If the numbers do not lie in order, this view is called `ReshapeAlias`.) Where it is not possible, it makes a copy (`Clone`) and views that (`UnsafeView`).
# - **A line of Python may be several operations.** `cross_entropy` is a logarithm of a softmax, and after it `nll_loss`. `dropout` on a CPU is a product. (On a GPU it is one operation of its own, and its node is called `NativeDropoutBackward0`.)
#
# > **The rule.** A node is named after the operation that ran in C++, not after the layer or function that you called.
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
# With this list you can find every layer again. There are 9 `Addmm`, and the model has 9 linear layers: four in each block (`qkv`, `out`, and two in `mlp`), and the `head`. There are 5 layer norms, 2 softmaxes, 2 GELUs, one loss. The 30 `AccumulateGrad` are the 30 parameters. (Pictures do not count these, and speak of 113 nodes.)
#
# And about half of all nodes compute nothing at all. `View`, `UnsafeView`, `Transpose`, `T`, `Expand` and their relatives only give numbers another shape. In a real graph you learn to read over them.

# %% [markdown]
# ### Exercise: which name?
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
# ## Which line stopped the backward pass?
#
# Back to the error. It said:
#
# > … [torch.FloatTensor [8, 6, 8]], which is output 0 of … is at version 4; expected version 3 instead.
#
# There are four tools for such a hunt, best used in this order: **watch, explain, film, cure**.
#
# **Watch.** `watch` writes down what happens while the model runs. We ask it for the writes only:


# %%
def watched():
    with watch(names=model) as log:
        loss_of(model)
    return log.only("bumped")


# %% [markdown]
# First try to do without it. These lines of the model are the candidates:
#
# | | line | in |
# | --- | --- | --- |
# | A | `x = self.letter(text) + self.place(…)` | `Transformer.forward` |
# | B | `weights *= torch.rand(weights.shape) > 0.1` | `Attention.drop` |
# | C | `x += self.attention(self.norm1(x))` | `Block.forward` |
# | D | `x += self.mlp(self.norm2(x))` | `Block.forward` |
# | E | `return self.head(self.norm(x))` | `Transformer.forward` |
#
# **Predict.** Which line wrote the fourth version, the one that made backward stop? Answer with a letter. (The model has two blocks. Count the writes into `x`, and think of who has saved it in between.)

# %%
L.predict("15.p2", None)

# %% tags=["C15.4"]
L.run(watched, after="15.p2")

# %% [markdown] tags=["tells"]
# **Notice:** there are six writes, and the log says for each which line it was. (A line is counted from the top of its cell. So `line 29` and `line 30` are the two lines of `Block.forward`.) Four writes go into one tensor, and count 1, 2, 3, 4. The other two go into results of `softmax`, one in each block.

# %% [markdown]
# **Explain.** Now let it fail again, and ask what the message means.


# %%
def explained():
    loss = loss_of(model)
    try:
        loss.backward()
    except RuntimeError as error:
        return explain(error, loss, names=model)


L.run(explained, after="15.p2")

# %% [markdown] tags=["tells"]
# **Notice:** the column on the left is the graph, with the loss at the bottom. It is so large that it is folded, into boxes named after the layers. But the node that is broken is never folded away: it is node 95, in the middle of `blocks.1`. It has an orange drawer, marked `HERE`. A `NativeLayerNormBackward0` has saved a tensor at version 3, and that tensor is at version 4 now. It is our `x`; names are known for parameters only, so it has a number here. The boxes below it had run already, and what they had saved is *FREED*. So the answer to the prediction is D:
#
# - A layer norm saves its *input*. `norm2` of the second block saved `x` when `x` was at version 3.
# - Line D of the second block computed `self.mlp(self.norm2(x))`, and then added the result into the same `x`. That was write number 4.
# - Backward starts at the end of the model, so it met this layer norm first. Five more saved tensors are stale, all in the two orange boxes above: the inputs of three layer norms, and the table `weights` of each block.
#
# Look also at the name in the message: *output 0 of Add*. It is not the name of the layer norm that has saved the tensor. It names the operation that made what is in the tensor *now*, which is the `+=`. This name is often the culprit itself, but not always, as you will see in a moment.

# %% [markdown]
# **Film.** Let us see the fault alone. This is line D with a GELU, which saves its input too, instead of the layer norm and the `mlp`. (The `clone()` is there because a leaf may not be written to.)


# %%
def fault():
    start = torch.ones(3, 8, requires_grad=True)
    x = start.clone()
    x += F.gelu(x)
    x.sum().backward()


film(fault)

# %% [markdown]
# **Notice:** go to the third frame. The line `x += F.gelu(x)` makes two nodes, one after the other. First the GELU saves `x`, at version 0. Then the addition writes into the memory that the GELU has just saved, and `x` is at version 1. In the last frame backward reads the slot, and the film names the line that wrote.
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
# That was the first one, and now backward gets further, to the second. The shape is [8, 2, 6, 6]. That is a number for each text, each head, each place, and each place to look at. Only the tables of attention have this shape. The write is `weights *= …`, line B. This time the message does not name the write, but `Softmax`. A node that has saved its own *result* is named itself. (Why that is so, part [15b](15b_inside_pytorch.ipynb) shows.)


# %% tags=["C15.4"]
def drop(self, weights):
    return weights * (torch.rand(weights.shape) > 0.1)


Attention.drop = drop
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
# > **The rule.** Watch for the writes, let the message be explained, film the smallest piece that shows the fault, and cure the line that wrote.

# %% [markdown]
# ### Exercises: cure the block, and another model
#
# **15.2 · Cure the block** (6 minutes). Forward runs, and backward raises. Cure the block: the same result, and the right gradients for `h`, `w` and `gate` (all three want one). Decide for each of the three writes whether it has to go.


# %%
def block(torch, h, w, gate):
    scores = h @ h.transpose(-2, -1)
    scores /= 2
    weights = scores.softmax(-1)
    weights *= gate
    mixed = torch.tanh(weights @ (h @ w))
    mixed += h
    return mixed


L.check("15.2", block)

# %% [markdown]
# **15.3 · Another model** (8 minutes). Forward runs, and backward raises. When that fault is cured, it raises once more. Find both with the four tools. Which of the writes A to D is the first error about (`"first"`), which the second (`"second"`), and which of them `"may stay"`?


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

L.check("15.3", writes)

# %% [markdown]
# ## What does attention keep until backward?
#
# The longer the text, the more memory a transformer takes, and the greatest part of it goes into the tables of attention. Here they are once more, in the cured form. Each of these six has a number for every pair of places:


# %%
def tables():
    q, k, v = [torch.randn(6, 4, requires_grad=True) * 1 for _ in range(3)]
    ahead = torch.ones(6, 6).triu(1) == 1
    with ledger(leaves=False) as held:
        scores = q @ k.transpose(-2, -1)
        scaled = scores / 4**0.5
        masked = scaled.masked_fill(ahead, float("-inf"))
        weights = masked.softmax(-1)
        keep = torch.rand(weights.shape) > 0.1
        dropped = weights * keep
        (dropped @ v).sum().backward()
    return held.table()


# %% [markdown]
# **Predict.** Which of `scores`, `scaled`, `masked`, `weights`, `keep` and `dropped` are saved by some node of the graph? Answer with a list of names. (`keep` requires no gradient. Go through the operations one by one: what does the slope of each need, as in lesson 06?)

# %%
L.predict("15.p3", None)

# %% tags=["C15.5"]
L.run(tables, after="15.p3")

# %% [markdown] tags=["tells"]
# **Notice:** each row is a tensor that a node kept until backward. Read the column *slot*. A slot is named after the argument that the gradient formula needs.
#
# - The product saves both of its operands, `q` and `k`. Its result, `scores`, is saved by no node: a division by a number needs only the number, and `masked_fill` only the mask.
# - `softmax` saves its own result, `weights`. That is why its result may not be overwritten.
# - The product with `keep` saves `keep`, for the gradient of `weights`. It does not save `weights`, since `keep` wants no gradient. Booleans take one byte each, and so `keep` is a quarter as large as the others. (It is a leaf, in the sense of lesson 02: nothing that was recorded made it. The ledger was told to leave leaves out.)
# - The last product saves `dropped`, and `v`.
#
# So three of the six are held: two large ones, and a small one.

# %% [markdown]
# Each of them has a number for every *pair* of places. So what attention keeps should grow with the square of the length of the text. We leave the dropping out, and count the bytes for two heads of size 4:


# %% tags=["C15.5"]
def by_hand(q, k, v):
    time, size = q.shape[-2:]
    ahead = torch.ones(time, time).triu(1) == 1
    scores = q @ k.transpose(-2, -1) / size**0.5
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v


for time in (256, 1024):
    q, k, v = [torch.randn(1, 2, time, 4, requires_grad=True) * 1 for _ in range(3)]
    with ledger(leaves=False) as held:
        by_hand(q, k, v)
    print(f"{time:4} places: {held.peak:,} bytes")
print(f"one table for 8,192 places and 32 heads: {4 * 32 * 8192**2:,} bytes")

# %% [markdown]
# The second text is four times as long, and more than fifteen times as many bytes are kept. At the size of a real model one table takes 8.6 gigabytes, and each layer keeps one of its own. This is why long texts are expensive, or were for a long time.
#
# ## And how do real models run it?
#
# Written out like this, attention is easy to read, but real models seldom run it so. They call one function:
#
# ```python
# F.scaled_dot_product_attention(q, k, v, is_causal=True)
# ```
#
# `is_causal=True` means that no place looks ahead, and the numbers are those of `by_hand`, up to rounding. PyTorch computes them in a *kernel* of its own, one compiled function that was written for this. (The best known is called *FlashAttention*.) It takes the table in blocks. From each block it adds to the result what belongs there, and throws the block away. So the whole table is never there at once. And yet the gradients need it, as you have just seen.
#
# **Predict.** With this function, how many times as many bytes are saved if the text is four times as long: 1, 4 or 16 times? Answer with a number. (Think of lesson 14.)

# %%
L.predict("15.p4", None)

# %% tags=["C15.6"]
L.run(L.stage.curves, torch, by_hand, after="15.p4")
L.run(recorded, "attention, two ways", False, after="15.p4")

# %% [markdown] tags=["tells"]
# **Notice:** both axes are logarithmic. There a quantity that grows with the square is a line twice as steep as one that grows with the length. The upper line was measured just now. The lower one is a record, because our engine computes this function by hand.
#
# - The whole of it is *one* node, `ScaledDotProductFlashAttentionForCpuBackward0`. It saves `q`, `k`, `v`, its result, and one number for each row of the table. (That number has no history, so it is not counted here.) Not one table is among them.
# - In backward it computes the table again, block by block. This is the checkpoint of lesson 14, inside a single operation.
# - What it saves grows with the length alone. With 1,024 places it is less than a sixtieth of what is kept by hand.

# %% [markdown]
# This holds as long as PyTorch can use the kernel. On a CPU, with some arguments PyTorch computes it by hand after all, and there is no warning. The record is of calls of `F.scaled_dot_product_attention(q, k, v, …)` for 256 places, and of `nn.MultiheadAttention`:

# %% tags=["C15.7"]
recorded("attention, off the kernel", False)

# %% [markdown]
# **Notice:** 32,768 bytes are the kernel's; what is more than half a million holds tables.
#
# - A mask that *requires grad*, such as learned distances between places, brings the table back: the kernel has no gradient for a mask.
# - `dropout_p` brings two tables back on a CPU, `weights` and `dropped`, as you have seen above. (On a GPU there are kernels that drop.) And the function drops in evaluation mode, too: pass 0 there.
# - `nn.MultiheadAttention` returns the table unless you ask it not to, and then it has to compute it. Call it with `need_weights=False`.
# - The kernel's node has no second derivative. For a gradient penalty (lesson 13), have it computed by hand: `with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):`.
#
# So look at the names in the graph. If you find `SoftmaxBackward0` where you wanted `ScaledDotProduct…`, your model keeps its tables.
#
# > **The rule.** What a model keeps follows from the formulas of its operations. An operation that computes its table again in backward keeps far less than operations that save it.

# %% [markdown]
# ## Exercises: more, if you like
#
# **15.4 · Attention without the table** (10 minutes). Our engine has no kernel. Write `attention(torch, q, k, v)` so that it does not save one either: the same result as `by_hand`, the right gradients, and no saved tensor with a number for each pair of places. (`q`, `k`, `v` have the shape (heads, time, size). The table may be computed as a whole. It may not be *kept*.)


# %%
def attention(torch, q, k, v):
    time, size = q.shape[-2:]
    ahead = torch.ones(time, time).triu(1) == 1
    scores = q @ k.transpose(-2, -1) / size**0.5
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v


L.check("15.4", attention)

# %% [markdown]
# **15.5 · Who is not reached?** (10 minutes). Return the names of the parameters of `model` to which `loss.backward()` would give no gradient. Look at the graph as it is now; do not run the pass. (A node of a leaf has an attribute `variable`.) The graph may be deep, and there may be very many ways through it.


# %%
def not_reached(model, loss):
    return ...


L.check("15.5", not_reached)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/15_reading_pytorch/claims.py`).
#
# - **C15.1** A linear layer with a bias on a contiguous input of three dimensions leaves nodes named ViewBackward0, TBackward0 and AddmmBackward0, and none that is named after the layer.
# - **C15.2** Nodes are named after the operation that ran, and the digit tells its forms apart: SumBackward0 is a sum over everything, SumBackward1 one over a dimension.
# - **C15.3** The graph of this transformer has one AccumulateGrad for each parameter and one AddmmBackward0 for each of its linear layers, all of which have a bias.
# - **C15.4** A layer norm saves its input and softmax its result: with a write into either backward raises, and with the same lines out of place the model trains.
# - **C15.5** Of six tables in attention that is written out three are saved, the result of softmax, the mask that drops and what is left after it; what attention saves grows with the square of the length of the text.
# - **C15.6** Called with is_causal alone, scaled_dot_product_attention of PyTorch is one node on a CPU and saves no table, so what it saves grows with the length of the text.
# - **C15.7** On a CPU, scaled_dot_product_attention of PyTorch saves tables if its mask requires grad or dropout_p is not 0; its node has no second derivative.
#
# **Left out, compared with PyTorch.** Which kernel is chosen on a GPU, and how kernels compute.
#
# **Next:** [lesson 16](16_five_bug_reports.ipynb), bug reports as people really write them. Or first a part: [15b](15b_inside_pytorch.ipynb) opens PyTorch's own source, and [15c](15c_around_a_model.ipynb) shows what autocast, the compiler and DDP put into a graph.
