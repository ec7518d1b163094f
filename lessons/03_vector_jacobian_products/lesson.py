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
# # 03 · Vector-Jacobian products: what does backward compute when there are many outputs?
#
# **A layer of a network takes 4096 numbers, multiplies them by its weights, and sends the results through `tanh`. Each of its 4096 outputs has a slope for each of its inputs, and calculus tells you to write all these slopes into a table. Such a table has 4096 rows of 4096 numbers, as many as the layer has weights. And how steep `tanh` is depends on the sample, so each sample needs a table of its own. For a hundred such layers and a batch of 64 samples, the tables would need some 430 gigabytes, 64 times as much as all the weights. And yet such a network trains on a single machine. So where are they?**
#
# They do not exist. Backward never computes one. What it computes instead is smaller, it is what you need, and it is the reason why everybody walks *backwards* through a network, from the loss to the weights. Once you have seen it, the rules of all operations become things that you can derive with a pencil.
#
# After this lesson you can
#
# - say what `backward()` and `autograd.grad` need from you when there are many outputs;
# - derive the rule of an operation by hand, also of a matrix product and of a broadcast, and check it;
# - explain to somebody, with numbers, why gradients are computed backwards, and when they should not be;
# - say what a whole Jacobian costs.
#
# **Minutes** 100, in two sittings with a rest between them; exercise 03.6 is optional · **Needs** lessons 00 to 02, slopes, and how matrices are multiplied · **Out of scope** the order of nodes (lesson 04), what they save (06), operations of your own (11)
#
# [← 02 Leaves](02_leaves.ipynb) · [all lessons](home.ipynb) · [04 The engine →](04_the_engine.ipynb)

# %%
import course_lib as torch
from course_lib.engine.ops import ROWS
from backscope import draw, ledger, step
from coursekit import chart, expect_error, grids, lesson, show

L = lesson(3)

# %%
slopes = 4096 * 4096
print(f"one table, of one layer and one sample: {slopes:,} slopes, {slopes * 4 / 1e6:.0f} megabytes at 4 bytes each")
print(f"the tables of 100 layers and 64 samples: {slopes * 4 * 100 * 64 / 1e9:.0f} gigabytes")

# %% [markdown]
# ## Two outputs: where does backward start?
#
# So far everything ended in one number, the loss. Here are two outputs in one tensor, and two inputs behind them.
#
# ```python
# u = torch.tensor(2.0, requires_grad=True)
# v = torch.tensor(3.0, requires_grad=True)
# y = torch.stack([u * v, u + v])      # [6., 5.]
# y.backward()
# y.backward(gradient=torch.tensor([10.0, 1.0]))
# ```
#
# **Predict**, first: what does `y.backward()` do? Answer with one word: `"sum"` (the gradients of the sum of both outputs), `"mean"`, `"first"` (of the first output), `"table"` (all four slopes, in a table), or `"raises"`.
#
# **Predict**, second: suppose that only the last line is run. What are `u.grad` and `v.grad`? Answer with a list of two numbers, and guess what `gradient` might mean.

# %%
L.predict("03.p1", None)

# %%
L.predict("03.p2", None)

# %% tags=["C03.1", "C03.2"]
u = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(3.0, requires_grad=True)
y = torch.stack([u * v, u + v])
with expect_error(RuntimeError, "grad can be implicitly created only for scalar outputs"):
    y.backward()

k = torch.tensor([10.0, 1.0])
y.backward(gradient=k, retain_graph=True)  # the nodes keep what they have saved, for another pass
print(u.grad, v.grad)
print(torch.autograd.grad((k * y).sum(), [u, v], retain_graph=True))  # an ordinary weighted sum

# %% [markdown]
# For a single number, backward starts with 1 by itself. For two outputs it cannot know what you want: their sum, their mean, one of them? So it refuses, and wants you to say how much each output counts.
#
# That is what `gradient` is. It holds one number for each output, and it is called the **upstream gradient**: how much the number that you care about changes when this output changes by 1. With `[10, 1]`, you get the gradients of 10 · y[0] + 1 · y[1], as the last line shows.
#
# > **The rule.** `y.backward(gradient=k)` computes the gradients of `(k * y).sum()`.
#
# `step` shows how your 10 and 1 went along the arrows.

