"""Checkpoints: random numbers, and what debug=True tells."""

import pytest

import course_lib


def leaf(torch, *values):
    return torch.tensor(values or (0.5, 1.0), requires_grad=True)


def wave(t):
    return (t.sin() * t).exp()


@pytest.mark.parametrize("reentrant", [True, False])
def test_both_runs_see_the_same_random_numbers(torch, reentrant):
    """Dropout in a checkpointed segment uses one mask; the stream of random numbers goes on undisturbed."""
    x = torch.ones(200, requires_grad=True)
    torch.manual_seed(3)
    y = torch.utils.checkpoint.checkpoint(lambda t: torch.nn.functional.dropout(t) * t, x, use_reentrant=reentrant)
    following = torch.randn(3)
    y.sum().backward()
    after = torch.randn(3)
    torch.manual_seed(3)
    torch.nn.functional.dropout(x)

    assert x.grad.tolist() == (2 * y.detach()).tolist()
    assert following.tolist() == torch.randn(3).tolist()
    assert after.tolist() == torch.randn(3).tolist()


def test_debug_tells_the_operations_of_both_runs(torch):
    """With debug=True a CheckpointError lists both runs; without it does not."""
    tools, heard = torch.utils.checkpoint, []
    for debug in (True, False):
        calls = []

        def segment(t, calls=calls):
            calls.append(None)
            h = t * t
            return (h.exp() if len(calls) == 1 else h).sin()

        y = tools.checkpoint(segment, leaf(torch), use_reentrant=False, debug=debug)
        with pytest.raises(tools.CheckpointError) as caught:
            y.sum().backward()
        text = str(caught.value)
        heard.append([phrase in text for phrase in (
            "Operations executed during the original forward:", "Operations executed during recomputation:"
        )])  # fmt: skip

    assert heard == [[True, True], [False, False]]


def test_debug_names_the_first_difference():
    """Our list names operation, form and line, and says where the second run left the first."""
    tools, calls = course_lib.utils.checkpoint, []

    def segment(t):
        calls.append(None)
        h = t * t
        return (h.exp() if len(calls) == 1 else h).sin() + 1

    y = tools.checkpoint(segment, leaf(course_lib), use_reentrant=False, debug=True)
    with pytest.raises(tools.CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)

    assert "1. Mul -> float32 (2,), `h = t * t` (test_checkpoint.py line" in text
    assert "They first differ at operation 2: Exp -> float32 (2,) in the forward pass, Sin -> float32 (2,)" in text


def test_debug_says_nothing_when_both_runs_agree(torch, capsys):
    """debug=True prints nothing and changes no gradient while the runs agree."""
    tools, x = torch.utils.checkpoint, leaf(torch)
    tools.checkpoint(wave, x, use_reentrant=False, debug=True).sum().backward()
    expected = leaf(torch)
    wave(expected).sum().backward()

    assert x.grad.tolist() == expected.grad.tolist()
    assert "Mul" not in capsys.readouterr().out
