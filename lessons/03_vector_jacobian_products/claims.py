"""The claims of lesson 03, vector-Jacobian products, on our engine and on real PyTorch."""

from lessons.claims_kit import from_lesson, raises


def two_outputs(torch):
    """Two leaves, and their product and sum side by side."""
    u, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    return u, v, torch.stack([u * v, u + v])


def layer(torch):
    """The lesson's linear layer and its weights: A, B, c, G, y."""
    own = from_lesson(torch, "03", "A", "B", "c", "G")
    return own.A, own.B, own.c, own.G, own.A @ own.B + own.c


def test_c03_1_one_element_or_weights(torch):
    """backward() without an upstream gradient starts only from a tensor with one element; from any other it raises."""
    for shape in ((), (1,), (1, 1)):
        x = torch.ones(shape, requires_grad=True)
        (x * 3).backward()
        assert x.grad.sum().item() == 3.0

    for shape in ((2,), (1, 3), (2, 2), (0,)):
        x = torch.ones(shape, requires_grad=True)
        raises("^grad can be implicitly created only for scalar outputs$", (x * 3).backward)
        assert x.grad is None


def test_c03_2_weights_of_the_outputs(torch):
    """`y.backward(gradient=k)` computes the gradients of `(k * y).sum()`: k, the upstream gradient, holds one number
    for each output.
    """
    u, v, y = two_outputs(torch)
    k = torch.tensor([10.0, 1.0])
    y.backward(gradient=k)
    assert [u.grad.item(), v.grad.item()] == [31.0, 21.0]

    u2, v2, y2 = two_outputs(torch)
    (k * y2).sum().backward()
    assert [u2.grad.item(), v2.grad.item()] == [31.0, 21.0]

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    sweep = (
        lambda x: x.exp(), lambda x: x.sum(), lambda x: x * x[:1], lambda x: x.expand(4, 2, 3), lambda x: x.T,
        lambda x: x[0, 1], lambda x: x @ x.T, lambda x: x.unbind()[1], lambda x: x.reshape(3, 2).max(0)[0],
        lambda x: torch.stack([x, x * x]), Doubled.apply,
    )  # fmt: skip
    for f in sweep:  # broadcasting, 0-d results, views, several outputs, a Function of our own
        x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], requires_grad=True)
        k = torch.arange(float(f(x).numel())).reshape(f(x).shape) - 1.5
        (one,) = torch.autograd.grad(f(x), x, k)
        (other,) = torch.autograd.grad((k * f(x)).sum(), x)
        assert torch.allclose(one, other)


def test_c03_3_rows_and_mixtures(torch):
    """An upstream gradient of 1 for one output and 0 for the others gives that output's row of the Jacobian; other
    numbers mix the rows linearly.
    """
    u, v, y = two_outputs(torch)

    def vjp(*k):
        return [g.item() for g in torch.autograd.grad(y, [u, v], torch.tensor(k), retain_graph=True)]

    rows = [vjp(1.0, 0.0), vjp(0.0, 1.0)]
    assert rows == [[3.0, 2.0], [1.0, 1.0]]
    for a, b in ((10.0, 1.0), (20.0, 2.0), (-3.0, 0.5)):
        assert vjp(a, b) == [a * first + b * second for first, second in zip(*rows, strict=True)]


def test_c03_4_the_jacobian_is_never_built(torch):
    """For 1000 numbers, exp keeps 4,000 bytes for backward; its Jacobian has 4,000,000, and functional.jacobian
    runs 1000 backward passes to fill it.
    """
    passes = []
    outputs = from_lesson(torch, "03", "outputs", passes=passes).outputs
    J = torch.autograd.functional.jacobian(outputs, torch.zeros(1000))
    assert J.shape == (1000, 1000) and J.numel() * J.element_size() == 4_000_000
    assert len(passes) == 1000
    assert torch.equal(J, torch.eye(1000))  # zero but for the diagonal

    y = torch.zeros(1000, requires_grad=True).exp()
    kept = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
    assert kept == ["_saved_result"]
    assert y.grad_fn._saved_result.numel() * y.element_size() == 4_000


def test_c03_5_grad_returns(torch):
    """autograd.grad returns the gradients in the order of its inputs and leaves the `.grad` of every leaf as it
    was.
    """
    A, B, c, G, y = layer(torch)
    before = c.grad = torch.tensor([7.0, 7.0])
    for inputs in ([A, B, c], [c, A], [B]):
        found = torch.autograd.grad(y, inputs, G, retain_graph=True)
        assert isinstance(found, tuple) and [g.shape for g in found] == [x.shape for x in inputs]

    assert A.grad is None and B.grad is None
    assert c.grad is before and before.tolist() == [7.0, 7.0] and before._version == 0


