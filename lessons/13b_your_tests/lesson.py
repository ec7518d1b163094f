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
# # 13b · Your tests: would you notice if somebody broke your engine?
#
# **On Friday you change one line of your engine. Your network still trains, and its loss still falls. On Monday the results are worse than they were, and you do not know since when.**
#
# Your engine is finished. This part asks what a test must be like, so that it notices such a line. Then it plants fourteen defects in a finished engine, and your tests have to find them. No later lesson needs this part.
#
# After this lesson you can
#
# - write a test for which a given line of an engine matters;
# - choose numbers by which a test can tell a right gradient from a wrong one;
# - measure your tests with planted defects, which is called *mutation testing*.
#
# **Minutes** 32, and as long as you like for your own tests at the end · **Needs** lessons 04 to 13 · **Out of scope** test frameworks such as pytest
#
# [← 13 Double backward](13_double_backward.ipynb) · [all lessons](home.ipynb) · [14 Packing and checkpointing →](14_packing_and_checkpointing.ipynb)

# %%
import course_lib as torch
from backscope import draw
from coursekit import lesson

L = lesson("13b")

# %% [markdown]
# `L.stage.engine()` is the engine that lessons 00 to 13 build, as a module. With the name of a defect, this defect is in it. In `broken`, the second of two gradients that meet in a buffer replaces the first, instead of being added to it.

# %%
right, broken = L.stage.engine(), L.stage.engine("of two gradients that meet, one is lost")


def train(torch):
    w, losses = torch.tensor([0.5, 1.0], requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        loss = (w**2 + w**4).sum()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 3))
    print(losses)


train(right)
train(broken)

# %% [markdown]
# Both losses fall. If you see only the second line, nothing looks wrong. So you need tests that look at gradients. Which ones?
#
# ## Where must a test go?
#
# A *test* is a function whose name begins with `test_`. It is given an engine, uses it, and ends with an `assert`. Here are three.

# %%
def test_a_chain(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (x * 2 * 5).backward()
    assert x.grad.item() == 10


def test_two_passes(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (x * 2).backward()
    (x * 5).backward()
    assert x.grad.item() == 7


def test_a_square(torch):
    x = torch.tensor(3.0, requires_grad=True)
    (x * x).backward()
    assert x.grad.item() == 6


L.stage.tried(right, test_a_chain, test_two_passes, test_a_square)

# %% [markdown]
# All three pass on the right engine. Call them A, B and C.
#
# **Predict.** Which of them fail on `broken`? Answer with a list of letters, such as `["A", "B"]`.

# %%
L.predict("13b.p1", None)

# %% tags=["C13b.1"]
L.run(L.stage.tried, broken, test_a_chain, test_two_passes, test_a_square, after="13b.p1")

# %% [markdown] tags=["tells"]
# Only the square notices. The chain has one path, so no two gradients meet. The two passes bring one gradient each, and these are added in `.grad`, by another line of the engine.

# %%
def square():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    return draw(y)


L.run(square, after="13b.p1")

# %% [markdown] tags=["tells"]
# **Notice:** both arrows of node 1 lead to `x`. So in one pass two gradients arrive there, and the broken line is run.
#
# > **The rule.** A test can notice a defect only if its program runs the line that is broken.

# %% [markdown]
# ## What must a test look at?
#
# In the next engine, a mean has the gradient of a sum. Again there are three tests, A, B and C, and all of them call `backward` of a mean.

# %%
def test_one_number(torch):
    x = torch.tensor([3.0], requires_grad=True)
    x.mean().backward()
    assert x.grad.tolist() == [1]


def test_two_numbers(torch):
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    x.mean().backward()
    assert x.grad.tolist() == [0.5, 0.5]


def test_the_value(torch):
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    x.mean().backward()
    assert x.mean().item() == 3


wrong_mean = L.stage.engine("the gradient of a mean is that of a sum")

# %% [markdown]
# **Predict.** Which of them fail on `wrong_mean`? Answer with a list of letters.

# %%
L.predict("13b.p2", None)

# %% tags=["C13b.2"]
L.run(L.stage.tried, wrong_mean, test_one_number, test_two_numbers, test_the_value, after="13b.p2")

# %% [markdown] tags=["tells"]
# All three run the broken line, and two of them do not notice. The mean of one number is its sum, so in A the wrong gradient is the right one. C never looks at the gradient.
#
# > **The rule.** Choose numbers for which a wrong answer differs from the right one, and let the `assert` look at what could be wrong. Beware of 0, 1, a single element and equal elements.

# %% [markdown]
# A good habit follows: break the line on purpose, see the test fail, and put the line back.
#
# ### Two exercises: one defect, one test
#
# **13b.1 · One defect, one test** (6 minutes). In another engine a saved *result* comes out of its slot without its history (the usual slip in lesson 13). First derivatives are right there, and some second derivatives, too. The test below passes on it. Change it so that it fails on such an engine, and passes on an engine without a defect.


# %%
def test_second_derivative(torch):
    x = torch.tensor(0.0, requires_grad=True)
    y = x.exp()
    (g,) = torch.autograd.grad(y, x)
    assert g.item() == 1


L.check("13b.1", test_second_derivative)

# %% [markdown]
# **13b.2 · A test that looks away** (5 minutes). Another engine does not undo broadcasting in backward. The test below was meant for it, and passes. Change it so that it fails on such an engine, and passes on an engine without a defect.


# %%
def test_broadcast(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    a = torch.tensor([3.0, 4.0])
    (w * a).sum().backward()
    assert w.grad.tolist() == [3, 4]


L.check("13b.2", test_broadcast)

# %% [markdown]
# ## How many of fourteen defects do your tests find?
#
# Make a file `my_tests.py` beside this notebook (in JupyterLab: File > New > Python File), and write tests into it. You can begin with those of this page. The next cell plants fourteen defects in a finished engine, one after another, and says which of them your tests find. What your tests use must be there in the engine that you have built in lessons 00 to 13.
#
# This has no end: write as many as you like. If you need an idea, go through the lessons. Each "the usual slip" is a defect.

# %%
L.defects()

# %% [markdown]
# PyTorch's engine is tested in this way, too, but by comparing: `gradcheck` runs an operation at many points and compares its gradient with finite differences (lesson 11). That finds a wrong formula. It does not find a missing version check or a leaf that may be overwritten.
#
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C13b.1** In `x * x` two gradients meet at x in one pass. In `x * 2 * 5` none meet, and in two passes they are added in `.grad`.
# - **C13b.2** The mean of one number has the gradient of its sum; with two numbers they differ.
#
# **Left out:** tests on random programs, which compare one engine with another. The course's own engine is tested against PyTorch in that way.
#
# **Next:** [lesson 14](14_packing_and_checkpointing.ipynb), in which nodes hold something smaller than what they need, or nothing at all.
