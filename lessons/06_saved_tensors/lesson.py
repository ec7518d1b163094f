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
# **Your model has a learnable gate, `gate = s.sigmoid()`. It is the same for every batch, so you compute it once, before the training loop. In the second step PyTorch objects: "Trying to backward through the graph a second time … Specify retain_graph=True". You specify it, as the message says, and the training runs. The loss falls to 0.0000. Then you evaluate the finished model, on the very data that it was trained on. The loss is 16.4.**
#
# There was no second error and no warning, and you did what you were told. To see what went wrong, you have to know about something that does not appear in your program at all. During the forward pass the nodes of the graph save tensors. During backward they read them, and then they let them go. This lesson makes these tensors visible, with the memory that they take.
#
# After this lesson you can
#
# - look at an operation and say which tensors its node saves;
# - work out how many bytes a network holds between forward and backward, and when each of them is let go;
# - say why one graph can run backward twice and another one cannot;
# - decide when `retain_graph=True` is right, and recognise the case in which it gives you a wrong gradient without a word.
#
# **Minutes** 88, of which 20 are for your own engine, and 22 for more exercises · **Needs** lessons 00 to 05 · **Out of scope** how a changed saved tensor is noticed (lesson 07), what custom Functions save (lesson 11), how to store less (lesson 14)
#
# [← 05 Leaf accumulation](05_leaf_accumulation.ipynb) · [all lessons](home.ipynb) · [07 Version counters →](07_version_counters.ipynb)

# %%
import course_lib as torch
from backscope import draw, film, ledger, step
from coursekit import lesson

L = lesson(6)

# %% [markdown]
# Here is the story as a program. The model multiplies its input by `gate * w`, and it has to learn to double its input. A *gate* is a number between 0 and 1 that says how much is let through. `sigmoid` computes it from a parameter `s`. The second parameter is `w`. First we train without the flag, then with it:

# %%
samples, target = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0])


def loss_with(gate, w):
    return ((gate * w * samples - target) ** 2).mean()


def one_step(gate, s, w, **flag):
    s.grad = w.grad = None
    loss = loss_with(gate, w)
    loss.backward(**flag)
    with torch.no_grad():
        s -= 0.1 * s.grad
        w -= 0.1 * w.grad
    return loss.item()


def train(**flag):
    s, w, gates = torch.tensor(0.0, requires_grad=True), torch.tensor(1.0, requires_grad=True), []
    gate = s.sigmoid()  # the same for every step, so only once
    for _ in range(40):
        loss = one_step(gate, s, w, **flag)
        gates.append((gate.item(), s.sigmoid().item()))  # for a chart at the end
    print(f"training {loss:.4f}, the finished model on the same data {loss_with(s.sigmoid(), w).item():.4f}")
    return gates, w.item()


L.run(train)

# %%
gates, learned = train(retain_graph=True)

# %% [markdown]
# A loss of 0 in training, and 16.4 on the same data afterwards. At the end of the lesson you will be able to say exactly what `s` was given as its gradient, and why.
#
# ## What does a product save?

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([4.0, 5.0, 6.0])
p = x * c

# %% [markdown]
# When backward runs, the variables `x`, `c` and `p` may be long gone: they may have been local variables of a function that has returned. So the node of the product must hold on to the tensors that it will need. We say that it *saves* them. A place for one saved tensor is called a *slot* of the node.
#
# **Predict.** Which of the three tensors does the node `p.grad_fn` save? Answer with a list of names, such as `["x", "p"]`. Before you write it down, say what the slope of `x * c` with respect to `x` is.

# %%
L.predict("06.p1", None)

# %%
L.run(lambda: draw(p), after="06.p1")

