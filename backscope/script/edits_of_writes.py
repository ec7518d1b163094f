"""Edits about a write in place: a new tensor in place of the write, or a copy for whoever saves."""

import ast
import re

from backscope.script.source import FUNCTIONS, LOOPS, base_of, called, dotted, named, source_of

SIGNS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "MatMult": "@", "Pow": "**", "FloorDiv": "//", "Mod": "%",
         "BitAnd": "&", "BitOr": "|"}  # fmt: skip
METHOD = re.compile(r"[a-z]\w*[a-z0-9]_")
LEFT, RIGHT = {"self", "mat1", "input", "vec1"}, {"other", "mat2", "exponent", "weight", "vec2"}
MODULES = "torch", "F", "functional", "nn.functional", "torch.nn.functional", "init", "nn.init"


def of_a_write(finding):
    """The version of a saved tensor has moved, and no optimizer wrote: the writer, then the reader."""
    if finding.writes and (finding.writes[0].optimizer or finding.writes[0].leaf):
        return
    lines = [line for line in finding.lines if line.role == "changed"]
    saved, wrote = finding.place("saved"), lines[0].place if lines else None
    inside = wrote is not None and saved == wrote and saved.span == wrote.span  # both in a library, called from there
    read = [] if inside else list(at_the_read(finding, saved, finding.slot, wrote))
    if lines and fills_a_buffer(lines[0].place):
        yield from read
        read = []
    for line in lines:
        yield from at_the_write(finding, line.place, line)
    yield from read


def of_a_view(finding):
    """A write to a view, or to memory that has several places in one, was refused: write out of place."""
    yield from at_the_write(finding, finding.failed)


def target_of(source, node, statement):
    """The expression that a statement writes to in place; None if it does not."""
    if isinstance(statement, ast.AugAssign):
        return statement.target
    if isinstance(statement, ast.Assign):
        item = next((one for one in statement.targets if isinstance(one, ast.Subscript)), None)
        if item is not None:
            return item
    call = source.up(node, ast.Call)
    while call is not None:
        if isinstance(call.func, ast.Attribute) and METHOD.fullmatch(call.func.attr):
            return call.args[0] if dotted(call.func.value) in MODULES and call.args else call.func.value
        if called(call) and any(word.arg == "inplace" for word in call.keywords) and call.args:
            return call.args[0]
        out = next((word.value for word in call.keywords if word.arg == "out"), None)
        if out is not None:
            return out
        call = source.up(getattr(call, "parent", None), ast.Call)
    return None


def can_rebind(source, target):
    """Tell whether `target = new` reaches all who saw the write: not for a loop's variable, nor an argument kept."""
    if not isinstance(target, ast.Name):
        return isinstance(target, ast.Attribute)
    scope = source.scope(target)
    loops = [one.target for one in ast.walk(scope) if isinstance(one, (ast.For, ast.comprehension))]
    if any(isinstance(one, ast.Name) and one.id == target.id for loop in loops for one in ast.walk(loop)):
        return False
    given = isinstance(scope, FUNCTIONS) and target.id in {one.arg for one in scope.args.args}
    after = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == target.id]
    used = any(isinstance(one.ctx, ast.Load) and one.lineno > target.end_lineno for one in after)
    returned = any(
        isinstance(one, ast.Return) and one.value is not None and target.id in named(one.value)
        for one in ast.walk(scope)
    )
    return not given or returned or used


def without_inplace(source, call):
    """Find what to cut from `f(x, inplace=True)`, `nn.ReLU(True)`, `nn.Dropout(0.5, True)`; None if it is not there."""
    for word in call.keywords:
        if word.arg == "inplace":
            start, end = source.span(word)
            comma = source.bytes.rfind(b",", source.span(call.func)[1], start)
            if comma >= 0:
                return comma, end, ""
            more = source.bytes.find(b",", end, source.span(call)[1])
            return start, (more + 1 if more >= 0 else end), ""
    if call.args and isinstance(call.args[-1], ast.Constant) and call.args[-1].value is True:
        start = source.span(call.args[-2])[1] if len(call.args) > 1 else source.span(call.args[-1])[0]
        return start, source.span(call.args[-1])[1], ""
    return None


