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
# # 06 · Saved tensors and memory: what does a graph save, and when does it let go?
#
# **Your model has a learnable gate, `gate = s.sigmoid()`. It is the same for every batch, so you compute it once, in front of the training loop. In the second step PyTorch objects: "Trying to backward through the graph a second time … Specify retain_graph=True". You specify it, as the message says, and the training runs. The loss falls to 0.0000. Then you evaluate the finished model, on the very data that it was trained on. The loss is 16.4.**
#
# There was no second error and no warning, and you did what you were told. To see what went wrong, you have to know about something that does not appear in your program at all. During the forward pass the nodes of the graph put tensors aside. During backward they read them, and then they let them go. These tensors are also the reason why training usually runs out of memory in the *forward* pass. This lesson makes them visible.
#
# After this lesson you can
#
# - look at an operation and say which tensors its node saves, and which ones it does not need;
# - work out how many bytes a network holds between forward and backward, and when each of them is let go;
# - say why one graph can run backward twice and another one cannot;
# - decide when `retain_graph=True` is right, and recognise the case in which it gives you a wrong gradient without a word.
#
# **Minutes** 120, in two sittings of 55 and 65 with a rest between them · **Needs** lessons 00 to 05 · **Out of scope** how a changed saved tensor is noticed (lesson 07), what custom Functions save (lesson 11), how to store less (lesson 14)
#
# [← 05 Leaf accumulation](05_leaf_accumulation.ipynb) · [all lessons](home.ipynb) · [07 Version counters →](07_version_counters.ipynb)

# %%
import course_lib as torch
import weakref

from backscope import compare, draw, ledger, step
from coursekit import chart, expect_error, lesson, show

L = lesson(6)

# %% [markdown]
# Here is the story as a program. The model multiplies its input by `gate * w`, and it is to learn to double its input. A *gate* is a number between 0 and 1 that says how much is let through. It is computed from a parameter `s` by `sigmoid`, which turns any number into one between 0 and 1. The second parameter is `w`.
#
# `train()` calls `loss.backward()`, and `train(retain_graph=True)` calls `loss.backward(retain_graph=True)`. We begin without the flag:

# %%
samples, target = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0])


def loss_with(gate, w):
    return ((gate * w * samples - target) ** 2).mean()


