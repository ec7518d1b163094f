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
# **Your training is too slow, so you give it a second machine. Each of the two computes half of every batch, and their gradients are averaged. On one machine the gradient of a weight was 2.0. On two machines the same line prints 3.5. Nothing was raised, and the loss falls.**
#
# Somebody wrote into a tensor that a node had saved. In the earlier lessons this was always a line of your own program. Here it is another machine, or a step that comes too early for an older batch.
#
# After this lesson you can
#
# - say what the machines send each other in a training step, and compute it by hand;
# - find out why a model that is right on one machine is wrong on two;
# - write the backward of a batch normalisation that sees the whole batch;
# - run a pipeline, and say which weights it must keep, and for how long.
#
# **Minutes** 85 · **Needs** lessons 05, 06, 07, 09 and 10 · **Out of scope** how fast networks are, several graphics cards, weights that are cut up between machines
#
# [← 16 Five bug reports](16_five_bug_reports.ipynb) · [all lessons](home.ipynb)

# %%
import course_lib as torch
import os

from backscope import draw
from coursekit import expect_error, grids, lesson, processes

L = lesson(17)

# %% [markdown]
# ## How do two machines train one network?
#
# Every machine runs the same program, as a process of its own. The number of processes is the **world size**. Each process has a number, its **rank**, which begins at 0. Each has a copy of the whole network, called a *replica*, and reads another share of the batch.
#
# After backward, the replicas hold different gradients, because they saw different samples. So the gradients are added up over all ranks, and divided by the world size. The operation that does this sum, and leaves it on every rank, is called **all-reduce**.
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
# Both ranks now have the gradient of the whole batch. They begin with the same weights and take the same step, so their weights stay equal although no weight is ever sent.
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
# The sample of rank 0 counts three times as much as each sample of rank 1. If the gradients are weighted by the number of samples, the result is right again. PyTorch does not do this for you. Its samplers give each rank equally many samples instead, and repeat some if they have to. (It is the mean of means from lesson 05, with ranks instead of micro-batches.)
#
# > **The rule.** The average of the gradients is the gradient of the whole batch if every rank has equally many samples.
#
# The same in two real processes. `processes` starts them, and passes on what they send. Each gets a `group`, which knows its `rank` and the `world_size`. `group.all_reduce(t)` writes the sum of all ranks into `t`, on every rank. (PyTorch has `torch.distributed` for that, and we come to it.)


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
# The two have seen different samples, and hold the same weight. And if one of them dies? The other one needs a gradient that will not come. Our `processes` notices that a process has ended, and stops the others:


# %%
def dies(torch, group):
    if group.rank == 1:
        os._exit(1)
    group.all_reduce(torch.ones(1))


with expect_error(RuntimeError, "rank 1 ended before it was done"):
    processes(dies, torch)

# %% [markdown]
# What PyTorch does depends on the library that carries the messages. `gloo`, the one for CPUs, sees that the connection is gone, and the rank that is left raises *Connection reset by peer* at once. A process that hangs without ending is another matter: then the others wait until a time limit is over, which is half an hour for `gloo` if you set none.
#
# ## Does autograd know that `all_reduce` writes?
#
# `all_reduce` writes the sum into the tensor that it is given. So far this tensor was a gradient, after backward. Here it is given a tensor in the middle of a forward pass. Rank 0 has the weight 1, and rank 1 has the weight 2. Each gradient is printed beside the slope of `exp` at its own weight:


# %% tags=["C17.11"]
def summed(torch, group):
    for out_of_place in (False, True):
        w = torch.tensor([1.0 + group.rank], requires_grad=True)
        e = w.exp()
        total = e.detach().clone() if out_of_place else e
        group.all_reduce(total)
        e.sum().backward()
        what = "into a copy" if out_of_place else "into e itself"
        slope = w.detach().exp().item()
        print(f"rank {group.rank}, {what}: version of e {e._version}, gradient {w.grad.item():.3f}, slope {slope:.3f}")


processes(summed, torch)

