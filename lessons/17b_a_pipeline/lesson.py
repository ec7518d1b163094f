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
# # 17b · A pipeline: which weights does an older micro-batch need?
#
# **Your network is too large for one machine, so you cut it in two. Now one machine always waits for the other: you pay for two, and get the speed of one. The cure is known. Cut the batch into small pieces, and let each machine update its weights as soon as a gradient comes back. Now both are always busy. But which network do your gradients belong to now?**
#
# No later lesson needs this part. It runs a pipeline in two real processes, first with one step of the weights for each batch, and then with steps in between.
#
# After this lesson you can
#
# - write down the order in which the stages of a pipeline work;
# - say how many micro-batches each stage has under way, and what it must keep for them;
# - say what happens to a gradient if the weights are updated in between, and repair it.
#
# **Minutes** 46 · **Needs** lesson 17, and 07 for the versions · **Out of scope** how to cut a network so that all stages take equally long
#
# [← 17 Two machines](17_two_machines.ipynb) · [all lessons](home.ipynb)

# %%
import course_lib as torch
from coursekit import lesson, processes

L = lesson("17b")

# %%
L.stage.time_line(2, 1)

# %% [markdown]
# This is the story: rank 0 has the first layers, rank 1 the last ones. Each is a **stage** of a *pipeline*. `F0` is a forward, `B0` its backward. The gradient for stage 0 comes from stage 1, so there is only one order, and in each turn one of the two waits.
#
# ## How do both machines have something to do?
#
# The batch is cut into **micro-batches**. While stage 1 works on micro-batch 0, stage 0 can do the forward of micro-batch 1. Then each stage takes turns, one forward, one backward. This order is called **1F1B**.

# %%
L.stage.time_line(2, 4)

# %% [markdown]
# **Notice:** in the middle both stages are busy all the time. They wait only at the two ends, while the pipeline fills and while it runs empty.
#
# Here is such a pipeline, with three micro-batches. Stage 0 has two weights and computes `a · x · b`, with a = 2 and b = 3. Stage 1 has only the loss, the sum of what arrives. So the gradient that it sends back is 1.
#
# What happens with the gradients in stage 0 depends on `step`. We begin with `"at the end"`: they are added up, and the weights will be updated once, after the last micro-batch. This is what PyTorch's `Schedule1F1B` does.


# %%
def pipeline(torch, group, step):
    inputs = [1.0, 2.0, 3.0]
    a, b = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    total, under_way, most, steps = [0, 0], {}, 0, 0

    def forward(k):
        if group.rank == 1:
            arrived = torch.zeros(1)
            group.receive(arrived, of=0)
            return arrived.requires_grad_() * 1.0, [arrived], 0
        copies = step == "copies"
        used = [w.detach().clone().requires_grad_() if copies else w for w in (a, b)]
        result = used[0] * inputs[k] * used[1]
        group.send(result, to=1)
        return result, used, steps

    def backward(result, used):
        upstream = torch.ones(1)
        if group.rank == 0:
            group.receive(upstream, of=1)
        grads = torch.autograd.grad(result, used, upstream)
        if group.rank == 1:
            group.send(grads[0], to=0)
        return grads

    for turn in ("F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2")[group.rank].split():
        k = int(turn[1])
        if turn[0] == "F":
            under_way[k] = forward(k)
            most = max(most, len(under_way))
            continue
        result, used, version = under_way.pop(k)
        grads = backward(result, used)
        if group.rank == 1:
            continue
        total = [t + g.item() for t, g in zip(total, grads, strict=True)]
        if step != "at the end":
            print(f"{turn}: made with v{version}, weights now at v{steps}, gradients", [g.item() for g in grads])
            steps += 1
            with torch.no_grad():
                for w, g in zip((a, b), grads, strict=True):
                    (w.data if step == ".data" else w).sub_(g)
    print(f"stage {group.rank}: at most {most} under way")
    if group.rank == 0:
        print("gradients added up:", total)


# %% [markdown]
# **Predict.** A micro-batch is *under way* in a stage from its forward to its backward. How many are under way at most, in stage 0 and in stage 1? Answer with a list of two numbers. (The turns stand in the line with `.split()`.)

