"""Exercise 04.5: repair the second pass."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet

from .shared import (
    ALONE,
    CHAIN,
    FIVE,
    TWICE,
    consumers_first,
    near,
    random_program,
    read,
    without_nothing,
)


def after(answer, graph, root, stored, passes=1):
    """The dictionary of leaf gradients after some passes of a learner's engine."""
    for _ in range(passes):
        answer({node: list(edges) for node, edges in graph.items()}, consumers_first(graph, root), stored)
    return stored


def check(answer, torch):
    chain = after(answer, CHAIN, "y", {})
    if not chain and near(after(answer, CHAIN, "y", {"x": 0.0}).get("x"), 6.0):
        return almost("no entry made")
    if not chain:
        return almost("another dictionary")
    if not near(chain.get("x"), 6.0):
        return not_yet("A chain of two nodes with slopes 3 and 2 should leave 6 in grad for x.")
    twice = after(answer, TWICE, "y", {}).get("x")
    if near(twice, 3.0) or near(twice, 2.0):
        return almost("overwritten inside a pass")
    if near(twice, 8.0):
        return almost("added too often")
    if not near(twice, 5.0):
        return not_yet(f"Two arrows with slopes 3 and 2 lead to x. It should get 5, and got {twice}.")
    once, again = (after(answer, FIVE, "e", {}, passes).get("x") for passes in (1, 2))
    if not near(once, 316.0):
        return not_yet(f"One pass over the lesson's graph should leave 316 for x, and leaves {once}.")
    if near(again, once):
        return almost("overwritten between passes")
    if not near(again, 2 * once):
        if set(after(answer, FIVE, "e", {})) & (set(FIVE) - {"e", "x"}):
            return almost("survivors")
        if near(after(answer, CHAIN, "y", {"x": 10.0}).get("x"), 26.0):  # 10, and the 10 once more with the 6
            return almost("counted again")
        return not_yet(f"Each pass should add {once:g} to x's entry. After the second it holds {again}.")
    stored = after(answer, CHAIN, "y", {"z": 7.0})
    if not near(stored.get("z"), 7.0):
        return almost("cleared for all")
    if {"y", "p"} <= set(stored):
        return almost("stored results")
    if more := set(stored) - {"x", "z"}:
        return not_yet(f"Afterwards grad has an entry for {sorted(map(str, more))[0]}, which is no leaf.")
    if not near(after(answer, ALONE, "x", {}, 2).get("x"), 2.0):
        return almost("a root that is a leaf")
    if "v" in after(answer, CHAIN | {"u": [("v", 1.0)], "v": []}, "y", {}):
        return almost("never reached")
    if not near(after(answer, {"y": [("x", 0.0)], "x": []}, "y", {}).get("x"), 0.0):
        return almost("zeros dropped")
    for _ in range(3):
        y = random_program(torch)
        graph, root, leaves = read(torch, y)
        stored = {name: 0.5 for name in leaves}
        y.backward()
        after(answer, without_nothing(graph), root, stored, passes=3)
        fair = [near(stored[name], 0.5 + 3 * leaf.grad.item()) for name, leaf in leaves.items()]
        if not all(fair) and all(ok or stored[name] == 0.5 for ok, name in zip(fair, leaves, strict=True)):
            return almost("not every leaf")
        if not all(fair):
            return not_yet("Three passes over a random program do not add three times its gradient.")
    return correct("buffers live for one pass, .grad lives on, and only leaves have one.")


STARTER_4 = """\
def backward(graph, order, grad):
    grad[order[0]] = 1.0
    for node in order:
        for to, slope in graph[node]:
            grad[to] = grad.get(to, 0.0) + slope * grad[node]"""
BUFFERED = """\
def backward(graph, order, grad):
    buffers = {order[0]: 1.0}
    for node in order:
        for to, slope in graph[node]:
            buffers[to] = buffers.get(to, 0.0) + slope * buffers[node]
        if not graph[node]:
            grad[node] = grad.get(node, 0.0) + buffers[node]
"""

