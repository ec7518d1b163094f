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
# # 06 · Saved tensors and memory: what does a graph keep, and when does it let go?
#
# **After the forward pass your activations, the results in between, stay in memory although nobody uses them any more. Who holds them, which ones exactly, and what makes them go away?**
#
# Training often runs out of memory in the forward pass, and "Trying to backward through the graph a second time" appears in the backward pass. Both have one cause: nodes keep tensors for later, and let go of them once. At the end you can claim, with a cell that proves it:
#
# - **C06.1** Addition keeps no tensor; multiplication keeps a factor only if the other factor needs a gradient.
# - **C06.2** A saved input is kept by reference: reading the slot gives back the very same tensor object.
# - **C06.3** A saved result is repacked: reading the slot gives a new tensor object with the same memory and the same grad_fn.
# - **C06.4** Plain numbers that a node keeps survive backward; its saved tensors do not.
# - **C06.5** Backward releases a node's saved tensors right after that node ran, before the next node runs.
# - **C06.6** A second backward raises only when it needs a saved tensor that was released: x + 1 runs twice, x * x does not.
# - **C06.7** With retain_graph=True nothing is released, and the second pass adds its gradients to the first.
# - **C06.8** What the nodes of a part keep that is built once before a loop is released by the loop's first backward.
# - **C06.9** A saved activation lives on after its last name is deleted, and dies when backward releases it.
# - **C06.10** When two nodes save the same tensor, its memory is held once, until the last of them has run.
# - **C06.11** In a network with one hidden layer, freezing the first weight saves memory, freezing the second saves none, and under no_grad nothing is kept.
# - **C06.12** With retain_graph=True, a part that is built once before a loop has no right gradient after x is stepped: `x.exp()`, whose node kept the result, gives the gradient at the old x and no error, and `x * x`, whose node kept x, raises.
# - **C06.13** With retain_graph=True, a state that is carried from step to step holds what every step's nodes saved.
#
# **Minutes** 60 · **Needs** lessons 00 to 05 · **Opens** `course_lib/engine/saved.py` · **Out of scope** how a changed saved tensor is noticed (lesson 07), what custom Functions keep (lesson 11), how to store less (lesson 14)

# %%
import course_lib as torch
import weakref

from course_lib.teach import compare, draw, expect_error, explain, ledger, lesson, show, step

L = lesson(6)

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
# c = torch.tensor([4.0, 5.0, 6.0])
# p = x * c
# ```
#
# Sooner or later somebody calls backward. By then the variables `x`, `c` and `p` may be long gone, so the node behind `p` must have put aside whatever it will need. Every tensor that it puts aside stays in memory until then.
#
# ## Predict
#
# Which of the three tensors does `p.grad_fn` keep? Answer with a list of names, such as `["x", "p"]`. Before you run the cell, say what the slope of `x * c` with respect to `x` is.

# %%
L.predict("06.p1", None)

# %% [markdown]
# ## Run
#
# A node shows what it keeps in attributes that begin with `_saved_`. They are named after the operation's own parameters: `self` is the first operand, `other` the second, `result` what came out. The little function lists the slots of a node that hold a tensor. (`relu` puts 0 in the place of negative numbers.)

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([4.0, 5.0, 6.0])


def saved(y):
    slots = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
    return [name[7:] for name in slots if isinstance(getattr(y.grad_fn, name), torch.Tensor)]


for y in (x * c, x + c, x.sum(), x.sin(), x.exp(), x.relu()):
    print(f"{y.grad_fn.name():13} keeps {saved(y)}")

# %% [markdown]
# ## See
#
# The white notes with a folded corner are the saved tensors. Two results from the same `x`, one of a product and one of an exponential:

# %%
p = x * c
e = x.exp()
draw(p, e)

# %% [markdown]
# **Notice:**
#
# - The product's node keeps `c`, the tensor that needs no gradient, and not `x`, the one that does.
# - The exponential's node keeps what it produced, not what it was given.
# - Each note names the version at which its tensor was saved: lesson 07.
#
# ## Explain
#
# **Kept is what a formula will read.** The slope of `x * c` with respect to `x` is `c`; with respect to `c` it is `x`. A formula runs only for an operand that needs a gradient, so with a plain `c` nobody will ever read `x`, and it is not kept. Make both operands learnable and both are kept; freeze `x` and only `x` is. The slope of a sum is 1: nothing to keep.

# %% tags=["C06.1"]
w = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
print("x needs a gradient, c does not:", saved(x * c))
print("both need one:                 ", saved(x * w))
print("only the second needs one:     ", saved(x.detach() * w))
print("addition:                      ", saved(x + w))

