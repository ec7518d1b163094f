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
# **A weight is frozen: is its gradient computed and thrown away? You scale a weight by 0.01, and its `.grad`
# stays None: where did the gradient go? An error asks for a tensor that requires grad, and a forum says
# `loss.requires_grad = True`: why does nothing learn then?** One flag and one word decide all three. You can
# claim afterwards:
#
# - **C02.1** A result requires grad as soon as one operand does; among the exceptions are comparisons, `argmax` and casts to integers.
# - **C02.2** A leaf is a tensor that no recorded operation computed: what you made yourself, and every result that requires no grad.
# - **C02.3** For a frozen operand no gradient is computed: its arrow leads to nothing, its place in the node's answer is None, and the node of a product does not keep what only that gradient needs.
# - **C02.4** A frozen weight does not stop gradients on their way to weights further back.
# - **C02.5** If nothing before an operation requires grad, backward ends there: there is no node further back.
# - **C02.6** The flag counts when an operation runs: switched on later it adds no arrow; switched off later the arrow stays, and the leaf stores nothing.
# - **C02.7** Gradients are stored in leaves that require grad; the `.grad` of a result stays None unless you ask for it before, and reading that None warns.
# - **C02.8** `.double()` and `* 0.01` of a float32 leaf that requires grad give a result, and the gradient arrives at the leaf behind it; `.float()` of it is that leaf itself.
# - **C02.9** `retain_grad()`, called before backward, keeps a result's gradient too; on a leaf that requires grad it does nothing.
# - **C02.10** Tensors of whole numbers or truth values cannot require grad.
# - **C02.11** `loss.requires_grad = True` brings no history back: backward stores the gradient 1 in the loss, and nothing in any weight.
# - **C02.12** Assigning to the flag of a result raises; an optimizer refuses a result, unless `retain_grad()` was called on it, and then moves the result and not the leaf.
#
# **Minutes** 60 · **Needs** lessons 00, 01 · **Opens** `course_lib/engine/views.py`, `course_lib/engine/graph.py` ·
# **Out of scope** switching recording off for a block, and `detach` (lesson 09); what adds up in `.grad` (05)

# %%
import course_lib as torch
from course_lib.teach import compare, draw, expect_error, ledger, lesson, show

L = lesson(2)

import warnings

# %% [markdown]
# ## Question
#
# ```python
# h1 = x @ W1            # @ is the matrix product; x is plain data
# h2 = h1 @ W2           # W2 is frozen: it does not require grad
# loss = (h2 @ W3).sum()
# loss.backward()
# ```
#
# Three layers of a network, each a product with a matrix of weights, the numbers to be learned. `W1` and `W3` require
# grad; the one in the middle came from somewhere else and is to stay as it is.
#
# ## Predict
#
# Which of `x`, `W1`, `W2`, `W3`, `h1`, `h2` have a `.grad` afterwards that is not None? A list of names.

# %%
L.predict("02.p1", None)

# %% [markdown]
# ## Run
#
# The forward pass. What networks add and bend between the products (biases, activations) would change nothing here.

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
# ## See
#
# A graph that would be too wide is drawn downwards: nodes on the left, tensors in the middle, what nodes keep on the
# right.

# %%
draw(loss)

# %% [markdown]
# **Notice:**
#
# - `MmBackward0` is the node of a product of two matrices; it calls its operands `self` and `mat2`.
# - No accumulator for `W2`: arrow 1 of the second product leads to nothing, and is not drawn.
# - That product keeps `W2` all the same: the slope for `h1` is made of it. It does not keep `h1`, of which only the
#   slope for `W2` would be made.
# - The first product keeps `x` and not `W1`: nobody wants a slope for `x`. The third wants both and keeps both.
#
# ## Explain
#
# **One operand is enough.** `requires_grad` is a flag. You set it on tensors of your own; a result has it as soon
# as one operand does. A *leaf* is what no recorded operation computed: `W1`, plain data, and `x + 1`, which was not
# recorded. A gradient is stored where both come together, leaf and flag. The flag counts when the operation *runs*:
# switched on later it adds no arrow; switched off later the arrow stays, but the leaf stores nothing.

