"""`ledger()`: how many bytes saved tensors hold, who saved them, and when they are let go.

    with ledger() as held:
        loss = model(x).sum()
        loss.backward()
    held.table()      # every saved tensor
    held.plot()       # bytes over events
    held.peak, held.now

What is counted: memory that slots of backward nodes hold, each piece once however many slots share it. How it is
seen: recorder.py, recording.py.
"""

import html
import sys
from typing import Any

from backscope.events import recorder
from backscope.events.recording import FREED, SAVED, Recording, in_reading_order, pairs_of
from backscope.events.watch import card, ends_of
from backscope.pictures.chart import WIDTH, svg_of
from backscope.pictures.style import LIGHT, SERIES, as_image, in_short

CELL = "padding:3px 7px;border:0;vertical-align:top;font-size:12px;"
COLOURS = (*SERIES, LIGHT["error"])
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++")  # the second cue
FEW = 8  # events that the plot names below their numbers
MANY = 200  # events: a longer pass is told by every 2nd, 3rd … event
LEAF = "leaves"
OTHERS = "other operations"
NOT_COUNTED = (
    "Not counted: gradients and .grad, intermediates that no node keeps, numbers and shapes in nodes, Python objects, "
    "what hooks hold (checkpoint(use_reentrant=False), save_on_cpu)."
)


def ledger(*nothing: object, leaves: bool = True, names: Any = None) -> "Ledger":
    """Record, over a block, the bytes held by saved tensors.

        with ledger() as held:
            model(x).sum().backward()
        held.plot()                      # bytes over time, one colour for each operation
        held.table()                     # who held how much, and when
        held.peak, held.now              # bytes
        held.mark("backward")            # inside the block: what comes now has this name in the plot

    Parameters
        leaves      False leaves out memory without history, which the program mostly holds anyway: parameters, data,
                    masks. What remains is what the forward pass computed and could not let go.
        names       {"h": tensor}, or a module. Without it the names are those of the caller's variables.

    Returns the record, when the block is entered. Frees are noticed after the block, too.
    Limits: storage that several slots hold is counted once, and whole: a saved view holds all of its base. On PyTorch,
    what other saved-tensor hooks pack inside the block is not seen. On both, checkpoint(use_reentrant=False) holds
    its inputs and what it computes again outside of slots, so the bytes of such a block are too few.
    """
    if nothing:
        raise TypeError(
            "ledger() takes no tensors: open it around the forward and the backward pass, `with ledger() as held:`, "
            "and look at held.table() afterwards."
        )
    if not isinstance(leaves, bool):
        raise TypeError(f"ledger(leaves=…) is True or False, not {leaves!r}.")
    return Ledger(leaves, pairs_of(names, "ledger"))


class Ledger:
    """Bytes held by saved tensors: `table()`, `plot()`, `peak`, `now`. A context manager."""

    def __init__(self, leaves, names):
        self._leaves, self._names = leaves, names
        self._recording = None
        self._marks = []  # (number of events before it, name) of each part

    def __enter__(self):
        if self._recording is not None:
            raise RuntimeError("This ledger() was opened before: make a new one, `with ledger() as held:`.")
        self._recording = Recording(sys._getframe(1), self._names, unpacks=False, follows=True)
        self._names = ()
        recorder.begin(self._recording)
        return self

    def __exit__(self, *error):
        recorder.end(self._recording)

    @property
    def peak(self) -> int:
        """The most bytes that were held at one time."""
        return max((step.total for step in self._account().steps), default=0)

    @property
    def now(self) -> int:
        """The bytes held at this moment, by what was saved inside the block."""
        steps = self._account().steps
        return steps[-1].total if steps else 0

    def table(self, rows: int | None = 200) -> "LedgerTable":
        """List every saved tensor: node, slot, tensor, bytes, and from which event to which it was held.

        Of more than `rows` the first and the last are shown, and how many are not; rows=None shows all.
        """
        if rows is not None and (type(rows) is not int or rows < 2):
            raise ValueError(f"held.table(rows=…) is a number from 2 up, or None for all rows, not {rows!r}.")
        return LedgerTable(self._account(), rows)

    def mark(self, name: str) -> None:
        """Say inside the block that a part of the program begins; the plot draws a line there, with its name."""
        self._marks.append((len(self._account().steps), str(name)))

    def plot(self) -> "Plot":
        """Plot bytes over events, by operation, with the peak marked, and the parts that mark() has named."""
        return Plot(self._account(), self._marks)

    def _account(self):
        if self._recording is None:
            raise RuntimeError("This ledger() was never opened: `with ledger() as held:` around forward and backward.")
        recorder.settle(self._recording)
        return Account(self._recording, self._leaves)

    def __str__(self):
        return "ledger(), not opened yet" if self._recording is None else self.table().text

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": str(self)} if self._recording is None else self.table()._repr_mimebundle_()


