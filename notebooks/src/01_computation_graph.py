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
# # 01 · A computation is a graph: what points to what, and for how long?
#
# **Lesson 00 showed that a result remembers how it was made. But which arrows are in memory, and which
# only in your head? What happens to the graph when you use a name again? And who throws it away?** You can
# claim afterwards:
#
# - **C01.1** Arrows lead from a result back to every leaf that requires grad and went into it through recorded operations; from a leaf they lead nowhere.
# - **C01.2** An operation none of whose operands requires grad leaves no node; where a recorded operation could have a slope for its result, an arrow leads to nothing.
# - **C01.3** The digit in a node's name tells forms of one operation apart: `x ** 2` leaves PowBackward0, `x ** x` PowBackward1, `2 ** x` PowBackward2.
# - **C01.4** One call leaves a node for each recorded operation that runs in it: `x.float()` of a float32 tensor none, `x.std()` one, `cross_entropy` two.
# - **C01.5** A result that is used twice is one node with two arrows into it; a result that is computed twice is two nodes.
# - **C01.6** An operation with several results leaves one node, and the second half of an arrow says which result is meant.
# - **C01.7** Names are not in the graph: giving a name to another tensor, or deleting it, changes no arrow.
# - **C01.8** An arrow leads to nothing, to a leaf, or to an operation that ran earlier, so no graph has a cycle.
# - **C01.9** A result keeps the nodes behind it and their leaves alive, but not a tensor in between, unless a node kept it or the result is a view of it.
# - **C01.10** When you let go of a result and of its nodes, its graph goes at once, without waiting for the garbage collector.
# - **C01.11** A number taken out with `item()` is outside the graph: no arrow leads back through it.
#
# **Minutes** 60 · **Needs** lesson 00 · **Opens** the code that runs when you call `exp` · **Out of scope** what
# nodes keep for later (lesson 06), the order of the backward pass (04)

# %%
import course_lib as torch
from course_lib.teach import draw, expect_error, lesson, show
from course_lib.teach.exercises.lesson_01 import pictures

L = lesson(1)

import copy
import gc
import weakref

# %% [markdown]
# ## Question
#
# ```python
# w = torch.tensor(2.0, requires_grad=True)
# x = torch.tensor(5.0)  # plain data
# p = w * x
# q = x + 1
# y = p * p + q
# ```
#
# On paper you would draw two values, four operations, one result. How much of that
# drawing is in memory?
#
# ## Predict
#
# First: how many backward nodes are behind `y`? Count one for each recorded operation, and
# one for each leaf that requires grad.
#
# Second: you hold one of the tensors `w`, `x`, `p`, `q`, `y` and follow arrows, starting at its `grad_fn`.
# From which of the five do you get to the accumulator of `w`? Answer with a list of names.

# %%
L.predict("01.p1", None)

# %%
L.predict("01.p2", None)

# %% [markdown]
# ## Run

# %%
w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(5.0)  # plain data
p = w * x
q = x + 1
y = p * p + q
print(y, q)

# %% [markdown]
# ## See
#
# `detail=0` leaves out contents and the row of what nodes keep. What remains is the graph.

# %%
draw(y, detail=0)

# %% [markdown]
# **Notice:**
#
# - The blue arrows are the drawing on paper, put in for you: nothing in memory corresponds to them. The black
#   ones exist, and run the other way. So do the dotted (a result's `grad_fn`) and the green (`variable`).
# - `p` is used twice: two black arrows, 0 and 1, run into one box.
# - `q` is not there. Of the addition's two arrows you see number 0; number 1 leads to nothing.
#
# ## Explain
#
# **One direction only.** Slopes travel from the result to the leaves, so these are the arrows that get
# built. A leaf does not know what was made of it: you cannot ask `w`
# which losses depend on it.

# %% tags=["C01.1"]
add = y.grad_fn
square = add.next_functions[0][0]
product = square.next_functions[0][0]
accumulate = product.next_functions[0][0]
assert accumulate.variable is w  # four steps from y
print(accumulate.next_functions, w.grad_fn)  # and no step from w

