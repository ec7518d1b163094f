"""Leaves, .grad, detach, requires_grad, copies, conversions and NumPy."""

import copy
import pickle
import weakref

import numpy as np
from kit import flags, graph, kind, leaf, program, programs, quiet, raises, warned

programs(
    who_is_a_leaf=lambda T: [
        flags(t)
        for t in (
            T.ones(1),
            leaf(T, [1.0]),
            leaf(T, [1.0]) * 1,
            T.ones(1) * 2,
            leaf(T, [1.0]).detach(),
            leaf(T, [1.0]).data,
            leaf(T, [1.0]).clone(),
            leaf(T, [1.0])[0],
            leaf(T, [1.0]).float(),
            leaf(T, [1.0]).double(),
            leaf(T, [1.0]).long(),
            T.zeros_like(leaf(T, [1.0])),
            T.nn.Parameter(T.ones(1)),
            T.nn.Parameter(T.ones(1)) * 1,
            leaf(T, [1.0]) > 0,
            leaf(T, [1.0]).requires_grad_(False),
            T.ones(1).requires_grad_(),
            T.cat([leaf(T, [1.0])]),
            leaf(T, [1.0]).to("cpu"),
            T.tensor(1.0, requires_grad=True),
            T.empty(2, requires_grad=True),
            T.full((1,), 2.0, requires_grad=True),
            T.randn(2, requires_grad=True),
            T.arange(2.0, requires_grad=True),
            T.eye(2, requires_grad=True),
            T.as_tensor(leaf(T, [1.0])),
            leaf(T, [1.0]).contiguous(),
        )
    ],
    writes_to_leaves=lambda T: [
        (raises(lambda: act(x)), x, x._version, flags(x))
        for x, act in (
            (leaf(T, [1.0, 2.0]), a)
            for a in (
                lambda x: x.add_(1),
                lambda x: x.__iadd__(1),
                lambda x: x.__setitem__(0, 1.0),
                lambda x: x[0].mul_(2),
                lambda x: x.zero_(),
                lambda x: x.copy_(T.ones(2)),
                lambda x: x.data.add_(1),
                lambda x: x.detach().add_(1),
                lambda x: x.t_(),
                lambda x: x.unsqueeze_(0),
                lambda x: x.clamp_(0, 1),
                lambda x: x.fill_(1),
                lambda x: x.relu_(),
                lambda x: x.view(2).add_(1),
                lambda x: x.masked_fill_(x > 1, 0.0),
                lambda x: x.__setitem__(x > 1, 0.0),
                lambda x: x.requires_grad_(False).add_(1),
                lambda x: x.data.fill_(3),
            )
        )
    ],
    requires_grad_changes=lambda T: [
        (raises(lambda: act(x)), x.requires_grad, x.is_leaf)
        for x, act in (
            (m(), a)
            for m in (
                lambda: leaf(T, [1.0]),
                lambda: leaf(T, [1.0]) * 2,
                lambda: T.ones(1),
                lambda: T.tensor([1]),
                lambda: T.tensor([True]),
            )
            for a in (
                lambda x: x.requires_grad_(),
                lambda x: x.requires_grad_(False),
                lambda x: setattr(x, "requires_grad", True),
                lambda x: setattr(x, "requires_grad", False),
                lambda x: setattr(x, "requires_grad", 1),
            )
        )
    ],
    integer_leaves=lambda T: [
        raises(lambda: T.tensor([1], requires_grad=True)),
        raises(lambda: T.zeros(1, dtype=T.int64, requires_grad=True)),
        raises(lambda: T.arange(3, requires_grad=True)),
        raises(lambda: T.tensor([True], requires_grad=True)),
        raises(lambda: T.nn.Parameter(T.tensor([1]))),
        raises(lambda: T.ones_like(T.tensor([1]), requires_grad=True)),
        raises(lambda: T.randint(3, (2,), requires_grad=True)),
        raises(lambda: T.full((2,), 1, requires_grad=True)),
    ],
    assigning_grad=lambda T: [
        (raises(lambda: setattr(x, "grad", v(x))), x.grad)
        for x, v in (
            (leaf(T, [1.0, 2.0]), v)
            for v in (
                lambda x: T.ones(2),
                lambda x: T.ones(3),
                lambda x: T.ones(1, 2),
                lambda x: T.ones(2, dtype=T.float64),
                lambda x: T.tensor([1, 2]),
                lambda x: None,
                lambda x: 1.0,
                lambda x: [1.0, 2.0],
                lambda x: x,
                lambda x: x * 2,
                lambda x: leaf(T, [1.0, 2.0]),
                lambda x: "a",
            )
        )
    ],
    assigning_grad_of_others=lambda T: [
        (raises(lambda: setattr(x, "grad", T.ones(1))), quiet(lambda: x.grad))
        for x in (T.ones(1), leaf(T, [1.0]) * 2, T.tensor([1]))
    ],
    grad_warnings=lambda T: [
        warned(lambda: t.grad) for t in (leaf(T, [1.0]), leaf(T, [1.0]) * 1, T.ones(1), leaf(T, [1.0])[0])
    ],
    retain_grads=lambda T: [
        (raises(lambda: t.retain_grad()), t.retains_grad)
        for t in (leaf(T, [1.0]), leaf(T, [1.0]) * 1, T.ones(1), leaf(T, [1.0])[0])
    ],
    detaching=lambda T: [
        (flags(y.detach()), y.detach() is y, y.detach()._is_view(), raises(lambda: y.detach_()), flags(y))
        for y in (
            leaf(T, [1.0]),
            leaf(T, [1.0]) * 2,
            T.ones(1),
            (leaf(T, [1.0]) * 1)[0:1],
            leaf(T, [1.0])[0],
            T.ones(2)[0],
        )
    ],
    data_assignment=lambda T: [
        (raises(lambda: setattr(x, "data", v)), x, x._version, flags(x))
        for x, v in (
            (leaf(T, [1.0, 2.0]), v)
            for v in (T.zeros(2), T.zeros(3), T.zeros(2, dtype=T.float64), T.tensor([1, 2]), 3.0, None, leaf(T, [5.0]))
        )
    ],
    deepcopies=lambda T: [
        copy_of(T, copy.deepcopy, m)
        for m in (
            lambda: T.ones(2),
            lambda: leaf(T, [1.0]),
            lambda: leaf(T, [1.0]) * 2,
            lambda: T.nn.Parameter(T.ones(2)),
            lambda: T.ones(2)[0],
            lambda: T.tensor([1, 2]),
            lambda: leaf(T, [1.0]).detach(),
        )
    ],
    shallow_copies=lambda T: [
        copy_of(T, copy.copy, m)
        for m in (
            lambda: T.ones(2),
            lambda: leaf(T, [1.0]),
            lambda: T.nn.Parameter(T.ones(2)),
            lambda: T.tensor([1, 2]),
        )
    ],
    clones=lambda T: [
        copy_of(T, lambda t: t.clone(), m)
        for m in (
            lambda: T.ones(2),
            lambda: leaf(T, [1.0]),
            lambda: leaf(T, [1.0]) * 2,
            lambda: T.nn.Parameter(T.ones(2)),
        )
    ],
    pickles=lambda T: [
        (lambda c: [c, flags(c), type(c).__name__])(pickle.loads(pickle.dumps(t)))
        for t in (T.ones(2), leaf(T, [1.0]), T.nn.Parameter(T.ones(2)), T.tensor([1, 2]))
    ],
    numpy_and_back=lambda T: [
        raises(lambda: leaf(T, [1.0]).numpy()),
        raises(lambda: (leaf(T, [1.0]) * 2).numpy()),
        raises(lambda: np.array(leaf(T, [1.0]))),
        T.ones(2).numpy().tolist(),
        leaf(T, [1.0]).detach().numpy().tolist(),
        str(T.ones(2, dtype=T.float64).numpy().dtype),
        str(T.tensor([True]).numpy().dtype),
        leaf(T, [1.0]).numpy(force=True).tolist(),
        np.asarray(T.ones(2)).tolist(),
    ],
    from_numpy_types=lambda T: (
        [T.from_numpy(np.array(v)) for v in ([1.0], [1], [True], [[1.0, 2.0]], 3.0)]
        + [
            T.tensor(np.array([1.0])),
            T.tensor(np.float32(2)),
            T.tensor(np.int64(2)),
            T.as_tensor(np.array([1])),
            T.tensor([np.float64(1.0), np.float64(2.0)]),
            T.tensor([np.float32(1.5)]),
        ]
    ),
    from_numpy_refusals=lambda T: [
        kind(lambda: T.from_numpy([1.0])),
        kind(lambda: T.from_numpy(T.ones(1))),
        kind(lambda: T.tensor(np.array(["a"]))),
        kind(lambda: T.tensor("a")),
        kind(lambda: T.tensor(None)),
        kind(lambda: T.tensor([[1], [2, 3]])),
        kind(lambda: T.tensor([1, "a"])),
        kind(lambda: T.tensor(object())),
        kind(lambda: T.tensor([None])),
        kind(lambda: T.tensor({1: 2})),
    ],
    construction_errors=lambda T: [
        raises(lambda: T.tensor([[1], [2, 3]])),
        raises(lambda: T.tensor([[1, 2], 3])),
        raises(lambda: T.tensor([[1.0], []])),
    ],
    construction=lambda T: [
        T.tensor([]),
        T.tensor([[]]),
        T.tensor([[], []]),
        T.tensor(1),
        T.tensor(True),
        T.tensor([1, True]),
        T.tensor([1.0, 2]),
        T.tensor([[1, 2], [3, 4]]),
        T.tensor((1, 2)),
        T.tensor([(1, 2)]),
        T.tensor(range(3)),
        T.tensor([1], dtype=T.float64),
        T.tensor([1.7], dtype=T.int64),
        T.tensor([0, 2], dtype=T.bool),
        T.tensor([T.tensor(1.0), T.tensor(2.0)]),
        T.tensor([float("inf"), float("nan")]),
    ],
    tensor_of_tensor=lambda T: [
        warned(lambda: T.tensor(T.ones(1))),
        warned(lambda: T.tensor(leaf(T, [1.0]))),
        warned(lambda: T.tensor(T.ones(2), requires_grad=True)),
        quiet(lambda: T.tensor([leaf(T, [1.0])[0]])),
        warned(lambda: T.as_tensor(T.ones(1))),
        warned(lambda: T.ones(1).new_tensor([1.0])),
    ],
    factories=lambda T: [
        T.zeros(2),
        T.ones((2, 1)),
        T.full((2,), 3),
        T.full((2,), 3.0),
        T.full((), True),
        T.eye(2),
        T.eye(2, 3),
        T.arange(3),
        T.arange(1, 4),
        T.arange(0, 1, 0.25),
        T.arange(3, 0, -1),
        T.linspace(0, 1, 5),
        T.zeros(2, dtype=T.int64),
        T.zeros([]),
        T.zeros(()),
        T.ones(0),
        T.ones(2, 0),
        T.arange(0),
        T.arange(3.5),
        T.linspace(1, 2, 1),
    ],
    factory_refusals=lambda T: [
        kind(lambda: T.zeros(-1)),
        kind(lambda: T.arange(0, 3, 0)),
        kind(lambda: T.arange(3, 0)),
        kind(lambda: T.zeros(1.5)),
        kind(lambda: T.zeros("a")),
        kind(lambda: T.linspace(0, 1, -1)),
        kind(lambda: T.full((2,), "a")),
        kind(lambda: T.ones(2, dtype="float32")),
        kind(lambda: T.eye(-1)),
    ],
    factory_messages=lambda T: [
        raises(lambda: T.arange(0, 3, 0)),
        raises(lambda: T.arange(3, 0)),
        raises(lambda: T.linspace(0, 1, -1)),
    ],
    likes=lambda T: (
        lambda x: [
            T.zeros_like(x),
            T.ones_like(x, dtype=T.int64),
            T.full_like(x, 2),
            T.empty_like(x).shape,
            T.rand_like(x).shape,
            T.randn_like(x).dtype,
            x.new_zeros(2, 2),
            x.new_ones((3,)),
            x.new_full((2,), 7.0),
            x.new_empty(2).shape,
            T.zeros_like(x, requires_grad=True),
            T.randint_like(x, 3).shape,
        ]
    )(leaf(T, [1.0, 2.0], "float64")),
    random_shapes=lambda T: [
        t.shape
        for t in (
            T.rand(2, 3),
            T.randn((2,)),
            T.randint(5, (2, 2)),
            T.randperm(4),
            T.rand(()),
            T.normal(0.0, 1.0, (2,)),
            T.bernoulli(T.ones(3)),
            T.rand_like(T.ones(2)),
            T.empty(3).uniform_(),
            T.empty(3).normal_(),
        )
    ],
    random_types=lambda T: [
        t.dtype
        for t in (
            T.rand(2),
            T.randn(2, dtype=T.float64),
            T.randint(5, (2,)),
            T.randperm(4),
            T.randint(0, 5, (2,), dtype=T.float32),
            T.rand(2, dtype=T.float64),
        )
    ],
    random_ranges=lambda T: (
        T.manual_seed(3),
        [
            bool(((x := T.rand(1000)) >= 0).all() and (x < 1).all()),
            abs(x.mean().item() - 0.5) < 0.1,
            abs(T.randn(2000).std().item() - 1) < 0.1,
            T.randint(2, 4, (500,)).unique(),
            T.randperm(5).sort()[0],
            bool((T.empty(100).uniform_(2, 3) >= 2).all()),
            T.bernoulli(T.zeros(3)),
            T.bernoulli(T.ones(3)),
            T.empty(100).normal_(5.0, 0.0).mean(),
        ],
    )[1],
    seeds_repeat=lambda T: [
        (T.manual_seed(7), T.rand(3), T.manual_seed(7), T.rand(3))[1::2][0].tolist()
        == (T.manual_seed(7), T.rand(3))[1].tolist(),
        (T.manual_seed(7), T.randn(3))[1].tolist() == (T.manual_seed(8), T.randn(3))[1].tolist(),
    ],
    random_refusals=lambda T: [
        kind(lambda: T.randint(0, (2,))),
        kind(lambda: T.rand(-1)),
        kind(lambda: T.randperm(-1)),
        kind(lambda: T.tensor([1]).uniform_()),
        kind(lambda: leaf(T, [1.0]).normal_()),
        kind(lambda: T.randn(2, dtype=T.int64)),
        kind(lambda: T.rand(2, dtype=T.int64)),
    ],
    random_in_graph=lambda T: [
        graph((leaf(T, [1.0]) * 1).uniform_().grad_fn),
        graph((leaf(T, [1.0]) * 1).normal_().grad_fn),
    ],
    default_dtypes=lambda T: T.get_default_dtype(),
    dtype_objects=lambda T: [
        str(T.float32),
        repr(T.int64),
        T.float32.is_floating_point,
        T.int64.is_floating_point,
        T.float64.itemsize,
        T.bool,
        T.float is T.float32,
        T.long is T.int64,
        T.double is T.float64,
        T.float32 == T.float64,
        T.ones(1).dtype is T.float32,
        T.finfo(T.float32).eps,
        T.iinfo(T.int64).max,
    ],
    devices=lambda T: [
        str(T.ones(1).device),
        T.device("cpu"),
        T.ones(1).is_cuda,
        T.ones(1, device="cpu").device == T.device("cpu"),
        T.device("cpu").type,
        T.cuda.is_available(),
    ],
    conversion_methods=lambda T: (
        lambda x: [
            x.to(T.float64),
            x.to(T.float32) is x,
            x.to(dtype=T.int64),
            x.to("cpu") is x,
            x.to(T.ones(1, dtype=T.float64)),
            x.type(T.float64),
            x.type_as(T.tensor([1])),
            x.to("cpu", T.float64),
            x.to(T.float32, copy=True) is x,
            x.cpu() is x,
            x.type(),
        ]
    )(T.tensor([1.5])),
    identity_and_hash=lambda T: (lambda x: [x in [x], hash(x) == hash(x), {x: 1}[x], x is x, len({x, x.detach()})])(
        T.ones(1)
    ),
    attributes_of_tensors=lambda T: (
        lambda x: [
            x.is_leaf,
            x.requires_grad,
            x.grad,
            x.grad_fn,
            x._version,
            x.retains_grad,
            x.output_nr,
            x.ndim,
            x.itemsize,
            x.nbytes,
            x.layout,
            x.is_sparse,
            x.element_size(),
            x.is_floating_point(),
            x._is_view(),
            kind(lambda: x.nothing),
            kind(lambda: setattr(x, "shape", 3)),
        ]
    )(T.ones(2)),
    subclass_of_tensor=lambda T: (lambda x: [type(x).__name__, isinstance(x, T.Tensor), T.is_tensor(x)])(
        T.nn.Parameter(T.ones(1))
    ),
    tolist_forms=lambda T: [
        T.tensor(1).tolist(),
        T.tensor([True]).tolist(),
        T.ones(2, 0).tolist(),
        T.tensor([[1.5]]).tolist(),
    ],
)


