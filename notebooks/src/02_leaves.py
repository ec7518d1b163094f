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
# # 02 · Leaves and requires_grad: who takes part, and who gets a gradient?
#
# **You freeze a weight, so that it stays as it is. Is its gradient still computed, and thrown away? A friend gives his weights small starting values, in one line, and wonders why they never move. Another friend meets an error, "element 0 of tensors does not require grad". A forum tells her to add one line, and the error is gone. Her network runs for a day.**
#
# Three stories, and one flag decides them all: `requires_grad`. It says for each tensor whether anybody will want a gradient for it. You set it on the tensors that you make, and from there it spreads by a simple rule. Together with a second word, *leaf*, it tells where gradients are computed, where they are stored, and where they end.
#
# After this lesson you can
#
# - look at a program and say which of its tensors get a gradient, and which have none;
# - freeze a part of a network, and say what that saves;
# - give parameters starting values without losing them;
# - read the error about "element 0", and repair its cause.
#
# **Minutes** 75 · **Needs** lessons 00 and 01 · **Out of scope** switching recording off for a block, and `detach` (lesson 09); what adds up in `.grad` (lesson 05)
#
# [← 01 A computation is a graph](01_computation_graph.ipynb) · [all lessons](home.ipynb) · [03 Vector-Jacobian products →](03_vector_jacobian_products.ipynb)

# %%
import course_lib as torch
from course_lib.teach import compare, draw, expect_error, ledger, lesson, show

L = lesson(2)

import warnings

# %% [markdown]
# ## One layer is frozen: who gets a gradient?
#
# Here are three layers of a network. Each of them is a product with a matrix of *weights*, the numbers that are to be learned. `W1` and `W3` require grad. The one in the middle came from somewhere else and is to stay as it is: it is *frozen*.
#
# ```python
# h1 = x @ W1            # @ is the matrix product; x is plain data
# h2 = h1 @ W2           # W2 is frozen: it does not require grad
# loss = (h2 @ W3).sum()
# loss.backward()
# ```
#
# **Predict.** Which of `x`, `W1`, `W2`, `W3`, `h1`, `h2` have a `.grad` afterwards that is not None? Answer with a list of names.

# %%
L.predict("02.p1", None)

# %% [markdown]
# First the forward pass. (What networks add and bend between the products, biases and activations, would change nothing here.)

# %%
x = torch.tensor([[1.0, 2.0]])
W1 = torch.tensor([[1.0, -1.0], [2.0, 0.5]], requires_grad=True)
W2 = torch.tensor([[0.5, 1.0], [-1.0, 2.0]])  # frozen
W3 = torch.tensor([[2.0], [1.0]], requires_grad=True)
h1 = x @ W1
h2 = h1 @ W2
loss = (h2 @ W3).sum()
print(h1, h2, loss)

# %% [markdown]
# A graph that would be too wide is drawn downwards. Then the nodes are on the left, the tensors in the middle, and what the nodes have saved on the right.

# %%
draw(loss)

# %% [markdown]
# **Notice:**
#
# - `MmBackward0` is the node of a matrix product. It calls its two operands `self` and `mat2`.
# - There is no green box for `W2`. The second product has an arrow 0, and its arrow 1 leads to nothing and is not drawn.
# - That product has saved `W2` all the same, because the gradient for `h1` is made of it. It has not saved `h1`, from which only the gradient for `W2` would be made.
# - The first product has saved `x` and not `W1`: the gradient for `x` is not wanted. The third wants both of its gradients, and has saved both.
#
# Now the backward pass, to check your list:

# %% tags=["C02.4"]
loss.backward(retain_graph=True)  # the flag keeps the graph usable (lesson 06): we go on asking its nodes
print("W1:", W1.grad.tolist(), " W2:", W2.grad, " W3:", W3.grad.tolist())

# %% [markdown]
# `W1` and `W3` have one, and `W2` has none. The frozen layer does not stop the gradient on its way to `W1`. It is only not asked for one of its own.
#
# ## What does `requires_grad` spread to?
#
# `requires_grad` is a flag. You set it on tensors of your own. A result has it as soon as *one* of its operands has it, since then somebody may ask for a gradient through this result.
#
# The second word is *leaf*. In lesson 00 a leaf was a tensor that you made yourself. The exact definition is: a leaf is a tensor that no recorded operation has computed. `W1` is one, and so is plain data like `x`. And so is `x + 1`: it was computed, but the operation was not recorded, since none of its operands requires grad.
#
# > **The rule.** A gradient is stored if two things are true of a tensor: it is a leaf, and it requires grad.

