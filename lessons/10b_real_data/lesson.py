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
# # 10b · Real data: can a test of your network be wrong, or change it?
#
# **Your network reads 97 of 100 digits that it has never seen. A colleague tests it again, with the same weights and the same images, and most of its answers are wrong. Which of you has made a mistake? The next day you test it once more, just as you did before, and it makes nearly four times as many mistakes as yesterday. Nobody has trained it in between.**
#
# This part needs lesson 10, and no later lesson needs this part. First you train a network on real handwriting. Then you test it, in ways that are right and in ways that are not.
#
# After this lesson you can
#
# - feed a training loop from a dataset through a loader;
# - train a network on real data, and look at what it learns and where it fails;
# - test it so that the numbers are right and the network is left as it was;
# - keep the state of the best epoch.
#
# **Minutes** 80 · **Needs** lesson 10 · **Out of scope** which network is best; optimizers (part [10c](10c_optimizers.ipynb))
#
# [← 10 A training loop](10_training_loop.ipynb) · [all lessons](home.ipynb) · [10c Optimizers →](10c_optimizers.ipynb)

# %%
import course_lib as torch
import copy

from coursekit import chart, digits, lesson, pixels

L = lesson("10b")

# %%
images, labels = digits(torch)  # tensors of the library that you imported above
print(tuple(images.shape), images.dtype, tuple(labels.shape), labels.dtype)
some = 0, 1, 2, 3, 5, 8, 42, 77
pixels([entry for i in some for entry in (f"a {labels[i].item()}", images[i])])

# %% [markdown]
# These are some of the 1,797 handwritten digits that come with the course. E. Alpaydin and C. Kaynak of Boğaziçi University let 43 people fill in forms; these are the images of thirteen of them. They gave them to the UCI Machine Learning Repository under the licence CC BY 4.0. (The whole citation is in `coursekit/data/digits.txt`.) Each image has 8 × 8 pixels, from 0 for white to 1 for black. Each has a *label*, the digit that it is meant to be. Even you have to look twice at some of them.
#
# ## What does a loop need to know of its data?
#
# A training loop asks its data only two things: how many samples are there, and what is sample number i? Any object that can answer is a **dataset**. It has a method `__len__` for the first question, and a method `__getitem__` for the second. The samples may lie in a tensor, or in a million files that are opened one at a time.
#
# The loop wants batches, though, and usually in a random order. So there is a second object between the two, the **DataLoader**. It asks the dataset, and a `for` over it gives batches.
#
# Here is a dataset of ten samples, which says when it is asked.