def copy_of(T, how, make):
    x = make()
    if x.requires_grad and x.is_leaf:
        (x * 2).sum().backward()
    e = raises(lambda: how(x))
    if e:
        return e
    c = how(x)
    return [type(c).__name__, c, c is x, c.data_ptr() == x.data_ptr(), c._version, quiet(lambda: c.grad), flags(c)]


@program
def accumulate_grad_nodes(T):
    x = leaf(T, [1.0])
    y, z = x * 2, x * 3
    a = y.grad_fn.next_functions[0][0]
    b = z.grad_fn.next_functions[0][0]
    same, name, variable = a is b, a.name(), a.variable is x
    return [same, name, variable, type((x * 1).grad_fn.next_functions[0][0]).__name__]


@program
def two_leaves_one_gradient(T):
    out = []
    for f in (
        lambda x, w: x + w,
        lambda x, w: x - w,
        lambda x, w: T.cat([x, w]),
        lambda x, w: T.stack([x, w]).sum(1) if False else x * 1 + w * 1,
        lambda x, w: (x + w).view(2),
        lambda x, w: T.where(x > 9, x, w),
    ):
        x, w = leaf(T, [1.0, 2.0]), leaf(T, [3.0, 4.0])
        f(x, w).sum().backward()
        x.grad.mul_(100)
        out.append([x.grad, w.grad])
    return out