# %%
u.grad = v.grad = None
step(y, gradient=k, retain_graph=True).part(1, 3)  # without the first frame and the last two

# %% [markdown]
# **Notice:**
#
# - The upstream gradient enters at `StackBackward0`. This node sends 10 along arrow 0, to the product, and 1 along arrow 1, to the sum.
# - From there on it goes as in lesson 00: multiply along a path, and add where paths meet. The sum sends 1 and 1, and the product sends 30 and 20. So `u` gets 10·3 + 1·1 = 31, and `v` gets 10·2 + 1·1 = 21.
# - Two numbers went in, and two came out. No box holds four slopes.
#
# ## What is a Jacobian, and what is done with it?
#
# Two inputs and two outputs have four slopes between them. Written as a table, with one row for each output and one column for each input, they are called the **Jacobian**. What you have just computed is the upstream gradient times this table:

# %%
grids(
    ["upstream", [[10, 1]], "@", "Jacobian", [[3, 2], [1, 1]], "=", "for u, for v", [[31, 21]]],
    colours=("columns", "rows", "none"),
)

# %% [markdown]
# **Notice:** row 0 of the Jacobian, `[3, 2]`, belongs to u·v, whose slopes are v = 3 and u = 2. Row 1 belongs to u + v. Each row is multiplied by the upstream number of its colour, and the rows are added: 10 times the blue row, and 1 times the orange one. So the first number on the right is 10 · 3 + 1 · 1.
#
# A row of numbers times a table is a *vector-Jacobian product*, **VJP** for short. This is what `backward` computes, at each node and for the whole graph.
#
# You can use it to look at single rows. The upstream gradient `[1, 0]` asks for the first output only. Other numbers mix the rows:

# %% tags=["C03.3"]
for upstream in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [10.0, 1.0], [20.0, 2.0]):
    row = torch.autograd.grad(y, [u, v], torch.tensor(upstream), retain_graph=True)
    print(upstream, "gives", [slope.item() for slope in row])

# %% [markdown]
# **Notice:** the first two lines are the two rows of the Jacobian. The third upstream gradient is the sum of these two, and so is its result. The last one is twice the one above it, and so is its result. That is what "linear" means.
#
# ## So where is the table?
#
# Apply `exp` to 1000 numbers. Output i depends on input i only. So the Jacobian has a million entries, and all of them are zero but those on the diagonal. The node saves its 1000 results, which happen to be its slopes, and multiplies by them. That is its whole rule.
#
# If you insist on the table, `torch.autograd.functional.jacobian` builds it, row after row. Each row costs a backward pass. Below, a *hook* on the result counts the passes: a function that is called whenever a gradient arrives there. The ledger counts the bytes that are saved, at most `peak` at one time. (A number takes four.)


# %% tags=["C03.4"]
def outputs(x):
    y = x.exp()
    y.register_hook(lambda grad: passes.append("one more"))
    return y


passes = []
with ledger() as held:
    J = torch.autograd.functional.jacobian(outputs, torch.zeros(1000))
print("Jacobian:", J.numel() * 4, "bytes,", len(passes), "passes; kept by exp:", held.peak, "bytes")

# %% [markdown]
# 4,000 bytes against 4,000,000, and a thousand passes. The table is never built because it is never needed: a node only has to know how to *multiply* with it.
#
# The network of the beginning has a `tanh` in each of its layers. That, too, keeps its results and nothing else, for all 64 samples together:

# %%
with ledger() as held:
    result = torch.zeros(64, 4096, requires_grad=True).tanh()
print(f"kept by tanh: {held.peak:,} bytes; in 100 layers: {held.peak * 100 / 1e6:.0f} megabytes")