# %% [markdown] tags=["tells"]
# **Notice:** the node has a *drawer*. It shows a slot and the tensor in it. (`v0, now v0` is for later in this lesson.) The node saved `c`, which is the tensor that needs no gradient. It did not save `x`, which is the one that does.
#
# The reason is in the formulas. The slope of `x * c` with respect to `x` is `c`, so the formula for the gradient of `x` reads `c`. The slope with respect to `c` is `x`. But `c` does not need a gradient, so that formula will never run.
#
# > **The rule.** A node saves the tensors that its gradient formulas will read, and (but for a few operations of PyTorch) no others.

# %% [markdown]
# ## What do other operations save?
#
# PyTorch shows the slots of a node as attributes that begin with `_saved_`. They are named after the parameters of the operation: `self` is the first operand, `other` the second (`mat2` in a matrix product), and `result` is what came out. The function below lists those slots that hold a tensor.


# %% tags=["C06.1"]
def saved(y):
    slots = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
    return [name.removeprefix("_saved_") for name in slots if isinstance(getattr(y.grad_fn, name), torch.Tensor)]


w = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
for text, y in {"x + w": x + w, "x * w": x * w, "x.sin()": x.sin(), "x.exp()": x.exp(), "x * 3": x * 3}.items():
    print(f"{text:7} saves {saved(y)}")

# %% [markdown]
# Read the list against the slopes. In a sum each slope is 1, and a 1 need not be saved. In `x * w` both factors need a gradient, so both are saved. The slope of `sin` is the cosine of its input, so `sin` saves what it was given. The slope of `exp` is its own result, so `exp` saves what came out. Sometimes either would do. Whether a number was positive can be seen in the result of `relu` as well, and PyTorch saves the result.
#
# `x * 3` may surprise you. The library first makes a tensor of the 3, one with no dimensions. The product saves its other factor as always, and this one is a tensor like any other.
#
# ### Exercise: who saves what
#
# **06.1 · Who saves what** (5 minutes). `x` and `y` require grad, `c` is plain, and `r` is the result of the expression itself. (`relu` puts 0 in place of negative numbers.) For each expression, list what its node saves: any of `"x"`, `"y"`, `"c"`, `"r"`, or nothing (`[]`). Ask each time what the slope is made of.

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
# Copies would be safe, but they would take as much memory again. So nothing is copied.

# %% tags=["C06.2", "C06.3"]
e = x.exp()
slot = e.grad_fn._saved_result
print("the product's slot is c itself:    ", p.grad_fn._saved_other is c)
print("the exponential's slot is e itself:", slot is e)
print("but it has the memory of e:        ", slot.data_ptr() == e.data_ptr())
print("and the history of e:              ", slot.grad_fn is e.grad_fn)

# %% [markdown]
# A saved *input* is the very same tensor object. A saved *result* is read as another object, on the same memory and with the same history. (`data_ptr()` is the address at which a tensor's numbers begin.) There is a good reason: `e` holds its node, as its `grad_fn`. If the node held `e` as well, each would keep the other alive. (You will meet such a ring when you build your own engine.)
#
# > **The rule.** A node saves without copying: an input as it is, and its own result as a second tensor on the same memory. (Operations that write in place may have to copy: part 07b.)
#
# ## How many bytes does a network hold until backward?
#
# Here is a network with one hidden layer. `X` is plain data, 100 samples with 20 features. The numbers are float32, and each of them takes four bytes. `ledger` is a bookkeeper: it writes down every tensor that a node begins to save, or lets go of.

# %%
X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)  # 8000 bytes, 2400 bytes
W2 = torch.ones(30, 1, requires_grad=True)  # 120 bytes


def network():
    with ledger() as held:
        h = torch.relu(X @ W1)  # 12000 bytes, and X @ W1 as many
        loss = (h @ W2).sum()  # h @ W2: 400 bytes
        print("after forward:", held.now, "bytes")
        loss.backward()
    print("after backward:", held.now, "bytes")
    return held.table()


