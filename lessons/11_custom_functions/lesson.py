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
# # 11 · Custom Functions: how do you give an operation a backward of your own?
#
# **Your network will run on a chip that knows only whole numbers, so you put one `round()` into the forward pass. The outputs look right. The loss is a sensible number. `backward()` runs without a complaint. You train overnight, and in the morning every weight in front of the `round()` is exactly where it was the evening before.**
#
# Nothing in this story is broken. A staircase is flat on every step, so its slope is zero, and zero times a learning rate moves nothing. What you need is a gradient that *you* choose. PyTorch has a place where you can say it: a class called `torch.autograd.Function`.
#
# After this lesson you can
#
# - write an operation of your own, with its forward and its backward, and use it in a network like any other;
# - decide where to keep what your backward will need, and say what each choice costs;
# - test a Function until you trust it, including its second derivatives;
# - read somebody else's Function and say which lines are right, wasted, or wrong.
#
# **Minutes** 170, in three sittings of 55, 55 and 60 with a rest between them; 66 more if you do the optional part at the end · **Needs** lessons 03, 05, 06, 07 and 09, above all saved tensors (06) and version counters (07) · **Out of scope** second derivatives in general (lesson 13), forward-mode derivatives (`jvp`) and `vmap`
#
# [← 10 A training loop](10_training_loop.ipynb) · [all lessons](home.ipynb) · [12 Hooks →](12_hooks.ipynb)

# %%
import course_lib as torch
import gc
import warnings
import weakref

import numpy as np

from backscope import compare, draw
from coursekit import chart, expect_error, grids, lesson

L = lesson(11)

# %% [markdown]
# ## Why would anyone write one?
#
# Most of the time you do not have to: whatever you build out of PyTorch's operations gets its gradient for free. In three situations that is not enough.
#
# **First situation: the true slope is useless.** This is the story above. Rounding is flat almost everywhere. Below are two weights. After rounding, each of them should be 2, and we train for ten steps:

# %%
def train(rounded):
    w = torch.tensor([0.3, 1.4], requires_grad=True)
    for _ in range(10):
        w.grad = None
        loss = ((rounded(w) - 2.0) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    print("loss", loss.item(), "- gradient", w.grad, "- weights", w)


train(torch.round)

# %% [markdown]
# The loss is 5. The gradient is zero, and the weights have not moved in ten steps. The picture shows why: between its jumps the staircase is flat.

# %%
stairs = {x: round(x) for x in (0.0, 0.499, 0.501, 1.499, 1.501, 2.499, 2.501, 3.0)}
chart({"rounding": {"round(x)": stairs, "x itself": {0.0: 0.0, 3.0: 3.0}}}, across="x", up="value")

# %% [markdown]
# **Second situation: part of the computation happens outside PyTorch.** It may be a simulator, or a table that came with a sensor. Autograd records only PyTorch's own operations. When you step outside, PyTorch stops you. If you follow the advice in its message, the numbers are right and their history is gone:

# %%
volts, celsius = [0.0, 1.0, 2.0], [-20.0, 10.0, 60.0]  # how a temperature sensor was calibrated
x = torch.tensor([0.5, 1.5], requires_grad=True)
with expect_error(RuntimeError, "Can't call numpy() on Tensor that requires grad"):
    np.interp(x.numpy(), volts, celsius)
y = torch.from_numpy(np.interp(x.detach().numpy(), volts, celsius))
print(y, "requires grad:", y.requires_grad)
draw(y)

# %% [markdown]
# The picture shows a value, and nothing behind it. Yet you know the slopes of this table: 30 degrees per volt on its first piece, and 50 on the second.
#
# **Third situation: the recorded gradient is correct and still wrong for you.** The distance between two points is the root of a sum of squares. Let the two points be the same, as happens when one sample appears twice in a batch. The slope of the root at 0 is infinite, the slope of the square at 0 is 0, and the chain rule multiplies the two:

# %%
a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0])
distance = ((a - b) ** 2).sum().sqrt()
distance.backward()
print("distance", distance.item(), "gradient", a.grad)

# %% [markdown]
# NaN, "not a number", travels back to every weight in front of this line, and the next step writes it there. "Do not move" would be a good answer here.

# %% [markdown]
# ## What is the smallest Function?
#
# A Function is a class with two static methods.
#
# - `forward(ctx, x)` computes the result. It runs at once.
# - `backward(ctx, grad)` runs later, during the backward pass. It is given the **upstream gradient**: how much the loss changes when the *result* changes a little (lesson 03). It returns how much the loss changes when the *input* changes a little.
#
# You do not call either of them yourself. You call `apply`. Both methods are also given an object called `ctx`, for *context*. We do not need it yet.
#
# Now the rounding. We pretend, in backward only, that it was never there, and use the slope of the dashed line above, which is 1. So the upstream gradient is handed on unchanged. This is called a **straight-through estimator**.

# %%
class RoundThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


train(RoundThrough.apply)
w = torch.tensor([0.3, 1.4], requires_grad=True)
draw(RoundThrough.apply(w))

# %% [markdown]
# **Notice:**
#
# - The loss is 0, and only the class is new. (1.5 rounds to 2, the even neighbour.)
# - In the picture your class has become a node like every other. It is named after the class: `RoundThroughBackward`.
# - No white note hangs on the node. It keeps nothing, because its backward needs nothing.
#
# But your `backward` was never compared with your `forward`. Whatever you return is used, right or wrong. So you will have to test it.

# %% [markdown]
# ## How does backward know what forward saw?
#
# Most slopes depend on the input. The slope of t³ is 3t², so the backward of a cube must know t. Let us write what comes to mind first:

# %%
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t**3

    @staticmethod
    def backward(ctx, grad):
        return 3 * t * t * grad


y = Cube.apply(torch.tensor([2.0], requires_grad=True))
with expect_error(NameError, "name 't' is not defined"):
    y.backward()

# %% [markdown]
# `t` was a local variable of `forward`, and `forward` returned long ago. Something has to carry `t` from one method to the other, and this is what `ctx` is for.
#
# - In forward you hand over what you will need: `ctx.save_for_backward(t)`.
# - Then a node waits on the result, with this `ctx`.
# - In backward you are given *the same* `ctx` and take it out: `ctx.saved_tensors`. What you get is always a tuple, which explains the comma in `(t,) = …`.
#
# We compare the gradient with that of `x**3`:

# %%
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t**3

    @staticmethod
    def backward(ctx, grad):
        (t,) = ctx.saved_tensors
        return 3 * t * t * grad


x, upstream = torch.tensor([2.0, -1.0], requires_grad=True), torch.tensor([1.0, 10.0])
print("ours:    ", *torch.autograd.grad(Cube.apply(x), x, upstream))
print("built in:", *torch.autograd.grad(x**3, x, upstream))

# %% [markdown]
# They agree. And this is the graph before the backward pass and after it:

# %% tags=["engine"]
y = Cube.apply(x)
before = draw(y)
y.backward(upstream)
compare(before, draw(y))

# %% [markdown]
# **Notice:**
#
# - *Before:* `apply` has run forward and hung the node of your class on `y`. Its white note says that `x` is saved. Such a place for a saved tensor is called a *slot* (lesson 06).
# - *After:* the node has run backward. `x` has its gradient, and the slot is empty: FREED.

