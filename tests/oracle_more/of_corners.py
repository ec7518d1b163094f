"""Corners of autograd: what a Function returned and kept, checkpoints in checkpoints, edges as roots, and more."""

import gc
import weakref

from kit import flags, leaf, program, quiet, raises, warned


def function(T, forward, backward, name="F", **attributes):
    """A custom Function from its two methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (T.autograd.Function,), methods | attributes)


# --- what a Function kept ----------------------------------------------------------------------------------


def triples(T, returned):
    """x * 1 whose backward claims 3 * x: forward keeps x, and returns `returned(x)`."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return returned(x)

    return function(T, forward, lambda ctx, grad: grad * 3 * ctx.saved_tensors[0])


@program
def second_derivative_through_a_kept_input_that_was_returned(T):
    seen = []
    for returned in (lambda x: x, lambda x: x.view_as(x), lambda x: x.clone()):
        for make in (lambda x: x, lambda x: x * 1):
            x = leaf(T, [2.0, 3.0])
            h = make(x)
            y = triples(T, returned).apply(h)
            kept = y.grad_fn.saved_tensors[0]
            (slope,) = T.autograd.grad(y.sum(), x, create_graph=True)
            seen += [kept is h, flags(kept), slope, T.autograd.grad(slope.sum(), x)]
    return seen


@program
def a_returned_input_that_is_written_to_or_detached(T):
    errors = []
    for change in (lambda h: h.add_(1), lambda h: h.detach_()):
        h = leaf(T, [2.0]) * 1
        y = triples(T, lambda x: x).apply(h)
        change(h)
        errors.append(raises(lambda y=y: y.sum().backward()))
    return errors


@program
def what_is_saved_for_forward_mode_is_not_asked_for(T):
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * 2

    x = leaf(T, [2.0])
    function(T, forward, lambda ctx, grad: grad * 2).apply(x).backward()
    return x.grad


@program
def two_inputs_returned_crosswise(T):
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return y, x

    def backward(ctx, grad_y, grad_x):
        x, y = ctx.saved_tensors
        return grad_x * y, grad_y * x

    x, y = leaf(T, [2.0, 3.0]), leaf(T, [4.0, 5.0])
    a, b = function(T, forward, backward).apply(x, y)
    slopes = T.autograd.grad((a * b).sum(), (x, y), create_graph=True)
    return [slopes, T.autograd.grad((slopes[0] * slopes[1]).sum(), (x, y))]


# --- powers ------------------------------------------------------------------------------------------------


@program
def exponents_of_a_number(T):
    seen = []
    for base in (0, 0.0, -0.0, 1, 2, -1.5):
        p = leaf(T, [-1.0, 0.0, 1.0, 2.5, float("nan"), float("inf")])
        y = base**p
        seen += [T.autograd.grad(y, p, T.full_like(y, g), retain_graph=True) for g in (1.0, 0.0, float("inf"))]
    return seen


@program
def infinite_gradients_of_powers(T):
    a, p = leaf(T, [0.0, 1.0, 2.0, -1.0, 0.0]), leaf(T, [-1.0, 0.0, 1.0, 0.0, 2.0])
    y = a**p
    return [T.autograd.grad(y, (a, p), T.full_like(y, g), retain_graph=True) for g in (1.0, float("inf"))]


# --- checkpoints -------------------------------------------------------------------------------------------


def slope_of(T, f):
    """x -> the derivative of f, recorded."""

    def slope(x):
        with T.enable_grad():
            return T.autograd.grad(f(x).sum(), x, create_graph=True)[0]

    return slope


def segment(T, f, **options):
    return lambda *args: T.utils.checkpoint.checkpoint(f, *args, use_reentrant=False, **options)


