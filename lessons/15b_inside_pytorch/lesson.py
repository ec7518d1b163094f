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
# # 15b · Inside PyTorch: which function raised this error, and what had happened before?
#
# **In the graph of your model there is a node called `SigmoidBackward0`. You want to see what it does. So you clone PyTorch's source, some millions of lines, and search for a class of that name. There is none. Then the node raises an error. You search for the words of the message, and find them in a file that knows nothing of sigmoids.**
#
# This part needs the lessons up to 07, lesson 12 and lesson 14. No later lesson needs this part. You open PyTorch's own source, and you will find that you can read it: the two functions that matter most do what you have known for ten lessons.
#
# After this lesson you can
#
# - find the C++ function behind an error of PyTorch's, and the file that it is in;
# - read `SavedVariable::unpack` and `Engine::evaluate_function`, and say in which order they ask and act;
# - say what is left of a graph whose backward pass has failed.
#
# **Minutes** 70 · **Needs** lessons 04, 06, 07, 12 and 14 · **Out of scope** how kernels compute, GPUs, threads
#
# [← 15 Reading PyTorch](15_reading_pytorch.ipynb) · [all lessons](home.ipynb) · [15c Around a model →](15c_around_a_model.ipynb)
#
# (You need no PyTorch and no network. What only real PyTorch prints is shown as a *record*.)

# %%
import course_lib as torch
import textwrap
import warnings

from backscope import draw
from coursekit import expect_error, lesson, show
from coursekit.records import recorded
from coursekit.records.sources import sources

L = lesson("15b")

# %%
y = torch.tensor([1.0, 2.0], requires_grad=True).sigmoid()
print(y.grad_fn.name())
y.add_(1)
with expect_error(RuntimeError, "modified by an inplace operation"):
    y.sum().backward()

# %% [markdown]
# This is the story: a node, and its error.
#
# ## In which file of PyTorch is it?
#
# PyTorch has some millions of lines. What this course is about fits into a few dozen files. Every file of our engine begins with a sentence that says where PyTorch keeps the same thing. So the map can be printed:

# %% tags=["C15b.1"]
for ours, theirs in sources().items():
    line = f"{ours.removeprefix('engine/'):15} {theirs}"
    print(textwrap.fill(line, 100, subsequent_indent=" " * 16, break_on_hyphens=False))

# %% [markdown]
# You find these files on GitHub, in the repository `pytorch/pytorch`. Four folders matter to you:
#
# | folder | holds | is like our |
# | --- | --- | --- |
# | `c10/core` | what a tensor is: memory, shape, version counter | `tensor.py`, `version.py` |
# | `aten/src/ATen` | what operations compute; nothing of graphs | `arrays/` |
# | `torch/csrc/autograd` | **the graph and the engine**: nodes, saved tensors, hooks, backward | `graph.py`, `saved.py`, `backward.py` |
# | `tools/autograd` | `derivatives.yaml`, the table of all gradient formulas, and the scripts that write C++ from it | `derivatives.py`, `ops.py` |
#
# Why is there no class `SigmoidBackward0`? It is *generated* when PyTorch is compiled, from one row of `derivatives.yaml`. So search for `sigmoid` in that file. You will find the formula, and the names in it are the slots that a ledger shows. Our engine does the same when an operation is first used, and lets you see what it has written:

# %% tags=["engine"]
show("sigmoid")

