"""The claims of lesson 15, reading PyTorch, on our engine and on real PyTorch.

What our engine has not (autocast, the compiler, DDP) is proved on PyTorch by making the records anew; on our engine the
test reads the record that the lesson prints.
"""

import contextlib
import functools
import re
import warnings

import pytest

from backscope.memory.ledger import ledger
from coursekit.records import made, records
from coursekit.records.differences import DIFFERENCES
from coursekit.records.programs import PROGRAMS
from coursekit.records.sources import ENGINE, sources
from lessons.claims_kit import CHANGED, FREED, from_lesson, function, names_behind, nodes_behind, raises

DETACHED = "detached in-place"


@functools.cache
def made_now():
    """All records, made on this machine's PyTorch in one process; each is what the lesson prints. Of C++ functions only
    the one that raised is compared: the others are often inlined, and which ones differs from build to build."""
    found, kept = made(*PROGRAMS), records()
    for name in PROGRAMS:
        one, other = found[name], kept[name]
        if name == "who raised it":
            one, other = ([line.partition(", ")[0] for line in text.splitlines()] for text in (one, other))
        assert one == other, name
    return found


def shown(torch, name):
    """A record as it was printed: by this PyTorch just now, or in the lesson."""
    return (made_now() if torch.__name__ == "torch" else records())[name]


def lesson(torch, *in_place):
    """The lesson's transformer, as it is cured there; of its lines these may write: "x", "weights"."""
    cured = "|".join({"x", "weights"}.difference(in_place))
    names = ("starts", "steps", "letters", "text", "Attention", "Block", "Transformer", "loss_of")
    return from_lesson(
        torch, 15, *names, edit=lambda text: re.sub(rf"\b({cured}) ([+*])= (.+)", r"\1 = \1 \2 (\3)", text)
    )


def begin(torch):
    return from_lesson(torch, 15, "begin").begin()


def test_c15_1_names_of_a_layer(torch):
    """A linear layer on an input of three dimensions leaves nodes named ViewBackward0, TBackward0 and AddmmBackward0,
    and none that is named after the layer."""
    y = torch.nn.Linear(3, 5)(torch.ones(2, 4, 3, requires_grad=True))

    assert sorted(names_behind(y)) == sorted(
        ["ViewBackward0", "ViewBackward0", "TBackward0", "AddmmBackward0", *["AccumulateGrad"] * 3]
    )


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
    """The graph of a transformer has one AccumulateGrad for each parameter and one AddmmBackward0 for each linear
    layer."""
    own = lesson(torch)
    model = own.Transformer()
    names = names_behind(own.loss_of(model))

    assert names.count("AccumulateGrad") == len(list(model.parameters()))
    assert names.count("AddmmBackward0") == sum(isinstance(each, torch.nn.Linear) for each in model.modules())


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
    """Of six tables in attention three are saved, the result of softmax, the mask that drops and what is left after
    it; what attention saves grows with the square of the length of the text."""
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


def test_c15_6_our_file_and_theirs(torch):
    """Every file of our engine names the files of PyTorch that it stands for."""
    found = sources()

    assert sorted(found) == sorted(f"engine/{file.name}" for file in ENGINE.glob("*.py") if file.stem != "__init__")
    assert all(re.match(r"[\w/]+\.(h|cpp|py|yaml)\b|[\w/*]+\.cpp", theirs) for theirs in found.values())
    assert found["engine/saved.py"].startswith("torch/csrc/autograd/saved_variable.h")


def test_c15_7_who_raises(torch):
    """The errors about a freed and about an overwritten saved tensor both come from SavedVariable::unpack, which a
    node calls when Engine::evaluate_function runs it."""
    lines = dict(line.split(": ", 1) for line in shown(torch, "who raised it").splitlines())

    for name, node in (("freed", "MulBackward0::apply"), ("changed", "SinBackward0::apply")):
        functions = lines[name].split(", ")
        assert functions[:2] == ["SavedVariable::unpack", node]
        assert "Engine::evaluate_function" in functions


def test_c15_8_which_question_comes_first(torch):
    """A freed slot is reported before a detached tensor, and that before a changed version; with hooks no version is
    compared, and a detach_() of a node's own result does no harm."""

    def after(*edits, op=torch.sin, hooked=False):
        """x, the result of op, and its sum, after what `edits` names: a pass, a write, detach_() of what was saved."""
        x, h = begin(torch)
        saving = torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda p: p)
        with saving if hooked else contextlib.nullcontext():
            result = op(h)
        y, kept = result.sum(), result if op is torch.exp else h
        for edit in edits:
            {"pass": y.backward, "write": lambda: kept.mul_(2), "detach": lambda: kept.detach_()}[edit]()
        return x, result, y

    raises(FREED, after("pass", "write", "detach")[2].backward)
    raises(DETACHED, after("write", "detach")[2].backward)
    x, _, y = after("write", hooked=True)
    y.backward()
    assert x.grad.tolist() == pytest.approx(x.cos().tolist())
    x, result, y = after("detach", op=torch.exp)
    y.backward()
    assert x.grad.tolist() == pytest.approx(result.tolist())
    raises(CHANGED, after("write", "detach", op=torch.exp)[2].backward)


def test_c15_9_what_is_read(torch):
    """A saved input is read as the very tensor that was saved, a saved result as a new tensor with the same memory and
    the same node."""
    x, h = begin(torch)
    sine, exponential = h.sin(), h.exp()
    kept = exponential.grad_fn._saved_result

    assert sine.grad_fn._saved_self is h and x.cos().grad_fn._saved_self is x
    assert kept is not exponential and kept is not exponential.grad_fn._saved_result
    assert kept.data_ptr() == exponential.data_ptr() and kept.grad_fn is exponential.grad_fn