# %% [markdown]
# **Notice:** `exp` had saved its result `e`, and `all_reduce` wrote the sum of both ranks into it. The version of `e` is still 0, so backward read the sum as if it were the result: 10.107 on both ranks, instead of 2.718 and 7.389. PyTorch gives the same numbers with `torch.distributed.all_reduce`. It prints a warning (*an autograd kernel was not registered … may lead to silently incorrect behavior*), and raises nothing.
#
# A sum that is only looked at, such as a loss for the log, belongs in a detached copy. If the sum is part of the loss, it needs an operation with a backward of its own: `torch.distributed.nn.functional.all_reduce` returns a new tensor and has a node. Its backward is another all-reduce, because the number of one rank reaches the losses of all ranks.
#
# > **The rule.** A collective such as `all_reduce` writes in place, without counting the write. Give it a tensor that no node has saved.
#
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
        self.size = x.abs().mean(dim=0, keepdim=True)
        return self.w * x / self.size


module = Scaled()
(module(torch.tensor([8.0])) + module(torch.tensor([24.0]))).sum().backward()
print("two forwards, one backward, one machine:", module.w.grad)

# %% [markdown]
# `8 / 8` and `24 / 24` are both 1, so 2 is right. Now let this be rank 1, and give rank 0 the inputs 2 and 6. The order on rank 1 is: forward of 8, a copy of rank 0's buffer, which is 2, into its own, forward of 24, backward. We do the copy in three ways: not at all; with `size.copy_(…)`, under `no_grad`; and with `size.data.copy_(…)`. You know the difference of the last two from lesson 09.
#
# **Predict.** What is `w.grad` on rank 1 in the three cases? Each entry is a number, or `"error"`.

# %%
L.predict("17.p2", None)


# %% tags=["P22", "C17.4"]
def two_forwards(write, kind=Scaled, inputs=(8.0, 24.0)):
    module = kind()
    first = module(torch.tensor([inputs[0]]))
    with torch.no_grad():
        write(module.size, torch.tensor([2.0]))
    second = module(torch.tensor([inputs[1]]))
    (first + second).sum().backward()
    return module.w.grad.item()


print("no write:   ", two_forwards(lambda size, other: None))
with expect_error(RuntimeError, "is at version 1; expected version 0"):
    two_forwards(lambda size, other: size.copy_(other))
rank_1 = two_forwards(lambda size, other: size.data.copy_(other))
rank_0 = two_forwards(lambda size, other: None, inputs=(2.0, 6.0))  # nothing is written there: it is the sender
print("not counted:", rank_1, "and on rank 0:", rank_0, "averaged:", (rank_0 + rank_1) / 2)

# %% [markdown]
# - A counted write is noticed, and backward raises.
# - A write that is not counted gives 8/2 + 1 = 5 without an error. The average of both ranks is the 3.5 from the beginning.
#
# Who reads the buffer? We look at rank 1 after the write:

# %%
module = Scaled()
first = module(torch.tensor([8.0]))
size = module.size
with torch.no_grad():
    size.copy_(torch.tensor([2.0]))  # the broadcast
draw(first)

# %% [markdown]
# **Notice:** the orange drawer in the node of the division. The division of the first forward had saved the buffer, because the slope of `w * x / size` needs it. It is the memory into which the 2 of rank 0 was written.
#
# On one machine there is no broadcast, and so the program was always right there.
#
# Batch normalisation shows another side of it. Its node has a slot for the running mean, too, and the slot is checked. But in training the mean of the batch is what counts:


# %% tags=["P22", "C17.5"]
def slopes(write):
    norm, x = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0], [8.0]], requires_grad=True)
    y = norm(x)
    with torch.no_grad():
        write(norm.running_mean)
    (y**3).sum().backward()
    return x.grad.reshape(-1)


print("no write:   ", slopes(lambda mean: None))
print("not counted:", slopes(lambda mean: mean.data.fill_(99.0)))
with expect_error(RuntimeError, "modified by an inplace operation"):
    slopes(lambda mean: mean.fill_(99.0))

# %% [markdown]
# The same gradient with a running mean of 99: the error is a false alarm here, and a right one for `Scaled`. In earlier versions of PyTorch the broadcast of DDP was counted, and programs with two forwards before one backward met this alarm, such as a GAN, whose discriminator scores real samples and fakes (issue 22095 of PyTorch).
#
# PyTorch 2.13 hides the broadcast of DDP from the counters. So the false alarm is gone. The right one is gone, too: a model like `Scaled` is silently wrong. The record of the real run stands further down.
#
# There are two cures. If the ranks may have different buffers, switch the broadcast off: `DDP(model, broadcast_buffers=False)`. That is the usual one. If rank 0 should go on deciding, make a copy that belongs to the graph. The broadcast then writes into the buffer, and the node has its own copy:


