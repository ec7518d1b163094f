"""The look of every picture: colours in the light and in the dark, type, widths of text, and a page that writes SVG.

    page = Page(300, 80, "A box that says Mul.")
    page.rect("node", 10, 10, 120, 48)
    page.text(70, 40, "Mul", "name")
    page.svg()

What is drawn has a *kind* ("node", "stale", "back"), and a kind has a colour for fill and line. The light colours are
attributes of each shape, so that any viewer shows them; one <style> block at the end holds the dark ones, under
`prefers-color-scheme: dark`. In an <img> that query follows the colour scheme of the page around it, so a picture in
JupyterLab follows JupyterLab's theme. The picture brings its own paper: where a viewer answers the query wrongly it
is a card of the other kind, and never dark words on dark ground.

SVG and HTML are written by hand, here and in all of backscope: NumPy is the one package that its wheel asks for. Words
go through `escape`, `with_code`, or html.escape where they are an attribute.
"""

import base64
import html
import re
import textwrap

LIGHT = {
    "paper": "#FFFFFF", "wash": "#F6F7F9", "edge": "#D9DEE3", "ink": "#1B2228", "ink2": "#56616B", "line": "#3A444C",
    "node": "#F0F2F4", "node_e": "#5F6A73", "plain": "#F7F8F9", "plain_e": "#7C8790",
    "tensor": "#E3EFFA", "tensor_e": "#1F69A8", "tensor_t": "#0F3F69",
    "acc": "#DDF2E8", "acc_e": "#1B7A57", "acc_t": "#0E4A34",
    "stale": "#FDE5DA", "stale_e": "#C2410C", "stale_t": "#8A2E08", "mem_e": "#8E3B86", "mem_t": "#6E2A67",
    "run": "#FFF0CC", "run_e": "#9A6200", "run_t": "#5C3A00", "part": "#F1ECF8",
    "ok": "#1B7A57", "almost": "#9A6200", "notyet": "#1F69A8", "error": "#B3261E", "noted": "#6B46A8",
}  # fmt: skip
DARK = {
    "paper": "#14171A", "wash": "#1D2125", "edge": "#333A41", "ink": "#E6EAED", "ink2": "#9DA8B1", "line": "#B9C3CB",
    "node": "#23282D", "node_e": "#87929B", "plain": "#1B1F23", "plain_e": "#7C8790",
    "tensor": "#12304B", "tensor_e": "#6FB1EA", "tensor_t": "#CFE5F8",
    "acc": "#10372A", "acc_e": "#55C295", "acc_t": "#C9F0DF",
    "stale": "#451D0D", "stale_e": "#FF8A5B", "stale_t": "#FFD9C8", "mem_e": "#D58BCD", "mem_t": "#EBC3E6",
    "run": "#3D2D08", "run_e": "#F0B84A", "run_t": "#FFE7B5", "part": "#241F2E",
    "ok": "#55C295", "almost": "#F0B84A", "notyet": "#6FB1EA", "error": "#FF8A80", "noted": "#BFA2F0",
}  # fmt: skip