# %% [markdown]
# ## Exercises: an easy one already now
#
# (Exercises stand where you have just read what they need, so their numbers are not in order.)
#
# **11.0 · A unit that is on or off** (6 minutes, easy). Networks with binary activations use a step: 1 where the input is greater than 0, and 0 elsewhere. Its true slope is 0, so they replace it in backward. The usual choice is a straight-through estimator *with a window*: where the input lies between −1 and 1, hand the upstream gradient on unchanged; elsewhere, send 0. (The ends themselves do not matter.) A unit outside the window is so far from switching that it had better be left alone.
#
# `forward` computes the right thing, but it keeps nothing yet. Complete it, and write `backward`. `x.abs()` gives the distance from 0.

# %%
class OnOff(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.0", OnOff)

# %% [markdown]
# ## May backward write into the gradient that arrives?
#
# It would save memory: `grad.mul_(2)` in place of `grad * 2`. Here is a Function that does it:
#
# ```python
# class Double(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x):
#         return x * 2
#
#     @staticmethod
#     def backward(ctx, grad):
#         return grad.mul_(2)              # writes into what came in
#
# x, grad = torch.tensor([5.0], requires_grad=True), torch.tensor([1.0])
# h = x * 1
# print(torch.autograd.grad(h + Double.apply(h), x, grad))
# print(grad)
# ```
#
# `h + Double.apply(h)` is h + 2·h, so its slope is 3. An addition sends the tensor that arrives to both of its operands, as it is (lesson 00).
#
# **Predict.** What is printed for the gradient, and what for `grad`? Answer with a pair; each entry is a number or `"error"`.

# %%
L.predict("11.p9", None)

# %% tags=["C11.15"]
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(2)  # writes into what came in


x, grad = torch.tensor([5.0], requires_grad=True), torch.tensor([1.0])
h = x * 1
print("no error:", *torch.autograd.grad(h + Double.apply(h), x, grad), "- the caller's 1:", grad)

# %% [markdown]
# The gradient is 4 in place of 3, there was no error, and even the caller's 1 has become 2. There is only one tensor, the caller's. The addition has sent it to `h` as well, so it was doubled there, too.
#
# > **The rule.** Never write into the gradient that arrives, neither with `grad *= 2`, nor with `grad.mul_(2)`, nor with `grad[0] = 0`. Compute a new tensor.

# %% [markdown]
# ## What does backward owe?
#
# **One answer for each argument of `forward`, in the same order.**
#
# With that we can finish the third story, the distance of two points that may be equal. Its slope for `a` is (a − b) / distance, and for `b` minus that. Where the distance is smaller than `tiny`, a plain number, we decide that the slope is 0. `forward` saves its tensors in one call. The number it keeps as an attribute of `ctx`.

# %%
class Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, tiny):
        distance = ((a - b) ** 2).sum().sqrt()
        ctx.save_for_backward(a, b, distance)
        ctx.tiny = tiny
        return distance

    @staticmethod
    def backward(ctx, grad):
        a, b, distance = ctx.saved_tensors
        slope = torch.zeros_like(a) if distance < ctx.tiny else (a - b) / distance
        return grad * slope, -grad * slope, None


a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0])
print("of two equal points:", torch.autograd.grad(Distance.apply(a, b, 1e-6), a))

# %% [markdown]
# No NaN any more. Forward has three arguments, so backward gives three answers. The last one belongs to the number, and is None.
#
# The engine checks what backward returns. Here are four other backward methods for `Distance`. Now `b` has one number only, so it is broadcast. `grad` has the shape `()`.
#
# ```python
# # A:  return grad, None
# # B:  return torch.zeros(2), torch.zeros(()), 0.0
# # C:  return grad, grad, None
# # D:  return torch.zeros(2), torch.ones(2), None
#
# a = torch.tensor([4.0, 5.0], requires_grad=True)    # shape (2,)
# b = torch.tensor(1.0, requires_grad=True)           # shape ()
# ```
#
# You know from lesson 03 what the engine does with a gradient that is wider than its tensor, after a broadcast.
#
# **Predict.** Which of the four raise? Answer with a list of letters.

# %%
L.predict("11.p12", None)

# %% tags=["C11.9"]
class ReturnsA(Distance):
    @staticmethod
    def backward(ctx, grad):
        return grad, None


class ReturnsB(Distance):
    @staticmethod
    def backward(ctx, grad):
        return torch.zeros(2), torch.zeros(()), 0.0


class ReturnsC(Distance):
    @staticmethod
    def backward(ctx, grad):
        return grad, grad, None


class ReturnsD(Distance):
    @staticmethod
    def backward(ctx, grad):
        return torch.zeros(2), torch.ones(2), None


a, b = torch.tensor([4.0, 5.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)
for wrong in (ReturnsA, ReturnsB, ReturnsC):
    with expect_error(RuntimeError, f"{wrong.__name__}Backward returned"):
        wrong.apply(a, b, 1e-6).backward()
ReturnsD.apply(a, b, 1e-6).backward()
print("D raises nothing:", b.grad)

# %% [markdown]
# **A** gives too few answers. **B** has an answer for what is no tensor; only None would do. **C** gives one number for a tensor of two, and the engine cannot guess the other one. **D** gives two numbers for a tensor of one. The engine adds them up.
#
# (In the messages a "Variable" is a tensor, a position counts from 1, and an index from 0.)
#
# > **The rule.** One answer for each argument: None for what is no tensor, and for a tensor a gradient of its shape. One that a broadcast has widened is added up again. None is allowed for a tensor, too: then nothing comes from here.

# %% [markdown]
# ## How do you hand over many tensors?
#
# A Function that adds up many tensors takes the first one and a list of the others:
#
# ```python
# class Total(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, first, others):
#         return first + sum(others)
#
#     @staticmethod
#     def backward(ctx, grad):
#         return grad, None
#
# a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
# Total.apply(a, [b]).backward()
# print(a.grad, b.grad)
# ```
#
# **Predict.** What are the two gradients? Answer with a pair; each entry is a number, None or `"error"`.

# %%
L.predict("11.p7", None)

# %% tags=["C11.16"]
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first, others):
        return first + sum(others)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
Total.apply(a, [b]).backward()
print("a:", a.grad, " b:", b.grad)
draw(Total.apply(a, [b]))

# %% [markdown]
# **Notice:** one arrow leaves the node, to the accumulator of `a`. `b` does not appear.
#
# `apply` looks at its own arguments, and not into lists. A tensor in a list is not tracked, so it gets no gradient. Nothing raises.
#
# > **The rule.** If your Function takes many tensors, give them to `apply` one by one: `apply(a, *others)`.
#
# What `apply` has seen of its arguments stands in `ctx.needs_input_grad`, with one flag for each. After `apply` you can read it on the node:

# %% tags=["C11.10"]
print("of Total:", Total.apply(a, [b]).grad_fn.needs_input_grad)
print("of Distance, with a plain b:", Distance.apply(a, b.detach(), 1e-6).grad_fn.needs_input_grad)

# %% [markdown]
# A list, a plain tensor and a number have False. Where a flag is False, backward may return None and save itself the work.

