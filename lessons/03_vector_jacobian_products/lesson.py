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
# They do not exist. Backward never computes one. It computes something smaller, which is all that you need. Once you have seen it, you can derive the rules of most operations with a pencil.
#
# After this lesson you can
#
# - start backward from many outputs, and say what comes of it;
# - derive the rule of an operation by hand, also of a matrix product and of a broadcast;
# - say where the tables of slopes have gone, and what is kept instead of them.
#
# **Minutes** 85, of which 25 are for your own engine, and 7 for more exercises · **Needs** lessons 00 to 02, slopes, and how matrices are multiplied · **Out of scope** why everybody walks backwards, and how to check a rule (part [03b](03b_why_backwards.ipynb)), the order of nodes (lesson 04), what they save (06), operations of your own (11)
#
# [← 02 Leaves](02_leaves.ipynb) · [all lessons](home.ipynb) · [04 The engine →](04_the_engine.ipynb)

# %%
import course_lib as torch
from course_lib.engine.ops import ROWS
from backscope import draw, ledger, step
from coursekit import expect_error, lesson

L = lesson(3)

# %%
slopes = 4096 * 4096
print(f"one table, of one layer and one sample: {slopes:,} slopes, {slopes * 4 / 1e6:.0f} megabytes at 4 bytes each")
print(f"the tables of 100 layers and 64 samples: {slopes * 4 * 100 * 64 / 1e9:.0f} gigabytes")

# %% [markdown]
# ## Two outputs: where does backward start?
#
# So far each graph ended in one number, the loss, and backward started there with a 1. This program has two outputs in one tensor. They are made from two inputs. (`torch.stack` puts both into one tensor.)

# %%
def start():
    u = torch.tensor(2.0, requires_grad=True)
    v = torch.tensor(3.0, requires_grad=True)
    y = torch.stack([u * v, u + v])  # [6., 5.]
    y.backward()
    print(u.grad, v.grad)

# %% [markdown]
# **Predict.** What does `y.backward()` do? Answer with one word: `"sum"` (it computes the gradients of the sum of both outputs), `"mean"`, `"first"` (of the first output), `"table"` (all four slopes, in a table), or `"raises"`. (This is a bet: no lesson has said it yet. Ask yourself what you would want from a library.)

# %%
L.predict("03.p1", None)

# %% tags=["C03.1"]
L.run(start, after="03.p1")

# %% [markdown] tags=["tells"]
# For a single number, backward starts with 1 by itself. For two outputs it cannot know what you want: their sum, their mean, one of them? So it refuses, and wants you to say how much each output counts.

# %% [markdown] tags=["tells"]
# You say it with an argument called `gradient`, which holds one number for each output.

# %% [markdown]
# Here the first output counts ten times and the second once:

# %%
def count_ten_and_one():
    u = torch.tensor(2.0, requires_grad=True)
    v = torch.tensor(3.0, requires_grad=True)
    y = torch.stack([u * v, u + v])
    y.backward(gradient=torch.tensor([10.0, 1.0]))
    print(u.grad, v.grad)

# %% [markdown]
# **Predict.** What are `u.grad` and `v.grad`? Answer with a list of two numbers.

# %%
L.predict("03.p2", None)

# %% tags=["C03.2"]
L.run(count_ten_and_one, after="03.p2")

# %% [markdown]
# For comparison, the next cell computes the gradients of an ordinary weighted sum of the two outputs. Then `step` shows how the 10 and the 1 went along the arrows. (`retain_graph=True` lets us go through the same graph once more: lesson 06.)

# %% tags=["C03.2"]
u = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(3.0, requires_grad=True)
y = torch.stack([u * v, u + v])
k = torch.tensor([10.0, 1.0])


def weighted_sum():
    return torch.autograd.grad((k * y).sum(), [u, v], retain_graph=True)


