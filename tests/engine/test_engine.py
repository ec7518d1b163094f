"""The backward pass: order, accumulation, what may be asked for, and what a failure leaves behind."""

import pytest

import course_lib
from tests.engine.facts import leaf


def test_contributions_are_added_newest_first(torch):
    """Floating addition is not associative: (1 - 1) + 1e-8 against 1 + (-1 + 1e-8), in float32."""
    x = leaf(torch, 1.0)
    small, minus, one = x * 1e-8, x * -1.0, x * 1.0
    (small + minus + one).backward()

    assert x.grad.item() == pytest.approx(1e-8)
    x.grad = None
    one, minus, small = x * 1.0, x * -1.0, x * 1e-8
    (one + minus + small).backward()
    assert x.grad.item() == 0.0


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
        for number, each in enumerate(leaves):
            each.register_hook(lambda grad, number=number: reached.append(number))
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