def test_c03_6_copies_are_added(torch):
    """An operand that was broadcast gets a gradient of its own shape: the gradients of its copies are added."""
    G = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
    wanted = {(2,): [11.0, 22.0], (1, 2): [[11.0, 22.0]], (2, 1): [[3.0], [30.0]], (): 33.0}
    for shape, values in wanted.items():
        for op in (lambda x: torch.ones(2, 2) + x, lambda x: torch.ones(2, 2) * x, lambda x: x.expand(2, 2)):
            x = torch.zeros(shape, requires_grad=True)
            (gradient,) = torch.autograd.grad(op(x), x, G)
            assert gradient.shape == x.shape
            assert gradient.tolist() == values

    sweep = (
        (torch.add, (3,), (2, 3)), (torch.sub, (2, 3), (1, 3)), (torch.mul, (), (2, 3)), (torch.div, (2, 3), (2, 1)),
        (torch.pow, (2, 3), (3,)), (torch.maximum, (2, 1), (1, 3)), (torch.atan2, (4, 1, 3), (2, 1)),
        (torch.matmul, (2, 3), (5, 3, 4)), (lambda a, b: torch.where(a > 1, a, b), (3,), (2, 1)),
    )  # fmt: skip
    for op, *shapes in sweep:
        operands = [(torch.rand(shape) + 0.5).requires_grad_() for shape in shapes]
        out = op(*operands)
        found = torch.autograd.grad(out, operands, torch.ones(out.shape))
        assert [g.shape for g in found] == [x.shape for x in operands]


def test_c03_7_the_matrix_product(torch):
    """For matrices A and B, and G upstream of `A @ B`, the gradient for A is `G @ B.T` and that for B is `A.T @ G`."""
    A, B, _, G, _ = layer(torch)
    for_A, for_B = torch.autograd.grad(A @ B, [A, B], G)
    assert torch.equal(for_A, G @ B.T)
    assert torch.equal(for_B, A.T @ G)


def test_c03_8_upstream_is_not_broadcast(torch):
    """An upstream gradient must have exactly the shape of the outputs: it is not broadcast."""
    for shape in ((), (1,), (2,), (1, 2), (2, 1), (4,)):
        _, _, _, _, y = layer(torch)
        raises("Mismatch in shape: grad_output", lambda: y.backward(torch.ones(shape)))

    A, _, _, _, y = layer(torch)
    y.backward(torch.ones(2, 2))
    assert A.grad is not None

    one_element = ((), (1,), (1, 1))
    for shape in one_element:
        for given in one_element:
            y = torch.ones(shape, requires_grad=True) * 3
            if shape != given:
                raises("Mismatch in shape: grad_output", lambda y=y, given=given: y.backward(torch.ones(given)))
            else:
                y.backward(torch.ones(given))


def test_c03_9_unused_inputs(torch):
    """For an input that requires grad and on which the outputs do not depend, autograd.grad raises; with allow_unused
    it gives None, with materialize_grads zeros.
    """
    A, _, c, G, y = layer(torch)
    other = torch.ones(2, requires_grad=True)
    unused = "at index 1 appears to not have been used in the graph"
    raises(unused, lambda: torch.autograd.grad(y, [c, other], G, retain_graph=True))
    found = torch.autograd.grad(y, [c, other], G, retain_graph=True, allow_unused=True)
    assert found[0].tolist() == [11.0, 22.0] and found[1] is None
    found = torch.autograd.grad(y, [c, other], G, retain_graph=True, materialize_grads=True)
    assert [g.tolist() for g in found] == [[11.0, 22.0], [0.0, 0.0]]


def test_c03_10_what_a_layer_keeps(torch):
    """The layer `(x @ W.T).tanh()` keeps x, W and its result for backward, and no table of slopes."""
    x, W = torch.rand(4, 3).requires_grad_(), torch.rand(5, 3).requires_grad_()
    result = (x @ W.T).tanh()
    product = result.grad_fn.next_functions[0][0]

    assert product._saved_self.data_ptr() == x.data_ptr()
    assert product._saved_mat2.data_ptr() == W.data_ptr() and product._saved_mat2.shape == (3, 5)
    assert result.grad_fn._saved_result.data_ptr() == result.data_ptr()
    saved = [
        getattr(node, name) for node in (result.grad_fn, product) for name in dir(node) if name.startswith("_saved_")
    ]
    assert sum(isinstance(each, torch.Tensor) for each in saved) == 3