# %% tags=["C17.4"]
class Copying(Scaled):
    def forward(self, x):
        self.size = x.abs().mean(dim=0, keepdim=True)
        size = self.size.clone()
        return self.w * x / size


print("counted:    ", two_forwards(lambda size, other: size.copy_(other), Copying))
print("not counted:", two_forwards(lambda size, other: size.data.copy_(other), Copying))

# %% [markdown]
# > **The rule.** A broadcast writes into buffers in place. If a node saves a buffer, and a second forward may come before backward, compute with a clone of it, or switch the broadcast off.
#
# ## How does batch normalisation see the whole batch?
#
# With two samples on each rank, the mean of a rank is a bad estimate. `SyncBatchNorm` uses the mean and the variance of all ranks. In forward it adds up sums over the ranks. In backward it does so again: every output depends on every input, also on those of other machines.
#
# There are three ways from an output back to an input, and so the gradient `dx` has three terms:
#
# ```text
# dx = ( dy  -  sum_dy / N  -  (x - mean) * sum_dy_xmu / (N * variance) ) / sqrt(variance)
#      direct   by the mean    by the variance
# ```
#
# `dy` is the gradient that arrives, and `N` is the number of all samples. The two sums run over the samples of all ranks. Their names are those of PyTorch's source: `sum_dy` adds up `dy`, and `sum_dy_xmu` adds up `dy * (x - mean)`.

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
    off = (torch.cat(parts) - x.grad).abs().max().item()
    print(f"two ranks, divided by {count}:", torch.cat(parts), f"off by {off:.6f}")

# %% [markdown]
# With the count of all ranks the gradient is that of the whole batch. With the count of one rank it is wrong, and no error says so.
#
# > **The rule.** If forward adds up over the ranks, backward adds up over them, too, and counts the samples of all.
#
# ## What does an older micro-batch find when it comes back?
#
# The other way to use two machines is to cut the network. Rank 0 has the first layers, rank 1 the last ones, and each is a **stage** of a *pipeline*. If a whole batch went through, one machine would always wait. So the batch is cut into micro-batches, and a stage takes turns: one forward, one backward. This order of turns is called **1F1B**. The first stage has to be one forward ahead, because its gradients come back late:
#
# %%
turns = [["stage 0", "F0", "F1", "", "B0", "F2", "B1", "F3", "B2", "", "B3"], ["stage 1", "", "F0", "B0", "F1", "B1", "F2", "B2", "F3", "B3", ""]]
papers = [[int(text[1]) if text[:1] in ("F", "B") else None for text in row] for row in turns]
grids(["time → (a colour is a micro-batch)", turns], colours=[papers])

# %% [markdown]
# **Notice:** `F` is a forward and `B` a backward. Stage 0 waits one turn near the beginning and one near the end; in between both are busy.
#
# When do the weights change? In PyTorch's own `Schedule1F1B` they wait: the gradients of all micro-batches are added up, and the optimizer steps once, at the end. Then all turns see the same weights, and nothing in this lesson goes wrong. But before the step the pipeline runs empty, and then has to fill again. **PipeDream** keeps it full: there each stage steps after each of its backwards. This is what we look at now. Take micro-batch 1 in stage 0: it went forward, then came `B0` and a step, and then `B1`. The stage of the next program computes `a · x · b`. We start with a = 2 and b = 3, the inputs are 1 and 2, the gradients that come back are 1, and the step is 1 · gradient.
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
# - With copies the gradient is right for the weights that this micro-batch has used. The step then applies this gradient to the newer weights.
#
# To keep the weights of each micro-batch on its way is called **weight stashing**.
#
# > **The rule.** Keep the weights that a micro-batch has used until it comes back. Do not remove the check.
#
# ## How many versions does each stage keep?
#
# Here is the whole pipeline, in two processes. The network is `tanh(x @ w0) @ w1`: stage 0 has `w0`, stage 1 has `w1` and the loss. Four micro-batches of one sample each take the turns of the picture above. It runs twice. With the rate 0 no step changes anything, so all versions are equal, and the gradients of the four micro-batches have to add up to that of the whole batch. With the rate 0.5 there are real versions. (`forward` and `backward` only compute and send. The versions are kept in the loop.)


