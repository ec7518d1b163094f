"""`watch()`: a log, in words, of what happens to saved tensors, versions and gradients inside a block.

    with watch() as log:
        y = x * x
        x.add_(1)
        y.sum().backward()
    log                              # everything, in order
    log.only("saved", "version")     # some kinds of events

How it is seen: recorder.py, recording.py.
"""

import html
import sys
from typing import Any

from backscope.events import recorder
from backscope.events.recording import (
    ACCUMULATED,
    FREED,
    REFUSED,
    SAVED,
    UNPACKED,
    VERSION,
    Recording,
    in_reading_order,
    pairs_of,
)
from backscope.pictures.style import LIGHT

KINDS = (SAVED, VERSION, UNPACKED, REFUSED, FREED, ACCUMULATED)
TAGS = {  # (paper, ink) of the word for a kind of event
    kind: (LIGHT[paper], LIGHT[ink])
    for kind, paper, ink in (
        (SAVED, "tensor", "tensor_t"), (VERSION, "run", "run_t"), (UNPACKED, "node", "ink"),
        (REFUSED, "wash", "error"), (FREED, "part", "mem_t"), (ACCUMULATED, "acc", "acc_t"),
    )
}  # fmt: skip


def watch(*nothing: object, names: Any = None) -> "Watch":
    """Log what happens in a block: what is saved, written to, unpacked, refused, freed, accumulated, with its line.

        with watch() as log:
            loss.backward()
        log                              # or print(log)
        log.only("saved", "version")     # some kinds of events

    Parameters
        names       {"h": tensor}, or a module. Without it the names are those of the caller's variables.

    Returns the log, when the block is entered. It may be looked at inside the block, too; len() counts its events.
    Limits: on our engine every line is known. On PyTorch a write is noticed when the call that made it returns: one
    made by C++ alone, or inside a custom Function's backward, is noticed later and without its line; slots show up as
    packed by hooks, and what other saved-tensor hooks pack is theirs. While the block is open, leaves carry a hook that
    notices what is accumulated. A training step of 10 ms takes half as long again, one of 1 ms some seven times.
    """
    if nothing:
        raise TypeError(
            "watch() takes no tensors: open it around the program, `with watch() as log:`, and show `log` afterwards."
        )
    return Watch(pairs_of(names, "watch"))


class Watch:
    """The log. A context manager; `only` makes a filtered copy."""

    def __init__(self, names):
        self._names = names
        self._recording = None

    def __enter__(self):
        if self._recording is not None:
            raise RuntimeError("This watch() was opened before: make a new one, `with watch() as log:`.")
        self._recording = Recording(sys._getframe(1), self._names, unpacks=True, follows=False)
        self._names = ()
        recorder.begin(self._recording)
        return Log(self._recording, KINDS)

    def __exit__(self, *error):
        recorder.end(self._recording)


class Log:
    """The events of a `watch()` block; shows itself as sentences."""

    def __init__(self, recording, kinds):
        self._recording, self._kinds = recording, kinds

    def only(self, *kinds: str) -> "Log":
        """Return the log with events of these kinds only. ValueError for what is none of `KINDS`."""
        kinds = [VERSION if kind == "bumped" else kind for kind in kinds]  # as the log's own lines say it
        wrong = [kind for kind in kinds if kind not in KINDS]
        if wrong or not kinds:
            what = f"there is no kind {wrong[0]!r}" if wrong else "it needs at least one kind"
            raise ValueError(f"log.only(): {what}. The kinds are: {', '.join(KINDS)}.")
        return Log(self._recording, tuple(kind for kind in KINDS if kind in kinds))

    @property
    def lines(self) -> list:
        """All of them: (number of the event, kind, sentence, place), numbered as in the whole log."""
        recording = self._recording
        recorder.settle(recording)
        events = in_reading_order(recording.events)
        return [
            (i, event.kind, sentence(recording, event), event.where)
            for i, event in enumerate(events, start=1)
            if event.kind in self._kinds
        ]

    def __len__(self):
        return len(self.lines)

    @property
    def text(self) -> str:
        """The log in words."""
        lines, left_out = ends_of(self.lines, MANY)
        if not lines:
            return nothing_to_say(self._recording, self._kinds)
        wide = len(str(lines[-1][0]))
        text = [f"{number:>{wide}}. {words}" + place(kind, where) for number, kind, words, where in lines]
        return "\n".join(text + not_shown(left_out))

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}

    @property
    def html(self) -> str:
        """The log as a card: number, kind, sentence, place."""
        lines, left_out = ends_of(self.lines, MANY)
        if not lines:
            return card(f"<div>{html.escape(self.text)}</div>")
        note = "".join(f'<div class="bs-soft">{words}</div>' for words in not_shown(left_out))
        return card(table_of_events(lines) + note, len(lines))


