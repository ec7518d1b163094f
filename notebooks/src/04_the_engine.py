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
# # 04 · The engine: who decides which node runs next?
#
# **Every node has its rule, and knows where to send its results. But no node knows who will send to it, or how often. Yet their rules must be applied in an order, once each, to the right sum. Who knows the order, if no node knows the whole formula?**
#
# A short loop does: it counts, it waits, it adds. At the end you can run it in your head, you have repaired three broken engines, and you have written a test that catches five. You can claim:
#
# - **C04.1** A node needs the gradients of its own results and what it saved, nothing else: the node of a built-in operation, called by itself, gives the numbers that it gives in a pass.
# - **C04.2** In one pass of `backward()` each node behind the root runs once, on the sum of all that arrives, after every consumer behind the root has delivered.
# - **C04.3** Of the nodes that are ready, the one made last runs first; an AccumulateGrad goes before all others.
# - **C04.4** A pass waits only for what is behind its root: an arrow to nothing is not counted, nor is a use of a result that is not behind the root.
# - **C04.5** The gradient of a result is handed on and, unless retain_grad() asked for it, not stored: a second pass hands on the same again, and only leaves add up.
# - **C04.6** `a = x*x; b = a+x; c = b*a; d = c+b; e = d*a` has the slope 316 at 2; running nodes on first arrival gives 140.
# - **C04.7** Behind n doublings `h = h + h` lie 2ⁿ paths, and a pass runs n + 1 nodes.
# - **C04.8** A loop and an `if` give each run a graph of its own shape, and 20,000 nodes in a row need no recursion.
# - **C04.9** When a pass fails half-way, leaves that it has reached keep their gradients, and the others get none.
#
# **Minutes** 60, and 16 for 04.4 and 04.6 · **Needs** lessons 00 to 03 · **Opens** `course_lib/engine/backward.py` · **Out of scope** what happens inside an accumulator (lesson 05, leaf accumulation), what nodes save (06, saved tensors), more about hooks (12)

# %%
import course_lib as torch
from course_lib.teach import expect_error, lesson, show, step

L = lesson(4)

import warnings
from collections import Counter

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor(2.0, requires_grad=True)
# h = x * x
# p = h.sqrt()
# q = -h
# y = p + q
# y.backward()
# ```
#
# A *diamond*: from `h` two ways lead to `y`, so from `y` two ways lead back to `h`. One gradient comes back through the square root, another through the minus. Neither knows of the other.
#
# ## Predict
#
# `h` is 4. How often does the node of `h` run, and which gradient is it given the first time? Answer with a pair, such as `(3, 0.5)`.

# %%
L.predict("04.p1", None)

# %% [markdown]
# ## Run
#
# A *prehook* is a function that a node calls just before it runs, with what it is about to run on. One print for each run:

# %% tags=["C04.2"]
x = torch.tensor(2.0, requires_grad=True)
h = x * x
p = h.sqrt()
q = -h
y = p + q
h.grad_fn.register_prehook(lambda grads: print("the node of h runs on", grads[0]))
y.backward()
print(x.grad)  # for positive x, y is x - x*x: its slope is 1 - 2x

# %% [markdown]
# ## See
#
# `step(y)` runs `y.backward()` and keeps a picture of every moment. Page through it slowly with *next*, and watch the box of `h`, number 1. (`print(step(y))` in its place would say the same in words.)

# %%
x.grad = None
h = x * x
p = h.sqrt()
q = -h
y = p + q
step(y)

