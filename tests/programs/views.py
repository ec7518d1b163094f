"""Views and item assignment: shapes, strides, bases, versions, and what history becomes."""

from kit import flags, graph, kept, kind, leaf, program, programs, raises, weighted


def made(T, *views):
    """For a computed matrix: what each view is, and the gradient through it."""
    out = []
    for view in views:
        x = leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        h = x * 1
        v = view(h)
        weighted(T, v).backward(retain_graph=True)
        out.append(
            [v.shape, v.stride(), v.storage_offset(), v._is_view(), v.is_contiguous(), v, x.grad, kept(T, v.grad_fn)]
        )
    return out


def written(T, put, data=((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))):
    """Write somewhere into a computed matrix; its value, version, history, and the gradients."""
    x, s = leaf(T, [list(r) for r in data]), leaf(T, 10.0)
    h = x * 1
    put(h, s)
    weighted(T, h * h).backward()
    return [h, h._version, graph(h.grad_fn, 3), x.grad, s.grad]


def assign(index, value=lambda s: s):
    def put(h, s):
        h[index] = value(s)

    return put


programs(
    numbers_and_slices=lambda T: made(
        T,
        lambda h: h[1],
        lambda h: h[-1],
        lambda h: h[:, 1],
        lambda h: h[0, 2],
        lambda h: h[:, ::2],
        lambda h: h[1:, :2],
        lambda h: h[..., 0],
        lambda h: h[None],
        lambda h: h[:, None, 1],
    ),
    slices_at_the_edge=lambda T: [
        T.arange(5)[3:10],
        T.arange(5)[-2:],
        T.arange(5)[4:2],
        T.arange(5)[-10:2],
        T.arange(5)[::3],
        T.arange(5)[:-1],
    ],
    shape_views=lambda T: made(
        T,
        lambda h: h.view(3, 2),
        lambda h: h.view(-1),
        lambda h: h.t(),
        lambda h: h.transpose(0, -1),
        lambda h: h.permute(1, 0),
        lambda h: h.unsqueeze(-1),
        lambda h: h.unsqueeze(1),
        lambda h: h.reshape(6, 1),
        lambda h: h.flatten(),
        lambda h: h.T,
        lambda h: h.mT,
    ),
    part_views=lambda T: made(
        T,
        lambda h: h.select(1, -1),
        lambda h: h.narrow(1, 1, 2),
        lambda h: h.diagonal(),
        lambda h: h.diagonal(1),
        lambda h: h.expand(2, 2, 3),
        lambda h: h.expand(-1, 3),
        lambda h: h.view_as(h),
        lambda h: h[:],
    ),
    parts_of_split=lambda T: made(
        T,
        lambda h: h.split(2, 1)[1],
        lambda h: h.chunk(2)[0],
        lambda h: h.unbind(1)[2],
        lambda h: h.split([1, 2], 1)[1],
    ),
    squeezes=lambda T: [
        T.ones(1, 2, 1).squeeze().shape,
        T.ones(1, 2, 1).squeeze(0).shape,
        T.ones(1, 2, 1).squeeze(1).shape,
        T.ones(1, 2, 1).squeeze((0, 2)).shape,
        T.ones(1).squeeze().shape,
        raises(lambda: T.ones(1).squeeze(3)),
    ],
    copies_by_index=lambda T: [
        r[:-1]
        for r in made(
            T,
            lambda h: h[[0, 1, 1]],
            lambda h: h[T.tensor([1])],
            lambda h: h[:, T.tensor([2, 0])],
            lambda h: h[h > 2],
            lambda h: h[T.tensor([0, 1]), T.tensor([2, 2])],
            lambda h: h[T.tensor([True, False])],
            lambda h: h[0, [0, 2]],
        )
    ],
    index_mixed_dims=lambda T: [
        T.ones(2, 3, 4)[:, T.tensor([0, 1])].shape,
        T.ones(2, 3, 4)[T.tensor([0]), :, T.tensor([1])].shape,
        T.ones(2, 3, 4)[0, :, T.tensor([1, 2])].shape,
        T.ones(2, 3, 4)[..., T.tensor([1])].shape,
        T.ones(2, 3, 4)[:, T.tensor([[0, 1]])].shape,
        T.ones(2, 3)[None, T.tensor([0])].shape,
    ],
    index_errors=lambda T: [
        raises(lambda: T.ones(2)[2]),
        raises(lambda: T.ones(2)[-3]),
        raises(lambda: T.ones(2)[0, 0]),
        raises(lambda: T.ones(2)[T.tensor([5])]),
        raises(lambda: T.ones(2)[T.tensor([True])]),
        raises(lambda: T.ones(2)["a"]),
        raises(lambda: T.ones(2)[1.0]),
        raises(lambda: T.ones(2)[T.tensor([0.5])]),
        raises(lambda: T.ones(2)[::-1]),
        raises(lambda: T.ones(2, 2)[5, 0]),
    ],
    index_by_bool=lambda T: [
        T.ones(2)[True].shape,
        T.ones(2)[False].shape,
        T.tensor(3.0)[True],
        T.tensor(3.0)[None].shape,
        T.tensor(3.0)[...].shape,
    ],
    index_by_tensor_number=lambda T: [
        T.arange(3)[T.tensor(1)],
        T.arange(3.0)[T.tensor(-1)]._is_view(),
        T.arange(6).view(2, 3)[T.tensor(1), T.tensor(2)],
    ],
    index_by_list_of_bools=lambda T: [T.arange(3)[[True, False, True]], T.arange(3)[range(2)] if False else 0],
    view_errors=lambda T: [
        raises(lambda: T.ones(6).view(4)),
        raises(lambda: T.ones(6).view(-1, 4)),
        raises(lambda: T.ones(6).view(-1, -1)),
        raises(lambda: T.ones(6).view(-2)),
        raises(lambda: T.ones(2, 3).t().view(6)),
        raises(lambda: T.ones(0).view(-1, 0)),
    ],
    dim_errors=lambda T: [
        raises(lambda: T.ones(2).unsqueeze(2)),
        raises(lambda: T.ones(2).transpose(0, 1)),
        raises(lambda: T.ones(2, 2).permute(0, 0)),
        raises(lambda: T.ones(2, 2).permute(0)),
        raises(lambda: T.ones(2).select(0, 2)),
        raises(lambda: T.ones(2).narrow(0, 1, 2)),
        raises(lambda: T.ones(2, 2, 2).t()),
        raises(lambda: T.tensor(1.0).unbind()),
        raises(lambda: T.ones(2).expand(3)),
        raises(lambda: T.ones(2, 3).expand(3)),
    ],
    expand_forms=lambda T: [
        T.ones(1, 2).expand(3, -1).stride(),
        T.ones(2).expand(3, 2).stride(),
        T.tensor(1.0).expand(2, 2).stride(),
        T.ones(1, 2).expand_as(T.ones(4, 2)).shape,
    ],
    strides=lambda T: [
        T.ones(2, 3, 4).stride(),
        T.ones(2, 3).t().stride(),
        T.ones(2, 3)[:, 1].stride(),
        T.ones(4)[::2].stride(),
        T.ones(1, 3).stride(),
        T.tensor(1.0).stride(),
        T.ones(2, 3).stride(0),
        T.ones(2, 3).permute(1, 0).contiguous().stride(),
        T.ones(2, 3).t().clone().stride(),
    ],
    layouts_of_results=lambda T: [
        (T.ones(2, 3).t() * 2).stride(),
        T.ones(2, 3).t().exp().stride(),
        T.zeros_like(T.ones(2, 3).t()).stride(),
        T.ones(2, 3).t().relu().stride(),
        T.ones(2, 3).t().double().stride(),
    ],
    offsets_and_pointers=lambda T: (
        lambda x: [
            x[1].storage_offset(),
            x[1:, 1].storage_offset(),
            x.t().data_ptr() == x.data_ptr(),
            x[0, 1].data_ptr() - x.data_ptr(),
            x.untyped_storage().nbytes(),
            x[1].untyped_storage().data_ptr() == x.data_ptr(),
        ]
    )(T.ones(2, 3)),
    base_of_views=lambda T: (
        lambda x: [
            x.t()[0]._base is x,
            x[0][0]._base is x,
            x.detach()._base is None,
            x.detach()._is_view(),
            x.data._is_view(),
            x[0].detach()._is_view(),
            x.expand(2, 2, 2)[0]._base is x,
            x._base is None,
        ]
    )(T.ones(2, 2)),
    base_of_reshaped_copy=lambda T: (
        lambda x: [
            x.t().reshape(4)._is_view(),
            x.t().contiguous()._is_view(),
            x.t().flatten()._is_view(),
            x.flatten()._base is x,
            x.contiguous().view(4)._base is x,
        ]
    )(T.ones(2, 2)),
    assign_number=lambda T: [
        written(T, assign(0, lambda s: 7.0)),
        written(T, assign((1, 2), lambda s: 7)),
        written(T, assign((slice(None), 0), lambda s: 0.5)),
    ],
    assign_scalar_leaf=lambda T: [written(T, assign(1)), written(T, assign((0, 1))), written(T, assign(slice(None)))],
    assign_ellipsis=lambda T: [written(T, assign(...)), written(T, assign((..., 1)))],
    assign_by_mask=lambda T: [
        written(T, lambda h, s: h.__setitem__(h > 2, s)),
        written(T, lambda h, s: h.__setitem__(h > 2, 0.0)),
    ],
    assign_by_index=lambda T: [
        written(T, assign(T.tensor([1]))),
        written(T, assign([0, 1])),
        written(T, assign((T.tensor([0, 1]), T.tensor([0, 2])))),
        written(T, assign((slice(None), T.tensor([2, 2])))),
    ],
    assign_rows=lambda T: [
        written(T, lambda h, s: h.__setitem__(0, h[1])),
        written(T, lambda h, s: h.__setitem__(slice(None, 1), (s * T.ones(1, 3)))),
    ],
    assign_broadcast=lambda T: written(
        T, lambda h, s: h.__setitem__((slice(None), slice(0, 2)), s * T.tensor([1.0, 2.0]))
    ),
    assign_errors=lambda T: [
        raises(lambda: T.ones(2).__setitem__(0, T.ones(2))),
        raises(lambda: T.ones(2).__setitem__(5, 1.0)),
        raises(lambda: T.ones(3).__setitem__(slice(0, 2), T.ones(3))),
        raises(lambda: T.ones(2).__setitem__(T.tensor([0]), T.ones(3))),
        raises(lambda: leaf(T, [1.0]).__setitem__(0, 1.0)),
        raises(lambda: T.ones(2).__setitem__(T.tensor([0]), T.ones(1, dtype=T.float64))),
        kind(lambda: T.ones(2).__setitem__(0, "a")),
    ],
    assign_types=lambda T: (
        lambda a, b: [a.__setitem__(0, 2.9), a, b.__setitem__(0, T.tensor(3)), b, b.__setitem__(1, True), b]
    )(T.tensor([1, 2]), T.ones(2)),
    assign_list=lambda T: (lambda a: [a.__setitem__(0, T.tensor([5.0, 6.0])), a])(T.zeros(2, 2)),
    assign_leading_ones=lambda T: (lambda a: [a.__setitem__(0, T.ones(1, 1, 2)), a])(T.zeros(2, 2)),
    assign_into_plain=lambda T: (lambda a, s: [a.__setitem__(0, s * 2), flags(a), a._version, graph(a.grad_fn)])(
        T.zeros(2), leaf(T, 3.0)
    ),
    augmented_parts=lambda T: [
        written(T, aug("+=")),
        written(T, aug("*=")),
        written(T, aug("-=")),
        written(T, aug("/=")),
    ],
    inplace_on_slices=lambda T: [
        written(T, lambda h, s: h[0].mul_(s)),
        written(T, lambda h, s: h[:, 1].add_(s)),
        written(T, lambda h, s: h.t()[0].zero_()),
        written(T, lambda h, s: h.view(-1)[::2].mul_(s)),
        written(T, lambda h, s: h[1:].copy_(s)),
        written(T, lambda h, s: h.diagonal().fill_(0.5)),
        written(T, lambda h, s: h[0].clamp_(1.5, 2.5)),
        written(T, lambda h, s: h.unsqueeze(0)[0, 0].div_(s)),
        written(T, lambda h, s: h[0].exp_()),
        written(T, lambda h, s: h.narrow(1, 0, 2).sub_(s)),
    ],
    two_writes=lambda T: [
        written(T, lambda h, s: (h[0].mul_(s), h[1].add_(s))),
        written(T, lambda h, s: (h[0].mul_(2), h.add_(s))),
        written(T, lambda h, s: (h.mul_(s), h[:, 0].mul_(3))),
    ],
    masked_writes=lambda T: [
        written(T, lambda h, s: h.masked_fill_(h > 3, 0.0)),
        written(T, lambda h, s: h.masked_fill_(h > 3, s)),
        written(T, lambda h, s: h.index_add_(0, T.tensor([1]), T.ones(1, 3) * s)),
        written(T, lambda h, s: h.scatter_add_(1, T.tensor([[0], [2]]), T.ones(2, 1) * s)),
        written(T, lambda h, s: h.index_put_((T.tensor([0]), T.tensor([1])), s)),
    ],
    index_put_accumulate=lambda T: written(
        T, lambda h, s: h.index_put_((T.tensor([0, 0]),), s * T.ones(2, 3), accumulate=True)
    ),
    overlap_errors=lambda T: [
        raises(lambda: T.ones(1).expand(3).add_(1)),
        raises(lambda: (lambda a: a[1:].copy_(a[:-1]))(T.arange(4.0))),
        raises(lambda: (lambda a: a[1:].add_(a[:-1]))(T.arange(4.0))),
        raises(lambda: (lambda a: a.t().add_(a))(T.ones(2, 2))),
        raises(lambda: T.ones(1, 2).expand(2, 2).zero_()),
        raises(lambda: T.ones(1).expand(3).fill_(2.0)),
        raises(lambda: T.ones(1).expand(2).copy_(T.ones(2))),
    ],
    inplace_shape_changes=lambda T: [
        shaped(T, n, *a) for n, *a in (("t_",), ("transpose_", 0, 1), ("unsqueeze_", 0), ("squeeze_",), ("squeeze_", 0))
    ],
    storage_sharing=lambda T: (
        lambda x: [
            x.view(4).data_ptr() == x.data_ptr(),
            x.clone().data_ptr() == x.data_ptr(),
            x.reshape(1, 4).untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
        ]
    )(T.ones(4)),
)


