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
# **A node keeps a tensor for later, by reference. You write into that tensor before backward reads it. Sometimes nothing happens, sometimes you get "modified by an inplace operation", far from the line that did it. What decides?**
#
# It is one number per memory, and one comparison. At the end you can predict which edits are safe, read the error word by word, and repair a training step without guessing. You can claim, with a cell that proves it:
#
# - **C07.1** Every in-place operation that writes to a tensor adds one to its version, even under no_grad and even if no value changes.
# - **C07.2** `x[0] += 1` adds two: one for the write to the view, one for assigning the view back.
# - **C07.3** A tensor, its views and its detach() share one version counter; `.data` shares the memory but not the counter, and clone() shares neither.
# - **C07.4** requires_grad_(), assigning `.grad` and writes through `.data` leave the version as it is.
# - **C07.5** A node notes the version when it saves a tensor, and reading the slot raises when the version is no longer that number, whatever the values are.
# - **C07.6** After sqrt the result may not be overwritten, after sin the input may not, after an addition both may.
# - **C07.7** An in-place operation on a leaf that requires grad raises at once and changes nothing; under no_grad it is allowed, and counts.
# - **C07.8** `y = x * 2; y.add_(1)` does not break backward: the product kept the 2, not y.
# - **C07.9** In-place edits of a result are recorded like other operations: `y = x * x; y.mul_(1.5); y.add_(x)` has the gradient 3x + 1.
# - **C07.10** Writing to `x.data` after `y = x * 2` leaves the gradient right; after `y = x * x` it makes it wrong without any error.
# - **C07.11** In a network with one hidden layer and plain input, of the four parameters only the second weight may not be stepped before backward.
# - **C07.12** After an in-place update of a saved weight, retain_graph=True does not make a second backward possible.
# - **C07.13** Anomaly mode, switched on before the forward pass, names the line that saved the tensor.
# - **C07.14** A module with `inplace=True` and an operation with `out=` write in place too: both count, and both make a saved tensor stale.
#
# **Minutes** 60, and 10 more for exercise 07.4, which goes beyond · **Needs** lessons 00, 05, 06 · **Opens** `course_lib/engine/saved.py` · **Out of scope** what a write to a view does to the graph (lesson 08), the ways out of the graph compared (lesson 09), optimizers (lesson 10)

# %%
import course_lib as torch
from course_lib.teach import compare, draw, expect_error, explain, lesson, show, watch

L = lesson(7)

# %% [markdown]
# ## Question
#
# ```python
# a = x.sqrt(); a += 1       # each with x = torch.tensor([4.0, 9.0], requires_grad=True)
# b = x * 2;    b += 1
# c = x.sqrt(); c = c + 1
# d = x + 3;    d *= 2
# ```
#
# Four results, each edited once. Then `sum().backward()` is called on each.
#
# ## Predict
#
# First: which of the four backward calls raise? Answer with a list of letters. Lesson 06 has told you all you need: which node kept what?
#
# Second: the error will name two versions. Take `h = x * 2; h.add_(1); y = h.sin(); h.add_(1); h.mul_(3)`. A fresh tensor is at version 0, each in-place operation adds one, and `sin` saves its input. Fill in "is at version …; expected version … instead", as a pair such as `(5, 4)`.

# %%
L.predict("07.p1", None)

# %%
L.predict("07.p2", None)

# %% [markdown]
# ## Run
#
# `a` and `b` look alike: an operation, then `+= 1`. Read the message to its end.

# %% tags=["C07.6", "C07.8", "P1"]
x = torch.tensor([4.0, 9.0], requires_grad=True)
b = x * 2
b += 1
b.sum().backward()
print("b is fine:", x.grad)

a = x.sqrt()
before = draw(a)
a += 1
with expect_error(RuntimeError, "modified by an inplace operation"):
    a.sum().backward()

# %% [markdown]
# ## See
#
# The slope of a root is 1 / (2 · result), so `sqrt` kept its result, and `+= 1` wrote over exactly that memory. The graph of `a` before the edit, and after it:

# %%
compare(before, draw(a))