# %% [markdown]
# So 105 megabytes take the place of the 429 gigabytes.
#
# ## A bias is added to every row: what is its gradient?
#
# Here is a linear layer with two samples and two outputs for each. The bias `c` has two numbers, and is added to both rows. The upstream gradient `G` has the shape of `y`.
#
# ```python
# y = A @ B + c                       # A: 2 by 3, B: 3 by 2, c: two numbers
# G = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
# for_A, for_B, for_c = torch.autograd.grad(y, [A, B, c], G)
# ```
#
# `autograd.grad` *returns* gradients, one for each tensor in the list.
#
# **Predict.** What is `for_c`? Answer with a number, a list of numbers, or a list of lists. (The values of `A`, `B` and `c` do not matter.)

# %%
L.predict("03.p3", None)

# %% tags=["C03.5", "C03.6"]
A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
B = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], requires_grad=True)
c = torch.tensor([100.0, 200.0], requires_grad=True)
G = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
y = A @ B + c
for_A, for_B, for_c = torch.autograd.grad(y, [A, B, c], G, retain_graph=True)
print(for_c)
print(for_A)
print(A.grad, B.grad, c.grad)  # nothing was stored

# %%
draw(y)

# %% [markdown]
# **Notice:**
#
# - All three green boxes still say that `.grad` is None. `autograd.grad` caught what was on its way to them. Use it to *look* at gradients, and use `backward` when an optimizer is to use them.
# - `MmBackward0`, the matrix product, has saved both matrices. `AddBackward0` has saved nothing.
# - `y` is 2 by 2, and `c` has two numbers. Between them is a single node, the addition, which hands on what it gets. Yet two numbers have come out. Why they must be added comes now, and where the engine does it in the second sitting.
#
# Adding `c` to two rows is called **broadcasting**: each number of `c` is used twice, once in each row. And you know from lesson 00 what happens when something is used twice: there are two paths, and the gradients of the two paths are added. Here, that means adding the rows of `G`:

# %%
grids(["upstream, G", [[1, 2], [10, 20]], "add each column", "for c", [[11, 22]]])

# %% [markdown]
# **Notice:** what was one number in the forward pass is one column in the backward pass. The engine does this for every operation that broadcasts, and the gradient always has the shape of its tensor:

# %% tags=["C03.6"]
for shape in ((2,), (1, 2), (2, 1), ()):
    small = torch.zeros(shape, requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.zeros(2, 2) + small, small, G)
    assert gradient.shape == small.shape
    print(shape, "gets", gradient.tolist())

# %% [markdown]
# > **The rule.** Broadcasting uses one number several times, and every use sends back a gradient. They are added up.
#
# ## How do you find the rule of an operation by hand?
#
# Take the matrix product `P = A @ B`. Its element in row i and column j is the sum of `A[i, k] * B[k, j]` over all k. Now ask about one element of `A`, `A[i, k]`: which elements of `P` does it act on, and how strongly? It acts on row i only, and there on column j with the slope `B[k, j]`.
#
# So weigh each slope with the upstream gradient `G[i, j]`, and add over j: that is row i of `G` times row k of `B`. And this is element i, k of the matrix `G @ B.T`. For `B` the same reasoning gives `A.T @ G`. You never had to write down a Jacobian, which would have four indices here.

# %% tags=["C03.7"]
assert torch.equal(for_A, G @ B.T)
assert torch.equal(for_B, A.T @ G)
i, k = 1, 2  # one element with plain numbers
print(sum(G[i, j].item() * B[k, j].item() for j in range(2)), for_A[i, k].item())

# %% [markdown]
# ## Exercises: three rules
#
# **03.2 · The rule of a linear layer** (5 minutes). `nn.Linear` keeps its weight one row an *output*, and computes `x @ W.T`. `grad` is the upstream gradient of that product. Return the gradients for `x` and for `W`.


# %%
def linear_vjp(torch, grad, x, W):
    return None, None


L.check("03.2", linear_vjp)

