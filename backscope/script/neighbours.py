"""Find what the graph alone does not show: whose hook, whose Function, which operand came from inference_mode."""

import ast
import gc
import inspect
import re

from backscope.script.blocks import function_at, switches
from backscope.script.source import FUNCTIONS, base_of, called, calls_in, dotted, enclosing, named, source_of, value_in

FAULTS = (OSError, SyntaxError, AttributeError, KeyError, IndexError, TypeError, ValueError)


def tell(finding):
    """Add the lines and facts that the kind of the error asks for."""
    for key, ask in KINDS.items():
        if finding.row.key == key:
            try:
                ask(finding)
            except FAULTS:
                continue  # a file that is gone, an object of a form that is not known


def line_at(role, file, node, function, what):
    """A Line of a node in a file; it was found in the text, and not in a record."""
    from backscope.script.findings import Line

    return Line(role, file, node.lineno, function, what)


# --- custom Functions -----------------------------------------------------------------------------------------------


def functions_of(finding):
    """The custom Functions of the user's that are alive."""
    stack = list(finding.recorder.torch.autograd.Function.__subclasses__())
    while stack:
        one = stack.pop()
        if not one.__module__.startswith("torch."):
            yield one
        stack.extend(one.__subclasses__())


def function_of(finding, name):
    """The custom Function whose node has this name: `FBackward` is that of F. None if it is not alive."""
    return next((one for one in functions_of(finding) if name in (one.__name__ + "Backward", one.__name__)), None)


def method_of(function, name):
    """(Source, its syntax tree) of a method of a class; (None, None) without one."""
    method = inspect.unwrap(getattr(function, name))
    code = method.__code__
    source = source_of(code.co_filename)
    for one in ast.walk(source.tree):
        if isinstance(one, FUNCTIONS[:2]) and one.name == name:
            first = min([one.lineno, *(each.lineno for each in one.decorator_list)])
            if first <= code.co_firstlineno <= one.end_lineno:
                return source, one
    return None, None


def write_in_backward(finding):
    """A Function saved a tensor, and nothing that was recorded wrote to it: its own backward did."""
    if finding.slot != "saved_tensors" or finding.writes or finding.node is None:
        return
    name = finding.node.name()
    function = function_of(finding, name)
    if function is None:
        return
    source, method = method_of(function, "backward")
    for statement, target in writes_in(source, method):
        where = f"{function.__qualname__}.backward"
        finding.lines.insert(
            len(finding.lines) - 1,
            line_at("wrote", source.file, statement, where, "this line wrote into what forward had saved"),
        )
        finding.facts["origin"] = f"{function.__name__}.forward saved it, and {function.__name__}.backward wrote to it."
        finding.facts["where"] = "The first pass was right, and spoiled what the second one needs."
        finding.facts["cures"] = [
            f"Make a new tensor in backward: `return {dotted(base_of(target)) or 'saved'} * grad`, not `mul_`.",
        ]
        finding.found["wrote"] = source, statement, method
        return
    finding.notes.append("The write was not seen: it came from C++, from another process, or from a backward pass.")


def writes_in(source, method):
    """(statement, target) of the writes in place of a method, to what it has unpacked from ctx.saved_tensors."""
    from backscope.script.edits_of_writes import METHOD

    saved = set()
    for one in ast.walk(method):
        if isinstance(one, ast.Assign) and "saved_tensors" in source.text(one.value):
            saved |= set(named(one, ast.Store))
    for one in ast.walk(method):
        target = None
        if isinstance(one, ast.AugAssign):
            target = one.target
        elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript):
            target = one.targets[0]
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and METHOD.fullmatch(one.func.attr):
            target = one.func.value
        if target is not None and dotted(base_of(target)) in saved:
            yield source.up(one, ast.stmt), target


