"""Errors and warnings of every kind, to the letter."""

from tests.programs.kit import leaf, program, raises, warned


@program
def backward_inputs_forms(T):
    out = []
    for form in (
        lambda x, w: x,
        lambda x, w: (x, w),
        lambda x, w: [],
        lambda x, w: (t for t in (x, w)),
        lambda x, w: {"a": x},
        lambda x, w: {x},
    ):
        for backward in (lambda y, **inputs: y.backward(**inputs), T.autograd.backward):
            x, w = leaf(T, [2.0]), leaf(T, [3.0])
            out.append([raises(lambda: backward((x * w).sum(), inputs=form(x, w))), x.grad, w.grad])
    return out


@program
def grad_outputs_count(T):
    x = leaf(T, [2.0, 1.0])
    y = x * 2
    z = x * 3
    return [
        raises(lambda: T.autograd.grad([y, z], x, grad_outputs=[T.ones(2)])),
        raises(lambda: T.autograd.grad([y, z], x, [T.ones(2), T.ones(2), None])),
        raises(lambda: T.autograd.backward([y, z], [T.ones(2)])),
        raises(lambda: T.autograd.grad(y, x, [T.ones(2), T.ones(2)])),
        raises(lambda: T.autograd.grad(y, x, [])),
        raises(lambda: T.autograd.grad([], x)),
        raises(lambda: T.autograd.backward([])),
        raises(lambda: T.autograd.grad(y, [])),
    ]


@program
def mse_warns(T):
    F = T.nn.functional
    return [
        *(
            warned(lambda f=f: f(leaf(T, [[1.0], [2.0]]), T.ones(2)))
            for f in (F.mse_loss, F.l1_loss, T.nn.MSELoss(), F.huber_loss)
        ),
        raises(lambda: F.mse_loss(T.ones(2), T.ones(3))),
        raises(lambda: F.binary_cross_entropy(T.ones(2, 1), T.ones(2))),
        raises(lambda: F.mse_loss(T.ones(2), T.ones(2), reduction="avg")),
    ]
