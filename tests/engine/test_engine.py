"""The backward pass: order, accumulation, what may be asked for, and what a failure leaves behind."""

import pytest

import course_lib


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def scalar(torch, value):
    return torch.tensor(value, requires_grad=True)


# --- order -------------------------------------------------------------------------------------------------


def test_every_node_waits_for_all_its_consumers(torch):
    """The graph that tells a true topological order from a guess: e = d * a with a = x * x at x = 2 gives 316."""
    x = scalar(torch, 2.0)
    a = x * x
    b = a + x
    c = b * a
    d = c + b
    e = d * a
    e.backward()

    assert x.grad.item() == 316.0


def test_a_ladder_of_diamonds_takes_no_longer_than_its_edges(torch):
    """2^60 paths, 120 edges: each node runs once."""
    x = scalar(torch, 1.0)
    calls = []
    h = x * 1
    for _ in range(60):
        h = (h + h) * 0.5
    h.register_hook(lambda g: calls.append(1))
    h.backward()

    assert x.grad.item() == 1.0
    assert len(calls) == 1


def test_a_node_that_is_also_a_root_waits(torch):
    """Several roots, one of them in the middle of the other's graph: the middle node runs once, on the sum."""
    x = scalar(torch, 3.0)
    middle = x * x
    end = middle * 2
    seen = []
    middle.register_hook(lambda g: seen.append(g.item()))
    torch.autograd.backward([middle, end])

    assert seen == [3.0]
    assert x.grad.item() == 18.0


def test_the_same_root_twice_counts_twice(torch):
    """A tensor named twice among the roots contributes twice."""
    x = scalar(torch, 3.0)
    y = x * x
    torch.autograd.backward([y, y])

    assert x.grad.item() == 12.0


def test_the_newest_ready_node_runs_first(torch):
    """Among nodes that are ready the one that was made last runs first."""
    x = leaf(torch)
    order = []
    first, second, third = x * 1, x * 2, x * 3
    for name, t in (("first", first), ("third", third), ("second", second)):
        t.register_hook(lambda g, name=name: order.append(name))
    (second + first + third).sum().backward()

    assert order == ["third", "second", "first"]


def test_a_leaf_is_served_as_soon_as_its_gradient_is_complete(torch):
    """AccumulateGrad comes before every other ready node."""
    x, y = leaf(torch), leaf(torch)
    old = y * 2
    new = x * 3
    seen = []
    old.register_hook(lambda g: seen.append(None if x.grad is None else x.grad.tolist()))
    (old + new).sum().backward()

    assert seen == [[3.0, 3.0, 3.0]]


def test_contributions_are_added_newest_first(torch):
    """Floating addition is not associative: (1 - 1) + 1e-8 against 1 + (-1 + 1e-8), in float32."""
    x = scalar(torch, 1.0)
    small, minus, one = x * 1e-8, x * -1.0, x * 1.0
    (small + minus + one).backward()

    assert x.grad.item() == pytest.approx(1e-8)
    x.grad = None
    one, minus, small = x * 1.0, x * -1.0, x * 1e-8
    (one + minus + small).backward()
    assert x.grad.item() == 0.0


# --- what is given and asked for ---------------------------------------------------------------------------


def test_one_element_of_any_shape_needs_no_gradient(torch):
    """backward() starts with 1 for a tensor of exactly one element, whatever its number of dimensions."""
    for shape in ((), (1,), (1, 1)):
        x = torch.ones(shape, requires_grad=True)
        (x * 3).backward()
        assert x.grad.shape == shape
        assert x.grad.item() == 3.0


def test_a_given_gradient_is_the_vector_of_the_product(torch):
    """backward(v) computes v times the Jacobian."""
    x = leaf(torch)
    (x**2).backward(torch.tensor([1.0, 10.0, 100.0]))

    assert x.grad.tolist() == [2.0, 40.0, 600.0]


def test_a_wider_gradient_is_cast(torch):
    """A float64 gradient for a float32 result is converted."""
    x = leaf(torch)
    (x * 2).backward(torch.ones(3, dtype=torch.float64))

    assert x.grad.dtype == torch.float32


def test_leaf_as_its_own_root(torch):
    """backward of a leaf gives it the gradient that was passed in."""
    x = scalar(torch, 3.0)
    x.backward()
    x.backward(torch.tensor(5.0))

    assert x.grad.item() == 6.0


def test_backward_with_inputs_fills_only_those(torch):
    """Only the inputs named get a gradient, computed tensors among them."""
    x, w = leaf(torch), leaf(torch)
    h = x * w
    (h * h).sum().backward(inputs=[w, h])

    assert x.grad is None
    assert w.grad.tolist() == [2.0, 16.0, 54.0]
    assert h.grad.tolist() == [2.0, 8.0, 18.0]


