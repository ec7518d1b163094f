"""The claims of lesson 10, on our engine and on real PyTorch."""

import copy
import functools
import itertools
import math
import random
import warnings

import pytest

from coursekit import digits
from lessons.claims_kit import CHANGED, from_lesson, leaf, raises


def lesson(torch):
    """The lesson's network of two layers of one weight each, with its optimizer; its training, unrounded; its loss."""
    x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()
    names, exact = ("fresh", "train"), lambda text: text.replace("round(loss.item(), 4)", "loss.item()")
    own = from_lesson(torch, 10, *names, edit=exact, x=x, t=t, mse=mse)
    own.loss = lambda model: mse(model(x), t)
    return own


def test_c10_1_a_step_writes_in_place(torch):
    """`step()` reads `.grad` and writes the parameters in place under no_grad: the same tensors afterwards, without a
    node, and with a higher version (unless the optimizer was made with `fused=True`)."""
    own = lesson(torch)
    writes = {"SGD": 1, "Adam": 1, "AdamW": 2, "RMSprop": 1, "Adagrad": 1}
    for name, count in writes.items():
        p, gradient = leaf(torch, 1.0, 2.0), torch.tensor([3.0, 4.0])
        p.grad, memory = gradient, p.data_ptr()
        getattr(torch.optim, name)([p], lr=0.1).step()

        assert p.data_ptr() == memory and p.tolist() != [1.0, 2.0]
        assert p.is_leaf and p.grad_fn is None and p.requires_grad
        assert p._version == count
        assert p.grad is gradient and gradient.tolist() == [3.0, 4.0] and gradient._version == 0

    if torch.__name__ == "torch":
        model, optimizer = own.fresh(fused=True)
        own.loss(model).backward()
        before = [p._version for p in model.parameters()]
        optimizer.step()
        assert [p._version for p in model.parameters()] == before  # not counted


def test_c10_2_sgd_by_hand(torch):
    """Plain SGD is `p.add_(p.grad, alpha=-lr)`; weight decay first adds its multiple of p to the gradient, and momentum
    puts a running sum in the gradient's place."""
    for settings in ({}, {"weight_decay": 0.3}, {"momentum": 0.9}, {"momentum": 0.9, "weight_decay": 0.3}):
        start = [random.uniform(-2, 2) for _ in range(16)]
        p, q = leaf(torch, *start), torch.tensor(start)
        optimizer, total = torch.optim.SGD([p], lr=0.1, **settings), None
        for _ in range(4):
            p.grad = gradient = torch.tensor([random.uniform(-2, 2) for _ in range(16)])
            optimizer.step()
            if "weight_decay" in settings:
                gradient = gradient.add(q, alpha=0.3)
            if "momentum" in settings:
                total = gradient = gradient.clone() if total is None else total.mul_(0.9).add_(gradient)
            q.add_(gradient, alpha=-0.1)

            assert p.tolist() == q.tolist(), settings  # to the last digit


def test_c10_3_what_is_remembered(torch):
    """What an optimizer remembers of a parameter stands in `optimizer.state`; with SGD and Adam it appears there with
    that parameter's first step: a sum for momentum; two averages and a count of steps for Adam."""
    wanted = {
        "SGD": ({}, []),
        "SGD with momentum": ({"momentum": 0.9}, ["momentum_buffer"]),
        "Adam": ({}, ["step", "exp_avg", "exp_avg_sq"]),
    }
    for name, (settings, keys) in wanted.items():
        p, idle = leaf(torch, 1.0, 1.0), leaf(torch, 1.0)
        optimizer = getattr(torch.optim, name.split()[0])([p, idle], lr=0.1, **settings)
        assert dict(optimizer.state) == {}
        for count in (1, 2):
            p.grad = torch.tensor([0.001, 1000.0])
            optimizer.step()

            assert list(optimizer.state[p] if keys else []) == keys
            assert all(key is not idle for key in optimizer.state)
            if name == "Adam":
                assert optimizer.state[p]["step"].item() == count


def test_c10_4_none_and_zero(torch):
    """`step()` skips a parameter whose `.grad` is None; a gradient of zero can still move it, by momentum or
    weight decay."""
    makers = {
        "plain": lambda p: torch.optim.SGD([p], lr=0.1),
        "momentum": lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9),
        "decay": lambda p: torch.optim.SGD([p], lr=0.1, weight_decay=0.5),
        "Adam": lambda p: torch.optim.Adam([p], lr=0.1),
    }
    for name, make in makers.items():
        p, values = leaf(torch, 1.0), []
        optimizer = make(p)
        for gradient in (1.0, None, 0.0):
            p.grad = None if gradient is None else torch.tensor([gradient])
            optimizer.step()
            values.append(p.item())
        first, second, third = values

        assert first == second
        assert (third == first) == (name == "plain")


