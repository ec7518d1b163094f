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
# # 10 · A training loop: who reads and who writes `.grad` and the parameters?
#
# **Two reports from one week. The first: "I froze the first layer after some training. The loss fell for a while, and then it exploded." The second: "I gave a pretrained network a new last layer. The loss falls. After a week the new layer still holds the random numbers that it began with." Neither program raises an error. In each of them one line reads or writes something that its author did not think of.**
#
# The calls in a training loop, `zero_grad`, `backward` and `step`, never call each other. They communicate only through what they leave behind: in `.grad`, in the graph, and in the parameters. A loop is right when each line finds what it needs to read. You can check that line by line.
#
# After this lesson you can
#
# - put the lines of a training loop in order, and say what goes wrong in another order;
# - say which parameters a step moves, and which it leaves alone;
# - find the line that is missing in reports like the two above.
#
# **Minutes** 85, of which 15 are for your own engine, and 8 for more exercises · **Needs** lessons 00, 02, 05, 06, 07 and 09 · **Out of scope** real data, testing and batch norm (part [10b](10b_real_data.ipynb)); what Adam and other optimizers remember (part [10c](10c_optimizers.ipynb))
#
# [← 09 The ways out](09_ways_out.ipynb) · [all lessons](home.ipynb) · [11 Custom Functions →](11_custom_functions.ipynb)

# %%
import course_lib as torch

from backscope import draw
from coursekit import lesson, show

L = lesson(10)

# %%
x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()


def fresh(lr=0.1, **settings):
    layers = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
    model = torch.nn.Sequential(*layers)
    for layer in model:
        layer.weight = torch.nn.Parameter(torch.ones(1, 1))
    return model, torch.optim.SGD(model.parameters(), lr=lr, **settings)


def frozen(clear_all, rounds=12):
    model, optimizer = fresh()
    losses, weights = [], []
    for _ in range(rounds):
        (optimizer if clear_all else model[1]).zero_grad()
        loss = mse(model(x), t)
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 2))
        weights.append(round(model[0].weight.item(), 1))
        model[0].requires_grad_(False)  # from the second round on
    return losses, weights


losses, weights = frozen(clear_all=False)
print(losses)
L.stage.losses({"first layer frozen after one round": losses})

# %% [markdown]
# That is the first report, in a network that you can follow with a pencil. `fresh()` makes two layers in a row, with one weight each, u and v, which both begin at 1. Every batch is x = 1 and t = 3, so the loss is (uv − 3)². An *optimizer* is an object that was given the parameters, and whose `step()` changes them. SGD, *stochastic gradient descent*, is the simplest one.
#
# After the first round the first layer is frozen with `requires_grad_(False)`. From then on only the second layer learns, so only its gradient is cleared, with `model[1].zero_grad()`. The loss is nearly 0 for a few rounds. Then it explodes.
#
# ## Who reads, and who writes?
#
# Here is one round of a loop, from left to right. Each lane is something that outlives a line: the parameters, the graph, and the gradients in `.grad`. A box says what the line above it does there.

# %%
L.stage.lanes()

# %% [markdown]
# **Notice:**
#
# - Each line finds its work in a lane, and leaves its result in a lane.
# - `backward()` reads what the graph has saved, and frees it (lesson 06). In a network some of the saved tensors are the parameters themselves, or views of them, each noted with its version.
# - Only `step()` writes to the parameters. It never looks at the loss or at the graph. It finds the gradients in the lane `.grad`.
#
# ## In which orders may the three lines stand?
#
# After the forward pass come three lines: Z, `optimizer.zero_grad()`; B, `loss.backward()`; and S, `optimizer.step()`. This program makes three rounds with each order. It prints the losses that they see.

# %%
def train(model, optimizer, order="ZBS", rounds=3):
    losses = []
    for _ in range(rounds):
        loss = mse(model(x), t)
        losses.append(round(loss.item(), 4))
        do = {"Z": optimizer.zero_grad, "B": loss.backward, "S": optimizer.step}
        for letter in order:
            do[letter]()
    return losses


def six_orders():
    for order in ("ZBS", "ZSB", "BZS", "BSZ", "SBZ", "SZB"):
        model, optimizer = fresh()
        print(order, train(model, optimizer, order))

