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
# # 09 · The ways out: which exit from the graph costs what?
#
# **Your training runs for hours without trouble. Then you add a loop that measures the loss on the validation set. It has the same model, the same kind of data, and no backward pass at all. After a few hundred batches, the memory is full. You search for help, and the first three answers say: write `.detach()`; write `.data`; write `with torch.no_grad():`. Each of them is offered as if it made no difference which one you take.**
#
# It does make a difference. Seven calls are in use for taking a value out of the graph: `detach()`, `.data`, `clone()`, `numpy()`, `item()`, `no_grad` and `inference_mode`. Three questions tell them apart. Does the result share its **memory** with the tensor that it comes from? Does it share the **version counter**, so that a write to it is noticed? And is it really outside of the **graph**? (For one of the seven it is not.) The answers decide what a write to the result does to your gradients.
#
# After this lesson you can
#
# - choose the right exit for a purpose, and say what it costs;
# - predict what happens if somebody writes to the result;
# - stop a gradient on one path, and let it through on another;
# - keep a running loss that does not fill your memory.
#
# **Minutes** 65, of which 3 are for your own engine · **Needs** lessons 00, 05, 06 and 07 · **Out of scope** views in general (lesson 08), optimizer classes (lesson 10), recurrent networks and GANs (part 09b)
#
# [← 08 Views share memory](08_views.ipynb) · [all lessons](home.ipynb) · [10 A training loop →](10_training_loop.ipynb)

# %%
import course_lib as torch
from backscope import film, ledger
from coursekit import expect_error, lesson

L = lesson(9)

# %% [markdown]
# Here are the two loops of the story, made small. Each batch has 1000 numbers of four bytes. `ledger` (lesson 02) counts the bytes that graphs are holding.


# %%
def bytes_held(train):
    w, total, held_after = torch.ones(1000, requires_grad=True), 0.0, []
    with ledger(leaves=False) as held:
        for batch in (1.0, 2.0, 3.0):
            loss = (w * batch).exp().sum()
            if train:
                loss.backward()
            total = total + loss  # for the report at the end
            held_after.append(held.now)
    return held_after


print("training:  ", bytes_held(train=True))
print("validation:", bytes_held(train=False))

# %% [markdown]
# After a training batch, the graphs hold nothing. After each validation batch, they hold 4000 bytes more. We come back to these two loops when we have looked at the exits one by one.
#
# ## Three ways to write 30: which of them does backward notice?
#
# Somebody wants to change the value of `x` "outside of the graph". Here is the program, to be run with three different exits. When `y` is computed, `x` is 3, and the slope of `x * x` at 3 is 6.


# %%
ways = {
    "detach": lambda x: x.detach(),
    ".data": lambda x: x.data,
    "clone": lambda x: x.clone(),
}


def write_30(way):
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    ways[way](x)[0] = 30.0
    y.backward()
    print(x.grad)

# %% [markdown]
# **Predict.** What do you get with `detach`, with `.data`, and with `clone`? Answer with a list of three. Each entry is a number, or `"error"`. Ask yourself two questions about each: did the write arrive in the memory of `x`? And whose version counter moved?

# %%
L.predict("09.p1", None)

# %% tags=["C09.1", "C09.2", "P15"]
L.run(write_30, "detach", after="09.p1")
L.run(write_30, ".data", after="09.p1")
L.run(write_30, "clone", after="09.p1")

# %% [markdown] tags=["tells"]
# Three spellings give three different results.
#
# - `detach`: one memory, and one counter. The write moved the counter to version 1, and the product had saved `x` at version 0. The error comes before a wrong step can be taken.
# - `.data`: one memory, and two counters. The write moved the counter of the new tensor only. So backward sees nothing wrong, and multiplies by whatever lies in the memory now: 2 · 30 = 60.
# - `clone`: two memories, so the write never reached `x`.

# %%
L.run(L.stage.one_of_them, film, write_30, after="09.p1")

# %% [markdown] tags=["tells"]
# Only one of the three is wrong without any sign of it. This film is that program with `.data`, statement by statement.
#
# **Notice** the third frame: both numbers that the product saved have changed, and no counter has moved. The check of lesson 07 compares counters, not values. So it has nothing to find.
#
# > **The rule.** A write through `detach()` is counted, and a write through `.data` is not. Both reach the tensor.

# %% [markdown]
# These answers begin a table, which we fill in as we go: a row for each exit. Its columns are your questions about the exit:
#
# - *memory* and *counter*: does the result share them with `x`?
# - *x \* it*: the gradient of `x` if you multiply `x` by the result. This is about the graph, and stays open until we come to it.
# - *after a write*: `write_30` again. Only 6 is right.

