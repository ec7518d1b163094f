"""Exercises of lesson 04: the engine. Toy engines on graphs of plain numbers, and the real one's queue."""

import inspect
import math
import random
import sys
from collections import Counter

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import TooManyLines, within_lines
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, define, not_yet, same

# --- toy graphs: {node: [(node its gradient goes to, slope), ...]}, a leaf has no edges -------------------

CHAIN = {"y": [("p", 3.0)], "p": [("x", 2.0)], "x": []}
TWICE = {"y": [("x", 3.0), ("x", 2.0)], "x": []}
FIVE = {  # a = x*x; b = a+x; c = b*a; d = c+b; e = d*a at x = 2
    "e": [("d", 4.0), ("a", 30.0)],
    "d": [("c", 1.0), ("b", 1.0)],
    "c": [("b", 4.0), ("a", 6.0)],
    "b": [("a", 1.0), ("x", 1.0)],
    "a": [("x", 2.0), ("x", 2.0)],
    "x": [],
}


class TooOften(Exception):
    """A toy engine has looked at the edges of a small graph more often than any sensible engine would."""


class TooDeep(Exception):
    """A toy engine calls itself for each node on the way."""


LONG = 6000  # nodes of the long chain; searching lists that long is slow, but no reason to refuse an answer
DEEPEST = 3000  # calls within calls: more than Python allows by itself, fewer than the long chain has nodes


class Edges(list):
    """The edges of one node; iterating over them takes one from the budget that a whole graph shares."""

    def __init__(self, edges, budget):
        super().__init__(edges)
        self.budget = budget

    def __iter__(self):
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise TooOften
        try:
            sys._getframe(DEEPEST)
        except ValueError:  # the stack is not that deep
            return super().__iter__()
        raise TooDeep


def guarded(graph, looks=10):
    """A fresh copy of a toy graph that allows `looks` walks over the edges of each node, on average."""
    budget = [looks * len(graph)]
    return {node: Edges(edges, budget) for node, edges in graph.items()}


def backwards(graph):
    """The same graph, its nodes written down in the opposite order."""
    return dict(reversed(graph.items()))


def shuffled(graph):
    nodes = list(graph)
    random.shuffle(nodes)
    return {node: graph[node] for node in nodes}


def doublings(n):
    """h = h + h, n times."""
    return {f"h{k}": [(f"h{k - 1}", 1.0)] * 2 for k in range(n, 0, -1)} | {"h0": []}


def ladder(n):
    """h = h + h * 0.5, n times: to each h lead ways of many lengths."""
    rungs = {}
    for k in range(n, 0, -1):
        rungs |= {f"h{k}": [(f"h{k - 1}", 1.0), (f"m{k}", 1.0)], f"m{k}": [(f"h{k - 1}", 0.5)]}
    return rungs | {"h0": []}


def long_chain(n):
    return {f"h{k}": [(f"h{k - 1}", 1.0)] for k in range(n, 0, -1)} | {"h0": []}


def behind(graph, root):
    """The nodes behind `root` with the number of edges that lead to each: what a pass has to wait for."""
    waits, todo = {root: 0}, [root]
    for node in todo:
        for to, _ in graph[node]:
            if to is not None:
                if to not in waits:
                    todo.append(to)
                waits[to] = waits.get(to, 0) + 1
    return waits


def consumers_first(graph, root):
    """The nodes behind `root`, each after everything that consumes it."""
    waits, order = behind(graph, root), [root]
    for node in order:
        for to, _ in graph[node]:
            if to is not None:
                waits[to] -= 1
                if waits[to] == 0:
                    order.append(to)
    return order


def gradients(graph, root):
    """The right answer: the gradient of every node behind `root`."""
    grads = {root: 1.0}
    for node in consumers_first(graph, root):
        for to, slope in graph[node]:
            if to is not None:
                grads[to] = grads.get(to, 0.0) + slope * grads[node]
    return grads


def near(one, other):
    """Two numbers agree up to rounding; False when one of them is no number."""
    numbers = all(isinstance(value, (int, float)) for value in (one, other))
    return numbers and math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


# --- from real programs to toy graphs ----------------------------------------------------------------------


def read(torch, y):
    """The graph behind a one-element result as a toy graph: (graph, root, {name: leaf}).

    Each node is called by itself with the gradient 1, which gives its slopes.
    """
    nodes = {y.grad_fn: None}
    todo = [y.grad_fn]
    for node in todo:
        for to, _ in node.next_functions:
            if to is not None and to not in nodes:
                nodes[to] = None
                todo.append(to)
    numbers = random.sample(range(100, 1000), len(todo))
    names = {node: f"n{number}" for node, number in zip(todo, numbers, strict=True)}
    graph, leaves = {}, {}
    with torch.no_grad():
        for node in todo:
            edges = node.next_functions
            slopes = node(torch.ones((), dtype=y.dtype)) if edges else ()
            slopes = slopes if isinstance(slopes, tuple) else (slopes,)
            graph[names[node]] = [
                (None, 1.0) if to is None else (names[to], 0.0 if slope is None else slope.item())
                for (to, _), slope in zip(edges, slopes, strict=True)
            ]
            if not edges:
                leaves[names[node]] = node.variable
    return graph, names[y.grad_fn], leaves


