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
# Backward passes stream through a graph and leave almost nothing behind. What they do leave is one tensor
# for each leaf, `.grad`, and a single rule: *what arrives is added*. From this rule follow gradient
# accumulation, the forgotten reset, a classic wrong average, and a parameter that moves although its
# gradient is zero. You can claim afterwards:
#
# - **C05.1** A second `backward()` adds to `.grad` in place: the same tensor, one version on.
# - **C05.2** `.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros.
# - **C05.3** A leaf that is reached along two paths receives their sum, once.
# - **C05.4** Two leaves that receive equal gradients from one addition keep them in separate memory.
# - **C05.5** A tensor that is not a leaf keeps its gradient only if `retain_grad()` was called on it.
# - **C05.6** Micro-batches add up to the batch's gradient when every sample keeps the weight it has there.
# - **C05.7** Without clearing, step k moves by the learning rate times the sum of the gradients of steps 1 to k.
# - **C05.8** `zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged.
# - **C05.9** With momentum, a parameter that has velocity still moves on a zero gradient; None leaves it where it is.
# - **C05.10** A gradient handed to backward can arrive at a leaf as the caller's own memory; a clone of it cannot.
#
# **Minutes** 55 · **Needs** lesson 00 · **Opens** `course_lib/engine/graph.py` · **Out of scope** optimizer
# classes (lesson 10), hooks in earnest (lesson 12)

# %%
import course_lib as torch
from course_lib.teach import draw, expect_error, lesson, show, step, watch

L = lesson(5)

import warnings

# %% [markdown]
# ## Question
#
# ```python
# w = torch.tensor([1.0, 2.0], requires_grad=True)
# (w * 3).sum().backward()
# g = w.grad                     # put the gradient aside
# (w * 5).sum().backward()
# print(g)
# ```
#
# `g` was taken before the second pass began. What does it hold at the end?
#
# ## Predict
#
# Two numbers, as a list.

# %%
L.predict("05.p1", None)

# %% [markdown]
# ## Run
#
# Everything up to the second backward; that one waits for the next cell. `_version` counts how often a tensor
# was written to in place (lesson 07).

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 3).sum().backward()
g = w.grad
before = g._version
second = (w * 5).sum()
print(g)

# %% [markdown]
# ## See
#
# `step(second)` runs the pass as `second.backward()` would, and shows it one node at a time. Page through it.

# %%
step(second)

# %% [markdown]
# **Notice:**
#
# - In the first frame nothing has run yet. The first graph has gone; what it left is the 3s in the green box of
#   `w`, which is where this second graph ends too.
# - The sum and the product take a gradient in and send one on. They store none.
# - In the last frame the box of `w` runs (it is blue then): 5s arrive, and `.grad` goes from 3s to 8s. Nothing
#   replaced anything.
#
# ## Explain
#
# **The green box adds, in place.** `AccumulateGrad` does not make a new tensor when one is there: it runs
# `grad += arriving`. So `g`, which is that tensor and not a copy of it, changed under your hands. The version
# counter gives it away.

# %% tags=["C05.1", "P12"]
print(g, g is w.grad, g._version - before)

# %% [markdown]
# **None and zero are different messages.** None: no gradient has arrived since `.grad` was cleared. Zeros: one
# arrived, and it was zero, for multiplying by 0 is a path like any other. Two ways to clear: `v.grad.zero_()` writes
# zeros into the tensor, and so into every name that refers to it, and a gradient that you logged is lost.
# `v.grad = None` lets the tensor go, and whoever holds it keeps its values. PyTorch's `zero_grad` does the latter
# by default.

# %% tags=["C05.2", "C05.8"]
u, v, z = (torch.ones(2, requires_grad=True) for _ in range(3))
(u * 0 + v * 7).sum().backward()  # z takes no part
print(u.grad, z.grad)
kept, v.grad = v.grad, None
(v * 7).sum().backward()
logged = v.grad
v.grad.zero_()
print("kept:", kept, " logged:", logged)

# %% [markdown]
# **Only leaves store, and once a pass.** `a` is used twice, so two gradients travel towards its box. Backward
# waits for both, adds them, and only then runs the box: the hook on `a` is called once. `h` and `k` are results;
# their gradients are handed on and dropped. `retain_grad()`, called before the pass, keeps one. Reading the
# `.grad` of any other result gives None and a warning (silenced here, because None is the point).

# %% tags=["C05.3", "C05.5"]
a = torch.ones(2, requires_grad=True)
a.register_hook(lambda grad: print("arrives at a:", grad))
h, k = a * 3, a * 5
h.retain_grad()
(h + k).sum().backward()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(h.grad, k.grad)

