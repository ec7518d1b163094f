"""Places read from the text of a function: for errors of processes that were not recorded."""

import ast
import re

from backscope.script.edits_of_writes import target_of
from backscope.script.places import Spot
from backscope.script.source import base_of, called, calls_in, dotted, named, source_of

FAILING = "backward", "numpy", "grad", "step", "deepcopy"  # what such a line calls, mostly


def spot(file, number, function):
    """The Spot of a traceback's line: of the call in it that may have failed, else of the statement."""
    try:
        source = source_of(file)
        statement = source.statement_at(number)
    except (OSError, SyntaxError, ValueError):
        return Spot(file, number, function, (number, number, None, None))
    node = next((one for name in FAILING for one in calls_in(statement, name)), statement)
    return Spot(file, number, function, span_of(node))


def span_of(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def written(frame, operation):
    """(where it was made, where it was written to) of the result that a message names, in the function of a frame.

    "output 0 of SigmoidBackward0": a name that sigmoid() was assigned to, and that is written to in place afterwards.
    None where no line fits, or several do.
    """
    file, number, function, _ = frame
    word = re.sub(r"Backward\d*$", "", operation).lower()
    try:
        source = source_of(file)
        scope = source.scope(source.statement_at(number))
    except (OSError, SyntaxError, ValueError):
        return None
    found = []
    for one in ast.walk(scope):
        statement = source.up(one, ast.stmt)
        is_write = isinstance(one, (ast.AugAssign, ast.Call)) or isinstance(one, ast.Assign)
        target = target_of(source, one, statement) if is_write and statement is not None else None
        name = dotted(base_of(target)) if target is not None else ""
        for made in ast.walk(scope) if name else ():
            if isinstance(made, ast.Assign) and name in named(made, ast.Store) and made.lineno < statement.lineno:
                if word and any(called(call).lower() == word for call in calls_in(made.value)):
                    found.append((made, statement))
    found = list(dict.fromkeys(found))
    if len(found) != 1:
        return None
    return tuple(Spot(file, one.lineno, function, span_of(one)) for one in found[0])
