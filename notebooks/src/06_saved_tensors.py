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
# **After the forward pass your activations stay in memory although nobody uses them any more. Who holds them, which ones exactly, and what makes them go away?**
#
# Training runs out of memory in the forward pass, and "Trying to backward through the graph a second time" appears in the backward pass. Both have one cause: nodes keep tensors for later, and let go of them once. At the end you can claim, with a cell that proves it:
#
# - **C06.1** Addition keeps no tensor; multiplication keeps a factor only if the other factor needs a gradient.
# - **C06.2** A saved input is kept by reference: reading the slot gives back the very same tensor object.
# - **C06.3** A saved result is repacked: reading the slot gives a new tensor object with the same memory and the same grad_fn.
# - **C06.4** Plain numbers that a node keeps survive backward; its saved tensors do not.
# - **C06.5** Backward releases a node's saved tensors right after that node ran, before the next node runs.
# - **C06.6** A second backward raises only when it needs a saved tensor that was released: x + 1 runs twice, x * x does not.
# - **C06.7** With retain_graph=True nothing is released, and the second pass adds its gradients to the first.
# - **C06.8** A part of the graph that is built once before a loop is released by the loop's first backward.
# - **C06.9** A saved activation lives on after its last name is deleted, and dies when backward releases it.
# - **C06.10** When two nodes save the same tensor, its memory is held only once.
# - **C06.11** Tensors given to ctx.save_for_backward are released by backward; a tensor stored as a plain attribute of ctx is not.
#
# **Minutes** 70 · **Needs** lessons 00 and 05 · **Opens** `course_lib/saved.py` · **Out of scope** how a changed saved tensor is noticed (lesson 07), how to store less (checkpointing, lesson 14), everything else about custom Functions (lesson 11)

# %%
import course_lib as torch
import weakref

from course_lib.teach import draw, expect_error, lesson, show

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
# Sooner or later somebody calls backward. By then the variables `x`, `c` and `p` may be long gone, so the node behind `p` must have put aside whatever it will need. Every tensor that it puts aside costs memory until then.
#
# ## Predict
#
# Which of the three tensors does `p.grad_fn` keep? Answer with a list of names, such as `["x", "p"]`. Before you run the cell, say what the slope of `x * c` with respect to `x` is.

# %%
L.predict("06.p1", None)

# %% [markdown]
# ## Run
#
# A node shows what it keeps in attributes that begin with `_saved_`. They are named after the operation's own parameters: `self` is the first operand, `other` the second, `result` what came out. The little function lists the slots of a node that hold a tensor.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([4.0, 5.0, 6.0])


def saved(y):
    slots = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
    return [name[7:] for name in slots if isinstance(getattr(y.grad_fn, name), torch.Tensor)]


for op, y in [("x * c", x * c), ("x + c", x + c), ("sum", x.sum()), ("sin", x.sin()), ("exp", x.exp())]:
    print(f"{op:6} keeps {saved(y)}")

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
# - Each note says at which version its tensor was saved. That number is the subject of lesson 07.
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
# a = (x + 1).sum()
# b = (x * x).sum()
# e = x.exp().sum()
# v = x.view(3, 1).sum()
#
# h = torch.relu(X @ W1)  # X: 100 x 20 plain data, W1: 20 x 30
# loss = (h @ W2).sum()   # W2: 30 x 1, float32 everywhere
# ```
#
# Four small results, and a network with one hidden layer. How long does a node keep what it keeps, and how much is that?
#
# ## Predict
#
# First: call backward **twice** on each of the four small results. Which second calls raise? Answer with a list of letters.
#
# Second: how many **bytes** do the nodes behind `loss` keep alive? A float32 takes four. Ask at each node what its formulas will read, and count a memory once even if two nodes keep it.

# %%
L.predict("06.p2", None)

# %%
L.predict("06.p3", None)

# %% [markdown]
# ## Run
#
# The same two calls on two graphs, and a look at a third after its backward. Read the whole message: it is one of the two that people meet most.

# %% tags=["C06.4", "C06.6"]
a = (x + 1).sum()
a.backward()
a.backward()
print("x + 1 ran twice:", x.grad)

