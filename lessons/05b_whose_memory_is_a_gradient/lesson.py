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
# # 05b · Whose memory is a gradient: who else sees it change?
#
# **You call `backward(g)` six times with the same tensor `g`, and expect six times `g` in `.grad`. PyTorch gives you 32 times `g`. And `g` itself holds other numbers than before, although none of your lines has written to it.**
#
# No later lesson needs this part. # The program stands in the second cell below, with what PyTorch 2.13 printed. It prints something else on the engine of this course: this is one of the few places where the two differ, and you will see why.
#
# After this lesson you can
#
# - say which of the two ways of clearing `.grad` changes a gradient that you put aside;
# - say who may hold the memory in which a gradient lies, on our engine and in PyTorch;
# - decide when a gradient needs a clone before you hand it over.
#
# **Minutes** 40 · **Needs** lessons 05, 06 and 08 · **Out of scope** what a write through a view does to a graph (lesson 08), `create_graph=True` (lesson 13)
#
# [← 08 Views share memory](08_views.ipynb) · [05 Leaf accumulation](05_leaf_accumulation.ipynb) · [all lessons](home.ipynb) · [09 Ways out →](09_ways_out.ipynb)

# %%
import course_lib as torch
from coursekit import lesson
from coursekit.records import recorded

L = lesson("05b")

# %%
recorded("handed again and again")
L.stage.doubling()

# %% [markdown]
# Six passes should add up to 6, and they give 32: from the second pass on, each one doubles what is there. You can explain this after three short sections, and repair it in the first exercise.
#
# ## Does clearing change a gradient that you put aside?
#
# Begin with what you know. `first = v.grad` gives a second name to the tensor in `.grad` (lesson 05). There are two ways to clear `.grad`. Here a gradient is put aside twice, and `.grad` is cleared in each of the two ways.

# %%
def clear_twice():
    v = torch.ones(2, requires_grad=True)
    (v * 7).sum().backward()
    first = v.grad
    v.grad = None

    (v * 7).sum().backward()
    second = v.grad
    v.grad.zero_()
    print("first:", first, " second:", second)

# %% [markdown]
# **Predict.** Which number does `first` hold in each of its elements at the end, and which number `second`? Answer with a list of two numbers.

# %%
L.predict("05b.p1", None)

# %% tags=["C05b.1", "P12"]
L.run(clear_twice, after="05b.p1")

# %% [markdown] tags=["tells"]
# `v.grad = None` only made `v` forget the tensor. Nothing was written, so `first` still holds the 7s. `zero_()` wrote zeros into the tensor that `second` names, too.

# %% [markdown]
# An optimizer's `zero_grad()` clears in the first way. With `set_to_none=False` it clears in the second:

# %%
v = torch.ones(2, requires_grad=True)
for way in ({}, {"set_to_none": False}):
    v.grad = torch.tensor([7.0, 7.0])
    aside = v.grad
    torch.optim.SGD([v], lr=0.1).zero_grad(**way)
    print(way or "by default", "| v.grad", v.grad, "| put aside", aside)

# %% [markdown]
# So one way changes what you have put aside, and the other does not.
#
# ## In whose memory does a gradient lie?
#
# In these programs one tensor has two names, and you gave it both. Can the *engine* let two gradients share one memory?
#
# Addition is the first suspect. The slope of `a + b` is 1 for both operands, so its node sends the same numbers both ways. Does it send the same *memory*? Then a write to `a.grad` would change `b.grad`.

# %% tags=["C05b.2"]
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(a + b).sum().backward()
a.grad.mul_(100)
print("a.grad", a.grad, " b.grad", b.grad)

# %% [markdown]
# `b.grad` still holds ones. Each leaf has a memory of its own.
#
# The second suspect is the gradient that *you* hand to backward. This program sends it through a `view`, which reads the numbers of `x` in another shape (lesson 08). A hook on `x` notes of each gradient that arrives whether it begins at the address of `given`, that is, whether it lies in the memory of `given`.

# %%
def whose():
    x, given = torch.ones(2, requires_grad=True), torch.ones(2, 1)
    same = []
    x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
    for gradient in (given, given.clone()):
        x.view(2, 1).backward(gradient)
    print(same)

# %% [markdown]
# **Predict.** What is printed? Answer with a list of two: True or False for each pass.

# %%
L.predict("05b.p2", None)

