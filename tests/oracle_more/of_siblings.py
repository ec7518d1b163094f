"""Siblings of programs that were known: the next operation, the next argument, the same mistake one step on."""

import copy
import functools

from kit import flags, graph, leaf, program, quiet, raises, warned, weighted


def packed(T, pack, unpack):
    """Two leaves multiplied, squared and summed under a pair of hooks, and what their gradients are."""
    x, w = leaf(T, [2.0, 3.0]), leaf(T, [5.0, 7.0])
    with T.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * w) ** 2
    y.sum().backward()
    return [x.grad, w.grad]


@program
def unpacked_in_a_wider_type(T):
    seen = []

    def run(convert):
        x = leaf(T, [0.5, 1.5], "float64")
        with T.autograd.graph.saved_tensors_hooks(lambda t: t.float(), convert):
            y = x.exp() * x.sin()
        y.sum().backward()
        return x.grad

    x = leaf(T, [2.0])
    with T.autograd.graph.saved_tensors_hooks(lambda t: t.double(), lambda p: seen.append(p.dtype) or p):
        h = x**3
        (g,) = T.autograd.grad(h.sum(), x, create_graph=True)
        kept = h.grad_fn._saved_self.dtype
    (second,) = T.autograd.grad(g.sum(), x)
    wider = packed(T, lambda t: t.double(), lambda p: p)
    return [wider, run(lambda p: p), run(lambda p: p.double()), g.detach(), second, kept, seen[0]]


@program
def unpacked_in_another_shape(T):
    x = leaf(T, [2.0, 3.0])
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p[None]):
        y = x**2
    y.sum().backward()
    return [packed(T, lambda t: t.tolist(), lambda p: T.tensor([p])), x.grad]


@program
def a_function_is_handed_what_unpack_returned(T):
    seen = []

    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.append([x.dtype, x.shape])
            return g * 2

    x = leaf(T, [1.0, 2.0])
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda p: p.double()[None]):
        y = Twice.apply(x)
    y.sum().backward()
    return [seen, x.grad]


@program
def types_written_in_c_have_their_module(T):
    x = leaf(T, [1.0, 2.0])
    array = x.detach().numpy()
    out = [raises(lambda: setattr(x, "grad", array)), raises(lambda: setattr(x, "grad", [1.0, 2.0]))]
    for value in (array, array[0], T.float32, 3):
        h = x * 1
        h.register_hook(lambda g, value=value: value)
        out.append(raises(lambda h=h: h.sum().backward()))
        body = dict(forward=staticmethod(lambda ctx, x: x * 1), backward=staticmethod(lambda ctx, g, v=value: v))
        F = type("F", (T.autograd.Function,), body)
        out.append(raises(lambda F=F: F.apply(x).sum().backward()))
    return out


@program
def hooks_without_a_name(T):
    class Hook:
        def __call__(self, g):
            return g.sum()[None]

    out = []
    for hook in (Hook(), functools.partial(lambda g: g.sum()), Hook().__call__):
        h = leaf(T, [1.0, 2.0]) * 1
        h.register_hook(hook)
        out.append(raises(lambda h=h: h.sum().backward()))
        h = leaf(T, [1.0, 2.0]) * 1
        h.grad_fn.register_prehook(lambda grads, hook=hook: (hook(grads[0]),))
        out.append(raises(lambda h=h: h.sum().backward()))
    return out


@program
def values_with_leading_ones_are_assigned(T):
    out = []
    for index in (T.tensor([0]), T.tensor([True, False]), [0, 1], (T.tensor([1]), slice(1, None))):
        for value in ([[7.0, 8.0]], [[[5.0]]], [6.0]):
            h, v = leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * 1, leaf(T, value)
            error = raises(lambda: h.__setitem__(index, v))  # noqa: B023
            out.append([error, h.detach(), h._version, graph(h.grad_fn, 4)])
            if error is None:
                weighted(T, h).backward()
                out.append(v.grad)
    return out


@program
def assigned_at_true_and_false(T):
    out = []
    for index in (True, False, None, (True,), (False,), (None, 0)):
        h, v = leaf(T, [1.0, 2.0]) * 1, leaf(T, [5.0, 6.0])
        error = raises(lambda: h.__setitem__(index, v if index != (None, 0) else 3.0))  # noqa: B023
        out.append([str(index), error, h.detach(), h._version, graph(h.grad_fn, 4)])
    return out