# %% [markdown]
# **Notice:**
#
# - The edit itself was recorded: `AddBackward0` is new, and `a` hangs on it now. Addition needs no old value, so this part is in order.
# - The saved tensor is STALE: saved at version 0, its memory is now at version 1. Only what `sqrt` kept of its own result is spoilt.
# - No arrow was lost and nothing was freed. One number went from 0 to 1.
#
# Now the message is plain text:
#
# | words | meaning |
# | --- | --- |
# | `[torch.FloatTensor [2]]` | dtype and shape of the spoilt tensor: look for a float32 with 2 elements |
# | `output 0 of Sqrt` | what it is: the result that `sqrt` saved. For a saved *input* it is the last recorded operation that made or changed it; for a leaf these words are missing (you will meet both) |
# | `is at version 1` | how often its memory has been written to by now |
# | `expected version 0` | how often it had been written to when it was saved |
#
# It appears at `backward`, though the mistake is an earlier line: search upwards for the in-place edit of a tensor of that shape, or of a tensor on the same memory.
#
# ## Explain
#
# **Every in-place operation counts one.** An in-place operation has a name ending in `_`, is written `+=`, `*=`, `x[i] = …`, or is asked for by `inplace=True` or `out=`. It adds one, also under `no_grad` and also if it adds zero: no values are compared, that would cost a copy. `x[0] += 1` counts two, because Python turns it into two writes: into the view `x[0]`, and then of that view back into `x`.

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
# **The counter belongs to the memory.** A view and a `detach()` look at the same memory and share its counter, so a write through any of them is seen by all. `clone()` has memory of its own. `.data` is the odd one: same memory, a counter of its own. A write through it changes `t` and leaves no trace. `requires_grad_()`, `detach_()` and assigning `.grad` write to no element and do not count.

# %% tags=["C07.3", "C07.4"]
t = torch.zeros(3)
others = {"view": t[1:], "detach": t.detach(), ".data": t.data, "clone": t.clone()}
t.add_(1)
print({name: other._version for name, other in others.items()})
t.data.mul_(5)
t.requires_grad_()
t.grad = torch.ones(3)
print("version", t._version, "though the values are now", t.tolist())

# %% [markdown]
# **Noted when saved, compared when read.** That is the whole mechanism, and `watch` writes it down. A write *before* the tensor is saved is harmless: the node notes the version that it finds. A write that is undone again is not harmless: same values, other number. The check is made whenever the slot is read: by backward, or by you (`y.grad_fn._saved_self` would raise here as well). Until then nothing happens. That is why the error comes so late.

# %% tags=["C07.5", "P2"]
with watch() as log:
    h = x * 1
    h.add_(1)  # before: harmless
    y = h.sin()  # saves h, at version 1
    h.add_(1).sub_(1)  # undone: the values are what they were
    with expect_error(RuntimeError, "is at version 3; expected version 1"):
        y.sum().backward()
log

# %% [markdown]
# **So what was saved decides what may be overwritten.** `sqrt` keeps its result, `sin` its input, addition neither. Overwrite the input of all three, and only `sin` minds; overwrite the results, and only `sqrt` does, as you saw in Run. For any other operation, look at its slots as in lesson 06. And if you would rather not think about it, write `y = y + 1`: a new tensor has new memory and endangers nobody.

# %% tags=["C07.6", "P1"]
h = x * 1
r, s, p = h.sqrt(), h.sin(), h + 1
h.mul_(2)  # the input of all three
(r + p).sum().backward()
with expect_error(RuntimeError, "output 0 of Mul, is at version 1; expected version 0"):
    s.sum().backward()
(x.sin().mul_(2) + (x + 1).mul_(2)).sum().backward()  # results of sin and of an addition
print("everything else ran")

# %% [markdown]
# ## Question
#
# ```python
# h = torch.relu(x @ W1 + b1)
# loss = ((h @ W2 + b2 - t) ** 2).mean()
# with torch.no_grad():
#     W2 *= 0.9  # weight decay, one line too early
# loss.backward()
# ```
#
# This is how engineers meet the error: a network, a step, and an update between forward and backward. Decay (weights shrink a little in each step), clipping of weights, a second optimizer: all of them write into parameters.
#
# ## Predict
#
# Suppose it were any one of the four parameters. `x` and `t` are plain data. Which of `W1`, `b1`, `W2`, `b2` may **not** be written to before backward? Answer with a list of names.

# %%
L.predict("07.p3", None)

# %% [markdown]
# ## Run
#
# A network with two inputs, two hidden units and three samples, first whole. `slopes` gives the four gradients. Each time they are also taken before the write, to compare:

# %%
x, t = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([[1.0], [0.0], [2.0]])
W1 = torch.tensor([[0.5, -0.2], [0.1, 0.4]], requires_grad=True)
b1 = torch.tensor([0.1, 0.1], requires_grad=True)
W2 = torch.tensor([[1.0], [-0.5]], requires_grad=True)
b2 = torch.tensor([0.1], requires_grad=True)


def forward():
    h = torch.relu(x @ W1 + b1)
    return ((h @ W2 + b2 - t) ** 2).mean()


def slopes(loss):
    return torch.autograd.grad(loss, (W1, b1, W2, b2))


# %% tags=["C07.11"]
for name, parameter in [("W1", W1), ("b1", b1), ("W2", W2), ("b2", b2)]:
    loss, right = forward(), slopes(forward())
    with torch.no_grad():
        parameter.mul_(0.9)
    try:
        same = [torch.equal(found, wanted) for found, wanted in zip(slopes(loss), right, strict=True)]
        print(name, "written to before backward: it runs, and the gradients are the same:", all(same))
    except RuntimeError as error:
        print(name, "written to before backward:", str(error).split(": ")[1].removesuffix(". Hint"))

