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
# **A hook is a function of yours that a backward pass, or a module, calls on its way. People use hooks to log gradients, to clip or mask them, to find where NaN begins, to step a weight as soon as its gradient is there. There are several kinds. When is each called, what is it given, and what happens to what it returns?**
#
# At the end you know their order, and why the most common hook of all, a clip in one line, can spoil the gradient of a neighbour. You can claim, with a cell that proves it:
#
# - **C12.1** A tensor's hooks are called once in a pass, with the whole sum of its gradient, in the order of registration; each gets what the one before returned, and None leaves the gradient as it is.
# - **C12.2** A hook changes what reaches everything behind its tensor; a branch whose own gradient is to be changed needs a tensor of its own.
# - **C12.3** A hook that was registered before an in-place edit gets the gradient of the old value, while retain_grad() moves along and keeps that of the new one.
# - **C12.4** The order is: hooks of the tensor, retain_grad(), prehooks of its node, the node, hooks of the node; at a leaf: hooks of the tensor, prehooks of the accumulator, the accumulation, post-accumulate hooks, hooks of the accumulator.
# - **C12.5** A node's prehook gets the gradients that came, as a tuple; its hook also gets those that go on, where an operation has None for an operand that needs none; a tuple that is returned takes the place of the first argument.
# - **C12.6** A post-accumulate hook gets the parameter and not the gradient, after the gradient was added to `.grad`, and it may not return the gradient.
# - **C12.7** A post-accumulate hook may step its parameter and clear `.grad` in the middle of a pass: the other gradients are those at the old parameters, and in a chain of layers only one parameter has a `.grad` at a time.
# - **C12.8** autograd.grad calls the hooks of the tensors that it passes and of the one that it was asked for, and no post-accumulate hooks.
# - **C12.9** A module's forward hook is called for `m(x)` and not for `m.forward(x)`, and a tensor that it returns takes the output's place.
# - **C12.10** A full backward hook gets the gradients of a module's inputs and outputs and none of its parameters'; when no input requires grad, it gets None for them.
# - **C12.11** A hook that changes its gradient in place can change what another tensor receives, without any error.
# - **C12.12** A hook of a tensor must return None or a tensor of the gradient's shape; anything else raises at backward, not at registration.
# - **C12.13** A handle in a `with` statement takes its hook away at the end, also when the pass failed.
#
# **Minutes** 60; exercises 12.5 and 12.6 are an optional second sitting of 18 · **Needs** lessons 00, 04, 05, 07, 11 · **Opens** `course_lib/engine/backward.py` · **Out of scope** hooks on saved tensors (lesson 14), second derivatives (lesson 13)

# %%
import course_lib as torch
import warnings

from course_lib.teach import draw, expect_error, explain, lesson, show, step

L = lesson(12)


def tell(name):
    return lambda *given: print(f"{name}:", *given)  # a hook that prints its name and what it is given

# %% [markdown]
# ## Question
#
# ```python
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# f = x * 3      # a branch ...
# out = x + f    # ... and a connection around it, as in every residual network
# loss = (out * torch.tensor([1.0, 2.0])).sum()
# f.register_hook(lambda grad: grad.clamp(-0.5, 0.5))
# loss.backward()
# ```
#
# Lessons 03 to 05 used hooks to look. This one returns something: the gradient, cut off at ±0.5. Somebody wants to tame the branch.
#
# ## Predict
#
# Without the hook, `x.grad` is `[4, 8]`. What is it with the hook? A list of two numbers.

# %%
L.predict("12.p1", None)

# %% [markdown]
# ## Run
#
# The same as a function, so that the hook can be changed. The first hook prints, and `print` returns None.


# %%
def block(hook):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f = x * 3
    out = x + f
    loss = (out * torch.tensor([1.0, 2.0])).sum()
    f.register_hook(hook)
    return x, f, loss


for hook in (print, lambda grad: grad.clamp(-0.5, 0.5)):
    x, f, loss = block(hook)
    loss.backward()
    print("x.grad is", x.grad)

# %% [markdown]
# ## See
#
# Once more, one node at a time. Hooks have no box in this picture; look for them in the words of step 4.

# %%
x, f, loss = block(lambda grad: grad.clamp(-0.5, 0.5))
step(loss)