# %% [markdown]
# **Predict.** Which of the six train the network as they should? Answer with a list of orders.

# %%
L.predict("10.p1", None)

# %% tags=["C10.6", "P12"]
L.run(six_orders, after="10.p1")

# %% [markdown] tags=["tells"]
# Two of them train, and one raises. Three never change the loss, and say nothing about it. Here is the lane `.grad` of one of these three.

# %%
L.run(L.stage.lanes, "ZSB", ".grad", after="10.p1")

# %% [markdown] tags=["tells"]
# **Notice:** `step()` reads `.grad` right after the clearing. It finds None for every parameter. That is not an error: `step()` leaves a parameter without a gradient alone. The gradient comes after the step, and is cleared before the next one.
#
# > **The rule.** No clearing may stand between `backward` and `step`, and no `step` between the forward pass and `backward`.

# %% [markdown]
# ## What does `backward` find when `step` has written?
#
# Here is the lane of the parameters, in the last of the six orders.

# %%
L.run(L.stage.lanes, "SZB", "parameters", after="10.p1")

# %% [markdown] tags=["tells"]
# **Notice:** `step()` writes between two lines that read. The forward pass has computed with the old values, and `backward()` finds the new ones. (In the first round `step` found no gradient and wrote nothing, so the error waits until the second.)

# %% [markdown]
# Below are the two layers once more, written by hand, in the second round of this order. The first round has left the gradient −4 for each weight. We stop after `step`, before `backward`.

