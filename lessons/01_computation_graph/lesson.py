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
# **Your training works. You would like to see the average loss on your validation set, too, so you add one line, `total = total + loss`: a number is added to a number. The next morning the machine is out of memory, and the error names some other line. You remove yours, and everything is well. What can a sum of numbers possibly keep?**
#
# In lesson 00 you saw that a result remembers how it was made. This lesson is about what that means for the memory of your program: which arrows really exist, what they hold on to, and when all of it goes away.
#
# After this lesson you can
#
# - draw the graph that a program leaves behind, without running it;
# - say which tensors stay alive when a function returns, and why;
# - explain what happens to the graph when a name is used again;
# - find the line that keeps a whole training in memory.
#
# **Minutes** 85, of which 25 are for your own engine, and 18 for more exercises · **Needs** lesson 00 · **Out of scope** what nodes save for later (lesson 06), the order of the backward pass (lesson 04)
#
# [← 00 Start here](00_start_here.ipynb) · [all lessons](home.ipynb) · [02 Leaves →](02_leaves.ipynb)

# %%
import course_lib as torch
from backscope import draw, ledger
from coursekit import lesson, show

import gc
import weakref

L = lesson(1)

# %% [markdown]
# Here is the loop of the story, for four batches of the validation set. Nothing is learned there, so there is no backward pass. `ledger` counts the bytes that are saved for a backward pass.


# %%
def validate(number_of):
    total = 0.0
    with ledger() as held:
        for batch in (1.0, 2.0, 3.0, 4.0):
            loss = ((w * (batch * torch.ones(1000))) ** 2).mean()
            total = total + number_of(loss)  # the new line
            print("bytes saved so far:", held.now)


w = torch.tensor(1.0, requires_grad=True)
validate(lambda loss: loss)

# %% [markdown]
# With each batch 8,000 bytes more are saved, and none of them ever goes away. After a million batches the sum of numbers holds 8 gigabytes. To see why, we first need to know exactly what is in memory.
#
# ## How much of your drawing is in memory?
#
# Here are five lines. On paper you would draw two values, four operations and one result, with arrows between them.

# %%
w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor(5.0)  # plain data
p = w * x
q = x + 1
y = p * p + q


def behind(result):
    found = [result.grad_fn]
    for node in found:  # the list grows while we walk along it
        for to, _ in node.next_functions:
            if to is not None and to not in found:
                found.append(to)
    return len(found)

# %% [markdown]
# `behind` counts the nodes that you can reach from a result by following arrows, as you did by hand in lesson 00.
#
# **Predict.** How many backward nodes are behind `y`? Count one for each operation that was recorded, and one for each leaf that requires grad.

# %%
L.predict("01.p1", None)

# %%
L.run(behind, y, after="01.p1")

# %% [markdown] tags=["tells"]
# There are three operations and the accumulator of `w`. The addition `x + 1` is not among them.

# %% [markdown]
# **Predict.** You hold one of the tensors `w`, `x`, `p`, `q`, `y` and follow arrows, beginning at its `grad_fn`. From which of the five do you get to the accumulator of `w`? Answer with a list of names.

# %%
L.predict("01.p2", None)

# %% tags=["C01.1"]
L.run(lambda: draw(y, detail=0), after="01.p2")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - From `y` and from `p` arrows lead to the accumulator of `w`. From `w` itself none does: a leaf has no `grad_fn`.
# - **The thin blue arrows are for your eyes.** Memory has only the dotted ones, the dark ones and the green one.
# - `p` is used twice. Two arrows, 0 and 1, run into one node.
# - `q` is not there at all: it is plain, and no node has saved it. The last addition's arrow 1 leads to nothing: it is drawn as a short line that ends in a ring. (`x` is plain as well. It has a box because the first product has saved it.)

# %% [markdown]
# ## Why do the arrows run backwards?
#
# Because gradients do: they travel from the result to the leaves. A leaf does not know what was made of it. You cannot ask `w` which losses depend on it. You can only ask a loss whether it depends on `w`.

# %% [markdown]
# ## Why is `x + 1` not in the graph?
#
# An operation is recorded only if one of its operands requires grad. `x` does not, and 1 is a plain number. So the operation leaves no node, and its result `q` is as plain as `x`. Where `q` is used, an arrow to nothing, `(None, 0)`, keeps its place, so that the second arrow still belongs to the second operand.

