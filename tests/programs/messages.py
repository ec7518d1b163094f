"""Errors and warnings of every kind, to the letter."""

from kit import leaf, program, raises, warned


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
def pack_must_not_write(T):
    out = []
    for write in (lambda t: t.mul_(2), lambda t: t.detach().mul_(2), lambda t: t.data.mul_(2)):

        def pack(t):
            write(t)
            return t

        with T.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            out.append(raises(lambda: (leaf(T, [2.0]) * 1) ** 2))
        y = (leaf(T, [2.0]) * 1) ** 2
        out.append(raises(lambda: y.grad_fn._raw_saved_self.register_hooks(pack, lambda t: t)))
    return out


@program
def views_from_inference_mode(T):
    a, h, x = T.ones(2), leaf(T, [1.0, 2.0]) * 1, leaf(T, [1.0, 2.0])
    with T.inference_mode():
        whole, views = T.ones(2), [a[:1], h[:1], x[:1]]
    return [
        [(raises(lambda: v.mul_(2)), raises(lambda: v._is_view()), raises(lambda: v._version)) for v in views],
        raises(lambda: whole.set_(a)),
    ]


@program
def ops_errors(T):
    x = T.ones(2, 3)
    return [
        raises(lambda: T.stack([T.ones(2), T.ones(1)])),
        raises(lambda: x.expand(3)),
        raises(lambda: T.tensor([True]).mean()),
        raises(lambda: T.tensor([1, 2]).softmax(0)),
        raises(lambda: T.tensor([1, 2]).log_softmax(0)),
        raises(lambda: x[:, 3]),
        raises(lambda: x.narrow(0, 1, 2)),
        raises(lambda: T.index_select(x, 0, T.tensor([2]))),
        raises(lambda: x.clamp()),
    ]


@program
def mse_warns(T):
    F = T.nn.functional
    return [
        warned(lambda: F.mse_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: F.l1_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: T.nn.MSELoss()(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: F.smooth_l1_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        warned(lambda: F.huber_loss(leaf(T, [[1.0], [2.0]]), T.ones(2))),
        raises(lambda: F.mse_loss(T.ones(2), T.ones(3))),
        raises(lambda: F.binary_cross_entropy(T.ones(2, 1), T.ones(2))),
        raises(lambda: F.mse_loss(T.ones(2), T.ones(2), reduction="avg")),
    ]
