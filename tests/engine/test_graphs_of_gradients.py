"""The graphs that recorded passes leave are PyTorch's: names, edges in order, and what is saved at which version.

Each call is computed on both engines, and its gradients with create_graph=True. The graphs of the call and of its
gradients are written down from the roots on, and compared; where the call stands under THREE, those of the gradients'
gradients are, too.
"""

import re
import warnings

import pytest

import course_lib
from tests.engine.facts import same, value_of

VALUES = {
    "x": [[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]], "y": [[1.5, 0.75, -0.5], [2.5, 1.0, 0.3]],
    "z": [[0.2, -0.7, 0.9], [1.1, -1.3, 0.4]], "p": [[0.5, 1.25, 2.0], [3.0, 0.8, 0.3]],

    "pr": [[0.5, 0.25, 0.1], [0.7, 0.8, 0.3]], "o": [[0.9, 0.1, 0.6], [0.3, 0.4, 0.2]],
    "r": [0.5, -1.5, 2.5], "r2": [1.0, 2.0, -0.5], "c": [[0.7], [-1.2]], "s": 1.5,
    "sq": [[2.0, -0.5], [0.75, 1.5]], "m3": [[2.0, -0.5, 0.3], [0.75, 1.5, 0.1], [0.2, 0.4, 1.8]], "v2": [0.5, -1.5],
    "w32": [[0.3, -0.2], [0.5, 0.7], [-0.4, 0.1]], "b2": [0.1, 0.2], "bn": [[0.5, -1.25], [2.0, 0.1], [0.3, 0.9]],
    "k": [[[0.5, -1.25], [2.0, 0.1], [0.3, 0.9]], [[1.0, 0.4], [-0.6, 0.7], [0.8, -0.2]]],
    "k2": [[[0.2, 0.3, 0.5], [-0.4, 0.6, 0.1]], [[0.9, -0.8, 0.7], [0.15, 0.25, 0.35]]],
    "img": [[[[1.0, 0.5, -1.0, 2.0], [0.25, 3.0, 1.5, -2.0], [1.1, 0.05, 0.55, 4.0], [2.2, -0.5, 0.75, 1.25]]]],
    "ker": [[[[0.5, -0.25], [0.75, 1.0]]]], "kb": [0.3], "seq": [[[0.1, 0.2, -0.3, 0.4], [0.5, -0.6, 0.7, 0.8]]],
    "ker1": [[[0.5, 0.2], [0.1, -0.4]]], "x0": [[0.5, 0.0, 2.0], [3.0, 0.0, -0.75]],
}  # fmt: skip
DATA = {
    "i": [2, 0], "cells": [[2, 0, 1], [0, 1, 0]], "mask": [[True, False, True], [False, True, True]],
    "tgt": [2, 0], "d": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], "rm": [0.1, 0.2], "rv": [1.0, 2.0],
}  # fmt: skip

