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
# # 10 · A training loop: which line reads what, and which line writes what?
#
# **Three reports from one week. The first: "I gave a pretrained network a new last layer. The loss falls. After a week the new layer still holds the random numbers that it began with." The second: "Since I froze the first layers, the loss falls for a while, and then it explodes." The third: "Each time I resume from a checkpoint, the losses are other ones than without the interruption, although I compared all weights, and they are identical." None of the three programs raises an error. In each of them one line is missing, wrong, or in the wrong place.**
#
# A training loop consists of a few calls that everybody has typed a hundred times: `zero_grad`, `backward`, `step`, and now and then `scheduler.step`. They never call each other. They communicate only through what they leave behind: in `.grad`, in the weights, in the optimizer. So a loop is right when each line finds what it needs to read, and that is something you can check line by line.
#
# After this lesson you can
#
# - put the lines of any training loop in order, and say what goes wrong in another order;
# - say why there are momentum, weight decay, Adam, clipping and schedules, and what each of them reads and writes;
# - stop, save and resume a training so that it goes on to the last digit, and find the missing line in reports like the three above;
# - train a network on real data, look at what it learns, and test it without spoiling it.
#
# **Minutes** 190, in three sittings of 75, 60 and 55, with exercises in each and a rest between them, and 10 more for the optional exercise 10.4 · **Needs** lessons 00, 02, 05, 06, 07 and 09 · **Out of scope** which optimizer is best, second derivatives (lesson 13), many processes (lesson 17)
#
# [← 09 The ways out](09_ways_out.ipynb) · [all lessons](home.ipynb) · [11 Custom Functions →](11_custom_functions.ipynb)

# %%
import course_lib as torch
import copy
import warnings

from backscope import draw
from coursekit import chart, contour, digits, expect_error, lesson, pixels, show

L = lesson(10)
x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()


def fresh(lr=0.1, **settings):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    for layer in model:
        layer.weight = torch.nn.Parameter(torch.ones(1, 1))
    return model, torch.optim.SGD(model.parameters(), lr=lr, **settings)

# %% [markdown]
# ## In which orders may the three lines stand?
#
# At the heart of every loop there are three lines behind the forward pass. For the experiments we use a network that you can follow with a pencil. `fresh()`, in the cell above, makes it: two layers in a row, with one weight each, u and v, which both begin at 1. `mse` is the mean squared error. Every batch is x = 1 and t = 3, so the loss is (uv − 3)².
#
# ```python
# model, optimizer = fresh()  # u = v = 1, and SGD with the rate 0.1
# for x, t in batches:
#     loss = mse(model(x), t)
#     optimizer.zero_grad()  # Z
#     loss.backward()        # B
#     optimizer.step()       # S: here, subtract 0.1 times the gradient
# ```
#
# An *optimizer* is an object that was given the parameters, and whose `step()` changes them. SGD, *stochastic gradient descent*, is the simplest one.
#
# **Predict.** The last three lines stand in the order ZBS. There are five more orders: ZSB, BZS, BSZ, SZB and SBZ. Which of the six train the network as they should? Answer with a list of orders.

# %%
L.predict("10.p1", None)

# %% [markdown]
# Three rounds with each order, and the losses that they see. With an order that trains, the loss falls from 4 at once. `fresh()` makes network and optimizer anew.

# %% tags=["C10.6", "P12"]
def train(model, optimizer, order="ZBS", rounds=3):
    losses = []
    for _ in range(rounds):
        loss = mse(model(x), t)
        losses.append(round(loss.item(), 4))  # a number: it keeps no graph alive (lesson 09)
        actions = {"Z": optimizer.zero_grad, "B": loss.backward, "S": optimizer.step}
        for letter in order:
            actions[letter]()
    return losses


for order in ("ZBS", "BSZ", "ZSB", "BZS", "SBZ"):
    print(order, train(*fresh(), order))
with expect_error(RuntimeError, "modified by an inplace operation"):
    train(*fresh(), "SZB")

# %% [markdown]
# Two of them train, and one raises. Three never change the loss, and say nothing about it. In those three there is nothing to read when `step` comes, since every `.grad` is None. That is no error: a parameter without a gradient is simply left alone.
#
# > **The rule.** No clearing may stand between `backward` and `step`, and no `step` between the forward pass and `backward`.
#
# ## And why does the sixth order raise?
#
# Here are the two layers once more, written by hand, in the second round of the order SZB. (In the first round `step` found no gradient and wrote nothing, so the error waits until the second.) The first round has left a gradient for each weight, −4. We stop right behind `step`, before `backward`:

# %%
u, v = (torch.ones(1, 1, requires_grad=True) for _ in range(2))
optimizer = torch.optim.SGD([u, v], lr=0.1)
u.grad, v.grad = (torch.full((1, 1), -4.0) for _ in range(2))  # from the first round
h = x * u
y = h * v
optimizer.step()
draw(y)

# %% [markdown]
# **Notice:**
#
# - `v` is STALE. Node 2, the second product, saved it at version 0, and `step` has written to it since.
# - `u` was written to as well. But no note names it: its node saved only `x`, because `x` is plain data and needs no gradient. So the write does no harm.
#
# The message above names the same two versions, 1 and 0. (It says "AsStrided" because `Linear` reads the weight through a view, its transpose: lesson 08.)
#
# ## Two losses share some layers: when may you step?
#
# An actor and a critic, in reinforcement learning, each have a loss of their own, and share the layers below them, the *trunk*. Each has its own optimizer. Here the first optimizer is stepped as soon as it has its gradients. The two graphs share a part, so `retain_graph=True` is needed to get that far.
#
# ```python
# trunk = fresh()[0]          # two layers
# actor, critic = fresh()[0]  # two more, taken apart: one for each head
# first = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)
# h = trunk(x)  # x is plain data
# loss_a, loss_c = mse(actor(h), t), mse(critic(h), t)
# loss_a.backward(retain_graph=True)
# first.step()
# loss_c.backward()
# ```
#
# **Predict.** Which of the weights, if any, make the last line raise? A: that of `trunk[0]`; B: that of `trunk[1]`; C: that of `actor`; D: that of `critic`. Answer with a list of letters; it may be empty.

# %%
L.predict("10.p9", None)

# %% tags=["C10.13", "P8"]
trunk = fresh()[0]
actor, critic = fresh()[0]
first = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)
second = torch.optim.SGD(critic.parameters(), lr=0.1)
h = trunk(x)
loss_a, loss_c = mse(actor(h), t), mse(critic(h), t)
loss_a.backward(retain_graph=True)
first.step()
with expect_error(RuntimeError, "modified by an inplace operation", short=True):
    loss_c.backward()

# %% [markdown]
# It is the weight of `trunk[1]`. The trunk saved it at version 0, for both passes. The first pass read it in time. Then `step` wrote to it, and the second pass, which came from the critic, found it at version 1. The weight of `trunk[0]` was saved nowhere, because `x` is plain data; that of `actor` is not on the way, and that of `critic` was not stepped.
#
# The rule is that of lesson 07: *first all reading, then any writing*. Either one backward for the sum of both losses, or two, and then all steps. (So with a trunk of one layer nothing raises, and the next layer that you add breaks the program.) Here is the first of these ways. Nothing raises:

# %%
first.zero_grad(), second.zero_grad()
sum(mse(head(trunk(x)), t) for head in (actor, critic)).backward()  # all is read ...
for optimizer in (first, second):
    optimizer.step()  # ... before anything is written

# %% [markdown]
# ## What is inside of `step()`?
#
# `step()` knows neither loss nor graph. For each parameter it reads `.grad` and writes the parameter in place, under `no_grad`. So your model holds the same tensors as before, at a higher version. For plain SGD, the same by hand is one line:

# %% tags=["C10.1", "C10.2"]
p, q = (torch.tensor([1.0, 0.3], requires_grad=True) for _ in range(2))
optimizer = torch.optim.SGD([p], lr=0.1)
for _ in range(5):
    p.grad, q.grad = p.detach() ** 3, q.detach() ** 3  # any gradients will do
    optimizer.step()
    with torch.no_grad():
        q.add_(q.grad, alpha=-0.1)
print("equal:", p.tolist() == q.tolist(), "- version", p._version, "- a leaf:", p.is_leaf, "- node:", p.grad_fn)

# %% [markdown]
# Equal to the last digit. Each step counts as one write, like every other in-place operation: five steps have made version 5.
#
# Here is `step` in our engine. It reads only what the last four lines name. `update` is the arithmetic, here the subtraction in place:

# %% tags=["engine"]
show("optim.SGD.step")

# %% [markdown]
# ## In a narrow valley, which way does the gradient point?
#
# Below is such a valley, seen from above. Each line joins points of equal loss, and the cross is the lowest point. The loss is (p[0]² + 100 p[1]²) / 2, so its gradient is (p[0], 100 p[1]): at the same distance from the middle, the walls are a hundred times as steep as the way along. So the gradient points from one wall to the other, and hardly along the valley.
#
# Plain SGD begins at (10, 1) and makes 30 steps at the rate 0.018. Each of them multiplies p[1] by 1 − 0.018 · 100 = −0.8. That is a swing from wall to wall: 1, −0.8, 0.64. And it multiplies p[0] by 1 − 0.018 = 0.982, which is hardly a move. With **momentum**, one follows a running sum instead of the gradient: the new sum is m · old sum + gradient, and the step is rate · new sum.
#
# **Predict.** What is true of a second run, with momentum 0.8 and the same rate? A: it comes further along the valley; B: its swing across the valley dies away sooner; C: it ends with the lower loss. Answer with a list of letters.

# %%
L.predict("10.p10", None)

# %%
def valley(along, across):
    return (along**2 + 100 * across**2) / 2


def descend(kind, **settings):
    p = torch.tensor([10.0, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer, path = kind([p], **settings), [p.tolist()]
    for _ in range(30):
        optimizer.zero_grad()
        valley(p[0], p[1]).backward()
        optimizer.step()
        path.append(p.tolist())
    print(kind.__name__, settings, "ends at", [round(v, 3) for v in path[-1]], "- loss", round(valley(*path[-1]), 1))
    return path


plain, momentum = descend(torch.optim.SGD, lr=0.018), descend(torch.optim.SGD, lr=0.018, momentum=0.8)
faster = descend(torch.optim.SGD, lr=0.0199), descend(torch.optim.SGD, lr=0.0199, momentum=0.8)
contour(valley, {"plain SGD": plain, "with momentum 0.8": momentum}, across="p[0]", up="p[1]")

# %% [markdown]
# **Notice:** plain SGD has come less than half of the way. With momentum the same rate leads to the lowest point.
#
# Along the valley all gradients have one sign, so the sum grows. If they stayed the same, it would become 1 + 0.8 + 0.8² + … = 5 times as large. Across the valley the sign changes, and the sum stays small. But it carries each swing on, so at this rate the swing lasts longer: 0.035 is left of it at the end, and 0.001 without momentum. From 0.019 on it is the other way round: at 0.0199 plain SGD keeps 99 % of its swing in each step. What momentum gains at both rates is the way along. From 0.02 on, plain SGD multiplies p[1] by −1 or less, and never comes to rest.
#
# ## Momentum and weight decay: what is added up?
#
# A network that learns its examples by heart *overfits*, and often has large weights then. One means against that is **weight decay**: d · p is added to the gradient of p, and so each step also pulls the weight a little towards 0.
#
# Here are decay and momentum together, the decay first. The running sum has to be remembered from step to step. It stands in `optimizer.state`, by parameter:
#
# ```python
# p = torch.tensor([1.0], requires_grad=True)
# optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, weight_decay=0.5)
# for _ in range(2):
#     p.grad = torch.tensor([2.0])
#     optimizer.step()  # p goes down by 0.1 times the running sum
#     print(optimizer.state[p]["momentum_buffer"])
# ```
#
# **Predict.** Which two sums are printed? The first one begins from nothing. Answer with a list of two numbers.

# %%
L.predict("10.p5", None)

# %% tags=["C10.2", "C10.3"]
p = torch.tensor([1.0], requires_grad=True)
optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, weight_decay=0.5)
print("remembered before the first step:", dict(optimizer.state))
for _ in range(2):
    p.grad = torch.tensor([2.0])
    optimizer.step()
    print("sum", optimizer.state[p]["momentum_buffer"], "- p", p.detach())

# %% [markdown]
# The first sum is 2 + 0.5 · 1 = 2.5, because the decay takes part, and p goes from 1 to 0.75. The second is 0.9 · 2.5 + 2 + 0.5 · 0.75 = 4.625. Before the first step there was nothing in the state.

# %% [markdown]
# ## A layer takes no part in a batch: does it rest?
#
# Not every parameter gets a gradient from every batch, and some are *frozen* with `requires_grad_(False)`, so that they keep what they have learned. Here three parameters make one step together. Before the second step each is treated in another way:
#
# ```python
# optimizer = torch.optim.SGD([a, b, c], lr=0.1, weight_decay=0.5)
# (a + b + c).backward()
# optimizer.step()
# a.grad = None
# b.grad = torch.zeros(1)
# c.requires_grad_(False)
# optimizer.step()
# ```
#
# **Predict.** Which of the three are moved by the second step? Answer with a list of letters.

# %%
L.predict("10.p7", None)

# %% [markdown]
# Here are the values after both steps, for plain SGD, with momentum, and with weight decay. In front of the arrow stands what all three were after the first step:

# %% tags=["C10.4", "C10.5", "P13"]
for settings in ({}, {"momentum": 0.9}, {"weight_decay": 0.5}):
    three = a, b, c = [torch.ones(1, requires_grad=True) for _ in range(3)]
    optimizer = torch.optim.SGD(three, lr=0.1, **settings)
    sum(three).backward()
    optimizer.step()
    after_one = round(a.item(), 4)
    a.grad = None
    b.grad = torch.zeros(1)
    c.requires_grad_(False)
    optimizer.step()
    print(after_one, "→", [round(p.item(), 4) for p in three], settings or "plain")

# %% [markdown]
# **Notice:** plain SGD moves only the frozen one. With momentum or weight decay the one with the zero moves as well, by the old sum or by the decay.
#
# `step()` asks for `.grad`, and never for `requires_grad`. So a frozen parameter with an old gradient is stepped again and again. Here is our network with its first layer frozen after one round. In the first run only the gradient of the other layer is cleared from then on, because nothing else learns:

# %% tags=["C10.5"]
for cleared in ("the other layer", "all"):
    model, optimizer = fresh()
    losses, first = train(model, optimizer, rounds=1), []
    model[0].requires_grad_(False)  # its gradient, -4, is still there
    for _ in range(11):
        (optimizer if cleared == "all" else model[1]).zero_grad()
        loss = mse(model(x), t)
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 2)), first.append(round(model[0].weight.item(), 1))
    print("cleared:", cleared, "- losses:", losses)
    print("the frozen weight:", first)

