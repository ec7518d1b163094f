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
# **`v = y[1:]` copies nothing: `v` is a second way to look at the memory of `y`. Now write into `v`. The numbers of `y` have changed, so its history must change as well, although no line ever assigned to `y`. How does `y` learn of it? And why are some views refused when you write to them?**
#
# Three questions decide everything in this lesson. Is it a view or a copy? Who recorded the write? Who had saved that memory before? At the end you can read PyTorch's error messages about views, and you can claim, with a cell that proves it:
#
# - **C08.1** Slices, single rows, transpose, unsqueeze, expand and unbind give views, which share memory and version counter with their base; clone, arithmetic, and indexing with a list or a mask give copies.
# - **C08.2** reshape gives a view where strides can describe the result and a copy where they cannot; contiguous() gives back the tensor itself when it is contiguous already, and a copy when it is not.
# - **C08.3** The `_base` of a view is the first tensor and never another view; a detach() shares the memory but has no base.
# - **C08.4** An in-place operation on a copy, such as `y[[0]].mul_(10)`, raises nothing and leaves y as it was, but `y[[0]] *= 10` writes to y.
# - **C08.5** A recorded write through a view puts CopySlices on top of the base's old node, and AsStridedBackward0, the view's new node, on top of CopySlices.
# - **C08.6** The gradient through a write to a part is that of the same values built out of place.
# - **C08.7** Assigning to a part sends the gradient to the value assigned and zero to what was replaced, and a plain buffer becomes part of the graph when something that requires grad is assigned to a part of it.
# - **C08.8** A view that came alone from its call gets a new grad_fn when it is asked for one after a write to its base.
# - **C08.9** Writing to a view of a leaf that requires grad raises, `x[0] = 5.0` too; under no_grad it is allowed and counted, and the leaf stays a leaf.
# - **C08.10** While recording, outputs of unbind, split and chunk that have a history may not be written to, nor computed with after their base was written to; without a history both are allowed.
# - **C08.11** An expanded tensor may not be written to with add_ or mul_, because several of its elements lie in one place.
# - **C08.12** A view made under no_grad of a tensor with history may not be written to outside no_grad.
# - **C08.13** A write to one part of a tensor makes a saved view of another part stale, though none of the saved numbers has changed.
# - **C08.14** A module with a full backward hook hands out a result that requires grad as a view made by a custom Function, which may not be written to.
#
# **Minutes** 60 · **Needs** lessons 00, 05, 06, 07 · **Opens** `course_lib/engine/views.py` · **Out of scope** detach and no_grad as ways out of the graph (lesson 09), views made by custom Functions (lesson 11)

# %%
import course_lib as torch
from course_lib.teach import compare, draw, expect_error, lesson, show

L = lesson(8)

# %% [markdown]
# ## Question
#
# ```python
# a = t[0]        # each with t = torch.zeros(2, 3)
# b = t.T         # rows become columns
# c = t.reshape(6)
# d = t.T.reshape(6)
# e = t[[0]]      # a list of rows, with one row in it
# f = t.clone()
# g = t[:, 1:]
# h = t[t == 0]
# ```
#
# Eight tensors made from `t`. Now each is filled with sevens in place, `a.fill_(7)` and so on, every time with a fresh `t`.
#
# A *view* may begin anywhere in the memory of `t` and walk it in steady steps, of one length for each dimension. What cannot be read like that must be copied, and some operations always copy.
#
# ## Predict
#
# After which of the eight does `t` contain sevens? Answer with a list of letters.

# %%
L.predict("08.p1", None)

# %% [markdown]
# ## Run
#
# The other way round is quicker to test: make them all, write to `t` once, and ask each whether it is a view. A shared counter says 1 now. `stride()` says how many places to walk in memory for one step in each dimension, and `storage_offset()` at which place to begin.

