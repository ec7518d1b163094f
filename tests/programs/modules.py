"""Modules, parameters, buffers, state dicts, layers, losses, initialisation, data."""

from collections import OrderedDict

from tests.programs.kit import graph, kind, leaf, program, programs, raises, warned

ACTIVATIONS = "ReLU Tanh Sigmoid GELU SiLU LeakyReLU Softplus Identity".split()


def set_all(T, m):
    """The module with fixed parameters, so that it is the same on both libraries."""
    k = 0
    with T.no_grad():
        for p in m.parameters():
            n = p.numel()
            p.copy_((T.arange(1.0, n + 1) / 7 - 0.4 + 0.1 * k).reshape(p.shape).to(p.dtype))
            k += 1
    return m


def through(T, m, data, *more):
    """Output of a module and gradients of its input and parameters."""
    set_all(T, m)
    x = leaf(T, data)
    y = m(x, *more)
    y = y[0] if isinstance(y, tuple) else y
    (y * (T.arange(1.0, y.numel() + 1).reshape(y.shape))).sum().backward()
    return [y, x.grad, {n: p.grad for n, p in m.named_parameters()}]


X = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]
IMAGE = [[[[1.0, 2.0, 3.0, 0.5], [4.0, -5.0, 6.0, 1.0], [7.0, 8.0, -9.0, 2.0], [0.0, 1.0, 2.0, 3.0]]]]

