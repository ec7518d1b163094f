"""Two or three features at once: saved-tensor hooks in blocks that allow writes, anomaly mode and hooks, and so on."""

import copy
import gc
import io
import itertools
import pickle
import threading
import warnings
import weakref

from kit import anomaly, graph, leaf, program, programs, quiet, raises, warned


def identity(t):
    return t


def simple(T, forward, backward):
    """A custom Function of two plain functions."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Simple", (T.autograd.Function,), body)


# --- what hooks on saved tensors are shown -----------------------------------------------------------------


@program
def a_node_shows_its_own_result_to_the_pack_hook(T):
    """The very tensor that the operation returns; so a hook that keeps it keeps the whole graph."""
    x, shown = leaf(T, [1.0, 2.0]), []
    with T.autograd.graph.saved_tensors_hooks(lambda t: shown.append(t) or t, identity):
        y, h = x.exp(), x * 1
        h.exp_()
        z = simple(T, lambda ctx, x: ctx.save_for_backward(y := x * 2) or y, lambda ctx, g: g * 2).apply(x)
    same = [shown[0] is y, shown[1] is h, shown[-1] is z]
    alive = weakref.ref(y)
    shown.clear()
    del y
    return [same, alive() is not None]


@program
def saving_on_the_cpu_keeps_the_tensor_itself(T):
    """On a CPU nothing is moved, so nothing is copied: the tensor lives on, and new `.data` is seen."""
    x = leaf(T, [1.0, 2.0])
    with T.autograd.graph.save_on_cpu():
        h = x * 1
        y = h * h
        z = h.exp()
    refs = [weakref.ref(h), weakref.ref(z)]
    h.data = T.tensor([5.0, 6.0])
    y.sum().backward()
    del h, z
    return [x.grad, [r() is not None for r in refs]]


@program
def a_function_without_outputs_under_hooks(T):
    with T.autograd.graph.saved_tensors_hooks(identity, identity):
        return simple(T, lambda ctx, x: (), lambda ctx: None).apply(leaf(T, [1.0]))


# --- saved tensors that may be overwritten -----------------------------------------------------------------


@program
def mutation_allowed_keeps_second_derivatives(T):
    """What was not overwritten is unpacked as itself, with its history."""
    x = leaf(T, [1.0, 2.0])
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        (g,) = T.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = T.autograd.grad(g.sum(), x, create_graph=True)
        return [g, h, T.autograd.grad(h.sum(), x)]


@program
def mutation_allowed_tells_what_was_copied(T):
    x, seen = leaf(T, [1.0, 2.0]), []
    with T.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x * 1
        z = y * y

        def look():
            seen.append([len(context.original), len(context.cloned)])

        look()
        y.mul_(3)
        look()
        z.sum().backward()
        look()
    look()
    return [seen, x.grad, type(context).__name__]


@program
def mutation_allowed_after_it_could_not_begin(T):
    """A block that is refused leaves nothing behind: the next one opens."""
    graph, x = T.autograd.graph, leaf(T, [1.0, 2.0])

    def begin():
        with graph.allow_mutation_on_saved_tensors():
            y = x * 1
            z = y * y
            y.zero_()
            z.sum().backward()

    with graph.disable_saved_tensors_hooks("not now"):
        refused = raises(begin)
    return [refused, raises(begin), x.grad]


@program
def mutation_allowed_and_other_memory(T):
    """New memory by `.data =` is no write; `set_` is one."""
    x, out = leaf(T, [1.0, 2.0]), []
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        for change in (lambda y: setattr(y, "data", T.zeros(2)), lambda y: y.set_(T.zeros(2)), lambda y: y.zero_()):
            x.grad, y = None, x * 1
            z = y * y
            with T.no_grad():
                change(y)
            z.sum().backward()
            out.append(x.grad)
    return out


# --- anomaly mode ------------------------------------------------------------------------------------------


def complaints(T, run):
    """The first lines of the warnings of a failing pass, and its error."""
    seen, error = warned(lambda: raises(run))
    return [[(kind, text.strip().splitlines()[0]) for kind, text in seen], error[:2]]


@program
def anomaly_mode_shows_the_forward_traceback(T):
    """In a warning beside the error, whatever the error was: NaN, a hook's own, a leaf's."""
    out = []
    for make in (
        lambda x: x.sqrt() * 0,
        lambda x: simple(T, lambda ctx, x: x * 1, lambda ctx, g: 1 / 0).apply(x),
        lambda x: x.exp().mul_(2),
    ):
        with T.autograd.set_detect_anomaly(True):
            x = leaf(T, [0.0, 4.0])
            y = make(x)
            if y.grad_fn.name() == "MulBackward0" and y.grad_fn.next_functions[0][0].name() == "ExpBackward0":
                x.register_hook(lambda g: 1 / 0)
            out.append(complaints(T, lambda y=y: y.sum().backward()))
    return out


@program
def anomaly_mode_names_the_node_that_made_the_node(T):
    """An error in a second pass is followed by where the first one came from."""
    with T.autograd.set_detect_anomaly(True):
        x = leaf(T, [4.0, 9.0])
        y = x**3
        (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
        node = g.grad_fn
        g.register_hook(lambda v: 1 / 0)
        noted = [sorted(node.metadata), node.metadata["parent_"], type(node.metadata["traceback_"][0]).__name__]
        return [noted, complaints(T, lambda: (g * 2).sum().backward())]


@program
def anomaly_mode_switched_on_too_late(T):
    x = leaf(T, [1.0])
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with T.autograd.set_detect_anomaly(True):
        return complaints(T, lambda: y.sum().backward())


@program
def anomaly_mode_and_writes_to_views(T):
    """The nodes of a view and its base that a write makes are noted, too."""
    with T.autograd.set_detect_anomaly(True):
        x = leaf(T, [0.0, 4.0])
        y = x.clone()
        y[:1].sqrt_()
        v = y[:1]
        v.mul_(0)
        return [sorted(y.grad_fn.metadata), sorted(v.grad_fn.metadata), complaints(T, lambda: y.sum().backward())]


@program
def anomaly_mode_in_a_pass_inside_of_a_pass(T):
    """Both nodes are told of, the inner one first; and afterwards all is as before."""
    with T.autograd.set_detect_anomaly(True):
        x, u = leaf(T, [1.0]), leaf(T, [2.0])
        inner = u * 3
        inner.register_hook(lambda g: 1 / 0)
        y = x.sin()
        y.register_hook(lambda g: inner.sum().backward())
        return [complaints(T, lambda: y.sum().backward()), (x * 2).grad_fn.metadata.get("parent_")]


@program
def anomaly_mode_and_what_has_no_derivative(T):
    """The nodes that only raise are noted like any others."""
    with T.autograd.set_detect_anomaly(True):
        x = leaf(T, [1.0, 2.0])
        backward = T.autograd.function.once_differentiable(lambda ctx, g: g * 2)
        (g,) = T.autograd.grad(simple(T, lambda ctx, x: x * 2, backward).apply(x).sum(), x, create_graph=True)
        y = x.floor_divide(T.tensor([1.0, 2.0]))
        return [complaints(T, lambda: g.sum().backward()), complaints(T, lambda: y.sum().backward())]


@program
def anomaly_mode_is_of_all_threads(T):
    """A thread that starts inside of the block is in it, and a switch in one thread is seen in the others."""
    seen = []

    def look():
        seen.append(anomaly(T))
        seen.append(sorted((leaf(T, [1.0]) * 2).grad_fn.metadata))

    def in_thread(run):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    with T.autograd.set_detect_anomaly(True, check_nan=False):
        in_thread(look)
    in_thread(lambda: T.autograd.set_detect_anomaly(True))
    seen.append(anomaly(T)[0])
    T.autograd.set_detect_anomaly(False)
    in_thread(look)
    return seen


@program
def a_version_error_in_anomaly_mode_points_above(T):
    with T.autograd.set_detect_anomaly(True):
        y = leaf(T, [1.0]).exp()
        y.add_(1)
        text = quiet(lambda: raises(lambda: y.sum().backward()))[2]
    return text[: text.index("Good luck!")]


@program
def the_cause_of_a_hooks_own_error_stays(T):
    """`raise ... from ...` in a hook keeps its cause on its way through the pass."""
    x = leaf(T, [1.0])

    def hook(g):
        raise ValueError("hook") from KeyError("cause")

    x.register_hook(hook)
    try:
        (x * 2).sum().backward()
    except ValueError as error:
        return [repr(error.__cause__), error.__suppress_context__]


@program
def a_node_that_made_nan_has_run(T):
    """What it kept is gone as after any run, unless the graph is retained."""
    out = []
    for retain in (False, True):
        with T.autograd.set_detect_anomaly(True):
            y = leaf(T, [0.0, 4.0]).sqrt()
            z = y * 0
            out.append(quiet(lambda z=z, retain=retain: raises(lambda: z.sum().backward(retain_graph=retain))))
        out.append(raises(lambda y=y: y.grad_fn._saved_result))
    return out


# --- gradients whose elements share a place ----------------------------------------------------------------


@program
def the_gradient_of_a_sum_may_not_be_written_to(T):
    """It is one number seen many times; that of a mean is not."""
    out = []
    for f in (lambda y: y.sum(), lambda y: y.mean(), lambda y: y.sum(0), lambda y: (y + 1).sum(), lambda y: y.mean(0)):
        x = leaf(T, [1.0, 2.0, 3.0])
        y = x * 1
        y.register_hook(lambda g: out.append([g.stride(), raises(lambda: g.mul_(2))]))
        f(y).backward()
        out.append(x.grad)
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    (g,) = T.autograd.grad(x.sum(0).sum(), x)
    return [out, g, g.stride(), raises(lambda: g.mul_(2)), T.autograd.grad(x.mean(), x)[0].stride()]


# --- the moment of a warning -------------------------------------------------------------------------------


@program
def the_warning_of_create_graph_comes_after_the_pass(T):
    """So gradients are there even where warnings are errors."""
    x = leaf(T, [1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T.set_warn_always(True)
        error = raises(lambda: (x * x).sum().backward(create_graph=True))
        T.set_warn_always(False)
    return [error[1], x.grad]


programs(
    numbers_of_leaves_warn_while_recording=lambda T: [numbers(T), under(T.no_grad, lambda: numbers(T))],
    mark_dirty_warns_only_when_recorded=lambda T: [
        dirty(T, leaf(T, [1.0])),
        dirty(T, T.ones(1)),
        under(T.no_grad, lambda: dirty(T, leaf(T, [1.0]))),
    ],
)


def numbers(T):
    x = leaf(T, 1.5)
    T.set_warn_always(True)
    seen = [[kind for kind, _ in warned(lambda f=f: f(x))[0]] for f in (int, float, bool)]
    T.set_warn_always(False)
    return seen


def dirty(T, x):
    def forward(ctx, x):
        y = x * 1
        ctx.mark_dirty(y)
        return y

    return [kind for kind, _ in warned(lambda: simple(T, forward, lambda ctx, g: g).apply(x))[0]]


def under(mode, run):
    with mode():
        return run()


# --- copies ------------------------------------------------------------------------------------------------


@program
def copies_say_that_hooks_are_left_behind(T):
    """copy.copy and pickle do, of a tensor; deepcopy does not, nor anything of a Parameter."""
    x, p = leaf(T, [1.0]), T.nn.Parameter(T.ones(1))
    for t in (x, p):
        t.register_hook(abs)
    y = x * 2
    y.register_hook(abs)
    ways = (copy.copy, copy.deepcopy, lambda t: len(pickle.dumps(t)) > 0)
    return [[warned(lambda: way(t))[0] for way in ways] for t in (x, p)], warned(lambda: copy.copy(y))[0]


@program
def a_pickle_shares_no_memory_and_a_file_does(T):
    whole = T.zeros(4)
    a, b = pickle.loads(pickle.dumps((whole[:2], whole[1:])))
    a.add_(1)
    file = io.BytesIO()
    T.save([whole[:2], whole[1:]], file)
    file.seek(0)
    c, d = T.load(file)
    c.add_(1)
    return [b, d, a._version, pickle.loads(pickle.dumps(T.nn.Parameter(T.ones(2))))._version]


# --- a segment that catches what ends it -------------------------------------------------------------------


@program
def a_checkpointed_function_that_catches_every_exception(T):
    """The second run is ended by an exception; who catches it and goes on is told so."""

    def segment(x):
        try:
            y = x.sin()
        except Exception as error:
            seen.append(type(error).__name__)
            y = x
        return y * y

    seen, x = [], leaf(T, [1.0])

    def once(x):
        try:
            return x.sin()
        except Exception as error:
            seen.append(type(error).__name__)
            return x.exp()

    checkpoint = T.utils.checkpoint.checkpoint
    out = [raises(lambda f=f: checkpoint(f, x, use_reentrant=False).sum().backward()) for f in (segment, once)]
    return [out, seen, x.grad]


# --- gradcheck ---------------------------------------------------------------------------------------------


@program
def gradcheck_goes_back_through_its_first_result(T):
    """So a function that writes to its input is refused: the values that were saved are gone."""
    calls = []

    def f(a):
        calls.append(a._version)
        return a.detach().add_(1) * a

    error = raises(lambda: T.autograd.gradcheck(f, leaf(T, [1.0], "float64")))
    return [error[1], error[2][:80], calls]


@program
def gradcheck_calls_its_function_as_often(T):
    """For its results, each number up and down, and undefined gradients; zeros go through the first results."""
    x, calls = leaf(T, [1.0, 2.0], "float64"), []
    for options in ({}, {"check_undefined_grad": False}):
        for f in (lambda x: x * x, lambda x: (x * 2, x.exp())):
            T.autograd.gradcheck(lambda x, f=f: calls.append(0) or f(x), x, **options)
            calls.append(len(calls))
    return calls


programs(data_cannot_be_deleted=lambda T: raises(lambda: delattr(leaf(T, [1.0]), "data")))


# --- hooks and who holds them ------------------------------------------------------------------------------


@program
def a_handle_does_not_keep_its_hook_alive(T):
    """What a hook holds goes with the tensor (or its node) that the hook was registered on."""

    class Hook:
        def __call__(self, *args):
            return None

    x, out = leaf(T, [1.0]), []
    for register in (
        lambda hook: (x * 2).register_hook(hook),
        lambda hook: (x * 2).grad_fn.register_hook(hook),
        lambda hook: (x * 2).grad_fn.register_prehook(hook),
        lambda hook: leaf(T, [1.0]).register_hook(hook),
        lambda hook: leaf(T, [1.0]).register_post_accumulate_grad_hook(hook),
        lambda hook: T.nn.Linear(1, 1).register_forward_hook(hook),
        lambda hook: x.register_hook(hook),
    ):
        hook = Hook()
        alive = weakref.ref(hook)
        handle = register(hook)
        del hook
        gc.collect()
        out.append(alive() is not None)
        handle.remove()
        handle.remove()
        out.append(alive() is not None)
    return out


@program
def nan_is_looked_for_after_the_hooks_of_a_node(T):
    """They may bring it in, or take it away."""
    out = []
    for values, replacement in (([1.0, 2.0], float("nan")), ([0.0, 1.0], 1.0)):
        x = leaf(T, values)
        with T.autograd.set_detect_anomaly(True):
            y = x.sqrt()
            y.grad_fn.register_hook(lambda i, o, r=replacement: (T.full((2,), r),))
            out.append([quiet(lambda y=y: raises(lambda: (y * 0).sum().backward())), x.grad])
    return out


# --- graphs of gradients -----------------------------------------------------------------------------------


@program
def numbers_in_the_graphs_of_gradients(T):
    """A formula's product with a number is a node with one edge, and not that of Python's `x * 2`."""
    out = {}
    for name, f in {
        "square": lambda x: x**2,
        "cube": lambda x: x**3,
        "sqrt": lambda x: x.sqrt(),
        "rsqrt": lambda x: x.rsqrt(),
        "power of a number": lambda x: 2**x,
        "mean": lambda x: (x * x).mean(),
        "means of rows": lambda x: (x * x).mean(0),
        "log1p": lambda x: x.log1p(),
        "expm1": lambda x: T.expm1(x),
        "log2": lambda x: T.log2(x),
        "erf": lambda x: x.erf(),
        "atan": lambda x: T.atan(x),
        "tan": lambda x: x.tan(),
        "variance": lambda x: x.var(),
        "variance along": lambda x: x.var(0, keepdim=True),
        "deviation": lambda x: x.std(),
    }.items():
        x = leaf(T, [1.5, 2.0])
        y = f(x)
        (g,) = T.autograd.grad(y, x, T.ones_like(y).requires_grad_(), create_graph=True)
        (h,) = T.autograd.grad(g.sum(), x, create_graph=True)
        out[name] = [graph(g.grad_fn), h.detach()]
    return out


@program
def saved_tensors_read_once_and_then_released(T):
    """The error of a second pass is that of reading twice."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    function = simple(T, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    function.clear_saved_tensors_on_access = True
    x = leaf(T, [3.0])
    y = function.apply(x)
    y.sum().backward()
    return [raises(lambda: y.sum().backward()), raises(lambda: y.grad_fn.saved_tensors), x.grad]


