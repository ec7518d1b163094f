"""Random programs: how they are written, run on two libraries, compared and cut down. Used by test_random_programs.py.

A program is a list of statements over a few small tensors r0, r1, ...; a statement may be a block of several lines.
After each statement both libraries must have raised the same error (type and text), shown hooks the same gradients,
and made tensors that look the same: see `Machine.look`.
"""

import re
import warnings

from facts import attempt, describe, saved_by, same, value_of

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
VALUES = """
    -a | a.exp() | a.sin() | a.cos() | a.sigmoid() | a.tanh() | a.relu() | a.abs() | a.sqrt() | a.log()
    a.reciprocal() | a * 2 | a + 1 | a ** 2 | a ** 3 | a / 2 | 2 / a | 1 - a | 2 ** a | a ** b | a.clone()
    a.detach() | a.data | a + b | a - b | a * b | a / b | a * b | a + b | torch.maximum(a, b)
    torch.where(a > b, a, b) | a.lerp(a * 2, 0.5) | torch.where(a > 0, a, 0.0) | a.addcmul(a, b)
    torch.add(a, b, alpha=3) | a.clamp(0, 1) | a.rsqrt() | a.sum() | a.sum(0) | a.sum(-1, keepdim=True)
    a.mean() | a.mean(0) | a.prod() | a.prod(0) | a.max() | a.amax(0) | a.max(0).values | a.min(-1).values
    a.softmax(0) | a.log_softmax(-1) | a.logsumexp(0) | a.cumsum(0) | a.var() | a.cumprod(0) | a.norm()
    a.std(0) | a @ b | a @ b.T | a.T @ b | torch.cat([a, b]) | torch.stack([a, b])
    torch.stack([a, a, b], -1) | torch.cat([a, b], -1) | a[0] | a[k] | a[-1] | a[1:] | a[:k] | a[..., 0]
    a[..., k:] | a[None] | a[:, 0] | a[::2] | a[:, None] | a[...] | a[:] | a.t() | a.T | a.view(-1)
    a.reshape(-1) | a.view(3, -1) | a.reshape(3, -1) | a.unsqueeze(0) | a.unsqueeze(-1) | a.squeeze()
    a.squeeze(0) | a.expand(2, 3) | a.expand(3, *a.shape) | a.flatten() | a.contiguous()
    a.transpose(0, -1) | a.diagonal() | a.narrow(0, 0, 2) | a.select(0, k) | a.view_as(b) | a.expand_as(b)
    a.permute(1, 0) | a.detach()[0] | a.unbind()[k] | a.split(1)[k] | a.chunk(2)[0] | a.split([1, 2])[1]
    a.unbind(-1)[0] | list(a)[k] | a[torch.tensor([0, 1])] | a[torch.tensor([1, 1])] | a[a > 1]
    a[torch.tensor([0]), torch.tensor([k])] | a[[0, 1]] | a[:, torch.tensor([0, 0])]
    a.index_select(-1, torch.tensor([1, 0])) | a.view(-1).gather(0, torch.tensor([0, 1, 0]))
    a.masked_fill(a > 1, 0.5) | a.repeat(2, 1) | a.flip(0) | a.triu() | a.float() | a.double()
    a.to(torch.float32) | a.index_add(0, torch.tensor([0]), a[:1]) | a.masked_select(a > 0)
    a.view(-1).scatter_add(0, torch.tensor([0, 0]), a.view(-1)) | a.long() | a > b | a._base
    a.sort(0).values | a.topk(1).values | a.requires_grad_() | a.T.contiguous() | Same.apply(a)
    Keep.apply(a, b) | Dirty.apply(a) | Two.apply(a)[0] | Two.apply(a)[1] | Part.apply(a) | Own.apply(a)
    torch.autograd.grad(a.sum(), b, allow_unused=True, retain_graph=True)[0].clone()
    torch.autograd.grad(a.sum(), b, create_graph=True)[0].clone()
    torch.autograd.grad(a, b, retain_graph=True)[0].clone()
    torch.autograd.grad((a * a).sum(), b, create_graph=True)[0].clone()
    torch.autograd.grad(a.sum(), b)[0].clone()
    torch.autograd.grad(a.sum(), b, materialize_grads=True, create_graph=True)[0].clone()
    torch.autograd.grad((a * a).sum(), b, create_graph=True)[0].clone() | a.grad.clone() | a.grad * a
    a * b * c | (a + b).sum() | a.bool() | a & b | a // 2 | a % 2 | a.eq(b) | 1.5 * a | True + a | a.minimum(b)
    a.square() | a.log1p() | a.expm1() | a.erf() | a.tan() | a.sign() | a.floor() | a.round() | a.amin(0)
    a.sort(-1, descending=True).values | a.max(0).indices | a.argmax() | a.sum((0, -1)) | a.std() | a.var(0)
    a.diagonal() * b | torch.outer(a, b) | torch.dot(a, b) | torch.mm(a, b) | a.mv(b) | torch.mm(a, b.t())
    F.softplus(a) | F.gelu(a) | F.silu(a) | F.elu(a) | F.leaky_relu(a) | F.mse_loss(a, b) | F.linear(a, b)
    F.relu(a) | F.l1_loss(a, b) | F.logsigmoid(a) | F.dropout(a, 0.0) | F.linear(a, b, b.sum(-1))
    torch.zeros_like(a) | torch.ones_like(a) | torch.empty_like(a).fill_(2) | a.new_zeros(2) | torch.full_like(a, 2)
    a.grad_fn(torch.ones_like(a)).sum() | a.detach().requires_grad_() | a.clone().detach_() | a.data.requires_grad_()
    a[k:k + 1] | a[0:2][0] | a.T[0] | a.view(-1)[1:] | a.t()[1] | a[..., None] | a[None, :, 0] | a.unsqueeze(0)[0]
    a.view(-1)[::2] | a.swapaxes(0, -1) | a.expand(a.shape) | a.reshape(1, -1)
    a.unbind()[0][0] | a.expand(2, 3)[0] | a.squeeze(-1) | a.mT | a.tril() | a.chunk(2, -1)[1]
    a.split(2)[0][0] | a.detach().t() | a.data[0] | a.diagonal()[0]
    Setup.apply(a, 3) | Scale.apply(a, factor=3) | Scale.apply(x=a) | Scale.apply(a, 2) | Scale.apply(a, shift=1)
    Lazy.apply(a)[0] | Lazy.apply(a)[1] | Lazy.apply(a)[0] + Lazy.apply(a)[1] | Fixed.apply(a) | Cut.apply(a, b)
    Wide.apply(a) | Once.apply(a) | Both.apply(a)[0] | Both.apply(a)[1] | Mixed.apply(a)[0] | Inner.apply(a)
    DirtyTwo.apply(a)[0] | DirtyTwo.apply(a)[1] | DirtyKeep.apply(a) | DirtyTwo.apply(a, b)[1] | Twin.apply(a)[1]
    DirtyView.apply(a) | checkpoint(lambda t: (t * 2).exp(), a, use_reentrant=False)
    checkpoint(lambda t, u: t * u, a, b, use_reentrant=True)
    torch.autograd.grad(a.sum(), [a, b], allow_unused=True)[0].clone()
    torch.autograd.grad(a, b, torch.ones_like(a), create_graph=True)[0] * b
    torch.autograd.grad(a, [b, c], torch.ones_like(a), retain_graph=True, allow_unused=True)[1].clone()
    torch.autograd.grad([a.sum(), b.sum()], c, retain_graph=True)[0].clone() | a.grad | a.grad[0]
    torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64) | a.new_tensor([1.0, 2.0]) | torch.arange(3.0)
    copy.deepcopy(a.detach().clone()) | torch.nn.Parameter(a) | torch.nn.Parameter(a.detach()) | torch.zeros(3).to(a) | a.type_as(b)
    a.numpy().sum() and a | torch.from_numpy(a.detach().clone().numpy()) | a.view(a.shape) | torch.tensor(a.tolist())
"""
# What a line does to a, which stays where it is.
CHANGES = """
    a.add_(1) | a.add_(b) | a.mul_(2) | a.mul_(b) | a.sub_(b) | a.div_(2) | a.div_(b) | a.exp_() | a.sin_()
    a.neg_() | a.sigmoid_() | a.relu_() | a.tanh_() | a.zero_() | a.fill_(0.5) | a.copy_(b) | a.pow_(2)
    a.clamp_(0, 1) | a.sqrt_() | a.abs_() | a.add_(b, alpha=2) | a.masked_fill_(a > 1, 0.5) | a.mul_(a)
    a.add_(a) | a.addcmul_(a, b) | a.lerp_(a * 2, 0.5) | a[0] = 1.0 | a[0] = b | a[k] = b[k] | a[1:] = 0.5
    a[..., 0] = b[..., 0] | a[:] = b | a[0] += 1 | a[a > 1] = 0.25
    a[torch.tensor([0])] = b[:1] * 2 | a[torch.tensor([0, 1])] = 3.0 | a[0].mul_(2) | a[1:].add_(b[1:])
    a.t_() | a.unsqueeze_(0) | a.squeeze_() | a.transpose_(0, -1) | a.detach_() | a.requires_grad_()
    a += b | a *= 2 | a.requires_grad_(False) | a.detach().mul_(2) | a.data.mul_(2)
    a.data = a.detach() * 2 | a.grad = None | a.grad_fn; a.retain_grad() | a.grad = b.detach()
    a.grad = a.detach().clone() | del a.grad | a.view(-1)[0] = 3.0 | a.T.add_(b) | a.unbind()[0].mul_(2)
    a.expand(2, 3).add_(1) | a.index_put_((torch.tensor([0]),), a[0] * 2)
    a.index_add_(0, torch.tensor([0]), a[1:2].clone()) | a.grad.zero_() | a.copy_(a[0]) | a[0] = a[-1]
    a[1:].copy_(a[:-1]) | a[-1].copy_(b) | a.view(-1)[1:].mul_(b.view(-1)[1:])
    torch.autograd.graph.increment_version(a) | a.requires_grad = True | a -= a | a.detach()[0] = 7.0
    a.select(-1, 0).exp_() | a.grad_fn; a.register_hook(lambda g: seen(g))
    a.grad_fn; a.register_hook(lambda g: seen(g) * 2) | a.grad_fn; a.register_hook(lambda g: None)
    a.grad_fn.register_hook(lambda i, o: seen(o[0], 0))
    a.grad_fn; a.register_post_accumulate_grad_hook(lambda p: seen(p.grad, 0))
    a.grad_fn.register_prehook(lambda o: (o[0] * 2,))
    a.grad_fn.register_hook(lambda i, o: (i[0] * 3,) + i[1:]) | a.backward() | a.sum().backward()
    a.sum().backward(retain_graph=True) | (a * a).sum().backward(retain_graph=True)
    a.sum().backward(create_graph=True) | a.backward(b, retain_graph=True) | a.backward(torch.ones_like(a))
    a.mean().backward() | a.sum().backward(inputs=[b]) | (a + b).sum().backward() | (a * b).sum().backward()
    a.sum().backward(inputs=[a, b]) | torch.autograd.backward([a.sum(), b.sum()], retain_graph=True)
    torch.autograd.grad(a.sum(), [a, b], retain_graph=True) | a.sum().backward()
    (a * 3).sum().backward(retain_graph=True) | (a * b).sum().backward(retain_graph=True)
    a[:] = 2.0 | a[...] = 5. | a[0] = 1 | a[k:] = b[k:] | a[..., 0] += b[..., 0] | a[None] = 1.0 | a[0] = b.sum()
    a[torch.tensor(0)] = 2.0 | a[[0]] = b[0] | a[a > b] = b[a > b] | a.select(0, k).copy_(b) | a[0][0] = 2.0
    with torch.no_grad(): a.expand(2, 3).masked_fill_(a > 0, 1.0)
    a.narrow(0, 0, 1).zero_() | a[:1].fill_(b.sum()) | a.diagonal().mul_(2)
    a.fill_(b) | a.mul_(True) | a.add_(1.5) | a.masked_fill_(a > 1, b.sum()) | a.reciprocal_() | a.log_() | a.cos_()
    a.view(-1).add_(1) | a.t().mul_(2) | a.unsqueeze(0).mul_(b) | a[0].zero_() | a[0].copy_(b[0]) | a[1].exp_()
    a.data.copy_(b) | a.data = b.detach() | a.data = b | a.data = a.data.float() | a.data = a.data[0]
    a.set_(b) | a.set_(b.detach()) | a.detach().requires_grad_().mul_(2) | a.detach().zero_() | a.numpy()[0] = 4.0
    a.detach().numpy().fill(3.0) | a.squeeze_(0) | a.unsqueeze_(-1) | a.t_().mul_(2) | a.view(-1).detach_() | a **= 2
    a /= b | a.grad_fn; a.retain_grad() | a.requires_grad_(True) | a.requires_grad = False | a.grad = torch.ones_like(a)
    a.grad = torch.zeros(3, dtype=torch.float64) | a.grad = b | a.grad.mul_(2) | a.grad.detach_() | a.grad += 1
    a.grad_fn.register_hook(lambda i, o: seen(i[0], 0)) | a.grad_fn.register_prehook(lambda o: seen(o[0], 0))
    a.grad_fn.next_functions[0][0].register_hook(lambda i, o: seen(o[0], 0))
    a.grad_fn.next_functions[0][0].register_prehook(lambda o: seen(o[0], 0)) | a.grad_fn; a.register_hook(seen).remove()
    a.grad_fn; b.grad_fn; torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: [seen(g) for g in gs] and None)
    a.grad_fn; b.grad_fn; torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: seen(g, 0), mode='any')
    a.grad_fn; a.register_hook(lambda g: g[0])
    a.grad_fn; a.register_hook(lambda g: 3) | a.grad_fn; a.register_hook(lambda g: b.sum().item() * g) | a.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    a.grad_fn._raw_saved_result.register_hooks(lambda t: seen(t).clone(), unpack)
    a.sum().backward(inputs=[a]) | a.sum().backward(inputs=b, retain_graph=True) | torch.autograd.backward(a, b)
    torch.autograd.backward([a, b], [torch.ones_like(a), None]) | a.backward(torch.ones_like(a), create_graph=True)
    torch.autograd.backward((a.sum(), a.sum())) | a.backward(a, retain_graph=True) | a.max().backward()
    a.sum().backward(create_graph=True); a.grad.sum().backward() | (a.exp() * b).sum().backward()
    a.square().sum().backward() | a[0].sum().backward() | a.softmax(0)[0].sum().backward(retain_graph=True)
    F.relu(a, inplace=True) | torch.nn.utils.clip_grad_norm_([a], 1.0) | torch.nn.init.ones_(a)
    torch.optim.SGD([a], lr=0.5).step() | torch.optim.SGD([a, b], lr=0.5).zero_grad() | note(Mixed.apply(a)[1])
    torch.optim.SGD([a], lr=0.5).zero_grad(set_to_none=False) | torch.optim.SGD([a], lr=0.5, momentum=0.9).step()
    torch.set_grad_enabled(True)
"""
# What a line asks; the answers are compared as text.
QUESTIONS = """
    repr(a) | a._is_view() and a.numel() and a.is_contiguous() | a._base is b | a.numel() and a.storage_offset() | a.grad_fn is b.grad_fn
    a.grad is b.grad | a.item() | a.data_ptr() == b.data_ptr() or not a.numel() | bool(a) | float(a) | len(a)
    a.grad_fn._saved_self is b | a.grad_fn._saved_other is b | a.grad_fn._saved_result is a | a.shape | a.size(-1)
    a.grad_fn.next_functions[0][0] is b.grad_fn | a.grad_fn.next_functions[0][0].variable is b | a.dtype | a.dim()
    a.grad_fn._saved_self._version | a.grad_fn._saved_self.grad_fn is b.grad_fn | a.equal(b) | a.tolist() | a.type()
    a.grad_fn._saved_result.grad_fn is a.grad_fn | a.is_leaf | a.requires_grad | a._version | a.grad_fn is None | a.output_nr
    a.grad_fn.requires_grad | a.is_inference()
    torch.is_grad_enabled() | a.numel() | a.element_size() | a.grad_fn._raw_saved_self.data is None | a in [b]
    torch.allclose(a, b) | a.is_floating_point() | f"{a}" | a.numpy().tolist() | a.__array__().dtype | a.nbytes
"""
MODES = {
    "with torch.no_grad():": 6, "with torch.enable_grad():": 1, "with torch.inference_mode():": 2,
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):": 1,
    "with torch.autograd.graph.saved_tensors_hooks(pack, unpack):": 1,
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: seen(t).clone(), lambda t: seen(t)):": 2,
}  # fmt: skip


