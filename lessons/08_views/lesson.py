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
# # 08 · Views share memory: what does a write to a part do to the whole?
#
# **You simulate something: a population, a spring, a bank account. Each state follows from the one before, so you make a tensor for all of them and fill it in a loop, `out[t + 1] = out[t] * w`. The numbers are right. Then you ask how the result depends on `w`, and `backward()` stops. The message says that something was modified, and names an operation called `AsStrided`. You have never called anything of that name. And what was modified? You wrote into each place exactly once.**
#
# Nothing is wrong with the program's arithmetic. It fails because `out[t]` and `out[t + 1]` are not separate tensors. They are two windows onto one piece of memory. Such windows are called *views*. They are everywhere: every slice is one, and every transpose.
#
# After this lesson you can
#
# - look at an expression and say whether it copies or shares memory;
# - say what happens to the history of a tensor when you write to a part of it;
# - read PyTorch's messages about views, and choose the right cure for each;
# - fill a tensor piece by piece without breaking its gradient.
#
# **Minutes** 85, of which 8 are for your own engine, and 13 for more exercises · **Needs** lessons 00, 05, 06 and 07 · **Out of scope** `detach` and `no_grad` as ways out of the graph (lesson 09), views that custom Functions make (lesson 11)
#
# [← 07 Version counters](07_version_counters.ipynb) · [all lessons](home.ipynb) · [09 Ways out →](09_ways_out.ipynb)

# %%
import course_lib as torch
from backscope import draw, film
from coursekit import expect_error, lesson

L = lesson(8)

# %%
w = torch.tensor(0.5, requires_grad=True)
out = torch.zeros(4)
out[0] = 8.0
for t in range(3):
    out[t + 1] = out[t] * w
print(out)
with expect_error(RuntimeError, "modified by an inplace operation"):
    out.sum().backward()

# %% [markdown]
# The last question of this lesson is what was modified here, and its exercise is to repair such a program. We begin with the question on which everything else depends.
#
# ## Which of these share memory with `t`?
#
# In memory, `t` is six numbers in a row. A tensor that looks at the memory of another one is described by three things: its shape, the place at which it begins, and how far to walk for one step in each dimension. So two questions decide. Can its elements be reached with one fixed step for each dimension? And does PyTorch know the steps without looking into a list or a mask? If the answer to both is yes, PyTorch shares the memory, unless the call exists to make a copy.
#
# Here are eight tensors that are made from a `t` with two rows and three columns. Each of them is filled with sevens, every time with a fresh `t`.

# %%
makers = {
    "a": lambda t: t[0],
    "b": lambda t: t.T,  # rows become columns
    "c": lambda t: t.reshape(6),
    "d": lambda t: t.T.reshape(6),
    "e": lambda t: t[[0]],  # a list of rows, with one row in it
    "f": lambda t: t.clone(),
    "g": lambda t: t[:, 1:],
    "h": lambda t: t[t == 0],  # a mask: those elements for which it is true
}


def fill_each():
    for letter, make in makers.items():
        t = torch.zeros(2, 3)
        made = make(t)
        made.fill_(7)
        print(letter, "| t:", t.tolist(), "| version", t._version, end=" ")
        print("| is a view:", made._is_view())

# %% [markdown]
# **Predict.** After which of the eight does `t` contain sevens? Answer with a list of letters.

# %%
L.predict("08.p1", None)

# %% tags=["C08.1"]
L.run(fill_each, after="08.p1")

# %% [markdown] tags=["tells"]
# Where `t` contains sevens, the write was counted for `t`, too. A view shares memory and version counter. (A `.data` shares the memory and not the counter: lesson 07.)
#
# How does a view find its elements? Here is the memory of a `t` with the numbers 1 to 6, and four tensors that walk over it. `strides` are the steps, one for each dimension, and `offset` is the place at which to begin.

# %%
t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
views = {"t": t, "t.T": t.T, "t[:, 1:]": t[:, 1:]}
views["t[0].expand(2, 3)"] = t[0].expand(2, 3)
L.run(L.stage.walks, t, views, after="08.p1")