EXERCISE = Exercise(
    id="04.5", kind="repair", title="Repair the second pass", minutes=6, difficulty=2,
    question="One dictionary serves as buffer and as .grad. Make every pass add the right gradient to each leaf's "
    "entry, and keep everything else out of it.",
    name="backward", starter=STARTER_4,
    hints=(
        "After one pass, print the dictionary. Which of its entries does the second pass start from, and which should "
        "it start from?",
        "Two things with different lives need two dictionaries: one made anew in each call.",
    ),
    solution=BUFFERED,
    why="The buffer of a node begins empty in every pass and is used up by it. What outlives a pass is the sum in the "
    "leaf's entry, and that is added to.",
    alternatives=(
        edit("{order[0]: 1.0}", "dict.fromkeys(order, 0.0)\n    buffers[order[0]] = 1.0",
             "= buffers.get(to, 0.0) +", "+=",
             "\n        if not graph[node]", "\n    for node in order:\n        if graph[node] == []",
             "[node] = grad.get(node, 0.0) +", ".setdefault(node, 0.0)\n            grad[node] +="),
        edit("order:",
             "order:\n        arrived = buffers.pop(node)\n        if len(graph[node]) == 0:\n"
             "            grad[node] = arrived + grad.get(node, 0.0)",
             "buffers[node]\n        if not graph[node]:\n            grad[node] = grad.get(node, 0.0) + buffers[node]",
             "arrived"),
    ),
    mistakes=(
        Mistake("survivors", "The second pass is wrong: it began with what the first had left in the entries of the "
                "results. A result's gradient must not survive its pass.", STARTER_4 + "\n    del grad[order[0]]"),
        Mistake("counted again", "The second pass is too large: its buffers began with what was stored, so the "
                "leaf's entry is added to itself. Buffers begin empty.", edit("= {", "= grad | {")),
        Mistake("a root that is a leaf", "If the root itself is a leaf, as for x.backward(), its gradient is the 1 "
                "that the pass starts with, and its entry should gain that. After two passes yours is missing or is "
                "not 2.",
                edit("buffers[to", "if graph[to]:\n                buffers[to",
                     "\n        if not graph[node]:\n            grad[node",
                     "\n            else:\n                grad[to",
                     "node, 0.0) + ", "to, 0.0) + slope * ")),
        Mistake("not every leaf", "A graph may have several leaves, by any name. Some of those behind the root get "
                "nothing from your engine.",
                edit("\n        if not graph[node]:\n            grad[node", "\n    leaf = order[-1]\n    grad[leaf",
                     "node,", "leaf,",
                     "+ buffers[node]", "+ buffers[leaf]")),
        Mistake("no entry made", "An entry that is there gets its gradient. Where there is none, as before the first "
                "pass, none is made.", edit("not graph[node]:", "not graph[node] and node in grad:")),
        Mistake("guard: changed a container", "The next pass is given the same two, and would find nothing to do.",
                edit("for node in order:", "while order:\n        node = order.pop(0)")),
        Mistake("zeros dropped", "A leaf behind the root whose gradient comes to 0 gets no entry. It was reached, "
                "and 0 arrived: 0 is a gradient, a missing entry is none.",
                edit("not graph[node]:", "not graph[node] and buffers[node]:")),
        Mistake("never reached", "A leaf that is not behind this root has got an entry. Nothing arrived there: its "
                "entry should be missing, as a .grad stays None.",
                edit("* buffers[node]", "* buffers[node]\n    for node in graph:",
                     "+ buffers[node]", "+ buffers.get(node, 0.0)")),
        Mistake("overwritten between passes", "The second pass leaves what the first had left: the leaf's entry was "
                "replaced. Passes add up, so that a batch can be cut in parts.", edit("grad.get(node, 0.0) + ", "")),
        Mistake("overwritten inside a pass", "Within one pass, where two arrows meet, one of the two gradients is "
                "lost: x * x gets half its slope.", edit("buffers.get(to, 0.0) + ", "")),
        Mistake("added too often", "The leaf's entry is given the running total at each arrival, so that early "
                "gradients count again with every later one. Add once, when the sum is complete.",
                edit("]\n        ", "]\n            ",
                     "node]:\n            grad[node", "to]:\n                grad[to",
                     "node,", "to,",
                     "+ buffers[node]", "+ buffers[to]")),
        Mistake("stored results", "Every number is right, and the dictionary holds an entry for every result as "
                "well. For a network that is a gradient for each activation, kept for nobody.",
                edit("buffers = {order[0]: 1.0}",
                     "for node in order:\n        if graph[node]:\n            grad[node] = 0.0\n"
                     "    grad[order[0]] = 1.0",
                     "buffers[to] = buffers", "grad[to] = grad",
                     "buffers[node]\n        if not graph[node]:\n"
                     "            grad[node] = grad.get(node, 0.0) + buffers[node]", "grad[node]")),
        Mistake("cleared for all", "The leaves behind this root are right, but the entry of another leaf, which this "
                "pass never reaches, has been lost.",
                "def backward(graph, order, grad):\n"
                "    old = {node: grad.get(node, 0.0) for node in order if not graph[node]}\n"
                "    grad.clear()\n"
                "    buffers = {order[0]: 1.0}\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            buffers[to] = buffers.get(to, 0.0) + slope * buffers[node]\n"
                "    for node in old:\n"
                "        grad[node] = old[node] + buffers[node]\n"),
        Mistake("another dictionary", "The caller's dictionary is as empty as before. Neither return nor grad = … "
                "reaches it: write into the dictionary that you were given.",
                STARTER_4.replace("    grad[order[0]] = 1.0", "    grad = {order[0]: 1.0}")),
    ),
    may_change=("grad",),
    check=check,
)  # fmt: skip