def test_c10_5_frozen_and_stepped(torch):
    """`requires_grad_(False)` does not stop `step()`: a gradient that is still there is used again."""
    p = leaf(torch, 1.0)
    optimizer = torch.optim.SGD([p], lr=0.25)
    p.sum().backward()
    p.requires_grad_(False)
    values = []
    for _ in range(3):
        optimizer.step()
        values.append(p.item())

    assert values == [0.75, 0.5, 0.25]


def test_c10_6_six_orders(torch):
    """With no gradients at first, three calls follow the forward pass: Z clears, B is backward, S steps. ZBS and BSZ
    train; ZSB, BZS and SBZ never move a parameter; SZB raises in the second round if backward reads a parameter that
    was stepped."""
    own = lesson(torch)
    for order in map("".join, itertools.permutations("ZBS")):
        model, optimizer = own.fresh()
        if order == "SZB":
            assert own.train(model, optimizer, order, rounds=1) == [4.0]
            raises(CHANGED, lambda: own.train(model, optimizer, order, rounds=1))
            continue
        losses = [round(loss, 4) for loss in own.train(model, optimizer, order)]
        trains = order in ("ZBS", "BSZ")
        assert losses == ([4.0, 1.0816, 0.0196] if trains else [4.0, 4.0, 4.0])
        assert [p._version for p in model.parameters()] == ([3, 3] if trains else [0, 0])

    for order, wanted in (("ZBS", [1.0, 1.4, 1.72, 1.976]), ("SZB", [1.0, 1.0, 1.4, 1.8])):
        model, optimizer = own.fresh()
        model = model[:1]  # backward reads no parameter
        seen = []
        for _ in range(4):
            seen.append(round(own.train(model, optimizer, order, rounds=1)[0] ** 0.5, 4))
        assert seen == [round(3 - w, 4) for w in wanted]  # no error, and one round late


def test_c10_7_clip_once(torch):
    """`clip_grad_norm_` multiplies all gradients in place by one factor and returns the norm they had; after each
    micro-batch instead of after the last it can give another direction."""
    p, q = leaf(torch, 0.0, 0.0), leaf(torch, 0.0)
    p.grad, q.grad = torch.tensor([1.0, 2.0]), torch.tensor([2.0])
    grads = [p.grad, q.grad]
    norm = torch.nn.utils.clip_grad_norm_([p, q], 1.5)

    assert norm.item() == 3.0
    assert [round(value, 4) for value in (*p.grad.tolist(), *q.grad.tolist())] == [0.5, 1.0, 1.0]
    assert p.grad is grads[0] and q.grad is grads[1] and [g._version for g in grads] == [1, 1]
    assert p._version == q._version == 0 and p.tolist() == [0.0, 0.0]

    results = {}
    for after in ("last", "each"):
        w = leaf(torch, 0.0, 0.0)
        for number, part in enumerate(torch.tensor([[3.0, 0.0], [0.0, 4.0]])):
            (w * part).sum().backward()
            if after == "each" or number == 1:
                torch.nn.utils.clip_grad_norm_([w], 1.0)
        results[after] = [round(value, 4) for value in w.grad.tolist()]
    assert results == {"last": [0.6, 0.8], "each": [0.2425, 0.9701]}


def test_c10_8_a_scheduler_writes_rates(torch):
    """`scheduler.step()` writes `lr` in the optimizer's groups, and no parameter and no gradient; called before
    `optimizer.step()` it skips the first value of its schedule, with a warning."""
    moves = {}
    for late in (True, False):
        p = leaf(torch, 0.0)
        optimizer = torch.optim.SGD([{"params": [p]}, {"params": [leaf(torch, 0.0)], "lr": 1.0}], lr=0.5)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        p.grad, moved = torch.tensor([-1.0]), []
        with warnings.catch_warnings(record=True, action="always") as caught:
            for _ in range(3):
                before = p.item()
                if not late:
                    scheduler.step()
                optimizer.step()
                moved.append(p.item() - before)
                if late:
                    facts = p._version, p.grad._version, p.item(), p.grad.item(), dict(optimizer.state)
                    scheduler.step()
                    assert facts == (p._version, p.grad._version, p.item(), p.grad.item(), dict(optimizer.state))
        moves[late] = moved, [str(one.message)[:73] for one in caught]
        assert [group["lr"] for group in optimizer.param_groups] == [0.0625, 0.125]

    warning = "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTo"
    assert moves == {True: ([0.5, 0.25, 0.125], []), False: ([0.25, 0.125, 0.0625], [warning])}


