"""Helpers that several exercises of lesson 01 share."""

import html
import random
import re
import weakref

from backscope.graph.model import renumber
from backscope.pictures.draw import draw
from lessons.shared import nodes_behind


def shape_of(y, leaves):
    """The graph behind `y` as plain data, equal for equal graphs; leaves are written as their names.

    Nodes are numbered in the order of the walk; for each: its name, and for each arrow where it leads to (a
    number, a leaf's name, or None) and which output of that node is meant.
    """
    nodes = nodes_behind(y)
    number = {node: place for place, node in enumerate(nodes)}

    def name(node):
        if node is None:
            return None
        if not hasattr(node, "variable"):
            return number[node]
        return next((known for known, leaf in leaves.items() if leaf is node.variable), "another leaf")

    return [
        (type(node).__name__, [(name(after), output) for after, output in node.next_functions])
        for node in nodes
        if not hasattr(node, "variable")
    ]


def numbers(count):
    """Random numbers, none close to another or to zero."""
    return random.sample([0.5, 0.75, 1.25, 1.5, 1.75, 2.25, 2.5], count)


def given(torch, values=None):
    """The tensors of the exercises: a and b require grad, c does not."""
    a, b, c = values or numbers(3)
    return {
        "a": torch.tensor(a, requires_grad=True),
        "b": torch.tensor(b, requires_grad=True),
        "c": torch.tensor(c),
    }


def run_program(program, space):
    """Run a program's text with the names in `space`, and return what it calls y."""
    exec(program, space)
    return space["y"]


PROGRAMS = {
    1: "h = a * b; y = h * h",
    2: "y = (a * b) * (a * b)",
    3: "y = (c * c) * a",
    4: "y = c * (c * a)",
    5: "y = a - b",
    6: "y = a + (-b)",
    7: "y = a * (a * a)",
    8: "y = a ** 3",
    9: "y = a\nfor _ in range(2): y = y * a",
    10: "z = (a * b).exp(); y = a.exp() * b",
    11: "z = a.exp(); y = z * b; del z",
    12: "y = -b + a",
}
DRAWN = {
    "A": PROGRAMS[1],
    "B": PROGRAMS[4],
    "C": PROGRAMS[6],
    "D": PROGRAMS[9],
    "E": PROGRAMS[10],
    "F": "s = a * c; t = s.exp(); y = b / t - s",
    "G": "e = b.exp(); y = e * (a + e)",
}


class Pictures:
    """Several pictures in one output, each under its letter."""

    def __init__(self, drawn):
        self.drawn = drawn  # letter -> Picture

    def __repr__(self):
        return "\n\n".join(f"Picture {letter}. {picture}" for letter, picture in self.drawn.items())

    def _repr_mimebundle_(self, include=None, exclude=None):
        cards = [
            f'<figure style="margin:0 0 14px"><figcaption><b>Picture {html.escape(letter)}</b></figcaption>'
            f"{picture.html}</figure>"
            for letter, picture in self.drawn.items()
        ]
        return {"text/plain": repr(self), "text/html": "".join(cards)}


def leave_out_the_paper(graph):
    """Keep nodes, arrows and the tensors at which they begin or end: no blue arrows, and no other tensor."""
    for value in graph.values:
        value.inputs.clear()
    for node in graph.nodes:
        node.slots.clear()
    order = [i for i, value in enumerate(graph.values) if value.requires_grad and value.named]
    renumber(graph, order, {old: i for i, old in enumerate(order)})


def pictures(torch, letters):
    """The pictures with these letters, drawn from programs that are not shown: arrows, nodes, `a`, `b` and `y`."""
    drawn = {}
    for letter in letters:
        leaves = given(torch, (2.0, 3.0, 5.0))
        names = {name: tensor for name, tensor in leaves.items() if re.search(rf"\b{name}\b", DRAWN[letter])}
        names["y"] = run_program(DRAWN[letter], dict(leaves))
        drawn[letter] = draw(names["y"], names=names, detail=0)
        leave_out_the_paper(drawn[letter]._graph)
    return Pictures(drawn)


FIRST = "p = w * x; q = x + 1; y = p * p + q"


def first_program(torch):
    """The tensors of the lesson's first program, by name."""
    w, x = numbers(2)
    space = {"w": torch.tensor(w, requires_grad=True), "x": torch.tensor(x)}
    run_program(FIRST, space)
    return {name: space[name] for name in "wxpqy"}


def second_program(torch):
    """The function of the lesson's second round: its result, and weak references to three tensors of it."""
    x = torch.tensor(4.0, requires_grad=True)

    def run(x):
        w = torch.tensor(2.0, requires_grad=True)
        h = x * w
        h = h + 1
        unused = h.exp()
        y = h / 3
        return y, {"w": weakref.ref(w), "h": weakref.ref(h), "unused": weakref.ref(unused)}

    return run(x)
