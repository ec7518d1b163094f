"""No instrument may leave anything behind: asked after each test of the teaching tools."""

import sys

import pytest

from backscope.adapters import course_lib as adapter
from backscope.events.recording import here
from course_lib.engine import ops
from course_lib.engine.grad_mode import ON, state


def nothing_is_attached():
    """True when no engine is observed any more."""
    torch = sys.modules.get("torch")
    hooks = None if torch is None else torch._C._autograd._top_saved_tensors_default_hooks(True)
    modes = 0 if torch is None else len(torch.overrides._get_current_function_mode_stack())
    ours = (state.recorders, state.recording, adapter.note_node in ops.INSTRUMENTS, here.open)
    return ours == (0, ON, False, []) and adapter._watched == {} and hooks is None and modes == 0


@pytest.fixture(autouse=True)
def leaves_no_trace():
    yield
    assert nothing_is_attached()
