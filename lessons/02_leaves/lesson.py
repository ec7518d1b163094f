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
# **You freeze a weight, so that it stays as it is. Is its gradient still computed, and thrown away? A friend wants his weights in double precision, and says so in one line. His training loop passes over every weight whose `.grad` is None. There is no error, and his weights never move. Another friend meets an error, "element 0 of tensors does not require grad". A forum tells her to add one line, and the error is gone. Her network runs for a day, and has learned nothing.**
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
from backscope import compare, draw, ledger
from coursekit import expect_error, lesson

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
# First the forward pass. A `Parameter` is a tensor that a network is to learn: it requires grad, unless you say otherwise. (What networks add and bend between the products, biases and activations, would change nothing here.)

# %%
x = torch.tensor([[1.0, 2.0]])
W1 = torch.nn.Parameter(torch.tensor([[1.0, -1.0], [2.0, 0.5]]))
W2 = torch.nn.Parameter(torch.tensor([[0.5, 1.0], [-1.0, 2.0]]), requires_grad=False)  # frozen
W3 = torch.nn.Parameter(torch.tensor([[2.0], [1.0]]))
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
# - `W2` is white and says *frozen*. No green box belongs to it. Of the second product's two arrows, number 0 leads to the first product, and number 1 to nothing: it is the short line with a ring.
# - That product has saved `W2` all the same, as its note says, because the gradient for `h1` is made of it. It has not saved `h1`. Only the gradient for `W2` would need `h1`, and nobody wants that gradient.
# - The first product has saved `x` and not `W1`: the gradient for `x` is not wanted. The third, node 3, wants both of its gradients, and has saved both. (Its result got no name in the program and is gone, so the picture has no tensor for it. As in lesson 00, `v0` counts writes to a tensor: at first when it was saved, and then `now`. It plays no part before lesson 07.)
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
# `requires_grad` is a flag. You set it on tensors of your own. A result has it as soon as *one* of its operands has it, since then somebody may ask for a gradient through this result. (A few operations are excepted. You will meet them in the third story.)
#
# The second word is *leaf*. In lesson 00 a leaf was a tensor that you made yourself. The exact definition is: a leaf is a tensor that no recorded operation has computed. `W1` is one, and so is plain data like `x`. And so is `x + 1`: it was computed, but the operation was not recorded, since none of its operands requires grad.
#
# > **The rule.** A gradient that arrives at a tensor is stored only if two things are true of it: it is a leaf, and it requires grad. (A result can ask for its gradient, too: you will see how.)

# %% tags=["C02.1", "C02.2"]
for name, t in {"x": x, "W1": W1, "W2": W2, "h1": h1, "h2": h2, "x + 1": x + 1}.items():
    print(f"{name:6} requires_grad {t.requires_grad!s:6} is_leaf {t.is_leaf}")

# %% [markdown]
# | | leaf | not a leaf |
# | --- | --- | --- |
# | requires grad | `W1`: its gradient is stored | `h1`, `h2`: gradients pass through |
# | does not | `x`, `W2`, `x + 1`: no gradient | cannot happen |
#
# Why can the last one not happen? What does not require grad was not recorded, and what was not recorded is a leaf. And the flag of a result cannot be switched off, as you will see.
#
# ## What if the flag is changed later?
#
# The flag is looked at when an operation runs, and again when a gradient is to be stored. (In between, `backward()` looks at the flag of the tensor that it starts from.) Here one tensor gets the flag too late, and another one loses it after it was used:

# %% tags=["C02.6"]
on_later, off_later = torch.tensor(2.0), torch.tensor(3.0, requires_grad=True)
y = on_later * off_later
on_later.requires_grad_(True)
off_later.requires_grad_(False)
y.backward()
(nothing, _), (accumulate, _) = y.grad_fn.next_functions
print("switched on later:  arrow to", nothing, "          .grad", on_later.grad)
print("switched off later: arrow to", type(accumulate).__name__, ".grad", off_later.grad)

