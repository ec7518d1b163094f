"""Say what a line changed: the point first, few sentences, the same for the same program on both libraries."""

import re

from backscope.filming.reel import Side
from backscope.graph import listing
from backscope.graph.listing import count
from backscope.graph.model import FREED, OK, STALE, UNWATCHED
from backscope.stepping import step_text

MOST = 5  # sentences of a frame; the others are counted
FURTHER = re.compile(r"(?<=\.)\s+(?=[A-Z])")  # of a message the first sentence is told; `.error` has the others
NAMED = 4  # things that one sentence names
# The order of importance.
POINT, STALENESS, CONTENT, HISTORY, NEW, NODES, REST, GONE = range(8)


class Changes:
    """The difference between a frame and the one before: sentences, and which boxes are to be marked."""

    def __init__(self, reel, k):
        self.now, self.frame = reel.sides[k], reel.frames[k]
        self.old = reel.sides[k - 1] if k else Side()
        self.marks = {}  # ("value", i), ("node", i) or ("slot", i, name) -> a word, mostly none
        self.gone_values, self.gone_nodes = [], []  # for one frame they are seen to go
        self.arrows = set()  # (node, index of the input) of arrows that are new between nodes that were there
        self.found = []  # (rank, sentence)
        self.look()
        if not self.frame.lines[0]:  # what was there before is nothing that a line has changed
            self.marks.clear()

    def say(self, rank, sentence, *what) -> None:
        """Keep a sentence, and mark what it is about."""
        if sentence:
            self.found.append((rank, sentence))
        self.marks.update(dict.fromkeys(what, ""))

    @property
    def sentences(self) -> list[str]:
        """The first few of the sentences, the most important first."""
        found = [sentence for _, sentence in sorted(self.found, key=lambda pair: pair[0])]
        found = list(dict.fromkeys(found))
        shown = found[:MOST] if len(found) > MOST + 1 else found
        if len(shown) < len(found):
            shown.append(f"and {len(found) - len(shown)} more changes")
        if self.frame.printed:
            shown.append("prints: " + " / ".join(self.frame.printed.split("\n")))
        return shown

    # --- everything that may have changed ---

    def look(self) -> None:
        self.culprit()
        for i, new in self.now.values.items():
            old = self.old.values.get(i)
            if old is None:
                self.new_value(i, new)
            else:
                self.value(i, old, new)
        self.memories()
        self.gone()
        self.nodes()

    def culprit(self) -> None:
        """Say what was raised, and which line is to blame."""
        frame = self.frame
        if frame.culprit:
            key, slot, lines, how = frame.culprit
            i = next(i for i, node in self.now.nodes.items() if node.key == key)
            verb = "wrote into" if how == STALE else "let go of"
            self.say(POINT, f"line {lines[0]} {verb} what {self.called(i)} had saved as {slot}")
            self.marks["slot", i, slot] = "fails here"
        if frame.error:
            self.say(POINT, f"raises {FURTHER.split(frame.error)[0]}")
        if frame.ran is not None:
            recording, one = frame.says
            sent = [f"sent {words}" for words in step_text.sent_words(recording, one)]
            self.say(POINT, f"got {step_text.got_words(one.step)}")
            for sentence in sent[:3] + ([f"and {len(sent) - 3} more"] if len(sent) > 3 else []):
                self.say(POINT, sentence)
            for i, node in self.now.nodes.items():
                if node_key(self.now, node) == frame.ran:
                    self.marks["node", i] = "has just run"

    def new_value(self, i, new) -> None:
        again = next((old for j, old in self.old.values.items() if old.named and old.name == new.name
                      and (j not in self.now.values or self.now.values[j].name != new.name)), None)  # fmt: skip
        parts = [f"{new.preview}" + (f" {new.dtype}" if new.dtype != "float32" else "")]
        parts.append("no counter" if new.version is None else f"v{new.version}")
        if new.requires_grad and new.leaf:
            parts.append("a leaf that requires grad")
        elif not new.requires_grad:
            parts.append("frozen" if new.frozen else "no grad")
        if new.view_of is not None:
            base = self.now.values[new.view_of]
            parts.append(f"a view of {base.name}" if base.named else "a view")
        parts += self.shares(i)
        if new.node is not None:
            parts.append(f"made by {self.called(new.node)}")
        elif new.outside:
            parts.append(f"made by {new.outside}")
        parts += list(map(str, listing.hook_words(new)))
        if not new.named:
            self.marks["value", i] = ""
            return
        word = "another" if again else "new" if self.frame.lines[0] else "there is"
        self.say(NEW, f"{word}: {new.name} = {', '.join(parts)}", ("value", i))

    def shares(self, i) -> list[str]:
        """With whom a value shares its memory, in words."""
        beside = [j for memory in self.now.memories if i in memory.members for j in memory.members if j != i]
        view = self.now.values[i].view_of
        others = [self.now.title(j) for j in beside if j != view and self.now.values[j].named]
        found = ["shares memory and counter with " + ", ".join(others)] if others and view is None else []
        own = [self.now.title(a) for a, b in self.now.other_counter if b == i]
        return found + [f"shares the memory of {title}, with a counter of its own" for title in own[:1]]

    def value(self, i, old, new) -> None:
        what, name = ("value", i), new.name
        if old.named and not new.named and old.name != "returned":
            self.say(REST, f"{old.name} has no name any more; the graph still holds it, as {name}", what)
        elif new.named and old.name != name:
            self.say(REST, f"{old.name} is called {name} now", what)
        elif len(new.also) > len(old.also):
            self.say(NEW, f"{' and '.join([name, *new.also])} are one tensor", what)
        self.content(what, name, old, new)
        for label, a, b in (
            ("element type", old.dtype, new.dtype),
            ("requires_grad", old.requires_grad, new.requires_grad),
        ):
            if a != b:
                self.say(HISTORY, f"{name}: {label} {a} -> {b}", what)
        if old.leaf != new.leaf:
            self.say(HISTORY, f"{name}: " + ("a leaf now" if new.leaf else "not a leaf any more"), what)
        if (old.node, old.outside) != (new.node, new.outside) and (new.named or new.node is not None):
            self.say(HISTORY, f"{name}.grad_fn: {self.maker(self.old, old)} -> {self.maker(self.now, new)}", what)
        if old.view_of != new.view_of:
            base = "no view any more" if new.view_of is None else f"a view of {self.now.title(new.view_of)} now"
            self.say(HISTORY, f"{name}: {base}", what)
        if old.retains_grad != new.retains_grad:
            self.say(
                HISTORY, f"{name}: " + ("retains its grad" if new.retains_grad else "retains no grad any more"), what
            )
        if str(old.grad) != str(new.grad):
            node = next((n for n, node in self.now.nodes.items() if node.leaf == i), None)
            self.say(CONTENT, f"{name}.grad: {old.grad} -> {new.grad}", what if node is None else ("node", node))
        for label, a, b in (("hook", old.hooks, new.hooks), ("post-accumulate hook", old.post_hooks, new.post_hooks)):
            if len(a) != len(b):
                self.say(HISTORY, f"{name}: {count(len(a), label)} -> {count(len(b), label)}", what)
        if new.problem and not old.problem:
            self.say(POINT, f"{name} cannot be used any more: {new.problem}", what)

    def content(self, what, name, old, new) -> None:
        """Say what was written into a tensor, and whether its counter noticed."""
        wrote = old.preview != new.preview
        counted = old.version != new.version
        versions = f"v{old.version} -> v{new.version}"
        if wrote and counted:
            self.say(CONTENT, f"{name}: {old.preview} -> {new.preview}, {versions}", what)
        elif wrote:
            kept = "" if new.version is None else f", and its counter has not moved (v{new.version})"
            self.say(CONTENT, f"{name}: {old.preview} -> {new.preview}{kept}", what)
        elif counted and new.version is not None:
            self.say(CONTENT, f"{name}: {versions}", what)

    def maker(self, side, value) -> str:
        """Return the grad_fn of a value, in words."""
        return value.outside or "None" if value.node is None else called(side, value.node)

    def called(self, i) -> str:
        """Name a node: 'TanhBackward0 (node 2)'."""
        return called(self.now, i)

    def memories(self) -> None:
        """Values that came to share memory, or cease to."""
        groups = [{frozenset(m.members) for m in side.memories} for side in (self.old, self.now)]
        together = [{(a, b) for group in side for a in group for b in group if a < b} for side in groups]
        for pairs, words in ((together[1] - together[0], "share one memory and one counter now"),
                             (together[0] - together[1], "share memory no longer")):  # fmt: skip
            for a, b in sorted(pairs):
                if all(j in side.values for side in (self.old, self.now) for j in (a, b)):
                    self.say(REST, f"{self.now.title(a)} and {self.now.title(b)} {words}")

    def gone(self) -> None:
        """Tensors and nodes that are not there any more."""
        names = {value.name for value in self.now.values.values()}
        self.gone_values = [i for i in self.old.values if i not in self.now.values]
        self.gone_nodes = [i for i in self.old.nodes if i not in self.now.nodes]
        lost = [i for i in self.gone_values if self.old.values[i].named and self.old.title(i) not in names]
        lost = [self.old.title(i) for i in lost]
        if lost:
            self.say(GONE, f"gone: {some(lost)}")
        lost = [self.old.node_title(i) for i in self.gone_nodes if not self.old.nodes[i].accumulates]
        if lost:
            them = f", with what {'it' if len(lost) == 1 else 'they'} saved" if self.saved(self.gone_nodes) else ""
            self.say(GONE, f"gone: {some(lost)}{them}")

    def saved(self, nodes) -> bool:
        return any(slot.state != FREED for i in nodes for slot in self.old.nodes[i].slots.values())

    # --- nodes ---

    def nodes(self) -> None:
        new, freed = [], []
        for i, node in self.now.nodes.items():
            old = self.old.nodes.get(i)
            if old is None:
                self.marks["node", i] = self.marks.get(("node", i), "")
                new += [] if node.accumulates else [self.introduced(i, node)]
                continue
            self.edges(i, old, node)
            for label, a, b in (("node hook", old.hooks, node.hooks), ("node prehook", old.prehooks, node.prehooks)):
                if len(a) != len(b):
                    self.say(
                        HISTORY, f"{self.called(i)}: {count(len(a), label)} -> {count(len(b), label)}", ("node", i)
                    )
            mine = [name for name, slot in node.slots.items() if self.slot(i, name, old.slots.get(name), slot)]
            freed += [f"{' and '.join(mine)} of {self.called(i)}"] if mine else []
        if new:
            word = "new node" if self.frame.lines[0] else "there is the node"
            self.say(NODES, f"{word}{'s' * (len(new) > 1)}: {some(new)}".replace("is the nodes", "are the nodes"))
        if freed:
            self.say(NODES, f"FREED: {some(freed)}")

    def introduced(self, i, node) -> str:
        """Return a new node, and what it saved."""
        saved = [saved_words(self.now, slot) for slot in node.slots.values() if slot.state != FREED]
        return self.now.node_title(i) + (f" (saved {', '.join(saved[:NAMED])})" if saved else "")

    def edges(self, i, old, node) -> None:
        for (k, a, from_a), (_, b, from_b) in zip(old.edges, node.edges, strict=False):
            if (a, from_a) != (b, from_b):
                where = "nothing" if b is None else self.called(b)
                self.arrows.add((i, k))
                self.say(HISTORY, f"{self.called(i)} leads to {where} now", ("node", i))

    def slot(self, i, name, old, new) -> bool:
        """Tell how a slot changed; True when it was freed, which is told for all slots together."""
        what, node = ("slot", i, name), self.called(i)
        if old is None:
            self.marks[what] = ""
        elif old.state != new.state:
            self.marks.setdefault(what, "")
            if new.state == FREED:
                return True
            if new.state == STALE:
                holds = saved_words(self.now, new)
                self.say(STALENESS, f"STALE: {node} saved {holds} at v{new.saved}, and its memory is at v{new.now} now")
            else:
                self.say(
                    STALENESS, f"what {node} saved as {name}: {new.state if new.state != OK else 'in order again'}"
                )
        elif (old.saved, old.now) != (new.saved, new.now) and old.now is not None:
            self.say(REST, "" if new.state == OK else f"what {node} saved as {name}: now at v{new.now}", what)
        elif (
            new.state in (OK, UNWATCHED)
            and self.shown(self.old, old) != self.shown(self.now, new)
            and (old.value == new.value)
        ):
            self.say(STALENESS, f"what {node} saved as {name} has changed, {self.shown(self.old, old)} -> "
                     f"{self.shown(self.now, new)}, and no counter has moved", what)  # fmt: skip
        return False

    @staticmethod
    def shown(side, slot) -> str:
        """Return the numbers in a slot."""
        return slot.content if slot.value is None else side.values[slot.value].preview


