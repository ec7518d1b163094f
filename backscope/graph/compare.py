"""`compare(before, after)`: two pictures in one layout, what changed highlighted and told in words.

    before = draw(y)
    y.add_(1)
    compare(before, draw(y))

Both pictures hold words and numbers only; what makes two boxes the same thing is a tensor's token and a node's
sequence number (tensor_facts.py, node_facts.py). One plan places the things of both pictures, then it is
written down twice.
"""

import copy
import html
from collections import Counter

from backscope.graph import listing
from backscope.graph.model import FREED, OK, STALE, Memory
from backscope.pictures import dotsource, lanes, layout
from backscope.pictures.draw import Picture

NEW, CHANGED, GONE = "NEW", "CHANGED", "GONE"
BEFORE, AFTER = 0, 1
APART = 34  # points between the two pictures
TOLD = 15  # changes that stand below the pictures; the text names all


def compare(before, after):
    """What changed between two drawings: both beside each other in one layout, and a list of changes in words.

        before = draw(loss)
        loss.backward()
        compare(before, draw(loss))

    Parameters
        before, after       two Pictures, as `draw` returns them: each is the graph as it was when it was drawn.

    Returns a Comparison: a notebook shows it, print() writes the list, .text, .svg and .html are its forms.
    Raises TypeError for anything that is no Picture.
    """
    for thing in (before, after):
        if type(thing) is not Picture:
            raise TypeError(
                f"compare() takes two drawings, not {type(thing).__name__}: before = draw(y), then the change, "
                "then compare(before, draw(y))."
            )
    return Comparison(before, after)


class Comparison(Picture):
    """Two drawings with one placement, made from two graphs as they were when `draw` was called."""

    def __init__(self, before, after):
        super().__init__(after._graph, max(before._detail, after._detail))
        self._pair = Pair(before._graph, after._graph)

    @property
    def changes(self):
        """The sentences on what changed."""
        return list(dict.fromkeys(sentence for _, sentence in self._pair.changes if sentence))

    @property
    def text(self):
        """The changes, and then everything as it is afterwards."""
        pair, found = self._pair, self.changes
        many = listing.count(len(found), "change") if found else "nothing changed"
        lines = [f"Before and after: {many}."]
        if pair.by_name:
            lines.append(f"The two drawings have no {pair.apart} in common; what has the same name is compared.")
        lines += ["  " + line for line in found]
        for title, graph in (("Before", pair.given[BEFORE]), ("After", pair.given[AFTER])):
            shown = listing.listing(graph, self._detail) if title == "After" else told_briefly(graph)
            lines += ["", f"{title}: {shown}"]
        return "\n".join(lines)

    @property
    def html(self):
        """What the notebook shows: the pictures, and below them what changed."""
        if self.svg is None or not self.changes:
            return super().html
        shown = "".join(f"<li>{html.escape(change)}</li>" for change in self.changes[:TOLD])
        more = len(self.changes) - TOLD
        shown += f"<li>and {more} more</li>" if more > 0 else ""
        return (
            '<div style="background:#FFFFFF;color:#111111;border-radius:6px;padding:6px;max-width:800px">'
            f'{super().html}<ul style="margin:4px 0">{shown}</ul></div>'
        )

    def _in_sentences(self):
        return [self.text.partition("\n")[0], *(f"{change}." for change in self.changes)]

    def _lay_out(self):
        """(svg or None, engine): beside or above each other, time to the right or down: what fits a screen best."""
        ways = ((True, False), (True, True), (False, True), (False, False))
        return layout.first_that_fits(PairDrawing(self._pair, self._detail, *way).source for way in ways)


def told_briefly(graph):
    """The first lines of a listing."""
    return "\n".join([listing.headline(graph), *listing.facts(graph)])


# --- what is the same in both ------------------------------------------------------------------------------


