"""`explain()`: what an error says, in sentences with its own facts; a picture with the culprit; cures, real and false.

    explain()                 the last error
    explain(loss)             the last error, with the graph of these tensors
    explain(error, loss)      an exception that was caught, or the text of one

The knowledge stands in rows (rows.py, and a file about_… for each field); this file finds the row, fills its sentences
with the facts of the message, and looks for the culprit in the graph.
"""

import contextlib
import html
import re
import sys
import weakref

from backscope.adapters import library_files, loaded
from backscope.explaining.about_data import ROWS as ABOUT_DATA
from backscope.explaining.about_functions import FUNCTIONS, HOOKS
from backscope.explaining.about_leaves import LEAVES
from backscope.explaining.about_neighbours import NEIGHBOURS
from backscope.explaining.about_passes import PASSES
from backscope.explaining.about_saved import SAVED
from backscope.explaining.about_tools import TOOLS
from backscope.explaining.about_writes import WRITING
from backscope.graph.model import DETACHED, FREED, STALE
from backscope.graph.node_facts import sequence_nr
from backscope.graph.tensor_facts import is_module, is_tensor, safe_getattr
from backscope.pictures.draw import Picture, check_tensors, lay_out, name_parameters, names_in, snapshot

ROWS = SAVED + WRITING + LEAVES + PASSES + HOOKS + FUNCTIONS + TOOLS + ABOUT_DATA  # the first that fits counts
HERE = "HERE"
CODE = "background:rgba(127,127,127,0.14);border-radius:3px;padding:0 3px"  # reads in light and dark
NO_CURE = "What only silences it, or does nothing"
LESSONS = {
    0: "start here", 1: "a computation is a graph", 2: "leaves and requires_grad", 3: "vector-Jacobian products",
    4: "the engine", 5: "leaf accumulation", 6: "saved tensors and memory", 7: "version counters",
    8: "views share memory", 9: "ways out of the graph", 10: "a training loop", 11: "custom Functions", 12: "hooks",
    13: "double backward", 14: "packing and checkpointing", 15: "reading PyTorch", 16: "five bug reports",
    17: "two machines",
}  # fmt: skip
LAST_LESSON = 17  # the last one that there is a notebook for
CURES_OF_A_LEAF = (
    "A parameter: compute the loss again after the update, and call backward() on the new loss.",
    "Or move the update behind backward(): in training, optimizer.step() comes after the last backward().",
    "Data or a mask: write to a copy, `m = m.clone()` before the write.",
)
CURES_OF_AN_UPDATE = (
    *CURES_OF_A_LEAF[:2],
    "If the line that saved ran in an earlier step, as with a hidden state that is kept: `h = h.detach()` at the "
    "beginning of each step.",
)
CURES_OF_AN_ITEM = (
    "In a loop that fills a buffer: collect the parts in a list, and join them after the loop: `torch.stack(parts)`.",
    "Let the operation that saves read a copy, `h[t].clone()` in place of `h[t]`; or write to one: `y = y.clone()` "
    "before the line that changed it.",
    "With a mask: `y = y.masked_fill(mask, 0)` or `torch.where(mask, new, y)` makes a new tensor.",
)
CURES_OF_MAX_NORM = (
    "embedding() with max_norm shortens rows of its weight in place. Where the weight itself is used, use a copy: "
    "`emb.weight.clone()`.",
    "Call the embedding first, and use its weight afterwards.",
)
CURES_OF_A_SECOND_PASS = {  # by where the first pass was started
    "here": (
        "Compute in each step what the loss depends on: the line marked `built` made the old part.",
        "Carry over only numbers from one step to the next: `state = state.detach()`, `old_logp = old_logp.detach()`.",
        "A sum of losses for the log: `total += loss.item()`, and call backward() on the loss of this step.",
        "If several passes over one graph are meant: retain_graph=True on all but the last.",
    ),
    "elsewhere": (
        "If the first pass did not have to go there, as a GAN's discriminator step into the generator: cut it off with "
        "`fake.detach()`.",
        "If both losses should go there: add them and call backward() once, or give retain_graph=True to the first.",
        "If an optimizer has stepped in between, or parameters were written to: compute the second loss anew.",
    ),
}
CURES_OF_A_CUT = {  # by what cut the history: see why_cut in work/findings.py
    "left": "Leave it out in the line that cut, where the gradient is wanted; detach only what is logged or kept.",
    "grad": "Ask for that gradient with `create_graph=True`: without, what is made of it is a constant (lesson 13).",
    "off": "Take that line out of the block that switches recording off. After `torch.set_grad_enabled(False)` comes "
    "`torch.set_grad_enabled(True)`. `sample()` of a distribution records nothing, `rsample()` does.",
    "whole": "Compute the loss from the numbers before that line: `cross_entropy(logits, target)` in place of argmax, "
    "a sigmoid in place of a comparison, `-dist.log_prob(action) * reward` in place of the action itself.",
    "function": "Give the Function what requires grad as arguments of apply(). With checkpoint(): "
    "`use_reentrant=False`.",
    "numbers": "Keep tensors: `torch.stack(losses).mean()` in place of numbers from item(), tolist() or numpy().",
    "frozen": "Let those that should learn require grad: `p.requires_grad_(True)`, before the optimizer is made.",
    "lost": "Look at that line: an operation that has a derivative, of an input that requires grad, keeps the history.",
}
NO_TWIN = {"bernoulli_", "set_", "resize_"}  # `y.bernoulli()` is another operation than `y.bernoulli_(p)`
RAISED = {  # what AT_ONCE of about_data.py says: the same message comes from other places, too
    "line": "It was raised by the line itself, as it ran: no graph is needed for that, and gradients have nothing to "
    "do with it.",
    "called": "It was raised during a backward pass, by a line that the pass called: the line stands in a custom "
    "backward, in a hook, or in a function that backward runs.",
    "pass": "It was raised by backward() or grad(): for one of its arguments, or by a node or a leaf that the pass "
    "arrived at, which happens when contents were replaced through .data since the forward pass.",
    "warning": "This is a warning: unless warnings are made errors, the line goes on to its end.",
    "": "Usually it is raised by the line itself, as it runs, and gradients have nothing to do with it; a line of a "
    "custom backward or of a hook runs in the backward pass only.",
}
TYPES = {"FloatTensor": "float32", "DoubleTensor": "float64", "LongTensor": "int64", "CPUBoolType": "bool"}


