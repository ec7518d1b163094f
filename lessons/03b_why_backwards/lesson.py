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
# # 03b · Why backwards, and how to check a rule: what does a nudge tell you, and what does it cost?
#
# **You do not need calculus to find out how a loss depends on a weight. Make the weight a little larger, run the network again, and look how much the loss has changed. Do this with each weight, and you have the whole gradient, without a graph, without rules and without a backward pass. But a model with a billion weights that runs in a tenth of a second needs more than three years for a single gradient.**
#
# Everybody walks backwards through a network instead, from the loss to the weights. This part counts what that saves. And it ends with a nudge that is worth its price: two runs that check all slopes of a gradient at once. No later lesson needs this part.
#
# After this lesson you can
#
# - explain to somebody, with numbers, why gradients are computed backwards, and when they should not be;
# - say what a whole Jacobian costs in each direction;
# - check a gradient, or a rule of your own, without trusting anybody's calculus.
#
# **Minutes** 45, and 11 for more exercises · **Needs** lesson 03 · **Out of scope** PyTorch's forward mode
#
# [← 03 Vector-Jacobian products](03_vector_jacobian_products.ipynb) · [all lessons](home.ipynb) · [04 The engine →](04_the_engine.ipynb)

# %%
import course_lib as torch
from backscope import ledger
from coursekit import grids, lesson

L = lesson("03b")

# %%
W1 = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]], requires_grad=True)
W2 = torch.tensor([[2.0, -1.0]], requires_grad=True)
x = torch.tensor([[1.0], [2.0], [3.0]])
y = W2 @ (W1 @ x)
y.backward()

nudged = torch.zeros(2, 3)
for i in range(2):
    for j in range(3):
        with torch.no_grad():
            W = W1.clone()
            W[i, j] += 1.0  # the nudge
            nudged[i, j] = (W2 @ (W @ x) - y).item()
print("six runs:        ", nudged.tolist())
print("one backward pass:", W1.grad.tolist())
print(f"a billion runs, ten in each second: {1e9 / 10 / (365 * 24 * 3600):.1f} years")

# %% [markdown]
# The network of this cell fits on a sheet of paper: three inputs, two hidden numbers, one output. The six runs give what one backward pass gives. (Here a nudge of 1 is small enough, because `y` grows with each weight along a straight line. With a `tanh` it would have to be tiny.)
#
# ## What does a nudge do on its way?
#
# A run per weight wastes a lot. Most of it computes again what the nudge does not change. It is cheaper to push only the *change* through the network. That is what we do now, first with a nudge on an input.
#
# There is no `tanh`, so the slopes of a step are its weights: `h0` is 1·x0 + 2·x1, `h1` is 1·x1 + 3·x2, and `y` is 2·h0 − 1·h1. On the left are the tables of slopes of the two steps, on the right the one that we want:

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
# - **Backwards.** Start at the output with the upstream gradient 1, and ask at each step: how much does `y` change when *this* number changes? You multiply a row by a table, from the left. That is the vector-Jacobian product of lesson 03.
# - **Forwards.** Start at one input, say `x0`, and ask the opposite question: if `x0` moves by 1, how much does everything move that is computed from it? In the formula the inputs stand on the right, so you begin there, with a column called a *nudge*: 1 for this input, and 0 for the others. Each table is multiplied by the column. That is a *Jacobian-vector product* (JVP):

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
# ## What does each direction cost?
#
# Here are both ways as programs, for any chain of tables. They are mirror images of each other. `count` runs one of them and counts its multiplications. (A multiplication by 0 or by 1 counts like any other.)

# %%
def times(a, b):
    counted.append(a.numel() * b.shape[1])  # multiplications in a @ b
    return a @ b


def count(sweeps, *args):
    counted.clear()
    return sweeps(*args), sum(counted)


counted = []


# %% tags=["C03b.1"]
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


small = [W1.detach(), W2.detach()]
for sweeps in (backward_sweeps, forward_sweeps):
    table, multiplications = count(sweeps, small)
    print(sweeps.__name__, table.tolist(), multiplications, "multiplications")

