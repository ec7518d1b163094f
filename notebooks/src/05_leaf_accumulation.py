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
# - **C05.1** A second backward adds to `.grad` in place: the same tensor, one version on.
# - **C05.2** `.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros.
# - **C05.3** A leaf that is reached along two paths receives their sum, once.
# - **C05.4** Two leaves that receive equal gradients from one addition keep them in separate memory.
# - **C05.5** A tensor that is not a leaf keeps its gradient only if `retain_grad()` was called on it.
# - **C05.6** Micro-batches add up to the batch's gradient when every sample keeps the weight it has there.
# - **C05.7** Without clearing, step k moves by the learning rate times the sum of the gradients of steps 1 to k.
# - **C05.8** `zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged.
# - **C05.9** With momentum, a zero gradient still moves the parameter; None leaves it where it is.
#
# **Minutes** 50 · **Needs** lesson 00 · **Opens** `course_lib/graph.py` · **Out of scope** optimizer
# classes (lesson 10), hooks in earnest (lesson 12)

# %%
import course_lib as torch
from course_lib.teach import draw, expect_error, lesson, show

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
# Everything up to the second backward; that one waits until you have seen the picture.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 3).sum().backward()
g = w.grad
second = (w * 5).sum()
print(g)

# %% [markdown]
# ## See

# %%
draw(second)

# %% [markdown]
# **Notice:**
#
# - The first graph has gone; what it left is the `.grad` of `w`, shown in the green box.
# - The second graph ends at the same leaf. Nothing says "replace": whatever comes along this arrow meets the
#   3s that are there already.
# - The sum and the product are passed through; they store no gradient.
#
# ## Explain
#
# **The green box adds, in place.** `AccumulateGrad` does not make a new tensor when one is there: it runs
# `grad += arriving`. So `g`, which is that tensor and not a copy of it, changes under your hands. The
# version counter, which counts in-place writes (lesson 07), gives it away.

# %% tags=["C05.1"]
before = g._version
second.backward()
print(g, g is w.grad, g._version - before)

# %% [markdown]
# **None and zero are different messages.** None says that no gradient has arrived since the field was last
# cleared. Zeros say that one arrived, and it was zero: multiplying by 0 is a path like any other. An
# optimizer skips a parameter with None; it steps a parameter with zeros, and you will see below that this
# can move it.

# %% tags=["C05.2"]
u = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
(u * 0).sum().backward()  # v takes no part
print(u.grad, v.grad)

# %% [markdown]
# **One box for each leaf, opened once for each pass.** `a` is used twice, so two gradients travel towards
# its box. Backward waits for both, adds them, and only then runs the box: the hook on `a` is called once.
# `b` receives the very same numbers, in a box and a memory of its own. Scaling one `.grad` never scales
# another here.

# %% tags=["C05.3", "C05.4"]
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
a.register_hook(lambda grad: print("for a:", grad))  # called with what arrives at a
(a * 3 + a * 5).sum().backward()
a.grad = None
(a + b).sum().backward()
a.grad.mul_(100)
print(a.grad, b.grad)

# %% [markdown]
# **Only leaves store.** `h` and `k` are results. Their gradients are computed and handed on, then dropped:
# nobody needs them once they have been passed on. `retain_grad()`, called before the pass, keeps one.
# Reading the `.grad` of any other result gives None and a warning (silenced here, because None is the
# point).

# %% tags=["C05.5"]
h = w * 3
k = h * 2
h.retain_grad()
k.sum().backward()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(h.grad, k.grad)

# %% [markdown]
# **Open our engine.** These lines are the green box. When `.grad` is empty, the arriving gradient moves in:
# as it is if nobody else can see it, otherwise as a copy, and that is why no two leaves share. When it is
# not empty, the line with `+=` runs, and the counter goes up.

# %% tags=["engine"]
show("graph.AccumulateGrad.accumulate_array")

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
first.backward(retain_graph=True)  # kept only for the picture
last.backward(retain_graph=True)
print(w.grad)

