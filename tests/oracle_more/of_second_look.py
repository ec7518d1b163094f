"""What a second reading of PyTorch's own documentation found: arguments and mistakes that the other files left out."""

from collections import OrderedDict

from kit import anomaly, flags, leaf, program, programs, quiet, raises, warned


def made_under_no_grad(T):
    """A class decorated with no_grad, and whether recording was on when one was made."""

    class Made:
        def __init__(self):
            self.recording = T.is_grad_enabled()

    return warned(lambda: T.no_grad()(Made)().recording)


def simple(T, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2):
    """A custom Function of two plain functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Simple", (T.autograd.Function,), body)


def keeper(T, x):
    """What a custom Function gives that keeps its input."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    return simple(T, forward).apply(x)


# --- autograd.backward and autograd.grad -------------------------------------------------------------------

programs(
    only_inputs_is_a_relic=lambda T: [
        warned(lambda: grads(T, only_inputs=True)),
        warned(lambda: grads(T, only_inputs=False)),
    ],
    gradients_under_their_old_name=lambda T: [
        warned(lambda: quiet_backward(T, None, T.tensor([3.0, 4.0]))),
        raises(lambda: quiet(lambda: quiet_backward(T, T.ones(2), T.ones(2)))),
    ],
    anomaly_mode_begins_with_the_block=lambda T: [
        quiet(lambda: T.autograd.detect_anomaly()) and anomaly(T)[0],
        in_block(T, lambda: T.autograd.detect_anomaly(check_nan=False)),
        anomaly(T)[0],
    ],
    decorated_class_warns=lambda T: made_under_no_grad(T),
    set_grad_enabled_prints_its_mode=lambda T: repr(T.set_grad_enabled(True)),
    function_object_warns=lambda T: [w[0] for w in warned(lambda: simple(T)())[0]],
)


def grads(T, **options):
    x = leaf(T, [1.0, 2.0])
    return T.autograd.grad((x * x).sum(), x, **options)


def quiet_backward(T, grad_tensors, grad_variables):
    x = leaf(T, [1.0, 2.0])
    T.autograd.backward([x * x], grad_tensors, grad_variables=grad_variables)
    return x.grad


def in_block(T, mode):
    with quiet(mode):
        return anomaly(T)


# --- saved tensors -----------------------------------------------------------------------------------------


@program
def raw_slots_of_several_tensors_after_release(T):
    """Looking at a released list of slots is refused, at a single released slot it is not."""
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    picked, kept, sine = x[T.tensor([0, 1])], keeper(T, x), x.sin()
    before = [len(picked.grad_fn._raw_saved_indices), len(kept.grad_fn._raw_saved_tensors)]
    (picked + kept + sine).sum().backward()
    return [
        before,
        raises(lambda: picked.grad_fn._raw_saved_indices),
        raises(lambda: kept.grad_fn._raw_saved_tensors),
        raises(lambda: sine.grad_fn._raw_saved_self),
    ]


@program
def raw_slot_takes_functions_only(T):
    """What cannot be called is refused as a hook, and the slot stays free for others."""
    x = leaf(T, [1.0])
    slot = x.sin().grad_fn._raw_saved_self
    wrong = [raises(lambda pair=pair: slot.register_hooks(*pair)) for pair in [(1, 2), (abs, 2), (None, abs)]]
    return [[w and w[1] for w in wrong], raises(lambda: slot.register_hooks(lambda t: t, lambda t: t))]


# --- backward hooks of modules -----------------------------------------------------------------------------


