"""The gallery: every picture on both libraries, the same words; differences are data, with reasons."""

import ast
import base64
import inspect
import re

import gallery_programs
import pytest

import course_lib
from course_lib.teach import compare, draw, explain, ledger, step, watch
from course_lib.teach.pictures import layout
from course_lib.teach.pictures.draw import Picture

GALLERY = pytest.mark.parametrize(
    "function", [function for _, function in gallery_programs.GALLERY], ids=lambda function: function.__name__
)


@pytest.fixture
def torch(real_torch):
    """Real PyTorch, and not our engine too: these tests compare the two."""
    return real_torch


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


DATA = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")


@GALLERY
def test_pictures_fit_a_page(function):
    """Not wider than 800 pixels, described for those who do not see it."""
    shown = function(course_lib)
    if isinstance(shown, Picture):
        assert "<script" not in shown.html
    if function in (gallery_programs.a_log_of_events, gallery_programs.only_some_events):
        assert shown.html.count("<tr") == 1 + len(shown)
    drawn = [base64.b64decode(data).decode() for data in DATA.findall(shown.html)]
    if function in gallery_programs.WORDS_ALONE:
        assert not drawn and len(shown.html) > len(shown.text) > 100
        return
    if not drawn and layout.layout_engine()[0] == "text":
        pytest.skip("no layout engine here: " + layout.layout_engine()[1])

    assert drawn and len(drawn) == shown.html.count('<img alt="')
    widths = [re.search(r'<svg [^>]*width="([\d.]+)pt"', svg)[1] for svg in drawn]
    assert max(map(float, widths)) <= layout.WIDEST


def test_what_the_gallery_shows():
    """The facts that no other drawing tool shows, each in one of the pictures."""
    text = {function: function(course_lib).text for _, function in gallery_programs.GALLERY}
    shown = {
        gallery_programs.tensor_twice: ["saved other = x", "saved self = x"],
        gallery_programs.after_backward: ["FREED", "retained grad: [1., 1.]", "grad: [2.718, 7.389]"],
        gallery_programs.stale_input: ["saved other = x: v0, now v1, STALE", "saved result = #2: v0, now v0"],
        gallery_programs.stale_after_the_failing_backward: ["other = x: v0, now v1, STALE", "saved result: FREED"],
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
        gallery_programs.two_hundred_layers: ["2 to 396 -> 0\n      198 alike, nodes "],
        gallery_programs.before_and_after_a_write: ["y.grad_fn: ExpBackward0 -> MulBackward0", "now STALE"],
        gallery_programs.an_error_explained: ["HERE marks saved result = y of SqrtBackward0", "Read lesson 07"],
    }
    missing = [(f.__name__, words) for f, all_words in shown.items() for words in all_words if words not in text[f]]

    assert missing == []


PLACE = re.compile(r"[\w.<>-]+ line \d+")  # a log names the lines of the program that made it


def test_cells_show_what_the_functions_return():
    """The gallery as a notebook: its cells, run one after the other in one namespace, show the same words."""
    names = {}
    exec(compile(gallery_programs.IMPORTS + "\n" + gallery_programs.MODEL, "<cell>", "exec"), names)
    for title, function in gallery_programs.GALLERY:
        body = ast.parse(gallery_programs.code_of(function))
        last = ast.Expression(body.body.pop().value)
        exec(compile(body, "<cell>", "exec"), names)
        shown = eval(compile(last, "<cell>", "eval"), names)

        assert PLACE.sub("PLACE", shown.text) == PLACE.sub("PLACE", function(course_lib).text), title


def test_each_symptom_leads_to_a_picture():
    """The table at the top links to headings that exist, and every chapter begins with a picture of the gallery."""
    titles = {title for title, _ in gallery_programs.GALLERY}
    source = gallery_programs.notebook_source()

    assert {title for _, _, title in gallery_programs.SYMPTOMS} <= titles
    assert set(gallery_programs.CHAPTERS) <= titles
    assert source.count("# ### ") == len(titles) and source.count("\n# ## ") == len(gallery_programs.CHAPTERS)


def test_every_option_is_shown():
    """Each option of an instrument stands in a cell of the gallery; `names` means the same to all."""
    source = gallery_programs.notebook_source()
    options = {draw: ("names", "detail", "open"), step: ("gradient",), watch: ("names",), ledger: ("leaves",)}
    for instrument, names in options.items():
        for name in names:
            assert re.search(rf"\b{instrument.__name__}\([^\n]*\b{name}=", source), f"{instrument.__name__}({name}=…)"


def test_help_tells_parameters_result_and_limits():
    """help(draw), and of the others: what each parameter means, what comes back, and what is not seen."""
    for instrument in (draw, step, watch, ledger, compare, explain):
        text = inspect.getdoc(instrument)
        assert "Returns" in text and "Parameters" in text, instrument.__name__
        assert "Limits" in text or instrument is compare
        for name in inspect.signature(instrument).parameters:
            assert name == "nothing" or name in text, f"{instrument.__name__}: {name}"


def test_the_notebook_is_made_of_these_programs():
    """notebooks/src/90_gallery.py is what this data gives: run `python tests/teach/gallery_programs.py` otherwise."""
    assert gallery_programs.SOURCE.read_text(encoding="utf-8") == gallery_programs.notebook_source()


@GALLERY
def test_each_picture_says_what_to_notice(function):
    """A sentence or more, of its own, in the cell above the picture."""
    words = gallery_programs.notice(function)

    assert 8 <= len(words.split()) <= 60 and words.endswith(".")


def test_counts_of_the_diamond():
    """The stepped diamond counts 2, 1, 0 at the node where its two branches meet."""
    text = gallery_programs.a_diamond_step_by_step(course_lib).text

    assert re.findall(r"to 1 SinBackward0: (\d→\d)", text) == ["2→1", "1→0"]
    assert "  1 SinBackward0: waits for 2\n" in text
