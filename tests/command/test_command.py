"""`python -m backscope`: on broken scripts the planted lines, on doubtful ones the doubt, else silence."""

import gc
import os
import re
import runpy
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from backscope.script import command, findings
from backscope.script import recorder as recorder_module
from backscope.script.doubts import Doubts
from backscope.script.recorder import Recorder
from tests.command.scripts import scripts

pytestmark = pytest.mark.check  # scripts on PyTorch

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ROLES = {"SAVED": "saved", "CHANGED": "changed", "FAILED": "failed", "BUILT": "built", "FIRST": "first"}
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="scripts are run in forked processes")


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def runs(real_torch, tmp_path_factory):
    """{"plain" or "explained": {name: what the script said, and its exit status}}, for every script of this folder."""
    out, paths = tmp_path_factory.mktemp("scripts"), []
    for name, source in (scripts("broken") | scripts("doubtful") | scripts("healthy")).items():
        paths.append(out / f"{name}.py")
        paths[-1].write_text(source, encoding="utf-8")
    call = [sys.executable, str(HERE / "run_scripts.py"), str(out), *map(str, paths)]
    subprocess.run(call, check=True, timeout=240, env=environment())

    def said(path):
        texts = {kind: path.with_suffix(f".{kind}").read_text() for kind in ("out", "err", "status")}
        return SimpleNamespace(**texts, report=path.with_suffix(".html"))

    return {how: {path.stem: said(out / how / path.stem) for path in paths} for how in ("plain", "explained")}


STARTER = re.compile(r'  File "[^"]*(?:run_scripts|script/command)\.py", line .*\n(?:    .*\n)*')


def without_starter(err):
    """A traceback without the frames of what runs the scripts here."""
    return STARTER.sub("", err)