# %% tags=["C02.1", "C02.2"]
for name, t in {"x": x, "W1": W1, "W2": W2, "h1": h1, "h2": h2, "x + 1": x + 1}.items():
    print(f"{name:6} requires_grad {t.requires_grad!s:6} is_leaf {t.is_leaf}")

# %% [markdown]
# Three of the four combinations are in the table. The fourth, a tensor that is no leaf and does not require grad, cannot happen: what does not require grad was not recorded, and what was not recorded is a leaf.
#
# ## What if the flag is changed later?
#
# The graph is made while your operations run. So the flag counts at the moment when an operation *runs*. Here one tensor gets the flag too late, and another one loses it after it was used:

# %% tags=["C02.6"]
on_later, off_later = torch.tensor(2.0), torch.tensor(3.0, requires_grad=True)
y = on_later * off_later
on_later.requires_grad_(True)
off_later.requires_grad_(False)
y.backward()
(nothing, _), (accumulate, _) = y.grad_fn.next_functions
print("switched on later: ", nothing, on_later.grad)
print("switched off later:", type(accumulate).__name__, off_later.grad)

# %% [markdown]
# So the flag is asked twice. The operation asks it when it makes the arrow: switched on later, it adds no arrow to a graph that is there already. And the accumulator asks again before it stores: switched off later, the arrow stays, but the leaf stores nothing.
#
# ## Is a frozen gradient computed and thrown away?
#
# No, and you can ask the node itself. A node can be called: you give it a gradient for its result, and it answers with one gradient for each operand. The node of `h2` has the frozen `W2` as its second operand.
#
# Memory is saved as well. What only that gradient would need, a product does not save. (A convolution is less careful and saves both operands.) `ledger` counts the bytes that nodes have saved inside of a block. Here the batch has 1000 rows, and at first `W2` requires grad; then it is frozen.

# %% tags=["C02.3"]
node, conv = h2.grad_fn, torch.nn.functional.conv1d(h1[None], torch.ones(1, 1, 1)).grad_fn
print(node.next_functions[1], node._saved_self, conv._saved_input is None)  # the product's slot is empty
print(node(torch.ones(1, 2)))  # the slope for h1, and None
batch = torch.ones(1000, 2) @ W1
for frozen in (False, True):
    with ledger() as held:
        kept = batch @ W2.requires_grad_(not frozen)
    print("frozen" if frozen else "not frozen", held.now, "bytes")

# %% [markdown]
# The answer of the node is a gradient for `h1`, and None for `W2`. And of the 8016 bytes, 8000 were the batch, saved only for the gradient of `W2`. Frozen, there are 16 bytes left, which are `W2` itself.
#
# ## When does freezing let backward end early?
#
# Freezing a layer in the middle does not, as you have seen: the way to `W1` stays open. But if *everything* before an operation is frozen, nobody behind it will ask for a gradient, and the graph begins there:

# %% tags=["C02.5"]
W1.requires_grad_(False)  # now all is frozen before W3
h2 = x @ W1 @ W2
print(h2.grad_fn, (h2 @ W3).grad_fn.next_functions[0])

# %% [markdown]
# `h2` has no node, and the arrow of the last product leads to nothing. This is why people who adapt a large network to a new task freeze its *first* layers: the backward pass then ends where the frozen part begins.
#
# **How our engine does it.** `gradient_edge` is the question that an operation asks about each of its operands: where should a gradient for you go? A result answers with its node, a leaf that requires grad with its accumulator, and everything else with None. (The lines about views wait for lesson 08. A tensor without `meta` is one on which nobody has set the flag.) If all answers are None, nothing is recorded.

# %% tags=["engine"]
show("engine.views.gradient_edge")
show("engine.graph.want_grad")

# %% [markdown]
# ## Three parameters with starting values: which of them will learn?
#
# One is to be in double precision, one is to have small values, and one is cast to single precision, to be on the safe side.
#
# ```python
# w = torch.tensor([1.0, 2.0], requires_grad=True).double()
# v = torch.tensor([3.0, 4.0], requires_grad=True) * 0.01
# u = torch.tensor([5.0, 6.0], requires_grad=True).float()
# total = (w * v * u).sum()
# total.backward()
# ```
#
# **Predict.** Which of `w`, `v`, `u` have a `.grad` that is not None? Answer with a list of names.

# %%
L.predict("02.p2", None)

# %% [markdown]
# If you read the `.grad` of a tensor that is no leaf, PyTorch warns you. Here the warnings are caught and counted.

