"""Measure what the engine costs, beside PyTorch, HIPS autograd, micrograd and NumPy written by hand: `make bench`.

    python tools/bench.py [--quick] [--only NAME] [--json FILE] [--list] [--draw]

A full run takes about nine minutes and writes docs/bench.json and docs/bench.svg; with --quick or --only nothing is
written unless --json says where. --draw draws docs/bench.svg again from docs/bench.json.

How it is measured, so that the figures mean something on a busy machine:
- All engines run in one process, on one core, with one thread, and take turns every few milliseconds. A disturbance
  then meets all of them, and only ratios between neighbours in time are used.
- A figure is the median of the ratios in a round, then the median of three rounds. Times are medians too.
- The C library may neither give memory back nor map large blocks anew: page faults otherwise flip a training step
  between two and four milliseconds. That is an environment variable, so the program starts itself again with it.
- A run is forward, backward and letting go of the graph. The garbage collector stays on, as it is for everybody; it is
  run, untimed, before each engine's turn, so that nobody pays for another's garbage.
- Handwritten NumPy is forward and backward as one writes them to be quick, without an engine. It is the floor.
- tests/benchmarks proves that all engines compute the same gradients in every line.
"""

import argparse
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

SETTINGS = {
    "MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000", "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1",
}  # fmt: skip

# --- the engines -------------------------------------------------------------------------------------------

ENGINES = {  # name -> (the module to import, how it is called, how to get it)
    "ours": ("course_lib", "course_lib", ""),
    "torch": ("torch", "PyTorch", "python3 course.py setup --torch"),
    "hips": ("autograd", "HIPS autograd", "pip install -e .[bench]"),
    "micrograd": ("micrograd.engine", "micrograd", "pip install -e .[bench]"),
    "numpy": ("numpy", "NumPy by hand", ""),
}
DISTRIBUTIONS = {"torch": "torch", "hips": "autograd", "micrograd": "micrograd", "numpy": "numpy"}
MODULES = {}


def engine(name) -> ModuleType | None:
    """Return the engine's module, made ready for one thread; None when it is not installed."""
    if name not in MODULES:
        module = ENGINES[name][0]
        there = importlib.util.find_spec(module.partition(".")[0]) is not None
        MODULES[name] = importlib.import_module(module) if there else None
        if name == "torch" and there:
            MODULES[name].set_num_threads(1)
    return MODULES[name]


def present() -> list:
    """Return the names of the engines that can run here."""
    return [name for name in ENGINES if engine(name) is not None]


# --- the work: one function a kind of engine ----------------------------------------------------------------


class Job:
    """One engine's share of a line.

    run      does the work once: forward, backward, and whatever the line adds; lets go of everything
    answers  the gradients that it computes, as a list of arrays: equal for all engines
    reset    what is undone, untimed, after each run
    """

    def __init__(self, run, answers, reset=None):
        self.run, self.answers, self.reset = run, answers, reset


def arrays(*shapes, scale=1.0) -> list:
    """Random float32 arrays, the same in every call with the same shapes."""
    import numpy as np

    random = np.random.default_rng(0)
    return [(random.standard_normal(shape) * scale).astype(np.float32) for shape in shapes]


def leaf(lib, value) -> object:
    """Return a leaf tensor that wants a gradient."""
    return lib.tensor(value, requires_grad=True)


def tensor_job(forward, leaves) -> Job:
    """ours and torch: run backward from what `forward` returns."""

    def run():
        forward().backward()

    def reset():
        for each in leaves:
            each.grad = None

    def answers():
        reset()
        run()
        return [each.grad.detach().numpy().copy() for each in leaves]

    return Job(run, answers, reset)


def value_job(forward, leaves) -> Job:
    """micrograd: the same, and it needs room to recurse: it visits the graph depth first."""

    def run():
        forward().backward()

    def reset():
        for each in leaves:
            each.grad = 0

    def answers():
        reset()
        run()
        return [each.grad for each in leaves]

    return Job(run, answers, reset)


def function_job(gradient) -> Job:
    """HIPS and NumPy: a function that returns all gradients."""
    return Job(lambda: gradient() and None, lambda: list(gradient()))


def only(value, dims) -> object:
    """Return one number as an array of one element or of no dimension."""
    import numpy as np

    return np.full((1,) * dims, value, np.float32)


def chain_tensors(lib, kind, n, dims) -> Job:
    x, c, w = leaf(lib, only(1, dims)), lib.tensor(only(1.0001, dims)), leaf(lib, only(1.0001, dims))
    if kind == "leaves":
        others = [leaf(lib, only(1.0001, dims)) for _ in range(n)]
    else:
        others = [{"constants": c, "one leaf": w, "numbers": 1.0001}[kind]] * n

    def forward():
        y = x
        for other in others:
            y = y * other
        return y

    return tensor_job(forward, {"leaves": [x, *others], "one leaf": [x, w]}.get(kind, [x]))


def chain_values(lib, kind, n, dims) -> Job:
    x, w = lib.Value(1.0), lib.Value(1.0001)
    if kind == "leaves":
        others = [lib.Value(1.0001) for _ in range(n)]
    else:
        others = [1.0001 if kind == "numbers" else w] * n

    def forward():
        y = x
        for other in others:
            y = y * other
        return y

    return value_job(forward, {"leaves": [x, *others], "one leaf": [x, w]}.get(kind, [x]))


def chain_hips(lib, kind, n, dims) -> Job:
    x, c = only(1, dims)[()], 1.0001 if kind == "numbers" else only(1.0001, dims)[()]

    def product(x, others):
        y = x
        for other in others:
            y = y * other
        return y

    if kind == "leaves":
        slope, others = lib.grad(product, (0, 1)), [c] * n
        return function_job(lambda: [(g := slope(x, others))[0], *g[1]])
    if kind == "one leaf":
        slope = lib.grad(lambda x, w: product(x, [w] * n), (0, 1))
        return function_job(lambda: slope(x, c))
    slope, others = lib.grad(product), [c] * n
    return function_job(lambda: [slope(x, others)])


def chain_numpy(np, kind, n, dims) -> Job:
    x, c = only(1, dims)[()], 1.0001 if kind == "numbers" else only(1.0001, dims)[()]
    one = np.ones_like(x)[()]

    def constant():
        y = x
        for _ in range(n):
            y = y * c
        g = one
        for _ in range(n):
            g = g * c
        return [g]

    def leaves():
        values, y = [], x
        for _ in range(n):
            values.append(y)
            y = y * c
        g, slopes, total = one, [], 0
        for value in reversed(values):
            if kind == "leaves":
                slopes.append(g * value)
            else:
                total = total + g * value
            g = g * c
        return [g, *reversed(slopes)] if kind == "leaves" else [g, total]

    return function_job(leaves if kind in ("leaves", "one leaf") else constant)


