"""Version counters: what counts, what does not, and the whole text of the error."""

import copy

from kit import kind, leaf, program, programs, raises


def counts(T, *acts, data=((0.25, 0.5), (0.75, 1.0))):
    """The version of a plain matrix after each act, and whether the act returned the matrix itself."""
    out = []
    for act in acts:
        x = T.tensor([list(r) for r in data])
        r = act(x)
        out.append([x._version, r is x, x])
    return out


programs(
    arithmetic_in_place=lambda T: counts(
        T,
        *[
            lambda x, n=n, a=a: getattr(x, n)(*a)
            for n, *a in [
                ("add_", 1),
                ("sub_", 1),
                ("mul_", 2),
                ("div_", 2),
                ("pow_", 2),
                ("neg_",),
                ("abs_",),
                ("exp_",),
                ("sqrt_",),
                ("sin_",),
                ("tanh_",),
                ("sigmoid_",),
                ("relu_",),
                ("zero_",),
                ("fill_", 1),
                ("clamp_", 0, 1),
                ("clamp_min_", 0.3),
                ("floor_",),
                ("round_",),
                ("reciprocal_",),
                ("copy_", 1),
                ("t_",),
                ("unsqueeze_", 0),
                ("squeeze_",),
                ("transpose_", 0, 1),
            ]
        ],
    ),
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
    writes_by_item=lambda T: counts(
        T,
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.__setitem__((0, 0), 1.0),
        lambda x: x.__setitem__(x > 0.5, 1.0),
        lambda x: x.__setitem__(T.tensor([0]), 1.0),
        lambda x: x.__setitem__(slice(None), 1.0),
        lambda x: x.__setitem__(..., 2.0),
        lambda x: x.__setitem__(0, x[1]),
        lambda x: x.__setitem__(slice(0, 0), 1.0),
    ),
    writes_of_nothing=lambda T: counts(
        T,
        lambda x: x.add_(0),
        lambda x: x.mul_(1),
        lambda x: x[0:0].zero_(),
        lambda x: x.copy_(x),
        lambda x: x.masked_fill_(x > 9, 0.0),
        lambda x: x.clamp_(-9, 9),
        lambda x: x.__setitem__(x > 9, 1.0),
    ),
    random_in_place=lambda T: [
        [x._version, r is x, x.shape]
        for x, r in ((x, getattr(x, n)(*a)) for x, n, a in [(T.zeros(3), "uniform_", ()), (T.zeros(3), "normal_", ())])
    ],
    not_counted=lambda T: counts(
        T,
        lambda x: x.requires_grad_(),
        lambda x: x.detach_(),
        lambda x: x.data.add_(1),
        lambda x: x.numpy().__setitem__(0, 9.0),
        lambda x: setattr(x, "data", T.zeros(2, 2)),
        lambda x: setattr(x, "grad", T.zeros(2, 2)),
        lambda x: x.tolist(),
        lambda x: x.contiguous(),
        lambda x: x.clone().add_(1),
        lambda x: setattr(x, "requires_grad", True),
    ),
    through_aliases=lambda T: counts(
        T,
        lambda x: x.detach().add_(1),
        lambda x: x[0].add_(1),
        lambda x: x.view(4).add_(1),
        lambda x: x.t().add_(1),
        lambda x: x.unbind()[0].add_(1),
        lambda x: x.expand(2, 2).add_(1),
        lambda x: x.reshape(4)[1:].zero_(),
        lambda x: x.diagonal().fill_(0),
        lambda x: x.detach().detach().zero_(),
        lambda x: x.detach()[0].zero_(),
    ),
    out_arguments=lambda T: counts(
        T,
        lambda x: T.add(T.ones(2, 2), 1, out=x),
        lambda x: T.mul(T.ones(2, 2), 2, out=x),
        lambda x: T.sub(x, 1, out=x),
    ),
    born_at_zero=lambda T: (
        lambda x: [
            x.clone()._version,
            (x + 1)._version,
            x.data._version,
            T.tensor(x)._version,
            x.new_zeros(2)._version,
            copy.copy(x)._version,
            copy.deepcopy(x)._version,
            x.detach()._version,
            x[0]._version,
            x.float()._version,
            x.double()._version,
        ]
    )(T.ones(2).add_(1).mul_(2)),
    integer_versions=lambda T: (lambda x: [x.add_(1)._version, x.mul_(2)._version, x.zero_()._version, x])(
        T.tensor([1, 2])
    ),
    increment_by_hand=lambda T: (
        lambda x: [
            T.autograd.graph.increment_version(x),
            x._version,
            T.autograd.graph.increment_version([x, x]),
            x._version,
        ]
    )(T.ones(2)),
    increment_of_view=lambda T: (lambda x: [T.autograd.graph.increment_version(x[0]), x._version])(T.ones(2)),
    increment_of_inference=lambda T: inference_increment(T),
    version_is_read_only=lambda T: kind(lambda: setattr(T.ones(1), "_version", 3)),
    refused_writes_do_not_count=lambda T: refused(T),
)


