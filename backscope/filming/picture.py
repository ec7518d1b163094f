"""The pictures of a film: the things of all frames are placed once, each frame draws what there is in it.

Time runs down, as it does in the source beside it. Boxes, arrows and colours are those of `draw`; that a picture can
have several sides comes from `compare`.
"""

import copy
from dataclasses import dataclass

from backscope.filming.words import Changes
from backscope.graph.compare import PairDrawing
from backscope.graph.model import STALE, Graph, Memory
from backscope.pictures.cards import CORNER, Card
from backscope.pictures.drawing import Drawing, node_card, short, value_card
from backscope.pictures.style import ROUND

TRACKS = 4  # for dotted lines between the lanes


class Stacked(Card):
    """A card in a picture that stands, with its drawers below its words all the same: it takes less width."""

    least = 0  # its width, so that all nodes are equally wide

    def size(self, lies) -> tuple:
        width, height = super().size(True)
        return max(width, self.least), height

    def places(self, width, height, lies) -> list:
        return super().places(width, height, True)

    def drawer_at(self, k, lies) -> tuple:
        x, y, wide, tall = self.places(*self.size(True), True)[k]
        return y + tall / 2, x + wide, k == len(self.drawers) - 1

    def write(self, page, x, y, width, height, lies) -> None:
        super().write(page, x, y, width, height, True)


@dataclass
class Places:
    """The frames as graphs in which each thing stands at its place: what a drawing of several sides is made from."""

    sides: list
    both: Graph  # the things of all sides
    marks: list


def placed(reel, changes) -> Places:
    """Return the Places of a reel."""
    slots = {}  # place of a node -> {name of a slot: its number}
    for side in reel.sides:
        for i, node in side.nodes.items():
            mine = slots.setdefault(reel.node_place[i], {})
            for name in node.slots:
                mine.setdefault(name, len(mine))
    spoilt = spoilt_by(reel)
    sides = [graph_of(reel, side, slots, spoilt) for side in reel.sides]
    marks = [marks_of(reel, one, slots) for one in changes]
    return Places(sides, union(sides), marks)


def spoilt_by(reel) -> dict:
    """Return {(node, slot): the line in whose frame the slot became STALE}."""
    found = {}
    for side, frame in zip(reel.sides, reel.frames, strict=True):
        for i, node in side.nodes.items():
            for name, slot in node.slots.items():
                if slot.state == STALE and frame.lines[0]:
                    found.setdefault((i, name), f"line {frame.lines[0]}")
    return found


def graph_of(reel, side, slots, spoilt) -> Graph:
    """Return a side as a graph of lists, with None at the places of what it does not have."""
    value, node = reel.value_place, reel.node_place
    graph = Graph([None] * (1 + max(value.values(), default=-1)), [None] * (1 + max(node.values(), default=-1)), [], [])

    def at(places, i):
        return None if i is None else places[i]

    for i, old in side.values.items():
        graph.values[value[i]] = one = copy.copy(old)
        one.node, one.view_of, one.grad_of = at(node, one.node), at(value, one.view_of), at(value, one.grad_of)
        one.inputs = [value[j] for j in one.inputs]
    for i, old in side.nodes.items():
        graph.nodes[node[i]] = one = copy.copy(old)
        one.leaf = at(value, one.leaf)
        one.edges = [(k, at(node, following), output) for k, following, output in one.edges]
        one.slots = [None] * len(slots[node[i]])
        for name, slot in old.slots.items():
            one.slots[slots[node[i]][name]] = slot = copy.copy(slot)
            slot.value, slot.wrote = at(value, slot.value), spoilt.get((i, name), "")
    graph.memories = [Memory(sorted(value[i] for i in m.members), m.version) for m in side.memories]
    graph.other_counter = [(value[a], value[b]) for a, b in side.other_counter]
    for m, memory in enumerate(graph.memories):
        for i in memory.members:
            graph.values[i].memory = m
    return graph


def union(sides) -> Graph:
    """Join the things of all sides. A tensor stands where it was first: a write in place does not move it."""
    both = copy.copy(sides[-1])
    both.values = [copy.copy(next(filter(None, found))) for found in zip(*(side.values for side in sides), strict=True)]
    both.nodes = [next(filter(None, found)) for found in zip(*(side.nodes for side in sides), strict=True)]
    group = {}
    for memory in (memory for side in sides for memory in side.memories):
        joined = set(memory.members).union(*(group.get(i, ()) for i in memory.members))
        group.update(dict.fromkeys(joined, joined))
    both.memories = [Memory(sorted(joined), None) for joined in {min(g): g for g in group.values()}.values()]
    for i, value in enumerate(both.values):
        value.memory = next((m for m, memory in enumerate(both.memories) if i in memory.members), None)
    return both


def marks_of(reel, changes: Changes, slots) -> dict:
    """Return what a frame marks, by places."""
    found = {}
    for what, word in changes.marks.items():
        if what[0] == "value":
            found["value", reel.value_place[what[1]]] = word
        else:
            place = reel.node_place[what[1]]
            found[(what[0], place) if what[0] == "node" else ("slot", place, slots[place][what[2]])] = word
    return found


