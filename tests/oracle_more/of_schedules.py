"""What optimizers and schedulers carry over: states, hooks, names, copies, closed forms, one after the other."""

import copy
import gc
import types
import weakref

from kit import leaf, program, programs, raises, warned


def sgd(T, rates=(0.05, 0.5), tensors=False, **settings):
    """SGD with a group for each rate; the rates may be tensors."""
    groups = [{"params": [leaf(T, [1.0])], "lr": T.tensor(r) if tensors else r} for r in rates]
    return T.optim.SGD(groups, lr=T.tensor(0.1) if tensors else 0.1, **settings)


def walk(scheduler, count=9, epochs=None):
    """The rates after each of some steps, as they print."""
    seen = []
    for epoch in range(count) if epochs is None else epochs:
        scheduler.optimizer.step()
        scheduler.step(*([] if epochs is None else [epoch]))
        seen.append([repr(rate) for rate in scheduler.get_last_lr()])
    return seen


KINDS = dict(
    step=lambda L, o, **k: L.StepLR(o, 3, **k),
    multi=lambda L, o, **k: L.MultiStepLR(o, [2, 5, 5, 7], gamma=0.1, **k),
    linear=lambda L, o, **k: L.LinearLR(o, start_factor=0.4, end_factor=0.9, total_iters=4, **k),
    linear_at_once=lambda L, o, **k: L.LinearLR(o, start_factor=0.5, total_iters=0, **k),
    exponential=lambda L, o, **k: L.ExponentialLR(o, gamma=0.9, **k),
    cosine=lambda L, o, **k: L.CosineAnnealingLR(o, T_max=5, eta_min=1e-3, **k),
    function=lambda L, o, **k: L.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)], **k),
)


def life(T, make, tensors):
    """A scheduler in steps, by epochs, resumed, loaded, and asked outside a step."""
    L = T.optim.lr_scheduler
    optimizer = sgd(T, tensors=tensors)
    rate = optimizer.param_groups[0]["lr"]
    scheduler = make(L, optimizer)
    seen = [optimizer.param_groups[0]["lr"] is rate, walk(scheduler), sorted(scheduler.state_dict())]
    try:
        seen.append(warned(lambda: walk(make(L, sgd(T, tensors=tensors)), epochs=[1, 2, 6, 4])))
    except ZeroDivisionError as error:
        seen.append(str(error))
    optimizer = sgd(T, tensors=tensors)
    scheduler = make(L, optimizer)
    walk(scheduler, 3)
    state, settings = scheduler.state_dict(), optimizer.state_dict()
    seen.append(walk(make(L, optimizer, last_epoch=3), 3))
    optimizer = sgd(T, (1.0, 2.0), tensors)
    loaded = make(L, optimizer)
    optimizer.load_state_dict(settings)
    loaded.load_state_dict(state)
    return [*seen, walk(loaded, 3), sorted(state), warned(lambda: [repr(rate) for rate in loaded.get_lr()])]


programs(**{f"{name}_of_numbers": lambda T, f=f: life(T, f, False) for name, f in KINDS.items()})
programs(**{f"{name}_of_tensors": lambda T, f=f: life(T, f, True) for name, f in KINDS.items()})


@program
def a_rate_that_is_a_tensor_is_overwritten(T):
    L = T.optim.lr_scheduler
    rate = T.full((1,), 0.5)
    optimizer = T.optim.SGD([leaf(T, [1.0])], lr=rate)
    scheduler = L.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    seen = [rate.clone(), scheduler.base_lrs, scheduler.get_last_lr(), scheduler.get_last_lr()[0] is rate]
    plateau = L.ReduceLROnPlateau(optimizer, patience=0)
    plateau.step(1.0)
    plateau.step(1.0)
    return [*seen, rate, plateau.get_last_lr(), repr(optimizer), optimizer.state_dict()["param_groups"]]


