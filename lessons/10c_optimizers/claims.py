"""The claims of part 10c, on our engine and on real PyTorch."""

import copy
import random
import warnings

import pytest

from lessons.claims_kit import from_lesson, leaf


def lesson(torch):
    """The part's network of two layers of one weight each, with its optimizer; its training, unrounded."""
    x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()

    def exact(text):
        return text.replace("round(loss.item(), 4)", "loss.item()")

    return from_lesson(torch, "10c", "fresh", "train", edit=exact, x=x, t=t, mse=mse)


def test_c10c_1_what_is_remembered(torch):
    """What an optimizer remembers of a parameter is in `optimizer.state`; with SGD and Adam it appears there with
    that parameter's first step: a sum for momentum; two averages and a count of steps for Adam."""
    wanted = {
        "SGD": ({}, []),
        "SGD with momentum": ({"momentum": 0.9}, ["momentum_buffer"]),
        "Adam": ({}, ["step", "exp_avg", "exp_avg_sq"]),
    }
    for name, (settings, keys) in wanted.items():
        p, idle = leaf(torch, 1.0, 1.0), leaf(torch, 1.0)
        optimizer = getattr(torch.optim, name.split()[0])([p, idle], lr=0.1, **settings)
        assert dict(optimizer.state) == {}
        for count in (1, 2):
            p.grad = torch.tensor([0.001, 1000.0])
            optimizer.step()

            assert list(optimizer.state[p] if keys else []) == keys
            assert all(key is not idle for key in optimizer.state)
            if name == "Adam":
                assert optimizer.state[p]["step"].item() == count


def test_c10c_2_a_scheduler_writes_rates(torch):
    """`scheduler.step()` writes `lr` in the optimizer's groups and its own counters, and no parameter and no gradient;
    called before `optimizer.step()` it skips the first value of its schedule, with a warning."""
    moves = {}
    for late in (True, False):
        p = leaf(torch, 0.0)
        optimizer = torch.optim.SGD([{"params": [p]}, {"params": [leaf(torch, 0.0)], "lr": 1.0}], lr=0.5)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        p.grad, moved = torch.tensor([-1.0]), []
        with warnings.catch_warnings(record=True, action="always") as caught:
            for _ in range(3):
                before = p.item()
                if not late:
                    scheduler.step()
                optimizer.step()
                moved.append(p.item() - before)
                if late:
                    facts = p._version, p.grad._version, p.item(), p.grad.item(), dict(optimizer.state)
                    scheduler.step()
                    assert facts == (p._version, p.grad._version, p.item(), p.grad.item(), dict(optimizer.state))
        moves[late] = moved, [str(one.message)[:73] for one in caught]
        assert [group["lr"] for group in optimizer.param_groups] == [0.0625, 0.125]

    warning = "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTo"
    assert moves == {True: ([0.5, 0.25, 0.125], []), False: ([0.25, 0.125, 0.0625], [warning])}


def test_c10c_3_what_a_checkpoint_needs(torch):
    """With the states of model and optimizer, training that needs nothing else (no scheduler, no random numbers) goes
    on to the last digit as if never interrupted; without the optimizer's, momentum starts again, and nothing raises."""
    own = lesson(torch)

    def begin(adam):
        model, momentum = own.fresh(lr=0.02, momentum=0.9)
        return model, torch.optim.Adam(model.parameters(), lr=0.05) if adam else momentum

    for adam in (False, True):
        model, optimizer = begin(adam)
        own.train(model, optimizer)
        saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
        wanted = own.train(model, optimizer)
        seen = []
        for whole in (True, False):
            again, its = begin(adam)
            again.load_state_dict(saved[0])
            if whole:
                its.load_state_dict(copy.deepcopy(saved[1]))
            seen.append(own.train(again, its))

        assert seen[0] == wanted
        assert seen[1] != wanted and seen[1][0] == wanted[0]

    model, optimizer = own.fresh(lr=0.02)
    model.append(torch.nn.Dropout(0.5))
    state = copy.deepcopy(model.state_dict())
    wanted = own.train(model, optimizer, rounds=40)
    model.load_state_dict(state)
    assert own.train(model, optimizer, rounds=40) != wanted  # why it says "no random numbers": dropout draws others


def test_c10c_4_decay_and_momentum(torch):
    """With SGD, weight decay first adds its multiple of p to the gradient, and momentum then puts a running sum in the
    gradient's place."""
    for settings in ({}, {"weight_decay": 0.3}, {"momentum": 0.9}, {"momentum": 0.9, "weight_decay": 0.3}):
        start = [random.uniform(-2, 2) for _ in range(16)]
        p, q = leaf(torch, *start), torch.tensor(start)
        optimizer, total = torch.optim.SGD([p], lr=0.1, **settings), None
        for _ in range(4):
            p.grad = gradient = torch.tensor([random.uniform(-2, 2) for _ in range(16)])
            optimizer.step()
            if "weight_decay" in settings:
                gradient = gradient.add(q, alpha=0.3)
            if "momentum" in settings:
                total = gradient = gradient.clone() if total is None else total.mul_(0.9).add_(gradient)
            q.add_(gradient, alpha=-0.1)

            assert p.tolist() == q.tolist(), settings  # to the last digit


def test_c10c_5_decay_of_adam_and_adamw(torch):
    """With Adam a decay beside a large gradient hardly pulls; AdamW multiplies the parameter by 1 - lr · decay,
    whatever the gradient."""

    def ends(kind, gradient):
        """Return where 16 parameters are after a step, without the decay 0.5 and with it."""
        torch.manual_seed(0)
        start, found = torch.randn(16, dtype=torch.float64), []
        for decay in (0.0, 0.5):
            p = start.clone().requires_grad_()
            p.grad = torch.full((16,), gradient, dtype=torch.float64)
            kind([p], lr=0.1, weight_decay=decay).step()
            found.append(p.detach())
        return start, *found

    for gradient in (1000.0, -1000.0, 0.0, 1e-3):
        start, without, pulled = ends(torch.optim.AdamW, gradient)
        assert (without - pulled).tolist() == pytest.approx((start * 0.05).tolist())
    for gradient in (1000.0, -1000.0):
        start, without, pulled = ends(torch.optim.Adam, gradient)
        assert (without - pulled).abs().max().item() < 1e-6
    _, without, pulled = ends(torch.optim.Adam, 0.0)
    assert (without - pulled).abs().min().item() > 0.099  # beside a gradient of 0: a whole step
