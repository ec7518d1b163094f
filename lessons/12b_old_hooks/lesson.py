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
# # 12b · Old hooks: whose gradient does an old script log?
#
# **You inherit a script from 2018 that logs, for each layer of a network, how large the gradient of its input is. One layer's numbers look far too large. You port the script to the new hooks, and that layer's numbers shrink to a tenth. The network, the data and the random numbers are the same.**
#
# This part needs lesson 12, and no later lesson needs this part. Scripts from before 2021, and many answers on the web, call `register_backward_hook`, without "full". It still exists, and PyTorch asks you not to use it.
#
# After this lesson you can
#
# - say to which node an old hook of a module is attached, and what it is therefore given;
# - port an old script, and say which of its old numbers were right;
# - read the warning and the error that PyTorch has for such scripts.
#
# **Minutes** 26, and 8 for more exercises · **Needs** lesson 12 · **Out of scope** hooks of all modules at once
#
# [← 12 Hooks](12_hooks.ipynb) · [all lessons](home.ipynb) · [13 Double backward →](13_double_backward.ipynb)

# %%
import course_lib as torch
from backscope import draw
from coursekit import lesson

L = lesson("12b")

# %%
L.stage.logged(torch)

# %% [markdown]
# This is the story, small: one layer of a few operations, one pass, and the norm that each kind of hook logs for the gradient of the layer's input. `x.grad`, which is that gradient, says which of the two is right.
#
# ## Whose gradient does an old hook see?
#
# `Square` computes (3x)² = 9x². It has one input, so `grad_input[0]` should be the gradient of it.

# %%
class Square(torch.nn.Module):
    def forward(self, x):
        return (x * 3) ** 2


def log(module, grad_input, grad_output):
    print("grad_input:", grad_input, " grad_output:", grad_output)


def passed(register):
    x, square = torch.tensor([1.0, 2.0], requires_grad=True), Square()
    register(square, log)
    y = square(x)
    picture = draw(y)
    y.sum().backward()
    return picture

# %% [markdown]
# A full hook is attached to the identities around the module (lesson 12). The old hook is older than the identities. It is attached to a single node: the one that made the module's result.
#
# **Predict.** What does `log` print as `grad_input[0]` with the full hook, and what with the old one? Answer with two lists of two numbers, the full hook first, such as `[[1, 2], [3, 4]]`.

# %%
L.predict("12b.p1", None)

# %% tags=["C12b.1"]
L.run(passed, torch.nn.Module.register_full_backward_hook, after="12b.p1")
L.run(passed, torch.nn.Module.register_backward_hook, after="12b.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - The full hook got 18x, the gradient of the input. The old one got 6x. That is the slope of the *last* step, the square of 3x, by its own operand.
# - The second picture shows where the old hook is: on node 2, the last one of the module. The product with 3, node 1, is out of its sight. The layer of the story is `(x * 0.1).tanh()`. There the old hook misses a factor of 0.1, and logs ten times too much.
# - `grad_output` is the same with both.
#
# So the old hook is nothing but a hook of a node, like `y.grad_fn.register_hook`. With one more operation in the module it means something else, and there is only a warning.

# %% [markdown]
# ## And if the module has only one node?
#
# A linear layer with a bias is a single node. The last line tries to give it a hook of the other kind as well.

# %%
def shapes(module, grad_input, grad_output):
    print("gradients of shapes", [tuple(grad.shape) for grad in grad_input])


def linear_layer():
    rows, linear = torch.ones(4, 2, requires_grad=True), torch.nn.Linear(2, 3)
    linear.register_backward_hook(shapes)
    linear(rows).sum().backward()
    linear.register_full_backward_hook(shapes)


# %% [markdown]
# **Predict.** How many gradients are in `grad_input`? (A linear layer is one node. It multiplies the rows by the weight and adds the bias.)

# %%
L.predict("12b.p2", None)

# %% tags=["C12b.1", "C12b.2"]
L.run(linear_layer, after="12b.p2")

# %% [markdown] tags=["tells"]
# The old hook is given three gradients: one for the bias, one for the rows, and one for the weight, transposed. The module has one input. Code such as `grad_input[0].norm()` therefore logs the norm of a *bias* under the name of the input. The error in the last line says that a module takes one kind or the other.
#
# > **The rule.** `register_backward_hook` is attached to the last node of the module. Write `register_full_backward_hook`, and do not trust the old numbers for inputs.

# %% [markdown]
# ### Exercise: port an old script
#
# **12b.1 · Port an old script** (10 minutes). It should return, for each child of `net` by name, a pair of numbers: the norm of the gradient of the child's *input*, and that of its *output*, in one pass from `net(x).sum()`. The script is from 2018.
#
# - Each child takes one tensor and returns one. Nobody else uses these two, and no child edits in place.
# - Where no input requires a gradient, None stands for the first number.
# - The pass itself may fill `.grad` of the leaves. Your hooks should be gone afterwards, also if the pass fails.


# %%
def norms_by_layer(torch, net, x):
    norms = {}
    for name, layer in net.named_children():
        layer.register_backward_hook(
            lambda layer, grad_input, grad_output: norms.update(
                {name: (grad_input[0].norm().item(), grad_output[0].norm().item())}
            )
        )
    net(x).sum().backward()
    return norms


L.check("12b.1", norms_by_layer)

# %% [markdown]
# ## Exercises: more, if you like
#
# **12b.2 · Repair the logger** (8 minutes). It should run the pass and return a dictionary, name to number: the norm of the gradient that *this pass* brings to each parameter.
#
# - Parameters that no gradient reaches are left out. Some may be frozen, or have a `.grad` already.
# - The gradients are added to `.grad` as ever, in one pass. Do not set `.grad` to None for the time of the pass: hooks of the caller may look at it.
# - Afterwards the caller's own hooks are still there and yours are gone, also if the pass fails. Its error goes to the caller.
#
# (`model.named_parameters()` gives pairs of name and parameter. A function that is made in a loop looks names up when it is *called*.)


# %%
def gradient_norms(torch, model, loss):
    norms = {}
    for name, p in model.named_parameters():
        p.register_hook(lambda grad: norms.setdefault(name, grad.norm().item()))
    loss.backward()
    return norms


L.check("12b.2", gradient_norms)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C12b.1** `register_backward_hook` hangs its hook on the node that made the module's result: it gets what this one node sends on, and of a linear layer with a bias that is three gradients, of bias, input and transposed weight.
# - **C12b.2** A module takes full backward hooks or old ones, and not both.
#
# **Left out:** modules that return several tensors, of whose nodes an old hook takes the first.
#
# **Next:** [lesson 13](13_double_backward.ipynb), gradients of gradients.
