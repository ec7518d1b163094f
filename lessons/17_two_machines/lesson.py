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
# **Your training is too slow, so you give it a second machine. Each of the two computes half of every batch, and their gradients are averaged. On one machine the gradient of a weight was 2.0. On two machines the same line prints 3.5, and nothing is raised.**
#
# Somebody wrote into a tensor that a node had saved. In the earlier lessons this was always a line of your own program. Here it is another machine.
#
# After this lesson you can
#
# - say what the machines send each other in a training step, and compute it by hand;
# - put a sum over machines into a loss, with the right gradient;
# - find out why a model that is right on one machine is wrong on two, and cure it.
#
# **Minutes** 62, and 6 for more exercises · **Needs** lessons 05, 06, 07, 09 and 10, and `Function` from 11 · **Out of scope** networks that are cut in two (part [17b](17b_a_pipeline.ipynb)), how fast connections are
#
# [← 16 Five bug reports](16_five_bug_reports.ipynb) · [all lessons](home.ipynb) · [17b A pipeline →](17b_a_pipeline.ipynb)

# %%
import course_lib as torch
from backscope import film
from coursekit import lesson, processes

L = lesson(17)

# %% [markdown]
# Here is the story, small. One module, one weight, and the module is called twice before `backward()`. First in one process, then in two processes that share the work. `processes` starts them, and prints what they printed.

# %%
L.stage.story(torch)
processes(L.stage.story, torch)

# %% [markdown]
# You will see the module soon. To understand the 3.5, you need to know what the two processes send each other, and when.
#
# ## What do two machines send each other?
#
# Every machine runs the same program, as a process of its own. The number of processes is the **world size**. Each process has a number, its **rank**, which begins at 0. Each has a copy of the whole network, a *replica*, and reads another share of the batch.
#
# After backward the replicas hold different gradients, because they saw different samples. So the gradients are added up over all ranks, and divided by the world size. The operation that adds up, and leaves the sum on every rank, is called **all-reduce**. This is *data parallel* training. PyTorch's class for it is `DistributedDataParallel`, DDP for short.
#
# Before we use processes, we do it by hand. Two ranks have two samples each:


# %% tags=["C17.1"]
def gradient(samples):
    w = torch.tensor(1.0, requires_grad=True)
    (w * torch.tensor(samples)).mean().backward()
    return w.grad


def average(gradients):
    return sum(gradients) / len(gradients)


print("each rank:  ", gradient([2.0, 4.0]), gradient([6.0, 8.0]))
print("averaged:   ", average([gradient([2.0, 4.0]), gradient([6.0, 8.0])]))
print("whole batch:", gradient([2.0, 4.0, 6.0, 8.0]))

# %% [markdown]
# The average is the gradient of the whole batch. Now the shares are unequal: rank 0 has one sample, and rank 1 has three.


# %%
def unequal():
    ranks = [gradient([2.0]), gradient([4.0, 6.0, 12.0])]
    print("averaged:   ", average(ranks))
    print("whole batch:", gradient([2.0, 4.0, 6.0, 12.0]))
    print("weighted:   ", (1 * ranks[0] + 3 * ranks[1]) / 4)


# %% [markdown]
# **Predict.** What is the averaged gradient, and what is the gradient of the whole batch? Answer with a list of two numbers.

# %%
L.predict("17.p1", None)

# %% tags=["C17.1"]
L.run(unequal, after="17.p1")

# %% [markdown] tags=["tells"]
# The sample of rank 0 counts three times as much as each sample of rank 1. If the gradients are weighted by the number of samples, the result is right again.
#
# DDP does not do this for you. PyTorch's samplers give each rank equally many samples instead, and repeat some if they have to. In a language model that is not enough: there the mean runs over *tokens*, and equally many sentences have unequal numbers of tokens. (It is the mean of means from lesson 05, with ranks instead of micro-batches.)
#
# > **The rule.** The average of the gradients is the gradient of the whole batch if every rank has equally many samples.

