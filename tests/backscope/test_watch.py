"""watch(): the log in words, on our engine and on real PyTorch."""

import re
import sys

import pytest

import course_lib
from backscope import draw, ledger, watch
from course_lib.engine.version import VersionCounter
from tests.backscope.refusals import raises

KINDS = "saved, version, unpacked, refused, freed, accumulated"


def words(log):
    """The log's sentences, with line numbers counted from the `with` line of the test."""
    return [sentence for _, _, sentence, _ in log.lines]


def line_here(offset=0):
    return f"test_watch.py line {sys._getframe(1).f_lineno + offset}"


def test_the_log_of_a_small_program(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with watch() as log:
        h = x * w
        e = h.exp()
        e.sum().backward()
        here = line_here()
        with torch.no_grad():
            w.add_(1.0)
    first = int(here.rpartition(" ")[2]) - 3
    assert log.text.splitlines() == [
        f" 1. saved w for MulBackward0, slot other, at version 0 (test_watch.py line {first})",
        f" 2. saved x for MulBackward0, slot self, at version 0 (test_watch.py line {first})",
        f" 3. saved e for ExpBackward0, slot result, at version 0 (test_watch.py line {first + 1})",
        " 4. unpacked e for ExpBackward0, slot result",
        " 5. freed e from ExpBackward0, slot result",
        " 6. unpacked w for MulBackward0, slot other",
        " 7. unpacked x for MulBackward0, slot self",
        " 8. freed w from MulBackward0, slot other",
        " 9. freed x from MulBackward0, slot self",
        "10. accumulated into x.grad",
        "11. accumulated into w.grad",
        f"12. w bumped to version 1 by add_ at test_watch.py line {first + 5}",
    ]
    assert str(log) == repr(log) == log.text == log._repr_mimebundle_()["text/plain"]
    assert len(log) == 12


def test_a_stale_tensor_is_refused(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with watch() as log:
        e = x.exp()
        e.add_(1)
        changed = line_here(-1)
        raises("modified by an inplace", e.sum().backward)
    assert log.only("version", "refused", "unpacked", "freed", "accumulated").text == (
        f"2. e bumped to version 1 by add_ at {changed}\n"
        "3. refused e to ExpBackward0, slot result: saved at version 0, now at version 1"
    )


WRITES = {
    "x += 1": "add_", "x[0] = 5.0": "item assignment", "x.view(2, 2)[0].mul_(2)": "mul_", "x.add_(0)": "add_",
    "torch.no_grad()(x.zero_)()": "zero_", "torch.add(torch.ones(4), 1, out=x)": "add with out=",
}  # fmt: skip


@pytest.mark.parametrize("line", WRITES)
def test_every_write_is_named(torch, line):
    x = torch.ones(4)
    with watch() as log:
        exec(compile(line, "program.py", "exec"), {"torch": torch, "x": x})
    ((_, kind, sentence, place),) = log.lines
    assert (kind, sentence) == ("version", f"x bumped to version {x._version} by {WRITES[line]}")
    assert place == "program.py line 1"


def test_data_has_a_counter_of_its_own(torch):
    x = torch.ones(4)
    apart, shared = x.data, x.detach()
    with watch() as log:
        apart.add_(1)
        shared.add_(1)
    assert words(log) == ["apart bumped to version 1 by add_", "x bumped to version 1 by add_"]
    assert (x._version, apart._version) == (1, 1)


def test_an_optimizer_is_named(torch):
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    w.sum().backward()
    with watch() as log:
        opt.step()
        place = line_here(-1)
    assert log.text == f"1. w bumped to version 1 by add_ in SGD.step at {place}"


def test_an_in_place_operation_saves_before_it_writes(torch):
    w = torch.ones(2, requires_grad=True)
    with watch() as log:
        h = w * 1.0
        h.mul_(w)
        h.exp_()
        h.sum().backward()
    assert words(log.only("saved", "version")) == [
        "saved w for MulBackward0 (2), slot other, at version 0",
        "saved the result of CloneBackward0 for MulBackward0 (2), slot self, at version 0",
        "h bumped to version 1 by mul_",
        "h bumped to version 2 by exp_",
        "saved h for ExpBackward0, slot result, at version 2",
    ]


def test_a_write_to_a_view_keeps_what_it_needs(torch):
    x = torch.ones(2, requires_grad=True)
    with watch() as log:
        b = x * 1.0
        v = b[0:1]
        v.mul_(x[0:1])
        b.sum().backward()
    kinds = [kind for _, kind, _, _ in log.lines]
    assert kinds == ["saved"] * 2 + ["version"] + ["unpacked"] * 2 + ["freed"] * 2 + ["accumulated"]
    assert "CopySlices" in words(log)[0]
    assert words(log)[2] == "b bumped to version 1 by mul_"


def test_a_written_result_that_its_own_node_saved_says_where_it_comes_from(torch):
    """A result that no name leads to is called after its node, also where the node has saved it."""

    def forward(x):
        weights = (x * 1).softmax(-1)
        weights *= torch.ones(2)
        return weights.sum()

    with watch() as log:
        forward(torch.ones(2, requires_grad=True))

    assert "the result of SoftmaxBackward0 bumped to version 1 by mul_" in str(log)


def test_modules_parameters_have_names(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    x = torch.ones(1, 2)
    with watch() as log:
        model(x).sum().backward()
    version = model[2].weight._version  # its initialization has written to it
    assert f"saved a view of model.2.weight for AddmmBackward0 (2), slot mat2, at version {version}" in words(log)
    assert [w for w in words(log) if w.startswith("accumulated")] == [
        f"accumulated into model.{name}.grad" for name in ("2.bias", "2.weight", "0.bias", "0.weight")
    ]


def test_only_keeps_numbers_and_order(torch):
    x = torch.ones(2, requires_grad=True)
    with watch() as log:
        x.exp().sum().backward()
    some = log.only("freed", "saved")
    assert [number for number, *_ in some.lines] == [1, 3]
    assert len(log) == 4, "the log itself is still whole"
    assert log.only("refused").text == "watch: no event of the kind refused among the 4 in this log."


def test_a_long_log_shows_its_ends(torch):
    x = torch.ones(2, requires_grad=True)
    with watch() as log:
        for _ in range(300):
            x.exp()
    assert len(log) == len(log.lines) == 600
    lines = log.text.splitlines()
    assert (len(lines), lines[0][:10], lines[-2][:10]) == (401, "  1. saved", "600. freed")
    assert lines[-1] == "Not shown: 200 events in the middle; log.lines has them all."
    assert lines[-1] in log.html


def test_bad_input_is_answered_in_a_sentence(torch):
    x = torch.ones(2)
    raises("watch\\(\\) takes no tensors: open it around the program", lambda: watch(x), TypeError)
    with watch() as log:
        pass
    raises(re.escape(f"there is no kind 'versions'. The kinds are: {KINDS}."), lambda: log.only("versions"), ValueError)
    raises("it needs at least one kind", log.only, ValueError)
    assert log.text.startswith("watch: nothing happened in this block that it looks for.")


def test_nothing_is_left_on_tensors(torch):
    x = torch.ones(2, requires_grad=True)
    with watch() as log:
        y = x.exp()
        with watch() as inner:
            z = x * y
        assert words(inner.only("saved"))[0].startswith("saved y for MulBackward0")
        assert x._post_accumulate_grad_hooks
    assert not x._post_accumulate_grad_hooks
    count = len(log)
    z.sum().backward()
    with torch.no_grad():
        x.add_(1)
    assert len(log) == count, "the block is over"


def test_our_counters_are_plain_again():
    x = course_lib.ones(2, requires_grad=True)
    with watch():
        y = x.exp()
        y.add_(1)
        assert type(y.version) is not VersionCounter
    assert type(x.version) is type(y.version) is VersionCounter


def test_looking_is_not_using(torch):
    """Drawing the graph, or reading a slot, is no use of a saved tensor."""
    x = torch.ones(2, requires_grad=True)
    with watch() as log:
        y = x.sin()
        draw(y)
        y.grad_fn._saved_self  # noqa: B018
    assert [kind for _, kind, _, _ in log.lines] == ["saved"]


def test_the_card_is_opaque_and_complete(torch):
    x = torch.ones(2, requires_grad=True)
    with watch() as log:
        x.exp().sum().backward()
    card = log._repr_mimebundle_()["text/html"]
    assert "background:#FFFFFF" not in card and "<script" not in card
    plain = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", card))
    for number, kind, sentence, _ in log.lines:
        assert f"{number} {kind} {sentence.removeprefix(kind).strip()}" in plain


def test_an_operation_that_saves_nothing_is_not_logged(torch):
    """x + 1 has an input that requires grad, recording is on, and the sentence says that this is not enough."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with watch() as log:
        x + 1

    assert len(log) == 0 and "x + 1 saves none even then" in log.text


def test_what_other_hooks_pack_is_not_seen_on_pytorch(torch):
    """An empty log, and an empty ledger, give this as a possible reason."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with watch() as log, ledger() as held:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = x * x

    seen = torch.__name__ == "course_lib"
    assert (len(log) == 2) == seen
    assert ("On PyTorch, what other saved-tensor hooks pack is not seen" in log.text) != seen
    assert ("or, on PyTorch, other saved-tensor hooks packed them" in str(held)) != seen
    y.sum().backward()
