"""The claims of lesson 08, views, on our engine and on real PyTorch."""

import pytest

from lessons.claims_kit import leaf, raises

STALE = r"modified by an inplace operation: .* output 0 of AsStrided, is at version 1; expected version 0 instead"
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"
MANY = "This view is the output of a function that returns multiple views"


def matrix(torch):
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def place(tensor):
    """Return where the whole memory of a tensor begins, wherever the tensor itself begins in it."""
    return tensor.untyped_storage().data_ptr()


def short(node):
    return None if node is None else type(node).__name__


def test_c08_1_views_and_copies(torch):
    """Slices, single rows, transpose, unsqueeze, expand and unbind give views, which share memory and version
    counter with their base; clone, arithmetic, and indexing with a list or a mask give copies."""
    views = [
        lambda t: t[0], lambda t: t[:, 1:], lambda t: t[::2], lambda t: t.T, lambda t: t.transpose(0, 1),
        lambda t: t.unsqueeze(0), lambda t: t[0].expand(2, 3), lambda t: t.unbind()[1], lambda t: t.split(1)[1],
        lambda t: t.view(6),
    ]  # fmt: skip
    copies = [lambda t: t.clone(), lambda t: t + 0, lambda t: t[[0, 1]], lambda t: t[t > 0]]

    for make in views + copies:
        t = matrix(torch)
        made = make(t)
        shown = made.tolist()
        t.mul_(10)
        is_view = make in views
        assert made._is_view() == is_view
        assert (place(made) == place(t)) == is_view
        assert (made.tolist() != shown) == is_view
        assert made._version == (1 if is_view else 0)


def test_c08_2_where_strides_can_say_it(torch):
    """reshape gives a view where strides can describe the result and a copy where they cannot; contiguous()
    gives back the tensor itself when it is contiguous already, and a copy when it is not."""
    t = matrix(torch)
    for view in (t.reshape(6), t.reshape(3, 2), t.T.reshape(3, 2, 1), t[:, 1:].reshape(2, 1, 2)):
        assert view._is_view() and place(view) == place(t)
    for copy in (t.T.reshape(6), t[:, 1:].reshape(4), t.T.contiguous()):
        assert not copy._is_view() and place(copy) != place(t)
    assert t.contiguous() is t
    assert t.T.contiguous().tolist() == t.T.tolist()


def test_c08_3_one_base(torch):
    """The `_base` of a view is the first tensor and never another view; a detach() shares the memory but has no
    base."""
    y = leaf(torch) * 1
    deep = y.view(3, 1)[1:].T[0, 1:]
    assert deep._base is y and y._base is None
    assert deep.data_ptr() - y.data_ptr() == 2 * 4

    detached = y.detach()
    assert place(detached) == place(y)
    assert detached._base is None and not detached._is_view()
    assert detached[1:]._base is detached


def test_c08_4_lost_writes(torch):
    """An in-place operation on a copy, such as `y[[0]].mul_(10)`, raises nothing and leaves y as it was, but
    `y[[0]] *= 10` writes to y."""
    for lost in (lambda y: y[[0]].mul_(10), lambda y: y[y > 0].mul_(10), lambda y: y.T.reshape(6).mul_(10)):
        y = matrix(torch)
        lost(y)
        assert y.tolist() == matrix(torch).tolist() and y._version == 0

    y = matrix(torch)
    y[[0]] *= 10
    assert y.tolist() == [[10.0, 20.0, 30.0], [4.0, 5.0, 6.0]] and y._version == 1


def test_c08_5_the_base_is_rewritten(torch):
    """A recorded write through a view puts CopySlices on top of the base's old node, and AsStridedBackward0, the
    view's new node, on top of CopySlices."""
    writes = [lambda v: v.mul_(10), lambda v: v.exp_(), lambda v: v.zero_(), lambda v: v.add_(leaf(torch, 1.0))]
    for make in (
        lambda y: y[1:], lambda y: y[0], lambda y: y[:, 1], lambda y: y.T, lambda y: y.view(6),
        lambda y: y.unsqueeze(0), lambda y: y.T[1:][0],
    ):  # fmt: skip
        y = leaf(torch, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) * 2
        v, old = make(y), y.grad_fn
        for write in writes:
            write(v)
            assert short(y.grad_fn) == "CopySlices"
            assert y.grad_fn.next_functions[0][0] is old
            assert short(v.grad_fn) == "AsStridedBackward0"
            assert v.grad_fn.next_functions[0][0] is y.grad_fn
            old = y.grad_fn


