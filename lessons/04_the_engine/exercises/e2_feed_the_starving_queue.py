"""Exercise 04.2: feed the starving queue."""

import random
import sys
from collections import Counter

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet

from .shared import (
    FIVE,
    LONG,
    TooDeep,
    TooOften,
    arrivals,
    backwards,
    behind,
    consumers_first,
    doublings,
    guarded,
    long_chain,
    near,
    random_program,
    read,
    shuffled,
)


def run_with(waits, graph, root):
    """The lesson's engine with given counts: the gradients, as far as its queue gets."""
    waits, grads, ready = dict(waits), {root: 1.0}, [root]
    for node in ready:
        for to, slope in graph[node]:
            if to is not None:
                grads[to] = grads.get(to, 0.0) + slope * grads[node]
                waits[to] = waits.get(to, 0) - 1
                if waits[to] == 0:
                    ready.append(to)
    return grads, set(ready)


def with_dead_edges(graph, names):
    """The graph with edges to nothing, and with consumers that nothing behind the root leads to."""
    nodes = list(graph)
    graph = {node: list(edges) for node, edges in graph.items()}
    for edges in graph.values():
        if edges:
            edges.insert(random.randrange(len(edges) + 1), (None, 2.0))
    uses = [random.choice(nodes) for _ in names]
    outside = {name: [(use, 5.0)] for name, use in zip(names, uses, strict=True)}
    return shuffled(outside | graph)


def listed_once(graph, root):
    """The nodes that one look along the dictionary, as it is listed, finds behind the root."""
    found = {root}
    for node in graph:
        if node in found:
            found |= {to for to, _ in graph[node] if to is not None}
    return [node for node in graph if node in found and graph[node]]


def cut_at_nothing(graph, root):
    """The nodes that a walk finds which leaves a node at its first edge to nothing, with the edges it sees."""
    seen, todo = {}, [root]
    for node in todo:
        places = [to for to, _ in graph[node]]
        seen[node] = [(to, 1.0) for to in (places[: places.index(None)] if None in places else places)]
        todo += dict.fromkeys(to for to, _ in seen[node] if to not in todo)
    return arrivals(seen, seen)


def walked_paths(graph, root):
    """Count how often a walk of all paths comes to each node."""
    visits = Counter({root: 1})
    for node in consumers_first(graph, root):
        for to, _ in graph[node]:
            if to is not None:
                visits[to] += visits[node]
    return visits


def wrong_counts(graph, root):
    """The counts of plausible wrong answers: {name of the mistake: {node: count}}."""
    truth = behind(graph, root)
    everybody = arrivals(graph, graph)
    return {
        "still starving": everybody,
        "not used": arrivals(graph, [node for node in graph if node == root or node in everybody]),
        "two arrows as one": Counter(to for node in truth for to in {to for to, _ in graph[node]} if to is not None),
        "one for each": dict.fromkeys(truth, 1),
        "slopes of zero": arrivals({node: [edge for edge in graph[node] if edge[1]] for node in truth}, truth),
        "one step": arrivals(graph, [root]),
        "the wrong end": {node: sum(to is not None for to, _ in graph[node]) for node in truth},
        "stops at nothing": cut_at_nothing(graph, root),
        "as listed": arrivals(graph, listed_once(graph, root)),
        "paths counted": walked_paths(graph, root),
    }


def judge_counts(answer, graph, root):
    """Judge a learner's counts for one graph: a verdict, or None."""
    try:
        waits = answer(guarded(graph, 4 * len(graph)), root)
    except TooOften:
        return too_often(answer)
    if not isinstance(waits, dict) or not all(type(n) is int for n in waits.values()):
        return not_yet("Return a dictionary {node: how many gradients it waits for}, with whole numbers.")
    truth = behind(graph, root)

    def agrees(counts):
        return all(waits.get(node, 0) == counts.get(node, 0) for node in set(graph) - {root})

    if waits.get(None):
        return almost("edges to nothing")
    if agrees(truth):
        return not_yet("The root waits for nothing: its 1 is there before anything runs.") if waits.get(root) else None
    for name, counts in wrong_counts(graph, root).items():
        if agrees(counts):
            return almost(name)
    wrong = [node for node in graph if node != root and waits.get(node, 0) != truth.get(node, 0)]
    return not_yet(
        f"{len(wrong)} of {len(graph)} counts are not the number of arrows that arrive from nodes behind the root."
    )


def too_often(answer):
    """Say why a small graph is looked at very often: is every path walked, or is it only slow?"""
    try:
        waits = answer(guarded(doublings(10), 60), "h10")  # 2047 calls when each path is walked, 121 looks otherwise
    except TooOften:
        try:
            waits = answer(guarded(doublings(10), 100_000), "h10")
        except (TooOften, RecursionError):
            return almost("paths counted")
        right = isinstance(waits, dict) and all(waits.get(f"h{k}") == 2 for k in range(10))
        return almost("paths walked" if right else "paths counted")
    return not_yet("Your code looks at the arrows of a small graph more often than there are pairs of nodes.")


