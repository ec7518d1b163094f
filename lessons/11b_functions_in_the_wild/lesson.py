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
# # 11b · Functions in the wild: which lines are right, wasted, or wrong?
#
# **You need an operation that PyTorch does not have, and somebody has posted it: a Function of twenty lines. You paste it, it runs, and the loss falls. But nobody has told you what its backward assumes, what it keeps, and what happens when your program is not quite the program for which it was written.**
#
# This part needs lesson 11, and no later lesson needs this part. You read Functions that people have posted and asked about, written anew and short, and you write or repair some of them.
#
# After this lesson you can
#
# - tell whether a posted backward is called at all, and by which node;
# - say which tensors a Function saves for nothing, and what that costs;
# - say what a forward must tell the engine when it writes in place, or when a result has no gradient;
# - write the backward of picking numbers out of a tensor.
#
# **Minutes** 86, and 44 for more exercises · **Needs** lessons 07, 08 and 11 · **Out of scope** second derivatives (lesson 13)
#
# [← 11 Custom Functions](11_custom_functions.ipynb) · [all lessons](home.ipynb) · [12 Hooks →](12_hooks.ipynb)

# %%
import course_lib as torch
from backscope import compare, draw
from coursekit import grids, lesson

L = lesson("11b")

# %%
L.stage.pooled(torch)

# %% [markdown]
# This is one of the posted Functions. It gives the mean of each region of an image. `gradcheck` is content with it, so its numbers are right. Yet it keeps more numbers than the whole image has. You will write it better in the third section, and then read it line by line.
#
# ## Is the posted backward called at all?
#
# An early tutorial of PyTorch defined a module with two methods, `forward` and `backward`, and people still write such modules. Here are three that are to limit gradients to ±1, and to leave the values as they are. (They return `x * 1`, since of a Function that returns its own input `apply` hands out a view.)

# %%
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
        return grad.clamp(-1, 1)


class B(torch.nn.Module):
    def forward(self, x):
        return ClipFunction.apply(x)


class C(torch.nn.Module):
    def forward(self, x):
        return ClipFunction.forward(None, x)


def limited(module):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = module(x)
    (y * torch.tensor([10.0, 0.5])).sum().backward()
    print(type(module).__name__, x.grad, "by way of", y.grad_fn.name())

# %% [markdown]
# Without any limit, `x.grad` would be `[10, 0.5]`.
#
# **Predict.** What is it with A, with B and with C? Answer with a list of three lists of two numbers.

# %%
L.predict("11b.p1", None)

# %% tags=["C11b.1"]
for module in (A(), B(), C()):
    L.run(limited, module, after="11b.p1")

# %% [markdown] tags=["tells"]
# Only B limits anything. The names of the nodes tell why.
#
# - **A.** Autograd knows nodes, and no modules. A method `backward` on a module is a *fake*: it has the right name, and autograd never calls it.
# - **B.** The module's `forward` calls `apply`, which hangs the Function's own node on the result.
# - **C.** `forward` of a Function, called by hand, is a function like any other. Its product was recorded as a product.
#
# > **The rule.** What counts in a backward pass is the node on the result, and only `apply` makes one of your class. When in doubt, print `y.grad_fn`.

# %% [markdown]
# ### Exercise: a module that does what it says
#
# **11b.1 · A fake backward** (6 minutes). This layer was posted in a forum: "It should leave the values as they are and multiply the gradient by `factor`. It leaves the gradient as it is, too." Repair it. Each layer has a factor of its own; what counts is the factor at the time of forward. Whatever else is computed from the input must not notice the layer, and an input that requires no gradient is welcome.

# %%
class ScaleGradient(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x

    def backward(self, grad):
        return grad * self.factor


L.check("11b.1", ScaleGradient)

# %% [markdown]
# ## Does it see a tensor that comes in a list?
#
# A Function that adds up many tensors takes the first one and a list of the others.

# %%
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first, others):
        return first + sum(others)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def total():
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    Total.apply(a, [b]).backward()
    print("a:", a.grad, " b:", b.grad)
    return draw(Total.apply(a, [b]))

# %% [markdown]
# **Predict.** What are the two gradients? Answer with a pair; each entry is a number, None or `"error"`.