b = (x * x).sum()
b.backward()
with expect_error(RuntimeError, "backward through the graph a second time"):
    b.backward()

cube = x**3
cube.sum().backward()
print("after backward, x ** 3 still knows its exponent:", cube.grad_fn._saved_exponent)

# %% [markdown]
# ## See
#
# The graph of `b` after its one successful pass:

# %%
draw(b)

# %% [markdown]
# **Notice:**
#
# - Nodes and arrows are all still there. "The graph is freed" is a common way to put it, and wrong.
# - Only the slots of `MulBackward0` are empty: FREED. Addition and sum had nothing to lose, which is why `a` ran twice.
# - `x.grad` is the sum of all passes of the Run cell: 2, 2x and 3x².
#
# ## Explain
#
# **Slots are emptied one node at a time.** As soon as a node has run, its saved tensors go; the node that comes next still has its own. A hook on `h` runs between `sin` and `exp`, and sees it. So memory falls step by step during backward. Numbers, like the exponent above, stay. Careful: the 2 in `x * 2` is wrapped into a tensor before it is saved, so it goes too, and a second backward raises.

# %% tags=["C06.5"]
h = x.exp()
s = h.sin()


def look(grad):
    print("exp still keeps", saved(h))
    with expect_error(RuntimeError, "after they have already been freed"):
        saved(s)


h.register_hook(look)
s.sum().backward()

# %% [markdown]
# **`retain_graph=True` switches the release off** for one pass. The next pass finds everything in its place, and does what every pass does: it *adds* to `.grad` (lesson 05). So the option has a price in bytes, and a meaning that people rarely want: the same gradient twice. It is right when two different losses share one graph, and the last of them needs no flag.

# %% tags=["C06.7"]
x.grad = None
b = (x * x).sum()
b.backward(retain_graph=True)
print("after one pass:  ", x.grad)
b.backward()
print("after two passes:", x.grad)

# %% [markdown]
# **A saved activation outlives its name.** `doubled` below has no name after `del`, but `sin` saved it as an input, so the graph holds it. A weak reference lets us look without holding it ourselves. The moment backward empties the slot, the object dies: no garbage collector, no waiting. This is what people mean by "activations are freed during backward", and why memory peaks just before it.

# %% tags=["C06.9"]
doubled = x * 2
s = doubled.sin().sum()
alive = weakref.ref(doubled)
del doubled
print("after del:     ", "alive" if alive() is not None else "gone")
s.backward()
print("after backward:", "alive" if alive() is not None else "gone")

# %% [markdown]
# **Count bytes by memory, not by slot.** Inside the `with` block below, every tensor that a node is about to keep passes through the first function, so we can list them all. Four slots, three memories: `X`, which `W1`'s formula reads; `W2`, which `h`'s formula reads; and `h`, kept twice, by `relu` as its result and by the second product as an input. `X @ W1` is not kept, and neither is `W1`, because nobody wants a gradient for `X`.

# %% tags=["C06.10"]
X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)
W2 = torch.ones(30, 1, requires_grad=True)
kept = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
    loss = (torch.relu(X @ W1) @ W2).sum()
memories = {t.data_ptr(): t.nbytes for t in kept}
print(len(kept), "slots,", len(memories), "memories:", sorted(memories.values()))
print(sum(memories.values()), "bytes")

# %% [markdown]
# **Now open our engine.** A slot that holds a result is a `SavedOutput`. `of` makes a *twin*: a tensor on the same memory that knows nothing of the node. `read` is what you call when you read a slot; it makes a fresh tensor and gives it the node as its history. PyTorch does the same in `saved_variable.cpp`.

# %% tags=["engine"]
show("saved.SavedOutput")

# %% [markdown]
# ## Break it
#
# **One part outside the loop.** To save time, somebody computes `scale` once and uses it in every step. The first backward releases what `scale`'s node kept, and the second step falls over it, although its own part of the graph is new. `retain_graph=True` would silence the message and keep every byte. Exercise 06.3 asks for a better repair.

# %% tags=["C06.8"]
scale = x.exp()
with expect_error(RuntimeError, "backward through the graph a second time"):
    for step in range(3):
        loss = (scale * c).sum()
        loss.backward()
        print("step", step, "is done")

