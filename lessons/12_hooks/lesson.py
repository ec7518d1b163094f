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
# **One branch of your network has gradients that explode. You add a hook that cuts them off, a single line, and the branch is quiet. But now the rest of the network hardly learns, although your line never mentions it. You delete the line, and everything learns again.**
#
# A *hook* is a function of yours that the backward pass calls, or a module. With hooks people log gradients, clip them, set some to 0, or find the place where a NaN is born. There are several kinds, and three questions about each: when is it called, what is it given, and what happens to what it returns?
#
# After this lesson you can
#
# - choose the right kind of hook for a purpose, and say when it will be called;
# - change a gradient on its way without changing anybody else's;
# - find the operation that made the first NaN;
# - repair the hook in the story, and say what its author overlooked.
#
# **Minutes** 89, of which 8 are for your own engine; and 25 for more exercises · **Needs** lessons 00, 04, 05, 07 and 11 · **Out of scope** the older hooks of modules (part [12b](12b_old_hooks.ipynb)), hooks on saved tensors (lesson 14), second derivatives (lesson 13)
#
# [← 11 Custom Functions](11_custom_functions.ipynb) · [all lessons](home.ipynb) · [13 Double backward →](13_double_backward.ipynb)

# %%
import course_lib as torch
from backscope import draw, step
from coursekit import lesson, show

L = lesson(12)
tell = L.stage.tell

# %%
L.stage.story(torch)

# %% [markdown]
# This is the story, small: one weight in the branch, and one in front of it.
#
# ## What does a hook on one branch do to the others?
#
# Here is one pass, with numbers to check by hand. `x` stands for what comes from the front of the network, and `f` is the branch. The connection around it leads straight from `x` to `out`.

# %%
def block(hook):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f = x * 3
    out = x + f
    loss = (out * torch.tensor([1.0, 2.0])).sum()
    f.register_hook(hook)
    return x, f, loss


def gradient(hook):
    x, f, loss = block(hook)
    loss.backward()
    print("x.grad is", x.grad)


gradient(print)

# %% [markdown]
# The first hook is `print` itself. It is given the gradient of `f`. It returns None, and None means: leave the gradient as it is.
#
# A hook may also return another gradient. We try `lambda grad: grad.clamp(-0.01, 0.01)`, which returns the gradient cut off at ±0.01.
#
# **Predict.** Without the hook, `x.grad` is `[4, 8]`. What is it with this hook? Answer with a list of two numbers.

# %%
L.predict("12.p1", None)

# %%
L.run(gradient, lambda grad: grad.clamp(-0.01, 0.01), after="12.p1")

# %% [markdown] tags=["tells"]
# The branch's part was cut, and the connection's part was not: 1 + 0.03 and 2 + 0.03.

# %% [markdown]
# Here is the same pass one node at a time, from step 3 on. Look for the hook in step 4.

# %%
def stepped(hook):
    x, f, loss = block(hook)
    return step(loss).part(3, 5)


