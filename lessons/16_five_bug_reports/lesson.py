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
# # 16 · Five bug reports: is the bug cured, or only quiet?
#
# **Your training stops with an error, and the error is polite: it tells you what to write instead. You write it. The error is gone, the loss falls, and you go on with your work. Weeks later somebody asks why your network does no better than its last layer could do alone. You look, and find that not one weight of the first half has moved since the day on which you followed the advice.**
#
# An error message stops you once. A wrong repair costs you every day after it, because nothing will ever tell you about it again. In forums, the answer that makes the error go away is the one that gets the thanks. Here are bug reports, rebuilt from what people have posted again and again: a program, a symptom, and some answers. Two are in this lesson. The third is in part [16b](16b_a_carried_state.ipynb), and two that raise no error at all are in part [16c](16c_nothing_is_raised.ipynb).
#
# After this lesson you can
#
# - ask three questions about a repair, of which "is the error gone?" is only the first;
# - say of the usual answers to two well-known errors what each of them really does;
# - write a test that notices a network of which a part does not learn;
# - go from a symptom to its cause: which instrument answers which question.
#
# **Minutes** 78 · **Needs** lessons 02 and 05 to 10 · **Out of scope** speed, several machines (lesson 17)
#
# [← 15 Reading PyTorch](15_reading_pytorch.ipynb) · [all lessons](home.ipynb) · [16b A carried state →](16b_a_carried_state.ipynb) · [17 Two machines →](17_two_machines.ipynb)

# %%
import course_lib as torch
import math

import numpy as np

from backscope import draw, explain, watch
from coursekit import lesson

L = lesson(16)
nn, F = torch.nn, torch.nn.functional

# %% [markdown]
# Here is the story, made small. An *encoder* makes six features of each sample. The features are sorted, so that their order does not matter, and a *head* makes the answer of them. There was a function for sorting at hand, from NumPy. `L.stage.train` makes both parts, trains them, and prints the first loss and the last.


# %%
def sort_posted(h):
    return torch.from_numpy(np.sort(h.numpy(), axis=1))


def sort_advised(h):  # as the error message says
    return torch.from_numpy(np.sort(h.detach().numpy(), axis=1))


L.run(L.stage.train, torch, sort_posted)
L.run(L.stage.train, torch, sort_advised)

# %% [markdown]
# From 3.34 to 0.40: that looks like learning. Is it all there is to learn?
#
# ## What does a cure have to prove?
#
# Three things, in this order.
#
# 1. **Is the error gone?** Whatever symptom was reported has to be gone.
# 2. **Is the gradient right?** What backward says has to be the slope that you would measure if you moved the weights a little.
# 3. **Does everything learn that should learn, and rest that should rest?**
#
# The first question is answered by running the program. For the third, copy the parameters before some steps, and see which have moved:


# %%
def copies(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def moved(model, before):
    """The names of the parameters that are not as they were."""
    return [name for name, p in model.named_parameters() if (p - before[name]).abs().max().item() > 1e-6]


# %% [markdown]
# For the second there is `slopes(torch, loss_of, parameters)`. It moves all parameters a tiny bit in a random direction, forwards and backwards, and measures how the loss changes. That is a slope. The gradients say what it should be: multiply each by its direction, and add up. A parameter without a gradient adds nothing. So there are two numbers, and if they differ, a gradient is wrong or missing.
#
# What is missing may happen to be small in one direction, so `slopes` tries eight and compares them together. A difference of less than three percent counts as the same, because a measured slope is not exact. (It is 30 lines, in `lessons/three_questions.py`. Copy them into any project.)
#
# Does it work at scale? Here is a network of half a million parameters whose first half is cut off by a `detach`, or not:

# %% tags=["C16.5"]
L.run(L.stage.at_scale, torch)

# %% [markdown]
# The more parameters there are, the smaller is the slope in a random direction, while the rounding of the loss stays what it is. Where a slope does not stand out, `slopes` says *too small to tell*. Use float64 then, or fewer parameters.
#
# Now ask the second and the third question about the advice of the error message:

# %% tags=["C16.1"]
L.run(L.stage.asked, torch, sort_advised)
encoder, head, x, target = L.stage.two_parts(torch)
features = sort_advised(encoder(x))
loss = ((head(features) - target) ** 2).mean()
draw(nn.ModuleDict({"encoder": encoder, "head": head}), loss)

# %% [markdown]
# **Notice:** both questions give it away, and so does the picture. The head was given `features`, a grey box: it has no history and requires no gradient. Nothing leads from there to the encoder, and the line above the picture names its parameters.
#
# What would be a cure? NumPy may say *where* each number belongs, because places are whole numbers, and those have no slope. Fetching the numbers from these places has to be PyTorch's business. `gather` does that, and it leaves a node.


# %% tags=["C16.1"]
def sort_cured(h):
    places = torch.from_numpy(np.argsort(h.detach().numpy(), axis=1))
    return h.gather(1, places)


L.run(L.stage.asked, torch, sort_cured)
L.run(L.stage.head_alone, torch, sort_advised)
L.run(L.stage.losses, torch, {"as advised": sort_advised, "cured": sort_cured})

# %% [markdown]
# **Notice:** the advised program was on its way to 0.27. More training would not have helped it: with features that never change, no head does better. The cured program goes to 0.01.
#
# > **The rule.** A repair is a cure if the symptom is gone, and the gradient is the measured slope, and what should learn learns. The first alone proves nothing.
#
# Now to the reports. Each time you look at the program with an instrument, and write your cure. Then you say what the answers from the thread are worth, before you see it.
#
# ## Report 1: why does a detector refuse its initial biases?
#
# *(about lessons 07, 08 and 10)*
#
# > **"Crashes before the first step."** We take a trained detector, put in new classes, and initialise the biases of its head again: most places in an image are empty, so "there is an object" should begin at 2 percent and not at 50. The line with `+=` raises. I found it in a repository with thousands of stars, so it must be right.
#
# A *detector* says for many cells of an image, and for several boxes per cell (*anchors*), whether there is an object and of which class. Each anchor has four numbers for the box, one for "there is an object" (number 4), and one for each class. All of them are outputs of one layer, the head, so their biases lie in one long vector. The program looks at it as a table, one row for each anchor.
#
# `L.stage.fine_tune(torch, start)` makes the model, and then the optimizer, which is given all parameters of the model. Then it calls `start(head, anchors)`. Then it trains, 60 steps.


# %%
def start_biases(head, anchors):
    b = head.bias.view(anchors, -1)  # a row for each anchor
    b[:, 4] += math.log(0.02 / 0.98)  # there is an object: 2 percent
    b[:, 5:] += math.log(0.5 / 1.5)  # which class


L.run(L.stage.fine_tune, torch, start_biases)

# %% [markdown]
# The message has two facts: somebody writes to a view, and the view belongs to a leaf. Which view, and which leaf? `draw` shows who shares whose memory.

# %%
torch.manual_seed(0)
head = nn.Linear(2, 14)
bias, rows = head.bias, head.bias.view(2, -1)
draw(rows)

# %% [markdown]
# **Notice:** `bias` and `rows` stand in one dashed outline: one memory, one counter. `bias` is a leaf that requires a gradient, and `rows` has a history already, a single node.
#
# So the write would go into the memory of a leaf, while recording is on. Lesson 08 says why that is refused: after it the leaf would be the *result* of a computation, and nothing could store a gradient in it any more. But a start value is not part of the computation that is to be differentiated.
#
# ### Exercise: start the biases
#
# **16.1 · Start the biases** (8 minutes). Repair `start_biases` for the report. It gets a linear layer `head`, and the probability `there` for "there is an object". As in the report, the optimizer has been made *before* it is called. Afterwards number 4 of each row has risen by `math.log(there / (1 - there))`, the numbers from 5 on by `math.log(0.5 / 1.5)`, and training goes on with the same optimizer.


# %%
def start_again(torch, head, anchors, there):
    b = head.bias.view(anchors, -1)
    b[:, 4] += math.log(there / (1 - there))
    b[:, 5:] += math.log(0.5 / 1.5)


L.check("16.1", start_again)

# %% [markdown]
# ### What are the answers of the thread worth?
#
# There were four, each with some thanks below it:
#
# 1. "The view is the problem, so work on a copy of it."
# 2. "Make the view without gradients, and leave the other two lines as they are."
# 3. "Compute the new numbers, and make a new parameter of them."
# 4. "Put all three lines under `no_grad`."


# %%
def answer_1(head, anchors):
    b = head.bias.view(anchors, -1).clone()
    b[:, 4] += math.log(0.02 / 0.98)
    b[:, 5:] += math.log(0.5 / 1.5)


def answer_2(head, anchors):
    with torch.no_grad():
        b = head.bias.view(anchors, -1)
    b[:, 4] += math.log(0.02 / 0.98)
    b[:, 5:] += math.log(0.5 / 1.5)


def answer_3(head, anchors):
    b = head.bias.detach().clone().view(anchors, -1)
    b[:, 4] += math.log(0.02 / 0.98)
    b[:, 5:] += math.log(0.5 / 1.5)
    head.bias = nn.Parameter(b.view(-1))


def answer_4(head, anchors):
    with torch.no_grad():
        start_biases(head, anchors)


# %% [markdown]
# **Predict.** What does each answer do in `fine_tune`: `"raises"`, `"silent"` (no error, but something that should happen does not), or `"cured"`? Answer with a list of four words. (Two facts matter: when the optimizer was made, and what it was given.)

# %%
L.predict("16.p1", None)

# %% tags=["C16.2", "P3", "P4"]
L.run(L.stage.fine_tune, torch, answer_1, after="16.p1")
L.run(L.stage.fine_tune, torch, answer_2, after="16.p1")
L.run(L.stage.fine_tune, torch, answer_3, after="16.p1")
L.run(L.stage.fine_tune, torch, answer_4, after="16.p1")

# %% [markdown] tags=["tells"]
# **Notice:** the three that run all end with a small loss, and the smallest is that of answer 1, which did nothing. So look at the other numbers.
#
# 1. The copy has memory of its own. The bias began at −0.03, and the first loss is three times as large as it should be. Training had to find what the start should have given, and with these few steps it has.
# 2. Another error. The view was made with recording off, and the write comes with recording on. PyTorch refuses to guess which of the two you mean (lesson 08).
# 3. The bias began at the right place, and then moved by 0.00. The optimizer still holds the *old* parameter, which no loss depends on any more. The model has a new one, which no optimizer updates. (If the optimizer is made afterwards, the answer is right. So it cures some programs, and not this one.)
# 4. This writes into the memory of the one parameter that model and optimizer share. It starts, and it learns.
#
# The second question would have found neither 1 nor 3: their gradients are right. So each of the three questions is needed.
#
# > **The rule.** To set a parameter, write into it under `no_grad`. A copy is another tensor, and a new parameter is unknown to an optimizer that exists already.

# %% [markdown]
# ## Report 2: why does the second player of a GAN fail?
#
# *(about lessons 07 and 09)*
#
# > **"Worked with 1.4."** My first GAN, after a tutorial. Since I have the new version, the generator's `backward()` says that something was modified by an in-place operation. I do not use in-place operations! I have removed every `+=` and `inplace=True`. Anomaly mode points at a line of the discriminator, which is the plainest network there is. `retain_graph=True` is there because somebody told me so.
#
# A *GAN* is a game of two networks. The generator `G` makes fakes of random numbers. The discriminator `D` gives each sample a score: high for real ones, low for fakes. `D` learns to tell them apart, and `G` learns to make fakes that get a high score. Here the real samples are numbers around 3, so the fakes should end up there, too. This is a round of the game, as posted:


# %%
def high(scores):  # small if all scores are high
    return F.binary_cross_entropy_with_logits(scores, torch.ones(len(scores), 1))


def low(scores):
    return F.binary_cross_entropy_with_logits(scores, torch.zeros(len(scores), 1))


def turn(optimizer, loss, **options):
    optimizer.zero_grad()
    loss.backward(**options)
    optimizer.step()


def round_posted(G, D, optimizer_G, optimizer_D, z, real):
    score = D(G(z))
    loss_D = high(D(real)) + low(score)
    loss_G = high(score)
    turn(optimizer_D, loss_D, retain_graph=True)
    turn(optimizer_G, loss_G)


L.run(L.stage.one_round, torch, round_posted, high, low)

# %% [markdown]
# Somebody wrote into a tensor that a node had saved. (*AsStrided* is no call of yours: it stands for the transposed weight of a linear layer, lesson 08.) The author has looked for the write in the text of the program. An instrument does not look at the text, but at what happens. `watch` keeps a log, and of this log we want the writes and what was refused.

# %%
G, D = L.stage.players(torch)
optimizer_G, optimizer_D = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
with watch(names={"D.0.weight": D[0].weight, "D.2.weight": D[2].weight}) as log:
    try:
        round_posted(G, D, optimizer_G, optimizer_D, *L.stage.sample(torch))
    except RuntimeError:
        pass  # that it raises is known
log.only("version", "refused")

# %% [markdown]
# **Notice:** there are in-place operations after all. All of them are in one line of the program, `optimizer.step()`, in the turn of `D`. A step writes into each parameter (lesson 10). Before it, in the forward pass, `score` had saved a weight of `D`. The pass of `loss_G` came after the step, and wanted to read the weight as it had been.
#
# That also explains "worked with 1.4". Up to then, optimizers wrote through `.data`, and such a write is not counted (lesson 09). What did the generator learn in those days? Let `D` step like that, and compare the gradient of `G` with those that the old `D` and the new `D` would give:

# %%
L.run(L.stage.as_in_1_4, torch, high, low)

# %% [markdown]
# It is neither: activations of the old `D` were combined with weights of the new one. The update has not broken the program. It has found the bug.
#
# ### Exercise: a fair game
#
# **16.2 · A fair game** (12 minutes). Repair the round. Each player makes one step of its own optimizer, with the gradient of its own loss: `D` for `high(D(real)) + low(D(fake))`, `G` for `high(D(fake))`. The score in a loss may come from the other player before or after its step, as long as the gradient belongs to that score.


# %%
def play(torch, G, D, optimizer_G, optimizer_D, z, real, high, low):
    fake = G(z)
    score = D(fake)
    loss_D = high(D(real)) + low(score)
    loss_G = high(score)
    optimizer_D.zero_grad()
    loss_D.backward(retain_graph=True)
    optimizer_D.step()
    optimizer_G.zero_grad()
    loss_G.backward()
    optimizer_G.step()


L.check("16.2", play)

# %% [markdown]
# ### And the answers of this thread?
#
# 1. "Detach the fake, and let `D` score it once for each loss, just before its pass."
# 2. "Do both `backward()` first, and both `step()` afterwards."
# 3. "Detach the fake for the discriminator only, and let the discriminator score the fake again after its step."
# 4. "Swap the players, so that the discriminator moves last."


# %%
def round_1(G, D, optimizer_G, optimizer_D, z, real):
    fake = G(z).detach()
    turn(optimizer_D, high(D(real)) + low(D(fake)))
    turn(optimizer_G, high(D(fake)))


def round_2(G, D, optimizer_G, optimizer_D, z, real):
    score = D(G(z))
    optimizer_D.zero_grad()
    (high(D(real)) + low(score)).backward(retain_graph=True)
    optimizer_G.zero_grad()
    high(score).backward()
    optimizer_D.step()
    optimizer_G.step()


def round_3(G, D, optimizer_G, optimizer_D, z, real):
    fake = G(z)
    turn(optimizer_D, high(D(real)) + low(D(fake.detach())))
    turn(optimizer_G, high(D(fake)))


def round_4(G, D, optimizer_G, optimizer_D, z, real):
    score = D(G(z))
    loss_D, loss_G = high(D(real)) + low(score), high(score)
    turn(optimizer_G, loss_G, retain_graph=True)
    turn(optimizer_D, loss_D)


# %% [markdown]
# **Predict.** `"raises"`, `"silent"` or `"cured"`? A list of four words. (Silent is also a player that moves, but by something else than the gradient of its own loss.)

# %%
L.predict("16.p2", None)

# %% tags=["C16.3", "C16.4", "P9"]
L.run(L.stage.one_round, torch, round_1, high, low, after="16.p2")
L.run(L.stage.one_round, torch, round_2, high, low, after="16.p2")
L.run(L.stage.one_round, torch, round_3, high, low, after="16.p2")
L.run(L.stage.one_round, torch, round_4, high, low, after="16.p2")
rounds = {"1": round_1, "2": round_2, "3": round_3, "4": round_4}
L.run(L.stage.means_of_fakes, torch, rounds, after="16.p2")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# 1. This is quiet, and the generator has not moved at all. The `detach` was put into *both* branches.
# 2. This is the most dangerous one. There is no error, and the fakes go to 3 as they should. But the pass of the generator's loss runs through `D`, too, and leaves its gradient in the `.grad` of `D`. So `D` steps by the sum of both losses, and one of them wants a discriminator that believes in fakes. No curve shows it here. The second question does.
# 3. This does what it should: a new score after the step, and the loss of `D` kept away from `G`.
# 4. The same error with the names exchanged. Now `G` has moved, and the pass of `D`'s loss runs through `G`, although it has no business there.

# %% [markdown]
# Here are the two graphs of answer 3, for players that have one weight each. The loss of `D` is given `constant`, the detached fake, and that of `G` the fake itself.

# %%
g, d = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
fake = g * 5
constant = fake.detach().clone()  # a copy, so that the picture gives it a memory of its own
loss_D = d * constant  # low scores for the fake
loss_G = -(d * fake)  # high ones
L.run(lambda: draw(loss_D, loss_G, detail=0), after="16.p2")

# %% [markdown] tags=["tells"]
# **Notice:** node 2 read `constant`, a grey box, and there the way ends. Both passes reach `d`; only that of `loss_G` reaches `g`. That is how it has to be: `loss_G` *must* go through the discriminator to reach the generator. What it leaves in `.grad` of the discriminator on its way is thrown away by the `zero_grad` of the next round.
#
# > **The rule.** Each loss for its own player: cut the fakes off where only `D` learns, score them again where `G` learns, and clear what a pass leaves with the other player.

# %% [markdown]
# ## How would you have noticed?
#
# This is what finds each of the silent answers, as you have seen it run:
#
# | the silent answer | the loss | 2. is the gradient the slope? | 3. does the right thing move? |
# | --- | --- | --- | --- |
# | `detach().numpy()` as advised | falls | **no** | **no**: the encoder rests |
# | report 1, a copy of the bias | falls | yes | **no**: the start is missing |
# | report 1, a new parameter | falls | yes | **no**: the bias rests |
# | report 2, both fakes detached | (fakes stay near 0) | **no**: `G` has none | **no**: `G` rests |
# | report 2, both passes first | (fakes go to 3) | **no**: `D`'s is off | yes |
#
# No single column finds all of them, so a test needs more than one. The third question is the cheapest: it needs no second pass, only parameters from before and after. (`.grad` alone would not do: part 16c has a head that moves with a gradient of zero.)
#
# ### Exercise: the test that would have caught it
#
# **16.3 · The test that would have caught it** (10 minutes). Write a test that asks the third question. `model` is a module, `step()` makes one training step of it, and `rests` is a set of names of parameters that should not move. Make five steps, and return the sorted list of the names of all parameters that break the rule: they should learn and have not moved, or should rest and have moved. (Count everything as moved that has changed by more than 0.000001 anywhere. An error in `step` is the caller's business.)


# %%
def audit(torch, model, step, rests):
    step()
    return sorted(name for name, p in model.named_parameters() if p.grad is None)


L.check("16.3", audit)

# %% [markdown]
# ## Which instrument answers which question?
#
# | you have | ask | with |
# | --- | --- | --- |
# | an error message | what does it say, and what are its false cures? | `explain()` |
# | "modified by an inplace operation" | who wrote, and when? | `watch()`, `log.only("version", "refused")` |
# | "a second time" | how far back does this pass go? | `draw(loss)`, `step(loss)` |
# | a part that does not learn | where does the graph end? | `draw(model, loss)` |
# | memory that grows | is it in slots, or who else holds it? | `ledger()`, weak references |
# | a gradient that you do not trust | is it the measured slope? | `slopes` |
# | a repair that you do not trust | who has moved? | `moved` |
#
# `explain` has not been used so far, because it tells the answer. Would it have helped the author of report 2?

# %% tags=["C16.3"]
torch.manual_seed(0)
G, D = nn.Linear(2, 1, bias=False), nn.Linear(1, 1, bias=False)
score = D(G(torch.randn(3, 2)))
loss_D, loss_G = low(score), high(score)
turn(torch.optim.SGD(D.parameters(), lr=0.1), loss_D, retain_graph=True)
L.run(loss_G.backward)
explain(loss_G, names={"D.weight": D.weight, "G.weight": G.weight, "score": score, "loss_G": loss_G})

# %% [markdown]
# **Notice:** the picture marks the slot at which the pass stopped: the weight of `D`. The first two cures are those for a parameter: compute the loss again after the update, or move the update after the last `backward()`. And the second list says what only silences the message. Its last line is about `detach()`, which answer 1 of the thread puts in the wrong place.
#
# ## What does your own engine say to these reports?
#
# Your `my_engine.py` was finished in lesson 13, and nothing has to be added. The checkpoint runs the five reports on it, reduced to what it knows: a write into a parameter, a score that is older than the weights, a state that is carried over, a result on `ctx`, and a gradient that is None. It has to raise where PyTorch raises, with PyTorch's key phrase, and to give PyTorch's numbers after the cure. (`L.hint("16.b")` shows the program.)

# %%
L.build("16")

# %% [markdown]
# If it says *correct*, then your engine would have answered the five authors as PyTorch does.
#
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C16.1** Where numbers go through NumPy in the middle of a network, the part before gets no gradient and there is no error; with the places from NumPy and the numbers from gather the gradient is the measured slope.
# - **C16.2** A write to a copy of a bias leaves the bias as it is, and a new Parameter is not updated by an optimizer that was made before; a write under no_grad changes the parameter, which goes on learning.
# - **C16.3** If a discriminator steps between its score and the generator's backward, the pass raises; if it scores again after the step, the pass gives the generator the measured slope.
# - **C16.4** With fakes detached for both players, and a score for each loss, the generator gets no gradient; and with both passes before both steps the discriminator's gradient is the sum of both losses; neither raises.
# - **C16.5** In a network of half a million parameters, eight random directions show that half of the gradients are missing, and do not accuse right ones.
#
# **A recipe.** Make the program small until it runs in a second and still shows the symptom. Ask what the message says, who did it, and how far back the pass goes. Write the cure. Then ask the three questions, and keep the answers to the last two as a test.
#
# **Left out.** On a GPU an error may be reported lines after its cause, because the device works on while Python goes ahead; `CUDA_LAUNCH_BLOCKING=1` makes it wait.
#
# **Next:** parts [16b](16b_a_carried_state.ipynb) and [16c](16c_nothing_is_raised.ipynb), or [lesson 17](17_two_machines.ipynb), in which two machines train one network.