# %% tags=["C08.1"]
t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
made = {"t[0]": t[0], "t[:, 1:]": t[:, 1:], "t.T": t.T, "t.unsqueeze(0)": t.unsqueeze(0)}
made |= {"t[0].expand(2, 3)": t[0].expand(2, 3), "t.unbind()[1]": t.unbind()[1]}
made |= {"t.reshape(6)": t.reshape(6), "t.T.reshape(6)": t.T.reshape(6), "t[[0]]": t[[0]]}
made |= {"t[t > 0]": t[t > 0], "t.clone()": t.clone(), "t + 0": t + 0}
t.mul_(10)
for name, m in made.items():
    kind = "view" if m._is_view() else "copy"
    print(f"{name:17} {kind}  version {m._version}  stride {m.stride()}  offset {m.storage_offset()}")

# %% [markdown]
# ## See
#
# Two views, a view of a view, and a copy. This time the tensors have a history:

# %%
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x * 1
row, turned, copy = y[0], y.T, y.clone()
corner = turned[1, 1:]
draw(row, corner, copy)

# %% [markdown]
# **Notice:**
#
# - One dashed frame holds `y` and its views: one memory, one counter. The copy is outside.
# - In the *graph* all are alike. Taking a view is an operation with a node, as copying is, and gradients flow through both. `.T` is recorded as `PermuteBackward0`; an index that is a number gives a `SelectBackward0`, a range such as `1:` a `SliceBackward0`.
# - `corner` was cut out of `turned`, with a number and a range, so two nodes lead from it to `turned`'s. Yet it calls itself a view of `y`.
#
# ## Explain
#
# **A view is a recipe:** shape, strides and offset, read against somebody else's memory. Transposing swaps two strides; no number moves. The rows of `t.T` end to end lie at the places 0 3 1 4 2 5: no steady step, so `view`, which never copies, refuses, and `reshape` copies without telling you. `contiguous()` wants the rows end to end in memory, and copies unless they are. A list or mask may pick any places, so indexing with one copies.

# %% tags=["C08.2"]
turned = t.T
print("strides", t.stride(), "and turned", turned.stride())
with expect_error(RuntimeError, "view size is not compatible with input tensor's size and stride"):
    turned.view(6)
print("reshape gives a view:", t.reshape(6)._is_view(), turned.reshape(6)._is_view())
assert t.contiguous() is t  # nothing to do: the tensor itself
assert turned.contiguous().data_ptr() != t.data_ptr()  # a copy in the new order

# %% [markdown]
# **One base for all.** However often you cut, the `_base` of a view is the first tensor, not the view that it was cut from. A write to a copy is lost, silently. `y[[0]] *= 10` works all the same, because Python assigns the result back to `y[[0]]`. And `detach()` shares memory and counter, but has no base: add 1 to it, and the numbers of `y` change while its history does not (lesson 09).