# %%
class Ten(torch.utils.data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        print(f"sample {i}", end=", ")
        return torch.tensor([float(i), 0.0]), i % 2  # a small image, so to speak, and a label


def load():
    loader = torch.utils.data.DataLoader(Ten(), batch_size=4)
    print("the loader is made")
    for inputs, targets in loader:
        print("a batch:", tuple(inputs.shape), targets)

# %% [markdown]
# **Predict.** How often is `__getitem__` called in the line that makes the loader? How often in the whole `for` loop? How often is "a batch" printed? And how many rows do the inputs of the last batch have? Answer with a list of four numbers.

# %%
L.predict("10b.p1", None)

# %% tags=["C10b.2"]
L.run(load, after="10b.p1")

# %% [markdown] tags=["tells"]
# Making the loader fetched nothing. In the loop each batch was fetched when its turn came, sample by sample. Four and four and two are ten, so the last batch is smaller. (`drop_last=True` would leave it out.) The labels were plain numbers, and they came back as a tensor.

# %% [markdown]
# With `shuffle=True` the samples come in a random order. That matters, because neighbours in a file are often alike. The order is new in each pass. It comes from PyTorch's random numbers, so after the same seed it is the same again.

# %% tags=["C10b.3"]
mixed = torch.utils.data.DataLoader(range(10), batch_size=4, shuffle=True)  # a range is a dataset, too
for seed in (0, 0, 1):
    torch.manual_seed(seed)
    print("seed", seed, *([batch.tolist() for batch in mixed] for _ in range(2)), sep="   ")

# %% [markdown]
# Each line shows two passes. The first two lines are equal, and in each of them the two passes differ.
#
# Samples become a batch by stacking, and words of different lengths cannot be stacked. For them you give the loader a `collate_fn`, which makes a batch of its samples, here a `list`.

# %% tags=["C10b.2"]
words = [torch.tensor([3.0, 1.0, 4.0]), torch.tensor([1.0, 5.0]), torch.tensor([9.0])]
for batch in torch.utils.data.DataLoader(words, batch_size=2, collate_fn=list):
    print(batch)

# %% [markdown]
# > **The rule.** A dataset knows how many samples there are, and each of them by number. A loader asks it for one sample at a time, when the loop asks for the next batch.
#
# ### Exercise: windows of a series
#
# **10b.1 · Windows** (8 minutes). A power station has written down its load once an hour, and a network is to forecast the next hour. Write the dataset: `Windows(series, width)` is given a tensor of one dimension. Sample i is a pair: the `width` numbers that begin at place i, and the number right after them, without a dimension. Both have the type of the series. Every window that has a number after it is a sample, and a series that is too short has none.


# %%
class Windows(torch.utils.data.Dataset):
    def __init__(self, series, width):
        self.series, self.width = series, width

    def __len__(self):
        ...

    def __getitem__(self, i):
        ...


L.check("10b.1", Windows)

# %% [markdown]
# ## Can a small network read handwriting?
#
# First the data is divided. `random_split` keeps back 397 images, which the network never sees while it learns. Only they can tell whether it has understood anything, or has learned its examples by heart. (A `TensorDataset` is a dataset of tensors: sample i is row i of each.)
#
# Everything is in double precision here, with `double()`, so that your machine prints the same numbers as ours.

# %%
everything = torch.utils.data.TensorDataset(images.double(), labels)
torch.manual_seed(0)
known, unseen = torch.utils.data.random_split(everything, [1400, 397])
cross_entropy = torch.nn.CrossEntropyLoss()


def network():
    torch.manual_seed(0)
    layers = torch.nn.Linear(64, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    return torch.nn.Sequential(torch.nn.Flatten(), *layers).double()


def score(net, data):  # the share of right answers and the mean loss; the mode stays as it is
    right = loss = 0.0
    with torch.no_grad():
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=40):
            outputs = net(inputs)
            right += (outputs.argmax(1) == targets).sum().item()
            loss += cross_entropy(outputs, targets).item() * len(targets)  # the last batch is smaller
    return right / len(data), loss / len(data)

# %% [markdown]
# The network gives ten numbers for each image, one for each digit. They are called *scores*, or logits. The largest one is its answer, and `argmax(1)` finds it.
#
# How many answers are right is what we want to know, but it is no loss: it jumps, so its slope is zero nearly everywhere. The **cross-entropy** is a smooth substitute. First a *softmax* makes probabilities of the scores: e to the power of each, divided by their sum. The scores (2, 1, 0) become (0.665, 0.245, 0.090). The loss is minus the logarithm of the probability of the right answer: −log 0.665 = 0.41 if the first one is right. A network that is sure and right has the loss 0. One that guesses gives each digit 1/10, and has −log 0.1 = 2.3.
#
# Now the loop, with the lines that you know. While it runs, it fills a progress bar, one block for each epoch, and it notes the loss on each batch and the loss on the unseen images. (`net.train()` and `net.eval()` tell the layers whether the network learns or is used. The next section but one is about them.) Guess before you run it: in the first epoch, on which of the two kinds of images will the noted loss be lower?

# %%
def learn(net, data, test, epochs=10):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(data, batch_size=50, shuffle=True)
    log = {name: {} for name in ("known images", "unseen images")}
    print("training ", end="")
    for epoch in range(1, epochs + 1):
        net.train()
        losses = []
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = cross_entropy(net(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.eval()
        log["known images"][epoch] = round(sum(losses) / len(losses), 3)
        log["unseen images"][epoch] = round(score(net, test)[1], 3)
        print("█", end="", flush=True)  # flush: at once, and not when the line is full
    print(f" {epochs} epochs of {len(loader)} batches")
    return log


# %% tags=["C10b.5"]
net = network()
log = learn(net, known, unseen)
print(f"unseen images that it reads: {score(net, unseen)[0]:.0%}")
print("loss before the first step:", round(score(network().eval(), known)[1], 1))
chart({"loss": log}, across="epoch", up="loss")

# %% [markdown]
# **Notice:**
#
# - 97 of 100 images that it has never seen are read, after a second or two of training.
# - In the first epoch the loss on the unseen images is the *lower* one. The other number is a mean over all of the epoch, in train mode, and the epoch began at 2.3 or so.
# - Then the lines cross, and the network does better on what it knows. That is no reason to stop: the unseen line goes up and down, but on the whole it falls. It is 0.144 in the second epoch, and 0.081 in the ninth, where it is lowest.
# - *Early stopping* looks at the unseen line alone. It keeps a copy of the state with which that line was lowest, and stops when it has not become lower for some epochs. (Images that decide this are called *validation data*. They have been used, and a final score needs others.)
#
# A number such as 97 % says little about *what* goes wrong. So look at the mistakes:

# %%
with torch.no_grad():
    answers = [(image, digit.item(), net(image[None]).argmax().item()) for image, digit in unseen]
mistakes = [(image, digit, answer) for image, digit, answer in answers if digit != answer]
print(len(mistakes), "of", len(answers), "are wrong")
pixels([entry for image, digit, answer in mistakes for entry in (f"{digit}, not {answer}", image)])

# %% [markdown]
# **Notice:** eight of the thirteen show a three or an eight. That is where one would look next. Some of the images you can read yourself, such as the fourth in each row. With others you may doubt the label. If there were many of those, the labels would be the next thing to look at.
#
# ## Two softmaxes: what does the loss say?
#
# Cross-entropy computes the softmax itself. Many networks end in a softmax layer already, because somebody wanted to see probabilities. Then it is done twice. Guess before you run it: what is the smallest loss that a perfect network can still reach then, 0, about 1.5 or about 2.3?

# %% tags=["C10b.4"]
twice = network().append(torch.nn.Softmax(dim=1))
again = learn(twice, known, unseen)
print("loss on what it knows:", again["known images"][10], "- unseen:", f"{score(twice, unseen)[0]:.0%} right")
sure = torch.zeros(1, 10)
sure[0, 3] = 1.0  # probabilities: the network is sure that it is a three, and it is right
print("the best loss that is possible:", round(cross_entropy(sure, torch.tensor([3])).item(), 4))

# %% [markdown]
# In the end it reads nearly as well, and nothing raises. But the loss stays at 1.49, where 2.3 is guessing, so it looks like a network that has hardly learned. No network at all could get below 1.4612: even the perfect answer, 1 for the right digit and 0 for the others, goes through a second softmax.
#
# > **The rule.** Cross-entropy wants scores. Take the softmax where you show probabilities to people, and not in the network that you train.
#
# ## Can a test change the network?
#
# The network has a **batch norm** layer. Such a layer works in one of two modes. In *train mode* it normalises each batch: it subtracts the batch's own mean and divides by the root of its variance. In *eval mode* it uses running averages instead, a mean and a variance of what it has seen in training, which begin at 0 and 1. They are *buffers*: tensors of the model that no optimizer steps. `train()` and `eval()` set the mode.
#
# Now you test: `batch` is data that the layer does not learn from.

# %%
def batch_norm(mode, recording):
    bn, batch = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0]])  # the mean is 2
    before = [buffer._version for buffer in bn.buffers()]
    bn.train(mode == "train")
    with torch.set_grad_enabled(recording):
        result = bn(batch)[1].item()
    buffers = {name: round(buffer.item(), 4) for name, buffer in bn.named_buffers()}
    after = [buffer._version for buffer in bn.buffers()]
    print(f"3 becomes {result:.2f};", buffers)
    print("  versions before", before, "and after", after)

