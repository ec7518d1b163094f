"""Modules, optimizers and schedules in use."""

import copy
import pickle

from kit import flags, kind, leaf, program, raises


def lin(T, w, b=None):
    m = T.nn.Linear(len(w[0]), len(w), bias=b is not None)
    with T.no_grad():
        m.weight.copy_(T.tensor(w))
        if b is not None:
            m.bias.copy_(T.tensor(b))
    return m


@program
def module_printing(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = T.nn.Linear(1, 2)
            self.b = T.nn.Sequential(T.nn.ReLU(), T.nn.Linear(2, 1))
            self.p = T.nn.Parameter(T.ones(1))
            self.register_buffer("buf", T.zeros(1))
            self.l = T.nn.ModuleList([T.nn.Tanh()])
            self.none = None

        def extra_repr(self):
            return "extra=1"

    class Empty(T.nn.Module):
        pass

    class Ex(T.nn.Module):
        def extra_repr(self):
            return "x=1\ny=2"

    class Named(T.nn.Module):
        def _get_name(self):
            return "Other"

    return [
        repr(Net()),
        str(Net()),
        repr(Empty()),
        repr(Ex()),
        repr(Named()),
        repr(T.nn.Sequential()),
        repr(T.nn.ModuleList()),
        repr(T.nn.ModuleDict()),
        repr(T.nn.ModuleList([T.nn.ReLU()] * 5)),
        repr(T.nn.ModuleList([T.nn.ReLU(), T.nn.ReLU(), T.nn.Tanh()])),
        repr(T.nn.ParameterList([T.nn.Parameter(T.ones(2, 3))])),
        repr(T.nn.Sequential(T.nn.Sequential(T.nn.Linear(1, 1)))),
        repr(T.nn.ModuleDict({"a": T.nn.Linear(1, 1), "b": T.nn.ReLU()})),
    ]


@program
def printed_layers(T):
    n = T.nn
    return [
        repr(m)
        for m in (
            n.Tanh(),
            n.Sigmoid(),
            n.ReLU(),
            n.ReLU(True),
            n.Dropout(),
            n.Dropout(0.1, True),
            n.BatchNorm1d(2),
            n.BatchNorm1d(2, eps=1e-3, momentum=0.2, affine=False, track_running_stats=False),
            n.BatchNorm1d(2, momentum=None),
            n.LayerNorm(2),
            n.LayerNorm([2, 3], elementwise_affine=False),
            n.LayerNorm(2, bias=False),
            n.Embedding(2, 3),
            n.Linear(1, 1, bias=False),
            n.Conv2d(1, 1, 1),
            n.Conv2d(1, 2, (2, 3), stride=(1, 2), padding="same" if 0 else 1, dilation=2, groups=1, bias=False),
            n.Conv1d(1, 1, 2, padding="valid"),
            n.MaxPool2d(2, stride=1),
            n.AvgPool2d(2),
            n.Flatten(),
            n.Flatten(0, 1),
            n.Softmax(),
            n.Softmax(dim=-1),
            n.LogSoftmax(1),
            n.GELU(),
            n.GELU("tanh"),
            n.SiLU(),
            n.LeakyReLU(),
            n.Softplus(),
            n.Identity(),
            n.Identity(3),
            n.MSELoss(),
            n.L1Loss(reduction="sum"),
            n.CrossEntropyLoss(),
            n.NLLLoss(),
            n.BCELoss(),
            n.BCEWithLogitsLoss(),
            n.HuberLoss(),
            n.SmoothL1Loss(),
            n.KLDivLoss(),
            n.RNNCell(1, 2),
            n.LSTMCell(1, 2),
            n.GRUCell(1, 2),
            n.BatchNorm2d(1),
        )
    ]


@program
def state_dict_facts(T):
    m = T.nn.Sequential(T.nn.Linear(1, 2), T.nn.BatchNorm1d(2), T.nn.Dropout(), T.nn.Embedding(2, 1))
    sd = m.state_dict()
    return [
        type(sd).__name__,
        list(sd),
        list(sd.keys()),
        [list(v.shape) for v in sd.values()],
        [v.requires_grad for v in sd.values()],
        sd["0.weight"].data_ptr() == m[0].weight.data_ptr(),
        type(sd["0.weight"]).__name__,
        sd._metadata[""] if hasattr(sd, "_metadata") else None,
        list(sd._metadata) if hasattr(sd, "_metadata") else None,
        sd["1.num_batches_tracked"],
        list(m.state_dict(prefix="net."))[:2],
        m.state_dict(keep_vars=True)["0.weight"] is m[0].weight,
        list(m[1].state_dict()),
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_parameters(prefix="p")][:1],
        [n for n, _ in m.named_buffers()],
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_children()],
        len(list(m.modules())),
        len(list(m.children())),
        len(list(m.buffers())),
        [n for n, _ in m[0].named_parameters(recurse=False)],
        list(m.named_parameters(recurse=False)),
    ]