def test_c10_9_a_state_is_no_copy(torch):
    """`state_dict()` hands out the model's own memory: a best state that was not copied changes with every step."""
    own = lesson(torch)
    model, optimizer = own.fresh(lr=0.25)
    given, copied = model.state_dict(), copy.deepcopy(model.state_dict())
    own.train(model, optimizer, rounds=1)

    assert model[0].weight.item() == given["0.weight"].item() == 2.0
    assert given["0.weight"].data_ptr() == model[0].weight.data_ptr()
    assert copied["0.weight"].item() == 1.0
    for state, loss in ((given, 1.0), (copied, 4.0)):
        model.load_state_dict(state)
        assert own.loss(model).item() == loss


def test_c10_10_what_a_checkpoint_needs(torch):
    """With the states of model and optimizer, training that needs nothing else (no scheduler, no random numbers) goes
    on to the last digit as if never interrupted; without the optimizer's, momentum starts again, and nothing raises."""
    own = lesson(torch)

    def begin(adam):
        model, momentum = own.fresh(lr=0.02, momentum=0.9)
        return model, torch.optim.Adam(model.parameters(), lr=0.05) if adam else momentum

    for adam in (False, True):
        model, optimizer = begin(adam)
        own.train(model, optimizer)
        saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
        wanted = own.train(model, optimizer)
        seen = []
        for whole in (True, False):
            again, its = begin(adam)
            again.load_state_dict(saved[0])
            if whole:
                its.load_state_dict(copy.deepcopy(saved[1]))
            seen.append(own.train(again, its))

        assert seen[0] == wanted
        assert seen[1] != wanted and seen[1][0] == wanted[0]

    model, optimizer = own.fresh(lr=0.02)
    model.append(torch.nn.Dropout(0.5))
    state = copy.deepcopy(model.state_dict())
    wanted = own.train(model, optimizer, rounds=40)
    model.load_state_dict(state)
    assert own.train(model, optimizer, rounds=40) != wanted  # why it says "no random numbers": dropout draws others


def test_c10_11_an_optimizer_holds_tensors(torch):
    """An optimizer steps the tensors it was given: a layer that is put in later does not learn, and nothing raises;
    `load_state_dict` and `model.double()` keep the parameters the same objects."""
    own = lesson(torch)
    model, optimizer = own.fresh()
    model[1] = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model[1].weight, 0.5)
    own.train(model, optimizer)

    assert model[1].weight.item() == 0.5 and model[1].weight.grad is not None
    assert model[0].weight.item() != 1.0

    model, optimizer = own.fresh()
    parameters = list(model.parameters())
    model.load_state_dict(copy.deepcopy(model.state_dict()))
    model.double()
    model.float().double()
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))


def test_c10_12_forward_writes_averages(torch):
    """In train mode the forward pass of batch norm writes its running averages, under no_grad too, and their versions
    stay; in eval mode it writes nothing."""
    norm, batch = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0]])
    averages = norm.running_mean, norm.running_var
    versions = [average._version for average in averages]
    seen = []
    for training, recording in itertools.product((True, False), (True, False)):
        norm.train(training)
        with torch.set_grad_enabled(recording):
            norm(batch)
        seen.append([*(round(average.item(), 4) for average in averages), norm.num_batches_tracked.item()])

    assert seen == [[0.2, 1.1, 1], [0.38, 1.19, 2], [0.38, 1.19, 2], [0.38, 1.19, 2]]
    assert [average._version for average in averages] == versions


def test_c10_13_read_all_then_write(torch):
    """When two losses come from one forward pass, a step between their backward passes raises if the second still has
    to read a weight that was stepped."""
    own = lesson(torch)

    def two(layers, early):
        """The trunk's and the heads' weights after one round."""
        trunk, (actor, critic) = own.fresh()[0][:layers], own.fresh()[0]
        first = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)
        second = torch.optim.SGD(critic.parameters(), lr=0.1)
        h, t = trunk(torch.ones(1, 1)), torch.full((1, 1), 3.0)
        loss_a, loss_c = ((head(h) - t).square().mean() for head in (actor, critic))
        loss_a.backward(retain_graph=True)
        if early:
            first.step()
        loss_c.backward()
        if not early:
            first.step()
        second.step()
        return [round(p.item(), 4) for part in (trunk, actor, critic) for p in part.parameters()]

    raises(CHANGED, lambda: two(layers=2, early=True))
    assert two(layers=2, early=False) == [1.8, 1.8, 1.4, 1.4]
    assert two(layers=1, early=True) == [1.4, 1.4, 1.4]  # the trunk's weight is kept by nobody: no error
    assert two(layers=1, early=False) == [1.8, 1.4, 1.4]


