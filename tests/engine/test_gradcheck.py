"""gradcheck, the functional interface and the tools of autograd.graph: the same lines on both libraries."""

import warnings

import pytest
from facts import check_program

import course_lib


def seen(value):
    """What two libraries are compared by."""
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, list | tuple):
        return [seen(v) for v in value]
    return value


def result(call):
    """Warnings, and what came out: a value or the error with its whole text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = seen(call())
        except Exception as raised:
            value = f"{type(raised).__name__}: {raised}"
    return [str(w.message) for w in caught] + [value]


def leaf(torch, *values, dtype="float64"):
    return torch.tensor(values or (1.0, 2.0), dtype=getattr(torch, dtype), requires_grad=True)


def function(torch, forward, backward, name="Fn"):
    """A custom Function from its two methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), methods).apply


# --- gradcheck ---------------------------------------------------------------------------------------------


def right_and_wrong(torch):
    """A right backward passes, a wrong one shows both Jacobians; several inputs and outputs are numbered."""
    check, x, y = torch.autograd.gradcheck, leaf(torch), leaf(torch, 0.5, 1.5)
    wrong = function(torch, lambda ctx, a: a * 3, lambda ctx, g: g * 2)
    second = function(torch, lambda ctx, a, b: (a * b, a + b), lambda ctx, g, h: (g + h, g + h))
    return [
        result(lambda: check(lambda a: a.sin(), x)),
        result(lambda: check(wrong, (x,))),
        check(wrong, (x,), raise_exception=False),
        result(lambda: check(second, (leaf(torch, 1.0, 1.0), y))),
        result(lambda: check(lambda p, q, r: (p * q.sin() + r, (p * r).sum()), (x, y, leaf(torch, 3.0, 4.0).detach()))),
    ]


def what_cannot_be_checked(torch):
    """Nothing to differentiate, float32, elements that share memory, a result that is cut off."""
    check, x = torch.autograd.gradcheck, leaf(torch)
    return [
        result(lambda: check(lambda t: t * 2, x.detach())),
        result(lambda: check(lambda t: t * 2, leaf(torch, 1.0, dtype="float32"), raise_exception=False)),
        result(lambda: check(lambda t: t * 2, leaf(torch, 1.0).expand(3))),
        result(lambda: check(lambda t: t.detach(), x)),
        result(lambda: check(lambda t: (t * 2).round().long(), x)),
        result(lambda: check(lambda t: t.expand(2, 2), x)),
    ]


def undefined_gradients(torch):
    """A backward must cope with gradients that are undefined; a failing backward comes through."""

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def fail(ctx, g):
        raise ValueError("boo")

    check, x = torch.autograd.gradcheck, leaf(torch)
    careless = function(torch, forward, lambda ctx, g, h: g + 2 * h)
    return [
        result(lambda: check(careless, x))[-1][:9],
        result(lambda: check(careless, x, check_undefined_grad=False))[-1][:9],
        result(lambda: check(function(torch, lambda ctx, x: x * 1, fail), x)),
    ]


def second_derivatives(torch):
    """gradgradcheck finds a second derivative that lacks a term."""

    def forward(ctx, x):
        ctx.save_for_backward(x, 3 * x**2)
        return x**3

    twice, x = torch.autograd.gradgradcheck, leaf(torch)
    right = function(torch, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    wrong = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[1])
    return [
        twice(right, x),
        torch.autograd.gradcheck(wrong, x),
        twice(wrong, x, raise_exception=False),
        twice(lambda t: t * 2, x),
        twice(lambda a, b: (a * b).sin(), (x, leaf(torch, 0.5, 1.5))),
        result(lambda: twice(wrong, x, grad_outputs=torch.ones(2, dtype=torch.float64)))[-1][:60],
    ]


# --- functional --------------------------------------------------------------------------------------------


def jacobians(torch):
    """One or several inputs and outputs, inputs that are not used, history on request, strictness, errors."""
    F, x, y = torch.autograd.functional, leaf(torch), leaf(torch, 0.5, 1.5)
    graph = F.jacobian(lambda t: t**3, x, create_graph=True)
    return [
        result(lambda: F.jacobian(lambda t: t**3, x)),
        result(lambda: F.jacobian(lambda a, b: a * b, (x, y))),
        result(lambda: F.jacobian(lambda a: (a, a.sum()), x)),
        result(lambda: F.jacobian(lambda a, b: a, (x, y))),
        graph.requires_grad,
        result(lambda: F.jacobian(lambda t: t[:, None] * t, x)),
        result(lambda: F.jacobian(lambda t: t.detach(), x)),
        result(lambda: F.jacobian(lambda t: t.detach(), x, strict=True)),
        result(lambda: F.jacobian(lambda a, b: a, (x, y), strict=True)),
        result(lambda: F.jacobian(lambda t: [t], x))[-1][:60],
        result(lambda: F.jacobian(lambda t: t, 3))[-1][:60],
    ]