L.run(stepped, lambda grad: grad.clamp(-0.01, 0.01), after="12.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - Node 1 is the product, and its result is `f`. Node 2 is the addition.
# - In step 3 the addition sends `[1, 2]`, the same tensor, along both of its arrows. One of them leads past node 1 to `x`, and there is no hook on this way.
# - In step 4 it is the turn of node 1. First the hook of its result is called: it makes `[0.01, 0.01]` of `[1, 2]`. *Then* the node multiplies by 3.
# - So `x` gets `[1, 2]` + `[0.03, 0.03]` in step 5. This hook is right: it changes what its own branch sends on, and nothing else.
#
# > **The rule.** A hook on a result is called before the node of this result runs, and can change what goes on from there.

# %% [markdown]
# ## So what was wrong in the story?
#
# The line of the story differs by a single character: `f.register_hook(lambda grad: grad.clamp_(-0.01, 0.01))`. Both hooks return the same numbers.
#
# **Predict.** What is `x.grad` with this line? Answer with a list of two numbers.

# %%
L.predict("12.p2", None)

# %% tags=["C12.11"]
L.run(gradient, lambda grad: grad.clamp_(-0.01, 0.01), after="12.p2")
L.run(stepped, lambda grad: grad.clamp_(-0.01, 0.01), after="12.p2")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - In step 3 the addition sends one tensor along *both* of its arrows. The box of `x` holds it.
# - In step 4 look at the brown words in the box of `x`. `clamp_` writes into the gradient that it is given: this very tensor. So it is `[0.01, 0.01]` there, too, and the node adds its 0.03 to that.
# - In step 5 `x` gets `[0.04, 0.04]`: the connection was cut off with the branch. There was no error.
#
# > **The rule.** A hook may return another gradient. It may not change the one that it is given.

# %% [markdown]
# Here is the story again, with a third curve: `clamp` in place of `clamp_`.

# %%
L.run(L.stage.story, torch, True, after="12.p2")

# %% [markdown] tags=["tells"]
# The branch is held back, as its author wanted, and what stands in front of it learns again.

# %% [markdown]
# ## A tensor is used twice: how often is its hook called?
#
# `h` below is used twice, so two gradients come back to it. And it has three hooks.

# %% tags=["C12.1"]
x = torch.tensor(2.0, requires_grad=True)
h = x * 3
h.register_hook(lambda grad: print("the first hook gets", grad))
h.register_hook(lambda grad: grad * 10)
h.register_hook(lambda grad: print("the third hook gets", grad))
(h + h * 4).backward()
print("x.grad is", x.grad)

# %% [markdown]
# Each hook was called once, with the sum 1 + 4 = 5. The engine adds up all that arrives, as in lesson 04, and only then calls the hooks, in the order of registration. Each is given what the one before it left. The node of `h` runs on the last: 3 times 50 reaches `x`.
#
# > **The rule.** The hooks of a tensor are called once in a pass, one after the other, with the whole sum. What a hook returns takes the gradient's place; None leaves it as it is.
#
# ## Does a hook follow its tensor through an in-place edit?
#
# A hook on a result is kept by the node that made the result. A `retain_grad()` belongs to the tensor. And an in-place edit gives the tensor a new node (lesson 07).

# %%
def through_an_edit():
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    h = x * 3
    h.register_hook(lambda grad: print("registered before:", grad))
    h.retain_grad()
    h.relu_()
    h.register_hook(lambda grad: print("registered after: ", grad))
    h.sum().backward()
    print("h.grad:           ", h.grad)

# %% [markdown]
# **Predict.** What is the first hook given, what the second, and what is `h.grad`? Answer with three lists of two numbers, such as `[[1, 2], [3, 4], [5, 6]]`.

# %%
L.predict("12.p3", None)

# %% tags=["C12.3"]
L.run(through_an_edit, after="12.p3")

# %% [markdown] tags=["tells"]
# The first hook stays with the old node. It is given the gradient of the *old* value, which the ReLU has masked. `retain_grad()` asks for the gradient of the tensor as it is in the end, and moves along.

# %% [markdown]
# On a *view* it is worse. An edit gives the view a new node on a new way back (lesson 08), and its old node is not on this way:

# %% tags=["C12.3"]
part = (torch.ones(2, requires_grad=True) * 3)[:1]
part.register_hook(lambda grad: print("registered before:", grad))
part.mul_(2)
part.register_hook(lambda grad: print("registered after: ", grad))
part.sum().backward()

# %% [markdown]
# The first hook was not called at all. Register hooks after the last edit.

# %% [markdown]
# ## Can a hook change one of two branches?
#
# Suppose two *heads*, the last parts of a network, read the same features `h`. The first names what is in a picture. The second names the camera that took it, and the features should tell it as little as possible. In **gradient reversal**, the gradient that comes back from the second head changes its sign. Here the first head sends 5, and the second sends 3. We hang the hook on `h` itself, and then on a tensor of the second head's own, `h * 1`:

# %% tags=["C12.2"]
def turn(grad):
    return -grad


def heads(own):
    w = torch.tensor(1.0, requires_grad=True)
    h = w * 2
    r = h * 1 if own else h
    r.register_hook(turn)
    loss = h * 5 + r * 3
    loss.backward(retain_graph=True)  # the picture comes afterwards
    print("w.grad is", w.grad)
    return draw(loss, detail=0)


L.run(heads, False)
L.run(heads, True)

# %% [markdown]
# **Notice:** in the first picture both arrows meet at node 1, so `turn` gets the sum and returns −(5 + 3), and the node multiplies by 2. In the second picture `turn` is on one of the two ways, and 5 − 3 = 2 arrives at `h`.
#
# ### Exercise: reverse one branch
#
# **12.1 · Reverse one branch** (8 minutes). Write `turn_round(torch, h, strength)`. It returns a tensor `r` with the values of `h` in memory of its own, for the head that is to be misled.
#
# - When a gradient comes back to `r`, `-strength` times as much goes on to `h`. Do not cut its history: lesson 13 will need it.
# - What else is computed from `h` gets its ordinary gradient. So does `z`, if somebody computes `r + z`.
# - In evaluation `h` may require no grad.


# %%
def turn_round(torch, h, strength):
    ...


L.check("12.1", turn_round)

# %% [markdown]
# ## Build your own engine: hooks of tensors
#
# This is how our engine calls a tensor's hooks, of a result or of a leaf:

# %% tags=["engine"]
show("engine.hooks.call_tensor_hooks")

# %% [markdown]
# Yours needs seven lines. The hooks of a result belong to the node that made it. Those of a leaf are kept by the leaf itself, and its accumulator reads them there: an accumulator lives only as long as a graph holds it (lesson 05). In `my_engine.py`:
#
# 1. Give `Tensor` and `Node` a list `hooks`, let `AccumulateGrad` use the list of its leaf, and write `register_hook` (it need not return anything).
# 2. In the loop of `run_backward`, just before the node runs, call its hooks with the whole sum, one after the other. What a hook returns takes the gradient's place, unless it is None.
#
# The usual slip is to call the hooks when a gradient *arrives*. Then a tensor that is used twice has its hook called twice, each time with a part.

# %%
L.build("12")

# %% [markdown]
# ## Five hooks on one program: in which order are they called?
#
# Nodes take hooks as well. A *prehook* is called just before the node runs. A *hook* of the node is called just after, and is also given what the node has made. And a leaf takes one more kind, the *post-accumulate* hook, named after its moment: the gradient has been added to `.grad`. `tell` makes hooks that print their letter and what they are given.

# %%
def five():
    w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0)
    y = w * x
    w.register_post_accumulate_grad_hook(tell("A", "post-accumulate hook of w"))
    y.register_hook(tell("B", "hook of y"))
    y.grad_fn.register_hook(tell("C", "hook of the node"))
    w.register_hook(tell("D", "hook of w"))
    y.grad_fn.register_prehook(tell("E", "prehook of the node"))
    picture = draw(y)
    y.backward()
    return picture

