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
# The program runs in the next cells. Nothing is wrong with its arithmetic. What makes it fail is that `out[t]` and `out[t + 1]` are not separate tensors. They are two windows onto one piece of memory, and PyTorch keeps *one* record of what happens there. Such windows are called *views*. They are everywhere: every slice is one, and every transpose.
#
# After this lesson you can
#
# - look at an expression and say whether it copies or shares memory;
# - say what happens to the history of a tensor when you write to a part of it;
# - read PyTorch's messages about views, and choose the right cure for each;
# - fill a tensor piece by piece without breaking its gradient.
#
# **Minutes** 90, in two sittings if you like: there is a rest in the middle · **Needs** lessons 00, 05, 06 and 07 · **Out of scope** `detach` and `no_grad` as ways out of the graph (lesson 09), views that custom Functions make (lesson 11)
#
# [← 07 Version counters](07_version_counters.ipynb) · [all lessons](home.ipynb) · [09 Ways out →](09_ways_out.ipynb)

# %%
import course_lib as torch
from backscope import compare, draw
from coursekit import expect_error, lesson, show

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
# The last exercise of this lesson is to repair a program like this one. By then you will know what each word of the message means. We begin with the question on which everything else depends.
#
# ## Which of these share memory with `t`?
#
# Here are eight tensors that are made from a tensor `t` with two rows and three columns. Some of them look at the memory of `t`; others get a memory of their own, with copies of the numbers.
#
# ```python
# a = t[0]             # each with t = torch.zeros(2, 3)
# b = t.T              # rows become columns
# c = t.reshape(6)
# d = t.T.reshape(6)
# e = t[[0]]           # a list of rows, with one row in it
# f = t.clone()
# g = t[:, 1:]
# h = t[t == 0]        # a mask: those elements for which it is true
# ```
#
# You can find out without running anything. In memory, `t` is six numbers in a row. A tensor that looks at somebody else's memory is described by three things: its shape, the place at which it begins, and how far to walk for one step in each dimension. So two questions decide. Can its elements be reached in the memory of `t` with one fixed step for each dimension? And is that known before the program runs, whatever stands in a list or a mask? If the answer to both is yes, PyTorch shares the memory, unless the call exists to make a copy.
#
# **Predict.** Each of the eight is now filled with sevens in place, `a.fill_(7)` and so on, every time with a fresh `t`. After which of them does `t` contain sevens? Answer with a list of letters.

# %%
L.predict("08.p1", None)

# %% [markdown]
# Eight writes would be eight programs. One write is enough if we turn the question round: we write to `t`, and ask each of the eight whether it is a view. (The last four rows are further examples. `unbind()` gives the rows of a tensor as separate tensors.)
#
# A tensor that shares the memory also shares the version counter, which says 1 now. `stride()` tells how many places to walk for one step in each dimension, and `storage_offset()` at which place to begin.

# %% tags=["C08.1"]
t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
made = {"a = t[0]": t[0], "b = t.T": t.T, "c = t.reshape(6)": t.reshape(6)}
made |= {"d = t.T.reshape(6)": t.T.reshape(6), "e = t[[0]]": t[[0]], "f = t.clone()": t.clone()}
made |= {"g = t[:, 1:]": t[:, 1:], "h = t[t > 0]": t[t > 0], "t.unsqueeze(0)": t.unsqueeze(0)}
made |= {"t[0].expand(2, 3)": t[0].expand(2, 3), "t.unbind()[1]": t.unbind()[1], "t + 0": t + 0}
t.mul_(10)
for name, m in made.items():
    kind = "view" if m._is_view() else "copy"
    print(f"{name:18} {kind}  version {m._version}  stride {m.stride()}  offset {m.storage_offset()}")

