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
# **Your training runs, and the loss falls. In it stands a penalty on the slopes of your network, because a paper says that without it the training goes astray. You print the penalty: 8.0, 8.8, 9.7. It should fall. So you weigh it with 10, with 100, with 1000. It makes no difference at all. There is no error, and every number that you print is correct.**
#
# The penalty is made of a *gradient*. To train on it, you need the gradient of a gradient: how do the slopes change when a weight changes? The same is needed when a step of training is itself to be learned, or when you want to know how curved a function is. In all of these the first backward pass is one step of a longer computation, and it has to leave something behind for the second.
#
# After this lesson you can
#
# - take derivatives of derivatives, and say which pass has to be recorded;
# - write a gradient penalty that works, and test in one line whether it does;
# - multiply with a Hessian that is too large to write down;
# - say what the second derivative costs in memory, and which way of asking for it leaks.
#
# **Minutes** 90, with a rest behind exercise 13.2; exercise 13.6 is an optional 8 more, and the tests at the end take as long as you like · **Needs** lessons 00, 03 to 07, 09 and 11 · **Out of scope** forward-mode derivatives, `torch.func`
#
# [← 12 Hooks](12_hooks.ipynb) · [all lessons](home.ipynb) · [14 Packing and checkpointing →](14_packing_and_checkpointing.ipynb)

# %%
import course_lib as torch
import gc
import numpy as np
import warnings
import weakref

from backscope import draw, ledger
from coursekit import expect_error, lesson, show

L = lesson(13)
torch.set_warn_always(True)  # PyTorch says a warning about this lesson once in a session, and it
warnings.filterwarnings("ignore", "Using backward")  # is printed where it is explained

# %% [markdown]
# ## Three derivatives in a row: which passes must be recorded?
#
# We begin with a function whose derivatives you know. Those of x³ are 3x², 6x and 6. At 2 they are 12, 12 and 6.
#
# ```python
# x = torch.tensor(2.0, requires_grad=True)
# y = x**3
# (first,) = torch.autograd.grad(y, x)
# (second,) = torch.autograd.grad(first, x)
# (third,) = torch.autograd.grad(second, x)
# ```
#
# As it stands, the program stops with an error. Lesson 11 has used the word that is missing: with `create_graph=True`, a backward pass is itself recorded.
#
# **Predict.** Call the three calls of `grad` 1, 2 and 3. Which of them need `create_graph=True`? Answer with a list of numbers, such as `[3]`, and with no more of them than needed.

# %%
L.predict("13.p1", None)

# %% [markdown]
# First we try it without `create_graph`, although we retain the graph. Then we take all three with it:

# %% tags=["C13.1", "C13.2"]
x = torch.tensor(2.0, requires_grad=True)
y = x**3
(plain,) = torch.autograd.grad(y, x, retain_graph=True)
with expect_error(RuntimeError, "does not require grad and does not have a grad_fn"):
    torch.autograd.grad(plain, x)
(first,) = torch.autograd.grad(y, x, create_graph=True)
(second,) = torch.autograd.grad(first, x, create_graph=True)
(third,) = torch.autograd.grad(second, x)
for derivative in (plain, first, second, third):
    print(derivative)

# %% [markdown]
# The first two lines printed show the same value, 12. But only the second 12 has a `grad_fn`, and so it can be differentiated again. The last derivative needs no history, because nobody differentiates it further. Here is the graph behind `y`, and behind its first derivative:

# %%
draw(y, first, parts={"forward": (1, 1), "the backward pass, recorded": (2, 4)})

