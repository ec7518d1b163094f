"""`step`: the same trace on both libraries, the same gradients as backward(), and nothing left behind."""

import gc
import warnings
import weakref

import pytest

import course_lib
from backscope.stepping.step import step
from tests.backscope.refusals import raises
from tests.backscope.step_programs import FAILING, FINE, diamond, freed, leaf, refuse, stale


@pytest.mark.parametrize("program", [*FINE, *FAILING], ids=lambda program: program.__name__)
def test_one_trace_on_both_libraries(real_torch, program):
    """The trace of a program is one text, whichever library ran it, and holds no address."""
    ours, theirs = program(course_lib).text, program(real_torch).text

    assert ours == theirs
    assert "0x" not in ours


@pytest.mark.parametrize("program", FINE, ids=lambda program: program.__name__)
def test_the_recorded_order_is_the_rule(torch, program):
    """The order in which nodes really ran is the one that the counts and the queue predict."""
    recording = program(torch)._recording

    assert [one.node for one in recording.steps] == recording.planned
    assert recording.strays == []


@pytest.mark.parametrize("program", FAILING, ids=lambda program: program.__name__)
def test_a_failing_pass_ends_in_the_node_that_failed(torch, program):
    """An error in the pass is not raised; the last frame names the node and the error, and nothing after it ran."""
    result = program(torch)

    last = result.text.split("\n\n")[-2]
    assert f": {FAILING[program]} fails\n" in last
    assert f"  {type(result.error).__name__}: " in last
    assert result.order[-1] == FAILING[program]
    assert f"it failed at {FAILING[program]}." in result.text.splitlines()[0]
    assert "The pass ended in an error." in result.text


def test_the_stale_tensor_is_named(torch):
    """The failing frame says what the node saved, at which version, and at which version it is now."""
    assert "  It saved its result, u, at version 0; it is now at version 1.\n" in stale(torch).text
    assert "  An earlier pass freed what it had saved.\n" in freed(torch).text


def test_gradients_are_those_of_backward(torch):
    """step() stores what backward() stores, to the last bit, and adds to what is there."""

    def trained(run):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        for _ in range(2):
            h = model(torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.2, -0.1]]))
            run((h * h.sum()).exp().mean())
        return [p.grad.tolist() for p in model.parameters()]

    assert trained(step) == trained(lambda loss: loss.backward())


def test_saved_tensors_are_freed_or_kept(torch):
    """What a node lets go is named; a second pass then fails. With retain_graph nothing is let go."""
    x = leaf(torch, 2.0)
    y = x.exp()

    kept = step(y, retain_graph=True)
    assert "frees" not in kept.text
    assert "Saved tensors are kept for another pass." in kept.text
    assert "  frees result = y\n" in step(y).text
    raises("second time", y.backward)


def test_inputs(torch):
    """With inputs= only these get a gradient, and nodes that lead to none of them do not run."""
    x, w = leaf(torch, 2.0), leaf(torch, 3.0)
    h = x * w
    y = h * w

    result = step(y, inputs=[h])

    assert (x.grad, w.grad) == (None, None)
    assert h.grad.item() == 3.0
    assert "  h.grad: None → 3.\n" in result.text
    assert result.order == ["2 MulBackward0", "1 MulBackward0"]
    assert "to AccumulateGrad of w: not asked for" in result.text


def test_a_pass_that_is_recorded(torch):
    """With create_graph the gradients have a history of their own."""
    x = leaf(torch, 2.0)
    y = x * x * x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = step(y, create_graph=True)

    assert "set .grad to None when you are done." in result.text
    assert x.grad.requires_grad
    assert torch.autograd.grad(x.grad, x)[0].item() == 12.0
    x.grad = None


def test_hooks_see_what_they_saw_before(torch):
    """The user's hooks run as often, in the same order and on the same gradients as without step()."""

    def program(run):
        seen = []
        x = leaf(torch, 2.0)
        h = x * 3
        y = h * h
        h.register_hook(lambda grad: seen.append(("tensor", grad.item())))
        h.grad_fn.register_prehook(lambda grads: seen.append(("pre", grads[0].item())))
        h.grad_fn.register_hook(lambda grads, got: seen.append(("post", grads[0].item(), got[0].item())))
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(("leaf", leaf.grad.item())))
        run(y)
        return seen

    assert program(step) == program(lambda y: y.backward()) != []


def test_a_write_into_a_gradient_that_waits_elsewhere_is_shown(torch):
    """clamp_ in a hook writes into memory that another buffer holds: from that step on the buffer shows it."""
    x = leaf(torch, [1.0, 2.0])
    f = x * 3
    loss = (x + f).sum()
    f.register_hook(lambda grad: grad.mul_(0))
    with pytest.raises(RuntimeError):  # behind a sum all elements are one number: the write is refused
        loss.backward()
    loss = ((x + f) * torch.tensor([1.0, 2.0])).sum()
    text = step(loss).text

    assert "waits in the buffer of AccumulateGrad of x, so that changed too: [1., 2.] → [0., 0.]" in text
    assert "[0., 0.] + [0., 0.] = [0., 0.]" in text
    assert text.count("a hook changed it") == 1  # of f; x has no hook


