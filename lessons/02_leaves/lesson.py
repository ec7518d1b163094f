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
# **A friend of yours wants his weights in double precision, and says so in one line. His training loop passes over every weight whose `.grad` is None. There is no error, only a warning among many others, and his weights never move. Another friend meets an error, "element 0 of tensors does not require grad". A forum tells her to add one line, and the error is gone. Her network runs for a day, and has learned nothing.**
#
# One flag decides both stories: `requires_grad`. You set it on the tensors that you make, and from there it spreads by a simple rule. Together with a second word, *leaf*, it tells where gradients are computed and stored.
#
# After this lesson you can
#
# - look at a program and say which of its tensors get a gradient, and which have none;
# - freeze a part of a network, and say what that saves;
# - give parameters starting values without losing them;
# - read the error about "element 0", and repair its cause.
#
# **Minutes** 90, of which 30 are for your own engine, and 13 for more exercises · **Needs** lessons 00 and 01 · **Out of scope** switching recording off for a block, and `detach` (lesson 09)
#
# [← 01 A computation is a graph](01_computation_graph.ipynb) · [all lessons](home.ipynb) · [03 Vector-Jacobian products →](03_vector_jacobian_products.ipynb)

# %%
import course_lib as torch
from backscope import compare, draw, ledger
from coursekit import expect_error, lesson

L = lesson(2)

# %%
def train(w, steps):
    for _ in range(steps):
        (w * w).sum().backward()
        if w.grad is not None:
            with torch.no_grad():  # the write is no part of the computation: lesson 09
                w -= 0.1 * w.grad
            w.grad = None
    return w.tolist()


weights = torch.tensor([1.0, 2.0], requires_grad=True)
in_double = torch.tensor([1.0, 2.0], requires_grad=True).double()
L.run(train, weights, 3)
L.run(train, in_double, 3)

# %% [markdown]
# In double precision, the weights stay at 1 and 2.
#
# ## One layer is frozen: who gets a gradient?
#
# Here are three layers of a network. Each is a product with a matrix of *weights*, the numbers that are to be learned. (`@` is the matrix product.) A `Parameter` is a tensor that a network is to learn, so it requires grad by default. The layer in the middle came from somewhere else and is to stay as it is: it is *frozen*.

# %%
x = torch.tensor([[1.0, 2.0]])  # plain data
W1 = torch.nn.Parameter(torch.tensor([[1.0, -1.0], [2.0, 0.5]]))
W2 = torch.nn.Parameter(torch.tensor([[0.5, 1.0], [-1.0, 2.0]]), requires_grad=False)  # frozen
W3 = torch.nn.Parameter(torch.tensor([[2.0], [1.0]]))
h1 = x @ W1
h2 = h1 @ W2
loss = (h2 @ W3).sum()


def backward():
    loss.backward(retain_graph=True)  # the flag keeps the graph usable (lesson 06): we go on asking its nodes
    print("W1:", W1.grad, " W2:", W2.grad, " W3:", W3.grad)

# %% [markdown]
# **Predict.** `backward()` is called. Which of `x`, `W1`, `W2`, `W3`, `h1`, `h2` have a `.grad` afterwards that is not None? Answer with a list of names.

# %%
L.predict("02.p1", None)

# %% tags=["C02.4"]
L.run(backward, after="02.p1")

# %%
L.run(lambda: draw(loss), after="02.p1")

# %% [markdown] tags=["tells"]
# **Notice:** a graph that would be too wide is drawn upright: the tensors stand on the right, and time runs down.
#
# - `W1` and `W3` have a gradient, and `W2` has none. The frozen layer does not stop the gradient on its way to `W1`. It is only not asked for one of its own.
# - `MmBackward0` is the node of a matrix product. It calls its two operands `self` and `mat2`. In the product with the frozen `W2`, the arrow for `mat2` leads to nothing.
# - That product has saved `W2` all the same, because the gradient for `h1` is made of it. It has not saved `h1`: only the gradient for `W2` would need `h1`, and nobody wants that gradient.
# - Neither `x` nor `W2` requires grad. The picture calls a Parameter *frozen*, and any other tensor *no grad*.