# %% [markdown]
# ### Exercise: unequal shares
#
# **17.1 · Unequal shares** (3 minutes). Each rank has a gradient of the mean loss of its own samples. Return the gradient of the mean loss of all samples. A rank may have no sample at all; its gradient is zero then.


# %%
def combine(gradients, counts):
    return sum(gradients) / len(gradients)


L.check("17.1", combine)

# %% [markdown]
# Now in two real processes. Each is given a `group`, which knows its `rank` and the `world_size`. `group.all_reduce(t)` writes the sum of all ranks into `t`, on every rank. (PyTorch's is `torch.distributed.all_reduce`. `torchrun` starts the processes there.)


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
# The two have seen different samples, and hold the same weight, although no weight was ever sent. They began with the same one, and took the same steps.
#
# ## Does autograd know that `all_reduce` writes?
#
# So far `all_reduce` was given a gradient, after backward. But sometimes you need a sum over all ranks *in* a forward pass: the normaliser of a softmax that is cut up between machines, say. A first attempt:


# %%
def summed(torch, group):
    w = torch.tensor([1.0 + group.rank], requires_grad=True)
    e = w.exp()
    group.all_reduce(e)
    e.sum().backward()
    print(f"rank {group.rank}: e {e.item():.3f} at version {e._version}, gradient {w.grad.item():.3f}")


# %% [markdown]
# Rank 0 has the weight 1, and rank 1 has the weight 2. The values of `exp` are 2.718 and 7.389, and their sum is 10.107. Operations in which all ranks take part are called **collectives**. `all_reduce` is one. Its write is like one through `.data` (lesson 09): no version counter counts it.
#
# **Predict.** Which gradient is printed on rank 0, and which on rank 1? Answer with a list of two, each a number or `"error"`.

# %%
L.predict("17.p2", None)

# %% tags=["C17.7"]
L.run(processes, summed, torch, after="17.p2")

# %% [markdown] tags=["tells"]
# **Notice:** the version of `e` is still 0. `exp` had saved its result, because the slope of `exp` is its result. The sum was written into this memory, and backward read the sum as if it were the result. It gave 10.107 on both ranks.
#
# Even each rank's own slope, 2.718 or 7.389, would have been wrong. The sum is the loss of both ranks, so a change of `w` on rank 0 changes two losses.
#
# PyTorch gives the same wrong numbers with `torch.distributed.all_reduce`. It prints a warning (*an autograd kernel was not registered … may lead to silently incorrect behavior*), and raises nothing.

# %% [markdown]
# ## How does a sum over all ranks get into a loss?
#
# The sum needs a node, so that backward knows of it. It must not write into its input. And in backward the gradients must be added up over the ranks as well, because every rank's loss has used the number of this rank. That is a custom Function with an `all_reduce` in forward and one in backward:


# %% tags=["C17.6"]
def with_a_node(torch, group):
    class Total(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            total = x.clone()
            group.all_reduce(total)
            return total

        @staticmethod
        def backward(ctx, grad):
            total = grad.clone()
            group.all_reduce(total)
            return total

    w = torch.tensor([1.0 + group.rank], requires_grad=True)
    Total.apply(w.exp()).sum().backward()
    print(f"rank {group.rank}: gradient {w.grad.item():.3f}")

    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])[group.rank].requires_grad_()
    mean = Total.apply(x.sum()) / 4
    variance = Total.apply(((x - mean) ** 2).sum()) / 4
    y = (x - mean) / variance.sqrt()
    (y * torch.tensor([[1.0, 0.0], [2.0, 1.0]])[group.rank]).sum().backward()
    print(f"rank {group.rank}: batch norm {x.grad}")


processes(with_a_node, torch)
x = torch.tensor([1.0, 2.0, 3.0, 6.0], requires_grad=True)
y = (x - x.mean()) / ((x - x.mean()) ** 2).mean().sqrt()
(y * torch.tensor([1.0, 0.0, 2.0, 1.0])).sum().backward()
print("one machine:", x.grad)

