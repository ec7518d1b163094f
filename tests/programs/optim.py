"""Optimizers and schedulers: arithmetic over several steps, state, groups, refusals."""

import copy
import io
import pickle

import numpy as np
from kit import flags, kind, leaf, program, programs, quiet, raises, warned


def steps(T, make, grads=(1.0, -0.5, 0.0, 2.0), start=1.0, maximize=None):
    p = leaf(T, [start, -start], "float64")
    opt = make([p])
    out = []
    for g in grads:
        p.grad = None if g is None else T.tensor([g, g * 3], dtype=T.float64)
        opt.step()
        out.append(p.detach().clone())
    return [out, {k: v for k, v in sorted(opt.state[p].items())} if p in opt.state else None]


def rates(T, make, n=7, lr=1.0):
    p = leaf(T, [1.0])
    opt = T.optim.SGD([p], lr=lr)
    s = make(opt)
    out = [opt.param_groups[0]["lr"]]
    for _ in range(n):
        opt.step()
        s.step()
        out.append([opt.param_groups[0]["lr"], s.get_last_lr(), s.last_epoch])
    return out


def one(T):
    return leaf(T, [1.0])


programs(
    sgd_forms=lambda T: [
        steps(T, lambda p: T.optim.SGD(p, **k))
        for k in (
            dict(lr=0.1),
            dict(),
            dict(lr=0.1, momentum=0.9),
            dict(lr=0.1, momentum=0.9, dampening=0.3),
            dict(lr=0.1, momentum=0.9, nesterov=True),
            dict(lr=0.1, weight_decay=0.1),
            dict(lr=0.1, momentum=0.5, weight_decay=0.1),
            dict(lr=0.1, maximize=True),
            dict(lr=0.1, momentum=0.9, maximize=True, weight_decay=0.1),
            dict(lr=0.0),
            dict(lr=0.1, foreach=False),
        )
    ],
    adam_forms=lambda T: [
        steps(T, lambda p: T.optim.Adam(p, **k))
        for k in (
            dict(),
            dict(lr=0.1),
            dict(lr=0.1, betas=(0.5, 0.9)),
            dict(lr=0.1, eps=0.1),
            dict(lr=0.1, weight_decay=0.1),
            dict(lr=0.1, amsgrad=True),
            dict(lr=0.1, maximize=True),
            dict(lr=0.1, foreach=False),
            dict(lr=0.1, betas=(0.0, 0.0)),
        )
    ],
    adamw_forms=lambda T: [
        steps(T, lambda p: T.optim.AdamW(p, **k))
        for k in (
            dict(),
            dict(lr=0.1),
            dict(lr=0.1, weight_decay=0.0),
            dict(lr=0.1, weight_decay=0.5),
            dict(lr=0.1, amsgrad=True),
            dict(lr=0.1, maximize=True),
        )
    ],
    steps_without_gradients=lambda T: [
        steps(T, lambda p, k=k: k(p, lr=0.1), (1.0, None, None, 1.0))
        for k in (T.optim.SGD, T.optim.Adam, T.optim.AdamW)
    ],
    bad_arguments=lambda T: [
        raises(f)
        for f in (
            lambda: T.optim.SGD([one(T)], lr=-1),
            lambda: T.optim.SGD([one(T)], lr=0.1, momentum=-1),
            lambda: T.optim.SGD([one(T)], lr=0.1, weight_decay=-1),
            lambda: T.optim.SGD([one(T)], lr=0.1, nesterov=True),
            lambda: T.optim.SGD([one(T)], lr=0.1, momentum=0.9, dampening=0.5, nesterov=True),
            lambda: T.optim.Adam([one(T)], lr=-1),
            lambda: T.optim.Adam([one(T)], betas=(0.9, 1.5)),
            lambda: T.optim.Adam([one(T)], betas=(-0.1, 0.9)),
            lambda: T.optim.Adam([one(T)], eps=-1),
            lambda: T.optim.AdamW([one(T)], weight_decay=-1),
            lambda: T.optim.SGD([]),
            lambda: T.optim.SGD(one(T)),
            lambda: T.optim.SGD([one(T) * 1]),
            lambda: T.optim.SGD([1.0]),
            lambda: T.optim.SGD([{"params": []}]),
            lambda: T.optim.SGD([{"lr": 1.0}]),
            lambda: T.optim.SGD([{"params": {one(T)}}]),
            lambda: T.optim.SGD({one(T)}),
            lambda: T.optim.SGD([None]),
            lambda: T.optim.SGD([T.ones(1)], lr=0.1),
            lambda: T.optim.SGD(one(T).detach()),
            lambda: T.optim.SGD([{"params": one(T)}], lr=0.1),
        )
    ],
    bad_groups=lambda T: groups(T),
    closures=lambda T: closures(T),
    printed_optimizers=lambda T: [
        repr(T.optim.SGD([one(T)], lr=0.1)),
        repr(T.optim.Adam([one(T)], lr=0.1)),
        repr(T.optim.SGD([{"params": [one(T)]}, {"params": [one(T)], "lr": 0.5}], lr=0.1, momentum=0.9)),
        repr(T.optim.AdamW([one(T)])),
    ],
    state_dicts=lambda T: [
        state(T, k)
        for k in (
            lambda p: T.optim.SGD(p, lr=0.1),
            lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9),
            lambda p: T.optim.Adam(p, lr=0.1),
            lambda p: T.optim.AdamW(p, lr=0.1),
        )
    ],
    defaults=lambda T: [
        sorted((k, str(v)) for k, v in o([one(T)]).defaults.items()) for o in (T.optim.SGD, T.optim.Adam, T.optim.AdamW)
    ],
    step_schedules=lambda T: [
        rates(T, lambda o: T.optim.lr_scheduler.StepLR(o, 2)),
        rates(T, lambda o: T.optim.lr_scheduler.StepLR(o, 3, gamma=0.5)),
        rates(T, lambda o: T.optim.lr_scheduler.MultiStepLR(o, [2, 3, 3], gamma=0.5)),
    ],
    smooth_schedules=lambda T: [
        rates(T, lambda o: T.optim.lr_scheduler.ExponentialLR(o, 0.9)),
        rates(T, lambda o: T.optim.lr_scheduler.CosineAnnealingLR(o, 5)),
        rates(T, lambda o: T.optim.lr_scheduler.CosineAnnealingLR(o, 3, eta_min=0.2), 9),
    ],
    function_schedules=lambda T: [
        rates(T, lambda o: T.optim.lr_scheduler.LambdaLR(o, lambda k: 0.5**k)),
        rates(T, lambda o: T.optim.lr_scheduler.LambdaLR(o, [lambda k: k])),
    ],
    ramp_schedules=lambda T: [
        rates(T, lambda o: T.optim.lr_scheduler.LinearLR(o, 0.5, total_iters=3)),
    ],
    combined_schedules=lambda T: [
        two_schedules(T),
        rates(T, lambda o: T.optim.lr_scheduler.StepLR(o, 2, last_epoch=-1)),
    ],
    schedule_errors=lambda T: [
        raises(lambda: T.optim.lr_scheduler.StepLR(3, 2)),
        raises(lambda: T.optim.lr_scheduler.LambdaLR(T.optim.SGD([one(T)], lr=1.0), [lambda k: 1, lambda k: 2])),
        kind(lambda: T.optim.lr_scheduler.StepLR(T.optim.SGD([one(T)], lr=1.0))),
    ],
)