# %% [markdown]
# Nearly every operation does this, here and in PyTorch: it computes; it asks whether anything is recorded; it makes a node, sets its arrows, and gives it a number; and it saves what the formula needs, here its own result.
#
# ### Which function raised the error?
#
# For errors there is a shorter way than searching. If the environment variable `TORCH_SHOW_CPP_STACKTRACES` is `1` before your program starts, each error of PyTorch's tells you through which C++ functions it came. In a shell that is:
#
# ```console
# $ TORCH_SHOW_CPP_STACKTRACES=1 python train.py
# ```
#
# The list is long and ugly, and most of it is Python's own. The record below has made it short. For ten errors it gives first the function of autograd that raised it, then the one that had called this function, and so on. You have met these errors:
#
# - *freed*: a second backward. *changed*: a saved tensor was overwritten. *an inference tensor*: such a tensor was to be saved. *a pack that writes*: lesson 14.
# - *a gradient of a wrong shape*, *too many gradients*: the backward of a custom Function returned them.
# - *not a number*: anomaly mode has found a NaN. *no history*: the loss does not require grad.
# - *a leaf written to*, *one of several views*: the writes of lessons 07 and 08 that are refused at once.

# %% tags=["C15b.2"]
recorded("who raised it", program=False)

# %% [markdown]
# Your computer did not make this output just now. It was made on PyTorch, and a test makes it again and compares. On a machine with PyTorch you can do that, too: `from coursekit.records import again`, and then `again("who raised it")`. Where PyTorch is not installed, `again` says so.
#
# Read the first two entries, *freed* and *changed*, from right to left. `thread_main` is the loop that takes the next node from the queue. It calls `evaluate_function` with that node. `Node::operator()` runs the node, `apply` is the generated formula, and the formula *unpacks* what it has saved. There the error was raised.
#
# So the most famous error of PyTorch comes from a function with the name `SavedVariable::unpack`, and the way to it leads through `Engine::evaluate_function`. These are the two pages that we are going to read.
#
# > **The rule.** `TORCH_SHOW_CPP_STACKTRACES=1` names the C++ function that raised an error; most node classes are generated, so look for their formulas in `derivatives.yaml`.

# %% [markdown]
# ### Exercises: which file, and which function?
#
# **15b.1 · Which file?** (6 minutes). In which file of PyTorch's would you look?
#
# - A what the gradient of `tanh` is
# - B why one node runs before another
# - C who writes the words *expected version*
# - D whether `.grad` takes a gradient over or copies it
# - E why a write into a leaf is refused
# - F what happens to the history of the whole when a part of it is written to
# - G what is done with the tuple that your own `backward` returns
# - H how a gradient gets back to the shape that it had before a broadcast
#
# Choose from `derivatives.yaml`, `engine.cpp`, `saved_variable.cpp`, `accumulate_grad.h`, `VariableTypeUtils.h`, `functions/tensor.cpp`, `python_function.cpp`, `ExpandUtils.h`, `python_hook.cpp`, `GradMode.h` and `TensorImpl.h`.

# %%
files = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("15b.1", files)

# %% [markdown]
# **15b.2 · Who raised it?** (8 minutes). Eight errors on real PyTorch. Which C++ function raises each of them? `x` is a leaf of two numbers.
#
# - A `y = x.exp()`, then a backward pass, and then `y.grad_fn._saved_result` is read
# - B `y = (x * 1).softmax(0)`, then `y += 1`, then `y.sum().backward()`
# - C `x[:1].clamp_(0, 1)`
# - D a custom Function has three inputs, and its `backward` returns a single tensor
# - E the same Function returns three values, and the first is a gradient with five elements instead of two
# - F in anomaly mode, a square root of 0 is multiplied with 0, and backward begins
# - G `torch.autograd.grad(x.sum(), another_leaf)`
# - H a custom Function calls `ctx.save_for_backward(mask)`, and `mask` was made in inference mode
#
# Choose from `SavedVariable::unpack`, `SavedVariable::SavedVariable` (the constructor), `check_inplace`, `PyNode::apply`, `InputMetadata::maybe_reduce`, `Engine::evaluate_function` and `THPEngine_run_backward`.

# %%
raisers = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}

L.check("15b.2", raisers)

# %% [markdown]
# ## If a saved tensor has two faults, which one is reported?
#
# In most of these programs two things are wrong at once. (`detach_()` is `detach()` in place: the tensor itself loses its history. `hooks` is the pair of lesson 14.)


