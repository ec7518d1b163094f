"""A box of a picture with what stands in it: lines of words, and drawers for what a node has saved.

A card that lies on its side, as pictures do whose time runs down, has its drawers beside its words; else below them.
"""

from dataclasses import dataclass, field

from backscope.pictures.style import TEXTS, height_of, width_of, width_of_spans

SIDE = 10  # from a box's edge to its words
TOP = 7
SHELF = 5  # from a box's edge to its drawers, and between drawers
CORNER = 20  # radius of a tensor's corners, at most


@dataclass
class Drawer:
    """A smaller box inside a card: a saved tensor, or hooks."""

    lines: list  # each a list of (words, style, colour)
    kind: str  # of the box
    marked: bool = False

    @property
    def width(self) -> float:
        return max(map(width_of_spans, self.lines)) + 14

    @property
    def height(self) -> float:
        return sum(map(line_height, self.lines)) + 7

    def write(self, page, x, y, width, height) -> None:
        if self.marked:
            page.halo(x - 3, y - 3, width + 6, height + 6, 7)
        line = {"stale": 2.25}.get(self.kind, 1)
        page.rect(self.kind, x, y, width, height, 5, line, "4 3" if self.kind == "gone" else "")
        write_lines(page, self.lines, x + width / 2, y + (height - sum(map(line_height, self.lines))) / 2)


@dataclass
class Card:
    """The words in a box, and the look of the box."""

    kind: str  # of the box: "node", "acc", "tensor", "plain", …
    lines: list  # each a list of (words, style, colour)
    drawers: list = field(default_factory=list)
    number: str = ""  # in the upper left corner
    double: bool = False  # a leaf's double border
    dashed: bool = False
    marked: bool = False  # amber behind it
    head: float = 0  # where drawers stand beside the words: how wide the words' part is; common to all nodes

    @property
    def pill(self) -> bool:
        return self.kind in ("tensor", "plain", "frozen")

    @property
    def words(self) -> list:
        """Every piece of text in the card."""
        lines = self.lines + [line for drawer in self.drawers for line in drawer.lines]
        return [self.number] * bool(self.number) + [words for line in lines for words, *_ in line]

    def head_size(self) -> tuple:
        """Width and height of the part that holds the words."""
        side = SIDE + (6 if self.pill else 0)
        width = max(map(width_of_spans, self.lines)) + 2 * side
        if self.number:
            first = width_of_spans(self.lines[0])
            width = max(width, first + 2 * (width_of(self.number, "small") + 16))
        height = sum(map(line_height, self.lines)) + 2 * TOP + (0 if self.pill else 2)
        return width, height

    def size(self, lies) -> tuple:
        """Width and height of the whole box."""
        width, height = self.head_size()
        extra = 8 if self.double else 0
        if not self.drawers:
            return max(width, self.head if not lies else 0) + extra, height + extra
        tallest = [drawer.height for drawer in self.drawers]
        stack = sum(tallest) + SHELF * len(tallest)
        widest = max(drawer.width for drawer in self.drawers) + 2 * SHELF + (8 + 2 * SHELF if self.pill else 0)
        if lies or self.pill:
            return max(width, widest) + extra, height + stack + extra
        return max(width, self.head) + widest, max(height, stack + SHELF)

    def places(self, width, height, lies) -> list:
        """Return (x, y, width, height) of each drawer inside a box of this size, from its upper left corner."""
        found = []
        if lies or self.pill:
            side = SHELF + (4 if self.double else 0) + (8 if self.pill else 0)
            y = self.head_size()[1] + (4 if self.double else 0)
            for drawer in self.drawers:
                found.append((side, y, width - 2 * side, drawer.height))
                y += drawer.height + SHELF
            return found
        left = max(self.head_size()[0], self.head)
        y = (height - sum(d.height for d in self.drawers) - SHELF * (len(self.drawers) - 1)) / 2
        for drawer in self.drawers:
            found.append((left, y, width - left - SHELF, drawer.height))
            y += drawer.height + SHELF
        return found

    def drawer_at(self, k, lies) -> tuple:
        """For a line that leaves a drawer: how far along and across the box it begins, and whether it is the last."""
        width, height = self.size(lies)
        x, y, wide, tall = self.places(width, height, lies)[k]
        last = k == len(self.drawers) - 1
        if lies:
            return y + tall / 2, (y + tall), last
        return y + tall / 2, x + wide, last

    def write(self, page, x, y, width, height, lies) -> None:
        """Draw the card into a box at this place."""
        radius = min(height / 2, CORNER) if self.pill else 8
        if self.marked:
            page.halo(x - 5, y - 5, width + 10, height + 10, radius + 4)
        if self.double:
            page.rect("ring_tensor" if self.kind != "plain" else "ring_plain", x, y, width, height, radius)
            x, y, width, height, radius = x + 4, y + 4, width - 8, height - 8, radius - 4
        line = 2.25 if self.kind in ("stale", "run") else 1.25
        page.rect(self.kind, x, y, width, height, radius, line, "4 3" if self.dashed else "")
        if self.number:
            page.text(x + 8, y + 15, self.number, "small", "ink2", "start")
        beside = self.drawers and not lies and not self.pill
        places = self.places(width + 8 * self.double, height + 8 * self.double, lies)
        wide = places[0][0] if beside else width
        tall = sum(map(line_height, self.lines))
        top = y + ((height - tall) / 2 if beside or not self.drawers else TOP + (0 if self.pill else 1))
        write_lines(page, self.lines, x + wide / 2, top)
        inset = 4 if self.double else 0
        for drawer, (left, at, w, h) in zip(self.drawers, places, strict=True):
            drawer.write(page, x - inset + left, y - inset + at, w, h)


def line_height(spans) -> float:
    return max(height_of(style) for _, style, _ in spans)


def write_lines(page, lines, x, top) -> None:
    """Write lines of words below each other, centred."""
    for spans in lines:
        high = line_height(spans)
        size = max(TEXTS[style][0] for _, style, _ in spans)
        page.spans(x, top + high / 2 + size * 0.36, spans)
        top += high
