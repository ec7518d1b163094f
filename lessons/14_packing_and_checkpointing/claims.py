"""The claims of lesson 14, packing and checkpointing, on our engine and on real PyTorch."""

import gc
import itertools
import os
import warnings
import weakref

import numpy as np
import pytest

from backscope.memory.ledger import ledger
from lessons.claims_kit import CHANGED, from_lesson, leaf, names_behind, no_collector, raises

UNIT = 64 * 64 * 4  # bytes of an activation of the lesson


def hooks(torch, pack, unpack=lambda packed: packed):
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def checkpoint(torch, *args, **options):
    return torch.utils.checkpoint.checkpoint(*args, **options)


def lesson(torch, *names, **given):
    """What the lesson defines, with names for the tensors that its programs take."""
    names += ("Checkpoint", "checkpoint_by_hooks", "begin", "forward", "gelu")
    return from_lesson(torch, 14, *names, hooks=torch.autograd.graph.saved_tensors_hooks, **given)


def measured(forward):
    """Activations at the peak of a loss and its backward."""
    with ledger(leaves=False) as held:
        forward().backward()
    return held.peak / UNIT


def forms(torch):
    """All checkpoints of the lesson, as functions of (part, tensor)."""
    own = lesson(torch)
    return {
        "Function": own.Checkpoint.apply,
        "hooks": own.checkpoint_by_hooks,
        "re-entrant": lambda part, h: checkpoint(torch, part, h, use_reentrant=True),
        "not re-entrant": lambda part, h: checkpoint(torch, part, h, use_reentrant=False),
    }


def test_c14_1_when_hooks_are_called(torch):
    """pack is called once for each tensor that a node saves, during forward and with recording off; unpack is called
    anew at every reading, also outside of the block."""
    packed, unpacked, x, w = [], [], leaf(torch), leaf(torch, 3.0, 4.0, 5.0)

    def pack(tensor):
        packed.append((tensor.tolist(), torch.is_grad_enabled()))
        return tensor.detach()

    with hooks(torch, pack, lambda value: unpacked.append(1) or value):
        total = ((x * w).sin() + x).sum()

    assert sorted(packed) == sorted((t.tolist(), False) for t in (x, w, x * w))
    assert unpacked == []
    for times in (3, 6):
        total.backward(retain_graph=True)
        assert len(unpacked) == times


def test_c14_2_what_is_refused(torch):
    """pack may not write into the tensor that it is given, and unpack must return a tensor."""
    h = leaf(torch) * 1
    with hooks(torch, lambda tensor: tensor.mul_(2)):
        raises("A saved tensor pack hook is modifying its input in place", h.sin)
    with hooks(torch, lambda tensor: "anything"):
        y = h.cos().sum()
    raises("unpack_hook expected to be a Tensor but got result of type str", y.backward, TypeError)


def test_c14_3_no_version_check(torch):
    """A packed tensor is not checked for its version: a copy gives the right gradient after the tensor was
    overwritten, an alias a wrong one without an error."""

    def gradient(pack):
        x = leaf(torch, 2.0)
        h = x * 1
        with hooks(torch, pack):
            y = h**2
        h.mul_(10)
        y.sum().backward()
        return x.grad.tolist()

    assert gradient(lambda tensor: tensor.clone()) == [4.0]
    assert gradient(lambda tensor: tensor.detach()) == [40.0]


def test_c14_4_slots_and_leaves(torch):
    """pack is called for leaves, too, and twice for a tensor that two nodes save, although without hooks its memory is
    held once."""
    ws, begin = lesson(torch).begin(2)

    def forward():
        h = torch.tanh(begin @ ws[0])
        return h, torch.tanh(h @ ws[1])

    seen = []
    with hooks(torch, lambda tensor: seen.append((tensor.is_leaf, tensor.tolist())) or tensor.detach()):
        h, y = forward()

    assert sum(is_leaf for is_leaf, _ in seen) == 3  # the input and both weights
    assert sum(values == h.tolist() for _, values in seen) == 2
    with ledger(leaves=False) as held:
        h, y = forward()
    assert held.now == 2 * UNIT
    del h, y


