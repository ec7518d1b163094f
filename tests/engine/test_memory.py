"""Graphs die by reference counting alone, without recursion, and let go of memory as early as they can."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from tests.engine.facts import leaf


@pytest.fixture(autouse=True)
def no_collector():
    """Whatever dies in these tests dies by its reference count: the collector is switched off."""
    gc.disable()
    yield
    gc.enable()


class Watch:
    """Weak references to things that are expected to die. PyTorch's nodes cannot be watched, its tensors can."""

    def __init__(self):
        self.references = {}

    def __call__(self, **things):
        for name, thing in things.items():
            if type(thing).__weakrefoffset__:
                self.references[name] = weakref.ref(thing)

    def alive(self):
        return [name for name, reference in self.references.items() if reference() is not None]


def function(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1]

    return Exp


def changed_view(torch, x):
    h = x * 1
    h[0].mul_(2)
    h[1:].exp_()
    return h


def views(torch, x):
    parts = (x * 1).unbind()
    return torch.stack([parts[0], parts[2]])


def hooked(torch, x):
    h = x.exp()
    h.register_hook(lambda g: g * 2)
    h.grad_fn.register_hook(lambda gi, go: None)
    h.retain_grad()
    return h


PROGRAMS = {
    "kept inputs": lambda torch, x: (x * x).sin(),
    "kept results": lambda torch, x: x.exp().tanh().sigmoid(),
    "in place": lambda torch, x: (x * 1).mul_(2).sin_().exp_(),
    "views and writes": changed_view,
    "several outputs": views,
    "a Function that saves its output": lambda torch, x: function(torch).apply(x),
    "indexing": lambda torch, x: x[[0, 1]] * x[x > 1],
    "reductions": lambda torch, x: x.softmax(0).logsumexp(0) + x.max(0).values + x.std(),
    "matrices": lambda torch, x: (x[:, None] @ x[None]) @ x,
    "hooks and retain_grad": hooked,
    "joining": lambda torch, x: torch.cat([x, torch.stack([x, x]).sum(0)]),
}


@pytest.mark.parametrize("way", ["dropped", "run", "run twice"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_dies_at_once(torch, name, way):
    """When the last name goes, every node goes, without the garbage collector: with and without passes before."""
    watch = Watch()
    x = leaf(torch)
    y = PROGRAMS[name](torch, x)
    g = None
    if way == "run":
        y.sum().backward()
    elif way == "run twice":
        y = (y**2).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
        watch(gradient=g, its_node=g.grad_fn)
    watch(result=y, node=y.grad_fn, before=y.grad_fn.next_functions[0][0])
    del y, g

    assert watch.alive() == []


def test_reading_a_kept_result_ties_no_knot(torch):
    """`y.grad_fn._saved_result` has y's node as history, and dies with its name."""
    watch = Watch()
    y = leaf(torch).exp()
    kept = y.grad_fn._saved_result
    watch(node=y.grad_fn, kept=kept)
    del kept, y

    assert watch.alive() == []


def test_a_failed_pass_holds_nothing(torch):
    """After an error in backward, nothing but the error's traceback holds the graph."""
    watch = Watch()
    h = leaf(torch) * 1
    y = h.sin()
    h.add_(1)
    watch(h=h, y=y, node=y.grad_fn)
    try:
        y.sum().backward()
    except RuntimeError:
        pass
    del h, y

    assert watch.alive() == []


def test_a_leaf_dies_with_its_last_graph(torch):
    """A leaf is held by its accumulator, and that by the graph only."""
    watch = Watch()
    x = leaf(torch)
    y = x * 2
    watch(x=x, accumulator=y.grad_fn.next_functions[0][0])
    del x
    assert watch.alive() == list(watch.references)

    del y
    assert watch.alive() == []


def test_a_very_long_chain(torch):
    """200,000 nodes of ours are recorded, run and freed without recursion; of PyTorch's, to save time, fewer."""
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(200_000 if torch.__name__ == "course_lib" else 20_000):
        y = y + 1
    watch = Watch()
    watch(last=y.grad_fn)
    y.backward()
    assert x.grad.item() == 1.0

    del y
    assert watch.alive() == []


def test_a_long_chain_dropped_without_a_pass(torch):
    """A long graph that is never run is freed without recursion too, kept tensors and all."""
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y.sin()
    watch = Watch()
    watch(last=y.grad_fn)
    del y

    assert watch.alive() == []


def test_a_long_chain_of_writes_and_views(torch):
    """In-place operations through views pile up CopySlices, which are run and freed without recursion."""
    x = torch.ones(2, requires_grad=True)
    h = x * 1
    for _ in range(2_000):
        h[0] += 1
    h.sum().backward()

    assert x.grad.tolist() == [1.0, 1.0]


# --- measured in processes of their own ---------------------------------------------------------------------

TRAINING = """
import gc
gc.disable()
import course_lib as torch
from course_lib import nn, optim

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
optimizer = optim.Adam(model.parameters(), lr=1e-3)
x, target = torch.randn(8, 4), torch.randint(0, 2, (8,))
for step in range(11_000):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), target).backward()
    optimizer.step()
    if step == 999:
        before = resident()
print(resident() - before)
"""
PEAK = """
import importlib, sys
torch = importlib.import_module(sys.argv[1])
getattr(torch, "set_num_threads", id)(1)
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
n = 768
weights = [(torch.randn(n, n) * 0.03).requires_grad_() for _ in range(6)]
x = torch.randn(n, n)
x.mm(x).sum().item()  # the libraries underneath make their own buffers now
h = x
for w in weights:
    h = h.mm(w.t()).relu()
loss = (h * h).mean()
before = resident()
loss.backward()
print((max(peak(), resident()) - before) / 2**20)
"""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads the memory in use from /proc")


def figure(program, *arguments):
    """The number that a program prints, run with one thread in a process of its own."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={**os.environ, **threads},
    )
    return float(done.stdout)


@LINUX
@pytest.mark.check
def test_ten_thousand_training_steps_take_no_more_memory():
    """With the collector off, 10,000 steps of Adam leave the process as large as it was, within 2 MB."""
    assert abs(figure(TRAINING)) <= 2


@LINUX
def test_backward_needs_no_more_memory_than_pytorch_s(real_torch):
    """What a backward pass adds to the memory in use at its highest is at most what PyTorch's adds."""
    ours, theirs = figure(PEAK, "course_lib"), figure(PEAK, "torch")

    assert 0 < ours <= theirs
