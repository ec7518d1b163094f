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
# **You write `y = x * x + x`, and Python computes a number, 12. Then you write `y.backward()`, and you are told how steep this formula is at this point. But nobody ever gave Python a formula. It was given a 3, it multiplied once and added once, and has forgotten about it. Or has it?**
#
# It has not. The line has left something behind in memory, and every network learns from it. You never see it until something goes wrong. The memory fills up overnight, and the cause is one harmless plus sign (lesson 01). A training runs to its end, and nothing was learned (lesson 02). A gradient is wrong, and there is no error (lesson 09).
#
# In this course you will look. There are pictures of everything that PyTorch keeps to itself. You will predict what happens before you see it, and along the way you will write an engine of your own, which in the end trains a network.
#
# After this lesson you can
#
# - draw what a line of arithmetic leaves in memory;
# - follow a backward pass through it with a pencil, and get the right slope;
# - say what becomes of a loop and of an `if`;
# - read the error that you get when nothing was recorded.
#
# **Minutes** 75, of which 25 are for your own engine · **Needs** Python, and that the slope of x² is 2x · **Out of scope** the details of what a node saves (lesson 06), what exactly `.grad` is (lesson 05)
#
# [all lessons](home.ipynb) · [01 A computation is a graph →](01_computation_graph.ipynb)

# %% [markdown]
# Each grey field below is a *cell* with a few lines of Python. Click into it and press **Shift+Enter** to run it and go on to the next one. Run the cells from the top to the bottom.
#
# The first cell imports the library of this course under the name `torch`. It is a small engine that was written to be read. It has PyTorch's names and gives PyTorch's answers: write `import torch` instead, and the cells print the same, except for the few that open our engine.

# %%
import course_lib as torch
from backscope import draw, step
from coursekit import lesson

L = lesson(0)

# %% [markdown]
# ## Nobody stored the formula: how can Python know the slope?
#
# A *tensor* is a box for numbers, here for a single one. `requires_grad=True` says that you will ask for slopes with respect to `x` later.

# %%
def program():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    y.backward()
    print(x.grad)

# %% [markdown]
# After the second line `y` holds 12, and the formula is gone. Python has computed 9, then 12, and has moved on. Yet the third line finds the slope of x² + x at 3 and puts it into `x.grad`.
#
# In a lesson like this one you are often asked to *predict*. Do it before you run the program. A wrong guess costs nothing, and teaches more than a right answer that you were told. Replace `None` by your answer, and run the cell. Then run the next cell. It has waited for your prediction (that is its `after=`); now it shows what comes of the program, and what your prediction was worth.
#
# **Predict.** Which number does the program print?

# %%
L.predict("00.p1", None)

# %%
L.run(program, after="00.p1")

# %% [markdown] tags=["tells"]
# It printed 7, and you can check it. The *slope* of `y` at `x` says how fast `y` changes when `x` changes a little. At 3.001, x² + x is 12.007001. So a change of 0.001 in `x` changes `y` by about 0.007: the slope is 7. (In calculus it is 2x + 1, at 3.)

# %% [markdown]
# If a result depends on many numbers, there is one slope for each of them. All of these slopes together are called the **gradient**. People say "the gradient of `x`" when they mean the slopes of the final result with respect to the numbers in `x`, and PyTorch keeps them in `x.grad`. A gradient always has the same shape as its tensor.
#
# ## What does the line leave behind?
#
# Run the first two lines only, and look at what is printed beside the value.

# %%
x = torch.tensor(3.0, requires_grad=True)
y = x * x + x
print(y)

# %% [markdown]
# The number has a companion: `grad_fn`. That is where the formula went. Each operation has left a small object behind, which is called a *node*. A *leaf*, which is a tensor that you made yourself, such as `x`, has a node of its own if it is to receive a slope.
#
# **Predict.** How many nodes are there after these two lines? Mind that `x` stands three times in the formula.

# %%
L.predict("00.p2", None)

# %% [markdown]
# `draw` shows what hangs on a tensor. (`detail=0` leaves out the contents of the boxes for now. `lambda:` hands the call over, to be made when you have answered.)

# %%
L.run(lambda: draw(y, detail=0), after="00.p2")

# %% [markdown] tags=["tells"]
# **Notice:** take a minute for this picture. There will be many like it. It has two lanes: tensors in one, nodes in the other.
#
# - `x` stands three times in the formula, and there is one box for it. A double border marks a leaf.
# - Two nodes belong to the operations. They are numbered in the order in which they were made: first the product, `MulBackward0`, then the sum, `AddBackward0`.
# - The green box is a node too. It belongs to the leaf `x`, and it will collect the slope in `x.grad`. It is called the *accumulator* of `x`. So there are three nodes in all.
# - The dark arrows run *back*, from the result to the input. The small digit on one says which operand it belongs to.
# - The thin blue arrow is your computation, from `x` to `y`. The dotted one is `y.grad_fn`. The green one shows where the slope will be put.
# - Nothing holds the product `x * x` any more, so it has no box among the tensors.