# %%
def second_round():
    u, v = (torch.ones(1, 1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([u, v], lr=0.1)
    u.grad = torch.full((1, 1), -4.0)  # from the first round
    v.grad = torch.full((1, 1), -4.0)
    h = x * u
    y = h * v
    optimizer.step()
    return draw(y)


L.run(second_round, after="10.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - `v` is STALE. Node 2, the second product, saved it at version 0, and `step` has written to it since.
# - `step` wrote to `u` as well. But no node saved `u`: the first product saved only `x`, because `x` is plain data and needs no gradient. So this write does no harm.
#
# The message names the same two versions, 1 and 0. (A `Linear` saves its weight as a view, transposed. A view that is renewed after a write is called AsStrided: lesson 08.)

# %% [markdown]
# ## Two losses share some layers: when may you step?
#
# In reinforcement learning an actor and a critic have a loss each, and share the layers below them, the *trunk*. Here the first optimizer steps as soon as it has its gradients. The two graphs share a part, so `retain_graph=True` is needed to get that far.

# %%
def two_losses():
    trunk = fresh()[0]  # two layers
    actor, critic = fresh()[0]  # two layers more, one for each head
    shared = [*trunk.parameters(), *actor.parameters()]
    first = torch.optim.SGD(shared, lr=0.1)
    h = trunk(x)  # x is plain data
    loss_a, loss_c = mse(actor(h), t), mse(critic(h), t)
    loss_a.backward(retain_graph=True)
    first.step()
    loss_c.backward()

# %% [markdown]
# **Predict.** Which of the weights, if any, make the last line raise? A: that of `trunk[0]`; B: that of `trunk[1]`; C: that of `actor`; D: that of `critic`. Answer with a list of letters; it may be empty.

# %%
L.predict("10.p2", None)

# %% tags=["C10.3", "P8"]
L.run(two_losses, after="10.p2")

# %% [markdown] tags=["tells"]
# It is the weight of `trunk[1]`. The trunk saved it at version 0, for both passes. The first pass read it in time. Then `step` wrote to it, and the second pass, which came from the critic, found it at version 1.
#
# The other three do no harm. The weight of `trunk[0]` was saved nowhere, because `x` is plain data. The critic's pass does not go through `actor`. And the optimizer does not hold `critic`. (So with a trunk of one layer nothing raises, and the next layer that you add breaks the program.)
#
# > **The rule.** First all reading, then all writing: run every backward pass of a forward pass before any step.

# %% [markdown]
# The usual cure is one forward pass of the trunk, one backward pass for the sum of the losses, and then all steps. The trunk gets the gradient of both losses, −8 for each weight, and each head its own, −4.

# %% tags=["C10.3"]
trunk, (actor, critic) = fresh()[0], fresh()[0]
everything = [p for part in (trunk, actor, critic) for p in part.parameters()]
optimizer = torch.optim.SGD(everything, lr=0.1)
h = trunk(x)
(mse(actor(h), t) + mse(critic(h), t)).backward()  # all is read ...
optimizer.step()  # ... before anything is written
print([round(p.item(), 4) for p in everything])

# %% [markdown]
# ## What is inside `step()`?
#
# For each parameter, `step()` reads `.grad` and writes the parameter in place, under `no_grad`. So your model holds the same tensors as before, at a higher version. For plain SGD the same by hand is one line. Below, `p` and `q` begin at the same values and get the same gradients. `p` is stepped by the optimizer, and `q` by hand.

# %% tags=["C10.1", "C10.2"]
p, q = (torch.tensor([1.0, 0.3], requires_grad=True) for _ in range(2))
optimizer = torch.optim.SGD([p], lr=0.1)
for _ in range(5):
    p.grad, q.grad = p.detach() ** 3, q.detach() ** 3  # any would do
    optimizer.step()
    with torch.no_grad():
        q.add_(q.grad, alpha=-0.1)
print("equal:", p.tolist() == q.tolist(), "- version", p._version)
print("a leaf:", p.is_leaf, "- node:", p.grad_fn)

# %% [markdown]
# The two are equal to the last digit. Each step counts as one write: five steps have made version 5.
#
# Here is `step` in our engine. `update` is the arithmetic, here the subtraction in place. Pass over the closure and the groups, and look for the question that `step` asks about each parameter.

# %% tags=["engine"]
show("optim.SGD.step")

# %% [markdown]
# ## A layer takes no part in a batch: does it rest?
#
# Not every parameter gets a gradient from every batch, and some are frozen. Here three parameters make one step together. Before the second step each is treated in another way.
#
# The optimizer may be given **weight decay**, d: then it adds d times the parameter to the gradient, and so each step also pulls the parameter a little towards 0. People use it against large weights.

# %%
def two_steps(settings):
    a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
    optimizer = torch.optim.SGD([a, b, c], lr=0.1, **settings)
    (a + b + c).backward()
    optimizer.step()
    print("settings:", settings)
    print("after one step: ", [round(p.item(), 4) for p in (a, b, c)])
    a.grad = None
    b.grad = torch.zeros(1)
    c.requires_grad_(False)
    optimizer.step()
    print("after two steps:", [round(p.item(), 4) for p in (a, b, c)])

# %% [markdown]
# **Predict.** Which of the three does the second step move, with weight decay 0.5? Answer with a list of letters.

# %%
L.predict("10.p3", None)

# %% tags=["C10.4", "C10.5", "P13"]
L.run(two_steps, {"weight_decay": 0.5}, after="10.p3")
L.run(two_steps, {"momentum": 0.9}, after="10.p3")
L.run(two_steps, {}, after="10.p3")

# %% [markdown] tags=["tells"]
# **Notice:** without settings, plain SGD moves only the frozen one. With weight decay or momentum the one with the zero moves as well, by the decay, or by the sum of earlier gradients that momentum keeps and steps along (lesson 05).
#
# `step()` asks for `.grad`, and never for `requires_grad`. `requires_grad_(False)` keeps new gradients away, but the old gradient of c is still there, and is used again.
#
# > **The rule.** `step()` handles every parameter that it holds and whose `.grad` is not None, frozen or not.

# %% [markdown]
# Now back to the first report. Here are the frozen weight and the losses, with `model[1].zero_grad()` as in the report, and with `optimizer.zero_grad()`.

# %%
def report():
    for clear_all in (False, True):
        losses, weights = frozen(clear_all)
        print("all cleared:" if clear_all else "model[1] cleared:")
        print("  frozen weight", weights, "\n  losses", losses)


L.run(report, after="10.p3")

# %% [markdown] tags=["tells"]
# The frozen weight goes up by 0.4 in each round, with the gradient −4 that was left from the first one. The other weight makes up for it for a while, and then the loss explodes.
#
# `optimizer.zero_grad()` sets both gradients to None, and then the frozen weight rests. So does a layer that took no part in a batch. But `zero_grad(set_to_none=False)` writes zeros, and then momentum or decay still moves the weight.

# %% [markdown]
# ## What may you do to a gradient before the step?
#
# Between `backward` and `step` a gradient is just a tensor, and you may write to it. The most common write is *clipping*. Now and then a single batch has a gradient a hundred times as long as usual, and the step along it is far too long. `clip_grad_norm_` takes all gradients together as one long vector. If the length of the vector, its *norm*, is larger than a limit, it is shortened in place and keeps its direction.
#
# If you accumulate micro-batches (lesson 05), the gradient is complete only after the last one. Does it matter when you clip? Let two parts send the gradients [3, 0] and [0, 4], and let the limit be 1.

# %%
def clipped(after):
    w = torch.zeros(2, requires_grad=True)
    for number, part in enumerate(torch.tensor([[3.0, 0.0], [0.0, 4.0]])):
        (w * part).sum().backward()
        if after == "each" or number == 1:
            norm = torch.nn.utils.clip_grad_norm_([w], 1.0)
    print("clipped after", after, "part:", w.grad, "- norm before:", norm)

# %% [markdown]
# **Predict.** `w.grad` is clipped once, after the last part; or it is clipped after each part. What differs at the end? A: nothing; B: only its length; C: only its direction; D: both. Answer with one letter.

# %%
L.predict("10.p4", None)

# %% tags=["C10.7"]
L.run(clipped, "the last", after="10.p4")
L.run(clipped, "each", after="10.p4")

# %% [markdown] tags=["tells"]
# If you clip after the last part, the direction is that of the sum, [3, 4]. If you clip after each, the first part is shortened to [1, 0] before the second comes. So the norm is √(1 + 16) = 4.1231, and the result points somewhere else.
#
# > **The rule.** Clip once, when the gradient is complete, right before `step()`.

# %% [markdown]
# ## What else is kept from round to round?
#
# Three more things outlive a round, and each has lines that write it.

# %%
model, optimizer = fresh(momentum=0.9)
train(model, optimizer, rounds=1)
print("state:", optimizer.state[model[0].weight])
print("rate:", optimizer.param_groups[0]["lr"])
print("buffers:", [name for name, _ in torch.nn.BatchNorm1d(1).named_buffers()])

# %% [markdown]
# - The **state** is what the optimizer remembers of each parameter, here the running sum of momentum. Each step reads it and writes it.
# - The **rate** stands in the optimizer's groups. A *scheduler* computes it from a plan, usually large steps first and small ones later. Its own `step()`, called after `optimizer.step()`, writes the next rate there.
# - **Buffers** are tensors of the model that no optimizer steps. A batch norm layer has running averages of what passes through it. In train mode it is the *forward pass* that writes them.
#
# ### Exercise: who writes what?
#
# **10.1 · Who writes what?** (3 minutes). A loop with SGD, momentum and `StepLR(optimizer, step_size=1)` has run for some rounds. The model has a batch norm, in train mode. Which of `"parameters"`, `"gradients"`, `"buffers"`, `"state"` and `"rates"` does each line change? A list for each letter.
#
# ```python
# optimizer.zero_grad()                                     # A
# loss = mse(model(x), t)                                   # B
# loss.backward()                                           # C
# torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # D
# optimizer.step()                                          # E
# scheduler.step()                                          # F
# ```

# %%
writes = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("10.1", writes)

# %% [markdown]
# ### Exercise: repair the loop
#
# **10.2 · Repair the loop** (10 minutes). From a forum: "Same settings as in the paper, and it does not learn." A batch comes as a list of micro-batches of equal size, each with a backward of its own. Wanted for each batch:
#
# - one step, with the gradient of the mean loss over the whole batch;
# - that gradient clipped to the norm `most`;
# - the step with the rate that holds at that moment, and only then the scheduler's next rate.
#
# Some lines stand in the wrong place, and the gradient has the wrong length. (`mse` averages over its batch. `torch` is the library, ours or PyTorch.)


# %%
def fit(torch, model, optimizer, scheduler, batches, most):
    mse = torch.nn.MSELoss()
    for parts in batches:
        for x, t in parts:
            optimizer.zero_grad()
            mse(model(x), t).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), most)
        scheduler.step()
        optimizer.step()


L.check("10.2", fit)

# %% [markdown]
# ## Which tensors does an optimizer hold?
#
# An optimizer is given tensors, not names. In the second report somebody put in a new layer after the optimizer was made. Does the loss fall? Does the new layer move?

# %% tags=["C10.8"]
def new_layer():
    model, optimizer = fresh()
    model[1] = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model[1].weight, 0.5)
    print("losses:", train(model, optimizer))
    print("new layer:", model[1].weight.item())
    held = set(optimizer.param_groups[0]["params"])
    named = model.named_parameters()
    print("not held:", [name for name, p in named if p not in held])