def in_a_function(finding):
    """A Function of the user's gave back something wrong: the line that returns it."""
    name = finding.explanation.facts.get("node") or finding.explanation.facts.get("op", "")
    function = function_of(finding, name)
    if function is None:
        return
    which = "forward" if finding.row.key in ("view from a Function", "leaf marked dirty") else "backward"
    source, method = method_of(function, which)
    returns = [one for one in ast.walk(method) if isinstance(one, ast.Return) and one.value is not None]
    if returns:
        what = "this line returned it" if which == "backward" else "this line returned its input, or a view of it"
        where = f"{function.__qualname__}.{which}"
        finding.lines.insert(0, line_at("returns", source.file, returns[-1], where, what))
        finding.found["returned"] = source, returns[-1], function, method


# --- operands --------------------------------------------------------------------------------------------------------


def operands(finding):
    """(name, value, node) of the tensors that the failing line names, without running any code."""
    source = source_of(finding.failed.file)
    node = source.at(finding.failed)
    statement = source.up(node, ast.stmt)
    seen = {}
    for part in (node, statement):
        for one in ast.walk(part):
            name = dotted(one)
            if name and name not in seen and isinstance(getattr(one, "ctx", None), (ast.Load, ast.Store)):
                value = value_in(name, finding.frames[0])
                if isinstance(value, finding.recorder.tensor):
                    seen[name] = value, one
    return [(name, *found) for name, found in seen.items()]


def inference_operand(finding):
    """Find which operand was made in inference mode, and where."""
    tensors = [(name, value) for name, value, _ in operands(finding) if value.is_inference()]
    if not tensors:  # it is an attribute of a module that the line calls
        names = finding.names
        for held in names.by_memory.values():
            tensors += [(name, value) for name, value in held if value.is_inference()]
    if not tensors:
        return
    name = tensors[0][0]
    finding.facts["operand"] = name
    failed = finding.line("failed")
    if failed is not None:
        failed.more.append(f"`{name}` was made in inference mode")
    last = name.rpartition(".")[2]
    for file in finding.files:
        source = source_of(file)
        blocks = [one for one in ast.walk(source.tree) if isinstance(one, (ast.With, *FUNCTIONS[:2]))]
        blocks = [one for one in blocks if is_inference(source, one)]
        for block in blocks:
            for one in ast.walk(block):
                stores = named(one, ast.Store) if isinstance(one, (ast.Assign, ast.AnnAssign)) else []
                if any(each.rpartition(".")[2] == last for each in stores):
                    what = f"`{name}` was made here, in inference mode"
                    finding.lines.insert(0, line_at("made", file, one, function_at(source, one), what))
                    finding.found["block"] = source, block
                    return
        if blocks:
            finding.found["block"] = source, blocks[0]
            what = "what is made in here is an inference tensor"
            node = blocks[0]
            node = next((one for one in getattr(node, "decorator_list", []) if "inference" in source.text(one)), node)
            finding.lines.insert(0, line_at("made", file, node, function_at(source, blocks[0]), what))
            return


def is_inference(source, block):
    marks = [item.context_expr for item in block.items] if isinstance(block, ast.With) else block.decorator_list
    return any("inference_mode" in source.text(one) and switches(source, one) for one in marks)


