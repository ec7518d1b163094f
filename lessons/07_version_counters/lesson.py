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
# # 07 · Version counters: how does backward notice that you overwrote something?
#
# **Your training script has worked for weeks. Today you added one line to save memory, `h *= gate`, and now `loss.backward()` stops with "one of the variables needed for gradient computation has been modified by an inplace operation". The traceback ends in `backward()`, where you changed nothing. Your new line does not appear in it at all. And another in-place line, `pixels /= 255` at the top of the script, has been there from the beginning and never did any harm.**
#
# The message also contains two numbers, "is at version 1; expected version 0". You need to know who counts, and when the two numbers are compared.
#
# After this lesson you can
#
# - say which tensors of an operation you may overwrite before backward, and which you may not;
# - read this message word by word, and say where to look for the line that caused it;
# - repair a training step by changing the order of its lines, without scattering `clone()` over it;
# - tell a cure from a change that only hides the symptom.
#
# **Minutes** 90, of which 25 are for your own engine, and 18 for more exercises · **Needs** lessons 00, 05 and 06; if you come straight from an error, the next two cells are enough to begin with · **Out of scope** a hunt through a whole model (part [07b](07b_the_hunt.ipynb)), writes to views (lesson 08), the ways out of the graph compared (lesson 09)
#
# [← 06 Saved tensors](06_saved_tensors.ipynb) · [all lessons](home.ipynb) · [07b The hunt →](07b_the_hunt.ipynb) · [08 Views →](08_views.ipynb)

# %%
import course_lib as torch
from backscope import compare, draw, film
from coursekit import expect_error, lesson, show

L = lesson(7)

# %% [markdown]
# Here is the script of the story. An *in-place* operation puts its result into the memory of a tensor that exists already. This script has two of them. The picture is the graph of `loss` just before `backward()`.

# %%
w = torch.tensor([2.0, 1.0, 0.5], requires_grad=True)
pixels, gate = torch.tensor([51.0, 102.0, 204.0]), torch.tensor([0.0, 2.0, 2.0])
pixels /= 255  # has been here for weeks
h = torch.tanh(w * pixels)
h *= gate  # the new line
loss = h.sum()
picture = draw(loss)
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss.backward()
picture

# %% [markdown]
# <details><summary><b>How to read the picture, if you come here straight from an error</b> (click to open)</summary>
#
# - The rounded boxes are **tensors**, with their values and their *version*: `v1` means that this memory has been written to once. A double border marks a *leaf*, such as a weight.
# - The thin blue arrows are your computation as you wrote it. The grey boxes are the **nodes** that it left, and the dark arrows are the way that gradients will take.
# - A white *drawer* in a node holds a tensor that the node has **saved**, because it will read it during `backward()`. "v1, now v1" means: saved at version 1, and still at version 1. If the two numbers differ, the drawer is orange and says STALE. That is the tensor which your error is about.
#
# </details>
#
# **Notice:**
#
# - The orange drawer belongs to the node of `tanh`. It holds the result of `tanh`, saved at version 0, and its memory is at version 1 by now. The new line, `h *= gate`, wrote into it.
# - The old line wrote as well: `pixels` is at version 1. But the drawer that holds it says "v1, now v1". The node saved `pixels` *after* that write, and nothing has been written to it since.
#
# ## Does every in-place edit of a result break backward?
#
# In the story one in-place line is harmless and another one is not. Here are four results, and each of them is edited once.

# %%
x = torch.tensor([4.0, 9.0], requires_grad=True)
a, b, c, d = x.sqrt(), x * 2, x.sqrt(), x + 3
before = [draw(result) for result in (a, b, c, d)]
a += 1
b += 1
c = c + 1
d *= 2


def slope(y):
    return torch.autograd.grad(y.sum(), x)[0]

# %% [markdown]
# **Predict.** For which of the four does backward raise? Answer with a list of letters; it may be empty.

# %%
L.predict("07.p1", None)

# %% tags=["C07.6", "C07.8", "P1"]
for y in (a, b, c, d):
    L.run(slope, y, after="07.p1")