def hooked(T, hook, pre=False):
    """The gradient at the input of a layer that has one backward hook."""
    layer = T.nn.Linear(2, 2)
    with T.no_grad():
        layer.weight.copy_(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    (layer.register_full_backward_pre_hook if pre else layer.register_full_backward_hook)(hook)
    x = leaf(T, [[1.0, 1.0], [2.0, 0.0]])
    layer(x).sum().backward()
    return x.grad


programs(
    backward_hook_returns_a_list=lambda T: hooked(T, lambda m, gi, go: [gi[0] * 10]),
    backward_hook_returns_a_number=lambda T: raises(lambda: hooked(T, lambda m, gi, go: 5)),
    backward_hook_returns_a_tensor=lambda T: raises(lambda: hooked(T, lambda m, gi, go: gi[0])),
    backward_pre_hook_returns_a_tensor=lambda T: raises(lambda: hooked(T, lambda m, go: go[0], pre=True)),
    backward_pre_hook_returns_a_list=lambda T: hooked(T, lambda m, go: [go[0] * 3], pre=True),
)


@program
def backward_hook_on_a_dictionary(T):
    """A module that returns a dictionary warns: the hooks of its backward cannot be called."""

    class Both(T.nn.Module):
        def forward(self, x):
            return {"double": x * 2}

    module, calls = Both(), []
    module.register_full_backward_hook(lambda *args: calls.append(args))
    x = leaf(T, [1.0])
    warnings, result = warned(lambda: module(x))
    result["double"].backward()
    return [warnings, calls, x.grad]


# --- containers --------------------------------------------------------------------------------------------


@program
def sequential_numbers_anew(T):
    """Taking a module out of a Sequential numbers the rest, names or not."""
    nn = T.nn
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Sigmoid()))
    del named[1]
    return [
        list(named.state_dict()),
        [n for n, _ in named.named_children()],
        raises(lambda: named.insert(9, nn.ReLU())),
        repr(named.insert(-1, nn.Tanh())),
    ]


@program
def parameter_list_of_anything(T):
    """A ParameterList keeps what is no tensor as it is."""
    values = T.nn.ParameterList([T.ones(2), 3, T.nn.Parameter(T.zeros(1, 2))])
    return [
        repr(values),
        [n for n, _ in values.named_parameters()],
        repr(values[1:]),
        raises(lambda: values(1)),
        raises(lambda: values.extend(3)),
        raises(lambda: values.extend(T.ones(2))),
    ]


@program
def parameter_dict_like_a_dict(T):
    """A ParameterDict has the methods of a dictionary."""
    values = T.nn.ParameterDict({"b": T.ones(2), "a": 3})
    joined = values | T.nn.ParameterDict({"c": T.zeros(1)})
    return [
        repr(values),
        list(values),
        [values.get("x"), values.get("x", 5), values.get("a")],
        values.setdefault("d", T.ones(1)),
        values.pop("a"),
        values.popitem(),
        [list(reversed(joined)), list(joined.copy()), list(values.fromkeys(["p", "q"], T.ones(1)))],
        [values.clear(), len(values), len(joined)],
        raises(lambda: values["none"]),
        raises(lambda: values(1)),
        raises(lambda: values.update(3)),
    ]


programs(
    module_dict_from_bad_pairs=lambda T: raises(lambda: T.nn.ModuleDict().update([("a",)])),
    extra_state_of_a_plain_module=lambda T: [
        raises(lambda: T.nn.ReLU().get_extra_state()),
        raises(lambda: T.nn.ReLU().set_extra_state(3)),
    ],
)


@program
def assigned_parameters_stay_trained(T):
    """Loading with assign keeps what is frozen frozen and what is trained trained, whatever the checkpoint says."""
    layer = T.nn.Linear(2, 1)
    layer.bias.requires_grad_(False)
    given = {
        "weight": T.nn.Parameter(T.zeros(1, 2), requires_grad=False),
        "bias": T.nn.Parameter(T.ones(1)),
    }
    layer.load_state_dict(given, assign=True)
    return [layer.weight is given["weight"], flags(layer.weight), flags(layer.bias)]


# --- optimizers --------------------------------------------------------------------------------------------


@program
def step_hook_returns_a_number(T):
    """A hook before a step returns None or a pair."""
    optimizer = T.optim.SGD([leaf(T, [1.0])], lr=0.1)
    optimizer.register_step_pre_hook(lambda *args: 5)
    error = raises(optimizer.step)
    return [error[1], error[2].partition(">")[2]]


@program
def clipping_by_value_counts_two_writes(T):
    """Clipping by value writes from below and from above, each for itself, unless foreach=False."""
    x = leaf(T, [1.0, 2.0])
    versions = []
    for options in ({}, {"foreach": False}, {"foreach": None}):
        x.grad = T.tensor([-5.0, 0.5])
        T.nn.utils.clip_grad_value_(x, 2.0, **options)
        versions.append([x.grad._version, x.grad])
    return versions


@program
def plateau_keeps_its_settings(T):
    """The state of ReduceLROnPlateau, by name."""
    plateau = T.optim.lr_scheduler.ReduceLROnPlateau
    optimizer = T.optim.SGD([leaf(T, [1.0])], lr=1.0)
    return [
        dict(sorted(plateau(optimizer, **options).state_dict().items()))
        for options in ({}, {"mode": "max"}, {"min_lr": [0.1]})
    ]


# --- values ------------------------------------------------------------------------------------------------


