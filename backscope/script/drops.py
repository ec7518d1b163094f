"""Notice what is computed and dropped: losses that no pass starts from, updates that reach no parameter, copies.

A tensor counts as dropped when it has died and no call has used it. Reading its number uses it too.
"""

import ast
import weakref

from backscope.script.histories import graph_of
from backscope.script.source import source_of
from backscope.script.watching import Watcher

FEW = 3  # times that one line is looked through for the parameters behind it
MOST = 2000


class Drops(Watcher):
    """Follows losses and updates until a call uses them."""

    def __init__(self, doubts):
        self.doubts, self.recorder = doubts, doubts.recorder
        self.losses = {}  # number of a node -> Made: a scalar since the last pass
        self.taken = {}  # place -> {passes before}: a pass went through a scalar of this line
        self.dropped = {}  # place -> {passes before}: a scalar of this line has died unused
        self.lines = {}  # place -> place of the pass that went through another scalar of this line
        self.behind = {}  # place of a dropped scalar -> ids of the parameters behind it
        self.looked = {}  # place -> how often it was looked through
        self.updates = {}  # id of a tensor -> Made: a parameter and its gradient went into it
        self.lost = {}  # (place, id of a parameter) -> [count, weak reference, version]
        self.copies = doubts.torch.utils.weak.WeakTensorKeyDictionary()  # copy -> (place, weak reference, version)
        self.written = {}  # (place of a copy, id of its parameter) -> [passes with a write to it, the last, …]

    # --- losses ---

    def after_scalar(self, result, node):
        """A call has made a scalar with a history."""
        strand = self.recorder.strand
        number = node._sequence_nr()
        if not strand.numbers or strand.numbers[-1] != number:
            return
        place = strand.calls[-1][1]
        if place is None or len(self.losses) >= MOST:
            return
        self.losses[number] = Made(result, place, self.doubts.passes)
        if place in self.dropped and self.looked.get(place, 0) < FEW:
            self.looked[place] = self.looked.get(place, 0) + 1
            self.behind.setdefault(place, set()).update(graph_of([node])[1])

    def before_pass(self, given, kwargs, place, frame):
        if self.losses:
            nodes = self.doubts.graph[0]
            numbers = set(nodes.values())
            for number, one in list(self.losses.items()):
                if number in numbers:
                    self.taken.setdefault(one.place, set()).add(one.passes)
                    self.lines[one.place] = place
                elif one.tensor() is None and not one.used:
                    self.dropped.setdefault(one.place, set()).add(one.passes)
                elif not one.used:
                    continue
                del self.losses[number]
        for key, one in list(self.updates.items()):
            if one.tensor() is None:
                del self.updates[key]
                leaf = one.leaf()
                if leaf is not None and leaf._version == one.version and id(leaf) not in self.doubts.owned:
                    self.lost.setdefault((one.place, id(leaf)), [0, one.leaf, self.doubts.names.name(leaf)])[0] += 1

    def cause(self, key):
        """The line whose loss is always dropped, if the parameter of this id is behind it."""
        return next((place for place, behind in self.behind.items() if place not in self.taken and key in behind), None)

    # --- updates ---

    def after_update(self, before, result, frame):
        """`p - lr * p.grad`: is it ever used?"""
        leaf = before[0][0]
        if not (leaf.is_leaf and leaf.requires_grad):
            known = self.doubts.histories.same.get(leaf)
            leaf = known[2]() if known is not None else None
        if leaf is None or result is leaf or leaf.grad is None or result.shape != leaf.shape:
            return
        if len(self.updates) < MOST:
            place = self.recorder.place(frame)
            if place is not None:
                self.updates[id(result)] = Made(result, place, self.doubts.passes, leaf)

    def after_copy(self, source, result, frame):
        """`p.clone()`, `p.detach().clone()`."""
        known = self.doubts.histories.same.get(source)
        leaf = source if known is None else known[2]()
        if leaf is not None and leaf.is_leaf and leaf.requires_grad and result.is_leaf:
            self.copies[result] = self.recorder.place(frame), weakref.ref(leaf), leaf._version

    def after_write(self, write, tensor):
        if not len(self.copies) or (known := self.copies.get(tensor)) is None or write.optimizer:
            return
        if "zero" in write.name or write.name == "fill_":  # only its shape was wanted
            del self.copies[tensor]
            return
        place, reference, version = known
        leaf = reference()
        if leaf is None or place is None or leaf.grad is None or leaf._version != version:
            return
        if id(leaf) in self.doubts.owned:
            return
        found = self.written.setdefault((place, id(leaf)), [0, -1, None, write.place])
        if found[1] != self.doubts.passes:
            found[:2] = found[0] + 1, self.doubts.passes
            found[2] = found[2] or self.doubts.names.name(leaf)

    # --- judgements ---

    def judge(self):
        self.judge_losses()
        lost, written = {}, {}
        for (place, key), (count, _, name) in self.lost.items():
            if count >= 2 and key not in self.doubts.owned:
                lost.setdefault(place, []).append(name)
        for place, names in lost.items():
            self.doubts.say(
                ("update", place), place,
                f"this makes a new tensor out of {self.doubts.in_words(names)} and the gradient, and nothing uses it: "
                "the parameter stays as it is. Write into it (p -= lr * p.grad, under torch.no_grad())",
            )  # fmt: skip
        for (place, key), (count, _, name, line) in self.written.items():
            if count >= 3 and key not in self.doubts.owned:
                written.setdefault(place, ([], line))[0].append(name)
        for place, (names, line) in written.items():
            self.doubts.say(
                ("copies", place), place,
                f"this makes copies of {self.doubts.in_words(names)}, and line {line.line} updates them: the "
                "parameters stay as they are, and the passes go on with them", ("written", line, "to the copy"),
            )  # fmt: skip

    def judge_losses(self):
        """A line that makes several losses between two passes, of which only the last one is in the pass."""
        for place, dropped in self.dropped.items():
            taken = self.taken.get(place, set())
            if len(taken) < 2 or not taken <= dropped:
                continue
            loop = self.loop_of(place, self.lines[place])
            if loop is None:
                continue
            where, line, name = loop
            what = (
                f"{name} is set anew in each turn of the loop of line {line}"
                if name
                else (f"the loop of line {line} keeps the last one only")
            )
            missed = [key for key in self.doubts.without if key in self.behind.get(place, ())]
            missed = [self.doubts.without.pop(key) for key in missed]
            more = f"; no gradient has ever reached {self.doubts.in_words([m.name for m in missed])}" if missed else ""
            self.doubts.say(
                ("loss", place), where,
                f"this makes a loss several times before the pass of line {self.lines[place].line}, which goes through "
                f"the last one only: {what}{more}. Add them up",
            )  # fmt: skip

    def loop_of(self, place, pass_place):
        """(place or spot, line of the loop, name that is set in it) of the loop that drops; None if unknown."""
        passes = [(one.file, one.line) for one in pass_place.outwards]
        for one in place.outwards:
            try:
                source = source_of(one.file)
                statement = source.statement_at(one.line)
            except (OSError, SyntaxError, ValueError):
                return None
            for loop in source.around(statement, ast.For, ast.While):
                if any(file == one.file and loop.lineno <= line <= loop.end_lineno for file, line in passes):
                    return None  # the pass is in the loop: this one is left out on purpose
                name, at = set_in(loop, statement)
                where = one if at is None or at == one.line else self.doubts.spot(one.file, at, one.function)
                return where, loop.lineno, name
        return None


def set_in(loop, statement):
    """(name, line): the name that a statement in a loop sets, or the list it appends to if the loop makes that anew."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        owner = getattr(getattr(statement.value.func, "value", None), "id", None)
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and owner in [getattr(one, "id", "") for one in node.targets]:
                return owner, node.lineno
    return None, None


class Made:
    """A tensor that was made, and was used by nothing so far."""

    __slots__ = ("leaf", "passes", "place", "tensor", "used", "version")

    def __init__(self, tensor, place, passes, leaf=None):
        self.tensor, self.place, self.passes, self.used = weakref.ref(tensor), place, passes, False
        self.leaf = weakref.ref(leaf) if leaf is not None else None
        self.version = leaf._version if leaf is not None else 0
