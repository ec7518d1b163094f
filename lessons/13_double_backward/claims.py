"""The claims of lesson 13, double backward, on our engine and on real PyTorch."""

import gc
import re
import warnings
import weakref

import pytest

from backscope import ledger
from lessons.claims_kit import CHANGED, from_lesson, no_collector, nodes_behind, raises

NO_HISTORY = "does not require grad and does not have a grad_fn"
UNUSED = "appears to not have been used in the graph"


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=True)


def lesson(torch):
    """Return what the lesson defines about its critic; its training prints without rounding."""
    names = "real fake start critic penalty_of train plain recorded retained ten_times ten_times_item six_steps".split()
    own = from_lesson(torch, 13, *names, "by_backward", edit=lambda text: re.sub(r"round\((.+?), 1\)", r"\1", text))
    own.x, own.parameters = torch.tensor([[1.0, 1.0], [1.0, -1.0]], requires_grad=True), own.start()
    own.score = lambda: own.critic(own.x, *own.parameters).sum()
    own.slopes = lambda way=own.recorded: way(own.score(), own.x)
    return own


def near(found, wanted, tolerance=1e-9):
    return found == pytest.approx(wanted, rel=tolerance, abs=tolerance)


def test_c13_1_formulas_are_recorded(torch):
    """With create_graph=True the formulas of the backward pass are recorded as operations: the gradient has the
    same value, and it has a grad_fn if its formula computes with something that requires grad (x**3, exp,
    relu), and none if it is a constant (3 * x) or only compares (clamp, max)."""
    for f, recorded in (
        (lambda x: (x**3).sum(), True),
        (lambda x: x.exp().sum(), True),
        (lambda x: torch.relu(x).sum(), True),
        (lambda x: torch.tanh(x).prod(), True),
        (lambda x: torch.softmax(x, 0)[0], True),
        (lambda x: x.norm(), True),
        (lambda x: (3 * x).sum(), False),  # nothing in this formula requires grad
        (lambda x: x.cumsum(0).mean(), False),
        (lambda x: x.clamp(1.5, 2.5).sum(), False),  # saved, and only compared
        (lambda x: x.max(), False),
    ):
        x = leaf(torch)
        (plain,) = torch.autograd.grad(f(x), x)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)

        assert plain.grad_fn is None and not plain.requires_grad
        assert (g.grad_fn is not None) == g.requires_grad == recorded
        assert g.tolist() == plain.tolist()


def test_c13_2_two_flags(torch):
    """create_graph=True also retains the graph, unless retain_graph=False is said; retain_graph=True alone gives a
    gradient that cannot be differentiated."""
    for flags, again, twice in (
        ({}, False, False),
        ({"retain_graph": True}, True, False),
        ({"create_graph": True}, True, True),
        ({"create_graph": True, "retain_graph": False}, False, True),
    ):
        x = leaf(torch)
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, **flags)
        if twice:
            assert near(torch.autograd.grad(g.sum(), x)[0].tolist(), [6.0, 12.0, 18.0])
        else:
            raises(NO_HISTORY, lambda: torch.autograd.grad(g.sum(), x))
        if again:
            assert near(torch.autograd.grad(y, x)[0].tolist(), [3.0, 12.0, 27.0])
        else:
            raises("backward through the graph a second time", lambda: torch.autograd.grad(y, x))


def test_c13_3_three_kinds_of_zero(torch):
    """A second derivative that is zero comes as zeros for relu(x), as an error about an unused input for `w * x`, and
    as one about a missing grad_fn for `3 * x`."""
    w = leaf(torch, 5.0)

    def first(f):
        x = leaf(torch, 2.0)
        return torch.autograd.grad(f(x), x, create_graph=True)[0], x

    g, x = first(torch.relu)
    assert g.item() == 1.0 and torch.autograd.grad(g, x)[0].item() == 0.0

    g, x = first(lambda x: w * x)
    assert g.item() == 5.0 and g.requires_grad
    raises(UNUSED, lambda: torch.autograd.grad(g, x, retain_graph=True))
    assert torch.autograd.grad(g, x, retain_graph=True, allow_unused=True) == (None,)
    assert torch.autograd.grad(g, x, retain_graph=True, materialize_grads=True)[0].item() == 0.0

    g, x = first(lambda x: 3 * x)
    assert g.item() == 3.0 and not g.requires_grad
    for flags in ({}, {"allow_unused": True}, {"materialize_grads": True}):
        raises(NO_HISTORY, lambda: torch.autograd.grad(g, x, **flags))