L.run(weighted_sum, after="03.p2")
L.run(lambda: step(y, gradient=k, retain_graph=True).part(1, 3), after="03.p2")  # frames 1 to 3

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - Your 10 and 1 enter at `StackBackward0`. This node sends 10 along arrow 0, to the product, and 1 along arrow 1, to the sum.
# - From there on it goes as in lesson 00: multiply along a path, and add where paths meet. The sum sends 1 and 1, and the product sends 30 and 20. So `u` gets 10·3 + 1·1 = 31, and `v` gets 10·2 + 1·1 = 21.
# - Two numbers went in, and two came out. No box holds four slopes.

# %% [markdown]
# What you hand over is called the **upstream gradient**. For each output it says how much the number that you care about changes when this output changes by 1. In a network, that number is the loss.
#
# > **The rule.** `y.backward(gradient=k)` computes the gradients of `(k * y).sum()`.
#
# ## What is a Jacobian, and what is done with it?
#
# Two inputs and two outputs have four slopes between them. Written as a table, with one row for each output and one column for each input, they are called the **Jacobian**. What you have just computed is the upstream gradient times this table:

# %%
L.run(L.stage.upstream_times_jacobian, [10, 1], [[3, 2], [1, 1]], after="03.p2")

# %% [markdown] tags=["tells"]
# **Notice:** row 0 of the Jacobian, `[3, 2]`, belongs to u·v, whose slopes are v = 3 and u = 2. Row 1 belongs to u + v. Each row is multiplied by the upstream number of its colour, and the rows are added: 10 times the blue row, and 1 times the orange one. So the first number on the right is 10 · 3 + 1 · 1.

# %% [markdown]
# (`L.stage` holds the code that only draws this lesson's tables.)
#
# A row of numbers times a table is a *vector-Jacobian product*, **VJP** for short. This is what `backward` computes, at each node and for the whole graph.
#
# You can use it to look at single rows. The upstream gradient `[1, 0]` asks for the first output only. Other numbers mix the rows:

# %% tags=["C03.3"]
for upstream in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]):
    row = torch.autograd.grad(y, [u, v], torch.tensor(upstream), retain_graph=True)
    print(upstream, "gives", [slope.item() for slope in row])

# %% [markdown]
# **Notice:** the first two lines are the two rows of the Jacobian. The third upstream gradient is the sum of these two, and so is its result. The last one is twice the one above it, and so is its result. A rule of this kind is called *linear*.
#
# ## So where is the table?
#
# Apply `exp` to 1000 numbers. Output i depends on input i only. So the Jacobian has a million entries, and all of them are zero except those on the diagonal. The node saves its 1000 results, which happen to be its slopes, and multiplies by them. That is its whole rule.
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
print("Jacobian:", J.numel() * 4, "bytes, made in", len(passes), "passes")
print("saved by the node of exp:", held.peak, "bytes")

# %% [markdown]
# 4,000 bytes against 4,000,000, and a thousand passes. The table is never built because it is never needed: a node only has to know how to *multiply* by it.
#
# Now for one layer of the network at the beginning, with all 64 samples. (`x` is what the layer below has sent.)

# %% tags=["C03.10"]
x = torch.zeros(64, 4096, requires_grad=True)
W = torch.zeros(4096, 4096, requires_grad=True)
with ledger() as held:
    result = (x @ W.T).tanh()
print(f"kept for backward: {held.peak:,} bytes")
for name, tensor in (("x", x), ("W", W), ("result", result)):
    print(f"{name:>6}: {tensor.numel() * 4:,} bytes")

