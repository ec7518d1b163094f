"""The cures of explain()'s rows, applied: (row, a program that fails, programs with the cure in them).

Each program is run with `torch`, `F` and x, a leaf of [1., 2.], in a namespace of its own; asserts say what must hold.
"""
# ruff: noqa: E501  a table of programs

import warnings
from importlib import import_module

FUNCTION = """
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x{more}):
        {forward}
    @staticmethod
    def backward(ctx, {grads}):
        {backward}
"""


SETUP = """
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(x): return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output): {inside}
    @staticmethod
    def backward(ctx, g): return g * 2
"""
ONCE = """
class Fn(torch.autograd.Function):
    clear_saved_tensors_on_access = True
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * 1
    @staticmethod
    def backward(ctx, g): {}; return g * a
Fn.apply(x).sum().backward()"""
CHECKPOINT = "checkpoint = module('utils.checkpoint').checkpoint\n"
DATA = "data = module('utils.data')\n"


def function(forward, backward="return g", more="", grads="g") -> str:
    return FUNCTION.format(forward=forward, backward=backward, more=more, grads=grads)


CURES = [
    ("version", "y = x.exp(); z = y.sum(); y += 1; z.backward()", (
        "y = x.exp(); z = y.sum(); y = y + 1; z.backward(); assert torch.equal(x.grad, x.exp())",
        "y = x.exp(); z = y.sum(); z.backward(); y += 1; assert torch.equal(x.grad, x.exp())",
        "y = x.exp(); z = y.sum(); y = y.clone(); y += 1; z.backward(); assert torch.equal(x.grad, x.exp())",
        "y = x.exp(); z = y.sum(); y.data.add_(1); z.backward(); assert not torch.equal(x.grad, x.exp())",
        "y = x.detach().exp(); z = (y + x).sum(); y += 1; z.backward(); assert x.grad.tolist() == [1, 1]",
    )),
    ("slot freed", "y = x.exp(); y.sum().backward(); y.grad_fn._raw_saved_result.register_hooks(abs, abs)", (
        "y = x.exp(); y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t); y.sum().backward()",
        "y = x.exp(); y.sum().backward(retain_graph=True)\n"
        "y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)",
    )),
    ("freed", "s = x * x\nfor _ in range(2): (s * x).sum().backward()", (
        "for _ in range(2): (x * x * x).sum().backward()\nassert x.grad.tolist() == [6, 24]",
        "s = x * x\nfor _ in range(2):\n    s = s.detach(); s = s * x; s.sum().backward()",
        "s = x * x; ((s * x).sum() + (s * x).sum()).backward(); assert x.grad.tolist() == [6, 24]",
        "s = x * x; (s * x).sum().backward(retain_graph=True); (s * x).sum().backward()",
        "s = x + x\nfor _ in range(2): s.sum().backward()",
        "s = x.exp()\nfor _ in range(2):\n    x.grad = None; (s * x).sum().backward(retain_graph=True)\n"  # and wrong
        "    right, = torch.autograd.grad((x.exp() * x).sum(), x); g = x.grad.clone()\n"
        "    with torch.no_grad(): x -= 0.1 * x.grad\nassert not torch.allclose(g, right)",
    )),
    ("saved detached", "h = x * 2; z = (h * h).sum(); h.detach_(); z.backward()", (
        "h = x * 2; z = (h * h).sum(); h = h.detach(); z.backward(); assert x.grad.tolist() == [8, 16]",
    )),
    ("slot hooked", "n = (x * x).grad_fn._raw_saved_self; k = lambda t: t\n"
     "n.register_hooks(k, k); n.register_hooks(k, k)", (
        "n = (x * x).grad_fn._raw_saved_self; k = lambda t: t; n.register_hooks(k, k)",
    )),
    ("pack writes", "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t): (x * 1).exp()", (
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2): y = (x * 1).exp()\n"
        "y.sum().backward(); assert torch.allclose(x.grad, x.exp())",
    )),
    ("view of leaf", "x[0] = 1", (
        "with torch.no_grad(): x[0] = 5\nassert x.tolist() == [5, 2]",
        "y = x.clone(); y[0] = 1; y.sum().backward(); assert x.grad.tolist() == [0, 1]",
        "v = x._version; x.data[0] = 1; assert x._version == v",
    )),
    ("leaf", "x.mul_(1)", (
        "with torch.no_grad(): x.add_(1)\nassert x.tolist() == [2, 3]",
        "y = x + 1; y.sum().backward()",
        "z = (x * x).sum(); x.data.add_(1); z.backward(); assert x.grad.tolist() == [4, 6]",
    )),
    ("leaf that is none any more",
     "t = torch.ones(2, requires_grad=True); z = (t * 2).sum(); t.requires_grad_(False); t.mul_(x); z.backward()", (
        "t = torch.ones(2, requires_grad=True); z = (t * 2).sum(); y = t.detach() * x; z.backward()",
        "t = torch.ones(2, requires_grad=True); t.requires_grad_(False); t.mul_(x); z = (t * 2).sum(); z.backward()",
    )),
    ("view of several", "a, b = (x * 2).split(1); a.mul_(2)", (
        "a, b = (x * 2).split(1); a = a * 2; a.sum().backward(); assert x.grad.tolist() == [4, 0]",
        "y = x * 2; a = y[0]; a.mul_(2); y.sum().backward(); assert x.grad.tolist() == [4, 2]",
        "a, b = (x * 2).split(1); a = a.clone(); a.mul_(2); a.sum().backward(); assert x.grad.tolist() == [4, 0]",
        "a, b = (x * 2).split(1)\nwith torch.no_grad(): a.mul_(2)\nassert a.tolist() == [4]",
    )),
    ("view of several", "a, b = (x * 2).split(1)\nwith torch.no_grad(): a.mul_(2)\na.sum()", ()),
    ("view of several", "for row in (x * 2): row.mul_(2)", ()),
    ("view made unrecorded", "y = x * 2\nwith torch.no_grad(): v = y[0:1]\nv.mul_(2)", (
        "y = x * 2; v = y[0:1]; v.mul_(2); y.sum().backward(); assert x.grad.tolist() == [4, 2]",
        "y = x * 2\nwith torch.no_grad(): v = y[0:1]; v.mul_(2)",
        "y = x * 2\nwith torch.no_grad(): v = y[0:1]\nv = v.clone(); v.mul_(2)",
        "y = x * 2\nwith torch.no_grad(): v = y[0:1]\nv.detach().mul_(2); y.sum().backward()\n"
        "assert x.grad.tolist() == [2, 2] and y.tolist() == [4, 4]",
    )),
    ("view from a Function", function("return x.view(-1)") + "y = Fn.apply(x * 1); y.mul_(2)", (
        function("return x.view(-1).clone()") + "y = Fn.apply(x * 1); y.mul_(2); y.sum().backward()",
        function("x.mul_(2); ctx.mark_dirty(x); return x", "return g * 2")
        + "y = Fn.apply(x * 1); y.mul_(2); y.sum().backward(); assert x.grad.tolist() == [4, 4]",
    )),
    ("overlaps itself", "t = torch.ones(1).expand(3); t.add_(1)", (
        "t = torch.ones(1).expand(3); t = t.clone(); t.add_(1)", "s = torch.ones(1); t = s.expand(3); s.add_(1)",
    )),
    ("overlaps operand", "t = torch.arange(4.); t[1:].add_(t[:-1])", ("t = torch.arange(4.); t[1:].add_(t[:-1].clone())",)),
    ("out=", "o = torch.zeros(2); torch.mul(x, x, out=o)", (
        "o = torch.mul(x, x); o.sum().backward()",
        "o = torch.zeros(2)\nwith torch.no_grad(): torch.mul(x, x, out=o)",
        "o = torch.zeros(2); torch.mul(x.detach(), x.detach(), out=o); assert not o.requires_grad",
    )),
    ("detach view", "v = (x * 2)[0:1]; v.detach_()", ("v = (x * 2)[0:1]; v = v.detach()",)),
    ("inference saved", "with torch.inference_mode(): c = torch.ones(2)\nx * c", (
        "with torch.inference_mode(): c = torch.ones(2)\nc = c.clone(); (x * c).sum().backward()",
        "with torch.no_grad(): c = torch.ones(2)\n(x * c).sum().backward()",
    )),
    ("inference written", "with torch.inference_mode(): c = torch.ones(2)\nc.add_(1)", (
        "with torch.inference_mode(): c = torch.ones(2)\nc = c.clone(); c.add_(1)",
        "with torch.inference_mode(): c = torch.ones(2); c.add_(1)",
    )),
    ("inference version", "with torch.inference_mode(): c = torch.ones(2)\nc._version", (
        "with torch.inference_mode(): c = torch.ones(2)\nassert c.is_inference()",
        "with torch.no_grad(): c = torch.ones(2)\nassert c._version == 0",
    )),
    ("inference requires grad", "with torch.inference_mode(): c = torch.ones(2)\nc.requires_grad_()", (
        "with torch.inference_mode(): c = torch.ones(2)\nc = c.clone().requires_grad_(); (c * c).sum().backward()",
        "with torch.inference_mode(): c = torch.ones(2, requires_grad=True)\n(c + 1).sum().backward(); assert c.grad.tolist() == [1, 1]",
    )),
    ("flag of a computed tensor", "y = x * 2; y.requires_grad = True", (
        "y = x * 2; assert y.requires_grad; y.retain_grad(); y.sum().backward(); assert y.grad.tolist() == [1, 1]",
    )),
    ("flag of a computed tensor", "y = x * 2; y.requires_grad_(False)", (
        "y = x * 2; y = y.detach(); assert not y.requires_grad",
        "x.requires_grad_(False); y = x * 2; assert not y.requires_grad",
    )),
    ("only floats", "torch.tensor([1, 2], requires_grad=True)", (
        "torch.tensor([1., 2.], requires_grad=True)", "torch.tensor([1, 2], dtype=torch.float32, requires_grad=True)",
        "torch.tensor([1, 2]).float().requires_grad_()",
    )),
    ("data", "x.data = torch.tensor([1, 2])", (
        "m = x.data_ptr(); v = x._version\nwith torch.no_grad(): x.copy_(torch.tensor([5, 6]))\n"
        "assert x.tolist() == [5, 6] and x.data_ptr() == m and x._version == v + 1",
    )),
    ("numpy", "x.numpy()", ("x.detach().numpy()", "v = x._version; x.data.numpy()[0] = 7; assert x._version == v")),
    ("deepcopy", "import copy; copy.deepcopy(x * 2)", (
        "import copy; copy.deepcopy(x)", "y = x * 2; y.detach().clone()", "y = x * 2; assert y.clone().grad_fn",
    )),
    ("hook left behind", "import copy; x.register_hook(lambda g: None); copy.copy(x)", (
        "import copy\ndef hook(g): pass\nhook.__torch_unserializable__ = True\nx.register_hook(hook); copy.copy(x)",
    )),
    ("grad of a non-leaf", "h = x * 2; h.sum().backward(); h.grad", (
        "h = x * 2; h.retain_grad(); h.sum().backward(); assert h.grad.tolist() == [1, 1]",
        "w = (torch.ones(3) * 0.01).requires_grad_(); w.sum().backward(); assert w.grad is not None",
    )),
    ("grad is None", "x.grad.zero_(); x.sum().backward()", (
        "x.sum().backward()\nwith torch.no_grad(): x -= 0.1 * x.grad\nx.grad.zero_()",
        "x = (x.detach() * 2).requires_grad_(); x.sum().backward(); x.grad.zero_()",
        "if x.grad is not None: x.grad.zero_()",
    )),
    ("retain grad", "torch.ones(2).retain_grad()", (
        "t = torch.ones(2); t.requires_grad_(); u = t * 2; u.retain_grad(); u.sum().backward(); assert u.grad is not None",
    )),
    ("hook on plain", "torch.ones(2).register_hook(abs)", ("t = torch.ones(2); t.requires_grad_(); t.register_hook(abs)",)),
    ("multi hook in grad",
     "torch.autograd.graph.register_multi_grad_hook((x,), lambda g: None)\ntorch.autograd.grad((x * x).sum(), x)", (
        "torch.autograd.graph.register_multi_grad_hook((x,), lambda g: None)\n(x * x).sum().backward()",
        "h = x * x; torch.autograd.graph.register_multi_grad_hook((h,), lambda g: None)\ntorch.autograd.grad(h.sum(), x)",
    )),
    ("post hook on non-leaf", "(x * 2).register_post_accumulate_grad_hook(abs)", (
        "(x * 2).register_hook(abs)", "x.register_post_accumulate_grad_hook(lambda t: None); x.sum().backward()",
    )),
    ("gradient edge", "torch.autograd.graph.get_gradient_edge(torch.ones(1))", (
        "t = torch.ones(1); t.requires_grad_(); torch.autograd.graph.get_gradient_edge(t)",
    )),
    ("gradient edge in inference mode", "with torch.inference_mode(): torch.autograd.graph.get_gradient_edge(x)", (
        "torch.autograd.graph.get_gradient_edge(x)",
        "with torch.no_grad(): torch.autograd.graph.get_gradient_edge(x)",
    )),
    ("grad type", "x.grad = 3", ("x.grad = torch.tensor([3., 3.]); x.grad = None",)),
    ("grad size", "x.grad = torch.ones(1)", (
        "g = torch.ones(1); x.grad = g.expand_as(x).clone()", "g = torch.ones(1, 2); x.grad = g.reshape(x.shape)",
    )),
    ("grad dtype", "x.grad = torch.ones(2, dtype=torch.float64)",
     ("g = torch.ones(2, dtype=torch.float64); x.grad = g.to(x.dtype)",)),
    ("own grad", "x.grad = x", ("x.grad = x.detach().clone()",)),
    ("not a scalar", "(x * x).backward()", (
        "(x * x).sum().backward(); assert x.grad.tolist() == [2, 4]", "(x * x).mean().backward()",
        "y = x * x; y.backward(torch.ones_like(y)); assert x.grad.tolist() == [2, 4]",
        "y = x * x; y[0].backward(); assert x.grad.tolist() == [2, 0]",
    )),
    ("no history", "z = (x.detach() * 2).sum(); z.backward()", (
        "z = (x * 2).sum(); assert z.grad_fn; z.backward()",
        "z = (x.detach() * 2).sum(); assert z.is_leaf\nz.requires_grad_(); assert z.is_leaf\n"
        "z.backward(); assert x.grad is None and z.grad.item() == 1",
    )),
    ("no history", "g, = torch.autograd.grad((x * x).sum(), x); g.sum().backward()", (
        "g, = torch.autograd.grad((x * x).sum(), x, create_graph=True); g.sum().backward(); assert x.grad.tolist() == [2, 2]",
    )),
    ("not iterable", "(x * x).backward(1.0)", ("y = x * x; y.backward(torch.ones_like(y))",)),
    ("not iterable", "x.sum().backward(1.0)", ("x.sum().backward(torch.tensor(1.0))",)),
    ("gradient type", "(x * x).backward([1.0])", ("y = x * x; y.backward(torch.ones_like(y))",)),
    ("gradient shape", "(x * x).backward(torch.ones(1))", ("y = x * x; y.backward(torch.ones(1).expand_as(y))",)),
    ("gradient count", "y = x * x; torch.autograd.backward([y, y], [torch.ones(2)])", (
        "y = x * x; torch.autograd.backward([y, y], [torch.ones(2), torch.ones(2)])",
        "y = x * x; torch.autograd.backward([y, y.sum()], [torch.ones(2), None])",
    )),
    ("no inputs", "x.sum().backward(inputs=[])", ("x.sum().backward(); assert x.grad is not None",)),
    ("create_graph cycle", "(x * x).sum().backward(create_graph=True)", (
        "torch.autograd.grad((x * x).sum(), [x], create_graph=True); assert x.grad is None",
    )),
    ("grad for plain", "t = torch.ones(2); torch.autograd.grad((x * t).sum(), t)", (
        "t = torch.ones(2); t.requires_grad_(); torch.autograd.grad((x * t).sum(), t)",
    )),
    ("unused", "c = x.clone(); torch.autograd.grad((x * x).sum(), c)", (
        "c = x.clone(); torch.autograd.grad((c * c).sum(), c)",
        "c = x.clone(); assert torch.autograd.grad((x * x).sum(), c, allow_unused=True) == (None,)",
        "c = x.clone(); assert torch.autograd.grad((x * x).sum(), c, materialize_grads=True)[0].tolist() == [0, 0]",
    )),
    ("contradicting flags", "torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)", (
        "torch.autograd.grad(x.sum(), x, materialize_grads=True)",
        "torch.autograd.grad(x.sum(), x, allow_unused=True, materialize_grads=True)",
    )),
    ("nan", "with torch.autograd.detect_anomaly(check_nan=True): ((x * 0).sqrt() * 0).sum().backward()", (
        "with torch.autograd.detect_anomaly(check_nan=True): ((x * 0 + 1e-6).sqrt() * 0).sum().backward()",
        "with torch.autograd.detect_anomaly(check_nan=True): ((x * 0).clamp(min=1e-6).sqrt() * 0).sum().backward()",
        "y = x * 0; bad = y <= 0; safe = torch.where(bad, torch.ones(2), y)\n"
        "torch.where(bad, torch.zeros(2), safe.sqrt()).sum().backward(); assert x.grad.tolist() == [0, 0]",
    )),
    ("hook type", "x.register_post_accumulate_grad_hook(lambda t: 3); x.sum().backward()", (
        "x.register_post_accumulate_grad_hook(lambda t: None); x.sum().backward(); assert x.grad.tolist() == [1, 1]",
    )),
    ("hook type", "x.register_hook(lambda g: g.norm().item()); x.sum().backward()", (
        "x.register_hook(lambda g: g * 2); x.sum().backward(); assert x.grad.tolist() == [2, 2]",
        "seen = []; x.register_hook(lambda g: seen.append(g)); x.sum().backward(); assert x.grad.tolist() == [1, 1]",
    )),
    ("hook on nothing", "y = x * 2; a, b = y.unbind(); y.grad_fn\n"
     "a.grad_fn.register_prehook(lambda g: tuple(torch.ones(()) for _ in g)); a.backward()", (
        "y = x * 2; a, b = y.unbind()\n"
        "a.grad_fn.register_prehook(lambda gs: tuple(None if g is None else g * 2 for g in gs)); a.backward()\n"
        "assert x.grad.tolist() == [4, 0]",
    )),
    ("hook size", "x.register_hook(lambda g: g[:1]); x.sum().backward()", (
        "x.register_hook(lambda g: g * torch.tensor([1., 0.])); x.sum().backward(); assert x.grad.tolist() == [1, 0]",
    )),
    ("hook count", "y = x * 2; y.grad_fn.register_hook(lambda i, o: (i[0], i[0], i[0])); y.sum().backward()", (
        "y = x + 0; y = y.exp(); y.grad_fn.register_hook(lambda i, o: (i[0] * 2,)); y.sum().backward()",
    )),
    ("hook tuple", "y = x.exp(); y.grad_fn.register_hook(lambda i, o: i[0] * 2); y.sum().backward()", (
        "y = x.exp(); y.grad_fn.register_hook(lambda i, o: (i[0] * 2,)); y.sum().backward()",
        "y = x.exp(); y.grad_fn.register_hook(lambda i, o: None); y.sum().backward()",
    )),
    ("post hook returns", "x.register_post_accumulate_grad_hook(lambda t: t.grad); x.sum().backward()", (
        "def hook(t): t.grad.mul_(0.5)\nx.register_post_accumulate_grad_hook(hook); x.sum().backward()\n"
        "assert x.grad.tolist() == [0.5, 0.5]",
    )),
    ("gradient for a number", function("return x * n", "return g, g", ", n") + "Fn.apply(x, 2).sum().backward()", (
        function("return x * n", "return g, None", ", n") + "Fn.apply(x, 2).sum().backward()",
        function("return x * n", "return g, g.sum()", ", n") + "Fn.apply(x, torch.tensor(2.)).sum().backward()",
    )),
    ("gradient kind", function("return x * 2", "return [g]") + "Fn.apply(x).sum().backward()", (
        function("return x * 2", "return g * 2") + "Fn.apply(x).sum().backward()",
    )),
    ("gradient does not fit", function("return x * 2", "return torch.ones(3)") + "Fn.apply(x).sum().backward()", (
        function("return x * 2", "return g * 2") + "Fn.apply(x).sum().backward()",
        function("return x * 2", "return torch.ones(3, 2)")
        + "Fn.apply(x).sum().backward(); assert x.grad.tolist() == [3, 3]",
    )),
    ("saves no tensor", function("ctx.save_for_backward(3); return x * 3") + "Fn.apply(x)", (
        function("ctx.n = 3; return x * 3", "return g * ctx.n") + "Fn.apply(x).sum().backward()",
    )),
    ("dirty not returned", function("x.mul_(2); ctx.mark_dirty(x); return x * 1") + "Fn.apply(x * 1)", (
        function("x.mul_(2); ctx.mark_dirty(x); return x", "return g * 2")
        + "Fn.apply(x * 1).sum().backward(); assert x.grad.tolist() == [2, 2]",
    )),
    ("no backward", "class Fn(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n"
     "Fn.apply(x).sum().backward()", (
        function("y = x * 2; ctx.mark_non_differentiable(y); return y") + "assert not Fn.apply(x).requires_grad",
    )),
    ("no derivative", "(x // 2).sum().backward()", ("(x / 2).floor().sum().backward(); assert x.grad.tolist() == [0, 0]",)),
    ("norm not finite", "x.grad = torch.tensor([float('inf'), 1.])\n"
     "torch.nn.utils.clip_grad_norm_([x], 1., error_if_nonfinite=True)", (
        "x.grad = torch.tensor([float('inf'), 1.]); torch.nn.utils.clip_grad_norm_([x], 1.)\n"
        "assert str(x.grad.tolist()) == '[nan, 0.0]'",
    )),
    ("optimizer non-leaf", "torch.optim.SGD([x * 1], lr=1.)", (
        "torch.optim.SGD([(torch.ones(3) * 0.01).requires_grad_()], lr=1.)",
        "torch.optim.SGD([torch.nn.Parameter(x.detach() * 2)], lr=1.)",
    )),
    ("broadcast", "torch.ones(2, 3) + torch.ones(2)", ("torch.ones(2, 3) + torch.ones(2)[:, None]",)),
    ("write too wide", "torch.ones(2).add_(torch.ones(3, 2))", (
        "torch.ones(2) + torch.ones(3, 2)", "torch.ones(2).expand(3, 2).clone().add_(torch.ones(3, 2))",
    )),
    ("view of strides", "torch.ones(2, 3).t().view(6)", (
        "torch.ones(2, 3).t().reshape(6)", "torch.ones(2, 3).t().contiguous().view(6)",
        "t = torch.ones(2); assert t.contiguous() is t",
    )),
    ("reshape", "torch.ones(2, 3).reshape(4)", ("t = torch.ones(2, 3); t.reshape(len(t), -1)",)),
    ("cast", "torch.tensor([1]).add_(0.5)", ("torch.tensor([1]) + 0.5", "torch.tensor([1]).float().add_(0.5)")),
    ("one number", "bool(torch.ones(2) > 0)", ("(torch.ones(2) > 0).all(); (torch.ones(2) > 0).any()",)),
    ("index", "torch.ones(2)[2]", ("torch.ones(2)[-2]",)),
    ("too many indexes", "torch.tensor(1.)[0]", ("torch.tensor(1.).item(); torch.tensor(1.).reshape(1)[0]",)),
    ("two types", "a = torch.ones(2, 2); torch.allclose(a, a.double())", (
        "a = torch.ones(2, 2); b = torch.ones(2, 2, dtype=torch.float64); a @ b.to(a.dtype); a + b",
    )),
    ("element type", "torch.tensor([1, 2]).mean()", ("torch.tensor([1, 2]).float().mean()", "torch.tensor([1., 2.]).mean()")),
    ("integer division", "torch.tensor([1]) // torch.tensor([0])", ("torch.tensor([1.]) // torch.tensor([0.])",)),
    ("nothing to reduce", "torch.ones(0).max()", ("assert torch.ones(0).sum().item() == 0",)),
    ("scheduler order", "o = torch.optim.SGD([x], lr=1.); s = torch.optim.lr_scheduler.StepLR(o, 2); s.step()", (
        "o = torch.optim.SGD([x], lr=1.); s = torch.optim.lr_scheduler.StepLR(o, 2); x.sum().backward()\n"
        "o.step(); s.step()",
    )),
    ("no derivative for an argument", "F.cross_entropy(x[None], torch.tensor([1]), weight=x)", (
        "F.cross_entropy(x[None], torch.tensor([1]), weight=x.detach()).backward()",
        "t = torch.tensor([1]); (F.cross_entropy(x[None], t, reduction='none') * x[t]).sum().backward()",
    )),
    ("once differentiable", function("ctx.save_for_backward(x); return x ** 3", "x, = ctx.saved_tensors; "
     "return g * 3 * x ** 2").replace("    @staticmethod\n    def backward",
     "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward")
     + "g, = torch.autograd.grad((Fn.apply(x) * x).sum(), x, create_graph=True); g.sum().backward()", (
        function("ctx.save_for_backward(x); return x ** 3", "x, = ctx.saved_tensors; return g * 3 * x ** 2")
        + "g, = torch.autograd.grad(Fn.apply(x).sum(), x, create_graph=True); g.sum().backward()\n"
        "assert x.grad.tolist() == [6, 12]",
        function("ctx.save_for_backward(x); return x ** 3", "x, = ctx.saved_tensors; return g * 3 * x.detach() ** 2")
        + "x = torch.ones(2, requires_grad=True); g, = torch.autograd.grad((Fn.apply(x) * x).sum(), x, create_graph=True)\n"
        "g.sum().backward(); assert x.grad.tolist() == [6, 6]",
    )),
    ("slot of a leaf that was", "t = torch.ones(2); y = x * t; t.mul_(x); y.grad_fn._raw_saved_other.register_hooks(abs, abs)", ()),
    ("slot empty", "n = (x * torch.ones(2)).grad_fn; n._raw_saved_self.register_hooks(abs, abs)", (
        "n = (x * torch.ones(2)).grad_fn; k = lambda t: t; assert n._saved_self is None and n._saved_other is not None\n"
        "n._raw_saved_other.register_hooks(k, k)",
    )),
    ("unpack type", "with torch.autograd.graph.saved_tensors_hooks(lambda t: 3, lambda p: p): y = x.exp()\n"
     "y.sum().backward()", (
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor): y = x.exp()\n"
        "y.sum().backward(); assert torch.equal(x.grad, x.exp())",
    )),
    ("unpack type", "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: None): y = x.exp()\n"
     "y.grad_fn._saved_result", ()),
    ("leaf marked dirty", function("x.mul_(2); ctx.mark_dirty(x); return x") + "Fn.apply(x)", (
        function("y = x.clone(); y.mul_(2); return y", "return g * 2")
        + "Fn.apply(x).sum().backward(); assert x.grad.tolist() == [2, 2] and x.tolist() == [1, 2]",
        function("x.mul_(2); ctx.mark_dirty(x); return x", "return g * 2")
        + "Fn.apply(x + 0).sum().backward(); assert x.grad.tolist() == [2, 2]",
    )),
    ("out= resized", "torch.mul(torch.ones(5), 2, out=torch.zeros(3))", (
        "torch.mul(torch.ones(5), 2, out=torch.zeros(5))", "torch.mul(torch.ones(5), 2)",
    )),
    ("flag is a bool", "x.requires_grad = 0", (
        "t = torch.ones(2); t.requires_grad = True; assert t.requires_grad", "t = torch.ones(2); t.requires_grad_()",
    )),
    ("a fact", "x.shape = (2, 1)", (
        "x = x.reshape(2, 1); x = x.double(); x = x.detach()", "x.shap = 3",
    )),
    ("scalar of grad", "float(x.sum())", (
        "loss = x.sum(); loss.item(); float(loss.detach())", "y = (x.sum() * x.sum()); y.backward(); assert x.grad.tolist() == [6, 6]",
    )),
    ("edge with zeros", "torch.autograd.grad(x.sum(), torch.autograd.graph.get_gradient_edge(x * 2), materialize_grads=True)", (
        "h = x * 2; assert torch.autograd.grad(x.sum(), h, materialize_grads=True)[0].tolist() == [0, 0]",
        "edge = torch.autograd.graph.get_gradient_edge(x * 2)\n"
        "assert torch.autograd.grad(x.sum(), edge, allow_unused=True) == (None,)",
    )),
    ("anomaly mode", "import warnings; warnings.simplefilter('error'); torch.autograd.detect_anomaly()", (
        "import warnings; warnings.simplefilter('error'); torch.autograd.set_detect_anomaly(False)",
        "with torch.autograd.detect_anomaly(check_nan=False): ((x * 0).sqrt() * 0).sum().backward()\n"
        "assert x.grad.isnan().all()",
    )),
    ("no forward", "class Fn(torch.autograd.Function): pass\nFn.apply(x)", (
        function("return x * 2", "return g * 2") + "Fn.apply(x).sum().backward(); assert x.grad.tolist() == [2, 2]",
    )),
    ("node called", function("return x * 2") + "Fn.apply(x).grad_fn(torch.ones(2))", (
        function("return x * 2", "return g * 2") + "y = Fn.apply(x); y.backward(torch.ones(2))",
    )),
    ("node called", "a, b = x.unbind(); a.grad_fn(torch.tensor(1.))", (
        "a, b = x.unbind(); g = a.grad_fn(torch.tensor(1.), None)\n"
        "assert (g if isinstance(g, torch.Tensor) else g[0]).tolist() == [1, 0] and x.grad is None",
    )),
    ("no setup_context", SETUP.format(inside="torch.autograd.Function.setup_context(ctx, inputs, output)") + "Fn.apply(x)", (
        SETUP.format(inside="ctx.save_for_backward(*inputs)") + "Fn.apply(x).sum().backward(); assert x.grad.tolist() == [2, 2]",
        function("return x * 2", "return g * 2") + "Fn.apply(x).sum().backward()",
    )),
    ("backward and vjp", function("return x * 2") + "Fn.vjp = Fn.backward\ny = Fn.apply(x); y.sum().backward()", (
        function("return x * 2", "return g * 2").replace("backward", "vjp")
        + "Fn.apply(x).sum().backward(); assert x.grad.tolist() == [2, 2]",
        function("return x * 2") + "Fn.vjp = Fn.backward; Fn.apply(x)",
    )),
    ("gradient number", function("return x * n", "return g", ", n") + "Fn.apply(x, 2).sum().backward()", (
        function("return x * n", "return g * 2, None", ", n") + "Fn.apply(x, 2).sum().backward(); assert x.grad.tolist() == [2, 2]",
    )),
    ("apply keywords", function("return x * 2") + "Fn.apply(x, nope=1)", (
        function("return x * 2") + "Fn.apply(x)",
    )),
    ("apply keywords", function("return x * n", more=", n") + "Fn.apply(x, 2, x=x)", (
        function("return x * n", "return g * 2, None", ", n") + "Fn.apply(x, 2).sum().backward(); assert x.grad.tolist() == [2, 2]",
    )),
    ("legacy", "import warnings; warnings.simplefilter('ignore')\n" + function("return x * 2") + "Fn()(x)", (
        function("return x * 2", "return g * 2") + "Fn.apply(x).sum().backward()",
    )),
    ("dirty non-input", function("y = x * 2; ctx.mark_dirty(y); return y") + "Fn.apply(x * 1)", (
        function("return x * 2") + "Fn.apply(x * 1)",
        function("x.mul_(2); ctx.mark_dirty(x); return x") + "Fn.apply(x * 1)",
    )),
    ("dirty non-input", "import warnings; warnings.simplefilter('ignore')\n"
     + function("v = (x * 2)[:1]; ctx.mark_dirty(v); return v") + "Fn.apply(x * 1)", (
        "import warnings; warnings.simplefilter('ignore')\n"
        + function("y = x * 2; ctx.mark_dirty(y); return y") + "Fn.apply(x * 1)",
    )),
    ("dirty view, two outputs", function("x.mul_(2); ctx.mark_dirty(x); return x, x + 1", "return g", "", "g, h")
     + "Fn.apply((x * 1)[:1])", (
        function("x.mul_(2); ctx.mark_dirty(x); return x, x + 1", "return g * 2 + h * 2", "", "g, h")
        + "a, b = Fn.apply((x * 1)[:1].clone()); (a + b).sum().backward(); assert x.grad.tolist() == [4, 0]",
        function("x.mul_(2); ctx.mark_dirty(x); return x", "return g * 2")
        + "a = Fn.apply((x * 1)[:1]); b = a + 1; (a + b).sum().backward(); assert x.grad.tolist() == [4, 0]",
    )),
    ("returned input saved", SETUP.format(inside="ctx.save_for_backward(output)").replace("return x * 2", "return x") + "Fn.apply(x)", (
        SETUP.format(inside="ctx.save_for_backward(output)").replace("return x * 2", "return x.view_as(x)")
        + "Fn.apply(x).sum().backward()",
    )),
    ("saved_tensors once", ONCE.format("a = ctx.saved_tensors[0] * ctx.saved_tensors[0]"), (
        ONCE.format("x, = ctx.saved_tensors; a = x * x") + "\nassert x.grad.tolist() == [1, 4]",
    )),
    ("saved_variables", function("ctx.save_for_backward(x); return x ** 2", "return g * 2 * ctx.saved_variables[0]")
     + "Fn.apply(x).sum().backward()", (
        function("ctx.save_for_backward(x); return x ** 2", "return g * 2 * ctx.saved_tensors[0]")
        + "Fn.apply(x).sum().backward(); assert x.grad.tolist() == [2, 4]",
    )),
    ("gradcheck mismatch", "torch.manual_seed(0); import warnings; warnings.simplefilter('ignore')\n"
     "torch.autograd.gradcheck(torch.exp, torch.tensor([1., 9.], requires_grad=True))", (
        "torch.autograd.gradcheck(torch.exp, torch.tensor([1., 9.], dtype=torch.float64, requires_grad=True))",
    )),
    ("gradcheck mismatch", function("return x / 2")
     + "torch.autograd.gradcheck(Fn.apply, torch.ones(2, dtype=torch.float64, requires_grad=True))", (
        function("return x / 2")
        + "torch.autograd.gradcheck(Fn.apply, torch.ones(2, dtype=torch.float64, requires_grad=True), atol=1)",
    )),
    ("gradcheck mismatch", "torch.autograd.gradcheck(torch.relu, torch.zeros(1, dtype=torch.float64, requires_grad=True))", (
        "torch.autograd.gradcheck(torch.relu, torch.ones(1, dtype=torch.float64, requires_grad=True))",
    )),
    ("gradcheck inputs", "torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64))", (
        "torch.autograd.gradcheck(torch.sin, torch.randn(3, dtype=torch.float64, requires_grad=True))",
    )),
    ("gradcheck other", function("return x * 1", "return g + (g == 0) * 1.")
     + "torch.autograd.gradcheck(Fn.apply, torch.ones(1, dtype=torch.float64, requires_grad=True))", (
        function("return x * 1", "return g * 1")
        + "torch.autograd.gradcheck(Fn.apply, torch.ones(1, dtype=torch.float64, requires_grad=True))",
        function("return x * 1", "return g + (g == 0) * 1.")
        + "t = torch.ones(1, dtype=torch.float64, requires_grad=True)\n"
        "assert torch.autograd.gradcheck(Fn.apply, t, raise_exception=False) is False",
    )),
    ("functional", "torch.autograd.functional.hessian(lambda t: t * t, torch.ones(2))", (
        "assert torch.autograd.functional.hessian(lambda t: (t * t).sum(), torch.ones(2)).tolist() == [[2, 0], [0, 2]]",
    )),
    ("functional", "torch.autograd.functional.hvp(lambda t: t * t, torch.ones(2), torch.ones(2))", (
        "torch.autograd.functional.hvp(lambda t: (t * t).sum(), torch.ones(2), torch.ones(2))",
    )),
    ("functional", "torch.autograd.functional.vjp(lambda t: t[:1] * t[:1], torch.ones(2), torch.ones(2))", (
        "torch.autograd.functional.vjp(lambda t: t[:1] * t[:1], torch.ones(2), torch.ones(1))",
        "torch.autograd.functional.jvp(lambda t: t[:1] * t[:1], torch.ones(2), torch.ones(2))",
    )),
    ("module hooks", "m = torch.nn.Linear(1, 1); m.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))\n"
     "m(torch.ones(1, 1, requires_grad=True)).sum().backward()", (
        "m = torch.nn.Linear(1, 1)\nfor _ in range(2): m.register_full_backward_hook(lambda *a: None)\n"
        "m(torch.ones(1, 1, requires_grad=True)).sum().backward()",
        "m = torch.nn.Linear(1, 1); t = torch.ones(1, 1, requires_grad=True)\n"
        "m.register_full_backward_hook(lambda m, i, o: (i[0] * 0,)); m(t).sum().backward(); assert t.grad.item() == 0",
    )),
    ("mutation allowed", "allow = torch.autograd.graph.allow_mutation_on_saved_tensors\nwith allow(), allow(): pass", (
        "with torch.autograd.graph.allow_mutation_on_saved_tensors():\n"
        "    y = x.exp(); z = y.sum(); y += 1; z.backward()\nassert torch.equal(x.grad, x.exp())",
        "y = x.exp(); z = y.sum(); y = y + 1; z.backward()",
    )),
    ("mutation allowed", "with torch.autograd.graph.allow_mutation_on_saved_tensors():\n"
     "    y = x.exp(); z = y.sum(); y += 1\nz.backward()", ()),
    ("checkpoint changed", CHECKPOINT + "runs = []\ndef layer(t):\n    runs.append(1)\n"
     "    return t.sin() if len(runs) == 1 else t[:1].sin()\ncheckpoint(layer, x, use_reentrant=False).sum().backward()", (
        CHECKPOINT + "checkpoint(torch.sin, x, use_reentrant=False).sum().backward(); assert torch.equal(x.grad, x.cos())",
        CHECKPOINT + "torch.manual_seed(0)\nlayer = lambda t: F.dropout(t.sin())\n"
        "y = checkpoint(layer, x, use_reentrant=False, preserve_rng_state=True); torch.rand(1); y.sum().backward()",
    )),
    ("checkpoint changed", CHECKPOINT + "runs = []\ndef layer(t):\n    runs.append(1)\n"
     "    return t.sin() if len(runs) == 1 else t[:1].sin()\n"
     "checkpoint(layer, x, use_reentrant=False, debug=True).sum().backward()", ()),
    ("checkpoint", CHECKPOINT + "checkpoint(torch.sin, torch.ones(2), use_reentrant=True)", (
        CHECKPOINT + "m = torch.nn.Linear(2, 1); checkpoint(m, torch.ones(2), use_reentrant=False).sum().backward()\n"
        "assert m.weight.grad is not None",
        CHECKPOINT + "m = torch.nn.Linear(2, 1); t = torch.ones(2); t.requires_grad_()\n"
        "checkpoint(m, t, use_reentrant=True).sum().backward(); assert t.grad is not None",
    )),
    ("optimizer arguments", "m = torch.nn.Linear(1, 1); p = m.parameters(); list(p); torch.optim.SGD(p, lr=1.)", (
        "m = torch.nn.Linear(1, 1); torch.optim.SGD(list(m.parameters()), lr=1.)",
    )),
    ("optimizer arguments", "torch.optim.SGD([{'params': [x]}, {'params': [x]}], lr=1.)", (
        "torch.optim.SGD([{'params': [x]}], lr=1.)",
    )),
    ("expand", "torch.ones(2).expand(2, 3)", (
        "torch.ones(2).unsqueeze(1).expand(2, 3)", "assert torch.ones(3).expand(2, -1).shape == (2, 3)",
    )),
    ("dimension", "torch.ones(2, 3).sum(1).softmax(1)", ("torch.ones(2, 3).sum(1, keepdim=True).softmax(1)",)),
    ("dimension", "torch.ones(2, 3).permute(0, 0)", ("torch.ones(2, 3).permute(-1, 0)",)),
    ("join", "torch.cat([torch.tensor(1.), torch.tensor(2.)])", (
        "torch.stack([torch.tensor(1.), torch.tensor(2.)])", "torch.cat([torch.ones(2, 3), torch.ones(1, 3)])",
    )),
    ("split", "torch.ones(5).split([2, 2])", ("t = torch.ones(5); t.split([2, t.shape[0] - 2])", "torch.ones(5).split(2)")),
    ("split", "torch.ones(2).narrow(0, torch.tensor(1.), 1)", ("torch.ones(2).narrow(0, torch.tensor(1), 1); torch.ones(2).narrow(0, 2, 0)",)),
    ("matrix product", "torch.ones(2, 3) @ torch.ones(2, 3)", ("torch.ones(2, 3) @ torch.ones(2, 3).T",)),
    ("matrix product", "torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)",
     ("torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64).float()",)),
    ("einsum", "torch.einsum('ij', torch.ones(2, 3), torch.ones(3, 4))", (
        "assert torch.einsum('ij,jk->ik', torch.ones(2, 3), torch.ones(3, 4)).shape == (2, 4)",
        "assert torch.einsum('i,i->', torch.ones(1), torch.ones(3)).item() == 3",
    )),
    ("singular", "torch.linalg.inv(torch.ones(2, 2))", (
        "torch.linalg.inv(torch.ones(2, 2) + 0.1 * torch.eye(2))",
        "import numpy; a = torch.ones(2, 2); assert numpy.linalg.det(a.detach().numpy()) == 0",
    )),
    ("singular", "torch.linalg.solve(torch.ones(2, 2), torch.ones(2))", ()),
    ("index", "torch.ones(2)[-3]", ("torch.ones(2)[-2]; torch.ones(2)[1]",)),
    ("no index", "torch.ones(2)[torch.tensor([0.])]", (
        "torch.ones(2)[torch.tensor([0.]).long()]", "m = torch.tensor([0., 1.]); torch.ones(2)[m > 0]", "torch.ones(2)[[0, 1]]",
    )),
    ("no index", "torch.ones(4)[::-1]", ("torch.arange(4).flip(0)",)),
    ("no index", "torch.ones(2).index_select(0, torch.ones(2))", ("torch.ones(2).index_select(0, torch.ones(2).long())",)),
    ("mask", "torch.ones(2).masked_fill(torch.arange(2), 0.)", (
        "torch.ones(2).masked_fill(torch.arange(2) > 0, 0.); torch.ones(2).masked_fill(torch.arange(2).bool(), 0.)",
        "torch.ones(2, 3).masked_fill(torch.tensor([True, False, True]), 0.)",
        "assert torch.ones(2, 3)[torch.tensor([True, False])].shape == (1, 3)",
        "assert torch.tensor([5, 6])[torch.tensor([1, 0])].tolist() == [6, 5]",
    )),
    ("mask", "torch.ones(2, 3)[torch.tensor([True, False, True])]", ()),
    ("index shapes", "torch.ones(2, 3)[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]", (
        "assert torch.ones(2, 3)[torch.tensor([[0], [1]]), torch.tensor([0, 1, 2])].shape == (2, 3)",
    )),
    ("index shapes", "torch.ones(2, 3).gather(1, torch.tensor([0, 1]))", ("torch.ones(2, 3).gather(1, torch.tensor([[0], [1]]))",)),
    ("index shapes", "torch.ones(2).index_select(0, torch.tensor([[0]]))", ("torch.ones(2).index_select(0, torch.tensor([0]))",)),
    ("index shapes", "torch.topk(torch.ones(3), 4)", ("torch.topk(torch.ones(3), 3)",)),
    ("number of another type", "torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), float('inf'))", (
        "torch.tensor([1, 2]).float().masked_fill(torch.tensor([True, False]), float('inf'))",
        "torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 9)",
    )),
    ("making a tensor", "torch.tensor([[1., 2.], [3.]])", ("torch.tensor([[1., 2.], [3., 0.]]); [torch.tensor([1., 2.]), torch.tensor([3.])]",)),
    ("making a tensor", "torch.manual_seed(2 ** 64)", ("torch.manual_seed(2 ** 63)",)),
    ("walked backwards", "import numpy; torch.from_numpy(numpy.ones(3)[::-1])", (
        "import numpy; a = numpy.arange(3.)[::-1]; assert torch.from_numpy(a.copy()).tolist() == [2, 1, 0]",
        "import numpy; assert torch.from_numpy(numpy.arange(3.)).flip(0).tolist() == [2, 1, 0]",
    )),
    ("argument", "torch.exp(3)", ("torch.exp(torch.tensor(3.))", "assert torch.add.__doc__")),
    ("argument", "torch.softmax(torch.ones(3))", ("torch.softmax(torch.ones(3), 0)",)),
    ("chances", "torch.multinomial(torch.tensor([-1., 2.]), 1)", ("torch.multinomial(F.softmax(torch.tensor([-1., 2.]), -1), 1)",)),
    ("chances", "torch.multinomial(torch.ones(2), 3)", ("torch.multinomial(torch.ones(2), 3, replacement=True)",)),
    ("old habit", "torch.autograd.grad(x.sum(), x, only_inputs=False)", (
        "torch.autograd.grad(x.sum(), x)",
    )),
    ("old habit", "torch.autograd.backward([x * 1], grad_variables=[torch.ones(2)])", (
        "torch.autograd.backward([x * 1], grad_tensors=[torch.ones(2)])",
    )),
    ("old habit", function("return x * 2") + "Fn()", (function("return x * 2") + "Fn.apply(x)",)),
    ("old habit", "@torch.no_grad()\nclass A: pass", ("class A:\n    @torch.no_grad()\n    def f(self): pass",)),
    ("unknown name", "torch.sinn", ("assert 'sin' in dir(torch)",)),
    ("loss shapes", "F.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1]))", ("F.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1, 1]))",)),
    ("loss shapes", "F.mse_loss(torch.ones(3, 1), torch.zeros(3))", (
        "F.mse_loss(torch.ones(3, 1).squeeze(1), torch.zeros(3))",
        "import warnings; warnings.simplefilter('ignore'); a, b = torch.tensor([[1.], [2.]]), torch.tensor([1., 2.])\n"
        "assert F.mse_loss(a, b).item() == 0.5 and F.mse_loss(a, b, reduction='none').shape == (2, 2)",
    )),
    ("loss shapes", "F.cross_entropy(torch.ones(3, 2), torch.ones(3, 1).long())",
     ("F.cross_entropy(torch.ones(3, 2), torch.ones(3, 1).squeeze(1).long())",)),
    ("loss shapes", "F.mse_loss(torch.ones(3), torch.zeros(3), reduction='avg')", ("F.mse_loss(torch.ones(3), torch.zeros(3), reduction='mean')",)),
    ("convolution", "torch.nn.Conv2d(3, 1, 1)(torch.ones(1, 2, 4, 4))", (
        "torch.nn.Conv2d(3, 1, 1)(torch.ones(1, 3, 4, 4))", "torch.nn.Conv2d(3, 1, 1)(torch.ones(3, 4, 4))",
        "torch.nn.Conv1d(3, 1, 1)(torch.ones(1, 3, 4))",
    )),
    ("convolution", "torch.nn.RNN(3, 2)(torch.ones(4, 1, 5))", ("torch.nn.RNN(3, 2)(torch.ones(4, 1, 3))",)),
    ("normalisation", "torch.nn.BatchNorm1d(2)(torch.ones(1, 2))", (
        "torch.nn.BatchNorm1d(2)(torch.ones(3, 2))", "torch.nn.BatchNorm1d(2).eval()(torch.ones(1, 2))",
    )),
    ("normalisation", "torch.nn.BatchNorm1d(2)(torch.ones(4, 3))", ("t = torch.ones(4, 3); torch.nn.BatchNorm1d(t.shape[1])(t)",)),
    ("module", "class Net(torch.nn.Module):\n    def __init__(self): self.layer = torch.nn.Linear(1, 1)\nNet()", (
        "class Net(torch.nn.Module):\n    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(1, 1)\n"
        "assert len(list(Net().parameters())) == 2",
    )),
    ("module", "torch.nn.Linear(2, 1).load_state_dict(torch.nn.Linear(3, 1).state_dict())", (
        "a, b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)\n"
        "assert a.state_dict().keys() == b.state_dict().keys(); a.load_state_dict(b.state_dict())",
    )),
    ("module", "torch.nn.Linear(1, 1).train(3)", ("torch.nn.Linear(1, 1).train(True)",)),
    ("not written", DATA + "data.Dataset()[0]", (
        DATA + "class Mine(data.Dataset):\n    def __getitem__(self, i): return i\nassert Mine()[0] == 0",
    )),
    ("only weights", "import io; f = io.BytesIO(); torch.save(torch.nn.Linear(1, 1), f); f.seek(0); torch.load(f)", (
        "import io; f = io.BytesIO(); m = torch.nn.Linear(1, 1); torch.save(m.state_dict(), f); f.seek(0)\n"
        "m.load_state_dict(torch.load(f))",
        "import io; f = io.BytesIO(); torch.save({'a': [1, 'b', torch.ones(2)]}, f); f.seek(0); torch.load(f)",
        "import io; f = io.BytesIO(); torch.save(torch.nn.Linear(1, 1), f); f.seek(0); torch.load(f, weights_only=False)",
    )),
    ("other value", "torch.nn.Dropout(1.5)", ("torch.nn.Dropout(0.5)",)),
    ("other value", "torch.tensor(x)", ("x.detach().clone()",)),
]  # fmt: skip


def run(torch, program) -> Exception | None:
    """Run a program; return the error, or the warning, that it ends with, or None."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    known = {"torch": torch, "x": x, "module": lambda name: import_module(f"{torch.__name__}.{name}")}
    known["F"] = known["module"]("nn.functional")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Anomaly Detection")
        try:
            exec(program, known)
        except Exception as error:
            return error
    return None
