"""From a Graph to DOT, Graphviz's language: words and colours, at the places that lanes.py gives them.

Colours are Okabe and Ito's, told apart by colour-blind eyes, and never the only sign: STALE and FREED are
words, leaves have a double border, saved tensors a folded corner. No HTML-like labels: the wasm build of
Graphviz drops them without a word.
"""

import textwrap

from backscope.graph import listing
from backscope.graph.folding import LETTERS
from backscope.graph.model import DETACHED, FREED, OK, PACKED, STALE, UNWATCHED
from backscope.pictures import lanes

BLUE, PALE_BLUE = "#0072B2", "#DCEBF7"  # values
GREY, PALE_GREY = "#555555", "#EEEEEE"  # backward nodes
GREEN, PALE_GREEN = "#00785A", "#D5EFE6"  # AccumulateGrad
PURPLE, DARK_PURPLE = "#AA4499", "#7A2E6E"  # shared memory
VERMILLION, DARK_VERMILLION, PALE_VERMILLION = "#D55E00", "#9C3B00", "#FBE3D6"  # STALE and nothing else
NOTE = "#56728A"  # saved tensors
BROWN, PALE_BROWN = "#7A5200", "#FFF1CC"  # hooks
PLAIN, PALE_PLAIN = "#777777", "#F2F2F2"  # requires_grad=False
PART = "#E9E2F3"  # behind nodes that belong together
YELLOW = "#F0E442"  # behind what is marked; the second sign is a word in the box
INK, LINE = "#111111", "#333333"

LONGEST_NAME = 24
MOST_TO_NOTHING = 3  # arrows to nothing that are drawn one by one
ENGINE = "nop2"  # Graphviz's layout engine that leaves boxes and arrows where they are


# --- the words in the boxes: also what the tests look for in the drawing ------------------------------------