# %% [markdown]
# ## See

# %%
draw(first, last)

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
# at the end of every epoch whose last batch is short, and with sentences of unequal length.

# %% tags=["C05.6"]
w.grad = None
samples = sum(len(part) for part in parts)
for part in parts:
    ((w * part).sum() / samples).backward()
print(w.grad)

# %% [markdown]
# **The same rule, unwanted.** Forget to clear, and every step adds its gradient to all earlier ones. On
# w²/2 with rate 0.5 the right path halves w each time: 0.5, 0.25, 0.125. This loop overshoots and swings
# instead. Nothing raises. The assert says what the rate is really multiplied with: the sum of all slopes so
# far.

# %% tags=["C05.7"]
w, total = torch.tensor(1.0, requires_grad=True), 0.0
for _ in range(5):
    total += w.item()  # the slope of w*w/2 is w
    (w * w / 2).backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
    assert w.grad.item() == total  # the sum of all slopes so far
    print(w.item())

# %% [markdown]
# **Two ways to clear.** `w.grad.zero_()` writes zeros into the tensor, and so into every name that refers
# to it: a gradient that you logged turns to zeros. `w.grad = None` lets the tensor go; whoever holds it
# keeps its values, and the next pass brings a new one. PyTorch's `zero_grad` does the latter by default.

# %% tags=["C05.8"]
kept = w.grad
w.grad = None
(w * 7).backward()
logged = w.grad
w.grad.zero_()
print(kept.item() == total, logged)

# %% [markdown]
# **Zero is not rest.** SGD with momentum keeps a velocity, in four lines. A first step with gradient 1
# brings w from 1 to 0. A gradient of *zero* then lets the velocity roll on, to -0.9. None means skip: w
# stays. Freeze a layer by zeroing its gradients and it drifts; set them to None and it rests.

# %% tags=["C05.9"]
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
# The update is where beginners meet `.grad`, and where a widely copied answer fails. Subtracting in place
# from a leaf is refused while recording is on, and wrapping the *gradient* in `.data` or `.detach()`
# changes nothing about that: it is the leaf that is written to. The block `with torch.no_grad():` is the
# way. A gradient of the wrong shape is refused as well, before it can do harm.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
with expect_error(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
    w -= 0.1 * w.grad.data
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
# **05.4 · Put the lines in order** (5 minutes). These four lines are the body of a training loop that
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
def step(torch, p, v, lr, mu):
    v = mu * v + p.grad
    p = p - lr * v


L.check("05.5", step)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C05.1 added in place | the same tensor, one version on | `test_c05_1` |
# | C05.2 None is not zero | zeros for `u`, None for `v` | `test_c05_2` |
# | C05.3 two paths, one arrival | the hook prints one 8 | `test_c05_3` |
# | C05.4 no shared gradient memory | ×100 stays with `a` | `test_c05_4` |
# | C05.5 results keep nothing | `h` was asked to, `k` was not | `test_c05_5` |
# | C05.6 weigh samples, not parts | 4, where parts gave 6 | `test_c05_6` |
# | C05.7 forgotten clearing is a sum | the assert, five times | `test_c05_7` |
# | C05.8 `zero_()` writes, None lets go | the logged gradient is 0 | `test_c05_8` |
# | C05.9 zero moves, None rests | 0, -0.9, -0.9 | `test_c05_9` |
#
# The tests run on our engine and on real PyTorch: `tests/claims/test_claims_05.py`.
#
# **Left out, compared with PyTorch.** C05.4 says "from one addition" with reason. PyTorch takes over an
# arriving gradient that nobody else *refers to*, even when it is a view of memory that somebody can see,
# and in rare programs two leaves then do share one memory. Our engine always copies a view. Sparse
# gradients, and gradients kept in another dtype than their leaf's, exist there and not here. In both, a
# backward with `create_graph=True` does not add in place: the sum is a new tensor.
#
# **Next:** lesson 06, about the bottom row of the pictures: what a node keeps for later, and for how long.
