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
# **Your engine from lesson 00 has eight lines, and it is right: it sends a gradient along every path. Give it a program with fifty additions, `h = h + h`, and it will not come back for years. So a colleague rewrites it with a queue. The new engine is fast, and it passes every test you have. Weeks later somebody notices that a network trains a little worse than it did before. One of its gradients is too small. There was no error, and there never will be one.**
#
# Both engines apply the right rules to the right nodes. What differs is *when*. Each node knows its own rule, and it knows where to send its results. But no node knows who else will send something to it, or how many there will be. Somebody has to know that, and this somebody is called *the engine*.
#
# After this lesson you can
#
# - say for any graph in which order its nodes run, and on what;
# - tell from a wrong number what kind of mistake an engine has made;
# - write an engine of twenty lines that is right and fast, and read PyTorch's;
# - say what has been stored, and what has not, when a backward pass fails half-way.
#
# **Minutes** 85, with 16 of them for the two optional exercises · **Needs** lessons 00 to 03 · **Out of scope** what happens inside an accumulator (lesson 05), what nodes save (lesson 06), more about hooks (lesson 12)
#
# [← 03 Vector-Jacobian products](03_vector_jacobian_products.ipynb) · [all lessons](home.ipynb) · [05 Leaf accumulation →](05_leaf_accumulation.ipynb)

# %%
import course_lib as torch
from backscope import step
from coursekit import expect_error, lesson, show

L = lesson(4)

import warnings
from collections import Counter

# %% [markdown]
# ## Two gradients come back to one node: what does it do with them?
#
# Here is the smallest program in which the question comes up. From `h` two ways lead to `y`, one through a square root and one through a minus. On the way back, two ways lead from `y` to `h`. Drawn on paper it looks like a *diamond*, and that is what people call it.
#
# ```python
# x = torch.tensor(2.0, requires_grad=True)
# h = x * x          # 4
# p = h.sqrt()       # 2
# q = -h             # -4
# y = p + q
# y.backward()
# ```
#
# One gradient comes back through the square root, and another one through the minus. Neither of them knows about the other.
#
# **Predict.** How often does the node of `h` run in this backward pass, and which gradient is it given the first time it runs? (The slope of a square root is 1 / (2 · root). Here it is 0.25.) Answer with a pair, such as `(3, 0.5)`.

# %%
L.predict("04.p1", None)

# %% [markdown]
# To find out, we register a *prehook* on the node: a function that the node calls just before it runs, with the gradients that it is about to run on: one for each result, since some operations have several. Ours has one, `grads[0]`, and we print it. So there will be one line for each run.

# %% tags=["C04.2"]
x = torch.tensor(2.0, requires_grad=True)
h = x * x
p = h.sqrt()
q = -h
y = p + q
h.grad_fn.register_prehook(lambda grads: print("the node of h runs on", grads[0]))
y.backward()
print(x.grad)  # for positive x, y is x - x*x, and its slope is 1 - 2x

# %% [markdown]
# One line, and the number in it is the sum 0.25 − 1. Somebody has kept the first gradient until the second one had come, and added the two.
#
# `step(y)` runs the same pass and takes a picture after every step. The blue box is the node that has just run; what it has sent stands at its arrows. Go through it slowly, and watch the box of `h`, which has the number 1.

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
# - The number in front of a name says which node was made first, second, and so on. A small number at an arrow says which operand of the node it leads to: 0 is the first.
# - Already in the first frame, before anything runs, it says how many gradients each node *waits* for. `MulBackward0`, the node of `h`, waits for 2.
# - A node that runs sends one gradient along each of its arrows. What arrives is added to the *buffer* of the node at the other end, and that node now waits for one less: 2→1→0.
# - When a node waits for 0, it is *ready*, and joins the queue. Not earlier: after the minus has run, −1 lies in the buffer of `h`, and nothing happens.
# - The accumulator of `x` waits for 2 as well. Both of them come from one node, because `x * x` uses `x` twice.
#
# > **The rule.** A node runs once in a pass, when everything that will ever arrive at it has arrived, and it runs on the sum.
#
# Why is the sum enough? Because every rule is *linear* in what arrives: it multiplies it by slopes (lesson 03). Running the rule on 0.25 and on −1 and adding the results gives the same as running it once on −0.75. It only costs twice as much, and everything behind it costs twice as much, too.
#
# ## Can a node work without an engine?
#
# It can. A node is an object that can be called: you give it the gradient of its result, and it returns one gradient for each operand. So we can do by hand what the pass did. The addition hands on what it is given. The square root divides by twice its result, which it saved in the forward pass.
#
# Watch what is left for us to do. (`no_grad` keeps our sums from being recorded; lesson 09.)