# %% [markdown]
# **Notice:** on each rank the first gradient is twice the rank's own slope, once for each loss. The second one is that of a batch normalisation with mean and variance of the *whole* batch, which is what PyTorch's `SyncBatchNorm` computes. Every output depends on every sample, also on those of the other machine. Two sums with the right backward are all it needs.
#
# What backward is depends on the collective. Where forward sends a number to other ranks, backward adds up what comes back from them:
#
# | forward | backward |
# | --- | --- |
# | all-reduce: all get the sum | all-reduce |
# | broadcast: all get rank 0's | reduce: rank 0 gets the sum |
# | all-gather: all get all parts | reduce-scatter: each gets the sum of its part |
#
# (The last line is how *FSDP* works, where each machine keeps only a part of the weights. It gathers them for forward, and each machine receives the gradient of its own part.)
#
# PyTorch has all three with such nodes in `torch.distributed.nn.functional`. Version 2.13 calls them deprecated, and names their successors in `torch.distributed._functional_collectives`. Measure before you trust one: the `broadcast` there has a node, and in 2.13 it hands back to each rank only its own gradient.
#
# > **The rule.** `all_reduce` and `broadcast` of `torch.distributed` write in place, count nothing, and have no backward. Give them a tensor that no node has saved. If the result belongs to the loss, take an operation with a node.
#
# ## What may happen between two forwards?
#
# A network also has **buffers**: tensors that are state, and are not trained. The running mean of batch normalisation is one. Every rank computes its own from its own samples, so buffers drift apart. DDP therefore copies the buffers of rank 0 to all other ranks, at the beginning of each forward. This is the *broadcast* of the buffers. So these are the turns of the story:

# %%
L.stage.turns()

# %% [markdown]
# **Notice:** between the two forwards of rank 1 a number of rank 0 arrives, before rank 1 has gone backward through its first forward. (The broadcast before the first forward is left out. It does no harm, because nothing is saved yet.) At the end all-reduce adds up the gradients, and they are divided by 2.
#
# The module of the story divides by the mean size of its input, and keeps this size in a buffer. It makes a new tensor for it in each forward:


# %% tags=["C17.3"]
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("size", torch.ones(1))

    def forward(self, x):
        self.size = x.abs().mean(dim=0, keepdim=True)
        return self.w * x / self.size


def rank_1(write, kind=Scaled):
    module = kind()
    first = module(torch.tensor([8.0]))
    with torch.no_grad():
        write(module.size)
    second = module(torch.tensor([24.0]))
    (first + second).sum().backward()
    return module.w.grad.item()


rank_1(lambda size: None)

# %% [markdown]
# This is rank 1 without a broadcast. `8 / 8` and `24 / 24` are both 1, so 2 is right. Now the 2 of rank 0 is copied into the buffer between the two forwards. We do it in two ways:


# %%
def counted(size):
    size.copy_(torch.tensor([2.0]))


def hidden(size):
    size.data.copy_(torch.tensor([2.0]))


# %% [markdown]
# **Predict.** What is `w.grad` on rank 1 without a write, with `counted`, and with `hidden`? You know the first: it is 2. Answer with a list of three that begins with 2; each of the others is a number or `"error"`.

# %%
L.predict("17.p3", None)

# %% tags=["P22", "C17.4"]
L.run(rank_1, counted, after="17.p3")
L.run(film, rank_1, hidden, after="17.p3")

# %% [markdown] tags=["tells"]
# The first run raised: the version check did its work. The film shows the second run. Go to its third frame.
#
# **Notice** what the line with `write` does. Node 2, the division of the first forward, has saved the buffer, because the slope of `w * x / size` needs it. The 2 of rank 0 goes into this memory. The film compares the numbers and reports the change. PyTorch compares only versions, and the version has not moved. So backward gives 8/2 + 1 = 5.
#
# The average of 5 and rank 0's own 2 is the 3.5 from the beginning. On one machine there is no broadcast, and so the program was always right there.