programs(
    activations=lambda T: {n: through(T, getattr(T.nn, n)(), X) for n in ACTIVATIONS},
    activations_with_arguments=lambda T: [
        through(T, m, X)
        for m in (
            T.nn.Softmax(dim=1),
            T.nn.LogSoftmax(1),
            T.nn.LeakyReLU(0.3),
            T.nn.Softplus(2, 1),
            T.nn.GELU(approximate="tanh"),
            T.nn.Flatten(),
        )
    ],
    printed_modules=lambda T: [
        repr(m)
        for m in (
            *(getattr(T.nn, name)() for name in (*ACTIVATIONS, "MSELoss", "CrossEntropyLoss", "Flatten", "Module")),
            T.nn.Linear(2, 3, bias=False),
            T.nn.ReLU(inplace=True),
            T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Tanh()),
            T.nn.Dropout(0.1, True),
            T.nn.BatchNorm1d(2, eps=1e-3, momentum=0.2, affine=False, track_running_stats=False),
            T.nn.BatchNorm2d(2),
            T.nn.Embedding(3, 2, padding_idx=0),
            T.nn.Conv1d(1, 2, 3),
            T.nn.Conv2d(1, 2, 3, stride=2, padding=1),
            T.nn.LayerNorm((2, 3), eps=1e-3),
            T.nn.LayerNorm(2, bias=False),
            T.nn.Softmax(dim=1),
            T.nn.LeakyReLU(0.1),
            T.nn.ModuleList([T.nn.Linear(1, 1), T.nn.Linear(1, 1)]),
            T.nn.ModuleDict({"a": T.nn.ReLU()}),
            T.nn.MaxPool2d(2),
            T.nn.AvgPool2d(2),
            T.nn.LSTMCell(2, 3),
        )
    ],
    linear_errors=lambda T: [
        raises(lambda: T.nn.Linear(3, 2)(T.ones(2, 4))),
        raises(lambda: T.nn.Linear(3, 2)(T.ones(2, 3, dtype=T.float64))),
        raises(lambda: T.nn.Linear(3, 2)(T.tensor([[1, 2, 3]]))),
        kind(lambda: T.nn.Linear(3)),
        kind(lambda: T.nn.Linear(3, 2)([1.0])),
    ],
    convolutions=lambda T: [
        through(T, T.nn.Conv2d(1, 2, 2), IMAGE),
        through(T, T.nn.Conv2d(1, 1, 3, stride=2, padding=1, bias=False), IMAGE),
        through(T, T.nn.Conv2d(1, 2, (1, 2)), IMAGE),
        through(T, T.nn.Conv1d(1, 2, 2), IMAGE[0][0][:1]),
    ],
    convolution_errors=lambda T: [
        raises(lambda: T.nn.Conv2d(1, 1, 2)(T.ones(1, 2, 3, 3))),
        raises(lambda: T.nn.Conv2d(1, 1, 5)(T.ones(1, 1, 3, 3))),
        raises(lambda: T.nn.Conv2d(1, 1, 2)(T.ones(3))),
    ],
    pools=lambda T: [
        through(T, T.nn.MaxPool2d(2), IMAGE),
        through(T, T.nn.AvgPool2d(2), IMAGE)[1:],
        through(T, T.nn.MaxPool2d(2, stride=1), IMAGE),
    ],
    norms=lambda T: [
        through(T, T.nn.LayerNorm(3), X),
        through(T, T.nn.LayerNorm((2, 3), elementwise_affine=False), X),
        through(T, T.nn.BatchNorm1d(3), X),
        through(T, T.nn.BatchNorm1d(3, affine=False), X),
        through(T, T.nn.BatchNorm1d(3).eval(), X),
        through(T, T.nn.BatchNorm1d(3, track_running_stats=False).eval(), X),
        through(T, T.nn.BatchNorm2d(1), IMAGE),
    ],
    norm_errors=lambda T: [
        raises(lambda: T.nn.BatchNorm1d(3)(T.ones(2, 4))),
        raises(lambda: T.nn.BatchNorm1d(3)(T.ones(1, 3))),
        raises(lambda: T.nn.BatchNorm1d(3)(T.ones(3))),
        raises(lambda: T.nn.LayerNorm(3)(T.ones(2, 4))),
        raises(lambda: T.nn.BatchNorm2d(3)(T.ones(2, 3))),
    ],
    running_statistics=lambda T: stats(T),
    embeddings=lambda T: [
        embed(T, T.nn.Embedding(4, 2)),
        embed(T, T.nn.Embedding(4, 2, padding_idx=1)),
    ],
    embedding_errors=lambda T: [
        raises(lambda: T.nn.Embedding(2, 2)(T.tensor([2]))),
        raises(lambda: T.nn.Embedding(2, 2)(T.tensor([-1]))),
        kind(lambda: T.nn.Embedding(2, 2)(T.tensor([0.5]))),
        raises(lambda: T.nn.Embedding(2, 2, padding_idx=3)),
        T.nn.Embedding(3, 2, padding_idx=1).weight[1].detach(),
        T.nn.Embedding.from_pretrained(T.ones(2, 2)).weight.requires_grad,
    ],
    cells=lambda T: [
        through(T, T.nn.LSTMCell(3, 2), X),
        through(T, T.nn.LSTMCell(3, 2), X, (T.ones(2, 2), T.ones(2, 2))),
        through(T, T.nn.LSTMCell(3, 2, bias=False), X[0]),
    ],
    losses=lambda T: {
        n: [loss(T, getattr(T.nn, n)(reduction=r)) for r in ("mean", "sum", "none")]
        for n in "MSELoss L1Loss HuberLoss BCEWithLogitsLoss".split()
    },
    losses_with_arguments=lambda T: [
        loss(T, m)
        for m in (
            T.nn.HuberLoss(delta=0.5),
            T.nn.BCEWithLogitsLoss(pos_weight=T.tensor([2.0, 1.0, 3.0])),
        )
    ],
    class_loss_errors=lambda T: [
        raises(lambda: T.nn.functional.cross_entropy(T.ones(2, 3), T.tensor([0, 3]))),
        raises(lambda: T.nn.functional.cross_entropy(T.ones(2, 3), T.tensor([0]))),
        raises(lambda: T.nn.functional.cross_entropy(T.ones(2, 3), T.tensor([0.0, 1.0]))),
        raises(lambda: T.nn.functional.nll_loss(T.ones(2, 3), T.tensor([0, -1]))),
        raises(lambda: T.nn.functional.mse_loss(T.ones(1), T.ones(1), reduction="some")),
        raises(lambda: T.nn.functional.cross_entropy(T.ones(2, 3), T.tensor([0, 1]), weight=T.ones(2))),
    ],
    softmax_without_dim_warns=lambda T: [
        warned(lambda: T.nn.functional.softmax(T.ones(2))),
        warned(lambda: T.nn.Softmax()(T.ones(2, 2))),
    ],
    dropouts=lambda T: [
        T.nn.Dropout(0.0)(T.ones(3)),
        T.nn.Dropout(1.0)(T.ones(3)),
        T.nn.Dropout(0.5).eval()(T.ones(3)),
        raises(lambda: T.nn.Dropout(1.5)),
        raises(lambda: T.nn.functional.dropout(T.ones(1), -0.1)),
        sorted(set(T.nn.Dropout(0.5)(T.ones(200)).tolist())),
        (lambda x: (T.nn.functional.dropout(x, 0.5, True, True) is x, x._version))(T.ones(100)),
        graph(T.nn.functional.dropout(leaf(T, [1.0]), 0.5).grad_fn),
    ],
    init_functions=lambda T: (
        [
            (getattr(T.nn.init, n)(t, *a) is t, t)
            for n, *a in (("zeros_",), ("ones_",), ("constant_", 3.0))
            for t in (T.nn.Parameter(T.randn(2, 2)),)
        ]
        + [
            T.nn.init.calculate_gain("relu"),
            T.nn.init.calculate_gain("tanh"),
            raises(lambda: T.nn.init.xavier_uniform_(T.ones(2))),
            T.nn.init.calculate_gain("leaky_relu", 0.1),
            raises(lambda: T.nn.init.calculate_gain("leaky_relu", "x")),
            raises(lambda: T.nn.init.calculate_gain("LINEAR")),
            raises(lambda: T.nn.init.kaiming_uniform_(T.empty(2, 2), mode="wrong")),
        ]
    ),
    clip_functions=lambda T: [
        clip(T, lambda ps: T.nn.utils.clip_grad_norm_(ps, 1.0)),
        clip(T, lambda ps: T.nn.utils.clip_grad_norm_(ps, 1.0, norm_type=1)),
        clip(T, lambda ps: T.nn.utils.clip_grad_norm_(ps, 1.0, norm_type=float("inf"))),
        clip(T, lambda ps: T.nn.utils.clip_grad_norm_(ps[0], 100.0)),
        clip(T, lambda ps: T.nn.utils.clip_grad_value_(ps, 0.5)),
        clip(T, lambda ps: T.nn.utils.clip_grad_norm_([], 1.0)),
        clip(T, lambda ps: T.nn.utils.clip_grad_norm_((p for p in ps), 1.0)),
        clip(T, lambda ps: T.nn.utils.get_total_norm([p.grad for p in ps])),
    ],
    parameter_vectors=lambda T: (
        lambda m: [
            T.nn.utils.parameters_to_vector(m.parameters()),
            T.nn.utils.vector_to_parameters(T.ones(3), m.parameters()),
            m.weight,
        ]
    )(set_all(T, T.nn.Linear(2, 1))),
)