# %% [markdown]
# **Inputs are kept by reference, results are repacked.** Nothing is copied in either case. A saved input is the tensor object itself. A saved result cannot be: `e` holds its node, and if the node held `e`, the two would form a ring that reference counting never frees. So the node keeps the memory without the history, and hands out a new tensor object, with the history put back, whenever you read the slot.

# %% tags=["C06.2", "C06.3"]
assert p.grad_fn._saved_other is c  # an input: the same object

slot = e.grad_fn._saved_result
assert slot is not e  # a result: another object ...
assert slot.data_ptr() == e.data_ptr()  # ... on the same memory
assert slot.grad_fn is e.grad_fn  # ... with the same history
print(slot)

# %% [markdown]
# ## Question
#
# ```python
# h = torch.relu(X @ W1)  # X: 100 x 20 plain data, W1: 20 x 30
# loss = (h @ W2).sum()   # W2: 30 x 1, float32 everywhere
# loss.backward()
#
# a = (x + 1).sum()       # four small results
# b = (x * x).sum()
# e = x.exp().sum()
# v = x.view(3, 1).sum()
# ```
#
# A network with one hidden layer, and four small results. How much is kept, and for how long?
#
# ## Predict
#
# First: how many **bytes** do the nodes behind `loss` keep? A float32 takes four. Ask at each node what its formulas will read, and count a memory once even if two nodes keep it. Then backward runs, `sum` first. How many bytes are still kept when the node of `sum` has run? The second product? `relu`? The first product? Answer with a list of five numbers.
#
# Second: call backward **twice** on each of the four small results. Which second calls raise? Answer with a list of letters.

# %%
L.predict("06.p2", None)

# %%
L.predict("06.p3", None)

# %% [markdown]
# ## Run
#
# `ledger` writes down every tensor that a node begins or ceases to keep. In its table, *events* are numbered in the order in which that happened: "1 to 8" means kept from the first event to the eighth. `MmBackward0` is the node of a matrix product.

# %% tags=["C06.10"]
X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)
W2 = torch.ones(30, 1, requires_grad=True)
with ledger() as held:
    h = torch.relu(X @ W1)
    loss = (h @ W2).sum()
    print("after forward:", held.now, "bytes")
    loss.backward()
print("after backward:", held.now, "bytes, and the peak was", held.peak)
held.table()

# %% [markdown]
# ## See

# %%
held.plot()

# %% [markdown]
# **Notice:**
#
# - Forward only climbs, backward only falls. The peak lies between the two.
# - Four slots, three memories: `h` is kept by `relu` as its result and by the second product as an input. Its 12000 bytes go with event 7, when `relu` has run, not with event 6.
# - `X @ W1` is not in the table: `relu` keeps its result. `W1` is not there either, for nobody wants a gradient for `X`.
# - Grey is memory that your program holds anyway: data and parameters. The coloured part was computed on the way, and without names for it the graph alone would hold it.
#
# ## Explain
#
# **Slots are emptied one node at a time.** As soon as a node has run, its saved tensors go; the next one still has its own. Page through the steps and look for *frees*: `sum` has nothing to let go, the power its operand, `sigmoid` its result. Numbers, such as an exponent, stay. Careful: the 2 in `x * 2` is wrapped into a tensor before it is saved, so it goes too.

# %% tags=["C06.4", "C06.5"]
cube = w.sigmoid() ** 3
y = cube.sum()
passed = step(y)
print("the exponent is still there:", cube.grad_fn._saved_exponent)
print("the 2 in w * 2 is saved as", (w * 2).grad_fn._saved_other)
with expect_error(RuntimeError, "after they have already been freed"):
    cube.grad_fn._saved_self
passed

# %% [markdown]
# **Nobody asks, nothing is kept.** Freeze `W1`, and everything up to `h` is plain: only `h` is kept, for the slope of `W2`. Freeze `W2` instead, and the second product no longer needs `h`. But `relu` does, on the way to `W1`, so nothing is won. Freezing pays when it begins at the input. Under `no_grad` no operation leaves a node.


# %% tags=["C06.11"]
def held_by(W1, W2):
    with ledger() as held:
        _loss = (torch.relu(X @ W1) @ W2).sum()
    return held.now  # while _loss is alive


print("both learn:", held_by(W1, W2), "- W1 frozen:", held_by(W1.detach(), W2))
print("W2 frozen: ", held_by(W1, W2.detach()))
with torch.no_grad():
    print("under no_grad:", held_by(W1, W2))

# %% [markdown]
# **A saved activation outlives its name.** `doubled` below has no name after `del`, but `sin` saved it as an input, so the graph holds it. A weak reference lets us look without holding it ourselves. The moment backward empties the slot, the object dies: no garbage collector, no waiting.