class Pair:
    """Two graphs with common indexes, and what differs.

    `sides[BEFORE]` and `sides[AFTER]` are graphs that hold None where something is only in the other one.
    `changes` holds (what, sentence): what is ("value", v), ("node", i), ("slot", i, k), ("memory", side, m), or
    None for a sentence that no box belongs to; `marks` the word for each `what`, one dictionary a side.
    """

    def __init__(self, before, after):
        self.given = before, after
        self.tokens = {v.token for v in before.values} & {v.token for v in after.values}
        keys = {n.key for n in before.nodes if not n.accumulates} & {n.key for n in after.nodes} - {None}
        self.apart = "" if keys else "node" if self.tokens else "tensor"  # what they have not in common
        self.match(by_name=False)
        if self.apart:  # the same nodes are the same history; two histories may still be two runs of one program
            self.match_by_name_if_it_explains_more()
        self.slots = [self.match_slots(b, a) for b, a in self.nodes]
        self.sides = self.side(BEFORE), self.side(AFTER)
        self.both = self.union()
        self.changes = list(Differences(self).found())
        self.marks = self.marked(BEFORE), self.marked(AFTER)

    def match(self, by_name):
        """Find what is the same thing in both: the same tensor and node, or what has the same name."""
        self.by_name = by_name
        self.nodes = self.match_nodes()
        self.values = self.match_values(*self.given)

    def match_by_name_if_it_explains_more(self):
        found = self.met()
        self.match(by_name=True)
        if self.apart == "node" and self.met() <= found:
            self.match(by_name=False)

    def met(self):
        """How many things are in both."""
        return sum(None not in pair for pair in self.nodes + self.values)

    def match_nodes(self):
        """Pairs of indexes of nodes (None on one side when it is only in the other), in order.

        By name, the second MulBackward0 of one side is the second MulBackward0 of the other.
        """

        def key(graph, node, met):
            if node.accumulates:
                return "leaf", self.value_key(graph.values[node.leaf])
            if not self.by_name or node.folded:
                return node.key
            met[node.name] += 1
            return node.name, met[node.name]

        def keys(graph):
            met = Counter()
            return [key(graph, node, met) for node in graph.nodes]

        return paired(*map(keys, self.given))

    def value_key(self, value):
        return value.name if self.by_name and value.token not in self.tokens else value.token

    def match_values(self, before, after):
        """Pairs of indexes of values: the same tensor, or what the same node made."""
        first = [self.value_key(v) for v in before.values]
        second = [self.value_key(v) for v in after.values]
        node_of = {a: b for b, a in self.nodes if a is not None}
        left = {}
        for i, value in enumerate(before.values):
            if first[i] not in second and value.node is not None:
                left[value.node, value.output_nr] = i
        for i, value in enumerate(after.values):
            if second[i] not in first and node_of.get(value.node) is not None:
                other = left.pop((node_of[value.node], value.output_nr), None)
                if other is not None:
                    second[i] = first[other]
        return paired(first, second)

    def match_slots(self, b, a):
        """Pairs of indexes of the slots of one node."""
        first = [] if b is None else [slot.name for slot in self.given[BEFORE].nodes[b].slots]
        second = [] if a is None else [slot.name for slot in self.given[AFTER].nodes[a].slots]
        return paired(first, second)

    # --- common indexes ---

    def side(self, which):
        """One of the graphs, with None for what only the other one has."""
        graph = self.given[which]
        value = {pair[which]: i for i, pair in enumerate(self.values) if pair[which] is not None}
        node = {pair[which]: i for i, pair in enumerate(self.nodes) if pair[which] is not None}
        moved = copy.copy(graph)
        moved.values, moved.nodes = [None] * len(self.values), [None] * len(self.nodes)
        for old, i in value.items():
            moved.values[i] = one = copy.copy(graph.values[old])
            one.node, one.view_of, one.grad_of = node.get(one.node), value.get(one.view_of), value.get(one.grad_of)
            one.inputs = [value[k] for k in one.inputs]
        for old, i in node.items():
            moved.nodes[i] = one = copy.copy(graph.nodes[old])
            one.leaf = value.get(one.leaf)
            one.edges = [(k, node.get(following), output) for k, following, output in one.edges]
            one.slots = [self.moved_slot(graph.nodes[old], pair[which], value) for pair in self.slots[i]]
        moved.memories = [Memory(sorted(value[i] for i in m.members), m.version) for m in graph.memories]
        moved.other_counter = [(value[a], value[b]) for a, b in graph.other_counter]
        moved.asked = [value[i] for i in graph.asked]
        return moved

    @staticmethod
    def moved_slot(node, k, value):
        if k is None:
            return None
        slot = copy.copy(node.slots[k])
        slot.value = value.get(slot.value)
        return slot

    def union(self):
        """A graph with the things of both, each as it is afterwards if it is still there; memories joined."""
        before, after = self.sides
        both = copy.copy(after)
        both.values = [a or b for b, a in zip(before.values, after.values, strict=True)]
        both.nodes = [a or b for b, a in zip(before.nodes, after.nodes, strict=True)]
        group = {}
        for memory in before.memories + after.memories:
            joined = set(memory.members).union(*(group.get(i, ()) for i in memory.members))
            group.update(dict.fromkeys(joined, joined))
        groups = {min(joined): joined for joined in group.values()}
        both.memories = [Memory(sorted(groups[first]), None) for first in sorted(groups)]
        both.values = [copy.copy(value) for value in both.values]
        for i, value in enumerate(both.values):
            if value.node is None and before.values[i] is not None:
                value.node = before.values[i].node  # a tensor that left the graph keeps its place
            value.memory = next((m for m, memory in enumerate(both.memories) if i in memory.members), None)
        return both

    def marked(self, which):
        """What to highlight on one side: {what: the word for it}. What changed is marked as it is afterwards."""
        found = {}
        for what, _ in self.changes if which == AFTER else ():
            if what is not None and (what[0] != "memory" or what[1] == AFTER):
                found[what] = CHANGED
        here, there = self.sides[which], self.sides[1 - which]
        word = GONE if which == BEFORE else NEW
        for i, (mine, other) in enumerate(zip(here.values, there.values, strict=True)):
            if mine is not None and other is None:
                found["value", i] = word
        for i, (mine, other) in enumerate(zip(here.nodes, there.nodes, strict=True)):
            if mine is not None and other is None:
                found["node", i] = word
            for k in range(len(self.slots[i])):
                if mine is not None and mine.slots[k] is not None and (other is None or other.slots[k] is None):
                    found["slot", i, k] = word
        return found