# %%
L.predict("17b.p1", None)

# %% tags=["C17b.1"]
L.run(processes, pipeline, torch, "at the end", after="17b.p1")

# %% [markdown] tags=["tells"]
# **Notice:**
#
# - Stage 0 has two under way, and stage 1 one. The gradients for stage 0 come back late, so stage 0 is one forward ahead. For each micro-batch under way a stage keeps all that its nodes have saved.
# - The gradients of `a` and of `b` add up to 18 and 12. On one machine the whole batch has the loss `a · (1 + 2 + 3) · b`, and its gradients are b · 6 = 18 and a · 6 = 12. So this pipeline computes just what one machine would.

# %% [markdown]
# ## And with more stages?
#
# This is the same order for four stages and six micro-batches:

# %%
L.stage.time_line(4, 6)

# %% [markdown]
# **Notice:** stage 0 does four forwards before its first backward, stage 1 three, and so on. Each is ahead by one forward for each stage that follows it.
#
# > **The rule.** In 1F1B, stage s of n has at most n − s micro-batches under way. If the weights are updated after the last backward, the gradient is that of the whole batch.
#
# ### Exercise: the order of turns
#
# **17b.1 · The order of turns** (6 minutes). Return the turns of one stage in the order of 1F1B, as a list of texts. A stage goes ahead by one forward for each stage that follows it. Then it takes turns: one forward, one backward. When there is no forward left, the backwards follow. There may be fewer micro-batches than stages.


# %%
def turns_of(stage, stages, count):
    return [f"F{k}" for k in range(count)] + [f"B{k}" for k in range(count)]


L.check("17b.1", turns_of)

# %% [markdown]
# ## And if the weights are updated in between?
#
# At both ends of the picture stages wait, and that happens once for each step of the weights. **PipeDream** (2019) keeps the pipeline full: each stage updates its weights after each of its backwards, and goes on with the next micro-batch. No stage waits for the end of a batch.
#
# Now `step` says how the weights are updated after each backward: with `sub_`; with `.data.sub_`; or with `sub_`, while each micro-batch computes with copies of the weights, made in its forward. The step is 1 · gradient.
#
# **Predict.** Take micro-batch 1 in stage 0, with the input 2. It goes forward; then come `B0` and a step; then it comes back. What is its gradient for `a` in the three cases? Each entry is a number or `"error"`.

# %%
L.predict("17b.p2", None)

# %% tags=["P23", "C17b.2", "C17b.3", "C17b.4"]
L.run(processes, pipeline, torch, "sub_", after="17b.p2")
L.run(processes, pipeline, torch, ".data", after="17b.p2")
L.run(processes, pipeline, torch, "copies", after="17b.p2")

# %% [markdown] tags=["tells"]
# Look at the lines that begin with `B1`.
#
# - With `sub_` the version check does its work. `b` is not what it was when micro-batch 1 went forward.
# - With `.data` there is no error. The slope of `a` was computed with the new `b`, which is 1. The slope of `b` is `a · x`, a product that the first node had computed with the old `a`. So this is the gradient of no network that ever existed.
# - With copies the gradients are 6 and 4, which is `x · b` and `x · a` with the old weights. They are right for the weights that this micro-batch has used. The step then applies them to newer weights.
#
# To keep the weights of each micro-batch that is under way is called **weight stashing**.

# %% [markdown]
# Here is the run with copies as a time line. The colour of a cell is the version of the weights that its micro-batch uses in stage 0. The line below says which version the weights have at that moment.

# %%
L.run(L.stage.versions, 4, after="17b.p2")

# %% [markdown] tags=["tells"]
# **Notice:** each backward but the first has an older colour than the weights below it. So stage 0 must keep two versions, as it has two micro-batches under way. Stage 1 needs one version only: there each backward follows its forward at once.
#
# PipeDream accepts that a step is made with the gradient of older weights, and that a micro-batch meets one version in stage 0 and another in stage 1. If you cannot accept that, or have no memory for copies, update once for each batch.
#
# > **The rule.** Keep the weights that a micro-batch has used until it comes back. Do not remove the check.