# %% [markdown]
# The operation looks at the flag when it makes the arrow. If you switch the flag on later, a graph that is there already gets no new arrow. The accumulator looks at the flag again before it stores. If you switch the flag off later, the arrow stays, but the leaf stores nothing.
#
# ## Is a frozen gradient computed and thrown away?
#
# No, and you can ask the node itself. A node can be called: you give it a gradient for its result, and it answers with one gradient for each operand. The node of `h2` has the frozen `W2` as its second operand.

# %% tags=["C02.3"]
node = h2.grad_fn
print("arrow 1:   ", node.next_functions[1])
print("its answer:", node(torch.ones(1, 2)))  # for h1, and for W2
print("saved h1:  ", node._saved_self)

# %% [markdown]
# The answer is a gradient for `h1`, and None for `W2`. And the slot in which the product would keep `h1` is empty: only the gradient for `W2` would read it.
#
# How much memory is that? `ledger` counts the bytes that nodes have saved inside of a block. Here the batch has 1000 rows. At first `W2` requires grad; then it is frozen.

# %% tags=["C02.3"]
batch = torch.ones(1000, 2) @ W1
for frozen in (False, True):
    W2.requires_grad_(not frozen)
    with ledger() as held:
        kept = batch @ W2
    print("frozen" if frozen else "not frozen", held.now, "bytes")

# %% [markdown]
# Of the 8016 bytes, 8000 were the batch, saved only for the gradient of `W2`. Frozen, there are 16 bytes left, which are `W2` itself.
#
# ## When does freezing let backward end early?
#
# Freezing a layer in the middle does not, as you have seen: the way to `W1` stays open. But if *everything* before an operation is frozen, no gradient is wanted there, and the graph begins with this operation. (The last line freezes a whole *module*, with all the parameters in it. That is how you will meet it in most programs.)

# %% tags=["C02.5"]
W1.requires_grad_(False)  # now all is frozen before W3
with ledger() as held:
    h2 = x @ W1 @ W2
print("saved:", held.now, "bytes  h2.grad_fn:", h2.grad_fn)
print("first arrow of h2 @ W3:", (h2 @ W3).grad_fn.next_functions[0])
layer = torch.nn.Linear(2, 2).requires_grad_(False)
print("a frozen module:", [parameter.requires_grad for parameter in layer.parameters()])

# %% [markdown]
# `h2` has no node, nothing was saved for it, and the arrow of the last product leads to nothing. This is one reason why people who adapt a large network to a new task freeze its *first* layers: the backward pass then ends where the frozen part begins.
#
# **How our engine does it.** Each operation asks about each of its operands: where should a gradient for you go? Without the lines about views and speed, the question is four lines long (the whole is in `course_lib/engine/views.py`):
#
# ```python
# def gradient_edge(tensor):
#     if tensor.grad_fn is not None:
#         return tensor.grad_fn          # a result: to the node that made it
#     return accumulator_of(tensor) if tensor.requires_grad else None  # a leaf; or nowhere
# ```
#
# If the answer is None for all operands, nothing is recorded. Here is what the whole function answers for a result, for a leaf that takes part, and for the frozen weight. (`h1` was computed before we froze `W1`, so it has its node still.)

# %% tags=["engine"]
for name, t in {"h1": h1, "W3": W3, "W2": W2}.items():
    edge = torch.engine.views.gradient_edge(t)
    print(name, "->", edge and type(edge).__name__)

# %% [markdown]
# **02.5 · What is kept?** (5 minutes). The same without a run: `x` is plain, `A` and `C` are frozen, `B` and `D` require grad. For each
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
# This is the story of the friend with the double precision. The tensor that gets the gradient is out of his reach, and the `.grad` of his `w` is None. His loop takes it for a weight that has no part in the loss, and goes on to the next one. A cast saves nothing, so the graph can be run again and again. Had he written `* 0.01` in place of `.double()`, the second pass at least would have raised. That product has saved the 0.01, and a node lets go of what it saved after one pass (lesson 06).

# %% tags=["C02.7", "C02.8", "P10"]
def train(w, steps):
    for _ in range(steps):
        (w * w).sum().backward()
        if w.grad is not None:
            with torch.no_grad():  # the write is no part of the computation: lesson 09
                w -= 0.1 * w.grad
    return w


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(train(torch.tensor([1.0, 2.0], requires_grad=True).double(), steps=3))
    with expect_error(RuntimeError, "backward through the graph a second time"):
        train(torch.tensor([1.0, 2.0], requires_grad=True) * 0.01, steps=3)