def test_c14_5_what_does_not_fit(torch):
    """Numbers that do not fit into what they are packed in change the gradient and not the forward pass."""
    x = leaf(torch, 1.0, 12.0, -20.0)
    half = hooks(torch, lambda t: t.detach().numpy().astype("f2"), lambda t: torch.from_numpy(t.astype("f4")))
    with np.errstate(over="ignore"), half:
        y = x.exp()

    assert torch.equal(y, x.exp())
    y.sum().backward()
    one, large, small = x.grad.tolist()
    assert one == pytest.approx(2.71828, rel=1e-3) and large == float("inf") and small == 0.0


def test_c14_6_a_ring(torch):
    """A result that pack returns as it is outlives its last name unless backward has run without retain_graph; one
    that is detached does not."""
    x, alive = leaf(torch), {}
    with no_collector():
        for name, pack in {"itself": lambda tensor: tensor, "detached": lambda tensor: tensor.detach()}.items():
            with hooks(torch, pack):
                y = x.exp()
            alive[name] = weakref.ref(y)
            del y
        assert alive["itself"]() is not None and alive["detached"]() is None
        gc.collect()
        # our nodes are Python objects, which the collector sees; PyTorch's are not
        assert (alive["itself"]() is None) == (torch.__name__ == "course_lib")
        for retain_graph in (False, True):
            with hooks(torch, lambda tensor: tensor):
                y = x.exp()
            y.sum().backward(retain_graph=retain_graph)
            result = weakref.ref(y)
            del y
            assert (result() is not None) == retain_graph


def test_c14_7_as_long_as_the_slot(torch, tmp_path):
    """What pack returned is let go when the node has run."""
    File, names = lesson(torch, "File").File, itertools.count()
    x, counts = leaf(torch), []
    with hooks(torch, lambda tensor: File(tensor, tmp_path / f"{next(names)}.pt"), File.read):
        h = x.exp()
        y = h.sin().sum()
    h.register_hook(lambda grad: counts.append(len(os.listdir(tmp_path))))
    assert len(os.listdir(tmp_path)) == 2
    y.backward()
    assert counts == [1] and os.listdir(tmp_path) == []
    assert torch.allclose(x.grad, x.exp().cos() * x.exp())


def test_c14_8_the_same_gradients(torch):
    """A checkpoint of some layers gives the gradients of the layers without one, those of weights inside included, and
    saves only the input."""
    ws, begin = lesson(torch).begin(3)

    def part(h):
        for w in ws:
            h = torch.tanh(h @ w)
        return h

    wanted = torch.autograd.grad(part(begin).sum(), [begin, *ws])
    for name, run in forms(torch).items():
        for tensor in (begin, *ws):
            tensor.grad = None
        h = begin * 1
        with ledger(leaves=False) as held:
            y = run(part, h)
            assert held.now <= UNIT, name  # h, which the form with hooks holds elsewhere
        y.sum().backward()
        for tensor, one in zip((begin, *ws), wanted, strict=True):
            assert torch.allclose(tensor.grad, one), name


def test_c14_9_the_law(torch):
    """With n layers that save one activation each, in segments of k layers, n/k - 1 + k activations are held at the
    peak, which is as many as without checkpoints for k = 1 and k = n, and 2√n - 1 for k = √n."""
    own = lesson(torch, "layer", "chain", "in_segments", runs=[])
    for n in (4, 16, 36):
        assert measured(lambda: own.forward(own.layer, n)[0]) == n
        peaks = {k: measured(lambda: own.in_segments(n, k)) for k in range(1, n + 1) if n % k == 0}
        assert peaks == {k: n / k - 1 + k for k in peaks}
        assert peaks[1] == peaks[n] == n and peaks[round(n**0.5)] == 2 * n**0.5 - 1