def left_alive(T, f):
    """How many nodes of f's graph outlive it, with the collector of cycles switched off."""

    class Note:
        pass

    def notes():
        found, queue, kept = set(), [f(leaf(T, [0.7])).grad_fn], []
        while queue:
            node = queue.pop()
            if node is not None and node not in found:
                found.add(node)
                queue += [following for following, _ in node.next_functions]
                node.metadata["note"] = note = Note()
                kept.append(weakref.ref(note))
        return kept

    gc.disable()
    try:
        return sum(reference() is not None for reference in notes())
    finally:
        gc.enable()


@program
def derivatives_in_checkpoints_in_derivatives(T):
    def waves(x):
        return x.sin().exp().sin()

    def used_inside(x):
        a, b = waves(x), waves(x)
        T.autograd.grad(a.sum(), x), T.autograd.grad(b.sum(), x)
        return x.sin()

    seen = []
    for early in (True, False):
        d, c = (lambda f: slope_of(T, f)), (lambda f: segment(T, f, early_stop=early))  # noqa: B023
        for f in (waves, used_inside):
            for made in (c(c(f)), d(c(c(f))), d(c(d(f))), c(d(d(c(f)))), d(c(d(c(d(c(f))))))):
                seen += [made(leaf(T, [0.7])).detach(), left_alive(T, made)]
    return seen


@program
def two_checkpoints_in_one(T):
    def both(x):
        return segment(T, lambda y: y.cos().sin().exp())(segment(T, lambda y: y.sin().exp().sin())(x))

    seen = []
    for early in (True, False):
        inner = slope_of(T, segment(T, both, early_stop=early))
        outer = segment(T, inner, early_stop=early)
        seen += [slope_of(T, f)(leaf(T, [0.1, 0.2])).detach() for f in (inner, outer)]
    return seen


@program
def a_second_run_that_keeps_more(T):
    def growing():
        calls = []
        return lambda x: (x.sin().exp(), x.sin().exp().sin())[len(calls) > 1 or calls.append(1) or len(calls) > 1]

    def changing():
        calls = []

        def f(x):
            calls.append(1)
            return x.sin().exp() if len(calls) == 1 else x.sin().exp().sin()

        return f

    errors = [
        raises(lambda: segment(T, changing(), early_stop=early)(leaf(T, [1.0])).sum().backward()) for early in (0, 1)
    ]
    return [error and (error[1], error[2].split("\n")[0]) for error in errors]


@program
def saved_tensors_of_a_checkpointed_function(T):
    seen = []

    def forward(ctx, x, c):
        w = x * c
        ctx.save_for_backward(x, c, w)
        return w + x

    def backward(ctx, grad):
        x, c, w = ctx.saved_tensors
        seen.extend([c is constant, raises(lambda: ctx.saved_tensors)])
        return grad * (c + 1), None

    constant, x = T.tensor([5.0]), leaf(T, [2.0])
    segment(T, lambda x, c: function(T, forward, backward).apply(x.sin(), c))(x, constant).sum().backward()
    return [seen, x.grad]


@program
def nothing_of_a_second_run_outlives_it(T):
    made = []

    def forward(ctx, x):
        y = x.clone()
        ctx.save_for_backward(y)
        made.append(weakref.ref(y))
        return y

    def backward(ctx, grad):
        return ctx.saved_tensors and None

    gc.disable()
    try:
        segment(T, function(T, forward, backward).apply)(leaf(T, [1.0])).sum().backward()
        return [reference() is None for reference in made]
    finally:
        gc.enable()


@program
def options_of_a_chain_of_checkpoints(T):
    parts, x = [T.nn.Tanh(), T.nn.Tanh()], leaf(T, [1.0])
    chain = T.utils.checkpoint.checkpoint_sequential
    y = chain(parts, 2, x, use_reentrant=False, preserve_rng_state=False)
    return [y, raises(lambda: chain(parts, 2, x, use_reentrant=False, extra=1))]


# --- slots and their hooks ---------------------------------------------------------------------------------