# %%
L.predict("11b.p2", None)

# %% tags=["C11b.2"]
L.run(total, after="11b.p2")

# %% [markdown] tags=["tells"]
# **Notice:** one arrow leaves the node, to the accumulator of `a`. `b` does not appear.
#
# `apply` looks at its own arguments, and not into lists. A tensor in a list is not tracked, so it gets no gradient. Nothing raises.
#
# > **The rule.** If your Function takes many tensors, give them to `apply` one by one: `apply(a, *others)`.

# %% [markdown]
# ## What does it keep for nothing?
#
# Now the pooling of the beginning. Write its backward yourself before you read the posted one.
#
# ### Exercise: superpixel pooling
#
# **11b.2 · Superpixel pooling** (8 minutes). An image (N, C, H, W) was cut into K regions; `labels` (H, W) says which region, 0 to K − 1, each pixel belongs to. `forward` gives the mean colour of each region, (N, C, K): `member` is a table of pixels and regions with a 1 where they belong together. Write `backward`. Labels are integers and have no gradient. Which pixels does one mean depend on, and how strongly?

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


L.check("11b.2", SuperpixelMean)

# %% [markdown]
# ### As posted
#
# This is the posted version, with `spx` for the labels. Go through the numbered lines: which would you leave as they are?

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


def relu_after():
    x = torch.ones(1, 3, 8, 8, requires_grad=True)
    img, spx = x * 1, torch.arange(64).reshape(8, 8) // 16
    out = Pooled.apply(img, spx)
    img.relu_()
    out.sum().backward()
    print("x.grad has the shape", tuple(x.grad.shape))

# %% [markdown]
# In `relu_after`, somebody reuses the memory of the image after the call, as in-place activations do.
#
# **Predict.** How many of the four saved tensors does this backward need for its answers? And does the program run, `"fine"`, or does it raise, `"error"`? Answer with a pair, such as `(4, "fine")`.

# %%
L.predict("11b.p3", None)

# %% tags=["C11b.3"]
L.run(relu_after, after="11b.p3")

# %% [markdown] tags=["tells"]
# Backward computes with `pool_size` and `spx` only. With these two, 68 numbers would be kept instead of 261. But each reading of `saved_tensors` checks all slots. So the program raises because of `img`, the largest of the four, with which no line computes.
#
# - **1 and 4** are a waste. No slope of a mean depends on the values of `img`, and `pool_size` has K entries, so `K` need not be saved.
# - **2 and 3** are right. A product with a table of zeros and ones adds up the pixels of each region. The division writes in place, but into a fresh result; `img /= 2` would write into the caller's tensor.
# - **5** is right. That a harmless `relu_` raises here is the fault of line 4.
# - **6** does too much: whole numbers have no gradient, and None is enough.
#
# > **The rule.** Save what backward computes with, and nothing else.

# %% [markdown]
# ## What if one of its results has no gradient?
#
# A Function may return a tuple, and its backward is then given one gradient for each part. The second result of `Twin` is made by `round`, whose slope is 0, so its backward has nothing to send for it. `Marked` is the same, but its forward says so. Somebody makes a loss of the second result.

# %%
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


def loss_of_rounded(function):
    x = torch.tensor(2.0, requires_grad=True)
    _, rounded = function.apply(x)
    rounded.backward()
    print("x.grad:", x.grad)

# %% [markdown]
# No loss has used the first result, so the engine makes a gradient of zeros for it.
#
# **Predict.** What is `x.grad` with `Twin`, and what with `Marked`? Answer with a pair; each entry is a number, None, or `"error"` if something raises.

# %%
L.predict("11b.p4", None)

# %% tags=["C11b.4"]
L.run(loss_of_rounded, Twin, after="11b.p4")
L.run(loss_of_rounded, Marked, after="11b.p4")

# %% [markdown] tags=["tells"]
# Unmarked, this loss trains nothing, and nothing raises. Marked, it raises at once.

# %% [markdown]
# With forty large results, it is a waste to make (*materialize*) zeros for those that were not used. After `set_materialize_grads(False)` backward gets None instead:

# %% tags=["C11b.5"]
class Frugal(Twin):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x.round()


doubled, _ = Frugal.apply(torch.tensor(2.0, requires_grad=True))
doubled.backward()