def kinds(T, *makers):
    """What each maker makes, or its error."""
    return [raises(make) or make() for make in makers]


programs(
    tensors_in_a_list=lambda T: kinds(
        T,
        lambda: T.tensor([T.ones(1), 2.0]),
        lambda: T.tensor([T.ones(1, 1), T.ones(())]),
        lambda: T.tensor([[T.ones(1)], [T.zeros(1)]]),
        lambda: T.tensor([[1.0, 2.0], T.ones(2)]),
        lambda: T.tensor([T.ones(1, dtype=T.float64)]),
        lambda: T.tensor([T.ones(1, dtype=T.int64), 2.5]),
        lambda: T.tensor([T.ones(1) > 0]),
        lambda: T.tensor([T.ones(2)]),
        lambda: T.tensor([2.0, T.ones(2)]),
        lambda: T.tensor([T.ones(2), [1.0, 2.0]]),
        lambda: T.tensor([1, (2,)]),
    ),
    spread_of_too_few_warns=lambda T: [
        [w[0] for w in warned(lambda s=s, f=f: f(T.ones(s)))[0]]
        for s in ((0,), (1,), (2, 1), (0, 2), (3,))
        for f in (lambda x: x.var(), lambda x: x.std(-1), lambda x: x.var(0, correction=0))
    ],
    spread_of_too_few_has_its_gradient=lambda T: [
        quiet(lambda s=s: gradient(T, T.ones(s), lambda x: x.var())) for s in ((0,), (1,), (0, 2))
    ],
    angle_at_the_origin=lambda T: [
        gradient(T, T.tensor([0.0, 1.0, -0.0]), lambda x: T.atan2(x, T.tensor([0.0, 0.0, 2.0]))),
        gradient(T, T.tensor([0.0, 1.0, -0.0]), lambda x: T.atan2(T.tensor([0.0, 0.0, 2.0]), x)),
    ],
    shapes_one_by_one=lambda T: [raises(wrong_size(T))],
    different_elements=lambda T: [T.tensor([2.0, 1.0, 2.0]).unique(), flags(leaf(T, [2.0, 1.0]).unique())],
)


def gradient(T, data, function):
    x = data.clone().requires_grad_()
    function(x).sum().backward()
    return x.grad


def wrong_size(T):
    return lambda: T.ones(2, 3).size(5)


# --- layers ------------------------------------------------------------------------------------------------


@program
def activations_in_place_keep_their_result(T):
    """Overwriting, leaky_relu and elu take their slope from the result: writing to that afterwards is noticed."""
    f = T.nn.functional
    seen = []
    for activate in (
        lambda h: f.leaky_relu(h, 0.1, inplace=True),
        lambda h: f.elu(h, 1.5, inplace=True),
        lambda h: f.threshold(h, 0.0, 1.0, inplace=True),
    ):
        x = leaf(T, [-2.0, -0.5, 0.5])
        y = activate(x * 1)
        grad = T.autograd.grad(y.sum(), x, retain_graph=True)
        seen.append([y, grad, [n for n in dir(y.grad_fn) if n == "_saved_result"]])
        y.add_(1)
        seen.append(raises(lambda y=y: y.sum().backward()))
    return seen


def padded(T, x, *arguments, **names):
    y = T.nn.functional.pad(x, *arguments, **names)
    return [y, T.autograd.grad((y * y).sum(), x)]