def groups(T):
    a, b = one(T), one(T)
    opt = T.optim.SGD([a], lr=0.1)
    out = [
        raises(lambda: opt.add_param_group({"params": [a]})),
        raises(lambda: opt.add_param_group({"params": b})),
        raises(lambda: opt.add_param_group([b])),
        len(opt.param_groups),
        sorted(opt.param_groups[1]),
        raises(lambda: T.optim.SGD([{"params": [a]}, {"params": [a]}], lr=0.1)),
        warned(lambda: len(T.optim.SGD([a, a], lr=0.1).param_groups[0]["params"])),
        kind(lambda: T.optim.SGD([{"params": [a]}, a], lr=0.1)),
        [g["lr"] for g in T.optim.SGD([{"params": [a], "lr": 3.0}, {"params": [b]}]).param_groups],
    ]
    return out


def closures(T):
    out = []
    for make in (T.optim.SGD, T.optim.Adam):
        p = leaf(T, [3.0])
        opt = make([p], lr=0.1)
        seen = []

        def closure():
            seen.append(T.is_grad_enabled())
            opt.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        with T.no_grad():
            r = opt.step(closure)
        out.append([r, p, seen, opt.step(lambda: 5), opt.step()])
    return out


def state(T, make):
    p, q = leaf(T, [1.0, 2.0]), leaf(T, [3.0])
    opt = make([p, q])
    p.grad = T.ones(2)
    opt.step()
    sd = opt.state_dict()
    again = make([leaf(T, [1.0, 2.0]), leaf(T, [3.0])])
    e = raises(lambda: again.load_state_dict(copy.deepcopy(sd)))
    wrong = make([leaf(T, [1.0])])
    return [
        sorted(sd),
        sd["state"],
        sd["param_groups"][0]["params"],
        sd["param_groups"][0]["lr"],
        e,
        again.state_dict()["state"],
        raises(lambda: wrong.load_state_dict(sd)),
        raises(lambda: make([{"params": [p]}, {"params": [q]}]).load_state_dict(sd)),
    ]


