"""Small programs after public reports: the lines that are named, what things are called, and the edit that cures."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "reports"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="scripts are run in forked processes")
ROLES = {"SAVED": "saved", "CHANGED": "changed", "FAILED": "failed", "BUILT": "built", "FIRST": "first", "CUT": "cut",
         "OFF": "off", "MADE": "made", "WROTE": "wrote", "JOINED": "joined", "RETURNS": "returns", "KEPT": "kept",
         "HOOK": "hook", "RAN": "ran", "FROZEN": "frozen", "MARKED": "marked",
         "VMAP": "vmap", "DREW": "drew", "AGAIN": "again", "COPIED": "copied", "OWNS": "owns",
         "COMPILE": "compile"}  # fmt: skip
SAID = {  # script -> what stands in the explanation
    "own_wrapper": ("called from", "a view of the parameter `head.weight`"),
    "list_into_numpy": (", through numpy/", ".item()"),
    "tensor_of_losses": ("torch.stack(parts)",),
    "one_of_two_relus": ("in the ReLU at `4`, built at", ":11", "Build the ReLU at `4` without"),
    "kept_from_init": ("while it was built, once", "before the first step", "the parameter `norm.bias`"),
    "in_a_thread": ("the parameter `weight`",),
    "hook_and_inplace": ("The Linear at `0`, which has a full backward hook", "in the ReLU at `1`, built at"),
    "inference_scale": ("`scale` was made in inference mode", "with torch.no_grad():"),
    "backward_writes": ("Exp.forward saved it, and Exp.backward wrote to it", "result = result * grad"),
    "per_sample_norm": ("clones of the buffers",),
    "copied_with_result": ("the attribute `last` of the Encoder at",),
    "expanded_parameter": ("the parameter `offsets` is expanded",),
    "returned_input": ("x.view_as(x).clone()",),
    "attention_penalty": ("sdpa_kernel(SDPBackend.MATH)", "whole attention matrix"),
    "evaluated_without_grad": ("this decorator switches recording off", "enable_grad"),
    "hook_made_a_leaf": ("was told to require grad", "h = h + 0.5"),
    "carried_state": ("tuple(part.detach() for part in state)",),
    "two_players": ("the parameter `critic.", "Compute this loss after the write"),
    "shared_state": ("player.state = player.state.detach()",),
    "running_sum": ("total += loss.item()", "loss.backward()"),
    "old_policy": (".gather(1, done).detach()",),
    "two_losses_one_trainer": ("trainer.update(first + second)",),
    "target_network": ("the parameter `target.", "self.target(x).detach()"),
    "all_frozen": ("all 4 parameters are frozen",),
    "steps_in_a_loop": ("a view of the parameter `trunk.2.weight`", "A loop for each"),
    "loss_as_number": ("a thing of type float", "torch.zeros(4, 1))"),
    "growing_list": ("seen = [each.detach() for each in seen]",),
    "hook_of_a_layer": ("this hook gave it back",),
    "weight_norm_copied": ("nn.utils.parametrizations.weight_norm(layer)", "the Linear at"),
    "kept_in_a_list": ("model.kept = [one.detach() for one in model.kept]",),
    "forces_of_distances": ("use_mm_for_euclid_dist", "its backward has no derivative"),
    "marked_once": ("take the mark away",),
    "branch_under_vmap": ("return torch.where(height.sum() < 0, -50 * height, torch.zeros_like(height))",),
    "index_under_vmap": ("codes[nearest[None]][0]",),
    "slots_under_vmap": ("path.append(x)", "path = torch.stack(path)"),
    "sum_under_vmap": ("A function under vmap writes in place", "total = total + (weight * one).sum()"),
    "unscaled_twice": ("The gradients are unscaled already",),
    "computed_leaf": (".detach().requires_grad_()",),
    "loss_of_each_sample": ("fabric.backward(loss.mean())",),
    "penalty_of_a_copy": ("critic(mixed.clone())",),
    "fast_weights": ("fast = [w - 0.1 * g for w, g in zip(fast, slopes, strict=True)]",),
    "loss_before_the_closure": ("Compute the loss in the closure",),
    "fake_handed_over": ("critic_step(fake.detach())",),
    "scale_made_once": ("@property", "return nn.functional.softplus(self.rho)"),
    "kept_sum": ("loss = self.net(x).pow(2).mean() / 4", "self.total + loss.item()"),
    "kept_in_a_dict": ('kept["out"] = kept["out"] / output.norm()',),
    "rows_shortened": ("items.weight.T.clone()",),
    "inner_passes_between": (),
    "compiled_players": ("Compute this loss after the write", "the parameter `critic."),
    "compiled_twice_through": ("(first + second).backward()",),
    "weights_without_history": ("detach() makes a copy without history", "weights = [w for w in net.parameters()]"),
    "plain_input": ("`start` was made here", "positions.requires_grad_()"),
    "norm_under_vmap": ("the BatchNorm1d at `1`", "nn.BatchNorm1d(4, track_running_stats=False)"),
    "scaled_copy": ("the optimizer has the parameters of `model`", "torch.optim.SGD(runs.parameters(), lr=0.1)"),
    "skipped_at_random": ("does not restore Python's generator", "torch.empty(()).uniform_(0, 1).item() < rate"),
    "off_for_good": ("also after this function has returned", "with torch.no_grad():"),
}


@pytest.fixture(scope="module")
def told(real_torch, tmp_path_factory):
    """{name: what the explanation says}, for every script of the folder; they run in processes of their own."""
    out = tmp_path_factory.mktemp("reports")
    call = [sys.executable, str(HERE.parent / "run_reports.py"), str(out), *map(str, sorted(HERE.glob("*.py")))]
    root = str(HERE.parent.parent.parent)
    environment = os.environ | {"PYTHONPATH": root, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    subprocess.run(call, check=True, timeout=240, env=environment)
    return {path.stem: json.loads(path.read_text()) for path in out.glob("*.json")}


def marks(path):
    """{role: line numbers} of the marks in a script; callers stand below other lines, and are looked for apart."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for word in line.partition("  # ")[2].split():
            found.setdefault(ROLES.get(word, word), set()).add(number)
    return found


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.py")))
def test_a_report_gets_its_lines_its_names_and_a_cure(told, name):
    """Each marked line and no other; and the script ends without an error when the first edit has been made."""
    found, want = told[name], marks(HERE / f"{name}.py")
    got, callers = {}, set()
    for role, number, called_from in found["lines"]:
        got.setdefault(role, set()).add(number)
        callers.update(called_from)
    built = want.pop("BUILT_HERE", set())

    assert want.pop("CALLER", set()) <= callers
    assert got == want
    assert built <= {int(number) for number in re.findall(r"built at \S+:(\d+)", found["text"])}
    for words in SAID[name]:
        assert words in " ".join(found["text"].split())
    assert found.get("end") == (None if name in NO_EDIT else "no error")


NO_EDIT = ("hook_of_a_layer",)
