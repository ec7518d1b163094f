"""The claims of lesson 09, on our engine and on real PyTorch."""

import weakref

import pytest

CHANGED = "has been modified by an inplace operation"


def leaf(torch, values=(3.0,)):
    """A fresh leaf that requires grad."""
    return torch.tensor(list(values), requires_grad=True)


def test_c09_1_detach_is_counted(torch):
    """`detach()` shares memory and counter, so a write through it to a value that a node keeps is caught at
    backward.
    """
    x = leaf(torch)
    y = (x * x).sum()
    d = x.detach()
    d[0] = 30.0

    assert (d.requires_grad, d.grad_fn) == (False, None)
    assert d.data_ptr() == x.data_ptr()
    assert (x.tolist(), x._version, d._version) == ([30.0], 1, 1)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.backward()
    assert x.grad is None

    x = leaf(torch)
    y = (x * 2).sum()  # keeps the 2, not x
    x.detach()[0] = 30.0
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_c09_2_data_is_not_counted(torch):
    """`.data` shares memory but not the counter, so a write through it can spoil a gradient silently."""
    x = leaf(torch)
    x.detach().add_(0)  # x is at version 1
    y = (x * x).sum()
    alias = x.data
    assert alias._version == 0
    alias[0] = 30.0
    y.backward()

    assert alias.data_ptr() == x.data_ptr()
    assert (x._version, alias._version) == (1, 1)
    assert x.grad.tolist() == [60.0]  # 6 is the slope of the y that was computed

    x.data = torch.tensor([5.0, 7.0])  # other memory for the same tensor
    assert (x.tolist(), x._version, x.requires_grad) == ([5.0, 7.0], 1, True)
    y = x * 2
    assert y.detach_() is y and (y.grad_fn, y.requires_grad) == (None, False)


def test_c09_3_clone_stays_in_the_graph(torch):
    """`clone()` has its own memory and counter, and stays in the graph."""
    x = leaf(torch)
    y, c = (x * x).sum(), x.clone()
    assert c.data_ptr() != x.data_ptr()
    c.mul_(10)
    assert (x.tolist(), x._version, c._version) == ([3.0], 0, 1)
    y.backward()
    assert x.grad.tolist() == [6.0]
    (c * 1).sum().backward()
    assert x.grad.tolist() == [16.0]

    free = x.detach().clone()
    assert (free.requires_grad, free.data_ptr() == x.data_ptr()) == (False, False)
    assert leaf(torch).item() == 3.0
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        torch.ones(2).item()


def test_c09_4_no_grad_counts(torch):
    """`no_grad` records no graph, and it still counts in-place writes."""
    x = leaf(torch)
    y = (x * x).sum()
    with torch.no_grad():
        z = x * x
        x.mul_(10)

    assert (z.requires_grad, z.grad_fn, x._version) == (False, None, 1)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.backward()


def test_c09_5_inference_tensors(torch):
    """An inference tensor has no version counter and may not be saved for backward."""
    x = leaf(torch)
    with torch.inference_mode():
        f = torch.ones(1) * 2

    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = f._version
    (x + f).sum().backward()
    assert x.grad.tolist() == [1.0]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        _ = x * f
    (x * f.clone()).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_c09_6_numpy_writes_unseen(torch):
    """A write through `detach().numpy()` is not counted."""
    x = leaf(torch)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    y = (x * x).sum()
    x.detach().numpy()[0] = 30.0
    y.backward()

    assert (x.tolist(), x._version) == ([30.0], 0)
    assert x.grad.tolist() == [60.0]


def recurrent(torch, between, **options):
    """Three steps with a backward each; `between` is what happens to the state. Returns w."""
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    for _ in range(3):
        h = torch.tanh(w * h)
        ((h - 1) ** 2).backward(**options)
        h = between(h)
    return w


def nodes_walked(torch, **options):
    """How many nodes each of three backward passes visits; without options the state is detached."""
    w, h, found = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0), []
    for _ in range(3):
        h = torch.tanh(w * (h if options else h.detach()))
        loss = (h - 1) ** 2
        found.append(len(names_behind(loss)))
        loss.backward(**options)
    return found


def test_c09_7_detach_the_state(torch):
    """A state carried over from an earlier backward must be detached: the pass would walk on into the earlier graph,
    whose slots have been freed.
    """
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        recurrent(torch, lambda h: h)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        recurrent(torch, lambda h: h.clone())

    cut = recurrent(torch, lambda h: h.detach()).grad.item()
    kept = recurrent(torch, lambda h: h, retain_graph=True).grad.item()
    assert abs(cut - kept) > 0.01  # retaining runs, and computes something else

    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    with pytest.raises(RuntimeError, match=CHANGED):  # and it ends at the first in-place update
        for _ in range(3):
            h = torch.tanh(w * h)
            ((h - 1) ** 2).backward(retain_graph=True)
            with torch.no_grad():
                w -= 0.1 * w.grad

    a, state = torch.tensor(1.0, requires_grad=True), 0.0
    for _ in range(3):
        state = state + a  # keeps nothing, so nothing is missing: the steps before are counted once more
        state.backward()
    assert a.grad.item() == 6.0

    for options, walked in (({"retain_graph": True}, [5, 8, 11]), ({}, [5, 5, 5])):
        assert nodes_walked(torch, **options) == walked  # retained: each pass walks, and holds, all steps before


