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
# `detach`, `.data`, `clone`, `no_grad`, `inference_mode`, `item()` and `numpy()` are used as if they were
# one thing. They differ in three questions: does the result share **memory** with its source, does it share
# the **version counter**, and is it still in the **graph**? The answers decide between a right gradient, an
# error, and a wrong number without an error.
#
# - **C09.1** `detach()` shares memory and counter, so writing a kept value through it is caught at backward.
# - **C09.2** `.data` shares memory but not the counter, so a write through it can spoil a gradient silently.
# - **C09.3** `clone()` has its own memory and counter, and stays in the graph.
# - **C09.4** `no_grad` records no graph, and it still counts in-place writes.
# - **C09.5** An inference tensor has no version counter and may not be saved for backward.
# - **C09.6** A write through `detach().numpy()` is not counted.
# - **C09.7** A state carried over from an earlier backward must be detached: its graph has been emptied.
# - **C09.8** A total of attached losses keeps all activations alive; after backward it still keeps the nodes.
# - **C09.9** `detach` cuts only the path it stands on; every other path carries its gradient as before.
#
# **Minutes** 60 · **Needs** lessons 00, 05, 06, 07 · **Opens** `course_lib/tensor.py` · **Out of scope**
# views in general (lesson 08), optimizer classes (lesson 10)

# %%
import course_lib as torch
from course_lib.teach import draw, expect_error, lesson, show

L = lesson(9)

import weakref

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor([3.0], requires_grad=True)
# y = (x * x).sum()
# x.detach()[0] = 30.0      # or: x.data[0] = 30.0      # or: x.clone()[0] = 30.0
# y.backward()
# print(x.grad)
# ```
#
# Three ways to write 30 "outside the graph". When `y` was computed, `x` was 3 and the slope was 6.
#
# ## Predict
#
# What do you get with `detach`, with `.data`, with `clone`? A list of three: each a number, or `"error"`.

# %%
L.predict("09.p1", None)

# %% [markdown]
# ## Run
#
# The second of the three, `.data`, up to the backward pass.

# %%
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
alias = x.data
alias[0] = 30.0
print(x, x._version, alias._version)

# %% [markdown]
# ## See

# %%
draw(y, alias)

# %% [markdown]
# **Notice:**
#
# - Nothing is marked as stale: what the product kept was saved at version 0, and `x` still says version 0.
#   It holds 30.
# - `alias` lies in the same memory: the short dashed line says so. The write was counted, but on a counter
#   that belongs to `alias` alone.
#
# ## Explain
#
# **`.data` and NumPy write unseen.** The check of lesson 07 compares counters, and these two do not move
# it. So backward multiplies by what lies in memory now: 60 for 6, and then, the other way round, 6 for 60.
# PyTorch refuses `x.numpy()` on a tensor that requires grad, and recommends the detour; the detour is just
# as unseen when you write through it.

# %% tags=["C09.2", "C09.6"]
y.backward()
print(x.grad)  # x was 3 when y was computed
with expect_error(RuntimeError, "Can't call numpy() on Tensor that requires grad"):
    x.numpy()
y, x.grad = (x * x).sum(), None  # now x is 30
x.detach().numpy()[0] = 3.0
y.backward()
print(x.grad, x._version)

# %% [markdown]
# **`detach` shares the counter too.** It is the same memory seen from outside the graph, so writing through
# it is allowed and is counted where the check looks. The same program as above now stops with an error. An
# error is the better outcome, for it comes before the wrong step is taken.

# %% tags=["C09.1"]
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
d = x.detach()
d[0] = 30.0
print(d.data_ptr() == x.data_ptr(), x._version, d.requires_grad)
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    y.backward()

# %% [markdown]
# **`clone` is no way out.** It copies the memory, so nothing you do to the copy disturbs `y`; but the
# copying itself is recorded, and gradients flow through it. To be free of both, use `detach().clone()`.
# `item()` also copies, into a Python number with neither memory nor graph to share; it wants exactly one
# element.