def train(**flag):
    s, w = torch.tensor(0.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    gate = s.sigmoid()  # the same for every step, so only once
    for number in range(40):
        s.grad = w.grad = None
        loss = loss_with(gate, w)
        loss.backward(**flag)
        with torch.no_grad():
            s -= 0.1 * s.grad
            w -= 0.1 * w.grad
        if number in (0, 8, 39):
            print(f"step {number}: loss {loss.item():.4f}")
    print(f"the finished model, on the same data: {loss_with(s.sigmoid(), w).item():.1f}")


with expect_error(RuntimeError, "Trying to backward through the graph a second time"):
    train()

# %% [markdown]
# And now with the flag that the message proposes:

# %%
train(retain_graph=True)

# %% [markdown]
# A loss of 0 in training, and 16.4 on the same data afterwards. At the end of the lesson you will be able to say exactly what `s` was given as its gradient, and why. We begin at the beginning: what does a node have to put aside?
#
# ## What does a product put aside?
#
# ```python
# x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
# c = torch.tensor([4.0, 5.0, 6.0])
# p = x * c
# ```
#
# Sooner or later somebody calls backward. By then the variables `x`, `c` and `p` may be long gone: they may be local variables of a function that has returned. So the node of the product must put aside whatever tensors it will need. We say that it *saves* them. A place for one saved tensor is called a *slot* of the node. And every tensor in a slot stays in memory, at least until backward.
#
# **Predict.** Which of the three tensors does the node `p.grad_fn` save? Answer with a list of names, such as `["x", "p"]`. Before you write it down, say what the slope of `x * c` with respect to `x` is.

# %%
L.predict("06.p1", None)

# %% [markdown]
# In PyTorch you can look. A node shows its slots as attributes that begin with `_saved_`. They are named after the parameters of the operation: `self` is the first operand, `other` is the second one, and `result` is what came out. The little function below lists those slots of a node in which there is a tensor. We ask it about the product, and about five other operations. (`relu` puts 0 in the place of negative numbers.)

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([4.0, 5.0, 6.0])


def saved(y):
    slots = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
    return [name.removeprefix("_saved_") for name in slots if isinstance(getattr(y.grad_fn, name), torch.Tensor)]


for y in (x * c, x + c, x.sum(), x.sin(), x.exp(), x.relu()):
    print(f"{y.grad_fn.name():13} saves {saved(y)}")
print("the `other` of the product is c:", (x * c).grad_fn._saved_other is c)

# %% [markdown]
# In the pictures of this course, a saved tensor is a white note with a folded corner. A dashed line leads to the note from the node that has saved it, and the note names the tensor. (If the tensor stands right above the note, an arrow points to it.) Here are the product and the exponential:

# %%
p = x * c
e = x.exp()
draw(p, e)

# %% [markdown]
# **Notice:**
#
# - The node of the product saved `c`, which is the tensor that needs no gradient. It did not save `x`, which is the one that does.
# - The node of the exponential saved what it produced, and not what it was given.
# - Each note also says `v0, now v0`. You will need that at the end of the lesson.
#
# The reason is in the formulas. The slope of `x * c` with respect to `x` is `c`, so the formula for the gradient of `x` reads `c`. The slope with respect to `c` is `x`. But `c` does not need a gradient, so that formula will never run, and `x` is not saved. The slope of exp is exp itself, which is the result, so the result is saved. The slope of a sum is 1, and a 1 need not be saved at all.
#
# If this is right, then it should depend on which factors need a gradient. Let us try all the cases:

# %% tags=["C06.1"]
w = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
print("x needs a gradient, c does not:", saved(x * c))
print("both need one:                 ", saved(x * w))
print("only the second needs one:     ", saved(x.detach() * w))
print("addition:                      ", saved(x + w))

# %% [markdown]
# > **The rule.** A node saves the tensors that its gradient formulas will read, and (but for a few operations of PyTorch) no others.
#
# So you need not learn by heart what an operation saves. Write down its slope, and look at what stands in it.
#
# ## Exercises: now you
#
# **06.1 · Who saves what** (5 minutes). `x` and `y` require grad, `c` is plain, and `r` is the result of the expression itself. For each expression, list what its node saves: any of `"x"`, `"y"`, `"c"`, `"r"`, or nothing (`[]`). Ask each time what the slope is made of. (`L.hint("06.1")` helps, `L.solution("06.1")` explains, and `L.progress()` lists what you have solved.)

# %%
keeps = {
    "x + y": None,
    "x * y": None,
    "x * c": None,
    "x ** 2": None,
    "x.exp()": None,
    "x.relu()": None,
    "x.log()": None,
    "x.sum()": None,
}

L.check("06.1", keeps)

# %% [markdown]
# ## Is a saved tensor a copy?
#
# A copy would be safe, but it would double the memory of every training step. So nothing is copied. A saved *input* is the very same tensor object. For a saved *result* it is a little more complicated, and the cell shows what you get when you read such a slot:

# %% tags=["C06.2", "C06.3"]
print("the product's slot is c itself:", p.grad_fn._saved_other is c)
slot = e.grad_fn._saved_result
print("the exponential's slot is e itself:", slot is e)
print("it lies in the memory of e:", slot.data_ptr() == e.data_ptr())
print("it has the history of e:   ", slot.grad_fn is e.grad_fn)
print(slot)

# %% [markdown]
# The slot of the exponential gives you another tensor object, on the same memory and with the same history. (`data_ptr()` is the address at which a tensor's numbers begin.) Why is it not `e` itself?
#
# `e` holds its node, as its `grad_fn`. If the node held `e` as well, the two would form a ring (`e` → node → `e`), and each would keep the other one alive. Python frees an object as soon as nothing refers to it any more, and that never happens to a ring. It has to wait for the garbage collector, and until then its memory is occupied.
#
# So a node saves its own result in a different way. It holds a second tensor on the same memory, which knows no node. Each time somebody reads the slot, one more tensor is made on this memory, and the history is put back.
#
# > **The rule.** A node saves without copying: it holds an input by reference, and its own result as a second tensor on the same memory.
#
# ## How many bytes does a network hold until backward?
#
# Here is a network with one hidden layer. `X` is plain data, 100 samples with 20 features. The numbers are float32, and each of them takes four bytes.
#
# ```python
# h = torch.relu(X @ W1)  # X: 100 x 20, 8000 bytes    W1: 20 x 30, 2400 bytes    h: 12000 bytes
# loss = (h @ W2).sum()   # W2: 30 x 1, 120 bytes      h @ W2: 100 x 1, 400 bytes
# loss.backward()
# ```
#
# There are four nodes: two matrix products, `relu`, and `sum`. Ask of each what its formulas will read. The gradient of a factor of a matrix product is made of the *other* factor, as in a plain product. The gradient of `relu` only has to know which numbers are positive, and that can be seen from its result. If two nodes save the same memory, count it once.
#
# Then backward runs, and the node of `sum` is the first. You have to decide something here. Does a node let go of its tensors as soon as it has run? Or do all of them let go together, at the end of the pass?
#
# **Predict.** How many **bytes** do the nodes hold after the forward pass? And how many are still held when the node of `sum` has run? The second product? `relu`? The first product? Answer with a list of five numbers.

# %%
L.predict("06.p2", None)

# %% [markdown]
# `ledger` is a book-keeper: it writes down every tensor that a node begins to save, or lets go of. In its table these *events* are numbered in the order in which they happened, so "1 to 8" means: saved at the first event, let go at the eighth. `MmBackward0` is the node of a matrix product.

# %% tags=["C06.10"]
X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)
W2 = torch.ones(30, 1, requires_grad=True)
with ledger() as held:
    h = torch.relu(X @ W1)
    loss = (h @ W2).sum()
    print("after forward:", held.now, "bytes")
    loss.backward()
