"""The claims of part 10b, on our engine and on real PyTorch."""

import copy
import functools
import itertools
import math

import pytest

from coursekit import digits
from lessons.claims_kit import from_lesson


def test_c10b_1_forward_writes_averages(torch):
    """In train mode the forward pass of batch norm writes its two running averages, under no_grad too, and their
    versions stay; only the version of its third buffer, the count of batches, rises. In eval mode it writes nothing."""
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

    for norm, batch in (
        (torch.nn.BatchNorm1d(2), torch.randn(4, 2)),
        (torch.nn.BatchNorm1d(2), torch.randn(4, 2, 3)),
        (torch.nn.BatchNorm2d(2, momentum=None), torch.randn(4, 2, 3, 3)),
        (torch.nn.BatchNorm2d(2, affine=False), torch.randn(4, 2, 3, 3, requires_grad=True)),
    ):
        buffers = norm.running_mean, norm.running_var, norm.num_batches_tracked
        for training, rises in ((True, [0, 0, 1]), (False, [0, 0, 0])):
            norm.train(training)
            versions, values = [b._version for b in buffers], [b.tolist() for b in buffers]
            norm(batch)
            assert [b._version - v for b, v in zip(buffers, versions, strict=True)] == rises
            assert [b.tolist() != v for b, v in zip(buffers, values, strict=True)] == [training] * 3


def test_c10b_2_a_loader(torch):
    """A DataLoader fetches nothing before a batch is asked for; then it asks the dataset once for each sample and its
    collate function once for each batch, and the last batch may be smaller."""
    data, log = torch.utils.data, []
    Ten = from_lesson(torch, "10b", "Ten", print=lambda text, end: log.append(int(text.split()[1]))).Ten

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


def test_c10b_3_orders(torch):
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
    own = from_lesson(torch, "10b", "network", "score", "learn", cross_entropy=torch.nn.CrossEntropyLoss())
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


def test_c10b_4_scores(torch):
    """`CrossEntropyLoss` takes scores: after a softmax layer the loss of ten classes cannot fall below 1.4612, and
    nothing raises."""
    loss, floor = torch.nn.CrossEntropyLoss(), math.log(math.e + 9) - 1
    assert round(floor, 4) == 1.4612
    perfect = torch.eye(10)
    assert loss(perfect, torch.arange(10)).item() == pytest.approx(floor)
    for scale in (0.1, 1.0, 10.0, 1000.0):
        probabilities = (torch.randn(50, 10) * scale).softmax(1)
        assert loss(probabilities, torch.arange(50) % 10).item() >= floor - 1e-6
    assert loss(perfect * 100, torch.arange(10)).item() < 1e-6  # as scores


def test_c10b_5_digits(torch):
    """A network of two layers with batch norm, trained on 1400 handwritten digits for ten epochs, reads more than 95 %
    of 397 others."""
    net, unseen, _, share = digit_reader(torch)

    assert share(net.eval(), unseen) > 0.95


def test_c10b_6_the_company_of_a_sample(torch):
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


def test_c10b_7_a_day_of_zeros(torch):
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
