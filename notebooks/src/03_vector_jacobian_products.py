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
# **A loss is one number, and backward gives its slopes. But the layers in between have thousands of outputs, and each output has a slope for each input. Where is the table of all those slopes?** Nowhere. Afterwards you can say what travels instead, write a node's rule yourself, check it, and price a pass. You can claim:
#
# - **C03.1** backward() without weights starts only from a tensor with one element; from any other it raises.
# - **C03.2** `y.backward(gradient=k)` computes the gradients of `(k * y).sum()`: k holds one weight for each output.
# - **C03.3** Weight 1 for one output and 0 for the others gives that output's row of the Jacobian; other weights mix the rows linearly.
# - **C03.4** For 1000 numbers, exp keeps 4,000 bytes for backward; its Jacobian has 4,000,000, and functional.jacobian runs 1000 backward passes to fill it.
# - **C03.5** autograd.grad returns the gradients in the order of its inputs and leaves the `.grad` of every leaf as it was.
# - **C03.6** An operand that was broadcast gets a gradient of its own shape: the gradients of its copies are added.
# - **C03.7** For matrices A and B, and weights G for `A @ B`, the gradient for A is `G @ B.T` and that for B is `A.T @ G`.
# - **C03.8** A pass through a chain of matrix steps takes as many multiplications backwards as forwards; backwards it serves one output, forwards one input.
# - **C03.9** In float64, where a function is smooth, a central difference along any direction d agrees closely with the gradient times d.
# - **C03.10** For an input that requires grad and is not behind the outputs, autograd.grad raises; with allow_unused it gives None, with materialize_grads zeros.
# - **C03.11** Weights must have exactly the shape of the outputs: they are not broadcast.
#
# **Minutes** 60, without 03.6 · **Needs** lessons 00 to 02, slopes, and how matrices are multiplied · **Opens** `course_lib/engine/fit.py` · **Out of scope** the order of nodes (lesson 04), what they keep (06), operations of your own (11)

# %%
import course_lib as torch
from course_lib.engine.ops import ROWS
from course_lib.teach import draw, expect_error, ledger, lesson, show

L = lesson(3)

# %% [markdown]
# ## Question
#
# ```python
# u = torch.tensor(2.0, requires_grad=True)
# v = torch.tensor(3.0, requires_grad=True)
# y = torch.stack([u * v, u + v])      # two outputs in one tensor: [6., 5.]
# y.backward()
# y.backward(gradient=torch.tensor([10.0, 1.0]))
# ```
#
# So far everything ended in one number. Here are two, with two inputs behind them.
#
# ## Predict
#
# First: what does `y.backward()` do? Answer with one word: `"sum"` (gradients of the sum of both outputs), `"mean"`, `"first"` (of the first output), `"table"` (all four slopes, in a table), or `"raises"`.
#
# Second: suppose only the last line is run. What are `u.grad` and `v.grad`? A list of two numbers; guess what `gradient` might mean.

# %%
L.predict("03.p1", None)

# %%
L.predict("03.p2", None)

# %% [markdown]
# ## Run
#
# A pass uses up its graph (lesson 06); `retain_graph=True` keeps it for the next.

# %% tags=["C03.1", "C03.2"]
u = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(3.0, requires_grad=True)
y = torch.stack([u * v, u + v])
with expect_error(RuntimeError, "grad can be implicitly created only for scalar outputs"):
    y.backward()

k = torch.tensor([10.0, 1.0])
y.backward(gradient=k, retain_graph=True)
print(u.grad, v.grad)
print(torch.autograd.grad((k * y).sum(), [u, v], retain_graph=True))  # an ordinary weighted sum

# %% [markdown]
# ## See
#
# A scalar is a single number: for one, backward starts with slope 1 by itself. For two it cannot know what you want. Here is the way of your 10 and 1:

# %%
draw(y)