def inference_increment(T):
    with T.inference_mode():
        x = T.ones(1)
    return raises(lambda: T.autograd.graph.increment_version(x))


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
def which_uses_keep_their_input(T):
    uses = {
        "mul": lambda h: h * h,
        "pow": lambda h: h**2,
        "div": lambda h: 1 / h,
        "exp": T.exp,
        "log": T.log,
        "tanh": T.tanh,
        "relu": T.relu,
        "abs": T.abs,
        "clamp": lambda h: h.clamp(0, 1),
        "max": lambda h: h.max(),
        "sum": T.sum,
        "mean": T.mean,
        "softmax": lambda h: h.softmax(0),
        "cumsum": lambda h: h.cumsum(0),
        "cumprod": lambda h: h.cumprod(0),
        "prod": T.prod,
        "var": T.var,
        "std": T.std,
        "norm": T.norm,
        "index": lambda h: h[T.tensor([0])],
        "gather": lambda h: h.gather(0, T.tensor([0])),
        "where": lambda h: T.where(h > 0, h, -h),
        "sort": lambda h: h.sort()[0],
        "cat": lambda h: T.cat([h, h]),
        "mm": lambda h: h.view(1, 2) @ h.view(2, 1),
        "dot": lambda h: h @ h,
        "maximum": lambda h: T.maximum(h, -h),
        "sigmoid": T.sigmoid,
        "sqrt": T.sqrt,
        "atan": T.atan,
        "logsumexp": lambda h: h.logsumexp(0),
        "min_dim": lambda h: h.min(0)[0],
        "expand": lambda h: h.expand(2, 2),
        "repeat": lambda h: h.repeat(2),
        "masked_select": lambda h: h[h > 0],
        "gelu": T.nn.functional.gelu,
        "softplus": T.nn.functional.softplus,
        "lerp": lambda h: T.lerp(h, T.ones(2), 0.5),
        "double": lambda h: h.double(),
        "amax": lambda h: h.amax(0),
        "mse": lambda h: T.nn.functional.mse_loss(h, T.zeros(2)),
        "l1": lambda h: T.nn.functional.l1_loss(h, T.zeros(2)),
        "square": T.square,
    }
    return {n: changed(T, u, lambda h, y: h.add_(1)) for n, u in uses.items()}


@program
def which_uses_keep_their_result(T):
    uses = {
        "exp": T.exp,
        "sin": T.sin,
        "sqrt": T.sqrt,
        "relu": T.relu,
        "tanh": T.tanh,
        "mul": lambda h: h * h,
        "pow2": lambda h: h**2,
        "powh": lambda h: h**h,
        "2pow": lambda h: 2**h,
        "reciprocal": T.reciprocal,
        "softmax": lambda h: h.softmax(0),
        "cumprod": lambda h: h.cumprod(0),
        "abs": T.abs,
        "clamp": lambda h: h.clamp(0, 1),
        "rsqrt": T.rsqrt,
        "tan": T.tan,
        "expm1": T.expm1,
        "elu": T.nn.functional.elu,
        "log_softmax": lambda h: h.log_softmax(0),
        "div": lambda h: h / (h + 1),
        "amax": lambda h: h.amax(0, keepdim=True),
        "logsumexp": lambda h: h.logsumexp(0, True),
        "std": lambda h: h.std(0, keepdim=True),
        "norm": lambda h: h.norm(dim=0, keepdim=True),
        "prod": lambda h: h.prod(0, keepdim=True),
    }
    return {n: changed(T, u, lambda h, y: y.mul_(2)) for n, u in uses.items()}


