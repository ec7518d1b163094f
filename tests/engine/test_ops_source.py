"""The generated source of operations: readable, and shown by inspect, `??` and tracebacks."""

import inspect
import re
import traceback
from pathlib import Path

import pytest

import course_lib
from course_lib.engine.build import build, source_of
from course_lib.engine.ops import ROWS

GOLDEN = Path(__file__).parent / "golden"
TEXTS = ["mul", "exp", "mul_"]


def part(name):
    """The source of one function, and for an operation that of its node before it."""
    node, *functions = re.split(r"\n\n\n(?=def )", source_of(name))
    (function,) = [text for text in functions if text.startswith(f"def {name}(")]
    return (node + "\n\n\n" if not name.endswith("_") else "") + function.rstrip("\n") + "\n"


@pytest.mark.parametrize("name", TEXTS)
def test_generated_source_reads_as_it_did(name):
    """The generated text of mul, mul_ and exp is what a learner is shown: a change to it must be looked at.

    After a change on purpose: `python tests/engine/test_ops_source.py`, and read the difference.
    """
    expected = (GOLDEN / f"{name}.py.txt").read_text(encoding="utf-8")

    assert expected == part(name)


@pytest.mark.parametrize("name", ["mul", "mul_", "exp", "softmax", "unbind", "copy_"])
def test_inspect_finds_the_source(name):
    """`inspect.getsource` gives the text that runs."""
    text = inspect.getsource(build(name))

    assert text.startswith(f"def {name}(")
    assert text.rstrip("\n") in source_of(name)


def test_inspect_finds_the_node_s_source():
    """The node class of an operation has a source as well."""
    node = type((course_lib.ones(2, requires_grad=True) * 2).grad_fn)
    text = inspect.getsource(node.apply)

    assert "grad_self = grad * other" in text
    assert text in source_of("mul")


@pytest.mark.parametrize("name", ROWS)
def test_every_generated_function_compiles_and_has_a_docstring(name):
    """Each row becomes functions that name themselves and say what they compute."""
    row = ROWS[name]
    variants = ([name] if row.in_place != "only" else []) + ([name + "_"] if row.in_place else [])
    assert variants
    for variant in variants:
        function = build(variant)
        assert function.__name__ == variant
        assert function.__doc__.startswith(variant + ":")
        assert function.__module__ == "course_lib"


def test_generated_lines_are_not_too_long():
    """What learners are shown fits on a screen."""
    long = [line for name in ROWS for line in source_of(name).splitlines() if len(line) > 151 and '"""' not in line]

    assert long == []


def test_tracebacks_show_generated_lines():
    """An error inside an operation names the generated file and shows the line."""
    with pytest.raises(RuntimeError) as caught:
        course_lib.mul(course_lib.ones(2), course_lib.ones(3))
    text = "".join(traceback.format_exception(caught.value))

    assert 'File "<course_lib operation mul>"' in text
    assert "raise broadcast_error(self, other) from None" in text


def test_tracebacks_of_backward_show_the_node():
    """A version error passes through the node's own generated apply."""
    h = course_lib.ones(2, requires_grad=True) * 1
    y = h.sin()
    h.add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    text = "".join(traceback.format_exception(caught.value))

    assert "<course_lib operation SinBackward0>" in text
    assert "kept.unpack(node)" in text


if __name__ == "__main__":
    for name in TEXTS:
        (GOLDEN / f"{name}.py.txt").write_text(part(name), encoding="utf-8")