# %% [markdown]
# **Whose memory?** One addition sends the same numbers to `a` and to `b`, and each keeps them in a memory of its
# own. But what *you* hand to backward may travel on uncopied: through `view` it arrives as `given`'s own memory.
# PyTorch makes that memory the leaf's `.grad`, and the next pass adds into it: after the two passes below, `given`
# holds 2s in PyTorch. Our engine copies: 1s. The last line compares. On both, a clone is safe.

# %% tags=["C05.4", "C05.10", "P26"]
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(a + b).sum().backward()
print(a.grad.mul_(100), b.grad)
x, given, same = torch.ones(2, requires_grad=True), torch.ones(2, 1), []
x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
for gradient in (given, given.clone()):
    x.view(2, 1).backward(gradient)
print(same, given[0].item() == {"torch": 2.0, "course_lib": 1.0}[torch.__name__])

# %% [markdown]
# **Open our engine.** These lines are the green box; `have` is what `.grad` holds. When that is None, the arriving
# gradient moves in: as it is if nobody else can see its memory (a helper finds out), otherwise as a copy. So here no
# two leaves share. When `.grad` is not empty, the line with `+=` runs, and the counter goes up. (The branch for a
# `Tensor` is for gradients that have a history of their own: `create_graph=True`.)

# %% tags=["engine"]
show("engine.graph.AccumulateGrad.apply")

# %% [markdown]
# ## Question
#
# Adding is a gift: a batch too large for memory can be cut into micro-batches, each with a backward of its
# own. Four samples, the last one an outlier:
#
# ```python
# x = torch.tensor([2.0, 2.0, 2.0, 10.0])
# (w * x).mean().backward()               # w.grad is 4.0, the mean of x
#
# for part in (x[:3], x[3:]):             # again, from w.grad = None
#     loss = (w * part).mean() / 2        # 2: the number of parts
#     loss.backward()
# ```
#
# ## Predict
#
# What is `w.grad` after the loop? One number.

# %%
L.predict("05.p2", None)

# %% [markdown]
# ## Run

# %%
parts = [torch.tensor([2.0, 2.0, 2.0]), torch.tensor([10.0])]
w = torch.tensor(1.0, requires_grad=True)
first, last = [(w * part).mean() / 2 for part in parts]
picture = draw(first, last)  # before the passes
first.backward()
print(w.grad)
last.backward()
print(w.grad)

# %% [markdown]
# ## See

# %%
picture

# %% [markdown]
# **Notice:**
#
# - Two separate graphs, one green box. There is no other connection between micro-batches.
# - Each graph passes through its own mean, which divides by 3 on one side and by 1 on the other; then both
#   divide by 2.
#
# ## Explain
#
# **A mean of means is not the mean.** The three small samples weigh 1/6 each and the outlier 1/2, so 6 came
# out for 4. Decide on the weight of a *sample* instead, here 1/4, and let accumulation add. The mistake bites
# whenever parts differ in size: a short last batch, sentences of unequal length. The log that `watch` keeps
# shows what micro-batches are for: what one part kept is freed before it is the next part's turn.

# %% tags=["C05.6", "P14"]
w.grad = None
samples = sum(len(part) for part in parts)
with watch() as log:
    for part in parts:
        ((w * part).sum() / samples).backward()
print(w.grad)
log.only("freed", "accumulated")

# %% [markdown]
# **The same rule, unwanted.** In each step, *gradient descent* subtracts the gradient times a rate. Forget to
# clear, and every step adds its gradient to all earlier ones. On w²/2 with rate 0.5 each honest step halves w. The
# forgetful loop overshoots and swings instead, and nothing raises. The last two numbers of a line are what `.grad`
# holds and the sum of all five slopes (the slope of w²/2 is w itself).

# %% tags=["C05.7", "P12"]
for forget in (False, True):
    w, path = torch.tensor(1.0, requires_grad=True), [1.0]
    for _ in range(5):
        w.grad = w.grad if forget else None
        (w * w / 2).backward()
        with torch.no_grad():
            path.append(w.sub_(0.5 * w.grad).item())
    print("forgot: " if forget else "cleared:", path, w.grad.item(), "of", sum(path[:-1]))

# %% [markdown]
# **Zero is not rest.** Gradient descent with momentum keeps a velocity, here `v`. A first step with gradient 1
# brings w from 1 to 0. A gradient of *zero* then lets the velocity roll on, to -0.9. None means skip: w
# stays. Freeze a layer by zeroing its gradients and it drifts; set them to None and it rests.

# %% tags=["C05.9", "P13"]
w, v = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0)
for gradient in (torch.tensor(1.0), torch.tensor(0.0), None):
    w.grad = gradient
    if w.grad is not None:
        with torch.no_grad():
            v.mul_(0.9).add_(w.grad)
            w.sub_(v)  # learning rate 1
    print(w)

