"""`draw(loss)`: the graph behind tensors as a picture and as a listing, on our engine and on real PyTorch.

    draw(loss)                      what the notebook shows
    print(draw(loss))               the listing: every fact of the picture, in words
    draw(loss).save("graph.svg")

What to read: reader.py (from tensors to facts), folding.py (large graphs), listing.py (facts to words),
drawing.py (facts to boxes and arrows), lanes.py (where they stand), style.py (colours, type, SVG).
"""

import inspect
import sys
from functools import partial
from pathlib import Path

from backscope.graph.folding import fold
from backscope.graph.listing import facts, headline, listing
from backscope.graph.model import Graph, link_inputs
from backscope.graph.reader import Reader
from backscope.graph.slopes import read_slopes
from backscope.graph.tensor_facts import grad_of, is_module, is_tensor
from backscope.pictures.drawing import Drawing, best_to_read
from backscope.pictures.legend import legend
from backscope.pictures.style import as_image, in_short

HIDDEN = ("In", "Out", "exit", "quit")  # names that IPython keeps for itself
MANY = 200  # items of a list or dictionary that are given names


def draw(*tensors, names=None, detail=None, open=None, parts=None, slopes=False) -> "Picture":
    """Draw the graph behind tensors, as a picture and in words, on our engine and on PyTorch.

    Parameters
        tensors     what to draw: draw(loss), draw(a, b). A module among them names its parameters, draw(model, loss),
                    and parameters that no gradient reaches are then listed.
        names       {"h": tensor} for any tensor in the picture, a list with one name for each tensor drawn, or a
                    module. Without it the names are those of the caller's variables.
        detail      0 leaves contents and saved tensors out of the drawing, 1 shows them (the default), 2 adds element
                    types, shapes and the numbers that nodes keep.
        open        shows one part and folds the rest: a module, "blocks.1", the numbers of two nodes, (9, 50), or of
                    one.
        parts       {"forward": (1, 3)} puts a coloured band with this name behind nodes 1 to 3.
        slopes      True asks each node whose result is one number for its slopes, and writes them on its arrows: what
                    backward multiplies by. Nodes that have freed what they saved cannot tell, nor custom Functions.

    Returns a Picture. A notebook shows it; print() writes its words; .text, .svg and .html are its forms, and
    .save("graph.svg") or .save("graph.txt") writes a file.
    Raises TypeError or ValueError, in a sentence, for what cannot be drawn.
    Limits: past 40 nodes the picture is folded, by module where parameters have a module's names, else by what repeats.
    The node at which backward would fail is never folded. On PyTorch, slots that hooks have packed show nothing of
    their tensors.
    """
    modules = [thing for thing in (*tensors, names) if is_module(thing)]
    if modules and len(modules) < len(tensors):
        tensors = [thing for thing in tensors if not is_module(thing)]
    names = None if modules and names is modules[-1] else names
    check_tensors(tensors)
    if detail not in (None, 0, 1, 2):
        raise ValueError(f"detail is {detail!r}; it can be 0, 1 or 2, or be left out.")
    known, around = names_in(sys._getframe(1))
    around += name_parameters(modules, known) if modules else []
    graph = snapshot(tensors, names, known, around, open, slopes)
    graph.parts = checked_parts(parts or {}, graph)
    if len(modules) == 1 and any(value.node is not None for value in graph.values):
        drawn = {value.name for value in graph.values} | graph.leaves
        graph.missed = [path for path, each in named_by(modules) if each.requires_grad and path not in drawn]
    return Picture(graph, 1 if detail is None else detail)


draw.legend = legend


def name_parameters(modules, known) -> list:
    """Put the parameters' names into what is known of tensors; returns the parameters."""
    found = []
    for path, parameter in named_by(modules):
        known[id(parameter)] = [path]
        found.append(parameter)
    return found


def snapshot(tensors, names, known, around, opened=None, slopes=False) -> Graph:
    """Read the Graph behind tensors as it is now, folded; `known` and `around` are what names_in() found."""
    given = given_names(names, tensors)
    for key, name, tensor in given:
        known[key] = [name]
        around.append(tensor)
    reader = Reader(tensors, known, around)
    graph = reader.read()
    check_used(given, reader)
    if slopes:
        read_slopes(reader, tensors)
    graph.leaves = {graph.values[node.leaf].name for node in graph.nodes if node.accumulates}
    fold(graph, opened)
    link_inputs(graph)
    return graph


class Picture:
    """A drawing and its listing, both made from one graph as it was when `draw` was called."""

    def __init__(self, graph, detail):
        self._graph, self._detail = graph, detail
        self._drawn = None  # SVG text, made when first asked for

    @property
    def text(self) -> str:
        """The listing: every fact in the picture, in words."""
        return listing(self._graph, self._detail)

    @property
    def svg(self) -> str:
        """The drawing as SVG text."""
        if self._drawn is None:
            self._drawn = self._lay_out()
        return self._drawn

    @property
    def html(self) -> str:
        """The card in a notebook: an image and what it says in short."""
        return as_image(self.svg, in_short(self._in_sentences()))

    def _in_sentences(self):
        return [headline(self._graph), *facts(self._graph)]

    def _lay_out(self):
        return lay_out(self._graph, self._detail)

    def save(self, path) -> None:
        """Write the drawing to a .svg file, or the listing to a .txt file."""
        path = Path(path)
        if path.suffix == ".txt":
            path.write_text(self.text + "\n", encoding="utf-8")
        elif path.suffix != ".svg":
            ending = repr(path.suffix) if path.suffix else "a name without an ending"
            raise ValueError(f"save() writes .svg or .txt files, not {ending}.")
        else:
            path.write_text(self.svg, encoding="utf-8")

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}


