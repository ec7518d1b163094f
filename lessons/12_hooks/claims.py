"""The claims of lesson 12, hooks, on our engine and on real PyTorch."""

import warnings

import pytest

from lessons.claims_kit import CHANGED, from_lesson, function, raises


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def noting(log, name):
    """A hook that notes that it was called, and with what."""
    return lambda *given: log.append((name, *given))


def test_c12_1_once_in_order(torch):
    """A tensor's hooks are called once in a pass, with the whole sum of its gradient, or with None if its node runs
    and no gradient has come to it, in the order of registration; each gets what the one before returned, and None
    leaves the gradient as it is."""
    for make in (lambda x: x * 3, lambda x: x):  # a result, and a leaf
        seen, x = [], leaf(torch, 2.0)
        h = make(x)
        h.register_hook(lambda g, seen=seen: seen.append(("first", g.item())))
        h.register_hook(lambda g: g * 10)
        h.register_hook(lambda g, seen=seen: seen.append(("third", g.item())))
        (h + h * 4).backward()

        assert seen == [("first", 5.0), ("third", 50.0)]
        assert x.grad.item() == (150.0 if h is not x else 50.0)

    seen, x = [], leaf(torch)
    both = function(torch, lambda ctx, x: (x[0] * 1, x[1] * 1), lambda ctx, a, b: torch.stack((a, b)), "Both")
    for parts in (lambda x: x.unbind(), lambda x: x.split(1), lambda x: x.chunk(2), both.apply):
        seen, x = [], leaf(torch)
        used, unused = parts(x)
        unused.register_hook(seen.append)
        used.sum().backward()
        assert seen == [None] and x.grad.tolist() == [1.0, 0.0]

    seen, x, c = [], leaf(torch), leaf(torch)
    c.register_hook(seen.append)
    function(torch, lambda ctx, x, c: x * c, lambda ctx, grad: (grad, None)).apply(x, c).sum().backward()
    assert seen == [None] and c.grad is None


def test_c12_2_what_its_tensor_came_from(torch):
    """A hook that returns another gradient changes what reaches everything that its tensor was computed from; a branch
    whose own gradient is to be changed needs a tensor of its own."""
    found = []
    for own in (lambda h: h, lambda h: h * 1, lambda h: h.view_as(h)):
        w, v = leaf(torch, 1.0), leaf(torch, 2.0)
        h = w * v
        r = own(h)
        r.register_hook(lambda grad: -grad)
        (h * 5 + r * 3).backward()
        found.append((w.grad.item(), v.grad.item()))

    assert found == [(-16.0, -8.0), (4.0, 2.0), (4.0, 2.0)]


def test_c12_3_it_stays_with_the_value(torch):
    """A hook that was registered before an in-place edit gets the gradient of the old value, while retain_grad()
    moves along and keeps that of the new one; on a view that was edited, it is not called for what is computed
    afterwards."""
    for edit in (lambda h, part: part.mul_(2), lambda h, part: h.mul_(2)):
        called, x = [], leaf(torch)
        h = x * 3
        part = h[:1]
        part.register_hook(lambda g, called=called: called.append("before"))
        early = part * 1
        edit(h, part)
        part.retain_grad()
        part.register_hook(lambda g, called=called: called.append("after"))
        part.sum().backward(retain_graph=True)
        assert called == ["after"] and part.grad.tolist() == [1.0] and x.grad.tolist() == [6.0, 0.0]
        early.sum().backward()  # computed before the edit: its way still leads past the old node
        assert called == ["after", "before"]

    for edit, slope in ((lambda h: h.relu_(), [1.0, 0.0]), (lambda h: h.mul_(10), [10.0, 10.0])):
        seen, x = {}, leaf(torch, 1.0, -1.0)
        h = x * 3
        h.register_hook(lambda g, seen=seen: seen.update(before=g.tolist()))
        h.retain_grad()
        edit(h)
        h.register_hook(lambda g, seen=seen: seen.update(after=g.tolist()))
        h.sum().backward()

        assert seen == {"before": slope, "after": [1.0, 1.0]}
        assert h.grad.tolist() == [1.0, 1.0]


