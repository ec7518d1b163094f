"""Rows about DDP, torch.func, checkpoint and others: each message has its row, and what the row says cures it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backscope.explaining.report import explain
from backscope.explaining.rows import LESSONS, read
from backscope.script import pasted
from tools.explain_cures import run

DDP = """
import os, warnings; warnings.simplefilter("ignore")
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.a(x)
class Shared(Two):
    def forward(self, x):
        return checkpoint(self.a, checkpoint(self.a, x, use_reentrant=RE), use_reentrant=RE)
dist.init_process_group("gloo", rank=0, world_size=1)
try:
    x = torch.ones(2, 3, requires_grad=True)
    BODY
finally:
    dist.destroy_process_group()
"""


def ddp(body, reentrant=True):
    return DDP.replace("BODY", body).replace("RE", str(reentrant))


NORM = """
net = torch.nn.BatchNorm1d(2)
def loss(parameters, x):
    return torch.func.functional_call(net, GIVEN, (x,)).sum()
torch.func.grad(loss)(dict(net.named_parameters()), torch.randn(4, 2))"""
VMAPPED = """
net = torch.nn.BatchNorm1d(2GIVEN)
torch.vmap(lambda x: net(x[None]))(torch.randn(4, 2, 3))"""
RULE = """
class Double(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x): return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output): pass
    @staticmethod
    def backward(ctx, g): return g * 2
torch.vmap(Double.apply)(torch.ones(3, 2))"""
HOOK = "m = torch.nn.Linear(2, 2); m.register_full_backward_hook(lambda *what: None); y = m(x); "
ATTEND = """
from torch.nn.attention import SDPBackend, sdpa_kernel
import contextlib
q = torch.randn(1, 1, 4, 8, requires_grad=True)
with HOW:
    y = F.scaled_dot_product_attention(q, q, q)
