"""Folding a large graph before it is laid out: repeated runs first, then the middle; and it says so.

Nobody can read a thousand boxes. What is folded becomes one box with its own words; stale and freed slots
inside it are counted there, so that nothing worth seeing disappears.
"""

from collections import Counter

from course_lib.teach.graphmodel import DETACHED, FREED, OK, PACKED, STALE, Back, renumber

LIMIT = 40  # backward nodes in one picture
EDGES = 8  # inputs of one node that are drawn one by one
LONGEST_PERIOD = 32  # the longest pattern of nodes that is looked for
FEWEST_REPEATS = 4
FAR = 64  # edges that reach further back do not take part in a pattern


def fold(graph, limit=LIMIT):
    """Fold the graph, in place, to about `limit` backward nodes. A small graph stays as it is."""
    if limit is None or len(graph.nodes) <= limit:
        return
    leaves = [i for i, node in enumerate(graph.nodes) if node.accumulates]
    inner = [i for i, node in enumerate(graph.nodes) if not node.accumulates]  # oldest first
    units = fold_runs(graph, inner)
    units = fold_middle(graph, units, limit)
    rebuild(graph, units, leaves)


class Unit:
    """One box to be: a single node, or an interval of nodes with the words that describe it."""

    def __init__(self, members, words=None):
        self.members, self.words = members, words


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
        units.append(Unit(middle, f"{repeats - 2} more times: {pattern}"))
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


def fold_middle(graph, units, limit):
    """When too much is left: keep the newest units and the oldest, fold what lies between."""
    room = limit // 2  # the other half is for leaves
    if len(units) <= room:
        return units
    old = room // 3
    new = room - old - 1
    middle = [i for unit in units[old : len(units) - new] for i in unit.members]
    names = Counter(graph.nodes[i].name for i in middle).most_common()
    words = ", ".join(f"{count} {name}" for name, count in names[:4]) + (", …" if len(names) > 4 else "")
    return units[:old] + [Unit(middle, words)] + units[len(units) - new :]


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
        backs.append(Back("folded", folded=len(spare), lines=[words, "with AccumulateGrad each"]))
    for u, unit in enumerate(units):
        edges = [edge for i in unit.members for edge in graph.nodes[i].edges]
        new.update(dict.fromkeys(unit.members, len(backs)))
        if unit.words is None:
            box = graph.nodes[unit.members[0]]
        else:
            box = folded_box(graph, unit, sum(u in users[leaf] for leaf in inside))
        backs.append(box)
        folded = {k for k, back in enumerate(backs) if back.folded}
        redirect(box, edges, new, len(backs) - 1, folded)
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
    if leaves:
        lines.append(f"with {leaves} leaves")
    if states:
        parts = [f"{states[s]} {s}" for s in (STALE, FREED, DETACHED, PACKED) if states[s]]
        lines.append(f"{states.total()} saved tensors" + (": " + ", ".join(parts) if parts else ""))
    graph.folds.append(f"{len(members)} nodes, {span}, are folded into one box: {unit.words}.")
    bad = {s: n for s, n in states.items() if s != OK}
    return Back("folded", folded=len(members), folded_slots=bad, lines=lines)


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
