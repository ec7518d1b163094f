"""names.txt holds the public names that no row of the table says. A name is added by decision: a lesson needs it."""

import importlib
from pathlib import Path

import pytest

import course_lib
from course_lib.engine.ops import ROWS
from course_lib.surface import left_out

# What a tensor's memory, history and versions are to the engine and its pictures. PyTorch keeps these in C++.
FIELDS = "array node version meta keeps_grad_when_copied writes_when_copied".split()


def sections():
    """{module as names.txt writes it: its names}."""
    found = {}
    for line in (Path(__file__).parent / "names.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            names = found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            names += line.split()
    return found


NAMES = sections()


def place(section):
    """The module, or the class Tensor, that a section is about."""
    if section in ("torch", "Tensor", "cuda"):
        return {"torch": course_lib, "Tensor": course_lib.Tensor, "cuda": course_lib.cuda}[section]
    return importlib.import_module(f"course_lib.{section}")


def public(owner):
    """What `dir` lists and what is there."""
    return {name for name in dir(owner) if not name.startswith("_") and hasattr(owner, name)}


def packages(section):
    """The modules that a module holds, by the names of the other sections."""
    if section == "torch":
        return {other.split(".")[0] for other in NAMES} - {"torch", "Tensor"}
    return {other.split(".")[1] for other in NAMES if other.startswith(section + ".")}


def said_by_rows(section):
    """The names that rows of the table say by `names=`."""
    if section == "torch":
        return {row.name for row in ROWS.values() if row.is_function}
    methods = {name for row in ROWS.values() for name in row.methods} if section == "Tensor" else set()
    return {name for name in methods if not name.startswith("_")}


@pytest.mark.parametrize("section", NAMES)
def test_the_names_are_those_of_the_list(section):
    """None is missing, none was added without a decision."""
    own = FIELDS if section == "Tensor" else packages(section)

    assert public(place(section)) == {*NAMES[section], *own, *said_by_rows(section)}
    assert said_by_rows(section).isdisjoint(NAMES[section])


OWNERS = [section if section == "torch" else f"torch.{section}" for section in NAMES]


@pytest.mark.parametrize("where", OWNERS)
def test_a_name_that_is_left_out_is_pytorchs_and_answers_with_a_sentence(where, real_torch):
    """It is there in PyTorch, is not there for hasattr(), and who asks for it reads what to do."""
    section = where.removeprefix("torch.")
    theirs = real_torch.Tensor if section == "Tensor" else importlib.import_module(where)
    for name in left_out.left_out(where):
        assert hasattr(theirs, name), f"{where}.{name}"
        assert not hasattr(place(section), name), f"course_lib has {where}.{name}"
        owner = course_lib.ones(1) if section == "Tensor" else place(section)
        with pytest.raises(AttributeError, match=rf"torch.*{name}\b.*\. |torch.*{name} is PyTorch's.*`import torch`"):
            getattr(owner, name)


def test_completion_offers_nothing_that_is_left_out():
    """What `x.` and the tabulator show in a notebook is there."""
    x = course_lib.ones(2, 2)

    assert {"backward", "grad_fn", "tanh"} <= {*dir(x)}
    assert [name for name in dir(x) if not hasattr(x, name)] == []


def test_every_name_that_is_left_out_is_left_out_once():
    """No name stands in two lists, and each list is that of a section."""
    assert {*left_out.INSTEAD, *left_out.NOT_NEEDED} <= {*OWNERS}
    for where in OWNERS:
        names = left_out.left_out(where)
        assert len(names) == len(set(names)), where
