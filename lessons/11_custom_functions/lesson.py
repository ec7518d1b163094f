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
# `round()` is a staircase. It is flat on every step, so its slope is zero, and zero times a learning rate moves nothing. What you need is a gradient that *you* choose. You say it in a class called `torch.autograd.Function`.
#
# After this lesson you can
#
# - write an operation of your own, with its forward and its backward, and use it in a network like any other;
# - decide where to keep what your backward will need, and say what each choice costs;
# - test a Function until you trust it, including its second derivatives.
#
# **Minutes** 90, of which 20 are for your own engine; and 18 for more exercises · **Needs** lessons 03, 05, 06, 07 and 09 · **Out of scope** Functions that people have posted, several outputs and writes in place (part [11b](11b_functions_in_the_wild.ipynb)), second derivatives in general (lesson 13)
#
# [← 10 A training loop](10_training_loop.ipynb) · [all lessons](home.ipynb) · [12 Hooks →](12_hooks.ipynb)

# %%
import course_lib as torch
import gc
import weakref

import numpy as np

from backscope import draw
from coursekit import lesson

L = lesson(11)

# %%
def scores(images, weights, rounded):
    first, second = (rounded(w * 2) / 2 for w in weights)
    return (images @ first).relu() @ second


plain, _ = L.stage.train(torch, scores, torch.round)
print(f"unseen digits read: {plain[0]:.1%}, after 8 epochs {plain[8]:.1%}")

# %% [markdown]
# This is the story, small. The network reads handwritten digits: 64 pixels, 32 hidden units, ten scores. The chip stores each weight as a whole number of halves, so `scores` doubles, rounds and halves the weights.
#
# A network that guesses reads one digit in ten. This one reads fewer, and eight epochs have changed nothing. Here is why:

# %%
L.stage.stairs()

# %% [markdown]
# **Notice:** between its jumps the staircase is flat. So the gradient of each weight is exactly zero.
#
# ## What is the smallest Function?
#
# A Function is a class with two static methods.
#
# - `forward(ctx, x)` computes the result. It runs at once.
# - `backward(ctx, grad)` runs later, during the backward pass. It is given the *upstream gradient*: how much the loss changes when the *result* changes a little (lesson 03). It returns how much the loss changes when the *input* changes a little.
#
# You call neither of them yourself. You call `apply`. Both are also given `ctx`, for *context*, which we do not need yet.
#
# Now the rounding. In backward only, we pretend that it was never there, and use the slope of the dashed line above, which is 1. So backward hands on the upstream gradient unchanged. This is called a **straight-through estimator**.

# %%
class RoundThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


w = torch.tensor([0.3, 1.4], requires_grad=True)
draw(RoundThrough.apply(w))

# %% [markdown]
# **Notice:** your class has become a node like all others. It is called `RoundThroughBackward`. It saves nothing, because its backward needs nothing.
#
# ## Does the network learn now?
#
# The network is the same, and so is the loop. Only `rounded` changes. For comparison, the network is also trained without any rounding (`exact`), and rounded only at the end (`late`).

# %% tags=["C11.13"]
through, _ = L.stage.train(torch, scores, RoundThrough.apply)
exact, late = L.stage.train(torch, scores, lambda w: w)
print(f"through {through[8]:.1%}, exact {exact[8]:.1%}, late {late:.1%}")
L.stage.accuracy({"round": plain, "through": through, "exact": exact})

# %% [markdown]
# **Notice:** with `RoundThrough` the network learns to read, though its forward is that of `torch.round`. Without rounding it reads more. But its weights must then be rounded for the chip, and after that it reads less than the network trained with rounded weights.
#
# One thing should make you uneasy. Nothing has compared your `backward` with your `forward`, and here they do not even agree. Whatever backward returns is used, right or wrong.
#
# ## How does backward know what forward saw?
#
# Most slopes depend on the input. The slope of t³ is 3t², so the backward of a cube must know t. But `t` is a local variable of `forward`, and `forward` returned long ago. `ctx` carries it from one method to the other.
#
# - In forward you hand over what you will need: `ctx.save_for_backward(t)`.
# - In backward you are given *the same* `ctx` and take it out: `ctx.saved_tensors`. This is always a tuple, which explains the comma in `(t,) = …`.

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