# %% [markdown]
# ## What does `requires_grad` spread to?
#
# `requires_grad` is a flag. You set it on tensors of your own. A result has it as soon as *one* of its operands has it, since then somebody may ask for a gradient through this result.
#
# The second word is *leaf*: a tensor that no recorded operation has computed. `W1` is one, and so is plain data like `x`. And so is `x + 1`: it was computed, but the operation was not recorded, since none of its operands requires grad.
#
# > **The rule.** A gradient that arrives at a tensor is stored only if two things are true of the tensor: it is a leaf, and it requires grad. (A result stores one only if you ask it to: see below.)

# %% tags=["C02.1", "C02.2"]
for name, t in {"x": x, "W1": W1, "W2": W2, "h1": h1, "h2": h2, "x + 1": x + 1}.items():
    print(f"{name:6} requires_grad {t.requires_grad!s:6} is_leaf {t.is_leaf}")

# %% [markdown]
# | | leaf | not a leaf |
# | --- | --- | --- |
# | requires grad | `W1`: its gradient is stored | `h1`, `h2`: gradients pass through |
# | does not | `x`, `W2`, `x + 1`: no gradient | cannot happen |
#
# The last one cannot happen: what does not require grad was not recorded, and what was not recorded is a leaf.
#
# The flag is looked at twice: when an operation runs, and again when a gradient is to be stored. Here one tensor gets the flag too late, and another one loses it after it was used:

# %% tags=["C02.6"]
on_later, off_later = torch.tensor(2.0), torch.tensor(3.0, requires_grad=True)
y = on_later * off_later
on_later.requires_grad_(True)
off_later.requires_grad_(False)
y.backward()
(nothing, _), (accumulate, _) = y.grad_fn.next_functions
print("on later:  arrow to", nothing, "and .grad is", on_later.grad)
print("off later: arrow to its accumulator:", accumulate.variable is off_later, "and .grad is", off_later.grad)

# %% [markdown]
# If you switch the flag on later, a graph that is there already gets no new arrow. If you switch it off later, the arrow stays, but the leaf stores nothing.
#
# ## Is a frozen gradient computed and thrown away?
#
# No, and you can ask the node itself. Call the node of `h2`: you give it a gradient for its result (here all ones, in the shape of `h2`), and it answers with one gradient for each operand. The frozen `W2` is its second operand. `_saved_self` is the slot for its first one, `h1`.

# %% tags=["C02.3"]
print(h2.grad_fn(torch.ones(1, 2)), "  saved h1:", h2.grad_fn._saved_self)

# %% [markdown]
# Nothing was computed for `W2`, and the slot for `h1` is empty. How much memory is that? `ledger` counts the bytes that nodes have saved inside a block. Now the batch has 1000 rows. First `W2` requires grad; then it is frozen again.

# %% tags=["C02.3"]
batch = torch.ones(1000, 2) @ W1
for frozen in (False, True):
    W2.requires_grad_(not frozen)
    with ledger() as held:
        result = batch @ W2
    print("frozen" if frozen else "not frozen", held.now, "bytes")

# %% [markdown]
# Of the 8016 bytes, 8000 were the batch, saved only for the gradient of `W2`. Frozen, 16 are left: `W2` itself.
#
# But if *everything* before an operation is frozen, no gradient is wanted there, and the graph begins with this operation:

# %% tags=["C02.5"]
W1.requires_grad_(False)  # now all is frozen before W3
h2 = x @ W1 @ W2
print("h2.grad_fn:", h2.grad_fn, "  first arrow of h2 @ W3:", (h2 @ W3).grad_fn.next_functions[0])

# %% [markdown]
# `h2` has no node, nothing was saved for it, and the arrow of the last product leads to nothing. This is one reason why people who adapt a large network to a new task freeze its *first* layers: backward then never enters the frozen part.
#
# ### Exercise: what is kept?
#
# **02.1 · What is kept?** (5 minutes). The same without a run: `x` is plain, `A` and `C` are frozen, `B` and `D` require grad. For each
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

