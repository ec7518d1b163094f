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
# **Your training runs for hours without trouble. Then you add a loop that measures the loss on the validation set. It has the same model, the same kind of data, and no backward pass at all. After a few hundred batches, the memory is full. You search for help, and the first three answers say: write `.detach()`; write `.data`; write `with torch.no_grad():`. They are given as if it were all the same.**
#
# It is not. There are seven common ways to take a value out of the graph: `detach()`, `.data`, `clone()`, `numpy()`, `item()`, `no_grad` and `inference_mode`. They differ in three questions. Does the result share its **memory** with the tensor that it comes from? Does it share the **version counter**, so that a write to it is noticed? And is it really outside of the **graph**? The answers decide what a write to the result does to your gradients.
#
# After this lesson you can
#
# - choose the right exit for a purpose, and say what it costs;
# - predict what happens if somebody writes to the result;
# - train a recurrent network step by step, and two networks against each other, without an error and without silencing one;
# - keep a running loss that does not fill your memory.
#
# **Minutes** 120, in two sittings of 60 and 60 with a rest between them · **Needs** lessons 00, 05, 06 and 07 · **Out of scope** views in general (lesson 08), optimizer classes (lesson 10)
#
# [← 08 Views share memory](08_views.ipynb) · [all lessons](home.ipynb) · [10 A training loop →](10_training_loop.ipynb)

# %%
import course_lib as torch
from backscope import compare, draw, ledger, step
from coursekit import expect_error, lesson, show

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
# We come back to these two loops before the pause in the middle, when we have looked at the exits one by one.
#
# ## Three ways to write 30: which of them does backward notice?
#
# Somebody wants to change the value of `x` "outside of the graph", and tries three spellings.
#
# ```python
# x = torch.tensor([3.0], requires_grad=True)
# y = (x * x).sum()
# x.detach()[0] = 30.0      # or: x.data[0] = 30.0      # or: x.clone()[0] = 30.0
# y.backward()
# print(x.grad)
# ```
#
# When `y` was computed, `x` was 3, and the slope of `x * x` at 3 is 6.
#
# **Predict.** What do you get with `detach`, with `.data`, and with `clone`? Answer with a list of three. Each entry is a number, or `"error"`. Ask yourself two questions about each: did the write arrive in the memory of `x`? And whose version counter moved?

# %%
L.predict("09.p1", None)

# %% [markdown]
# All three, one after the other:

# %% tags=["C09.1", "C09.2", "P15"]
def outcome(x, compute):
    try:
        compute().sum().backward()
        return x.grad.item()
    except RuntimeError:
        return "error"


ways = {"detach": lambda x: x.detach(), ".data": lambda x: x.data, "clone": lambda x: x.clone()}
for name, leave in ways.items():
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    leave(x)[0] = 30.0
    print(f"{name}:", outcome(x, lambda y=y: y))

# %% [markdown]
# Three spellings, three different results. Here are the three programs after the write, in one picture:

# %%
ys, names = [], {}
for name, leave in ways.items():
    x = torch.tensor([3.0], requires_grad=True)
    y, out = (x * x).sum(), leave(x)
    out[0] = 30.0
    ys.append(y)
    names |= {f"{name}: x": x, f"{name}: out": out, f"{name}: y": y}
draw(*ys, out, names=names)

# %% [markdown]
# **Notice:**
#
# - `detach`: one memory, and one counter. The write moved it to version 1, so both saved slots are STALE: an error, before a wrong step can be taken.
# - `.data`: one memory, and two counters. The write was counted at `out` only, and `x` still says version 0. Nothing is stale, so backward multiplies by whatever lies in the memory now: 2 · 30 = 60.
# - `clone`: two memories, so the write never reached `x`. And `out` is still in the graph: its nodes 7 and 8 are the copying and the write.
#
# The check of lesson 07 compares counters, not values. This makes the second program the dangerous one. Here it is again, before the write and after it:

# %%
x = torch.tensor([3.0], requires_grad=True)
y, alias = (x * x).sum(), x.data
before = draw(y, alias)
alias[0] = 30.0
compare(before, draw(y, alias))

# %% [markdown]
# **Notice:** the two saved slots hold another number than the one that was saved, and say "v0, now v0".
#
# > **The rule.** A write through `detach()` is counted, and a write through `.data` is not. Both reach the tensor.
#
# ## What if the write comes from NumPy?
#
# `x.numpy()` gives you an array on the same memory. PyTorch refuses it for a tensor that requires a gradient, and its message recommends `x.detach().numpy()`. Nearly everybody follows this advice. What does the counter say if you write to that array?

