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
# Both engines apply the right rules to the right nodes. What differs is *when*. Each node knows its own rule, and it knows where to send its results. But no node knows which other nodes will send something to it, or how many there will be. What knows this is *the engine*.
#
# After this lesson you can
#
# - say for any graph in which order its nodes run, and on what;
# - tell from a wrong number what kind of mistake an engine has made;
# - write an engine of twenty lines that is right, and read PyTorch's.
#
# **Minutes** 90, of which 25 are for your own engine, and 32 for more exercises · **Needs** lessons 00 to 03 · **Out of scope** what happens inside an accumulator (lesson 05), what nodes save (lesson 06), more about hooks (lesson 12)
#
# [← 03 Vector-Jacobian products](03_vector_jacobian_products.ipynb) · [all lessons](home.ipynb) · [05 Leaf accumulation →](05_leaf_accumulation.ipynb)

# %%
import course_lib as torch
from backscope import step
from coursekit import lesson, show

L = lesson(4)

from collections import Counter

# %% [markdown]
# ## Two gradients come back to one node: what does it do with them?
#
# Here is the smallest program in which the question comes up. From `h` two ways lead to `y`, one through a square root and one through a minus. On the way back, two ways lead from `y` to `h`. Drawn on paper it looks like a *diamond*, and that is what people call it.
#
# The program registers a *prehook* on the node of `h`: a function that the engine calls just before the node runs, with the gradients that it is about to run on. (There is one gradient for each result of the node. This node has one result.) So one line is printed for each run.

# %%
def diamond():
    x = torch.tensor(2.0, requires_grad=True)
    h = x * x  # 4
    p = h.sqrt()  # 2
    q = -h  # -4

    def prehook(grads):
        print("the node of h runs on", grads[0])

    h.grad_fn.register_prehook(prehook)
    return x, h, p, q, p + q


def one_pass():
    x, *_, y = diamond()
    y.backward()
    print("x.grad:", x.grad)

# %% [markdown]
# One gradient comes back through the square root, and another one through the minus. (The slope of a square root is 1 / (2 · root). Here it is 0.25.)
#
# **Predict.** How often does the node of `h` run in this pass, and which gradient is it given the first time it runs? Answer with a pair, such as `(3, 0.5)`.

# %%
L.predict("04.p1", None)

# %% tags=["C04.2"]
L.run(one_pass, after="04.p1")

# %% [markdown]
# `step` runs the same pass and shows a picture after every step. Go through it slowly, and watch the node of `h`.

# %%
def every_step():
    x, h, p, q, y = diamond()
    return step(y)


L.run(every_step, after="04.p1")

# %% [markdown] tags=["tells"]
# **Notice:** the node of `h` runs once, on 0.25 − 1. Before anything runs, the engine knows how many gradients each node *waits* for: 2 for the node of `h`. What arrives is added to the *buffer* of that node. After the minus has run, −1 lies in the buffer, and nothing happens. When the second gradient arrives, the node waits for 0. It is *ready*, and joins the queue.
#
# > **The rule.** A node runs once in a pass, when everything that will ever arrive at it has arrived, and it runs on the sum.
#
# Why is the sum enough? Because every rule is *linear* in what arrives: it multiplies it by slopes (lesson 03). Running the rule on 0.25 and on −1 and adding the results gives the same as running it once on −0.75. It only costs twice as much, and everything after it costs twice as much, too.

# %% [markdown]
# ## Can a node work without an engine?
#
# It can. A node can be called: you give it the gradient of its result, and it returns one gradient for each operand. So we can do by hand what the pass did. Watch what is left for us to do. (`no_grad` keeps our sums from being recorded; lesson 09.)

# %% tags=["C04.1"]
x, h, p, q, y = diamond()
with torch.no_grad():
    for_p, for_q = y.grad_fn(torch.tensor(1.0))
    for_h = p.grad_fn(for_p) + q.grad_fn(for_q)  # the only sum, and no node's
    print(for_h, h.grad_fn(for_h))

# %% [markdown]
# The nodes did the calculus. We did three things that look like nothing: we chose which node to call next, we carried each result to where it belongs, and we added two numbers. An engine has one more job. Here a row `w` is *broadcast*: each of its two numbers is added to two elements of `A`.

# %% tags=["C04.1"]
A, w = torch.ones(2, 2), torch.tensor([1.0, 2.0], requires_grad=True)
result = A + w
print("by itself:", result.grad_fn(torch.ones(2, 2)))
result.sum().backward()
print("in a pass:", w.grad)