def test_c08_6_as_if_built_out_of_place(torch):
    """The gradient through a write to a part is that of the same values built out of place."""
    for name, takes_w in {"mul": True, "add": True, "div": True, "sin": False, "exp": False}.items():
        x, w = leaf(torch, 0.3, -1.2, 0.7, 1.1), leaf(torch, 2.0, -3.0)
        given = [w] * takes_w
        y, z = (x * 2 + w.sum() for _ in range(2))
        getattr(y[1:3], name + "_")(*given)
        z = torch.cat([z[:1], getattr(z[1:3], name)(*given), z[3:]])
        assert y.tolist() == z.tolist()
        for found, wanted in zip(
            torch.autograd.grad((y * y).sum(), (x, w)), torch.autograd.grad((z * z).sum(), (x, w)), strict=True
        ):
            assert found.tolist() == pytest.approx(wanted.tolist(), rel=1e-6)


def test_c08_7_assignment(torch):
    """Assigning to a part sends the gradient to the value assigned and zero to what was replaced, and a plain
    buffer becomes part of the graph when something that requires grad is assigned to a part of it."""
    x, w = leaf(torch), leaf(torch, 5.0, 6.0)
    y = x * 2
    y[1:] = w
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
    assert w.grad.tolist() == [10.0, 100.0]

    buffer = torch.zeros(3)
    buffer[0] = 7.0
    assert buffer.is_leaf and not buffer.requires_grad
    buffer[1:] = w
    assert buffer.requires_grad and not buffer.is_leaf
    assert [short(node) for node, _ in buffer.grad_fn.next_functions] == [None, "AccumulateGrad"]


def test_c08_8_old_views_catch_up(torch):
    """A view that came alone from its call gets a new grad_fn when it is asked for one after a counted write
    to its base."""
    for write in (lambda y: y[1:].mul_(10), lambda y: y.mul_(torch.tensor([1.0, 10.0, 10.0]))):
        x = leaf(torch)
        y = x * 2
        old = y[:2]
        assert short(old.grad_fn) == "SliceBackward0"
        write(y)
        assert short(old.grad_fn) == "AsStridedBackward0"
        assert old.grad_fn.next_functions[0][0] is y.grad_fn
        old.sum().backward()
        assert x.grad.tolist() == [2.0, 20.0, 0.0]


def test_c08_9_views_of_leaves(torch):
    """Writing to a view of a leaf that requires grad raises, `x[0] = 5.0` too; under no_grad it is allowed and
    counted, and the leaf stays a leaf."""
    x = leaf(torch)
    raises(LEAF_VIEW, lambda: x.__setitem__(0, 5.0))
    raises(LEAF_VIEW, lambda: x.view(3, 1)[:, 0].add_(5.0))
    assert x.tolist() == [1.0, 2.0, 3.0] and x._version == 0

    with torch.no_grad():
        x[0] = 5.0
        x.view(3, 1)[1:, 0] += 5.0
    assert x.tolist() == [5.0, 7.0, 8.0] and x._version == 3
    assert x.is_leaf and x.requires_grad


def test_c08_10_many_views_from_one_call(torch):
    """While recording, outputs of unbind, split and chunk that have a history may not be written to, nor computed
    with after their base was written to; without a history both are allowed."""
    for name, make in [
        ("Unbind", lambda y: y.unbind()), ("Unbind", lambda y: list(y)), ("Split", lambda y: y.split(2)),
        ("SplitWithSizes", lambda y: y.split([1, 2])), ("Split", lambda y: y.chunk(2)),
    ]:  # fmt: skip
        parts = make(leaf(torch) * 2)
        raises(f"Output 1 of {name} is a view and is being modified inplace. {MANY}", lambda: parts[1].mul_(2))

        y = leaf(torch) * 2
        parts = make(y)
        y.mul_(3)
        raises(f"Output 0 of {name} is a view and its base .* modified inplace. {MANY}", parts[0].sum)

        with torch.no_grad():
            parts[1].mul_(2)
            assert parts[0].sum().item() == 3 * sum([2.0, 4.0][: parts[0].numel()])

        plain = torch.ones(3)
        parts = make(plain)
        parts[1].mul_(2)
        plain.add_(1)
        assert parts[0].sum().item() == 2.0 * parts[0].numel()