def names_behind(y):
    """The names of all nodes behind a tensor."""
    names, waiting = [], [y.grad_fn]
    while waiting:
        node = waiting.pop()
        names.append(type(node).__name__)
        waiting += [below for below, _ in node.next_functions if below is not None]
    return names


def test_c09_8_a_total_holds_graphs(torch):
    """A total of attached losses keeps alive whatever their graphs saved; after backward it still keeps the nodes."""
    w = leaf(torch, [0.5])

    def epoch(keep):
        total, seen = 0.0, []
        for k in range(3):
            activation = w * (1.0 + k)
            seen.append(weakref.ref(activation))
            total = total + keep((activation * activation).sum())
        return total, seen

    def alive(seen):
        return [ref() is not None for ref in seen]

    def unsaved():
        total, seen = 0.0, []
        for k in range(3):
            sum_ = w + 1.0 * k  # no node keeps it
            seen.append(weakref.ref(sum_))
            total = total + (sum_ + 1).exp().sum()
        return total, seen

    total, seen = unsaved()
    assert alive(seen)[:2] == [False] * 2
    total, seen = epoch(lambda loss: loss)
    assert alive(seen) == [True] * 3
    total.backward()
    assert alive(seen) == [False] * 3
    assert names_behind(total).count("SumBackward0") == 3

    def trained(loss):
        loss.backward()
        return loss

    total, seen = epoch(trained)  # as in training: each loss is attached, and was passed through
    assert alive(seen) == [False] * 3
    assert names_behind(total).count("SumBackward0") == 3

    for keep in (lambda loss: loss.item(), lambda loss: loss.detach()):
        total, seen = epoch(keep)
        assert alive(seen) == [False] * 3
    with torch.no_grad():
        total, seen = epoch(lambda loss: loss)
    assert alive(seen) == [False] * 3


def test_c09_9_one_path_is_cut(torch):
    """`detach` cuts only the path it stands on; every other path carries its gradient as before."""
    x = torch.tensor(3.0, requires_grad=True)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0

    p = torch.tensor([0.25, 0.75], requires_grad=True)
    hard = torch.where(p > 0.5, torch.ones(2), torch.zeros(2))
    through = p + (hard - p).detach()
    (through * torch.tensor([1.0, 2.0])).sum().backward()
    assert (through.tolist(), p.grad.tolist()) == ([0.0, 1.0], [1.0, 2.0])

    g, d = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    fake = g * 5
    (-(d * fake.detach())).backward()
    assert (g.grad, d.grad.item()) == (None, -10.0)
    score = d * fake.detach()
    d.detach().sub_(1.0)
    (-score).backward()  # the detach alone silences the error: a factor without a graph needs no d
    assert g.grad is None

    value, after = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    target = (1 + after).detach()  # as in reinforcement learning: the target counts as a constant
    ((value - target) ** 2).backward()
    assert (value.grad.item(), after.grad) == (-8.0, None)


def test_c09_10_eval_records(torch):
    """`eval()` changes what some layers compute, and switches off neither recording nor counting."""
    x = leaf(torch, [1.0] * 64)
    layer = torch.nn.Dropout(0.5)
    assert layer(x).tolist() != x.tolist()
    layer.eval()
    y = layer(x * x)
    assert y.tolist() == x.tolist() and y.requires_grad
    x.detach().add_(1)
    assert x._version == 1
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()


def test_c09_11_a_cell(torch):
    """An LSTM cell takes an input of shape (batch, input size) and a pair of states of shape (batch, state size), and
    returns the new pair.
    """
    for batch, inputs, size in ((2, 3, 4), (1, 1, 1), (5, 2, 3)):
        cell, x = torch.nn.LSTMCell(inputs, size), torch.randn(batch, inputs)
        state = torch.randn(batch, size), torch.randn(batch, size)
        h, c = cell(x, state)

        assert [tuple(each.shape) for each in (h, c)] == [(batch, size)] * 2
        assert [tuple(p.shape) for p in cell.parameters()] == [(4 * size, inputs), (4 * size, size)] + [(4 * size,)] * 2
        pieces = x @ cell.weight_ih.T + cell.bias_ih + state[0] @ cell.weight_hh.T + cell.bias_hh
        write, forget, new, show = pieces.chunk(4, 1)
        memory = forget.sigmoid() * state[1] + write.sigmoid() * new.tanh()
        assert torch.allclose(c, memory, atol=1e-6) and torch.allclose(h, show.sigmoid() * memory.tanh(), atol=1e-6)
        zeros = torch.zeros(batch, size)
        assert cell(x)[0].tolist() == cell(x, (zeros, zeros))[0].tolist()
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        cell(x, state[0])


def test_c09_12_both_states(torch):
    """Both states of an LSTM must be detached between two passes: with one of them attached, the next pass walks into
    the earlier graph.
    """
    cell = torch.nn.LSTMCell(3, 4)
    cuts = {(True, True): None, (True, False): "error", (False, True): "error", (False, False): "error"}
    for (cut_h, cut_c), outcome in cuts.items():
        h, c = cell(torch.ones(2, 3))
        (h * h).sum().backward()
        h, c = (h.detach() if cut_h else h), (c.detach() if cut_c else c)
        h, c = cell(torch.ones(2, 3), (h, c))
        if outcome is None:
            (h * h).sum().backward()
            continue
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            (h * h).sum().backward()