@program
def tied_and_shared(T):
    class M(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = T.nn.Linear(1, 1)
            self.b = self.a
            self.c = T.nn.Linear(1, 1)
            self.c.weight = self.a.weight

    m = M()
    return [
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_parameters(remove_duplicate=False)],
        list(m.state_dict()),
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_modules(remove_duplicate=False)],
        [n for n, _ in m.named_children()],
        len(list(m.parameters())),
        m.a is m.b,
        copy.deepcopy(m).a is copy.deepcopy(m).b,
        (lambda c: c.c.weight is c.a.weight)(copy.deepcopy(m)),
    ]


@program
def train_eval_flags(T):
    m = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.Sequential(T.nn.Dropout()))
    out = [
        m.training,
        m[1][0].training,
        m.eval() is m,
        m[1][0].training,
        m.train() is m,
        m[1].training,
        m.train(False).training,
        m[1][0].training,
        raises(lambda: m.train(1)),
        raises(lambda: m.train("a")),
    ]
    m.train()
    m[1].eval()
    return out + [
        [k.training for k in m.modules()],
        m.requires_grad_(False) is m,
        [p.requires_grad for p in m.parameters()],
        m.requires_grad_().training,
        m.double()[0].weight.dtype,
        m.float()[0].weight.dtype,
        m.to(T.float64) is m,
        m[0].weight.dtype,
        m.to("cpu") is m,
        m.cpu() is m,
    ]


@program
def attribute_rules(T):
    m = T.nn.Module()
    out = []

    def put(n, v):
        setattr(m, n, v)

    put("p", T.nn.Parameter(T.ones(1)))
    put("m", T.nn.ReLU())
    m.register_buffer("b", T.ones(1))
    put("t", T.ones(1))
    put("i", 3)
    out += [
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_buffers()],
        [n for n, _ in m.named_children()],
        "t" in m.__dict__,
        "p" in m.__dict__,
    ]
    out += [
        raises(lambda: put("p", T.ones(1))),
        raises(lambda: put("p", 3)),
        raises(lambda: put("m", 3)),
        raises(lambda: put("m", T.ones(1))),
        raises(lambda: put("b", 3)),
        raises(lambda: put("b", T.nn.Parameter(T.ones(1)))),
        raises(lambda: put("m", None)),
        raises(lambda: put("p", None)),
        raises(lambda: put("b", None)),
    ]
    out += [m.p, m.m, m.b, [n for n, _ in m.named_parameters()], list(m.state_dict())]
    put("i", T.nn.Parameter(T.zeros(1)))
    out.append([n for n, _ in m.named_parameters()])
    del m.i
    out += [hasattr(m, "i"), raises(lambda: m.i), raises(lambda: delattr(m, "zz"))]
    out += [
        raises(lambda: m.register_buffer("p", T.ones(1))),
        raises(lambda: m.register_buffer("x.y", T.ones(1))),
        raises(lambda: m.register_buffer("", T.ones(1))),
        raises(lambda: m.register_buffer("q", 3)),
        raises(lambda: m.register_parameter("q", T.ones(1))),
        raises(lambda: m.register_parameter("q", leaf(T, [1.0]) * 2)),
        raises(lambda: m.register_parameter("a.b", None)),
        raises(lambda: m.add_module("t", T.nn.ReLU())),
        raises(lambda: m.add_module("z", 3)),
        raises(lambda: m.add_module("", T.nn.ReLU())),
        raises(lambda: m.register_parameter("t", None)),
        raises(lambda: m.register_buffer(3, T.ones(1))),
    ]
    return out


