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
# # 05 · Leaf accumulation: where do gradients end up, and when are they wrong?
#
# **You write a training loop from memory. Each of its lines is correct. The loss falls in the first step, and in the second. Then it turns around, climbs above the value that it started with, falls again and climbs again. There is no error and no warning. You make the learning rate smaller, and now it swings more slowly.**
#
# The loop runs below, with both learning rates. One line is missing from it. To find out which one, and why its absence is so quiet, you need to know what a backward pass leaves behind when it is over. It is surprisingly little: one tensor for each leaf, in its attribute `.grad`.
#
# After this lesson you can
#
# - say what `.grad` of any tensor holds after several backward passes, and why;
# - train with a batch that does not fit into memory, and get exactly the gradient of the whole batch;
# - tell a gradient that is zero from a gradient that is missing, and say when the difference moves a weight;
# - say who else can see the memory in which a gradient lies, and when you need a copy.
#
# **Minutes** 85, in two sittings of 45 and 40 with a rest between them; 10 are for your own engine · **Needs** lesson 00, and lessons 01 to 04 for the piece of your own engine · **Out of scope** optimizer classes (lesson 10), hooks in general (lesson 12)
#
# [← 04 The engine](04_the_engine.ipynb) · [all lessons](home.ipynb) · [06 Saved tensors →](06_saved_tensors.ipynb)

# %%
import course_lib as torch
from fractions import Fraction

from backscope import step, watch
from coursekit import chart, expect_error, lesson
from coursekit.records import recorded

L = lesson(5)

# %% [markdown]
# Here is the loop. It looks for the `w` at which `w * w / 2` is smallest, which is 0. The slope of `w * w / 2` is `w` itself. So a step with the rate 0.5 subtracts half of `w` from `w`, and each step should bring us halfway to 0.

# %%
def losses(rate, steps=16):
    w, found = torch.tensor(1.0, requires_grad=True), {}
    for number in range(1, steps + 1):
        loss = w * w / 2
        loss.backward()
        with torch.no_grad():  # the step itself is not to be recorded
            w -= rate * w.grad
        found[number] = loss.item()
        if rate == 0.5 and number <= 3:
            print(f"step {number}: loss {loss.item():.3f}, then w is {w.item():.3f}")
    return found


lines = {"rate 0.5": losses(0.5), "rate 0.1": losses(0.1), "the first loss": {1: 0.5, 16: 0.5}}
chart({"the loss": lines}, across="step", up="loss")

# %% [markdown]
# The first step goes as it should: from 1 to 0.5. The second one ought to end at 0.25. It ends at −0.25. Keep the swinging curves in mind.
#
# ## What happens to the gradient that is already there?
#
# People often put a gradient aside, to log it or to compare it with a later one. Suppose you do that between two backward passes.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 3).sum().backward()
g = w.grad  # put the gradient aside
second = (w * 5).sum()
print(g)

# %% [markdown]
# The first pass has sent a 3 to each element of `w`. Now `second.backward()` runs, and sends a 5 to each.
#
# **Predict.** What does `print(g)` print after it? Answer with two numbers, as a list.

# %%
L.predict("05.p1", None)

# %% [markdown]
# `step(second)` runs the same pass as `second.backward()`, and shows it one node at a time. Go through it with the buttons, or with the arrow keys.

# %%
step(second)

# %% [markdown]
# **Notice:**
#
# - In the first frame nothing has run yet. The graph of the first pass has gone. All that it left are the two 3s in the box of `w`.
# - The sum and the product each take a gradient and send one on. They store nothing.
# - In the last frame it is the turn of `w`'s box, which is called `AccumulateGrad`. The 5s arrive there, and `.grad` goes from 3s to 8s.
#
# So two things happened to the gradient that was already there. The new one was *added* to it. And the sum was written into the old tensor, which is the one that you had put aside.

# %% tags=["C05.1", "P12"]
print(g)
print("g is w.grad:", g is w.grad)

