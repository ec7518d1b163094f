"""The claims of part 12b, on our engine and on real PyTorch."""

import warnings

from lessons.claims_kit import from_lesson, leaf, raises


def test_c12b_1_the_old_kind(torch):
    """`register_backward_hook` hangs its hook on the node that made the module's result: it gets what this one node
    sends on, and of a linear layer with a bias that is three gradients, of bias, input and transposed weight."""
    Square = from_lesson(torch, "12b", "Square").Square

    def seen(module, x, register):
        log = []
        with warnings.catch_warnings(record=True, action="always") as caught:
            getattr(module, register)(lambda m, came_in, went_out: log.append((came_in, went_out)))
            module(x).sum().backward()
        return *log[0], [str(each.message) for each in caught]

    came_in, went_out, said = seen(Square(), leaf(torch, 1.0, 2.0), "register_full_backward_hook")
    assert [g.tolist() for g in came_in + went_out] == [[18.0, 36.0], [1.0, 1.0]] and not said
    came_in, went_out, said = seen(Square(), leaf(torch, 1.0, 2.0), "register_backward_hook")
    assert [g.tolist() for g in came_in + went_out if g is not None] == [[6.0, 12.0], [1.0, 1.0]]
    assert len(said) == 1 and "the forward contains multiple autograd Nodes" in said[0]
    linear, rows = torch.nn.Linear(2, 3), torch.ones(4, 2, requires_grad=True)
    came_in, went_out, *_ = seen(linear, rows, "register_backward_hook")
    assert [tuple(g.shape) for g in came_in] == [(3,), (4, 2), (2, 3)]
    assert came_in[0].tolist() == linear.bias.grad.tolist() and came_in[2].T.tolist() == linear.weight.grad.tolist()


def test_c12b_2_one_kind(torch):
    """A module takes full backward hooks or old ones, and not both."""
    kinds = ["register_full_backward_hook", "register_backward_hook"]
    for first, second in (kinds, kinds[::-1]):
        layer = torch.nn.ReLU()
        getattr(layer, first)(lambda *given: None).remove()  # taken away again: it stays the module's kind
        message = "Cannot use both regular backward hooks and full backward hooks"
        raises(message, lambda: getattr(layer, second)(lambda *given: None))
