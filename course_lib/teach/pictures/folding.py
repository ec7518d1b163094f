"""Folding a large graph before it is laid out: repeated runs first, then modules, then the middle; it says so.

Nobody can read a thousand boxes. What is folded becomes one box with its own words; stale and freed slots
inside it are counted there, so that nothing worth seeing disappears.
"""

from collections import Counter
from itertools import takewhile

from course_lib.teach.pictures.graphmodel import DETACHED, FREED, OK, PACKED, STALE, Back, renumber
from course_lib.teach.pictures.listing import count

LIMIT = 40  # backward nodes in one picture
VALUES = 48  # values in one picture, unless nodes and saved tensors need more
SLOTS = 8  # saved tensors of one node that are drawn one by one
EDGES = 8  # inputs of one node that are drawn one by one
LONGEST_PERIOD = 32  # the longest pattern of nodes that is looked for
FEWEST_REPEATS = 4
FAR = 64  # edges that reach further back do not take part in a pattern


def fold(graph, limit=LIMIT):
    """Fold the graph, in place, to about `limit` backward nodes. A small graph stays as it is."""
    if limit is None:
        return
    if len(graph.nodes) > limit:
        fold_nodes(graph, limit)
    trim_slots(graph)
    trim_values(graph)


def trim_slots(graph):
    """Of a node that saved very many tensors, show the first, and before them those that something is wrong with."""
    for node in graph.nodes:
        if len(node.slots) <= SLOTS:
            continue
        order = sorted(range(len(node.slots)), key=lambda k: (node.slots[k].state == OK, k))
        left = [node.slots[k] for k in order[SLOTS:]]
        node.slots = [node.slots[k] for k in sorted(order[:SLOTS])]
        bad = Counter(slot.state for slot in left if slot.state != OK)
        words = "".join(f", {n} {state}" for state, n in bad.items())
        node.lines = [*node.lines, f"and {len(left)} more saved tensors{words}"]
        node.folded_slots = dict(bad)


