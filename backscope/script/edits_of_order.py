"""Edits about order: an optimizer that steps too early, a part of a graph that a second pass goes through."""

import ast
import re

from backscope.graph.node_facts import sequence_nr
from backscope.script import edits_of_writes
from backscope.script.edits_of_states import carried_edits, is_detached
from backscope.script.places import Spot, is_of
from backscope.script.source import (
    FUNCTIONS,
    LOOPS,
    Edit,
    called,
    calls_in,
    dotted,
    met,
    named,
    source_of,
    value_in,
    with_keyword,
)

RANDOM = ("rand", "randn", "randint", "randperm", "normal", "sample", "rsample", "multinomial", "bernoulli", "next",
          "rand_like", "randn_like", "choice", "step", "reset", "dropout")  # fmt: skip
PASSES = "backward", "manual_backward", "grad"


def of_a_step(finding):
    """A parameter was written to between the line that saved it and the pass: by a step, an average, a clip."""
    if not finding.writes or not (finding.writes[0].optimizer or finding.writes[0].leaf):
        return
    saved, changed, failed = finding.place("saved"), finding.place("changed"), finding.failed
    if None in (saved, changed, failed):
        return
    if finding.writes[0].name.startswith("embedding"):  # max_norm shortens the rows that are looked up
        yield from edits_of_writes.at_the_read(finding, saved, finding.slot, changed)
        return
    yield from of_a_target(finding, saved)
    carried = list(carried_edits(finding, saved)) if spans(finding) else []
    built = list(in_init(finding, saved))
    order = list(order_edits(finding, saved, changed, failed))
    yield from built or carried
    yield from order
    if not built and not carried and not order:
        yield from carried_edits(finding, saved)


def of_a_target(finding, saved):
    """A parameter that no optimizer holds, such as an average of weights: its model is a constant of this loss."""
    parameter = finding.parameter
    if parameter is None or finding.writes[0].optimizer or optimizers_of(finding, parameter):
        return
    there = met(saved, finding.failed)
    frame = next((one for one in finding.frames if there is not None and is_of(one, there[0])), None)
    if frame is None:
        return
    source = source_of(there[0].file)
    for call in calls_in(source.up(source.at(there[0]), ast.stmt)):
        module = value_in(dotted(call.func), frame) if dotted(call.func) else None
        if issubclass(type(module), finding.recorder.torch.nn.Module):
            if any(one is parameter for one in module.parameters()):
                says = "No optimizer holds its parameters: take its output as a constant."
                yield source.edit(says, source.swap(call, f"{source.text(call)}.detach()"))
                return


def spans(finding):
    """Tell whether a part of the failing graph was made after the write: it has taken up something older."""
    newest = max((sequence_nr(root) for root in finding.roots), default=-1)
    return newest > finding.writes[0].after


def order_edits(finding, saved, changed, failed):
    """A step in one block with the pass that fails: the step behind it, or the loss computed after the step."""
    there = met(changed, failed)
    if there is None:
        return
    source = source_of(there[0].file)
    step, last = (source.up(source.at(place), ast.stmt) for place in there)
    yield from split_loop(source, saved, there[0], step, last)
    step, last = in_one_block(source, step, last)
    if step is None:
        return
    block = source.block(step)
    at, end = block.index(step), block.index(last)
    if at >= end or not all(source.alone(one) for one in (step, last)):
        return
    first = next((one for one in saved.outwards if one.key == there[0].key), None)
    first = source.up(source.at(first), ast.stmt) if first is not None else None
    while first is not None and first not in block:
        first = getattr(first, "parent", None)
    again = list(anew(finding, source, block, first, step, last)) if first is not None else []
    moved = list(moved_step(finding, source, block, step, last))
    if alternates(finding, source, block, step, last):
        yield from again  # a step behind that pass would use gradients that are not meant for it
    else:
        yield from moved
        yield from again


def split_loop(source, saved, place, step, last):
    """`for optimizer, loss in …`: clear, pass and step in one loop, over one forward pass: a loop for each."""
    loop = getattr(step, "parent", None)
    if not isinstance(loop, ast.For) or step not in loop.body or last not in loop.body or loop.orelse:
        return
    first = next((one for one in saved.outwards if one.key == place.key), None)
    at, end = loop.body.index(last), loop.body.index(step)
    if at >= end or first is None or loop.lineno <= first.line <= loop.end_lineno or loop.body[0].lineno == loop.lineno:
        return
    head = source.bytes[source.starts[loop.lineno - 1] : source.starts[loop.body[0].lineno - 1]].decode()
    clears = [one for one in loop.body[:at] if calls_in(one, "zero_grad")]
    parts = [clears, [one for one in loop.body[:end] if one not in clears], loop.body[end:]]
    if not all(source.alone(one) for one in loop.body):
        return
    text = "".join(head + "".join(source.lines(one) for one in part) for part in parts if part)
    yield source.edit(
        "A loop for each: clear all gradients, run all passes, and step when no graph needs the weights any more.",
        (*source.whole(loop), text),
    )


