"""What rows of explain() tell people to do, done: (row, a program that fails, programs with the cure applied).

Each program is run with `torch`, `F` and x, a leaf of [1., 2.], in a namespace of its own; asserts say what must hold.
"""
# ruff: noqa: E501  a table of programs

FUNCTION = """
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x{more}):
        {forward}
    @staticmethod
    def backward(ctx, {grads}):
        {backward}
"""


def function(forward, backward="return g", more="", grads="g"):
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
    )),
    ("saved detached", "h = x * 2; z = (h * h).sum(); h.detach_(); z.backward()", (
        "h = x * 2; z = (h * h).sum(); h = h.detach(); z.backward(); assert x.grad.tolist() == [8, 16]",
    )),
    ("slot hooked", "n = (x * x).grad_fn._raw_saved_self; k = lambda t: t\n"
     "n.register_hooks(k, k); n.register_hooks(k, k)", (
        "n = (x * x).grad_fn._raw_saved_self; k = lambda t: t; n.register_hooks(k, k)",
    )),
    ("slot hooked", "k = lambda t: t\nwith torch.autograd.graph.saved_tensors_hooks(k, k): y = x * x\n"
     "y.grad_fn._raw_saved_self.register_hooks(k, k)", ()),
    ("pack writes", "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t): (x * 1).exp()", (
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2): y = (x * 1).exp()\n"
        "y.sum().backward(); assert torch.allclose(x.grad, x.exp())",
    )),
    ("view of leaf", "x[0] = 1", (
        "with torch.no_grad(): x[0] = 5\nassert x.tolist() == [5, 2]",
        "y = x.clone(); y[0] = 1; y.sum().backward(); assert x.grad.tolist() == [0, 1]",
        "v = x._version; x.data[0] = 1; assert x._version == v",
        "x.requires_grad_(False); x[0] = 1",
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
    ("view of several", "a, b = (x * 2).chunk(2); a.mul_(2)", ()),
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
    ("out=", "o = torch.zeros(2); torch.mul(x, x, out=o.detach())", ()),
    ("detach view", "v = (x * 2)[0:1]; v.detach_()", ("v = (x * 2)[0:1]; v = v.detach()",)),
    ("inference saved", "with torch.inference_mode(): c = torch.ones(2)\nx * c", (
        "with torch.inference_mode(): c = torch.ones(2)\nc = c.clone(); (x * c).sum().backward()",
        "with torch.no_grad(): c = torch.ones(2)\n(x * c).sum().backward()",
        "with torch.inference_mode(): c = torch.ones(2)\nx.detach() * c",
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
    ("not a scalar", "x[:0].backward()", ()),
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
    ("grad for plain", "t = torch.ones(2); torch.autograd.grad((x * t).sum(), t, allow_unused=True)", ()),
    ("unused", "c = x.clone(); torch.autograd.grad((x * x).sum(), c)", (
        "c = x.clone(); torch.autograd.grad((c * c).sum(), c)",
        "c = x.clone(); assert torch.autograd.grad((x * x).sum(), c, allow_unused=True) == (None,)",
        "c = x.clone(); assert torch.autograd.grad((x * x).sum(), c, materialize_grads=True)[0].tolist() == [0, 0]",
        # nothing runs: no node leads to c, so nothing is freed
        "c = x.clone(); y = (x * x).sum(); torch.autograd.grad(y, c, allow_unused=True); y.backward()",
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
    ("hook type", "x.register_hook(lambda g: g.norm().item()); x.sum().backward()", (
        "x.register_hook(lambda g: g * 2); x.sum().backward(); assert x.grad.tolist() == [2, 2]",
        "seen = []; x.register_hook(lambda g: seen.append(g)); x.sum().backward(); assert x.grad.tolist() == [1, 1]",
    )),
    ("hook type", "d = {}; x.register_hook(lambda g: d.setdefault('n', 3)); x.sum().backward()", ()),
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
        function("return x * 2", "return g * 2") + "Fn.apply(x * 1).sum().backward(); assert x.grad.tolist() == [2, 2]",
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
]  # fmt: skip