# %% [markdown]
# **Notice:**
#
# - `gradient` enters at `StackBackward0`, which sends 10 along arrow 0 to the product, and 1 along arrow 1 to the sum.
# - From there on as in lesson 00: multiply along a path, add where paths meet. `u` gets 10·3 + 1·1 = 31, `v` gets 10·2 + 1·1 = 21.
# - Two numbers went in, two came out. No box holds four slopes: the product keeps `u` and `v`, and uses them when asked.
#
# Two inputs and two outputs: four slopes. Written as a table, one row for each output and one column for each input, they are called the *Jacobian*:
#
# ```
#                      for u   for v
#         y[0] = u*v  [  3       2  ]   weight 10
#         y[1] = u+v  [  1       1  ]   weight  1
#                     --------------
#         10·row 0 + 1·row 1 = [31, 21]
# ```
#
# Weights times table: a *vector-Jacobian product*, VJP for short. That is what `backward` computes, at every node and for the whole graph.
#
# ## Explain
#
# **One weight an output.** `gradient` says how much you care about each output: the slopes, for `y`, of whatever will be made of `y`. Weights 1 and 0 show single rows, one pass each. Other weights mix the rows: double the weights, and the result doubles; add two lists of weights, and the results are added. That is what "linear" means.

# %% tags=["C03.3"]
for k in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [10.0, 1.0], [20.0, 2.0]):
    row = torch.autograd.grad(y, [u, v], torch.tensor(k), retain_graph=True)
    print(k, "gives", [slope.item() for slope in row])

# %% [markdown]
# **The table is never built.** Apply `exp` to 1000 numbers. Output i depends on input i only, so the Jacobian is a million entries, all zero but the diagonal. The node keeps its 1000 results, which are its slopes, and multiplies by them. Who insists on the table asks `torch.autograd.functional.jacobian`. It fills row after row, one pass for each. A hook on the result counts the passes, the ledger of lesson 02 the bytes kept. (A float takes four.)


# %% tags=["C03.4"]
def outputs(x):
    y = x.exp()
    y.register_hook(lambda grad: passes.append("one more"))  # called when a gradient arrives
    return y


passes = []
with ledger() as held:
    J = torch.autograd.functional.jacobian(outputs, torch.zeros(1000))
print("Jacobian:", J.numel() * 4, "bytes,", len(passes), "passes; kept by exp:", held.peak, "bytes")

# %% [markdown]
# ## Question
#
# ```python
# y = A @ B + c                       # A: 2 by 3, B: 3 by 2, c: two numbers
# G = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
# for_A, for_B, for_c = torch.autograd.grad(y, [A, B, c], G)
# ```
#
# A linear layer: two samples, two outputs each, and a bias `c` added to both rows. The weights `G` have the shape of `y`. `autograd.grad` *returns* gradients, one for each tensor in the list.
#
# ## Predict
#
# What is `for_c`? Answer with a number, a list of numbers, or a list of lists. (The values of `A`, `B` and `c` do not matter.)

# %%
L.predict("03.p3", None)

# %% [markdown]
# ## Run

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

# %% [markdown]
# ## See

# %%
draw(y)

# %% [markdown]
# **Notice:**
#
# - All three green boxes still say that `.grad` is None. `grad` caught what was on its way into them. Use it to *look* at slopes, and `backward` when an optimizer is to use them.
# - `MmBackward0` (matrix times matrix) keeps both matrices, `AddBackward0` keeps nothing.
# - `y` is 2 by 2, `c` has two numbers. Between them is one node, the addition, which hands on what it gets. Who made two numbers of four?
#
# ## Explain
#
# **A copy is a use.** Adding `c` to two rows is called *broadcasting*: each of its numbers is used twice, once in each row. What is used twice has two paths, and slopes of paths are added. So the engine adds the rows of `G`: 1 + 10 and 2 + 20. It does so for every operation that broadcasts, and the gradient always has the shape of its tensor.

# %% tags=["C03.6"]
for shape in ((2,), (1, 2), (2, 1), ()):
    small = torch.zeros(shape, requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.zeros(2, 2) + small, small, G)
    assert gradient.shape == small.shape
    print(shape, "gets", gradient.tolist())

# %% [markdown]
# **The rule of the matrix product, by hand.** The product's element in row i, column j adds up `A[i, k] * B[k, j]` for all k. So `A[i, k]` acts on row i only, on its column j with slope `B[k, j]`. Weigh each slope with `G[i, j]`, and add over j: row i of `G` times row k of `B`, which is element i, k of `G @ B.T`. For `B` the same reasoning gives `A.T @ G`. No table.

# %% tags=["C03.7"]
assert torch.equal(for_A, G @ B.T)
assert torch.equal(for_B, A.T @ G)
i, k = 1, 2  # one element with plain numbers
print(sum(G[i, j].item() * B[k, j].item() for j in range(2)), for_A[i, k].item())

