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
# # Gallery: every instrument, every option, one picture of every kind
#
# A reference to look things up in, not a lesson. Begin with what you see, and follow the link to the picture. Above each picture stands the program that makes it, and a sentence on what to notice. With `import torch` in the first cell the same pictures show real PyTorch's graphs. `help(draw)` says all parameters and limits, and so does `help` of the others.
#
# | what you see | what to call | what it looks like |
# | --- | --- | --- |
# | *modified by an inplace operation* | `explain()`; a script: `python -m backscope train.py` | [An error explained](#An-error-explained) |
# | you want the line that wrote | `with watch() as log:`, `log.only("version")` | [Which line wrote](#Which-line-wrote) |
# | *backward through the graph a second time* | `draw(loss)`: who is FREED | [After backward: .grad, a retained grad, freed slots](#After-backward:-.grad,-a-retained-grad,-freed-slots) |
# | *element 0 of tensors does not require grad* | `draw(loss)`: where the history ends | [Nothing to differentiate](#Nothing-to-differentiate) |
# | `.grad` is None | `draw(model, loss)`: what no gradient reaches | [A leaf that no gradient reaches](#A-leaf-that-no-gradient-reaches) |
# | `.grad` is twice what it should be | `compare(before, after)`; `step(loss)` | [What backward changed](#What-backward-changed) |
# | the gradient is wrong and nothing raises | `draw(loss)`: one memory with two counters | [detach, .data and clone](#detach,-.data-and-clone) |
# | a gradient is 0 or NaN, and you want the first node where it is | `step(loss)` | [A diamond, step by step](#A-diamond,-step-by-step) |
# | memory grows, or is too small | `with ledger() as held:`, `held.plot()` | [Who holds how many bytes](#Who-holds-how-many-bytes) |
# | a view may not be written to | `draw(view)` | [A view that may not be used any more](#A-view-that-may-not-be-used-any-more) |
# | a hook is not called, or in the wrong order | `draw(loss)`, then `step(loss)` | [Hooks, where they are registered](#Hooks,-where-they-are-registered) |
# | a custom Function keeps too much | `draw(y)`: what ctx holds | [A tensor kept on ctx, without a version check](#A-tensor-kept-on-ctx,-without-a-version-check) |
# | the graph is too large to read | `draw(model, loss, open="blocks.1")` | [open: one part of a large graph](#open:-one-part-of-a-large-graph) |
# | a model trains, and some of it does not | `gradients(model)` | [What is in each .grad](#What-is-in-each-.grad) |
# | something changed, and you do not know what | `compare(before, after)` | [What a write changed](#What-a-write-changed) |
# | you want to see what one line does, or which line did it | `film("…")`, `%%film` | [A film of an error](#A-film-of-an-error) |

# %%
import course_lib as torch
from backscope import compare, draw, explain, film, gradients, ledger, step, watch
from coursekit import expect_error

draw.legend()

# %% [markdown]
# ## draw: what a graph keeps
#
# ### A tensor used twice is saved twice
#
# Notice: `x * x` saves x two times, as `self` and as `other`: two slots, one tensor.

# %%
x = torch.tensor([3.0], requires_grad=True)
y = x * x
draw(y)

# %% [markdown]
# ### A diamond
#
# Notice: x is used by one node, a by two: two arrows end at SinBackward0, so it waits for two gradients.

# %%
x = torch.tensor([2.0], requires_grad=True)
a = x.sin()
b = a * 3
c = a.exp()
loss = b * c
draw(loss)

# %% [markdown]
# ### Leaves, constants and an index
#
# Notice: Only w has an AccumulateGrad. c and i are grey: they require no grad, but c is saved all the same, for w.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.tensor([3.0, 4.0])
i = torch.tensor([0, 1])
loss = (w * c)[i].sum()
draw(loss)

# %% [markdown]
# ### After backward: .grad, a retained grad, freed slots
#
# Notice: The slot of ExpBackward0 says FREED; x has its `.grad`, and so has h, because it was asked to retain it.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
h.retain_grad()
loss = h.sum()
loss.backward()
draw(loss)

# %% [markdown]
# ### A stale saved tensor, before backward
#
# Notice: x was saved at version 0 and is now at version 1: STALE, in words and with a thick border. Nothing has failed so far.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([0.5, 0.25])
loss = (w * x).exp().sum()
x.add_(1)
draw(loss)