# %% [markdown]
# ## What hangs on a result?
#
# `y` was computed from a tensor that requires grad. So the addition has attached a node to it. A node is an object that is named after the operation, and that knows how to turn a slope for its result into slopes for its operands. If no operand requires grad, no node is made; such tensors are called *plain* here. And `x` itself came from no operation.

# %% tags=["C00.1"]
plain = torch.tensor(3.0)
print(y.grad_fn.name())
print((plain * x).grad_fn.name())  # one operand that requires grad is enough
print((plain * plain + plain).grad_fn)
print(x.grad_fn, x.is_leaf)

# %% [markdown]
# ## Where do the arrows lead?
#
# A node keeps its arrows in `next_functions`. The addition has two operands, `x*x` and `x`. So its node has two arrows, in that order. Each arrow is a pair. The first half is the node to which it leads. The second is a number: it says which result of that node is meant, and is 0 for a node with a single result. (It is not the small digit in the picture. That digit is the arrow's place in `next_functions`.)

# %% tags=["C00.2", "C00.3"]
for node, output in y.grad_fn.next_functions:
    print(type(node).__name__, output)
print((x * plain).grad_fn.next_functions[1])  # to nothing: no slope is wanted for a plain tensor
product, accumulate = [node for node, output in y.grad_fn.next_functions]
print([node is accumulate for node, output in product.next_functions])  # both arrows of the product
print(accumulate.variable is x, accumulate.next_functions)

# %% [markdown]
# Every path ends at a green box, whose type is called `AccumulateGrad`. It has no further arrows, and its `variable` is the leaf itself: not a copy, the very tensor.
#
# > **The rule.** A result holds a node. The node's arrows lead to the nodes of its operands, and so on, back to the leaves.
#
# ### Exercises: make a graph, and read one
#
# Write your answer into the cell and run it. `L.check` looks at what your code does, and says *not attempted*, *error in your code*, *not yet*, *almost* (then it names the mistake) or *correct*. In a cell of your own, `L.hint("00.1")` helps, and helps more if you call it again. `L.solution("00.1")` shows an answer and the reason for it. `L.progress()` lists what you have solved.
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
# every arrow behind `y` as a pair `("from", "to")` of node names, without the arrows to nothing. (An accumulator is
# just `"AccumulateGrad"`.)

# %%
edges = None

L.check("00.2", edges)

# %% [markdown]
# ## What does a node know?
#
# Two small rules. Addition passes the slope that arrives on to both of its operands. Multiplication sends each operand the slope that arrives, times *the other* operand: if `u` grows by a little, `u * v` grows by `v` times as much. You can see both rules for a single operation; `torch.autograd.grad(result, [u, v])` returns the slopes of the result for `u` and `v`.

# %%
u = torch.tensor(3.0, requires_grad=True)
v = torch.tensor(5.0, requires_grad=True)
for result in (u + v, u * v):
    print(torch.autograd.grad(result, [u, v]))

# %% [markdown]
# But where does a product find the other operand, when its turn comes? It *saved* both when it was made. In the full picture each saved tensor has a note:

# %%
draw(y)

# %% [markdown]
# **Notice:** the product has saved two tensors. `self` is the first operand and `other` the second; here both are `x`. The sum has saved nothing, because its rule needs nothing. (`v0` is the *version* of a tensor: it says how often its memory was written to. Lesson 07 is about that.)
#
# So there is no formula for x² + x anywhere. There are only these two rules, arrows between the nodes, and what the nodes have saved. (`draw.legend()` says what the signs in a picture mean.)

# %% [markdown]
# ## How does backward find its way?
#
# `x` stands three times in `x * x + x`. Make one place a little larger, and leave the other two. How fast does the result change?

# %%
def nudge_one_place():
    for place in range(3):
        values = [3.0, 3.0, 3.0]
        values[place] = 3.001
        a, b, c = values
        print(round((a * b + c - 12) / 0.001, 3))

# %% [markdown]
# **Predict.** Which three numbers are printed? Answer with a list.

# %%
L.predict("00.p3", None)

# %%
L.run(nudge_one_place, after="00.p3")

