"""Where recording was switched off: the `with torch.no_grad():` line or the decorator around a line or a caller."""

import ast

from backscope.script.source import source_of

OFF = "no_grad", "inference_mode", "set_grad_enabled"


def switched_off(place):
    """((file, line, function, a sentence), syntax tree, place) of what switched recording off; None if unknown."""
    for one in place.outwards:
        found = around(one)
        if found is not None:
            node, sentence = found
            return (one.file, node.lineno, one.function, sentence), node, one
    return None


def around(place):
    """(node, a sentence) of the block or decorator that switches recording off in the function of a place."""
    try:
        source = source_of(place.file)
        node = source.at(place)
    except (OSError, SyntaxError, ValueError):
        return None
    while node is not None:
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if switches(source, item.context_expr):
                    return node, "recording is off in this block"
                if turns_on(source, item.context_expr):
                    return None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for one in node.decorator_list:
                if switches(source, one):
                    return one, "this decorator switches recording off in the whole function"
            return None
        node = getattr(node, "parent", None)
    return None


def switches(source, expression):
    text = source.text(expression)
    return any(word in text for word in OFF) and not turns_on(source, expression)


def turns_on(source, expression):
    text = source.text(expression).replace(" ", "")
    return "enable_grad" in text or "(True)" in text or "mode=True" in text and "inference" not in text
