"""The picture that lesson 08 has of its own: a memory, and how views walk over it."""

from itertools import product

from backscope.pictures.style import Page, as_image

CELL, LANE, PANEL, EDGE = 42, 21, 345, 12  # pixels: a number, a walk, a panel, around a panel
LEFT = 58  # of a panel: room for "row 0"
COLOURS = ("tensor_e", "run_e", "acc_e")  # of rows


def walks(memory, views):
    """The memory as a strip of cells, and each view as walks over it: {what was written: the view}."""
    return Walks(memory.reshape(-1).tolist(), views)


def rows_of(view):
    """For each row of a view, the places in memory that it reads, from its strides and its offset."""
    shape, strides = tuple(view.shape), view.stride()
    steps = [[i * stride for i in range(size)] for size, stride in zip(shape, strides, strict=True)]
    first = view.storage_offset()
    return [[first + sum(at) + step for step in steps[-1]] for at in product(*steps[:-1])]


class Walks:
    """The strip, once for each view; a picture with a text."""

    def __init__(self, numbers, views):
        self.numbers = numbers
        self.views = {name: (rows_of(view), words_of(view)) for name, view in views.items()}

    @property
    def text(self):
        """The walks in words."""
        lines = [f"memory: {' '.join(f'{number:g}' for number in self.numbers)}, at the places 0 to 5"]
        for name, (rows, words) in self.views.items():
            lines.append(f"{name}: {words}")
            lines += [f"  row {k} walks over {' '.join(map(str, places))}" for k, places in enumerate(rows)]
        return "\n".join(lines)

    __str__ = __repr__ = lambda self: self.text

    @property
    def html(self):
        """The strips, two beside each other."""
        each = list(self.views.items())
        pairs = [each[first : first + 2] for first in range(0, len(each), 2)]
        heights = [max(len(rows) for _, (rows, _) in pair) * LANE + CELL + 86 for pair in pairs]
        page = Page(2 * PANEL + EDGE, sum(heights) + EDGE, self.text.splitlines()[0])
        top = EDGE
        for pair, height in zip(pairs, heights, strict=True):
            for k, (name, (rows, words)) in enumerate(pair):
                self.panel(page, EDGE + k * PANEL, top, height, name, rows, words)
            top += height
        return as_image(page.svg(), self.text[:280])

    def panel(self, page, x, top, height, name, rows, words):
        """One view: its name, its recipe, a lane for each row, and the strip below."""
        page.text(x + 4, top + 16, name, "name", "ink", "start")
        page.text(x + 4, top + 34, words, "value", "ink2", "start")
        strip = top + height - CELL - 28
        for k, places in enumerate(rows):
            y, colour = strip - 14 - (len(rows) - 1 - k) * LANE, COLOURS[k % len(COLOURS)]
            page.text(x + 4, y + 4, f"row {k}", "value", "ink", "start")
            dots = [x + LEFT + (place + 0.5) * CELL for place in places]
            drawn = f'{page.paint(f"w-{colour}", None, colour)} stroke-width="2"'
            page.add(f'<path {drawn} d="M{dots[0]:g} {y}H{dots[-1]:g}"/>')
            for dot in dots[:-1]:
                page.dot(colour, dot, y, 4)
            page.head(f"h-{colour}", colour, (dots[0], y), (dots[-1] + 6, y), 12)
        read = {place for places in rows for place in places}
        for place, number in enumerate(self.numbers):
            left = x + LEFT + place * CELL
            page.rect("tensor" if place in read else "plain", left, strip, CELL, CELL * 0.8, 0)
            page.text(left + CELL / 2, strip + 22, f"{number:g}", "tensor", "tensor_t" if place in read else "ink2")
            page.text(left + CELL / 2, strip + CELL * 0.8 + 15, str(place), "small", "ink2")
        page.text(x + 4, strip + CELL * 0.8 + 15, "place", "small", "ink2", "start")

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def words_of(view):
    """The recipe of a view."""
    return f"shape {tuple(view.shape)} · strides {view.stride()} · offset {view.storage_offset()}"
