"""The claims of lesson 09, on our engine and on real PyTorch."""

import weakref

from lessons.claims_kit import CHANGED, alive, leaf, names_behind, raises


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

    kept = {"input": (lambda h: h * h, lambda h: h**3), "output": (lambda h: h.exp(), lambda h: h.sigmoid())}
    for shape in ((), (3,), (2, 3)):
        for what, operations in kept.items():
            for compute in operations:
                h = torch.ones(shape, requires_grad=True) * 2
                y = compute(h)
                (h if what == "input" else y).detach().mul_(3)
                raises(CHANGED, y.sum().backward)


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
    """Under `no_grad`, what is computed has no history, and in-place writes are counted as before."""
    x, y = square(torch)
    with torch.no_grad():
        z = x * x
        x.mul_(10)

    assert (z.requires_grad, z.grad_fn, x._version) == (False, None, 1)
    raises(CHANGED, y.backward)


def test_c09_5_inference_tensors(torch):
    """A tensor that is computed in inference mode has no version counter and may not be saved for backward."""
    x = leaf(torch, 3.0)
    with torch.inference_mode():
        f = torch.ones(1) * 2

    raises("Inference tensors do not track version counter", lambda: f._version)
    raises("Inference tensors cannot be saved for backward", lambda: x * f)
    (x * f.clone() + f).sum().backward()
    assert x.grad.tolist() == [2.0]

    with torch.inference_mode():
        view = x[:1]
        view.fill_(7.0)
    assert view._version == x._version == 1  # a view of a tensor from outside keeps that one's counter


def test_c09_6_numpy_writes_unseen(torch):
    """A write through `detach().numpy()` is not counted."""
    x, y = square(torch)
    x.detach().numpy()[0] = 30.0
    y.backward()

    assert (x.tolist(), x._version, x.grad.tolist()) == ([30.0], 0, [60.0])


def test_c09_7_one_path_is_cut(torch):
    """`detach` cuts only the path it stands on; every other path carries its gradient as before."""
    x = leaf(torch, 3.0)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0

    p = leaf(torch, 0.25, 0.75)
    through = p + ((p > 0.5).float() - p).detach()
    (through * torch.tensor([1.0, 2.0])).sum().backward()
    assert (through.tolist(), p.grad.tolist()) == ([0.0, 1.0], [1.0, 2.0])


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


def test_c09_9_eval_records(torch):
    """`eval()` changes what some layers compute, and switches off neither recording nor counting."""
    x, layer = torch.ones(64, requires_grad=True), torch.nn.Dropout(0.5)
    assert layer(x).tolist() != x.tolist()
    layer.eval()
    y = layer(x * x)
    assert y.tolist() == x.tolist() and y.requires_grad
    x.detach().add_(1)
    assert x._version == 1
    raises(CHANGED, y.sum().backward)


def test_c09_10_a_view_without_recording(torch):
    """A view made under `no_grad` shares memory and counter with its base and has no grad_fn; backward through it
    raises nothing if the base requires a gradient, and no gradient arrives in either."""
    views = (
        lambda x: x[:2],
        lambda x: x[1:],
        lambda x: x[0],
        lambda x: x.T,
        lambda x: x.view(-1),
        lambda x: x.unsqueeze(0),
        lambda x: x.expand(2, 3, 2),
        lambda x: x.unbind()[0],
        lambda x: x[:2].T,
    )
    for take in views:
        for base in (lambda x: x, lambda x: x * 2):
            x = torch.ones(3, 2, requires_grad=True)
            h = base(x)
            h.retain_grad()
            with torch.no_grad():
                v = take(h)
            assert (v.requires_grad, v.is_leaf, v.grad_fn) == (True, True, None)
            (v * v).sum().backward()
            assert v.grad is x.grad is h.grad is None
            with torch.no_grad():
                h.mul_(3)
            assert v._version == h._version == 1
            assert v.tolist() == take(h.detach()).tolist()
    with torch.no_grad():
        computed = x * 1
    raises("does not require grad", computed.sum().backward)
