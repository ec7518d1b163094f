"""Forms of call, one a line: operations with their less usual arguments, compared with PyTorch in everything to see.

Each was once answered otherwise than by PyTorch, or refused: found with PyTorch's own catalogue of operations and
sample arguments (torch.testing, op_db and module_db). A line that raises must raise the same.
"""

import math
import warnings

import numpy as np
import pytest
from facts import describe, same, value_of

import course_lib

# What the lines are written in: leaves of float64 and float32, and data.
VALUES = {
    "x": [[0.5, -1.25, 2.0], [3.0, 0.0, -0.75]], "y": [[1.5, 0.75, -0.5], [2.5, 1.0, 0.25]],
    "sq": [[2.0, -0.5], [0.75, 1.5]], "v": [0.5, -1.5, 2.5], "w": [1.0, 2.0, -0.5], "s": 1.5,
    "img": [[[[1.0, 0.5, -1.0, 2.0], [0.25, 3.0, 1.5, -2.0], [1.0, 0.0, 0.5, 4.0], [2.0, -0.5, 0.75, 1.25]]]],
}  # fmt: skip
DATA = {
    "i": [2, 0], "i0": 0, "i1": [0], "ints": [[3, 1, 2], [1, 3, 1]], "truths": [True, False, True], "few": [4, 4, 1],
    "cells": [[2, 0, 1], [0, 1, 0]],
}  # fmt: skip