class FilmDrawing(PairDrawing):
    """All frames of a film in one layout."""

    def __init__(self, reel, changes):
        self.reel, self.changes = reel, changes
        self.halos = [set() for _ in changes]
        super().__init__(placed(reel, changes), 1, lies=False)
        self.straighten()
        for k in range(1, len(reel.sides)):
            self.add_ghosts(k)

    def make_boxes(self) -> None:
        """Make all nodes equally wide, so that lines beside them keep clear of all of them."""
        super().make_boxes()
        widest = max((box.width for box in self.node_box.values()), default=0)
        for key, box in self.node_box.items():
            box.width = widest
            for cards in self.side_cards:
                if f"n{key}" in cards:
                    cards[f"n{key}"].least = widest

    def straighten(self) -> None:
        """Right angles in place of curves; and each dotted line that changes its row has a track of its own."""
        beside = 0
        for r in self.plan.routes:
            if r.curved:
                (t, c), (u, d) = r.points
                r.points, r.curved = [(t, c), ((t + u) / 2, c), ((t + u) / 2, d), (u, d)], False
            if r.kind == "made" and len(r.points) == 4:
                track = max(box.far for box in self.plan.back) + 9 + 7 * (beside % TRACKS)
                r.points = [r.points[0], *((t, track) for t, _ in r.points[1:3]), r.points[3]]
                beside += 1

    # --- boxes ---

    def value_cards(self, v) -> list:
        return self.cards_of(("value", v), f"v{v}", lambda side: side.values[v] and value_card(side, v, 1))

    def node_cards(self, i) -> list:
        def card(side):
            return side.nodes[i] and Stacked(**vars(node_card(side, i, False, 1)))

        return self.cards_of(("node", i), f"n{i}", card)

    def cards_of(self, what, key, made) -> list:
        """Return the cards that take turns in a box."""
        found = []
        for which, side in enumerate(self.pair.sides):
            card = made(side)
            if card is not None:
                node = side.nodes[what[1]] if what[0] == "node" else None
                self.side_cards[which][key] = self.mark(card, what, self.pair.marks[which], node)
                self.halos[which] |= {key} if what in self.pair.marks[which] else set()
                found.append(card)
        return found

    @staticmethod
    def mark(card, what, marks, node=None) -> Card | Stacked:
        """Return a word in a box, and amber behind its drawers, where something changed; mostly there is no word."""
        card.lines += [[(marks[what], "strong", "ink")]] if marks.get(what) else []
        shown = [k for k, slot in enumerate(node.slots) if slot is not None] if node is not None else []
        for drawer, k in zip(card.drawers, shown, strict=False):
            word, wrote = marks.get(("slot", what[1], k)), node.slots[k].wrote
            said = " · ".join(filter(None, [wrote and f"{wrote} wrote", word]))
            drawer.marked = word is not None
            drawer.lines += [[(said, "strong", drawer.lines[0][0][2])]] if said else []
        return card

    def add_ghosts(self, k) -> None:
        """Draw what has gone as a dashed box for one frame, where its place is not taken."""
        before, cards = self.reel.sides[k - 1], self.side_cards[k]
        for i in self.changes[k].gone_values:
            cards.setdefault(f"v{self.reel.value_place[i]}", ghost(before.title(i)))
        for i in self.changes[k].gone_nodes:
            node = before.nodes[i]
            cards.setdefault(f"n{self.reel.node_place[i]}", ghost(node.name.partition("Backward")[0] or node.name))

    # --- the page ---

    def pages(self) -> list:
        """Return a page for each frame, all of one size."""
        return [self.page_of(k) for k in range(len(self.pair.sides))]

    def focus(self, k) -> float:
        """Return how far down something has changed."""
        marks = self.pair.marks[k]
        boxes = [self.box_of("value" if what[0] == "value" else "node", what[1]) for what in marks]
        return max((self.turn(box.t, box.c)[1] for box in boxes), default=0)

    def title(self) -> list:
        return []

    def room_above(self) -> int:
        return Drawing.room_above(self)

    def write_title(self, page) -> None:
        """Write nothing: what the line did stands below the source."""

    def lane_words(self) -> tuple:
        return ("GRAPH: backward runs up" if self.plan.back else ""), "TENSORS: time runs down"

    def memory_words(self, memory) -> str:
        return Drawing.memory_words(self, memory)

    def write(self, page) -> None:
        """Write amber first, so that the heads of arrows lie on it."""
        for box in self.plan.boxes:
            if box.key in self.halos[self.which]:
                x, y = self.corner(box)
                radius = min(box.height / 2, CORNER) if box.card.pill else ROUND
                page.halo(x - 5, y - 5, box.width + 10, box.height + 10, radius + 4)
        super().write(page)

    def write_words(self, page, r) -> None:
        if r.kind != "stale":  # the drawer says which line wrote
            super().write_words(page, r)

    def write_route(self, page, r, kind=None) -> None:
        if self.which not in r.sides:
            return
        r.dotted = r.sides[self.which].get("dotted", False)
        r.drawer = r.sides[self.which].get("drawer", 0)
        before = self.side_cards[self.which - 1] if self.which else {}
        moved = self.which - 1 not in r.sides and r.tail.key in before and r.head.key in before
        if moved and r.kind in ("next", "made"):
            page.arrow("new", [self.turn(*p) for p in r.points], curved=r.curved)
        Drawing.write_route(self, page, r, kind)


def ghost(name) -> Card:
    """Return a box for what has gone."""
    return Card("ghost", [[(short(name), "value", "ink2"), ("gone", "strong", "ink2")]], dashed=True)