def trim_values(graph):
    """Leave out tensors that merely share memory or an operation with others, when there are too many."""
    if len(graph.values) <= VALUES:
        return
    needed = {node.leaf for node in graph.nodes} | {slot.value for node in graph.nodes for slot in node.slots}
    needed.update(graph.asked[: VALUES // 2])
    spare = [i for i in range(len(graph.values)) if i not in needed]
    needed.update(spare[: max(0, VALUES - len(needed))])
    order = [i for i in range(len(graph.values)) if i in needed]
    graph.folds.append(f"{len(graph.values) - len(order)} more tensors are left out of the picture.")
    graph.asked = [i for i in graph.asked if i in needed]
    renumber(graph, order, {old: i for i, old in enumerate(order)})


def fold_nodes(graph, limit):
    """Fold runs, then the middle."""
    leaves = [i for i, node in enumerate(graph.nodes) if node.accumulates]
    inner = [i for i, node in enumerate(graph.nodes) if not node.accumulates]  # oldest first
    units = fold_runs(graph, inner)
    units = fold_modules(graph, units, limit // 2)
    units = fold_middle(graph, units, limit)
    rebuild(graph, spare_culprit(graph, units), leaves)


class Unit:
    """One box to be: a single node, or an interval of nodes with the words that describe it."""

    def __init__(self, members, words=None, module=None):
        self.members, self.words, self.module = members, words, module


# --- what to fold ------------------------------------------------------------------------------------------


def fold_runs(graph, inner):
    """Units in order, where of each repeated run only the first and the last repetition stay."""
    signs = [signature(graph, i, position) for position, i in enumerate(inner)]
    units, at = [], 0
    while at < len(inner):
        period, repeats = run_at(signs, at)
        if repeats < FEWEST_REPEATS:
            units.append(Unit([inner[at]]))
            at += 1
            continue
        end = at + period * repeats
        first, last = inner[at : at + period], inner[end - period : end]
        middle = inner[at + period : end - period]
        pattern = ", ".join(graph.nodes[i].name for i in first[:6]) + (", …" if period > 6 else "")
        units += [Unit([i]) for i in first]
        units.append(Unit(middle, f"{repeats - 2} × {pattern if period == 1 else '(' + pattern + ')'}"))
        units += [Unit([i]) for i in last]
        at = end
    return units


def signature(graph, i, position):
    """What makes two nodes repetitions of each other: the name, and how far back each edge leads."""
    node = graph.nodes[i]
    reach = []
    for _, following, output in node.edges:
        if following is None:
            reach.append(None)
        elif graph.nodes[following].accumulates:
            reach.append("leaf")
        else:
            distance = i - following
            reach.append((distance, output) if distance <= FAR else "far")
    return node.name, tuple(reach)


def run_at(signs, at):
    """(period, repeats) of the longest repetition that begins here; the shortest period wins a tie."""
    best, longest = (1, 1), 0
    for period in range(1, LONGEST_PERIOD + 1):
        if at + period >= len(signs):
            break
        end = at
        while end + period < len(signs) and signs[end] == signs[end + period]:
            end += 1
        repeats = (end - at) // period + 1
        if repeats >= FEWEST_REPEATS and period * repeats > longest:
            best, longest = (period, repeats), period * repeats
    return best


def fold_modules(graph, units, room):
    """When parameters are called by their place in a model: one box for each module, as deep as there is room."""
    if len(units) <= room:
        return units
    paths = module_paths(graph, units)
    deepest = max(map(len, paths), default=0)
    for depth in range(deepest, 0, -1):
        grouped = []  # (path, units side by side)
        for unit, path in zip(units, paths, strict=True):
            if grouped and path and unit.words is None and grouped[-1][0] == path[:depth]:
                grouped[-1][1].append(unit)
            else:
                grouped.append((path[:depth] if unit.words is None else None, [unit]))
        if len(grouped) <= room:
            return [module_unit(graph, path, inside) for path, inside in grouped]
    return units


def module_unit(graph, path, units):
    """One unit for the nodes of a module; a single node stays as it is."""
    if len(units) == 1:
        return units[0]
    members = [i for unit in units for i in unit.members]
    return Unit(members, told(graph, members), ".".join(path))


def module_paths(graph, units):
    """For each unit the module whose parameters it uses, as a path; a unit without any belongs to the one before."""
    paths, last = [], ()
    for unit in units:
        names = [
            graph.values[graph.nodes[following].leaf].name.split(".")[:-1]
            for i in unit.members
            for _, following, _ in graph.nodes[i].edges
            if following is not None and graph.nodes[following].accumulates
        ]
        names = [name for name in names if name]
        if names:
            shared = zip(*names, strict=False)
            last = tuple(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, shared))
        paths.append(last)
    return paths


def told(graph, members):
    """'5 AddmmBackward0, 2 ReluBackward0', the most frequent first."""
    names = Counter(graph.nodes[i].name for i in members).most_common()
    return ", ".join(f"{count} {name}" for name, count in names[:4]) + (", …" if len(names) > 4 else "")


def spare_culprit(graph, units):
    """The same units, but the newest node with a stale slot, at which backward would fail, stands alone."""
    stale = [i for unit in units for i in unit.members if any(s.state == STALE for s in graph.nodes[i].slots)]
    if not stale:
        return units
    culprit, found = max(stale), []
    for unit in units:
        if culprit not in unit.members or unit.words is None:
            found.append(unit)
            continue
        at = unit.members.index(culprit)
        for part in (unit.members[:at], [culprit], unit.members[at + 1 :]):
            if len(part) == 1:
                found.append(Unit(part))
            elif part:
                found.append(Unit(part, told(graph, part), unit.module))
    return found


def fold_middle(graph, units, limit):
    """When too much is left: keep the newest units and the oldest, fold what lies between."""
    room = limit // 2  # the other half is for leaves
    if len(units) <= room:
        return units
    old = room // 3
    new = room - old - 1
    middle = [i for unit in units[old : len(units) - new] for i in unit.members]
    return units[:old] + [Unit(middle, told(graph, middle))] + units[len(units) - new :]


# --- putting the folded graph together ---------------------------------------------------------------------


def rebuild(graph, units, leaves):
    """Replace graph.nodes by leaves, nodes and folded boxes, and drop the values nobody shows any more."""
    unit_of = {i: u for u, unit in enumerate(units) for i in unit.members}
    users = {leaf: set() for leaf in leaves}  # leaf -> units that use it
    for i, u in unit_of.items():
        for _, following, _ in graph.nodes[i].edges:
            if following in users:
                users[following].add(u)
    drawn, spare, inside = sort_leaves(units, leaves, users)
    backs, new = [graph.nodes[leaf] for leaf in drawn], {leaf: k for k, leaf in enumerate(drawn)}
    if spare:
        words = f"{len(spare)} more leaves"
        graph.folds.append(f"{words} are drawn as one box.")
        new.update(dict.fromkeys(spare, len(backs)))
        box = Back("folded", folded=len(spare), lines=[words, "with AccumulateGrad each"], key="leaves")
        backs.append(box)
    for u, unit in enumerate(units):
        edges = [edge for i in unit.members for edge in graph.nodes[i].edges]
        new.update(dict.fromkeys(unit.members, len(backs)))
        if unit.words is None:
            box = graph.nodes[unit.members[0]]
        else:
            box = folded_box(graph, unit, [graph.nodes[leaf].leaf for leaf in inside if u in users[leaf]])
        backs.append(box)
        folded = {k for k, back in enumerate(backs) if back.folded}
        redirect(box, edges, new, len(backs) - 1, folded)
    modules = [unit for unit in units if unit.module]
    if modules:
        nodes = sum(len(unit.members) for unit in modules)
        boxes = count(len(modules), "box")
        graph.folds.append(f"{nodes} nodes are folded into {boxes}, by the module whose parameters they use.")
    keep_values(graph, backs, new)
    graph.nodes = backs


def sort_leaves(units, leaves, users):
    """AccumulateGrad nodes to draw, those that share one box, and those that belong to a folded box only."""
    drawn, spare, inside = [], [], []
    for leaf in leaves:
        if users[leaf] and all(units[u].words is not None for u in users[leaf]):
            inside.append(leaf)
        elif len(drawn) < EDGES:
            drawn.append(leaf)
        else:
            spare.append(leaf)
    return drawn, spare, inside


def folded_box(graph, unit, leaves):
    """The box for an interval of nodes, with its words."""
    members = [graph.nodes[i] for i in unit.members]
    states = Counter(slot.state for node in members for slot in node.slots)
    span = f"{members[0].number} to {members[-1].number}"
    lines = [f"{len(members)} nodes folded ({span})", unit.words]
    if unit.module:
        lines = [unit.module, f"nodes {span} folded:", unit.words]
    else:
        graph.folds.append(f"{len(members)} nodes, {span}, are folded into one box: {unit.words}.")
    if leaves and unit.module:
        lines.append(count(len(leaves), "leaf"))
    elif leaves:
        first, last = (graph.values[min(leaves)].name, graph.values[max(leaves)].name)
        lines.append(f"with {len(leaves)} leaves, {first} to {last}" if len(leaves) > 1 else f"with the leaf {first}")
    if states:
        parts = [f"{states[s]} {s}" for s in (STALE, FREED, DETACHED, PACKED) if states[s]]
        lines.append(count(states.total(), "saved tensor") + (": " + ", ".join(parts) if parts else ""))
    bad = {s: n for s, n in states.items() if s != OK}
    return Back("folded", folded=len(members), folded_slots=bad, lines=lines, key=("folded", members[0].key))


def redirect(box, edges, new, here, folded):
    """Give a box its edges in the folded graph: none to itself, none to what is not drawn, not too many."""
    box.edges, seen = [], set()
    for k, following, output in edges:
        target = new.get(following)
        if following is None and not box.folded:
            box.edges.append((k, None, 0))
        elif target is not None and target != here and target not in seen:
            if box.folded or target in folded:
                seen.add(target)
            box.edges.append((k, target, output))
    if len(box.edges) > EDGES + 1:
        box.lines = [*box.lines, f"and {len(box.edges) - EDGES} more inputs"]
        box.edges = box.edges[:EDGES]


def keep_values(graph, backs, new):
    """Keep the values that a box of the folded graph shows, and those that were asked for."""
    folded = {k for k, back in enumerate(backs) if back.folded}
    wanted = {i for i, value in enumerate(graph.values) if value.asked}
    for back in backs:
        wanted.add(back.leaf)
        wanted.update(slot.value for slot in back.slots)
    for i, value in enumerate(graph.values):
        box = new.get(value.node)
        if box is not None and box not in folded:
            wanted.add(i)
        value.node = box
    for memory in graph.memories:
        if wanted.intersection(memory.members):
            wanted.update(i for i in memory.members if graph.values[i].named)
    order = [i for i in range(len(graph.values)) if i in wanted]
    # slots of nodes that are gone still refer to values; renumber() must not meet them
    graph.nodes = backs
    renumber(graph, order, {old: i for i, old in enumerate(order)})
