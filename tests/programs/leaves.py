"""Leaves, .grad, detach, requires_grad, copies, conversions and NumPy."""

import copy
import pickle
import weakref

import numpy as np

from tests.programs.kit import flags, kind, leaf, program, programs, quiet, raises, warned

programs(
    who_is_a_leaf=lambda T: [
        flags(t)
        for t in (
            T.ones(1),
            leaf(T, [1.0]) * 1,
            leaf(T, [1.0]).data,
            leaf(T, [1.0])[0],
            leaf(T, [1.0]).long(),
            T.nn.Parameter(T.ones(1)) * 1,
            leaf(T, [1.0]).requires_grad_(False),
            leaf(T, [1.0]).to("cpu"),
            T.empty(2, requires_grad=True),
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
                lambda x: x.copy_(T.ones(2)),
                lambda x: x.data.add_(1),
                lambda x: x.detach().add_(1),
                lambda x: x.t_(),
                lambda x: x.masked_fill_(x > 1, 0.0),
                lambda x: x.__setitem__(x > 1, 0.0),
                lambda x: x.requires_grad_(False).add_(1),
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
    grad_warnings=lambda T: [
        warned(lambda: t.grad) for t in (leaf(T, [1.0]), leaf(T, [1.0]) * 1, T.ones(1), leaf(T, [1.0])[0])
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
    from_numpy_refusals=lambda T: [
        kind(lambda: T.from_numpy([1.0])),
        kind(lambda: T.from_numpy(T.ones(1))),
        kind(lambda: T.tensor("a")),
        kind(lambda: T.tensor([[1], [2, 3]])),
        kind(lambda: T.tensor([1, "a"])),
        kind(lambda: T.tensor([None])),
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
        ]
    )(leaf(T, [1.0, 2.0], "float64")),
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
    conversion_methods=lambda T: (
        lambda x: [
            x.to(T.float64),
            x.to(T.float32) is x,
            x.to(dtype=T.int64),
            x.to("cpu") is x,
            x.to(T.ones(1, dtype=T.float64)),
            x.type(T.float64),
            x.to("cpu", T.float64),
            x.to(T.float32, copy=True) is x,
            x.cpu() is x,
            x.type(),
        ]
    )(T.tensor([1.5])),
    attributes_of_tensors=lambda T: (
        lambda x: [
            [getattr(x, name) for name in "is_leaf requires_grad grad grad_fn _version retains_grad output_nr".split()],
            [getattr(x, name) for name in "ndim itemsize nbytes layout is_sparse".split()],
            [getattr(x, name)() for name in "element_size is_floating_point _is_view".split()],
            kind(lambda: x.nothing),
            kind(lambda: setattr(x, "shape", 3)),
        ]
    )(T.ones(2)),
    subclass_of_tensor=lambda T: (lambda x: [type(x).__name__, isinstance(x, T.Tensor), T.is_tensor(x)])(
        T.nn.Parameter(T.ones(1))
    ),
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
def two_leaves_one_gradient(T):
    out = []
    for f in (
        lambda x, w: x + w,
        lambda x, w: x - w,
        lambda x, w: T.cat([x, w]),
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
    g, memory = x.grad, x.grad.numpy()
    (x * 2).sum().backward()
    seen.append([x.grad is g, g, memory.tolist()])
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