# %% [markdown]
# **Notice:**
#
# - The number in front of a name says which node was made first, second, and so on.
# - Before anything runs, it is known how many gradients each node *waits* for. For `MulBackward0`, the node of `h`, there are 2.
# - Each run sends one gradient along each arrow. It is added to the *buffer* of the node it goes to, and that node waits for one less: 2→1→0.
# - At 0 the node is *ready* and joins the queue. Not earlier: after the minus has run, -1 lies in the buffer of `h` and nothing happens.
# - The accumulator of `x` waits for 2 as well. Both come from one node, since `x * x` uses `x` twice.
#
# ## Explain
#
# **A node works by itself.** You can call that of a built-in operation: give it the gradient of its result, and it returns one gradient for each operand. The addition hands on what it gets. The square root divides by twice its result, which it saved. Doing by hand what the pass did, you also do the engine's part: carry results along the arrows, and add the two that meet. (`no_grad` keeps these sums from being recorded; lesson 09.)

# %% tags=["C04.1"]
h = x * x
p, q = h.sqrt(), -h
y = p + q
with torch.no_grad():
    for_p, for_q = y.grad_fn(torch.tensor(1.0))
    for_h = p.grad_fn(for_p) + q.grad_fn(for_q)  # the only sum, and it is not in any node
    print(for_h, h.grad_fn(for_h))

# %% [markdown]
# **Count first, from the root.** The *root* is the node of the tensor on which you call `backward()`. A pass first walks to every node behind it, once. Each arrow counts for the node it points to. Two things do not count: arrows to nothing, such as that of the 2 below, and what is not behind the root. `unused` comes from `h`, but no arrow leads from `z` to its node: it will not run, so nobody may wait.

# %% tags=["C04.4"]
unused, z = h.exp(), y / 2
found, waits = [z.grad_fn], Counter()
for node in found:  # the list grows while we walk along it
    for to in [to for to, _ in node.next_functions if to is not None]:
        waits[type(to).__name__] += 1
        found += [to] if to not in found else []
z.backward()  # ... and nobody waits for unused
print(dict(waits), x.grad)  # -3 from step(y), and half as much again

# %% [markdown]
# **Newest first, leaves at once.** Several nodes may be ready. Each has its whole sum, so whichever goes first, the gradients agree, up to rounding. Nodes are numbered in the order in which they were made, and the engine takes the newest: it goes back in time. Accumulators go first. Below, `a` is ready together with `c`, and still waits for `c` and `b`, which are newer. Each name is printed when its node's turn comes: in which order?

# %% tags=["C04.3"]
u, v = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
a, b = u.exp(), u.sin()
c = b.cos()
s = a + c
d = s * v
for name, tensor in {"u": u, "v": v, "a": a, "b": b, "c": c, "s": s, "d": d}.items():
    tensor.register_hook(lambda grad, name=name: print(name, end=" "))
d.backward()

# %% [markdown]
# **Handed on, not stored.** When a node runs, its buffer is emptied, and nobody keeps what was in it. So a result has no `.grad`, unless you have asked for it with `retain_grad()` (lesson 02); a hook shows what passes. The next pass begins with empty buffers: the hook sees the same number again, not twice as much. What remains of both passes is in the leaf: 6, and 6 more. (`retain_graph` as in lesson 03.)

# %% tags=["C04.5"]
x = torch.tensor(1.0, requires_grad=True)
h = x * 3
h.register_hook(lambda grad: print("passing h:", grad))
y = h + h
y.backward(retain_graph=True)
y.backward()
with warnings.catch_warnings(action="ignore"):  # reading .grad of a result warns
    print("kept by h:", h.grad, "and by x:", x.grad)

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor(2.0, requires_grad=True)
# a = x * x
# b = a + x
# c = b * a
# d = c + b
# e = d * a
# ```
#
# Five lines that tell engines apart. The slope of `e` at 2 is 316. Now let an engine be in a hurry. It keeps a queue, and always takes the node in front. That node sends along its arrows, 0 first, what it has got by then. A node joins the end of the queue when its *first* gradient arrives, and it runs once. On chains, and on the diamond above, this engine is right.
#
# ## Predict
#
# First: what does the hasty engine report for `x`? Keep its queue on paper; the slopes you need are `e` to `d`: 4, `e` to `a`: 30, `d` to `c` and `b`: 1, `c` to `b`: 4, `c` to `a`: 6, `b` to `a` and `x`: 1, `a` to `x`: 2, twice.
#
# Second: another engine does without counts and without a queue. It calls itself along every arrow, and so comes to a leaf once for each path. It is right, too. Take `h = x`, then ten times `h = h + h`. How many calls will that be, from the last addition down to the accumulator of `x`, the first call included? And how many nodes does the real engine run? Answer with a pair.