# Calls whose own graph is PyTorch's, while its gradients are made of other nodes and have PyTorch's values.
ONE = """
    F.logsigmoid(x) | F.gelu(x) | F.gelu(x, approximate="tanh") | F.silu(x) | F.softplus(x)
    F.huber_loss(x, z)
    F.huber_loss(x, z, reduction="none") | F.binary_cross_entropy(pr, o)
    F.binary_cross_entropy(pr, o, reduction="none") | F.binary_cross_entropy_with_logits(x, pr)
    F.binary_cross_entropy_with_logits(x, pr, d, pos_weight=d[0]) | F.conv2d(img, ker, kb, 2, 1)
    F.conv1d(seq, ker1, kb, padding=1) | F.embedding(i, m3, padding_idx=-1) | F.embedding(cells, m3)
    F.batch_norm(x, None, None, r, r2, training=True) | F.batch_norm(bn, rm, rv, v2, b2) | F.batch_norm(bn, rm, rv)
    F.layer_norm(x, (3,), r, r2) | F.layer_norm(k, (3, 2))
"""
# Calls whose graph and whose gradients' graphs are PyTorch's; under THREE, those of the gradients' gradients, too.
TWO = """
    (lambda t: (t[0].mul_(2), t)[1])(x * 1) | (lambda t: (t[:, 1:].add_(sq), t)[1])(x * 1)
    (lambda t: (t.__setitem__(0, r), t)[1])(x * 1) | (lambda t: (t.__setitem__((slice(None), 1), s), t)[1])(x * 1)
    (lambda t: (t.t().mul_(w32), t)[1])(x * 1) | (lambda t: (t.view(-1)[1:3].exp_(), t)[1])(x * 1)
    (lambda t: (t[0].copy_(r), t[1].copy_(r2), t)[2])(torch.zeros(2, 3).double()) | x0.prod() | F.mse_loss(x, y)
    F.mse_loss(x, y, reduction="none") | F.mse_loss(x, r) | F.mse_loss(x, y.detach())
"""
THREE = """
    x + y | x + r | x + 2 | x + s | torch.add(x, y, alpha=2) | x - y | x - c | x - 2 | 2 - x | x / p | x / 2 | 2 / p
    x / s | r / p | torch.div(x, p, rounding_mode="floor") | torch.div(x, p, rounding_mode="trunc") | -x | p ** 2
    x ** 3 | x ** 0 | p ** 0.5 | p ** -1 | p.sqrt() | p.rsqrt() | p.reciprocal() | x.sin() | x.cos() | x.tan()
    torch.atan(x) | torch.sinh(x) | torch.lerp(x, r, 0.7) | x.addcmul(y, z, value=2) | torch.clamp(x, min=0)
    torch.clamp(x, max=0.5) | x.clamp_min(y) | x.clamp_max(r) | torch.where(mask, x, 0.0) | torch.where(mask, 1.0, x)
    x.masked_fill(mask, 0.5) | x.sum() | x.sum(0) | x.sum(1, keepdim=True) | x.sum((0, 1)) | s.sum()
    k.sum((0, 2), keepdim=True) | x.mean() | x.mean(1, keepdim=True) | k.mean((0, 2)) | x.var(unbiased=False)
    x.var(1, correction=0) | x.std() | x.std(0) | k.std((0, 2)) | x.norm() | x.norm(2, 0) | x.norm(0)
    k.norm(2, (0, 2)) | torch.linalg.norm(x) | torch.linalg.norm(x, "fro") | torch.linalg.vector_norm(x)
    torch.linalg.matrix_norm(x) | F.normalize(x) | x.logsumexp(1, keepdim=True)
    x.logsumexp((0, 1)) | x.max(0) | x.min(0) | x.sort(0, descending=True) | x.softmax(1) | x.log_softmax(1) | x @ w32
    r @ r2 | x @ r | v2 @ x | k @ k2 | torch.mm(x, w32) | torch.bmm(k, k2) | b2.addmm(x, w32)
    torch.einsum("ij,jk->ik", x, w32) | torch.einsum("i,j->ij", r, v2) | torch.einsum("ii->i", sq)
    torch.einsum("bij,bjk,k->bi", k, k2, r) | x.view(3, 2) | x.t().reshape(6) | x.reshape(2, 3)
    x.flatten() | x.ravel() | x.squeeze() | c.squeeze() | x.unsqueeze(0) | c.expand(2, 3)
    x.flip(0) | x[0, 1] | x[:, 1:] | x[:, ::2] | x[None] | k[0, 1:, 0] | r[torch.tensor(1)] | x.select(1, 2)
    x.narrow(1, 0, 2) | x.scatter(1, cells[:, :1], 0.5) | x.scatter_add(1, cells, y) | torch.cat([x, y])
    torch.cat([x, x]) | torch.stack([x, y]) | torch.hstack([x, y]) | torch.vstack([r, r2]) | x.contiguous()
    x.t().contiguous() | x.to(torch.float32) | x.float() | x.view_as(y) | x.detach() * x
    x.clone().mul_(y) | x.clone().add_(y) | x.clone().div_(p) | x.clone().exp_() | x.clone().relu_()
    x.clone().pow_(2) | x.clone().zero_() | x.clone().fill_(2) | x.clone().fill_(s) | x.clone().copy_(y)
    x.clone().masked_fill_(mask, 0.5) | x.clone().abs_() | x.clone().addcmul_(y, z) | x.clone().lerp_(y, 0.3)
    F.relu(x) | F.leaky_relu(x) | F.l1_loss(x, y) | F.l1_loss(x, y, reduction="none")
    F.binary_cross_entropy_with_logits(x, o, reduction="none") | F.cross_entropy(x, tgt)
    F.cross_entropy(x, tgt, reduction="none") | F.cross_entropy(x, tgt, label_smoothing=0.1)
    F.cross_entropy(x, tgt, weight=d[0]) | F.cross_entropy(x, o) | F.nll_loss(x, tgt)
    F.nll_loss(x, tgt, reduction="none") | F.nll_loss(k, cells[:, :2])
    F.linear(x, w32.t())
    F.linear(x, w32.t(), b2) | F.linear(k, sq, b2) | F.linear(r, x) | F.max_pool2d(img, 2)
    F.max_pool2d(img, 2, return_indices=True) | F.pad(x, (1, 2)) | F.pad(x, (1, 2), value=0.5)
    F.dropout(x, 0.0) | F.scaled_dot_product_attention(k, k * 2, k2.transpose(1, 2))
    F.scaled_dot_product_attention(k, k * 2, k2.transpose(1, 2), is_causal=True)
    F.scaled_dot_product_attention(k, k * 2, k.sin(), torch.ones(3, 3).tril().bool())
    F.scaled_dot_product_attention(k, k * 2, k.sin(), torch.ones(3, 3).tril(-1).bool())
    x.scatter(1, cells[:, :1], y[:, :1]) | x.clone().scatter_(1, cells[:, :1], y[:, :1])
    (lambda t: (t.__setitem__(0, 2.0), t)[1])(x * 1) | (lambda t: (t.unbind(1), t.sum())[1])(x * 1)
    (lambda t: (t.diagonal().zero_(), t)[1])(sq * 1) | x.mean() * x.std() | (x - x.mean(0)) / x.std(0)
    (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
    ((x @ w32 + b2).tanh() @ sq).sum() | F.relu(x @ w32 + b2).sum(1).pow(2).mean() | torch.logsumexp(x, 0)
    x.sum(0).norm() | k.sum(1).softmax(1) | k.max(2)[0] | k.std((0, 1), keepdim=True) | k.cumsum(2) | k.flip((0, 2))
    k[None] @ k2[None] | k.gather(1, torch.tensor([[[0, 1]], [[2, 0]]])) | torch.where(k > 0, k, r[None, :, None])
    torch.cat([x, y, z], 1) | x.to(torch.float32) * 2 | x.float().double() | (x > 0) * x | x + mask | x ** cells
    torch.pow(p, cells) | torch.pow(2, x) | x.clamp_min(s) | x.sort(1)[0] * r | x.topk(2, 1, False)[0]
    x.std(1, unbiased=False) | F.relu(x * 1, inplace=True)
    F.cross_entropy(x, tgt, weight=d[0], label_smoothing=0.2)
    F.cross_entropy(x, tgt, label_smoothing=0.2, reduction="none") | F.cross_entropy(x, tgt, ignore_index=2)
    F.cross_entropy(x, tgt - 100 * i.eq(0)) | F.cross_entropy(x, o, label_smoothing=0.1)
    F.cross_entropy(x, o, weight=d[0]) | F.cross_entropy(r, torch.tensor(1)) | F.cross_entropy(k, cells[:, :2])
    F.linear(k, sq.t(), b2) | torch.outer(r, r) | torch.einsum("ij,kj->ik", x, y)
    torch.einsum("...ij,jk->...ik", k, sq) | torch.bmm(k, k.transpose(1, 2)) | x.double().requires_grad_() * 1
    torch.clone(x).detach() * x | torch.lerp(s, x, 0.2) | torch.remainder(x, r)
    torch.linalg.matrix_norm(k) | torch.autograd.grad((x ** 3).sum(), x, create_graph=True)[0]
"""
# Calls whose own graph is PyTorch's, and of whose gradients the values are: their graphs have other nodes here.
VALUES_ONLY = """
    x.repeat(1, 2, 1) | r.repeat(2, 2) | x.norm(1) | F.normalize(x, p=1, dim=0) | x.prod() | x.amax(0)
    x.masked_fill(mask, s) | x.sum(1).max() | torch.lerp(x, y, s) | torch.lerp(x, r, z) | x.addcdiv(y, p, value=2)
    torch.clamp(x, -1, 1) | torch.maximum(x, r) | x.norm(3.5, 1, True) | r.index_select(0, i) | x.index_add(1, i, sq)
    x.clone().index_add_(1, i, sq) | torch.minimum(x, x)
    x.addcdiv(s, p) | x[i % 2] | x[i % 2, i] | x[mask] | k[:, i]
    (lambda t: (t.__setitem__(mask, 2.0), t)[1])(x * 1) | (lambda t: (t.__setitem__(mask, s), t)[1])(x * 1)
    (lambda t: (t.__setitem__(i % 2, y), t)[1])(x * 1) | k[1, [0, 2]]
"""
# Calls that are made of other operations here: the values of all derivatives are PyTorch's.
MADE_OF_OTHERS = """
    x.clamp(s.detach(), p)
    torch.linalg.inv(sq) | torch.tensordot(x, y, 2)
    torch.tensordot(k, k, ([1, 2], [1, 2])) | x.inner(y)
"""


