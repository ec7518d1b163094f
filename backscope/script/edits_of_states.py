"""Edits about what is carried from one step to the next, with its history: a recurrent state, a running sum."""

import ast

from backscope.script.places import is_of
from backscope.script.source import LOOPS, calls_in, dotted, met, named, source_of, value_in

COMPREHENSIONS = ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp
STATE = "Carry the state over without its history: gradients stop at the beginning of this step."
SUM = "Sum up numbers for the log, and call backward() on the loss of this step."


def carried_edits(finding, *places):
    """`h = cell(x, h)`, `self.h = cell(x, self.h)`, `total += loss`: cut where the step begins."""
    for place in places:
        if place is None:
            continue
        there = met(place, finding.failed)
        shared = False
        if there is not None:
            shared = yield from in_the_loop(finding, *there)
        for here in place.outwards[:4]:
            yield from in_a_method(finding, here, there, shared)
            if there is not None and here.key == there[0].key:
                break


def in_the_loop(finding, here, failed):
    """Edits in the function that calls backward(). Returns whether several calls of one step share the state."""
    source = source_of(here.file)
    statement, last = (source.up(source.at(one), ast.stmt) for one in (here, failed))
    both = [one for one in source.around(last, *LOOPS) if statement in list(ast.walk(one))]
    if not both:
        return False
    loop = both[0]
    between = source.around(source.at(here), *LOOPS, *COMPREHENSIONS)
    shared = bool(between) and between[0] is not loop
    names = carried(source, statement, loop)
    name = dotted(statement.target) if isinstance(statement, ast.AugAssign) else ""
    summed = name or next((one for one in names if isinstance(statement.value, ast.BinOp)), "")
    passes = [one for one in calls_in(last, "backward") if dotted(getattr(one.func, "value", None)) == summed != ""]
    if name in names or summed in names and passes:
        yield from of_a_sum(source, statement, summed, passes)
        return shared
    reads = reads_in(statement, names)
    grown = set() if reads else grown_lists(statement, loop)
    if grown:
        yield from after(source, last, [f"{one} = [each.detach() for each in {one}]" for one in sorted(grown)])
    elif reads and shared:
        lines = [f"{one} = {without_history(finding, failed, one)}" for one in dict.fromkeys(map(dotted, reads))]
        yield from after(source, last, lines)
    elif reads:
        swaps = [source.swap(one, guarded(source, one, without_history(finding, here, dotted(one)))) for one in reads]
        yield source.edit(STATE, *swaps, loses=True)
    return shared


def grown_lists(statement, loop):
    """The lists that a statement reads and that the loop appends to, and does not begin anew."""
    reads = set(named(statement, ast.Load))
    grown = {dotted(one.func.value) for one in calls_in(loop, "append") if isinstance(one.func, ast.Attribute)}
    return {one for one in reads & grown if one and one not in named(loop, ast.Store)}


def of_a_sum(source, statement, name, passes):
    """`total += loss; total.backward()`: the sum is for the log."""
    if isinstance(statement, ast.AugAssign):
        value, sign = statement.value, source.text(statement)[len(source.text(statement.target)) :].strip()[:1]
    else:
        sides = [one for one in (statement.value.left, statement.value.right) if dotted(one) != name]
        value, sign = sides[0], "+"
    if passes:
        loss, head = source.text(value), []
        if not dotted(value):  # `total += f(x)`: the loss of this step gets a name
            known = {one.id for one in ast.walk(source.scope(statement)) if isinstance(one, ast.Name)}
            loss = "loss" if "loss" not in known else "this_loss"
            head = [source.before(statement, f"{loss} = {source.text(value)}")]
        yield source.edit(SUM, *head, source.swap(value, f"{loss}.item()"), source.swap(passes[0].func.value, loss))
        return
    zero = any(
        isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant) and name in map(dotted, one.targets)
        for one in ast.walk(source.scope(statement))
    )
    old = f"float({name})" if zero else f"{name}.detach()"
    new = f"{name} = {old} {sign} {source.closed(value)}"
    yield source.edit("Carry over the number without its history.", source.swap(statement, new), loses=True)


