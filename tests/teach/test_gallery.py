"""The gallery: every picture fits a page, every symptom leads to one, every option is shown and explained."""

import base64
import inspect
import re

import pytest

from backscope import compare, draw, explain, ledger, step, watch
from backscope.pictures import dotsource, layout
from backscope.pictures.legend import SAMPLES
from backscope.stepping import step_picture
from tests.teach import gallery

DATA = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
WORDS_ALONE = {  # a table or a list
    "What happened, line by line", "only: some kinds of events", "Who holds what, as a table", "A message explained",
    "Which line wrote",
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
    if not drawn and layout.layout_engine()[0] == "text":
        pytest.skip("no layout engine here: " + layout.layout_engine()[1])
    assert drawn and len(drawn) == shown.html.count('<img alt="')
    assert max(float(re.search(r'<svg [^>]*width="([\d.]+)pt"', svg)[1]) for svg in drawn) <= layout.WIDEST


def test_each_symptom_leads_to_a_picture():
    """The table at the top links to headings that exist."""
    linked = re.findall(r"\]\(#(.+?)\) \|", gallery.SOURCE)

    assert len(linked) > 10
    assert set(linked) <= {title.replace(" ", "-") for title in gallery.PICTURES}


def test_every_option_is_shown():
    """Each option of an instrument stands in a cell of the gallery; `names` means the same to all."""
    options = {draw: ("names", "detail", "open"), step: ("gradient",), watch: ("names",), ledger: ("leaves",)}
    for instrument, names in options.items():
        for name in names:
            assert re.search(rf"\b{instrument.__name__}\([^\n]*\b{name}=", gallery.SOURCE), (instrument, name)


def test_help_tells_parameters_result_and_limits():
    """help(draw), and of the others: what each parameter means, what comes back, and what is not seen."""
    for instrument in (draw, step, watch, ledger, compare, explain):
        text = inspect.getdoc(instrument)
        assert "Returns" in text and "Parameters" in text, instrument.__name__
        assert "Limits" in text or instrument is compare
        for name in inspect.signature(instrument).parameters:
            assert name == "nothing" or name in text, f"{instrument.__name__}: {name}"


def test_the_legend_is_a_table_and_a_text():
    """Every sample stands in both, in the same order."""
    shown = draw.legend()._repr_mimebundle_()

    assert len(SAMPLES) == len(shown["text/plain"].splitlines())
    for _, name, words in SAMPLES:
        assert name in shown["text/html"]
        assert words in shown["text/plain"]


def test_each_colour_is_one_of_the_pictures():
    """No colour of the samples is missing from the pictures' own."""
    ours = {value for value in vars(dotsource).values() if isinstance(value, str) and value.startswith("#")}
    ours |= set(re.findall("#[0-9A-F]{6}", step_picture.STYLE))
    used = set(re.findall("#[0-9A-F]{6}", "".join(sample for sample, _, _ in SAMPLES)))

    assert used <= ours | {"#FFFFFF"}