def test_c08_11_expanded_tensors(torch):
    """An expanded tensor may not be written to with add_ or mul_, because several of its elements lie in one
    place."""
    for base in (torch.ones(1), leaf(torch, 1.0) * 1):
        e = base.expand(3)
        assert e.stride() == (0,)
        for op in (lambda t: t.add_(1), lambda t: t.mul_(2)):
            raises("more than one element of the written-to tensor refers to a single", lambda: op(e))
        assert e.clone().add_(1).tolist() == [2.0, 2.0, 2.0]
        assert base.tolist() == [1.0] and base._version == 0


def test_c08_12_views_made_under_no_grad(torch):
    """A view made under no_grad of a tensor that requires grad may not be written to outside no_grad."""
    for make in (lambda t: t[0], lambda t: t.view(3, 1), lambda t: t.unsqueeze(0), lambda t: t[::2]):
        for base in (leaf(torch), leaf(torch) * 1):
            with torch.no_grad():
                view = make(base)
            raises("created in no_grad mode and is being modified inplace", lambda: view.mul_(2))
            assert base.tolist() == [1.0, 2.0, 3.0]

    y = leaf(torch) * 2
    with torch.no_grad():
        v = y[1:]
        v.add_(1)
    assert y.tolist() == [2.0, 5.0, 7.0]
    ambiguous = "created in no_grad mode and is being modified inplace with grad mode enabled. .* ambiguous"
    raises(ambiguous, lambda: v.mul_(2))
    assert y.tolist() == [2.0, 5.0, 7.0]


def test_c08_13_stale_views(torch):
    """A counted write to one part of a tensor makes a saved view of another part stale, though none of the saved
    numbers has changed."""
    x = leaf(torch)
    y = x * 1
    first, rest = y[:1], y[1:]
    stale, cured = rest.sin(), rest.clone().sin()
    numbers = rest.tolist()
    first.mul_(2)

    assert rest.tolist() == numbers
    raises(STALE, stale.sum().backward)
    cured.sum().backward()
    assert x.grad.tolist() == pytest.approx([0.0, *torch.tensor(numbers).cos().tolist()])


def test_c08_14_a_hook_hands_out_a_view(torch):
    """A module with a full backward hook hands out a result that requires grad as a view made by a custom Function,
    which may not be written to."""
    for module in (torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.Linear(3, 3))):
        x = leaf(torch).view(1, 3)
        assert not module(x)._is_view()
        module(x).relu_()

        module.register_full_backward_hook(lambda *seen: None)
        out = module(x)
        assert out._is_view() and short(out.grad_fn) == "BackwardHookFunctionBackward"
        for write in (lambda t: t.relu_(), lambda t: torch.nn.ReLU(inplace=True)(t)):
            raises("Output 0 of BackwardHookFunction is a view .* custom Function", lambda: write(module(x)))
        module(x).relu().sum().backward()
        with torch.no_grad():
            assert not module(x)._is_view()
            module(x).relu_()


def test_c08_15_silent_views_of_no_grad(torch):
    """A view made under no_grad of a tensor that requires grad says that it is a leaf that requires grad, but backward
    through it raises nothing and gives no gradient, to it or to its base."""
    for make in (
        lambda t: t[0], lambda t: t[1:], lambda t: t.view(3, 1), lambda t: t.view(3, 1).T, lambda t: t.expand(2, 3),
        lambda t: t.unbind()[0], lambda t: t.unsqueeze(0), lambda t: t.split(2)[1],
    ):  # fmt: skip
        for of_a_leaf in (True, False):
            x = leaf(torch)
            base = x if of_a_leaf else x * 1
            with torch.no_grad():
                view = make(base)
            assert (view.is_leaf, view.requires_grad, view.grad_fn) == (True, True, None)
            (view * view).sum().backward()
            assert x.grad is None and view.grad is None
            make(base).sum().backward()  # taken outside
            assert x.grad is not None
