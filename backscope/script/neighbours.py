"""What the graph alone does not show: whose hook, whose Function, which operand came from inference_mode."""

import ast
import gc
import inspect

from backscope.script.blocks import function_at, switches
from backscope.script.source import FUNCTIONS, base_of, called, calls_in, dotted, named, source_of, value_in

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


def function_of(finding, name):
    """The custom Function whose node has this name: `FBackward` is that of F. None if it is not alive."""
    stack = list(finding.recorder.torch.autograd.Function.__subclasses__())
    while stack:
        one = stack.pop()
        if name in (one.__name__ + "Backward", one.__name__) and not one.__module__.startswith("torch."):
            return one
        stack.extend(one.__subclasses__())
    return None


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
    """Which operand was made in inference mode, and where."""
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
    """Which leaf was written to: a parameter by its name, or the line that made a leaf of it."""
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
    """Which module has the full backward hook, and which one wrote."""
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


def stored_result(finding):
    """deepcopy(): which attribute of which module holds a tensor with a history, and the line that put it there."""
    for module in finding.names.modules.values():
        for name, value in vars(module).items():
            if isinstance(value, finding.recorder.tensor) and value.grad_fn is not None:
                path = finding.names.of(module)
                finding.facts["kept"] = name
                failed = finding.line("failed")
                of = f"the {type(module).__name__}" + (f" at `{path}`" if path else "")
                if failed is not None:
                    failed.more.append(f"the attribute `{name}` of {of} holds a tensor with a history")
                finding.facts["cures"] = [
                    f"Keep the values only: `self.{name} = ….detach()`.",
                    f"Or set `{name}` to None before the copy.",
                ]
                for file in finding.files:
                    source = source_of(file)
                    for one in ast.walk(source.tree):
                        stores = named(one, ast.Store) if isinstance(one, ast.Assign) else []
                        if any(each.endswith("." + name) for each in stores):
                            what = f"`{name}` was kept here, with its history"
                            finding.lines.insert(0, line_at("kept", file, one, function_at(source, one), what))
                            finding.found["stored"] = source, one, name
                            return
                return


def attention_line(finding):
    """The newest line that ran fused attention."""
    from backscope.script.findings import at

    for strand in finding.recorder.all_strands:
        for name, place, _, _ in reversed(strand.calls):
            if place is not None and name in ("scaled_dot_product_attention", "multi_head_attention_forward"):
                finding.lines.insert(0, at("attends", place, "fused attention ran here"))
                return


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
    "second derivative of attention": attention_line,
    "overlaps itself": expanded_parameter,
    "checkpoint changed": second_run,
}