L.run(new_layer)

# %% [markdown]
# The optimizer still holds the old layer, which no backward pass reaches any more. The loss falls all the same, because the other layer learns. That was the second report. Make the optimizer anew, or hand over what is missing with `add_param_group`. The same is true of a layer that was left out because it was frozen, and is unfrozen later.
#
# What only changes the *values* of the same parameters leaves them with the optimizer. And a result of an operation is refused: it is no leaf, so no gradient would arrive in its `.grad` (lesson 02).

# %% tags=["C10.8"]
def same_objects():
    model, optimizer = fresh()
    held = set(model.parameters())
    model.load_state_dict(fresh()[0].state_dict())
    print("still held after loading:", set(model.parameters()) == held)
    print("still held after double():", set(model.double().parameters()) == held)
    torch.optim.SGD([0.5 * p for p in held], lr=0.1)


L.run(same_objects)

# %% [markdown]
# ## Do you get the best weights back?
#
# A loss goes up and down, and the last round is seldom the best. So people keep the weights of the best one, and put them back at the end. `state_dict()` gives a dictionary with every parameter by name, and `load_state_dict()` writes the values of such a dictionary into the model.

# %%
def best_of_four():
    model, optimizer = fresh(lr=0.25)
    best = {"loss": float("inf")}
    for _ in range(4):
        train(model, optimizer, rounds=1)
        loss = mse(model(x), t).item()
        if loss < best["loss"]:
            best = {"loss": loss, "state": model.state_dict()}
    model.load_state_dict(best["state"])
    print(best["loss"], mse(model(x), t).item())
    return L.stage.at_the_end(model, best["state"])