# %% [markdown]
# ### A stale saved tensor, after the backward that failed
#
# Notice: The same program, one line further. Backward reached ExpBackward0, which ran and let go of its result (FREED), and failed at MulBackward0, which still holds the stale x.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([0.5, 0.25])
loss = (w * x).exp().sum()
x.add_(1)
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss.backward()
draw(loss)

# %% [markdown]
# ## draw: memory that is shared, and writes
#
# ### A view and its base share one memory
#
# Notice: h and its view v stand in one dashed outline: one memory and one version counter. A dashed purple arrow leads from h to v.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 2
v = h[0:2]
loss = v.sum()
draw(loss)

# %% [markdown]
# ### A write through a view makes history anew
#
# Notice: `v.mul_` wrote into the memory of h, so h has a new history: CopySlices, which knows which part was written. The grad_fn of v was made anew.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 2
v = h[0:2]
v.mul_(10)
loss = h.sum()
draw(loss, v)

# %% [markdown]
# ### Three writes in a row
#
# Notice: Each write gave y a new node and one more version. ExpBackward0 had saved y itself, so what it saved is STALE.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.mul_(2)
y.add_(1)
y[0] = 0.0
draw(y)

# %% [markdown]
# ### detach, .data and clone
#
# Notice: d shares memory and counter with y, p shares the memory only (a counter of its own: writes through p are not noticed), c shares neither.

# %%
x = torch.tensor([1.0, 4.0], requires_grad=True)
y = x * 3
d = y.detach()
p = y.data
c = y.clone()
loss = (c * c).sum()
draw(loss, d, p)

# %% [markdown]
# ## draw: special nodes, hooks, Functions
#
# ### A node with several outputs
#
# Notice: UnbindBackward0 has two outputs. Where an arrow that leads to it does not say which one, it is output 0.

# %%
x = torch.tensor([1.0, 4.0], requires_grad=True)
a, b = (x * 2).unbind()
loss = a * b
draw(loss)

# %% [markdown]
# ### A view that may not be used any more
#
# Notice: a and b came from `unbind`, then their base was written to. PyTorch refuses to use them from now on; the words above the picture are its own.

# %%
x = torch.tensor([1.0, 4.0], requires_grad=True)
y = x * 2
a, b = y.unbind()
y.add_(1)
loss = y.sum()
draw(loss, a)

# %% [markdown]
# ### Hooks, where they are registered
#
# Notice: Hooks stand on what they were registered on: those of tensors on x and h, those of nodes on MulBackward0.

# %%
x = torch.tensor([1.0, 4.0], requires_grad=True)
h = x * 3
h.register_hook(lambda grad: None)
h.grad_fn.register_prehook(lambda grads: None)
h.grad_fn.register_hook(lambda grads_in, grads_out: None)
x.register_hook(lambda grad: None)
x.register_post_accumulate_grad_hook(lambda leaf: None)
loss = h.sum()
draw(loss)

# %% [markdown]
# ### Saved tensors packed by hooks
#
# Notice: What a pack hook returned is no tensor of the graph any more: `packed by hooks`, without a version to check.