# %% [markdown]
# Read a few lines of the table. `t[:, 1:]` begins at place 1, walks 3 places to the next row and 1 place to the next column. `t.T` moves no number at all: it has the two strides of `t` in the other order. `t[0].expand(2, 3)` has the stride 0: for the next row it walks nowhere and reads the same row again.
#
# A list or a mask may pick any places in any order. Fixed steps cannot describe that in general, so indexing with one always copies, even when the places that it picks happen to lie in fixed steps. `clone()` and arithmetic always give new numbers: that is what they are for.
#
# > **The rule.** A *view* is a recipe (shape, strides, offset) for reading the memory of another tensor, which is called its *base*. What no such recipe can describe has to be copied, and lists, masks, `clone()` and arithmetic always copy.
#
# ## When does `reshape` copy?
#
# That depends, and it does not tell you. The rows of `t.T` end to end lie at the places 0, 3, 1, 4, 2, 5 of the memory, and no fixed steps lead there. `view` never copies, so it refuses. `reshape` gives a view when it can and a copy when it must. And `contiguous()` wants the rows end to end in memory: it copies unless they lie so already.

# %% tags=["C08.2"]
turned = t.T
print("strides", t.stride(), "and turned", turned.stride())
with expect_error(RuntimeError, "view size is not compatible with input tensor's size and stride"):
    turned.view(6)
print("reshape gives a view:", t.reshape(6)._is_view(), turned.reshape(6)._is_view())
assert t.contiguous() is t  # nothing to do: the tensor itself
assert turned.contiguous().data_ptr() != t.data_ptr()  # a copy in the new order

# %% [markdown]
# In the next picture are two views, a view of a view, and a copy. This time the tensors have a history.

# %%
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x * 1
row, turned, copy = y[0], y.T, y.clone()
corner = turned[1, 1:]
draw(row, corner, copy)

# %% [markdown]
# **Notice:**
#
# - The dashed frame holds `y` and its views. That is one memory, with one counter. The copy is outside of it.
# - In the *graph* all of them are alike. Taking a view is an operation with a node, just as copying is, and gradients flow through both. `.T` is recorded as `PermuteBackward0`, an index that is a number as `SelectBackward0`, and a range such as `1:` as `SliceBackward0`.
# - `corner` was cut out of `turned`, first with a number and then with a range, so two nodes lead from it to the node of `turned`. Yet it calls itself a view of `y`. However often you cut, the base is the first tensor.
# - A dashed purple arrow leads from a base to a view that was taken directly from it. `corner` was computed from `turned`, so a blue arrow, that of any result, leads to it from there.
#
# ## Where does a write to a copy go?
#
# A write to a view arrives in the base. A write to a copy is lost, and there is no error: the numbers went into a tensor that the program never looks at again.
#
# There is one trap here, into which even experienced people fall. `y[[0]].mul_(10)` is lost, but `y[[0]] *= 10` works. Python turns the second line into two steps: multiply the copy, and then assign the result back, `y[[0]] = …`.
#
# Python takes these two steps with a view as well (lesson 07). `y[1:] += 5` adds to the view, and then executes `y[1:] = (the view)`, which copies the view onto itself. The numbers come out right, but the memory was written to twice, and the counter says so.

# %% tags=["C08.3", "C08.4"]
print("y is the base of corner:", corner._base is y, " and of row:", row._base is y)
with torch.no_grad():
    y[[0]].mul_(10)
    print("lost:   ", y.tolist(), "version", y._version)
    y[[0]] *= 10
    print("written:", y.tolist(), "version", y._version)
    y[1:] += 5
    print("twice:  ", y.tolist(), "version", y._version)
print("base of a detach():", y.detach().add_(1)._base, " numbers:", y.tolist())

# %% [markdown]
# The last line shows a relative. `detach()` shares the memory as well, so adding 1 to it changed the numbers of `y`. But it has no base. It stands outside of the graph on purpose (lesson 09).
#
# ## You write to a part: what is the gradient of the whole?
#
# Until now nothing had to be differentiated. Now the tensors have a history, and the write is recorded:
#
# ```python
# x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
# y = x * 2
# v = y[1:]
# v.mul_(10)
# y.sum().backward()
# ```
#
# After the multiplication `y` holds `[2., 40., 60.]`. But the operation was done to `v`, and backward begins at `y`. Nothing was ever assigned to `y` after the second line.
#
# **Predict.** What is `x.grad`? Answer with a list of three numbers, or with `"error"`.

# %%
L.predict("08.p2", None)

