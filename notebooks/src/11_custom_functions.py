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
# # 11 · Custom Functions: what must forward tell ctx, so that backward is right?
#
# **You write the two halves of an operation yourself: `forward` computes, `backward` gives the gradients, and `ctx` carries things from one to the other. What must go through which method of `ctx`, and what happens if it does not?**
#
# Forgetting a method seldom raises: it costs memory, or gives a wrong number. You can claim at the end, with a cell that proves it:
#
# - **C11.1** The ctx of a custom Function is the graph node itself, and forward runs with recording off.
# - **C11.2** Every call of save_for_backward replaces the call before; None is kept as None, and anything but a tensor or None is refused when apply records.
# - **C11.3** save_for_backward only notes what to keep: inside forward saved_tensors is still empty.
# - **C11.4** A tensor given to save_for_backward is checked for its version when it is read; the same tensor as an attribute of ctx gives a wrong gradient without an error.
# - **C11.5** A result kept as an attribute of ctx waits for the garbage collector; a result given to save_for_backward is freed with its last name.
# - **C11.6** An intermediate that forward saved is a constant to the second derivative, which then lacks a term without any error.
# - **C11.7** gradcheck passes a Function whose second derivative is wrong, and gradgradcheck does not.
# - **C11.8** once_differentiable turns a wrong second derivative into an error; but if the gradient that came in has no history, the result has none either, and in a loss it is a constant, without an error.
# - **C11.9** backward must return one gradient for each argument of forward: None for what is no tensor, and for a tensor nothing smaller than it.
# - **C11.10** needs_input_grad has one flag for each argument of forward, and plain tensors and numbers have False.
# - **C11.11** Without mark_dirty the gradient through the argument of an in-place forward is silently wrong; with it, argument and result are the same tensor.
# - **C11.12** A floating-point output that is not marked non-differentiable requires grad; if backward has no gradient for it, a loss made of it trains nothing without an error.
# - **C11.13** For an output that nobody used, backward gets zeros, or None after set_materialize_grads(False).
# - **C11.14** With setup_context, forward takes no ctx, and called on its own it is recorded like any other code.
# - **C11.15** A backward that writes into the gradient that comes in changes it for other nodes and for the caller, without an error.
#
# **Minutes** 60; exercises 11.5 to 11.7 are an optional second sitting of 35 · **Needs** lessons 03, 05, 06, 07, 09 · **Opens** `course_lib/engine/function.py` · **Out of scope** second derivatives in general (lesson 13), forward-mode derivatives (`jvp`) and `vmap`

# %%
import course_lib as torch
import gc
import warnings
import weakref

from course_lib.teach import compare, draw, expect_error, lesson, show

L = lesson(11)

# %% [markdown]
# ## Question
#
# ```python
# def forward(ctx, x):          # of a Function called Cube
#     ctx.save_for_backward(x)  # one way to keep x
#     ctx.mine = x              # another way
#     return x**3
#
# h = x * 1
# y = Cube.apply(h)
# h.mul_(10)                    # somebody uses the memory again
# ```
#
# Two ways to keep the same tensor for backward. Both keep it by reference, as in lesson 06. And before backward somebody writes into it.
#
# ## Predict
#
# `x` is 2, so `y` is 8 and the slope is 3 · 2² = 12. One backward reads `ctx.saved_tensors`, another one reads `ctx.mine`. What is `x.grad` afterwards? Answer with a list of two, slot first: each a number, or `"error"`.

# %%
L.predict("11.p1", None)

# %% [markdown]
# ## Run
#
# A Function is a class with two static methods, and you call `apply`, never `forward`. Whatever you pass to `apply` comes after `ctx`. `backward` gets the gradient of the result and returns the gradient of the argument. First without the edit, and then with it; `Stash` differs from `Cube` only in what its backward reads.

# %%
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)  # a slot
        ctx.mine = x  # an attribute
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


x = torch.tensor([2.0], requires_grad=True)
print("no edit:", torch.autograd.grad(Cube.apply(x), x))


# %% tags=["C11.1", "C11.4", "P17"]
class Stash(Cube):
    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.mine * ctx.mine * grad


h = x * 1
slot, attribute = Cube.apply(h), Stash.apply(h)
h.mul_(10)
assert slot.grad_fn.mine is h  # what forward called ctx is now grad_fn
attribute.backward()
print("attribute:", x.grad)
with expect_error(RuntimeError, "modified by an inplace operation"):
    slot.backward()