# %% [markdown]
# ### Exercise: QuickCumsum
#
# **11b.3 · Repair QuickCumsum** (10 minutes). Bird's-eye-view detection adds up camera features that fall into the same cell of a map. Rows are sorted by `rank`, the number of their cell; `place` has their coordinates, as floats: data, for which nobody wants a gradient. Take a running total, read it at the last row of each cell (`kept`), and subtract neighbours: this gives a sum for each cell, without a loop. `backward` should send each cell's gradient to all its rows. We have broken the version below: it raises, and something else is wrong that raises nothing. Ranks 5, 5, 7, 9, 9 have sums in rows 0, 1, 2 of the result: which one must each of the five rows read?

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


L.check("11b.3", SegmentSum)

# %% [markdown]
# ## May it borrow another's backward?
#
# A posted convolution of spikes, srmConv, calls the `forward` of *another* Function in its forward, and the other's `backward` in its backward. In this model of it, the other Function is the `Cube` of lesson 11.

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


def slope_of(function):
    x = torch.tensor([1.0], requires_grad=True)
    function(x).backward()
    print("x.grad:", x.grad)

# %% [markdown]
# The result is (10x)³ = 1000x³, so the slope at 1 is 3000.
#
# **Predict.** What is `x.grad` with `Borrows`: a number, or `"error"`?

# %%
L.predict("11b.p5", None)

# %% tags=["C11b.6"]
L.run(slope_of, lambda x: Borrows.apply(x, 2), after="11b.p5")
L.run(slope_of, lambda x: Cube.apply(x * 10), after="11b.p5")

# %% [markdown] tags=["tells"]
# `Borrows` gives 30 instead of 3000, and no error. `Cube.backward` reads `ctx.saved_tensors`, and on this ctx line 2 has put `x` there, which is 1. It takes that for the t = 10 of line 1.
#
# > **The rule.** If you want to use another Function, call its `apply`, as in the second run. Its node then has a ctx of its own.
#
# Line 3 is a waste: the stride is a number, and may be kept as it is.

# %% [markdown]
# ## Does it write into its argument?
#
# A forward may write in place, but the engine sees only what goes into `apply` and what comes out. So forward has to say so, with `ctx.mark_dirty(x)`, and return `x`. Here is a Function that can do it in both ways.

# %%
class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mark):
        if mark:
            ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, grad):
        return 3 * grad, None


def written(mark):
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 1
    before = draw(h)
    result = Triple.apply(h, mark)
    print("h is", h.item(), "and result is h:", result is h)
    print("the slope of h:", torch.autograd.grad(h, x, retain_graph=True)[0].item())
    return compare(before, draw(h))

# %% [markdown]
# **Predict.** What is the slope of `h` without the mark, and what with it? Answer with a pair. Each entry is a number, or `"error"`.

# %%
L.predict("11b.p6", None)

# %% tags=["C11b.7"]
L.run(written, False, after="11b.p6")
L.run(written, True, after="11b.p6")

# %% [markdown] tags=["tells"]
# **Notice:** in both runs h is 6, three times `x`, so 3 is right.
#
# - *Unmarked,* the returned argument is handed out as a *view*. Only this view knows of your node. `h` still hangs on `x * 1`, and its slope is wrong.
# - *Marked,* argument and result are one tensor, and `h` itself moves on to the new node. The write is a recorded one, and follows the rules of recorded writes. (`h` is at version 2: `mul_` counted one, and the mark another.)

# %% [markdown]
# ## What is the backward of picking?
#
# A loss takes, from ten scores of an image, the one of the right digit. A language model takes, from a whole table, the rows of the words that occur. PyTorch's name for this is **`gather`**.
#
# `x.gather(1, index)` goes along dimension 1, which means along each row. For each place of `index` it looks up one number: `out[i][j] = x[i][index[i][j]]`. So the result has the shape of `index`:

# %%
x, index = torch.tensor([[10.0, 20.0, 30.0, 40.0]]), torch.tensor([[2, 2, 0]])
tables = ["x", x.tolist(), "gather at", "index", index.tolist(), "=", "picked", x.gather(1, index).tolist()]
grids(tables, colours=["columns", index.tolist(), index.tolist()])

