"""no_grad, enable_grad, set_grad_enabled and inference_mode: as blocks, calls and decorators, one state per thread."""

import threading

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_grad_mode_is_on_at_the_start(torch):
    """Recording is on until somebody switches it off."""
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def test_blocks_nest_and_restore(torch):
    """Each block restores what was before it, also when it is left by an error."""
    with torch.no_grad():
        with torch.enable_grad():
            assert torch.is_grad_enabled()
            with torch.set_grad_enabled(False):
                assert not torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        with pytest.raises(KeyError):
            with torch.enable_grad():
                raise KeyError
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_entering_the_same_object_twice_leaves_grad_off(torch):
    """One no_grad object remembers one state: entered inside itself, it restores "off" at the end."""
    block = torch.no_grad()
    with block:
        with block:
            pass
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)


def test_set_grad_enabled_as_a_call_holds(torch):
    """As a plain call it holds until changed back."""
    torch.set_grad_enabled(False)
    try:
        assert not (leaf(torch) * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)

    assert (leaf(torch) * 2).requires_grad


def test_decorators_with_and_without_parentheses(torch):
    """Each mode decorates a function, which keeps its name and its result."""

    @torch.no_grad()
    def with_parentheses():
        return torch.is_grad_enabled()

    @torch.no_grad
    def without():
        """Doc."""
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def by_value():
        return torch.is_grad_enabled()

    @torch.enable_grad()
    def enabled():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled()  # decorating with set_grad_enabled(False) does not leave it off
    assert [with_parentheses(), without(), by_value()] == [False, False, False]
    with torch.no_grad():
        assert enabled() is True
    assert without.__name__ == "without" and without.__doc__ == "Doc."


def test_a_decorated_function_may_call_itself(torch):
    """Each call has a state of its own."""

    @torch.no_grad()
    def down(n):
        return [torch.is_grad_enabled()] + (down(n - 1) if n else [])

    assert down(3) == [False] * 4
    assert torch.is_grad_enabled()


def test_a_decorated_generator_holds_the_mode_only_while_it_runs(torch):
    """At each yield the caller's mode is back."""

    @torch.no_grad()
    def generator():
        for _ in range(2):
            yield torch.is_grad_enabled()

    outside = []
    inside = []
    for value in generator():
        inside.append(value)
        outside.append(torch.is_grad_enabled())

    assert inside == [False, False]
    assert outside == [True, True]


@pytest.mark.filterwarnings("ignore:the .type, exc, tb. signature of throw:DeprecationWarning")  # PyTorch's, from 3.12
def test_a_decorated_generator_passes_everything_through(torch):
    """Values sent in, errors thrown in and the return value reach the generator and its caller."""

    @torch.no_grad()
    def echo():
        got = yield "start"
        try:
            yield got
        except ValueError:
            yield "caught"
        return "end"

    steps = echo()
    seen = [next(steps), steps.send("hello"), steps.throw(ValueError)]
    with pytest.raises(StopIteration) as stop:
        next(steps)

    assert seen == ["start", "hello", "caught"]
    assert stop.value.value == "end"
    closed = echo()
    next(closed)
    closed.close()
    assert torch.is_grad_enabled()


def test_a_plain_generator_leaks_its_block(torch):
    """`with no_grad(): yield` leaves the caller's lines in no_grad until the generator goes on."""

    def leaky():
        with torch.no_grad():
            yield

    steps = leaky()
    next(steps)
    assert not torch.is_grad_enabled()
    steps.close()
    assert torch.is_grad_enabled()


def test_each_thread_has_its_own_mode(torch):
    """A new thread starts with grad mode on, whatever the thread that started it does."""
    seen = []

    def work():
        seen.append(torch.is_grad_enabled())
        with torch.no_grad():
            seen.append((leaf(torch) * 2).requires_grad)

    with torch.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert seen == [True, False]


def test_results_under_no_grad_are_leaves(torch):
    """Nothing is recorded: no node, no requires_grad; a leaf made inside may still require grad."""
    x = leaf(torch)
    with torch.no_grad():
        y = x * 2
        made = torch.ones(2, requires_grad=True)
        cut = x.double()

    assert y.is_leaf and not y.requires_grad and y.grad_fn is None
    assert not cut.requires_grad
    assert made.requires_grad and (made * 2).requires_grad


def test_backward_under_no_grad_works(torch):
    """Grad mode is about recording the forward: a recorded graph can be run anywhere."""
    x = leaf(torch)
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()

    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_create_graph_records_even_under_no_grad(torch):
    """In the pass itself recording is on exactly when create_graph is, whatever it is outside."""
    x = leaf(torch)
    y = (x**3).sum()
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        assert not torch.is_grad_enabled()
    (plain,) = torch.autograd.grad((x**3).sum(), x)

    assert g.requires_grad and not plain.requires_grad


