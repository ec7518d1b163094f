"""From an error of autograd to lines: which saved, which changed it, which failed. Everything here is words."""

import functools
import linecache
import os
import re
import traceback
from dataclasses import dataclass, field

from backscope.explaining.report import Explanation, told
from backscope.explaining.rows import rows
from backscope.graph.node_facts import sequence_nr
from backscope.graph.tensor_facts import is_tensor
from backscope.pictures.draw import names_in, snapshot
from backscope.script import blocks, pasted, spots
from backscope.script.names import Nameless, Names
from backscope.script.places import OWN, Place, of_traceback, shown
from backscope.script.recorder import MAKERS

VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
SHAPE = re.compile(r"\[[\w.]+ \[([\d, ]*)\]\]")
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
    place: Place = None
    callers: list = field(default_factory=list)  # (Place, words) of the lines that led here, as far as they tell apart
    more: list = field(default_factory=list)  # sentences about it: whose parameter, which module

    @property
    def source(self):
        return linecache.getline(self.file, self.number).strip()

    @property
    def where(self):
        return f"{shown(self.file)}:{self.number}"

    @property
    def through(self):
        """The libraries that stand between this line and PyTorch: ", through numpy/…:12", or nothing."""
        libraries = self.place.libraries if self.place is not None else []
        return "".join(f", through {shown(one.file)}:{one.line}" for one in libraries[:1])


@dataclass
class Finding:
    """The findings about one error."""

    explanation: object
    lines: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # what could not be found, and why
    facts: dict = field(default_factory=dict)  # what the record adds to the facts of the message
    kind: str = ""
    message: str = ""
    error: object = None
    recorder: object = None
    frames: list = field(default_factory=list)  # the user's frames of the traceback, innermost first
    failed: Place = None  # where the error was raised
    node: object = None  # the node that failed
    slot: str = ""  # which of its saved tensors
    roots: list = field(default_factory=list)  # the nodes that the failing pass began at
    writes: list = field(default_factory=list)  # what wrote to the saved tensor, oldest first
    cut: object = None  # where a history ended
    joins: list = field(default_factory=list)  # places where a new graph took up a part of an old one
    parameter: object = None  # the parameter, or buffer, that it is about
    found: dict = field(default_factory=dict)  # what neighbours.py has found: syntax trees, for the edits

    @property
    def row(self):
        return self.explanation.row

    def line(self, role):
        """The first Line of a role; None without one."""
        return next((line for line in self.lines if line.role == role), None)

    def place(self, role):
        line = self.line(role)
        return None if line is None else line.place

    @functools.cached_property
    def names(self):
        """The names of what is alive: looked for when first asked for."""
        try:
            return Names(self.recorder.torch, self.frames)
        except Exception as fault:  # objects of any kind are alive, and a name is a help and no condition
            self.notes.append(f"Names were not found: {type(fault).__name__}: {fault}")
            return Nameless()

    @functools.cached_property
    def edits(self):
        """The cures as edits, the likeliest first."""
        from backscope.script import edits

        try:
            return edits.propose(self)
        except Exception as fault:  # the lines and the words are worth having without a diff
            self.notes.append(f"No edit was made: {type(fault).__name__}: {fault}")
            return []

    @functools.cached_property
    def files(self):
        """The user's files that are known: those of the lines, of the traceback, and the modules that are loaded."""
        import sys

        found = [place.file for line in self.lines if line.place for place in line.place.outwards]
        found += [frame.f_code.co_filename for frame in self.frames]
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file.endswith(".py") and self.recorder.rank(file) == OWN:
                found.append(file)
        return [file for file in dict.fromkeys(found) if os.path.isabs(file) and os.path.exists(file)]


def at(role, place, what):
    """The Line of a recorded place."""
    return Line(role, place.file, place.line, place.function, what, place)