@program
def call_rules(T):
    class N(T.nn.Module):
        def forward(self, x, k=1, *, s=0):
            return x * k + s

    n = N()
    return [
        n(T.ones(1)),
        n(T.ones(1), 2),
        n(x=T.ones(1), s=5),
        raises(lambda: n()),
        raises(lambda: n(T.ones(1), zz=1)),
        raises(lambda: T.nn.Linear(2, 1)(T.ones(3))),
        kind(lambda: T.nn.Linear(2, 1)(3)),
        raises(lambda: T.nn.Linear(2, 1)()),
        raises(lambda: T.nn.Module()(1)),
        raises(lambda: T.nn.Linear(2, 1)(T.ones(1, 2), 1)),
        raises(lambda: T.nn.ModuleList()(1)),
        raises(lambda: T.nn.Sequential()(T.ones(1))),
        T.nn.Sequential()(T.ones(1)),
    ]


@program
def sequential_rules(T):
    s = T.nn.Sequential(T.nn.Linear(1, 2), T.nn.Tanh())
    s.append(T.nn.Linear(2, 1))
    s.insert(0, T.nn.Identity())
    out = [
        len(s),
        [type(m).__name__ for m in s],
        type(s[1:3]).__name__,
        s[-1] is s[3],
        raises(lambda: s[9]),
        raises(lambda: s["a"]),
    ]
    s[0] = T.nn.ReLU()
    del s[0]
    out += [[n for n, _ in s.named_children()], len(s)]
    s.extend([T.nn.ReLU()])
    out += [len(s), s.pop(0).__class__.__name__, list(s._modules), len(s + T.nn.Sequential(T.nn.ReLU())), len(s * 2)]
    from collections import OrderedDict

    d = T.nn.Sequential(OrderedDict([("a", T.nn.Linear(1, 1)), ("b", T.nn.ReLU())]))
    out += [d.a is d[0], list(d.state_dict()), repr(d)]
    s.add_module("last", T.nn.Tanh())
    out += [
        list(s._modules),
        raises(lambda: T.nn.Sequential(3)),
        raises(lambda: s.append(3)),
        bool(T.nn.Sequential()),
        dir(s)[:0],
    ]
    return out


@program
def containers(T):
    modules = T.nn.ModuleList([T.nn.Linear(1, 1)])
    modules.append(T.nn.ReLU())
    modules.extend([T.nn.Tanh()])
    modules += [T.nn.Sigmoid()]
    modules.insert(0, T.nn.Identity())
    d = T.nn.ModuleDict({"a": T.nn.ReLU()})
    d["b"] = T.nn.Linear(1, 1)
    d.update({"c": T.nn.Tanh()})
    p = T.nn.ParameterList([T.nn.Parameter(T.ones(1)), T.zeros(1)])
    p.append(T.nn.Parameter(T.ones(2)))
    q = T.nn.ParameterDict({"x": T.nn.Parameter(T.ones(1))})
    q["y"] = T.zeros(1)
    return [
        len(modules),
        [type(m).__name__ for m in modules],
        type(modules[1:]).__name__,
        modules[-1].__class__.__name__,
        [n for n, _ in modules.named_parameters()],
        list(d),
        list(d.keys()),
        [type(m).__name__ for m in d.values()],
        "a" in d,
        len(d),
        d.pop("a").__class__.__name__,
        list(d.items())[0][0],
        [n for n, _ in p.named_parameters()],
        [type(t).__name__ for t in p],
        len(p),
        list(q),
        [n for n, _ in q.named_parameters()],
        type(q["y"]).__name__,
        raises(lambda: d["zz"]),
        raises(lambda: T.nn.ModuleList([3])),
        raises(lambda: modules[10]),
        repr(q),
        repr(p),
    ]


@program
def zero_grad_forms(T):
    m = lin(T, [[1.0, 2.0]])
    o = T.optim.SGD(m.parameters(), lr=0.1)
    out = []
    for z in (
        lambda: m.zero_grad(),
        lambda: o.zero_grad(),
        lambda: m.zero_grad(set_to_none=False),
        lambda: o.zero_grad(False),
        lambda: o.zero_grad(set_to_none=True),
        lambda: m.zero_grad(True),
    ):
        m(T.ones(1, 2)).sum().backward()
        z()
        out.append(m.weight.grad)
    return out