# %% [markdown]
# ## May forward leave PyTorch?
#
# Yes. `x.numpy()` was refused because recording was on, and `forward` runs with recording off. So we can finish the second story. Backward is the place for what you know about the slopes. (Outside of its table `np.interp` repeats the first or the last value, so the slope is 0 there.)

# %%
class Sensor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.interp(x.numpy(), volts, celsius))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        slope = torch.where(x < 1.0, 30.0, 50.0)  # degrees per volt, on the two pieces of the table
        return grad * slope * ((x > 0.0) & (x < 2.0))


x = torch.tensor([0.5, 1.5, 3.0], requires_grad=True)
y = Sensor.apply(x)
y.sum().backward()
print(y, "slopes:", x.grad, x.grad.dtype)

# %% [markdown]
# The first two temperatures are those from before, now with a gradient. (NumPy computes in float64; the engine converts the gradient to the float32 of `x`.)

# %% [markdown]
# ## How do you test a Function?
#
# `torch.autograd.gradcheck(f, inputs)` compares the gradients with finite differences: it moves each number a little, and looks how the result moves (lesson 03). Give it `float64`. In `float32` the differences drown in rounding, and even a right backward fails.

# %%
def far(a, b):
    return Distance.apply(a, b, 1e-6)


points = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in ([4.0, 5.0], [1.0, 1.0])]
print("Distance:    ", torch.autograd.gradcheck(far, points))
with warnings.catch_warnings(action="ignore"):  # PyTorch warns of float32
    small = [point.detach().float().requires_grad_() for point in points]
    print("in float32:  ", torch.autograd.gradcheck(far, small, raise_exception=False))
volt = torch.tensor([0.5, 1.5, 3.0], dtype=torch.float64, requires_grad=True)
print("Sensor:      ", torch.autograd.gradcheck(Sensor.apply, (volt,)))
print("RoundThrough:", torch.autograd.gradcheck(RoundThrough.apply, points[:1], raise_exception=False))

# %% [markdown]
# Test a point on every piece of a formula. The last False is as it should be: the backward of `RoundThrough` is not meant to be the slope of its forward.

# %% [markdown]
# ## Exercises: one from real life
#
# **11.3 · Superpixel pooling** (8 minutes). An image (N, C, H, W) was cut into K regions; `labels` (H, W) says which region, 0 to K − 1, each pixel belongs to. `forward` gives the mean colour of each region, (N, C, K): `member` is a table of pixels and regions with a 1 where they belong together. Write `backward`. Labels are integers and have no gradient. Which pixels does one mean depend on, and how strongly?

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

# %% [markdown]
# ## A rest
#
# You can now write a Function and test it:
#
# - Forward runs at once, with recording off. Backward runs later, with the same `ctx`.
# - Backward returns one answer for each argument of `apply`, and never writes into the gradient that arrives.
# - `gradcheck`, in `float64`, compares backward with small steps of forward.
#
# The second sitting is about what a Function keeps between its two methods.

# %% [markdown]
# ## Does it matter where you keep a tensor?
#
# `Distance` kept its number as an attribute, `ctx.tiny`. You can also keep a *tensor* like that. `Cube` has its input in a slot, and `Stash` has it in an attribute:

# %%
class Stash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.mine = t
        return t**3

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.mine * ctx.mine * grad


x, upstream = torch.tensor([2.0, -1.0], requires_grad=True), torch.tensor([1.0, 10.0])
for function in (Cube, Stash):
    print(function.__name__, torch.autograd.grad(function.apply(x), x, upstream))

# %% [markdown]
# The answers are the same. But suppose that somebody writes into the input between forward and backward, as in-place activations do.
#
# ```python
# x = torch.tensor([2.0], requires_grad=True)
# h = x + 0            # so that h is no leaf, and may be written to
# y = Cube.apply(h)    # and then the same with Stash
# h.mul_(10)           # somebody reuses the memory of h
# y.backward()
# print(x.grad)
# ```
#
# When `y` was computed, `h` was 2, and the slope of the cube at 2 is 3 · 2² = 12.
#
# **Predict.** What is `x.grad` with `Cube`, which reads the slot, and what is it with `Stash`, which reads the attribute? Answer with a list of two, the slot first. Each entry is a number, or `"error"` if that backward raises.

# %%
L.predict("11.p1", None)

# %% tags=["C11.1", "C11.4", "P17"]
x = torch.tensor([2.0], requires_grad=True)
h = x + 0
slot, attribute = Cube.apply(h), Stash.apply(h)
h.mul_(10)
assert attribute.grad_fn.mine is h  # what forward called ctx is now grad_fn
attribute.backward()
print("attribute:", x.grad, "- and after the pass it still holds", attribute.grad_fn.mine)
with expect_error(RuntimeError, "modified by an inplace operation"):
    slot.backward()

# %% tags=["engine", "P17"]
draw(slot, attribute)

# %% [markdown]
# **Notice:**
#
# - The node of `Cube` failed. Its slot noted version 0, and `h` is at version 1: STALE. This is the check of lesson 07. (`mul_` has given `h` another node, which is not in this graph.)
# - The node of `Stash` holds `h` as an attribute, and the picture says what that means: no version check. The right answer 12 became 1200, without a word.
#
# The assert in the cell tells you something else: what `forward` calls `ctx` is the node itself, the later `y.grad_fn`.
#
# > **The rule.** Every tensor that backward reads goes into `save_for_backward`. Attributes of `ctx` are for everything else: numbers, shapes, settings.

# %% [markdown]
# ## What does an attribute cost in memory?
#
# A tensor in a slot is let go after the backward pass. A tensor on `ctx` stays for as long as the node does. For a *result* it is worse. `ExpInSlot` and `ExpOnCtx` keep their results in the two ways, and this is the graph of the second:

# %%
class ExpInSlot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * result


