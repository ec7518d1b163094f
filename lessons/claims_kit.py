"""Helpers that the claims of several lessons need."""

import ast
import contextlib
import functools
import gc
import types
from pathlib import Path

import pytest

from coursekit.records import made, records
from coursekit.records.programs import PROGRAMS

LESSONS = Path(__file__).resolve().parent
FREED = "Trying to backward through the graph a second time"
CHANGED = "modified by an inplace operation"


def leaf(torch, *values, **options):
    """A leaf that requires grad; of 1, 2 and 3, if no values are given."""
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def number(torch, value=2.0):
    """A single number that requires grad."""
    return torch.tensor(value, requires_grad=True)


def alive(references):
    """List which of them still lead to an object."""
    return [reference() is not None for reference in references]


def bound(statement):
    """The names to which a statement binds something."""
    if hasattr(statement, "name"):
        return {statement.name}
    targets = [part for target in getattr(statement, "targets", ()) for part in ast.walk(target)]
    return {part.id for part in targets if isinstance(getattr(part, "ctx", None), ast.Store) and hasattr(part, "id")}


def from_lesson(torch, number, *names, edit=str, **given):
    """Return what a lesson's source defines under these names, or assigns, on this library; it finds what is given."""
    (source,) = LESSONS.glob(f"{number}_*/lesson.py")
    found = {}
    for node in ast.parse(edit(source.read_text("utf-8"))).body:
        if isinstance(node, ast.Import | ast.ImportFrom) or bound(node) & {*names}:
            exec(compile(ast.Module([node], []), str(source), "exec"), found)
            found |= {"torch": torch, "nn": torch.nn, "F": torch.nn.functional} | given
    return types.SimpleNamespace(**{name: found[name] for name in names})


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


@functools.cache
def made_now():
    """All records, made on this machine's PyTorch in one process; each is what the lesson prints. Of C++ functions only
    the one that raised is compared: the others are often inlined, and which ones differs from build to build."""
    found, kept = made(*PROGRAMS), records()
    for name in PROGRAMS:
        one, other = found[name], kept[name]
        if name == "who raised it":
            one, other = ([line.partition(", ")[0] for line in text.splitlines()] for text in (one, other))
        assert one == other, name
    return found


def shown(torch, name):
    """A record as it was printed: by this PyTorch just now, or in the lesson."""
    return (made_now() if torch.__name__ == "torch" else records())[name]