FORMS = {
    "numbers of NumPy, and Python's types where a dtype is asked for": """
        v ** np.int64(2)
        v ** np.float64(2)
        i ** np.int64(2)
        v % np.float64(2)
        torch.fmod(v, np.float64(2))
        v.clamp(np.float64(-1), np.float64(1))
        v.clip(np.float64(0))
        (v * 1).pow_(np.float64(2))
        x.sum(np.int64(0))
        x.amax(np.int64(-1), keepdim=True)
        x.sum(dtype=float)
        i.sum(dtype=float)
        i.to(float)
        v.to(int)
        torch.ones(2, dtype=float)
        torch.tensor([1.5], dtype=int)
        torch.as_tensor([0, 1], dtype=bool)
        torch.zeros_like(i, dtype=float)
        torch.full((2,), torch.tensor(3.0))
        v ** "a"
        v % None
    """,
    "the place of an extreme, kept as a dimension": """
        x.argmax(keepdim=True)
        s.argmin(keepdim=True)
        x.argmin(None, True)
        x.topk(-1)
    """,
    "a norm in another type": """
        x.norm(2, 1, True, dtype=torch.float64)
        x.norm(dtype=torch.float32)
        i.norm(dtype=torch.float32)
    """,
    "bits written in place": """
        i.clone().__ilshift__(1)
        i.clone().__irshift__(1)
        i.clone().__iand__(2)
        i.clone().__ior__(1)
        i.clone().__ixor__(3)
        truths.clone().__iand__(torch.tensor([True, True, False]))
        truths.clone().__ilshift__(1)
        truths.clone().__iand__(1)
        truths.clone().__ior__(few)
    """,
    "einsum with numbers for letters, and letters that stand for other lengths": """
        torch.einsum(x, [0, 1], y, [2, 1], [0, 2])
        torch.einsum(x, [0, 1], y, [0, 1])
        torch.einsum(x, [..., 0], v, [0], [...])
        torch.einsum("ij,jk", x, x)
        torch.einsum("i,i,i", v, v[:1], v[:2])
    """,
    "what is no tensor": """
        F.cross_entropy([1.0], [2])
        F.cross_entropy(x, 1)
        F.nll_loss(x, [1])
        F.kl_div(x, 1.0)
        F.one_hot(3)
        F.one_hot([3, np.float64(2)])
        F.layer_norm([1.0], (1,))
        F.dropout("a")
        F.pad([1], (1, 1))
        F.max_pool2d([1], 2)
        F.avg_pool2d(np.ones(2), 2)
        torch.nn.CrossEntropyLoss()(x, np.int64(1))
    """,
    "modules that are told too much, or too little": """
        F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(2, 2).bool(), is_causal=True)
        torch.result_type(1, 1.0)
        torch.result_type(i, 1.0)
        torch.result_type(True, s)
    """,
    "names of NumPy, as methods and in place": """
    """,
    "checks that come first": """
        F.embedding(i1, v)
        F.dropout(i, 0.5)
        F.layer_norm(i, (2,), torch.ones(2))
        torch.take_along_dim(x, torch.tensor([[0], [1], [1]]), 1)
        x.sum(dtype=torch.int64)
    """,
    "a number is a vector of one wherever places are named": """
        s.gather(0, i0)
        s.gather(0, i1)
        v.gather(0, i0)
        s.index_select(0, i1)
        s.index_add(0, i0, s, alpha=-1)
        s.index_add(0, i1, v[:1])
        (s * 1).index_add_(0, i1, s)
        (s * 1).index_fill_(0, i1, 2.5)
        s.scatter(0, i0, s * 2)
        v.scatter(0, i1, s)
        v.scatter(0, i[:0], w)
        s.scatter_add(0, i1, v[:1])
        v.scatter_add(0, i0, s)
        x.scatter_add(1, i1, y)
    """,
    "places": """
        (x * 1).index_fill_(1, torch.cat([i, i]), s)
        torch.take_along_dim(x, -cells, 1)
        x.unsqueeze(0).index_add(1, i % 2, y.unsqueeze(0))
        sq.gather(1, cells[:0])
        torch.kthvalue(few, 2)
        torch.kthvalue(ints, 2, 1)
        torch.kthvalue(torch.tensor([2, 1, 2, 1, 1, 2, 1]), 3)
        x.nonzero(as_tuple=True)
    """,
    "copies are copies": """
        v.detach().repeat_interleave(1).zero_() + v.detach()
        s.repeat(())
        s.tile(())
        x.repeat(0, 1)
    """,
    "in place": """
        (x * 1).clamp_min_(y)
        (x * 1).round_(decimals=1)
    """,
    "means of the spread": """
        x.var(dim=None, correction=None)
        x.std(0, correction=None)
        torch.var_mean(x, 1, unbiased=False)[0]
        torch.std_mean(x, True)[0]
        torch.std_mean(x, 0)
        torch.var_mean(x, (0, 1), keepdim=True)[1]
        torch.std_mean(x, dim=1, correction=0)[1] * torch.var_mean(x, 1)[0]
        torch.var_mean(ints)
    """,
    "new tensors": """
        torch.full_like(ints, 0.5, dtype=torch.float64)
        torch.full_like(x, 2, dtype=torch.int64)
        torch.linspace(4.3, -3, 9, dtype=torch.int64)
        torch.linspace(0, 1, 7)
        torch.linspace(torch.tensor(0.0), torch.tensor(3), 4)
        torch.arange(0.0, -8.5, -4.0, dtype=torch.int64)
        torch.arange(0, end=3.1, dtype=torch.int64)
        v.new_zeros((2,), device="cpu")
        v.new_full((2,), 1.5, dtype=torch.float32, device="cpu")
        torch.scalar_tensor(2, device="cpu")
        torch.randint_like(v, 3, 4, dtype=torch.int64)
    """,
    "shapes": """
        torch.meshgrid(v, v[:2], indexing="xy")
        torch.meshgrid(v, v[:2], s, indexing="xy")
        torch.meshgrid(s, indexing="xy")
        s.sum_to_size(())
        (x > 0).sum_to_size((1, 3))
        torch.movedim(s, (), ())
        torch.einsum("...ik,...j->ij", x.unsqueeze(0), v)
        torch.einsum("ik,j->ij", x, v)
        torch.einsum("ij->i", x)
        torch.einsum("i,j->ij", v, w)
    """,
    "products": """
        sq.addmm(x, y.t(), beta=0)
        (sq * float("nan")).addmm(x, y.t(), beta=0)
    """,
    "remainders": """
        5.3 % y
        5.3 // y.detach()
        -5.3 % v.detach()
        torch.remainder(5.3, y.detach())
    """,
    "second derivatives": """
        x % y
        torch.fmod(x, y)
        (x * 0 + 1) % (y * 0)
        torch.fmod(x, y * 0)
        torch.trace(sq)
        torch.trace(x)
        (x * 0).norm(3.5)
        (x * 0).norm(1.5)
        x.norm(0.5)
        x.norm(1.5, dim=1)
        x.norm(3.5, dim=0)
        torch.nn.functional.binary_cross_entropy_with_logits(x, torch.sigmoid(y), pos_weight=v.detach() + 2)
    """,
    "counts": """
        torch.round(v, decimals=-1)
        torch.round(x * 1.234, decimals=2)
        torch.isin(ints, 3)
    """,
    "pooling": """
        F.max_pool2d(img, 2, ceil_mode=True, stride=3)
        F.max_pool2d(img[0], 3, 2, 1, return_indices=True)
        F.max_pool2d(img, (2, 1), dilation=2)
        F.avg_pool2d(img, 2, 1, 1, True, False, 3)
        F.avg_pool2d(img, 3, 2, 1, ceil_mode=True)
        F.avg_pool2d(img, 3, 2, 1, count_include_pad=False)
        F.avg_pool2d(img, (2,), ())
        F.max_pool2d(img, 3, padding=2)
        F.max_pool2d(img[0, 0], 2)
        F.avg_pool2d(img, 2, divisor_override=0)
        F.avg_pool2d(img, 9)
        F.avg_pool2d(truths.reshape(1, 1, 3), 1)
    """,
    "padding and resizing": """
        F.pad(img, (-1, 1, -2, 1), mode="circular")
        F.pad(img, (2, 1, 0, 1), mode="circular")
        F.pad(img, (2, 1, 0, 3), mode="reflect")
        F.pad(img, (2, -1, 1, 1), mode="replicate")
        F.pad(x, (1, 2), mode="reflect")
        F.pad(x, (3, 0), mode="reflect")
    """,
    "convolution and groups": """
        F.rms_norm(x, (3,), v, eps=1e-5)
        F.batch_norm(img[:0], None, None, v[:1], w[:1], True)
        F.glu(img)
        F.glu(x)
    """,
    "losses": """
        F.cross_entropy(x, y.detach().softmax(1))
        F.cross_entropy(x, y.detach().softmax(1), ignore_index=1)
        F.kl_div(s, s, reduction="batchmean")
    """,
    "element by element, seldom": """
    """,
    "reductions, seldom": """
        torch.unique(ints, dim=1, return_inverse=True, return_counts=True)
        torch.unique(x.detach(), dim=0)
        torch.cdist(x, y).detach()
        torch.autograd.grad(torch.cdist(x, y, p=1.0).sum(), x)
    """,
    "matrices and places, seldom": """
        torch.cross(x, y)
        torch.cross(x, v[None], dim=-1)
        torch.linalg.matrix_norm(x, float("inf"))
        torch.linalg.matrix_norm(x.unsqueeze(0), -1, keepdim=True)
        torch.linalg.matrix_norm(ints, 1)
        torch.linalg.norm(x, 1)
        torch.linalg.inv(sq)
        torch.linalg.solve(sq, x)
        torch.linalg.solve(sq, v[:2])
    """,
}
LINES = [(family, line.strip()) for family, block in FORMS.items() for line in block.strip().splitlines()]