# %% [markdown]
# ## Break it
#
# The update is where beginners meet `.grad`, and where a widely copied answer, `W -= lr * W.grad.data`, fails.
# Subtracting in place from a leaf is refused while recording is on, and wrapping the *gradient* in `.data` or
# `.detach()` changes nothing about that: it is the leaf that is written to. The block `with torch.no_grad():` is
# the way. A gradient of the wrong shape is refused as well, before it can do harm.

# %% tags=["P12"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
for gradient in (w.grad, w.grad.data, w.grad.detach()):
    with expect_error(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
        w -= 0.1 * gradient
with torch.no_grad():
    w -= 0.1 * w.grad
print(w)
with expect_error(RuntimeError, "attempting to assign a gradient of size '[3]'"):
    w.grad = torch.ones(3)

# %% [markdown]
# ## Exercises
#
# **05.1 · Read the state** (5 minutes). After this program, give the values of `p.grad`, of `q.grad` and of
# `r.grad` as lists (or None), and whether `early is p.grad`.
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
# **05.2 · Which happens?** (8 minutes). Each program starts with a fresh leaf `w = [1., 2.]`. Answer
# `"raises now"` (the offending line itself), `"raises at backward"` (a backward call, later), `"silently
# wrong"` (not what the comment asks for) or `"fine"`. For one of them, remember the second row of the first
# table in lesson 00.
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
# **05.3 · Repair the micro-batches** (8 minutes). `parts` is a list of pairs `(x, y)` of one-dimensional
# tensors, of another length in each part; `w` is one number.
# Afterwards `w.grad` must be the gradient of the mean squared error over *all* samples, added to what was
# in it before; each part gets a backward of its own, so that only one part's graph is alive at a time.


# %%
def accumulate(torch, w, parts):
    for x, y in parts:
        loss = ((x * w - y) ** 2).mean()
        (loss / len(parts)).backward()


L.check("05.3", accumulate)

# %% [markdown]
# **05.4 · Put the lines in order** (3 minutes). These four lines are the body of a training loop that
# starts with `w.grad` None. Give one order, as a string such as `"ABCD"`, that makes every pass of the loop
# one honest step of gradient descent.
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
# **05.5 · Momentum that respects None** (8 minutes). Write one step of SGD with momentum: the velocity
# becomes `mu` times itself plus the gradient, then `p` moves by `-lr` times the velocity. `p` and `v` must
# stay the same tensors, and a parameter without gradient must not move or touch its velocity. `p.grad` is
# only read.


# %%
def momentum(torch, p, v, lr, mu):
    v = mu * v + p.grad
    p = p - lr * v


L.check("05.5", momentum)

# %% [markdown]
# **05.6 · The gradient that was used again** (6 minutes). `x` is a leaf with n numbers, `g` a tensor of shape
# (n, 1), and `x.grad` is to gain `times` times the numbers of `g`, one backward for each. In PyTorch, with
# `x.grad` None and `times` 3, this leaves `x.grad` with 4 times `g`, and the caller's `g` with other numbers.
# Work out why, then repair it: as long as `x.grad` is None, no gradient that arrives at `x` may lie in memory that
# another one or the caller can see. (The check looks at what arrives, so that it can judge on our engine too.)


# %%
def passes(torch, x, g, times):
    for _ in range(times):
        x.view(-1, 1).backward(g)


L.check("05.6", passes)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C05.1 added in place | the same tensor, one version on | `test_c05_1` |
# | C05.2 None is not zero | zeros for `u`, None for `z` | `test_c05_2` |
# | C05.3 two paths, one arrival | the hook prints 8s, once | `test_c05_3` |
# | C05.4 no shared gradient memory | ×100 stays with `a` | `test_c05_4` |
# | C05.5 results keep nothing | `h` was asked to, `k` was not | `test_c05_5` |
# | C05.6 weigh samples, not parts | 4, where parts gave 6 | `test_c05_6` |
# | C05.7 forgotten clearing is a sum | the last two numbers agree | `test_c05_7` |
# | C05.8 `zero_()` writes, None lets go | the logged gradient is 0 | `test_c05_8` |
# | C05.9 zero moves, None rests | 0, -0.9, -0.9 | `test_c05_9` |
# | C05.10 handed in, passed on | True, then False | `test_c05_10` |
#
# The tests run on our engine and on real PyTorch: `tests/claims/test_claims_05.py`.
#
# **Left out, compared with PyTorch.** C05.4 says "from one addition" with reason. PyTorch takes over an
# arriving gradient that nobody else *refers to*, even when it is a view of memory that somebody can see. That is
# why a tensor handed to backward can change, and in rare programs two leaves come to share one memory. Our
# engine always copies such a view. Sparse gradients, and gradients kept in another dtype than their leaf's, exist
# there and not here. In both, a backward with `create_graph=True` does not add in place: the sum is a new tensor.
#
# **Next:** lesson 06, about the bottom row of the pictures: what a node keeps for later, and for how long.