# %%
L.run(L.stage.table, torch, ["detach", ".data"], "without the graph", after="09.p1")

# %% [markdown]
# ## What if the write comes from NumPy?
#
# `x.numpy()` gives you an array on the same memory. PyTorch refuses it for a tensor that requires a gradient, and its message recommends `x.detach().numpy()`. Nearly everybody follows this advice. What does the counter say if you write to that array?

# %% tags=["C09.2", "C09.6"]
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
with expect_error(RuntimeError, "Can't call numpy()"):
    x.numpy()
x.detach().numpy()[0] = 30.0
y.backward()
print(x.grad, "version", x._version)

# %% [markdown]
# The gradient should be 6, and it is 60. `detach()` did share the counter, but NumPy knows nothing of counters. So the rule for arrays is the same as for `.data`: read as much as you like, and do not write between forward and backward.

# %%
L.stage.table(torch, ["detach", ".data", "numpy"], "without the graph")

# %% [markdown]
# ## Is the result still in the graph?
#
# Two questions are answered for these exits: memory and counter. The third is about the graph. You can measure it with a product. If both factors are `x`, the slope of the product at 3 is 6. If one factor counts as a constant, the slope is 3. Here one factor, or both, has taken an exit:


# %%
products = {
    "A": lambda x: x * x.detach(),
    "B": lambda x: x * x.clone(),
    "C": lambda x: x.detach() * x.clone(),
}


def product(name):
    x = torch.tensor([3.0], requires_grad=True)
    products[name](x).sum().backward()
    print(x.grad)

# %% [markdown]
# **Predict.** What is the gradient for A, B and C? Answer with a list of three. Each entry is a number, or `"error"` if there is no way to `x` at all.

# %%
L.predict("09.p2", None)

# %% tags=["C09.7", "P9"]
for name in products:
    L.run(product, name, after="09.p2")

# %% [markdown] tags=["tells"]
# - **A**: `detach` cuts the second path to `x`. The first factor is `x` itself, and its path carries 3.
# - **B**: nothing is cut. Copying is an operation like any other, so it is recorded, and both factors lead to `x`.
# - **C**: one factor is cut, and the other leads to `x` through the copying. That is 3 again.
#
# So you can treat one tensor as a constant in one place and not in another. In papers this is called **stop-gradient**. The targets in reinforcement learning are detached like that.

# %% [markdown]
# ## What does a clone separate?
#
# People often write `clone()` to "get out". It does protect the values: whatever you do to the copy, `y` is not disturbed. But look at what the gradients do. Here the copy is multiplied by 10 in place.

# %% tags=["C09.3"]
x = torch.tensor([3.0], requires_grad=True)
y, c = (x * x).sum(), x.clone()
c.mul_(10)
y.backward()
c.sum().backward()
print(x.grad, "version", x._version, c)

# %% [markdown]
# The gradient of 16 has two parts. From `y` comes 6, the right slope: the write to `c` did not disturb it. From `c` come 10 more: `c` is 10 times `x`, and its gradient went back through the copying to `x`.
#
# > **The rule.** `clone()` separates the memory and keeps the graph. `detach()` cuts the graph and keeps the memory. To be free of both, write `x.detach().clone()`.
#
# `item()` is the cleanest exit of all: it gives a Python number, which has neither memory nor graph to share. It wants exactly one element:

# %% tags=["C09.3"]
print(x.item())
with expect_error(RuntimeError, "cannot be converted to Scalar"):
    torch.ones(2).item()
L.stage.table(torch, ["detach", ".data", "numpy", "clone", "item"])

# %% [markdown]
# ## What does `no_grad` switch off?
#
# The other exits take *one tensor* out. `with torch.no_grad():` concerns *everything that is computed in the block*. It stops the recording. Does it stop the counting, too? In this program, `z` is computed in the block, and `x` is written to.

# %%
def written_in_the_block():
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    with torch.no_grad():
        z = x * x
        x.mul_(10)
    print("z:", z.requires_grad, z.grad_fn, " version of x:", x._version)
    y.backward()
    print("x.grad:", x.grad)

# %% [markdown]
# **Predict.** At which version is `x` after the block, and what is `x.grad` at the end? Answer with a list of two: a number; and a number or `"error"`.

# %%
L.predict("09.p3", None)

# %% tags=["C09.4"]
L.run(written_in_the_block, after="09.p3")