def test_c14_10_runs(torch):
    """Each checkpointed layer runs twice; checkpoint_sequential does not checkpoint the last segment."""
    for reentrant in (True, False):
        chosen = f"h, use_reentrant={reentrant}"
        own = lesson(
            torch, "layer", "counted", "sequential", runs=[], UNIT=UNIT,
            edit=lambda text: text.replace("h, use_reentrant=True", chosen),
        )  # fmt: skip

        def one_by_one():
            ws, h = own.begin(6)
            for w in ws:
                h = checkpoint(torch, own.layer, h, w, use_reentrant=reentrant)
            return h.sum()

        assert own.counted(lambda: own.sequential(6, segments=3))[0] == 6 + 4
        assert own.counted(one_by_one)[0] == 6 + 6


def test_c14_11_selective(torch):
    """If only GELU is checkpointed and not the product in front of it, less than half of the activations are held and
    no product is computed twice."""
    own, products = lesson(torch), []

    def product(h, w):
        products.append(1)
        return h @ w

    def needs(block):
        products.clear()
        return measured(lambda: own.forward(block, 8)[0]) // 1, len(products)

    nothing = needs(lambda h, w: own.gelu(product(h, w)))
    whole = needs(lambda h, w: own.Checkpoint.apply(lambda h: own.gelu(product(h, w)), h))
    cheap = needs(lambda h, w: own.Checkpoint.apply(own.gelu, product(h, w)))
    assert (nothing, whole, cheap) == ((39, 8), (11, 16), (18, 8))


def test_c14_12_the_large_graph(torch):
    """With use_reentrant=True the weights inside are not in the large graph, and autograd.grad does not reach them;
    with use_reentrant=False all nodes are there."""
    x, w = leaf(torch), leaf(torch, 1.0, 2.0, 3.0)

    def part(h):
        return torch.tanh(h * w).exp()

    for name, run in forms(torch).items():
        y = run(part, x)
        whole = sorted(names_behind(y)) == sorted(names_behind(part(x)))
        assert whole == (name in ("hooks", "not re-entrant")), name
        if whole:
            (found,) = torch.autograd.grad(y.sum(), w)
            assert torch.allclose(found, torch.autograd.grad(part(x).sum(), w)[0])
        else:
            raises("appears to not have been used", lambda y=y: torch.autograd.grad(y.sum(), w))


def trained(torch, way):
    """(is the weight inside trained, the warnings)"""
    W, V, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True), torch.ones(3, 2)
    with warnings.catch_warnings(record=True, action="always") as caught:
        (way(lambda a: torch.tanh(a @ W), W, x) @ V).sum().backward()
    assert V.grad is not None
    return W.grad is not None, [str(each.message) for each in caught]


def test_c14_13_who_decides(torch):
    """With use_reentrant=True weights inside are trained only if a tensor among the arguments requires grad, and
    otherwise there is a warning; with use_reentrant=False they are always trained."""
    told = ["None of the inputs have requires_grad=True. Gradients will be None"]
    ones = torch.ones(1, requires_grad=True)
    own = lesson(torch, *"ABCDE", checkpoint=torch.utils.checkpoint.checkpoint)
    ways = {
        **dict.fromkeys((own.A, own.B, own.C), (True, [])),
        **dict.fromkeys((own.D, own.E), (False, told)),
        lambda f, W, x: checkpoint(torch, lambda a, _: f(a), x, ones, use_reentrant=True): (True, []),
    }
    for way, expected in ways.items():
        assert trained(torch, way) == expected


