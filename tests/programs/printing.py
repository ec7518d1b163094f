"""What things print: tensors, sizes, types, nodes, handles, modes."""

import copy
import pickle

from tests.programs.kit import kind, leaf, programs

programs(
    long=lambda T: [repr(T.arange(2000)), repr(T.ones(40, 40)), repr(T.arange(1001.0)), repr(T.arange(1000.0))[:200]],
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
        repr(T.Size([])),
        T.Size([2, 3]) == [2, 3],
        {(2, 3): "found"}[T.Size([2, 3])],
        repr(T.ones(2, 3).stride()),
        *(
            repr(make(T.Size([2, 3])))
            for make in (
                lambda size: size[-1],
                lambda size: size[::-1],
                lambda size: size + (4,),
                lambda size: (4,) + size,
                lambda size: size * 2,
                lambda size: 2 * size,
                lambda size: pickle.loads(pickle.dumps(size)),
                copy.copy,
            )
        ),
    ],
    limits_of_types=lambda T: [
        [repr(limits), {name: getattr(limits, name) for name in names.split()}]
        for limits, names in (
            (T.iinfo(T.int64), "min max bits dtype"),
            (T.finfo(T.float32), "min max bits dtype eps tiny smallest_normal resolution"),
            (T.finfo(T.float64), "min max bits dtype eps tiny smallest_normal resolution"),
        )
    ],
    devices=lambda T: [repr(T.device("cpu")), str(T.device("cpu")), repr(T.ones(1).device)],
    pairs=lambda T: [
        repr(T.tensor([[1.0, 2.0]]).max(1)),
        repr(T.tensor([2.0, 1.0]).sort()),
        str(T.tensor([1.0, 2.0]).topk(1)),
        repr(T.tensor([1.0]).min(0)),
        repr(leaf(T, [[1.0, 2.0]]).max(1)),
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
    parameters=lambda T: [
        repr(T.nn.Parameter(T.tensor([1.5, 2.0]))),
        str(T.nn.Parameter(T.ones(1, dtype=T.float64))),
        repr([T.nn.Parameter(T.ones(1))]),
    ],
    print_options=lambda T: options(T),
)


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