def in_a_method(finding, here, there, shared):
    """A state that an object keeps: cut in the method, or after the pass where several calls of a step share it."""
    source = source_of(here.file)
    statement = source.up(source.at(here), ast.stmt)
    scope = source.scope(statement)
    stored = [
        one for one in ast.walk(scope)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and dotted(one).startswith("self.")
    ]  # fmt: skip
    names = {dotted(one) for one in stored if one.lineno >= statement.lineno}
    names -= {dotted(one) for one in stored if one.lineno < statement.lineno}
    reads = reads_in(statement, names)
    if not reads:
        return
    names = list(dict.fromkeys(map(dotted, reads)))
    if source.file == finding.failed.file:
        last = source.up(source.at(finding.failed), ast.stmt)
        passes = [one for one in calls_in(last, "backward") if dotted(getattr(one.func, "value", None)) == names[0]]
        if passes and isinstance(getattr(statement, "value", None), ast.BinOp):
            yield from of_a_sum(source, statement, names[0], passes)
            return
    if shared:
        source, last = source_of(there[1].file), None
        last = source.up(source.at(there[1]), ast.stmt)
        holder = held_as(finding, there[1], [one.removeprefix("self.") for one in names])
        if holder:
            names = [one.replace("self", holder, 1) for one in names]
            yield from after(source, last, [f"{one} = {without_history(finding, there[1], one)}" for one in names])
            return
        source = source_of(here.file)
    swaps = [source.swap(one, guarded(source, one, without_history(finding, here, dotted(one)))) for one in reads]
    yield source.edit(STATE, *swaps, loses=True)


def after(source, last, lines):
    """The edit that puts lines behind the statement that calls backward()."""
    parent = getattr(last, "parent", None)
    if getattr(parent, "lineno", 0) == last.lineno and not isinstance(parent, ast.Module):
        return
    end = source.whole(last)[1]
    text = "".join(f"{source.indent(last)}{line}\n" for line in lines)
    tail = "" if source.bytes[:end].endswith(b"\n") else "\n"
    yield source.edit(
        "Carry the state over without its history, once the pass is over.", (end, end, tail + text), loses=True
    )


def held_as(finding, place, attributes):
    """Return what a place's frame calls the object with these attributes: `policy`, `self.policy`; "" if nothing."""
    frame = next((one for one in finding.frames if is_of(one, place)), None)
    if frame is None:
        return ""
    seen = {**frame.f_globals, **frame.f_locals}
    inside = getattr(seen.get("self"), "__dict__", {})
    inside = {**inside, **inside.get("_modules", {})}
    for name, value in [*seen.items(), *((f"self.{name}", value) for name, value in inside.items())]:
        if not name.startswith("_") and all(one in getattr(value, "__dict__", {}) for one in attributes):
            return name
    return ""


def carried(source, statement, loop):
    """The names that a statement reads and that an earlier turn of the loop has set, and this one has not yet."""
    reads = set(named(statement, ast.Load))
    if isinstance(statement, ast.AugAssign):
        reads.add(dotted(statement.target))
    found = set()
    targets = set(named(loop.target, ast.Store)) if hasattr(loop, "target") else set()
    for name in reads - targets - {"", "self"}:
        stores = [one for one in ast.walk(loop) if dotted(one) == name and isinstance(one.ctx, ast.Store)]
        late = [one for one in stores if one.lineno >= statement.lineno]
        resets = [source.up(one, ast.Assign) for one in stores if one.lineno < statement.lineno]
        if late and not any(one is not None and name not in named(one.value) for one in resets):
            found.add(name)
    return found


def reads_in(statement, names):
    """Find where a statement reads one of these names, without those that are cut already."""
    value = getattr(statement, "value", None) or statement
    reads = [one for one in ast.walk(value) if dotted(one) in names and isinstance(one.ctx, ast.Load)]
    return [one for one in reads if not is_detached(one)]


def is_detached(node):
    return isinstance(node.parent, ast.Attribute) and node.parent.attr in ("detach", "item", "data", "append", "grad")


def without_history(finding, place, text):
    """`h.detach()`, or the same of each part of a tuple."""
    value = value_of(finding, place, text)
    several = isinstance(value, (tuple, list))
    return f"tuple(part.detach() for part in {text})" if several else f"{text}.detach()"


def guarded(source, node, new):
    """The new text; where the state is None at first, `None if h is None else …`."""
    text = source.text(node)
    holder = source.tree if text.startswith("self.") else source.scope(node)
    for one in ast.walk(holder):
        nothing = isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant) and one.value.value is None
        if nothing and text in map(dotted, one.targets):
            return f"(None if {text} is None else {new})"
    return new


def value_of(finding, place, text):
    """The value of a name in the frame of a place, or of an attribute of `self` in a module that is alive."""
    for frame in finding.frames:
        if is_of(frame, place):
            return value_in(text, frame)
    if text.startswith("self."):
        for module in finding.names.modules.values():
            if text[5:] in vars(module):
                return vars(module)[text[5:]]
    return None
