"""The site's pages of messages: one for each kind of error that `explain()` knows, and what its search finds them by.

A page is made of a row of `explain()` and of a message that a program of tools/explain_cures.py has just raised.
"""

import ast
import contextlib
import functools
import importlib
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from backscope.explaining.report import explain
from backscope.explaining.rows import LESSONS, rows
from backscope.pictures.style import with_code
from tools.explain_cures import CURES, run

ASKED_FIRST = (7, 8, 6, 2, 5, 3)  # lessons whose messages people meet most often
LONGEST = 110  # letters of a title
LEAF = "x = torch.tensor([1., 2.], requires_grad=True)"
SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "site" / "messages.js"


@dataclass
class Message:
    """A kind of error: its wordings, the first of which the page is named after, and what `explain()` says of it."""

    told: object
    program: str
    wordings: list = field(default_factory=list)

    @property
    def title(self) -> str:
        """The message as far as its first sentence goes, without what differs from program to program."""
        line = self.wordings[0].partition(": ")[2].strip().splitlines()[0]
        line = re.split(r"\. |: \[|\.$", line)[0]
        return line if len(line) <= LONGEST else line[:LONGEST].rpartition(" ")[0].rstrip(" ,;:(") + " …"

    @property
    def page(self) -> str:
        """The page's name: the words of its title."""
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower())[:9])


def raised(program) -> Exception | None:
    """Return the error, or the warning, that a program of tools/explain_cures.py ends with; None."""
    with contextlib.redirect_stderr(io.StringIO()):  # anomaly mode prints where the forward call stood
        return run(importlib.import_module("course_lib"), program)


@functools.cache  # a second run would find less: some warnings are given once in a process
def messages() -> list[Message]:
    """Collect every kind of error that a program raises in PyTorch's words, those that are asked for most first."""
    found = {}
    for _, program, _ in CURES:
        error = raised(program)
        told = explain(error)
        wording = re.sub(r" at 0x[0-9a-f]+", "", f"{type(error).__name__}: {error}").strip()
        if "course_lib" in wording:  # a sentence of our engine's own: PyTorch has another one
            continue
        message = found.setdefault(told.row.key, Message(told, program))
        if wording not in message.wordings:
            message.wordings.append(wording)

    def place(message):
        lesson = message.told.row.lesson
        asked = ASKED_FIRST.index(lesson) if lesson in ASKED_FIRST else len(ASKED_FIRST)
        return asked, lesson is None, lesson or 0

    return sorted(found.values(), key=place)


def heading(lesson) -> str:
    """Name the messages of a lesson, as the index does."""
    return "Before autograd" if lesson is None else f"Lesson {lesson:02d}: {LESSONS[lesson]}"


def index(files) -> str:
    """Write the page with all messages; `files` maps a lesson's number to the name of its notebook."""
    known = messages()
    lines = [
        "# You saw this message", "",
        f"{len(known)} messages of PyTorch's autograd, in PyTorch's words, each with a page: what happened, what cures "
        "it, what only silences it. Paste yours, or a piece of it, into the search at the left; or into "
        "`explain(\"…\")` in Python. Each cure is run in CI, on our engine and on PyTorch.",
    ]  # fmt: skip
    last = object()
    for message in known:
        lesson = message.told.row.lesson
        if lesson != last:
            lines += ["", f"## {heading(lesson)}", ""]
            if lesson in files:
                lines += [f"[Read the lesson](notebooks/{files[lesson]}.ipynb)", ""]
        last = lesson
        lines += [f"- [{escaped(message.title)}](messages/{message.page}.md)"]
    return "\n".join(lines) + "\n"


def page(message, files) -> str:
    """Write the page of one message."""
    told, lesson = message.told, message.told.row.lesson
    about = json.dumps(f"PyTorch: {message.title}. What happened, what cures it, and what only hides it.")
    lines = [
        "---", "orphan: true", "myst:", "  html_meta:",
        f"    description: {about}",
        "---", "",
        f"# {escaped(message.title)}", "", *pre(message.wordings[0]),
        "## What happened", "", f"<p>{code(' '.join(sentence for sentence in told.what if sentence))}</p>", "",
    ]  # fmt: skip
    if told.cures:
        lines += ["## What cures it", "", bullets(told.cures), ""]
    if told.silences:
        lines += ["## What only silences it", "", bullets(f"{what}: {cost}." for what, cost in told.silences), ""]
    if shown := source(message.program):
        lines += ["## A small program that raises it", "", f"```python\n{shown}\n```", ""]
    if message.wordings[1:]:
        lines += ["## The same fault in other words", ""]
        for wording in message.wordings[1:]:
            lines += pre(wording)
    if lesson in files:
        title = f"{lesson:02d}, {LESSONS[lesson]}"
        there = f"Lesson [{title}](../notebooks/{files[lesson]}.ipynb) shows it step by step."
        lines += ["## The lesson", "", there, ""]
    lines += ["In your own script: `python -m backscope train.py` names [the lines](../at_work.md). "
              "[All messages](../errors.md).", ""]  # fmt: skip
    return "\n".join(lines)


def script() -> str:
    """Write the search page's script: the page whose message was pasted comes first, whatever its numbers and names."""
    found = [
        {
            "page": f"messages/{message.page}", "title": message.title,
            "pattern": message.told.row.pattern.replace("(?P<", "(?<"),
            "words": " ".join(message.wordings),
        }
        for message in sorted(messages(), key=lambda each: rows().index(each.told.row))  # the first that fits counts
    ]  # fmt: skip
    return SCRIPT.read_text(encoding="utf-8").replace("MESSAGES", json.dumps(found, ensure_ascii=False, indent=0))


def source(program) -> str:
    """Write a program of explain_cures as one would; empty where it needs more than torch and a leaf."""
    if re.search(r"\bmodule\(", program):
        return ""
    lines = ["import torch"]
    lines += ["import torch.nn.functional as F"] * bool(re.search(r"\bF\.", program))
    lines += [""] + [LEAF] * bool(re.search(r"\bx\b", program))
    return "\n".join([*lines, ast.unparse(ast.parse(program))])


def pre(wording) -> list:
    """Set a message as a block of text, in Markdown."""
    return ["```text", wording, "```", ""]


def escaped(words) -> str:
    """Escape words for Markdown, which would read signs in them."""
    return re.sub(r"([\\`*_\[\]<>{}$|#])", r"\\\1", words)


def bullets(sentences) -> str:
    """Sentences as a list in HTML."""
    return "<ul>" + "".join(f"<li>{code(sentence)}</li>" for sentence in sentences) + "</ul>"


def code(sentence) -> str:
    """Set a sentence as HTML, with what stands in backticks as code."""
    return with_code(" ".join(sentence.split()), 'class="literal"', quote=True)