# %% [markdown]
# **03.3 · Undo the broadcast** (8 minutes). `grad` is the upstream gradient of `x * m`, and has the shape of that product. Return the gradient for `x`, in the shape of `x`. Either may have been broadcast, in any number of dimensions: for a product `(2, 3)`, `x` may be `(3,)`, `(1, 3)`, `(2, 1)`, `(1, 1)`, `(2, 3)`, `()`. (`t.sum(d)` adds along dimension d and removes it, `t.sum(d, keepdim=True)` leaves a 1 there.)


# %%
def mul_vjp(torch, grad, x, m):
    return grad * m


L.check("03.3", mul_vjp)

# %% [markdown]
# **03.4 · The rule of softmax** (8 minutes). Softmax makes shares `s` out of numbers `x`: `s = x.exp() / x.exp().sum()`. The slope of `s[i]` for `x[j]` is `s[i] * (1 - s[i])` if i is j, and `-s[i] * s[j]` otherwise. Given `s` (one dimension) and its upstream gradient `grad`, return the gradient for `x`. An n by n table will do (`torch.eye(n)` and `torch.outer(a, b)` help to make one); can you manage without?


# %%
def softmax_vjp(torch, grad, s):
    return grad


L.check("03.4", softmax_vjp)

# %% [markdown]
# ## A rest
#
# You know now what travels along the arrows. The second sitting answers why it travels in this direction, and how you can check it.
#
# ## Why backwards?
#
# Slopes multiply along a path, whichever way you walk it. So why does everybody walk *backwards*, from the loss to the weights? Would it not be more natural to start at the inputs, and to push the slopes forwards together with the values?
#
# It would, and it gives the same numbers. What differs is the price. Let us count it on a network that is small enough for a sheet of paper: three inputs, two hidden numbers, one output. It has no `tanh`, so the slopes of a step are its weights: `h0` is 1·x0 + 2·x1, `h1` is 1·x1 + 3·x2, and `y` is 2·h0 − 1·h1. On the left are the tables of slopes of the two steps, on the right the one that we want:

# %%
grids(
    ["y, for h0 and h1", [[2, -1]], "@"]
    + ["h0 and h1, for x0, x1, x2", [[1, 2, 0], [0, 1, 3]], "="]
    + ["y, for x0, x1, x2", [[2, 3, -3]]],
    colours=("columns", "rows", "none"),
)

# %% [markdown]
# **Notice:** the two tables on the left are known. There are two ways to get from them to the three slopes on the right.
#
# - **Backwards.** Start at the output with the upstream gradient 1, and ask at each step: how much does `y` change when *this* number changes? You multiply a row by a table, from the left. That is the vector-Jacobian product from above.
# - **Forwards.** Start at one input, say `x0`, and ask the opposite question: if `x0` moves by 1, how much does everything behind it move? In the formula the inputs stand on the right, so you begin there, with a column called a *nudge*: 1 for this input, and 0 for the others. Each table is multiplied by the column. That is a *Jacobian-vector product* (JVP):

# %%
grids(
    ["y, for h0 and h1", [[2, -1]], "@"]
    + ["h0 and h1, for x0, x1, x2", [[1, 2, 0], [0, 1, 3]], "@"]
    + ["nudge of x0", [[1], [0], [0]], "=", "y, for x0", [[2]]],
    colours=("none", "columns", "rows", "none"),
)

# %% [markdown]
# **Notice:** the nudge picks out the blue column, `[1, 0]`, which says how `h0` and `h1` move. Then `[2, -1]` makes 2 of it: the slope for `x0`, and for no other input.
#
# Here are both ways as programs, for any chain of tables. They are mirror images of each other. `count` runs one of them and counts its multiplications. (A multiplication by 0 or by 1 counts like any other.)

# %%
def times(a, b):
    counted.append(a.numel() * b.shape[1])  # multiplications in a @ b
    return a @ b


def count(sweeps, steps):
    counted.clear()
    return sweeps(steps).tolist(), sum(counted)