# %% tags=["C04.1"]
h = x * x
p, q = h.sqrt(), -h
y = p + q
with torch.no_grad():
    for_p, for_q = y.grad_fn(torch.tensor(1.0))
    for_h = p.grad_fn(for_p) + q.grad_fn(for_q)  # the only sum, and it is in none of the nodes
    print(for_h, h.grad_fn(for_h))

# %% [markdown]
# The nodes did the calculus. We did three things that look like nothing: we knew which node to call next, we carried each result to where it belongs, and we added two numbers. That is the whole job of an engine.
#
# ## How does it know how many gradients to wait for?
#
# `h` has to wait for two. But how can anybody know that there will not be a third? Here is a program in which the question is not idle:
#
# ```python
# unused = h.exp()      # computed for a log file, and never used again
# z = y / 2
# z.backward()
# ```
#
# Three operations have used `h` by now. If the engine waited for a gradient from `unused`, it would wait for ever.
#
# The engine counts before it begins, and it counts from the *root*: the node of the tensor on which you call `backward()`. It follows the arrows to every node behind the root, once, and each arrow counts for the node that it points to. No arrow leads from `z` to the node of `unused`. So that node will not run, and nobody waits for it. An arrow to nothing, such as that of the number 2, is not counted either.

# %% tags=["C04.4"]
unused, z = h.exp(), y / 2
found, waits = [z.grad_fn], Counter()
for node in found:  # the list grows while we walk along it
    for to in [to for to, _ in node.next_functions if to is not None]:
        waits[type(to).__name__] += 1
        if to not in found:
            found.append(to)
print(dict(waits))
z.backward()
print(x.grad)

# %% [markdown]
# The multiplication waits for 2, as it should, and the pass came to its end. (`x.grad` was −3 from `step(y)`. The new pass has added half as much again.)
#
# > **The rule.** Counting comes first. It starts at the root, follows every arrow that leads to a node, and looks at nothing else.
#
# ## What goes wrong if an engine does not wait?
#
# Now for the colleague's engine. It keeps a queue and always takes the node in front. That node sends along its arrows, arrow 0 first, whatever it has got by then. A node joins the end of the queue when its *first* gradient arrives, and it runs once. On a chain this engine is right. On the diamond above it is right as well, since both ways are equally long: when the turn of `h` comes, both gradients are there.
#
# Here are five lines that tell engines apart. The slope of `e` at 2 is 316.
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
# **Predict.** What does the hasty engine report for `x`? You need a sheet of paper: write down its queue, and what each node has got when its turn comes. The slopes are: `e` to `d` 4, `e` to `a` 30, `d` to `c` and to `b` 1, `c` to `b` 4, `c` to `a` 6, `b` to `a` and to `x` 1, and `a` to `x` 2, twice. It takes five minutes, and they are well spent.

# %%
L.predict("04.p2", None)

# %% [markdown]
# We can write both engines in one function, on plain numbers. A graph is a dictionary here: for each node it has the list of its arrows, and each arrow has the slope by which it multiplies. The flag `patient` decides when a node joins the queue: when its last gradient has arrived, or when its first one has. Every node in this dictionary is behind `e`, so here we may count all arrows that there are.


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
            joins = last if patient else first
            if joins:
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
# **Notice:** the two engines agree on every node but `x`. Even in the hasty one, `a` has got 74 in the end.
#
# But `a` ran when only 30 had come. It sent 30 · 4 = 120 to `x`. When the other 44 arrived, `a` had run already, and `x` was never told about them. They would have made 44 · 4 = 176, and 316 − 176 = 140.
#
# This is not an error message. It is a number, and it is a plausible one. That is why this kind of mistake can live for weeks, and why the right order is worth a lesson.
#
# ## What does it cost to follow every path?
#
# Your own engine from lesson 00 cannot make that mistake, because it never adds anything on the way. It calls itself along every arrow and comes to a leaf once for each path. It is always right. Is it good enough?
#
# Take `h = x`, and then ten times `h = h + h`. Each addition uses `h` twice.
#
# **Predict.** How many calls will your engine need, from the last addition down to the accumulator of `x`, the first call included? And how many nodes does PyTorch's engine run? Answer with a pair.

