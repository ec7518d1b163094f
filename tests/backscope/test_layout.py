"""Where boxes and arrows stand in a picture, what the SVG holds, and that every word of it can be read."""

import functools
import html
import re
import xml.etree.ElementTree as xml

import pytest

import course_lib
from backscope.pictures import cards, style
from backscope.pictures.draw import draw
from backscope.pictures.drawing import Drawing
from tests.backscope import gallery

PROGRAMS = pytest.mark.parametrize("title", gallery.DRAWN)
BOTH_WAYS = pytest.mark.parametrize("lies", [True, False], ids=["lies", "stands"])


@functools.cache
def drawing_of(title, lies, detail=1):
    """The placed drawing of a picture of the gallery: looked at by many tests, changed by none."""
    return Drawing(gallery.picture(title)._graph, detail, lies)


def test_every_word_can_be_read():
    """Words have a contrast of at least 4.5 with what they stand on, in the light and in the dark; lines at least 3."""
    for scheme in (style.LIGHT, style.DARK):
        for words, ground in style.READ_ON:
            assert style.contrast(scheme[words], scheme[ground]) >= 4.5, (words, ground)
        for colour, *_ in style.ARROWS.values():
            assert colour == "run" or style.contrast(scheme[colour], scheme["paper"]) >= 3, colour
        for name, (_, edge) in style.SHAPES.items():
            quiet = name in ("done", "rule", "paper", "part")  # what has run, and rules of tables
            assert quiet or style.contrast(scheme[edge], scheme["paper"]) >= 3, name


def test_orange_is_for_stale_alone():
    """No other kind of box or arrow has the colour of STALE."""
    assert {name for name, colours in style.SHAPES.items() if {"stale", "stale_e"} & set(colours)} == {"stale"}
    assert {name for name, (colour, *_) in style.ARROWS.items() if colour == "stale_e"} == {"stale"}


@BOTH_WAYS
@PROGRAMS
def test_no_boxes_overlap(title, lies):
    """Every box has its own place."""
    boxes = drawing_of(title, lies).plan.boxes
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a.rear <= b.front or b.rear <= a.front or a.far <= b.near or b.far <= a.near

            assert apart, (a.card.words, b.card.words)


@BOTH_WAYS
@PROGRAMS
def test_words_fit_their_boxes(title, lies):
    """Every line is narrower than what it stands in, with room at both ends; drawers lie inside, below each other."""
    for box in drawing_of(title, lies, detail=2).plan.boxes:
        card = box.card
        width, height = card.head_size()
        places = card.places(box.width, box.height, lies)

        assert width <= box.width + 0.1 and height <= box.height + 0.1, card.words
        assert max(map(style.width_of_spans, card.lines)) <= width - 2 * cards.SIDE + 0.1, card.words
        for drawer, (x, y, wide, high) in zip(card.drawers, places, strict=True):
            assert 0 < x and x + wide < box.width and 0 < y and y + high < box.height, card.words
            assert max(map(style.width_of_spans, drawer.lines)) <= wide - 6, card.words
        for (_, y, _, high), (_, below, _, _) in zip(places, places[1:], strict=False):
            assert y + high < below


@BOTH_WAYS
@PROGRAMS
def test_arrows_keep_off_boxes(title, lies):
    """No arrow passes through a box that it does not belong to."""
    plan = drawing_of(title, lies).plan
    for route in plan.routes:
        path = route.points
        for (t1, c1), (t2, c2) in zip(path, path[1:], strict=False):
            for box in plan.boxes:
                if box is route.tail or box is route.head:
                    continue
                inside = (
                    max(t1, t2) > box.front + 1
                    and min(t1, t2) < box.rear - 1
                    and max(c1, c2) > box.near + 1
                    and min(c1, c2) < box.far - 1
                )

                assert not inside or route.curved, (route.kind, route.tail.card.words, box.card.words)