# %% [markdown] tags=["tells"]
# **Notice:** all four read from the same six cells.
#
# - `t.T` moves no number at all. It has the two strides of `t` in the other order, so in each of its rows the next number is three places further on.
# - `t[:, 1:]` begins at place 1 and never comes to places 0 and 3.
# - `expand` repeats a row, with the stride 0: for the next row it walks nowhere, and reads the same cells again.
# - In **d**, the rows of `t.T` end to end would be the places 0, 3, 1, 4, 2, 5. No fixed step leads there, so `reshape` copied.
# - In **e** and **h**, a list or a mask may pick any places in any order. So indexing with one always copies.
#
# > **The rule.** A *view* is a recipe (shape, strides, offset) for reading the memory of another tensor, which is called its *base*. What no such recipe can describe has to be copied, and lists, masks, `clone()` and arithmetic always copy.

# %% [markdown]
# `reshape` does not tell you whether it copied. `view` never copies: it refuses where it would have to. And `contiguous()` gives back the tensor itself if its numbers lie end to end already, and a copy if not.

# %% tags=["C08.2"]
turned = t.T
with expect_error(RuntimeError, "view size is not compatible"):
    turned.view(6)
for each in (t, turned):
    print("reshape is a view:", each.reshape(6)._is_view(), end="; ")
    print("contiguous is the tensor itself:", each.contiguous() is each)

# %% [markdown]
# ## Where does a write to a copy go?
#
# A write to a view arrives in the base. A write to a copy is lost, and there is no error: the numbers went into a tensor that the program never looks at again.
#
# There is one trap here. `y[[0]].mul_(10)` is lost, but `y[[0]] *= 10` works. Python turns the second line into two steps: it multiplies the copy, and then assigns the result back, `y[[0]] = …`. The last two lines are about the base.

# %% tags=["C08.3", "C08.4"]
y = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
y[[0]].mul_(10)
print("lost:   ", y.tolist(), "version", y._version)
y[[0]] *= 10
print("written:", y.tolist(), "version", y._version)
print("y is the base of a view of a view:", y.T[1, 1:]._base is y)
print("the base of a detach():", y.detach()._base)

# %% [markdown]
# However often you cut, the base is the first tensor. `detach()` shares the memory as well, but it has no base: it stands outside of the graph on purpose (lesson 09).
#
# ### Exercise: who saw it?
#
# **08.1 · Who saw it?** (5 minutes). What does `t` hold after the last line, as a list of two lists, and at which version are `t`, `a` and `d`?
#
# ```python
# t = torch.zeros(2, 3)
# a, b, c, d = t.T, t.reshape(6), t.T.reshape(6), t[[0]]
# a[2] = 1.0
# b[0] = 2.0
# c[5] = 3.0
# d[0] = 4.0
# t[1:] += 5.0
# ```

# %%
state = {"t": None, "t version": None, "a version": None, "d version": None}

L.check("08.1", state)

# %% [markdown]
# ## You write to a part: what is the gradient of the whole?
#
# Now the tensors have a history. Taking a view is an operation with a node, just as copying is, and gradients flow through both. And a write is recorded.

# %%
def write_to_a_part():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    v = y[1:]
    v.mul_(10)
    y.sum().backward()
    print(x.grad)

# %% [markdown]
# After the multiplication `y` holds `[2., 40., 60.]`. But the operation was done to `v`, and backward begins at `y`. Nothing was ever assigned to `y` after the second line.
#
# **Predict.** What is `x.grad`? Answer with a list of three numbers, or with `"error"`.

# %%
L.predict("08.p2", None)

# %% tags=["C08.5"]
L.run(write_to_a_part, after="08.p2")
L.run(lambda: film(write_to_a_part, nodes=True), after="08.p2")

# %% [markdown] tags=["tells"]
# The gradient is that of the written numbers, so `y` has learned of the write. **Notice** the frame of `v.mul_(10)`:
#
# - Before the write, the node of `v`, `SliceBackward0`, led to the node of `y`: the part was computed from the whole.
# - Now `y` has a new node called `CopySlices`, which leads to the old node of `y`.
# - `v` has a new node, too. `AsStridedBackward0` leads to `CopySlices`. So the part is again computed from the whole, but from the *written* whole. ("As strided" is PyTorch's name for "read it with these strides".)
# - There is no `MulBackward0` for `mul_(10)`. It is packed inside `CopySlices`.
#
# Go on to the frames of the backward pass. `CopySlices` gets [1, 1, 1] and sends [1, 10, 10]. So it copies the gradient that arrives, sends the written part through the operation that wrote, and leaves the rest as it came.