# %% [markdown]
# There are four nodes: two matrix products, `relu`, and `sum`. Ask of each what its formulas will read. The gradient of a factor of a matrix product is made of the *other* factor, as in a plain product. If two nodes save the same memory, count it once.
#
# Then backward runs, and the node of `sum` is the first. You have to decide something here. Does a node let go of its tensors as soon as it has run? Or do all of them let go together, at the end of the pass?
#
# **Predict.** How many **bytes** do the nodes hold after the forward pass? And how many are still held when the node of `sum` has run? The second product? `relu`? The first product? Answer with a list of five numbers.

# %%
L.predict("06.p2", None)

# %% tags=["C06.10"]
L.run(network, after="06.p2")

# %% [markdown] tags=["tells"]
# In the table, "1 to 8" means: saved at the first event, let go at the eighth. `MmBackward0` is the node of a matrix product.
#
# **Notice:**
#
# - Events 1 to 4 save, and 5 to 8 let go, one node after the other. `sum` saved nothing, so nothing goes when it has run. Then the second product lets go of `W2` and `h`, then `relu`, then the first product.
# - There are four slots, but only three memories: `h` was saved twice. When the second product lets go of it, nothing is free yet. Its 12000 bytes go when `relu` has run, too.
# - `X @ W1` is not in the table: `relu` saved its result, so it does not need what it was given. `W1` is not there either, because no gradient is wanted for `X`.
#
# So the five numbers are 20120, 20120, 20000, 8000 and 0.
#
# > **The rule.** A node lets go of its saved tensors right after it has run, before the next node runs. A memory that two nodes have saved stays until both have run.

# %% [markdown]
# ## And four layers?
#
# Now the network is deeper: four layers with a sigmoid each. A fifth operation multiplies by 3. In the loop, each result takes the name `h` away from the one before.

# %% tags=["C06.9"]
weights = [torch.ones(20, 30, requires_grad=True)] + [torch.ones(30, 30, requires_grad=True) for _ in range(3)]
with ledger() as held:
    h = X
    for W in weights:
        h = (h @ W).sigmoid()
    loss = (h * 3).sum()
    loss.backward()
held.plot()

# %% [markdown]
# **Notice:** the memory is a staircase. In forward each layer goes up by two stairs: a low one for the weight, a high one for the result of the sigmoid. In backward, which begins at the dotted line, the same stairs go down, the newest first. So the most is held when forward ends, and a network that is twice as deep goes about twice as high.
#
# The coloured stairs are the results of the four sigmoids. Results on the way are called *activations*. Three of these lost the name `h` in the loop, and yet they are all there: the graph holds them. The grey part is memory that your program holds anyway, data and parameters.
#
# The fifth operation has no stair. Its drawer holds a single number, which the ledger does not count. But the number is let go like the rest. Page through a pass and look for the word *frees*:

# %% tags=["C06.4", "C06.5"]
squashed = w.sigmoid()
cube = squashed**3
tripled = cube * 3
step(tripled.sum())

# %% [markdown]
# And what is in the drawers afterwards?

# %% tags=["C06.4", "C06.5"]
draw(tripled)

# %% [markdown]
# **Notice:** all drawers are empty. PyTorch's messages and our pictures call this *freed*. The 3 of the product has gone, too. And the 3 of the power?

# %% tags=["C06.4", "C06.5"]
print("the exponent:", cube.grad_fn._saved_exponent)
L.run(lambda: tripled.grad_fn._saved_other)

# %% [markdown]
# The exponent is still there. It is a plain number, and a pass frees only tensors.
#
# The error is the one from the beginning. Its message has two halves: "Trying to backward through the graph a second time *(or directly access saved tensors after they have already been freed)*". Here it was the second half.
#
# ### Exercise: the bill
#
# **06.2 · The bill** (8 minutes, harder). `x` is `torch.ones(1000, requires_grad=True)` and `c` is `torch.ones(1000)`, so each takes 4000 bytes. For each program: what is the **peak**, the most bytes that nodes hold at one time? As in the table of the ledger, the memory of leaves counts. A memory counts once and whole, even if only a slice of it was saved. A number such as 3 counts as nothing.
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

