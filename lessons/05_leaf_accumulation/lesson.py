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
# **You write a training loop from memory. Each of its lines is correct. The loss falls in the first step, and in the second. Then it turns around, climbs above its starting value, falls again and climbs again. There is no error and no warning. You make the learning rate smaller, and the loss still swings, only more slowly.**
#
# The loop is in the second cell below. One line is missing from it. To see which one, and why nothing complains, you need to know what a backward pass leaves behind: for each leaf that it reaches, one tensor in the attribute `.grad`.
#
# After this lesson you can
#
# - say what `.grad` of a leaf holds after several backward passes;
# - train with a batch that does not fit into memory, and get exactly the gradient of the whole batch;
# - tell a gradient of zero from a missing gradient, and say what SGD makes of each.
#
# **Minutes** 80, of which 12 are for your own engine · **Needs** lessons 00 to 04 · **Out of scope** whose memory a gradient is (part [05b](05b_whose_memory_is_a_gradient.ipynb), after lesson 08), optimizers (lesson 10)
#
# [← 04 The engine](04_the_engine.ipynb) · [all lessons](home.ipynb) · [06 Saved tensors →](06_saved_tensors.ipynb)

# %%
import course_lib as torch
from backscope import draw, film
from coursekit import lesson

L = lesson(5)

# %%
def descend(rate, steps=16):
    w, losses = torch.tensor(1.0, requires_grad=True), []
    for _ in range(steps):
        loss = w * w / 2
        loss.backward()
        with torch.no_grad():  # the step itself is not to be recorded
            w -= rate * w.grad
        losses.append(loss.item())
    return losses


print([round(loss, 3) for loss in descend(0.5, steps=6)])
both = {"rate 0.5": descend(0.5), "rate 0.1": descend(0.1)}
L.stage.curves("loss", both, level=("the first loss", 0.5))

# %% [markdown]
# (`L.stage` holds the code that only draws this lesson's charts.)
#
# The loop looks for the `w` at which `w * w / 2` is smallest, which is 0. The slope of `w * w / 2` is `w` itself. So with the rate 0.5, each step should subtract half of `w` from `w`, and each loss should be a quarter of the one before.
#
# The second loss is a quarter of the first, and the third is a quarter of the second. The fourth is larger. Keep these curves in mind: we come back to them, and to the line that is missing.
#
# ## What happens to the gradient that is already there?
#
# People often put a gradient aside, to log it or to compare it with a later one. This program does that between two backward passes.

# %%
def twice():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    first = w.sum() * 3
    first.backward()
    g = w.grad  # put the gradient aside
    second = w.sum() * 5
    second.backward()
    print(g)

# %% [markdown]
# The first pass sends a 3 to each element of `w`. The second pass sends a 5 to each.
#
# **Predict.** What does the last line print? Answer with a list of two numbers, in place of `None`. Below, `L.run` runs the program and shows whatever comes of it: what it prints, or an error. In your own copy it waits until you have predicted.

# %%
L.predict("05.p1", None)

# %% tags=["C05.1", "P12"]
L.run(twice, after="05.p1")

# %% [markdown]
# Here is the same program as a film, one line at a time. Look at what each line has changed.

# %%
L.run(film, twice, after="05.p1")

# %% [markdown] tags=["tells"]
# **Notice:** `first.backward()` leaves one thing behind, the gradient [3, 3]. The 3 that the product had saved is freed. `second.backward()` changes two lines at once, `g` and `w.grad`. The 5s were added to the 3s, and both names show the sum.
#
# Both names show it because they mean one tensor. `g = w.grad` makes no copy; it gives a second name to the tensor that is there, and the sum is written into that tensor. (The number after the v counts writes; here it goes from 1 to 2. Lesson 07 is about it.)
#
# To put a gradient aside, copy it: `g = w.grad.clone()` makes a new tensor with the same numbers.
#
# > **The rule.** A plain `backward()` *accumulates*. If a leaf has a `.grad` already, the gradient that arrives is added to it, in place.