# %% [markdown]
# The frozen weight goes up by 0.4 in each round. For a while the other one makes up for it, and then the loss explodes. That was the second report. `model[1].zero_grad()` clears the other layer only. `optimizer.zero_grad()` sets both gradients to None, and then the frozen weight rests. So does a layer that took no part in a batch. But `zero_grad(set_to_none=False)` writes zeros instead, as everybody did for years, and then momentum or decay go on moving it.
#
# > **The rule.** `step()` handles every parameter that it holds and whose `.grad` is not None, frozen or not.
#
# In the source that you have seen, this rule is the last `for` and the `if` below it. (This is a good place for a short pause.)
#
# ## What may you do to a gradient before the step?
#
# Anything you like. Between `backward` and `step` it is just a tensor. The most common thing is *clipping*. Now and then a single batch has a gradient a hundred times as long as usual, and the step along it is as much too long. `clip_grad_norm_` takes all gradients together as one long vector. If its length, the *norm*, is larger than allowed, the vector is shortened, in place, and keeps its direction.
#
# If you accumulate micro-batches (lesson 05), the gradient is complete only after the last one. Does it matter when you clip? Let two parts send the gradients [3, 0] and [0, 4], and let the limit be 1.
#
# **Predict.** `w.grad` is clipped once, after the second part; or it is clipped after each part. What differs at the end? A: nothing; B: only its length; C: only its direction; D: both. Answer with one letter.

# %%
L.predict("10.p8", None)

# %% tags=["C10.7"]
parts = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
for after in ("the last", "each"):
    w = torch.zeros(2, requires_grad=True)
    for number, part in enumerate(parts):
        (w * part).sum().backward()
        if after == "each" or number == 1:
            norm = torch.nn.utils.clip_grad_norm_([w], 1.0)
    print("clipped after", after, "to", w.grad, "- norm before:", norm, "- version", w.grad._version)

# %% [markdown]
# Clipped after the last, the direction is that of the sum, [3, 4]. Clipped after each, the first part was shortened to 1 before the second came. So the norm was √(1 + 16) = 4.1231, and the result points somewhere else. (The version counts each clipping as one write, and the second backward as another, since it adds in place.)
#
# ## Where does the rate come from?
#
# From `optimizer.param_groups`, where each group of parameters has a dictionary with its settings. There a *scheduler* writes the rate. A scheduler computes the rate from a plan, usually large steps first and small ones later. `StepLR` multiplies it by `gamma` after every `step_size` calls. Guess before you run it: does it matter whether it is called before or after the optimizer? Here the rate begins at 0.5, and every gradient is −1, so each step adds the rate to p:

# %% tags=["C10.8"]
def begin():
    p = torch.zeros(1, requires_grad=True)
    p.grad = torch.tensor([-1.0])
    optimizer = torch.optim.SGD([p], lr=0.5)
    return p, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)


p, optimizer, scheduler = begin()
for _ in range(3):
    optimizer.step()
    scheduler.step()
    print("optimizer, scheduler: p =", p.item(), "- the next rate:", optimizer.param_groups[0]["lr"])
print("writes to p:", p._version, "- to its gradient:", p.grad._version)

p, optimizer, scheduler = begin()
with warnings.catch_warnings(record=True, action="always") as caught:
    for _ in range(3):
        scheduler.step()
        optimizer.step()
        print("scheduler, optimizer: p =", p.item())
print("warnings:", len(caught))

# %% [markdown]
# In the second order the first rate of the plan, 0.5, was never used, and PyTorch warned once. The three writes to `p` are those of the optimizer. So a scheduler writes the rate, and nothing else.
#
# > **The rule.** First `optimizer.step()`, then `scheduler.step()`.

# %% [markdown]
# ## Build your own engine: an optimizer
#
# In `my_engine.py`, write a class `SGD` with `zero_grad` and `step`, twelve lines in all. It is given the parameters and `lr`. (`model.parameters()` can be walked through only once, so keep a list.) For each parameter, `step` looks whether `.grad` is None. If so, it skips it; if not, it subtracts in place, with `sub_` under `no_grad()`. It leaves `.grad` itself alone. So that programs find it where PyTorch has it, add `optim = SimpleNamespace(SGD=SGD)` (from `types`).
#
# The usual slip is `p = p - lr * p.grad`. It makes a new tensor and gives it the name `p` inside of your loop, and the model's parameter stays as it was. (In the picture that the checkpoint draws, a backward pass would fail, since `step` has written. That is right: the pass is over.)

# %%
L.build("10")

# %% [markdown]
# When the checkpoint says *correct*, let your engine train. The next cell runs a loop on it in which eight hidden units have to tell two half-moons of 20 points each apart. The losses stand beside those of our engine and, if you have installed it, of PyTorch, and every gradient of 301 rounds is compared.

# %%
L.train()

# %% [markdown]
# Your engine has no `nn`, so it cannot run the other loops of this lesson. But it runs this one, which finds the line 2x + 1. If you like, try it in a new notebook beside this one (here `torch` has to stay what it is), and go on from there:
#
# ```python
# import my_engine as torch
#
# x, t = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[1.0], [3.0], [5.0]])
# w, b = torch.tensor([[0.0]], requires_grad=True), torch.tensor([0.0], requires_grad=True)
# optimizer = torch.optim.SGD([w, b], lr=0.1)
# for _ in range(200):
#     loss = ((x @ w + b - t) ** 2).mean()
#     optimizer.zero_grad()
#     loss.backward()
#     optimizer.step()
# print(w, b)
# ```
#
# ## Exercises for the first sitting: one loop to read, and one to repair
#
# **10.1 · Who writes what?** (3 minutes). A loop with SGD, momentum and `StepLR(optimizer, step_size=1)` has run for some rounds. The model has a batch norm, a layer that keeps running averages of what passes through it while it trains. They stand in *buffers*, tensors that no optimizer steps. Which of `"parameters"`, `"gradients"`, `"buffers"`, `"state"` (what the optimizer remembers) and `"rates"` does each line change? A list for each letter.
#
# ```python
# optimizer.zero_grad()                                     # A
# loss = mse(model(x), t)                                   # B
# loss.backward()                                           # C
# torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # D
# optimizer.step()                                          # E
# scheduler.step()                                          # F
# ```

# %%
writes = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("10.1", writes)

# %% [markdown]
# **10.3 · Repair the loop** (10 minutes). From a forum: "Same settings as in the paper, and it does not learn." A batch comes as a list of micro-batches of equal size, each with a backward of its own. Wanted for each batch: one step, with the gradient of the mean loss over the whole batch, which is clipped to the norm `most`, and with the rate that holds at that moment. Only then does the scheduler make its next rate. Some lines stand in the wrong place, and the gradient has the wrong length. (`mse` averages over its batch. `torch` is the library, ours or PyTorch.)

# %%
def fit(torch, model, optimizer, scheduler, batches, most):
    mse = torch.nn.MSELoss()
    for parts in batches:
        for x, t in parts:
            optimizer.zero_grad()
            mse(model(x), t).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), most)
        scheduler.step()
        optimizer.step()


L.check("10.3", fit)

# %% [markdown]
# ## So which line reads what, and which line writes what?
#
# | line | reads | writes |
# | :-- | :-- | :-- |
# | `optimizer.zero_grad()` | nothing | gradients, to None |
# | `loss = mse(model(x), t)` | data, parameters | a new graph; buffers, in train mode |
# | `loss.backward()` | what the graph saved, some parameters among it, each at its version | gradients, by adding |
# | `clip_grad_norm_(...)` | gradients | gradients, all by one factor |
# | `optimizer.step()` | gradients, parameters, its state, the rate | parameters, its state |
# | `scheduler.step()` | its plan, the rate | the rate |

