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
# # 12 · Hooks: who is called when, with what, and what does a return value change?
#
# **One branch of your network has gradients that explode. You add a hook that cuts them off, a single line, and the branch is quiet. But now the rest of the network has stopped learning as well, although your line never mentions it. You delete the line, and everything learns again. You write the same line once more, very carefully, and the rest of the network stops again.**
#
# A *hook* is a function of yours that somebody else calls: the backward pass, or a module. Hooks are how people look into a training that they did not write. They log gradients, clip them, set some to 0, find the place at which a NaN is born, or step a weight in the middle of a pass. There are several kinds, and three questions about each: when is it called, what is it given, and what happens to what it returns?
#
# After this lesson you can
#
# - choose the right kind of hook for a purpose, and say when it will be called;
# - change a gradient on its way without changing anybody else's;
# - find the operation that made the first NaN;
# - repair the hook in the story, and say what its author overlooked.
#
# **Minutes** 130, in three sittings of 50, 35 and 45, with exercises in each and a rest between them, and 8 more for the optional exercise 12.3 · **Needs** lessons 00, 04, 05, 07 and 11 · **Out of scope** hooks on saved tensors (lesson 14), second derivatives (lesson 13)
#
# [← 11 Custom Functions](11_custom_functions.ipynb) · [all lessons](home.ipynb) · [13 Double backward →](13_double_backward.ipynb)

# %%
import course_lib as torch
import warnings

from backscope import draw, step
from coursekit import expect_error, lesson, show

L = lesson(12)


def tell(letter, what):
    def hook(*given):  # a hook that prints its letter and what it is given
        print(f"{letter}, {what}:", *given)

    hook.__name__ = letter  # pictures call a hook by its name
    return hook

# %% [markdown]
# ## What does a hook on one branch do to the others?
#
# Here is the network of the story, made small. `f` is the branch, and the connection around it leads straight from `x` to `out`.
#
# ```python
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# f = x * 3      # a branch ...
# out = x + f    # ... and a connection around it
# loss = (out * torch.tensor([1.0, 2.0])).sum()
# f.register_hook(lambda grad: grad.clamp(-0.01, 0.01))
# loss.backward()
# ```
#
# In lessons 03 to 05 hooks were used to look at a gradient. This one *returns* something: the gradient, cut off at ±0.01.
#
# **Predict.** Without the hook, `x.grad` is `[4, 8]`. What is it with the hook? Answer with a list of two numbers.

# %%
L.predict("12.p1", None)

# %% [markdown]
# We write it as a function, so that we can try different hooks. The first hook is `print` itself. It returns None, and None means: leave the gradient as it is.


# %%
def block(hook):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f = x * 3
    out = x + f
    loss = (out * torch.tensor([1.0, 2.0])).sum()
    f.register_hook(hook)
    return x, f, loss


for hook in (print, lambda grad: grad.clamp(-0.01, 0.01)):
    x, f, loss = block(hook)
    loss.backward()
    print("x.grad is", x.grad)

# %% [markdown]
# The branch's part was cut, and the connection's part was not: 1 + 0.03 and 2 + 0.03. Here is the same pass one node at a time, from step 3 on. Look for the hook in step 4. (Node 3 is dashed: its step is not shown.)

# %%
x, f, loss = block(lambda grad: grad.clamp(-0.01, 0.01))
step(loss).part(3, 5)

# %% [markdown]
# **Notice:**
#
# - Node 1 is the product, and its result is `f`. Node 2 is the addition.
# - In step 3 the addition sends `[1, 2]`, the same tensor, along both of its arrows. One of them leads past node 1 to `x`, and there is no hook on this way.
# - In step 4 it is the turn of node 1. First the hook of its result is called: it makes `[0.01, 0.01]` of `[1, 2]`. *Then* the node multiplies by 3.
# - So `x` gets `[1, 2]` + `[0.03, 0.03]` in step 5.
#
# So this hook is right. It changes what its own branch sends on, and nothing else.
#
# > **The rule.** A hook on a result is called before the node of this result runs, and can change what goes on from there.

# %% [markdown]
# ## So what was wrong in the story?
#
# The line of the story looks almost the same. It differs by a single character:
#
# ```python
# f.register_hook(lambda grad: grad.clamp(-0.01, 0.01))     # x.grad was [1.03, 2.03]
# f.register_hook(lambda grad: grad.clamp_(-0.01, 0.01))    # the line of the story
# ```
#
# Both return the same numbers, and the branch adds its 0.03 with either.
#
# **Predict.** What is `x.grad` with the second line? Answer with a list of two numbers.

# %%
L.predict("12.p6", None)

# %% [markdown]
# Here are both, and then the pass with the second one:

# %% tags=["C12.11"]
for hook in (lambda grad: grad.clamp(-0.01, 0.01), lambda grad: grad.clamp_(-0.01, 0.01)):
    x, f, loss = block(hook)
    loss.backward()
    print("x.grad is", x.grad)
x, f, loss = block(lambda grad: grad.clamp_(-0.01, 0.01))
step(loss).part(3, 5)

# %% [markdown]
# **Notice:**
#
# - In step 3 the addition sends one tensor along *both* of its arrows, as it did with the good hook. The box of `x` holds it.
# - In step 4 look at the brown words in the box of `x`. `clamp_` writes into the gradient that it is given. That is this very tensor, and it still waits in the box of `x`. So it is `[0.01, 0.01]` there, too, and the node adds its 0.03 to that.
# - In step 5 `x` gets `[0.04, 0.04]`: the connection was cut off with the branch. There was no error.
#
# You know this rule from lesson 11, where it was about backward. It is the same here:
#
# > **The rule.** A hook may return another gradient. It may not change the one that it is given.
#
# Registering a hook gives you a *handle*. Its `remove()` takes the hook away again. In a `with` statement that happens at the end.

# %%
x = torch.tensor(2.0, requires_grad=True)
handle = x.register_hook(lambda grad: grad * 100)
handle.remove()
with x.register_hook(lambda grad: grad * 10):
    (x * 3).backward()  # brings 30
(x * 3).backward()  # brings 3
print("x.grad is", x.grad)

# %% [markdown]
# **12.5 · Freeze some rows** (8 minutes, a hook to take home). Of a table with one row for each word, some rows were trained before and are to stay. `rows` is a list of their numbers. With your hook
#
# - a pass brings exactly 0 to these rows, even where the gradient is infinite or NaN;
# - it brings to the other rows the gradient as it was, with its history (lesson 13 will need it);
# - what is in `.grad` already stays, and so do the gradients of all other tensors.
#
# Return the handle. The code below was posted as working.


# %%
def freeze_rows(torch, weight, rows):
    def hook(grad):
        grad[rows] = 0
        return grad

    return weight.register_hook(hook)


L.check("12.5", freeze_rows)


# %% [markdown]
# ## A tensor is used twice: how often is its hook called?
#
# `h` below is used twice, so two gradients come back to it. And it has three hooks.

# %% tags=["C12.1"]
x = torch.tensor(2.0, requires_grad=True)
h = x * 3
h.register_hook(lambda grad: print("the first hook gets", grad))  # returns None
h.register_hook(lambda grad: grad * 10)
h.register_hook(lambda grad: print("the third hook gets", grad))
(h + h * 4).backward()
print("x.grad is", x.grad)

# %% [markdown]
# Each hook was called once, with the sum 1 + 4 = 5. The engine adds up everything that arrives, as in lesson 04, and only then calls the hooks, in the order of registration. Each is given what the one before it left. The node of `h` runs on what remains at the end: 50, and 3 times 50 reaches `x`.
#
# > **The rule.** When a gradient has come to a tensor, its hooks are called once in the pass, one after the other, with the whole sum. What a hook returns takes the gradient's place; None leaves it as it is.
#
# **A hook that names its own result is never freed in PyTorch.** In `h.register_hook(lambda g: g * h)` the hook holds `h`, and `h` holds the hook. The cure is `d = h.detach()` first, and a hook that names `d`.

# %% [markdown]
# ## Does a hook follow its tensor through an in-place edit?
#
# A hook on a result is kept by the node that made the result. A `retain_grad()` belongs to the tensor. And an in-place edit gives the tensor a new node (lesson 07).
#
# ```python
# x = torch.tensor([1.0, -1.0], requires_grad=True)
# h = x * 3
# h.register_hook(BEFORE)
# h.retain_grad()
# h.relu_()
# h.register_hook(AFTER)
# h.sum().backward()
# ```
#
# **Predict.** What is BEFORE given, what AFTER, and what is `h.grad`? Answer with three lists of two numbers, such as `[[1, 2], [3, 4], [5, 6]]`.

# %%
L.predict("12.p8", None)

# %% tags=["C12.3"]
x = torch.tensor([1.0, -1.0], requires_grad=True)
h = x * 3
h.register_hook(lambda grad: print("registered before:", grad))
h.retain_grad()
h.relu_()
h.register_hook(lambda grad: print("registered after: ", grad))
h.sum().backward()
print("retain_grad kept: ", h.grad)

# %% [markdown]
# BEFORE stays with the old node. It is given the gradient of the *old* value, which the ReLU has masked. `retain_grad()` asks for the gradient of the tensor as it is in the end, and moves along.

# %% [markdown]
# ## Can a hook change one of two branches?
#
# Suppose two *heads* (the last parts of a network) read the same features `h`. They should serve the first and mislead the second: that is how a network learns not to see which camera took a picture. The recipe is called **gradient reversal**. What comes back from the second head is turned round. Here the first head sends 5, and the second sends 3. We try a hook on `h` itself:

# %% tags=["C12.2"]
def turn(grad):
    return -grad


w = torch.tensor(1.0, requires_grad=True)
h = w * 2
h.register_hook(turn)
loss = h * 5 + h * 3  # the losses of the two heads
loss.backward(retain_graph=True)
print("w.grad is", w.grad)
draw(loss, detail=0)

# %% [markdown]
# Both arrows meet at node 1, so `turn` gets the sum: −(5 + 3), times 2. The second head needs a tensor of its own to hang the hook on. Times one is enough:

# %% tags=["C12.2"]
w.grad, h = None, w * 2
r = h * 1
r.register_hook(turn)
loss = h * 5 + r * 3
loss.backward(retain_graph=True)
print("w.grad is", w.grad)
draw(loss, detail=0)

# %% [markdown]
# Now `turn` stands on one of the two ways, and 5 − 3 = 2 arrives at `h`.

# %% [markdown]
# **12.4 · Reverse one branch** (8 minutes). Write `turn_round(torch, h, strength)`. It returns a tensor `r` with the values of `h`, for the head that is to be misled.
#
# - When a gradient comes back to `r`, `-strength` times as much goes on to `h`. Do not cut its history: lesson 13 will need it.
# - What else is computed from `h` gets its ordinary gradient. So does `z`, if somebody computes `r + z`.
# - In evaluation `h` may require no grad.


# %%
def turn_round(torch, h, strength):
    ...


L.check("12.4", turn_round)

# %% [markdown]
# ## Build your own engine: hooks of tensors
#
# This is how our engine calls a tensor's hooks, of a result or of a leaf:

# %% tags=["engine"]
show("engine.hooks.call_tensor_hooks")

# %% [markdown]
# Yours needs seven lines. The hooks of a result belong to the node that made it. Those of a leaf are kept by the leaf itself, and its accumulator reads them there: an accumulator lives only as long as a graph holds it (lesson 05). A new graph makes a new one, which would know nothing of the hooks. In `my_engine.py`:
#
# 1. Give `Tensor` and `Node` a list `hooks`, let `AccumulateGrad` use the list of its leaf, and write `register_hook` (no handle needed).
# 2. In the loop of `run_backward`, just before the node runs, call its hooks with the whole sum, one after the other. What a hook returns takes the gradient's place, unless it is None.
#
# The usual slip is to call the hooks when a gradient *arrives*. Then a tensor that is used twice has its hook called twice, each time with a part.

# %%
L.build("12")

# %% [markdown]
# ## A rest
#
# The second sitting is about the other kinds of hooks, and about a weight that is stepped in the middle of a pass.
#
# ## Five hooks on one program: in which order are they called?
#
# Nodes take hooks as well. A *prehook* is called just before the node runs, as in lesson 04, and is told what the node will run on. A *hook* of the node is called just after, and is told what the node has made. And a leaf takes one more kind, the *post-accumulate* hook, which is named after its moment: the gradient has been added to `.grad`.
#
# ```python
# w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0)  # a parameter, and data
# y = w * x
# w.register_post_accumulate_grad_hook(A)
# y.register_hook(B)
# y.grad_fn.register_hook(C)
# w.register_hook(D)
# y.grad_fn.register_prehook(E)
# y.backward()
# ```
#
# **Predict.** In which order are they called? Five letters, such as `"ABCDE"`.

# %%
L.predict("12.p2", None)

# %% [markdown]
# `tell`, from the first cell, makes hooks that print their letter and everything that they are given.

# %% tags=["C12.4", "C12.6", "P20"]
w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0)
y = w * x
w.register_post_accumulate_grad_hook(tell("A", "post-accumulate hook of w"))
y.register_hook(tell("B", "hook of y"))
y.grad_fn.register_hook(tell("C", "hook of the node"))
w.register_hook(tell("D", "hook of w"))
y.grad_fn.register_prehook(tell("E", "prehook of the node"))
picture = draw(y)
y.backward()

# %% [markdown]
# Read it as a time line, from left to right, first at `y` and then at `w`:
#
# ```
# at y and its node:   B  →  E  →  the node runs  →  C
# at w:                D  →  .grad += …  →  A
# ```
#
# The picture was drawn before the pass. The letters say where each hook hangs:

# %%
picture