def two_schedules(T):
    p = one(T)
    opt = T.optim.SGD([p], lr=1.0)
    a, b = T.optim.lr_scheduler.ExponentialLR(opt, 0.5), T.optim.lr_scheduler.StepLR(opt, 2, 0.1)
    out = []
    for _ in range(4):
        opt.step()
        a.step()
        b.step()
        out.append(opt.param_groups[0]["lr"])
    return out


@program
def schedule_details(T):
    p = one(T)
    opt = T.optim.SGD([p], lr=1.0)
    s = T.optim.lr_scheduler.StepLR(opt, 2)
    a = [
        s.base_lrs,
        s.last_epoch,
        opt.param_groups[0]["initial_lr"],
        sorted(k for k in s.state_dict() if not k.startswith("_")),
        s.optimizer is opt,
    ]
    opt.param_groups[0]["lr"] = 5.0
    opt.step()
    s.step()
    a += [opt.param_groups[0]["lr"]]
    t = T.optim.lr_scheduler.StepLR(opt, 2)
    t.load_state_dict(s.state_dict())
    return [a, t.last_epoch, t.get_last_lr()]


@program
def plateau(T):
    opt = T.optim.SGD([one(T)], lr=1.0)
    s = T.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
    out = []
    for v in (1.0, 0.9, 0.9, 0.9, 0.9, 0.5):
        opt.step()
        s.step(v)
        out.append(opt.param_groups[0]["lr"])
    return out


@program
def scheduler_order_warning(T):
    opt = T.optim.SGD([one(T)], lr=1.0)
    s = T.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    a, _ = warned(lambda: s.step())
    b, _ = warned(lambda: s.step())
    opt2 = T.optim.SGD([one(T)], lr=1.0)
    s2 = T.optim.lr_scheduler.ExponentialLR(opt2, 0.5)
    c, _ = warned(lambda: (opt2.step(), s2.step()))
    return [a, b, c, opt2.param_groups[0]["lr"]]


@program
def scheduler_with_groups(T):
    opt = T.optim.SGD([{"params": [one(T)]}, {"params": [one(T)], "lr": 0.2}], lr=1.0)
    s = T.optim.lr_scheduler.LambdaLR(opt, [lambda k: 0.5**k, lambda k: 1 + k])
    opt.step()
    s.step()
    return [s.get_last_lr(), s.base_lrs]


@program
def zeroing(T):
    p, q = leaf(T, [1.0]), leaf(T, [2.0])
    opt = T.optim.SGD([p, q], lr=0.1)
    (p * 2).sum().backward()
    g = p.grad
    opt.zero_grad(set_to_none=False)
    a = [p.grad is g, g, q.grad]
    opt.zero_grad()
    return [a, p.grad]


@program
def zero_grad_of_history(T):
    p = leaf(T, [2.0])
    opt = T.optim.SGD([p], lr=0.1)
    quiet(lambda: (p**3).sum().backward(create_graph=True))
    g = p.grad
    opt.zero_grad(set_to_none=False)
    return [g, flags(g), p.grad is g]


@program
def step_facts(T):
    out = []
    for make in (
        lambda p: T.optim.SGD(p, lr=0.1),
        lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: T.optim.Adam(p, lr=0.1),
        lambda p: T.optim.AdamW(p, lr=0.1),
    ):
        p = leaf(T, [1.0])
        opt = make([p])
        y = (p * p).sum()
        y.backward(retain_graph=True)
        g = p.grad
        r = opt.step()
        out.append(
            [
                r,
                p.is_leaf,
                p.requires_grad,
                p.grad is g,
                g,
                raises(lambda: y.backward()),
                T.is_grad_enabled(),
                p._version > 0,
                type(opt).__name__,
            ]
        )
    return out