def shaped(T, name, *args):
    x = T.ones(1, 6)
    y = x * 1
    r = getattr(y, name)(*args)
    return [r is y, y.shape, y.stride(), y._version]


def aug(op):
    def put(h, s):
        if op == "+=":
            h[0] += s
        elif op == "*=":
            h[:, 1] *= s
        elif op == "-=":
            h[0, 0] -= s
        else:
            h[1:] /= s

    return put


@program
def histories_of_old_views(T):
    out = []
    for view in (lambda h: h[0], lambda h: h.t(), lambda h: h.view(-1), lambda h: h.diagonal(), lambda h: h[:, 1:]):
        x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
        h = x * 1
        v = view(h)
        before = flags(v)
        h.mul_(3)
        weighted(T, v).backward()
        out.append([before, flags(v), kept(T, v.grad_fn), x.grad])
    return out


@program
def writes_through_two_views(T):
    x = leaf(T, [1.0, 2.0, 3.0, 4.0])
    h = x * 1
    a, b = h[:3], h[1:]
    a.mul_(2)
    b.mul_(5)
    first = [flags(a), flags(b), flags(h), graph(h.grad_fn, 3)]
    (a.sum() + b.sum() * 10 + h.sum() * 100).backward()
    return [first, a, b, h, x.grad]


