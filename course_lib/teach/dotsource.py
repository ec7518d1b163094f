"""From a Graph to DOT, Graphviz's language: three lanes, colours that colour-blind eyes tell apart, plain labels.

Two orientations of one drawing: LR has the backward nodes on top, values in the middle and saved tensors at the
bottom, time running to the right; TB has the same lanes as columns, time running down. Colours are never the
only sign: STALE and FREED are words, leaves have a double border. No HTML-like labels: the wasm build of
Graphviz drops them without a word.
"""

import textwrap

from course_lib.teach import listing
from course_lib.teach.graphmodel import DETACHED, FREED, OK, PACKED, STALE

BLUE, PALE_BLUE = "#0072B2", "#DCEBF7"  # values
GREY, PALE_GREY = "#555555", "#EEEEEE"  # backward nodes
GREEN, PALE_GREEN = "#00785A", "#D5EFE6"  # AccumulateGrad
PURPLE, DARK_PURPLE = "#AA4499", "#7A2E6E"  # shared memory
VERMILLION, DARK_VERMILLION, PALE_VERMILLION = "#D55E00", "#9C3B00", "#FBE3D6"  # STALE and nothing else
NOTE = "#56728A"  # saved tensors
PLAIN, PALE_PLAIN = "#777777", "#F2F2F2"  # requires_grad=False
INK, LINE = "#111111", "#333333"

LONGEST_NAME = 24
TITLE_WIDTH = 66  # characters in a line above the picture


def dot_source(graph, detail, rankdir):
    """The DOT text of a graph, as 'LR' or 'TB'. ImportError without the `graphviz` package."""
    import graphviz

    dot = graphviz.Digraph("autograd")
    dot.attr("graph", rankdir=rankdir, bgcolor="#FFFFFF", pad="0.12", nodesep="0.22", ranksep="0.3")
    dot.attr("graph", newrank="true", fontname="Arial", fontsize="10", fontcolor=INK)
    dot.attr("node", fontname="Arial", fontsize="10", margin="0.10,0.05", height="0.3", fontcolor=INK)
    dot.attr("node", penwidth="1.2", shape="box")
    dot.attr("edge", fontname="Arial", fontsize="9", arrowsize="0.7", color=LINE, fontcolor=LINE)
    title = [line for fact in listing.facts(graph) for line in textwrap.wrap(fact, TITLE_WIDTH)]
    if title:
        dot.attr("graph", label="".join(escape(line) + r"\l" for line in title), labelloc="t", labeljust="l")
    Drawing(dot, graph, detail, rankdir).draw()
    return dot.source


def escape(text):
    """Text as it must stand in a DOT label."""
    return text.replace("\\", "\\\\")


def label(lines):
    """Several lines as one centred label."""
    return r"\n".join(escape(line) for line in lines)


