"""Exercise 04.4: repair the walker of paths."""

import inspect
import sys

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, define, edit, not_yet, same
from lessons.shared import TooManyLines, within_lines

from .shared import (
    ALONE,
    CHAIN,
    FIVE,
    LONG,
    TWICE,
    TooDeep,
    TooOften,
    backwards,
    doublings,
    gradients,
    guarded,
    long_chain,
    near,
    random_program,
    read,
    shuffled,
    without_nothing,
)


def ladder(n):
    """h = h + h * 0.5, n times: to each h lead ways of many lengths."""
    rungs = {}
    for k in range(n, 0, -1):
        rungs |= {f"h{k}": [(f"h{k - 1}", 1.0), (f"m{k}", 1.0)], f"m{k}": [(f"h{k - 1}", 0.5)]}
    return rungs | {"h0": []}


def at(answer, graph, root, node):
    """Return what a learner's toy engine reports for one node; None when it reports nothing for it."""
    grads = answer(guarded(graph), root)
    return grads.get(node) if isinstance(grads, dict) else None


EQUAL = {"y": [("x", 2.0), ("x", 2.0)], "x": []}  # as x * x leaves it
NOUGHT = {"y": [("p", 0.0), ("x", 2.0)], "p": [("x", 3.0)], "x": []}
SHORT_WAY = {"r": [("h", 1.0), ("p", 1.0)], "p": [("h", 1.0)], "h": [("x", 1.0)], "x": []}
SHARED = (  # r uses h twice and p uses it once; the three arrows are listed in two ways
    {"r": [("h", 1.0), ("h", 1.0), ("p", 1.0)], "p": [("h", 1.0)], "h": [("x", 1.0)], "x": []},
    {"r": [("p", 1.0), ("h", 1.0), ("h", 1.0)], "p": [("h", 1.0)], "h": [("x", 1.0)], "x": []},
)


def on_arrival(graph, root, last):
    """A node sends as soon as it has got something, and once; the queue gives out its first or its last node."""
    grads, ready = {root: 1.0}, [root]
    while ready:
        node = ready.pop(-1 if last else 0)
        for to, slope in graph[node]:
            if to not in grads:
                ready.append(to)
            grads[to] = grads.get(to, 0.0) + slope * grads[node]
    return grads


def at_once(graph, root):
    """The same with calls: a node goes on the moment that its first gradient comes."""
    grads = {}

    def visit(node, grad):
        first = node not in grads
        grads[node] = grads.get(node, 0.0) + grad
        for to, slope in graph[node] if first else []:
            visit(to, slope * grad)

    visit(root, 1.0)
    return grads


def resent(graph, root):
    """With calls, and each time a node gets something, it sends all that it has got so far."""
    grads = {}

    def visit(node, grad):
        grads[node] = grads.get(node, 0.0) + grad
        for to, slope in graph[node]:
            visit(to, slope * grads[node])

    visit(root, 1.0)
    return grads


HASTY = [*(on_arrival(FIVE, "e", last)["x"] for last in (False, True)), at_once(FIVE, "e")["x"]]


def check(answer, torch):
    limit = sys.getrecursionlimit()
    try:
        return judge_04_3(answer, torch)
    except TooOften:
        return almost("looks too often")
    except TooDeep:
        return almost("too deep" if sys.getrecursionlimit() <= limit else "limit raised")
    finally:
        sys.setrecursionlimit(limit)