class ExpOnCtx(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x.exp()
        return ctx.result

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.result


result = ExpOnCtx.apply(x)
draw(result)

# %% [markdown]
# **Notice:** the dotted arrow leads from the result to its node: this is `grad_fn`. And the note says that the node keeps `result`. Each holds the other. This is a ring, and Python frees it only when its garbage collector comes by.
#
# Now we call both Functions, and give the results no name. Are they gone?

# %% tags=["C11.5", "P17"]
def state(result):
    return "gone" if result() is None else "alive"


gc.disable()  # an automatic collection in between would find the ring
in_slot, on_ctx = weakref.ref(ExpInSlot.apply(x)), weakref.ref(ExpOnCtx.apply(x))
print("without a name:     in the slot", state(in_slot), "- on ctx", state(on_ctx))
gc.collect()
print("after a collection: in the slot", state(in_slot), "- on ctx", state(on_ctx))
gc.enable()

# %% [markdown]
# The result on `ctx` waited for a collection. The result in a slot was gone at once. A slot stores a *result* without its history, so no way leads back to the node. It adds the history when the result is read (lesson 06).

# %% [markdown]
# ## When is a tensor really saved?
#
# So a slot must know whether its tensor is a result. Only `apply` can know that, and only when `forward` has returned. It then fills the slots. `save_for_backward` itself is a single line:
#
# ```python
# def save_for_backward(self, *tensors):
#     self.to_save = tensors
# ```
#
# Here it is called twice. (None is allowed, for an optional tensor.)
#
# ```python
# class Keep(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x, mask):
#         ctx.save_for_backward(x, x, x)
#         ctx.save_for_backward(mask, x)
#         print(len(ctx.saved_tensors))        # how many slots, still inside of forward
#         return x * 1
#
# y = Keep.apply(x, None)
# print(len(y.grad_fn.saved_tensors))          # and afterwards
# ```
#
# **Predict.** Which two numbers are printed? Answer with a pair.

# %%
L.predict("11.p8", None)

# %% tags=["C11.1", "C11.2", "C11.3"]
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(x, x, x)
        ctx.save_for_backward(mask, x)
        print("inside of forward:", len(ctx.saved_tensors), "- recording:", torch.is_grad_enabled())
        return x * 1


kept = Keep.apply(x, None).grad_fn.saved_tensors
print("afterwards:", len(kept), "-", kept)
with expect_error(TypeError, "can only save variables"):
    Keep.apply(x, 3)

# %% [markdown]
# Inside of forward no slot is filled yet. The second call has *replaced* the first, without an error: **call it once, with all tensors.** A plain number is refused late, when `apply` fills the slots.

# %% [markdown]
# ## Build your own engine: operations of your own
#
# `ctx` is the node, and your engine has nodes already. In `my_engine.py`, write a class `Function` with one class method, `apply`, in some 20 lines:
#
# 1. Keep `args` as they came, for `forward`. From them make `inputs = [as_tensor(each) for each in args]`, for the node. A number wants no gradient, so its arrow leads to nothing. Make a `Node` of these inputs, whose rule is `cls.backward` and whose name is the name of the class with `Backward` behind it. Store on the node `needs_input_grad`, a tuple with one flag for each argument.
# 2. Run `cls.forward(ctx, …)` with recording off.
# 3. If recording is on and any argument wants a gradient, hang the node on the result, which now requires a gradient. If `forward` returned one of its inputs, use `result.detach()` in its place, so that the input keeps its own history.
# 4. Only now save what `save_for_backward` was given, in `SavedVariable`s, where the node's `release()` finds them. A second call of `save_for_backward` replaces the first. Then throw the note away, since it holds the tensors, too.
# 5. Add `saved_tensors` to `Node`. And in `Node.__call__`, put a tuple around the answer of a rule that has returned a single tensor.
#
# Programs look for it at the place that PyTorch has for it: `autograd = SimpleNamespace(Function=Function)`.

# %% [markdown]
# The usual slip is to save inside of `save_for_backward`. There the result has no node yet, so it is taken for an input, and the ring is back.
#
# <details><summary>What the checkpoint does not ask</summary>
#
# It asks for no None in step 4. And in step 3, a later write to the detached result would go round your backward. PyTorch refuses it, and with `result.version.has_views = True` your engine does, too.
#
# </details>

# %%
L.build("11")

# %% [markdown]
# When it says *correct*, your engine takes operations from others, with the version check for free.

# %% [markdown]
# ## Can your backward be differentiated once more?
#
# This is the example in PyTorch's documentation of `save_for_backward`. `x` and `y` are tensors, and `z` is a plain number.
#
# ```python
# def forward(ctx, x, y, z):
#     w = x * z               # neither an input nor an output
#     ctx.save_for_backward(x, y, w)
#     ctx.z = z
#     return x * y + y * z + w * y
# ```
#
# Its gradients are gx = y + y·z and gy = x + z + w, and its backward returns just that, times what arrives. With `create_graph=True` a backward pass is itself recorded (lesson 13), so a gradient can be differentiated once more. Calculus says that gx by y and gy by x are the same number: 1 + z.
#
# **Predict.** Let x = 2, y = 3, z = 4. What will the engine give for gx by y, and for gy by x? Answer with a pair, such as `(7, 7)`.

# %%
L.predict("11.p2", None)

# %% tags=["C11.6", "C11.7"]
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


x, y = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (2.0, 3.0))
print("gradcheck:", torch.autograd.gradcheck(lambda x, y: Mix.apply(x, y, 4.0), (x, y)))
gx, gy = torch.autograd.grad(Mix.apply(x, y, 4.0), (x, y), create_graph=True)
print("gx and gy:", gx.item(), gy.item())
print("gx by y:", torch.autograd.grad(gx, y, retain_graph=True)[0].item())
print("gy by x:", torch.autograd.grad(gy, x, retain_graph=True)[0].item())
draw(gy, parts={"x + z": (1, 1), "+ w": (2, 2)})

# %% [markdown]
# gx by y is 5 = 1 + z, as it should be. gy by x is 1, so it lacks something, although `gradcheck` was content.
#
# **Notice:** this is gy = x + z + w, with `Mix`. Follow the two arrows of "+ w", node 2.
#
# - Arrow 0 leads to x + z, and on to `x`. The slope on this path is 1.
# - Arrow 1, for `w`, ends at nothing, in a small open circle, like the arrow of the plain number `z` above it. `w` came out of its slot without a history: it had none, since `forward` was not recorded.
#
# `x` came out of its slot *with* its history, because it is an input. So compute `w` from it *again*, in `backward`, which is recorded now:

# %% tags=["C11.7"]
class Again(Mix):
    @staticmethod
    def backward(ctx, grad):
        x, y, _ = ctx.saved_tensors
        w = x * ctx.z  # computed again
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


for fn in (Mix, Again):
    right = torch.autograd.gradgradcheck(lambda x, y, fn=fn: fn.apply(x, y, 4.0), (x, y), raise_exception=False)
    print(fn.__name__, "has the right second derivatives:", right)
_, gy = torch.autograd.grad(Again.apply(x, y, 4.0), (x, y), create_graph=True)
draw(gy, parts={"w = x · z": (1, 1), "x + z": (2, 2), "+ w": (3, 3)})

# %% [markdown]
# **Notice:** this is the same gy with `Again`. Arrow 1 of "+ w" now leads to node 1, the product x · z, and on to `x`. The slope on this second path is 4, and 1 + 4 is the right answer.
#
# `gradgradcheck` tests second derivatives, and has found the fault.
#
# > **The rule.** An intermediate that forward saved is a constant for the second derivative. Compute it again in backward.

# %% [markdown]
# ## Can you forbid a second derivative?
#
# Yes. Write `@once_differentiable` between `@staticmethod` and `def backward`. Whoever asks for a second derivative then gets an error and no wrong number. Our loss is the square of the result, 42. So the gradient that arrives at the node is 84, and it has a history of its own: it depends on the result.

# %% tags=["C11.8"]
class Once(Mix):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return Mix.backward(ctx, grad)


x, y = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (2.0, 3.0))
gx, gy = torch.autograd.grad(Once.apply(x, y, 4.0) ** 2, (x, y), create_graph=True)
print("gx and gy, divided by 84:", gx.item() / 84, gy.item() / 84)
with expect_error(RuntimeError, "marked with @once_differentiable"):
    gy.backward()
gx, gy = torch.autograd.grad(Once.apply(x, y, 4.0), (x, y), create_graph=True)
print("without the square, gy has a history:", gy.requires_grad)

