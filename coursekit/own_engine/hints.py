"""`L.hint("05.b")` and `L.solution("05.b")`: the program of a checkpoint, and the lines that its lesson adds."""

import difflib
import inspect
import re
import textwrap

from coursekit.judge import exercise as ex
from coursekit.own_engine import checkpoints, stages


def number_in(id) -> int | None:
    """5 for "05.b"; None for what names no checkpoint."""
    found = re.fullmatch(r"(\d\d?)\.b", str(id).strip().lower())
    return int(found[1]) if found and int(found[1]) in checkpoints.programs() else None


def hint(number, seen) -> tuple[str, int]:
    """Return the hint that follows `seen` others, and its number: first the program, then the lesson's own hints."""
    own = getattr(checkpoints.pieces()[number], "HINTS", ())
    which = min(seen + 1, 1 + len(own))
    lead = f"{number:02d}.b   hint {which} of {1 + len(own)} — "
    if which > 1:
        return ex.wrap(ex.tidy(lead + own[which - 2]), first=""), which
    lines = inspect.getsource(checkpoints.programs()[number]).splitlines()
    lead += "your engine is given to this program as `torch`, and should print what PyTorch prints."
    return ex.wrap(lead, first="") + "\n" + textwrap.indent("\n".join(lines), ex.INDENT), which


def lines_of(number) -> str:
    """List what the lesson adds to the reference (+) and takes out of it (-), with a line or two around it."""
    if number not in range(stages.LAST + 1):
        return f"{number:02d}.b   lesson {number:02d} adds no line to the engine."
    before = stages.stage(number - 1) if number else stages.start().replace(stages.BEGIN_HERE, "")
    lines = list(difflib.unified_diff(before.splitlines(), stages.stage(number).splitlines(), lineterm="", n=2))[2:]
    lines = ["  …" if line.startswith("@@") else line for line in lines]
    text = f"{number:02d}.b   one way to write it: what lesson {number:02d} adds (+), what goes (-), where it stands. "
    text += "Your own may look quite different and be right as well."
    return ex.wrap(text, first="") + "\n" + textwrap.indent("\n".join(lines), ex.INDENT)
