"""From a Graph to a picture: words and colours, at the places that lanes.py gives them.

Colours are never the only sign: STALE, FREED and frozen are words as well, leaves have a double border, and orange is
for STALE alone, with a line to the tensor that was overwritten.
"""

import math
import textwrap
from collections.abc import Iterator

from backscope.graph import listing
from backscope.graph.folding import LETTERS
from backscope.graph.model import DETACHED, OK, STALE, UNWATCHED
from backscope.pictures import lanes
from backscope.pictures.cards import Card, Drawer
from backscope.pictures.style import (
    HIGHEST,
    MARGIN,
    TEXTS,
    WIDEST,
    Page,
    height_of,
    pill_width,
    width_of,
    width_of_spans,
    wrapped,
)

LONGEST_NAME = 24
MOST_TO_NOTHING = 3  # arrows to nothing that are drawn one by one
LONG_LINE = 230  # pixels: so long the words of a box may be where all of them stand in one line
WIDE_DRAWER = 112  # pixels: a longer line of a drawer that stands below its node is broken


# --- the words in the boxes --------------------------------------------------------------------------------


def short(name) -> str:
    """Return a name cut in the middle when it is too long for a box."""
    if len(name) <= LONGEST_NAME:
        return name
    return name[: LONGEST_NAME // 2] + "…" + name[-(LONGEST_NAME // 2 - 1) :]


def hook_drawer(lines) -> list:
    """Return one drawer for all lines about hooks, or none."""
    return [Drawer([[(line, "value", "run_t")] for line in lines], "run")] if lines else []


def value_card(graph, index, detail) -> Card:
    """Write the card of a tensor: its name, what it holds and its version, and what is special about it."""
    value = graph.values[index]
    kind = "tensor" if value.requires_grad else "plain"
    colour = "tensor_t" if value.requires_grad else "ink"
    second = "tensor_t" if value.requires_grad else "ink2"
    if value.frozen:
        kind, colour, second = "frozen", "tensor_t", "tensor_t"
    what = listing.kind(value)
    more = [(what, "small", second)] if what and what != "leaf" else []
    lines = [[(short(value.name), "tensor", colour), *more]]

    def say(text):
        lines.append([(text, "value", second)])

    if detail >= 1:
        shared = value.memory is not None or value.version is None
        say(value.preview + ("" if shared else f"  v{value.version}"))
        if detail >= 2:
            say(f"{value.dtype} {value.shape}")
    if value.view_of is not None:
        say("view of " + short(graph.title(value.view_of)))
    for mine, other in graph.other_counter:
        if other == index:
            say(f"{short(graph.title(mine))}'s memory,")
            say("own counter")
    if value.outside:
        say(f"by {value.outside}")
        say("(not in this graph)")
    if value.retains_grad:
        say("retains grad: " + value.grad)
    elif value.grad is not None and all(node is None or node.leaf != index for node in graph.nodes):
        say("grad: " + value.grad)
    if value.problem:
        say("unusable")
    return Card(kind, lines, hook_drawer(listing.hook_words(value)), double=value.leaf)


def node_card(graph, index, lies, detail) -> Card:
    """Write the card of a node: its name, and below or beside it the drawers with what it saved."""
    node = graph.nodes[index]
    hooks = hook_drawer(listing.node_hook_words(node))
    if node.folded:
        lines = [piece for line in node.lines for piece in textwrap.wrap(line, LETTERS if not lies else LETTERS // 2)]
        stale = node.folded_slots.get(STALE)
        colour = "stale_t" if stale else "ink"
        spans = [[(line, "strong" if k == 0 else "value", colour)] for k, line in enumerate(lines)]
        return Card("stale" if stale else "node", spans, hooks, dashed=True)
    if node.accumulates:
        leaf = graph.values[node.leaf]
        name = f"{short(leaf.name)}.grad" if leaf.named else "grad"
        grad = f"{name}: {leaf.grad}" if leaf.requires_grad else "requires_grad is off"
        return Card("acc", [[(node.name, "news", "acc_t")], [(grad, "value", "acc_t")]], hooks)
    drawers = [slot_drawer(graph, slot, lies) for slot in node.slots if slot is not None] if detail >= 1 else []
    kept = [f"{name} = {text}" for name, text in node.kept] if detail >= 2 else []
    more = [[(line, "value", "ink2")] for line in [*kept, *node.lines]]
    lines, number = named(node, lies)
    return Card("node", [*lines, *more], drawers + hooks, number)


def named(node, lies) -> tuple:
    """Return (lines, number) of a node's name: MulBackward0 is set as Mul and, small, Backward0."""
    number = "" if node.number is None else str(node.number)
    head, backward, rest = node.name.partition("Backward")
    tail = backward + rest
    if not head:
        head, tail = node.name, ""
    if lies:
        return [[(head, "name", "ink")], *([[(tail, "small", "ink2")]] if tail else [])], number
    spans = [(number, "small", "ink2")] if number else []
    return [[*spans, (head, "name", "ink"), *([(tail, "small", "ink2")] if tail else [])]], ""


def slot_drawer(graph, slot, lies) -> Drawer:
    """Return a saved tensor: under which name it was saved, what it is, its version then and now."""
    verb = "kept " if slot.state == UNWATCHED else ""
    held = slot.content if slot.value is None else short(graph.title(slot.value))
    colour = "stale_t" if slot.state == STALE else "ink" if slot.state == OK else "ink2"
    bold = "strong" if slot.state == STALE else "value"
    name = f"{verb}{slot.name} = {held}" if held else verb + slot.name
    versions = f"v{slot.saved}, now v{slot.now}" if slot.state in (OK, STALE) and slot.now is not None else ""
    words = {OK: "", DETACHED: "DETACHED in place", UNWATCHED: "no version check"}.get(slot.state, slot.state)
    kind = {OK: "slot", STALE: "stale"}.get(slot.state, "gone")
    small = "strong" if slot.state == STALE else "small"
    second = "stale_t" if slot.state == STALE else "ink2"
    lines = [name]
    if lies and held and width_of(name, bold) > WIDE_DRAWER:
        lines = [f"{verb}{slot.name} =", held]
    lines = [[(line, bold, colour)] for line in lines]
    state = [(word, small, second) for word in (versions, words) if word]
    if state and not lies:
        lines[-1] += state
    elif state:
        lines.append(state)
    return Drawer(lines, kind)


# --- the arrows --------------------------------------------------------------------------------------------


def arrows(graph, detail) -> Iterator:
    """Yield (kind, tail, head, more) for every arrow; tail and head are ("node", i) or ("value", v).

    Places of a graph that hold None, as in one side of a comparison, have no arrows.
    """
    for i, node in enumerate(graph.nodes):
        if node is None:
            continue
        several = len(node.edges) > 1 and not node.folded
        for k, following, output in node.edges:
            if following is not None:
                text = (str(k) if several else "") + (f" (output {output})" if output else "")
                slope = node.slopes.get(k, "")
                yield "next", ("node", i), ("node", following), {"label": text.strip(), "pill": slope and f"× {slope}"}
        for text in arrows_to_nothing(node) if several else ():
            yield "nothing", ("node", i), ("node", i), {"label": text}
        if node.leaf is not None:
            yield "made", ("node", i), ("value", node.leaf), {"leaf": True}
        met = -1
        for slot in node.slots if detail >= 1 and not node.folded else []:
            if slot is not None:
                met += 1
                if slot.state == STALE and slot.value is not None:
                    yield "stale", ("node", i), ("value", slot.value), {"drawer": met, "label": slot.wrote}
    for v, value in enumerate(graph.values):
        if value is None:
            continue
        for source in [] if graph.by_module else value.inputs:  # they would pass by all the boxes of the modules
            yield "forward", ("value", source), ("value", v), {"dotted": source == value.view_of}
        if value.node is not None:
            yield "made", ("value", v), ("node", value.node), {}
        if value.grad_of is not None:
            yield "grad", ("value", value.grad_of), ("value", v), {"label": ".grad"}
    for a, b in graph.other_counter:
        yield "own counter", ("value", a), ("value", b), {}


def arrows_to_nothing(node) -> list[str]:
    """Label a node's arrows to nothing: the operand's number on each; how many there are, if there are many."""
    numbers = [str(k) for k, following, _ in node.edges if following is None]
    return numbers if len(numbers) <= MOST_TO_NOTHING else [f"{len(numbers)}×"]


def kind_of(route) -> str:
    """Return the kind of line that an arrow is drawn with."""
    if route.kind == "next":
        return "back"
    if route.kind == "made":
        return "grad" if route.leaf else "made"
    if route.kind == "forward" and route.dotted:
        return "view"  # it looks at memory that is there
    return route.kind


# --- from the graph to a plan ------------------------------------------------------------------------------


class Drawing:
    """One picture: makes a card for everything in the graph, has it placed, and writes SVG."""

    column = WIDEST  # sentences above the picture are set this wide
    compact = False  # whether the SVG is one of many

    def __init__(self, graph, detail, lies, marks=None, dense=False):
        self.graph, self.detail, self.lies, self.dense = graph, detail, lies, dense
        self.marks = marks or {}  # ("node", i), ("value", v) or ("slot", i, k) -> a word; amber behind it
        self.shift = (0, 0)  # of what is written now; more than one drawing fits on a page
        self.node_box, self.value_box = {}, {}
        self.make_boxes()
        steps = self.share_columns(self.steps())
        clusters = [[self.value_box[i] for i in memory.members] for memory in graph.memories]
        self.parts = self.nodes_of_parts()
        titled = [boxes[0].key for boxes in self.parts.values()]
        self.plan = lanes.Plan(steps, clusters, lies, titled, WIDEST - 2 * MARGIN, dense)
        self.connect()
        self.plan.place()
        self.measure()

    # --- boxes ---

    def make_boxes(self) -> None:
        """Make a box for every node and tensor, as large as what stands in it."""
        for v in range(len(self.graph.values)):
            self.value_box[v] = self.sized(f"v{v}", lanes.VALUE, self.value_cards(v))
        cards = {i: self.node_cards(i) for i, node in enumerate(self.graph.nodes) if node is not None}
        inner = [card for some in cards.values() for card in some if not self.lies]
        self.head = head = max((card.head_size()[0] for card in inner), default=0)
        for card in inner:
            card.head = head
        for i, some in cards.items():
            box = self.sized(f"n{i}", lanes.BACK, some)
            box.port = lanes.HEAD if self.lies else round(head / 2)
            self.node_box[i] = box

    def value_cards(self, v) -> list:
        """Return the cards that take turns in a value's box: one here, one for each side in a comparison."""
        card = self.packed(value_card(self.graph, v, self.detail))
        return [self.mark(card, ("value", v), self.marks)]

    def node_cards(self, i) -> list:
        card = self.packed(node_card(self.graph, i, self.lies, self.detail))
        return [self.mark(card, ("node", i), self.marks, self.graph.nodes[i])]

    def packed(self, card) -> Card:
        """Return the card with its lines in one, where a picture would else get too high."""
        one = [span for line in card.lines for span in line]
        if self.dense and width_of_spans(one) < LONG_LINE:
            card.lines = [one]
        elif self.dense and card.dashed and len(card.lines) > 2:
            card.lines = [card.lines[0] + card.lines[1], *card.lines[2:]]
        return card

    @staticmethod
    def mark(card, what, marks, node=None) -> Card:
        """Return the card, with the word that marks it, and with its drawers' words."""
        if what in marks:
            card.marked = True
            card.lines = [*card.lines, [(marks[what], "strong", "ink")]]
        if node is not None:
            shown = [k for k, slot in enumerate(node.slots) if slot is not None]
            for drawer, k in zip(card.drawers, shown, strict=False):
                if ("slot", what[1], k) in marks and drawer.kind != "run":
                    drawer.marked = True
                    drawer.lines = [*drawer.lines, [(marks["slot", what[1], k], "strong", drawer.lines[0][0][2])]]
        return card

    def sized(self, key, lane, cards) -> lanes.Box:
        """Return a box in which each of these cards has room."""
        sizes = [card.size(self.lies) for card in cards]
        width, height = max(w for w, _ in sizes), max(h for _, h in sizes)
        return lanes.Box(key, lane, 2 * math.ceil(width / 2), 2 * math.ceil(height / 2), cards[-1])

    def steps(self) -> list:
        """Return the steps of the computation in order: each leaf just before it is first used."""
        graph = self.graph
        leaf_node = {node.leaf: i for i, node in enumerate(graph.nodes) if node.leaf is not None}
        order = [i for i, node in enumerate(graph.nodes) if not node.accumulates]
        steps, at = [], 0
        for v, value in enumerate(graph.values):
            if value.node is None:
                node = self.node_box[leaf_node[v]] if v in leaf_node else None
                steps.append(lanes.Step(node, [self.value_box[v]]))
                continue
            while at < len(order) and order[at] <= value.node:
                steps.append(lanes.Step(self.node_box[order[at]]))
                at += 1
            if steps and steps[-1].node is self.node_box.get(value.node) and not steps[-1].values:
                steps[-1].values.append(self.value_box[v])
            else:
                steps.append(lanes.Step(None, [self.value_box[v]]))
        return steps + [lanes.Step(self.node_box[i]) for i in order[at:]]

    def share_columns(self, steps) -> list:
        """Put a tensor that no node made beside a node that comes next and has no tensor; it saves room.

        Where time runs right and there is no such node, it stands below the leaf before it.
        """
        graph = self.graph
        leaves = {id(self.value_box[node.leaf]) for node in graph.nodes if node.leaf is not None}
        free = {
            id(self.value_box[v]) for v, value in enumerate(graph.values) if value.node is None and value.memory is None
        }
        shared, waiting = [], []

        def seat():
            """Give those that wait a place of their own."""
            for step in waiting:
                before = shared[-1] if shared else None
                if self.lies and before and len(before.values) == 1 and id(before.values[0]) in leaves:
                    before.values += step.values
                else:
                    shared.append(step)
            waiting.clear()

        for step in steps:
            if step.node is None and id(step.values[0]) in free:
                waiting.append(step)
            elif step.node is not None and not step.values and waiting:
                shared.append(waiting.pop(0))
                shared[-1].node = step.node
            else:
                seat()
                shared.append(step)
        seat()
        return shared

    def connect(self) -> None:
        """Ask for all the arrows."""
        for kind, tail, head, more in arrows(self.graph, self.detail):
            self.plan.connect(kind, self.box_of(*tail), self.box_of(*head), **more)

    def box_of(self, what, index) -> lanes.Box:
        """Return the box of ("node", i) or ("value", v)."""
        return (self.node_box if what == "node" else self.value_box)[index]

    def card_of(self, box) -> Card:
        """Write the card of a box; None for what is not to be seen now."""
        return box.card

    # --- words ---

    def title(self) -> list:
        """List (line, is it about a stale tensor): what would fail, what is not what it seems, what was folded."""
        stale = set(listing.stale_facts(self.graph))
        return self.set_lines([(fact, fact in stale) for fact in listing.facts(self.graph)])

    def set_lines(self, facts) -> list:
        width = max(self.column - 2 * MARGIN, self.width)
        return [
            (line, stale, k == 0)
            for fact, stale in facts
            for k, line in enumerate(wrapped(fact, width - 16 * stale, "news" if stale else "text"))
        ]

    def memory_words(self, memory) -> str:
        """Return the words on the outline of shared memory."""
        return "one memory" + ("" if memory.version is None else f" · v{memory.version}")

    def lane_words(self) -> tuple:
        """Return the names of the two lanes."""
        if not self.plan.back:
            return "", ""
        back, there = ("to the left", "to the right") if self.lies else ("up", "down")
        tensors = f"YOUR TENSORS: the computation ran {there}" if self.plan.values else ""
        return f"THE GRAPH: backward runs {back}", tensors

    def words(self) -> list:
        """Return every piece of text that the drawing contains."""
        found = [line for line, *_ in self.title()]
        found += [words for box in self.plan.boxes for words in box.card.words]
        found += [text for route in self.plan.routes for text in (route.label, route.pill) if text]
        found += [self.memory_words(memory) for memory in self.graph.memories]
        return found + [name for name in self.lane_words() if name]

    # --- the page ---

    def measure(self) -> None:
        """Measure how far boxes, arrows, their labels and the outlines of memories reach."""
        plan = self.plan
        spots = [(b.front, b.near, b.rear, b.far) for b in plan.boxes]
        spots += [(t, c - 7 * (r.kind == "nothing"), t, c) for r in plan.routes for t, c in r.points]  # 7: the ring
        spots += [self.outline(memory)[0] for memory in self.graph.memories]
        flat = [self.flat(*spot) for spot in spots]
        for r in plan.routes:
            if r.label and r.label_at:
                flat.append(self.spot(r.label_at, width_of(r.label, "small"), 10))
            if r.pill and r.pill_at:
                flat.append(self.spot(r.pill_at, pill_width(r.pill), 20))
        for name, boxes in self.parts.items():
            flat.append(self.flat(*self.band(name, boxes)))
        self.left, self.top = min(s[0] for s in flat), min(s[1] for s in flat)
        self.width = max(s[2] for s in flat) - self.left
        self.height = max(s[3] for s in flat) - self.top

    def flat(self, t1, c1, t2, c2) -> tuple:
        """Return a rectangle of the plan as one of the page, before it is shifted: left, top, right, bottom."""
        return (t1, c1, t2, c2) if self.lies else (c1, t1, c2, t2)

    def spot(self, at, width, height) -> tuple:
        """Return the rectangle of words whose middle is at a point of the plan."""
        x, y = at if self.lies else (at[1], at[0])
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2

    def turn(self, t, c) -> tuple:
        """Return a point of the plan as a point of the page."""
        x, y = (t, c) if self.lies else (c, t)
        return x - self.left + self.shift[0], y - self.top + self.shift[1]

    def corner(self, box) -> tuple:
        """Return the upper left corner of a box on the page."""
        return self.turn(box.front, box.near)

    def svg(self) -> Page:
        """Return the picture, as a page that gives its SVG in any scale."""
        above, below = self.room_above(), self.room_below()
        width = max([self.width, *self.widths_of_words()]) + 2 * MARGIN
        page = Page(width, self.height + above + below + 2 * MARGIN, "", self.compact)
        self.shift = MARGIN, MARGIN + above
        self.write(page)
        return page

    def widths_of_words(self) -> list[float]:
        """Measure how wide the lines above and below are."""
        lines = [width_of(line, "news" if stale else "text") + 16 * stale for line, stale, _ in self.title()]
        names = [width_of(words, "label") for words in self.lane_words() if words]
        if len(names) > 1 and not self.lies:
            names = [self.second_lane() + names[1]]
        return [*lines, *names]

    def room_above(self) -> float:
        lines = self.title()
        room = sum(height_of("news" if stale else "text") for _, stale, _ in lines) + (10 if lines else 0)
        return room + (26 if self.lane_words()[0] else 0)

    def room_below(self) -> int:
        return 24 if self.lies and self.lane_words()[1] else 0

    def write(self, page) -> None:
        """Write everything in the picture, what lies below first."""
        self.write_title(page)
        self.write_lanes(page)
        self.write_parts(page)
        for memory in self.graph.memories:
            self.write_outline(page, memory)
        for r in self.plan.routes:
            self.write_route(page, r)
        for box in self.plan.boxes:
            card = self.card_of(box)
            if card is not None:
                card.write(page, *self.corner(box), box.width, box.height, self.lies)
        for r in self.plan.routes:
            self.write_words(page, r)

    def write_title(self, page) -> None:
        x, y = self.shift[0], self.shift[1] - Drawing.room_above(self) + TEXTS["text"][0]
        for line, stale, first in self.title():
            if stale and first:
                page.dot("stale_e", x + 5, y - 4.5)
            page.text(x + 16 * stale, y, line, "news" if stale else "text", "stale_t" if stale else "ink", "start")
            y += height_of("news" if stale else "text")

    def write_lanes(self, page) -> None:
        graph, tensors = self.lane_words()
        x, y = self.shift
        if graph:
            page.text(x, y - 14, graph, "label", "ink2", "start")
        if tensors and self.lies:
            page.text(x, y + self.height + 20, tensors, "label", "ink2", "start")
        elif tensors:
            page.text(x + self.second_lane(), y - 14, tensors, "label", "ink2", "start")

    def second_lane(self) -> float:
        """Find where the name of the tensors' lane begins, when time runs down: above them, clear of the other."""
        first = min(v.near for v in self.plan.values) - self.left
        return max(first, width_of(self.lane_words()[0], "label") + 24)

    def nodes_of_parts(self) -> dict:
        """For each named part the boxes of its nodes, in order."""
        found = {}
        for name, (first, last) in self.graph.parts.items():
            inside = [i for i, node in enumerate(self.graph.nodes) if node.number and first <= node.number <= last]
            found[name] = [self.node_box[i] for i in inside]
        return found

    def band(self, name, boxes) -> tuple:
        """Return the rectangle behind the nodes of a part: front, near, rear, far."""
        near, far = min(b.near for b in boxes) - 7, max(b.far for b in boxes) + 7
        far = max(far, boxes[0].meets + 14 + width_of(name, "label"))
        return boxes[0].front - 22, near, boxes[-1].rear + 7, far

    def write_parts(self, page) -> None:
        """Draw a pale band behind the nodes of each part, with its name at the top; only where time runs down."""
        for name, boxes in self.parts.items():
            front, near, rear, far = self.band(name, boxes)
            x, y = self.turn(front, near)
            page.rect("part", x, y, far - near, rear - front)
            x, y = self.turn(boxes[0].front - 8, boxes[0].meets + 8)
            page.text(x, y, name, "label", "ink", "start")

    def outline(self, memory) -> tuple:
        """Return ((front, near, rear, far) of a shared memory's outline, the lower left corner of its words)."""
        boxes = [self.value_box[i] for i in memory.members]
        wide = width_of(self.memory_words(memory), "label")
        front, rear = min(b.front for b in boxes) - 8, max(b.rear for b in boxes) + 8
        near, far = min(b.near for b in boxes) - 8, max(b.far for b in boxes) + 8
        if self.lies:  # below, between the arrows that reach the first two values from there
            first, second = sorted(boxes, key=lambda b: b.t)[:2]
            far += 14
            return (front, near, rear, far), ((first.t + second.t) / 2 - wide / 2, far - 5)
        step = self.plan.steps[boxes[0].step]  # above, to the left of the arrow that reaches the first value
        front = step.start - step.before - 21
        near = min(near, boxes[0].c - wide - 12)
        return (front, near, rear, far), (front + 15, boxes[0].c - wide - 6)

    def write_outline(self, page, memory) -> None:
        """Draw a dashed outline around values that share memory; it carries the version."""
        (front, near, rear, far), at = self.outline(memory)
        (x1, y1), (x2, y2) = self.turn(front, near), self.turn(rear, far)
        x, y = self.turn(*at)
        page.rect("mem", min(x1, x2), min(y1, y2), abs(x2 - x1), abs(y2 - y1), 12, 1.5, "6 4")
        page.text(x, y, self.memory_words(memory), "label", "mem_t", "start")

    def write_route(self, page, r, kind=None) -> None:
        kind = kind or kind_of(r)
        page.arrow(kind, [self.turn(*p) for p in r.points], curved=r.curved)
        if kind == "nothing":
            x, y = self.turn(*r.points[-1])
            page.ring("nothing", x - (0 if self.lies else 3), y - (3 if self.lies else 0))

    def write_words(self, page, r) -> None:
        """Write the number of an operand at an arrow's tail, the slope in its middle."""
        if r.label and r.label_at:
            x, y = self.turn(*r.label_at)
            stale = r.kind == "stale"  # the line of code that wrote stands above its line
            page.text(x, y - 5 if stale else y + 4, r.label, *(("label", "stale_t") if stale else ("small", "ink2")))
        if r.pill and r.pill_at:
            page.pill(*self.turn(*r.pill_at), r.pill)


def best_to_read(ways) -> str:
    """Draw (SVG, drawing) in the first way that fits the column and a screen, else in the one that is shrunk least."""
    best = None
    for way in ways:
        drawing = way()
        page = drawing.svg()
        scale = min(1, WIDEST / page.width, HIGHEST / page.height)
        if best is None or scale > best[0]:
            best = scale, page
        if scale == 1:
            break
    return best[1].svg(best[0])