# %% [markdown]
# **Recorded if somebody will ask.** `x + 1` has no operand that requires grad. No slope will ever be wanted
# on that side, so the operation leaves no node, and `q` is as plain as `x`. Where `q` is used, its place in
# the row of arrows is kept free: `(None, 0)`, an arrow to nothing. So the second arrow still belongs to the
# second operand.

# %% tags=["C01.2"]
print(q.grad_fn)
print(add.next_functions[1])  # where q was used
print(product.next_functions[1])  # where x was used

# %% [markdown]
# **Names of nodes.** A node is called after the operation that ran, not after what you typed. One call may run
# several operations (`cross_entropy`, a loss for classification), or none: `float()` makes float32, and hands back
# what is float32 already. And an operation may have several forms, each with its own rule; the digit tells them
# apart. It counts nothing. (`Rsub` is subtraction with the operands reversed.)

# %% tags=["C01.3", "C01.4"]
v = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
for result in (v**2, v**v, 2**v, v - 1, 1 - v, v.std()):
    print(result.grad_fn.name(), end=" ")

loss = torch.nn.functional.cross_entropy(v, torch.tensor([0, 1]))  # two steps inside
print("\n" + loss.grad_fn.name(), loss.grad_fn.next_functions[0][0].name())
print(v.float() is v)

# %% [markdown]
# **Used twice, computed twice.** The value is the same, the graph is not. In `shared`, both arrows run into
# one node; in `repeated`, into two nodes that know nothing of each other. The other way round, some
# operations have several results: `unbind` takes a tensor apart. It leaves *one* node for all of them, and
# now the second half of an arrow matters: it says which result is meant.

# %% tags=["C01.5", "C01.6"]
h = w * x
shared, repeated = h * h, (w * x) * (w * x)
for result in (shared, repeated):
    (left, _), (right, _) = result.grad_fn.next_functions
    print(left is right)
one, two = torch.tensor([1.0, 2.0], requires_grad=True).unbind()
assert one.grad_fn is two.grad_fn  # one node, two results
print([output for node, output in (two / one).grad_fn.next_functions])

# %% [markdown]
# ## Question
#
# ```python
# def run(x):
#     w = torch.tensor(2.0, requires_grad=True)  # a leaf of this run
#     h = x * w
#     h = h + 1  # the name h, used again
#     unused = h.exp()
#     y = h / 3
#     return y, [weakref.ref(t) for t in (w, h, unused)]
# ```
#
# `weakref.ref(t)` is a way to look at `t` without holding it: `look()` gives the tensor as long as it is
# alive, and then None. (Here `x` is a leaf that requires grad, held outside.)
#
# ## Predict
#
# First: start at `y.grad_fn` and follow arrow 0 again and again. Which node names do you meet, in order, before
# the accumulator? A list of strings.
#
# Second: the function has returned, and its local names are gone. Which of the tensors `w`, `h` (the last one
# of that name) and `unused` are still alive? A list of names. (Lesson 00: a product keeps its operands, for
# its slopes are made of them; a sum keeps none.)

# %%
L.predict("01.p3", None)

# %%
L.predict("01.p4", None)

# %% [markdown]
# ## Run


# %%
def run(x):
    w = torch.tensor(2.0, requires_grad=True)  # a leaf of this run
    h = x * w
    h = h + 1  # the name h, used again
    unused = h.exp()
    y = h / 3
    return y, [weakref.ref(t) for t in (w, h, unused)]


x = torch.tensor(4.0, requires_grad=True)
y, looks = run(x)
print([look() is not None for look in looks])

# %% [markdown]
# ## See

# %%
draw(y, detail=0)

# %% [markdown]
# **Notice:**
#
# - Two tensors were called `h`, one after the other; both have a node here, neither has a name.
# - A leaf called "unnamed 1": that is `w`. No variable holds it, the graph does.
# - Nothing of `unused`: arrows run from results to operands, and `y` was not computed from it.
#
# ## Explain
#
# **Names are not in the graph.** `h = h + 1` reads like a circle. It makes a *new* tensor with a new node,
# whose arrow leads to the old node, and then moves the name. Operands exist before the operation runs; so
# every arrow leads to something earlier, and walking always ends. The boxes' numbers in the picture are
# this order; a node knows its own as `_sequence_nr()`.