counted = []


# %%
def backward_sweeps(steps):
    rows = torch.eye(steps[-1].shape[0])  # an upstream gradient of 1 for each output
    for table in reversed(steps):
        rows = times(rows, table)
    return rows


def forward_sweeps(steps):
    columns = torch.eye(steps[0].shape[1])  # a nudge of 1 for each input
    for table in steps:
        columns = times(table, columns)
    return columns


small = [torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]), torch.tensor([[2.0, -1.0]])]
print(backward_sweeps(small), forward_sweeps(small))

# %% [markdown]
# Both give the three slopes. Now let the network grow: n inputs, two hidden layers of 32 numbers each, and still one output, which you may call the loss.
#
# **Predict.** How many times as many multiplications do the forward sweeps need, compared with the backward sweep, if n is 1? And if n is 1024? Answer with a pair of numbers, such as `(3, 96)`.

# %%
L.predict("03.p4", None)

# %% [markdown]
# We count for six sizes. Then we turn the network round, so that it has one input and n outputs, and count again. What stands in the tables does not matter here, so we fill them with ones.

# %% tags=["C03.8"]
sizes, panels = [1, 4, 16, 64, 256, 1024], {}
for words in ("n inputs, 1 output", "1 input, n outputs"):
    panels[words] = lines = {"backward sweeps": {}, "forward sweeps": {}}
    for n in sizes:
        start, end = (n, 1) if words.endswith("1 output") else (1, n)
        steps = [torch.ones(32, start), torch.ones(32, 32), torch.ones(end, 32)]
        lines["backward sweeps"][n] = count(backward_sweeps, steps)[1]
        lines["forward sweeps"][n] = count(forward_sweeps, steps)[1]
backwards, forwards = panels["n inputs, 1 output"].values()
print("forwards / backwards, on the left:", [forwards[n] / backwards[n] for n in sizes])
chart(panels, across="n", up="multiplications", log=True)

# %% [markdown]
# **Notice:**
#
# - With one input and one output both directions cost the same. There is nothing magical about walking backwards.
# - On the left, the dashed line is higher than the other by exactly the factor n, as the printed line says. At 1024 inputs the backward sweep needs 33,824 multiplications, and the forward sweeps need 34,635,776.
# - On the right the two lines have changed places.
#
# The two directions answer different questions, and a sweep costs the same in both.
#
# - One *backward* sweep answers: how does **one output** depend on **every input**?
# - One *forward* sweep answers: how does **every output** depend on **one input**?
#
# You can check it on the small network with a pencil. Backwards, 1 times the row `[2, -1]` takes 2 multiplications, and this row times the table of 2 by 3 takes 6: eight in all, and you have all three slopes. Forwards, the table times the nudge takes 6, and the row times the two results takes 2: eight again, for the slope of `x0` alone. With `x1` and `x2` that makes 24.

# %% tags=["C03.8"]
for sweeps in (backward_sweeps, forward_sweeps):
    print(sweeps.__name__, *count(sweeps, small), "multiplications")

# %% [markdown]
# And now look at training. The inputs that we care about are the weights, and there may be a billion of them. The output is the loss, and there is one. One sweep backwards, or a billion sweeps forwards: this is the whole reason why we walk backwards. (The names to search for are **reverse mode** and **forward mode** of automatic differentiation. *Backpropagation* is reverse mode with a single output.)
#
# The cell below checks the backward half of this on the engine itself. `functional.jacobian` fills the table row after row, and a hook counts the backward passes. (The forward half was counted by our little programs alone: the engine only runs backwards.)

# %%
def network(x, outputs):
    y = torch.cat([small[1] @ (small[0] @ x)] * outputs)
    y.register_hook(passes.append)
    return y


for outputs in (1, 5):
    passes = []
    torch.autograd.functional.jacobian(lambda x, n=outputs: network(x, n), torch.ones(3))
    print("outputs:", outputs, "- backward passes for the whole table:", len(passes))

