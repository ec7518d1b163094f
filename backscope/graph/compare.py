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
import re
from collections import Counter
from collections.abc import Iterator

from backscope.graph import listing
from backscope.graph.model import FREED, OK, STALE, Graph, Memory, SavedSlot
from backscope.pictures.cards import Card
from backscope.pictures.draw import Picture
from backscope.pictures.drawing import Drawing, arrows, node_card, value_card
from backscope.pictures.style import HIGHEST, WIDEST, Page, as_image, in_short

NEW, CHANGED, GONE = "NEW", "CHANGED", "GONE"
BEFORE, AFTER = 0, 1
SIDES = ("before", "after")
CAPTION = 24  # pixels above a side, for its name
ABOVE = 340  # pixels: how high a side may be that stands above the other
BETWEEN = 8  # pixels between two sides that stand beside each other
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
TOLD = 15  # changes that stand below the pictures; the text names all


def compare(before: Picture, after: Picture) -> "Comparison":
    """Show what changed between two drawings: both beside each other in one layout, and the changes in words.

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
    def changes(self) -> list[str]:
        """The sentences on what changed."""
        return list(dict.fromkeys(sentence for _, sentence in self._pair.changes if sentence))

    @property
    def text(self) -> str:
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
    def svg(self) -> str:
        """Both sides, one below the other, as one SVG."""
        return stacked(self._sides())

    @property
    def html(self) -> str:
        """The card in a notebook: the two pictures, beside each other if there is room, and below what changed."""
        first, second = self._sides()
        alt = in_short(self._in_sentences())
        shown = as_image(first, "Before. " + alt) + "\n" + as_image(second, "After, in the same layout.")
        told = "".join(f"<li>{html.escape(change)}</li>" for change in self.changes[:TOLD])
        more = len(self.changes) - TOLD
        told += f"<li>and {more} more</li>" if more > 0 else ""
        return shown + (f'<ul class="bs-changes" style="margin:4px 0">{told}</ul>' if told else "")

    def _sides(self):
        if self._drawn is None:
            self._drawn = two_pages(self._pair, self._detail)
        return self._drawn

    def _in_sentences(self):
        return [self.text.partition("\n")[0], *(f"{change}." for change in self.changes)]


def stacked(svgs) -> str:
    """SVGs one below the other in one: for a file, which has no page around it."""
    sizes = [tuple(map(float, SIZE.search(svg).groups())) for svg in svgs]
    width, height = max(w for w, _ in sizes), sum(h for _, h in sizes)
    at, parts = 0, []
    for svg, (_, high) in zip(svgs, sizes, strict=True):
        parts.append(svg.replace("<svg ", f'<svg y="{at:g}" ', 1))
        at += high
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "".join(parts) + "</svg>\n"


def told_briefly(graph) -> str:
    """Return the first lines of a listing."""
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

    def match(self, by_name) -> None:
        """Find what is the same thing in both: the same tensor and node, or what has the same name."""
        self.by_name = by_name
        self.nodes = self.match_nodes()
        self.values = self.match_values(*self.given)

    def match_by_name_if_it_explains_more(self) -> None:
        found = self.met()
        self.match(by_name=True)
        if self.apart == "node" and self.met() <= found:
            self.match(by_name=False)

    def met(self) -> int:
        """Count the things that are in both."""
        return sum(None not in pair for pair in self.nodes + self.values)

    def match_nodes(self) -> list:
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

    def value_key(self, value) -> int | str:
        return value.name if self.by_name and value.token not in self.tokens else value.token

    def match_values(self, before, after) -> list:
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

    def match_slots(self, b, a) -> list:
        """Pairs of indexes of the slots of one node."""
        first = [] if b is None else [slot.name for slot in self.given[BEFORE].nodes[b].slots]
        second = [] if a is None else [slot.name for slot in self.given[AFTER].nodes[a].slots]
        return paired(first, second)

    # --- common indexes ---

    def side(self, which) -> Graph:
        """Return one of the graphs, with None for what only the other one has."""
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
    def moved_slot(node, k, value) -> SavedSlot | None:
        if k is None:
            return None
        slot = copy.copy(node.slots[k])
        slot.value = value.get(slot.value)
        return slot

    def union(self) -> Graph:
        """Join both graphs, each thing as it is afterwards if it is still there; memories joined."""
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

    def marked(self, which) -> dict:
        """Find what to highlight on one side: {what: the word for it}. What changed is marked as it is afterwards."""
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


def paired(first, second) -> list:
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

    def found(self) -> Iterator:
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

    def line(self, side, value) -> str:
        """Return a value's line in the listing, and with whom it shares memory."""
        i = next(i for i, other in enumerate(side.values) if other is value)
        beside = [k for memory in side.memories if i in memory.members for k in memory.members if k != i]
        shares = "; shares memory and counter with " + ", ".join(map(side.title, beside)) if beside else ""
        own = [side.title(a) for a, b in side.other_counter if b == i]
        shares += f"; shares the memory of {own[0]}, with a counter of its own" if own else ""
        return listing.value_line(side, value, 1) + shares

    def value(self, i, old, new) -> Iterator:
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

    def maker(self, side, value) -> str:
        """Return the grad_fn of a value, in words."""
        if value.node is None:
            return value.outside or "None"
        return self.called(side, value.node)

    def called(self, side, i) -> str:
        """Return a node's name, with its number where the name alone would not tell."""
        node = side.nodes[i]
        if node.folded or node.accumulates:
            return side.node_title(i)
        return node.name if len(self.names[node.name]) == 1 else side.node_words(i)

    def memories(self) -> Iterator:
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

    def one_sided(self, word, side, i) -> Iterator:
        node = side.nodes[i]
        if node.accumulates and self.pair.values[node.leaf][0 if word == "new node" else 1] is None:
            return  # told with its leaf
        line = listing.node_lines(side, i, node, 1)[0].strip() if not node.accumulates else side.node_title(i)
        saved = [slot.name for slot in node.slots if slot is not None]
        yield ("node", i), f"{word}: {line}" + (f", which saved {', '.join(saved)}" if saved else "")

    def node(self, i, old, new) -> Iterator:
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

    def slot(self, a, b) -> Iterator:
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
    def holds(side, slot) -> str:
        return slot.content or "a tensor" if slot.value is None else side.title(slot.value)