# %% [markdown] tags=["tells"]
# The first place is multiplied by the second, so 0.001 more becomes 0.003 more. It is the same the other way round. The third place is only added.
#
# There is only one `x`, and if it moves, all three places move. Their changes add up: 3 + 3 + 1 = 7.
#
# In the graph, each place is a path from `y` down to `x`. Backward begins at `y` with the slope 1 (when `y` changes by 1, `y` changes by 1). It follows the arrows, and each node applies its own small rule. So two paths bring 1 · 3 through the product, and the direct one brings 1.
#
# > **The rule.** Backward multiplies slopes along each path, and adds the products where paths meet.
#
# This is the chain rule of calculus, and nothing more. (Backward need not walk one path after the other. It adds where they meet, and goes on with the sum. The result is the same.)

# %% [markdown]
# ### Exercise: one number per path
#
# **00.3 · One number per path** (4 minutes). At `x = 2`, `y = x * x * x + 2 * x`; the factors are
# multiplied from the left. Multiply the slopes along each path of arrows from `y` down to `x`. List the
# products, in any order.

# %%
paths = None

L.check("00.3", paths)

# %% [markdown]
# ## Does the engine do the same?
#
# Compare your pencil with the slopes that the nodes themselves give:

# %%
draw(y, slopes=True)

# %% [markdown]
# **Notice:** each arrow carries the slope by which backward multiplies along it. Each path is a product of its pills.
#
# `step(y)` does what `y.backward()` does, and keeps a picture of every step. Go through it with the buttons. At each step look at what a node *gets* and what it *sends*. (You can ignore the queue and the counts until lesson 04.)

# %% tags=["C00.4"]
x = torch.tensor(3.0, requires_grad=True)  # made anew, so that you may run the cell twice
y = x * x + x
record = step(y)
print(x.grad)
assert x.grad.item() == 1 * 3 + 1 * 3 + 1  # one term for each path
record

# %% [markdown]
# **Notice:** the product runs once, sends two 3s, one along each of its arrows, and lets go of what it had saved. The green box waits until everything has arrived.

# %% [markdown]
# ## Where do a loop and an `if` end up?
#
# Here is a function with both. What is left of them in a graph?


# %%
def times(x, n):
    y = x
    for _ in range(n - 1):
        y = y + x
    return y if n > 1 else x.exp()


x = torch.tensor(3.0, requires_grad=True)
triple, other = times(x, 3), times(x, 1)


def names(result):
    node, found = result.grad_fn, []
    while node.next_functions:
        found.append(node.name())
        node = node.next_functions[0][0]
    return found

# %% [markdown]
# **Predict.** Which node names hang behind `triple`, from the result back, with the accumulator left out? Answer with a list of strings.

# %%
L.predict("00.p4", None)

# %% tags=["C00.6"]
L.run(names, triple, after="00.p4")
L.run(names, other, after="00.p4")

# %%
L.run(lambda: draw(triple), after="00.p4")

# %% [markdown] tags=["tells"]
# **Notice:** the loop is unrolled: its body ran twice, and there is one node for each time. The `if` is not there, and neither is `times`. Behind `other` there is only the `exp` of the branch that ran.
#
# The graph is a record of what ran. Operations write it while they run. So it holds what happened, and nothing that might have happened.

# %% [markdown]
# ## You run a line twice: is it the same graph?
#
# Two graphs are alive here, and both go backward.

# %% tags=["C00.5"]
x = torch.tensor(3.0, requires_grad=True)
first = x * x
second = x * x
print(first.grad_fn is second.grad_fn)
print(first.grad_fn.next_functions[0][0] is second.grad_fn.next_functions[0][0])
first.backward()
second.backward()
print(x.grad)

# %% [markdown]
# Each run makes new nodes. But there is one leaf, and as long as both graphs are alive they share its accumulator. Both deliver into `x.grad`.
#
# What arrives is *added* to what is there: twice a 6. Lesson 05 is about this addition, and about the trouble that it makes when you do not expect it.

# %% [markdown]
# ## What if nothing was recorded?
#
# Leave out `requires_grad=True`, and no node is made. That stays silent until somebody asks for slopes. Then you get the first of PyTorch's famous errors. *Element 0* in the message is the first tensor from which backward was asked to start.

# %%
x = torch.tensor(3.0)
y = x * x + x
L.run(y.backward)

# %% [markdown]
# Does it help to set the flag afterwards?

# %%
x.requires_grad_()
L.run(y.backward)
y = x * x + x
print(y.grad_fn.name())

# %% [markdown]
# It does not help a `y` that was computed without it. Only the new `y` has a node.