# %% [markdown]
# > **The rule.** Backward mode costs one sweep for each output, forward mode one for each input. A loss is one output.

# %% [markdown]
# **03.6 · What does it cost?** (5 minutes, optional). A chain of three matrix steps, 100 → 20 → 5 → 2 numbers, so the Jacobians are 20 by 100, 5 by 20 and 2 by 5. How many multiplications take: one backward pass with a given upstream gradient; the whole Jacobian of the chain by backward passes; the whole Jacobian by forward passes? (As `count` does it: every step of every pass counts, also the one that begins with a 1 and zeros.)

# %%
cost = {"one pass": None, "backwards": None, "forwards": None}

L.check("03.6", cost)

# %% [markdown]
# **Where this argument ends.** Three things are good to know before you repeat it to somebody.
#
# *It is about the number of outputs, not about neural networks.* How do ten thousand points of a simulated orbit depend on the mass of one planet? That is one input and many outputs, and a single forward sweep answers it. PyTorch has forward mode as well (`torch.func.jvp`, `torch.func.jacfwd`).
#
# *It counts multiplications, not memory.* A forward sweep runs along with the computation and may forget each step as soon as the next one is done. A backward sweep cannot begin before the computation has ended, and then it needs what the steps computed. So every node keeps tensors until its turn comes, and the longer the chain, the more is kept. Lesson 06 is about nothing else.
#
# *It does not make the table cheap.* A function with a thousand inputs and a thousand outputs needs a thousand sweeps in either direction. If you find yourself asking for a whole Jacobian, first ask whether a few of its products would do.

# %% [markdown]
# ## How do you check a rule?
#
# Take a small step along some direction `d`, once with it and once against it, and divide the difference of the results by the length of the way. That is a slope, measured without calculus; it is called a *central difference*. Where the function has no kink, it must be equal to the gradient times `d` (multiply and add).
#
# Take a random `d`. A wrong gradient can only slip through if its error times `d` happens to be about 0. And take float64. The two results are nearly equal, and subtracting them eats up most of the seven digits that float32 has. Below, the slope of x · exp(x) is measured in both. Beside it stand autograd's gradient, and one that forgets the product rule:

# %% tags=["C03.9"]
def f(x):
    return (x * x.exp()).sum()


x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
d = torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
(gradient,) = torch.autograd.grad(f(x), x)
for t, e in ((x, d), (x.float(), d.float())):
    measured = (f(t + 1e-5 * e) - f(t - 1e-5 * e)) / 2e-5
    print(f"{measured.item():.6f} measured in {t.dtype}")
print(f"{(gradient * d).sum().item():.6f} gradient times d")
print(f"{(x * x.exp() * d).sum().item():.6f} with a wrong rule: x times the slope of exp, and no more")

# %% [markdown]
# **How our engine does it.** So who made two numbers out of the four, for the bias? Not a rule. A rule is one formula for each input, and says nothing of broadcasting: both rules of `mul` may give gradients of too large a shape. Everything that a broadcasting node returns passes through one function, `fit`, which adds up the copies. In a simplified form:
#
# ```python
# def fit(grad, shape):
#     while grad has more dimensions than shape:   # they were put in front
#         grad = grad.sum(0)
#     for each dimension that is 1 in shape:       # it was stretched
#         grad = grad.sum(dim, keepdim=True)
#     return grad
# ```

# %% [markdown]
# ## Which shapes are refused?
#
# The upstream gradient is not broadcast: its shape must be exactly that of the outputs. And nobody sums for you when you write a gradient by hand. For the bias, `G` is still to be added over the rows:

# %% tags=["C03.11"]
y = A @ B + c
with expect_error(RuntimeError, "Mismatch in shape"):
    y.backward(torch.ones(2))  # two numbers for four outputs
with expect_error(RuntimeError, "attempting to assign a gradient of size '[2, 2]'"):
    c.grad = G  # by hand, not summed
print((c - 0.1 * G).shape)