def words(version) -> str:
    """Return a version number, or what is there in its place."""
    return "no counter" if version is None else str(version)


# --- one plan, written twice -------------------------------------------------------------------------------


class PairDrawing(Drawing):
    """Places the things of all sides once, and writes each side with its own words.

    `pair` has two sides here; nothing in this class counts them.
    """

    def __init__(self, pair, detail, lies, dense=False):
        self.pair, self.which = pair, len(pair.sides) - 1
        self.side_cards = [{} for _ in pair.sides]
        super().__init__(pair.both, detail, lies, dense=dense)

    # --- boxes with room for the words of all sides ---

    def value_cards(self, v) -> list:
        found = []
        for which, side in enumerate(self.pair.sides):
            if side.values[v] is not None:
                card = self.packed(value_card(side, v, self.detail))
                self.side_cards[which][f"v{v}"] = self.mark(card, ("value", v), self.pair.marks[which])
                found.append(card)
        return found

    def node_cards(self, i) -> list:
        found = []
        for which, side in enumerate(self.pair.sides):
            if side.nodes[i] is not None:
                card = self.packed(node_card(side, i, self.lies, self.detail))
                self.side_cards[which][f"n{i}"] = self.mark(card, ("node", i), self.pair.marks[which], side.nodes[i])
                found.append(card)
        return found

    def connect(self) -> None:
        """Ask for the arrows of all sides; each knows on which it is to be seen."""
        met = {}
        for which, side in enumerate(self.pair.sides):
            for kind, tail, head, more in arrows(side, self.detail):
                key = kind, tail, head, more.get("label"), more.get("drawer")
                if key not in met:
                    self.plan.connect(kind, self.box_of(*tail), self.box_of(*head), **more)
                    met[key] = self.plan.routes[-1]
                met[key].sides[which] = more

    # --- writing ---

    def turn_to(self, which) -> None:
        """Write this side from now on."""
        self.which, self.graph = which, self.pair.sides[which]

    def card_of(self, box) -> Card | None:
        return self.side_cards[self.which].get(box.key)

    def memory_words(self, memory) -> str:
        words = super().memory_words(memory)
        m = self.graph.memories.index(memory)
        return words + ("  " + CHANGED if ("memory", self.which, m) in self.pair.marks[self.which] else "")

    def title(self) -> list:
        """Return the lines above this side; what is true of both stands above the first one only."""
        graphs = self.pair.given
        stale = set(listing.stale_facts(graphs[self.which]))
        told = set() if not self.which else set(listing.facts(graphs[self.which - 1]))
        return self.set_lines([(fact, fact in stale) for fact in listing.facts(graphs[self.which]) if fact not in told])

    def words(self) -> list:
        """Return every piece of text on both sides."""
        found = ["before", "after"]
        for which in range(len(self.pair.sides)):
            self.turn_to(which)
            found += [line for line, *_ in self.title()] + list(filter(None, self.lane_words()))
            found += [words for card in self.side_cards[which].values() for words in card.words]
            found += [self.memory_words(memory) for memory in self.graph.memories]
            found += [r.label for r in self.plan.routes if which in r.sides and r.label]
        return found

    def write_route(self, page, r, kind=None) -> None:
        if self.which not in r.sides:
            return
        r.dotted = r.sides[self.which].get("dotted", False)
        r.drawer = r.sides[self.which].get("drawer", 0)
        others = [cards for k, cards in enumerate(self.side_cards) if k not in r.sides]
        if r.kind in ("next", "made") and any(r.tail.key in cards and r.head.key in cards for cards in others):
            page.arrow("new", [self.turn(*p) for p in r.points], curved=r.curved)
        super().write_route(page, r, kind)

    def write_words(self, page, r) -> None:
        if self.which in r.sides:
            super().write_words(page, r)

    def page_of(self, which) -> Page:
        """Return one side as a page of its own, with its name at the top."""
        self.turn_to(which)
        return self.svg()

    def room_above(self) -> float:
        return super().room_above() + CAPTION

    def write_title(self, page) -> None:
        x, y = self.shift[0], self.shift[1] - self.room_above()
        page.text(x, y + 14, SIDES[self.which], "name", "ink", "start")
        super().write_title(page)


def two_pages(pair, detail) -> list[str]:
    """Return the SVG of both sides, of one size: beside each other where the column has room for two, else below."""
    best = None
    for lies, beside, dense in ((True, False, False), (False, True, False), (False, True, True), (False, False, True)):
        drawing = PairDrawing(pair, detail, lies, dense)
        drawing.column = (WIDEST - BETWEEN) / 2 if beside else WIDEST
        pages = [drawing.page_of(which) for which in (BEFORE, AFTER)]
        wide, high = max(page.width for page in pages), max(page.height for page in pages)
        room = ((WIDEST - BETWEEN) / 2, HIGHEST) if beside else (WIDEST, ABOVE)
        scale = min(1, room[0] / wide, room[1] / high)
        if best is None or scale > best[0]:
            best = scale, pages
        if scale == 1:
            break
    return [page.svg(best[0]) for page in best[1]]
