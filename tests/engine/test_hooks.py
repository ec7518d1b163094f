"""Hooks on tensors and nodes: whether they run, and what they see."""

from tests.engine.facts import leaf


def test_node_hooks_see_gradients_after_broadcasting_is_undone(torch):
    """What a node hook sees of its inputs' gradients has the shapes of the inputs."""
    seen = []
    x, row = torch.ones(2, 3, requires_grad=True), leaf(torch)
    z = x * row
    z.grad_fn.register_hook(lambda gi, go: seen.append([tuple(g.shape) for g in (*gi, *go)]))
    z.sum().backward()

    assert seen == [[(2, 3), (3,), (2, 3)]]


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