# %%
hooks = torch.autograd.graph.saved_tensors_hooks


def begin():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x, x * 1


def program_a():
    x, h = begin()
    y = h.sin().sum()
    y.backward()
    h.mul_(2)
    y.backward()


def program_b():
    x, h = begin()
    y = h.sin().sum()
    h.mul_(2)
    h.detach_()
    y.backward()


def program_c():
    x, h = begin()
    with hooks(lambda t: t.clone(), lambda p: p):
        y = h.sin().sum()
    h.mul_(2)
    y.backward()


def program_d():
    x, h = begin()
    e = h.exp()
    y = e.sum()
    e.mul_(2)
    e.detach_()
    y.backward()


# %% [markdown]
# Two facts help. The message about a version names the node that made the saved tensor, as in *output 0 of Add*. And a node that has saved its own result knows who made it.
#
# **Predict.** What does the last `backward` of each program say? Answer with a list of four words: `"freed"` (it complains of a second backward), `"detached"` (of the `detach_()`), `"version"` (of the write), or `"fine"`.

# %%
L.predict("15b.p1", None)

# %% tags=["C15b.3"]
L.run(program_a, after="15b.p1")
L.run(program_b, after="15b.p1")
L.run(program_c, after="15b.p1")
L.run(program_d, after="15b.p1")

# %% [markdown] tags=["tells"]
# - **A** is refused because of the second backward. The write is not even looked at: the slot is empty, and no tensor is left whose version could be asked.
# - **B** is refused because of `detach_()`, although the version is wrong, too.
# - **C** runs. With hooks the node holds whatever `pack` returned, here a copy, and no version is compared. This is why lesson 14 had to warn you.
# - **D** is refused because of the write. The node saved its own result, so `detach_()` on your tensor does no harm.

