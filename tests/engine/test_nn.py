"""Modules, layers and losses: the same lines on our engine and on real PyTorch must give the same answers."""

import copy
import importlib
import pickle
import warnings

import pytest
from facts import check_program, describe, name_of, same

import course_lib


def numbers(*shape, low=-2.0, high=2.0, seed=1):
    """Nested lists of numbers that look random and are always the same."""
    state, values = seed * 7919, []
    count = 1
    for n in shape:
        count *= n
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        values.append(low + (high - low) * state / 2**31)
    for n in reversed(shape[1:]):
        values = [values[i : i + n] for i in range(0, len(values), n)]
    return values


def seen(values):
    """What two libraries are compared by: numbers, text, names."""
    if hasattr(values, "detach"):
        return values.detach().tolist()
    if isinstance(values, list | tuple):
        return [seen(v) for v in values]
    return values


def error(call):
    """The error and its whole text; warnings as text in front of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = seen(call())
        except Exception as problem:
            result = f"{type(problem).__name__}: {problem}"
    return [f"{w.category.__name__}: {w.message}" for w in caught] + [result]


def linear(torch, weight, bias=None):
    """A Linear layer with given weights."""
    layer = torch.nn.Linear(len(weight[0]), len(weight), bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias))
    return layer


def counted(torch, module):
    """The module with its parameters set to 0, 0.1, 0.2 ..."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.arange(p.numel()).reshape(p.shape) * 0.1 - 0.2 * i)
    return module


# --- functions: value, node, saved tensors, first and second derivatives -----------------------------------

ACTIVATIONS = "logsigmoid gelu silu softplus elu".split()
LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits".split()
TARGETS, IGNORING = [0, 3, 1], [[0, 3], [1, -100], [2, 2]]


def function(call, *inputs):
    """A function of `F` and tensors, with the lists that those are made from."""
    return call, inputs


FUNCTIONS = {name: function(lambda F, x, name=name: getattr(F, name)(x), numbers(3, 4)) for name in ACTIVATIONS}
for _name in LOSSES:
    for _reduction in ("mean", "sum", "none"):
        FUNCTIONS[f"{_name}-{_reduction}"] = function(
            lambda F, x, t, name=_name, r=_reduction: getattr(F, name)(x, t, reduction=r),
            numbers(3, 4, low=0.1, high=0.9),
            numbers(3, 4, low=0.1, high=0.9, seed=2),
        )
for _reduction in ("mean", "sum", "none"):
    FUNCTIONS |= {
        f"cross_entropy-{_reduction}": function(
            lambda F, x, w, t, r=_reduction: F.cross_entropy(x, t, w.detach(), reduction=r, label_smoothing=0.2),
            numbers(3, 4),
            numbers(4, low=0.5),
            TARGETS,
        ),
        f"nll_loss 2d-{_reduction}": function(
            lambda F, x, t, r=_reduction: F.nll_loss(x, t, reduction=r), numbers(3, 4, 2), IGNORING
        ),
        f"soft targets-{_reduction}": function(
            lambda F, x, t, r=_reduction: F.cross_entropy(x, t, reduction=r, label_smoothing=0.1),
            numbers(3, 4),
            numbers(3, 4, low=0.1),
        ),
    }