# %% [markdown]
# ## Is the version check always right?
#
# The node of batch normalisation has a slot for the running mean. But in training backward uses the mean of the batch:


# %% tags=["P22", "C17.5"]
def slopes(write):
    norm, x = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0], [8.0]], requires_grad=True)
    y = norm(x)
    with torch.no_grad():
        write(norm.running_mean)
    (y**3).sum().backward()
    return x.grad.reshape(-1)


L.run(slopes, lambda mean: None)
L.run(slopes, lambda mean: mean.data.fill_(99.0))
L.run(slopes, lambda mean: mean.fill_(99.0))

# %% [markdown]
# With a running mean of 99 the gradient is the same, so the error in the third run is a false alarm. Earlier versions of PyTorch counted the broadcast of DDP, and programs with two forwards before one backward met this alarm (issue 22095 of PyTorch). A GAN is such a program: its discriminator scores real samples and fakes.
#
# PyTorch 2.13 hides the broadcast from the counters. So the false alarm is gone. The right one is gone, too: a model like `Scaled` is silently wrong.
#
# ## What are the cures?
#
# **Switch the broadcast off**, if the ranks may have different buffers. This is the usual cure: `DDP(model, broadcast_buffers=False)`. PyTorch 2.13 still takes it, with a warning, and calls it `forward_sync_buffers=False` now.
#
# **Compute with a copy**, if rank 0 should go on deciding. The broadcast writes into the buffer, and the node has saved something else:


# %% tags=["C17.4"]
class Copying(Scaled):
    def forward(self, x):
        self.size = x.abs().mean(dim=0, keepdim=True)
        size = self.size.clone()
        return self.w * x / size


print("counted:", rank_1(counted, Copying))
print("hidden: ", rank_1(hidden, Copying))

# %% [markdown]
# > **The rule.** A broadcast writes into buffers in place. If a node saves a buffer, and a second forward may come before backward, switch the broadcast off or compute with a clone.
#
# ### Exercises: which happens, and a running size
#
# **17.2 · Which happens?** (6 minutes). `w` is 3, and `s` is 2, a buffer. Afterwards `y.backward()` is called. `k` is another tensor of the same shape, and `w` requires grad. `"fine"` means that `w.grad` is right for the numbers that forward used. Answer with `"fine"`, `"raises now"`, `"raises at backward"`, or `"silently wrong"`.
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

L.check("17.2", happens)

# %% [markdown]
# **17.3 · A running size** (6 minutes). This module divides by a running mean of the sizes of its inputs. Repair it for two forwards before one backward, with a broadcast into the buffer in between, counted or not. The buffer goes on as before: a forward begins with the number that is in it, and the broadcast one counts. No gradient runs through the size.


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


L.check("17.3", RunningSize)

