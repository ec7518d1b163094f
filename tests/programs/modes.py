"""Grad modes, inference mode, threads, decorators, anomaly mode."""

import threading

from tests.programs.kit import anomaly, leaf, program, programs, quiet, raises, warned

programs(
    nested_pairs=lambda T: [
        nested(T, a, b)
        for a in (T.no_grad, T.enable_grad, T.inference_mode)
        for b in (
            T.no_grad,
            T.enable_grad,
            T.inference_mode,
            lambda: T.inference_mode(False),
            lambda: T.set_grad_enabled(True),
        )
    ],
    decorated=lambda T: [
        decorated(T, d)
        for d in (
            T.no_grad(),
            T.no_grad,
            T.enable_grad(),
            T.inference_mode(),
            T.inference_mode,
            T.inference_mode(False),
            T.set_grad_enabled(False),
        )
    ],
    results_inside=lambda T: inside(T),
    inference_uses=lambda T: inference_uses(T),
    inference_writes=lambda T: inference_writes(T),
)


def nested(T, a, b):
    seen = []
    with a():
        with b():
            seen.append([T.is_grad_enabled(), T.is_inference_mode_enabled(), (leaf(T, [1.0]) * 2).requires_grad])
        seen.append([T.is_grad_enabled(), T.is_inference_mode_enabled()])
    seen.append([T.is_grad_enabled(), T.is_inference_mode_enabled()])
    return seen


def decorated(T, d):
    x = leaf(T, [1.0])

    @d
    def f(a, k=2):
        """Some text."""
        return a * k, T.is_grad_enabled(), T.is_inference_mode_enabled()

    T.set_grad_enabled(True)
    y, *modes = f(x, k=3)
    return [y.requires_grad, modes, f.__name__, f.__doc__, T.is_grad_enabled()]


def inside(T):
    x = leaf(T, [[1.0, 2.0]])
    out = []
    for m in (T.no_grad, T.inference_mode):
        with m():
            for t in (
                x * 2,
                x[0],
                x.t(),
                x.view(2),
                x.detach(),
                T.ones(1, requires_grad=True),
                x.data,
                T.cat([x, x]),
                T.nn.Parameter(T.ones(1)),
                x.expand(2, 2),
            ):
                out.append([t.requires_grad, t.is_leaf, t.is_inference(), t._is_view(), t.grad_fn is None])
    return out


def inference_uses(T):
    x = leaf(T, [1.0, 2.0])
    with T.inference_mode():
        c, i, b = T.tensor([3.0, 4.0]), T.tensor([0]), T.tensor([True, False])
    uses = [
        lambda: x * c,
        lambda: x + c,
        lambda: c * 2,
        lambda: x[i],
        lambda: T.where(b, x, 0.0),
        lambda: x @ c,
        lambda: T.cat([x, c]),
        lambda: c.sum(),
        lambda: c[0],
        lambda: c.detach(),
        lambda: c.clone(),
        lambda: c.requires_grad_(),
        lambda: x.copy_(c),
        lambda: (x * 1).mul_(c),
        lambda: T.nn.Parameter(c),
        lambda: c.grad,
    ]
    out = []
    for u in uses:
        r = []
        e = raises(lambda: r.append(u()))
        r = r[0] if r else None
        out.append([e, isinstance(r, T.Tensor) and [r.is_inference(), r.requires_grad, r.is_leaf]])
    return out


def inference_writes(T):
    out = []
    for act in (
        lambda c: c.add_(1),
        lambda c: c.__setitem__(0, 1.0),
        lambda c: c[0].add_(1),
        lambda c: c.copy_(T.ones(2)),
        lambda c: c.t_(),
        lambda c: c.clone().add_(1),
        lambda c: c._version,
        lambda c: setattr(c, "grad", T.ones(2)),
        lambda c: setattr(c, "data", T.ones(2)),
        lambda c: c.backward(),
        lambda c: c.register_hook(print),
        lambda c: setattr(c, "requires_grad", True),
        lambda c: c.detach_(),
    ):
        with T.inference_mode():
            c = T.tensor([3.0, 4.0])
        out.append(raises(lambda: act(c)))
        with T.inference_mode():
            out.append(raises(lambda: act(T.tensor([3.0, 4.0]))))
    return out