# %% [markdown]
# You can check this yourself: build the same numbers without writing, and compare. Here `w` is a second operand of the write, and gets a gradient as well. `built` makes the same tensor with `cat`.

# %% tags=["C08.6"]
def built(x, w):
    y = x * 2
    return torch.cat([y[:1], y[1:] * w])


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor(10.0, requires_grad=True)
z = x * 2
z[1:].mul_(w)
for y in (z, built(x, w)):
    gradients = torch.autograd.grad((y * y).sum(), (x, w))
    print(y.tolist(), [gradient.tolist() for gradient in gradients])

# %% [markdown]
# > **The rule.** A recorded write to a part rewrites the history of the whole: the base becomes "the old base, with this part replaced".
#
# **An assignment is a write as well.** `y[0] = w` copies `w` into the view `y[0]`. What stood there before has no influence on anything that follows, so its gradient is zero. The gradient of that place goes to `w`. The tensor on the left need not have had a history: `out` in the loop of the beginning starts as a plain buffer of zeros.

# %% tags=["C08.7"]
y = x * 2
y[0] = w
y.sum().backward()
print("x.grad:", x.grad, " w.grad:", w.grad)
buffer = torch.zeros(3)
buffer[1] = w
print(buffer, "is a leaf:", buffer.is_leaf)

# %% [markdown]
# As soon as something that requires grad is assigned to a part of a buffer, the whole buffer is a computed tensor.
#
# ## What about views that were there before the write?
#
# `old` looks at the first two numbers of `y`. Then the last two numbers are multiplied through *another* view. The two overlap in one place. What does `old` know?

# %% tags=["C08.8"]
x.grad = None
y = x * 2
old = y[:2]
print(old)
y[1:].mul_(10)
print(old)
old.sum().backward()
print(x.grad)

# %% [markdown]
# Its numbers have changed, of course: it is the same memory. But its `grad_fn` has changed too, from `SliceBackward0` to `AsStridedBackward0`, and its gradient is right: 20 for the number that was multiplied.
#
# A view notes at which version its `grad_fn` was right. When you ask for the `grad_fn` later, the view compares the counter of the memory. If there was a counted write in between, it takes itself anew from what the base is now. This is the version counter of lesson 07 again. There it was used to refuse. Here it is used to repair.
#
# **A view that was made under `no_grad`** is a silent trap. It was not recorded, so it has no node to renew. But it says that it requires a gradient, since its base does.

# %% tags=["C08.15"]
x.grad = None
with torch.no_grad():
    inside = x[:2]
print("requires_grad:", inside.requires_grad, " is_leaf:", inside.is_leaf)
print("grad_fn:", inside.grad_fn)
(inside * inside).sum().backward()
print("inside.grad:", inside.grad, " x.grad:", x.grad)

# %% [markdown]
# Backward ran, and the gradient went nowhere. If you need a view of a weight in a computation, take it outside `no_grad`.
#
# ### Exercise: walk the histories
#
# **08.2 · Walk the histories** (5 minutes). From each of `y`, `old` and `new`, after the last line, follow `grad_fn` and then always `next_functions[0]`. Write down the names of the nodes that you meet, as `type(node).__name__` gives them, the first one first and `"AccumulateGrad"` last.
#
# ```python
# y = x * 2  # x is a leaf with three numbers
# old = y[:2]
# y[1:].mul_(10)
# y.add_(1)
# new = y[:2]
# ```

# %%
walks = {"y": None, "old": None, "new": None}

L.check("08.2", walks)

# %% [markdown]
# ## Which writes are refused, and why?
#
# Some programs with views are refused at once. These three are frequent:
#
# | the message says | what you do | what to do instead |
# | --- | --- | --- |
# | "a view of a leaf Variable that requires grad" | you write to a part of a leaf that requires grad | is the write no part of the computation? `with torch.no_grad():`. Is it one? Work on a computed tensor, `x * 1` or `x.clone()` |
# | "This view is the output of a function that returns multiple views" | you write to a view from `unbind`, `split`, `chunk`, or `for row in y` | index, `y[i]`, or work out of place |
# | "its base or another view of its base has been modified inplace" | you *compute* with such a view, after a write to its base | take the piece after the write, by an index |
#
# **A view of a leaf** is by far the most frequent. If a part of a leaf were replaced, the leaf would become a computed tensor, and no `.grad` would be stored in it any more. This stops even `x[0] = 5.0`. The cell shows both cures.

