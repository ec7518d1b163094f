"""The claims of part 15c, what autocast, the compiler and DDP put into a graph, on our engine and on real PyTorch.

Our engine has none of them. So they are proved on PyTorch by making the records anew; on our engine the test reads the
record that the lesson prints.
"""

import re

import pytest

from coursekit.records.differences import DIFFERENCES
from lessons.claims_kit import names_behind, shown


def test_c15c_1_autocast(torch):
    """autocast copies a parameter of a linear layer that requires grad once in a block, with a ToCopyBackward0, even if
    the parameter is changed in the block; gradients arrive in the type of the parameter."""
    twice, once = shown(torch, "autocast, one layer twice"), shown(torch, "autocast")

    ends = re.findall(r"^ToCopyBackward0 +-> (\w+)$", twice, re.MULTILINE)
    assert sorted(ends) == ["bias", "weight"]
    assert twice.count("AddmmBackward0             ->") == 2
    assert "gradient of a weight: torch.float32" in once and "scores: torch.bfloat16" in once
    first, frozen, new, steps = shown(torch, "autocast, and a write").splitlines()
    assert first == "after the write: 1.0 times as large" and new == "in a new block: 10.0 times as large"
    assert float(re.search(r"[\d.]+", frozen)[0]) == pytest.approx(10, rel=0.05)
    assert len({*re.findall(r"\d\.\d+", steps)}) == 1


def test_c15c_2_compile(torch):
    """A compiled network is one CompiledFunctionBackward, with a break two, and what it saves is checked for its
    version."""
    made_by = r"^CompiledFunctionBackward +->"

    assert len(re.findall(made_by, shown(torch, "compile"), re.MULTILINE)) == 1
    assert len(re.findall(made_by, shown(torch, "compile, with a break"), re.MULTILINE)) == 2
    assert "TanhBackward0" not in shown(torch, "compile")
    assert re.search(r"\[2, 4\]\] is at version \d; expected version \d", shown(torch, "compile, and a write"))


def test_c15c_3_ddp(torch):
    """With its default options DistributedDataParallel adds no node to the graph, and with find_unused_parameters=True
    one."""
    plain, _, unused = shown(torch, "DDP").partition("with {'find_unused_parameters': True}\n")
    nodes = [[line.split()[0] for line in part.splitlines() if "->" in line] for part in (plain, unused)]
    usual = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))(torch.ones(3, 4)).sum()

    assert sorted(nodes[0]) == sorted(name for name in names_behind(usual) if name != "AccumulateGrad")
    assert [name for name in nodes[1] if name not in nodes[0]] == ["_DDPSinkBackward"]


@pytest.mark.filterwarnings("ignore:Error detected")
def test_c15c_4_the_differences(torch):
    """Our engine and PyTorch give each its own answer to every row of the table of differences."""
    theirs = torch.__name__ == "torch"
    wrong = {
        row.asked: found for row in DIFFERENCES if (found := row.program(torch)) != (row.theirs if theirs else row.ours)
    }

    assert wrong == {}
    assert all(row.ours != row.theirs for row in DIFFERENCES)


def test_c15c_5_two_cuts(torch):
    """AOTAutograd writes one joint graph and cuts it in two; at the default cut of sin, cos, sin three tensors are
    saved, at the minimal cut only the input, and backward computes the others again."""
    default, _, minimal = shown(torch, "compile, in two halves").partition("min_cut_rematerialization_partition\n")
    joint, forward, backward = (
        [re.search(rf"^{half} +(.+)$", part, re.MULTILINE)[1].split() for part in (default, minimal)]
        for half in ("joint", "forward", "backward")
    )

    assert joint[0] == joint[1] == forward[0] + backward[0] and forward[0] == forward[1] == ["sin", "cos", "sin", "sum"]
    assert [part.count("saved tensors: 3") for part in (default, minimal)] == [1, 0] and "saved tensors: 1" in minimal
    assert backward[1] == ["expand", "sin", "cos", *backward[0][1:]]
