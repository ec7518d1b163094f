"""The claims of lesson 14, packing and checkpointing, on our engine and on real PyTorch."""

import warnings

import pytest

from backscope.memory.ledger import ledger
from lessons.claims_kit import CHANGED, from_lesson, function, leaf, names_behind, number, raises


def hooks(torch, pack, unpack=lambda packed: packed):
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def checkpoint(torch, *args, **options):
    return torch.utils.checkpoint.checkpoint(*args, **options)


def forms(torch):
    """All checkpoints of the lesson, as functions of (part, tensor)."""
    own = from_lesson(torch, 14, "Checkpoint", "checkpoint_by_hooks", hooks=torch.autograd.graph.saved_tensors_hooks)
    return {
        "Function": own.Checkpoint.apply,
        "hooks": own.checkpoint_by_hooks,
        "re-entrant": lambda part, h: checkpoint(torch, part, h, use_reentrant=True),
        "not re-entrant": lambda part, h: checkpoint(torch, part, h, use_reentrant=False),
    }


def product_of_lesson_11(torch):
    """A custom Function that saves its two operands and its result."""

    def forward(ctx, a, b):
        ctx.save_for_backward(a, b, a * b)
        return a * b

    def backward(ctx, grad):
        a, b, _ = ctx.saved_tensors
        return grad * b, grad * a

    return function(torch, forward, backward).apply


def programs(torch):
    """{program: (its result, how many slots its node fills with a tensor of the program)}."""
    x, w, s = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), number(torch)
    m = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    return {
        "x * w": (lambda: x * w, 2),
        "x * x, one tensor in two slots": (lambda: x * x, 2),
        "x * 3, a number": (lambda: x * 3, 0),
        "x * data": (lambda: x * torch.ones(2), 1),
        "m * x, broadcast": (lambda: m * x, 2),
        "m * s, 0-d": (lambda: m * s, 2),
        "a view": (lambda: m.t(), 0),
        "several results": (lambda: m.unbind()[0], 0),
        "several results, and places": (lambda: m.sort(1)[0], 1),
        "its own result": (lambda: x.exp(), 1),
        "two operands and the result": (lambda: x**w, 3),
        "a mask": (lambda: torch.where(x > 1, x, w), 1),
        "in place": (lambda: (x * 1).mul_(w), 2),
        "a custom Function": (lambda: product_of_lesson_11(torch)(x, w), 3),
        "nothing": (lambda: x + w, 0),
    }


def test_c14_1_when_hooks_are_called(torch):
    """pack is called once for each slot that a node fills with a tensor of the program, during forward and with
    recording off; unpack is called anew at each reading, also outside of the block."""
    for name, (program, slots) in programs(torch).items():
        packed, unpacked = [], []

        def pack(tensor, packed=packed):
            packed.append(torch.is_grad_enabled())
            return tensor.detach()

        with hooks(torch, pack, lambda value, unpacked=unpacked: unpacked.append(1) or value):
            total = program().sum()
        assert (packed, unpacked) == ([False] * slots, []), name
        for times in (1, 2):
            total.backward(retain_graph=True)
            assert len(unpacked) == times * slots, name


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

    def gradient(pack, operation):
        """The gradient of x, of which h is a copy: what the node of the operation saved is overwritten."""
        x = leaf(torch, 2.0)
        h = x * 1
        with hooks(torch, pack):
            y = operation(h, 3.0 * h)
        h.mul_(10)
        y.sum().backward()
        return x.grad.tolist()

    for operation, right, wrong in (
        (lambda h, k: h**2, 4.0, 40.0),
        (lambda h, k: h * h, 4.0, 40.0),
        (lambda h, k: h * k, 12.0, 66.0),  # 3 · 2 + 3 · 2; with 20 in h: 6 + 3 · 20
        (lambda h, k: product_of_lesson_11(torch)(h, k), 12.0, 66.0),
    ):
        assert gradient(lambda tensor: tensor.clone(), operation) == [right]
        assert gradient(lambda tensor: tensor.detach(), operation) == [wrong]


def test_c14_4_the_same_gradients(torch):
    """A checkpoint of some layers gives the gradients of the layers without one, those of weights inside included, and
    the graph saves only the input."""
    torch.manual_seed(1)
    ws, begin = [torch.randn(8, 8).requires_grad_() for _ in range(3)], torch.ones(8, 8, requires_grad=True)

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
            assert held.now <= 8 * 8 * 4, name  # h, which the form with hooks holds elsewhere
        y.sum().backward()
        for tensor, one in zip((begin, *ws), wanted, strict=True):
            assert torch.allclose(tensor.grad, one), name


def test_c14_5_the_large_graph(torch):
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


def test_c14_6_the_default(torch):
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


def trained(torch, way):
    """(is the weight inside trained, the warnings)"""
    W, V, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True), torch.ones(3, 2)
    with warnings.catch_warnings(record=True, action="always") as caught:
        (way(lambda a: torch.tanh(a @ W), W, x) @ V).sum().backward()
    assert V.grad is not None
    return W.grad is not None, [str(each.message) for each in caught]