def lay_out(graph, detail, marks=None) -> str:
    """SVG: time to the right where that fits the column, otherwise down, otherwise down with one line in each box."""
    ways = ((False, False), (False, True)) if graph.parts else ((True, False), (False, False), (False, True))
    return best_to_read([partial(Drawing, graph, detail, lies, marks, dense) for lies, dense in ways])


# --- what was given ----------------------------------------------------------------------------------------


def check_tensors(tensors) -> None:
    """TypeError unless there is something to draw."""
    if not tensors:
        raise TypeError("draw() needs at least one tensor: draw(loss), or draw(a, b) for several.")
    for thing in tensors:
        if is_tensor(thing):
            continue
        if is_module(thing):
            advice = "call it on an input and draw the result: draw(model(x))."
        elif isinstance(thing, (list, tuple)) and thing and all(map(is_tensor, thing)):
            advice = "put a star in front: draw(*tensors)."
        elif hasattr(thing, "next_functions"):
            advice = "draw the tensor whose grad_fn it is."
        else:
            advice = "give it the tensor whose graph you want to see."
        raise TypeError(f"draw() takes tensors, not {type(thing).__name__}: {advice}")


def checked_parts(parts, graph) -> dict:
    """Return the parts, when each is a name and the numbers of two nodes that stand in the picture."""
    for span in parts.values():
        if type(span) is not tuple or [type(n) for n in span] != [int, int]:
            raise TypeError(f"parts pairs a name with the numbers of two nodes, as in (1, 3), not with {span!r}.")
        if not any(node.number and span[0] <= node.number <= span[1] for node in graph.nodes):
            raise ValueError(f"parts: none of the nodes {span[0]} to {span[1]} stands in this picture by itself.")
    return parts


def given_names(names, tensors) -> list:
    """Return (id, name, tensor) for each entry of `names`."""
    if names is None:
        return []
    if isinstance(names, dict):
        pairs = [(k, v) if isinstance(k, str) else (v, k) for k, v in names.items()]
    elif isinstance(names, (list, tuple)):
        if len(names) != len(tensors):
            raise ValueError(
                f"names has {len(names)} entries for {len(tensors)} tensors: give one name for each tensor "
                'drawn, or a dictionary such as {"h": h}.'
            )
        pairs = list(zip(names, tensors, strict=True))
    else:
        raise TypeError(f"names must be a list, a dictionary or a module, not {type(names).__name__}.")
    for name, tensor in pairs:
        if not isinstance(name, str) or not is_tensor(tensor):
            raise TypeError('names must pair text with tensors, as in {"h": h}.')
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("names gives the same name twice: every tensor needs one of its own.")
    return [(id(tensor), name, tensor) for name, tensor in pairs]


def check_used(given, reader) -> None:
    """ValueError for a name whose tensor is not in the picture."""
    missing = [name for key, name, _ in given if key not in reader.by_id]
    if missing:
        raise ValueError(
            f"names: {', '.join(missing)} is not in this picture. No recorded way leads from a drawn "
            "tensor to it, and it shares no memory with one. Draw it as well, or leave its name out."
        )


# --- the caller's variables --------------------------------------------------------------------------------


def names_in(frame) -> tuple:
    """Return ({id of a tensor: its names}, tensors) from the caller's variables: locals first, then globals.

    Also items of lists and dictionaries, parameters of modules, and the .grad of what has a name.
    """
    variables = {}
    seen = frame.f_locals
    for scope in (seen, frame.f_globals):
        for name, thing in list(scope.items()):
            if name.isidentifier() and not name.startswith("_") and name not in HIDDEN:
                variables.setdefault(name, thing)
    if type(seen) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        seen.clear()  # up to Python 3.12 a copy that stays with the frame, and would keep the tensors alive
    found, held, tensors = [], [], {}  # type -> whether it is a tensor's: most variables are functions and modules
    for name, thing in variables.items():
        kind = type(thing)
        if kind not in tensors:
            tensors[kind] = hasattr(kind, "grad_fn") and is_tensor(thing)
        if tensors[kind]:
            found.append((name, thing))
        elif kind in (list, tuple, dict) or hasattr(kind, "named_parameters"):
            held += inside(name, thing)
    found += held
    known, around = {}, []
    for name, tensor in found + [(f"{n}.grad", g) for n, t in found if (g := grad_of(t)) is not None]:
        if id(tensor) not in known:
            around.append(tensor)
        known.setdefault(id(tensor), []).append(name)
    return known, around


def named_by(modules) -> list:
    """List (path, parameter or buffer) of modules; where there are several, a path begins with the module's number."""
    found = []
    for number, module in enumerate(modules):
        prefix = f"{type(module).__name__} {number}: " if len(modules) > 1 else ""
        held = [*module.named_parameters(), *getattr(module, "named_buffers", list)()]
        found += [(prefix + path, tensor) for path, tensor in held if is_tensor(tensor)]
    return found


def inside(name, thing) -> list:
    """Return (name, tensor) pairs for what a list, tuple, dictionary or module holds."""
    if type(thing) in (list, tuple):
        return [(f"{name}[{i}]", item) for i, item in enumerate(thing[:MANY]) if is_tensor(item)]
    if type(thing) is dict:
        items = [(k, item) for k, item in list(thing.items())[:MANY] if type(k) in (str, int)]
        return [(f"{name}[{k!r}]", item) for k, item in items if is_tensor(item)]
    if is_module(thing):
        try:
            return [(f"{name}.{path}", parameter) for path, parameter in thing.named_parameters()]
        except Exception:  # a learner's half-built module is no reason not to draw
            return []
    return []
