"""Random programs, run line by line on our engine and on real PyTorch, which must agree after every line.

A program is a list of source lines over a few small tensors. After each line both libraries must have raised the
same error (type and text) or made tensors with the same value, version, flags, node and saved tensors. What a
failure prints is the shortest program that shows it, ready to run.

COURSE_FUZZ=100000 tries that many programs, new ones each time; by default a fixed five hundred.
"""

import os
import re
import warnings

import pytest
from facts import attempt, describe, same, saved_by, value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import course_lib

TRIES = int(os.environ.get("COURSE_FUZZ", "500"))
LEAVES = {
    "vector": "torch.tensor([0.5, 1.5, -2.0], dtype=torch.float64, requires_grad=True)",
    "matrix": "torch.tensor([[0.5, 1.25, 2.0], [3.0, -1.5, 0.75]], dtype=torch.float64, requires_grad=True)",
    "row": "torch.tensor([[2.0, 0.25, 1.0]], dtype=torch.float64, requires_grad=True)",
    "column": "torch.tensor([[1.5], [0.5]], dtype=torch.float64, requires_grad=True)",
    "number": "torch.tensor(1.5, dtype=torch.float64, requires_grad=True)",
    "float32": "torch.tensor([1.0, 0.5, 3.0], requires_grad=True)",
    "plain": "torch.tensor([0.25, 2.0, -1.0], dtype=torch.float64)",
    "plain matrix": "torch.tensor([[0.25, 2.0, 1.0], [1.0, 3.0, -1.0]], dtype=torch.float64)",
    "square": "torch.tensor([[0.5, 1.0], [2.0, -0.25]], dtype=torch.float64, requires_grad=True)",
    "integers": "torch.tensor([1, 2, 0])",
    "empty": "torch.zeros(0, dtype=torch.float64, requires_grad=True)",
}

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
"""
MODES = {
    "with torch.no_grad():": 3, "with torch.enable_grad():": 1,
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):": 1,
    "": 20,
}  # fmt: skip


def parts(text):
    return [piece.strip() for line in text.strip().splitlines() for piece in line.split(" | ")]


VALUES, CHANGES = parts(VALUES), parts(CHANGES)
MODES = [mode for mode, weight in MODES.items() for _ in range(weight)]

numbers = st.integers(0, 7)
lines = st.one_of(
    st.tuples(st.just("leaf"), st.sampled_from(list(LEAVES)), numbers, numbers, st.integers(0, 2), st.just("")),
    *[st.tuples(st.just("value"), st.sampled_from(VALUES), numbers, numbers, st.integers(0, 2),
                st.sampled_from(MODES))] * 3,
    *[st.tuples(st.just("change"), st.sampled_from(CHANGES), numbers, numbers, st.integers(0, 2),
                st.sampled_from(MODES))] * 3,
    st.tuples(st.just("delete"), st.just("del a"), numbers, numbers, st.integers(0, 2), st.just("")),
)  # fmt: skip


class Machine:
    """One library, the tensors of a program on it, and what its hooks have seen."""

    def __init__(self, torch):
        self.torch, self.log = torch, []
        self.names = {"torch": torch, "seen": self.seen, **functions_of(torch)}

    def seen(self, grad, result=True):
        self.log.append(None if grad is None else value_of(grad))
        return grad if result else None

    def run(self, line):
        """Run a line; the text of the error it raised, or None."""
        try:
            exec(compiled(line), self.names)
        except Exception as error:
            return describe(error)
        return None

    def look(self, name):
        """Everything there is to see of a tensor."""
        t = self.names.get(name)
        if not isinstance(t, self.torch.Tensor):
            return repr(t)
        facts = {
            "value": attempt(lambda: value_of(t)),
            "version": attempt(lambda: t._version),
            "requires_grad": attempt(lambda: t.requires_grad),
            "is_leaf": attempt(lambda: t.is_leaf),
            "node": attempt(lambda: t.grad_fn and t.grad_fn.name()),
            "saved": attempt(lambda: saved_by(t.grad_fn, self.torch)),
            "next": attempt(lambda: t.grad_fn and [(n and n.name(), i) for n, i in t.grad_fn.next_functions]),
            "is_view": t._is_view(),
            "base": attempt(lambda: sorted(n for n, r in self.names.items() if r is t._base)),
            "output_nr": attempt(lambda: t.output_nr),
            "retains_grad": attempt(lambda: t.retains_grad),
            "inference": t.is_inference(),
            "memory": self.sharers(t),
            "grad": attempt(lambda: grad_of(t)),
        }
        return facts


    def sharers(self, t):
        """The names of the tensors that look at the same memory."""
        if not t.numel():
            return []
        place = t.untyped_storage().data_ptr()
        others = [(n, r) for n, r in self.names.items() if isinstance(r, self.torch.Tensor) and r.numel()]
        return sorted(n for n, r in others if r.untyped_storage().data_ptr() == place)


_compiled = {}


def compiled(line):
    if line not in _compiled:
        _compiled[line] = compile(line, "<random program>", "exec")
    return _compiled[line]


def grad_of(t):
    g = t.grad
    if g is None:
        return None
    return (value_of(g), g.requires_grad)


_functions = {}


def functions_of(torch):
    """A few custom Functions of each kind."""
    if torch in _functions:
        return _functions[torch]

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            result = x * y
            ctx.save_for_backward(x, result, y)
            return result

        @staticmethod
        def backward(ctx, grad):
            x, result, y = ctx.saved_tensors
            return grad * y, grad * x

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x * 2, x > 0
            ctx.save_for_backward(a)
            ctx.mark_non_differentiable(b)
            return x.exp(), a, b

        @staticmethod
        def backward(ctx, grad_exp, grad_twice, grad_none):
            return grad_exp * ctx.saved_tensors[0] + grad_twice

    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.size = x.shape
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return grad.expand(ctx.size)

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    _functions[torch] = {c.__name__: c for c in (Same, Keep, Dirty, Two, Part, Own)}
    return _functions[torch]


def write_line(choice, registers, new):
    """One line of source from a drawn choice, the name it assigns (or None), and the names it touches."""
    kind, text, i, j, k, mode = choice
    if kind == "leaf":
        return f"{new} = {LEAVES[text]}", new
    a, b = registers[i % len(registers)], registers[j % len(registers)]
    source = "".join({"a": a, "b": b, "k": str(k)}.get(word, word) for word in words(text))
    source = f"{new} = {source}" if kind == "value" else source
    return (f"{mode} {source}" if mode else source), (new if kind == "value" else None)


def words(text):
    """The text cut so that the names a, b and k stand alone."""
    out, word = [], ""
    for c in text:
        if c.isalnum() or c == "_":
            word += c
        else:
            out += [word, c] if not (out and out[-1] == "." and word) else [word + " ", c]
            word = ""
    return [w.rstrip() if w.strip() else w for w in [*out, word]]


def shares_gradients(machine):
    """True when two tensors of PyTorch's share one `.grad` memory: its issue 34082, which we do not copy."""
    seen = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, t in machine.names.items():
            g = attempt(lambda t=t: t.grad) if name.startswith("r") and name[1:].isdigit() else None
            if isinstance(g, machine.torch.Tensor) and g.numel():
                if 0 in g.stride() and g.numel() > 1:
                    return True
                key = g.untyped_storage().data_ptr()
                if seen.setdefault(key, id(g)) != id(g):
                    return True
                for other in machine.names.values():
                    if isinstance(other, machine.torch.Tensor) and other is not g and not other.is_inference():
                        if other.numel() and other.untyped_storage().data_ptr() == key:
                            return True
    return False


