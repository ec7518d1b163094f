"""From an error of autograd to lines: which saved, which changed it, which failed. Everything here is words."""

import linecache
import os
import re
from dataclasses import dataclass, field

from backscope.explaining.report import Explanation, told
from backscope.graph.node_facts import sequence_nr
from backscope.graph.tensor_facts import is_tensor
from backscope.pictures.draw import names_in, snapshot
from backscope.script.recorder import MAKERS

VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
SECOND_TIME = "backward through the graph a second time"
NO_HISTORY = "does not require grad and does not have a grad_fn"
MOST = 20_000  # nodes of a graph that are looked through


@dataclass
class Line:
    """One line of the user's files, and what it did."""

    role: str  # "saved", "changed", "failed", …
    file: str
    number: int
    function: str
    what: str  # a sentence

    @property
    def source(self):
        return linecache.getline(self.file, self.number).strip()

    @property
    def where(self):
        return f"{shown(self.file)}:{self.number}"


@dataclass
class Finding:
    """What is known of one error."""

    explanation: object
    lines: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # what could not be found, and why
    facts: dict = field(default_factory=dict)  # what the record adds to the facts of the message


def shown(file):
    """A file's name as short as it can be typed here."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith(os.pardir) else relative


def at(role, place, what):
    """The Line of a recorded place."""
    return Line(role, place.file, place.line, place.function, what)


def find(error, recorder):
    """The Finding for an exception, from its message, its traceback, the graph behind it, and the record."""
    kind, message, tensors, _, raised = told(error)
    frame, number = failing_line(error, recorder)
    finding = Finding(None)
    culprit = first = None
    if versions := VERSIONS.search(message):
        culprit = failing_slot(tensors, lambda said: versions[0] in said)
    elif SECOND_TIME in message:
        for walked, roots in list(recorder.passes)[-2::-1]:  # what the failing pass itself has freed is no culprit
            culprit = failing_slot(tensors, lambda said: SECOND_TIME in said, nodes_behind(roots))
            if culprit is not None:
                first = walked
                break
    if culprit is not None:
        node, slot = culprit
        tell_saved(finding, recorder, node, slot, versions, first)
    elif versions or SECOND_TIME in message:
        finding.notes.append(
            "The node that failed was not found: its graph is gone, or the pass was started from C++."
        )
    elif NO_HISTORY in message:
        tell_cut(finding, recorder, tensors)
    code = frame and frame.f_code
    if frame is not None:
        finding.lines.append(Line("failed", code.co_filename, number, code.co_qualname, "the error was raised here"))
    finding.explanation = explained(kind, message, tensors, culprit, raised, frame, number)
    firsts = {(line.file, line.number) for line in finding.lines if line.role == "first"}
    if firsts:
        again = any(line.role == "failed" and (line.file, line.number) in firsts for line in finding.lines)
        finding.facts["first"] = "here" if again else "elsewhere"
    finding.explanation.facts |= finding.facts
    if recorder.rests:
        finding.notes.append(f"The record ends before this line: {recorder.rests}.")
    if kind == "AttributeError" and frame is not None and ".grad" not in linecache.getline(code.co_filename, number):
        finding.explanation.row = None  # None of another kind
    if {"saved", "changed"} <= {line.role for line in finding.lines}:
        finding.explanation.facts["where"] = "The line that saved it and the line that wrote to it stand under Where."
    return finding


def explained(kind, message, tensors, culprit, raised, frame, number):
    """The Explanation, with a picture when the graph is at hand; names come from the failing line's variables."""
    graph = None
    if culprit is None and raised == "line" and frame is not None:  # no pass was running: what the line itself names
        tensors = tensors_named(frame, number)
    if tensors and frame is not None and (culprit is not None or raised == "line"):
        known, around = names_in(frame)
        try:
            graph = snapshot(tensors, None, known, around)
        except Exception:  # a picture is a help and no condition
            graph = None
    return Explanation(kind, message, graph, culprit and sequence_nr(culprit[0]), raised)


def tensors_named(frame, number):
    """The tensors among the variables that a line of this frame names, at most four."""
    words = re.findall(r"[A-Za-z_]\w*", linecache.getline(frame.f_code.co_filename, number))
    return [frame.f_locals[word] for word in dict.fromkeys(words) if is_tensor(frame.f_locals.get(word))][:4]


def failing_line(error, recorder):
    """(frame, line) of the user's own line in the traceback that is nearest to the error."""
    found, step = (None, 0), error.__traceback__
    while step is not None:
        place = recorder.place(step.tb_frame)
        if place is not None and place.code is step.tb_frame.f_code:
            found = step.tb_frame, step.tb_lineno
        step = step.tb_next
    return found


