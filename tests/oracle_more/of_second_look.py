"""What a second reading of PyTorch's own documentation found: arguments and mistakes that the other files left out."""

from collections import OrderedDict

from kit import flags, leaf, program, programs, quiet, raises, warned


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
        quiet(lambda: T.autograd.detect_anomaly()) and T.is_anomaly_enabled(),
        in_block(T, lambda: T.autograd.detect_anomaly(check_nan=False)),
        T.is_anomaly_enabled(),
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
        return T.is_anomaly_enabled(), T.is_anomaly_check_nan_enabled()


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