# %% [markdown]
# Look at the `grad_fn` of both tensors, before the write and after it. The two asserts say where the new nodes lead.

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
# `y` has learned of the write: its `grad_fn` is a node that was not there before. `compare` shows the two moments together and marks what differs.

# %%
compare(before, after)

# %% [markdown]
# **Notice:**
#
# - Before the write, the node of `v` led to the node of `y`: the part was computed from the whole. Now `y` has a node called `CopySlices`, and this one leads to the old node of `y`.
# - `SliceBackward0` is gone. `v` has a new node, `AsStridedBackward0`, which leads to `CopySlices`. So the part is again computed from the whole, but from the *written* whole. ("As strided" is PyTorch's name for "read it with these strides".)
# - There is no new node called `MulBackward0` for `mul_(10)`. It is packed inside of `CopySlices`.
# - `CopySlices` has a second arrow, which leads to nothing. It belongs to the second operand of the write. Here that is 10, a plain number, which wants no gradient.
#
# `CopySlices` means "the old base, with one part replaced". On the way back it does three things. It copies the gradient that arrives. It sends the replaced part through the operation that wrote, here through the product with 10. The rest it leaves as it came. If the operation had a second operand, that one gets its gradient as well.
#
# You can check such a rule without trusting anybody: build the same numbers without writing, and compare. Here `w` is the second operand, and `built` makes the same tensor with `cat`.

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
# > **The rule.** A recorded write to a part rewrites the history of the whole: the base becomes "the old base, with this part replaced".
#
# ## And if the part is not changed, but replaced?
#
# `y[0] = w` is a write as well. It copies `w` into the view `y[0]`. What stood there before has no influence on anything that follows, so its gradient is zero. The gradient of that place goes to `w`.
#
# The tensor on the left need not have had a history. This is what happens in the loop of the beginning: `out` starts as a plain buffer of zeros, and no gradient is wanted for it. In the moment in which something that requires grad is assigned to a part of it, the whole buffer becomes a computed tensor.

# %% tags=["C08.7"]
y = x * 2
y[0] = w
y.backward(torch.tensor([1.0, 1.0, 1.0]))
print(x.grad, w.grad)
buffer = torch.zeros(3)
print(buffer, "leaf:", buffer.is_leaf)
buffer[1] = w
print(buffer, "leaf:", buffer.is_leaf)

# %% [markdown]
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
y = x * 2
old = y[:2]
with torch.no_grad():
    y.mul_(1)
print("after a write that is not recorded:", y.grad_fn.name(), old.grad_fn.name())

# %% [markdown]
# Its numbers have changed, of course: it is the same memory. But its `grad_fn` has changed too, from `SliceBackward0` to `AsStridedBackward0`, and its gradient is right: 20 for the number that was multiplied.
#
# The way in which this works is simple. A view notes at which version its `grad_fn` was right. When you ask for the `grad_fn` later, the view compares the counter of the memory. If somebody has written in between, whether that write was recorded or not, it takes itself anew from whatever the base is now. (Views that came several from one call, as from `split`, cannot do this: see below.) This is the version counter of lesson 07 again. There it was used to refuse. Here it is used to repair.
#
# **How our engine does it.** What `CopySlices` does on the way back are the three things from above. For a write with one operand, and without the arithmetic of strides, it is this, where `fn` is the packed node:
#
# ```python
# def apply(self, grad):
#     whole = grad.copy()                # copy what arrives
#     part = self.part_of(whole)         # a view of the part that was written to
#     part[...] = self.fn(part)          # send the part through the operation that wrote
#     return whole                       # the rest is left as it came
# ```
#
# And this runs after each recorded write. `node` is the node of the operation that wrote:

# %% tags=["engine"]
show("engine.views.rebase_history")

