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
# # 13 · Double backward: how do you train on a gradient?
#
# **Your training runs. Its loss contains a penalty on the slopes of your network, because a paper says that the training goes astray without it. You print the penalty: 8.0, 8.8, 9.7, 10.8. It should fall, and it rises. So you weight it with 1000 instead of 10. It makes no difference at all. There is no error, and every number that you print is correct.**
#
# The penalty is made of a *gradient*. To train on it, you need the gradient of a gradient: how do the slopes change when a weight changes?
#
# After this lesson you can
#
# - take derivatives of derivatives, and say which pass has to be recorded;
# - write a gradient penalty that works, and see before you train whether it does;
# - multiply a vector by a Hessian that is too large to write down;
# - say what the second derivative costs in memory, and which way of asking for it leaks.
#
# **Minutes** 90, of which 20 are for your own engine, and 28 for more exercises · **Needs** lessons 00 and 03 to 11 · **Out of scope** forward-mode derivatives, `torch.func`
#
# [← 12 Hooks](12_hooks.ipynb) · [all lessons](home.ipynb) · [13b Your tests](13b_your_tests.ipynb) · [14 Packing and checkpointing →](14_packing_and_checkpointing.ipynb)

# %%
import course_lib as torch
import gc
import numpy as np
import weakref

from backscope import draw, film, ledger
from coursekit import lesson

L = lesson(13)
torch.set_warn_always(True)  # PyTorch gives the warning of this lesson only once in a session

# %% [markdown]
# This is the *gradient penalty* of a Wasserstein GAN, a pair of networks that learns to fake data. One of the two, the critic, learns to give high scores to real samples and low scores to faked ones. To keep these scores from growing without bounds, at points `x` between real and fake the slopes of the score for `x` are to have the length 1.

# %%
real, fake = torch.tensor([[2.0, 2.0], [2.0, 0.0]]), torch.tensor([[0.0, 0.0], [0.0, -2.0]])


def start():
    W1, W2 = torch.tensor([[1.0, 1.0], [2.0, 0.0]]), torch.tensor([[2.0], [1.0]])
    return [p.requires_grad_() for p in (W1, torch.zeros(2), W2, torch.zeros(1))]


def critic(x, W1, b1, W2, b2):
    return torch.relu(x @ W1 + b1) @ W2 + b2


def penalty_of(g):
    return ((g.norm(dim=1) - 1) ** 2).mean()


def train(slopes, term):
    weights, penalties = start(), []
    optimizer = torch.optim.SGD(weights, lr=0.01)
    for _ in range(4):
        x = (0.5 * real + 0.5 * fake).requires_grad_()
        penalty = penalty_of(slopes(critic(x, *weights).sum(), x))
        loss = critic(fake, *weights).mean() - critic(real, *weights).mean() + term(penalty)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        penalties.append(round(penalty.item(), 1))
    print(penalties)


def plain(score, x):
    return torch.autograd.grad(score, x)[0]


train(plain, lambda penalty: 10 * penalty)
train(plain, lambda penalty: 1000 * penalty)

# %% [markdown]
# Both lines are the same, and the penalty rises. One argument is missing in this program. We start with the smallest program that needs it.
#
# (Why `.sum()`: the score of a sample depends on that sample alone, so row i of the gradient holds the slopes of score i. With batch norm it would not be so.)
#
# ## Three derivatives in a row: which passes must be recorded?
#
# The derivatives of x³ are 3x², 6x and 6. At 3 they are 27, 18 and 6. With `create_graph=True`, which lesson 11 has mentioned, a backward pass is itself recorded. Here `recorded` is a list that says which of the three passes are.

# %%
def three(recorded):
    print("recorded:", recorded)
    x = torch.tensor(3.0, requires_grad=True)
    y = x**3
    (first,) = torch.autograd.grad(y, x, create_graph=1 in recorded)
    print(first)
    (second,) = torch.autograd.grad(first, x, create_graph=2 in recorded)
    print(second)
    (third,) = torch.autograd.grad(second, x, create_graph=3 in recorded)
    print(third)


