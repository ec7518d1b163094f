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
