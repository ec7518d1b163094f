"""Exercise 00.4: repair the walk."""

import random
from collections.abc import Iterator

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import TooManyLines, nodes_behind, within_lines

from .shared import node_name


def check(answer, torch):
    """Try the walk on graphs of all kinds of shape: each tells one mistake from the others."""
    x = torch.tensor(random.uniform(0.5, 2.0), requires_grad=True)
    w = torch.tensor(random.uniform(0.5, 2.0), requires_grad=True)
    square, many = x * x, torch.tensor([1.0, 2.0], requires_grad=True)
    one, two = (many * w).unbind()
    graphs = {
        "x.exp()": x.exp(),
        "(x * 2).exp()": (x * 2).exp(),
        "x.sin() * w": x.sin() * w,
        "p * x.sin(), where p is plain": torch.tensor(2.0) * x.sin(),
        "x.exp().exp()": x.exp().exp(),
        "(x * 2).exp() * w": (x * 2).exp() * w,
        "s + s.exp(), where s = x * x": square + square.exp(),
        "s.exp() + s, where s = x * x": square.exp() + square,
        "torch.stack([x.exp(), x.sin(), w])": torch.stack([x.exp(), x.sin(), w]),
        "one / two, where one, two = (v * w).unbind()": one / two,
        "two.exp(), where one, two = (v * w).unbind()": two.exp(),
    }
    once, again = names_found(answer, graphs["x.exp()"]), names_found(answer, graphs["x.exp()"])
    if once is not None and again is not None and once != again:
        return almost("a list that stays" if len(again) > len(once) else "a set that stays")
    wrong = {}
    for title, y in graphs.items():
        got, truth = names_found(answer, y), sorted(node_name(node) for node in nodes_behind(y))
        if got is None:
            return not_yet("A list of names is wanted: strings, one for each node.")
        if got != truth:
            wrong[title] = got, truth
    if wrong:
        return what_is_wrong_with(wrong)
    y = x
    for _ in range(20):
        y = y + y
    try:
        within_lines(lambda: list(answer(y)))
    except TooManyLines:
        return almost("every path")
    y = x
    for _ in range(3000):
        y = y + 1
    try:
        deep = len(names_found(answer, y) or ())
    except RecursionError:
        return almost("recursion")
    if deep != 3001:
        return not_yet(f"A chain of 3000 additions has 3001 nodes, with its leaf; you listed {deep}.")
    return correct("Your walk visits each node once, however many arrows reach it: the engine needs the same care.")


NOTHINGS = ("(x * 2).exp()", "p * x.sin(), where p is plain", "(x * 2).exp() * w")
MEETINGS = {
    "s + s.exp(), where s = x * x",
    "s.exp() + s, where s = x * x",
    "one / two, where one, two = (v * w).unbind()",
    "torch.stack([x.exp(), x.sin(), w])",
}


def what_is_wrong_with(wrong):
    """The verdict on a walk that gave other names than the right ones: {graph: (names given, right names)}."""
    given = [name for got, _ in wrong.values() for name in got]
    if "NoneType" in given:
        return almost("counts nothing")
    if any("::" in name for name in given):
        return almost("another name")
    if "x.exp()" in wrong and all(
        got == [name for name in truth if name != "AccumulateGrad"] for got, truth in wrong.values()
    ):
        return almost("stops before the leaves")
    fewer = all(len(got) < len(truth) and set(got) <= set(truth) for got, truth in wrong.values())
    if fewer and set(wrong) & {*NOTHINGS[:2]} and set(wrong) <= {*NOTHINGS, *MEETINGS}:
        return almost("stops at nothing")
    if set(wrong) == {"torch.stack([x.exp(), x.sin(), w])"}:
        return almost("two arrows at most")
    if fewer and set(wrong) <= MEETINGS:
        return almost("stops at a meeting")
    if fewer and "x.exp().exp()" in wrong and all(len(set(got)) == len(got) for got, _ in wrong.values()):
        return almost("names, not nodes")
    if all(got == joined(truth) for got, truth in wrong.values()):
        return almost("numbers, not nodes")
    if fewer and "x.sin() * w" in wrong and not {"x.exp()", "(x * 2).exp()", "x.exp().exp()"} & set(wrong):
        return almost("first arrow only")
    if all(len(got) > len(truth) and set(got) == set(truth) for got, truth in wrong.values()):
        return almost("noted twice" if "x.exp()" in wrong else "one entry per path")
    title = next(iter(wrong))
    got, truth = wrong[title]
    return not_yet(f"Behind {title} there are {len(truth)} nodes; you listed {got}.")