# %% [markdown]
# **Predict.** Which passes does `three` need to be recorded? Answer with a list of numbers, such as `[3]`, and with no more of them than needed.

# %%
L.predict("13.p1", None)

# %% tags=["C13.1", "C13.2"]
for passes in ([], [1, 3], [1, 2], [1, 2, 3]):
    L.run(three, passes, after="13.p1")

# %% [markdown] tags=["tells"]
# With `[]` the first derivative is a number without a history, and the second pass has nowhere to begin. With `[1, 3]` that happens one pass later. With `[1, 2]`, what the first two passes return has a `grad_fn`, and so it can be differentiated again. The last derivative needs no history, because nothing differentiates it further.

# %%
L.run(film, three, [1, 2, 3], after="13.p1")

# %% [markdown] tags=["tells"]
# **Notice:** step to the line that makes `first`. Its three nodes are new. When the node of `y` ran, its formula was computed with tensors, and each of its steps left a node, as any arithmetic does: the power x², times the number 3, times the gradient that arrived, which was 1. The new nodes have saved tensors of their own. And nothing was FREED: the node of `y` still has what it saved.
#
# > **The rule.** With `create_graph=True` the formulas of a backward pass are recorded like any other arithmetic. A gradient is then a result with a history.

# %% [markdown]
# ## Is `retain_graph` not enough?
#
# The two flags are often confused, because some error messages suggest the one when the other is needed. `retain_graph` lets nodes keep what they saved. `create_graph` computes with recorded tensors, and retains as well, since the new graph may lead into the old one. Here are the first pass with each flag, and then a second pass from the same `y`.

# %% tags=["C13.1", "C13.2"]
def two_passes(flags):
    x = torch.tensor(3.0, requires_grad=True)
    y = x**3
    print(flags, "|", torch.autograd.grad(y, x, **flags)[0])
    print("once more |", torch.autograd.grad(y, x)[0])


L.run(two_passes, {})
L.run(two_passes, {"retain_graph": True})
L.run(two_passes, {"create_graph": True})
L.run(two_passes, {"create_graph": True, "retain_graph": False})

# %% [markdown]
# With `retain_graph` alone you can go through the graph of `y` once more, but the gradient is a number with no past. The last run has a recorded gradient, and lets go of the graph of `y`.
#
# ## What comes out where calculus says zero?
#
# Here are four functions of `x`, each with a second derivative of zero at 2. You might expect four zeros.

# %% tags=["C13.1", "C13.3"]
def twice(f):
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    print("the gradient:", g)
    print("its gradient:", torch.autograd.grad(g, x)[0])


w = torch.tensor(5.0, requires_grad=True)
L.run(twice, torch.relu)
L.run(twice, lambda x: w * x)
L.run(twice, lambda x: 3 * x)
L.run(twice, lambda x: x.clamp(0, 3))

# %% [markdown]
# There are three answers, depending on what the graph knows.
#
# - **Zeros.** The node of `relu` saves the result of `relu`, which leads back to `x`. The gradient is computed from it, so there is a path from the gradient to `x`, and zeros come along it.
# - **An error about an unused input.** The gradient of `w * x` is 1 · `w`. It has a history, but this leads to `w` and not to `x`. `materialize_grads=True` (lesson 03) makes it zeros.
# - **An error about a missing grad_fn.** The gradient of `3 * x` is 3, and has no history at all. Nor has that of `clamp`, which only compares `x` with its bounds. Ask `g.requires_grad` before you go on.
#
# ## How do you use a table of a million times a million numbers?
#
# The second derivatives of a function `f` form a table, the *Hessian*: row i says how slope i changes with each input. For a million weights it has 10¹² entries. But most methods that use it need only the table times a vector `v`, and for that no table is needed. Take the gradient `g`, recorded. Then hand `v` to the second pass as the upstream gradient: it returns the gradient of `(g * v).sum()` (lesson 03).
#
# Each pass prints a dot here, by way of a hook. The second line uses the whole table.

# %% tags=["C13.4"]
def f(x):
    h = x * 1
    h.register_hook(lambda grad: print(".", end=" "))
    return (h**3).sum() + h[0] * h[1]  # the Hessian: 6x on the diagonal, 1 at [0, 1] and [1, 0]


