"""Folding a large graph before it is laid out, so that it fits one screen; the picture says what was folded.

Nobody can read a thousand boxes. Nodes are folded by the module whose parameters they use, or where they repeat, or
else in the middle. What is folded becomes one box with its own words; stale and freed slots inside it are counted
there, so that nothing worth seeing disappears. `open` asks for one part in full.
"""

from collections import Counter
from itertools import groupby, takewhile

from backscope.graph.listing import count
from backscope.graph.model import DETACHED, FREED, OK, PACKED, STALE, NodeInfo, renumber

LIMIT = 40  # backward nodes that are drawn without folding, and of a part that was opened
ROOM = 9  # boxes of a folded picture, leaves aside: what fits one screen
ROOM_INSIDE = 20  # the same for a part that was opened
VALUES = 48  # values in one picture, unless nodes and saved tensors need more
SLOTS = 8  # saved tensors of one node that are drawn one by one
EDGES = 8  # inputs of one node that are drawn one by one
LEAVES = 3  # leaves of a folded picture that are drawn one by one
LONGEST_PERIOD = 32  # the longest pattern of nodes that is looked for
FEWEST_REPEATS = 4
FEWEST_MODULES = 3  # a picture with fewer boxes than that shows nothing
LETTERS = 46  # letters in a line of a folded box
FAR = 64  # edges that reach further back do not take part in a pattern
FEW = 3  # nodes without a module that stand in a row and are not worth a box


def fold(graph, opened=None) -> None:
    """Fold the graph, in place, when it has more than LIMIT backward nodes, or all of it but the opened part.

    ValueError, in a sentence, when nothing of that name or number is in the graph.
    """
    inner = [i for i, node in enumerate(graph.nodes) if not node.accumulates]  # oldest first
    if opened is not None:
        rebuild(graph, spare_culprit(graph, open_part(graph, inner, opened)), EDGES)
    elif len(graph.nodes) > LIMIT:
        units = shorten(graph, inner, module_paths(graph, inner), ROOM)
        shown = (0 if is_stale(graph) else LEAVES) if len(inner) > ROOM else EDGES
        rebuild(graph, spare_culprit(graph, units), shown)
    trim_slots(graph)
    trim_values(graph)


def is_stale(graph) -> bool:
    """Tell whether a saved tensor was overwritten: then the picture is about that."""
    return any(slot.state == STALE for node in graph.nodes for slot in node.slots)


def trim_slots(graph) -> None:
    """Show the first slots of a node that saved very many, and before them those that something is wrong with."""
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


def trim_values(graph) -> None:
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


class Unit:
    """One box to be: a single node, or an interval of nodes with the words that describe it."""

    def __init__(self, members, words=None, module=None, times=1, which=""):
        self.members, self.words, self.module, self.times = members, words, module, times
        self.which = which  # which part of the module, when a node in the middle of it stands alone


# --- what to fold ------------------------------------------------------------------------------------------