# --- the account -------------------------------------------------------------------------------------------


class LedgerEntry:
    """One saved tensor in the ledger."""

    def __init__(self, number, kept, recording):
        self.kept, self.number = kept, number
        self.node, self.op = recording.title(kept.maker), kept.maker.name if kept.maker else "not seen"
        self.slot = kept.slot or "?"
        self.tensor = self.named(kept, recording)
        self.form = f"{kept.thing.dtype} {kept.thing.shape}"
        self.since, self.until = None, None  # events
        self.allocation, self.shares = None, None  # the memory, and the line that held it before
        self.leaf, self.counted = False, True

    @staticmethod
    def named(kept, recording) -> str:
        if kept.packed:
            return "packed by hooks"
        if kept.thing in recording.names:
            return recording.names[kept.thing]
        if kept.is_result:
            return "its result"
        return recording.words(kept.thing).removeprefix("the ") if kept.thing.maker else "unnamed"


class Balance:
    """The bytes held after one event, by operation."""

    def __init__(self, by_op):
        self.by_op = {op: size for op, size in by_op.items() if size}
        self.total = sum(by_op.values())


class Allocation:
    """Memory that slots hold, from the first slot that held it to the last that let go."""

    def __init__(self):
        self.lines = []
        self.holders = []  # those of the lines that hold it at the moment, oldest first
        self.leaf = True


