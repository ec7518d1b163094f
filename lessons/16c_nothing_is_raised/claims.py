"""The claims of part 16c, programs that raise nothing, on our engine and on real PyTorch."""

import pytest

from coursekit.judge.discovery import import_from_lessons
from lessons.claims_kit import CHANGED, from_lesson, raises

STAGE = import_from_lessons("16c_nothing_is_raised.stage")


def test_c16c_1_a_result_on_ctx(torch):
    """A result on ctx outlives its last name; if backward clears it, then only where backward runs; detached or
    in a slot it does not."""
    names, nowhere, everywhere = ("Squash", "CleanedUp", "Detached", "Slot"), [0, 0, 0], [1, 2, 3]
    own = from_lesson(torch, "16c", *names)
    alive = [
        [STAGE.alive_after(torch, getattr(own, name).apply, training, batches=3) for training in (True, False)]
        for name in names
    ]
    assert alive == [[everywhere] * 2, [nowhere, everywhere], [nowhere] * 2, [nowhere] * 2]


def test_c16c_2_overwritten(torch):
    """If a result is overwritten before backward, a detached alias on ctx gives a wrong gradient without an
    error, and a slot raises."""
    ways, x = from_lesson(torch, "16c", "Squash", "Detached", "Slot"), torch.tensor([1.0, -3.0], requires_grad=True)
    y = ways.Detached.apply(x)
    y.mul_(2)
    y.sum().backward()
    assert [0.0, 0.5] == pytest.approx(x.grad.tolist())  # 2 / (1 + |x|)² is 0.5, 0.125

    y = ways.Slot.apply(x)
    y.mul_(2)
    raises(CHANGED, y.sum().backward)


def test_c16c_3_zero_or_none(torch):
    """With zero_grad(set_to_none=False), momentum moves a parameter that takes no part, frozen or not; with None
    it rests, and so does its velocity."""
    for to_none in (True, False):
        for freeze in (True, False):
            p = torch.ones(2, requires_grad=True)
            optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
            (3 * p).sum().backward()
            optimizer.step()
            before, speed = p.tolist(), optimizer.state[p]["momentum_buffer"].tolist()
            p.requires_grad_(not freeze)
            optimizer.zero_grad(set_to_none=to_none)
            optimizer.step()
            assert to_none == (p.tolist() == before)
            assert to_none == (optimizer.state[p]["momentum_buffer"].tolist() == speed)


def test_c16c_4_zero_times(torch):
    """A loss that contains zero times a result gives its parameters gradients of zero and not None."""
    used, unused, left_out = (torch.ones(2, requires_grad=True) for _ in range(3))
    ((used * 2).sum() + 0 * (unused * 3).sum()).backward()
    assert [0, 0] == unused.grad.tolist()
    assert left_out.grad is None