@program
def views_of_leaves_refuse(T):
    out = []
    for view in (
        lambda x: x[0],
        lambda x: x.t(),
        lambda x: x.view(4),
        lambda x: x[:, 0],
        lambda x: x.diagonal(),
        lambda x: x[0][0],
        lambda x: x.unbind()[0],
        lambda x: x.detach(),
        lambda x: x.data,
        lambda x: x.expand(1, 2, 2),
    ):
        x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
        out.append([raises(lambda: view(x).add_(1)), x._version])
    return out


@program
def several_outputs_refuse(T):
    out = []
    for parts in (
        lambda h: h.unbind(0),
        lambda h: h.split(1),
        lambda h: h.chunk(2),
        lambda h: h.split([1, 1]),
        lambda h: tuple(h),
        lambda h: T.unbind(h, 1),
    ):
        h = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
        p = parts(h)
        w = raises(lambda: p[1].add_(1))
        h.add_(1)
        out.append(
            [
                w,
                raises(lambda: p[0].sum()),
                raises(lambda: p[0].grad_fn),
                raises(lambda: p[0] * 2),
                p[0].detach(),
                raises(lambda: p[0].requires_grad),
            ]
        )
    return out


@program
def view_of_several_outputs(T):
    h = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
    a, b = h.unbind(0)
    v = a[:1]
    return [flags(v), v._base is h, raises(lambda: v.mul_(2)), raises(lambda: h[0].mul_(2)), raises(lambda: v.sum())]