# %% tags=["C09.2", "C09.6"]
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
with expect_error(RuntimeError, "Can't call numpy() on Tensor that requires grad"):
    x.numpy()
x.detach().numpy()[0] = 30.0
y.backward()
print(x.grad, "version", x._version, " same memory:", x.detach().data_ptr() == x.data_ptr())

# %% [markdown]
# The gradient should be 6, and it is 60. `detach()` did share the counter, but NumPy knows nothing of counters. So the rule for arrays is the same as for `.data`: read as much as you like, and do not write between forward and backward.
#
# ## Is a clone outside of the graph?
#
# `clone()` copies the memory, so nothing that you do to the copy can disturb `y`. People therefore use it to "get out". But the copying itself is an operation. It is recorded, and gradients flow through it:

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
with expect_error(RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"):
    torch.ones(2).item()

# %% [markdown]
# ## What does `no_grad` switch off?
#
# The other exits take *one tensor* out. `with torch.no_grad():` concerns *everything that is computed in the block*. It stops the recording. Does it stop the counting, too?
#
# ```python
# x = torch.tensor([3.0], requires_grad=True)
# y = (x * x).sum()
# with torch.no_grad():
#     x.mul_(10)
# y.backward()
# print(x.grad)
# ```
#
# **Predict.** What do you get: a number, or `"error"`?

# %%
L.predict("09.p4", None)

# %% [markdown]
# The same program, with one line more: `z` is computed in the block.

# %% tags=["C09.4"]
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
with torch.no_grad():
    z = x * x
    x.mul_(10)
print("requires grad:", z.requires_grad, z.grad_fn, " version of x:", x._version)
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    y.backward()

# %% [markdown]
# The counting goes on. What is *computed* in the block has no history. What is *written* in the block changes the same memory, under the same counter. Both are good news: this is how a weight can be updated at all, and why an update that comes too early, between forward and backward, is caught.
#
# ## And `inference_mode`, and `eval()`?
#
# `inference_mode` goes one step further: a tensor that is *made* inside has no counter, either. Nobody could notice a write to it, so it must never be saved for a backward pass. (A tensor from outside keeps its counter, and a write to it counts.) Below, `f` is made inside. Outside, `x` is added to it, then multiplied by a clone of it, and then by `f` itself.

# %% tags=["C09.5", "C09.10", "P21"]
x = torch.tensor([3.0], requires_grad=True)
with torch.inference_mode():
    f = torch.ones(1) * 2
print(x + f, x * f.clone())
with expect_error(RuntimeError, "Inference tensors cannot be saved for backward"):
    x * f
with expect_error(RuntimeError, "Inference tensors do not track version counter"):
    f._version
print("under eval():", torch.nn.Dropout(0.5).eval()(x * x))

# %% [markdown]
# An addition saves nothing and accepts the inference tensor. A product has to save it, and refuses. `clone()` outside of the block makes an ordinary tensor of it.
#
# `eval()` is something else altogether. It tells layers such as dropout to behave as they do in use. Recording and counting go on: the last line still has a `grad_fn`. So a validation loop needs both: `eval()`, so that the layers behave, and `no_grad` or `inference_mode`, so that no graph is built.
#
# > **The rule.** Use `no_grad` for values that may meet a graph again, and `inference_mode` for values that never will.
#
# **How our engine does it.** The whole difference between `detach()` and `.data` is which counter the new tensor is given. `alias`, which `detach()` calls, hands over the source's own. `.data` makes a new tensor, which begins at version 0. (`or counter_of(tensor)` makes the counter if there is none yet. The two lines about inference are for tensors without one.)

# %% tags=["engine"]
show("engine.tensor.alias")
show("Tensor.data")

# %% [markdown]
# ## Exercises: the exits themselves
#
# **09.1 · Fill the table** (6 minutes). For each result, three answers: does it share `x`'s memory, does a
# write to it move `x`'s version counter, and do gradients flow from it to `x`? Give a tuple such as `(True,
# False, False)`. `no_grad` stands for `x * 1` under `no_grad`, `both` for `x.detach().clone()`.

# %%
table = {"detach": None, "data": None, "clone": None, "no_grad": None, "both": None}

L.check("09.1", table)

# %% [markdown]
# **The table of this lesson.** Here all seven ways are measured. `clone` beside `detach`, and `detach` beside `.data`, are the rows to remember. The two columns on the right say what becomes of gradients:
#
# - *x * it* is the gradient that a product with the result leaves in `x`. With a constant it is 3, and the full one is 6.
# - *after a write*: `y` is `x * x`, then 30 is written to the result, then `y` runs backward. Only 6 is right.

# %%
ways["numpy"] = lambda x: torch.from_numpy(x.detach().numpy())
ways["item"] = lambda x: torch.tensor([x.item()])
ways["no_grad"] = torch.no_grad()(lambda x: x * 1)  # all of the function runs under no_grad
ways["inference_mode"] = torch.inference_mode()(lambda x: x * 1)

# %% tags=["P15", "P21"]
print(f"{'':14} memory  counter  graph    x * it  after a write")
for name, leave in ways.items():
    x = torch.tensor([3.0], requires_grad=True)
    y, out = (x * x).sum(), leave(x)
    memory = "shared" if out.data_ptr() == x.data_ptr() else "own"
    graph = "goes on" if out.requires_grad else "cut"
    product = outcome(x, lambda: x * out)
    x.grad = None
    with torch.inference_mode():  # the only place where an inference tensor may be written to
        out.fill_(30.0)
    counter = "none" if out.is_inference() else "shared" if x._version else "own"
    print(f"{name:14} {memory:7} {counter:8} {graph:8} {product!s:7} {outcome(x, lambda: y)}")

# %% [markdown]
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
verdicts = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("09.2", verdicts)

# %% [markdown]
# ## Why does a running total fill the memory?
#
# Back to the two loops: training held no bytes after a batch, and validation held 4000 more each time. They differ only in the backward pass. `total = total + loss` makes a new tensor with a node, and this node leads to the node of `loss` and to everything behind it. As long as `total` lives, all of these graphs live. In training, each backward pass releases what its graph had saved, and only the nodes pile up. In validation nothing is ever released: each batch leaves its 4000 bytes behind. One backward pass from the total shows both:

# %% tags=["C09.8", "P16"]
w, total = torch.ones(1000, requires_grad=True), 0.0
with ledger(leaves=False) as held:
    for batch in (1.0, 2.0, 3.0):
        total = total + (w * batch).exp().sum()
    print(held.now, "bytes are held by three graphs")
    total.backward()
print(held.now, "bytes, but the total still has its", total.grad_fn.name())

# %% [markdown]
# A running loss is meant to be read, not to be differentiated. So make it a number: `total += loss.item()`. In a loop that never calls `backward()`, compute everything under `no_grad` as well. Then the batch at hand saves nothing, either.
#
# ## Exercises: the story of the beginning
#
# **09.5 · A bug report** (8 minutes). "Validation runs out of memory after some hundred batches. Training
# does not, with the same model." Here is the validation loop; `loss_of(batch)` builds a graph. Return the
# total as a Python number, with at most one batch's activations alive at a time (they are gone when the next
# forward begins), and leave every `.grad` alone.


# %%
def evaluate(torch, loss_of, batches):
    total = 0.0
    for batch in batches:
        total = total + loss_of(batch)
    return total.item()


L.check("09.5", evaluate)

# %% [markdown]
# ## A rest
#
# You have seen all the exits, and the story of the beginning is explained. Three more situations come: a state that is carried on, a path to be cut, and two networks that play against each other. A question for the break: a total is only read, but the next step computes with the state. Does it need the state's graph, too?
#
# ## A recurrent network learns at every step: where does it raise?
#
# A *recurrent network* reads a sequence one element at a time and carries a state, here `h`, from step to step. This one learns at each step:
#
# ```python
# w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
# for number in range(3):
#     h = torch.tanh(w * h)
#     loss = (h - 1) ** 2
#     loss.backward()
# ```
#
# **Predict.** In which step does the backward pass raise: 0, 1 or 2? Or `"never"`?

# %%
L.predict("09.p2", None)

# %% [markdown]
# We do step 0 with its backward pass, and step 1 without. Then we look at the graph on which the second backward pass would begin.

# %%
w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
h = torch.tanh(w * h)
((h - 1) ** 2).backward()
loss = (torch.tanh(w * h) - 1) ** 2
draw(loss, parts={"step 0": (1, 2), "step 1": (3, 6)})

# %% [markdown]
# **Notice:**
#
# - The graph of step 1 does not end at `h`. Through `h` it reaches back into the graph of step 0.
# - There the slots say FREED. The backward pass of step 0 released what its nodes had saved.
# - `#4` and `#5` are values without a name: what the nodes 4 and 5 made.
#
# Here is the pass as it goes from node 3 in step 1 to node 2 in step 0:

# %% tags=["C09.7", "P7"]
step(loss).part(4, 5)  # the state is attached

# %% [markdown]
# The pass of step 1 walks into the graph of step 0 and finds it empty. That is the error "Trying to backward through the graph a second time".
#
# What you *mean* is that the state, by now, is just a number. So take it out of the graph between two steps, with `detach()`:

# %% tags=["C09.7", "P7"]
w.grad, state = None, h.detach()
loss = (torch.tanh(w * state) - 1) ** 2
cut = draw(h, loss, parts={"step 0": (1, 2), "step 1": (3, 6)})
loss.backward()
print("with detach, this step's gradient alone:", w.grad)
cut

# %% [markdown]
# **Notice:** no arrow leads from node 3 to node 2 any more. `state` lies in the memory of `h` and has no history, so gradients stop there, and each step learns from its own loss alone.
#
# This is called **truncated backpropagation through time**, TBPTT for short. Usually one does not cut after each step, but after a *window* of 20 or 50. Then the losses of a window are added up, one pass runs through all of its steps, and the state is detached once. Here are windows of two steps:

# %% tags=["C09.7", "P7"]
w.grad, h, window = None, torch.tensor(1.0), 0.0
for number in range(4):
    h = torch.tanh(w * h)
    window = window + (h - 1) ** 2
    if number % 2 == 1:  # the window is full
        window.backward()
        h, window = h.detach(), 0.0
        print("after step", number, "w.grad is", w.grad)

# %% [markdown]
# Two other ways are often taken, and both are worse. The first is to do nothing, as long as nothing raises. Nothing raises if no node has saved anything, as in a sum. Then the passes run through all earlier steps again, without a word:

# %% tags=["C09.7", "P7"]
a, total = torch.tensor(1.0, requires_grad=True), 0.0
for _ in range(3):
    total = total + a
    total.backward()
print("three steps of a sum, attached:", a.grad)

# %% [markdown]
# **Notice:** the gradient of each step alone is 1, so three steps should add up to 3. But the pass of step k runs through k additions, so the earlier steps are counted again, and `a.grad` is 1 + 2 + 3.
#
# The other cure is `retain_graph=True`. It silences the error, but every pass walks through all earlier steps, and memory grows, as you saw in lesson 06. As soon as `w` learns between the steps, there is another error:

# %% tags=["C09.7", "P7"]
w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
with expect_error(RuntimeError, "has been modified by an inplace operation", short=True):
    for _ in range(3):
        h = torch.tanh(w * h)
        ((h - 1) ** 2).backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad

# %% [markdown]
# Step 2 walks back into step 1, which saved `w` at version 1, and `w` is at version 2 by now. (Why did step 1 not fail like that? In step 0 `h` was a constant. So the product there saved `h`, and not `w`.)
#
# > **The rule.** Detach the state that one pass hands to the next one. Otherwise the next pass walks back into a graph whose slots are empty.
#
# ## Two states are carried on: how many must be detached?
#
# An **LSTM** (*long short-term memory*) is a recurrent cell with two states. The *hidden state* `h` is what the cell shows to others at each step. The *cell state* `c` is its memory. One step takes an input and the pair of states, and returns the new pair. The new `c` is made of the old `c`, the old `h` and the input. The new `h` is made of the new `c`, the old `h` and the input:

# %% tags=["C09.11"]
torch.manual_seed(0)
cell = torch.nn.LSTMCell(3, 4)  # 3 numbers come in, and each state has 4
x = torch.randn(2, 3)  # a batch of two samples, one step of each
h, c = cell(x)  # without states, both begin as zeros
h, c = cell(x, (h, c))
print("input", tuple(x.shape), " h", tuple(h.shape), " c", tuple(c.shape))

# %% [markdown]
# Both states have one row for each sample. Now such a cell is trained step by step, as the plain one above. `cut` says what is handed on:
#
# ```python
# for x in (torch.ones(2, 3), torch.ones(2, 3)):
#     h, c = cell(x, (h, c))
#     (h * h).sum().backward()
#     h, c = cut(h, c)     # A: h.detach(), c     B: h, c.detach()     C: h.detach(), c.detach()
# ```
#
# **Predict.** Which of A, B and C run? Answer with a list of three, each `"runs"` or `"error"`.

# %%
L.predict("09.p3", None)

# %% tags=["C09.12"]
def two_steps(cut):
    for p in cell.parameters():
        p.grad = None
    h, c = torch.zeros(2, 4), torch.zeros(2, 4)
    for x in (torch.ones(2, 3), torch.ones(2, 3)):
        h, c = cell(x, (h, c))
        (h * h).sum().backward()
        h, c = cut(h, c)


cuts = {
    "A": lambda h, c: (h.detach(), c),
    "B": lambda h, c: (h, c.detach()),
    "C": lambda h, c: (h.detach(), c.detach()),
}
for name, cut in cuts.items():
    try:
        two_steps(cut)
        print(name, "runs")
    except RuntimeError as error:
        print(name, "error:", str(error).partition(" (")[0])

# %% [markdown]
# Each of the two states leads back into the step before. If one of them is still attached, the next pass walks along it, and finds empty slots. So truncated backpropagation through time cuts *everything* that is carried on.
#
# > **The rule.** Detach every tensor that crosses the border between two windows, and carry on its value.
#
# ## Can you cut one path and keep another?
#
# Sometimes a tensor is to count as a constant in one place, and not in another. `x * x.detach()` has the value x². But its slope is x, not 2x, because the second factor counts as a number. In papers this is called **stop-gradient**. The targets of reinforcement learning are detached in this way.
#
# A threshold has the slope zero nearly everywhere. With the same idea you can send a gradient through it all the same: this is `through`, below.

# %% tags=["C09.9", "P9"]
x = torch.tensor(3.0, requires_grad=True)
(x * x.detach()).backward()
print(x.grad)  # not 6
p = torch.tensor([0.25, 0.75], requires_grad=True)
hard = torch.where(p > 0.5, torch.ones(2), torch.zeros(2))
through = p + (hard - p).detach()
through.sum().backward()
print(through, p.grad)

# %% [markdown]
# The *values* are those of `hard`, since `p` cancels. The *gradient* is that of `p`, since the bracket counts as a constant. This is a **straight-through estimator**. You will write one as a Function of your own in lesson 11.
#
# ## Two players: where does the `detach` go?
#
# In an *adversarial* game (a GAN), a generator `g` makes a fake, and a discriminator `d` gives scores. The discriminator wants a low score for the fake and a high one for what is real: its loss is `d * fake - d * real`. The generator wants a high score for its fake: its loss is `-(d * fake)`. Usually the discriminator steps first. If the generator then uses the score from before this step, backward complains: the score saved `d`, and `d` has been overwritten.

# %% tags=["P9"]
g, d = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
fake = g * 5
score = d * fake
with torch.no_grad():
    d -= 1.0  # stands for the discriminator's backward pass and step
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    (-score).backward()

# %% [markdown]
# Two repairs are in use: score the *detached* fake before the step, or score the *attached* fake after the step. Here are both losses, and their graphs:

# %% tags=["P9"]
d = torch.tensor(3.0, requires_grad=True)
fake = g * 5
constant = fake.detach()
before_step = -(d * constant)
with torch.no_grad():
    d -= 1.0
after_step = -(d * fake)
draw(before_step, after_step, detail=0, parts={"before the step": (2, 3), "after the step": (4, 5)})

# %% [markdown]
# **Notice:** a way to `g` begins at `after_step`: from node 5 to 4, to 1, to `g`. From `before_step` there is only the way to `d`, because `constant` has no history.

# %% tags=["P9"]
for name, loss in {"before_step": before_step, "after_step": after_step}.items():
    g.grad = d.grad = None
    loss.backward()
    print(f"{name:11} g gets {g.grad}, and d gets {d.grad}")

# %% [markdown]
# With the fake detached, the error is gone, and so is the learning: `g` gets no gradient. If you score again after the step, the loss is about the `d` that exists now, and the way to `g` is open. So the *generator's* loss never detaches the fake. Is there a loss in this game that must not reach `g`? Exercise 09.4 asks you.
#
# In both cases `d` gets a gradient of −5, too. It comes from the generator's loss, and is not meant for `d`. So clear it before the discriminator's next pass. (`before_step` was scored by the old `d`, and does not raise: with a constant fake, its product saved only the fake.)
#
# > **The rule.** An error about a stale tensor says that a computation is out of date: compute it again, or let the part that is out of date end where you want it to. A `detach` that only silences the error often ends the learning as well.

# %% [markdown]
# ## Build your own engine: `.data`
#
# Your engine has `detach` since lesson 06. Add `.data`: a tensor on the same array, with no history, and with a counter of its own. It is one line in the class `Tensor`, a `property`.
#
# Then run the checkpoint. (`L.hint("09.b")` shows its program.) The usual slip is to copy the array. Then a write through `.data` does not arrive in the tensor, and in PyTorch it does.

# %%
L.build("09")

# %% [markdown]
# ## Exercises
#
# **09.3 · Carry the state** (5 minutes). Repair the loop with one call: each step learns from its own loss,
# and the state arrives from the step before as a number. Return the last state.


# %%
def train(torch, w, inputs):
    h = torch.zeros(1)
    for x in inputs:
        h = torch.tanh(w * h + x)
        (h * h).sum().backward()
    return h


L.check("09.3", train)

# %% [markdown]
# **09.4 · Two players** (10 minutes). The discriminator `d` lowers `d * fake - d * real` first; then the
# generator `g`, whose fake is `g * z`, lowers `-(d * fake)` as scored by the *new* `d`. Each player moves
# by a counted in-place write of `-lr` times the gradient of its own loss and of nothing else, also when
# `play` is called again and again. At the first call, `g` and `d` have no `.grad`. This version raises; do not only silence it.


# %%
def play(torch, g, d, z, real, lr):
    fake = g * z
    score = d * fake
    (score - d * real).backward()
    with torch.no_grad():
        d -= lr * d.grad
    (-score).backward()
    with torch.no_grad():
        g -= lr * g.grad
    g.grad = d.grad = None


L.check("09.4", play)

# %% [markdown]
# **09.6 · Two states, in windows** (10 minutes). Train an LSTM cell with truncated backpropagation through time. `inputs` has the shape (time, batch, features). The states begin as zeros. The loss of a step is `(h * h).sum()`. After every `window` steps there is one backward pass for the sum of their losses. It reaches through the whole window and no further, and the values of both states go on into the next one. If the sequence ends in the middle of a window, the shorter one is trained on, too. Return the last pair `(h, c)`, without a history. This version raises; leave clearing of gradients to the caller.


# %%
def train_in_windows(torch, cell, inputs, window):
    h = c = torch.zeros(inputs.shape[1], cell.hidden_size)
    loss = 0.0
    for number, x in enumerate(inputs):
        h, c = cell(x, (h, c))
        loss = loss + (h * h).sum()
        if number % window == 0:
            loss.backward()
            h, loss = h.detach(), 0.0
    return h, c


L.check("09.6", train_in_windows)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/09_ways_out/claims.py`).
#
# *Taking one tensor out*
#
# - **C09.1** `detach()` shares memory and counter, so a write through it to a value that a node keeps is caught at backward.
# - **C09.2** `.data` shares memory but not the counter, so a write through it can spoil a gradient silently.
# - **C09.6** A write through `detach().numpy()` is not counted.
# - **C09.3** `clone()` has its own memory and counter, and stays in the graph.
# - **C09.9** `detach` cuts only the path it stands on; every other path carries its gradient as before.
#
# *Switching something off*
#
# - **C09.4** `no_grad` records no graph, and it still counts in-place writes.
# - **C09.5** An inference tensor has no version counter and may not be saved for backward.
# - **C09.10** `eval()` changes what some layers compute, and switches off neither recording nor counting.
#
# *What stays attached*
#
# - **C09.7** A state carried over from an earlier backward must be detached: the pass would walk on into the earlier graph, whose slots have been freed.
# - **C09.11** An LSTM cell takes an input of shape (batch, input size) and a pair of states of shape (batch, state size), and returns the new pair.
# - **C09.12** Both states of an LSTM must be detached between two passes: with one of them attached, the next pass walks into the earlier graph.
# - **C09.8** A total of attached losses keeps alive whatever their graphs saved; after backward it still keeps the nodes.
#
# **What PyTorch does differently, and what is left out.** `detach_()` cuts a tensor off in place, and `x.data = other` gives it another memory; both make it hard to say who shares what with whom. Inference mode is meant for speed, which an engine in Python cannot show.
#
# **Read on in our engine:** `alias` in `course_lib/engine/tensor.py`, and `data` and `detach` in `course_lib/surface/autograd_methods.py`.
#
# **Next:** [lesson 10](10_training_loop.ipynb) is a training loop: which of its lines reads, which of them writes, and which order of them is an error or, worse, none.
