"""Find where what failed came from: copies without history, plain inputs, norms under vmap, copied models, draws."""

import ast

from backscope.script.blocks import function_at
from backscope.script.histories import graph_of
from backscope.script.neighbours import FAULTS, line_at, second_run
from backscope.script.source import FUNCTIONS, called, calls_in, dotted, named, source_of, value_in

DRAWS = {  # what draws a number -> the same by PyTorch's generator, whose state checkpoint() keeps and restores
    "random.random": "torch.rand(()).item()", "numpy.random.rand": "torch.rand(()).item()",
    "numpy.random.random": "torch.rand(()).item()", "random.randint": "torch.randint({0}, {1} + 1, ()).item()",
    "random.randrange": "torch.randint({0}, ()).item()", "numpy.random.randint": "torch.randint({0}, ()).item()",
    "random.uniform": "torch.empty(()).uniform_({0}, {1}).item()",
    "numpy.random.uniform": "torch.empty(()).uniform_({0}, {1}).item()",
}  # fmt: skip
SETS = "seed", "getstate", "setstate", "get_state", "set_state", "Random", "default_rng", "RandomState"
NORMS = "BatchNorm", "InstanceNorm", "SyncBatchNorm"


def tell(finding):
    """Add the lines that the kind of the error asks for."""
    ask = KINDS.get(finding.row.key)
    if ask is not None:
        try:
            ask(finding)
        except FAULTS:
            return  # a file that is gone, a form of code that is not known


def at(role, place, what):
    from backscope.script import findings

    return findings.at(role, place, what)


# --- gradients that were asked for ------------------------------------------------------------------------------------


def inputs_of(finding):
    """Return (Source, statement, syntax tree of the inputs, or None) of the grad() that failed."""
    source = source_of(finding.failed.file)
    node = source.at(finding.failed)
    call = source.up(node, ast.Call)
    while call is not None and called(call) != "grad":
        call = source.up(getattr(call, "parent", None), ast.Call)
    if call is None:
        return source, source.up(node, ast.stmt), None
    inputs = next((one.value for one in call.keywords if one.arg == "inputs"), None)
    inputs = inputs if inputs is not None else call.args[1] if len(call.args) > 1 else None
    return source, source.up(node, ast.stmt), inputs


def copied_input(finding):
    """Name the line that made copies without history, of the shapes of what was asked for, that the output hangs on."""
    if finding.line("cut") is not None:
        return
    _, _, inputs = inputs_of(finding)
    asked = [value_in(name, finding.frames[0]) for name in named(inputs, ast.Load)] if inputs is not None else []
    asked = [one for each in asked for one in (each if isinstance(each, (list, tuple)) else [each])]
    shapes = {tuple(one.shape) for one in asked if isinstance(one, finding.recorder.tensor)}
    for leaf in graph_of(finding.roots)[1].values():
        _, cut = finding.recorder.cuts.get(id(leaf), (None, None))
        if cut is None or cut.place is None or tuple(leaf.shape) not in shapes:
            continue
        what = f"{cut.name}() makes a copy without history here, and the output is computed from that copy"
        finding.lines.insert(0, at("cut", cut.place, what))
        finding.found["copies"] = cut.place
        return


def of_a_copied_input(finding):
    """Turn `p.clone().detach().requires_grad_()` into `p.clone()`, and `p.detach()` into `p`."""
    if "copies" not in finding.found:
        return
    source = source_of(finding.found["copies"].file)
    node = source.up(source.at(finding.found["copies"]), ast.Call, ast.Attribute)
    while isinstance(getattr(node, "parent", None), ast.Attribute) and called(node.parent.parent) in CHAIN:
        node = node.parent.parent
    base, cloned = node, False
    while called(base) in CHAIN and isinstance(base.func, ast.Attribute) or getattr(base, "attr", "") == "data":
        cloned |= called(base) == "clone"
        base = base.func.value if isinstance(base, ast.Call) else base.value
    if base is not node:
        says = "Start from the tensors themselves: what is computed from them leads back to them."
        yield source.edit(says, source.swap(node, source.closed(base) + (".clone()" if cloned else "")))


CHAIN = "detach", "clone", "requires_grad_"


def plain_input(finding):
    """Name the line that made the tensor that was asked for, and requires no grad."""
    source, statement, inputs = inputs_of(finding)
    frame = finding.frames[0] if finding.frames else None
    for name in named(inputs, ast.Load) if inputs is not None and frame is not None else ():
        if getattr(value_in(name, frame), "requires_grad", True):
            continue
        made = last_set(source, name, statement)
        where = finding.failed.function
        scope = source.scope(statement)
        arguments = [one.arg for one in scope.args.args] if isinstance(scope, FUNCTIONS[:2]) else []
        if made is None and name in arguments and len(finding.failed.outwards) > 1:  # the caller made it
            caller = finding.failed.outwards[1]
            source, where = source_of(caller.file), caller.function
            statement = source.up(source.at(caller), ast.stmt)
            call = next(iter(calls_in(statement, scope.name)), None)
            number = arguments.index(name) - (arguments[0] in ("self", "cls"))
            given = next((one.value for one in call.keywords if one.arg == name), None) if call is not None else None
            given = given if given is not None or call is None or number >= len(call.args) else call.args[number]
            name = dotted(given) if given is not None else ""
            made = last_set(source, name, statement) if name else None
        if made is not None:
            what = f"`{name}` was made here, and requires no grad"
            finding.lines.insert(0, line_at("made", source.file, made, where, what))
        return