def test_c14_7_who_decides(torch):
    """With use_reentrant=True weights inside are trained only if a tensor among the arguments requires grad, and
    otherwise there is a warning; with use_reentrant=False they are trained as without a checkpoint."""
    told = ["None of the inputs have requires_grad=True. Gradients will be None"]
    ones = torch.ones(1, requires_grad=True)
    own = from_lesson(torch, 14, *"ABCDE", checkpoint=torch.utils.checkpoint.checkpoint)
    ways = {
        **dict.fromkeys((own.A, own.B, own.C), (True, [])),
        **dict.fromkeys((own.D, own.E), (False, told)),
        lambda f, W, x: checkpoint(torch, lambda a, _: f(a), x, ones, use_reentrant=True): (True, []),
        lambda f, W, x: checkpoint(torch, lambda a, _: f(a), x, [ones], use_reentrant=True): (False, told),
        lambda f, W, x: checkpoint(torch, lambda a: f(a.detach()), x, use_reentrant=False): (True, []),
    }
    for way, expected in ways.items():
        assert trained(torch, way) == expected
    # as without a checkpoint: what is cut off inside is not trained in either
    way = own.A
    W = torch.ones(2, 2, requires_grad=True)
    assert not way(lambda a: torch.tanh(a @ W.detach()), W, torch.ones(3, 2)).requires_grad


def test_c14_8_what_is_checked(torch):
    """A tensor argument that was overwritten raises when the second run begins; a tensor that the function finds
    elsewhere is used with its new numbers."""
    for reentrant in (True, False):
        x, w = leaf(torch, 2.0), leaf(torch, 3.0)
        y = checkpoint(torch, lambda a, w=w: w * a**2, x, use_reentrant=reentrant)
        needed = checkpoint(torch, lambda a, w: w * a**2, x, w, use_reentrant=reentrant)
        unread = checkpoint(torch, lambda a, w: a.exp() + w, x, w, use_reentrant=reentrant)  # no formula reads w
        nothing_saved = checkpoint(torch, lambda a, w: a + w, x, w, use_reentrant=reentrant)
        with torch.no_grad():
            w.mul_(2)
        raises(CHANGED, needed.backward)
        raises(CHANGED, unread.backward)
        if reentrant:
            raises(CHANGED, nothing_saved.backward)
        else:
            nothing_saved.backward()  # nothing is unpacked, so there is no second run
        x.grad = None
        y.backward()
        assert x.grad.tolist() == [24.0]


def test_c14_9_random_numbers(torch):
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


def test_c14_10_batch_norm(torch):
    """BatchNorm inside of a checkpoint counts each training batch twice."""
    for after in (lambda h: h, lambda h: torch.tanh(h)):
        grads = []  # in training they are the same, whatever is counted
        for reentrant in (None, False, True):
            norm, x = torch.nn.BatchNorm1d(1), torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)

            def part(h, norm=norm, after=after):
                return after(norm(h))

            for training, times in ((True, 1 if reentrant is None else 2), (False, 0)):
                before = norm.num_batches_tracked.item()
                norm.train(training)
                y = part(x) if reentrant is None else checkpoint(torch, part, x, use_reentrant=reentrant)
                x.grad = None
                (y**3).sum().backward()
                assert norm.num_batches_tracked.item() - before == times
                if training:
                    grads.append(x.grad)
                    assert norm.running_mean.item() == pytest.approx(2 * (1 - 0.9**times))
        assert all(torch.allclose(grad, grads[0]) for grad in grads)


def test_c14_11_the_second_run(torch):
    """A second run that saves fewer tensors, or tensors of another shape or dtype, raises CheckpointError, and
    debug=True names the operations of both runs; one that saves other numbers, or would go on to save more
    tensors, is not noticed."""
    error = torch.utils.checkpoint.CheckpointError

    def gradient(first, second, **options):
        """Run the part `first`, and in backward the part `second`."""
        parts, x = iter((first, second)), leaf(torch)
        y = checkpoint(torch, lambda h: next(parts)(h), x, use_reentrant=False, **options)
        y.sum().backward()
        return x.grad

    def deep(h):
        return h.exp().sin()

    for debug in (False, True):
        with pytest.raises(error) as caught:
            gradient(deep, lambda h: h.sin(), debug=debug)
        said = str(caught.value).lower()
        if not debug:
            assert "number of tensors saved during forward: 2" in said
            assert "number of tensors saved during recomputation: 1." in said
        else:
            first, _, second = said.rpartition("operations executed during recomputation")
            first = first.rpartition("operations executed during the original forward")[2]
            assert "sin" in first and "exp" in first and "sin" in second.partition("+---")[0]

    for other in (lambda h: h[:1].sin(), lambda h: h.double().sin()):
        with pytest.raises(error, match="different metadata"):
            gradient(lambda h: h.sin(), other)
    with pytest.raises(error, match="save more tensors"):
        gradient(lambda h: h.sin(), deep, early_stop=False)
    for other in (lambda h: (h * 100).sin(), deep):
        assert not torch.allclose(gradient(lambda h: h.sin(), other), leaf(torch).detach().cos())