def explain(error=None, *tensors, names=None):
    """What an error of autograd means: what happened, what cures it, what only silences it, and the lesson about it.

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
        self.facts["raised"] = RAISED["warning" if kind.endswith("Warning") else raised]
        self._in_a_pass = raised in ("pass", "called")
        self._marks = (
            dict.fromkeys(culprits(self.row, self.facts, graph, failed), HERE) if graph is not None and self.row else {}
        )

    @property
    def what(self):
        """What happened: three sentences."""
        if self.row is None:
            return [
                f"explain() does not know this message; it may come from your own code, or from a part of PyTorch that "
                f"this course leaves out: {first_line(self.message) or 'it has no words'}.",
                "Read the last line of the traceback that is yours: that call was refused.",
                "draw() on the tensors of that line shows what they hang on.",
            ]
        return [fill(sentence, self.facts) for sentence in self.row.says]

    @property
    def cures(self):
        """What repairs it."""
        if "cures" in self.facts:  # what was found out about this case
            return list(self.facts["cures"])
        if self.row and self.row.key == "version" and "by" in self.facts:
            return cures_of_a_write(self.facts["by"], self.facts["leaf"], [*self.row.cures])
        if self.row and self.row.key == "version" and self.facts.get("op", "AsStrided") == "AsStrided":
            return list(CURES_OF_A_LEAF)  # `y = y + 1` and clone() are no cure for a parameter after its update
        if self.row and self.row.key == "freed" and "first" in self.facts:
            return list(CURES_OF_A_SECOND_PASS[self.facts["first"]])
        if self.row and self.row.key == "no history" and "cut" in self.facts:
            return [CURES_OF_A_CUT[self.facts["cut"]]]
        return [fill(cure, self.facts) for cure in self.row.cures] if self.row else []

    @property
    def silences(self):
        """(what only makes the message go away, what it costs)."""
        return list(self.row.silences) if self.row else []

    @property
    def lesson(self):
        """'lesson 07 (version counters)', or a sentence that there is none."""
        number = self.row.lesson if self.row else None
        if number is None:
            return (
                "No lesson is about this message."
                if self.row is None or self._in_a_pass
                else "No lesson is about this: it needs no graph."
            )
        if number > LAST_LESSON:
            return f"A lesson about this ({LESSONS[number]}) is not written yet."
        return f"Read lesson {number:02} ({LESSONS[number]})."

    @property
    def seen(self):
        """What is marked in the picture, in a sentence; empty without a picture."""
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
    def text(self):
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
    def html(self):
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


def cures_of_a_write(name, leaf, usual):
    """What cures it if this operation wrote, to a leaf that requires grad or to another tensor."""
    if name.startswith("embedding"):
        return list(CURES_OF_MAX_NORM)
    if leaf:
        return list(CURES_OF_AN_UPDATE)
    if name == "__setitem__":
        return list(CURES_OF_AN_ITEM)
    if not name.endswith("_"):
        return [f"Leave out `inplace=True` or `out=` where {name} is called.", *usual[1:]]
    twin = name[:-1]
    if name in NO_TWIN or not all(hasattr(adapter.Tensor, twin) for adapter in loaded()[:1]):
        return ["Make a new tensor where this one is written to.", *usual[1:]]
    return [
        f"Write out of place: `y = y.{twin}(…)` where there is `y.{name}(…)`; `y = y + 1` where there is `y += 1`.",
        *usual[1:],
    ]


def escape(text):
    """Text for HTML, with `code` in its own font."""
    return re.sub(r"`([^`]*)`", rf'<code style="{CODE}">\1</code>', html.escape(text))


def first_line(message):
    """The first line of a message that holds words."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "")


