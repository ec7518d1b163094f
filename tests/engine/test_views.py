"""Views, writing in place, and how history follows a write through any of the views."""

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0, 4.0), requires_grad=True)


VIEWS = {
    "item": lambda x: x[0],
    "slice": lambda x: x[:, 1:],
    "steps": lambda x: x[::2],
    "None": lambda x: x[None],
    "ellipsis": lambda x: x[..., 0],
    "view": lambda x: x.view(3, 2),
    "reshape": lambda x: x.reshape(6),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(4, 2, 3),
    "select": lambda x: x.select(1, 0),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "diagonal": lambda x: x.diagonal(),
    "unbind": lambda x: x.unbind()[1],
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(2, 1)[0],
    "view_as": lambda x: x.view_as(x),
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
}
COPIES = {
    "clone": lambda x: x.clone(),
    "reshape of a transposed": lambda x: x.t().reshape(6),
    "contiguous of a transposed": lambda x: x.t().contiguous(),
    "an index list": lambda x: x[[0, 1]],
    "an index tensor": lambda x: x[x.long()[:, 0] * 0],
    "a mask": lambda x: x[x > 2],
    "flip": lambda x: x.flip(0),
    "repeat": lambda x: x.repeat(1, 1),
    "another dtype": lambda x: x.double(),
    "arithmetic": lambda x: x + 0,
}
SELVES = {
    "contiguous": lambda x: x.contiguous(),
    "float": lambda x: x.float(),
    "to the same dtype": lambda x: x.to(x.dtype),
    "flatten of a vector": lambda x: x.view(-1).flatten(),
    "requires_grad_": lambda x: x.requires_grad_(),
}


def matrix(torch):
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("how", VIEWS)
def test_a_view_shows_writes_to_its_base(torch, how):
    """A view is the same memory: what is written to the base is seen in the view, and the other way round."""
    x = matrix(torch)
    view = VIEWS[how](x)
    x.mul_(10)

    assert view.tolist() == VIEWS[how](x).tolist()
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_does_not(torch, how):
    """Everything that needs other memory copies: a write to the source is not seen."""
    x = matrix(torch)
    copy = COPIES[how](x)
    before = copy.tolist()
    x.mul_(10)

    assert copy.tolist() == before
    assert not copy._is_view() and copy._base is None


@pytest.mark.parametrize("how", SELVES)
def test_nothing_to_do_returns_the_tensor_itself(torch, how):
    """When there is nothing to do, there is no new tensor either."""
    x = matrix(torch)
    result = SELVES[how](x)

    assert result is x or (how == "flatten of a vector" and result.data_ptr() == x.data_ptr())


def test_the_base_is_the_first_tensor_never_a_view(torch):
    """A view of a view of a view has the first tensor as its base."""
    x = matrix(torch)
    deep = x.t()[1:].unsqueeze(0)[0].view_as(x.t()[1:])

    assert deep._base is x
    assert x._base is None and not x._is_view() and deep._is_view()


def test_writing_to_a_view_of_a_computed_tensor(torch):
    """The write is recorded: the base's node becomes CopySlices, the view's AsStridedBackward0 on top of it."""
    x = leaf(torch)
    h = x * 1
    old = h.grad_fn
    view = h[1:3]
    view.mul_(10)

    assert h.grad_fn.name() == "torch::autograd::CopySlices"
    assert h.grad_fn.next_functions[0][0] is old
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert view.grad_fn.next_functions[0][0] is h.grad_fn
    assert h.tolist() == [1.0, 20.0, 30.0, 4.0]

    h.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0, 1.0]


def test_outputs_of_unbind_belong_to_one_node(torch):
    """All pieces share one node, and each says which of its outputs it is."""
    pieces = (leaf(torch) * 1).unbind()

    assert len({id(p.grad_fn) for p in pieces}) == 1
    assert [p.output_nr for p in pieces] == [0, 1, 2, 3]
    assert [p.exp().grad_fn.next_functions[0][1] for p in pieces] == [0, 1, 2, 3]


def test_a_refused_write_changes_nothing(torch):
    """An error in a write leaves values, version and history as they were."""
    h = leaf(torch) * 1
    row = h.view(2, 2).unbind()[0]
    node = h.grad_fn
    with pytest.raises(RuntimeError):
        row.mul_(2)

    assert h.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert h._version == 0
    assert h.grad_fn is node


def test_shape_changes_of_a_second_output(torch):
    """t_ on an output that is not its node's first keeps leading to the right output."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grad_a, grad_b):
            return grad_a * 2 + grad_b * 3

    x = leaf(torch)
    a, b = Two.apply(x)
    b.unsqueeze_(0)
    assert b.output_nr == 0 and b.grad_fn.next_functions[0] == (a.grad_fn, 1)

    b.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0, 3.0]


def test_double_backward_through_writes(torch):
    """Second derivatives go through CopySlices and regenerated views."""
    x = leaf(torch)
    h = x * 1
    h[1:3].mul_(x[0])
    h[0] = x[1] ** 2
    (g,) = torch.autograd.grad((h * h).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    # h = (b^2, ab, ac, d): sum of squares is b^4 + a^2 b^2 + a^2 c^2 + d^2
    a, b, c, d = 1.0, 2.0, 3.0, 4.0

    assert g.tolist() == [2 * a * (b * b + c * c), 4 * b**3 + 2 * a * a * b, 2 * a * a * c, 2 * d]
    hessian_row_sums = [
        2 * (b * b + c * c) + 4 * a * b + 4 * a * c,
        4 * a * b + 12 * b * b + 2 * a * a,
        4 * a * c + 2 * a * a,
        2.0,
    ]
    assert second.tolist() == hessian_row_sums


def test_a_stale_view_s_hooks_are_gone(torch):
    """A hook registered on a view before the write belongs to the dropped node and never runs."""
    seen = []
    h = leaf(torch) * 1
    view, other = h[:2], h[:2]
    view.register_hook(lambda g: seen.append("view before"))
    h.mul_(2)
    assert other.grad_fn is not None
    other.register_hook(lambda g: seen.append("view after"))
    (view + other).sum().backward()

    assert seen == ["view after"]


def test_an_element_may_be_assigned_what_already_stands_there(torch):
    """`x[0] = x[:1]` writes each element onto itself: leading dimensions of length 1 make no other memory of it."""
    x = torch.tensor([[[0.5, 1.0]], [[2.0, 3.0]]])
    x[0] = x[:1]

    assert x.tolist() == [[[0.5, 1.0]], [[2.0, 3.0]]]
    assert x[0, 0].expand(1, 2).stride() == (2, 1)


def test_one_element_and_its_view_of_another_form_overlap(torch):
    """A tensor of one element may not be written with a view of itself that has more or fewer dimensions."""
    for value, view in (([2.0], lambda h: h[0]), ([2.0], lambda h: h.squeeze()), (2.0, lambda h: h)):
        h = torch.tensor(value, requires_grad=True) * 1
        target = h if h.dim() else h.unsqueeze(0)
        for write in (target.add_, target.mul_, target.copy_):
            with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
                write(view(h))

        assert h._version == 0
    h = torch.tensor([2.0])
    h.add_(h[:])

    assert h.tolist() == [4.0]


