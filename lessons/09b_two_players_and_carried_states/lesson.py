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
# # 09b · Two players and carried states: where does the detach go?
#
# **You build a GAN: one network makes fakes, and another one judges them. The first version stops with the version error. A forum answers: "detach the fake". You do, and the error is gone. The script runs overnight. In the morning the judge is excellent, and the network that makes fakes has not moved by a single digit.**
#
# `detach` in the right place is how such networks are trained, and so are recurrent ones, which carry a state from step to step. In the wrong place, it silences an error and the learning with it. This part is about the place.
#
# After this lesson you can
#
# - train a recurrent network step by step, or in windows of steps;
# - say what has to be detached between two backward passes, and what must not;
# - train two networks against each other without silencing one.
#
# **Minutes** 65 · **Needs** lessons 05 to 09. No later lesson needs this part. · **Out of scope** optimizer classes (lesson 10), `nn.LSTM` over whole sequences
#
# [← 09 The ways out](09_ways_out.ipynb) · [all lessons](home.ipynb) · [10 A training loop →](10_training_loop.ipynb)

# %%
import course_lib as torch
from backscope import draw, step
from coursekit import expect_error, lesson

L = lesson("09b")

# %% [markdown]
# Here is the story with networks of one number each: `g` makes the fake, and `d` scores it. `d` wants a low score for a fake and a high one for what is real, which is the number 10 here. `g` wants a high score for its fake.


# %%
def play(make):
    g, d = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    move_g, move_d = torch.optim.SGD([g], lr=0.01), torch.optim.SGD([d], lr=0.01)
    for turn in range(3):
        score = d * make(g)
        (score - d * 10).backward(retain_graph=True)  # the loss of d
        move_d.step()
        (-score).backward()  # the loss of g
        move_g.step()
        move_g.zero_grad()
        move_d.zero_grad()
        print(f"turn {turn}: g is {g.item():.2f}, and d is {d.item():.2f}")


L.run(play, lambda g: g * 5)
L.run(play, lambda g: (g * 5).detach())

# %% [markdown]
# The first version stops. The second one runs, and `g` stays at 1. The last section explains both and repairs the game. We begin with a simpler case: a single network, whose next step computes with the result of the last one.
#
# ## A recurrent network learns at every step: where does it raise?
#
# A *recurrent network* reads a sequence one element at a time and carries a state, here `h`, from step to step. This one learns at each step:


# %%
def recurrent():
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    for number in range(3):
        h = torch.tanh(w * h)
        loss = (h - 1) ** 2
        loss.backward()
        print("step", number, "w.grad", w.grad)


# %% [markdown]
# **Predict.** In which step does the backward pass raise: 0, 1 or 2? Or `"never"`?

# %%
L.predict("09b.p1", None)

# %% tags=["C09b.1", "P7"]
L.run(recurrent, after="09b.p1")

# %% [markdown] tags=["tells"]
# Step 0 is fine, and the pass of step 1 finds slots that are empty.

# %% [markdown]
# ## How far back does the graph of one step reach?
#
# Every step computes a loss of its own, from the state of the step before. Here we do step 0 with its backward pass, and step 1 without. Then we look at the graph on which the next pass would begin.

# %%
w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
h = torch.tanh(w * h)
((h - 1) ** 2).backward()
loss = (torch.tanh(w * h) - 1) ** 2
draw(loss, h, parts={"step 0": (1, 2), "step 1": (3, 6)})

# %% [markdown]
# **Notice:**
#
# - The graph of step 1 does not end at `h`. Through `h` it reaches back into the graph of step 0.
# - There the slots say FREED. The backward pass of step 0 released what its nodes had saved.
#
# Here is the pass as it goes from node 3 in step 1 to node 2 in step 0:

# %% tags=["C09b.1", "P7"]
step(loss).part(4, 5)

# %% [markdown]
# The pass of step 1 walks into the graph of step 0 and finds it empty. That is the error "Trying to backward through the graph a second time".
#
# ## How do you carry a state without its graph?
#
# What you *mean* is that the state, by now, is just a number. So take it out of the graph between two steps, with `detach()`:

# %% tags=["C09b.1", "P7"]
w.grad, state = None, h.detach()
loss = (torch.tanh(w * state) - 1) ** 2
cut = draw(h, loss, parts={"step 0": (1, 2), "step 1": (3, 6)})
loss.backward()
print("with detach, this step's gradient alone:", w.grad)
cut

# %% [markdown]
# **Notice:** no arrow leads from node 3 to node 2 any more. `state` lies in the memory of `h` and has no history, so gradients stop there, and each step learns from its own loss alone.
#
# This is called **truncated backpropagation through time**, TBPTT for short. Usually one does not cut after each step, but after a *window* of 20 or 50. Then the losses of a window are added up, one pass runs through all of its steps, and the state is detached once. Here are windows of two steps:

