"""Warnings that PyTorch gives once a process, wherever they come from.

PyTorch: c10/util/Exception.h (TORCH_WARN_ONCE).
"""

import warnings

_given = set()
_always = False


def set_warn_always(always):
    """Give such warnings each time, or once a process (as it is at first)."""
    global _always
    _always = bool(always)


def is_warn_always_enabled():
    """True after set_warn_always(True)."""
    return _always


def warn_once(message, stacklevel):
    """A UserWarning, unless it was given before."""
    if _always or message not in _given:
        _given.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