# %% [markdown]
# ## See

# %% tags=["engine", "P17"]
draw(slot, attribute)

# %% [markdown]
# **Notice:**
#
# - Each of your classes has become a node, with an edge to the history of `h` and one slot, `tensors[0]`.
# - Node 2 failed. Its slot noted version 0, and `h` is at version 1: STALE. That is the check of lesson 07, and you got it for one line.
# - Node 3 ran. Its slot is FREED, as backward does with slots (lesson 06), although this backward never read it. But `ctx.mine` still holds `h`: no version is noted, nothing is released. So the right answer 12 became 1200, and nobody said a word.
#
# ## Explain
#
# **`ctx` is the node.** What `forward` calls `ctx` is later `y.grad_fn`. `forward` runs with recording off. `save_for_backward` only notes *what* to keep; when `forward` has returned, `apply` packs it, so inside `forward` there is nothing to read yet. The documentation says to call it at most once. A second call is no error: it *replaces* the first. None is fine, for an optional tensor. Numbers, shapes and settings belong on `ctx`.

# %% tags=["C11.1", "C11.2", "C11.3"]
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *named):
        ctx.save_for_backward(x, x, x)
        ctx.save_for_backward(*named)  # replaces the line above
        print("recording:", torch.is_grad_enabled(), "- saved so far:", ctx.saved_tensors)
        return x * 1


print("afterwards:", Keep.apply(x, None, x).grad_fn.saved_tensors)

# %% [markdown]
# ## Question
#
# ```python
# def forward(ctx, x, y, z):  # tensors x and y, a plain number z
#     w = x * z               # neither an input nor an output
#     ctx.save_for_backward(x, y, w)
#     ctx.z = z
#     return x * y + y * z + w * y
# ```
#
# The formula is that of the example in PyTorch's documentation of `save_for_backward`. Its gradients are gx = y + y·z and gy = x + z + w, and its backward will return just that, times what comes in.
#
# With `create_graph=True` a backward pass is itself recorded (lesson 13 is about that), so the gradients can be differentiated once more. Calculus says that gx by y and gy by x are the same number: 1 + z.
#
# ## Predict
#
# Let x = 2, y = 3, z = 4. What will the engine give for gx by y, and for gy by x? Answer with a pair, such as `(7, 7)`.

# %%
L.predict("11.p2", None)

# %% [markdown]
# ## Run
#
# `torch.autograd.gradcheck(f, inputs)` compares the gradients with finite differences: it moves each number a little and looks how the result moves. Give it `float64`: in `float32` the differences drown in rounding, and even a right backward fails.

# %%
class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        w = x * z
        ctx.save_for_backward(x, y, w)
        ctx.z = z
        return x * y + y * z + w * y

    @staticmethod
    def backward(ctx, grad):
        x, y, w = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


# %% tags=["C11.6", "C11.7"]
x, y = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (2.0, 3.0))
print("gradcheck:", torch.autograd.gradcheck(lambda x, y: Mix.apply(x, y, 4.0), (x, y)))
with warnings.catch_warnings(action="ignore"):  # PyTorch warns of float32
    small = [torch.tensor(value, requires_grad=True) for value in (2.0, 3.0)]
    print("in float32:", torch.autograd.gradcheck(lambda x, y: Mix.apply(x, y, 4.0), small, raise_exception=False))
gx, gy = torch.autograd.grad(Mix.apply(x, y, 4.0), (x, y), create_graph=True)
print("gx and gy:", gx.item(), gy.item())
print("gx by y:", torch.autograd.grad(gx, y, retain_graph=True)[0].item())
print("gy by x:", torch.autograd.grad(gy, x, retain_graph=True)[0].item())

# %% [markdown]
# ## See
#
# The graph of the gradient gy, which is (x + z + w) times the incoming 1:

# %%
draw(gy)

# %% [markdown]
# **Notice:**
#
# - Node 1 is x + z, node 2 is "+ w". Node 2 has an arrow 0, to the first addition, and no arrow 1: there stood `w`, which came out of its slot without a history.
# - Only one path leads to `x`. Along it the slope is 1; the path through w = x·z, with slope 4, is missing.
# - `x` came out of its slot *with* its history, because it is an input.
#
# ## Explain
#
# **Inputs and outputs have a history, intermediates have none**, since `forward` was not recorded. First derivatives need only the value of `w` and are right, so gradcheck is content. Derivatives of gradients need its history. Cure: save inputs, and compute `w` again in `backward`, which is recorded when anybody wants second derivatives. (Another cure stands under Break it.) `gradgradcheck` tells the two classes apart.