def judge_04_3(answer, torch):
    if not isinstance(answer(guarded(CHAIN, 1000), "y"), dict):
        return not_yet("Return the dictionary {node: gradient}.")
    if same(inspect.unwrap(answer), define(PATIENT, "backward", torch)):
        return almost("pasted")
    if not near(at(answer, CHAIN, "y", "x"), 6.0):
        return not_yet("A chain of two nodes with slopes 3 and 2 should give 6 at its end.")
    twice = at(answer, TWICE, "y", "x")
    if near(twice, 3.0) or near(twice, 2.0):
        return almost("overwritten")
    if not near(twice, 5.0):
        return not_yet(f"Two arrows with slopes 3 and 2 lead to x. It should get 5, and got {twice}.")
    if near(at(answer, EQUAL, "y", "x"), 2.0):
        return almost("equal arrows")
    five = at(answer, FIVE, "e", "x")
    if five is None:
        return not_yet("On the graph of the lesson, x gets no gradient at all: the queue has run dry.")
    if any(near(five, number) for number in HASTY):
        return almost("hasty")
    if near(five, resent(FIVE, "e")["x"]):
        return almost("sent again")
    if not near(five, 316.0):
        return not_yet(f"On the graph of the lesson, x should get 316, and got {five}.")
    if not near(at(answer, backwards(FIVE), "e", "x"), 316.0):
        return almost("as written down")
    if near(at(answer, SHORT_WAY, "r", "x"), 1.0):
        return almost("the first way")
    if any(near(at(answer, graph, "r", "x"), 2.0) for graph in SHARED):
        return almost("two arrows as one")
    return doubled_04_3(answer) or judge_programs_04_3(answer, torch)


def doubled_04_3(answer):
    """Does an engine get by where there are many paths, and many lengths of them? A verdict, or None."""
    four = at(answer, doublings(4), "h4", "h0")
    if not near(four, 16.0):
        more = isinstance(four, (int, float)) and four > 16.0
        return almost("sent twice") if more else not_yet(f"Four times h = h + h should give 16, and gave {four}.")
    try:
        last = within_lines(lambda: at(answer, doublings(30), "h30", "h0"))
    except TooManyLines:
        return almost("every path")
    except TooOften:
        try:
            answer(guarded(doublings(30), 200), "h30")
        except TooOften:
            return almost("every path")
        raise
    if not near(last, 2.0**30):
        return not_yet("Thirty doublings should give 2 to the power of 30.")
    try:
        last = at(answer, ladder(40), "h40", "h0")
    except TooOften:
        return almost("sent in parts")
    return None if near(last, 1.5**40) else not_yet("Forty times h + h * 0.5 should give 1.5 to the power of 40.")


def judge_programs_04_3(answer, torch):
    grads, truth = answer(guarded(FIVE), "e"), gradients(FIVE, "e")
    if wrong := [node for node in grads if node in truth and not near(grads[node], truth[node])]:
        node = wrong[0]
        return not_yet(f"On the graph of the lesson, x gets its 316. But {node} does not get its {truth[node]:g}.")
    if set(truth) - set(grads):
        return almost("nodes missing")
    if at(answer, NOUGHT, "y", "p") is None:
        return almost("zeros dropped")
    if not (near(at(answer, NOUGHT, "y", "p"), 0.0) and near(at(answer, NOUGHT, "y", "x"), 2.0)):
        return not_yet("y leads to p with slope 0 and to x with slope 2, p leads to x: p should get 0, and x 2.")
    if not near(at(answer, ALONE, "x", "x"), 1.0):
        return not_yet("A graph may be one leaf, as for x.backward(): that leaf gets the 1 of the root.")
    for _ in range(4):
        y = random_program(torch)
        graph, root, leaves = read(torch, y)
        y.backward()
        grads = answer(guarded(shuffled(without_nothing(graph))), root)
        for name, leaf in leaves.items():
            if not near(grads.get(name), leaf.grad.item()):
                return not_yet("On a random program, a leaf gets another gradient than backward() gives.")
    try:
        last = at(answer, backwards(long_chain(LONG)), f"h{LONG}", "h0")
    except RecursionError:
        return almost("too deep")
    if not near(last, 1.0):
        return not_yet(f"A chain of {LONG:,} nodes with slope 1 should hand its 1 through.")
    return correct("each node once, on its sum: 30 doublings cost 31 runs, and depth is no limit.")