# %% [markdown]
# A second derivative raises.
#
# <details><summary>The last line shows a hole</summary>
#
# If the gradient that arrives has no history, such as the plain 1 with which a pass begins, `once_differentiable` hangs no node on the answer. So a later pass cannot raise. In a loss such a gradient is a constant, which trains nothing (a *gradient penalty*, lesson 13).
#
# </details>

# %% [markdown]
# ## Can computing and saving be two methods?
#
# Yes. Write `forward` without `ctx`, and a second method `setup_context(ctx, inputs, output)` that saves. `inputs` is the tuple of arguments, and `output` is what `forward` returned. The intermediates of `forward` are out of reach. But `forward` can now be called by itself, and `torch.func` asks for this form.

# %% tags=["C11.14"]
class TidyCube(Cube):
    @staticmethod
    def forward(t):
        return t**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        print("recording in setup_context:", torch.is_grad_enabled())
        ctx.save_for_backward(*inputs)


y = TidyCube.apply(x)
print("called on its own:", TidyCube.forward(x).grad_fn.name(), "- by apply:", y.grad_fn.name())
print("slope at 2:", torch.autograd.grad(y, x)[0].item())

# %% [markdown]
# Such a `forward` can also be called on its own, and is then recorded like any other code.

# %% [markdown]
# ## Exercises: right twice
#
# **11.4 · Two methods, and right twice** (6 minutes). This is `Mix` again. Write it with `setup_context`, in such a way that first and second derivatives are right.

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
# ## A rest
#
# You now know what is kept:
#
# - Tensors go into `save_for_backward`, in one call, and all else goes on `ctx`. The slots are filled when `forward` has returned.
# - A slot checks the version, lets go after the pass, and makes no ring. An attribute does none of it.
# - Inputs and results come out of a slot with their history. Intermediates have none: compute them again in backward, or say `@once_differentiable`.
#
# In the third sitting Functions go into real programs.

# %% [markdown]
# ## How do you use a Function in a module?
#
# An early tutorial of PyTorch defined a module with two methods, `forward` and `backward`, and people still write such modules. Here are three that are to limit gradients to ±1, and to leave the values as they are. (They return `x * 1`, since of a Function that returns its own input `apply` hands out a view.)
#
# ```python
# class ClipFunction(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x):
#         return x * 1
#
#     @staticmethod
#     def backward(ctx, grad):
#         return grad.clamp(-1, 1)
#
# class A(torch.nn.Module):
#     def forward(self, x):
#         return x * 1
#
#     def backward(self, grad):
#         return grad.clamp(-1, 1)
#
# class B(torch.nn.Module):
#     def forward(self, x):
#         return ClipFunction.apply(x)
#
# class C(torch.nn.Module):
#     def forward(self, x):
#         return ClipFunction.forward(None, x)
#
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# (A()(x) * torch.tensor([10.0, 0.5])).sum().backward()   # and then with B, and with C
# print(x.grad)
# ```
#
# Without any limit, `x.grad` would be `[10, 0.5]`.
#
# **Predict.** What is it with A, with B and with C? Answer with a list of three lists of two numbers.

# %%
L.predict("11.p4", None)

# %% tags=["C11.17"]
class ClipFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1)


class A(torch.nn.Module):
    def forward(self, x):
        return x * 1

    def backward(self, grad):
        print("you will not see this")
        return grad.clamp(-1, 1)


class B(torch.nn.Module):
    def forward(self, x):
        return ClipFunction.apply(x)


class C(torch.nn.Module):
    def forward(self, x):
        return ClipFunction.forward(None, x)


for module in (A(), B(), C()):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = module(x)
    (y * torch.tensor([10.0, 0.5])).sum().backward()
    print(type(module).__name__, x.grad, "by way of", y.grad_fn.name())

# %% [markdown]
# Only B limits anything. The names of the nodes tell why.
#
# - **A.** Autograd knows nodes, and no modules. A method `backward` on a module is a *fake*: it has the right name, and autograd never calls it.
# - **B.** The module's `forward` calls `apply`, which hangs the Function's own node on the result.
# - **C.** `forward` of a Function, called by hand, is a function like any other. Its product was recorded as a product.
#
# > **The rule.** What counts in a backward pass is the node on the result, and only `apply` makes one of your class. When in doubt, print `y.grad_fn`.

# %% [markdown]
# ## Exercises: a module that does what it says
#
# **11.10 · A fake backward** (6 minutes). This layer was posted in a forum: "It should leave the values as they are and multiply the gradient by `factor`. It leaves the gradient as it is, too." Repair it. Each layer has a factor of its own; what counts is the factor at the time of forward. Whatever else is computed from the input must not notice the layer, and an input that requires no gradient is welcome.

# %%
class ScaleGradient(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x

    def backward(self, grad):
        return grad * self.factor


L.check("11.10", ScaleGradient)

# %% [markdown]
# ## May forward write into its argument?
#
# Yes, but the engine sees only what goes into `apply` and what comes out. So tell it, with `ctx.mark_dirty(x)`, and return `x`. Here is a Function that can do it in both ways:
#
# ```python
# class Triple(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x, mark):
#         if mark:
#             ctx.mark_dirty(x)
#         return x.mul_(3)
#
#     @staticmethod
#     def backward(ctx, grad):
#         return 3 * grad, None
#
# x = torch.tensor(2.0, requires_grad=True)
# h = x * 1
# Triple.apply(h, False)                 # and then the same with True
# print(torch.autograd.grad(h, x))       # the slope of h; h itself is 6 now
# ```
#
# **Predict.** What is this slope without the mark, and what with it? Answer with a pair. Each entry is a number, or `"error"`.

# %%
L.predict("11.p6", None)

# %% [markdown]
# `compare` draws the graph of `h` before and after the marked write:

# %% tags=["C11.11"]
class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mark):
        if mark:
            ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, grad):
        return 3 * grad, None


x = torch.tensor(2.0, requires_grad=True)
h = x * 1
result = Triple.apply(h, False)
print("unmarked: result is h:", result is h, "- it is a view of h:", result._base is h)
print("h is", h.item(), "and its slope", torch.autograd.grad(h, x)[0].item())

h = x * 1
before = draw(h)
result = Triple.apply(h, True)
print("marked: result is h:", result is h)
print("h is", h.item(), "and its slope", torch.autograd.grad(h, x, retain_graph=True)[0].item())
compare(before, draw(h))

# %% [markdown]
# **Notice:** h is 6, three times `x`, so 3 is right.
#
# - *Unmarked,* the returned argument is handed out as a *view*. Only this view knows of your node. `h` still hangs on `x * 1`, and its slope is wrong.
# - *Marked,* argument and result are one tensor, and `h` itself moves on to the new node. The write is a recorded one, and follows the rules of recorded writes. (`h` is at version 2: `mul_` counted one, and the mark another.)