def leaf_operand(finding):
    """Find which leaf was written to: a parameter by its name, or the line that made a leaf of it."""
    from backscope.script.edits_of_writes import target_of

    source = source_of(finding.failed.file)
    node = source.at(finding.failed)
    target = target_of(source, node, source.up(node, ast.stmt))
    name = dotted(base_of(target)) if target is not None else ""
    thing = value_in(name, finding.frames[0]) if name and finding.frames else None
    if thing is None:
        leaves = [(one, value) for one, value, _ in operands(finding) if value.requires_grad]
        name, thing = leaves[0] if leaves else ("", None)
    while thing is not None and thing._base is not None:
        thing = thing._base
    failed = finding.line("failed")
    if thing is None or failed is None:
        return
    known = finding.names.of(thing)
    if isinstance(thing, finding.recorder.torch.nn.Parameter):
        failed.more.append(f"the leaf is the parameter `{known or name}`")
        finding.facts["leaf"] = "parameter"
        finding.parameter = thing
        return
    flagged = finding.recorder.flagged.get(id(thing))
    if flagged is not None and flagged[0]() is thing and flagged[1] is not None:
        from backscope.script.findings import at

        finding.lines.insert(0, at("made", flagged[1], f"here `{name}` was told to require grad: that makes it a leaf"))
    finding.facts["leaf"] = "tensor"
    finding.facts["cures"] = [
        f"Compute with a new tensor: `{name or 'x'} = {name or 'x'} + …` in place of a write, or `.clone()` before it.",
        "If this is an update by hand, as optimizers do: under `with torch.no_grad():`. What is written there is not "
        "part of the graph.",
    ]
    finding.explanation.facts["leaf"] = "tensor"


# --- modules and wrappers --------------------------------------------------------------------------------------------


def hooked_module(finding):
    """Find which module has the full backward hook, and which one wrote."""
    torch, names = finding.recorder.torch, finding.names
    inner, step = [], finding.error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is finding.recorder.call_impl:
            inner.append(step.tb_frame.f_locals.get("self"))
        step = step.tb_next
    failed = finding.line("failed")
    writer = inner[-1] if inner and getattr(inner[-1], "inplace", False) else None
    if writer is not None and failed is not None:
        from backscope.script.findings import tell_module

        tell_module(finding, failed, writer)
        finding.found["writer"] = writer
    hooked = [one for one in names.modules.values() if has_full_hook(one)]
    if hooked:
        called_ = [f"the {type(one).__name__} at `{names.of(one)}`" for one in hooked]
        which = called_[0] if len(called_) == 1 else f"one of {', '.join(called_[:3])}"
        finding.facts["hooked"] = which[0].upper() + which[1:] + ", which has a full backward hook,"
        if writer is not None and writer in hooked:
            finding.facts["side"] = "input"
        for file in finding.files:
            source = source_of(file)
            for call in calls_in(source.tree, "register_full_backward_hook", "register_full_backward_pre_hook"):
                line = line_at("hook", file, call, function_at(source, call), f"the hook: {which} has it")
                finding.lines.insert(0, line)
                return
    ddp = torch.nn.parallel.DistributedDataParallel
    if any(isinstance(one, ddp) for one in names.modules.values()):
        finding.facts["hooked"] = "DistributedDataParallel"


def has_full_hook(module):
    hooks = getattr(module, "_backward_hooks", None), getattr(module, "_backward_pre_hooks", None)
    return any(hooks) and getattr(module, "_is_full_backward_hook", True) is not False


def ddp_parameters(finding):
    """The parameters that got no gradient, by name, and the line that wrapped the model."""
    ddp = finding.recorder.torch.nn.parallel.DistributedDataParallel
    wrapped = next((one for one in gc.get_objects() if issubclass(type(one), ddp)), None)
    indices = finding.explanation.facts.get("indices", "").split()
    if wrapped is not None and indices:
        learn = [(name, one) for name, one in wrapped.module.named_parameters() if one.requires_grad]
        missed = [learn[int(at)][0] for at in indices if int(at) < len(learn)]
        more = f" and {len(missed) - 6} more" if len(missed) > 6 else ""
        finding.facts["unused"] = f": {', '.join(f'`{one}`' for one in missed[:6])}{more}"
    built = finding.recorder.built.get(id(wrapped))
    if built is not None and built[0]() is wrapped and built[1] is not None:
        from backscope.script.findings import at

        finding.lines.insert(0, at("wrapped", built[1], "the model was wrapped here"))
    if finding.row.key == "ddp ready twice":
        for file in finding.files:
            source = source_of(file)
            for call in calls_in(source.tree, "checkpoint", "checkpoint_sequential"):
                what = "a checkpoint runs its part again in the backward pass"
                finding.lines.insert(0, line_at("again", file, call, function_at(source, call), what))
                return