# %% [markdown]
# > **The rule.** Compute the starting values first. Then call `requires_grad_()` on the finished tensor.

# %% [markdown]
# **02.3 · Small weights** (5 minutes). Repair: the function is to return a float64 *leaf* that requires grad, with the
# given values times 0.01. (`torch` is handed in by the check.)


# %%
def small_weights(torch, values):
    w = torch.tensor(values, requires_grad=True)
    return w.double() * 0.01


L.check("02.3", small_weights)

# %% [markdown]
# ## Can I keep the gradient of a result?
#
# Yes, if you ask before the backward pass: `retain_grad()`. It is for looking. It does not make the result a leaf, so it is no cure for the weights above.
#
# There is even a trap in it. An *optimizer*, the object that changes the weights, refuses a result; it would have told the friend at once. After `retain_grad()` the optimizer accepts the result. It then changes the result, which the next forward pass computes anew. The leaf stays as it was.

# %% tags=["C02.8", "C02.9", "C02.12"]
good = (torch.tensor([3.0, 4.0]) * 0.01).requires_grad_()
h = good * 10
with expect_error(ValueError, "can't optimize a non-leaf Tensor"):
    torch.optim.SGD([h], lr=0.1)
h.retain_grad()
good.retain_grad()
(h * h).sum().backward()
for name, t in {"good": good, "h": h}.items():
    print(f"{name:5} leaf {t.is_leaf!s:6} retains_grad {t.retains_grad!s:6} grad {t.grad}")
torch.optim.SGD([h], lr=0.1).step()  # accepted
print("h moved from 0.3 and 0.4 to", [round(number, 2) for number in h.tolist()])
print("good stayed where it was: ", [round(number, 2) for number in good.tolist()])

# %% [markdown]
# `good` is a leaf and keeps its gradient anyway, so `retain_grad()` has done nothing there: its `retains_grad` is still False.
#
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
# First without the line, and then with it. `compare` shows two drawings together and marks what has changed between them.

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
# The flag brings no history back. Backward starts at `loss` with the gradient 1, finds that `loss` is a leaf, and stores the 1 there. That is the whole pass.
#
# **The message had been right: something before `loss` had cut the way, and it was `>`.** Its result is a truth value, and a truth value has no slope. So the result does not require grad, and nothing that is done later brings the way back. `argmax` and casts to integers do the same.
#
# The last lines of the next cell put a soft step, `sigmoid`, in the place of the hard one. (It goes from 0 to 1 without a jump. The factor 10 makes it steep, so that it is close to the hard step.)

# %% tags=["C02.1", "C02.11", "P11"]
print("w.grad", w.grad, " loss.grad", loss.grad, " leaf", loss.is_leaf, " grad_fn", loss.grad_fn)
scores = w * x
results = {">": scores > 0.4, "argmax": scores.argmax(), "long": scores.long(), "sigmoid": scores.sigmoid()}
print("requires grad:", {name: result.requires_grad for name, result in results.items()})
loss = 1 - ((scores - 0.4) * 10).sigmoid().mean()  # a soft step in place of a hard one
loss.backward()
print("w.grad with the soft step:", w.grad)

# %% [markdown]
# `w` has a gradient now. So look for the line that cuts, or for an `item()`, and replace it by something with a slope.
#
# > **The rule.** "Element 0 … does not require grad" means that the way back was cut somewhere *before* the loss. Find the cut; a flag on the loss only hides it.
#
# ## What is refused at once?
#
# Some requests that make no sense are refused where you make them, which is kind:
#
# 1. Whole numbers and truth values have no slopes, so they cannot require grad. For data, write `torch.tensor([1.0, 2.0])`, or call `.float()` before you set the flag.
# 2. You cannot switch off the flag of a result: it follows from the operands. Freeze the leaves, or take a tensor without history (lesson 09). To *assign* True is refused, too. But `h.requires_grad_()` on a result is not refused: `h` requires grad already, so the call changes nothing and says nothing. It does not make a leaf of `h`.
# 3. `retain_grad()` is refused where no gradient will ever come by.