# %% tags=["C08.9", "P4"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with expect_error(RuntimeError, "a view of a leaf Variable"):
    x[0] = 5.0
with torch.no_grad():
    x[0] = 5.0
print(x, "leaf:", x.is_leaf, "version", x._version)
y = x * 1
y[0] = 7.0
y.sum().backward()
print(y, "gradient", x.grad)

# %% [markdown]
# In the first cure the value of `x` is another one from then on. In the second, the write leaves `x` alone, and its first number gets the gradient 0, since it has no influence any more.
#
# **Views from a call that may return several** are the second kind. `for number in y` looks harmless, but it calls `unbind`, and so does `a, b, c = y`. All pieces come from one node, which has one output for each. A piece that is written to would need a new node for itself alone, and PyTorch does not split the shared one. So a write to any result of these calls is refused, even if there is only one piece. Without a history the same loop is allowed.

# %% tags=["C08.10", "P19"]
y, plain = x * 2, torch.ones(3)
with expect_error(RuntimeError, "Output 0 of Unbind is a view"):
    for number in y:
        number.mul_(2)
for number in plain:
    number.mul_(2)
first, rest = y.split([1, 2])
y.mul_(3)
with expect_error(RuntimeError, "its base or another view of its base"):
    first.sum()
print(plain, y[:1].sum())

# %% [markdown]
# The third kind is the other direction. You may write to the *base*, as in `y.mul_(3)`, and nothing is said. The error comes when you compute with an old piece, so this is a *read* that raises.
#
# <details><summary><b>Three more refusals</b>, for the day when you meet them (click to open)</summary>
#
# | the message says | what you do | what to do instead |
# | --- | --- | --- |
# | "more than one element of the written-to tensor refers to a single memory location" | you write to an expanded tensor, with `add_` or `mul_`. One place is several of its elements: is 1 added to it, or 3? | `clone()` first |
# | "A view was created in no_grad mode" | you write, outside of `no_grad`, to a view that was made inside, as `inside` was | both inside `no_grad`, or both outside |
# | "Output 0 of BackwardHookFunction is a view" | you let a `ReLU(inplace=True)` write to the result of a module with a full backward hook (lesson 12). PyTorch puts a node of its own after such a module, and hands out a view | use the ReLU that is not in place |
#
# </details>
#
# The next cell raises these three, in this order.

# %% tags=["C08.11", "C08.12", "C08.14", "P19"]
e = torch.ones(1).expand(3)
layer = torch.nn.Linear(3, 3)
layer.register_full_backward_hook(print)
L.run(e.add_, 1)
L.run(inside.mul_, 2)
L.run(layer(x).relu_)

# %% [markdown]
# ### Exercise: the detector's biases
#
# **08.3 · The detector's biases** (4 minutes). A detector of objects (YOLO is one) looks around a number of places, its *anchors*, each with a few biases, and one bias of each is to start higher. `b` is a leaf that requires grad and an optimizer already holds it: `anchors` groups of equally many numbers, one after another. Number 4 of each group is to start `prior` higher. Repair the function: afterwards the same `b` holds the new numbers, is still a leaf that requires grad, and its counter has noticed the write.


# %%
def start_biases(torch, b, anchors, prior):
    rows = b.view(anchors, -1)
    rows[:, 4] += prior


L.check("08.3", start_biases)

# %% [markdown]
# ## So what was modified in the loop?
#
# The loop from the beginning is not refused at once: its writes are all allowed, and the error comes later. Here is the same situation with two views and nothing else. `first` and `rest` are *different* parts of `y`. Four results are computed, and then we write to `first`. (`sin` saves what it is given, because its slope is the cosine of that.)

# %%
x = torch.tensor([5.0, 2.0, 3.0], requires_grad=True)
y = x + 0
first, rest = y[:1], y[1:]
part, whole = rest.sin(), y.sin()
copied, added = rest.clone().sin(), rest + 1
first.mul_(2)


def passes(result):
    result.sum().backward()
    print("it runs")

# %% [markdown]
# **Predict.** For which of `part`, `whole`, `copied` and `added` does backward raise? Answer with a list of names; it may be empty.

# %%
L.predict("08.p3", None)

# %% tags=["C08.13"]
for result in (part, whole, copied, added):
    L.run(passes, result, after="08.p3")
L.run(lambda: draw(part), after="08.p3")