@program
def no_grad_views(T):
    out = []
    for make in (lambda h: h[0], lambda h: h.view(4), lambda h: h.t(), lambda h: h.unbind()[0]):
        h = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
        with T.no_grad():
            v = make(h)
            v.add_(1)
        first = [v.requires_grad, raises(lambda: v.is_leaf), raises(lambda: v.grad_fn), v._version]
        err = raises(lambda: v.add_(1))
        with T.no_grad():
            h.mul_(2)
        second = [v.requires_grad, raises(lambda: v.is_leaf)]
        h.mul_(2)
        out.append(
            [
                first,
                err,
                second,
                raises(lambda: v.is_leaf),
                raises(lambda: v * 2),
                raises(lambda: v.grad_fn),
                v.detach(),
            ]
        )
    return out


@program
def view_of_a_no_grad_view(T):
    h = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
    with T.no_grad():
        v = h[0]
    w = v[:1]
    return [flags(w), w._base is h, raises(lambda: w.mul_(2)), raises(lambda: (w * 2).sum().backward())]


@program
def plain_base_then_history(T):
    a, w = T.zeros(3), leaf(T, [1.0, 2.0])
    v, u = a[:2], a[1:]
    v.copy_(w)
    state = [flags(a), flags(v), flags(u), a._version]
    u.mul_(3)
    weighted(T, a).backward()
    return [state, a, u, w.grad]