# %% [markdown]
# **Notice** the last line. A step with the same `G` raises nothing: the subtraction broadcasts, and your bias has become a matrix. Be careful there.
#
# ## What does an input get that is not behind the outputs?
#
# `autograd.grad` refuses such an input. You can ask for None instead, or for zeros:

# %% tags=["C03.10"]
other = torch.ones(2, requires_grad=True)  # y does not depend on it
with expect_error(RuntimeError, "appears to not have been used in the graph"):
    torch.autograd.grad(y, [c, other], G)
print(torch.autograd.grad(y, [c, other], G, allow_unused=True))
print(torch.autograd.grad(y, [c, other], G, materialize_grads=True))
print(torch.autograd.grad((other * 0).sum(), other))  # behind the output: no error

# %% [markdown]
# ## Build your own engine: upstream gradients, broadcasting, more rows
#
# Your engine knows numbers, and three operations. Now it gets tensors of every shape. In `my_engine.py`:
#
# 1. `backward` takes an upstream gradient, and insists on one when the result has more than one element, with PyTorch's words: "grad can be implicitly created only for scalar outputs".
# 2. `fit(grad, shape)` undoes broadcasting: it adds up the gradients of the copies until the gradient has its tensor's shape, as you did in 03.3. Call it in one place, in `Node.__call__`, for all operations.
# 3. A formula may also ask for the `shape` of the first operand.
# 4. What stands behind the operands is no tensor: the 2 in `x ** 2`, the shapes in `x.reshape(4)` and `x.expand((2, 3))`. `operation` hands such a setting to `forward` as it is, and to a formula that names it. The row of the power begins `operation("Pow", lambda a, n: a ** n, lambda g, a, n: …`. (Do not call a setting `shape`; that name is taken.)
# 5. Add rows to the table: minus, division, power, matrix product, transpose (`T`), `reshape`, `expand`, `sum`, `mean`, `relu`, `tanh`. Each is one line, and you can derive each with a pencil, as above. For `sum` and `mean`, over all elements will do. The names are up to you. The checkpoint tries them one after the other, and says which differs.
#
# (If your file comes from `--catch-up 02`, 4 is there already.)
#
# A slip that costs an hour: `sum` and `expand` need each other in their formulas. Write both rows before you test one.

# %%
L.build("03")

# %% [markdown]
# When the checkpoint says *correct*, your engine differentiates a whole network, and draws what its nodes hold.
#
# ## Exercises: two more
#
# **03.1 · Which happens?** (7 minutes). Each program starts with the leaves `x = [1., 2.]` and `z = [1., 1.]`. Answer `"raises now"` (an ordinary line), `"raises at backward"` (the call of `backward` or `autograd.grad`), `"silently wrong"` (`got` is not what the comment wants) or `"fine"`.
#
# ```python
# # A. wanted: [2, 4], the gradient of the sum of x * x
# y = x * x; y.backward(); got = x.grad
# # B. wanted: [1, 2], the gradient of the mean of x * x
# y = x * x; y.backward(torch.ones(2)); got = x.grad
# # C. wanted: [0, 4], the gradient of the last element of x * x
# y = x * x; y[1:].backward(); got = x.grad
# # D. wanted: [2, 4] again
# y = x * x; y.backward(torch.ones(1)); got = x.grad
# # E. wanted: [3, 3], the gradient of the sum of x + M
# M = torch.zeros(3, 2); x.grad = torch.ones(3, 2); got = x.grad
# # F. wanted: the gradient of the sum of S @ T for S
# S, T = torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]); got = T.T @ torch.ones(2, 2)
# # G. wanted: [2, 4] in x.grad
# torch.autograd.grad((x * x).sum(), x); got = x.grad
# # H. wanted: [0, 0], how much the sum of x * x depends on z
# got = torch.autograd.grad((x * x).sum(), [x, z], materialize_grads=True)[1]
# ```

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("03.1", happens)