# %% tags=["C08.3", "C08.4"]
assert corner._base is y and row._base is y  # corner was made from turned
print("corner begins", (corner.data_ptr() - y.data_ptr()) // 4, "places after y")  # 4 bytes each
with torch.no_grad():
    y[[0]].mul_(10)
    print("lost:   ", y.tolist(), "version", y._version)
    y[[0]] *= 10
    print("written:", y.tolist(), "version", y._version)
print("base of a detach():", y.detach().add_(1)._base, " numbers:", y.tolist(), y.grad_fn.name())

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
# y = x * 2
# v = y[1:]
# v.mul_(10)
# y.sum().backward()
# ```
#
# After the multiplication `y` holds `[2., 40., 60.]`. But the operation was done to `v`, and backward begins at `y`.
#
# ## Predict
#
# What is `x.grad`? Answer with a list of three numbers, or with `"error"`.

# %%
L.predict("08.p2", None)

# %% [markdown]
# ## Run
#
# Look at the `grad_fn` of both, before the write and after it. The two asserts say where the new nodes lead.

# %% tags=["C08.5"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
v = y[1:]
before, old_node = draw(y, v), y.grad_fn
print("before:", y, v)
v.mul_(10)
after = draw(y, v)
print("after: ", y, v)
assert y.grad_fn.next_functions[0][0] is old_node
assert v.grad_fn.next_functions[0][0] is y.grad_fn
y.sum().backward()
print("x.grad:", x.grad)

# %% [markdown]
# ## See
#
# A drawing is a snapshot. `compare` lays out two of them in the same places and marks what differs; these were taken just before the write and just after it.

# %%
compare(before, after)

# %% [markdown]
# **Notice:**
#
# - Before, `v`'s node stood on `y`'s: the part was computed from the whole. Now `y` hangs on `CopySlices`, which stands on `y`'s old node.
# - `SliceBackward0` is gone. `v` has a new node, `AsStridedBackward0`, above `CopySlices`: again the part is computed from the whole, and the whole is the written one.
# - No node called `MulBackward0` was added for `mul_(10)`. It is packed inside `CopySlices`.
#
# ## Explain
#
# **The base's history is rewritten.** `CopySlices` means "the old base, with one part replaced". Backward through it copies the incoming gradient, sends the replaced part through the operation that wrote (its node is packed inside), and leaves the rest as it came. If that operation had another operand, such as `w` here, that one gets its gradient too. To check such a rule, build the same numbers without writing: values and gradients must agree.

# %% tags=["C08.6"]
def built(x, w):
    y = x * 2
    return torch.cat([y[:1], y[1:] * w])


x, w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor(10.0, requires_grad=True)
z = x * 2
z[1:].mul_(w)
for y in (z, built(x, w)):
    print(y.tolist(), [g.tolist() for g in torch.autograd.grad((y * y).sum(), (x, w))])

# %% [markdown]
# **An assignment is a write too.** `y[0] = w` copies `w` into the view `y[0]`. What stood there before has no influence any more, so its gradient is zero; the gradient of the place goes to `w`. The target need not have had a history: a buffer of plain zeros gets a history with the first assigned value that requires grad, and from then on it is a computed tensor, not a leaf.

# %% tags=["C08.7"]
y = x * 2
y[0] = w
y.backward(torch.tensor([1.0, 1.0, 1.0]))
print(x.grad, w.grad)
buffer = torch.zeros(3)
buffer[1] = w
print(buffer, "leaf:", buffer.is_leaf)

# %% [markdown]
# **Old views catch up.** A view notes the version at which its `grad_fn` was right. When you ask for it later, the counter is compared; if the base was written to in between, the view gets a fresh `AsStridedBackward0` on top of whatever the base is now. So `old` below, made before the write, gives the gradient of what it shows now. It is the counter of lesson 07 again, used to repair instead of refusing.

# %% tags=["C08.8"]
x.grad = None
y = x * 2
old = y[:2]
print(old)
y[1:].mul_(10)  # through another view, overlapping in one place
print(old)
old.sum().backward()
print(x.grad)

# %% [markdown]
# **Open our engine.** The first function runs after a recorded write. `node` belongs to the operation that wrote; a tensor that is no view simply gets it as its history. For a view, `gradient_edge(view.base)` is the base's old history, and `geometry` the recipe of the part within the base. The second answers backward for `CopySlices`: copy the gradient, cut out the part, let `fn`, the packed node, turn it, put it back. PyTorch's pair is in `variable.cpp` and `functions/tensor.cpp`.

# %% tags=["engine"]
show("engine.views.rebase_history")
show("engine.views.CopySlices.to_array")

# %% [markdown]
# ## Break it
#
# **A view of a leaf.** If a write through a view of a leaf were recorded, the leaf would get `CopySlices` as its history. It would be no leaf any more, and no `.grad` would be stored in it. So the write is refused at once. `x[0] = 5.0` is such a write, and so is the line `b[:, 4] += …` that raises the biases of a YOLO detector, `b` being a view of the bias. The cure says what you mean, that this write is no part of the computation: put it under `no_grad`.
#
# **Many views from one call.** `unbind`, `split` and `chunk` make several views with a single node. Autograd does not take one of them out of the shared node to give it a history of its own; it refuses the write. `for row in y` calls `unbind` behind your back, and `a, b, c = y` does too. Index instead, `y[i]`, or work out of place. Writing to the base is allowed, but from then on the old outputs may not be computed with.

# %% tags=["C08.9", "P4"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with expect_error(RuntimeError, "a view of a leaf Variable that requires grad is being used"):
    x[0] = 5.0
bias = torch.zeros(6, requires_grad=True)  # two anchors, three numbers each
b = bias.view(2, 3)
with expect_error(RuntimeError, "a view of a leaf Variable that requires grad is being used"):
    b[:, 1] += 1.5
with torch.no_grad():
    x[0] = 5.0
print(x, "leaf:", x.is_leaf, "version", x._version)

# %% tags=["C08.10", "P19"]
y, plain = x * 2, torch.ones(3)
with expect_error(RuntimeError, "Output 0 of Unbind is a view and is being modified inplace"):
    for number in y:
        number.mul_(2)
for i, number in enumerate(plain):
    number.mul_(2)  # no history, no objection
    y[i].mul_(2)  # a view of its own each time
first, rest = y.split([1, 2])
y.mul_(3)
with expect_error(RuntimeError, "its base or another view of its base has been modified inplace"):
    first.sum()
print(y, plain)

# %% [markdown]
# **Elements that share a place.** `expand` repeats without copying: stride 0, the same place again and again. "Add one to each" would have no clear meaning there, and is refused. `clone()` first.
#
# **A view made inside, a write outside.** The view was made under `no_grad`, the write comes outside. Is the write to be recorded or not? The two places say different things, so PyTorch refuses and asks you to decide: make both inside the block, or both outside. (A view made outside may be written to inside. That is counted and not recorded.)
#
# **A relative: hooks and in-place ReLU.** A module (a layer, such as `nn.Linear`) with a full backward hook sends a result that requires grad through a custom Function, which hands out a view. An in-place ReLU behind it is refused in the same way. Use the ReLU that is not in place.
#
# **A stale view.** The nastiest one raises only at backward. `sin` saved `rest`; then somebody wrote to `first`, a *different* part. One counter serves the whole memory, so the saved view counts as changed. The message names a node that you never called, `AsStrided`: the one that a view gets after a write. When you read it, look for a write to any part of the tensor that the view was cut from. (If the whole was saved and a part written, it says `CopySlices`; under `no_grad`, the node that made the whole.) This is how a loop `out[t + 1] = out[t] * w` fails. Give the saved part memory of its own. In the picture, taken before the backward that fails, `rest` still holds 2 and 3, and yet the slot is STALE.

# %% tags=["C08.11", "C08.12", "C08.14", "P19"]
e = torch.ones(1).expand(3)
with expect_error(RuntimeError, "more than one element of the written-to tensor refers to a single memory"):
    e.add_(1)
print("stride", e.stride(), "and after clone()", e.clone().add_(1))
with torch.no_grad():
    v = y[1:]
with expect_error(RuntimeError, "A view was created in no_grad mode and is being modified inplace"):
    v.mul_(2)
layer = torch.nn.Linear(3, 3)
layer.register_full_backward_hook(print)
with expect_error(RuntimeError, "Output 0 of BackwardHookFunction is a view and is being modified inplace"):
    layer(x).relu_()

# %% tags=["C08.13"]
y = x * 1
first, rest = y[:1], y[1:]
z, whole, cured = rest.sin(), y.sin(), rest.clone().sin()
first.mul_(2)
failing = draw(z)
with expect_error(RuntimeError, "output 0 of AsStrided, is at version 1; expected version 0"):
    z.sum().backward()
with expect_error(RuntimeError, "output 0 of torch::autograd::CopySlices, is at version 1"):
    whole.sum().backward()
cured.sum().backward()
print(x.grad[1:], "is the cosine of", x.tolist()[1:])
failing

# %% [markdown]
# ## Exercises
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
# **08.2 · Which happens?** (9 minutes). In every program `x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)`, and at the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the gradient of the numbers that `y` holds).
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

L.check("08.2", happens)

# %% [markdown]
# **08.3 · Walk the histories** (5 minutes). From each of `y`, `old` and `new`, after the last line, follow `grad_fn` and then always `next_functions[0]`. Write down the names of the nodes that you meet, as `type(node).__name__` gives them, the first one first and `"AccumulateGrad"` last.
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

L.check("08.3", walks)

# %% [markdown]
# **08.4 · The detector's biases** (4 minutes). `b` is a leaf that requires grad and an optimizer already holds it: `anchors` groups of equally many numbers, one after another. Number 4 of each group is to start `prior` higher. Repair the function: afterwards the same `b` holds the new numbers, is still a leaf that requires grad, and its counter has noticed the write.

# %%
def start_biases(torch, b, anchors, prior):
    rows = b.view(anchors, -1)
    rows[:, 4] += prior


L.check("08.4", start_biases)

# %% [markdown]
# **08.5 · A gate** (4 minutes). Half of the columns decide how much of the other half gets through. `h` is a computed tensor. Repair the function so that it returns the number which it was meant to return, with the right gradient.

# %%
def gated(torch, h):
    a, b = h.chunk(2, dim=1)
    b.sigmoid_()
    return (a * b).sum()


L.check("08.5", gated)

# %% [markdown]
# **08.6 · Filling a buffer** (8 minutes). A simulation writes each state into its place of a tensor. `x0` and `w` are leaves with one number, and the check takes gradients of the result for both. As it stands, backward raises. Repair it; the result has `steps + 1` numbers, `x0` first.

# %%
def simulate(torch, x0, w, steps):
    out = torch.zeros(steps + 1)
    out[0] = x0
    for t in range(steps):
        out[t + 1] = out[t] * w
    return out


L.check("08.6", simulate)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C08.1 views and copies | views at version 1, copies at 0 | `test_c08_1` |
# | C08.2 reshape and contiguous | True, then False | `test_c08_2` |
# | C08.3 one base for all | the base of `corner` is `y` | `test_c08_3` |
# | C08.4 writes to copies are lost | lost, then written | `test_c08_4` |
# | C08.5 the base's history is rewritten | CopySlices on the old node | `test_c08_5` |
# | C08.6 the gradient is right | two equal lines | `test_c08_6` |
# | C08.7 assignment | 0 for the replaced, 1 for `w` | `test_c08_7` |
# | C08.8 old views catch up | Slice, then AsStrided | `test_c08_8` |
# | C08.9 views of leaves | two errors; under `no_grad` version 1 | `test_c08_9` |
# | C08.10 many views from one call | two errors | `test_c08_10` |
# | C08.11 expanded tensors | stride 0, and an error | `test_c08_11` |
# | C08.12 views made under `no_grad` | an error | `test_c08_12` |
# | C08.13 stale views | two errors; `clone()` cures it | `test_c08_13` |
# | C08.14 a hook and `relu_` | an error | `test_c08_14` |
#
# The tests are in `tests/claims/test_claims_08.py`. They run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** PyTorch has views of complex numbers (`view_as_complex`, `imag`), which we leave out with the complex numbers. Where a view cannot be described by strides it keeps a function that takes it again, and uses that in place of `AsStrided`. `fill_` and `zero_` are let through on an expanded tensor, because all elements get the same number. A write to memory shared through `detach()` or with NumPy is recorded by nobody. Lesson 09 shows what that costs.
#
# **Next:** lesson 09 puts `detach`, `.data`, `clone` and `no_grad` side by side: who shares memory, who shares the counter, who stays in the graph. To read on here: `grad_fn` in `course_lib/engine/views.py` is the 20 lines by which old views catch up.