# %% [markdown]
# **Notice:**
#
# - Node 1 is the product, and its result is `f`. Node 2 is the addition.
# - In step 3 the addition sends `[1, 2]` along both arrows. One leads past node 1 to `x`, where no hook waits.
# - In step 4 node 1 is about to run. First the hook of its result is called: it makes `[0.5, 0.5]` of `[1, 2]`. *Then* the node multiplies by 3.
# - So `x` gets `[1, 2]` + `[1.5, 1.5]` in step 5.
#
# ## Explain
#
# **Once, with everything, one after the other.** `h` below is used twice, so two gradients come back to it. The pass adds them, as in lesson 04, and then calls the hooks of `h`, once. The first registered is the first called, and each is given what the one before returned. None means: leave it as it is. What remains at the end is what the node of `h` runs on.

# %% tags=["C12.1"]
x = torch.tensor(2.0, requires_grad=True)
h = x * 3
h.register_hook(lambda grad: print("the first hook gets", grad))  # returns None
h.register_hook(lambda grad: grad * 10)
h.register_hook(lambda grad: print("the third hook gets", grad))
(h + h * 4).backward()
print("x.grad is", x.grad)

# %% [markdown]
# **It changes everything behind it.** *Gradient reversal*: two heads, the last parts of a network, read the features `h`. They should serve the first and mislead the second. (That is how a network learns not to see which camera took a picture.) The gradient from the second is turned round. A hook on `h` turns the sum of both, 5 + 3. A branch that is to be changed alone needs a tensor of its own; times one is enough.

# %% tags=["C12.2"]
w = torch.tensor(1.0, requires_grad=True)
for own in (False, True):
    w.grad, h = None, w * 2
    r = h * 1 if own else h  # what the second head reads
    r.register_hook(lambda grad: -grad)
    (h * 5 + r * 3).backward()  # the losses of the two heads
    print("a tensor of its own:", own, "- w.grad is", w.grad)

# %% [markdown]
# **It stays with the value.** A hook on a result is kept by the node that made it. An in-place edit gives the tensor a new node (lesson 07), and the hook stays behind with the old one: it gets the gradient of the *old* value, which the ReLU below has masked. `retain_grad()` asks for the gradient of the tensor as it is in the end, and moves along. A leaf keeps its hooks itself, for every pass.

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
# ## Question
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
# Nodes take hooks as well: a prehook is called just before the node runs, as in lesson 04, and a hook just after. And a leaf takes one more kind, named after the moment at which it is called.
#
# ## Predict
#
# In which order are they called? Five letters, such as `"ABCDE"`.

# %%
L.predict("12.p2", None)

# %% [markdown]
# ## Run
#
# `tell`, at the top of this notebook, makes hooks that print their name and all that they are given. The accumulator of `w`, the green box of the pictures, is a node as well; it gets the two hooks of a node, too.

# %% tags=["C12.4", "C12.6", "P20"]
w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0)
y = w * x
box = y.grad_fn.next_functions[0][0]
box.register_hook(tell("  hook of the accumulator"))
box.register_prehook(tell("  prehook of the accumulator"))
w.register_post_accumulate_grad_hook(tell("A post-accumulate hook of w"))
y.register_hook(tell("B hook of y"))
y.grad_fn.register_hook(tell("C hook of the node"))
w.register_hook(tell("D hook of w"))
y.grad_fn.register_prehook(tell("E prehook of the node"))
picture = draw(y)
y.backward()

# %% [markdown]
# ## See

# %%
picture

# %% [markdown]
# **Notice:**
#
# - Hooks of tensors stand on values, hooks of nodes on nodes. B and D were given one gradient, C and E tuples.
# - At each place the tensor's own hooks come first, B and D: they decide what the gradient is. Then the node, or the accumulator, works on it, with a prehook before and a hook behind.
# - A printed `tensor(3., requires_grad=True)`. That is `w`, and not its gradient, which was in `w.grad` by then.
#
# ## Explain
#
# **A node's hooks.** C is given two tuples: what goes on, one gradient for each arrow (None for `x`, which is data), and what came. A tuple from C takes the place of the first; one from E, that of what came. Below, the gradient 1 is doubled, kept by `retain_grad()`, multiplied by 10 and, behind the node, raised by a half. `autograd.grad` calls hooks on its way, also D, but not A: it fills no `.grad`. `backward(inputs=[w])` does.

