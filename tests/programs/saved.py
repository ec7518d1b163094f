"""What nodes keep, under which names, with which values; and when it is let go."""

import gc
import weakref

from kit import flags, graph, kept, kind, leaf, program, programs, raises, warned

M = [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]

UNARY = """
    exp log sin cos tan tanh sigmoid relu abs sign floor ceil round neg expm1 log1p log2 erf sinh cosh atan
""".split()
ACTIVATIONS = "relu gelu silu elu softplus leaky_relu logsigmoid tanh sigmoid".split()


def keeps(T, *functions, data=M, dtype=None):
    """The node of each function of a leaf, and all that it keeps."""
    return [
        [f"{type(y.grad_fn).__name__}", kept(T, y.grad_fn), graph(y.grad_fn, 4)]
        for y in (f(leaf(T, data, dtype)) for f in functions)
    ]


programs(
    arithmetic=lambda T: keeps(
        T,
        lambda x: x + x,
        lambda x: x - 1,
        lambda x: 1 - x,
        lambda x: x * 3,
        lambda x: x / 2,
        lambda x: 3 / x,
        lambda x: -x,
        lambda x: x * T.ones(3),
        lambda x: T.ones(3) / x,
        lambda x: x - T.ones(1),
        lambda x: 1 + x,
        lambda x: x + True,
    ),
    powers=lambda T: keeps(
        T,
        lambda x: x**2,
        lambda x: x**0.5,
        lambda x: 2**x,
        lambda x: x**x,
        lambda x: x ** T.tensor(2.0),
        lambda x: T.tensor(2.0) ** x,
        lambda x: x.square(),
        lambda x: x.pow(3),
        lambda x: x.sqrt(),
        lambda x: x.rsqrt(),
        lambda x: x.reciprocal(),
    ),
    of_one_number=lambda T: keeps(
        T,
        *[getattr(T, n) for n in UNARY],
    ),
    with_scaling=lambda T: keeps(
        T, lambda x: T.add(x, x, alpha=2), lambda x: T.sub(x, x, alpha=3), lambda x: x.add(1, alpha=2)
    ),
    in_place_forms=lambda T: keeps(
        T,
        *[
            lambda x, f=f: f(x * 1)
            for f in (
                lambda h: h.add_(1),
                lambda h: h.mul_(2),
                lambda h: h.sub_(h.detach()),
                lambda h: h.div_(2),
                lambda h: h.exp_(),
                lambda h: h.sin_(),
                lambda h: h.zero_(),
                lambda h: h.fill_(3.0),
                lambda h: h.relu_(),
                lambda h: h.pow_(2),
                lambda h: h.sqrt_(),
                lambda h: h.neg_(),
                lambda h: h.clamp_(0, 1),
                lambda h: h.tanh_(),
                lambda h: h.sigmoid_(),
                lambda h: h.abs_(),
                lambda h: h.copy_(T.ones(3)),
                lambda h: h.masked_fill_(h > 1, 0.0),
                lambda h: h.round_(),
                lambda h: h.t_(),
                lambda h: h.unsqueeze_(0),
            )
        ],
    ),
    reductions=lambda T: keeps(
        T,
        lambda x: x.sum(),
        lambda x: x.sum(0),
        lambda x: x.sum((0, 1)),
        lambda x: x.sum(-1, True),
        lambda x: x.mean(),
        lambda x: x.mean(1),
        lambda x: x.mean((-1,), True),
        lambda x: x.prod(),
        lambda x: x.prod(-1),
        lambda x: x.var(),
        lambda x: x.var(1),
        lambda x: x.std(0),
        lambda x: x.var((0, 1), False),
        lambda x: x.norm(),
        lambda x: x.norm(1),
        lambda x: x.norm(dim=1),
        lambda x: x.max(),
        lambda x: x.min(),
        lambda x: x.max(0)[0],
        lambda x: x.min(-1)[0],
        lambda x: x.amax(0),
        lambda x: x.amin((0, 1)),
        lambda x: x.logsumexp(0),
        lambda x: x.cumsum(1),
        lambda x: x.cumprod(-1),
    ),
    shapes=lambda T: keeps(
        T,
        lambda x: x.view(6),
        lambda x: x.t(),
        lambda x: x.transpose(0, -1),
        lambda x: x.permute(-1, 0),
        lambda x: x.unsqueeze(-1),
        lambda x: x.squeeze(),
        lambda x: x.squeeze(0),
        lambda x: x.squeeze(-1),
        lambda x: x.expand(2, 2, 3),
        lambda x: x.expand(-1, -1),
        lambda x: x.repeat(2, 1),
        lambda x: x.flip(-1),
        lambda x: x.reshape(3, 2),
        lambda x: x.t().reshape(6),
        lambda x: x.flatten(),
        lambda x: x.clone(),
        lambda x: x.contiguous(),
        lambda x: x.t().contiguous(),
        lambda x: x.view_as(x),
        lambda x: x.T,
    ),
    parts=lambda T: keeps(
        T,
        lambda x: x[0],
        lambda x: x[-1],
        lambda x: x[:, 1],
        lambda x: x[0, 1],
        lambda x: x[1:],
        lambda x: x[:, :-1],
        lambda x: x[::2],
        lambda x: x[...],
        lambda x: x[None],
        lambda x: x[:],
        lambda x: x.select(1, -1),
        lambda x: x.narrow(1, 1, 1),
        lambda x: x.diagonal(),
        lambda x: x.diagonal(1),
        lambda x: x.unbind()[1],
        lambda x: x.unbind(-1)[0],
        lambda x: x.split(2, 1)[0],
        lambda x: x.split([1, 2], -1)[1],
        lambda x: x.chunk(2, 1)[1],
        lambda x: list(x)[0],
    ),
    by_index=lambda T: keeps(
        T,
        lambda x: x[T.tensor([1])],
        lambda x: x[:, T.tensor([0, 2])],
        lambda x: x[x > 1],
        lambda x: x[[0, 1], [1, 2]],
        lambda x: x.index_select(-1, T.tensor([1])),
        lambda x: x.gather(-1, T.tensor([[0], [1]])),
        lambda x: x.masked_fill(x > 1, 0.0),
        lambda x: T.where(x > 1, x, 0.0),
        lambda x: x.index_add(0, T.tensor([0]), T.ones(1, 3)),
        lambda x: x.scatter_add(-1, T.tensor([[0], [1]]), T.ones(2, 1)),
        lambda x: x.sort(-1)[0],
        lambda x: x.topk(1, -1)[0],
        lambda x: x.triu(1),
        lambda x: x.tril(),
    ),
    joining=lambda T: keeps(
        T,
        lambda x: T.cat([x, x]),
        lambda x: T.cat([x, T.ones(2, 1)], -1),
        lambda x: T.stack([x, x], -1),
        lambda x: T.stack([T.ones(2, 3), x]),
    ),
    products=lambda T: keeps(
        T,
        lambda x: x @ x.t(),
        lambda x: x @ T.ones(3, 2),
        lambda x: T.ones(2, 2) @ x,
        lambda x: x @ T.ones(3),
        lambda x: T.ones(2) @ x,
        lambda x: x.mv(T.ones(3)),
        lambda x: x[0] @ x[1],
        lambda x: T.outer(x[0], x[1]),
        lambda x: x.unsqueeze(0) @ x.t().unsqueeze(0),
        lambda x: T.ones(2).addmm(x, T.ones(3, 2)),
        lambda x: x.addmm(T.ones(2, 3), T.ones(3, 3)),
        lambda x: x.unsqueeze(0) @ T.ones(3, 2),
        lambda x: T.bmm(x.unsqueeze(0), T.ones(1, 3, 1)),
        lambda x: T.dot(x[0], T.ones(3)),
    ),
    types=lambda T: keeps(
        T,
        lambda x: x.double(),
        lambda x: x.to(T.float64),
        lambda x: x * T.ones(3, dtype=T.float64),
        lambda x: x + T.ones(2, 3, dtype=T.float64),
        lambda x: x.to(T.float32, copy=True),
    ),
    limits=lambda T: keeps(
        T,
        lambda x: x.clamp(0, 1),
        lambda x: x.clamp(min=0.5),
        lambda x: x.clamp(max=2),
        lambda x: T.maximum(x, T.ones(3)),
        lambda x: T.minimum(x, x),
        lambda x: T.lerp(x, T.ones(3), 0.5),
        lambda x: x.addcmul(x, x),
        lambda x: T.ones(3).addcdiv(x, x),
        lambda x: T.max(x, T.ones(2, 3)),
        lambda x: x % 2,
        lambda x: x.remainder(T.ones(3)),
    ),
    activations=lambda T: keeps(
        T,
        *[lambda x, n=n: getattr(T.nn.functional, n)(x) for n in ACTIVATIONS],
    ),
    losses=lambda T: keeps(
        T,
        *[
            lambda x, n=n: getattr(T.nn.functional, n)(x, T.ones(2, 3))
            for n in "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits".split()
        ],
        lambda x: T.nn.functional.cross_entropy(x, T.tensor([0, 2])),
        lambda x: T.nn.functional.nll_loss(x, T.tensor([0, 2]), reduction="sum"),
        lambda x: T.nn.functional.binary_cross_entropy(x / 4, T.ones(2, 3)),
        lambda x: T.nn.functional.mse_loss(x, T.ones(2, 3), reduction="none"),
        lambda x: T.nn.functional.kl_div(x, T.ones(2, 3), reduction="sum"),
    ),
    layers=lambda T: keeps(
        T,
        lambda x: T.nn.functional.linear(x, T.ones(2, 3), T.ones(2)),
        lambda x: T.nn.functional.linear(x, T.ones(2, 3)),
        lambda x: T.nn.functional.linear(x[0], T.ones(2, 3), T.ones(2)),
        lambda x: T.nn.functional.linear(x[None], T.ones(2, 3), T.ones(2)),
        lambda x: T.nn.functional.layer_norm(x, (3,)),
        lambda x: T.nn.functional.embedding(T.tensor([1, 0]), x),
        lambda x: T.nn.functional.dropout(x, 0.5, training=False),
        lambda x: T.nn.functional.normalize(x, dim=1),
    ),
    results_of_nothing=lambda T: [
        (T.ones(2) * 2).grad_fn,
        (leaf(T, [1.0]) > 0).grad_fn,
        leaf(T, [1.0]).argmax().grad_fn,
        leaf(T, [1.0]).long().grad_fn,
    ],
    absent_slots=lambda T: (lambda f: [f._saved_self is None, hasattr(f, "_saved_nothing"), f._saved_other])(
        (leaf(T, [2.0]) * 3).grad_fn
    ),
    raw_slots=lambda T: (
        lambda f: [sorted(n for n in dir(f) if n.startswith("_raw")), type(f._raw_saved_self).__name__]
    )((leaf(T, [2.0]) ** 2).grad_fn),
    raw_slots_of_numbers=lambda T: kind(lambda: (leaf(T, [2.0]) ** 2).grad_fn._raw_saved_exponent),
    printed_nodes=lambda T: [
        repr((leaf(T, [1.0]) * 2).grad_fn),
        repr((leaf(T, [1.0]) * 2).grad_fn.next_functions[0][0]),
        str(leaf(T, [1.0]).exp().grad_fn),
    ],
    node_attributes=lambda T: (
        lambda f: [
            f.name(),
            f.metadata,
            type(f).__name__,
            len(f.next_functions),
            f.next_functions[1],
            f._sequence_nr() >= 0,
            f.requires_grad if hasattr(f, "requires_grad") else 0,
        ]
    )((leaf(T, [1.0]) * 2).grad_fn),
)