# %% tags=["C09b.1", "P7"]
w.grad, h, window = None, torch.tensor(1.0), 0.0
for number in range(4):
    h = torch.tanh(w * h)
    window = window + (h - 1) ** 2
    if number % 2 == 1:  # the window is full
        window.backward()
        h, window = h.detach(), 0.0
        print("after step", number, "w.grad is", w.grad)

# %% [markdown]
# Two other ways are often taken, and both are worse. The first is to do nothing, as long as nothing raises. Nothing raises if no node has saved anything, as in a sum. Then the passes run through all earlier steps again, without a word:

# %% tags=["C09b.1", "P7"]
a, total = torch.tensor(1.0, requires_grad=True), 0.0
for _ in range(3):
    total = total + a
    total.backward()
print("three steps of a sum, attached:", a.grad)

# %% [markdown]
# **Notice:** the gradient of each step alone is 1, so three steps should add up to 3. But the pass of step k runs through k additions, so the earlier steps are counted again, and `a.grad` is 1 + 2 + 3.
#
# The other cure is `retain_graph=True`. It silences the error, but every pass walks through all earlier steps, and memory grows, as you saw in lesson 06. As soon as `w` learns between the steps, there is another error:

# %% tags=["C09b.1", "P7"]
w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
with expect_error(RuntimeError, "has been modified by an inplace operation", short=True):
    for number in range(3):
        h = torch.tanh(w * h)
        print("backward of step", number)
        ((h - 1) ** 2).backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad

# %% [markdown]
# Step 2 walks back into step 1, which saved `w` at version 1, and `w` is at version 2 by now. (Why did step 1 not fail like that? In step 0 `h` was a constant. So the product there saved `h`, and not `w`.)
#
# > **The rule.** Detach the state that one pass hands to the next one. Otherwise the next pass walks back into the graph of the earlier one.
#
# ### Exercise: carry the state
#
# **09b.1 · Carry the state** (5 minutes). Repair the loop with one call: each step learns from its own loss,
# and the state arrives from the step before as a number. Return the last state.


# %%
def train(torch, w, inputs):
    h = torch.zeros(1)
    for x in inputs:
        h = torch.tanh(w * h + x)
        (h * h).sum().backward()
    return h


L.check("09b.1", train)

# %% [markdown]
# ## Two states are carried on: how many must be detached?
#
# An **LSTM** (*long short-term memory*) is a recurrent cell with two states. The *hidden state* `h` is what the cell shows to others at each step. The *cell state* `c` is its memory. One step takes an input and the pair of states, and returns the new pair. The new `c` is made of the old `c`, the old `h` and the input. The new `h` is made of the new `c`, the old `h` and the input:

# %% tags=["C09b.3"]
torch.manual_seed(0)
cell = torch.nn.LSTMCell(3, 4)  # 3 numbers come in, and each state has 4
x = torch.randn(2, 3)  # a batch of two samples, one step of each
h, c = cell(x)  # without states, both begin as zeros
h, c = cell(x, (h, c))
print("input", tuple(x.shape), " h", tuple(h.shape), " c", tuple(c.shape))

# %% [markdown]
# Both states have one row for each sample. Now such a cell is trained step by step, like the plain one above. `cut` says what is handed on:


# %%
def two_steps(cut):
    for p in cell.parameters():
        p.grad = None
    h, c = torch.zeros(2, 4), torch.zeros(2, 4)
    for x in (torch.ones(2, 3), torch.ones(2, 3)):
        h, c = cell(x, (h, c))
        (h * h).sum().backward()
        h, c = cut(h, c)
    print("both steps are done")


cuts = {
    "A": lambda h, c: (h.detach(), c),
    "B": lambda h, c: (h, c.detach()),
    "C": lambda h, c: (h.detach(), c.detach()),
}

# %% [markdown]
# **Predict.** Which of A, B and C run? Answer with a list of three, each `"runs"` or `"error"`.

# %%
L.predict("09b.p2", None)

# %% tags=["C09b.2"]
for name in cuts:
    L.run(two_steps, cuts[name], after="09b.p2")

# %% [markdown] tags=["tells"]
# Only C gets to its end. Each of the two states leads back into the step before. If one of them is still attached, the next pass walks along it, and finds empty slots. So truncated backpropagation through time cuts *everything* that is carried on.
#
# > **The rule.** Detach every tensor that crosses the border between two windows, and carry on its value.

# %% [markdown]
# ### Exercise: two states, in windows
#
# **09b.2 · Two states, in windows** (10 minutes). Train an LSTM cell with truncated backpropagation through time. `inputs` has the shape (time, batch, features). The states begin as zeros. The loss of a step is `(h * h).sum()`. After every `window` steps there is one backward pass for the sum of their losses. It reaches through the whole window and no further, and the values of both states go on into the next one. If the sequence ends in the middle of a window, the shorter one is trained on, too. Return the last pair `(h, c)`, without a history. This version raises; leave clearing of gradients to the caller.