# Kind of shape: (fill, line), each the name of a colour, or None. Orange is for STALE and for nothing else.
SHAPES = {
    "paper": ("paper", None), "part": ("part", None), "node": ("node", "node_e"), "folded": ("node", "node_e"),
    "tensor": ("tensor", "tensor_e"), "plain": ("plain", "plain_e"), "frozen": ("paper", "tensor_e"),
    "acc": ("acc", "acc_e"), "stale": ("stale", "stale_e"), "slot": ("paper", "node_e"), "gone": ("paper", "plain_e"),
    "run": ("run", "run_e"), "done": ("paper", "edge"), "fails": ("paper", "error"), "ghost": ("paper", "plain_e"),
    "mem": (None, "mem_e"), "ring_tensor": (None, "tensor_e"), "ring_plain": (None, "plain_e"),
    "rule": (None, "edge"), "behind": ("run", "run_e"),
}  # fmt: skip
# Kind of arrow: (colour, width, dashes, whether it has a head).
ARROWS = {
    "back": ("line", 1.75, "", True), "carry": ("run_e", 2.5, "", True), "nothing": ("line", 1.5, "", False),
    "forward": ("tensor_e", 1.25, "", True), "made": ("tensor_e", 1.25, "1 4", True), "grad": ("acc_e", 1.5, "", True),
    "view": ("mem_e", 1.5, "6 4", True), "own counter": ("mem_e", 1.5, "6 4", False),
    "stale": ("stale_e", 2.25, "", True), "new": ("run", 7, "", False), "quiet": ("node_e", 1.25, "", True),
}  # fmt: skip
# Style of text: (size, weight).
TEXTS = {
    "name": (14, 600), "tensor": (13.5, 600), "text": (13, 400), "value": (11.5, 400), "small": (11, 400),
    "strong": (11.5, 600), "label": (11.5, 600), "news": (13, 600), "pill": (12, 600),
}  # fmt: skip
# What stands on what: pairs of (words, ground) that a reader must be able to read.
READ_ON = (
    ("ink", "paper"), ("ink", "wash"), ("ink2", "paper"), ("ink2", "wash"), ("ink", "node"), ("ink2", "node"),
    ("ink", "plain"), ("ink2", "plain"), ("tensor_t", "tensor"), ("tensor_t", "paper"), ("acc_t", "acc"),
    ("stale_t", "stale"), ("stale_t", "paper"), ("run_t", "run"), ("mem_t", "paper"), ("ink", "part"),
    ("error", "paper"), ("ok", "wash"), ("almost", "wash"), ("notyet", "wash"), ("error", "wash"), ("noted", "wash"),
)  # fmt: skip

FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
WIDEST, HIGHEST = 720, 620  # pixels: what fits the column of a lesson and a screen
MARGIN = 10  # from the edge of the paper to what is drawn
LINE = 1.25  # pixels: how thick lines are that nothing else is said of
ROUND = 8  # radius of corners, of boxes and of arrows
APART = 5  # between words of one line that have different styles
ALT = 300  # letters that a screen reader reads aloud; the whole listing is the output's text

# Widths of Arial's letters in thousandths of the font size, from the space to the tilde.
LETTERS = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
    722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
    278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
]  # fmt: skip
OTHERS = {"·": 278, "×": 584, "−": 584, "–": 556}
WIDER = 1.03  # fonts that stand in for Arial may be a little wider


def text_width(text, size, weight=400) -> float:
    """Measure a line of text in Arial, in pixels."""
    widths = (LETTERS[ord(c) - 32] if 32 <= ord(c) < 127 else OTHERS.get(c, 1000) for c in text)
    return sum(widths) * size / 1000 * (1.06 if weight >= 600 else 1)


def width_of(text, style) -> float:
    """Measure a line of text in one of our styles, with room for a font that stands in for Arial."""
    size, weight = TEXTS[style]
    return text_width(text, size, weight) * WIDER


def width_of_spans(spans) -> float:
    """Measure a line whose words have several styles."""
    return sum(width_of(words, style) for words, style, _ in spans) + APART * (len(spans) - 1)


def height_of(style) -> float:
    """From one line of text to the next."""
    return round(TEXTS[style][0] * 1.28, 1)


def wrapped(text, width, style="text") -> list[str]:
    """Return the lines of a text that is set at most this wide: as few as possible, and of about one length."""
    lines = filled(text, width, style)
    narrower = width
    while len(lines) > 1 and len(again := filled(text, narrower := narrower - 12, style)) == len(lines):
        if max(width_of(line, style) for line in again) > narrower:
            break  # a word that is wider than that
        lines = again
    return lines


