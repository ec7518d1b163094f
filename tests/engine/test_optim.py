"""Optimizers, schedulers and data loading: the same lines on our engine and on real PyTorch, to many digits."""

import copy
import warnings

import pytest
from facts import check_program, same

import course_lib


def seen(value):
    """What two libraries are compared by."""
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, dict):
        return {k: seen(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [seen(v) for v in value]
    return value


def error(call):
    """Warnings and the error, with their whole text; None when there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
            problem = None
        except Exception as raised:
            problem = f"{type(raised).__name__}: {raised}"
    return [f"{w.category.__name__}: {w.message}" for w in caught] + [problem]


def leaf(torch, *values):
    return torch.tensor(values or (1.0, -2.0), dtype=torch.float64, requires_grad=True)


GRADS = [[1.0, 0.5], [1.0, -0.5], [0.0, 0.0], [-2.0, 3.0]]
SETTINGS = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.5},
        {"momentum": 0.9, "nesterov": True},
        {"weight_decay": 0.5},
        {"momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    ],
    "Adam": [{}, {"weight_decay": 0.1}, {"amsgrad": True}, {"betas": (0.5, 0.8), "eps": 1e-3, "maximize": True}],
    "AdamW": [{}, {"weight_decay": 0.3, "amsgrad": True}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}, {"weight_decay": 0.1, "alpha": 0.5}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2, "weight_decay": 0.1}],
}
CASES = [(name, settings) for name, several in SETTINGS.items() for settings in several]


def trained(torch, name, settings):
    """The parameter after each of a few steps, its version, and the state that is left."""
    p = leaf(torch)
    optimizer = getattr(torch.optim, name)([p], lr=0.1, **settings)
    path = []
    for grad in GRADS:
        p.grad = torch.tensor(grad, dtype=torch.float64)
        optimizer.step()
        path.append([seen(p), p._version])
    return path, seen(optimizer.state_dict()), repr(optimizer)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_steps_as_in_pytorch(name, settings, real_torch):
    """Every step, the versions, the state and the printed form are PyTorch's."""
    ours, theirs = trained(course_lib, name, settings), trained(real_torch, name, settings)

    assert same(ours[0], theirs[0], rel=1e-9, abs=1e-12)
    assert same(ours[1], theirs[1], rel=1e-9, abs=1e-12)
    assert ours[2] == theirs[2]


SCHEDULES = {
    "StepLR": {"step_size": 2, "gamma": 0.5},
    "MultiStepLR": {"milestones": [1, 3, 3], "gamma": 0.5},
    "ExponentialLR": {"gamma": 0.5},
    "LinearLR": {"start_factor": 0.25, "total_iters": 4},
    "CosineAnnealingLR": {"T_max": 3, "eta_min": 0.1},
    "LambdaLR": {"lr_lambda": lambda epoch: 1 / (epoch + 2)},
}


def scheduled(torch, name, change_by_hand):
    """The rates over eight epochs, and the scheduler's state."""
    a, b = leaf(torch), leaf(torch)
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.01}], lr=1.0)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **SCHEDULES[name])
    rates = [scheduler.get_last_lr()]
    for epoch in range(8):
        optimizer.step()
        scheduler.step()
        if change_by_hand and epoch == 3:
            optimizer.param_groups[0]["lr"] = 3.0
        rates.append([group["lr"] for group in optimizer.param_groups])
    return rates, scheduler.get_last_lr(), scheduler.last_epoch, scheduler.state_dict()