# %%
def train_in_windows(torch, cell, inputs, window):
    h = c = torch.zeros(inputs.shape[1], cell.hidden_size)
    loss = 0.0
    for number, x in enumerate(inputs):
        h, c = cell(x, (h, c))
        loss = loss + (h * h).sum()
        if number % window == 0:
            loss.backward()
            h, loss = h.detach(), 0.0
    return h, c


L.check("09b.2", train_in_windows)

# %% [markdown]
# ## Two players: where does the `detach` go?
#
# Now to the story. In an *adversarial* game (a GAN, *generative adversarial network*), `g` is the **generator** and `d` the **discriminator**. The loss of the discriminator is `d * fake - d * real`. The loss of the generator is `-(d * fake)`. Usually the discriminator moves first.
#
# Why did the first version stop? The generator used a score from before the discriminator's step. The score had saved `d`, and the step has overwritten `d`:

# %% tags=["P9"]
g, d = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
fake = g * 5
score = d * fake
with torch.no_grad():
    d -= 1.0  # stands for the discriminator's backward pass and step
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    (-score).backward()

# %% [markdown]
# Two repairs are often suggested: score the *detached* fake before the step, as the forum said, or score the *attached* fake once more, after the step. Here are both losses, and their graphs:

# %% tags=["P9"]
d = torch.tensor(3.0, requires_grad=True)
fake = g * 5
constant = fake.detach()
before_step = -(d * constant)
with torch.no_grad():
    d -= 1.0
after_step = -(d * fake)
draw(before_step, after_step, detail=0, parts={"before the step": (2, 3), "after the step": (4, 5)})

# %% [markdown]
# **Notice:** a path to `g` begins at `after_step`: from node 5 to 4, to 1, to `g`. From `before_step` there is only the path to `d`, because `constant` has no history.

# %% tags=["C09b.4", "P9"]
for name, loss in {"before_step": before_step, "after_step": after_step}.items():
    g.grad = d.grad = None
    loss.backward()
    print(f"{name:11} g gets {g.grad}, and d gets {d.grad}")

g.grad = None
move_g = torch.optim.SGD([g], lr=0.01)
move_g.step()
print("an optimizer that finds None leaves g at", g.item())

# %% [markdown]
# With the fake detached, the error is gone, and so is the learning: `g` gets no gradient, and `step()` skips a parameter whose `.grad` is `None`. If you score again after the step, the loss is about the `d` that exists now, and the path to `g` is open. So the *generator's* loss never detaches the fake. Is there a loss in this game that must not reach `g`? The exercise asks you.
#
# In both cases `d` gets a gradient of −5, too. It comes from the generator's loss, and is not meant for `d`. So clear it before the discriminator's next pass. (`before_step` was scored by the old `d`, and does not raise: with a constant fake, its product saved only the fake.)
#
# > **The rule.** An error about a stale tensor says that a computation is out of date. Compute it again. A `detach` that only silences the error often ends the learning as well.
#
# ### Exercise: two players
#
# **09b.3 · Two players** (10 minutes). The discriminator `d` lowers `d * fake - d * real` first; then the
# generator `g`, whose fake is `g * z`, lowers `-(d * fake)` as scored by the *new* `d`. Each player moves
# by a counted in-place write of `-lr` times the gradient of its own loss and of nothing else, also when
# `play` is called again and again. At the first call, `g` and `d` have no `.grad`. This version raises; do not only silence it.


# %%
def play(torch, g, d, z, real, lr):
    fake = g * z
    score = d * fake
    (score - d * real).backward()
    with torch.no_grad():
        d -= lr * d.grad
    (-score).backward()
    with torch.no_grad():
        g -= lr * g.grad
    g.grad = d.grad = None


L.check("09b.3", play)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C09b.1** If a state that an earlier backward pass has used is carried on attached, the next pass walks on into the earlier graph: it raises where slots were freed, and where there are none it counts the earlier steps again.
# - **C09b.2** Both states of an LSTM must be detached between two passes: with one of them attached, the next pass walks into the earlier graph.
# - **C09b.3** An LSTM cell takes an input of shape (batch, input size) and a pair of states of shape (batch, state size), and returns the new pair.
# - **C09b.4** In a GAN, a generator's loss that is computed from a detached fake gives the generator no gradient, and `optimizer.step()` leaves it where it is without an error.
#
# **Left out:** cutting at another place than the end of a window; GANs that are trained with a gradient penalty (lesson 13).
#
# **Next:** [lesson 10](10_training_loop.ipynb) is a training loop: which of its lines reads, which of them writes, and in which order.