def parts(text):
    return [piece.strip() for line in text.strip().splitlines() for piece in line.split(" | ")]


LEAVES, VALUES, CHANGES, QUESTIONS = parts(LEAVES), parts(VALUES), parts(CHANGES), parts(QUESTIONS)
MODES = [mode for mode, weight in MODES.items() for _ in range(weight)]
BYTES_A_LINE = 6


def functions_of(torch):
    """Custom Functions of many kinds, and what programs call."""
    if torch not in _functions:
        _functions[torch] = write_functions(torch)
    return _functions[torch]


_functions = {}


def write_functions(torch):
    """The names a program may use."""
    import copy
    import importlib

    from custom_functions import custom_functions

    names = custom_functions(torch)
    names.update(
        torch=torch, F=torch.nn.functional, copy=copy, pack=lambda t: [t.detach().clone()], unpack=lambda kept: kept[0],
        checkpoint=importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint,
    )
    return names


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
        lines.append(write_line(more, text + 7 * i, k, i, j, new + "_1", {**shapes, **({new: None} if "=" in lines[0] else {})}))
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


# --- running it --------------------------------------------------------------------------------------------


class Machine:
    """One library, the tensors of a program on it, and what its hooks and questions have seen."""

    def __init__(self, torch):
        self.torch, self.log, self.noted = torch, [], []
        self.names = {**functions_of(torch), "seen": self.seen, "note": self.note}

    def seen(self, grad, result=True):
        self.log.append(None if grad is None else value_of(grad))
        return grad if result else None

    def note(self, answer):
        self.noted.append(answer if isinstance(answer, float | list) else repr(answer))

    def run(self, statement):
        """Run a statement; the text of the error it raised, or None."""
        try:
            exec(compiled(statement), self.names)
        except Exception as error:
            return describe(error)
        return None

    def tensors(self):
        """{name: tensor} of the program's tensors."""
        found = {}
        for name, value in self.names.items():
            if name[0] == "r" and name[1:2].isdigit() and isinstance(value, self.torch.Tensor):
                found[name] = value
        return found

    def look(self, names):
        """Everything there is to see of some tensors: {name: facts}."""
        tensors, at = self.tensors(), {}
        for name, t in tensors.items():
            if t.numel():
                at.setdefault(t.untyped_storage().data_ptr(), []).append(name)
        return {name: self.facts(tensors[name], tensors, at) for name in names if name in tensors}

    def facts(self, t, tensors, at):
        """Everything there is to see of one tensor."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = attempt(lambda: t.grad_fn)
        broken = isinstance(node, str)
        base = t._base
        return {
            "value": attempt(lambda: value_of(t)),
            "version": attempt(lambda: t._version),
            "requires_grad": attempt(lambda: t.requires_grad),
            "is_leaf": attempt(lambda: t.is_leaf),
            "node": node if broken else node and node.name(),
            "saved": None if broken else saved_by(node, self.torch),
            "next": None if broken or not node else [(n and n.name(), i) for n, i in node.next_functions],
            "base": None if base is None else sorted(n for n, r in tensors.items() if r is base),
            "output_nr": attempt(lambda: t.output_nr),
            "retains_grad": attempt(lambda: t.retains_grad),
            "inference": t.is_inference(),
            "memory": at[t.untyped_storage().data_ptr()] if t.numel() else None,
            "strides": None if base is None or not t.numel() else strides(t),
            "grad": attempt(lambda: grad_of(t)),
        }


_compiled = {}


def compiled(statement):
    code = _compiled.get(statement)
    if code is None:
        code = _compiled[statement] = compile(statement, "<random program>", "exec")
    return code


def strides(t):
    """A view's strides, as far as they matter: of dimensions longer than 1."""
    return [(n, step) for n, step in zip(t.shape, t.stride(), strict=True) if n > 1]


