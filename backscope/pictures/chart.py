"""`chart`: lines over numbers, `contour`: paths in a valley, `grids`: tables, `pixels`: grey images; with their text.

    chart({"loss": {"ours": {0: 4.0, 1: 1.2}}}, across="step", up="loss")
    chart({"share": {"ours": {1: Fraction(1, 3), 2: Fraction(2, 3)}}}, across="sample", up="share", bars=True)
    contour(lambda x, y: x**2 + 9 * y**2, {"SGD": [(3.0, 1.0), (2.0, -0.5)]}, across="x", up="y")
    grids(["weights", [[10, 1]], "@", "Jacobian", [[3, 2], [1, 1]], "=", "gradients", [[31, 21]]])
    pixels(["a corner", [[1.0, 1.0], [1.0, 0.0]]])

Lessons use them (03, 05, 10) where a drawing says more than a printed table. The text of each is what it shows: it is
what a test compares, and what is read where there is no picture. Without matplotlib the text is all there is.
"""

import html
import io
import logging
import re
import sys
import textwrap
from fractions import Fraction

import numpy as np

from backscope.pictures.style import FONT, LIGHT, PALES, SERIES, WIDEST, Page, as_image, in_short, with_dark_colours

if sys.platform == "emscripten":  # there each kernel is a new machine, whose fonts matplotlib looks for anew
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)

WIDTH = 7.5  # inches: the column
EDGE = 8 / 72  # inches: the notebook moves a picture to the left by its edge, and what stands there is cut off
MARKS = ("o-", "s--", "^:", "D-.", "v-", "x--")  # the second cue
HATCHES = ("", "//", "..", "xx", "--", "||")  # and that of bars


def chart(panels, across, up, log=False, numbers=False, bars=False) -> "Figure":
    """Draw lines in panels: {title: {label: {x: y}}}. `across` and `up` name the axes; log: both are logarithmic.
    Two points of one height are a level to compare with: a thin line without marks.

    numbers: each point's number stands beside it, the axis across has its ticks where the points are, and a line
    whose points are all of one height is drawn thin, without marks.
    bars: bars from 0 in place of lines, side by side, each with its number.
    Raises ValueError for panels without a single point.
    """
    if not panels or not all(lines and all(lines.values()) for lines in panels.values()):
        raise ValueError("chart() wants {title: {label: {x: y}}}, with at least one point in each line.")

    shared = len(panels) > 1 and len({tuple(lines) for lines in panels.values()}) == 1  # one legend does for all

    def paint(figure):
        figure.get_layout_engine().set(w_pad=EDGE)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (title, lines) in zip(axes, panels.items(), strict=True):
            if bars:
                stand_bars(axis, lines)
            for (label, points), mark, colour in zip(() if bars else lines.items(), MARKS, SERIES, strict=False):
                if len(set(points.values())) == 1 and (numbers or len(points) == 2):
                    mark = "--"
                axis.plot(list(points), list(points.values()), mark, color=colour, label=label, markersize=5)
            axis.set(title=title, xlabel=across, **({"xscale": "log", "yscale": "log"} if log else {}))
            if log:
                plain_ticks(axis, lines)
            elif not bars and all(isinstance(x, int) for points in lines.values() for x in points):
                axis.xaxis.get_major_locator().set_params(integer=True)  # no epoch 2.5
            if numbers:
                number_points(axis, lines)
                if not log and all(isinstance(y, int) for points in lines.values() for y in points.values()):
                    axis.yaxis.get_major_locator().set_params(integer=True)  # no version 0.5
            axis.spines[["top", "right"]].set_visible(False)
            beside = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if len(panels) == 1 else {}
            if not shared:
                axis.legend(frameon=False, fontsize=9, **beside)  # beside a single panel, where no line can run
        if shared:  # below them, for the same reason
            known = axes[0].get_legend_handles_labels()
            figure.legend(*known, loc="outside lower center", ncols=min(4, len(known[1])), frameon=False, fontsize=9)
        axes[0].set_ylabel(up)

    return Figure(chart_text(panels, across, up), paint, (WIDTH, 3.2))