@program
def padding_in_every_mode(T):
    """What stands around the input: a value, the edge, its mirror image, the other end; less where numbers are < 0."""
    x, pad = leaf(T, [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), T.nn.functional.pad
    return [
        padded(T, x, (1, 2)),
        padded(T, x, (1, -1, 0, 1), value=5.0),
        padded(T, x, (-1, -1)),
        [
            part.detach()
            for mode in ("reflect", "replicate", "circular")
            for part in padded(T, x, (2, 1), mode=mode)[:1]
        ],
        [padded(T, x, (2, 1), mode=mode)[1] for mode in ("reflect", "replicate", "circular")],
        pad(T.ones(1, 2, dtype=T.int64), (1, 0)),
        [
            raises(lambda bad=bad: pad(x, *bad))
            for bad in (
                ((1,),),
                ((1,) * 8,),
                ((1, 1), "nowhere"),
                ((3, 0), "reflect"),
                ((4, 0), "circular"),
                ((-2, -2),),
                ((1, 1), "reflect", 2.0),
            )
        ],
    ]


@program
def convolutions_pad_as_they_are_told(T):
    """padding_mode says what stands around the input."""
    x, seen = T.arange(1.0, 17.0).reshape(1, 1, 4, 4), []
    for mode in ("zeros", "reflect", "replicate", "circular"):
        for padding in (1, (1, 0), "same", "valid"):
            layer = T.nn.Conv2d(1, 1, (3, 3) if padding != "valid" else 2, padding=padding, padding_mode=mode)
            with T.no_grad():
                layer.weight.copy_(T.arange(1.0, layer.weight.numel() + 1).reshape(layer.weight.shape))
                layer.bias.fill_(0.5)
            seen.append([layer(x).detach(), repr(layer)])
    return seen


@program
def convolutions_refuse(T):
    """What a convolution does not take: other types, biases, steps, and words."""
    conv, x, w = T.nn.functional.conv1d, T.ones(1, 1, 5), T.ones(1, 1, 3)
    return [
        raises(lambda: conv(x.double(), w)),
        raises(lambda: conv(x, w, T.ones(1, dtype=T.float64))),
        raises(lambda: conv(x, w, T.ones(2))),
        raises(lambda: conv(x, w, padding="wide")),
        raises(lambda: conv(x, w, stride=0)),
        raises(lambda: conv(x, w, padding=-1)),
        raises(lambda: T.nn.functional.conv2d(x[None], w[None], dilation=0)),
        [
            (raises(make) or [None] * 2)[1]
            for make in (
                lambda: T.nn.Conv1d(1, 1, 3, padding="wide"),
                lambda: T.nn.Conv1d(1, 1, 3, padding="same", stride=2),
                lambda: T.nn.Conv1d(1, 1, 3, padding_mode="wide"),
            )
        ],
    ]


@program
def losses_and_layers_refuse(T):
    """Integers where probabilities are due, and shapes that do not fit."""
    f, p = T.nn.functional, T.tensor([0.5, 0.5])
    return [
        raises(lambda: f.binary_cross_entropy(p, T.tensor([1, 0]))),
        raises(lambda: f.binary_cross_entropy(p, p.double())),
        raises(lambda: f.one_hot(T.tensor([1.0]))),
        raises(lambda: f.layer_norm(T.ones(2, 3), (3,), T.ones(2))),
        raises(lambda: f.batch_norm(T.ones(2, 2, dtype=T.int64), None, None, training=True)),
        raises(lambda: f.cross_entropy(T.ones(3), T.tensor([0, 1]))),
        raises(lambda: f.cross_entropy(T.ones(2, 3), T.ones(2, 1))),
        raises(lambda: f.cross_entropy(T.ones(2, 3), T.tensor([0, 1]), label_smoothing=2.0)),
    ]


# --- the graph of a gradient -------------------------------------------------------------------------------


def to_the_third(T, function, *inputs):
    """Gradients with their nodes, gradients of those, and once more."""
    inputs = [leaf(T, data) for data in inputs]
    y = function(*inputs)
    seen, weight = [], (T.arange(1.0, y.numel() + 1) / 4).reshape(y.shape).requires_grad_()
    inputs, grads = [*inputs, weight], T.autograd.grad(y, inputs, weight, create_graph=True)
    for _ in range(2):
        seen.append(grads)
        total = sum((g * g).sum() for g in grads if g is not None)
        grads = T.autograd.grad(total, inputs, create_graph=True, allow_unused=True)
    return seen + [[g if g is None else g.detach() for g in grads]]


DATA, OTHER = [[0.3, -1.2, 0.9], [1.4, 0.2, -0.7]], [[0.3, 0.5, -0.4], [-1.1, 0.2, 2.0]]

programs(
    gradient_graph_of_softmax=lambda T: to_the_third(T, lambda x: x.softmax(1), DATA),
    gradient_graph_of_log_softmax=lambda T: to_the_third(T, lambda x: x.log_softmax(0), DATA),
    gradient_graph_of_cross_entropy=lambda T: to_the_third(
        T, lambda x: T.nn.functional.cross_entropy(x, T.tensor([2, 0])), DATA
    ),
    gradient_graph_of_mse_loss=lambda T: [
        to_the_third(T, lambda x, y, r=r: T.nn.functional.mse_loss(x, y, reduction=r), DATA, OTHER)
        for r in ("mean", "sum", "none")
    ],
    gradient_graph_of_maximum=lambda T: to_the_third(T, lambda x, y: T.maximum(x * x, y), DATA, OTHER),
    gradient_graph_of_parts=lambda T: [
        to_the_third(T, lambda x, part=part: part(x * x), DATA)
        for part in (
            lambda x: x[1],
            lambda x: x[:, -1],
            lambda x: x[:, 1:],
            lambda x: x[::2],
            lambda x: x.diagonal(1),
            lambda x: x[0, 2],
            lambda x: x.narrow(1, 1, 2),
        )
    ],
    gradient_penalty_of_a_norm=lambda T: [flags(g) for g in to_the_third(T, lambda x: x.norm(dim=1), DATA)[0]],
)


# --- names of nodes ----------------------------------------------------------------------------------------


@program
def moved_and_on_the_diagonal(T):
    """roll, diag and trace have nodes of their own and give new memory."""
    x, v = leaf(T, DATA), leaf(T, [1.0, 2.0, 3.0])
    made = [x.roll(1), x.roll((1, -1), (0, 1)), T.diag(x), T.diag(x, 1), T.diag(v), T.diag(v, -1), x.trace()]
    return [
        [y, y._version, y._is_view(), T.autograd.grad((y * y).sum(), x if n not in (4, 5) else v)]
        for n, y in enumerate(made)
    ] + [
        raises(lambda: x.roll((1, 1))),
        raises(lambda: x.roll(1, (0, 1))),
        raises(lambda: v.trace()),
        raises(lambda: T.diag(x[None])),
    ]


@program
def sources_longer_than_their_index(T):
    """What scatter and scatter_add do not use of their source cannot get a gradient: they refuse."""
    x, y, i = leaf(T, [1.0, 2.0, 3.0]), leaf(T, [4.0, 5.0, 6.0]), T.tensor([0, 2])
    rows, index = leaf(T, DATA), T.tensor([[0, 1, 0]])
    return [
        raises(lambda: x.scatter_add(0, i, y).sum().backward()),
        raises(lambda: x.scatter(0, i, y).sum().backward()),
        raises(lambda: (x * 1).scatter_add_(0, i, y).sum().backward()),
        raises(lambda: T.autograd.grad(rows.scatter_add(0, index, rows * 2).sum(), rows)),
        T.autograd.grad(x.scatter_add(0, i, y).sum(), x),
        T.autograd.grad(x.scatter_add(0, i, y[:2]).sum(), [x, y]),
        [x.grad, y.grad],
    ]


programs(
    new_from_anything=lambda T: [
        leaf(T, [1.0]).new([1, 2]),
        leaf(T, [1.0]).new(range(3)),
        leaf(T, [1.0]).new(2, 3).shape,
        leaf(T, [1.0]).new([1.0], device="cpu"),
        leaf(T, [1.0]).new(leaf(T, [2.0]) * 1),
        raises(lambda: T.ones(1).new(3.5)),
    ],
    pairs_are_named_after_their_operation=lambda T: [
        [type(r).__name__, type(r).__module__.rpartition(".")[2]]
        for x in [leaf(T, DATA)]
        for r in (x.max(1), x.min(0), x.sort(), x.topk(1), x.median(0))
    ],
)


@program
def selecting_by_a_mask_of_another_shape(T):
    """masked_select stretches tensor and mask to one shape, and the gradient is summed back."""
    x, v, c = leaf(T, DATA), leaf(T, [0.5, -1.0, 2.0]), leaf(T, [[1.5], [-0.5]])
    seen = []
    for inputs, select in (
        (x, lambda: x.masked_select(T.tensor([True, False, True]))),
        (v, lambda: v.masked_select(T.tensor(DATA) > 0)),
        (c, lambda: c.masked_select(T.tensor(DATA) > 0)),
        (x, lambda: x.masked_select(T.tensor(True))),
    ):
        y = select()
        grads = [
            T.autograd.grad((y * y * y).sum(), inputs, create_graph=graph, retain_graph=True) for graph in (False, True)
        ]
        seen.append([y, grads, T.autograd.grad(grads[1][0].sum(), inputs)])
    return [seen, raises(lambda: x.masked_select(T.tensor([True, False])))]


@program
def stretching_to_the_same_shape(T):
    """An expand that changes nothing hands the gradient back as it came."""
    x, seen = leaf(T, DATA), []
    for shape in ((2, 3), (-1, -1), (1, 2, 3)):
        weight = T.ones(2, 3).expand(shape).clone().requires_grad_()
        y = x.expand(shape)
        (grad,) = T.autograd.grad(y, x, weight, create_graph=True)
        seen.append([grad is weight, flags(grad)])
    return seen


# --- shapes without elements, and without dimensions -------------------------------------------------------


programs(
    strides_of_nothing=lambda T: [
        [t.stride(), t.is_contiguous(), (t * 2).stride(), t.clone().stride()]
        for t in (T.zeros(0), T.zeros(0, 3), T.zeros(2, 0), T.zeros(2, 0, 3), T.ones(2, 3)[:0])
    ],
    flattening_nothing=lambda T: [
        [T.zeros(s).flatten(*a).shape for s in ((0, 2, 3), (2, 0, 3), (2, 3, 0)) for a in ((0,), (1,), (0, 1), (1, 2))],
        raises(lambda: T.zeros(2, 3).flatten(1, 0)),
        raises(lambda: T.zeros(()).flatten(1)),
    ],
    products_of_nothing=lambda T: [
        T.einsum("ij,jk->ik", T.zeros(2, 0), T.zeros(0, 3)),
        T.einsum("ij,jk->ik", T.zeros(0, 2), T.zeros(2, 3)).shape,
        T.einsum("ij,ij->i", T.zeros(0, 3), T.zeros(0, 3)).shape,
        T.einsum("bij,bjk->bik", T.zeros(2, 0, 3), T.zeros(2, 3, 4)).shape,
    ],
    places_in_a_number=lambda T: [
        T.tensor(1.0).nonzero(),
        T.tensor(0.0).nonzero(),
        T.tensor(1.0).nonzero(as_tuple=True),
        T.where(T.tensor(True)),
        T.tensor(1.0).unfold(0, 1, 1),
    ],
    dimensions_in_messages=lambda T: [
        raises(lambda index=index: T.zeros(2, 3, 4)[index])
        for index in ((0, 5), (0, 0, 9), (..., 9), (None, 5), (slice(None), None, 9), (0, ..., 9), (T.tensor([0]), 9))
    ],
    gradients_are_laid_out_like_the_way_back=lambda T: [
        [(g := T.autograd.grad(way(x), x, T.ones_like(way(x)))[0]).stride(), g.is_contiguous()]
        for x in [leaf(T, DATA)]
        for way in (
            lambda x: x.t(),
            lambda x: x.t().reshape(6),
            lambda x: x.movedim(0, 1) * 2,
            lambda x: x[:, :2],
            lambda x: x.flatten(),
            lambda x: x @ x.t(),
        )
    ],
)


# --- drawn, and one after the other ------------------------------------------------------------------------


@program
def drawn_in_place(T):
    """random_ and bernoulli_ overwrite, count and cut the history; bernoulli of what requires grad requires grad."""
    x = leaf(T, [1.0, 2.0, 3.0])
    h, b = (x * 1).random_(1), (x * 1).bernoulli_(1.0)
    numbers = T.empty(100, dtype=T.int64).random_(2, 5)
    tossed = T.bernoulli(x / x)
    return [
        [h, h._version, b, b._version, tossed, T.bernoulli(T.ones(2))],
        [T.autograd.grad(y.sum(), x) for y in (h, b, tossed)],
        [sorted(set(numbers.tolist()) - {2, 3, 4}), (x * 1).bernoulli_(T.zeros(3)).detach()],
        [raises(lambda: x.random_()), raises(lambda: x.bernoulli_())],
    ]


programs(
    repeated_places=lambda T: [
        T.repeat_interleave(T.tensor([1, 2, 3])),
        T.repeat_interleave(T.tensor([5, 6]), T.tensor([1, 2]), output_size=3),
    ],
    left_over_of_integers=lambda T: [T.fmod(T.tensor([1, 2, 5]), -1.5), T.fmod(T.tensor([1, 2, 5]), 2)],
)


# --- arguments of another kind -----------------------------------------------------------------------------


programs(
    vectors_that_are_lists=lambda T: [
        raises(lambda name=name: getattr(T.autograd.functional, name)(lambda x: (x * x).sum(), T.ones(2), [T.ones(2)]))
        for name in ("vjp", "jvp", "vhp", "hvp")
    ],
    strict_and_vectorized=lambda T: raises(
        lambda: T.autograd.functional.jacobian(lambda x: x * x, T.ones(2), strict=True, vectorize=True)
    ),
    linear_of_no_tensors=lambda T: [
        raises(lambda: T.nn.functional.linear(5, T.ones(1, 1))),
        raises(lambda: T.nn.functional.linear(T.ones(1, 1), None)),
        raises(lambda: T.nn.Linear(1, 1)("text")),
    ],
)