def test_an_unreachable_input_of_backward_stays_none(torch):
    """backward(inputs=...) does not complain about an input that is not in the graph."""
    x, other = leaf(torch), leaf(torch)
    x.sum().backward(inputs=[other])

    assert x.grad is None and other.grad is None


def test_grad_returns_and_stores_nothing(torch):
    """autograd.grad leaves `.grad` alone."""
    x = leaf(torch)
    (g,) = torch.autograd.grad((x**2).sum(), x)

    assert g.tolist() == [2.0, 4.0, 6.0]
    assert x.grad is None and not g.requires_grad


def test_grad_for_a_computed_tensor(torch):
    """autograd.grad can be asked for any tensor of the graph, and for several at different depths."""
    x = leaf(torch)
    h = x * 2
    y = (h**2).sum()
    gy, gh, gx = torch.autograd.grad(y, [y, h, x])

    assert gy.item() == 1.0
    assert gh.tolist() == [4.0, 8.0, 12.0]
    assert gx.tolist() == [8.0, 16.0, 24.0]


def test_grad_of_several_outputs_adds(torch):
    """The gradients of several outputs are added, weighted by grad_outputs."""
    x = leaf(torch)
    (g,) = torch.autograd.grad([x * 2, (x * 3).sum()], x, [torch.tensor([1.0, 0.0, 10.0]), None])

    assert g.tolist() == [5.0, 3.0, 23.0]


def test_unused_inputs_of_grad_in_three_ways(torch):
    """An error, None, or zeros: the caller chooses."""
    x, unused = leaf(torch), leaf(torch)
    with pytest.raises(RuntimeError, match="at index 1 appears to not have been used"):
        torch.autograd.grad((x * 2).sum(), [x, unused])
    assert torch.autograd.grad((x * 2).sum(), [x, unused], allow_unused=True)[1] is None
    _, zeros = torch.autograd.grad((x * 2).sum(), [x, unused], materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0, 0.0] and not zeros.requires_grad
    _, zeros = torch.autograd.grad((x * 2).sum(), [x, unused], materialize_grads=True, create_graph=True)
    assert zeros.requires_grad


def test_a_dictionary_of_inputs_gives_a_dictionary(torch):
    """Names go in and come out."""
    x, y = leaf(torch), leaf(torch)
    grads = torch.autograd.grad((x * y).sum(), {"x": x, "y": y})

    assert {name: g.tolist() for name, g in grads.items()} == {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}


def test_an_input_given_twice_comes_back_twice(torch):
    """Each position of the answer belongs to its position in the question."""
    x = leaf(torch)
    a, b = torch.autograd.grad((x * 2).sum(), [x, x])

    assert a.tolist() == b.tolist() == [2.0, 2.0, 2.0]


def test_gradient_edges_can_be_asked_for(torch):
    """A gradient edge names a place in the graph without holding the tensor."""
    x = leaf(torch)
    h = x * 2
    edge = torch.autograd.graph.get_gradient_edge(h)
    y = (h**2).sum()
    del h
    (g,) = torch.autograd.grad(y, edge)

    assert edge.output_nr == 0
    assert g.tolist() == [4.0, 8.0, 12.0]


def test_paths_that_are_not_asked_for_are_not_run(torch):
    """Hooks and nodes off the paths to the inputs asked for do not run."""
    x, y = leaf(torch), leaf(torch)
    ran = []
    a, b = x * 2, y * 3
    a.grad_fn.register_hook(lambda *grads: ran.append("a"))
    b.grad_fn.register_hook(lambda *grads: ran.append("b"))
    torch.autograd.grad((a + b).sum(), x)

    assert ran == ["a"]


def test_multiplying_by_zero_is_a_path_and_integers_are_none(torch):
    """A product with zero gives a gradient of zeros; a detour through integers gives none at all."""
    x, y = leaf(torch), leaf(torch)
    (x * 0 + y.long()).sum().backward()

    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert y.grad is None


# --- failures ----------------------------------------------------------------------------------------------


def test_a_failed_pass_leaves_what_it_did(torch):
    """Leaves that were reached keep their gradients, nodes that ran have released what they kept."""
    late, early = leaf(torch), leaf(torch)
    first = late.exp()
    second = early.exp()  # made later, so run earlier

    def fail(grad):
        raise KeyError("stop")

    handle = first.register_hook(fail)
    y = (first + second).sum()
    with pytest.raises(KeyError):
        y.backward()
    assert early.grad is not None and late.grad is None

    handle.remove()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_retained_failed_pass_can_be_repeated(torch):
    """With retain_graph nothing is released, so the pass can be run again."""
    x = leaf(torch)
    h = x.exp()

    def fail(grad):
        raise KeyError("stop")

    handle = h.register_hook(fail)
    y = (h * 2).sum()
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()

    assert x.grad is not None