def grad_of(t):
    """What `.grad` holds."""
    g = t.grad
    return None if g is None else (value_of(g), g.requires_grad)


def shares_gradients(machine):
    """True when two tensors of PyTorch's share one `.grad` memory: its issue 34082, which we do not copy."""
    seen, tensors = {}, machine.tensors()
    others = [t for t in tensors.values() if not t.is_inference() and t.numel()]
    for t in tensors.values():
        g = attempt(lambda t=t: t.grad)
        if isinstance(g, machine.torch.Tensor) and g.numel():
            if 0 in g.stride() and any(n > 1 and not step for n, step in zip(g.shape, g.stride(), strict=True)):
                return True
            key = g.untyped_storage().data_ptr()
            if seen.setdefault(key, id(g)) != id(g):
                return True
            if any(other is not g and other.untyped_storage().data_ptr() == key for other in others):
                return True
    return False


# --- what need not agree -----------------------------------------------------------------------------------

# Texts of PyTorch's errors where ours may raise another error: two things are wrong with the line, and the
# libraries notice different ones first; or the text names a kernel that only PyTorch has.
OTHER_ERROR = """
    permute\\(sparse_coo\\)|unsupported operation: some elements|unsupported operation: more than one|expected both vectors to have same dtype
    index is out of bounds for dimension with size 0|returned an invalid gradient|NoneType|kernel.* not implemented
    expected dtype .* for `end`|is a view and its base or another view|A view was created in no_grad mode
    index \\d+ is out of bounds for dimension|addmv input tensors|increment_version expect
    you can only change requires_grad flags|bool tensor is not supported|result type Long can't be cast
    all inputs have to be Tensors|shape mismatch: value tensor|The expanded size of the tensor|Boolean inputs
    have the same dtype|must be a matrix|\"dot\" not implemented|on inference tensor outside|Inference tensors cannot be saved|doesn't match the broadcast shape
"""
# Texts of PyTorch's errors where ours need not raise any.
NO_ERROR = """
    kernel.* not implemented|INTERNAL ASSERT|_will_engine_execute_node|moved into the graph interior
    returned an invalid gradient|NoneType|unsupported operation: some elements
"""

