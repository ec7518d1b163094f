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
# # 16b · A carried state: how far back should a pass go?
#
# **"retain_graph is True and it still does not work." You train a recurrent network on a long signal, in windows of six steps. The first window works. At the second one you get "Trying to backward through the graph a second time", with the advice to write `retain_graph=True`. You write it. Now it is the error about in-place operations, as in all those GAN threads. You have no GAN. If you start each window with zeros there is no error, but the network must remember what was in the window before.**
#
# This is the third of the five bug reports of lesson 16. No later lesson needs this part.
#
# After this lesson you can
#
# - say how far back a pass goes, and see it in a picture;
# - cut a long signal into windows, so that the network learns what is in them and remembers what was before;
# - say of each of four answers from the web what it costs, and which question finds it.
#
# **Minutes** 38 · **Needs** lesson 16 · **Out of scope** other tasks of recurrent networks (part [09b](09b_two_players_and_carried_states.ipynb))
#
# [← 16 Five bug reports](16_five_bug_reports.ipynb) · [all lessons](home.ipynb) · [16c Nothing is raised →](16c_nothing_is_raised.ipynb)

# %%
import course_lib as torch
from backscope import step
from coursekit import lesson

L = lesson("16b")
nn = torch.nn

# %% [markdown]
# An *LSTM* reads one number after the other and carries a state, a pair of two tensors: its output `h`, and its memory `c`. The task is an echo: at every step the network has to say what it heard two steps before. `L.stage.listen` trains it on 150 windows. Its last two arguments say what is carried from window to window, and whether to write `retain_graph=True`.