L.check("06.2", peaks)

# %% [markdown]
# ## Which graphs can run backward twice?


# %%
def twice(name, result):
    print(name)
    result.backward()
    result.backward()
    print("both calls ran")


a = (x + 1).sum()
b = (x * x).sum()
e = x.exp().sum()
v = x.view(3, 1).sum()  # view: the same numbers in another shape

# %% [markdown]
# **Predict.** For which of the four does the *second* call raise? Answer with a list of letters.

# %%
L.predict("06.p3", None)

# %% tags=["C06.6", "P5"]
for name, result in {"a": a, "b": b, "e": e, "v": v}.items():
    L.run(twice, name, result, after="06.p3")

# %% [markdown] tags=["tells"]
# Addition and `view` saved no tensor, so the first pass took nothing away from them. They can run as often as you like. The node of `x * x` saved `x`, the exponential saved its result, and these slots are empty now.

# %% [markdown]
# Before you run a fifth case, decide: `(x * 3).sum()`. Its slope is 3, whatever `x` is.

# %% tags=["C06.6", "P5"]
L.run(twice, "x * 3", (x * 3).sum(), after="06.p3")

# %% [markdown] tags=["tells"]
# The 3 was in a slot, and the first pass has freed it. A single number is enough.
#
# > **The rule.** A second pass raises if a node has to read a saved tensor that the first pass has freed.

# %% [markdown]
# ## Why did the training loop raise in its second step?
#
# Back to the gate. In each step the loop computed a *new* loss, with new nodes for the products, the square and the mean. So it does not look as if anything had run twice. Here are two steps of such a loop, line by line. Look for FREED.


# %% tags=["C06.8", "P6"]
def two_steps():
    s = torch.zeros(1, requires_grad=True)
    w = torch.ones(1, requires_grad=True)
    gate = s.sigmoid()  # before the loop
    loss0 = (gate * w).sum()
    loss0.backward()
    loss1 = (gate * w).sum()
    loss1.backward()


film(two_steps)

# %% [markdown]
# **Notice:** the first `backward()` removes no node and no arrow. Only the drawers are empty. You will often read that backward "frees the graph", but it frees saved tensors.
#
# The second step has a product and a sum of its own, with full drawers. But both products lead back to *one* sigmoid, because the gate was computed once. The first pass has emptied its drawer, and there the second pass fails.
#
# Look at `w.grad` in the last frame. The second pass had come as far as `w` before it failed, and has added to it. An error in the middle of a pass leaves some gradients changed, and others not.
#
# > **The rule.** Without the flag, a part of the graph that is built before a loop can be run only once, unless its nodes saved nothing.
#
# ## What does `retain_graph=True` really do?
#
# The message proposes it, so most people try it first. The flag does one thing: in this one pass, nothing is freed.

# %% tags=["C06.7", "P8"]
x.grad = None
with ledger() as held:
    b = (x * x).sum()
    for _ in range(2):
        b.backward(retain_graph=True)
        print(held.now, "bytes are held, and x.grad is", x.grad)

# %% [markdown]
# The 12 bytes stay. And the second pass did what every pass does (lesson 05): it *added* its gradient to `.grad`. So a loop that runs twice over the same loss gets twice the gradient.
#
# The flag is meant for two *different* losses that share a part of their graph. Many models have one encoder and two tasks. The first pass must leave something for the second, so all passes but the last one retain.
#
# > **The rule.** `retain_graph=True` keeps what the pass would free. Use it only if another loss still needs that.
#
# (If you have both losses at one time, `(first + second).backward()` needs no flag: it is one pass.)
#
# ## When do retained graphs fill the memory?
#
# A recurrent network has a *state*. Each step computes the new state from the one before. So the graph of the state of step 100 is a hundred steps long. Below is such a loop, and one with a gate before the loop. Both retain. (`sin` saves its input.)