g, = torch.autograd.grad(y.sum(), q, create_graph=True)
g.pow(2).sum().backward()"""
PICKLE = """
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
ForkingPickler.dumps(GIVEN)"""
SCALER = """
scaler, p = torch.amp.GradScaler("cpu"), torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([p], 0.1)
scaler.scale(p.sum()).backward()
MORE
scaler.step(optimizer)
scaler.update()"""
EMBED = "e = torch.nn.Embedding(3, 2, sparse=HOW); e(torch.tensor([1])).sum().backward(); WHICH(e.parameters()).step()"
CHECKPOINT = """
from torch.utils.checkpoint import checkpoint
y = checkpoint(torch.exp, x, use_reentrant=HOW)
torch.autograd.grad(y.sum(), x)"""
QUIET = "import warnings; warnings.simplefilter('ignore')\n"
COMPILED = """
RuntimeError: This backward function was compiled with non-empty donated buffers which requires create_graph=False and
retain_graph=False. Please keep backward(create_graph=False, retain_graph=False) across all backward() function calls,
or set torch._functorch.config.donated_buffer=False to disable donated buffer."""
COMPILE = (
    'f = torch.exp; f = torch.compile(f, backend="BACKEND"); '
    "torch.autograd.grad(f(x).sum(), x, create_graph=True)[0].sum().backward()"
)
SCORES = "z = x * (1 + 1j); "
CURES = [  # row, a program that fails (or its message, where it needs a GPU or a compiler), programs with the cure
    ("not a tensor", "x.sum().item().backward()", ["loss = x.sum(); loss.backward(); loss.item()"]),
    (
        "numpy's function",
        "import numpy as np; np.mean(x)",
        ["torch.mean(x).backward()", "import numpy as np; np.mean(x.detach().numpy())"],
    ),
    (
        "complex loss",
        SCORES + "z.sum().backward()",
        [SCORES + "z.sum().abs().backward()", SCORES + "z.sum().real.backward()"],
    ),
    (
        "ddp unfinished",
        ddp("m = DDP(Two()); [m(x).sum().backward() for _ in range(2)]"),
        [
            ddp("m = DDP(Two(), find_unused_parameters=True); [m(x).sum().backward() for _ in range(2)]"),
            ddp("m = Two(); m.b.requires_grad_(False); m = DDP(m); [m(x).sum().backward() for _ in range(2)]"),
        ],
    ),
    (
        "ddp ready twice",
        ddp("m = DDP(Shared(), find_unused_parameters=True); m(x).sum().backward()"),
        [
            ddp("m = DDP(Shared(), find_unused_parameters=True); m(x).sum().backward()", False),
            ddp("m = DDP(Shared(), static_graph=True); m(x).sum().backward()"),
        ],
    ),
    ("ddp nothing to do", ddp("DDP(Two().requires_grad_(False))"), [ddp("DDP(Two())")]),
    (
        "func write",
        NORM.replace("GIVEN", "parameters"),
        [
            NORM.replace("GIVEN", "(parameters, {k: b.clone() for k, b in net.named_buffers()})"),
            NORM.replace("GIVEN", "parameters").replace(
                "def loss", "torch.func.replace_all_batch_norm_modules_(net)\ndef loss"
            ),
        ],
    ),
    ("func backward inside", "torch.func.grad(lambda x: x.sum().backward())(x)", ["torch.func.grad(torch.sum)(x)"]),
    (
        "func not scalar",
        "torch.func.grad(torch.exp)(x.detach())",
        [
            "torch.func.grad(lambda x: x.exp().mean())(x.detach())",
            "torch.func.jacrev(torch.exp)(x.detach())",
            "torch.func.grad(lambda x: (x.sum(), x), has_aux=True)(x.detach())",
        ],
    ),
    ("func and Functions", RULE.replace("    generate_vmap_rule = True\n", ""), [RULE]),
    (
        "vmap value",
        "torch.vmap(lambda x: x if x > 0 else -x)(x.detach())",
        ["torch.vmap(lambda x: torch.where(x > 0, x, -x))(x.detach())"],
    ),
    ("vmap random", "torch.vmap(F.dropout)(x.detach())", ["torch.vmap(F.dropout, randomness='different')(x.detach())"]),
    (
        "vmap norm",
        VMAPPED.replace("GIVEN", ""),
        [
            VMAPPED.replace("GIVEN", ", track_running_stats=False"),
            VMAPPED.replace("BatchNorm1d(2GIVEN)", "GroupNorm(1, 2)"),
            VMAPPED.replace("GIVEN", "").replace(
                "torch.vmap", "torch.func.replace_all_batch_norm_modules_(net)\ntorch.vmap"
            ),
        ],
    ),
    (
        "vmap write",
        "c = torch.zeros(2); torch.vmap(lambda x, c: c.copy_(x), in_dims=(0, None))(torch.ones(3, 2), c)",
        ["torch.vmap(lambda x: torch.zeros_like(x).copy_(x))(torch.ones(3, 2))"],
    ),
    ("full backward hook", HOOK + "y += 1", [HOOK + "y = y + 1", HOOK + "y = y.clone(); y += 1"]),
    (
        "second derivative of attention",
        ATTEND.replace("HOW", "contextlib.nullcontext()"),
        [ATTEND.replace("HOW", "sdpa_kernel(SDPBackend.MATH)")],
    ),
    (
        "second derivative of cudnn",
        "NotImplementedError: the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not "
        "supported for CuDNN RNNs due to limitations in the CuDNN API.",
        ["with torch.backends.cudnn.flags(enabled=False): torch.nn.RNN(2, 2)(x[None])[0].sum().backward()"],
    ),
    ("checkpoint and grad", CHECKPOINT.replace("HOW", "True"), [CHECKPOINT.replace("HOW", "False")]),
    ("to another process", PICKLE.replace("GIVEN", "x * 2"), [PICKLE.replace("GIVEN", "(x * 2).detach()")]),
    (
        "scaler",
        SCALER.replace("MORE", "scaler.unscale_(optimizer); scaler.unscale_(optimizer)"),
        [SCALER.replace("MORE", "scaler.unscale_(optimizer)"), SCALER.replace("MORE", "")],
    ),
    (
        "closure",
        "torch.optim.LBFGS([x]).step()",
        [
            "o = torch.optim.LBFGS([x])\ndef closure():\n    o.zero_grad()\n    loss = x.pow(2).sum()\n"
            "    loss.backward()\n    return loss\no.step(closure)\nassert x.abs().sum() < 3"
        ],
    ),
    (
        "sparse gradients",
        EMBED.replace("HOW", "True").replace("WHICH", "torch.optim.Adam"),
        [
            EMBED.replace("HOW", "False").replace("WHICH", "torch.optim.Adam"),
            EMBED.replace("HOW", "True").replace("WHICH", "torch.optim.SparseAdam"),
        ],
    ),
    (
        "func and checkpoint",
        "from torch.utils.checkpoint import checkpoint\n"
        "torch.func.grad(lambda a: checkpoint(torch.sin, a, use_reentrant=False).sum())(torch.ones(3))",
        ["torch.func.grad(lambda a: torch.sin(a).sum())(torch.ones(3))"],
    ),
    (
        "compiled double backward",
        COMPILE.replace("BACKEND", "aot_eager"),
        [COMPILE.replace("BACKEND", "eager"), COMPILE.replace("f(x)", "torch.exp(x)").replace("BACKEND", "eager")],
    ),
    (
        "overwritten by a CUDA graph",
        "RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. "
        'Stack trace: File "a.py", line 7, in f',
        ["first = x.exp().clone(); second = x.exp(); (first + second).sum().backward()"],
    ),
    ("donated buffers", COMPILED, ["y = x.exp().sum(); (y + y).backward()"]),
    (
        "forward mode",
        QUIET + "f = lambda x: torch.cdist(x, x).sum(); torch.func.jacfwd(f)(torch.randn(3, 2))",
        [QUIET + "f = lambda x: torch.cdist(x, x).sum(); torch.func.jacrev(f)(torch.randn(3, 2))"],
    ),
    (
        "functional tensors",
        "RuntimeError: Attempting to use FunctionalTensor on its own. Instead, please use it with a corresponding "
        "FunctionalTensorMode()",
        ["x.exp().sum().backward()"],
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key, broken, cured", CURES, ids=[one[0] for one in CURES])
def test_what_a_row_says_cures_it(real_torch, key, broken, cured):
    """Without the cure the error of this row, and every sentence whole; with it no error."""
    is_text = broken.lstrip().startswith(("RuntimeError:", "NotImplementedError:"))
    told = explain(broken.strip() if is_text else run(real_torch, broken))

    assert told.row is not None and told.row.key == key, told.message
    assert len(told.what) == 3 and told.cures and told.row.lesson in LESSONS
    assert not any("{" + name + "}" in " ".join([*told.what]) for name in ("unused", "twice", "name", "op", "hooked"))
    for program in cured:
        assert run(real_torch, program) is None, program


def test_every_row_has_an_executed_cure():
    assert [row["key"] for row in read("neighbours")["error"]] == [key for key, _, _ in CURES]


TRACEBACK = """W1128 torch/elastic: [rank0] failed
Traceback (most recent call last):
  File "/home/someone/train.py", line 41, in <module>
    main()
  File "/home/someone/train.py", line 30, in main
    loss.backward()
  File "/opt/someone/lib/python3.10/site-packages/torch/_tensor.py", line 488, in backward
    torch.autograd.backward(
RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have
already been freed)."""


def test_a_pasted_traceback_is_read():
    """The kind, the whole message, the frames; also behind what torchrun and pytest print before each line."""
    one = pasted.read(TRACEBACK)

    assert one.kind == "RuntimeError" and one.message.endswith("already been freed).")
    assert [(frame[1], frame[2]) for frame in one.frames][:2] == [(41, "<module>"), (30, "main")]
    again = pasted.read("\n".join("[rank0]: " + line for line in TRACEBACK.splitlines()))
    assert (again.kind, again.frames[1][1]) == ("RuntimeError", 30)
    assert pasted.inner("plain words") is None


@pytest.mark.parametrize("how", ["argument", "input"])
def test_explain_answers_without_a_script(how):
    """A message in quotes, or a traceback on standard input: the line that is theirs, the cures, the lesson."""
    words = [TRACEBACK] if how == "argument" else []
    call = [sys.executable, "-m", "backscope", "explain", *words]
    root = str(Path(__file__).parent.parent.parent)
    given = {"input": "" if words else TRACEBACK, "env": os.environ | {"PYTHONPATH": root}}
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, **given)

    assert done.returncode == 0 and not done.stderr
    assert "train.py:30 in main" in done.stdout and "loss.backward()" in done.stdout
    assert "state.detach()" in done.stdout and "lesson 06" in done.stdout


def test_explain_says_what_it_does_not_know():
    """Nothing given is a sentence and status 1; words that are no error of autograd are said to be none it knows."""
    call = [sys.executable, "-m", "backscope", "explain"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    empty = subprocess.run(call, input="", capture_output=True, text=True, timeout=60, env=environment)
    other = subprocess.run([*call, "disk is full"], capture_output=True, text=True, timeout=60, env=environment)

    assert empty.returncode == 1 and "there is no text" in empty.stderr
    assert other.returncode == 0 and "does not know this message" in other.stdout