print("after backward:", held.now, "bytes, and the peak was", held.peak)
held.table()

# %%
held.plot()

# %% [markdown]
# **Notice:**
#
# - Backward begins at the dotted line. Until then nothing is let go, and from then on nothing is saved. So the most is held around the end of forward. Evaluation under `no_grad` saves nothing, and so it often fits where training does not.
# - There are four slots, but only three memories. `h` was saved twice: by `relu` as its result, and by the second product as an input. When the second product lets go of it, at event 6, nothing falls. Its 12000 bytes are free at event 7, when `relu` has run, too. (The 120 bytes of `W2` go at event 5. Too little to be seen.)
# - `X @ W1` is not in the table. `relu` saved its result, so it does not need what it was given. `W1` is not in the table either, because no gradient is wanted for `X`.
# - The grey part is memory that your program holds anyway: data and parameters. The coloured part was computed on the way. Such results in between are called *activations*. Here `h` is one, and if your program had no name for it, the graph alone would hold it.
#
# > **The rule.** What a graph holds grows during forward and shrinks node by node during backward, and a memory that two nodes have saved stays until both have run.
#
# ## When exactly does a node let go?
#
# Page through the next backward pass with the buttons, and look for the word *frees* below the picture: which node lets go of what, and in which step? (The boxes say it one step later.)

# %% tags=["C06.4", "C06.5"]
squashed = w.sigmoid()
cube = squashed**3
y = cube.sum()
step(y)

# %% [markdown]
# And what is in the slots afterwards? The power had two: its operand, and the exponent 3.

# %% tags=["C06.4", "C06.5"]
with expect_error(RuntimeError, "directly access saved tensors after they have already been freed", short=True):
    cube.grad_fn._saved_self
print("the exponent is still there:", cube.grad_fn._saved_exponent)

# %% [markdown]
# **Notice:**
#
# - Each node empties its slots right after it has run, before the next node runs. So in the middle of a pass, the nodes that have run are empty, and the others still have all that they saved. (PyTorch's messages and our pictures call this *freed*.)
# - The exponent 3 is a plain number. It takes no memory worth speaking of, so it stays.
# - To read an emptied slot is an error, and it is the one from the beginning. Its message has two halves: "Trying to backward through the graph a second time *(or directly access saved tensors after they have already been freed)*". This time it was the second half.
#
# In our engine, this is how the node of the power lets go. The exponent does not appear:

# %% tags=["engine"]
show(type(cube.grad_fn).release)

# %% [markdown]
# There is one more way to see a tensor go. The tensor `doubled` below has no name any more after `del`. But `sin` saved it, so the graph holds it. A *weak reference* lets us ask whether an object still exists, without holding it ourselves:

# %% tags=["C06.9"]
doubled = w * 2
total = doubled.sin().sum()
reference = weakref.ref(doubled)
del doubled
print("alive after del:     ", reference() is not None)
total.backward()
print("alive after backward:", reference() is not None)

# %% [markdown]
# `del` in your code frees nothing as long as a node has saved the tensor. And in the moment in which backward empties the slot, the tensor is gone. It does not wait for a garbage collector.
#
# > **The rule.** A node lets go of its saved tensors right after it has run.
#
# ## How much less memory does it take if a layer is frozen?
#
# In lesson 02 you froze a layer, and the graph held fewer bytes. Now you can say why: formulas that are not needed do not run, and what only they would read is not saved. But does it help to freeze *any* layer? We freeze one layer of our network at a time. (`W1.detach()` is a tensor with the same numbers that needs no gradient.)

# %% tags=["C06.11"]
def held_by(W1, W2):
    with ledger() as held:
        _loss = (torch.relu(X @ W1) @ W2).sum()
    return held.now  # while _loss is alive


print("both learn:   ", held_by(W1, W2))
print("W1 is frozen: ", held_by(W1.detach(), W2))
print("W2 is frozen: ", held_by(W1, W2.detach()))
with torch.no_grad():
    print("under no_grad:", held_by(W1, W2))

# %% [markdown]
# **Notice:**
#
# - With `W1` frozen, nothing up to `h` needs a gradient, so no nodes are made there. What is left is `h`, for the gradient of `W2`.
# - With `W2` frozen, not a single byte less is held. The second product does not need `h` any more. But `relu` does, because the gradient must still pass through it on the way to `W1`. And `W2` is needed to send the gradient on to `h`. (With `sin` in the place of `relu` it would help: `sin` saves its input, so nobody would need `h` any more.)
# - Under `no_grad` no operation makes a node, so nothing is held.
#
# > **The rule.** Freezing lowers the memory of the forward pass if the frozen layers are the first ones. Further on it does so only where no other node needs what was saved.
#
# ## Exercises: one network, half the bytes
#
# **06.5 · Same gradient, fewer bytes** (6 minutes). `x` requires grad; `mask`, `weight` and `scale` are plain tensors of its shape, and belong to the caller. The nodes behind the result hold four memories. Rewrite `loss_of` so that they hold two, with the same value and the same gradient.

# %%
def loss_of(torch, x, mask, weight, scale):
    h = x * mask
    h = h * weight
    h = h / scale
    return h.sin().sum()


L.check("06.5", loss_of)

# %% [markdown]
# ## Which graphs can run backward twice?
#
# ```python
# a = (x + 1).sum()
# b = (x * x).sum()
# e = x.exp().sum()
# v = x.view(3, 1).sum()    # view: the same numbers in another shape
# ```
#
# Four small results, and `backward()` is called twice on each of them.
#
# **Predict.** For which of the four does the *second* call raise? Answer with a list of letters.

# %%
L.predict("06.p3", None)

# %% tags=["C06.6", "P5"]
a, b, e, v = (x + 1).sum(), (x * x).sum(), x.exp().sum(), x.view(3, 1).sum()
for result in (a, a, v, v, b, e):  # a and v run twice
    result.backward()
for result in (b, e):
    with expect_error(RuntimeError, "backward through the graph a second time", short=True):
        result.backward()

# %% [markdown]
# Addition and `view` saved no tensor, so the first pass took nothing away from them. They can run as often as you like. The node of `x * x` saved `x`, the exponential saved its result, and these slots are empty now.
#
# You will often read that backward "frees the graph" or "destroys the graph". Compare a graph like that of `b` before its pass and after it:

# %%
x.grad = None
b = (x * x).sum()
before = draw(b)
b.backward()
compare(before, draw(b))