# %% [markdown]
# ## What if a result has no gradient?
#
# A Function may return a tuple, and its backward is then given one gradient for each part. The second result of `Twin` is made by `round`, whose slope is 0, so its backward has nothing to send for it. `Marked` is the same, but its forward says so with `ctx.mark_non_differentiable(rounded)`. Somebody makes a loss of the second result:
#
# ```python
# # Twin.forward(ctx, x):                        return x * 2, x.round()
# # Twin.backward(ctx, grad, grad_of_rounded):   return 2 * grad
#
# x = torch.tensor(2.0, requires_grad=True)
# _, rounded = Twin.apply(x)        # and then the same with Marked
# rounded.backward()
# print(x.grad)
# ```
#
# No loss has used the first result, so the engine makes a gradient of zeros for it.
#
# **Predict.** What is `x.grad` with `Twin`, and what with `Marked`? Answer with a pair; each entry is a number, None, or `"error"` if something raises.

# %%
L.predict("11.p10", None)

# %% tags=["C11.12"]
class Twin(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x.round()

    @staticmethod
    def backward(ctx, grad, grad_of_rounded):
        print("backward gets", grad, "and", grad_of_rounded)
        return 2 * grad


class Marked(Twin):
    @staticmethod
    def forward(ctx, x):
        rounded = x.round()
        ctx.mark_non_differentiable(rounded)
        return x * 2, rounded


x = torch.tensor(2.0, requires_grad=True)
_, rounded = Twin.apply(x)
rounded.backward()
print("Twin: no error, and the gradient is", x.grad.item())
_, rounded = Marked.apply(x)
with expect_error(RuntimeError, "does not require grad"):
    rounded.backward()

# %% [markdown]
# Unmarked, this loss trains nothing, and nothing raises. Marked, it raises at once.
#
# And the zeros? With forty large results it is a waste to make (*materialize*) a tensor of zeros for each that was not used. After `set_materialize_grads(False)` backward gets None instead:

# %% tags=["C11.13"]
class Frugal(Twin):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x.round()


doubled, _ = Frugal.apply(x)
doubled.backward()

# %% [markdown]

# %% [markdown]
# ## Exercises: what has to be said
#
# **11.1 · Which happens?** (7 minutes). `Cube`, `Triple`, `ExpInSlot` and `ExpOnCtx` are those of the lesson; the last two keep their result. `Pair` calls `ctx.save_for_backward(x, 3)`. `Times` multiplies two tensors, and its backward ends with `return grad * k`. `x = torch.tensor([1.0, 2.0], requires_grad=True)`, and `k` requires grad too. At the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"` or `"silently wrong"` (`x.grad` is not the gradient of the formula for the `y` that you have at the end).
#
# | | program | | program |
# | --- | --- | --- | --- |
# | A | `h = x * 1; y = ExpInSlot.apply(h); h.mul_(10)` | E | `y = Pair.apply(x)` |
# | B | `y = ExpInSlot.apply(x); y.mul_(2)` | F | `h = x * 1; Triple.apply(h, False); y = h * 1` |
# | C | `y = ExpOnCtx.apply(x); y.mul_(2)` | G | `y = Triple.apply(x, True)` |
# | D | `h = x * 1; y = Cube.apply(h); h.detach().mul_(10)` | H | `y = Times.apply(x, k)` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("11.1", happens)

# %% [markdown]
# ## Pooling over regions, as posted: what would you change?
#
# People post Functions and ask what they mean. Two follow, written anew and short. Which of the numbered lines would you leave as they are? Our verdicts stand behind the run.
#
# The first gives the mean of each region of an image, as in your exercise 11.3. `spx` says for each pixel which region it belongs to.

# %%
class Pooled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, img, spx):
        K = spx.max() + 1  # 1: how many regions
        member = (spx.reshape(-1, 1) == torch.arange(K.item())).to(img.dtype)
        out = img.reshape(*img.shape[:2], -1) @ member  # 2: sums
        pool_size = member.sum(0)
        out /= pool_size  # 3: means
        ctx.save_for_backward(pool_size, img, spx, K)  # 4
        return out

    @staticmethod
    def backward(ctx, grad):
        pool_size, img, spx, K = ctx.saved_tensors  # 5
        return (grad / pool_size)[..., spx], torch.zeros_like(spx)  # 6

# %% [markdown]
# `x` requires a gradient. Somebody writes:
#
# ```python
# img = x * 1
# out = Pooled.apply(img, spx)
# img.relu_()                       # after the call, as activations do
# out.sum().backward()
# ```
#
# **Predict.** How many of the four saved tensors does this backward need for its answers? And does it run, `"fine"`, or does it raise, `"error"`? Answer with a pair, such as `(4, "fine")`.

# %%
L.predict("11.p11", None)

# %% tags=["C11.2", "C11.20"]
x = torch.ones(1, 3, 8, 8, requires_grad=True)
spx = torch.arange(64).reshape(8, 8) // 16
img = x * 1
out = Pooled.apply(img, spx)
for name, slot in zip(("pool_size", "img", "spx", "K"), out.grad_fn.saved_tensors, strict=True):
    print(f"{name:9} {slot.numel():3} numbers,", slot.dtype)
out.sum().backward(retain_graph=True)
print("the gradient for spx:", spx.grad)
img.relu_()
with expect_error(RuntimeError, "modified by an inplace operation"):
    out.sum().backward()

# %% [markdown]
# Backward computes with `pool_size` and `spx` only. But each reading of `saved_tensors` checks all slots. So it raises because of `img`, the largest of the four, with which no line computes.
#
# > **The rule.** Save what backward computes with, and nothing else.
#
# <details><summary>Our verdicts on the six lines</summary>
#
# | line | verdict | why |
# | --- | --- | --- |
# | 1 | a waste | `max()` gives a tensor, so `K` may go into a slot. But `pool_size` has K entries, so backward does not need it. |
# | 2 | right | A product with a table of zeros and ones adds up the pixels of each region. |
# | 3 | right | It writes in place, but into a fresh result. `img /= 2` would be an edit of the caller's tensor. |
# | 4 | a waste | No slope of a mean depends on the values of `img`. |
# | 5 | right | That a harmless `relu_` raises here is the fault of line 4. |
# | 6 | a waste | Whole numbers have no gradient. The zeros are thrown away, and None would do. |
#
# </details>

# %% [markdown]
# ## Spikes, as posted: may a Function borrow another's backward?
#
# The second, srmConv, is a convolution of spikes. Its forward calls the `forward` of *another* Function, and its backward calls the other's `backward`. In this model of it the other Function is `Cube`.
#
# ```python
# class Borrows(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x, stride):
#         out = Cube.forward(ctx, x * 10)           # 1: somebody else's forward, on our ctx: (10x)³
#         ctx.save_for_backward(x)                  # 2
#         ctx.stride = torch.tensor(stride)         # 3
#         return out
#
#     @staticmethod
#     def backward(ctx, grad):
#         return Cube.backward(ctx, grad) * 10, None   # 4: somebody else's backward, on our ctx
#
# x = torch.tensor([1.0], requires_grad=True)
# Borrows.apply(x, 2).backward()
# print(x.grad)
# ```
#
# The result is 1000x³, so the slope at 1 is 3000. `Cube` saves its input t in forward, and its backward returns 3t² times what arrives.
#
# **Predict.** What is `x.grad`: a number, or `"error"`?

# %%
L.predict("11.p5", None)