# %% [markdown]
# There are four cases: A, `batch_norm("train", True)`; B, the same under `no_grad`, `batch_norm("train", False)`; C, `batch_norm("eval", True)`; D, `batch_norm("eval", False)`.
#
# **Predict.** In which of the four cases has the test changed the network, that is, its running mean? Answer with a list of letters.

# %%
L.predict("10b.p2", None)

# %% tags=["C10b.1"]
L.run(batch_norm, "train", True, after="10b.p2")
L.run(batch_norm, "train", False, after="10b.p2")
L.run(batch_norm, "eval", True, after="10b.p2")
L.run(batch_norm, "eval", False, after="10b.p2")

# %% [markdown] tags=["tells"]
# Only the mode decides. In train mode the forward pass itself writes the buffers: it moves the two averages a tenth of the way towards the mean and the variance of the batch, which are both 2. (This variance divides by n − 1. The one that normalises divides by n and is 1, so 3 becomes (3 − 2) / √1.) A third buffer counts the batches. `no_grad` switches off recording, and not training.
#
# Compare the versions. The averages were written without being counted, in PyTorch, too: an exception to lesson 07. Only the version of the third buffer rose.

# %% [markdown]
# `train()` and `eval()` set a flag, `training`, in every layer that `modules()` gives, the network itself first. Another layer with two modes is **dropout**. In train mode it sets each number to 0 with the given probability and multiplies the others, here by 2, so that on average nothing changes. In eval mode it hands on what it gets.