# %% [markdown]
# **Notice:**
#
# - Node 1 belongs to `y`. It has run, and it still has what it saved.
# - Nodes 2 to 4, in the lower band, are new. When node 1 ran, its formula was computed with tensors, and every step left a node, as any arithmetic does: the power x² (node 2), times the number 3 (node 3), times the gradient that arrived, which was 1 (node 4). (A product with a plain number is `MulBackward1`, one of two tensors `MulBackward0`: two forms of one operation.)
# - So `first` is an ordinary result. Its history leads to `x`, over arrows of its own and with slots of its own. The 1 has no history: arrow 0 of node 4 leads to nothing.
#
# > **The rule.** With `create_graph=True` the formulas of a backward pass are recorded like any other arithmetic. A gradient is then a result with a history.
#
# ## Is `retain_graph` not enough?
#
# The two flags are often confused, because the error messages suggest one when the other is needed. `retain_graph` lets nodes keep what they saved. `create_graph` computes with recorded tensors. Without the second, a gradient is a number with no past, however long the graph of `y` lives.
#
# With `create_graph`, retaining is switched on as well, since the new graph may lead on into the old one. You can say `retain_graph=False` beside it, as in the last lines of the cell. `ledger` counts the bytes that are held after the pass. (`x` has 4 bytes, and the 1 that arrives another 4.)

# %% tags=["C13.1", "C13.2"]
for flags in ({}, {"retain_graph": True}, {"create_graph": True}):
    with ledger() as held:
        y = x**3
        (g,) = torch.autograd.grad(y, x, **flags)
        print(flags, "- kept:", held.now, "bytes - the gradient:", g)
torch.autograd.grad(y, x, create_graph=True, retain_graph=False)  # y was retained: once more, and let go
with expect_error(RuntimeError, "backward through the graph a second time"):
    torch.autograd.grad(y, x)

# %% [markdown]
# ## What comes out where calculus says zero?
#
# Three functions of `x`, which still is 2. Each has a second derivative of zero there. You might expect three zeros:

# %% tags=["C13.3"]
w = torch.tensor(5.0, requires_grad=True)
for f in (torch.relu, lambda x: w * x, lambda x: 3 * x):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    try:
        print(g, "->", torch.autograd.grad(g, x, retain_graph=True)[0])
    except RuntimeError as error:
        print(g, "->", str(error).split(". ")[0])

# %% [markdown]
# You get one of three answers, depending on what the graph knows. The node of `relu` has saved the result of `relu`, and this result has a history that leads to `x`. So there is a path, and zeros come along it. (The node of that backward, when it is recorded, has the name `ThresholdBackwardBackward0`: the backward of the backward of a threshold.) The gradient of `w * x` is 1 · `w`: a product with a history, but the history leads to `w` and not to `x`. The gradient of `3 * x` is 3, which has no history at all.
#
# `materialize_grads=True` (lesson 03) makes zeros in the second case. For the third, ask `g.requires_grad` before you go on.
#
# ## How do you use a table of a million times a million numbers?
#
# The second derivatives of a function `f` form a table, the *Hessian*: row i says how slope i changes with each input. For a million weights it has 10¹² entries. But most methods that use it need only the table times a vector `v`.
#
# And for that no table is needed. Take the gradient `g`, recorded. Weigh its elements with `v` and add them up: that is one number. Differentiate this number. Or hand `v` to `grad` as the upstream gradient, which does the same (lesson 03). The third line does it in one call, `functional.hvp`, and beside it with the whole table. The last two lines check it without any second derivative: the gradient at x + v/2 minus the gradient at x − v/2. For a cubic this difference is exact, because its gradient is quadratic.


# %% tags=["C13.4"]
def f(x):
    return (x**3).sum() + x[0] * x[1]  # the Hessian: 6x on the diagonal, 1 at [0, 1] and [1, 0]


x, v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([1.0, 0.0, -1.0])
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
print(torch.autograd.grad((g * v).sum(), x, retain_graph=True)[0], torch.autograd.grad(g, x, v)[0])
print(torch.autograd.functional.hvp(f, x, v)[1], torch.autograd.functional.hessian(f, x) @ v)
ahead, behind = (torch.autograd.grad(f(p), p)[0] for p in (x + v / 2, x - v / 2))
print(ahead - behind)

# %% [markdown]
# Five ways, one answer. The first two needed two passes each, and would need two passes for a million weights as well. `hessian` has filled the whole table: one recorded pass, and then a pass for each row (lesson 03).
#
# **13.3 · A Hessian times a vector** (6 minutes). `f(x)` is one number, `x` a leaf that requires grad, `v` plain and of the shape of `x`. Return the Hessian of `f` at `x` times `v`, without building the Hessian and without touching any `.grad`. If all second derivatives are zero, because `f` is linear or constant, return zeros. An error in `f`, or in a pass, must come out.