# %% tags=["C02.7", "C02.8", "P10"]
w = torch.tensor([1.0, 2.0], requires_grad=True).double()
v = torch.tensor([3.0, 4.0], requires_grad=True) * 0.01
u = torch.tensor([5.0, 6.0], requires_grad=True).float()
total = (w * v * u).sum()
total.backward(retain_graph=True)  # only for the picture below
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name, t in {"w": w, "v": v, "u": u}.items():
        print(name, "leaf  " if t.is_leaf else "result", t.grad)
print(len(caught), "warnings:", str(caught[0].message).split(". ")[0])

# %%
draw(total, names={"w": w, "v": v, "u": u}, detail=0)

# %% [markdown]
# **Notice:**
#
# - The gradients did arrive, in two leaves without a name. `.double()` and `* 0.01` returned other tensors, and so only the graph still holds those two.
# - `w` and `v` are results, and each has a node. `ToCopyBackward0` is the node of a cast.
# - `u` is a leaf. There was nothing to do for `.float()`, so it handed back the tensor on which it was called.
#
# This is the story of the friend with the small starting values. He wrote `w = torch.randn(…, requires_grad=True) * 0.01`. The tensor that got the gradient was out of reach, and the `.grad` of his `w` was None.
#
# > **The rule.** Compute the starting values first. Then call `requires_grad_()` on the finished tensor.
#
# ## Can I keep the gradient of a result?
#
# Yes, if you ask before the backward pass: `retain_grad()`. It is for looking. It does not make the result a leaf, and it is no cure for `v`.
#
# There is even a trap in it. An *optimizer*, the object that changes the weights, normally refuses a result. After `retain_grad()` it accepts it, and then it moves the result, and the leaf stays as it was.

# %% tags=["C02.8", "C02.9", "C02.12"]
good = (torch.tensor([3.0, 4.0]) * 0.01).requires_grad_()
h = good * 10
h.retain_grad(), good.retain_grad()  # a leaf keeps its gradient anyway
(h * h).sum().backward()
print(good.is_leaf, good.grad, "and", h.is_leaf, h.grad)
print(good.retains_grad, h.retains_grad)
torch.optim.SGD([h], lr=0.1).step()  # accepted
print("moved: h", h.tolist(), "not moved: good", good.tolist())

# %% [markdown]
# ## A line from a forum: what does it do?
#
# The third story. A network is to hit something, and the loss is the share of misses. Without the line from the forum, `backward` raises.
#
# ```python
# w = torch.tensor(0.5, requires_grad=True)
# x = torch.tensor([1.0, -2.0, 3.0])
# hits = (w * x > 0.4).float()
# loss = 1 - hits.mean()     # the share of misses
# loss.requires_grad = True  # found in a forum
# loss.backward()
# ```
#
# **Predict.** What are `w.grad` and `loss.grad` at the end? Answer with a list of two: each a number, or None. Ask yourself which tensors require grad, line by line, and where backward starts.

# %%
L.predict("02.p3", None)

# %% [markdown]
# First without the line, and then with it. `compare` sets two drawings beside each other and marks what has changed between them.

# %%
w = torch.tensor(0.5, requires_grad=True)
x = torch.tensor([1.0, -2.0, 3.0])
hits = (w * x > 0.4).float()
loss = 1 - hits.mean()  # the share of misses
with expect_error(RuntimeError, "does not require grad and does not have a grad_fn"):
    loss.backward()
before = draw(loss)
loss.requires_grad = True  # found in a forum
loss.backward()

# %%
compare(before, draw(loss))

# %% [markdown]
# **Notice:**
#
# - There is one tensor before, and one after. No node, no arrow, and no `w` in either picture.
# - All that has changed: `loss`, a leaf before and after, now requires grad, and holds a gradient of 1.
#
# The flag brings no history back. Backward starts at `loss` with the gradient 1, finds that `loss` is a leaf, and stores the 1 there. That is the whole pass. The message had been right: something before `loss` had cut the way.
#
# Here it was `>`. Its result is a truth value, and a truth value has no slope. So the result does not require grad, and nothing that is done later brings the way back. `argmax` and casts to integers do the same:

# %% tags=["C02.1", "C02.11", "P11"]
print(w.grad, loss.grad, loss.is_leaf, loss.grad_fn)
scores = w * x
for result in (scores > 0.4, scores.argmax(), scores.long(), scores.long().float(), scores.sigmoid()):
    print(result.requires_grad, end=" ")
loss = 1 - ((scores - 0.4) * 10).sigmoid().mean()  # a soft step in place of a hard one
loss.backward()
print("\n" + str(w.grad))