# %% [markdown]
# ### Exercise: a stage that steps
#
# **17b.2 · A stage that steps** (8 minutes). `stage` is one stage of a pipeline. It computes `tanh(x * a) * b`. `turns` is a list such as `["F0", "F1", "B0", "F2", "B1", "B2"]`, and `arriving[k]` is the gradient that comes back for micro-batch k. After each backward both weights step. Repair it: each micro-batch has the gradients of the weights that its forward has used, each forward uses the newest weights, and a copy is kept only until its micro-batch comes back. Return `{k: (gradient of a, gradient of b)}`. `a` and `b` stay the tensors that they are.


# %%
def stage(torch, a, b, inputs, arriving, turns, rate):
    under_way, gradients = {}, {}
    for turn in turns:
        k = int(turn[1:])
        if turn[0] == "F":
            under_way[k] = torch.tanh(inputs[k] * a) * b
        else:
            gradients[k] = torch.autograd.grad(under_way[k], (a, b), arriving[k])
            with torch.no_grad():
                for w, gradient in zip((a, b), gradients[k], strict=True):
                    w.sub_(rate * gradient)
    return gradients


L.check("17b.2", stage)

# %% [markdown]
# ## Is it the same on real PyTorch?
#
# The same two micro-batches in `torch.distributed`, with a step of 0.1 · gradient: first with the weights themselves, then with copies.
#
# <details><summary>The script, 45 lines</summary>
#
# ```python
# import os
# import torch
# import torch.distributed as dist
# import torch.multiprocessing as mp
#
#
# def last_stage():
#     for _ in range(2):
#         h = torch.zeros(1)
#         dist.recv(h, src=0)
#         h.requires_grad_().sum().backward()
#         dist.send(h.grad, dst=0)
#
#
# def first_stage(a, b, stash):
#     waiting, sent = [], []
#     for x in (1.0, 2.0):  # F0, F1
#         used = [w.detach().clone().requires_grad_() if stash else w for w in (a, b)]
#         h = used[0] * x * used[1]
#         waiting.append((h, used))
#         sent.append(dist.isend(h.detach(), dst=1))  # goes on at once
#     for h, used in waiting:  # B0, B1, with a step after each
#         upstream = torch.zeros(1)
#         dist.recv(upstream, src=1)
#         try:
#             grads = torch.autograd.grad(h, used, upstream)
#         except RuntimeError as error:
#             print(str(error).split(" Hint")[0], flush=True)
#             continue
#         print("gradients", [round(g.item(), 2) for g in grads], flush=True)
#         with torch.no_grad():
#             for w, g in zip((a, b), grads):
#                 w.sub_(0.1 * g)
#     for each in sent:
#         each.wait()
#
#
# def work(rank):
#     os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
#     os.environ.setdefault("MASTER_PORT", "29517")
#     dist.init_process_group("gloo", rank=rank, world_size=2)
#     for stash in (False, True):
#         a, b = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
#         first_stage(a, b, stash) if rank == 0 else last_stage()
#     dist.destroy_process_group()
#
#
# if __name__ == "__main__":
#     mp.spawn(work, nprocs=2)
# ```
#
# </details>
#
# PyTorch 2.13 printed:
#
# ```text
# gradients [3.0, 2.0]
# one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1]] is at version 1; expected version 0 instead.
# gradients [3.0, 2.0]
# gradients [6.0, 4.0]
# ```
#
# The first two lines are the stage without copies, the last two that with copies.
#
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C17b.1** In a pipeline of two stages that take turns, the gradients of the micro-batches add up to that of the whole batch if no step comes in between; the first stage has two micro-batches under way and the last one.
# - **C17b.2** A stage that steps before an older micro-batch comes back raises the version error.
# - **C17b.3** If the step is hidden from the counters, the gradient of the older micro-batch mixes two versions of the weights without an error.
# - **C17b.4** With copies of the weights each micro-batch gets the gradient of the weights that it used.
#
# **Left out:** schedules that split the backward of a stage in two, so that the ends get shorter still ("zero bubble").
#
# **Read on in PyTorch:** `Schedule1F1B` in `torch/distributed/pipelining/schedules.py`.