def check(answer, torch):
    limit = sys.getrecursionlimit()
    try:
        return judge_04_5(answer, torch)
    except TooDeep:
        return almost("too deep")
    finally:
        sys.setrecursionlimit(limit)


def judge_04_5(answer, torch):
    plain_graph = FIVE | {"log": [("a", 1.0)]}
    found = judge_counts(answer, plain_graph, "e")
    if found:
        return found
    if judge_counts(answer, FIVE | {"note": [("a", 1.0)]}, "e"):  # the same graph, but for a name
        return almost("by name")
    renamed = FIVE | {"norm": [("b", 0.5), (None, 1.0)], "trace": [("norm", 1.0), ("a", 1.0)]}
    renamed["d"] = [(None, 2.0), *FIVE["d"]]
    renamed["b"] = [("a", 0.0), ("x", 1.0)]
    found = judge_counts(answer, renamed, "e")
    if found:
        return found
    found = judge_counts(answer, backwards(renamed), "e")
    if found:  # right a moment ago, when consumers were listed first
        return almost("as listed") if found == almost("one step") else found
    for _ in range(4):
        y = random_program(torch)
        graph, root, leaves = read(torch, y)
        graph = with_dead_edges(graph, ("out1", "out2", "out3"))
        found = judge_counts(answer, graph, root)
        if found:
            return found
        y.backward()
        grads, ran = run_with(answer(graph, root), graph, root)
        for name, leaf in leaves.items():
            if name not in ran or not near(grads[name], leaf.grad.item()):
                return not_yet("With your counts, the engine does not bring every leaf its gradient.")
    if found := judge_counts(answer, doublings(30), "h30"):
        return found
    try:
        waits = answer(guarded(backwards(long_chain(LONG)), 1000), f"h{LONG}")
    except RecursionError:
        return almost("too deep")
    if not isinstance(waits, dict) or any(waits.get(f"h{k}") != 1 for k in range(LONG)):
        return not_yet(f"In a chain of {LONG:,} nodes, each but the root waits for one.")
    return correct("the queue waits for what will come, and for nothing else.")


STARTER_5 = """\
def count(graph, root):
    waits = {}
    for node in graph:
        for to, _ in graph[node]:
            waits[to] = waits.get(to, 0) + 1
    return waits"""
WALKED = """\
def count(graph, root):
    waits, todo = {root: 0}, [root]
    for node in todo:
        for to, _ in graph[node]:
            if to is not None:
                if to not in waits:
                    todo.append(to)
                waits[to] = waits.get(to, 0) + 1
    return waits
"""

