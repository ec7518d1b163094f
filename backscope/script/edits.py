"""From a finding to edits: the cure as a change of the user's own text, and as a diff.

`propose(finding)` gives the edits that fit this case, the likeliest first. Each keeps the rest of the file as it is,
comments and all; nothing is written to disk.
"""

import ast
import re

from backscope.script import edits_of_neighbours, edits_of_order, edits_of_writes, origins
from backscope.script.source import (
    FUNCTIONS,
    Edit,
    base_of,
    called,
    calls_in,
    dotted,
    named,
    source_of,
    value_in,
    with_keyword,
    wrap,
)

FAULTS = (OSError, SyntaxError, AttributeError, KeyError, IndexError, TypeError, ValueError)


def propose(finding):
    """The Edits for a Finding, the likeliest first; an empty list where none is known."""
    found, seen = [], set()
    key = finding.row.key if finding.row is not None else None
    for make in (*origins.EDITS.get(key, ()), *KINDS.get(key, ())):
        try:
            for edit in make(finding):
                if edit.text not in seen and edit.text != edit.old_text and parses(edit.text):
                    seen.add(edit.text)
                    found.append(edit)
        except FAULTS:
            continue  # a file that is gone, a form of code that this maker does not know
    return found


def parses(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


# --- what the line itself says --------------------------------------------------------------------------------------


def place_of(finding):
    """(Source, node, statement) of the line where the error was raised."""
    source = source_of(finding.failed.file)
    node = source.at(finding.failed)
    return source, node, source.up(node, ast.stmt)


def of_a_leaf(finding):
    """A write to a leaf: unrecorded for a parameter's update, a new tensor for anything that is computed with."""
    source, node, statement = place_of(finding)
    target = edits_of_writes.target_of(source, node, statement)
    owner = base_of(target) if target is not None else None
    thing = value_in(dotted(owner), finding.frames[0]) if owner is not None and finding.frames else None
    parameters = finding.recorder.torch.nn.Parameter
    text = source.text(statement)
    is_parameter = isinstance(thing, parameters) or finding.facts.get("leaf") == "parameter"
    updates = ".grad" in text or re.search(r"\b(lr|learning_rate|alpha|eta|step_size)\b", text)
    if is_parameter or updates or thing is None and "nn.init" in text:
        wrapped = wrap(source, statement, "with torch.no_grad():")
        yield Edit(
            source.file, wrapped, "Write without recording: the parameter keeps its place, and no gradient is lost."
        )
    else:
        yield from edits_of_writes.at_the_write(finding, finding.failed)


def of_a_scalar(finding):
    source, node, _ = place_of(finding)
    call = source.up(node, ast.Call)
    while call is not None and called(call) not in ("backward", "grad", "manual_backward"):
        call = source.up(getattr(call, "parent", None), ast.Call)
    if call is None:
        return
    method = called(call) == "backward" and dotted(call.func) not in ("torch.autograd.backward", "autograd.backward")
    one = call.func.value if method else call.args[0]
    if method and dotted(one) in ("self", "accelerator", "fabric", "self.accelerator", "self.fabric") and call.args:
        one = call.args[0]
    source, one = handed(finding, source, one)
    scaled = one if not (isinstance(one, ast.Call) and called(one) == "scale" and one.args) else one.args[0]
    if called(call) == "grad":
        yield source.edit(
            "Add them up first: each element keeps its own gradient where they do not depend on each other.",
            source.swap(scaled, source.closed(scaled) + ".sum()"),
        )
        return
    yield source.edit(
        "Take the mean: one number, whose gradient does not grow with the size of the batch.",
        source.swap(scaled, source.closed(scaled) + ".mean()"),
    )
    yield source.edit(
        "Or the sum, if every element shall count in full: gradients grow with their number.",
        source.swap(scaled, source.closed(scaled) + ".sum()"),
    )


def handed(finding, source, one):
    """Find what a caller hands over to a wrapper that calls backward() on its argument: (source, expression)."""
    scope, outwards = source.scope(one), finding.failed.outwards
    if not isinstance(scope, FUNCTIONS[:2]) or len(outwards) < 2 or finding.line("made") is None:
        return source, one
    arguments = [each.arg for each in scope.args.args if each.arg != "self"]
    stores = {name for each in scope.body for name in named(each, ast.Store)}
    there = source_of(outwards[1].file)
    outer = next(iter(calls_in(there.up(there.at(outwards[1]), ast.stmt), scope.name)), None)
    at = arguments.index(dotted(one)) if dotted(one) in arguments and dotted(one) not in stores else -1
    return (there, outer.args[at]) if outer is not None and 0 <= at < len(outer.args) else (source, one)


def of_numpy(finding):
    """`x.numpy()` and what calls it: the values, taken where they leave the graph."""
    source, node, statement = place_of(finding)
    frame = finding.frames[0] if finding.frames else None
    call = source.up(node, ast.Call)
    if called(call) in ("numpy", "__array__") and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        inner = owner
        while called(inner) in ("cpu", "to", "float", "double", "squeeze") and isinstance(inner.func, ast.Attribute):
            inner = inner.func.value
        thing = value_in(dotted(inner), frame) if frame is not None else None
        cpu = ".cpu()" if inner is owner and getattr(getattr(thing, "device", None), "type", "cuda") != "cpu" else ""
        yield source.edit(
            "Take the values out of the graph before NumPy gets them.",
            source.swap(inner, f"{source.closed(inner)}.detach(){cpu}"),
        )
        return
    operands = [one for one in (call.args if call is not None else [])]
    for one in operands or [base_of(node)]:
        thing = value_in(dotted(one), frame) if frame is not None and dotted(one) else None
        if isinstance(one, (ast.ListComp, ast.GeneratorExp)):
            new = f"{source.closed(one.elt)}.detach()"
            yield source.edit("Hand over the values without their history.", source.swap(one.elt, new))
        elif isinstance(thing, (list, tuple)) and any(getattr(each, "requires_grad", False) for each in thing):
            scalars = all(getattr(each, "ndim", 0) == 0 for each in thing)
            yield from appended(source, dotted(one), scalars)
            take = "item()" if scalars else "detach().cpu()"
            new = f"[one.{take} for one in {source.text(one)}]"
            yield source.edit("Or take the values where the list is read.", source.swap(one, new))
        elif getattr(thing, "requires_grad", False) or len(operands) == 1 and thing is None:
            cpu = ".cpu()" if thing is None or thing.device.type != "cpu" else ""
            new = f"{source.closed(one)}.detach(){cpu}"
            yield source.edit("Hand over the values without their history.", source.swap(one, new))


def appended(source, name, scalars):
    """`losses.append(loss)` → `losses.append(loss.item())`: the list holds numbers, and no graph stays alive."""
    take = "item()" if scalars else "detach()"
    for one in calls_in(source.tree, "append"):
        list_ = dotted(one.func.value) if isinstance(one.func, ast.Attribute) else ""
        if list_.split(".")[-1] == name.split(".")[-1] and one.args:
            value = one.args[0]
            if called(value) not in ("item", "detach"):
                yield source.edit(
                    "Keep the values where they are collected: the list holds no graph alive then.",
                    source.swap(value, f"{source.closed(value)}.{take}"),
                )


# --- where a history ends -------------------------------------------------------------------------------------------


def of_a_cut(finding):
    """No history: out with the detach(), stack() in place of tensor(), recording on."""
    kind, cut = finding.facts.get("cut"), finding.cut
    if kind in ("left", "numbers") and cut is not None and cut.place is not None:
        yield from without_cut(finding, cut)
    if kind == "off":
        yield from recording_on(finding)
    if kind == "frozen":
        yield from thawed(finding)
    if kind == "function" and cut is not None and cut.place is not None:
        yield from keyword(cut.place, "use_reentrant", "False", "checkpoint", REENTRANT)
    if kind == "grad" and cut is not None and cut.place is not None:
        yield from keyword(cut.place, "create_graph", "True", "grad", "Let the gradient have a history of its own.")


REENTRANT = "The kind of checkpoint that records as usual, and only drops what was saved."


def without_cut(finding, cut):
    source = source_of(cut.place.file)
    node = source.at(cut.place)
    call = source.up(node, ast.Call)
    if cut.name == "data":
        one = node if isinstance(node, ast.Attribute) and node.attr == "data" else None
        if one is not None:
            says = "Keep the history: leave `.data` out."
            yield source.edit(says, source.swap(one, source.text(one.value)))
        return
    if called(call) in ("detach", "detach_") and isinstance(call.func, ast.Attribute):
        yield source.edit(
            "Keep the history: leave detach() out where a gradient is wanted.",
            source.swap(call, source.text(call.func.value)),
        )
    makers = "tensor", "as_tensor", "asarray", "FloatTensor"
    if called(call) in makers and call.args:
        others = calls_in(source.up(call, ast.stmt), *makers)
        call = next((one for one in [call, *others] if items_in(source, one)), call)
        inner = call.args[0]
        is_list = isinstance(inner, (ast.List, ast.Tuple, ast.ListComp))
        edits = [source.swap(item, source.text(item.func.value)) for item in items_in(source, call)]
        thing = value_in(dotted(inner), finding.frames[0]) if finding.frames and dotted(inner) else None
        if is_list or isinstance(thing, (list, tuple)) or edits and dotted(inner):
            head = source.text(call.func).rpartition(".")[0] or "torch"
            first = source.span(call.func)
            last = source.span(inner)[1], source.span(call)[1] - 1, ""  # requires_grad=True, a dtype
            yield source.edit(
                "stack() joins the tensors themselves, and keeps their histories.",
                (*first, f"{head}.stack"),
                last,
                *edits,
            )
        elif cut.numbers:
            items = [source.swap(call, source.text(inner))]
            for place in {one.place for one in cut.numbers if one.place is not None and one.place.file == source.file}:
                item = source.up(source.at(place), ast.Call)
                if called(item) == "item":
                    items.append(source.swap(item, source.text(item.func.value)))
            if len(items) > 1:
                yield source.edit("Keep tensors all the way: no item(), and no new tensor of numbers.", *items)
        else:
            yield source.edit("It is a tensor already.", source.swap(call, source.text(inner)))


def items_in(source, call):
    """The calls of item() whose numbers a call such as torch.tensor(losses) gets, also where the list is filled."""
    if not call.args:
        return []
    name, inside = dotted(call.args[0]), [call.args[0]]
    for one in calls_in(source.tree, "append") if name else ():
        if isinstance(one.func, ast.Attribute) and dotted(one.func.value) == name and one.args:
            inside.append(one.args[0])
    return [item for one in inside for item in calls_in(one, "item") if isinstance(item.func, ast.Attribute)]


def thawed(finding):
    """`p.requires_grad = False` for everything: told to learn again."""
    source, nodes = finding.found["frozen"]
    yield source.edit(
        "Let them learn; or freeze only what shall stay as it is.", *(source.swap(one, "True") for one in nodes)
    )


def recording_on(finding):
    """The pass runs inside of the block: record there. The pass runs outside: take the block away."""
    line, failed = finding.line("off"), finding.failed
    torch_on = "enable_grad"
    if line is None:
        return
    source = source_of(line.file)
    block = finding.found["off"]
    if isinstance(block, ast.Expr):  # torch.set_grad_enabled(False)
        rest = source.block(block)
        rest = rest[rest.index(block) + 1 :]
        if rest and rest[0].lineno > block.lineno:
            start, end = source.whole(rest[0])[0], source.whole(rest[-1])[1]
            body = source.bytes[start:end].decode().splitlines(keepends=True)
            body = "".join("    " + one if one.strip() else one for one in body)
            head = source.swap(block, f"with {source.text(block.value.func).rpartition('.')[0] or 'torch'}.no_grad():")
            yield source.edit("Switch recording off for these lines only, and not for all that follow.", head,
                              (start, end, body))  # fmt: skip
        return
    if not isinstance(block, ast.With):
        block = block.parent  # the function of a decorator
    inside = any(
        place.file == line.file and block.lineno <= place.line <= block.end_lineno for place in failed.outwards
    )
    cut_source = source_of(finding.cut.place.file)
    if inside:
        here, there = finding.cut.place, failed
        scope = cut_source.scope(cut_source.at(here))
        if here.file == there.file and scope is cut_source.scope(cut_source.at(there)):
            first = cut_source.up(cut_source.at(here), ast.stmt)
            last = cut_source.up(cut_source.at(there), ast.stmt)
            inner = isinstance(block, ast.With) and block.lineno >= getattr(scope, "lineno", 0)
            if isinstance(scope, FUNCTIONS) and not inner and scope is not block:
                yield cut_source.edit(
                    "Record inside of this function, also where its caller has switched recording off.",
                    cut_source.before(scope, f"@torch.{torch_on}()"),
                )
            together = cut_source.block(first)
            if last in together:
                yield Edit(
                    cut_source.file,
                    wrapped_lines(cut_source, together, first, last, f"with torch.{torch_on}():"),
                    "Record these lines, also within the block.",
                )
        else:
            outer = next((one for one in there.outwards if one.file == line.file), None)
            if outer is not None:
                statement = source.up(source.at(outer), ast.stmt)
                says = "Record here, also within the block."
                yield Edit(source.file, wrap(source, statement, f"with torch.{torch_on}():"), says)
        return
    switch = block.items[0].context_expr if isinstance(block, ast.With) else None
    if called(switch) == "set_grad_enabled" and switch.args and dotted(switch.args[0]):
        yield from only_where_recorded(finding, source, block, source.text(switch.args[0]))
        return
    if isinstance(block, ast.With) and len(block.items) == 1:
        yield Edit(source.file, unwrapped(source, block), "Record what the loss is computed from: take the block away.")
    elif isinstance(block, (ast.FunctionDef, ast.AsyncFunctionDef)):
        one = finding.found["off"]
        yield source.edit(
            "Record in this function: take the decorator away.",
            (source.starts[one.lineno - 1], source.starts[one.end_lineno], ""),
        )


def only_where_recorded(finding, source, block, condition):
    """`with torch.set_grad_enabled(train):`: backward() and step() where it is true."""
    there = next((one for one in finding.failed.outwards if one.file == source.file), None)
    last = source.up(source.at(there), ast.stmt) if there is not None else None
    together = source.block(block)
    if last not in together or isinstance(last.parent, ast.If):
        return
    end = together.index(last)
    while end + 1 < len(together) and calls_in(together[end + 1], "step", "update"):
        end += 1
    begin = together.index(last)
    while begin > 0 and calls_in(together[begin - 1], "zero_grad"):
        begin -= 1
    text = wrapped_lines(source, together, together[begin], together[end], f"if {condition}:")
    yield Edit(source.file, text, "Learn only where recording is on.")


def wrapped_lines(source, block, first, last, head):
    """The text with the statements from first to last indented below `head`."""
    start, end = source.whole(first)[0], source.whole(last)[1]
    body = source.bytes[start:end].decode()
    body = "".join("    " + line if line.strip() else line for line in body.splitlines(keepends=True))
    return source.changed((start, end, f"{source.indent(first)}{head}\n{body}"))


def unwrapped(source, block):
    """The text with the body of a `with` in its place."""
    first, last = block.body[0], block.body[-1]
    step = len(source.indent(first)) - len(source.indent(block))
    if first.lineno == block.lineno:
        inside = source.bytes[source.span(first)[0] : source.span(last)[1]].decode()
        return source.changed((*source.span(block), inside))
    start, end = source.starts[block.body[0].lineno - 1], source.whole(last)[1]
    body = source.bytes[start:end].decode().splitlines(keepends=True)
    body = "".join(line[step:] if line.strip() else line for line in body)
    return source.changed((source.whole(block)[0], end, body))


def keyword(place, name, value, of, says):
    """A keyword argument of the call at a place, set or added."""
    source = source_of(place.file)
    call = source.up(source.at(place), ast.Call)
    while call is not None and called(call) != of:
        call = source.up(getattr(call, "parent", None), ast.Call)
    if call is None:
        return
    yield Edit(source.file, with_keyword(source, call, name, value), says)


KINDS = {
    "inference saved": (edits_of_neighbours.of_inference,),
    "inference written": (edits_of_neighbours.of_inference,),
    "inference requires grad": (edits_of_neighbours.of_inference,),
    "view from a Function": (edits_of_neighbours.of_a_returned_view,),
    "gradient number": (edits_of_neighbours.of_a_count,),
    "full backward hook": (edits_of_neighbours.of_a_full_hook,),
    "ddp unfinished": (edits_of_neighbours.of_unused,),
    "ddp ready twice": (edits_of_neighbours.of_twice,),
    "checkpoint": (edits_of_neighbours.of_a_checkpoint,),
    "checkpoint and grad": (edits_of_neighbours.of_a_checkpoint,),
    "deepcopy": (edits_of_neighbours.of_a_stored_result,),
    "second derivative of attention": (edits_of_neighbours.of_attention,),
    "no derivative": (edits_of_neighbours.of_a_first_derivative,),
    "once differentiable": (edits_of_neighbours.of_a_mark,),
    "scaler": (edits_of_neighbours.of_a_second_unscale,),
    "func write": (edits_of_neighbours.of_captured_buffers,),
    "vmap random": (edits_of_neighbours.of_randomness,),
    "vmap write": (edits_of_neighbours.of_a_shared_target,),
    "vmap value": (edits_of_neighbours.of_a_value,),
    "donated buffers": (edits_of_neighbours.of_donated_buffers,),
    "compiled double backward": (edits_of_neighbours.of_a_compiled_penalty,),
    "func and checkpoint": (edits_of_neighbours.of_a_checkpoint_inside,),
    "sparse gradients": (edits_of_neighbours.of_sparse,),
    "forward mode": (edits_of_neighbours.of_forward_mode,),
    "to another process": (edits_of_neighbours.of_a_queue,),
    "optimizer non-leaf": (edits_of_neighbours.of_a_computed_leaf,),
    "grad is None": (edits_of_neighbours.of_a_missing_gradient,),
    "unused": (edits_of_neighbours.of_an_unused_input,),
    "flag of a computed tensor": (edits_of_neighbours.of_a_flag,),
    "not a tensor": (edits_of_neighbours.of_a_number,),
    "numpy's function": (edits_of_neighbours.of_numpys_function,),
    "grad for plain": (edits_of_neighbours.of_a_plain_input,),
    "version": (edits_of_neighbours.of_a_backward, edits_of_order.of_a_step, edits_of_writes.of_a_write),
    "freed": (edits_of_order.of_a_second_pass,),
    "leaf": (of_a_leaf,),
    "view of leaf": (of_a_leaf,),
    "not a scalar": (of_a_scalar,),
    "numpy": (of_numpy,),
    "no history": (of_a_cut,),
    "view of several": (edits_of_writes.of_a_view,),
    "view made unrecorded": (edits_of_writes.of_a_view,),
    "overlaps itself": (edits_of_neighbours.of_an_expanded_parameter, edits_of_writes.of_a_view),
}
