"""`draw.legend()`: what the boxes, arrows and words of the pictures mean, a few signs a time.

The samples are drawn by what draws the pictures, so they cannot differ from them.
"""

from backscope.pictures.cards import Card, Drawer
from backscope.pictures.style import MARGIN, WIDEST, Page, as_image, wrapped

ROW, MIDDLE = 40, 96  # pixels: from one row to the next; the middle of the samples
NAME, WORDS = 190, 342  # where the sign's name and its words begin


def tensor(name, second="", kind="tensor", double=False) -> Card:
    colour = "ink" if kind == "plain" else "tensor_t"
    small = "ink2" if kind == "plain" else "tensor_t"
    return Card(kind, [[(name, "tensor", colour), *([(second, "small", small)] if second else [])]], double=double)


def drawer(first, second, kind="slot", colour="ink2") -> Drawer:
    bold = "strong" if kind == "stale" else "small"
    return Drawer([[(first, "value", colour if kind == "stale" else "ink"), (second, bold, colour)]], kind)


def node(kind="node", words="Mul", more="Backward0") -> Card:
    return Card(kind, [[("1", "small", "ink2"), (words, "name", "ink"), (more, "small", "ink2")]])


# (first lesson, name, words, sample): a Card, a Drawer, or the kind of an arrow and the digit at its tail.
SIGNS = (
    (0, "tensor", "a value that a name of yours, or the graph, still holds", tensor("y", "12.")),
    (0, "leaf: double border", "a tensor that you made; no operation computed it", tensor("x", "3.", double=True)),
    (0, "node", "what an operation left behind; numbered as they were made", node()),
    (0, "AccumulateGrad", "the node of a leaf: it adds what arrives to the leaf's .grad",
     Card("acc", [[("AccumulateGrad", "news", "acc_t")]])),
    (0, "dark arrow", "the way back, to the node of an operand; the digit says which", ("back", "0")),
    (0, "thin blue arrow", "your computation, from an operand to the result", ("forward", "")),
    (0, "dotted blue arrow", "from a result to its node: its grad_fn", ("made", "")),
    (1, "v0", "a tensor's version: how often its memory was written into", tensor("h", "v0")),
    (2, "grey tensor", "it needs no gradient", tensor("x", "no grad", "plain", double=True)),
    (2, "white tensor", "a parameter that is frozen: it does not require grad", tensor("W", "frozen", "frozen", True)),
    (2, "line with a ring", "an arrow to nothing: this operand wants no gradient", ("nothing", "1")),
    (2, "green arrow", "from an AccumulateGrad to its leaf, whose .grad it fills", ("grad", "")),
    (4, "step: amber", "the node that has just run; the gradients that it sent stand at its arrows",
     Card("run", [[("Mul", "name", "run_t"), ("has just run", "strong", "run_t")]])),
    (6, "drawer", "what the node saved for backward: its version then, and now", drawer("self = x", "v0, now v0")),
    (6, "dashed drawer, FREED", "a backward pass let go of it: a second pass raises there",
     drawer("self", "FREED", "gone")),
    (7, "orange drawer, STALE", "it was written into since it was saved: backward raises there",
     drawer("self = x", "v0, now v1 STALE", "stale", "stale_t")),
    (8, "dashed frame", "tensors that share one memory and one counter", ("frame", "")),
    (8, "dashed purple arrow", "from a base to its view, which looks at its memory", ("view", "")),
    (12, "amber drawer", "hooks, in the box of what they are registered on",
     Drawer([[("1 hook", "value", "run_t")]], "run")),
)  # fmt: skip


class Legend:
    """Some of the signs: shown under a cell, printed elsewhere."""

    def __init__(self, signs, more):
        self.signs, self.more = signs, more

    def __str__(self):
        wide = max(len(name) for _, name, _, _ in self.signs)
        lines = [f"{name:{wide}}  {words}" for _, name, words, _ in self.signs]
        return "\n".join(lines + [self.more] * bool(self.more))

    __repr__ = __str__

    @property
    def svg(self) -> str:
        """The signs, one a row."""
        row = ROW if len(self.signs) <= 12 else 31
        page = Page(WIDEST, row * len(self.signs) + MARGIN + (28 if self.more else 0), "Legend of the pictures.")
        for k, (_, name, words, sample) in enumerate(self.signs):
            y = MARGIN / 2 + row * (k + 0.5)
            draw_sample(page, sample, y)
            page.text(NAME, y + 4.5, name, "news", "ink", "start")
            lines = wrapped(words, WIDEST - WORDS - MARGIN, "text")
            for j, line in enumerate(lines):
                page.text(WORDS, y + 4.5 + 16 * (j - (len(lines) - 1) / 2), line, "text", "ink2", "start")
        if self.more:
            page.text(NAME, page.height - 14, self.more, "small", "ink2", "start")
        return page.svg()

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": str(self), "text/html": as_image(self.svg, "Legend of the pictures: see the text.")}


def draw_sample(page, sample, y) -> None:
    """Draw a sample whose middle is at this height."""
    if isinstance(sample, Card):
        width, height = sample.size(True)
        sample.write(page, MIDDLE - width / 2, y - height / 2, width, height, True)
    elif isinstance(sample, Drawer):
        sample.write(page, MIDDLE - sample.width / 2, y - sample.height / 2, sample.width, sample.height)
    elif sample[0] == "frame":
        page.rect("mem", 26, y - 13, 140, 26, 12, 1.5, "6 4")
        page.text(MIDDLE, y + 4, "one memory · v1", "label", "mem_t")
    else:
        kind, digit = sample
        ends = [(36, y), (156, y)] if kind in ("forward", "made", "view", "grad") else [(156, y), (36, y)]
        if kind == "nothing":
            ends = [(120, y), (76, y)]
            page.ring("nothing", 73, y)
        page.arrow(kind, ends)
        if digit:
            page.text(ends[0][0] - 8, y - 6, digit, "small", "ink2")


def legend(lesson=0) -> Legend:
    """Show what the boxes, arrows and words of `draw`, `compare`, `step` and `film` mean.

    Parameters
        lesson      draw.legend(7) shows the signs that lesson 7 brings, draw.legend() the first seven, and
                    draw.legend("all") all that there are.

    Raises ValueError for a lesson that brings no sign.
    """
    chosen = [sign for sign in SIGNS if lesson in ("all", sign[0])]
    if not chosen:
        numbers = ", ".join(map(str, sorted({sign[0] for sign in SIGNS})))
        raise ValueError(f'draw.legend({lesson!r}): signs come with lessons {numbers}; draw.legend("all") shows all.')
    return Legend(chosen, "" if lesson == "all" else 'draw.legend("all") shows every sign there is.')
