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
# # 17 · Two machines: who else writes into your tensors?
#
# **Your training is too slow, so you give it a second machine. Each of the two computes half of every batch, and their gradients are averaged. On one machine the gradient of a weight was 2.0. On two machines the same line prints 3.5. Nothing was raised, the loss falls, and the model gets a little worse.**
#
# Somebody wrote into a tensor that a node had saved. In the earlier lessons this was always a line of your own program. Here it is another machine, or a step that comes too early for an older batch.
#
# After this lesson you can
#
# - say what the machines send each other in a training step, and compute it by hand;
# - find out why a model that is right on one machine is wrong on two;
# - write batch normalisation whose statistics and gradients are those of the whole batch;
# - say which weights a pipeline must keep, and for how long.
#
# **Minutes** 70 · **Needs** lessons 05, 06, 07, 09 and 10 · **Out of scope** how fast networks are, several graphics cards, sharded weights
#
# [← 16 Five bug reports](16_five_bug_reports.ipynb) · [all lessons](home.ipynb)

# %%
import course_lib as torch
import os

from course_lib.teach import draw, expect_error, lesson, processes

L = lesson(17)

# %% [markdown]
# ## How do two machines train one network?
#
# Every machine runs the same program, as a process of its own. The number of processes is the **world size**. Each process has a number, its **rank**, which begins at 0. Each has a copy of the whole network, called a *replica*, and reads another share of the batch. (The samples go through `pin_memory=True` in the loader where a graphics card is used: memory of this kind is copied to the card faster.)
#
# After backward the replicas hold different gradients, because they saw different samples. So the gradients are added up over all ranks, and divided by the world size. The operation that leaves the sum of all ranks on every rank is called **all-reduce**.
#
# We begin without processes: a list of two replicas, and a function that writes the average into all of them. Two ranks with two samples each:


# %% tags=["C17.1"]
def loss_of(w, samples):
    return (w * torch.tensor(samples)).mean()


def average(tensors):
    mean = sum(tensors) / len(tensors)
    return [mean.clone() for _ in tensors]


def gradient(samples):
    w = torch.tensor(1.0, requires_grad=True)
    loss_of(w, samples).backward()
    return w.grad


print("whole batch:", gradient([2.0, 4.0, 6.0, 8.0]))
print("each rank:  ", [gradient([2.0, 4.0]), gradient([6.0, 8.0])])
print("averaged:   ", average([gradient([2.0, 4.0]), gradient([6.0, 8.0])]))

# %% [markdown]
# Both ranks now have the gradient of the whole batch. They begin with the same weights and take the same step, so they stay equal without ever sending a weight.
#
# Now the shares are unequal. Rank 0 has the sample 2, and rank 1 has 4, 6 and 12. Each rank computes the mean loss of its own share, and the two gradients are averaged.
#
# **Predict.** What is the averaged gradient, and what is the gradient of the whole batch? Answer with a list of two numbers.

# %%
L.predict("17.p1", None)

# %% tags=["C17.1"]
ranks = [gradient([2.0]), gradient([4.0, 6.0, 12.0])]
print("averaged:   ", average(ranks)[0])
print("whole batch:", gradient([2.0, 4.0, 6.0, 12.0]))
print("weighted:   ", (1 * ranks[0] + 3 * ranks[1]) / 4)

# %% [markdown]
# The sample of rank 0 counts three times as much as each sample of rank 1. If the gradients are weighted by the number of samples, the result is right again. PyTorch does not do this for you. Its samplers give each rank equally many samples instead.
#
# > **The rule.** The average of the gradients is the gradient of the whole batch if every rank has equally many samples.
#
# The same in two real processes. `processes` starts them, and passes on what they send. (PyTorch has `torch.distributed` for that, and we come to it.)


# %% tags=["C17.2"]
def train(torch, group):
    w = torch.tensor([1.0], requires_grad=True)
    share = torch.tensor([[2.0, 4.0], [6.0, 8.0]])[group.rank]
    for _ in range(3):
        loss = ((w * share - 1) ** 2).mean()
        loss.backward()
        group.all_reduce(w.grad)
        with torch.no_grad():
            w -= 0.01 * w.grad / group.world_size
        w.grad = None
    print(f"rank {group.rank} of {group.world_size}: w = {w.item():.4f}")


