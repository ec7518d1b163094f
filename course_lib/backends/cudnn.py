"""torch.backends.cudnn: its switches can be set, and nothing asks for them.

PyTorch: torch/backends/cudnn/__init__.py.
"""

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True


def is_available():
    """False: everything is computed on the CPU."""
    return False


def version():
    """None: there is no such library here."""
    return None
