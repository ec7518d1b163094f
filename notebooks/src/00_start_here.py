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
# # 00 · Start here: what does one line of arithmetic leave behind?
#
# **You write `y = x*x + x`, and Python shows you one number. What else is now in memory, and how can
# `y.backward()` find the slope?** When you can answer that, you can claim:
#
# - **C00.1** Arithmetic on a tensor that requires grad leaves a node in the result's `grad_fn`; otherwise it is None.
# - **C00.2** `next_functions` holds an arrow for each tensor operand that the recorded operation has a slope for, in its order, back to where that operand came from.
# - **C00.3** At a leaf the arrows end in an `AccumulateGrad` node, whose `variable` is that very tensor.
# - **C00.4** Backward multiplies slopes along each path and adds the products where paths meet.
# - **C00.5** Each run of a line builds new nodes; graphs of one leaf that are alive together share its accumulator.
# - **C00.6** The graph records what ran: a branch of an `if` that was not taken leaves no node.
#
# **Minutes** 35 · **Needs** Python, and that the slope of x² is 2x · **Opens** `course_lib/engine/graph.py` ·
# **Out of scope** what a node keeps (lesson 06), what `.grad` is (05)

# %% [markdown]
# ### Four small programs
#
# Each has surprised practitioners. Cover the middle column and commit to an answer.
#
# | `x` is a tensor that requires grad | what happens | lesson |
# | --- | --- | --- |
# | the mean losses of micro-batches of 3 and 1 samples, averaged | gradient 6.0; the batch gives 4.0 | 05 |
# | `y = (x + 1).sum()`, `y.backward()` twice; the same with `x * x` | first fine, second raises | 06 |
# | backward after `y = x * 2; y.add_(1)`; after `y = x.exp(); y.add_(1)` | first fine, second raises | 07 |
# | `y = (x * x).sum(); x.data[0] = 30.0; y.backward()`, `x` was 3 | no error, 60 where 6 is right | 09 |
#
# (A *loss* is the number that training makes small.)
# One idea explains all four: *behind a result hangs a small graph, and you can look at it.*
#
# ### How the lessons work
#
# You **predict**, **run**, **look** at a picture, and read short paragraphs, each with the cell that proves
# it. Then you **break** something, and solve **exercises**.
#
# The first line of the next cell imports our own engine, written to be read. Put `import torch` in its place,
# and all but a few cells print the same.
#
# | lesson | question | minutes |
# | --- | --- | --- |
# | **00** start here | what does one line of arithmetic leave behind? | 35 |
# | **01** a computation is a graph | what points to what, and for how long? | 60 |
# | **02** leaves and `requires_grad` | who gets a gradient? | 60 |
# | **03** vector-Jacobian products | what if there is more than one number? | 60 |
# | **04** the engine | who runs when, and how often? | 60 |
# | **05** leaf accumulation | where do gradients end up? | 55 |
# | **06** saved tensors | what does a node remember, and for how long? | 60 |
# | **07** version counters | who notices an overwritten value? | 60 |
# | **08** views share memory | what if the value was written elsewhere? | 60 |
# | **09** ways out | which exit costs what? | 60 |
# | **10** a training loop | which line reads, and which writes? | 60 |
# | **11** custom Functions | what must you say when you write the rule? | 60 |
# | **12** hooks | who is called on the way back? | 60 |
# | **13** double backward | what is the slope of a slope? | 60 |
#
# Read them in this order. Your instruments:
#
# | you write | you see |
# | --- | --- |
# | `draw(y)` | the graph behind `y` |
# | `compare(before, after)` | two drawings, and what changed in between |
# | `step(y)` | the backward pass of `y`, one node at a time |
# | `with ledger() as held:` | how many bytes are kept for backward |
# | `with watch() as log:` | a log: what was saved, written to, let go |
# | `explain()` | the last error: what happened, what cures it |
# | `show("name")` | the source of our engine |

# %%
import course_lib as torch
from course_lib.teach import draw, expect_error, explain, lesson, show, step

L = lesson(0)

# %% [markdown]
# The fourth program first: no error, and 60. Then the third, caught in the act: `exp` keeps its result for
# later, and `add_` has written over it. After this lesson you can read all of the picture but its bottom
# row and the `v`s.

# %%
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
x.data[0] = 30.0
y.backward()
print(x.grad)  # the slope of x*x at 3 is 6

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.add_(1)
draw(y)

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor(3.0, requires_grad=True)
# y = x * x + x
# y.backward()
# print(x.grad)
# ```
#
# `y` holds 12, and nobody stored the formula. Yet line three finds the slope of x² + x at 3.
#
# ## Predict
#
# Replace `None` by your answers. First: what number does the last line print? Second: line two leaves
# **nodes** behind, one for each operation and one for each leaf that will receive a gradient. How many? (A
# leaf is a tensor that you made yourself, such as `x`.)

# %%
L.predict("00.p1", None)

# %%
L.predict("00.p2", None)

# %% [markdown]
# ## Run
#
# The first two lines only. Look at what is printed beside the value.

# %%
x = torch.tensor(3.0, requires_grad=True)
y = x * x + x
print(y)