def place(kind, where) -> str:
    """Write the line of the program as the end of a sentence."""
    return "" if not where else f" at {where}" if kind == VERSION else f" ({where})"


def nothing_to_say(recording, kinds) -> str:
    """Say why a log is empty."""
    if recording.events:
        return f"watch: no event of the kind {' or '.join(kinds)} among the {len(recording.events)} in this log."
    return (
        "watch: nothing happened in this block that it looks for. Operations are logged when they save a tensor, which "
        "takes an input that requires grad and recording that is on; x + 1 saves none even then. On PyTorch, what "
        "other saved-tensor hooks pack is not seen."
    )


def sentence(recording, event) -> str:
    """Write one event in words."""
    what = recording.words(event.thing)
    if event.kind == VERSION:
        by = event.by or "a write that was not seen"
        return f"{what} bumped to version {event.version} by {by}"
    if event.kind == ACCUMULATED:
        return f"accumulated into {what}.grad"
    kept = event.kept
    if kept.packed:
        what = "what saved-tensor hooks made of it"
    elif kept.is_result and event.thing not in recording.names:
        what = "its result"
    slot = recording.title(kept.maker) + (f", slot {kept.slot}" if kept.slot else "")
    if event.kind == SAVED:
        return f"saved {what} for {slot}, at version {event.version}"
    if event.kind == UNPACKED:
        return f"unpacked {what} for {slot}"
    if event.kind == REFUSED and event.version is not None and event.version != kept.version:
        return f"refused {what} to {slot}: saved at version {kept.version}, now at version {event.version}"
    if event.kind == REFUSED:
        return f"refused {what} to {slot}: it could not be unpacked"
    return f"freed {what} from {slot}"


def ends_of(lines, most) -> tuple:
    """Return (the lines, or the first and the last of them; how many are left out)."""
    if most is None or len(lines) <= most:
        return lines, 0
    return lines[: most - most // 2] + lines[-(most // 2) :], len(lines) - most


def not_shown(left_out) -> list[str]:
    """Write the sentence that says that a log is longer than what is shown."""
    return [f"Not shown: {left_out:,} events in the middle; log.lines has them all."] if left_out else []


MANY = 400  # events: of a longer log the two ends are shown
TALL = 30  # rows: a card with more gets a scroll bar


def card(inside, rows=0) -> str:
    """Return a card that reads on any page: it has an edge and no paper of its own."""
    scroll = "max-height:620px;overflow-y:auto;" if rows > TALL else ""
    return (
        '<div class="bs-panel" style="border:1px solid #8A8A8A;border-radius:10px;padding:10px 14px;'
        f'width:fit-content;max-width:736px;box-sizing:border-box;overflow-x:auto;{scroll}">{inside}</div>'
    )


CELL = "padding:3px 8px;border:0;text-align:left;vertical-align:top;font-size:13px;"


def table_of_events(lines) -> str:
    """Write the events as an HTML table."""
    rows = []
    for number, kind, words, where in lines:
        paper, ink = TAGS[kind]
        tag = (
            f'<span class="bs-tag" style="background:{paper};color:{ink};border-radius:4px;padding:1px 6px;'
            f'white-space:nowrap;font-weight:600">{kind}</span>'
        )
        words = words.partition(" ")[2] if words.startswith(kind) else words
        rows.append(
            f'<tr><td class="bs-soft" style="{CELL}text-align:right">{number}</td>'
            f'<td style="{CELL}">{tag}</td><td style="{CELL}">{html.escape(words)}</td>'
            f'<td class="bs-soft" style="{CELL}white-space:nowrap">{html.escape(where)}</td></tr>'
        )
    head = "".join(
        f'<th style="{CELL}font-weight:600">{title}</th>' for title in ("", "event", "what happened", "line")
    )
    return (
        '<table style="border-collapse:collapse;margin:0"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