# %% [markdown]
# **Notice:**
#
# - Hooks of tensors stand on values: B below `y`, D and A below `w`. Hooks of nodes stand on nodes: E and C on node 1.
# - At both places the tensor's own hooks come first, B and D. The prehook E comes after B, and can still change what the node runs on.
# - A printed `tensor(3., requires_grad=True)`. That is `w` itself, and not its gradient. The gradient was in `w.grad` by then.
#
# ## What is a node's hook given, and what may it return?
#
# B and D were given one gradient, E and C were given tuples:
#
# | | is given | a tuple that it returns takes the place of |
# | --- | --- | --- |
# | prehook (E) | what came | what came: the node runs on it |
# | hook (C) | what goes on, one for each arrow (None for `x`, which is data); and what came | what goes on |
#
# In the cell below this happens to the gradient of `y`, from left to right (the slope of the node is `x`, which is 2):
#
# ```
# 1  →  · 2 (hook)  →  kept by retain_grad()  →  · 10 (prehook)  →  · 2 (the node)  →  + 0.5 (hook of the node)
# ```

# %% tags=["C12.4", "C12.5"]
v = torch.tensor(3.0, requires_grad=True)
y = v * x
y.retain_grad()
y.register_hook(lambda grad: grad * 2)
y.grad_fn.register_prehook(lambda came: (came[0] * 10,))
y.grad_fn.register_hook(lambda goes_on, came: (goes_on[0] + 0.5, None))
y.backward()
print("kept by y:", y.grad, "- v.grad is", v.grad)

# %% [markdown]
# ## Which hooks does `autograd.grad` call?
#
# The accumulator of `w`, the green box of the picture, is a node, too. So it takes a prehook and a hook, F and G. The parameter still has its hooks D and A:

# %% tags=["C12.4"]
y = w * x
accumulator = y.grad_fn.next_functions[0][0]
accumulator.register_prehook(tell("F", "prehook of the accumulator"))
accumulator.register_hook(tell("G", "hook of the accumulator"))
y.backward()

# %% [markdown]
# At `w` the whole order is D → F → `.grad += …` → A → G. That was `backward()`. Now we ask `autograd.grad` for the gradient of a result, `y`:

# %% tags=["C12.8"]
y = w * x
y.register_hook(tell("B", "hook of y"))
y.grad_fn.register_prehook(tell("E", "prehook of the node"))
y.grad_fn.register_hook(tell("C", "hook of the node"))
y.register_hook(lambda grad: grad * 2)
print(torch.autograd.grad(y * 5, y))

# %% [markdown]
# Both hooks of the tensor were called, B and the one behind it, which doubles. You are handed what they leave of the gradient: 10. The node of `y` does not run, so E and C are not called.
#
# Now we ask for the gradient of `w`, with a new `y` and `torch.autograd.grad(y, w)`.
#
# **Predict.** Which of the four hooks at `w` does it call: A, D, F or G? Answer with a list of letters, such as `["D", "F"]`.

# %%
L.predict("12.p5", None)

# %% tags=["C12.8", "P20"]
y = w * x
y.register_hook(tell("B", "hook of y"))
print(torch.autograd.grad(y, w))
print("and with backward(inputs=[w]):")
(w * x).backward(inputs=[w])

# %% [markdown]
# `autograd.grad` calls the hooks of the tensors that it passes, here B, and D, the hook of the tensor that it was asked for. It calls none of A, F and G, because it adds nothing to the `.grad` of a leaf: the accumulator does not run. With `backward(inputs=[w])` it runs, and all four are called.
#
# ## May a weight be stepped while the pass is still running?
#
# A post-accumulate hook can step its parameter at once, and let go of the gradient. Then no two layers of a chain hold a gradient at the same time. But is that write not too early? Other nodes have saved the weight, and perhaps they have not run yet (lesson 07).

# %% tags=["C12.7", "P20"]
def step_now(p):
    print("a .grad is held by", [name for name, q in weights.items() if q.grad is not None])
    p -= 0.1 * p.grad  # needs no no_grad(): an ordinary pass records nothing
    p.grad = None

weights = {"w1": torch.tensor(1.0, requires_grad=True), "w2": torch.tensor(2.0, requires_grad=True)}
handles = [p.register_post_accumulate_grad_hook(step_now) for p in weights.values()]
(weights["w2"] * (weights["w1"] * 3)).backward()
print(weights)  # w1 has moved by 0.1 * 6, and 6 is 3 times the old w2

# %% [markdown]
# No error, and `w1` moved by 0.1 · 6, where 6 is 3 times the *old* `w2`. The product saved `w2` for the gradient of its other factor, and it sends both gradients in one run. So when the hook of `w2` is called, the product has run.
#
# > **The rule.** When a post-accumulate hook of a weight is called, every node that sends this weight a gradient has run. In this pass they do not need the old weight any more.
#
# Other nodes may still want the old number. An example is a node that saved `w2.detach()`. It sends no gradient to `w2`, so the hook does not wait for it. If it runs after the step, the version check of lesson 07 stops the pass:

# %% tags=["C12.7"]
w1, w2 = weights.values()
late = (w1 * 3) * w2.detach()
with expect_error(RuntimeError, "modified by an inplace operation"):
    (w2 * late).backward()

# %% [markdown]
# **12.6 · Step during backward** (10 minutes). `parameters` is any iterable, such as `net.parameters()`. After `step_in_backward(torch, parameters, lr)`, each pass moves every parameter that it reaches by `-lr` times its gradient, and leaves `.grad` None. The parameters stay the same tensors. A second pass over a graph of the old weights must raise, as in lesson 07. Return the handles in a list. (All `.grad` are None at the beginning, and nobody passes `create_graph=True`.) The code below makes three mistakes.


# %%
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        handles.append(p.register_hook(lambda grad: p.sub_(lr * grad)))
    return handles


L.check("12.6", step_in_backward)

# %% [markdown]
# ## When does a wrong hook raise?
#
# A lambda returns its last value, so a one-line logger may hand back something without meaning to. And a hook may hang on the wrong tensor. Here are five wrong hooks; `x` and `f` are the leaf and the branch of `block`.
#
# ```python
# f.register_hook(lambda grad: grad.norm())                                       # A
# f.detach().register_hook(print)                                                 # B
# f.register_hook(lambda grad: norms.setdefault("f", grad.norm().item()))         # C
# f.register_post_accumulate_grad_hook(print)                                     # D
# x.register_post_accumulate_grad_hook(lambda p: p.grad / 2)                      # E
# ```
#
# **Predict.** Which of them raise already when they are registered? Answer with a list of letters, such as `["A", "E"]`.

# %%
L.predict("12.p9", None)

# %% tags=["C12.6", "C12.12", "P20"]
norms = {}
x, f, loss = block(lambda grad: grad.norm())  # A
with expect_error(RuntimeError, "has changed the size of value"):
    loss.backward()
with expect_error(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):  # B
    f.detach().register_hook(print)
x, f, loss = block(lambda grad: norms.setdefault("f", grad.norm().item()))  # C
with expect_error(TypeError, "expected Variable, but hook returned 'float'"):
    loss.backward()
with expect_error(RuntimeError, "cannot be registered on non-leaf tensors"):  # D
    f.register_post_accumulate_grad_hook(print)
x.register_post_accumulate_grad_hook(lambda p: p.grad / 2)  # E
with expect_error(RuntimeError, "Tensor post accumulate grad hooks should return None"):
    x.sum().backward()

# %% [markdown]
# Only B and D raised at registration: on these tensors no pass would ever call such a hook. What a hook returns is seen when the pass calls it. A returned a tensor of another shape, and C a number. E may not return anything at all: the gradient has been added, and there is nothing left to replace.

# %% [markdown]
# **12.1 · Which happens?** (7 minutes). In every program `x = torch.tensor([1.0, 2.0], requires_grad=True)` and `c = torch.tensor([0.0, 1.0])`. At the end `y.sum().backward()` is called, and somebody wants `x.grad` to be as in the last column. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and another `x.grad`).
#
# | | program | wanted |
# | --- | --- | --- |
# | A | `x.register_hook(print); y = x * 3` | `[3, 3]` |
# | B | `x.register_hook(lambda g: g.norm()); y = x * 3` | `[3, 3]` |
# | C | `h = x * 3; h.register_hook(lambda g: g.mul_(0)); y = (h + x) * 2` | `[2, 2]` |
# | D | `h = x * 1; h.register_hook(lambda g: g.clamp(max=1)); h.mul_(10); y = h * 1` | `[10, 10]` |
# | E | `h = x.detach() * 3; h.register_hook(print); y = h + x` | `[1, 1]` |
# | F | `x.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(c)); y = x * 3` | `[0, 3]` |
# | G | `with x.register_hook(lambda g: g * c): y = x * 3` | `[0, 3]` |
# | H | `h = x * 3; r = h * 1; r.register_hook(lambda g: -g); y = h * 2 + r` | `[3, 3]` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("12.1", happens)

# %% [markdown]
# **12.3 · Repair the logger** (8 minutes, optional: 12.7 asks for much the same, on layers). It should run the pass and return a dictionary, name to number: the norm of the gradient that *this pass* brings to each parameter.
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


L.check("12.3", gradient_norms)


# %% [markdown]
# ## A rest
#
# The third sitting finds the place where a NaN is born, and then is about modules.
#
# ## Where is a NaN born?
#
# We want the square root where x is positive, and 0 elsewhere. `where` picks, and the values are right. But the gradient has a NaN in it. In a large network you would see the NaN in a weight a thousand lines away.
#
# So we put a *guard* on each tensor, a hook that raises at the first gradient that is not finite. The pass stops at the source.
#
# ```python
# x = torch.tensor([4.0, 0.0], requires_grad=True)
# root = x.sqrt()
# y = torch.where(x > 0, root, 0.0)      # guards on x, root and y
# y.sum().backward()
# ```
#
# **Predict.** Which guard raises? Answer with `"y"`, `"root"` or `"x"`.