# %% [markdown]
# You may know by now which line is missing from the loop at the top. Write it down. You can compare three sections further on.
#
# ## Is a gradient of zero the same as no gradient?
#
# Before any pass, `.grad` is not a tensor of zeros. It is None. Now look at three leaves after one pass. The first is multiplied by 0, and the third takes no part.

# %% tags=["C05.2"]
u, v, z = (torch.ones(2, requires_grad=True) for _ in range(3))
(u * 0 + v * 7).sum().backward()
print("u.grad:", u.grad, " v.grad:", v.grad, " z.grad:", z.grad)

# %% [markdown]
# There is a path from the sum to `u`, and a gradient came along it. The gradient was zero. There is no path to `z`, so nothing came, and `z.grad` is still None.
#
# You can go back to None yourself, with `u.grad = None`. After that the leaf is as if no pass had reached it.
#
# > **The rule.** None says that nothing has arrived. Zeros say that something has arrived, or that somebody wrote the zeros there.
#
# ### Exercise: read the state
#
# **05.1 · Read the state** (5 minutes). After this program, give the values of `p.grad`, of `q.grad` and of `r.grad` as lists (or None), and say whether `early is p.grad`.
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
# ## What if the batch does not fit into memory?
#
# Suppose your batch has 64 images, and your memory has room for the graph of 16. Cut the batch into four *micro-batches* and call `backward()` for each of them. The gradients of all four end up in `.grad`. Then you make a single step. This is called **gradient accumulation**, and many large models are trained with it.
#
# The loss is usually a mean over the batch. Two ways of cutting it are in use. One takes the mean of each part and divides by the number of parts. The other takes the sum of each part and divides by the number of samples in the whole batch.
#
# Here are four samples, of which the last is an outlier. The batch is cut into a part of three and a part of one. Without cutting, `w` would get the gradient 4, the mean of the samples.

# %%
def by_means(parts):
    w = torch.tensor(1.0, requires_grad=True)
    for part in parts:
        loss = (w * part).mean() / 2  # 2 parts
        loss.backward()
    print("by means:", w.grad)


def by_sums(parts):
    w = torch.tensor(1.0, requires_grad=True)
    for part in parts:
        loss = (w * part).sum() / 4  # 4 samples
        loss.backward()
    print("by sums:", w.grad)


parts = torch.tensor([2.0, 2.0, 2.0]), torch.tensor([10.0])

# %% [markdown]
# **Predict.** Which gradient does `by_means(parts)` print? Answer with one number.

# %%
L.predict("05.p2", None)

# %% tags=["C05.3", "P14"]
L.run(by_means, parts, after="05.p2")
L.run(by_sums, parts, after="05.p2")

# %% [markdown]
# To compare the two, ask how much each *sample* counts: by how much does the loss change when this sample changes? That is a slope, too. So for once we make the samples a leaf and read their `.grad`. (`w` is 1, so it can be left out.)

# %%
def slopes_of(cut):
    x = torch.tensor([2.0, 2.0, 2.0, 10.0], requires_grad=True)
    for loss in cut(x):
        loss.backward()
    return x.grad.tolist()


ways = {
    "the whole batch": slopes_of(lambda x: [x.mean()]),
    "by means": slopes_of(lambda x: [x[:3].mean() / 2, x[3:].mean() / 2]),
    "by sums": slopes_of(lambda x: [x[:3].sum() / 4, x[3:].sum() / 4]),
}
L.run(L.stage.shares, ways, after="05.p2")