# %% [markdown] tags=["tells"]
# The first two raise: `part` and `whole`. **Notice** the graph of `part`, which was computed before the write. Since the write `y` and its views have other nodes, so they are marked *not in this graph*. `rest` still holds 2 and 3: not one of the numbers that node 3 saved has changed. And yet the drawer is orange and says STALE. (`x.grad` holds what the two passes that ran have brought.)
#
# The reason is the counter. There is one for the whole memory, not one for each part. It does not say who wrote, or where. PyTorch does not look whether the two parts overlap; it compares two numbers. So it refuses, to be safe. `copied` saved a clone, which has a memory of its own, and `added` saved nothing.
#
# Now you can read the message word by word: **"output 0 of AsStrided"**. It calls a tensor by the name of its node, without the ending `Backward0`. When `rest` was saved, its node was a `SliceBackward0`: that is node 2 of the picture. But the saved view is asked for its `grad_fn` only now, when the message is put together. By now the view has caught up, as `old` did above, and its node is an `AsStridedBackward0`. So the word `AsStrided` means: a *view* was saved, and later there was a write to the memory that it looks at. Look for a counted write to *any* part of the tensor from which the view was cut.
#
# The second message names `torch::autograd::CopySlices`, which is how this node writes its name in full. There the *whole* was saved, and then a part was written.

# %% [markdown]
# In the loop, `out[t] * w` saves the view `out[t]`, because the gradient of `w` will need it. The assignment to `out[t + 1]` then writes into the same memory. Here are two steps of it, with a list that keeps the views, so that they have names in the picture.

# %%
w = torch.tensor(0.5, requires_grad=True)
out = torch.zeros(3)
out[0] = 8.0
states = []
for t in range(2):
    states.append(out[t])
    out[t + 1] = states[t] * w
L.run(lambda: draw(out, *states), after="08.p3")

# %% [markdown] tags=["tells"]
# **Notice:** each of the two products, nodes 1 and 4, has saved a state, and both drawers are STALE. The first was saved at version 1 and the second at version 2. The memory that they look at is at version 3. There were three writes, but `out[0] = 8.0` left no node: nothing had a history yet.
#
# Now you can read the numbers in the first message. The loop at the beginning makes one step more, so its four writes made the versions 1, 2, 3 and 4. The last product saved `out[2]` at version 3, and the last assignment made it 4. Backward meets the last product first: **"is at version 4; expected version 3"**. And **`[torch.FloatTensor []]`** is the shape of what was saved, with nothing between the brackets, because `out[2]` is a single number.
#
# > **The rule.** One memory has one counter. A counted write to any part makes every saved view of that memory stale, also views of parts that were not touched.

# %% [markdown]
# ### Exercise: filling a buffer
#
# **08.4 · Filling a buffer** (8 minutes). A simulation writes each state into its place of a tensor. `x0` and `w` are leaves with one number, and the check takes gradients of the result for both. As it stands, backward raises. Repair it; the result has `steps + 1` numbers, `x0` first.


# %%
def simulate(torch, x0, w, steps):
    out = torch.zeros(steps + 1)
    out[0] = x0
    for t in range(steps):
        out[t + 1] = out[t] * w
    return out


L.check("08.4", simulate)

# %% [markdown]
# ## Build your own engine: views share the counter
#
# In `my_engine.py`, a result of `T`, `reshape` or `expand` may lie in the memory of its operand. NumPy knows: `np.may_share_memory(result.array, operand.array)`. Six lines are enough:
#
# 1. In `operation`, when the result shares memory with its first operand, let it share that operand's `version` too.
# 2. A recorded write to a memory that has views would have to change the history of all of them. That is what `CopySlices` is for. Your engine may refuse it with a sentence: note on the `Version` that there are views, and raise a `NotImplementedError` in `in_place` if the write would be recorded. Raise it before anything is written or counted. A write that is not recorded is harmless: count it and let it through.
#
# The usual slip is to treat every result as a view. `clone` has a memory of its own, so it needs a counter of its own.
#
# **If you enjoyed this lesson:** 24 more lines give your engine `y[1:]`, `y[0] = w`, `CopySlices` and views that catch up. Write two rows: an index, and `CopySlices`, which replaces a part. Let a view remember its base and how it was taken, and take itself again when the counter has moved. (In `coursekit/own_engine/engine_by_lesson.txt`, the lines that end in `#08v` are one way.)

# %%
L.build("08")

