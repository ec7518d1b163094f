"""Edits for autograd's neighbours: custom Functions, inference mode, hooks on modules, DDP, checkpoint, torch.func."""

import ast

from backscope.script import edits_of_writes
from backscope.script.neighbours import unhistoried
from backscope.script.source import (
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

FAULTS = OSError, SyntaxError
ATTENTION, UTILS = "torch.nn.attention", "torch.nn.utils"  # for lines in the user's file


def calls_of(finding, *names):
    """(Source, call) of the calls of these names in the user's files."""
    for file in finding.files:
        try:
            source = source_of(file)
        except FAULTS:
            continue
        for call in calls_in(source.tree, *names):
            yield source, call


def place_of(finding):
    """(Source, node, statement) of the line where the error was raised."""
    source = source_of(finding.failed.file)
    node = source.at(finding.failed)
    return source, node, source.up(node, ast.stmt)


# --- custom Functions -----------------------------------------------------------------------------------------------


def of_a_backward(finding):
    """backward wrote into what forward saved: out of place, there."""
    if "wrote" not in finding.found:
        return
    source, statement, _ = finding.found["wrote"]
    says = "Let backward make a new tensor, and leave what was saved as it is."
    if isinstance(statement, ast.AugAssign):
        sign = edits_of_writes.SIGNS.get(type(statement.op).__name__)
        text = source.text(statement.target)
        if sign and not isinstance(statement.target, ast.Subscript):
            new = f"{text} = {text} {sign} {source.closed(statement.value)}"
            yield source.edit(says, source.swap(statement, new))
            return
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if edits_of_writes.METHOD.fullmatch(call.func.attr):
                yield from edits_of_writes.method_edits(source, statement, call)
                return
    if isinstance(statement, ast.Assign):
        name = source.text(base_of(statement.targets[0]))
        yield source.edit(says, source.before(statement, f"{name} = {name}.clone()"))


def of_a_returned_view(finding):
    """forward returned its input, or a view of it: a copy."""
    if "returned" in finding.found:
        source, statement, _, method = finding.found["returned"]
        value = statement.value.elts[0] if isinstance(statement.value, ast.Tuple) else statement.value
        new = f"{source.closed(value)}.clone()"
        yield source.edit("Let forward return a tensor of its own.", source.swap(value, new))
    yield from edits_of_writes.at_the_write(finding, finding.failed)


def of_a_count(finding):
    """backward returned fewer gradients than apply() had arguments: None for the rest."""
    if "returned" not in finding.found:
        return
    source, statement, _, method = finding.found["returned"]
    facts = finding.explanation.facts
    missing = int(facts["wanted"]) - int(facts["got"])
    value = statement.value
    if missing > 0:
        text = source.text(value)
        inner = text[1:-1] if isinstance(value, ast.Tuple) and text.startswith("(") else text
        new = f"{inner.rstrip().rstrip(',')}{', None' * missing}"
        yield source.edit(
            "One gradient for each argument of apply(): None for what needs none.", source.swap(value, new)
        )


# --- inference mode -------------------------------------------------------------------------------------------------


def of_inference(finding):
    """The tensor made under no_grad, or a clone of it where it is used."""
    if "block" in finding.found:
        source, block = finding.found["block"]
        marks = [one.context_expr for one in block.items] if isinstance(block, ast.With) else block.decorator_list
        swaps = [
            source.swap(one, source.text(one).replace("inference_mode", "no_grad"))
            for one in marks
            if "inference_mode" in source.text(one)
        ]
        yield source.edit("Make it under no_grad: its tensors have version counters, and may be saved.", *swaps)
    source, node, statement = place_of(finding)
    name = finding.facts.get("operand")
    for one in ast.walk(statement):
        if name and dotted(one) == name and isinstance(one.ctx, ast.Load):
            yield source.edit("Or use a copy, which is an ordinary tensor.", source.swap(one, f"{name}.clone()"))
            return


# --- modules and wrappers -------------------------------------------------------------------------------------------


def of_a_full_hook(finding):
    """The write behind a module with a full backward hook: out of place."""
    failed = finding.line("failed")
    yield from edits_of_writes.at_the_write(finding, finding.failed, failed)


def of_unused(finding):
    for source, call in calls_of(finding, "DistributedDataParallel", "DDP"):
        yield Edit(
            source.file,
            with_keyword(source, call, "find_unused_parameters", "True"),
            "Have DDP look for them in each pass: it costs a walk through the graph after each forward pass.",
        )


def of_twice(finding):
    found = list(of_a_checkpoint(finding))
    yield from found
    for source, call in calls_of(finding, "DistributedDataParallel", "DDP"):
        yield Edit(
            source.file,
            with_keyword(source, call, "static_graph", "True"),
            "Promise DDP that every pass is like the first: the same parameters, equally often.",
        )


def of_a_checkpoint(finding):
    """use_reentrant=False in all calls of a file."""
    swaps = {}
    for source, call in calls_of(finding, "checkpoint", "checkpoint_sequential"):
        word = next((one for one in call.keywords if one.arg == "use_reentrant"), None)
        end = source.span(call)[1] - 1
        new = source.swap(word.value, "False") if word is not None else (end, end, ", use_reentrant=False")
        if word is None or source.text(word.value) != "False":
            swaps.setdefault(source.file, []).append(new)
    for file, edits in swaps.items():
        says = "The kind of checkpoint that records as usual, and only drops what was saved."
        yield source_of(file).edit(says, *edits)


def of_a_stored_result(finding):
    """Cure what a deep copy meets: its values only, where nothing is computed from it; else cut off before the copy."""
    yield from of_a_computed_weight(finding)
    if "stored" not in finding.found:
        return
    source, statement, name = finding.found["stored"]
    if read_elsewhere(finding, source, statement, name):
        yield from cut_before_the_copy(finding)
        return
    if not isinstance(statement, ast.Assign) or any(isinstance(one, ast.Tuple) for one in statement.targets):
        return
    value, end = statement.value, source.whole(statement)[1]
    kept = next(source.text(one) for one in statement.targets if dotted(base_of(one)).endswith(name))
    others = [source.text(one) for one in statement.targets if source.text(one) != kept]
    if others:
        line = f"{source.indent(statement)}{kept} = {others[0]}.detach()\n"
        first = f"{' = '.join(others)} = {source.text(value)}"
        yield source.edit("Keep the values only.", source.swap(statement, first), (end, end, line))
    elif reads := reads_of(source, statement, name):
        indent = source.indent(statement)
        swaps = [source.swap(one, name) for one in reads]
        line = f"{indent}{kept} = {name}.detach()\n"
        first = source.swap(statement.targets[0], name)
        yield source.edit("Compute with the result, and keep only its values.", first, (end, end, line), *swaps)
    else:
        new = f"{source.closed(value)}.detach()"
        yield source.edit("Keep the values only: a history cannot be copied.", source.swap(value, new))


def read_elsewhere(finding, source, statement, name):
    """Tell whether another function computes with what an attribute keeps."""
    inside = source.scope(statement)
    for one in ast.walk(source.tree):
        if isinstance(one, ast.Attribute) and one.attr == name and isinstance(one.ctx, ast.Load):
            number = isinstance(one.parent, ast.Attribute) and one.parent.attr in ("item", "detach", "append", "clear")
            if source.scope(one) is not inside and not number:
                return True
    return not isinstance(statement, ast.Assign)


def cut_before_the_copy(finding):
    """`net.cache = net.cache.detach()` before `deepcopy(net)`: the pass is over by then."""
    source, node, statement = place_of(finding)
    call = next(iter(calls_in(statement, "deepcopy")), None)
    path = finding.found["path"]
    if call is None or not call.args or not dotted(call.args[0]):
        return
    several = path[-1].isdigit()
    path = path[:-1] if several else path
    text = dotted(call.args[0]) + "".join(f"[{one}]" if one.isdigit() else f".{one}" for one in path)
    new = f"[one.detach() for one in {text}]" if several else f"{text}.detach()"
    says = "Let go of the history before the copy: the pass that needs it is over."
    yield source.edit(says, source.before(statement, f"{text} = {new}"))


def of_a_computed_weight(finding):
    """torch.nn.utils.weight_norm → torch.nn.utils.parametrizations.weight_norm, in a whole file."""
    by, files = finding.found.get("computed", ("prune", ()))
    for file in files if by != "prune" else ():
        source, edits = source_of(file), []
        for one in ast.walk(source.tree):
            if isinstance(one, ast.ImportFrom) and one.module == UTILS:
                words = [source.text(each) for each in one.names]
                ours = [each for each in words if each.split()[0] == by]
                rest = [each for each in words if each not in ours]
                if ours:
                    kept = f"from {UTILS} import {', '.join(rest)}\n{source.indent(one)}" if rest else ""
                    edits.append(source.swap(one, f"{kept}from {UTILS}.parametrizations import {ours[0]}"))
            elif isinstance(one, ast.Attribute) and one.attr == by and dotted(one).endswith(f"utils.{by}"):
                edits.append(source.swap(one, f"{source.text(one.value)}.parametrizations.{by}"))
        if edits:
            yield source.edit(f"The {by} of today: it computes the weight when it is read, and keeps none.", *edits)


def reads_of(source, statement, name):
    """Find where the kept attribute is used to compute on, in the same function."""
    nodes = ast.walk(source.scope(statement))
    reads = [one for one in nodes if isinstance(one, ast.Attribute) and one.attr == name]
    return [one for one in reads if isinstance(one.ctx, ast.Load) and one.lineno > statement.lineno]


def of_attention(finding):
    """The forward pass of attention with the plain kernel."""
    place = finding.place("ran")
    if place is None:
        return
    source = source_of(place.file)
    statement = source.up(source.at(place), ast.stmt)
    head = "with sdpa_kernel(SDPBackend.MATH):"
    indent = source.indent(statement)
    body = "".join("    " + line for line in source.lines(statement).splitlines(keepends=True))
    edits = [(*source.whole(statement), f"{indent}{head}\n{body}")]
    if "sdpa_kernel" not in source.bytes.decode():
        first = next(
            one for one in source.tree.body
            if isinstance(one, (ast.Import, ast.ImportFrom)) and "__future__" not in source.text(one)
        )  # fmt: skip
        end = source.whole(first)[1]
        edits.append((end, end, f"from {ATTENTION} import SDPBackend, sdpa_kernel\n"))
    yield source.edit("The plain kernel has a second derivative; it keeps the whole attention matrix.", *edits)


def of_a_first_derivative(finding):
    """cdist by matrix products has a second derivative."""
    place = finding.place("ran")
    call = source_of(place.file).up(source_of(place.file).at(place), ast.Call) if place is not None else None
    if called(call) == "cdist":
        source = source_of(place.file)
        new = with_keyword(source, call, "compute_mode", '"use_mm_for_euclid_dist"')
        yield Edit(source.file, new, "Distances by matrix products: they can be differentiated twice.")


def of_a_mark(finding):
    """@once_differentiable, taken from a backward of tensor operations."""
    if "marked" in finding.found:
        source, mark, method = finding.found["marked"]
        text = source.text(method)
        if not any(word in text for word in ("numpy", "np.", ".data", "detach(", "no_grad")):
            lines = source.starts[mark.lineno - 1], source.starts[mark.end_lineno]
            says = "This backward is made of operations with derivatives: take the mark away."
            yield source.edit(says, (*lines, ""))


def of_an_expanded_parameter(finding):
    if "expanded" in finding.found:
        source, call = finding.found["expanded"]
        one = call.args[0]
        says = "Give every element a place of its own in memory."
        yield source.edit(says, source.swap(one, f"{source.closed(one)}.clone()"))


# --- torch.func -----------------------------------------------------------------------------------------------------


def of_captured_buffers(finding):
    """functional_call() with clones of the buffers."""
    for source, call in calls_of(finding, "functional_call"):
        if len(call.args) >= 2:
            model, given = source.text(call.args[0]), call.args[1]
            clones = f"{{name: one.clone() for name, one in {model}.named_buffers()}}"
            if isinstance(given, ast.Tuple) and len(given.elts) > 1:
                continue
            yield source.edit(
                "Pass clones of the buffers, so that a batch norm writes to those.",
                source.swap(given, f"({source.text(given)}, {clones})"),
            )


def of_randomness(finding):
    found = [finding.found["vmap"]] if "vmap" in finding.found else calls_of(finding, "vmap")
    for source, call in found:
        new = with_keyword(source, call, "randomness", '"different"')
        yield Edit(source.file, new, "Let each sample draw numbers of its own.")


def of_a_shared_target(finding):
    """Under vmap: `z = torch.zeros(3)`, `z[i] = x` → a z with a place for each sample; `z += x` → `z = z + x`."""
    source, node, statement = place_of(finding)
    if isinstance(statement, ast.AugAssign) and dotted(statement.target):
        sign, text = edits_of_writes.SIGNS.get(type(statement.op).__name__), source.text(statement.target)
        new = f"{text} = {text} {sign} {edits_of_writes.beside(source, sign, statement.value)}"
        yield source.edit("Make a new tensor for each sample.", source.swap(statement, new))
        return
    if "shared" not in finding.found:
        return
    made = finding.found["shared"]
    yield from edits_of_writes.stacked(source, made, statement)
    later = {name for one in ast.walk(source.scope(statement)) if isinstance(one, ast.stmt)
             and one.lineno >= made.lineno for name in named(one, ast.Store)}  # fmt: skip
    samples = [one for one in named(statement.value, ast.Load) if given(finding, one) and one not in later]
    call = made.value
    if samples and called(call) in ("zeros", "ones", "empty", "full") and dotted(call.func).startswith("torch."):
        says = f"Make it from `{samples[0]}`: then it has a place for each sample."
        yield source.edit(says, source.swap(call.func, f"{samples[0]}.new_{called(call)}"))


def given(finding, name):
    return isinstance(value_in(name, finding.frames[0]), finding.recorder.tensor)


def of_a_value(finding):
    """Under vmap: an index without item(); `if c: return a` and `return b` → torch.where(c, a, b)."""
    source, node, statement = place_of(finding)
    items = [one for one in calls_in(statement, "item") if isinstance(one.func, ast.Attribute)]
    items += [one for one in calls_in(statement, "int", "float") if len(one.args) == 1]
    swaps = []
    for one in items:
        inner = one.func.value if called(one) == "item" else one.args[0]
        is_index = isinstance(one.parent, ast.Subscript) and one is one.parent.slice
        swaps.append(source.swap(one, source.text(inner) + "[None]" * is_index))
        names = [dotted(each) for each in getattr(one.parent, "targets", ())]
        reads = [one.parent] if is_index else [
            each for each in ast.walk(source.scope(one)) if isinstance(each, ast.Subscript)
            and dotted(each.slice) in names and isinstance(each.ctx, ast.Load)
        ]  # fmt: skip
        for read in reads:  # a number as an index would be asked for its value
            swaps += [] if is_index else [source.swap(read.slice, source.text(read.slice) + "[None]")]
            swaps.append((source.span(read)[1],) * 2 + ("[0]",))
    if swaps:
        yield source.edit("Go on with the tensor: it may be an index, and a factor.", *swaps)
    choice = source.up(node, ast.If, ast.IfExp)
    if isinstance(choice, ast.IfExp):
        new = f"torch.where({', '.join(source.text(one) for one in (choice.test, choice.body, choice.orelse))})"
        yield source.edit(WHERE, source.swap(choice, new))
    elif isinstance(choice, ast.If):
        block = source.block(choice)
        rest = choice.orelse or block[block.index(choice) + 1 :][:1]
        if len(choice.body) != 1 or len(rest) != 1:
            return
        one, other = choice.body[0], rest[0]
        same = type(one) is type(other) and isinstance(one, (ast.Return, ast.Assign)) and one.value and other.value
        if not same or isinstance(one, ast.Assign) and source.text(one.targets[0]) != source.text(other.targets[0]):
            return
        if isinstance(one, ast.Assign) and not choice.orelse:
            return
        head = "return" if isinstance(one, ast.Return) else f"{source.text(one.targets[0])} ="
        parts = ", ".join(source.text(each) for each in (choice.test, one.value, other.value))
        new = source.span(choice)[0], source.span(other)[1], f"{head} torch.where({parts})"
        yield source.edit(WHERE, new)


WHERE = "Compute both, and choose for each sample."


def of_a_checkpoint_inside(finding):
    """torch.func and checkpoint(f, x): f(x)."""
    for source, call in calls_of(finding, "checkpoint"):
        words = [one for one in call.keywords if one.arg not in ("use_reentrant", "preserve_rng_state")]
        inner = ", ".join(source.text(one) for one in [*call.args[1:], *words])
        says = "Leave checkpoint() out inside of the transform."
        yield source.edit(says, source.swap(call, f"{source.closed(call.args[0])}({inner})"))
        return


def of_donated_buffers(finding):
    """Two passes through compiled code: one, of the sum of the losses; or the setting that allows two."""
    source, node, statement = place_of(finding)
    call, block = source.up(node, ast.Call), source.block(statement)
    after = block[block.index(statement) + 1 :]
    later = next((one for each in after for one in calls_in(each, "backward")), None)
    if called(call) == "backward" and later is not None and source.alone(statement) and not later.args:
        both = f"({source.text(call.func.value)} + {source.text(later.func.value)})"
        yield source.edit(
            "Add the losses, and run one pass.", (*source.whole(statement), ""), source.swap(later.func.value, both)
        )
    place = finding.place("compile")
    if place is not None:
        source = source_of(place.file)
        statement = source.up(source.at(place), ast.stmt)
        says = "Have the compiler keep what it saves, so that two passes may read it."
        setting = "torch._functorch.config"
        line = f"import {setting}\n{source.indent(statement)}{setting}.donated_buffer = False"
        yield source.edit(says, source.before(statement, line))


def of_a_compiled_penalty(finding):
    """torch.compile that leaves the backward pass to PyTorch, which can be differentiated."""
    place = finding.place("compile")
    call = source_of(place.file).up(source_of(place.file).at(place), ast.Call) if place is not None else None
    if called(call) == "compile":
        says = "Compile with PyTorch's own backward pass, which has a derivative: this gives up what fusing brings."
        yield Edit(place.file, with_keyword(source_of(place.file), call, "backend", '"eager"'), says)


def of_sparse(finding):
    for source, call in calls_of(finding, "Embedding", "EmbeddingBag"):
        if any(one.arg == "sparse" for one in call.keywords):
            new = with_keyword(source, call, "sparse", "False")
            yield Edit(source.file, new, "A whole gradient, which every optimizer takes.")


def of_forward_mode(finding):
    for source, call in calls_of(finding, "jacfwd"):
        new = source.text(call.func).replace("jacfwd", "jacrev")
        yield source.edit("The same derivatives in reverse mode.", source.swap(call.func, new))


def of_a_queue(finding):
    for source, call in calls_of(finding, "put", "send"):
        if call.args and called(call.args[0]) != "detach":
            new = f"{source.closed(call.args[0])}.detach()"
            yield source.edit("Send the values; a history cannot go along.", source.swap(call.args[0], new))


# --- leaves ---------------------------------------------------------------------------------------------------------


def of_a_computed_leaf(finding):
    """`w = torch.randn(3, requires_grad=True) * 0.01`: computed first, a leaf last."""
    source, node, statement = place_of(finding)
    frame = finding.frames[0] if finding.frames else None
    computed = []
    for name in named(statement, ast.Load):
        value = value_in(name, frame) if frame is not None else None
        several = value if isinstance(value, (list, tuple)) else [value]
        if any(getattr(one, "grad_fn", None) is not None for one in several):
            computed.append(name)
    for one in ast.walk(source.tree):
        if not isinstance(one, ast.Assign) or one.lineno > statement.lineno:
            continue
        stores = [dotted(target) for target in one.targets]
        words = [
            (call, word)
            for call in ast.walk(one.value) if isinstance(call, ast.Call)
            for word in call.keywords if word.arg == "requires_grad"
        ]  # fmt: skip
        if words and (set(stores) & set(computed)) and words[0][0] is not one.value:
            call, word = words[0]
            start, end = source.span(word)
            comma = source.bytes.rfind(b",", source.span(call.func)[1], start)
            cut = (comma if comma >= 0 else start, end, "")
            yield source.edit(
                "Make the leaf last: what the optimizer holds is then the tensor that gets the gradient.",
                cut,
                (source.span(one.value)[0],) * 2 + ("(" if isinstance(one.value, ast.BinOp) else "",),
                (source.span(one.value)[1],) * 2
                + ((")" if isinstance(one.value, ast.BinOp) else "") + ".requires_grad_()",),
            )
            return
    place = finding.place("made")
    made = source_of(place.file).up(source_of(place.file).at(place), ast.Assign) if place is not None else None
    if made is not None:
        source = source_of(place.file)
        new = f"{source.closed(made.value)}.detach().requires_grad_()"
        yield source.edit("Make a leaf of the result: it is what shall be learned.", source.swap(made.value, new))


def of_a_second_unscale(finding):
    """unscale_() twice between two update(): the later call goes."""
    if finding.place("first") is not None and "unscale_() has already" in finding.message:
        source, node, statement = place_of(finding)
        if isinstance(statement, ast.Expr) and source.alone(statement) and len(source.block(statement)) > 1:
            says = "The gradients are unscaled already: once in a step is enough."
            yield source.edit(says, (*source.whole(statement), ""))


def of_a_missing_gradient(finding):
    """`w = w - lr * w.grad` → an update of the leaf itself; `w.grad.zero_()` before the first pass → only if there."""
    source, node, statement = place_of(finding)
    owner = next((one for one in ast.walk(statement) if isinstance(one, ast.Attribute) and one.attr == "grad"), None)
    if owner is None:
        return
    name = dotted(owner.value)
    scope = source.scope(statement)
    for one in ast.walk(scope):
        target = dotted(one.targets[0]) if isinstance(one, ast.Assign) and len(one.targets) == 1 else ""
        if target == name and isinstance(one.value, ast.BinOp) and dotted(one.value.left) == name:
            sign = edits_of_writes.SIGNS.get(type(one.value.op).__name__)
            if sign in ("+", "-") and "grad" in source.text(one.value.right):
                block = source.up(one.parent, ast.With)
                off = isinstance(block, ast.With) and any("no_grad" in source.text(item) for item in
                                                          [each.context_expr for each in block.items])  # fmt: skip
                new = f"{name} {sign}= {source.text(one.value.right)}"
                if not off:
                    new = f"with torch.no_grad():\n{source.indent(one)}    {new}"
                yield source.edit(
                    "Update the leaf itself, so that it stays one and keeps its `.grad`.", source.swap(one, new)
                )
                return
    if isinstance(statement, ast.Expr) and called(statement.value).endswith("_"):
        text = wrap(source, statement, f"if {name}.grad is not None:")
        yield Edit(source.file, text, "Only where a gradient has arrived; before the first backward() there is none.")


def of_a_plain_input(finding):
    """autograd.grad(y, x) for an x that requires none: told before y is computed."""
    source, node, statement = place_of(finding)
    call = source.up(node, ast.Call)
    while call is not None and called(call) != "grad":
        call = source.up(getattr(call, "parent", None), ast.Call)
    if call is None:
        return
    inputs = next((one.value for one in call.keywords if one.arg == "inputs"), None)
    inputs = inputs if inputs is not None else call.args[1] if len(call.args) > 1 else None
    several = inputs.elts if isinstance(inputs, (ast.List, ast.Tuple)) else [inputs]
    names = [dotted(one) for one in several if one is not None and dotted(one)]
    frame = finding.frames[0] if finding.frames else None
    plain = [
        one for one in names if frame is not None and getattr(value_in(one, frame), "requires_grad", True) is False
    ]
    outputs = set(named(call.args[0], ast.Load)) if call.args else set()
    for name in plain:
        scope = source.scope(statement)
        simple = [one for one in ast.walk(scope) if isinstance(one, (ast.Assign, ast.Expr, ast.Return))]
        uses = [one for one in simple if one.lineno < statement.lineno and name in named(one, ast.Load)]
        made = [one for one in uses if isinstance(one, ast.Assign) and outputs & set(named(one, ast.Store))] or uses
        if made:
            first = min(made, key=lambda one: one.lineno)
            yield source.edit(
                f"Have `{name}` require grad before it is used.", source.before(first, f"{name}.requires_grad_()")
            )
            return


def of_an_unused_input(finding):
    """autograd.grad(D(x.detach()), x): the history of x, kept."""
    source, node, statement = place_of(finding)
    cut = unhistoried(source, statement)
    if cut is not None:
        inner = cut.func.value if isinstance(cut, ast.Call) else cut.value
        name = source.text(base_of(cut))
        says = f"Let the loss be computed from `{name}` itself, and not from a copy without history."
        yield source.edit(says, source.swap(cut, source.text(inner)))


def of_a_flag(finding):
    """`y.requires_grad = False` for a computed y: y without its history, or its gradient kept."""
    source, node, statement = place_of(finding)
    if isinstance(statement, ast.Assign):
        owner, off = statement.targets[0].value, source.text(statement.value) == "False"
    else:
        call = next(iter(calls_in(statement, "requires_grad_")), None)
        if call is None or not isinstance(call.func, ast.Attribute):
            return
        owner, off = call.func.value, bool(call.args) and source.text(call.args[0]) == "False"
    name = source.text(owner)
    if off:
        yield source.edit(
            "Its values without the history.", source.swap(statement, f"{name} = {name}.detach()"), loses=True
        )
    else:
        yield source.edit(
            "It requires grad already: have its gradient kept.", source.swap(statement, f"{name}.retain_grad()")
        )


def of_a_number(finding):
    """`loss = f(x).item()`, and then loss.backward(): the tensor, and the number only for the log."""
    source, node, statement = place_of(finding)
    call = next(iter(calls_in(statement, "backward")), None)
    name = dotted(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else ""
    made = [
        one
        for one in ast.walk(source.scope(statement))
        if isinstance(one, (ast.Assign, ast.AugAssign)) and name in named(one, ast.Store)
    ]
    for one in made:
        items = [
            each for each in calls_in(one.value, "item", "tolist", "numpy") if isinstance(each.func, ast.Attribute)
        ]
        if items:
            swaps = [source.swap(each, source.text(each.func.value)) for each in items]
            yield source.edit("Keep the tensor; take its number where it is printed.", *swaps)
            return


def of_numpys_function(finding):
    """`np.mean(tensor)`: PyTorch's own function."""
    source, node, statement = place_of(finding)
    torch, swaps = finding.recorder.torch, []
    for call in calls_in(statement):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if dotted(owner) in ("np", "numpy") and hasattr(torch, call.func.attr):
            swaps.append(source.swap(owner, "torch"))
    if swaps:
        yield source.edit("PyTorch's own functions: they are recorded.", *swaps)
