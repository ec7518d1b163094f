"""Charts and grids: what they say, what they draw, and what they refuse."""

import base64
import re
import sys

import pytest

from course_lib.teach import chart, grids

PANELS = {"one": {"ours": {1: 10, 4: 2000}, "theirs": {1: 2.5}}, "two": {"ours": {1: 3}}}


def drawing(figure):
    """The SVG inside of what a notebook is shown."""
    (data,) = re.findall('base64,([^"]+)', figure.html)
    return base64.b64decode(data).decode()


def test_the_text_of_a_chart_is_its_table():
    """Every point stands in the text, and a line without a point at an x has a gap there."""
    assert (
        """one (cost)
       n   1      4
    ours  10  2,000
  theirs 2.5       """.split()
        == str(chart({"one": PANELS["one"]}, "n", "cost")).split()
    )


def test_a_chart_is_drawn_with_its_labels_and_the_same_each_time():
    """Titles, axes and labels are in the drawing; two drawings do not differ in a byte."""
    figure = chart(PANELS, across="n", up="cost", log=True)
    svg = drawing(figure)

    assert all(f">{word}<" in svg for word in ("one", "two", "ours", "theirs", "n", "cost"))
    assert svg == drawing(chart(PANELS, across="n", up="cost", log=True))
    assert {"text/plain", "text/html"} == set(figure._repr_mimebundle_())


def test_grids_show_every_number_and_sign():
    """Tables side by side, in the text and in the drawing."""
    figure = grids(["k", [[10, 1]], "@", "J", [[3, 2], [1, 1.5]], "=", "g", [[31, 21.5]]])

    assert "k [10 1] @ J [3 2; 1 1.5] = g [31 21.5]" == str(figure)
    svg = drawing(figure)
    assert all(f">{word}<" in svg for word in ("10", "1.5", "21.5", "@", "=", "J"))


def test_without_matplotlib_the_text_is_shown(monkeypatch):
    """Nothing fails where matplotlib is missing."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert chart(PANELS, "n", "cost").html.startswith("<pre>one (cost)")


def test_nothing_to_draw_is_refused():
    """A chart without points and a colouring that does not exist."""
    with pytest.raises(ValueError, match="at least one point"):
        chart({"one": {"ours": {}}}, "n", "cost")
    with pytest.raises(ValueError, match="'columns', 'rows' or 'none'|columns"):
        grids(["k", [[1]]], colours="red")
