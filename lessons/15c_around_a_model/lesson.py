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
# # 15c · Around a model: what do autocast, the compiler and DDP put into its graph?
#
# **To train faster, you put three lines around your model, and inside you change nothing. With `torch.autocast` one line that you have moved into the block ruins the training. With `torch.compile` an error that used to name an operation names only a shape. With `DistributedDataParallel` yesterday's file of weights does not fit any more.**
#
# This part needs lesson 15, and no later lesson needs this part. Read it now, or when you meet these things. Our engine has none of them. So each output is a *record*: PyTorch 2.13 printed it, and a test makes it again and compares.
#
# After this lesson you can
#
# - recognise in a graph what autocast, `torch.compile` and `DistributedDataParallel` have put there;
# - say why each of the three surprises happens, and what to do about it;
# - say what a compiler may save, and what it computes again;
# - say where our engine answers otherwise than PyTorch.
#
# **Minutes** 32 · **Needs** lessons 07, 11, 12, 14 and 15 · **Out of scope** how the compiler works inside, GPUs; training on several machines (lesson 17)
#
# [← 15b Inside PyTorch](15b_inside_pytorch.ipynb) · [all lessons](home.ipynb) · [16 Five bug reports →](16_five_bug_reports.ipynb)

# %%
import course_lib as torch
from backscope import draw
from coursekit import expect_error, lesson
from coursekit.records import recorded
from coursekit.records.differences import differences

L = lesson("15c")
nn, F = torch.nn, torch.nn.functional

# %%
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
scores = net(torch.randn(3, 4))
loss = F.cross_entropy(scores, torch.tensor([0, 1, 0]))
draw(net, loss, detail=0)

# %% [markdown]
# This is the small network with nothing around it. Keep its seven nodes in mind: two for the loss, and `addmm`, `tanh`, `addmm`, with a `t` for each weight.
#
# ## What does autocast put into a graph?
#
# **Mixed precision** computes large products in 16 bits, which is faster and takes less memory. The block `with torch.autocast(…):` does this for you: before a product it makes a copy of its operands in `bfloat16`, a type of two bytes. The node of such a copy is called `ToCopyBackward0`, and in backward it copies the gradient back into the type of the original. Here is the network under autocast:

# %% tags=["C15c.1"]
recorded("autocast")

# %% [markdown]
# (Each line is a node. The nodes and leaves to which its arrows lead come after `->`. `None` stands for the data, which requires no gradient.)
#
# **Notice:** begin at `2.weight`, and read the listing upwards: the weight (float32), a copy in bfloat16, `t`, `addmm`. So each parameter has a copy of its own. The scores are bfloat16. The loss is float32, because there is another copy in front of `log_softmax`. The cross-entropy is one of the functions that autocast computes with all digits. (Which functions these are is not the same on CPUs and GPUs; PyTorch's documentation has the lists.) The gradient of the weight is float32 again.
#
# Now *one* layer is called twice in a row, with plain data. Count its copies:

# %% tags=["C15c.1"]
recorded("autocast, one layer twice")

# %% [markdown]
# (The data is copied, too. But it requires no gradient, so its copy leaves no node.)
#
# What happens if a weight is changed in the middle of the block, by an optimizer, say?
#
# ```python
# layer, x = nn.Linear(2, 2, bias=False), torch.ones(1, 2)
# with torch.autocast("cpu", dtype=torch.bfloat16):
#     before = layer(x)
#     with torch.no_grad():
#         layer.weight.mul_(10)
#     after = layer(x)
# ```
#
# **Predict.** How many times as large as `before` is `after`? Answer with a number, or with `"raises"`. (How many copies of the weight did two calls need?)

# %%
L.predict("15c.p1", None)

# %% tags=["C15c.1"]
L.run(recorded, "autocast, and a write", False, after="15c.p1")

# %% [markdown] tags=["tells"]
# The weight is ten times as large, and the result is what it was. In the listing above two calls had two copies, one for the weight and one for the bias. Autocast remembers the copy of a parameter that requires grad until the block ends, and both calls use it. Here the second call has used the old copy, and there is no warning. (A frozen weight is copied anew at each call.)
#
# Look at the last line. If you put the whole loop into one block, the parameters change with each step and the loss does not. So put only forward and the loss into the block, and the optimizer's step after it.
#
# > **The rule.** Autocast adds a `ToCopyBackward0` for each parameter that it computes with in 16 bits, once in a block, and wherever else a tensor with history has to change its type; gradients arrive in the type of the parameter.