# %% tags=["C05b.3", "P26"]
L.run(whose, after="05b.p2")

# %% [markdown] tags=["tells"]
# In the first pass, the very numbers that you had in your hand arrived at the leaf. Backward of a view only changes the shape, from (2, 1) back to (2,), and that needs no copy. The clone has a memory of its own.
#
# > **The rule.** What you hand to backward can arrive at a leaf as it is, in your memory.

# %% [markdown]
# ## Does the leaf keep that memory?
#
# When the first gradient arrives, a leaf can do one of two things. It can copy the gradient, or it can keep the memory that has arrived as its `.grad`. Our engine does the one, PyTorch the other. (The record at the top is PyTorch's.) Suppose you run this:

# %%
def hand_over():
    x, given = torch.ones(2, requires_grad=True), torch.ones(2, 1)
    x.view(2, 1).backward(given)
    x.view(2, 1).backward(given.clone())
    print("given:", given.tolist())

# %% [markdown]
# **Predict.** Which two numbers does `given` hold *in PyTorch* at the end? Answer with a list.

# %%
L.predict("05b.p3", None)

# %%
L.run(recorded, "handed to backward", False, after="05b.p3")

# %% [markdown] tags=["tells"]
# PyTorch keeps the memory that arrives, and so avoids a copy. The first pass made the memory of `given` the leaf's `.grad`. The second pass was added to `.grad` in place, and so into `given`. Our engine copies a gradient that somebody else can see.
#
# ```text
#              after pass 1          after pass 2
#
# PyTorch      given  --+-> [1, 1]   given  --+-> [2, 2]
#              x.grad --+            x.grad --+
#
# our engine   given  ----> [1, 1]   given  ----> [1, 1]
#              x.grad ----> [1, 1]   x.grad ----> [2, 2]
# ```

# %% [markdown]
# And this is what our engine makes of it:

# %% tags=["engine"]
L.run(hand_over, after="05b.p3")

# %% [markdown]
# > **The rule.** If you need a gradient after you have handed it to backward, hand over a clone.
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
# **Notice:** with `a + b`, *one tensor* has three holders. PyTorch sees that, and copies. With the view there are *two tensors* in *one memory*, each with one holder. PyTorch sees nobody else, and the leaf keeps what arrives. Our engine also asks who else sees the *memory*. It finds `given`, and copies.
#
# In rare programs two leaves therefore come to share one memory in PyTorch. After `(a.view(2, 1) + b.view(2, 1)).backward(g)`, both gradients lie in the memory of `g`.
#
# ### Exercise: the program from the beginning
#
# **05b.1 · The gradient that was used again** (8 minutes, harder). `x` is a leaf with n numbers, and `g` is a tensor of shape (n, 1). After the call, `x.grad` is to have gained `times` times the numbers of `g`, with one backward for each. In PyTorch, if `x.grad` is None and `times` is 3, the function below leaves `x.grad` with 4 times `g`, and the caller's `g` holds other numbers than before. Work out why. Then repair it: what arrives at `x` while `x.grad` is None must not lie in the memory of `g`, nor in memory that a later pass is given again. (The check looks at that, so it can judge your answer on our engine, too.)


# %%
def passes(torch, x, g, times):
    for _ in range(times):
        x.view(-1, 1).backward(g)


L.check("05b.1", passes)

# %% [markdown]
# ### Exercise: which happens?
#
# **05b.2 · Which happens?** (8 minutes). Each program starts with a fresh leaf `w = [1., 2.]`. Answer `"raises now"` (the offending line itself raises), `"raises at backward"` (a backward call raises, later), `"silently wrong"` (no error, but `got` is not what the comment asks for) or `"fine"`. One of them turns on what a pass frees (lesson 06), and two on which tensors keep a gradient (lesson 02).
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

L.check("05b.2", verdicts)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C05b.1** `zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged.
# - **C05b.2** Two leaves that receive equal gradients from one addition keep them in separate memory.
# - **C05b.3** A gradient handed to backward can arrive at a leaf as the caller's own memory; a clone of it cannot.
#
# **Left out:** gradients in another dtype than their leaf's, and sparse gradients; our engine has neither.
#
# **Read on in our engine:** `AccumulateGrad` and `can_steal_grad` in `course_lib/engine/graph.py`.
#
# **Next:** [lesson 09](09_ways_out.ipynb), which asks of `detach`, `.data` and `clone` what each shares.
