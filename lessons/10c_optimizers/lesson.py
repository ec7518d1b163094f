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
# # 10c · Optimizers: what do they remember?
#
# **"Each time I resume from a checkpoint, the losses are not those of the training without the interruption. I compared all weights, and they are identical." The report is from a team whose jobs may run for four hours. The curve of their loss has a bump every four hours. No line raises an error.**
#
# This part needs lesson 10, and no later lesson needs this part. SGD without settings remembers nothing from step to step. Nearly every other optimizer does.
#
# After this lesson you can
#
# - stop, save and resume a training so that it goes on to the last digit;
# - say what momentum, weight decay, Adam and AdamW read, remember and write;
# - say where the learning rate is kept, and when a scheduler should change it.
#
# **Minutes** 50, and 5 for more exercises · **Needs** lesson 10; the last section also part 10b · **Out of scope** which optimizer is best
#
# [← 10b Real data](10b_real_data.ipynb) · [all lessons](home.ipynb) · [11 Custom Functions →](11_custom_functions.ipynb)

# %%
import course_lib as torch
import copy
import warnings

from coursekit import chart, contour, lesson

L = lesson("10c")
x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()


def fresh(**settings):
    layers = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
    model = torch.nn.Sequential(*layers)
    for p in model.parameters():
        torch.nn.init.ones_(p)
    return model, torch.optim.SGD(model.parameters(), **settings)


def train(model, optimizer, rounds=3):
    losses = []
    for _ in range(rounds):
        optimizer.zero_grad()
        loss = mse(model(x), t)
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    return losses

# %% [markdown]
# ## What do you need to resume a training?
#
# `fresh()` makes the network of lesson 10, two layers with one weight each, and its optimizer. Here is the report as a program. It saves the weights after three rounds with momentum. Then a new process makes the same model, and a new optimizer with the same settings.

# %%
def resumed():
    settings = {"lr": 0.02, "momentum": 0.9}
    model, optimizer = fresh(**settings)
    print("before saving:  ", train(model, optimizer))
    saved = copy.deepcopy(model.state_dict())
    again, its = fresh(**settings)
    again.load_state_dict(saved)
    print("resumed:        ", train(again, its))
    print("not interrupted:", train(model, optimizer))

# %% [markdown]
# **Predict.** Which of the three losses are equal in the last two lists? A: the first; B: the second; C: the third. Answer with a list of letters; it may be empty.

# %%
L.predict("10c.p1", None)

# %% tags=["C10c.3"]
L.run(resumed, after="10c.p1")

# %% [markdown] tags=["tells"]
# Only the first loss is the same. The weights were right, so the first forward pass was. With the model alone, momentum starts again from nothing, and nothing raises. That was the report.

# %% [markdown]
# `optimizer.state_dict()` has what the optimizer remembers, and the rate. Here both are saved and loaded.

# %% tags=["C10c.3"]
def resumed_with_both():
    model, optimizer = fresh(lr=0.02, momentum=0.9)
    train(model, optimizer)
    both = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    saved = copy.deepcopy(both)
    print("remembered:     ", saved["optimizer"]["state"])
    again, its = fresh(lr=0.02, momentum=0.9)
    again.load_state_dict(saved["model"])
    its.load_state_dict(saved["optimizer"])
    print("resumed:        ", train(again, its))
    print("not interrupted:", train(model, optimizer))
    print("the saved one:  ", saved["optimizer"]["state"])


L.run(resumed_with_both, after="10c.p1")

# %% [markdown] tags=["tells"]
# With both, the losses go on as if the training had never been interrupted. A scheduler has a `state_dict()` of its own, and dropout needs the state of the random numbers.
#
# The last line shows one more trap. A model's `load_state_dict` copies. An optimizer's takes over the very tensors that you give it, so the saved sums went on with the training. Load a `copy.deepcopy` if you need them again.
#
# > **The rule.** A checkpoint holds the states of everything that remembers: model, optimizer, scheduler, random numbers.

# %% [markdown]
# ## Momentum and weight decay: what is added up?
#
# With **momentum** m, one follows a running sum instead of the gradient: the new sum is m · old sum + gradient, and the step is rate · new sum (lesson 05). With **weight decay** d, d · p is added to the gradient of p first. The sum is remembered in `optimizer.state`, by parameter.