# %% [markdown]
# ## A rest
#
# The second sitting begins with Adam, the optimizer that most networks are trained with. Then come whole trainings: stopping, resuming, changing the model, and sharing it.

# %% [markdown]
# ## Gradients of 0.001 and of 1000: is there one rate for both?
#
# Such gradients may well stand side by side in a deep network. A rate that moves the first parameter throws the other one far away. **Adam** divides each gradient by the size that it usually has. What is left is its sign, and whether it is larger than usual. For each parameter it keeps a count n and two averages, m of its gradient g and s of g², which begin at 0:
#
# ```
# n ← n + 1
# m ← b₁ m + (1 − b₁) g       b₁ is usually 0.9
# s ← b₂ s + (1 − b₂) g²      b₂ is usually 0.999
# p ← p − lr · (m / (1 − b₁ⁿ)) / (√(s / (1 − b₂ⁿ)) + eps)
# ```
#
# The divisors 1 − b₁ⁿ and 1 − b₂ⁿ make up for the start at 0. (eps is tiny, and prevents a division by 0.) In the first step m is (1 − b₁) g, and its divisor makes g of it again. The root gives |g| in the same way. So the quotient is 1 or −1, and the step is as long as the rate, unless the gradient is 0:

# %% tags=["C10.3"]
w = torch.tensor([1.0, 1.0], requires_grad=True)
adam = torch.optim.Adam([w], lr=0.1)
print("remembered before the first step:", dict(adam.state))
for _ in range(2):
    w.grad = torch.tensor([0.001, 1000.0])
    adam.step()
    print(w.detach())
print("and now:", list(adam.state[w]))

# %% [markdown]
# Both weights have moved by nearly the same. `step`, `exp_avg` and `exp_avg_sq` are n, m and s.
#
# Here is Adam in the valley of the first sitting, with the rate 0.8, at which each plain step would multiply p[1] by 1 − 0.8 · 100 = −79:

# %%
adam = descend(torch.optim.Adam, lr=0.8)
others = [descend(torch.optim.Adam, lr=rate) for rate in (0.4, 1.6)]
others += [descend(torch.optim.SGD, lr=rate, momentum=0.8) for rate in (0.009, 0.036)]
contour(valley, {"plain SGD": plain, "with momentum 0.8": momentum, "Adam": adam}, across="p[0]", up="p[1]")

# %% [markdown]
# **Notice:** Adam's first step goes as far along the valley as across it, 0.8 each. The walls do not throw it about. It overshoots, because its average of the gradients is a kind of momentum.
#
# Its loss after 30 steps, 1.7, is higher than the 0.1 of momentum. But the rate of SGD was chosen for these walls. With twice of that rate momentum is thrown out of the valley: 4041. With twice of its own rate Adam still ends at 2.7, and with half of it at 0.4.
#
# ## Does Adam's weight decay still pull?
#
# Adam may be given a decay, too, and adds d · p to the gradient as SGD does. **AdamW** does it in another way: it multiplies the weight itself by 1 − rate · d, apart from the gradient. Guess before you run it: a weight of 1 makes one step at the rate 0.1, with the gradient 1000 or 0. How far does the decay 0.5 pull it in each case?

# %%
for kind in (torch.optim.Adam, torch.optim.AdamW):
    for gradient in (1000.0, 0.0):
        ends = []
        for decay in (0.0, 0.5):
            p = torch.tensor([1.0], requires_grad=True)
            p.grad = torch.tensor([gradient])
            kind([p], lr=0.1, weight_decay=decay).step()
            ends.append(round(p.item(), 4))
        print(f"{kind.__name__:5}  gradient {gradient:6}: without decay {ends[0]}, with decay {ends[1]}")

# %% [markdown]
# With Adam the decay makes 1000.5 of the gradient of 1000, and that is divided by its own size, so the pull is lost. Beside a gradient of 0 the same decay makes a whole step. With AdamW it takes 5 % of the weight each time, whatever the gradient. So if your decay should pull all weights alike, take AdamW.

# %% [markdown]
# **10.4 · Write Adam** (10 minutes, optional). Write one step by the four formulas above for all `params`, in place. `state` is a dictionary, empty at first, that you get back each time: under each parameter that has been stepped it holds a dictionary with `"step"`, `"exp_avg"` and `"exp_avg_sq"`. A parameter without gradient is skipped, and `.grad` is only read.

# %%
def adam(torch, params, state, lr, b1, b2, eps):
    ...


L.check("10.4", adam)

# %% [markdown]
# ## How do you keep the best weights?
#
# A loss goes up and down, and the last epoch is seldom the best. So keep the weights of the best one, and put them back at the end. (An *epoch* is one pass over all batches. Here there is only one batch.) `state_dict()` gives a dictionary with every parameter by name, and `load_state_dict()` writes the values of such a dictionary into the model.
#
# ```python
# best = {"loss": float("inf")}
# for epoch in range(4):
#     train(model, optimizer, rounds=1)
#     loss = mse(model(x), t).item()
#     if loss < best["loss"]:
#         best = {"loss": loss, "state": model.state_dict()}
# model.load_state_dict(best["state"])
# print(best["loss"], mse(model(x), t).item())
# ```
#
# With the rate 0.25 our network swings: after the four epochs the loss is 1, 4, 1, 4.
#
# **Predict.** Which two numbers does the last line print? Answer with a pair.

# %%
L.predict("10.p2", None)

# %% tags=["C10.9"]
model, optimizer = fresh(lr=0.25)
best = {"loss": float("inf")}
for epoch in range(4):
    train(model, optimizer, rounds=1)
    loss = mse(model(x), t).item()
    print("epoch", epoch, "loss", loss)
    if loss < best["loss"]:
        best = {"loss": loss, "state": model.state_dict()}
model.load_state_dict(best["state"])
print("best:", best["loss"], "- put back:", mse(model(x), t).item())

# %%
copied = copy.deepcopy(best["state"])
three = [model[1].weight, best["state"]["1.weight"], copied["1.weight"]]
draw(*three, names=["the weight", "kept", "copied"])

# %% [markdown]
# **Notice:**
#
# - `kept`, from the "best" state, lies in one memory with the weight of the model, and has the same counter. `state_dict()` hands out what `detach()` would.
# - So every later `step` wrote into the best state, too. Version 5 counts four steps, and then `load_state_dict`, which copied the weights onto themselves.
# - `copied` has a memory and a counter of its own. (Making it was its one write.) But it was made just now, and came too late.
#
# The state must be copied at the moment when it is the best, with `copy.deepcopy(model.state_dict())`. Writing it to a file with `torch.save` is a copy, too.
#
# > **The rule.** A state dictionary is a set of names for the model's own memory. To keep it, copy it.
#
# ## What do you need to resume a training?
#
# You save the weights after three rounds with momentum. The next day a new process makes the same model, and a new optimizer with the same settings:
#
# ```python
# saved = copy.deepcopy(model.state_dict())
# again, its = fresh(lr=0.02, momentum=0.9)
# again.load_state_dict(saved)
# print(train(again, its))        # resumed: three losses
# print(train(model, optimizer))  # not interrupted: three losses
# ```
#
# **Predict.** Which of the losses are equal in both lists? A: the first; B: the second; C: the third. Answer with a list of letters; it may be empty.

# %%
L.predict("10.p11", None)

# %% tags=["C10.10"]
model, optimizer = fresh(lr=0.02, momentum=0.9)
print("before saving:", train(model, optimizer))
saved = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
again, its = fresh(lr=0.02, momentum=0.9)
again.load_state_dict(saved["model"])
print("resumed with the weights:", train(again, its))
print("not interrupted:         ", train(model, optimizer))