# %% tags=["C11.7"]
class Again(Mix):
    @staticmethod
    def backward(ctx, grad):
        x, y, _ = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + x * ctx.z), None


for fn in (Mix, Again):
    right = torch.autograd.gradgradcheck(lambda x, y, fn=fn: fn.apply(x, y, 4.0), (x, y), raise_exception=False)
    print(fn.__name__, "has the right second derivatives:", right)

# %% [markdown]
# **What `backward` owes.** One answer for each argument of `forward`, in order; None for what is no tensor. A gradient wider than its tensor is summed to its shape; a smaller one is refused. All this is checked at backward, not before. Before you compute (or keep!) something expensive, ask `ctx.needs_input_grad`, in either method: one flag for each argument. Where it says False, return None: a gradient would be thrown away.

# %% tags=["C11.9", "C11.10"]
two = torch.stack((x, x))
print("a wider one, summed:", torch.autograd.grad(Mix.apply(two, y, 4.0).sum(), y))
print("needed:", Mix.apply(two, y.detach(), 4.0).grad_fn.needs_input_grad)
short, number, small = lambda ctx, g: (g, g), lambda ctx, g: (g, g, 0.0), lambda ctx, g: (g.sum(), g, None)
for backward in (short, number, small):
    Wrong = type("Wrong", (Mix,), {"backward": staticmethod(backward)})
    with expect_error(RuntimeError, "WrongBackward returned"):
        Wrong.apply(two, y, 4.0).sum().backward()

# %% [markdown]
# **Now open our engine.** What `apply` does with what you noted, when `forward` is over. It compares by `is`. An output becomes a `SavedOutput`, which gets its history back when it is read (lesson 06). Everything else is kept as it is: for an input that includes its history, for `w` there was none to keep. (`SavedWritten` is for views, the RuntimeError for `setup_context`, below.) The TypeError comes here, not in your line: the print shows that `forward` has ended.

# %% tags=["engine", "C11.2"]
show("engine.function.pack_saved")
with expect_error(TypeError, "can only save variables"):
    Keep.apply(x, x, 3)

# %% [markdown]
# ## Break it
#
# Each method says one thing that the engine cannot see by itself. Here is what happens when it is left out:
#
# | you write | it says | left out |
# | --- | --- | --- |
# | `ctx.save_for_backward(…)` | keep these tensors, check them, release them | no check; memory that waits |
# | `ctx.needs_input_grad` | (you ask) who wants a gradient? | work for nothing |
# | `@once_differentiable` | do not differentiate this backward | a wrong second derivative |
# | `ctx.mark_dirty(x)` | forward has written into `x` | a wrong gradient |
# | `ctx.mark_non_differentiable(r)` | this output has no gradient | a loss that trains nothing |
# | `ctx.set_materialize_grads(False)` | None for unused outputs | memory full of zeros |
#
# As with `save_for_backward`, a second call of a mark replaces the first: name all tensors in one call. (The last cell before the exercises does it.)
#
# **The gradient that comes in is not yours.** Other nodes and the caller may hold the same tensor: an addition, for example, sends one tensor to both of its operands. So never write into it, neither with `grad *= 2` nor with `grad.mul_(2)` nor with `grad[0] = 0`. Compute a new tensor. Below, `h + 2 * h` has the slope 3.
#
# **A result on `ctx`.** The result holds its node, and the node now holds the result: a ring, which only the garbage collector finds. An input on `ctx` makes no ring, it only outlives backward. A slot has neither trouble.

# %% tags=["C11.15"]
class Double(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x * 2)
    backward = staticmethod(lambda ctx, grad: grad.mul_(2))  # writes into what came in


pair, grad = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
h = pair * 1
print("no error:", *torch.autograd.grad(h + Double.apply(h), pair, grad), "- the caller's ones:", grad)


# %% tags=["C11.5", "P17"]
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slot):
        result = x.exp()
        ctx.save_for_backward(result if slot else None)
        ctx.result = None if slot else result
        return result


gc.disable()  # an automatic collection in between would find the ring
held = [weakref.ref(Exp.apply(x, slot)) for slot in (True, False)]
for when, then in (("nobody has a name for them:", gc.collect), ("after a collection:", gc.enable)):
    print(when, ["alive" if result() is not None else "gone" for result in held])
    then()

