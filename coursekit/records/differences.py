"""The differences between our engine and PyTorch: one list, printed by lesson 15 and run on both by a test.

What has no answer here raises an error that says so (surface/left_out.py); such names are counted and not listed.
"""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """One row: what is asked, the two answers, and the program that gives them."""

    asked: str
    ours: str
    theirs: str
    program: Callable[[Any], str]


def differences() -> None:
    """Print the table: what is asked, our answer, PyTorch's."""
    rows = [("asked", "course_lib", "PyTorch 2.13"), *((row.asked, row.ours, row.theirs) for row in DIFFERENCES)]
    wide = [max(len(row[i]) for row in rows) for i in range(2)]
    for row in rows:
        print(f"{row[0]:{wide[0]}}   {row[1]:{wide[1]}}   {row[2]}")


def names_behind(result) -> list:
    """Return the names of all nodes behind a result, without those of leaves; its own node comes first."""
    met = [result.grad_fn]
    for node in met:
        met += [each for each, _ in node.next_functions if each is not None and each not in met]
    return [node.name() for node in met if not hasattr(node, "variable")]


def has(*names) -> Callable:
    """Return a program: does the library have these names, all of them or none?"""

    def program(torch):
        found = []
        for name in names:
            place = torch
            for part in name.split("."):
                place = getattr(place, part, None)
            found.append(place is not None)
        return "there" if all(found) else GONE if not any(found) else "in part"

    return program


def callers_gradient(torch) -> str:
    x, given = torch.ones(2, requires_grad=True), torch.ones(2, 1)
    x.view(2, 1).backward(given)
    x.view(2, 1).backward(given)
    return "is as it was" if given.tolist() == [[1.0], [1.0]] else "has changed"


def ring_of_pack(torch) -> str:
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda packed: packed):
        y = torch.ones(2, requires_grad=True).exp()
    alive = weakref.ref(y)
    del y
    gc.collect()
    return "stays in memory" if alive() is not None else "found by the collector"


def slot(torch) -> str:
    node = torch.ones(2, requires_grad=True).exp().grad_fn
    return "yes" if hasattr(node._raw_saved_result, "is_freed") else "no"


def writing_line(torch) -> str:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        h = x * 1
        y = h.sin().sum()
        h.mul_(2)
        try:
            y.backward()
        except RuntimeError as error:
            return "the line that wrote" if "first changed after that by" in str(error) else "nothing more"
    return "nothing"


def source(torch) -> str:
    return "Python: torch.mul??" if hasattr(torch.mul, "__code__") else "C++, compiled"


def sparse_gradient(torch) -> str:
    try:
        table = torch.nn.Embedding(5, 2, sparse=True)
        table(torch.tensor([1])).sum().backward()
    except (RuntimeError, NotImplementedError):
        return "refused"
    return "a sparse tensor" if table.weight.grad.layout is not torch.strided else "a dense tensor"


def without_memory(torch) -> str:
    try:
        return f"a tensor of shape {tuple(torch.ones(2, device='meta').shape)}"
    except (RuntimeError, NotImplementedError):
        return "refused"


def lstm(torch) -> str:
    names = names_behind(torch.nn.LSTM(3, 4)(torch.ones(5, 2, 3))[0])
    return names[0] if len(names) == 1 else f"{len(names)} nodes"


def lstm_cell(torch) -> str:
    [name] = {name for name in names_behind(torch.nn.LSTMCell(3, 4)(torch.ones(2, 3))[0]) if "Split" in name}
    return name


def attention(torch) -> str:
    q, k, v = [torch.ones(1, 1, 4, 2, requires_grad=True) for _ in range(3)]
    result = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    found = len(names_behind(result))
    return f"{found} node{'s' if found > 1 else ''}"


GONE = "left out"
DIFFERENCES = (
    Difference("the graph of nn.LSTM over 5 steps", "70 nodes", "MkldnnRnnLayerBackward0", lstm),
    Difference("where nn.LSTMCell cuts its gates apart", "SplitBackward0", "UnsafeSplitBackward0", lstm_cell),
    Difference("the graph of scaled_dot_product_attention", "16 nodes", "1 node", attention),
    Difference("your g, after x.view(2, 1).backward(g) twice", "is as it was", "has changed", callers_gradient),
    Difference("a result that pack returned as it is", "found by the collector", "stays in memory", ring_of_pack),
    Difference("anomaly mode names the line that saved, and", "the line that wrote", "nothing more", writing_line),
    Difference("has node._raw_saved_result an is_freed?", "yes", "no", slot),
    Difference("torch.mul is written in", "Python: torch.mul??", "C++, compiled", source),
    Difference("the gradient of Embedding(sparse=True)", "refused", "a sparse tensor", sparse_gradient),
    Difference("torch.ones(2, device='meta')", "refused", "a tensor of shape (2,)", without_memory),
    Difference("float16, bfloat16, complex64, int32", GONE, "there",
               has("float16", "bfloat16", "complex64", "int32")),
    Difference("autocast, compile, jit, func, vmap", GONE, "there", has("autocast", "compile", "jit", "func", "vmap")),
    Difference("distributed, multiprocessing", GONE, "there", has("distributed", "multiprocessing")),
    Difference("autograd.forward_ad, autograd.profiler", GONE, "there",
               has("autograd.forward_ad", "autograd.profiler")),
    Difference("nn.GRU, nn.MultiheadAttention, nn.Conv3d", GONE, "there",
               has("nn.GRU", "nn.MultiheadAttention", "nn.Conv3d")),
)  # fmt: skip