# %%
torch.manual_seed(0)
drop, bn = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(1)
pair = torch.nn.Sequential(drop, bn).train()
bn.eval()
print([(type(layer).__name__, layer.training) for layer in pair.modules()])
print(drop(torch.ones(8)), drop.eval()(torch.ones(8)))

# %% [markdown]
# Each layer has a mode of its own. Here one is in eval mode while the others train, as people do with a part that is frozen.
#
# ## Same network, same images: what makes a score fall?
#
# A colleague wants to know which digit is the hardest. So she sorts the unseen images by digit before she tests: first all zeros, then all ones, and so on. She is not sure that `eval()` matters, as no loss is computed and everything runs under `no_grad`. She tests in four ways, each time with the trained network and with batches of 40:
#
# - A: after `net.eval()`, the images as they come
# - B: after `net.eval()`, the images sorted by digit
# - C: after `net.train()`, the images as they come
# - D: after `net.train()`, the images sorted by digit
#
# Before each test the network is put back as it was after training, with a copy of its state.

# %%
trained = copy.deepcopy(net.state_dict())
by_digit = sorted(unseen.indices, key=lambda i: labels[i].item())
in_order = torch.utils.data.Subset(everything, by_digit)


def four_tests():
    for mode in (net.eval, net.train):
        for name, data in (("as they come", unseen), ("sorted", in_order)):
            net.load_state_dict(trained)
            mode()
            print(f"{mode.__name__:5}  {name:12}  {score(net, data)[0]:.0%} right")

# %% [markdown]
# **Predict.** Which of the four tests find that more than 90 % are right? Answer with a list of letters, such as `["A", "D"]`. (The network has a batch norm layer, and no dropout.)

# %%
L.predict("10b.p3", None)

# %% tags=["C10b.6"]
L.run(four_tests, after="10b.p3")

# %% [markdown] tags=["tells"]
# In train mode and sorted, two of three answers are wrong. The weights are the same, the images are the same, and only the *company* in which an image comes has changed. Batch norm subtracts the mean of the batch. In a mixed batch that is about the mean of all images. In a batch in which every image is the digit 0, it is the mean of all zeros. So what all zeros have in common is subtracted, and that is what makes them zeros.

# %%
def company():
    zeros, everyone = images[labels == 0], images.mean(0)
    tiles = {"mean of all": everyone, "a zero": zeros[0], "mean of zeros": zeros.mean(0)}
    tiles["zero - all"] = (zeros[0] - everyone + 1) / 2
    tiles["zero - zeros"] = (zeros[0] - zeros.mean(0) + 1) / 2
    return pixels([entry for each in tiles.items() for entry in each])


L.run(company, after="10b.p3")

# %% [markdown] tags=["tells"]
# **Notice:** in the last two images the middle grey means 0. If the mean of all is subtracted, a zero can still be seen. If the mean of the zeros is subtracted, hardly anything is left. (Here it is done with pixels. Batch norm does it with the 32 numbers of its layer.)
#
# In eval mode the buffers are used in place of the batch's own mean and variance, and the company does not matter at all. The buffers are in the `state_dict()` beside the weights, or a saved network could not be used.

# %% [markdown]
# ## Why is the network worse the next day?
#
# Test D did not only *show* bad answers. Each batch in train mode also moves the buffers a tenth of the way towards its own mean. Suppose that a demonstration runs in train mode, and people write nothing but the digit 0 all day. In the evening somebody switches to eval mode.