x = torch.tensor([2.0, -1.0], requires_grad=True)
print(*(torch.autograd.grad(y.sum(), x)[0] for y in (Cube.apply(x), x**3)))

# %% [markdown]
# They agree. `Cube` holds `x` in a *slot* until the pass is over, as in lesson 06.
#
# ### Exercise: a unit that is on or off
#
# **11.1 · A unit that is on or off** (6 minutes, easy). Networks with binary activations use a step: 1 where the input is greater than 0, and 0 elsewhere. Its true slope is 0, so they replace it in backward. The usual choice is a straight-through estimator *with a window*: where the input lies between −1 and 1, hand the upstream gradient on unchanged; elsewhere, send 0, since such a unit is far from switching. (The ends themselves do not matter.)
#
# `forward` computes the right thing, but it saves nothing yet. Complete it, and write `backward`. `x.abs()` gives the distance from 0.

# %%
class OnOff(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.1", OnOff)

# %% [markdown]
# ## May backward write into the gradient that arrives?
#
# It would save memory to write `grad.mul_(2)` instead of `grad * 2`. `Double` does it.

# %%
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(2)


def doubled_in_place():
    x, grad = torch.tensor([5.0], requires_grad=True), torch.tensor([1.0])
    h = x * 1
    print("the gradient:", *torch.autograd.grad(h + Double.apply(h), x, grad))
    print("the caller's grad:", grad)

# %% [markdown]
# `h + Double.apply(h)` is h + 2·h, so its slope is 3. An addition sends the tensor that arrives to both of its operands, as it is (lesson 00).
#
# **Predict.** What is printed for the gradient, and what for the caller's `grad`? Answer with a pair; each entry is a number or `"error"`.

# %%
L.predict("11.p1", None)

# %% tags=["C11.12"]
L.run(doubled_in_place, after="11.p1")

# %% [markdown] tags=["tells"]
# The gradient is 4 instead of 3, and even the caller's 1 has become 2. There is only one tensor, the caller's. The addition has sent it to `h` as well, so it was doubled there, too.
#
# > **The rule.** Never write into the gradient that arrives, neither with `grad *= 2`, nor with `grad.mul_(2)`, nor with `grad[0] = 0`. Compute a new tensor.

# %% [markdown]
# ## What must backward return?
#
# **One answer for each argument of `forward`, in the same order.**
#
# Here is a Function with three arguments. The distance between two points is the root of a sum of squares. Let the two points be the same, as happens when one sample appears twice in a batch. The slope of the root at 0 is infinite, the slope of the square at 0 is 0, and the chain rule multiplies the two. The result is NaN, and the next step writes it into every weight in front of this line. `Distance` says that the slope is 0 where the distance is smaller than `tiny`, a plain number.

# %% tags=["C11.10"]
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
        slope = 0 * a if distance < ctx.tiny else (a - b) / distance
        return grad * slope, -grad * slope, None


a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0])
print("recorded:", *torch.autograd.grad(((a - b) ** 2).sum().sqrt(), a))
print("Distance:", *torch.autograd.grad(Distance.apply(a, b, 1e-6), a))
print("needed:", Distance.apply(a, b, 1e-6).grad_fn.needs_input_grad)

# %% [markdown]
# The last answer of backward belongs to the number, and is None. `ctx.needs_input_grad` has one flag for each argument; after `apply` you can read it on the node. Where a flag is False, backward may return None and save itself the work.
#
# The engine checks what backward returns. Here are four other backward methods for `Distance`. Now `b` is a single number, so it is broadcast.

# %%
answers = {
    "A": lambda grad: (grad, None),
    "B": lambda grad: (torch.zeros(2), torch.zeros(()), 0.0),
    "C": lambda grad: (grad, grad, None),
    "D": lambda grad: (torch.zeros(2), torch.ones(2), None),
}