# %% tags=["C11.2", "C11.21"]
class Borrows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, stride):
        out = Cube.forward(ctx, x * 10)  # 1
        ctx.save_for_backward(x)  # 2
        ctx.stride = torch.tensor(stride)  # 3
        return out

    @staticmethod
    def backward(ctx, grad):
        return Cube.backward(ctx, grad) * 10, None  # 4


for name, run in {"borrowed": lambda x: Borrows.apply(x, 2), "composed": lambda x: Cube.apply(x * 10)}.items():
    x = torch.tensor([1.0], requires_grad=True)
    run(x).backward()
    print(name, x.grad)

# %% [markdown]
# 30 in place of 3000, and no error. `Cube.backward` reads `ctx.saved_tensors`, and on this ctx line 2 has put `x` there, which is 1. It takes that for the t = 10 of line 1.
#
# > **The rule.** If you want to use another Function, call its `apply`, as in the last line. Its node then has a ctx of its own.
#
# Line 3 is a waste: the stride is a number, and may be kept as it is.

# %% [markdown]
# ## Exercises: diagnose
#
# **11.2 · Diagnose** (5 minutes). Seven bug reports about custom Functions. What is the cure? Choose from `"save_for_backward"`, `"needs_input_grad"`, `"once_differentiable"`, `"mark_dirty"`, `"mark_non_differentiable"`, `"set_materialize_grads"`. One of them cures two.
#
# - A "Memory grows, and falls only when I call `gc.collect()`. My forward ends with `ctx.out = out; return out`."
# - B "My layer returns the pooled values and, as floats, the places they came from. I trained on the places for a week. The loss never moved."
# - C "My activation works in place. Losses that use what it returns are fine. Losses that use the tensor I passed in have gradients as if it had never run."
# - D "I freeze the weight, and backward is as slow as before."
# - E "My backward goes through NumPy. A colleague uses it with a gradient penalty, and his results are wrong. I would rather he got an error."
# - F "Forty outputs, of which most people use one. Before the first line of my backward runs, thirty-nine large tensors are made."
# - G "After my layer people reuse their activation in place. Their gradients are wrong, and nobody gets an error. I would rather they did. My forward only reads the activation."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("11.2", cures)

# %% [markdown]
# All of it in one table:
#
# | you write | it says | if you leave it out |
# | --- | --- | --- |
# | `ctx.save_for_backward(…)` | keep these tensors, check them, release them | no check; memory that waits |
# | `ctx.needs_input_grad` | (you ask) who wants a gradient? | work for nothing |
# | `@once_differentiable` | do not differentiate this backward | perhaps a wrong second derivative |
# | `ctx.mark_dirty(x)` | forward has written into `x` | a wrong gradient |
# | `ctx.mark_non_differentiable(r)` | this output has no gradient | a loss that trains nothing |
# | `ctx.set_materialize_grads(False)` | None for unused outputs | memory full of zeros |
#
# **A recipe.** Every tensor that backward reads goes into `save_for_backward`, in one call; numbers, shapes and settings go on `ctx`. In a slot, inputs and outputs keep their history, and intermediates have none: for second derivatives compute them again, or say `@once_differentiable`. Ask `needs_input_grad`. Never write into the gradient that arrives. Then `gradcheck`, and `gradgradcheck` if second derivatives are allowed. Written in place? `mark_dirty`. Several outputs? Mark those without a gradient.

# %% [markdown]
# ## A rest, and what is optional
#
# The three sittings end here, and you can go on to lesson 12. For another day: the operation that picks numbers out of a tensor, with exercise 11.8 (20 minutes), and four longer exercises (46 minutes).

# %% [markdown]
# ## Optional: what is the backward of picking?
#
# A loss takes, from ten scores of an image, the one of the right digit. A language model takes, from a whole table, the rows of the words that occur. PyTorch's name for this is **`gather`**.
#
# `x.gather(1, index)` goes along dimension 1, which means along each row. For every place of `index` it looks up one number: `out[i][j] = x[i][index[i][j]]`. So `index` has as many dimensions as `x`, and the result has the shape of `index`:

# %%
x = torch.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
index = torch.tensor([[2, 2, 0, 1], [1, 0, 0, 0]])
tables = ["x", x.tolist(), "gather at", "index", index.tolist(), "=", "picked", x.gather(1, index).tolist()]
grids(tables, colours=["columns", index.tolist(), index.tolist()])

# %% [markdown]
# **Notice:** each column of `x` has a colour, and so has each index that names this column, and each number that came from there. A number may be picked several times, such as the 30 and the 40, and another one not at all, such as the 60.
#
# In backward a gradient arrives for each picked number. Where does it go?
#
# ```python
# x = torch.tensor([[10.0, 20.0, 30.0, 40.0]], requires_grad=True)
# picked = x.gather(1, torch.tensor([[2, 2, 0]]))        # 30, 30, 10
# (picked * torch.tensor([[1.0, 2.0, 4.0]])).sum().backward()
# print(x.grad)
# ```
#
# **Predict.** What are the four numbers in `x.grad`? Answer with a list.

# %%
L.predict("11.p3", None)

# %% tags=["C11.18"]
x = torch.tensor([[10.0, 20.0, 30.0, 40.0]], requires_grad=True)
index, factors = torch.tensor([[2, 2, 0]]), torch.tensor([[1.0, 2.0, 4.0]])
(x.gather(1, index) * factors).sum().backward()
added = torch.zeros(1, 4).scatter_add(1, index, factors)
print("the engine says:", x.grad, "- with scatter_add:", added)
print("the same with scatter:", torch.zeros(1, 4).scatter(1, index, factors).tolist() == x.grad.tolist())
tables = ["gradients", factors.tolist(), "added at", "index", index.tolist(), "=", "x.grad", x.grad.tolist()]
grids(tables, colours=[index.tolist(), index.tolist(), "columns"])

# %% [markdown]
# **Notice:** each gradient goes back to the place that was read. The 30 was read twice, with the factors 1 and 2, so its slope is 1 + 2 = 3. Numbers that nobody read get 0.
#
# The operation that does this is called **`scatter_add`**: it *adds* each number to the place that the index names. There is also a `scatter` without "add". It overwrites, so a part of the gradient is lost without an error. That is the `False` in the last line.
#
# > **The rule.** The backward of reading is adding: what was read twice gets the sum.
#
# Now you can write `gather` yourself, and use it in a loss. Cross-entropy is minus the logarithm of the probability of the right answer (lesson 10). `log_softmax` gives the logarithms of all probabilities, and picking takes the right ones:

# %% tags=["C11.19"]
class Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape  # of x backward needs no more than this
        return x.gather(1, index)

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad.dtype).scatter_add(1, index, grad), None


inputs = torch.randn(2, 5, dtype=torch.float64, requires_grad=True), torch.tensor([[1, 1, 4], [0, 2, 2]])
print("tested:", torch.autograd.gradcheck(Pick.apply, inputs), torch.autograd.gradgradcheck(Pick.apply, inputs))
scores = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 1.0]], requires_grad=True)
targets = torch.tensor([0, 1, 2])  # the right answer of each of three samples
log_p = scores.log_softmax(1)
loss = -Pick.apply(log_p, targets[:, None]).mean()
print("picked:  ", round(loss.item(), 4))
print("built in:", round(torch.nn.functional.cross_entropy(scores, targets).item(), 4))
print("a table: ", round(-log_p[:, targets].mean().item(), 4), "of shape", tuple(log_p[:, targets].shape))