NORMS = {"_g": "weight_norm", "_u": "spectral_norm", "_mask": "prune"}  # what makes `weight` a computed tensor


def stored_result(finding):
    """deepcopy(): which attribute of what holds a tensor with a history, and the line that built or kept it."""
    holder, path, tensor = copied(finding)
    if tensor is None:
        return
    name = next((one for one in path[::-1] if not one.isdigit()), "")
    known = finding.names.of(holder)
    of = f"the {type(holder).__name__}" + (f" at `{known}`" if known else "")
    failed = finding.line("failed")
    if failed is not None:
        failed.more.append(f"the attribute `{name}` of {of} holds a tensor with a history")
    finding.facts["kept"] = name
    finding.found["path"] = path
    held = set(getattr(holder, "_parameters", ())) | set(getattr(holder, "_buffers", ()))
    makers = [by for ending, by in NORMS.items() if name + ending in held]
    if makers:
        return computed_weight(finding, holder, name, makers[0])
    finding.facts["cures"] = [
        f"Keep the values only: `self.{name} = ….detach()`.", f"Or set `{name}` to None before the copy.",
    ]  # fmt: skip
    call = finding.recorder.call_of(tensor.grad_fn)
    place = call[1] if call is not None else None
    kept = [(source, one) for source, one in keepings(finding, name)]
    kept.sort(key=lambda one: not (place is not None and (one[0].file, one[1].lineno) == (place.file, place.line)))
    if kept:
        source, one = kept[0]
        what = f"`{name}` was kept here, with its history"
        finding.lines.insert(0, line_at("kept", source.file, one, function_at(source, one), what))
        finding.found["stored"] = source, one, name
    elif place is not None:
        from backscope.script.findings import at

        finding.lines.insert(0, at("kept", place, f"this line made what `{name}` holds"))


def copied(finding):
    """(the object, the way from what deepcopy() was given, the tensor) where deepcopy() met a tensor with a history."""
    step, path, holder, tensor = finding.error.__traceback__, [], None, None
    while step is not None:
        name, held = step.tb_frame.f_code.co_name, step.tb_frame.f_locals
        if name == "_deepcopy_dict":
            path.append(str(held.get("key")))
        elif name in ("_deepcopy_list", "_deepcopy_tuple"):
            path.append("0")
        elif name == "_reconstruct":
            holder = held.get("x")
        elif name == "__deepcopy__":
            one = held.get("self")
            tensor = one if isinstance(one, finding.recorder.tensor) else None
            holder = holder if tensor is not None else one  # a class with a __deepcopy__ of its own
        step = step.tb_next
    return holder, [one for one in path if one not in ("_modules", "_parameters", "_buffers")], tensor


def keepings(finding, name):
    """(Source, statement) of what puts tensors into an attribute: `self.x = …`, `self.x[i] = …`, `self.x.append(…)`."""
    for file in finding.files:
        source = source_of(file)
        for one in ast.walk(source.tree):
            if isinstance(one, ast.Assign) and not isinstance(one.value, (ast.Constant, ast.List, ast.Dict)):
                stores = [*named(one, ast.Store), *(dotted(base_of(each)) for each in one.targets)]
            elif called(one) in ("append", "extend", "setdefault", "register_buffer"):
                given = [each.value for each in one.args if isinstance(each, ast.Constant)]
                stores = [f".{each}" for each in given] or [dotted(base_of(one.func.value))]
                one = source.up(one, ast.stmt)
            else:
                continue
            if any(each.endswith("." + name) for each in stores):
                yield source, one