def returns(letter):
    class Returns(Distance):
        @staticmethod
        def backward(ctx, grad):
            return answers[letter](grad)

    a, b = torch.ones(2, requires_grad=True), torch.ones((), requires_grad=True)
    Returns.apply(a, b, 1e-6).backward()
    print("b.grad is", b.grad)

# %% [markdown]
# You know from lesson 03 what the engine does with a gradient that is wider than its tensor, after a broadcast.
#
# **Predict.** Which of the four raise? Answer with a list of letters.

# %%
L.predict("11.p2", None)

# %% tags=["C11.9"]
for letter in "ABCD":
    L.run(returns, letter, after="11.p2")

# %% [markdown] tags=["tells"]
# **A** gives too few answers. **B** has an answer for what is no tensor; only None would do. **C** gives one number for a tensor of two, and the engine cannot guess the other one. **D** gives two numbers for a tensor of one. The engine adds them up.
#
# (A "Variable" is a tensor.)
#
# > **The rule.** One answer for each argument: None for what is no tensor, and for a tensor a gradient of its shape. A gradient that a broadcast has widened is added up again. None is allowed for a tensor, too; then no gradient comes from here.

# %% [markdown]
# ## How do you test a Function?
#
# `torch.autograd.gradcheck(f, inputs)` compares the gradients with finite differences: it moves each number a little, and looks how the result moves (part 03b). Give it `float64`, since in `float32` the differences drown in rounding.
#
# You need such a test most where a computation leaves PyTorch, as for this table of a sensor. `x.numpy()` is refused while PyTorch records a tensor that requires a gradient. But `forward` runs with recording off, so a Function may leave PyTorch there. The slopes are 30 degrees per volt on the first piece of the table, 50 on the second, and 0 outside.

# %% tags=["C11.1"]
volts, celsius = [0.0, 1.0, 2.0], [-20.0, 10.0, 60.0]


class Sensor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.interp(x.numpy(), volts, celsius))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.where(x < 1, 30.0, 50.0) * ((x > 0) & (x < 2))


measured = torch.tensor([0.3, 1.4, 3.0]).double().requires_grad_()
for f in (Sensor, RoundThrough):
    right = torch.autograd.gradcheck(f.apply, (measured,), raise_exception=False)
    print(f.__name__, right)

# %% [markdown]
# Test a point on each piece of a formula, as here. The False is right: the backward of `RoundThrough` is not meant to be the slope of its forward.
#
# ## Does it matter where you keep a tensor?
#
# `Distance` kept its number as an attribute, `ctx.tiny`. You can also keep a *tensor* like that. `Cube` has its input in a slot, and `Stash` has it in an attribute. This program computes a cube. Then it writes into the input, as in-place activations do, and only then goes backward.

# %%
class Stash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.mine = t
        return t**3

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.mine * ctx.mine * grad


def write_between(function):
    x = torch.tensor([2.0], requires_grad=True)
    h = x + 0  # so that h is no leaf, and may be written to
    y = function.apply(h)
    h.mul_(10)
    y.backward()
    print("x.grad:", x.grad)

# %% [markdown]
# When `y` was computed, `h` was 2, and the slope there is 3 · 2² = 12.
#
# **Predict.** What is `x.grad` with `Cube`, which reads the slot, and what is it with `Stash`, which reads the attribute? Answer with a list of two, the slot first. Each entry is a number, or `"error"` if that backward raises.

# %%
L.predict("11.p3", None)

# %% tags=["C11.4", "P17"]
L.run(write_between, Cube, after="11.p3")
L.run(write_between, Stash, after="11.p3")

# %% tags=["engine", "P17"]
def both():
    x = torch.tensor([2.0], requires_grad=True)
    h = x + 0
    slot, attribute = Cube.apply(h), Stash.apply(h)
    h.mul_(10)
    return draw(slot, attribute)