# %% tags=["C01.2"]
print(q.grad_fn)
print(y.grad_fn.next_functions[1])  # where q was used
print(p.grad_fn.next_functions[1])  # where x was used

# %% [markdown]
# > **The rule.** Each recorded operation leaves one node. Its arrows lead to the nodes of its operands, in order, and to nothing for an operand that needs no gradient.
#
# ## Used twice or computed twice: does it matter?
#
# For the value it does not. For the graph it does. In `shared` a product is computed once and used twice, so both arrows run into one node. In `repeated` it is computed twice, and the arrows run into two nodes that know nothing of each other:

# %% tags=["C01.3"]
h = w * x
shared, repeated = h * h, (w * x) * (w * x)
for result in (shared, repeated):
    (left, _), (right, _) = result.grad_fn.next_functions
    print(left is right)

# %% [markdown]
# ## A function returns: what is left of its tensors?
#
# The function below has three local tensors, and uses the name `h` twice. `weakref.ref(t)` is a way to look at `t` without holding it: `look()` gives the tensor as long as it is alive, and None after that. (A node holds a tensor only if its rule needs it. An addition needs none. `h / 3` needs the 3, and `x * w` needs both factors.)

# %%
def run(x):  # x is a leaf that requires grad, held outside
    w = torch.tensor(2.0, requires_grad=True)  # a leaf of this run
    h = x * w
    h = h + 1  # the name h, used again
    unused = h.exp()
    y = h / 3
    return y, [weakref.ref(t) for t in (w, h, unused)]


x = torch.tensor(4.0, requires_grad=True)
y, looks = run(x)


def along_arrow_0(node):
    return [node.name(), *along_arrow_0(node.next_functions[0][0])] if node.next_functions else []

# %% [markdown]
# **Predict.** Begin at `y.grad_fn` and follow arrow 0 again and again. Which node names do you meet, in order, before you come to the accumulator? Answer with a list of strings.

# %%
L.predict("01.p3", None)

# %%
L.run(along_arrow_0, y.grad_fn, after="01.p3")

# %% [markdown]
# **Predict.** The function has returned, and its local names are gone. Which of the tensors `w`, `h` (the last one of that name) and `unused` are still alive? Answer with a list of names.

# %%
L.predict("01.p4", None)


# %%
def alive():
    return {name: look() is not None for name, look in zip(("w", "h", "unused"), looks, strict=True)}


L.run(alive, after="01.p4")

# %%
L.run(lambda: draw(y, detail=0), after="01.p4")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - Two tensors were called `h`, one after the other. Both have a node here, and no name leads to either. The last `h` is gone: the slope of `h / 3` is made of the 3, so the division has not saved `h`.
# - There is a leaf called "unnamed 1". That is `w`. No variable holds it any more; the graph does.
# - Nothing is left of `unused`. Arrows run from results to operands, and `y` was not computed from it.

# %% [markdown]
# ## Is a name part of the graph?
#
# No. `h = h + 1` reads like a circle, as if `h` were made of itself. What happens is this: a *new* tensor is made, with a new node whose arrow leads to the old node. Then the name `h` is moved to the new tensor.
#
# Operands exist before an operation runs. So every arrow leads to something older, and if you follow arrows you always arrive at an end. The numbers in the boxes of a picture are this order. A node of an operation knows its own as `_sequence_nr()`. (An accumulator has no place in this order.)

# %% tags=["C01.4", "C01.5"]
h = x * 2
old = h.grad_fn
h = h + 1  # the name moves, the old node stays
assert h.grad_fn is not old and h.grad_fn.next_functions[0][0] is old
assert old._sequence_nr() < h.grad_fn._sequence_nr()  # an arrow leads to what ran earlier
y2 = h * h
del h  # the graph does not need the name
print(torch.autograd.grad(y2, x))  # the slope of (2x + 1)² at 4

# %% [markdown]
# Although the name `h` was deleted, the gradient is right: 36 is the slope of (2x + 1)² at 4.

# %% [markdown]
# ## Exercises: read a graph
#
# Seven graphs of hidden programs. `a` and `b` require grad. `c` does not: it is not drawn, and an arrow that ends in a
# ring keeps its place. The thin blue arrows are left out, since they are not in memory.

# %%
L.stage.pictures(torch, "F")

# %% [markdown]
# **01.1 · Give the arrows** (4 minutes). **Picture F**: for each numbered box list where its arrows lead,
# operand by operand: a box's number, a leaf's name in quotes (for its accumulator), or `None` for an
# arrow to nothing.