@program
def names_in_the_message(T):
    makes = {
        "leaf": lambda x: x.detach() * 1,
        "add": lambda x: x + 1,
        "neg": lambda x: -x,
        "view": lambda x: (x * 1).view(2),
        "select": lambda x: (x * T.ones(1, 2))[0],
        "slice": lambda x: (x * 1)[:2],
        "exp": T.exp,
        "sum": lambda x: x.sum(0, True).expand(2).clone(),
        "to": lambda x: x.double(),
        "matmul": lambda x: T.ones(2, 2) @ x,
        "cat": lambda x: T.cat([x]),
        "stack": lambda x: T.stack([x])[0],
        "index": lambda x: x[T.tensor([0, 1])],
        "relu": T.relu,
        "clone": T.clone,
        "where": lambda x: T.where(x > 9, x, x),
        "softmax": lambda x: x.softmax(0),
        "pow": lambda x: x**2,
        "max": lambda x: T.maximum(x, x),
        "addmm": lambda x: x.addmm(T.ones(1, 2), T.ones(2, 2))[0].clone(),
        "repeat": lambda x: x[:1].repeat(2),
        "sort": lambda x: x.sort()[0],
        "rsub": lambda x: 1 - x,
        "mean": lambda x: x.mean(0, True),
        "to_contig": lambda x: x.view(1, 2).t().contiguous(),
    }
    w = leaf(T, [1.0])
    return {n: changed(T, lambda h: h * w, lambda h, y: h.detach().mul_(2), make) for n, make in makes.items()}


@program
def names_after_in_place(T):
    w = leaf(T, [1.0])
    acts = {
        "add_": lambda h: h.add_(1),
        "mul_": lambda h: h.mul_(2),
        "zero_": lambda h: h.zero_(),
        "fill_": lambda h: h.fill_(2),
        "copy_": lambda h: h.copy_(T.ones(2)),
        "setitem": lambda h: h.__setitem__(0, 1.0),
        "mask": lambda h: h.__setitem__(h > 0, 1.0),
        "relu_": lambda h: h.relu_(),
        "exp_": lambda h: h.exp_(),
        "sub_": lambda h: h.sub_(1),
        "view": lambda h: h.view(2, 1).add_(1),
        "clamp_": lambda h: h.clamp_(0, 1),
        "iadd": lambda h: h.__iadd__(w.detach()),
        "masked": lambda h: h.masked_fill_(h > 0, 0.0),
        "pow_": lambda h: h.pow_(2),
        "div_": lambda h: h.div_(2),
        "neg_": lambda h: h.neg_(),
        "unsq": lambda h: h.unsqueeze_(0),
        "two": lambda h: h.add_(1).add_(1),
        "nograd": lambda h: h.data.add_(1) is None or h.detach().add_(1),
    }
    return {n: changed(T, lambda h: h * w, lambda h, y: act(h)) for n, act in acts.items()}


@program
def shapes_and_types_in_the_message(T):
    out = []
    for data, dtype in (
        ([1.0], None),
        (2.0, None),
        ([[1.0, 2.0]], None),
        ([1.0, 2.0], "float64"),
        ([[[1.0]]], "float64"),
    ):
        x = leaf(T, data, dtype)
        h = x * 1
        y = h.sin().sum()
        h.mul_(2)
        out.append(raises(lambda: y.backward()))
    i, b = T.tensor([0]), T.tensor([True, False])
    x = leaf(T, [1.0, 2.0])
    y, z = x[i].sum(), T.where(b, x, 0.0).sum()
    i.add_(1)
    b.zero_()
    return [out, raises(lambda: y.backward()), raises(lambda: z.backward())]


@program
def views_in_the_message(T):
    out = []
    for view in (
        lambda h: h[0],
        lambda h: h.t(),
        lambda h: h.view(4),
        lambda h: h[:, 1:],
        lambda h: h.diagonal(),
        lambda h: h.unsqueeze(0),
        lambda h: h.expand(2, 2, 2),
        lambda h: h.unbind()[1],
        lambda h: h.permute(1, 0),
        lambda h: h.narrow(0, 0, 1),
    ):
        h = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
        v = view(h)
        y = (v * v).sum()
        with T.no_grad():
            h.add_(1)
        out.append(raises(lambda: y.backward()))
    return out