# %% tags=["C12.4", "C12.5", "C12.8", "P20"]
w.grad, y = None, w * x  # w still has its hooks, and the new y has none
y.retain_grad()
y.register_hook(lambda grad: grad * 2)
y.grad_fn.register_prehook(lambda came: (came[0] * 10,))
y.grad_fn.register_hook(lambda goes_on, came: (goes_on[0] + 0.5, None))
print(torch.autograd.grad(y, w), "- kept by y:", y.grad, "- kept by w:", w.grad)
(w * x).backward(inputs=[w])

# %% [markdown]
# **A step in the middle of the pass.** A post-accumulate hook can step at once and let the gradient go. So no two layers of a chain hold a gradient at once: that saves nearly the weights' memory. Is the write too early (lesson 07)? A node that kept `w2`, as a factor, also sends a gradient to `w2`. That gradient was complete, so these nodes have run. (One that kept `w2.detach()` sends none; if it runs later, it raises.)

# %% tags=["C12.7", "P20"]
def step_now(p):
    print("a .grad is held by", [name for name, q in weights.items() if q.grad is not None])
    p -= 0.1 * p.grad  # a pass records nothing, so no_grad is not needed
    p.grad = None

weights = {"w1": torch.tensor(1.0, requires_grad=True), "w2": torch.tensor(2.0, requires_grad=True)}
handles = [p.register_post_accumulate_grad_hook(step_now) for p in weights.values()]
(weights["w2"] * (weights["w1"] * 3)).backward()
print(weights)  # w1 has moved by 0.1 * 6, and 6 is 3 times the old w2

# %% [markdown]
# **Modules: forward hooks.** They are called around the call of a module: by `net(x)`, not by `net.forward(x)`. One is given the module, the tuple of arguments, and the output. So activations are read out of another's network; `detach()` what you keep, or it keeps its graph. What a hook returns takes the output's place, unless it is None. (`update` returns None. Does `setdefault`?) A *pre-hook* may replace the arguments. Registering gives a *handle*; `with` removes the hook at the end.

# %% tags=["C12.9"]
relu, x, seen = torch.nn.ReLU(), torch.tensor([[1.0, -2.0]], requires_grad=True), {}
with relu.register_forward_hook(lambda module, args, out: seen.update(relu=out.detach())):
    relu.forward(x)
    print("after forward(x):", seen)
    relu(x)
    print("after the call:  ", seen)
with relu.register_forward_pre_hook(lambda m, args: -args[0]), relu.register_forward_hook(lambda m, args, out: out * 10):
    print("both replaced:  ", relu(x))

# %% [markdown]
# **Modules: full backward hooks.** For these the module puts itself between two identities, custom Functions: nodes 1 and 4 below. There it picks up the gradients that go on to the inputs and those that came to the output. The weight's travels by another arrow (3, 2, `weight`); a hook of the parameter sees it. A tuple that is returned takes the place of `grad_input`. If no input requires grad, that holds None, with a warning.

# %% tags=["C12.10"]
layer = torch.nn.Linear(2, 1, bias=False)
layer.weight = torch.nn.Parameter(torch.tensor([[5.0, 7.0]]))
layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input, grad_output))
layer(x).sum().backward()
with warnings.catch_warnings(record=True, action="always") as said:
    layer(x.detach()).sum().backward()
print("Warning:", str(said[0].message).split(". ")[0])
draw(layer(x), names=layer)

# %% [markdown]
# **Now open our engine.** The end of every path: a leaf, and half of what you saw in Run. `variable` is the leaf, `meta.hooks` are its own hooks, `node.hooks` those of its accumulator. `is_needed` is false when `autograd.grad` wants just this gradient: then it is put aside (`capture`), and that is all. Other nodes with hooks go through `run_with_care`, above it in the same file; nodes without hooks do not pay for any of this.

# %% tags=["engine"]
show("engine.backward.run_leaf")

# %% [markdown]
# ## Break it
#
# **One character too many.** The block from the beginning, with `clamp` and with `clamp_`. The second writes into the gradient that it is given, and the addition had sent this very tensor along both arrows: what was meant for the branch is cut off for the connection as well. No error; 2.5 and 3.5 have become 2. The rule: a hook may return another gradient, and may not change the one it is given. (Right behind a `sum()` the write would be refused: that gradient is one number, repeated.)
#
# **What is no gradient.** A lambda returns its last value, so a one-line logger may hand back a number without meaning to. It is found when the pass calls the hook. Before that, nothing is checked but this: a tensor that requires no grad takes no hook, for nobody would ever call it.