@program
def values_that_do_not_fit_where_they_are_assigned(T):
    mask = T.tensor([[True, False, True], [False, True, False]])
    indices = [T.tensor([0, 1]), T.tensor([5]), (0, T.tensor([0, 2])), mask, (0, mask[0]), "a", 1.5, 3, (0, 0, 0)]
    values = [T.ones(2, 1), T.tensor([1, 2, 3, 4]), T.ones(1, 7), "text", None, [1.0]]
    out = []
    for index in indices:
        for value in values:
            x = T.zeros(2, 3)
            out.append([raises(lambda: x.__setitem__(index, value)), x, x._version])  # noqa: B023
    return out


@program
def masks_of_another_shape(T):
    x = T.ones(2, 3, 4)
    masks = [T.ones(2, 2), T.ones(3), T.ones(2, 3, 5), T.ones(2, 3, 4, 1), T.ones(1, 3)]
    return [[raises(lambda: x[m > 0]), raises(lambda: x[:, m > 0]), raises(lambda: x[0, m > 0])] for m in masks]  # noqa: B023


@program
def a_copy_with_values_put_in(T):
    out = []
    for needs in ((True, True), (True, False), (False, True)):
        for accumulate in (False, True):
            x, v = T.ones(3, requires_grad=needs[0]), T.ones(2, requires_grad=needs[1])
            y = x.clone().index_put_((T.tensor([0, 2]),), v, accumulate)
            weighted(T, y).backward()
            out.append([y, y._version, graph(y.grad_fn), x.grad, v.grad])
    return out


@program
def parameters_of_another_type(T):
    F, out = T.nn.functional, []
    make = {"f": lambda: T.ones(2), "d": lambda: T.ones(2, dtype=T.float64), "-": lambda: None}
    for kind in ("f", "d"):
        x = T.ones(3, 2, dtype=T.float32 if kind == "f" else T.float64)
        for w in "fd-":
            for b in "fd-":
                weight, bias = make[w](), make[b]()
                out.append([kind, w, b, raises(lambda: F.layer_norm(x, (2,), weight, bias))])  # noqa: B023
                for m in "fd-":
                    mean, var = make[m](), make[m]()
                    call = functools.partial(F.batch_norm, x, mean, var, weight, bias, training=True)
                    out.append([kind, w, b, m, raises(call)])
        out.append(raises(lambda: F.linear(x, T.ones(4, 2, dtype=x.dtype), T.ones(4).to(T.float64))))  # noqa: B023
        out.append(raises(lambda: F.nll_loss(x, T.tensor([0, 1, 1]), weight=T.ones(2))))  # noqa: B023
        out.append(raises(lambda: F.cross_entropy(x, T.tensor([0, 1, 1]), weight=T.ones(2, dtype=T.float64))))  # noqa: B023
    return out


@program
def what_has_no_gradient_may_not_ask_for_one(T):
    F, x, asks = T.nn.functional, T.ones(3, 2), T.ones(2, requires_grad=True)
    calls = [
        lambda: F.batch_norm(x, asks, T.ones(2), training=True),
        lambda: F.batch_norm(x, T.ones(2), asks),
    ]
    with T.no_grad():
        quietly = [raises(call) for call in calls]
    return [[raises(call) for call in calls], quietly]


@program
def clipping_what_is_used_up(T):
    p = leaf(T, [3.0, 4.0])
    (p * p).sum().backward()
    clip = T.nn.utils.clip_grad_norm_
    used = (q for q in [p])
    optimizer = T.optim.SGD(used, lr=0.1)
    first, others = warned(lambda: clip(used, 1.0)), [warned(lambda: clip(e, 1.0)) for e in ([], iter([]))]
    return [first, others, p.grad, warned(lambda: clip((q for q in [p]), 1.0)), len(optimizer.param_groups)]


@program
def gradcheck_of_what_has_no_elements(T):
    none, two = T.zeros(0, dtype=T.float64, requires_grad=True), leaf(T, [0.5, 1.5], "float64")
    check = T.autograd.gradcheck
    return [
        check(lambda a: a.sum(), (none,)),
        check(lambda a, b: a * b.sum(), (none, two)),
        check(lambda a: a[:0], (two,)),
        T.autograd.gradgradcheck(lambda a: a * a, (none,)),
        raises(lambda: check(lambda a: a.detach(), (none,))),
    ]


