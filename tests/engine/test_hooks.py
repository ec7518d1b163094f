"""Hooks on tensors, nodes and leaves: when they run, what they see, and what they may return."""

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_order_at_a_computed_tensor(torch):
    """Tensor hooks, then retain_grad, then the node's prehooks, the node, the node's hooks."""
    x = leaf(torch, 1.0)
    log = []
    y = x * 5
    y.register_hook(lambda g: log.append(("tensor 1", g.item())) or g * 2)
    y.register_hook(lambda g: log.append(("tensor 2", g.item())) or g * 2)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", gs[0].item())) or (gs[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi[0].item(), go[0].item())))
    y.sum(0).backward()

    assert log == [("tensor 1", 1.0), ("tensor 2", 2.0), ("pre", 4.0), ("post", 200.0, 40.0)]
    assert y.grad.item() == 4.0
    assert x.grad.item() == 200.0


def test_order_at_a_leaf(torch):
    """Tensor hooks, the accumulator's prehooks, accumulation, post-accumulate hooks, the accumulator's hooks."""
    x = leaf(torch, 1.0)
    log = []
    y = x * 3
    accumulator = y.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda p: log.append(("post-accumulate", p.grad.item())))
    accumulator.register_hook(lambda gi, go: log.append(("hook", len(gi), go[0].item())))
    accumulator.register_prehook(lambda gs: log.append(("prehook", gs[0].item(), x.grad)))
    x.register_hook(lambda g: log.append(("tensor", g.item())) or g * 2)
    y.sum().backward()

    assert log == [("tensor", 3.0), ("prehook", 6.0, None), ("post-accumulate", 6.0), ("hook", 0, 6.0)]


def test_a_tensor_hook_sees_the_whole_gradient(torch):
    """Hooks run once, on the sum of all contributions."""
    seen = []
    x = leaf(torch)
    h = x * 2
    h.register_hook(lambda g: seen.append(g.tolist()))
    (h + h * 3 + h.exp() * 0).sum().backward()

    assert seen == [[4.0, 4.0, 4.0]]


def test_returning_none_changes_nothing_and_a_tensor_replaces(torch):
    """A hook may look, or replace."""
    x = leaf(torch)
    x.register_hook(lambda g: None)
    x.register_hook(lambda g: g.clamp(max=2.0))
    (x * torch.tensor([1.0, 2.0, 3.0])).sum().backward()

    assert x.grad.tolist() == [1.0, 2.0, 2.0]


def test_handles_remove_and_are_context_managers(torch):
    """remove() takes a hook away, twice does no harm; a `with` block removes at its end."""
    calls = []
    x = leaf(torch)
    handle = x.register_hook(lambda g: calls.append("a"))
    with x.register_hook(lambda g: calls.append("b")):
        x.sum().backward()
    x.sum().backward()
    handle.remove()
    handle.remove()
    x.sum().backward()

    assert calls == ["a", "b", "a"]


def test_backward_hooks_shows_them(torch):
    """`_backward_hooks` holds a tensor's hooks, or None."""
    x = leaf(torch)
    assert not x._backward_hooks
    x.register_hook(print)

    assert list(x._backward_hooks.values()) == [print]


def test_hooks_belong_to_the_node_of_the_moment(torch):
    """A hook registered before an in-place write is about the value before it."""
    seen = []
    x = leaf(torch)
    h = x * 1
    h.register_hook(lambda g: seen.append(("before", g.tolist())))
    h.mul_(10)
    h.register_hook(lambda g: seen.append(("after", g.tolist())))
    h.sum().backward()

    assert seen == [("after", [1.0, 1.0, 1.0]), ("before", [10.0, 10.0, 10.0])]


def test_the_hook_of_an_unused_output_is_called_with_none(torch):
    """A node with several outputs runs the hooks of all of them."""
    seen = []
    a, b, c = (leaf(torch) * 1).unbind()
    a.register_hook(lambda g: seen.append(g))
    b.register_hook(lambda g: seen.append(g.item()))
    (b * 2).backward()

    assert seen == [None, 2.0]


def test_hooks_on_unreached_tensors_do_not_run(torch):
    """No gradient, no hook."""
    calls = []
    x = leaf(torch)
    h = x * 2
    h.register_hook(lambda g: calls.append(1))
    (x * 3).sum().backward()

    assert calls == []


def test_grad_runs_tensor_hooks_of_what_is_asked_for(torch):
    """autograd.grad returns what the hooks made of the gradient, and runs no post-accumulate hooks."""
    calls = []
    x = leaf(torch)
    x.register_hook(lambda g: g * 100)
    x.register_post_accumulate_grad_hook(lambda p: calls.append(1))
    h = x * 2
    h.register_hook(lambda g: g * 10)
    (gh,) = torch.autograd.grad(h.sum(), h, retain_graph=True)
    (gx,) = torch.autograd.grad(h.sum(), x)

    assert gh.tolist() == [10.0, 10.0, 10.0]
    assert gx.tolist() == [2000.0, 2000.0, 2000.0]
    assert calls == []