# %% tags=["C02.1", "C02.2", "C02.6"]
for name, t in {"x": x, "W1": W1, "W2": W2, "h1": h1, "h2": h2, "x + 1": x + 1}.items():
    print(f"{name:6} requires_grad {t.requires_grad!s:6} is_leaf {t.is_leaf}")
on_later, off_later = torch.tensor(2.0), torch.tensor(3.0, requires_grad=True)
y = on_later * off_later
on_later.requires_grad_(True), off_later.requires_grad_(False)
y.backward()
(nothing, _), (accumulate, _) = y.grad_fn.next_functions
print(nothing, on_later.grad, "and", type(accumulate).__name__, off_later.grad)

# %% [markdown]
# **No gradient is computed for what is frozen.** Call a node yourself, with a slope for its result: it answers
# with one for each operand. For `W2`: None. What only that slope would need, a product does not keep. (A
# convolution keeps both operands.) `ledger` counts the bytes that nodes keep inside a block, here for a batch of 1000
# rows: at first `W2` requires grad, and 8000 bytes are for the batch, 16 for `W2`. Then it is frozen.

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
# **But the way through stays open.** `W1` gets its gradient through the frozen layer, by the slope for `h1` that you
# just saw made. Only if *everything* before an operation is frozen does the graph begin there. So freezing
# the first layers lets backward end early, as freezing one in the middle does not.

# %% tags=["C02.4", "C02.5"]
loss.backward()
print(W1.grad.tolist(), W2.grad, W3.grad.tolist())
W1.requires_grad_(False)  # now all is frozen before W3
h2 = x @ W1 @ W2
print(h2.grad_fn, (h2 @ W3).grad_fn.next_functions[0])

# %% [markdown]
# **Open our engine.** `gradient_edge` is the question that an operation asks about each operand it has a slope for: a result
# answers with its node, a leaf that requires grad with its accumulator, everything else with None. (The lines
# about views wait for lesson 08; without `meta`, nobody has set the flag.) If all answers are None, nothing is
# recorded; you saw that line in `exp`. And behind `requires_grad_()` is one field.

# %% tags=["engine"]
show("engine.views.gradient_edge")
show("engine.graph.want_grad")

# %% [markdown]
# ## Question
#
# ```python
# w = torch.tensor([1.0, 2.0], requires_grad=True).double()
# v = torch.tensor([3.0, 4.0], requires_grad=True) * 0.01
# u = torch.tensor([5.0, 6.0], requires_grad=True).float()
# total = (w * v * u).sum()
# total.backward()
# ```
#
# Three parameters: one in double precision, one with small starting values, one in single precision, to be sure.
#
# ## Predict
#
# Which of `w`, `v`, `u` have a `.grad` that is not None? A list of names.

# %%
L.predict("02.p2", None)

# %% [markdown]
# ## Run
#
# Reading `.grad` of something that is not a leaf warns. Here warnings are caught and counted.

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

# %% [markdown]
# ## See

# %%
draw(total, names={"w": w, "v": v, "u": u}, detail=0)

# %% [markdown]
# **Notice:**
#
# - The gradients did arrive: in two leaves without a name. `.double()` and `* 0.01` returned other tensors, and so
#   only the graph still holds these two.
# - `w` and `v` are results, with a node each. `ToCopyBackward0` is the node of a cast.
# - `u` is a leaf: there was nothing for `.float()` to do, and it handed back the tensor it was called on.
#
# ## Explain
#
# **First the values, then the flag.** Finish computing while all is plain, then say `requires_grad_()`: the last
# tensor is the leaf. If you need the gradient of a *result*, to look at it, ask before backward:
# `retain_grad()`. It is no cure for `v`, which stays a result. An optimizer, the object that moves weights, refuses a
# result (see Break it). After `retain_grad()` it accepts it, and moves the wrong tensor: the leaf stays as it was.

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
# ## Question
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
# Without the line from the forum, `backward` raises.
#
# ## Predict
#
# What are `w.grad` and `loss.grad` at the end? A list of two: each a number, or None. (Which tensors here require
# grad, line by line? Where does backward start, and with which slope?)