# %%
L.predict("04.p2", None)

# %%
L.predict("04.p3", None)

# %% [markdown]
# ## Run
#
# A whole engine, on plain numbers. A graph is a dictionary: for each node, the list of its arrows, each with the slope by which it multiplies. `patient` decides when a node joins the queue: when its last gradient has arrived, or its first.


# %%
def backward(graph, root, patient=True):
    waits = Counter(to for arrows in graph.values() for to, slope in arrows)
    grads, queue = {root: 1.0}, [root]
    while queue:
        node = queue.pop(0)
        for to, slope in graph[node]:
            waits[to] -= 1
            first, last = to not in grads, waits[to] == 0
            grads[to] = grads.get(to, 0.0) + slope * grads[node]
            if last if patient else first:
                queue.append(to)
    return grads


# %% tags=["C04.6"]
graph = {
    "e": [("d", 4.0), ("a", 30.0)],
    "d": [("c", 1.0), ("b", 1.0)],
    "c": [("b", 4.0), ("a", 6.0)],
    "b": [("a", 1.0), ("x", 1.0)],
    "a": [("x", 2.0), ("x", 2.0)],
    "x": [],
}
print("patient:", backward(graph, "e"))
print("hasty:  ", backward(graph, "e", patient=False))

# %% [markdown]
# The two agree on every node but `x`: even in the hasty engine, `a` has got 74 in the end. But `a` ran when only 30 had come, and `x` was never told about the other 44: 316 - 44 · 4 = 140. This is not an error message; it is a number. Now the walker of paths, on real graphs, beside the runs of the real engine:


# %% tags=["C04.7"]
def calls(node):
    return 1 + sum(calls(to) for to, _ in node.next_functions)


for n in (1, 2, 5, 10, 15):
    h, runs = torch.tensor(1.0, requires_grad=True), []  # runs: one entry for each node that ran
    h.register_hook(runs.append)
    for _ in range(n):
        h = h + h
        h.grad_fn.register_prehook(runs.append)
    h.backward()
    print(f"{n:2} doublings: {calls(h.grad_fn):5} calls, {len(runs):2} runs")

# %% [markdown]
# ## See
#
# The five lines as they really run:

# %%
x = torch.tensor(2.0, requires_grad=True)
a = x * x
b = a + x
c = b * a
d = c + b
e = d * a
step(e)

# %% [markdown]
# **Notice:**
#
# - The node of `a` is offered 30 in the very first step and waits for 3. Its buffer grows, 30, 54, 74, and only then it runs.
# - The order is one in which every arrow leads from an earlier node to a later one. This is called a *topological order*. Nobody computed it: waiting produces it.
# - From `e` to `x` lead 10 paths. The engine ran 6 nodes.
#
# Back to the table of doublings: each doubles the paths and adds one node. A network in which every layer adds its input to its output, as residual networks and transformers do, is such a chain. For 50 doublings the walker needs about 2⁵¹ calls: at ten million a second, seven years.
#
# ## Explain
#
# **The graph has the shape of the run, and depth needs no recursion.** This `if` asks for a value, so the forward pass itself decides which nodes there will be. From 0.75, four steps in seven are additions of `x`, and each adds 1 to the slope; from 3.75 there are fewer. And 20,000 nodes in a row? A function that calls itself ends at Python's recursion limit, usually 1000 calls. The engine is a loop around a queue.

# %% tags=["C04.8"]
def bounce(x, steps):
    h = x
    for _ in range(steps):
        h = h - 1 if h > 1 else h + x
    return h