def test_c15_10_the_name_in_the_message(torch):
    """The version error names the last recorded write for a saved input, the saving node itself for its own result,
    and nothing for a leaf."""
    _, h = begin(torch)
    y = h.sin().sum()
    h.mul_(2)
    h.add_(1)
    raises("output 0 of Add, is at version 2", y.backward)
    _, h = begin(torch)
    e = h.exp()
    y = e.sum()
    e.add_(1)
    raises("output 0 of Exp, is at version 1", y.backward)
    x, _ = begin(torch)
    y = x.sin().sum()
    with torch.no_grad():
        x.add_(1)
    raises(r"\[2\]\] is at version 1", y.backward)


def test_c15_11_half_a_pass(torch):
    """After an error in a backward pass, the leaves that were served have their gradient, the others have none, and
    without retain_graph the nodes that had run are freed."""
    w = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(4)]
    h0 = torch.ones(2) * w[0]
    h1 = h0 * w[1]
    h2 = h1 * w[2]
    h3 = h2 * w[3]
    loss, older = h3.sum(), h1.grad_fn
    h1.mul_(2)
    raises(CHANGED, loss.backward)

    assert [each.grad is None for each in w] == [True, True, True, False]
    assert w[3].grad.tolist() == [1.0, 8.0]
    raises(FREED, lambda: h3.grad_fn._saved_self)
    assert older._saved_self is h0  # it never ran


def test_c15_12_checked_released_delivered(torch):
    """A node whose gradient has a wrong shape still has what it saved, and one whose gradient is not a number has it
    no more."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    _, h = begin(torch)
    y = function(torch, forward, lambda ctx, grad: torch.ones(3)).apply(h)
    raises(r"invalid gradient at index 0 - got \[3\]", y.sum().backward)
    assert y.grad_fn.saved_tensors[0].tolist() == [1.0, 2.0]
    root = (h * 0).sqrt()
    with warnings.catch_warnings(action="ignore"), torch.autograd.set_detect_anomaly(True):
        raises("returned nan values in its 0th output", (root * 0).sum().backward)
    raises("after they have already been freed", lambda: root.grad_fn._saved_result)


def test_c15_13_autocast(torch):
    """autocast copies a parameter of a linear layer once in a block, with a ToCopyBackward0, even if the parameter is
    changed in the block, and gradients arrive in the type of the parameter."""
    twice, once = shown(torch, "autocast, one layer twice"), shown(torch, "autocast")

    ends = re.findall(r"^ToCopyBackward0 +-> (\w+)$", twice, re.MULTILINE)
    assert sorted(ends) == ["bias", "weight"]
    assert twice.count("AddmmBackward0             ->") == 2
    assert "gradient of a weight: torch.float32" in once and "scores: torch.bfloat16" in once
    assert shown(torch, "autocast, and a write").splitlines() == [
        "after the write: 1.0 times as large", "in a new block: 10 times as large",
    ]  # fmt: skip


def test_c15_14_compile(torch):
    """A compiled function is one CompiledFunctionBackward for each piece between two breaks, and what it saves is
    checked for its version."""
    made_by = r"^CompiledFunctionBackward +->"

    assert len(re.findall(made_by, shown(torch, "compile"), re.MULTILINE)) == 1
    assert len(re.findall(made_by, shown(torch, "compile, with a break"), re.MULTILINE)) == 2
    assert "TanhBackward0" not in shown(torch, "compile")
    assert re.search(r"\[2, 4\]\] is at version \d; expected version \d", shown(torch, "compile, and a write"))


def test_c15_15_ddp(torch):
    """DistributedDataParallel adds no node to the graph, and with find_unused_parameters=True one."""
    plain, _, unused = shown(torch, "DDP").partition("with {'find_unused_parameters': True}\n")
    nodes = [[line.split()[0] for line in part.splitlines() if "->" in line] for part in (plain, unused)]
    usual = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))(torch.ones(3, 4)).sum()

    assert sorted(nodes[0]) == sorted(name for name in names_behind(usual) if name != "AccumulateGrad")
    assert [name for name in nodes[1] if name not in nodes[0]] == ["_DDPSinkBackward"]


@pytest.mark.filterwarnings("ignore:Error detected")
def test_c15_16_the_differences(torch):
    """Our engine and PyTorch give each its own answer to every row of the table of differences."""
    theirs = torch.__name__ == "torch"
    wrong = {
        row.asked: found for row in DIFFERENCES if (found := row.program(torch)) != (row.theirs if theirs else row.ours)
    }

    assert wrong == {}
    assert all(row.ours != row.theirs for row in DIFFERENCES)


def test_c15_17_attention_by_a_kernel(torch):
    """scaled_dot_product_attention of PyTorch is one node on a CPU and saves no table, so what it saves grows with the
    length of the text."""
    lines = dict(line.split(": ", 1) for line in shown(torch, "attention, two ways").splitlines())
    short, long = lines["256 places, by_the_kernel"], lines["512 places, by_the_kernel"]
    assert short == "32,768 bytes, and ends in ScaledDotProductFlashAttentionForCpuBackward0"
    assert long.startswith(f"{2 * 32_768:,} bytes")
    assert lines["256 places, by_hand"].startswith("548,864 bytes")