# %% [markdown]
# **Why backwards?** Three steps, 4 → 4 → 4 → 1 numbers, with Jacobians J1, J2, J3. One VJP for each step, from the output back: 4 + 16 + 16 = 36 multiplications, for the slopes of one *output*. Forwards, the slopes for one *input* are pushed through J1, J2, J3 (a *Jacobian-vector product* each, JVP): 36 again, but there are four inputs (the columns of `eye`): 144. A model has a million inputs and one loss. Hence backwards.


# %% tags=["C03.8"]
def times(a, b):
    counted.append(a.shape[0] * b.numel())  # multiplications in a @ b
    return a @ b


counted, J1 = [], torch.arange(16.0).reshape(4, 4)
J2, J3 = J1.T + 1, J1[1:2]
backwards = times(times(times(torch.ones(1, 1), J3), J2), J1)  # weight 1, step 3, 2, 1
forwards = times(J3, times(J2, times(J1, torch.eye(4))))  # four inputs, step 1, 2, 3
print(torch.equal(backwards, forwards), "backwards", sum(counted[:3]), "forwards", sum(counted[3:]))

# %% [markdown]
# **Checking a rule.** Step a little along a direction `d` both ways and divide by the distance: a slope, measured without calculus (a *central difference*). Where the function has no kink, it must be the gradient times `d` (multiply and add). Take a random `d`: a wrong gradient slips through only if its error times `d` happens to be about 0. And take float64: subtracting two nearly equal numbers eats most of float32's seven digits.

# %% tags=["C03.9"]
def f(x):
    return (x * x.exp()).sum()


x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
d = torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
(gradient,) = torch.autograd.grad(f(x), x)
for t, e in ((x, d), (x.float(), d.float())):
    measured = (f(t + 1e-5 * e) - f(t - 1e-5 * e)) / 2e-5
    print(f"{measured.item():.6f} measured, {(gradient * d).sum().item():.6f} gradient times d")

# %% [markdown]
# **Open our engine.** A rule is one line of text for each input (`mv` is matrix times vector). It says nothing of broadcasting: both rules of `mul` may give gradients that are too large. What a node that broadcasts returns passes through `fit`. `summed_dims` lists the dimensions that were put in front and those stretched from 1; `fit` adds along them. (`sum_of_columns` does the same, faster; `fit_tensor` is for lesson 13.)

# %% tags=["engine"]
for name in ("exp", "mul", "mv"):
    print(name, ROWS[name].formulas)
show("engine.fit.fit")
show("engine.fit.summed_dims")

# %% [markdown]
# ## Break it
#
# Weights are not broadcast: a shape that is not that of the outputs is refused. Nor does anybody sum for you when you write a gradient by hand. Assigning `G` to `c.grad` raises, but `c - 0.1 * G` broadcasts, and your bias has become a matrix. The third error is about an input that is not behind the outputs: ask for None instead, or for zeros.
#
# The second cell shows something that our engine lacks: with `is_grads_batched`, PyTorch runs one pass for a whole stack of weights.

# %% tags=["C03.10", "C03.11"]
y = A @ B + c
with expect_error(RuntimeError, "Mismatch in shape"):
    y.backward(torch.ones(2))  # two weights for four outputs
with expect_error(RuntimeError, "attempting to assign a gradient of size '[2, 2]'"):
    c.grad = G  # by hand, not summed
print((c - 0.1 * G).shape)
other = torch.ones(2, requires_grad=True)
with expect_error(RuntimeError, "appears to not have been used in the graph"):
    torch.autograd.grad(y, [c, other], G)
print(torch.autograd.grad(y, [c, other], G, allow_unused=True))
print(torch.autograd.grad(y, [c, other], G, materialize_grads=True))
print(torch.autograd.grad((other * 0).sum(), other))  # behind the output: no error

# %% tags=["engine"]
with expect_error(NotImplementedError, "is_grads_batched"):
    torch.autograd.grad(c * 2, c, torch.eye(2), is_grads_batched=True)

# %% [markdown]
# ## Exercises
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
# **03.2 · The rule of a linear layer** (5 minutes). `nn.Linear` keeps its weight one row an *output*, and computes `x @ W.T`. `grad` holds the weights for that product. Return the gradients for `x` and for `W`.


# %%
def linear_vjp(torch, grad, x, W):
    return None, None


L.check("03.2", linear_vjp)