# %%
def hessian_times(torch, f, x, v):
    return v


L.check("13.3", hessian_times)

# %% [markdown]
# ## A penalty on slopes: which weights does it reach?
#
# This is how most people meet double backward: the *gradient penalty* of a Wasserstein GAN, which learns to fake data. A network called the critic gives high scores to real samples and low scores to faked ones. Nothing keeps these scores from climbing without bounds. So a penalty is added: at points `x` between the two kinds, the slopes of the score are to have the length 1.
#
# ```python
# x = (mix * real + (1 - mix) * fake).requires_grad_()
# (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
# penalty = ((g.norm(dim=1) - 1) ** 2).mean()
# loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
# loss.backward()
# ```
#
# The slopes `g` are derivatives for the *input*. How the penalty changes with the *weights* is a second derivative. (Why `.sum()`: the score of a sample depends on that sample alone, so row i of `g` holds the slopes of score i.)
#
# **Predict.** Let `critic(x)` be `torch.relu(x @ W1 + b1) @ W2 + b2`, and call `penalty.backward()` alone. What is in `.grad` of `W1`, `b1`, `W2` and `b2`? Answer with a list of four: `"numbers"`, `"zeros"` or `"None"`.

# %%
L.predict("13.p2", None)

# %% [markdown]
# Two samples, two hidden units, and numbers that can be checked by hand:

# %% tags=["C13.5"]
real, fake, mix = torch.tensor([[2.0, 2.0], [2.0, 0.0]]), torch.tensor([[0.0, 0.0], [0.0, -2.0]]), 0.5
W1, b1 = torch.tensor([[1.0, 1.0], [2.0, 0.0]], requires_grad=True), torch.zeros(2, requires_grad=True)
W2, b2 = torch.tensor([[2.0], [1.0]], requires_grad=True), torch.zeros(1, requires_grad=True)


def critic(x):
    return torch.relu(x @ W1 + b1) @ W2 + b2


def penalty_of(g):
    return ((g.norm(dim=1) - 1) ** 2).mean()