@program
def loading(T):
    m = T.nn.Sequential(lin(T, [[1.0, 2.0]], [0.5]))
    c = T.nn.Sequential(T.nn.Linear(2, 1))
    r = c.load_state_dict(m.state_dict())
    v = c[0].weight._version
    p = c[0].weight
    c.load_state_dict(m.state_dict(), assign=True)
    return [
        repr(r),
        type(r).__name__,
        r == c.load_state_dict(m.state_dict()),
        c[0].weight,
        v,
        c[0].weight is p,
        c[0].weight.requires_grad,
        c[0].weight.data_ptr() == m[0].weight.data_ptr(),
        tuple(r),
    ]


@program
def apply_and_init(T):
    m = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.ReLU())
    log = []

    def f(k):
        log.append(type(k).__name__)
        if isinstance(k, T.nn.Linear):
            T.nn.init.constant_(k.weight, 2.0)
            T.nn.init.zeros_(k.bias)

    r = m.apply(f)
    i = T.nn.init
    w = T.empty(2, 3)
    return [
        log,
        r is m,
        m[0].weight,
        m[0].weight.requires_grad,
        i.ones_(w) is w,
        i.constant_(T.empty(2), 3.0),
        i.calculate_gain("relu"),
        i.calculate_gain("tanh"),
        i.calculate_gain("leaky_relu", 0.2),
        raises(lambda: i.calculate_gain("zz")),
        raises(lambda: i.xavier_uniform_(T.empty(2))),
        raises(lambda: i.kaiming_normal_(T.empty(2))),
        bool(i.uniform_(w, 0, 1).max() <= 1),
        i.normal_(w).shape,
        bool(i.xavier_uniform_(w).abs().max() <= (6 / 5) ** 0.5),
        bool(i.kaiming_uniform_(w, nonlinearity="relu").abs().max() <= (6 / 3) ** 0.5),
        bool(i.trunc_normal_(w).abs().max() <= 2),
        flags(i.zeros_(leaf(T, [1.0, 2.0]))),
    ]


@program
def optimizer_printing(T):
    p = [leaf(T, [1.0])]
    optim = T.optim
    return [
        repr(o)
        for o in (
            optim.SGD(p, lr=0.1),
            optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
            optim.Adam(p),
            optim.AdamW(p, lr=0.01),
            optim.Adam(p, amsgrad=True, weight_decay=0.1),
            optim.SGD([{"params": p}, {"params": [leaf(T, [1.0])], "lr": 0.5}], lr=0.1),
            optim.RMSprop(p),
            optim.Adagrad(p),
        )
    ]


@program
def optimizer_state_dicts(T):
    out = []
    for mk in (
        lambda p: T.optim.SGD(p, lr=0.1),
        lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: T.optim.Adam(p),
        lambda p: T.optim.AdamW(p, amsgrad=True),
        lambda p: T.optim.RMSprop(p, momentum=0.5, centered=True),
        lambda p: T.optim.Adagrad(p),
    ):
        p, q = leaf(T, [1.0, 2.0]), leaf(T, [3.0])
        o = mk([p, q])
        a = o.state_dict()
        p.grad = T.ones(2)
        o.step()
        b = o.state_dict()
        out.append(
            [
                a,
                {k: ({n: v for n, v in s.items()}) for k, s in b["state"].items()},
                b["param_groups"],
                list(b),
                o.defaults,
                list(o.param_groups[0]),
                sorted(o.state[p]),
            ]
        )
    return out


@program
def optimizer_arithmetic(T):
    def run(mk, gs):
        p = leaf(T, [1.0, -2.0], "float64")
        o = mk([p])
        out = []
        for g in gs:
            p.grad = T.tensor([g, -g * 2], dtype=T.float64)
            o.step()
            out.append(p.detach().clone())
        return out

    G = [1.0, 0.5, -2.0, 0.0]
    optim = T.optim
    return [
        run(m, G)
        for m in (
            lambda p: optim.SGD(p, lr=0.1, maximize=True),
            lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
            lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True),
            lambda p: optim.Adam(p, lr=0.1, betas=(0.5, 0.9), eps=1e-3),
            lambda p: optim.Adam(p, lr=0.1, amsgrad=True),
            lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1, maximize=True),
            lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.1),
            lambda p: optim.AdamW(p, lr=0.1, amsgrad=True, maximize=True),
            lambda p: optim.RMSprop(p, lr=0.1, alpha=0.9),
            lambda p: optim.RMSprop(p, lr=0.1, centered=True, momentum=0.9, weight_decay=0.1),
            lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.1),
            lambda p: optim.Adam(p, lr=T.tensor(0.1)),
            lambda p: optim.SGD(p, lr=T.tensor(0.1)),
            lambda p: optim.Adam(p, lr=0.1, foreach=False),
            lambda p: optim.SGD(p, lr=0.1, foreach=True),
            lambda p: optim.Adam(p, lr=0.1, differentiable=False, capturable=False, fused=None),
            lambda p: optim.SGD(p),
            lambda p: optim.SGD(p, 0.5, 0.9),
            lambda p: optim.Adam(p, 0.5, (0.8, 0.9)),
            lambda p: optim.Adam(p, lr=0.1, decoupled_weight_decay=True, weight_decay=0.1),
        )
    ]


