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
# **Three reports from one week. The first: "I gave a pretrained network a new last layer. The loss falls a little, and then the network stays at the level of guessing." The second: "I stop early and put back the best weights. The score is that of the last epoch." The third: "Each time I resume from a checkpoint, the loss jumps up, although I compared all weights, and they are identical." None of the three programs raises an error. In each of them a single line is missing, or stands one place too low.**
#
# A training loop consists of a few calls that everybody has typed a hundred times: `zero_grad`, `backward`, `step`, and now and then `scheduler.step`. They never call each other. They communicate only through what they leave behind: in `.grad`, in the weights, in the optimizer. So a loop is right when each line finds what it needs to read, and that is something you can check line by line.
#
# After this lesson you can
#
# - put the lines of any training loop in order, and say what goes wrong in another order;
# - say why there are momentum, weight decay, Adam, clipping and schedules, and what each of them reads and writes;
# - stop, save and resume a training so that it goes on to the last digit;
# - find the missing line in reports like the three above.
#
# **Minutes** 100, in two sittings with a rest between them, and 10 more for the optional exercise 10.4 · **Needs** lessons 00, 02, 05, 06, 07 and 09 · **Out of scope** which optimizer is best, second derivatives (lesson 13), many processes (lesson 17)
#
# [← 09 The ways out](09_ways_out.ipynb) · [all lessons](home.ipynb) · [11 Custom Functions →](11_custom_functions.ipynb)

# %%
import course_lib as torch
import copy
import warnings

from course_lib.teach import draw, expect_error, explain, lesson, show

L = lesson(10)
x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()


def fresh(lr=0.1, **settings):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    for p in model.parameters():
        torch.nn.init.ones_(p)
    return model, torch.optim.SGD(model.parameters(), lr=lr, **settings)

# %% [markdown]
# (The second half of this cell makes the smallest network with two layers, for the experiments below. You can skip it for now.)
#
# ## What does a whole loop look like?
#
# Here is one with everything that people usually put into it. It learns the line 2x + 1 from 16 points. First come the three things that must be there before the loop: the model, the optimizer, which is given the model's parameters, and the scheduler, which is given the optimizer. They are made in this order because each of them holds the one before.

