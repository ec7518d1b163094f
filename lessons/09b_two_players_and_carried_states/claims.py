"""The claims of part 09b, on our engine and on real PyTorch."""

from lessons.claims_kit import CHANGED, FREED, from_lesson, names_behind, raises


def recurrent(torch, between, rate=0.0, **options):
    """Three steps with a backward each; `between` is what happens to the state. w, and how many nodes a pass walks."""
    w, h, walked = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0), []
    for _ in range(3):
        h = torch.tanh(w * h)
        loss = (h - 1) ** 2
        walked.append(len(names_behind(loss)))
        loss.backward(**options)
        h = between(h)
        if rate:
            w.detach().sub_(rate * w.grad)
    return w, walked


def test_c09b_1_detach_the_state(torch):
    """If a state that an earlier backward pass has used is carried on attached, the next pass walks on into the earlier
    graph: it raises where slots were freed, and where there are none it counts the earlier steps again."""
    for between in (lambda h: h, lambda h: h.clone()):
        raises(FREED, lambda between=between: recurrent(torch, between))

    cut, walked = recurrent(torch, lambda h: h.detach())
    kept, further = recurrent(torch, lambda h: h, retain_graph=True)  # it runs, walks on, and computes something else
    assert (walked, further) == ([5, 5, 5], [5, 7, 9])
    assert abs(cut.grad.item() - kept.grad.item()) > 0.01
    raises(CHANGED, lambda: recurrent(torch, lambda h: h, rate=0.1, retain_graph=True))

    a, total = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0)  # a sum saves nothing
    for _ in range(3):
        total = total + a
        total.backward()
    assert a.grad.item() == 1 + 2 + 3


def test_c09b_2_both_states(torch):
    """Both states of an LSTM must be detached between two passes: with one of them attached, the next pass walks into
    the earlier graph."""
    own = from_lesson(torch, "09b", "two_steps", "cuts", cell=torch.nn.LSTMCell(3, 4))
    own.two_steps(own.cuts["C"])
    for cut in (own.cuts["A"], own.cuts["B"], lambda h, c: (h, c)):
        raises(FREED, lambda cut=cut: own.two_steps(cut))


def test_c09b_3_a_cell(torch):
    """An LSTM cell takes an input of shape (batch, input size) and a pair of states of shape (batch, state size), and
    returns the new pair."""
    for batch, inputs, size in ((2, 3, 4), (1, 1, 1), (5, 2, 3)):
        cell, x = torch.nn.LSTMCell(inputs, size), torch.randn(batch, inputs)
        state = torch.randn(batch, size), torch.randn(batch, size)
        h, c = cell(x, state)

        pieces = x @ cell.weight_ih.T + cell.bias_ih + state[0] @ cell.weight_hh.T + cell.bias_hh
        write, forget, new, show = pieces.chunk(4, 1)
        memory = forget.sigmoid() * state[1] + write.sigmoid() * new.tanh()
        assert h.shape == c.shape == (batch, size)
        assert torch.allclose(c, memory, atol=1e-6) and torch.allclose(h, show.sigmoid() * memory.tanh(), atol=1e-6)
    raises("must be tuple of Tensors, not Tensor", lambda: cell(x, state[0]), TypeError)


def test_c09b_4_a_detached_fake(torch):
    """In a GAN, a generator's loss that is computed from a detached fake gives the generator no gradient, and
    `optimizer.step()` leaves it where it is without an error."""
    for shape in ((), (3,), (2, 3)):
        g, d = torch.ones(shape, requires_grad=True), torch.full(shape, 3.0).requires_grad_()
        optimizer = torch.optim.SGD([g], lr=0.1)
        (-(d * (g * 5).detach())).sum().backward()
        optimizer.step()
        assert g.grad is None and g._version == 0 and (g == 1).all()
        assert (d.grad == -5).all()
        (-(d * (g * 5))).sum().backward()
        optimizer.step()
        assert (g.grad == -15).all() and (g == 2.5).all()