class Account:
    """The events replayed: each piece of memory stands with the oldest slot that still holds it."""

    def __init__(self, recording, leaves):
        events = [event for event in in_reading_order(recording.events) if event.kind in (SAVED, FREED)]
        self.leaves_counted = leaves
        self.lines, self.steps = [], []
        allocations = self.find_allocations(events, recording)
        self.allocations = sum(leaves or not allocation.leaf for allocation in allocations)
        self.replay(events)
        totals = [step.total for step in self.steps]
        self.peak = max(totals, default=0)
        self.peak_at = totals.index(self.peak) + 1 if totals else 0
        self.now = totals[-1] if totals else 0
        kinds = [event.kind for event in events]
        saved = kinds.count(SAVED)  # in one plain pass all saving comes first, and then all freeing begins
        self.turns_at = saved + 1 if FREED in kinds and kinds[:saved].count(SAVED) == saved else None

    def find_allocations(self, events, recording) -> list:
        """Make the entries, and find which share one memory: an address means something while it is held."""
        self.by_kept, holding, allocations = {}, {}, []
        for number, event in enumerate(events, start=1):
            memory = event.kept.thing.spot[0]
            if event.kind == FREED:
                line = self.by_kept[event.kept]
                line.until = number
                line.allocation.holders.remove(line)
                continue
            allocation = holding.get(memory)
            if allocation is None or not allocation.holders:
                allocation = holding[memory] = Allocation()
                allocations.append(allocation)
            line = self.by_kept[event.kept] = LedgerEntry(len(self.lines) + 1, event.kept, recording)
            line.since, line.allocation = number, allocation
            line.shares = allocation.holders[0] if allocation.holders else None
            allocation.lines.append(line)
            allocation.holders.append(line)
            allocation.leaf = allocation.leaf and event.kept.thing.leaf
            self.lines.append(line)
        for allocation in allocations:
            allocation.holders = []
        return allocations

    def replay(self, events) -> None:
        """Add up the bytes after each event."""
        held = {}
        for event in events:
            line = self.by_kept[event.kept]
            allocation = line.allocation
            line.leaf, line.counted = allocation.leaf, self.leaves_counted or not allocation.leaf
            before = allocation.holders[0] if allocation.holders else None
            if event.kind == SAVED:
                allocation.holders.append(line)
            else:
                allocation.holders.remove(line)
            after = allocation.holders[0] if allocation.holders else None
            if before is not after and line.counted:
                for one, sign in ((before, -1), (after, 1)):
                    if one is not None:
                        op = LEAF if allocation.leaf else one.op
                        held[op] = held.get(op, 0) + sign * one.kept.nbytes
            self.steps.append(Balance(held))

    # --- in words ---

    def names(self) -> list[str]:
        """Say what is saved or let go at each event: "+ h", "− h"; "" for a tensor that has no short name."""
        found = [""] * len(self.steps)
        for line in self.lines:
            for event, sign in ((line.since, "+"), (line.until, "−")):
                if event is not None and len(line.tensor) <= FEW:
                    found[event - 1] = f"{sign} {line.tensor}"
        return found

    def heading(self) -> list[str]:
        """Say what the ledger comes to."""
        if not self.lines:
            return [
                "ledger: no tensor was seen to be saved in this block: no input required grad, recording was off, the "
                "operations needed none for their gradients, or, on PyTorch, other saved-tensor hooks packed them."
            ]
        counted = "each piece counted once" + ("" if self.leaves_counted else ", leaves left out")
        tensors = f"{len(self.lines)} saved tensor" + "s" * (len(self.lines) != 1)
        pieces = f"{self.allocations} piece" + "s" * (self.allocations != 1)
        text = [
            f"ledger: {tensors} in {pieces} of memory, {counted}",
            f"peak: {self.peak:,} B after event {self.peak_at} of {len(self.steps)} · now: {self.now:,} B",
        ]
        if self.peak:
            parts = self.steps[self.peak_at - 1].by_op
            text.append("at the peak: " + " · ".join(f"{op} {parts[op]:,} B" for op in self.ops(parts)))
        return text

    def ops(self, parts=None) -> list[str]:
        """Return the operations that hold anything, leaves first, then in the order in which they began to."""
        seen = {}
        for step in self.steps:
            for op in step.by_op:
                seen.setdefault(op, None)
        found = [op for op in seen if parts is None or op in parts]
        return sorted(found, key=lambda op: op != LEAF)


def bytes_words(line) -> str:
    """Write what stands in the column of bytes."""
    if not line.counted:
        return f"({line.kept.nbytes:,})"
    return f"{line.kept.nbytes:,}" if line.shares is None else f"same as {line.shares.number}"


def held_words(line) -> str:
    """Write from which event to which a tensor was held."""
    return f"{line.since} to now" if line.until is None else f"{line.since} to {line.until}"


TITLES = ("", "node", "slot", "tensor", "type", "bytes", "events")
RIGHT = (0, 5)