FUNCTIONS |= {
    "weighted bce": function(
        lambda F, x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w.detach(), pos_weight=p.detach()),
        numbers(3, 4),
        numbers(3, 4, low=0.1, high=0.9),
        numbers(3, 4, low=0.5),
        numbers(4, low=0.5),
    ),
    "gelu tanh": function(lambda F, x: F.gelu(x, approximate="tanh"), numbers(3, 4)),
    "threshold": function(lambda F, x: F.threshold(x, 0.5, 0.2), numbers(3, 4)),
    "linear": function(lambda F, x, w, b: F.linear(x, w, b), numbers(3, 4), numbers(2, 4), numbers(2)),
    "linear 3d": function(lambda F, x, w, b: F.linear(x, w, b), numbers(2, 3, 4), numbers(2, 4), numbers(2)),
    "linear without bias": function(lambda F, x, w: F.linear(x, w), numbers(3, 4), numbers(2, 4)),
    "conv2d": function(
        lambda F, x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
        numbers(2, 2, 5, 4),
        numbers(3, 2, 3, 2),
        numbers(3),
    ),
    "conv2d in groups": function(
        lambda F, x, w: F.conv2d(x, w, None, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2),
        numbers(2, 4, 5, 4),
        numbers(2, 2, 3, 2),
    ),
    "conv2d same": function(lambda F, x, w: F.conv2d(x, w, padding="same"), numbers(1, 1, 4, 4), numbers(1, 1, 3, 3)),
    "conv1d": function(lambda F, x, w, b: F.conv1d(x, w, b, padding=1), numbers(2, 2, 5), numbers(3, 2, 3), numbers(3)),
    "max_pool2d": function(lambda F, x: F.max_pool2d(x, 2, stride=1, padding=1), numbers(2, 2, 4, 4)),
    "embedding": function(lambda F, w, i: F.embedding(i, w, padding_idx=-1), numbers(3, 2), [[0, 2], [2, 1]]),
    "batch_norm": function(
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), numbers(4, 3), numbers(3), numbers(3)
    ),
    "batch_norm in eval": function(
        lambda F, x, w, m: F.batch_norm(x, m.detach(), m.detach() * 2, w),
        numbers(4, 3, 2),
        numbers(3),
        numbers(3, low=1),
    ),
    "layer_norm": function(
        lambda F, x, w, b: F.layer_norm(x, (2, 3), w, b), numbers(4, 2, 3), numbers(2, 3), numbers(2, 3)
    ),
    "layer_norm alone": function(lambda F, x: F.layer_norm(x, (3,)), numbers(4, 3)),
    "normalize": function(lambda F, x: F.normalize(x), numbers(4, 3)),
    "attention": function(
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        numbers(1, 3, 2),
        numbers(1, 3, 2, seed=2),
        numbers(1, 3, 2, seed=3),
    ),
}
COMPOSED_DIFFERENTLY = {"attention", "gelu tanh", "soft targets-mean", "soft targets-sum"}  # other nodes, same numbers


def run(torch, name):
    """Value, node, saved names, gradients and gradients of gradients of one function."""
    call, inputs = FUNCTIONS[name]
    tensors = [
        torch.tensor(data) if flat(data) is int else torch.tensor(data, dtype=torch.float64, requires_grad=True)
        for data in inputs
    ]
    wanted = [t for t in tensors if t.requires_grad]
    y = call(torch.nn.functional, *tensors)
    slots = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
    kept = [name for name in slots if isinstance(getattr(y.grad_fn, name), torch.Tensor)]
    v = torch.arange(y.numel()).double().reshape(y.shape).sin() + 0.5
    grads = torch.autograd.grad(y, wanted, v, create_graph=True, allow_unused=True)
    start = (y * 0).sum()  # so that there is something to differentiate when no gradient depends on anything
    again = start + sum((g * g).sum() for g in grads if g is not None and g.requires_grad)
    second = torch.autograd.grad(again, wanted, allow_unused=True)
    return {"value": seen(y), "node": name_of(y.grad_fn), "saved": kept, "first": seen(grads), "second": seen(second)}


def flat(data):
    while isinstance(data, list):
        data = data[0]
    return type(data)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_as_in_pytorch(name, real_torch):
    """Value, node, what it keeps, and two derivatives of every function of nn.functional are PyTorch's."""
    ours, theirs = run(course_lib, name), run(real_torch, name)
    if name in COMPOSED_DIFFERENTLY:
        ours, theirs = ({k: found[k] for k in ("value", "first", "second")} for found in (ours, theirs))

    for fact in theirs:
        assert same(ours[fact], theirs[fact]), (fact, ours[fact], theirs[fact])


# --- programs ----------------------------------------------------------------------------------------------


def parameter(torch):
    """A Parameter prints as such, shares memory and counter with its data, and computes plain tensors."""
    data = torch.ones(2)
    p = torch.nn.Parameter(data)
    with torch.no_grad():
        p.add_(1)
    frozen = torch.nn.Parameter(torch.ones(1), requires_grad=False)
    return [
        repr(p),
        repr(frozen),
        str([p]),
        data._version,
        seen(data),
        type(p * 1).__name__,
        type(p.detach()).__name__,
        copy.deepcopy(frozen).requires_grad,
        torch.nn.Parameter(p * 2).is_leaf,
        list(torch.nn.Parameter().shape),
        error(lambda: torch.nn.Parameter(torch.tensor([1]))),
    ]


