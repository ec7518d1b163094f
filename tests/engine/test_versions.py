"""Version counters: what counts as a write, who shares a counter, and when the check is made."""

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


WRITES = {
    "add_": lambda t: t.add_(1.0),
    "sub_": lambda t: t.sub_(t),
    "mul_": lambda t: t.mul_(1.0),
    "div_": lambda t: t.div_(2.0),
    "pow_": lambda t: t.pow_(2),
    "exp_": lambda t: t.exp_(),
    "relu_": lambda t: t.relu_(),
    "clamp_": lambda t: t.clamp_(0, 1),
    "zero_": lambda t: t.zero_(),
    "fill_": lambda t: t.fill_(2.0),
    "copy_ of itself": lambda t: t.copy_(t.clone()),
    "masked_fill_ that hits nothing": lambda t: t.masked_fill_(t > 100, 0.0),
    "an item": lambda t: t.__setitem__(0, 1.0),
    "a slice": lambda t: t.__setitem__(slice(1, None), 1.0),
    "a mask": lambda t: t.__setitem__(t > 1, 1.0),
    "an index": lambda t: t.__setitem__([0, 2], 1.0),
    "t_": lambda t: t.t_(),
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "squeeze_": lambda t: t.squeeze_(),
    "index_add_": lambda t: t.index_add_(0, t.new_zeros(1).long(), t[:1].clone()),
}
NO_WRITES = {
    "detach_": lambda t: t.detach_(),
    "requires_grad_": lambda t: t.requires_grad_(),
    "assigning grad": lambda t: setattr(t, "grad", t.detach().clone()),
    "assigning data": lambda t: setattr(t, "data", t.detach().clone()),
    "a write to data": lambda t: t.data.mul_(2),
    "a write through NumPy": lambda t: t.numpy().__setitem__(0, 5.0),
    "a view": lambda t: t[1:],
    "detach": lambda t: t.detach(),
    "clone": lambda t: t.clone(),
    "an addition": lambda t: t + 1,
    "printing": lambda t: str(t),
}


@pytest.mark.parametrize("what", WRITES)
def test_one_write_counts_one(torch, what):
    """Each in-place operation adds one, whatever it does to the values."""
    t = torch.tensor([1.0, 2.0, 3.0])
    WRITES[what](t)

    assert t._version == 1


@pytest.mark.parametrize("what", NO_WRITES)
def test_what_is_no_write_does_not_count(torch, what):
    """Reading, viewing, changing flags and writing behind the counter's back leave the version at zero."""
    t = torch.tensor([1.0, 2.0, 3.0])
    NO_WRITES[what](t)

    assert t._version == 0


def test_views_of_views_share_the_base_s_counter(torch):
    """However long the chain of views, there is one counter."""
    base = torch.zeros(2, 3)
    part = base.t()[1:].reshape(-1)[0:2]
    deep = base.view(6).detach().view(3, 2)[1]
    deep.add_(1)
    base.mul_(2)

    assert [base._version, deep._version, base[0]._version] == [2, 2, 2]
    assert part._version == 0  # the reshape of a transposed slice had to copy


def test_data_begins_a_counter_of_its_own(torch):
    """`.data` shares memory and not the counter: neither sees the other's writes counted."""
    t = torch.zeros(3)
    t.add_(1)
    data = t.data
    data.add_(1)
    t.add_(1)

    assert [t._version, data._version] == [2, 1]
    assert t.tolist() == [3.0, 3.0, 3.0]


def test_a_write_behind_the_counter_is_silently_wrong(torch):
    """A write through NumPy is not noticed: backward computes with the new value."""
    x = leaf(torch, 3.0)
    h = x * 1
    y = h * h
    h.detach().numpy()[0] = 100.0
    y.sum().backward()

    assert x.grad.tolist() == [200.0]


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


@pytest.mark.parametrize("name", ["sin_", "abs_"])
def test_in_place_versions_keep_a_copy_of_what_they_overwrite(torch, name):
    """An in-place operation whose formula needs the old input keeps a copy of it."""
    x, same = leaf(torch), leaf(torch)
    h = x * 1
    getattr(h, name)()
    getattr(same * 1, name[:-1])().sum().backward()
    h.sum().backward()

    assert x.grad.tolist() == same.grad.tolist()