# %%
x = torch.tensor([1.0, 4.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
    loss = (x * x).sum()
draw(loss)

# %% [markdown]
# ### What a custom Function saved
#
# Notice: What `save_for_backward` kept has slots with versions, like that of any node.

# %%
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, factor):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x * y * factor

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.factor, grad * x * ctx.factor, None

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
z = Scale.apply(x, y, 10)
draw(z)

# %% [markdown]
# ### A tensor kept on ctx, without a version check
#
# Notice: A tensor put on `ctx` by hand is held as well, but nothing checks its version.

# %%
class Remember(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.x * grad

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = Remember.apply(x).sum()
draw(loss)

# %% [markdown]
# ### The graph of a gradient
#
# Notice: With `create_graph=True` the gradient g has a graph of its own: what PowBackward0 did to compute it.

# %%
x = torch.tensor([2.0], requires_grad=True)
y = x**3
(g,) = torch.autograd.grad(y, x, create_graph=True)
draw(g)

# %% [markdown]
# ## draw: what is missing
#
# ### A leaf that no gradient reaches
#
# Notice: `detach()` cut the graph: no gradient reaches v from here, and the text above the picture says so.

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
h = (v * 2).detach()
loss = (w * h).sum()
draw(loss, v)

# %% [markdown]
# ### Only a leaf
#
# Notice: A leaf has no grad_fn, so there is nothing behind it.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
draw(x)

# %% [markdown]
# ### Nothing to differentiate
#
# Notice: Nothing here requires grad, so nothing was recorded.

# %%
c = torch.ones(2)
s = c.sum()
draw(s)

# %% [markdown]
# ## draw: models, options, large graphs
#
# ### A model, by the names of its parameters
#
# Notice: Give `draw` the model as well, and the parameters have their names in it.

# %%
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
for weights in model.parameters():
    weights.data.fill_(0.25)
loss = model(torch.ones(5, 3)).mean()
draw(model, loss)

# %% [markdown]
# ### A training step of matrices
#
# Notice: The update wrote after backward, so nothing failed. But w2 had been saved by MmBackward0 and is STALE now: a second pass over this graph would fail. w1 was not saved, because X requires no grad.

# %%
X, target = torch.ones((4, 3)), torch.zeros((4, 2))
w1, b1 = torch.ones((3, 5), requires_grad=True), torch.zeros(5, requires_grad=True)
w2, b2 = torch.ones((5, 2), requires_grad=True), torch.zeros(2, requires_grad=True)
h = (X @ w1 + b1).relu()
loss = ((h @ w2 + b2 - target) ** 2).mean()
loss.backward(retain_graph=True)
with torch.no_grad():
    for parameter in (w1, b1, w2, b2):
        parameter.sub_(parameter.grad * 0.01)
del parameter
draw(loss)

# %% [markdown]
# ### names: for what has no variable
#
# Notice: Variables of yours have their names by themselves. What has none, such as the result inside an expression, gets one with `names`: a dictionary, a list for the tensors that are drawn, or a model.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
kept = []

def square(x):
    kept.append(x * x)
    return kept[-1]

loss = square(x).sum()
draw(loss, names={"the square": kept[0]})

# %% [markdown]
# ### detail=2: types, shapes and numbers
#
# Notice: `detail=2` adds element types, shapes, and the numbers that a node keeps besides tensors.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x**3).sum(0, keepdim=True)
draw(y, detail=2)

# %% [markdown]
# ### detail=0: the bare graph
#
# Notice: `detail=0` leaves out contents and saved tensors: the bare graph.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x**3).sum()
draw(y, detail=0)

# %% [markdown]
# ### slopes=True: what backward multiplies by
#
# Notice: each arrow has its slope. Three paths lead from `y` back to `x`: multiply along each of them, then add: 3 + 3 + 1.

# %%
x = torch.tensor(3.0, requires_grad=True)
y = x * x + x
draw(y, slopes=True)

# %% [markdown]
# ### An MLP of 200 layers
#
# Notice: 603 backward nodes. A layer is a box, and 198 layers that are made of the same nodes share one; the first and the last stand alone. The second line says how to look inside.

# %%
layers = [layer for _ in range(200) for layer in (torch.nn.Linear(2, 2), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(2, 1))
for weights in model.parameters():
    weights.data.fill_(0.25)
loss = model(torch.ones(3, 2)).sum()
draw(model, loss)

# %% [markdown]
# ### open: one part of a large graph
#
# Notice: `open` names a module, here the third layer: its two nodes stand in full, and all that comes before and after is folded. Without a model, `open=(9, 20)` shows the nodes with these numbers.

# %%
layers = [layer for _ in range(200) for layer in (torch.nn.Linear(2, 2), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(2, 1))
for weights in model.parameters():
    weights.data.fill_(0.25)
loss = model(torch.ones(3, 2)).sum()
draw(model, loss, open="4")

# %% [markdown]
# ### parts: names for some nodes
#
# Notice: `parts` puts a band with a name behind some nodes, given by their numbers: here what forward has recorded, and what a backward pass with create_graph=True has added.

# %%
x = torch.tensor(2.0, requires_grad=True)
y = x**3
(slope,) = torch.autograd.grad(y, x, create_graph=True)
draw(y, slope, parts={"forward": (1, 1), "backward, recorded": (2, 4)})

# %% [markdown]
# ### A long loop
#
# Notice: A loop of 60 rounds is folded as well; the first and the last round stand in full.

# %%
x = torch.tensor([1.0], requires_grad=True)
h = x
for _ in range(60):
    h = (h * 2).sin()
draw(h)

# %% [markdown]
# ### A hundred leaves
#
# Notice: Of a hundred leaves eight stand in full; the other 92 are one box.

# %%
total = torch.stack([torch.tensor([1.0], requires_grad=True) for _ in range(100)]).sum()
draw(total)

# %% [markdown]
# ## compare: two moments
#
# ### What a write changed
#
# Notice: Two pictures in one layout. Yellow and a word mark what changed: y has another grad_fn, and the result saved by ExpBackward0 is stale.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
loss = (y * 3).sum()
before = draw(loss)
y.mul_(2)
compare(before, draw(loss))

# %% [markdown]
# ### What backward changed
#
# Notice: Backward changed two things: it let go of both slots, and x has a `.grad`.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
before = draw(loss)
loss.backward()
compare(before, draw(loss))

# %% [markdown]
# ## step: a backward pass, one node at a time
#
# ### A diamond, step by step
#
# Notice: Turn the pages with the buttons or the arrow keys. SinBackward0 waits for 2, then for 1, then it runs, once, on the sum of what arrived.

# %%
x = torch.tensor([2.0], requires_grad=True)
a = x.sin()
b = a * 3
c = a.exp()
loss = b * c
step(loss)

# %% [markdown]
# ### A pass that begins with a gradient, and a part of it
#
# Notice: A pass may begin with a gradient of your own, one number for each output; `.part(1, 2)` is two frames of it. What comes back has `.order`, the nodes as they ran, and `.error`.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).exp()
step(y, gradient=torch.tensor([1.0, 0.0])).part(1, 2)

# %% [markdown]
# ## film: a program, line by line
#
# ### A film of an error
#
# Notice: Turn the pages with the buttons, the slider or the arrow keys; every box keeps its place. The line that has run has a ground, what it changed is amber. In frame 5 `h *= gate` makes what Tanh saved STALE; in frame 7 `backward()` raises, and the line that is to blame has an edge. The error ends the film and is not raised: `.error` holds it. In a notebook of your own, `%%film` on the first line of a cell films that cell.

# %%
film("""
w = torch.tensor([2.0, 1.0, 0.5], requires_grad=True)
x = torch.tensor([0.2, 0.4, 0.8])
gate = torch.tensor([0.0, 2.0, 2.0])
h = torch.tanh(w * x)
h *= gate
loss = h.sum()
loss.backward()
""")

# %% [markdown]
# ### A film of two passes
#
# Notice: The second `backward()` adds to `w.grad`, and each pass frees what its graph saved. What a name lets go of is seen to go. `s` looks at the memory of `w`: a write through `.data` changes both, and what Mul saved, and no counter moves.

# %%
film("""
w = torch.tensor([1.0, 3.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss = (w * w).sum()
loss.backward()
w.grad.zero_()
s = w.detach()
out = (w * s).sum()
w.data.mul_(2)
out.backward()
""")

# %% [markdown]
# ### nodes=True: backward node by node
#
# Notice: The statement `loss.backward()` has a frame for each node that runs: what it got, what it sent to whom, what it freed.

# %%
film(
    """
x = torch.tensor([2.0], requires_grad=True)
a = x.sin()
loss = a * a.exp()
loss.backward()
""",
    nodes=True,
)

# %% [markdown]
# ### film of a function, with loops and calls entered
#
# Notice: `film(function, *args)` calls the function and films its body. A loop shows each of its turns, and stays in its place. Functions that a program defines itself are entered.

# %%
def descend(w, rate):
    for _ in range(2):
        loss = (w - 1) ** 2
        loss.backward()
        with torch.no_grad():
            w -= rate * w.grad
        w.grad = None


film(descend, torch.tensor([3.0], requires_grad=True), 0.25)

# %% [markdown]
# ### enter=False: a loop or a call is one frame
#
# Notice: The same three lines twice: what two turns changed is told at once. A film has 30 lines, 40 frames and 60 nodes at most; of what is longer it says so.

# %%
film(
    """
y = x = torch.tensor([1.0], requires_grad=True)
for k in range(2):
    y = y.exp()
    y += k
y.backward()
""",
    enter=False,
)

# %% [markdown]
# ## watch: what happened to saved tensors
#
# ### What happened, line by line
#
# Notice: Who saved x, which line wrote to it, and which node then refused it: in the order in which it happened.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
with watch() as log:
    y = x * x
    with torch.no_grad():
        x.add_(1)
    with expect_error(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()
log

# %% [markdown]
# ### only: some kinds of events
#
# Notice: `only` keeps the kinds of events that you name: here what was saved and what was written, in that order.

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
with watch() as log:
    h = x.exp()
    h.mul_(2)
    h.add_(1)
log.only("saved", "version")

# %% [markdown]
# ## gradients: all of a model's gradients
#
# ### What is in each .grad
#
# Notice: One row a parameter. The bias of the first layer is frozen; the second layer took no part in the loss, so no gradient came.

# %%
model = torch.nn.ModuleDict({"used": torch.nn.Linear(2, 3), "unused": torch.nn.Linear(2, 3)})
model["used"].bias.requires_grad_(False)
model["used"](torch.ones(4, 2)).sum().backward()
gradients(model)

# %% [markdown]
# ## ledger: bytes over time
#
# ### Who holds how many bytes
#
# Notice: Forward saves, backward lets go, the last node first. What does not rise: x and w2, leaves that the program holds anyway (left out here), and the result of the sigmoid, which two nodes saved and which counts once. `held.mark` gives the parts their names.

# %%
x = torch.ones(64, 100)
w1 = torch.zeros(100, 50, requires_grad=True)
w2 = torch.zeros(50, 30, requires_grad=True)
with ledger(leaves=False) as held:
    held.mark("forward")
    loss = ((x @ w1).sigmoid() @ w2).tanh().exp().mean()
    held.mark("backward")
    loss.backward()
held.plot()

# %% [markdown]
# ### Who holds what, as a table
#
# Notice: The same record as a table: who saved, how many bytes, and which tensors these are. `leaves=True`, which is the default, counts parameters and data as well.

# %%
x = torch.ones(64, 100)
w = torch.zeros(100, 50, requires_grad=True)
with ledger() as held:
    loss = (x @ w).sigmoid().exp().mean()
del loss
held.table()

# %% [markdown]
# ## explain: what an error means
#
# ### An error explained
#
# Notice: What happened, the culprit in the picture (HERE), what cures it, and what only silences it.

# %%
x = torch.tensor([1.0, 4.0], requires_grad=True)
y = x.sqrt()
loss = y.sum()
y += 1
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss.backward()
explain()

# %% [markdown]
# ### A message explained
#
# Notice: A message alone will do, from a log file or a colleague. There is no picture then, and no name.

# %%
message = "RuntimeError: Trying to backward through the graph a second time"
explain(message)

# %% [markdown]
# ## A model from the crash to the cure
#
# A residual network of six blocks. Somebody wanted to spare memory in `forward`, and since then `backward()` raises. Here is how the instruments lead from the message to the line.

# %%
def residual_network(torch, written=True):
    """Six blocks, each adding to what it was given; with `written`, a block scales its result in place."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.inner, self.outer = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

        def forward(self, x):
            h = self.outer(self.inner(self.norm(x)).relu()).sigmoid()
            if written:
                h *= 0.5  # to spare memory
            else:
                h = h * 0.5
            return x + h

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks, self.head = nn.ModuleList(Block() for _ in range(6)), nn.Linear(4, 1)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    torch.manual_seed(0)
    return Network()

# %% [markdown]
# ### A model that crashes
#
# Notice: First ask `explain()`. Backward stopped at the last block, because it runs backwards. SigmoidBackward0 saved its result at version 0, and the memory is at version 1: somebody wrote to the result of the sigmoid.

# %%
model = residual_network(torch)
loss = model(torch.ones(3, 4)).pow(2).mean()
with expect_error(RuntimeError, "modified by an inplace operation"):
    loss.backward()
explain(names=model)

# %% [markdown]
# ### Which line wrote
#
# Notice: Then ask `watch` who wrote. Six times the same line of the block: `h *= 0.5`. In a script of yours, `python -m backscope train.py` says the same without a change to the script.

# %%
model = residual_network(torch)
with watch(names=model) as log:
    loss = model(torch.ones(3, 4)).pow(2).mean()
del loss
log.only("version")

# %% [markdown]
# ### The block that failed
#
# Notice: Then look closely. `draw(model, loss)` names the node at which backward fails, 52, and `open` shows it with its neighbour: the sigmoid saved its result at v0, the product wrote to it. Five more stale slots are around them.

# %%
model = residual_network(torch)
loss = model(torch.ones(3, 4)).pow(2).mean()
draw(model, loss, open=(52, 53))

# %% [markdown]
# ### The model cured
#
# Notice: Then cure it, `h = h * 0.5`, and draw again: nothing is STALE, backward runs, and no parameter is named that no gradient would reach.

# %%
model = residual_network(torch, written=False)
loss = model(torch.ones(3, 4)).pow(2).mean()
loss.backward(retain_graph=True)
draw(model, loss)