# %%
torch.manual_seed(0)  # first values and dropout: the same in every run
net = torch.nn.Sequential(torch.nn.Linear(1, 9), torch.nn.BatchNorm1d(9), torch.nn.Dropout(0.1), torch.nn.Linear(9, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
points = torch.linspace(-1, 1, 16).reshape(16, 1)
batches = [(points[k::4], 2 * points[k::4] + 1) for k in range(4)]  # each takes every fourth point


def validate(net):
    net.eval()  # dropout and batch norm behave as in use
    with torch.no_grad():
        return mse(net(points), 2 * points + 1).item()


# %%
losses = []
for _ in range(20):  # epochs: each is one pass over all batches
    net.train()  # validate() has switched this off
    for inputs, targets in batches:
        optimizer.zero_grad()  # forget the gradients of the last batch
        loss = mse(net(inputs), targets)  # forward: builds a graph
        loss.backward()  # walks back through it, adds to every .grad
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # no step may be too long
        optimizer.step()  # changes the weights
    scheduler.step()  # smaller steps as time goes on
    losses.append(validate(net))
print("the loss fell to less than a tenth:", losses[-1] < losses[0] / 10)

# %% [markdown]
# At the end you will understand every line of this program, and know what happens if it stands in another place. Take it along for your own work. Now we take it apart.
#
# ## In which orders may three of its lines stand?
#
# For the experiments we use a network that you can follow with a pencil: two layers in a row, with one weight each, u and v, which both begin at 1. `mse` is the mean squared error. Every batch is x = 1 and t = 3, so the loss is (uv − 3)².
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
# **Predict.** The last three lines stand in the order ZBS. There are five more orders: ZSB, BZS, BSZ, SZB and SBZ. Which of the six train the network as they should? Answer with a list of orders. (One of the others raises an error, though not in its first round.)

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
        for letter in order:
            {"Z": optimizer.zero_grad, "B": loss.backward, "S": optimizer.step}[letter]()
    return losses


for order in ("ZBS", "BSZ", "ZSB", "BZS", "SBZ"):
    print(order, train(*fresh(), order))
with expect_error(RuntimeError, "modified by an inplace operation"):
    train(*fresh(), "SZB")

# %% [markdown]
# Two of them train, and one raises. Three never change the loss, and say nothing about it. In those three there is nothing to read when `step` comes, since every `.grad` is None. That is no error: a parameter without a gradient is simply left alone.
#
# > **The rule.** `step` needs to find what `backward` has just put there. Clearing may come anywhere else.
#
# ## And why does the sixth order raise?
#
# Here is the order SZB once more, stopped in its second round, between `step` and `backward`:

# %%
model, optimizer = fresh()
train(model, optimizer, "SZB", rounds=1)  # leaves gradients behind
loss = mse(model(x), t)
optimizer.step()
optimizer.zero_grad()
draw(loss, names=model)

# %% [markdown]
# **Notice:**
#
# - `1.weight` is STALE. Node 4 saved it, at the version that it had in the forward pass, and `step` has written to it since. (It was at 2 because two writes had set its first values.)
# - `0.weight` was written to as well. But it was not saved, because `x` is plain data and needs no gradient. So it does no harm.
#
# In the first round `step` found no gradient and wrote nothing. So the error waited until the second. (The message of the error speaks of "AsStrided". `Linear` multiplies by the transposed weight, which is a view of it, and a view whose memory has been written to is given a new node: lesson 08.)
#
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
# Equal to the last digit. (Written as `q -= 0.1 * q.grad`, the last digit may differ in PyTorch, which rounds twice then.)
#
# In our engine, this is the whole of SGD for one parameter. A loop around it, under `no_grad`, has asked whether `.grad` is None. Only two lines write: one into the momentum buffer, and the last one into the parameter. Its `add_` ends, like every in-place operation, in `count_write`. There is the number that backward compares, and nothing in it asks whether the writer is an optimizer.

# %% tags=["engine"]
show("optim.SGD.update")
show("engine.views.count_write")

# %% [markdown]
# ## Why are there other optimizers?
#
# Because following the gradient alone has three weaknesses, and each of the following was invented against one of them.
#
# **Momentum** is for gradients that are noisy, or that point from one wall of a narrow valley to the other. Instead of the gradient, one follows a running sum of gradients: m · sum + gradient, with m = 0.9 for example. Steps in one direction add up, and steps to and fro cancel.
#
# **Weight decay** is for networks that learn their examples by heart. Large weights make wild functions. So at each step every weight is pulled a little towards 0: d · p is added to the gradient of p.
#
# **Adam** is for parameters whose gradients differ in size. If one is a thousand times as large as another, no single rate can suit both. Adam keeps two averages for each parameter, of its gradient and of the gradient's square, and divides the first by the root of the second. So its first step is as long as the rate, whether the gradient is 0.001 or 1000.
#
# All of these have to remember something from step to step. It stands in `optimizer.state`, by parameter. The settings stand in `optimizer.param_groups`, one dictionary for each group of parameters.

# %% tags=["C10.2", "C10.3"]
p, w = torch.tensor([1.0], requires_grad=True), torch.tensor([1.0, 1.0], requires_grad=True)
sgd, adam = torch.optim.SGD([p], lr=0.1, momentum=0.9, weight_decay=0.5), torch.optim.Adam([w], lr=0.1)
print("before the first step:", dict(sgd.state), dict(adam.state), "- Adagrad:", len(torch.optim.Adagrad([p]).state))
for _ in range(2):
    p.grad, w.grad = torch.tensor([2.0]), torch.tensor([0.001, 1000.0])
    sgd.step(), adam.step()  # the sum: 2 + 0.5 · 1, and then 0.9 · 2.5 + 2 + 0.5 · 0.75
    print(p, "sum:", sgd.state[p]["momentum_buffer"], "- Adam:", w)
print(list(adam.state[w]), adam.state[w]["step"], "rate", adam.param_groups[0]["lr"])

# %% [markdown]
# Check the momentum by hand: the first sum is 2 + 0.5 · 1 = 2.5 (the decay takes part), so p goes from 1 to 0.75. The second is 0.9 · 2.5 + 2 + 0.5 · 0.75 = 4.625. In the last column, both weights of Adam have moved by nearly the same, although their gradients are 0.001 and 1000.
#
# Before the first step there was nothing in the state of SGD and Adam. That will matter when you save a training. (Adagrad, another optimizer, makes its state at once.)
#
# ## A layer takes no part in a batch: does it rest?
#
# Lesson 05 has shown it for momentum, by hand: with the gradient None a parameter rests, with the gradient zero it may move. Does the same hold for weight decay? And does *freezing* a parameter, with `requires_grad_(False)`, protect it? We make one step with the gradient 1. For the second step, the first parameter has None, the second has a zero, and the third is frozen but still has its old gradient:

# %% tags=["C10.4", "C10.5", "P13"]
for settings in ({}, {"momentum": 0.9}, {"weight_decay": 0.5}):
    none, zero, frozen = three = [torch.ones(1, requires_grad=True) for _ in range(3)]
    optimizer = torch.optim.SGD(three, lr=0.1, **settings)
    sum(three).backward()
    optimizer.step()
    none.grad, zero.grad, frozen.requires_grad = None, torch.zeros(1), False
    optimizer.step()
    print([round(p.item(), 4) for p in three], settings or "plain")

# %% [markdown]
# **Notice:** plain SGD moves only the frozen one. With momentum or weight decay the zero moves as well.
#
# `step()` asks for `.grad`, and never for `requires_grad`. A frozen parameter with an old gradient is stepped again and again. `zero_grad()` sets None, so after it all of them rest; `zero_grad(set_to_none=False)` writes zeros instead, as everybody did for years.
#
# > **The rule.** Whoever has a `.grad` is stepped. None is the only thing that stops it.
#
# ## What may you do to a gradient before the step?
#
# Anything you like. Between `backward` and `step` it is just a tensor. The most common thing is *clipping*. Now and then a single batch has a gradient a hundred times as long as usual, and one step along it can undo hours of training. `clip_grad_norm_` takes all gradients together as one long vector. If the vector is longer than allowed, it is shortened, in place, and keeps its direction.
#
# If you accumulate micro-batches (lesson 05), the gradient is complete only after the last one. Does it matter when you clip?

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
# It does. The two parts point in different directions, 3 to the right and 4 upwards. Clipped after the last, the direction is that of the sum. Clipped after each, the first part was shortened before the second came, and the result points somewhere else. (And after `step`, clipping comes too late altogether.)
#
# ## A rest
#
# You know now what happens in one round of a loop. The second half is about whole trainings: stopping, resuming, changing the model, and sharing it.
#
# ## You put back the best weights: what do you get?
#
# This is early stopping, as it stands in many projects: keep the weights of the best epoch, and put them back at the end. (Here an epoch is a single batch.) `state_dict()` gives a dictionary with every parameter by name, and `load_state_dict()` copies such values into the model.
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
# - So every later `step` wrote into the best state, too. At the end `load_state_dict` copied the weights onto themselves.
# - `copied` has a memory and a counter of its own. But it was made just now, and came too late.
#
# That was the second report from the beginning. The state must be copied at the moment when it is the best, with `copy.deepcopy(model.state_dict())`. Writing it to a file with `torch.save` is a copy, too.
#
# > **The rule.** A state dictionary is a set of names for the model's own memory. To keep it, copy it.
#
# ## What do you need to resume a training?
#
# The weights, and everything that somebody remembers from step to step. Momentum and Adam's averages stand in the optimizer, and so does the rate. `optimizer.state_dict()` has both. A scheduler has a `state_dict()` of its own, and dropout needs the state of the random numbers. If you forget the optimizer's, momentum starts again from nothing:

# %% tags=["C10.10"]
model, optimizer = fresh(lr=0.02, momentum=0.9)
train(model, optimizer)
saved = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
again, its = fresh(lr=0.02, momentum=0.9)
again.load_state_dict(saved["model"])
print("model alone:  ", train(again, its))
again.load_state_dict(saved["model"]), its.load_state_dict(saved["optimizer"])
print("both:         ", train(again, its), "- not interrupted:", train(model, optimizer))

# %% [markdown]
# With the model alone the losses are different ones, and nothing raises. With both they go on as if the training had never been interrupted. That was the third report.
#
# ## Which tensors does an optimizer hold?
#
# An optimizer is given tensors, not names. If you put in a new layer after the optimizer was made, it goes on with the old one, which no backward pass reaches any more.

# %% tags=["C10.11"]
model, optimizer = fresh()
model[1] = torch.nn.Linear(1, 1, bias=False)  # a new head, after the optimizer was made
held = {p for group in optimizer.param_groups for p in group["params"]}
print("not held:", [name for name, p in model.named_parameters() if p not in held])
train(model, optimizer)
print("writes to the new head:", model[1].weight._version - 1)  # 1: its first values
model.load_state_dict(fresh()[0].state_dict())
print("0.weight is still held:", model.double()[0].weight in held)

# %% [markdown]
# That was the first report. Make the optimizer anew, or hand over what is missing with `add_param_group`, with its own rate if you like. The same goes for a layer that was left out because it was frozen, and is unfrozen later.
#
# What only changes *values* is harmless: `load_state_dict` copies into the same parameters, and `double()` changes the type inside of the same parameters, as the last line shows.
#
# ## Does the forward pass write anything?
#
# You would not expect it, but it may. A model can have *buffers*, tensors that belong to it and that no gradient changes. Batch norm has two. In train mode it normalises each batch by the batch's own mean and variance, and moves a running average of both. In eval mode it uses those averages, so that one sample's result no longer depends on its neighbours.

# %% tags=["C10.12"]
norm, batch = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0]])  # mean 2, variance 1; 2 with n - 1
version = norm.running_mean._version
for mode in (norm.train, norm.eval):
    mode()
    with torch.no_grad():
        result = norm(batch)[1].item()
    averages = [round(average.item(), 4) for average in (norm.running_mean, norm.running_var)]
    print(f"{mode.__name__}: 3 becomes {result:.2f}", averages, "- versions +", norm.running_mean._version - version)