@program
def optimizer_errors(T):
    p = [leaf(T, [1.0])]
    optim = T.optim
    return [
        raises(f)
        for f in (
            lambda: optim.Adam(p, lr=-1),
            lambda: optim.Adam(p, eps=-1),
            lambda: optim.Adam(p, betas=(0.5, 1.5)),
            lambda: optim.Adam(p, weight_decay=-1),
            lambda: optim.AdamW(p, lr=-1),
            lambda: optim.AdamW(p, betas=(-0.1, 0.5)),
            lambda: optim.SGD(3),
            lambda: optim.SGD(),
            lambda: optim.SGD([3], lr=0.1),
            lambda: optim.SGD(["a"], lr=0.1),
            lambda: optim.SGD([None], lr=0.1),
            lambda: optim.SGD([{"lr": 0.1}], lr=0.1),
            lambda: optim.SGD([{"params": "a"}], lr=0.1),
            lambda: optim.SGD(p, lr=0.1, nesterov=True, momentum=0.9, dampening=0.5),
            lambda: optim.SGD(p, lr=0.1, zz=1),
            lambda: optim.SGD({"a": p[0]}, lr=0.1),
            lambda: optim.SGD({p[0]}, lr=0.1),
            lambda: optim.SGD(iter([]), lr=0.1),
            lambda: optim.SGD([T.ones(1)], lr=0.1),
            lambda: optim.SGD([T.tensor([1])], lr=0.1),
            lambda: optim.RMSprop(p, alpha=-1),
            lambda: optim.Adagrad(p, lr_decay=-1),
            lambda: optim.SGD(p, lr=0.1).load_state_dict({"state": {}, "param_groups": []}),
            lambda: optim.SGD(p, lr=0.1).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
            lambda: optim.SGD(p, lr=0.1).step(3),
            lambda: optim.Adam(p, lr=T.ones(2)),
            lambda: optim.SGD([("w", p[0])], lr=0.1),
            lambda: optim.SGD([p[0], ("w", p[0])], lr=0.1),
        )
    ]


@program
def named_parameters_in_optimizer(T):
    m = lin(T, [[1.0, 2.0]], [0.5])
    o = T.optim.SGD(m.named_parameters(), lr=0.1)
    return [list(o.param_groups[0]), o.param_groups[0].get("param_names"), o.state_dict()["param_groups"]]


@program
def schedulers(T):
    S = T.optim.lr_scheduler

    def run(mk, n=7, lr=1.0, groups=1):
        o = T.optim.SGD([{"params": [leaf(T, [1.0])], "lr": lr * (i + 1)} for i in range(groups)], lr=lr)
        s = mk(o)
        out = [[g["lr"] for g in o.param_groups]]
        for _ in range(n):
            o.step()
            s.step()
            out.append([g["lr"] for g in o.param_groups])
        return [out, s.get_last_lr(), s.last_epoch, o.param_groups[0].get("initial_lr")]

    return [
        run(m, groups=2)
        for m in (
            lambda o: S.StepLR(o, 2),
            lambda o: S.StepLR(o, 3, gamma=0.5),
            lambda o: S.MultiStepLR(o, [2, 4], 0.1),
            lambda o: S.ExponentialLR(o, 0.9),
            lambda o: S.LambdaLR(o, [lambda e: 0.5**e, lambda e: 1 / (1 + e)]),
            lambda o: S.CosineAnnealingLR(o, 3),
            lambda o: S.CosineAnnealingLR(o, T_max=5, eta_min=0.2),
            lambda o: S.LinearLR(o),
        )
    ]