# %% [markdown]
# The node of the addition hands on what it is given, in the shape of its result. In a pass, the engine then sums it to the shape of the operand, as in lesson 03.
#
# ## What goes wrong if an engine does not wait?
#
# Now for the colleague's engine. It keeps a queue and always takes the node in front. That node sends along its arrows, arrow 0 first, whatever it has got by then. A node joins the end of the queue when its *first* gradient arrives, and it runs once. On a chain this engine is right. On the diamond it is right as well, since both ways are equally long.
#
# We write both engines in one function, on plain numbers. A graph is a dictionary here: for each node it has the list of its arrows, and each arrow has the slope by which it multiplies. The flag `patient` decides when a node joins the queue.


# %%
def toy_backward(graph, root, patient=True):
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


# %% [markdown]
# Here are five lines that tell engines apart, at x = 2, and their slopes as a dictionary. The slope of `e` is 316.
#
# ```python
# a = x * x
# b = a + x
# c = b * a
# d = c + b
# e = d * a
# ```

# %%
graph = {
    "e": [("d", 4.0), ("a", 30.0)], "d": [("c", 1.0), ("b", 1.0)],
    "c": [("b", 4.0), ("a", 6.0)], "b": [("a", 1.0), ("x", 1.0)],
    "a": [("x", 2.0), ("x", 2.0)], "x": [],
}  # fmt: skip

# %% [markdown]
# **Predict.** What does the hasty engine report for `x`? You need a sheet of paper: write down its queue, and what each node has got when its turn comes. It takes five minutes, and they are well spent.

# %%
L.predict("04.p2", None)

# %% tags=["C04.5"]
L.run(toy_backward, graph, "e", True, after="04.p2")
L.run(toy_backward, graph, "e", False, after="04.p2")

# %% [markdown] tags=["tells"]
# **Notice:** the patient engine comes first, the hasty one second. They agree on every node but `x`. Even in the hasty one, `a` has got 74 in the end.
#
# But `a` ran when only 30 had come. It sent 30 · 4 = 120 to `x`. When the other 44 arrived, `a` had run already, and `x` was never told about them. They would have made 44 · 4 = 176, and 316 − 176 = 140.
#
# This is not an error message. It is a number, and a plausible one. That is why this kind of mistake can live for weeks.

# %% [markdown]
# ## What does it cost to follow every path?
#
# Your own engine from lesson 00 cannot make that mistake, because it never gathers gradients on the way: it sends each piece on by itself. It calls itself along every arrow and comes to a leaf once for each path. It is always right. Is it good enough? Take `h = x`, and then ten times `h = h + h`. Each addition uses `h` twice.


# %%
def calls(node):
    return 1 + sum(calls(to) for to, _ in node.next_functions)


def doublings(n):
    h = torch.tensor(1.0, requires_grad=True)
    runs = []  # one entry for each node that ran
    h.register_hook(runs.append)
    for _ in range(n):
        h = h + h
        h.grad_fn.register_prehook(runs.append)
    h.backward()
    print(f"{n:2} doublings: {calls(h.grad_fn):5} calls, {len(runs):2} runs")

# %% [markdown]
# **Predict.** How many calls does your engine need for ten doublings, from the last addition down to the accumulator of the leaf, the first call included? And how many nodes does PyTorch's engine run? Answer with a pair.

# %%
L.predict("04.p3", None)

# %% tags=["C04.6"]
L.run(doublings, 2, after="04.p3")
L.run(doublings, 10, after="04.p3")
L.run(doublings, 15, after="04.p3")

# %% [markdown] tags=["tells"]
# Each doubling doubles the number of paths, and adds a single node. This is no artificial case. In a *residual network*, and in every transformer, each layer adds its input to its output, so each layer doubles the paths. For 50 such layers the walker of paths needs about 2⁵¹ calls. At ten million calls a second, that is seven years for one gradient.

# %% [markdown]
# So we want the best of both: each node only once, as in the hasty engine, and on its whole sum, as if all paths had been walked. Here is how the five lines really run. Follow the node of `a`.

# %%
def five():
    x = torch.tensor(2.0, requires_grad=True)
    a = x * x
    b = a + x
    c = b * a
    d = c + b
    return x, a, b, c, d, d * a


x, a, b, c, d, e = five()
step(e)

# %% [markdown]
# **Notice:** the node of `a` is offered 30 in the very first step, and waits for 3. Its buffer grows, 30, 54, 74, and only then does it run. From `e` to `x` lead 10 paths. The engine ran 6 nodes.
#
# In the order in which they ran, every arrow leads from an earlier node to a later one. This is called a *topological order*.
#
# ## Several nodes are ready: which one goes first?
#
# Each of them has its whole sum already. So whichever goes first, the gradients are the same, up to rounding. Still, the engine has to choose, and you can see the choice whenever hooks print something.
#
# > **The rule.** Nodes are numbered in the order in which they were made. Of the nodes that are ready, the newest runs first. An accumulator goes before all of them: in PyTorch it has the highest number of all, and so a leaf's gradient is stored as soon as it is complete.
#
# In this program `a` is ready at the same moment as `c`, since `s` sends to both. Every name is printed when the gradient of its tensor is complete and its turn has come.