@program
def several_changes_several_versions(T):
    h = leaf(T, [1.0]) * 1
    ys = []
    for _ in range(4):
        ys.append(h.sin().sum())
        h.add_(1)
    ys.append(h.sin().sum())
    return [raises(lambda y=y: y.backward()) for y in ys]


@program
def optimizer_steps_count(T):
    out = []
    for make in (
        lambda p: T.optim.SGD(p, lr=0.1),
        lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: T.optim.Adam(p),
        lambda p: T.optim.AdamW(p),
    ):
        p = leaf(T, [1.0])
        opt = make([p])
        p.grad = T.ones(1)
        opt.step()
        out.append(p._version > 0)
    return out


@program
def state_dict_loading_counts(T):
    m = T.nn.Linear(2, 1)
    before = m.weight._version
    m.load_state_dict({k: v.clone() for k, v in m.state_dict().items()})
    return m.weight._version - before


@program
def grads_own_version(T):
    x = leaf(T, [1.0, 2.0])
    seen = []
    for _ in range(3):
        (x * 2).sum().backward()
        seen.append(x.grad._version)
    x.grad.zero_()
    x.grad *= 2
    x.grad.data.add_(1)
    return [seen, x.grad._version, x._version]


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
        version(lambda x: (x * 2).backward(given)),
        version(lambda x: x.backward(given)),
        version(lambda x: (x + 0).mean().backward()),
        version(lambda x: x.t().exp().sum().backward(), lambda: T.ones(2, 3)),
        version(lambda x: x.t().sum().backward(), lambda: T.ones(2, 3)),
        version(lambda x: x.sum().backward(), lambda: T.ones(6).as_strided((3,), (2,))),
        version(lambda x: (x + T.ones(2, 3)).sum().backward()),
    ]


@program
def kept_grad_is_changed(T):
    x = leaf(T, [1.0, 2.0])
    (x * 2).sum().backward()
    w = leaf(T, [1.0, 1.0])
    y = (x.grad * w).sum()
    (x * 2).sum().backward()
    return raises(lambda: y.backward())


@program
def error_leaves_the_rest_alone(T):
    x, w = leaf(T, [1.0]), leaf(T, [2.0])
    h = x * 1
    a = h.sin()
    b = w.sin()
    h.add_(1)
    e = raises(lambda: (a + b).sum().backward())
    return [e, x.grad, w.grad, raises(lambda: (a + b).sum().backward())]


@program
def order_decides_which_error(T):
    x = leaf(T, [1.0])
    h, k = x * 1, x * 2
    y = h.sin() + k.exp()
    z = y.sum()
    h.add_(1)
    k.add_(1)
    e = k.sin()
    k.mul_(2)
    return [raises(lambda: z.backward()), raises(lambda: e.sum().backward())]


@program
def no_grad_and_inference_writes_count(T):
    a = T.ones(2)
    with T.no_grad():
        a.add_(1)
    with T.inference_mode():
        a.mul_(2)
        a[0] = 3.0
    return [a._version, a]


@program
def in_place_twice_by_kind(T):
    out = {}
    for n in "exp_ sin_ sqrt_ tanh_ sigmoid_ relu_ abs_ neg_ reciprocal_".split():
        x = leaf(T, [0.25, 0.5])
        h = x * 1
        getattr(h, n)()
        getattr(h, n)()
        out[n] = [raises(lambda: h.sum().backward()), h._version, x.grad]
    return out


@program
def in_place_then_use_then_in_place(T):
    x, w = leaf(T, [2.0]), leaf(T, [3.0])
    h = x * 1
    h.mul_(w)
    k = h * w
    h.add_(k)
    h.sub_(1)
    return [raises(lambda: h.sum().backward()), x.grad, w.grad]


@program
def self_operations(T):
    out = []
    for act in (
        lambda h: h.add_(h),
        lambda h: h.sub_(h),
        lambda h: h.div_(h),
        lambda h: h.mul_(h.clone()),
        lambda h: h.pow_(h),
        lambda h: h.copy_(h),
        lambda h: h.add_(h.exp()),
        lambda h: h.mul_(h.detach()),
        lambda h: h.add_(h, alpha=2),
    ):
        x = leaf(T, [2.0])
        h = x * 1
        act(h)
        out.append([raises(lambda: h.sum().backward()), x.grad, h, h._version])
    return out
