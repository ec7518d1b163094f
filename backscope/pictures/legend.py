"""`draw.legend()`: what the boxes, arrows and words of the pictures mean. One legend for all of them.

The samples are drawn with the colours of dotsource.py. It is a table and no drawing, so it needs no layout engine.
"""

import html

from backscope.pictures import dotsource as colours

BOX = "display:inline-block;padding:2px 8px;font-size:12px;white-space:nowrap;color:#111111;"
CELL = (
    "padding:4px 10px;border:0;background:#FFFFFF;color:#111111;text-align:left;vertical-align:middle;font-size:13px;"
)


def box(words, paper, ink, border="1px solid", radius=9):
    """A sample of a box."""
    return f'<span style="{BOX}background:{paper};border:{border} {ink};border-radius:{radius}px">{words}</span>'


def arrow(kind, ink, words, width=1):
    """A sample of an arrow: a line of this kind, and its head."""
    line = f"display:inline-block;width:46px;border-top:{width}px {kind} {ink};vertical-align:middle"
    return f'<span style="{line}"></span><span style="color:{ink}">▶</span> <span style="font-size:12px">{words}</span>'


SAMPLES = (
    (box("h  v0", colours.PALE_BLUE, colours.BLUE), "tensor",
     "a tensor with its value; v0 is its version: how often its memory was written to"),
    (box("w  leaf", colours.PALE_BLUE, colours.BLUE, "3px double"), "double border",
     "a leaf: no recorded operation has made it"),
    (box("x  no grad", colours.PALE_PLAIN, colours.PLAIN), "grey tensor", "a tensor that needs no gradient"),
    (box("W  frozen", "#FFFFFF", colours.BLUE, "3px double"), "white tensor",
     "a parameter that is frozen: it does not require grad"),
    (box("2  MulBackward0", colours.PALE_GREY, colours.GREY, radius=0), "grey box, sharp corners",
     "the node of an operation; the number says in which order nodes were made"),
    (box("AccumulateGrad", colours.PALE_GREEN, colours.GREEN, radius=0), "green box",
     "the end of a path: it adds what arrives to the .grad of a leaf"),
    (box("saved self = x<br>v0, now v0", "#FFFFFF", colours.NOTE, radius=0), "note",
     "a tensor that a node has saved for backward: its name, its version then, and now"),
    (box("saved self = x<br>v0, now v1<br>STALE", colours.PALE_VERMILLION, colours.VERMILLION, "3px solid", 0),
     "orange note, STALE", "a saved tensor whose memory was written to since: backward raises there"),
    (box("saved self<br>FREED", "#FFFFFF", colours.NOTE, radius=0), "note, FREED",
     "a saved tensor that a backward pass has let go of: a second pass raises there"),
    (arrow("solid", colours.INK, "0", 3), "thick black arrow",
     "the way back: to the node of an operand; the digit says which operand"),
    (arrow("solid", colours.GREY, "1", 2).replace("▶", "○"), "short line with a ring",
     "an arrow to nothing: this operand wants no gradient"),
    (arrow("solid", colours.GREEN, "", 2), "green arrow", "from an AccumulateGrad to its leaf, whose .grad it fills"),
    (arrow("dashed", colours.NOTE, ""), "dashed grey line", "from a node to what it has saved"),
    (arrow("solid", colours.BLUE, ""), "thin blue arrow", "your computation, from an operand to the result"),
    (arrow("dotted", colours.BLUE, ""), "dotted blue arrow", "from a result to its node: its grad_fn"),
    (arrow("dashed", colours.PURPLE, ""), "dashed purple arrow", "from a base to its view, which looks at its memory"),
    (box("a, b", "#FFFFFF", colours.PURPLE, "2px dashed"), "dashed frame",
     "tensors that share one memory and one counter"),
    (box("1 hook", colours.PALE_BROWN, colours.BROWN, radius=0), "small brown box",
     "hooks, below what they are registered on"),
    (box("<b>ready · next</b>", "#FFE9B0", "#A86400", "2px solid", 0), "step: yellow",
     "a node that has all its gradients; the next one to run says so"),
    (box('<b style="color:#FFFFFF">HAS RUN</b>', colours.BLUE, "#004B76", "2px solid", 0), "step: blue",
     "the node of this step, just after it has run; what it has sent stands at its arrows"),
)  # fmt: skip


class Legend:
    """The table: shown under a cell, printed elsewhere."""

    def __str__(self):
        wide = max(len(name) for _, name, _ in SAMPLES)
        return "\n".join(f"{name:{wide}}  {words}" for _, name, words in SAMPLES)

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = (
            f'<tr style="background:#FFFFFF"><td style="{CELL}">{sample}</td>'
            f'<td style="{CELL}"><b>{html.escape(name)}</b>: {html.escape(words)}</td></tr>'
            for sample, name, words in SAMPLES
        )
        table = f'<table style="border-collapse:collapse">{"".join(rows)}</table>'
        paper = "background:#FFFFFF;border:1px solid #BBBBBB;border-radius:6px;padding:8px 12px;width:fit-content"
        return {"text/plain": str(self), "text/html": f'<div style="{paper}">{table}</div>'}


def legend():
    """What the boxes, arrows and words of `draw`, `compare` and `step` mean."""
    return Legend()