# %% [markdown]
# **Keep a tensor yourself, in two ways.** In a `torch.autograd.Function` you write both passes, and `ctx` carries what backward needs; in fact `ctx` *is* the node. `ctx.save_for_backward` puts tensors into slots like those above, and `ctx.saved_tensors` reads them. Nothing stops you from writing `ctx.stash = result` as well. Below are both, so that you can watch the difference.
#
# After backward the slot is empty and the attribute is not. Worse, the attribute closes the ring that repacking avoids: `y` holds its node, the node holds `y`. So `del y` frees nothing; the memory waits for Python's garbage collector, which may come late. Numbers and shapes belong on `ctx`. Tensors belong in `save_for_backward`.

# %%
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)  # a slot: repacked, checked, released
        ctx.stash = result  # a plain attribute: none of these
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * result


# %% tags=["C06.11"]
x.grad = None
y = Exp.apply(x)
y.sum().backward()
print(x.grad)
with expect_error(RuntimeError, "directly access saved tensors after they have already been freed"):
    y.grad_fn.saved_tensors
print("the attribute is still there:", y.grad_fn.stash is y)

# %% [markdown]
# ## Exercises
#
# Every answer is checked by what it does. `L.hint("06.1")` helps, `L.solution("06.1")` explains, `L.progress()` lists what you have solved.
#
# **06.1 · Who keeps what** (6 minutes). `x` and `y` require grad, `c` is plain, and `r` is the result of the expression itself. For each expression, list what its node keeps: any of `"x"`, `"y"`, `"c"`, `"r"`, or nothing (`[]`). Ask each time what the slope is made of.

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
# **06.4 · Save exactly one tensor** (12 minutes). Write the sigmoid, s = 1 / (1 + exp(-x)), as a `Function` of your own. Its slope is s · (1 - s). It must keep one tensor, its result, in the way that gets checked and released.

# %%
class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("06.4", Sigmoid)

# %% [markdown]
# **06.5 · Count the bytes** (12 minutes). `held(torch, y)` should say how many bytes the nodes behind `y` keep in saved tensors. It reports too much as soon as a tensor is saved twice or a node is reached twice, and it crashes after a backward, when a released slot holds 0 bytes. Repair all three; a node that is reached twice should also be *visited* only once.

# %%
def held(torch, y):
    total, waiting = 0, [y.grad_fn]
    while waiting:
        node = waiting.pop()
        for name in [name for name in dir(node) if name.startswith("_saved_")]:
            value = getattr(node, name)
            if isinstance(value, torch.Tensor):
                total += value.nbytes
        waiting += [after for after, _ in node.next_functions if after is not None]
    return total


L.check("06.5", held)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C06.1 kept by need | `['other']`, both, `['self']`, nothing | `test_c06_1` |
# | C06.2 an input by reference | `is c` | `test_c06_2` |
# | C06.3 a result repacked | `is not e`, same memory, same `grad_fn` | `test_c06_3` |
# | C06.4 numbers stay | the exponent 3 after backward | `test_c06_4` |
# | C06.5 released node by node | `exp` keeps while `sin` is empty | `test_c06_5` |
# | C06.6 twice, unless something is missing | x + 1 ran, x * x raised | `test_c06_6` |
# | C06.7 retaining adds | 2, 4, 6 and then 4, 8, 12 | `test_c06_7` |
# | C06.8 a part outside the loop | step 0 is done, step 1 raises | `test_c06_8` |
# | C06.9 alive until released | alive, then gone | `test_c06_9` |
# | C06.10 one memory, counted once | 4 slots, 3 memories, 20120 bytes | `test_c06_10` |
# | C06.11 slot or attribute | the slot raises, the attribute is there | `test_c06_11` |
#
# The tests are in `tests/claims/test_claims_06.py`. They run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** On a GPU freed memory goes back to a caching allocator, so `nvidia-smi` shows no change. Some kernels keep more than a formula needs (`x ** c` with a tensor `c` keeps base, exponent and result). A saved slice keeps the whole memory behind it alive. Saved-tensor hooks, which you used for counting, may also store something smaller: lesson 14.
#
# **Next:** a saved tensor is kept by reference. So what if somebody writes into it before backward reads it? Lesson 07.