def filled(text, width, style) -> list[str]:
    """Return the lines of a text, each as full as can be."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, style) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def contrast(one, other) -> float:
    """Return the contrast of two colours as WCAG 2 counts it, from 1 to 21."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class Page:
    """An SVG in the making: shapes and words in the order in which they are added.

    A compact page has its light colours in the style block, too: for frames, of which a card has many.
    """

    def __init__(self, width, height, title, compact=False):
        self.width, self.height, self.title, self.compact = width, height, title, compact
        self.out, self.light, self.dark = [], {}, {}
        self.rect("paper", 0, 0, width, height, 10, 0)

    def add(self, element) -> None:
        """Put in a finished piece of SVG, for what this class has no word for."""
        self.out.append(element)

    def paint(self, name, fill, line=None) -> str:
        """Return the attributes of a shape in the light; how it looks in the dark goes into the style block."""
        for rules, colours in ((self.light, LIGHT), (self.dark, DARK)):
            rules[name] = f"fill:{colours.get(fill, 'none')}" + (f";stroke:{colours[line]}" if line else "")
        if self.compact:
            return f'class="{name}"'
        return f'class="{name}" fill="{LIGHT.get(fill, "none")}"' + (f' stroke="{LIGHT[line]}"' if line else "")

    def ink(self, style, colour) -> str:
        """Return the attributes of words."""
        size, weight = TEXTS[style]
        paint = self.paint(f"t-{colour}", colour)
        if self.compact:
            self.light[style] = f"font-size:{size:g}px" + (f";font-weight:{weight}" if weight != 400 else "")
            return f'{paint[:-1]} {style}"'
        paint += f' font-size="{size:g}"' if size != TEXTS["text"][0] else ""
        return paint + (f' font-weight="{weight}"' if weight != 400 else "")

    def rect(self, kind, x, y, width, height, radius=ROUND, line=LINE, dashes="") -> None:
        """Draw a box of a kind."""
        fill, edge = SHAPES[kind]
        drawn = f' stroke-width="{line:g}"' if edge and line != LINE else ""
        drawn += f' stroke-dasharray="{dashes}"' if dashes else ""
        place = f'x="{short(x)}" y="{short(y)}" width="{short(width)}" height="{short(height)}" rx="{short(radius)}"'
        self.add(f"<rect {self.paint(kind, fill, edge)} {place}{drawn}/>")

    def halo(self, x, y, width, height, radius) -> None:
        """Draw amber behind a box that is marked."""
        self.rect("behind", x, y, width, height, radius, 1.5)

    def text(self, x, y, words, style="text", colour="ink", anchor="middle") -> None:
        """Write a line of words; `y` is its baseline."""
        at = f' text-anchor="{anchor}"' if anchor != "middle" else ""
        place = f'{self.ink(style, colour)} x="{short(x)}" y="{short(y)}"{at}'
        self.add(f"<text {place}>{escape(words)}</text>")

    def spans(self, x, y, spans, anchor="middle") -> None:
        """Write a line of words in several styles: (words, style, colour) each; `y` is its baseline."""
        if len(spans) == 1:
            self.text(x, y, *spans[0], anchor)
            return
        parts = []
        for k, (words, style, colour) in enumerate(spans):
            apart = f' dx="{APART}"' if k else ""
            parts.append(f"<tspan {self.ink(style, colour)}{apart}>{escape(words)}</tspan>")
        at = f' text-anchor="{anchor}"' if anchor != "middle" else ""
        self.add(f'<text x="{short(x)}" y="{short(y)}"{at}>{"".join(parts)}</text>')

    def arrow(self, kind, points, head=None, curved=False) -> None:
        """Draw a line with straight parts and round corners; its head, if it has one, is at the last point."""
        colour, wide, dashes, has_head = ARROWS[kind]
        has_head = has_head if head is None else head
        name = kind.replace(" ", "-")
        points = without_idle_corners(points)
        tip, size = points[-1], 5 + 2 * wide
        before = (points[-2][0], tip[1]) if curved else points[-2]
        away = min(1.0, 0.8 * size / (distance(before, tip) or 1))
        if has_head:
            points[-1] = tip[0] + (before[0] - tip[0]) * away, tip[1] + (before[1] - tip[1]) * away
        path = swung(points) if curved else rounded(points)
        drawn = f' stroke-width="{wide:g}"' if wide != LINE and not self.compact else ""
        drawn += f' stroke-dasharray="{dashes}" stroke-linecap="round"' if dashes else ""
        self.add(f'<path {self.paint(f"a-{name}", None, colour)} d="{path}"{drawn}/>')
        self.light[f"a-{name}"] += f";stroke-width:{wide:g}px"
        if has_head:
            self.head(name, colour, before, tip, size)

    def head(self, name, colour, before, tip, size) -> None:
        """Draw the head of an arrow that comes from a point."""
        length = distance(before, tip) or 1
        ux, uy = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
        bx, by, wx, wy = tip[0] - ux * size, tip[1] - uy * size, -uy * size * 0.42, ux * size * 0.42
        corners = ((tip[0], tip[1]), (bx + wx, by + wy), (bx - wx, by - wy))
        path = "M" + "L".join(f"{short(x)} {short(y)}" for x, y in corners) + "Z"
        self.add(f'<path {self.paint(f"h-{name}", colour)} d="{path}"/>')

    def ring(self, kind, x, y, radius=3) -> None:
        """Draw a small ring at the end of an arrow to nothing."""
        colour, wide, *_ = ARROWS[kind]
        place = f'cx="{short(x)}" cy="{short(y)}" r="{radius:g}" stroke-width="{wide:g}"'
        self.add(f'<circle {self.paint("a-" + kind, None, colour)} {place}/>')

    def dot(self, colour, x, y, radius=4.5) -> None:
        """Draw a filled dot, in front of a sentence."""
        self.add(f'<circle {self.paint("d-" + colour, colour)} cx="{short(x)}" cy="{short(y)}" r="{radius:g}"/>')

    def pill(self, x, y, words, kind="run", colour="run_t") -> None:
        """Write words in a pill, in the middle of an arrow; `x`, `y` is its middle."""
        wide = pill_width(words)
        self.rect(kind, x - wide / 2, y - 10, wide, 20, 10, 1)
        self.text(x, y + 4.2, words, "pill", colour)

    def svg(self, scale=1) -> str:
        """Return the SVG as text: a line for each shape, the dark colours at the end."""
        light, dark = (
            "".join(f"\n.{name}{{{rule}}}" for name, rule in sorted(rules.items()))
            for rules in (self.light if self.compact else {}, self.dark)
        )
        label = f' aria-label="{html.escape(self.title)}"' if self.title else ""
        size = f'width="{short(self.width * scale)}" height="{short(self.height * scale)}"'
        box = f'viewBox="0 0 {short(self.width)} {short(self.height)}"'
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img"{label}',
            f'     font-family="{FONT}" font-size="{TEXTS["text"][0]}" text-anchor="middle" stroke-width="{LINE}">',
            *self.out,
            f"<style>:root{{color-scheme:light dark}}{light}\n@media (prefers-color-scheme:dark){{{dark}\n}}</style>",
            "</svg>\n",
        ])  # fmt: skip