# %% [markdown]
# Both give the three slopes. You can check the counts with a pencil. Backwards, 1 times the row `[2, -1]` takes 2 multiplications, and this row times the table of 2 by 3 takes 6. That makes 8. Forwards, the table times the nudge takes 6, and the row times its two results takes 2. That makes 8 again, but for `x0` alone.
#
# Now let the network grow: n inputs, two hidden layers of 32 numbers each, and still one output, which you may call the loss. What stands in the tables does not matter here, so we fill them with ones.

# %%
def chain(inputs, outputs):
    return [torch.ones(32, inputs), torch.ones(32, 32), torch.ones(outputs, 32)]

# %% [markdown]
# **Predict.** How many times as many multiplications do the forward sweeps need, compared with the backward sweep, if n is 1? And if n is 1024? Answer with a pair of numbers, such as `(3, 96)`. (Whole sweeps are counted, as above: also the product with the 1 and the zeros that a sweep begins with.)

# %%
L.predict("03b.p1", None)

# %% tags=["C03b.1"]
L.run(L.stage.both_directions, chain, count, backward_sweeps, forward_sweeps, after="03b.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - With one input and one output both directions cost the same. There is nothing magical about walking backwards.
# - On the left, the dashed line is higher than the other by exactly the factor n, as the printed line says. At 1024 inputs the backward sweep needs 33,824 multiplications, and the forward sweeps need 34,635,776.
# - On the right the network was turned round, so that it has one input and n outputs. The two lines have changed places.
#
# A sweep costs the same in both directions, and answers different questions.
#
# > **The rule.** One *backward* sweep says how **one output** depends on **every input**. One *forward* sweep says how **every output** depends on **one input**.

# %% [markdown]
# (The names to search for are **reverse mode** and **forward mode** of automatic differentiation. *Backpropagation* is reverse mode with a single output.)
#
# ## And the weights?
#
# So far we have nudged inputs. But training asks for the slopes of the *weights*. Is a weight an input in this sense?
#
# Nudge the weight `W1[0, 1]` by 1. It is what `x1` is multiplied by on the way to `h0`. So `h0` moves by `x1`, which is 2 here, and `h1` does not move. From there on the change goes forwards as before:

# %%
grids(
    ["y, for h0 and h1", [[2, -1]], "@", "h0 and h1, for W1[0, 1]", [[2], [0]]] + ["=", "y, for W1[0, 1]", [[4]]],
    colours=("columns", "rows", "none"),
)

# %% [markdown]
# That is the 4 that the six runs have found. A nudge on a weight simply starts in the middle of the network.
#
# Backwards, a sweep comes past each layer anyway, with a row that says how much `y` changes for each of the layer's results. The slope for a weight is the number of this row for its result, times the input that the weight multiplies. So one sweep serves all weights. Here is that as a program, and beside it a forward sweep for each weight. Both begin with an ordinary run, which keeps what each layer was given.

# %% tags=["C03b.2"]
def run(weights, x):
    values = [x]
    for W in weights:
        values.append(times(W, values[-1]))
    return values


def backwards_to_weights(weights, x):
    values, row, slopes = run(weights, x), torch.ones(1, 1), []
    for W, value in zip(reversed(weights), reversed(values[:-1]), strict=True):
        slopes.insert(0, times(row.T, value.T))  # one for each weight of W
        row = times(row, W)
    return slopes


def forwards_from_weights(weights, x):
    values, slopes = run(weights, x), [torch.zeros(W.shape) for W in weights]
    for layer, W in enumerate(weights):
        for i in range(W.shape[0]):
            for j in range(W.shape[1]):
                column = torch.zeros(W.shape[0], 1)
                column[i] = values[layer][j]  # what a nudge of 1 on W[i, j] does
                for later in weights[layer + 1 :]:
                    column = times(later, column)
                slopes[layer][i, j] = column.item()
    return slopes


for sweeps in (backwards_to_weights, forwards_from_weights):
    slopes, multiplications = count(sweeps, small, x)
    print(sweeps.__name__, [table.tolist() for table in slopes], multiplications)

# %% [markdown]
# The slopes are the same, and those of `W1` are what the first cell has found. On this sheet of paper the forward way is even a little cheaper, 20 multiplications against 24. Now for networks of n inputs and two hidden layers of n numbers each:

# %% tags=["C03b.2"]
for n in (4, 8, 16, 32):
    weights = [torch.ones(n, n), torch.ones(n, n), torch.ones(1, n)]
    backwards = count(backwards_to_weights, weights, torch.ones(n, 1))[1]
    forwards = count(forwards_from_weights, weights, torch.ones(n, 1))[1]
    number = sum(W.numel() for W in weights)
    print(f"{number:,} weights: {backwards:,} backwards, {forwards:,} forwards, {forwards / backwards:.0f} times")

# %% [markdown]
# **Notice:** backwards takes exactly three multiplications for each weight, however large the network is: one in the ordinary run, one for the row, and one for the slope. Forwards, *each* weight pays for a walk through the rest of the network. So the factor in the last column grows with the network.
#
# (A clever program would see that all weights in one row of a table move the same hidden number, and would nudge this number once for all of them. That leaves one sweep for each hidden number, still against one for all.)
#
# Training has one output, the loss, and it asks for the slopes of perhaps a billion weights. One sweep backwards, or a billion sweeps forwards: that is the reason why we walk backwards.
#
# ## Where does this argument end?
#
# Three things are good to know before you repeat it to somebody.
#
# *It is about the number of outputs, not about neural networks.* How do ten thousand points of a simulated orbit depend on the mass of one planet? That is one input and many outputs, and a single forward sweep answers it. PyTorch has forward mode as well (`torch.func.jvp`, `torch.func.jacfwd`).
#
# *It counts multiplications, not memory.* A forward sweep runs along with the computation and may forget each step as soon as the next one is done. A backward sweep cannot begin before the computation has ended, and then it needs what the steps computed. So whatever a rule reads is kept until its node's turn comes, and the longer the chain, the more is kept. Some rules read nothing:

# %% tags=["C03b.3"]
numbers = torch.ones(1000, requires_grad=True)
operations = {
    "t + t": lambda t: t + t,
    "-t": lambda t: -t,
    "t.sum()": lambda t: t.sum(),
    "t * t": lambda t: t * t,
    "t.exp()": lambda t: t.exp(),
}
for name, operation in operations.items():
    with ledger() as held:
        operation(numbers)
    print(f"{name:>8} keeps {held.peak:,} bytes")

# %% [markdown]
# What nodes keep, and for how long, is the subject of lesson 06.
#
# *It does not make the table cheap.* A function with a thousand inputs and a thousand outputs needs a thousand sweeps in either direction. If you find yourself asking for a whole Jacobian, first ask whether a few of its products would do.
#
# ## How do you check a rule?
#
# A nudge for each weight is too expensive. But one nudge that moves *all* of them is not. Take a small step along some direction `d`, once with it and once against it, and divide the difference of the results by the length of the way. That is a slope, measured without calculus; it is called a *central difference*. Where the function has no kink, it is nearly equal to the gradient times `d` (multiply and add).
#
# Below, the slope of x · exp(x) is measured in this way. Two gradients are compared with it: that of autograd, and one that forgets the product rule.

# %% tags=["C03b.4"]
def f(x):
    return (x * x.exp()).sum()


def measure(f, x, d, step):
    return ((f(x + step * d) - f(x - step * d)) / (2 * step)).item()


x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
d = torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
(gradient,) = torch.autograd.grad(f(x), x)
print(f"{measure(f, x, d, 1e-5):.6f} measured")
print(f"{(gradient * d).sum().item():.6f} autograd's gradient, times d")
print(f"{(x * x.exp() * d).sum().item():.6f} with a wrong rule: x times the slope of exp, and no more")

# %% [markdown]
# Two runs have checked three slopes, and they would have checked a billion. Take a *random* `d`. Then a wrong gradient can only slip through if its error times `d` happens to be about 0.
#
# ## How long should the step be?
#
# That was float64, which has some 16 digits. Most networks use float32, which has about seven. We measure a sum of cubes in both. Its value is about 9, and near 9 two neighbouring numbers of float32 are 0.000001 apart. So each of the two results may be off by about that much. And the step must not be too long either, since the curve bends.

# %%
def cubes(x):
    return (x * x * x).sum()


def four_steps(dtype):
    at, along = x.detach().to(dtype), d.to(dtype)
    for step in (0.1, 1e-3, 1e-5, 1e-7):
        print(f"step {step:<6g} {measure(cubes, at, along, step):10.4f}")

# %% [markdown]
# **Predict.** In float32, which of the four steps measures the slope of `cubes` best? Answer with this step, as a number.

# %%
L.predict("03b.p2", None)

# %% tags=["C03b.5"]
L.run(four_steps, torch.float32, after="03b.p2")

# %% [markdown] tags=["tells"]
# The true slope is 23.25. A step can be too long for the curve: 0.1 is. And it can be too short for the digits. The rounding, about 0.000001, is divided by twice the step. That makes 0.0005 for the second step, 0.05 for the third, and 5 for the last.

# %%
L.run(four_steps, torch.float64, after="03b.p2")

# %% [markdown] tags=["tells"]
# **Notice:** with 16 digits, each of the three short steps gives 23.2500.
#
# > **The rule.** Check gradients in float64, with a step of about 0.00001, along a random direction.

# %% [markdown]
# ### Exercise: two runs
#
# **03b.1 · Check a gradient with two runs** (8 minutes). `x` is a float64 tensor, and `f(x)` is a single number. Return True if `gradient` is the gradient of `f` at `x`, and False if any of its elements is wrong. Run `f` at most twice. (`torch.randn(x.shape, dtype=x.dtype)` makes random numbers. The check calls your function with values of `f` in the thousands and in the thousandths.)


# %%
def agrees(torch, f, x, gradient):
    return None


L.check("03b.1", agrees)

# %% [markdown]
# ## Exercises: more, if you like
#
# **03b.2 · Four bug reports** (6 minutes). Which change does what the report wants? One letter each. (Reports 1 to 3 are about lesson 03.)
#
# | nr | report | a | b | c |
# | --- | --- | --- | --- | --- |
# | 1 | `loss = (x * w - t) ** 2`, eight samples. `loss.backward()` says "only for scalar outputs". I want the gradient of the mean. | `loss.backward(torch.ones(8))` | `loss[0].backward()` | `loss.mean().backward()` |
# | 2 | I write the gradient of a bias myself, for 8 samples; `g`, the gradient of my loss for the layer's output, has shape `(8, 3)`, the bias `(3,)`. `bias.grad = g` says "attempting to assign". | `bias.grad = g.sum(0)` | `bias.grad = g.mean(0)` | `bias.grad = g[0]` |
# | 3 | `autograd.grad(loss, [w, extra])` says "not have been used". I square and add all gradients, so I need zeros where there is none. | `retain_graph=True` | `materialize_grads=True` | `allow_unused=True` |
# | 4 | To check a gradient of 3 for w³ at w = 1, in float32, I compute `(f(w + step) - f(w)) / step` with step 1e-8, and get 0. | float64, step 1e-5 | step 1e-12 | step 1 |

# %%
cures = {1: None, 2: None, 3: None, 4: None}

L.check("03b.2", cures)

# %% [markdown]
# **03b.3 · What does it cost?** (5 minutes). A chain of three matrix steps, 100 → 20 → 5 → 2 numbers, so the Jacobians are 20 by 100, 5 by 20 and 2 by 5. How many multiplications take: one backward pass with a given upstream gradient; the whole Jacobian of the chain by backward passes; the whole Jacobian by forward passes? (As `count` does it: every step of every pass counts, also the one that begins with a 1 and zeros.)

# %%
cost = {"one pass": None, "backwards": None, "forwards": None}

L.check("03b.3", cost)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C03b.1** A pass through a chain of matrix steps takes as many multiplications backwards as forwards; backwards it serves one output, forwards one input.
# - **C03b.2** One backward sweep through a chain of matrix steps gives the slopes of one output for all weights; a forward sweep that starts at one weight gives the slope for this one.
# - **C03b.3** The nodes of `t + t`, `-t` and `t.sum()` keep no tensor for backward; those of `t * t` and `t.exp()` do.
# - **C03b.4** In float64, where a function is smooth, a central difference along any direction d agrees closely with the gradient times d.
# - **C03b.5** For the lesson's sum of x * x * x in float32, the step 0.001 measures the slope better than 0.1, 0.00001 or 0.0000001.
#
# **Left out:** forward mode as PyTorch runs it (our engine only runs backwards), and `torch.autograd.gradcheck`, which makes such measurements for each element.
#
# **Next:** [lesson 04](04_the_engine.ipynb) asks which node runs first.
