"""Read the text of a script, where running it shows nothing: calls without parentheses, a best model.

Only files are read whose lines run a pass or a step.
"""

import ast
import re

from backscope.script.histories import tree_of
from backscope.script.source import dotted

CALLED = {"zero_grad", "backward", "step", "train", "eval"}  # methods that do nothing unless they are called
FLAG = re.compile(r"requires?d?_?grad(ient)?s?$")  # what is meant is requires_grad
COPIES = {"deepcopy", "clone", "copy", "load", "load_state_dict"}


def never_called(file):
    """[(line, text)] of `optimizer.zero_grad` and the like, as statements of their own."""
    return [
        (node.lineno, dotted(node.value) or node.value.attr)
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr in CALLED
    ]


def misspelt(file):
    """[(line, name)] of attributes of parameters that are set and look like requires_grad."""
    return [
        (target.lineno, target.attr)
        for loop in ast.walk(tree_of(file))
        if isinstance(loop, ast.For) and any("parameters" in getattr(one, "attr", "") for one in ast.walk(loop.iter))
        for node in ast.walk(loop)
        for target in (node.targets if isinstance(node, ast.Assign) else ())
        if isinstance(target, ast.Attribute) and FLAG.match(target.attr) and target.attr != "requires_grad"
    ]


def kept_best(file):
    """{name: (line, name of what is kept)} of `best = model` and `best = model.state_dict()` below a comparison.

    Left out are names that somewhere in the file are given a copy.
    """
    found, copied = {}, set()
    for node in ast.walk(tree_of(file)):
        if (
            isinstance(node, ast.Assign)
            and {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node.value)} & COPIES
        ):
            copied |= {last(target) for target in node.targets}
        if not (isinstance(node, ast.If) and sets_a_record(node)):
            continue
        for one in node.body:
            for statement in ast.walk(one):
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                    name, kept = last(statement.targets[0]), kept_in(statement.value)
                    if name and kept and name != kept:
                        found.setdefault(name, (statement.lineno, kept))
    return {name: what for name, what in found.items() if name not in copied}


def sets_a_record(node):
    """`if loss < lowest: lowest = loss`."""
    orders = ast.Lt, ast.LtE, ast.Gt, ast.GtE
    compares = [one for one in ast.walk(node.test) if isinstance(one, ast.Compare) and isinstance(one.ops[0], orders)]
    compared = {last(one) for each in compares for one in ast.walk(each)} - {""}
    targets = [target for one in node.body for each in ast.walk(one) if isinstance(each, ast.Assign)
               for target in each.targets]  # fmt: skip
    return bool(compared & {last(one) for target in targets for one in ast.walk(target)})


def last(node):
    return dotted(node).rpartition(".")[2]


def kept_in(node):
    """`model` of model, self.model, and model.state_dict(); "" for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "state_dict":
        node = node.func.value
    return last(node)