# %% [markdown]
# **Second derivatives, refused.** If your backward leaves the graph, through NumPy or through saved intermediates, say so: above `def backward` write `@once_differentiable`, above that `@staticmethod`. But look at the last line. With `** 2` behind it, the gradient that comes in depends on the result. Without, a plain 1 comes in, which has no history, and then your gradient has none either: in a loss that contains it (a gradient penalty) it is a constant, and nothing raises.
#
# **A write, announced.** `Triple` writes into its argument. `mark_dirty` says so; what it names must also be returned, or `apply` raises.

# %% tags=["C11.8"]
class Once(Mix):
    backward = staticmethod(torch.autograd.function.once_differentiable(Mix.backward))


gx, gy = torch.autograd.grad(Once.apply(x, y, 4.0) ** 2, (x, y), create_graph=True)
print("the gradients are right:", gx.item(), gy.item())
with expect_error(RuntimeError, "marked with @once_differentiable"):
    gy.backward()
gx, gy = torch.autograd.grad(Once.apply(x, y, 4.0), (x, y), create_graph=True)
print("a plain 1 came in, and gy has a history:", gy.requires_grad)


# %% tags=["C11.11"]
class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mark):
        if mark:
            ctx.mark_dirty(x)
        return x.mul_(3)

    backward = staticmethod(lambda ctx, grad: (3 * grad, None))


for mark, h in ((False, x * 1), (True, x * 1)):
    before, result = draw(h), Triple.apply(h, mark)
    (slope,) = torch.autograd.grad(h, x, retain_graph=True)
    print("marked:", mark, "- result is h:", result is h, "- slope of h:", slope.item())
compare(before, draw(h))

# %% [markdown]
# The value of `h` is 6, so its slope is 3. Unmarked, only the result knows that; `h` still hangs on `x * 1`, and the write is nowhere in its history. Marked, argument and result are one tensor, and `h` itself moves on to the new node. (Version 2: `mul_` counted one, the mark another.)
#
# **An intermediate, returned.** The other cure for `Mix`: return `w` as a second output. Then it belongs to the node, and comes out of its slot with a history. `backward` gets a second gradient, and must use it.
#
# **Two methods instead of one.** With `setup_context(ctx, inputs, output)` the computing and the keeping are apart. `inputs` is the tuple of arguments, `output` what `forward` returned; intermediates are out of reach, which is the point. `forward` then takes no `ctx`, so you can also call it directly. The Function below has two results. Its second argument, `tell`, is a function that speaks to `ctx` about the second result: three programs, three ways to tell.

# %%
class Both(Mix):
    @staticmethod
    def forward(ctx, x, y, z):
        w, ctx.z = x * z, z
        ctx.save_for_backward(x, y, w)
        return x * y + y * z + w * y, w

    @staticmethod
    def backward(ctx, grad, grad_w):
        gx, gy, _ = Mix.backward(ctx, grad)
        return gx + grad_w * ctx.z, gy, None


print("second derivatives:", torch.autograd.gradgradcheck(lambda x, y: Both.apply(x, y, 4.0)[0], (x, y)))


# %%
class Twin(torch.autograd.Function):
    @staticmethod
    def forward(x, tell):
        return x * 2, x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, tell = inputs
        tell(ctx, output[1])

    @staticmethod
    def backward(ctx, grad, grad_of_rounded):
        print("backward gets", grad, "and", grad_of_rounded)
        return 2 * grad, None


# %% tags=["C11.12", "C11.13", "C11.14"]
print("called on its own:", [result.grad_fn.name() for result in Twin.forward(x, None)])
x.grad = None
_, rounded = Twin.apply(x, lambda ctx, rounded: None)  # says nothing
rounded.backward()
print("no error, and the gradient is", x.grad.item())
_, rounded = Twin.apply(x, lambda ctx, rounded: ctx.mark_non_differentiable(rounded))
with expect_error(RuntimeError, "does not require grad"):
    rounded.backward()
_, rounded = Twin.apply(x, lambda ctx, r: (ctx.mark_non_differentiable(r), ctx.mark_non_differentiable()))
print("marked, and then a second call:", rounded.requires_grad)
doubled, _ = Twin.apply(x, lambda ctx, rounded: ctx.set_materialize_grads(False))
doubled.backward()