def pill_width(words) -> float:
    """Measure the pill that holds these words; 0 without words."""
    return width_of(words, "pill") + 16 if words else 0


def short(number) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{round(number, 1):g}"


# --- paths ---------------------------------------------------------------------------------------------------


def without_idle_corners(points) -> list:
    """Return the same path without corners that do not turn, or that are no distance apart."""
    kept = [points[0]]
    for p in points[1:]:
        if abs(p[0] - kept[-1][0]) < 0.5 and abs(p[1] - kept[-1][1]) < 0.5:
            continue
        if len(kept) > 1 and straight(kept[-2], kept[-1], p):
            kept[-1] = p
        else:
            kept.append(p)
    return kept if len(kept) > 1 else [points[0], points[-1]]


def straight(a, b, c) -> bool:
    """Tell whether three points lie on one line."""
    return abs((b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])) < 1e-6


def rounded(points) -> str:
    """Return a path along these points whose corners are round."""
    path = f"M{short(points[0][0])} {short(points[0][1])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(ROUND, distance(before, corner) / 2, distance(corner, after) / 2)
        (ax, ay), (bx, by) = towards(corner, before, radius), towards(corner, after, radius)
        path += f"L{short(ax)} {short(ay)}Q{short(corner[0])} {short(corner[1])} {short(bx)} {short(by)}"
    return path + f"L{short(points[-1][0])} {short(points[-1][1])}"