# %%
arrows = {4: None, 3: None, 2: None, 1: None}

L.check("01.1", arrows)

# %%
L.stage.pictures(torch, "ABCDE")

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

# %%
L.stage.pictures(torch, "G")

# %% [markdown]
# **01.3 · Build this graph** (5 minutes). Return a tensor with the graph of **picture G** behind it: the
# same nodes and arrows, operand by operand.


# %%
def build(torch, a, b):
    y = a * b
    return y


L.check("01.3", build)

# %% [markdown]
# ## Who keeps whom alive?
#
# A result holds its node, by the dotted arrow. A node holds the nodes to which its dark arrows lead. An accumulator holds its leaf, by the green arrow; this is why `w` lived on.
#
# A tensor in between is held by nothing, unless a node has saved it. `h / 3` had not saved `h`. `sin`, in the next cell, saves its operand. (And a *view* holds the tensor at which it looks, which is a matter of lesson 08.)

# %% tags=["C01.6"]
y, looks = run(x)
h = x * 2
s = h.sin()  # saves h
looks.append(weakref.ref(h))
node = y.grad_fn
del y, h  # of all this we hold one node, and the result s
names = "w", "h", "unused", "operand of sin"
print({name: look() is not None for name, look in zip(names, looks, strict=True)})

# %% [markdown]
# `w` is alive, because we hold a node that leads to it. `h` and `unused` are gone. The operand of `sin` is alive, although no name is left for it.
#
# And when does it all go away? Python counts how many names and objects refer to each object. When you let go of the last result or node, the count of everything behind it falls to zero, and it goes at once. The cell switches Python's garbage collector off, to show that it is not needed.

# %% tags=["C01.7"]
gc.disable()
node = s = None
print({name: look() is not None for name, look in zip(names, looks, strict=True)})
gc.enable()

# %% [markdown]
# > **The rule.** A result keeps its whole history alive, back to the leaves. Let go of the result, and the history goes with it.
#
# ## So what did the sum of the story keep?
#
# `total + loss` is a recorded operation. Its result holds a node, and this node has two arrows: one to the node of the old `total`, and one to the node of `loss`. The old `total` leads to the `total` before that. So from the newest `total` arrows lead to the node of every loss that there ever was, and to everything behind it. A pass lets go of what these nodes had saved. Where there is no pass, as in validation, the saved tensors stay as well.
#
# A running sum is meant to be read, and not to be differentiated. So take the number out, with `item()`. A Python number has no `grad_fn`, and holds nothing.

# %%
w = torch.tensor(1.0, requires_grad=True)
validate(lambda loss: loss.item())

# %% [markdown]
# Only the tensors of the last loss are left: the bytes do not grow.
#
# In training, each batch has a backward pass, which lets go of what its nodes had saved. Is the line harmless there? Count the nodes behind `total`.

# %%
def train(number_of):
    total, counts = 0.0, []
    for batch in (1.0, 2.0, 3.0, 4.0):
        loss = (w * batch) ** 2
        loss.backward()
        total = total + number_of(loss)
        counts.append(behind(total) if isinstance(total, torch.Tensor) else 0)
    return counts


L.run(train, lambda loss: loss)
L.run(train, lambda loss: loss.item())

# %% [markdown]
# It is not. Every step leaves three more nodes, and `total` leads to all of them.
#
# ## What does `item()` cost in the middle of a computation?
#
# A running sum only needs the numbers. Here the number is used to go on computing:

# %%
def cubed():
    x = torch.tensor(4.0, requires_grad=True)
    y = (x * x).item() * x
    print("value:", y.item(), " slope:", torch.autograd.grad(y, x)[0].item())

# %% [markdown]
# **Predict.** The value is 64. Which slope is printed?

# %%
L.predict("01.p5", None)

# %% tags=["C01.8"]
L.run(cubed, after="01.p5")

# %% [markdown] tags=["tells"]
# The slope of `x * x * x` at 4 is 48. But a plain number carries no node, so backward sees only "16 times x". `item()` is the cure for a running sum, and a trap in the middle of a computation.

# %% [markdown]
# There are two more ways to fall out of the graph, and these raise: you ask against the arrows, or with a name that has moved on. The new `h` has the same value, and another node.

# %%
x = torch.tensor(4.0, requires_grad=True)
h = x * 2
y = h * h
L.run(torch.autograd.grad, h, y)
h = x * 2  # the name moves on
L.run(torch.autograd.grad, y, h)