def number(torch, value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def random_program(torch, steps=12):
    """A result of one element, computed from three leaves by random operations."""
    made = [number(torch, random.uniform(0.5, 1.5)) for _ in range(3)]
    operations = (
        lambda a, b: a + b * 0.5,
        lambda a, b: a * b,
        lambda a, b: (a - b).sin(),
        lambda a, b: a.tanh() + b,
        lambda a, b: a.exp() * 0.2,
    )
    for _ in range(steps):
        made.append(random.choice(operations)(random.choice(made[-3:]), random.choice(made)))
    return made[-1] + made[-2] * 0.3 + made[-4]


# --- 04.p1 -------------------------------------------------------------------------------------------------


def check_04_p1(answer, torch):
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return not_yet("Give a pair: how often the node runs, and the gradient that it is given first.")
    x = number(torch, 2.0)
    h = x * x
    seen = []
    h.grad_fn.register_prehook(lambda grads: seen.append(grads[0].item()))
    (h.sqrt() + (-h)).backward()
    times, grad = answer
    if times == len(seen) and near(grad, seen[0]):
        return correct("two gradients arrive, they are added, and the node runs once.")
    if times == len(seen) and near(grad, -3.0):
        return almost("one node on")
    if times == len(seen) and near(grad, 1.0):
        return almost("the seed")
    if times == len(seen) and any(near(grad, g) for g in (0.25, -1.0)):
        return almost("one of the two")
    if times == len(seen) and near(grad, -0.25):
        return almost("multiplied")
    if times == 2 and any(near(grad, g) for g in (0.25, -1.0)):
        return almost("once for each")
    if times == len(seen) and near(grad, 1.25):
        return almost("the minus")
    if times == len(seen) and near(grad, 0.75):
        return almost("the larger one wins")
    if times == len(seen) and near(grad, -0.5):
        return almost("half a root")
    if times == 2 and near(grad, seen[0]):
        return almost("the sum twice")
    if near(times, seen[0]):
        return not_yet("The other way round: first how often, then which gradient.")
    if times != len(seen):
        return not_yet("Each further run of this node would cost one of all that is behind it. How many need be?")
    return not_yet("What does the node of the square root send, what that of the minus, and who adds?")


P1 = Exercise(
    id="04.p1", kind="predict", title="The node of h", minutes=3, difficulty=1,
    question="`h = x * x; p = h.sqrt(); q = -h; y = p + q` at x = 2: how often does the node of h run in "
    "`y.backward()`, and which gradient is it given the first time?",
    name="answer", starter="answer = None",
    hints=(
        "The slope of a root is 1 / (2 · root), and the root of 4 is 2.",
        "Two gradients are on their way to the node. Does it need them one by one, or is their sum enough?",
    ),
    solution="answer = (1, -0.75)",
    why="p sends 0.25 and q sends -1. The engine adds them and runs the node once, on -0.75: a backward "
    "function multiplies by slopes, so the sum is all it needs.",
    alternatives=("answer = [1, -0.75]", "answer = (1, 0.25 - 1)"),
    mistakes=(
        Mistake("once for each",
                "That is one run for each consumer. It would give the right slope, and the work would double "
                "at every fork; the engine waits and runs the node once.", "answer = (2, 0.25)"),
        Mistake("the sum twice",
                "Running twice on the sum would count both gradients twice. Once it has run, nothing more "
                "arrives.", "answer = (2, -0.75)"),
        Mistake("one of the two",
                "It runs once, and so nothing may be missing: you gave what one of p and q sends. The other "
                "is on its way as well.", "answer = (1, -1.0)"),
        Mistake("multiplied",
                "Along a path slopes are multiplied, but these two come along different paths, and those are "
                "added.", "answer = (1, -0.25)"),
        Mistake("the minus",
                "0.25 comes through the square root. What comes through the minus has its sign turned: the slope of "
                "-h is -1.", "answer = (1, 1.25)"),
        Mistake("the larger one wins",
                "The size is right. What comes through the minus is negative, and it is the larger of the two.",
                "answer = (1, 0.75)"),
        Mistake("half a root",
                "Adding is right. One of the two is not: the slope of a root is 1 / (2 · root), and the root of 4 is "
                "2.",
                "answer = (1, -0.5)"),
        Mistake("the seed",
                "1 is what the pass starts with at y. On the way to h it has gone through the square root, and "
                "through the minus.", "answer = (1, 1.0)"),
        Mistake("one node on",
                "-3 is what arrives at x, one node further: the node of h multiplies what it is given by 2x.",
                "answer = (1, -3.0)"),
    ),
    check=check_04_p1,
)  # fmt: skip


# --- 04.p2 -------------------------------------------------------------------------------------------------


def hasty(graph, root):
    """The lesson's engine with patient=False: a node joins the queue when its first gradient arrives."""
    grads, ready = {root: 1.0}, [root]
    for node in ready:
        for to, slope in graph[node]:
            if to is not None:
                if to not in grads:
                    ready.append(to)
                grads[to] = grads.get(to, 0.0) + slope * grads[node]
    return grads


def check_04_p2(answer, torch):
    truth = hasty(FIVE, "e")["x"]
    if near(answer, truth):
        return correct("a ran on 30 when 44 more was still to come, and nobody told x.")
    wrong = {316.0: "the slope", 120.0: "x stands still", 80.0: "depth first", 10.0: "paths", 74.0: "a itself",
             124.0: "half of b", 176.0: "what is lost", 272.0: "lost at a", 20.0: "from b alone", 30.0: "at a, in time",
             44.0: "at a, too late"}
    for value, name in wrong.items():
        if near(answer, value):
            return almost(name)
    if not isinstance(answer, (int, float)):
        return not_yet("Give one number.")
    return not_yet(f"Not {answer:g}. Write down the queue: e; then d and a; then what d and a bring in.")


P2 = Exercise(
    id="04.p2", kind="predict", title="The hasty engine", minutes=4, difficulty=2,
    question="`a = x*x; b = a+x; c = b*a; d = c+b; e = d*a` at x = 2. An engine runs each node once, in the "
    "order in which nodes first got a gradient. What does it report for x?",
    name="answer", starter="answer = None",
    hints=(
        "e sends 4 to d and 30 to a. They join the queue in that order.",
        "The queue is e, d, a, then c and b, then x. What has a got when its turn comes? And b?",
    ),
    solution="answer = 140.0",
    why="a runs third, on the 30 from e alone, and sends 60 twice. b runs on 4 + 16 = 20 and sends 20 to x. "
    "What b and c send to a comes too late: 120 + 20 = 140.",
    alternatives=("answer = 140", "answer = 30.0 * 4 + 20"),
    mistakes=(
        Mistake("the slope",
                "316 is the true slope. This engine does not wait: follow its queue and see what a has got "
                "when its turn comes.", "answer = 316.0"),
        Mistake("x stands still",
                "120 is what a sends to x. x has one more consumer, b, which adds 20: only a node that has "
                "already run ignores what comes late.", "answer = 120.0"),
        Mistake("depth first",
                "There are two ways to 80. Either you went all the way down along first arrows, e to d to c to b, "
                "but a queue takes the one that has waited longest. Or you used one arrow from a to x, and there are "
                "two.", "answer = 80.0"),
        Mistake("from b alone",
                "20 is what b sends to x. a leads to x as well, and it has run by then, if on too little.",
                "answer = 20.0"),
        Mistake("at a, in time",
                "30 is what a has got when its turn comes. It is multiplied on its way to x, and x has another "
                "consumer.",
                "answer = 30.0"),
        Mistake("at a, too late",
                "44 is what comes to a too late. The question is what x gets from what came in time.",
                "answer = 44.0"),
        Mistake("half of b",
                "b ran on the 4 from d alone. But c stands before b in the queue, and has sent its 16 by then.",
                "answer = 124.0"),
        Mistake("what is lost",
                "176 is what x misses, 44 times 4. The question is what it gets.", "answer = 176.0"),
        Mistake("lost at a",
                "44 never leaves a, that is right. But each 1 at a is worth 4 at x, for two arrows of slope 2 lead "
                "there.", "answer = 272.0"),
        Mistake("paths",
                "10 is the number of paths from e to x. The question is for the number at x.",
                "answer = 10.0"),
        Mistake("a itself",
                "74 is the gradient that a should have run on, 30 + 24 + 20. How much of it is there when a "
                "runs?", "answer = 74.0"),
    ),
    check=check_04_p2,
)  # fmt: skip


# --- 04.p3 -------------------------------------------------------------------------------------------------


def check_04_p3(answer, torch):
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return not_yet("Give a pair: calls of the walk, and runs of nodes.")
    h, runs = number(torch, 1.0), []
    h.register_hook(runs.append)
    for _ in range(10):
        h = h + h
        h.grad_fn.register_prehook(runs.append)
    h.backward()

    def calls(node):
        return 1 + sum(calls(to) for to, _ in node.next_functions)

    walked, ran = answer
    right = calls(h.grad_fn), len(runs)
    if (walked, ran) == right:
        return correct("2 to the power of 11, less 1, against 11: the engine's work grows with the graph.")
    if (ran, walked) == right:
        return almost("exchanged")
    of_calls = {1024: "ends only", 1023: "no leaf", 2046: "the first call", 2048: "a power of two", 21: "arrows",
                20: "arrows", 11: "nodes"}  # fmt: skip
    of_runs = {10: "the leaf's node", 12: "one run too many", 20: "two runs an addition", 21: "two runs an addition",
               2047: "the engine walks too", 1: "one run for all"}  # fmt: skip
    if walked == right[0]:
        return almost(of_runs[ran]) if ran in of_runs else not_yet(
            "The calls are right. How many nodes does the graph have? The engine runs each once.")  # fmt: skip
    if walked in of_calls and (ran == right[1] or (walked, ran) == (1023, 10)):
        return almost(of_calls[walked])
    if ran == right[1]:
        return not_yet("The runs are right. For the calls try n = 1 and n = 2 on paper, and count every call.")
    return not_yet("Neither number is right yet. Try n = 1 and n = 2 on paper: count every call, and every node.")


P3 = Exercise(
    id="04.p3", kind="predict", title="Ten doublings", minutes=3, difficulty=1,
    question="`h = x`, then ten times `h = h + h`. A function that calls itself along every arrow: how many "
    "calls in all? And how many nodes does the engine run?",
    name="answer", starter="answer = None",
    hints=(
        "One doubling: a call for the addition, and one for each of its two arrows to x. That is 3.",
        "Two doublings: a call for the last addition, and twice what one doubling costs.",
    ),
    solution="answer = (2047, 11)",
    why="Calls double with each level: 1 + 2 + 4 + … + 1024. The engine runs ten additions and one "
    "accumulator.",
    alternatives=("answer = [2**11 - 1, 11]",),
    mistakes=(
        Mistake("ends only",
                "1024 is the number of paths, so of calls that reach x. Every addition on the way is called "
                "as well, again and again.", "answer = (1024, 11)"),
        Mistake("no leaf",
                "1023 is the number of calls at additions. x has a node too, an AccumulateGrad, at the end of every "
                "path.", "answer = (1023, 10)"),
        Mistake("the first call",
                "2046 calls come from within the function, two for each addition. The first one, from outside, "
                "counts as well.", "answer = (2046, 11)"),
        Mistake("the leaf's node",
                "The calls are right. The engine runs one node more than the ten additions: that of the leaf.",
                "answer = (2047, 10)"),
        Mistake("one run too many",
                "The calls are right, and one run is too many. The name h = x makes no node, and the root is one of "
                "the "
                "ten additions.", "answer = (2047, 12)"),
        Mistake("two runs an addition",
                "The calls are right. You let each addition run for each of the two gradients that reach it; they are "
                "added first.", "answer = (2047, 20)"),
        Mistake("one run for all",
                "The calls are right. backward() is called once; inside, each node has its own run.",
                "answer = (2047, 1)"),
        Mistake("a power of two",
                "One too many: the levels of calls are 1 + 2 + 4 + …, and such a sum stays one below the next power.",
                "answer = (2048, 11)"),
        Mistake("exchanged", "Both numbers, the other way round: first the calls of the walk.", "answer = (11, 2047)"),
        Mistake("the engine walks too",
                "The calls are right. The engine adds up what arrives and runs each node once, however many "
                "paths lead there.", "answer = (2047, 2047)"),
        Mistake("arrows",
                "You followed each arrow once. The function does not remember where it has been: it is "
                "called anew for every path.", "answer = (21, 11)"),
        Mistake("nodes",
                "You counted nodes. The function does not remember where it has been: it comes to a node as "
                "often as there are paths to it.", "answer = (11, 11)"),
    ),
    check=check_04_p3,
)  # fmt: skip


# --- 04.1 --------------------------------------------------------------------------------------------------

PROGRAM = """\
a = w * x
b = a.exp()
c = a.sin()
d = c * x
e = -a
f = d + b
g = f * v
"""
USES = {"f": "g", "v": "g", "d": "f", "b": "f", "c": "d", "a": "bc", "x": "da", "w": "a"}  # node -> its consumers
WAITS = {"a": 2, "b": 1, "c": 1, "d": 1, "f": 1, "v": 1, "w": 1, "x": 2}
QUEUE = {"waits": WAITS, "order": "gvfdcbawx"}


def measured_queue(torch):
    """The order in which the nodes of PROGRAM really run, one letter for each."""
    names = {name: number(torch, random.uniform(0.5, 1.5)) for name in "wxv"}
    exec(PROGRAM, names)
    order = []
    for name in "abcdefg":
        names[name].grad_fn.register_prehook(lambda grads, name=name: order.append(name))
    for name in "wxv":
        names[name].register_hook(lambda grad, name=name: order.append(name))
    names["g"].backward()
    return "".join(order)


def check_04_1(answer, torch):
    if not isinstance(answer, dict) or not {"waits", "order"} <= set(answer):
        return not_yet('Keep the dictionary with the keys "waits" and "order".')
    waits, order = answer["waits"], answer["order"]
    if not isinstance(waits, dict) or any(type(waits.get(name)) is not int for name in WAITS):
        return not_yet("Put a whole number in the place of each None under \"waits\".")
    if isinstance(order, (list, tuple)) and all(isinstance(name, str) for name in order):
        order = "".join(order)
    if not isinstance(order, str) or not order.strip():
        return not_yet('Write the order as a text of letters, "g" first.')
    order = "".join(letter for letter in order.lower() if letter.isalpha())
    truth = measured_queue(torch)
    wrong = [name for name in WAITS if waits[name] != WAITS[name]]
    names = {("a", 3): "waits for ever", ("a", 1): "a waits once", ("x", 1): "x waits once"}
    named = {name: names[name, waits[name]] for name in wrong if (name, waits[name]) in names}
    if len(wrong) == 1 and not named:
        return not_yet(f"The count of {wrong[0]} is another one. Which lines behind g use it?")
    if wrong:
        return judged_rows(wrong, list(WAITS), named, "counts are right")
    if "e" in order:
        return almost("runs e")
    if len(set(order)) < len(order):
        return almost("twice")
    missing = sorted(set(truth) - set(order))
    if missing and set(missing) <= set("wxv"):
        return almost("leaves do not run")
    if missing:
        return not_yet(f"Every node behind g runs once, g's own and those of the three leaves included. Not in your "
                       f"order: {', '.join(missing)}.")
    if strange := sorted(set(order) - set(truth)):
        return not_yet(f"No node behind g is called {', '.join(strange)}.")
    early = [(node, use) for node, uses in USES.items() for use in uses if order.index(node) < order.index(use)]
    if order[::-1] == "g" + order[-2::-1] and early:
        return almost("forwards")
    if early and order.index("g"):
        return not_yet("A pass begins at g; from there everything else gets its gradient.")
    if any(node == "x" for node, _ in early):
        return almost("x before its time")
    if any(node == "a" for node, _ in early):
        return almost("before its time")
    if early:
        return not_yet("In your order {} runs before {} has run, which has to send it a gradient.".format(*early[0]))
    if order in (truth, truth[:-2] + truth[:-3:-1]):  # two accumulators that are ready together: either first
        return correct("you can run the queue in your head: counts first, then newest first, leaves at once.")
    if order.index("b") < order.index("d"):
        return almost("oldest first")
    if order.index("b") < order.index("c"):
        return almost("breadth first")
    if order.index("v") > order.index("f"):
        return almost("leaves last")
    return not_yet("Keep a list of the nodes that are ready, and cross out the newest each time.")


def queue_but(order=None, **waits):
    return f"queue = {dict(waits=WAITS | waits, order=order or QUEUE['order'])!r}"


EX1 = Exercise(
    id="04.1", kind="order the queue", title="Order the queue", minutes=7, difficulty=2, puzzles=(25,),
    question="A node is called by the letter of the tensor that it made, a leaf's accumulator by the leaf's. "
    f"For `g.backward()` give the counts and the order.\n\n```python\n{PROGRAM}```",
    name="queue",
    starter='queue = {\n    "waits": {"a": None, "b": None, "c": None, "d": None, "f": None, "v": None, '
    '"w": None, "x": None},\n    "order": "g",\n}',
    hints=(
        "First the walk: begin at g, and go only where arrows lead. Do you ever come to e?",
        "Then the loop: keep the list of ready nodes. A leaf goes at once; otherwise the letter furthest on "
        "in the alphabet.",
    ),
    solution=f"queue = {QUEUE!r}",
    why="Nothing leads from g to e, so a waits for b and c only. v is complete as soon as g has run. Then "
    "always the newest: f, d, c, and b only when c and d have gone.",
    alternatives=(queue_but(order="gvfdcbaxw"), queue_but(order=list("gvfdcbawx"), e=0)),
    mistakes=(
        Mistake("waits for ever",
                "You let a wait for e. Nothing behind g leads to e, so it never runs and never delivers: a "
                "would wait for ever, and so would w and x.", queue_but(a=3)),
        Mistake("runs e",
                "e was computed from a, but g was not computed from e. A pass starts at g and never gets "
                "there.", queue_but(order="gvfedcbawx")),
        Mistake("x waits once",
                "x is used in two lines behind g, so two gradients are on their way to it.", queue_but(x=1)),
        Mistake("a waits once",
                "b and c are both computed from a, and both are behind g.", queue_but(a=1)),
        Mistake("leaves do not run",
                "A leaf has a node, too: an accumulator. It waits for its gradients and runs, so that .grad gets its "
                "sum.",
                queue_but(order="gvfdcba")),
        Mistake("forwards",
                "That is the way in which the results were made. A pass begins at g, the result, and goes back.",
                queue_but(order="wxabcdfvg")),
        Mistake("twice",
                "A node that two arrows reach is run once, on the sum. Your order has one letter twice.",
                queue_but(order="gvfdcabawx")),
        Mistake("before its time",
                "In your order a runs before both b and c have delivered. Its count is not yet at 0 then.",
                queue_but(order="gvfdcabwx")),
        Mistake("x before its time",
                "x has two consumers behind g, d and a. In your order its accumulator runs before both have sent it "
                "something; at once means as soon as its count is 0.", queue_but(order="gvfdxcbaw")),
        Mistake("oldest first",
                "When f has run, d and b are both ready. You took the older one; the one made last goes "
                "first.", queue_but(order="gvfbdcawx")),
        Mistake("breadth first",
                "When d has run, b and c are both ready. c was made later, so it goes before b, though b has "
                "waited longer.", queue_but(order="gvfdbcawx")),
        Mistake("leaves last",
                "v is complete when g has run, and an accumulator goes before all other nodes.",
                queue_but(order="gfdcbavwx")),
    ),
    check=check_04_1,
)  # fmt: skip


# --- 04.2 --------------------------------------------------------------------------------------------------

PROGRAMS = {
    "A": "h = x * x\nlog = h.exp()\ny = h * 3",
    "B": "y = x\nfor _ in range(5000): y = y + x",
    "C": "y = x\nfor _ in range(60): y = (y + y) * 0.5",
    "D": "h = x * x\ny = h * h.item()",
    "E": "limits = torch.tensor([1.0, 3.0])\ny = x * 3 if x > limits else x",
    "F": "h = x * x\ny = h + x\nh = h * 100",
    "G": "y = x * torch.tensor([1.0, 2.0])",
    "H": "h = x * x\nwhile h < 50: h = h * x\ny = h",
}
SLOPES = {"A": 12.0, "B": 5001.0, "C": 1.0, "D": 32.0, "E": 1.0, "F": 5.0, "G": 3.0, "H": 192.0}
HAPPENS = {
    "A": "fine", "B": "fine", "C": "fine", "D": "silently wrong",
    "E": "raises now", "F": "fine", "G": "raises at backward", "H": "fine",
}  # fmt: skip
WRONG_HAPPENS = {
    ("A", "raises at backward"): "log starves",
    ("A", "silently wrong"): "log starves",
    ("B", "raises at backward"): "recursion",
    ("B", "raises now"): "long loops are fine",
    ("B", "silently wrong"): "every addition counts",
    ("C", "raises at backward"): "paths",
    ("C", "silently wrong"): "paths",
    ("D", "fine"): "item is recorded",
    ("D", "raises at backward"): "item breaks",
    ("D", "raises now"): "item may be called",
    ("E", "fine"): "a list of answers",
    ("E", "silently wrong"): "a list of answers",
    ("E", "raises at backward"): "if waits",
    ("F", "silently wrong"): "names",
    ("F", "raises at backward"): "names",
    ("G", "fine"): "which of the two",
    ("G", "silently wrong"): "which of the two",
    ("G", "raises now"): "two may be computed",
    ("H", "raises now"): "a comparison",
    ("H", "silently wrong"): "while",
    ("H", "raises at backward"): "while",
}


def what_happens(program, slope, torch):
    """Run a program at x = 2, then backward, and say which of the four outcomes it has."""
    x = torch.tensor(2.0, requires_grad=True)
    return happens((program, "y.backward()"), {"torch": torch, "x": x}, lambda space: near(x.grad.item(), slope))


def check_04_2(answer, torch):
    def measure(letter):
        return what_happens(PROGRAMS[letter], SLOPES[letter], torch)

    return check_table(
        answer, PROGRAMS, measure, WRONG_HAPPENS,
        shown="you know what the engine takes in its stride, and the one thing here that it cannot see.",
    )


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX2 = Exercise(
    id="04.2", kind="which happens", title="Which happens?", minutes=6, difficulty=2, puzzles=(25,),
    question="Each program at `x = torch.tensor(2.0, requires_grad=True)`, then `y.backward()`: fine, raises "
    "now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{'; '.join(program.splitlines())}`" for letter, program in PROGRAMS.items()),
    name="happens",
    starter="happens = {" + ", ".join(f'"{letter}": None' for letter in PROGRAMS) + "}",
    hints=(
        "Three questions: can the line itself run? Is y one element? Is every use of x on a path of arrows?",
        "Depth, paths and unused results trouble broken engines. Do they trouble one with counts?",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="D multiplies by a plain number, so half of the slope of x⁴ is not on any arrow. E asks an if for one "
    "answer and has two. G has two elements, and backward wants to start from one. The others are ordinary "
    "graphs: unused, deep, full of paths, or shaped by a loop.",
    alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",),
    mistakes=(
        Mistake("log starves",
                "A: log also uses h, but y does not come from log. The pass counts what is behind y, so h "
                "waits for one consumer.", happens_but("A", "raises at backward")),
        Mistake("recursion",
                "B: 5000 nodes in a row would be too deep for a function that calls itself. The engine is a "
                "loop over a queue.", happens_but("B", "raises at backward")),
        Mistake("every addition counts",
                "B: x is added 5000 times to itself, and 5001 gradients of 1 come back. Each is an arrow to one "
                "accumulator, "
                "which waits for them all.", happens_but("B", "silently wrong")),
        Mistake("long loops are fine",
                "B: the loop adds 5000 times, one ordinary line after the other. Nothing in it is deep.",
                happens_but("B", "raises now")),
        Mistake("item may be called",
                "D: .item() may be called on any tensor of one element. What it gives is the matter.",
                happens_but("D", "raises now")),
        Mistake("a comparison",
                "H: h has one element, so h < 50 is one answer, and while may ask for it.",
                happens_but("H", "raises now")),
        Mistake("paths",
                "C: there are 2 to the power of 60 paths, but only 120 nodes and one leaf. Nobody walks the "
                "paths.", happens_but("C", "raises at backward")),
        Mistake("item is recorded",
                "D: h.item() is a plain Python number; no arrow leads back from it. The product's slope for "
                "that factor is missing: 16 arrives where x⁴ has 32.", happens_but("D", "fine")),
        Mistake("item breaks",
                "D: something is left to differentiate, h times a constant. So nothing raises.",
                happens_but("D", "raises at backward")),
        Mistake("a list of answers",
                "E: the comparison has two elements, one true and one false. Which way should an if go?",
                happens_but("E", "fine")),
        Mistake("if waits",
                "E: an if is decided while the forward pass runs; nothing of it is left for backward. So the "
                "line itself must fail.", happens_but("E", "raises at backward")),
        Mistake("names",
                "F: the last line moves the name h to a new tensor. y's arrows lead to nodes, not to names, "
                "and still end where they did.", happens_but("F", "silently wrong")),
        Mistake("which of the two",
                "G: y has two elements, and backward without an argument starts from one.",
                happens_but("G", "fine")),
        Mistake("two may be computed",
                "G: a result of two elements is nothing special; this line runs. What cannot start from it comes "
                "later.", happens_but("G", "raises now")),
        Mistake("while",
                "H: the loop runs until h is 64, which leaves the nodes of x⁶. However a node came to be "
                "made, it is a node like any other.", happens_but("H", "silently wrong")),
    ),
    check=check_04_2,
)  # fmt: skip


# --- 04.3 --------------------------------------------------------------------------------------------------


def at(answer, graph, root, node):
    """What a learner's toy engine reports for one node; None when it reports nothing for it."""
    grads = answer(guarded(graph), root)
    return grads.get(node) if isinstance(grads, dict) else None


EQUAL = {"y": [("x", 2.0), ("x", 2.0)], "x": []}  # as x * x leaves it
NOUGHT = {"y": [("p", 0.0), ("x", 2.0)], "p": [("x", 3.0)], "x": []}
ALONE = {"x": []}  # what x.backward() works on
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


def check_04_3(answer, torch):
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


def without_nothing(graph):
    """A toy graph without its edges to nothing."""
    return {node: [edge for edge in edges if edge[0] is not None] for node, edges in graph.items()}


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

EX3 = Exercise(
    id="04.3", kind="repair", title="Repair the walker of paths", minutes=10, difficulty=2,
    question="The engine is right and walks every path. Make it look at each node's arrows a few times at "
    "most, without recursion, and with the same numbers for all nodes. In your own words: the lesson's engine as it "
    "stands does not count.",
    name="backward", starter=STARTER_3,
    hints=(
        "What must be true of a node before it may send anything on? How can you know, without walking?",
        "A first loop over the graph can count the arrows that lead to each node. A second loop delivers, and "
        "counts down.",
    ),
    solution=COUNTED,
    why="The counts say when a node's sum is complete. Then it sends once, so every arrow is used once, "
    "however many paths run over it; and a list takes the place of the calls.",
    alternatives=(
        # a topological order first, by a depth-first walk with its own stack
        "def backward(graph, root):\n"
        "    order, done, stack = [], set(), [(root, False)]\n"
        "    while stack:\n"
        "        node, finished = stack.pop()\n"
        "        if finished:\n"
        "            order.append(node)\n"
        "        elif node not in done:\n"
        "            done.add(node)\n"
        "            stack.append((node, True))\n"
        "            stack += [(to, False) for to, slope in graph[node]]\n"
        "    grads = dict.fromkeys(order, 0.0)\n"
        "    grads[root] = 1.0\n"
        "    for node in reversed(order):\n"
        "        for to, slope in graph[node]:\n"
        "            grads[to] += slope * grads[node]\n"
        "    return grads\n",
        # buffers apart from results
        COUNTED.replace("ready.pop()", "ready.pop(0)").replace("waits[to] == 0", "not waits[to]"),
        # each node collects from its consumers, as soon as they are done
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
        # found and counted as in the lesson's cell
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
        Mistake("every path",
                "The numbers are right, and the recursion may be gone, but every path is still walked: on 30 "
                "doublings the accumulator would be reached a billion times.",
                "def backward(graph, root):\n"
                "    grads, todo = {}, [(root, 1.0)]\n"
                "    while todo:\n"
                "        node, grad = todo.pop()\n"
                "        grads[node] = grads.get(node, 0.0) + grad\n"
                "        todo += [(to, slope * grad) for to, slope in graph[node]]\n"
                "    return grads\n"),
        Mistake("hasty",
                "No topological order: some node sends before all its gradients have arrived, and what comes later is "
                "lost. On the five lines of the lesson that is less than 316.",
                STARTER_3.replace("        grads[node] =", "        first = node not in grads\n"
                                  "        grads[node] =")
                .replace("        for to", "        for to").replace("in graph[node]:",
                                                                     "in graph[node] if first else []:")),
        Mistake("sent again",
                "Some gradients are counted twice: a node that gets more sends its whole sum again, although "
                "a part of it has been sent before.",
                STARTER_3.replace("visit(to, slope * grad)", "visit(to, slope * grads[node])")),
        Mistake("zeros dropped",
                "A node whose gradient is 0 is missing from your dictionary. The walker reports it, with its 0: a "
                "slope of 0 is a slope, too.",
                COUNTED.replace("return grads", "return {node: grad for node, grad in grads.items() if grad}")),
        Mistake("sent twice",
                "The lesson's graph comes out right, but four times h = h + h gives more than 16. There each "
                "node uses the next one twice: two gradients arrive, and one run must send their sum.",
                COUNTED.replace("in edges:", "in set(edges):").replace("== 0", "<= 0")),
        Mistake("the first way",
                "Your nodes run in the order in which the first way to each was found. When a short way and a long one "
                "lead to a node, and the short one is found first, it runs before the long one has delivered. The "
                "lesson's graph lists its long ways first; that is luck.",
                "def backward(graph, root):\n"
                "    order, todo = [], [root]\n"
                "    while todo:\n"
                "        node = todo.pop()\n"
                "        if node not in order:\n"
                "            order.append(node)\n"
                "            todo += [to for to, slope in reversed(graph[node])]\n"
                "    grads = dict.fromkeys(order, 0.0)\n"
                "    grads[root] = 1.0\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            grads[to] += slope * grads[node]\n"
                "    return grads\n"),
        Mistake("sent in parts",
                "The numbers are right, and no path is walked by itself. But a node sends on each part of its gradient "
                "as it comes, once for each length of way that leads there: in forty times h + h * 0.5 its arrows are "
                "looked at up to forty times. Wait for all parts, and send their sum.",
                "def backward(graph, root):\n"
                "    grads, parts = dict.fromkeys(graph, 0.0), {root: 1.0}\n"
                "    while parts:\n"
                "        sent = {}\n"
                "        for node, part in parts.items():\n"
                "            grads[node] += part\n"
                "            for to, slope in graph[node]:\n"
                "                sent[to] = sent.get(to, 0.0) + slope * part\n"
                "        parts = sent\n"
                "    return grads\n"),
        Mistake("pasted",
                "That is the lesson's engine as it stands. It is right, and it is not yours: write it without "
                "looking, or "
                "find an order without counts.", PATIENT),
        Mistake("equal arrows",
                "Two equal arrows count twice: for x * x at 2, the node sends the same number twice. A set keeps one "
                "of "
                "them.", COUNTED.replace("def backward(graph, root):\n", "def backward(graph, root):\n    graph = "
                                         "{node: list(set(edges)) for node, edges in graph.items()}\n")),
        Mistake("looks too often",
                "The arrows of the whole graph are looked at again and again, more than ten times each in a small "
                "graph. "
                "Once it is known how many gradients each node waits for, a few looks are enough.",
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
        Mistake("two arrows as one",
                "A node that uses another twice, as x * x does, sends two gradients. You wait for one from each "
                "consumer, and a node that is used so can run before the others have delivered.",
                COUNTED.replace("for to, slope in edges:", "for to in {to for to, slope in edges}:")),
        Mistake("nodes missing",
                "What is in your dictionary is right, but nodes are missing from it. The walker reports a gradient "
                "for each, root and results included.",
                COUNTED.replace("return grads", "return {node: grads[node] for node in grads if not graph[node]}")),
        Mistake("guard: changed a container",
                "The numbers are right, but the graph that you were given is no longer what it was. A second pass "
                "would find nothing to walk.",
                COUNTED.replace("in graph[node]:", "in graph.pop(node):")),
        Mistake("guard: left a setting",
                "You raised Python's recursion limit. That changes it for the whole program, and the next chain is "
                "longer: a list of what is to be done next has no limit.",
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
        Mistake("overwritten",
                "Where two arrows meet, one of the two gradients is lost. They must be added: x * x has the slope 2x, "
                "not x.",
                COUNTED.replace("grads.get(to, 0.0) + slope", "slope")),
        Mistake("as written down",
                "You go through the nodes in the order in which the dictionary lists them. That happens to be "
                "a good order for the lesson's graph; list the nodes the other way round and it fails.",
                "def backward(graph, root):\n"
                "    grads = dict.fromkeys(graph, 0.0)\n"
                "    grads[root] = 1.0\n"
                "    for node in graph:\n"
                "        for to, slope in graph[node]:\n"
                "            grads[to] += slope * grads[node]\n"
                "    return grads\n"),
        Mistake("too deep",
                "Each node once, and all numbers right. But a function that calls itself for each node on the "
                "way ends with a RecursionError on a chain of some thousands.",
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
    check=check_04_3,
)  # fmt: skip


# --- 04.4 --------------------------------------------------------------------------------------------------


def after(answer, graph, root, stored, passes=1):
    """The dictionary of leaf gradients after some passes of a learner's engine."""
    for _ in range(passes):
        answer({node: list(edges) for node, edges in graph.items()}, consumers_first(graph, root), stored)
    return stored


def check_04_4(answer, torch):
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

EX4 = Exercise(
    id="04.4", kind="repair", title="Repair the second pass", minutes=6, difficulty=2,
    question="One dictionary serves as buffer and as .grad. Make every pass add the right gradient to each "
    "leaf's entry, and keep everything else out of it.",
    name="backward", starter=STARTER_4,
    hints=(
        "After one pass, print the dictionary. Which of its entries does the second pass start from, and "
        "which should it start from?",
        "Two things with different lives need two dictionaries: one made anew in each call.",
    ),
    solution=BUFFERED,
    why="The buffer of a node begins empty in every pass and is used up by it. What outlives a pass is the "
    "sum in the leaf's entry, and that is added to.",
    alternatives=(
        "def backward(graph, order, grad):\n"
        "    buffers = dict.fromkeys(order, 0.0)\n"
        "    buffers[order[0]] = 1.0\n"
        "    for node in order:\n"
        "        for to, slope in graph[node]:\n"
        "            buffers[to] += slope * buffers[node]\n"
        "    for node in order:\n"
        "        if graph[node] == []:\n"
        "            grad.setdefault(node, 0.0)\n"
        "            grad[node] += buffers[node]\n",
        "def backward(graph, order, grad):\n"
        "    buffers = {order[0]: 1.0}\n"
        "    for node in order:\n"
        "        arrived = buffers.pop(node)\n"
        "        if len(graph[node]) == 0:\n"
        "            grad[node] = arrived + grad.get(node, 0.0)\n"
        "        for to, slope in graph[node]:\n"
        "            buffers[to] = buffers.get(to, 0.0) + slope * arrived\n",
    ),
    mistakes=(
        Mistake("survivors",
                "The second pass is wrong: it began with what the first had left in the entries of the results. A "
                "result's gradient must not survive its pass.",
                STARTER_4 + "\n    del grad[order[0]]"),
        Mistake("counted again",
                "The second pass is too large: its buffers began with what was stored, so the leaf's entry is added "
                "to itself. Buffers begin empty.",
                BUFFERED.replace("buffers = {order[0]: 1.0}", "buffers = grad | {order[0]: 1.0}")),
        Mistake("a root that is a leaf",
                "If the root itself is a leaf, as for x.backward(), its gradient is the 1 that the pass starts with, "
                "and "
                "its entry should gain that. After two passes yours is missing or is not 2.",
                "def backward(graph, order, grad):\n"
                "    buffers = {order[0]: 1.0}\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            if graph[to]:\n"
                "                buffers[to] = buffers.get(to, 0.0) + slope * buffers[node]\n"
                "            else:\n"
                "                grad[to] = grad.get(to, 0.0) + slope * buffers[node]\n"),
        Mistake("not every leaf",
                "A graph may have several leaves, by any name. Some of those behind the root get nothing from your "
                "engine.",
                "def backward(graph, order, grad):\n"
                "    buffers = {order[0]: 1.0}\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            buffers[to] = buffers.get(to, 0.0) + slope * buffers[node]\n"
                "    leaf = order[-1]\n"
                "    grad[leaf] = grad.get(leaf, 0.0) + buffers[leaf]\n"),
        Mistake("no entry made",
                "An entry that is there gets its gradient. Where there is none, as before the first pass, none is "
                "made.",
                BUFFERED.replace("if not graph[node]:", "if not graph[node] and node in grad:")),
        Mistake("guard: changed a container",
                "The next pass is given the same two, and would find nothing to do.",
                BUFFERED.replace("    for node in order:\n", "    while order:\n        node = order.pop(0)\n")),
        Mistake("zeros dropped",
                "A leaf behind the root whose gradient comes to 0 gets no entry. It was reached, and 0 arrived: "
                "0 is a gradient, a missing entry is none.",
                BUFFERED.replace("if not graph[node]:", "if not graph[node] and buffers[node]:")),
        Mistake("never reached",
                "A leaf that is not behind this root has got an entry. Nothing arrived there: its entry should be "
                "missing, as a .grad stays None.",
                BUFFERED.replace("        if not graph[node]:\n            grad[node] = grad.get(node, 0.0) + "
                                 "buffers[node]\n",
                                 "    for node in graph:\n        if not graph[node]:\n            grad[node] = "
                                 "grad.get(node, 0.0) + buffers.get(node, 0.0)\n")),
        Mistake("overwritten between passes",
                "The second pass leaves what the first had left: the leaf's entry was replaced. Passes add "
                "up, so that a batch can be cut in parts.",
                BUFFERED.replace("grad.get(node, 0.0) + buffers[node]", "buffers[node]")),
        Mistake("overwritten inside a pass",
                "Within one pass, where two arrows meet, one of the two gradients is lost: x * x gets half its slope.",
                BUFFERED.replace("buffers.get(to, 0.0) + slope", "slope")),
        Mistake("added too often",
                "The leaf's entry is given the running total at each arrival, so that early gradients count "
                "again with every later one. Add once, when the sum is complete.",
                "def backward(graph, order, grad):\n"
                "    buffers = {order[0]: 1.0}\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            buffers[to] = buffers.get(to, 0.0) + slope * buffers[node]\n"
                "            if not graph[to]:\n"
                "                grad[to] = grad.get(to, 0.0) + buffers[to]\n"),
        Mistake("stored results",
                "Every number is right, and the dictionary holds an entry for every result as well. For a "
                "network that is a gradient for each activation, kept for nobody.",
                "def backward(graph, order, grad):\n"
                "    for node in order:\n"
                "        if graph[node]:\n"
                "            grad[node] = 0.0\n"
                "    grad[order[0]] = 1.0\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            grad[to] = grad.get(to, 0.0) + slope * grad[node]\n"),
        Mistake("cleared for all",
                "The leaves behind this root are right, but the entry of another leaf, which this pass never "
                "reaches, has been lost.",
                "def backward(graph, order, grad):\n"
                "    old = {node: grad.get(node, 0.0) for node in order if not graph[node]}\n"
                "    grad.clear()\n"
                "    buffers = {order[0]: 1.0}\n"
                "    for node in order:\n"
                "        for to, slope in graph[node]:\n"
                "            buffers[to] = buffers.get(to, 0.0) + slope * buffers[node]\n"
                "    for node in old:\n"
                "        grad[node] = old[node] + buffers[node]\n"),
        Mistake("another dictionary",
                "The caller's dictionary is as empty as before. Neither return nor grad = … reaches it: write "
                "into the dictionary that you were given.",
                STARTER_4.replace("    grad[order[0]] = 1.0", "    grad = {order[0]: 1.0}")),
    ),
    may_change=("grad",),
    check=check_04_4,
)  # fmt: skip


# --- 04.5 --------------------------------------------------------------------------------------------------


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


def arrivals(graph, nodes):
    """How many edges of these nodes lead to each node."""
    return Counter(to for node in nodes for to, _ in graph[node] if to is not None)


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
    """How often a walk of all paths comes to each node."""
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
    """What is wrong with a learner's counts for one graph: a verdict, or None."""
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
    """What to say when a small graph is looked at very often: is every path walked, or is it only slow?"""
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


def check_04_5(answer, torch):
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

EX5 = Exercise(
    id="04.5", kind="repair", title="Feed the starving queue", minutes=6, difficulty=2, puzzles=(25,),
    question="count(graph, root) counts arrows that will never deliver: those of nodes that are not behind the "
    "root, and those to nothing, whose place holds None. Count the others only, without recursion: graphs are deep.",
    name="count", starter=STARTER_5,
    hints=(
        "Which nodes will run at all? Start at the root and go where arrows lead.",
        "A list that grows while you loop over it makes a walk. A node joins it once; an arrow counts every "
        "time.",
    ),
    solution=WALKED,
    why="Only nodes that the walk from the root meets will run, so only their arrows are counted: each node "
    "walked over once, each arrow counted once. Two arrows to the same node are two deliveries.",
    alternatives=(
        "def count(graph, root):\n"
        "    found, todo = {root}, [root]\n"
        "    while todo:\n"
        "        for to, _ in graph[todo.pop()]:\n"
        "            if to is not None and to not in found:\n"
        "                found.add(to)\n"
        "                todo.append(to)\n"
        "    waits = dict.fromkeys(found, 0)\n"
        "    for node in found:\n"
        "        for to, _ in graph[node]:\n"
        "            if to is not None:\n"
        "                waits[to] += 1\n"
        "    return waits\n",
        WALKED.replace("if to is not None:", "if to:"),
        # what the root leads to, in rounds
        "def count(graph, root):\n"
        "    reached, new = set(), {root}\n"
        "    while new:\n"
        "        reached |= new\n"
        "        new = {to for node in new for to, _ in graph[node] if to is not None} - reached\n"
        "    waits = dict.fromkeys(graph, 0)\n"
        "    for node in reached:\n"
        "        for to, _ in graph[node]:\n"
        "            if to is not None:\n"
        "                waits[to] += 1\n"
        "    return waits\n",
    ),
    mistakes=(
        Mistake("still starving",
                "Nodes that are not behind the root still count. They never run, so whoever waits for them "
                "waits for ever.",
                STARTER_5.replace("for to, _ in graph[node]:", "for to, _ in graph[node]:\n"
                                  "            if to is None:\n                continue")),
        Mistake("by name",
                "It works for the lesson's extra consumer because you look for its name. Any node may be "
                "outside: ask whether the root leads there.",
                STARTER_5.replace("for node in graph:", 'for node in set(graph) - {"log"}:')
                .replace("            waits[to] =", "            if to is not None:\n"
                         "                waits[to] =")),
        Mistake("too deep",
                "The counts are right. But a function that calls itself for each node on the way ends with a "
                "RecursionError on a chain of some thousands.",
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
        Mistake("paths walked",
                "Each arrow is counted once, as it should be. But you walk into a node again each time an arrow leads "
                "there: with 30 doublings that is a billion times.",
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
        Mistake("not used",
                "You leave out nodes that no other node uses. In the second graph of the check, norm is used, by "
                "trace; but neither of them is behind the root. Ask whether the root leads there.",
                "def count(graph, root):\n"
                "    used = {to for edges in graph.values() for to, _ in edges}\n"
                "    waits = {}\n"
                "    for node in graph:\n"
                "        if node == root or node in used:\n"
                "            for to, _ in graph[node]:\n"
                "                if to is not None:\n"
                "                    waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("the wrong end",
                "You counted the arrows that leave a node. It waits for those that arrive.",
                WALKED.replace("    return waits", "    return {node: sum(to is not None for to, _ in graph[node]) "
                               "for node in todo}")),
        Mistake("stops at nothing",
                "At an arrow to nothing you leave the node, and the arrows after it are not counted. With c * x and a "
                "plain c, the arrow to nothing is the first.",
                "def count(graph, root):\n"
                "    waits, todo = {}, [root]\n"
                "    for node in todo:\n"
                "        for to, _ in graph[node]:\n"
                "            if to is None:\n"
                "                break\n"
                "            waits[to] = waits.get(to, 0) + 1\n"
                "            if to not in todo:\n"
                "                todo.append(to)\n"
                "    return waits\n"),
        Mistake("as listed",
                "You go through the dictionary once, as it is listed. A node that stands before the one that leads to "
                "it is missed: walk along the arrows instead.",
                "def count(graph, root):\n"
                "    waits, found = {}, {root}\n"
                "    for node in graph:\n"
                "        if node in found:\n"
                "            for to, _ in graph[node]:\n"
                "                if to is not None:\n"
                "                    found.add(to)\n"
                "                    waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("guard: changed a container",
                "An arrow to nothing keeps the place of an operand, and the pass that comes after the counting needs "
                "the "
                "graph as it was.",
                "def count(graph, root):\n"
                "    for node in graph:\n"
                "        graph[node] = [arrow for arrow in graph[node] if arrow[0] is not None]\n"
                + WALKED.split("\n", 1)[1].replace("            if to is not None:\n", "            if True:\n")),
        Mistake("edges to nothing",
                "None has a count in your dictionary. An arrow to nothing is there to keep the place of an "
                "operand; nothing waits at its end.",
                "def count(graph, root):\n"
                "    waits, todo = {root: 0}, [root]\n"
                "    for node in todo:\n"
                "        for to, _ in graph.get(node, []):\n"
                "            if to not in waits:\n"
                "                todo.append(to)\n"
                "            waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("paths counted",
                "You walk into a node again each time an arrow leads there, and so count paths. Each arrow "
                "delivers once; the counts are too large, and the queue starves again.",
                "def count(graph, root):\n"
                "    waits, todo = {root: 0}, [root]\n"
                "    for node in todo:\n"
                "        for to, _ in graph[node]:\n"
                "            if to is not None:\n"
                "                todo.append(to)\n"
                "                waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("one for each",
                "Every node waits for a single gradient, so it runs on the first that arrives. That is the "
                "hasty engine again.",
                WALKED.replace("waits.get(to, 0) + 1", "1")),
        Mistake("slopes of zero",
                "An arrow whose slope is 0 is left out. A 0 is sent along it all the same, and whoever does not wait "
                "for it counts wrong.",
                WALKED.replace("for to, _", "for to, slope").replace("to is not None", "to is not None and slope")),
        Mistake("two arrows as one",
                "A node that uses another twice, as x * x does, sends two gradients. You count the pair as "
                "one, and the node runs when half has come.",
                "def count(graph, root):\n"
                "    waits, todo = {root: 0}, [root]\n"
                "    for node in todo:\n"
                "        for to in {to for to, _ in graph[node] if to is not None}:\n"
                "            if to not in waits:\n"
                "                todo.append(to)\n"
                "            waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
        Mistake("one step",
                "You count the arrows of the root and stop there. What it leads to leads further.",
                "def count(graph, root):\n"
                "    waits = {}\n"
                "    for to, _ in graph[root]:\n"
                "        if to is not None:\n"
                "            waits[to] = waits.get(to, 0) + 1\n"
                "    return waits\n"),
    ),
    check=check_04_5,
)  # fmt: skip


# --- 04.6 --------------------------------------------------------------------------------------------------


def overwriting(graph, root):
    """A broken engine: where two edges meet, the later gradient replaces the earlier."""
    grads = {root: 1.0}
    for node in consumers_first(graph, root):
        for to, slope in graph[node]:
            if to is not None:
                grads[to] = slope * grads[node]
    return grads


def surviving(graph, root):
    """A broken engine after its second pass: buffers and .grad are one dictionary."""
    grads = {}
    for _ in range(2):
        grads[root] = 1.0
        for node in consumers_first(graph, root):
            for to, slope in graph[node]:
                if to is not None:
                    grads[to] = grads.get(to, 0.0) + slope * grads[node]
    return grads


def paths_from(graph, root):
    """How often an engine that walks paths visits nodes."""
    visits = dict.fromkeys(graph, 0) | {root: 1}
    for node in consumers_first(graph, root):
        for to, _ in graph[node]:
            if to is not None:
                visits[to] += visits[node]
    return sum(visits.values())


def differ(found, right):
    """Does an engine report another gradient than the right one, for any node?"""
    return any(not near(found.get(node), grad) for node, grad in right.items())


MOST_NODES, MANY_VISITS = 40, 1000


def check_04_6(answer, torch):
    x = number(torch, 0.9)
    y = answer(torch, x)
    if not isinstance(y, torch.Tensor) or y.grad_fn is None or y.numel() != 1:
        return not_yet("Return a tensor of one element that was computed from x.")
    try:
        graph, root, leaves = read(torch, y)
    except TypeError:
        return not_yet("This graph has a node that the check cannot call with one gradient: one with several "
                       "results, as of unbind or split, or one of your own. Use simple arithmetic on x.")  # fmt: skip
    found = [name for name, leaf in leaves.items() if leaf is x]
    if not found:
        return not_yet("Nothing leads from the result back to x.")
    if len(graph) > MOST_NODES:
        return almost("too large")
    y.backward()
    name, truth = found[0], x.grad.item()
    if not near(gradients(graph, root)[name], truth):
        return not_yet("This graph has something that plain numbers do not show. Use simple arithmetic on x.")
    if not math.isfinite(truth) or abs(truth) < 1e-6:
        return almost("nothing to see")
    right = gradients(graph, root)
    if near(surviving(graph, root)[name], 2 * truth):
        return almost("survivors slip through")
    if not differ(overwriting(graph, root), right):
        several = any(times > 1 for times in arrivals(graph, graph).values())
        if several:
            return not_yet("Some node gets two gradients, and an engine that keeps only the last is right all the "
                "same: "
                           "what it loses are zeros.")  # fmt: skip
        return almost("overwriting slips through")
    if not differ(hasty(graph, root), right):
        turned = {node: edges[::-1] for node, edges in graph.items()}
        caught = differ(hasty(turned, root), right)
        return almost("haste slips through, the long way first" if caught else "haste slips through")
    if paths_from(graph, root) < MANY_VISITS:
        return almost("paths slip through")
    return correct("one small program that five broken engines fail, each in its own way.")


STARTER_6 = """\
def probe(torch, x):
    y = x * 3
    return y"""

EX6 = Exercise(
    id="04.6", kind="diagnose", title="Write the test they fail", minutes=10, difficulty=3,
    question="Return a one-element result, computed from x by at most 40 nodes, on which five broken engines "
    "all differ from the right one.",
    name="probe", starter=STARTER_6,
    hints=(
        "One engine at a time: which shape of graph does it get wrong? Which of these shapes can be one?",
        "Haste needs a node between the result and x that one short way and one long way lead to; the short one "
        "first. A loop can make such a shape again and again.",
    ),
    solution="def probe(torch, x):\n"
    "    y = x\n"
    "    for _ in range(10):\n"
    "        y = y + y * 0.5\n"
    "    return y\n",
    why="Each turn of the loop reaches the last y twice: directly, and through a product. Two arrivals catch "
    "overwriting, unequal lengths catch haste, ten turns catch the walker, results in between catch "
    "survivors; and any second pass catches a leaf that is overwritten.",
    alternatives=(
        "def probe(torch, x):\n"
        "    y = x\n"
        "    for _ in range(12):\n"
        "        y = y.sin() * 0.1 + y\n"
        "    return y\n",
        # an even number of minus signs: overwriting gets x right, and every second result on the way wrong
        "def probe(torch, x):\n    y = x\n    for _ in range(12):\n        y = y - y * 0.5\n    return y\n",
        "def probe(torch, x):\n    y = x\n    for _ in range(11):\n        y = y - y * 0.5\n    return y\n",
        "def probe(torch, x):\n"
        "    a = x * x\n"
        "    b = a + x\n"
        "    c = b * a\n"
        "    d = c + b\n"
        "    e = d * a\n"
        "    for _ in range(8):\n"
        "        e = e + e\n"
        "    return e * 0.001\n",
    ),
    mistakes=(
        Mistake("overwriting slips through",
                "No node of your graph gets two gradients, so an engine that overwrites inside a pass gives "
                "the right number. It passes every test made of chains.",
                "def probe(torch, x):\n    return (x * 3).sin().exp()\n"),
        Mistake("haste slips through",
                "The hasty engine gets your graph right: whenever a node sends something on, its whole sum happens to "
                "be there. (What comes late to x does no harm, for x sends nothing on.)",
                "def probe(torch, x):\n    y = x\n    for _ in range(10):\n        y = y + y\n    return y\n"),
        Mistake("haste slips through, the long way first",
                "A short way and a long one lead to your nodes, and the long one stands first, as in y * 2 + y. So it "
                "comes first into the hasty queue, and has delivered when the turn of y comes.",
                "def probe(torch, x):\n    y = x\n    for _ in range(10):\n        y = y * 2 + y\n    return y\n"),
        Mistake("guard: changed a .grad",
                "Leave the passes to the check: it runs each engine over the graph that you return.",
                "def probe(torch, x):\n    y = x\n    for _ in range(10):\n        y = y + y * 0.5\n"
                "    y.backward(retain_graph=True)\n    return y\n"),
        Mistake("paths slip through",
                "Every number that should differ does. But there are so few paths that walking them all "
                f"visits fewer than {MANY_VISITS} nodes, and nobody would notice the walker.",
                "def probe(torch, x):\n    a = x * x\n    b = a + x\n    c = b * a\n    return (c + b) * a\n"),
        Mistake("survivors slip through",
                "Nothing lies between your result and x: no intermediate gradient can survive a pass, so "
                "buffers and .grad in one dictionary go unnoticed.",
                "def probe(torch, x):\n    return x * x\n"),
        Mistake("too large",
                f"All are caught, perhaps, with more than {MOST_NODES} nodes. A test should be small enough to be "
                "checked by hand.",
                "def probe(torch, x):\n    y = x\n    for _ in range(30):\n        y = (y + y * 0.5) * 0.6\n"
                "    return y\n"),
        Mistake("nothing to see",
                "The gradient of x is zero here, or next to it, or too large to be a number. Zero times a mistake is "
                "zero.",
                "def probe(torch, x):\n    y = x - x\n    for _ in range(9):\n        y = y + y * 0.5\n"
                "    return y\n"),
    ),
    check=check_04_6,
)  # fmt: skip


EXERCISES = [P1, P2, P3, EX1, EX2, EX3, EX4, EX5, EX6]