# %% tags=["C06.9"]
doubled = w * 2
s = doubled.sin().sum()
alive = weakref.ref(doubled)
del doubled
print("after del:     ", "alive" if alive() is not None else "gone")
s.backward()
print("after backward:", "alive" if alive() is not None else "gone")

# %% [markdown]
# **A second pass needs what the first one used.** Addition and `view` kept no tensor, so their graphs run as often as you like. `x * x` kept `x`, `exp` its result, and their slots are empty now. "The graph is freed" is a common way to put it, and wrong: compare the two pictures. All nodes and arrows are still there.

# %% tags=["C06.6", "P5"]
a, b, e, v = (x + 1).sum(), (x * x).sum(), x.exp().sum(), x.view(3, 1).sum()
before = draw(b)
for result in (a, a, v, v, b, e):  # a and v twice: fine
    result.backward()
for result in (b, e):
    with expect_error(RuntimeError, "backward through the graph a second time"):
        result.backward()
compare(before, draw(b))

# %% [markdown]
# **Now open our engine.** A slot that holds a result is a `SavedOutput`. `of` makes a *twin*: a tensor on the same memory that knows nothing of the node. `read` is what you call when you read a slot; it makes a fresh tensor and gives it the node as its history. PyTorch does the same in `saved_variable.cpp`.

# %% tags=["engine"]
show("engine.saved.SavedOutput")

# %% [markdown]
# ## Break it
#
# **One part outside the loop.** To save time, somebody computes `scale` once and uses it in every step. The first backward releases what `scale`'s node kept, and the second step falls over it, although its own part of the graph is new. Ask `explain` about `scale`: it marks the culprit.

# %% tags=["C06.8", "P6"]
scale = x.exp()
with expect_error(RuntimeError, "backward through the graph a second time"):
    for batch in range(3):
        loss = (scale * c).sum()
        loss.backward()
        print("step", batch, "is done")
explain(scale)

# %% [markdown]
# **The famous cure.** The message itself proposes `retain_graph=True`. It switches the release off for one pass. So the bytes stay; and the next pass does what every pass does, it *adds* to `.grad` (lesson 05): twice the gradient, without a word. The flag is right when two *different* losses share a graph, on all of them but the last.
#
# **Graphs pile up behind a state.** A *state* that one step hands to the next, as in a recurrent network, hangs on the steps before it. With the flag none of them lets go: 12 bytes more in every step. The old steps of `scale` above would not pile up, because nothing leads from the new loss to the old one.
#
# **A gradient that stays behind.** With the flag the loop around `scale` runs through. But `scale` was computed from the old `x`, and the optimizer's step writes into `x`. The node of `exp` kept its *result*, and nobody writes into that: there is no error, and the gradient stays what it was in the first step. The node of `x * x` kept `x` itself. There the pass raises, because a saved tensor was changed: lesson 07. The cure is the same for both: compute them again in every step.

# %% tags=["C06.7", "C06.13", "P8"]
x.grad, state = None, torch.zeros(3)
with ledger() as held:
    b = (x * x).sum()
    for _ in range(2):
        b.backward(retain_graph=True)
        print(held.now, "bytes are still kept, and x.grad is", x.grad)
    for _ in range(3):
        state = (state + x).sin()
        state.sum().backward(retain_graph=True)
        print(held.now, "bytes with one more step of the state")

# %% tags=["C06.12", "P6"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
scale, square = x.exp(), x * x
for _ in range(3):
    x.grad = None
    (scale * c).sum().backward(retain_graph=True)
    right = (c * x.exp())[2]
    print(f"the third gradient is {x.grad[2].item():.2f}, right would be {right.item():.2f}")
    with torch.no_grad():
        x -= 0.03 * x.grad  # an optimizer's step
with expect_error(RuntimeError, "modified by an inplace operation"):
    (square * c).sum().backward(retain_graph=True)

# %% [markdown]
# ## Exercises
#
# Every answer is checked by what it does. `L.hint("06.1")` helps, `L.solution("06.1")` explains, `L.progress()` lists what you have solved.
#
# **06.1 · Who keeps what** (5 minutes). `x` and `y` require grad, `c` is plain, and `r` is the result of the expression itself. For each expression, list what its node keeps: any of `"x"`, `"y"`, `"c"`, `"r"`, or nothing (`[]`). Ask each time what the slope is made of.

# %%
keeps = {
    "x + y": None,
    "x * y": None,
    "x * c": None,
    "x ** 2": None,
    "x.exp()": None,
    "x.relu()": None,
    "x.log()": None,
    "x.sum()": None,
}

L.check("06.1", keeps)