def calls_of(block):
    return [call.strip() for line in block.strip().splitlines() for call in line.split(" | ")]


def names_of(torch, wanted):
    """What calls are written in; only the `wanted` require grad."""
    leaves = {n: torch.tensor(v, dtype=torch.float64, requires_grad=n in wanted) for n, v in VALUES.items()}
    data = {n: torch.tensor(v) for n, v in DATA.items()}
    data = {n: t.double() if t.is_floating_point() else t for n, t in data.items()}
    return {"torch": torch, "F": torch.nn.functional, **leaves, **data}


def flat(result, torch):
    """The tensors in a result that have a history."""
    if isinstance(result, torch.Tensor):
        return [result] if result.requires_grad else []
    return [t for part in result for t in flat(part, torch)]


def saved(node, torch):
    """The tensors that a node keeps: name, shape, version and where they come from."""
    found = []
    for name in sorted(name for name in dir(type(node)) if name.startswith("_saved_")):
        value = getattr(node, name)
        for t in value if isinstance(value, list | tuple) else [value]:
            if isinstance(t, torch.Tensor):
                maker = t.grad_fn and t.grad_fn.name()
                found.append((name, tuple(t.shape), t._version, maker, t.output_nr, t.requires_grad))
    return found


def graph_of(tensors, torch, leaves, with_saved):
    """A graph as lines: number and name of a node, where its edges lead, what it keeps. A node is visited once."""
    numbers, lines = {}, []

    def visit(node):
        if node is None or node in numbers:
            return numbers.get(node)
        number = numbers[node] = len(lines)
        lines.append(None)
        leaf = leaves.get(id(node.variable), "?") if hasattr(node, "variable") else None
        edges = [(visit(after), output_nr) for after, output_nr in node.next_functions]
        lines[number] = (node.name(), leaf, edges, saved(node, torch) if with_saved and not leaf else None)
        return number

    roots = [t if t is None else (visit(t.grad_fn), t.output_nr, leaves.get(id(t)), t.requires_grad) for t in tensors]
    return [roots, *lines]