# %% [markdown]
# **Notice:** each column of `x` has a colour, and so has each index that names this column, and each number that came from there. The 30 is picked twice, the 20 and the 40 not at all. In backward a gradient arrives for each picked number. Where does it go?

# %%
def picked(gradients):
    x = torch.tensor([[10.0, 20.0, 30.0, 40.0]], requires_grad=True)
    x.gather(1, index).backward(gradients)
    print("x.grad:", x.grad)
    print("scatter_add:", torch.zeros(1, 4).scatter_add(1, index, gradients))
    print("scatter loses some:", (torch.zeros(1, 4).scatter(1, index, gradients).sum() < gradients.sum()).item())

# %% [markdown]
# **Predict.** The gradients 1, 2 and 4 arrive for the three picked numbers. What are the four numbers in `x.grad`? Answer with a list.

# %%
L.predict("11b.p7", None)

# %% tags=["C11b.8"]
L.run(picked, torch.tensor([[1.0, 2.0, 4.0]]), after="11b.p7")

# %% [markdown] tags=["tells"]
# Each gradient goes back to the place that was read. The 30 was read twice, and 1 and 2 arrived, so its slope is 1 + 2 = 3. Numbers that nobody read get 0.
#
# The operation that does this is called **`scatter_add`**: it *adds* each number to the place that the index names. There is also a `scatter` without "add". It overwrites, so a part of the gradient is lost without an error: its numbers add up to less than the 7 that arrived.
#
# > **The rule.** The backward of reading is adding: what was read twice gets the sum.

# %% [markdown]
# Now you can write `gather` yourself, and use it in a loss. Cross-entropy is minus the logarithm of the probability of the right answer. `log_softmax` gives the logarithms of all probabilities, and picking takes the right ones. (`targets[:, None]` makes a column of the targets.)

# %% tags=["C11b.9"]
class Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape  # of x, backward needs no more than this
        return x.gather(1, index)

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad.dtype).scatter_add(1, index, grad), None


scores = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 1.0]], dtype=torch.float64, requires_grad=True)
targets = torch.tensor([0, 1, 2])
print("tested:  ", torch.autograd.gradcheck(Pick.apply, (scores, targets[:, None])))
log_p = scores.log_softmax(1)
print("picked:  ", round(-Pick.apply(log_p, targets[:, None]).mean().item(), 4))
print("built in:", round(torch.nn.functional.cross_entropy(scores, targets).item(), 4))
print("a table: ", round(-log_p[:, targets].mean().item(), 4), "of shape", tuple(log_p[:, targets].shape))

# %% [markdown]
# The last line is another loss. `log_p[:, targets]` takes *all three* columns from *every* row. It can be differentiated, and a network trains on it without a word. Print the shape of what you have picked: it should have one number for each sample.
#
# ## Exercises: more, if you like
#
# **11b.4 · A spiking neuron** (12 minutes). Spike trains `x` (N, C, T) are filtered by `weight` (O, C, K): the filtered value at a step is made of this step and the K − 1 before it. Where the result `u`, the *potential*, reaches the threshold, the neuron fires. The step's true slope is 0 almost everywhere, so nothing would learn. Spiking networks therefore *replace* it: take steepness · s · (1 − s) with s = sigmoid(steepness · (u − threshold)), the slope of a smooth step. That, times the gradient that arrives, is the gradient of `u`. From `u` back to `x` and `weight`, use the true backward of the convolution. gradcheck of such a Function must fail, and does; the check compares with finite differences of the smooth neuron. Second derivatives should be refused. (You may use `torch.autograd.grad` inside `backward`, where nothing is recorded unless you ask for it.)

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


L.check("11b.4", Spikes)

# %% [markdown]
# **11b.5 · The last state** (8 minutes). A recurrent network has read a batch of sentences. `states` has the shape (batch, time, hidden): the state after each word. The sentences have different lengths, and were filled up at the end. Return the state after the last *real* word of each, shape (batch, hidden). `lengths` is a tensor of whole numbers, one for each sentence, and none is 0. Any way that is right counts; `gather` does it without a loop. (What shape must the index have, if it has to name a place for each number of the result?)

# %%
def last_states(torch, states, lengths):
    return states[:, -1]


