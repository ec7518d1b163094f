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
# The message is not as vague as it looks. It contains two numbers, "is at version 1; expected version 0". Once you know who counts, when the counting is done, and when the two numbers are compared, the message tells you which tensor was overwritten, or at least what it looks like, and you know where to look for the line.
#
# After this lesson you can
#
# - read this message word by word, and find the line that caused it;
# - look at an operation and say which of its tensors you may overwrite before backward, and which you may not;
# - repair a training step by changing the order of its lines, without scattering `clone()` over it;
# - tell a cure from a change that only hides the symptom.
#
# **Minutes** 150, in two sittings of 75 with a rest between them · **Needs** lessons 00, 05 and 06; if you come straight from an error, the next two cells are enough to begin with · **Out of scope** what a write to a view does to the graph (lesson 08), the ways out of the graph compared (lesson 09), optimizers (lesson 10)
#
# [← 06 Saved tensors](06_saved_tensors.ipynb) · [all lessons](home.ipynb) · [08 Views →](08_views.ipynb)

# %%
import course_lib as torch
from backscope import compare, draw, explain, watch
from coursekit import chart, expect_error, lesson, show

L = lesson(7)

import warnings

# %% [markdown]
# Here is the script of the story, made small. An *in-place* operation is one that puts its result into the memory of a tensor that exists already. This script has two of them, `pixels /= 255` and `h *= gate`. The cell runs the script, prints the whole error, and draws the graph of `loss` as it was just before `backward()`.

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
# - The rounded boxes are **tensors**. You see their values and their *version*: `v1` means that this memory has been written to once. A double border marks a *leaf*, a tensor that no recorded operation has made, such as a weight. A grey tensor needs no gradient.
# - The thin blue arrows are your computation as you wrote it.
# - The grey boxes with sharp corners are **nodes**. Every operation on a tensor that requires a gradient leaves one behind, which will compute gradients during `backward()`. The numbers say in which order they were made. A dotted arrow leads from a result to its node.
# - The thick black arrows are the way back. They lead from a node to the nodes of its operands, and the digit says which operand is meant. A short line with a ring leads to nothing: this operand wants no gradient. At the end of the way stands a green box, in which the `.grad` of a leaf is collected.
# - A white note with a folded corner is a tensor that a node has **saved**, because it will read it during `backward()`. A dashed line leads from the node to the note and, where there is room for it, on to the saved tensor. "v1, now v1" means: saved at version 1, and at version 1 still. If the two numbers differ, the note turns orange and says STALE. That is the tensor which your error is about.
#
# (In other pictures, FREED means that a backward pass has let go of the tensor already, and a dashed purple frame holds tensors that share one memory and one counter.)
#
# </details>
#
# **Notice:**
#
# - The orange note hangs on the node of `tanh`. It is the result of `tanh`, saved at version 0, and its memory is at version 1 by now. The new line, `h *= gate`, wrote into it.
# - The old line wrote as well: `pixels` is at version 1. But the note that belongs to it says "v1, now v1". The node saved `pixels` *after* that write, and nothing has been written to it since.
#
# For a program of your own, `draw(loss)` makes such a picture, and `explain(loss)` says in words what happened and what cures it. Both work on PyTorch's tensors as well.

# %% [markdown]
# ## Does every in-place edit of a result break backward?
#
# In the story one in-place line is harmless and another one is not. So it cannot be the in-place writing alone. Below are four results, and each of them is edited once:
#
# ```python
# a = x.sqrt(); a += 1       # each with x = torch.tensor([4.0, 9.0], requires_grad=True)
# b = x * 2;    b += 1
# c = x.sqrt(); c = c + 1
# d = x + 3;    d *= 2
# ```
#
# Then `sum().backward()` is called on each of the four. Lesson 06 has told you all that you need to work it out. Ask of each first operation: what is its slope made of, so what did its node have to save? And then: which memory does the edit write into?
#
# **Predict.** Which of the four backward calls raise? Answer with a list of letters; it may be empty.

# %%
L.predict("07.p1", None)

# %% [markdown]
# Now run all four. We draw the graph of `a` before its edit, for later. The error at the end is printed as PyTorch words it.

# %% tags=["C07.6", "C07.8", "P1"]
x = torch.tensor([4.0, 9.0], requires_grad=True)
a, b, c, d = x.sqrt(), x * 2, x.sqrt(), x + 3
before = draw(a)
a += 1
b += 1
c = c + 1
d *= 2
for program, edited in {"b, 2x + 1:": b, "c, sqrt(x) + 1:": c, "d, 2(x + 3):": d}.items():
    (slope,) = torch.autograd.grad(edited.sum(), x)
    print(program, "fine, and the gradient is", slope)
with expect_error(RuntimeError, "modified by an inplace operation"):
    a.sum().backward()

# %% [markdown]
# Three of them ran. Only `a` raised, although `a` and `b` look alike: an operation, and then `+= 1`. `compare` shows the graph of `a` before the edit and after it:

# %%
compare(before, draw(a))

# %% [markdown]
# **Notice:**
#
# - The edit was recorded like any other operation: `AddBackward0` is new, and `a` hangs on it now. Adding 1 has the slope 1 whatever `a` was, so this part is in order.
# - The trouble is one node further back. The slope of a square root is 1 / (2 · result), so `sqrt` had saved its result. `+= 1` wrote over exactly this memory, and the note is STALE.
# - No black arrow was lost, and nothing was freed. One number went from 0 to 1.
#
# The same two questions explain the other three. The slope of `x * 2` is 2, so the node of `b` saved the 2, and what `b` holds does not matter to it. The slope of `x + 3` is 1, so the node of `d` saved no tensor. And `c = c + 1` is no edit at all. It computes a *new* tensor, with memory of its own, and moves the name `c` to it. What `sqrt` saved stays as it was.
#
# So it depends on what was saved, and that can be the input as well as the result. Below we overwrite the *input* of three operations. Only `sin` has saved it, because its slope is the cosine of it. Then we overwrite the *results* of two operations that did not save them.

# %% tags=["C07.6", "P1"]
h = x * 1
r, s, p = h.sqrt(), h.sin(), h + 1
h.neg_()  # the input of all three
(r + p).sum().backward()
print("sqrt and the addition do not need their input any more")
with expect_error(RuntimeError, "output 0 of Neg, is at version 1; expected version 0", short=True):
    s.sum().backward()
(x.sin().mul_(2) + (x + 1).mul_(2)).sum().backward()
print("sin and the addition do not need their results")

# %% [markdown]
# (`x * 1` makes a result, since the leaf `x` itself would refuse the write. The message names `neg_`, because it changed `h` last.)
#
# If you do not know what an operation saves, look at its slots, as in lesson 06: `[name for name in dir(y.grad_fn) if name.startswith("_saved_")]`. Or look at the white notes in the picture. To be safe, work *out of place*: `y = y + 1`, `h = h * gate`. A new tensor has new memory, so nothing that was saved is overwritten. This is also the simplest cure for the story. (It costs the memory that the new line was meant to save. If you can, put the in-place line behind an operation that does not save its result.)

# %%
h = torch.tanh(w * pixels)
h = h * gate  # a new tensor
h.sum().backward()
print(w.grad)

# %% [markdown]
# > **The rule.** Backward minds one kind of write only: a write into a tensor that a node has already saved.
#
# ## When is the version noted, and when is it compared?
#
# How does backward know that the memory was written to? It does not compare values, because for that it would have to save a copy. It compares two numbers. A fresh tensor has a counter, its *version*, which is 0, and each in-place operation adds one. (In PyTorch you can read it: `t._version`.)
#
# Here is a tensor that is written to before it is saved, and also afterwards. `sin` saves its input.
#
# ```python
# h = x * 2
# h.add_(1)
# y = h.sin()
# h.add_(1)
# h.mul_(3)
# y.sum().backward()
# ```
#
# **Predict.** The error will say "is at version …; expected version … instead". Fill in the two numbers, as a pair such as `(5, 4)`.

# %%
L.predict("07.p2", None)

# %% [markdown]
# `watch` writes down what happens to versions and saved tensors while a block runs:

# %% tags=["C07.5", "P2"]
with watch() as log:
    h = x * 2
    h.add_(1)
    y = h.sin()
    h.add_(1)
    h.mul_(3)
    with expect_error(RuntimeError, "is at version 3; expected version 1", short=True):
        y.sum().backward()
log

# %% [markdown]
# **Notice:** the log has three kinds of lines, and they are the whole mechanism.
#
# 1. *Version.* Each write adds one to the version (it "bumps" it), and nothing else happens at that moment. PyTorch does not ask whether anybody has saved the tensor.
# 2. *Saved.* When `sin` saves `h`, its node notes the version that it finds. That is 1, because one write had come before. Such a write is harmless. This is why `pixels /= 255` never did any harm.
# 3. *Refused.* Backward wants to read the slot, finds 3 where the node noted 1, and raises.
#
# The chart shows the counters line by line: on the right `h`, as the log has it, and on the left `pixels` of the story. Line 1 makes the tensor, line 2 writes to it, a node saves it in line 3 and notes its version (the dashed line), and the last line is `backward()`.

# %%
story = {"version": {1: 0, 2: 1, 3: 1, 4: 1}, "noted": {3: 1, 4: 1}}
ours = {"version": {1: 0, 2: 1, 3: 1, 4: 2, 5: 3, 6: 3}, "noted": {3: 1, 4: 1, 5: 1, 6: 1}}
chart({"pixels of the story": story, "h": ours}, across="line", up="version", numbers=True)

# %% [markdown]
# On the left the write comes before the save, and the two numbers are still equal when backward looks. On the right two more writes come after the save, and backward finds 3 where 1 was noted.
#
# The comparison is made when the slot is *read*, and nothing reads it before backward does. That is why the error appears so late, and so far from the line that caused it. If you read the slot yourself, you get the error at once.
#
# What if the write is undone again? Taking the minus of every number twice restores each of them exactly. It does not help:

# %% tags=["C07.5", "P2"]
h = x * 1
y, values = h.sin(), h.tolist()
h.neg_().neg_()
assert h.tolist() == values  # the same numbers as before
with expect_error(RuntimeError, "is at version 2; expected version 0", short=True):
    slot = y.grad_fn._saved_self
with expect_error(RuntimeError, "is at version 2; expected version 0", short=True):
    y.sum().backward()

# %% [markdown]
# **How our engine does it.** A saved tensor is a small object, `SavedVariable`, with the tensor and the version that was noted. This is the method that is called when the slot is read. `now` is what the counter says at this moment. (Most tensors are never written to, so they have no counter yet, and `None` means 0.) The rest is a comparison of two integers. PyTorch has the same few lines in a file called `saved_variable.cpp`.

# %% tags=["engine"]
show("engine.saved.SavedVariable.read")

# %% [markdown]
# > **The rule.** A node notes the version of a tensor when it saves it, and reading the slot raises if the version has changed since, even if the values have not.
#
# ## What does each word of the message say?
#
# The table takes the message that `a` raised:
#
# | words | meaning |
# | --- | --- |
# | `[torch.FloatTensor [2]]` | dtype and shape of the spoilt tensor: look for a float32 tensor with 2 elements |
# | `output 0 of Sqrt` | which tensor it is: here, the result that `sqrt` saved |
# | `is at version 1` | how often its memory has been written to by now |
# | `expected version 0` | how often it had been written to when it was saved |
# | `Hint: enable anomaly detection …` | a way to find the line that saved the tensor; we come to it later |
#
# %% [markdown]
# The second row needs some care:
#
# | what was overwritten | the words name |
# | --- | --- |
# | a *result* that a node saved | this node |
# | an *input* that a node saved | the last recorded operation that made or changed it |
# | an input, of which only a part was written to (`h[0] = 5.0`) | `CopySlices` |
# | a leaf, or plain data | nothing: no recorded operation has made it |
#
# Here are five errors. Say before you run the cell which name each message will carry. (From here on we print only what differs from message to message.)

# %%
def short(error):  # which tensor, and the two versions
    return str(error).split(": ")[1].removesuffix(". Hint")


def said(y):  # what becomes of backward
    try:
        y.sum().backward()
        return "fine"
    except RuntimeError as error:
        return short(error)


y = x.tanh()
y.sub_(1)
print("1:", said(y))

h = x * 1
y = h.cos()
h.neg_()
print("2:", said(y))

h = x * 1
y = h.cos()
h.neg_().add_(1)
print("3:", said(y))

h = x * 1
y = h.cos()
h[0] = 5.0
print("4:", said(y))

weight = torch.tensor([3.0, 5.0], requires_grad=True)
y = x * weight
with torch.no_grad():
    weight.mul_(0.5)
print("5:", said(y))

# %% [markdown]
# In the third program `neg_` did the harm as well, but `Add` is the last recorded write, and so it is named. The fifth write is under `no_grad` and not recorded, so only the shape is left.
#
# Now you have a procedure. Read the shape and the words after "output 0 of", and you know which tensor it is. The line that you look for writes into this tensor, or into another tensor on the same memory. It stands between the line that saved and `backward()`. So read downwards from the line that saved, if you know it, or else upwards from `backward()`.
#
# What can such a line look like? The next three sections are about that.
#
# ## Which lines count as a write?
#
# An in-place operation has a name that ends in `_`, such as `add_`, or it is written `+=`, `*=`, or `x[i] = …`. Is it still counted if it adds 0, if recording is switched off, or if it writes to a single element?
#
# ```python
# t = torch.zeros(3)
# t.add_(0);               print(t._version)
# with torch.no_grad():
#     t.mul_(2);           print(t._version)
# t[0] += 1;               print(t._version)
# ```
#
# **Predict.** Which three numbers are printed? Answer with a list.

# %%
L.predict("07.p6", None)

# %% tags=["C07.1", "C07.2"]
t = torch.zeros(3)
t.add_(0)
print("add_(0):       version", t._version)
with torch.no_grad():
    t.mul_(2)
print("under no_grad: version", t._version)
t[0] += 1
print("t[0] += 1:     version", t._version)

# %% [markdown]
# All of them are counted. `no_grad` stops the recording of operations, and it does not stop the counting of writes: values change under `no_grad`, too. And adding 0 is a write like any other, because values are not compared.
#
# The last line has added two. Python turns `t[0] += 1` into two writes. First it adds 1 to the view `t[0]`, and then it assigns this view back, `t[0] = …`.
#
# > **The rule.** The version counts the writes, whatever was written.
#
# ## Whose counter is it?
#
# Two tensors can look at the same memory. A slice such as `t[1:]` is a *view*: it copies nothing, it looks at a part of `t` (lesson 08). `t.detach()` is the same memory without the history, and so is `t.data`, an older relative. `t.clone()` is a copy. We make one of each, and write to `t` once:
#
# ```python
# t = torch.zeros(3)
# view, detached, data, clone = t[1:], t.detach(), t.data, t.clone()
# t.add_(1)
# ```
#
# **Predict.** Which of `view`, `detached`, `data`, `clone` are now at version 1? Answer with a list of names.

