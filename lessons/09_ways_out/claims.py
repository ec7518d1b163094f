"""The claims of lesson 09, on our engine and on real PyTorch."""

import weakref

from lessons.claims_kit import CHANGED, FREED, alive, from_lesson, leaf, names_behind, raises


def square(torch):
    """A leaf 3, and its square, which keeps it."""
    x = leaf(torch, 3.0)
    return x, (x * x).sum()


def test_c09_1_detach_is_counted(torch):
    """`detach()` shares memory and counter, so a write through it to a value that a node keeps is caught at
    backward."""
    x, y = square(torch)
    d = x.detach()
    d[0] = 30.0

    assert d.data_ptr() == x.data_ptr()
    assert (x.tolist(), x._version, d._version) == ([30.0], 1, 1)
    raises(CHANGED, y.backward)


def test_c09_2_data_is_not_counted(torch):
    """`.data` shares memory but not the counter, so a write through it can spoil a gradient silently."""
    x, y = square(torch)
    alias = x.data
    alias[0] = 30.0
    y.backward()

    assert alias.data_ptr() == x.data_ptr()
    assert (x._version, alias._version) == (0, 1)
    assert x.grad.tolist() == [60.0]  # 6 is the slope of the y that was computed


def test_c09_3_clone_stays_in_the_graph(torch):
    """`clone()` has its own memory and counter, and stays in the graph."""
    x, y = square(torch)
    c = x.clone()
    c.mul_(10)
    assert (x.tolist(), x._version, c._version) == ([3.0], 0, 1)
    y.backward()
    assert x.grad.tolist() == [6.0]
    c.sum().backward()
    assert x.grad.tolist() == [16.0]


def test_c09_4_no_grad_counts(torch):
    """`no_grad` records no graph, and it still counts in-place writes."""
    x, y = square(torch)
    with torch.no_grad():
        z = x * x
        x.mul_(10)

    assert (z.requires_grad, z.grad_fn, x._version) == (False, None, 1)
    raises(CHANGED, y.backward)


def test_c09_5_inference_tensors(torch):
    """An inference tensor has no version counter and may not be saved for backward."""
    x = leaf(torch, 3.0)
    with torch.inference_mode():
        f = torch.ones(1) * 2

    raises("Inference tensors do not track version counter", lambda: f._version)
    raises("Inference tensors cannot be saved for backward", lambda: x * f)
    (x * f.clone() + f).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_c09_6_numpy_writes_unseen(torch):
    """A write through `detach().numpy()` is not counted."""
    x, y = square(torch)
    x.detach().numpy()[0] = 30.0
    y.backward()

    assert (x.tolist(), x._version, x.grad.tolist()) == ([30.0], 0, [60.0])


def recurrent(torch, between, rate=0.0, **options):
    """Three steps with a backward each; `between` is what happens to the state. w, and how many nodes a pass walks."""
    w, h, walked = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0), []
    for _ in range(3):
        h = torch.tanh(w * h)
        loss = (h - 1) ** 2
        walked.append(len(names_behind(loss)))
        loss.backward(**options)
        h = between(h)
        if rate:
            w.detach().sub_(rate * w.grad)
    return w, walked


def test_c09_7_detach_the_state(torch):
    """A state carried over from an earlier backward must be detached: the pass would walk on into the earlier graph,
    whose slots have been freed."""
    for between in (lambda h: h, lambda h: h.clone()):
        raises(FREED, lambda between=between: recurrent(torch, between))

    cut, walked = recurrent(torch, lambda h: h.detach())
    kept, further = recurrent(torch, lambda h: h, retain_graph=True)  # it runs, walks on, and computes something else
    assert (walked, further) == ([5, 5, 5], [5, 7, 9])
    assert abs(cut.grad.item() - kept.grad.item()) > 0.01
    raises(CHANGED, lambda: recurrent(torch, lambda h: h, rate=0.1, retain_graph=True))


def test_c09_8_a_total_holds_graphs(torch):
    """A total of attached losses keeps alive whatever their graphs saved; after backward it still keeps the nodes."""
    w = leaf(torch, 0.5)

    def epoch(keep):
        total, seen = 0.0, []
        for k in range(3):
            activation = w * (1.0 + k)
            seen.append(weakref.ref(activation))
            total = total + keep((activation * activation).sum())
        return total, seen

    total, seen = epoch(lambda loss: loss)
    assert alive(seen) == [True] * 3
    total.backward()
    assert alive(seen) == [False] * 3
    assert names_behind(total).count("SumBackward0") == 3
    for keep in (lambda loss: loss.item(), lambda loss: loss.detach()):
        total, seen = epoch(keep)
        assert alive(seen) == [False] * 3


def test_c09_9_one_path_is_cut(torch):
    """`detach` cuts only the path it stands on; every other path carries its gradient as before."""
    x = leaf(torch, 3.0)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0

    p = leaf(torch, 0.25, 0.75)
    through = p + ((p > 0.5).float() - p).detach()
    (through * torch.tensor([1.0, 2.0])).sum().backward()
    assert (through.tolist(), p.grad.tolist()) == ([0.0, 1.0], [1.0, 2.0])


def test_c09_10_eval_records(torch):
    """`eval()` changes what some layers compute, and switches off neither recording nor counting."""
    x, layer = torch.ones(64, requires_grad=True), torch.nn.Dropout(0.5)
    assert layer(x).tolist() != x.tolist()
    layer.eval()
    y = layer(x * x)
    assert y.tolist() == x.tolist() and y.requires_grad
    x.detach().add_(1)
    assert x._version == 1
    raises(CHANGED, y.sum().backward)


def test_c09_11_a_cell(torch):
    """An LSTM cell takes an input of shape (batch, input size) and a pair of states of shape (batch, state size), and
    returns the new pair."""
    for batch, inputs, size in ((2, 3, 4), (1, 1, 1), (5, 2, 3)):
        cell, x = torch.nn.LSTMCell(inputs, size), torch.randn(batch, inputs)
        state = torch.randn(batch, size), torch.randn(batch, size)
        h, c = cell(x, state)

        pieces = x @ cell.weight_ih.T + cell.bias_ih + state[0] @ cell.weight_hh.T + cell.bias_hh
        write, forget, new, show = pieces.chunk(4, 1)
        memory = forget.sigmoid() * state[1] + write.sigmoid() * new.tanh()
        assert h.shape == c.shape == (batch, size)
        assert torch.allclose(c, memory, atol=1e-6) and torch.allclose(h, show.sigmoid() * memory.tanh(), atol=1e-6)
    raises("must be tuple of Tensors, not Tensor", lambda: cell(x, state[0]), TypeError)


def test_c09_12_both_states(torch):
    """Both states of an LSTM must be detached between two passes: with one of them attached, the next pass walks into
    the earlier graph."""
    own = from_lesson(torch, "09", "two_steps", "cuts", cell=torch.nn.LSTMCell(3, 4))
    own.two_steps(own.cuts["C"])
    for cut in (own.cuts["A"], own.cuts["B"], lambda h, c: (h, c)):
        raises(FREED, lambda cut=cut: own.two_steps(cut))