L.check("02.1", kept)

# %% [markdown]
# ## Three parameters with starting values: which of them will learn?
#
# A tensor of numbers with a point is in single precision, `float32`, by default. A cast to the type that a tensor has already gives back that very tensor: there is nothing to compute.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True).double()
v = torch.tensor([3.0, 4.0], requires_grad=True) * 0.01
u = torch.tensor([5.0, 6.0], requires_grad=True).float()
total = (w * v * u).sum()
total.backward(retain_graph=True)  # only for the picture below


def look():
    return {"w": w.grad, "v": v.grad, "u": u.grad}

# %% [markdown]
# **Predict.** Which of `w`, `v`, `u` have a `.grad` that is not None? Answer with a list of names.

# %%
L.predict("02.p2", None)

# %% tags=["C02.7", "C02.8", "P10"]
L.run(look, after="02.p2")

# %%
L.run(lambda: draw(total, names={"w": w, "v": v, "u": u}, detail=0), after="02.p2")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - `w` and `v` are results, and each has a node. (`ToCopyBackward0` is the node of a cast.) PyTorch warns when you read their `.grad`.
# - The gradients did arrive, in two leaves without a name. Only the graph still holds those two.
# - `u` is a leaf: `.float()` handed back the tensor on which it was called.
#
# This is the story of the friend with the double precision. The tensor that gets the gradient is out of his reach, and the `.grad` of his `w` is None. His loop takes it for a weight that has no part in the loss, and goes on to the next one.
#
# > **The rule.** Compute the starting values first. Then call `requires_grad_()` on the finished tensor.

# %% [markdown]
# ### Exercise: small weights
#
# **02.2 · Small weights** (5 minutes). Repair: the function is to return a float64 *leaf* that requires grad, with the
# given values times 0.01. (`torch` is handed in by the check.)


# %%
def small_weights(torch, values):
    w = torch.tensor(values, requires_grad=True)
    return w.double() * 0.01


L.check("02.2", small_weights)

# %% [markdown]
# ## Can I keep the gradient of a result?
#
# Yes, if you ask before the backward pass: `retain_grad()`. There is a trap in it. An *optimizer*, the object that changes the weights, refuses a result. After `retain_grad()` it accepts the result, and then changes the result, which the next forward pass computes anew. The leaf stays as it was.

# %% tags=["C02.8", "C02.9", "C02.12"]
good = (torch.tensor([3.0, 4.0]) * 0.01).requires_grad_()
h = good * 10
with expect_error(ValueError, "can't optimize a non-leaf Tensor"):
    torch.optim.SGD([h], lr=0.1)
h.retain_grad()
(h * h).sum().backward()
torch.optim.SGD([h], lr=0.1).step()  # accepted: it subtracts lr * h.grad from h
print("h moved from 0.3 and 0.4 to", h.tolist())
print("and good is still", good.tolist())

# %% [markdown]
# ## A line from a forum: what does it do?
#
# The second story. The loss is a share of misses. Without the line from the forum, `backward` raises.

# %%
w = torch.tensor(0.5, requires_grad=True)
x = torch.tensor([1.0, -2.0, 3.0])


def share_of_misses():
    hits = (w * x > 0.4).float()
    return 1 - hits.mean()


with expect_error(RuntimeError, "does not require grad and does not have a grad_fn"):
    share_of_misses().backward()


def with_the_line():
    loss = share_of_misses()
    before = draw(loss)
    loss.requires_grad = True  # found in a forum
    loss.backward()
    print("w.grad", w.grad, " loss.grad", loss.grad, " leaf", loss.is_leaf, " grad_fn", loss.grad_fn)
    return compare(before, draw(loss))

# %% [markdown]
# **Predict.** `with_the_line()` is called. What are `w.grad` and `loss.grad` at its end? Answer with a list of two: each a number, or None.

# %%
L.predict("02.p3", None)

# %% tags=["C02.11", "P11"]
L.run(with_the_line, after="02.p3")