# --- what need not agree -----------------------------------------------------------------------------------

# Texts of PyTorch's errors where ours may raise another error: two things are wrong with the line, and the
# libraries notice different ones first; or the text names a kernel that only PyTorch has.
OTHER_ERROR = """
    permute\\(sparse_coo\\)|unsupported operation: some elements|expected both vectors to have same dtype
    index is out of bounds for dimension with size 0|returned an invalid gradient|NoneType|kernel.* not implemented
    expected dtype .* for `end`|is a view and its base or another view|A view was created in no_grad mode
    index \\d+ is out of bounds for dimension|addmv input tensors|increment_version expect
    you can only change requires_grad flags|bool tensor is not supported|result type Long can't be cast
    all inputs have to be Tensors|shape mismatch: value tensor|The expanded size of the tensor|Boolean inputs
"""
# Texts of PyTorch's errors where ours need not raise any.
NO_ERROR = """
    kernel.* not implemented|INTERNAL ASSERT|Index to scalar can have only|moved into the graph interior
    returned an invalid gradient|NoneType|unsupported operation: some elements
"""
OTHER_ERROR, NO_ERROR = ("|".join(text.split("\n")[1:-1]).replace("    ", "") for text in (OTHER_ERROR, NO_ERROR))


def may_differ(ours, theirs):
    """True for two outcomes of a line that are known to differ, or after which memory may differ."""
    if ours is None or theirs is None:
        return theirs is not None and re.search(NO_ERROR, theirs) is not None
    return ours != theirs and re.search(OTHER_ERROR, theirs) is not None