def computed_weight(finding, holder, name, by):
    """weight_norm, spectral_norm and prune keep the parameter elsewhere; `weight` is computed, and not a leaf."""
    built = finding.recorder.built.get(id(holder))
    place = built[1] if built is not None and built[0]() is holder else None
    finding.facts["cures"] = [
        f"`torch.nn.utils.parametrizations.{by}` in place of `torch.nn.utils.{by}`: it computes `{name}` when it is "
        "read, and keeps none."
        if by != "prune"
        else f"`torch.nn.utils.prune.remove(module, {name!r})` before the copy, once pruning is over.",
        "Or build a second model, and have it load the first one's state: `twin.load_state_dict(net.state_dict())`.",
    ]
    calls = []
    for file in finding.files:
        source = source_of(file)
        for one in calls_in(source.tree):
            if by in (called(one), dotted(one.func).split(".")[-2:][0]):
                calls.append((source, one))
    if place is not None:
        calls.sort(key=lambda one: (one[0].file, one[1].lineno) != (place.file, place.line))
    for source, call in calls[:1]:
        what = f"{by} computes `{name}` anew for each forward pass, and keeps the result in the module"
        finding.lines.insert(0, line_at("kept", source.file, call, function_at(source, call), what))
        finding.found["computed"] = by, sorted({one[0].file for one in calls})


# --- derivatives of derivatives --------------------------------------------------------------------------------------


def flat(name):
    """`gridsampler2d` of GridSampler2DBackward0 and of aten::grid_sampler_2d_backward."""
    return re.sub(r"(?:backward)?\d?$", "", name.rpartition(":")[2].lower().strip("'").replace("_", ""))


def underived(finding):
    """The newest line that ran the operation whose derivative is missing; "ran" is the role of its Line."""
    from backscope.script.findings import at, nodes_behind

    recorder, wanted = finding.recorder, flat(finding.explanation.facts.get("op", ""))
    names = {wanted} if wanted else set()
    if finding.row.key == "second derivative of attention":
        names |= {"scaleddotproductattention", "multiheadattentionforward"}
    once = [one for one in functions_of(finding) if is_once(one)]
    if finding.row.key == "once differentiable":
        behind = {node.name() for node in nodes_behind(finding.roots)}
        once = [one for one in once if one.__name__ + "Backward" in behind] or once
        names = {flat(one.__name__) for one in once}
    calls = [call for strand in recorder.all_strands for call in reversed(strand.calls) if call[1] is not None]
    ran = next((call for call in calls if {flat(call[0]), flat(call[3])} & names), None)
    if ran is not None:
        said = "ran here" if finding.row.key != "no derivative" else "ran here: its backward has no derivative"
        what = "fused attention" if "attention" in finding.row.key else ran[0]
        finding.lines.insert(0, at("ran", ran[1], f"{what} {said}"))
    for one in once[:1] if finding.row.key == "once differentiable" else ():
        source, method = method_of(one, "backward")
        marks = [each for each in method.decorator_list if "once_differentiable" in source.text(each)]
        if marks:
            where = f"{one.__qualname__}.backward"
            what = "the mark says that this backward is not differentiated"
            finding.lines.insert(0, line_at("marked", source.file, marks[0], where, what))
            finding.found["marked"] = source, marks[0], method


def is_once(function):
    source, method = method_of(function, "backward")
    return method is not None and any("once_differentiable" in source.text(one) for one in method.decorator_list)


# --- optimizers and scalers ------------------------------------------------------------------------------------------


def scaler_order(finding):
    """unscale_() was called twice: the line of the other call."""
    from backscope.script.places import Spot

    failed = finding.line("failed")
    word = re.match(r"(unscale_|step)\(\) (?:has already been|is being) called", finding.message)
    if failed is None or word is None:
        return
    for file in finding.files:
        source = source_of(file)
        for call in calls_in(source.tree, word[1]):
            owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            if "scaler" in owner.lower() and (file, call.lineno) != (failed.file, failed.number):
                line = line_at("first", file, call, function_at(source, call), f"{word[1]}() is called here, too")
                line.place = Spot(file, call.lineno, line.function)
                finding.lines.insert(0, line)