# %% [markdown]
# ## See
#
# `draw` shows what hangs behind a tensor: backward nodes on top, the tensors in the middle, what nodes keep
# for later at the bottom.

# %%
draw(y)

# %% [markdown]
# **Notice:**
#
# - Black arrows run back, from the result to the input. The number on one says which operand it belongs to;
#   the number in a grey box, in which order nodes were made. Blue arrows run forwards.
# - `x` stands three times in the formula, and there is one green box for it.
# - A double border marks a leaf: a tensor that no recorded operation produced.
# - `MulBackward0` keeps its operands, for its slope depends on them; `AddBackward0` keeps no tensor.
#
# ## Explain
#
# **A result remembers how it was made.** `y` was computed from a tensor that requires grad, so the addition
# hung a *node* on it: an object, named after the operation, that turns a slope for `y` into slopes for the
# operands. With plain tensors no node is made; and `x` itself came from no operation.

# %% tags=["C00.1"]
plain = torch.tensor(3.0)
print(y.grad_fn.name())
print((plain * x).grad_fn.name())  # one operand that requires grad is enough
print((plain * plain + plain).grad_fn)
print(x.grad_fn, x.is_leaf)

# %% [markdown]
# **Arrows point backwards.** The addition has two operands, `x*x` and `x`, so its node has two arrows, in
# that order: each a node, and which result of its operation is meant (0 is the first). The 2 of `x * 2` becomes
# a tensor without gradient; its arrow leads to nothing. The numbers in `x**2` and `1 - x` become no tensor and
# get no arrow. Paths end at a leaf's node, `AccumulateGrad`: no arrows, and its `variable` is the leaf itself.

# %% tags=["C00.2", "C00.3"]
for node, output in y.grad_fn.next_functions:
    print(type(node).__name__, output)
print((x * 2).grad_fn.next_functions[1])  # to nothing
print([len(result.grad_fn.next_functions) for result in (x * 2, 2 * x, x**2, 1 - x)])
product, accumulate = [node for node, output in y.grad_fn.next_functions]
assert accumulate.variable is x  # the very tensor
assert all(node is accumulate for node, output in product.next_functions)
print(accumulate.next_functions)

# %% [markdown]
# **A node knows one rule.** From the slope that arrives, it makes one for each arrow that leads to a node. Addition hands on what it
# gets, twice. Multiplication multiplies by *the other* operand. `torch.autograd.grad` shows it for one
# operation. There is no formula for x² + x anywhere.

# %%
u = torch.tensor(3.0, requires_grad=True)
v = torch.tensor(5.0, requires_grad=True)
for result in (u + v, u * v):
    print(torch.autograd.grad(result, [u, v]))

# %% [markdown]
# **Backward walks the arrows.** It starts at `y` with slope 1, multiplies along each path, and adds where
# paths meet. Three paths lead to `x`: two through the product, with 1·3 each, and one directly, with 1. So
# 3 + 3 + 1, which is 2x + 1 at 3. `step(y)` does what `y.backward()` does and keeps a picture of each step:
# page through them, and follow what a node *gets* and what it *sends*. (Queue and counts: lesson 04.)

# %% tags=["C00.4"]
record = step(y)
print(x.grad)
assert x.grad.item() == 1 * 3 + 1 * 3 + 1  # one term per path

tiny = 1e-6  # and by the definition of a slope, with plain numbers:
print(round(((3 + tiny) ** 2 + (3 + tiny) - 12) / tiny, 3))
record

# %% [markdown]
# ## Question
#
# ```python
# def times(x, n):
#     y = x
#     for _ in range(n - 1):
#         y = y + x
#     return y if n > 1 else x.exp()
# ```
#
# A graph has no boxes for loops and conditions. So where do this function's loop and its `if` end up?
#
# ## Predict
#
# `times(x, 3)` runs the loop body twice. Which node names hang behind the result, from the result back,
# accumulator left out? Answer with a list of strings.

# %%
L.predict("00.p3", None)

# %% [markdown]
# ## Run


# %%
def times(x, n):
    y = x
    for _ in range(n - 1):
        y = y + x
    return y if n > 1 else x.exp()


triple, other = times(x, 3), times(x, 1)
print(triple, other)

# %% [markdown]
# ## See

# %%
draw(triple)

# %% [markdown]
# **Notice:**
#
# - The loop is unrolled: one box for each time its body ran. The `if` is not there, and neither is `times`.
# - Everything ends in the one green box of `x`, which still shows the 7 of the first round.
#
# ## Explain
#
# **The graph is a record, not a program.** Operations write it down while they run, so it holds what
# happened and nothing that might have happened. Change `n`, and the next graph has another shape.

# %% tags=["C00.6"]
print(triple.grad_fn.name(), triple.grad_fn.next_functions[0][0].name())
print(other.grad_fn.name())
assert other.grad_fn.next_functions[0][0].variable is x  # no AddBackward0 on the way

# %% [markdown]
# **Every run is a new record.** Run a line again and you get new nodes. The leaf is the same tensor in both
# runs, and so is its accumulator: this is how two graphs deliver into one `.grad`. What arrives there is
# *added* to what is there: lesson 05.