def joined(names):
    """These names with one accumulator at most."""
    return sorted([name for name in names if name != "AccumulateGrad"] + ["AccumulateGrad"])


def names_found(answer, y):
    """The learner's names, sorted; None when they are not a collection of strings."""
    got = answer(y)
    got = list(got) if isinstance(got, Iterator) else got
    if not isinstance(got, list | tuple | set) or not all(isinstance(name, str) for name in got):
        return None
    return sorted(got)


WALK = "def walk(y):\n"

EXERCISE = Exercise(
    id="00.4", kind="repair", title="Repair the walk", minutes=5, difficulty=2,
    question="`walk` should list the names of all nodes behind `y`, each node exactly once, in any order. It stumbles "
    "over an arrow to nothing, and where two paths meet it goes on twice.",
    name="walk",
    starter=WALK
    + "    names, waiting = [], [y.grad_fn]\n"
    + "    while waiting:\n"
    + "        node = waiting.pop()\n"
    + "        names.append(type(node).__name__)\n"
    + "        for below, _ in node.next_functions:\n"
    + "            waiting.append(below)\n"
    + "    return names\n",
    hints=(
        "Two questions to ask of a node before you note its name: is it one at all, and have I been here?",
        "`waiting` is the list of what is still to visit. Beside it, keep a set of the nodes you have seen; names "
        "will not do, for two nodes may have the same name.",
    ),
    solution=WALK
    + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
    + "    while waiting:\n"
    + "        node = waiting.pop()\n"
    + "        if node is None or node in seen:\n"
    + "            continue\n"
    + "        seen.add(node)\n"
    + "        names.append(type(node).__name__)\n"
    + "        waiting += [below for below, output in node.next_functions]\n"
    + "    return names\n",
    why="The set of seen nodes makes it a walk over the graph instead of one over all its paths.",
    alternatives=(
        edit("names, seen, waiting = [], set(), [y.grad_fn]\n    while waiting:\n        node = waiting.pop()\n"
             "        if node is None or",
             "row = {y.grad_fn}\n    seen = set()\n    while row:\n        seen |= row\n"
             "        below = {n for node in row for n, _ in node.next_functions if n is not None}\n"
             "        row = below - seen\n    return [type(node).__name__ for",
             ":\n            continue\n        seen.add(node)\n        names.append(type(node).__name__)\n"
             "        waiting += [below for below, output in node.next_functions]\n    return names", "]"),
        WALK
        + "    seen, waiting = {None}, [y.grad_fn]\n"
        + "    while waiting:\n"
        + "        node = waiting.pop()\n"
        + "        if node not in seen:\n"
        + "            seen.add(node)\n"
        + "            yield type(node).__name__\n"
        + "            waiting += [n for n, _ in node.next_functions]\n",
        WALK
        + "    names = {y.grad_fn: type(y.grad_fn).__name__}\n"
        + "    waiting = [y.grad_fn]\n"
        + "    for node in waiting:  # grows as it goes\n"
        + "        for below, _ in node.next_functions:\n"
        + "            if below is not None and below not in names:\n"
        + "                names[below] = type(below).__name__\n"
        + "                waiting.append(below)\n"
        + "    return list(names.values())\n",
    ),
    mistakes=(
        Mistake("every path", "Each node is listed once, but you still visit it once for each path: twenty times `y "
                "= y + y` has few nodes and a million paths. Do not go on from a node that you have seen.",
                WALK
                + "    seen, waiting = set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is not None:\n"
                + "            seen.add(node)\n"
                + "            waiting += [n for n, _ in node.next_functions]\n"
                + "    return [type(node).__name__ for node in seen]\n"),
        Mistake("one entry per path", "A node that two arrows reach is listed twice. Remember the nodes you have "
                "seen, accumulators included, and ask when you take a node off the list; it may stand there twice.",
                edit("seen, waiting = [], set()", "waiting = []",
                     "if node is None or node in seen:\n            continue\n        seen.add(node)\n        ", "",
                     "below for below, output", "n for n, _",
                     "next_functions]", "next_functions if n is not None]")),
        Mistake("noted twice", "A name stands twice even behind `x.exp()`, where no two arrows meet: you note one "
                "node in two places.",
                WALK
                + "    names, seen, waiting = [type(y.grad_fn).__name__], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is not None and node not in seen:\n"
                + "            seen.add(node)\n"
                + "            names.append(type(node).__name__)\n"
                + "            waiting += [below for below, _ in node.next_functions]\n"
                + "    return names\n"),
        Mistake("a list that stays", "Called twice with the same `y`, your walk lists more the second time: what the "
                "first call has collected is still there. Make the list anew in each call.",
                "names = []\n\n"
                + WALK
                + "    seen, waiting = set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node in seen:\n"
                + "            continue\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return list(names)\n"),
        Mistake("a set that stays", "Called twice with the same `y`, your walk gives less the second time: the nodes "
                "that the first call has seen still count as seen. A default value is made once, for all calls.",
                edit("):\n    names, seen", ", seen=set()):\n    names",
                     ", set()", "",
                     "below for below, output", "n for n, _")),
        Mistake("two arrows at most", "You look at two arrows of each node. An operation can have more operands, or "
                "fewer: `next_functions` is as long as it needs to be.",
                edit("below for below, output", "n for n, _", "next_functions]", "next_functions[:2]]")),
        Mistake("numbers, not nodes", "Where there are several leaves you list one accumulator. You keep nodes apart "
                "by something that is equal for all accumulators; keep the nodes themselves.",
                edit(" node in", " node._sequence_nr() in",
                     "add(node)", "add(node._sequence_nr())",
                     "below for below, output", "n for n, _")),
        Mistake("recursion", "Right on small graphs; a chain of 3000 operations is deeper than Python's call stack "
                "allows.",
                edit("names, seen, waiting = [], set(), [y.grad_fn]\n    while waiting:\n        node = waiting.pop()",
                     "seen = []\n    def visit(node):",
                     "None or",
                     "not None and node not in seen:\n            seen.append(node)\n"
                     "            for below, _ in node.next_functions:\n                visit(below)\n"
                     "    visit(y.grad_fn)\n    return [type(node).__name__ for",
                     ":\n            continue\n        seen.add(node)\n        names.append(type(node).__name__)\n"
                     "        waiting += [below for below, output in node.next_functions]\n    return names", "]")),
        Mistake("first arrow only", "You follow one arrow of each node; an operation with two operands has two.",
                edit("seen, waiting = [], set(), [y.grad_fn]\n    while waiting:\n        node = waiting.pop()\n"
                     "        if node is None or node in seen:\n            continue\n        seen.add(node)",
                     "node = [], y.grad_fn\n    while node is not None:",
                     "waiting += [below for below, output in", "arrows =",
                     "next_functions]", "next_functions\n        node = arrows[0][0] if arrows else None")),
        Mistake("stops before the leaves", "The operations are all there, the accumulators are not; they are nodes "
                "as well.", edit("seen:", "seen or not node.next_functions:", "below for below, output", "n for n, _")),
        Mistake("stops at nothing", "The first arrow to nothing ends your whole walk. It has no node to list, but "
                "others are waiting.", edit("continue", "break", "below for below, output", "n for n, _")),
        Mistake("guard: left a setting", "",
                edit("def", "import sys\n\ndef",
                     "names, seen, waiting = [], set(), [y.grad_fn]\n    while waiting:\n        node = waiting.pop()",
                     "sys.setrecursionlimit(100_000)\n    seen = []\n    def visit(node):",
                     "None or",
                     "not None and node not in seen:\n            seen.append(node)\n"
                     "            for below, _ in node.next_functions:\n                visit(below)\n"
                     "    visit(y.grad_fn)\n    return [type(node).__name__ for",
                     ":\n            continue\n        seen.add(node)\n        names.append(type(node).__name__)\n"
                     "        waiting += [below for below, output in node.next_functions]\n    return names", "]")),
        Mistake("stops at a meeting", "Where two paths meet, your whole walk ends: nodes that are still waiting are "
                "never visited. Leave out the node that you have seen, and no other.",
                edit("is None or node ", "",
                     "continue\n        ", "break\n        if node is not None:\n            ",
                     ")\n        names", ")\n            names",
                     "\n        waiting += [below for below, output", "\n            waiting += [n for n, _")),
        Mistake("names, not nodes", "Two nodes may carry one name; you keep names apart, and have to keep nodes "
                "apart.",
                edit("seen, waiting = [], set()", "waiting = []",
                     "node in seen", "type(node).__name__ in names",
                     "\n        seen.add(node)", "",
                     "below for below, output", "n for n, _")),
        Mistake("another name", "The nodes are right. `node.name()` has a longer name for accumulators; take the "
                "type's name.",
                edit("None or node", "not None and node not",
                     "continue\n        ", "",
                     ")\n        names", ")\n            names",
                     "type(node).__name__)\n        waiting += [below for below, output",
                     "node.name())\n            waiting += [n for n, _")),
        Mistake("counts nothing", "`NoneType` is in your list: an arrow to nothing leads to no node.",
                edit("is None or node ", "",
                     "below for below, output in node.next_functions]",
                     "n for n, _ in getattr(node, 'next_functions', ())]")),
    ),
    check=check,
)  # fmt: skip