def in_one_block(source, step, last):
    """The two statements, or those around them, that stand in one list of statements; (None, None) without."""
    chain = []
    node = step
    while node is not None and not isinstance(node, FUNCTIONS):
        chain.append(node)
        node = getattr(node, "parent", None)
    node = last
    while node is not None and not isinstance(node, FUNCTIONS):
        for one in chain:
            both = isinstance(one, ast.stmt) and isinstance(node, ast.stmt) and one is not node
            if both and node in source.block(one):
                return one, node
        node = getattr(node, "parent", None)
    return None, None


def alternates(finding, source, block, step, last):
    """Tell whether the pass that fails is for other parameters than the step before it: a GAN's two players.

    Then a step behind that pass would use gradients that were not meant for it.
    """
    frame = next((one for one in finding.frames if one.f_code.co_filename == source.file), None)
    after = [call for one in block[block.index(last) :] for call in calls_in(one, "step")]
    if frame is None or not after:
        return False
    stepped = optimizers_of(finding, finding.parameter)
    second = value_in(dotted(after[0].func.value), frame) if isinstance(after[0].func, ast.Attribute) else None
    groups = getattr(second, "param_groups", None) or getattr(getattr(second, "optimizer", None), "param_groups", None)
    if groups is None or not stepped:
        return False
    theirs = {id(one) for group in groups for one in group["params"]}
    return not any(theirs & {id(p) for group in one.param_groups for p in group["params"]} for one in stepped)


def optimizers_of(finding, parameter):
    """The optimizers that are alive and hold a parameter."""
    import gc

    kind, found = finding.recorder.torch.optim.Optimizer, []
    for one in gc.get_objects():
        if issubclass(type(one), kind) and hasattr(one, "param_groups"):
            if any(p is parameter for group in one.param_groups for p in group["params"]):
                found.append(one)
    return found


def moved_step(finding, source, block, step, last):
    needed = {name for one in block[block.index(step) + 1 : block.index(last) + 1] for name in named(one, ast.Load)}
    if isinstance(step, (ast.Assign, ast.AnnAssign)) and needed & set(named(step, ast.Store)):
        return
    text = source.lines(step)
    clears = [one for one in block[block.index(step) + 1 : block.index(last)] if calls_in(one, "zero_grad")]
    clears = [one for one in clears if source.alone(one) and isinstance(one, ast.Expr)]
    gone, end = (*source.whole(step), ""), source.whole(last)[1]
    tail = "" if source.bytes[:end].endswith(b"\n") else "\n"
    if clears:
        begin = next((one for one in block if calls_in(one, *PASSES)), None)
        if begin is not None and block.index(begin) < block.index(step):
            up = "".join(source.lines(one) for one in clears)
            start = source.whole(begin)[0]
            more = [*((*source.whole(one), "") for one in clears), (start, start, up)]
            yield source.edit(
                "Clear all gradients first, then run all passes, then step: no weight changes while a graph needs it.",
                gone,
                (end, end, tail + text),
                *more,
            )
            return
    what = "Step" if calls_in(step, "step") else "Write to the parameters"
    yield source.edit(f"{what} after the last backward() that needs these weights.", gone, (end, end, tail + text))


def anew(finding, source, block, first, step, last):
    """The loss computed after the step: its lines moved there, or repeated where others have used what they made."""
    at = block.index(step)
    if first not in block or block.index(first) >= at or not isinstance(first, ast.Assign):
        return
    between, after = block[block.index(first) : at], block[at + 1 : block.index(last) + 1]
    again = needed_again(between, after)
    if not again or any(calls_in(one, *RANDOM) or not source.alone(one) for one in again):
        return
    text = "".join(source.lines(one) for one in again)
    end = source.whole(step)[1]
    made = {name for one in again for name in named(one, ast.Store)}
    rest = [one for one in between if one not in again]
    used = any(made & set(named(one, ast.Load)) for one in [*rest, step])
    put = (end, end, text)
    if used:
        yield source.edit("Compute it anew after the write, with the weights as they are then.", put)
    else:
        cut = [(*source.whole(one), "") for one in again]
        says = "Compute this loss after the write, with the weights as they are then."
        yield source.edit(says, put, *cut)


