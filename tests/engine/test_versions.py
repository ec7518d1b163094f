"""The check of versions: which tensors it looks at, and when."""

import pytest

from tests.engine.facts import leaf


def test_a_slot_that_is_not_reached_is_not_checked(torch):
    """Only nodes that run are checked: a changed tensor on another branch does no harm."""
    x = leaf(torch)
    h = x * 1
    broken, fine = h.sin(), x * 3
    h.zero_()
    fine.sum().backward()

    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        broken.sum().backward()


KEPT_AND_UNREAD = {
    "the result of a power": (lambda torch, h: h ** torch.ones(3), "result", "Pow1"),
    "the result of prod": (lambda torch, h: h.prod(), "result", "Prod"),
    "the result of cumprod": (lambda torch, h: h.cumprod(0), "result", "Cumprod"),
    "the source of gather": (lambda torch, h: h.gather(0, torch.tensor([1])), "input", "Add"),
}


@pytest.mark.parametrize("what", KEPT_AND_UNREAD)
def test_every_kept_tensor_is_checked(torch, what):
    """Some nodes keep a tensor that their formula could do without: a write to it is an error all the same."""
    operation, written, name = KEPT_AND_UNREAD[what]
    h = leaf(torch) * 1
    y = operation(torch, h)
    (y if written == "result" else h).add_(1)
    with pytest.raises(RuntimeError, match=f"output 0 of {name}, is at version 1"):
        y.sum().backward()