def names_of(torch, dtype):
    """The names that lines use, on a library."""
    kind = getattr(torch, dtype)
    leaves = {name: torch.tensor(value, dtype=kind, requires_grad=True) for name, value in VALUES.items()}
    data = {name: torch.tensor(value) for name, value in DATA.items()}
    return {"torch": torch, "F": torch.nn.functional, "np": np, **leaves, **data}


def flat(result, torch):
    """The tensors in a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in flat(part, torch)] if isinstance(result, list | tuple) else []


def facts(t):
    """What there is to see of a result. Strides of single elements lead nowhere."""
    strides = [step for n, step in zip(t.shape, t.stride(), strict=True) if n > 1]
    node = t.grad_fn
    return value_of(t), strides, node and type(node).__name__, t.requires_grad, t._is_view(), t._version


def weighted(torch, tensors):
    """One number that depends on every element of some tensors in another way."""
    total = 0
    for t in tensors:
        total = total + (t.reshape(-1) * (torch.arange(t.numel()).to(t.dtype) * 0.5 + 0.25)).sum()
    return total


def outcome(torch, line, dtype):
    """What a line gives: facts about its result, the gradients of all leaves and their gradients in turn."""
    names = names_of(torch, dtype)
    try:
        result = eval(line, names)
    except Exception as error:
        return describe(error)
    tensors = flat(result, torch)
    seen = [type(result).__name__ in ("list", "tuple"), None if tensors else str(result), [facts(t) for t in tensors]]
    leaves = [names[name] for name in VALUES]
    for _ in range(2):
        tensors = [t for t in tensors if t.requires_grad]
        if not tensors:
            break
        try:
            grads = torch.autograd.grad(weighted(torch, tensors), leaves, create_graph=True, allow_unused=True)
        except Exception as error:
            return [*seen, describe(error)]
        seen.append([None if g is None else value_of(g.detach() + 0) for g in grads])  # + 0: PyTorch has lazy zeros
        tensors = [g for g in grads if g is not None]
    return seen


MODULES = """
    nn.MaxPool2d(2, return_indices=True)
    nn.AvgPool2d(2, count_include_pad=False, divisor_override=3)
    nn.RMSNorm(4)
    nn.RNN(4, 3, nonlinearity="relu")
    nn.RNN(4, 3, 2, bidirectional=True, bias=False)
    nn.LSTM(4, 3, 2, batch_first=True)
    nn.LSTM(4, 2, bidirectional=True)
    nn.RNNCell(4, 3, nonlinearity="relu")
    nn.GRUCell(4, 3, bias=False)
    nn.LSTM(4, 0)
    nn.RNN(4, 3, nonlinearity="gelu")
    nn.BatchNorm1d(4, eps=-1.0)
    nn.MaxPool2d(2, padding=3)
