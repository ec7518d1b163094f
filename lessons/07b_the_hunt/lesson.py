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
# # 07b · The hunt: which line of a model wrote into a saved tensor?
#
# **A colleague sends you a script of 43 lines. It stops in the first step, with the version error. "I have two modules with `inplace=True`," the colleague writes. "Which of them is it?" You have the script and the message. The traceback is of no use: it ends in `loss.backward()`.**
#
# You know from lesson 07 what the message says. Here you use it on a whole model: first with nothing but the message, then with a command that names the line. At the end you measure what the in-place lines were good for.
#
# After this lesson you can
#
# - find the line that wrote, from the message alone;
# - have `python -m backscope` or anomaly mode find it, and say what each of them tells you;
# - look at `inplace=True` and `out=`, and say whether they are safe;
# - say how much memory an in-place operation saves.
#
# **Minutes** 55 · **Needs** lessons 06 and 07. No later lesson needs this part. · **Out of scope** writes to views (lesson 08), hooks that change what is saved (lesson 14)
#
# [← 07 Version counters](07_version_counters.ipynb) · [all lessons](home.ipynb) · [08 Views →](08_views.ipynb)

# %%
import course_lib as torch
from backscope import draw, ledger
from coursekit import lesson

L = lesson("07b")

import contextlib
import warnings

# %%
L.stage.listing()
L.run(L.stage.train, torch)

# %% [markdown]
# The first output is the script: a residual network with three blocks, in which a gate weighs what each block adds. (`L.stage` holds the script, and code that only runs it.) The second output is the message, the same on PyTorch and on our engine.
#
# Five lines write in place: 10 and 11, where the two modules are made, and 22, 23 and 30. A sixth, `optimizer.step()`, comes only after backward. Before you choose, look at the two suspects.
#
# ## Are `inplace=True` and `out=` to blame?
#
# `nn.ReLU(inplace=True)` is found in many published vision models, and so is `nn.Dropout(0.5, inplace=True)`. The argument asks the module to write its result into the tensor that it is given. Here are four small models, each with such a module. (In training, `Dropout(0.5)` sets each number to 0 with probability one half, and doubles the others.)

# %%
nn = torch.nn
models = {
    "A": nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True)),
    "B": nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Dropout(0.5, inplace=True)),
    "C": nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5, inplace=True), nn.Linear(2, 1)),
    "D": nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.5, inplace=True)),
}


def one_pass(letter):
    models[letter](torch.ones(3, 2)).sum().backward()
    print(letter, "- done")

# %% [markdown]
# **Predict.** For which of the four does backward raise? Answer with a list of letters.

# %%
L.predict("07b.p1", None)

# %% tags=["C07b.1", "C07b.2", "P19"]
for letter in models:
    L.run(one_pass, letter, after="07b.p1")

# %% [markdown] tags=["tells"]
# The gradients of a linear layer are made of its input and its weight. So it has not saved its result, and in A and C a module may write over it. (In A the ReLU saves its own result, which is what it has just written.) A sigmoid saves its result, because its slope is made of it, and so does a ReLU. In B and D the dropout wrote over such a result.
#
# > **The rule.** `inplace=True` is safe where a name ending in `_` would be safe: look at what the module *before* it has saved.

# %% [markdown]
# The second kind of hidden write is the argument `out=`, which names a tensor for the result. It is stricter: if one of the tensors requires a gradient, it is refused at once. On plain tensors it counts like any write.

# %% tags=["C07b.1"]
def with_out(x):
    factor = torch.ones(2)
    y = x * factor
    torch.add(factor, 1, out=factor)
    y.sum().backward()


x = torch.tensor([4.0, 9.0], requires_grad=True)
L.run(with_out, x)
L.run(lambda: torch.add(x * 1, 1, out=x * 1))

# %% [markdown]
# One danger is *not* guarded by any counter. If a second name stands for the tensor that a module overwrites, then this name sees the new numbers, in the forward pass already. Here a *skip connection* is meant to add the numbers from before the ReLU:

# %% tags=["C07b.2"]
h = x - 6.0  # -2 and 3
skip = h
y = nn.ReLU(inplace=True)(h) + skip
print("in place:    ", y.tolist(), "with the gradient", torch.autograd.grad(y.sum(), x)[0])
h = x - 6.0
y = nn.ReLU()(h) + h
print("as was meant:", y.tolist(), "with the gradient", torch.autograd.grad(y.sum(), x)[0])

# %% [markdown]
# No node saved a wrong number, so there is no error. The first line computed twice relu(h), and its gradient is right for that. It is only that you meant something else.
#
# ## Which line is it?
#
# Back to the script. These are the words of the message that matter: "[torch.FloatTensor [8, 16]], which is output 0 of Add, is at version 3; expected version 2".
#
# 1. Which of the in-place lines write into a tensor of the shape [8, 16]? A batch has 8 samples, and a block is 16 wide.
# 2. What does the word `Add` tell you? (Lesson 07: if an *input* was saved, the message names the last recorded operation that changed it.)
# 3. Does it fit that the tensor was saved at version 2?
#
# **Predict.** In which line of the script is the write? Answer with its number. Take your time; this is the hunt.

# %%
L.predict("07b.p2", None)

# %% [markdown]
# Each of the five lines is now written out of place, one at a time, and the script runs again.

# %% tags=["C07b.3"]
L.run(L.stage.tried, torch, after="07b.p2")

# %% [markdown] tags=["tells"]
# It is neither of the two modules. It is the residual, line 23.
#
# 1. All five lines write into tensors of the shape [8, 16], so the shape alone leaves them all.
# 2. `x += h` is the only recorded addition in place. What line 14 and line 18 saved is `x`, the input of their linear layers.
# 3. Each block adds into the memory that the block before it returned. So all three blocks share one memory, the result of `stem`. The first block takes it to version 1, the second to 2. The third saves it at 2, and then takes it to 3.
#
# The two modules write into results of linear layers, which did not save them. `h *= self.weigh(x)` writes into what the dropout gave, and the dropout has not saved it. `pixels /= 255` comes before anything saves the pixels.
#
# **The same with the command.** In a terminal, `python -m backscope train.py` runs the script on PyTorch and adds this to the error:
#
# ```text
# Where
#   saved   train.py:18 in Block.weigh: AddmmBackward0 saved `mat1` here, at version 2
#             return torch.sigmoid(self.gate(x))
#             called from train.py:22 in Block.forward: h *= self.weigh(x)
#             called from train.py:40: loss = ((head(blocks(stem(pixels))) - target) ** 2).mean()
#   changed train.py:23 in Block.forward: add_ wrote to it: version 2 → 3
#             x += h
#   failed  train.py:42: the error was raised here
#             loss.backward()
#
# What cures it
#   - Make a new tensor: `+` leaves what was saved alone, `+=` writes to it.
#       --- train.py
#       +++ train.py
#       @@ -22,3 +22,3 @@
#                h *= self.weigh(x)
#       -        x += h
#       +        x = x + h
#                return x
# ```
#
# **Notice:** it names both lines, the one that saved and the one that wrote, and says which edit cures it. With `--try` it also runs the edited script in memory, and compares the gradients. In a notebook, `explain()` does this for the last error.

# %% [markdown]
# > **The rule.** The shape and the word after "output 0 of" choose among the lines that write in place. The expected version says how many writes came before the save.
#
# ## What does anomaly mode tell you?
#
# The message itself proposes *anomaly mode*. While it is on, every operation remembers from which line of your program it was called. With `torch.autograd.set_detect_anomaly(True)` at the top of the script, PyTorch prints a warning above the error. These are its lines that belong to the script:
#
# ```text
# UserWarning: Error detected in AddmmBackward0. Traceback of forward call that caused the error:
#   File "train.py", line 41, in <module>
#     loss = ((head(blocks(stem(pixels))) - target) ** 2).mean()
#   File "train.py", line 23, in forward
#     h *= self.weigh(x)
#   File "train.py", line 19, in weigh
#     return torch.sigmoid(self.gate(x))
# ```
#
# (The line at the top moves all numbers by one.) It is the traceback of a *forward* call. Its last line called the operation whose node failed: this is where the tensor was *saved*. Which line overwrote it is not said. Read on from there, in the order in which the program runs, until you find a write.
#
# To remember a traceback for every operation takes time. So how long must the mode be on?
#
# - A: around forward and backward;
# - B: around forward only;
# - C: around backward only, once the error has been seen.