@pytest.mark.parametrize("change_by_hand", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_as_in_pytorch(name, change_by_hand, real_torch):
    """Rates, with and without a change by hand, and the state dict are PyTorch's."""
    ours, theirs = (scheduled(torch, name, change_by_hand) for torch in (course_lib, real_torch))

    for mine, real in zip(ours, theirs, strict=True):
        assert same(mine, real, rel=1e-9, abs=1e-12)


# --- programs ----------------------------------------------------------------------------------------------


def plateau(torch):
    """ReduceLROnPlateau waits, lowers, cools down, and stops at the least rate."""
    optimizer = torch.optim.SGD([leaf(torch)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, cooldown=1, factor=0.5, min_lr=0.2)
    rates = []
    for value in (1.0, 0.9, 0.9, 0.95, 0.9, 0.9, 0.9, 0.1, 0.2, 0.2, 0.2, 0.2):
        scheduler.step(value)
        rates.append(optimizer.param_groups[0]["lr"])
    return [rates, scheduler.get_last_lr(), scheduler.last_epoch, scheduler.best]


def scheduler_warnings(torch):
    """Order of the steps, get_lr outside a step, a wrong optimizer."""
    lr, make = torch.optim.lr_scheduler, lambda: torch.optim.SGD([leaf(torch)], lr=0.1)
    optimizer = make()
    first = lr.StepLR(optimizer, 1)
    found = [error(first.step), error(first.step), error(first.get_lr)]
    optimizer = make()
    optimizer.step()
    return found + [
        error(lr.ExponentialLR(optimizer, 0.5).step),
        error(lambda: lr.StepLR(3, 1)),
        error(lambda: lr.LambdaLR(make(), [abs, abs])),
        error(lambda: lr.LinearLR(make(), start_factor=0)),
    ]


def two_schedulers(torch):
    """Chainable schedulers multiply; a loaded state goes on where the other was."""
    lr = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([leaf(torch)], lr=1.0)
    a, b = lr.ExponentialLR(optimizer, 0.5), lr.StepLR(optimizer, 2, 0.1)
    rates = []
    for _ in range(4):
        optimizer.step()
        a.step()
        b.step()
        rates.append(optimizer.param_groups[0]["lr"])
    other = lr.ExponentialLR(torch.optim.SGD([leaf(torch)], lr=1.0), 0.9)
    other.load_state_dict(a.state_dict())
    return [rates, other.gamma, other.last_epoch, other.get_last_lr(), other.optimizer.param_groups[0]["lr"]]


def construction(torch):
    """What an optimizer refuses, and in which words."""
    optim, p, q = torch.optim, leaf(torch), leaf(torch)
    return [
        error(make)
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
            lambda: optim.SGD([p], weight_decay=-1),
            lambda: optim.SGD([p], nesterov=True),
            lambda: optim.Adam([p], betas=(1.0, 0.9)),
            lambda: optim.Adam([p], eps=-1),
            lambda: optim.SGD([p], foo=1),
            lambda: optim.Optimizer([p], {}).step(),
            lambda: optim.SGD([p]).add_param_group(3),
            lambda: optim.SGD([p]).add_param_group({"params": q}),
            lambda: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
            lambda: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
        )
    ]


def groups(torch):
    """Groups keep their own settings and extra keys; named parameters are remembered; both print."""
    a, b = leaf(torch), leaf(torch)
    optimizer = torch.optim.SGD([{"params": [a], "name": "first"}, {"params": b, "lr": 0.01}], lr=0.1, momentum=0.9)
    for p in (a, b):
        p.grad = torch.tensor([1.0, 1.0], dtype=torch.float64)
    optimizer.step()
    named = torch.optim.SGD([("weight", a)], lr=0.1)
    unnamed = error(lambda: named.add_param_group({"params": [b]}))
    named_later = error(lambda: optimizer.add_param_group({"params": [("weight", leaf(torch))]}))
    shown = [repr(optimizer), repr(named), seen(named.state_dict()), list(optimizer.param_groups[0])]
    return [unnamed, named_later, seen([a, b]), *shown]


def which_parameters(torch):
    """A step skips .grad None, looks at .grad and not at requires_grad, and runs unrecorded."""
    a, b, c = leaf(torch), leaf(torch), leaf(torch)
    optimizer = torch.optim.AdamW([a, b, c], lr=0.1)
    a.grad, c.grad = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    c.requires_grad_(False)
    optimizer.step()
    return [seen([a, b, c]), b._version, a.is_leaf, a.grad_fn is None, torch.is_grad_enabled(), len(optimizer.state)]


def zeroing(torch):
    """zero_grad drops gradients, or overwrites them in place and cuts their history."""
    p = leaf(torch)
    optimizer = torch.optim.SGD([p], lr=0.1)
    (p * 2).sum().backward()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    found = [p.grad is grad, seen(grad), grad._version]
    optimizer.zero_grad()
    return found + [p.grad is None]


def closure_and_hooks(torch):
    """A closure runs recorded; step hooks run around the step."""
    p, log = leaf(torch), []
    optimizer = torch.optim.SGD([p], lr=0.1)
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: log.append(["pre", len(args), kwargs]))
    handle = optimizer.register_step_post_hook(lambda opt, args, kwargs: log.append(["post", seen(p)]))

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    handle.remove()
    optimizer.step()
    return [loss.item(), seen(p), log]