def called(side, i) -> str:
    """Name a node: 'TanhBackward0 (node 2)'."""
    node = side.nodes[i]
    return side.node_title(i) if node.accumulates else f"{node.name} (node {node.number})"


def node_key(side, node) -> tuple:
    """Return the same for the same node, in every frame."""
    return ("leaf", side.values[node.leaf].token) if node.accumulates else ("node", node.key)


def saved_words(side, slot) -> str:
    """Name a saved tensor: 'other = x'."""
    held = slot.content if slot.value is None else side.title(slot.value)
    return f"{slot.name} = {held}" if held and not held.startswith("#") else slot.name


def some(items) -> str:
    """Return the first items in one line, and how many more there are."""
    more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return ", ".join(items[:NAMED]) + more


# --- the film in words ---------------------------------------------------------------------------------------


def headline(reel, error) -> str:
    """Say how many frames there are, and how the film ends."""
    if not reel.frames:
        return "A film of nothing: the program has no statement that could be shown."
    return f"A film of {count(len(reel.frames), 'frame')}" + (", and an error at the end." if error else ".")


def code_of(film, frame) -> str:
    """Return the statement of a frame, in one line."""
    first, last = (line - film.first for line in frame.lines)
    return " ".join(line.strip() for line in film.source.split("\n")[first : last + 1]) if first >= 0 else ""


def text(film) -> str:
    """Return the whole film in words."""
    lines = [headline(film.reel, film.error), *film.notes]
    for k, frame in enumerate(film.reel.frames):
        lines += ["", f"frame {k + 1}, {frame.title}: {code_of(film, frame)}".rstrip(": ")]
        lines += [f"   {sentence}" for sentence in film.changes(k)]
    return "\n".join(lines)