@program
def callers_gradient_stays(T):
    out = []
    for f in (
        lambda x: x * 1,
        lambda x: x + 1,
        lambda x: x.clone(),
        lambda x: x,
        lambda x: -x,
        lambda x: x.double().float(),
        lambda x: x + x,
    ):
        x, g = leaf(T, [1.0, 2.0]), T.tensor([1.0, 10.0])
        f(x).backward(g)
        x.grad.zero_()
        f(x).backward(g)
        out.append([g, x.grad, x.grad is g])
    return out


@program
def grad_identity_over_passes(T):
    x = leaf(T, [1.0])
    seen = []
    (x * 2).sum().backward()
    g = x.grad
    (x * 2).sum().backward()
    seen.append([x.grad is g, g])
    x.grad = None
    (x * 2).sum().backward()
    seen.append([x.grad is g, g, x.grad])
    del x.grad
    seen.append(x.grad)
    x.grad = g
    (x * 2).sum().backward()
    seen.append([x.grad is g, g])
    g.requires_grad_()
    return [seen, raises(lambda: (x * 2).sum().backward()), x.grad]


@program
def grad_flags_after_create_graph(T):
    x = leaf(T, [2.0])
    quiet(lambda: (x**2).sum().backward(create_graph=True))
    return [
        flags(x.grad),
        flags(x.grad.detach()),
        raises(lambda: x.grad.zero_()),
        x.grad,
        raises(lambda: x.grad.detach_()),
        flags(x.grad),
    ]