@program
def flags_that_are_no_flags(T):
    values = (1, 0, None, "yes", [True], True, False)
    return [raises(lambda: flags(T.tensor([1.0], requires_grad=v))) for v in values]  # noqa: B023


@program
def arrays_are_handed_out_anew(T):
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    a, b = x.numpy(), x.numpy()
    a.shape = (4,)
    b[0, 0] = 9.0
    return [a is b, list(a), x.shape, x]


@program
def numbers_of_several_elements_warn_first(T):
    x = leaf(T, [1.0, 2.0])
    return [warned(lambda: raises(lambda: float(x))), quiet(lambda: raises(lambda: int(x)))]


@program
def copies_of_tensors_with_a_grad(T):
    plain, frozen, p = T.ones(2), leaf(T, [1.0, 2.0]), T.nn.Parameter(T.ones(2))
    plain.grad, p.grad = T.tensor([3.0, 4.0]), T.ones(2)
    (frozen * 2).sum().backward()
    frozen.requires_grad_(False)
    p.requires_grad_(False)
    copies = [copy.deepcopy(x) for x in (plain, frozen, p)]
    copies[0].grad.add_(1)
    return [[c, c.grad, flags(c)] for c in copies] + [plain.grad, [copy.copy(x).grad for x in (plain, frozen, p)]]


@program
def places_that_are_read_while_they_are_written(T):
    out, order = [], T.tensor([1, 0])
    writes = dict(
        index_add=lambda x: x.index_add_(0, order, x),
        index_add_of_a_part=lambda x: x.index_add_(0, order[:1], x[1:]),
        index_copy=lambda x: x.index_copy_(0, order, x),
        scatter=lambda x: x.scatter_(0, order, x),
        scatter_add=lambda x: x.scatter_add_(0, order, x),
        index_put=lambda x: x.index_put_((order,), x),
        by_index=lambda x: x.__setitem__(order, x),
        by_mask=lambda x: x.__setitem__(x > 0, x),
    )
    for name, write in writes.items():
        for make in (lambda: T.tensor([1.0, 2.0]), lambda: leaf(T, [1.0, 2.0]) * 1):
            x = make()
            error = raises(lambda: write(x))  # noqa: B023
            out.append([name, error, x.detach(), x._version, flags(x)])
    for write in (
        lambda i: i.index_add_(0, i, i.clone()),
        lambda i: i.scatter_(0, i, i.clone()),
        lambda i: i.index_fill_(0, i, 5),
        lambda i: i.__setitem__(i, 5),
    ):
        i = T.tensor([0, 1])
        out.append([raises(lambda: write(i)), i])  # noqa: B023
    return out


@program
def packed_second_outputs_that_are_detached_later(T):
    class Two(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x + 1

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3

    out = []
    for make in (Two.apply, lambda x: T.stack([x, x * 3]).unbind(), lambda x: (x.exp(), (x * 5).sort()[0])):
        x, w = leaf(T, [1.0, 2.0]), leaf(T, [3.0, 4.0])
        second = make(x)[1]
        with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = second * w
        error = raises(second.detach_)
        (g,) = T.autograd.grad(y.sum(), w, create_graph=True)
        out.append([error, g.detach(), graph(g.grad_fn, 3), raises(lambda: g.sum().backward()), x.grad])  # noqa: B023
    return out


@program
def results_stored_in_tensors_of_another_shape(T):
    a, made, out = T.tensor([1.0, 2.0]), T.zeros, []
    for make in (
        lambda: made(2), lambda: made(3), lambda: made(1), lambda: made(0), lambda: made(2, 2), lambda: made(()),
        lambda: made(1, 2), lambda: made(4)[:3], lambda: made(2, 2).t(), lambda: made(3, requires_grad=True),
        lambda: made(5)[3:], lambda: made(3).long(),
    ):  # fmt: skip
        for store in (lambda o: T.add(a, a, out=o), lambda o: T.mul(a, 3, out=o)):
            o = make()
            alias, base = o.view(-1) if o.is_contiguous() and o.numel() != 1 else None, o._base
            given = warned(lambda: raises(lambda: store(o)))  # noqa: B023
            out.append([given, o.detach(), o.stride(), o._version, alias if alias is None else alias.detach(), base])
    line = T.arange(4.0)
    return [*out, raises(lambda: T.add(line[:2], line[2:], out=line)), line, quiet(lambda: T.add(a, a, out=made(7)))]