def hessians(torch):
    """Second derivatives of one and of two inputs; linear functions in strict mode; one number only."""
    F, x, y = torch.autograd.functional, leaf(torch), leaf(torch, 0.5, 1.5)
    return [
        result(lambda: F.hessian(lambda t: (t**3).sum(), x)),
        result(lambda: F.hessian(lambda a, b: (a * b).sum(), (x, y))),
        result(lambda: F.hessian(lambda t: t**3, x)),
        result(lambda: F.hessian(lambda t: t.sum(), x)),
        result(lambda: F.hessian(lambda t: t.sum(), x, strict=True)),
    ]


def products(torch):
    """Products of vectors with Jacobians and Hessians, from both sides, and what v must be."""
    F, x, v = torch.autograd.functional, leaf(torch), leaf(torch, 1.0, -1.0).detach()

    def cubes(t):
        return t**3

    def total(t):
        return (t**3).sum()

    return [
        result(lambda: F.vjp(cubes, x, v)),
        result(lambda: F.jvp(cubes, x, v)),
        result(lambda: F.vhp(total, x, v)),
        result(lambda: F.hvp(total, x, v)),
        result(lambda: F.vjp(total, x)),
        result(lambda: F.jvp(cubes, leaf(torch, 2.0))),
        result(lambda: F.vjp(cubes, x)),
        result(lambda: F.vjp(cubes, x, v[:1])),
        result(lambda: F.jvp(cubes, x)),
        result(lambda: F.hvp(cubes, x, v)),
        result(lambda: F.hvp(lambda t: t.sum(), x, v)),
        result(lambda: F.hvp(lambda t: t.sum(), x, v, strict=True)),
        result(lambda: F.jvp(cubes, x, (v, v))),
        F.vjp(cubes, x, v, create_graph=True)[1].requires_grad,
    ]


# --- the tools of autograd.graph ---------------------------------------------------------------------------


def one_hook_for_several(torch):
    """A multi-gradient hook is called once a pass: when all that will come has come, or at the first."""
    graph, log = torch.autograd.graph, []
    a, b, c = leaf(torch), leaf(torch), leaf(torch)
    graph.register_multi_grad_hook((a, b, c), lambda grads: log.append(["all", seen(list(grads))]))
    handle = graph.register_multi_grad_hook((a, b), lambda grad: log.append(["any", seen(grad)]), mode="any")
    (a + b).sum().backward()
    handle.remove()
    (a * c).sum().backward()
    d = a * 1
    graph.register_multi_grad_hook((d, b), lambda grads: log.append(["inner", seen(list(grads))]))
    (d * b).sum().backward()
    return [
        log,
        result(lambda: graph.register_multi_grad_hook((a,), print, mode="x")),
        result(lambda: graph.register_multi_grad_hook((a.detach(),), print)),
    ]


def writing_to_saved_tensors(torch):
    """Inside the block a saved tensor may be overwritten; backward belongs inside the block too."""
    allow, x = torch.autograd.graph.allow_mutation_on_saved_tensors, leaf(torch)
    with allow():
        h = x * 1
        y = (h * h).sum() + h.exp().sum()
        h.zero_()
        y.backward()
        late = (x * x).sum()

    def nested():
        with allow(), allow():
            pass

    return [seen(h), seen(x.grad), result(lambda: late.backward()), result(nested)]


PROGRAMS = [
    right_and_wrong,
    what_cannot_be_checked,
    undefined_gradients,
    second_derivatives,
    jacobians,
    hessians,
    products,
    one_hook_for_several,
    writing_to_saved_tensors,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_as_in_pytorch(program, real_torch):
    """The program's docstring says what it shows; both libraries must show the same."""
    check_program(program, course_lib, real_torch)


def test_a_backward_that_changes_its_mind_is_found(torch):
    """Two backward passes from the same start must give the same; nondet_tol says how nearly."""
    calls = []

    def backward(ctx, grad):
        calls.append(1)
        return grad * (2 + len(calls) * 1e-9)

    doubled = function(torch, lambda ctx, x: x * 2, backward)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        torch.autograd.gradcheck(doubled, leaf(torch))

    assert torch.autograd.gradcheck(doubled, leaf(torch), nondet_tol=1e-3)


@pytest.mark.parametrize(
    "ask",
    [
        lambda f, x: course_lib.autograd.gradcheck(f, x, check_forward_ad=True),
        lambda f, x: course_lib.autograd.gradcheck(f, x, check_batched_grad=True),
        lambda f, x: course_lib.autograd.gradgradcheck(f, x, check_fwd_over_rev=True),
        lambda f, x: course_lib.autograd.functional.jacobian(f, x, strategy="forward-mode"),
        lambda f, x: course_lib.autograd.functional.hessian(f, x, outer_jacobian_strategy="forward-mode"),
    ],
    ids=["forward", "batched", "forward over reverse", "jacobian", "hessian"],
)
def test_a_check_that_cannot_be_made_is_refused(ask):
    """What is asked for and not made must not look as if it had passed: the limit is named instead."""
    x = course_lib.tensor([0.5, 1.5], dtype=course_lib.float64, requires_grad=True)

    with pytest.raises(NotImplementedError, match="course_lib does not support"):
        ask(lambda t: (t * t).sum(), x)