# %%
def two_sums():
    p = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, weight_decay=0.5)
    print("before the first step:", dict(optimizer.state))
    for _ in range(2):
        p.grad = torch.tensor([2.0])
        optimizer.step()
        print("sum", optimizer.state[p]["momentum_buffer"], "- p", p.detach())

# %% [markdown]
# **Predict.** Which two sums are printed? The first one begins from nothing. Answer with a list of two numbers.

# %%
L.predict("10c.p2", None)

# %% tags=["C10c.1", "C10c.4"]
L.run(two_sums, after="10c.p2")

# %% [markdown] tags=["tells"]
# The first sum is 2 + 0.5 · 1 = 2.5, because the decay takes part, and p goes from 1 to 0.75. The second is 0.9 · 2.5 + 2 + 0.5 · 0.75 = 4.625. Before the first step there was nothing in the state.

# %% [markdown]
# ## In a narrow valley, which way does the gradient point?
#
# Why does anybody want a sum? Think of a loss that is a narrow valley: (p[0]² + 100 p[1]²) / 2. Its gradient is (p[0], 100 p[1]): at the same distance from the middle, the walls are a hundred times as steep as the way along. So the gradient points from one wall to the other, and hardly along the valley.
#
# Plain SGD begins at (10, 1) and makes 30 steps at the rate 0.018. Each of them multiplies p[1] by 1 − 0.018 · 100 = −0.8. That is a swing from wall to wall: 1, −0.8, 0.64. And it multiplies p[0] by 1 − 0.018 = 0.982, which is hardly a move.

# %%
def valley(along, across):
    return (along**2 + 100 * across**2) / 2


