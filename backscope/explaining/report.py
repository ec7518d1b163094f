"""`explain()`: what an error says, in sentences with its own facts; a picture with the culprit; cures, real and false.

    explain()                 the last error
    explain(loss)             the last error, with the graph of these tensors
    explain(error, loss)      an exception that was caught, or the text of one

The knowledge stands in rows, errors/*.toml, which rows.py reads; this file writes the answer, and looks for the culprit
in the graph.
"""

import contextlib
import sys
import weakref

from backscope.adapters import library_files, loaded
from backscope.explaining.rows import LESSONS, fill, find_row
from backscope.graph.model import DETACHED, FREED, STALE, SavedSlot
from backscope.graph.node_facts import sequence_nr
from backscope.graph.tensor_facts import is_module, is_tensor, safe_getattr
from backscope.pictures.draw import Picture, check_tensors, lay_out, name_parameters, names_in, snapshot
from backscope.pictures.style import with_code

HERE = "HERE"
CODE = "background:rgba(127,127,127,0.14);border-radius:3px;padding:0 3px"  # reads in light and dark
NO_CURE = "What only silences it, or does nothing"


def explain(error=None, *tensors, names=None) -> "Explanation":
    """Explain an error of autograd: what happened, what cures it, what only silences it, and the lesson about it.

    Parameters
        error       an exception, or its text. Without one it is the last error: caught by expect_error, or shown by the
                    notebook, or raised at the prompt.
        tensors     what backward was called on, for the picture with the culprit in it. They are found without being
                    given when the call that failed can still be asked for them.
        names       what it means to `draw()`.

    Returns an Explanation: a notebook shows it, print() writes it.
    Raises ValueError when there is no error yet; TypeError for what is neither error nor text.
    Limits: lines of your files are named by `watch()`, and by `python -m backscope script.py`, which record
    while the program runs; an error alone does not know them.
    """
    if is_tensor(error):
        error, tensors = None, (error, *tensors)
    kind, message, found, failed, raised = told(last_error() if error is None else error)
    if tensors:
        check_tensors(tensors)
    elif (row := find_row(message)[0]) is not None and row.seek:
        tensors = found
    known, around = names_in(sys._getframe(1)) if tensors else ({}, [])
    around += name_parameters([names] if is_module(names) else [], known)
    names = None if is_module(names) else names
    graph = snapshot(tensors, names, known, around) if tensors else None
    return Explanation(kind, message, graph, failed, raised)