def planted(source):
    """{role: line numbers} of the marks in a script."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        for word in line.partition("  # ")[2].split():
            if word in ROLES:
                found.setdefault(ROLES[word], set()).add(number)
    return found


def told(err, name):
    """{role: line numbers} of what the explanation says about this file."""
    found = {}
    for role, number in re.findall(rf"^  (\w+) +\S*{name}\.py:(\d+)", err, re.MULTILINE):
        found.setdefault(role, set()).add(int(number))
    return found


@pytest.mark.parametrize("name", scripts("broken"))
def test_a_broken_script_gets_its_lines(runs, name):
    """The line that saved, the one that changed it, the one that failed; the rest is what Python itself says."""
    plain, explained = runs["plain"][name], runs["explained"][name]
    want, got = planted(scripts("broken")[name]), told(explained.err, name)

    assert want.pop("saved", None) == got.pop("saved", None)
    assert want.pop("changed", set()) <= got.pop("changed", set())
    assert want.items() <= got.items()
    assert (explained.out, explained.status) == (plain.out, plain.status) == (plain.out, "1")
    assert without_starter(explained.err).startswith(without_starter(plain.err))
    page = explained.report.read_text(encoding="utf-8")
    assert "<mark>" in page and "data:image/svg+xml" in page and "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize("name", scripts("doubtful"))
def test_a_doubtful_script_gets_its_doubts(runs, name):
    """Each marked line, the words that stand beside the mark, and no other line."""
    explained, plain = runs["explained"][name], runs["plain"][name]
    marks = {
        number: line.partition("# DOUBT")[2].strip()
        for number, line in enumerate(scripts("doubtful")[name].splitlines(), 1)
        if "# DOUBT" in line
    }

    assert told(explained.err, name).get("doubt") == set(marks)
    said = re.sub("# DOUBT.*", "", explained.err)  # the source lines are printed, too
    for words in marks.values():
        assert words in said
    assert (explained.out, explained.status) == (plain.out, plain.status)


@pytest.mark.parametrize("name", scripts("healthy"))
def test_a_healthy_script_is_left_alone(runs, name):
    """The same output, the same errors, the same exit status; nothing is doubted."""
    plain, explained = runs["plain"][name], runs["explained"][name]

    assert vars(plain) | {"report": 0} == vars(explained) | {"report": 0}
    assert not explained.report.exists()


@pytest.mark.parametrize("name", ["backscope"])
def test_both_names_are_the_command(monkeypatch, name):
    """`python -m` with either name hands its words on."""
    handed = []
    monkeypatch.setattr(command, "main", handed.append)
    monkeypatch.setattr(sys, "argv", [name, "train.py", "x"])
    runpy.run_module(name, run_name="__main__")

    assert handed == [["train.py", "x"]]


def test_the_command_as_it_is_typed(real_torch, tmp_path):
    """A process of its own: sys.argv and __file__ are the script's, its traceback Python's, the status 1."""
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, torch\nprint(sys.argv[1:], __name__, __file__ == sys.modules['__main__'].__file__)\n"
        "w = torch.ones(2, requires_grad=True)\ny = w.exp()\nz = y * 2\ny += 1\n"
        "z.sum().backward(), y.sum().backward()\n"
    )
    call = [sys.executable, "-m", "backscope", "train.py", "--doubts", "x"]
    done = subprocess.run(call, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)

    assert done.stdout == "['--doubts', 'x'] __main__ True\n"
    assert done.returncode == 1
    assert f'File "{script}", line 7' in done.stderr
    assert "backscope/" not in done.stderr
    assert re.search(r"saved +train.py:4", done.stderr) and re.search(r"changed +train.py:6", done.stderr)
    assert (tmp_path / "explained.html").exists()


START = """import copy
import torch
from torch import nn
net = nn.Linear(3, 2)
x = torch.randn(4, 3)
"""
CUTS = {  # a script's end, the line that cuts and what is said of it, how its cure begins
    "detach": ("y = net(x).detach()\ny.exp().T.sum().backward()", 6, "detach() leaves the history", "Leave it out"),
    "data": ("y = [net(x).data]\ntorch.stack(y).sum().backward()", 6, "`.data` is a tensor with", "Leave it out"),
    "argmax": ("y = net(x).argmax(1).float()\ny.mean().backward()", 6, "argmax gives integers or", "Compute the"),
    "mask before it": ("y = net(x)\ny = (y > 0) * y.detach()\ny.sum().backward()", 7, "detach() leaves", "Leave it"),
    "no_grad": ("with torch.no_grad():\n    y = net(x)\ny.sum().backward()", 7, "linear ran while rec", "Take that"),
    "penalty": (
        "x.requires_grad_()\n(g,) = torch.autograd.grad(net(x).sum(), x)\ng.norm().backward()",
        7, "grad() gave gradients without a history: it was not told create_graph=True", "Ask for that gradient with",
    ),
    "checkpoint": (
        "from torch.utils.checkpoint import checkpoint\ny = checkpoint(net, x, use_reentrant=True)\ny.sum().backward()",
        7, "no tensor that CheckpointFunction was given requires grad", "Give the Function",
    ),
    "item": (
        "losses = [net(x).pow(2).mean().item()]\ntorch.tensor(losses).mean().backward()",
        6, "item() took a number out of the graph", "Keep tensors",
    ),
}  # fmt: skip


def found_in(torch, folder, program):
    """The Finding of a script that raises."""
    path = folder / "script.py"
    path.write_text(START + program + "\n")
    recorder = Recorder(torch)
    with pytest.raises((RuntimeError, AttributeError)) as caught, recorder:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    assert not recorder.failed
    return findings.find(caught.value, recorder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CUTS)
def test_the_line_that_cut_the_history_is_named(real_torch, tmp_path, name):
    """backward() from a tensor without a history: where it was lost, and the cure for that kind of loss."""
    program, line, said, cure = CUTS[name]
    finding = found_in(real_torch, tmp_path, program)
    others = "made", "failed", "off"
    cuts = [(each.role.rstrip("?"), each.number) for each in finding.lines if each.role not in others]

    assert cuts == [("cut", line)] and not finding.notes
    assert said in finding.lines[0].what
    assert finding.explanation.cures[0].startswith(cure)


def test_where_nothing_was_cut_that_is_said(real_torch, tmp_path):
    """Frozen parameters: no line is blamed, also not one that logs a loss."""
    log = "loss = net(x).sum()\nloss.backward()\nloss.item()\n"
    finding = found_in(real_torch, tmp_path, log + "net.requires_grad_(False)\nnet(x).sum().backward()")

    assert [line.role for line in finding.lines] == ["failed"]
    assert "No line was seen that cuts a history." in finding.notes[0]
    assert finding.notes[0].endswith("item() was called in line 8.")
    assert len(finding.explanation.cures) == 3


def test_a_cut_tensor_is_not_kept_alive(real_torch):
    """The record of cuts holds no tensor, and forgets those that are gone."""
    with Recorder(real_torch) as recorder:
        w = real_torch.ones(2, requires_grad=True)
        y = w.exp().detach() * 2
        assert id(y) in recorder.cuts
        gone = weakref.ref(y)
        del y
    assert gone() is None and not recorder.cuts


WRITES = {  # a script's end -> how its first cure begins
    "y = net(x).exp()\nz = y * 2\ny.mul_(2)\nz.sum().backward(), y.sum().backward()":
    "Write out of place: `y = y.mul(…)`",
    "y = net(x).exp()\ny[0] = 0\ny.sum().backward()": "In a loop that fills a buffer",
    "y = net(x).exp()\nnn.functional.relu(y, inplace=True)\ny.sum().backward()": "Leave out `inplace=True` or `out=`",
    "m = torch.ones(4, 2)\ny = net(x) * m\nm.bernoulli_(0.5)\ny.sum().backward()": "Make a new tensor",
    "y = (net(x) @ net.weight).sum()\ntorch.optim.SGD(net.parameters(), 1e-1).zero_grad()\n"
    "with torch.no_grad(): net.weight[0].zero_()\ny.backward()": "A parameter: compute the loss again",
    "e = nn.Embedding(5, 3, max_norm=0.1)\ny = net(e.weight)\nz = e(torch.tensor([1]))\n"
    "(y.sum() + z.sum()).backward()": "embedding() with max_norm",
}


@pytest.mark.parametrize("program", WRITES)
def test_the_cure_fits_what_wrote(real_torch, tmp_path, program):
    """A method in place, an item, a mode, random numbers, a parameter, a table that shortens its rows."""
    finding = found_in(real_torch, tmp_path, program)

    assert {"saved", "changed"} <= {line.role for line in finding.lines}
    assert finding.explanation.cures[0].startswith(WRITES[program])


def test_a_call_with_several_results_has_made_all_their_nodes(real_torch, tmp_path):
    """The first call of a record, and the state of a GRU, whose nodes are newer than those of its output."""
    program = "cell = nn.GRU(3, 4)\nh = None\nfor _ in range(2):\n    y, h = cell(x, h)\n    h.sum().backward()"
    finding = found_in(real_torch, tmp_path, program)

    assert [(line.role, line.number) for line in finding.lines] == [("built", 9), ("first", 10), ("failed", 10)]


def test_a_step_is_called_the_optimizers(real_torch, tmp_path):
    """The line of step() is named; what wrote there is an optimizer, and the reader knows no addcdiv_."""
    program = (
        "deep = nn.Sequential(net, nn.Linear(2, 2))\nopt = torch.optim.Adam(deep.parameters())\ny = deep(x).sum()\n"
        "y.backward(retain_graph=True)\nopt.step()\ny.backward()"
    )
    finding = found_in(real_torch, tmp_path, program)

    assert "the optimizer (" in finding.lines[1].what and finding.lines[1].number == 10
    assert finding.explanation.cures[0].startswith("A parameter: compute the loss again")


def test_the_cure_of_a_second_pass_fits_where_the_first_was_started(real_torch, tmp_path):
    """A loop comes by its own line again, a GAN has two lines; and half a script has no parameter without gradient."""
    loop = "h = net(x).exp()\nfor _ in range(2):\n    (h * h).sum().backward()"
    two = "fake = net(x).exp()\nfake.sum().backward()\n(fake * 2).sum().backward()"

    assert found_in(real_torch, tmp_path, loop).explanation.cures[0].startswith("Compute in each step")
    assert found_in(real_torch, tmp_path, two).explanation.cures[0].startswith("If the first pass did not have to go")


def test_after_half_a_script_no_gradient_is_missed(real_torch):
    """A second head gets its gradient in the second pass, which an error has stopped."""
    heads = real_torch.nn.ModuleList([real_torch.nn.Linear(2, 1), real_torch.nn.Linear(2, 1)])
    recorder = Recorder(real_torch)
    doubts = Doubts(real_torch, recorder)
    with recorder, doubts:
        optimizer = real_torch.optim.SGD(heads.parameters(), lr=0.1)
        heads[0](real_torch.ones(3, 2)).sum().backward()
        optimizer.step()

    assert not doubts.lines(whole=False)
    assert "heads.1.weight, heads.1.bias" in doubts.lines()[0].what


def test_files_of_python_are_not_the_users(real_torch, tmp_path):
    """copy.deepcopy refuses a result: the line that called it is named, and not one of copy.py."""
    finding = found_in(real_torch, tmp_path, "net.code = net(x)\ncopy.deepcopy(net)")

    assert [(line.role, line.number) for line in finding.lines] == [("kept", 6), ("failed", 7)]
    assert finding.lines[1].file.endswith("script.py")


def test_what_another_thread_did_has_its_own_lines(real_torch, tmp_path):
    """Each thread counts its nodes from 0: the writes tell which of two nodes with one number was meant."""
    program = (
        "import threading\nmade = []\n"
        "def branch():\n    y = h.abs().neg().sigmoid()\n    y.mul_(2)\n    made.append(y)\n"
        "h = net(x)\nthread = threading.Thread(target=branch)\nthread.start(), thread.join()\nz = h + 1\n"
        "made[0].sum().backward()"
    )
    with ThreadPoolExecutor(1) as fresh:  # the script's own thread begins at 0, too
        finding = fresh.submit(found_in, real_torch, tmp_path, program).result()

    assert [(line.role, line.number) for line in finding.lines] == [("saved", 9), ("changed", 10), ("failed", 16)]


def test_a_gradient_that_is_none_is_explained(real_torch, tmp_path):
    """`w = w - …` makes a computed tensor; other things that are None are none of our business."""
    program = "w = net.weight\nnet(x).sum().backward()\nw = w - 0.1 * w.grad\nw.grad.zero_()"
    with pytest.warns(UserWarning, match="not a leaf"):
        finding = found_in(real_torch, tmp_path, program)

    assert finding.explanation.row.key == "grad is None"
    assert found_in(real_torch, tmp_path, "w = None\nw.zero_()").explanation.row is None


def test_options_end_where_the_script_begins(capsys):
    """What follows the script, or the module, is not for us; without one there is a sentence, and status 2."""
    with pytest.raises(SystemExit, match="2"):
        command.options_in(["--report", "r.html"])
    assert "no script to run" in capsys.readouterr().err
    options, rest = command.options_in(["--doubts", "train.py", "--report", "x"])
    assert (options.doubts, options.script, options.report, rest) == (True, "train.py", None, ["--report", "x"])
    options, rest = command.options_in(["-m", "package.train", "--doubts"])
    assert (options.module, options.doubts, rest) == ("package.train", False, ["--doubts"])


def test_a_recorder_that_fails_says_so_and_the_script_goes_on(real_torch, capsys, monkeypatch):
    """An error of ours, forward or in backward(), is one sentence; the script has its answer, and no error."""
    for method in ("versions", "after", "before_pass", "place"):
        w = real_torch.ones(2, requires_grad=True)
        with monkeypatch.context() as patch:
            patch.setattr(Recorder, method, lambda *what: {}["broken"])
            with Recorder(real_torch):
                y = w.exp() * 2
                y.sum().backward()
                y = y.detach().add_(1)
        said = capsys.readouterr().err

        assert w.grad.tolist() == pytest.approx([5.43656] * 2)
        assert said.count("the recorder failed and is off now (KeyError: 'broken'); the script goes on.") == 1


def test_an_explanation_that_fails_says_so(real_torch, capsys, monkeypatch, tmp_path):
    """An error while explaining is one sentence below the script's own traceback."""
    monkeypatch.setattr(findings, "find", lambda *what: 1 / 0)
    said = command.findings_of(RuntimeError("modified by an inplace operation"), None)

    assert said == "backscope could not explain this: ZeroDivisionError: division by zero"