def test_c13_4_hessian_times_vector(torch):
    """The Hessian times v is the gradient of g with the upstream gradient v: two passes, however large the Hessian
    is."""

    def f(x):
        return (x**3).sum() + x[0] * x[1] + x.prod()

    x = leaf(torch, 1.0, 2.0, 3.0, 0.5)
    v = torch.tensor([1.0, 0.0, -1.0, 2.0], dtype=torch.float64)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    by_sum = torch.autograd.grad((g * v).sum(), x, retain_graph=True)[0]
    by_weights = torch.autograd.grad(g, x, v)[0]
    table = torch.autograd.functional.hessian(f, x)

    for product in (by_weights, torch.autograd.functional.hvp(f, x, v)[1], table @ v):
        assert near(product.tolist(), by_sum.tolist(), 1e-12)

    def passes(n, product):
        count = []

        def counted(x):
            h = x * 1
            h.register_hook(count.append)
            return (h**3).sum()

        product(counted, torch.ones(n, requires_grad=True))
        return len(count)

    def two_calls(f, x):
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        torch.autograd.grad((g * x.detach()).sum(), x)

    assert [passes(n, two_calls) for n in (3, 30)] == [2, 2]
    assert passes(30, torch.autograd.functional.hessian) == 31


def test_c13_5_who_feels_the_penalty(torch):
    """A penalty on the slopes of `relu(x @ W1 + b1) @ W2 + b2` for x gives gradients to W1 and W2, zeros to b1 and
    nothing to b2."""
    own = lesson(torch)
    g = own.slopes()
    assert g.tolist() == [[3.0, 4.0], [1.0, 0.0]]
    penalty = own.penalty_of(g)
    assert penalty.item() == 8.0
    penalty.backward()

    W1, b1, W2, b2 = (p.grad for p in own.parameters)
    assert near([*W1[0].tolist(), *W1[1].tolist()], [4.8, 2.4, 6.4, 3.2], 1e-6)
    assert near(W2[:, 0].tolist(), [8.8, 2.4], 1e-6)
    assert b1.tolist() == [0.0, 0.0] and b2 is None


def test_c13_6_nothing_is_released(torch):
    """With create_graph=True the first pass releases nothing, and the operations that it records save further
    tensors."""
    X, A, B = (torch.ones(shape, requires_grad=True) for shape in ((100, 20), (20, 30), (30, 1)))
    found = []
    for flag in (False, True):
        with ledger() as held:
            scores = torch.tanh(X @ A) @ B
            forward = held.now
            (g,) = torch.autograd.grad(scores.sum(), X, create_graph=flag)
            found.append((forward, held.now))
    assert found == [(22520, 0), (22520, 46524)]
    x = leaf(torch)
    e = x.exp()
    (g,) = torch.autograd.grad(e.sum(), x, create_graph=True)
    assert e.grad_fn._saved_result.tolist() == e.tolist()  # not released
    assert isinstance(g.grad_fn._saved_self, torch.Tensor)  # saved besides


def test_c13_7_a_constant_penalty(torch, capsys):
    """Without create_graph, or after detach() or item(), the penalty is a constant: a loss that contains it runs
    without an error and trains as if it were not there."""
    own = lesson(torch)

    def trained(slopes, term):
        own.train(slopes, term)
        return [float(number) for number in re.findall(r"[\d.]+", capsys.readouterr().out)]

    without = trained(own.recorded, lambda penalty: 0.0)
    assert near(without, [8.0, 8.8, 9.7, 10.8], 0.01)
    ways = own.plain, own.retained, lambda *given: own.recorded(*given).detach()
    for slopes in ways:
        assert trained(slopes, own.ten_times) == trained(slopes, lambda penalty: 1000 * penalty) == without
        raises(NO_HISTORY, own.penalty_of(own.slopes(slopes)).backward)
    assert trained(own.recorded, own.ten_times_item) == without
    own.penalty_of(own.slopes()).backward()  # of that one: the penalty alone is not where the history gets lost
    with_penalty = trained(own.recorded, own.ten_times)
    assert with_penalty[0] == 8.0 and with_penalty == sorted(with_penalty, reverse=True)


def test_c13_8_the_inner_gradient_is_added(torch):
    """backward(create_graph=True) adds the inner gradient to the `.grad` of every parameter that it reaches as
    well, and the second pass adds to that; with `inputs=[x]` it does not."""
    own, right = lesson(torch), lesson(torch)
    with warnings.catch_warnings(action="ignore"):
        own.score().backward(create_graph=True)
    inner = torch.autograd.grad(right.score(), right.parameters)
    for p, first in zip(own.parameters, inner, strict=True):
        assert p.grad.tolist() == first.tolist()
    own.penalty_of(own.x.grad).backward()
    right.penalty_of(right.slopes()).backward()

    for p, q, first in zip(own.parameters, right.parameters, inner, strict=True):
        wanted = first if q.grad is None else first + q.grad
        assert near(p.grad.reshape(-1).tolist(), wanted.reshape(-1).tolist())
    assert near(own.parameters[0].grad[0].tolist(), [6.8, 4.4], 1e-6)

    only = lesson(torch)
    with warnings.catch_warnings(action="ignore"):
        only.score().backward(create_graph=True, inputs=[only.x])
    assert [p.grad for p in only.parameters] == [None] * 4
    only.penalty_of(only.x.grad).backward()
    assert near(only.parameters[0].grad[0].tolist(), [4.8, 2.4], 1e-6)

    for p in (*own.parameters, own.x, only.x):
        p.grad = None