def clip(T, f):
    a, b = leaf(T, [3.0, 0.0]), leaf(T, [4.0])
    (a * a / 2).sum().backward()
    (b * b / 2).sum().backward()
    return [f([a, b]), a.grad, b.grad]


def stats(T):
    out = []
    for momentum in (0.1, 0.5, None):
        m = T.nn.BatchNorm1d(2, momentum=momentum)
        for _ in range(2):
            m(T.tensor([[1.0, 2.0], [3.0, 10.0]]))
        with T.no_grad():
            m(T.tensor([[0.0, 2.0], [0.0, 10.0]]))
        m.eval()
        out.append(
            [m.running_mean, m.running_var, m.num_batches_tracked, m(T.ones(1, 2)).detach(), m.running_mean._version]
        )
    return out


def embed(T, m):
    set_all(T, m)
    y = m(T.tensor([[0, 1], [1, 3]]))
    (y * 2).sum().backward()
    return [y, m.weight.grad]


def loss(T, m):
    x, t = leaf(T, X), T.tensor([[1.0, 0.0, 0.5], [0.0, 3.0, 1.0]])
    y = m(x, t)
    y.sum().backward()
    return [y, x.grad]


def net(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = T.nn.Linear(2, 3)
            self.b = T.nn.Sequential(T.nn.Tanh(), T.nn.Linear(3, 1))
            self.scale = T.nn.Parameter(T.ones(1))
            self.register_buffer("count", T.zeros(1))
            self.plain = T.ones(1)
            self.note = "text"

        def forward(self, x):
            return self.b(self.a(x)) * self.scale

    return set_all(T, Net())


@program
def names_of_everything(T):
    m = net(T)
    return [
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_buffers()],
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_children()],
        list(m.state_dict()),
        len(list(m.parameters(recurse=False))),
        [n for n, _ in m.named_parameters(prefix="p", recurse=False)],
        repr(m),
    ]