# %% [markdown]
# **Predict.** In which order are they called? Five letters, such as `"ABCDE"`.

# %%
L.predict("12.p4", None)

# %% tags=["C12.6", "P20"]
L.run(five, after="12.p4")

# %% [markdown] tags=["tells"]
# **Notice:** the picture was drawn before the pass. Hooks of tensors stand on values: B below `y`, D and A below `w`. Hooks of nodes stand on nodes: E and C on node 1. The hook of a tensor comes first at both: B before the node, D before the accumulator. And A printed `tensor(3., requires_grad=True)`. That is `w` itself, and not its gradient, which was in `w.grad` by then.
#
# The hooks of this lesson, in the order in which they are called, with what each is for:

# %% tags=["C12.4"]
L.run(L.stage.order, after="12.p4")

# %% [markdown] tags=["tells"]
# **Which hook for what?** Most often you want `tensor.register_hook`, for a gradient on its way, or `register_post_accumulate_grad_hook`, for a parameter whose gradient is there. Hooks of nodes are for results that have no name.

# %% [markdown]
# ## What is a node's hook given, and what may it return?
#
# | | is given | a tuple that it returns takes the place of |
# | --- | --- | --- |
# | prehook | what came, a tuple | what came: the node runs on it |
# | hook | what goes on, one for each arrow (None for data); and what came | what goes on |
#
# In the cell below this happens to the gradient of `y`, from left to right (the slope of the node is `x`, which is 2):
#
# ```
# 1  →  · 2 (hook)  →  kept by retain_grad()  →  · 10 (prehook)  →  · 2 (the node)  →  + 0.5 (hook of the node)
# ```

