"""Optimizers and schedulers: the same steps on our engine and on real PyTorch, to many digits."""

import pytest

import course_lib
from tests.engine.facts import leaf, same
from tests.programs.kit import seen

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
    p = leaf(torch, 1.0, -2.0, dtype=torch.float64)
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
    "ExponentialLR": {"gamma": 0.5},
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