def shorten(graph, members, paths, room) -> list:
    """Return at most `room` units for nodes in a row: by module when that shows something, or by what repeats.

    Where neither helps, the ends stay; fewer of them, since single nodes need the height of their tensors.
    """
    singles = [Unit([i]) for i in members]
    if len(members) <= room:
        return singles
    by_module = fold_modules(graph, members, paths, room)
    if len(by_module) >= FEWEST_MODULES:
        return by_module
    runs = fold_runs(graph, members, ends=True)
    if len(runs) > room:
        runs = fold_runs(graph, members, ends=False)
    if by_module and not any(unit.words for unit in runs):
        return by_module
    return runs if len(runs) <= room else fold_middle(graph, runs, room * 2 // 3)


def fold_runs(graph, inner, ends) -> list:
    """Return units in order; a repeated run is one box, beside its first and last repetition when `ends` is true."""
    signs = [signature(graph, i) for i in inner]
    units, at = [], 0
    while at < len(inner):
        period, repeats = run_at(signs, at)
        if repeats < FEWEST_REPEATS:
            units.append(Unit([inner[at]]))
            at += 1
            continue
        end = at + period * repeats
        names = [graph.nodes[i].name for i in inner[at : at + period]]
        pattern = ", ".join(names[:6] + ["…"] * (period > 6))
        apart = period if ends else 0
        middle = inner[at + apart : end - apart]
        units += [Unit([i]) for i in inner[at : at + apart]]
        units.append(Unit(middle, f"{len(middle) // period} × {pattern if period == 1 else f'({pattern})'}"))
        units += [Unit([i]) for i in inner[end - apart : end]]
        at = end
    return units


def signature(graph, i) -> tuple:
    """Return what makes two nodes repetitions of each other: the name, and how far back each edge leads."""
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


def run_at(signs, at) -> tuple:
    """Return (period, repeats) of the longest repetition that begins here; the shortest period wins a tie."""
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


def fold_modules(graph, members, paths, room) -> list:
    """Make one box for each module, as deep as there is room, modules alike joined; [] when that cannot be."""
    for depth in range(max(len(paths[i]) for i in members), 0, -1):
        cut = {i: paths[i][:depth] for i in members}
        units = [unit for path, nodes in groupby(members, cut.get) for unit in module_units(graph, path, list(nodes))]
        for ends in (1, 0):
            if len(units) > room:
                units = join_alike(graph, units, ends)
        if len(units) <= room:
            return units
    return []


def module_units(graph, path, nodes) -> list:
    """Make the box of a module; a single node stays as it is, and so do a few that belong to no module."""
    if len(nodes) == 1 or not path and len(nodes) <= FEW:
        return [Unit([i]) for i in nodes]
    return [Unit(nodes, told(graph, nodes), ".".join(path) or None)]


def join_alike(graph, units, ends) -> list:
    """Make one box for modules in a row that are made of the same nodes, beside the first and the last of them."""
    found = []
    for kind, row in groupby(units, lambda unit: unit.module and [graph.nodes[i].name for i in unit.members]):
        row = list(row)
        if not kind or len(row) < FEWEST_REPEATS:
            found += row
            continue
        inside = row[ends : len(row) - ends]
        members = [i for unit in inside for i in unit.members]
        name = f"{inside[0].module} to {inside[-1].module}"
        found += [*row[:ends], Unit(members, inside[0].words, name, len(inside)), *row[len(row) - ends :]]
    return found


def module_paths(graph, inner) -> dict:
    """Find for each node the module whose parameters it uses, as a path of names.

    A node without parameters belongs to the module before it, but not behind the last that has any.
    """
    paths, last, late = {}, (), []
    for i in inner:
        names = [
            tuple(graph.values[graph.nodes[following].leaf].name.split(".")[:-1])
            for _, following, _ in graph.nodes[i].edges
            if following is not None and graph.nodes[following].accumulates
        ]
        names = [name for name in names if name]
        if names:
            shared = zip(*names, strict=False)
            last, late = tuple(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, shared)), []
        paths[i] = last
        late.append(i)
    paths.update(dict.fromkeys(late[1:], ()))
    return paths


def open_part(graph, inner, opened) -> list:
    """Return units of which those in the part that was asked for stand alone, or deeper in; the rest is folded."""
    paths = module_paths(graph, inner)
    wanted = members_of(graph, inner, paths, opened)
    room = LIMIT if len(wanted) <= LIMIT else ROOM_INSIDE
    units = []
    for inside, nodes in groupby(inner, lambda i: i in wanted):
        nodes = list(nodes)
        if inside:
            units += shorten(graph, nodes, paths, room)
        else:
            units.append(Unit(nodes, None if len(nodes) == 1 else told(graph, nodes)))
    return fold_middle(graph, units, LIMIT)


