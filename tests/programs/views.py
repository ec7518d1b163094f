"""Views and item assignment: shapes, strides, bases, versions, and what history becomes."""

from tests.programs.kit import flags, graph, kept, kind, leaf, program, programs, raises, weighted


def made(T, *views):
    """For a computed matrix: what each view is, and the gradient through it."""
    out = []
    for view in views:
        x = leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        h = x * 1
        v = view(h)
        weighted(T, v).backward(retain_graph=True)
        where = [v.stride(), v.storage_offset(), v.is_contiguous(), v._is_view(), v is h, same_memory(v, h)]
        out.append([v.shape, where, v, x.grad, kept(T, v.grad_fn)])
    return out


def same_memory(a, b):
    """Whether a write to the one is seen in the other."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


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
    copies_and_itself=lambda T: [
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
            lambda h: h.clone(),
            lambda h: h.t().reshape(6),
            lambda h: h.t().contiguous(),
            lambda h: h.double(),
            lambda h: h.contiguous(),
            lambda h: h.float(),
            lambda h: h.to(h.dtype),
            lambda h: h.requires_grad_(),
        )
    ],
    index_errors=lambda T: [
        raises(lambda: T.ones(2)[2]),
        raises(lambda: T.ones(2)[-3]),
        raises(lambda: T.ones(2)[T.tensor([5])]),
        kind(lambda: T.ones(2)[T.tensor([True])]),
        raises(lambda: T.ones(2)[1.0]),
        raises(lambda: T.ones(2)[::-1]),
    ],
    index_of_a_number=lambda T: [T.tensor(3.0)[None].shape, T.tensor(3.0)[...].shape],
    index_by_list_of_bools=lambda T: T.arange(3)[[True, False, True]],
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
        raises(lambda: T.ones(2, 2).permute(0)),
        raises(lambda: T.ones(2).select(0, 2)),
        raises(lambda: T.ones(2, 2, 2).t()),
        kind(lambda: T.tensor(1.0).unbind()),
    ],
    index_by_list_of_lists=lambda T: [
        T.arange(6).view(2, 3)[index]
        for index in ([[0, 1], [0, 2]], [0, slice(1, 3)], [0, None], [T.tensor([0]), T.tensor([1])], [0, 1])
    ],
    strides=lambda T: [
        T.ones(1, 1).expand(1, 5, 1).stride(),
        T.ones(2, 3, 4).stride(),
        T.ones(2, 3).t().stride(),
        T.ones(4)[::2].stride(),
        T.ones(1, 3).stride(),
        T.ones(2, 3).stride(0),
        T.ones(2, 3).t().clone().stride(),
    ],
    layouts_of_results=lambda T: [
        (T.ones(2, 3).t() * 2).stride(),
        T.ones(2, 3).t().exp().stride(),
        T.zeros_like(T.ones(2, 3).t()).stride(),
        T.ones(2, 3).t().relu().stride(),
        T.ones(2, 3).t().double().stride(),
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
    assign_errors=lambda T: [
        raises(lambda: T.ones(2).__setitem__(0, T.ones(2))),
        raises(lambda: T.ones(2).__setitem__(5, 1.0)),
        raises(lambda: T.ones(3).__setitem__(slice(0, 2), T.ones(3))),
        raises(lambda: T.ones(2).__setitem__(T.tensor([0]), T.ones(3))),
        raises(lambda: leaf(T, [1.0]).__setitem__(0, 1.0)),
        raises(lambda: T.ones(2).__setitem__(T.tensor([0]), T.ones(1, dtype=T.float64))),
        kind(lambda: T.ones(2).__setitem__(0, "a")),
    ],
    augmented_parts=lambda T: [
        written(T, aug("+=")),
        written(T, aug("*=")),
        written(T, aug("-=")),
        written(T, aug("/=")),
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
)


def shaped(T, name, *args):
    """A tensor, and a view, that change their shape: what they are then, and the gradients."""
    out = []
    for make in (lambda x: x * 1, lambda x: (x * 1)[:1], T.Tensor.detach):
        x = leaf(T, [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0] * 6])
        y = make(x)
        if y.requires_grad:
            y.retain_grad()
        r = getattr(y, name)(*args)
        facts = [r is y, y.shape, y.stride(), y._version, flags(y), graph(y.grad_fn, 4)]
        if y.requires_grad:
            weighted(T, y * y).backward()
        out.append([facts, x.grad, y.requires_grad and y.grad])
    return out


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
def view_of_a_no_grad_view(T):
    h = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
    with T.no_grad():
        v = h[0]
    w = v[:1]
    return [flags(w), w._base is h, raises(lambda: w.mul_(2)), raises(lambda: (w * 2).sum().backward())]


@program
def retain_grad_of_view_through_write(T):
    x = leaf(T, [1.0, 2.0, 3.0])
    h = x * 1
    v = h[:2]
    v.retain_grad()
    h.retain_grad()
    v.mul_(5)
    for _ in range(2):
        weighted(T, h).backward(retain_graph=True)
    return [v.grad, h.grad, x.grad]


@program
def copy_between_overlapping_rows(T):
    a = T.arange(6.0).reshape(2, 3)
    a[0] = a[1]
    a[:, 0] = a[:, 1].clone()
    b = T.arange(4.0)
    b[:2] = b[2:]
    return [a, b, raises(lambda: b[:3].copy_(b[1:]))]