# %% [markdown]
# So look for the line that cuts, or for an `item()`, and replace it by something with a slope. The last lines do that: a soft step, `sigmoid`, in the place of a hard one.
#
# > **The rule.** "Element 0 … does not require grad" means that the way back was cut somewhere *before* the loss. Find the cut; a flag on the loss only hides it.
#
# ## What is refused at once?
#
# Six requests that make no sense are refused where you make them, which is kind. In the order of the cell:
#
# 1. Whole numbers have no slopes, so they cannot require grad. Data as integers is common; write `torch.tensor([1.0, 2.0])`, or call `.float()` before you set the flag.
# 2. Truth values have none either.
# 3. The flag of a result is not yours to set: it follows from the operands. True is refused …
# 4. … and False as well. Freeze the leaves, or take a tensor without history (lesson 09).
# 5. `retain_grad()` is refused where no gradient will ever come by.
# 6. An optimizer is there to change what you own. It refuses results, and so it catches the trap of the starting values, if you use one.

# %% tags=["C02.10", "C02.12"]
with expect_error(RuntimeError, "floating point"):
    torch.tensor([1, 2], requires_grad=True)
with expect_error(RuntimeError, "floating point"):
    torch.tensor([True, False]).requires_grad_()
with expect_error(RuntimeError, "you can only change requires_grad flags of leaf variables"):
    h.requires_grad = True
with expect_error(RuntimeError, "you can only change requires_grad flags of leaf variables"):
    h.requires_grad = False