def product(x, v):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, v)[0]


x, v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([1.0, 0.0, -1.0])
print(product(x, v))
print(torch.autograd.functional.hessian(f, x) @ v)
print(product(torch.ones(30, requires_grad=True), torch.ones(30)).shape)

# %% [markdown]
# The product takes two passes, with 3 inputs and with 30. The table takes one recorded pass, and then one for each row. (`torch.autograd.functional.hvp(f, x, v)` is the product in one call.)
#
# ### Exercise: a Hessian times a vector
#
# **13.1 · A Hessian times a vector** (6 minutes). `f(x)` is one number, `x` a leaf that requires grad, `v` plain and of the shape of `x`. Return the Hessian of `f` at `x` times `v`, without building the Hessian and without touching any `.grad`. If all second derivatives are zero, because `f` is linear or constant, return zeros. An error in `f`, or in a pass, must come out.


# %%
def hessian_times(torch, f, x, v):
    return v


L.check("13.1", hessian_times)

# %% [markdown]
# ## A penalty on slopes: which weights does it reach?
#
# Back to the critic. Its penalty is made of the slopes for the *input*. How it changes with the *weights* is a second derivative. Here it is with a recorded pass, on two samples whose numbers can be checked by hand.

# %%
W1, b1, W2, b2 = start()
x = (0.5 * real + 0.5 * fake).requires_grad_()


def slopes_of_critic():
    return torch.autograd.grad(critic(x, W1, b1, W2, b2).sum(), x, create_graph=True)[0]


def penalty_alone():
    g = slopes_of_critic()
    print("slopes", g.tolist(), "of lengths", g.norm(dim=1).tolist())
    penalty_of(g).backward()
    print(W1.grad, b1.grad, W2.grad, b2.grad, sep="\n")


# %% [markdown]
# **Predict.** What is in `.grad` of `W1`, `b1`, `W2` and `b2` when `penalty_alone` has run? Answer with a list of four: `"numbers"`, `"zeros"` or `"None"`.

# %%
L.predict("13.p2", None)

# %% tags=["C13.5"]
L.run(penalty_alone, after="13.p2")

# %% [markdown] tags=["tells"]
# Both weights have a gradient, `b1` has zeros, and `b2` has nothing. To see why, write down what the first backward pass computes. Forward, the critic is
#
# ```
# z = x @ W1 + b1      r = relu(z)      score = r @ W2 + b2
# ```
#
# Backward begins with a 1 for each score. The two products become products with the transposed weight (lesson 03), and the relu a factor of 0 or 1:
#
# ```
# for r:   gr = 1 @ W2.T          each row is W2
# for z:   gz = gr * (z > 0)      what relu lets pass
# for x:   g  = gz @ W1.T
# ```
#
# `W1` and `W2` stand in this formula. `b1` stands in it only through `z > 0`, which is a step and has the slope zero. `b2` does not stand in it: adding a constant to all scores changes no slope. The picture says the same.

# %%
L.run(lambda: L.stage.slopes(slopes_of_critic(), x=x, W1=W1, b1=b1, W2=W2), after="13.p2")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - The upper band on the left is the forward pass. The other three are the lines of its backward pass, recorded. Read them upwards from `g`: `W1` comes in at node 7, `W2` at node 4. (The dashed frame only says that `W1.T` is a view of `W1`.)
# - From there only one arrow leads to a *node* of the forward pass: arrow 1 of node 6, to `relu`. It goes on to `b1`, `x` and `W1`. Only zeros travel along it.
# - `b2` has no box.
#
# You can check the numbers by hand. The slopes of the second sample have the length 1 already, so they add nothing. Those of the first, g₁ = (3, 4), have the length 5:
#
# ```
# d penalty / d g₁  =  ½ · 2 · (5 − 1) · g₁ / 5  =  (2.4, 3.2)
# g₁                =  W2[0] · column 0 of W1 + W2[1] · column 1
# W1.grad[i, j]     =  (2.4, 3.2)[i] · (2, 1)[j]
# W2.grad           =  2.4 · 1 + 3.2 · 2 = 8.8,  2.4 · 1 + 3.2 · 0 = 2.4
# ```