# %% [markdown] tags=["tells"]
# **Notice:** in the whole batch each sample counts 1/4, and so it does by sums. By means the outlier counts 1/2, which is twice what it should, and each of the others counts 1/6.
#
# You can read these numbers off the program. By means, a sample of the first part is divided by 3, in the mean of its part, and then by 2. The outlier is alone in its part. It is divided by 1, and then by 2. So the result is 6 and not 4.
#
# In one line, for K parts with n<sub>1</sub>, n<sub>2</sub>, … samples and N samples in all:
#
# &nbsp;&nbsp;&nbsp;&nbsp;1/K · Σ<sub>k</sub> (1/n<sub>k</sub> · the sum of part k) &nbsp;&nbsp;is not&nbsp;&nbsp; 1/N · Σ<sub>k</sub> (the sum of part k)
#
# If all parts have the same size, the mean of their means is the mean of the batch. That is why the first way survives. It goes wrong when the last part is shorter, or when the samples are sentences and you average over their words. Until October 2024 the `Trainer` of Hugging Face's Transformers averaged over the words (more exactly, the tokens) in this way ([their report](https://huggingface.co/blog/gradient_accumulation)).
#
# > **The rule.** Micro-batches add up to the gradient of the whole batch if each sample has the same weight as in the whole batch. (A layer that mixes the samples, such as batch norm, still sees only its part.)

# %% [markdown]
# Micro-batches were meant to save memory. When is what one part has saved let go? Look for the word FREED in the film.

# %%
film(by_sums, parts)

# %% [markdown]
# **Notice:** `backward()` of the first part frees what the part's graph had saved. Only then is the graph of the second part made.
#
# ### Exercise: repair the micro-batches
#
# **05.2 · Repair the micro-batches** (8 minutes). `parts` is a list of pairs `(x, y)` of one-dimensional tensors, with a different length in each part, and `w` is one number. The function should add the gradient of the mean squared error over *all* samples to what is in `w.grad` already. Each part must have a backward of its own, and what its graph has saved must be freed before the next part begins. As it stands, the function divides by the number of parts. Repair it. (`torch` is an argument because the check passes in the library on which it tries your function.)


# %%
def accumulate(torch, w, parts):
    for x, y in parts:
        loss = ((x * w - y) ** 2).mean()
        (loss / len(parts)).backward()


L.check("05.2", accumulate)

# %% [markdown]
# ## So why did the loss turn around?
#
# Compare with the line that you wrote down: it is `w.grad = None`, before each step's first pass. In training scripts it is usually written `optimizer.zero_grad()`. Here is the loop with the line, and without it. In each step it notes the slope, and what `.grad` holds after the pass.

# %%
def look(clear):
    w, slopes, held = torch.tensor(1.0, requires_grad=True), [], []
    for _ in range(9):
        slopes.append(w.item())  # the slope of w * w / 2 is w
        if clear:
            w.grad = None
        (w * w / 2).backward()
        held.append(w.grad.item())
        with torch.no_grad():
            w -= 0.5 * w.grad
    return slopes, held


slopes, held = look(clear=False)
print("w in the first three steps, without the line:", slopes[:3])

# %% [markdown]
# `w` is below 0 in the third step, and so is its slope. The step should therefore move `w` up.
#
# **Predict.** What does `w.grad` hold in this step, when `backward()` has run? Answer with one number, and say to yourself which way `w` moves then.

# %%
L.predict("05.p3", None)

# %% tags=["C05.4", "P12"]
def steps():
    for n in range(9):
        print(f"step {n + 1} | w {slopes[n]:6.3f} | .grad {held[n]:6.3f}")
    print(f"the sum of all slopes: {sum(slopes):.3f}")


L.run(steps, after="05.p3")

# %% [markdown]
# And here are the two loops beside each other.

# %%
loops = {"with the line": look(clear=True), "without it": (slopes, held)}
L.run(L.stage.beside, loops, after="05.p3")

# %% [markdown] tags=["tells"]
# **Notice:** with the line, `.grad` is the slope, and `w` is halved in each step. Without it, `.grad` is the sum of all slopes so far. In the last row it equals the sum that is printed below it.
#
# **This sum makes `w` swing.** In step 3 the slopes 1 and 0.5 are still in `.grad`, together with -0.25. So `.grad` is 1.25, above 0, and the step moves `w` further down. In step 5 the negative slopes outweigh the first two at last, and `w` turns around.
#
# Nothing complains, because a sum of gradients is a perfectly good tensor. It has the right shape. In the second step it even has the right sign. That step should have taken `w` to 0.25, and it took it to -0.25. The square hides the sign, so the third loss looked right.
#
# > **The rule.** Clear `.grad` before each step's first pass. If you forget to, each step uses the sum of all gradients so far.