# %%
def seven():
    u = torch.tensor(3.0, requires_grad=True)
    v = torch.tensor(5.0, requires_grad=True)
    a, b = u.exp(), u.sin()
    c = b.cos()
    s = a + c
    d = s * v
    for name, tensor in zip("uvabcsd", (u, v, a, b, c, s, d), strict=True):
        tensor.register_hook(lambda grad, name=name: print(name, end=" "))
    d.backward()

# %% [markdown]
# **Predict.** In which order will the names come? Answer with the seven letters in a row, such as `"uvabcsd"`.

# %%
L.predict("04.p4", None)

# %% tags=["C04.3"]
L.run(seven, after="04.p4")

# %% [markdown] tags=["tells"]
# `v` came right after `d`: it is a leaf, so its accumulator went first. And `a`, which was ready all the time, had to wait for `c` and `b`, because both of them are newer.

# %% [markdown]
# ### Exercise: order a queue
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
# ## How long is a real engine?
#
# You have met all of its parts. Here they are together, in twenty lines. They work on the real nodes of this notebook's tensors, and do not call `backward()` at all. The list `found` grows while the first loop walks along it. (Broadcasts are left out, and operations with several results.)


# %%
def small_backward(root, counting=True):
    waits, found = Counter(), [root]
    for node in found:  # 1. count the arrows to each node
        for to, _ in node.next_functions:
            if to is not None:
                waits[to] += 1
                if to not in found:
                    found.append(to)
    buffers, ready, runs = {root: torch.tensor(1.0)}, [root], Counter()
    while ready:
        ready.sort(key=lambda node: node._sequence_nr())
        node = ready.pop()  # 2. the newest, or an accumulator
        runs[node] += 1
        sent = node(buffers.pop(node))  # 3. run it on its sum
        sent = sent if isinstance(sent, tuple) else (sent,)
        for (to, _), grad in zip(node.next_functions, sent, strict=True):
            if to is not None:  # 4. deliver: add, count down, is it ready?
                buffers[to] = buffers[to] + grad if to in buffers else grad
                waits[to] -= 1
                joins = waits[to] == 0 if counting else to not in ready
                if joins:
                    ready.append(to)
    return sum(runs.values())


for counting in (True, False):
    x, *_, e = five()
    with torch.no_grad():
        runs = small_backward(e.grad_fn, counting)
    print("counting:" if counting else "not counting:", runs, "runs,", x.grad)

# %% [markdown]
# Both say 316. Does an engine have to count, then? The second one does not wait: a node is ready as soon as anything arrives, and the newest goes first. Every use of a result is newer than the result. So when the turn of a node comes, everything that could send to it has run already.
#
# Only the accumulator of `x` goes before all others. It ran once for each piece that came, and a hook on `x` would have been given pieces instead of the gradient. That is the first thing that counts buy. The second: in PyTorch each thread numbers the nodes that it makes by itself, so "newest" says nothing about nodes of two threads. An engine that counts is right whatever the numbers are.
#
# What is not behind the root must not be counted. Here somebody computes one more thing from `h`, for a log file, and never uses it:

# %% tags=["C04.4"]
x, h, *_, y = diamond()
unused = h.exp()
y.backward()
print("x.grad:", x.grad)
print(toy_backward(graph | {"log": [("a", 1.0)]}, "e"))

# %% [markdown]
# PyTorch's engine counts from the *root*, the node of the tensor on which you call `backward()`. No arrow leads from there to the node of `unused`, so nothing waits for it. The toy counts *every* arrow of its dictionary. Its `a` waits for one gradient more than will ever come: the queue *starves*. The loop ends as if everything were done, and `x` has the 20 that came from `b`.
#
# > **The rule.** Counting comes first. It starts at the root, follows every arrow that leads to a node, and looks at nothing else.
#
# ### Exercise: a queue that starves
#
# **04.2 · Feed the starving queue** (6 minutes). These counts include every arrow of the dictionary, as `toy_backward` does, and they starve it. Make `count` return how many gradients each node has to wait for in a pass from `root`. The graphs now hold nodes that are not behind the root, and arrows to nothing: their place is kept by `None`, as in `("x", 1.0), (None, 2.0)`. They can be thousands of nodes deep, so do without recursion.


# %%
def count(graph, root):
    waits = {}
    for node in graph:
        for to, _ in graph[node]:
            waits[to] = waits.get(to, 0) + 1
    return waits


L.check("04.2", count)

# %% [markdown]
# ## What remains when a pass fails?
#
# A hook divides by zero when the gradient of `h` is ready. `early` is a leaf whose gradient was complete before that, and `late` is a leaf that had not been reached.

