"""Version counters: what counts, what does not, and the whole text of the error."""

from tests.programs.kit import leaf, program, programs, raises


def counts(T, *acts, data=((0.25, 0.5), (0.75, 1.0))):
    """The version of a plain matrix after each act, and whether the act returned the matrix itself."""
    out = []
    for act in acts:
        x = T.tensor([list(r) for r in data])
        r = act(x)
        out.append([x._version, r is x, x])
    return out


programs(
    operators_in_place=lambda T: counts(
        T,
        lambda x: x.__iadd__(1),
        lambda x: x.__isub__(1),
        lambda x: x.__imul__(1),
        lambda x: x.__itruediv__(2),
        lambda x: x.__ipow__(2),
        lambda x: x.__ifloordiv__(2),
        lambda x: x.__imod__(2),
    ),
    not_counted=lambda T: counts(
        T,
        lambda x: x.requires_grad_(),
        lambda x: x.detach_(),
        lambda x: x.data.add_(1),
        lambda x: setattr(x, "data", T.zeros(2, 2)),
        lambda x: x.tolist(),
        lambda x: x.clone().add_(1),
        lambda x: setattr(x, "grad", x.clone()),
        lambda x: x.numpy().__setitem__(0, 5.0),
        lambda x: x[1:].detach() + 1,
    ),
    through_aliases=lambda T: counts(
        T,
        lambda x: x.detach().add_(1),
        lambda x: x[0].add_(1),
        lambda x: x.view(4).add_(1),
        lambda x: x.unbind()[0].add_(1),
        lambda x: x.reshape(4)[1:].zero_(),
        lambda x: x.detach().detach().zero_(),
    ),
    refused_writes_do_not_count=lambda T: refused(T),
)


def refused(T):
    x, a = leaf(T, [1.0, 2.0]), T.tensor([1, 2])
    e = T.ones(1).expand(2)
    errors = [
        raises(lambda: x.add_(1)),
        raises(lambda: a.add_(1.5)),
        raises(lambda: a.add_(T.ones(3, dtype=T.int64))),
        raises(lambda: e.add_(1)),
        raises(lambda: a.__setitem__(5, 1)),
    ]
    return [errors, x._version, a._version, e._version, x, a]


def changed(T, use, change, make=lambda x: x * 1, data=(0.5, 1.0), dtype=None):
    """The error of a backward after a change between use and backward."""
    x = leaf(T, list(data), dtype)
    h = make(x)
    y = use(h)
    change(h, y)
    return raises(lambda: (y if y.numel() == 1 else y.sum()).backward())


@program
def every_write_counts(T):
    increment = T.autograd.graph.increment_version
    changes = {
        "of nothing": lambda h, y: h.add_(0),
        "there and back": lambda h, y: h.add_(1).sub_(1),
        "only said": lambda h, y: increment(h),
        "of several": lambda h, y: increment([h, y]),
        "of the result": lambda h, y: y.detach().mul_(2),
    }
    return {n: changed(T, lambda h: (h * 1).exp() + h.sin(), change) for n, change in changes.items()}


@program
def a_gradient_that_is_copied_was_written(T):
    """What others can see is copied into new memory, a write; what nobody else sees becomes `.grad` as it is."""
    given = T.ones(3)

    def version(act, make=lambda: T.ones(3)):
        x = make().requires_grad_()
        act(x)
        return x.grad._version

    return [
        version(lambda x: x.sum().backward()),
        version(lambda x: (x * 2).sum().backward()),
        version(lambda x: (x + 1).backward(given)),
        version(lambda x: x.backward(given)),
        version(lambda x: x.t().exp().sum().backward(), lambda: T.ones(2, 3)),
        version(lambda x: x.sum().backward(), lambda: T.ones(6).as_strided((3,), (2,))),
    ]


@program
def kept_grad_is_changed(T):
    x = leaf(T, [1.0, 2.0])
    (x * 2).sum().backward()
    w = leaf(T, [1.0, 1.0])
    y = (x.grad * w).sum()
    (x * 2).sum().backward()
    return raises(lambda: y.backward())