# %% [markdown]
# The last line is the reason. `g = w.grad` makes no copy. In Python it gives a second name to the same object, and what is written to the object is seen under both names. To keep a gradient, keep a clone of it:
#
# ```text
#                          after the first pass     after the second
#
# g = w.grad               g ------+-> [3., 3.]     g ------+-> [8., 8.]
#                          w.grad -+                w.grad -+
#
# g = w.grad.clone()       g -------> [3., 3.]      g -------> [3., 3.]
#                          w.grad --> [3., 3.]      w.grad --> [8., 8.]
# ```
#
# > **The rule.** A backward pass *accumulates*: if a leaf has a `.grad` already, what arrives is added to it, in place.
#
# ## So why did the loss turn around?
#
# You can now read the loop from the beginning. In step 2 the slope 0.5 arrives, and is *added* to the 1 of step 1. The step subtracts half of 1.5 instead of half of 0.5.
#
# The line that is missing empties `.grad` before each pass: `w.grad = None`. In training scripts it is usually written `optimizer.zero_grad()`. Below is the loop with that line, and without it. `w` is also the slope of each step. On the right, look for the steps in which `w` is below 0. What does `.grad` hold there?

# %% tags=["C05.7", "P12"]
panels = {}
for name in ("the loop that clears", "the loop that forgets"):
    w, slopes, held = torch.tensor(1.0, requires_grad=True), {}, {}
    for number in range(1, 10):
        slopes[number] = w.item()
        if name == "the loop that clears":
            w.grad = None
        (w * w / 2).backward()
        held[number] = w.grad.item()
        with torch.no_grad():
            w -= 0.5 * w.grad
    panels[name] = {"w, the slope of this step": slopes, "what .grad holds": held, "zero": {1: 0.0, 9: 0.0}}
print("forgets: after step 9 .grad holds", w.grad.item(), "| the sum of all slopes is", sum(slopes.values()))
chart(panels, across="step", up="value")

# %% [markdown]
# In the loop that clears, `.grad` is the slope, and `w` is halved in each step. In the loop that forgets, `.grad` is the sum of all slopes so far: the two printed numbers are equal.
#
# **This sum makes `w` swing.** In step 3 `w` is below 0, and so is its slope. But the slopes 1 and 0.5 are still in `.grad`, so it is above 0, and the step moves `w` on, away from 0. In step 5 the negative slopes outweigh them at last, and `w` turns around. In step 9 it turns again, on the other side.
#
# The mistake is quiet, because a sum of gradients is a perfectly good tensor of the right shape. In the second step it even points in the right direction, and is only too long. Another line that people leave out of this loop is `with torch.no_grad():`, and that one is loud:

# %% tags=["P12"]
with expect_error(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
    w -= 0.5 * w.grad.data

# %% [markdown]
# The message is about `w`, the leaf that is overwritten while operations are recorded. So the `.data` of an old and widely copied forum answer does not help.
#
# ## Exercises: an easy one already now
#
# **05.4 · Put the lines in order** (2 minutes). These four lines are the body of a training loop that starts with `w.grad` None. Give one order, as a string such as `"ABCD"`, that makes every pass of the loop one correct step of gradient descent.
#
# ```python
# w.grad = None                             # A
# loss.backward()                           # B
# with torch.no_grad(): w -= 0.1 * w.grad   # C
# loss = ((w - 3) ** 2).sum()               # D
# ```

# %%
order = None

L.check("05.4", order)

# %% [markdown]
# ## Why does PyTorch add, if forgetting to clear hurts so much?
#
# Because adding is exactly what you want when a batch is too large for your memory. Your batch has 64 images, and your memory has room for the graph of 16. You can cut the batch into four *micro-batches* and call `backward()` for each of them. The four gradients add up in `.grad`, and then you make a single step. This is called **gradient accumulation**, and many large models are trained with it.
#
# The loss is usually a mean, so people divide the loss of each part by the number of parts. Here are four samples, and the last one is an outlier:
#
# ```python
# x = torch.tensor([2.0, 2.0, 2.0, 10.0])
# (w * x).mean().backward()               # the whole batch: w.grad is 4.0, the mean of x
#
# w.grad = None                           # once more, in two parts
# for part in (x[:3], x[3:]):
#     loss = (w * part).mean() / 2        # 2 is the number of parts
#     loss.backward()
# ```
#
# **Predict.** What is `w.grad` after the loop? One number.

# %%
L.predict("05.p2", None)

# %%
parts = [torch.tensor([2.0, 2.0, 2.0]), torch.tensor([10.0])]
w = torch.tensor(1.0, requires_grad=True)
for part in parts:
    ((w * part).mean() / 2).backward()
    print("samples in this part:", len(part), "| w.grad", w.grad)

# %% [markdown]
# The result is 6 and not 4. To see why, ask how much each *sample* counts. That is a slope, too: how much does the loss change when this sample changes? So for once we make the samples a leaf, and read their `.grad`. Since `w` is 1, the loss is the mean of `x` itself.

# %%
def fractions(grad):
    return {number: Fraction(slope).limit_denominator(9) for number, slope in enumerate(grad.tolist(), 1)}


x = torch.tensor([2.0, 2.0, 2.0, 10.0], requires_grad=True)
x.mean().backward()
counts = {"in the whole batch": fractions(x.grad)}
x.grad = None
for part in (x[:3], x[3:]):
    (part.mean() / 2).backward()
counts["in two parts"] = fractions(x.grad)
chart({"how much a sample counts": counts}, across="sample (the fourth is the outlier)", up="slope", bars=True)

# %% [markdown]
# **Notice:** in the whole batch each sample counts 1/4. In two parts the outlier counts 1/2, twice what it should, and the others count 1/6.
#
# You can read these numbers off the program. A sample of the first part is divided by 3, in its mean, and then by 2. The outlier is alone in its mean, so it is only divided by 2.
#
# **A mean of means is not the mean, unless all parts have the same size.** With equal parts the recipe is fine, which is why it survives. It goes wrong when the last batch is shorter, or when the samples are sentences and you average over their words.
#
# The cure is to decide how much a *sample* should count, and to give it this weight in whatever part it stands. In our batch that is 1/4. So take the sum of each part, and divide by the number of samples in all parts together. `watch` keeps a log of what happens inside, and we print some of it:

# %% tags=["C05.6", "P14"]
w.grad = None
samples = sum(len(part) for part in parts)
with watch() as log:
    for part in parts:
        ((w * part).sum() / samples).backward()
print(w.grad)
for _, _, words, _ in log.only("saved", "freed", "accumulated").lines:
    print(words.partition(",")[0])

# %% [markdown]
# That is the 4 of the whole batch. Read the log from the top: what the graph of the first part had saved was freed *before* the second part saved anything. This is what you wanted from micro-batches: only one part's graph is in memory at any time.
#
# > **The rule.** Micro-batches add up to the gradient of the whole batch if each sample keeps the weight that it has in the whole batch.
#
# ## Exercises: cut your own batch
#
# **05.3 · Repair the micro-batches** (8 minutes). `parts` is a list of pairs `(x, y)` of one-dimensional tensors, of another length in each part, and `w` is one number. The function is to add the gradient of the mean squared error over *all* samples to what is in `w.grad` already. Each part must get a backward of its own, and what its graph has saved must be freed before the next part begins. As it stands, the function makes the mistake of this lesson. Repair it. (`torch` is an argument because the check hands over the library on which it tries your function.)


# %%
def accumulate(torch, w, parts):
    for x, y in parts:
        loss = ((x * w - y) ** 2).mean()
        (loss / len(parts)).backward()


L.check("05.3", accumulate)

# %% [markdown]
# ## And the two paths of one pass: are they added in `.grad`, too?
#
# Here `a` is used twice. A 3 comes along the one path and a 5 along the other.
#
# ```python
# a = torch.ones(2, requires_grad=True)
# a.register_hook(lambda grad: print(grad))
# (a * 3 + a * 5).sum().backward()
# ```
#
# The second line hangs a *hook* on `a`. This is a function of ours that is called with each gradient that reaches `a` (lesson 12).
#
# **Predict.** What does the hook print? Answer with a list that has one number for each call: the number of which the printed tensor is full.

# %%
L.predict("05.p7", None)

# %% tags=["C05.3", "C05.5"]
a = torch.ones(2, requires_grad=True)
a.register_hook(lambda grad: print("arrives at a:", grad))
h, k = a * 3, a * 5
h.retain_grad()
(h + k).sum().backward()
print("h.grad:", h.grad, "| does k keep its own?", k.retains_grad)

# %% [markdown]
# The hook ran once, with 8s. The sum over the *paths of one pass* is taken before the leaf is reached (lesson 04). Only the sum over *several passes* is taken in `.grad`.
#
# Your own engine of lesson 04 also ends with 8s in `.grad`, but they come in two parts: it has two accumulators for `a` here, one gets 3s, and the other 5s.
#
# The products `h` and `k` are results. They keep no gradient, unless you ask before the pass with `retain_grad()`, as we did for `h` (lesson 02).
#
# > **The rule.** Only leaves store a gradient unasked, and each of them receives one sum in a pass.
#
# ## Is a gradient of zero the same as no gradient?
#
# An "empty" `.grad` can be None or a tensor of zeros. The two mean different things. None says that nothing has arrived since the leaf was made, or since you last set `.grad` to None. Zeros can come from two places: you wrote them there, to clear it, or gradients arrived and their sum is zero. Whoever reads `.grad` cannot tell which.

# %% tags=["C05.2"]
u, v, z = (torch.ones(2, requires_grad=True) for _ in range(3))
(u * 0 + v * 7).sum().backward()  # z takes no part
print("u.grad:", u.grad, " z.grad:", z.grad)

# %% [markdown]
# `u` was multiplied by 0. That is a path like any other, and a zero came along it. `z` was on no path, so it has no gradient at all.
#
# There are also two ways of clearing `.grad`: `v.grad = None`, and `v.grad.zero_()`. Here a gradient is put aside twice, and each time cleared in another way.
#
# ```python
# v = torch.ones(2, requires_grad=True)
# (v * 7).sum().backward()
# first = v.grad
# v.grad = None
#
# (v * 7).sum().backward()
# second = v.grad
# v.grad.zero_()
# ```
#
# **Predict.** Which number does `first` hold in each of its elements at the end, and which number `second`? Answer with a list of two numbers.

# %%
L.predict("05.p6", None)

# %% tags=["C05.8"]
v = torch.ones(2, requires_grad=True)
(v * 7).sum().backward()
first = v.grad
v.grad = None

(v * 7).sum().backward()
second = v.grad
v.grad.zero_()
print("first:", first, " second:", second)

# %% [markdown]
# The first one survived, because `v.grad = None` only made `v` forget it. The second one was overwritten by `zero_()`.
#
# An optimizer's `zero_grad()` does the first thing, unless you ask for the second:

# %%
v.grad = torch.tensor([1.0, 1.0])
torch.optim.SGD([v], lr=0.1).zero_grad(set_to_none=False)
print(v.grad)
torch.optim.SGD([v], lr=0.1).zero_grad()
print(v.grad)

# %% [markdown]
# ## Exercises: read the state
#
# **05.1 · Read the state** (5 minutes). After this program, give the values of `p.grad`, of `q.grad` and of `r.grad` as lists (or None), and whether `early is p.grad`.
#
# ```python
# p, q, r = (torch.ones(2, requires_grad=True) for _ in range(3))
# (p * 2 * q).sum().backward()
# early = p.grad
# (p * 3).sum().backward()
# q.grad = None
# (q * 0).sum().backward()
# ```

# %%
state = {"p.grad": None, "q.grad": None, "r.grad": None, "early is p.grad": None}

L.check("05.1", state)

# %% [markdown]
# ## Does a weight rest when its gradient is zero?
#
# With plain gradient descent it does: the step subtracts the learning rate times zero. But most people train with **momentum** (lesson 10 says why). Instead of following each gradient, one keeps a running sum of them, the *velocity*, in which older gradients fade. With `torch.optim.SGD([w], lr=lr, momentum=0.9)`, a step does this:
#
# ```python
# velocity = 0.9 * velocity + w.grad
# w        = w - lr * velocity
# ```
#
# You have met such a sum. With 1 in place of 0.9 nothing fades, and the velocity is what `.grad` held in the loop that forgets. So with momentum 1, a loop that clears should do exactly the same steps:

# %%
for momentum in (1.0, 0.9):
    w, values = torch.tensor(1.0, requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=0.5, momentum=momentum)
    for _ in range(100):
        values.append(w.item())
        optimizer.zero_grad()
        (w * w / 2).backward()
        optimizer.step()
    same, last = values[:9] == list(slopes.values()), max(values[-10:])
    print(f"momentum {momentum} | nine steps as in the loop that forgets: {same} | largest w at the end: {last:.3f}")

# %% [markdown]
# It does, and after 100 steps `w` still swings as far as at first. With 0.9 the swinging dies away. So if you forget to clear, you train with momentum 1.
#
# Now let `w` be 1, the velocity 0, and the learning rate 1. In the first step the gradient is 1. In the second step it is *zero*. In the third step it is *None*, and the optimizer leaves a parameter without a gradient out of its step.
#
# **Predict.** What is `w` after each of the three steps? Answer with a list of three numbers.

# %%
L.predict("05.p3", None)

# %% tags=["C05.9", "P13"]
def walk(gradients):
    w, values = torch.tensor(1.0, requires_grad=True), [1.0]
    optimizer = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    for gradient in gradients:
        w.grad = gradient
        optimizer.step()
        values.append(round(w.item(), 4))
    return values


one, zero = torch.tensor(1.0), torch.tensor(0.0)
print("at first, and after each step:", walk([one, zero, None]))

# %% [markdown]
# **Notice:** the gradient of the second step was zero, and `w` moved by 0.9.
#
# The velocity of the first step was still rolling. A zero gradient lets it fade, but it does not stop it.
#
# This catches people who *freeze* a layer, that is, who want to keep its weights as they are for a while. Here `w` is to be frozen from the second step on, once with zeros and once with None:

# %%
frozen = {"zeros": walk([one] + 14 * [zero]), "None": walk([one] + 14 * [None])}
lines = {name: dict(enumerate(values)) for name, values in frozen.items()}
lines |= {"−9, the limit": {0: -9.0, 15: -9.0}, "frozen from here": {1: 0.0}}
chart({"w, frozen from step 2 on": lines}, across="step", up="w")

# %% [markdown]
# The first step has moved `w` from 1 to 0. With None it stays there. With zeros it drifts away, and comes nearer and nearer to −9: the steps 0.9, 0.81, 0.729 and so on add up to 9.
#
# > **The rule.** An optimizer takes zeros for a gradient, and None for the absence of one. If it has a memory, this moves weights.
#
# ## Exercises: a step of your own
#
# **05.5 · Momentum that respects None** (5 minutes). Write one step of gradient descent with momentum: the velocity `v` becomes `mu` times itself plus the gradient, and then `p` moves by `-lr` times the velocity. `p` and `v` must stay the same tensors, so write into them. A parameter without a gradient must not move, and its velocity must not change. `p.grad` is only to be read.


# %%
def momentum(torch, p, v, lr, mu):
    v = mu * v + p.grad
    p = p - lr * v


L.check("05.5", momentum)

# %% [markdown]
# ## A rest
#
# You know now how gradients get into `.grad`, and that zero and None differ there. Next comes the memory in which they lie. You will lend backward a tensor of your own. Is it the same afterwards?
#
# ## In whose memory does a gradient lie?
#
# At the beginning `g` changed although no line of the program wrote to it: you had given one tensor two names. Can the *engine*, too, let two names share one memory?
#
# Addition is the first suspect. The slope of `a + b` is 1 for both operands, so its node sends the same numbers both ways. Does it send the same *memory*? Then `a.grad` and `b.grad` would be one tensor. We multiply one of them by 100 and look at the other:

# %% tags=["C05.4"]
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(a + b).sum().backward()
print(a.grad.mul_(100), b.grad)

# %% [markdown]
# `b.grad` still holds ones. Each leaf has been given a memory of its own.
#
# The second suspect is the gradient that *you* hand to backward (the *upstream gradient*, one number for each output). We send it through a `view`, the operation that reads the numbers of `x` in another shape (lesson 08). `data_ptr()` is the address at which a tensor's numbers begin. A hook on `x` notes of each gradient that arrives whether it has the address of `given`, and so lies in its memory:
#
# ```python
# x = torch.ones(2, requires_grad=True)
# given, same = torch.ones(2, 1), []
# x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
# for gradient in (given, given.clone()):
#     x.view(2, 1).backward(gradient)
# print(same)
# ```
#
# **Predict.** What is printed? Answer with a list of two: True or False for each pass.

# %%
L.predict("05.p4", None)

# %% tags=["C05.10", "P26"]
x = torch.ones(2, requires_grad=True)
given, same = torch.ones(2, 1), []
x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
for gradient in (given, given.clone()):
    x.view(2, 1).backward(gradient)
print(same)

# %% [markdown]
# In the first pass, the very numbers that you had in your hand arrived at the leaf: backward of a view changes only the shape, from (2, 1) back to (2,). The clone has a memory of its own.
#
# > **The rule.** What you hand to backward can arrive at a leaf as it is, in your memory.
#
# ## Does the leaf keep that memory?
#
# This is one of the few places where our engine and PyTorch differ. Our engine makes a copy here. PyTorch makes the memory that arrives the leaf's `.grad`, and so saves a copy. Suppose you run this in PyTorch:
#
# ```python
# x, given = torch.ones(2, requires_grad=True), torch.ones(2, 1)
# x.view(2, 1).backward(given)
# x.view(2, 1).backward(given.clone())
# ```
#
# **Predict.** Which two numbers does `given` hold *in PyTorch* at the end? Answer with a list.

# %%
L.predict("05.p5", None)

# %% [markdown]
# This is what PyTorch printed, recorded once, and what our engine says.

# %% tags=["engine"]
recorded("handed to backward", program=False)
print("\non our engine `given` still holds", given.tolist())

# %% [markdown]
# In PyTorch `given` holds 2s. The first pass made its memory the leaf's `.grad`, and the second pass was added into it:
#
# ```text
#              before               after the first pass     after the second
#
# PyTorch      given --> [1., 1.]   given --+-> [1., 1.]     given --+-> [2., 2.]
#              x.grad    None       x.grad -+                x.grad -+
#
# our engine   given --> [1., 1.]   given --> [1., 1.]       given --> [1., 1.]
#              x.grad    None       x.grad -> [1., 1.]       x.grad -> [2., 2.]
# ```
#
# So if you need a gradient after you have handed it to backward, hand over a clone.
#
# ## Why does it not happen with `a + b`?
#
# Here `(a + b).backward(given)` was run in PyTorch:

# %%
recorded("handed to a + b", program=False)

# %% [markdown]
# One tensor was on its way to two leaves. If both had kept it, they would share one `.grad`. So PyTorch counts who holds the *tensor* that arrives. If anybody but the pass itself holds it, the leaf gets a copy.
#
# ```text
#            who holds it            tensor                memory
#
# a + b      you, as given     ---+
#            on its way to a   ---+-->  shape (2,)   ------>  [1., 1.]
#            on its way to b   ---+
#
# the view   you, as given     ------>  shape (2, 1) ---+
#                                                       +-->  [1., 1.]
#            on its way to x   ------>  shape (2,)   ---+
# ```
#
# **Notice:**
#
# - With `a + b`, *one tensor* has three holders. PyTorch sees that, and copies.
# - With the view there are *two tensors* in *one memory*, each with one holder. PyTorch sees nobody else, and the leaf keeps what arrives.
# - Our engine also asks who else sees the *memory*. It finds `given`, and copies.
#
# ## Exercises: whose memory it is
#
# **05.6 · The gradient that was used again** (8 minutes, harder). `x` is a leaf with n numbers, and `g` is a tensor of shape (n, 1). After the call, `x.grad` is to have gained `times` times the numbers of `g`, with one backward for each. In PyTorch, if `x.grad` is None and `times` is 3, the function below leaves `x.grad` with 4 times `g`, and the caller's `g` holds other numbers than before. Work out why. Then repair it: what arrives at `x` while `x.grad` is None must not lie in the memory of `g`, nor in memory that a later pass is given again. (The check looks at that, so it can judge your answer on our engine, too.)


# %%
def passes(torch, x, g, times):
    for _ in range(times):
        x.view(-1, 1).backward(g)


L.check("05.6", passes)

# %% [markdown]
# ## Build your own engine: one accumulator for each leaf
#
# Your engine from lesson 04 makes a new `AccumulateGrad` each time a leaf is used, and it adds out of place: `leaf.grad = leaf.grad + grad`. Now you know what it should do. In `my_engine.py`, which lies beside this notebook:
#
# 1. Make one accumulator for each leaf, so that it receives one sum in a pass. Use it again as long as a graph still holds it. Let the leaf hold it by a *weak reference* (`weakref.ref(node)`), so that leaf and accumulator do not hold each other in a ring (lesson 01). `gradient_edge` is the place.
# 2. When the first gradient arrives, store a **clone** of it. For that, give your table a row for `clone`: it copies, and its slope is 1. (Copying every time is simpler than asking who else sees the memory, and never wrong.)
# 3. When `.grad` is there already, add to it **in place** (`leaf.grad.array += …`), so that whoever holds the tensor sees the sum.
#
# These are about twelve lines, and ten minutes. Without the clone, `(a + b).backward(g)` makes your `g` the `.grad` of `a` and of `b`, and the next pass writes into all three.

# %%
L.build("05")

# %% [markdown]
# When the checkpoint says *correct*, your engine accumulates as PyTorch does: in place, and in memory of its own. In its picture two arrows lead into one accumulator, and `x.grad` holds the 8 that two earlier passes have added up.
#
# ## Exercises: a bit of everything
#
# **05.2 · Which happens?** (8 minutes). Each program starts with a fresh leaf `w = [1., 2.]`. Answer `"raises now"` (the offending line itself raises), `"raises at backward"` (a backward call raises, later), `"silently wrong"` (no error, but `got` is not what the comment asks for) or `"fine"`. One of them turns on what a pass frees, as in the log of the micro-batches.
#
# ```python
# # A. wanted: the gradient of the second loss alone, [5, 5]
# (w * 3).sum().backward(); w.grad = torch.zeros(2); (w * 5).sum().backward(); got = w.grad
# # B. wanted: the gradient of the first loss, [3, 3], kept while the second is computed
# (w * 3).sum().backward(); got = w.grad; w.grad.zero_(); (w * 5).sum().backward()
# # C. wanted: one step of gradient descent, to [0, 1]
# (w * 1).sum().backward(); w.sub_(w.grad); got = w
# # D. wanted: the gradient of the sum of two losses that share h, [6, 12]
# h = w * w; (h + 1).sum().backward(); (h * 2).sum().backward(); got = w.grad
# # E. wanted: the gradient for h, [6, 12]
# h = w * 3; h.retain_grad(); (h * h).sum().backward(); got = h.grad
# # F. wanted: the gradient for the scaled weight s, [1, 1]
# s = w * 0.5; s.sum().backward(); got = w.grad
# ```

# %%
verdicts = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("05.2", verdicts)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/05_leaf_accumulation/claims.py`).
#
# *What arrives is added*
#
# - **C05.1** A second `backward()` adds to `.grad` in place: the sum stands in the same tensor.
# - **C05.3** A leaf that is reached along two paths receives their sum, once.
# - **C05.5** A tensor that is not a leaf keeps its gradient only if `retain_grad()` was called on it.
# - **C05.7** Without clearing, step k moves by the learning rate times the sum of the gradients of steps 1 to k.
# - **C05.6** Micro-batches add up to the batch's gradient when every sample keeps the weight it has there.
#
# *Zero and None*
#
# - **C05.2** `.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros.
# - **C05.8** `zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged.
# - **C05.9** With momentum, a parameter that has velocity still moves on a zero gradient; None leaves it where it is.
#
# *Whose memory it is*
#
# - **C05.4** Two leaves that receive equal gradients from one addition keep them in separate memory.
# - **C05.10** A gradient handed to backward can arrive at a leaf as the caller's own memory; a clone of it cannot.
#
# **Left out, compared with PyTorch.** Claim C05.4 says "from one addition" with reason. As PyTorch keeps the memory of a view, in rare programs two leaves come to share one: after `(a.view(2, 1) + b.view(2, 1)).backward(g)`, `a.grad` and `b.grad` lie in the memory of `g`. Our engine copies a view as long as somebody else can see its memory. PyTorch also has sparse gradients, and gradients in another dtype than their leaf's; our engine has neither. With `create_graph=True` neither of the two adds in place: the sum is a new tensor, with a history of its own (lesson 13).
#
# **Read on in our engine:** `AccumulateGrad` and `can_steal_grad` in `course_lib/engine/graph.py`.
#
# **Next:** `.grad` is what stays after a pass. [Lesson 06](06_saved_tensors.ipynb) is about what waits *before* it: the tensors that nodes save while your program runs forward, and how long they stay in memory.