def test_an_explanation_does_without_names_and_callers(real_torch, tmp_path, monkeypatch):
    """Objects of any kind are alive when names are looked for: lines, cures and edits stay, and a note says it."""
    monkeypatch.setattr(findings, "Names", lambda *what: {}["odd"])
    monkeypatch.setattr(findings, "tell_callers", lambda *what: {}["odd"])
    finding = found_in(real_torch, tmp_path, "y = net(x).exp()\ny += 1\ny.sum().backward()")

    assert [line.role for line in finding.lines] == ["saved", "changed", "failed"]
    assert "y = y + 1" in finding.edits[0].diff
    assert all(any(words in note for note in finding.notes) for words in ("Names were not", "Not all was found"))


def test_nothing_is_kept_alive_after_the_script(real_torch):
    """When the recorder has ended, results go by reference count, parameters with the optimizer."""
    gc.disable()
    try:
        recorder = Recorder(real_torch)
        with recorder, Doubts(real_torch, recorder):
            model = real_torch.nn.Sequential(real_torch.nn.Linear(3, 3), real_torch.nn.ReLU(inplace=True))
            optimizer = real_torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            for _ in range(3):
                optimizer.zero_grad()
                h = model(real_torch.ones(2, 3))
                loss = (h * h).sum()
                loss.backward()
                optimizer.step()
        gone = [weakref.ref(each) for each in (h, loss, model[0].weight, model[0].weight.grad)]
        del model, optimizer, h, loss, recorder
        assert [ref() for ref in gone[:2]] == [None] * 2
    finally:
        gc.enable()
    gc.collect()  # PyTorch's optimizers are part of a circle
    assert [ref() for ref in gone] == [None] * 4