def needed_again(before, after):
    """The assignments before a step that follow from the first of them and that what comes after the step reads."""
    follow, known = [], set()
    for one in before:
        if isinstance(one, ast.Assign) and (one is before[0] or known & set(named(one, ast.Load))):
            follow.append(one)
            known |= set(named(one, ast.Store))
    needed, kept = {name for one in after for name in named(one, ast.Load)}, []
    for one in reversed(follow):
        if set(named(one, ast.Store)) & needed:
            kept.insert(0, one)
            needed |= set(named(one, ast.Load))
    return kept


# --- what is carried from one step to the next ---------------------------------------------------------------------


def of_a_second_pass(finding):
    """A second pass went through what a first one has freed."""
    built, first, failed = finding.place("built"), finding.place("first"), finding.failed
    if built is None or failed is None:
        return
    yield from in_init(finding, built)
    if first is None or same_lines(first, failed):
        yield from into_the_closure(finding, failed)
        yield from into_the_loop(finding, built, failed, constant=True)
        yield from carried_edits(finding, *finding.joins, built)
        yield from into_the_loop(finding, built, failed)
        return
    yield from two_passes(finding, built, first, failed)


def same_lines(one, other):
    """Tell whether two places are one line, reached through the same lines."""
    chains = [[(each.file, each.line) for each in place.outwards] for place in (one, other)]
    shorter = min(map(len, chains))
    return chains[0][:shorter] == chains[1][:shorter]


def apart(one, other):
    """The places of the nearest function in which two ways differ; None where none does."""
    for first in one.outwards:
        second = next((each for each in other.outwards if each.key == first.key), None)
        if second is not None and first.line != second.line:
            return first, second
    return None


def two_passes(finding, built, first, failed):
    """Two lines that call backward() over one part: cut it for the first, or add the losses, or keep the graph."""
    there = apart(first, failed)
    if there is None:
        return
    source = source_of(there[0].file)
    one, two = (source.up(source.at(place), ast.Call) for place in there)
    early, late = (source.up(source.at(place), ast.stmt) for place in there)
    early_at, late_at = in_one_block(source, early, late)
    stepped = early_at is not None and any(
        calls_in(each, "step") for each in source.block(early_at)[source.block(early_at).index(early_at) :
                                                                  source.block(early_at).index(late_at)]
    )  # fmt: skip
    cut = list(cut_for_the_first(finding, source, built, early, there[0]))
    if stepped:
        yield from cut
    plain = all(called(each) == "backward" and not each.args and dotted_root(each) for each in (one, two))
    yield from in_a_wrapper(source, early, late)
    yield from made_again(source, built, there[0], early_at)
    if plain and not stepped and early_at is early and late_at is late and source.alone(early):
        losses = source.text(one.func.value), source.text(two.func.value)
        swap = source.swap(two.func.value, f"({losses[0]} + {losses[1]})")
        yield source.edit(
            "Add the losses, and run one pass: gradients add up in any case.", (*source.whole(early), ""), swap
        )
    if one is not None and called(one) in PASSES and not stepped:
        yield Edit(
            source.file,
            with_keyword(source, one, "retain_graph", "True"),
            "Or keep the graph for the second pass: both passes reach everything behind it.",
        )
    if not stepped:
        yield from cut


def in_a_wrapper(source, early, late):
    """`trainer.step(a)`, `trainer.step(b)`: one step with the sum."""
    calls = [getattr(one, "value", None) for one in (early, late)]
    same = all(isinstance(one, ast.Call) and len(one.args) == 1 and not one.keywords for one in calls)
    if same and source.text(calls[0].func) == source.text(calls[1].func) and source.alone(early):
        if called(calls[0]) not in PASSES:
            both = f"{source.text(calls[0].args[0])} + {source.text(calls[1].args[0])}"
            gone, swap = (*source.whole(early), ""), source.swap(calls[1].args[0], both)
            yield source.edit("Add the losses: one pass, and one step for both.", gone, swap)