# %% [markdown]
# ## What does it cost?
#
# In lesson 06 memory climbed in the forward pass and fell in the backward pass. A recorded pass does not let it fall, and its own operations save tensors, too.

# %% tags=["C13.6"]
X, A, B = (torch.ones(shape, requires_grad=True) for shape in ((100, 20), (20, 30), (30, 1)))
with ledger() as held:
    held.mark("forward")
    scores = torch.tanh(X @ A) @ B
    print("after forward:       ", held.now, "bytes")
    held.mark("first pass, recorded")
    (g,) = torch.autograd.grad(scores.sum(), X, create_graph=True)
    print("after the first pass:", held.now, "bytes")
    held.mark("penalty")
    penalty = (g * g).sum()
    held.mark("second pass")
    penalty.backward()
held.plot()

# %% [markdown]
# **Notice:** the curve climbs in the forward pass, and climbs on while the first pass is recorded, to twice as much. The recorded backward of `tanh` and the recorded product with `A` save a table of 100 × 30 numbers each, which is 12,000 bytes. The penalty saves `g`. Only the second pass lets go, of all but what the node of `scores` holds. It does not run that node.
#
# ## So why did the penalty of the story teach nothing?
#
# Here are two ways to get the slopes, and two terms for the loss.

# %%
def recorded(score, x):
    return torch.autograd.grad(score, x, create_graph=True)[0]


def retained(score, x):
    return torch.autograd.grad(score, x, retain_graph=True)[0]


def ten_times(penalty):
    return 10 * penalty


def ten_times_item(penalty):
    return 10 * penalty.item()


# %% [markdown]
# Three people repair the program at the top. A calls `train(recorded, ten_times)`, B calls `train(retained, ten_times)`, and C calls `train(recorded, ten_times_item)`.
#
# **Predict.** What does the penalty do in each? Answer with a list of three words: `"teaches"` (it pulls the slopes towards the length 1), `"ignored"` (no error, and the critic trains as if there were no penalty), or `"raises"`.

# %%
L.predict("13.p3", None)

# %% tags=["C13.7"]
L.run(train, recorded, ten_times, after="13.p3")
L.run(train, retained, ten_times, after="13.p3")
L.run(train, recorded, ten_times_item, after="13.p3")
L.run(train, lambda score, x: recorded(score, x).detach(), ten_times, after="13.p3")
L.run(train, recorded, lambda penalty: 0.0, after="13.p3")

# %% [markdown] tags=["tells"]
# In A, the first line, the penalty falls. All other lines are equal: B, C, a `detach()` on the way, and no penalty at all. They are the numbers of the story. There the penalty was a *constant*. It has the right value and no history, so it has no gradient, whether it is weighted with 10 or with 1000.
#
# Nothing raises, because the loss still requires a gradient: the scores in it do. And the slopes grow, because a steeper critic puts the scores of real and fake further apart.
#
# You can see this before you train. Look at each *term* of the loss, just as it stands in the sum.

# %% tags=["C13.7"]
def terms():
    for slopes, term in ((recorded, ten_times), (retained, ten_times), (recorded, ten_times_item)):
        print(term(penalty_of(slopes(critic(x, W1, b1, W2, b2).sum(), x))))


L.run(terms, after="13.p3")

# %% [markdown] tags=["tells"]
# Only the term of A has a `grad_fn`. That of B is a tensor without a history, and that of C is a plain number. (`backward()` on the penalty alone would find B, but not C, whose penalty is fine until it goes into the sum.)
#
# > **The rule.** A term without a history is silent in a sum. Before you train, print each term as it stands in the loss, and look for its `grad_fn`.

# %% [markdown]
# ## May I use `backward()` instead of `autograd.grad`?
#
# It has the same flag, so people write `critic(x).sum().backward(create_graph=True)` and go on with `x.grad`. Two things go wrong. Above, the penalty gave `W1` the gradient [[4.8, 2.4], [6.4, 3.2]]. Compare:

# %% tags=["C13.8", "P18"]
def by_backward(only_x):
    W1, b1, W2, b2 = start()
    x = (0.5 * real + 0.5 * fake).requires_grad_()
    score = critic(x, W1, b1, W2, b2).sum()
    score.backward(create_graph=True, inputs=[x] if only_x else None)
    penalty_of(x.grad).backward()
    print(W1.grad)


L.run(by_backward, False)
L.run(by_backward, True)

# %% [markdown]
# **`backward` fills every leaf.** In the first run, `W1.grad` is larger by [[2, 2], [2, 0]], which is the gradient of the scores. The first pass has put it there, and the second has added to it (lesson 05). With `inputs=[x]`, in the second run, `backward` fills only `x.grad`. That mends this.
#
# The warning is about the second thing, which `inputs=` does not mend. `x.grad` has a history now, and this history leads back to `x`:

# %% tags=["C13.9", "P18"]
def ring():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    picture = draw(x.grad, names={"x": x, "x.grad": x.grad})
    x.grad = None
    return picture


L.run(ring)

# %% [markdown]
# **Notice:** begin at `x` and follow the arrows. The green one, `.grad`, leads to `x.grad`, this to its node, the nodes lead to the green box, and the green box to `x`. That is a ring. Python's reference counting never frees a ring.
#
# `backward` makes such a ring for each weight, too. In training, these are opened again: `zero_grad()` sets the `.grad` of the weights to None. But `x` is a new tensor in each step, and no optimizer knows it. Here are six steps, each in one of four ways. How many of the six `x` are still alive at the end?

# %% tags=["C13.13", "P18"]
def six_steps(way):
    weights, alive = start(), []
    optimizer = torch.optim.SGD(weights, lr=0.01)
    for _ in range(6):
        x = (0.5 * real + 0.5 * fake).requires_grad_()
        score = critic(x, *weights).sum()
        optimizer.zero_grad()
        if way == "autograd.grad":
            g = recorded(score, x)
        else:
            score.backward(create_graph=True, inputs=None if way == "backward" else [x])
            g = x.grad
        (critic(fake, *weights).mean() - critic(real, *weights).mean() + 10 * penalty_of(g)).backward()
        if way == "x.grad = None":
            x.grad = None
        optimizer.step()
        alive.append(weakref.ref(x))
    return alive


def count():
    for way in ("backward", "inputs=[x]", "x.grad = None", "autograd.grad"):
        print(f"{way:14}", sum(x() is not None for x in six_steps(way)), "of 6")


gc.disable()
L.run(count)
gc.enable()

# %% [markdown]
# With `backward`, every step leaves its `x` behind, with `x.grad` and its graph, although each step clears the gradients of the weights. (We switched off Python's garbage collector. On our engine it would find these rings in the end. In PyTorch it does not, since they pass through C++: there it is a leak for good.)
#
# > **The rule.** For derivatives of derivatives use `autograd.grad`. It fills no leaf, and closes no ring.
#
# ### Exercise: repair a gradient penalty
#
# **13.2 · Repair a gradient penalty** (7 minutes). Another common kind of penalty: at the real samples, the squared length of each sample's slopes, and the mean of these. Posted with the words "it said *backward through the graph a second time*, so I added retain_graph=True; now the slopes grow, whatever the weight". `real` and `fake` are plain batches (N, D), `critic` gives scores (N, 1). Repair it so that `critic_loss(…).backward()` puts the right gradients, and nothing else, into the `.grad` of the critic's parameters, and so that no ring is left once the loss is deleted.


# %%
def critic_loss(torch, critic, real, fake, weight):
    x = real.clone().requires_grad_()
    scores = critic(x)
    scores.sum().backward(retain_graph=True)
    penalty = (x.grad**2).sum(dim=1).mean()
    return critic(fake).mean() - scores.mean() + weight * penalty


L.check("13.2", critic_loss)

# %% [markdown]
# ## Can a step of training be learned?
#
# A step of training is made of a gradient, too. In meta-learning (the best-known method is MAML), the loss is taken *after* a step, and its gradient goes *through* the step: to the weights before it, and to the learning rate.
#
# Let w = 2, the inner loss (w − 5)², and lr = 0.125. Then g = −6, and the new w is 2.75. The outer loss is the square of the new w.