# %% [markdown]
# - `if view is None`: a tensor that is no view gets `node` as its `grad_fn`, which is what `set_history` does.
# - `base_edge` is where the base's gradient went before. `init_node` gives the `CopySlices` its arrows. The first leads there; further operands of the write, `node.edges[1:]`, keep theirs.
# - `slices.fn = node` packs the operation that wrote. `geometry` is the recipe of the part within the base.
# - `set_history(view.base, slices)`: the *base* has a new history.
# - The last two lines give the view its new node, of which it is result number 0, the only one. The function `grad_fn` is what runs when you read the attribute `.grad_fn`. So older views catch up when they are asked, and the view that was written to is asked at once.
#
# ## A rest
#
# You know now what a view is and what a write to it does. That is half of the lesson, and a good place for a cup of tea. The second half is about the writes that PyTorch refuses. You will meet some of them at work.
#
# ## Which writes are refused, and why?
#
# Some writes are refused at once, in the line that writes. In each of them PyTorch could not tell what you mean, or could not keep the graph right. Here are the six that have to do with views. The first three are frequent; we run them one by one. (The third is a read, after a write.)
#
# | the message says | what you do | what to do instead |
# | --- | --- | --- |
# | "a view of a leaf Variable that requires grad" | you write to a part of a leaf that requires grad | is the write no part of the computation? `with torch.no_grad():`. Is it one? Work on a computed tensor, `x * 1` or `x.clone()` |
# | "This view is the output of a function that returns multiple views" | you write to one of several views from one call: `unbind`, `split`, `chunk`, or `for row in y` | index, `y[i]`, or work out of place |
# | "its base or another view of its base has been modified inplace" | you compute with one of several views from one call, after a write to their base | take the piece after the write, by an index |
# | "more than one element of the written-to tensor refers to a single memory location" | you write to an expanded tensor, with `add_` or `mul_`. One place is several of its elements: is 1 added to it, or 3? | `clone()` first |
# | "A view was created in no_grad mode" | you write, outside of `no_grad`, to a view that was made inside, of a tensor with a history. Made inside, it says: do not record. Written to outside, the write says: record | both inside of `no_grad`, or both outside |
# | "Output 0 of BackwardHookFunction is a view" | you let a `ReLU(inplace=True)` write to the result of a module with a backward hook (lesson 12). PyTorch puts a node of its own behind such a module, and hands out a view | use the ReLU that is not in place |
#
# **A view of a leaf** is by far the most frequent. If a part of a leaf were replaced, the leaf would become a computed tensor, and no `.grad` would be stored in it any more. This stops even `x[0] = 5.0`. The cell shows both cures. In the first, the value of `x` is another one from the start. In the second, the write leaves `x` alone, and its first number gets the gradient 0, since it has no influence any more.

# %% tags=["C08.9", "P4"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with expect_error(RuntimeError, "a view of a leaf Variable that requires grad is being used"):
    x[0] = 5.0
with torch.no_grad():
    x[0] = 5.0
print(x, "leaf:", x.is_leaf, "version", x._version)
y = x * 1
y[0] = 7.0
y.sum().backward()
print(y, "gradient", x.grad)

# %% [markdown]
# **Several views from one call** are the second kind. `for number in y` looks harmless, but it calls `unbind` behind your back, and so does `a, b, c = y`. All pieces come from one node, which waits for the gradients of all of them together. After a write, one piece would need a node of its own, and it cannot be taken out of the old one. Without a history there is nothing to protect, and the same loop is allowed.

# %% tags=["C08.10", "P19"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y, plain = x * 2, torch.ones(3)
with expect_error(RuntimeError, "Output 0 of Unbind is a view and is being modified inplace"):
    for number in y:
        number.mul_(2)
for number in plain:
    number.mul_(2)  # no history, no objection
for i in range(3):
    y[i].mul_(2)  # a view of its own each time
print(plain, y)

# %% [markdown]
# The third is the other direction, which is allowed at first: you may write to the *base*. But from then on the old pieces are of no use. The error comes when you compute with one, so this is a *read* that raises:

# %% tags=["C08.10"]
first, rest = y.split([1, 2])
y.mul_(3)
with expect_error(RuntimeError, "its base or another view of its base has been modified inplace"):
    first.sum()
print(y[:1].sum())  # taken after the write

# %% [markdown]
# And the last three rows of the table. Look at their messages when you need them.

# %% tags=["C08.11", "C08.12", "C08.14", "P19"]
e = torch.ones(1).expand(3)
with torch.no_grad():
    v = y[1:]
