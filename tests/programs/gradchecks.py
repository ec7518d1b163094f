"""gradcheck, the functional interface and the tools of autograd.graph."""

from tests.programs.kit import fn, outcome, program, raises, seen


def leaf(T, *values, dtype="float64"):
    return T.tensor(values or (1.0, 2.0), dtype=getattr(T, dtype), requires_grad=True)


def function(T, forward, backward):
    """A custom Function from its two methods, ready to be called."""
    return fn(T, forward, backward).apply


@program
def right_and_wrong(T):
    """A right backward passes, a wrong one shows both Jacobians; several inputs and outputs are numbered."""
    check, x, y = T.autograd.gradcheck, leaf(T), leaf(T, 0.5, 1.5)
    wrong = function(T, lambda ctx, a: a * 3, lambda ctx, g: g * 2)
    second = function(T, lambda ctx, a, b: (a * b, a + b), lambda ctx, g, h: (g + h, g + h))
    return [
        outcome(lambda: check(lambda a: a.sin(), x)),
        outcome(lambda: check(wrong, (x,))),
        check(wrong, (x,), raise_exception=False),
        outcome(lambda: check(second, (leaf(T, 1.0, 1.0), y))),
        outcome(lambda: check(lambda p, q, r: (p * q.sin() + r, (p * r).sum()), (x, y, leaf(T, 3.0, 4.0).detach()))),
    ]


@program
def what_cannot_be_checked(T):
    """Nothing to differentiate, float32, elements that share memory, a result that is cut off."""
    check, x = T.autograd.gradcheck, leaf(T)
    return [
        outcome(lambda: check(lambda t: t * 2, x.detach())),
        outcome(lambda: check(lambda t: t * 2, leaf(T, 1.0, dtype="float32"), raise_exception=False)),
        outcome(lambda: check(lambda t: t * 2, leaf(T, 1.0).expand(3))),
        outcome(lambda: check(lambda t: t.detach(), x)),
        outcome(lambda: check(lambda t: (t * 2).round().long(), x)),
        outcome(lambda: check(lambda t: t.expand(2, 2), x)),
    ]


@program
def undefined_gradients(T):
    """A backward must cope with gradients that are undefined; a failing backward comes through."""

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def fail(ctx, g):
        raise ValueError("boo")

    check, x = T.autograd.gradcheck, leaf(T)
    careless = function(T, forward, lambda ctx, g, h: g + 2 * h)
    return [
        outcome(lambda: check(careless, x))[-1][:9],
        outcome(lambda: check(careless, x, check_undefined_grad=False))[-1][:9],
        outcome(lambda: check(function(T, lambda ctx, x: x * 1, fail), x)),
    ]


@program
def second_derivatives(T):
    """gradgradcheck finds a second derivative that lacks a term."""

    def forward(ctx, x):
        ctx.save_for_backward(x, 3 * x**2)
        return x**3

    twice, x = T.autograd.gradgradcheck, leaf(T)
    right = function(T, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    wrong = function(T, forward, lambda ctx, g: g * ctx.saved_tensors[1])
    return [
        twice(right, x),
        T.autograd.gradcheck(wrong, x),
        twice(wrong, x, raise_exception=False),
        twice(lambda t: t * 2, x),
        twice(lambda a, b: (a * b).sin(), (x, leaf(T, 0.5, 1.5))),
        outcome(lambda: twice(wrong, x, grad_outputs=T.ones(2, dtype=T.float64)))[-1][:60],
    ]


@program
def jacobians(T):
    """One or several inputs and outputs, inputs that are not used, history on request, errors."""
    F, x, y = T.autograd.functional, leaf(T), leaf(T, 0.5, 1.5)
    graph = F.jacobian(lambda t: t**3, x, create_graph=True)
    return [
        outcome(lambda: F.jacobian(lambda t: t**3, x)),
        outcome(lambda: F.jacobian(lambda a, b: a * b, (x, y))),
        outcome(lambda: F.jacobian(lambda a: (a, a.sum()), x)),
        outcome(lambda: F.jacobian(lambda a, b: a, (x, y))),
        graph.requires_grad,
        outcome(lambda: F.jacobian(lambda t: t[:, None] * t, x)),
        outcome(lambda: F.jacobian(lambda t: t.detach(), x)),
        outcome(lambda: F.jacobian(lambda t: [t], x))[-1][:60],
        outcome(lambda: F.jacobian(lambda t: t, 3)),
    ]


@program
def hessians(T):
    """Second derivatives of one and of two inputs; linear functions; one number only."""
    F, x, y = T.autograd.functional, leaf(T), leaf(T, 0.5, 1.5)
    return [
        outcome(lambda: F.hessian(lambda t: (t**3).sum(), x)),
        outcome(lambda: F.hessian(lambda a, b: (a * b).sum(), (x, y))),
        outcome(lambda: F.hessian(lambda t: t**3, x)),
        outcome(lambda: F.hessian(lambda t: t.sum(), x)),
    ]


@program
def products(T):
    """Products of vectors with Jacobians and Hessians, from both sides, and what v must be."""
    F, x, v = T.autograd.functional, leaf(T), leaf(T, 1.0, -1.0).detach()

    def cubes(t):
        return t**3

    def total(t):
        return (t**3).sum()

    return [
        outcome(lambda: F.vjp(cubes, x, v)),
        outcome(lambda: F.jvp(cubes, x, v)),
        outcome(lambda: F.vhp(total, x, v)),
        outcome(lambda: F.hvp(total, x, v)),
        outcome(lambda: F.vjp(total, x)),
        outcome(lambda: F.jvp(cubes, leaf(T, 2.0))),
        outcome(lambda: F.vjp(cubes, x)),
        outcome(lambda: F.vjp(cubes, x, v[:1])),
        outcome(lambda: F.jvp(cubes, x)),
        outcome(lambda: F.hvp(cubes, x, v)),
        outcome(lambda: F.hvp(lambda t: t.sum(), x, v)),
        outcome(lambda: F.jvp(cubes, x, (v, v)), 12),
        F.vjp(cubes, x, v, create_graph=True)[1].requires_grad,
    ]


@program
def writing_to_saved_tensors(T):
    """Inside the block a saved tensor may be overwritten; backward belongs inside the block too."""
    allow, x = T.autograd.graph.allow_mutation_on_saved_tensors, leaf(T)
    with allow():
        h = x * 1
        y = (h * h).sum() + h.exp().sum()
        h.zero_()
        y.backward()
        late = (x * x).sum()

    def nested():
        with allow(), allow():
            pass

    return [seen(h), seen(x.grad), outcome(lambda: late.backward()), outcome(nested)]


@program
def a_backward_that_changes_its_mind(T):
    """Two passes from the same start must give the same; nondet_tol says how nearly."""
    calls = []

    def backward(ctx, grad):
        calls.append(1)
        return grad * (2 + len(calls) * 1e-9)

    doubled = function(T, lambda ctx, x: x * 2, backward)
    return [
        raises(lambda: T.autograd.gradcheck(doubled, leaf(T)))[2][:40],
        T.autograd.gradcheck(doubled, leaf(T), nondet_tol=1e-3),
    ]