@program
def reading_after_release(T):
    x = leaf(T, [1.0, 2.0])
    out = []
    for f in (
        lambda: x * x,
        lambda: x.exp(),
        lambda: x**2,
        lambda: x[T.tensor([0])],
        lambda: x.sum(0),
        lambda: x.view(2, 1),
    ):
        y = f()
        n = y.grad_fn
        y.sum().backward()
        out.append(
            [
                raises(lambda: [getattr(n, a) for a in dir(n) if a.startswith("_saved_")]),
                raises(lambda: y.sum().backward()),
            ]
        )
    return out


@program
def grad_releases_only_what_it_ran(T):
    x, w = leaf(T, [2.0]), leaf(T, [3.0])
    a, b = x.exp(), w.exp()
    y = (a * b).sum()
    T.autograd.grad(y, x)
    return [raises(lambda: a.grad_fn._saved_result), b.grad_fn._saved_result, raises(lambda: T.autograd.grad(y, w))]


@program
def numbers_survive_release(T):
    x = leaf(T, [1.0, 2.0])
    y = x**3
    y.sum().backward()
    return [y.grad_fn._saved_exponent, raises(lambda: y.grad_fn._saved_self)]


@program
def saved_leaf_result(T):
    x = leaf(T, [1.0])
    y = x.exp()
    r = y.grad_fn._saved_result
    return [r is y, r._version, r.grad_fn is y.grad_fn, r.requires_grad, r.data_ptr() == y.data_ptr(), r.output_nr]