def find(error, recorder):
    """The Finding for an exception, from its message, its traceback, the graph behind it, and the record."""
    kind, message, tensors, _, raised = told(error)
    place, frames = of_traceback(error.__traceback__, recorder.rank)
    finding = Finding(None, [], [], {}, kind, message, error, recorder, frames, place)
    if (child := pasted.inner(message)) is not None:
        return of_a_child(finding, child)
    frame = frames[0] if frames else None
    culprit = None
    if versions := VERSIONS.search(message):
        culprit = failing_slot(tensors, lambda said: versions[0] in said)
    elif SECOND_TIME in message:
        culprit, first, roots = freed_slot(recorder, tensors)
    finding.roots = [node for node in (tensor.grad_fn for tensor in tensors) if node is not None]
    if culprit is not None:
        finding.node, finding.slot = culprit
        if versions:
            tell_saved(finding, versions)
        else:
            tell_freed(finding, first, roots)
    elif versions or SECOND_TIME in message:
        finding.notes.append("The node that failed was not found: its graph is gone, or the pass was started from C++.")
    elif NO_HISTORY in message:
        tell_cut(finding, tensors)
    if place is not None:
        finding.lines.append(at("failed", place, "the error was raised here"))
    number = place.line if place is not None else 0
    finding.explanation = explained(kind, message, tensors, culprit, raised, frame, number)
    firsts = {(line.file, line.number) for line in finding.lines if line.role == "first"}
    if firsts:
        first = finding.place("first")
        again = (
            place is not None
            and [each.line for each in first.outwards][: len(place.outwards)]
            == [each.line for each in place.outwards][: len(first.outwards)]
        )
        finding.facts["first"] = "here" if again else "elsewhere"
    if recorder.rests:
        finding.notes.append(f"The record ends before this line: {recorder.rests}.")
    is_none = finding.row is not None and finding.row.key == "grad is None" and place is not None
    if is_none and ".grad" not in linecache.getline(place.file, place.line):
        finding.explanation.row = None  # None of another kind
    if finding.row is not None and finding.row.key == "write too wide" and "_functorch" in files_of(error):
        finding.explanation.row = next(row for row in rows() if row.key == "vmap write")
    if {"saved", "changed"} <= {line.role for line in finding.lines}:
        finding.facts["where"] = "The line that saved it and the line that wrote to it stand under Where."
    if finding.row is not None:
        from backscope.script import neighbours, origins

        for more in (neighbours.tell, origins.tell, tell_callers):
            try:
                more(finding)
            except Exception as fault:  # what is known already is worth having
                finding.notes.append(f"Not all was found out: {type(fault).__name__}: {fault}")
    finding.explanation.facts |= finding.facts
    return finding


def files_of(error):
    """The names of the files that an error went through, as one text."""
    return " ".join(frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))


def of_a_child(finding, child):
    """The Finding for an error that another process raised: its traceback is text in the message."""
    finding.kind, finding.message = child.kind, child.message
    finding.explanation = Explanation(child.kind, child.message, None, None, "")
    here, finding.frames = finding.failed, []
    own = [one for one in child.frames if finding.recorder.rank(one[0]) == OWN and os.path.exists(one[0])]
    if own:
        file, number, function, _ = own[-1]
        finding.failed = spots.spot(file, number, function)
        finding.lines.append(at("failed", finding.failed, "the error was raised here, in another process"))
    if here is not None:
        finding.lines.append(at("passed", here, "and came to this process here"))
    how = "Run the function once in this process, without spawn or workers, and they are named."
    versions = VERSIONS.search(child.message)
    guess = spots.written(own[-1], finding.explanation.facts.get("op", "")) if own and versions else None
    if guess is not None:
        made, wrote = guess
        finding.lines.insert(0, at("changed", wrote, "as the text of the function says, this line writes to it"))
        finding.lines.insert(0, at("saved", made, "and this one made it"))
        finding.notes.append(f"What ran in that process was not recorded; the lines are read from the text. {how}")
    else:
        finding.notes.append(f"What ran in that process was not recorded: which lines are to blame is not known. {how}")
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


def freed_slot(recorder, tensors):
    """((node, slot) that a pass has freed, the place of that pass, the nodes it began at); (None, None, ()) if unknown.

    What the failing pass itself has freed is no culprit: a node must lie behind an earlier pass, too.
    """
    for walked, roots in list(recorder.passes)[-2::-1]:
        culprit = failing_slot(tensors, lambda said: SECOND_TIME in said, nodes_behind(roots))
        if culprit is not None:
            return culprit, walked, roots
    return None, None, ()