# Texts after which memory or what hooks saw may differ: PyTorch refuses when it has already written, or packed.
NO_MORE = """
    IndexError|Inplace update to inference tensor|Inference tensors do not track version counter
"""
OTHER_ERROR, NO_ERROR, NO_MORE = (
    "|".join(text.split("\n")[1:-1]).replace("    ", "") for text in (OTHER_ERROR, NO_ERROR, NO_MORE)
)


def may_differ(statement, ours, theirs):
    """True for two outcomes of a statement that are known to differ, or after which more may differ."""
    if re.search(NO_MORE, f"{ours} {theirs}"):
        return True
    if "saved_tensors_hooks" in statement and (theirs is not None or "create_graph" in statement):
        return True
    if "inference_mode" in statement and any(word in statement for word in ("backward(", "autograd.grad(", ".data = ")):
        return True  # gradients are then inference tensors, too
    if theirs is None:
        return "not implemented for" in (ours or "")  # PyTorch's kernels do not refuse a type when there is no element
    if ours is None:
        return re.search(NO_ERROR, theirs) is not None
    return ours != theirs and re.search(OTHER_ERROR, theirs) is not None


# --- the comparison ----------------------------------------------------------------------------------------


class Difference(Exception):
    """The libraries disagree about a program. `kind` says in which respect, `facts` shows both answers."""

    def __init__(self, statements, kind, facts):
        super().__init__("\n" + "\n".join(statements) + "\n" + facts)
        self.statements, self.kind, self.facts = list(statements), kind, facts


