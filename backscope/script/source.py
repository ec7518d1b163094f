"""A file's text and syntax tree, and the expression behind an instruction that ran."""

import ast
import difflib
import functools
from dataclasses import dataclass
from pathlib import Path

from backscope.script.places import shown

ATOMS = ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
LOOPS = ast.For, ast.While, ast.AsyncFor


@functools.lru_cache(64)
def source_of(file):
    """The Source of a file; OSError or SyntaxError where there is none."""
    return Source(file)


@dataclass(frozen=True)
class Edit:
    """A change of one file."""

    file: str
    text: str  # the whole file as it would be
    says: str  # what it does and, where it costs something, what
    loses: bool = False  # whether a gradient that the script asked for is given up

    @property
    def old_text(self):
        """The whole file as it is."""
        return source_of(self.file).bytes.decode()

    @property
    def _blocks(self):
        old, new = self.old_text.splitlines(), self.text.splitlines()
        return [one for one in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if one[0] != "equal"]

    @property
    def line(self):
        """The first line, counted from 1, that is not as it was."""
        return self._blocks[0][1] + 1

    @property
    def old(self):
        """The lines that go."""
        lines = self.old_text.splitlines()
        return "\n".join(line for _, a, b, _, _ in self._blocks for line in lines[a:b])

    @property
    def new(self):
        """The lines that come."""
        lines = self.text.splitlines()
        return "\n".join(line for _, _, _, a, b in self._blocks for line in lines[a:b])

    @property
    def diff(self):
        """A unified diff with one line of surroundings."""
        name = shown(self.file)
        lines = self.old_text.splitlines(), self.text.splitlines()
        return "\n".join(difflib.unified_diff(*lines, name, name, "", "", 1, lineterm=""))


class Source:
    """The text of a file as bytes, which the tree's columns count, and its tree; each node knows its `parent`."""

    def __init__(self, file):
        self.file, self.bytes = file, Path(file).read_bytes()
        self.tree = ast.parse(self.bytes)
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        for parent in ast.walk(self.tree):
            for child in ast.iter_child_nodes(parent):
                child.parent = parent

    def span(self, node):
        """(first byte, byte after the last) of a node."""
        start, end = self.starts[node.lineno - 1], self.starts[node.end_lineno - 1]
        return start + node.col_offset, end + node.end_col_offset

    def text(self, node):
        return self.bytes[slice(*self.span(node))].decode()

    def closed(self, node):
        """The text of a node, in brackets where a method call could not follow otherwise."""
        return self.text(node) if isinstance(node, ATOMS) else f"({self.text(node)})"

    def at(self, place):
        """The smallest node that the instruction of a place belongs to; the statement where Python knows no columns."""
        line, last, column, end = place.span
        if line is None or column is None:
            return self.statement_at(line or place.line)
        start, stop = self.starts[line - 1] + column, self.starts[last - 1] + end
        nodes = [one for one in ast.walk(self.tree) if isinstance(one, (ast.expr, ast.stmt))]
        nodes = [one for one in nodes if self.span(one)[0] <= start and self.span(one)[1] >= stop]
        found = min(nodes, key=lambda one: (self.span(one)[1] - self.span(one)[0], isinstance(one, ast.stmt)))
        return found

    def statement_at(self, line):
        """The smallest statement that has this line."""
        nodes = [one for one in ast.walk(self.tree) if isinstance(one, ast.stmt)]
        nodes = [one for one in nodes if one.lineno <= line <= one.end_lineno]
        return min(nodes, key=lambda one: one.end_lineno - one.lineno)

    def up(self, node, *kinds):
        """The nearest of these kinds around a node, itself included; None if there is none."""
        while node is not None and not isinstance(node, kinds):
            node = getattr(node, "parent", None)
        return node

    def around(self, node, *kinds):
        """All nodes of these kinds around a node, the nearest first, within its function."""
        found = []
        while node is not None and not isinstance(node, FUNCTIONS):
            if isinstance(node, kinds):
                found.append(node)
            node = getattr(node, "parent", None)
        return found

    def scope(self, node):
        """The function that a node stands in, or the file."""
        return self.up(getattr(node, "parent", None), *FUNCTIONS) or self.tree

    def block(self, statement):
        """The list of statements that one stands in."""
        for field in ("body", "orelse", "finalbody"):
            block = getattr(statement.parent, field, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    def changed(self, *edits):
        """The text with each (start, end, new) put in."""
        out = self.bytes
        for start, end, new in sorted(edits, key=lambda one: one[:2], reverse=True):
            out = out[:start] + new.encode() + out[end:]
        return out.decode()

    def edit(self, says, *edits, loses=False):
        """The Edit that puts in each (start, end, new)."""
        return Edit(self.file, self.changed(*edits), says, loses)

    def swap(self, node, new):
        return (*self.span(node), new)

    def before(self, statement, line):
        """An edit that puts a line before a statement, also where that stands behind a colon or a semicolon."""
        head = self.bytes[self.starts[statement.lineno - 1] : self.span(statement)[0]].decode()
        if head.strip() and not head.strip().startswith("@"):
            start = self.span(statement)[0]
            if head.rstrip().endswith(":"):
                pad = "\n" + self.indent(statement) + "    "
                return start, start, f"{pad}{line}{pad}"
            return start, start, f"{line}; "
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])
        start = self.starts[first - 1]
        return start, start, self.indent(statement) + line + "\n"

    def indent(self, statement):
        line = self.bytes[self.starts[statement.lineno - 1] :].split(b"\n", 1)[0]
        return line[: len(line) - len(line.lstrip())].decode()

    def whole(self, statement):
        """(start, end) of the lines of a statement."""
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])
        return self.starts[first - 1], self.starts[statement.end_lineno]

    def alone(self, statement):
        """Tell whether a statement has its lines to itself: not behind a `;`, nor behind the colon of an `if`."""
        start, end = self.span(statement)
        lines = slice(*self.whole(statement))
        rest = self.bytes[lines.start : start] + self.bytes[end : lines.stop].split(b"#")[0]
        return not rest.strip()

    def lines(self, statement):
        """The text of the lines of a statement, with an end."""
        text = self.bytes[slice(*self.whole(statement))].decode()
        return text if text.endswith("\n") else text + "\n"