def printed_modules(torch):
    """Modules print their settings and their children, equal neighbours in a ModuleList once."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.ReLU(inplace=True)])
            self.scale = nn.Parameter(torch.ones(1))

        def extra_repr(self):
            return "first\nsecond"

    many = [
        nn.Linear(2, 1, bias=False),
        nn.Conv2d(1, 2, 3, padding=1, groups=1),
        nn.Conv1d(2, 4, 3, dilation=2, groups=2),
        nn.BatchNorm1d(3, momentum=None),
        nn.LayerNorm((2, 3), elementwise_affine=False),
        nn.Embedding(3, 4, padding_idx=0),
        nn.Dropout(0.2),
        nn.RNNCell(2, 3, nonlinearity="relu"),
        nn.LSTMCell(2, 3, bias=False),
        nn.Flatten(),
        nn.GELU(),
        nn.Softmax(dim=1),
        nn.LeakyReLU(0.1),
        nn.Softplus(),
        nn.MaxPool2d(2),
        nn.CrossEntropyLoss(),
        nn.Identity(),
        nn.ModuleDict({"a": nn.Tanh()}),
        nn.Sequential(),
    ]
    return [repr(Net()), *(repr(m) for m in many)]


def assignment(torch):
    """Assigning registers; what may stand in a registered place is checked; replacing keeps the order."""
    nn = torch.nn
    m = nn.Module()
    m.a, m.b, m.c = nn.Linear(1, 1), nn.Parameter(torch.ones(1)), nn.Buffer(torch.ones(1), persistent=False)
    m.register_buffer("d", torch.ones(1))
    m.register_parameter("e", None)
    m.a, m.e = nn.ReLU(), nn.Parameter(torch.zeros(1))
    found = [list(m._modules), list(m._parameters), list(m._buffers), list(m.state_dict()), "b" in dir(m)]
    del m.b
    return found + [
        list(m._parameters),
        error(lambda: setattr(m, "a", 3)),
        error(lambda: setattr(m, "e", torch.ones(1))),
        error(lambda: setattr(m, "d", "text")),
        error(lambda: m.nothing),
        error(lambda: delattr(m, "nothing")),
    ]


def refused_names(torch):
    """Names must be strings without dots that mean nothing else yet; values must fit."""
    nn = torch.nn
    found = []
    for method in ("register_parameter", "register_buffer", "add_module"):
        for name in ("a.b", "", "training", 3):
            found.append(error(lambda method=method, name=name: getattr(nn.Module(), method)(name, None)))
        found.append(error(lambda method=method: getattr(nn.Module(), method)("a", 1)))
    found.append(error(lambda: nn.Module().register_parameter("a", torch.ones(1))))
    return found


def forgotten_init(torch):
    """Assigning before super().__init__() is an error that says so."""
    nn = torch.nn

    def make(assign):
        class Net(nn.Module):
            def __init__(self):
                assign(self)

        return Net

    return [
        error(make(lambda m: setattr(m, "a", nn.ReLU()))),
        error(make(lambda m: setattr(m, "a", nn.Parameter(torch.ones(1))))),
        error(make(lambda m: m.register_buffer("a", None))),
        error(lambda: make(lambda m: None)()(1)),
        error(lambda: nn.Module()(1)),
    ]


def containers(torch):
    """Sequential, ModuleList, ModuleDict and the parameter containers behave as list and dict."""
    nn = torch.nn
    s = nn.Sequential(nn.ReLU(), nn.Tanh()).append(nn.Sigmoid())
    s.insert(1, nn.Identity())
    del s[0]
    s[0] = nn.Softplus()
    found = [repr(s), len(s), repr(s[1:]), repr(s[-1]), repr(s + s), error(lambda: s[5]), error(lambda: s["0"])]
    items = nn.ModuleList([nn.ReLU()])
    items += [nn.Tanh()]
    items.insert(0, nn.Identity())
    items[1] = nn.Sigmoid()
    found += [
        repr(items),
        repr(items.pop(0)),
        len(items),
        error(lambda: items(1)),
        error(lambda: items.append(3)),
        error(lambda: items.extend(3)),
    ]
    table = nn.ModuleDict([["x", nn.ReLU()]])
    table["y"] = nn.Tanh()
    found += [
        list(table),
        "x" in table,
        repr(table.pop("x")),
        len(table),
        error(lambda: table["q"]),
        error(lambda: nn.ModuleDict(3)),
    ]
    params = nn.ParameterList([torch.ones(1)])
    params.append(torch.ones(2))
    found += [
        repr(params),
        len(params),
        [n for n, _ in params.named_parameters()],
        repr(nn.ParameterDict({"a": torch.ones(2)})),
    ]
    return found


def shared_modules(torch):
    """A module used twice is listed once among parameters, twice in the state dict."""
    layer = torch.nn.Linear(2, 2)
    s = torch.nn.Sequential(layer, layer)
    return [
        [n for n, _ in s.named_parameters()],
        [n for n, _ in s.named_parameters(remove_duplicate=False)],
        list(s.state_dict()),
        [n for n, _ in s.named_modules()],
        [n for n, _ in s.named_modules(remove_duplicate=False)],
        [n for n, _ in s.named_children()],
    ]


def loading(torch):
    """Loading says what is missing, unknown and of the wrong shape, all at once."""
    nn = torch.nn
    two = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))
    bad = {"1.weight": torch.ones(2, 2), "1.bias": torch.ones(3), "2.a": 1, "q": 2}
    m = linear(torch, [[1.0, 2.0]], [0.5])
    old = m.weight
    result = m.load_state_dict({"weight": torch.zeros(1, 2), "bias": torch.ones(1)}, assign=True)
    return [
        error(lambda: two.load_state_dict(bad)),
        error(lambda: nn.Linear(2, 1).load_state_dict({})),
        repr(nn.Linear(2, 1).load_state_dict({}, strict=False)),
        error(lambda: nn.Linear(2, 1).load_state_dict(3)),
        error(lambda: nn.Linear(2, 1).load_state_dict({"weight": 1, "bias": torch.ones(1)})),
        repr(result),
        m.weight is old,
        seen(m.weight),
    ]


def state_dicts(torch):
    """A state dict aliases the parameters."""
    m = linear(torch, [[1.0, 2.0]], [0.5])
    state = m.state_dict()
    with torch.no_grad():
        m.weight.zero_()
    return [
        list(m.state_dict(prefix="a.")),
        seen(state["weight"]),
        state["weight"].requires_grad,
        error(lambda: m.load_state_dict({})),
        m.state_dict(keep_vars=True)["weight"] is m.weight,
        dict(torch.nn.BatchNorm1d(1).state_dict()._metadata),
    ]


def paths(torch):
    """Submodules, parameters and buffers are found by dotted names."""
    m = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(1, 2)))
    return [
        repr(m.get_submodule("0.0")),
        list(m.get_parameter("0.0.weight").shape),
        error(lambda: m.get_submodule("0.x")),
        error(lambda: m.get_parameter("0.0.x")),
        error(lambda: m.get_buffer("0.0.weight")),
    ]


def whole_tree(torch):
    """train, eval, apply, dtype conversion and freezing reach the whole tree and keep the parameter objects."""
    m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    log, weight = [], m[0].weight
    m.apply(lambda module: log.append(type(module).__name__))
    m.eval()
    modes = [m[1].training, m.training]
    m.double()
    kinds = [
        str(weight.dtype),
        weight is m[0].weight,
        str(m[1].running_mean.dtype),
        str(m[1].num_batches_tracked.dtype),
    ]
    m.to(torch.float32).requires_grad_(False)
    return [log, modes, kinds, weight.requires_grad, error(lambda: m.to(torch.int64)), error(lambda: m.train(3))]


def copies(torch):
    """Copies and pickles are independent; gradients stay behind."""
    m = linear(torch, [[1.0, 2.0]])
    m(torch.ones(1, 2)).sum().backward()
    c = copy.deepcopy(m)
    with torch.no_grad():
        c.weight.zero_()
    restored = pickle.loads(pickle.dumps(linear(torch, [[3.0]])))
    return [
        seen(m.weight),
        c.weight.grad is None,
        c.weight.requires_grad,
        seen(restored.weight),
        restored.weight.requires_grad,
    ]


def forward_hooks(torch):
    """Forward hooks run in order, may be put first, see keywords, and may replace inputs and output."""
    m, log = linear(torch, [[1.0, 2.0]]), []
    m.register_forward_pre_hook(lambda mod, args: log.append(["pre", seen(args)]) or (args[0] * 10,))
    m.register_forward_hook(lambda mod, args, out: log.append(["hook", seen(args), seen(out)]) or out + 1)
    m.register_forward_hook(
        lambda mod, args, kwargs, out: log.append(["with keywords", kwargs, seen(out)]), with_kwargs=True
    )
    m.register_forward_hook(lambda mod, args, out: log.append(["first"]), prepend=True)
    y = m(torch.ones(1, 2))
    return [seen(y), log]


def backward_hooks(torch):
    """Full backward hooks see both sides, in the order of the backward pass, and may replace gradients."""
    x, log = torch.tensor([[1.0, 2.0]], requires_grad=True), []
    net = torch.nn.Sequential(linear(torch, [[1.0, 2.0]], [0.5]), torch.nn.ReLU())
    for module in (net, *net):
        module.register_full_backward_hook(lambda m, gi, go: log.append([type(m).__name__, seen(gi), seen(go)]))
    net[0].register_full_backward_pre_hook(lambda m, go: (go[0] * 10,))
    y = net(x)
    names = [name_of(y.grad_fn), name_of(y.grad_fn.next_functions[0][0])]
    y.sum().backward()
    bad = linear(torch, [[1.0, 2.0]])
    bad.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    plain = linear(torch, [[1.0, 2.0]])
    plain.register_full_backward_hook(lambda m, gi, go: log.append([seen(gi), seen(go)]))
    return [
        names,
        seen(x.grad),
        seen(net[0].weight.grad),
        error(lambda: bad(x).sum().backward()),
        error(lambda: plain(torch.ones(1, 2)).sum().backward()),
        log,
    ]


def several_arguments(torch):
    """Backward hooks show None for arguments that are no tensors or have no gradient."""
    x, log = torch.tensor([1.0], requires_grad=True), []

    class Two(torch.nn.Module):
        def forward(self, a, b=None, *, k=1):
            return a * k, b

    m = Two()
    m.register_full_backward_hook(lambda mod, gi, go: log.append([seen(gi), seen(go)]))
    m(x, x * 2, k=3)[0].sum().backward()
    m(x, None)[0].sum().backward()
    return log


def batch_norm(torch):
    """The running statistics, with and without momentum, in training and evaluation."""
    x = torch.tensor([[1.0, 10.0], [3.0, 30.0], [5.0, 80.0]])
    bn, mean = torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2, momentum=None)
    first, versions = bn(x), [bn.running_mean._version, bn.num_batches_tracked._version]
    second = bn(x * 2)
    first.sum().backward()
    mean(x), mean(x * 2)
    return [
        seen([first, second, bn.running_mean, bn.running_var, bn.num_batches_tracked, bn.eval()(x)]),
        versions,
        seen([mean.running_mean, mean.running_var]),
        seen(torch.nn.BatchNorm1d(2, track_running_stats=False).eval()(x)),
        error(lambda: torch.nn.BatchNorm1d(2)(x[:1])),
        error(lambda: torch.nn.BatchNorm1d(3)(x)),
        error(lambda: torch.nn.BatchNorm2d(2)(x)),
    ]


def cells(torch):
    """Recurrent cells: two steps and all gradients, with and without a batch dimension."""
    found = []
    for kind in (torch.nn.RNNCell, torch.nn.GRUCell, torch.nn.LSTMCell):
        for x, y in (([[1.0, -1.0]], [[0.5, 0.2]]), ([1.0, -1.0], [0.5, 0.2])):
            cell = counted(torch, kind(2, 3))
            state = cell(torch.tensor(y), cell(torch.tensor(x)))
            (state[0] if isinstance(state, tuple) else state).sum().backward()
            found.append(
                [seen(state), [seen(p.grad) for p in cell.parameters()], [n for n, _ in cell.named_parameters()]]
            )
    return found + [error(lambda: torch.nn.RNNCell(2, 3)(torch.ones(1, 3)))]


def layers(torch):
    """Embedding, convolution, pooling, flattening as layers."""
    e = torch.nn.Embedding(4, 2, padding_idx=1)
    e(torch.tensor([1, 2, 2])).sum().backward()
    net = torch.nn.Sequential(
        counted(torch, torch.nn.Conv2d(1, 2, 2, padding=1)), torch.nn.MaxPool2d(2), torch.nn.Flatten()
    )
    y = net(torch.arange(9.0).reshape(1, 1, 3, 3))
    y.sum().backward()
    frozen = torch.nn.Embedding.from_pretrained(torch.ones(2, 2))
    return [seen(e.weight[1]), seen(e.weight.grad), seen(y), seen(net[0].weight.grad), frozen.weight.requires_grad]


def loss_errors(torch):
    """Losses say what does not fit."""
    F, x = torch.nn.functional, torch.ones(2, 3)
    return [
        error(lambda: F.mse_loss(x, x, reduction="bad")),
        error(lambda: F.mse_loss(x, torch.ones(2))),
        error(lambda: F.cross_entropy(x, torch.tensor([0, 5]))),
        error(lambda: F.cross_entropy(x, torch.tensor([0.0, 1.0]))),
        error(lambda: F.cross_entropy(x, torch.tensor([0]))),
        error(lambda: F.cross_entropy(x, torch.tensor([0, 1]), weight=torch.ones(2))),
        error(lambda: F.binary_cross_entropy(x * 2, x)),
        error(lambda: F.binary_cross_entropy(x, torch.ones(2))),
        error(lambda: F.binary_cross_entropy_with_logits(x, torch.ones(2))),
        error(lambda: F.kl_div(x, x)),
        error(lambda: F.cross_entropy(x, torch.tensor([-100, -100]))),
        error(lambda: F.softmax(x)),
    ]


def layer_errors(torch):
    """Layers say which shapes and types do not go together."""
    nn, F = torch.nn, torch.nn.functional
    return [
        error(lambda: nn.Linear(2, 1)(torch.ones(1, 3))),
        error(lambda: nn.Linear(2, 1)(torch.ones(1, 2).double())),
        error(lambda: F.conv2d(torch.ones(1, 2, 3, 3), torch.ones(1, 1, 2, 2))),
        error(lambda: F.conv2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2))),
        error(lambda: F.embedding(torch.tensor([5]), torch.ones(3, 2))),
        error(lambda: F.embedding(torch.tensor([1.0]), torch.ones(3, 2))),
        error(lambda: nn.Dropout(3.0)),
        error(lambda: nn.Embedding(3, 2, padding_idx=4)),
        error(lambda: F.layer_norm(torch.ones(2, 3), (2,))),
        error(lambda: F.batch_norm(torch.ones(2, 3), None, None)),
        error(lambda: nn.Sequential(1)),
        error(lambda: F.one_hot(torch.tensor([2]), 2)),
    ]


def gradients_in_one_vector(torch):
    """Clipping gradients, and parameters as one vector."""
    a, b = torch.tensor([3.0], requires_grad=True), torch.tensor([4.0], requires_grad=True)
    a.grad, b.grad = torch.tensor([3.0]), torch.tensor([4.0])
    utils, m = torch.nn.utils, linear(torch, [[1.0, 2.0]], [0.5])
    norms = [
        utils.clip_grad_norm_([a, b], 1.0),
        utils.clip_grad_norm_([a, b], 10.0, 1),
        utils.clip_grad_norm_(a, 9.0, float("inf")),
    ]
    found = [seen(norms), seen([a.grad, b.grad]), a.grad._version]
    utils.clip_grad_value_([a, b], 0.7)
    b.grad = torch.tensor([float("inf")])
    vector = utils.parameters_to_vector(m.parameters())
    utils.vector_to_parameters(vector * 2, m.parameters())
    return found + [
        seen([a.grad, b.grad]),
        error(lambda: utils.clip_grad_norm_([b], 1.0, error_if_nonfinite=True)),
        seen(vector),
        seen(m.weight),
        m.weight.is_leaf,
    ]


def inits(torch):
    """Starting values that are not random; the fan counts behind those that are."""
    init, w = torch.nn.init, torch.empty(2, 3)
    found = [
        seen(init.constant_(w, 2.0)),
        w._version,
        seen(init.ones_(torch.nn.Parameter(torch.zeros(2)))),
    ]
    bounds = [init.calculate_gain(n) for n in ("relu", "tanh", "linear", "leaky_relu")]
    return found + [bounds, error(lambda: init.xavier_uniform_(torch.ones(2))), error(lambda: init.calculate_gain("x"))]


PROGRAMS = [
    parameter,
    printed_modules,
    assignment,
    refused_names,
    forgotten_init,
    containers,
    shared_modules,
    loading,
    state_dicts,
    paths,
    whole_tree,
    copies,
    forward_hooks,
    backward_hooks,
    several_arguments,
    batch_norm,
    cells,
    layers,
    loss_errors,
    layer_errors,
    gradients_in_one_vector,
    inits,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_as_in_pytorch(program, real_torch):
    """The program's docstring says what it shows; both libraries must show the same."""
    check_program(program, course_lib, real_torch)