GRAD_USED = re.compile(r"r\w+\.grad(?! =)\b")
GRAD_TAKEN = re.compile(r"= r\w+\.grad(\[|$)", re.M)  # a gradient that a program holds on to
WRITES = re.compile(r"\w_\(|[-+*/]= |\] = ")


def relative(facts):
    """Facts in which version errors say how many writes too late, not the two versions."""
    if isinstance(facts, dict):
        return {name: relative(fact) for name, fact in facts.items()}
    if not isinstance(facts, str):
        return facts
    return re.sub(r"version (\d+); expected version (\d+)", lambda m: f"+{int(m[1]) - int(m[2])}", facts)


class Run:
    """A program that runs on both libraries, statement by statement."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs, self.statements = Machine(ours), Machine(theirs), []

    def step(self, statement, look=()):
        """Run a statement and compare. `look`: names to look at; all for None. False when the comparison ends here."""
        self.statements.append(statement)
        before = self.forms() if ".data = " in statement or ".set_(" in statement else None
        errors = self.ours.run(statement), self.theirs.run(statement)
        if any(GRAD_USED.search(s) for s in self.statements):
            errors = tuple(relative(error) for error in errors)
        if may_differ(statement, *errors):
            return False
        if before is not None and any(before.get(name, form) != form for name, form in self.forms().items()):
            return False  # PyTorch's nodes remember the form that a tensor had when it entered the graph
        if errors[0] != errors[1]:
            self.differ("error", *errors)
        if self.overlaps(statement):
            return False
        if any(t.requires_grad and not t.is_floating_point() for t in self.theirs.tensors().values()):
            return False  # in-place operations of PyTorch let integers require grad
        if "grad" in statement and shares_gradients(self.theirs):
            return False
        if not same(self.ours.log, self.theirs.log):
            self.differ("hooks saw", self.ours.log, self.theirs.log)
        if not same(self.ours.noted, self.theirs.noted):
            self.differ("answer", self.ours.noted[-1:], self.theirs.noted[-1:])
        self.look(look)
        return True

    def overlaps(self, statement):
        """True for a write to a tensor from a view of it: PyTorch may read elements that it has written already."""
        tensors = self.theirs.tensors()
        named = {name for name in re.findall(r"r\d+(?:_1)?", statement) if name in tensors and tensors[name].numel()}
        places = {tensors[name].untyped_storage().data_ptr() for name in named}
        return WRITES.search(statement) is not None and len(places) < len(named)

    def forms(self):
        """{name: (shape, type)} of the tensors that require grad."""
        return {name: (t.shape, t.dtype) for name, t in self.theirs.tensors().items() if t.requires_grad}

    def look(self, names=None):
        """Compare all that can be seen of some tensors, or of all."""
        names = self.theirs.tensors() if names is None else names
        mine, theirs = self.ours.look(names), self.theirs.look(names)
        if mine.keys() != theirs.keys():
            self.differ("tensors", sorted(mine), sorted(theirs))
        for name in mine:
            a, b = self.comparable(mine[name]), self.comparable(theirs[name])
            if not same(a, b):
                key = next(k for k in a if not same(a[k], b[k]))
                self.differ(key, a[key], b[key], f" of {name}")

    def comparable(self, facts):
        """The facts about a tensor that the two libraries must agree on."""
        if any("inference" in s for s in self.statements):
            facts["version"] = None  # PyTorch counts some writes inside operations on inference tensors
            facts["base"] = facts["strides"] = None  # ... and shows some views
        if any("expand" in s for s in self.statements):
            facts["strides"] = None  # results are laid out like expanded inputs, and there are several ways to be
        if any(GRAD_USED.search(s) for s in self.statements):
            facts["saved"] = relative(facts["saved"])
        if any(GRAD_TAKEN.search(s) for s in self.statements):
            facts["version"] = None  # PyTorch counts the engine's own writes to a gradient, and does other writes
        if facts["next"] and any("create_graph" in s or ".grad_fn(" in s or "] = " in s for s in self.statements):
            facts["next"] = None  # a recorded backward pass is made of other nodes; an assigned value may be reshaped
        elif facts["next"]:
            facts["next"] = [edge for edge in facts["next"] if edge[0]]
        return facts

    def differ(self, kind, ours, theirs, where=""):
        """Raise the Difference."""
        raise Difference(self.statements, kind, f"# {kind}{where}\n#   ours:  {ours}\n#   torch: {theirs}")


def run_random(data, ours, theirs):
    """Write a program from bytes and run it; Difference at the first disagreement. Returns the statements."""
    run = Run(ours, theirs)
    run.step("r0 = " + LEAVES[data[0] % len(LEAVES)])
    for number, at in enumerate(range(0, len(data) - BYTES_A_LINE + 1, BYTES_A_LINE), 1):
        chunk = data[at : at + BYTES_A_LINE]
        shapes = {name: t.shape for name, t in run.theirs.tensors().items()}
        statement = write_statement(chunk, number, shapes)
        look = None if chunk[4] % 4 == 0 else [f"r{number}", f"r{number}_1"]
        if not run.step(statement, look):
            return run.statements
    run.look()
    return run.statements


def replay(statements, ours, theirs, always_look=False):
    """Run a written program; Difference at the first disagreement."""
    run = Run(ours, theirs)
    for statement in statements:
        if not run.step(statement, None if always_look else ()):
            return
    run.look()


def difference_of(statements, ours, theirs, kind):
    """The Difference that a program shows, if it is of this kind; None otherwise."""
    for always_look in (False, True):
        try:
            replay(statements, ours, theirs, always_look)
        except Difference as difference:
            if difference.kind == kind and "NameError" not in difference.facts:
                return difference
    return None


def shrink(difference, ours, theirs):
    """The shortest program found that shows the same kind of difference: statements are left out one by one."""
    best = difference_of(difference.statements, ours, theirs, difference.kind) or difference
    shorter = True
    while shorter:
        shorter = False
        for candidate in shorter_programs(best.statements):
            found = difference_of(candidate, ours, theirs, difference.kind)
            if found is not None:
                best, shorter = found, True
                break
    return best


def shorter_programs(statements):
    """The same program without one statement, or with a block in place of which one of its lines stands."""
    for i in reversed(range(len(statements))):
        yield statements[:i] + statements[i + 1 :]
    for i, statement in enumerate(statements):
        mode, *lines = statement.split("\n    ")
        for j in range(len(lines)):
            if len(lines) > 1:
                rest = lines[:j] + lines[j + 1 :]
                yield [*statements[:i], "\n    ".join([mode, *rest]), *statements[i + 1 :]]
        if lines:
            yield [*statements[:i], *lines, *statements[i + 1 :]]