@program
def warnings_about_the_order_of_steps(T):
    L = T.optim.lr_scheduler
    seen = []
    optimizer = sgd(T)
    first = L.StepLR(optimizer, 3)
    optimizer.step()
    seen += [warned(L.StepLR(optimizer, 3).step)[0], warned(first.step)[0]]
    optimizer = sgd(T)
    scheduler = L.StepLR(optimizer, 3)
    optimizer.step = types.MethodType(lambda self: None, optimizer)
    seen += [warned(scheduler.step)[0], warned(scheduler.step)[0]]
    optimizer = sgd(T)
    optimizer.step = types.MethodType(lambda self: "mine", optimizer)
    scheduler = L.StepLR(optimizer, 3)
    seen += [optimizer.step(), warned(scheduler.step)[0]]
    copied = copy.deepcopy(optimizer)
    scheduler = L.StepLR(copied, 3)
    return [*seen, copied.step(), warned(scheduler.step)[0], warned(L.StepLR(sgd(T), 3).step)[0]]


@program
def refused_schedulers(T):
    L = T.optim.lr_scheduler
    o = sgd(T)
    plateau, step, other = L.ReduceLROnPlateau(o), L.StepLR(o, 2), L.StepLR(sgd(T), 2)
    return [
        raises(make)
        for make in (
            lambda: L.ReduceLROnPlateau(o, min_lr=[1]),
            lambda: L.ReduceLROnPlateau(3, factor=2.0),
            lambda: L.SequentialLR(o, [], []),
            lambda: L.SequentialLR(o, [step], [3]),
            lambda: L.SequentialLR(o, [plateau], []),
            lambda: L.SequentialLR(o, [step, 3], [1]),
            lambda: L.SequentialLR(o, [step, other], [1]),
            lambda: L.LRScheduler(o),
        )
    ]


@program
def plateaus(T):
    cases = [
        ([1] * 9, dict(threshold_mode="abs", threshold=0.01, patience=2, cooldown=2)),
        ([-0.8, -0.8, *[-0.2] * 8], dict(mode="max", patience=1, threshold_mode="abs")),
        ([1.5 * 1.02**i for i in range(9)], dict(mode="max", patience=2, threshold_mode="rel", threshold=0.1)),
        ([float("inf")] * 4 + [2, -1], dict(patience=1)),
        ([3, 2, 1, 1, 1], dict(patience=0, threshold=1.0, eps=0.04)),
        ([1.0] * 5, dict(patience=0, factor=0.3, min_lr=[0.04, 0.001])),
    ]
    seen = []
    for numbers, settings in cases:
        scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(sgd(T), **settings)
        for number in numbers:
            scheduler.step(number)
            seen.append([repr(scheduler.get_last_lr()), scheduler.best, scheduler.in_cooldown])
        seen.append(scheduler.state_dict())
    return seen


@program
def a_plateau_and_a_group_that_came_later(T):
    seen = []
    for least in (0.001, [0.001, 0.002]):
        optimizer = sgd(T)
        scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=least)
        optimizer.add_param_group({"params": [leaf(T, [1.0])]})
        scheduler.step(1.0)
        seen += [raises(lambda s=scheduler: s.step(T.tensor(1.0))), repr(scheduler.get_last_lr())]
        seen.append(warned(lambda s=scheduler: s.step(0.0, epoch=7))[0])
    return [*seen, scheduler.last_epoch]


def several(T, make, names):
    L = T.optim.lr_scheduler
    seen = []
    for tensors in (False, True):
        optimizer = sgd(T, tensors=tensors)
        scheduler = make(L, optimizer, [KINDS[name](L, optimizer) for name in names])
        seen += [repr(scheduler.get_last_lr()), warned(lambda s=scheduler: walk(s))]
        state = scheduler.state_dict()
        optimizer = sgd(T, (3.0, 4.0), tensors)
        scheduler = make(L, optimizer, [KINDS[name](L, optimizer) for name in names])
        scheduler.load_state_dict(state)
        seen += [sorted(state), walk(scheduler, 2)]
    return seen


programs(
    one_after_the_other=lambda T: [
        several(T, lambda L, o, s: L.SequentialLR(o, s, [5]), ["step", "exponential"]),
        several(T, lambda L, o, s: L.SequentialLR(o, s, milestones=[3, 7]), ["linear", "cosine", "exponential"]),
        several(T, lambda L, o, s: L.SequentialLR(o, s, [0, 4]), ["multi", "step", "linear"]),
    ],
    one_in_the_other=lambda T: several(
        T,
        lambda L, o, s: L.SequentialLR(o, [L.SequentialLR(o, s[:2], [2]), s[2]], [5]),
        ["linear", "exponential", "step"],
    ),
)