class Explanation(Picture):
    """An error explained: `text`, `html`, and the picture if there is one."""

    def __init__(self, kind, message, graph, failed=None, raised=""):
        super().__init__(graph, 1)
        self.kind, self.message = kind, message
        self.row, self.facts = find_row(message)
        self.facts["raised_by"] = "warning" if kind.endswith("Warning") else raised
        self._in_a_pass = raised in ("pass", "called")
        self._marks = (
            dict.fromkeys(culprits(self.row, self.facts, graph, failed), HERE) if graph is not None and self.row else {}
        )

    @property
    def what(self) -> list[str]:
        """Three sentences: what happened."""
        if self.row is None:
            return [
                f"explain() does not know this message; it may come from your own code, or from a part of PyTorch that "
                f"this course leaves out: {first_line(self.message) or 'it has no words'}.",
                "Read the last line of the traceback that is yours: that call was refused.",
                "draw() on the tensors of that line shows what they hang on.",
            ]
        return [fill(sentence, self.facts) for sentence in self.row.says]

    @property
    def cures(self) -> list[str]:
        """The repairs, a sentence each."""
        if "cures" in self.facts:  # what was found out about this case
            return list(self.facts["cures"])
        return self.row.cures_for(self.facts | {"twin": self.facts.get("by", "")[:-1]}) if self.row else []

    @property
    def silences(self) -> list[tuple[str, str]]:
        """(what only makes the message go away, what it costs)."""
        return [(each["what"], each["cost"]) for each in self.row.silences] if self.row else []

    @property
    def lesson(self) -> str:
        """'lesson 07 (version counters)', or a sentence that there is none."""
        number = self.row.lesson if self.row else None
        if number is None:
            return (
                "No lesson is about this message."
                if self.row is None or self._in_a_pass
                else "No lesson is about this: it needs no graph."
            )
        return f"Read lesson {number:02} ({LESSONS[number]})."

    @property
    def seen(self) -> str:
        """The sentence that tells what is marked in the picture; empty without a picture."""
        if self._graph is None:
            return ""
        if not self._marks:
            return "The picture shows the graph as it is now."
        return f"In the picture {HERE} marks {', '.join(self._called(what) for what in self._marks)}."

    def _called(self, what):
        graph, kind, i = self._graph, *what[:2]
        if kind == "value":
            return graph.title(i)
        node = graph.node_title(i) if graph.nodes[i].folded or graph.nodes[i].accumulates else graph.node_words(i)
        if kind == "node":
            return node
        slot = graph.nodes[i].slots[what[2]]
        held = slot.content if slot.value is None else graph.title(slot.value)
        return f"saved {slot.name}{' = ' + held if held else ''} of {node}"

    @property
    def text(self) -> str:
        """Everything in words; the listing of the picture at the end."""
        lines = [f"{self.kind}: {first_line(self.message)}", "", "What happened", *map("  {}".format, self.what)]
        if self.cures:
            lines += ["", "What cures it", *map("  - {}".format, self.cures)]
        if self.silences:
            lines += ["", NO_CURE, *(f"  - {what}: {cost}." for what, cost in self.silences)]
        lines += ["", self.lesson]
        if self._graph is not None:
            lines += ["", self.seen, Picture.text.fget(self)]
        return "\n".join(lines)

    @property
    def html(self) -> str:
        """The card that a notebook shows."""
        parts = [f"<b>{escape(self.kind)}</b>: {escape(first_line(self.message))}"]
        parts.append(f'<p style="margin:8px 0">{" ".join(map(escape, self.what))}</p>')
        for title, items in (
            ("What cures it", [escape(cure) for cure in self.cures]),
            (NO_CURE, [f"{escape(what)}: {escape(cost)}." for what, cost in self.silences]),
        ):
            if items:
                inside = "".join(f"<li>{item}</li>" for item in items)
                parts.append(f'<div style="font-weight:600">{title}</div><ul style="margin:2px 0 8px">{inside}</ul>')
        parts.append(f"<div>{escape(self.lesson)}</div>")
        if self._graph is not None:
            parts.append(f'<div style="margin:8px 0">{escape(self.seen)}</div>{super().html}')
        return (
            '<div class="bs-panel" style="border:1px solid #8A8A8A;border-left:4px solid #B07A1E;border-radius:8px;'
            f'padding:10px 16px;max-width:736px">{"".join(parts)}</div>'
        )

    def _lay_out(self):
        return None if self._graph is None else lay_out(self._graph, self._detail, self._marks)


def escape(text) -> str:
    """Escape text for HTML, with `code` in its own font."""
    return with_code(text, f'style="{CODE}"', quote=True)