@program
def what_a_slot_gives_back(T):
    x, c = leaf(T, [1.0, 2.0]), T.tensor([3.0, 4.0])
    h, seen = x * 1, []
    packs = [lambda t: t, lambda t: t.detach(), lambda t: c, lambda t: x]
    for pack in packs:
        with T.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            for y, name in ((x * c, "other"), (x * h, "other"), (x.exp(), "result"), (x * x, "self")):
                kept = getattr(y.grad_fn, "_saved_" + name)
                raw = getattr(y.grad_fn, "_raw_saved_" + name).data
                seen.append([kept is t for t in (x, c, h)] + [raw is t for t in (x, c, h)] + [flags(kept)])
    return seen


@program
def what_the_hook_of_one_slot_is_shown(T):
    x, c = leaf(T, [1.0, 2.0]), T.tensor([3.0, 4.0])
    h, seen = x * 1, []
    for y, name in ((x * c, "other"), (x * h, "other"), (x.exp(), "result"), (x * x, "self")):
        slot = getattr(y.grad_fn, "_raw_saved_" + name)
        slot.register_hooks(lambda t: seen.append([t is x, t is c, t is h, flags(t)]) or t, lambda t: t)
        seen.append([getattr(y.grad_fn, "_saved_" + name) is t for t in (x, c, h)])
    return seen


# --- edges as roots ----------------------------------------------------------------------------------------


@program
def backward_from_an_edge(T):
    edge_of, grad = T.autograd.graph.get_gradient_edge, T.autograd.grad
    x = leaf(T, [1.0, 2.0])
    scalar, vector, custom = (
        x.sin().sum(),
        x.sin(),
        function(T, lambda ctx, x: x.sum(), lambda ctx, g: g.expand(2)).apply(x),
    )
    scalar, vector, custom = edge_of(scalar), edge_of(vector), edge_of(custom)
    T.autograd.backward((scalar, custom), retain_graph=True)
    return [
        grad(scalar, x, retain_graph=True),
        grad(edge_of(x), x, T.ones(2)),
        raises(lambda: grad(vector, x)),
        raises(lambda: grad(vector, x, T.ones(3))),
        raises(lambda: grad(custom, x, T.ones(2))),
        grad((vector, scalar), x, (T.ones(2), None)),
        x.grad,
        len(scalar),
        scalar == T.autograd.graph.GradientEdge(scalar.node, 0),
    ]


@program
def zeros_for_an_edge(T):
    x = leaf(T, [1.0])
    unused = T.autograd.graph.get_gradient_edge(x * 2)
    grad = T.autograd.grad
    return [
        grad(x.sum(), (x, unused), allow_unused=True),
        raises(lambda: grad(x.sum(), (x, unused), materialize_grads=True)),
    ]


# --- modes, second derivatives that are refused, checks ----------------------------------------------------


@program
def a_mode_switched_in_backward_lasts_for_its_node(T):
    seen = []
    for create in (False, True):
        for mode in (True, False):
            switch = lambda *_, mode=mode: (T.set_grad_enabled(mode), None)[1]  # noqa: E731
            x = leaf(T, [1.0])
            y = x * 2
            z = y.exp()
            z.register_hook(switch)
            y.register_hook(lambda g: seen.append(T.is_grad_enabled()))
            seen += [T.autograd.grad((z * 3).sum(), x, create_graph=create), T.is_grad_enabled()]
            leaf_hook = leaf(T, [1.0])
            leaf_hook.register_post_accumulate_grad_hook(switch)
            h = function(T, lambda ctx, x: x * 2, lambda ctx, g: (switch(), g * 2)[1]).apply(x * 1)
            (h * leaf_hook).sum().backward()
            seen += [x.grad, leaf_hook.grad, T.is_grad_enabled()]
    return seen