def named(node, context=(ast.Load, ast.Store)):
    """The names and attributes of names in a node, in order: `h`, `self.state`."""
    found = {}
    for one in ast.walk(node):
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, context) and dotted(one):
            found[dotted(one)] = None
    return list(found)


def dotted(node):
    """`self.state` of a Name or an Attribute of names; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    inner = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{inner}.{node.attr}" if inner else ""


def base_of(node):
    """x of x[0][1], self.h of self.h[:, 1], x of x.data.T."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT"):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return node


def called(node):
    """The last word of what a call calls: `backward` of loss.backward(); "" for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def calls_in(node, *names):
    """The calls of one of these names in a node; all calls where none is given."""
    return [one for one in ast.walk(node) if isinstance(one, ast.Call) and (not names or called(one) in names)]


def value_in(text, frame):
    """The value of `x`, `self.h` or `net.0` in a frame, without running any code of the user's; None if unknown."""
    first, *rest = text.split(".")
    held = frame.f_locals
    if first not in held and first not in frame.f_globals:
        return None
    value = held[first] if first in held else frame.f_globals[first]
    for name in rest:
        own = getattr(value, "__dict__", {})
        for kind in (own, own.get("_parameters"), own.get("_buffers"), own.get("_modules")):
            if isinstance(kind, dict) and name in kind:
                value = kind[name]
                break
        else:
            return None
    return value


def with_keyword(source, call, name, value):
    for word in call.keywords:
        if word.arg == name:
            return source.changed(source.swap(word.value, value))
    end = source.span(call)[1] - 1
    last = source.bytes[:end].rstrip()[-1:]
    return source.changed((end, end, f"{'' if last in (b'(', b',') else ', '}{name}={value}"))


def wrap(source, statement, head):
    """The text with a statement indented below `head`."""
    indent = source.indent(statement)
    body = "".join("    " + line for line in source.lines(statement).splitlines(keepends=True))
    return source.changed((*source.whole(statement), f"{indent}{head}\n{body}"))


def met(*places):
    """The places of one function in which all of these meet, the nearest such function; None where there is none."""
    for first in places[0].outwards:
        same = [next((one for one in other.outwards if one.key == first.key), None) for other in places[1:]]
        if None not in same:
            return [first, *same]
    return None


@functools.lru_cache(4096)
def enclosing(file, line):
    """(qualified name, first line) of the function that a line stands in; None where the file cannot be read."""
    try:
        source = source_of(file)
        node = source.statement_at(line)
    except (OSError, SyntaxError, ValueError):
        return None
    while node is not None and not (isinstance(node, FUNCTIONS[:2]) and node.body[0].lineno <= line):
        node = getattr(node, "parent", None)
    names, first = [], getattr(node, "lineno", 0)
    while node is not None:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS[:2])):
            names.insert(0, node.name)
        node = getattr(node, "parent", None)
    return ".".join(names) or "<module>", first