# %% [markdown]
# Only the first loss is the same. With the model alone, momentum starts again from nothing, and nothing raises. That was the third report. The missing line loads what the optimizer remembers: `optimizer.state_dict()` has it, and the rate.

# %% tags=["C10.10"]
print("remembered:", saved["optimizer"]["state"], "- rate:", saved["optimizer"]["param_groups"][0]["lr"])
again.load_state_dict(saved["model"]), its.load_state_dict(saved["optimizer"])
print("resumed with both:", train(again, its))
print("and the saved one now:", saved["optimizer"]["state"])

# %% [markdown]
# With both, the losses go on as if the training had never been interrupted. A scheduler has a `state_dict()` of its own, and dropout (below) needs the state of the random numbers.
#
# The last line shows one more trap. A model's `load_state_dict` copies. An optimizer's takes over the very tensors that you give it, so the saved sums went on with the training. Load a `copy.deepcopy` if you need them again.
#
# ## Which tensors does an optimizer hold?
#
# An optimizer is given tensors, not names. Suppose that you put in a new layer after the optimizer was made. Guess before you run it: does the loss fall, and does the new layer move?

# %% tags=["C10.11"]
model, optimizer = fresh()
model[1] = torch.nn.Linear(1, 1, bias=False)  # after the optimizer was made
torch.nn.init.constant_(model[1].weight, 0.5)
print("losses:", train(model, optimizer), "- the new layer:", model[1].weight.item())
held = set(optimizer.param_groups[0]["params"])
print("not held:", [name for name, p in model.named_parameters() if p not in held])

# %% [markdown]
# The optimizer goes on with the old layer, which no backward pass reaches any more. The loss falls all the same, because the other layer learns. That was the first report. Make the optimizer anew, or hand over what is missing with `add_param_group`, with its own rate if you like. The same goes for a layer that was left out because it was frozen, and is unfrozen later.
#
# What only changes the values of the same parameters leaves them with the optimizer. And what can never learn is refused: a result of an operation is no leaf, so no gradient would arrive in its `.grad` (lesson 02).

# %% tags=["C10.11"]
model, optimizer = fresh()
held = set(model.parameters())
model.load_state_dict(fresh()[0].state_dict())
print("still held after loading:", set(model.parameters()) == held)
print("still held after double():", set(model.double().parameters()) == held)
with expect_error(ValueError, "can't optimize a non-leaf Tensor"):
    torch.optim.SGD([0.5 * p for p in held], lr=0.1)

# %% [markdown]
# `load_state_dict` copies into the same parameters, and `double()` changes the type inside of the same parameters. (It is another thing for a single tensor: `p.double()` computes a new one from p.)
#
# **10.2 · Which happens?** (8 minutes). `model, optimizer = fresh(momentum=0.9)` each time; `loss_of()` is the loss, and `one_round()` one whole round in the order ZBS. The comment says what was wanted. Answer with `"fine"`, `"raises now"` (in a line without backward), `"raises at backward"` or `"silently wrong"`.
#
# ```python
# # A. two steps down the slope of one loss
# loss = loss_of(); loss.backward(retain_graph=True); optimizer.step(); loss.backward(); optimizer.step()
# # B. the gradients of the loss as it was computed, although the first layer is stepped before backward
# one_round(); loss = loss_of(); torch.optim.SGD(model[0].parameters(), lr=0.1).step()
# optimizer.zero_grad(); loss.backward()
# # C. afterwards the weights are as before the step
# kept = model.state_dict(); one_round(); model.load_state_dict(kept)
# # D. the same
# kept = {name: value.clone() for name, value in model.state_dict().items()}; one_round(); model.load_state_dict(kept)
# # E. both layers learn
# model[1] = torch.nn.Linear(1, 1, bias=False); one_round()
# # F. both layers learn, in double precision
# model.double(); x, t = x.double(), t.double(); one_round()
# # G. from the second line on, the last layer rests
# one_round()
# model[1].requires_grad_(False); optimizer.step()
# # H. both layers learn, in double precision
# optimizer = torch.optim.SGD([p.double() for p in model.parameters()], lr=0.1); one_round()
# ```

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("10.2", happens)

# %% [markdown]
# ## Can a test change the network?
#
# A model can have *buffers*, tensors that belong to it and that no optimizer steps. Batch norm has two, a running mean and a running variance of what it has seen, which begin at 0 and 1. It has two modes. In *train mode* it normalises each batch: it subtracts the batch's own mean and divides by the root of its variance. In *eval mode* it takes the two buffers instead.
#
# Now you test the network: `batch` is data that it does not learn from. `bn` is a new `BatchNorm1d`:
#
# ```python
# # A
# bn.train()
# bn(batch)
# # B
# bn.train()
# with torch.no_grad():
#     bn(batch)
# # C
# bn.eval()
# bn(batch)
# # D
# bn.eval()
# with torch.no_grad():
#     bn(batch)
# ```
#
# **Predict.** In which of the four cases has the test changed the network, that is, its running mean? Answer with a list of letters.

# %%
L.predict("10.p6", None)

# %% tags=["C10.12"]
batch = torch.tensor([[1.0], [3.0]])  # mean 2
for letter in "ABCD":
    bn = torch.nn.BatchNorm1d(1)
    version = bn.running_mean._version
    bn.train(letter in "AB")
    with torch.set_grad_enabled(letter in "AC"):
        result = bn(batch)[1].item()
    buffers = [round(buffer.item(), 4) for buffer in (bn.running_mean, bn.running_var)]
    print(f"{letter}: 3 becomes {result:.2f}, buffers {buffers}, versions + {bn.running_mean._version - version}")

# %% [markdown]
# Only the mode decides. In train mode the forward pass itself writes the buffers: it moves them a tenth of the way towards the mean and the variance of the batch, which are both 2. (This variance divides by n − 1. The one that normalises divides by n and is 1, so 3 becomes (3 − 2) / √1.) `no_grad` switches off recording, and not training. `eval()` switches off the writing, until you call `train()` again.
#
# In the last column stands + 0. The kernel of batch norm writes the buffers and does not count it, in PyTorch, too. This is an exception to lesson 07.
#
# ## What do `train()` and `eval()` set?
#
# A flag, `training`, in every layer that `modules()` gives, the network itself first. Here it is for a batch norm and a **dropout**, another layer that has two modes:

# %%
torch.manual_seed(0)
drop, bn = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(1)
pair = torch.nn.Sequential(drop, bn).train()
bn.eval()
print([(type(layer).__name__, layer.training) for layer in pair.modules()])
print(drop(torch.ones(8)), drop.eval()(torch.ones(8)))

# %% [markdown]
# In train mode dropout sets each number to 0 with the given probability and multiplies the others, here by 2, so that on average nothing changes. In eval mode it hands on what it gets. Each layer has a mode of its own. Here one is in eval mode while the others train, as people do with a part that is frozen.
#
# **10.5 · The best epoch** (8 minutes). Now you have all that early stopping needs. Repair it: afterwards the model must be what it was when the test loss was lowest, buffers and all, and that loss comes back as a number. `train_epoch(model)` takes some steps, `test_loss(model)` returns a tensor; both run the model in the mode in which they find it. (What this loss is computed from has chosen the epoch afterwards. Such data are called *validation data*; a final score needs others.) Each epoch trains on from the one before, and wants train mode; testing wants eval mode and no graph, and must change nothing.

# %%
def keep_best(torch, model, train_epoch, test_loss, epochs):
    best = float("inf")
    for _ in range(epochs):
        train_epoch(model)
        loss = test_loss(model)
        if loss < best:
            best, kept = loss, model.state_dict()
    model.load_state_dict(kept)
    return best