# %% [markdown]
# ## See
#
# The same once more, line by line so that the activations have names, and stopped just before backward:

# %%
for parameter in (W1, b1, W2, b2):
    parameter.grad = None
h = torch.relu(x @ W1 + b1)
error = h @ W2 + b2 - t
loss = (error**2).mean()
with torch.no_grad():
    W2 *= 0.9
draw(loss)

# %% [markdown]
# **Notice:**
#
# - One STALE tensor, `W2`, kept by the second product: the gradient of `h` is made of it. A leaf is no operation's output, so the message above could not say "output 0 of …"; the shape, `[2, 1]`, is the only trace.
# - `W1` is kept by nobody, because `x` is plain and wants no gradient. If `x` came from another layer, `W1` would be kept too.
# - Biases are added, and addition keeps nothing.
# - Where it runs, the gradients are those that were there before the write: they belong to the loss that was computed, at the old parameters.
# - `relu` and the second product both keep `h`: editing `h` in place would make two notes stale.
#
# ## Explain
#
# **The repair is an order.** Read before you write: all that was saved is read by `backward`, so whatever writes into parameters comes after it. The same holds for activations: `h *= mask` writes into what `relu` saved, an ordinary product makes a new tensor. Three whole steps follow. The parameters' versions go up, and nobody minds, because the next `forward` saves at the new versions.

# %%
for step in range(3):
    loss = forward()
    loss.backward()  # first everything saved is read ...
    with torch.no_grad():
        for parameter in (W1, b1, W2, b2):
            parameter -= 0.1 * parameter.grad  # ... then parameters are written
            parameter.grad = None
    print(f"step {step}: loss {loss.item():.4f}, W2 at version {W2._version}")

# %% [markdown]
# **Now open our engine.** The whole check is one comparison of two integers. `tensor.version` is the counter, shared by all who look at that memory; it is `None` until somebody shares or writes, which is read as 0. PyTorch has the same few lines in `saved_variable.cpp`. And *anomaly mode* remembers lines: our message then names the one that saved and the one that wrote. PyTorch warns of the first only.

# %% tags=["engine", "C07.13"]
show("engine.saved.SavedVariable.read")
with torch.autograd.set_detect_anomaly(True):
    h = torch.relu(x @ W1 + b1)
    h *= 2
    with expect_error(RuntimeError, "Anomaly mode knows more"):
        h.sum().backward()

# %% [markdown]
# ## Break it
#
# **A leaf is guarded at once.** `W2` requires grad and has no history that could record the edit. Outside `no_grad` the write itself raises, with another message, and nothing has changed. Training code therefore updates parameters under `no_grad`, and there the write counts.
#
# **In-place operations without a `_`.** At work the culprit is often a module: `nn.ReLU(inplace=True)` and `nn.Dropout(0.5, inplace=True)` write into what they are given, and so do their functions with `inplace=True`. `out=` writes into the tensor that it names. (With an operand that requires grad, `out=` is refused while operations are recorded.) All of them count like `add_`. Below, a dropout writes into what `sigmoid` saved, and `out=` into a factor that a product saved.
#
# **The wrong cure, and the right one.** Two passes over one graph raise "a second time" (lesson 06). `retain_graph=True` makes that message go away, and after a step the next one appears: the slot still holds `W2`, and `W2` has moved on. A graph that saved a weight cannot be used again when that weight was updated in place. Writing out of place is no cure here, for `W2 = W2 - …` would make a new tensor, and the optimizer would still hold the old one. The repair is in the last line but one: after the update, compute the loss again.
#
# When you meet the error at work, `explain(loss)` says what the message says, marks the culprit, and sorts the cures. It works on real PyTorch too.