# %% tags=["C12.5"]
v = torch.tensor(3.0, requires_grad=True)
y = v * torch.tensor(2.0)
y.retain_grad()
y.register_hook(lambda grad: grad * 2)
y.grad_fn.register_prehook(lambda came: (came[0] * 10,))
y.grad_fn.register_hook(lambda goes_on, came: (goes_on[0] + 0.5, None))
y.backward()
print("kept by y:", y.grad, "- v.grad is", v.grad)

# %% [markdown]
# ## Which hooks does `autograd.grad` call?
#
# `autograd.grad(y, w)` gives you the gradient of `w`, and writes no `.grad`. Here `w` has a hook D and a post-accumulate hook A. Its accumulator is a node, too, and has a prehook F and a hook G.

# %%
def of_w(run):
    w = torch.tensor(3.0, requires_grad=True)
    y = w * 2
    y.register_hook(tell("B", "hook of y"))
    w.register_post_accumulate_grad_hook(tell("A", "post-accumulate hook of w"))
    w.register_hook(tell("D", "hook of w"))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(tell("F", "prehook of the accumulator"))
    accumulator.register_hook(tell("G", "hook of the accumulator"))
    run(y, w)

# %% [markdown]
# **Predict.** Which of the four hooks at `w` does `autograd.grad(y, w)` call: A, D, F or G? Answer with a list of letters, such as `["D", "F"]`.

# %%
L.predict("12.p5", None)

# %% tags=["C12.8", "P20"]
L.run(of_w, torch.autograd.grad, after="12.p5")
L.run(of_w, lambda y, w: y.backward(inputs=[w]), after="12.p5")

# %% [markdown] tags=["tells"]
# `autograd.grad` calls the hooks of the tensors that it passes, here B, and D, the hook of the tensor that it was asked for. What D returns is what you are handed. It calls none of A, F and G, because it adds nothing to the `.grad` of a leaf: the accumulator does not run. In the second run, with `backward(inputs=[w])`, it runs, and all four are called.

# %% [markdown]
# ## May a weight be updated while the pass is still running?
#
# A post-accumulate hook can update its parameter at once, and let go of the gradient. Then no two layers of a chain hold a gradient at the same time. But is that write not too early? Other nodes have saved the weight, and perhaps they have not run yet (lesson 07).

# %% tags=["C12.7", "P20"]
def step_now(p):
    print("has .grad:", [n for n, q in weights.items() if q.grad is not None])
    p -= 0.1 * p.grad  # needs no no_grad(): an ordinary pass records nothing
    p.grad = None


w1 = torch.tensor(1.0, requires_grad=True)
w2 = torch.tensor(2.0, requires_grad=True)
weights = {"w1": w1, "w2": w2}
for p in weights.values():
    p.register_post_accumulate_grad_hook(step_now)
(w2 * (w1 * 3)).backward()
print(weights)

