"""Modules, optimizers and schedules in use."""

import copy

from kit import leaf, program, raises


def lin(T, w, b=None):
    m = T.nn.Linear(len(w[0]), len(w), bias=b is not None)
    with T.no_grad():
        m.weight.copy_(T.tensor(w))
        if b is not None:
            m.bias.copy_(T.tensor(b))
    return m


@program
def printed_layers(T):
    n = T.nn
    return [
        repr(m)
        for m in (
            n.Tanh(),
            n.ReLU(),
            n.Dropout(0.1, True),
            n.BatchNorm1d(2, eps=1e-3, momentum=0.2, affine=False, track_running_stats=False),
            n.LayerNorm([2, 3], elementwise_affine=False),
            n.LayerNorm(2, bias=False),
            n.Linear(1, 1, bias=False),
            n.Conv1d(1, 1, 2, padding="valid"),
            n.AvgPool2d(2),
            n.Softmax(),
            n.LogSoftmax(1),
            n.SiLU(),
            n.Softplus(),
            n.MSELoss(),
            n.CrossEntropyLoss(),
            n.BCEWithLogitsLoss(),
            n.SmoothL1Loss(),
            n.LSTMCell(1, 2),
        )
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
    out += [len(s), s.pop(0).__class__.__name__, list(s._modules)]
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
def loading(T):
    m = T.nn.Sequential(lin(T, [[1.0, 2.0]], [0.5]))
    c = T.nn.Sequential(T.nn.Linear(2, 1))
    r = c.load_state_dict(m.state_dict())
    v = c[0].weight._version
    c.load_state_dict(m.state_dict(), assign=True)
    return [
        repr(r),
        type(r).__name__,
        c[0].weight,
        v,
        c[0].weight.requires_grad,
        c[0].weight.data_ptr() == m[0].weight.data_ptr(),
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
                sorted(o.param_groups[0]),
                sorted(o.state[p]),
            ]
        )
    return out


@program
def optimizer_errors(T):
    p = [leaf(T, [1.0])]
    optim = T.optim
    return [
        raises(f)
        for f in (
            lambda: optim.Adam(p, lr=-1),
            lambda: optim.Adam(p, betas=(0.5, 1.5)),
            lambda: optim.AdamW(p, betas=(-0.1, 0.5)),
            lambda: optim.SGD([3], lr=0.1),
            lambda: optim.SGD([{"lr": 0.1}], lr=0.1),
            lambda: optim.SGD(p, lr=0.1, zz=1),
            lambda: optim.SGD({"a": p[0]}, lr=0.1),
            lambda: optim.SGD([T.ones(1)], lr=0.1),
            lambda: optim.Adagrad(p, lr_decay=-1),
            lambda: optim.SGD(p, lr=0.1).step(3),
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
                sorted((k, v) for k, v in sd.items() if k != "_get_lr_called_within_step"),
                s2.last_epoch,
                s2.get_last_lr(),
                s.optimizer is o,
                s.base_lrs,
            ]
        )
    return out


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