layer = torch.nn.Linear(3, 3)
layer.register_full_backward_hook(print)
for write in (lambda: e.add_(1), lambda: v.mul_(2), lambda: layer(x).relu_()):
    try:
        write()
    except RuntimeError as error:
        print(str(error)[:100], "…")
print("the expanded one after clone():", e.clone().add_(1))

# %% [markdown]
# All of these raise at once, in the line in which you do it. That is unpleasant, but it is easy to find. The loop from the beginning is different: its writes are all allowed, and the error comes later.
#
# ## So what was modified in the loop?
#
# Here is the same situation with two views and nothing else. `first` and `rest` are *different* parts of `y`. Four results are computed, and then we write to `first`. (`sin` saves what it is given, because its slope is the cosine of that.)
#
# ```python
# x = torch.tensor([5.0, 2.0, 3.0], requires_grad=True)
# y = x + 0
# first, rest = y[:1], y[1:]
# part = rest.sin()
# whole = y.sin()
# copied = rest.clone().sin()
# added = rest + 1
# first.mul_(2)
# ```
#
# **Predict.** For which of `part`, `whole`, `copied` and `added` does `.sum().backward()` raise? Answer with a list of names; it may be empty.

# %%
L.predict("08.p3", None)

# %% tags=["C08.13"]
x = torch.tensor([5.0, 2.0, 3.0], requires_grad=True)
y = x + 0
first, rest = y[:1], y[1:]
part, whole, copied, added = rest.sin(), y.sin(), rest.clone().sin(), rest + 1
first.mul_(2)
failing = draw(part)
with expect_error(RuntimeError, "output 0 of AsStrided, is at version 1; expected version 0"):
    part.sum().backward()
with expect_error(RuntimeError, "output 0 of torch::autograd::CopySlices, is at version 1"):
    whole.sum().backward()
copied.sum().backward()
print(x.grad[1:], "is the cosine of", x.tolist()[1:])
added.sum().backward()

# %%
failing

# %% [markdown]
# **Notice:** This is the graph of `part`, which was computed before the write. Since the write `y` and its views have other nodes, so they are marked *not in this graph*. `rest` still holds 2 and 3: not one of the numbers that node 3 saved has changed. And yet the note is orange and says STALE.
#
# The reason is the counter. There is one for the whole memory, not one for each part. It counts that *somebody* wrote *somewhere*. PyTorch does not look whether the two parts overlap; it compares two numbers. So it refuses, to be safe.
#
# Now you can read the message, "output 0 of AsStrided". It calls a tensor by the name of its node, without the ending `Backward0`. When `rest` was saved, its node was a `SliceBackward0`: that is node 2 of the picture. But the saved view is asked for its `grad_fn` only now, when the message is put together. By now the view has caught up, as `old` did above, and its node is an `AsStridedBackward0`. So the word `AsStrided` means: a *view* was saved, and later somebody wrote to the memory that it looks at. Look for a write to *any* part of the tensor from which the view was cut.
#
# The second message in the cell names `torch::autograd::CopySlices`, which is how this node writes its name in full. There the *whole* was saved, and then a part was written.
#
# In the loop, `out[t] * w` saves the view `out[t]`, because the gradient of `w` will need it. The assignment to `out[t + 1]` then writes into the same memory. Here are two steps of it. The list keeps the views, so that they have names in the picture.

# %%
w = torch.tensor(0.5, requires_grad=True)
out = torch.zeros(3)
out[0] = 8.0
states = []
for t in range(2):
    states.append(out[t])
    out[t + 1] = states[t] * w
draw(out, *states)