# %% tags=["C01.7", "C01.8"]
h = x * 2
old = h.grad_fn
h = h + 1  # the name moves, the old node stays
assert h.grad_fn is not old and h.grad_fn.next_functions[0][0] is old
assert old._sequence_nr() < h.grad_fn._sequence_nr()  # an arrow leads to what ran earlier
y2 = h * h
del h  # nobody minds
print(torch.autograd.grad(y2, x))  # the slope of (2x + 1)² at 4

# %% [markdown]
# **Who holds whom.** A result holds its node (dotted arrow), a node those that its black arrows lead to, an
# accumulator its leaf (green): hence `w` lived on. Nobody holds a tensor in between, unless a node keeps it
# (`h / 3` does not, `sin` does), or the result is a *view* of it (lesson 08). Let go of the last result or node
# that you hold, and the rest goes at once: Python counts references. The garbage collector is off.

# %% tags=["C01.9", "C01.10"]
h, g = x * 2, x * 2
s, v, looks = h.sin(), g.view(1), [*looks, weakref.ref(h), weakref.ref(g)]
node, y, h, g = y.grad_fn, None, None, None  # let go of y, h, g, hold a node
print([look() is not None for look in looks])  # w, h, unused, the operand of sin, that of view
gc.disable()
node, s, v = None, None, None
print([look() is not None for look in looks])
gc.enable()

# %% [markdown]
# **Open our engine.** This runs when you call `x.exp()`; the engine writes it, from one line of a table. First
# the value. Then the question whether anybody will ask for slopes: if `self_edge` is None, the result is returned
# as it is. Then the node, its arrows and its number. (The rest is for later: `recording` for lesson 09, `kept_result`
# for 06.) There is no list of nodes: the result's `node` is all. So nobody has to clear up.

# %% tags=["engine"]
show("exp")

# %% [markdown]
# ## Break it
#
# `torch.autograd.grad(y, h)` walks the arrows from `y` in search of `h`. Three ways to fail, and a worse one:
#
# 1. Asking against the arrows: `h` was used for `y`, not the other way round.
# 2. Asking with a name that has moved on: the new `h` has the same value and another node.
# 3. A deep copy of a result. It would need a copy of the history: results refuse.
# 4. `item()` gives a plain Python number, which carries no node. Nothing raises, and the value, 64, is right. The
#    slope of `x * x * x` at 4 is 48; backward sees "16 times x".

# %% tags=["C01.11"]
h = x * 2
y = h * h
with expect_error(RuntimeError, "appears to not have been used in the graph"):
    torch.autograd.grad(h, y)
h = x * 2
with expect_error(RuntimeError, "appears to not have been used in the graph"):
    torch.autograd.grad(y, h)
with expect_error(RuntimeError, "support the deepcopy protocol"):
    copy.deepcopy(h)
cubed = (x * x).item() * x
print(cubed, torch.autograd.grad(cubed, x))

# %% [markdown]
# ## Exercises
#
# Seven graphs of hidden programs. `a` and `b` require grad, `c` does not. A tensor without a
# name is drawn only where a node keeps it, and is called after its own box: `#1`. The black arrows say it all.

# %%
pictures(torch, "ABCDEFG")

# %% [markdown]
# **01.1 · Give the arrows** (4 minutes). **Picture F**: for each numbered box list where its arrows lead,
# operand by operand: a box's number, a leaf's name in quotes (for its accumulator), or `None` for an
# arrow to nothing. Those are not drawn; the operation tells you how many operands there must be.

# %%
arrows = {4: None, 3: None, 2: None, 1: None}

L.check("01.1", arrows)

