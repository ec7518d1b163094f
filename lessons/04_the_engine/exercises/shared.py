"""Helpers that several exercises of lesson 04 share."""

import math
import random
import sys
from collections import Counter

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


ALONE = {"x": []}  # what x.backward() works on


def without_nothing(graph):
    """A toy graph without its edges to nothing."""
    return {node: [edge for edge in edges if edge[0] is not None] for node, edges in graph.items()}


def arrivals(graph, nodes):
    """Count the edges of these nodes that lead to each node."""
    return Counter(to for node in nodes for to, _ in graph[node] if to is not None)