def test_c12_4_the_order(torch):
    """The order is: hooks of the tensor, retain_grad(), prehooks of its node, the node, hooks of the node; at a leaf:
    hooks of the tensor, prehooks of the accumulator, the accumulation, post-accumulate hooks, hooks of the accumulator.
    """
    log, w = [], leaf(torch, 3.0)
    twice = function(torch, lambda ctx, w: w * 2, lambda ctx, grad: log.append("the node") or grad * 2)
    y = twice.apply(w)
    box = y.grad_fn.next_functions[0][0]

    def note(name):
        return lambda *given: log.append((name, y.grad is not None, w.grad is not None))

    box.register_hook(note("accumulator's hook"))
    box.register_prehook(note("accumulator's prehook"))
    w.register_post_accumulate_grad_hook(note("post-accumulate"))
    y.grad_fn.register_hook(note("node's hook"))
    y.grad_fn.register_prehook(note("node's prehook"))
    w.register_hook(note("leaf's hook"))
    y.register_hook(note("tensor's hook"))
    y.retain_grad()
    y.backward()

    others = (lambda w: w.exp(), lambda w: w.view(1, 1), lambda w: w.sum(), lambda w: w + torch.ones(2, 1))
    for operation in others:  # any node: of a product that is saved, a view, a sum, a broadcast
        order, v = [], leaf(torch, 3.0)
        z = operation(v)
        z.grad_fn.register_hook(lambda *given, order=order: order.append("node's hook"))
        z.grad_fn.register_prehook(lambda *given, order=order, z=z: order.append(z.grad is not None))
        v.register_post_accumulate_grad_hook(lambda *given, order=order: order.append("post"))
        v.register_hook(lambda *given, order=order: order.append("leaf's"))
        z.register_hook(lambda *given, order=order, z=z: order.append(z.grad is not None))
        z.retain_grad()
        z.sum().backward()
        assert order == [False, True, "node's hook", "leaf's", "post"]

    assert log == [
        ("tensor's hook", False, False),
        ("node's prehook", True, False),
        "the node",
        ("node's hook", True, False),
        ("leaf's hook", True, False),
        ("accumulator's prehook", True, False),
        ("post-accumulate", True, True),
        ("accumulator's hook", True, True),
    ]


def test_c12_5_hooks_of_nodes(torch):
    """A node's prehook gets the gradients that came, as a tuple; its hook also gets those that go on, where an
    operation has None for an operand that needs none; a tuple that is returned takes the place of the first argument.
    """
    log, w, x = [], leaf(torch, 3.0), torch.tensor([2.0])
    y = w * x
    y.grad_fn.register_prehook(noting(log, "pre"))
    y.grad_fn.register_hook(noting(log, "post"))
    y.backward()
    (_, came), (_, goes_on, came_too) = log

    assert [type(each) for each in (came, goes_on, came_too)] == [tuple] * 3
    assert came[0].item() == came_too[0].item() == 1.0 and len(came) == len(came_too) == 1
    assert goes_on[0].item() == 2.0 and goes_on[1] is None and len(goes_on) == 2

    w.grad, y = None, w * x
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_prehook(lambda came: (came[0] * 10,))
    y.grad_fn.register_hook(lambda goes_on, came: (goes_on[0] + 0.5, None))
    y.backward()

    assert y.grad.item() == 2.0  # behind its hook, before the prehook
    assert w.grad.item() == 40.5


def test_c12_6_the_parameter(torch):
    """A post-accumulate hook gets the parameter and not the gradient, after the gradient was added to `.grad`, and it
    may not return the gradient."""
    seen, w = [], leaf(torch, 3.0)
    w.register_post_accumulate_grad_hook(lambda *given: seen.append((given, w.grad.item())))
    for _ in range(2):
        (w * 5).backward()

    assert [(len(given), given[0] is w, grad) for given, grad in seen] == [(1, True, 5.0), (1, True, 10.0)]

    for wrong in (lambda p: p.grad, lambda p: p.grad / 2):
        w = leaf(torch)
        w.register_post_accumulate_grad_hook(wrong)
        raises("post accumulate grad hooks should return None", w.sum().backward)

    w = leaf(torch, 3.0)
    w.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad))  # returns the parameter itself
    (w * 2).backward()
    assert w.item() == 1.0


def test_c12_7_a_step_in_the_pass(torch, capsys):
    """A post-accumulate hook may step its parameter and clear `.grad` in the middle of a pass: the other gradients
    are those at the old parameters, and in a chain of layers only one parameter has a `.grad` at a time."""
    own = from_lesson(torch, 12, "w1", "w2", "weights", "step_now")
    w1, w2 = own.weights.values()
    for p in (w1, w2):
        p.register_post_accumulate_grad_hook(own.step_now)
    (w2 * (w1 * 3)).backward()

    assert capsys.readouterr().out == "has .grad: ['w2']\nhas .grad: ['w1']\n"
    assert (w1.item(), w2.item()) == pytest.approx((1 - 0.1 * 6, 2 - 0.1 * 3))  # 6 is 3 times the old w2
    assert w1.grad is None and w2.grad is None
    late = (w1 * 3) * w2.detach()  # sends nothing to w2, which does not wait for it
    raises(CHANGED, (w2 * late).backward)