# %% [markdown]
# **01.2 · Which program was it?** (6 minutes). For each of the pictures A to E, the number of a program
# that leaves exactly this graph: the same nodes, the same arrows in the same order. Where two are right,
# either counts.
#
# | | program | | program |
# | --- | --- | --- | --- |
# | 1 | `h = a * b; y = h * h` | 7 | `y = a * (a * a)` |
# | 2 | `y = (a * b) * (a * b)` | 8 | `y = a ** 3` |
# | 3 | `y = (c * c) * a` | 9 | `y = a`, then twice `y = y * a` |
# | 4 | `y = c * (c * a)` | 10 | `z = (a * b).exp(); y = a.exp() * b` |
# | 5 | `y = a - b` | 11 | `z = a.exp(); y = z * b; del z` |
# | 6 | `y = a + (-b)` | 12 | `y = -b + a` |

# %%
programs = {"A": None, "B": None, "C": None, "D": None, "E": None}

L.check("01.2", programs)

# %% [markdown]
# **01.3 · Build this graph** (5 minutes). Return a tensor with the graph of **picture G** behind it: the
# same nodes and arrows, operand by operand.


# %%
def build(torch, a, b):
    y = a * b
    return y


L.check("01.3", build)

# %% [markdown]
# **01.4 · Which happens?** (6 minutes). Each program starts with a fresh leaf `x`, a 3.0 that requires grad;
# afterwards `y.backward()` is called. Answer `"fine"`, `"raises now"` (in the program), `"raises at
# backward"`, or `"silently wrong"`: no error, and `x.grad` is not the slope of the formula beside it.
#
# | | program | wanted: the slope of |
# | --- | --- | --- |
# | A | `h = x * x; y = h * x; h = x.exp(); del h` | x³ |
# | B | `y = x * x; y = y.item() * x` | x³ |
# | C | `h = copy.deepcopy(x * x); y = h * x` | x³ |
# | D | `y = x`, then three times `y = y * y` | x⁸ |
# | E | `y = x * x`, then `if y > 5: y = y * x` | x³ |
# | F | `h = (x * x).item(); y = torch.tensor(h) * 2` | 2x² |
# | G | `y = (x * x).float() * x` | x³ |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("01.4", happens)

# %% [markdown]
# **01.5 · Was it used?** (12 minutes). Return True if, by the graph, `y` was computed from `t`, directly or through
# other results; otherwise False. `t` may be a leaf, a result, one of several results of an operation (number
# `t.output_nr`), or plain; `y` likewise, with any number of elements. Change nothing. The check also tries a chain of 3000 nodes, and
# `y = y + y` 20 times: few nodes, a million paths.


# %%
def depends(torch, y, t):
    return y.grad_fn is t.grad_fn


L.check("01.5", depends)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell shows | test |
# | --- | --- | --- |
# | C01.1 arrows run back | four steps from `y`, none from `w` | `test_c01_1` |
# | C01.2 plain work leaves nothing | None, and two arrows to nothing | `test_c01_2` |
# | C01.3 digits in names | `PowBackward0`, `1` and `2` | `test_c01_3` |
# | C01.4 nodes in a call | none, one, two | `test_c01_4` |
# | C01.5 used or computed twice | True, then False | `test_c01_5` |
# | C01.6 several results | `[1, 0]` | `test_c01_6` |
# | C01.7 names are not in it | the slope, after `del h` | `test_c01_7` |
# | C01.8 no cycles | the assert on numbers | `test_c01_8` |
# | C01.9 who is kept alive | `w` is, `h` is not, the operands of `sin` and `view` are | `test_c01_9` |
# | C01.10 gone at once | False, five times | `test_c01_10` |
# | C01.11 `item()` leaves the graph | 16 for 48 | `test_c01_11` |
#
# The tests (`tests/claims/test_claims_01.py`) run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** There, nodes are C++ objects; the Python object that you hold is a thin
# wrapper, made when you ask. So `weakref` refuses PyTorch's nodes (we looked at tensors), and `is` between nodes
# is safe only while you hold them.
#
# **Read on in our engine:** `course_lib/engine/graph.py`, the class `Node`: its fields, one sentence each, and
# `next_functions`.
#
# **Next:** lesson 02 asks which tensors take part at all: leaves, and `requires_grad`.