def short(name):
    """A name cut in the middle when it is too long for a box."""
    if len(name) <= LONGEST_NAME:
        return name
    return name[: LONGEST_NAME // 2] + "…" + name[-(LONGEST_NAME // 2 - 1) :]


# --- the words in the boxes: also what the tests look for in the drawing ------------------------------------


def value_lines(graph, value, detail):
    """The words in a value's box."""
    kind = " leaf" if value.leaf and value.requires_grad else "" if value.requires_grad else " no grad"
    lines = [short(value.name) + (" " + kind if kind else "")]
    if detail >= 1:
        version = "" if value.memory is not None or value.version is None else f"  v{value.version}"
        lines.append(value.preview + version)
        if detail >= 2:
            lines.append(f"{value.dtype} {value.shape}")
    if value.view_of is not None:
        lines.append("view of " + short(graph.title(value.view_of)))
    if value.outside:
        lines.append(f"by {value.outside}")
    if value.retains_grad:
        lines += ["retains grad", value.grad]
    elif value.grad is not None and not any(n.leaf is not None and graph.values[n.leaf] is value for n in graph.nodes):
        lines.append("grad " + value.grad)
    lines += listing.hook_words(value)
    if value.problem:
        lines.append("unusable")
    return lines


def node_words(graph, node, rankdir, detail):
    """The words in a backward node's box."""
    if node.folded:
        return [piece for line in node.lines for piece in textwrap.wrap(line, 34)]
    if node.accumulates:
        leaf = graph.values[node.leaf]
        name = f"{short(leaf.name)}.grad" if leaf.named else "grad"
        return [node.name, f"{name}: {leaf.grad}" if leaf.requires_grad else "requires_grad is off"]
    head, backward, rest = node.name.partition("Backward")
    lines = [f"{node.number}  {node.name}"]
    if rankdir == "LR" and backward and len(node.name) > 12:
        lines = [f"{node.number}  {head}", backward + rest]
    if detail >= 2:
        lines += [f"{name} = {text}" for name, text in node.kept]
    return lines + node.lines


def slot_words(slot):
    """The words in a saved tensor's note."""
    lines = ["saved " + slot.name]
    if slot.content:
        lines.append("= " + slot.content)
    if slot.state in (OK, STALE) and slot.now is not None:
        lines.append(f"v{slot.saved}, now v{slot.now}")
    if slot.state != OK:
        lines.append("DETACHED in place" if slot.state == DETACHED else slot.state)
    return lines


def words(graph, detail, rankdir):
    """Every line of text that the drawing must contain."""
    found = [line for value in graph.values for line in value_lines(graph, value, detail)]
    for node in graph.nodes:
        found += node_words(graph, node, rankdir, detail)
        if detail >= 1:
            found += [line for slot in node.slots for line in slot_words(slot)]
    found += [memory_words(memory) for memory in graph.memories]
    return found


def memory_words(memory):
    """The words on a box of shared memory."""
    return "one memory" + ("" if memory.version is None else f" · version {memory.version}")


# --- the drawing -------------------------------------------------------------------------------------------


class Drawing:
    """Writes the boxes and arrows of one graph into a graphviz.Digraph."""

    def __init__(self, dot, graph, detail, rankdir):
        self.dot, self.graph, self.detail, self.rankdir = dot, graph, detail, rankdir

    def draw(self):
        self.values()
        for i, node in enumerate(self.graph.nodes):
            self.node(i, node)
        for i, node in enumerate(self.graph.nodes):
            self.edges(i, node)
        self.forward_arrows()
        self.rows()

    def values(self):
        shared = {i for memory in self.graph.memories for i in memory.members}
        for i, value in enumerate(self.graph.values):
            if i not in shared:
                self.value(self.dot, i, value)
        for m, memory in enumerate(self.graph.memories):
            with self.dot.subgraph(name=f"cluster_{m}") as box:
                box.attr(label=memory_words(memory), fontsize="9", fontcolor=DARK_PURPLE, color=PURPLE)
                box.attr(style="rounded,dashed", margin="7", labeljust="l", penwidth="1.4")
                box.attr(labelloc="b" if self.rankdir == "LR" else "t")
                for i in memory.members:
                    self.value(box, i, self.graph.values[i])
        for a, b in self.graph.other_counter:
            self.dot.edge(
                f"v{a}", f"v{b}", label=" same memory, \\n own counter ", dir="none", style="dashed",
                color=PURPLE, fontcolor=DARK_PURPLE, penwidth="1.4",
            )  # fmt: skip

    def value(self, box, i, value):
        color, fill = (BLUE, PALE_BLUE) if value.requires_grad else (PLAIN, PALE_PLAIN)
        box.node(
            f"v{i}", label(value_lines(self.graph, value, self.detail)), style="rounded,filled",
            color=color, fillcolor=fill, peripheries="2" if value.leaf else "1",
            penwidth="2.2" if value.asked else "1.2",
        )  # fmt: skip

    def node(self, i, node):
        text = label(node_words(self.graph, node, self.rankdir, self.detail))
        color, fill = (GREEN, PALE_GREEN) if node.accumulates else (GREY, PALE_GREY)
        look = {"style": "filled", "color": color, "fillcolor": fill}
        if node.folded:
            look |= {"shape": "box3d", "style": "filled"}
            if node.folded_slots.get(STALE):
                look |= {"color": VERMILLION, "penwidth": "3", "fontcolor": DARK_VERMILLION}
        self.dot.node(f"n{i}", text, **look)
        if self.detail >= 1:
            for k, slot in enumerate(node.slots):
                self.slot(i, k, slot)

    def slot(self, i, k, slot):
        look = {"color": NOTE, "fillcolor": "#FFFFFF", "style": "filled"}
        line = {"color": NOTE, "style": "dashed", "arrowsize": "0.6"}
        if slot.state == STALE:
            look |= {"color": VERMILLION, "fontcolor": DARK_VERMILLION, "fillcolor": PALE_VERMILLION}
            look["penwidth"] = "3"
            line |= {"color": VERMILLION, "penwidth": "2"}
        elif slot.state in (FREED, PACKED, DETACHED):
            look |= {"style": "filled,dashed", "fontcolor": GREY, "fillcolor": "#FAFAFA"}
        self.dot.node(f"s{i}_{k}", label(slot_words(slot)), shape="note", fontsize="9", **look)
        self.dot.edge(f"n{i}", f"s{i}_{k}", arrowhead="none", **line)
        if slot.value is not None:
            tb = self.rankdir == "TB"
            same = self.graph.values[slot.value].node == i
            near = f"s{i}_{k}:{'nw' if tb else 'w'}" if not same else f"s{i}_{k}"
            far = f"v{slot.value}:{'e' if tb else 's'}" if not same else f"v{slot.value}"
            self.dot.edge(near, far, arrowhead="open", constraint="false", **line)

    def edges(self, i, node):
        """Arrows to the next functions. Written the other way round, so that time runs right or down."""
        several = len(node.edges) > 1 and not node.folded
        for k, following, output in node.edges:
            if following is None:
                continue
            words = (f" {k}" if several else "") + (f" (output {output})" if output else "")
            w = (":w" if self.rankdir=="TB" else ":n") if i - following > 1 and not self.graph.nodes[following].accumulates else ""
            self.dot.edge(f"n{following}{w}", f"n{i}{w}", label=words + " " if words else "", dir="back", penwidth="1.4")
        if node.leaf is not None:
            self.dot.edge(f"n{i}", f"v{node.leaf}", color=GREEN, penwidth="1.4")

    def forward_arrows(self):
        for i, value in enumerate(self.graph.values):
            for source in value.inputs:
                style = "dotted" if source == value.view_of else "solid"
                self.dot.edge(f"v{source}", f"v{i}", color=BLUE, style=style, arrowsize="0.6")
            if value.node is not None:
                self.dot.edge(
                    f"n{value.node}", f"v{i}", dir="back", style="dotted", color=BLUE, penwidth="1.4", arrowsize="0.6"
                )

    def rows(self):
        """What belongs to one step stands side by side, and each step in a row of its own: time runs one way."""
        made, leaf_of = {}, {}
        for i, value in enumerate(self.graph.values):
            if value.node is not None:
                made.setdefault(value.node, []).append(i)
        for i, node in enumerate(self.graph.nodes):
            if node.leaf is not None:
                leaf_of[node.leaf] = i
        rows, done, nodes_done = [], set(), set()

        def add_node(i):
            nodes_done.add(i)
            node = self.graph.nodes[i]
            values = [v for v in made.get(i, ()) if v not in done]
            done.update(values)
            slots = [f"s{i}_{k}" for k in range(len(node.slots))] if self.detail >= 1 else []
            rows.append(([f"n{i}"], [f"v{v}" for v in values], slots))

        order = [i for i, n in enumerate(self.graph.nodes) if not n.accumulates]
        at = 0
        for v, value in enumerate(self.graph.values):
            if value.node is not None:
                while at < len(order) and order[at] <= value.node:
                    add_node(order[at])
                    at += 1
            elif v in leaf_of:
                rows.append(([f"n{leaf_of[v]}"], [f"v{v}"], []))
                done.add(v)
            elif v not in done:
                rows.append(([], [f"v{v}"], []))
                done.add(v)
        for i in order[at:]:
            add_node(i)
        for row in rows:
            names = [x for lane in row for x in lane]
            if len(names) > 1:
                with self.dot.subgraph() as same:
                    same.attr(rank="same")
                    for name in names:
                        same.node(name)
            side = row[1] + row[2]
            for left, right in zip(side, side[1:], strict=False):
                self.dot.edge(left, right, style="invis")
            if row[0] and side and not row[1]:
                pass
        for row, following in zip(rows, rows[1:], strict=False):
            for a in row[0] + row[1][:1]:
                for b in following[0] + following[1][:1]:
                    if a[0] == b[0] or not row[0] or not following[0]:
                        self.dot.edge(a, b, style="invis", weight="5" if a[0] == b[0] else "0")
        for memory in self.graph.memories:
            self.hang_on(memory.members)

    def hang_on(self, members):
        """Members of a memory that no arrow reaches stand after one that is in the graph."""
        reached = {k for value in self.graph.values for k in value.inputs}
        held = [m for m in members if self.graph.values[m].node is not None or self.graph.values[m].inputs]
        held += [m for m in members if m in reached and m not in held]
        for m in members:
            if m not in held and held:
                self.dot.edge(f"v{held[0]}", f"v{m}", style="invis")