# %%
L.predict("02.p3", None)

# %% [markdown]
# ## Run
#
# First without that line, then with it.

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

# %% [markdown]
# ## See
#
# `compare` sets two drawings beside each other and marks what changed between them.

# %%
compare(before, draw(loss))

# %% [markdown]
# **Notice:**
#
# - One tensor before, one after. No node, no arrow, and no `w` in either picture.
# - All that changed: `loss`, a leaf before and after, now requires grad, and holds a gradient of 1.
#
# ## Explain
#
# **The flag brings no history back.** Backward starts at `loss`, arrives at `loss`, and stores the 1 it started
# with. The message was right: something before had cut the way. Here it was `>`: a truth value has no slope, so the
# result requires no grad, and nothing done later brings the way back. `argmax` and casts to integers (`long`) do the
# same. Look for that line, or for an `item()`; replace it by something with a slope.

# %% tags=["C02.1", "C02.11", "P11"]
print(w.grad, loss.grad, loss.is_leaf, loss.grad_fn)
scores = w * x
for result in (scores > 0.4, scores.argmax(), scores.long(), scores.long().float(), scores.sigmoid()):
    print(result.requires_grad, end=" ")
loss = 1 - ((scores - 0.4) * 10).sigmoid().mean()  # a soft step in place of a hard one
loss.backward()
print("\n" + str(w.grad))

# %% [markdown]
# ## Break it
#
# 1. Whole numbers have no slopes, and so `requires_grad` is refused. Data as integers is common: say
#    `torch.tensor([1.0, 2.0])`, or `.float()` before you set the flag. Truth values are refused likewise.
# 2. A result's flag is not yours: it follows from its operands. Assigning to it is refused, True as well as False;
#    freeze the leaves, or take a tensor without history (lesson 09).
# 3. `retain_grad()` where no gradient will ever pass.
# 4. An optimizer is to change what you own. It refuses results, and so catches the trap of the second round, if you
#    use one, and have not called `retain_grad()` on the result.

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
# | claim | its cell shows | test |
# | --- | --- | --- |
# | C02.1 one operand is enough | the table; later four False, one True | `test_c02_1` |
# | C02.2 leaves | `x + 1` is one, `h1` is not | `test_c02_2` |
# | C02.3 nothing for the frozen | `(None, 0)`, None, None; False for the convolution; 8016 bytes, then 16 | `test_c02_3` |
# | C02.4 the way through | `W1.grad`, and None | `test_c02_4` |
# | C02.5 the graph begins late | None, `(None, 0)` | `test_c02_5` |
# | C02.6 the flag, when it counts | no arrow; an arrow and no gradient | `test_c02_6` |
# | C02.7 stored in leaves | None for results, two warnings | `test_c02_7` |
# | C02.8 the trap | `w`, `v` are results, `u` is a leaf | `test_c02_8` |
# | C02.9 `retain_grad` | both gradients; False, True | `test_c02_9` |
# | C02.10 no integers | two refusals | `test_c02_10` |
# | C02.11 the forum's line | None and 1 | `test_c02_11` |
# | C02.12 not for results | three more refusals; `h` moved, `good` did not | `test_c02_12` |
#
# The tests (`tests/claims/test_claims_02.py`) run on our engine and on real PyTorch.
#
# **Left out, compared with PyTorch.** There, complex tensors may require grad too, and the warning ends with the
# place in PyTorch's C++ sources that gave it. Two conveniences work in both and were not shown: `nn.Parameter`, a
# leaf that requires grad unless told otherwise, and `requires_grad_(False)` on a module, which freezes all of its
# parameters.
#
# **Read on in our engine:** `course_lib/engine/tensor.py`, the fields of `AutogradMeta`: `requires_grad`, `grad` and
# `accumulator`, one sentence each.
#
# **Next:** lesson 03: what exactly travels along an arrow.
