"""How random programs are written: the vocabulary, and from bytes to statements. Used by test_random_programs.py.

A program is a list of statements over a few small tensors r0, r1, ...; a statement may be a block of several lines.
"""

import copy
import importlib
import re

from tests.engine.custom_functions import custom_functions

# --- the vocabulary ----------------------------------------------------------------------------------------

LEAVES = """
    torch.tensor([0.5, 1.5, -2.0], dtype=torch.float64, requires_grad=True)
    torch.tensor([[0.5, 1.25, 2.0], [3.0, -1.5, 0.75]], dtype=torch.float64, requires_grad=True)
    torch.tensor([[0.5, 1.25, 2.0], [3.0, -1.5, 0.75]], dtype=torch.float64, requires_grad=True)
    torch.tensor([[2.0, 0.25, 1.0]], dtype=torch.float64, requires_grad=True)
    torch.tensor([[1.5], [0.5]], dtype=torch.float64, requires_grad=True)
    torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    torch.tensor([1.0, 0.5, 3.0], requires_grad=True)
    torch.tensor([[1.0, 0.5, 3.0], [-1.0, 2.0, 0.25]], requires_grad=True)
    torch.tensor(0.5, requires_grad=True)
    torch.tensor([0.25, 2.0, -1.0], dtype=torch.float64)
    torch.tensor([[0.25, 2.0, 1.0], [1.0, 3.0, -1.0]], dtype=torch.float64)
    torch.tensor([[0.5, 1.0], [2.0, -0.25]], dtype=torch.float64, requires_grad=True)
    torch.tensor([[[0.5, 1.0, -1.0]], [[2.0, -0.25, 0.0]]], dtype=torch.float64, requires_grad=True)
    torch.tensor([1, 2, 0])
    torch.tensor([[1, 2, 0], [0, 1, -1]])
    torch.tensor([True, False, True])
    torch.tensor(2.0, dtype=torch.float64)
    torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
    torch.zeros(0, dtype=torch.float64, requires_grad=True)
    torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
    torch.ones(3, dtype=torch.float64).requires_grad_()
"""
# What a line computes from tensors a and b and a small number k. Each becomes `rN = ...`.
# cumprod is given finite numbers: of NaN or infinity before a zero PyTorch's short cut makes gradients of NaN.
VALUES = """
    -a | a.exp() | a.sin() | a.cos() | a.sigmoid() | a.tanh() | a.relu() | a.abs() | a.sqrt() | a.log()
    a.reciprocal() | a * 2 | a + 1 | a ** 2 | a ** 3 | a / 2 | 2 / a | 1 - a | 2 ** a | a ** b | a.clone()
    a.detach() | a.data | a + b | a - b | a * b | a / b | a * b | a + b | torch.maximum(a, b)
    torch.where(a > b, a, b) | torch.lerp(a, a * 2, 0.5) | torch.where(a > 0, a, 0.0) | a.addcmul(a, b)
    torch.add(a, b, alpha=3) | a.clamp(0, 1) | a.rsqrt() | a.sum() | a.sum(0) | a.sum(-1, keepdim=True) | a.mean()
    a.mean(0) | a.prod() | a.prod(0) | a.max() | a.amax(0) | a.max(0).values | a.min(-1).values | a.softmax(0)
    a.log_softmax(-1) | a.logsumexp(0) | a.cumsum(0) | a.var() | a.norm() | a.std(0) | a @ b | a @ b.T
    torch.where(a.abs() < 9, a, 1.0).cumprod(0)
    a.T @ b | torch.cat([a, b]) | torch.stack([a, b]) | torch.stack([a, a, b], -1) | torch.cat([a, b], -1) | a[0]
    a[k] | a[-1] | a[1:] | a[:k] | a[..., 0] | a[..., k:] | a[None] | a[:, 0] | a[::2] | a[:, None] | a[...] | a[:]
    a.t() | a.T | a.view(-1) | a.reshape(-1) | a.view(3, -1) | a.reshape(3, -1) | a.unsqueeze(0) | a.unsqueeze(-1)
    a.squeeze() | a.squeeze(0) | a.expand(2, 3) | a.expand(3, *a.shape) | a.flatten() | a.contiguous()
    a.transpose(0, -1) | a.diagonal() | a.narrow(0, 0, 2) | a.select(0, k) | a.view_as(b) | a.expand_as(b)
    a.permute(1, 0) | a.detach()[0] | a.unbind()[k] | a.split(1)[k] | a.chunk(2)[0] | a.split([1, 2])[1]
    a.unbind(-1)[0] | list(a)[k] | a[torch.tensor([0, 1])] | a[torch.tensor([1, 1])] | a[a > 1]
    a[torch.tensor([0]), torch.tensor([k])] | a[[0, 1]] | a[:, torch.tensor([0, 0])]
    a.index_select(-1, torch.tensor([1, 0])) | a.view(-1).gather(0, torch.tensor([0, 1, 0]))
    a.masked_fill(a > 1, 0.5) | a.repeat(2, 1) | a.flip(0) | a.triu() | a.float() | a.double() | a.to(torch.float32)
    a.index_add(0, torch.tensor([0]), a[:1])
    a.view(-1).scatter_add(0, torch.tensor([0, 0]), a.view(-1)) | a.long() | a > b | a._base | a.sort(0).values
    a.topk(1).values | a.requires_grad_() | a.T.contiguous() | Same.apply(a) | Keep.apply(a, b) | Dirty.apply(a)
    Two.apply(a)[0] | Two.apply(a)[1] | Part.apply(a) | Own.apply(a)
    torch.autograd.grad(a.sum(), b, allow_unused=True, retain_graph=True)[0].clone()
    torch.autograd.grad(a.sum(), b, create_graph=True)[0].clone()
    torch.autograd.grad(a, b, retain_graph=True)[0].clone()
    torch.autograd.grad((a * a).sum(), b, create_graph=True)[0].clone() | torch.autograd.grad(a.sum(), b)[0].clone()
    torch.autograd.grad(a.sum(), b, materialize_grads=True, create_graph=True)[0].clone()
    torch.autograd.grad((a * a).sum(), b, create_graph=True)[0].clone() | a.grad.clone() | a.grad * a | a * b * c
    (a + b).sum() | a.bool() | a & b | a // 2 | a % 2 | a.eq(b) | 1.5 * a | True + a | a.minimum(b) | a.square()
    a.log1p() | torch.expm1(a) | a.erf() | a.sign() | a.floor() | a.round() | a.amin(0)
    a.sort(-1, descending=True).values | a.max(0).indices | a.argmax() | a.sum((0, -1)) | a.std() | a.var(0)
    a.diagonal() * b | torch.outer(a, b) | torch.dot(a, b) | torch.mm(a, b) | a.mv(b) | torch.mm(a, b.t())
    F.softplus(a) | F.gelu(a.clamp(-9, 9)) | F.silu(a) | F.leaky_relu(a) | F.mse_loss(a, b)
    F.linear(a, b) | F.relu(a) | F.l1_loss(a, b) | F.dropout(a, 0.0) | F.linear(a, b, b.sum(-1))
    torch.zeros_like(a) | torch.ones_like(a) | torch.empty_like(a).fill_(2) | a.new_zeros(2) | torch.full_like(a, 2)
    a.grad_fn(torch.ones_like(a)).sum().double() | a.detach().requires_grad_() | a.clone().detach_()
    a.data.requires_grad_() | a[k:k + 1] | a[0:2][0] | a.T[0] | a.view(-1)[1:] | a.t()[1] | a[..., None]
    a[None, :, 0] | a.unsqueeze(0)[0] | a.view(-1)[::2] | a.expand(a.shape) | a.reshape(1, -1)
    a.unbind()[0][0] | a.expand(2, 3)[0] | a.squeeze(-1) | a.mT | a.tril() | a.chunk(2, -1)[1] | a.split(2)[0][0]
    a.detach().t() | a.data[0] | a.diagonal()[0]
    Both.apply(a)[0] | Both.apply(a)[1] | DirtyTwo.apply(a)[0]
    DirtyTwo.apply(a)[1] | DirtyKeep.apply(a) | DirtyTwo.apply(a, b)[1] | Twin.apply(a)[1] | DirtyView.apply(a)
    checkpoint(lambda t: (t * 2).exp(), a, use_reentrant=False)
    checkpoint(lambda t, u: t * u, a, b, use_reentrant=True)
    torch.autograd.grad(a.sum(), [a, b], allow_unused=True)[0].clone()
    torch.autograd.grad(a, b, torch.ones_like(a), create_graph=True)[0] * b
    torch.autograd.grad(a * 1, [b, c], torch.ones_like(a), retain_graph=True, allow_unused=True)[1].clone()
    torch.autograd.grad([a.sum(), b.sum()], c, retain_graph=True)[0].clone() | a.grad | a.grad[0]
    torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64) | a.new_tensor([1.0, 2.0]) | torch.arange(3.0)
    copy.deepcopy(a.detach().clone()) | torch.nn.Parameter(a) | torch.nn.Parameter(a.detach()) | torch.zeros(3).to(a)
    torch.from_numpy(a.detach().clone().numpy()) | a.view(a.shape) | torch.tensor(a.tolist())
"""
# What a line does to a, which stays where it is.
CHANGES = """
    a.add_(1) | a.add_(b) | a.mul_(2) | a.mul_(b) | a.sub_(b) | a.div_(2) | a.div_(b) | a.exp_() | a.sin_() | a.neg_()
    a.sigmoid_() | a.relu_() | a.tanh_() | a.zero_() | a.fill_(0.5) | a.copy_(b) | a.pow_(2) | a.clamp_(0, 1)
    a.sqrt_() | a.abs_() | a.add_(b, alpha=2) | a.masked_fill_(a > 1, 0.5) | a.mul_(a) | a.add_(a) | a.addcmul_(a, b)
    a.lerp_(a * 2, 0.5) | a[0] = 1.0 | a[0] = b | a[k] = b[k] | a[1:] = 0.5 | a[..., 0] = b[..., 0] | a[:] = b
    a[0] += 1 | a[a > 1] = 0.25 | a[torch.tensor([0])] = b[:1] * 2 | a[torch.tensor([0, 1])] = 3.0 | a[0].mul_(2)
    a[1:].add_(b[1:]) | (a * 1).t_() | (a * 1).unsqueeze_(0) | (a * 1).squeeze_() | (a * 1).transpose_(0, -1)
    a.detach_()
    a.requires_grad_() | a += b | a *= 2 | a.requires_grad_(False) | a.detach().mul_(2) | a.data.mul_(2)
    a.data = a.detach() * 2 | a.grad = None | a.grad_fn; a.retain_grad() | a.grad = b.detach()
    a.grad = a.detach().clone() | del a.grad | a.view(-1)[0] = 3.0 | a.T.add_(b) | a.unbind()[0].mul_(2)
    a.expand(2, 3).add_(1)
    a.grad.zero_() | a.copy_(a[0]) | a[0] = a[-1]
    a[-1].copy_(b) | a.view(-1)[1:].mul_(b.view(-1)[1:]) | torch.autograd.graph.increment_version(a)
    a.requires_grad = True | a -= a | a.detach()[0] = 7.0 | a.select(-1, 0).exp_()
    a.grad_fn; a.register_hook(lambda g: seen(g)) | a.grad_fn; a.register_hook(lambda g: seen(g) * 2)
    a.grad_fn; a.register_hook(lambda g: None) | a.grad_fn.register_hook(lambda i, o: seen(o[0], 0))
    a.grad_fn; a.register_post_accumulate_grad_hook(lambda p: seen(p.grad, 0))
    a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | a.grad_fn.register_hook(lambda i, o: (i[0] * 3,) + i[1:])
    a.backward() | a.sum().backward() | a.sum().backward(retain_graph=True)
    (a * a).sum().backward(retain_graph=True) | a.sum().backward(create_graph=True) | a.backward(b, retain_graph=True)
    a.backward(torch.ones_like(a)) | a.mean().backward() | a.sum().backward(inputs=[b]) | (a + b).sum().backward()
    (a * b).sum().backward() | a.sum().backward(inputs=[a, b])
    torch.autograd.backward([a.sum(), b.sum()], retain_graph=True)
    torch.autograd.grad(a.sum(), [a, b], retain_graph=True) | a.sum().backward()
    (a * 3).sum().backward(retain_graph=True) | (a * b).sum().backward(retain_graph=True) | a[:] = 2.0 | a[...] = 5.
    a[0] = 1 | a[k:] = b[k:] | a[..., 0] += b[..., 0] | a[None] = 1.0 | a[0] = b.sum() | a[torch.tensor(0)] = 2.0
    a[[0]] = b[0] | a[a > b] = b[a > b] | a.select(0, k).copy_(b) | a[0][0] = 2.0
    with torch.no_grad(): a.expand(2, 3).masked_fill_(a > 0, 1.0) | a.narrow(0, 0, 1).zero_() | a[:1].fill_(b.sum())
    a.diagonal().mul_(2) | a.fill_(b) | a.mul_(True) | a.add_(1.5) | a.masked_fill_(a > 1, b.sum())
    a.view(-1).add_(1) | a.t().mul_(2) | a.unsqueeze(0).mul_(b) | a[0].zero_() | a[0].copy_(b[0]) | a[1].exp_()
    a.data.copy_(b) | a.detach().requires_grad_().mul_(2) | a.detach().zero_() | a.numpy()[0] = 4.0
    a.detach().numpy().fill(3.0) | (a * 1).squeeze_(0) | (a * 1).unsqueeze_(-1) | (a * 1).t_().mul_(2)
    a.view(-1).detach_() | a **= 2
    a /= b | a.grad_fn; a.retain_grad() | a.requires_grad_(True) | a.requires_grad = False
    a.grad = torch.ones_like(a) | a.grad = torch.zeros(3, dtype=torch.float64) | a.grad = b | a.grad.mul_(2)
    a.grad.detach_() | a.grad += 1 | a.grad_fn.register_hook(lambda i, o: seen(i[0], 0))
    a.grad_fn.register_prehook(lambda o: seen(o[0], 0))
    a.grad_fn.next_functions[0][0].register_hook(lambda i, o: seen(o[0], 0))
    a.grad_fn.next_functions[0][0].register_prehook(lambda o: seen(o[0], 0))
    a.grad_fn; a.register_hook(seen).remove()
    a.grad_fn; b.grad_fn; torch.autograd.graph.register_multi_grad_hook([a, b], lambda gs: [*map(seen, gs)] and None)
    a.grad_fn; b.grad_fn; torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: seen(g, 0), mode='any')
    a.grad_fn; a.register_hook(lambda g: g[0]) | a.grad_fn; a.register_hook(lambda g: 3)
    a.grad_fn; a.register_hook(lambda g: b.sum().item() * g) | a.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    a.grad_fn._raw_saved_result.register_hooks(lambda t: seen(t).clone(), seen) | a.sum().backward(inputs=[a])
    a.sum().backward(inputs=b, retain_graph=True) | torch.autograd.backward(a, b)
    torch.autograd.backward([a, b], [torch.ones_like(a), None]) | a.backward(torch.ones_like(a), create_graph=True)
    torch.autograd.backward((a.sum(), a.sum())) | a.backward(a, retain_graph=True) | a.max().backward()
    a.sum().backward(create_graph=True); a.grad.sum().backward() | (a.exp() * b).sum().backward()
    a.square().sum().backward() | a[0].sum().backward() | a.softmax(0)[0].sum().backward(retain_graph=True)
    F.relu(a, inplace=True) | torch.nn.utils.clip_grad_norm_([a], 1.0) | torch.nn.init.ones_(a)
    torch.optim.SGD([a], lr=0.5).step() | torch.optim.SGD([a, b], lr=0.5).zero_grad()
    torch.optim.SGD([a], lr=0.5).zero_grad(set_to_none=False) | torch.optim.SGD([a], lr=0.5, momentum=0.9).step()
    torch.set_grad_enabled(True)
"""
# What a line asks; the answers are compared as text.
QUESTIONS = """
    repr(a) | a._base is b | a.numel() and a.storage_offset() | a.grad_fn is b.grad_fn | a.grad is b.grad | a.item()
    a.data_ptr() == b.data_ptr() or not (a.numel() and b.numel()) | bool(a) | float(a) | len(a)
    a.grad_fn._saved_self is b
    a.grad_fn._saved_other is b | a.grad_fn._saved_result is a | a.shape | a.size(-1)
    a.grad_fn.next_functions[0][0] is b.grad_fn | a.grad_fn.next_functions[0][0].variable is b | a.dtype | a.dim()
    a.grad_fn._saved_self._version | a.grad_fn._saved_self.grad_fn is b.grad_fn | a.equal(b) | a.tolist() | a.type()
    a.grad_fn._saved_result.grad_fn is a.grad_fn | a.is_leaf | a.requires_grad | a._version | a.grad_fn is None
    a.output_nr | a.grad_fn.requires_grad | a.is_inference() | torch.is_grad_enabled() | a.numel() | a.element_size()
    a in [b] | torch.allclose(a, b) | a.is_floating_point() | f"{a}" | a.numpy().tolist() | a.__array__().dtype
    a.nbytes
"""
MODES = {
    "with torch.no_grad():": 6, "with torch.enable_grad():": 1, "with torch.inference_mode():": 2,
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):": 1,
    "with torch.autograd.graph.saved_tensors_hooks(pack, unpack):": 1,
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: seen(t).clone(), lambda t: seen(t)):": 2,
}  # fmt: skip