class LedgerTable:
    """All saved tensors of a ledger; shows itself as a table."""

    def __init__(self, account, rows):
        self._heading, self._rows = account.heading(), []
        lines, self._left_out = ends_of(account.lines, rows)
        for line in lines:
            tensor = line.tensor + (" (leaf)" if line.leaf else "")
            self._rows.append((
                str(line.number), line.node, line.slot, tensor, line.form, bytes_words(line),
                held_words(line),
            ))  # fmt: skip
        self._counts_leaves = account.leaves_counted

    @property
    def notes(self) -> list[str]:
        """Name what the figures leave out."""
        if not self._rows:
            return []
        brackets = [] if self._counts_leaves else ["In brackets: memory of leaves, not counted."]
        if self._left_out:
            brackets.insert(0, f"Not shown: {self._left_out:,} lines in the middle; held.table(rows=None) has all.")
        return ["Events: saved at the first, freed at the second; numbered as below the plot.", *brackets, NOT_COUNTED]

    @property
    def text(self) -> str:
        """The table in words."""
        lines = list(self._heading)
        if self._rows:
            rows = [TITLES, *self._rows]
            wide = [max(len(row[k]) for row in rows) for k in range(len(TITLES))]
            lines.append("")
            for row in rows:
                cells = enumerate(zip(row, wide, strict=True))
                padded = [c.rjust(w) if k in RIGHT else c.ljust(w) for k, (c, w) in cells]
                lines.append("  ".join(padded).rstrip())
            lines += ["", *self.notes]
        return "\n".join(lines)

    def __str__(self):
        return self.text

    __repr__ = __str__

    @property
    def html(self) -> str:
        """The table as a card."""
        first, *rest = self._heading
        text = f'<div style="font-weight:600;margin:2px 0">{html.escape(first)}</div>'
        text += "".join(f'<div style="margin:2px 0">{html.escape(line)}</div>' for line in rest)
        if self._rows:
            text += html_table(self._rows)
            text += "".join(
                f'<div class="bs-soft" style="font-size:12px;margin-top:4px">{html.escape(note)}</div>'
                for note in self.notes
            )
        return card(text, len(self._rows))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def html_table(rows) -> str:
    head = "".join(
        f'<th style="{CELL}font-weight:600;text-align:{"right" if k in RIGHT else "left"}">{title}</th>'
        for k, title in enumerate(TITLES)
    )
    body = []
    for row in rows:
        cells = []
        for k, text in enumerate(row):
            soft = ' class="bs-soft"' if k == 0 or text.startswith(("same as", "(")) and k == 5 else ""
            look = f"text-align:{'right' if k in RIGHT else 'left'};" + "white-space:nowrap;" * (k != 3)
            if text.endswith("to now") and k == 6:
                look += "font-weight:600;"
            cells.append(f'<td{soft} style="{CELL}{look}">{html.escape(text)}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        '<table style="border-collapse:collapse;margin:8px 0 4px"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


# --- the plot ----------------------------------------------------------------------------------------------


class Plot:
    """Bytes held over events, as a picture and in words."""

    def __init__(self, account, marks=()):
        self._account, self._marks = account, list(marks)
        self._svg = None

    @property
    def text(self) -> str:
        """The plot in words: its totals, and the bytes after each event."""
        account = self._account
        lines = account.heading()
        if account.steps:
            lines += [f"from event {before + 1} on: {name}" for before, name in self._marks]
            every = -(-len(account.steps) // MANY)
            if every == 1:
                lines.append("bytes held after each event:")
            else:
                lines.append(f"bytes held after every {every}th event, {every} to {len(account.steps)}:")
            totals = [f"{step.total:,}" for step in account.steps[every - 1 :: every]]
            lines += wrapped(totals, 96)
            lines.append(NOT_COUNTED)
        return "\n".join(lines)

    @property
    def svg(self) -> str | None:
        """The picture as SVG text; None when there is nothing to plot or matplotlib is not installed."""
        if self._svg is None and self._account.steps:
            try:
                self._svg = drawn(self._account, self._marks)
            except ImportError:
                return None
        return self._svg

    def __str__(self):
        return self.text

    __repr__ = __str__

    @property
    def html(self) -> str:
        """The picture, described by the text; the text itself where there is no picture."""
        svg, text = self.svg, self.text
        if svg is None:
            why = "" if not self._account.steps else "Without matplotlib this plot is shown as text.\n"
            return card(f'<pre style="margin:0">{html.escape(why + text)}</pre>')
        return as_image(svg, in_short(text.splitlines()))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def wrapped(items, width) -> list[str]:
    """Write items in lines of at most `width` characters."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + 3 + len(item) > width:
            lines.append("  " + line)
            line = item
        else:
            line = f"{line} → {item}" if line else item
    return [*lines, "  " + line]


def unit_for(peak) -> tuple:
    """Return (bytes in one unit, its name): decimal units, so that figures can be checked by hand."""
    for size, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if peak >= 10 * size or peak >= size and name != "kB":
            return size, name
    return 1, "B"


def grouped(account) -> tuple:
    """Return (operations to show, step -> bytes for each): the largest ones, the rest together."""
    ops = account.ops()
    most = {op: max(step.by_op.get(op, 0) for step in account.steps) for op in ops}
    plain = [op for op in ops if op != LEAF]
    keep = set(sorted(plain, key=lambda op: -most[op])[: len(COLOURS) - (len(plain) > len(COLOURS))])
    shown = [op for op in ops if op == LEAF or op in keep]
    if len(keep) < len(plain):
        shown.append(OTHERS)
    columns = {op: [] for op in shown}
    for step in account.steps:
        row = dict.fromkeys(shown, 0)
        for op, size in step.by_op.items():
            row[op if op in row else OTHERS] += size
        for op in shown:
            columns[op].append(row[op])
    return shown, columns


def drawn(account, marks) -> str:
    """Draw the plot as SVG text. ImportError without matplotlib."""
    return svg_of(lambda figure: paint(figure.add_subplot(), account, marks), (WIDTH, 3.7))


def paint(axes, account, marks) -> None:
    """Paint the areas, the outline, the peak, the parts that were named, and the legend."""
    from matplotlib.ticker import MaxNLocator

    size, unit = unit_for(account.peak)
    shown, columns = grouped(account)
    count = len(account.steps)
    edges = [0.5, *[i + 0.5 for i in range(1, count + 1)]]
    floor = [0.0] * count
    colours = iter(zip(COLOURS, HATCHES, strict=True))
    set_apart = {LEAF: (LIGHT["edge"], ""), OTHERS: (LIGHT["plain_e"], "oo")}
    for op in shown:
        colour, hatch = set_apart.get(op) or next(colours)
        top = [low + value / size for low, value in zip(floor, columns[op], strict=True)]
        label = f"{op} (parameters, data)" if op == LEAF else op
        axes.stairs(top, edges, baseline=floor, fill=True, facecolor=colour, hatch=hatch, edgecolor=LIGHT["paper"],
                    linewidth=0, label=label)  # fmt: skip
        floor = top
    axes.stairs(floor, edges, color=LIGHT["ink"], linewidth=1.4)
    highest = account.peak / size
    axes.plot([account.peak_at], [highest], marker="v", color=LIGHT["ink"], markersize=8, linestyle="", clip_on=False)
    near = account.turns_at and 0 <= account.turns_at - account.peak_at < 0.2 * count  # the dotted line, right of it
    right = (near or account.peak_at > count / 2) and not marks  # a line that begins a part may stand before the peak
    axes.annotate(
        f"peak: {account.peak:,} B", (account.peak_at, highest), xytext=(-9 if right else 9, 5),
        textcoords="offset points", ha="right" if right else "left", va="bottom", fontweight="bold", color=LIGHT["ink"],
    )  # fmt: skip
    if begin := account.turns_at:
        axes.axvline(begin - 0.5, color=LIGHT["error"], linestyle=":", linewidth=1.8)
        for side, words in (("right", "saving"), ("left", "freeing")):
            axes.annotate(words, (begin - 0.5, 0.5 * highest), xytext=(-8 if side == "right" else 8, 0), ha=side,
                          va="center", textcoords="offset points", color=LIGHT["ink"],
                          bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 2.5})  # fmt: skip
    axes.set_xlim(0.5, count + 0.5)
    axes.set_ylim(0, highest * (1.3 if marks else 1.16) if highest else 1)
    for before, name in marks:
        if before:
            axes.axvline(before + 0.5, color=LIGHT["ink"], linewidth=1.2, linestyle="--")
        axes.annotate(name, (before + 0.5, axes.get_ylim()[1]), xytext=(5, -3), textcoords="offset points", va="top",
                      fontweight="bold", color=LIGHT["ink"])  # fmt: skip
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if count <= FEW:
        axes.set_xticks(range(1, count + 1), [f"{i}\n{name}" for i, name in enumerate(account.names(), start=1)])
    axes.set_xlabel("event: one tensor is saved (rise) or freed (fall)")
    axes.set_ylabel(f"held by saved tensors, {unit}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