# %%
L.predict("12.p4", None)


# %% tags=["C12.13"]
def guard(name, tensor):
    def hook(grad):
        if not grad.isfinite().all():
            raise FloatingPointError(f"the gradient of {name} is {grad.tolist()}")
    return tensor.register_hook(hook)

x = torch.tensor([4.0, 0.0], requires_grad=True)
root = x.sqrt()
y = torch.where(x > 0, root, 0.0)
with guard("y", y), guard("root", root), guard("x", x):
    with expect_error(FloatingPointError, "the gradient of x is [0.25, nan]"):
        y.sum().backward()

# %% [markdown]
# The guards of `y` and of `root` were called before that of `x`, and did not raise. At `x` there is a NaN. So the node between `root` and `x` has made it. For the second number `where` sends it 0, and 0 / (2 · √0) is zero times an infinite slope. The cure is to keep the 0 away from the root, before it is taken.
#
# The guards are gone, because a `with` statement ends also with an error:

# %% tags=["C12.13"]
torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
print("the guards are gone:", x.grad)
safe = torch.where(x > 0, x, 1.0)
print("the 0 kept away:    ", torch.autograd.grad(torch.where(x > 0, safe.sqrt(), 0.0).sum(), x)[0])

# %% [markdown]
# Here is a longer chain. The feature `x` has the same value in both rows, and the 1e-5 is meant to prevent a division by 0:

# %%
x = torch.tensor([2.0, 2.0], requires_grad=True)
centred = x - x.mean()
variance = (centred * centred).mean()
spread = variance.sqrt()
y = centred / (spread + 1e-5)

# %% [markdown]
# **Predict.** All five have guards, and the pass begins at `(y * torch.tensor([1.0, 3.0])).sum()`. Which guard raises? Answer with its name, such as `"y"`.

# %%
L.predict("12.p10", None)

# %%
with guard("y", y), guard("spread", spread), guard("variance", variance), guard("centred", centred), guard("x", x):
    with expect_error(FloatingPointError, "the gradient of variance is nan"):
        (y * torch.tensor([1.0, 3.0])).sum().backward()

# %% [markdown]
# The guard of `spread` was called before, and did not raise. So it is the root again, and the 1e-5 belongs under it.
#
# One thing is missing before you take this guard home. `unbind` makes several results in one node. If this node runs, the hooks of all its results are called, also of one that was never used:

# %% tags=["C12.1"]
used, unused = x.unbind()
unused.register_hook(lambda grad: print("the hook of what nothing used gets", grad))
used.backward()

# %% [markdown]
# It is given None, because the node runs and no gradient has come to this result. Any hook on a piece of `unbind` or `split` must expect that. So the guard should ask `if grad is not None and not grad.isfinite().all()`.

# %% [markdown]
# ## What can you hang on a module?
#
# **Forward hooks** are called around the call of a module: by `net(x)`, and not by `net.forward(x)`. Such a hook is given the module, the tuple of arguments, and the output. This is how activations are read out of somebody else's network. `detach()` what you keep, or it keeps its whole graph.

# %% tags=["C12.9"]
relu, x, seen = torch.nn.ReLU(), torch.tensor([[1.0, -2.0]], requires_grad=True), {}
with relu.register_forward_hook(lambda module, args, out: seen.update(relu=out.detach())):
    relu.forward(x)
    print("after forward(x):", seen)
    relu(x)
    print("after the call:  ", seen)

# %% [markdown]
# What a forward hook returns takes the output's place, unless it is None. (`update` returns None.) A *pre-hook* is called before `forward` and may replace the arguments. Here are both, on `[1, -2]`:

# %% tags=["C12.9"]
with relu.register_forward_pre_hook(lambda module, args: -args[0]):
    with relu.register_forward_hook(lambda module, args, out: out * 10):
        print("both replaced:", relu(x))  # [1, -2], turned round, through the ReLU, times 10

# %% [markdown]
# ## Whose gradients does a hook of a module see?
#
# **Full backward hooks** are given the module and two tuples, `grad_input` and `grad_output`. In the program below `x` requires a gradient, and so does the layer's weight. Afterwards both have one in `.grad`.
#
# ```python
# layer = torch.nn.Linear(2, 1, bias=False)
# layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input, grad_output))
# layer(x).sum().backward()
# ```
#
# **Predict.** Whose gradients are in `grad_input`? Answer with a list that holds some of the names `"x"`, `"weight"` and `"output"`.

# %%
L.predict("12.p7", None)

# %% [markdown]
# In the second pass no input requires a gradient:

# %% tags=["C12.10"]
layer = torch.nn.Linear(2, 1, bias=False)
layer.weight = torch.nn.Parameter(torch.tensor([[5.0, 7.0]]))
layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input, grad_output))
layer(x).sum().backward()
with warnings.catch_warnings(record=True, action="always") as said:
    layer(x.detach()).sum().backward()
print("Warning:", str(said[0].message).split(". ")[0])

# %% [markdown]
# There is `[5, 7]` for `x`, and nothing for the weight. How does the hook get at these gradients? The call puts the module between two *identities*, custom Functions that return what they are given. Look for them in the picture, by their hooks.

# %% tags=["C12.10"]
inside = []
with layer.register_forward_hook(lambda module, args, out: inside.extend(args)):
    out = layer(x)
draw(out, names={"x": x, "inside": inside[0], "weight": layer.weight, "out": out}, detail=0)

# %% [markdown]
# **Notice:** nodes 1 and 4 are the identities. The first makes of `x` what the layer is given, `inside`. The second makes `out` of #3, and the layer's own nodes stand between them. The gradient of the weight travels by another arrow, from node 3 to node 2 and on to `weight`. It does not pass either of the identities, so a backward hook never sees it. If you want the gradient of a parameter, hang the hook on the parameter.
#
# The identities have a price, and the purple frames show it. `out` is a view: it shares memory with #3. And a view that a custom Function made may not be edited in place (lesson 08):

# %%
with expect_error(RuntimeError, "is a view and is being modified inplace"):
    out.mul_(2)

# %% [markdown]
# **12.2 · Diagnose** (6 minutes). Six bug reports about hooks. Which change cures each? Choose from `"bind the name"`, `"detach what you keep"`, `"remove the handle"`, `"return a new tensor"`, `"return None"`, `"register it later"`, `"hook the parameter"`, `"call the module"`. Two are not needed.
#
# - A "I log the norms of all gradients: `for n, p in net.named_parameters(): p.register_hook(lambda g: log.update({n: g.norm()}))`. After a pass there is one norm in `log`."
# - B "`layer.register_forward_hook(lambda m, args, out: outputs.append(out))`. After 200 batches the memory is full. The 200 tensors in `outputs` make up a hundredth of that."
# - C "`evaluate(net)` begins with `net.register_forward_hook(count)` and a count of 0. The same 50 batches are 50 in the first evaluation, 100 in the second, and 500 in the tenth."
# - D "`layer.weight.grad` explodes. So `layer.register_full_backward_hook(lambda m, gi, go: tuple(g.clamp(-1, 1) for g in gi))`. It explodes as before."
# - E "I collect features in the middle of a net: `middle.register_forward_hook(lambda m, args, out: features.setdefault(m, out.detach()))`. Since then the first half of the net does not learn."
# - F "`h.register_hook(check)`, and in the next line `h.mul_(4)`. By hand I get 2 for the `h` that the rest of the program reads. `check` prints 8."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("12.2", cures)

# %% [markdown]
# ## An old script hooks a module: whose gradient does it see?
#
# Scripts from before 2021, and many answers on the web, call `register_backward_hook`, without "full". It still exists, and PyTorch asks you not to use it.
#
# ```python
# class Square(torch.nn.Module):
#     def forward(self, x):
#         return (x * 3) ** 2
#
# def log(module, grad_input, grad_output):
#     print(grad_input[0])
#
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# square = Square()
# square.register_full_backward_hook(log)    # and then, on another Square, register_backward_hook(log)
# square(x).sum().backward()
# ```
#
# The output is 9x², and the module has one input: `grad_input[0]` should be the gradient of it. The old hook is older than the identities. It hangs on a single node: the one that made the module's result.
#
# **Predict.** What does `log` print with the full hook, and what with the old one? Answer with two lists of two numbers, the full hook first, such as `[[1, 2], [3, 4]]`.

# %%
L.predict("12.p3", None)


# %% tags=["C12.14"]
class Square(torch.nn.Module):
    def forward(self, x):
        return (x * 3) ** 2


def log(module, grad_input, grad_output):
    print("grad_input:", grad_input, " grad_output:", grad_output)


x = torch.tensor([1.0, 2.0], requires_grad=True)
square = Square()
square.register_full_backward_hook(log)
square(x).sum().backward()
square, x.grad = Square(), None
square.register_backward_hook(log)
with warnings.catch_warnings(record=True, action="always") as said:
    y = square(x)
y.sum().backward(retain_graph=True)
print("Warning:", str(said[0].message).split(". ")[0])
draw(y)