def test_c12_8_autograd_grad(torch):
    """autograd.grad calls the hooks of the tensors that it passes and of the one that it was asked for, and no
    post-accumulate hooks."""
    log, w = [], leaf(torch, 3.0)
    w.register_hook(noting(log, "w"))
    w.register_post_accumulate_grad_hook(noting(log, "post"))
    h = w * 2
    h.register_hook(noting(log, "h"))
    y = h * 5
    torch.autograd.grad(y, w, retain_graph=True)
    assert [name for name, *_ in log] == ["h", "w"]

    log.clear()
    torch.autograd.grad(y, h, retain_graph=True)
    assert [name for name, *_ in log] == ["h"]


def test_c12_9_forward_hooks(torch):
    """A module's forward hook is called for `m(x)` and not for `m.forward(x)`, and a tensor that it returns takes the
    output's place."""
    log, m, x = [], torch.nn.ReLU(), leaf(torch, 1.0, -2.0)
    with m.register_forward_hook(noting(log, "forward")):
        m.forward(x)
        assert log == []
        y = m(x)
        ((_, module, args, out),) = log
        assert module is m and args[0] is x and len(args) == 1 and out is y
    with m.register_forward_hook(lambda m, args, out: out * 10):
        assert m(x).tolist() == [10.0, 0.0]
        assert m.forward(x).tolist() == [1.0, 0.0]


def test_c12_10_full_backward_hooks(torch):
    """A full backward hook gets the gradients of a module's inputs and outputs and none of its parameters'; when no
    input requires grad, it gets None for them."""
    log, layer = [], torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[5.0, 7.0]]))
    layer.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))
    x = torch.tensor([[1.0, -2.0]], requires_grad=True)
    layer(x).sum().backward()
    ((grad_input, grad_output),) = log

    assert [g.tolist() for g in grad_input] == [[[5.0, 7.0]]]
    assert [g.tolist() for g in grad_output] == [[[1.0]]]
    assert layer.weight.grad.tolist() == [[1.0, -2.0]]  # and the hook did not see it

    log.clear()
    with warnings.catch_warnings(action="ignore"):
        layer(x.detach()).sum().backward()
    ((grad_input, grad_output),) = log
    assert grad_input == (None,) and grad_output[0].tolist() == [[1.0]]


def test_c12_11_in_place(torch):
    """A hook that changes its gradient in place can change what another tensor receives, without any error."""

    def quietly(grad):
        grad.clamp_(-0.5, 0.5)  # and returns nothing

    own, found = from_lesson(torch, 12, "block"), []
    for hook in (lambda grad: grad.clamp(-0.5, 0.5), lambda grad: grad.clamp_(-0.5, 0.5), quietly):
        x, _, loss = own.block(hook)
        loss.backward()
        found.append(x.grad.tolist())

    assert found == [[2.5, 3.5], [2.0, 2.0], [2.0, 2.0]]


def test_c12_12_what_is_no_gradient(torch):
    """A hook of a tensor must return None or a tensor of the gradient's shape and dtype; anything else raises at
    backward, not at registration."""
    wrong = {
        "expected Variable, but hook returned 'float'": lambda g: g.norm().item(),
        "expected Variable, but hook returned 'list'": lambda g: g.tolist(),
        "expected Variable, but hook returned 'tuple'": lambda g: (g,),
        "has changed the size of value": lambda g: g.norm(),
        "has changed the type of value": lambda g: g.double(),
    }
    more = [("has changed the size of value", lambda g, shape=shape: g.sum().expand(shape)) for shape in ((1,), (1, 2))]
    for message, hook in [*wrong.items(), *more]:
        for make in (lambda x: x, lambda x: x * 1, lambda x: x.view(1, 2)[0], lambda x: torch.stack(x.unbind())):
            h = make(leaf(torch))
            h.register_hook(hook)
            raises(message, h.sum().backward, (TypeError, RuntimeError))


def test_c12_13_handles(torch):
    """A handle in a `with` statement takes its hook away at the end, also when the pass failed."""
    calls, x = [], leaf(torch)
    h = x * 2
    with pytest.raises(ZeroDivisionError):
        with h.register_hook(lambda g: calls.append("h")), x.register_hook(lambda g: 1 / 0):
            h.sum().backward()
    assert calls == ["h"] and not h._backward_hooks and not x._backward_hooks

    (x * 2).sum().backward()
    assert calls == ["h"] and x.grad.tolist() == [2.0, 2.0]