# %%
def through(step):
    w, lr = torch.tensor(2.0, requires_grad=True), torch.tensor(0.125, requires_grad=True)
    (g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=True)
    new = step(w, lr, g)
    print("slopes for the old w and for lr:", torch.autograd.grad(new**2, [w, lr], allow_unused=True))


# %% [markdown]
# **Predict.** A is `through(lambda w, lr, g: w - lr * g)`. B has `g.detach()` in the place of `g`. What is the slope of the outer loss for the old `w`, in A and in B? Answer with a list of two numbers.

# %%
L.predict("13.p4", None)

# %% tags=["C13.10"]
L.run(through, lambda w, lr, g: w - lr * g, after="13.p4")
L.run(through, lambda w, lr, g: w - lr * g.detach(), after="13.p4")

# %% [markdown] tags=["tells"]
# By the chain rule the slope is 2 · 2.75, times the slope of the new w for the old one. That is 1 − 0.125 · 2, because g = 2w − 10 has the slope 2. It makes 5.5 · 0.75 = 4.125. If g is a constant, the new w just follows the old one, and 5.5 is left. That is cheaper, and some do it on purpose, under the name **first-order MAML**.
#
# The slope for `lr` is 5.5 · (−g) = 33. It needs only the value of g, so it is the same in both.
#
# > **The rule.** To learn through a step, record `g` and make a new tensor: `fast = fast - lr * g`.

# %% [markdown]
# ## Build your own engine: gradients of gradients
#
# Your gradients are tensors already, and your formulas are ordinary operations. So recording a pass needs a single argument: run it under `set_grad_enabled(create_graph)`, and let `create_graph` retain the graph as well. Three things follow, of some lines each:
#
# 1. A saved *result* was saved without its history. When the slot is read, give the history back: the node that is reading made it.
# 2. While recording is on, `AccumulateGrad` makes a new sum, and does not add in place. (With recording off it still adds in place, also to a gradient that has a history.)
# 3. Write `grad(output, inputs, grad_outputs=None, retain_graph=False, create_graph=False)`. `inputs` is one tensor or a list. It returns a tuple of gradients and stores none: let `run_backward` take a dictionary of the nodes at which gradients are to be caught. For an input that the output does not depend on, raise an error. Then `autograd = SimpleNamespace(grad=grad, Function=Function)`.
#
# The usual slip is to forget the first. Then x³ is fine, and exp has a wrong second derivative.

# %%
L.build("13")

# %% [markdown]
# When the checkpoint says *correct*, your engine gives derivatives of every order. Would you notice if somebody broke it? Part [13b](13b_your_tests.ipynb) asks your own tests.
#
# ## Exercises: more, if you like
#
# ### Can the step be written in place?
#
# Most training code does so, under `no_grad`. Then the step is in no graph. And in place with recording on? That is lesson 07 again: the graph of a gradient may have saved the old value. (The `* 1` makes `fast` a result, since a leaf may not be written to while recording is on.)

# %% tags=["C13.10", "C13.11"]
def under_no_grad(w, lr, g):
    with torch.no_grad():
        w -= lr * g
    return w


def recorded_in_place():
    fast = torch.tensor(2.0, requires_grad=True) * 1
    (g,) = torch.autograd.grad(fast**3, fast, create_graph=True)
    fast -= 0.125 * g
    (fast**2).backward()


L.run(through, under_no_grad)
L.run(recorded_in_place)

# %% [markdown]
# Under `no_grad`, 5.5 is the slope for the *new* `w`, and `lr` gets nothing at all. There is no error. In place with recording on, there is one.
#
# **13.3 · Learn the learning rate** (8 minutes). The function takes some steps on `inner` and returns the loss `outer` of what they lead to; both map a tensor to one number. Posted with "`lr.grad` is None". Repair it so that the result has the right gradients for the caller's `w` (a leaf) and `lr` (a tensor, one number), and the caller's `w` keeps its values.