# %% [markdown]
# No error, and `w1` moved by 0.1 · 6, where 6 is 3 times the *old* `w2`. The product saved `w2`, and it sends both of its gradients in one run. So when the hook of `w2` is called, the product has run.
#
# > **The rule.** When a post-accumulate hook of a weight is called, each node that sends this weight a gradient in this pass has run.
#
# Other nodes may still need the old number, such as one that saved `w2.detach()`. It sends no gradient to `w2`, so the hook does not wait for it. If it runs after the update, the version check of lesson 07 stops the pass (`w2` begins at version 1, because of the update above):

# %% tags=["C12.7"]
def too_early():
    late = (w1 * 3) * w2.detach()
    (w2 * late).backward()


L.run(too_early)

# %% [markdown]
# ## When does a wrong hook raise?
#
# A lambda returns its last value, so a one-line logger may hand back something. And a hook may be on the wrong tensor. Here are five wrong hooks for the `x` and `f` of `block`.

# %%
register = {
    "A": lambda x, f: f.register_hook(lambda grad: grad.norm()),
    "B": lambda x, f: f.detach().register_hook(print),
    "C": lambda x, f: f.register_hook(lambda grad: grad.norm().item()),
    "D": lambda x, f: f.register_post_accumulate_grad_hook(print),
    "E": lambda x, f: x.register_post_accumulate_grad_hook(lambda p: p.grad / 2),
}


def wrong(letter):
    x, f, loss = block(lambda grad: None)
    register[letter](x, f)
    print("registered")
    loss.backward()

# %% [markdown]
# **Predict.** Which of them raise already when they are registered? Answer with a list of letters, such as `["A", "E"]`.

# %%
L.predict("12.p6", None)

# %% tags=["C12.12", "P20"]
for letter in register:
    L.run(wrong, letter, after="12.p6")

# %% [markdown] tags=["tells"]
# Only B and D raised at registration: on these tensors no pass would ever call such a hook. What a hook returns is seen when the pass calls it. A returned a tensor of another shape, and C a number. E returned a tensor, too, but the gradient has been added, and there is nothing left to replace. (Only the parameter itself may come back, as from `lambda p: p.sub_(…)`.)

# %% [markdown]
# ## Where is a NaN born?
#
# We want the square root where x is positive, and 0 elsewhere. `where` picks, and the values are right, but the gradient has a NaN in it. So we put a *guard* on each tensor, a hook that raises at the first gradient that is not finite. (Registering a hook gives you a *handle*. Its `remove()`, or the end of a `with`, takes the hook away.)

# %%
def guard(name, tensor):
    def hook(grad):
        if not grad.isfinite().all():
            raise FloatingPointError(f"the gradient of {name} is {grad.tolist()}")

    return tensor.register_hook(hook)


x = torch.tensor([4.0, 0.0], requires_grad=True)


def picked_root():
    root = x.sqrt()
    y = torch.where(x > 0, root, 0.0)
    with guard("y", y), guard("root", root), guard("x", x):
        y.sum().backward()

# %% [markdown]
# **Predict.** Which guard raises? Answer with `"y"`, `"root"` or `"x"`.

# %%
L.predict("12.p7", None)

# %%
L.run(picked_root, after="12.p7")

# %% [markdown] tags=["tells"]
# The guards of `y` and of `root` were called before, and did not raise. At `x` there is a NaN. So the node between `root` and `x` has made it. For the second number `where` sends it 0, and 0 / (2 · √0) is zero times an infinite slope. The cure: keep the 0 away from the root.

# %% [markdown]
# The guards are gone, because a `with` statement ends also with an error. So the NaN arrives, and with the cure it does not:

# %% tags=["C12.13"]
for root in x.sqrt(), torch.where(x > 0, x, 1.0).sqrt():
    print(torch.autograd.grad(torch.where(x > 0, root, 0.0).sum(), x)[0])