""".strip().splitlines()


def module_outcome(torch, line):
    """What a module is made of, prints and makes of an input that it can take, in evaluation; its gradients."""
    try:
        module = eval(line, {"nn": torch.nn}).double()
        module.train(not any(word in line for word in ("RReLU", "Dropout", "dropout")))
        with torch.no_grad():
            for number, p in enumerate(module.parameters()):
                p.copy_((torch.arange(p.numel()).reshape(p.shape).double() * 0.37 + number).sin())
        shapes = [(2, 4), (2, 4, 4), (2, 2, 4, 4), (2, 4, 2, 2), (1, 2, 2, 2, 2), (1, 1, 2, 3, 2)]
        seen = [repr(module), {name: list(t.shape) for name, t in module.state_dict().items()}]
    except Exception as error:
        return describe(error)
    for shape in shapes:
        x = (torch.arange(math.prod(shape)).reshape(shape).double() * 0.7).cos().requires_grad_()
        try:
            tensors = flat(module(x), torch)
            wanted = [t for t in tensors if t.requires_grad]
            grads = torch.autograd.grad(weighted(torch, wanted), [x, *module.parameters()], allow_unused=True)
        except Exception:
            seen.append("refused")
            continue
        seen.append([facts(t)[:3] for t in tensors] + [None if g is None else value_of(g) for g in grads])
    return [*seen, {name: value_of(t) for name, t in module.state_dict().items()}]


@pytest.mark.parametrize("line", [line.strip() for line in MODULES])
def test_a_module(line, real_torch):
    """Names and shapes of parameters, text, results, gradients and what is left in buffers are PyTorch's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = module_outcome(course_lib, line), module_outcome(real_torch, line)

    assert same(ours, theirs, 1e-6, 1e-9), (line, ours, theirs)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("family", "line"), LINES)
def test_a_form_of_call(family, line, dtype, real_torch):
    """Value, type, strides, node, view, version, gradients and their gradients are PyTorch's, or the error is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = outcome(course_lib, line, dtype), outcome(real_torch, line, dtype)

    assert same(ours, theirs, 1e-4, 1e-5), (family, line, ours, theirs)