# %% [markdown]
# When the checkpoint says *correct*, your engine notices a write that goes through a view. In its picture `p`, `r` and `t` stand in one dashed frame: one memory, one counter.
#
# ## Exercises: more, if you like
#
# **08.5 · A gate** (4 minutes). Half of the columns decide how much of the other half gets through. `h` is a computed tensor. Repair the function so that it returns the number which it was meant to return, with the right gradient.


# %%
def gated(torch, h):
    a, b = h.chunk(2, dim=1)
    b.sigmoid_()
    return (a * b).sum()


L.check("08.5", gated)

# %% [markdown]
# **08.6 · Which happens?** (9 minutes). In every program `x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)`, and at the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the gradient of the numbers that `y` holds). For J, open "Three more refusals" above.
#
# | | program | | program |
# | --- | --- | --- | --- |
# | A | `y = x * 2; y[[1, 2]].mul_(10)` | F | `y = x * 2; y.detach()[1:].mul_(10)` |
# | B | `x[0] = 5.0; y = x * 2` | G | `h = x * 2; v = h[1:]; h.mul_(10); y = v + 0` |
# | C | `y = x * 2; a, b, c = y; b.mul_(10)` | H | `h = x * 2; a, b = h.split([1, 2]); h.mul_(10); y = b + 0` |
# | D | `h = x * 1; v = h[1:]; y = v * v; h[0] = 7.0` | I | `y = x.exp(); y[0] = 5.0` |
# | E | `h = x * 1; v = h[1:]; y = v.exp(); h[0] = 7.0` | J | `f = torch.nn.Linear(3, 3); f.register_full_backward_hook(print); y = f(x).relu_()` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None}
happens |= {"F": None, "G": None, "H": None, "I": None, "J": None}

L.check("08.6", happens)

# %% [markdown]
# ## What you can now claim
#
# The cells above show the heart of each sentence; a test runs every word of it on our engine and on PyTorch.
#
# - **C08.1** Slices, single rows, transpose, unsqueeze, expand and unbind give views, which share memory and version counter with their base; clone, arithmetic, and indexing with a list or a mask give copies.
# - **C08.2** reshape gives a view where strides can describe the result and a copy where they cannot; contiguous() gives back the tensor itself when it is contiguous already, and a copy when it is not.
# - **C08.3** The `_base` of a view is the first tensor and never another view; a detach() shares the memory but has no base.
# - **C08.4** An in-place operation on a copy, such as `y[[0]].mul_(10)`, raises nothing and leaves y as it was, but `y[[0]] *= 10` writes to y.
# - **C08.5** A recorded write through a view puts CopySlices on top of the base's old node, and AsStridedBackward0, the view's new node, on top of CopySlices.
# - **C08.6** The gradient through a write to a part is that of the same values built out of place.
# - **C08.7** Assigning to a part sends the gradient to the value assigned and zero to what was replaced, and a plain buffer becomes part of the graph when something that requires grad is assigned to a part of it.
# - **C08.8** A view that came alone from its call gets a new grad_fn when it is asked for one after a counted write to its base.
# - **C08.9** Writing to a view of a leaf that requires grad raises, `x[0] = 5.0` too; under no_grad it is allowed and counted, and the leaf stays a leaf.
# - **C08.10** While recording, outputs of unbind, split and chunk that have a history may not be written to, nor computed with after their base was written to; without a history both are allowed.
# - **C08.11** An expanded tensor may not be written to with add_ or mul_, because several of its elements lie in one place.
# - **C08.12** A view made under no_grad of a tensor that requires grad may not be written to outside no_grad.
# - **C08.13** A counted write to one part of a tensor makes a saved view of another part stale, though none of the saved numbers has changed.
# - **C08.14** A module with a full backward hook hands out a result that requires grad as a view made by a custom Function, which may not be written to.
# - **C08.15** A view made under no_grad of a tensor that requires grad says that it is a leaf that requires grad, but backward through it raises nothing and gives no gradient, to it or to its base.
#
# **Left out:** views of complex numbers; views that no strides describe; writes to memory that is shared through `detach()` or with NumPy (lesson 09).
#
# **Read on in our engine:** `grad_fn` and `rebase_history` in `course_lib/engine/views.py`, by which old views catch up and a write is recorded.
#
# **Next:** [lesson 09](09_ways_out.ipynb) puts `detach`, `.data`, `clone` and `no_grad` side by side.