# %% [markdown]
# Here is a longer chain. The feature `x` has the same value in both rows, and the 1e-5 is meant to prevent a division by 0:

# %%
def chain():
    x = torch.tensor([2.0, 2.0], requires_grad=True)
    centred = x - x.mean()
    variance = (centred * centred).mean()
    spread = variance.sqrt()
    y = centred / (spread + 1e-5)
    guard("y", y), guard("spread", spread), guard("variance", variance)
    guard("centred", centred), guard("x", x)
    (y * torch.tensor([1.0, 3.0])).sum().backward()

# %% [markdown]
# **Predict.** Which guard raises? Answer with its name, such as `"y"`.

# %%
L.predict("12.p8", None)

# %%
L.run(chain, after="12.p8")

# %% [markdown] tags=["tells"]
# The guard of `spread` was called before, and did not raise. So it is the root again, and the 1e-5 belongs under it.

# %% [markdown]
# One thing is missing in this guard. `unbind` makes several results in one node. If it runs, the hooks of all its results are called, also of one that was never used:

# %% tags=["C12.1"]
used, unused = x.unbind()
unused.register_hook(lambda grad: print("what nothing used gets", grad))
used.backward()

# %% [markdown]
# No gradient has come to this result. So take home a guard that asks `if grad is not None and not grad.isfinite().all()`.
#
# ## What can you hang on a module?
#
# *Forward hooks* are called around the call of a module: by `net(x)`, and not by `net.forward(x)`. Such a hook is given the module, the tuple of arguments, and the output. This is how activations are read out of somebody else's network. `detach()` what you keep, or it keeps its whole graph. What a forward hook returns takes the output's place, unless it is None.

# %% tags=["C12.9"]
relu, seen = torch.nn.ReLU(), []
x = torch.tensor([[1.0, -2.0]], requires_grad=True)
with relu.register_forward_hook(lambda m, args, out: seen.append(out.detach())):
    relu.forward(x)
    print("after forward(x):", seen)
    relu(x)
    print("after the call:  ", seen)
with relu.register_forward_hook(lambda m, args, out: out * 10):
    print("replaced:        ", relu(x))

# %% [markdown]
# ## Whose gradients does a hook of a module see?
#
# *Full backward hooks* are given the module and two tuples, `grad_input` and `grad_output`. Below, `x` and the layer's weight both require a gradient, and get one in `.grad`.

# %%
layer = torch.nn.Linear(2, 1, bias=False)
layer.weight = torch.nn.Parameter(torch.tensor([[5.0, 7.0]]))
layer.register_full_backward_hook(
    lambda module, grad_input, grad_output: print(grad_input, grad_output)
)


def layer_pass(given):
    layer(given).sum().backward()

# %% [markdown]
# **Predict.** Whose gradients are in `grad_input`? Answer with a list that holds some of the names `"x"`, `"weight"` and `"output"`.

# %%
L.predict("12.p9", None)

# %% tags=["C12.10"]
L.run(layer_pass, x, after="12.p9")
L.run(layer_pass, x.detach(), after="12.p9")

# %% [markdown] tags=["tells"]
# There is `[5, 7]` for `x`, and nothing for the weight. In the second run no input requires a gradient; PyTorch warns, and the hook is given None.

# %% [markdown]
# How does the hook get at these gradients? The call puts the module between two *identities*, custom Functions that return what they are given. Look for them in the picture, by their hooks.

# %%
L.run(L.stage.identities, layer, x, after="12.p9")

# %% [markdown] tags=["tells"]
# **Notice:** nodes 1 and 4 are the identities, and the layer's own nodes stand between them. The gradient of the weight travels by another arrow, from node 3 to node 2 and on to `weight`. It passes neither of the identities, so a backward hook never sees it. Hang a hook on the parameter instead.