# %% [markdown]
# ## Which function asks these questions, and in which order?
#
# The order of the answers is the order of the questions in one function, `SavedVariable::unpack`. It is in `torch/csrc/autograd/saved_variable.cpp`, a file of some three hundred lines. You need not know C++ to read it. This small phrase book is enough:
#
# | you see | it means |
# | --- | --- |
# | `SavedVariable::unpack` | the method `unpack` of the class `SavedVariable` |
# | `SavedVariable::SavedVariable` | its *constructor*, which is `__init__` in Python |
# | `data_`, with an underscore at its end | a field of the object, `self.data` in Python |
# | `node->name()` | `node.name()`; the arrow is used if `node` is a pointer |
# | `c10::intrusive_ptr<Node>` | a pointer that counts references, as each name in Python does (`std::shared_ptr<Node>` before 2.13) |
# | `auto`, `const auto&` | "some type or other"; read over it |
# | `std::move(x)` | give `x` away: it is not used here any more |
# | `std::lock_guard` | until the end of this block, other threads wait |
# | `TORCH_CHECK(condition, words)` | raise `RuntimeError(words)` unless the condition holds |
#
# A `SavedVariable` is one slot of a node. Its constructor saves a tensor, and `unpack` reads it. These are its fields:
#
# | PyTorch | ours | what it is |
# | --- | --- | --- |
# | `data_` | `tensor` | the saved tensor |
# | `saved_version_` | `version` | the version of its memory when it was saved |
# | `is_output_` | `is_output` | is it a result of the very node that saves it? |
# | `saved_original_` | the class: `SavedVariable`, and not `SavedOutput` | is `data_` the very tensor that was given? |
# | `hooks_` | the class `PackedVariable` | the pair of saved-tensor hooks, if there is one |
# | `is_leaf_`, `grad_fn_`, `output_nr_` | `is_leaf`, `history`, `output_nr` | the place of the tensor in the graph |
#
# PyTorch's own lines are under a licence, so we do not print them. This is a shorter function that we have written in the same style, with the same questions in the same order:
#
# ```cpp
# Tensor Slot::read(const c10::intrusive_ptr<Node>& reader) const {
#   TORCH_CHECK(data_.defined() || hooks_, "backward through the graph a second time");   // 1
#   auto maker = is_output_ ? reader : maker_of(data_);                                   // 2
#   TORCH_CHECK(maker || is_leaf_, "detached in-place");
#   if (!hooks_) {                                                                        // 3
#     TORCH_CHECK(data_.version() == saved_version_, "modified by an inplace operation");
#   }
#   if (!hooks_ && saved_original_) {                                                     // 4
#     return data_;
#   }
#   return with_history(hooks_ ? hooks_->unpack() : data_, maker);                        // 5
# }
# ```
#
# Read it with the phrase book, and find for each of the programs A to D the line at which it ends. Then compare with these five steps of `unpack`:
#
# 1. **Is there anything?** If `data_` is empty and there are no hooks, the slot was freed. Raise *Trying to backward through the graph a second time*. This is program A.
# 2. **Which node made the tensor?** A node's own result was made by the node that holds the slot. So `unpack` is told this node, and in D the `detach_()` does no harm. With hooks the maker was noted beside the slot. Otherwise `unpack` asks the saved tensor itself. If a tensor that is not a leaf has no node *now*, it was detached in place. Raise. This is program B.
# 3. **Is it still the same?** Only without hooks: compare the version of now with `saved_version_`. If they differ, raise *modified by an inplace operation*. This is program D. With hooks nothing is compared, which is program C.
# 4. **Was the tensor itself saved?** Then return it, the very same one. Nothing is copied.
# 5. **Otherwise** call the unpack hook, or take `data_`, and make a new tensor on that memory. Give it the history that it had, so that second derivatives can go on from there, and the version counter of the memory.
#
# Now open PyTorch's file on GitHub (in the tag `v2.13.0`), search for `SavedVariable::unpack`, and find the five steps again. It is longer, because it also makes sure that the node is not freed meanwhile. If you have no network, go on here.
#
# This is the same function in our engine. It is cut in two: `unpack` has step 2, and `read`, which it calls, has steps 3 and 4. Step 1 is a class of its own, `Freed`: an empty slot holds one, and its `read` raises.

# %% tags=["engine"]
show("engine.saved.SavedVariable.unpack")
show("engine.saved.SavedVariable.read")

# %% [markdown]
# (The second sentence of the docstring of `unpack` is about generated code. You may skip it.)
#
# Steps 4 and 5 can be seen from outside, in PyTorch as well as here. `sin` saves its input, and `exp` its result:

# %% tags=["C15b.4"]
x, h = begin()
sine, exponential = h.sin(), h.exp()
print("sin: the saved tensor is h itself:", sine.grad_fn._saved_self is h)
kept = exponential.grad_fn._saved_result
print("exp: it is the result itself:", kept is exponential)
print("     it looks at the same memory:", kept.data_ptr() == exponential.data_ptr())
print("     it has the same node:", kept.grad_fn is exponential.grad_fn)
print("     it is a new one each time:", exponential.grad_fn._saved_result is not kept)

# %% [markdown]
# And now you can explain the name in the message. In step 2, `unpack` asks the *saved tensor* for its node. A tensor that was written to has a new node, that of the write. So the message names the last recorded write. (A write under `no_grad` is not recorded. Then the message names the operation that made the tensor, which is innocent.) For a node's own result it names the node itself, and tells you nothing about the writer. And a leaf has no node, so nothing is named at all:

# %% tags=["C15b.5"]
x, h = begin()
y = h.sin().sum()
h.mul_(2)
h.add_(1)
with expect_error(RuntimeError, "which is output 0 of Add, is at version 2; expected version 0"):
    y.backward()