# --- passes inside passes ----------------------------------------------------------------------------------


def test_a_pass_may_start_another_pass(torch):
    """A hook may run a backward of its own, also on the same leaves."""
    x = leaf(torch)

    def inner(grad):
        with torch.enable_grad():
            (x * 10).sum().backward()

    h = x * 2
    h.register_hook(inner)
    h.sum().backward()

    assert x.grad.tolist() == [12.0, 12.0, 12.0]


def test_deeply_nested_passes(torch):
    """Passes inside passes, 50 deep."""
    depth = []

    def level(n):
        x = scalar(torch, 1.0)

        def hook(grad):
            if n:
                with torch.enable_grad():
                    level(n - 1)

        y = x * 2
        y.register_hook(hook)
        y.backward()
        depth.append(x.grad.item())

    level(50)
    assert depth == [2.0] * 51


# --- second derivatives ------------------------------------------------------------------------------------


def test_derivatives_of_derivatives(torch):
    """x ** 4 five times."""
    x = scalar(torch, 2.0)
    y, found = x**4, []
    for _ in range(4):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        found.append(y.item())

    assert found == [32.0, 48.0, 48.0, 24.0]


def test_the_gradient_of_a_linear_function_has_no_history(torch):
    """create_graph on a linear function gives a constant: the next grad call is an error, not zero."""
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)

    assert not g.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.autograd.grad(g.sum(), x)


def test_hessian_vector_product(torch):
    """The gradient of (gradient . v) is the Hessian times v."""
    x = leaf(torch, 1.0, 2.0)
    v = torch.tensor([3.0, 4.0])
    y = x[0] ** 2 * x[1] + x[1] ** 3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (product,) = torch.autograd.grad((g * v).sum(), x)

    # Hessian at (1, 2): [[4, 2], [2, 12]]
    assert product.tolist() == [20.0, 54.0]


def test_a_vjp_differentiated_by_its_vector_is_a_jvp(torch):
    """Two backward passes make a forward derivative."""
    x, u = leaf(torch), torch.ones(3, requires_grad=True)
    (vjp,) = torch.autograd.grad(x**2, x, u, create_graph=True)
    (jvp,) = torch.autograd.grad(vjp, u, torch.tensor([1.0, 10.0, 100.0]))

    assert jvp.tolist() == [2.0, 40.0, 600.0]


def test_gradient_penalty(torch):
    """A loss may contain a gradient; the parameters get derivatives through it."""
    w, x = leaf(torch, 2.0), torch.tensor([3.0], requires_grad=True)
    (g,) = torch.autograd.grad((w * x**2).sum(), x, create_graph=True)
    (g**2).sum().backward()

    assert w.grad.tolist() == [2 * 2 * 3.0 * (2 * 2 * 3.0)]


def test_writing_in_place_between_the_passes_is_noticed(torch):
    """The second pass checks the versions of what the first pass kept."""
    x = leaf(torch)
    h = x * 1
    (g,) = torch.autograd.grad((h**3).sum(), x, create_graph=True)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g.sum().backward()


# --- values at special points ------------------------------------------------------------------------------