def first_line(message) -> str:
    """Return the first line of a message that holds words."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "")


# --- the culprit -------------------------------------------------------------------------------------------


def culprits(row, facts, graph, failed=None) -> list[tuple]:
    """Find what to mark: keys such as ("slot", i, k), ("node", i), ("value", v). `failed`: the key of the failing node.

    Without it (PyTorch does not tell) the newest slot that fits is marked: right, unless the failing pass itself freed
    a newer one.
    """
    slots = [("slot", i, k) for i, node in reversed(list(enumerate(graph.nodes))) for k in range(len(node.slots))]
    state = {"stale": STALE, "freed": FREED, "detached": DETACHED}.get(row.seek)
    if state:
        met = [what for what in slots if slot_at(graph, what).state == state]
        met = [what for what in met if fits(slot_at(graph, what), facts, graph)] or met
        met = [what for what in met if graph.nodes[what[1]].key == failed] or met
        folded = [("node", i) for i, node in enumerate(graph.nodes) if node.folded_slots.get(state)]
        return (met or folded)[:1]
    asked = list(graph.asked)
    bases = {graph.values[v].view_of for v in asked} - {None}
    reached = {node.leaf for node in graph.nodes}
    chosen = {
        "asked": asked,
        "leaf": [v for v in {*asked, *bases} if graph.values[v].leaf and graph.values[v].requires_grad],
        "view": [v for v in asked if graph.values[v].view_of is not None or graph.values[v].problem],
        "plain": [v for v in asked if not graph.values[v].requires_grad],
        "unused": [v for v in asked if graph.values[v].leaf and v not in reached],
        "hooks": [v for v, value in enumerate(graph.values) if value.hooks or value.post_hooks],
    }.get(row.seek, [])
    if row.seek in ("node", "NotImplemented"):
        name = facts.get("node", row.seek)
        return [("node", i) for i, node in enumerate(graph.nodes) if name and node.name == name]
    return [("value", v) for v in sorted(chosen)]


def slot_at(graph, what) -> SavedSlot:
    """Return the slot of a key ("slot", i, k)."""
    return graph.nodes[what[1]].slots[what[2]]


def fits(slot, facts, graph) -> bool:
    """Tell whether a slot has the versions, and as far as it is known the shape, that the message names."""
    if slot.state != STALE or "now" not in facts:
        return True
    shape = "[" + graph.values[slot.value].shape.strip("(),") + "]" if slot.value is not None else facts["shape"]
    return (str(slot.saved), str(slot.now), shape) == (facts["wanted"], facts["now"], facts["shape"])


# --- which error -------------------------------------------------------------------------------------------

_remembered = None  # (type name, message, weak references, key of the failing node, where, id of sys.last_value)


def remember(error) -> None:
    """Keep what explain() needs of an error that a lesson has caught: words, and no tensor alive."""
    global _remembered
    roots = [weakref.ref(tensor) for tensor in tensors_in(error)]
    kind, message, _, failed, raised = told(error)
    _remembered = kind, message, roots, failed, raised, id(getattr(sys, "last_value", None))


def last_error() -> BaseException | tuple:
    """Return the error shown last by the notebook, or the one remembered last, whichever is newer."""
    shown = getattr(sys, "last_value", None)
    if _remembered is not None and (shown is None or id(shown) == _remembered[-1]):
        return _remembered
    if shown is None:
        raise ValueError(
            "There is no error to explain yet. Give one: explain(error, loss) after `except RuntimeError as error`, "
            "or its text."
        )
    return shown


def told(error) -> tuple:
    """Return (type name, message, tensors of the failing call, key of the node at which it failed, raised_by)."""
    if isinstance(error, tuple):
        kind, message, roots, failed, raised, _ = error
        return kind, message, tuple(t for t in (ref() for ref in roots) if t is not None), failed, raised
    if isinstance(error, BaseException):
        return type(error).__name__, str(error), tuple(tensors_in(error)), failing_node(error), raised_by(error)
    if isinstance(error, str):
        kind, colon, message = error.strip().partition(": ")
        known = colon and kind.isidentifier()
        return (kind, message, (), None, "") if known else ("Error", error.strip(), (), None, "")
    raise TypeError(
        f"explain() takes an error, its text, or tensors, not {type(error).__name__}: explain(), explain(loss) or "
        "explain(error, loss)."
    )


def failing_node(error) -> int | None:
    """Return the key of the node that ran when the error was raised; None where no frame shows it, as in PyTorch."""
    step, key = error.__traceback__, None
    while step is not None:
        for adapter in loaded():
            node = adapter.node_running_in(step.tb_frame)
            with contextlib.suppress(AttributeError):  # a checkpoint's node is none of the graph's
                key = key if node is None else sequence_nr(node)
        step = step.tb_next
    return key


def raised_by(error) -> str:
    """Tell by what an error was raised: by a line, by a pass, by a line that a pass called; "" unknown."""
    step, raised = error.__traceback__, ""
    while step is not None:
        code = step.tb_frame.f_code
        own = code.co_filename.startswith(library_files())
        if raised in ("pass", "called"):
            raised = raised if own else "called"
        else:
            raised = "pass" if own and code.co_name in ("backward", "grad") else "line"
        step = step.tb_next
    return raised


def tensors_in(error) -> list:
    """Find the tensors that the failing backward() or grad() was given: `loss` of loss.backward()."""
    step = error.__traceback__
    while step is not None:
        held = step.tb_frame.f_locals if step.tb_frame.f_code.co_name in ("backward", "grad") else {}
        for name in ("tensors", "outputs", "self"):
            given = held.get(name)
            given = given if type(given) in (tuple, list) else (given,)
            if given and all(map(is_tensor, given)):
                return [tensor for tensor in given if safe_getattr(tensor, "shape") is not None]
        step = step.tb_next
    return []
