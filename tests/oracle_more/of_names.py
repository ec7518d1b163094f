"""Functions, arguments and names that programs use seldom."""

import copy

import numpy as np
from kit import flags, grad_of, graph, kept, kind, leaf, program, raises, warned, weighted


@program
def multi_grad_hook_forms(T):
    R = T.autograd.graph.register_multi_grad_hook
    out = []
    for mode in ("all", "any"):
        x, w = leaf(T, [1.0]), leaf(T, [2.0])
        log = []
        a, b = x * 2, w * 3
        h = R([a, b], (lambda gs: log.append(gs)) if mode == "all" else (lambda g: log.append(g)), mode=mode)
        (a * b).sum().backward(retain_graph=True)
        (a * 5).sum().backward(retain_graph=True)
        (b * 5).sum().backward(retain_graph=True)
        h.remove()
        (a * b).sum().backward()
        out.append([log, type(h).__name__])
    out.append(raises(lambda: R([T.ones(1)], lambda g: None)))
    out.append(raises(lambda: R([leaf(T, [1.0])], lambda g: None, mode="some")))
    out.append(raises(lambda: R((), lambda g: None)))
    x = leaf(T, [1.0])
    log = []
    with R((x, x * 1), lambda gs: log.append(len(gs))):
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    out.append(log)
    # hooks returning values are ignored
    x = leaf(T, [1.0])
    R((x,), lambda gs: 5)
    (x * 2).sum().backward()
    out.append(x.grad)
    # leaf and retained grad
    x = leaf(T, [1.0])
    h = x * 1
    h.retain_grad()
    log = []
    R((h,), lambda gs: log.append([gs[0], h.grad is None]))
    (h * 3).sum().backward()
    out.append([log, h.grad])
    # raise in hook
    x = leaf(T, [1.0])

    def boom(gs):
        raise ValueError("boom")

    R((x,), boom)
    out.append([raises(lambda: (x * 1).sum().backward()), x.grad])
    # autograd.grad
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    log = []
    R((x, w), lambda gs: log.append(gs))
    out.append([raises(lambda: T.autograd.grad((x * w).sum(), x)), log])
    out.append([raises(lambda: T.autograd.grad((x * w).sum(), (x, w))), log])
    return out