# %% [markdown]
# **Notice:**
#
# - The full hook got 18x, the gradient of the input. The old one got 6x. That is the slope of the *last* step, the square of 3x, by its own operand.
# - The picture shows where the old hook hangs: on node 2, the last one of the module. The product with 3, node 1, is out of its sight.
# - `grad_output` is the same with both.
#
# So the old hook is nothing but a hook of a node, like `y.grad_fn.register_hook`. With one more operation in the module it means something else, and there is only a warning. Even a single node may have other operands than you think. Here is a linear layer with a bias:

# %% tags=["C12.14", "C12.15"]
def shapes(module, grad_input, grad_output):
    print("gradients of shapes", [tuple(grad.shape) for grad in grad_input])


rows, linear = torch.ones(4, 2, requires_grad=True), torch.nn.Linear(2, 3)
linear.register_backward_hook(shapes)
with warnings.catch_warnings(action="ignore"):
    linear(rows).sum().backward()
with expect_error(RuntimeError, "Cannot use both regular backward hooks and full backward hooks"):
    linear.register_full_backward_hook(shapes)

# %% [markdown]
# The old hook is given three gradients: one for the bias, one for the rows, and one for the weight, transposed. The module has one input. Code such as `grad_input[0].norm()` therefore logs the norm of a *bias* under the name of the input. And a module takes one kind or the other.
#
# > **The rule.** `register_backward_hook` hangs on the last node of the module. Write `register_full_backward_hook`, and read old numbers with care.

# %% [markdown]
# **12.7 · Port an old script** (10 minutes). It should return, for each child of `net` by name, a pair of numbers: the norm of the gradient of the child's *input*, and that of its *output*, in one pass from `net(x).sum()`. The script is from 2018.
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


L.check("12.7", norms_by_layer)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/12_hooks/claims.py`).
#
# *When, and in which order*
#
# - **C12.1** A tensor's hooks are called once in a pass, with the whole sum of its gradient, or with None if its node runs and no gradient has come to it, in the order of registration; each gets what the one before returned, and None leaves the gradient as it is.
# - **C12.4** The order is: hooks of the tensor, retain_grad(), prehooks of its node, the node, hooks of the node; at a leaf: hooks of the tensor, prehooks of the accumulator, the accumulation, post-accumulate hooks, hooks of the accumulator.
# - **C12.8** autograd.grad calls the hooks of the tensors that it passes and of the one that it was asked for, and no post-accumulate hooks.
# - **C12.3** A hook that was registered before an in-place edit gets the gradient of the old value, while retain_grad() moves along and keeps that of the new one.
#
# *What a hook is given, and what it may return*
#
# - **C12.5** A node's prehook gets the gradients that came, as a tuple; its hook also gets those that go on, where an operation has None for an operand that needs none; a tuple that is returned takes the place of the first argument.
# - **C12.6** A post-accumulate hook gets the parameter and not the gradient, after the gradient was added to `.grad`, and it may not return the gradient.
# - **C12.12** A hook of a tensor must return None or a tensor of the gradient's shape; anything else raises at backward, not at registration.
# - **C12.11** A hook that changes its gradient in place can change what another tensor receives, without any error.
# - **C12.2** A hook changes what reaches everything behind its tensor; a branch whose own gradient is to be changed needs a tensor of its own.
# - **C12.7** A post-accumulate hook may step its parameter and clear `.grad` in the middle of a pass: the other gradients are those at the old parameters, and in a chain of layers only one parameter has a `.grad` at a time.
#
# *Modules and handles*
#
# - **C12.14** `register_backward_hook` hangs its hook on the node that made the module's result: it gets what this one node sends on, and of a linear layer with a bias that is three gradients, of bias, input and transposed weight.
# - **C12.15** A module takes full backward hooks or old ones, and not both.
# - **C12.9** A module's forward hook is called for `m(x)` and not for `m.forward(x)`, and a tensor that it returns takes the output's place.
# - **C12.10** A full backward hook gets the gradients of a module's inputs and outputs and none of its parameters'; when no input requires grad, it gets None for them.
# - **C12.13** A handle in a `with` statement takes its hook away at the end, also when the pass failed.
#
# **Which hook for what.** A gradient on its way, to log, clip, mask or turn round: `tensor.register_hook`. A parameter, when its gradient is there: `register_post_accumulate_grad_hook`. What goes into a layer or comes out of it: module hooks. A node whose result has no name: hooks of the node.
#
# **What PyTorch does differently.** A hook that names its own result is never freed there; our collector finds it. Left out here, and there in both: hooks that wait for several tensors (`torch.autograd.graph.register_multi_grad_hook`), and module hooks for all modules at once.
#
# **Read on in our engine:** `course_lib/engine/hooks.py`, a page, and `run_node_with_hooks` in `backward.py`.
#
# **Next:** [lesson 13](13_double_backward.ipynb), gradients of gradients. In a pass with `create_graph=True`, what a hook does is recorded like the rest.