def fan_forward(x, n) -> object:
    """Return one tensor used n times: n gradients meet at its node."""
    y = x * 1.5
    total = y
    for _ in range(n - 1):
        total = total + y
    return total


def diamond_forward(x, n) -> object:
    """n levels, each splitting in two and joining again: 2 ** n paths."""
    for _ in range(n):
        x = x * 0.5 + x * 0.5
    return x


def branches_forward(x, n) -> object:
    """n branches side by side: all wait in the ready queue at once."""
    parts = [x * 1.5 for _ in range(n)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def fan_numpy(x, n, one) -> list:
    y = x * 1.5
    total = y
    for _ in range(n - 1):
        total = total + y
    g = one
    for _ in range(n - 1):
        g = g + one
    return [g * 1.5]


def diamond_numpy(x, n, one) -> list:
    for _ in range(n):
        x = x * 0.5 + x * 0.5
    g = one
    for _ in range(n):
        g = g * 0.5 + g * 0.5
    return [g]


def branches_numpy(x, n, one) -> list:
    parts = [x * 1.5 for _ in range(n)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    g = one * 1.5
    for _ in range(n - 1):
        g = g + one * 1.5
    return [g]


def shape_of_graph(forward, by_hand) -> dict:
    """Make the four forms of a graph of one-element operations that one Python function describes."""

    def tensors(lib, n):
        x = leaf(lib, only(1, 1))
        return tensor_job(lambda: forward(x, n), [x])

    def values(lib, n):
        x = lib.Value(1.0)
        return value_job(lambda: forward(x, n), [x])

    def hips(lib, n):
        x, slope = only(1, 1), lib.grad(lambda x: forward(x, n))
        return function_job(lambda: [slope(x)])

    def numpy(np, n):
        x, one = only(1, 1), np.ones(1, np.float32)
        return function_job(lambda: by_hand(x, n, one))

    return {"ours": tensors, "torch": tensors, "hips": hips, "micrograd": values, "numpy": numpy}


def training_job(loss, parameters, lib, rate=1e-3) -> Job:
    """ours and torch: a training step, with the descent written by hand as in PyTorch's tutorials."""

    def run():
        loss().backward()
        with lib.no_grad():
            for p in parameters:
                p -= rate * p.grad
                p.grad = None

    def answers():
        loss().backward()
        found = [p.grad.detach().numpy().copy() for p in parameters]
        for p in parameters:
            p.grad = None
        run()
        return found + [p.detach().numpy().copy() for p in parameters]

    return Job(run, answers)


def descent_job(gradients, parameters, rate=1e-3) -> Job:
    """HIPS and NumPy: the same training step on arrays."""
    def run():
        for p, g in zip(parameters, gradients(), strict=True):
            p -= rate * g

    def answers():
        found = [g.copy() for g in gradients()]
        run()
        return found + [p.copy() for p in parameters]

    return Job(run, answers)


def network(sizes, batch, scale=0.3) -> tuple:
    """Inputs, class numbers and parameters (weights as PyTorch keeps them: outputs x inputs)."""
    import numpy as np

    shapes = [(batch, sizes[0])]
    for inputs, outputs in zip(sizes, sizes[1:], strict=False):
        shapes += [(outputs, inputs), (outputs,)]
    x, *parameters = arrays(*shapes)
    parameters = [p * np.float32(scale / max(1, p.shape[-1] ** 0.5 * (p.ndim - 1))) for p in parameters]
    return x, np.arange(batch) % sizes[-1], parameters


def network_tensors(lib, sizes, batch) -> Job:
    x, classes, parameters = network(sizes, batch)
    F = importlib.import_module(lib.__name__ + ".nn.functional")
    x, classes, parameters = lib.tensor(x), lib.tensor(classes), [leaf(lib, p) for p in parameters]

    def loss():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = F.relu(F.linear(h, parameters[i], parameters[i + 1]))
        return F.cross_entropy(F.linear(h, *parameters[-2:]), classes)

    return training_job(loss, parameters, lib)


def network_operators(lib, sizes, batch) -> Job:
    """Take the same step as people write it in a notebook: operators, methods, and add_ with a factor."""
    x, classes, parameters = network(sizes, batch)
    x, classes, rows = lib.tensor(x), lib.tensor(classes), lib.arange(batch)
    parameters = [leaf(lib, p.T.copy() if p.ndim == 2 else p) for p in parameters]

    def loss():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = (h @ parameters[i] + parameters[i + 1]).relu()
        z = h @ parameters[-2] + parameters[-1]
        return -z.log_softmax(1)[rows, classes].mean()

    def run():
        loss().backward()
        with lib.no_grad():
            for p in parameters:
                p.add_(p.grad, alpha=-1e-3)
                p.grad = None

    def answers():
        loss().backward()
        found = [p.grad.detach().numpy().T.copy() for p in parameters]
        for p in parameters:
            p.grad = None
        run()
        return found + [p.detach().numpy().T.copy() for p in parameters]

    return Job(run, answers)


def network_modules(lib, sizes, batch) -> Job:
    """Take the same step with modules, a loss module and an optimizer."""
    nn, optim = (importlib.import_module(f"{lib.__name__}.{name}") for name in ("nn", "optim"))
    x, classes, values = network(sizes, batch)
    x, classes = lib.tensor(x), lib.tensor(classes)
    layers = [layer for i, o in zip(sizes, sizes[1:], strict=False) for layer in (nn.Linear(i, o), nn.ReLU())]
    model, criterion = nn.Sequential(*layers[:-1]), nn.CrossEntropyLoss()
    parameters = list(model.parameters())
    with lib.no_grad():
        for p, value in zip(parameters, values, strict=True):
            p.copy_(lib.tensor(value))
    optimizer = optim.SGD(parameters, lr=1e-3)

    def run():
        optimizer.zero_grad()
        criterion(model(x), classes).backward()
        optimizer.step()

    def answers():
        run()
        return [array.detach().numpy().copy() for p in parameters for array in (p.grad, p)][::2] + [
            p.detach().numpy().copy() for p in parameters
        ]

    return Job(run, answers)


def network_hips(lib, sizes, batch) -> Job:
    anp = importlib.import_module("autograd.numpy")
    x, classes, parameters = network(sizes, batch)
    rows = anp.arange(batch)

    def loss(parameters):
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = anp.maximum(anp.dot(h, parameters[i].T) + parameters[i + 1], 0)
        z = anp.dot(h, parameters[-2].T) + parameters[-1]
        z = z - anp.max(z, 1, keepdims=True)
        return -anp.mean((z - anp.log(anp.sum(anp.exp(z), 1, keepdims=True)))[rows, classes])

    slope = lib.grad(loss)
    return descent_job(lambda: slope(parameters), parameters)


def network_numpy(np, sizes, batch) -> Job:
    x, classes, parameters = network(sizes, batch)
    rows = np.arange(batch)

    def gradients():
        kept = [x]
        for i in range(0, len(parameters) - 2, 2):
            h = kept[-1] @ parameters[i].T
            h += parameters[i + 1]
            kept.append(np.maximum(h, 0, out=h))
        z = kept[-1] @ parameters[-2].T
        z += parameters[-1]
        z -= z.max(1, keepdims=True)
        g = np.exp(z)
        total = g.sum(1, keepdims=True)
        z -= np.log(total)
        -z[rows, classes].mean()  # the loss
        g /= total
        g[rows, classes] -= 1
        g /= batch
        found = []
        for i in range(len(parameters) - 2, -1, -2):
            h = kept.pop()
            found += [g.sum(0), g.T @ h]
            if i:
                g = g @ parameters[i]
                g *= h > 0
        return found[::-1]

    return descent_job(gradients, parameters)


def recurrent(steps, batch, inputs, hidden) -> tuple:
    xs, u, w, b = arrays((steps, batch, inputs), (inputs, hidden), (hidden, hidden), (hidden,), scale=0.1)
    return list(xs), [u, w, b]


def recurrent_tensors(lib, steps, batch, inputs, hidden) -> Job:
    xs, parameters = recurrent(steps, batch, inputs, hidden)
    xs, parameters = [lib.tensor(x) for x in xs], [leaf(lib, p) for p in parameters]
    start = lib.zeros(batch, hidden)

    def loss():
        (u, w, b), h = parameters, start
        for x in xs:
            h = (x @ u + h @ w + b).tanh()
        return (h * h).mean()

    return training_job(loss, parameters, lib)


def recurrent_hips(lib, steps, batch, inputs, hidden) -> Job:
    anp = importlib.import_module("autograd.numpy")
    xs, parameters = recurrent(steps, batch, inputs, hidden)
    start = anp.zeros((batch, hidden), anp.float32)

    def loss(parameters):
        (u, w, b), h = parameters, start
        for x in xs:
            h = anp.tanh(anp.dot(x, u) + anp.dot(h, w) + b)
        return anp.mean(h * h)

    slope = lib.grad(loss)
    return descent_job(lambda: slope(parameters), parameters)


def recurrent_numpy(np, steps, batch, inputs, hidden) -> Job:
    xs, parameters = recurrent(steps, batch, inputs, hidden)
    start = np.zeros((batch, hidden), np.float32)

    def gradients():
        u, w, b = parameters
        hs = [start]
        for x in xs:
            a = x @ u
            a += hs[-1] @ w
            a += b
            hs.append(np.tanh(a, out=a))
        h = hs[-1]
        (h * h).mean()  # the loss
        g = h * np.float32(2 / h.size)
        du, dw, db = np.zeros_like(u), np.zeros_like(w), np.zeros_like(b)
        for i in range(len(xs) - 1, -1, -1):
            h = hs[i + 1]
            g *= 1 - h * h
            db += g.sum(0)
            du += xs[i].T @ g
            dw += hs[i].T @ g
            if i:
                g = g @ w.T
        return [du, dw, db]

    return descent_job(gradients, parameters)


def penalty_tensors(lib, sizes, batch) -> Job:
    """Loss plus the squared length of its slope by the input: backward through a backward pass."""
    x, _, parameters = network(sizes, batch)
    x, parameters = leaf(lib, x), [leaf(lib, p) for p in parameters]

    def loss():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = (h @ parameters[i].T + parameters[i + 1]).tanh()
        out = (h @ parameters[-2].T + parameters[-1]).sum()
        (slope,) = lib.autograd.grad(out, x, create_graph=True)
        return out * 0.01 + (slope * slope).sum()

    # The last bias shifts the output and not its slope: it gets a gradient from the first term alone.
    job = training_job(loss, parameters, lib)

    def run():
        job.run()
        x.grad = None

    return Job(run, job.answers)


def penalty_hips(lib, sizes, batch) -> Job:
    anp = importlib.import_module("autograd.numpy")
    x, _, parameters = network(sizes, batch)

    def output(x, parameters):
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = anp.tanh(anp.dot(h, parameters[i].T) + parameters[i + 1])
        return anp.sum(anp.dot(h, parameters[-2].T) + parameters[-1])

    slope_by_input = lib.value_and_grad(output)

    def loss(parameters):
        out, slope = slope_by_input(x, parameters)
        return out * 0.01 + anp.sum(slope * slope)

    slope = lib.grad(loss)
    return descent_job(lambda: slope(parameters), parameters)


def update_tensors(lib, shape) -> Job:
    """Take one parameter's step, as PyTorch's own optimizers write it."""
    value, slope = arrays(shape, shape)
    p = leaf(lib, value)
    p.grad = lib.tensor(slope)

    def run():
        with lib.no_grad():
            p.add_(p.grad, alpha=-1e-3)

    def answers():
        run()
        return [p.detach().numpy().copy()]

    return Job(run, answers)


def update_numpy(np, shape) -> Job:
    p, slope = arrays(shape, shape)

    def run():
        nonlocal p
        p -= 1e-3 * slope

    def answers():
        run()
        return [p.copy()]

    return Job(run, answers)


def affine_tensors(lib, batch) -> Job:
    """x @ w + b, forward alone, recorded."""
    x, w, b = arrays((batch, 784), (784, 256), (256,), scale=0.1)
    x, w, b = lib.tensor(x), leaf(lib, w), leaf(lib, b)
    return Job(lambda: x @ w + b, lambda: [(x @ w + b).detach().numpy()])


def affine_numpy(np, batch) -> Job:
    x, w, b = arrays((batch, 784), (784, 256), (256,), scale=0.1)
    return Job(lambda: x @ w + b, lambda: [x @ w + b])


def mixed_tensors(lib, n, dims) -> Job:
    """Return a chain in which a product, a sum and a tanh take turns."""
    x, c = leaf(lib, only(1, dims)), lib.tensor(only(0.5, dims))

    def forward():
        y = x
        for _ in range(n // 3):
            y = (y * c + x).tanh()
        return y

    return tensor_job(forward, [x])


def mixed_numpy(np, n, dims) -> Job:
    x, c = only(1, dims)[()], only(0.5, dims)[()]
    one = np.ones_like(x)[()]

    def gradients():
        kept, y = [], x
        for _ in range(n // 3):
            y = np.tanh(y * c + x)
            kept.append(y)
        g, total = one, 0
        for y in reversed(kept):
            g = g * (1 - y * y)
            total = total + g
            g = g * c
        return [total + g]

    return function_job(gradients)


CHAIN = {"ours": chain_tensors, "torch": chain_tensors, "hips": chain_hips, "micrograd": chain_values,
         "numpy": chain_numpy}  # fmt: skip
FAN = shape_of_graph(fan_forward, fan_numpy)
DIAMOND = shape_of_graph(diamond_forward, diamond_numpy)
BRANCHES = shape_of_graph(branches_forward, branches_numpy)
NETWORK = {"ours": network_tensors, "torch": network_tensors, "hips": network_hips, "numpy": network_numpy}
SPELLINGS = {  # three ways to write the same step
    "functions": NETWORK,
    "operators": {**NETWORK, "ours": network_operators, "torch": network_operators},
    "modules": {**NETWORK, "ours": network_modules, "torch": network_modules},
}
UPDATE = {"ours": update_tensors, "torch": update_tensors, "numpy": update_numpy}
AFFINE = {"ours": affine_tensors, "torch": affine_tensors, "numpy": affine_numpy}
MIXED = {"ours": mixed_tensors, "torch": mixed_tensors, "numpy": mixed_numpy}
RECURRENT = {"ours": recurrent_tensors, "torch": recurrent_tensors, "hips": recurrent_hips,
             "numpy": recurrent_numpy}  # fmt: skip
PENALTY = {"ours": penalty_tensors, "torch": penalty_tensors, "hips": penalty_hips}


# --- the lines of the table ---------------------------------------------------------------------------------


class Timed:
    """Time of one run: per operation in µs, or of a whole step. Compared with `against` (torch or numpy)."""

    kind = "time"

    def __init__(self, name, title, work, size, tiny, target, against="torch", ops=None):
        self.name, self.title, self.work, self.size, self.tiny = name, title, work, size, tiny
        self.engines = list(work)
        self.target, self.against, self.ops = target, against, ops
        self.unit = "µs" if ops else "ms"

    def job(self, name, size=None) -> Job:
        """Return one engine's Job for this line."""
        return self.work[name](engine(name), **(size or self.size))

    def scale(self, seconds) -> float:
        """Seconds of one run in the line's unit."""
        return seconds * 1e6 / self.ops if self.ops else seconds * 1e3


class Growth(Timed):
    """The growth of one operation's price in a larger graph: 1 is linear."""

    kind = "growth"

    def __init__(self, name, title, work, small, large, tiny, target=1.25):
        super().__init__(name, title, work, {"n": large}, tiny, target, against=None)
        self.small, self.large, self.unit = small, large, "×"


class Measured:
    """A figure found in programs of their own: `measure(engine name, quick)`, in `unit`."""

    kind = "own process"

    def __init__(self, name, title, engines, measure, unit, target, relative_to=None):
        self.name, self.title, self.engines, self.measure, self.unit = name, title, engines, measure, unit
        self.target, self.relative_to = target, relative_to


def lines() -> list:
    """Return the table of issue 3, in order."""
    found = []
    for dims, label in ((1, "1-element"), (0, "0-d")):
        targets = {"constants": 0.6, "one leaf": 0.6, "leaves": 0.6, "numbers": 0.5} if dims else {}
        titles = {"one leaf": "one leaf used 1,000 times", "leaves": "1,000 leaves", "numbers": "Python numbers"}
        for kind in ("constants", "one leaf", "leaves", "numbers"):
            found.append(Timed(
                f"chain-{label}-{kind}".replace(" ", "-"), f"chain of 1,000 {label} ops: {titles.get(kind, kind)}",
                CHAIN, {"kind": kind, "n": 1000, "dims": dims}, {"kind": kind, "n": 5, "dims": dims},
                targets.get(kind, 0.4), ops=1000))  # fmt: skip
            if kind == "leaves":
                found[-1].engines.remove("hips")  # quadratic in the number of arguments: 600 µs an op at 1,000
        found.append(Timed(
            f"chain-{label}-mixed", f"chain of 1,000 {label} ops: products, sums and tanh in turn", MIXED,
            {"n": 999, "dims": dims}, {"n": 6, "dims": dims}, 0.62 if dims else 0.45, ops=999))  # fmt: skip
    big, small = (784, 256, 128, 10), (2, 16, 16, 2)
    rnn = {"steps": 50, "batch": 32, "inputs": 64, "hidden": 64}
    return found + [
        Timed("fan-in", "one tensor used 10,000 times", FAN, {"n": 10_000}, {"n": 5}, 0.8, ops=10_000),
        Timed("diamond", "2,000 diamonds in a row (6,000 ops)", DIAMOND, {"n": 2000}, {"n": 5}, 0.8, ops=6000),
        *(Timed(f"mlp-{short}-{spelling}", f"MLP {title}, with {spelling}", work, {"sizes": sizes, "batch": batch},
                {"sizes": (6, 5, 4, 3), "batch": 2}, target, "numpy")
          for short, title, sizes, batch, target in (
              ("b64", "784-256-128-10, training step, batch 64", big, 64, 1.1),
              ("b8", "784-256-128-10, training step, batch 8", big, 8, 1.25),
              ("small", "2-16-16-2, training step, batch 32", small, 32, 3))
          for spelling, work in SPELLINGS.items()),
        Timed("update", "p.add_(p.grad, alpha=-lr) on 784 × 256, by hand W -= lr * g", UPDATE, {"shape": (784, 256)},
              {"shape": (3, 2)}, 1.1, "numpy"),
        *(Timed(f"affine-b{batch}", f"x @ w + b, 784 → 256, forward alone, batch {batch}", AFFINE, {"batch": batch},
                {"batch": 2}, target) for batch, target in ((64, 1.1), (8, 1.5))),
        Timed("rnn", "RNN cell, 50 steps, hidden 64, batch 32", RECURRENT, rnn,
              {"steps": 3, "batch": 2, "inputs": 3, "hidden": 4}, 1.35, "numpy"),
        Timed("double-backward", "gradient penalty on MLP 2-16-16-2", PENALTY, {"sizes": small, "batch": 32},
              {"sizes": (2, 4, 4, 2), "batch": 3}, 0.7),
        Growth("branches-growth", "1,000 → 16,000 branches, cost of an op grows", BRANCHES, 1000, 16_000, {"n": 5}),
        Growth("fan-in-growth", "used 1,000 → 10,000 times, cost of an op grows", FAN, 1000, 10_000, {"n": 4}),
        Growth("diamond-growth", "250 → 2,000 diamonds, cost of an op grows", DIAMOND, 250, 2000, {"n": 4}),
        Measured("million-bytes", "chain of 1,000,000: memory of a node", ("ours", "torch", "hips"),
                 million_bytes, "B", 350),
        Measured("million-growth", "chain of 100,000 → 1,000,000, cost of an op grows", ("ours", "torch", "hips"),
                 million_growth, "×", 1.25),
        Measured("million-garbage", "chain of 1,000,000: objects left to the collector", ("ours", "torch", "hips"),
                 million_garbage, "", 0),
        Measured("held-after-forward", "MLP batch 64: held after forward, of what must be", ("ours", "torch"),
                 held_after_forward, "×", 1.1),
        Measured("alive-after-backward", "MLP batch 64: alive after backward beside the loss", ("ours", "torch"),
                 alive_after_backward, "B", 4000),
        Measured("import", "import, times import numpy", ("ours", "torch", "hips"), import_time, "×", 1.15),
        Measured("hooks-off", "hooks put on and taken off again, times never", ("ours", "torch"), hooks_off, "×", 1.03),
        Measured("modes-off", "anomaly mode and saved-tensor hooks used before, times never", ("ours", "torch"),
                 modes_off, "×", 1.03),
        Measured("instruments-off", "watch, ledger, draw, step used before, times never", ("ours", "torch"),
                 instruments_off, "×", 1.03),
        *(Measured(f"draw-{n}", f"draw: a graph of {n:,} nodes, with its picture", ("ours", "torch"),
                   instrument("draw", n), "ms", target)
          for n, target in ((10, 100), (100, 200), (1000, 400), (10_000, 2000))),
        Measured("step-100", "step: a pass over 100 nodes, with its frames", ("ours", "torch"),
                 instrument("step", 100), "ms", 1000),
        Measured("ledger", "ledger: MLP training step, batch 64, times without", ("ours", "torch"),
                 ledger_overhead, "×", 2),
        *(Measured(f"{what}-on-{step}".replace(" ", "-"), f"{title}, MLP of {step} a step, times without", ("torch",),
                   while_recorded(what, step), "×", target)
          for what, title, targets in (
              ("watch", "watch", (8, 2, 1.2)), ("held", "ledger", (5, 1.5, 1.1)))
          for step, target in zip(STEPS, targets, strict=True)),
        *(Measured(f"{what}-on-{step}".replace(" ", "-"),
                   f"{title}, {SCRIPTS[step][-1]} steps of {step}, processor time, times without", ("torch",),
                   while_a_script_runs(what, step), "×", target)
          for what, title in (("explain", "python -m backscope"), ("doubts", "the same with --doubts"))
          for step, target in zip(SCRIPTS, (1.5, 1.15), strict=True)),
    ]  # fmt: skip


# --- measuring time in one process --------------------------------------------------------------------------


def one_turn(job, runs) -> float:
    """Time a few runs in a row, and return the median; the first one, which finds the caches cold, does not count."""
    gc.collect()
    times = []
    for i in range(runs + 1):
        start = time.perf_counter()
        job.run()
        seconds = time.perf_counter() - start
        if i:
            times.append(seconds)
        if job.reset:
            job.reset()
    return median(times)


def take_turns(jobs, budget, turn=0.012) -> list[dict]:
    """Measure a round: [{engine: seconds}, ...], a dictionary for each time all engines had their turn."""
    runs, cost = {}, 0.0
    for name, job in jobs.items():
        start = time.perf_counter()
        seconds = one_turn(job, 1)
        runs[name] = max(1, min(50, round(turn / seconds)))
        cost += time.perf_counter() - start + seconds * (runs[name] - 1)
    order, results = list(jobs), []
    for i in range(max(3, min(200, round(budget / cost)))):
        shift = i % len(order)  # so that nobody always comes after the same neighbour
        results.append({name: one_turn(jobs[name], runs[name]) for name in order[shift:] + order[:shift]})
    return results


def time_line(line, names, rounds, budget) -> dict:
    """Time a Timed line: the times and ratios of each engine."""
    jobs = {name: line.job(name) for name in names if name in line.engines}
    per_round = []
    for _ in range(rounds):
        turns = take_turns(jobs, budget)
        against = line.against if line.against in jobs else None
        per_round.append({
            name: (median(t[name] for t in turns),
                   {base: median(t[name] / t[base] for t in turns) for base in {against, "torch"} & set(jobs)})
            for name in jobs})  # fmt: skip
    figures = {}
    for name in jobs:
        ratios = [r[name][1].get(line.against) for r in per_round if line.against in r[name][1]]
        to_torch = [r[name][1]["torch"] for r in per_round if "torch" in r[name][1]]
        figures[name] = {
            "time": line.scale(median(r[name][0] for r in per_round)),
            "ratio": median(ratios) if ratios else None,
            "spread": [min(ratios), max(ratios)] if ratios else None,
            "to_torch": median(to_torch) if to_torch else None,
        }
    return figures


def growth_line(line, names, rounds, budget) -> dict:
    """Time a Growth line: the cost of one operation in the large graph over that in the small one."""
    names = [name for name in names if name in line.engines]
    jobs = {(name, n): line.job(name, {"n": n}) for name in names for n in (line.small, line.large)}
    found = {name: [] for name in names}
    for _ in range(rounds):
        turns = take_turns(jobs, budget)
        for name in names:  # minima: the two sizes are compared across turns, which may be disturbed differently
            small, large = (min(t[name, n] for t in turns) / n for n in (line.small, line.large))
            found[name].append(large / small)
    return {name: {"ratio": median(each), "spread": [min(each), max(each)]} for name, each in found.items()}


# --- measuring in programs of their own ---------------------------------------------------------------------

COMMON = """
import gc, sys, time
sys.path[:0] = [ROOT, ROOT + "/tools"]
import bench
def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * bench.os.sysconf("SC_PAGE_SIZE")
lib = bench.engine(NAME)
"""

MILLION = COMMON + """
def chain(n):
    gc.collect()
    gc.disable()
    start, begin = rss(), time.perf_counter()
    if NAME == "hips":
        held = []
        def product(x):
            y = x
            for _ in range(n):
                y = y * c
            held.append(rss() - start)
            return y
        c = bench.only(1.0000001, 1)
        lib.grad(product)(bench.only(1, 1))
        held = held[0]
    else:
        x, c = bench.leaf(lib, bench.only(1, 1)), lib.tensor(bench.only(1.0000001, 1))
        y = x
        for _ in range(n):
            y = y * c
        held = rss() - start
        y.backward()
        del y
    seconds = time.perf_counter() - begin
    left = gc.collect()
    gc.enable()
    return held / n, seconds / n, left
chain(1000)
small = min(chain(N // 10)[1] for _ in range(3))
held, seconds, left = chain(N)
again = [seconds, chain(N)[1]]
print(bench.json.dumps({"bytes": held, "growth": min(again) / small, "left": left}))
"""

HELD = COMMON + """
import ctypes
class Mallinfo2(ctypes.Structure):
    _fields_ = [(f, ctypes.c_size_t) for f in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks b c".split()]
ask = ctypes.CDLL(None).mallinfo2
ask.restype = Mallinfo2
def in_use():
    info = ask()
    return info.uordblks + info.hblkhd
sizes, batch = (784, 256, 128, 10), 64
x, classes, parameters = bench.network(sizes, batch)
F = bench.importlib.import_module(lib.__name__ + ".nn.functional")
x, classes, parameters = lib.tensor(x), lib.tensor(classes), [bench.leaf(lib, p) for p in parameters]
def loss():
    h = x
    for i in range(0, 4, 2):
        h = F.relu(F.linear(h, parameters[i], parameters[i + 1]))
    return F.cross_entropy(F.linear(h, *parameters[4:]), classes)
def held(after):
    kept = []
    for _ in range(N // 4):  # the allocators' own pools fill first
        kept.append(loss())
        after(kept[-1])
    kept += [None] * N
    begin = in_use()
    for i in range(-N, 0):
        kept[i] = loss()
        after(kept[i])
    return (in_use() - begin) / N
gc.disable()
loss().backward()  # gradients exist from here on: later ones are added to them
before = held(lambda each: None)
after = held(lambda each: each.backward())
print(bench.json.dumps({"forward": before, "backward": after}))
"""

OFF = COMMON + """
job = bench.CHAIN[NAME](lib, "constants", SIZE, 1)
def hooked(lib):
    x, c = bench.leaf(lib, bench.only(1, 1)), lib.tensor(bench.only(1.0001, 1))
    for register in (x.register_hook, x.register_post_accumulate_grad_hook):
        register(lambda *_: None).remove()
    def forward():
        y = x
        for _ in range(SIZE):
            y = y * c
        return y
    return bench.tensor_job(forward, [x])
def use_modes():
    with lib.autograd.set_detect_anomaly(True), lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        for _ in range(20):
            job.run()
def timed(job):
    return min(bench.one_turn(job, 5) for _ in range(4))
def use_instruments():
    from backscope import ledger, step, watch
    from backscope import draw
    with watch() as log, ledger() as held:
        for _ in range(20):
            job.run()
    x = bench.leaf(lib, bench.only(1, 1))
    return str(log), str(held.table()), str(draw(x * x)), str(step(x * x))
import warnings
warnings.simplefilter("ignore")
timed(job)
if WHAT == "hooks":
    other = hooked(lib)
    timed(other)
    ratios = [timed(other) / timed(job) for _ in range(N)]
else:
    before = [timed(job) for _ in range(N)]
    {"modes": use_modes, "instruments": use_instruments}[WHAT]()
    timed(job)
    after = [timed(job) for _ in range(N)]
    ratios = [min(after) / min(before)]
print(bench.json.dumps(bench.median(ratios)))
"""

SCRIPT = COMMON + """
import contextlib
from backscope.script.doubts import Doubts
from backscope.script.recorder import Recorder
width, depth, steps = SIZE
x, y = lib.randn(64, 64), lib.randint(0, 10, (64,))
def script(steps):
    nn = lib.nn
    deep = [one for _ in range(depth) for one in (nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())]
    model = nn.Sequential(nn.Linear(64, width), *deep, nn.Linear(width, 10))
    optimizer = lib.optim.Adam(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
def seconds(recorded):
    gc.collect()
    begin = time.process_time()
    with contextlib.ExitStack() as around:
        if recorded:
            recorder = around.enter_context(Recorder(lib))
            if WHAT == "doubts":
                around.enter_context(Doubts(lib, recorder))
        script(steps)
    return time.process_time() - begin
script(5)
found = []
for turn in range(N):
    order = (False, True) if turn % 2 else (True, False)
    times = {recorded: seconds(recorded) for recorded in order}
    found.append(times[True] / times[False])
print(bench.median(found))
"""

INSTRUMENT = COMMON + """
from backscope import ledger, step
from backscope import draw
def chain(n):
    x = bench.leaf(lib, bench.only(1, 1))
    y = x
    for _ in range(n // 2):
        y = (y * 2).sin()
    return y
def shown(picture):
    assert picture.html and "<img" in picture.html
def seconds(work):
    gc.collect()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
if WHAT in ("watch", "held"):
    from backscope import watch
    one_step = bench.NETWORK[NAME](lib, *SIZE).run
    around = {"watch": watch, "held": ledger}[WHAT]
    def some():
        for _ in range(TIMES):
            one_step()
    def recorded():
        with around() as log:
            begin = time.perf_counter()
            some()
            return time.perf_counter() - begin
    recorded()
    found = []
    for _ in range(N):
        plain, more = seconds(some), recorded()
        found.append(more / plain)
    print(bench.median(found))
elif WHAT == "ledger":
    step_of_training = bench.NETWORK[NAME](lib, (784, 256, 128, 10), 64).run
    def recorded():
        with ledger() as held:
            step_of_training()
        return held.peak
    recorded()
    found = []
    for _ in range(N):
        plain, more = (min(seconds(each) for _ in range(5)) for each in (step_of_training, recorded))
        found.append(more / plain)
    print(bench.median(found))
else:
    instrument = {"draw": draw, "step": step}[WHAT]
    shown(instrument(chain(10)))  # the first picture imports what draws
    def work():
        shown(instrument(y))
    found = []
    for _ in range(TIMES):
        y = chain(N)
        found.append(seconds(work) * 1e3)
        del y
    print(bench.median(found))
"""


def run_program(text, environment=(), **names) -> object:
    """Run a program with these names set, and return what it prints, read as JSON."""
    head = "".join(f"{key} = {value!r}\n" for key, value in {"ROOT": str(ROOT), **names}.items())
    done = subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, **dict(environment)})  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"A measurement of {names} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


_million = {}


def million(name, quick) -> dict:
    """Measure the three figures of the long chain together."""
    if name not in _million:
        _million[name] = run_program(MILLION, NAME=name, N=100_000 if quick else 1_000_000)
    return _million[name]


def million_bytes(name, quick) -> float:
    """Growth of the process by the forward pass, for each operation."""
    return million(name, quick)["bytes"]


def million_growth(name, quick) -> float:
    """Time of an operation in the long chain over that in one of a tenth of the length."""
    return million(name, quick)["growth"]


def million_garbage(name, quick) -> int:
    """Count what gc.collect() finds after everything was let go."""
    return million(name, quick)["left"]


_held = {}
FLOOR = 4 * 64 * (256 + 128 + 10)  # what backward needs: two relu results and the log probabilities, in float32


def held(name, quick) -> dict:
    """Measure both memory figures of the training step together, on many graphs kept alive.

    The C library's own count of bytes in use, with Python's objects in it: exact, and the same for all engines.
    """
    if name not in _held:
        _held[name] = run_program(HELD, {"PYTHONMALLOC": "malloc"}, NAME=name, N=20 if quick else 100)
    return _held[name]


def held_after_forward(name, quick) -> float:
    """Bytes held by one graph over the bytes that must be held."""
    return held(name, quick)["forward"] / FLOOR


def alive_after_backward(name, quick) -> float:
    """Bytes held by one loss whose backward has run."""
    return held(name, quick)["backward"]


IMPORT = """
import sys, time
sys.path.insert(0, ROOT)
start = time.perf_counter()
exec("import " + MODULE)
print(time.perf_counter() - start)
"""


def import_time(name, quick) -> float:
    """Time of the import over that of `import numpy`, in programs of their own that take turns.

    Compiled files are kept in a folder of their own: those in the tree may be stale, or not be written at all.
    """
    module, ratios = ENGINES[name][0], []
    with tempfile.TemporaryDirectory() as folder:
        cached = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for i in range(5 if quick else 9 if name == "torch" else 31):
            seconds = {each: run_program(IMPORT, cached, MODULE=each) for each in (module, "numpy")}
            if i:  # the first time writes them
                ratios.append(seconds[module] / seconds["numpy"])
    return median(ratios)


def off(what, name, quick) -> float:
    wanted = {"NAME": name, "WHAT": what, "SIZE": 1000, "N": 3 if quick else 9}
    return median(run_program(OFF, **wanted) for _ in range(1 if quick else 3))


def hooks_off(name, quick) -> float:
    """Compare a chain whose leaf had hooks once with one whose leaf never had."""
    return off("hooks", name, quick)


def modes_off(name, quick) -> float:
    """Compare a chain after anomaly mode and saved-tensor hooks were used with the same before."""
    return off("modes", name, quick)


def instruments_off(name, quick) -> float:
    """Compare a chain after watch, ledger, draw and step were used with the same before."""
    return off("instruments", name, quick)


def instrument(what, nodes) -> Callable:
    """Make the function that times an instrument for a graph of so many nodes, picture and all, in milliseconds."""

    def measured(name, quick):
        times = 2 if quick else 5
        return run_program(INSTRUMENT, NAME=name, WHAT=what, N=nodes, TIMES=times)

    return measured


def ledger_overhead(name, quick) -> float:
    """Compare a training step inside `with ledger()` with the same outside."""
    return run_program(INSTRUMENT, NAME=name, WHAT="ledger", N=5 if quick else 15)


STEPS = {  # how long a training step takes on PyTorch, about -> layers and batch, steps in a turn
    "1 ms": ((96,) * 12 + (10,), 32, 40),
    "10 ms": ((512,) * 12 + (10,), 56, 5),
    "100 ms": ((1024,) * 12 + (10,), 200, 1),
}


SCRIPTS = {  # how long a step takes, about -> width and depth of a network of modules, steps of the script
    "1 ms": (64, 2, 1000),
    "10 ms": (160, 12, 500),
}


def while_a_script_runs(what, step) -> Callable:
    """Compare a script that trains with Adam, recorded from the first step on, with the same without."""

    def measure(name, quick) -> dict:
        return run_program(SCRIPT, NAME=name, WHAT=what, SIZE=SCRIPTS[step], N=1 if quick else 3)

    return measure


def while_recorded(what, step) -> Callable:
    """Training steps while an instrument looks on, over the same without: measure(engine name, quick)."""
    *size, times = STEPS[step]

    def measure(name, quick) -> dict:
        return run_program(INSTRUMENT, NAME=name, WHAT=what, SIZE=tuple(size), TIMES=times, N=3 if quick else 9)

    return measure


# --- the command --------------------------------------------------------------------------------------------


def prepare() -> None:
    """Keep to one core and one thread; returns after starting itself again if the environment was not set."""
    if any(os.environ.get(key) != value for key, value in SETTINGS.items()):
        environment = {**os.environ, **SETTINGS}
        os.execve(python_of_the_course(), [python_of_the_course(), str(Path(__file__).resolve()), *sys.argv[1:]],
                  environment)  # fmt: skip
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {idlest_core(sorted(os.sched_getaffinity(0)))})
    sys.setrecursionlimit(100_000)  # for micrograd, which recurses; the others do not


def idlest_core(cores) -> int:
    """Find the core that had least to do just now; the last one where the system does not say."""

    def idle():
        with open("/proc/stat") as file:
            return {line.split()[0]: int(line.split()[4]) for line in file if line.startswith("cpu")}

    try:
        before = idle()
        time.sleep(0.5)
        after = idle()
        return max(cores, key=lambda core: after[f"cpu{core}"] - before[f"cpu{core}"])
    except (OSError, KeyError):
        return cores[-1]


def python_of_the_course() -> str:
    """Return this Python if it has NumPy, otherwise the one in .venv that `make setup` made."""
    from coursekit.cli.environment import python_in

    other = python_in(ROOT / ".venv")
    return sys.executable if importlib.util.find_spec("numpy") or not other.exists() else str(other)


def verdict(line, figures) -> str:
    """Judge our figure, or an instrument's on PyTorch, by the target: 'ok' or 'misses'; '' when there is none."""
    mine = figures.get("ours" if "ours" in getattr(line, "engines", "ours") else "torch", {}).get("ratio")
    return "" if mine is None or line.target is None else "ok" if mine <= line.target else "misses"


def measure(line, names, options) -> dict:
    """Measure one line: {engine: {"ratio": ..., ...}}."""
    rounds, budget = (1, 0.4) if options.quick else (3, 1.6)
    if line.kind == "time":
        return time_line(line, names, rounds, budget)
    if line.kind == "growth":
        return growth_line(line, names, rounds, budget)
    return {name: {"ratio": line.measure(name, options.quick)} for name in line.engines if name in names}


def cell(line, name, figures) -> str:
    """Return one engine's figure as the table shows it."""
    figure = figures.get(name)
    if figure is None:
        return "-"
    if line.kind == "time":
        ratio = "" if figure["ratio"] is None else f" {figure['ratio']:5.2f}"
        return f"{figure['time']:.3g} {line.unit}{ratio}"
    return f"{figure['ratio']:.2f} ×" if line.unit == "×" else f"{figure['ratio']:.0f} {line.unit}".strip()


def show(line, figures) -> None:
    """Print one line of the table."""
    base = {"torch": "of torch", "numpy": "of NumPy"}.get(getattr(line, "against", None), line.unit)
    target = f"≤ {line.target:g} {base}".strip()
    cells = "".join(f"{cell(line, name, figures):>16}" for name in ENGINES)
    print(f"{line.title:<62}{cells}   {target:<16} {verdict(line, figures)}", flush=True)


def report(found) -> dict:
    """Return the whole table as data: what the JSON file holds."""
    versions = {"course_lib": engine("ours").__version__, "python": platform.python_version()}
    for name, distribution in DISTRIBUTIONS.items():
        if engine(name) is not None:
            versions[distribution] = importlib.metadata.version(distribution)
    return {
        "versions": versions,
        "machine": {"system": platform.system(), "processor": platform.machine(), "threads": 1, "cores": 1},
        "lines": [
            {"name": line.name, "title": line.title, "kind": line.kind, "unit": line.unit, "target": line.target,
             "target_of": getattr(line, "against", None), "verdict": verdict(line, figures), "figures": figures}
            for line, figures in found
        ],
    }  # fmt: skip


def draw(data, path) -> None:
    """Draw the plot: a row for each timed line, time relative to torch, one mark for each engine."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "bench", "font.size": 9, "font.family": "DejaVu Sans"})
    import matplotlib.pyplot as plt

    marks = {  # Okabe and Ito's colours, which all eyes tell apart; shapes say the same again
        "ours": ("#0072B2", "o", 70), "numpy": ("#009E73", "D", 28), "micrograd": ("#CC79A7", "^", 34),
        "hips": ("#D55E00", "s", 28), "torch": ("#000000", "|", 90),
    }  # fmt: skip
    rows = [line for line in data["lines"] if line["kind"] == "time" and line["figures"]["ours"].get("to_torch")]
    figure, axes = plt.subplots(figsize=(8.6, 0.33 * len(rows) + 1.35), layout="constrained")
    for y, line in enumerate(rows):
        figures = line["figures"]
        axes.plot([0.01, 100], [y, y], color="#DDDDDD", linewidth=0.8, zorder=0)
        goal = line["target"] * (figures[line["target_of"]]["to_torch"] if line["target_of"] != "torch" else 1)
        axes.plot([goal, goal], [y - 0.36, y + 0.36], color="#E69F00", linewidth=3, zorder=1,
                  label="target" if y == 0 else None)
        for name, (color, marker, size) in marks.items():
            if figures.get(name):
                axes.scatter(figures[name]["to_torch"], y, s=size, color=color, marker=marker, zorder=3,
                             label=None if y else ENGINES[name][1])  # fmt: skip
    axes.set_xscale("log")
    low = min(f["to_torch"] for line in rows for f in line["figures"].values())
    high = max(f["to_torch"] for line in rows for f in line["figures"].values())
    axes.set_xlim(low / 1.3, high * 1.3)
    ticks = [t for t in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low / 1.3 <= t <= high * 1.3]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.axvline(1, color="black", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), [line["title"] for line in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(left=False)
    axes.spines[["left", "right", "top"]].set_visible(False)
    torch_version = data["versions"].get("torch", "").partition("+")[0]
    axes.set_xlabel(f"time on one core; PyTorch {torch_version} = 1, less is better")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False, handletextpad=0.3)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def options_of(arguments) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round: figures are rough")
    parser.add_argument("--only", metavar="NAME", help="only lines whose name contains NAME")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the table as data")
    parser.add_argument("--list", action="store_true", help="print the names of the lines")
    parser.add_argument("--draw", action="store_true", help="only draw docs/bench.svg again from docs/bench.json")
    return parser.parse_args(arguments)


def main(arguments=None) -> int:
    """Run the command; the exit status is 0 also when targets are missed: it is a measurement, no test."""
    options = options_of(arguments)
    if options.draw:
        draw(json.loads((ROOT / "docs" / "bench.json").read_text(encoding="utf-8")), ROOT / "docs" / "bench.svg")
        return 0
    chosen = [line for line in lines() if options.only is None or options.only in line.name]
    if options.list or not chosen:
        print("\n".join(line.name for line in (chosen or lines())))
        return 0 if options.list else 2
    prepare()
    names = present()
    for name in ENGINES:
        if name not in names:
            print(f"{ENGINES[name][1]} is not installed and shows as a dash; to have it: {ENGINES[name][2]}")
    gc.collect()
    gc.freeze()  # what importing made is nobody's garbage
    print(f"{'':<62}" + "".join(f"{ENGINES[name][1]:>16}" for name in ENGINES) + "   target", flush=True)
    found, start = [], time.perf_counter()
    for number, line in enumerate(chosen, 1):
        if sys.stderr.isatty():
            spent = time.perf_counter() - start
            print(f"[{number}/{len(chosen)}, {spent:.0f} s] {line.title} ...", end="\r", file=sys.stderr, flush=True)
        figures = measure(line, names, options)
        if sys.stderr.isatty():
            print(" " * 100, end="\r", file=sys.stderr)
        show(line, figures)
        found.append((line, figures))
    data = report(found)
    whole = not options.quick and options.only is None
    path = options.json or (ROOT / "docs" / "bench.json" if whole else None)
    if path is not None:
        path.write_text(json.dumps(rounded(data), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {os.path.relpath(path)}")
    if whole and options.json is None and "torch" in names:
        draw(data, ROOT / "docs" / "bench.svg")
        print("wrote docs/bench.svg")
    elif whole and options.json is None:
        print("docs/bench.svg shows times relative to PyTorch's: without PyTorch it stays as it is")
    missed = [line.name for line, figures in found if verdict(line, figures) == "misses"]
    print(f"{len(found) - len(missed)} of {len(found)} lines reach their target"
          + (f"; missed: {', '.join(missed)}" if missed else ""))  # fmt: skip
    return 0


def rounded(data) -> object:
    """Cut the figures of the data to four digits: more are noise."""
    if isinstance(data, dict):
        return {key: rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.4g}") if isinstance(data, float) else data


if __name__ == "__main__":
    sys.exit(main())