def paired(first, second):
    """Pairs of positions of equal keys, in the order of `second`; what only `first` has stays behind its neighbour."""
    where = {}
    for i, key in enumerate(first):
        where.setdefault(key, []).append(i)
    pairs = []
    for j, key in enumerate(second):
        same = where.get(key)
        pairs.append((same.pop(0) if same else None, j))
    met = {i for i, _ in pairs if i is not None}
    for i in range(len(first)):
        if i not in met:
            at = next((n + 1 for n, (b, _) in enumerate(pairs) if b == i - 1), 0)
            pairs.insert(at, (i, None))
    return pairs


# --- what differs, in words --------------------------------------------------------------------------------


class Differences:
    """Yields (what, sentence) for everything that differs between the two sides of a Pair."""

    def __init__(self, pair):
        self.pair = pair
        self.before, self.after = pair.sides
        self.names = {}
        for side in pair.sides:
            for node in filter(None, side.nodes):
                if not node.accumulates and not node.folded:
                    self.names.setdefault(node.name, set()).add(node.key if not pair.by_name else node.number)

    def found(self):
        for i, (old, new) in enumerate(zip(self.before.values, self.after.values, strict=True)):
            if old is None:
                yield ("value", i), f"new: {new.name}: {self.line(self.after, new)}"
            elif new is None:
                yield ("value", i), f"gone: {old.name}, which was {self.line(self.before, old)}"
            else:
                yield from self.value(i, old, new)
        yield from self.memories()
        for i, (old, new) in enumerate(zip(self.before.nodes, self.after.nodes, strict=True)):
            if old is None:
                yield from self.one_sided("new node", self.after, i)
            elif new is None:
                yield from self.one_sided("gone", self.before, i)
            else:
                yield from self.node(i, old, new)

    # --- values ---

    def line(self, side, value):
        """A value's line in the listing, and with whom it shares memory."""
        i = next(i for i, other in enumerate(side.values) if other is value)
        beside = [k for memory in side.memories if i in memory.members for k in memory.members if k != i]
        shares = "; shares memory and counter with " + ", ".join(map(side.title, beside)) if beside else ""
        own = [side.title(a) for a, b in side.other_counter if b == i]
        shares += f"; shares the memory of {own[0]}, with a counter of its own" if own else ""
        return listing.value_line(side, value, 1) + shares

    def value(self, i, old, new):
        what, name = ("value", i), new.name
        if old.named and not new.named:
            yield what, f"no name leads to {old.name} any more: it is shown as {new.name}"
        elif new.named and (old.name != new.name):
            yield what, f"{old.name} is now called {new.name}"
        if old.version != new.version:
            yield what, f"{name}: version {words(old.version)} -> {words(new.version)}"
        for label, a, b in (
            ("", old.preview, new.preview),
            ("element type ", old.dtype, new.dtype),
            ("shape ", old.shape, new.shape),
            ("requires_grad ", old.requires_grad, new.requires_grad),
        ):
            if a != b and not (label == "shape " and old.preview != new.preview):
                yield what, f"{name}: {label}{a} -> {b}"
        if old.leaf != new.leaf:
            yield what, f"{name}: " + ("a leaf now" if new.leaf else "not a leaf any more")
        made = self.maker(self.before, old), self.maker(self.after, new)
        if (old.node, old.outside) != (new.node, new.outside):
            yield what, f"{name}.grad_fn: {made[0]} -> {made[1]}"
        if old.view_of != new.view_of:
            base = "not a view any more" if new.view_of is None else "a view of " + self.after.title(new.view_of)
            yield what, f"{name}: {base}" + ("" if new.view_of is None else " now")
        if old.retains_grad != new.retains_grad:
            yield what, f"{name}: " + ("retains its grad now" if new.retains_grad else "retains no grad any more")
        grads = [str(side.grad) for side in (old, new)]  # that of what requires no grad is told as soon as there is one
        if grads[0] != grads[1]:
            node = next((n for n, node in enumerate(self.after.nodes) if node and node.leaf == i), None)
            yield what if node is None else ("node", node), f"{name}.grad: {grads[0]} -> {grads[1]}"
        for label, a, b in (("hook", old.hooks, new.hooks), ("post-accumulate hook", old.post_hooks, new.post_hooks)):
            if len(a) != len(b):
                yield what, f"{name}: {listing.count(len(a), label)} -> {listing.count(len(b), label)}"
        if new.problem and not old.problem:
            yield what, f"{name} cannot be used any more: {new.problem}"

    def maker(self, side, value):
        """The grad_fn of a value, in words."""
        if value.node is None:
            return value.outside or "None"
        return self.called(side, value.node)

    def called(self, side, i):
        """A node's name, with its number where the name alone would not tell."""
        node = side.nodes[i]
        if node.folded or node.accumulates:
            return side.node_title(i)
        return node.name if len(self.names[node.name]) == 1 else side.node_words(i)

    def memories(self):
        """Values that came to share memory, or cease to; and shared counters that moved."""
        groups = [{frozenset(m.members): m for m in side.memories} for side in self.pair.sides]
        together = [{(a, b) for group in side for a in group for b in group if a < b} for side in groups]
        for pairs, other, says in (
            (together[AFTER], together[BEFORE], "share one memory and one counter now"),
            (together[BEFORE], together[AFTER], "share memory no longer"),
        ):
            for a, b in sorted(pairs - other):
                if all(side.values[k] is not None for side in self.pair.sides for k in (a, b)):
                    yield None, f"{self.after.title(a)} and {self.after.title(b)} {says}"
        versions = [{i: m.version for m in side.memories for i in m.members} for side in self.pair.sides]
        for which, side in enumerate(self.pair.sides):
            for m, memory in enumerate(side.memories):
                if any(i in versions[1 - which] and versions[1 - which][i] != memory.version for i in memory.members):
                    yield ("memory", which, m), ""

    # --- nodes ---

    def one_sided(self, word, side, i):
        node = side.nodes[i]
        if node.accumulates and self.pair.values[node.leaf][0 if word == "new node" else 1] is None:
            return  # told with its leaf
        line = listing.node_lines(side, i, node, 1)[0].strip() if not node.accumulates else side.node_title(i)
        saved = [slot.name for slot in node.slots if slot is not None]
        yield ("node", i), f"{word}: {line}" + (f", which saved {', '.join(saved)}" if saved else "")

    def node(self, i, old, new):
        called = self.called(self.after, i)
        if old.lines != new.lines:
            yield ("node", i), f"{'; '.join(old.lines) or called} -> {'; '.join(new.lines) or called}"
        if not new.folded:
            for (k, a, from_a), (_, b, from_b) in zip(old.edges, new.edges, strict=False):
                if (a, from_a) != (b, from_b):
                    where = [
                        "nothing" if n is None else self.called(side, n)
                        for side, n in ((self.before, a), (self.after, b))
                    ]
                    which = f" for input {k}" if len(new.edges) > 1 else ""
                    yield ("node", i), f"{called} leads to {where[1]}{which} now, not to {where[0]}"
        freed = []
        for k, (a, b) in enumerate(zip(old.slots, new.slots, strict=True)):
            if a is None or b is None:
                word = "new" if a is None else "gone"
                yield ("slot", i, k), f"{word}: saved {(a or b).name} of {called}"
            elif a.state != FREED and b.state == FREED:
                freed.append(b.name)
                yield ("slot", i, k), ""
            else:
                for sentence in self.slot(a, b):
                    yield ("slot", i, k), f"saved {b.name} of {called}: {sentence}"
        if freed:
            yield None, f"saved {' and '.join(freed)} of {called}: now FREED"

    def slot(self, a, b):
        if a.state != b.state:
            versions = f" (saved at version {b.saved}, memory now at version {b.now})" if b.state == STALE else ""
            yield f"now {b.state}{versions}" if b.state != OK else f"{a.state} no longer"
        elif (a.saved, a.now) != (b.saved, b.now):
            yield f"memory at version {words(a.now)} -> {words(b.now)}"
        if a.value != b.value:
            yield f"{self.holds(self.before, a)} -> {self.holds(self.after, b)}"
        elif a.content != b.content:
            yield f"{a.content} -> {b.content}"
        elif b.state == OK and a.value is not None and (a.saved, a.now) == (b.saved, b.now):
            old, new = self.before.values[a.value].preview, self.after.values[b.value].preview
            if old != new:
                yield f"{old} -> {new}, and its counter has not moved"

    @staticmethod
    def holds(side, slot):
        return slot.content or "a tensor" if slot.value is None else side.title(slot.value)