def computed_leaf(finding):
    """An optimizer was given a tensor that was computed: the line that computed it."""
    from backscope.script.findings import at

    step = finding.error.__traceback__
    while step is not None:
        held = step.tb_frame.f_locals
        one = held.get("param") if step.tb_frame.f_code.co_name == "add_param_group" else None
        if isinstance(one, finding.recorder.tensor) and one.grad_fn is not None:
            call = finding.recorder.call_of(one.grad_fn)
            if call is not None and call[1] is not None:
                finding.lines.insert(0, at("made", call[1], "this line computed the tensor: it is no leaf"))
        step = step.tb_next


def expanded_parameter(finding):
    """The parameter that is one row shown many times, and the line that expanded it."""
    torch = finding.recorder.torch
    for held in finding.names.by_memory.values():
        for name, tensor in held:
            if isinstance(tensor, torch.nn.Parameter) and 0 in tensor.stride() and tensor.numel() > 1:
                failed = finding.line("failed")
                if failed is not None:
                    failed.more.append(f"the parameter `{name}` is expanded: its elements share memory")
                finding.parameter = tensor
                finding.facts["cures"] = [
                    f"Give each element of `{name}` a place of its own: `.expand(…).clone()` where it is made.",
                    "If the rows should stay equal: make the parameter of one row, and expand it in forward.",
                ]
                for file in finding.files:
                    source = source_of(file)
                    for call in calls_in(source.tree, "Parameter"):
                        if call.args and calls_in(call.args[0], "expand", "expand_as", "broadcast_to"):
                            what = f"`{name}` was made here"
                            finding.lines.insert(0, line_at("made", file, call, function_at(source, call), what))
                            finding.found["expanded"] = source, call
                            return
                return


def second_run(finding):
    """The line of the checkpoint whose second run differed."""
    for file in finding.files:
        source = source_of(file)
        for call in calls_in(source.tree, "checkpoint", "checkpoint_sequential"):
            what = "what is checkpointed here runs a second time during backward()"
            finding.lines.insert(0, line_at("again", file, call, function_at(source, call), what))
            return


def own_hook(finding):
    """The line of the hook that gave back something wrong: the one that the message names, or the only one."""
    name, found = finding.explanation.facts.get("hook", ""), []
    for file in finding.files:
        source = source_of(file)
        registered = [one for one in calls_in(source.tree) if one.args and "register" in called(one)]
        registered = [one for one in registered if called(one).endswith("hook")]
        names = {dotted(one.args[0]).rpartition(".")[2] for one in registered} - {""}
        methods = [one for one in ast.walk(source.tree) if isinstance(one, FUNCTIONS[:2])]
        found += [(source, one) for one in methods if one.name == name or one.name in names]
        found += [(source, one.args[0]) for one in registered if isinstance(one.args[0], ast.Lambda)]
    found = [one for one in found if getattr(one[1], "name", None) == name] or found
    if len(found) == 1:
        source, hook = found[0]
        returns = [one for one in ast.walk(hook) if isinstance(one, ast.Return) and one.value is not None]
        node = (returns or [hook])[-1]
        line = line_at("hook", source.file, node, function_at(source, node), "this hook gave it back")
        finding.lines.insert(0, line)