# %%
def with_a_state():
    state = torch.zeros(3)
    with ledger() as held:
        for number in range(4):
            state = (state + x).sin()
            state.sum().backward(retain_graph=True)
            print(f"step {number}: {held.now} bytes")


def with_a_gate():
    with ledger() as held:
        gate = x.sigmoid()
        for number in range(4):
            loss = (gate + c).sin().sum()
            loss.backward(retain_graph=True)
            print(f"step {number}: {held.now} bytes")


# %% [markdown]
# **Predict.** How many bytes do the nodes hold at the end of each loop? Answer with two numbers, such as `[12, 12]`.

# %%
L.predict("06.p4", None)

# %% tags=["C06.13"]
L.run(with_a_state, after="06.p4")
L.run(with_a_gate, after="06.p4")

# %% [markdown] tags=["tells"]
# With the state, each step adds 12 bytes, and none of them is ever freed. The newest state still leads to all the steps before it. The passes become longer and longer as well, because each of them runs through all the steps. In a real network these may be megabytes for each step. (Usually the gradient should stop at the step before. Lesson 09 shows how.)
#
# With the gate it stays at 24: the sigmoid's result, and the input of the newest `sin`. No arrow leads from a new loss to an old one. So an old loss dies, and its nodes with it, as soon as the next one takes the name `loss`. What is wrong with the gate must be something else.
#
# > **The rule.** With `retain_graph=True`, a state that is carried from step to step holds what all the steps have saved.

# %% [markdown]
# ## What becomes of the gradient?
#
# Here is the loop again, with `x.exp()` in place of the gate, because its numbers are larger, and with `x * x` beside it. Both are computed once, and then `x` is updated. The program prints the third number of `x.grad`, and the one that would be right for the present `x`.

# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
scale, square = x.exp(), x * x


def through_scale():
    for _ in range(3):
        x.grad = None
        (scale * c).sum().backward(retain_graph=True)
        print(f"x[2] is {x[2].item():.2f}: x.grad[2] {x.grad[2].item():.2f}, right: {(c * x.exp())[2].item():.2f}")
        with torch.no_grad():
            x.sub_(0.002 * x.grad)  # an optimizer's step


def through_square():
    x.grad = None
    (square * c).sum().backward(retain_graph=True)


# %% [markdown]
# One more fact: PyTorch counts the writes into each memory. This count is the *v* in the pictures. When a pass reads a saved tensor, it checks whether the count has grown since it was saved.
#
# **Predict.** We call `through_scale()` (A), and then `through_square()` (B). What happens to the gradients after the first update, in A and in B? Answer with two of `"fine"` (`x.grad` is the gradient at the present `x`), `"raises"` and `"silently wrong"`, such as `["fine", "fine"]`.

# %%
L.predict("06.p5", None)

# %% tags=["C06.12", "P6"]
L.run(through_scale, after="06.p5")
L.run(through_square, after="06.p5")

# %% tags=["P6"]
L.run(lambda: draw(scale, square), after="06.p5")

# %% [markdown] tags=["tells"]
# **Notice:** `scale` and `square` are wrong in the same way. Both were computed from numbers that `x` no longer has. The difference is what their nodes saved.
#
# - The node of `x * x` saved its **input**, `x`. The optimizer wrote into exactly this memory, three times. Backward finds version 3 where the drawer says 0, and it refuses. (Lesson 07 is about these versions.)
# - The node of `x.exp()` saved its **result**. That is another memory, and the optimizer never writes there. Backward finds the drawer in perfect order, with the values of the first step in it. There is nothing to notice.

# %% [markdown]
# A sigmoid saves its result as well, and with that you can read the story of the beginning. Here is the gate that training used, and the gate that the present `s` would have given:

# %%
for name, gate in zip(("in training:       ", "the finished model:"), gates[-1], strict=True):
    print(f"{name} {gate:.2f} * {learned:.2f} = {gate * learned:.2f}")
L.stage.two_gates(gates)