# %% [markdown]
# ## Exercises: which cure?
#
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
# ## Exercises: more, if you like
#
# **12.3 · Freeze some rows** (8 minutes). Of a table with one row for each word, some rows were trained before and are to stay. `rows` is a list of their numbers. With your hook
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


L.check("12.3", freeze_rows)

# %% [markdown]
# **12.4 · Step during backward** (10 minutes). `parameters` is any iterable, such as `net.parameters()`. After `step_in_backward(torch, parameters, lr)`, each pass moves every parameter that it reaches by `-lr` times its gradient, and leaves `.grad` None. The parameters stay the same tensors. A second pass over a graph of the old weights must raise, as in lesson 07. Return the handles in a list. (All `.grad` are None at the beginning, and nobody passes `create_graph=True`.) The code below makes three mistakes.


# %%
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        handles.append(p.register_hook(lambda grad: p.sub_(lr * grad)))
    return handles


L.check("12.4", step_in_backward)

# %% [markdown]
# **12.5 · Which happens?** (7 minutes). In every program `x = torch.tensor([1.0, 2.0], requires_grad=True)` and `c = torch.tensor([0.0, 1.0])`. At the end `y.sum().backward()` is called, and somebody wants `x.grad` to be as in the last column. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"`, or `"silently wrong"` (no error, and another `x.grad`).
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
happens = {"A": None, "B": None, "C": None, "D": None,
           "E": None, "F": None, "G": None, "H": None}  # fmt: skip

L.check("12.5", happens)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C12.11** A hook that changes its gradient in place can change what another tensor receives, without any error.
# - **C12.1** A tensor's hooks are called once in a pass, with the whole sum of its gradient, or with None if its node runs and no gradient has come to it, in the order of registration; each gets what the one before returned, and None leaves the gradient as it is.
# - **C12.3** A hook that was registered before an in-place edit gets the gradient of the old value, while retain_grad() moves along and keeps that of the new one; on a view that was edited, it is not called for what is computed afterwards.
# - **C12.2** A hook that returns another gradient changes what reaches everything that its tensor was computed from; a branch whose own gradient is to be changed needs a tensor of its own.
# - **C12.4** The order is: hooks of the tensor, retain_grad(), prehooks of its node, the node, hooks of the node; at a leaf: hooks of the tensor, prehooks of the accumulator, the accumulation, post-accumulate hooks, hooks of the accumulator.
# - **C12.5** A node's prehook gets the gradients that came, as a tuple; its hook also gets those that go on, where an operation has None for an operand that needs none; a tuple that is returned takes the place of the first argument.
# - **C12.6** A post-accumulate hook gets the parameter and not the gradient, after the gradient was added to `.grad`, and it may not return the gradient.
# - **C12.8** autograd.grad calls the hooks of the tensors that it passes and of the one that it was asked for, and no post-accumulate hooks.
# - **C12.7** A post-accumulate hook may step its parameter and clear `.grad` in the middle of a pass: the other gradients are those at the old parameters, and in a chain of layers only one parameter has a `.grad` at a time.
# - **C12.12** A hook of a tensor must return None or a tensor of the gradient's shape and dtype; anything else raises at backward, not at registration.
# - **C12.13** A handle in a `with` statement takes its hook away at the end, also when the pass failed.
# - **C12.9** A module's forward hook is called for `m(x)` and not for `m.forward(x)`, and a tensor that it returns takes the output's place.
# - **C12.10** A full backward hook gets the gradients of a module's inputs and outputs and none of its parameters'; when no input requires grad, it gets None for them.
#
# **What PyTorch does differently:** a hook that names its own result, as in `h.register_hook(lambda g: g * h)`, is never freed there; our collector finds it. Name `d = h.detach()` instead. **Left out:** hooks that wait for several tensors, and hooks of all modules at once.
#
# **Read on in our engine:** `course_lib/engine/hooks.py`.
#
# **Next:** [lesson 13](13_double_backward.ipynb), gradients of gradients. What hooks do is recorded there like the rest.