def words(version):
    """A version number, or what is there in its place."""
    return "no counter" if version is None else str(version)


# --- one plan, written twice -------------------------------------------------------------------------------


class PairDrawing(dotsource.Drawing):
    """Places the things of both sides once, and writes each side with its own words."""

    def __init__(self, pair, detail, lies, beside):
        self.pair, self.beside = pair, beside
        self.which = AFTER
        self.side_lines = {BEFORE: {}, AFTER: {}}
        super().__init__(pair.both, detail, lies)

    # --- boxes with room for the words of both sides ---

    def sized(self, key, lane, what, size, said, double=False):
        """A box that fits what either side says in it; `said(side)` gives the words."""
        boxes = []
        for which, side in enumerate(self.pair.sides):
            lines = said(side)
            if lines is None:
                continue
            self.marks = self.pair.marks[which]
            lines = self.marked(what, lines)
            self.side_lines[which][key] = lines
            boxes.append(lanes.box(key, lane, lines, size, double))
        widest = max(boxes, key=lambda one: one.width)
        widest.height = max(one.height for one in boxes)
        return widest

    def new_node(self, i):
        def said(side):
            return None if side.nodes[i] is None else dotsource.node_words(side, i, self.lies, self.detail)

        self.node_box[i] = self.sized(f"n{i}", lanes.BACK, ("node", i), 10, said)
        return self.node_box[i]

    def new_value(self, v):
        def said(side):
            return None if side.values[v] is None else dotsource.value_words(side, v, self.detail)

        leaf = any(side.values[v] is not None and side.values[v].leaf for side in self.pair.sides)
        self.value_box[v] = self.sized(f"v{v}", lanes.VALUE, ("value", v), 10, said, double=leaf)
        return self.value_box[v]

    def new_slot(self, i, k):
        def said(side):
            slot = side.nodes[i] and side.nodes[i].slots[k]
            return None if slot is None else dotsource.slot_words(side, slot)

        self.slot_box[i, k] = self.sized(f"s{i}_{k}", lanes.SAVED, ("slot", i, k), 9, said)
        return self.slot_box[i, k]

    def slot_count(self, i):
        return len(self.pair.slots[i])

    def connect(self):
        """The arrows of both sides; each knows on which it is to be seen."""
        met = {}
        for which, side in enumerate(self.pair.sides):
            for kind, tail, head, more in dotsource.arrows(side, self.detail):
                key = kind, tail, head, more.get("label")
                if key not in met:
                    self.plan.connect(kind, self.box_of(*tail), self.box_of(*head), **more)
                    met[key] = self.plan.routes[-1]
                met[key].sides[which] = more

    # --- writing ---

    def lines(self, box):
        return self.side_lines[self.which].get(box.key, box.lines)

    def room_for_hooks(self, box):
        return max(dotsource.hooks_height(lines.get(box.key, ())) for lines in self.side_lines.values())

    def memory_words(self, memory):
        words = super().memory_words(memory)
        m = self.graph.memories.index(memory)
        return words + ("  " + CHANGED if ("memory", self.which, m) in self.pair.marks[self.which] else "")

    def title(self):
        return self.titles()[self.which]

    def titles(self):
        """The lines above each side; what is true of both stands above the first one only."""
        first, second = (listing.facts(graph) for graph in self.pair.given)
        return self.folded_lines(first), self.folded_lines([fact for fact in second if fact not in first])

    def turn_to(self, which):
        """Write this side from now on."""
        self.which, self.graph, self.prefix = which, self.pair.sides[which], "ba"[which]
        self.marks = self.pair.marks[which]

    def words(self):
        """Every line of text on both sides."""
        found = ["before", "after"]
        for which in (BEFORE, AFTER):
            self.turn_to(which)
            found += self.title() + [line for lines in self.side_lines[which].values() for line in lines]
            found += [self.memory_words(memory) for memory in self.graph.memories]
            found += [r.label for r in self.plan.routes if which in r.sides and r.label]
        return found

    def source(self):
        dot = dotsource.new_page()
        wide, tall = self.right - self.left, self.bottom - self.top
        captions = [tall + 14 + len(lines) * 12 for lines in self.titles()]
        if self.beside:
            captions = [max(captions)] * 2
        places = [(0, 0 if self.beside else captions[AFTER] + 26 + APART), (wide + APART if self.beside else 0, 0)]
        for which, (x, y) in enumerate(places):
            self.turn_to(which)
            self.shift = x, y
            self.write(dot)
            caption = ["after" if which else "before"]
            dotsource.write_text(dot, f"{self.prefix}side", caption, (x, y + captions[which]), 14)
            for name, end in (("first", x), ("last", x + wide)):  # nothing to see: both sides are equally wide
                dot.node(self.prefix + name, "", style="invis", width="0.01", height="0.01", pos=f"{end:.1f},{y:.1f}")
        return dot.source

    def shows(self, box):
        return box.key in self.side_lines[self.which]

    def write_route(self, dot, r):
        if self.which not in r.sides:
            return
        r.slot = r.sides[self.which].get("slot")
        r.dotted = r.sides[self.which].get("dotted", False)
        both = all(k.key in self.side_lines[1 - self.which] for k in (r.tail, r.head))
        if len(r.sides) == 1 and both and r.kind in ("next", "made"):
            wide = {"color": dotsource.YELLOW, "penwidth": "6", "style": "solid", "arrowhead": "none", "label": ""}
            super().write_route(dot, r, **wide)
        super().write_route(dot, r)