def test_hooks_run_in_the_mode_of_the_pass(torch):
    """A hook sees grad mode on exactly when create_graph is."""
    seen = []
    for create_graph in (False, True):
        x = leaf(torch)
        y = x**2
        y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
        torch.autograd.grad(y.sum(), x, create_graph=create_graph)

    assert seen == [False, True]
    assert torch.is_grad_enabled()


def test_a_failing_pass_restores_the_mode(torch):
    """An error in a hook ends the pass with grad mode as it was."""
    x = leaf(torch)
    y = x * 2

    def fail(grad):
        raise KeyError("stop")

    y.register_hook(fail)
    with pytest.raises(KeyError):
        y.sum().backward()
    assert torch.is_grad_enabled()
    total = y.sum()
    with torch.no_grad():
        with pytest.raises(KeyError):
            torch.autograd.grad(total, x, create_graph=True)
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


# --- inference mode ----------------------------------------------------------------------------------------


def test_inference_tensors_say_so(torch):
    """Results, new tensors and views made in inference mode are inference tensors; the inputs are not."""
    x = leaf(torch)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        made = [x * 2, torch.ones(3), torch.ones(2, 3)[0], torch.tensor([1.0]), (x * 2).detach(), x > 1]

    assert [t.is_inference() for t in made] == [True] * 6
    assert not x.is_inference() and not torch.ones(3).is_inference()


def test_a_view_of_a_normal_tensor_in_inference_mode_is_normal(torch):
    """A view made in inference mode of a normal tensor shares its counter: it is a normal tensor."""
    h = leaf(torch) * 1
    with torch.inference_mode():
        view = h[1:]

    assert not view.is_inference()
    assert view._version == 0


def test_inference_tensors_may_be_changed_inside(torch):
    """Inside the block in-place operations are free; outside they are refused."""
    with torch.inference_mode():
        t = torch.zeros(3)
        t.add_(1)
        t[0] = 5.0

    assert t.tolist() == [5.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        t.add_(1)


def test_inference_tensors_may_be_used_where_nothing_is_kept(torch):
    """Adding one is fine, as addition keeps nothing; multiplying with one is refused."""
    x = leaf(torch)
    with torch.inference_mode():
        c = torch.ones(3) * 2
    (x + c).sum().backward()

    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * c


def test_a_clone_of_an_inference_tensor_is_normal(torch):
    """clone, or any arithmetic outside the block, gives a normal tensor; a view or detach does not."""
    with torch.inference_mode():
        t = torch.ones(3)

    assert [u.is_inference() for u in (t.clone(), t * 2, t[1:], t.detach())] == [False, False, True, True]
    assert t.clone().requires_grad_().requires_grad


def test_enable_grad_does_not_help_inside_inference_mode(torch):
    """Only inference_mode(False) switches recording on again inside the block."""
    x = leaf(torch)
    with torch.inference_mode():
        with torch.enable_grad():
            assert not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
        assert torch.is_inference_mode_enabled()
    assert (x * 2).requires_grad


def test_inference_mode_as_a_decorator(torch):
    """With parentheses, without, and with a value."""

    @torch.inference_mode()
    def a():
        return torch.is_inference_mode_enabled()

    @torch.inference_mode
    def b():
        return torch.is_inference_mode_enabled()

    @torch.inference_mode(False)
    def c():
        return torch.is_inference_mode_enabled()

    assert [a(), b(), c()] == [True, True, False]


def test_detach_gives_an_inference_tensor_a_counter(torch):
    """Outside the mode detach() and .data of an inference tensor may be written to, and count; views may not."""
    with torch.inference_mode():
        a = torch.ones(2)
        inside = a.detach()
    d = a.detach()
    d.add_(1)

    assert (d.is_inference(), d._version, a.data._version, a.tolist()) == (True, 1, 0, [2.0, 2.0])
    for tensor in (inside, a[:1], d[:1]):
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            _ = tensor._version
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            tensor.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        leaf(torch, 1.0, 2.0) * d


def test_a_refused_write_to_an_inference_tensor_is_written_by_pytorch_and_not_by_us(torch):
    """Where we differ: PyTorch writes, and then raises; our engine raises first."""
    with torch.inference_mode():
        t = torch.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        t.mul_(5)

    assert t.tolist() == ([1.0, 1.0] if torch.__name__ == "course_lib" else [5.0, 5.0])