# %% [markdown] tags=["tells"]
# The counting goes on. What is *computed* in the block has no history. What is *written* in the block changes the same memory, under the same counter. Both are good news: this is how a weight can be updated at all, and why an update that comes too early, between forward and backward, is caught.

# %% [markdown]
# **A view made under `no_grad` says something else about itself.** Here are two tensors from one block: a product, which has new numbers, and a slice, which is a view of `x`. A view takes over `requires_grad` from its base, even if it is not recorded.

# %% tags=["C09.10"]
x = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
with torch.no_grad():
    computed, v = x * 1, x[:2]
for name, out in {"computed": computed, "view": v}.items():
    print(name, "requires grad:", out.requires_grad, " grad_fn:", out.grad_fn)
(v * v).sum().backward()
print("v.grad:", v.grad, " x.grad:", x.grad)
with expect_error(RuntimeError, "does not require grad"):
    (computed * computed).sum().backward()

# %% [markdown]
# Backward from the product raises an error, which tells you that there is no graph. Backward from the view raises nothing, and no gradient arrives anywhere: not in `x`, for no node leads there, and not in `v`, whose `requires_grad` is only that of its base. If gradients are to flow through a view, make it outside of the block. If they are not, use `x.detach()[:2]`, whose `requires_grad` is False.
#
# ### Exercise: fill the table
#
# **09.1 · Fill the table** (6 minutes). For each result, three answers: does it share `x`'s memory, does a
# write to it move `x`'s version counter, and do gradients flow from it to `x`? Give a tuple such as `(True,
# False, False)`. `no_grad` stands for `x * 1` under `no_grad`, `both` for `x.detach().clone()`.

# %%
table = {"detach": None, "data": None, "clone": None,
         "no_grad": None, "both": None}  # fmt: skip

L.check("09.1", table)

# %% [markdown]
# ## And `inference_mode`, and `eval()`?
#
# `inference_mode` goes one step further: a tensor that is *computed* inside has no counter, either (a view of a tensor from outside keeps that one's). Nothing could notice a write to it, so it must never be saved for a backward pass. (A tensor from outside keeps its counter, and a write to it counts.) Below, `f` is computed inside. Outside, `x` is added to it, then multiplied by a clone of it, and then by `f` itself.

# %% tags=["C09.5", "C09.9", "P21"]
x = torch.tensor([3.0], requires_grad=True)
with torch.inference_mode():
    f = torch.ones(1) * 2
print(x + f, x * f.clone())
with expect_error(RuntimeError, "cannot be saved for backward"):
    x * f
with expect_error(RuntimeError, "do not track version counter"):
    f._version
print("under eval():", torch.nn.Dropout(0.5).eval()(x * x))

# %% [markdown]
# An addition saves nothing and accepts the inference tensor. A product has to save it, and refuses. `clone()` outside of the block makes an ordinary tensor of it.
#
# `eval()` is something else altogether. It tells layers such as dropout to behave as they do in use. Recording and counting go on: the last line still has a `grad_fn`. So a validation loop needs both: `eval()`, so that the layers behave, and `no_grad` or `inference_mode`, so that no graph is built.
#
# > **The rule.** Use `no_grad` for values that may meet a graph again, and `inference_mode` for values that never will.
#
# Now every row of the table can be filled in:

# %% tags=["P15", "P21"]
L.stage.table(torch)

# %% [markdown]
# **Notice** the pairs. `clone` and `detach` differ in every column. `detach` and `.data` differ in the counter, and so in the last column: an error or a wrong number. A view under `no_grad` has the same row as `detach`.
#
# ### Exercise: which happens?
#
# **09.2 · Which happens?** (8 minutes). `x` is a fresh leaf `[3.]` each time, and the comment says what was
# wanted. Answer `"raises now"` (a line before any backward), `"raises at backward"`, `"silently wrong"` or
# `"fine"`.
#
# ```python
# # A. wanted: the slope of the y that was computed, [6]
# y = (x * x).sum(); x.data.fill_(30.0); y.backward(); got = x.grad
# # B. wanted: the same
# y = (x * x).sum(); x.detach().fill_(30.0); y.backward(); got = x.grad
# # C. wanted: the slope of this y, [2]
# y = (x * 2).sum(); x.detach().fill_(30.0); y.backward(); got = x.grad
# # D. wanted: no gradient for x, None
# c = x.clone(); (c * c).sum().backward(); got = x.grad
# # E. wanted: f as a constant factor, [2]
# with torch.inference_mode(): f = torch.ones(1) * 2
# y = (x * f).sum(); y.backward(); got = x.grad
# # F. wanted: f as a constant summand, [1]
# with torch.inference_mode(): f = torch.ones(1) * 2
# y = (x + f).sum(); y.backward(); got = x.grad
# # G. wanted: the slope of h, [6]
# with torch.no_grad(): h = x * x
# h.sum().backward(); got = x.grad
# ```