def made_again(source, built, place, early):
    """Compute once more, behind the first pass, what the second needs: for the case that an optimizer steps there."""
    own = next((one for one in built.outwards if one.key == place.key), None)
    if own is None or early is None:
        return
    made, block = source.up(source.at(own), ast.stmt), source.block(early)
    stepped = calls_in(early, "step") or any(calls_in(one, "step") for one in block[block.index(early) :])
    if made in block and block.index(made) < block.index(early) and stepped and isinstance(made, ast.Assign):
        again = needed_again(block[block.index(made) : block.index(early)], block[block.index(early) + 1 :])
        if again and not any(calls_in(one, *RANDOM) or not source.alone(one) for one in again):
            end = source.whole(early)[1]
            text = "".join(source.lines(one) for one in again)
            says = "Or compute it anew behind the first, with the weights as they are then."
            yield source.edit(says, (end, end, text))


def cut_for_the_first(finding, source, built, early, place):
    """`d(fake)` → `d(fake.detach())` in what the first pass starts from: the other player has made `fake`."""
    own = next((one for one in built.outwards if one.key == place.key), None)
    if own is None:
        return
    made = source.up(source.at(own), ast.stmt)
    names = named(made, ast.Store) if isinstance(made, ast.Assign) else []
    needed, block = set(named(early, ast.Load)), source.block(early)
    if early not in block:
        return
    for call in calls_in(early):
        handed = [one for one in call.args if dotted(one) in names]
        if handed and called(call) not in PASSES:
            says = f"Cut `{dotted(handed[0])}` off where only its values are needed: the first pass does not go there."
            yield source.edit(says, *(source.swap(one, f"{dotted(one)}.detach()") for one in handed))
            return
    for one in reversed(block[: block.index(early)]):
        if not isinstance(one, ast.Assign) or not set(named(one, ast.Store)) & needed or one is made:
            continue
        needed |= set(named(one, ast.Load))
        reads = [each for each in ast.walk(one.value) if dotted(each) in names and isinstance(each.ctx, ast.Load)]
        reads = [each for each in reads if not is_detached(each)]
        if reads:
            name = dotted(reads[0])
            yield source.edit(
                f"Cut `{name}` off where this loss needs only its values: the first pass does not go there.",
                *(source.swap(each, f"{name}.detach()") for each in reads),
            )
            return


def dotted_root(call):
    """Tell whether a call is one of a method: loss.backward(), and not torch.autograd.backward(loss)."""
    return isinstance(call.func, ast.Attribute) and not dotted(call.func).startswith(("torch.", "autograd."))


OLD = re.compile(r"old|target|ref|teacher|baseline|prev|fixed", re.IGNORECASE)


def into_the_loop(finding, built, failed, constant=False):
    """A line before the loop made what each pass of the loop goes through: make it in the loop, or a constant of it.

    It is meant as a constant where the loop computes the same anew, or where its name says so: PPO's old_logp.
    """
    there = met(built, failed)
    if there is None:
        return
    source = source_of(there[0].file)
    made, last = (source.up(source.at(place), ast.stmt) for place in there)
    loops = [one for one in source.around(last, *LOOPS) if made not in list(ast.walk(one))]
    if not loops or not isinstance(made, (ast.Assign, ast.AnnAssign)) or not source.alone(made):
        return
    frame = next((one for one in finding.frames if is_of(one, there[0])), None)
    values = [value_in(name, frame) for name in named(made, ast.Store)] if frame is not None else []
    if any(hasattr(one, "_modules") or hasattr(one, "param_groups") for one in values):
        return  # a model is not made anew in each step
    loop, body = loops[-1], loops[-1].body[0]
    values = [ast.dump(one.value) for one in ast.walk(loop) if isinstance(one, ast.Assign)]
    is_constant = ast.dump(made.value) in values or any(OLD.search(name) for name in named(made, ast.Store))
    if constant and is_constant and not isinstance(made.value, ast.Tuple):
        new = f"{source.closed(made.value)}.detach()"
        yield source.edit("Keep its values only: it is the constant that the loop compares with.",
                          source.swap(made.value, new))  # fmt: skip
    elif not constant and not is_constant and made.lineno < loop.lineno and not calls_in(made, *RANDOM):
        edits = (*source.whole(made), ""), source.before(body, source.text(made))
        yield source.edit("Compute it in each step: every pass has a graph of its own.", *edits)