def last_set(source, name, statement):
    """Return the last assignment to a name before a statement, in the same function; None without one."""
    found = [
        one
        for one in ast.walk(source.scope(statement))
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.lineno < statement.lineno
        and name in named(one, ast.Store)
    ]  # fmt: skip
    return max(found, key=lambda one: one.lineno, default=None)


# --- norms under vmap -------------------------------------------------------------------------------------------------


def norm_under_vmap(finding):
    """Name the module that keeps running statistics, and the line that builds it."""
    module, step = None, finding.error.__traceback__
    while step is not None:
        one = step.tb_frame.f_locals.get("self") if step.tb_frame.f_code is finding.recorder.call_impl else None
        module = one if type(one).__name__.startswith(NORMS) else module
        step = step.tb_next
    if module is None:
        return
    called_ = f"the {type(module).__name__} at `{finding.names.of(module)}`"
    failed = finding.line("failed")
    if failed is not None:
        failed.more.append(f"in {called_}")
    places = []
    for one in finding.names.modules.values():
        reference, place = finding.recorder.built.get(id(one), (None, None))
        if type(one).__name__.startswith(NORMS) and place is not None and reference() is one and one.training:
            places.append(place)
            if one is module:
                finding.lines.insert(0, at("built", place, f"{called_} was built here: it keeps running statistics"))
    finding.found["norms"] = list(dict.fromkeys(places))


def of_norms_under_vmap(finding):
    """Give each norm of the file track_running_stats=False."""
    file, calls = None, []
    for place in finding.found.get("norms", ()):
        source = source_of(place.file)
        call = source.up(source.at(place), ast.Call)
        if call is not None and called(call).startswith(NORMS) and file in (None, place.file):
            file, calls = place.file, [*calls, call]
    if not calls:
        return
    swaps = []
    for call in calls:
        end = source_of(file).span(call)[1] - 1
        if not any(word.arg == "track_running_stats" for word in call.keywords):
            swaps.append((end, end, ", track_running_stats=False"))
    says = "Keep no running statistics: each sample is normalised by its own numbers. (GroupNorm does so, too.)"
    yield source_of(file).edit(says, *dict.fromkeys(swaps))


# --- a scaler and the copy of a model ---------------------------------------------------------------------------------


def other_copy(finding):
    """Find a like model whose parameters have the gradients that those of the optimizer lack."""
    if "No inf checks" not in finding.message:
        return
    optimizer, step = None, finding.error.__traceback__
    while step is not None:
        optimizer = step.tb_frame.f_locals.get("optimizer", optimizer)
        step = step.tb_next
    own = [one for group in optimizer.param_groups for one in group["params"]]
    shapes, ids = sorted(tuple(one.shape) for one in own), {id(one) for one in own}
    for module in finding.names.modules.values():
        parameters = list(module.parameters())
        if (
            sorted(tuple(one.shape) for one in parameters) == shapes
            and not any(id(one) in ids for one in parameters)
            and any(one.grad is not None for one in parameters)
        ):
            return tell_copy(finding, optimizer, module)


def tell_copy(finding, optimizer, module):
    """Say that `module` ran, and that the optimizer has another one's parameters."""
    name = finding.names.of(module) or ""
    makes = copies = ()
    for file in finding.files:
        source = source_of(file)
        makes = makes or [(source, call) for call in calls_in(source.tree, type(optimizer).__name__)]
        copies = [*copies, *((source, call) for call in calls_in(source.tree, "deepcopy"))]
    if len(copies) > 1:
        copies = [one for one in copies if target_of(*one).rpartition(".")[2] == name.rpartition(".")[2]]
    reference, place = finding.recorder.built.get(id(module), (lambda: None, None))
    what = f"the model that ran, `{name}`, was made here: another one than that of the optimizer"
    if reference() is module and place is not None:
        finding.lines.insert(0, at("made", place, what))
    elif len(copies) == 1:
        source, call = copies[0]
        what = f"the model that ran is a copy, made here: the optimizer has the parameters of `{name_of(source, call)}`"
        finding.lines.insert(0, line_at("copied", source.file, call, function_at(source, call), what))
    else:
        return
    if len(makes) == 1:
        source, call = makes[0]
        what = "this optimizer has parameters that no pass reaches"
        finding.lines.insert(1, line_at("owns", source.file, call, function_at(source, call), what))
        if len(copies) == 1 and copies[0][0] is source:
            finding.found["owns"] = source, call, copies[0][1]
    finding.facts["cures"] = [
        "Build the optimizer of the parameters of the model that runs, after the model was copied.",
        "Or train the model that the optimizer has, and keep the copy for something else.",
    ]