# %% tags=["C12.11", "C12.12"]
for hook in (lambda grad: grad.clamp(-0.5, 0.5), lambda grad: grad.clamp_(-0.5, 0.5)):
    x, f, loss = block(hook)
    loss.backward()
    print("x.grad is", x.grad)
with x.register_hook(lambda grad: grad.mul_(2)), expect_error(RuntimeError, "more than one element of the written-to"):
    x.sum().backward()
with expect_error(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):
    f.detach().register_hook(print)
x, f, loss = block(lambda grad: seen.setdefault("f", grad.norm().item()))
with expect_error(TypeError, "expected Variable, but hook returned 'float'"):
    loss.backward()
explain(loss)

# %% [markdown]
# **Where does NaN begin?** The root is wanted of positive numbers only, `where` sees to that, and the values are fine. The gradient is not. A guard on each tensor raises at the first number that is not finite, and so stops the pass at the source: `root` got 1 and 0, `x` gets NaN. So the node between them made it: 0 / (2 · √0). The cure keeps the 0 away from the root.
#
# What a hook raises comes out of `backward()`, and what had run stays done (lesson 04). The hooks would stay, too. `handle.remove()` takes one away; in a `with` statement that happens at the end, error or not.
#
# **And the other kind.** The last hook takes its argument for a gradient and wants to return half of it. It was given the parameter, and there is nothing left to replace: the gradient has been added. It may write to `p.grad` and return nothing. (The parameter itself may come back, so `lambda p: p.sub_(0.1 * p.grad)` is let through.)
#
# **Two surprises.** Behind a module with a full backward hook in-place edits are refused (lesson 08): its output is a view that a custom Function made. And a hook can be given None. `unbind` makes several results in one node. If that node runs, the hooks of all its results are called, also of one that nothing has used.

# %% tags=["C12.6", "C12.13", "P20"]
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

# %%
torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
print("the guards are gone:", x.grad)
safe = torch.where(x > 0, x, 1.0)
print("the 0 kept away:    ", torch.autograd.grad(torch.where(x > 0, safe.sqrt(), 0.0).sum(), x)[0])
with expect_error(RuntimeError, "is a view and is being modified inplace"):
    layer(x).mul_(2)
used, unused = x.unbind()
unused.register_hook(lambda grad: print("the hook of what nothing used gets", grad))
used.backward()
x.register_post_accumulate_grad_hook(lambda p: p.grad / 2)
with expect_error(RuntimeError, "Tensor post accumulate grad hooks should return None"):
    x.sum().backward()

# %% [markdown]
# ## Exercises
#
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
#
# **12.2 · Diagnose** (6 minutes; the second cell below). Six bug reports about hooks. Which change cures each? Choose from `"bind the name"`, `"detach what you keep"`, `"remove the handle"`, `"return a new tensor"`, `"return None"`, `"register it later"`, `"hook the parameter"`, `"call the module"`. Two are not needed.
#
# - A "I log all gradient norms: `for name, p in net.named_parameters(): p.register_hook(lambda g: norms.update({name: g.norm()}))`. The log has one line, that of the last parameter."
# - B "I keep a layer's output of every batch with `lambda m, args, out: kept.append(out)`. Memory fills up, and by much more than these outputs."
# - C "Every evaluation begins with `net.register_forward_hook(count)`. In the tenth, each batch is counted ten times."
# - D "To keep one layer's weight from large gradients, a full backward hook of the layer returns clamped gradients. Those of the weight are as large as before."
# - E "I keep features with `lambda m, args, out: kept.setdefault(m, out.detach())`. Since then the layers in front of `m` have no gradients."
# - F "`h.register_hook(check)`, then `h.mul_(scale)`. What `check` sees is `scale` times too large."

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("12.1", happens)

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("12.2", cures)

