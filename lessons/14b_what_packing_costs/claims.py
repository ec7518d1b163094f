"""The claims of part 14b, what packing costs, on our engine and on real PyTorch."""

import gc
import itertools
import os
import weakref

import numpy as np
import pytest

from backscope.memory.ledger import ledger
from lessons.claims_kit import from_lesson, leaf, no_collector


def hooks(torch, pack, unpack=lambda packed: packed):
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_c14b_1_slots_and_leaves(torch):
    """pack is called for leaves, too, and twice for a tensor that two nodes save, although without hooks its memory is
    held once."""
    w, v, begin = (torch.full((8, 8), value, requires_grad=True) for value in (0.01, 0.02, 1.0))

    def forward():
        h = torch.tanh(begin @ w)
        return h, torch.tanh(h @ v)

    seen = []
    with hooks(torch, lambda tensor: seen.append((tensor.is_leaf, tensor.tolist())) or tensor.detach()):
        h, y = forward()

    assert sum(is_leaf for is_leaf, _ in seen) == 3  # the input and both weights
    assert sum(values == h.tolist() for _, values in seen) == 2
    with ledger(leaves=False) as held:
        h, y = forward()
    assert held.now == 2 * 8 * 8 * 4
    del h, y


def test_c14b_2_what_does_not_fit(torch):
    """Numbers that do not fit into what they are packed in change the gradient and not the forward pass."""
    x = leaf(torch, 1.0, 12.0, -20.0)
    half = hooks(torch, lambda t: t.detach().numpy().astype("f2"), lambda t: torch.from_numpy(t.astype("f4")))
    with np.errstate(over="ignore"), half:
        y = x.exp()

    assert torch.equal(y, x.exp())
    y.sum().backward()
    one, large, small = x.grad.tolist()
    assert one == pytest.approx(2.71828, rel=1e-3) and large == float("inf") and small == 0.0


def test_c14b_3_a_ring(torch):
    """If a node saves its own result and pack returns it as it is, the result outlives its last name, unless backward
    has run without retain_graph; one that is detached does not."""
    x, alive = leaf(torch), {}
    with no_collector():
        for name, pack in {"itself": lambda tensor: tensor, "detached": lambda tensor: tensor.detach()}.items():
            for operation in (torch.exp, torch.tanh, torch.sqrt):
                with hooks(torch, pack):
                    y = operation(x)
                alive[name, operation] = weakref.ref(y)
                del y
        assert all((result() is not None) == (name == "itself") for (name, _), result in alive.items())
        gc.collect()
        # our nodes are Python objects, which the collector sees; PyTorch's are not
        assert (alive["itself", torch.exp]() is None) == (torch.__name__ == "course_lib")
        for retain_graph in (False, True):
            with hooks(torch, lambda tensor: tensor):
                y = x.exp()
            y.sum().backward(retain_graph=retain_graph)
            result = weakref.ref(y)
            del y
            assert (result() is not None) == retain_graph
        with hooks(torch, lambda tensor: tensor):
            h = x * 2
            y = h.sin()  # saves its operand: no ring
        results = weakref.ref(y), weakref.ref(h)
        del h, y
        assert [result() for result in results] == [None, None]


def test_c14b_4_as_long_as_the_slot(torch, tmp_path):
    """What pack returned is let go when the node has run, or with retain_graph when the graph is gone."""
    File, names = from_lesson(torch, "14b", "File").File, itertools.count()
    for retain_graph in (False, True):
        x, counts = leaf(torch), []
        with hooks(torch, lambda tensor: File(tensor, tmp_path / f"{next(names)}.pt"), File.read):
            h = x.exp()
            y = h.sin().sum()
        h.register_hook(lambda grad, counts=counts: counts.append(len(os.listdir(tmp_path))))
        assert len(os.listdir(tmp_path)) == 2
        y.backward(retain_graph=retain_graph)
        assert counts == [2 if retain_graph else 1]
        assert len(os.listdir(tmp_path)) == (2 if retain_graph else 0)
        assert torch.allclose(x.grad, x.exp().cos() * x.exp())
        del h, y
        assert os.listdir(tmp_path) == []