# %% [markdown]
# **Notice:** the gate that training used never moves, but `s` does, and its gate runs away. The model should double its input, so gate · w should be 2. It is 2 with the old gate only.
#
# Each step used the gate of the first step, both in the loss and in the gradient. So `w` learned to fit this old gate perfectly. And `s` was given the gradient that arrived at the gate, times 0.25, the slope of the sigmoid at the *first* `s`. The finished model computes its gate from the last `s`, and it has never been trained with that gate.
#
# The cure is neither a flag nor a copy:

# %% tags=["P6"]
s, w = torch.tensor(0.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
for _ in range(40):
    loss = one_step(s.sigmoid(), s, w)  # a new gate in every step
print(f"training {loss:.4f}, the finished model on the same data {loss_with(s.sigmoid(), w).item():.4f}")

# %% [markdown]
# > **The rule.** What was computed from a parameter has to be computed again once the parameter was updated, with or without `retain_graph=True`.

# %% [markdown]
# ## Build your own engine: slots that are emptied
#
# Your engine writes the tensors that a formula names into `node.saved`, and there they stay for ever. In `my_engine.py`, in the same folder as this notebook, you now let them go. It takes about 19 lines (20 minutes).
#
# 1. **`SavedVariable(tensor, node)`** is one slot. It holds an input as it is. If the tensor is the node's own result (`tensor.grad_fn is node`), it holds a second tensor on the same memory without history. Otherwise the result would hold its node and the node its result: a ring, which goes only when Python's garbage collector comes by. A method `detach()` of `Tensor` makes that: `Tensor(self.array)`. Where a tensor was put into `node.saved`, you now put `SavedVariable(tensor, node)`.
# 2. **`unpack(node)`** gives the tensor back: an input as it is; for the node's own result a tensor on the same memory whose `grad_fn` is `node` again. If the slot is empty, it raises a `RuntimeError` that begins with "Trying to backward through the graph a second time". `Node.read` calls it.
# 3. **`Node.release()`** empties all slots of a node.
# 4. **`run_backward`** gets a parameter `retain_graph=False`, and calls `release()` as soon as a node has run, unless the graph is to be retained.
#
# One slip is typical: to forget the question `tensor.grad_fn is node`. Then your own result is held like an input, and the ring is there. Your gradients will be right all the same, but the memory stays.

# %%
L.build("06")

# %% [markdown]
# When the checkpoint says *correct*, your engine frees memory during backward, and it raises the error of the gate.
#
# ## Exercises: more, if you like
#
# **06.3 · A part outside the loop** (8 minutes). `w` is a leaf, and `batches` is a list of plain tensors of its shape. The function should leave in `w.grad` the sum, over all batches, of the gradients of `(w.exp() * batch).sum()`. It raises in the second step. Repair it so that no saved tensor is read by two passes. The lesson's own cure counts. But think of `w.exp()` as a large and expensive part of a model that does not change between the batches: can you do it with a single `w.exp()`?


# %%
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad


L.check("06.3", collect)

# %% [markdown]
# **06.4 · Which happens?** (8 minutes). In every program `x` is a fresh `torch.tensor([1.0, 2.0], requires_grad=True)`, and its author wants `x.grad` to be the gradient of `y`. Answer with `"fine"`, `"raises now"` (some line other than a backward raises), `"raises at backward"`, or `"silently wrong"` (no error, and another number in `x.grad`).
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

L.check("06.4", happens)

# %% [markdown]
# **How much less memory does a frozen layer take?** In lesson 02 you froze a layer, and the graph held fewer bytes. Now you can say why: formulas that are not needed do not run, and what only they would read is not saved. But does it help to freeze *any* layer? (`W1.detach()` is a tensor with the same numbers that needs no gradient.)


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
# With `W1` frozen, nothing up to `h` needs a gradient, so no nodes are made there. What is left is `h`, for the gradient of `W2`. With `W2` frozen, not a single byte less is held. The second product does not need `h` any more. But `relu` does, because the gradient must still pass through it on the way to `W1`. Under `no_grad` no operation makes a node, so nothing is held. That is why evaluation often fits where training does not.
#
# **One pass or two?** Two losses that share a part of their graph need two passes and the flag, or one pass over their sum:


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
# The gradient is the same, and one pass over the sum needs no flag. But two passes can save memory, if the second loss is computed only after the first one has gone. Two tasks share 4000 bytes here, and each of them saves 4000 more:


# %% tags=["C06.15"]
def tasks(one_pass):
    big = torch.ones(1000, requires_grad=True)
    with ledger() as held:
        shared = big.exp()
        loss = shared.sin().exp().sum()
        if one_pass:
            loss = loss + shared.cos().exp().sum()
        else:
            loss.backward(retain_graph=True)
            loss = None  # the first task's nodes die here, and shared lives on
            loss = shared.cos().exp().sum()
        loss.backward()
    return f"{held.peak} bytes at the peak, gradient {big.grad[0].item():.3f}"


print("one pass:  ", tasks(one_pass=True))
print("two passes:", tasks(one_pass=False))

# %% [markdown]
# **06.5 · Same gradient, fewer bytes** (6 minutes). `x` requires grad; `mask`, `weight` and `scale` are plain tensors of its shape, and belong to the caller. The nodes of the result hold four memories. Rewrite `loss_of` so that they hold two, with the same value and the same gradient.


# %%
def loss_of(torch, x, mask, weight, scale):
    h = x * mask
    h = h * weight
    h = h / scale
    return h.sin().sum()


L.check("06.5", loss_of)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C06.1** Addition saves no tensor; multiplication saves a factor only if the other factor needs a gradient.
# - **C06.2** `x * c`, `x.sin()`, `x.log()` and the product of two matrices save the very tensor that they were given, and no copy.
# - **C06.3** A saved result with a history is read as a new tensor object with the same memory and the same grad_fn.
# - **C06.4** The exponent of `x ** 3` is a plain number and survives backward; the 3 of `x * 3` and of `x / 3` is a saved tensor and is freed.
# - **C06.5** Backward frees a node's saved tensors right after that node ran, before the next node runs.
# - **C06.6** A second backward raises if a node has to read a freed tensor: x + 1 runs twice, x * x and x * 3 do not.
# - **C06.7** With retain_graph=True nothing is freed, and the second pass adds its gradients to the first.
# - **C06.8** If a part of the graph is built once before a loop, the loop's first backward frees what its nodes saved.
# - **C06.9** A saved activation lives on after its last name is gone, and dies when backward frees it.
# - **C06.10** When two nodes save the same tensor, its memory is held once, until the last of them has run.
# - **C06.11** With one hidden layer and relu, freezing the first weight lowers the memory that is held, freezing the second does not, and under no_grad nothing is saved.
# - **C06.12** After x is updated, a retained `x.exp()` gives the gradient at the old x without an error, and a retained `x * x` raises.
# - **C06.13** With retain_graph=True, a state that is carried from step to step holds what every step's nodes saved.
# - **C06.14** One pass over the sum of two losses gives the same gradient as two passes, of which the first retains.
# - **C06.15** Two passes can hold less at the peak than one, if the second loss is computed after the first has gone.
#
# **At work:** "Trying to backward through the graph a second time" means that two passes came to one node that had saved something. Look for what they share: a tensor that was computed before the loop, or a state that came from the step before. `draw(loss)` before the second pass shows the empty drawers. Compute the shared part in the loop, or detach the state.
#
# **Left out:** on a GPU, freed memory returns to a caching allocator, so `nvidia-smi` shows no change. `x ** c` with a tensor `c` saves base, exponent and result. Gradients on their way take memory, too.
#
# **Read on in our engine:** `course_lib/engine/saved.py`.
#
# **Next:** a saved tensor is no copy. So what happens if your program writes into it before backward reads it? You have just seen one such error. [Lesson 07](07_version_counters.ipynb) is about it.