@program
def embedding_forms(T):
    F = T.nn.functional
    w = leaf(T, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    i = T.tensor([0, 2, 2])
    out = []
    for kw in ({}, {"padding_idx": 2}, {"padding_idx": -1}, {"scale_grad_by_freq": True}, {"max_norm": 1.0}):
        w = leaf(T, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        r = []
        e = raises(lambda: r.append(F.embedding(i, w, **kw)))
        if r:
            k = kept(T, r[0].grad_fn)
            weighted(T, r[0]).backward()
            out.append([r[0], w.grad, k])
        else:
            out.append(e)
    out += [
        raises(lambda: F.embedding(T.tensor([3]), w)),
        raises(lambda: F.embedding(T.tensor([-1]), w)),
        raises(lambda: F.embedding(T.tensor([0.0]), w)),
        raises(lambda: F.embedding(i, w, padding_idx=3)),
        raises(lambda: F.embedding([0], w)),
        raises(lambda: F.embedding(i, T.ones(3))),
    ]
    out += [
        F.embedding(T.tensor(1), w),
        F.embedding(T.tensor([[0, 1], [1, 2]]), w).shape,
        F.embedding(T.zeros(0, dtype=T.int64), w).shape,
    ]
    m = T.nn.Embedding(3, 2, padding_idx=0)
    out += [
        m.weight[0],
        repr(m),
        m.padding_idx,
        m.num_embeddings,
        m.embedding_dim,
        list(m.state_dict()),
        repr(T.nn.Embedding.from_pretrained(T.ones(2, 2))),
        T.nn.Embedding.from_pretrained(T.ones(2, 2)).weight.requires_grad,
        T.nn.Embedding.from_pretrained(T.ones(2, 2), freeze=False).weight.requires_grad,
        raises(lambda: T.nn.Embedding(3, 2, padding_idx=5)),
        raises(lambda: T.nn.Embedding(3, 2, padding_idx=-5)),
        T.nn.Embedding(3, 2, padding_idx=-1).padding_idx,
        repr(T.nn.Embedding(3, 2, max_norm=1.0)),
        repr(T.nn.Embedding(3, 2, scale_grad_by_freq=True)),
        T.nn.Embedding(3, 2, _weight=T.ones(3, 2)).weight,
    ]
    return out


@program
def double_backward_embedding(T):
    F = T.nn.functional
    w = leaf(T, [[1.0, 2.0], [3.0, 4.0]], "float64")
    y = (F.embedding(T.tensor([1, 1, 0]), w) ** 3).sum()
    (g,) = T.autograd.grad(y, w, create_graph=True)
    return [g.detach(), T.autograd.grad(g.sum(), w)]


@program
def dropout_forms(T):
    F = T.nn.functional
    x = leaf(T, [1.0, 2.0, 3.0])
    d = T.nn.Dropout()
    T.manual_seed(0)
    y = d(T.ones(1000))
    vals = sorted(set(y.tolist()))
    return [
        repr(d),
        d.p,
        d.inplace,
        vals,
        250 < (y == 0).sum().item() < 750,
        F.dropout(x, 0.5, False) is x,
        d.eval()(x) is x,
        F.dropout(x, 1.0),
        F.dropout(x, 0.0),
        flags(F.dropout(x, 0.0)),
        raises(lambda: T.nn.Dropout(1.5)),
        raises(lambda: T.nn.Dropout(-1)),
        raises(lambda: F.dropout(x, 2.0)),
        repr(T.nn.Dropout(0.3, inplace=True)),
        flags(F.dropout(x, 0.5)),
        flags(F.dropout(x * 1, 0.5, inplace=True)),
        F.dropout(x, p=0.0, training=True),
        raises(lambda: F.dropout(x, 0.5, inplace=True)),
        kept(T, F.dropout(x, 1.0).grad_fn).keys(),
    ]


@program
def from_numpy_shares(T):
    import numpy

    a = numpy.array([1.0, 2.0])
    t = T.from_numpy(a)
    t.add_(1)
    a[0] = 9
    m = numpy.arange(6.0, dtype="float32").reshape(2, 3)
    v = T.from_numpy(m[:, ::2])
    w = T.from_numpy(m.T)
    ro = numpy.ones(2)
    ro.flags.writeable = False
    return [
        t,
        a.tolist(),
        t._version,
        t.requires_grad,
        v,
        v.stride(),
        w.stride(),
        w.is_contiguous(),
        T.from_numpy(numpy.array(3.0)).shape,
        T.from_numpy(numpy.array([True])),
        T.from_numpy(numpy.array([1])),
        kind(lambda: T.from_numpy([1.0])),
        raises(lambda: T.from_numpy(m[::-1])),
        kind(lambda: T.from_numpy(numpy.array(["a"]))),
        t.requires_grad_().is_leaf,
        [w[0] for w in warned(lambda: T.from_numpy(ro))[0]],
        T.as_tensor(a).data_ptr() == t.data_ptr(),
        T.tensor(a).data_ptr() == t.data_ptr(),
        T.as_tensor([1.0]),
        T.as_tensor(t) is t,
        T.as_tensor(t, dtype=T.float32).dtype,
    ]


@program
def index_add_and_select(T):
    out = []
    x, s = leaf(T, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), leaf(T, [[10.0, 20.0], [30.0, 40.0]])
    i = T.tensor([2, 0])
    for f in (
        lambda: T.index_add(x, 0, i, s),
        lambda: T.index_add(x, 0, i, s, alpha=2),
        lambda: x.index_add(0, i, s),
        lambda: x.index_add(1, T.tensor([0, 0, 1]), T.ones(3, 3)),
        lambda: (x * 1).index_add_(0, i, s),
        lambda: T.index_select(x, 0, T.tensor([2, 2, 0])),
        lambda: x.index_select(1, T.tensor([1])),
        lambda: T.index_select(input=x, dim=0, index=i),
        lambda: T.index_add(input=x, dim=0, index=i, source=s),
    ):
        x.grad = s.grad = None
        y = f()
        fn = y.grad_fn
        k = kept(T, fn)
        weighted(T, y).backward()
        out.append([y, x.grad, s.grad, k])
    return out + [
        raises(lambda: T.index_add(x, 0, T.tensor([3]), T.ones(1, 2))),
        raises(lambda: T.index_add(x, 0, i, T.ones(3, 2))),
        raises(lambda: T.index_add(x, 0, T.tensor([0.0, 1.0]), s)),
        raises(lambda: T.index_add(x, 0, i, s.double())),
        raises(lambda: T.index_add(x, 0, T.tensor([[0]]), s)),
        raises(lambda: x.index_add_(0, i, s)),
        raises(lambda: T.index_select(x, 2, i)),
        raises(lambda: T.index_select(x, 0, T.tensor([[0]]))),
        raises(lambda: T.index_select(x, 0, T.tensor([-1]))),
        T.index_select(T.tensor(5.0), 0, T.tensor([0])),
        T.index_select(x, 0, T.tensor(1)).shape,
    ]


@program
def scatter_add_forms(T):
    out = []
    x, s = leaf(T, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), leaf(T, [[10.0, 20.0], [30.0, 40.0]])
    i = T.tensor([[0, 2], [0, 1]])
    for f in (
        lambda: T.scatter_add(x, 0, i, s),
        lambda: x.scatter_add(0, i, s),
        lambda: (x * 1).scatter_add_(0, i, s),
        lambda: T.scatter_add(T.zeros(3, 2), 0, i, s),
        lambda: T.scatter_add(input=x, dim=0, index=i, src=s),
        lambda: T.gather(x, 0, i),
        lambda: T.gather(x, 1, T.tensor([[1, 1, 0]])),
        lambda: T.gather(input=x, dim=0, index=i),
    ):
        x.grad = s.grad = None
        y = f()
        k = kept(T, y.grad_fn)
        weighted(T, y).backward()
        out.append([y, x.grad, s.grad, k])
    return out + [
        raises(lambda: T.scatter_add(x, 0, T.tensor([[3, 0]]), s)),
        raises(lambda: T.scatter_add(x, 0, T.tensor([[0, 0, 0]]), s)),
        raises(lambda: T.scatter_add(x, 0, i.float(), s)),
        raises(lambda: T.scatter_add(x, 0, i, s.double())),
        raises(lambda: T.scatter_add(x, 0, T.tensor([0]), s)),
        raises(lambda: T.gather(x, 0, T.tensor([[3, 0]]))),
        raises(lambda: T.gather(x, 0, T.tensor([0]))),
        raises(lambda: T.gather(x, 0, i.float())),
        raises(lambda: T.gather(x, 0, T.tensor([[0, 0, 0]]))),
        raises(lambda: T.gather(x, 3, i)),
        raises(lambda: T.gather(x, 0, T.tensor([[-1, 0]]))),
    ]


@program
def extremes_functions(T):
    x, y = leaf(T, [1.0, 2.0, 3.0]), leaf(T, [3.0, 2.0, 1.0])
    out = []
    for f in (
        lambda: T.maximum(x, y),
        lambda: T.minimum(x, y),
        lambda: T.max(x, y),
        lambda: T.min(x, y),
        lambda: x.maximum(y),
        lambda: T.maximum(x, T.tensor(2.0)),
        lambda: T.maximum(x, y.double()),
        lambda: x.max(y),
    ):
        x.grad = y.grad = None
        z = f()
        weighted(T, z).backward()
        out.append([z, x.grad, y.grad])
    return out + [
        kind(lambda: T.maximum(x, 2)),
        kind(lambda: T.maximum(x, 2.0)),
        kind(lambda: x.max(2.0)),
        T.maximum(T.tensor([1]), T.tensor([2.0])),
        T.maximum(T.tensor([True]), T.tensor([False])),
    ]


@program
def linear_function_forms(T):
    F = T.nn.functional
    x, w, b = leaf(T, [[1.0, 2.0], [3.0, 4.0]]), leaf(T, [[1.0, 0.5]]), leaf(T, [0.1])
    out = []
    for f in (
        lambda: F.linear(x, w, b),
        lambda: F.linear(x, w),
        lambda: F.linear(x[0], w, b),
        lambda: F.linear(x[0], w[0]),
        lambda: F.linear(x, w[0]),
        lambda: F.linear(x[None], w, b),
        lambda: F.linear(input=x, weight=w, bias=b),
        lambda: F.linear(x, w, bias=None),
        lambda: F.linear(x, w, b * 1),
    ):
        x.grad = w.grad = b.grad = None
        y = f()
        g = graph(y.grad_fn, 4)
        weighted(T, y).backward()
        out.append([y, x.grad, w.grad, b.grad, g])
    return out + [
        raises(lambda: F.linear(x, T.ones(1, 3))),
        raises(lambda: F.linear(x, w, T.ones(2))),
        raises(lambda: F.linear(x.double(), w)),
        raises(lambda: F.linear(T.tensor(1.0), w)),
        raises(lambda: F.linear(x, w[0], b)),
    ]


@program
def save_on_cpu_forms(T):
    x = leaf(T, [2.0])
    with T.autograd.graph.save_on_cpu():
        y = (x * 1) ** 2
        z = (x * 1).exp()
    with T.autograd.graph.save_on_cpu(pin_memory=False):
        w = x * x
    s = y.grad_fn._saved_self
    (y + z + w).sum().backward()
    h = x * 1
    with T.autograd.graph.save_on_cpu():
        k = h**2
    h.mul_(3)
    k.sum().backward()
    return [s, x.grad, isinstance(T.autograd.graph.save_on_cpu(), T.autograd.graph.saved_tensors_hooks)]


@program
def increment_version_forms(T):
    increment = T.autograd.graph.increment_version
    a, b = T.ones(1), T.ones(1)
    increment(a)
    increment([a, b])
    increment((a,))
    increment(x for x in (a, b))
    x = leaf(T, [1.0])
    increment(x)
    v = a.view(1)
    increment(v)
    with T.inference_mode():
        c = T.ones(1)
    return [
        a._version,
        b._version,
        x._version,
        v._version,
        raises(lambda: increment(c)),
        raises(lambda: increment(3)),
        raises(lambda: increment([3])),
        increment(a),
        increment([]),
    ]


@program
def tensor_new(T):
    x = leaf(T, [1.0, 2.0], "float64")
    return [
        x.new([1, 2]),
        x.new(2, 3).shape,
        x.new(),
        x.new(T.Size([2])).shape,
        x.new_zeros(2),
        x.new_ones((2,), requires_grad=True),
        x.new_tensor([3.0, 4.0]),
        x.new_full((2,), 7),
        x.new_empty(2).shape,
        x.new_zeros(2, dtype=T.int64),
        T.tensor([1]).new([2.7]),
        x.new(3).shape,
    ]


@program
def the_class_called(T):
    x = leaf(T, [1.0, 2.0])
    view = T.Tensor(x)
    return [
        T.Tensor(),
        T.Tensor([1, 2]),
        T.Tensor([[1, 2.5], [True, 3]]),
        T.Tensor((2, 3)),
        T.Tensor([[]]),
        T.Tensor(2, 3).shape,
        T.Tensor(T.ones(2, 3).shape).shape,
        T.Tensor(size=(2,)).shape,
        T.Tensor(data=[1]),
        T.Tensor(range(3)),
        T.Tensor([x[0], x[1]]),
        T.Tensor([1], device="cpu"),
        T.Tensor(T.tensor([1, 2])),
        flags(view),
        view.grad_fn.name(),
        view._is_view(),
        view.data_ptr() == x.data_ptr(),
        flags(T.Tensor([1.0]).requires_grad_()),
        type(T.Tensor([1.0])) is T.Tensor,
    ]


@program
def the_class_called_with_an_array(T):
    array = np.array([1.0, 2.0], np.float32)
    shared, copied = T.Tensor(array), T.Tensor(array.astype(np.float64))
    array[0] = 9
    return [shared, copied, T.Tensor(np.array([1, 2])), T.Tensor(np.int64(2)).shape]


@program
def functions_of_methods(T):
    x = leaf(T, [1.0, 2.0])
    m = T.tensor([True, False])
    out = [
        T.detach(x),
        flags(T.detach(x)),
        T.masked_fill(x, m, 0.0),
        T.is_inference(x),
        T.clone(x),
        raises(lambda: T.zero_(x)),
        T.zero_(x * 1),
        T.fill_(x * 1, 3.0),
        T.clamp_(x * 1, 0.0, 1.5),
        T.clamp(x, 0.0, 1.5),
        x.clip(max=1.0),
        flags(T.detach_(x * 1)),
        (x * 1).relu_(),
        (x * 1).exp_(),
        (x * 1).sigmoid_(),
        T.neg_(x * 1),
        (x * 1).sqrt_(),
        (x * 1).tanh_(),
        (x * 1).abs_(),
        (x * 1).sin_(),
        (x * 1).reciprocal_(),
        (x * 1).floor_(),
        (x * 1).round_(),
        T.scatter(T.zeros(2, 2), 0, T.tensor([[0, 1]]), T.ones(1, 2)),
        T.scatter(T.zeros(2, 2), 0, T.tensor([[0, 1]]), 5.0),
        T.is_floating_point(x),
        T.tensor(1.0).is_nonzero(),
        T.result_type(x, 1.0),
        T.promote_types(T.int64, T.float32),
        T.scalar_tensor(2.0),
        x.ravel(),
    ]
    return out


@program
def einsum_forms(T):
    out = []
    for eq, a, b in (
        ("ij,jk->ik", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.5], [0.0, 2.0]]),
        ("ij,jk", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.5], [0.0, 2.0]]),
        ("i,i->", [1.0, 2.0], [3.0, 4.0]),
        ("i,j->ij", [1.0, 2.0], [3.0, 4.0]),
        ("bij,bjk->bik", [[[1.0, 2.0]]], [[[1.0], [2.0]]]),
        ("ij,ij->i", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.5], [0.0, 2.0]]),
        ("...i,...i->...", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.5], [0.0, 2.0]]),
    ):
        p, q = leaf(T, a), leaf(T, b)
        y = T.einsum(eq, p, q)
        weighted(T, y).backward()
        out.append([y.detach(), p.grad, q.grad])
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    return out + [
        T.einsum("ii->i", x).detach(),
        T.einsum("ii", x).detach(),
        T.einsum("ij->ji", x).detach(),
        T.einsum("ij->j", x).detach(),
        T.einsum("ij->", [x]).detach(),
        kind(lambda: T.einsum("ij,jk->ik", x, T.ones(3, 2))),
        kind(lambda: T.einsum("i", x)),
    ]


