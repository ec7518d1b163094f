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
# An error message stops you once. A wrong repair costs you every day after it, because nothing will ever tell you about it again. In forums, the answer that makes the error go away is the one that gets the thanks. This lesson has five bug reports, rebuilt from what people have posted again and again. You get what their authors had: a program, a symptom, and some answers. You will find the cause with the instruments of this course, write the cure, and prove it. And you will see what the other answers do.
#
# After this lesson you can
#
# - go from a symptom to its cause: which instrument answers which question;
# - ask three questions about a repair, of which "is the error gone?" is only the first;
# - write a test that notices a network of which a part does not learn;
# - tell the ten most common bugs of training scripts by what they look like from outside.
#
# **Minutes** 140, in two sittings: a rest is marked after the third report · **Needs** lessons 02, 05 to 11; each report says which of them it is about · **Out of scope** speed, several machines (lesson 17)
#
# [← 15 Reading PyTorch](15_reading_pytorch.ipynb) · [all lessons](home.ipynb) · [17 Two machines →](17_two_machines.ipynb)

# %%
import course_lib as torch
import gc
import math
import weakref

import numpy as np

from backscope import draw, explain, ledger, step, watch
from coursekit import chart, expect_error, lesson, show

L = lesson(16)
nn, F = torch.nn, torch.nn.functional

# %% [markdown]
# Here is the story, made small. An *encoder* makes six features of each sample. The features are sorted, so that their order does not matter, and a *head* makes the answer of them. There was a function for sorting at hand, from NumPy:


# %%
def sort_posted(h):
    return torch.from_numpy(np.sort(h.numpy(), axis=1))


def sort_advised(h):  # as the error message says
    return torch.from_numpy(np.sort(h.detach().numpy(), axis=1))


def two_parts():
    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(4, 6), nn.Tanh()), nn.Linear(6, 1)
    x = torch.randn(256, 4)
    return encoder, head, x, (x[:, :1] + x[:, 1:2]).abs()