for x in [torch.tensor(value, requires_grad=True) for value in (0.75, 3.75)]:
    print([torch.autograd.grad(bounce(x, steps), x)[0].item() for steps in (7, 70, 20_000)])

# %% [markdown]
# **Now open our engine.** Here is the counting. An *edge* is an arrow. The loop variable runs through a list that grows, as above; `visited` takes the place of `not in found`: a mark in the node, where nothing must be searched. An arrow to nothing is false. Most nodes wait for one gradient only, so just the larger counts are stored. The other half, `evaluate`, delivers, chooses and runs: read it in `course_lib/engine/backward.py`.

# %% tags=["engine"]
show("engine.backward.GraphTask.count_dependencies")

# %% [markdown]
# ## Break it
#
# **Starve the queue.** The toy engine above counts *every* arrow of the dictionary. That was fine, because every node was behind `e`. Now somebody computes one more thing from `a`, for a log file, and does not use it in `e`. `a` waits for a gradient that nobody will ever send. The queue runs empty, and nothing is reported: `x` has the 20 that came from `b`, and the rest never leaves `a`. The real engine counts from the root.
#
# **Fail half-way.** Below, a hook divides by zero in the middle of a pass, when the gradient of `h` is ready. The error comes out of `backward()` as it is. What was done before it stays done: `early` is a leaf, its gradient was complete at once, and it has been stored. `late` was not reached. Clear the gradients before you try again.

# %% tags=["C04.9", "P25"]
print(backward(graph | {"log": [("a", 1.0)]}, "e"))

early, late = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
h = late * late
h.register_hook(lambda grad: 1 / 0)
with expect_error(ZeroDivisionError, "division by zero"):
    (h * early).backward()
print(early.grad, late.grad)

# %% [markdown]
# ## Exercises
#
# **04.1 · Order the queue** (7 minutes). A node is called by the letter of the tensor that it made, an accumulator by that of its leaf. `w`, `x` and `v` are leaves that require grad. For `g.backward()`: how many gradients does each node wait for, and in which order do the nodes run?
#
# ```python
# a = w * x
# b = a.exp()
# c = a.sin()
# d = c * x
# e = -a        # printed, and not used again
# f = d + b
# g = f * v
# ```

# %%
queue = {
    "waits": {"a": None, "b": None, "c": None, "d": None, "f": None, "v": None, "w": None, "x": None},
    "order": "g",
}

L.check("04.1", queue)

# %% [markdown]
# **04.2 · Which happens?** (6 minutes). Each program begins with `x = torch.tensor(2.0, requires_grad=True)`, and ends with `y.backward()`. Answer `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the slope of the function in the comment).
#
# ```python
# h = x * x; log = h.exp(); y = h * 3                                # A: 3x²
# y = x                                                              # B: 5001x
# for _ in range(5000): y = y + x
# y = x                                                              # C: x
# for _ in range(60): y = (y + y) * 0.5
# h = x * x; y = h * h.item()                                        # D: x⁴
# limits = torch.tensor([1.0, 3.0]); y = x * 3 if x > limits else x  # E: 3x, or x
# h = x * x; y = h + x; h = h * 100                                  # F: x² + x
# y = x * torch.tensor([1.0, 2.0])                                   # G: x and 2x
# h = x * x                                                          # H: x⁶, at x = 2
# while h < 50: h = h * x
# y = h
# ```

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("04.2", happens)

# %% [markdown]
# **04.3 · Repair the walker of paths** (10 minutes). This toy engine is right, and unusable: it walks every path, and it recurses. Make it look at each node's arrows a few times at most, and do without recursion. It gets graphs like the one above, in which every node is behind the root, and returns the gradients of all nodes, as now; the nodes may be listed in any order. (The patient engine is one way, but write your own: pasted, it does not count. Can you do without its counts?)