def parts(text):
    return [piece.strip() for line in text.strip().splitlines() for piece in line.split(" | ")]


LEAVES, VALUES, CHANGES = parts(LEAVES), parts(VALUES), parts(CHANGES)
QUESTIONS = parts(QUESTIONS)
MODES = [mode for mode, weight in MODES.items() for _ in range(weight)]
BYTES_A_LINE = 6


def names_of(torch):
    """What programs may call, on one library: made once, and the same for all programs."""
    if torch not in _names:
        _names[torch] = {
            **custom_functions(torch), "torch": torch, "F": torch.nn.functional, "copy": copy,
            "checkpoint": importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint,
            "pack": lambda tensor: [tensor.detach().clone()], "unpack": lambda kept: kept[0],
        }  # fmt: skip
    return _names[torch]


_names = {}


# --- writing a program -------------------------------------------------------------------------------------


def write_statement(data, number, shapes):
    """A statement from six bytes, as source text. `shapes`: {name: shape} of the tensors there are."""
    kind, text, more, i, j, k = data
    new = f"r{number}"
    if not shapes or kind < 28:
        return f"{new} = {LEAVES[text % len(LEAVES)]}"
    if kind < 32:
        return f"del {choose(shapes, i)}"
    mode = MODES[more % len(MODES)] if kind % 6 == 0 else ""
    lines = [write_line(kind >> 1, text + 256 * more, i, j, k, new, shapes)]
    if mode and k % 2:
        known = {**shapes, new: None} if lines[0].startswith(new) else shapes
        lines.append(write_line(more, text + 7 * i, k, i, j, new + "_1", known))
    return mode + "\n    " + "\n    ".join(lines) if mode else lines[0]


def write_line(kind, text, i, j, k, new, shapes):
    """One line: a value, a change or a question."""
    a = choose(shapes, i)
    alike = [name for name in shapes if shapes[name] == shapes[a]]
    b = choose(alike if j % 3 else shapes, j // 3)
    names = {"a": a, "b": b, "c": choose(shapes, j + k), "k": str(k % 3)}
    kind %= 16
    template = VALUES if kind < 8 else CHANGES if kind < 15 else QUESTIONS
    source = PLACES.sub(lambda match: names[match[0]], template[text % len(template)])
    return f"{new} = {source}" if kind < 8 else source if kind < 15 else f"note({source})"


PLACES = re.compile(r"(?<![\w.'\"])(?:a|b|c|k)(?![\w'\"])")


def choose(names, i):
    """One of the names, the later ones more often."""
    names = list(names)
    n = len(names)
    return names[n - 1 - i // 2 % n] if i % 2 else names[n - 1 - i // 2 % min(n, 2)]