# %% [markdown]
# **Notice:** the layer keeps three things. The product keeps its two factors, and `tanh` keeps its result. `W` is the largest of them by far, but the weights are there in any case; the node only holds on to them. And `x` is the result of the layer below, which has kept it already. So each layer adds one megabyte, its result.
#
# For a hundred layers that is 105 megabytes. Together with the weights themselves, 6.7 gigabytes, they do the work of the 429 gigabytes of tables. (And these are only the slopes for what goes *into* a layer. The table of one layer's outputs and its weights has 4096 rows of 16.7 million: 275 gigabytes for a single sample.)
#
# ## A bias is added to every row: what is its gradient?
#
# Here is a linear layer with two samples and two outputs for each. The bias `c` has two numbers, and is added to both rows. The upstream gradient `G` has the shape of `y`. `autograd.grad` *returns* gradients, one for each tensor in the list.

# %%
A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
B = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], requires_grad=True)
c = torch.tensor([100.0, 200.0], requires_grad=True)
G = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
y = A @ B + c


def for_the_bias():
    for_A, for_B, for_c = torch.autograd.grad(y, [A, B, c], G, retain_graph=True)
    print(for_c)

# %% [markdown]
# **Predict.** What is `for_c`? Answer with a number, a list of numbers, or a list of lists. (The values of `A`, `B` and `c` do not matter.)

# %%
L.predict("03.p3", None)

# %% tags=["C03.6"]
L.run(for_the_bias, after="03.p3")

# %% [markdown] tags=["tells"]
# `y` is 2 by 2, `c` has two numbers, and two numbers come out. They are the sums of the columns of `G`.
#
# Adding `c` to two rows is called **broadcasting**: each number of `c` is used twice, once in each row. And you know from lesson 00 what happens when something is used twice: there are two paths, and the gradients of the two paths are added. Here, that means adding the rows of `G`.

# %%
L.run(L.stage.upstream_of_the_bias, G, after="03.p3")

# %% [markdown] tags=["tells"]
# **Notice:** what was one number in the forward pass is one column in the backward pass.

# %% [markdown]
# Here are more shapes that can be added to a tensor of 2 by 2:

# %% tags=["C03.6"]
def each_shape():
    for shape in ((2,), (1, 2), (2, 1), ()):
        small = torch.zeros(shape, requires_grad=True)
        (gradient,) = torch.autograd.grad(torch.zeros(2, 2) + small, small, G)
        print(shape, "gets", gradient.tolist())


L.run(each_shape, after="03.p3")

# %% [markdown] tags=["tells"]
# The gradient always has the shape of its tensor, whatever was broadcast.
#
# > **The rule.** Broadcasting uses one number several times, and every use sends back a gradient. They are added up.

# %% [markdown]
# ## Does the node do this?
#
# Between `y` and `c` there is a single operation, the addition. You can call its node yourself, with `G`:

# %%
def call_the_node():
    for gradient in y.grad_fn(G):
        print(gradient.tolist())

# %% [markdown]
# **Predict.** The node answers with two gradients, for `A @ B` and for `c`. What does it send to `c`? Answer with a list of numbers, or a list of lists.

# %%
L.predict("03.p4", None)

# %%
L.run(call_the_node, after="03.p4")

# %% [markdown] tags=["tells"]
# The node hands on `G` twice, just as it is. A rule is one formula for each operand, and says nothing about broadcasting. So it is the *engine* that adds. After each call of a node, it compares each gradient with the shape of the operand that it is for. If the two differ, the gradient goes through one function, `unbroadcast`, which adds up the copies.

# %% [markdown]
# Which dimensions it has to add up is for you to work out.
#
# ### Exercise: undo the broadcast
#
# **03.1 · Undo the broadcast** (8 minutes). `grad` is the upstream gradient of `x * m`, and has the shape of that product. Return the gradient for `x`, in the shape of `x`. Either may have been broadcast, in any number of dimensions: for a product `(2, 3)`, `x` may be `(3,)`, `(1, 3)`, `(2, 1)`, `(1, 1)`, `(2, 3)`, `()`. (`t.sum(d)` adds along dimension d and removes it, `t.sum(d, keepdim=True)` leaves a 1 there.)


# %%
def mul_vjp(torch, grad, x, m):
    return grad * m


L.check("03.1", mul_vjp)