# %% [markdown]
# ## What is left of a model that was compiled?
#
# **`torch.compile`** takes your function, finds out which operations it runs, and makes one program of them, for forward and for backward. Here is the small network once more:

# %% tags=["C15c.2"]
recorded("compile")

# %% [markdown]
# (`aot_eager` does everything but the last step, which writes machine code.)
#
# **Notice:** the whole network is *one* node. It is called `CompiledFunctionBackward`, without a digit, and that tells you what it is: a custom `Function` as in lesson 11. The compiler has written its forward and its backward. What happens inside it is compiled code, and makes no nodes.
#
# Since the node is a custom Function, what it has saved with `save_for_backward` is checked for its version, as you know it. In the next record a weight is overwritten between forward and backward:

# %% tags=["C15c.2"]
recorded("compile, and a write", False)

# %% [markdown]
# But look how little the message tells: only a shape. There is one node for the whole model, and none of its operations can be named. If a compiled model raises such an error, take the line with `torch.compile` out, and search in the model as it is.
#
# Not everything can be compiled. The compiler runs your function once, with stand-ins for the tensors, and writes down the operations. A `print` is not one of them, and it has to happen at each call:
#
# ```python
# layer = nn.Linear(4, 4)
#
# def forward(x):
#     h = torch.tanh(layer(x))
#     print("half way")
#     return torch.tanh(layer(h))
#
# y = torch.compile(forward, backend="aot_eager")(torch.randn(3, 4))
# ```
#
# **Predict.** How many nodes are in the graph of `y`, if the `AccumulateGrad` nodes are not counted? (This is a bet. The compiler could refuse the whole function, leave out the print, or do something in between. Uncompiled, the graph has six nodes.)

# %%
L.predict("15c.p2", None)

# %% tags=["C15c.2"]
L.run(recorded, "compile, with a break", False, after="15c.p2")

# %% [markdown] tags=["tells"]
# It does something in between. At the print the compiler stops, leaves the line to Python, and begins anew after it. Such a place is called a **graph break**. You can find it by counting: there is one compiled node for each piece.

# %% [markdown]
# ## What does the compiler save?
#
# A node of an uncompiled graph saves what its own formula reads. The compiler sees forward and backward as a whole, and can choose. Its part for this is called *AOTAutograd*. ("Ahead of time": the backward pass is written before the first one runs.) It works in two steps:
#
# 1. It writes down the **joint graph**: the operations of forward, and after them those of backward.
# 2. A **partitioner** cuts the list in two. What the second half reads from the first one is what the node saves.
#
# PyTorch has two of them. The default one cuts between forward and backward. The other, `min_cut_rematerialization_partition`, looks for the cut through which the fewest bytes go, and may run cheap operations again in backward. Here both cut the same function, `x.sin().cos().sin().sum()`. Its formulas read three tensors: `x`, the sine of `x`, and the cosine of that. All three are saved at the default cut.
#
# **Predict.** How many tensors are saved at the other cut? Answer with a number.

# %%
L.predict("15c.p3", None)

# %% tags=["C15c.5"]
L.run(recorded, "compile, in two halves", False, after="15c.p3")

# %% [markdown] tags=["tells"]
# **Notice:** each line is a list of operations, in the order in which they run.
#
# - In the joint graph the first four operations are forward, and the rest is the chain rule: `cos mul`, `sin neg mul`, `cos mul`.
# - Both partitioners get the same joint graph, and both leave the same forward.
# - At the second cut only `x` is saved. Look at the last line: after `expand`, backward begins with `sin cos`. It computes both again.
#
# So this is the checkpoint of lesson 14. Nobody had to write it, and it is placed where it costs little. `torch.compile` with its usual backend cuts in this way.

# %% [markdown]
# ## What does DDP add?
#
# **DistributedDataParallel** (DDP) trains one model on several machines: each has a copy of the model and its own part of the batch, and the gradients are averaged. What does this do to the graph?

# %% tags=["C15c.3"]
recorded("DDP")

