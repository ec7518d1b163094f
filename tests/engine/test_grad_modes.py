"""no_grad, enable_grad, set_grad_enabled and inference_mode: as blocks, calls and decorators, one state per thread."""

import pytest

from tests.engine.facts import leaf


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