def test_retain_grad_is_filled_by_autograd_grad(torch):
    """retain_grad stores what passes by, also when autograd.grad asked for it and stops there."""
    x = leaf(torch)
    h = x * 2
    h.retain_grad()
    (g,) = torch.autograd.grad((h * h).sum(), h)

    assert h.grad.tolist() == g.tolist() == [4.0, 8.0, 12.0]


def test_grad_does_not_run_the_node_of_what_is_asked_for(torch):
    """The node of a requested tensor is not run: neither its prehooks nor its hooks are."""
    ran = []
    x = leaf(torch)
    h = x * 2
    h.grad_fn.register_prehook(lambda gs: ran.append("pre"))
    h.grad_fn.register_hook(lambda gi, go: ran.append("post"))
    torch.autograd.grad((h * 3).sum(), h)

    assert ran == []


def test_node_hooks_see_gradients_after_broadcasting_is_undone(torch):
    """What a node hook sees of its inputs' gradients has the shapes of the inputs."""
    seen = []
    x, row = torch.ones(2, 3, requires_grad=True), leaf(torch)
    z = x * row
    z.grad_fn.register_hook(lambda gi, go: seen.append([tuple(g.shape) for g in (*gi, *go)]))
    z.sum().backward()

    assert seen == [[(2, 3), (3,), (2, 3)]]


def test_post_accumulate_hooks_see_the_accumulated_gradient(torch):
    """They run after each accumulation, with the leaf; here they make a step and let the gradient go."""
    w = leaf(torch)

    def step(p):
        with torch.no_grad():
            p -= 0.5 * p.grad
        p.grad = None

    w.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        (w * 2).sum().backward()

    assert w.tolist() == [-1.0, 0.0, 1.0]
    assert w.grad is None


def test_a_post_accumulate_hook_may_return_its_leaf_and_nothing_else(torch):
    """What one returns goes to the next, is checked like a gradient, and is refused at the end; the leaf is as None."""
    seen = []
    refused = {
        "has changed the size of value": [lambda p: p.grad.sum()],
        "expected Variable, but hook returned 'int'": [lambda p: p.grad, lambda p: 3],
        "should return None": [lambda p: p.grad * 7, lambda p: seen.append(p.tolist())],
    }
    for message, hooks in refused.items():
        x = leaf(torch)
        for hook in hooks:
            x.register_post_accumulate_grad_hook(hook)
        with pytest.raises((RuntimeError, TypeError), match=message):
            x.sum().backward()
    assert seen == [[7.0, 7.0, 7.0]]

    x = leaf(torch)
    x.register_post_accumulate_grad_hook(lambda p: p)
    x.sum().backward()

    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_hooks_are_differentiated_with_create_graph(torch):
    """What a hook does to a gradient is part of the recorded pass."""
    x = leaf(torch, 3.0)
    h = x * 1
    h.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad((h**2).sum(), x, create_graph=True)
    assert g.item() == 18.0

    (second,) = torch.autograd.grad(g.sum(), x)
    assert second.item() == 2 * 3 + (2 * 3) * 3  # 2h by the hook's x, and 2x through h, where the hook runs again


def test_a_hook_fires_again_in_the_second_pass(torch):
    """The second pass of a double backward goes through the same tensor."""
    calls = []
    x = leaf(torch, 3.0)
    h = x * 2
    h.register_hook(lambda g: calls.append(g.item()))
    (g,) = torch.autograd.grad((h**3).sum(), x, create_graph=True)
    g.sum().backward()

    assert len(calls) == 2


def test_a_hook_may_be_registered_on_a_leaf_before_any_graph(torch):
    """A leaf's hooks are its own, and hold for every graph."""
    calls = []
    x = leaf(torch)
    x.register_hook(lambda g: calls.append(1))
    for _ in range(3):
        (x * 2).sum().backward()

    assert len(calls) == 3


def test_a_hook_s_error_keeps_its_type(torch):
    """What a hook raises reaches the caller of backward as it is."""

    class Mine(Exception):
        pass

    def hook(g):
        raise Mine("text")

    x = leaf(torch)
    x.register_hook(hook)
    with pytest.raises(Mine, match="^text$"):
        x.sum().backward()


def test_gradient_given_to_hooks_is_a_tensor_of_the_right_kind(torch):
    """Hooks get tensors, also where the engine computes with arrays."""
    kinds = []
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (x * 2).sum().register_hook(lambda g: kinds.append((type(g), g.dtype, tuple(g.shape))))
    y = (x * 2).sum()
    y.register_hook(lambda g: kinds.append((type(g), g.dtype, tuple(g.shape))))
    y.backward()

    assert kinds == [(torch.Tensor, torch.float64, ())]


def test_the_hooks_of_a_single_root_run_even_when_it_leads_nowhere(torch):
    """A pass from one tensor visits it whatever was asked for; a pass from two visits only what leads there."""
    x, other = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    seen = []
    y, z = (x * 2).sum(), (x * 3).sum()
    y.register_hook(lambda grad: seen.append("y"))
    z.register_hook(lambda grad: seen.append("z"))
    torch.autograd.grad(y, other, allow_unused=True, retain_graph=True)
    assert seen == ["y"]

    torch.autograd.grad([y, z], other, allow_unused=True)

    assert seen == ["y"]