# %% tags=["C00.5"]
first = x * x
second = x * x
assert first.grad_fn is not second.grad_fn  # new nodes each time
assert first.grad_fn.next_functions[0][0] is second.grad_fn.next_functions[0][0]  # one accumulator
first.backward()
second.backward()
print(x.grad)  # the 7 of the first round, and twice a 6

# %% [markdown]
# **Open our engine.** This is all that stands behind "one accumulator for each leaf". `meta` holds what
# autograd knows about a tensor; `weakref` means that the leaf does not keep this node alive; graphs do.

# %% tags=["engine"]
show("engine.graph.accumulator_of")

# %% [markdown]
# ## Break it
#
# Leave out `requires_grad=True` and nothing is recorded. That stays silent until somebody asks for slopes.
# Switching it on afterwards does not help the `y` that was computed without it; *element 0* in the message
# is the first tensor backward was asked to start from. `explain()` is at hand whenever an error meets you.

# %%
x = torch.tensor(3.0)
y = x * x + x
with expect_error(RuntimeError, "does not require grad and does not have a grad_fn"):
    y.backward()

x.requires_grad_()  # too late for this y
with expect_error(RuntimeError, "does not require grad and does not have a grad_fn"):
    y.backward()
y = x * x + x
print(y.grad_fn.name())
explain()

# %% [markdown]
# ## Exercises
#
# Write your answer into the cell and run it. `L.check` looks at what your code does and says *not
# attempted*, *error in your code*, *not yet*, *almost* (it names the mistake) or *correct*. In a cell of your
# own, `L.hint("00.1")` helps, again for the next hint; `L.solution("00.1")` shows an answer and its reason;
# `L.progress()` lists what you have solved.
#
# **00.1 · Make a graph** (2 minutes). A warm-up. Return a one-element tensor whose
# `grad_fn` is an `ExpBackward0` and behind which exactly one leaf waits for a gradient.


# %%
def make(torch):
    x = torch.tensor(1.0)
    return x


L.check("00.1", make)

# %% [markdown]
# **00.2 · Give the edges** (4 minutes). `a` requires grad, `b` does not, and `y = (a * b + a).exp()`. List
# every arrow behind `y` as a pair `("from", "to")` of node names, without the arrows to nothing.

# %%
edges = None

L.check("00.2", edges)

# %% [markdown]
# **00.3 · Repair the walk** (5 minutes). `walk` should list the names of all nodes behind `y`, each node
# exactly once, in any order, however many arrows reach it. It stumbles over an arrow to nothing, and where
# two paths meet it goes on twice. Repair both.


# %%
def walk(y):
    names, waiting = [], [y.grad_fn]
    while waiting:
        node = waiting.pop()
        names.append(type(node).__name__)
        for below, _ in node.next_functions:
            waiting.append(below)
    return names


L.check("00.3", walk)

# %% [markdown]
# **00.4 · One number per path** (4 minutes). At `x = 2`, `y = x * x * x + 2 * x`; the factors are
# multiplied from the left. Multiply the slopes along each path of arrows from `y` down to `x`. List the
# products, in any order.

# %%
paths = None

L.check("00.4", paths)

# %% [markdown]
# **00.5 · Which happens?** (4 minutes). Before each program `x` is a new `torch.tensor(3.0,
# requires_grad=True)` and `p` a plain `torch.tensor(2.0)`. Its author wants `x.grad` to be the number on the
# right. Answer `"fine"`, `"raises now"` (another line than a backward), `"raises at backward"`, or
# `"silently wrong"`: no error, and another number.
#
# | | program | wanted |
# | --- | --- | --- |
# | A | `y = p * x + p; y.backward()` | 2 |
# | B | `y = p * p; print(y.grad_fn.name()); y = y * x; y.backward()` | 4 |
# | C | `y = x * x; y = x * x; y.backward()` | 6 |
# | D | `y = x * x; y.backward(); y = x * x; y.backward()` | 6 |
# | E | `x = torch.tensor(3.0); y = x * x; x.requires_grad_(); y.backward()` | 6 |
# | F | `y = x * p if x > 1 else p * p; y.backward()` | 2 |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("00.5", happens)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell shows | test |
# | --- | --- | --- |
# | C00.1 who carries a node | two names, then None | `test_c00_1` |
# | C00.2 arrows | `MulBackward0` before `AccumulateGrad`; two, two, one, one | `test_c00_2` |
# | C00.3 accumulators | `variable` is `x` | `test_c00_3` |
# | C00.4 paths | 3 + 3 + 1, step by step | `test_c00_4` |
# | C00.5 new nodes, one accumulator | `is not`, then `is`, and 19 | `test_c00_5` |
# | C00.6 only what ran | no trace of the other branch | `test_c00_6` |
#
# The tests (`tests/claims/test_claims_00.py`) run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** Its nodes are C++ objects behind thin Python wrappers, and its graphs
# may span devices and threads. The names and the arrows are the same.
#
# **Next:** lesson 01, the graph in depth: who points to whom, and who keeps whom alive.