@program
def zeroing_gradients(T):
    m = net(T)
    m(T.ones(1, 2)).sum().backward()
    g = m.scale.grad
    m.zero_grad(set_to_none=False)
    a = [m.scale.grad, m.scale.grad is g]
    m.zero_grad()
    return [a, m.scale.grad]


@program
def setting_attributes(T):
    m = net(T)
    out = []
    for name, value in (
        ("scale", T.ones(1)),
        ("scale", None),
        ("count", T.ones(1)),
        ("count", None),
        ("a", 5),
        ("plain", T.nn.Parameter(T.ones(1))),
    ):
        out.append(
            [
                name,
                raises(lambda: setattr(m, name, value)),
                sorted(n for n, _ in m.named_parameters()),
                sorted(n for n, _ in m.named_buffers()),
                sorted(n for n, _ in m.named_children()),
            ]
        )
    return out


@program
def deleting_attributes(T):
    m = net(T)
    del m.scale, m.count, m.a
    return [list(m.state_dict()), raises(lambda: m.scale), raises(lambda: delattr(m, "nothing"))]


@program
def registering(T):
    m = T.nn.Module()
    m.register_parameter("p", T.nn.Parameter(T.ones(1)))
    m.register_parameter("none", None)
    m.register_buffer("b", None)
    m.own, m.taken = T.nn.Buffer(T.ones(1)), 5
    return [
        list(m.state_dict()),
        m.b,
        raises(lambda: m.register_parameter("a.b", T.nn.Parameter(T.ones(1)))),
        raises(lambda: m.register_parameter("", None)),
        raises(lambda: m.register_buffer("c", 3)),
        raises(lambda: setattr(m, "taken", T.nn.Buffer(T.ones(1)))),
        raises(lambda: m.add_module("x", 3)),
    ]


@program
def forgotten_init(T):
    class Net(T.nn.Module):
        def __init__(self):
            self.w = T.nn.Parameter(T.ones(1))

    class Net2(T.nn.Module):
        def __init__(self):
            self.l = T.nn.Linear(1, 1)

    return [raises(Net), raises(Net2)]


@program
def state_dict_loading(T):
    out = []
    m = net(T)
    good = m.state_dict()
    for change in (
        lambda d: d,
        lambda d: {k: v for k, v in d.items() if k != "scale"},
        lambda d: {**d, "extra": T.ones(1)},
        lambda d: {**d, "scale": T.ones(2)},
        lambda d: {**d, "scale": T.ones(1, dtype=T.float64) * 5},
        lambda d: {**d, "scale": 3},
        lambda d: {},
        lambda d: {**d, "count": T.tensor([7.0])},
    ):
        for strict in (True, False):
            m = net(T)
            r = []
            e = raises(lambda: r.append(m.load_state_dict(change(dict(good)), strict=strict)))
            out.append([e, repr(r), m.scale, m.count])
    return [out, raises(lambda: m.load_state_dict(3))]


@program
def state_dict_forms(T):
    m = net(T)
    sd = m.state_dict()
    return [
        type(sd).__name__,
        sd["a.weight"].requires_grad,
        sd["a.weight"].data_ptr() == m.a.weight.data_ptr(),
        list(m.state_dict(prefix="x."))[:2],
        m.state_dict(keep_vars=True)["scale"] is m.scale,
    ]