x = (mix * real + (1 - mix) * fake).requires_grad_()
(g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
print("slopes", g.tolist(), "of lengths", g.norm(dim=1).tolist())
parts = {"forward": (1, 3), "gr = 1 @ W2.T": (4, 5), "gz = gr * (z > 0)": (6, 6), "g = gz @ W1.T": (7, 8)}
last, relus = g.grad_fn, g.grad_fn.next_functions[0][0]  # nodes 8 and 6: what they saved gets names in the picture
names = {"g": g, "gz": last._saved_self, "W1.T": last._saved_mat2, "r": relus._saved_self}
picture = draw(g, detail=0, parts=parts, names=names)  # before the second pass
penalty_of(g).backward()
print(W1.grad, b1.grad, W2.grad, b2.grad, sep="\n")

# %% [markdown]
# Both weights have a gradient, `b1` has zeros, and `b2` has nothing. To see why, write down what the first backward pass computes, step by step. Forward, the critic is
#
# ```
# z = x @ W1 + b1          r = relu(z)          score = r @ W2 + b2
# ```
#
# Backward, beginning with a 1 for each score, the two products become products with the transposed weight (lesson 03), and the relu a factor of 0 or 1:
#
# ```
# for r:   gr = 1 @ W2.T                    each row is W2
# for z:   gz = gr * (z > 0)                what relu lets pass
# for x:   g  = gz @ W1.T
# ```
#
# So g = (W2 where relu lets it pass) @ W1.T, with `W2` as a row. `W1` and `W2` stand in this formula, and `b2` does not: adding a constant to all scores changes no slope. `b1` stands in it only through `z > 0`, which is a step and has the slope zero. The picture says the same:

# %%
picture

# %% [markdown]
# **Notice:**
#
# - Look at the bands on the left. The upper one is the forward pass. The other three are the three lines of its backward pass, recorded. Read them upwards from `g`: `W1` comes in at node 7, `W2` at node 4. (The dashed frame only says that `W1.T` is a view of `W1`.)
# - Only one arrow leads from there into the critic: arrow 1 of node 6. It goes to `relu` itself, and from there on to `b1`, `x` and `W1`. Only zeros travel on this way.
# - `b2` has no box.
#
# And the numbers, by hand. The second sample's slopes have the length 1 already, so they add nothing. Those of the first, g₁ = (3, 4), have the length 5:
#
# ```
# d penalty / d g₁   =  ½ · 2 · (5 − 1) · g₁ / 5  =  4 · (0.6, 0.8)  =  (2.4, 3.2)
# g₁                 =  W2[0] · first column of W1  +  W2[1] · second column  =  2 · (1, 2) + 1 · (1, 0)
# W1.grad[i, j]      =  (2.4, 3.2)[i] · (2, 1)[j]          rows (4.8, 2.4) and (6.4, 3.2)
# W2.grad            =  2.4 · 1 + 3.2 · 2 = 8.8    and    2.4 · 1 + 3.2 · 0 = 2.4
# ```
#
# ## What does it cost?
#
# In lesson 06 memory climbed in the forward pass and fell in the backward pass. A recorded pass does not let it fall, and its own operations save tensors, too. So the curve climbs on:

# %% tags=["C13.6"]
X, A, B = (torch.ones(shape, requires_grad=True) for shape in ((100, 20), (20, 30), (30, 1)))
with ledger() as held:
    held.mark("forward")
    scores = torch.tanh(X @ A) @ B
    print("after forward:       ", held.now, "bytes")
    held.mark("first pass, recorded")
    (g,) = torch.autograd.grad(scores.sum(), X, create_graph=True)
    print("after the first pass:", held.now, "bytes")
    del scores
    held.mark("penalty")
    penalty = (g * g).sum()
    print("with the penalty:    ", held.now, "bytes")
    held.mark("second pass")
    penalty.backward()
held.plot()

# %% [markdown]
# **Notice:** the curve climbs in the forward pass, to 22,520 bytes. While the first pass is recorded it climbs on, to 46,524: the recorded backward of `tanh` and the recorded product with `A` save a table of 100 × 30 numbers each, which is 12,000 bytes. The penalty is one more forward step: it saves `g`, and the curve reaches its peak, 54,404 bytes. Only the second pass lets go.
#
# (`del scores` frees only 120 bytes: what the node of `… @ B` had saved of `B`. The second pass never runs that node, so it could not free them.)
#
# ## So why did the penalty of the story teach nothing?
#
# Now the critic is trained for four steps, with 10 times the penalty in its loss. `x` is between real and fake, as above. Here are three ways to write it, each by somebody who was told that something was missing:
#
# ```python
# (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)    # A and C
# (g,) = torch.autograd.grad(critic(x).sum(), x, retain_graph=True)    # B
# penalty = ((g.norm(dim=1) - 1) ** 2).mean()
# loss = critic(fake).mean() - critic(real).mean() + 10 * penalty             # A and B
# loss = critic(fake).mean() - critic(real).mean() + 10 * penalty.item()      # C
# loss.backward()
# ```
#
# **Predict.** What does the penalty do in each? Answer with a list of three words: `"teaches"` (it pulls the slopes towards the length 1), `"ignored"` (no error, and the critic trains as if there were no penalty), or `"raises"`.

# %%
L.predict("13.p3", None)

# %% [markdown]
# `train` prints the lengths of the slopes before the last step, and the penalty before each of the four:

# %% tags=["C13.7"]
def train(way, slopes, term=lambda penalty: 10 * penalty):
    start = [p.detach().clone() for p in (W1, b1, W2, b2)]
    optimizer = torch.optim.SGD([W1, b1, W2, b2], lr=0.01)
    penalties = []
    for _ in range(4):
        g = slopes(critic(x).sum())
        penalty = penalty_of(g)
        penalties.append(round(penalty.item(), 1))
        loss = critic(fake).mean() - critic(real).mean() + term(penalty)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{way}: lengths", [round(length, 2) for length in g.norm(dim=1).tolist()], "penalties", penalties)
    with torch.no_grad():
        for p, value in zip((W1, b1, W2, b2), start, strict=True):
            p.copy_(value)  # as before, for the next way


def recorded(score):
    return torch.autograd.grad(score, x, create_graph=True)[0]


def retained(score):
    return torch.autograd.grad(score, x, retain_graph=True)[0]


train("A", recorded)
train("B", retained)
train("C", recorded, lambda penalty: 10 * penalty.item())
train("B, times 1000", retained, lambda penalty: 1000 * penalty)
train("A with detach()", lambda score: recorded(score).detach())
train("A with .data", lambda score: recorded(score).data)

# %% [markdown]
# In A the lengths go down, and so does the penalty. All other lines are equal, and their penalties are those of the story: 8.0, 8.8, 9.7. There the penalty was a *constant*. It has the right value and no history, so it has no gradient, with the weight 10 or with 1000. Nothing raises, because the loss still requires a gradient: the scores in it do. Without any pull the slopes grow, for a steeper critic tells real from fake with a lower loss.
#
# It is enough to leave out `create_graph`, or to put a `detach()`, a `.data` or an `.item()` between `g` and the loss. This test would have told you at once:

# %% tags=["C13.7"]
penalty = penalty_of(torch.autograd.grad(critic(x).sum(), x)[0])
with expect_error(RuntimeError, "does not require grad"):
    penalty.backward()

# %% [markdown]
# A penalty *alone* raises if it is a constant. So before you add a penalty to a loss, call `backward()` on the penalty by itself, once.
#
# > **The rule.** A term that does not require a gradient is silent in a sum. Test each term of your loss alone.
#
# ## May I use `backward()` instead of `autograd.grad`?
#
# It has the same flag, so people write `critic(x).sum().backward(create_graph=True)` and go on with `x.grad`. Two things go wrong with it.
#
# First, `backward` fills *every* leaf. The gradients of the scores are now in `W1.grad`, `b1.grad` and the rest, and the second pass adds to them (lesson 05). Above, `W1.grad` was [[4.8, 2.4], [6.4, 3.2]]. Look at it now:

# %% tags=["C13.8", "P18"]
for p in (W1, b1, W2, b2, x):
    p.grad = None
with warnings.catch_warnings(record=True, action="always") as said:
    critic(x).sum().backward(create_graph=True)
print("Warning:", str(said[0].message).split(". ")[0])
first = W1.grad
penalty_of(x.grad).backward()
print(W1.grad, "- one tensor:", W1.grad is first)
for p in (W1, b1, W2, b2, x):
    p.grad = None  # this opens the rings


# %% [markdown]
# It is larger by [[2, 2], [2, 0]], which is the gradient of the scores. (`CopyBackwards` is new: while a pass is recorded, what goes into `.grad` is a recorded copy.) And the second pass, which is not recorded, has added *in place*: `first` is the tensor in `W1.grad`. So a gradient that you hold from the first pass holds another number now, which is not what its history computes.
#
# Second, there is the warning, and it is about memory. `W1.grad` has a history now. This history leads back to `W1`, and `W1` holds its `.grad`. That is a ring. Python's reference counting never frees a ring, so every step leaves one behind, with everything that its graph has saved, unless somebody says `.grad = None`. (On our engine Python's garbage collector finds such a ring in the end. In PyTorch it does not, since the ring passes through C++: we tell you this, and show the ring itself.)

# %% tags=["C13.9", "P18"]
def forget(first_pass):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    first_pass((w**3).sum(), w)
    return weakref.ref(w)


gc.disable()  # it looks for rings from time to time, and would find this one on our engine
left = forget(lambda y, w: torch.autograd.grad(y, w, create_graph=True))
print("autograd.grad:", "gone" if left() is None else "alive, without a name")
left = forget(lambda y, w: y.backward(create_graph=True))
print("backward:     ", "gone" if left() is None else "alive, without a name")
found = left()
gc.enable()
draw(found.grad, names={"w": found, "w.grad": found.grad})

# %% [markdown]
# **Notice:** begin at `w` and follow the arrows. The green one, `.grad`, leads to `w.grad`, this to node 4, the nodes lead to the green box, and the green box to `w`. That is the ring. (`w.grad` is at v1, because the gradient was copied into it.)
#
# > **The rule.** For derivatives of derivatives use `autograd.grad`. It fills no leaf, and closes no ring.

# %% [markdown]
# **13.2 · Repair a gradient penalty** (7 minutes). Another common kind: at the real samples, the squared length of each sample's slopes, and the mean of these. Posted with the words "it said *backward through the graph a second time*, so I added retain_graph=True; now the slopes grow, whatever the weight". `real` and `fake` are plain batches (N, D), `critic` gives scores (N, 1). Repair it so that `critic_loss(…).backward()` puts the right gradients, and nothing else, into the `.grad` of the critic's parameters, and so that no ring is left once the loss is deleted.


# %%
def critic_loss(torch, critic, real, fake, weight):
    x = real.clone().requires_grad_()
    scores = critic(x)
    scores.sum().backward(retain_graph=True)
    penalty = (x.grad**2).sum(dim=1).mean()
    return critic(fake).mean() - scores.mean() + weight * penalty


L.check("13.2", critic_loss)

# %% [markdown]
# ## A rest
#
# You can train on a gradient, and you know the ways in which it gets lost. The second half is about steps that are learned, about your own Functions and about your own engine.
#
# ## Can a step of training be learned?
#
# In meta-learning (MAML is the best known method), the loss is taken *after* a step, and its gradient goes *through* the step: to the weights before it, and if you like to the learning rate.
#
# Let w = 2, the inner loss (w − 5)², and lr = 0.125. Then g = −6, and the new w is 2.75. The outer loss is the square of the new w.
#
# ```python
# (g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=True)
# outer = (w - lr * g) ** 2               # A
# outer = (w - lr * g.detach()) ** 2      # B
# ```
#
# **Predict.** What is the slope of the outer loss for the old `w`, in A and in B? Answer with a list of two numbers.

# %%
L.predict("13.p4", None)

# %% tags=["C13.10"]
w, lr = torch.tensor(2.0, requires_grad=True), torch.tensor(0.125, requires_grad=True)
(g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=True)
print("through the step:", torch.autograd.grad((w - lr * g) ** 2, [w, lr]))
print("g is a constant: ", torch.autograd.grad((w - lr * g.detach()) ** 2, [w, lr]))

# %% [markdown]
# By the chain rule the slope is 2 · 2.75, times the slope of the new w for the old one. That is 1 − 0.125 · 2, because g = 2w − 10 has the slope 2. It makes 5.5 · 0.75 = 4.125. If g is a constant, the new w just follows the old one, and 5.5 is left. That is cheaper, and some do it on purpose, under the name **first-order MAML**.
#
# The second number of each line is the slope for `lr`: 5.5 · (−g) = 33. It needs the value of g only, so it is the same in both.
#
# Most training code writes the step in place, under `no_grad`. What is left of the two slopes then? (The outer loss is now the cube of `w`. With the square, the number would be 5.5 again, for another reason.)

# %% tags=["C13.10"]
with torch.no_grad():
    w -= lr * g
print("under no_grad:", torch.autograd.grad(w**3, [w, lr], allow_unused=True))

# %% [markdown]
# The step was not recorded. So 22.69 = 3 · 2.75² is the slope of the cube for the *new* `w`, and `lr` learns nothing at all.
#
# May you then write in place with recording on? That is lesson 07 again. The graph of `g` may have saved the old value: here the inner loss is `fast`³, whose slope needs `fast`. (The `* 1` makes `fast` a result: a leaf may not be written to while recording is on.)

# %% tags=["C13.11"]
fast = torch.tensor(2.0, requires_grad=True) * 1
(g,) = torch.autograd.grad(fast**3, fast, create_graph=True)
fast -= 0.125 * g
with expect_error(RuntimeError, "modified by an inplace operation"):
    (fast**2).backward()

# %% [markdown]
# > **The rule.** To learn through a step, record `g` and make a new tensor: `fast = fast - lr * g`.

# %% [markdown]
# **13.5 · Learn the learning rate** (8 minutes). The function takes some steps on `inner` and returns the loss `outer` of what they lead to; both map a tensor to one number. Posted with "`lr.grad` is None". Repair it so that the result has the right gradients for the caller's `w` (a leaf) and `lr` (a tensor, one number), and the caller's `w` keeps its values.


# %%
def after_training(torch, w, lr, inner, outer, steps):
    for _ in range(steps):
        (g,) = torch.autograd.grad(inner(w), w)
        with torch.no_grad():
            w -= lr * g
    return outer(w)


L.check("13.5", after_training)

# %% [markdown]
# ## Can your own Function be differentiated twice?
#
# With `create_graph=True` your `backward` is recorded like any code. If it is made of tensor operations, then yes. If it asks a library that knows only arrays, the history of its result is cut there.
#
# Lesson 11 could only refuse (`@once_differentiable`). Now there is a cure: let `backward` apply a Function, too. Here it is the Function itself, because cos(x) = sin(x + π/2). In general it is a second one, with a backward of its own. (`ctx.saved_tensors[0]` comes out with the history of `x`, so what is computed from it is recorded.)

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
# **Notice:** `Sine` gives no error, but 1.54 in place of 1.08. The gradient of sin² is 2 · sin · cos. The factor 2 · sin is the upstream gradient, and only that has a history, so only one half of the product rule is computed: 2 cos² = 1.54. The half that is missing, −2 sin², would have come through the cosine, which was an array.
#
# **13.6 · Arrays inside** (8 minutes, optional). 1/x by a library that knows only arrays. Repair it so that `gradcheck` and `gradgradcheck` agree, also for third derivatives, and so that somebody who overwrites the result before backward gets an error. If somebody writes into the input, the gradient must stay right, or an error must come.


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
# ## How does an engine record a backward pass?
#
# PyTorch's formulas work on tensors, and recording is switched on or off for the whole pass. Our engine writes each formula of its table out twice. In `apply`, `self` is an array, and `cos` is NumPy's: that is quick, and leaves nothing behind. Below is `apply_to_tensors`. Here `self` is a tensor that comes out of its slot with its history, and every operation is recorded. One line of the engine chooses between the two.

# %% tags=["engine"]
y = x.sin()
torch.autograd.grad(y.sum(), x, create_graph=True)  # this form is made when it is first needed
show(type(y.grad_fn).apply_to_tensors)
show("engine.backward.GraphTask.apply", max_lines=3)

# %% [markdown]
# ## Build your own engine: gradients of gradients
#
# Yours can do it in PyTorch's way. Your gradients are tensors already, and your formulas are ordinary operations. So recording a pass needs a single argument: run it under `set_grad_enabled(create_graph)`, and let `create_graph` retain the graph as well, as PyTorch does. Three things follow from it, of some lines each:
#
# 1. A saved *result* was saved without its history. When the slot is read, give the history back: the node that is reading made it.
# 2. While recording is on, `AccumulateGrad` makes a new sum, and does not add in place. (With recording off it still adds in place, also to a gradient that has a history.)
# 3. Write `grad(output, inputs, grad_outputs=None, retain_graph=False, create_graph=False)`. `inputs` is one tensor or a list. It returns a tuple of gradients and stores none: let `run_backward` take a dictionary of the nodes at which gradients are to be caught. For an input that the output does not depend on, raise an error. Then `autograd = SimpleNamespace(grad=grad, Function=Function)`.
#
# The usual slip is to forget the first. Then x³ is fine, and exp has a wrong second derivative.

# %%
L.build("13")

# %% [markdown]
# When the checkpoint says *correct*, your engine gives derivatives of every order. It began as a box around an array.
#
# ## Exercises
#
# **13.1 · Which happens?** (7 minutes). In every program `x = torch.tensor([1.0, 2.0], requires_grad=True)`, first line `y = (x**3).sum()` (G and H bring a line of their own), last line `p.backward()`. Wanted is the whole derivative of `p` in `x.grad`, with the gradient `g` of `y` as something that depends on `x`. Answer with `"fine"`, `"raises now"` (an ordinary line), `"raises at backward"` (`p.backward()`, or another call of `backward` or `grad`) or `"silently wrong"` (no error, another number in `x.grad`).
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

L.check("13.1", happens)

# %% [markdown]
# **13.4 · Diagnose** (5 minutes). Six reports. Which change cures each? Choose from `"create_graph=True"`, `"retain_graph=True"`, `"autograd.grad"` (instead of `backward`), `"materialize_grads=True"`, `"a new tensor"` (instead of a write in place) and `"a Function"` (applied in `backward`).
#
# - A "I call `loss.backward(create_graph=True)` and make a regulariser of the `.grad`s. Every step takes some more memory, and it never comes back."
# - B "The penalty is in the loss, ten times. I print it: 8.0, 8.8, 9.7. A factor of 1000 changes nothing. No error."
# - C "My inner step is `with torch.no_grad(): w -= lr * g`, `g` is recorded. `lr.grad` stays None."
# - D "I sum the squares of second derivatives over all pairs of weights. Some pairs say 'appears to not have been used in the graph'. Zero would be right."
# - E "Our layer calls a C library. gradcheck is content. With a penalty behind the layer, training goes wrong, without an error."
# - F "I need the slopes of one score for `x`, and in a later line for `W`, as plain numbers. The second line says 'backward through the graph a second time'. Memory is short."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("13.4", cures)


# %% [markdown]
# ## Would you notice if somebody broke your engine?
#
# With tests, yes. This last exercise has no end: write as many as you like. Make a file `my_tests.py` beside this notebook. A test is a function whose name begins with `test_`. It is given an engine, uses it, and ends with an `assert`:
#
# ```python
# def test_a_product(torch):
#     x = torch.tensor(3.0, requires_grad=True)
#     (x * x).backward()
#     assert x.grad.item() == 6
# ```
#
# The next cell puts fourteen defects into a finished engine, one after another, and says which of them your tests find. A test has to pass on an engine without a defect.

# %%
L.defects()

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/13_double_backward/claims.py`).
#
# *How it works*
#
# - **C13.1** With create_graph=True the formulas of the backward pass are recorded as operations, so a gradient whose formula reads something that requires grad has a grad_fn; its value is the same as without.
# - **C13.2** create_graph=True also retains the graph, unless retain_graph=False is said; retain_graph=True alone gives a gradient that cannot be differentiated.
# - **C13.3** A second derivative that is zero comes as zeros for relu(x), as an error about an unused input for `w * x`, and as one about a missing grad_fn for `3 * x`.
# - **C13.6** With create_graph=True the first pass releases nothing, and the operations that it records save further tensors.
#
# *What it is good for*
#
# - **C13.4** The Hessian times v is the gradient of (g * v).sum(), or of g with the upstream gradient v: two passes, however large the Hessian is.
# - **C13.5** A penalty on the slopes of `relu(x @ W1 + b1) @ W2 + b2` for x gives gradients to W1 and W2, zeros to b1 and nothing to b2.
# - **C13.10** Through `w - lr * g` the outer gradient takes in how g depends on w; with a g that has no history, or an update under no_grad, it is another number and there is no error.
#
# *How it gets lost*
#
# - **C13.7** Without create_graph, or after detach() or `.data`, the penalty is a constant: a loss that contains it runs without an error and trains as if it were not there.
# - **C13.8** backward(create_graph=True) adds the inner gradient to the `.grad` of every parameter that it reaches as well, and the second pass adds to that.
# - **C13.9** backward(create_graph=True) closes a ring, from a parameter to its `.grad`, to the graph and back, if the gradient's history leads to the parameter; the ring outlives the last name, and autograd.grad closes none.
# - **C13.11** A write in place between the two passes makes the second one raise, if the graph of the gradient has saved what was overwritten.
# - **C13.12** A backward that computes on plain arrays cuts the history of the gradient; one that applies a Function keeps it, and gradgradcheck tells the two apart.
#
# **A habit.** Ask `g.requires_grad` before you build on `g`, take `autograd.grad` and not `backward`, and try the penalty alone.
#
# **Different, or left out, compared with PyTorch.** Our garbage collector finds the ring of C13.9. PyTorch's graph is made in C++, where Python's collector does not look: there it is a leak. PyTorch can also push derivatives forward (`torch.func.jvp`), which gives a Hessian times a vector without a second pass backward, and `torch.func.grad` may be nested without a flag. If a layer mixes samples, as batch normalisation does, row i of `g` is no longer the slopes of score i alone.
#
# **Read on in our engine:** Note [What flows along the edges] in `course_lib/engine/backward.py`.
#
# **Next:** what to do when the bytes of this one are too many. In [lesson 14](14_packing_and_checkpointing.ipynb) nodes hold something smaller, or nothing at all.