def nodes_behind(roots):
    """{node: its sequence number} of the nodes that a pass from these nodes runs, leaves left out.

    The numbers alone would not do: each thread counts its own nodes.
    """
    stack, seen = [node for node in roots if node is not None], {}
    while stack and len(seen) < MOST:
        node = stack.pop()
        if hasattr(node, "variable") or node in seen:
            continue
        seen[node] = sequence_nr(node)
        stack.extend(following for following, _ in node.next_functions if following is not None)
    return seen


def failing_slot(tensors, is_it, among=None):
    """(node, name of the slot) of the newest node behind these tensors whose slot refuses with these words."""
    behind = nodes_behind([tensor.grad_fn for tensor in tensors])
    nodes = [node for node in behind if among is None or node in among]
    for node in sorted(nodes, key=sequence_nr, reverse=True):
        for name in dir(node):
            if name.startswith("_saved_") or name == "saved_tensors":
                try:
                    getattr(node, name)
                except RuntimeError as refused:
                    if is_it(str(refused)):
                        return node, name.removeprefix("_saved_")
                except Exception:
                    continue
    return None


def tell_saved(finding, recorder, node, slot, versions, first):
    """The lines that saved and changed, or that built and walked, what the failing node needed."""
    name, call = node.name(), recorder.call_of(node)
    if call is None or call[1] is None:
        finding.notes.append(f"{name} was made before the record begins, in another thread, or inside a backward pass.")
        return
    _, place, memories, _ = call
    if versions is None:
        finding.lines.append(at("built", place, f"this line made {name}, whose saved tensors are gone"))
        if first is not None:
            finding.lines.append(at("first", first, "this backward pass went through it before, and freed them"))
        return
    now, wanted = int(versions[1]), int(versions[2])
    what = "a tensor" if slot == "saved_tensors" else f"`{slot}`"
    finding.lines.append(at("saved", place, f"{name} saved {what} here, at version {wanted}"))
    writes = recorder.writes_to(set(memories), wanted + 1, now)
    if writes:
        finding.facts |= {"by": writes[0].name, "leaf": writes[0].leaf}
        if writes[0].leaf:
            finding.facts["origin"] = (
                "The tensor is a parameter, or a view of one, such as the transposed weight of a Linear."
            )
    for write in writes[:3]:
        if write.place is not None:
            name = f"the optimizer ({write.name})" if write.optimizer else write.name
            said = f"{name} wrote to it: version {write.version - 1} → {write.version}"
            finding.lines.append(at("changed", write.place, said))
    if len(writes) > 3:
        finding.notes.append(f"It was written to {len(writes) - 3} more times.")
    if not writes:
        finding.notes.append("The write was not seen: it came from C++, from another thread, or from a backward pass.")


def tell_cut(finding, recorder, tensors):
    """The line where the history of what backward() was called on ended; where none was seen, what that means."""
    cuts = [recorder.cuts[id(one)][1] for one in tensors if not one.requires_grad and id(one) in recorder.cuts]
    numbers = {cut.place: cut for cut in recorder.numbers_before if cut.place is not None}
    made = next((cut for cut in cuts if cut.name in MAKERS), None)
    if made is None and cuts and cuts[0].place is not None:
        finding.facts["cut"], why = why_cut(cuts[0])
        finding.lines.append(at("cut", cuts[0].place, why))
    elif made is not None and numbers:
        finding.facts["cut"] = "numbers"
        for place, cut in numbers.items():
            said = f"{cut.name}() took a number out of the graph: what is computed from it has no history"
            finding.lines.append(at("cut?", place, said))
        if made.place is not None:
            finding.lines.append(at("made", made.place, f"{made.name}() made a new tensor of numbers"))
    elif tensors:
        finding.notes.append(
            "No line was seen that cuts a history. So it seems that nothing this tensor was computed from requires "
            "grad. Are the parameters frozen, or is it made of plain numbers?"
            + "".join(f" {cut.name}() was called in line {place.line}." for place, cut in numbers.items())
        )


def why_cut(cut):
    """(which cure, a sentence): why the result of a call has no history."""
    if cut.name == "data":
        return "left", "`.data` is a tensor without a history"
    if cut.name in ("detach", "detach_"):
        return "left", f"{cut.name}() leaves the history behind"
    if cut.name == "grad":
        return "grad", "grad() gave gradients without a history: it was not told create_graph=True"
    if cut.function:
        return "function", f"no tensor that {cut.name} was given requires grad, and what it uses besides does not count"
    if not cut.recorded:
        return "off", f"{cut.name} ran while recording was off (no_grad, inference_mode or set_grad_enabled(False))"
    if cut.whole:
        return "whole", f"{cut.name} gives integers or bools, which have no derivative: the history ends here"
    return "lost", f"the result of {cut.name} has no history, although what went in had one"