def test_the_short_name_loads_nothing_but_numpy():
    """`import backscope` brings the instruments, and neither PyTorch nor what draws, plots or serves notebooks."""
    heavy = ("torch", "matplotlib", "IPython", "jupyterlab")
    program = (
        "import sys, backscope\nprint(sorted(backscope.__all__))\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    call = [sys.executable, "-c", program]
    done = subprocess.run(call, env=environment(), capture_output=True, text=True, timeout=60)

    assert done.stdout == "['compare', 'draw', 'explain', 'film', 'gradients', 'ledger', 'step', 'watch']\n[]\n"


def train(torch, passes):
    """A small loop of training, with a mode of the script's own around each step."""
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(passes):
        with torch.device("cpu"):
            optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    return model


@pytest.mark.parametrize("everything", [False, True])
def test_the_recorder_rests_where_it_costs_too_much(real_torch, everything, monkeypatch):
    """After the first passes of a quick loop our mode is gone, the script's stay; with `everything` it stays."""
    monkeypatch.setattr(recorder_module, "SHARE", 0.0)  # whatever this machine does besides
    depth = real_torch._C._len_torch_function_stack
    mine = real_torch.device("cpu")
    with mine, Recorder(real_torch, everything) as recorder:
        before = depth()
        with mine:
            train(real_torch, recorder_module.PASSES + 5)
            assert depth() == before + (1 if everything else 0)
            assert len(recorder.passes) and recorder.walked == recorder_module.PASSES + 5
        assert bool(recorder.rests) is not everything
        real_torch.ones(1, requires_grad=True).exp()
    assert depth() == 0


def test_what_is_lost_after_that_is_said(real_torch, tmp_path, monkeypatch):
    """An error after the record: the line that failed, and how to have all recorded."""
    monkeypatch.setattr(recorder_module, "SHARE", 0.0)
    program = f"""for _ in range({recorder_module.PASSES + 3}):
    net(x).sum().backward()
y = net(x).exp()
y.mul_(2)
y.sum().backward()"""
    finding = found_in(real_torch, tmp_path, program)

    assert [line.role for line in finding.lines] == ["failed"]
    assert "--all" in finding.notes[-1]


COMPILED = """import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 1))
model.forward = torch.compile(model.forward, backend="aot_eager")
x = torch.ones(3, 4)
model(x).sum().backward()
loss = model(x).sum()
loss.backward(retain_graph=True)
print("the end")
"""


@pytest.mark.check
@pytest.mark.parametrize("doubts", [[], ["--doubts"]])
def test_what_is_compiled_raises_what_it_raises_without_us(tmp_path, doubts):
    """torch.compile: its error about donated buffers, status 1, and where it was compiled, or why that is not known."""
    (tmp_path / "train.py").write_text(COMPILED)
    call = [sys.executable, "-m", "backscope", *doubts, "train.py"]
    done = subprocess.run(call, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)

    assert done.returncode == 1 and not done.stdout
    assert "donated buffers" in done.stderr
    assert ("compile train.py:3: torch.compile was called here" in done.stderr) is (not doubts)


AROUND = """import copy
import threading
import torch
from torch._dynamo.testing import CompileCounterWithBackend
counter = CompileCounterWithBackend("aot_eager")
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
fast, optimizer = torch.compile(net, backend=counter, fullgraph=True), torch.optim.Adam(net.parameters())
inner = torch.compile(torch.nn.Linear(1, 1), backend=counter)
outer = torch.compile(lambda x: inner(x) * 2, backend=counter, fullgraph=True)
step = torch.compile(lambda: optimizer.step(), backend=counter)


@torch.compile(backend=counter, fullgraph=True)
def loss_of(out):
    return out.pow(2).mean()


x = torch.ones(3, 4)
for _ in range(2):
    loss = loss_of(fast(x) + outer(x[:, :1]))
    loss.backward()
    step()
torch.autograd.backward(loss_of(fast.forward(x)))
net.compile(backend=counter)
thread = threading.Thread(target=lambda: print(fast(x).shape))
thread.start()
thread.join()
print(net(x).shape, copy.deepcopy(fast)(x).shape, counter.frame_count, counter.op_count)
"""


@pytest.mark.check
def test_what_is_compiled_is_compiled_as_without_us(tmp_path):
    """Nested, copied, decorated, in a thread, optimizers: as many graphs of as many operations, and no break."""
    (tmp_path / "train.py").write_text(AROUND)
    calls = [[sys.executable, *words, "train.py"] for words in ([], ["-m", "backscope"])]
    alone, with_us = (
        subprocess.run(call, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=240)
        for call in calls
    )

    assert alone.returncode == 0, alone.stderr
    assert (with_us.returncode, with_us.stdout) == (0, alone.stdout), with_us.stderr