CYCLES = dict(
    once=lambda L, o: L.OneCycleLR(o, [0.1, 0.2], total_steps=8),
    once_straight=lambda L, o: L.OneCycleLR(o, 25, 8, anneal_strategy="linear", base_momentum=1, max_momentum=22),
    once_and_out=lambda L, o: L.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=5, pct_start=0.4, three_phase=True),
)


def cycle(T, make):
    """Rates and momenta of a cycle for numbers and tensors, with SGD and with Adam; and loaded into another one."""
    L = T.optim.lr_scheduler
    seen = []
    for tensors, momentum in ((False, "momentum"), (True, "betas")):

        def optimizer(tensors=tensors, momentum=momentum):
            made = sgd(T, tensors=tensors, momentum=0.9)
            if momentum == "betas":
                made = T.optim.Adam([{"params": [leaf(T, [1.0])]} for _ in range(2)], lr=T.tensor(0.1))
            return made

        o = optimizer()
        scheduler = make(L, o)
        for _ in range(10):
            o.step()
            seen += [raises(scheduler.step), [repr(rate) for rate in scheduler.get_last_lr()]]
            seen.append([repr(group[momentum]) for group in o.param_groups])
        other = make(L, optimizer())
        other.load_state_dict(scheduler.state_dict())
        other.optimizer.load_state_dict(o.state_dict())
        seen += [sorted(scheduler.state_dict()), raises(other.step), repr(other.get_last_lr())]
    return seen


programs(**{f"cycle_{name}": lambda T, f=f: cycle(T, f) for name, f in CYCLES.items()})


@program
def refused_cycles(T):
    L = T.optim.lr_scheduler
    o, without = sgd(T, momentum=0.9), T.optim.Adagrad([leaf(T, [1.0])])
    return [
        raises(make)
        for make in (
            lambda: L.OneCycleLR(3, 1), lambda: L.OneCycleLR(o, 1, epochs=3), lambda: L.OneCycleLR(o, 1, total_steps=0),
            lambda: L.OneCycleLR(o, 1, epochs=0, steps_per_epoch=0), lambda: L.OneCycleLR(o, [1], total_steps=3),
            lambda: L.OneCycleLR(o, 1, total_steps=3, pct_start=1), lambda: L.OneCycleLR(without, 1, total_steps=3),
            lambda: L.OneCycleLR(o, 1, total_steps=3, anneal_strategy="x"),
            lambda: L.OneCycleLR(o, 1, total_steps=3, last_epoch=1),
        )
    ]  # fmt: skip


@program
def no_ring_of_references(T):
    gc.disable()
    try:
        optimizer = sgd(T)
        scheduler = T.optim.lr_scheduler.StepLR(optimizer, 3)
        of_scheduler, of_optimizer = weakref.ref(scheduler), weakref.ref(optimizer)
        del scheduler
        seen = [of_scheduler() is None]
        del optimizer
        return [*seen, of_optimizer() is None]
    finally:
        gc.enable()


# --- optimizers --------------------------------------------------------------------------------------------


@program
def states_that_lack_the_newer_settings(T):
    seen = []
    for make, kept in (
        (lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9), ("lr", "momentum", "dampening", "weight_decay")),
        (lambda p: T.optim.Adam(p, lr=0.1), ("lr", "betas", "eps", "weight_decay")),
        (lambda p: T.optim.AdamW(p, lr=0.1), ("lr", "betas", "eps", "weight_decay")),
        (lambda p: T.optim.RMSprop(p, lr=0.1), ("lr", "alpha", "eps", "weight_decay")),
        (lambda p: T.optim.Adagrad(p, lr=0.1), ("lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value")),
    ):
        p = leaf(T, [1.0, 2.0])
        p.grad = T.tensor([0.5, -1.0])
        old = make([p])
        old.step()
        state = copy.deepcopy(old.state_dict())
        state["param_groups"] = [{k: v for k, v in state["param_groups"][0].items() if k in (*kept, "params")}]
        if "step" in state["state"][0]:
            state["state"][0]["step"] = 1
        new = make([p])
        new.load_state_dict(state)
        new.step()
        seen += [p.detach().clone(), new.state_dict()["param_groups"], sorted(new.state_dict()["state"][0].items())]
    return seen