# %% [markdown]
# ## Build your own engine: two operations and a walk
#
# Most lessons end with a few lines for an engine that is yours. It is a file, `my_engine.py`, which lies beside this notebook in your folder `my_course`. (If it is not there, `python3 course.py my-engine` in a terminal writes it.) It holds the beginning: a class `Tensor`, which is a box around a NumPy array, and a function `tensor`. Open it in JupyterLab with a double click, and write in it. In lesson 10 it will train a network.
#
# Today it gets nodes. This is all that a node needs:
#
# ```python
# class Node:
#     def __init__(self, name, rule, inputs):
#         self.name = lambda: name  # to be called, as in PyTorch: node.name()
#         self.rule = rule  # from the gradient of the result to one gradient for each input
#         self.next_functions = tuple((gradient_edge(each), 0) for each in inputs)
#
#     def __call__(self, grad):
#         return self.rule(self, grad)
#
#
# def mul(a, b):
#     return Tensor(a.array * b.array, grad_fn=Node("MulBackward0", lambda node, g: (g * b, g * a), (a, b)))
# ```
#
# What is missing is yours to write:
#
# 1. `add`, which is `mul` with another rule. Hang both on the class: `Tensor.__add__, Tensor.__mul__ = add, mul`.
# 2. `class AccumulateGrad(Node)`: it knows its tensor as `variable`, and when it is called it *adds* the gradient to `variable.grad`, which begins as None.
# 3. `gradient_edge(tensor)`: the node to which an arrow for this tensor leads. For a result that is its `grad_fn`, for a leaf a new `AccumulateGrad`.
# 4. `Tensor.backward`: begin at the result with `Tensor(1.0)`, and send gradients along every path. A function that calls itself does it in eight lines.
#
# The usual slip is to *replace* `.grad` instead of adding to it. Then x² + x has the slope 1.
#
# Five things remain to be done, on purpose:
#
# - Until lesson 02 it takes tensors only, no plain numbers; it makes nodes for plain tensors, too; and it records what its own backward pass computes, so `print(x.grad)` shows a `grad_fn`.
# - Until lesson 04 it walks every path by itself, which costs time.
# - Until lesson 05 a leaf gets a new `AccumulateGrad` for each use, where the course's engine has one for all.
#
# Run the next cell whenever you like. It reads your file anew each time and tells you how far you are.

# %%
L.build("00")

# %% [markdown]
# ## Exercises: more, if you like
#
# **00.4 · Repair the walk** (5 minutes). `walk` should list the names of all nodes behind `y`, each node
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


L.check("00.4", walk)

# %% [markdown]
# **00.5 · Which happens?** (4 minutes). Before each program `x` is a new `torch.tensor(3.0,
# requires_grad=True)` and `p` a plain `torch.tensor(2.0)`. Its author wants `x.grad` to be the number on the
# right. Answer `"fine"`, `"raises now"` (in a line before the backward), `"raises at backward"`, or
# `"silently wrong"`: no error, and another number.
#
# | | program | wanted |
# | --- | --- | --- |
# | A | `y = p * x + p; y.backward()` | 2 |
# | B | `y = p * p; print(y.grad_fn.name()); y = y * x; y.backward()` | 4 |
# | C | `y = x * x; y = x * x; y.backward()` | 6 |
# | D | `y = x + x; z = y * x; y.backward(); z.backward()` | 12 |
# | E | `y = x * p; y = p * p if y > 5 else y; y.backward()` | 2 |
# | F | `y = x * p if x > 1 else p * p; y.backward()` | 2 |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("00.5", happens)

# %% [markdown]
# ## What you can now claim
#
# At the end of each lesson stand its facts, one sentence each. Every sentence was shown in a cell, and a test runs it on our engine and on real PyTorch (here `lessons/00_start_here/claims.py`). If a colleague doubts one of them, you know where to look.
#
# - **C00.1** Arithmetic on a tensor that requires grad leaves a node in the result's `grad_fn`; otherwise it is None.
# - **C00.2** `next_functions` holds one arrow for each tensor operand of arithmetic, in order: to that operand's node, or to nothing if no slope is wanted for it.
# - **C00.3** At a leaf the arrows end in an `AccumulateGrad` node, whose `variable` is that very tensor.
# - **C00.4** Backward multiplies slopes along each path and adds the products where paths meet.
# - **C00.5** Each run of a line builds new nodes; graphs of one leaf that are alive together share its accumulator.
# - **C00.6** The graph records what ran: a branch of an `if` that was not taken leaves no node.
#
# **Left out, compared with PyTorch.** Its nodes are C++ objects behind thin Python wrappers, and its graphs may span devices and threads. The names and the arrows are the same.
#
# **Next:** [lesson 01](01_computation_graph.ipynb), the graph in depth: who points to whom, and who keeps whom alive.