# --- copies and files in inference mode --------------------------------------------------------------------


@program
def copies_in_inference_mode(T):
    """What is made there is of that mode, by whatever way; but a copy of a Parameter looks at the same tensor."""
    x, p = T.ones(2), T.nn.Parameter(T.ones(2))
    files = pickle.dumps(x), pickle.dumps(p)
    with T.inference_mode():
        made = [copy.copy(x), copy.copy(p), copy.deepcopy(x), copy.deepcopy(p), *map(pickle.loads, files)]
        made += [T.repeat_interleave(T.tensor([1, 2]))]
    return [[t.is_inference(), t.requires_grad, type(t).__name__] for t in made]


# --- what forward leaves on ctx, and what it marks ---------------------------------------------------------


@program
def marks_on_ctx_have_pytorchs_names(T):
    """None before forward sets them and after `apply` took them; they may be set by hand."""
    names, seen = ("dirty_tensors", "non_differentiable", "to_save"), []

    def forward(ctx, x, y):
        seen.append([getattr(ctx, name) for name in names] + [raises(lambda: ctx.materialize_grads)])
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(y)
        ctx.save_for_backward(x.add_(1), None)
        seen.append([len(getattr(ctx, name)) for name in names])
        return x, y

    x, y = simple(T, forward, lambda ctx, g, h: (g, None)).apply(leaf(T, [1.0]) * 1, leaf(T, [1.0]) * 1)
    seen += [[getattr(x.grad_fn, name) for name in names], y.requires_grad, x.grad_fn.saved_tensors[0]]
    for name in (*names, "materialize_grads"):
        for value in ((), 5, [1], None):
            function = simple(T, lambda ctx, x, n=name, v=value: setattr(ctx, n, v) or x * 2, lambda ctx, g: g)
            seen.append(raises(lambda f=function: f.apply(leaf(T, [1.0]))))
    return seen