def weights(torch, tensors, recorded):
    """Gradients to begin with, in which every element counts differently."""
    shaped = [torch.arange(t.numel()).to(t.dtype).reshape(t.shape) * 0.3 + 0.5 + n for n, t in enumerate(tensors)]
    return [w.requires_grad_(recorded) for w in shaped]


def history(torch, call, wanted, recorded, derivatives):
    """The graphs and values of a call and of its derivatives."""
    names = names_of(torch, wanted)
    current, inputs = flat(eval(call, names), torch), [names[n] for n in wanted]
    leaves, seen = {id(names[n]): n for n in wanted}, []
    for order in range(derivatives + 1):
        values = [None if t is None else value_of(t + 0) for t in current]  # + 0: PyTorch has zeros without memory
        seen.append([graph_of(current, torch, leaves, order < 2), values])
        current = [t for t in current if t is not None and t.requires_grad]
        if order == derivatives or not current:
            return seen
        seeds = weights(torch, current, recorded)
        leaves.update((id(w), f"weight {order} {n}") for n, w in enumerate(seeds) if recorded)
        current = torch.autograd.grad(current, inputs, seeds, create_graph=True, allow_unused=True)
        inputs += seeds * recorded


def compare(call, wanted, recorded, derivatives, torch):
    """Assert that graphs and values are the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (history(each, call, wanted, recorded, derivatives) for each in (course_lib, torch))
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a[0] == b[0] or number and call in calls_of(ONE), (call, wanted, f"derivative {number}")
        assert same(a[1], b[1], 1e-6, 1e-9), (call, wanted, f"derivative {number}")


@pytest.mark.parametrize("call", calls_of(VALUES_ONLY) + calls_of(MADE_OF_OTHERS))
def test_derivatives_of_calls_with_graphs_of_their_own(call, real_torch):
    """The values of a call and of its first two derivatives are PyTorch's; of most calls the first graph, too."""
    used = [n for n in VALUES if re.search(rf"(?<![\w.]){n}\b(?!\s*=[^=])", call)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (history(torch, call, used, True, 2) for torch in (course_lib, real_torch))

    assert same([values for _, values in ours], [values for _, values in theirs], 1e-6, 1e-9)
    assert ours[0][0] == theirs[0][0] or call in calls_of(MADE_OF_OTHERS)


@pytest.mark.parametrize("call", calls_of(ONE) + calls_of(TWO) + calls_of(THREE))
def test_a_recorded_pass_leaves_pytorchs_graph(call, real_torch):
    """The graphs of a call and its gradients, for all inputs and for each alone, and of third derivatives."""
    used = [n for n in VALUES if re.search(rf"(?<![\w.]){n}\b(?!\s*=[^=])", call)]
    compare(call, used, True, 1 if call in calls_of(TWO) else 2, real_torch)
    compare(call, used, False, 1, real_torch)
    for name in used if len(used) > 1 else ():
        compare(call, [name], True, 1, real_torch)