EXERCISE = Exercise(
    id="04.2", kind="repair", title="Feed the starving queue", minutes=6, difficulty=2, puzzles=(25,),
    question="count(graph, root) counts arrows that will never deliver: those of nodes that are not behind the root, "
    "and those to nothing, whose place holds None. Count the others only, without recursion: graphs are deep.",
    name="count", starter=STARTER_5,
    hints=(
        "Which nodes will run at all? Start at the root and go where arrows lead.",
        "A list that grows while you loop over it makes a walk. A node joins it once; an arrow counts every time.",
    ),
    solution=WALKED,
    why="Only nodes that the walk from the root meets will run, so only their arrows are counted: each node walked "
    "over once, each arrow counted once. Two arrows to the same node are two deliveries.",
    alternatives=(
        edit("waits,", "found,",
             ": 0", "",
             "for node in todo",
             "while todo:\n        for to, _ in graph[todo.pop()]:\n"
             "            if to is not None and to not in found:\n                found.add(to)\n"
             "                todo.append(to)\n    waits = dict.fromkeys(found, 0)\n    for node in found",
             "if to not in waits:\n                    todo.append(to)\n                waits[to] = waits.get(to, 0) +",
             "waits[to] +="),
        edit(" is not None", ""),
        edit("waits, todo = {root: 0}, [root]",
             "reached, new = set(), {root}\n    while new:\n        reached |= new\n"
             "        new = {to for node in new for to, _ in graph[node] if to is not None} - reached\n"
             "    waits = dict.fromkeys(graph, 0)",
             "todo:", "reached:",
             "if to not in waits:\n                    todo.append(to)\n                waits[to] = waits.get(to, 0) +",
             "waits[to] +="),
    ),
    mistakes=(
        Mistake("still starving", "Nodes that are not behind the root still count. They never run, so whoever waits "
                "for them waits for ever.",
                STARTER_5.replace("for to, _ in graph[node]:", "for to, _ in graph[node]:\n"
                                  "            if to is None:\n                continue")),
        Mistake("by name", "It works for the lesson's extra consumer because you look for its name. Any node may be "
                "outside: ask whether the root leads there.",
                STARTER_5.replace("for node in graph:", 'for node in set(graph) - {"log"}:')
                    .replace("            waits[to] =", "            if to is not None:\n"
                             "                waits[to] =")),
        Mistake("too deep", "The counts are right. But a function that calls itself for each node on the way ends "
                "with a RecursionError on a chain of some thousands.",
                "def count(graph, root):\n"
                "    waits, met = {}, set()\n\n"
                "    def visit(node):\n"
                "        if node not in met:\n"
                "            met.add(node)\n"
                "            for to, _ in graph[node]:\n"
                "                if to is not None:\n"
                "                    waits[to] = waits.get(to, 0) + 1\n"
                "                    visit(to)\n\n"
                "    visit(root)\n"
                "    return waits\n"),
        Mistake("paths walked", "Each arrow is counted once, as it should be. But you walk into a node again each "
                "time an arrow leads there: with 30 doublings that is a billion times.",
                "def count(graph, root):\n"
                "    arrows, todo = set(), [root]\n"
                "    while todo:\n"
                "        node = todo.pop()\n"
                "        for place, (to, _) in enumerate(graph[node]):\n"
                "            if to is not None:\n"
                "                arrows.add((node, place, to))\n"
                "                todo.append(to)\n"
                "    waits = {}\n"
                "    for _, _, to in arrows:\n"
                "        waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("not used", "You leave out nodes that no other node uses. In the second graph of the check, norm is "
                "used, by trace; but neither of them is behind the root. Ask whether the root leads there.",
                "def count(graph, root):\n"
                "    used = {to for edges in graph.values() for to, _ in edges}\n"
                "    waits = {}\n"
                "    for node in graph:\n"
                "        if node == root or node in used:\n"
                "            for to, _ in graph[node]:\n"
                "                if to is not None:\n"
                "                    waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("the wrong end", "You counted the arrows that leave a node. It waits for those that arrive.",
                edit("return waits", "return {node: sum(to is not None for to, _ in graph[node]) for node in todo}")),
        Mistake("stops at nothing", "At an arrow to nothing you leave the node, and the arrows after it are not "
                "counted. With c * x and a plain c, the arrow to nothing is the first.",
                edit("root: 0", "",
                     "not None", "None",
                     "if to not in waits:\n                    todo.append(to)\n                ",
                     "break\n            ",
                     "1", "1\n            if to not in todo:\n                todo.append(to)")),
        Mistake("as listed", "You go through the dictionary once, as it is listed. A node that stands before the one "
                "that leads to it is missed: walk along the arrows instead.",
                "def count(graph, root):\n"
                "    waits, found = {}, {root}\n"
                "    for node in graph:\n"
                "        if node in found:\n"
                "            for to, _ in graph[node]:\n"
                "                if to is not None:\n"
                "                    found.add(to)\n"
                "                    waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("guard: changed a container", "An arrow to nothing keeps the place of an operand, and the pass that "
                "comes after the counting needs the graph as it was.",
                edit("):",
                     "):\n    for node in graph:\n"
                     "        graph[node] = [arrow for arrow in graph[node] if arrow[0] is not None]",
                     "to is not None", "True")),
        Mistake("edges to nothing", "None has a count in your dictionary. An arrow to nothing is there to keep the "
                "place of an operand; nothing waits at its end.",
                edit("[node]", ".get(node, [])",
                     "if to is not None:\n                ", "",
                     ":\n                    ", ":\n                ",
                     ")\n                ", ")\n            ")),
        Mistake("paths counted", "You walk into a node again each time an arrow leads there, and so count paths. "
                "Each arrow delivers once; the counts are too large, and the queue starves again.",
                edit("if to not in waits:\n                    ", "")),
        Mistake("one for each", "Every node waits for a single gradient, so it runs on the first that arrives. That "
                "is the hasty engine again.", edit("waits.get(to, 0) + ", "")),
        Mistake("slopes of zero", "An arrow whose slope is 0 is left out. A 0 is sent along it all the same, and "
                "whoever does not wait for it counts wrong.", edit("_", "slope", "None:", "None and slope:")),
        Mistake("two arrows as one", "A node that uses another twice, as x * x does, sends two gradients. You count "
                "the pair as one, and the node runs when half has come.",
                "def count(graph, root):\n"
                "    waits, todo = {root: 0}, [root]\n"
                "    for node in todo:\n"
                "        for to in {to for to, _ in graph[node] if to is not None}:\n"
                "            if to not in waits:\n"
                "                todo.append(to)\n"
                "            waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("one step", "You count the arrows of the root and stop there. What it leads to leads further.",
                edit(", todo = {root: 0}, [root]\n    for node in todo:\n        ", " = {}\n    ",
                     "node]:\n            ", "root]:\n        ",
                     "\n                if to not in waits:\n                    todo.append(to)\n                ",
                     "\n            ")),
    ),
    check=check,
)  # fmt: skip