# %%
L.predict("07.p7", None)

# %% tags=["C07.3"]
t = torch.zeros(3)
view, detached, data, clone = t[1:], t.detach(), t.data, t.clone()
t.add_(1)
draw(t, view, detached, data, clone)

# %% [markdown]
# **Notice:**
#
# - The view and the `detach()` stand in one frame with `t`: one memory, one counter. So a write through any of them is noticed, whichever of them was saved.
# - The clone has memory of its own, and a counter of its own.
# - `.data` is the odd one. It sees the new values, because it looks at the memory of `t`. But it has a counter of its own, which still says 0.
#
# What follows from this? We write through `.data`, and then do two things that are no writes to `t`:

# %% tags=["C07.4"]
t.data.mul_(5)
t.requires_grad_()
t.grad = torch.ones(3)
print("t is at version", t._version, "though its values are now", t.tolist())

# %% [markdown]
# The write through `.data` multiplied everything by 5, and the version of `t` did not move. Neither did it move for `requires_grad_()` or for assigning `.grad`, because these write to no element of `t`.
#
# > **The rule.** Views and `detach()` share memory and counter, `.data` shares the memory only, and `clone()` shares neither.
#
# ## What about in-place edits whose name has no underscore?
#
# At work the culprit is often a line that does not look like a write. `nn.ReLU(inplace=True)` is found in many published vision models, and so is `nn.Dropout(0.5, inplace=True)`. The argument asks the module to write into what it is given, so as to save memory. The functions behind these modules have the same argument. And many operations have an argument `out=`, which names a tensor to write the result into. All of these count exactly like `add_`.
#
# Below are four small models. Each contains a module that works in place. (In training, `Dropout(0.5)` sets each number to 0 with probability one half, and doubles the others.)

# %%
nn = torch.nn
models = {
    "A": nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)),
    "B": nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Dropout(0.5, inplace=True)),
    "C": nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5, inplace=True), nn.Linear(2, 1)),
    "D": nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.5, inplace=True)),
}

# %% [markdown]
# **Predict.** For which of the four does backward raise? Answer with a list of letters.

# %%
L.predict("07.p4", None)

# %% tags=["C07.14", "C07.15", "P19"]
for letter, model in models.items():
    print(f"{letter}:", said(model(torch.ones(3, 2))))

# %% [markdown]
# You can say why. The gradients of a linear layer are made of its input and its weight, so it has not saved its result, and in A and C somebody may write over it. (In A the ReLU saves its own result, which is what it has just written.) A sigmoid saves its result, because its slope is made of it, and so does a ReLU. In B and D the dropout wrote over such a result.
#
# With `out=` it is the same. In the next cell a product saves `factor`, and then a sum is written into `factor`.

# %% tags=["C07.14"]
factor = torch.ones(2)
y = x * factor
torch.add(factor, 1, out=factor)
print(said(y))

# %% [markdown]
# One thing is *not* guarded by any counter. If a second name stands for the tensor that a module overwrites, then this name sees the new numbers, in the forward pass already. Here a *skip connection* is meant to add the numbers from before the ReLU:

# %% tags=["C07.15"]
h = x - 6.0  # -2 and 3
skip = h
y = nn.ReLU(inplace=True)(h) + skip
print("in place:    ", y, "with the gradient", torch.autograd.grad(y.sum(), x)[0])
h = x - 6.0
y = nn.ReLU()(h) + h
print("as was meant:", y, "with the gradient", torch.autograd.grad(y.sum(), x)[0])

# %% [markdown]
# No node saved the wrong number, so there is no error. Twice relu(h) was computed, and its gradient, [0, 2], is right. It is only that you meant something else.
#
# > **The rule.** `inplace=True` and `out=` are safe where a name ending in `_` would be safe.
#
# ## Exercises: two on what is counted
#
# `L.hint("07.1")` helps, `L.solution("07.1")` explains, and `L.progress()` lists what you have solved. (The numbers are only names, and some come later.)
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
# **07.3 · Repair with one call** (4 minutes). Probabilities are centred in place, and backward raises. Change one place so that `centred(torch, x).backward()` runs. The function should return the same number as now, and `x.grad` should be the gradient of that number.

# %%
def centred(torch, x):
    p = x.sigmoid()
    q = p
    q.sub_(0.5)
    return (q * q).sum()


L.check("07.3", centred)

