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
# # 09 · The ways out: which exit from the graph costs what?
#
# `detach`, `.data`, `clone`, `no_grad`, `inference_mode`, `item()` and `numpy()` are used as if they were
# one thing. They differ in three questions: does the result share **memory** with its source, does it share
# the **version counter**, and is it still in the **graph**? The answers decide between a right gradient, an
# error, and a wrong number without an error.
#
# - **C09.1** `detach()` shares memory and counter, so writing a kept value through it is caught at backward.
# - **C09.2** `.data` shares memory but not the counter, so a write through it can spoil a gradient silently.
# - **C09.3** `clone()` has its own memory and counter, and stays in the graph.
# - **C09.4** `no_grad` records no graph, and it still counts in-place writes.
# - **C09.5** An inference tensor has no version counter and may not be saved for backward.
# - **C09.6** A write through `detach().numpy()` is not counted.
# - **C09.7** A state carried over from an earlier backward must be detached: the pass would walk on into the earlier graph, whose slots have been freed.
# - **C09.8** A total of attached losses keeps alive whatever their graphs saved; after backward it still keeps the nodes.
# - **C09.9** `detach` cuts only the path it stands on; every other path carries its gradient as before.
# - **C09.10** `eval()` changes what some layers compute, and switches off neither recording nor counting.
#
# **Minutes** 60 · **Needs** lessons 00, 05, 06, 07 · **Opens** `course_lib/engine/tensor.py`, `course_lib/surface/autograd_methods.py` ·
# **Out of scope** views in general (lesson 08), optimizer classes (lesson 10)

# %%
import course_lib as torch
from course_lib.teach import compare, draw, expect_error, ledger, lesson, show, step

L = lesson(9)

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor([3.0], requires_grad=True)
# y = (x * x).sum()
# x.detach()[0] = 30.0      # or: x.data[0] = 30.0      # or: x.clone()[0] = 30.0
# y.backward()
# print(x.grad)
# ```
#
# Three ways to write 30 "outside the graph". When `y` was computed, `x` was 3 and the slope was 6.
#
# ## Predict
#
# What do you get with `detach`, with `.data`, with `clone`? A list of three: each a number, or `"error"`.

# %%
L.predict("09.p1", None)

# %% [markdown]
# ## Run
#
# All three, one after the other. Of an error, a few words are printed.

# %% tags=["C09.1", "C09.2", "P15"]
def outcome(x, y, factor=1):
    try:
        (y * factor).sum().backward()
        return x.grad.item()
    except RuntimeError as error:
        return str(error).split(":")[0].split(".")[0].split("has been ")[-1]


ways = {"detach": lambda x: x.detach(), ".data": lambda x: x.data, "clone": lambda x: x.clone()}
for name, leave in ways.items():
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    leave(x)[0] = 30.0
    print(f"{name}:", outcome(x, y))

# %% [markdown]
# ## See
#
# The second of the three, `.data`: the graph before the write and after it, and below it the list of what
# changed.

# %%
x = torch.tensor([3.0], requires_grad=True)
y, alias = (x * x).sum(), x.data
before = draw(y, alias)
alias[0] = 30.0
compare(before, draw(y, alias))

# %% [markdown]
# **Notice:**
#
# - Nothing is marked as stale: what the product kept was saved at version 0, and `x` still says version 0.
#   It holds 30.
# - `alias` lies in the same memory: the short dashed line says so. The write was counted, but on a counter
#   that belongs to `alias` alone.
#
# ## Explain
#
# **`.data` and NumPy write unseen, `detach` does not.** The check of lesson 07 compares counters. `detach`
# hands out the source's own, so its write was caught: an error, before a wrong step is taken. The others do
# not move that counter, and backward multiplies by what lies in memory now: 60 for 6, and then, the other way
# round, 6 for 60. PyTorch refuses `x.numpy()` and recommends a detour, which is just as unseen.

# %% tags=["C09.2", "C09.6"]
y.backward()
print(x.grad)  # x was 3 when y was computed
with expect_error(RuntimeError, "Can't call numpy() on Tensor that requires grad"):
    x.numpy()
y, x.grad = (x * x).sum(), None  # now x is 30
x.detach().numpy()[0] = 3.0
y.backward()
print(x.grad, x._version, x.detach().data_ptr() == x.data_ptr())