def stand_bars(axis, lines) -> None:
    """Draw each point as a bar from 0 with its number, those of one place side by side; ticks across at the points."""
    wide = 0.8 / len(lines)
    for i, ((label, points), colour, hatch) in enumerate(zip(lines.items(), SERIES, HATCHES, strict=False)):
        places = [x + (i - (len(lines) - 1) / 2) * wide for x in points]
        stands = axis.bar(places, list(map(float, points.values())), wide, color=colour, hatch=hatch, label=label)
        axis.bar_label(stands, list(map(number, points.values())), padding=2)
    axis.set_xticks(sorted({x for points in lines.values() for x in points}))
    axis.margins(y=0.12)


def contour(height, paths, across, up) -> "Figure":
    """Paths over the lines of equal height of height(x, y), one panel each: {title: [(x, y), (x, y), …]}.

    `height` is called with NumPy arrays. A cross marks the lowest point that the panel shows.
    Raises ValueError for a path without a point.
    """
    if not paths or not all(map(len, paths.values())):
        raise ValueError("contour() wants {title: [(x, y), …]}, with at least one point in each path.")
    points = np.array([point for path in paths.values() for point in path], dtype=float)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.maximum(0.1 * (high - low), 1e-9) + [0.15 * (high - low)[0], 0]  # so that the lowest point has room
    x, y = (np.linspace(a, b, 241) for a, b in zip(low - margin, high + margin, strict=True))
    land = height(*np.meshgrid(x, y))
    lowest = np.unravel_index(land.argmin(), land.shape)
    top = max(float(height(*point)) for point in points)
    levels = land.min() + (top - land.min()) * (np.arange(1, 10) / 8) ** 2  # steps of equal length up a bowl

    def paint(figure):
        figure.get_layout_engine().set(w_pad=EDGE)
        axes = figure.subplots(len(paths), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (title, path) in zip(axes, paths.items(), strict=True):
            axis.contour(x, y, land, levels=levels, colors=LIGHT["plain_e"], linewidths=0.8)
            axis.plot(x[lowest[1]], y[lowest[0]], "+", color=LIGHT["error"], markersize=13, markeredgewidth=2.5)
            axis.plot(*zip(*path, strict=True), "o-", color=SERIES[0], markersize=3.5, linewidth=1.3)
            axis.set_title(title)
            axis.set_ylabel(up)
            axis.spines[["top", "right"]].set_visible(False)
        axes[-1].set_xlabel(across)

    text = [f"paths across {across} and up {up}"]
    for title, path in paths.items():
        words = " → ".join(f"({number(round(a, 2) + 0.0)}, {number(round(b, 2) + 0.0)})" for a, b in path)
        text += textwrap.wrap(f"{title}: {words}", 100, initial_indent="  ", subsequent_indent="    ")
    return Figure("\n".join(text), paint, (WIDTH, 0.6 + 1.65 * len(paths)))


def plain_ticks(axis, lines) -> None:
    """1, 10, 100 on logarithmic axes; 1, 2, 5, 10 where they are short; and no "6 × 10¹" in between."""
    for side, values in (
        (axis.xaxis, [x for points in lines.values() for x in points]),
        (axis.yaxis, [y for points in lines.values() for y in points.values()]),
    ):
        if max(values) < 200 * min(values):
            side.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
        side.set_major_formatter(lambda value, _: number(value))
        side.set_minor_formatter(lambda *_: "")


def number_points(axis, lines) -> None:
    """Write each point's number beside it, once where lines meet; ticks across at the points."""
    heights = {}
    for points in lines.values():
        for x, y in points.items():
            heights.setdefault(x, set()).add(y)
    axis.set_xticks(sorted(heights))
    axis.minorticks_off()
    axis.margins(y=0.12)
    for x, ys in heights.items():
        for y in sorted(ys):
            below = len(ys) > 1 and y == min(ys)
            at = {"xytext": (0, -7 if below else 6), "va": "top" if below else "bottom"}
            axis.annotate(number(y), (x, y), textcoords="offset points", ha="center", fontsize=9, **at)


def chart_text(panels, across, up) -> str:
    """Return the points of a chart as a table."""
    lines = []
    for title, each in panels.items():
        xs = sorted({x for points in each.values() for x in points})
        rows = [
            [across, *map(number, xs)],
            *([label, *(number(p[x]) if x in p else "" for x in xs)] for label, p in each.items()),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += [f"{title} ({up})"] + [
            "  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows
        ]
    return "\n".join(lines)


def grids(items, colours="columns") -> "Figure":
    """Tables of numbers side by side: a title and its rows, a sign such as "@" or "=", the next title and its rows …

    colours: "columns" or "rows" gives each of them its own paper, "none" leaves all white; or one of them a table, or
    for a table its own rows of whole numbers: places with one number have one paper, places with None are white.
    """
    each = (colours,) * len(items[::3]) if isinstance(colours, str) else tuple(colours)
    named = {one for one in each if not isinstance(one, list)}
    if len(each) != len(items[::3]) or not named <= {"columns", "rows", "none"}:
        raise ValueError(f'grids(colours=…) is "columns", "rows" or "none", or one for each table, not {colours!r}.')
    tables = [(title, rows) for title, rows in zip(items[::3], items[1::3], strict=True)]
    signs = items[2::3]

    def paint(figure):
        axis = figure.subplots()
        axis.set_aspect("equal")
        axis.axis("off")
        left, tallest = 0.0, max(len(rows) for _, rows in tables)
        for position, (title, rows) in enumerate(tables):
            low = (tallest - len(rows)) / 2
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    way = each[position]
                    at = way[i][j] if isinstance(way, list) else {"columns": j, "rows": i}.get(way)
                    paper = LIGHT["paper"] if at is None else PALES[at % len(PALES)]
                    corner = (left + 1.2 * j, low + len(rows) - 1 - i)
                    axis.add_patch(rectangle(corner, paper))
                    axis.text(corner[0] + 0.6, corner[1] + 0.5, number(value), ha="center", va="center")
            wide = 1.2 * max(map(len, rows))
            axis.text(left + wide / 2, low + len(rows) + 0.25, title, ha="center", va="bottom", fontweight="bold")
            left += wide
            for sign in signs[position : position + 1]:
                size = 14 if len(sign) < 3 else 10
                axis.text(left + room(sign) / 2, tallest / 2, sign, ha="center", va="center", fontsize=size)
                left += room(sign)
        axis.set_xlim(-0.1, left + 0.1)
        axis.set_ylim(-0.1, tallest + 0.9)

    def room(sign):
        return 1.2 if len(sign) < 3 else 0.5 + 0.16 * len(sign)

    def rectangle(corner, paper):
        from matplotlib.patches import Rectangle

        return Rectangle(corner, 1.2, 1.0, facecolor=paper, edgecolor=LIGHT["node_e"])

    wide = sum(1.2 * max(map(len, rows)) for _, rows in tables) + sum(map(room, signs))
    tall = max(len(rows) for _, rows in tables) + 0.9
    return Figure(grids_text(tables, signs), paint, (min(WIDTH, 0.55 * wide + 0.2), 0.55 * tall + 0.2))


def grids_text(tables, signs) -> str:
    """Return the tables in words, one after the other."""
    words = []
    for position, (title, rows) in enumerate(tables):
        words.append(f"{title} [{'; '.join(' '.join(map(number, row)) for row in rows)}]")
        words += signs[position : position + 1]
    return " ".join(words)


def number(value) -> str:
    """Write a number as short as it can be read: no .0, thousands apart; a text and a fraction as they are."""
    if isinstance(value, (str, Fraction)):
        return str(value)
    return f"{int(value):,}" if value == int(value) else f"{value:.4g}"


class Figure:
    """A picture with a text: shown under a cell, printed elsewhere."""

    def __init__(self, text, paint, size):
        self.text, self.paint, self.size = text, paint, size

    def __str__(self):
        return self.text

    __repr__ = __str__

    @property
    def html(self) -> str:
        """The picture, described by its text; the text itself where matplotlib is missing."""
        try:
            svg = svg_of(self.paint, self.size)
        except ImportError:
            return f"<pre>{html.escape(self.text)}</pre>"
        return as_image(svg, in_short(self.text.splitlines()))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


INK = " .:-=+*#%@"  # from white to black


def pixels(items) -> "Pixels":
    """Grey images side by side, at most eight in a row: a title and rows of numbers from 0, white, to 1, black; …"""
    images = [(str(title), rows_of(rows)) for title, rows in zip(items[::2], items[1::2], strict=True)]
    if not images or any(not 0 <= value <= 1 for _, rows in images for row in rows for value in row):
        raise ValueError("pixels() wants [title, rows, title, rows …], with numbers from 0 to 1 in the rows.")

    return Pixels(images)


class Pixels(Figure):
    """Grey images, written as SVG by hand: a few kilobytes for eight of them, and no matplotlib."""

    def __init__(self, images):
        self.text, self.images = pixels_text(images), images

    @property
    def html(self) -> str:
        """The images in rows, described by their text."""
        placed, widest, top = [], 0, 0
        for line in lines_of(self.images):
            left = 10
            for title, rows in line:
                wide = max(len(rows[0]) * SIDE, 7 * len(title))
                placed.append((title, rows, left, top, wide))
                left += wide + 20
            widest, top = max(widest, left - 10), top + max(len(rows) for _, rows in line) * SIDE + 28
        page = Page(widest, top, "")
        for title, rows, left, above, wide in placed:
            page.text(left + wide // 2, above + 15, title)
            x, y = left + (wide - len(rows[0]) * SIDE) // 2, above + 22
            page.add(f'<g transform="translate({x} {y})">{drawn(rows)}</g>')
        return as_image(page.svg(min(1, WIDEST / widest)), in_short(self.text.splitlines()))


SIDE = 10  # of a pixel in the picture
IN_A_ROW = 8  # images


def lines_of(images) -> list:
    """Return the images in rows of about one length."""
    rows = -(-len(images) // IN_A_ROW)
    each = -(-len(images) // rows)
    return [images[first : first + each] for first in range(0, len(images), each)]


def drawn(rows) -> str:
    """Return one image: all pixels of one grey are one shape, and there is a frame around them."""
    shapes = [f'<rect width="{len(rows[0]) * SIDE}" height="{len(rows) * SIDE}" fill="#FFF" stroke="#777"/>']
    for value, places in sorted(places_by_value(rows).items()):
        squares = "".join(f"M{x * SIDE} {y * SIDE}h{SIDE}v{SIDE}h-{SIDE}z" for x, y in places)
        shapes.append(f'<path fill="{grey(value)}" d="{squares}"/>')
    return "".join(shapes)


def grey(value) -> str:
    """Return a colour from white, for 0, to black, for 1."""
    return f"#{round(255 * (1 - value)):02x}" + f"{round(255 * (1 - value)):02x}" * 2


def places_by_value(rows) -> dict:
    """Return {value: places (x, y) of the pixels that have it}, without the white ones."""
    found = {}
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if value > 0:
                found.setdefault(value, []).append((x, y))
    return found


def rows_of(rows) -> list:
    """Rows of numbers as lists, whether they were given as lists or as a tensor."""
    return rows.tolist() if hasattr(rows, "tolist") else rows


def pixels_text(images) -> str:
    """Return the images as letters: the darker a pixel, the fuller its letter."""
    return "\n".join(map(line_of_letters, lines_of(images)))


def line_of_letters(images) -> str:
    """Return one row of images as letters."""
    tall = max(len(rows) for _, rows in images)
    columns = []
    for title, rows in images:
        lines = [title, *("".join(INK[round(value * (len(INK) - 1))] for value in row) for row in rows)]
        wide = max(map(len, lines))
        columns.append([f"{line:<{wide}}" for line in lines + [""] * (tall - len(rows))])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def svg_of(paint, size) -> str:
    """Return what `paint(figure)` draws as SVG text, the same on every machine. ImportError without matplotlib."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    ink, soft = LIGHT["ink"], LIGHT["ink2"]
    settings = {
        "svg.hashsalt": "course", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 10,
        "hatch.linewidth": 0.6, "axes.titleweight": "bold", "axes.titlesize": 10, "text.color": ink,
        "axes.labelcolor": ink, "axes.titlecolor": ink, "axes.edgecolor": soft, "xtick.color": soft,
        "ytick.color": soft, "xtick.labelcolor": ink, "ytick.labelcolor": ink, "axes.facecolor": LIGHT["paper"],
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        figure = Canvas(figsize=size, layout="constrained", facecolor=LIGHT["paper"])
        figure.get_layout_engine().set(w_pad=0.1)  # inches: a reader's font may be higher than the measured one
        FigureCanvasSVG(figure)
        paint(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return cleaned(out.getvalue())


def cleaned(svg) -> str:
    """Keep the drawing alone, with fonts that every system has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("'DejaVu Sans'", FONT.replace("'", "")).strip() + "\n"
    return with_dark_colours(svg)