# %%
def after_training(torch, w, lr, inner, outer, steps):
    for _ in range(steps):
        (g,) = torch.autograd.grad(inner(w), w)
        with torch.no_grad():
            w -= lr * g
    return outer(w)


L.check("13.3", after_training)

# %% [markdown]
# **13.4 · Which happens?** (7 minutes). In every program `x = torch.tensor([1.0, 2.0], requires_grad=True)`, first line `y = (x**3).sum()` (G and H bring a line of their own), last line `p.backward()`. Wanted is the whole derivative of `p` in `x.grad`, with the gradient `g` of `y` as something that depends on `x`. Answer with `"fine"`, `"raises now"` (an ordinary line), `"raises at backward"` (`p.backward()`, or another call of `backward` or `grad`) or `"silently wrong"` (no error, another number in `x.grad`).
#
# | | between the two lines |
# | --- | --- |
# | A | `(g,) = torch.autograd.grad(y, x, retain_graph=True); p = (g * g).sum()` |
# | B | `(g,) = torch.autograd.grad(y, x, retain_graph=True); p = (g * g).sum() + y` |
# | C | `y.backward(create_graph=True); g = x.grad; p = (g * g).sum()` |
# | D | `y.backward(create_graph=True); g = x.grad; x.grad = None; p = (g * g).sum()` |
# | E | `(g,) = torch.autograd.grad(y, x, create_graph=True); x.detach().mul_(0.5); p = (g * g).sum()` |
# | F | `(g,) = torch.autograd.grad(y, x, create_graph=True); x -= 0.1 * g; p = (x * x).sum()` |
# | G | `y = torch.relu(x).sum(); (g,) = torch.autograd.grad(y, x, create_graph=True); p = (g * g).sum()` |
# | H | `y = (3 * x).sum(); (g,) = torch.autograd.grad(y, x, create_graph=True); p = (g * g).sum()` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("13.4", happens)

# %% [markdown]
# **13.5 · Diagnose** (5 minutes). Six reports. Which change cures each? Choose from `"create_graph=True"`, `"retain_graph=True"`, `"autograd.grad"` (instead of `backward`), `"materialize_grads=True"`, `"a new tensor"` (instead of a write in place) and `"a Function"` (applied in `backward`).
#
# - A "For the penalty I make a new `x` in each step, call `critic(x).sum().backward(create_graph=True)` and use `x.grad`. I do call `zero_grad()`. Still every step takes some more memory, and it never comes back."
# - B "The penalty is in the loss, ten times. I print it: 8.0, 8.8, 9.7. A factor of 1000 changes nothing. No error."
# - C "My inner step is `with torch.no_grad(): w -= lr * g`, `g` is recorded. `lr.grad` stays None."
# - D "I sum the squares of second derivatives over all pairs of weights. Some pairs say 'appears to not have been used in the graph'. Zero would be right."
# - E "Our layer calls a C library. gradcheck is content. With a penalty behind the layer, training goes wrong, without an error."
# - F "I need the slopes of one score for `x`, and in a later line for `W`, as plain numbers. The second line says 'backward through the graph a second time'. Memory is short."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("13.5", cures)

# %% [markdown]
# ### Can your own Function be differentiated twice?
#
# With `create_graph=True` your `backward` is recorded like any code. If it is made of tensor operations, you get second derivatives. If it asks a library that knows only arrays, the history of its result is cut there. Lesson 11 could only refuse (`@once_differentiable`). Now there is a cure: let `backward` apply a Function, too. Here it is the Function itself, because cos(x) = sin(x + π/2). In general it is a second one, with a backward of its own. (`ctx.saved_tensors[0]` comes out with the history of `x`, so what is computed from it is recorded.)

# %% tags=["C13.12"]
class Sine(torch.autograd.Function):  # as if from a library that knows only arrays
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.from_numpy(np.cos(ctx.saved_tensors[0].detach().numpy()))


class Again(Sine):
    backward = staticmethod(lambda ctx, grad: grad * Again.apply(ctx.saved_tensors[0] + np.pi / 2))