L.run(both, after="11.p3")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - The slot of `Cube` noted version 0, and `h` is at version 1: STALE. This is the check of lesson 07.
# - The node of `Stash` holds `h` as an attribute, and the picture says what that means: no version check. The right answer 12 became 1200, without a word.
# - Forward has written the attribute on `ctx`, and you see it on the node. The two are one object: what forward calls `ctx` is the later `y.grad_fn`.
#
# > **The rule.** Each tensor that backward reads goes into `save_for_backward`. Attributes of `ctx` are for all else: numbers, shapes, settings.

# %% [markdown]
# ## What does an attribute cost in memory?
#
# A tensor in a slot is let go after the backward pass. A tensor on `ctx` stays for as long as the node does. For a *result* it is worse. `Exp` keeps its result in one of the two ways, and this is the graph with the attribute.

# %%
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, in_slot):
        result = x.exp()
        if in_slot:
            ctx.save_for_backward(result)
        else:
            ctx.result = result
        return result


result = Exp.apply(x, False)
draw(result)

# %% [markdown]
# **Notice:** the dotted arrow leads from the result to its node: this is `grad_fn`. The dashed drawer says that the node keeps `result`. Each holds the other. This is a ring, and only Python's garbage collector frees it.
#
# Now we call it in both ways, and give the results no name. Are they gone?

# %% tags=["C11.5", "P17"]
gc.disable()  # an automatic collection in between would find the ring
in_slot, on_ctx = (weakref.ref(Exp.apply(x, slot)) for slot in (True, False))
print("alive: slot", in_slot() is not None, "- ctx", on_ctx() is not None)
gc.collect()
print("later: slot", in_slot() is not None, "- ctx", on_ctx() is not None)
gc.enable()

# %% [markdown]
# The result on `ctx` waited for a collection, and the one in the slot did not. A slot stores a *result* without its history, so no way leads back to the node. It adds the history when the result is read (lesson 06).
#
# ## When is a tensor really saved?
#
# So a slot must know whether its tensor is a result. Only `apply` can know that, and only when `forward` has returned. It then fills the slots. Until then `save_for_backward(*tensors)` is a single line, in PyTorch as in our engine: `self.to_save = tensors`. Here it is called twice. (None is allowed, for an optional tensor.)

# %%
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(x, x, x)
        ctx.save_for_backward(mask, x)
        print("inside of forward:", len(ctx.saved_tensors))
        return x * 1


def save_twice(mask=None):
    kept = Keep.apply(x, mask).grad_fn.saved_tensors
    print("afterwards:", len(kept), "-", kept)

# %% [markdown]
# **Predict.** Which number of saved tensors is printed inside of forward, and which afterwards? Answer with a pair.

# %%
L.predict("11.p4", None)

# %% tags=["C11.2", "C11.3"]
L.run(save_twice, after="11.p4")
L.run(save_twice, 3, after="11.p4")

# %% [markdown] tags=["tells"]
# Inside of forward no slot is filled yet. The second call has *replaced* the first, without an error: **call it once, with all tensors.** In the second run a plain number is refused, but only when `apply` fills the slots.

# %% [markdown]
# ## Build your own engine: operations of your own
#
# `ctx` is the node, and your engine has nodes already. In `my_engine.py`, write a class `Function` with one class method, `apply`, in some 20 lines:
#
# 1. Keep `args` as they came, for `forward`. From them make `inputs = [as_tensor(each) for each in args]`, for the node. A number wants no gradient, so its arrow leads to nothing. Make a `Node` of these inputs, whose rule is `cls.backward` and whose name is that of the class with `Backward` appended. Store on the node `needs_input_grad`, a tuple with one flag for each argument.
# 2. Run `cls.forward(ctx, …)` with recording off.
# 3. If recording is on and any argument wants a gradient, hang the node on the result, which now requires a gradient. If `forward` returned one of its inputs, use `result.detach()` instead, so that the input keeps its own history.
# 4. Only now save what `save_for_backward` was given, in `SavedVariable`s, where the node's `release()` finds them. Then throw the note away, since it holds the tensors, too.
# 5. Add `saved_tensors` to `Node`. And in `Node.__call__`, put a tuple around the answer of a rule that has returned a single tensor.
#
# Programs look for it where PyTorch has it: `autograd = SimpleNamespace(Function=Function)`.
#
# The usual slip is to save inside of `save_for_backward`. The result has no node yet, is taken for an input, and the ring is back.