# %% [markdown]
# ### Exercise: put the lines in order
#
# **05.3 · Put the lines in order** (2 minutes). These four lines are the body of a training loop that starts with `w.grad` None. Give one order, as a string such as `"ABCD"`, that makes every pass of the loop one correct step of gradient descent.
#
# ```python
# w.grad = None                             # A
# loss.backward()                           # B
# with torch.no_grad(): w -= 0.1 * w.grad   # C
# loss = ((w - 3) ** 2).sum()               # D
# ```

# %%
order = None

L.check("05.3", order)

# %% [markdown]
# ## Where else is a sum of gradients used?
#
# Many people train with **momentum**. They do not follow each gradient by itself. They follow a running sum of the gradients, the *velocity*, in which older gradients fade. With `torch.optim.SGD([w], lr=lr, momentum=0.9)`, a step does this:
#
# ```python
# velocity = 0.9 * velocity + w.grad
# w        = w - lr * velocity
# ```
#
# Put 1 in place of 0.9. Then nothing fades, and the velocity is the sum of all gradients so far. That is what `.grad` held in the loop that forgets. So a loop that clears, with momentum 1, should take the very same steps.

# %%
def train(momentum, steps=9):
    w, values = torch.tensor(1.0, requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=0.5, momentum=momentum)
    for _ in range(steps):
        values.append(w.item())
        optimizer.zero_grad()
        (w * w / 2).backward()
        optimizer.step()
    return values


print("forgets:           ", [round(w, 3) for w in slopes])
print("clears, momentum 1:", [round(w, 3) for w in train(1.0)])
lines = {"momentum 1": train(1.0, 60), "momentum 0.9": train(0.9, 60)}
L.stage.curves("w", lines, level=("0, the goal", 0.0))

# %% [markdown]
# The two printed lines are the same. **If you forget to clear in plain gradient descent, you train with momentum 1.** That is why the loss swung at the beginning of this lesson. With momentum 1 the swinging goes on and on. With 0.9 the old gradients fade, and the swinging dies away.
#
# ## Does a weight rest when its gradient is zero?
#
# In plain gradient descent it does: the step subtracts the learning rate times zero. Now take momentum 0.9. Let `w` be 1, the velocity 0 and the learning rate 1. In the first step the gradient is 1. In the second it is *zero*. In the third it is *None*, and for a parameter whose gradient is None, SGD skips both lines.