# %% [markdown] tags=["tells"]
# **Notice:** there is one tensor before, and one after. No node, no arrow, and no `w` in either picture. All that has changed: `loss` now requires grad, and holds a gradient of 1.
#
# The flag brings no history back. Backward starts at `loss` with the gradient 1, finds that `loss` is a leaf, and stores the 1 there.

# %% [markdown]
# The message had been right: something had cut the way. What was it?

# %% tags=["C02.1"]
scores = w * x
print("require grad:", [each.requires_grad for each in (scores > 0.4, scores.argmax(), scores.long())])
soft = 1 - ((scores - 0.4) * 10).sigmoid().mean()
print("with a soft step:", torch.autograd.grad(soft, w))
print("with sign():     ", torch.autograd.grad((w * x - 0.4).sign().sum(), w))

# %% [markdown]
# It was `>`. Its result is a truth value, which has no slope, so it does not require grad. `argmax` and casts to integers do the same.
#
# `soft` has a soft step, `sigmoid`, instead of the hard one: it goes from 0 to 1 without a jump, and the factor 10 makes it steep. Through it `w` gets a gradient. `sign` would silence the error as well, but its slope is 0 wherever it has one, and nothing would be learned.
#
# > **The rule.** "Element 0 … does not require grad" means that no way leads back from the loss to a leaf that requires grad. First look whether any leaf has the flag. If one has, find the line that cuts the way, such as a comparison or an `item()`, and replace it by something whose slope is not 0 everywhere. A flag on the loss only hides the cut.
#
# ### Exercise: a bug report
#
# **02.3 · A bug report** (8 minutes). "My model does not learn. First it said *element 0 of tensors does not
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


L.check("02.3", loss_of)

# %% [markdown]
# ## What is refused at once?
#
# Some requests that make no sense are refused where you make them. Whole numbers and truth values have no slopes, so they cannot require grad. You cannot assign to the flag of a result: it follows from the operands. (`h.requires_grad_()` on a result is not refused, because it asks for what is so already. It changes nothing, and does not make a leaf of `h`.)

# %% tags=["C02.10", "C02.12"]
with expect_error(RuntimeError, "floating point"):
    torch.tensor([1, 2], requires_grad=True)
with expect_error(RuntimeError, "you can only change requires_grad flags of leaf variables"):
    h.requires_grad = False
print(h.requires_grad_().is_leaf)

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
#     - an operation without any arrow leaves no node.
# 3. `backward` on a tensor that does not require a gradient raises an error: "element 0 of tensors does not require grad …". (On a leaf that does require one, it stores a 1.)
# 4. A property `is_leaf` of `Tensor`: True if `grad_fn` is None.
#
# Try these four first. When they are right, the checkpoint says so. (It also says *almost*, because the fifth step follows.) It draws a graph with a constant and a frozen factor.

# %%
L.build("02")

# %% [markdown]
# **5. The switch.** In your engine, take a leaf `w`, call `(w * w).backward()`, and look at `print(w.grad)`. It shows a `grad_fn`: your backward pass has recorded itself! So your engine needs a switch. These lines are one; copy them. (They turn recording off for the lines of a `with` block, and restore it afterwards, also when the block ends with an error.)
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
# ## Exercises: more, if you like
#
# **02.4 · Who is what?** (5 minutes). After the last line, for each of `c` to `g`: is it a leaf, does it
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

L.check("02.4", state)

# %% [markdown]
# **02.5 · Which happens?** (8 minutes). `x` is plain: `[3.0, 4.0]`; `ones` stands for `torch.tensor([1.0, 1.0])`,
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

L.check("02.5", happens)

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
# **Left out, compared with PyTorch.** There, complex tensors may require grad too, and the warning ends with the place in PyTorch's C++ sources that gave it.
#
# **Read on in our engine:** `course_lib/engine/tensor.py`, the fields of `AutogradMeta`: `requires_grad`, `grad` and `accumulator`, one sentence each.
#
# **Next:** you know now who gets a gradient. [Lesson 03](03_vector_jacobian_products.ipynb) is about what exactly travels along an arrow when a result has a thousand numbers.