def members_of(graph, inner, paths, opened) -> set[int]:
    """Return the nodes of a module, given by its name, or those between two numbers."""
    if isinstance(opened, str):
        parts = tuple(opened.split("."))
        for skipped in (0, 1):  # "blocks.1" is found in "model.blocks.1.weight", too
            found = {i for i in inner if paths[i][skipped : skipped + len(parts)] == parts}
            if found:
                return found
        known = list(dict.fromkeys(".".join(path[:2]) for path in paths.values() if path))
        known = (
            f"Among its modules are {', '.join(known[:8])}."
            if known
            else "No parameter has a module's name: give the model, draw(model, loss), or two numbers, open=(1, 10)."
        )
        raise ValueError(f"open={opened!r}: no node of this graph uses parameters of that module. {known}")
    pair = (opened, opened) if isinstance(opened, int) else opened
    if not isinstance(pair, (tuple, list)) or [type(n) for n in pair] != [int, int]:
        raise TypeError(f"open takes a module's name or two numbers of nodes, as in open=(1, 10), not {opened!r}.")
    found = {i for i in inner if pair[0] <= graph.nodes[i].number <= pair[1]}
    if not found:
        raise ValueError(f"open={opened!r}: the numbers of this graph's nodes are 1 to {len(inner)}.")
    return found


def told(graph, members) -> str:
    """Count names in a line, the most frequent first: '5 AddmmBackward0, 2 ReluBackward0'."""
    words = [f"{times} {name}" for name, times in Counter(graph.nodes[i].name for i in members).most_common()]
    shown = words[:1]
    while len(shown) < len(words) and len(", ".join([*shown, words[len(shown)], "…"])) <= LETTERS:
        shown.append(words[len(shown)])
    return ", ".join(shown + ["…"] * (len(shown) < len(words)))


def spare_culprit(graph, units) -> list:
    """Return the same units, but let the newest node with a stale slot, at which backward would fail, stand alone."""
    stale = [i for unit in units for i in unit.members if any(s.state == STALE for s in graph.nodes[i].slots)]
    if not stale:
        return units
    culprit, found = max(stale), []
    for unit in units:
        if culprit not in unit.members or unit.words is None:
            found.append(unit)
            continue
        at = unit.members.index(culprit)
        for part, which in ((unit.members[:at], "first"), ([culprit], ""), (unit.members[at + 1 :], "last")):
            if len(part) == 1:
                found.append(Unit(part))
            elif part:
                found.append(Unit(part, told(graph, part), unit.module, which=f" ({which} part)"))
    return found


def fold_middle(graph, units, room) -> list:
    """Keep the newest units and the oldest when too much is left, and fold what lies between."""
    if len(units) <= room:
        return units
    old = room // 3
    new = room - old - 1
    between = units[old : len(units) - new]
    middle = [i for unit in between for i in unit.members]
    largest = max(between, key=lambda unit: len(unit.members))
    rest = len(middle) - len(largest.members)
    words = f"{largest.words} and {count(rest, 'other')}" if len(largest.members) > rest else told(graph, middle)
    return units[:old] + [Unit(middle, words)] + units[len(units) - new :]


# --- putting the folded graph together ---------------------------------------------------------------------


def rebuild(graph, units, shown_leaves) -> None:
    """Replace graph.nodes by leaves, nodes and folded boxes, and drop the values nobody shows any more."""
    leaves = [i for i, node in enumerate(graph.nodes) if node.accumulates]
    unit_of = {i: u for u, unit in enumerate(units) for i in unit.members}
    users = {leaf: set() for leaf in leaves}  # leaf -> units that use it
    for i, u in unit_of.items():
        for _, following, _ in graph.nodes[i].edges:
            if following in users:
                users[following].add(u)
    drawn, spare, inside = sort_leaves(units, leaves, users, shown_leaves)
    backs, new = [graph.nodes[leaf] for leaf in drawn], {leaf: k for k, leaf in enumerate(drawn)}
    if spare:
        words = f"{len(spare)} more leaves" if drawn else count(len(spare), "leaf")
        if drawn:
            graph.folds.append(f"{words} are drawn as one box.")
        new.update(dict.fromkeys(spare, len(backs)))
        box = NodeInfo("folded", folded=len(spare), lines=[words, "with AccumulateGrad each"], key="leaves")
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
    graph.by_module = bool(modules)
    if modules:
        nodes = sum(len(unit.members) for unit in modules)
        boxes = count(len(modules), "box")
        graph.folds.append(f"{nodes} nodes are folded into {boxes}, by the module whose parameters they use.")
    largest = max((unit for unit in units if unit.words), key=lambda unit: len(unit.members), default=None)
    if largest:
        graph.folds.append(f"draw(…, open={part(graph, largest)}) shows the inside of a box.")
    keep_values(graph, backs, new, trim_to_faults(backs))
    graph.nodes = backs


