"""Hooks on tensors and nodes: when they run, and what they see."""

import gc

import pytest
from facts import leaf


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


def test_the_accumulator_is_held_weakly(torch):
    """A hook on the accumulator vanishes with the last graph that led to it."""
    gc.collect()
    seen = []
    x = leaf(torch)
    (x * 2).grad_fn.next_functions[0][0].register_hook(lambda *grads: seen.append(1))
    (x * 2).sum().backward()

    assert seen == []