def tell_saved(finding, versions):
    """The lines that saved and changed what the failing node needed."""
    recorder, node, slot = finding.recorder, finding.node, finding.slot
    now, wanted = int(versions[1]), int(versions[2])
    calls = [call for call in recorder.calls_of(node) if call[1] is not None]
    with_writes = [(call, recorder.writes_to(set(call[2]), wanted + 1, now)) for call in calls]
    with_writes.sort(key=lambda one: not one[1])  # a node of another thread has the same number, and no writes
    if not with_writes:
        return tell_unknown(finding)
    (_, place, memories, _), writes = with_writes[0]
    shape = SHAPE.search(finding.message)
    shape = [int(one) for one in shape[1].split(",") if one.strip()] if shape else None
    known = [one for one in (finding.names.of_memory(each, shape) for each in memories) if one] if writes else []
    known.sort(key=lambda one: one[0].rpartition(".")[2] != slot)
    for one in known:  # a Linear saves its weight, and one step has written to its bias as well
        its = recorder.writes_to({recorder.memory(one[1])}, wanted + 1, now)
        if its:
            writes, finding.parameter = its, one[1]
            break
    if not writes and shape:  # what compiled code or a C++ function saves is not among its operands
        fits = [(name, one) for held in finding.names.by_memory.values() for name, one in held]
        fits = [(name, one) for name, one in fits if not one.is_inference() and one._version == now]
        fits = [one for one in fits if sorted(one[1].shape) == sorted(shape)]
        its = [recorder.writes_to({recorder.memory(one)}, wanted + 1, now) for _, one in fits]
        writes = next((one for one in its if one), [])
        finding.parameter = fits[0][1] if writes and len(fits) == 1 else None
    what = "a tensor" if slot == "saved_tensors" else f"`{slot}`"
    line = at("saved", place, f"{node.name()} saved {what} here, at version {wanted}")
    finding.lines.append(line)
    finding.writes = writes
    if writes:
        finding.facts |= {"by": writes[0].name, "leaf": writes[0].leaf}
        if writes[0].leaf:
            finding.facts["origin"] = (
                "The tensor is a parameter, or a view of one, such as the transposed weight of a Linear."
            )
        tell_name(finding, line)
    if writes and writes[0].optimizer and recorder.first_step is not None:
        finding.found["early"] = sequence_nr(node) <= recorder.first_step
    for write in writes[:3]:
        if write.place is not None:
            name = f"the optimizer ({write.name})" if write.optimizer else write.name
            changed = at("changed", write.place, f"{name} wrote to it: version {write.version - 1} → {write.version}")
            finding.lines.append(changed)
            tell_module(finding, changed, write.module and write.module())
    if len(writes) > 3:
        finding.notes.append(f"It was written to {len(writes) - 3} more times.")
    if not writes and slot != "saved_tensors":
        finding.notes.append("The write was not seen: it came from C++, from another process, or from a backward pass.")


def tell_unknown(finding):
    finding.notes.append(
        f"{finding.node.name()} was made before the record begins, in a thread that was not recorded, or inside a "
        "backward pass."
    )


def tell_name(finding, line):
    """Tell what the changed memory is called, if it is a parameter or a buffer."""
    thing = finding.parameter
    if thing is None:
        return
    name = finding.names.of(thing)
    kind = "the parameter" if thing.requires_grad else "the buffer" if "." in name else "the tensor"
    line.more.append(f"what was saved is {kind} `{name}`")
    finding.facts["parameter"] = name
    view = "a view of " if "AsStrided" in finding.message else ""
    finding.facts["origin"] = f"The tensor is {view}{kind} `{name}`."


def tell_module(finding, line, module):
    """Tell which module of PyTorch's ran at a line, and where it was built."""
    if module is None:
        return
    name, known = finding.names.of(module), finding.recorder.built.get(id(module))
    built = known[1] if known is not None and known[0]() is module else None
    where = f", built at {shown(built.file)}:{built.line}" if built is not None else ""
    line.more.append(f"in the {type(module).__name__}" + (f" at `{name}`" if name else "") + where)
    line.module, line.built = module, built
    finding.facts["module"] = f"the {type(module).__name__}" + (f" at `{name}`" if name else "")
    if getattr(module, "inplace", False):
        finding.facts["inplace"] = f"Build {finding.facts['module']} without `inplace=True`" + where.removeprefix(",")