def into_the_closure(finding, failed):
    """The loss is computed before `def closure():` and its pass runs in there: computed in there, too."""
    source = source_of(failed.file)
    last = source.up(source.at(failed), ast.stmt)
    closure = source.scope(last)
    outer = source.scope(closure) if isinstance(closure, ast.FunctionDef) else None
    if not isinstance(outer, FUNCTIONS[:2]) or last not in closure.body:
        return
    frame = next((one for one in finding.frames if is_of(one, Spot(source.file, closure.lineno, outer.name))), None)
    before = [one for one in source.block(closure) if one.lineno < closure.lineno]
    needed, again = set(named(closure, ast.Load)), []
    for one in reversed(before):  # what the loss is computed from, as far as it has a history
        made = set(named(one, ast.Store)) if isinstance(one, ast.Assign) else set()
        if made & needed and any(getattr(value_in(name, frame), "grad_fn", None) is not None for name in made):
            needed |= set(named(one, ast.Load))
            again.insert(0, one)
    if not again or any(not source.alone(one) for one in again):
        return
    step = len(source.indent(last)) - len(source.indent(again[0]))
    text = "".join(" " * step + line for one in again for line in source.lines(one).splitlines(keepends=True))
    made = {name for one in again for name in named(one, ast.Store)}
    rest = [one for one in source.block(closure) if one.lineno > closure.lineno]
    rest += [one for one in before if one.lineno > again[0].lineno and one not in again]
    used = any(made & set(named(one, ast.Load)) for one in rest)
    start = source.whole(last)[0]
    cut = [] if used else [(*source.whole(one), "") for one in again]
    says = "Compute the loss in the closure: each call needs a graph of its own."
    yield source.edit(says, (start, start, text), *cut)


def in_init(finding, place):
    """`self.mask = self.embed(ids)` in `__init__`: computed in the method that reads it."""
    for here in place.outwards:
        if here.function.endswith("__init__"):
            source = source_of(here.file)
            statement = source.up(source.at(here), ast.stmt)
            inside = source.up(statement, *FUNCTIONS)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
                yield from moved_out(source, inside, statement, statement.targets[0])
            return


def moved_out(source, inside, statement, target):
    """The assignment out of `__init__`, into the method that reads it; arguments of `__init__` are kept on self."""
    given = {one.arg for one in inside.args.args} - {"self"}
    kept = {}
    for one in ast.walk(inside):  # self.size = size, also within a tuple
        if isinstance(one, ast.Assign):
            target_, value = one.targets[0], one.value
            both = isinstance(target_, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target_.elts, value.elts, strict=False) if both else [(target_, value)]
            kept |= {v.id: source.text(t) for t, v in pairs if isinstance(v, ast.Name) and isinstance(t, ast.Attribute)}
    free = {one.id for one in ast.walk(statement.value) if isinstance(one, ast.Name) and one.id in given}
    local = {name for one in ast.walk(inside) if isinstance(one, ast.Assign) for name in named(one, ast.Store)}
    if any(isinstance(one, ast.Name) and one.id in local for one in ast.walk(statement.value)):
        return  # it uses a variable of __init__
    offset, text, swaps = source.span(statement.value)[0], source.bytes[slice(*source.span(statement.value))], []
    for one in ast.walk(statement.value):
        if isinstance(one, ast.Name) and one.id in free:
            start, end = source.span(one)
            swaps.append((start - offset, end - offset, kept.get(one.id, "self." + one.id)))
    for start, end, new in sorted(swaps, reverse=True):
        text = text[:start] + new.encode() + text[end:]
    pad = source.indent(statement)
    stored = "".join(f"{pad}self.{name} = {name}\n" for name in sorted(free - set(kept)))
    owner = source.up(inside, ast.ClassDef)
    reads = [
        one for one in ast.walk(owner)
        if isinstance(one, ast.Attribute) and dotted(one) == dotted(target) and isinstance(one.ctx, ast.Load)
        and source.up(one, *FUNCTIONS) is not inside
    ]  # fmt: skip
    name = dotted(target).split(".")[-1]
    gone = (*source.whole(statement), stored or ("" if len(inside.body) > 1 else pad + "pass\n"))
    says = "Compute it in each forward pass, and not once while the module is built: its graph is new each time."
    readers = list({id(each): each for each in (source.up(one, *FUNCTIONS) for one in reads)}.values())
    if len(readers) > 1 and all(isinstance(one.parent, ast.ClassDef) for one in readers):
        indent = source.indent(inside)
        lines = ["@property", f"def {name}(self):", f"    return {text.decode()}"]
        put = "".join(f"{indent}{line}\n" for line in lines) + "\n"
        start = source.before(min(readers, key=lambda one: one.lineno), "")[0]
        yield source.edit(says, gone, (start, start, put))
    elif reads:
        uses = source.up(reads[0], ast.stmt)
        edits = [source.swap(one, name) for one in reads] + [source.before(uses, f"{name} = {text.decode()}")]
        yield source.edit(says, gone, *edits)