def state_round_trip(torch):
    """A state dict names parameters by number; loaded into another optimizer, training goes on exactly."""
    p = leaf(torch)
    optimizer = torch.optim.Adam([p], lr=0.1)
    p.grad = torch.tensor([1.0, 2.0], dtype=torch.float64)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    q = p.detach().clone().requires_grad_()
    other = torch.optim.Adam([q], lr=9.0)
    other.load_state_dict(saved)
    for tensor, opt in ((p, optimizer), (q, other)):
        tensor.grad = torch.tensor([-1.0, 0.5], dtype=torch.float64)
        opt.step()
    return [seen(p), seen(q), seen(saved), other.param_groups[0]["lr"], str(other.state[q]["step"].dtype)]


def own_optimizer(torch):
    """A subclass of Optimizer needs defaults and a step."""

    class Sign(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p = leaf(torch)
    optimizer = Sign([p], 0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    for _ in range(2):
        (p * p).sum().backward()
        optimizer.step()
        scheduler.step()
    return [seen(p), repr(optimizer)]


def training(torch):
    """Thirty epochs of a small classifier with Adam, a schedule, batches and clipping."""
    xs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.2]], dtype=torch.float64)
    ts = torch.tensor([0, 1, 1, 0, 1])
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.LayerNorm(3), torch.nn.Linear(3, 2)
    ).double()
    with torch.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_((torch.arange(p.numel()).double().reshape(p.shape) + k).sin())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(xs, ts), batch_size=2)
    losses = []
    for _ in range(30):
        for x, t in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), t)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return [losses[::5], seen(net[3].bias)]


def loading_data(torch):
    """Datasets and loaders: batches, what is left over, nested samples, splits, errors."""
    data = torch.utils.data
    pairs = data.TensorDataset(torch.arange(5), torch.arange(10.0).reshape(5, 2))
    loader = data.DataLoader(pairs, batch_size=2)
    nested = [{"a": i, "b": (float(i), str(i))} for i in range(3)]
    parts = data.random_split(pairs, [3, 2])
    shuffled = [i for batch in data.DataLoader(range(6), batch_size=4, shuffle=True) for i in batch.tolist()]
    return [
        len(pairs),
        len(loader),
        seen(list(loader)),
        seen(list(data.DataLoader(pairs, batch_size=2, drop_last=True))),
        seen(next(iter(data.DataLoader(nested, batch_size=3)))),
        seen(list(data.DataLoader(range(3), batch_size=None))),
        sorted(i.item() for part in parts for i, _ in part),
        sorted(shuffled),
        seen(data.Subset(pairs, [4, 0])[0]),
        seen(list(data.DataLoader([1.0, 2.0, 3.0], batch_sampler=[[2, 0], [1]]))),
        error(lambda: data.DataLoader(pairs, batch_size=0)),
        error(lambda: data.TensorDataset(torch.ones(1), torch.ones(2))),
        error(lambda: data.random_split(pairs, [1, 1])),
    ]


PROGRAMS = [
    plateau,
    scheduler_warnings,
    two_schedulers,
    construction,
    groups,
    which_parameters,
    zeroing,
    closure_and_hooks,
    state_round_trip,
    own_optimizer,
    training,
    loading_data,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_as_in_pytorch(program, real_torch):
    """The program's docstring says what it shows; both libraries must show the same."""
    check_program(program, course_lib, real_torch)