# %% [markdown]
# ## How do you find the rule of an operation by hand?
#
# Take the matrix product `P = A @ B`. Its element in row i and column j is the sum of `A[i, k] * B[k, j]` over all k. Now ask about one element of `A`, `A[i, k]`: which elements of `P` does it act on, and how strongly? It acts on row i only, and there on column j with the slope `B[k, j]`.
#
# So multiply each slope by its upstream gradient `G[i, j]`, and add over j: that is row i of `G` times row k of `B`. And this is element i, k of the matrix `G @ B.T`. For `B` the same reasoning gives `A.T @ G`. You never had to write down a Jacobian, which would have four indices here.

# %% tags=["C03.5", "C03.7"]
for_A, for_B = torch.autograd.grad(y, [A, B], G, retain_graph=True)
assert torch.equal(for_A, G @ B.T)
assert torch.equal(for_B, A.T @ G)
L.stage.slope_of_the_product(G, B, 1, 2)

# %% [markdown]
# **Notice:** `A[1, 2]` acts on row 1 of `P` only. So its gradient is row 1 of `G` times row 2 of `B`, added up: 10 · 2 + 20 · 2.

# %% tags=["C03.5"]
print("autograd's answer for A[1, 2]:", for_A[1, 2].item())
draw(y)

# %% [markdown]
# **Notice:** `MmBackward0`, the matrix product, has saved both matrices, because its rule reads them. `AddBackward0` has saved nothing. And the three leaves still say that `.grad` is None: `autograd.grad` returned what was on its way to them. Use it to *look* at gradients, and use `backward` when an optimizer is to use them.
#
# ### Exercise: a linear layer
#
# **03.2 · The rule of a linear layer** (5 minutes). `nn.Linear` keeps its weight with one row for each *output*, and computes `x @ W.T`. `grad` is the upstream gradient of that product. Return the gradients for `x` and for `W`.


# %%
def linear_vjp(torch, grad, x, W):
    return None, None


L.check("03.2", linear_vjp)

# %% [markdown]
# ### Exercise: softmax
#
# **03.3 · The rule of softmax** (8 minutes). Softmax makes shares `s` out of numbers `x`: `s = x.exp() / x.exp().sum()`. The slope of `s[i]` for `x[j]` is `s[i] * (1 - s[i])` if i is j, and `-s[i] * s[j]` otherwise. Given `s` (one dimension) and its upstream gradient `grad`, return the gradient for `x`. An n by n table will do (`torch.eye(n)` and `torch.outer(a, b)` help to make one); can you manage without?


# %%
def softmax_vjp(torch, grad, s):
    return grad


L.check("03.3", softmax_vjp)

# %% [markdown]
# ## What does backward refuse?
#
# The engine adds up what *it* passes on. It does not do that for what you write. An upstream gradient is not broadcast: its shape must be exactly that of the outputs. And a gradient that you assign to `.grad` must have its tensor's shape. Third, `autograd.grad` refuses an input that the outputs do not depend on. You can ask for None instead, or for zeros:

# %% tags=["C03.8", "C03.9"]
with expect_error(RuntimeError, "Mismatch in shape"):
    y.backward(torch.ones(2))  # two numbers for four outputs
with expect_error(RuntimeError, "attempting to assign a gradient of size '[2, 2]'"):
    c.grad = G  # not added up

other = torch.ones(2, requires_grad=True)  # y does not depend on it
with expect_error(RuntimeError, "appears to not have been used in the graph"):
    torch.autograd.grad(y, [c, other], G, retain_graph=True)
for instead in ({"allow_unused": True}, {"materialize_grads": True}):
    print(instead, torch.autograd.grad(y, [c, other], G, retain_graph=True, **instead)[1])

