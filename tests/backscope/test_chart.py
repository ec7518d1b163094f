"""Charts and grids: what they say, what they draw, and what they refuse."""

import base64
import re
import sys
from fractions import Fraction

import course_lib
from coursekit import chart, contour, grids, pixels
from tests.backscope.refusals import raises

PANELS = {"one": {"ours": {1: 10, 4: 2000}, "theirs": {1: 2.5}}, "two": {"ours": {1: 3}}}


def drawing(figure):
    """The SVG inside of what a notebook is shown."""
    (data,) = re.findall('base64,([^"]+)', figure.html)
    return base64.b64decode(data).decode()


def test_a_chart_is_drawn_with_its_labels_and_the_same_each_time():
    """Titles, axes and labels are in the drawing; two drawings do not differ in a byte."""
    figure = chart(PANELS, across="n", up="cost", log=True)
    svg = drawing(figure)

    assert all(f">{word}<" in svg for word in ("one", "two", "ours", "theirs", "n", "cost"))
    assert svg == drawing(chart(PANELS, across="n", up="cost", log=True))
    assert {"text/plain", "text/html"} == set(figure._repr_mimebundle_())


def test_whole_numbers_have_whole_ticks():
    """No tick stands between two epochs; where numbers are floats, ticks may stand between them."""
    for kind, halves in ((int, False), (float, True)):
        svg = drawing(chart({"one": {"ours": {kind(i): 1 for i in range(1, 21)}}}, across="epoch", up="loss"))
        assert (">2.5<" in svg) == halves
    counter = {"version": {1: 0, 2: 1, 3: 2}}
    assert [True, False] == [">0.5<" in drawing(chart({"h": counter}, "line", "up", numbers=n)) for n in (False, True)]


def test_two_points_of_one_height_are_a_level():
    """They are no data, so they get no marks, neither in the picture nor beside it; points of two heights get both."""
    marks = [
        drawing(chart({"one": {"limit": {0: 1.0, 9: last}}}, across="step", up="loss")).count("#1f69a8;")
        for last in (1.0, 2.0)
    ]
    assert marks[0] < marks[1]


def test_bars_stand_side_by_side_with_their_numbers():
    """Fractions are written as fractions, in the text and at the bars; a bar for each point and no line."""
    shares = {"whole": {1: Fraction(1, 4), 2: Fraction(1, 4)}, "parts": {1: Fraction(1, 6), 2: Fraction(1, 2)}}
    figure = chart({"one": shares}, across="sample", up="slope", bars=True)
    svg = drawing(figure)

    assert str(figure).split()[-6:] == ["whole", "1/4", "1/4", "parts", "1/6", "1/2"]
    assert [svg.count(f">{word}<") for word in ("1/4", "1/6", "1/2", "whole", "parts")] == [2, 1, 1, 1, 1]
    assert svg == drawing(figure)


def test_a_contour_has_a_panel_for_each_path():
    """Points stand in the text as they were given, and each panel has the lines of equal height."""
    paths = {"to and fro": [(3.0, 1.0), (2.0, -0.5)], "straight": [(3.0, 1.0), (0.0, 0.0)]}
    figure = contour(lambda x, y: x**2 + 9 * y**2, paths, across="x", up="y")

    assert str(figure).splitlines()[1:] == ["  to and fro: (3, 1) → (2, -0.5)", "  straight: (3, 1) → (0, 0)"]
    svg = drawing(figure)
    assert all(f">{word}<" in svg for word in ("to and fro", "straight", "x", "y"))
    assert svg.count("QuadContourSet") == 2 and svg == drawing(figure)


def test_grids_show_every_number_and_sign():
    """Tables side by side, in the text and in the drawing."""
    figure = grids(["k", [[10, 1]], "@", "J", [[3, 2], [1, 1.5]], "=", "g", [[31, 21.5]]])

    assert "k [10 1] @ J [3 2; 1 1.5] = g [31 21.5]" == str(figure)
    svg = drawing(figure)
    assert all(f">{word}<" in svg for word in ("10", "1.5", "21.5", "@", "=", "J"))


def test_a_table_may_say_which_places_have_one_paper():
    """Rows of whole numbers give equal papers to equal numbers."""
    papers = [
        {line.partition("fill: ")[2][:7] for line in drawing(grids(["x", [[1, 2, 3]]], [colours])).splitlines()}
        for colours in ([[0, 1, 2]], "columns", [[0, 0, 1]], [[0, 0, 0]])
    ]

    assert papers[0] == papers[1]
    assert [len(papers[0] - papers[2]), len(papers[2] - papers[3])] == [1, 1]


def test_without_matplotlib_the_text_is_shown(monkeypatch):
    """Nothing fails where matplotlib is missing."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert chart(PANELS, "n", "cost").html.startswith("<pre>one (cost)")


def test_nothing_to_draw_is_refused():
    """A chart without points and a colouring that does not exist."""
    raises("at least one point", lambda: chart({"one": {"ours": {}}}, "n", "cost"), ValueError)
    raises("at least one point in each path", lambda: contour(max, {"nowhere": []}, "x", "y"), ValueError)
    raises("'columns', 'rows' or 'none'|columns", lambda: grids(["k", [[1]]], colours="red"), ValueError)


def test_the_text_of_pixels_shows_the_image():
    """The darker a pixel, the fuller its letter; images stand side by side below their titles, whatever their size."""
    figure = pixels(["a corner", [[1.0, 1.0], [1.0, 0.0]], "3", [[0.5, 0.0, 1.0]]])

    assert str(figure) == "a corner  3\n@@        = @\n@"
    assert drawing(figure).count("<path") == 3 and ">a corner<" in drawing(figure)  # one for each grey of each image
    assert 'fill="#000000" d="M0 0h10v10h-10zM10 0h10v10h-10zM0 10h10v10h-10z"' in drawing(figure)


def test_more_than_eight_images_stand_in_rows():
    """Nine images are two rows, of five and of four, in the text and in the picture."""
    figure = pixels([each for k in range(9) for each in (str(k), [[1.0]])])

    assert str(figure).splitlines() == ["0  1  2  3  4", "@  @  @  @  @", "5  6  7  8", "@  @  @  @"]
    assert [drawing(figure).count(f' y="{top}"') for top in (15, 53)] == [5, 4]


def test_pixels_need_no_matplotlib(monkeypatch):
    """The picture is written by hand, from lists or from a tensor."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert drawing(pixels(["t", course_lib.tensor([[1.0, 0.0]])])) == drawing(pixels(["t", [[1.0, 0.0]]]))


def test_what_is_no_image_is_refused():
    """Nothing at all, and numbers that are no grey."""
    for items in ([], ["dark", [[2.0]]], ["negative", [[-0.1]]]):
        raises("from 0 to 1", lambda items=items: pixels(items), ValueError)