def swung(points) -> str:
    """Return an S from the first point to the last."""
    (ax, ay), (bx, by) = points[0], points[-1]
    middle = short((ax + bx) / 2)
    return f"M{short(ax)} {short(ay)}C{middle} {short(ay)} {middle} {short(by)} {short(bx)} {short(by)}"


def distance(a, b) -> float:
    """Measure how far apart two points are."""
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def towards(a, b, length) -> tuple:
    """Return the point at some distance from a on the way to b."""
    whole = distance(a, b) or 1
    return a[0] + (b[0] - a[0]) * length / whole, a[1] + (b[1] - a[1]) * length / whole


# --- drawings made elsewhere ---------------------------------------------------------------------------------

SERIES = tuple(LIGHT[name] for name in ("tensor_e", "run_e", "acc_e", "mem_e", "ink2", "noted"))  # of lines and bars
PALES = tuple(LIGHT[name] for name in ("tensor", "run", "acc", "part", "node", "plain"))  # under black words


def with_dark_colours(svg) -> str:
    """Add a style block with the dark colours to an SVG whose colours are ours, in attributes or in styles."""
    rules = []
    for name, light in LIGHT.items():
        for colour in sorted({light, light.lower()}):
            for what in ("fill", "stroke"):
                if f"{what}: {colour}" in svg:
                    rules.append(f"[style*='{what}: {colour}']{{{what}:{DARK[name]}!important}}")
                if f'{what}="{colour}"' in svg:
                    rules.append(f"[{what}='{colour}']{{{what}:{DARK[name]}}}")
    end = svg.rindex("</svg>")
    block = "\n".join(dict.fromkeys(rules))
    style = f"<style>:root{{color-scheme:light dark}}\n@media (prefers-color-scheme:dark){{\n{block}\n}}</style>\n"
    return svg[:end] + style + svg[end:]


# --- HTML ----------------------------------------------------------------------------------------------------


def in_short(sentences) -> str:
    """Return the first of these sentences, as an alt text: what a picture says, for those who cannot see it."""
    kept = ""
    for sentence in sentences:
        if len(kept) + len(sentence) >= ALT:
            break
        kept += " " * bool(kept) + sentence
    return kept or textwrap.shorten(sentences[0], ALT, placeholder="…")


def as_image(svg, alt) -> str:
    """Return an SVG as an <img>: also an untrusted notebook shows that."""
    data = base64.b64encode(svg.encode()).decode()
    style = "max-width:100%;border-radius:10px"
    return f'<img class="bs-picture" alt="{html.escape(alt)}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def escape(words) -> str:
    """Escape words for HTML; not for an attribute, whose quotation marks they could end."""
    return html.escape(words, quote=False)


def with_code(text, look="", quote=False) -> str:
    """Escape words for HTML, and set what stands in backticks as code. look: attributes of <code>.

    Messages and sentences know no other sign of Markdown, so no parser of it is asked for.
    """
    code = f"<code {look}>" if look else "<code>"
    return re.sub(r"`([^`]+)`", rf"{code}\1</code>", html.escape(text, quote=quote))