with expect_error(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
    x.retain_grad()
with expect_error(ValueError, "can't optimize a non-leaf Tensor"):
    torch.optim.SGD([torch.tensor([3.0, 4.0], requires_grad=True) * 0.01], lr=0.1)

# %% [markdown]
# ## Build your own engine: constants, flags, and recording switched off
#
# Your engine cannot compute `3 * w`, because 3 is no tensor, and it computes a gradient for every constant. In `my_engine.py`:
#
# 1. Turn a number into a tensor of the other operand's type (`as_tensor`).
# 2. Let `gradient_edge` answer None for a tensor that does not require a gradient. Its arrow then leads to nothing, its formula is not run, and what only this formula would read is not saved. If all arrows lead to nothing, leave no node.
# 3. `backward` on a tensor that does not require a gradient raises an error: "element 0 of tensors does not require grad …". (On a leaf that does require one, it stores a 1.)
# 4. A property `is_leaf` of `Tensor`: True if `grad_fn` is None.
# 5. Now look at `print(x.grad)` in your engine. It shows a `grad_fn`: your backward pass has recorded itself! So give your engine a switch. A variable says whether operations leave nodes; if it is off, their results require no gradient. `set_grad_enabled(flag)` sets it for the lines inside of a `with` block and restores it afterwards. (`contextlib.contextmanager` and one `yield` make such a function.) `no_grad()` is `set_grad_enabled(False)`. Run the backward pass under `no_grad`.
#
# The usual slip is in the last step: a `with` block that ends with an error has to switch recording on again, too (`try: … finally: …`).

# %%
L.build("02")

# %% [markdown]
# When the checkpoint says *correct*, your engine computes and records nothing for what is frozen.
#
# ## Exercises
#
# **02.1 · Who is what?** (5 minutes). After the last line, for each of `c` to `g`: is it a leaf, does it
# require grad, and is its `.grad` something other than None? Three times True or False for each, in this order.
#
# ```python
# a = torch.tensor([1.0, 2.0], requires_grad=True)
# b = torch.tensor([3.0, 4.0])
# c = a * b
# d = b * b
# e = (b * 0.1).requires_grad_()
# f = a.float(); g = a.double()
# ((c + d) * e + f * g).sum().backward()
# ```

# %%
state = {"c": None, "d": None, "e": None, "f": None, "g": None}

L.check("02.1", state)

# %% [markdown]
# **02.2 · Which happens?** (8 minutes). `x` is plain: `[3.0, 4.0]`; `ones` stands for `torch.tensor([1.0, 1.0])`,
# and `leaf` for the same with `requires_grad=True`. After each program `loss.backward()` is called. Answer
# `"fine"`, `"raises now"` (in the program), `"raises at backward"`, or `"silently wrong"`: no error, but `w.grad`
# is not the slope of the loss that was written down. (A warning is no error.)
#
# | | program |
# | --- | --- |
# | A | `w = leaf * 0.01; loss = (w * x).sum()` |
# | B | `w = ones; loss = (w * x).sum(); w.requires_grad_()` |
# | C | `w = leaf.float(); loss = (w * x).sum()` |
# | D | `w = leaf; loss = 1 - (w * x > 3.5).float().mean()` |
# | E | `w = leaf; loss = 1 - (w * x > 3.5).float().mean(); loss.requires_grad = True` |
# | F | `w = leaf; h = w * x; h.requires_grad = False; loss = h.sum()` |
# | G | `w = leaf.double(); w.retain_grad(); loss = (w * x).sum()` |
# | H | `w = ones.long().requires_grad_(); loss = (w * x).sum()` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("02.2", happens)

# %% [markdown]
# **02.3 · Small weights** (5 minutes). Repair: the function is to return a float64 *leaf* that requires grad, with the
# given values times 0.01.


# %%
def small_weights(torch, values):
    w = torch.tensor(values, requires_grad=True)
    return w.double() * 0.01


L.check("02.3", small_weights)

# %% [markdown]
# **02.4 · A bug report** (8 minutes). "My model does not learn. First it said *element 0 of tensors does not
# require grad*, I added the last line but one, now there is no error, but the loss stays the same." Repair
# `loss_of`: the same value, and after `loss.backward()` the gradient is in `w.grad`. `w` is a leaf, `xs` and `ts`
# are lists of plain tensors. (`torch.stack` makes one tensor of a list of tensors, as a recorded operation.)


# %%
def loss_of(torch, w, xs, ts):
    errors = []
    for x, t in zip(xs, ts, strict=True):
        error = (w * x).sum() - t
        errors.append((error * error).item())
    loss = torch.tensor(errors).mean()
    loss.requires_grad = True
    return loss


L.check("02.4", loss_of)

# %% [markdown]
# **02.5 · What is kept?** (5 minutes). `x` is plain, `A` and `C` are frozen, `B` and `D` require grad. For each
# product: which of its two operands does the node keep? A list of names, empty if there is no node or it keeps
# neither.
#
# ```python
# h1 = x @ A
# h2 = h1 @ B
# h3 = h2 @ C
# h4 = h3 @ D
# ```

# %%
kept = {"h1": None, "h2": None, "h3": None, "h4": None}

L.check("02.5", kept)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`tests/claims/test_claims_02.py`).
#
# *The flag and the leaf*
#
# - **C02.1** A result requires grad as soon as one operand does; among the exceptions are comparisons, `argmax` and casts to integers.
# - **C02.2** A leaf is a tensor that no recorded operation computed: what you made yourself, and every result that requires no grad.
# - **C02.6** The flag counts when an operation runs: switched on later it adds no arrow; switched off later the arrow stays, and the leaf stores nothing.
# - **C02.10** Tensors of whole numbers or truth values cannot require grad.
#
# *Freezing*
#
# - **C02.3** For a frozen operand no gradient is computed: its arrow leads to nothing, its place in the node's answer is None, and the node of a product does not keep what only that gradient needs.
# - **C02.4** A frozen weight does not stop gradients on their way to weights further back.
# - **C02.5** If nothing before an operation requires grad, backward ends there: there is no node further back.
#
# *Where gradients are stored*
#
# - **C02.7** Gradients are stored in leaves that require grad; the `.grad` of a result stays None unless you ask for it before, and reading that None warns.
# - **C02.8** `.double()` and `* 0.01` of a float32 leaf that requires grad give a result, and the gradient arrives at the leaf behind it; `.float()` of it is that leaf itself.
# - **C02.9** `retain_grad()`, called before backward, keeps a result's gradient too; on a leaf that requires grad it does nothing.
# - **C02.12** Assigning to the flag of a result raises; an optimizer refuses a result, unless `retain_grad()` was called on it, and then moves the result and not the leaf.
# - **C02.11** `loss.requires_grad = True` brings no history back: backward stores the gradient 1 in the loss, and nothing in any weight.
#
# **Left out, compared with PyTorch.** There, complex tensors may require grad too, and the warning ends with the place in PyTorch's C++ sources that gave it. Two conveniences work in both and were not shown: `nn.Parameter`, a leaf that requires grad unless told otherwise, and `requires_grad_(False)` on a module, which freezes all of its parameters.
#
# **Read on in our engine:** `course_lib/engine/tensor.py`, the fields of `AutogradMeta`: `requires_grad`, `grad` and `accumulator`, one sentence each.
#
# **Next:** you know now who gets a gradient. [Lesson 03](03_vector_jacobian_products.ipynb) is about what exactly travels along an arrow when a result has a thousand numbers.