@program
def weak_references_through_a_graph(T):
    out = []
    for f in (
        lambda h: h * h,
        lambda h: h + h,
        lambda h: h.exp(),
        lambda h: h.sin(),
        lambda h: h.sum(),
        lambda h: h.view(1),
        lambda h: h / 2,
        lambda h: 2 / h,
        lambda h: T.relu(h),
        lambda h: h @ h,
        lambda h: h[0],
        lambda h: T.where(h > 0, h, -h),
        lambda h: T.cat([h, h]),
        lambda h: h.max(),
        lambda h: h.softmax(0),
    ):
        h = leaf(T, [1.0]) * 1
        r = weakref.ref(h)
        y = f(h)
        del h
        alive = r() is not None
        y.sum().backward()
        out.append([alive, r() is not None])
    return out


@program
def release_with_retain(T):
    h = leaf(T, [1.0]) * 1
    r = weakref.ref(h)
    y = (h * h).sum()
    del h
    y.backward(retain_graph=True)
    first = r() is not None
    y.backward()
    return [first, r() is not None]


@program
def loss_dropped_frees_all(T):
    gc.collect()
    gc.disable()
    try:
        x = leaf(T, [1.0])
        h = x.exp()
        y = (h * h).sum()
        refs = [weakref.ref(h), weakref.ref(y)]
        del h, y
        return [r() is None for r in refs]
    finally:
        gc.enable()