def target_of(source, call):
    statement = source.up(call, ast.stmt)
    return dotted(statement.targets[0]) if isinstance(statement, ast.Assign) and statement.value is call else ""


def name_of(source, call):
    return source.text(call.args[0]) if call.args else ""


def of_another_copy(finding):
    """Give the optimizer the parameters of the copy, and build it after the copy."""
    if "owns" not in finding.found:
        return
    source, make, copy = finding.found["owns"]
    target, name = target_of(source, copy), name_of(source, copy)
    reads = [one for one in ast.walk(make) if dotted(one) == name and isinstance(one.ctx, ast.Load)]
    statement, other = source.up(make, ast.stmt), source.up(copy, ast.stmt)
    if not target or not reads or source.scope(make) is not source.scope(copy):
        return
    says = "Give the optimizer the parameters of the model that runs."
    if statement.lineno > other.lineno:
        yield source.edit(says, *(source.swap(one, target) for one in reads))
    elif statement in source.block(other) and source.alone(statement) and source.alone(other):
        start, text = source.span(statement)[0], source.text(statement)
        for one in sorted(reads, key=lambda one: -source.span(one)[0]):
            begin, end = (at_ - start for at_ in source.span(one))
            text = text.encode()[:begin].decode() + target + text.encode()[end:].decode()
        end = source.whole(other)[1]
        line = f"{source.indent(other)}{text}\n"
        yield source.edit(says, (*source.whole(statement), ""), (end, end, line))


# --- what a second run draws ------------------------------------------------------------------------------------------


def drawn_again(finding):
    """Name the line inside of what a checkpoint runs that draws a number by Python's generator, or NumPy's."""
    second_run(finding)
    for file in finding.files:
        source = source_of(file)
        kinds = generators(source)
        for function in run_again(source):
            for call in calls_in(function):
                first, _, rest = dotted(call.func).partition(".")
                full = f"{kinds[first]}.{rest}" if first in kinds and rest else kinds.get(first, "")
                if not full.startswith(("random.", "numpy.random.")) or full.rpartition(".")[2] in SETS:
                    continue
                whose = "NumPy's" if full.startswith("numpy") else "Python's"
                what = f"this draws another number in the second run: checkpoint() does not restore {whose} generator"
                finding.lines.insert(0, line_at("drew", file, call, function_at(source, call), what))
                finding.found["drew"] = source, call, full
                finding.facts["cures"] = [
                    "Draw by PyTorch's generator, `torch.rand(())`, whose state checkpoint() keeps and restores.",
                    "Or draw outside of the checkpoint, and hand the number over as an argument.",
                ]
                return


def generators(source):
    """Return {name in this file: what it is} of the modules random and numpy, and of their functions."""
    found = {}
    for one in ast.walk(source.tree):
        if isinstance(one, ast.Import):
            for each in one.names:
                if each.name in ("random", "numpy", "numpy.random"):
                    found[each.asname or each.name.partition(".")[0]] = each.name if each.asname else (
                        each.name.partition(".")[0])  # fmt: skip
        elif isinstance(one, ast.ImportFrom) and one.module in ("random", "numpy", "numpy.random"):
            for each in one.names:
                found[each.asname or each.name] = f"{one.module}.{each.name}"
    return found


def run_again(source):
    """Return the functions of a file that a checkpoint of it runs, and those that they call, as far as names tell."""
    functions = [one for one in ast.walk(source.tree) if isinstance(one, FUNCTIONS[:2])]
    wanted, found = [], []
    for call in calls_in(source.tree, "checkpoint", "checkpoint_sequential"):
        if call.args:
            first = call.args[0]
            name = dotted(first).rpartition(".")[2]
            if isinstance(first, ast.Lambda):
                found.append(first)
            wanted += [one for one in functions if one.name == name] or [
                one for one in functions if one.name == "forward" and source.scope(call) is not one
            ]
    for one in found:
        wanted += [each for each in functions if each.name in {called(call) for call in calls_in(one)}]
    while wanted:
        one = wanted.pop()
        if one not in found:
            found.append(one)
            names = {called(call) for call in calls_in(one)}
            wanted += [each for each in functions if each.name in names]
    return found


def of_a_drawn_number(finding):
    """Turn random.random() into torch.rand(()).item()."""
    if "drew" not in finding.found:
        return
    source, call, full = finding.found["drew"]
    new, given = DRAWS.get(full), [source.text(one) for one in call.args]
    imports = [each.name for one in source.tree.body if isinstance(one, ast.Import) for each in one.names]
    if new is None or "torch" not in imports or call.keywords or new.count("{") != len(given):
        return
    says = "Draw by PyTorch's generator: the second run starts from the state of the first, and draws the same."
    yield source.edit(says, source.swap(call, new.format(*given)))


KINDS = {
    "unused": copied_input,
    "grad for plain": plain_input,
    "vmap norm": norm_under_vmap,
    "scaler": other_copy,
    "checkpoint changed": drawn_again,
}
EDITS = {
    "unused": (of_a_copied_input,),
    "vmap norm": (of_norms_under_vmap,),
    "scaler": (of_another_copy,),
    "checkpoint changed": (of_a_drawn_number,),
}
