"""What things print: tensors, sizes, types, nodes, handles, modes."""

from kit import kind, leaf, programs

programs(
    numbers=lambda T: [
        repr(T.tensor(v))
        for v in (
            1.0,
            1,
            True,
            0.5,
            -3.25,
            1e10,
            1e-10,
            float("inf"),
            float("-inf"),
            float("nan"),
            123456.0,
            0.1,
            100.5,
            1e5,
            12345678.0,
            -0.0,
        )
    ],
    vectors=lambda T: [
        repr(T.tensor(v))
        for v in (
            [1.0, 2.0],
            [1.5, 100.0],
            [1.0, 1000.5],
            [1e-5, 1.0],
            [1e8, 1.0],
            [1.0, float("nan")],
            [float("inf"), 1.0],
            [1, 10, 100],
            [True, False],
            [],
            [[]],
            [0.1, 0.25],
            [-1.0, 2.0],
            [1e-8, 1e8],
            [0.0, 0.0],
            [10000.0, 0.1],
            [123456789.0],
            [0.00001],
        )
    ],
    matrices=lambda T: [
        repr(T.tensor([[1.0, 2.0], [3.0, 4.5]])),
        repr(T.arange(24).view(2, 3, 4)),
        repr(T.ones(2, 1, 2)),
        repr(T.zeros(2, 0)),
        repr(T.zeros(0, 2)),
        repr(T.arange(30.0)),
        repr(T.arange(100).view(10, 10) * 1000),
        repr(T.ones(1, 1, 1, 1)),
    ],
    long=lambda T: [repr(T.arange(2000)), repr(T.ones(40, 40)), repr(T.arange(1001.0)), repr(T.arange(1000.0))[:200]],
    notes=lambda T: [
        repr(t)
        for t in (
            leaf(T, [1.0]),
            leaf(T, [1.0]) * 2,
            leaf(T, 1.0).exp(),
            T.ones(1, dtype=T.float64),
            leaf(T, [1.0], "float64"),
            leaf(T, [1.0], "float64") * 2,
            T.tensor([], dtype=T.int64),
            leaf(T, [1.0]).view(1),
            leaf(T, [1.0])[0],
            leaf(T, [1.0]).unbind()[0],
            leaf(T, [1.0]).detach(),
            (leaf(T, [1.0]) * 1).add_(1),
            T.zeros(0, requires_grad=True),
            leaf(T, [1.0] * 12).exp(),
        )
    ],
    after_view_writes=lambda T: view_write(T),
    formats=lambda T: [
        f"{T.tensor(1.5)}",
        f"{T.tensor(1.5):.3f}",
        f"{T.tensor([1.5])}",
        f"{leaf(T, 2.0)}",
        f"{T.tensor(3):d}",
        f"{T.tensor(2.0):>8}",
        str(T.tensor([1.0])),
        f"{T.tensor(1.0):.2f}",
        f"{T.tensor(True)}",
        kind(lambda: f"{T.ones(2):.3f}"),
    ],
    sizes=lambda T: [
        repr(T.ones(2, 3).shape),
        str(T.Size([])),
        repr(T.Size([1])[0:1]),
        T.Size([2, 3]) == (2, 3),
        T.Size([2, 3]) == [2, 3],
        hash(T.Size([1])) == hash((1,)),
        isinstance(T.ones(1).shape, tuple),
        repr(T.ones(2, 3).stride()),
        list(T.Size([2, 3])),
        T.Size([2]) + (3,),
        repr((1,) + T.Size([2])),
        T.Size([1, 2]).count(1),
        f"{T.Size([2])}",
    ],
    types=lambda T: [str(T.float32), repr(T.int64), str(T.bool), f"{T.float64}", str(T.ones(1).dtype)],
    devices=lambda T: [repr(T.device("cpu")), str(T.device("cpu")), repr(T.ones(1).device)],
    pairs=lambda T: [
        repr(T.tensor([[1.0, 2.0]]).max(1)),
        repr(T.tensor([2.0, 1.0]).sort()),
        str(T.tensor([1.0, 2.0]).topk(1)),
        repr(T.tensor([1.0]).min(0)),
        repr(leaf(T, [[1.0, 2.0]]).max(1)),
    ],
    nodes=lambda T: [
        repr(f)
        for f in (
            (leaf(T, [1.0]) * 2).grad_fn,
            leaf(T, [1.0]).sum().grad_fn,
            (leaf(T, [1.0]) * 2).grad_fn.next_functions,
            (leaf(T, [1.0]) * 1).add_(1).grad_fn,
        )
    ],
    node_names=lambda T: [
        f.grad_fn.name()
        for f in (
            leaf(T, [1.0]) * 2,
            (leaf(T, [1.0]) * 1).copy_(T.ones(1)),
            view_written(T),
            leaf(T, [1.0])[T.tensor([0])],
            leaf(T, [1.0]).double(),
            T.cat([leaf(T, [1.0])]),
        )
    ],
    empty_containers=lambda T: [repr(T.nn.ModuleList()), repr(T.nn.Sequential()), repr(T.nn.ModuleDict())],
    parameters=lambda T: [
        repr(T.nn.Parameter(T.tensor([1.5, 2.0]))),
        str(T.nn.Parameter(T.ones(1, dtype=T.float64))),
        repr([T.nn.Parameter(T.ones(1))]),
    ],
    numbers_in_columns=lambda T: [
        repr(T.tensor([[1.0, -20.5], [300.25, 4.0]])),
        repr(T.tensor([[1, -20], [300, 4]])),
        repr(T.tensor([[True, False]])),
        repr(T.tensor([1e-3, 1.0])),
        repr(T.tensor([0.001, 0.01])),
        repr(T.tensor([99999.0, 0.5])),
        repr(T.tensor([1.0, 1e4])),
        repr(T.linspace(0, 1, 11)),
        repr(T.tensor([1 / 3, 2 / 3])),
    ],
    print_options=lambda T: options(T),
)


def view_write(T):
    h = leaf(T, [1.0, 2.0]) * 1
    v = h[:1]
    v.mul_(2)
    return [repr(h), repr(v)]


def view_written(T):
    h = leaf(T, [1.0, 2.0]) * 1
    h[0] = 5.0
    return h


def options(T):
    T.set_printoptions(precision=2)
    a = repr(T.tensor([1 / 3]))
    T.set_printoptions(sci_mode=True)
    b = repr(T.tensor([1.5]))
    T.set_printoptions(profile="default")
    return [a, b, repr(T.tensor([1 / 3]))]