# %% [markdown]
# In train mode the averages moved, although the whole thing ran under `no_grad`: that switches off recording, and not training. `eval()` switches off the writing, until you call `train()` again. The last number says that these writes are not counted. So two forward passes may come before one backward.
#
# ## Two losses share some layers: when may you step?
#
# An actor and a critic, in reinforcement learning, each have a loss of their own, and share the layers below them, the *trunk*. Each has its own optimizer. Here the first optimizer is stepped as soon as it has its gradients. The two graphs share a part, so `retain_graph=True` was needed to get that far.

# %% tags=["C10.13", "P8"]
trunk, (actor, critic) = fresh()[0], fresh()[0]
first = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)
second = torch.optim.SGD(critic.parameters(), lr=0.1)
h = trunk(x)
loss_a, loss_c = mse(actor(h), t), mse(critic(h), t)
loss_a.backward(retain_graph=True)
first.step()
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss_c.backward()
explain(loss_c)

# %% [markdown]
# **Notice:** in the picture, the critic has its gradient already. The second pass came as far as the trunk, and there it found a weight that has been stepped.
#
# The rule is that of lesson 07: *first all reading, then any writing*. Either one backward for the sum of both losses, or two, and then all steps. (With a trunk of one layer nothing raises, because on plain data its weight is not saved. The next layer that you add breaks the program.)
#
# The next cell begins with the right order. Then it looks at two more traps. A *scheduler* computes a rate from a plan, large steps first and small ones later, and writes it into `optimizer.param_groups`. It touches no parameter and no graph. It wants to come after `optimizer.step()`; before it, the first rate of the plan is never used, and you are warned once. And `parameters()` is a generator: it gives each parameter once, and is empty then.