# %%
def walk(gradients):
    w, values = torch.tensor(1.0, requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    for gradient in gradients:
        w.grad = gradient
        optimizer.step()
        values.append(round(w.item(), 4))
    return values


one, zero = torch.tensor(1.0), torch.tensor(0.0)

# %% [markdown]
# **Predict.** What is `w` after each of the three steps? Answer with a list of three numbers.

# %%
L.predict("05.p4", None)

# %% tags=["C05.5", "P13"]
L.run(walk, [one, zero, None], after="05.p4")

# %% [markdown] tags=["tells"]
# After the first step the velocity is 1, and `w` is 0. In the second step the gradient is zero, but the velocity is not. It fades to 0.9 and moves `w` by 0.9. In the third step SGD skips `w`: neither the velocity nor `w` changes.

# %% [markdown]
# People *freeze* a layer when they want its weights to stay as they are for a while. Here `w` is to be frozen after the first step, once with gradients of zero and once with None.

# %%
frozen = {"zeros": walk([one] + 14 * [zero]), "None": walk([one] + 14 * [None])}
L.run(L.stage.curves, "w", frozen, after="05.p4")

# %% [markdown] tags=["tells"]
# **Notice:** the weight whose gradient is None stays where it is. With zeros the weight drifts away: the steps 0.9, 0.81, 0.729 and so on add up to 9.
#
# > **The rule.** SGD treats zeros as a gradient, and skips a parameter whose gradient is None. With momentum, a weight still moves on a gradient of zero.

# %% [markdown]
# You choose between the two each time you clear. `optimizer.zero_grad()` sets `.grad` to None. `optimizer.zero_grad(set_to_none=False)` fills a `.grad` that is there with zeros, as PyTorch did by default before version 2.0.
#
# ### Exercise: a step of your own
#
# **05.4 · Momentum that respects None** (5 minutes). Write one step of gradient descent with momentum: the velocity `v` becomes `mu` times itself plus the gradient, and then `p` moves by `-lr` times the velocity. `p` and `v` must stay the same tensors, so write into them. A parameter without a gradient must not move, and its velocity must not change. `p.grad` is only to be read.


# %%
def momentum(torch, p, v, lr, mu):
    v = mu * v + p.grad
    p = p - lr * v


L.check("05.4", momentum)

# %% [markdown]
# ## And a leaf that is used twice in one pass?
#
# Passes add up in `.grad`. Here a single pass reaches the leaf `a` along two paths. In PyTorch a leaf has one accumulator, and each use of the leaf leads to it. (Your own engine makes one for each use; you change that below.) A hook on `a`, a function of ours, is called with each gradient that arrives there (lesson 12).

# %%
def two_paths():
    a = torch.ones(2, requires_grad=True)
    a.register_hook(lambda grad: print("arrives at a:", grad))
    loss = (a * 3 + a * 5).sum()
    loss.backward()
    return draw(loss)

# %% [markdown]
# **Predict.** What does the hook print? Answer with a list that has one number for each call: the number of which the printed tensor is full.

# %%
L.predict("05.p5", None)

# %% tags=["C05.6"]
L.run(two_paths, after="05.p5")

# %% [markdown] tags=["tells"]
# The two arrows end in the one accumulator of `a`. It waits until both paths have delivered, like any node that is reached twice (lesson 04). So the hook ran once, with 8s.

# %% [markdown]
# ## Build your own engine: one accumulator for each leaf
#
# In your engine of lesson 04 each use of a leaf makes a new `AccumulateGrad`. There are three changes to make in `my_engine.py`, which is in the same folder as this notebook. They come to about twelve lines (12 minutes).
#
# 1. Make one accumulator for each leaf, and use it again as long as a graph still holds it. Let the leaf hold it by a *weak reference* (`weakref.ref(node)`), so that the two do not hold each other in a ring (lesson 01). `gradient_edge` is the place.
# 2. When the first gradient arrives, store a **clone** of it. Otherwise `(a + b).backward(g)` makes your own `g` the `.grad` of both leaves, and the next pass writes into all three. Give your table a row for `clone`: it copies, and its slope is 1.
# 3. When `.grad` is there already, add to it **in place** (`leaf.grad.array += …`).

# %%
L.build("05")

# %% [markdown]
# When the checkpoint says *correct*, look at its picture: two arrows lead into one accumulator.
#
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C05.1** A second plain `backward()` adds to `.grad` in place: the sum stands in the same tensor.
# - **C05.2** `.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros.
# - **C05.3** Micro-batches add up to the batch's gradient when every sample keeps the weight it has there, and no layer mixes samples.
# - **C05.4** Without clearing, step k of plain gradient descent moves by the learning rate times the sum of the gradients of steps 1 to k.
# - **C05.5** With SGD's momentum, a parameter that has velocity still moves on a zero gradient; None leaves it where it is.
# - **C05.6** A leaf that is reached along two paths of one pass receives their sum, once.
#
# **Left out:** in whose memory a gradient lies, and who else sees it (part [05b](05b_whose_memory_is_a_gradient.ipynb), after lesson 08); `create_graph=True`, which does not add in place (lesson 13); sparse gradients.
#
# **Read on in our engine:** `AccumulateGrad` in `course_lib/engine/graph.py`.
#
# **Next:** `.grad` is what stays *after* a pass. [Lesson 06](06_saved_tensors.ipynb) is about what waits before it: the tensors that nodes save while your program runs forward.