# %% tags=["C10b.7"]
net.load_state_dict(trained)
zeros = torch.utils.data.Subset(everything, [i for i in by_digit if labels[i].item() == 0])
net.train()
for _ in range(20):
    score(net, zeros)  # under no_grad, and nobody calls step()
net.eval()
print(f"after a day of zeros: {score(net, unseen)[0]:.0%}")
net.load_state_dict(trained)
print(f"with the buffers from after training: {score(net, unseen)[0]:.0%}")

# %% [markdown]
# No gradient was computed, no weight has changed, and yet the network is spoiled: it makes nearly four times as many mistakes as before. What was lost was in the buffers.
#
# In one case an error does come. A single image has no variance, so in train mode batch norm refuses it. People meet this in the last batch of an epoch, if one sample is left over. (`drop_last=True` is the usual cure.)

# %%
def one_image():
    net.train()
    net(images[:1].double())


L.run(one_image)

# %% [markdown]
# > **The rule.** In train mode batch norm looks at the batch, and writes its buffers. In eval mode it looks at its buffers, and writes nothing. Test in eval mode.
#
# ### Exercise: a test without a trace
#
# **10b.2 · A test without a trace** (12 minutes). Repair the test of a classifier. It should return two Python numbers: the mean cross-entropy over all samples of `data`, and the share of right answers, between 0 and 1. The test runs in eval mode, builds no graph, and sends at most 32 rows through the network at a time, as this one does. Afterwards the network is as it was found: its buffers, and the mode of every layer. (Some layers may be in eval mode on purpose, while the others are in train mode.)


# %%
def tested(torch, net, data):
    cross_entropy = torch.nn.CrossEntropyLoss()
    losses, right = [], 0
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=32, drop_last=True):
        outputs = net(inputs)
        losses.append(cross_entropy(outputs, targets))
        right += (outputs.argmax(1) == targets).sum()
    return sum(losses) / len(losses), right / len(data)


L.check("10b.2", tested)

# %% [markdown]
# ### Exercise: the best epoch
#
# **10b.3 · The best epoch** (8 minutes). Now you have all that early stopping needs. Repair it: afterwards the model must be what it was when the test loss was lowest, buffers and all, and that loss comes back as a number.
#
# - `train_epoch(model)` takes some steps, and `test_loss(model)` returns a tensor. Both run the model in the mode in which they find it.
# - Each epoch trains on from the one before, and wants train mode.
# - Testing wants eval mode and no graph, and must change nothing.

# %%
def keep_best(torch, model, train_epoch, test_loss, epochs):
    best = float("inf")
    for _ in range(epochs):
        train_epoch(model)
        loss = test_loss(model)
        if loss < best:
            best, kept = loss, model.state_dict()
    model.load_state_dict(kept)
    return best


L.check("10b.3", keep_best)

# %% [markdown]
# ## What you can now claim
#
# Each sentence was shown in a cell above, and a test runs it on our engine and on PyTorch.
#
# - **C10b.1** In train mode the forward pass of batch norm writes its two running averages, under no_grad too, and their versions stay; only the version of its third buffer, the count of batches, rises. In eval mode it writes nothing.
# - **C10b.2** A DataLoader fetches nothing before a batch is asked for; then it asks the dataset once for each sample and its collate function once for each batch, and the last batch may be smaller.
# - **C10b.3** With `shuffle=True` each pass has a new order, and after the same seed the same orders come again.
# - **C10b.4** `CrossEntropyLoss` takes scores: after a softmax layer the loss of ten classes cannot fall below 1.4612, and nothing raises.
# - **C10b.5** A network of two layers with batch norm, trained on 1400 handwritten digits for ten epochs, reads more than 95 % of 397 others.
# - **C10b.6** In train mode what batch norm makes of a sample depends on the rest of its batch, so a network that reads digits in eval mode fails on batches of a single digit in train mode, and nothing raises.
# - **C10b.7** Batches of a single kind in train mode, even under no_grad, move the buffers so that the network is worse in eval mode afterwards, although no parameter has changed.
#
# **Left out:** loaders that fetch in several processes at once (`num_workers`), or into memory from which a GPU can copy faster (`pin_memory`): our loader fetches in the loop itself.
#
# **Next:** part [10c](10c_optimizers.ipynb), what optimizers remember, or [lesson 11](11_custom_functions.ipynb), operations of your own.