def tell_freed(finding, first, roots):
    """The lines that built and walked what the failing node needs, and where the new graph took up the old one."""
    recorder, node = finding.recorder, finding.node
    calls = [call for call in recorder.calls_of(node) if call[1] is not None]
    if not calls:
        return tell_unknown(finding)
    line = at("built", calls[0][1], f"this line made {node.name()}, whose saved tensors are gone")
    finding.lines.append(line)
    if first is not None:
        finding.lines.append(at("first", first, "this backward pass went through it before, and freed them"))
    newest = max((sequence_nr(root) for root in roots), default=-1)
    joins = {}
    for one, number in nodes_behind(finding.roots).items():
        following = [old for old, _ in one.next_functions if old is not None and not hasattr(old, "variable")]
        if number > newest and any(sequence_nr(old) <= newest for old in following):
            call = recorder.call_of(one)
            if call is not None and call[1] is not None:
                joins.setdefault(call[1], number)
    finding.joins = sorted(joins, key=joins.get)
    for place in finding.joins[:1]:
        if place != line.place:
            finding.lines.append(at("joined", place, "here the new graph takes up what hangs on the old one"))


def tell_cut(finding, tensors):
    """The line where the history of what backward() was called on ended; where none was seen, what that means."""
    recorder = finding.recorder
    cuts = [recorder.cuts[id(one)][1] for one in tensors if not one.requires_grad and id(one) in recorder.cuts]
    made = next((cut for cut in cuts if cut.name in MAKERS), None)
    out = [cut for cut in (made.numbers if made else recorder.numbers_before) if cut.place is not None]
    numbers = {cut.place: cut for cut in [cut for cut in out if not cut.whole] or out}
    if cuts:
        finding.cut = made or cuts[0]
    if made is not None and not numbers and made.place is not None:
        finding.facts["cut"] = "numbers"
        said = f"{made.name}() copies the values of its tensors: the new tensor has no history"
        finding.lines.append(at("cut", made.place, said))
    elif made is None and cuts and cuts[0].place is not None:
        finding.facts["cut"], why = why_cut(cuts[0])
        finding.lines.append(at("cut", cuts[0].place, why))
        if finding.facts["cut"] == "off":
            off = blocks.switched_off(cuts[0].place) or blocks.switched_for_good(finding.files)
            if off is not None:
                finding.lines.append(Line("off", *off[0]))
                finding.found["off"] = off[1]
                if off[2] is not None:
                    finding.found["inside"] = off[2]
    elif made is not None and numbers:
        finding.facts["cut"] = "numbers"
        for place, cut in numbers.items():
            said = f"{cut.name}() took a number out of the graph: what is computed from it has no history"
            finding.lines.append(at("cut?", place, said))
        if made.place is not None:
            finding.lines.append(at("made", made.place, f"{made.name}() made a new tensor of numbers"))
    elif tensors and (frozen := blocks.frozen(finding)) is not None:
        finding.facts["cut"] = "frozen"
        finding.found["frozen"] = frozen[1:]
        finding.lines.append(frozen[0])
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


def tell_callers(finding):
    """For each line the callers that tell it from the others: up to the function in which all of them meet."""
    chains = [line.place.outwards for line in finding.lines if line.place is not None]
    chains += [finding.found["inside"].outwards] if "inside" in finding.found else []
    told_already = set()
    for line in finding.lines:
        if line.place is None:
            continue
        chain = line.place.outwards
        meets = (at for at, one in enumerate(chain) if all(any(o.key == one.key for o in other) for other in chains))
        callers = chain[1 : next(meets, len(chain) - 1) + 1]
        building = [one for one in callers if one.function.endswith("__init__")]
        kept = [one for one in callers if one in building[-1:] or one is callers[0] or one is callers[-1]]
        kept = [one for one in kept if (one.file, one.line) not in told_already]
        told_already |= {(one.file, one.line) for one in kept}
        kept = [one for one in kept if (one.file, one.line) != (line.file, line.number)]
        once = ", while it was built, once" + (", before the first step" if finding.found.get("early") else "")
        line.callers = [(one, once if one in building else "") for one in kept]
        if building and line.role in ("saved", "built"):
            finding.facts["building"] = "yes"