# %% [markdown]
# ## Which parameters must hold still until backward has run?
#
# This is how most engineers meet the error: there is a network and a training step, and something writes into a parameter between forward and backward. It may be weight decay, or a second optimizer. In this program it is *weight clipping*, as it is used in Wasserstein GANs, which keeps numbers between −0.3 and 0.3. It is done to one of the four parameters, and one line too early:
#
# ```python
# h = torch.relu(x @ W1 + b1)
# loss = ((h @ W2 + b2 - t) ** 2).mean()
# with torch.no_grad():
#     parameter.clamp_(-0.3, 0.3)      # one of W1, b1, W2, b2
# loss.backward()
# ```

# %% [markdown]
# Here is a network with two inputs, two hidden units and three samples. `fresh` makes its parameters, and `slopes` gives the gradients of all four.

# %%
x, t = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([[1.0], [0.0], [2.0]])


def fresh():  # four new parameters, all at version 0
    numbers = [[0.5, -0.2], [0.1, 0.4]], [0.1, 0.1], [[1.0], [-0.5]], [0.1]
    return [torch.tensor(each, requires_grad=True) for each in numbers]


def forward():
    h = torch.relu(x @ W1 + b1)
    return ((h @ W2 + b2 - t) ** 2).mean()


def slopes(loss):
    return torch.autograd.grad(loss, (W1, b1, W2, b2))

# %% [markdown]
# `x` and `t` are plain data. Go through the operations, and ask of each what it saved.
#
# **Predict.** Which of `W1`, `b1`, `W2`, `b2` may **not** be written to before backward? Answer with a list of names.

# %%
L.predict("07.p3", None)

# %% [markdown]
# For each parameter we take the gradients once without a write, to compare, and once with the write in between.

# %% tags=["C07.11"]
for number, name in enumerate(["W1", "b1", "W2", "b2"]):
    W1, b1, W2, b2 = parameters = fresh()
    right, loss = slopes(forward()), forward()
    with torch.no_grad():
        parameters[number].clamp_(-0.3, 0.3)
    try:
        same = all(map(torch.equal, slopes(loss), right))
        print(name, "was written to: it runs, and the gradients are the same:", same)
    except RuntimeError as error:
        print(name, "was written to:", short(error))

# %% [markdown]
# Only `W2` has to hold still. To see why, look at the graph just before backward, with the clipping in it. The picture ends at `out`, the result of the second layer, because what follows it plays no part.

# %%
W1, b1, W2, b2 = fresh()
h = torch.relu(x @ W1 + b1)
out = h @ W2 + b2
with torch.no_grad():
    W2.clamp_(-0.3, 0.3)
draw(out)

# %% [markdown]
# **Notice:**
#
# - There is one STALE note, `W2`, and it belongs to the second product. The gradient of `h` is made of `W2`, and `h` needs a gradient, so `W2` was saved. A leaf is not the output of an operation, so the message could not say "output 0 of …". The shape, `[2, 1]`, was the only trace.
# - `W1` was not saved. It would be read for the gradient of `x`, and `x` is plain data. If another layer stood in front, then `W1` would be saved as well.
# - The biases are added, and an addition saves nothing.
# - Where the program ran, the gradients were those from before the write. They belong to the loss that was computed, at the old parameters.
#
# > **The rule.** A weight must hold still until backward if something in front of its layer needs a gradient.
#
# ## How is a training step repaired?
#
# The usual repair is to change the order of the lines. No copy is needed. Everything that was saved is read by `backward()`. So let `backward()` read first, and write afterwards. Below are three whole steps, with the clipping in its right place.

# %%
W1, b1, W2, b2 = fresh()
for step in range(3):
    loss = forward()
    for parameter in (W1, b1, W2, b2):
        parameter.grad = None
    loss.backward()  # first, everything saved is read
    with torch.no_grad():
        for parameter in (W1, b1, W2, b2):
            parameter -= 0.1 * parameter.grad  # then parameters are written to
        W2.clamp_(-0.8, 0.8)
    print(f"step {step}: loss {loss.item():.4f}, W2 at version {W2._version}")

# %% [markdown]
# The version of `W2` goes up by two in every step, once for the update and once for the clipping. It does no harm, because the next `forward()` saves `W2` anew, and notes the version that it then has.
#
# > **The rule.** First forward, then backward, and then everything that writes into a parameter.
#
# ## Why does a write to a weight raise at once without `no_grad`?
#
# There is a second error about in-place operations, and it is easily taken for the first. You met it in lesson 05. Try the clipping without `no_grad`:

# %% tags=["C07.7", "P3"]
before, version = W2.tolist(), W2._version
with expect_error(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
    W2.clamp_(-0.2, 0.2)
assert W2.tolist() == before and W2._version == version  # nothing happened
with torch.no_grad():
    W2.clamp_(-0.2, 0.2)
print("under no_grad the version went up by", W2._version - version)

# %% [markdown]
# This error is easier to deal with: it comes in the line that is to blame, and nothing has been written yet. Its reason has nothing to do with what a node has saved. With a recorded write `W2` would become the *result* of an operation, and be no leaf any more.
#
# Under `no_grad` the write is not recorded, so `W2` stays a leaf. That is why training code updates parameters there. But the write is counted.
#
# > **The rule.** An in-place write to a leaf that requires a gradient is refused at once, and under `no_grad` it is allowed and counted.

# %% [markdown]
# ## Does `retain_graph=True` help?
#
# You want to run backward twice on one loss, with an update in between. The first attempt raises "Trying to backward through the graph a second time" (lesson 06). The message itself proposes `retain_graph=True`, so you write it. Here are three updates, each tried alone and under `no_grad`:
#
# ```python
# b2 -= 0.1 * b2.grad          # A
# W2 = W2 - 0.1 * W2.grad      # B
# W2 -= 0.1 * W2.grad          # C
# ```
#
# **Predict.** After which of them does the second pass raise? Answer with a list of letters; it may be empty.

# %%
L.predict("07.p8", None)

# %%
for letter, line in {"A": "b2 -= 0.1 * b2.grad", "B": "W2 = W2 - 0.1 * W2.grad"}.items():
    W1, b1, W2, b2 = fresh()
    loss = forward()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        exec(line)
    loss.backward()
    print(letter, "was tried: the second pass runs")

# %% tags=["C07.12", "P8"]
W1, b1, W2, b2 = fresh()
loss = forward()
loss.backward(retain_graph=True)
with torch.no_grad():
    W2 -= 0.1 * W2.grad
with expect_error(RuntimeError, "modified by an inplace operation", short=True):
    loss.backward(retain_graph=True)

# %% [markdown]
# In C the flag did what it says: the slot still holds `W2`. But `W2` holds other numbers by now, and the loss was not computed with these. In A nothing had saved the bias. In B the old tensor was not written to: the name `W2` has moved to a new one. (This is seldom a way out. An optimizer holds the old tensor, and goes on stepping that.)
#
# Ask `explain` about the error of C. It says what the message says, sorts the possible changes into those that cure and those that only silence, and draws the graph with HERE at the culprit.

# %% tags=["P8"]
explain()

# %% [markdown]
# (`#3` is the tensor `h` inside of `forward`; no name outside leads to it.) The right cure is this: clear the gradients (the pass that failed halfway has added to some of them), and compute the loss at the new weights.

# %%
for parameter in (W1, b1, W2, b2):
    parameter.grad = None
forward().backward()
print("with a new graph it runs, and the gradient of b2 at the new weights is", b2.grad)

# %% [markdown]
# > **The rule.** After a weight was updated, compute the loss again.
#
# ## A rest
#
# This is the middle of the lesson. You can read the message, you know what counts as a write, and you can repair a training step. The second half is about finding a line that you cannot see, and about writes that nobody counts.

# %% [markdown]
# ## Which line saved the tensor?
#
# In a large model you may not recognise the tensor by its shape, because twelve layers have the same one. For this there is *anomaly mode*, which the message proposes in its last sentence. While it is on, every operation remembers from which line of your program it was called.
#
# Here is the script of the story again, as a file `train.py` for real PyTorch, with anomaly mode around forward and backward:
#
# ```text
#  1  import torch
#  2
#  3
#  4  def block(x, w, gate):
#  5      h = torch.tanh(w * x)
#  6      h *= gate
#  7      return h
#  8
#  9
# 10  w = torch.tensor([2.0, 1.0, 0.5], requires_grad=True)
# 11  x, gate = torch.tensor([0.2, 0.4, 0.8]), torch.tensor([0.0, 2.0, 2.0])
# 12  with torch.autograd.set_detect_anomaly(True):
# 13      loss = block(x, w, gate).sum()
# 14      loss.backward()
# ```
#
# This is all that `python train.py` prints, with the paths shortened to `…`, and without the line of `^^^^` under a call that some versions of Python print.
#
# ```text
# …/torch/autograd/graph.py:979: UserWarning: Error detected in TanhBackward0. Traceback of forward call that caused the error:
#   File "…/train.py", line 13, in <module>
#     loss = block(x, w, gate).sum()
#   File "…/train.py", line 5, in block
#     h = torch.tanh(w * x)
#  (Triggered internally at …/torch/csrc/autograd/python_anomaly_mode.cpp:122.)
#   return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
# Traceback (most recent call last):
#   File "…/train.py", line 14, in <module>
#     loss.backward()
#   File "…/torch/_tensor.py", line 623, in backward
#     torch.autograd.backward(
#   File "…/torch/autograd/__init__.py", line 395, in backward
#     _engine_run_backward(
#   File "…/torch/autograd/graph.py", line 979, in _engine_run_backward
#     return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
# RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], which is output 0 of Tanh, is at version 1; expected version 0 instead. Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed in there or anywhere later. Good luck!
# ```
#
# There are two tracebacks in it, and it is easy to read the wrong one.
#
# - The **lower** one is the error itself. As always, it ends in `backward()`.
# - The **upper** one is a *warning*, and it may stand far above the error in a long log. It is the traceback of a *forward* call. Read it from its last line: `h = torch.tanh(w * x)` is the line whose node has failed. So this line saved the tensor.
# - Which line did the overwriting is not said. Read on downwards from the line that saved, until you find a write to what it saved. Here it is the very next line.

# %% [markdown]
# To remember a traceback for every operation takes time. So how long must the mode be on? Here are three ways:
#
# - A: around forward and backward, as above;
# - B: around forward only;
# - C: around backward only, once the error has been seen.
#
# **Predict.** Which of the three tell you the line that saved? Answer with a list of letters.

# %%
L.predict("07.p9", None)

# %% tags=["C07.13", "C07.16"]
def block(x, w, gate):
    h = torch.tanh(w * x)
    h *= gate
    return h


w, x, gate = torch.tensor([2.0, 1.0, 0.5], requires_grad=True), torch.ones(3), torch.zeros(3)
for way, (forward_on, backward_on) in {"A": (True, True), "B": (True, False), "C": (False, True)}.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.set_detect_anomaly(forward_on):
            loss = block(x, w, gate).sum()
        with torch.autograd.set_detect_anomaly(backward_on):
            said(loss)
    told = "".join(str(each.message) for each in caught)
    print(f"{way}: warnings before the error: {len(caught)}, the line is named: {'h = torch.tanh' in told}")
print("C says:", told.partition(" Enable")[0])

# %% [markdown]
# Only A names it. In B the lines were remembered, but the mode was off when the node failed. In C it was off when the line ran. So switch it on *before the forward pass*, and off again when you have found the line.
#
# Anomaly mode also stops at a gradient that is NaN ("not a number"). If you only look for an in-place write, pass `check_nan=False`.
#
# Our engine remembers more than PyTorch: every write notes its line as well. So its message names both lines, the one that saved and the one that wrote:

# %% tags=["engine", "C07.13"]
with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    loss = block(x, w, gate).sum()
    with expect_error(RuntimeError, "Anomaly mode knows more"):
        loss.backward()

# %% [markdown]
# > **The rule.** Anomaly mode, switched on before forward, names the line that saved, and the write is to be found somewhere below that line.
#
# ## What happens if the write is not counted?
#
# All of this works because writes are counted. You have met one that is not: a write through `.data`. You find it in old code, since `.data` was once the usual way to update a weight. Below are three programs, each with `x = 1, 2, 3, 4`, and what people say about them. (In B every write is counted.)
#
# ```python
# y = x.exp(); y.data.add_(1)           # A
# y = x * x; y.mul_(1.5); y.add_(x)     # B
# y = x * 3; x.data[0] = 100            # C
# ```
#
# 1. On A: "Backward raises."
# 2. On B: "The edits leave no trace: the gradient is 2x."
# 3. On C: "The gradient is wrong."
# 4. On A: "The gradient is wrong."
#
# **Predict.** Which of the four statements are true? Answer with a list of four words, `"true"` or `"false"`, in the order of their numbers.

# %%
L.predict("07.p5", None)

# %% tags=["C07.9", "C07.10"]
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x.exp()  # saves its result
right = y.detach().clone()  # the slope of exp
y.data.add_(1)
print("A:", torch.autograd.grad(y.sum(), x)[0], "- right is", right)
y = x * x  # saves x
y.mul_(1.5)  # saves 1.5
y.add_(x)  # saves nothing
print("B:", torch.autograd.grad(y.sum(), x)[0])
y = x * 3  # saves 3
x.data[0] = 100
print("C:", torch.autograd.grad(y.sum(), x)[0])

# %% [markdown]
# Only the fourth is true.
#
# - **A.** The slope of `exp` is its result, and this was overwritten. Backward read the new numbers, and nothing told it that they were new: each slope is too large by 1.
# - **B.** The edits are safe, but they are recorded like other operations. `y` ends as 1.5 x² + x, and its slope is 3x + 1.
# - **C.** The product saved the number 3, and not `x`. So it does not matter here what became of `x`.
#
# Here is A as a picture. On the left stands the graph after `y.data.add_(1)`. Then the same write is made once more, through `detach()`, which shares the counter:

# %% tags=["C07.10", "P1"]
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x.exp()
y.data.add_(1)
silent = draw(y)
y.detach().add_(1)
compare(silent, draw(y))

# %% [markdown]
# On the left `y` holds wrong numbers already, 3.718 for 2.718, and yet the note is white: "v0, now v0". The picture knows no more than the counter. On the right the counter has moved, the note is orange, and backward will raise. A message that stops your program is a nuisance, but it is better than a wrong gradient. So do not "repair" the version error with `.data`.
#
# > **The rule.** Writing through `.data` hides the error instead of curing it, and if the tensor was saved, the gradient is wrong.
#
# ## Build your own engine: counting the writes
#
# Your engine saves tensors since lesson 06. If somebody writes into one of them, it computes with the new numbers and says nothing, as `.data` does. In `my_engine.py`, which lies beside this notebook, you now make it notice. There are four pieces, about 25 lines in all (20 minutes).
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
# When the checkpoint says *correct*, your engine raises the most famous error of PyTorch, at the right moment and with the right numbers, and the pictures of your own graphs can turn orange. One thing is not covered yet. What `reshape`, `T` and `expand` give may look at the memory of their operand too, and still has a counter of its own: lesson 08 mends that.
#
# ## Exercises: raise, repair, cause
#
# **07.2 · Which happens?** (8 minutes). In every program `x` is `torch.tensor([1.0, 2.0], requires_grad=True)`, and at the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the gradient of the formula that computed `y`).
#
# | | program | | program |
# | --- | --- | --- | --- |
# | A | `y = x.exp(); y.add_(1)` | E | `h = x * 1; y = h * h; h.data.mul_(10)` |
# | B | `h = x * 1; y = h.exp(); h.add_(1)` | F | `y = x * x; x.detach().add_(1)` |
# | C | `y = x.sigmoid(); y.add_(1); y.sub_(1)` | G | `y = x * 2; x.data[0] = 999.0` |
# | D | `y = x * 2; x.add_(1)` | H | `h = x * 1; h.add_(1); y = h * h` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("07.2", happens)

# %% [markdown]
# **07.5 · Repair a training step** (12 minutes). This step has a dropout mask (zeros and twos) and weight decay (`W2` shrinks a little in each step), both written by hand, and it raises. Repair it. All `.grad` are None when it is called. Afterwards `W2` should be 0.99 · W2 − 0.1 · its gradient, and every other parameter should be itself − 0.1 · its gradient. Each gradient is that of the returned loss, taken at the parameters with which the loss was computed.

# %%
def train_step(torch, x, t, W1, b1, W2, b2, mask):
    h = torch.relu(x @ W1 + b1)
    h *= mask
    loss = ((h @ W2 + b2 - t) ** 2).mean()
    with torch.no_grad():
        W2 *= 0.99
    loss.backward()
    with torch.no_grad():
        for p in (W1, b1, W2, b2):
            p -= 0.1 * p.grad
    return loss.item()


L.check("07.5", train_step)

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
# **When you meet the error at work.** Read the shape and the words after "output 0 of": they tell you which tensor it is. Search upwards from `backward()` for a line that writes into it, also by `inplace=True` or `out=`. Anomaly mode or `explain(loss)` can do a part of the searching. Then move the write behind `backward()`, or replace it by an operation that makes a new tensor.
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/07_version_counters/claims.py`).
#
# *What is counted*
#
# - **C07.1** Every in-place operation that writes to a tensor adds one to its version, even under no_grad and even if no value changes.
# - **C07.2** `x[0] += 1` adds two: one for the write to the view, one for assigning the view back.
# - **C07.3** A tensor, its views and its detach() share one version counter; `.data` shares the memory but not the counter, and clone() shares neither.
# - **C07.4** requires_grad_(), assigning `.grad` and writes through `.data` leave the version as it is.
# - **C07.14** A module with `inplace=True` and an operation with `out=` write in place too: both count, and both make a saved tensor stale.
#
# *When it is checked*
#
# - **C07.5** A node notes the version of a tensor when it saves it, and reading the slot raises if the version has changed since, even if the values have not.
# - **C07.7** An in-place operation on a leaf that requires grad raises at once and changes nothing; under no_grad it is allowed, and counts.
# - **C07.13** Anomaly mode, switched on before the forward pass, names the line that saved the tensor.
# - **C07.16** In anomaly mode PyTorch first warns, with the traceback of the forward call that saved, and then raises.
#
# *What may be overwritten before backward*
#
# - **C07.6** After sqrt you may not overwrite the result, after sin you may not overwrite the input, and after an addition you may overwrite both.
# - **C07.8** `y = x * 2; y.add_(1)` does not break backward: the product saved the 2, not y.
# - **C07.9** In-place edits of a result are recorded like other operations: `y = x * x; y.mul_(1.5); y.add_(x)` has the gradient 3x + 1.
# - **C07.11** In a network with one hidden layer and plain input data, only the second weight matrix may not be updated between forward and backward; the first one and both biases may.
# - **C07.15** A ReLU with `inplace=True` may follow a linear layer, which did not save its result; but every other name for that result sees the overwritten numbers, without any error.
#
# *What does not help*
#
# - **C07.10** A write through `.data` is not counted: the gradient stays right if no node saved the tensor, and it is wrong without any error if one did.
# - **C07.12** After an in-place update of a saved weight, retain_graph=True does not make a second backward possible.
#
# **Left out, compared with PyTorch.** With saved-tensor hooks the check is skipped (lesson 14). Tensors that are made under `inference_mode` have no counter, and writes through a NumPy array on the same memory are not counted (lesson 09). Some fused kernels, which compute several operations at once, save more than their formula needs.
#
# **Read on in our engine:** `SavedVariable` in `course_lib/engine/saved.py`, and the counter itself in `course_lib/engine/version.py`.
#
# **Next:** until now, a write changed a tensor that a node had saved. In [lesson 08](08_views.ipynb) you write to a part, and the history of the whole changes with it.