# %% [markdown]
# **Notice:** in the first listing, nothing was added. Only the names of the parameters begin with `module.`, since the model is now a part of another one. (This is why a file of weights that was saved from the one does not fit the other. Save `model.module.state_dict()`.)
#
# How can DDP average gradients, if there is no node for it? Its documentation says how: it uses hooks on the `AccumulateGrad` nodes of the parameters, the last ones of lesson 12. When the gradient of a parameter is complete, its hook runs, and sends it to the others while the rest of the pass still computes.
#
# With `find_unused_parameters=True` there is one more node, in front of everything. A hook can only run if a gradient arrives. A parameter that was not used gets none, and the other machines would go on waiting for it. So after each forward DDP walks through the graph, as you do in exercise 15.5, and looks which parameters are not in it. The node `_DDPSinkBackward` is DDP's own: it comes before all nodes of the model. What averaging does to training is the subject of lesson 17.
#
# > **The rule.** Compiling leaves one custom Function for each piece without a break; DDP adds at most one node, in front, and works with hooks.

# %% [markdown]
# ### Exercise: whose graph is it?
#
# **15c.1 · Whose graph is it?** (8 minutes). Here are six listings of the network `Linear(4, 4)`, `Tanh`, `Linear(4, 4)`. Every parameter is called "a leaf". What was put around the network in each of them?

# %%
recorded("whose graph", False)

# %% [markdown]
# Choose from `"as it is"`, `"autocast"`, `"autocast, one layer twice"` (the second layer is the first one again), `"compile"`, `"compile, first layer frozen"`, `"compile, with a break"` and `"DDP"`.

# %%
whose = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}

L.check("15c.1", whose)

# %% [markdown]
# ## Where does our engine answer otherwise than PyTorch?
#
# You have worked with an engine of three and a half thousand lines of Python. It gives PyTorch's answers, names and messages included, as the tests of this course prove. But it is not PyTorch. Here is the list of the differences:

# %% tags=["C15c.4"]
differences()

# %% [markdown]
# You need not believe this list. Behind each row is a program, and a test runs it on both.
#
# - The first three rows show that there may be many ways to one result. For a whole LSTM, PyTorch calls a library made for it (oneDNN, once called MKL-DNN) which computes all steps at once, backward too. So the graph has a single node. Ours has every step in it, and you could draw it. The same is true of attention (lesson 15).
# - *your g*: PyTorch saves itself a copy. A gradient that you hand over may become `.grad` itself, and then the next pass adds to it (exercise 05b.1).
# - *a result that pack returned as it is*: this is the ring of part 14b, which goes through a node made in C++. PyTorch's collector cannot look into such a node. (It does find the ring of a custom Function that keeps its result on `ctx`, because the node of a custom Function is a Python object. Lesson 16 has that one.)
# - *anomaly mode*: here our engine tells you more than PyTorch does.
#
# The rows after these are things that one of the two has and the other has not. Several hundred names are left out of our engine, most of them functions that this course does not need, and the last five rows stand for them. Whoever uses such a name is told so:

# %% tags=["engine"]
with expect_error(AttributeError, "torch.compile"):
    torch.compile(net)

# %% [markdown]
# One difference cannot be listed. NumPy and PyTorch add up long sums in different orders, so the last digit of a number may differ. (It may also differ between two machines with PyTorch.)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this part, and a test runs it on real PyTorch (`lessons/15c_around_a_model/claims.py`).
#
# - **C15c.1** autocast copies a parameter of a linear layer that requires grad once in a block, with a ToCopyBackward0, even if the parameter is changed in the block; gradients arrive in the type of the parameter.
# - **C15c.2** A compiled network is one CompiledFunctionBackward, with a break two, and what it saves is checked for its version.
# - **C15c.3** With its default options DistributedDataParallel adds no node to the graph, and with find_unused_parameters=True one.
# - **C15c.4** Our engine and PyTorch give each its own answer to every row of the table of differences.
# - **C15c.5** AOTAutograd writes one joint graph and cuts it in two; at the default cut of sin, cos, sin three tensors are saved, at the minimal cut only the input, and backward computes the others again.
#
# **Left out, compared with PyTorch.** How the compiler finds the operations and makes fast code of them; gradient scaling for float16; FSDP, which also divides the parameters among the machines.
#
# **Next:** [lesson 16](16_five_bug_reports.ipynb), bug reports as people really write them, and then two machines.
