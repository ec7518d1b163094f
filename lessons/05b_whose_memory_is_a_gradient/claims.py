"""The claims of part 05b, on our engine and on real PyTorch."""

from lessons.claims_kit import from_lesson, leaf


def test_c05b_1_zero_writes_and_none_lets_go(torch):
    """`zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged."""
    w = leaf(torch, 1.0)
    (w * 7).backward()
    logged = w.grad
    w.grad.zero_()
    assert logged is w.grad and logged.item() == 0.0

    (w * 7).backward()
    torch.optim.SGD([w], lr=1.0).zero_grad()
    assert w.grad is None
    (w * 3).backward()
    assert (logged.item(), w.grad.item()) == (7.0, 3.0)


def test_c05b_2_two_leaves_share_no_gradient_memory(torch):
    """Two leaves that receive equal gradients from one addition keep them in separate memory."""
    a, b, given = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0), torch.ones(2)
    (a + b).backward(given)
    assert a.grad.data_ptr() != b.grad.data_ptr()
    a.grad.mul_(100)
    b.grad.mul_(10)
    assert (a.grad.tolist(), b.grad.tolist(), given.tolist()) == ([100.0] * 2, [10.0] * 2, [1.0] * 2)

    a, b, given = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0), torch.ones(2, 1)  # why it says "from one addition"
    (a.view(2, 1) + b.view(2, 1)).backward(given)
    memories = len({each.data_ptr() for each in (a.grad, b.grad, given)})
    assert memories == (3 if torch.__name__ == "course_lib" else 1)


def test_c05b_3_whose_memory_arrives(torch):
    """A gradient handed to backward can arrive at a leaf as the caller's own memory; a clone of it cannot."""
    x, given, same = leaf(torch, 1.0, 1.0), torch.tensor([[1.0], [2.0]]), []
    x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
    for gradient in (given, given.clone()):
        x.view(2, 1).backward(gradient)
    assert same == [True, False]

    x, given = leaf(torch, 1.0, 1.0), torch.tensor([[1.0], [2.0]])
    from_lesson(torch, "05b", "passes").passes(torch, x, given, times=3)
    ours = torch.__name__ == "course_lib"  # it copies what is a view of memory that somebody sees
    assert x.grad.tolist() == ([3.0, 6.0] if ours else [4.0, 8.0])  # PyTorch: the two are one memory, added to itself
    assert (x.grad.data_ptr() == given.data_ptr()) is not ours