@program
def detached_in_place(T):
    out = []
    for f in (lambda h: h * h, lambda h: h.exp(), lambda h: h.sin(), lambda h: h.relu(), lambda h: h * 3):
        h = leaf(T, [1.0]) * 1
        y = f(h)
        h.detach_()
        out.append([raises(lambda: y.sum().backward()), flags(h)])
    return out


@program
def result_detached_in_place(T):
    y = leaf(T, [1.0]).exp()
    n = y.grad_fn
    y.detach_()
    return [flags(y), raises(lambda: n._saved_result), flags(n._saved_result)]


def fn(T, forward, backward, **more):
    return type(
        "Fn", (T.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    )


@program
def save_for_backward_of_everything(T):
    out = []
    for what in (
        lambda x, y: (x,),
        lambda x, y: (y,),
        lambda x, y: (x, y, None),
        lambda x, y: ([x],),
        lambda x, y: (x, 3),
        lambda x, y: (x, "a"),
        lambda x, y: (x, (y,)),
        lambda x, y: (),
    ):

        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(*what(x, y))
            return y

        def backward(ctx, g):
            out.append([t is not None and [t, t.requires_grad, t.is_leaf] for t in ctx.saved_tensors])
            return g

        out.append(raises(lambda: fn(T, forward, backward).apply(leaf(T, [1.0])).sum().backward()))
    return out


@program
def save_for_backward_without_recording(T):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 2

    F = fn(T, forward, lambda ctx, g: g)
    with T.no_grad():
        y = F.apply(leaf(T, [1.0]))
    return [flags(y), flags(F.apply(T.tensor([1.0])))]


@program
def saved_input_is_the_input(T):
    seen = []
    x = leaf(T, [1.0])

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    def backward(ctx, g):
        seen.append(ctx.saved_tensors[0] is x)
        return g

    y = fn(T, forward, backward).apply(x)
    n = y.grad_fn
    seen += [n.saved_tensors[0] is x, type(n).__name__]
    y.sum().backward()
    return seen


@program
def saved_by_custom_twice_changed(T):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    h = leaf(T, [1.0]) * 1
    y = fn(T, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(h)
    h.add_(1)
    return [raises(lambda: y.sum().backward()), raises(lambda: y.grad_fn.saved_tensors)]


@program
def old_names_of_saved(T):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    y = fn(T, forward, lambda ctx, g: g).apply(leaf(T, [1.0]))
    return warned(lambda: y.grad_fn.saved_variables)


@program
def cleared_on_access(T):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    y = fn(T, forward, lambda ctx, g: g * ctx.saved_tensors[0], clear_saved_tensors_on_access=True).apply(
        leaf(T, [3.0])
    )
    y.sum().backward(retain_graph=True)
    return raises(lambda: y.sum().backward())


@program
def to_save_attribute(T):
    seen = []

    def forward(ctx, a):
        ctx.save_for_backward(a)
        seen.append([len(ctx.saved_tensors), len(ctx.to_save)])
        return a * 2

    fn(T, forward, lambda ctx, g: g).apply(leaf(T, [3.0]))
    return seen