# %%
L.predict("04.p3", None)


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
# Each doubling doubles the number of paths, and adds a single node. This is no artificial case. In a *residual network*, and in every transformer, each layer adds its input to its output, so each layer doubles the paths. For 50 such layers the walker of paths needs about 2⁵¹ calls. At ten million calls a second, that is seven years for one gradient.
#
# So we want the best of both: each node only once, as in the hasty engine, and on its whole sum, as if all paths had been walked. Here is how the five lines really run. Follow the box of `a`, which has the number 1:

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
# - The node of `a` is offered 30 in the very first step, and waits for 3. Its buffer grows, 30, 54, 74, and only then does it run.
# - From `e` to `x` lead 10 paths. The engine ran 6 nodes.
# - In the order in which they ran, every arrow leads from an earlier node to a later one. This is called a *topological order*. The engine did not compute it beforehand. It comes about because nodes wait.
#
# ## Several nodes are ready: which one goes first?
#
# Each of them has its whole sum already. So whichever goes first, the gradients are the same, up to rounding. Still, somebody has to choose, and you can see the choice whenever hooks print something.
#
# Nodes are numbered in the order in which they were made. The engine takes the newest one, so it goes back in time. What was saved last is let go first. There is one exception: an accumulator goes before all others. Its gradient is complete, and there is no reason to keep it waiting.
#
# ```python
# u, v = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
# a, b = u.exp(), u.sin()
# c = b.cos()
# s = a + c
# d = s * v
# ```
#
# In this program `a` is ready at the same moment as `c`, since `s` sends to both. Every name is printed when the gradient of its tensor is complete and its turn has come.
#
# **Predict.** In which order will the names come? Answer with the seven letters in a row, such as `"uvabcsd"`.

# %%
L.predict("04.p4", None)

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
# `v` came right after `d`: it is a leaf, so its accumulator went first. And `a`, which was ready all the time, had to wait for `c` and `b`, because both of them are newer.
#
# > **The rule.** Of the nodes that are ready, the one made last runs first. An accumulator goes before all of them.
#
# ## Exercises: order a queue
#
# **04.1 · Order the queue** (7 minutes). A node is called by the letter of the tensor that it made, an accumulator by that of its leaf. `w`, `x` and `v` are leaves that require grad. For `g.backward()`: how many gradients does each node wait for, and in which order do the nodes run? (Where two accumulators are ready at once, either may go first.)
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
# ## What is left of a gradient that has been sent on?
#
# When a node runs, its buffer is emptied, and what was in it is not kept. So a result has no `.grad`, unless you asked for it with `retain_grad()` (lesson 02). And the next pass begins with empty buffers. We run two passes over one graph (`retain_graph=True` makes that possible, as in lesson 03) and watch what comes by at `h`:

# %% tags=["C04.5"]
x = torch.tensor(1.0, requires_grad=True)
h = x * 3
h.register_hook(lambda grad: print("passing h:", grad))
y = h + h
y.backward(retain_graph=True)
y.backward()
with warnings.catch_warnings(action="ignore"):  # reading .grad of a result gives a warning
    print("stored in h:", h.grad, "and in x:", x.grad)

# %% [markdown]
# The hook saw the same number twice, not twice as much the second time: nothing of the first pass was left on the way. What remains of both passes is in the leaf: 6, and 6 more. A leaf adds, and [lesson 05](05_leaf_accumulation.ipynb) is about that.
#
# ## What if my program contains a loop and an `if`?
#
# The graph does not know of them. It is made by the operations that really ran, so it has the shape of this run and no other. The function below decides at each step what to do next by looking at a *value*. One of the two starting points leads to more additions of `x` than the other, and each of them adds 1 to the slope.
#
# And what about 20,000 steps in a row? A function that calls itself ends at Python's recursion limit, which is usually 1000 calls. The engine is a loop around a queue, and a loop has no such limit.