def plain_name(name):
    """A node's name without the number of its overload, which test_table.py compares."""
    return re.sub(r"\d+$", "", name) if isinstance(name, str) and "Error" not in name else name


def comparable(facts, program):
    """The facts about a tensor that the two libraries must agree on."""
    if not isinstance(facts, dict):
        return facts
    facts = {**facts, "node": plain_name(facts["node"])}
    if "create_graph" in program or "] = " in program or not isinstance(facts["next"], list):
        del facts["next"]  # a recorded backward pass is made of other nodes; an assigned value may be reshaped
    else:
        facts["next"] = [(plain_name(name), number) for name, number in facts["next"] if name]
    return facts


# --- the test ----------------------------------------------------------------------------------------------


def compare(choices, real_torch):
    """Run a program on both libraries; AssertionError with the program at the first difference."""
    ours, theirs = Machine(course_lib), Machine(real_torch)
    registers, source = [], []
    choices = [("leaf", "vector", 0, 0, 0, ""), *choices]
    for number, choice in enumerate(choices):
        if not registers and choice[0] != "leaf":
            continue
        line, made = write_line(choice, registers, f"r{number}")
        source.append(line)
        errors = ours.run(line), theirs.run(line)
        program = "\n".join(source)
        if may_differ(*errors) or (errors[0] or "").startswith("IndexError"):
            return  # after an error about an index PyTorch may have written the part that fitted
        assert errors[0] == errors[1], f"\n{program}\n# ours:  {errors[0]}\n# torch: {errors[1]}"
        if choice[0] == "delete" and errors[0] is None:
            registers.remove(line.removeprefix("del "))
        if made and errors[0] is None:
            registers.append(made)
        if shares_gradients(theirs):
            return
        assert same(ours.log, theirs.log), f"\n{program}\n# hooks saw\n# ours:  {ours.log}\n# torch: {theirs.log}"
        if number == len(choices) - 1 or choice[0] == "leaf":
            check(registers, ours, theirs, program)
        elif made in registers:
            check([made], ours, theirs, program)
    check(registers, ours, theirs, "\n".join(source))


def check(names, ours, theirs, program):
    """AssertionError for the first tensor that looks different."""
    for name in names:
        a, b = comparable(ours.look(name), program), comparable(theirs.look(name), program)
        if not same(a, b):
            keys = [k for k in {**a, **b} if not same(a.get(k), b.get(k))] if isinstance(a, dict) else []
            facts = "".join(f"# {k} of {name}\n#   ours:  {a.get(k)}\n#   torch: {b.get(k)}\n" for k in keys)
            raise AssertionError(f"\n{program}\n{facts or f'# {name}: ours {a}, torch {b}'}")


@settings(
    max_examples=TRIES, derandomize="COURSE_FUZZ" not in os.environ, deadline=None, database=None,
    suppress_health_check=list(HealthCheck), print_blob=False,
)  # fmt: skip
@given(choices=st.lists(lines, min_size=2, max_size=12))
@pytest.mark.filterwarnings("ignore")
def test_random_programs_agree(real_torch, choices):
    """Our engine and PyTorch agree after every line of a random program."""
    compare(choices, real_torch)
