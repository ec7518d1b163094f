"""The claims of lesson 06, saved tensors and memory, on our engine and on real PyTorch."""

import gc
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


def made(torch):
    """A name and a result for many kinds of operands: plain, 0-d, broadcasting, views, several results, a Function."""

    class Sine(torch.autograd.Function):
        """A custom Function that saves its input."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.detach().sin()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x.cos()

    x, w, number = leaf(torch), leaf(torch), torch.tensor(2.0, requires_grad=True)
    table = torch.tensor([[0.5, 0.2], [0.3, 0.9]], requires_grad=True)
    return {
        "saves": [
            x * w, x / w, x * number, number * table, table * table[0], x[1:] * w[:2], table.t() * table, x * 3, x / 3,
            3.0 * x, number * 3, x**3, x**number, x.exp(), x.sqrt(), x.sigmoid(), x.tanh(), x.relu(), number.exp(),
            table.t().exp(), table[0].sigmoid(), table.softmax(0), table.log_softmax(1), table.rsqrt(), table.prod(),
            x.log(), x.sin(), number.cos(), table[0].log(), table @ table, x.abs(), table.max(), table.sort()[0],
            table.topk(1)[0], Sine.apply(x),
        ],
        "saves nothing": [
            x + w, x + number, table + table[0], x[1:] + w[:2], table.t() + table, x + 1, x - w, x - 3, -x,
            x.view(3, 1), x.clone(), x.sum(), table.mean(), table.t(), table[0], table.unbind()[0], x.cumsum(0),
            torch.add(x, w, alpha=2),
        ],
    }  # fmt: skip


def test_c06_1_saved_by_need(torch):
    """Addition saves no tensor; multiplication saves a factor only if the other factor needs a gradient."""
    x, w, c = leaf(torch), leaf(torch), torch.tensor([4.0, 5.0, 6.0])

    assert saved(x + w) == {}
    assert saved(x * c) == {"other": c} and saved(c * x) == {"self": c}
    assert saved(x * w).keys() == {"self", "other"}
    assert saved(x * 3).keys() == {"other"} and saved(x * 3)["other"].shape == ()

    operands = leaf(torch), torch.tensor(2.0), torch.ones(2, 3)[0], torch.ones(2, 3), torch.ones(3, 1, 1)
    for one in operands:
        for two in operands:
            for needs in ((True, True), (True, False), (False, True)):
                first, second = (t.detach().requires_grad_(need) for t, need in zip((one, two), needs, strict=True))
                assert saved(first + second) == {}
                wanted = {name for name, need in zip(("other", "self"), needs, strict=True) if need}
                assert saved(first * second).keys() == wanted


def test_c06_2_inputs_by_reference(torch):
    """`x * c`, `x.sin()`, `x.log()` and the product of two matrices save the very tensor that they were given, and no
    copy."""
    x, c, table = leaf(torch), torch.tensor([4.0, 5.0, 6.0]), torch.ones(2, 3, requires_grad=True)

    assert (x * c).grad_fn._saved_other is c
    assert (c * x).grad_fn._saved_self is c
    for h in (x, x * 2, x[0], x[1:], table[0], table.t(), table.t()[1:]):
        for y in (h.sin(), h.cos(), h.log(), h**2, h.abs(), h * torch.ones(()).requires_grad_()):
            assert y.grad_fn._saved_self is h
    for h in (table, table * 2, table.t(), table[:1]):
        assert (h @ h.t().detach().requires_grad_()).grad_fn._saved_self is h


def test_c06_3_results_repacked(torch):
    """A saved result with a history is read as a new tensor object with the same memory and the same grad_fn."""
    x, table = leaf(torch), torch.tensor([[0.5, 0.2], [0.3, 0.9]], requires_grad=True)
    for h in (x, x * 2, x[0], x[1:], table[0], table.t()):
        for y in (h.exp(), h.sqrt(), h.sigmoid(), h.tanh(), h.relu(), h.rsqrt(), h.softmax(0), h.prod(), h.max()):
            slot = y.grad_fn._saved_result

            assert slot is not y
            assert slot.data_ptr() == y.data_ptr()
            assert slot.grad_fn is y.grad_fn

    with torch.autograd.graph.saved_tensors_hooks(lambda result: result, lambda result: result):  # a ring, by force
        y = x.exp()
    alive = weakref.ref(y)
    del y, slot
    gc.collect()
    assert (alive() is not None) == (torch.__name__ == "torch")  # PyTorch's ring is in C++: nothing ever frees it


def test_c06_4_numbers_survive(torch):
    """The exponent of `x ** 3` is a plain number and survives backward; the 3 of `x * 3` and of `x / 3` is a saved
    tensor and is freed."""
    cube = leaf(torch) ** 3
    cube.sum().backward()

    assert cube.grad_fn._saved_exponent == 3
    released(cube, "self")
    for op in (lambda x: x * 3, lambda x: 3 * x, lambda x: x / 3, lambda x: x * 0.5):
        y = op(leaf(torch))
        assert [slot.shape for slot in saved(y).values()] == [()]
        y.sum().backward()
        released(y, "other")
        raises(FREED, y.sum().backward)


def test_c06_5_released_node_by_node(torch):
    """Backward frees a node's saved tensors right after that node ran, before the next node runs."""
    h = leaf(torch).exp()
    s, seen = h.sin(), []

    def look(grad):
        seen.append(list(saved(h)))
        released(s, "self")

    h.register_hook(look)
    s.sum().backward()

    assert seen == [["result"]]
    released(h, "result")

    for op, slot in (
        (lambda h: h * 3, "other"), (lambda h: h * h, "self"), (lambda h: h**3, "self"), (lambda h: h.relu(), "result"),
        (lambda h: h.softmax(0), "result"), (lambda h: h.log(), "self"), (lambda h: h.max(), "result"),
        (lambda h: h.prod(), "self"), (lambda h: h * torch.ones(2, 3), "other"), (lambda h: h[1:] * h[:2], "self"),
        (lambda h: h.view(3, 1).exp(), "result"), (lambda h: h.sort()[0], "indices"),
    ):  # fmt: skip
        h, seen = leaf(torch).exp(), []
        y = op(h)
        h.register_hook(lambda grad, y=y, slot=slot: released(y, slot) or seen.append(saved(h).keys()))
        y.sum().backward()
        assert seen == [{"result"}]


