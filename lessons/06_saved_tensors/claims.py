"""The claims of lesson 06, saved tensors and memory, on our engine and on real PyTorch."""

import weakref

import pytest

from backscope import ledger
from lessons.claims_kit import CHANGED, FREED, from_lesson, leaf, raises


def saved(y):
    """The names of the slots of y's node that hold a tensor, and the tensors."""
    node = y.grad_fn
    slots = {name[7:]: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    return {name: value for name, value in slots.items() if hasattr(value, "data_ptr")}


def released(y, slot):
    """Reading this slot of y's node raises."""
    raises(FREED, lambda: getattr(y.grad_fn, "_saved_" + slot))


def test_c06_1_saved_by_need(torch):
    """Addition saves no tensor; multiplication saves a factor only if the other factor needs a gradient."""
    x, w, c = leaf(torch), leaf(torch), torch.tensor([4.0, 5.0, 6.0])

    assert saved(x + w) == {}
    assert saved(x * c) == {"other": c} and saved(c * x) == {"self": c}
    assert saved(x * w).keys() == {"self", "other"}


def test_c06_2_inputs_by_reference(torch):
    """A saved input is held by reference: reading the slot gives back the very same tensor object."""
    x, c = leaf(torch), torch.tensor([4.0, 5.0, 6.0])
    h = x * 2

    assert (x * c).grad_fn._saved_other is c
    assert h.sin().grad_fn._saved_self is h
    assert x.log().grad_fn._saved_self is x
    assert (h @ x).grad_fn._saved_self is h


def test_c06_3_results_repacked(torch):
    """A saved result is repacked: reading the slot gives a new tensor object with the same memory and the
    same grad_fn."""
    x = leaf(torch)
    for y in (x.exp(), x.sqrt(), x.sigmoid(), x.tanh(), x.relu()):
        slot = y.grad_fn._saved_result

        assert slot is not y
        assert slot.data_ptr() == y.data_ptr()
        assert slot.grad_fn is y.grad_fn


def test_c06_4_numbers_survive(torch):
    """Plain numbers that a node saves survive backward; its saved tensors do not."""
    cube = leaf(torch) ** 3
    cube.sum().backward()

    assert cube.grad_fn._saved_exponent == 3
    released(cube, "self")


def test_c06_5_released_node_by_node(torch):
    """Backward releases a node's saved tensors right after that node ran, before the next node runs."""
    h = leaf(torch).exp()
    s, seen = h.sin(), []

    def look(grad):
        seen.append(list(saved(h)))
        released(s, "self")

    h.register_hook(look)
    s.sum().backward()

    assert seen == [["result"]]
    released(h, "result")


def test_c06_6_second_backward(torch):
    """A second backward raises only when it needs a saved tensor that was released: x + 1 runs twice, x * x
    does not."""
    for op in (lambda x: x + 1, lambda x: -x, lambda x: x.view(3, 1), lambda x: x.clone()):
        y = op(leaf(torch)).sum()
        y.backward()
        y.backward()
    for op in (lambda x: x * x, lambda x: x.exp(), lambda x: x * 2, lambda x: x**2):
        y = op(leaf(torch)).sum()
        y.backward()
        raises(FREED, y.backward)


def test_c06_7_retaining_adds(torch):
    """With retain_graph=True nothing is released, and the second pass adds its gradients to the first."""
    x = leaf(torch)
    product = x * x
    y = product.sum()
    y.backward(retain_graph=True)

    assert product.grad_fn._saved_self is x
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0, 12.0]
    released(product, "self")


def test_c06_8_part_outside_the_loop(torch):
    """If a part of the graph is built once before a loop, the loop's first backward releases what its nodes saved."""
    x, c = leaf(torch), torch.tensor([4.0, 5.0, 6.0])
    scale = x.exp()
    (scale * c).sum().backward()

    released(scale, "result")
    raises(FREED, (scale * c).sum().backward)


def test_c06_9_alive_until_released(torch):
    """A saved activation lives on after its last name is deleted, and dies when backward releases it."""
    h = leaf(torch) * 2
    y, alive = h.sin().sum(), weakref.ref(h)
    del h

    assert alive() is not None
    y.backward()
    assert alive() is None


def test_c06_10_one_memory(torch):
    """When two nodes save the same tensor, its memory is held once, until the last of them has run."""
    X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)
    W2, seen = torch.ones(30, 1, requires_grad=True), {}
    with ledger() as held:
        product = X @ W1
        h = torch.relu(product)
        out = h @ W2

        assert out.grad_fn._saved_self.data_ptr() == h.grad_fn._saved_result.data_ptr()
        assert held.now == X.nbytes + h.nbytes + W2.nbytes == 20120
        for name, result in (("sum", out), ("second product", h), ("relu", product)):
            result.register_hook(lambda grad, name=name: seen.update({name: held.now}))
        out.sum().backward()

    assert seen == {"sum": 20120, "second product": X.nbytes + h.nbytes, "relu": X.nbytes}
    assert held.now == 0


def test_c06_11_who_learns_decides(torch):
    """In a network with one hidden layer and relu, freezing the first weight lowers the memory that is held, freezing
    the second does not, and under no_grad nothing is saved."""
    X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)
    W2 = torch.ones(30, 1, requires_grad=True)

    held_by = from_lesson(torch, "06", "held_by", X=X).held_by
    both = held_by(W1, W2)
    assert held_by(W1.detach(), W2) == 100 * 30 * 4 < both
    assert held_by(W1, W2.detach()) == both
    with torch.no_grad():
        assert held_by(W1, W2) == 0


def test_c06_12_a_gradient_that_stays_behind(torch):
    """With retain_graph=True, a part that is built once before a loop has no right gradient after x is stepped:
    `x.exp()`, whose node saved the result, gives the gradient at the old x and no error, and `x * x`, whose node
    saved x, raises."""
    x, c = leaf(torch), torch.tensor([4.0, 5.0, 6.0])
    scale, square = x.exp(), x * x
    first = (c * scale).tolist()
    for _ in range(3):
        x.grad = None
        (scale * c).sum().backward(retain_graph=True)
        assert x.grad.tolist() == pytest.approx(first)
        with torch.no_grad():
            x -= 0.03 * x.grad

    assert (c * x.exp()).tolist() != pytest.approx(first)
    raises(CHANGED, lambda: (square * c).sum().backward(retain_graph=True))


def test_c06_13_graphs_pile_up_behind_a_state(torch):
    """With retain_graph=True, a state that is carried from step to step holds what every step's nodes saved."""
    x, state, seen = leaf(torch), torch.zeros(3), []
    with ledger() as held:
        for _ in range(3):
            state = (state + x).sin()
            state.sum().backward(retain_graph=True)
            seen.append(held.now)

    assert seen == [12, 24, 36]


def test_c06_14_two_losses(torch):
    """Two losses that share a part of the graph need retain_graph=True on the first pass only, and one pass over their
    sum gives the same gradient without it."""
    x = leaf(torch)
    two_losses = from_lesson(torch, "06", "two_losses", x=x).two_losses
    one, two = two_losses()
    one.backward()
    raises(FREED, two.backward)
    x.grad = None
    one, two = two_losses()
    one.backward(retain_graph=True)
    two.backward()
    retained, x.grad = x.grad, None
    sum(two_losses()).backward()
    assert x.grad.tolist() == pytest.approx(retained.tolist())
