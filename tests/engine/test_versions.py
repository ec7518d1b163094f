"""Version counters: what counts as a write, who shares a counter, and when the check is made."""

import numpy as np
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


@pytest.mark.parametrize("what", WRITES)
def test_no_grad_does_not_stop_the_counter(torch, what):
    """Under no_grad a write to a leaf that requires grad counts like any other."""
    x = leaf(torch)
    with torch.no_grad():
        WRITES[what](x)

    assert x._version == 1


@pytest.mark.parametrize("what", NO_WRITES)
def test_what_is_no_write_does_not_count(torch, what):
    """Reading, viewing, changing flags and writing behind the counter's back leave the version at zero."""
    t = torch.tensor([1.0, 2.0, 3.0])
    NO_WRITES[what](t)

    assert t._version == 0


def test_out_counts_a_write(torch):
    """`out=` writes to the tensor it is given."""
    result = torch.zeros(3)
    torch.add(torch.ones(3), 1, out=result)

    assert result.tolist() == [2.0, 2.0, 2.0]
    assert result._version == 1


def test_increment_version_counts_without_writing(torch):
    """`increment_version` reports a write made elsewhere; it takes one tensor or several."""
    a, b = torch.zeros(2), torch.zeros(2)
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, b])

    assert [a._version, b._version] == [2, 1]


def test_views_of_views_share_the_base_s_counter(torch):
    """However long the chain of views, there is one counter."""
    base = torch.zeros(2, 3)
    part = base.t()[1:].reshape(-1)[0:2]
    deep = base.view(6).detach().view(3, 2)[1]
    deep.add_(1)
    base.mul_(2)

    assert [base._version, deep._version, base[0]._version] == [2, 2, 2]
    assert part._version == 0  # the reshape of a transposed slice had to copy


def test_item_augmented_assignment_counts_two(torch):
    """`x[i] += 1` writes to the view and assigns the view back: two writes."""
    x = torch.zeros(2, 2)
    x[1] += 1
    x[0, 0] *= 3

    assert x._version == 4


def test_out_of_place_results_start_at_zero(torch):
    """A result has memory of its own, so the versions of its inputs do not matter."""
    t = torch.zeros(3)
    for _ in range(5):
        t.add_(1)

    assert [(t * 2)._version, t.clone()._version, torch.cat([t, t])._version, t[[0, 1]]._version] == [0, 0, 0, 0]


def test_data_begins_a_counter_of_its_own(torch):
    """`.data` shares memory and not the counter: neither sees the other's writes counted."""
    t = torch.zeros(3)
    t.add_(1)
    data = t.data
    data.add_(1)
    t.add_(1)

    assert [t._version, data._version] == [2, 1]
    assert t.tolist() == [3.0, 3.0, 3.0]


def test_saved_at_its_version_of_the_moment(torch):
    """A tensor that was written to before it is saved is saved at the version it has then."""
    h = leaf(torch) * 1
    h.add_(1)
    h.add_(1)
    y = h.exp() + h.sin()
    y.sum().backward()

    assert y._version == 0


def test_the_check_compares_numbers_not_values(torch):
    """Writing the same value back breaks backward all the same."""
    h = leaf(torch) * 1
    y = h.cos()
    h.copy_(h.detach().clone())
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        y.sum().backward()


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


def test_a_failed_check_leaves_the_graph_to_be_used_again(torch):
    """Restoring the memory does not help, as versions only go up: the error stays the same."""
    h = leaf(torch) * 1
    y = h.sin()
    h.add_(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
            y.sum().backward()


def test_overwriting_the_result_of_what_keeps_its_input_is_fine(torch):
    """sin keeps its input: its result may be overwritten, and the gradient is right."""
    x = leaf(torch, 0.0)
    y = x.sin()
    y.mul_(5)
    y.sum().backward()

    assert x.grad.tolist() == [5.0]


def test_overwriting_the_input_of_what_keeps_its_result_is_fine(torch):
    """exp keeps its result: its input may be overwritten."""
    x = leaf(torch, 0.0)
    h = x * 1
    y = h.exp()
    h.zero_()
    y.sum().backward()

    assert x.grad.tolist() == [1.0]


@pytest.mark.parametrize("name", ["sin_", "abs_"])
def test_in_place_versions_keep_a_copy_of_what_they_overwrite(torch, name):
    """An in-place operation whose formula needs the old input keeps a copy of it."""
    x, same = leaf(torch), leaf(torch)
    h = x * 1
    getattr(h, name)()
    getattr(same * 1, name[:-1])().sum().backward()
    h.sum().backward()

    assert x.grad.tolist() == same.grad.tolist()


def test_repeated_in_place_with_kept_results_fails(torch):
    """sigmoid_ keeps its result at the new version; a second write outdates it."""
    h = leaf(torch) * 1
    h.sigmoid_()
    assert h.grad_fn._saved_result._version == 1

    h.sigmoid_()
    with pytest.raises(RuntimeError, match="output 0 of Sigmoid, is at version 2; expected version 1"):
        h.sum().backward()


def test_the_counter_is_shared_with_kept_results(torch):
    """The repacked result in a slot counts the writes to the result itself."""
    y = leaf(torch).exp()
    kept = y.grad_fn._saved_result
    y.detach().add_(1)

    assert kept is not y
    assert kept._version == y._version == 1


def test_message_counts_every_write(torch):
    """The message tells how many writes came after the save."""
    h = leaf(torch) * 1
    h.add_(1)
    y = h.sin()
    for _ in range(3):
        h.mul_(2)
    with pytest.raises(RuntimeError, match="output 0 of Mul, is at version 4; expected version 1"):
        y.sum().backward()


def test_optimiser_like_step_between_forward_and_backward(torch):
    """Stepping a weight between forward and backward is caught; stepping a bias is harmless, as nothing keeps it."""
    for stepped, works in (("weight", False), ("bias", True)):
        x = leaf(torch)
        parameters = {"weight": leaf(torch, 2.0, 2.0, 2.0), "bias": leaf(torch, 0.0, 0.0, 0.0)}
        y = (x * parameters["weight"] + parameters["bias"]).sum()
        with torch.no_grad():
            parameters[stepped].sub_(0.1)
        if works:
            y.backward()
            assert x.grad.tolist() == [2.0, 2.0, 2.0]
        else:
            with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
                y.backward()


def test_numpy_and_tensor_share_memory(torch):
    """`numpy()` and `from_numpy` do not copy: a write on one side is seen on the other."""
    array = np.array([1.0, 2.0])
    t = torch.from_numpy(array)
    array[0] = 10.0
    t.add_(1)

    assert t.tolist() == array.tolist() == [11.0, 3.0]
    assert t._version == 1
