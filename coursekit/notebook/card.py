"""Cards: what `L`, `show` and `expect_error` say, with colour and folds in a notebook, as plain text everywhere else.

A card is a text and the same words as HTML. The HTML has no script and no style sheet, only what a notebook also shows
before it is trusted; it brings its own white paper, so that it can be read in the dark too.
"""

import html
import re
import sys
from itertools import groupby

WORDS = "Helvetica,Arial,'DejaVu Sans',sans-serif"
LETTERS = "Menlo,Consolas,'DejaVu Sans Mono',monospace"
PAPER = (
    "background:#FFFFFF;color:#1A1A1A;border:1px solid #C8C8C8;border-left:6px solid {colour};border-radius:6px;"
    f"padding:8px 14px;margin:2px 0;max-width:780px;font-family:{WORDS};font-size:14px;line-height:1.5"
)
CODE = f"font-family:{LETTERS};font-size:13px;background:#F2F2F2;color:#1A1A1A;padding:0 3px;border-radius:3px"
BLOCK = (
    f"font-family:{LETTERS};font-size:13px;line-height:1.45;background:#F7F7F7;color:#1A1A1A;white-space:pre-wrap;"
    "word-break:normal;overflow-wrap:break-word;padding:6px 10px;margin:6px 0;border-radius:4px"
)
GREY = "#5A5A5A"
RED = "#B3261E"


class Card:
    """A text, and the HTML that says the same: shown by `show_card`, or as the last line of a cell."""

    def __init__(self, text, html):
        self.text, self.html = text, html

    def __repr__(self):
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def show_card(card):
    """Show a card under the cell; where there is no notebook, print its text."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        print(card.text)
    else:
        from IPython.display import display

        display(card)


# ---------------------------------------------------------------------------------------- what a card is made of


def paper(colour, *parts):
    """The card itself: white paper with a coloured edge, and its parts below one another."""
    return f'<div style="{PAPER.format(colour=colour)}">{"".join(parts)}</div>'


def head(ident, sign, words, colour):
    """The first line: a sign and words in colour, and to which exercise they belong."""
    name = f'<span style="color:{GREY}">{html.escape(ident)}</span> &nbsp;' if ident else ""
    said = f'<b style="color:{colour}">{sign} {html.escape(words)}</b>'
    return f'<div style="margin-bottom:2px">{name}{said}</div>'


def prose(text):
    """Lines of words, `code` in them set as code; lines with four spaces in front, or columns, stand as they are."""
    parts = []
    for is_code, lines in groupby(text.splitlines(), key=looks_like_code):
        if is_code:
            parts.append(block("\n".join(lines)))
        else:
            parts += [f"<div>{inline(line)}</div>" for line in lines if line.strip()]
    return "".join(parts)


def looks_like_code(line):
    return line.startswith("    ") or "  " in line.strip()


def inline(line):
    """One line of words as HTML: what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", rf'<code style="{CODE}">\1</code>', html.escape(line, quote=False))


def block(text):
    """Lines that keep their form: a message, a table, what a program printed. Words are never broken."""
    return f'<pre style="{BLOCK}">{html.escape(text, quote=False)}</pre>'


def folded(summary, inside, is_open=False):
    """A line that opens when it is clicked."""
    opened = " open" if is_open else ""
    return f'<details{opened}><summary style="cursor:pointer">{inline(summary)}</summary>{inside}</details>'


def source(code):
    """Python as a listing in colour; as plain text where Pygments is missing."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return block(code)
    spans = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True, noclasses=True, style=colours()))
    return f'<pre style="{BLOCK.replace("pre-wrap", "pre")};overflow-x:auto">{spans.rstrip()}</pre>'


def colours():
    """Few colours, each dark enough for white paper."""
    from pygments.style import Style
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    class Listing(Style):
        styles = {
            Comment: f"italic {GREY}",
            Keyword: "bold #00588A",
            Keyword.Constant: "#00588A",
            Operator.Word: "bold #00588A",
            Name.Function: "#7A3E9D",
            Name.Class: "#7A3E9D",
            Number: "#8A5A00",
            String: "#1B6E3C",
        }

    return Listing


# ------------------------------------------------------------------------------------------------ cards for outcomes

SIGNS = {  # what an outcome looks like: a sign for those who see no colour, and a colour
    "correct": ("✓", "#00694A"),
    "almost": ("◐", "#9A5B00"),
    "not yet": ("○", "#00588A"),
    "error in your code": ("✗", RED),
    "not attempted": ("·", GREY),
    "noted": ("✎", "#6A3D9A"),
}
BLUE = "#00588A"


def verdict(result):
    """The card of an outcome: the words that `result.render()` prints, the outcome with its sign and colour."""
    sign, colour = SIGNS.get(result.outcome, ("·", GREY))
    word = result.word or result.outcome
    parts = [head(result.id, sign, word, colour), prose(result.text), prose("\n".join(result.details))]
    if result.printed:
        parts.append(folded("Your code printed:", block(result.printed), is_open=True))
    return Card(result.render(), paper(colour, *parts))


def error(text):
    """The card of an error that a lesson wanted to see: `TypeName: message`, no word of it broken."""
    return Card(text, paper(RED, error_line(text)))


def error_line(text):
    """`TypeName: message` with the name in red, no word of it broken."""
    kind, _, message = text.partition(": ")
    named = f'<b style="color:{RED}">{html.escape(kind)}</b>: {html.escape(message, quote=False)}'
    style = BLOCK.replace("#F7F7F7", "#FFFFFF").replace("margin:6px 0", "margin:0")
    return f'<pre style="{style}">{named}</pre>'


def listing(title, lines, more):
    """The card of a piece of our engine: where it stands, and its lines."""
    text = "\n".join([f"# {title}", *lines, *([more] if more else [])])
    where = f'<div style="color:{GREY}">{html.escape(title)}</div>'
    return Card(text, paper(GREY, where, source("\n".join(lines)), prose(more.removeprefix("# "))))


def hint(text, ident, hints, total):
    """The card of a hint: the newest open, those before it folded."""
    opened = [
        folded(f"hint {number} of {total}", prose(each), is_open=number == len(hints))
        for number, each in enumerate(hints, 1)
    ]
    last = prose(f'That was the last one; `L.solution("{ident}")` shows a solution.') if len(hints) == total else ""
    return Card(text, paper(BLUE, head(ident, "?", "hint", BLUE), *opened, last))


def solution(text, ident, title, code, why):
    """The card of a solution: closed, so that a cell which was run by mistake tells nothing."""
    inside = folded(f"Show a solution of “{title}”", source(code.strip("\n")) + prose(why))
    return Card(text, paper(BLUE, head(ident, "=", "a solution", BLUE), inside))


def words(text, summary=""):
    """The card of a text, folded under a summary if there is one."""
    return Card(text, paper(BLUE, folded(summary, prose(text)) if summary else prose(text)))


def table(text):
    """The card of a text that is all columns."""
    return Card(text, paper(BLUE, block(text)))
