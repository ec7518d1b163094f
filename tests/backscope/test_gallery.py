"""The gallery: every picture fits a page, every symptom leads to one, every option is shown and explained."""

import base64
import inspect
import re

import pytest

from backscope import compare, draw, explain, film, ledger, step, watch
from backscope.pictures.legend import SIGNS
from tests.backscope import gallery
from tests.backscope.refusals import raises

DATA = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
WORDS_ALONE = {  # a table or a list
    "What happened, line by line", "only: some kinds of events", "Who holds what, as a table", "A message explained",
    "Which line wrote", "What is in each .grad",
}  # fmt: skip


@pytest.mark.parametrize("title", gallery.PICTURES)
def test_pictures_fit_a_page(title):
    """Not wider than 800 pixels, described for those who do not see it; above it a sentence on what to notice."""
    shown = gallery.picture(title)
    drawn = [base64.b64decode(data).decode() for data in DATA.findall(shown.html)]

    assert "Notice: " in gallery.WORDS[title]
    if title in WORDS_ALONE:
        assert not drawn and len(shown.html) > len(shown.text) > 100
        return
    assert drawn and len(drawn) == shown.html.count("<img ")
    widths = [re.search(r'<svg [^>]*width="([\d.]+)(pt)?"', svg).groups() for svg in drawn]
    assert max(float(width) * (4 / 3 if points else 1) for width, points in widths) <= 800


def test_each_symptom_leads_to_a_picture():
    """The table at the top links to headings that exist."""
    linked = re.findall(r"\]\(#(.+?)\) \|", gallery.SOURCE)

    assert len(linked) > 10
    assert set(linked) <= {title.replace(" ", "-") for title in gallery.PICTURES}


def test_every_option_is_shown():
    """Each option of an instrument stands in a cell of the gallery; `names` means the same to all."""
    options = {draw: ("names", "detail", "open", "slopes"), step: ("gradient",), watch: ("names",), ledger: ("leaves",)}
    options[film] = "enter", "nodes"
    for instrument, names in options.items():
        for name in names:
            call = rf"\b{instrument.__name__}\((?:[^\n]*|\n[^#]*)\b{name}="
            assert re.search(call, gallery.SOURCE), (instrument, name)


def test_help_tells_parameters_result_and_limits():
    """help(draw), and of the others: what each parameter means, what comes back, and what is not seen."""
    for instrument in (draw, step, film, watch, ledger, compare, explain):
        text = inspect.getdoc(instrument)
        assert "Returns" in text and "Parameters" in text, instrument.__name__
        assert "Limits" in text or instrument is compare
        for name in inspect.signature(instrument).parameters:
            assert name == "nothing" or name in text, f"{instrument.__name__}: {name}"


def test_the_legend_grows_with_the_lessons():
    """Seven signs at most at a time; each stands in the text and in the picture, and in all of them once."""
    everything = draw.legend("all")
    said = []
    for lesson in sorted({sign[0] for sign in SIGNS}):
        shown = draw.legend(lesson)
        said += [(name, words) for _, name, words, _ in shown.signs]

        assert 1 <= len(shown.signs) <= 7
        assert all(name in str(shown) and f">{name}</text>" in shown.svg for _, name, _, _ in shown.signs)
    assert said == [(name, words) for _, name, words, _ in everything.signs]
    assert str(draw.legend()) == str(draw.legend(0))
    raises('signs come with lessons 0, 1, 2, .*; draw.legend."all". shows all', lambda: draw.legend(99), ValueError)
