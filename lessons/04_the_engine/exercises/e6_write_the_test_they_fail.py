"""Exercise 04.6: write the test they fail."""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet

from .shared import arrivals, consumers_first, gradients, hasty, near, number, read


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
    """Count how often an engine that walks paths visits nodes."""
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
STARTS = (0.9, 0.09, 1e-3, 1e-5)  # of x: `y = y + y.sin()` has slopes near 0 after some turns, and from 1e-5 none


def check(answer, torch):
    """The verdict at the first start where there is a gradient to look at."""
    for start in STARTS:
        verdict = check_at(start, answer, torch)
        if verdict != almost("nothing to see"):
            return verdict
    return verdict


def check_at(start, answer, torch):
    x = number(torch, start)
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

EXERCISE = Exercise(
    id="04.6", kind="diagnose", title="Write the test they fail", minutes=10, difficulty=3,
    question="Return a one-element result, computed from x by at most 40 nodes, on which five broken engines all "
    "differ from the right one.",
    name="probe", starter=STARTER_6,
    hints=(
        "One engine at a time: which shape of graph does it get wrong? Which of these shapes can be one?",
        "Haste needs a node between the result and x that one short way and one long way lead to; the short one "
        "first. A loop can make such a shape again and again.",
    ),
    solution="def probe(torch, x):\n    y = x\n    for _ in range(10):\n        y = y + y * 0.5\n    return y\n",
    why="Each turn of the loop reaches the last y twice: directly, and through a product. Two arrivals catch "
    "overwriting, unequal lengths catch haste, ten turns catch the walker, results in between catch survivors; and "
    "any second pass catches a leaf that is overwritten.",
    alternatives=(
        "def probe(torch, x):\n    y = x\n    for _ in range(12):\n        y = y + y.sin()\n    return y\n",
        "def probe(torch, x):\n    y = x\n    for _ in range(12):\n        y = y.sin() * 0.1 + y\n    return y\n",
        "def probe(torch, x):\n    y = x\n    for _ in range(12):\n        y = y - y * 0.5\n    return y\n",
        "def probe(torch, x):\n    y = x\n    for _ in range(11):\n        y = y - y * 0.5\n    return y\n",
        edit("y = x", "a = x * x\n    b = a + x\n    c = b * a\n    d = c + b\n    e = d * a",
             "10):\n        y = y + y * 0.5\n    return y", "8):\n        e = e + e\n    return e * 0.001"),
    ),
    mistakes=(
        Mistake("overwriting slips through", "No node of your graph gets two gradients, so an engine that overwrites "
                "inside a pass gives the right number. It passes every test made of chains.",
                "def probe(torch, x):\n    return (x * 3).sin().exp()\n"),
        Mistake("haste slips through", "The hasty engine gets your graph right: whenever a node sends something on, "
                "its whole sum happens to be there. (What comes late to x does no harm, for x sends nothing on.)",
                "def probe(torch, x):\n    y = x\n    for _ in range(10):\n        y = y + y\n    return y\n"),
        Mistake("haste slips through, the long way first", "A short way and a long one lead to your nodes, and the "
                "long one stands first, as in y * 2 + y. So it comes first into the hasty queue, and has delivered "
                "when the turn of y comes.",
                "def probe(torch, x):\n    y = x\n    for _ in range(10):\n        y = y * 2 + y\n    return y\n"),
        Mistake("guard: changed a .grad", "Leave the passes to the check: it runs each engine over the graph that "
                "you return.", edit("return", "y.backward(retain_graph=True)\n    return")),
        Mistake("paths slip through", "Every number that should differ does. But there are so few paths that walking "
                f"them all visits fewer than {MANY_VISITS} nodes, and nobody would notice the walker.",
                "def probe(torch, x):\n    a = x * x\n    b = a + x\n    c = b * a\n    return (c + b) * a\n"),
        Mistake("survivors slip through", "Nothing lies between your result and x: no intermediate gradient can "
                "survive a pass, so buffers and .grad in one dictionary go unnoticed.",
                "def probe(torch, x):\n    return x * x\n"),
        Mistake("too large", f"All are caught, perhaps, with more than {MOST_NODES} nodes. A test should be small "
                "enough to be checked by hand.", edit("10", "30", "y + y * 0.5", "(y + y * 0.5) * 0.6")),
        Mistake("nothing to see", "The gradient of x is zero here, or next to it, or too large to be a number. Zero "
                "times a mistake is zero.",
                "def probe(torch, x):\n    y = x - x\n    for _ in range(9):\n        y = y + y * 0.5\n    return y\n"),
    ),
    check=check,
)  # fmt: skip
