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
# # 16c · Nothing is raised: what do you look at when there is no message?
#
# **Your training runs through the night without a word. In the morning the process was killed, because the memory was full. Or it is still there, and a part of the network that took no part in the training is worse than it was. Nobody has told you a line, a tensor or a version. Where do you begin?**
#
# These are the fourth and the fifth of the bug reports of lesson 16, and then ten short ones. None of them raises an error. No later lesson needs this part.
#
# After this lesson you can
#
# - find out what holds a tensor that has no name any more;
# - say what makes a parameter move that takes no part in the loss;
# - tell the ten most common bugs of training scripts by what they look like from outside.
#
# **Minutes** 57 · **Needs** lessons 05, 06, 10, 11 and 16 · **Out of scope** leaks outside of the graph, such as lists of your own (lesson 09)
#
# [← 16b A carried state](16b_a_carried_state.ipynb) · [all lessons](home.ipynb) · [17 Two machines →](17_two_machines.ipynb)

# %%
import course_lib as torch
from backscope import draw
from coursekit import lesson

L = lesson("16c")

# %% [markdown]
# ## Report 4: why does the memory grow?
#
# > **"Memory leak in custom Function?"** My own activation function uses more memory with every batch, until the process is killed. The results are right, I have tested the gradient. I do not keep anything: no list, no running loss. It happens in training and in validation. If I replace my function by `tanh`, the memory stays where it is. What does `apply` keep?
#
# The activation is y = x / (1 + |x|), a cheap relative of `tanh`. Its slope is (1 − |y|)², so the result is all that backward needs. `L.stage.alive` runs five batches, with a backward pass (training) or without one (validation). After each batch it counts how many results of all batches are still alive. (It uses weak references, which keep nothing alive themselves. The garbage collector waits meanwhile.)


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


L.run(L.stage.alive, torch, torch.tanh)
L.run(L.stage.alive, torch, Squash.apply)

# %% [markdown]
# Nobody has a name for these results any more. So something else holds them. The first suspect is what nodes have saved for backward. The `ledger` of lesson 06 counts it:

# %%
L.run(L.stage.in_slots, torch, torch.tanh)
L.run(L.stage.in_slots, torch, Squash.apply)

# %% [markdown]
# For `Squash`, the peak is that of one batch, and in the end nothing is left in any slot. So it is not a slot that holds the five results. What else can hold a tensor? Look at the graph of one of them:

# %%
x = torch.tensor([1.0, -3.0], requires_grad=True)
y = Squash.apply(x)
draw(y)

# %% [markdown]
# **Notice:** `y` hangs on the node `SquashBackward`, as every result hangs on its node. And a drawer of the node says that it holds a tensor which was put on `ctx` by hand: this very `y`. That is a ring. The result holds the node, and the node holds the result.
#
# Python frees an object when the last reference to it is gone. In a ring, that never happens. Only the garbage collector can open a ring. It finds this one, because the node of a custom Function is a Python object. But the collector runs when many Python *objects* have been made. It does not know how large their memory is. On a GPU, a hundred forgotten results may be gigabytes.
#
# ### Exercise: close the leak
#
# **16c.1 · Close the leak** (10 minutes). Repair the Function. Afterwards no result outlives its last name, with backward or without; the gradient is right, also the second derivative; and if somebody writes into `x` or `y` between forward and backward, there is never a wrong gradient without an error.


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


L.check("16c.1", Squashed)

# %% [markdown]
# ## Which answer closes the leak?
#
# Two answers of the thread:
#
# - A "Clean up after you: write `ctx.y = None` as the last line of backward, before the `return`."
# - B "Break the ring: `ctx.y = y.detach()`."


# %%
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


# %% [markdown]
# **Predict.** How many results are alive after five batches? Give four numbers: for A in training and in validation, for B in training and in validation.

# %%
L.predict("16c.p1", None)

# %% tags=["C16c.1", "P17"]
L.run(L.stage.alive, torch, CleanedUp.apply, after="16c.p1")
L.run(L.stage.alive, torch, Detached.apply, after="16c.p1")

# %% [markdown] tags=["tells"]
# **Notice:** A helps where backward runs, and nowhere else. (And a second pass with `retain_graph=True` finds `None`.) B closes the leak.

# %% [markdown]
# So is one of them a cure? The first question of lesson 16 was whether the symptom is gone. The second is whether the gradient is right. Here is a program that reuses the memory of `y`, as `relu_` or `dropout(inplace=True)` do after an activation. It runs with answer B, and with a slot for the result:


# %% tags=["C16c.1", "C16c.2"]
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


def reused(function):
    x = torch.tensor([1.0, -3.0], requires_grad=True)
    y = function.apply(x)
    y.mul_(2)
    y.sum().backward()
    print(x.grad.tolist(), "where", (2 / (1 + x.abs()) ** 2).tolist(), "is right")


L.run(reused, Detached)
L.run(reused, Slot)
L.run(L.stage.alive, torch, Slot.apply)

# %% [markdown]
# **Notice:** with `detach()` the gradient is wrong, and nothing says so. What stands on `ctx` is your own business, so PyTorch does not compare versions. A slot is checked. It is also freed after backward, it makes no ring, and it knows that the result belongs to this node, so that second derivatives work.
#
# > **The rule.** A tensor on `ctx` is held as long as the node, and is not checked. `save_for_backward` holds it without a ring, checks it, and lets it go.
#
# ## Report 5: why does a head move that takes no part?
#
# > **"Model forgets task A although task A is not trained."** One frozen trunk, two heads, one for each of our customers. First I trained the head for `cats`. Then I trained `dogs`, with the same optimizer. The loss of `dogs` does not depend on the head for `cats`; I have checked that its gradient is 0. But after each evening of `dogs` the results for `cats` are worse. I have even set `requires_grad_(False)` for this head. It still changes!
#
# `L.stage.two_evenings` trains `cats` for 30 steps, then `dogs` for 30 steps, with SGD, momentum and weight decay. Before each backward it calls `optimizer.zero_grad(set_to_none=to_none)`. Here is the report as it stands, and then with the frozen head:

# %%
L.stage.two_evenings(torch, to_none=False)
L.stage.two_evenings(torch, to_none=False, freeze=True)

# %% [markdown]
# The gradient is 0, and still the head moves, frozen or not. The optimizer writes into the parameter, so look at what the optimizer sees: `.grad`, and its own memory for this parameter. Here is one weight that gets a gradient in the first step and none in the seven others. Before each of those, `zero_grad(set_to_none=False)` is called.

# %%
L.stage.one_weight(torch)

# %% [markdown]
# **Notice:** `.grad` is there, and from the second step on it is 0. The velocity of the first step fades slowly, and until it has faded `p` moves along with it.
#
# ### Exercise: two customers
#
# **16c.2 · Two customers** (8 minutes). Repair the step. The head of the task learns as before, with the same optimizer, its momentum and its weight decay. All other heads rest completely: their numbers, and their velocities, too, which they will need when their turn comes. Leave the flags `requires_grad` as they are.


# %%
def train_one(torch, trunk, heads, task, x, target, optimizer):
    optimizer.zero_grad(set_to_none=False)
    loss = ((heads[task](trunk(x)) - target) ** 2).mean()
    loss.backward()
    optimizer.step()


L.check("16c.2", train_one)

# %% [markdown]
# ## In which programs does the head move?
#
# Five proposals for the two evenings:
#
# - A the report as it stands: `optimizer.zero_grad(set_to_none=False)`
# - B `optimizer.zero_grad()`
# - C as A, and `requires_grad_(False)` for the head of `cats` in the second evening
# - D as B, and `0 * model["cats"](…).sum()` is added to the loss. (Some programs do this, because a library complained about parameters that were not used.)
# - E as A, and the optimizer has neither momentum nor weight decay

# %%
proposals = {
    "A": {"to_none": False},
    "B": {"to_none": True},
    "C": {"to_none": False, "freeze": True},
    "D": {"to_none": True, "extra": True},
    "E": {"to_none": False, "plain": True},
}


def all_five():
    for name, settings in proposals.items():
        print(name, end=" ")
        L.stage.two_evenings(torch, **settings)


# %% [markdown]
# **Predict.** In which of them does the head of `cats` move in the second evening? A and C you have seen. Answer with a list of letters.

# %%
L.predict("16c.p2", None)

# %% tags=["C16c.3", "C16c.4", "P13"]
L.run(all_five, after="16c.p2")
L.run(L.stage.losses_of_cats, torch, proposals, after="16c.p2")

# %% [markdown] tags=["tells"]
# **Notice:** the second evening begins at step 30. From there on, the lines of B and E are flat.
#
# - **A** and **C** are the same. The flag `requires_grad` says that no *new* gradient is to be stored. The old tensor in `.grad` stays, `zero_grad(set_to_none=False)` fills it with zeros, and the optimizer sees a gradient like any other.
# - **B** sets `.grad` to `None`, and a parameter whose `.grad` is None is skipped: no momentum, no weight decay, no step.
# - **D** undoes B. Zero times something has a gradient, and it is zero, not None.
# - **E** is quiet in the second evening, because with plain SGD a zero moves nothing. But look at its first evening: without momentum the head has learned less. It is another training, and not a cure.
#
# > **The rule.** For an optimizer, None means "rest", and zero means "go on as before". Clear to None, and keep the unused out of the loss.

# %% [markdown] tags=["tells"]
# Which of the three questions of lesson 16 finds what is silent here?
#
# | the silent answer | the loss | 2. is the gradient the slope? | 3. does the right thing move? |
# | --- | --- | --- | --- |
# | report 4 A, cleared in backward | - | - (a count in validation finds it) | - |
# | report 4 B, a detached alias | - | **no**, after a write into `y` | - |
# | report 5 A, C and D | **that of `cats` rises** | yes | **no**: the other head moves |

# %% [markdown]
# ## What do the ten most common bugs look like from outside?
#
# Most bugs of training scripts raise no error and have nothing to do with versions. They are forgotten lines, or lines in the wrong place. You know them by their symptoms, if you have seen them once.
#
# **16c.3 · Ten symptoms** (8 minutes). Each of ten scripts has one bug. Which change cures it? All of them can be tried out: `L.check` runs the script with your cure and looks at the symptom.
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

L.check("16c.3", cures)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C16c.1** A result on ctx outlives its last name; if backward clears it, then only where backward runs; detached or in a slot it does not.
# - **C16c.2** If a result is overwritten before backward, a detached alias on ctx gives a wrong gradient without an error, and a slot raises.
# - **C16c.3** With zero_grad(set_to_none=False), momentum moves a parameter that takes no part, frozen or not; with None it rests, and so does its velocity.
# - **C16c.4** A loss that contains zero times a result gives its parameters gradients of zero and not None.
#
# **Left out:** the ring of a pack hook, which goes through a node made in C++, and which PyTorch's collector does not find (part 14b).
#
# **Read on in our engine:** `course_lib/engine/saved.py`, and `BuiltIn.step` in `course_lib/optim/optimizer.py`: `if param.grad is not None:` is all that an optimizer asks.
#
# **Next:** [lesson 17](17_two_machines.ipynb), in which two machines train one network.