@program
def backward_on_leaves(T):
    return [
        raises(lambda: leaf(T, [1.0, 2.0]).backward()),
        raises(lambda: T.tensor(1.0).backward()),
        (lambda x: (x.backward(), x.grad)[1])(leaf(T, 2.0)),
        (lambda x: (x.backward(T.tensor([3.0, 4.0])), x.grad)[1])(leaf(T, [1.0, 2.0])),
        raises(lambda: T.tensor([1]).backward()),
        raises(lambda: leaf(T, [1.0]).detach().backward()),
    ]


@program
def update_styles(T):
    out = []
    for style in (
        "no_grad sub_",
        "no_grad -=",
        "data",
        "rebind",
        "no_grad rebind",
        "copy_",
        "data assign",
        "set_grad_enabled",
    ):
        w = leaf(T, [1.0])
        v = w
        (w * 3).sum().backward()
        if style == "no_grad sub_":
            with T.no_grad():
                w.sub_(w.grad, alpha=0.1)
        elif style == "no_grad -=":
            with T.no_grad():
                w -= 0.1 * w.grad
        elif style == "data":
            w.data -= 0.1 * w.grad
        elif style == "rebind":
            w = w - 0.1 * w.grad
        elif style == "no_grad rebind":
            with T.no_grad():
                w = w - 0.1 * w.grad
        elif style == "copy_":
            with T.no_grad():
                w.copy_(w - 0.1 * w.grad)
        elif style == "data assign":
            w.data = w.data - 0.1 * w.grad
        else:
            with T.set_grad_enabled(False):
                w.add_(w.grad, alpha=-0.1)
        out.append([w is v, flags(w), w, w._version, quiet(lambda: w.grad)])
    return out


