"""Cards: what `L`, `show` and `expect_error` say, with colour and folds in a notebook, as plain text everywhere else.

A card is a text and the same words as HTML. The HTML has no script and no style sheet, only what a notebook also shows
before it is trusted. Its styles read on white and on black: a grey that lets the page through, an edge in a mid-tone,
no colour for words. Classes carry the design, where a style sheet of the course is at hand (coursekit/cli/lab).

It is written by hand, as home.py's is: a card is drawn in the learner's kernel, where NumPy may be all there is, and in
a browser, where a template engine would be one more download. Every function here escapes the words that it is given.
The pages for teachers are templates (coursekit/classroom/templates).
"""

import html
import sys
from itertools import groupby

from backscope.pictures.style import LIGHT, with_code

LETTERS = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
WASH = "background:rgba(127,127,127,0.09)"
PAPER = (
    f"{WASH};border-left:4px solid {{colour}};border-radius:8px;padding:12px 18px;margin:6px 0;max-width:736px;"
    "font-size:15px;line-height:1.55"
)
CODE = f"font-family:{LETTERS};font-size:13px;background:rgba(127,127,127,0.14);padding:1px 4px;border-radius:4px"
BLOCK = (
    f"font-family:{LETTERS};font-size:13px;line-height:1.5;white-space:pre-wrap;background:none;"
    "word-break:normal;overflow-wrap:break-word;margin:6px 0"
)
GREY = LIGHT["plain_e"]


class Card:
    """A text, and the HTML that says the same: shown by `show_card`, or as the last line of a cell."""

    def __init__(self, text, html):
        self.text, self.html = text, html

    def __repr__(self):
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def show_card(card) -> None:
    """Show a card under the cell; where there is no notebook, print its text."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        print(card.text)
    else:
        from IPython.display import display

        display(card)


# ---------------------------------------------------------------------------------------- what a card is made of


def paper(colour, *parts) -> str:
    """Return the card itself: a coloured edge, and its parts below one another."""
    kind = KINDS.get(colour, "grey")
    return f'<div class="ck-card ck-{kind}" style="{PAPER.format(colour=colour)}">{"".join(parts)}</div>'


def head(ident, sign, words) -> str:
    """Return the first line: a sign and words, and to which exercise they belong."""
    name = f'<span class="ck-soft">{html.escape(ident)}</span> &nbsp;' if ident else ""
    said = f'<b class="ck-said">{sign} {html.escape(words)}</b>'
    return f'<div style="margin-bottom:2px">{name}{said}</div>'


def prose(text) -> str:
    """Set lines of words, `code` in them as code; lines with four spaces in front, or columns, stand as they are."""
    parts = []
    for is_code, lines in groupby(text.splitlines(), key=looks_like_code):
        if is_code:
            parts.append(block("\n".join(lines)))
        else:
            parts += [f"<div>{inline(line)}</div>" for line in lines if line.strip()]
    return "".join(parts)


def looks_like_code(line) -> bool:
    return line.startswith("    ") or "  " in line.strip()


def inline(line) -> str:
    """Set one line of words as HTML: what stands between backticks is code."""
    return with_code(line, f'style="{CODE}"')


def block(text) -> str:
    """Set lines that keep their form: a message, a table, what a program printed. Words are never broken."""
    return f'<pre style="{BLOCK}">{html.escape(text, quote=False)}</pre>'


def folded(summary, inside, is_open=False) -> str:
    """Set a line that opens when it is clicked."""
    opened = " open" if is_open else ""
    return f'<details{opened}><summary style="cursor:pointer">{inline(summary)}</summary>{inside}</details>'


def source(code) -> str:
    """Python as a listing, with classes for a style sheet to colour; as plain text where Pygments is missing."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return block(code)
    spans = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return f'<pre class="ck-source" style="{BLOCK.replace("pre-wrap", "pre")};overflow-x:auto">{spans.rstrip()}</pre>'


# ------------------------------------------------------------------------------------------------ cards for outcomes

SIGNS = {  # what an outcome looks like: a sign for those who see no colour, and a colour
    "correct": ("✓", LIGHT["ok"]),
    "almost": ("◐", LIGHT["almost"]),
    "not yet": ("○", LIGHT["notyet"]),
    "error in your code": ("✗", LIGHT["error"]),
    "not attempted": ("·", GREY),
    "noted": ("✎", LIGHT["noted"]),
}
BLUE, RED = LIGHT["notyet"], LIGHT["error"]
KINDS = {LIGHT[kind]: kind for kind in ("ok", "almost", "notyet", "error", "noted")}  # the class of a colour


def verdict(result) -> Card:
    """Return the card of an outcome: the words that `result.render()` prints, the outcome with its sign and colour."""
    sign, colour = SIGNS.get(result.outcome, ("·", GREY))
    word = result.word or result.outcome
    parts = [head(result.id, sign, word), prose(result.text), prose("\n".join(result.details))]
    if result.printed:
        parts.append(folded("Your code printed:", block(result.printed), is_open=True))
    return Card(result.render(), paper(colour, *parts))


def error(text) -> Card:
    """Return the card of an error that a lesson wanted to see: `TypeName: message`, no word of it broken."""
    return Card(text, paper(RED, error_line(text)))


def error_line(text) -> str:
    """Set `TypeName: message`, no word of it broken."""
    kind, _, message = text.partition(": ")
    named = f'<b class="ck-error-name">{html.escape(kind)}</b>: {html.escape(message, quote=False)}'
    return f'<pre style="{BLOCK.replace("margin:6px 0", "margin:0")}">{named}</pre>'


def listing(title, lines, more) -> Card:
    """Return the card of a piece of our engine: where it stands, and its lines."""
    text = "\n".join([f"# {title}", *lines, *([more] if more else [])])
    where = f'<div class="ck-soft">{html.escape(title)}</div>'
    return Card(text, paper(GREY, where, source("\n".join(lines)), prose(more.removeprefix("# "))))


def hint(text, ident, hints, total) -> Card:
    """Return the card of a hint: the newest open, those before it folded."""
    opened = [
        folded(f"hint {number} of {total}", prose(each), is_open=number == len(hints))
        for number, each in enumerate(hints, 1)
    ]
    last = prose(f'That was the last one; `L.solution("{ident}")` shows a solution.') if len(hints) == total else ""
    return Card(text, paper(BLUE, head(ident, "?", "hint"), *opened, last))


def solution(text, ident, title, code, why) -> Card:
    """Return the card of a solution: who asks for it sees it."""
    named = f"<div><b>{inline(title)}</b></div>"
    return Card(text, paper(BLUE, head(ident, "=", "a solution"), named, source(code.strip("\n")), prose(why)))


def words(text) -> Card:
    """Return the card of a text."""
    return Card(text, paper(BLUE, prose(text)))


def table(text) -> Card:
    """Return the card of a text that is all columns."""
    return Card(text, paper(BLUE, block(text)))