# %% tags=["C13.12"]
x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
for fn in (Sine, Again):
    right = torch.autograd.gradcheck(fn.apply, x), torch.autograd.gradgradcheck(fn.apply, x, raise_exception=False)
    print(f"{fn.__name__}: gradcheck and gradgradcheck say {right}")
    (g,) = torch.autograd.grad((fn.apply(x) ** 2).sum(), x, create_graph=True)  # 2 sin cos
    print("  second derivative of sin²:", torch.autograd.grad(g.sum(), x)[0])
print("  wanted, 2 cos² - 2 sin²:  ", 2 * x.detach().cos() ** 2 - 2 * x.detach().sin() ** 2)

# %% [markdown]
# **Notice:** `Sine` gives no error, but 1.54 instead of 1.08. The gradient of sin² is 2 · sin · cos. The factor 2 · sin is the upstream gradient, and only that has a history. So only one half of the product rule is computed: 2 cos² = 1.54. The half that is missing, −2 sin², would have come through the cosine, which was an array.
#
# **13.6 · Arrays inside** (8 minutes). 1/x by a library that knows only arrays. Repair it so that `gradcheck` and `gradgradcheck` agree, also for third derivatives, and so that somebody who overwrites the result before backward gets an error. If somebody writes into the input, the gradient must stay right, or an error must come.


# %%
class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.r = 1 / x.detach().numpy()
        return torch.from_numpy(ctx.r)

    @staticmethod
    def backward(ctx, grad):
        return torch.from_numpy(-grad.detach().numpy() * ctx.r * ctx.r)


L.check("13.6", Reciprocal)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C13.1** With create_graph=True the formulas of the backward pass are recorded as operations: the gradient has the same value, and it has a grad_fn if its formula computes with something that requires grad (x**3, exp, relu), and none if it is a constant (3 * x) or only compares (clamp, max).
# - **C13.2** create_graph=True also retains the graph, unless retain_graph=False is said; retain_graph=True alone gives a gradient that cannot be differentiated.
# - **C13.3** A second derivative that is zero comes as zeros for relu(x), as an error about an unused input for `w * x`, and as one about a missing grad_fn for `3 * x`.
# - **C13.6** With create_graph=True the first pass releases nothing, and the operations that it records save further tensors.
# - **C13.4** The Hessian times v is the gradient of g with the upstream gradient v: two passes, however large the Hessian is.
# - **C13.5** A penalty on the slopes of `relu(x @ W1 + b1) @ W2 + b2` for x gives gradients to W1 and W2, zeros to b1 and nothing to b2.
# - **C13.10** Through `w - lr * g` the outer gradient takes in how g depends on w; with a g that has no history, or an update under no_grad, it is another number and there is no error.
# - **C13.7** Without create_graph, or after detach() or item(), the penalty is a constant: a loss that contains it runs without an error and trains as if it were not there.
# - **C13.8** backward(create_graph=True) adds the inner gradient to the `.grad` of every parameter that it reaches as well, and the second pass adds to that; with `inputs=[x]` it does not.
# - **C13.9** backward(create_graph=True) closes a ring, from a leaf to its `.grad`, to the graph and back, if the gradient's history leads to the leaf; the ring outlives the last name until `.grad` is cleared, and autograd.grad closes none.
# - **C13.13** In a loop with zero_grad(), each x whose slopes come from backward(create_graph=True) stays alive after its step, also with `inputs=[x]`; it goes with `x.grad = None`, or if autograd.grad is used.
# - **C13.11** A write in place between the two passes makes the second one raise, if the graph of the gradient has saved what was overwritten.
# - **C13.12** A backward that computes on plain arrays cuts the history of the gradient; one that applies a Function keeps it, and gradgradcheck tells the two apart.
#
# **A habit.** Take `autograd.grad` and not `backward`, and look at the `grad_fn` of each term of your loss.
#
# **Different, or left out, compared with PyTorch.** PyTorch's formulas work on tensors, recorded or not. Our engine writes each out twice: `apply` on arrays, and `apply_to_tensors` for a recorded pass.
#
# **Read on in our engine:** Note [What flows along the edges] in `course_lib/engine/backward.py`.
#
# **Next:** in [lesson 14](14_packing_and_checkpointing.ipynb) nodes hold something smaller, or nothing at all.