# %% [markdown]
# With the rate 0.25 our network swings: the loss after each of the four rounds is 1, 4, 1, 4.
#
# **Predict.** Which two numbers are printed? Answer with a pair.

# %%
L.predict("10.p5", None)

# %% tags=["C10.9"]
L.run(best_of_four, after="10.p5")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - `kept`, from the "best" state, lies in one memory with the weight of the model, and has the same counter. `state_dict()` hands out what `detach()` would.
# - So every later `step` wrote into the best state, too. `load_state_dict` then copied the weights onto themselves.
# - For `copied`, `copy.deepcopy(best["state"])` was called at the end. It has a memory of its own, but it came too late.
#
# > **The rule.** A state dictionary is a set of names for the model's own memory. To keep it, copy it at that moment: `copy.deepcopy(model.state_dict())`. (Writing it to a file with `torch.save` is a copy, too.)

# %% [markdown]
# ## So who reads, and who writes?
#
# Here are all the lanes of this lesson, for a loop with everything in it. (The buffers are written in train mode only.)

# %%
L.stage.all_lanes()

# %% [markdown]
# When a loop trains wrongly and says nothing, go through it with this picture. For each line ask which lane it reads, who wrote there last, and whether anybody has written since.
#
# ## Build your own engine: an optimizer
#
# In `my_engine.py`, write a class `SGD` with `zero_grad` and `step`, twelve lines in all (15 minutes). It is given the parameters and `lr`. (You can walk through `model.parameters()` only once, so keep a list.) For each parameter, `step` looks whether `.grad` is None. If so, it skips the parameter; if not, it subtracts in place, with `sub_` under `no_grad()`. It leaves `.grad` itself alone. So that programs find it where PyTorch has it, add `optim = SimpleNamespace(SGD=SGD)` (from `types`).
#
# The usual slip is `p = p - lr * p.grad`. It makes a new tensor and gives it the name `p` inside your loop, and the model's parameter stays as it was. (In the picture that the checkpoint draws, a backward pass would fail, since `step` has written. That is right: the pass is over.)