def test_c10_14_a_loader(torch):
    """A DataLoader fetches nothing before a batch is asked for; then it asks the dataset once for each sample and its
    collate function once for each batch, and the last batch may be smaller."""
    data, log = torch.utils.data, []
    Ten = from_lesson(torch, 10, "Ten", print=lambda text, end: log.append(int(text.split()[1]))).Ten

    def collate(samples):
        log.append(len(samples))
        return data.default_collate(samples)

    loader = data.DataLoader(Ten(), batch_size=4, collate_fn=collate)
    batches = iter(loader)
    assert log == [] and len(loader) == 3
    inputs, targets = next(batches)
    assert log == [0, 1, 2, 3, 4] and tuple(inputs.shape) == (4, 2) and targets.tolist() == [0, 1, 0, 1]
    assert [len(inputs) for inputs, _ in batches] == [4, 2]
    assert log == [0, 1, 2, 3, 4, 4, 5, 6, 7, 4, 8, 9, 2]


def test_c10_15_orders(torch):
    """With `shuffle=True` each pass has a new order, and after the same seed the same orders come again."""
    loader, passes = torch.utils.data.DataLoader(range(10), batch_size=4, shuffle=True), []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        passes.append([[i for batch in loader for i in batch.tolist()] for _ in range(2)])

    assert passes[0] == passes[1] != passes[2]
    assert passes[0][0] != passes[0][1]
    assert all(sorted(order) == list(range(10)) for pair in passes for order in pair)


@functools.cache
def trained_reader(torch):
    """The lesson's network, trained on 1400 digits; the 397 others, the same sorted by digit; and how it is scored."""
    own = from_lesson(torch, 10, "network", "score", "learn", cross_entropy=torch.nn.CrossEntropyLoss())
    images, labels = digits(torch)
    everything = torch.utils.data.TensorDataset(images.double(), labels)
    torch.manual_seed(0)
    known, unseen = torch.utils.data.random_split(everything, [1400, 397])
    net = own.network()
    own.learn(net, known, unseen)
    in_order = torch.utils.data.Subset(everything, sorted(unseen.indices, key=lambda i: labels[i].item()))
    return net, unseen, in_order, own.score


def digit_reader(torch):
    """A copy of the trained network, its data, and the share of right answers in the mode in which the network is."""
    net, *data, score = trained_reader(torch)
    return copy.deepcopy(net), *data, lambda net, data: score(net, data)[0]


def test_c10_16_scores(torch):
    """`CrossEntropyLoss` takes scores: behind a softmax layer the loss of ten classes cannot fall below 1.4612, and
    nothing raises."""
    loss, floor = torch.nn.CrossEntropyLoss(), math.log(math.e + 9) - 1
    assert round(floor, 4) == 1.4612
    perfect = torch.eye(10)
    assert loss(perfect, torch.arange(10)).item() == pytest.approx(floor)
    for scale in (0.1, 1.0, 10.0, 1000.0):
        probabilities = (torch.randn(50, 10) * scale).softmax(1)
        assert loss(probabilities, torch.arange(50) % 10).item() >= floor - 1e-6
    assert loss(perfect * 100, torch.arange(10)).item() < 1e-6  # as scores


def test_c10_17_digits(torch):
    """A network of two layers with batch norm, trained on 1400 handwritten digits for ten epochs, reads more than 95 %
    of 397 others."""
    net, unseen, _, share = digit_reader(torch)

    assert share(net.eval(), unseen) > 0.95


def test_c10_18_the_company_of_a_sample(torch):
    """In train mode what batch norm makes of a sample depends on the rest of its batch, so a network that reads digits
    in eval mode fails on batches of a single digit in train mode, and nothing raises."""
    norm = torch.nn.BatchNorm1d(1)
    three = [norm(torch.tensor([[3.0], [other]]))[0].item() for other in (1.0, 5.0)]
    assert three[0] > 0.9 and three[1] < -0.9
    norm.eval()
    assert norm(torch.tensor([[3.0], [1.0]]))[0].item() == norm(torch.tensor([[3.0], [5.0]]))[0].item()

    net, unseen, in_order, share = digit_reader(torch)
    trained, found = copy.deepcopy(net.state_dict()), []
    for mode in (net.eval, net.train):
        for data in (unseen, in_order):
            net.load_state_dict(trained)
            mode()
            found.append(share(net, data))
    assert min(found[:3]) > 0.9 and found[3] < 0.5
    assert found[0] == found[1]


def test_c10_19_a_day_of_zeros(torch):
    """Batches of a single kind in train mode, even under no_grad, move the buffers so that the network is worse in eval
    mode afterwards, although no parameter has changed."""
    net, unseen, in_order, share = digit_reader(torch)
    before, parameters = share(net.eval(), unseen), [p.tolist() for p in net.parameters()]
    zeros = torch.utils.data.Subset(in_order, range(34))
    net.train()
    for _ in range(20):
        share(net, zeros)
    after = share(net.eval(), unseen)

    assert before > 0.95 and after < before - 0.05
    assert [p.tolist() for p in net.parameters()] == parameters