@program
def scheduler_states(T):
    S = T.optim.lr_scheduler
    out = []
    for mk in (
        lambda o: S.StepLR(o, 2),
        lambda o: S.ExponentialLR(o, 0.9),
        lambda o: S.CosineAnnealingLR(o, 3),
        lambda o: S.LambdaLR(o, lambda e: 0.5**e),
    ):
        p = leaf(T, [1.0])
        o = T.optim.SGD([p], lr=1.0)
        s = mk(o)
        o.step()
        s.step()
        sd = s.state_dict()
        o2 = T.optim.SGD([p], lr=1.0)
        s2 = mk(o2)
        s2.load_state_dict(sd)
        out.append(
            [
                sorted((k, v) for k, v in sd.items() if not callable(v)),
                s2.last_epoch,
                s2.get_last_lr(),
                s.optimizer is o,
                s.base_lrs,
            ]
        )
    return out


@program
def scheduler_and_hand_set_lr(T):
    S = T.optim.lr_scheduler
    out = []
    for mk in (
        lambda o: S.StepLR(o, 1, 0.5),
        lambda o: S.ExponentialLR(o, 0.5),
        lambda o: S.LambdaLR(o, lambda e: 0.5**e),
        lambda o: S.CosineAnnealingLR(o, 4),
    ):
        o = T.optim.SGD([leaf(T, [1.0])], lr=1.0)
        s = mk(o)
        o.step()
        s.step()
        o.param_groups[0]["lr"] = 10.0
        o.step()
        s.step()
        out.append([o.param_groups[0]["lr"], s.get_last_lr()])
    return out


@program
def two_schedulers(T):
    S = T.optim.lr_scheduler
    o = T.optim.SGD([leaf(T, [1.0])], lr=1.0)
    a, b = S.ExponentialLR(o, 0.5), S.StepLR(o, 2, 0.1)
    out = []
    for _ in range(4):
        o.step()
        a.step()
        b.step()
        out.append([o.param_groups[0]["lr"], a.get_last_lr(), b.get_last_lr()])
    return out


@program
def scheduler_errors(T):
    S = T.optim.lr_scheduler
    o = T.optim.SGD([leaf(T, [1.0])], lr=1.0)
    return [
        raises(lambda: S.StepLR(3, 1)),
        raises(lambda: S.StepLR(o)),
        raises(lambda: S.StepLR(o, 1).zz),
    ]


@program
def step_facts_more(T):
    p, q = leaf(T, [1.0]), leaf(T, [2.0])
    o = T.optim.SGD([p, q], lr=0.5)
    log = []
    (p * p).sum().backward()
    r = o.step()

    def c():
        log.append(T.is_grad_enabled())
        o.zero_grad()
        loss = (p * q).sum()
        loss.backward()
        return loss

    s = o.step(c)
    t = o.step(closure=c)
    return [
        r,
        p,
        q,
        p._version,
        q._version,
        log,
        s,
        t,
        s.requires_grad,
        p.grad,
        o.param_groups[0]["params"][0] is p,
        len(o.state),
    ]


@program
def add_param_group(T):
    p, q = leaf(T, [1.0]), leaf(T, [2.0])
    o = T.optim.SGD([p], lr=0.5, momentum=0.9)
    o.add_param_group({"params": q, "lr": 0.1})
    return [
        len(o.param_groups),
        [g["lr"] for g in o.param_groups],
        o.param_groups[1]["momentum"],
        o.param_groups[1]["params"],
        raises(lambda: o.add_param_group({"params": [p]})),
        raises(lambda: o.add_param_group(3)),
        o.state_dict()["param_groups"],
        repr(o),
    ]


@program
def deep_copies_of_optimizers(T):
    p = leaf(T, [1.0])
    o = T.optim.Adam([p], lr=0.1)
    p.grad = T.ones(1)
    o.step()
    c = copy.deepcopy(o)
    c.param_groups[0]["params"][0].grad = T.ones(1)
    c.step()
    return [
        p,
        c.param_groups[0]["params"][0],
        c.param_groups[0]["lr"],
        float(o.state[p]["step"]),
        [float(s["step"]) for s in c.state.values()],
    ]


@program
def pickled_modules(T):
    m = lin(T, [[1.0, 2.0]], [3.0])
    n = pickle.loads(pickle.dumps(m))
    sd = pickle.loads(pickle.dumps(m.state_dict()))
    return [
        n.weight,
        n.weight.requires_grad,
        type(n.weight).__name__,
        n.training,
        list(sd),
        sd["weight"],
        type(sd).__name__,
    ]