# %% tags=["C04.8"]
def bounce(x, steps):
    h = x
    for _ in range(steps):
        h = h - 1 if h > 1 else h + x
    return h


for x in [torch.tensor(value, requires_grad=True) for value in (0.75, 3.75)]:
    print([torch.autograd.grad(bounce(x, steps), x)[0].item() for steps in (7, 70, 20_000)])

# %% [markdown]
# ## How long is a real engine?
#
# You have met all of its parts: count from the root; keep a buffer for each node; when a node has waited for everybody, put it among those that are ready; take the newest. Here they are together, in twenty lines. This is not a toy on plain numbers. It works on the real nodes of this notebook's tensors, and it does not call `backward()` at all:


# %%
def small_backward(root):
    waits, found = Counter(), [root]
    for node in found:  # 1. count the arrows that lead to each node
        for to, _ in node.next_functions:
            if to is not None:
                waits[to] += 1
                if to not in found:
                    found.append(to)
    buffers, ready, order = {root: torch.tensor(1.0)}, [root], []
    while ready:
        ready.sort(key=lambda node: node._sequence_nr())
        node = ready.pop()  # 2. the newest; an accumulator has the highest number of all
        order.append(type(node).__name__)
        sent = node(buffers.pop(node))  # 3. run it on its sum
        sent = sent if isinstance(sent, tuple) else (sent,)
        for (to, _), grad in zip(node.next_functions, sent, strict=True):
            if to is not None:  # 4. deliver: add, count down, perhaps it is ready
                buffers[to] = buffers[to] + grad if to in buffers else grad
                waits[to] -= 1
                if waits[to] == 0:
                    ready.append(to)
    return order


x = torch.tensor(2.0, requires_grad=True)
a = x * x
b = a + x
e = (b * a + b) * a
with torch.no_grad():
    print(small_backward(e.grad_fn))
print(x.grad)

# %% [markdown]
# 316. The four numbered comments are the four things that an engine does.
#
# (Ours and PyTorch's have to do more: let go of saved tensors, call hooks, notice errors. A part of ours stands at the end of this lesson.)
#
# ## What remains when a pass fails?
#
# Two ways of failing are worth seeing once.
#
# **The queue starves.** The toy engine above counted *every* arrow of its dictionary. That was fine, because every node was behind `e`. Now somebody computes one more thing from `a`, for a log file, and does not use it in `e`. So `a` waits for one gradient more than will ever come.
#
# **A hook raises in the middle.** In the second program a hook divides by zero when the gradient of `h` is ready. `early` is a leaf whose gradient was complete before that, and `late` is a leaf that had not been reached.

# %% tags=["C04.9", "P25"]
print(backward(graph | {"log": [("a", 1.0)]}, "e"))

early, late = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
h = late * late
h.register_hook(lambda grad: 1 / 0)
with expect_error(ZeroDivisionError, "division by zero"):
    (h * early).backward()
print(early.grad, late.grad)

# %% [markdown]
# In the first program there is no error at all. The queue has run empty, and the loop ends as if everything were done. `x` has the 20 that came from `b`; the 74 that arrived at `a` never left it. This is the reason why the real engine counts from the root.
#
# In the second program the error comes out of `backward()` as it is. What was done before it stays done: `early` has its gradient, and `late` has none. So if you catch such an error and go on, clear all gradients before you try again: another pass would add to `early` what is there already.
#
# ## Build your own engine: counts, buffers, a queue
#
# Your engine walks along all paths, and it calls itself. Replace this walk in `my_engine.py`. The function `send` goes; `run_backward` becomes a loop:
#
# 1. Visit every node behind the root once, and count the arrows that lead to each. Use a list that grows, no recursion: a checkpoint will give you a chain of thousands of nodes.
# 2. Keep a buffer of gradients for each node, and a list of the nodes that are ready.
# 3. As long as the list is not empty: take the newest node, run it on what is in its buffer, and deliver what it sends. Add to buffers, count down, and when a count is 0 the node is ready.
# 4. Give accumulators the number `math.inf`, so that they go before all others.
#
# `small_backward` above has all of it, but it works with PyTorch's names for everything. Try to write yours without looking. The usual slip: a second gradient takes the *place* of the first one in the buffer. On a chain nothing of it can be seen.