# %%
w = torch.tensor([2.0, 1.0, 0.5], requires_grad=True)


def remember(forward_on, backward_on):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.set_detect_anomaly(forward_on):
            h = torch.tanh(w * 1)
            h *= 0.5
        with torch.autograd.set_detect_anomaly(backward_on), contextlib.suppress(RuntimeError):
            h.sum().backward()
    words = "".join(str(each.message) for each in caught)
    print("warnings:", len(caught), "| names the line that saved:", "h = torch.tanh" in words)

# %% [markdown]
# **Predict.** Which of the three name the line that saved? Answer with a list of letters.

# %%
L.predict("07b.p3", None)

# %% tags=["C07b.4", "C07b.5"]
for way in ((True, True), (True, False), (False, True)):
    L.run(remember, *way, after="07b.p3")

# %% [markdown] tags=["tells"]
# Only A names it. In B the lines were remembered, but the mode was off when the node failed. In C the mode was off when the line ran, and the warning can only say so.
#
# > **The rule.** Switch anomaly mode on before the forward pass, and leave it on until backward has raised. It names the line that saved.

# %% [markdown]
# Anomaly mode also stops at a gradient that is NaN ("not a number"). If you only look for an in-place write, pass `check_nan=False`.
#
# ## Does `retain_graph=True` help?
#
# People try many things before they look for the line. One is proposed by PyTorch itself. You want to run backward twice on one loss, with an update in between, and the message of lesson 06 says `retain_graph=True`. Here are three updates. (`x` and `t` are plain data. In lesson 07 only `W2` was saved.)

# %%
x, t = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0], [0.0]])


def a(W1, b1, W2, b2):
    b2 -= 0.1 * b2.grad


def b(W1, b1, W2, b2):
    W2 = W2 - 0.1 * W2.grad


def c(W1, b1, W2, b2):
    W2 -= 0.1 * W2.grad


def two_passes(update):
    W1, b1, W2, b2 = (torch.ones(*shape, requires_grad=True) for shape in ((2, 2), (2,), (2, 1), (1,)))
    loss = ((torch.relu(x @ W1 + b1) @ W2 + b2 - t) ** 2).mean()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        update(W1, b1, W2, b2)
    loss.backward()
    print("the second pass is done")

# %% [markdown]
# **Predict.** After which of A, B and C does the second pass raise? Answer with a list of letters; it may be empty.

# %%
L.predict("07b.p4", None)

# %% tags=["C07b.6", "P8"]
for update in (a, b, c):
    L.run(two_passes, update, after="07b.p4")

# %% [markdown] tags=["tells"]
# In C the flag did what it says: the graph still holds `W2`. But `W2` holds other numbers by now, and the loss was not computed with these. In A nothing had saved the bias. In B the old tensor was not written to: the name `W2` has moved to a new one. (This is seldom a way out. An optimizer holds the old tensor, and goes on updating that.)
#
# > **The rule.** After a weight was updated, compute the loss again. `retain_graph=True` keeps the tensors, and cannot keep their old numbers.

# %% [markdown]
# ### Exercise: repair a training step
#
# **07b.1 · Repair a training step** (12 minutes). This step has a dropout mask (zeros and twos) and weight decay (`W2` shrinks a little in each step), both written by hand, and it raises. Repair it. All `.grad` are None when it is called. Afterwards `W2` should be 0.99 · W2 − 0.1 · its gradient, and every other parameter should be itself − 0.1 · its gradient. Each gradient is that of the returned loss, taken at the parameters with which the loss was computed.


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


L.check("07b.1", train_step)

# %% [markdown]
# ## What does an in-place operation keep?
#
# In-place lines are written to save memory. How much do they save? `h` has 1000 numbers, which take 4000 bytes. `kept` multiplies it by a gate, and asks the `ledger` of lesson 06 how many bytes the product's node has saved, besides the gate itself.

# %%
def kept(letter, in_place, learned):
    h, gate = torch.ones(1000, requires_grad=True) * 1, torch.ones(1000, requires_grad=learned)
    with ledger(leaves=False) as held:
        if in_place:
            h *= gate
        else:
            h = h * gate
    print(f"{letter}: {held.now} bytes")