def at_the_write(finding, place, line=None):
    """Edits at the line that wrote."""
    built = getattr(line, "built", None)
    if built is not None and getattr(line.module, "inplace", False):
        there = source_of(built.file)
        maker = there.up(there.at(built), ast.Call)
        cut = without_inplace(there, maker) if maker is not None else None
        if cut:
            yield there.edit(f"Build {finding.facts.get('module', 'it')} without `inplace=True`.", cut)
    source = source_of(place.file)
    node = source.at(place)
    statement, call = source.up(node, ast.stmt), source.up(node, ast.Call)
    if call is not None and (cut := without_inplace(source, call)) and built is None:
        fixed = [cut]
        alone = isinstance(statement, ast.Expr) and statement.value is call
        if alone and call.args and can_rebind(source, call.args[0]):
            start = source.span(statement)[0]
            fixed.append((start, start, f"{source.text(call.args[0])} = "))
        yield source.edit(f"Let `{called(call)}` make a new tensor: leave `inplace=True` out.", *fixed)
    target = statement.target if isinstance(statement, ast.AugAssign) else None
    sign = SIGNS.get(type(statement.op).__name__) if target is not None else None
    yield from in_a_loop(source, statement, sign)
    rebinds = is_container(source, target.value) if isinstance(target, ast.Subscript) else target is not None
    if rebinds and sign and (isinstance(target, ast.Subscript) or can_rebind(source, target)):
        text = source.text(target)
        new = f"{text} = {text} {sign} {beside(source, sign, statement.value)}"
        yield source.edit(
            f"Make a new tensor: `{sign}` leaves what was saved alone, `{sign}=` writes to it.",
            source.swap(statement, new),
        )
    method = call
    while method is not None and not (isinstance(method.func, ast.Attribute) and METHOD.fullmatch(method.func.attr)):
        method = source.up(getattr(method, "parent", None), ast.Call)
    if method is not None:
        yield from method_edits(source, statement, method)
    wrote = target_of(source, node, statement)
    if isinstance(statement, ast.Assign) and isinstance(wrote, ast.Subscript):
        yield from mask_edits(source, statement, wrote)
    owner = base_of(wrote) if wrote is not None else None
    if isinstance(owner, (ast.Name, ast.Attribute)) and dotted(owner) and is_container(source, owner):
        inner = wrote
        while isinstance(inner, ast.Subscript) and inner.value is not owner:
            inner = inner.value
        if inner is not wrote and source.alone(statement):  # kept[name][:, 0] = 0
            text = source.text(inner)
            yield source.edit(COPY, source.before(statement, f"{text} = {text}.clone()"))
    elif isinstance(owner, (ast.Name, ast.Attribute)) and dotted(owner) and can_rebind(source, owner):
        name = source.text(owner)
        if source.alone(statement):
            yield source.edit(COPY, source.before(statement, f"{name} = {name}.clone()"))


def beside(source, sign, value):
    """The text of the right side of an operator: `0.1 * g` needs no brackets behind a plus."""
    products = ast.Mult, ast.Div, ast.MatMult, ast.Pow
    loose = sign in ("+", "-") and isinstance(value, ast.BinOp) and isinstance(value.op, products)
    return source.text(value) if loose else source.closed(value)


COPY = "Write to a copy: what was saved keeps its values."


def is_container(source, owner):
    """Tell whether a name or an attribute is a list or a dictionary, as far as the file says so."""
    name = dotted(owner)
    stores = {store for one in source.scope(owner).body for store in named(one, ast.Store)}
    scope = source.scope(owner) if name in stores and "." not in name else source.tree
    for one in ast.walk(scope) if name else ():
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            kinds = ast.Dict, ast.List, ast.DictComp, ast.ListComp
            if name in map(dotted, targets):
                if isinstance(one.value, kinds) or called(one.value) in ("dict", "list", "defaultdict", "OrderedDict"):
                    return True
    return False


def in_a_loop(source, statement, sign):
    """`for p, g in zip(fast, slopes): p -= lr * g` → `fast = [p - lr * g for p, g in zip(fast, slopes)]`."""
    loop = statement.parent
    if not isinstance(loop, ast.For) or loop.body != [statement] or loop.orelse or not source.alone(statement):
        return
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(statement, ast.AugAssign) and sign:
        value = beside(source, sign, statement.value)
        name, new = dotted(statement.target), f"{source.text(statement.target)} {sign} {value}"
    elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and METHOD.fullmatch(call.func.attr):
        inner = ", ".join(source.text(one) for one in [*call.args, *call.keywords])
        name, new = dotted(call.func.value), f"{source.text(call.func.value)}.{call.func.attr[:-1]}({inner})"
    else:
        return
    several = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    lists = loop.iter.args if called(loop.iter) == "zip" else [loop.iter]
    for one, held in zip(several, lists, strict=False):
        if dotted(one) == name and isinstance(held, ast.Name) and can_rebind(source, held):
            new = f"{held.id} = [{new} for {source.text(loop.target)} in {source.text(loop.iter)}]"
            yield source.edit("Make new tensors: the list gets them, and what was saved stays.", source.swap(loop, new))


