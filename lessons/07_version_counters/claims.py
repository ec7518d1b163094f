"""The claims of lesson 07, version counters, on our engine and on real PyTorch."""

import re
import runpy
import warnings

import pytest

from lessons.claims_kit import CHANGED, LESSONS, from_lesson, leaf, raises


def versions(seen, expected):
    """A pattern for the end of the message."""
    return rf"{CHANGED}.* is at version {seen}; expected version {expected} instead"


def test_c07_1_in_place_ops_add_one(torch):
    """Every in-place operation that writes to a tensor adds one to its version, even under no_grad and even if no
    value changes."""
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
    """A node notes the version of a tensor when it saves it, and reading the slot raises if the version has changed
    since, even if the values have not."""
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
    """An in-place operation on a leaf that requires grad raises at once and changes nothing; under no_grad
    it is allowed, and counts."""
    x = leaf(torch)
    raises("a leaf Variable that requires grad is being used in", lambda: x.mul_(2))

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
    x, t = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([[1.0], [0.0], [2.0]])
    parameters = dict(zip(["W1", "b1", "W2", "b2"], from_lesson(torch, "07", "fresh").fresh(), strict=True))
    return parameters, from_lesson(torch, "07", "forward", x=x, t=t, **parameters).forward()


def test_c07_11_only_the_second_weight(torch):
    """In a network with one hidden layer and plain input data, only the second weight matrix may not be updated
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


def test_c07_12_retaining_is_no_cure(torch):
    """After an in-place update of a saved weight, retain_graph=True does not make a second backward
    possible."""
    parameters, loss = network(torch)
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)  # without an update it is possible
    with torch.no_grad():
        parameters["W2"].sub_(0.1 * parameters["W2"].grad)
    raises(versions(1, 0), loss.backward)


def test_c07_13_anomaly_mode(torch):
    """Anomaly mode, switched on before the forward pass, names the line that saved the tensor."""
    x, told = leaf(torch, 4.0, 9.0), []
    for early in (True, False):
        with warnings.catch_warnings(record=True, action="always") as caught:
            with torch.autograd.set_detect_anomaly(early):
                a = x.sqrt()  # the line that saves
                a += 1  # the line that writes
                with torch.autograd.set_detect_anomaly(True):
                    raises(CHANGED, a.sum().backward)
        told.append("\n".join(str(warning.message) for warning in caught))

    assert "a = x.sqrt()" in told[0] and "a = x.sqrt()" not in told[1]
    assert "No forward pass information available" in told[1]


def quoted(first_words):
    """A fenced block of the lesson's text, by the words in its first line."""
    (source,) = LESSONS.glob("07_*/lesson.py")
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in source.read_text("utf-8").splitlines())
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if first_words in block.splitlines()[0]]
    return block.splitlines()


def test_c07_16_anomaly_mode_as_it_is_printed(torch, tmp_path):
    """In anomaly mode PyTorch first warns, with the traceback of the forward call that saved, and then raises."""
    script = tmp_path / "train.py"
    program = "\n".join(line[4:] for line in quoted(" 1  import torch"))
    script.write_text(program.replace("import torch", f"import {torch.__name__} as torch"), "utf-8")
    with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError) as error:
        runpy.run_path(str(script))
    told = str(caught[0].message).replace(str(tmp_path), "…").splitlines()
    warning, *frames = quoted("UserWarning: Error detected in")

    assert warning.endswith(told[0])
    assert "\n".join(frames[:4]) in "\n".join(line for line in told if line.strip(" ^~"))
    assert f"RuntimeError: {error.value}".startswith(frames[-1])


def test_c07_14_inplace_and_out(torch):
    """A module with `inplace=True` and an operation with `out=` write in place too: both count, and both make a saved
    tensor stale."""
    nn = torch.nn
    for write in (
        nn.ReLU(inplace=True), nn.Dropout(0.5, inplace=True), nn.LeakyReLU(inplace=True),
        lambda h: nn.functional.relu(h, inplace=True), lambda h: nn.functional.dropout(h, 0.5, inplace=True),
    ):  # fmt: skip
        h = leaf(torch).sigmoid()
        assert write(h) is h and h._version == 1
        raises("output 0 of Sigmoid, is at version 1; expected version 0 instead", h.sum().backward)

    factor = torch.ones(3)
    y = leaf(torch) * factor
    assert torch.add(factor, 1, out=factor) is factor and factor._version == 1
    raises(versions(1, 0), y.sum().backward)


def test_c07_15_relu_in_place(torch):
    """A ReLU with `inplace=True` may follow a linear layer, which did not save its result; but every other name for
    that result sees the overwritten numbers, without any error."""
    x, relu = leaf(torch), torch.nn.ReLU(inplace=True)
    layer = torch.nn.Linear(3, 2)
    slopes = [torch.autograd.grad(last(layer(x)).sum(), x)[0].tolist() for last in (torch.nn.ReLU(), relu)]
    assert slopes[0] == slopes[1]

    h = x - 2.0
    skip = h
    y = relu(h) + skip
    assert y.tolist() == [0.0, 0.0, 2.0]  # and not -1, 0, 2
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0]  # right for what was computed