def test_c06_6_second_backward(torch):
    """A second backward raises if a node has to read a freed tensor: x + 1 runs twice, x * x and x * 3 do not."""
    results = made(torch)
    for y in results["saves nothing"]:
        y = y.sum()
        y.backward()
        y.backward()
    for y in results["saves"]:
        y = y.sum()
        y.backward()
        raises(FREED, y.backward)


def test_c06_7_retaining_adds(torch):
    """With retain_graph=True nothing is freed, and the second pass adds its gradients to the first."""
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
    """If a part of the graph is built once before a loop, the loop's first backward frees what its nodes saved."""
    x, c = leaf(torch), torch.tensor([4.0, 5.0, 6.0])
    scale = x.exp()
    (scale * c).sum().backward()

    released(scale, "result")
    raises(FREED, (scale * c).sum().backward)


def test_c06_9_alive_until_released(torch):
    """A saved activation lives on after its last name is gone, and dies when backward frees it."""
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
    """With one hidden layer and relu, freezing the first weight lowers the memory that is held, freezing the second
    does not, and under no_grad nothing is saved."""
    X, W1 = torch.ones(100, 20), torch.ones(20, 30, requires_grad=True)
    W2 = torch.ones(30, 1, requires_grad=True)

    held_by = from_lesson(torch, "06", "held_by", X=X).held_by
    both = held_by(W1, W2)
    assert held_by(W1.detach(), W2) == 100 * 30 * 4 < both
    assert held_by(W1, W2.detach()) == both
    with torch.no_grad():
        assert held_by(W1, W2) == 0


def test_c06_12_a_gradient_that_stays_behind(torch):
    """After x is updated, a retained `x.exp()` gives the gradient at the old x without an error, and a retained
    `x * x` raises."""
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
    """One pass over the sum of two losses gives the same gradient as two passes, of which the first retains."""
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


def test_c06_15_two_passes_can_hold_less(torch):
    """Two passes can hold less at the peak than one, if the second loss is computed after the first has gone."""
    tasks = from_lesson(torch, "06", "tasks").tasks
    one, two = tasks(one_pass=True), tasks(one_pass=False)

    assert one.startswith("12000 bytes") and two.startswith("8000 bytes")
    assert one.partition("gradient")[2] == two.partition("gradient")[2]