# --- on our engine alone -----------------------------------------------------------------------------------


def test_dropout_drops_and_scales_up(torch):
    """What dropout keeps is divided by 1 - p, the rest is 0, and the gradient uses the same mask."""
    x = torch.ones(400, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    kept = (y > 0).sum().item()

    assert 220 < kept < 380
    assert {round(v, 4) for v in y.detach().tolist()} == {0.0, 1.3333}
    assert y.detach().tolist() == x.grad.tolist()


@pytest.mark.parametrize(
    "name",
    [
        "uniform_",
        "normal_",
        "trunc_normal_",
        "xavier_uniform_",
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
    ],
)
def test_random_starting_values_have_the_right_spread(name, real_torch):
    """Mean and deviation of starting values are those of PyTorch's, within what 40,000 numbers allow."""
    ours, theirs = (getattr(t.nn.init, name)(t.empty(200, 200)) for t in (course_lib, real_torch))

    assert float(ours.mean()) == pytest.approx(float(theirs.mean()), abs=0.03 * float(theirs.std()))
    assert float(ours.std()) == pytest.approx(float(theirs.std()), rel=0.03)


def test_importing_the_engine_does_not_import_nn():
    """`import course_lib` stays light: nn, optim and utils are imported when first used."""
    import subprocess
    import sys

    code = (
        "import sys, course_lib; print([m for m in sys.modules if m.startswith(('course_lib.nn', 'course_lib.optim'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "[]"


def test_describe_names_what_is_left_out():
    """What this engine leaves out is refused by name."""
    with pytest.raises(NotImplementedError, match="cuda"):
        course_lib.nn.Linear(1, 1).cuda()
    assert describe(ValueError("a\nb")) == "ValueError: a"


@pytest.mark.parametrize("name", [n for n in dir(course_lib.nn) if isinstance(getattr(course_lib.nn, n), type)])
def test_every_class_of_layers_is_found_again_by_its_name(name):
    """A pickle names a layer's class by module and name, and finds that very class there."""
    cls = getattr(course_lib.nn, name)

    assert pickle.loads(pickle.dumps(cls)) is cls


STATES = {
    "input of one dimension": lambda torch, layer: layer(torch.ones(4)),
    "input of four": lambda torch, layer: layer(torch.ones(1, 1, 1, 2)),
    "state without batches": lambda torch, layer: layer(torch.ones(4, 1, 2), state_of(torch, layer, 1, 3)),
    "state with batches": lambda torch, layer: layer(torch.ones(4, 2), state_of(torch, layer, 1, 1, 3)),
    "state of another batch": lambda torch, layer: layer(torch.ones(4, 1, 2), state_of(torch, layer, 1, 2, 3)),
    "state of another size": lambda torch, layer: layer(torch.ones(4, 2), state_of(torch, layer, 1, 4)),
    "one tensor": lambda torch, layer: layer(torch.ones(4, 1, 2), torch.ones(2, 1, 3)),
    "second part too large": lambda torch, layer: layer(torch.ones(4, 2), (torch.ones(1, 3), torch.ones(1, 4))),
    "parts": lambda torch, layer: [[list(w.shape) for w in weights] for weights in layer.all_weights],
}


def state_of(torch, layer, *shape):
    return (torch.ones(*shape),) * 2 if isinstance(layer, torch.nn.LSTM) else torch.ones(*shape)


@pytest.mark.parametrize("kind", ["RNN", "LSTM"])
@pytest.mark.parametrize("name", [name for name in STATES if name != "second part too large"])
def test_states_that_do_not_fit_are_refused(kind, name, real_torch):
    """The message says how many dimensions, or which sizes, the input and the state should have."""
    ours, theirs = (describe_outcome(t, STATES[name], getattr(t.nn, kind)(2, 3)) for t in (course_lib, real_torch))

    assert ours == theirs


def test_the_second_part_of_a_state_is_refused_by_its_number(real_torch):
    """hidden[1] is the cell state."""
    run = STATES["second part too large"]
    ours, theirs = (describe_outcome(t, run, t.nn.LSTM(2, 3)) for t in (course_lib, real_torch))

    assert ours == theirs == "RuntimeError: Expected hidden[1] size (1, 1, 3), got [1, 1, 4]"


def describe_outcome(torch, run, layer):
    try:
        return seen(run(torch, layer))
    except Exception as error:
        return describe(error)


def test_what_module_helpers_leave_out_is_said():
    """Names of nn.utils and nn.init that are not there, and half precision, name the limit."""
    for place in (course_lib.nn.utils, course_lib.nn.init):
        with pytest.raises(AttributeError, match=f"{place.__name__} has no 'weight_norm'. If PyTorch has it, this"):
            _ = place.weight_norm
        assert not hasattr(place, "__wrapped__")
    for name in ("half", "bfloat16"):
        with pytest.raises(NotImplementedError, match=f"Module.{name}()"):
            getattr(course_lib.nn.Linear(1, 1), name)()


def test_one_tensor_is_no_pair_of_states(torch):
    """Its rows do not pass for the two states of an LSTM cell, even if there are two of the right shape."""
    with pytest.raises(TypeError, match="tuple of Tensors"):
        torch.nn.LSTMCell(3, 4)(torch.ones(2, 3), torch.ones(2, 2, 4))


def old_hooks(torch):
    """What old backward hooks are given, what they may return, and the warnings about what they miss."""

    class Made(torch.nn.Module):
        def __init__(self, forward):
            super().__init__()
            self.forward = forward

    def outcome(module, *args, returned=None):
        log = []

        def hook(m, came_in, went_out):
            log.append((m is module, came_in, went_out))
            return returned

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module.register_backward_hook(hook)
            result = module(*args)
            results = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else [result]
            sum(r.sum() for r in results if r.requires_grad).backward()
        return [seen(log), [(each.category.__name__, str(each.message)) for each in caught], seen(args[0].grad)]

    def x():
        return torch.tensor([[1.0, -2.0]], requires_grad=True)

    double, zeros = Made(lambda x: x * 2), (torch.zeros(1, 2), None)
    return [
        outcome(double, x()), outcome(Made(lambda x: x * 2 + 1), x()), outcome(Made(lambda x, k: x * k), x(), 3.0),
        outcome(Made(lambda x: {"a": x * 2, "b": x * 3}), x()), outcome(Made(lambda x: (x * 2, x * 3)), x()),
        outcome(Made(lambda x: (x * 2, 7)[:1]), x()), outcome(Made(lambda x: x * 2), x(), returned=zeros),
        outcome(counted(torch, torch.nn.Linear(2, 3)), x()), outcome(Made(lambda x, y: x * y), x(), x() * 1),
        outcome(Made(lambda x: x.unbind(0)), x()),
    ]  # fmt: skip


def test_old_backward_hooks_of_modules(real_torch):
    """register_backward_hook: the same gradients, replacements and warnings as in PyTorch."""
    assert old_hooks(course_lib) == old_hooks(real_torch)


@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
def test_gradients_of_a_cell_arrive_in_pytorch_s_order(real_torch, kind):
    """Which of the two linear maps was made last decides whose parameters get their gradient first."""

    def arrivals(torch):
        nn = importlib.import_module(f"{torch.__name__}.nn")
        cell, x, h, found = getattr(nn, kind)(3, 4), torch.ones(2, 3), torch.ones(2, 4), []
        for name, parameter in cell.named_parameters():
            parameter.register_post_accumulate_grad_hook(lambda _, name=name: found.append(name))
        result = cell(x, (h, h))[0] if kind == "LSTMCell" else cell(x, h)
        result.sum().backward()
        return found

    assert arrivals(course_lib) == arrivals(real_torch)
