"""Optimizers and schedulers: arithmetic over several steps, state, groups, refusals."""

import copy
import io
import pickle

from tests.programs.kit import kind, leaf, outcome, program, programs, raises, seen, warned


def rates(T, make, n=7, lr=1.0):
    p = leaf(T, [1.0])
    opt = T.optim.SGD([p], lr=lr)
    s = make(opt)
    out = [opt.param_groups[0]["lr"]]
    for _ in range(n):
        opt.step()
        s.step()
        out.append([opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"], s.get_last_lr()])
    return out


def one(T):
    return leaf(T, [1.0])


def pair(T):
    return leaf(T, [1.0, -2.0], "float64")


programs(
    rate_in_a_tensor=lambda T: rates(T, lambda o: T.optim.lr_scheduler.StepLR(o, 2), lr=T.tensor(0.5)),
    schedule_errors=lambda T: [
        raises(lambda: T.optim.lr_scheduler.StepLR(3, 2)),
        raises(lambda: T.optim.lr_scheduler.LambdaLR(T.optim.SGD([one(T)], lr=1.0), [lambda k: 1, lambda k: 2])),
        kind(lambda: T.optim.lr_scheduler.StepLR(T.optim.SGD([one(T)], lr=1.0))),
    ],
)


@program
def scheduler_states(T):
    S, out = T.optim.lr_scheduler, []
    for mk in (
        lambda o: S.StepLR(o, 2, 0.1, -1),
        lambda o: S.ExponentialLR(o, 0.9),
        lambda o: S.CosineAnnealingLR(o, 3),
        lambda o: S.LambdaLR(o, lambda e: 0.5**e),
    ):
        s = mk(T.optim.SGD([one(T)], lr=1.0))
        s.step()
        state = s.state_dict()
        again = mk(T.optim.SGD([one(T)], lr=1.0))
        again.load_state_dict(state)
        out.append([sorted((k, v) for k, v in state.items()), again.last_epoch, again.get_last_lr()])
        out.append(warned(lambda s=s: s.get_lr()))
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
def construction(T):
    """What an optimizer refuses, and in which words."""
    optim, p, q = T.optim, pair(T), pair(T)
    return [
        outcome(make)
        for make in (
            lambda: optim.SGD([]),
            lambda: optim.SGD(p),
            lambda: optim.SGD([1]),
            lambda: optim.SGD([p * 2]),
            lambda: optim.SGD([p, p]),
            lambda: optim.SGD([{"params": [p]}, {"params": [p]}]),
            lambda: optim.SGD([{"params": {p}}]),
            lambda: optim.SGD([{"x": 1}]),
            lambda: optim.SGD([p], lr=-1.0),
            lambda: optim.SGD([p], momentum=-0.5),
            lambda: optim.SGD([p], nesterov=True),
            lambda: optim.Adam([p], betas=(1.0, 0.9)),
            lambda: optim.Adam([p], eps=-1),
            lambda: optim.SGD([p], foo=1),
            lambda: optim.Optimizer([p], {}).step(),
            lambda: optim.SGD([p]).add_param_group(3),
            lambda: optim.SGD([p]).add_param_group({"params": q}),
            lambda: optim.Adam([p], lr=T.ones(2)),
            lambda: optim.SGD([p]).step(3),
            lambda: optim.SGD([("a", p), q]),
            lambda: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
            lambda: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
        )
    ]


@program
def groups(T):
    """Groups keep their own settings and extra keys; named parameters are remembered; both print."""
    a, b = pair(T), pair(T)
    optimizer = T.optim.SGD([{"params": [a], "name": "first"}, {"params": b, "lr": 0.01}], lr=0.1, momentum=0.9)
    for p in (a, b):
        p.grad = T.tensor([1.0, 1.0], dtype=T.float64)
    optimizer.step()
    named = T.optim.SGD([("weight", a)], lr=0.1)
    unnamed = outcome(lambda: named.add_param_group({"params": [b]}), 60)
    named_later = outcome(lambda: optimizer.add_param_group({"params": [("weight", pair(T))]}), 60)
    shown = [repr(optimizer), repr(named), seen(named.state_dict()), list(optimizer.param_groups[0])]
    return [unnamed, named_later, seen([a, b]), *shown]


@program
def closure_and_hooks(T):
    """A closure runs recorded; step hooks run around the step."""
    p, log = pair(T), []
    optimizer = T.optim.SGD([p], lr=0.1)
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: log.append(["pre", len(args), kwargs]))
    handle = optimizer.register_step_post_hook(lambda opt, args, kwargs: log.append(["post", seen(p)]))

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with T.no_grad():
        loss = optimizer.step(closure)
    handle.remove()
    optimizer.step()
    return [loss.item(), seen(p), log]


@program
def own_optimizer(T):
    """A subclass of Optimizer needs defaults and a step."""

    class Sign(T.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @T.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p = pair(T)
    optimizer = Sign([p], 0.5)
    scheduler = T.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    for _ in range(2):
        (p * p).sum().backward()
        optimizer.step()
        scheduler.step()
    return [seen(p), repr(optimizer)]