@program
def exceptions_restore(T):
    seen = []
    for m in (
        T.no_grad,
        T.enable_grad,
        T.inference_mode,
        lambda: T.set_grad_enabled(False),
        lambda: T.autograd.detect_anomaly(),
    ):
        try:
            with quiet(m):
                raise ValueError
        except ValueError:
            seen.append([T.is_grad_enabled(), T.is_inference_mode_enabled(), anomaly(T)[0]])
    return seen


@program
def threads_have_their_own(T):
    seen = []

    def work():
        seen.append([T.is_grad_enabled(), T.is_inference_mode_enabled()])
        T.set_grad_enabled(False)

    for m in (T.no_grad, T.inference_mode):
        with m():
            t = threading.Thread(target=work)
            t.start()
            t.join()
    return [seen, T.is_grad_enabled()]


@program
def anomaly_of_every_kind(T):
    out = []
    for f, data in (
        (lambda x: x.sqrt() * 0, [0.0]),
        (lambda x: x.log() * 0, [0.0, 1.0]),
        (lambda x: x / x, [0.0]),
        (lambda x: x**0.5 * 0, [0.0]),
        (lambda x: T.where(x > 0, x.sqrt(), x), [-1.0, 0.0]),
        (lambda x: (x * 0) / 0, [1.0]),
        (lambda x: x * float("nan"), [1.0]),
        (lambda x: x.exp(), [1000.0]),
        (lambda x: x.norm(), [0.0]),
        (lambda x: T.acos(x) * 0, [1.0]),
        (lambda x: x.reciprocal() * 0, [0.0]),
    ):
        for check in (True, False):
            x = leaf(T, data)

            def run():
                with T.autograd.detect_anomaly(check_nan=check):
                    f(x).sum().backward()

            out.append([quiet(lambda: raises(run)), x.grad])
    return out


@program
def anomaly_switches(T):
    seen = []
    with quiet(lambda: T.autograd.detect_anomaly()):
        seen.append(anomaly(T))
        with T.autograd.set_detect_anomaly(False):
            seen.append(anomaly(T)[0])
        seen.append(anomaly(T)[0])
    with T.autograd.set_detect_anomaly(True, check_nan=False):
        seen.append(anomaly(T))
    T.autograd.set_detect_anomaly(True)
    seen.append(anomaly(T)[0])
    T.autograd.set_detect_anomaly(False)
    return [seen, anomaly(T)[0]]


@program
def anomaly_warns_on_entry(T):
    def go():
        with T.autograd.detect_anomaly():
            pass

    return warned(go)[0]


@program
def version_error_in_anomaly(T):
    def go():
        with T.autograd.detect_anomaly():
            h = leaf(T, [1.0]) * 1
            y = h.sin()
            h.add_(1)
            y.sum().backward()

    e = quiet(lambda: raises(go))
    return [e[1], e[2][:120]]


@program
def views_of_an_inference_leaf(T):
    """A view taken in normal mode of a leaf made in inference mode has no history and asks for no gradient."""
    with T.inference_mode():
        leaf_of_the_mode = T.ones(2, 3, requires_grad=True)
    views = [
        leaf_of_the_mode[:1],
        leaf_of_the_mode.view(6),
        leaf_of_the_mode.t(),
        leaf_of_the_mode.expand(2, 2, 3),
        leaf_of_the_mode.detach(),
        *leaf_of_the_mode.unbind(),
        *leaf_of_the_mode.split(1),
    ]
    return [[each.requires_grad, each.is_leaf, each.is_inference(), each.grad_fn is None] for each in views]