# %%
verdicts = {"A": None, "B": None, "C": None, "D": None,
            "E": None, "F": None, "G": None}  # fmt: skip

L.check("09.2", verdicts)

# %% [markdown]
# ## Why does a running total fill the memory?
#
# Back to the two loops. They differ only in the backward pass. `total = total + loss` makes a new tensor with a node, and this node leads to the node of `loss` and so to the whole graph of that batch. As long as `total` lives, all of these graphs live. In training, each backward pass releases what its graph had saved, and only the nodes pile up. In validation nothing is ever released: each batch leaves its 4000 bytes in memory. One backward pass from the total shows both:

# %% tags=["C09.8", "P16"]
w, total = torch.ones(1000, requires_grad=True), 0.0
with ledger(leaves=False) as held:
    for batch in (1.0, 2.0, 3.0):
        total = total + (w * batch).exp().sum()
    print(held.now, "bytes are held by three graphs")
    total.backward()
print(held.now, "bytes, but the total still has its", total.grad_fn.name())

# %% [markdown]
# A running loss is meant to be read, not to be differentiated. So take the exit that shares nothing, and make it a number: `total += loss.item()`. In a loop that never calls `backward()`, compute everything under `no_grad` as well. Then the batch at hand saves nothing, either.
#
# > **The rule.** To read one number, `item()`. To compute without gradients, `no_grad`. To treat a tensor as a constant in a computation that has gradients, `detach()`, and `.clone()` after it if somebody will write. None of these purposes needs `.data`.
#
# ### Exercise: the story of the beginning
#
# **09.3 · A bug report** (8 minutes). "Validation runs out of memory after some hundred batches. Training
# does not, with the same model." Here is the validation loop; `loss_of(batch)` builds a graph. Return the
# total as a Python number, with at most one batch's activations alive at a time (they are gone when the next
# forward begins), and leave every `.grad` alone.


# %%
def evaluate(torch, loss_of, batches):
    total = 0.0
    for batch in batches:
        total = total + loss_of(batch)
    return total.item()


L.check("09.3", evaluate)

# %% [markdown]
# ## Build your own engine: `.data`
#
# Your engine has had `detach` since lesson 06. Add `.data`: a tensor on the same array, with no history, and with a counter of its own. It is one line in the class `Tensor`, a `property`.
#
# Then run the checkpoint. (`L.hint("09.b")` shows its program.) The usual slip is to copy the array. Then a write through `.data` does not arrive in the tensor, and in PyTorch it does.

# %%
L.build("09")

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C09.1** `detach()` shares memory and counter, so a write through it to a value that a node keeps is caught at backward.
# - **C09.2** `.data` shares memory but not the counter, so a write through it can spoil a gradient silently.
# - **C09.3** `clone()` has its own memory and counter, and stays in the graph.
# - **C09.4** Under `no_grad`, what is computed has no history, and in-place writes are counted as before.
# - **C09.5** A tensor that is computed in inference mode has no version counter and may not be saved for backward.
# - **C09.6** A write through `detach().numpy()` is not counted.
# - **C09.7** `detach` cuts only the path it stands on; every other path carries its gradient as before.
# - **C09.8** A total of attached losses keeps alive whatever their graphs saved; after backward it still keeps the nodes.
# - **C09.9** `eval()` changes what some layers compute, and switches off neither recording nor counting.
# - **C09.10** A view made under `no_grad` shares memory and counter with its base and has no grad_fn; backward through it raises nothing if the base requires a gradient, and no gradient arrives in either.
#
# **Left out:** `detach_()` cuts a tensor off in place, and `x.data = other` gives it another memory; both make it hard to say who shares what with whom. Inference mode is meant for speed, which an engine in Python cannot show.
#
# **Read on in our engine:** `alias` in `course_lib/engine/tensor.py`, and `data` and `detach` in `course_lib/surface/autograd_methods.py`.
#
# **Next:** [part 09b](09b_two_players_and_carried_states.ipynb) has two programs in which `detach` in the right place is everything. [Lesson 10](10_training_loop.ipynb) is a training loop: which of its lines reads, which of them writes, and which order of them is an error or, worse, none.