@program
def behind_a_gradient_that_is_final(T):
    def described(node):
        return node and [type(node).__name__, [described(following) for following, _ in node.next_functions]]

    once = T.autograd.function.once_differentiable
    final = function(T, lambda ctx, a, b: (a * 1, b * 1), once(lambda ctx, g, h: (g * 2, None)))
    a, b, start = leaf(T, [1.0]), leaf(T, [2.0]), T.ones(1, requires_grad=True)
    slopes = T.autograd.grad(final.apply(a, b), (a, b), (start, start), create_graph=True, allow_unused=True)
    return [
        slopes, described(slopes[0].grad_fn), slopes[0].output_nr,
        raises(lambda: slopes[0].sum().backward()), raises(lambda: T.autograd.grad(slopes[0], start)),
    ]  # fmt: skip


def checked(T, f, x, **options):
    """What gradcheck says: the warnings and the answer, or the first line of its error."""
    try:
        return warned(lambda: T.autograd.gradcheck(f, (x,), **options))
    except Exception as error:  # noqa: BLE001
        return [type(error).__name__, str(error).split("\n")[0]]


@program
def gradcheck_of_functions_it_cannot_check(T):
    x = leaf(T, [1.0], "float64")

    def refuses_none(x):
        def hook(grad):
            if grad is None:
                raise RuntimeError("no gradient")

        y = x.clone()
        y.register_hook(hook)
        return y

    return [
        checked(T, refuses_none, x),
        checked(T, refuses_none, x, raise_exception=False),
        checked(T, refuses_none, x, check_undefined_grad=False),
        checked(T, lambda x: T.cat([x, x]) if bool((x >= 1).all()) else x * 1, x),
        checked(T, lambda x: x.float() if bool((x >= 1).all()) else x * 1, x),
        checked(T, lambda x: x, x, check_backward_ad=False, check_undefined_grad=False),
    ]


@program
def gradcheck_by_both_of_its_names(T):
    import importlib

    module = importlib.import_module(T.__name__ + ".autograd.gradcheck")
    x = leaf(T, [0.5], "float64")
    return [T.autograd.gradcheck(T.sin, x), T.autograd.gradgradcheck(T.sin, x), module.gradcheck(T.sin, x)]