x, h = begin()
e = h.exp()
y = e.sum()
e.add_(1)
with expect_error(RuntimeError, "which is output 0 of Exp, is at version 1; expected version 0"):
    y.backward()
x, h = begin()
y = x.sin().sum()
with torch.no_grad():
    x.add_(1)
with expect_error(RuntimeError, "[2]] is at version 1; expected version 0"):
    y.backward()

# %% [markdown]
# > **The rule.** Reading a saved tensor asks in this order: is it there, has it been detached, has it been written to; hooks switch off the last question.
#
# ## What is left of a graph whose backward pass has failed?
#
# Four weights are multiplied in a row. Then the second product, which the third one has saved, is overwritten.

# %%
w0, w1, w2, w3 = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(4)]
h0 = torch.ones(2) * w0
h1 = h0 * w1
h2 = h1 * w2
h3 = h2 * w3
loss = h3.sum()
h1.mul_(2)


def look():
    print("w0.grad is", w0.grad)
    print("w1.grad is", w1.grad)
    print("w2.grad is", w2.grad)
    print("w3.grad is", w3.grad)
    return draw(loss)


# %% [markdown]
# `loss.backward()` will raise: the version of `h1`.
#
# **Predict.** After the error, which of `w0`, `w1`, `w2` and `w3` have a gradient in `.grad`? Answer with a list of names.

# %%
L.predict("15b.p2", None)


# %% tags=["C15b.6"]
L.run(loss.backward, after="15b.p2")
L.run(look, after="15b.p2")
L.run(loss.backward, after="15b.p2")

# %% [markdown] tags=["tells"]
# **Notice:** read the picture from the loss upwards, as the pass went.
#
# - Node 4, the product with `w3`, has run. What it had saved is *FREED*, and `w3` has its gradient.
# - Node 3 has an orange drawer: it holds the `h1` that was overwritten. Here the pass ended. `w2` and the older weights have no gradient, and nodes 1 to 3 still hold what they had saved.
# - The second attempt fails with another message. It comes to node 4 first, and that is empty now.
#
# So nothing is undone. If you catch such an error and go on, clear the gradients and compute the loss anew.

# %% [markdown]
# ## In which order does the engine do its work on a node?
#
# The second page is `Engine::evaluate_function`, in `torch/csrc/autograd/engine.cpp`, a long file, most of which is about threads and devices. `thread_main` takes the node with the highest number from the queue (lesson 04), and calls `evaluate_function` for it. This is what happens then, in our words:
#
# | | what PyTorch does | in C++ | ours | lesson |
# | --- | --- | --- | --- | --- |
# | 1 | For `autograd.grad`: has a gradient that was asked for arrived here? Put it aside. If nothing that this node leads to is needed, stop. | `exec_info_`, `captures_`, `needed_` | `capture`, `task.needed` | 04 |
# | 2 | Run the hooks that come before, then the node, and look whether the gradients fit: right number, right shape, right type. Then run the hooks that come after. | `call_function`, `validate_outputs` | `run_node_with_hooks`, `validate_outputs` | 12 |
# | 3 | Let go of what the node has saved, unless the graph is retained. | `release_variables` | `node.release()` | 06 |
# | 4 | In anomaly mode: is there a NaN among the gradients? | `AnomalyMode` | `anomaly.check_nan` | 07 |
# | 5 | Deliver. For each arrow: add the gradient to the buffer of the next node, and take one from the count of gradients for which that node waits. At zero the node goes into the queue. | `InputBuffer::add`, `dependencies_`, `not_ready_` | `collect`, `queue` | 04 |
#
# You have known each of these steps for ten lessons. Only one thing is new: the steps have an *order*, and an error may come between any two of them. With that, the last program is easy:
#
# - The newest nodes came first: the sum, and then the product with `w3`. Both ran, let go of what they had saved (step 3), and delivered (step 5). Among others, they delivered to the leaf `w3`, and a leaf is always next.
# - The product with `w2` raised in step 2, when it unpacked `h1`. It never came to step 5. So `w2` got nothing, and nothing reached the older nodes either.
# - In the second attempt, the product with `w3` finds its slots empty. That is step 1 of `unpack`.
#
# What about a node that fails itself? A gradient of a wrong shape is found in step 2, and a NaN in step 4. In between lies step 3. So after the one error the node still has what it had saved, and after the other it does not:

# %% tags=["C15b.7"]
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.ones(3)  # two are wanted


x, h = begin()
y = Wrong.apply(h)
with expect_error(RuntimeError, "returned an invalid gradient at index 0 - got [3]"):
    y.sum().backward()
print("what the node had saved:", y.grad_fn.saved_tensors[0].tolist())

root = (h * 0).sqrt()
with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
    warnings.simplefilter("ignore")  # anomaly mode tells at length where the node was made
    with expect_error(RuntimeError, "returned nan values in its 0th output"):
        (root * 0).sum().backward()
with expect_error(RuntimeError, "after they have already been freed"):
    root.grad_fn._saved_result

# %% [markdown]
# In our engine steps 2 and 3 stand together in one small function, which `evaluate` calls for each node:

# %% tags=["engine"]
show("engine.backward.run_and_release")

# %% [markdown]
# > **The rule.** For each node the engine runs, checks shapes, releases, looks for NaN if it was told to, and delivers, in this order; an error stops it there, and nothing that is done is undone.

# %% [markdown]
# ### Exercise: who would fail?
#
# **15b.3 · Who would fail?** (12 minutes, harder). Return the names of all nodes in the graph of `loss` that could not read what they have saved, because it was overwritten or freed. Each name need stand there only once. Run no pass. (The slots of a node are its attributes whose names begin with `_saved_`. Those of a custom Function are read with `saved_tensors`. Reading a slot asks the questions of `unpack`.)


# %%
def would_fail(loss):
    return ...


L.check("15b.3", would_fail)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this part, and a test runs it on our engine and on real PyTorch (`lessons/15b_inside_pytorch/claims.py`).
#
# - **C15b.1** Every file of our engine names the files of PyTorch that it stands for.
# - **C15b.2** The errors about a freed and about an overwritten saved tensor both come from SavedVariable::unpack, which a node calls when Engine::evaluate_function runs it.
# - **C15b.3** A freed slot is reported before a detached tensor, and that before a changed version; with hooks no version is compared, and a detach_() of a node's own result does no harm.
# - **C15b.4** A saved input is read as the very tensor that was saved, a saved result as a new tensor with the same memory and the same node.
# - **C15b.5** The version error names the last recorded write into a saved input, or its maker if no write was recorded; the saving node itself for its own result; and nothing for a leaf.
# - **C15b.6** After an error in a backward pass, the leaves that were served have their gradient, the others have none, and without retain_graph the nodes that had run are freed.
# - **C15b.7** A node whose gradient has a wrong shape still has what it saved, and one whose gradient is not a number has it no more.
#
# **Your own engine** was finished in lesson 13. If you want, add to each class of `my_engine.py` a line that says where PyTorch keeps it.
#
# **Left out, compared with PyTorch.** How kernels are chosen (the *dispatcher*), and how GPUs and streams are waited for. `evaluate_function` has lines for all of it, and you may read over them. PyTorch is free software under a licence of the BSD kind; nothing of its source is copied here.
#
# **Read on in PyTorch:** `torch/csrc/autograd/saved_variable.cpp`, then `functions/accumulate_grad.h`, which has the three ways to `.grad` of lesson 05 in it, then `engine.cpp` from `evaluate_function` downwards. **In our engine:** `course_lib/README.md` has an order for an evening.
#
# **Next:** part [15c](15c_around_a_model.ipynb), what is put around a model, or [lesson 16](16_five_bug_reports.ipynb), bug reports as people really write them.