@BOTH_WAYS
@PROGRAMS
def test_arrows_begin_and_end_at_their_boxes(title, lies):
    """An arrow's ends lie on the edges of the two boxes it joins; an arrow to nothing ends in the open."""
    for route in drawing_of(title, lies).plan.routes:
        ends = [(route.points[0], route.tail)]
        if route.kind == "nothing":
            assert route.points[-1][1] < route.tail.near
        else:
            ends.append((route.points[-1], route.head))
        for (t, c), box in ends:
            assert box.front - 0.1 <= t <= box.rear + 0.1, (route.kind, box.card.words)
            assert box.near - 0.1 <= c <= box.far + 0.1, (route.kind, box.card.words)
            inside = route.kind == "stale" and box is route.tail  # it begins at a drawer
            on_edge = inside or 0.1 > min(abs(t - box.front), abs(t - box.rear), abs(c - box.near), abs(c - box.far))
            assert on_edge, (route.kind, box.card.words)


@BOTH_WAYS
@PROGRAMS
def test_labels_of_arrows_are_free(title, lies):
    """No line runs through the number beside an arrow, no box covers it, and no two of them lie on each other."""
    drawing = drawing_of(title, lies)
    labelled = [route for route in drawing.plan.routes if route.label and route.label_at]
    spots = [label_spot(drawing, route) for route in labelled]
    for route, spot in zip(labelled, spots, strict=True):
        for box in drawing.plan.boxes:
            assert not meet(spot, corners(drawing, (box.front, box.near), (box.rear, box.far))), (spot, box.card.words)
        for other in drawing.plan.routes:
            path = [drawing.turn(*point) for point in other.points]
            for (x1, y1), (x2, y2) in zip(path, path[1:], strict=False):
                line = min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)
                assert other.curved or not meet(spot, line), (route.label, route.tail.card.words, other.tail.card.words)
    for k, one in enumerate(spots):
        assert not any(meet(one, other) for other in spots[:k])


def label_spot(drawing, route):
    """The rectangle of an arrow's label: its digits are as high as two thirds of the font."""
    x, y = drawing.turn(*route.label_at)
    half = style.width_of(route.label, "small") / 2
    return x - half, y - 4, x + half, y + 4


def corners(drawing, one, other):
    """Two points of the plan as a rectangle of the page."""
    (x1, y1), (x2, y2) = drawing.turn(*one), drawing.turn(*other)
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def meet(a, b):
    """True when two rectangles have more than an edge in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def words_in(svg):
    """Every line of words in an SVG."""
    lines = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    return {" ".join(html.unescape(words).split()) for line in lines for words in re.split(r"<[^>]*>", line)}


@PROGRAMS
def test_svg_has_every_word_and_fits_the_column(title):
    """Each word, at most 720 by 620 pixels, on its own paper, with dark colours, a line for each shape."""
    for lies in (True, False):
        drawing = drawing_of(title, lies)

        assert {" ".join(words.split()) for words in drawing.words()} <= words_in(drawing.svg().svg())
    svg = gallery.picture(title).svg
    root = xml.fromstring(svg)

    assert float(root.get("width")) <= style.WIDEST + 0.1 and float(root.get("height")) <= style.HIGHEST + 0.1
    assert "<!--" not in svg and "<title>" not in svg and "<?xml" not in svg
    assert set(re.findall(r'font-family="([^"]*)"', svg)) == {style.FONT}
    assert svg.count("prefers-color-scheme:dark") == 1 and svg.endswith("</style>\n</svg>\n")
    assert max(map(len, svg.splitlines())) < 600


def test_stale_is_orange_and_leads_to_its_tensor():
    """STALE has its colour, a thick border, the word and a line; a picture without stale tensors has none of them."""
    stale = gallery.picture("A stale saved tensor, before backward").svg
    fine = gallery.picture("A diamond").svg

    assert 'class="stale"' in stale and 'class="a-stale"' in stale and ">STALE</tspan>" in stale.replace(" dx", "")
    assert style.LIGHT["stale_e"] not in fine and "STALE" not in fine


def test_an_arrow_to_nothing_ends_in_a_ring():
    """One ring for each operand without a gradient, with the operand's number; past three of them one for all."""
    w = course_lib.tensor([1.0], requires_grad=True)
    two, many = draw(w * 3 + 1, detail=0), draw(course_lib.cat([course_lib.ones(1)] * 4 + [w]), detail=0)
    digits = re.findall(r'<text class="t-ink2"[^>]*font-size="11" x="\S+" y="\S+">(\d)</text>', two.svg)

    assert two.svg.count("<circle") == 2 and sorted(digits) == ["0", "0", "1", "1"]
    assert many.svg.count("<circle") == 1 and ">4×</text>" in many.svg