def short(name):
    """A name cut in the middle when it is too long for a box."""
    if len(name) <= LONGEST_NAME:
        return name
    return name[: LONGEST_NAME // 2] + "…" + name[-(LONGEST_NAME // 2 - 1) :]


def value_words(graph, index, detail):
    """The words in a value's box."""
    value = graph.values[index]
    kind = listing.kind(value)
    lines = [f"{short(value.name)}  {kind}" if kind else short(value.name)]
    if detail >= 1:
        shared = value.memory is not None or value.version is None
        lines.append(value.preview + ("" if shared else f"  v{value.version}"))
        if detail >= 2:
            lines.append(f"{value.dtype} {value.shape}")
    if value.view_of is not None:
        lines.append("view of " + short(graph.title(value.view_of)))
    for mine, other in graph.other_counter:
        if other == index:
            lines += [f"{short(graph.title(mine))}'s memory,", "own counter"]
    if value.outside:
        lines += [f"by {value.outside}", "(not in this graph)"]
    if value.retains_grad:
        lines.append("retains grad: " + value.grad)
    elif value.grad is not None and all(node is None or node.leaf != index for node in graph.nodes):
        lines.append("grad: " + value.grad)
    if value.problem:
        lines.append("unusable")
    return lines + listing.hook_words(value)


def node_words(graph, index, lies, detail):
    """The words in a backward node's box."""
    node = graph.nodes[index]
    if node.folded:
        return [piece for line in node.lines for piece in textwrap.wrap(line, LETTERS + 10)]
    if node.accumulates:
        leaf = graph.values[node.leaf]
        name = f"{short(leaf.name)}.grad" if leaf.named else "grad"
        grad = f"{name}: {leaf.grad}" if leaf.requires_grad else "requires_grad is off"
        return [node.name, grad, *listing.node_hook_words(node)]
    head, backward, rest = node.name.partition("Backward")
    lines = [f"{node.number}  {node.name}"]
    if lies and backward and head:
        lines = [f"{node.number}  {head}", backward + rest]
    if detail >= 2:
        lines += [f"{name} = {text}" for name, text in node.kept]
    return lines + node.lines + listing.node_hook_words(node)


def slot_words(graph, slot):
    """The words in a saved tensor's note."""
    verb = listing.slot_verb(slot)
    lines = [f"{verb} {slot.name}"]
    held = slot.content if slot.value is None else short(graph.title(slot.value))
    if held:
        first = f"{verb} {slot.name} ="
        lines = [first, held] if len(held) > 6 else [f"{first} {held}"]
    if slot.state in (OK, STALE) and slot.now is not None:
        lines.append(f"v{slot.saved}, now v{slot.now}")
    if slot.state != OK:
        words = {DETACHED: "DETACHED in place", UNWATCHED: "no version check"}
        lines.append(words.get(slot.state, slot.state))
    return lines


def hooks_height(lines):
    """How high the box is that holds the lines about hooks; 0 without any."""
    count = sum(isinstance(line, listing.Hook) for line in lines)
    return count * 11 + 5 if count else 0


# --- the arrows --------------------------------------------------------------------------------------------


def arrows(graph, detail):
    """(kind, tail, head, more) for every arrow; tail and head are ("node", i), ("value", v) or ("slot", i, k).

    Places of a graph that hold None, as in one side of a comparison, have no arrows.
    """
    for i, node in enumerate(graph.nodes):
        if node is None:
            continue
        several = len(node.edges) > 1 and not node.folded
        for k, following, output in node.edges:
            if following is not None:
                text = (str(k) if several else "") + (f" (output {output})" if output else "")
                yield "next", ("node", i), ("node", following), {"label": text.strip()}
        for text in arrows_to_nothing(node) if several else ():
            yield "nothing", ("node", i), ("node", i), {"label": text}
        if node.leaf is not None:
            yield "made", ("node", i), ("value", node.leaf), {"slot": "leaf"}
        for k, slot in enumerate(node.slots if detail >= 1 else []):
            if slot is not None:
                yield "saves", ("node", i), ("slot", i, k), {"slot": slot}
                if slot.value is not None:
                    yield "holds", ("slot", i, k), ("value", slot.value), {"slot": slot}
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


def arrows_to_nothing(node):
    """The labels of a node's arrows to nothing: the operand's number on each; how many there are, if there are many."""
    numbers = [str(k) for k, following, _ in node.edges if following is None]
    return numbers if len(numbers) <= MOST_TO_NOTHING else [f"{len(numbers)}×"]


# --- from the graph to a plan ------------------------------------------------------------------------------


class Drawing:
    """One picture: makes a box for everything in the graph, has it placed, and writes DOT."""

    def __init__(self, graph, detail, lies, marks=None):
        self.graph, self.detail, self.lies = graph, detail, lies
        self.marks = marks or {}  # ("node", i), ("value", v) or ("slot", i, k) -> a word; yellow behind the box
        self.prefix, self.shift = "", (0, 0)  # more than one drawing fits on a page
        self.node_box, self.value_box, self.slot_box = {}, {}, {}
        steps = self.merge(self.steps()) if lies else self.steps()
        clusters = [[self.value_box[i] for i in memory.members] for memory in graph.memories]
        self.parts = self.nodes_of_parts()
        self.plan = lanes.Plan(steps, clusters, lies, [boxes[0].key for boxes in self.parts.values()])
        self.connect()
        self.plan.place()
        self.measure()

    def steps(self):
        """The steps of the computation in order: each leaf just before it is first used."""
        graph = self.graph
        leaf_node = {node.leaf: i for i, node in enumerate(graph.nodes) if node.leaf is not None}
        order = [i for i, node in enumerate(graph.nodes) if not node.accumulates]
        steps, at = [], 0
        for v, value in enumerate(graph.values):
            if value.node is None:
                node = self.new_node(leaf_node[v]) if v in leaf_node else None
                steps.append(lanes.Step(node, [self.new_value(v)]))
                continue
            while at < len(order) and order[at] <= value.node:
                steps.append(self.node_step(order[at]))
                at += 1
            if steps and steps[-1].node is self.node_box.get(value.node) and not steps[-1].values:
                steps[-1].values.append(self.new_value(v))
            else:
                steps.append(lanes.Step(None, [self.new_value(v)]))
        return steps + [self.node_step(i) for i in order[at:]]

    def merge(self, steps):
        """Where time runs right, an input without a node stands below the leaf before it, to save width."""
        graph = self.graph
        leaves = {id(self.value_box[node.leaf]) for node in graph.nodes if node.leaf is not None}
        free = {id(self.value_box[i]) for i, v in enumerate(graph.values) if v.node is None and v.memory is None}
        merged = []
        for step in steps:
            below = step.node is None and id(step.values[0]) in free
            if below and merged and len(merged[-1].values) == 1 and id(merged[-1].values[0]) in leaves:
                merged[-1].values += step.values
            else:
                merged.append(step)
        return merged

    def node_step(self, i):
        count = self.slot_count(i) if self.detail >= 1 else 0
        return lanes.Step(self.new_node(i), [], [self.new_slot(i, k) for k in range(count)])

    def slot_count(self, i):
        return len(self.graph.nodes[i].slots)

    def new_slot(self, i, k):
        text = self.marked(("slot", i, k), slot_words(self.graph, self.graph.nodes[i].slots[k]))
        self.slot_box[i, k] = lanes.box(f"s{i}_{k}", lanes.SAVED, text, 9)
        return self.slot_box[i, k]

    def marked(self, what, lines):
        """The words of a box, and the word that marks it."""
        return [*lines, self.marks[what]] if what in self.marks else lines

    def new_node(self, i):
        text = self.marked(("node", i), node_words(self.graph, i, self.lies, self.detail))
        self.node_box[i] = lanes.box(f"n{i}", lanes.BACK, text, 10)
        return self.node_box[i]

    def new_value(self, v):
        text = self.marked(("value", v), value_words(self.graph, v, self.detail))
        self.value_box[v] = lanes.box(f"v{v}", lanes.VALUE, text, 10, double=self.graph.values[v].leaf)
        return self.value_box[v]

    def connect(self):
        """Ask for all the arrows."""
        for kind, tail, head, more in arrows(self.graph, self.detail):
            self.plan.connect(kind, self.box_of(*tail), self.box_of(*head), **more)

    def box_of(self, what, *index):
        """The box of ("node", i), ("value", v) or ("slot", i, k)."""
        if what == "slot":
            return self.slot_box[index]
        return (self.node_box if what == "node" else self.value_box)[index[0]]

    def title(self):
        """The lines above the picture: what would fail, what is not what it seems, what was folded."""
        return self.folded_lines(listing.facts(self.graph))

    def folded_lines(self, facts):
        letters = max(56, int((self.right - self.left) / 5))
        return [line for fact in facts for line in textwrap.wrap(fact, letters)]

    def lines(self, box):
        """The words that are written into a box."""
        return box.lines

    def memory_words(self, memory):
        """The words on the outline of shared memory."""
        return "one memory" + ("" if memory.version is None else f" · v{memory.version}")

    def words(self):
        """Every line of text that the drawing contains."""
        found = self.title() + [line for box in self.plan.boxes for line in box.lines]
        found += [route.label for route in self.plan.routes if route.label]
        return found + [self.memory_words(memory) for memory in self.graph.memories]

    # --- DOT ---

    def source(self):
        """The DOT text. ImportError without the `graphviz` package."""
        dot = new_page()
        self.write(dot)
        return dot.source

    def write(self, dot):
        """Everything in the picture."""
        self.write_parts(dot)
        self.write_halos(dot)
        self.write_clusters(dot)
        for i, node in enumerate(self.graph.nodes):
            if node is not None:
                self.write_node(dot, i)
        for r in self.plan.routes:
            self.write_route(dot, r)
        self.write_title(dot)

    def measure(self):
        """How far the picture reaches; Graphviz counts upwards, so `bottom` becomes its zero."""
        boxes = self.plan.boxes
        corners = [(b.front, b.near) for b in boxes] + [(b.rear, b.far) for b in boxes]
        corners += [p for r in self.plan.routes for p in r.points]
        flat = [(t, c) if self.lies else (c, t) for t, c in corners]
        self.left, self.top = min(x for x, _ in flat), min(y for _, y in flat)
        self.right, self.bottom = max(x for x, _ in flat), max(y for _, y in flat)

    def turn(self, t, c):
        """A point of the plan as a point of the page."""
        x, y = (t, c) if self.lies else (c, t)
        return x - self.left + self.shift[0], self.bottom - y + self.shift[1]

    def point(self, p):
        x, y = self.turn(*p)
        return f"{x:.1f},{y:.1f}"

    def room_for_hooks(self, box):
        return hooks_height(self.lines(box))

    def write_box(self, dot, one, **look):
        """A box, and below it, touching it, a smaller one for its hooks."""
        double = 8 if look.get("peripheries") == "2" else 0
        hooks = [line for line in self.lines(one) if isinstance(line, listing.Hook)]
        lines = [line for line in self.lines(one) if not isinstance(line, listing.Hook)]
        below = self.room_for_hooks(one)
        x, y = self.turn(one.t, one.c)
        if hooks:
            dot.node(
                f"{self.prefix}hooks{one.key}", label(hooks), pos=f"{x:.1f},{y - (one.height - below) / 2:.1f}",
                fontsize="9", width=f"{(one.width - double) / 72:.3f}", height=f"{below / 72:.3f}",
                style="filled", color=BROWN, fillcolor=PALE_BROWN,
            )  # fmt: skip
        dot.node(
            self.prefix + one.key, label(lines), pos=f"{x:.1f},{y + below / 2:.1f}", fontsize=str(one.size),
            width=f"{(one.width - double) / 72:.3f}", height=f"{(one.height - below - double) / 72:.3f}", **look,
        )  # fmt: skip

    def shows(self, box):
        """False for what this side of a comparison does not have."""
        return True

    def write_halos(self, dot):
        """Yellow behind every box that is marked; first, so that the boxes are drawn over it."""
        for what in self.marks:
            if what[0] in ("node", "value") or what[0] == "slot" and self.detail >= 1:
                one = self.box_of(*what)
                if self.shows(one):
                    dot.node(
                        f"{self.prefix}halo{one.key}", "", style="rounded,filled", color=YELLOW, fillcolor=YELLOW,
                        pos=self.point((one.t, one.c)), width=f"{(one.width + 9) / 72:.3f}",
                        height=f"{(one.height + 9) / 72:.3f}",
                    )  # fmt: skip

    def nodes_of_parts(self):
        """For each named part the boxes of its nodes, in order."""
        found = {}
        for name, (first, last) in self.graph.parts.items():
            inside = [i for i, node in enumerate(self.graph.nodes) if node.number and first <= node.number <= last]
            found[name] = [self.node_box[i] for i in inside]
        return found

    def write_parts(self, dot):
        """A pale band behind the nodes of each part, with its name at the top; only where time runs down."""
        for k, (name, boxes) in enumerate(self.parts.items()):
            middle = boxes[0].c + 8  # the name stands to the right of an arrow that leaves the first node
            near, far = min(b.near for b in boxes) - 6, max(b.far for b in boxes) + 6
            far = max(far, middle + lanes.text_width(name, 9) * 1.03 + 8)
            front, rear = boxes[0].front - 16, boxes[-1].rear + 6
            x, y = self.turn((front + rear) / 2, (near + far) / 2)
            dot.node(
                f"{self.prefix}part{k}", "", style="filled", color=PART, fillcolor=PART, pos=f"{x:.1f},{y:.1f}",
                width=f"{(far - near) / 72:.3f}", height=f"{(rear - front) / 72:.3f}",
            )  # fmt: skip
            write_text(dot, f"{self.prefix}part{k}name", [name], self.turn(boxes[0].front - 2, middle), 9)

    def write_value(self, dot, v):
        value = self.graph.values[v]
        color, fill = (BLUE, PALE_BLUE) if value.requires_grad else (PLAIN, PALE_PLAIN)
        if value.frozen:
            color, fill = BLUE, "#FFFFFF"
        self.write_box(
            dot, self.value_box[v], style="rounded,filled", color=color, fillcolor=fill,
            peripheries="2" if value.leaf else "1",
        )  # fmt: skip

    def write_clusters(self, dot):
        """Values that share memory stand inside a dashed outline that carries the version."""
        shared = {i for memory in self.graph.memories for i in memory.members}
        for v, value in enumerate(self.graph.values):
            if v not in shared and value is not None:
                self.write_value(dot, v)
        for m, memory in enumerate(self.graph.memories):
            boxes = [self.value_box[i] for i in memory.members]
            text = self.memory_words(memory)
            width = lanes.text_width(text, 9) * 1.03
            front, rear = min(b.front for b in boxes) - 7, max(b.rear for b in boxes) + 7
            near, far = min(b.near for b in boxes) - 7, max(b.far for b in boxes) + 7
            if self.lies:  # below, between the arrows that reach the first two values from there
                first, second = sorted(boxes, key=lambda b: b.t)[:2]
                far += 10
                place = (first.t + second.t) / 2, far - 7
            else:  # above, to the left of the arrow that reaches the first value
                step = self.plan.steps[boxes[0].step]
                front = step.start - step.before - 17
                near = min(near, boxes[0].c - width - 10)
                place = front + 8, boxes[0].c - width / 2 - 5
            low, high = self.turn(front, near), self.turn(rear, far)
            xs, ys = sorted((low[0], high[0])), sorted((low[1], high[1]))
            with dot.subgraph(name=f"cluster_{self.prefix}{m}") as outline:
                outline.attr(
                    "graph", label=text, fontsize="9", fontcolor=DARK_PURPLE, lp=self.point(place),
                    color=PURPLE, style="rounded,dashed", penwidth="1.4",
                    bb=f"{xs[0]:.1f},{ys[0]:.1f},{xs[1]:.1f},{ys[1]:.1f}",
                )  # fmt: skip
                for i in memory.members:
                    self.write_value(outline, i)

    def write_node(self, dot, i):
        node = self.graph.nodes[i]
        color, fill = (GREEN, PALE_GREEN) if node.accumulates else (GREY, PALE_GREY)
        look = {"style": "filled", "color": color, "fillcolor": fill}
        if node.folded:
            look |= {"style": "filled,dashed"}
            if node.folded_slots.get(STALE):
                look |= {"color": VERMILLION, "penwidth": "3", "fontcolor": DARK_VERMILLION}
        self.write_box(dot, self.node_box[i], **look)
        for k, slot in enumerate(node.slots if self.detail >= 1 else []):
            if slot is None:
                continue
            look = {"style": "filled", "color": NOTE, "fillcolor": "#FFFFFF"}
            if slot.state == STALE:
                look |= {"color": VERMILLION, "fillcolor": PALE_VERMILLION, "fontcolor": DARK_VERMILLION}
                look["penwidth"] = "3"
            elif slot.state in (FREED, PACKED, DETACHED, UNWATCHED):
                look |= {"style": "filled,dashed", "fontcolor": GREY, "fillcolor": "#FAFAFA"}
            self.write_box(dot, self.slot_box[i, k], shape="note", **look)

    def write_route(self, dot, r, **more):
        look = self.look(r) | more
        curve = [self.turn(*p) for p in lanes.spline(r.points, r.curved)]
        pos = ""
        if look.get("arrowhead") != "none":
            tip = curve[-1]
            length = 10 * float(look["arrowsize"])
            behind = curve[-2] if lanes.distance(curve[-2], tip) > 0.1 else curve[-4]
            base = lanes.towards(tip, behind, length)
            curve[-1] = base
            if lanes.distance(curve[-2], tip) < length:
                curve[-2] = base
            pos = f"e,{tip[0]:.1f},{tip[1]:.1f} "
        pos += " ".join(f"{x:.1f},{y:.1f}" for x, y in curve)
        if r.label and "label" not in more:
            x, y = self.turn(*r.label_at)
            look |= {"label": r.label, "lp": f"{x:.1f},{y:.1f}"}
        dot.edge(self.prefix + r.tail.key, self.prefix + r.head.key, pos=pos, **look)

    def look(self, r):
        """The looks of an arrow."""
        if r.kind == "next":
            return {"color": LINE, "penwidth": "1.4", "arrowsize": "0.8"}
        if r.kind == "nothing":
            return {"color": PLAIN, "penwidth": "1.4", "arrowhead": "odot", "arrowsize": "0.6"}
        if r.kind == "made":
            if r.slot == "leaf":
                return {"color": GREEN, "penwidth": "1.4", "arrowsize": "0.7"}
            return {"color": BLUE, "style": "dotted", "penwidth": "1.4", "arrowsize": "0.6"}
        if r.kind == "forward":
            color, style = (PURPLE, "dashed") if r.dotted else (BLUE, "solid")  # a view looks at memory that is there
            return {"color": color, "style": style, "arrowsize": "0.6", "penwidth": "1.1"}
        if r.kind == "grad":
            return {"color": GREEN, "penwidth": "1.4", "arrowsize": "0.7"}
        if r.kind == "own counter":
            return {"color": PURPLE, "style": "dashed", "penwidth": "1.4", "arrowhead": "none"}
        stale = r.slot.state == STALE
        color, width = (VERMILLION, "2") if stale else (NOTE, "1.1")
        head = {"arrowhead": "none"} if r.kind == "saves" else {"arrowhead": "open", "arrowsize": "0.6"}
        return {"color": color, "style": "dashed", "penwidth": width} | head

    def write_title(self, dot):
        x, y = self.shift
        write_text(dot, self.prefix + "title", self.title(), (x, y + self.bottom - self.top + 12), 10)


def new_page():
    """An empty DOT graph with our fonts. ImportError without the `graphviz` package."""
    import graphviz

    dot = graphviz.Digraph("autograd")
    dot.attr("graph", bgcolor="#FFFFFF", pad="0.12", fontname="Arial", layout=ENGINE)
    dot.attr("node", fontname="Arial", fontcolor=INK, fixedsize="true", shape="box", penwidth="1.2")
    dot.attr("edge", fontname="Arial", fontsize="9", fontcolor=LINE, arrowsize="0.7")
    return dot


def write_text(dot, key, lines, corner, size):
    """Lines of text without a box, aligned to the left; `corner` is the lower left one."""
    if not lines:
        return
    width = max(lanes.text_width(line, size) for line in lines) * 1.03 + 4
    height = len(lines) * size * 1.2 + 6
    dot.node(
        key, "".join(escape(line) + r"\l" for line in lines), shape="plaintext", fontsize=f"{size:g}",
        margin="0", pos=f"{corner[0] + width / 2:.1f},{corner[1] + height / 2:.1f}",
        width=f"{width / 72:.3f}", height=f"{height / 72:.3f}",
    )  # fmt: skip


def escape(text):
    """Text as it must stand in a DOT label."""
    return text.replace("\\", "\\\\")


def label(lines):
    """Several lines as one centred label."""
    return r"\n".join(escape(line) for line in lines)