# %%
def backward(graph, root):
    grads = {}

    def visit(node, grad):
        grads[node] = grads.get(node, 0.0) + grad
        for to, slope in graph[node]:
            visit(to, slope * grad)

    visit(root, 1.0)
    return grads


L.check("04.3", backward)

# %% [markdown]
# **04.4 · Repair the second pass** (6 minutes, optional). Here the order is given: `order` lists the nodes, the root first, each after all its consumers. `grad` is a dictionary that lives on from call to call. This engine uses it as its buffers, too, and the second call goes wrong. Repair it, so that each call adds the right gradient to the entry of each leaf behind the root, makes the entry if there is none, and leaves nothing else of its own in `grad`. (A leaf is a node without arrows. The root may be one.)


# %%
def backward(graph, order, grad):
    grad[order[0]] = 1.0
    for node in order:
        for to, slope in graph[node]:
            grad[to] = grad.get(to, 0.0) + slope * grad[node]


L.check("04.4", backward)

# %% [markdown]
# **04.5 · Feed the starving queue** (6 minutes). These are the counts of the toy engine, and they starve it. Make `count` return how many gradients each node has to wait for in a pass from `root`. The graphs now hold nodes that are not behind the root, and arrows to nothing: their place is kept by `None`, as in `("x", 1.0), (None, 2.0)`. They can be thousands of nodes deep, so do without recursion.


# %%
def count(graph, root):
    waits = {}
    for node in graph:
        for to, _ in graph[node]:
            waits[to] = waits.get(to, 0) + 1
    return waits


L.check("04.5", count)

# %% [markdown]
# **04.6 · Write the test they fail** (10 minutes, optional). A test with a chain, a diamond and one pass lets four of these five engines through. Write a better one: return a result of one element, computed from `x` (which is 0.9) and leaving at most 40 nodes, that convicts them all. The check runs each of them over your graph, twice. A wrong number for a result on the way convicts the first two as well as one for `x`.
#
# 1. The hasty engine. It should report a wrong number.
# 2. An engine that overwrites a node's buffer instead of adding to it. A wrong number.
# 3. One whose buffers survive a pass, as in 04.4. A wrong number after the second pass.
# 4. The walker of paths. It should visit more than 1000 nodes.
# 5. One that replaces the leaf's gradient in the second pass. Any second pass shows it.


# %%
def probe(torch, x):
    y = x * 3
    return y


L.check("04.6", probe)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C04.1 a node works by itself | -0.75 and twice -1.5, by hand | `test_c04_1` |
# | C04.2 once, on the sum | one print, -0.75 | `test_c04_2` |
# | C04.3 newest first, leaves at once | d v s c b a u | `test_c04_3` |
# | C04.4 counted from the root | 2 for the product, and nobody starves | `test_c04_4` |
# | C04.5 handed on, not stored | 2, 2 again, None, and 12 | `test_c04_5` |
# | C04.6 316 and 140 | two dictionaries | `test_c04_6` |
# | C04.7 paths and runs | 65535 calls, 16 runs | `test_c04_7` |
# | C04.8 loop, `if`, depth | 11430 for 20,000 steps | `test_c04_8` |
# | C04.9 half a pass | 9, and None | `test_c04_9` |
#
# The tests, in `tests/claims/test_claims_04.py`, run on our engine and on real PyTorch. `make bench ARGS="--only million"` sends a chain of 1,000,000 products through both, and weighs its nodes.
#
# **Left out, compared with PyTorch.** Its engine is written in C++. On the CPU a pass runs in the thread that calls `backward()`, as ours does; for a GPU there is another queue, with a thread of its own. Each thread there numbers the nodes that it makes by itself, so "made last" means something within one thread only; ours counts through. The counting, the buffers and the waiting are the same.
#
# **Read next in our engine:** `evaluate` in `course_lib/engine/backward.py`, one page in three numbered steps.
#
# **Next:** lesson 05, leaf accumulation. You have seen what becomes of the gradients of results. It opens the one place where gradients stay.