# %% [markdown]
# **`clone` is no way out.** It copies the memory, so nothing you do to the copy disturbs `y`; but the
# copying itself is recorded, and gradients flow through it. To be free of both, use `detach().clone()`.
# `item()` also copies, into a Python number with neither memory nor graph to share; it wants exactly one
# element.

# %% tags=["C09.3"]
x = torch.tensor([3.0], requires_grad=True)
y, c = (x * x).sum(), x.clone()
c.mul_(10)
y.backward()
(c * 1).sum().backward()
print(x.grad, x._version, c)  # 6 through y, 10 through the copy
with expect_error(RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"):
    torch.ones(2).item()

# %% [markdown]
# **`no_grad` stops the recording, not the counting.** What is computed inside has no history. What is
# *written* inside changes the same memory under the same counter: that is how a weight can be updated at
# all, and why updating it between forward and backward is caught.

# %% tags=["C09.4"]
x = torch.tensor([3.0], requires_grad=True)
y = (x * x).sum()
with torch.no_grad():
    z = x * x
    x.mul_(10)
print(z.requires_grad, z.grad_fn, x._version)
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    y.backward()

# %% [markdown]
# **`inference_mode` drops the counter as well.** What is made inside has none. Nobody could notice a write to
# such a tensor, so it may not be saved for backward. Addition saves nothing and accepts it; a product refuses. `clone()` outside the block
# makes an ordinary tensor of it. So: `no_grad` for what may meet a graph again, `inference_mode` for what
# never will. `eval()` is neither: it tells layers such as dropout to behave differently, and all is recorded
# as before.

# %% tags=["C09.5", "C09.10", "P21"]
with torch.inference_mode():
    f = torch.ones(1) * 2
print(x + f, x * f.clone())
with expect_error(RuntimeError, "Inference tensors cannot be saved for backward"):
    x * f
with expect_error(RuntimeError, "Inference tensors do not track version counter"):
    f._version
print("under eval():", torch.nn.Dropout(0.5).eval()(x * x))

# %% [markdown]
# **Open our engine.** The whole difference between the two is which counter the new tensor is given:
# `alias`, which `detach()` calls, hands over the source's own; `.data` makes a fresh one: `new_tensor` begins
# at version 0. (The lines about inference are for tensors that have no counter.)

# %% tags=["engine"]
show("engine.tensor.alias")
show("Tensor.data")

# %% [markdown]
# ## Question
#
# A recurrent network carries its state from step to step, and learns at each step:
#
# ```python
# w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
# for step in range(3):
#     h = torch.tanh(w * h)
#     loss = (h - 1) ** 2
#     loss.backward()
# ```
#
# ## Predict
#
# In which step does the backward pass raise: 0, 1 or 2? Or `"never"`?

# %%
L.predict("09.p2", None)

# %% [markdown]
# ## Run
#
# Step 0 with its backward, step 1 without.

# %%
w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
h = torch.tanh(w * h)
((h - 1) ** 2).backward()
loss = (torch.tanh(w * h) - 1) ** 2
print(loss)

# %% [markdown]
# ## See

# %%
draw(loss)

# %% [markdown]
# **Notice:**
#
# - The graph of step 1 reaches back, through `h`, into the graph of step 0.
# - There the slots say FREED: the first backward released them as it went.
# - `#4` and `#5` are values without a name: what the nodes 4 and 5 made.
#
# ## Explain
#
# **Detach the state.** You mean that the state is a *number* by now: `h.detach()`. With the state
# attached, the pass walks into step 0 and finds it emptied: page to the last frame. Where nothing was kept, as
# in a sum, nothing raises: earlier steps count again. `retain_graph=True` would silence the error, but
# then every pass walks through all earlier steps, memory grows, and as soon as `w` is updated in place between the
# steps, a version error follows.

# %% tags=["C09.7", "P7"]
w.grad, state = None, h.detach()
((torch.tanh(w * state) - 1) ** 2).backward()
a, total = torch.tensor(1.0, requires_grad=True), 0.0
for _ in range(3):
    total = total + a
    total.backward()
print(w.grad, a.grad)  # this step's gradient alone; and 6, where the three steps' own add up to 3
step(loss)  # the loss from above, with the state attached

# %% [markdown]
# **A total can hold a whole epoch.** `total` holds the losses' nodes, and these hold what they saved: here
# the result of `exp`, 4000 bytes a batch. In training, backward releases them, and only the nodes pile up; in
# an evaluation that never calls backward, all that was saved does. `item()`, `detach()` or `no_grad` keep a running
# loss harmless.

# %% tags=["C09.8", "P16"]
w, total = torch.ones(1000, requires_grad=True), 0.0
with ledger(leaves=False) as held:
    for batch in (1.0, 2.0, 3.0):
        total = total + (w * batch).exp().sum()
        print(held.now, "bytes are held")
    total.backward()
print(held.now, "bytes, but the total still has its", total.grad_fn.name())
held.plot()

# %% [markdown]
# **Cut one path, keep the other.** `x * x.detach()` has the value x² and the slope x: the second factor
# counts as a constant. The same trick sends a gradient through a threshold, which has none: the values
# below are those of `hard`, the gradient is that of `p`. Detached targets in reinforcement learning are
# this idea again.

# %% tags=["C09.9", "P9"]
x = torch.tensor(3.0, requires_grad=True)
(x * x.detach()).backward()
print(x.grad)  # 3, not 6
p = torch.tensor([0.25, 0.75], requires_grad=True)
hard = torch.where(p > 0.5, torch.ones(2), torch.zeros(2))
through = p + (hard - p).detach()
through.sum().backward()
print(through, p.grad)

# %% [markdown]
# ## Break it
#
# An adversarial game of two parameters: the generator `g` makes a fake, the discriminator `d` scores it. `d` steps in place between the score
# and the generator's backward, and the score's kept `d` is stale. Now somebody adds a `detach` until the
# error goes away. It goes, and so does the learning: `g` gets no gradient at all, and `d` gets one that was
# not meant for it. The right cure is to score again after the step. In the picture, only one of the two
# losses has a way to `g`, and brings minus `d`, times 5.

# %% tags=["P9"]
g, d = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
fake = g * 5
score = d * fake
with torch.no_grad():
    d -= 1.0  # the discriminator's step
with expect_error(RuntimeError, "has been modified by an inplace operation"):
    (-score).backward()
silenced, right = -(d * fake.detach()), -(d * fake)  # both score again: d is 2 now
silenced.backward()
print(g.grad, d.grad)
right.backward()
draw(silenced, right)

# %% [markdown]
# ## Exercises
#
# **09.1 · Fill the table** (6 minutes). For each result, three answers: does it share `x`'s memory, does a
# write to it move `x`'s version counter, and do gradients flow from it to `x`? Give a tuple such as `(True,
# False, False)`. `no_grad` stands for `x * 1` under `no_grad`, `both` for `x.detach().clone()`.

# %%
table = {"detach": None, "data": None, "clone": None, "no_grad": None, "both": None}

L.check("09.1", table)

# %% [markdown]
# **09.2 · Which happens?** (8 minutes). `x` is a fresh leaf `[3.]` each time, and the comment says what was
# wanted. Answer `"raises now"` (a line before any backward), `"raises at backward"`, `"silently wrong"` or
# `"fine"`.
#
# ```python
# # A. wanted: the slope of the y that was computed, [6]
# y = (x * x).sum(); x.data.fill_(30.0); y.backward(); got = x.grad
# # B. wanted: the same
# y = (x * x).sum(); x.detach().fill_(30.0); y.backward(); got = x.grad
# # C. wanted: the slope of this y, [2]
# y = (x * 2).sum(); x.detach().fill_(30.0); y.backward(); got = x.grad
# # D. wanted: no gradient for x, None
# c = x.clone(); (c * c).sum().backward(); got = x.grad
# # E. wanted: f as a constant factor, [2]
# with torch.inference_mode(): f = torch.ones(1) * 2
# y = (x * f).sum(); y.backward(); got = x.grad
# # F. wanted: f as a constant summand, [1]
# with torch.inference_mode(): f = torch.ones(1) * 2
# y = (x + f).sum(); y.backward(); got = x.grad
# # G. wanted: the slope of h, [6]
# with torch.no_grad(): h = x * x
# h.sum().backward(); got = x.grad
# ```

# %%
verdicts = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("09.2", verdicts)

# %% [markdown]
# **09.3 · Carry the state** (5 minutes). Repair the loop with one call: each step learns from its own loss,
# and the state arrives from the step before as a number. Return the last state.


# %%
def train(torch, w, inputs):
    h = torch.zeros(1)
    for x in inputs:
        h = torch.tanh(w * h + x)
        (h * h).sum().backward()
    return h


L.check("09.3", train)

# %% [markdown]
# **09.4 · Two players** (10 minutes). The discriminator `d` lowers `d * fake - d * real` first; then the
# generator `g`, whose fake is `g * z`, lowers `-(d * fake)` as scored by the *new* `d`. Each player moves
# by a counted in-place write of `-lr` times the gradient of its own loss and of nothing else, also when
# `play` is called again and again. This version raises; do not only silence it.


# %%
def play(torch, g, d, z, real, lr):
    fake = g * z
    score = d * fake
    (score - d * real).backward()
    with torch.no_grad():
        d -= lr * d.grad
    (-score).backward()
    with torch.no_grad():
        g -= lr * g.grad
    g.grad = d.grad = None


L.check("09.4", play)

# %% [markdown]
# **09.5 · A bug report** (8 minutes). "Validation runs out of memory after some hundred batches. Training
# does not, with the same model." Here is the validation loop; `loss_of(batch)` builds a graph. Return the
# total as a Python number, with at most one batch's activations alive at a time (they are gone when the next
# forward begins), and leave every `.grad` alone. The two cells after it measure all seven ways out at once: compare with your table of 09.1.


# %%
def evaluate(torch, loss_of, batches):
    total = 0.0
    for batch in batches:
        total = total + loss_of(batch)
    return total.item()


L.check("09.5", evaluate)

# %%
ways["numpy"] = lambda x: torch.from_numpy(x.detach().numpy())
ways["item"] = lambda x: torch.tensor([x.item()])
ways["no_grad"] = torch.no_grad()(lambda x: x * 1)
ways["inference_mode"] = torch.inference_mode()(lambda x: x * 1)

# %% tags=["P15", "P21"]
print(f"{'':14} memory counter graph   x * it                                         written to")
for name, leave in ways.items():
    x = torch.tensor([3.0], requires_grad=True)
    y, out = (x * x).sum(), leave(x)
    memory = "shared" if out.data_ptr() == x.data_ptr() else "own"
    graph = "goes on" if out.requires_grad else "cut"
    product = outcome(x, x, out)
    x.grad = None
    with torch.inference_mode():
        out.fill_(30.0)
    counter = "none" if out.is_inference() else "shared" if x._version else "own"
    print(f"{name:14} {memory:6} {counter:7} {graph:7} {product!s:46} {outcome(x, y)}")

# %% [markdown]
# ## What you can now claim
#
# The table above is the lesson in seven lines, every entry measured. *x \* it*: what a product with the
# result leaves in `x.grad`, where 3 is the slope with a constant and 6 the full one. *written to*: what
# `x * x` leaves there when 30 was written to the result before backward, where only 6 is right. Four errors
# stand further up: `numpy()` without `detach`, `item()` of two elements, the version of an inference tensor, and
# backward after a write to `x` itself under `no_grad`.
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C09.1 `detach` is counted | modified by an inplace operation | `test_c09_1` |
# | C09.2 `.data` is not | 60 for 6 | `test_c09_2` |
# | C09.3 `clone` stays in the graph | 6 + 10 | `test_c09_3` |
# | C09.4 `no_grad` counts | version 1, no `grad_fn` | `test_c09_4` |
# | C09.5 inference tensors | `+` works, `*` refuses | `test_c09_5` |
# | C09.6 NumPy writes unseen | 6 where 60 was right, version 0 | `test_c09_6` |
# | C09.7 detach the state | one step's gradient; attached, the pass fails, or counts 6 for 3 | `test_c09_7` |
# | C09.8 totals hold graphs | 12000 bytes, then 0, and a node | `test_c09_8` |
# | C09.9 one path is cut | 3, not 6 | `test_c09_9` |
# | C09.10 `eval()` records | a `grad_fn` | `test_c09_10` |
#
# The tests run on our engine and on real PyTorch: `tests/claims/test_claims_09.py`.
#
# **What PyTorch does differently, and what is left out.** `detach_()` cuts a tensor off in place, and
# `x.data = other` gives it another memory; both make it hard to say who shares what with whom. Inference mode
# is meant for speed, which an engine in Python cannot show.
#
# **Next:** lesson 10, a training loop: which of its lines reads, which writes, and which order is an error or,
# worse, none. `draw` the loss of a loop of your own before and after the step, and see what you can now read.