processes(train, torch)

# %% [markdown]
# The two have seen different samples, and hold the same weight. And if one of them dies, the other one would wait for its gradient for ever. `processes` notices it and stops the others:


# %%
def dies(torch, group):
    if group.rank == 1:
        os._exit(1)
    group.all_reduce(torch.ones(1))


with expect_error(RuntimeError, "rank 1 ended before it was done"):
    processes(dies, torch)

# %% [markdown]
# ## What may happen between two forwards?
#
# A network also has **buffers**: tensors that are state, and are not trained. The running mean of batch normalisation is one. Every rank computes its own from its own samples, so buffers drift apart. PyTorch's `DistributedDataParallel` (DDP) therefore copies the buffers of rank 0 to all other ranks, at the beginning of each forward. This is the *broadcast* of the buffers.
#
# A copy into an existing tensor is a write in place. Here is a module that divides by the mean size of its input, and keeps it in a buffer. It makes a new tensor each time:


# %% tags=["C17.3"]
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("size", torch.ones(1))

    def forward(self, x):
        self.size = x.abs().mean().reshape(1)
        return self.w * x / self.size


module = Scaled()
(module(torch.tensor([8.0])) + module(torch.tensor([24.0]))).sum().backward()
print("two forwards, one backward, one machine:", module.w.grad)

# %% [markdown]
# `8 / 8` and `24 / 24` are both 1, so 2 is right. Now imagine this is rank 1. Before its second forward, the 5 of rank 0 is copied into the buffer. We do it in three ways: not at all; with `size.copy_(…)`, under `no_grad`; and with `size.data.copy_(…)`. You know the difference of the last two from lesson 09.
#
# **Predict.** What is `w.grad` in the three cases, for the inputs 20 and 24? Each entry is a number, or `"error"`.

# %%
L.predict("17.p2", None)


# %% tags=["P22", "C17.4"]
def two_forwards(write):
    module = Scaled()
    first = module(torch.tensor([20.0]))
    with torch.no_grad():
        write(module.size, torch.tensor([5.0]))
    second = module(torch.tensor([24.0]))
    (first + second).sum().backward()
    return module.w.grad.item()


print("no write:   ", two_forwards(lambda size, other: None))
with expect_error(RuntimeError, "is at version 1; expected version 0"):
    two_forwards(lambda size, other: size.copy_(other))
print("not counted:", two_forwards(lambda size, other: size.data.copy_(other)))

# %% [markdown]
# The division of the first forward had saved the buffer, because the slope of `w * x / size` needs it. The broadcast wrote the 5 of rank 0 into it.
#
# - A counted write is noticed, and backward raises.
# - A write that is not counted gives 20/5 + 1 = 5 without an error.
#
# On one machine there is no broadcast, and so the program was always right there.
#
# Batch normalisation shows another side of it. In training its gradient does not depend on the running mean. But its node has a slot for it, and the slot is checked:

# %% tags=["P22", "C17.5"]
norm = torch.nn.BatchNorm1d(1)
first = norm(torch.tensor([[1.0], [3.0]]))
with torch.no_grad():
    norm.running_mean.copy_(torch.tensor([7.0]))  # the broadcast
second = norm(torch.tensor([[2.0], [6.0]]))
failing = draw((first + second).sum())
with expect_error(RuntimeError, "modified by an inplace operation"):
    (first + second).sum().backward()

# %%
failing