# %% [markdown]
# ## Build your own engine: one function that makes operations
#
# In lesson 00 you wrote `add` and `mul` by hand. Every further operation will need the same care: compute, make a node, note what it needs. So write that care once. In `my_engine.py`, write a function `operation(name, forward, *formulas)` that *returns* a function which computes and records. After that, an operation is a single line:
#
# ```python
# Tensor.__mul__ = Tensor.__rmul__ = operation("Mul", lambda a, b: a * b, lambda g, b: g * b, lambda g, a: g * a)
# Tensor.exp = operation("Exp", lambda a: np.exp(a), lambda g, result: g * result)
# ```
#
# `forward` computes with arrays. Its parameters name the operands. There is one formula for each operand. It is called with `g`, the gradient of the result, and with whatever else its parameters name: an operand, or the `result`. Python tells you the names: `inspect.signature(forward).parameters`, and the same for a formula. Save exactly those tensors on the node, under these names, as attributes or in a dict. (`__rmul__` is for `3 * w`. That a number becomes a tensor is a matter of lesson 02.)
#
# Give each node a number too, in the order in which nodes are made; you choose its name. The two functions that you wrote by hand can go. The usual slip is in `exp`: its slope is its *result*, not its operand. And this saved result makes a circle in your engine, for the result holds the node. A graph with an `exp` in it goes only when Python's garbage collector comes by. The course's engine has no such circle, and yours will have none after lesson 06.
#
# The checkpoint also draws a graph of your engine: your nodes, your arrows, and what your nodes hold.

# %%
L.build("01")

# %% [markdown]
# ## Exercises: more, if you like
#
# **01.4 · Which happens?** (6 minutes). Each program starts with a fresh leaf `x`, a 3.0 that requires grad;
# afterwards `y.backward()` is called. Answer `"fine"`, `"raises now"` (in the program), `"raises at
# backward"`, or `"silently wrong"`: no error, and `x.grad` is not the slope of the formula beside it.
#
# | | program | wanted: the slope of |
# | --- | --- | --- |
# | A | `h = x * x; y = h * x; h = x.exp(); del h` | x³ |
# | B | `y = x * x; y = y.item() * x` | x³ |
# | C | `h = copy.deepcopy(x * x); y = h * x` (you may try this one) | x³ |
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
# `t.output_nr`), or plain; `y` likewise, with any number of elements. Follow the arrows: no node has to run, and
# nothing may change. The check also tries a chain of 3000 nodes, and `y = y + y` 20 times: few nodes, a million paths.


# %%
def depends(torch, y, t):
    return y.grad_fn is t.grad_fn


L.check("01.5", depends)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/01_computation_graph/claims.py`).
#
# - **C01.1** Arrows lead from a result back to every leaf that requires grad and went into it through recorded operations; from a leaf they lead nowhere.
# - **C01.2** An operation none of whose operands requires grad leaves no node; where recorded arithmetic uses its result, the arrow leads to nothing.
# - **C01.3** A result that is used twice is one node with two arrows into it; a result that is computed twice is two nodes.
# - **C01.4** Names are not in the graph: giving a name to another tensor, or deleting it, changes no arrow.
# - **C01.5** An arrow leads to nothing, to a leaf, or to an operation that ran earlier, so no graph has a cycle.
# - **C01.6** A result that is no view keeps the nodes behind it and their leaves alive, but a tensor in between only if a node has saved it.
# - **C01.7** When you let go of a result and of its nodes, its graph goes at once, without waiting for the garbage collector.
# - **C01.8** A number taken out with `item()` is outside the graph: no arrow leads back through it.
#
# **Left out, compared with PyTorch.** There, nodes are C++ objects, and the Python object that you hold is a thin wrapper, made when you ask. So `weakref` refuses PyTorch's nodes (we looked at tensors), and `is` between nodes is safe only while you hold them.
#
# **Read on in our engine:** `course_lib/engine/graph.py`, the class `Node`: its fields, one sentence each, and `next_functions`. And here is the real `exp`, which our engine writes from one line of a table. Look for the three steps: compute, make a node, note what it needs. (What has to do with `recording` waits for lesson 09, and `saved_result` for lesson 06.)

# %% tags=["engine"]
show("exp")

# %% [markdown]
# **Next:** [lesson 02](02_leaves.ipynb) asks which tensors take part at all: leaves, and `requires_grad`.