# %% [markdown]
# **06.2 · Which happens?** (8 minutes). In every program `x` is a fresh `torch.tensor([1.0, 2.0], requires_grad=True)`, and its author wants `x.grad` to be the gradient of `y`. Answer with `"fine"`, `"raises now"` (some line other than a backward raises), `"raises at backward"`, or `"silently wrong"` (no error, and another number in `x.grad`).
#
# | | program |
# | --- | --- |
# | A | `y = (x + 1).sum(); y.backward(); x.grad = None; y.backward()` |
# | B | `y = (x * x).sum(); y.backward(); x.grad = None; y.backward()` |
# | C | `y = (x * x).sum(); y.backward(retain_graph=True); y.backward()` |
# | D | `p = x * x; y = p.sum(); y.backward(); print(p.grad_fn._saved_self)` |
# | E | `h = x.exp(); z = h.sum(); y = (h * 3).sum(); z.backward(); x.grad = None; y.backward()` |
# | F | `h = x + 1; z = h.sum(); y = (h * h).sum(); z.backward(); x.grad = None; y.backward()` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("06.2", happens)

# %% [markdown]
# **06.3 · A part outside the loop** (8 minutes). `w` is a leaf; `batches` is a list of plain tensors of its shape. The function should leave in `w.grad` the sum, over all batches, of the gradients of `(w.exp() * batch).sum()`. It raises in the second step. Repair it so that no saved tensor is read by two passes: then nothing needs to be retained.


# %%
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad


L.check("06.3", collect)

# %% [markdown]
# **06.4 · The bill** (8 minutes). `x` is `torch.ones(1000, requires_grad=True)` and `c` is `torch.ones(1000)`, so each takes 4000 bytes. For each program: what is the **peak**, the most bytes that nodes keep at one time? As in the table, memory of leaves counts, and a memory counts once and whole, even if only a slice of it is kept; a number such as 3 counts as nothing.
#
# | | program |
# | --- | --- |
# | A | `y = (x + c).sin().exp().sum()` |
# | B | `y = (x * c * 3 + 1).sum(); y.backward(); y = (x * c).sum()` |
# | C | `h = x.exp(); y = h.sin() + h.cos()` |
# | D | `with torch.no_grad(): h = x.exp()`, then `y = h * x` |
# | E | `y = x[:10] * c[:10]` |
# | F | three times `y = (x * c).exp().sum(); y.backward()` |
# | G | `total = 0`, three times `total = total + (x * c).exp().sum()`, then `total.backward()` |

# %%
peaks = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("06.4", peaks)

# %% [markdown]
# **06.5 · Same gradient, fewer bytes** (6 minutes). `x` requires grad; `mask`, `weight` and `scale` are plain tensors of its shape, and belong to the caller. The nodes behind the result keep four memories. Rewrite `loss_of` so that they keep two, with the same value and the same gradient.


# %%
def loss_of(torch, x, mask, weight, scale):
    h = x * mask
    h = h * weight
    h = h / scale
    return h.sin().sum()


L.check("06.5", loss_of)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C06.1 kept by need | `['other']`, both, `['self']`, nothing | `test_c06_1` |
# | C06.2 an input by reference | `is c` | `test_c06_2` |
# | C06.3 a result repacked | `is not e`, same memory, same `grad_fn` | `test_c06_3` |
# | C06.4 numbers stay | the exponent, after backward | `test_c06_4` |
# | C06.5 released node by node | what each step frees | `test_c06_5` |
# | C06.6 twice, unless something is missing | x + 1 ran, x * x raised | `test_c06_6` |
# | C06.7 retaining adds | 12 bytes; 2, 4, 6 and then 4, 8, 12 | `test_c06_7` |
# | C06.8 a part outside the loop | step 0 is done, step 1 raises | `test_c06_8` |
# | C06.9 alive until released | alive, then gone | `test_c06_9` |
# | C06.10 one memory, counted once | "same as 2", 20120 bytes | `test_c06_10` |
# | C06.11 who learns decides | 20120, 12000, 20120, 0 | `test_c06_11` |
# | C06.12 a gradient that stays behind | 120.51 where 3.24 is right; then an error | `test_c06_12` |
# | C06.13 graphs pile up behind a state | 24, 36, 48 bytes | `test_c06_13` |
#
# The tests are in `tests/claims/test_claims_06.py`. They run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** On a GPU freed memory goes back to a caching allocator, so `nvidia-smi` shows no change. Some kernels keep more than a formula needs (`x ** c` with a tensor `c` keeps base, exponent and result). Gradients that are on their way cost memory too; the ledger leaves them out. Saved tensors can be packed into something smaller: lesson 14.
#
# **Next:** a saved tensor is kept by reference. So what if somebody writes into it before backward reads it? Lesson 07.