# --- the row and its facts ---------------------------------------------------------------------------------


def find_row(message):
    """(row, facts) of the first row whose pattern is in the message; (None, {})."""
    for row in (*NEIGHBOURS, *ROWS):
        found = re.search(row.pattern, message, re.DOTALL)
        if found:
            return row, facts_of({k: v for k, v in found.groupdict().items() if v is not None})
    return None, {}


def facts_of(facts):
    """The facts of a message, and what follows from them."""
    for name in ("mode", "how"):
        if name + "2" in facts:
            facts[name] = facts[name + "2"]
    if "kind" in facts:
        facts["kind"] = TYPES.get(facts["kind"].rpartition(".")[2], facts["kind"])
    if "op" in facts:
        facts["op"] = facts["op"].rpartition("::")[2]
    if "now" in facts:
        times = int(facts["now"]) - int(facts["wanted"])
        facts["times"] = {1: "once", 2: "twice"}.get(times, f"{times} times")
        facts["origin"] = origin_of(facts)
        facts["where"] = (
            f"Anomaly mode knows the lines: {facts['line']} saved it, {facts['change']} changed it."
            if "line" in facts
            else "The error appears at backward, far from its cause: look upwards for a write to this tensor, "
            "a name that ends in _, `+=`, `x[i] = …`, `inplace=True`, `out=`, or an optimizer's step. "
            "`with watch() as log:` around forward and backward names the line."
        )
    facts.setdefault("unused", f" (numbers {facts['indices'].strip()})" if "indices" in facts else "")
    facts.setdefault("twice", f" for `{facts['name']}`" if "name" in facts else "")
    facts.setdefault("hooked", "A module with a full backward hook")
    facts.setdefault("side", "output")
    if "type" in facts:
        facts |= {"what": f"tensors of {facts['type']}", "instead": "convert the data first."}
    return facts


def origin_of(facts):
    """What the message says of where the changed tensor came from."""
    if "op" not in facts:
        return "No operation is named, so it is a leaf or a plain tensor: a parameter, data, a mask."
    said = f"“output {facts['output']} of {facts['op']}” says what it is: "
    if facts["op"] == "AsStrided":
        return said + (
            "a view, such as a slice, or the transposed weight of a Linear. A view whose memory has been written to "
            "is given a new node with this name."
        )
    return said + (
        "this operation made the tensor, or made its last recorded write; a write under no_grad or through detach() is "
        "not named."
    )


def fill(sentence, facts):
    """A sentence with its facts; braces that are not facts stay."""
    return re.sub(r"\{(\w+)\}", lambda m: facts.get(m[1], m[0]), sentence)


# --- the culprit -------------------------------------------------------------------------------------------


def culprits(row, facts, graph, failed=None):
    """What to mark: keys such as ("slot", i, k), ("node", i), ("value", v). `failed`: the key of the failing node.

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


def slot_at(graph, what):
    return graph.nodes[what[1]].slots[what[2]]


def fits(slot, facts, graph):
    """True when a slot has the versions, and as far as it is known the shape, that the message names."""
    if slot.state != STALE or "now" not in facts:
        return True
    shape = "[" + graph.values[slot.value].shape.strip("(),") + "]" if slot.value is not None else facts["shape"]
    return (str(slot.saved), str(slot.now), shape) == (facts["wanted"], facts["now"], facts["shape"])


# --- which error -------------------------------------------------------------------------------------------

_remembered = None  # (type name, message, weak references, key of the failing node, where, id of sys.last_value)


def remember(error):
    """Keep what explain() needs of an error that a lesson has caught: words, and no tensor alive."""
    global _remembered
    roots = [weakref.ref(tensor) for tensor in tensors_in(error)]
    kind, message, _, failed, raised = told(error)
    _remembered = kind, message, roots, failed, raised, id(getattr(sys, "last_value", None))


def last_error():
    """The error shown last by the notebook, or the one remembered last, whichever is newer."""
    shown = getattr(sys, "last_value", None)
    if _remembered is not None and (shown is None or id(shown) == _remembered[-1]):
        return _remembered
    if shown is None:
        raise ValueError(
            "There is no error to explain yet. Give one: explain(error, loss) after `except RuntimeError as error`, "
            "or its text."
        )
    return shown


def told(error):
    """(type name, message, tensors the failing call was about, key of the node at which it failed, where: RAISED)."""
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


def failing_node(error):
    """The key of the node that ran when the error was raised; None where no frame shows it, as in PyTorch."""
    step, key = error.__traceback__, None
    while step is not None:
        for adapter in loaded():
            node = adapter.node_running_in(step.tb_frame)
            with contextlib.suppress(AttributeError):  # a checkpoint's node is none of the graph's
                key = key if node is None else sequence_nr(node)
        step = step.tb_next
    return key


def raised_by(error):
    """Which sentence of RAISED is true of an error: by a line, by a pass, by a line that a pass called; "" unknown."""
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


def tensors_in(error):
    """What the failing backward() or grad() was given: `loss` of loss.backward()."""
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