@program
def linalg_forms(T):
    L = T.linalg
    x = leaf(T, [[3.0, 4.0], [1.0, 2.0]])
    return [
        L.norm(x).item(),
        L.norm(x, dim=1).detach(),
        L.vector_norm(x, 1).item(),
        L.vector_norm(x, dim=0).detach(),
        type(L.vector_norm(x).grad_fn).__name__,
        type(L.norm(x).grad_fn).__name__,
        L.matrix_norm(x).item(),
        L.norm(x, float("inf"), dim=1).detach(),
        L.norm(x, 2, dim=1, keepdim=True).detach(),
        grad_of(T, lambda t: L.norm(t), [3.0, 4.0]),
        grad_of(T, lambda t: L.vector_norm(t, ord=1), [3.0, -4.0]),
    ]


@program
def seqmul(T):
    s = T.nn.Sequential(T.nn.ReLU())
    return [
        len(s * 3),
        (s * 2)[0] is (s * 2)[1],
        len(2 * s),
        raises(lambda: s * 0)[:2],
        kind(lambda: s * 1.5),
        repr(s * 2),
        list((s * 2)._modules),
    ]


@program
def inner_forms(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    return [
        x.inner(x).detach(),
        x.inner(x[0]).detach(),
        T.tensordot(x, x, 2).detach(),
        T.tensordot(x, x, ([0], [1])).detach(),
        T.tensordot(x, x, dims=0).shape,
        graph(T.tensordot(x, x, 2).grad_fn, 4),
        raises(lambda: T.tensordot(x, T.ones(3, 1), 1)),
        raises(lambda: T.tensordot(x, x, ([0], [0, 1]))),
        x.inner(T.tensor(2.0)).detach(),
        raises(lambda: x.inner(T.ones(3))),
    ]


@program
def list_indices(T):
    x = leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [
        x[[[0, 1], [1, 2]]].detach(),
        x[[slice(None), 0]].detach(),
        x[[T.tensor(0), T.tensor(1)]].detach(),
        x[[0, 1]].detach(),
        x[([],)].shape,
        x[[]].shape,
        x[[None, 0]].shape,
        x[[True, False]].detach(),
        x[range(2)].shape,
        warned(lambda: x[[slice(None), 0]])[0],
        raises(lambda: x["a"]),
        raises(lambda: x[{0}]),
    ]


@program
def deepcopy_shares(T):
    a = T.arange(6.0).view(2, 3)
    v = a[:, 1]
    w = a.t()
    copies = copy.deepcopy([a, v, w, a[1:]])
    copies[0][0, 1] = 99.0
    b = copy.deepcopy(v)
    c = copy.deepcopy(a.t())
    d = copy.deepcopy(a.expand(2, 2, 3))
    e = copy.deepcopy(T.tensor(1.0))
    z = copy.deepcopy(T.zeros(0, 3))
    f = copy.deepcopy(a.t().contiguous().t())
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    m = copy.deepcopy(T.nn.Parameter(a.t()))
    xd = copy.deepcopy([x.detach(), x])
    xd[0].add_(1)
    return [
        copies,
        [t.storage_offset() for t in copies],
        [t.stride() for t in copies],
        b,
        b.stride(),
        b.storage_offset(),
        c.stride(),
        d.stride(),
        d.shape,
        e,
        z.shape,
        f.stride(),
        [t._is_view() for t in copies],
        [t._version for t in copies],
        y,
        y.grad,
        m.stride(),
        m,
        xd,
        a,
        len(b.untyped_storage()),
    ]


@program
def numbers_drawn_aside(T):
    """fork_rng puts the shared source back where it was."""
    T.manual_seed(0)
    with T.random.fork_rng():
        inside = [T.rand(3), T.manual_seed(5) and T.rand(1)]
    outside, seed, state = T.rand(1), T.initial_seed(), T.get_rng_state()
    with T.random.fork_rng(enabled=False):
        T.rand(1)
    after = T.rand(1)
    T.set_rng_state(state)
    return [inside, outside, seed, after, T.rand(2)]


@program
def tensors_of_what_there_is(T):
    array, x = np.ones(2), T.ones(2, requires_grad=True)
    t = T.asarray(array)
    array[0] = 5
    copied, leaf_again = T.asarray(array, copy=True), T.asarray(x.detach(), requires_grad=True)
    array[1] = 7
    return [
        t, copied, leaf_again, T.asarray(t) is t, T.asarray([1, 2.0]), T.asarray(3), T.asarray(array, dtype=T.float32),
        T.asarray(x) is x, T.asarray(x, requires_grad=False), T.asarray(True, dtype=T.int64),
        raises(lambda: T.asarray([1], copy=False)), raises(lambda: T.asarray(array, copy=False, dtype=T.int64)),
    ]  # fmt: skip


@program
def arguments_of_the_first_years(T):
    """size_average and reduce."""
    F, x, y = T.nn.functional, T.ones(2, 3), T.zeros(2, 3)
    found = []
    forms = {"size_average": True}, {"size_average": False}, {"reduce": False}, {"size_average": False, "reduce": True}
    for old in forms:
        found.append(warned(lambda: F.mse_loss(x, y, **old)))
        found.append(warned(lambda: F.l1_loss(x, y, **old)))
        found.append(warned(lambda: F.smooth_l1_loss(x, y, **old)))
        found.append(warned(lambda: F.nll_loss(x, T.tensor([0, 1]), **old)))
        found.append(warned(lambda: F.cross_entropy(x, T.tensor([0, 1]), **old)))
        found.append(warned(lambda: F.binary_cross_entropy(x / 2, y, **old)))
        found.append(warned(lambda: F.binary_cross_entropy_with_logits(x, y, **old)))
        found.append(warned(lambda: F.kl_div(x, y + 1, **old)))
        found.append(warned(lambda: T.nn.MSELoss(**old).reduction))
        found.append(warned(lambda: T.nn.CrossEntropyLoss(None, **old)(x, T.tensor([0, 1]))))
        found.append(kind(lambda: T.nn.HuberLoss(**old)))
    return found


@program
def types_of_nodes(T):
    """How the classes of nodes print, and that what is true of a node cannot be assigned."""
    x = T.ones(3, requires_grad=True)
    y = (x * 2).exp()
    z = x * 1
    z[0] = 5.0
    nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], z.grad_fn, z.grad_fn.next_functions[0][0].next_functions[0][0]]
    facts = ("metadata", "next_functions", "requires_grad")
    return [
        [[repr(type(n)), type(n).__module__, type(n).__qualname__] for n in nodes],
        [raises(lambda fact=fact: setattr(y.grad_fn, fact, None)) for fact in facts],
        [raises(lambda fact=fact: delattr(y.grad_fn, fact)) for fact in facts],
    ]


@program
def types_of_custom_nodes(T):
    """The class of a Function's node is an attribute of the Function, and prints as one of its file."""

    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    node = Twice.apply(T.ones(2, requires_grad=True)).grad_fn
    return [repr(Twice._backward_cls), type(node) is Twice._backward_cls, repr(type(node)), repr(node), node.name()]