# %% tags=["C09.3"]
x = torch.tensor([3.0], requires_grad=True)
y, c = (x * x).sum(), x.clone()
c.mul_(10)
y.backward()
(c * 1).sum().backward()
print(x.grad, x._version, c)  # 6 through y, 10 through the copy
with expect_error(RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"):
    torch.ones(2).item()

# %% [markdown]
# **`no_grad` stops the recording, not the counting.** What is computed inside has no history. What is
# *written* inside changes the same memory under the same counter: that is how a weight can be updated at
# all, and why updating it between forward and backward is caught.

# %% tags=["C09.4"]
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
with torch.no_grad():
    z = x * x
    x.mul_(10)
print(z.requires_grad, z.grad_fn, x._version)
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    y.backward()

# %% [markdown]
# **`inference_mode` drops the counter as well.** It is there for speed, and has a price: nobody could
# notice a write to such a tensor, so it may not be saved for backward. Addition saves nothing and accepts
# it; a product wants to save it and refuses. `clone()` outside the block makes an ordinary tensor of it.

# %% tags=["C09.5"]
with torch.inference_mode():
    f = torch.ones(1) * 2
print(x + f, x * f.clone())
with expect_error(RuntimeError, "Inference tensors cannot be saved for backward"):
    x * f
with expect_error(RuntimeError, "Inference tensors do not track version counter"):
    f._version

# %% [markdown]
# **Open our engine.** The whole difference between the two is which counter the new tensor is given:
# `alias`, which `detach()` calls, hands over the source's own; `.data` makes a fresh one: `new_tensor` begins
# at version 0.

# %% tags=["engine"]
show("tensor.alias")
show("Tensor.data")

# %% [markdown]
# ## Question
#
# A recurrent network carries its state from step to step, and learns at each step:
#
# ```python
# w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
# for step in range(3):
#     h = torch.tanh(w * h)
#     loss = (h - 1) ** 2
#     loss.backward()
# ```
#
# ## Predict
#
# In which step does the backward pass raise: 0, 1 or 2? Or `"never"`?

# %%
L.predict("09.p2", None)

# %% [markdown]
# ## Run
#
# Step 0 with its backward, step 1 without.

# %%
w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
h = torch.tanh(w * h)
((h - 1) ** 2).backward()
loss = (torch.tanh(w * h) - 1) ** 2
print(loss)

# %% [markdown]
# ## See

# %%
draw(loss)

# %% [markdown]
# **Notice:**
#
# - The graph of step 1 reaches back, through `h`, into the graph of step 0.
# - There the slots say FREED: the first backward released them as it went.
# - `#4` and `#5` are values without a name: what the nodes 4 and 5 made.
#
# ## Explain
#
# **Detach the state.** The second pass would walk into step 0 and find it emptied. `retain_graph=True`
# silences that, at a price: every pass walks through all earlier steps, memory grows, and as soon as `w` is
# updated in place between the steps, a version error follows. What you mean is that the state is a *number*
# by now: `h.detach()`.

# %% tags=["C09.7"]
with expect_error(RuntimeError, "Trying to backward through the graph a second time"):
    loss.backward()
w.grad = None
state = h.detach()
((torch.tanh(w * state) - 1) ** 2).backward()
print(w.grad)  # this step's gradient alone

# %% [markdown]
# **A total can hold a whole epoch.** The weak references say whether the activations still exist. `total`
# holds the losses' nodes, and these hold what they saved. In training, backward releases the activations,
# and only the nodes pile up; in an evaluation that never calls backward, everything does. `item()`,
# `detach()` or `no_grad` keep a running loss harmless.

# %% tags=["C09.8"]
activations = [w * k for k in (1.0, 2.0, 3.0)]
seen = [weakref.ref(a) for a in activations]
total = sum(a * a for a in activations)
del activations
print([ref() is not None for ref in seen])
total.backward()
print([ref() is not None for ref in seen], total.grad_fn.name())
total = total.item()  # a plain number: nothing hangs on it

# %% [markdown]
# **Cut one path, keep the other.** `x * x.detach()` has the value x² and the slope x: the second factor
# counts as a constant. The same trick sends a gradient through a threshold, which has none: the values
# below are those of `hard`, the gradient is that of `p`. Detached targets in reinforcement learning are
# this idea again.

# %% tags=["C09.9"]
x = torch.tensor(3.0, requires_grad=True)
(x * x.detach()).backward()
print(x.grad)  # 3, not 6
p = torch.tensor([0.25, 0.75], requires_grad=True)
hard = torch.where(p > 0.5, torch.ones(2), torch.zeros(2))
through = p + (hard - p).detach()
through.sum().backward()
print(through, p.grad)

# %% [markdown]
# ## Break it
#
# A two-parameter adversarial game: `g` makes a fake, `d` scores it. `d` steps in place between the score
# and the generator's backward, and the score's kept `d` is stale. Now somebody adds a `detach` until the
# error goes away. It goes, and so does the learning: `g` gets no gradient at all, and `d` gets one that was
# not meant for it. The right cure is to score again after the step.

# %%
g = torch.tensor(1.0, requires_grad=True)  # generator
d = torch.tensor(3.0, requires_grad=True)  # discriminator
fake = g * 5
score = d * fake
with torch.no_grad():
    d -= 1.0  # the discriminator's step
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    (-score).backward()
(-(d * fake.detach())).backward()  # silent, and useless
print(g.grad, d.grad)
(-(d * fake)).backward()  # scored again: d is 2 now
print(g.grad)  # minus d, times 5

# %% [markdown]
# ## Exercises
#
# **09.1 · Fill the table** (6 minutes). For each result, three answers: does it share `x`'s memory, does a
# write to it move `x`'s version counter, and do gradients flow from it to `x`? Give a tuple such as `(True,
# False, False)`. `no_grad` stands for `x * 1` under `no_grad`, `both` for `x.detach().clone()`.

# %%
table = {"detach": None, "data": None, "clone": None, "no_grad": None, "both": None}

L.check("09.1", table)

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
# **09.3 · Carry the state** (6 minutes). Repair the loop with one call: each step learns from its own loss,
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
# **09.4 · Two players** (12 minutes). The discriminator `d` lowers `d * fake - d * real` first; then the
# generator `g`, whose fake is `g * z`, lowers `-(d * fake)` as scored by the *new* `d`. Each player moves
# by a counted in-place write of `-lr` times the gradient of its own loss and of nothing else, also when
# `step` is called again and again. This version raises; do not only silence it.


# %%
def step(torch, g, d, z, real, lr):
    fake = g * z
    score = d * fake
    (score - d * real).backward()
    with torch.no_grad():
        d -= lr * d.grad
    (-score).backward()
    with torch.no_grad():
        g -= lr * g.grad
    g.grad = d.grad = None


L.check("09.4", step)

# %% [markdown]
# **09.5 · A bug report** (8 minutes). "Validation runs out of memory after some hundred batches. Training
# does not, with the same model." Here is the validation loop; `loss_of(batch)` builds a graph. Return the
# total as a Python number, with at most one batch's activations alive at a time, and leave every `.grad`
# alone.


# %%
def evaluate(torch, loss_of, batches):
    total = 0.0
    for batch in batches:
        total = total + loss_of(batch)
    return total.item()


L.check("09.5", evaluate)

# %% [markdown]
# ## What you can now claim
#
# | way out | memory | counter | graph | what you get when it goes wrong |
# | --- | --- | --- | --- | --- |
# | `x.detach()` | shared | shared | cut | a write is caught: *modified by an inplace operation …* |
# | `x.data` | shared | its own | cut | nothing: 60 for 6 |
# | `x.detach().numpy()` | shared | none | cut | nothing: 6 for 60 (*Can't call numpy()* without `detach`) |
# | `x.clone()` | its own | its own | **goes on** | gradients where you wanted none |
# | `x.item()` | a number | none | cut | *cannot be converted to Scalar*, unless it has one element |
# | inside `no_grad` | its own | its own | not recorded | a write to `x` is caught: *modified by …* |
# | inside `inference_mode` | its own | none | not recorded | *Inference tensors cannot be saved …* |
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C09.1 `detach` is counted | version 1, then the error | `test_c09_1` |
# | C09.2 `.data` is not | 60 | `test_c09_2` |
# | C09.3 `clone` stays in the graph | 6 + 10 | `test_c09_3` |
# | C09.4 `no_grad` counts | version 1, no `grad_fn` | `test_c09_4` |
# | C09.5 inference tensors | `+` works, `*` refuses | `test_c09_5` |
# | C09.6 NumPy writes unseen | 6 where 60 was right, version 0 | `test_c09_6` |
# | C09.7 detach the state | the error, then one step's gradient | `test_c09_7` |
# | C09.8 totals hold graphs | three times True, then False, and a node | `test_c09_8` |
# | C09.9 one path is cut | 3, not 6 | `test_c09_9` |
#
# The tests run on our engine and on real PyTorch: `tests/claims/test_claims_09.py`.
#
# **Left out, compared with PyTorch.** `detach_()` cuts a tensor off in place, and `x.data = other` gives it
# another memory; both make it hard to say who shares what with whom. Inference mode also makes PyTorch
# faster, which an engine in Python cannot show.
#
# **Next:** you have the five lessons of this edition behind you. Take a training loop of your own, `draw`
# its loss before and after the step, and see what you can now read.
