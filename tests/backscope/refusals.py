"""A call that must be refused, and in which words."""

import pytest


def raises(message, program, kind=RuntimeError):
    """The program, which takes nothing, ends with an error of this kind, whose message matches."""
    with pytest.raises(kind, match=message):
        program()
