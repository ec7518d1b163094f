"""The claims of lesson 15, reading PyTorch, on our engine and on real PyTorch.

What our engine has not, a kernel for attention, is proved on PyTorch by making the record anew; on our engine the test
reads the record that the lesson prints.
"""

import re

import pytest

from backscope.memory.ledger import ledger
from lessons.claims_kit import CHANGED, from_lesson, names_behind, nodes_behind, raises, shown


def lesson(torch, *in_place):
    """The lesson's transformer, as it is cured there; of its lines these may write: "x", "weights"."""
    cured = "|".join({"x", "weights"}.difference(in_place))
    names = ("starts", "steps", "letters", "text", "target", "Attention", "Block", "Transformer", "loss_of")
    return from_lesson(
        torch, 15, *names, edit=lambda text: re.sub(rf"\b({cured}) ([+*])= (.+)", r"\1 = \1 \2 (\3)", text)
    )


def test_c15_1_names_of_a_layer(torch):
    """A linear layer with a bias on a contiguous input of three dimensions leaves nodes named ViewBackward0, TBackward0
    and AddmmBackward0, and none that is named after the layer."""
    for shape in ((2, 4, 3), (1, 1, 3), (3, 3, 3)):
        y = torch.nn.Linear(3, 5)(torch.ones(shape, requires_grad=True))
        assert sorted(names_behind(y)) == sorted(
            ["ViewBackward0", "ViewBackward0", "TBackward0", "AddmmBackward0", *["AccumulateGrad"] * 3]
        )
    turned = torch.ones(4, 2, 3, requires_grad=True).transpose(0, 1)
    for layer, x in ((torch.nn.Linear(3, 5, bias=False), torch.ones(2, 4, 3)), (torch.nn.Linear(3, 5), turned)):
        assert "MmBackward0" in names_behind(layer(x)) and "AddmmBackward0" not in names_behind(layer(x))


def test_c15_2_digits(torch):
    """Nodes are named after the operation that ran, and the digit tells its forms apart: SumBackward0 is a sum over
    everything, SumBackward1 one over a dimension."""
    x, F = torch.ones(2, 2, requires_grad=True), torch.nn.functional

    found = [y.grad_fn.name() for y in (x.sum(), x.sum(0), x.mean(), x.mean(1), x**2, 2**x, F.dropout(x))]
    assert found == [
        "SumBackward0", "SumBackward1", "MeanBackward0", "MeanBackward1", "PowBackward0", "PowBackward2",
        "MulBackward0",
    ]  # fmt: skip


def test_c15_3_a_layer_and_its_nodes(torch):
    """The graph of this transformer has one AccumulateGrad for each parameter and one AddmmBackward0 for each of its
    linear layers, all of which have a bias."""
    own = lesson(torch)
    model = own.Transformer()
    names = names_behind(own.loss_of(model))

    assert names.count("AccumulateGrad") == len(list(model.parameters()))
    layers = [each for each in model.modules() if isinstance(each, torch.nn.Linear)]
    assert names.count("AddmmBackward0") == len(layers) and all(each.bias is not None for each in layers)


def test_c15_4_writes_and_their_cure(torch):
    """A layer norm saves its input and softmax its result: with a write into either backward raises, and with the same
    lines out of place the model trains."""
    for line, maker in (("x", "Add"), ("weights", "Softmax")):
        own = lesson(torch, line)
        raises(f"{CHANGED}.*output 0 of {maker}, is at version", own.loss_of(own.Transformer()).backward)
    torch.manual_seed(0)
    own = lesson(torch)
    model = own.Transformer()
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.01), []
    for _ in range(30):
        optimizer.zero_grad()
        loss = own.loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_c15_5_what_attention_saves(torch):
    """Of six tables in attention that is written out three are saved, the result of softmax, the mask that drops and
    what is left after it; what attention saves grows with the square of the length of the text."""
    q, k, v = [torch.ones(6, 4, requires_grad=True) * 1 for _ in range(3)]
    scores = q @ k.transpose(-2, -1)
    scaled = scores / 2
    masked = scaled.masked_fill(torch.ones(6, 6).triu(1) == 1, float("-inf"))
    weights = masked.softmax(-1)
    keep = torch.rand(6, 6) > 0.1
    dropped = weights * keep
    slots = ("_saved_self", "_saved_other", "_saved_result", "_saved_mat2", "_saved_mask")
    held = [getattr(node, slot, None) for node in nodes_behind(dropped @ v) for slot in slots]
    places = {each.data_ptr() for each in held if isinstance(each, torch.Tensor)}
    assert [each.data_ptr() in places for each in (scores, scaled, masked)] == [False] * 3
    assert [each.data_ptr() in places for each in (weights, keep, dropped)] == [True] * 3

    peaks, module = [], lesson(torch).Attention(8, 2)
    for time in (64, 128, 256):
        with ledger(leaves=False) as kept:
            module(torch.ones(1, time, 8, requires_grad=True) * 1)
        peaks.append(kept.peak)
    first, second = (peaks[1] - 2 * peaks[0], peaks[2] - 2 * peaks[1])  # what is linear in the time falls out
    assert second == pytest.approx(4 * first, rel=0.02)


def test_c15_6_attention_by_a_kernel(torch):
    """Called with is_causal alone, scaled_dot_product_attention of PyTorch is one node on a CPU and saves no table, so
    what it saves grows with the length of the text."""
    said = shown(torch, "attention, two ways")
    sizes = {
        int(time): [int(size.replace(",", "")) for size in (by_hand, kernel)]
        for time, by_hand, kernel in re.findall(r"(\d+) places: +([\d,]+) bytes by hand, +([\d,]+) bytes by", said)
    }

    assert "by_the_kernel ends in ScaledDotProductFlashAttentionForCpuBackward0" in said
    assert {time: kernel for time, (_, kernel) in sizes.items()} == {t: 4 * 2 * t * 4 * 4 for t in (16, 64, 256, 1024)}
    by_hand = from_lesson(torch, 15, "by_hand").by_hand
    for time in (16, 256):
        with ledger(leaves=False) as kept:
            by_hand(*[torch.ones(1, 2, time, 4, requires_grad=True) * 1 for _ in range(3)])
        assert kept.peak == sizes[time][0]


def test_c15_7_off_the_kernel(torch):
    """On a CPU, scaled_dot_product_attention of PyTorch saves tables if its mask requires grad or dropout_p is not 0;
    its node has no second derivative."""
    said = shown(torch, "attention, off the kernel")
    found = re.findall(r"^(\S+) +([\d,]+) bytes$", said, re.MULTILINE)
    sizes = {what: int(size.replace(",", "")) for what, size in found}
    table = 2 * 256 * 256 * 4

    assert all(sizes[what] < table for what in ("is_causal=True", "attn_mask=fixed"))
    assert sizes["attn_mask=learned"] >= table and sizes["dropout_p=0.1"] >= 2 * table
    assert "a second derivative: derivative for" in said and "is not implemented" in said
    assert "called with no options - by hand" in said and "called with {'need_weights': False} - the kernel" in said