# %% [markdown]
# ## Exercises
#
# The checks run yours on random inputs, compare with finite differences in `float64`, and look at what is kept.
#
# **11.1 · Which happens?** (7 minutes). `Cube` and `Triple` are those of the lesson. `Exp` is too, and its backward multiplies by what it kept, in the slot (True) or on `ctx` (False). `Pair` calls `ctx.save_for_backward(x, 3)`. `Times` multiplies two tensors and returns the gradient of the first only. `x = torch.tensor([1.0, 2.0], requires_grad=True)`, and `k` requires grad too. At the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"` or `"silently wrong"` (`x.grad` is not the gradient of the formula for `y`).
#
# | | program | | program |
# | --- | --- | --- | --- |
# | A | `h = x * 1; y = Exp.apply(h, True); h.mul_(10)` | E | `y = Pair.apply(x)` |
# | B | `y = Exp.apply(x, True); y.mul_(2)` | F | `h = x * 1; Triple.apply(h, False); y = h * 1` |
# | C | `y = Exp.apply(x, False); y.mul_(2)` | G | `y = Triple.apply(x, True)` |
# | D | `h = x * 1; y = Cube.apply(h); h.detach().mul_(10)` | H | `y = Times.apply(x, k)` |
#
# **11.2 · Diagnose** (5 minutes; the second cell below). Seven bug reports about custom Functions. Which one method is the cure? Choose from `"save_for_backward"`, `"needs_input_grad"`, `"once_differentiable"`, `"mark_dirty"`, `"mark_non_differentiable"`, `"set_materialize_grads"`. One of them cures two.
#
# - A "Memory grows, and falls only when I call `gc.collect()`. My forward ends with `ctx.out = out; return out`."
# - B "My layer returns the pooled values and, as floats, the places they came from. I trained on the places for a week. The loss never moved."
# - C "My activation works in place. Losses that use what it returns are fine. Losses that use the tensor I passed in have gradients as if it had never run."
# - D "I freeze the weight, and backward is as slow as before."
# - E "My backward goes through NumPy. A colleague uses it with a gradient penalty, and his results are wrong. I would rather he got an error."
# - F "Forty outputs, of which most people use one. A profile shows that backward fills memory with zeros."
# - G "After my layer people reuse their activation in place. Their gradients are wrong, and nobody gets an error. I would rather they did. My forward only reads the activation."

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("11.1", happens)

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("11.2", cures)

# %% [markdown]
# **11.3 · Superpixel pooling** (8 minutes). An image (N, C, H, W) was cut into K regions; `labels` (H, W) says which region, 0 to K − 1, each pixel belongs to. `forward` gives the mean colour of each region, (N, C, K): `member` is a table of pixels and regions with a 1 where they belong together. Write `backward`. Labels are integers and have no gradient. Which pixels does one mean depend on, and how strongly? Keep no more than you need, and nothing without a check.
#
# **11.4 · Two methods, and right twice** (6 minutes; the second cell below). This is `Mix` again. Write it with `setup_context`, in such a way that first and second derivatives are right.

# %%
class SuperpixelMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, image, labels):
        member = (labels.reshape(-1, 1) == torch.arange(labels.max().item() + 1)).to(image.dtype)
        size = member.sum(0)  # pixels in each region
        ctx.save_for_backward(labels, size)
        return image.reshape(*image.shape[:2], -1) @ member / size

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.3", SuperpixelMean)


