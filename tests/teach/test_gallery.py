"""The gallery: every picture on both libraries, the same words; differences are data, with reasons."""

import ast
import importlib
import importlib.util
import os
import re

import gallery_programs
import pytest

import course_lib
from course_lib.teach import layout
from course_lib.teach.draw import Picture

WHY = "torch is not installed: `pip install -e .[torch]` to draw the gallery with real PyTorch too"
GALLERY = pytest.mark.parametrize(
    "function", [function for _, function in gallery_programs.GALLERY], ids=lambda function: function.__name__
)


@pytest.fixture
def torch():
    """Real PyTorch."""
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("COURSE_REQUIRE_TORCH") == "1":
            pytest.fail("COURSE_REQUIRE_TORCH=1, but " + WHY)
        pytest.skip(WHY)
    return importlib.import_module("torch")


def test_the_gallery_has_twenty_pictures_and_more():
    """At least 20, each with a title of its own."""
    titles = [title for title, _ in gallery_programs.GALLERY]

    assert len(titles) == len(set(titles)) >= 20


@GALLERY
def test_same_words_on_real_pytorch(torch, function):
    """The same call on real PyTorch raises nothing and says the same, line by line, except for listed differences."""
    ours, theirs = function(course_lib).text.splitlines(), function(torch).text.splitlines()

    assert (ours != theirs) == (function in gallery_programs.DIFFERENT)


def test_reasons_are_given():
    """Each difference has a reason, and belongs to a picture of the gallery."""
    functions = [function for _, function in gallery_programs.GALLERY]

    assert all(f in functions and reason for f, reason in gallery_programs.DIFFERENT.items())


@GALLERY
def test_words_are_for_a_notebook(function):
    """No address, no id, no line without end; and the same words when it is run again."""
    text = function(course_lib).text

    assert "0x" not in text and not re.search(r"\d{9,}", text)
    assert text == function(course_lib).text


@GALLERY
def test_pictures_fit_a_page(function):
    """Not wider than 800 pixels, described for those who do not see it."""
    picture = function(course_lib)
    if picture.svg is None:
        pytest.skip("no layout engine here: " + layout.layout_engine()[1])

    assert isinstance(picture, Picture)
    assert layout.size(picture.svg)[0] <= layout.WIDEST
    assert 'alt="' in picture.html and "<script" not in picture.html


def test_what_the_gallery_shows():
    """The facts that no other drawing tool shows, each in one of the pictures."""
    text = {function: function(course_lib).text for _, function in gallery_programs.GALLERY}
    shown = {
        gallery_programs.tensor_twice: ["saved other = x", "saved self = x"],
        gallery_programs.after_backward: ["FREED", "retained grad: [1., 1.]", "grad: [2.718, 7.389]"],
        gallery_programs.stale_input: ["v0, now v1, STALE"],
        gallery_programs.stale_after_the_failing_backward: ["v0, now v1, STALE"],
        gallery_programs.view_and_base: ["h, v: one memory, one counter, version 0", "view of h"],
        gallery_programs.write_through_a_view: ["CopySlices", "AsStridedBackward0"],
        gallery_programs.ways_out: ["p looks at the memory of y with a version counter of its own"],
        gallery_programs.a_view_that_is_unusable: ["a cannot be used any more", "unusable"],
        gallery_programs.hooks_everywhere: ["1 post-accumulate hook", "1 node prehook", "1 node hook"],
        gallery_programs.packed: ["packed by hooks"],
        gallery_programs.custom_function: ["saved tensors[0] = x", "saved tensors[1] = y"],
        gallery_programs.kept_on_ctx: ["kept ctx.x = x: no version check", "no saved tensors"],
        gallery_programs.not_reached: ["No gradient reaches v from here"],
        gallery_programs.linear_model: ["AccumulateGrad of 0.weight", "2.bias"],
        gallery_programs.two_hundred_layers: ["198 × (ReluBackward0, TBackward0, AddmmBackward0)", "to 398.bias"],
        gallery_programs.before_and_after_a_write: ["y.grad_fn: ExpBackward0 -> MulBackward0", "now STALE"],
        gallery_programs.an_error_explained: ["HERE marks saved result = y of SqrtBackward0", "Read lesson 07"],
    }
    missing = [(f.__name__, words) for f, all_words in shown.items() for words in all_words if words not in text[f]]

    assert missing == []


def test_cells_show_what_the_functions_return():
    """The gallery as a notebook: its cells, run one after the other in one namespace, show the same words."""
    (_, first), *others = gallery_programs.cells()
    names = {}
    exec(compile(first, "<cell>", "exec"), names)
    for (title, code), (_, function) in zip(others, gallery_programs.GALLERY, strict=True):
        body = ast.parse(code)
        last = ast.Expression(body.body.pop().value)
        exec(compile(body, "<cell>", "exec"), names)
        shown = eval(compile(last, "<cell>", "eval"), names)

        assert shown.text == function(course_lib).text, title


def test_the_source_is_a_notebook():
    """As percent format it has a cell for each picture and a heading for each title."""
    source = gallery_programs.notebook_source()

    assert source.count("# %%\n") == len(gallery_programs.GALLERY) + 1
    assert all(f"\n# ## {title}\n" in source for title, _ in gallery_programs.GALLERY)