# %% tags=["C10.8", "C10.13"]
first.zero_grad(), second.zero_grad()
sum(mse(head(trunk(x)), t) for head in (actor, critic)).backward()  # all is read ...
first.step(), second.step()  # ... before anything is written
scheduler = torch.optim.lr_scheduler.StepLR(first, step_size=1, gamma=0.5)  # half the rate, each time
parameters, version = trunk.parameters(), trunk[0].weight._version
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    scheduler.step()
print("rate", first.param_groups[0]["lr"], "- version as before:", trunk[0].weight._version == version)
print(str(caught[0].message).split(". ")[0], "-", sum(p.numel() for p in parameters), "parameters")
with expect_error(ValueError, "optimizer got an empty parameter list"):
    torch.optim.SGD(parameters, lr=0.1)

# %% [markdown]
# ## Build your own engine: an optimizer
#
# In `my_engine.py`, write a class `SGD` with `zero_grad` and `step`, twelve lines in all. It is given the parameters and `lr`. `step` reads `.grad` and writes the parameters in place with recording off, and it skips a parameter whose `.grad` is None. So that programs find it where PyTorch has it, add `optim = SimpleNamespace(SGD=SGD)` (from `types`).
#
# The usual slip is `p = p - lr * p.grad`. It makes a new tensor and gives it the name `p` inside of your loop, and the model's parameter stays as it was.