# %%
class TwoMethods(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        w = x * z
        ctx.save_for_backward(x, y, w)
        ctx.z = z
        return x * y + y * z + w * y

    @staticmethod
    def backward(ctx, grad):
        x, y, w = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


L.check("11.4", TwoMethods)

# %% [markdown]
# **A second sitting.** Three longer ones; come back for them when you like.
#
# **11.5 · Repair QuickCumsum** (10 minutes). Bird's-eye-view detection adds up camera features that fall into the same cell of a map. Rows are sorted by `rank`, the number of their cell; `place` has their coordinates, as floats: data, for which nobody wants a gradient. One running total, read at the last row of each cell (`kept`), and neighbours subtracted: a sum for each cell, without a loop. `backward` should send each cell's gradient to all its rows. It raises, and something else is wrong that raises nothing. Ranks 5, 5, 7, 9, 9 have sums in rows 0, 1, 2 of the result: which one must each of the five rows read?
#
# **11.6 · In place** (12 minutes; the second cell below). `Scale_.apply(h, k)` multiplies `h` in place by a tensor `k` of one element, of shape `()` or `(1,)`, and returns `h`. All first derivatives must be right, also those of code that goes on using `h`, and for `k` = 0. If `k` is overwritten before backward, that must raise. A copy of `h` may be kept only if somebody needs it: who does? And what must you say about second derivatives, since that copy is made in forward?
#
# **11.7 · A spiking neuron** (12 minutes; the third cell below). Spike trains `x` (N, C, T) are filtered by `weight` (O, C, K), looking only into the past; where the potential `u` reaches the threshold, the neuron fires. The step's true slope is 0 almost everywhere, so nothing would learn. Spiking networks therefore *replace* it: take steepness · s · (1 − s) with s = sigmoid(steepness · (u − threshold)), the slope of a smooth step, and pass it on through the convolution as it is. gradcheck of such a Function must fail, and does; the check compares with finite differences of the smooth neuron. Second derivatives should be refused. (You may use `torch.autograd.grad` inside `backward`, for something you compute after `with torch.enable_grad():`.)

# %%
class SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, place, rank):
        kept = torch.cat((rank[1:] != rank[:-1], torch.ones(1, dtype=torch.bool)))
        total = x.cumsum(0)[kept]
        ctx.save_for_backward(kept)
        return torch.cat((total[:1], total[1:] - total[:-1])), place[kept]

    @staticmethod
    def backward(ctx, grad, grad_place):
        (kept,) = ctx.saved_tensors
        return grad[kept.cumsum(0)], None, None


L.check("11.5", SegmentSum)

# %%
class Scale_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.6", Scale_)


# %%
class Spikes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, threshold, steepness):
        u = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]
        ctx.save_for_backward(x, weight, u)
        ctx.threshold, ctx.steepness = threshold, steepness  # plain numbers: attributes
        return (u >= threshold).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.7", Spikes)

# %% [markdown]
# ## What you can now claim
#
# | claim | its cell says | test |
# | --- | --- | --- |
# | C11.1 ctx is the node | `grad_fn.mine is h`; recording: False | `test_c11_1` |
# | C11.2 the last call counts | None and x, not three x; 3 is refused | `test_c11_2` |
# | C11.3 only noted | `()` inside forward | `test_c11_3` |
# | C11.4 slot or attribute | an error, and 1200 for 12 | `test_c11_4` |
# | C11.5 a result on ctx | gone, alive; gone, gone | `test_c11_5` |
# | C11.6 intermediates are constants | 5 and 1 | `test_c11_6` |
# | C11.7 gradgradcheck | Mix False, Again True | `test_c11_7` |
# | C11.8 once_differentiable | the special error; False | `test_c11_8` |
# | C11.9 what backward owes | three errors | `test_c11_9` |
# | C11.10 needs_input_grad | True, False, False | `test_c11_10` |
# | C11.11 mark_dirty | slope 1 for 3; True | `test_c11_11` |
# | C11.12 mark_non_differentiable | a gradient of 0, then an error | `test_c11_12` |
# | C11.13 set_materialize_grads | zeros, then None | `test_c11_13` |
# | C11.14 setup_context | two results with ordinary nodes | `test_c11_14` |
# | C11.15 the gradient that comes in | 4 for 3; the caller's ones are twos | `test_c11_15` |
#
# The tests are in `tests/claims/test_claims_11.py`. They run on our engine and on real PyTorch.
#
# **A recipe.** Every tensor that backward reads goes into `save_for_backward`, in one call; numbers, shapes and settings go on `ctx`. In a slot, inputs and outputs keep their history, and intermediates have none: for second derivatives compute them again, return them, or say `@once_differentiable`. Ask `needs_input_grad`. Never write into the gradient that comes in. Then `gradcheck`, and `gradgradcheck` if second derivatives are allowed. Written in place? `mark_dirty`. Several outputs? Mark those without gradient.
#
# **Left out, compared with PyTorch.** PyTorch's Functions may also have a `jvp`, for derivatives computed forward, and rules for `vmap`; ours have neither. PyTorch asks for `setup_context` if `torch.func` is to transform your Function. What `pack_saved` does here stands there in `python_function.cpp`, what `apply` does with outputs in `custom_function.cpp`.
#
# **Read next in our engine:** `Function.apply` and `finish_apply` in `course_lib/engine/function.py`, some 40 lines together. **Next:** lesson 12, hooks, for looking into a backward pass that is not yours.
