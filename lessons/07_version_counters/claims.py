"""The claims of lesson 07, version counters, on our engine and on real PyTorch."""

import re

from lessons.claims_kit import CHANGED, from_lesson, leaf, raises


def versions(seen, expected):
    """A pattern for the end of the message."""
    return rf"{CHANGED}.* is at version {seen}; expected version {expected} instead"


def test_c07_1_in_place_ops_add_one(torch):
    """A write adds one to the version, even under no_grad and even if no value changes."""
    t = torch.ones(3)
    writes = [
        lambda: t.add_(1), lambda: t.div_(2), lambda: t.neg_(), lambda: t.exp_(), lambda: t.add_(0), lambda: t.mul_(1),
        lambda: t.zero_(), lambda: t.copy_(torch.ones(3)), lambda: t[1:].add_(1), lambda: torch.no_grad()(t.add_)(1),
    ]  # fmt: skip

    for number, write in enumerate(writes, 1):
        write()
        assert t._version == number
    assert (t + 1)._version == 0


def test_c07_2_augmented_item_adds_two(torch):
    """`x[0] += 1` adds two: one for the write to the view, one for assigning the view back."""
    x = torch.zeros(3)
    view = x[0]
    view += 1
    assert x._version == 1
    x[0] = view
    assert x._version == 2
    x[0] += 1
    assert x._version == 4


def test_c07_3_who_shares(torch):
    """A tensor, its views and its detach() share one version counter; `.data` shares the memory but not the
    counter, and clone() shares neither."""
    t = torch.zeros(3)
    view, detached, data, clone = t[1:], t.detach(), t.data, t.clone()
    t.add_(1)
    view.add_(1)
    detached.add_(1)

    assert [t._version, view._version, detached._version] == [3, 3, 3]
    for other in (t.view(3, 1), t.view(3, 1).T, t.expand(2, 3), t[:2].detach(), t.detach()[1], t[0]):
        assert other._version == 3
    assert [data._version, clone._version] == [0, 0]
    assert data.tolist() == t.tolist() == [2.0, 3.0, 3.0]
    assert clone.tolist() == [0.0, 0.0, 0.0]


def test_c07_4_what_does_not_count(torch):
    """requires_grad_(), assigning `.grad` and writes through `.data` leave the version as it is."""
    t = torch.zeros(3)
    t.requires_grad_()
    t.grad = torch.ones(3)
    t.data.add_(5)
    t.data[0] = 1.0
    y = t * 1
    y.detach_()

    assert t._version == 0 and y._version == 0
    assert t.tolist() == [1.0, 5.0, 5.0]


def test_c07_5_noted_and_compared(torch):
    """A node notes the version of a tensor when it saves it, and reading the saved tensor raises if the version
    has changed since, even if the values have not."""
    h = leaf(torch) * 1
    h.add_(1)
    y = h.sin()
    assert y.grad_fn._saved_self is h  # written to before the save: fine

    values = h.tolist()
    h.neg_()
    h.neg_()
    assert h.tolist() == values
    for use in (lambda: y.grad_fn._saved_self, lambda: y.sum().backward()):
        raises(versions(3, 1), use)


def test_c07_6_what_was_saved_decides(torch):
    """After sqrt you may not overwrite the result, after sin you may not overwrite the input, and after an addition
    you may overwrite both."""
    ops = {"sqrt": torch.sqrt, "sin": torch.sin, "add": lambda h: h + 1}
    refused = set()
    for name, op in ops.items():
        for edited in ("input", "result"):
            h = leaf(torch) * 1
            y = op(h)
            (h if edited == "input" else y).mul_(2)
            try:
                y.sum().backward()
            except RuntimeError as error:
                writer = {"result": "Sqrt", "input": "Mul"}[edited]  # its own node, or the last writer
                assert re.search(f"{CHANGED}.* output 0 of {writer}, is at version 1;", str(error))
                refused.add((name, edited))

    assert refused == {("sqrt", "result"), ("sin", "input")}


def test_c07_7_leaves_are_guarded(torch):
    """A recorded write to a leaf that requires grad raises at once and changes nothing; under no_grad it is allowed,
    and counts."""
    x = leaf(torch)
    for write in (
        lambda: x.mul_(2), lambda: x.add_(x), lambda: x.exp_(), lambda: x.zero_(), lambda: x.clamp_(0, 1),
        lambda: x.fill_(1.0), lambda: x.copy_(torch.ones(3)), lambda: torch.nn.functional.relu(x, inplace=True),
        lambda: x.__setitem__(0, 1.0),
    ):  # fmt: skip
        raises("a (view of a )?leaf Variable that requires grad is being used in", write)

    assert x.tolist() == [1.0, 2.0, 3.0] and x._version == 0
    with torch.no_grad():
        x.mul_(2)
    assert x.tolist() == [2.0, 4.0, 6.0] and x._version == 1
    assert x.is_leaf and x.requires_grad


def test_c07_8_product_with_a_number(torch):
    """`y = x * 2; y.add_(1)` does not break backward: the product saved the 2, not y."""
    x = leaf(torch)
    y = x * 2
    assert y.grad_fn._saved_self is None
    assert y.grad_fn._saved_other.item() == 2

    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_c07_9_edits_are_recorded(torch):
    """In-place edits of a result are recorded like other operations: `y = x * x; y.mul_(1.5); y.add_(x)`
    has the gradient 3x + 1."""
    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    y = x * x
    y.mul_(1.5)
    y.add_(x)
    y.sum().backward()

    assert x.grad.tolist() == [4.0, 7.0, 10.0, 13.0]


def test_c07_10_data_is_silent(torch):
    """A write through `.data` is not counted: the gradient stays right if no node saved the tensor, and it is wrong
    without any error if one did."""
    found = []
    for op in (lambda x: x * 2, lambda x: x * x):
        x = leaf(torch)
        y = op(x)
        x.data[0] = 999.0
        assert x._version == 0
        y.sum().backward()
        found.append(x.grad.tolist())

    assert found == [[2.0, 2.0, 2.0], [1998.0, 4.0, 6.0]]


def network(torch):
    """The lesson's network: its parameters by name, and its loss."""
    inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    targets = torch.tensor([[1.0], [0.0], [2.0]])
    parameters = dict(zip(["W1", "b1", "W2", "b2"], from_lesson(torch, "07", "fresh").fresh(), strict=True))
    return parameters, from_lesson(torch, "07", "forward", inputs=inputs, targets=targets).forward(*parameters.values())


def test_c07_11_only_the_second_weight(torch):
    """In a network of two linear layers with plain input data, only the second weight matrix may not be updated
    between forward and backward; the first one and both biases may."""
    parameters, loss = network(torch)
    loss.backward()
    wanted = {name: parameter.grad.tolist() for name, parameter in parameters.items()}

    for name in parameters:
        parameters, loss = network(torch)
        with torch.no_grad():
            parameters[name].mul_(0.9)
        if name == "W2":
            raises(versions(1, 0), loss.backward)
        else:
            loss.backward()
            assert {n: p.grad.tolist() for n, p in parameters.items()} == wanted

    layer, h = torch.nn.LayerNorm(3), torch.tensor([[1.0, 2.0, 4.0]])
    loss = layer(h).sum()
    with torch.no_grad():
        layer.weight.mul_(2)
    raises(CHANGED, loss.backward)