# %% tags=["C17.10"]
def one_f_one_b(torch, group):
    torch.manual_seed(0)
    x, target = torch.randn(4, 3), torch.randn(4, 1)
    start, told = [torch.randn(3, 2), torch.randn(2, 1)][group.rank], []
    ahead = group.world_size - 1 - group.rank  # stage 0 is one forward ahead

    def forward(k, w):
        used, arrived = w.clone().requires_grad_(), torch.zeros(1, 2)
        if group.rank == 0:
            result = torch.tanh(x[k : k + 1] @ used)
            group.send(result, to=1)
        else:
            group.receive(arrived, of=0)
            result = ((arrived.requires_grad_() @ used - target[k : k + 1]) ** 2).sum() / 4
        return used, arrived, result

    def backward(arrived, result):
        upstream = torch.ones(tuple(result.shape))
        if group.rank == 0:
            group.receive(upstream, of=1)
        result.backward(upstream)
        if group.rank == 1:
            group.send(arrived.grad, to=0)

    for rate in (0.0, 0.5):
        w, version, stash, most = start.clone(), 0, {}, 0
        log, copies, gradients = [], [], []
        for turn in range(4 + ahead):
            if turn < 4:
                stash[turn] = version, *forward(turn, w)
                log.append(f"F{turn} v{version}")
                most = max(most, len(stash))
            if turn >= ahead:  # backward of an older one, and a step
                made, used, arrived, result = stash.pop(turn - ahead)
                backward(arrived, result)
                log.append(f"B{turn - ahead} v{made}")
                w, version = w - rate * used.grad, version + 1
                copies.append(used.tolist())
                gradients.append(used.grad.tolist())
        told.append({"log": log, "copies": copies, "gradients": gradients})
    print(f"stage {group.rank}: {' · '.join(log)}; at most {most} under way")
    return told


stages = processes(one_f_one_b, torch)

# %% [markdown]
# Are these gradients right? One machine computes them again: first that of the whole batch, then those of each micro-batch, with the weights that it used in each stage.


# %% tags=["C17.10"]
def on_one_machine(weights, samples):
    torch.manual_seed(0)
    x, target = torch.randn(4, 3)[samples], torch.randn(4, 1)[samples]
    w0, w1 = [torch.tensor(w, requires_grad=True) for w in weights]
    return torch.autograd.grad(((torch.tanh(x @ w0) @ w1 - target) ** 2).sum() / 4, (w0, w1))


def furthest(found, wanted):
    return max((a - b).abs().max().item() for a, b in zip(found, wanted, strict=True))


no_step, steps = zip(*stages, strict=True)
added = [sum(torch.tensor(g) for g in stage["gradients"]) for stage in no_step]
wanted = on_one_machine([stage["copies"][0] for stage in no_step], slice(4))
print(f"rate 0, all four added: off by {furthest(added, wanted):.5f} from the whole batch")
for k in range(4):
    found = [torch.tensor(stage["gradients"][k]) for stage in steps]
    used = on_one_machine([stage["copies"][k] for stage in steps], slice(k, k + 1))
    first = on_one_machine([stage["copies"][0] for stage in steps], slice(k, k + 1))
    print(f"rate 0.5, micro-batch {k}: off by {furthest(found, used):.5f} at the weights it used, {furthest(found, first):.5f} at v0")

# %% [markdown]
# Each micro-batch has the gradient of the weights that it used. Here is the time line of the second run. The line below each stage says which version its weights have at that moment.


# %%
def with_versions(name, turns):
    now, newest = 0, []
    for turn in turns:
        newest.append(f"v{now}")
        now += turn.startswith("B")  # a step after each backward
    return [[name, *turns], ["weights", *newest]]


first, last = [stage["log"] for stage in steps]
upper = with_versions("stage 0", [*first[:2], "", *first[2:7], "", first[7]])
lower = with_versions("stage 1", ["", *last])
papers = [[int(text[-1]) if "v" in text else None for text in row] for row in upper + lower]
grids(["time → (a colour is a version of the weights)", upper + lower], colours=[papers])