@program
def parameters_that_change(T):
    p = leaf(T, [1.0])
    opt = T.optim.SGD([p], lr=0.5)
    p.data = T.tensor([10.0])
    p.grad = T.ones(1)
    opt.step()
    a = p.detach().clone()
    p.requires_grad_(False)
    opt.step()
    b = p.detach().clone()
    opt.param_groups[0]["lr"] = 100.0
    opt.step()
    opt.param_groups[0]["params"].clear()
    opt.step()
    return [a, b, p]


@program
def optimizer_hooks(T):
    p, log = leaf(T, [1.0]), []
    opt = T.optim.SGD([p], lr=0.1)
    a = opt.register_step_pre_hook(lambda o, args, kw: log.append("pre"))
    opt.register_step_post_hook(lambda o, args, kw: log.append("post"))
    p.grad = T.ones(1)
    opt.step()
    a.remove()
    opt.step()
    return log


@program
def step_inside_hooks(T):
    p = leaf(T, [1.0, 2.0])
    opt = T.optim.SGD([p], lr=0.1)

    def hook(q):
        opt.step()
        opt.zero_grad()

    p.register_post_accumulate_grad_hook(hook)
    for _ in range(2):
        (p * p).sum().backward()
    return [p, p.grad, p._version]


@program
def training_with_everything(T):
    w, b = leaf(T, [[0.5], [-0.3]], "float64"), leaf(T, [0.1], "float64")
    x = T.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]], dtype=T.float64)
    t = T.tensor([[1.0], [0.0], [2.0]], dtype=T.float64)
    out = []
    for make in (
        lambda p: T.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
        lambda p: T.optim.Adam(p, lr=0.05, amsgrad=True),
        lambda p: T.optim.AdamW(p, lr=0.05),
    ):
        opt = make([w, b])
        s = T.optim.lr_scheduler.StepLR(opt, 3, 0.5)
        for _ in range(7):
            opt.zero_grad()
            loss = ((x @ w + b).tanh() - t).pow(2).mean() + 0.01 * w.norm()
            loss.backward()
            T.nn.utils.clip_grad_norm_([w, b], 0.5)
            opt.step()
            s.step()
            out.append(loss.item())
    return [out, w, b]


@program
def training_goes_on_from_a_file(T):
    """With every algorithm the run after loading makes the steps of the run that went on; so do pickles and arrays."""

    def begin(make):
        T.manual_seed(0)
        net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 1))
        return net, make(net.parameters())

    def step(net, optimizer):
        optimizer.zero_grad()
        loss = net(T.arange(6.0).reshape(2, 3)).square().sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    def through_file(value):
        file = io.BytesIO()
        T.save(value, file)
        file.seek(0)
        return T.load(file)

    found = []
    for name in ("Adam", "AdamW", "Adagrad", "RMSprop", "SGD"):
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        make = lambda ps, name=name, options=options: getattr(T.optim, name)(ps, lr=0.01, **options)  # noqa: E731
        for carry in (through_file, lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy):
            net, optimizer = begin(make)
            losses = [step(net, optimizer) for _ in range(2)]
            other, its_optimizer = begin(make)
            other.load_state_dict(carry(net.state_dict()))
            its_optimizer.load_state_dict(carry(optimizer.state_dict()))
            found.append([losses, step(net, optimizer) == step(other, its_optimizer), step(other, its_optimizer)])
    return found


@program
def arrays_out_of_a_pickle_are_like_others(T):
    """NumPy gives them a type that is equal and another object."""
    array = pickle.loads(pickle.dumps(np.ones((2, 3), np.float32)))
    shared, copied, t = T.from_numpy(array), T.tensor(array), pickle.loads(pickle.dumps(T.ones(2, 3)))
    x = T.zeros(2, 3)
    array[0, 0] = 5
    return [
        [x.clone().lerp_(y, 0.5) for y in (shared, copied, t, T.as_tensor(array))],
        [T.lerp(x, y, y) for y in (shared, copied, t)],
        [T.lerp(y, x, 0.5) for y in (shared, copied, t)],
        [T.cat([x, y]) @ y.t() for y in (shared, copied, t)],
    ]