# %% [markdown]
# **03.3 · Undo the broadcast** (8 minutes). `grad` holds the weights for `x * m`, and has the shape of that product. Return the gradient for `x`, in the shape of `x`. Either may have been broadcast, in any number of dimensions: for a product `(2, 3)`, `x` may be `(3,)`, `(1, 3)`, `(2, 1)`, `(1, 1)`, `(2, 3)`, `()`. (`t.sum(d)` adds along dimension d and removes it, `t.sum(d, keepdim=True)` leaves a 1 there.)


# %%
def mul_vjp(torch, grad, x, m):
    return grad * m


L.check("03.3", mul_vjp)

# %% [markdown]
# **03.4 · The rule of softmax** (8 minutes). Softmax makes shares `s` out of numbers `x`: `s = x.exp() / x.exp().sum()`. The slope of `s[i]` for `x[j]` is `s[i] * (1 - s[i])` if i is j, and `-s[i] * s[j]` otherwise. Given `s` (one dimension) and weights `grad` for it, return the gradient for `x`. An n by n table will do (`torch.eye(n)` and `torch.outer(a, b)` help to make one); can you manage without?


# %%
def softmax_vjp(torch, grad, s):
    return grad


L.check("03.4", softmax_vjp)

# %% [markdown]
# **03.5 · Four bug reports** (6 minutes). Which change does what the report wants? One letter each.
#
# | nr | report | a | b | c |
# | --- | --- | --- | --- | --- |
# | 1 | `loss = (x * w - t) ** 2`, eight samples. `loss.backward()` says "only for scalar outputs". I want the gradient of the mean. | `loss.backward(torch.ones(8))` | `loss[0].backward()` | `loss.mean().backward()` |
# | 2 | I write the gradient of a bias myself, for 8 samples; `g` has shape `(8, 3)`, the bias `(3,)`. `bias.grad = g` says "attempting to assign". | `bias.grad = g.sum(0)` | `bias.grad = g.mean(0)` | `bias.grad = g[0]` |
# | 3 | `autograd.grad(loss, [w, extra])` says "not have been used". I square and add all gradients, so I need zeros where there is none. | `retain_graph=True` | `materialize_grads=True` | `allow_unused=True` |
# | 4 | To check a gradient of 3 for w³ at w = 1, in float32, I compute `(f(w + step) - f(w)) / step` with step 1e-8, and get 0. | float64, step 1e-5 | step 1e-12 | step 1 |

# %%
cures = {1: None, 2: None, 3: None, 4: None}

L.check("03.5", cures)

# %% [markdown]
# **03.6 · What does it cost?** (5 minutes, optional). A chain of three matrix steps, 100 → 20 → 5 → 2 numbers, so the Jacobians are 20 by 100, 5 by 20 and 2 by 5. How many multiplications take: one backward pass with given weights; the whole Jacobian of the chain by backward passes; the whole Jacobian by forward passes?

# %%
cost = {"one pass": None, "backwards": None, "forwards": None}

L.check("03.6", cost)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell shows | test |
# | --- | --- | --- |
# | C03.1 one element, or weights | the error for two outputs | `test_c03_1` |
# | C03.2 weights of the outputs | 31 and 21, twice | `test_c03_2` |
# | C03.3 rows, and mixtures of rows | five lines | `test_c03_3` |
# | C03.4 the table is never built | 4,000,000 bytes, 1000 passes, 4,000 bytes | `test_c03_4` |
# | C03.5 `grad` returns | three gradients, three times None | `test_c03_5` |
# | C03.6 copies are added | 11 and 22; four shapes | `test_c03_6` |
# | C03.7 the matrix product | two asserts | `test_c03_7` |
# | C03.8 backwards or forwards | 36 against 144 | `test_c03_8` |
# | C03.9 measured slopes agree | the same six decimals, in float64 | `test_c03_9` |
# | C03.10 unused inputs | an error, None, zeros | `test_c03_10` |
# | C03.11 weights are not broadcast | "Mismatch in shape" | `test_c03_11` |
#
# The tests, in `tests/claims/test_claims_03.py`, run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** `functional.jacobian(vectorize=True)` runs all passes as one, too. PyTorch also has a forward mode, and `torch.func` with `vjp`, `jvp`, `jacrev` and `jacfwd`; our engine only runs backwards. PyTorch's table of rules is `derivatives.yaml`.
#
# **Read next in our engine:** ten rows of `course_lib/engine/derivatives.py`, each a VJP that you can now check by hand.
#
# **Next:** lesson 04, the engine. Every node has its rule. Who decides which runs first?