# %% [markdown]
# **Notice:** in stage 0 the cell of `B1` has the colour of v0, while the weights below it are at v1 already. So stage 0 must keep two versions. In stage 1 each backward follows its forward at once, the two lines have the same colours, and one version is enough. With more stages (we do not run that here) a stage is `world_size - 1 - rank` forwards ahead, and keeps one version more than that.
#
# (Micro-batch 1 has used v0 in stage 0 and v1 in stage 1. PipeDream with weight stashing accepts that. If you want one version in all stages, or have no memory for copies, do what `Schedule1F1B` does: let all micro-batches come back first, and step then. The run with rate 0 above stands for it.)
#
# ## Is it the same on real PyTorch?
#
# A script runs DDP and a stage of a pipeline in two processes, on one machine. `gloo` is the part of PyTorch that carries the messages between CPUs.
#
# <details><summary>The script: 70 lines, with what you have just seen</summary>
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
#         self.size = x.abs().mean(dim=0, keepdim=True)
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
# </details>
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
# - The first line is the 3.5 from the beginning, the average of 2 and 5. No write was counted. The second line has the copy in forward.
# - The next two are the stage without copies: the gradients of micro-batch 0, and the error for micro-batch 1.
# - The last two are the stage with copies. The step before the error still stands, so it begins at a = 1.7 and b = 2.8. The gradients for x = 1 are b and a, and those for x = 2 are twice as large: both micro-batches have used the same weights.
#
# Our own processes hide their writes as DDP does. This is what a broadcast does to a version:


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
# **17.1 · Which happens?** (6 minutes). `w` is 3, and `s` is 2, a buffer. Afterwards `y.backward()` is called. `k` is another tensor of the same shape, and `w` requires grad. `"fine"` means that `w.grad` is right for the numbers that forward used. Answer with `"fine"`, `"raises now"`, `"raises at backward"`, or `"silently wrong"`.
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
# **17.2 · Unequal shares** (3 minutes). Each rank has a gradient of the mean loss of its own samples. Return the gradient of the mean loss of all samples. A rank may have no sample at all; its gradient is zero then.


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
# **17.4 · A stage that steps** (8 minutes). `stage` is one stage of a pipeline. It computes `tanh(x * a) * b`. `turns` is a list such as `["F0", "F1", "B0", "F2", "B1", "B2"]`, and `arriving[k]` is the gradient that comes back for micro-batch k. After each backward both weights step. Repair it: each micro-batch has the gradients of the weights that its forward has used, each forward uses the newest weights, and a copy is kept only until its micro-batch comes back. Return `{k: (gradient of a, gradient of b)}`. `a` and `b` stay the tensors that they are.


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


L.check("17.4", stage)

# %% [markdown]
# **17.5 · A running size** (6 minutes). This module divides by a running mean of the sizes of its inputs. Repair it for two forwards before one backward, with a broadcast into the buffer in between, counted or not. The buffer goes on as before: a forward begins with the number that is in it, and the broadcast one counts. No gradient runs through the size.


# %%
class RunningSize(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("size", torch.ones(1))

    def forward(self, x):
        with torch.no_grad():
            self.size.mul_(0.9).add_(0.1 * x.abs().mean())
        return self.w * x / self.size


L.check("17.5", RunningSize)

# %% [markdown]
# ## What you can now claim
#
# Every sentence below has been shown in a cell of this lesson, and a test runs it on our engine and on real PyTorch (`lessons/17_two_machines/claims.py`).
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
# - **C17.10** In a pipeline of two stages that take turns, the gradients of the micro-batches add up to that of the whole batch if no step comes in between; with steps and copies, each is the gradient of the weights that it used, and the first stage has two micro-batches under way and the last one.
# - **C17.11** If all_reduce writes into a result that exp has saved, the version stays 0 and the gradient is wrong without an error; a detached copy is summed without harm.
#
# **Left out, compared with PyTorch.** DDP sends gradients in buckets while backward still runs, with hooks of lesson 12, and `no_sync()` leaves it out for gradient accumulation. Our engine has no `torch.distributed` and no `SyncBatchNorm`; PyTorch's runs on graphics cards only.
#
# **Read on in our engine:** `coursekit/notebook/processes.py`.