# %% tags=["C04.7", "P25"]
early = torch.tensor(2.0, requires_grad=True)
late = torch.tensor(3.0, requires_grad=True)
h = late * late
h.register_hook(lambda grad: 1 / 0)
L.run((h * early).backward)
print(early.grad, late.grad)

# %% [markdown]
# The error comes out of `backward()` as it is. What was done before it stays done: `early` has its gradient, and `late` has none. So if you catch such an error and go on, clear all gradients before you try again.
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
# `small_backward` above has all of it, with PyTorch's names. Try to write yours without looking.

# %%
L.build("04")

# %% [markdown]
# ## Exercises: more, if you like
#
# **04.3 · Which happens?** (6 minutes). Each program begins with `x = torch.tensor(2.0, requires_grad=True)`, and ends with `y.backward()`. Answer `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and `x.grad` is not the slope of the function in the comment).
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

L.check("04.3", happens)

# %% [markdown]
# **04.4 · Repair the walker of paths** (10 minutes). This toy engine is right, and unusable: it walks every path, and it recurses. Make it look at a node's arrows no more than ten times on average, and do without recursion. It gets graphs like the one above, in which every node is behind the root, and returns the gradients of all nodes, as now; the nodes may be listed in any order. (Counting, as above, is one way. Can you do without counts?)


# %%
def backward(graph, root):
    grads = {}

    def visit(node, grad):
        grads[node] = grads.get(node, 0.0) + grad
        for to, slope in graph[node]:
            visit(to, slope * grad)

    visit(root, 1.0)
    return grads


L.check("04.4", backward)

# %% [markdown]
# **04.5 · Repair the second pass** (6 minutes). Here the order is given: `order` lists the nodes, the root first, each after all its consumers. `grad` is a dictionary that lives on from call to call. This engine uses it as its buffers, too, and the second call goes wrong. Repair it, so that each call adds the right gradient to the entry of each leaf behind the root, makes the entry if there is none, and leaves nothing else of its own in `grad`. (A leaf is a node without arrows. The root may be one.)


# %%
def backward(graph, order, grad):
    grad[order[0]] = 1.0
    for node in order:
        for to, slope in graph[node]:
            grad[to] = grad.get(to, 0.0) + slope * grad[node]


L.check("04.5", backward)

# %% [markdown]
# **04.6 · Write the test they fail** (10 minutes). A test with a chain, a diamond and one pass lets four of these five engines through. Write a better one: return a result of one element, computed from `x` (which is 0.9, or smaller where the gradient is nearly zero at 0.9) and leaving at most 40 nodes, that convicts them all. The check runs each of them over your graph, twice. A wrong number for a result on the way convicts the first two as well as one for `x`. A gradient that is nearly zero convicts nobody.
#
# 1. The hasty engine. It should report a wrong number.
# 2. An engine that overwrites a node's buffer instead of adding to it. A wrong number.
# 3. One whose buffers survive a pass, as in 04.5. A wrong number after the second pass.
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
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch.
#
# - **C04.1** A node of a built-in operation needs the gradients of its own results and what it saved, nothing else: called by itself, it gives the numbers that it gives in a pass, except that only the engine sums what broadcasting repeated.
# - **C04.2** In one pass of `backward()` each node behind the root runs once, on the sum of all that arrives, after every consumer behind the root has delivered.
# - **C04.3** Of the nodes that are ready, the one made last runs first; an AccumulateGrad goes before all others.
# - **C04.4** A pass waits only for what is behind its root: an arrow to nothing is not counted, nor is a use of a result that is not behind the root.
# - **C04.5** `a = x*x; b = a+x; c = b*a; d = c+b; e = d*a` has the slope 316 at 2; running nodes on first arrival gives 140.
# - **C04.6** Behind n doublings `h = h + h` lie 2ⁿ paths, and a pass runs n + 1 nodes.
# - **C04.7** When a hook ends a pass half-way, leaves that the pass has reached keep their gradients, and the others get none.
#
# **Left out, compared with PyTorch.** Its engine is written in C++. On the CPU a pass runs in the thread that calls `backward()`, as ours does; for a GPU there is another queue, with a thread of its own.
#
# **Read on in our engine.** Here is its first part, the counting; read it beside part 1 of `small_backward`. An *edge* is an arrow. `visited` is a mark in the node, so that nothing has to be searched in a list. The rest, `evaluate` in `course_lib/engine/backward.py`, is one page with three numbered steps: *deliver*, *choose*, *run*.

# %% tags=["engine"]
show("engine.backward.GraphTask.count_dependencies")

# %% [markdown]
# **Next:** [Lesson 05](05_leaf_accumulation.ipynb) opens the one place where gradients stay.