# %%
L.build("10")

# %% [markdown]
# When the checkpoint says *correct*, let your engine train. The next cell runs the loop of this lesson on it: a network with eight hidden units has to tell two half-moons of 20 points each apart. The losses stand beside those of our engine and, if you have installed it, of PyTorch, and every gradient of 301 rounds is compared.

# %%
L.train()

# %% [markdown]
# Now write `import my_engine as torch` above a training loop of your own.
#
# ## Exercises
#
# They stand in the order in which they become harder; the numbers are only their names.
#
# **10.1 · Who writes what?** (5 minutes). A loop with batch norm in train mode, SGD with momentum and `StepLR(optimizer, step_size=1)` has run for some rounds. Which of `"parameters"`, `"gradients"`, `"buffers"`, `"state"` (what the optimizer remembers) and `"rates"` does each line change? A list for each letter.
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
# **10.2 · Which happens?** (8 minutes). `model, optimizer = fresh(momentum=0.9)` each time; `loss_of()` is the loss, and `step()` one whole round in the order ZBS. The comment says what was wanted. Answer with `"fine"`, `"raises now"` (in a line without backward), `"raises at backward"` or `"silently wrong"`.
#
# ```python
# # A. two steps down the slope of one loss
# loss = loss_of(); loss.backward(retain_graph=True); optimizer.step(); loss.backward()
# # B. the gradients of this loss, although the first layer has been stepped
# step(); loss = loss_of(); torch.optim.SGD(model[0].parameters(), lr=0.1).step()
# optimizer.zero_grad(); loss.backward()
# # C. afterwards the weights are as before the step
# kept = model.state_dict(); step(); model.load_state_dict(kept)
# # D. the same
# kept = {name: value.clone() for name, value in model.state_dict().items()}; step(); model.load_state_dict(kept)
# # E. both layers learn
# model[1] = torch.nn.Linear(1, 1, bias=False); step()
# # F. both layers learn, in double precision
# model.double(); x, t = x.double(), t.double(); step()
# # G. from the second line on, the last layer rests
# step()
# model[1].requires_grad_(False); optimizer.step()
# # H. both layers learn, in double precision
# optimizer = torch.optim.SGD([p.double() for p in model.parameters()], lr=0.1); step()
# ```

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("10.2", happens)