# %% [markdown] tags=["tells"]
# Only `a` raised, although `a` and `b` look alike. Here is the graph of `a` before the edit and after it.

# %%
L.run(lambda: compare(before[0], draw(a)), after="07.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - The edit was recorded like any other operation: `AddBackward0` is new, and it is the node of `a` now. Adding 1 has the slope 1, whatever `a` was, so this part is in order.
# - The trouble is one node further back. The slope of a square root is 1 / (2 · result), so `sqrt` had saved its result. `+= 1` wrote into exactly this memory, and the drawer is STALE.
#
# So there are two questions to ask of every edit. What did the operations before it save? And which memory does the edit write into? They explain the other three as well. The slope of `x * 2` is 2, so the node of `b` saved the 2, and it makes no difference to that node what `b` holds. The slope of `x + 3` is 1, so the node of `d` saved no tensor. And `c = c + 1` is no edit at all: it computes a *new* tensor, in new memory, and gives the name `c` to it. What `sqrt` saved stays as it was.

# %% [markdown]
# What a node saved can be an input as well as a result. Here `sin` gets an `h` that is overwritten afterwards. Its slope is the cosine of `h`. An addition and a square root get the same `h`.

# %% tags=["C07.6", "P1"]
h = x * 1
root, total, sine = h.sqrt(), h + 1, h.sin()
h.neg_()
print("sqrt and addition:", slope(root + total))
with expect_error(RuntimeError, "output 0 of Neg, is at version 1; expected version 0"):
    slope(sine)

# %% [markdown]
# > **The rule.** Backward refuses one kind of write only: a write into a tensor that a node has already saved.
#
# So the simplest cure for the story is to work *out of place*: `h = h * gate` puts the product into new memory, and what `tanh` saved stays as it was.

# %%
h = torch.tanh(w * pixels)
h = h * gate
h.sum().backward()
print(w.grad)

# %% [markdown]
# (What that costs in memory is measured in part [07b](07b_the_hunt.ipynb).)
#
# ## When is the version noted, and when is it compared?
#
# Backward does not compare values, because for that it would have to save a copy. It compares two numbers. The memory of each tensor has a counter, its *version*. A fresh tensor is at version 0, and each write adds one. (In PyTorch you can read it: `t._version`.)
#
# Here is a tensor that is written to before `sin` saves it, and also afterwards.

# %%
def before_and_after(x):
    h = x * 2
    h.add_(1)
    y = h.sin()
    h.add_(1)
    h.mul_(3)
    y.sum().backward()

# %% [markdown]
# **Predict.** The error will say "is at version …; expected version … instead". Fill in the two numbers, as a pair such as `(5, 4)`.

# %%
L.predict("07.p2", None)

# %% tags=["C07.5", "P2"]
L.run(before_and_after, x, after="07.p2")
L.run(film, before_and_after, x, after="07.p2")

# %% [markdown] tags=["tells"]
# **Notice:** this is the whole mechanism, line by line.
#
# 1. `h.add_(1)` takes `h` to version 1. This is all that happens at a write: PyTorch does not ask whether a node has saved the tensor.
# 2. `y = h.sin()` saves `h`, and its node notes the version that it finds, 1. The write before it is harmless. This is why `pixels /= 255` never did any harm.
# 3. The next two writes take `h` to version 3, and the drawer turns STALE.
# 4. `backward()` wants to read what `sin` saved. It finds 3 where the node noted 1, and raises.

# %% [markdown]
# The comparison is made when the saved tensor is *read*, and it is not read before backward. That is why the error appears so late, and so far from the line that caused it. What if the write is undone again? Here every number is negated twice, so each of them comes back exactly.

# %% tags=["C07.5", "P2"]
h = x * 1
y, values = h.sin(), h.tolist()
h.neg_().neg_()
print("the same numbers as before:", h.tolist() == values)
L.run(slope, y)

# %% [markdown]
# It does not help: the versions differ.
#
# **How our engine does it.** A saved tensor is a small object, `SavedVariable`, with the tensor and the version that was noted. This method is called when the saved tensor is read. `now` is what the counter says at this moment. (A tensor that was never written to has no counter yet, and `None` means 0.) PyTorch has the same few lines in a file called `saved_variable.cpp`.

# %% tags=["engine"]
show("engine.saved.SavedVariable.read")

# %% [markdown]
# > **The rule.** A node notes the version of a tensor when it saves it, and reading the saved tensor raises if the version has changed since, even if the values have not.
#
# ## What does each word of the message say?
#
# | words | meaning |
# | --- | --- |
# | `[torch.FloatTensor [2]]` | dtype and shape of the overwritten tensor: here float32, with 2 elements |
# | `which is output 0 of Sqrt` | which operation it comes from (see below); 0 is that operation's first result |
# | `is at version 1` | how often its memory has been written to by now |
# | `expected version 0` | how often it had been written to when it was saved |
#
# The second row depends on what was saved. In the story, `tanh` saved its own *result*. Here an *input* is overwritten, twice.

# %%
h = x * 1
y = h.cos()
h.neg_().add_(1)
L.run(slope, y)

# %% [markdown]
# - If a node saved its own **result**, the message names this node: `Tanh`.
# - If a node saved an **input**, the message names the last recorded operation that made or changed this input. `neg_` did the harm as well, but `add_` came last, so the message says `Add`.
# - A **leaf**, or plain data, was made by no recorded operation. No operation is named, and only the shape is left to go by.
#
# So the shape and the words after "output 0 of" tell you which tensor it is. The line that you look for writes into this tensor, or into another tensor on the same memory, after the line that saved and before `backward()`.
#
# ## Which lines count as a write?
#
# An in-place operation has a name that ends in `_`, such as `add_`, or it is written `+=`, `*=`, or `t[i] = …`. Python turns `t[0] += 1` into two steps: it adds 1 to `t[0]` in place, and then it assigns, `t[0] = …`. (Not every line that looks like a write is one. `t.requires_grad_()` and `t.grad = …` change no number of `t`.) Is a write still counted if it adds 0, if recording is switched off, or if it goes to a single element?

# %%
def three_lines():
    t = torch.zeros(3)
    t.add_(0)
    print(t._version)
    with torch.no_grad():
        t.mul_(2)
    print(t._version)
    t[0] += 1
    print(t._version)

# %% [markdown]
# **Predict.** Which three numbers are printed? Answer with a list.

# %%
L.predict("07.p3", None)

# %% tags=["C07.1", "C07.2"]
L.run(three_lines, after="07.p3")

# %% [markdown] tags=["tells"]
# All of them are counted. Values are not compared, so adding 0 is a write like any other. `no_grad` stops the recording of operations; it does not stop the counting of writes, since values change under `no_grad`, too. The last line has added two, one for each of its steps.
#
# > **The rule.** The version counts the writes, whatever was written.

# %% [markdown]
# One kind of write is refused before anything is counted: a recorded write to a leaf that requires a gradient.

# %% tags=["C07.7", "P3"]
weight = torch.tensor([3.0, 5.0], requires_grad=True)
with expect_error(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
    weight.mul_(0.5)
print("after the refusal:", weight.tolist(), "at version", weight._version)
with torch.no_grad():
    weight.mul_(0.5)
print("under no_grad:    ", weight.tolist(), "at version", weight._version)

# %% [markdown]
# This is another error. It comes at once, in the line that is to blame, and nothing has been written yet. With a recorded write the weight would become the *result* of an operation, and would not be a leaf any more. Under `no_grad` the write is not recorded, and the weight stays a leaf. That is why training code updates parameters there. But the write is counted.
#
# ## Whose counter is it?
#
# Several tensors can look at the same memory. A slice such as `t[1:]` is a *view*: it copies nothing and looks at a part of `t` (lesson 08). `t.detach()` is the same memory without the history, and so is `t.data`, an older relative. `t.clone()` is a copy. We make one of each, and write to `t` once:

# %%
def relatives():
    t = torch.zeros(3)
    view, detached, data, clone = t[1:], t.detach(), t.data, t.clone()
    t.add_(1)
    return draw(t, view, detached, data, clone)

# %% [markdown]
# **Predict.** Which of `view`, `detached`, `data`, `clone` are at version 1 now? Answer with a list of names. (Three of them you can work out. The fourth is a bet.)

# %%
L.predict("07.p4", None)

# %% tags=["C07.3"]
L.run(relatives, after="07.p4")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - The view and the `detach()` stand in one frame with `t`: one memory, one counter. So a write through any of them is noticed, whichever of them was saved.
# - The clone has a memory of its own, and a counter of its own.
# - `.data` is the odd one, and the bet. It shows the new values, because it looks at the memory of `t`. But it has a counter of its own, which still says 0.
#
# > **The rule.** Views and `detach()` share memory and counter, `.data` shares the memory only, and `clone()` shares neither.

# %% [markdown] tags=["tells"]
# So a write through `.data` changes `t`, and not its version.

# %% tags=["C07.4"]
t = torch.zeros(3)
t.data.add_(5)
print(t.tolist(), "at version", t._version)
t.requires_grad_()  # no write, for all its _
t.grad = torch.ones(3)
print(t.tolist(), "at version", t._version)

# %% [markdown]
# ### Exercise: five names
#
# **07.1 · Five names** (5 minutes). At which version is each of the five names after the last line?
#
# ```python
# x = torch.zeros(4)
# v, d, q, c = x[1:], x.detach(), x.data, x.clone()
# x.add_(1); x.add_(0); x.mul_(1); x.sub_(0)
# with torch.no_grad():
#     d.add_(1); v.mul_(2)
# q.add_(5); q.add_(5); q.add_(5); c.mul_(3)
# x[0] += 1
# x = x + 0
# ```

# %%
versions = {"x": None, "v": None, "d": None, "q": None, "c": None}

L.check("07.1", versions)

# %% [markdown]
# ## What happens if a write is not counted?
#
# You find `.data` in old code, since it was once the usual way to update a weight. Below are three programs, and what people say about them. B does not use `.data`.

# %%
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


def a():
    y = x.exp()
    y.data.add_(1)
    return slope(y)


def b():
    y = x * x
    y.mul_(1.5)
    y.add_(x)
    return slope(y)


def c():
    y = x * 3
    x.data[0] = 100
    return slope(y)

# %% [markdown]
# 1. On A: "Backward raises."
# 2. On B: "The edits leave no trace: the gradient is 2x."
# 3. On C: "The gradient is wrong."
# 4. On A: "The gradient is wrong."
#
# **Predict.** Which of the four statements are true? Answer with a list of four words, `"true"` or `"false"`, in the order of their numbers.

# %%
L.predict("07.p5", None)

# %% tags=["C07.9", "C07.10", "P1"]
print("exp of x:", x.exp().detach())
for program in (a, b, c):
    L.run(program, after="07.p5")

# %% [markdown] tags=["tells"]
# Only the fourth is true.
#
# - **A.** The slope of `exp` is its result, and this was overwritten. Backward read the new numbers, and there was no sign that they were new: each slope is too large by 1.
# - **B.** The edits are safe, but they are recorded like other operations. `y` ends as 1.5 x² + x, and its slope is 3x + 1.
# - **C.** The product saved the number 3, and not `x`. So it does not matter here what became of `x`.
#
# PyTorch's own notes say that if you use in-place functions and see no errors, you can be sure that the gradients are correct. That holds for counted writes. Program A is the exception: no error, and a wrong gradient.
#
# > **The rule.** Do not "repair" the version error with `.data`. The write hides from the counter, and if the tensor was saved, the gradient is wrong without any error.

# %% [markdown]
# ## Which parameters must not change until backward has run?
#
# Most engineers meet the error when something writes into a parameter between forward and backward. Here it is *weight clipping*, which keeps the numbers of a parameter between −0.3 and 0.3. It is done to one of four parameters, one line too early.

# %%
inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
targets = torch.tensor([[1.0], [0.0], [2.0]])


def fresh():
    numbers = [[0.5, -0.2], [0.1, 0.4]], [0.1, 0.1], [[1.0], [-0.5]], [0.1]
    return [torch.tensor(each, requires_grad=True) for each in numbers]


def forward(W1, b1, W2, b2):
    h = torch.relu(inputs @ W1 + b1)
    return ((h @ W2 + b2 - targets) ** 2).mean()


names = "W1", "b1", "W2", "b2"


def clip_early(name):
    parameters = fresh()
    wanted = torch.autograd.grad(forward(*parameters), parameters)
    loss = forward(*parameters)
    with torch.no_grad():
        parameters[names.index(name)].clamp_(-0.3, 0.3)
    found = torch.autograd.grad(loss, parameters)
    print(f"{name} clipped: the gradients are still the same:", all(map(torch.equal, found, wanted)))

# %% [markdown]
# `inputs` and `targets` are plain data. Go through the operations, and ask of each what it saved.
#
# **Predict.** Which of `W1`, `b1`, `W2`, `b2` may **not** be written to before backward? Answer with a list of names.

# %%
L.predict("07.p6", None)

# %% tags=["C07.11"]
for name in names:
    L.run(clip_early, name, after="07.p6")

# %% [markdown] tags=["tells"]
# Only `W2` has to stay as it is. The gradient of `h` is made of `W2`, and `h` needs a gradient, so `W2` was saved. `W2` is a leaf, so the message has only its shape, `[2, 1]`.
#
# `W1` was not saved. It would be read for the gradient of `inputs`, and they are plain data. If another layer stood in front, `W1` would be saved as well. The biases are added, and an addition saves nothing.
#
# > **The rule.** A weight that is multiplied with `@` must not change until backward has run if what enters the layer needs a gradient.
#
# (Other kinds of layers save more. A LayerNorm keeps its weight in any case.)

# %% [markdown]
# **The repair** is to change the order of the lines. No copy is needed. Whatever this loss has saved is read by `backward()`. So let `backward()` read first, and write afterwards.

# %%
W1, b1, W2, b2 = parameters = fresh()
optimizer = torch.optim.SGD(parameters, lr=0.1)
for step in range(3):
    loss = forward(*parameters)
    optimizer.zero_grad()
    loss.backward()  # first, everything saved is read
    optimizer.step()  # then parameters are written to
    with torch.no_grad():
        W2.clamp_(-0.8, 0.8)
    print(f"step {step}: loss {loss.item():.4f}, W2 at version {W2._version}")

# %% [markdown]
# The version of `W2` goes up by two in every step, once for the update and once for the clipping. This does no harm, because the next `forward()` saves `W2` anew, at the version that it then has.
#
# > **The rule.** First forward, then backward, and then everything that writes into a parameter.
#
# ### Exercise: repair with one call
#
# **07.2 · Repair with one call** (4 minutes). Probabilities are centred in place, and backward raises. Change one place so that `centred(torch, x).backward()` runs. The function should return the same number as now, and `x.grad` should be the gradient of that number.


# %%
def centred(torch, x):
    p = x.sigmoid()
    q = p
    q.sub_(0.5)
    return (q * q).sum()


L.check("07.2", centred)

# %% [markdown]
# ## Build your own engine: counting the writes
#
# Your engine has saved tensors since lesson 06. If you write into one of them, it computes with the new numbers and says nothing, as `.data` does. In `my_engine.py`, which is in the same folder as this notebook, you now make it notice. There are four pieces, about 25 lines in all (25 minutes).
#
# 1. **The counter.** Write a small class `Version` whose attribute `count` begins at 0. Every `Tensor` gets one: its own, or the one that is handed to `__init__` as `version`. `detach()` hands over its own, because it looks at the same memory. A property `_version` reads the count.
# 2. **The check.** `SavedVariable` notes `tensor._version` when it is made. `unpack` compares, and raises a `RuntimeError` that contains "modified by an inplace operation" and "is at version …; expected version … instead".
# 3. **The writes.** Write a function `in_place(compute)` that makes `mul_` out of `__mul__`. What it returns does five things, in this order. *Copy*: it makes a new Tensor with a copy of the numbers and this tensor's `grad_fn`. (The product saves its operand, and the old memory is about to be overwritten.) *Compute* with this copy. *Write* the new numbers into the same memory, `self.array[...] = …`. *Count*. *Go on*: if the computation left a node, it is the tensor's `grad_fn` from now on, and the tensor requires a gradient. Then `add_`, `sub_`, `mul_` and `+=`, `-=`, `*=` are one line each.
# 4. **The guard.** While recording is on, a leaf that requires a gradient refuses all this with a `RuntimeError` that says "a leaf Variable that requires grad is being used in an in-place operation."
#
# `AccumulateGrad` adds to `.grad` in place. Let it use `add_` from now on, so that this write is counted as well. One slip is typical: to write `self.array = …` instead of `self.array[...] = …`. That gives the tensor a new array, and what `detach()` gave goes on looking at the old one.

# %%
L.build("07")

# %% [markdown]
# When the checkpoint says *correct*, your engine raises the error at the right moment and with the right numbers. One thing is not covered yet: what `reshape`, `T` and `expand` give may look at the memory of their operand, and still has a counter of its own. Lesson 08 mends that.

# %% [markdown]
# ## Exercises: more, if you like
#
# **07.3 · Which happens?** (8 minutes). In every program `x` is `torch.tensor([1.0, 2.0], requires_grad=True)`, and at the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the gradient of the formula that computed `y`).
#
# | | program | | program |
# | --- | --- | --- | --- |
# | A | `y = x.exp(); y.add_(1)` | E | `h = x * 1; y = h * h; h.data.mul_(10)` |
# | B | `h = x * 1; y = h.exp(); h.add_(1)` | F | `y = x * x; x.detach().add_(1)` |
# | C | `y = x.sigmoid(); y.add_(1); y.sub_(1)` | G | `y = x * 2; x.data[0] = 999.0` |
# | D | `y = x * 2; x.add_(1)` | H | `h = x * 1; h.add_(1); y = h * h` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("07.3", happens)

# %% [markdown]
# **07.4 · Cause this error** (10 minutes, harder). Return a tensor `y` such that `y.sum().backward()`, which the check calls, raises "… which is output 0 of Neg, is at version 4; expected version 2 instead". Your function itself must run through. Change the line that is there, and add others; `neg_` is the in-place minus.


# %%
def cause(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    return y


L.check("07.4", cause)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C07.1** A write adds one to the version, even under no_grad and even if no value changes.
# - **C07.2** `x[0] += 1` adds two: one for the write to the view, one for assigning the view back.
# - **C07.3** A tensor, its views and its detach() share one version counter; `.data` shares the memory but not the counter, and clone() shares neither.
# - **C07.4** requires_grad_(), assigning `.grad` and writes through `.data` leave the version as it is.
# - **C07.5** A node notes the version of a tensor when it saves it, and reading the saved tensor raises if the version has changed since, even if the values have not.
# - **C07.6** After sqrt you may not overwrite the result, after sin you may not overwrite the input, and after an addition you may overwrite both.
# - **C07.7** A recorded write to a leaf that requires grad raises at once and changes nothing; under no_grad it is allowed, and counts.
# - **C07.8** `y = x * 2; y.add_(1)` does not break backward: the product saved the 2, not y.
# - **C07.9** In-place edits of a result are recorded like other operations: `y = x * x; y.mul_(1.5); y.add_(x)` has the gradient 3x + 1.
# - **C07.10** A write through `.data` is not counted: the gradient stays right if no node saved the tensor, and it is wrong without any error if one did.
# - **C07.11** In a network of two linear layers with plain input data, only the second weight matrix may not be updated between forward and backward; the first one and both biases may.
#
# **Left out:** saved-tensor hooks, which switch the check off (lesson 14); `inference_mode` and NumPy arrays on the same memory (lesson 09).
#
# **Read on in our engine:** `SavedVariable` in `course_lib/engine/saved.py`, and the counter in `course_lib/engine/version.py`.
#
# **Next:** if you have such an error at work, part [07b](07b_the_hunt.ipynb) hunts one through a model. Otherwise [lesson 08](08_views.ipynb): you write to a part, and the history of the whole changes with it.