def test_c14_14_random_numbers(torch):
    """checkpoint gives both runs the same random numbers of torch; with numbers from a generator of one's own the
    gradient is wrong without an error."""

    def agree(run, noise):
        x = torch.ones(1000, requires_grad=True)
        y = run(lambda h: h * noise(), x)
        y.sum().backward()
        return torch.equal(y.detach(), x.grad)

    generator = torch.Generator()
    generator.manual_seed(3)
    torch.manual_seed(3)
    for reentrant in (True, False):

        def run(part, x, reentrant=reentrant, **options):
            return checkpoint(torch, part, x, use_reentrant=reentrant, **options)

        assert agree(run, lambda: torch.rand(1000))
        assert not agree(run, lambda: torch.rand(1000, generator=generator))
        assert not agree(lambda part, x, run=run: run(part, x, preserve_rng_state=False), lambda: torch.rand(1000))
        drawn = torch.rand(1000, generator=generator)
        assert agree(run, lambda drawn=drawn: drawn)


def test_c14_15_batch_norm(torch):
    """BatchNorm inside of a checkpoint counts each batch twice."""
    for reentrant in (None, False, True):
        norm, x = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [3.0]], requires_grad=True)
        (norm(x) if reentrant is None else checkpoint(torch, norm, x, use_reentrant=reentrant)).sum().backward()
        times = 1 if reentrant is None else 2
        assert norm.num_batches_tracked.item() == times
        assert norm.running_mean.item() == pytest.approx(2 * (1 - 0.9**times))


def test_c14_16_what_is_checked(torch):
    """An argument of a checkpoint that was overwritten before backward raises; a tensor that its function finds
    elsewhere is used with its new numbers."""
    for reentrant in (True, False):
        x, w = leaf(torch, 2.0), leaf(torch, 3.0)
        y = checkpoint(torch, lambda a, w=w: w * a**2, x, use_reentrant=reentrant)
        z = checkpoint(torch, lambda a, w: w * a**2, x, w, use_reentrant=reentrant)
        with torch.no_grad():
            w.mul_(2)
        raises(CHANGED, z.backward)
        x.grad = None
        y.backward()
        assert x.grad.tolist() == [24.0]


def test_c14_17_the_second_run(torch):
    """A second run that saves another number of tensors raises CheckpointError, and debug=True names the operations of
    both runs; one that saves other numbers of the same shapes is not noticed."""
    settings, error = {"deep": True}, torch.utils.checkpoint.CheckpointError

    def part(h):
        return h.sin().exp() if settings["deep"] else h.sin()

    for debug in (False, True):
        settings["deep"], x = True, leaf(torch)
        y = checkpoint(torch, part, x, use_reentrant=False, debug=debug)
        settings["deep"] = False
        with pytest.raises(error) as caught:
            y.sum().backward()
        said = str(caught.value).lower()
        if not debug:
            assert "number of tensors saved during forward: 2" in said
            assert "number of tensors saved during recomputation: 1." in said
        else:
            first, _, second = said.rpartition("operations executed during recomputation")
            first = first.rpartition("operations executed during the original forward")[2]
            assert "sin" in first and "exp" in first and "sin" in second.partition("+---")[0]

    settings["factor"], x = 1.0, leaf(torch)
    y = checkpoint(torch, lambda h: (h * settings["factor"]).sin(), x, use_reentrant=False)
    settings["factor"] = 100.0
    y.sum().backward()
    assert not torch.allclose(x.grad, x.detach().cos())


def test_c14_18_the_default(torch):
    """checkpoint without use_reentrant is the re-entrant form, and warns."""
    x, w = leaf(torch), leaf(torch, 3.0, 4.0, 5.0)

    def part(h):
        return torch.tanh(h * w).exp()

    with warnings.catch_warnings(record=True, action="always") as caught:
        y = checkpoint(torch, part, x)
    assert names_behind(y) == names_behind(checkpoint(torch, part, x, use_reentrant=True))
    assert any("use_reentrant parameter should be passed explicitly" in str(each.message) for each in caught)
    with warnings.catch_warnings(action="ignore"):
        assert not checkpoint(torch, part, x.detach()).requires_grad  # w inside is not trained