# %% [markdown]
# ## Is it the same on real PyTorch?
#
# This script runs the module of the story in DDP: two processes on one machine, as it is, without the broadcast, and with the copy. `gloo` is the part of PyTorch that carries messages between CPUs. Save it as `two.py` and run it with `python two.py`.
#
# ```python
# import os
# import torch
# import torch.distributed as dist
# import torch.multiprocessing as mp
# from torch.nn.parallel import DistributedDataParallel as DDP
#
#
# class Scaled(torch.nn.Module):
#     def __init__(self, copy):
#         super().__init__()
#         self.w, self.copy = torch.nn.Parameter(torch.ones(1)), copy
#         self.register_buffer("size", torch.ones(1))
#
#     def forward(self, x):
#         self.size = x.abs().mean(dim=0, keepdim=True)
#         return self.w * x / (self.size.clone() if self.copy else self.size)
#
#
# def work(rank):
#     os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
#     os.environ.setdefault("MASTER_PORT", "29517")
#     dist.init_process_group("gloo", rank=rank, world_size=2)
#     x = torch.tensor([[2.0, 6.0], [8.0, 24.0]])[rank]
#     for copy, broadcast in ((False, True), (False, False), (True, True)):
#         module = Scaled(copy)
#         model = DDP(module, broadcast_buffers=broadcast)
#         first = model(x[:1])
#         saved, before = module.size, module.size._version
#         second = model(x[1:])
#         counted = saved._version - before
#         (first + second).sum().backward()
#         if rank == 1:
#             print(f"copy {copy}, broadcast {broadcast}: w.grad {module.w.grad.item()},"
#                   f" counted writes {counted}", flush=True)
#     dist.destroy_process_group()
#
#
# if __name__ == "__main__":
#     mp.spawn(work, nprocs=2)
# ```
#
# PyTorch 2.13 printed:
#
# ```text
# copy False, broadcast True: w.grad 3.5, counted writes 0
# copy False, broadcast False: w.grad 2.0, counted writes 0
# copy True, broadcast True: w.grad 2.0, counted writes 0
# ```
#
# The first line is the 3.5 of the story. No write was counted, and both cures give 2.
#
# So if a model is right on one machine and wrong on two, ask in this order:
#
# | ask | what it is called here | cure |
# | --- | --- | --- |
# | Do all ranks have equally many samples, or tokens? | unequal shares | weight by the counts |
# | Is there a collective between input and loss? | a write that was not counted | the collective with a node |
# | Is there a buffer, and two forwards before one backward? | broadcast | switch it off, or clone |
#
# ## Exercises: more, if you like
#
# `SyncBatchNorm` does not leave its backward to sums with nodes. It has a formula of its own, in which `dy` is the gradient that arrives and `N` the number of all samples. It has three terms, for the three ways from an output back to an input:
#
# ```text
# dx = ( dy - sum_dy / N - (x - mean) * sum_dy_xmu / (N * variance) )
#      / sqrt(variance)
# ```
#
# `sum_dy` adds up `dy` over the samples of all ranks, and `sum_dy_xmu` adds up `dy * (x - mean)`. The names are those of PyTorch's source.
#
# **17.4 · The backward of all ranks** (6 minutes). `xmus` holds for each rank its samples minus the mean of all, `dys` the gradients that arrive, and `variance` is that of all samples. The function treats each rank by itself. Repair it: return for each rank the gradient of its samples.


# %%
def backward(xmus, variance, dys):
    shares = zip(dys, xmus, strict=True)
    return [(dy - dy.mean() - xmu * (dy * xmu).mean() / variance) / variance.sqrt() for dy, xmu in shares]


L.check("17.4", backward)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C17.1** The average of the gradients of equal shares is the gradient of the whole batch, and of unequal shares they must be weighted by their samples.
# - **C17.2** Replicas that begin with the same weights and step with the same averaged gradient stay equal.
# - **C17.3** A module that makes a new buffer in each forward may run twice before one backward on one machine.
# - **C17.4** If the buffer of the first forward is overwritten, and its node has saved it, backward raises if the write was counted, and gives a wrong gradient if it was not; a copy made in forward is right.
# - **C17.5** Batch norm in training raises if its running mean was overwritten and counted before backward, although its gradient does not depend on it.
# - **C17.6** Batch norm on two ranks has the gradient of the whole batch if its sums over the ranks are summed over the ranks in backward, too.
# - **C17.7** If all_reduce writes into a result that exp has saved, the version stays 0 and the gradient is wrong without an error.
#
# **Left out.** DDP sends gradients in buckets while backward still runs, with hooks of lesson 12; `no_sync()` leaves it out for gradient accumulation. If a rank dies, `gloo` raises *Connection reset by peer* on the others at once; if it only hangs, they wait for half an hour.
#
# **Read on in our engine:** `coursekit/notebook/processes.py`.
#
# **Next:** part [17b](17b_a_pipeline.ipynb), where the network itself is cut in two.