# %% [markdown]
# ## Build your own engine: upstream gradients, broadcasting, more rows
#
# Your engine knows numbers, and three operations. Now it gets tensors of every shape. In `my_engine.py`:
#
# 1. `backward` takes an upstream gradient, and insists on one when the result has more than one element, with PyTorch's words: "grad can be implicitly created only for scalar outputs".
# 2. `fit(grad, shape)` undoes broadcasting: it adds up the gradients of the copies until the gradient has its tensor's shape, as you did in 03.1. Call it in one place, in `Node.__call__`, for all operations.
# 3. A formula may also ask for the `shape` of the first operand. (The formula of `sum` needs it.)
# 4. What follows the operands is no tensor: the 2 in `x ** 2`, the shapes in `x.reshape(4)` and `x.expand((2, 3))`. `operation` hands such a setting to `forward` as it is, and to a formula that names it. The row of the power begins `operation("Pow", lambda a, n: a ** n, lambda g, a, n: …`. (Do not call a setting `shape`; that name is taken.)
# 5. Add rows to the table: minus, division, power, matrix product, transpose (`T`), `reshape`, `expand`, `sum`, `mean`, `relu`, `tanh`. Each is one line, and you can derive each with a pencil, as above. For `sum` and `mean`, over all elements will do. The names are up to you. The checkpoint tries them one after the other, and says which differs.
#
# (If your file comes from `--catch-up 02`, 4 is there already.)
#
# `sum` and `expand` may need each other in their formulas. Write both rows before you test one.

# %%
L.build("03")

# %% [markdown]
# When the checkpoint says *correct*, your engine differentiates a whole network, and draws what its nodes hold.
#
# ## Exercises: more, if you like
#
# **03.4 · Which happens?** (7 minutes). Each program starts with the leaves `x = [1., 2.]` and `z = [1., 1.]`. Answer `"raises now"` (an ordinary line), `"raises at backward"` (the call of `backward` or `autograd.grad`), `"silently wrong"` (`got` is not what the comment wants) or `"fine"`.
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

L.check("03.4", happens)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C03.1** backward() without an upstream gradient starts only from a tensor with one element; from any other it raises.
# - **C03.2** `y.backward(gradient=k)` computes the gradients of `(k * y).sum()`: k, the upstream gradient, holds one number for each output.
# - **C03.3** An upstream gradient of 1 for one output and 0 for the others gives that output's row of the Jacobian; other numbers mix the rows linearly.
# - **C03.4** For 1000 numbers, exp keeps 4,000 bytes for backward; its Jacobian has 4,000,000, and functional.jacobian runs 1000 backward passes to fill it.
# - **C03.5** autograd.grad returns the gradients in the order of its inputs and leaves the `.grad` of every leaf as it was.
# - **C03.6** An operand that was broadcast gets a gradient of its own shape: the gradients of its copies are added.
# - **C03.7** For matrices A and B, and G upstream of `A @ B`, the gradient for A is `G @ B.T` and that for B is `A.T @ G`.
# - **C03.8** An upstream gradient must have exactly the shape of the outputs: it is not broadcast.
# - **C03.9** For an input that requires grad and on which the outputs do not depend, autograd.grad raises; with allow_unused it gives None, with materialize_grads zeros.
# - **C03.10** The layer `(x @ W.T).tanh()` keeps x, W and its result for backward, and no table of slopes.
#
# **Left out:** `is_grads_batched`, with which one pass of PyTorch works on a whole stack of upstream gradients; `torch.func` with `vjp` and `jacrev`.
#
# **Read on in our engine:** the rows of `course_lib/engine/derivatives.py`, each a VJP that you can now check by hand. Here are three (`mv` is matrix times vector). PyTorch's table is `derivatives.yaml`.

# %% tags=["engine"]
for name in ("exp", "mul", "mv"):
    print(name, ROWS[name].formulas)

# %% [markdown]
# **Next:** every node has its rule. [Lesson 04](04_the_engine.ipynb) asks who decides which of them runs first. Part [03b](03b_why_backwards.ipynb) tells why everybody walks backwards, and how you can check a rule.