# %% [markdown]
# | | the line | the gate |
# | --- | --- | --- |
# | A | `h = h * gate` | plain numbers |
# | B | `h *= gate` | plain numbers |
# | C | `h = h * gate` | a learned parameter |
# | D | `h *= gate` | a learned parameter |
#
# **Predict.** How many bytes are printed for each? Answer with a list of four numbers. (The gradient of a factor is made of the other factor.)

# %%
L.predict("07b.p5", None)

# %% tags=["C07b.7"]
for letter in "ABCD":
    L.run(kept, letter, letter in "BD", letter in "CD", after="07b.p5")

# %%
def gated():
    h, gate = torch.tensor([1.0, 2.0], requires_grad=True) * 1, torch.tensor([0.0, 2.0], requires_grad=True)
    h *= gate
    return draw(h)


L.run(gated, after="07b.p5")

# %% [markdown] tags=["tells"]
# **Notice:** one drawer holds the old numbers of `h`. But that tensor is not `h`. It is a hidden clone: before the product writes, it copies what it will need.
#
# - **A and B**, a plain gate: nothing of `h` is kept. In A the old `h` is let go as soon as the name moves, so the in-place line saves 4000 bytes for a moment only, while both products exist.
# - **C and D**, a learned gate: its gradient is made of the old `h`, so the old `h` must be kept, in place or not. D copies it. It saves nothing, and costs a copy.
#
# > **The rule.** What backward needs must be kept. An in-place operation saves a lasting tensor only if backward does not need the old one, and if you would have held on to it.

# %% [markdown]
# The clone is made of the tensor that is written to. There is no clone of the *other* factor. What if that is the same tensor?

# %% tags=["C07b.8"]
def squared():
    h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    h.mul_(h)
    h.sum().backward()


L.run(squared)

# %% [markdown]
# The product saved a clone of `h` as its first factor, and `h` itself as its second. Then it wrote into `h`. So `h.mul_(h)` raises against itself, with no other line to blame. `h = h * h` is the cure.
#
# Three names that you may meet in the documentation, in a line each:
#
# - `torch.autograd.graph.allow_mutation_on_saved_tensors()` is a block in which a tensor is copied just before it is overwritten, if a node has saved it. The program of the story runs in it.
# - `torch.autograd.graph.increment_version(t)` counts a write that autograd cannot see, for example one by your own C++ code.
# - `ctx.mark_dirty(t)` says in the forward of a custom Function (lesson 11) that it has written into its input.

# %% tags=["C07b.9"]
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    h = torch.tanh(w)
    h *= torch.tensor([0.0, 2.0, 2.0])
    h.sum().backward()
print("it runs, and the gradient is", w.grad)
torch.autograd.graph.increment_version(h)
print("two writes are counted:", h._version)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C07b.1** A module with `inplace=True` writes in place, and so does `out=`: both count, and both make a saved tensor stale; `out=` refuses tensors that require grad.
# - **C07b.2** A ReLU with `inplace=True` may follow a linear layer, which did not save its result; but every other name for that result sees the overwritten numbers, without any error.
# - **C07b.3** In the script of the hunt only `x += h` makes backward raise, and `python -m backscope` names this line and the line that saved.
# - **C07b.4** Anomaly mode names the line that saved the tensor if it is on in the forward pass and still on in backward.
# - **C07b.5** In anomaly mode PyTorch first warns, with the traceback of the forward call that saved, and then raises.
# - **C07b.6** After an in-place update of a saved weight, retain_graph=True does not make a second backward possible.
# - **C07b.7** `h *= gate` saves a clone of the old h if the gate requires grad, and nothing of h if it does not.
# - **C07b.8** `h.mul_(h)` and `h.div_(h)` make the tensor stale that they have saved themselves.
# - **C07b.9** In allow_mutation_on_saved_tensors() a saved tensor may be overwritten, and the gradient is right.
#
# **Left out:** `torch.compile`, which plans memory by itself.
#
# **Read on in our engine:** `allow_mutation_on_saved_tensors` in `course_lib/autograd/graph.py`.
#
# **Next:** [lesson 08](08_views.ipynb), in which a write to a part changes the history of the whole.