@program
def detached_parts_of_a_graph(T):
    out = []
    for f in (
        lambda x, h: h * h.detach(),
        lambda x, h: h + (h * 2).detach(),
        lambda x, h: h.detach() * x,
        lambda x, h: (h.detach() + 1) * 2 + h * 0,
        lambda x, h: x + (h - x).detach(),
        lambda x, h: h / h.detach(),
        lambda x, h: h * T.tensor(h.tolist()),
        lambda x, h: h * h.data,
        lambda x, h: h * h.clone().detach(),
    ):
        x = leaf(T, [3.0])
        y = f(x, x * 2)
        y.sum().backward()
        out.append([y.detach(), x.grad])
    return out


@program
def requires_grad_off_and_on(T):
    x = leaf(T, [1.0])
    (x * 2).sum().backward()
    x.requires_grad_(False)
    y = x * 2
    x.requires_grad_(True)
    z = x * 3
    z.sum().backward()
    return [flags(y), x.grad, raises(lambda: y.sum().backward())]


@program
def grad_dtype_attribute(T):
    x = leaf(T, [1.0])
    return [raises(lambda: setattr(x, "grad", T.ones(1, dtype=T.float64)))]


@program
def weak_and_strong_references(T):
    x = leaf(T, [1.0])
    y = x * 2
    r = weakref.ref(x)
    n = y.grad_fn
    del x
    a = r() is not None
    v = n.next_functions[0][0].variable
    b = v is r()
    del v, y, n
    return [a, b, r() is None]