# %% [markdown]
# **Notice:**
#
# - Each of the two products, nodes 1 and 4, has saved a state, and both notes are STALE. The first was saved at version 1 and the second at version 2. The memory that they look at is at version 3.
# - After each product a `CopySlices` puts its result into `out`. There were three writes, but `out[0] = 8.0` left no node: nothing had a history yet.
# - The states lead to `CopySlices` now, each by an `AsStridedBackward0`. That is the name which the message gives to them.
#
# Now you can read the numbers in the first message. The loop at the beginning makes one step more, so its four writes made the versions 1, 2, 3 and 4. The last product saved `out[2]` at version 3, and the last assignment made it 4. Backward meets the last product first: "is at version 4; expected version 3". And `[torch.FloatTensor []]` is the shape of what was saved, with nothing between the brackets, because `out[2]` is a single number.
#
# > **The rule.** One memory has one counter. A write to any part makes every saved view of that memory stale, also views of parts that were not touched.
#
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
# When the checkpoint says *correct*, your engine notices a write that goes through a view. In its picture `p`, `r` and `t` stand in one dashed frame: one memory, one counter. (There are no purple arrows, since a view in your engine does not know its base.)
#
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
# **08.2 · Which happens?** (9 minutes). In every program `x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)`, and at the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the gradient of the numbers that `y` holds). For J, look at the last row of the table of refusals.
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
# **08.4 · The detector's biases** (4 minutes). A detector of objects (YOLO is one) looks around a number of places, its *anchors*, each with a few biases, and one bias of each is to start higher. `b` is a leaf that requires grad and an optimizer already holds it: `anchors` groups of equally many numbers, one after another. Number 4 of each group is to start `prior` higher. Repair the function: afterwards the same `b` holds the new numbers, is still a leaf that requires grad, and its counter has noticed the write.

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
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/08_views/claims.py`).
#
# *View or copy?*
#
# - **C08.1** Slices, single rows, transpose, unsqueeze, expand and unbind give views, which share memory and version counter with their base; clone, arithmetic, and indexing with a list or a mask give copies.
# - **C08.2** reshape gives a view where strides can describe the result and a copy where they cannot; contiguous() gives back the tensor itself when it is contiguous already, and a copy when it is not.
# - **C08.3** The `_base` of a view is the first tensor and never another view; a detach() shares the memory but has no base.
# - **C08.4** An in-place operation on a copy, such as `y[[0]].mul_(10)`, raises nothing and leaves y as it was, but `y[[0]] *= 10` writes to y.
#
# *A recorded write to a part*
#
# - **C08.5** A recorded write through a view puts CopySlices on top of the base's old node, and AsStridedBackward0, the view's new node, on top of CopySlices.
# - **C08.6** The gradient through a write to a part is that of the same values built out of place.
# - **C08.7** Assigning to a part sends the gradient to the value assigned and zero to what was replaced, and a plain buffer becomes part of the graph when something that requires grad is assigned to a part of it.
# - **C08.8** A view that came alone from its call gets a new grad_fn when it is asked for one after a write to its base.
#
# *What is refused at once*
#
# - **C08.9** Writing to a view of a leaf that requires grad raises, `x[0] = 5.0` too; under no_grad it is allowed and counted, and the leaf stays a leaf.
# - **C08.10** While recording, outputs of unbind, split and chunk that have a history may not be written to, nor computed with after their base was written to; without a history both are allowed.
# - **C08.11** An expanded tensor may not be written to with add_ or mul_, because several of its elements lie in one place.
# - **C08.12** A view made under no_grad of a tensor with history may not be written to outside no_grad.
# - **C08.14** A module with a full backward hook hands out a result that requires grad as a view made by a custom Function, which may not be written to.
#
# *What is refused at backward*
#
# - **C08.13** A write to one part of a tensor makes a saved view of another part stale, though none of the saved numbers has changed.
#
# **Left out, compared with PyTorch.** PyTorch has views of complex numbers (`view_as_complex`, `imag`), which our engine leaves out with the complex numbers. Where a view cannot be described by strides, PyTorch keeps a function that takes it again, and uses that in place of `AsStrided`. `fill_` and `zero_` are let through on an expanded tensor, because all elements get the same number. A write to memory that is shared through `detach()` or with NumPy is not recorded in any graph; lesson 09 shows what that costs.
#
# **Read on in our engine:** `grad_fn` in `course_lib/engine/views.py` is the 20 lines by which old views catch up.
#
# **Next:** [lesson 09](09_ways_out.ipynb) puts `detach`, `.data`, `clone` and `no_grad` side by side: which of them share the memory, which share the counter, and which stay in the graph.