def test_c13_9_a_ring(torch):
    """backward(create_graph=True) closes a ring, from a leaf to its `.grad`, to the graph and back, if the
    gradient's history leads to the leaf; the ring outlives the last name until `.grad` is cleared, and
    autograd.grad closes none."""

    def cleared(y, w):
        y.backward(create_graph=True)
        w.grad = None

    def used(y, w):
        (g,) = torch.autograd.grad(y, w, create_graph=True)
        (y + (g * g).sum()).backward()

    ways = {
        "grad": lambda y, w: torch.autograd.grad(y, w, create_graph=True),
        "plain backward": lambda y, w: y.backward(),
        "cleared": cleared,
        "no history": lambda y, w: (3 * w).sum().backward(create_graph=True),
        "used": used,
    }
    def forget(first_pass):
        w = leaf(torch, 1.0, 2.0)
        first_pass((w**3).sum(), w)
        return weakref.ref(w)

    with no_collector():
        with warnings.catch_warnings(action="ignore"):
            assert [forget(first_pass)() for first_pass in ways.values()] == [None] * len(ways)
        with pytest.warns(UserWarning, match="will create a reference cycle between the parameter and its gradient"):
            left = forget(lambda y, w: y.backward(create_graph=True))
        w = left()
        assert any(getattr(node, "variable", None) is w for node in nodes_behind(w.grad))  # from .grad back
        del w
        gc.collect()
        assert (left() is None) == (torch.__name__ == "course_lib")  # in PyTorch not even the collector frees it
        if left() is not None:
            left().grad = None
            assert left() is None


def test_c13_10_through_the_step(torch):
    """Through `w - lr * g` the outer gradient takes in how g depends on w; with a g that has no history, or an
    update under no_grad, it is another number and there is no error."""

    def outer(way):
        w, lr = leaf(torch, 2.0), leaf(torch, 0.125)
        (g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=way != "plain")
        if way == "no_grad":
            with torch.no_grad():
                w -= lr * g
            new = w
        else:
            new = w - lr * (g.detach() if way == "detach" else g)
        assert new.item() == 2.75
        found = torch.autograd.grad(new**2, [w, lr], allow_unused=True)
        return [None if each is None else each.item() for each in found]

    assert outer("recorded") == [4.125, 33.0]  # of (w - 2 lr (w - 5))²: 2 · 2.75 · (1 - 2 lr) and 2 · 2.75 · 6
    assert outer("plain") == outer("detach") == [5.5, 33.0]
    assert outer("no_grad") == [5.5, None]


def test_c13_11_written_in_between(torch):
    """A write in place between the two passes makes the second one raise, if the graph of the gradient has saved
    what was overwritten."""

    def second(inner, write):
        fast = leaf(torch, 2.0) * 1
        (g,) = torch.autograd.grad(inner(fast), fast, create_graph=True)
        if write == "no_grad":
            with torch.no_grad():
                fast -= 0.125 * g
        elif write == "in place":
            fast -= 0.125 * g
        else:
            fast = fast - 0.125 * g
        (fast**2 + g).backward()

    for write in ("no_grad", "in place"):
        raises(CHANGED, lambda: second(lambda w: w**3, write))
        second(lambda w: (w - 5) ** 2, write)  # w - 5 is saved, w is not
    second(lambda w: w**3, "a new tensor")


def test_c13_12_arrays_cut_the_history(torch):
    """A backward that computes on plain arrays cuts the history of the gradient; one that applies a Function keeps
    it, and gradgradcheck tells the two apart."""
    own = from_lesson(torch, 13, "Sine", "Again")
    for fn, kept in ((own.Sine, False), (own.Again, True)):
        x = leaf(torch, 0.5, 2.0)
        (g,) = torch.autograd.grad(fn.apply(x).sum(), x, create_graph=True)
        assert g.requires_grad == kept
        assert near(g.tolist(), x.detach().cos().tolist())
        (g,) = torch.autograd.grad((fn.apply(x) ** 2).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        s, c = x.detach().sin(), x.detach().cos()
        wanted = 2 * c**2 - 2 * s**2 if kept else 2 * c**2  # without it, a term is missing
        assert near(h.tolist(), wanted.tolist())
        assert torch.autograd.gradcheck(fn.apply, (x,))
        assert torch.autograd.gradgradcheck(fn.apply, (x,), raise_exception=False) == kept


def test_c13_13_a_fresh_input_stays(torch):
    """In a loop with zero_grad(), each x whose slopes come from backward(create_graph=True) stays alive after its
    step, also with `inputs=[x]`; it goes with `x.grad = None`, or if autograd.grad is used."""
    six_steps = lesson(torch).six_steps
    ways = {"autograd.grad": 0, "backward": 6, "inputs=[x]": 6, "x.grad = None": 0}
    for way, wanted in ways.items():
        with no_collector(), warnings.catch_warnings(action="ignore"):
            alive = six_steps(way)
            assert sum(x() is not None for x in alive) == wanted
            gc.collect()
            stay = [x() for x in alive if x() is not None]
            assert len(stay) == (0 if torch.__name__ == "course_lib" else wanted)  # PyTorch's are no rings of Python's
            for x in stay:
                x.grad = None