@program
def hooks_of_states_and_steps(T):
    log = []
    optimizer = T.optim.SGD([leaf(T, [1.0])], lr=0.1)
    optimizer.register_state_dict_pre_hook(lambda o: log.append("before saving"))
    optimizer.register_state_dict_post_hook(lambda o, s: log.append(["saved", sorted(s)]))
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1}, prepend=True)
    optimizer.register_load_state_dict_pre_hook(lambda o, s: {k: v for k, v in s.items() if k != "more"})
    optimizer.register_load_state_dict_pre_hook(lambda o, s: log.append(["given", sorted(s)]), prepend=True)
    optimizer.register_load_state_dict_post_hook(lambda o: log.append("loaded"))
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    optimizer.register_step_post_hook(lambda o, args, kwargs: log.append([len(args), sorted(kwargs)]))
    optimizer.step(closure=lambda: 3)
    copied = copy.deepcopy(optimizer)
    copied.step()
    return [*log, sorted(state), sorted(copied.state_dict()), sorted(copied.__getstate__())]


@program
def names_and_numbers_of_parameters(T):
    model = T.nn.Linear(1, 1)
    optimizer = T.optim.SGD(model.named_parameters(), lr=0.1)
    optimizer.add_param_group({"params": [("x", leaf(T, [1.0]))]})
    seen = [optimizer.state_dict()["param_groups"], repr(optimizer)]
    nameless = T.optim.SGD(model.parameters(), lr=0.2)
    seen.append(raises(lambda: nameless.add_param_group({"params": [("x", leaf(T, [1.0]))]})))
    seen.append(raises(lambda: optimizer.add_param_group({"params": [leaf(T, [1.0])]})))
    seen.append(raises(lambda: T.optim.SGD([("a", model.weight), model.bias], lr=0.1)))
    named = T.optim.SGD([("a", leaf(T, [[1.0]])), ("b", leaf(T, [1.0]))], lr=0.1)
    named.load_state_dict(nameless.state_dict())
    nameless.load_state_dict(named.state_dict())
    seen += [named.state_dict()["param_groups"], nameless.state_dict()["param_groups"]]
    a, b = leaf(T, [1.0]), leaf(T, [2.0])
    twice = warned(lambda: T.optim.SGD([a, a, b], lr=0.1))
    return [*seen, twice[0], twice[1].state_dict()["param_groups"][0]["params"]]


@program
def betas(T):
    seen = []
    for given in (
        (0, 0.9), (0.9, 1), (0.0, 0.9), [0.9, 0.99], (True, 0.9), (1.0, 0.9), (T.tensor(0.9), 0.99),
        (T.tensor(0.9), T.tensor(0.99)), (T.tensor([0.9]), T.tensor([[0.99]])), (T.tensor([0.9, 0.9]), T.tensor(0.99)),
    ):  # fmt: skip
        p = leaf(T, [1.0])
        p.grad = T.ones(1)
        seen += [raises(lambda p=p, given=given: T.optim.Adam([p], betas=given).step()), p.detach()]
    tensors = (T.tensor(0.9), T.tensor(0.99))
    seen.append(raises(lambda: T.optim.Adam([p], betas=tensors, foreach=True)))
    seen.append(raises(lambda: T.optim.AdamW([p], lr=T.tensor(0.1), foreach=True)))
    return [*seen, raises(lambda: T.optim.Adam([p], capturable=True).step())]


@program
def an_optimizer_of_ones_own(T):
    class Own(T.optim.Optimizer):
        def __init__(self, params, rate=0.1):
            super().__init__(params, {"rate": rate})

        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    state["kept"] = [T.ones(1, dtype=T.float64), (2, T.arange(2))]
                    p.data.add_(p.grad, alpha=-group["rate"])

    p, q = leaf(T, [1.0, 2.0]), leaf(T, [0.0])
    p.grad = T.ones(2)
    own = Own([p])
    own.step()
    state = copy.deepcopy(own.state_dict())
    state["state"]["of no parameter"] = T.ones(1, dtype=T.float64)
    other = Own([{"params": q, "rate": 0.3}])
    other.load_state_dict(state)
    return [p.detach(), repr(own), state, other.state_dict(), raises(lambda: Own([{"rate": 3}]))]