KINKS = {
    "relu at 0": (lambda t, x: x.relu(), [0.0], [0.0]),
    "abs at 0": (lambda t, x: x.abs(), [0.0], [0.0]),
    "clamp on its bounds": (lambda t, x: x.clamp(0, 1), [0.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
    "sqrt at 0": (lambda t, x: x.sqrt(), [0.0], [float("inf")]),
    "norm at 0": (lambda t, x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
    "power 0 at 0": (lambda t, x: x**0, [0.0], [0.0]),
    "0 to the power of x": (lambda t, x: 0**x, [2.0], [0.0]),
    "prod with one zero": (lambda t, x: x.prod(), [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "prod with two zeros": (lambda t, x: x.prod(), [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "std of equal values": (lambda t, x: x.std(), [2.0, 2.0], [0.0, 0.0]),
    "max of everything, tied": (lambda t, x: x.max(), [3.0, 3.0, 1.0], [0.5, 0.5, 0.0]),
    "amin, tied": (lambda t, x: t.amin(x, 0), [1.0, 1.0, 3.0], [0.5, 0.5, 0.0]),
    "max along a dimension, tied": (lambda t, x: x.max(0).values, [3.0, 3.0, 1.0], [1.0, 0.0, 0.0]),
    "maximum of equals": (lambda t, x: t.maximum(x, t.tensor([1.0])), [1.0], [0.5]),
    "round": (lambda t, x: x.round(), [1.5, 2.5], [0.0, 0.0]),
    "where does not stop NaN": (lambda t, x: t.where(x > 0, x.sqrt(), x * 0), [-1.0], [float("nan")]),
    "sorted": (lambda t, x: x.sort().values * t.tensor([1.0, 10.0, 100.0]), [3.0, 1.0, 2.0], [100.0, 1.0, 10.0]),
}


@pytest.mark.parametrize("point", KINKS)
def test_values_at_special_points(torch, point):
    """Where calculus leaves a choice, the choice is PyTorch's."""
    function, values, expected = KINKS[point]
    x = leaf(torch, *values)
    function(torch, x).sum().backward()

    assert x.grad.tolist() == pytest.approx(expected, nan_ok=True)


def test_kinks_of_two_dimensions(torch):
    """The norm at zero has a slope of zero; the root of a sum of squares has none."""
    x, y = leaf(torch, 0.0, 0.0), leaf(torch, 0.0, 0.0)
    ((x**2).sum()).sqrt().backward()
    y.norm().backward()

    assert all(value != value for value in x.grad.tolist())
    assert y.grad.tolist() == [0.0, 0.0]


def test_values_of_nothing(torch):
    """Sums of nothing are 0, products 1, means NaN; none of them is an error."""
    x = torch.zeros(0, requires_grad=True)
    assert x.sum().item() == 0.0
    assert x.prod().item() == 1.0
    assert x.mean().item() != x.mean().item()

    x.sum().backward()
    assert x.grad.shape == (0,)


def test_promotion(torch):
    """Numbers and 0-d tensors do not widen within a kind; dimensions and kinds do."""
    f, d, i = torch.ones(2), torch.ones(2, dtype=torch.float64), torch.ones(2).long()
    number = torch.tensor(2.0, dtype=torch.float64)

    assert [(f * number).dtype, (f * 2.5).dtype, (i * 2.5).dtype, (f * d).dtype, (i * f).dtype, (i / 2).dtype] == [
        torch.float32, torch.float32, torch.float32, torch.float64, torch.float32, torch.float32,
    ]  # fmt: skip


@pytest.mark.parametrize("plan", ["llll", "lllll", "l" * 13, "ollll", "lloll", "olololll"])
def test_many_leaves_of_one_node_are_reached_in_the_queue_s_order(real_torch, plan):
    """Leaves that become complete together are run as std::priority_queue gives out equals: not as they came."""

    def order(torch):
        reached, inputs = [], []
        for number, kind in enumerate(plan):
            leaf = torch.tensor(1.0, requires_grad=True)
            leaf.register_hook(lambda grad, number=number: reached.append(number))
            inputs.append(leaf if kind == "l" else leaf * 2)
        torch.stack(inputs).sum().backward()
        return reached

    assert order(real_torch) == order(course_lib)


@pytest.mark.parametrize("plan", [[0, 1, 2, 3, 0], [2, 0, 2, 1, 3, 3, 0], [0, 1, 0, 2, 1]])
@pytest.mark.parametrize("waiting", [0, 1, 4])
def test_a_leaf_that_is_used_again_takes_its_turn_from_its_last_use(real_torch, plan, waiting):
    """What counts for the queue is when a leaf becomes complete, and how many nodes wait there already."""

    def order(torch):
        reached, other = [], torch.tensor(1.0, requires_grad=True)
        leaves = [torch.tensor(1.0, requires_grad=True) for _ in range(4)]
        for number, leaf in enumerate(leaves):
            leaf.register_hook(lambda grad, number=number: reached.append(number))
        older = [other.exp() for _ in range(waiting)]
        total = torch.stack([leaves[number] for number in plan]).sum()
        (total + torch.stack(older).sum() if older else total).backward()
        return reached

    assert order(real_torch) == order(course_lib)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_gradients_that_nobody_asked_for_are_not_computed(torch):
    """autograd.grad and backward(inputs=…) leave out formulas: a NaN that would arise there is not noticed."""
    x, y = torch.tensor(float("nan"), requires_grad=True), torch.tensor(2.0, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        product = x * y
        (slope,) = torch.autograd.grad(product, x, retain_graph=True, create_graph=True)
        product.backward(inputs=[x], retain_graph=True)

        assert slope.item() == x.grad.item() == 2.0
        with pytest.raises(RuntimeError, match="'MulBackward0' returned nan values in its 1th output"):
            torch.autograd.grad(product, y)