# %%
L.build("04")

# %% [markdown]
# When the checkpoint says *correct*, your engine needs n + 1 steps for 2ⁿ paths. It draws the program of 316 and 140 after your own pass: look for the 316. (In your engine each use of a leaf still has an accumulator of its own; they are shared from lesson 05 on.)
#
# ## Exercises: judge, repair, convict
#
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
# **04.3 · Repair the walker of paths** (10 minutes). This toy engine is right, and unusable: it walks every path, and it recurses. Make it look at a node's arrows no more than ten times on average, and do without recursion. It gets graphs like the one above, in which every node is behind the root, and returns the gradients of all nodes, as now; the nodes may be listed in any order. (The patient engine is one way, but write your own: pasted, it does not count. Can you do without its counts?)


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
# **04.6 · Write the test they fail** (10 minutes, optional). A test with a chain, a diamond and one pass lets four of these five engines through. Write a better one: return a result of one element, computed from `x` (which is 0.9, or smaller where the gradient is nearly zero at 0.9) and leaving at most 40 nodes, that convicts them all. The check runs each of them over your graph, twice. A wrong number for a result on the way convicts the first two as well as one for `x`. A gradient that is nearly zero convicts nobody.
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
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/04_the_engine/claims.py`).
#
# *What a node needs*
#
# - **C04.1** A node needs the gradients of its own results and what it saved, nothing else: the node of a built-in operation, called by itself, gives the numbers that it gives in a pass.
# - **C04.2** In one pass of `backward()` each node behind the root runs once, on the sum of all that arrives, after every consumer behind the root has delivered.
# - **C04.5** The gradient of a result is handed on and, unless retain_grad() asked for it, not stored: a second pass hands on the same again, and only leaves add up.
#
# *In which order*
#
# - **C04.3** Of the nodes that are ready, the one made last runs first; an AccumulateGrad goes before all others.
# - **C04.4** A pass waits only for what is behind its root: an arrow to nothing is not counted, nor is a use of a result that is not behind the root.
# - **C04.6** `a = x*x; b = a+x; c = b*a; d = c+b; e = d*a` has the slope 316 at 2; running nodes on first arrival gives 140.
#
# *What it costs, and how it fails*
#
# - **C04.7** Behind n doublings `h = h + h` lie 2ⁿ paths, and a pass runs n + 1 nodes.
# - **C04.8** A loop and an `if` give each run a graph of its own shape, and 20,000 nodes in a row need no recursion.
# - **C04.9** When a pass fails half-way, leaves that it has reached keep their gradients, and the others get none.
#
# `make bench ARGS="--only million"` sends a chain of 1,000,000 products through our engine and through PyTorch's, and weighs their nodes.
#
# **Left out, compared with PyTorch.** Its engine is written in C++. On the CPU a pass runs in the thread that calls `backward()`, as ours does; for a GPU there is another queue, with a thread of its own. Each thread there numbers the nodes that it makes by itself, so "made last" means something within one thread only; ours counts through. The counting, the buffers and the waiting are the same.
#
# **Read on in our engine.** Here is its first part, the counting; read it beside part 1 of `small_backward`. An *edge* is an arrow. Three things are different, all for speed. `visited` is a mark in the node, so that nothing has to be searched in a list. Most nodes wait for a single gradient, so only the larger counts are stored. And an edge may be a pair, for an operation with several results. The rest, `evaluate` in `course_lib/engine/backward.py`, is one page with three numbered steps: *deliver*, *choose*, *run*.

# %% tags=["engine"]
show("engine.backward.GraphTask.count_dependencies")

# %% [markdown]
# **Next:** you have seen that gradients of results are sent on and forgotten. [Lesson 05](05_leaf_accumulation.ipynb) opens the one place where gradients stay.