# %% tags=["C02.10", "C02.12"]
for data in ([1, 2], [True, False]):
    with expect_error(RuntimeError, "floating point"):
        torch.tensor(data, requires_grad=True)
for flag in (False, True):
    with expect_error(RuntimeError, "you can only change requires_grad flags of leaf variables"):
        h.requires_grad = flag
print("after h.requires_grad_(), is h a leaf?", h.requires_grad_().is_leaf)
with expect_error(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
    x.retain_grad()

# %% [markdown]
# ## Build your own engine: constants, flags, and a switch
#
# Your engine cannot compute `3 * w`, because 3 is no tensor, and it computes a gradient for every constant. The work comes in two parts: four steps, and then a fifth. In `my_engine.py`:
#
# 1. Turn a number into a tensor of the other operand's dtype (`as_tensor`). (The solution has a line more, `__array_ufunc__ = None`. With it NumPy leaves `array * tensor` to your engine.)
# 2. Let `gradient_edge` answer None for a tensor that does not require a gradient: its arrow leads to nothing. Then four places have to know of such arrows:
#     - `backward` steps over them;
#     - the formula of such an operand is not run;
#     - what only this formula would read is not saved;
#     - an operation leaves no node if all of its arrows lead to nothing.
# 3. `backward` on a tensor that does not require a gradient raises an error: "element 0 of tensors does not require grad …". (On a leaf that does require one, it stores a 1.)
# 4. A property `is_leaf` of `Tensor`: True if `grad_fn` is None.
#
# Try these four first. The checkpoint says “steps 1 to 4 are right” when they are (and “almost”, since a fifth follows), and draws a graph with a constant and a frozen factor.

# %%
L.build("02")

# %% [markdown]
# **5. The switch.** In your engine, take a leaf `w`, call `(w * w).backward()`, and look at `print(w.grad)`. It shows a `grad_fn`: your backward pass has recorded itself! So your engine needs a switch. These lines are one; copy them. (They turn recording off for the lines of a `with` block, and restore it afterwards, also when the block ends with an error. What it is good for in PyTorch, lesson 09 will tell.)
#
# ```python
# from contextlib import contextmanager
#
# recording = True
#
# @contextmanager
# def set_grad_enabled(flag):
#     global recording
#     before, recording = recording, flag
#     try:
#         yield                # here the lines of the block run
#     finally:
#         recording = before
#
# def no_grad():
#     return set_grad_enabled(False)
# ```
#
# Two things are left for you: an operation leaves a node only if `recording` is True, and `backward` does its work inside of `with no_grad():`.

# %%
L.build("02")

# %% [markdown]
# When it says *correct*, your engine computes and records nothing for what is frozen.
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
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/02_leaves/claims.py`).
#
# *The flag and the leaf*
#
# - **C02.1** A result requires grad as soon as one operand does; among the exceptions are comparisons, `argmax` and casts to integers.
# - **C02.2** A leaf is a tensor that no recorded operation computed: what you made yourself, and every result that requires no grad.
# - **C02.6** The flag is looked at when an operation runs, and when a gradient is to be stored: switched on later it adds no arrow; switched off later the arrow stays, and the leaf stores nothing.
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
# - **C02.12** Assigning to the flag of a result raises, and `requires_grad_()` on one changes nothing; an optimizer refuses a result, unless `retain_grad()` was called on it, and then moves the result and not the leaf.
# - **C02.11** `loss.requires_grad = True` brings no history back: backward stores the gradient 1 in the loss, and nothing in any weight.
#
# **Left out, compared with PyTorch.** There, complex tensors may require grad too, and the warning ends with the place in PyTorch's C++ sources that gave it. Not every operation is as careful as the product: in both, a convolution saves both operands, whichever of them is frozen.
#
# **Read on in our engine:** `course_lib/engine/tensor.py`, the fields of `AutogradMeta`: `requires_grad`, `grad` and `accumulator`, one sentence each.
#
# **Next:** you know now who gets a gradient. [Lesson 03](03_vector_jacobian_products.ipynb) is about what exactly travels along an arrow when a result has a thousand numbers.