# %%
L.build("11")

# %% [markdown]
# ## Can your backward be differentiated once more?
#
# This is the example in PyTorch's documentation of `save_for_backward`. `x` and `y` are tensors, and `z` is a plain number, so it stays on `ctx`. `w` is an *intermediate*: neither an input nor an output.

# %%
class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        w = x * z
        out = x * y + y * z + w * y
        ctx.save_for_backward(x, y, w, out)
        ctx.z = z
        return out

    @staticmethod
    def backward(ctx, grad):
        x, y, w, out = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


def inputs():
    return [torch.tensor(v).double().requires_grad_() for v in (2.0, 3.0)]


def twice(f, parts):
    x, y = inputs()
    gx, gy = torch.autograd.grad(f.apply(x, y, 4.0), (x, y), create_graph=True)
    print("gx by y:", torch.autograd.grad(gx, y, retain_graph=True)[0].item())
    print("gy by x:", torch.autograd.grad(gy, x, retain_graph=True)[0].item())
    return draw(gy, parts=parts)

# %% [markdown]
# The gradients are gx = y + y·z and gy = x + z + w, and backward returns just that, times what arrives. With `create_graph=True` a backward pass is itself recorded (lesson 13), so a gradient can be differentiated once more. (`parts` only labels nodes in the picture.) By calculus, gx by y and gy by x are the same number: 1 + z.
#
# **Predict.** Let x = 2, y = 3, z = 4. What does the engine give for gx by y, and for gy by x? Answer with a pair, such as `(7, 7)`.

# %%
L.predict("11.p5", None)

# %% tags=["C11.6"]
L.run(twice, Mix, {"x + z": (1, 1), "+ w": (2, 2)}, after="11.p5")

# %% [markdown] tags=["tells"]
# gx by y is 5 = 1 + z, as it should be. gy by x is 1, so it lacks something.
#
# **Notice:** this is gy = x + z + w. Follow the two arrows of "+ w", node 2. Arrow 0 leads to x + z, and on to `x`. The slope on this path is 1. Arrow 1, for `w`, ends at nothing, in a small open circle, like the arrow of the plain number `z` above it. `w` came out of its slot without a history: it had none, since `forward` was not recorded.
#
# `x` came out of its slot *with* its history, because it is an input. So compute `w` from it *again*, in `backward`, which is recorded now.

# %% tags=["C11.7"]
class Again(Mix):
    @staticmethod
    def backward(ctx, grad):
        x, y, *_ = ctx.saved_tensors
        w = x * ctx.z
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


def checked(f):
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        right = check(lambda *xy: f.apply(*xy, 4.0), inputs(), raise_exception=False)
        print(f"{check.__name__} of {f.__name__}:", right)


L.run(twice, Again, {"w = x · z": (1, 1), "+ w": (3, 3)}, after="11.p5")
L.run(checked, Mix, after="11.p5")
L.run(checked, Again, after="11.p5")

# %% [markdown] tags=["tells"]
# **Notice:** with `Again`, arrow 1 of "+ w" leads to node 1, the product x · z, and on to `x`. The slope on this second path is 4, and 1 + 4 is the right answer.
#
# `gradcheck` was content with both. `gradgradcheck`, which tests second derivatives, found the fault.
#
# > **The rule.** An intermediate that forward saved is a constant for the second derivative. Compute it again in backward, or forbid second derivatives.

# %% [markdown] tags=["tells"]
# The documentation forbids them. Its backward carries a decorator, `@once_differentiable`, which we had left off:

# %% tags=["C11.8"]
class Once(Mix):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return Mix.backward(ctx, grad)