def under_vmap(finding):
    """The line that calls vmap; of a write also the line that made what it writes to, without samples."""
    from backscope.script.edits_of_writes import target_of

    source = source_of(finding.failed.file)
    node = source.at(finding.failed)
    statement = source.up(node, ast.stmt)
    target = target_of(source, node, statement) if finding.row.key == "vmap write" else None
    name = dotted(base_of(target)) if target is not None else ""
    for one in ast.walk(source.scope(statement)) if name else ():
        if isinstance(one, ast.Assign) and name in map(dotted, one.targets) and one.lineno < statement.lineno:
            if calls_in(one.value, "zeros", "ones", "empty", "full", "tensor"):
                what = f"`{name}` was made here: one for all samples"
                finding.lines.insert(0, line_at("made", source.file, one, function_at(source, one), what))
                finding.found["shared"] = one
    outwards = {(one.file, one.key) for one in finding.failed.outwards}
    found = []
    for file in finding.files:
        source = source_of(file)
        found += [(source, call) for call in calls_in(source.tree, "vmap") if call.args]
    found.sort(key=lambda one: not any(file == one[0].file and around(one, key) for file, key in outwards))
    for source, call in found[:1]:
        finding.lines.append(line_at("vmap", source.file, call, function_at(source, call), "vmap is called here"))
        finding.found["vmap"] = source, call


def around(found, key):
    """Tell whether a call stands in the function of a key; see places.py."""
    source, call = found
    return enclosing(source.file, call.lineno) == key[1:]


def compiled_here(finding):
    """The line that called torch.compile."""
    from backscope.script.findings import at

    for place in finding.recorder.compiles[-1:]:
        if place is not None:
            finding.lines.insert(0, at("compile", place, "torch.compile was called here"))


def unused_input(finding):
    """grad() for an input that the output does not hang on: the line where a copy without history was used."""
    source = source_of(finding.failed.file)
    statement = source.up(source.at(finding.failed), ast.stmt)
    cut = unhistoried(source, statement)
    if cut is not None:
        what = "a copy without history is used here: the way to the input ends"
        finding.lines.insert(0, line_at("cut", source.file, cut, finding.failed.function, what))


def unhistoried(source, statement):
    """`x.detach()` or `x.data`, of an input of the grad() in a statement, in the same function; None without one."""
    call = next(iter(calls_in(statement, "grad")), None)
    inputs = next((one.value for one in call.keywords if one.arg == "inputs"), None) if call is not None else None
    inputs = inputs if inputs is not None or call is None else call.args[1] if len(call.args) > 1 else None
    names = set(named(inputs, ast.Load)) if inputs is not None else set()
    for one in ast.walk(source.scope(statement)):
        cut = called(one) == "detach" and isinstance(one.func, ast.Attribute)
        if (cut or isinstance(one, ast.Attribute) and one.attr == "data") and dotted(base_of(one)) in names:
            return one
    return None


def loss_of_many(finding):
    """backward() on several numbers: the line that computed them, where that is another one."""
    from backscope.script.findings import at

    for node in finding.roots[:1]:
        call = finding.recorder.call_of(node)
        failed = finding.failed
        if call is not None and call[1] is not None and (call[1].file, call[1].line) != (failed.file, failed.line):
            finding.lines.insert(0, at("made", call[1], "this line made what backward() was called on"))


KINDS = {
    "hook size": own_hook,
    "hook count": own_hook,
    "hook type": own_hook,
    "hook tuple": own_hook,
    "post hook returns": own_hook,
    "module hooks": own_hook,
    "version": write_in_backward,
    "gradient number": in_a_function,
    "gradient does not fit": in_a_function,
    "view from a Function": in_a_function,
    "inference saved": inference_operand,
    "inference written": inference_operand,
    "inference requires grad": inference_operand,
    "leaf": leaf_operand,
    "view of leaf": leaf_operand,
    "full backward hook": hooked_module,
    "ddp unfinished": ddp_parameters,
    "ddp ready twice": ddp_parameters,
    "deepcopy": stored_result,
    "second derivative of attention": underived,
    "no derivative": underived,
    "once differentiable": underived,
    "scaler": scaler_order,
    "optimizer non-leaf": computed_leaf,
    "vmap write": under_vmap,
    "vmap value": under_vmap,
    "vmap random": under_vmap,
    "unused": unused_input,
    "compiled double backward": compiled_here,
    "donated buffers": compiled_here,
    "overwritten by a CUDA graph": compiled_here,
    "not a scalar": loss_of_many,
    "overlaps itself": expanded_parameter,
}