# %% tags=["C07.7", "P3"]
before, version = W2.tolist(), W2._version
with expect_error(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
    W2.mul_(0.9)
assert W2.tolist() == before and W2._version == version  # nothing happened
with torch.no_grad():
    W2.mul_(0.9)
print("under no_grad the version went up by", W2._version - version)

# %% tags=["C07.14"]
h = (x @ W1).sigmoid()
torch.nn.Dropout(0.5, inplace=True)(h)
with expect_error(RuntimeError, "output 0 of Sigmoid, is at version 1; expected version 0"):
    h.sum().backward()
factor = torch.ones(2)
h = (x @ W1) * factor
torch.add(factor, 1, out=factor)
with expect_error(RuntimeError, "[torch.FloatTensor [2]] is at version 1; expected version 0"):
    h.sum().backward()
with expect_error(RuntimeError, "functions with out=... arguments don't support automatic differentiation"):
    torch.add(h, 1, out=h)

# %% tags=["C07.12", "P8"]
loss = forward()
loss.backward(retain_graph=True)
with torch.no_grad():
    W2 -= 0.1 * W2.grad
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss.backward()
forward().backward()  # a new graph, made of the new weights: fine
explain(loss)

# %% [markdown]
# **Three mistakes found in print, and what a run says.**
#
# 1. `y = x * 2; y.add_(1)` is said to break backward. You ran it at the start: it does not.
# 2. An example called "in-place safe" was given the gradient `[2, 4, 6, 8]`, which is 2x. Below is a program of that kind, written by us. Its edits are recorded, `y` ends as 1.5 x² + x, and so the gradient is 3x + 1.
# 3. Writing to `x.data` after `y = x * 2` is said to corrupt the gradient. The product kept the 2, so it does not. After `x * x` it does, and nothing says so: 1998 where 2 is right. An error would have been kinder.

# %% tags=["C07.9", "C07.10", "P1"]
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * x  # keeps x
y.mul_(1.5)  # keeps 1.5
y.add_(x)  # keeps nothing
y.sum().backward()
print(x.grad)  # 3x + 1
for name, op in [("x * 2", lambda x: x * 2), ("x * x", lambda x: x * x)]:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = op(x)
    x.data[0] = 999.0
    y.sum().backward()
    print(name, "gives", x.grad.tolist())

# %% [markdown]
# ## Exercises
#
# **07.1 · Five counters** (5 minutes). At which version is each of the five names after the last line?
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
# **07.2 · Which happens?** (8 minutes). In every program `x = torch.tensor([1.0, 2.0], requires_grad=True)`, and at the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the gradient of the formula that computed `y`).
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
# **07.3 · Repair with one call** (4 minutes). Probabilities are centred in place, and backward raises. Change one place so that `centred(torch, x).backward()` runs. The function should return the same number as now, and `x.grad` should be the gradient of that number.

# %%
def centred(torch, x):
    p = x.sigmoid()
    q = p
    q.sub_(0.5)
    return (q * q).sum()


L.check("07.3", centred)

# %% [markdown]
# **07.4 · Cause this error** (10 minutes, beyond the hour; 07.5 does not need it). Return a tensor `y` such that `y.sum().backward()`, which the check calls, raises "… which is output 0 of Neg, is at version 4; expected version 2 instead". Your function itself must run through. Change the line that is there, and add others; `neg_` is the in-place minus.

# %%
def cause(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    return y


L.check("07.4", cause)

# %% [markdown]
# **07.5 · Repair a training step** (12 minutes). A dropout mask (zeros and twos) and weight decay, by hand, and it raises. Repair it. (All `.grad` are None when it is called.) Afterwards `W2` should be 0.99 · W2 − 0.1 · its gradient, every other parameter itself − 0.1 · its gradient; each gradient is that of the returned loss, taken at the parameters with which it was computed.

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
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C07.1 every in-place operation counts | 1 for `add_(0)`, 2 under `no_grad` | `test_c07_1` |
# | C07.2 `x[0] += 1` counts two | from 2 to 4 | `test_c07_2` |
# | C07.3 one counter per memory | view 1, detach 1, .data 0, clone 0 | `test_c07_3` |
# | C07.4 what does not count | other values, same version | `test_c07_4` |
# | C07.5 noted, then compared | undone, and still refused | `test_c07_5` |
# | C07.6 what was saved decides | `sqrt` in Run, `sin` later | `test_c07_6` |
# | C07.7 leaves are guarded at once | the write raises; under `no_grad` it counts | `test_c07_7` |
# | C07.8 `x * 2`, then `add_` | b is fine | `test_c07_8` |
# | C07.9 edits are recorded | 4, 7, 10, 13 | `test_c07_9` |
# | C07.10 `.data` is silent | 2 and 1998 | `test_c07_10` |
# | C07.11 which parameter must hold still | only W2 raises; with the others the gradients are the same | `test_c07_11` |
# | C07.12 retaining is no cure | the next error, explained | `test_c07_12` |
# | C07.13 anomaly mode names lines | the line of `relu`, and ours also that of `h *= 2` | `test_c07_13` |
# | C07.14 `inplace=True` and `out=` | two stale tensors, and `out=` refused | `test_c07_14` |
#
# The tests are in `tests/claims/test_claims_07.py`. They run on our engine and on real PyTorch.
#
# **What PyTorch does differently.** In anomaly mode it warns with the traceback of the operation that *saved* the tensor, as our engine does; which line overwrote it you must find yourself. With saved-tensor hooks the check is skipped (lesson 14). Tensors made under `inference_mode` have no counter, and writes through a NumPy array on the same memory are not counted (lesson 09).
#
# **Next:** lesson 08 looks at writes through a view, which change the graph of the base.