L.check("11b.5", last_states)

# %% [markdown]
# **11b.6 · In place** (12 minutes). `Scale_.apply(h, k)` multiplies `h` in place by a tensor `k` of one element, of shape `()` or `(1,)`, and returns `h`. All first derivatives must be right, also those of code that goes on using `h`, and for `k` = 0. If `k` is overwritten before backward, that must raise. A copy of `h` may be kept only if somebody needs it: who does? And what must you say about second derivatives, since that copy is made in forward?

# %%
class Scale_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...


L.check("11b.6", Scale_)

# %% [markdown]
# **11b.7 · Which happens?** (7 minutes). `Cube` and `Triple` are those above. `ExpInSlot` and `ExpOnCtx` compute `x.exp()` and keep their result, the first by `save_for_backward`, the second as an attribute of ctx. `Pair` calls `ctx.save_for_backward(x, 3)`. `Times` multiplies two tensors, and its backward ends with `return grad * k`. `x = torch.tensor([1.0, 2.0], requires_grad=True)`, and `k` requires grad too. At the end `y.sum().backward()` is called. Answer with `"fine"`, `"raises now"` (before backward), `"raises at backward"` or `"silently wrong"` (`x.grad` is not the gradient of the formula for the `y` that you have at the end).
#
# | | program | | program |
# | --- | --- | --- | --- |
# | A | `h = x * 1; y = ExpInSlot.apply(h); h.mul_(10)` | E | `y = Pair.apply(x)` |
# | B | `y = ExpInSlot.apply(x); y.mul_(2)` | F | `h = x * 1; Triple.apply(h, False); y = h * 1` |
# | C | `y = ExpOnCtx.apply(x); y.mul_(2)` | G | `y = Triple.apply(x, True)` |
# | D | `h = x * 1; y = Cube.apply(h); h.detach().mul_(10)` | H | `y = Times.apply(x, k)` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("11b.7", happens)

# %% [markdown]
# **11b.8 · Diagnose** (5 minutes). Seven bug reports about custom Functions. What is the cure? Choose from `"save_for_backward"`, `"needs_input_grad"`, `"once_differentiable"`, `"mark_dirty"`, `"mark_non_differentiable"`, `"set_materialize_grads"`. One of them cures two.
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

L.check("11b.8", cures)

# %% [markdown]
# ## What you can now claim
#
# | a Function says | which means | if it is left out |
# | --- | --- | --- |
# | `ctx.save_for_backward(…)` | keep these tensors, check them, release them | no check; memory that waits |
# | `ctx.mark_dirty(x)` | forward has written into `x` | a wrong gradient |
# | `ctx.mark_non_differentiable(r)` | this output has no gradient | a loss that trains nothing |
# | `ctx.set_materialize_grads(False)` | None for unused outputs | memory full of zeros |
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C11b.1** A method called backward on an nn.Module is never called by autograd.
# - **C11b.2** A tensor inside of a list that is given to apply is not tracked: it gets no gradient, and nothing raises.
# - **C11b.3** Each reading of saved_tensors checks all slots: also a tensor that backward does not use raises, if it was overwritten.
# - **C11b.4** A floating-point output that is not marked non-differentiable requires grad if an input does; if backward has no gradient for it, a loss made of it trains nothing without an error.
# - **C11b.5** For an output that nobody used, backward gets zeros, or None after set_materialize_grads(False).
# - **C11b.6** forward and backward of one Function, called on the ctx of another, save into and read from the slots of that other one, and the gradient can be wrong without an error.
# - **C11b.7** Without mark_dirty the gradient through the argument of an in-place forward can be silently wrong; with it, argument and result are the same tensor.
# - **C11b.8** gather reads numbers by their places, and its backward adds each gradient to the place that was read: a number that was read twice gets the sum.
# - **C11b.9** Minus the mean of log_softmax, gathered at the targets, is the cross-entropy; indexing with `[:, targets]` makes a table of N times N numbers, whose mean is another loss, and nothing raises.
#
# **Left out:** Functions written in C++ or CUDA, for which the same sentences hold.
#
# **Next:** [lesson 12](12_hooks.ipynb), hooks: how to look into a backward pass that is not yours.