# %% [markdown]
# **12.3 · Repair the logger** (8 minutes). It should run the pass and return the norm of the gradient that *this pass* brings to each parameter: a dictionary, name to number, without those that no gradient reaches. Some parameters may be frozen, or have a `.grad` already. The gradients must be added to `.grad` as ever, and for everybody else the pass should be as `loss.backward()` alone. Afterwards the caller's own hooks are still there and yours are gone, also if the pass fails; its error goes to the caller. (`model.named_parameters()` gives pairs of name and parameter. A function that is made in a loop looks names up when it is *called*.)
#
# **12.4 · Reverse one branch** (8 minutes; the second cell below). Write `turn_round(torch, h, strength)`. It returns a tensor with the values of `h`, in memory of its own, for the head that is to be misled. When a gradient comes back to that tensor, `-strength` times as much goes on to `h`; with `create_graph=True` that must be recorded like the rest. Whatever else is computed from `h`, or added to your tensor, must not notice. In evaluation `h` may require no grad.


# %%
def gradient_norms(torch, model, loss):
    norms = {}
    for name, p in model.named_parameters():
        p.register_hook(lambda grad: norms.setdefault(name, grad.norm().item()))
    loss.backward()
    return norms


L.check("12.3", gradient_norms)


# %%
def turn_round(torch, h, strength):
    ...


L.check("12.4", turn_round)

# %% [markdown]
# **A second sitting.** Two hooks that people take home.
#
# **12.5 · Freeze some rows** (8 minutes). Of an embedding's table, some rows were trained before and are to stay. `rows` is a list of their numbers. With your hook a pass must bring exactly 0 to these rows, even where the gradient is infinite or NaN, and to the others what it always did. What is in `.grad` already stays, and so do the gradients of all other tensors. Return the handle. The code below was posted as working.
#
# **12.6 · Step during backward** (10 minutes; the second cell below). After `step_in_backward(torch, parameters, lr)`, each pass moves every parameter that it reaches by `-lr` times its gradient, and leaves `.grad` None. The parameters stay the same tensors. A second pass over a graph of the old weights must raise, as in lesson 07. Return the handles in a list. (All `.grad` are None at the beginning.) The code below makes three mistakes.


# %%
def freeze_rows(torch, weight, rows):
    def hook(grad):
        grad[rows] = 0
        return grad

    return weight.register_hook(hook)


L.check("12.5", freeze_rows)


# %%
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        handles.append(p.register_hook(lambda grad: p.sub_(lr * grad)))
    return handles


L.check("12.6", step_in_backward)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C12.1 once, in order, each with what the last returned | 5, then 50, and 150 | `test_c12_1` |
# | C12.2 everything behind, or one branch | -16, then 4 | `test_c12_2` |
# | C12.3 it stays with the value | masked before, whole after | `test_c12_3` |
# | C12.4 the order | B, E, C, D, A and three more | `test_c12_4` |
# | C12.5 what nodes' hooks are given and return | 40.5, and 2 kept by y | `test_c12_5` |
# | C12.6 the parameter, not the gradient | `requires_grad=True`; an error | `test_c12_6` |
# | C12.7 a step in the pass | 1.7 and 0.4, one `.grad` at a time | `test_c12_7` |
# | C12.8 `autograd.grad` | D was called, A was not | `test_c12_8` |
# | C12.9 forward hooks | empty, kept, replaced | `test_c12_9` |
# | C12.10 full backward hooks | 5 and 7 for the input, 1 for the output; then None | `test_c12_10` |
# | C12.11 in place | 2 for 2.5 and 3.5 | `test_c12_11` |
# | C12.12 what is no gradient | two errors, one at backward | `test_c12_12` |
# | C12.13 handles | nobody stops the second pass | `test_c12_13` |
#
# The tests are in `tests/claims/test_claims_12.py`. They run on our engine and on real PyTorch.
#
# **Which hook for what.** A gradient on its way, to log, clip, mask, turn round: `tensor.register_hook`. A parameter, when its gradient is there: `register_post_accumulate_grad_hook`. What goes into a layer or comes out of it: module hooks. A node whose result has no name: hooks of the node.
#
# **What PyTorch does differently.** A hook that refers to its own result, as in `h.register_hook(lambda g: g * h)`, makes a ring. Our collector finds it; in PyTorch that memory is never freed. Refer to `h.detach()`. On both, an `autograd.grad` that is asked for `h` and for something behind it gives the gradient of `h` from *before* its hooks. Left out here, and there in both: hooks that wait for several tensors (`torch.autograd.graph.register_multi_grad_hook`), and module hooks for all modules at once.
#
# **Read next in our engine:** `course_lib/engine/hooks.py`, a page, and `run_with_care` in `backward.py`. **Next:** lesson 13, gradients of gradients. In a pass with `create_graph=True` what a hook does is recorded like the rest.
