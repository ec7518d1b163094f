"""A Finding as text for the terminal, and as one HTML file that needs nothing else."""

import html
import linecache
import os
import re
import traceback
from pathlib import Path

from backscope.explaining.report import escape, first_line
from backscope.script.places import shown

SHOWN = 2  # edits
AROUND = 2  # lines of source shown before and after each line


def text(finding):
    """Everything in words."""
    told = finding.explanation
    lines = ["", "--- explained " + "-" * 60, "", *wrapped(told.what)]
    if finding.lines:
        lines += ["", "Where", *lines_in_words(finding.lines)]
    lines += [f"  ({note})" for note in finding.notes]
    edits = finding.edits[:SHOWN]
    if edits or told.cures:
        lines += ["", "What cures it", *(line for edit in edits for line in edit_in_words(edit))]
        lines += [f"  - {cure}" for cure in ([] if edits else told.cures)]
    if told.silences:
        lines += ["", "What only silences it", *(f"  - {what}: {cost}." for what, cost in told.silences)]
    return "\n".join([*lines, "", told.lesson])


def pasted(one):
    """Say what a pasted message means; its lines are those of its traceback."""
    from backscope.explaining.report import Explanation

    told = Explanation(one.kind, one.message, None, None, "")
    lines = [f"{one.kind}: {first_line(one.message)}", "", *wrapped(told.what)]
    own = [each for each in one.frames if not is_library(each[0])]
    if own:
        file, number, function, source = own[-1]
        inside = "" if function in ("", "<module>") else f" in {function}"
        where = f"  failed  {shown(file)}:{number}{inside}: the error was raised here"
        lines += ["", "Where", where, f"            {source}"]
    if told.row is None:
        lines.append("  If it is one of autograd: paste the whole message, beginning with `RuntimeError:`.")
        return "\n".join(lines)
    if told.cures:
        lines += ["", "What cures it", *(f"  - {cure}" for cure in told.cures)]
    if told.silences:
        lines += ["", "What only silences it", *(f"  - {what}: {cost}." for what, cost in told.silences)]
    if told.row.lesson is not None:
        lines += ["", told.lesson]
    if told.row.key in ("version", "freed", "no history"):
        lines += ["", "Which lines are to blame is known when the script is run: python -m backscope script.py"]
    return "\n".join(lines)


def is_library(file):
    """Tell whether a file of somebody else's machine is Python's or a library's, as far as its name tells."""
    return re.search(r"[/\\](?:site-packages|dist-packages|lib[/\\]python3|torch[/\\](?:nn|autograd|optim))|^<", file)


def edit_in_words(edit):
    """A sentence and the diff."""
    return [f"  - {edit.says}", *("      " + line for line in edit.diff.splitlines())]


def wrapped(sentences):
    import textwrap

    return textwrap.wrap(" ".join(sentences), 96, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def lines_in_words(lines):
    """Two lines for each: where and what, and the source."""
    found = []
    for line in lines:
        inside = "" if line.function == "<module>" else f" in {line.function}"
        found += [f"  {line.role:8}{line.where}{inside}{line.through}: {line.what}", f"            {line.source}"]
        found += [f"            {sentence}" for sentence in more_in_words(line)]
    return found


def more_in_words(line):
    """Say who called a line, and what is known besides."""
    found = []
    for place, words in line.callers:
        inside = "" if place.function == "<module>" else f" in {place.function}"
        source = linecache.getline(place.file, place.line).strip()
        found.append(f"called from {shown(place.file)}:{place.line}{inside}{words}: {source}")
    return [*found, *line.more]


def doubts(lines):
    """Say what is silently wrong; nothing where there is nothing."""
    if not lines:
        return ""
    return "\n".join(["", "--- doubts " + "-" * 63, "", *lines_in_words(lines)])


def write(path, finding, error):
    """Write the report, whole or not at all."""
    path = Path(path)
    made = path.with_name(path.name + ".part")
    made.write_text(page(finding, error), encoding="utf-8")
    os.replace(made, path)


def page(finding, error):
    """The report as HTML: the lines in their surroundings, the explanation with its picture, the traceback."""
    listings = "".join(map(listing, finding.lines))
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in finding.notes)
    trace = html.escape("".join(traceback.format_exception(error)))
    diffs = "".join(f"<p>{escape(edit.says)}</p>{coloured(edit.diff)}" for edit in finding.edits[:SHOWN])
    diffs = f"<h2>The cure as a diff</h2>{diffs}" if diffs else ""
    return (
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>An error of autograd, explained</title>"
        f"<style>{STYLE}</style>"
        f"<h1>An error of autograd, explained</h1><h2>Where</h2>{listings}{notes}{diffs}"
        f"<h2>What it means</h2>{finding.explanation.html}<h2>The traceback</h2><pre>{trace}</pre></html>\n"
    )


STYLE = (
    ":root{color-scheme:light dark;--paper:#FFFFFF;--ink:#1A1A1A;--soft:#5A5A5A;--code:#F4F4F2;--mark:#FFE9B0;"
    "--gone:#B3261E;--come:#1B6E3A}"
    "@media (prefers-color-scheme:dark){:root{--paper:#16181B;--ink:#E6E6E6;--soft:#A0A4A8;--code:#22262A;"
    "--mark:#5A4510;--gone:#F2A39B;--come:#8FD6A8}}"
    "body{font:15px/1.5 Helvetica,Arial,sans-serif;max-width:860px;margin:24px auto;padding:0 16px;"
    "background:var(--paper);color:var(--ink)}"
    "pre{background:var(--code);padding:8px 12px;overflow-x:auto;border-radius:4px}"
    "mark{background:var(--mark);color:inherit}h2{font-size:18px;margin:24px 0 6px}.soft{color:var(--soft)}"
    ".gone{color:var(--gone)}.come{color:var(--come)}p{margin:8px 0}"
)


def coloured(diff):
    """A diff with what goes and what comes told apart, also without colours."""
    lines = []
    for line in diff.splitlines():
        kind = {"-": "gone", "+": "come"}.get(line[:1], "soft" if line.startswith("@") else "")
        kind = "soft" if line.startswith(("---", "+++")) else kind
        lines.append(f"<span class='{kind}'>{html.escape(line)}</span>" if kind else html.escape(line))
    return "<pre>" + "\n".join(lines) + "</pre>"


def listing(line):
    """A line of the user's file with those around it, who called it, and what is known besides."""
    shown_lines = []
    last = min(line.number + AROUND, len(linecache.getlines(line.file)))
    for number in range(max(1, line.number - AROUND), last + 1):
        source = linecache.getline(line.file, number).rstrip("\n")
        text = f"{number:5}  {html.escape(source)}"
        shown_lines.append(f"<mark>{text}</mark>" if number == line.number else text)
    inside = "" if line.function == "<module>" else f" in {html.escape(line.function)}"
    body = "\n".join(shown_lines)
    more = "".join(f"<p class='soft'>{escape(one)}</p>" for one in more_in_words(line))
    return (
        f"<p><b>{line.role}</b> <span class='soft'>{html.escape(line.where + line.through)}{inside}</span>: "
        f"{escape(line.what)}</p><pre>{body}</pre>{more}"
    )