# %% [markdown]
# **Notice:** both forwards have a node of their own, and the older node holds a running mean that has been written to since. That stopped many people with a GAN, or with two images for one loss. The error was a false alarm here, and a right one for `Scaled`.
#
# PyTorch 2.13 has made its choice: DDP hides its broadcast from the counters. The false alarm is gone, and so is the right one. The record of the real run stands further down.
#
# The cure is a copy that belongs to the graph: `size = self.size.clone()` in forward, and divide by that. Then the broadcast writes into the buffer, and the node has its own. Another cure is one forward for both inputs, as one batch.
#
# > **The rule.** A broadcast writes into buffers in place. What backward needs of a buffer must be a copy.
#
# ## How does batch normalisation see the whole batch?
#
# With two samples on each rank, the mean of a rank is a bad estimate. `SyncBatchNorm` uses the mean and the variance of all ranks. In forward it adds up sums over the ranks. In backward it does so again: every output depends on every input, also on those of other machines.
#
# In backward two sums are needed, in PyTorch's source `sum_dy` (of the gradients that arrive) and `sum_dy_xmu` (of these times x minus the mean). Both are sums over all ranks, so they are divided by the number of samples on all ranks.

# %% tags=["C17.6"]
x = torch.tensor([1.0, 2.0, 3.0, 6.0], requires_grad=True)
arriving = torch.tensor([1.0, 0.0, 2.0, 1.0])
centred = x - x.mean()
(centred / (centred**2).mean().sqrt()).backward(arriving)
print("whole batch:", x.grad)

shares = [(x.detach()[:2], arriving[:2]), (x.detach()[2:], arriving[2:])]
mean = sum(v.sum() for v, _ in shares) / 4
variance = sum(((v - mean) ** 2).sum() for v, _ in shares) / 4
sum_dy = sum(dy.sum() for _, dy in shares)
sum_dy_xmu = sum((dy * (v - mean)).sum() for v, dy in shares)
for count in (4, 2):
    parts = [(dy - sum_dy / count - (v - mean) * sum_dy_xmu / (variance * count)) / variance.sqrt() for v, dy in shares]
    print(f"two ranks, divided by {count}:", torch.cat(parts))

# %% [markdown]
# With the count of all ranks the gradient is that of the whole batch, to the last digit. With the count of one rank it is wrong, and no error says so.
#
# > **The rule.** If forward adds up over the ranks, backward adds up over them, too, and counts the samples of all.
#
# ## What does an older micro-batch find when it comes back?
#
# The other way to use two machines is to cut the network. Rank 0 has the first layers, rank 1 the last ones, and each is a **stage** of a *pipeline*. If a whole batch went through, one machine would always wait. So the batch is cut into micro-batches, and a stage takes turns: one forward, one backward. This is called **1F1B**. The first stage has to be one forward ahead, because its gradients come back late:
#
# ```text
# stage 0:  F0 F1    B0 F2 B1 F3 B2 ...
# stage 1:     F0 B0 F1 B1 F2 B2 ...
# ```
#
# A stage that steps after every backward never waits. But look at stage 0. Micro-batch 1 went forward, then came `B0` and a step, and then micro-batch 1 comes back. The stage computes `a · x · b`. We start with a = 2 and b = 3, the inputs are 1 and 2, the gradients that come back are 1, and the step is 1 · gradient.
#
# **Predict.** What is the gradient of `a` for micro-batch 1 in three cases: the step writes with `sub_`; it writes with `.data.sub_`; each micro-batch uses copies of the weights, made in its forward? Each entry is a number or `"error"`.

# %%
L.predict("17.p3", None)


# %% tags=["P23", "C17.7", "C17.8", "C17.9"]
def stage(way):
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    waiting = []
    for x in (1.0, 2.0):  # F0, F1
        used = [w.detach().clone().requires_grad_() for w in (a, b)] if way == "copies" else [a, b]
        waiting.append((used[0] * x * used[1], used))
    for number, (result, used) in enumerate(waiting):  # B0, B1
        grads = torch.autograd.grad(result, used)
        print(f"{way:6} micro-batch {number}: gradients", [g.item() for g in grads])
        with torch.no_grad():
            for w, g in zip((a, b), grads, strict=True):
                (w.data if way == ".data" else w).sub_(g)


with expect_error(RuntimeError, "is at version 1; expected version 0"):
    stage("sub_")
stage(".data")
stage("copies")