# %%
class Echo(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(1, size), nn.Linear(size, 1)

    def forward(self, window, state):
        said = []
        for x in window:
            state = self.cell(x, state)
            said.append(self.out(state[0]))
        return torch.stack(said), state


def as_it_is(state):
    return state


L.run(L.stage.listen, torch, Echo, as_it_is)
L.run(L.stage.listen, torch, Echo, as_it_is, True)

# %% [markdown]
# ## How far back does the second pass go?
#
# Why should the second window run through a graph a second time? It has a graph of its own. Or has it? Here are two windows of a single step each, with a simpler cell that has one tensor as its state.

# %%
w, state = torch.tensor([0.5], requires_grad=True), torch.tensor([1.0])
one, two = torch.tensor([0.2]), torch.tensor([0.4])
first = torch.tanh(w * state + one)
(first**2).sum().backward()

second = torch.tanh(w * first + two)
loss = (second**2).sum()

# %% [markdown]
# The pass through the first window is done. `step(loss)` walks through the second.
#
# **Predict.** How many nodes run before the pass fails?

# %%
L.predict("16b.p1", None)

# %%
L.run(lambda: step(loss), after="16b.p1")

# %% [markdown] tags=["tells"]
# **Notice:** go to the last frame. The walk does not end with the nodes of the second window. It comes to `first`, the state that was carried over, and wants to go on into the first window. The frame says why it stops there: an earlier pass freed what this node had saved. (The nodes of the first window are drawn, and none of them runs.)
#
# `retain_graph=True` keeps those slots full. Then the walk goes on, into all windows since the beginning. There it meets weights that the optimizer has updated since, and *that* is the second error. Both errors say the same: the pass goes further back than it should.

# %% [markdown]
# ### Exercise: windows
#
# **16b.1 · Windows** (10 minutes). Repair the loop. Each window is trained on its own loss, with the gradient through all steps of that window and no further. The state arrives in the next window, as numbers. Return the last state without a history.


# %%
def listen_to(torch, cell, out, windows, state, optimizer):
    for window, target in windows:
        said = []
        for x in window:
            state = cell(x, state)
            said.append(out(state[0]))
        loss = ((torch.stack(said) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
    return state


L.check("16b.1", listen_to)

# %% [markdown]
# **16b.2 · How far back?** (6 minutes). `w` is 0.5 and `h` is 1; both require a gradient. Each program has two windows of a single step. `"fine"` means that `w.grad` is the sum of each window's own gradient, where the state that arrives is a number. Answer with `"fine"`, `"raises now"`, `"raises at backward"`, or `"silently wrong"`.
#
# | | first window | in between | second window |
# | --- | --- | --- | --- |
# | A | `h = torch.tanh(w * h)`, `h.backward()` | | as the first |
# | B | `h = torch.tanh(w * h)`, `h.backward()` | `h = h.clone()` | as the first |
# | C | `h = torch.tanh(w * h)`, `h.backward()` | `h = h.detach()` | as the first |
# | D | `h = torch.tanh(w * h)`, `h.backward(retain_graph=True)` | | as in A |
# | E | `h = torch.tanh(w * h)`, `h.backward(retain_graph=True)` | `with torch.no_grad(): w.sub_(0.1)` | as in A |
# | F | `h = w + h`, `h.backward()` | | as the first |
# | G | `h = torch.tanh(w * h)`, `h.backward()` | `with torch.no_grad(): h = h * 1` | as the first |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("16b.2", happens)

# %% [markdown]
# ## What are the answers of the thread worth?
#
# 1. "The state is `h`. Detach it before each window: `state = (h.detach(), c)`."
# 2. "Detach both, before each window."
# 3. "Detach both after each call of the cell, then you can never go wrong."
# 4. "Start each window with zeros."


# %%
def only_h(state):
    return state[0].detach(), state[1]


def both(state):
    return tuple(each.detach() for each in state)


class CutInside(Echo):
    def forward(self, window, state):
        said = []
        for x in window:
            state = self.cell(x, both(state))
            said.append(self.out(state[0]))
        return torch.stack(said), state


def zeros(state):
    return tuple(torch.zeros_like(each) for each in state)


answers = {"1": (Echo, only_h), "2": (Echo, both), "3": (CutInside, both), "4": (Echo, zeros)}

# %% [markdown]
# **Predict.** Which of `"raises"`, `"silent"`, `"cured"` is it for each? The task is the echo, and everything that can be learned about it should be learned. A list of four words.

# %%
L.predict("16b.p2", None)

# %% tags=["C16b.1", "P7"]
L.run(L.stage.listen, torch, *answers["1"], after="16b.p2")
L.run(L.stage.listen, torch, *answers["2"], after="16b.p2")
L.run(L.stage.listen, torch, *answers["3"], after="16b.p2")
L.run(L.stage.listen, torch, *answers["4"], after="16b.p2")
L.run(L.stage.learned, torch, answers, after="16b.p2")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# 1. This raises, because an LSTM carries two tensors, and `c` leads back just as `h` does.
# 2. This learns the echo completely.
# 3. This runs, and its loss does not fall. The network has to *put* a number into its memory two steps before it is asked for it. No gradient reaches back to that step, so it never learns to do so.
# 4. This learns. But the first two steps of each window cannot be answered from zeros. A third of the task is lost, and so a third of the loss remains.

# %% [markdown] tags=["tells"]
# Which of the three questions of lesson 16 would have found answers 3 and 4? The second asks whether the gradient is the measured slope of the window's loss, the third what has moved after five windows:

# %% tags=["C16b.2"]
L.run(L.stage.asked, torch, *answers["2"], after="16b.p2")
L.run(L.stage.asked, torch, *answers["3"], after="16b.p2")
L.run(L.stage.asked, torch, *answers["4"], after="16b.p2")

# %% [markdown] tags=["tells"]
# The second question finds answer 3. It does not find answer 4, whose gradients are right, for another task. Only the loss shows that. And the third question finds neither, because in both of them everything moves.
#
# > **The rule.** Cut between the windows and not inside: `detach` every tensor of the state, where one pass ends and the next begins.

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C16b.1** A state of an LSTM that is carried from pass to pass raises in the second pass unless both of its tensors are detached; with retain_graph=True and a step of the weights in between, the pass into the window before raises about versions.
# - **C16b.2** Detached after each step, a window's gradient is not the measured slope of its loss; detached between windows, it is.
#
# **Left out:** how long a window should be. What is further away than one window can be remembered, and its being remembered is not trained.
#
# **Next:** part [16c](16c_nothing_is_raised.ipynb), two reports in which nothing is raised.
