"""Random programs on the engine that learners build and on PyTorch: the same numbers and versions, or the same error.

A known difference: `grad` runs every node, where PyTorch
runs only those that lead to what was asked for, so of two errors in one program another one may come first. And what
is written lies in memory of its own: PyTorch refuses `x.add_(x.T)`, or reads numbers that it has just written.
`COURSE_FUZZ=1000` runs so many.
"""

import os
import random
import warnings

import numpy as np
import pytest

from coursekit.own_engine import judge, stages

COUNT = int(os.environ.get("COURSE_FUZZ", 300))
KINDS = "add sub mul div mm pow exp tanh relu T neg number sum mean clone rows reshape detach no_grad".split()
KINDS += ["leaf", "write", "write"]
VIEWS = ["row", "set", "write to a part"]
ERRORS = ("modified by an inplace operation", "second time", "does not require grad", "leaf Variable", "not have been")


def step(engine, kind, x, y, row, number):
    """One line of a program. A new tensor, or None when it wrote into an old one."""
    if kind == "write":
        [x.mul_, x.add_, x.sub_][int(3 * number)](y if y is x else y.clone())
        return None
    if kind == "leaf":
        with engine.no_grad():
            x.mul_(1.1)
        return None
    if kind == "no_grad":
        with engine.no_grad():
            return x * y
    if kind == "set":
        x[int(3 * number)] = y[0].clone()
        return None
    if kind == "write to a part":
        x[1:].mul_(2.0)
        return None
    return {
        "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / (y * y + 1),
        "mm": lambda: x @ y, "pow": lambda: x ** (2 + int(2 * number)), "exp": lambda: (x * 0.1).exp(),
        "tanh": lambda: x.tanh(), "relu": lambda: x.relu(), "T": lambda: x.T, "neg": lambda: -x,
        "number": lambda: 2 * x + 1.5, "sum": lambda: x * y.sum(), "mean": lambda: x + y.mean(),
        "clone": lambda: x.clone(), "rows": lambda: x * row, "detach": lambda: x.detach(),
        "reshape": lambda: x.reshape((9,)).reshape((3, 3)), "row": lambda: x * x[int(3 * number)],
    }[kind]()  # fmt: skip


def outcome(engine, seed, kinds, twice):
    """What a program gives: its loss, the gradients and versions of its leaves; or the kind of its error."""
    draw, values = random.Random(seed), np.random.default_rng(seed)
    leaves = [engine.tensor(values.uniform(0.5, 1, (3, 3)), requires_grad=grad) for grad in (True, True, False)]
    row = engine.tensor(values.uniform(0.5, 1, (1, 3)), requires_grad=True)
    pool = list(leaves)
    try:
        for _ in range(draw.randint(3, 12)):
            kind, x, y = draw.choice(kinds), draw.choice(pool), draw.choice(pool)
            made = step(engine, kind, x, y, row, draw.random())
            pool += [made] if made is not None else []
        loss = pool[-1].sum() + (pool[-2] * pool[-2]).mean()
        if twice:
            (slopes,) = engine.autograd.grad(loss, leaves[0], create_graph=True)
            loss = (slopes * slopes).sum() + loss
        loss.backward()
    except NotImplementedError:
        return "refused"
    except RuntimeError as error:
        return next((words for words in ERRORS if words in str(error)), str(error))
    grads = [None if leaf.grad is None else np.array(leaf.grad.tolist()) for leaf in (*leaves, row)]
    return loss.item(), grads, [leaf._version for leaf in leaves]


def same(mine, real, twice):
    """Equal numbers, equal versions, the same leaves without a gradient; or the same error, after `grad` any."""
    if isinstance(mine, str) or isinstance(real, str):
        return mine == real or twice and isinstance(mine, str) and isinstance(real, str)
    close = np.isclose(mine[0], real[0], rtol=1e-9, equal_nan=True) and mine[2] == real[2]
    return close and all(
        (a is None) == (b is None) and (a is None or np.allclose(a, b, rtol=1e-8, atol=1e-9, equal_nan=True))
        for a, b in zip(mine[1], real[1], strict=True)
    )


@pytest.mark.parametrize("judging", ["course_lib", pytest.param("torch", marks=pytest.mark.check)])
@pytest.mark.parametrize("views", [False, True])
def test_random_programs_give_what_pytorch_gives(views, judging):
    """No wrong number: an engine that cannot answer raises. With and without a second derivative."""
    real = pytest.importorskip(judging)
    engine, kinds = judge.load(stages.stage(stages.LAST, views)), KINDS + VIEWS * views
    answers, wrong = 0, []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(COUNT):
            for twice in (False, True):
                mine, theirs = outcome(engine, seed, kinds, twice), outcome(real, seed, kinds, twice)
                answers += not isinstance(mine, str)
                if mine != "refused" and not same(mine, theirs, twice):
                    wrong.append((seed, twice, mine, theirs))

    assert [] == wrong
    assert answers > COUNT / 2