@program
def names_of_functions_and_modes(T):
    class Doubled(T.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(T, [1.0])
    Doubled.apply(x * 1).sum().backward()
    return [x.grad, quiet(lambda: Doubled(True).inplace)]


# --- the functional interface in strict mode ---------------------------------------------------------------


def plain(value):
    """A result without its history, which may take another way: nested as it was."""
    return tuple(plain(v) for v in value) if isinstance(value, tuple) else value.detach()


@program
def strictness_of_products_and_hessians(T):
    functions = [
        lambda x, y: (3 * x + y).sum(),
        lambda x, y: (x**2).sum(),
        lambda x, y: (x * y).sum(),
        lambda x, y: (x**2 + y**2).sum(),
        lambda x, y: (x**3 + y**3).sum(),
        lambda x, y: (x.detach() * y).sum(),
    ]
    x, y, v = leaf(T, [0.1, 0.2]), leaf(T, [0.3, 0.4]), T.tensor([1.0, 2.0])
    seen, of = [], T.autograd.functional
    for f in functions:
        for options in ({}, {"strict": True}, {"strict": True, "create_graph": True}):
            for ask in (
                lambda: of.vhp(f, (x, y), (v, v), **options),
                lambda: of.hvp(f, (x, y), (v, v), **options),
                lambda: of.hessian(f, (x, y), **options),
                lambda: of.jacobian(lambda x, y: (f(x, y), x * y), (x, y), **options),
                lambda: of.vjp(f, (x, y), T.tensor(1.0), **options),
                lambda: of.jvp(f, (x, y), (v, v), **options),
            ):
                seen.append(raises(lambda: seen.append(plain(ask()))))
    return seen


@program
def what_the_functional_interface_refuses(T):
    x, of = T.tensor([0.1, 0.2]), T.autograd.functional
    return [
        raises(lambda: of.hvp(lambda x: (x.sum(), x.sum()), x, T.ones(2))),
        raises(lambda: of.vhp(lambda x: (x.sum(),), x, T.ones(2))),
        raises(lambda: of.hessian(lambda x: (x.sum(),), x)),
        raises(lambda: of.hessian(lambda x: x.sum(), x, strict=True, vectorize=True)),
        raises(lambda: of.jacobian(lambda x: x, x, strict=True, vectorize=True)),
        raises(lambda: of.jacobian(lambda x: x, x, strategy="sideways")),
    ]


# --- hooks of modules --------------------------------------------------------------------------------------


def module_of(T, forward):
    class Made(T.nn.Module):
        def forward(self, *args):
            return forward(*args)

    return Made()


@program
def a_hooked_module_adds_to_the_gradient_that_is_there(T):
    x = leaf(T, [1.0, 2.0])
    (x * 1).sum().backward()
    held = x.grad
    m = module_of(T, lambda constant, x: x * 3)
    m.register_full_backward_hook(lambda m, grad_input, grad_output: None)
    m(x.detach(), x).sum().backward()
    return [x.grad is held, held]


@program
def a_backward_hook_may_not_change_sizes(T):
    x, seen = T.ones(2, 2, requires_grad=True), []
    for given in ((T.ones(3),), (None,), (T.ones(2, 2).double(),)):
        m = T.nn.Sigmoid()
        m.register_full_backward_hook(lambda m, grad_input, grad_output, given=given: given)
        seen += [raises(lambda: m(x).sum().backward()), x.grad]
        x.grad = None
    return seen


@program
def what_a_hook_of_the_old_form_misses(T):
    a, b, seen = leaf(T, [1.0]), leaf(T, [2.0]), []
    for forward, args in (
        (lambda pair: (pair[0].clone(), pair[1].clone()), ([a, b],)),
        (lambda a, b: [a.clone(), b.clone()], (a, b)),
        (lambda a, b: (a.clone(), b.clone()), (a, b)),
        (lambda a: a.clone().clone(), (a,)),
        (lambda a: {"first": 3, "second": a.clone()}, (a,)),
        (lambda a: a.clone(), (a * 1,)),
        (lambda a: a.unbind(), (a * 1,)),
    ):
        m, log = module_of(T, forward), []
        m.register_backward_hook(lambda m, grad_input, grad_output, log=log: log.append([grad_input, grad_output]))
        warnings, result = warned(lambda: m(*args))
        made = [t for t in (result.values() if isinstance(result, dict) else result) if hasattr(t, "sum")]
        made[0].sum().backward()
        seen += [warnings, log]
    return seen


@program
def what_hooks_that_are_always_called_see(T):
    seen = []
    m = module_of(T, lambda x: x * 2)
    m.register_forward_pre_hook(lambda m, args: (args[0] * 5,))
    m.register_forward_hook(lambda m, args, result: 1 / 0)
    m.register_forward_hook(lambda m, a, k, r: seen.append([a, k, r]) or r * 2, always_call=True, with_kwargs=True)
    m.register_forward_hook(lambda m, args, result: seen.append([args, result]), always_call=True)
    return [raises(lambda: m(T.ones(2))), seen]


@program
def hooks_around_a_state_dict(T):
    m, log = T.nn.Linear(1, 1), []
    m.register_state_dict_post_hook(lambda m, state, prefix, metadata: log.append([list(state), prefix]))
    list(T.nn.Sequential(m).state_dict())
    m.register_state_dict_post_hook(lambda m, state, prefix, metadata: state)
    taken = T.nn.Linear(1, 1, bias=False)
    wrong = {"weight": T.ones(1, 1, dtype=T.int64)}
    return [log, raises(lambda: m.state_dict()), raises(lambda: taken.load_state_dict(wrong, assign=True))]