@program
def changing_types(T):
    m = net(T)
    p = m.scale
    m.double()
    out = [m.scale is p, m.a.weight.dtype, m.count.dtype, m(T.ones(1, 2, dtype=T.float64)).dtype, m.plain.dtype]
    out.append(m.float().scale.dtype)
    return [*out, m.to(T.float64).scale.dtype, m.to("cpu") is m, m.cpu() is m]


@program
def applying(T):
    m, seen = net(T), []
    r = m.apply(lambda x: seen.append(type(x).__name__))
    return [seen, r is m]


@program
def train_eval_flags(T):
    m = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.Sequential(T.nn.Dropout()))
    out = []
    for switch in (m.train, m.eval, lambda: m.train(False), lambda: m[1].train(), lambda: m.train(1)):
        out += [raises(switch), [k.training for k in m.modules()]]
    out += [m.eval() is m, m.train() is m, m.requires_grad_(False) is m]
    return [*out, [p.requires_grad for p in m.parameters()], m.requires_grad_().training]


@program
def sequential_rules(T):
    s = T.nn.Sequential(T.nn.Linear(1, 2), T.nn.Tanh())
    s.append(T.nn.Linear(2, 1))
    s.insert(0, T.nn.Identity())
    out = [len(s), [type(m).__name__ for m in s], type(s[1:3]).__name__, s[-1] is s[3], raises(lambda: s[9])]
    s[0] = T.nn.ReLU()
    del s[0]
    s.extend([T.nn.ReLU()])
    out += [len(s), type(s.pop(0)).__name__, list(s._modules)]
    d = T.nn.Sequential(OrderedDict([("a", T.nn.Linear(1, 1)), ("b", T.nn.ReLU())]))
    out += [d.a is d[0], list(d.state_dict()), repr(d)]
    s.add_module("last", T.nn.Tanh())
    out += [list(s._modules), [name for name in dir(s) if name in s._modules]]
    return [*out, raises(lambda: T.nn.Sequential(3)), raises(lambda: s.append(3))]


@program
def containers(T):
    modules = T.nn.ModuleList([T.nn.Linear(1, 1)])
    modules.append(T.nn.ReLU())
    modules.extend([T.nn.Tanh()])
    modules += [T.nn.Sigmoid()]
    modules.insert(0, T.nn.Identity())
    d = T.nn.ModuleDict({"a": T.nn.ReLU()})
    d["b"] = T.nn.Linear(1, 1)
    d.update({"c": T.nn.Tanh()})
    of_modules = [type(m).__name__ for m in modules], type(modules[1:]).__name__, modules[-1] is modules[4]
    of_d = (
        list(d.keys()),
        [type(m).__name__ for m in d.values()],
        "a" in d,
        len(d),
        type(d.pop("a")).__name__,
        [n for n, _ in d.items()],
    )
    return [
        of_modules,
        of_d,
        [[n for n, _ in each.named_parameters()] for each in (modules, d)],
        list(d),
        [raises(wrong) for wrong in (lambda: d["zz"], lambda: T.nn.ModuleList([3]), lambda: modules[10])],
    ]


@program
def loading(T):
    m = T.nn.Sequential(set_all(T, T.nn.Linear(2, 1)))
    c = T.nn.Sequential(T.nn.Linear(2, 1))
    r = c.load_state_dict(m.state_dict())
    v = c[0].weight._version
    c.load_state_dict(m.state_dict(), assign=True)
    return [
        repr(r),
        repr(m.load_state_dict(m.state_dict())),
        type(r).__name__,
        c[0].weight,
        v,
        c[0].weight.requires_grad,
        c[0].weight.data_ptr() == m[0].weight.data_ptr(),
    ]


@program
def reductions_of_a_parameter(T):
    """A Parameter is summed by the same operation as any tensor."""
    w = T.nn.Parameter(T.ones(2, 3))
    return graph(w.sum().grad_fn, 2), graph(w.mean().grad_fn, 2)