@program
def dirty_counts_even_if_it_is_refused(T):
    """What mark_dirty named and forward did not return has been written to, too."""
    function, out = simple(T, lambda ctx, x: ctx.mark_dirty(x) or x * 2, lambda ctx, g: g), []
    for x in (leaf(T, [1.0]) * 1, T.ones(1)):
        out.append([raises(lambda x=x: function.apply(x)), x._version])
    return out


@program
def ctx_holds_nothing_that_forward_marked(T):
    """What was changed in place holds its node: held by it in turn, it would wait for the garbage collector."""

    def forward(ctx, x):
        ctx.mark_dirty(x.add_(1))
        ctx.mark_non_differentiable(constant := x * 2)
        return x, constant

    y, constant = simple(T, forward, lambda ctx, g, h: g).apply(leaf(T, [1.0]) * 1)
    gc.disable()
    alive = [weakref.ref(y), weakref.ref(constant)]
    del constant
    seen = [[r() is not None for r in alive]]
    del y
    seen.append([r() is not None for r in alive])
    gc.enable()
    return seen


@program
def data_of_inference_mode_leaves_the_counter(T):
    """`x.data = ` memory that was made in inference mode: x is of that mode, and counts as before."""
    with T.inference_mode():
        made = T.ones(2)
    seen = []
    for x in (T.zeros(2).add_(1), leaf(T, [1.0, 2.0]), leaf(T, [1.0, 2.0]) * 2):
        x.data = made
        seen.append([x._version, x.is_inference()])
        x.data = T.zeros(2)
        seen.append([x._version, x.is_inference()])
    return seen


@program
def functions_of_inference_tensors(T):
    """What a Function returns in and out of inference mode: an input, written to or not, a view, no derivative."""

    def written(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    def constant(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    def marked(ctx, x):
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x

    forwards = [written, lambda ctx, x: x, lambda ctx, x: x[:1], constant, marked]
    modes = [T.inference_mode, T.no_grad, T.enable_grad]
    seen = []
    for made, wants, mode, forward in itertools.product([True, False], [True, False], modes, forwards):
        function = simple(T, forward, lambda ctx, g: g)
        with T.inference_mode(made):
            x = T.full((3,), 2.0, requires_grad=wants)

        def facts(x=x, mode=mode, function=function):
            with mode():
                y = function.apply(x)
            return [y.is_inference(), y.requires_grad, y is x, y._is_view(), raises(lambda: y._version)]

        try:
            seen.append(facts())
        except RuntimeError as error:
            seen.append(str(error)[:60])
    return seen