def method_edits(source, statement, call):
    """`x.mul_(a)` → `x = x.mul(a)`; `torch.relu_(x)` → `torch.relu(x)`."""
    owner, method = call.func.value, call.func.attr[:-1]
    inner = ", ".join(source.text(one) for one in [*call.args, *call.keywords])
    text = source.text(owner)
    says = f"Make a new tensor: `{method}` in place of `{method}_`."
    if dotted(owner) in MODULES:
        new = f"{text}.{method}({inner})"
        if isinstance(statement, ast.Expr) and statement.value is call and call.args:
            new = f"{source.text(call.args[0])} = {new}"
        yield source.edit(says, source.swap(call, new))
        return
    if not isinstance(owner, (ast.Name, ast.Attribute)) or not can_rebind(source, owner):
        alone = isinstance(statement, ast.Expr) and statement.value is call
        if not isinstance(owner, (ast.Name, ast.Subscript)) and not alone:
            yield source.edit(says, source.swap(call, f"{text}.{method}({inner})"))  # f(x).relu_()
        return
    new = {
        "zero": f"torch.zeros_like({text})",
        "fill": f"torch.full_like({text}, {inner})",
        "copy": f"{inner}.clone()",
        "bernoulli": f"torch.bernoulli(torch.full_like({text}, {inner}))",
        "normal": f"torch.randn_like({text})",
        "uniform": f"torch.rand_like({text})",
    }.get(method, f"{text}.{method}({inner})")
    if isinstance(statement, ast.Expr) and statement.value is call:
        new = f"{text} = {new}"
    elif isinstance(statement, ast.Assign) and statement.value is call and source.text(statement.targets[0]) != text:
        new = f"{text} = {new}"  # y = x = x.mul(a)
    yield source.edit(says, source.swap(call, new))


def mask_edits(source, statement, target):
    """`x[mask] = 0` → `x = x.masked_fill(mask, 0)`."""
    owner, index, value = target.value, target.slice, statement.value
    number = isinstance(value, (ast.Constant, ast.UnaryOp)) or "inf" in source.text(value)
    mask = isinstance(index, (ast.Compare, ast.UnaryOp)) or "mask" in source.text(index).lower()
    mask = mask and not (isinstance(index, ast.UnaryOp) and not isinstance(index.op, ast.Invert))
    if number and mask and isinstance(owner, (ast.Name, ast.Attribute)) and can_rebind(source, owner):
        name = source.text(owner)
        new = f"{name} = {name}.masked_fill({source.text(index)}, {source.text(value)})"
        says = "Fill a new tensor, and leave the saved one alone."
        yield source.edit(says, source.swap(statement, new))


def stacked(source, made, statement):
    """`y = torch.zeros(n, d)`, `for i in range(n): y[i] = x` → a list, and torch.stack() behind the loop."""
    loop, target = source.up(statement, ast.For), statement.targets[0] if isinstance(statement, ast.Assign) else None
    if loop is None or not isinstance(target, ast.Subscript) or made not in source.block(loop):
        return
    name, whole = dotted(target.value), "range" in source.text(loop.iter) or "enumerate" in source.text(loop.iter)
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    uses = [one for one in ast.walk(loop) if dotted(one) == name]
    if not whole or dotted(target.slice) != dotted(first) or len(uses) != 1:
        return
    end = source.whole(loop)[1]
    tail = "" if source.bytes[:end].endswith(b"\n") else "\n"
    yield source.edit(
        "Collect the parts in a list, and join them when they are all there.",
        source.swap(made.value, "[]"),
        source.swap(statement, f"{name}.append({source.text(statement.value)})"),
        (end, end, f"{tail}{source.indent(loop)}{name} = torch.stack({name})\n"),
    )


def fills_a_buffer(place):
    """Tell whether a line in a loop writes to one item after the other: copies of everything would be dear."""
    source = source_of(place.file)
    node = source.at(place)
    statement = source.up(node, ast.stmt)
    wrote = target_of(source, node, statement)
    return isinstance(wrote, ast.Subscript) and bool(source.around(statement, *LOOPS))


def at_the_read(finding, place, slot, changed):
    """Edits at the line that saved: it reads a copy."""
    if place is None:
        return
    source = source_of(place.file)
    node = source.at(place)
    wrote = None
    if changed is not None and changed.file == place.file:
        other = source.at(changed)
        target = target_of(source, other, source.up(other, ast.stmt))
        wrote = dotted(base_of(target)) if target is not None else None
    if slot == "result" and isinstance(node, ast.expr):
        yield source.edit("Go on with a copy of what is saved.", source.swap(node, f"{source.closed(node)}.clone()"))
        return
    operand = None
    if isinstance(node, ast.AugAssign):
        node = ast.BinOp(node.target, node.op, node.value)
    if isinstance(node, ast.BinOp):
        operand = node.left if slot in LEFT else node.right if slot in RIGHT else None
        if wrote and operand is not None and dotted(base_of(operand)) != wrote:
            sides = [one for one in (node.left, node.right) if dotted(base_of(one)) == wrote]
            operand = sides[0] if len(sides) == 1 else operand
    elif isinstance(node, ast.Call):
        args = [*node.args, *(word.value for word in node.keywords)]
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        candidates = [one for one in [*args, owner] if one is not None]
        matching = [one for one in candidates if wrote and dotted(base_of(one)) == wrote]
        if matching:
            operand = matching[0]
        elif slot in LEFT and args and (owner is None or dotted(owner) in MODULES or "self" == dotted(owner)):
            operand = args[0]
    if isinstance(operand, ast.expr) and hasattr(operand, "lineno") and called(operand) != "clone":
        yield source.edit(
            "Let the line that saves read a copy.", source.swap(operand, f"{source.closed(operand)}.clone()")
        )