def train(sort, steps=150):
    encoder, head, x, target = two_parts()
    optimizer, losses = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.02), {}
    for number in range(steps):
        optimizer.zero_grad()
        loss = ((head(sort(encoder(x))) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses[number] = loss.item()
    return losses


with expect_error(RuntimeError, "Use tensor.detach().numpy() instead"):
    train(sort_posted)
losses = train(sort_advised)
print(f"as advised: the loss falls from {losses[0]:.2f} to {losses[149]:.2f}")

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
# The first question is answered by running the program. For the other two we need two small functions. You can copy them into any project.
#
# `slopes` moves all parameters a tiny bit, in a random direction, forwards and backwards, and measures how the loss changes. That is a slope. Backward's gradients say what it should be: multiply each gradient by its direction and add up. A parameter that got no gradient contributes nothing, as if the loss did not depend on it. So there are two numbers, and if they differ, a gradient is wrong or missing. One direction may miss a fault by chance, since what is missing may happen to be small in it. So `slopes` tries eight directions and compares all of them together. The measured slopes are not exact either (float32, and a step that is not infinitely small), so a difference of less than three percent counts as the same. Frozen parameters are left out, each loss is computed with the same random numbers (for dropout), and `.grad`, parameters and random numbers are afterwards as they were.
#
# There is one limit. The more parameters a network has, the smaller is the slope in a random direction, while the rounding of the loss stays what it is. With two million parameters the slopes still stood out in our trials. Where they do not, `slopes` says *too small to tell*: use float64 then, or fewer parameters.
#
# `moved` compares parameters with copies from before.


# %%
def slopes(loss_of, parameters):
    """The slopes in eight random directions: as the gradients have them, and as they are measured."""
    parameters = [p for p in parameters if p.requires_grad]
    starts, differences, measured = [p.detach().clone() for p in parameters], [], []

    def loss():
        torch.manual_seed(2)  # the same dropout each time
        return loss_of()

    with torch.random.fork_rng():
        now = loss()
        gradients = torch.autograd.grad(now, parameters, allow_unused=True)
        for seed in range(8):
            torch.manual_seed(seed)
            directions = [torch.randn(p.shape) for p in parameters]
            length = sum((d * d).sum().item() for d in directions) ** 0.5
            said = sum((g * d).sum().item() for g, d in zip(gradients, directions, strict=True) if g is not None)
            losses = {}
            with torch.no_grad():
                for size in (0.01, -0.01, 0):  # forwards, backwards, and back to where they were
                    for p, start, d in zip(parameters, starts, directions, strict=True):
                        p.copy_(start + size / length * d)
                    losses[size] = loss().item() if size else None
            measured.append((losses[0.01] - losses[-0.01]) / 0.02)
            differences.append(said / length - measured[-1])
    off, size = math.hypot(*differences), math.hypot(*measured)
    rounding = 3e-5 * abs(now.item())  # what the digits of a float32 loss leave open
    if max(off, size) < 10 * rounding:
        return "too small to tell"
    verdict = "the same" if off <= 0.03 * size + rounding else "DIFFERENT"
    return f"backward is off by {100 * off / size:.1f}% of the measured slopes: {verdict}"


def copies(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def moved(model, before):
    """The names of the parameters that are not as they were."""
    return [name for name, p in model.named_parameters() if (p - before[name]).abs().max().item() > 1e-6]


# %% [markdown]
# First a trial of `slopes` itself, in a network of half a million parameters. Its first half is cut off, or not:

# %% tags=["C16.11"]
torch.manual_seed(0)
lower, upper = nn.Sequential(nn.Linear(32, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh()), nn.Linear(512, 512)
data = torch.randn(16, 32)
both_halves = [*lower.parameters(), *upper.parameters()]
print("cut:  ", slopes(lambda: (upper(lower(data).detach()) ** 2).mean(), both_halves))
print("whole:", slopes(lambda: (upper(lower(data)) ** 2).mean(), both_halves))

# %% [markdown]
# Now the advice of the error message is asked the second and the third question.

# %% tags=["C16.1"]
encoder, head, x, target = two_parts()
model = nn.ModuleDict({"encoder": encoder, "head": head})
print("2.", slopes(lambda: ((head(sort_advised(encoder(x))) - target) ** 2).mean(), list(model.parameters())))
before, optimizer = copies(model), torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(10):
    optimizer.zero_grad()
    loss = ((head(sort_advised(encoder(x))) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
print("3. moved:", moved(model, before))
features = sort_advised(encoder(x))
loss = ((head(features) - target) ** 2).mean()
draw(model, loss)

# %% [markdown]
# **Notice:** both questions give it away, and so does the picture. The head was given `features`, a grey box: it has no history and requires no gradient. Nothing leads from there to the encoder, and the line above the picture names its parameters.
#
# What would be a cure? NumPy may say *where* each number belongs, because places are whole numbers, and those have no slope. Fetching the numbers from these places has to be PyTorch's business. `gather` does that, and it leaves a node.


# %% tags=["C16.1"]
def sort_cured(h):
    places = torch.from_numpy(np.argsort(h.detach().numpy(), axis=1))
    return h.gather(1, places)


encoder, head, x, target = two_parts()
parameters = [*encoder.parameters(), *head.parameters()]
print("2.", slopes(lambda: ((head(sort_cured(encoder(x))) - target) ** 2).mean(), parameters))
runs = {"as advised": losses, "cured": train(sort_cured)}
chart({"loss": {name: {k: run[k] for k in (0, 25, 50, 75, 100, 125, 149)} for name, run in runs.items()}}, "step", "loss")

# %% [markdown]
# **Notice:** 0.40 was not the end. It was as far as a head can get with features that never change. The cured program goes to 0.01.
#
# > **The rule.** A repair is a cure if the symptom is gone, and the gradient is the measured slope, and what should learn learns. The first alone proves nothing.
#
# We now go through the five reports. Each time you get the report, look at it with an instrument, and write your cure. `L.check` will ask all three questions about it. Then you say what the answers from the thread are worth, before you see it.
#
# ## Report 1: why does a detector refuse its initial biases?
#
# *(about lessons 07, 08 and 10)*
#
# > **"Crashes before the first step."** We take a trained detector, put in new classes, and initialise the biases of its head again: most places in an image are empty, so "there is an object" should begin at 2 percent and not at 50. The line with `+=` raises. I found it in a repository with thousands of stars, so it must be right.
#
# A *detector* says for many cells of an image, and for several boxes per cell (*anchors*), whether there is an object and of which class. Each anchor has four numbers for the box, one for "there is an object" (number 4) and one for each class. All of them are outputs of one layer, so their biases lie in one long vector. The program looks at it as a table, one row for each anchor.


# %%
class Detector(nn.Module):
    def __init__(self, anchors=3, classes=2):
        super().__init__()
        self.anchors = anchors
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
        self.head = nn.Linear(16, anchors * (5 + classes))

    def forward(self, cells):
        return self.head(self.body(cells)).view(len(cells), self.anchors, -1)


def start_biases(head, anchors):
    b = head.bias.view(anchors, -1)  # a row for each anchor
    b[:, 4] += math.log(0.02 / 0.98)  # there is an object: 2 percent
    b[:, 5:] += math.log(0.5 / 1.5)  # which class


def batch_of(generator, count=200):
    cells = torch.randn(count, 8, generator=generator)
    return cells, (cells[:, :1] + cells[:, 1:2] > 2.2).float()


def loss_of_objects(model, cells, there):
    said = model(cells)[:, :, 4]
    return F.binary_cross_entropy_with_logits(said, there.expand(len(cells), model.anchors))


def fine_tune(start, steps=60):
    torch.manual_seed(0)
    generator = torch.Generator()
    generator.manual_seed(1)
    model, losses = Detector(), {}
    weights = [p for p in model.parameters() if p.dim() > 1]
    biases = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": weights}, {"params": biases, "lr": 0.5}]  # biases may move faster
    optimizer = torch.optim.SGD(groups, lr=0.2, momentum=0.9)
    start(model.head, model.anchors)
    begun = model.head.bias.detach().clone()
    for number in range(steps):
        cells, there = batch_of(generator)
        optimizer.zero_grad()
        loss = loss_of_objects(model, cells, there)
        loss.backward()
        optimizer.step()
        losses[number] = loss.item()
    learned = (model.head.bias - begun)[4].item()
    print(f"first loss {losses[0]:.2f}, last {losses[steps - 1]:.3f}; bias 4 began at {begun[4]:.2f}, moved by {learned:.2f}")


with expect_error(RuntimeError, "a view of a leaf Variable that requires grad is being used in an in-place operation"):
    fine_tune(start_biases)

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
# **16.1 · Start the biases** (8 minutes). Repair `start_biases` for the report. It gets a linear layer `head`, and the probability `there` for "there is an object". As in the report, the optimizer has been made *before* it is called. Afterwards number 4 of each row has risen by `math.log(there / (1 - there))`, the numbers from 5 on by `math.log(0.5 / 1.5)`, and training goes on with the same optimizer.


# %%
def start_again(torch, head, anchors, there):
    b = head.bias.view(anchors, -1)
    b[:, 4] += math.log(there / (1 - there))
    b[:, 5:] += math.log(0.5 / 1.5)


L.check("16.1", start_again)

# %% [markdown]
# These are four answers from the thread, each with some thanks below it:
#
# - A "The view is the problem, so work on a copy: `b = head.bias.view(anchors, -1).clone()`."
# - B "Make the view without gradients: `with torch.no_grad(): b = head.bias.view(anchors, -1)`, and leave the two other lines as they are."
# - C "Compute the new numbers and make a new parameter of them: `head.bias = nn.Parameter(…)`."
# - D "Put all three lines into `with torch.no_grad():`."
#
# **Predict.** Put each answer into the program above. Which does it do: `"raises"`, `"silent"` (no error, but something that should happen does not), or `"cured"`? Answer with a list of four words. (Two facts of the program matter: when the optimizer was made, and what it was given.)

# %%
L.predict("16.p1", None)


# %% tags=["C16.2", "P3", "P4"]
def answer_a(head, anchors):
    b = head.bias.view(anchors, -1).clone()
    b[:, 4] += math.log(0.02 / 0.98)
    b[:, 5:] += math.log(0.5 / 1.5)


def answer_b(head, anchors):
    with torch.no_grad():
        b = head.bias.view(anchors, -1)
    b[:, 4] += math.log(0.02 / 0.98)
    b[:, 5:] += math.log(0.5 / 1.5)


def answer_c(head, anchors):
    b = head.bias.detach().clone().view(anchors, -1)
    b[:, 4] += math.log(0.02 / 0.98)
    b[:, 5:] += math.log(0.5 / 1.5)
    head.bias = nn.Parameter(b.view(-1))


def answer_d(head, anchors):
    with torch.no_grad():
        start_biases(head, anchors)


with expect_error(RuntimeError, "was created in no_grad mode and is being modified inplace"):
    fine_tune(answer_b)
for name, answer in {"A": answer_a, "C": answer_c, "D": answer_d}.items():
    print(name, end="  ")
    fine_tune(answer)

# %% [markdown]
# **Notice:** the three that run all end with a small loss, and the smallest is that of A, which did nothing. So look at the other numbers.
#
# - **A** did nothing at all. The copy has memory of its own, the bias began at −0.03, and the first loss is three times as large as it should be. Training had to find what the start should have given, and with these few steps it has.
# - **B** raises another error. The view was made with recording off, and the write comes with recording on. PyTorch refuses to guess which of the two you mean (lesson 08).
# - **C** began at the right place and then moved by 0.00. The optimizer still holds the *old* parameter, which no loss depends on any more. The model has a new one, which no optimizer updates. If the optimizer is made after it, C is right. So it cures some programs, and not this line.
# - **D** writes into the memory of the one parameter that model and optimizer share. It starts and it learns.
#
# The second question would not have found A or C: their gradients are right. So each of the three questions is needed.
#
# > **The rule.** To set a parameter, write into it under `no_grad`. A copy is another tensor, and a new parameter is unknown to an optimizer that exists already.
#
# ## Report 2: why does the second player of a GAN fail?
#
# *(about lessons 07 and 09)*
#
# > **"Worked with 1.4."** My first GAN, after a tutorial. Since I have the new version, the generator's `backward()` says that something was modified by an in-place operation. I do not use in-place operations! I have removed every `+=` and `inplace=True`. Anomaly mode points at a line of the discriminator, which is the plainest network there is. `retain_graph=True` is there because somebody told me so.
#
# A *GAN* is a game of two networks. The generator `G` makes fakes of random numbers. The discriminator `D` gives each sample a score: high for real ones, low for fakes. `D` learns to tell them apart, and `G` learns to make fakes that get a high score. Here the real samples are numbers around 3, so the fakes should end up there, too.


# %%
def players():
    torch.manual_seed(0)
    G = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    D = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    return G, D


def sample(count=64):
    return torch.randn(count, 2), 3 + 0.5 * torch.randn(count, 1)


def high(scores):  # small if all scores are high
    return F.binary_cross_entropy_with_logits(scores, torch.ones(len(scores), 1))


def low(scores):
    return F.binary_cross_entropy_with_logits(scores, torch.zeros(len(scores), 1))


def round_posted(G, D, optimizer_G, optimizer_D, z, real):
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


def game(play, rounds=300):
    G, D = players()
    optimizer_G = torch.optim.Adam(G.parameters(), lr=0.005, betas=(0.0, 0.9))  # no momentum
    optimizer_D = torch.optim.Adam(D.parameters(), lr=0.05, betas=(0.0, 0.9))
    means = {}
    for number in range(rounds):
        z, real = sample()
        if number % 50 == 0:
            means[number] = round(G(z).mean().item(), 2)
        play(G, D, optimizer_G, optimizer_D, z, real)
    return means


with expect_error(RuntimeError, "modified by an inplace operation"):
    game(round_posted)

# %% [markdown]
# Somebody wrote into a tensor that a node had saved. (*AsStrided* is no call of yours: it stands for the turned weight of a linear layer, lesson 08.) The author has looked for the write in the text of the program. An instrument does not look at the text, but at what happens. `watch` keeps a log, and of this log we want the writes and what was refused.

# %%
G, D = players()
optimizer_G, optimizer_D = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
z, real = sample()
with watch(names={"D.0.weight": D[0].weight, "D.2.weight": D[2].weight}) as log:
    try:
        round_posted(G, D, optimizer_G, optimizer_D, z, real)
    except RuntimeError:
        pass  # we know that it raises
log.only("version", "refused")

# %% [markdown]
# **Notice:** there are in-place operations after all. All of them are in one line of the program, `optimizer_D.step()`. A step writes into each parameter (lesson 10). Before it, in the forward pass, `score = D(fake)` had saved a weight of `D`. The pass of `loss_G` came after the step, and wanted to read the weight as it had been.
#
# That also explains "worked with 1.4". Up to then, optimizers wrote through `.data`, and such a write is not counted (lesson 09). What did the generator learn in those days? We let `D` step like that, and compare the gradient of `G` with those that the old `D` and the new `D` would give:

# %%
G, D = players()
z, real = sample()
weights, score = list(G.parameters()), D(G(z))
loss_G = high(score)
of_the_old = torch.autograd.grad(loss_G, weights, retain_graph=True)
low(score).backward(retain_graph=True)
for p in D.parameters():
    p.data -= 0.5 * p.grad  # a step as in 1.4
posted = torch.autograd.grad(loss_G, weights)
of_the_new = torch.autograd.grad(high(D(G(z))), weights)
for name, wanted in {"old": of_the_old, "new": of_the_new}.items():
    off = max((a - b).abs().max().item() for a, b in zip(posted, wanted, strict=True))
    print(f"off by {off:.3f} from the gradient of the {name} D, whose largest number is {max(g.abs().max().item() for g in wanted):.3f}")

# %% [markdown]
# It is neither: activations of the old `D` were combined with weights of the new one. The update has not broken the program. It has found the bug.
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
# The thread has these answers:
#
# - A "Detach the fake, `fake = G(z).detach()`, and let `D` score it once for each loss, just before its pass."
# - B "Do both `backward()` first and both `step()` afterwards."
# - C "Detach the fake for the discriminator only, and let the discriminator score the fake again after its step."
# - D "Swap the players: first `zero_grad`, `backward` and `step` of `G`, then those of `D`. Then it is the discriminator that moves last." (`retain_graph=True` moves to the pass of `G`, which is now the first. Nothing else is changed.)
#
# **Predict.** `"raises"`, `"silent"` or `"cured"`? A list of four words. (Silent is also a player that moves, but by something else than the gradient of its own loss.)

# %%
L.predict("16.p2", None)


# %% tags=["C16.3", "C16.4", "P9"]
def round_a(G, D, optimizer_G, optimizer_D, z, real):
    fake = G(z).detach()
    optimizer_D.zero_grad()
    (high(D(real)) + low(D(fake))).backward()
    optimizer_D.step()
    optimizer_G.zero_grad()
    high(D(fake)).backward()
    optimizer_G.step()


def round_b(G, D, optimizer_G, optimizer_D, z, real):
    score = D(G(z))
    optimizer_D.zero_grad()
    (high(D(real)) + low(score)).backward(retain_graph=True)
    optimizer_G.zero_grad()
    high(score).backward()
    optimizer_D.step()
    optimizer_G.step()


def round_c(G, D, optimizer_G, optimizer_D, z, real):
    fake = G(z)
    optimizer_D.zero_grad()
    (high(D(real)) + low(D(fake.detach()))).backward()
    optimizer_D.step()
    optimizer_G.zero_grad()
    high(D(fake)).backward()
    optimizer_G.step()


def round_d(G, D, optimizer_G, optimizer_D, z, real):
    score = D(G(z))
    loss_D, loss_G = high(D(real)) + low(score), high(score)
    optimizer_G.zero_grad()
    loss_G.backward(retain_graph=True)
    optimizer_G.step()
    optimizer_D.zero_grad()
    loss_D.backward()
    optimizer_D.step()


def of_its_own_loss(play):
    """By how much D's gradient, as its optimizer meets it, is off; and how far G moves in a round."""
    G, D = players()
    z, real = sample()
    wanted = torch.autograd.grad(high(D(real)) + low(D(G(z))), list(D.parameters()))
    seen, before = [], copies(G)

    class Looking(torch.optim.SGD):
        def step(self):
            seen.extend(p.grad - g for p, g in zip(D.parameters(), wanted, strict=True))
            return super().step()

    play(G, D, torch.optim.SGD(G.parameters(), lr=0.1), Looking(D.parameters(), lr=0.1), z, real)
    return f"D's gradient is off by {max(each.abs().max().item() for each in seen):.2f}; moved in G: {len(moved(G, before))}"


with expect_error(RuntimeError, "modified by an inplace operation"):
    game(round_d)
for name, answer in {"A": round_a, "B": round_b, "C": round_c}.items():
    print(name, of_its_own_loss(answer))
chart({"mean of the fakes (3 is wanted)": {name: game(r) for name, r in zip("ABC", (round_a, round_b, round_c), strict=True)}}, "round", "mean")

# %% [markdown]
# **Notice:**
#
# - **A** is quiet, and the generator has not moved at all. The `detach` was put into *both* branches.
# - **B** is the most dangerous one. There is no error, and the fakes go to 3 as they should. But the pass of `loss_G` runs through `D`, too, and leaves its gradient in the `.grad` of `D`, on top of that of `loss_D`. So `D` steps by the sum of both losses, and one of them wants a discriminator that believes in fakes. No curve shows it here. The second question does.
# - **C** does what it should: a new score after the step, and `D`'s loss kept away from `G`.
# - **D** raises the same error with the names exchanged. Now `G` has moved, and the pass of `loss_D` runs through `G`, although it has no business there.
#
# Here are the two graphs of C's losses, for players that have one weight each. The first loss is given `constant`, the detached fake, and the second one the fake itself.

# %%
g, d = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
fake = g * 5
constant = fake.detach().clone()
loss_D = d * constant  # low scores for the fake
loss_G = -(d * fake)  # high ones
draw(loss_D, loss_G, detail=0)

# %% [markdown]
# **Notice:** node 2 read `constant`, a grey box, and there the way ends. Both passes reach `d`; only that of `loss_G` reaches `g`. That is how it has to be: `loss_G` *must* go through the discriminator to reach the generator. What it leaves in `.grad` of the discriminator on its way is thrown away by the `zero_grad` of the next round. (`constant` is cloned here only so that the picture gives it a memory of its own.)
#
# > **The rule.** Each loss for its own player: cut the fakes off where only `D` learns, score them again where `G` learns, and clear what a pass leaves with the other player.
#
# ## Report 3: why does a recurrent network fail at the second window?
#
# *(about lessons 06 and 09)*
#
# > **"retain_graph is True and it still does not work."** I train an LSTM on a long signal, in windows of six steps. The first window works. At the second one I got "Trying to backward through the graph a second time", with the advice to write `retain_graph=True`. I did. Now it is the error about in-place operations, as in all those GAN threads. I have no GAN. If I start each window with a state of zeros there is no error, but the network must remember what was in the window before.
#
# An *LSTM* reads one number after the other and carries a state, a pair of two tensors: its output `h`, and its memory `c`. The task is an echo: at every step the network has to say what it heard two steps before.


# %%
class Echo(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(1, size), nn.Linear(size, 1)

    def forward(self, window, state):
        said = []
        for x in window:
            state = self.cell(x, state)
            said.append(self.out(state[0]))
        return torch.stack(said), state


def signal(windows, length=6, rows=16):
    """Windows of the signal, and what should be said in them: the signal, two steps late."""
    numbers = torch.randn(windows * length + 2, rows, 1).sign()
    starts = range(2, 2 + windows * length, length)
    return [(numbers[k : k + length], numbers[k - 2 : k - 2 + length]) for k in starts]


def silence(rows=16, size=16):
    return torch.zeros(rows, size), torch.zeros(rows, size)


def listen(carried, model=None, windows=150, retain_graph=False):
    """Train on a signal, window by window; `carried` gives the state for the next one."""
    torch.manual_seed(0)
    model = model or Echo()
    optimizer, state, losses = torch.optim.Adam(model.parameters(), lr=0.02), silence(), []
    for window, target in signal(windows):
        said, state = model(window, carried(state))
        loss = ((said - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=retain_graph)
        optimizer.step()
        losses.append(loss.item())
    return {k: round(sum(losses[k - 10 : k]) / 10, 2) for k in range(10, windows + 1, 20)}


with expect_error(RuntimeError, "Trying to backward through the graph a second time"):
    listen(lambda state: state)
with expect_error(RuntimeError, "is at version 2; expected version 1"):
    listen(lambda state: state, retain_graph=True)

# %% [markdown]
# Why should the second window run through a graph a second time? It has a graph of its own. Or has it? We make two windows of a single step each, go backward through the first one, and ask the engine to walk through the second.

# %%
w, state, one, two = torch.tensor([0.5], requires_grad=True), torch.tensor([1.0]), torch.tensor([0.2]), torch.tensor([0.4])
first = torch.tanh(w * state + one)
(first**2).sum().backward()
second = torch.tanh(w * first + two)
loss = (second**2).sum()
step(loss)

# %% [markdown]
# **Notice:** go to the last frame. (A simpler cell is used here, with one tensor as its state; it is the same story.) The walk does not end with the nodes of the second window. It comes to `first`, the state that was carried over, and wants to go on into the first window. The frame says why it stops there: an earlier pass freed what this node had saved. (The nodes of the first window are drawn, and none of them runs.)
#
# `retain_graph=True` keeps those slots full. Then the walk goes on, into all windows since the beginning. There it meets weights that the optimizer has updated since, and *that* is the second error. Both errors say the same: the pass goes further back than it should.
#
# **16.3 · Windows** (10 minutes). Repair the loop. Each window is trained on its own loss, with the gradient through all steps of that window and no further. The state arrives in the next window, as numbers. Return the last state without a history.


# %%
def listen_to(torch, cell, out, windows, state, optimizer):
    for window, target in windows:
        said = []
        for x in window:
            state = cell(x, state)
            said.append(out(state[0]))
        loss = ((torch.stack(said) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
    return state


L.check("16.3", listen_to)

# %% [markdown]
# Four answers of the thread:
#
# - A "The state is `h`. Detach it before each window: `state = (h.detach(), c)`."
# - B "Detach both, before each window."
# - C "Detach both after each call of the cell, then you can never go wrong."
# - D "Start each window with zeros."
#
# **Predict.** Which of `"raises"`, `"silent"`, `"cured"` is it for each? The task is the echo, and everything that can be learned about it should be learned. A list of four words.

# %%
L.predict("16.p3", None)


# %% tags=["C16.5", "C16.6", "P7"]
class CutBehind(Echo):
    def forward(self, window, state):  # answer C
        said = []
        for x in window:
            state = self.cell(x, tuple(each.detach() for each in state))
            said.append(self.out(state[0]))
        return torch.stack(said), state


def both(state):
    return tuple(each.detach() for each in state)


with expect_error(RuntimeError, "Trying to backward through the graph a second time"):
    listen(lambda state: (state[0].detach(), state[1]))
torch.manual_seed(0)
answers = {"B": listen(both), "C": listen(both, CutBehind()), "D": listen(lambda state: silence())}
for name, kind in {"B and D": Echo, "C": CutBehind}.items():
    torch.manual_seed(0)
    model, ((window, target),) = kind(), signal(1)
    print(name, "-", slopes(lambda: ((model(window, silence())[0] - target) ** 2).mean(), list(model.parameters())))
chart({"loss (averages of ten windows)": answers}, "window", "loss")

# %% [markdown]
# **Notice:**
#
# - **A** raises, because an LSTM carries two tensors, and `c` leads back just as `h` does.
# - **B** learns the echo completely.
# - **C** runs, and the second question finds it: the gradient is not the slope of the window's loss. The network has to *put* a number into its memory two steps before it is asked for it. No gradient reaches back to that step, so it never learns to do so. Its loss does not fall.
# - **D** has the right gradient, and learns. But the first two steps of each window cannot be answered from zeros. A third of the task is lost, and so a third of the loss remains. No question about gradients finds that: they are right, for another task. The loss shows it.
#
# > **The rule.** Cut between the windows and not inside: `detach` every tensor of the state, where one pass ends and the next begins.
#
# ## A rest
#
# Three reports are solved. What you need for the other two is a new start: in both there is no error at all.
#
# ## Report 4: why does the memory grow?
#
# *(about lessons 06 and 11)*
#
# > **"Memory leak in custom Function?"** My own activation function uses more memory with every batch, until the process is killed. The results are right, I have tested the gradient. I do not keep anything: no list, no running loss. It happens in training and in validation. If I replace my function by `tanh`, the memory stays where it is. What does `apply` keep?
#
# The activation is y = x / (1 + |x|), a cheap relative of `tanh`. Its slope is (1 − |y|)², so the result is all that backward needs. The program counts how many results of earlier batches are still alive. It does so with weak references, which do not keep anything alive themselves.


# %%
class Squash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.y.abs()) ** 2


def alive_after(activation, training, batches=5):
    """How many results are alive after each batch. The garbage collector waits meanwhile."""
    torch.manual_seed(0)
    model, references, counts = nn.Linear(100, 100), [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.collect()
    gc.disable()
    for _ in range(batches):
        h = activation(model(torch.randn(50, 100)))
        references.append(weakref.ref(h))
        if training:
            optimizer.zero_grad()
            (h * h).mean().backward()
            optimizer.step()
        del h
        counts.append(sum(each() is not None for each in references))
    gc.enable()
    return counts


print("tanh:  ", alive_after(torch.tanh, training=True))
print("Squash:", alive_after(Squash.apply, training=True))

# %% [markdown]
# Nobody has a name for these results any more. So something else holds them. The first suspect is what nodes have saved for backward. The `ledger` of lesson 06 counts it:

# %%
for name, activation in {"tanh": torch.tanh, "Squash": Squash.apply}.items():
    with ledger(leaves=False) as held:
        alive = alive_after(activation, training=True)[-1]
    print(f"{name:6} results alive: {alive}, bytes in slots: {held.now}, at the peak {held.peak}")

# %% [markdown]
# The peak is that of one batch, and in the end nothing is left in any slot. So it is not a slot that holds the five results. What else can hold a tensor? We look at the graph of one of them:

# %%
x = torch.tensor([1.0, -3.0], requires_grad=True)
y = Squash.apply(x)
draw(y)

# %% [markdown]
# **Notice:** `y` hangs on the node `SquashBackward`, as every result hangs on its node. And a drawer of the node says that it holds a tensor which was put on `ctx` by hand: this very `y`. That is a ring. The result holds the node, and the node holds the result.
#
# Python frees an object when the last reference to it is gone. In a ring, that never happens. Only the garbage collector can open a ring. It finds this one, because the node of a custom Function is a Python object. (The ring of a pack hook, in part 14b, goes through a node made in C++, and PyTorch's collector does not find it.) But the collector runs when many Python *objects* have been made. It does not know how large their memory is. On a GPU, a hundred forgotten results may be gigabytes.
#
# **16.4 · Close the leak** (10 minutes). Repair the Function. Afterwards no result outlives its last name, with backward or without; the gradient is right, also the second derivative; and if somebody writes into `x` or `y` between forward and backward, there is never a wrong gradient without an error.


# %%
class Squashed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.y.abs()) ** 2


L.check("16.4", Squashed)

# %% [markdown]
# Two answers of the thread:
#
# - A "Clean up after you: write `ctx.y = None` as the last line of backward, before the `return`."
# - B "Break the ring: `ctx.y = y.detach()`."
#
# **Predict.** How many results are alive after five batches? Give four numbers: for A in training and in validation, for B in training and in validation. (In the program above, validation is the same loop without a backward pass, and without `no_grad`.)

# %%
L.predict("16.p4", None)


# %% tags=["C16.7", "P17"]
class CleanedUp(Squash):
    @staticmethod
    def backward(ctx, grad):
        slope = (1 - ctx.y.abs()) ** 2
        ctx.y = None
        return grad * slope


class Detached(Squash):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.y = y.detach()
        return y


class Slot(Squash):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * (1 - result.abs()) ** 2


for name, function in {"as posted": Squash, "A": CleanedUp, "B": Detached, "a slot": Slot}.items():
    print(f"{name:10} training {alive_after(function.apply, True)}, validation {alive_after(function.apply, False)}")

# %% [markdown]
# **Notice:** A helps where backward runs, and nowhere else. (And a second pass with `retain_graph=True` finds `None`.) B closes the leak. So is B the cure? It has passed the first question. Here is the second one, in a program that reuses the memory of `y`, as `relu_` or `dropout(inplace=True)` do after an activation:

# %% tags=["C16.8"]
for name, function in {"B": Detached, "a slot": Slot}.items():
    x = torch.tensor([1.0, -3.0], requires_grad=True)
    y = function.apply(x)
    y.mul_(2)
    try:
        y.sum().backward()
        print(name, "-", x.grad.tolist(), "where", (2 / (1 + x.abs()) ** 2).tolist(), "is right")
    except RuntimeError as error:
        print(name, "-", str(error).split(":")[0])

# %% [markdown]
# **Notice:** with `detach()` the gradient is wrong, and nothing says so. What stands on `ctx` is your own business, so PyTorch does not compare versions. A slot is checked. It is also freed after backward, and it knows that the result belongs to this node, so that second derivatives work.
#
# > **The rule.** A tensor on `ctx` is held as long as the node, and is not checked. `save_for_backward` holds it without a ring, checks it, and lets it go.
#
# ## Report 5: why does a head move that takes no part?
#
# *(about lessons 05 and 10)*
#
# > **"Model forgets task A although task A is not trained."** One frozen trunk, two heads, one for each of our customers. First I trained the head for `cats`. Then I trained `dogs`, with the same optimizer. The loss of `dogs` does not depend on the head for `cats`; I have checked that its gradient is 0. But after each evening of `dogs` the results for `cats` are worse. I have even set `requires_grad_(False)` for this head. It still changes!


# %%
def two_heads():
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
    for p in trunk.parameters():
        p.requires_grad_(False)
    return nn.ModuleDict({"trunk": trunk, "cats": nn.Linear(16, 1), "dogs": nn.Linear(16, 1)})


def wanted(task, x):
    return x[:, :1] - x[:, 1:2] if task == "cats" else x[:, 2:3] + x[:, 3:4]


def loss_of_task(model, task, x):
    return ((model[task](model["trunk"](x)) - wanted(task, x)) ** 2).mean()


def two_evenings(clear, freeze=False, steps=30, momentum=0.9, weight_decay=0.01, extra=None):
    """An evening of cats and an evening of dogs: the loss of cats meanwhile, and how far its head moved at last."""
    model = two_heads()
    heads = [*model["cats"].parameters(), *model["dogs"].parameters()]
    optimizer = torch.optim.SGD(heads, lr=0.05, momentum=momentum, weight_decay=weight_decay)
    test, losses = torch.randn(200, 4), {}
    for number in range(2 * steps):
        task = "cats" if number < steps else "dogs"
        if number == steps:
            before = copies(model)
            model["cats"].requires_grad_(not freeze)
        x = torch.randn(32, 4)
        clear(optimizer)
        loss = loss_of_task(model, task, x)
        if extra is not None:
            loss = loss + extra(model, x)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            losses[number + 1] = loss_of_task(model, "cats", test).item()
    return {k: losses[k] for k in range(10, 2 * steps + 1, 5)}, moved(model, before)


def clear_posted(optimizer):
    optimizer.zero_grad(set_to_none=False)  # since our first version, years ago


for freeze in (False, True):
    losses, names = two_evenings(clear_posted, freeze)
    print(f"cats after the first evening {losses[30]:.3f}, after the second {losses[60]:.3f}; moved: {names}")

# %% [markdown]
# The gradient is 0, and still the head moves, frozen or not. The optimizer writes into the parameter, so let us look at what the optimizer sees: `.grad`, and its own memory for this parameter. Here is one weight that gets a gradient in the first step and none in the seven others.

# %%
p = torch.tensor([1.0], requires_grad=True)
optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
(3 * p).sum().backward()
seen = {"p": {}, ".grad": {}, "velocity": {}}
for number in range(1, 9):
    optimizer.step()
    for name, tensor in {"p": p, ".grad": p.grad, "velocity": optimizer.state[p]["momentum_buffer"]}.items():
        seen[name][number] = round(tensor.item(), 2)
    optimizer.zero_grad(set_to_none=False)
chart({"one weight": seen}, "step", "value after the step")

# %% [markdown]
# **Notice:** `.grad` is there, and from the second step on it is 0. The velocity of the first step fades slowly, and until it has faded `p` moves along with it.
#
# **16.5 · Two customers** (8 minutes). Repair the step. The head of the task learns as before, with the same optimizer, its momentum and its weight decay. All other heads rest completely: their numbers, and their velocities, too, which they will need when their turn comes. Leave the flags `requires_grad` as they are.


# %%
def train_one(torch, trunk, heads, task, x, target, optimizer):
    optimizer.zero_grad(set_to_none=False)
    loss = ((heads[task](trunk(x)) - target) ** 2).mean()
    loss.backward()
    optimizer.step()


L.check("16.5", train_one)

# %% [markdown]
# Five proposals for the program `two_evenings`:
#
# - A the report as it stands: `optimizer.zero_grad(set_to_none=False)`
# - B `optimizer.zero_grad()`
# - C as A, and `requires_grad_(False)` for the head of `cats` in the second evening
# - D as B, and `0 * model["cats"](…).sum()` is added to the loss. (Some programs do this, because a library complained about parameters that were not used.)
# - E as A, and the optimizer has neither momentum nor weight decay
#
# **Predict.** In which of them does the head of `cats` move in the second evening? Answer with a list of letters.

# %%
L.predict("16.p5", None)

# %% tags=["C16.9", "C16.10", "P13"]
def clear_to_none(optimizer):
    optimizer.zero_grad()


def nothing(model, x):
    return 0 * model["cats"](model["trunk"](x)).sum()


proposals = {
    "A": two_evenings(clear_posted),
    "B": two_evenings(clear_to_none),
    "C": two_evenings(clear_posted, freeze=True),
    "D": two_evenings(clear_to_none, extra=nothing),
    "E": two_evenings(clear_posted, momentum=0, weight_decay=0),
}
for name, (_, names) in proposals.items():
    print(name, "moved in the second evening:", [each for each in names if each.startswith("cats")])
chart({"loss of cats": {name: proposals[name][0] for name in "ABE"}}, "step", "loss")

# %% [markdown]
# **Notice:** the second evening begins at step 30. From there on, the line of B is flat.
#
# - **A** and **C** are the same. The flag `requires_grad` says that no *new* gradient is to be stored. The old tensor in `.grad` stays, `zero_grad(set_to_none=False)` fills it with zeros, and the optimizer sees a gradient like any other.
# - **B** sets `.grad` to `None`, and a parameter whose `.grad` is None is skipped: no momentum, no weight decay, no step.
# - **D** undoes B. Zero times something has a gradient, and it is zero, not None.
# - **E** is quiet in the second evening, because with plain SGD a zero moves nothing. But look at its first evening: without momentum the head has learned less. It is another training, and not a cure.
#
# > **The rule.** For an optimizer, None means "rest", and zero means "go on as before". Clear to None, and keep the unused out of the loss.
#
# ## How would you have noticed?
#
# Three of the five programs raised, with an error that was easy to silence. Two never raised at all. None of the authors had a test. What would it have to look at? Three of the silent programs have not been asked the third question yet:

# %%
def listened(model, cut):
    before = copies(model)
    listen(cut, model, windows=5)
    return [name for name in before if name not in moved(model, before)]


G, D = players()
before = copies(G) | {f"D {name}": p for name, p in copies(D).items()}
round_b(G, D, *[torch.optim.SGD(each.parameters(), lr=0.1) for each in (G, D)], *sample())
names = [*moved(G, before), *moved(D, {name[2:]: p for name, p in before.items() if name.startswith("D ")})]
print("2 B, moved:", len(names), "of", len(before))
print("3 C, have not moved:", listened(CutBehind(), both))
print("3 D, have not moved:", listened(Echo(), lambda state: silence()))

# %% [markdown]
# Everything moves in them. So here is what finds each of the silent answers, as you have seen it run:
#
# | the silent answer | the loss | 2. the gradient is the slope | 3. what should move moves, what should rest rests |
# | --- | --- | --- | --- |
# | `detach().numpy()` as advised | falls | **no** | **no**: the encoder rests |
# | 1 A, a copy of the bias | falls | yes | **no**: the bias is where it was before the start |
# | 1 C, a new parameter | falls | yes | **no**: the bias rests in training |
# | 2 A, both fakes detached | (fakes stay near 0) | yes for `D`, **no** for `G`: it has none | **no**: `G` rests |
# | 2 B, both passes first | (fakes go to 3) | **no**: `.grad` of `D` is off by 0.63 | yes |
# | 3 C, cut inside | **stays at 1** | **no** | yes |
# | 3 D, zeros | **stops at a third** | yes | yes |
# | 4 A, a ring that only backward opens | - | - (a count in validation finds it) | - |
# | 4 B, a detached alias | - | **no**, after a write into `y` | - |
# | 5 A, C and D | **that of `cats` rises** | yes | **no**: the other head moves |
#
# No single column finds all of them, so a test needs more than one. The third question is the cheapest: it needs no second pass, only parameters from before and after. (`.grad` alone would not do: in report 5 it was zero, and the head moved.)
#
# **16.6 · The test that would have caught it** (10 minutes). Write a test that asks the third question. By the table it would have caught the story at the top, 1 C, 2 A and report 5. `model` is a module, `step()` makes one training step of it, and `rests` is a set of names of parameters that should not move. Make five steps, and return the sorted list of the names of all parameters that break the rule: they should learn and have not moved, or should rest and have moved. (Count everything as moved that has changed by more than 0.000001 anywhere. An error in `step` is the caller's business.)


# %%
def audit(torch, model, step, rests):
    step()
    return sorted(name for name, p in model.named_parameters() if p.grad is None)


L.check("16.6", audit)

# %% [markdown]
# ## Which instrument answers which question?
#
# Here is what we have used, as a table. The left column is what you have when you begin.
#
# | you have | ask | with |
# | --- | --- | --- |
# | an error message | what does it say, and what are its false cures? | `explain()` |
# | "modified by an inplace operation" | who wrote, and when? | `watch()`, `log.only("version", "refused")` (the writes, and what was refused) |
# | "a second time" | how far back does this pass go? | `draw(loss)`, `step(loss)` |
# | a part that does not learn | where does the graph end? | `draw(model, loss)` |
# | memory that grows | is it in slots, or who else holds it? | `ledger()`, weak references, `draw` |
# | a number that changed | what is different now? | `compare(before, after)` |
# | a gradient that you do not trust | is it the measured slope? | `slopes`, from this lesson |
# | a repair that you do not trust | who has moved? | `moved`, from this lesson |
#
# `explain` has not been used so far, because it tells the answer. Let us try it on report 2, and see whether it would have helped its author.

# %% tags=["C16.3"]
torch.manual_seed(0)
G, D = nn.Linear(2, 1, bias=False), nn.Linear(1, 1, bias=False)
optimizer = torch.optim.SGD(D.parameters(), lr=0.1)
score = D(G(torch.randn(3, 2)))
loss_G = high(score)
low(score).backward(retain_graph=True)
optimizer.step()
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss_G.backward()
explain(loss_G, names={"D.weight": D.weight, "G.weight": G.weight, "score": score, "loss_G": loss_G})

# %% [markdown]
# **Notice:** the picture marks the slot at which the pass stopped: the weight of `D`. The first two cures are those for a parameter: compute the loss again after the update, or move the update after the last `backward()`. And the second list says what only silences the message. Its last line is about `detach()`, which answer A of the thread puts in the wrong place.
#
# ## What do the ten most common bugs look like from outside?
#
# Most bugs of training scripts raise no error and have nothing to do with versions. They are forgotten lines, or lines in the wrong place. You know them by their symptoms, if you have seen them once.
#
# **16.7 · Ten symptoms** (8 minutes). Each of ten scripts has one bug. Which change cures it? All of them can be tried out: `L.check` runs the script with your cure and looks at the symptom.
#
# | | the author says |
# | --- | --- |
# | A | "The first step is fine. Then the steps become larger and larger although I use plain SGD, and the loss swings up and down." |
# | B | "I evaluate the same batch twice and get two different losses. The model has dropout." |
# | C | "Since I measure the accuracy after each epoch, my model overfits, as if there were no dropout any more." |
# | D | "Three classes. My network is right about every sample, and the cross-entropy does not fall below 0.55, however long I train." |
# | E | "The training loss stays at chance from the first epoch on. On Friday, with the data in the order of the file, it was fine." |
# | F | "Regression. The loss stops at the variance of the targets, and all predictions become the mean. `model(x)` has shape (n, 1)." |
# | G | "I exchanged the last layer for a new one. The loss falls a little. The new layer has exactly the numbers that it started with." |
# | H | "In validation, memory grows with every batch. I only add up the loss: `total += loss`. The model is in `eval()`." |
# | I | "`forward` runs through all five layers of `self.layers`, but `model.parameters()` is nearly empty." |
# | J | "After the first twenty batches nothing changes any more. The schedule should divide the rate by ten after each epoch." |
#
# Choose from: `"zero_grad"`, `"eval()"`, `"train()"`, `"raw scores"`, `"one permutation"`, `"squeeze"`, `"make the optimizer later"`, `"item()"`, `"ModuleList"`, `"once an epoch"`, `"smaller rate"` and `"retain_graph=True"`. Two of them are not needed.

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None, "I": None, "J": None}

L.check("16.7", cures)

# %% [markdown]
# ## What does your own engine say to these reports?
#
# Your `my_engine.py` was finished in lesson 13, and nothing has to be added. An engine shows what it is worth when somebody makes a mistake with it. The checkpoint of this lesson runs the reports on it, reduced to what it knows: a write into a parameter, a score that is older than the weights, a state that is carried over, a result on `ctx`, and a gradient that is None. It has to raise where PyTorch raises, with PyTorch's key phrase, and to give PyTorch's numbers after the cure. (`L.hint("16.b")` shows the program.)

# %%
L.build("16")

# %% [markdown]
# If it says *correct*, then your engine would have answered the five authors as PyTorch does. Somewhere in it are the few lines that do so. In ours, one of them is the cause of report 5. Which one?

# %% tags=["engine"]
show("optim.optimizer.BuiltIn.step")

# %% [markdown]
# `if param.grad is not None:` is all that an optimizer asks. It does not ask for the flag `requires_grad`, and a gradient of zeros is a gradient.
#
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/16_five_bug_reports/claims.py`).
#
# - **C16.1** Where numbers go through NumPy in the middle of a network, the part before gets no gradient and there is no error; with the places from NumPy and the numbers from gather the gradient is the measured slope.
# - **C16.2** A write to a copy of a bias leaves the bias as it is, and a new Parameter is not updated by an optimizer that was made before; a write under no_grad changes the parameter, which goes on learning.
# - **C16.3** If a discriminator steps between its score and the generator's backward, the pass raises; if it scores again after the step, the pass gives the generator the measured slope.
# - **C16.4** With fakes detached for both players, and a score for each loss, the generator gets no gradient; and with both passes before both steps the discriminator's gradient is the sum of both losses; neither raises.
# - **C16.5** A state of an LSTM that is carried from pass to pass raises in the second pass unless both of its tensors are detached; with retain_graph=True and a step of the weights in between, the pass into the window before raises about versions.
# - **C16.6** Detached after each step, a window's gradient is not the measured slope of its loss; detached between windows, it is.
# - **C16.7** A result on ctx outlives its last name; if backward clears it, then only where backward runs; detached or in a slot it does not.
# - **C16.8** If a result is overwritten before backward, a detached alias on ctx gives a wrong gradient without an error, and a slot raises.
# - **C16.9** With zero_grad(set_to_none=False), momentum moves a parameter that takes no part, frozen or not; with None it rests, and so does its velocity.
# - **C16.10** A loss that contains zero times a result gives its parameters gradients of zero and not None.
# - **C16.11** In a network of half a million parameters, eight random directions show that half of the gradients are missing, and do not accuse right ones.
#
# **A recipe.** Make the program small until it runs in a second and still shows the symptom. Ask what the message says, who did it, and how far back the pass goes. Write the cure. Then ask the three questions, and keep the answers to the last two as a test.
#
# **Left out, compared with PyTorch.** On a GPU an error may be reported lines after its cause, because the device works on while Python goes ahead; `CUDA_LAUNCH_BLOCKING=1` makes it wait. Reports about several machines are for lesson 17.
#
# **Read on in our engine:** `course_lib/engine/saved.py` and `course_lib/optim/optimizer.py`, the two places at which these five reports met the engine.
#
# **Next:** [lesson 17](17_two_machines.ipynb), in which two machines train one network.