def once():
    x, y = inputs()
    result = Once.apply(x, y, 4.0)
    gx, gy = torch.autograd.grad(result, (x, y), create_graph=True)
    print("gy of the plain result requires grad:", gy.requires_grad)
    gx, gy = torch.autograd.grad(result**2, (x, y), create_graph=True)
    gy.backward()


L.run(once)

# %% [markdown]
# The error came for the square, where the gradient that arrives has a history of its own. The first line shows a gap in this protection. A pass begins with a plain 1, which has no history. If such a gradient arrives, the answer requires no gradient. In a loss it is a constant that trains nothing, and nothing raises.
#
#
# ## Exercises: more, if you like
#
# The first one needs one more thing. Computing and saving can also be two methods: `forward` without `ctx`, and a second one, `setup_context`, that saves. `inputs` is the tuple of arguments, and `output` is what `forward` returned. Such a `forward` can be called on its own, and is then recorded like any other code. PyTorch's `torch.func` asks for this form.

# %% tags=["C11.11"]
class TidyCube(Cube):
    @staticmethod
    def forward(t):
        return t**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


print("on its own:", TidyCube.forward(x).grad_fn.name())
print("by apply:  ", TidyCube.apply(x).grad_fn.name())

# %% [markdown]
# **11.2 · Two methods, and right twice** (6 minutes). This is `Mix` again. Write it with `setup_context`, in such a way that first and second derivatives are right.

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


L.check("11.2", TwoMethods)

# %% [markdown]
# **11.3 · Cross-entropy in one node** (12 minutes). Write the loss of a classifier as a single Function: `scores` (N, K), `targets` (N) with whole numbers, and the result is the mean cross-entropy, a single number. The gradient of the scores is known: the softmax of the scores, minus 1 at the right answer of each row, divided by N.
#
# - Scores may be as large as 1000.
# - Keep one tensor of N · K numbers at most, beside the targets.
# - `backward` may be called twice, with `retain_graph=True`.
# - Second derivatives must be right, or refused.
#
# The check compares with finite differences in `float64`, and looks at what is kept.

# %%
class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, targets):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11.3", CrossEntropy)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C11.13** torch.round sends exactly zero to the weights that it rounds, so training does not move them; with a straight-through estimator the network learns.
# - **C11.12** A backward that writes into the gradient that comes in can change it for other nodes and for the caller, without an error.
# - **C11.9** backward must return one answer for each argument of forward: None for what is no tensor, and for a tensor a gradient of its shape, or of a shape that it could be broadcast to, or None.
# - **C11.10** needs_input_grad has one flag for each argument of forward, and plain tensors and numbers have False.
# - **C11.1** The ctx of a custom Function is the graph node itself, and forward runs with recording off.
# - **C11.4** A tensor given to save_for_backward is checked for its version when it is read; as an attribute of ctx it is not, and after a write the gradient can be wrong without an error.
# - **C11.5** A result kept as an attribute of ctx waits for the garbage collector; a result given to save_for_backward is freed with its last name.
# - **C11.3** save_for_backward only notes what to keep: inside forward saved_tensors is still empty.
# - **C11.2** Every call of save_for_backward replaces the call before; None is kept as None, and anything but a tensor or None is refused when apply records.
# - **C11.6** An intermediate that forward saved is a constant to the second derivative, which then lacks a term without any error.
# - **C11.7** gradcheck passes a Function whose second derivative is wrong, and gradgradcheck does not.
# - **C11.8** once_differentiable turns a wrong second derivative into an error; but if the gradient that came in has no history, the result has none either, and in a loss it is a constant, without an error.
# - **C11.11** With setup_context, forward takes no ctx, and called on its own it is recorded like any other code.
#
# **Left out:** `jvp` and rules for `vmap`, which PyTorch's Functions may have and ours have not.
#
# **Read on in our engine:** `Function.apply` in `course_lib/engine/function.py`.
#
# **Next:** [lesson 12](12_hooks.ipynb), hooks: how to look into a backward pass that is not yours. Or first part [11b](11b_functions_in_the_wild.ipynb): Functions that people have posted.