def descend(kind, **settings):
    p = torch.tensor([10.0, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer, path = kind([p], **settings), [p.tolist()]
    for _ in range(30):
        optimizer.zero_grad()
        valley(p[0], p[1]).backward()
        optimizer.step()
        path.append(p.tolist())
    return path


def compare(runs):
    for name, path in runs.items():
        print(f"{name:18} ends at {path[-1][0]:8.3f} {path[-1][1]:8.3f}")
    return L.stage.heights(valley, runs)


SGD, Adam = torch.optim.SGD, torch.optim.Adam
runs = {
    "plain SGD": descend(SGD, lr=0.018),
    "with momentum 0.8": descend(SGD, lr=0.018, momentum=0.8),
}

# %% [markdown]
# **Predict.** What is true of the second run, with momentum 0.8 and the same rate? A: it comes further along the valley; B: its swing across the valley dies away sooner; C: it ends with the lower loss. Answer with a list of letters. (This is a bet: it depends on the rate and on the number of steps.)

# %%
L.predict("10c.p3", None)

# %%
L.run(compare, runs, after="10c.p3")
L.run(contour, valley, runs, "p[0]", "p[1]", after="10c.p3")

# %% [markdown] tags=["tells"]
# **Notice:** in the second picture you see the valley from above. Each line joins points of equal loss, and the cross is the lowest point. Plain SGD has come less than half of the way. In the first picture plain SGD has the lower loss for four steps. From the fifth step on momentum has it, and the distance grows.
#
# Along the valley all gradients have one sign, so the sum grows. If they stayed the same, it would become 1 + 0.8 + 0.8² + … = 5 times as large. Across the valley the sign changes, and the sum stays small. But it carries each swing on, so at this rate the swing lasts longer than without momentum.

# %% [markdown]
# ## Gradients of 0.001 and of 1000: is there one rate for both?
#
# Such gradients may well occur side by side in a deep network. A rate that moves the first parameter throws the other one far away. **Adam** divides each gradient by the size that it usually has. What is left is its sign, and whether it is larger than usual. For each parameter it keeps a count n and two averages, m of its gradient g and s of g², which begin at 0:
#
# ```
# n ← n + 1
# m ← b₁ m + (1 − b₁) g       b₁ is usually 0.9
# s ← b₂ s + (1 − b₂) g²      b₂ is usually 0.999
# p ← p − lr · (m / (1 − b₁ⁿ)) / (√(s / (1 − b₂ⁿ)) + eps)
# ```
#
# The divisors 1 − b₁ⁿ and 1 − b₂ⁿ make up for the start at 0. (eps is tiny, and prevents a division by 0.) In the first step m is (1 − b₁) g, and its divisor makes g of it again. The root gives |g| in the same way. So the quotient is 1 or −1, and the step is as long as the rate, unless the gradient is 0.

# %% tags=["C10c.1"]
w = torch.tensor([1.0, 1.0], requires_grad=True)
adam = torch.optim.Adam([w], lr=0.1)
print("remembered before the first step:", dict(adam.state))
for _ in range(2):
    w.grad = torch.tensor([0.001, 1000.0])
    adam.step()
    print(w.detach())
print("and now:", list(adam.state[w]))

# %% [markdown]
# Both weights have moved by nearly the same. `step`, `exp_avg` and `exp_avg_sq` are n, m and s.
#
# Here is Adam in the valley, with the rate 0.8, at which each plain step would multiply p[1] by 1 − 0.8 · 100 = −79. Beside it are half that rate and twice that rate.

# %%
rates = {f"Adam, rate {rate}": descend(Adam, lr=rate) for rate in (0.4, 0.8, 1.6)}
compare(rates)

# %% [markdown]
# **Notice:** the walls do not throw Adam about: all three runs come down. None of them settles within 30 steps. Adam overshoots, because its average of the gradients is a kind of momentum.
#
# Now the same for SGD with momentum: half the rate, the rate, and twice the rate.

# %%
faster = {f"momentum, rate {rate}": descend(SGD, lr=rate, momentum=0.8) for rate in (0.009, 0.018, 0.036)}
compare(faster)

# %% [markdown]
# **Notice:** at the rate 0.018 momentum ends lower than all three runs of Adam. But this rate was chosen for these walls. At twice the rate the run is thrown out of the valley.
#
# ### Exercise: write Adam
#
# **10c.1 · Write Adam** (10 minutes). Write one step by the four formulas above for all `params`, in place. `state` is a dictionary, empty at first, that you get back each time: under each parameter that has been stepped it holds a dictionary with `"step"`, `"exp_avg"` and `"exp_avg_sq"`. A parameter without gradient is skipped, and `.grad` is only read.

# %%
def adam(torch, params, state, lr, b1, b2, eps):
    ...


L.check("10c.1", adam)

# %% [markdown]
# ## Does Adam's weight decay still pull?
#
# Adam may be given a decay, too, and adds d · p to the gradient as SGD does. **AdamW** multiplies the weight itself by 1 − rate · d, apart from the gradient. Guess before you run it: a weight of 1 makes one step at the rate 0.1, with the gradient 1000 or 0. How far does the decay 0.5 pull it in each case?

# %% tags=["C10c.5"]
def one_step(kind, gradient, decay):
    p = torch.tensor([1.0], requires_grad=True)
    p.grad = torch.tensor([gradient])
    kind([p], lr=0.1, weight_decay=decay).step()
    return round(p.item(), 4)


for kind in (torch.optim.Adam, torch.optim.AdamW):
    for gradient in (1000.0, 0.0):
        ends = [one_step(kind, gradient, decay) for decay in (0.0, 0.5)]
        print(f"{kind.__name__:5}  gradient {gradient:6}: without decay {ends[0]}, with decay {ends[1]}")

# %% [markdown]
# With Adam the decay makes 1000.5 of the gradient of 1000, and that is divided by its own size, so the pull is lost. Beside a gradient of 0 the same decay makes a whole step. With AdamW it takes 5 % of the weight each time, whatever the gradient. So if your decay should pull all weights alike, take AdamW.
#
# ## Where does the rate come from?
#
# From `optimizer.param_groups`, where each group of parameters has a dictionary with its settings. There a *scheduler* writes the rate. `StepLR` multiplies it by `gamma` after every `step_size` calls. Guess before you run it: does it matter whether the scheduler is called before or after the optimizer? Here the rate begins at 0.5, and every gradient is −1, so each step adds the rate to p.

# %% tags=["C10c.2"]
def plan(order):
    p = torch.zeros(1, requires_grad=True)
    p.grad = torch.tensor([-1.0])
    optimizer = torch.optim.SGD([p], lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    with warnings.catch_warnings(record=True, action="always") as caught:
        for _ in range(3):
            for one in (optimizer, scheduler) if order == "optimizer first" else (scheduler, optimizer):
                one.step()
            print(order, "| p", p.item(), "| the next rate", optimizer.param_groups[0]["lr"])
    print("writes to p:", p._version, "- to its gradient:", p.grad._version)
    print("the scheduler's own counter:", scheduler.last_epoch, "- warnings:", len(caught))


plan("optimizer first")
plan("scheduler first")

# %% [markdown]
# In the second order the first rate of the plan, 0.5, was never used, and PyTorch warned once. The three writes to `p` are those of the optimizer. A scheduler writes the rate and its own counters; it writes no parameter and no gradient.
#
# > **The rule.** First `optimizer.step()`, then `scheduler.step()`.
#
# ## Can you read a whole loop now?
#
# Here is one with everything that people usually put into it. It learns the line 2x + 1 from 16 points, and is validated on four others. (Batch norm, dropout and the two modes are the subject of part 10b.)

# %%
torch.manual_seed(0)  # first values and dropout: the same in every run
layers = torch.nn.Linear(1, 9, bias=False), torch.nn.BatchNorm1d(9)  # no bias: batch norm would subtract it
net = torch.nn.Sequential(*layers, torch.nn.Dropout(0.1), torch.nn.Linear(9, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)  # holds the parameters
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)  # holds the optimizer
points = torch.linspace(-1, 1, 20).reshape(20, 1)
batches = [(points[k::5], 2 * points[k::5] + 1) for k in range(5)]  # each takes every fifth point
validation = batches.pop(2)  # the loop never learns from these four

losses = {}
for epoch in range(1, 21):
    net.train()
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = mse(net(inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    net.eval()
    with torch.no_grad():
        losses[epoch] = round(mse(net(validation[0]), validation[1]).item(), 2)
chart({"loss on the validation points": {"after each epoch": losses}}, across="epoch", up="loss")

# %% [markdown]
# The loss on the validation points, which it has never learned from, falls from 0.8 to 0.03. (If `net.train()` stood in front of the loop, it would hold for the first epoch only: testing leaves the network in eval mode.) You have met every line of this loop, so take it along for your own work.
#
# ## Exercises: more, if you like
#
# **10c.2 · Diagnose** (5 minutes). Eight reports, about lesson 10 and its two parts. Choose the cure of each: `"copy the state"`, `"load the optimizer's state"`, `"hand over the missing parameters"`, `"all backwards before any step"`, `"zero_grad() with None"`, `"once an epoch"`, `"train()"`, `"eval()"`, `"a smaller rate"`, `"retain_graph=True"`. Some cures cure none of them.
#
# - A "For five epochs the encoder was frozen, and the optimizer got only what required a gradient. Then I unfroze it. Its `.grad` is full since then, and its weights have never changed."
# - B "Our jobs may run for four hours. The curve of the loss has a bump every four hours. The next job starts with exactly the weights that the last one ended with; we compared."
# - C "An in-place error: is at version 7, expected version 6. Only since the critic, which shares the encoder, has an optimizer of its own."
# - D "The encoder takes part in every second batch only. Its weights change in the other batches as well; I print its gradients, and they are all zero."
# - E "After fifty batches nothing moves any more. The schedule of the paper divides the rate by ten every ten epochs."
# - F "The prediction for one and the same picture depends on which other pictures I send with it."
# - G "After the first validation the network overfits: dropout seems to be gone."
# - H "To average the last three epochs I append `model.state_dict()` to a list after each of them. All three entries are equal."

# %%
cures = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("10c.2", cures)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C10c.1** What an optimizer remembers of a parameter is in `optimizer.state`; with SGD and Adam it appears there with that parameter's first step: a sum for momentum; two averages and a count of steps for Adam.
# - **C10c.2** `scheduler.step()` writes `lr` in the optimizer's groups and its own counters, and no parameter and no gradient; called before `optimizer.step()` it skips the first value of its schedule, with a warning.
# - **C10c.3** With the states of model and optimizer, training that needs nothing else (no scheduler, no random numbers) goes on to the last digit as if never interrupted; without the optimizer's, momentum starts again, and nothing raises.
# - **C10c.4** With SGD, weight decay first adds its multiple of p to the gradient, and momentum then puts a running sum in the gradient's place.
# - **C10c.5** With Adam a decay beside a large gradient hardly pulls; AdamW multiplies the parameter by 1 - lr · decay, whatever the gradient.
#
# **Read on in our engine:** `course_lib/optim/algorithms.py`, one class for each optimizer.
#
# **Next:** in [lesson 11](11_custom_functions.ipynb) you write operations of your own, with a backward that you choose.
