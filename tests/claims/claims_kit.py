"""What the claims of several lessons need."""

import contextlib
import gc

import pytest

FREED = "Trying to backward through the graph a second time"
CHANGED = "modified by an inplace operation"


def leaf(torch, *values, **options):
    """A leaf that requires grad; of 1, 2 and 3, if no values are given."""
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def raises(message, program, kind=RuntimeError):
    """The program, which takes nothing, ends with an error of this kind, whose message matches."""
    with pytest.raises(kind, match=message):
        program()


def nodes_behind(result):
    """All nodes behind a tensor, each once; holding them keeps them comparable by identity."""
    found = [result.grad_fn]
    for node in found:
        found += dict.fromkeys(after for after, _ in node.next_functions if after is not None and after not in found)
    return found


def names_behind(result):
    """Their names, as both libraries write them in pictures."""
    return [type(node).__name__ for node in nodes_behind(result)]


@contextlib.contextmanager
def no_collector():
    """The garbage collector stays away: what goes, goes by counting references."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def function(torch, forward, backward, name="Fn"):
    """A custom Function with these two static methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)
