"""`L.run(program, after="05.p1")`: call a program and show whatever comes of it: prints, a value, a picture, an error.

The code does not tell which. In a learner's copy nothing is run before the prediction was made; then the outcome
appears, the verdict on the prediction, and the text that explains it: the Markdown cells with the tag `tells` that
stand below the cell in the lesson. In a published notebook all of this stands in the open.
"""

import contextlib
import html
import io
import re
import sys
import warnings
from pathlib import Path

from backscope.explaining.report import remember
from backscope.stepping.step import one_line
from coursekit.judge import verdicts
from coursekit.judge.discovery import folder_of
from coursekit.judge.source import cells_of
from coursekit.notebook import card as cards
from coursekit.notebook.card import show_card

NOTHING = "(it ran to its end, and there is nothing to show)"
PREDICT_FIRST = (
    'Predict first: write your answer into L.predict("{id}", …) above and run that cell, then run this one again. '
    'L.solution("{id}") shows the answer instead.'
)


def published() -> bool:
    """Tell whether this notebook is one of notebooks/, built, tested and put on the site, and no learner's copy."""
    here = Path.cwd()
    return here.name == "notebooks" and (here.parent / "lessons").is_dir()


def run(program, args, after, kept, number) -> None:
    """Run a program for `L.run`. kept: the learner's progress; number: the lesson's."""
    if after is not None and not published():
        entry = kept.entry(after)
        if "first" not in entry and not entry.get("solution_seen"):
            verdicts.once_in_this_cell(cards.words(PREDICT_FIRST.format(id=after)))
            return
        if text := told_below(number, after):
            verdicts.once_in_this_cell(markdown(text))
    shown, text, error = outcome(program, args)
    if text or error or not shown:
        show_card(card(call_text(program, args), text or ("" if error else NOTHING), error))
    for each in shown:
        show_card(each)


def call_text(program, args) -> str:
    """Write the call as a reader would: `slope(a)`, `clip_early('W2')`; what has neither name nor short text is …"""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    names = {} if shell is None else {id(value): name for name, value in reversed(shell.user_ns.items())}

    def argument(value):
        if value is None or isinstance(value, (bool, int, float, str)):
            text = repr(value)
        else:
            text = names.get(id(value)) or getattr(value, "__name__", "…")
        return text if len(text) <= 24 and not text.startswith("_") else "…"

    called = getattr(program, "__name__", type(program).__name__)
    return f"{called}({', '.join(map(argument, args))})"


def outcome(program, args) -> tuple:
    """Run it: (what it returned if that is a picture, what it printed or returned as text, its error in a line)."""
    printed, shown, end, error = io.StringIO(), [], [], ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        try:
            with contextlib.redirect_stdout(printed):
                value = program(*args)
        except Exception as raised:
            remember(raised)
            error = one_line(raised)
        else:
            if hasattr(value, "_repr_mimebundle_") or hasattr(value, "text"):
                shown.append(value)
            elif value is not None:
                end.append(f"returns {value!r}")
    said = [in_short(each.message) for each in warned if not ANOMALY.match(str(each.message))]
    return shown, "\n".join(filter(None, [*dict.fromkeys(said), printed.getvalue().rstrip(), *end])), error


def in_short(warning) -> str:
    """Shorten a warning to its name and first sentence: PyTorch adds advice, and the place in its C++ that gave it."""
    text = one_line(warning)
    first = re.split(r"(?<=[.!?]) ", text)[0]
    return first if first == text else f"{first} …"


# Anomaly mode's traceback, of which a page would have no two alike.
ANOMALY = re.compile(r"(Error detected in|\s*Previous calculation was induced by) ")


def card(title, text, error) -> cards.Card:
    """Return the card of an outcome: the call, what it printed or returned, and its error."""
    parts = [f'<div class="ck-soft"><code style="{cards.CODE}">{html.escape(title)}</code></div>']
    if text:
        parts.append(cards.block(text))
    if error:
        parts.append(cards.error_line(error))
    colour = cards.RED if error else cards.GREY
    return cards.Card("\n".join(filter(None, [text, error])), cards.paper(colour, *parts))


def told_below(number, after) -> str:
    """Find the texts with the tag `tells` of the cell that is running: they stand below it in the lesson."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    folder = folder_of(number)
    if shell is None or folder is None:
        return ""
    here, texts = call_in(shell.user_ns.get("In", [""])[-1]), telling(folder / "lesson.py", after)
    if here not in texts:  # a learner has changed the line
        here = next((line for line, found in texts.items() if found), here)
    return "\n\n".join(texts.get(here, []))


def telling(path, after) -> dict:
    """Return {the line with L.run( of a cell after this prediction: the texts with the tag `tells` below that cell}."""
    found, line = {}, None
    for cell in cells_of(path.read_text(encoding="utf-8")):
        if cell.kind == "code":
            line = call_in(cell.source) if re.search(rf"after=[\"']{re.escape(after)}[\"']", cell.source) else None
            if line:
                found[line] = []
        elif "tells" not in cell.tags:
            line = None
        elif line:
            found[line].append(cell.source)
    return found


def markdown(text) -> object:
    """Mark a text as Markdown, for a notebook to show. (IPython has a class for it, with no text for terminals.)"""
    from IPython.display import Markdown

    shown = Markdown(text)
    shown.text = text
    return shown


def call_in(source) -> str | None:
    """Find the first line of a cell in which L.run is called, by which a cell is known that a learner has added to."""
    return next((line.strip() for line in source.splitlines() if "L.run(" in line), "")