# %% [markdown]
# **Notice:**
#
# - `targets[:, None]` has made a column of the targets, of shape (3, 1): one to be picked in each row.
# - The line "a table" is another loss. `log_p[:, targets]` takes *all three* columns from *every* row. It can be differentiated, and a network trains on it without a word. Print the shape of what you have picked: it should have one number for each sample.

# %% [markdown]
# ## Exercises: pick
#
# **11.8 · The last state** (8 minutes). A recurrent network has read a batch of sentences. `states` has the shape (batch, time, hidden): the state after each word. The sentences have different lengths, and were filled up at the end. Return the state after the last *real* word of each, shape (batch, hidden). `lengths` is a tensor of whole numbers, one for each sentence, and none is 0. Any way that is right counts; `gather` does it without a loop. (What shape must the index have, if it has to name a place for every number of the result?)

# %%
def last_states(torch, states, lengths):
    return states[:, -1]


L.check("11.8", last_states)

# %% [markdown]
# ## Exercises: four longer ones
#
# Come back for them when you like. The checks run your Functions on random inputs, compare with finite differences in `float64`, and look at what is kept.
#
# **11.5 · Repair QuickCumsum** (10 minutes). Bird's-eye-view detection adds up camera features that fall into the same cell of a map. Rows are sorted by `rank`, the number of their cell; `place` has their coordinates, as floats: data, for which nobody wants a gradient. Take a running total, read it at the last row of each cell (`kept`), and subtract neighbours: this gives a sum for each cell, without a loop. `backward` should send each cell's gradient to all its rows. We have broken the version below: it raises, and something else is wrong that raises nothing. Ranks 5, 5, 7, 9, 9 have sums in rows 0, 1, 2 of the result: which one must each of the five rows read?

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

# %% [markdown]
# **11.6 · In place** (12 minutes). `Scale_.apply(h, k)` multiplies `h` in place by a tensor `k` of one element, of shape `()` or `(1,)`, and returns `h`. All first derivatives must be right, also those of code that goes on using `h`, and for `k` = 0. If `k` is overwritten before backward, that must raise. A copy of `h` may be kept only if somebody needs it: who does? And what must you say about second derivatives, since that copy is made in forward?

# %%
class Scale_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.6", Scale_)

# %% [markdown]
# **11.9 · Cross-entropy in one node** (12 minutes). Write the loss of a classifier as a single Function: `scores` (N, K), `targets` (N) with whole numbers, and the result is the mean cross-entropy, a single number. The gradient of the scores is known: the softmax of the scores, minus 1 at the right answer of each row, divided by N. Keep one tensor of N · K numbers at most, beside the targets. Scores may be as large as 1000, and `backward` may be called twice with `retain_graph=True`. Second derivatives must be right, or refused.

# %%
class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, targets):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.9", CrossEntropy)

# %% [markdown]
# **11.7 · A spiking neuron** (12 minutes). Spike trains `x` (N, C, T) are filtered by `weight` (O, C, K): the filtered value at a step is made of this step and the K − 1 before it. Where the result `u`, the *potential*, reaches the threshold, the neuron fires. The step's true slope is 0 almost everywhere, so nothing would learn. Spiking networks therefore *replace* it: take steepness · s · (1 − s) with s = sigmoid(steepness · (u − threshold)), the slope of a smooth step. That, times the gradient that arrives, is the gradient of `u`. From `u` back to `x` and `weight`, use the true backward of the convolution. gradcheck of such a Function must fail, and does; the check compares with finite differences of the smooth neuron. Second derivatives should be refused. (You may use `torch.autograd.grad` inside `backward`, where nothing is recorded unless you ask for it.)

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
# Every sentence below was shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/11_custom_functions/claims.py`).
#
# *What is kept*
#
# - **C11.1** The ctx of a custom Function is the graph node itself, and forward runs with recording off.
# - **C11.3** save_for_backward only notes what to keep: inside forward saved_tensors is still empty.
# - **C11.2** Every call of save_for_backward replaces the call before; None is kept as None, and anything but a tensor or None is refused when apply records.
# - **C11.4** A tensor given to save_for_backward is checked for its version when it is read; the same tensor as an attribute of ctx gives a wrong gradient without an error.
# - **C11.5** A result kept as an attribute of ctx waits for the garbage collector; a result given to save_for_backward is freed with its last name.
#
# *Second derivatives*
#
# - **C11.6** An intermediate that forward saved is a constant to the second derivative, which then lacks a term without any error.
# - **C11.7** gradcheck passes a Function whose second derivative is wrong, and gradgradcheck does not.
# - **C11.8** once_differentiable turns a wrong second derivative into an error; but if the gradient that came in has no history, the result has none either, and in a loss it is a constant, without an error.
#
# *What backward is given, and owes*
#
# - **C11.9** backward must return one answer for each argument of forward: None for what is no tensor, and for a tensor a gradient of its shape, or of a shape that it could be broadcast to, or None.
# - **C11.10** needs_input_grad has one flag for each argument of forward, and plain tensors and numbers have False.
# - **C11.15** A backward that writes into the gradient that comes in changes it for other nodes and for the caller, without an error.
# - **C11.13** For an output that nobody used, backward gets zeros, or None after set_materialize_grads(False).
#
# *Picking*
#
# - **C11.18** gather reads numbers by their places, and its backward adds each gradient to the place that was read: a number that was read twice gets the sum.
# - **C11.19** Minus the mean of log_softmax, gathered at the targets, is the cross-entropy; indexing with `[:, targets]` makes a table of N times N numbers, whose mean is another loss, and nothing raises.
#
# *What the engine has to be told*
#
# - **C11.20** Each reading of saved_tensors checks all slots: also a tensor that backward does not use raises, if it was overwritten.
# - **C11.21** forward and backward of one Function, called on the ctx of another, save into and read from the slots of that other one, and the gradient can be wrong without an error.
# - **C11.11** Without mark_dirty the gradient through the argument of an in-place forward is silently wrong; with it, argument and result are the same tensor.
# - **C11.12** A floating-point output that is not marked non-differentiable requires grad; if backward has no gradient for it, a loss made of it trains nothing without an error.
# - **C11.14** With setup_context, forward takes no ctx, and called on its own it is recorded like any other code.
# - **C11.16** A tensor inside of a list that is given to apply is not tracked: it gets no gradient, and nothing raises.
# - **C11.17** A method called backward on an nn.Module is never called by autograd.
#
# **Left out, compared with PyTorch.** PyTorch's Functions may also have a `jvp`, for derivatives computed forward, and rules for `vmap`; ours have neither. PyTorch asks for `setup_context` if `torch.func` is to transform your Function. What `pack_saved` does here stands there in `python_function.cpp`, what `apply` does with outputs in `custom_function.cpp`.
#
# **Read on in our engine:** `Function.apply` and `finish_apply` in `course_lib/engine/function.py`, some 40 lines together.
#
# **Next:** [lesson 12](12_hooks.ipynb), hooks: how to look into a backward pass that is not yours.