# %% [markdown]
# **03.5 · Four bug reports** (6 minutes). Which change does what the report wants? One letter each.
#
# | nr | report | a | b | c |
# | --- | --- | --- | --- | --- |
# | 1 | `loss = (x * w - t) ** 2`, eight samples. `loss.backward()` says "only for scalar outputs". I want the gradient of the mean. | `loss.backward(torch.ones(8))` | `loss[0].backward()` | `loss.mean().backward()` |
# | 2 | I write the gradient of a bias myself, for 8 samples; `g`, the gradient of my loss for the layer's output, has shape `(8, 3)`, the bias `(3,)`. `bias.grad = g` says "attempting to assign". | `bias.grad = g.sum(0)` | `bias.grad = g.mean(0)` | `bias.grad = g[0]` |
# | 3 | `autograd.grad(loss, [w, extra])` says "not have been used". I square and add all gradients, so I need zeros where there is none. | `retain_graph=True` | `materialize_grads=True` | `allow_unused=True` |
# | 4 | To check a gradient of 3 for w³ at w = 1, in float32, I compute `(f(w + step) - f(w)) / step` with step 1e-8, and get 0. | float64, step 1e-5 | step 1e-12 | step 1 |

# %%
cures = {1: None, 2: None, 3: None, 4: None}

L.check("03.5", cures)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/03_vector_jacobian_products/claims.py`).
#
# *What backward needs, and computes*
#
# - **C03.1** backward() without an upstream gradient starts only from a tensor with one element; from any other it raises.
# - **C03.2** `y.backward(gradient=k)` computes the gradients of `(k * y).sum()`: k, the upstream gradient, holds one number for each output.
# - **C03.3** An upstream gradient of 1 for one output and 0 for the others gives that output's row of the Jacobian; other numbers mix the rows linearly.
# - **C03.11** An upstream gradient must have exactly the shape of the outputs: it is not broadcast.
# - **C03.5** autograd.grad returns the gradients in the order of its inputs and leaves the `.grad` of every leaf as it was.
# - **C03.10** For an input that requires grad and is not behind the outputs, autograd.grad raises; with allow_unused it gives None, with materialize_grads zeros.
#
# *Why it is cheap*
#
# - **C03.4** For 1000 numbers, exp keeps 4,000 bytes for backward; its Jacobian has 4,000,000, and functional.jacobian runs 1000 backward passes to fill it.
# - **C03.8** A pass through a chain of matrix steps takes as many multiplications backwards as forwards; backwards it serves one output, forwards one input.
#
# *Rules*
#
# - **C03.6** An operand that was broadcast gets a gradient of its own shape: the gradients of its copies are added.
# - **C03.7** For matrices A and B, and G upstream of `A @ B`, the gradient for A is `G @ B.T` and that for B is `A.T @ G`.
# - **C03.9** In float64, where a function is smooth, a central difference along any direction d agrees closely with the gradient times d.
#
# **Left out, compared with PyTorch.** With `is_grads_batched`, one pass of PyTorch works on a whole stack of upstream gradients, and `functional.jacobian(vectorize=True)` uses that. PyTorch also has a forward mode, and `torch.func` with `vjp`, `jvp`, `jacrev` and `jacfwd`; our engine only runs backwards, one gradient a pass. PyTorch's table of rules is `derivatives.yaml`.
#
# **Read on in our engine:** ten rows of `course_lib/engine/derivatives.py`, each a VJP that you can now check by hand. Here are three of them (`mv` is matrix times vector), and the real `fit`. Its `sum_to` finds all dimensions first (`summed_dims`), and adds along them in one go. (`sum_of_columns` does the same, faster. The branch for tensors is for lesson 13.)

# %% tags=["engine"]
for name in ("exp", "mul", "mv"):
    print(name, ROWS[name].formulas)
show("engine.unbroadcast.unbroadcast")
show("arrays.kernels.views.sum_to")
show("arrays.kernels.views.summed_dims")

# %% [markdown]
# **Next:** every node has its rule. [Lesson 04](04_the_engine.ipynb) asks who decides which of them runs first.