# %% [markdown]
# **10.3 · Repair the loop** (10 minutes). From a forum: "Same settings as in the paper, and it does not learn." A batch comes as a list of micro-batches of equal size, each with a backward of its own. Wanted for each batch: one step, with the gradient of the mean loss over the whole batch, which is clipped to the norm `most`, and at the rate that the scheduler has set so far; then the scheduler goes on by one. Some lines stand in the wrong place, and the gradient has the wrong length. (`mse` averages over its batch.)

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
# **10.5 · The best epoch** (8 minutes). Repair this, too: afterwards the model must be what it was when the test loss was lowest, buffers and all, and that loss comes back as a number. `train_epoch(model)` takes some steps, `test_loss(model)` returns a tensor; both run the model in the mode in which they find it. Each epoch trains on from the one before, and wants train mode; testing wants eval mode and no graph, and must change nothing.

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
# **10.6 · Diagnose** (6 minutes). Eight reports. Choose the cure of each: `"copy the state"`, `"load the optimizer's state"`, `"hand over the new parameters"`, `"all backwards before any step"`, `"zero_grad() with None"`, `"once an epoch"`, `"train()"`, `"eval()"`. Each cures one.
#
# - A "I gave a pretrained network a new last layer. It stays at the level of guessing, although the other layers change."
# - B "Since I resume from checkpoints, the loss jumps up after each restart and recovers within a few hundred steps. The weights are identical, I compared."
# - C "An in-place error: is at version 7, expected version 6. Only since the critic, which shares the encoder, has an optimizer of its own."
# - D "The encoder takes part in every second batch only. Its weights change in the other batches as well; I print its gradients, and they are all zero."
# - E "After fifty batches nothing moves any more. The schedule of the paper divides the rate by ten every ten epochs."
# - F "The prediction for one and the same picture depends on which other pictures I send with it."
# - G "After the first validation the network overfits: dropout seems to be gone."
# - H "I stop early and put back the state with the best validation loss. The score is that of the last epoch."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("10.6", cures)

# %% [markdown]
# **10.4 · Write Adam** (10 minutes, optional). With g the gradient, m, s and n (average, average of squares, count of steps) begin at 0, and a step is: n ← n + 1; m ← b₁ m + (1 − b₁) g; s ← b₂ s + (1 − b₂) g²; then p ← p − lr · (m / (1 − b₁ⁿ)) / (√(s / (1 − b₂ⁿ)) + eps). The divisors make up for the start at 0. Write one step for all `params`, in place. `state` is a dictionary, empty at first, that you get back each time: under each parameter that has been stepped it holds a dictionary with `"step"`, `"exp_avg"` and `"exp_avg_sq"`. A parameter without gradient is skipped, and `.grad` is only read.

# %%
def adam(torch, params, state, lr, b1, b2, eps):
    ...


L.check("10.4", adam)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`tests/claims/test_claims_10.py`).
#
# *One round*
#
# - **C10.6** With no gradients at first, zero_grad, backward, step after the forward pass trains, and so does backward, step, zero_grad; three of the other orders never move a parameter, and step, zero_grad, backward raises in the second round if backward reads a parameter that was stepped.
# - **C10.1** `step()` reads `.grad` and writes the parameters in place under no_grad: the same tensors afterwards, without a node, and, unless made with `fused=True`, with a higher version.
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
# *A whole training*
#
# - **C10.9** `state_dict()` hands out the model's own memory: a best state that was not copied changes with every step.
# - **C10.10** With the states of model and optimizer, training that needs nothing else (no scheduler, no random numbers) goes on to the last digit as if never interrupted; without the optimizer's, momentum starts again, and nothing raises.
# - **C10.11** An optimizer steps the tensors it was given: a layer that is put in later does not learn, and nothing raises; `load_state_dict` and `model.double()` keep the parameters the same objects.
# - **C10.12** In train mode the forward pass of batch norm writes its running averages, under no_grad too, and their versions stay; in eval mode it writes nothing.
#
# **What PyTorch does differently.** Its optimizers can be made with `fused=True`: one call writes all parameters, and in PyTorch 2.13 this write is not counted. With such an optimizer the order SZB raises nothing, and the gradient of the first weight is −5.6 where −4 is right; a test of this lesson shows it. Our engine refuses the setting. And `AdamW` writes twice in a step, for the decay and for the step itself, and counts two.
#
# **One more trap.** A model's `load_state_dict` copies. An optimizer's takes over the very tensors of the state that you give it, so going on with the training changes that state. Load a `copy.deepcopy` of it if you need it again.
#
# **Left out.** Closures for `step`, and the optimizers that need them (LBFGS). GPUs: PyTorch's documentation advises to move a model before its optimizer is made. 16-bit training: `GradScaler` multiplies the loss before backward and divides the gradients before the step; clipping comes after the division.
#
# **Read on in our engine:** `course_lib/optim/algorithms.py`, one class for each optimizer.
#
# **Next:** in [lesson 11](11_custom_functions.ipynb) you write operations of your own, with a backward that you choose.