L.check("10.5", keep_best)

# %% [markdown]
# ## Can you read a whole loop now?
#
# Here is one with everything that people usually put into it. It learns the line 2x + 1 from 16 points, and is validated on four others. First come the three things that must be there before the loop: the model, the optimizer, which is given the model's parameters, and the scheduler, which is given the optimizer. They are made in this order because each of them holds the one before.

# %%
torch.manual_seed(0)  # first values and dropout: the same in every run
layers = torch.nn.Linear(1, 9, bias=False), torch.nn.BatchNorm1d(9)  # no bias: batch norm would subtract it
net = torch.nn.Sequential(*layers, torch.nn.Dropout(0.1), torch.nn.Linear(9, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)  # after ten epochs half the rate
points = torch.linspace(-1, 1, 20).reshape(20, 1)
batches = [(points[k::5], 2 * points[k::5] + 1) for k in range(5)]  # each takes every fifth point
validation = batches.pop(2)  # the loop never learns from these four


def validate(net):
    net.eval()  # dropout and batch norm behave as in use
    with torch.no_grad():
        return mse(net(validation[0]), validation[1]).item()


# %% [markdown]
# Here is the loop. Guess before you run it: `net.train()` stands inside of the loop over the epochs. What would be different from the second epoch on if it stood in front of it?

# %%
losses = {}
for epoch in range(1, 21):
    net.train()
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = mse(net(inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # no single batch may count for too much
        optimizer.step()
    scheduler.step()
    losses[epoch] = round(validate(net), 2)
chart({"loss on the validation points": {"after each epoch": losses}}, across="epoch", up="loss")

# %% [markdown]
# The loss on the validation points, which it has never learned from, falls from 0.8 to 0.03. It is lowest after epoch 14, so `keep_best` would keep that one. (In front of the loop `net.train()` would hold for the first epoch only: `validate` leaves the network in eval mode, so dropout would drop nothing, and the buffers would rest.) You have met every line of the loop, so take it along for your own work.
#
# ## Exercises for the second sitting: eight reports
#
# **10.6 · Diagnose** (5 minutes). Eight reports. Choose the cure of each: `"copy the state"`, `"load the optimizer's state"`, `"hand over the missing parameters"`, `"all backwards before any step"`, `"zero_grad() with None"`, `"once an epoch"`, `"train()"`, `"eval()"`, `"a smaller rate"`, `"retain_graph=True"`. Some cures cure none of them.
#
# - A "For five epochs the encoder was frozen, and the optimizer got only what required a gradient. Then I unfroze it. Its `.grad` is full since then, and its weights have never changed."
# - B "Our jobs may run for four hours. The curve of the loss has a bump every four hours. The next job starts with exactly the weights that the last one ended with; we compared."
# - C "An in-place error: is at version 7, expected version 6. Only since the critic, which shares the encoder, has an optimizer of its own."
# - D "The encoder takes part in every second batch only. Its weights change in the other batches as well; I print its gradients, and they are all zero."
# - E "After fifty batches nothing moves any more. The schedule of the paper divides the rate by ten every ten epochs."
# - F "The prediction for one and the same picture depends on which other pictures I send with it."
# - G "After the first validation the network overfits: dropout seems to be gone."
# - H "To average the last three epochs I append `model.state_dict()` to a list after each of them. All three entries are equal."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("10.6", cures)

# %% [markdown]
# ## A rest, before real data
#
# Up to here every batch was made by hand. In the third sitting you train a network on real handwriting, look at what it learns, and test it.

# %% [markdown]
# ## What does a loop need to know of its data?
#
# The course brings a small data set with it: 1,797 handwritten digits. E. Alpaydin and C. Kaynak of Boğaziçi University let 43 people fill in forms; these are the images of thirteen of them. They gave them to the UCI Machine Learning Repository under the licence CC BY 4.0. (The whole citation stands in `coursekit/data/digits.txt`.) Each image has 8 × 8 pixels, from 0 for white to 1 for black. Each has a *label*, the digit that it is meant to be.

# %%
images, labels = digits(torch)  # tensors of the library that you imported above
print(tuple(images.shape), images.dtype, tuple(labels.shape), labels.dtype)
pixels([entry for i in (0, 1, 2, 3, 5, 8, 42, 77) for entry in (f"a {labels[i].item()}", images[i])])

# %% [markdown]
# **Notice:** even you have to look twice at some of them. The 5 would be hard to read without its title.
#
# A training loop asks its data only two things: how many samples are there, and what is sample number i? Any object that can answer is a **dataset**. It has a method `__len__` for the first question, and a method `__getitem__` for the second. The samples may lie in a tensor, or in a million files that are opened one at a time.
#
# The loop does not want single samples, though. It wants batches, and usually in a random order. So there is a second object between the two, the **DataLoader**. It asks the dataset, and a `for` over it gives batches.
#
# Here is a dataset of ten samples, which says when it is asked:
#
# ```python
# class Ten(torch.utils.data.Dataset):
#     def __len__(self):
#         return 10
#
#     def __getitem__(self, i):
#         print("sample", i)
#         return torch.tensor([float(i), 0.0]), i % 2   # an image, so to speak, and a label
#
# loader = torch.utils.data.DataLoader(Ten(), batch_size=4)
# for inputs, targets in loader:
#     print("a batch")
# ```
#
# **Predict.** How often is `__getitem__` called in the line that makes the loader? How often in the whole `for` loop? How often is "a batch" printed? And how many rows do the inputs of the last batch have? Answer with a list of four numbers.

# %%
L.predict("10.p3", None)


# %% tags=["C10.14"]
class Ten(torch.utils.data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        print(f"sample {i}", end=", ")
        return torch.tensor([float(i), 0.0]), i % 2


loader = torch.utils.data.DataLoader(Ten(), batch_size=4)
print("the loader is made, and has", len(loader), "batches")
for inputs, targets in loader:
    print("a batch:", tuple(inputs.shape), targets)

# %% [markdown]
# Making the loader fetched nothing. In the loop each batch was fetched when its turn came, sample by sample. Four and four and two are ten, so the last batch is smaller. (`drop_last=True` would leave it out.) The labels were plain numbers, and they came back as a tensor.
#
# With `shuffle=True` the samples come in a random order. That matters, because neighbours in a file are often alike. The order is new in each pass. It comes from PyTorch's random numbers, so after the same seed it is the same again:

# %% tags=["C10.15"]
mixed = torch.utils.data.DataLoader(range(10), batch_size=4, shuffle=True)  # a range is a dataset, too
for seed in (0, 0, 1):
    torch.manual_seed(seed)
    print("seed", seed, *([batch.tolist() for batch in mixed] for _ in range(2)), sep="   ")

# %% [markdown]
# Each line shows two passes. The first two lines are equal, and in each of them the two passes differ.
#
# Samples become a batch by stacking, and words of different lengths cannot be stacked. For them you give the loader a `collate_fn`, which makes a batch of its samples, here a `list`:

# %% tags=["C10.14"]
words = [torch.tensor([3.0, 1.0, 4.0]), torch.tensor([1.0, 5.0]), torch.tensor([9.0])]  # a list is a dataset, too
for batch in torch.utils.data.DataLoader(words, batch_size=2, collate_fn=list):
    print(batch)

# %% [markdown]
# > **The rule.** A dataset knows how many samples there are, and each of them by number. A loader asks it for one sample at a time, when the loop asks for the next batch.
#
# ## Can a small network read handwriting?
#
# First the data is divided. `random_split` keeps back 397 images, which the network never sees while it learns. Only they can tell whether it has understood anything, or has learned its examples by heart. (A `TensorDataset` is a dataset of tensors: sample i is row i of each.)
#
# Everything is in double precision here, with `double()`, so that your machine prints the same numbers as ours.

# %%
everything = torch.utils.data.TensorDataset(images.double(), labels)
torch.manual_seed(0)
known, unseen = torch.utils.data.random_split(everything, [1400, 397])
cross_entropy = torch.nn.CrossEntropyLoss()


def network():
    torch.manual_seed(0)
    layers = torch.nn.Linear(64, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    return torch.nn.Sequential(torch.nn.Flatten(), *layers).double()


def score(net, data):  # the share of right answers and the mean loss; the mode stays as it is
    right = loss = 0.0
    with torch.no_grad():
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=40):
            outputs = net(inputs)
            right += (outputs.argmax(1) == targets).sum().item()
            loss += cross_entropy(outputs, targets).item() * len(targets)  # the last batch is smaller
    return right / len(data), loss / len(data)

# %% [markdown]
# The network gives ten numbers for each image, one for each digit. They are called *scores*, or logits. The largest one is its answer, and `argmax(1)` finds it.
#
# How many answers are right is what we want to know, but it is no loss: it jumps, so its slope is zero nearly everywhere. The **cross-entropy** is a smooth substitute. First a *softmax* makes probabilities of the scores: e to the power of each, divided by their sum. The scores (2, 1, 0) become (0.665, 0.245, 0.090). The loss is minus the logarithm of the probability of the right answer: −log 0.665 = 0.41 if the first one is right. A network that is sure and right has the loss 0. One that guesses gives each digit 1/10, and has −log 0.1 = 2.3.
#
# Now the loop, with the lines that you know. While it runs, it fills a progress bar, one block for each epoch, and it notes the loss on each batch and the loss on the unseen images. Guess before you run it: in the first epoch, on which of the two kinds of images will the noted loss be lower?

# %%
def learn(net, data, test, epochs=10):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(data, batch_size=50, shuffle=True)
    log = {name: {} for name in ("known images", "unseen images")}
    print("training ", end="")
    for epoch in range(1, epochs + 1):
        net.train()
        losses = []
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = cross_entropy(net(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.eval()
        log["known images"][epoch] = round(sum(losses) / len(losses), 3)
        log["unseen images"][epoch] = round(score(net, test)[1], 3)
        print("█", end="", flush=True)  # flush: at once, and not when the line is full
    print(f" {epochs} epochs of {len(loader)} batches")
    return log


# %% tags=["C10.17"]
net = network()
log = learn(net, known, unseen)
print(f"unseen images that it reads: {score(net, unseen)[0]:.0%}")
print("loss before the first step:", round(score(network().eval(), known)[1], 1))
chart({"loss": log}, across="epoch", up="loss")

# %% [markdown]
# **Notice:**
#
# - 97 of 100 images that it has never seen are read, after a second or two of training.
# - In the first epoch the loss on the unseen images is the *lower* one. The other number is a mean over all of the epoch, in train mode, and the epoch began at 2.3 or so.
# - Then the lines cross, and the network does better on what it knows. That is no reason to stop: the unseen line goes up and down, but on the whole it falls. It is 0.144 in the second epoch, and 0.081 in the ninth, where it is lowest.
# - *Early stopping* looks at the unseen line alone. It keeps the state with which that was lowest, here the one of the ninth epoch, and stops when it has not become lower for some epochs. (Whoever lets the unseen images decide this has used them, and needs a third part for the final score.)
#
# A number such as 97 % says little about *what* goes wrong. So look at the mistakes:

# %%
with torch.no_grad():
    answers = [(image, digit.item(), net(image[None]).argmax().item()) for image, digit in unseen]
mistakes = [(image, digit, answer) for image, digit, answer in answers if digit != answer]
print(len(mistakes), "of", len(answers), "are wrong")
pixels([entry for image, digit, answer in mistakes for entry in (f"{digit}, not {answer}", image)])

# %% [markdown]
# **Notice:** eight of the thirteen show a three or an eight. That is where one would look next. Some of the images you can read yourself, such as the fourth in each row. With others you may doubt the label. If there were many of those, the labels would be the next thing to look at.
#
# ## Two softmaxes: what does the loss say?
#
# Cross-entropy computes the softmax itself. Many networks end in a softmax layer already, because somebody wanted to see probabilities. Then it is done twice. Guess before you run it: what is the smallest loss that a perfect network can still reach then, 0, about 1.5 or about 2.3?

# %% tags=["C10.16"]
twice = network().append(torch.nn.Softmax(dim=1))
again = learn(twice, known, unseen)
print("loss on what it knows:", again["known images"][10], "- unseen:", f"{score(twice, unseen)[0]:.0%} right")
sure = torch.zeros(1, 10)
sure[0, 3] = 1.0  # probabilities: the network is sure that it is a three, and it is right
print("the best loss that is possible:", round(cross_entropy(sure, torch.tensor([3])).item(), 4))

# %% [markdown]
# In the end it reads nearly as well, and nothing raises. But the loss stays at 1.49, where 2.3 is guessing, so it looks like a network that has hardly learned. No network at all could get below 1.4612: even the perfect answer, 1 for the right digit and 0 for the others, goes through a second softmax.
#
# > **The rule.** Cross-entropy wants scores. Take the softmax where you show probabilities to people, and not in the network that you train.
#
# ## Same network, same images: what makes a score fall?
#
# A colleague wants to know which digit is the hardest. So she sorts the unseen images by digit before she tests: first all zeros, then all ones, and so on. And she has heard of `eval()`, but is not sure that it matters, as no loss is computed and everything runs under `no_grad`. She tests in four ways, each time with the trained network and with batches of 40:
#
# - A: after `net.eval()`, the images as they come
# - B: after `net.eval()`, the images sorted by digit
# - C: after `net.train()`, the images as they come
# - D: after `net.train()`, the images sorted by digit
#
# **Predict.** Which of the four tests find that more than 90 % are right? Answer with a list of letters, such as `["A", "D"]`. (The network has a batch norm layer, and no dropout.)

# %%
L.predict("10.p4", None)

# %% [markdown]
# Before each test the network is put back as it was after training, with a copy of its state:

# %% tags=["C10.18"]
trained = copy.deepcopy(net.state_dict())
in_order = torch.utils.data.Subset(everything, sorted(unseen.indices, key=lambda i: labels[i].item()))
for mode in (net.eval, net.train):
    for name, data in (("as they come", unseen), ("sorted", in_order)):
        net.load_state_dict(trained)
        mode()
        print(f"{mode.__name__:5}  {name:12}  {score(net, data)[0]:.0%} right")

# %% [markdown]
# In train mode and sorted, two of three answers are wrong. The weights are the same, the images are the same, and only the *company* in which an image comes has changed. Batch norm subtracts the mean of the batch. In a mixed batch that is about the mean of all images. In a batch in which every image is the digit 0, it is the mean of all zeros. So what all zeros have in common is subtracted, and that is what makes them zeros.

# %%
zeros, all_of_them = images[labels == 0], images.mean(0)
tiles = {"mean of all": all_of_them, "a zero": zeros[0], "mean of zeros": zeros.mean(0)}
tiles |= {"zero - all": (zeros[0] - all_of_them + 1) / 2, "zero - zeros": (zeros[0] - zeros.mean(0) + 1) / 2}
pixels([entry for each in tiles.items() for entry in each])

# %% [markdown]
# **Notice:** in the last two images the middle grey means 0. If the mean of all is subtracted, a zero can still be seen. If the mean of the zeros is subtracted, hardly anything is left. (Here it is done with pixels. Batch norm does it with the 32 numbers of its layer.)
#
# In eval mode the buffers stand in its place, and the company does not matter at all. These are the buffers:

# %%
for name, buffer in net[2].named_buffers():
    print(name, tuple(buffer.shape), buffer.dtype)

# %% [markdown]
# There is a running mean and a running variance for each of the 32 numbers that come in, and a count of the batches that have gone into them. They are in the `state_dict()` beside the weights, or a saved network could not be used.
#
# There is a second half to the story, and it is worse. Test D did not only *show* bad answers. Each batch in train mode also moves the buffers a tenth of the way towards its own mean. Suppose that a demonstration runs in train mode, and people write nothing but the digit 0 all day. In the evening somebody switches to eval mode:

# %% tags=["C10.19"]
net.load_state_dict(trained)
zeros = torch.utils.data.Subset(everything, [i for i in unseen.indices if labels[i].item() == 0])
net.train()
for _ in range(20):
    score(net, zeros)  # under no_grad, and nobody calls step()
net.eval()
print(f"after a day of zeros: {score(net, unseen)[0]:.0%}, batches counted: {net[2].num_batches_tracked.item()}")
net.load_state_dict(trained)
print(f"with the buffers from after training: {score(net, unseen)[0]:.0%}")

# %% [markdown]
# (The training counted 10 · 28 batches, and the day 20 more.) No gradient was computed, no weight has changed, and yet the network is spoiled: it makes nearly four times as many mistakes as before. What was lost stood in the buffers.
#
# In one case an error does come. A single image has no variance, so in train mode batch norm refuses it. People meet this in the last batch of an epoch, if one sample is left over. (`drop_last=True` is the usual cure.)

# %%
net.train()
with expect_error(ValueError, "Expected more than 1 value per channel when training"):
    net(images[:1].double())

# %% [markdown]
#
# > **The rule.** In train mode batch norm looks at the batch, and writes into its buffers. In eval mode it looks at its buffers, and writes nothing. Test in eval mode.
#
# ## Exercises: two for the third sitting
#
# **10.7 · Windows** (8 minutes). A power station has written down its load once an hour, and a network is to forecast the next hour. Write the dataset: `Windows(series, width)` is given a tensor of one dimension. Sample i is a pair: the `width` numbers that begin at place i, and the number right after them, without a dimension. Both have the type of the series. Every window that has a number after it is a sample, and a series that is too short has none.


# %%
class Windows(torch.utils.data.Dataset):
    def __init__(self, series, width):
        self.series, self.width = series, width

    def __len__(self):
        ...

    def __getitem__(self, i):
        ...


L.check("10.7", Windows)

# %% [markdown]
# **10.8 · A test without a trace** (12 minutes). Repair the test of a classifier. It should return two Python numbers: the mean cross-entropy over all samples of `data`, and the share of right answers, between 0 and 1. The test runs in eval mode, builds no graph, and sends at most 32 rows through the network at a time, as this one does. Afterwards the network is as it was found: its buffers, and the mode of every layer. (Some layers may be in eval mode on purpose, while the others are in train mode.)


# %%
def tested(torch, net, data):
    cross_entropy = torch.nn.CrossEntropyLoss()
    losses, right = [], 0
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=32, drop_last=True):
        outputs = net(inputs)
        losses.append(cross_entropy(outputs, targets))
        right += (outputs.argmax(1) == targets).sum()
    return sum(losses) / len(losses), right / len(data)


L.check("10.8", tested)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, except for what stands in brackets. A test runs all of it on our engine and on real PyTorch (`lessons/10_training_loop/claims.py`).
#
# *One round*
#
# - **C10.6** With no gradients at first, three calls follow the forward pass: Z clears, B is backward, S steps. ZBS and BSZ train; ZSB, BZS and SBZ never move a parameter; SZB raises in the second round if backward reads a parameter that was stepped.
# - **C10.1** `step()` reads `.grad` and writes the parameters in place under no_grad: the same tensors afterwards, without a node, and with a higher version (unless the optimizer was made with `fused=True`).
# - **C10.4** `step()` skips a parameter whose `.grad` is None; a gradient of zero can still move it, by momentum or weight decay.
# - **C10.5** `requires_grad_(False)` does not stop `step()`: a gradient that is still there is used again.
# - **C10.7** `clip_grad_norm_` multiplies all gradients in place by one factor and returns the norm they had; after each micro-batch instead of after the last it can give another direction.
# - **C10.13** When two losses come from one forward pass, a step between their backward passes raises if the second still has to read a weight that was stepped.
#
# *What an optimizer does and remembers*
#
# - **C10.2** Plain SGD is `p.add_(p.grad, alpha=-lr)`; weight decay first adds its multiple of p to the gradient, and momentum puts a running sum in the gradient's place.
# - **C10.3** What an optimizer remembers of a parameter stands in `optimizer.state`; with SGD and Adam it appears there with that parameter's first step: a sum for momentum; two averages and a count of steps for Adam.
# - **C10.8** `scheduler.step()` writes `lr` in the optimizer's groups, and no parameter and no gradient; called before `optimizer.step()` it skips the first value of its schedule, with a warning.
#
# *Data*
#
# - **C10.14** A DataLoader fetches nothing before a batch is asked for; then it asks the dataset once for each sample and its collate function once for each batch, and the last batch may be smaller.
# - **C10.15** With `shuffle=True` each pass has a new order, and after the same seed the same orders come again.
# - **C10.16** `CrossEntropyLoss` takes scores: behind a softmax layer the loss of ten classes cannot fall below 1.4612, and nothing raises.
# - **C10.17** A network of two layers with batch norm, trained on 1400 handwritten digits for ten epochs, reads more than 95 % of 397 others.
#
# *A whole training*
#
# - **C10.9** `state_dict()` hands out the model's own memory: a best state that was not copied changes with every step.
# - **C10.10** With the states of model and optimizer, training that needs nothing else (no scheduler, no random numbers) goes on to the last digit as if never interrupted; without the optimizer's, momentum starts again, and nothing raises.
# - **C10.11** An optimizer steps the tensors it was given: a layer that is put in later does not learn, and nothing raises; `load_state_dict` and `model.double()` keep the parameters the same objects.
# - **C10.12** In train mode the forward pass of batch norm writes its running averages, under no_grad too, and their versions stay; in eval mode it writes nothing.
# - **C10.18** In train mode what batch norm makes of a sample depends on the rest of its batch, so a network that reads digits in eval mode fails on batches of a single digit in train mode, and nothing raises.
# - **C10.19** Batches of a single kind in train mode, even under no_grad, move the buffers so that the network is worse in eval mode afterwards, although no parameter has changed.
#
# **What PyTorch does differently.** Its optimizers can be made with `fused=True`: one call writes all parameters, and in PyTorch 2.13 this write is not counted. With such an optimizer the order SZB raises nothing, and the gradient of the first weight is −5.6 where −4 is right; a test of this lesson shows it. Our engine refuses the setting. And `AdamW` writes twice in a step, for the decay and for the step itself, and counts two.
#
# **Left out.** Closures for `step`, and the optimizers that need them (LBFGS). GPUs: PyTorch's documentation advises to move a model before its optimizer is made. 16-bit training: `GradScaler` multiplies the loss before backward and divides the gradients before the step; clipping comes after the division. Loaders that fetch in several processes at once (`num_workers`), or into memory from which a GPU can copy faster (`pin_memory`): our loader fetches in the loop itself.
#
# **Read on in our engine:** `course_lib/optim/algorithms.py`, one class for each optimizer.
#
# **Next:** in [lesson 11](11_custom_functions.ipynb) you write operations of your own, with a backward that you choose.