# %% [markdown]
# **Notice:** all nodes and all arrows are still there. Besides `x.grad`, only the notes have changed: they say FREED. The message speaks of the graph, but it is about saved tensors.
#
# > **The rule.** A second pass raises only if it needs a saved tensor that the first pass has let go.
#
# ## Why did the training loop raise in its second step?
#
# Back to the gate. In each step the loop computed a *new* loss, with new nodes for the products, the square and the mean. So it does not look as if anything had run twice. Here are the first two steps of such a loop, written out, and a picture just before the second pass. The bands say when each node was made.

# %% tags=["C06.8", "P6"]
s, w = torch.tensor([0.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
gate = s.sigmoid()  # node 1, in front of the loop
loss0 = (gate * w).sum()  # nodes 2 and 3
loss0.backward()
loss1 = (gate * w).sum()  # nodes 4 and 5
draw(loss0, loss1, parts={"before": (1, 1), "step 0": (2, 3), "step 1": (4, 5)})

# %% [markdown]
# **Notice:** each step has a product and a sum of its own. The product of step 1 has all that it needs: none of its notes says FREED. But both products lead back to *one* sigmoid, because the gate was computed once. Step 0 has run its node and emptied its slot. So the pass of step 1 fails there:

# %% tags=["P6"]
with expect_error(RuntimeError, "backward through the graph a second time", short=True):
    loss1.backward()

# %% [markdown]
# > **The rule.** A part of the graph that is built in front of a loop can be run only once, unless its nodes saved nothing.
#
# ## A rest
#
# This is the middle of the lesson, and you know why the loop raised. What is left is the flag: what does it do, and why did it do harm?
#
# ## What does `retain_graph=True` really do?
#
# The message proposes it, so most people try it first. The flag does one thing: it switches the letting go off, for this one pass.

# %% tags=["C06.7", "P8"]
x.grad = None
with ledger() as held:
    b = (x * x).sum()
    for _ in range(2):
        b.backward(retain_graph=True)
        print(held.now, "bytes are still held, and x.grad is", x.grad)

# %% [markdown]
# **Notice:** the 12 bytes stay. And the second pass did what every pass does (lesson 05): it *added* its gradient to `.grad`. So a loop that runs twice over the same loss gets twice the gradient.
#
# Then what is the flag good for? For two *different* losses that share a part of their graph. Many models have one encoder and two tasks. The first pass must leave something for the second one, so all passes but the last one retain. But if you add the losses up, a single pass gives the same gradient, and you need no flag at all.

# %% tags=["C06.14"]
def two_losses():
    shared = x * x
    return shared.sum(), (shared * shared).sum()


x.grad = None
one, two = two_losses()
one.backward(retain_graph=True)
two.backward()
print("two passes:     ", x.grad)
x.grad = None
sum(two_losses()).backward()
print("one pass, added:", x.grad)

# %% [markdown]
# > **The rule.** `retain_graph=True` keeps what the pass would let go, which is right only if another loss still needs it.
#
# ## Exercises: is it needed again?
#
# **06.2 · Which happens?** (8 minutes). In every program `x` is a fresh `torch.tensor([1.0, 2.0], requires_grad=True)`, and its author wants `x.grad` to be the gradient of `y`. Answer with `"fine"`, `"raises now"` (some line other than a backward raises), `"raises at backward"`, or `"silently wrong"` (no error, and another number in `x.grad`).
#
# | | program |
# | --- | --- |
# | A | `y = (x + 1).sum(); y.backward(); x.grad = None; y.backward()` |
# | B | `y = (x * x).sum(); y.backward(); x.grad = None; y.backward()` |
# | C | `y = (x * x).sum(); y.backward(retain_graph=True); y.backward()` |
# | D | `p = x * x; y = p.sum(); y.backward(); print(p.grad_fn._saved_self)` |
# | E | `h = x.exp(); z = h.sum(); y = (h * 3).sum(); z.backward(); x.grad = None; y.backward()` |
# | F | `h = x + 1; z = h.sum(); y = (h * h).sum(); z.backward(); x.grad = None; y.backward()` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("06.2", happens)

# %% [markdown]
# ## When do retained graphs fill the memory?
#
# A recurrent network has a *state*, which each step takes from the step before and hands to the next. The state of step 100 was computed from that of step 99, and so on. So the graph behind it is a hundred steps long. Below is such a loop, and beside it a loop with a gate in front. Both retain.
#
# ```python
# state = torch.zeros(3)
# for number in range(4):
#     state = (state + x).sin()
#     state.sum().backward(retain_graph=True)
#
# gate = x.sigmoid()
# for number in range(4):
#     loss = (gate + c).sin().sum()
#     loss.backward(retain_graph=True)
# ```
#
# **Predict.** How many bytes do the nodes hold at the end of each loop? Answer with two numbers, such as `[12, 12]`. (`sin` saves its input.)

# %%
L.predict("06.p4", None)

# %% tags=["C06.13"]
state = torch.zeros(3)
with ledger() as held:
    for number in range(4):
        state = (state + x).sin()
        state.sum().backward(retain_graph=True)
        print("state, step", number, "-", held.now, "bytes")

with ledger() as held:
    gate = x.sigmoid()
    for number in range(4):
        loss = (gate + c).sin().sum()
        loss.backward(retain_graph=True)
        print("gate, step", number, "-", held.now, "bytes")

# %% [markdown]
# With the state, each step adds 12 bytes, and none of them is ever let go. The flag keeps what each pass would let go, and the newest state still leads to all the steps before it. The passes become longer and longer as well. In a real network these are megabytes for each step, and after some minutes you are out of memory. (Usually the gradient should stop at the step before. Lesson 09 shows how to say so.)
#
# With the gate it stays at 24: the sigmoid's result, and the input of the newest `sin`. No arrow leads from a new loss to an old one. So an old loss dies, and its nodes with it, as soon as the name `loss` is given to the next one. What is wrong with the gate must be something else.
#
# > **The rule.** With `retain_graph=True`, a state that is carried from step to step holds what all the steps have saved.
#
# ## So why was the gradient wrong?
#
# Here is the mistake in slow motion, with `x.exp()` in the place of the gate, because its numbers are larger, and with `x * x` beside it. Both are computed once, from the first `x`. Then `x` is stepped.
#
# ```python
# scale, square = x.exp(), x * x
# (scale * c).sum().backward(retain_graph=True)
# with torch.no_grad():
#     x -= 0.002 * x.grad                          # an optimizer's step
# x.grad = None
# (scale * c).sum().backward(retain_graph=True)    # A
# x.grad = None
# (square * c).sum().backward(retain_graph=True)   # B
# ```
#
# One more fact: PyTorch counts the writes into each memory. This count is the *v* in the pictures. A pass that reads a saved tensor looks whether the count has grown since it was saved.
#
# **Predict.** What happens in A, and what in B? Answer with two of `"fine"` (`x.grad` is the gradient at the present `x`), `"raises"` and `"silently wrong"`, such as `["fine", "fine"]`.

# %%
L.predict("06.p5", None)

# %% [markdown]
# We take three steps, and print the third number of `x.grad` beside the one that would be right at the present `x`. The last line is B.

# %% tags=["C06.12", "P6"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
scale, square = x.exp(), x * x
for _ in range(3):
    x.grad = None
    (scale * c).sum().backward(retain_graph=True)
    right = (c * x.exp())[2]
    print(f"x[2] is {x[2].item():.2f}: the gradient is {x.grad[2].item():.2f}, right would be {right.item():.2f}")
    with torch.no_grad():
        x -= 0.002 * x.grad
with expect_error(RuntimeError, "modified by an inplace operation"):
    (square * c).sum().backward(retain_graph=True)

# %% [markdown]
# The gradient by way of `scale` stays what it was in the first step, and there is no error. For `square` there is one. What do their two nodes hold?

# %% tags=["P6"]
draw(scale, square)

# %% [markdown]
# **Notice:** `scale` and `square` are wrong in the same way. Both were computed from an `x` that no longer exists. The difference is what their nodes saved.
#
# - The node of `x * x` saved its **input**, `x`. The optimizer wrote into exactly this memory, three times. Backward finds version 3 where 0 was noted, and it refuses. (Lesson 07 is about these versions.)
# - The node of `x.exp()` saved its **result**. That is another memory, and the optimizer never writes there. Backward finds the slot in perfect order, with the values of the first step in it. There is nothing to notice.
#
# A sigmoid saves its result as well, and with that you can read the story of the beginning. Here is the training once more, with the gate that was used and the gate that the present `s` would give:

# %%
s, w = torch.tensor(0.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
gate, used, present = s.sigmoid(), {}, {}
for number in range(40):
    if number % 3 == 0:
        used[number], present[number] = gate.item(), s.sigmoid().item()
    s.grad = w.grad = None
    loss_with(gate, w).backward(retain_graph=True)
    with torch.no_grad():
        s -= 0.1 * s.grad
        w -= 0.1 * w.grad
chart({"two gates": {"used in training": used, "of the present s": present}}, across="step", up="gate")

# %% [markdown]
# **Notice:** the gate that training used never moves, but `s` does, and its gate runs away. The model should double its input, so gate · w should be 2. Here is what it learned:

# %%
for name, last in (("in training:       ", gate), ("the finished model:", s.sigmoid())):
    print(f"{name} {last.item():.2f} * {w.item():.2f} = {last.item() * w.item():.2f}")

# %% [markdown]
# Each step used the gate of the first step, both in the loss and in the gradient. `w` learned to fit this old gate perfectly. Meanwhile `s` was moved, step after step. What arrived at the gate was right for the present `w`, but it was multiplied by 0.25, the slope of the sigmoid at the *first* `s`. The finished model computes its gate from the last `s`. It has never been trained with that gate.
#
# The cure is neither a flag nor a copy. Whatever depends on a parameter has to be computed again after the parameter was stepped:

# %% tags=["P6"]
s, w = torch.tensor(0.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
for _ in range(40):
    s.grad = w.grad = None
    gate = s.sigmoid()  # in every step anew
    loss = loss_with(gate, w)
    loss.backward()
    with torch.no_grad():
        s -= 0.1 * s.grad
        w -= 0.1 * w.grad
print(f"training {loss.item():.4f}, the finished model {loss_with(s.sigmoid(), w).item():.4f}")

# %% [markdown]
# > **The rule.** What was computed from a parameter has to be computed again once the parameter was stepped, with or without `retain_graph=True`.
#
# ## Exercises: one part for many batches
#
# **06.3 · A part outside the loop** (8 minutes). `w` is a leaf, and `batches` is a list of plain tensors of its shape. The function should leave in `w.grad` the sum, over all batches, of the gradients of `(w.exp() * batch).sum()`. It raises in the second step. Repair it so that no saved tensor is read by two passes, because then nothing needs to be retained. The lesson's own cure counts. But think of `w.exp()` as a large part of a model that does not change between the batches and is expensive: can you do it with a single `w.exp()`?

# %%
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad


L.check("06.3", collect)

# %% [markdown]
# ## Build your own engine: slots that are emptied
#
# Your engine writes the tensors that a formula names into `node.saved`, and there they stay for ever. In `my_engine.py`, which lies beside this notebook, you now let them go. It takes about 19 lines.
#
# 1. **`SavedVariable(tensor, node)`** is one slot. It holds an input as it is. If the tensor is the node's own result (`tensor.grad_fn is node`), it holds a second tensor on the same memory without history, so that there is no ring. A method `detach()` of `Tensor` makes that: `Tensor(self.array)`. Where a tensor was put into `node.saved`, you now put `SavedVariable(tensor, node)`.
# 2. **`unpack(node)`** gives the tensor back: an input as it is; for the node's own result a tensor on the same memory whose `grad_fn` is `node` again. If the slot is empty, it raises a `RuntimeError` that begins with "Trying to backward through the graph a second time". `Node.read` calls it.
# 3. **`Node.release()`** empties all slots of a node.
# 4. **`run_backward`** gets a parameter `retain_graph=False`, and calls `release()` as soon as a node has run, unless the graph is to be retained.
#
# One slip is typical: to forget the question `tensor.grad_fn is node`. Then your own result is held like an input, and the ring is there. Your gradients will be right all the same, only the memory will not go.

# %%
L.build("06")

# %% [markdown]
# When the checkpoint says *correct*, your engine frees memory during backward, and it raises the error of the gate. The picture below it is of your own graph.
#
# ## Exercises: the bill
#
# **06.4 · The bill** (8 minutes, harder). `x` is `torch.ones(1000, requires_grad=True)` and `c` is `torch.ones(1000)`, so each takes 4000 bytes. For each program: what is the **peak**, the most bytes that nodes hold at one time? As in the table of the ledger, the memory of leaves counts. A memory counts once and whole, even if only a slice of it was saved. A number such as 3 counts as nothing.
#
# | | program |
# | --- | --- |
# | A | `y = (x + c).sin().exp().sum()` |
# | B | `y = (x * c * 3 + 1).sum(); y.backward(); y = (x * c).sum()` |
# | C | `h = x.exp(); y = h.sin() + h.cos()` |
# | D | `with torch.no_grad(): h = x.exp()`, then `y = h * x` |
# | E | `y = x[:10] * c[:10]` |
# | F | three times `y = (x * c).exp().sum(); y.backward()` |
# | G | `total = 0`, three times `total = total + (x * c).exp().sum()`, then `total.backward()` |

# %%
peaks = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("06.4", peaks)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/06_saved_tensors/claims.py`).
#
# *What is saved*
#
# - **C06.1** Addition saves no tensor; multiplication saves a factor only if the other factor needs a gradient.
# - **C06.2** A saved input is held by reference: reading the slot gives back the very same tensor object.
# - **C06.3** A saved result is repacked: reading the slot gives a new tensor object with the same memory and the same grad_fn.
# - **C06.10** When two nodes save the same tensor, its memory is held once, until the last of them has run.
# - **C06.11** In a network with one hidden layer and relu, freezing the first weight lowers the memory that is held, freezing the second does not, and under no_grad nothing is saved.
#
# *When it is let go*
#
# - **C06.5** Backward releases a node's saved tensors right after that node ran, before the next node runs.
# - **C06.4** Plain numbers that a node saves survive backward; its saved tensors do not.
# - **C06.9** A saved activation lives on after its last name is deleted, and dies when backward releases it.
# - **C06.6** A second backward raises only when it needs a saved tensor that was released: x + 1 runs twice, x * x does not.
# - **C06.8** If a part of the graph is built once before a loop, the loop's first backward releases what its nodes saved.
#
# *What `retain_graph=True` does*
#
# - **C06.7** With retain_graph=True nothing is released, and the second pass adds its gradients to the first.
# - **C06.14** Two losses that share a part of the graph need retain_graph=True on the first pass only, and one pass over their sum gives the same gradient without it.
# - **C06.13** With retain_graph=True, a state that is carried from step to step holds what every step's nodes saved.
# - **C06.12** With retain_graph=True, a part that is built once before a loop has no right gradient after x is stepped: `x.exp()`, whose node saved the result, gives the gradient at the old x and no error, and `x * x`, whose node saved x, raises.
#
# **When you meet the error at work.** "Trying to backward through the graph a second time" means that two passes came to one node that had saved something. Look for what both of them share: a tensor that was computed in front of the loop, or a state that came from the step before. `draw(loss)`, called before the second pass, shows which slots are empty already, and `explain()` after the error lists what cures it and what only silences it. Compute the shared part in the loop, or detach the state. Use `retain_graph=True` only for two losses of the same step.
#
# **Left out, compared with PyTorch.** On a GPU, memory that is let go returns to a caching allocator, so `nvidia-smi` shows no change. Some kernels save more than a formula needs (`x ** c` with a tensor `c` saves base, exponent and result). Gradients that are on their way take memory, too, and the ledger leaves them out. Saved tensors can be packed into something smaller, or computed again instead of saved: lesson 14.
#
# **Read on in our engine:** `course_lib/engine/saved.py`.
#
# **Next:** a saved tensor is no copy. So what happens if somebody writes into it before backward reads it? You have just seen one such error. [Lesson 07](07_version_counters.ipynb) is about it.
