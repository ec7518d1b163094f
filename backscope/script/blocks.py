"""Find where recording was switched off: the `with torch.no_grad():` or the decorator around a line or a caller."""

import ast

from backscope.script.source import FUNCTIONS, called, calls_in, source_of

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


def switched_for_good(files):
    """The same for a line `torch.set_grad_enabled(False)`, whose effect stays after its function has returned."""
    for file in files:
        try:
            source = source_of(file)
        except (OSError, SyntaxError):
            continue
        for call in calls_in(source.tree, "set_grad_enabled"):
            if isinstance(call.parent, ast.Expr) and "False" in source.text(call):
                sentence = "recording is off from here on, also after this function has returned"
                return (file, call.lineno, function_at(source, call), sentence), call.parent, None
    return None


def frozen(finding):
    """(a Line, Source, the nodes that say False): where parameters were frozen, if none that is alive learns."""
    from backscope.script.findings import Line

    parameters = [one for held in finding.names.by_memory.values() for _, one in held]
    parameters = [one for one in parameters if isinstance(one, finding.recorder.torch.nn.Parameter)]
    if not parameters or any(one.requires_grad for one in parameters):
        return None
    for file in finding.files:
        try:
            source = source_of(file)
        except (OSError, SyntaxError):
            continue
        nodes = []
        for one in ast.walk(source.tree):
            if isinstance(one, ast.Assign) and any(
                getattr(each, "attr", "") == "requires_grad" for each in one.targets
            ):
                nodes.append(one.value)
            elif called(one) == "requires_grad_" and one.args:
                nodes.append(one.args[0])
        nodes = [one for one in nodes if isinstance(one, ast.Constant) and one.value is False]
        if nodes:
            what = f"all {len(parameters)} parameters are frozen: none requires grad"
            line = Line("frozen", file, nodes[0].lineno, function_at(source, nodes[0]), what)
            return line, source, nodes
    return None


def function_at(source, node):
    """The name of the function that a node stands in, as a traceback says it."""
    names = []
    while node is not None:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS[:2])):
            names.insert(0, node.name)
        node = getattr(node, "parent", None)
    return ".".join(names) or "<module>"
