"""`--try`: what is said of an edit is true, nothing of the user's is written or sent, odd scripts get a sentence."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.check,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a trial is a forked process"),
]

BEGIN = """import os, sys, torch
from torch import nn
torch.manual_seed(0)
trunk, head = nn.Linear(3, 4), nn.Linear(4, 2)
optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(5, 3)
"""
LOOP = """for step in range(3):
    optimizer.zero_grad()
    h = torch.sigmoid(trunk(x))
    h += 1
    head(h).square().mean().backward()
    optimizer.step()
"""
SCRIPTS = {  # name -> the script, what is said of its edit
    "out_of_place": (BEGIN + LOOP, "backward passes; the gradients of 4 parameters are right"),
    "in_a_later_pass": (
        BEGIN + LOOP.replace("    h += 1\n", "    if step:\n        h += 1\n"),
        "backward passes; the gradients of 4 parameters are right",
    ),
    "a_megabyte": (BEGIN + "print('x' * 2**20)\n" + LOOP, "the gradients of 4 parameters are right"),
    "silenced": (
        BEGIN + "# EDIT h += 1 -> h = h.detach() + 1\n" + LOOP,
        "runs, but trunk.weight, trunk.bias get none: this only silences it",
    ),
    "other": (
        BEGIN + "# EDIT h += 1 -> h.data.add_(1)\n" + LOOP,
        "runs, but 2 of 4 gradients are not those of what forward computed; most apart is trunk.",
    ),
    "no_cure": (BEGIN + "# EDIT h += 1 -> h.mul_(2)\n" + LOOP, "does not get past it: RuntimeError: one of the var"),
    "without_reference": (
        BEGIN + "# EDIT net.bias += 1 -> net.bias.data += 1\nnet = trunk\nnet.bias += 1\n"
        + LOOP.replace("    h += 1\n", ""),
        "runs, and 4 of 4 parameters have a gradient; there is nothing to compare them with",
    ),
    "asked_by_keywords": (
        BEGIN + LOOP.replace("head(h)", "y = head(h)\n    torch.autograd.grad(outputs=y.sum(), inputs=h, "
        "retain_graph=True)\n    y"),
        "the gradients of 4 parameters are right",
    ),
    "never_the_same": (
        BEGIN + "# EDIT h += 1 -> h = h + 1\nx = x + int.from_bytes(os.urandom(2), 'big') / 2**16\n" + LOOP,
        "runs, but the script is not the same twice",
    ),
    "reads_input": (BEGIN + "sys.stdin.read()\n" + LOOP, "it reads standard input, which a second run does not get"),
    "asks": (BEGIN + "try: input('go? ')\nexcept EOFError: pass\n" + LOOP, "it reads standard input"),
    "writes": (BEGIN + "open('log.txt', 'a').write('x')\n" + LOOP, "it opens log.txt for writing"),
    "deletes": (BEGIN + "try: os.remove('old.txt')\nexcept OSError: pass\n" + LOOP, "it deletes old.txt"),
    "forks": (BEGIN + "if os.fork() == 0: os._exit(0)\nos.wait()\n" + LOOP, "it forks, and what the new process does"),
    "connects": (
        BEGIN + "import socket\ns = socket.socket()\ns.settimeout(0.01)\ntry: s.connect(('192.0.2.1', 9))\n"
        "except OSError: pass\n" + LOOP,
        "it connects to 192.0.2.1",
    ),
    "leaves_early": (
        BEGIN + "if 'backscope-' in os.environ.get('TMPDIR', ''): os._exit(3)\n" + LOOP,
        "does not get past it: it ended by itself, status 3",
    ),
    "no_error": (BEGIN, ""),
    "other_error": (BEGIN + "1 / 0\n", "Nothing was tried: this is no error of autograd that is known here."),
    "no_python": (BEGIN + "def f(:\n", "Nothing was tried: this is no error of autograd that is known here."),
}  # fmt: skip


@pytest.fixture(scope="module")
def tried(real_torch, tmp_path_factory):
    """{name: what was said, and how it ended}."""
    folder, out = tmp_path_factory.mktemp("tried"), tmp_path_factory.mktemp("said")
    (folder / "old.txt").write_text("old")
    paths = []
    for name, (source, _) in SCRIPTS.items():
        paths.append(folder / f"{name}.py")
        paths[-1].write_text(source)
    with zipfile.ZipFile(folder / "packed.py", "w") as packed:
        packed.writestr("__main__.py", BEGIN + LOOP)
    paths.append(folder / "packed.py")
    root = str(HERE.parent.parent)
    environment = os.environ | {"PYTHONPATH": root, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    call = [sys.executable, str(HERE / "run_trials.py"), str(out), *map(str, paths)]
    subprocess.run(call, check=True, timeout=280, env=environment)

    def said(name):
        return SimpleNamespace(
            err=(out / f"{name}.err").read_text(), out=(out / f"{name}.out").read_text(),
            status=(out / f"{name}.status").read_text(), folder=folder,
        )  # fmt: skip

    return {path.stem: said(path.stem) for path in paths}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_said_of_an_edit(tried, name):
    """The sentence of each kind; the script's own status and output are what they are without a trial."""
    told = tried[name]

    assert SCRIPTS[name][1] in told.err
    assert "could not be tried" not in told.err and "backscope/" not in told.err
    assert told.status == ("0" if name == "no_error" else "1")
    assert len(told.out) == (2**20 + 1 if name == "a_megabyte" else len("go? ") if name == "asks" else 0)


def test_a_zip_is_a_sentence(tried):
    assert "'packed.py' is a zip archive. Unpack it" in tried["packed"].err
    assert tried["packed"].status == "1"


def test_nothing_is_written_twice(tried):
    """The script's own write stands once; a trial left nothing."""
    folder = tried["writes"].folder

    assert (folder / "log.txt").read_text() == "x"
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".py") == ["log.txt"]


def test_it_is_never_tried_unasked(tried, tmp_path, real_torch):
    """Without --try no process is put aside."""
    from backscope.script import command

    options, _ = command.options_in(["train.py"])
    assert options.tries is False