@program
def old_view_of_plain_base_refuses(T):
    a, x = T.zeros(3), leaf(T, [1.0, 2.0, 3.0])
    u, v = a[1:], a[:1]
    a.add_(x)
    first = raises(lambda: u.mul_(2))
    seen = flags(v)
    v.mul_(2)
    return [first, seen, a, flags(a), flags(u)]


@program
def detach_of_views(T):
    x = leaf(T, [1.0, 2.0, 3.0])
    h = x * 1
    v = h[1:]
    d = v.detach()
    d.zero_()
    return [
        flags(d),
        d._base is None,
        h,
        v,
        h._version,
        raises(lambda: v.detach_()),
        raises(lambda: (h * h).sum().backward()),
    ]


@program
def requires_grad_on_views(T):
    a = T.ones(3)
    v = a[:2]
    v.requires_grad_()
    (v * 3).sum().backward()
    return [flags(v), flags(a), v.grad, a.grad, raises(lambda: v.add_(1)), raises(lambda: a.add_(1)), v]


@program
def retain_grad_of_view_through_write(T):
    x = leaf(T, [1.0, 2.0, 3.0])
    h = x * 1
    v = h[:2]
    v.retain_grad()
    h.retain_grad()
    v.mul_(5)
    weighted(T, h).backward()
    return [v.grad, h.grad, x.grad]


@program
def view_saved_then_base_written(T):
    out = []
    for write in (
        lambda h, v: h.add_(1),
        lambda h, v: v.add_(1),
        lambda h, v: h[2:].add_(1),
        lambda h, v: h.data.add_(1),
        lambda h, v: h.detach().add_(1),
    ):
        h = leaf(T, [1.0, 2.0, 3.0]) * 1
        v = h[:2]
        y = (v * v).sum()
        write(h, v)
        out.append(raises(lambda: y.backward()))
    return out


@program
def unsafe_views_are_no_views(T):
    a = leaf(T, [[[1.0, 2.0]], [[3.0, 4.0]]])
    y = a @ T.ones(2, 3)
    r = a.transpose(0, 2).reshape(4)
    return [y._is_view(), flags(y), r._is_view(), flags(r), raises(lambda: y.add_(1)), y._version]


@program
def set_data_of_view(T):
    a = T.zeros(4)
    v = a[:2]
    v.data = T.ones(2)
    v.add_(1)
    return [a, v, a._version, v._version]


@program
def copy_between_overlapping_rows(T):
    a = T.arange(6.0).reshape(2, 3)
    a[0] = a[1]
    a[:, 0] = a[:, 1].clone()
    b = T.arange(4.0)
    b[:2] = b[2:]
    return [a, b, raises(lambda: b[:3].copy_(b[1:]))]