def trim_to_faults(backs) -> set:
    """Draw only stale tensors when there are any. Returns the values that the others held."""
    single = [back for back in backs if not back.folded]
    if not any(slot.state == STALE for back in single for slot in back.slots):
        return set()
    held = set()
    for back in single:
        fine = [slot for slot in back.slots if slot.state == OK]
        if fine:
            held.update(slot.value for slot in fine)
            back.slots = [slot for slot in back.slots if slot.state != OK]
            more = "more " if back.slots else ""
            back.lines = [*back.lines, f"{len(fine)} {more}saved tensor{'s' * (len(fine) > 1)}, not stale"]
    return held


def part(graph, unit) -> str:
    """Write what `open` has to be for the inside of a folded box."""
    if unit.module:
        return f'"{unit.module.split(" to ")[0]}"'
    return f"({graph.nodes[unit.members[0]].number}, {graph.nodes[unit.members[-1]].number})"


def sort_leaves(units, leaves, users, shown) -> tuple:
    """Split AccumulateGrad nodes: to draw, to share one box, and those that belong to a folded box only."""
    drawn, spare, inside = [], [], []
    for leaf in leaves:
        if users[leaf] and all(units[u].words is not None for u in users[leaf]):
            inside.append(leaf)
        elif len(drawn) < shown:
            drawn.append(leaf)
        else:
            spare.append(leaf)
    return drawn, spare, inside


def folded_box(graph, unit, leaves) -> NodeInfo:
    """Make the box for an interval of nodes, with its words."""
    members = [graph.nodes[i] for i in unit.members]
    states = Counter(slot.state for node in members for slot in node.slots)
    span = f"{members[0].number} to {members[-1].number}"
    inside = [count(len(leaves), "leaf")] if leaves and unit.module else []
    if states:
        parts = [f"{states[s]} {s}" for s in (STALE, FREED, DETACHED, PACKED) if states[s]]
        inside.append(count(states.total(), "saved tensor") + (": " + ", ".join(parts) if parts else ""))
    if unit.times > 1:
        lines = [unit.module, f"{unit.times} alike, nodes {span}", f"each {unit.words}"]
    elif unit.module:
        lines = [unit.module + unit.which, ", ".join([f"nodes {span}", *inside]), unit.words]
    else:
        lines = [f"{len(members)} nodes folded ({span})", unit.words]
        end = "" if unit.words.endswith("…") else "."
        graph.folds.append(f"{len(members)} nodes, {span}, are folded into one box: {unit.words}{end}")
        if leaves:
            first, last = (graph.values[min(leaves)].name, graph.values[max(leaves)].name)
            many = len(leaves) > 1
            lines.append(f"with {len(leaves)} leaves, {first} to {last}" if many else f"with the leaf {first}")
    if inside and (unit.times > 1 or not unit.module):
        lines.append(", ".join(inside))
    bad = {s: n for s, n in states.items() if s != OK}
    return NodeInfo("folded", folded=len(members), folded_slots=bad, lines=lines, key=("folded", members[0].key))


def redirect(box, edges, new, here, folded) -> None:
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


def keep_values(graph, backs, new, spare) -> None:
    """Keep the values that a box of the folded graph shows, and those that were asked for; `spare` only with a name."""
    folded = {k for k, back in enumerate(backs) if back.folded}
    wanted = {i for i, value in enumerate(graph.values) if value.asked}
    for back in backs:
        wanted.add(back.leaf)
        wanted.update(slot.value for slot in back.slots)
    for i, value in enumerate(graph.values):
        box = new.get(value.node)
        if box is not None and box not in folded and (value.named or i not in spare):
            wanted.add(i)
        value.node = box
    for memory in graph.memories:
        if wanted.intersection(memory.members):
            wanted.update(i for i in memory.members if graph.values[i].named)
    order = [i for i in range(len(graph.values)) if i in wanted]
    # slots of nodes that are gone still refer to values; renumber() must not meet them
    graph.nodes = backs
    renumber(graph, order, {old: i for i, old in enumerate(order)})