PATIENT = """\
from collections import Counter


def backward(graph, root, patient=True):
    waits = Counter(to for arrows in graph.values() for to, slope in arrows)
    grads, queue = {root: 1.0}, [root]
    while queue:
        node = queue.pop(0)
        for to, slope in graph[node]:
            waits[to] -= 1
            first, last = to not in grads, waits[to] == 0
            grads[to] = grads.get(to, 0.0) + slope * grads[node]
            if last if patient else first:
                queue.append(to)
    return grads
"""
STARTER_3 = """\
def backward(graph, root):
    grads = {}

    def visit(node, grad):
        grads[node] = grads.get(node, 0.0) + grad
        for to, slope in graph[node]:
            visit(to, slope * grad)

    visit(root, 1.0)
    return grads"""
COUNTED = """\
def backward(graph, root):
    waits = {}
    for edges in graph.values():
        for to, slope in edges:
            waits[to] = waits.get(to, 0) + 1
    grads, ready = {root: 1.0}, [root]
    while ready:
        node = ready.pop()
        for to, slope in graph[node]:
            grads[to] = grads.get(to, 0.0) + slope * grads[node]
            waits[to] -= 1
            if waits[to] == 0:
                ready.append(to)
    return grads
"""

EXERCISE = Exercise(
    id="04.4", kind="repair", title="Repair the walker of paths", minutes=10, difficulty=2,
    question="The engine is right and walks every path. Make it look at each node's arrows a few times at most, "
    "without recursion, and with the same numbers for all nodes. In your own words: the lesson's engine as it stands "
    "does not count.",
    name="backward", starter=STARTER_3,
    hints=(
        "What must be true of a node before it may send anything on? How can you know, without walking?",
        "A first loop over the graph can count the arrows that lead to each node. A second loop delivers, and counts "
        "down.",
    ),
    solution=COUNTED,
    why="The counts say when a node's sum is complete. Then it sends once, so every arrow is used once, however many "
    "paths run over it; and a list takes the place of the calls.",
    alternatives=(
        edit("waits = {}\n    for edges in graph.values():\n        ",
             "order, done, stack = [], set(), [(root, False)]\n    while stack:\n"
             "        node, finished = stack.pop()\n        if finished:\n            order.append(node)\n"
             "        elif node not in done:\n            done.add(node)\n            stack.append((node, True))\n"
             "            stack += [(to, False) ",
             "edges:\n            waits[to] = waits.get(to, 0) + 1\n    grads, ready = {root: 1.0}, [root]\n"
             "    while ready:\n        node = ready.pop()",
             "graph[node]]\n    grads = dict.fromkeys(order, 0.0)\n    grads[root] = 1.0\n"
             "    for node in reversed(order):",
             "= grads.get(to, 0.0) +", "+=",
             "\n            waits[to] -= 1\n            if waits[to] == 0:\n                ready.append(to)", ""),
        edit("pop()", "pop(0)", "waits[to] == 0", "not waits[to]"),
        "def backward(graph, root):\n"
        "    uses = {node: [] for node in graph}\n"
        "    for node, edges in graph.items():\n"
        "        for to, slope in edges:\n"
        "            uses[to].append((node, slope))\n"
        "    grads, todo = {root: 1.0}, list(graph)\n"
        "    while todo:\n"
        "        missing = [use for use, _ in uses[todo[-1]] if use not in grads]\n"
        "        if missing and todo[-1] not in grads:\n"
        "            todo += missing\n"
        "            continue\n"
        "        node = todo.pop()\n"
        "        if node not in grads:\n"
        "            grads[node] = sum(slope * grads[use] for use, slope in uses[node])\n"
        "    return grads\n",
        "def backward(graph, root):\n"
        "    found, waits = [root], {root: 0}\n"
        "    for node in found:\n"
        "        for to, slope in graph[node]:\n"
        "            found += [to] if to not in found else []\n"
        "            waits[to] = waits.get(to, 0) + 1\n"
        "    grads, ready = {root: 1.0}, [root]\n"
        "    for node in ready:\n"
        "        for to, slope in graph[node]:\n"
        "            grads[to] = grads.get(to, 0.0) + slope * grads[node]\n"
        "            waits[to] -= 1\n"
        "            ready += [] if waits[to] else [to]\n"
        "    return grads\n",
    ),
    mistakes=(
        Mistake("every path", "The numbers are right, and the recursion may be gone, but every path is still walked: "
                "on 30 doublings the accumulator would be reached a billion times.",
                "def backward(graph, root):\n"
                "    grads, todo = {}, [(root, 1.0)]\n"
                "    while todo:\n"
                "        node, grad = todo.pop()\n"
                "        grads[node] = grads.get(node, 0.0) + grad\n"
                "        todo += [(to, slope * grad) for to, slope in graph[node]]\n"
                "    return grads\n"),
        Mistake("hasty", "No topological order: some node sends before all its gradients have arrived, and what "
                "comes later is lost. On the five lines of the lesson that is less than 316.",
                STARTER_3.replace("        grads[node] =", "        first = node not in grads\n"
                                      "        grads[node] =")
                    .replace("        for to", "        for to").replace("in graph[node]:",
                                                                         "in graph[node] if first else []:")),
        Mistake("sent again", "Some gradients are counted twice: a node that gets more sends its whole sum again, "
                "although a part of it has been sent before.",
                STARTER_3.replace("visit(to, slope * grad)", "visit(to, slope * grads[node])")),
        Mistake("zeros dropped", "A node whose gradient is 0 is missing from your dictionary. The walker reports it, "
                "with its 0: a slope of 0 is a slope, too.",
                edit("return grads", "return {node: grad for node, grad in grads.items() if grad}")),
        Mistake("sent twice", "The lesson's graph comes out right, but four times h = h + h gives more than 16. "
                "There each node uses the next one twice: two gradients arrive, and one run must send their sum.",
                edit(" edges:", " set(edges):", " ==", " <=")),
        Mistake("the first way", "Your nodes run in the order in which the first way to each was found. When a short "
                "way and a long one lead to a node, and the short one is found first, it runs before the long one "
                "has delivered. The lesson's graph lists its long ways first; that is luck.",
                edit("waits = {}\n    for edges in graph.values():\n        ",
                     "order, todo = [], [root]\n    while todo:\n        node = todo.pop()\n"
                     "        if node not in order:\n            order.append(node)\n            todo += [to ",
                     "edges:\n            waits[to] = waits.get(to, 0) + 1\n    grads, ready = {root: 1.0}, [root]\n"
                     "    while ready:\n        node = ready.pop()",
                     "reversed(graph[node])]\n    grads = dict.fromkeys(order, 0.0)\n    grads[root] = 1.0\n"
                     "    for node in order:",
                     "= grads.get(to, 0.0) +", "+=",
                     "\n            waits[to] -= 1\n            if waits[to] == 0:\n                ready.append(to)",
                     "")),
        Mistake("sent in parts", "The numbers are right, and no path is walked by itself. But a node sends on each "
                "part of its gradient as it comes, once for each length of way that leads there: in forty times h + "
                "h * 0.5 its arrows are looked at up to forty times. Wait for all parts, and send their sum.",
                edit("waits = {}\n    for edges in graph.values():\n        for to, slope in edges:\n"
                     "            waits[to] = waits.get(to, 0) + 1\n    grads, ready = {root: 1.0}, [root]\n"
                     "    while ready:\n        node = ready.pop()\n        ",
                     "grads, parts = dict.fromkeys(graph, 0.0), {root: 1.0}\n    while parts:\n        sent = {}\n"
                     "        for node, part in parts.items():\n            grads[node] += part\n            ",
                     "\n            grads[to] = grads", "\n                sent[to] = sent",
                     "grads[node]\n            waits[to] -= 1\n            if waits[to] == 0:\n"
                     "                ready.append(to)", "part\n        parts = sent")),
        Mistake("pasted", "That is the lesson's engine as it stands. It is right, and it is not yours: write it "
                "without looking, or find an order without counts.", PATIENT),
        Mistake("equal arrows", "Two equal arrows count twice: for x * x at 2, the node sends the same number twice. "
                "A set keeps one of them.",
                edit("root):", "root):\n    graph = {node: list(set(edges)) for node, edges in graph.items()}")),
        Mistake("looks too often", "The arrows of the whole graph are looked at again and again, more than ten times "
                "each in a small graph. Once it is known how many gradients each node waits for, a few looks are "
                "enough.",
                "def backward(graph, root):\n"
                "    grads, done = {root: 1.0}, set()\n"
                "    while len(done) < len(graph):\n"
                "        for node in graph:\n"
                "            uses = [one for one in graph if any(to == node for to, slope in graph[one])]\n"
                "            if node not in done and all(one in done for one in uses):\n"
                "                for to, slope in graph[node]:\n"
                "                    grads[to] = grads.get(to, 0.0) + slope * grads[node]\n"
                "                done.add(node)\n"
                "    return grads\n"),
        Mistake("two arrows as one", "A node that uses another twice, as x * x does, sends two gradients. You wait "
                "for one from each consumer, and a node that is used so can run before the others have delivered.",
                edit("for to, slope in edges:", "for to in {to for to, slope in edges}:")),
        Mistake("nodes missing", "What is in your dictionary is right, but nodes are missing from it. The walker "
                "reports a gradient for each, root and results included.",
                edit("return grads", "return {node: grads[node] for node in grads if not graph[node]}")),
        Mistake("guard: changed a container", "The numbers are right, but the graph that you were given is no longer "
                "what it was. A second pass would find nothing to walk.", edit("[node]:", ".pop(node):")),
        Mistake("guard: left a setting", "You raised Python's recursion limit. That changes it for the whole "
                "program, and the next chain is longer: a list of what is to be done next has no limit.",
                "import sys\n\n\ndef backward(graph, root):\n"
                "    sys.setrecursionlimit(100_000)\n"
                "    order, done = [], set()\n\n"
                "    def visit(node):\n"
                "        if node not in done:\n"
                "            done.add(node)\n"
                "            for to, slope in graph[node]:\n"
                "                visit(to)\n"
                "            order.append(node)\n\n"
                "    visit(root)\n"
                "    grads = dict.fromkeys(order, 0.0)\n"
                "    grads[root] = 1.0\n"
                "    for node in reversed(order):\n"
                "        for to, slope in graph[node]:\n"
                "            grads[to] += slope * grads[node]\n"
                "    return grads\n"),
        Mistake("overwritten", "Where two arrows meet, one of the two gradients is lost. They must be added: x * x "
                "has the slope 2x, not x.", edit("grads.get(to, 0.0) + ", "")),
        Mistake("as written down", "You go through the nodes in the order in which the dictionary lists them. That "
                "happens to be a good order for the lesson's graph; list the nodes the other way round and it fails.",
                "def backward(graph, root):\n"
                "    grads = dict.fromkeys(graph, 0.0)\n"
                "    grads[root] = 1.0\n"
                "    for node in graph:\n"
                "        for to, slope in graph[node]:\n"
                "            grads[to] += slope * grads[node]\n"
                "    return grads\n"),
        Mistake("too deep", "Each node once, and all numbers right. But a function that calls itself for each node "
                "on the way ends with a RecursionError on a chain of some thousands.",
                "def backward(graph, root):\n"
                "    order = []\n"
                "    done = set()\n\n"
                "    def visit(node):\n"
                "        if node not in done:\n"
                "            done.add(node)\n"
                "            for to, slope in graph[node]:\n"
                "                visit(to)\n"
                "            order.append(node)\n\n"
                "    visit(root)\n"
                "    grads = dict.fromkeys(order, 0.0)\n"
                "    grads[root] = 1.0\n"
                "    for node in reversed(order):\n"
                "        for to, slope in graph[node]:\n"
                "            grads[to] += slope * grads[node]\n"
                "    return grads\n"),
    ),
    check=check,
)  # fmt: skip