# %% [markdown]
# - With `sub_` the version check does its work. `b` is not what it was when micro-batch 1 went forward.
# - With `.data` there is no error. The slope of `a` was computed with the new `b`, and that of `b` with the old `a`. This is the gradient of no network that ever existed.
# - With copies the gradient is right for the weights that this micro-batch has used. It is added to the newer weights, a step late, which training usually survives.
#
# To keep the weights of each micro-batch on its way is called **weight stashing**. The first of p stages keeps the most versions, up to p, and the last one keeps one, because its forward and backward follow each other at once. If that is too much memory: let all micro-batches come back first, and step then.
#
# > **The rule.** Keep the weights that a micro-batch has used until it comes back. Do not remove the check.
#
# ## Is it the same on real PyTorch?
#
# This whole script runs DDP and the pipeline in two processes, on one machine, with PyTorch's `gloo`. Here is the script:
#
# ```python
# import os
#
# import torch
# import torch.distributed as dist
# import torch.multiprocessing as mp
# from torch.nn.parallel import DistributedDataParallel as DDP
#
#
# class Scaled(torch.nn.Module):
#     def __init__(self, copy=False):
#         super().__init__()
#         self.w, self.copy = torch.nn.Parameter(torch.ones(1)), copy
#         self.register_buffer("size", torch.ones(1))
#
#     def forward(self, x):
#         self.size = x.abs().mean().reshape(1)
#         size = self.size.clone() if self.copy else self.size
#         return self.w * x / size
#
#
# def data_parallel(rank):
#     mine = torch.tensor([[2.0, 6.0], [8.0, 24.0]])[rank]  # a different share for each rank
#     for copy in (False, True):
#         module = Scaled(copy)
#         model = DDP(module)
#         first = model(mine[:1])
#         buffer, before = module.size, module.size._version
#         second = model(mine[1:])
#         counted = buffer._version - before
#         (first + second).sum().backward()
#         if rank == 1:
#             name = "copied:" if copy else "as it is:"
#             print(f"{name} w.grad {module.w.grad.item()}, writes that were counted: {counted}", flush=True)
#
#
# def pipeline(rank):
#     a, b = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
#     for stash in (False, True):
#         if rank == 1:  # the last stage: its loss is c * h, so it sends back the gradient c
#             for _ in range(2):
#                 h = torch.zeros(1, requires_grad=True)
#                 dist.recv(h.data, src=0)
#                 (h * torch.tensor([1.0])).sum().backward()
#                 dist.send(h.grad, dst=0)
#             continue
#         waiting, sent = [], []
#         for x in (1.0, 2.0):  # both micro-batches go forward
#             used = [w.detach().clone().requires_grad_() for w in (a, b)] if stash else [a, b]
#             h = used[0] * x * used[1]
#             waiting.append((h, used))
#             sent.append(dist.isend(h.detach(), dst=1))  # isend does not wait until it was received
#         for h, used in waiting:  # and come back, with a step after each
#             upstream = torch.zeros(1)
#             dist.recv(upstream, src=1)
#             try:
#                 grads = torch.autograd.grad(h, used, upstream)
#                 print("gradients", [round(g.item(), 2) for g in grads], flush=True)
#             except RuntimeError as error:
#                 print(str(error).split(" Hint")[0], flush=True)
#                 continue
#             with torch.no_grad():
#                 for w, g in zip((a, b), grads):
#                     w.sub_(0.1 * g)
#         for each in sent:
#             each.wait()
#
#
# def work(rank):
#     os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
#     os.environ.setdefault("MASTER_PORT", "29517")
#     dist.init_process_group("gloo", rank=rank, world_size=2)
#     data_parallel(rank)
#     dist.barrier()
#     pipeline(rank)
#     dist.destroy_process_group()
#
#
# if __name__ == "__main__":
#     mp.spawn(work, nprocs=2)
# ```
#
# And this is what PyTorch 2.13 printed:
#
# ```text
# as it is: w.grad 3.5, writes that were counted: 0
# copied: w.grad 2.0, writes that were counted: 0
# gradients [3.0, 2.0]
# one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1]] is at version 1; expected version 0 instead.
# gradients [2.8, 1.7]
# gradients [5.6, 3.4]
# ```
#
# The first line is the 3.5 from the beginning. It is the average of 2 on rank 0 and of 5 on rank 1. The broadcast was not counted. The second line has the copy. The other four are the pipeline, without and with copies.
#
# (If you change `isend` into `send`, the two wait for each other for ever: rank 0 to be received from, and rank 1, too.) Our engine's own processes hide their writes, too. This is what a broadcast does to a version:


# %% tags=["engine"]
def broadcasts(torch, group):
    size = torch.tensor([2.0 + 6 * group.rank])
    group.broadcast(size)
    print(f"rank {group.rank}: size {size.item()}, version {size._version}")


processes(broadcasts, torch)

# %% [markdown]
# ## Exercises
#
# `L.hint("17.1")` helps, `L.solution("17.1")` explains.
#
# **17.1 · Which happens?** (6 minutes). `w` is 3, and `s` is 2, a buffer. Afterwards `y.backward()` is called. Right is the gradient of `w` with the buffer or weight that forward used. Answer with `"fine"`, `"raises now"`, `"raises at backward"`, or `"silently wrong"`.
#
# | | program |
# | --- | --- |
# | A | `y = w * s`, then `s.copy_(k)` |
# | B | `y = w * s`, then `s.data.copy_(k)` |
# | C | `y = w * s.clone()`, then `s.copy_(k)` |
# | D | `y = w + s`, then `s.copy_(k)` |
# | E | `y = w * s`, then `s = k` |
# | F | `y = w * s`, then `w.copy_(k)` |
# | G | `y = w * w`, then `with torch.no_grad(): w.copy_(k)` |

# %%
happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}

L.check("17.1", happens)

# %% [markdown]
# **17.2 · Unequal shares** (4 minutes). Each rank has a gradient of the mean loss of its own samples. Return the gradient of the mean loss of all samples. A rank may have no sample at all; its gradient is zero then.


# %%
def combine(gradients, counts):
    return sum(gradients) / len(gradients)


L.check("17.2", combine)

# %% [markdown]
# **17.3 · The backward of all ranks** (6 minutes). `xmus` holds for each rank its samples minus the mean of all, `dys` the gradients that arrive, and `variance` is that of all samples. The function treats each rank by itself. Repair it: return for each rank the gradient of its samples.


# %%
def backward(xmus, variance, dys):
    shares = zip(dys, xmus, strict=True)
    return [(dy - dy.mean() - xmu * (dy * xmu).mean() / variance) / variance.sqrt() for dy, xmu in shares]


L.check("17.3", backward)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`tests/claims/test_claims_17.py`).
#
# - **C17.1** The average of the gradients of equal shares is the gradient of the whole batch, and of unequal shares they must be weighted by their samples.
# - **C17.2** Replicas that begin with the same weights and step with the same averaged gradient stay equal.
# - **C17.3** A module that makes a new buffer in each forward may run twice before one backward on one machine.
# - **C17.4** If the buffer of the first forward is overwritten, backward raises if the write was counted, and gives a wrong gradient if it was not; a copy made in forward is right.
# - **C17.5** Batch norm in training raises if its running mean was overwritten and counted before backward, although its gradient does not depend on it.
# - **C17.6** Batch norm on two ranks has the gradient of the whole batch if its sums in backward are those of all ranks and the count, too.
# - **C17.7** A stage that steps before an older micro-batch comes back raises the version error.
# - **C17.8** If the step is hidden from the counters, the gradient of the older micro-batch mixes two versions of the weights without an error.
# - **C17.9** With copies of the weights each micro-batch gets the gradient of the weights that it used.
#
# **Left out, compared with PyTorch.** DDP sends gradients in buckets while backward still runs, with hooks of lesson 12, and `no_sync()` leaves it out for gradient accumulation. Our engine has no `torch.distributed` and no `SyncBatchNorm`; PyTorch's runs on graphics cards only.
#
# **Read on in our engine:** `course_lib/teach/instruments/processes.py`.