# %%
L.build("10")

# %% [markdown]
# When the checkpoint says *correct*, let your engine train. The next cell runs a loop on it in which eight hidden units have to tell two half-moons of 20 points each apart. The losses stand beside those of our engine and, if you have installed it, of PyTorch, and every gradient of 301 rounds is compared.

# %%
L.train()

# %% [markdown]
# ## Exercises: more, if you like
#
# **10.3 · Which happens?** (8 minutes). `model, optimizer = fresh(momentum=0.9)` each time; `loss_of()` is the loss, and `one_round()` one whole round in the order ZBS. The comment says what was wanted. Answer with `"fine"`, `"raises now"` (in a line without backward), `"raises at backward"` or `"silently wrong"`.
#
# ```python
# # A. two steps down the slope of one loss
# loss = loss_of(); loss.backward(retain_graph=True); optimizer.step()
# loss.backward(); optimizer.step()
# # B. the gradients of the loss as it was computed,
# #    although the first layer is stepped before backward
# one_round(); loss = loss_of()
# torch.optim.SGD(model[0].parameters(), lr=0.1).step()
# optimizer.zero_grad(); loss.backward()
# # C. afterwards the weights are as before the step
# kept = model.state_dict(); one_round(); model.load_state_dict(kept)
# # D. the same
# kept = {name: value.clone() for name, value in model.state_dict().items()}
# one_round(); model.load_state_dict(kept)
# # E. both layers learn
# model[1] = torch.nn.Linear(1, 1, bias=False); one_round()
# # F. both layers learn, in double precision
# model.double(); x, t = x.double(), t.double(); one_round()
# # G. from the second line on, the last layer rests
# one_round()
# model[1].requires_grad_(False); optimizer.step()
# # H. both layers learn, in double precision
# optimizer = torch.optim.SGD([p.double() for p in model.parameters()], lr=0.1)
# one_round()
# ```

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("10.3", happens)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, except for what stands in brackets. A test runs all of it on our engine and on PyTorch.
#
# - **C10.1** `step()` reads `.grad` and writes the parameters in place under no_grad: the same tensors afterwards, without a node, and with a higher version (unless the optimizer was made with `fused=True`).
# - **C10.2** A step of plain SGD is `p.add_(p.grad, alpha=-lr)`.
# - **C10.3** When two losses come from one forward pass, a step between their backward passes raises if the second still has to read a weight that was stepped.
# - **C10.4** `step()` skips a parameter whose `.grad` is None; a gradient of zero can still move it, by momentum or weight decay.
# - **C10.5** `requires_grad_(False)` does not stop `step()`: a gradient that is still there is used again.
# - **C10.6** With no gradients at first, three calls follow the forward pass: Z clears, B is backward, S steps. ZBS and BSZ train; ZSB, BZS and SBZ never move a parameter; SZB raises in the second round if backward reads a parameter that was stepped.
# - **C10.7** `clip_grad_norm_` multiplies all gradients in place by one factor and returns the norm they had; after each micro-batch instead of after the last it can give another direction.
# - **C10.8** An optimizer steps the tensors it was given: a layer that is put in later does not learn, and nothing raises; `load_state_dict` and `model.double()` keep the parameters the same objects.
# - **C10.9** `state_dict()` hands out the model's own memory: a best state that was not copied changes with every step.
#
# **What PyTorch does differently:** with `fused=True` one call writes all parameters, and in PyTorch 2.13 this write is not counted, so the order SZB gives a wrong gradient without an error. Our engine refuses the setting.
#
# **Left out:** closures for `step` (LBFGS); GPUs; 16-bit training, where clipping comes after `GradScaler` has divided the gradients.
#
# **Next:** in [lesson 11](11_custom_functions.ipynb) you write operations of your own, with a backward that you choose.