@pytest.mark.parametrize("fails", [False, True], ids=["passes", "fails"])
def test_no_hooks_are_left(torch, fails):
    """After step() the nodes have the hooks that they had before, also when the pass failed."""
    x = leaf(torch, 2.0)
    h = x * 3
    y = h.exp() + x
    nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], h.grad_fn, h.grad_fn.next_functions[0][0]]
    mine = [node.register_prehook(lambda grads: None) for node in nodes]
    mine += [node.register_hook(lambda grads, got: None) for node in nodes]
    if fails:
        h.register_hook(refuse)

    result = step(y, retain_graph=True)

    assert (result.error is not None) == fails
    assert [list(hooks_behind(handle)) for handle in mine] == [[handle.id] for handle in mine]


def hooks_behind(handle):
    """The dictionary that a handle's hook is registered in."""
    return handle.hooks_dict_ref() if hasattr(handle, "hooks_dict_ref") else handle.hooks


@pytest.mark.parametrize("fails", [False, True], ids=["passes", "fails"])
def test_nothing_is_kept_alive(torch, fails):
    """A recording holds words: tensors die with their last name, without help from the garbage collector."""

    def run():
        x = leaf(torch, [2.0, 3.0])
        h = x * 3
        u = h.exp()
        y = (u * x).sum()
        if fails:
            u.add_(1)
        seen = [weakref.ref(tensor) for tensor in (x, h, u, y)]
        return step(y), seen

    gc.collect()
    gc.disable()
    try:
        result, seen = run()

        assert [reference() for reference in seen] == [None] * 4
    finally:
        gc.enable()
    assert (result.error is not None) == fails
    assert "x.grad" in result.text


def test_an_interrupt_is_not_swallowed(torch):
    """Stopping the kernel during the pass ends step() as it would end backward(), and takes the hooks away."""
    x = leaf(torch, 2.0)
    y = x.exp()

    def stop(grad):
        raise KeyboardInterrupt

    handle = x.register_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        step(y, retain_graph=True)
    handle.remove()

    mine = y.grad_fn.register_prehook(lambda grads: None)
    assert len(hooks_behind(mine)) == 1


def test_another_order_is_told(torch):
    """If an engine ever runs nodes in another order, the recording follows it and says at which steps."""
    x, h, y = diamond(torch)
    recording = step(y)._recording
    first, second = recording.steps[1], recording.steps[2]
    recording.steps[1:3] = [second, first]

    assert recording.check_order() == [2]


@pytest.mark.parametrize("leaves, order", [("ab", "ab"), ("abc", "abc"), ("abcd", "acbd"), ("abcdefgh", "acgfhebd")])
def test_leaves_leave_the_queue_as_its_heap_gives_them(torch, leaves, order):
    """Among AccumulateGrad nodes there is no newest: what counts is the heap that the queue is."""
    named = {name: leaf(torch, [1.0]) for name in leaves}
    y = torch.cat(list(named.values())).sum()
    result = step(y, names=named)
    recording = result._recording

    assert result.order[2:] == [f"AccumulateGrad of {name}" for name in order]
    assert [one.node for one in recording.steps] == recording.planned and recording.strays == []
    waiting = ", ".join(result.order[2:])
    assert f"\n  ready queue: {waiting}\n" in result.text


def test_a_leaf_that_is_used_again_arrives_later(real_torch):
    """A leaf is ready when its last gradient is there, not its first; so PyTorch's queue says."""
    named = {name: leaf(real_torch, [1.0]) for name in "abcd"}
    result = step(real_torch.cat([named[name] for name in "abcda"]).sum(), names=named)

    assert "".join(title[-1] for title in result.order[2:]) == "bdca"
    assert result._recording.strays == []


def test_arguments_that_are_no_tensor(torch):
    """What cannot be stepped through is refused in a sentence that says what to do."""
    y = leaf(torch, 2.0) * 3
    raises(r"needs the tensor to start from: step\(loss\)", step, TypeError)
    raises(r"not float: give it the tensor that you would call .backward\(\) on", lambda: step(2.0), TypeError)
    raises(r"put a star in front: step\(\*tensors\)", lambda: step([y]), TypeError)
    raises("give it the tensor whose grad_fn it is", lambda: step(y.grad_fn), TypeError)
    raises("call it on an input and give the loss", lambda: step(torch.nn.Linear(1, 1)), TypeError)


def test_tensors_that_no_pass_can_start_from(torch):
    """No history, or several elements and no gradient: the sentence names the tensor and a way out."""
    plain, many = torch.tensor(2.0), leaf(torch, [1.0, 2.0]) * 3
    raises(r"plain has no history: .* Create an input with requires_grad=True", lambda: step(plain), ValueError)
    with pytest.raises(ValueError, match=r"many has 2 elements.* step through many.sum\(\), or give gradient=.*\(2,\)"):
        step(many)
    with pytest.raises(ValueError, match=r"gradient has shape \(3,\), but many has shape \(2,\)"):
        step(many, gradient=torch.ones(3))
    raises("gradient must be a tensor of shape .2,., not float", lambda: step(many, gradient=1.0), TypeError)
    raises("gradient has 2 entries for 1 tensors", lambda: step(many, gradient=[None, None]), ValueError)
    many.sum().backward()  # no refused call has run a pass


def test_inputs_that_cannot_receive_a_gradient(torch):
    """inputs= must name tensors that require grad."""
    y, plain = leaf(torch, 2.0) * 3, torch.tensor(1.0)
    raises("inputs is empty", lambda: step(y, inputs=[]), ValueError)
    raises("inputs: plain does not require grad", lambda: step(y, inputs=[plain]), ValueError)
    raises("inputs must be tensors, not int", lambda: step(y, inputs=[3]), TypeError)
