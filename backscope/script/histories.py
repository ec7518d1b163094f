"""Notice where histories end or go on too long: parameters not reached, terms without a history, graphs kept.

A cut counts only if a backward pass goes through something that was computed from what it gave: losses that are
logged and passes of validation cut histories all the time.
"""

import ast
import functools
import linecache
import weakref

from backscope.graph.node_facts import sequence_nr
from backscope.script.findings import why_cut
from backscope.script.recorder import MAKERS, NUMBERS, Cut, node_of
from backscope.script.watching import Watcher

STACKS = {"stack", "cat", "concat", "vstack", "hstack"}
ARRAYS = {"as_tensor", "asarray", "numpy", "__array__"}  # between tensors and NumPy's arrays, in either direction

SUMS = {"add", "__add__", "__radd__", "__iadd__", "add_", "sub", "__sub__", "__rsub__", "__isub__", "sub_", "rsub"}
SCALES = {"mul", "__mul__", "__rmul__", "div", "__truediv__"}
MIXES = {"sub", "__sub__", "rsub", "equal", "allclose", "dist", "mse_loss", "add_", "lerp_", "copy_", "lerp"}
UPDATES = {"sub", "__sub__", "add", "__add__", "__radd__", "rsub", "__rsub__", "addcdiv", "addcmul", "lerp"}
PASSED_ON = ("Add", "Sub", "Neg", "Mul", "Div", "Mean", "Sum", "Squeeze", "View", "Reshape", "To", "Stack", "Cat")
FEW = 3  # times that one line is looked through for the parameters behind it
MOST_NODES = 20_000


@functools.cache
def tree_of(file):
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])


def switches_off(node):
    """Tell whether an expression is torch.no_grad() or inference_mode(), called or not, or set_grad_enabled(…)."""
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node)}
    return bool(names & {"no_grad", "inference_mode", "set_grad_enabled"})


def block_around(file, line, function):
    """The line of the `with` around a line, or of the decorator of its function, that switches recording off."""
    best = None
    for node in ast.walk(tree_of(file)):
        if not hasattr(node, "lineno") or not node.lineno <= line <= node.end_lineno:
            continue
        if isinstance(node, ast.With) and any(switches_off(item.context_expr) for item in node.items):
            best = max(best or 0, node.lineno)
        elif isinstance(node, ast.FunctionDef) and node.name == function:
            for one in node.decorator_list:
                if switches_off(one):
                    best = max(best or 0, one.lineno)
    return best


def graph_of(roots):
    """({node: its sequence number}, {id: leaf}) of what a pass from these nodes runs."""
    stack, seen, leaves = [node for node in roots if node is not None], {}, {}
    while stack and len(seen) < MOST_NODES:
        node = stack.pop()
        if node in seen:
            continue
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves[id(leaf)] = leaf
            continue
        seen[node] = sequence_nr(node)
        stack.extend(following for following, _ in node.next_functions if following is not None)
    return seen, leaves


class Histories(Watcher):
    """Follows what was cut from its history, and what is added to graphs that a pass has freed."""

    def __init__(self, doubts):
        self.doubts, self.recorder, self.drops = doubts, doubts.recorder, doubts.drops
        self.data = doubts.torch.Tensor.data
        self.behind = {}  # place of a cut -> {id of a parameter: weak reference to it}
        self.looked = {}  # place of a cut -> how often it was looked through
        self.joined = {}  # number of a node -> the Cuts that its operands come from
        self.terms = {}  # number of a node that adds -> the Cut of a term without a history
        self.numbers = {}  # a number that item() gave since the last pass -> its Cut
        self.consumed = {}  # place of a cut -> (Cut, number of the last pass that went through what came of it)
        self.freed = set()  # numbers of the nodes that the last pass has freed
        self.running = {}  # place that adds to a freed graph -> [number of passes, weak reference to its result, count]
        self.made = doubts.torch.utils.weak.WeakTensorKeyDictionary()  # leaf made of numbers -> place
        self.same = doubts.torch.utils.weak.WeakTensorKeyDictionary()  # part of a parameter -> (place, steps)
        self.scaled = doubts.torch.utils.weak.WeakTensorKeyDictionary()  # such a part times a number -> the same
        self.before_it = {}  # place of a cut -> the Cut that one of its operands came from
        self.off = {}  # place of a call that ran while recording was off -> (the line of the block, what it is)

    def hear(self, ears):
        """Listen to what makes tensors out of arrays, which no mode sees."""
        ears.listen(self.doubts.torch, "from_numpy", after=self.after_array)

    def after_array(self, frame, result, *args):
        if self.recorder.numbers_out and not self.recorder.rests:
            self.recorder.cut_at(result, Cut("from_numpy", self.recorder.place(frame), True, True))
            self.look_behind(self.recorder.cuts[id(result)][1], "from_numpy", ())

    # --- calls ---

    def after_call(self, name, args, before, result, node, frame):
        if frame.f_code.co_filename.startswith(self.recorder.optimizers):  # hundreds of calls, and no histories
            return
        tensor, cuts, drops = self.recorder.tensor, self.recorder.cuts, self.drops
        if drops.losses or drops.updates:
            for one, _ in before:
                drops.updates.pop(id(one), None)
                if one.requires_grad and not one.dim() and (used := node_of(one)) is not None:
                    if (loss := drops.losses.get(used._sequence_nr())) is not None:
                        loss.used = True
        if name in MIXES and len(before) == 2:
            if before[0][0] is before[1][0] and isinstance(before[0][0], self.doubts.torch.nn.Parameter):
                if name.endswith("_"):  # p.add_(p, alpha=-decay) is meant
                    self.doubts.shared.after_two_names(before[0][0], self.recorder.place(frame))
                elif name not in ("equal", "allclose"):  # a test that they are tied
                    self.doubts.shared.after_mix(before[0][0], self.recorder.place(frame))
            elif len(self.same):
                self.look_for_a_copy_that_is_none(before, frame)
        if (name in SCALES or name in SUMS) and len(self.same):
            self.look_for_scaled_aliases(name, before, result, frame)
        elif name in STACKS and self.doubts.shared.arrays:
            self.doubts.shared.after_stack([one for one, _ in before])
        elif name in ARRAYS:
            self.doubts.shared.after_numpy(name, args, result, frame)
        elif name == "detach" and before:
            self.note_alias(before[0][0], result, frame)
        elif name == "clone" and before:
            drops.after_copy(before[0][0], result, frame)
        if name in UPDATES and before and isinstance(result, tensor):
            drops.after_update(before, result, frame)
        if node is not None:
            if isinstance(result, tensor) and not result.dim():
                drops.after_scalar(result, node)
            if cuts:
                self.join(name, before, node)
            if name in SCALES and self.freed:
                self.scale(before, result, node)
            if name in SUMS:
                self.look_for_kept_graphs(before, result, frame)
                if self.numbers and result.dim() == 0:
                    for one in args:
                        if type(one) is float and one in self.numbers and one != int(one):
                            self.terms[node._sequence_nr()] = self.numbers[one]
        elif isinstance(result, tensor):
            if result.requires_grad:
                if (name in MAKERS or name == "Variable") and result.is_leaf:
                    self.made[result] = self.recorder.place(frame)
            elif (known := cuts.get(id(result))) is not None:
                self.look_behind(known[1], name, before)
                if not known[1].recorded:
                    self.look_for_the_block(known[1].place, frame)
        elif name in NUMBERS and self.recorder.numbers_out:
            cut = self.recorder.numbers_out[-1]
            if cut.name == name:
                self.look_behind(cut, name, before)
                if name == "item" and type(result) is float and any(t.requires_grad for t, _ in before):
                    self.numbers[result] = cut

    def after_function(self, kind, result, frame):
        """Note the parameters of what a reentrant checkpoint() ran without a history."""
        known = self.recorder.cuts.get(id(result))
        if kind.__name__ != "CheckpointFunction" or known is None or not known[1].function or known[1].place is None:
            return
        ran = frame.f_locals.get("function")
        names = getattr(getattr(ran, "__code__", None), "co_names", ())
        held = [cell.cell_contents for cell in getattr(ran, "__closure__", None) or ()]
        held += [ran.__globals__[name] for name in names if name in ran.__globals__]
        for one in (ran, getattr(ran, "__self__", None), *held):
            if isinstance(one, self.doubts.torch.nn.Module):
                behind = self.behind.setdefault(known[1].place, {})
                behind.update((id(each), weakref.ref(each)) for each in one.parameters())

    def after_get(self, function, tensor, result, frame):
        if getattr(function, "__self__", None) is self.data:
            self.note_alias(tensor, result, frame)
        if (known := self.recorder.cuts.get(id(result))) is not None and known[1].name == "data":
            self.look_behind(known[1], "data", [(tensor, 0)])

    def note_alias(self, parameter, result, frame):
        """A tensor on the memory of a parameter, which no step of an optimizer leaves as it is."""
        if isinstance(parameter, self.doubts.torch.nn.Parameter):
            self.same[result] = self.recorder.place(frame), self.doubts.steps, weakref.ref(parameter)

    def look_for_a_copy_that_is_none(self, before, frame):
        """A parameter is compared or mixed with what was kept of it some steps ago: its own memory."""
        one, other = before[0][0], before[1][0]
        if one is other or one.shape != other.shape or not one.numel() or one.data_ptr() != other.data_ptr():
            return
        self.compare_aliases([self.same[each] for each in (one, other) if each in self.same], one, other, frame)

    def look_for_scaled_aliases(self, name, before, result, frame):
        """`0.9 * kept + 0.1 * p.data`: scaled first, and mixed then."""
        if name in SCALES and before:
            known = self.same.get(before[0][0])
            if known is None and isinstance(before[0][0], self.doubts.torch.nn.Parameter) and not result.requires_grad:
                known = None, self.doubts.steps, weakref.ref(before[0][0])
            if known is not None and isinstance(result, self.recorder.tensor):
                self.scaled[result] = *known, before[0][0].data_ptr()
        elif name in SUMS and len(before) == 2 and len(self.scaled):
            kept = [self.scaled[each] for each, _ in before if each in self.scaled]
            if len(kept) == 2 and kept[0][3] == kept[1][3] and kept[0][2]() is kept[1][2]():
                self.compare_aliases([each[:3] for each in kept], None, None, frame)

    def compare_aliases(self, kept, one, other, frame):
        """Two that are on one memory: was one of them kept some steps ago?"""
        place, steps, _ = min(kept, key=lambda each: each[1], default=(None, 0, None))
        line = self.recorder.place(frame)
        if place is not None and line is not None and steps < self.doubts.steps:
            self.doubts.say(
                ("alias", place), place,
                "this keeps no copy: it shares the memory of the parameter, every step has changed it too, and line "
                f"{line.line} sets it beside itself (.detach().clone())",
            )  # fmt: skip
        elif len(kept) == 2 and line is not None and one is not None:
            self.doubts.shared.after_two_names(kept[0][2](), line)

    def look_behind(self, cut, name, before):
        """Note which parameters are behind what a call has cut, the first few times that it runs."""
        place = cut.place
        if place is None or self.looked.get(place, 0) >= FEW:
            return
        found = self.behind.setdefault(place, {})
        roots, new = [], False
        for tensor, _ in before:
            if not tensor.requires_grad:
                if (known := self.recorder.cuts.get(id(tensor))) is not None and known[1].place is not place:
                    found.update(self.behind.get(known[1].place, {}))
                    self.before_it.setdefault(place, known[1])
                continue
            new = True
            if (node := node_of(tensor)) is None:
                found[id(tensor)] = weakref.ref(tensor)
            else:
                roots.append(node)
        if new:
            self.looked[place] = self.looked.get(place, 0) + 1
        for key, leaf in graph_of(roots)[1].items() if roots else ():
            found[key] = weakref.ref(leaf)
        if name in MAKERS or name == "from_numpy":
            for one in self.recorder.numbers_out:
                if one.place is not None and one.place != place:
                    found.update(self.behind.get(one.place, {}))
                    self.before_it.setdefault(place, one)

    def look_for_the_block(self, place, frame):
        """Find the `with torch.no_grad():`, or the decorator, around a call that was not recorded."""
        if place is None or place in self.off:
            return
        self.off[place] = None
        while frame is not None:
            if self.doubts.is_users(frame):
                line = block_around(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
                if line is not None:
                    self.off[place] = self.recorder.place(frame), line
                    return
            frame = frame.f_back

    def scale(self, before, result, node):
        """0.1 * loss, 0.9 * running: as good as these themselves."""
        for tensor, _ in before:
            for one in self.running.values():
                if one[1]() is tensor:
                    one[1] = weakref.ref(result)
            if (root := node_of(tensor)) is not None and root._sequence_nr() in self.freed:
                self.freed.add(node._sequence_nr())

    def join(self, name, before, node):
        """A call made a node of operands that have one and others that have lost theirs."""
        for tensor, _ in before:
            if tensor.requires_grad or (known := self.recorder.cuts.get(id(tensor))) is None:
                continue
            number, cut = node._sequence_nr(), known[1]
            self.joined.setdefault(number, []).append(cut)
            if len(self.joined) > MOST_NODES:
                self.joined.pop(next(iter(self.joined)))
            by_accident = cut.whole or (not cut.recorded and "add" in name)
            if name in SUMS and by_accident and tensor.dim() == 0 and tensor.is_floating_point():
                self.terms[number] = cut

    def look_for_kept_graphs(self, before, result, frame):
        """`running += loss`, where a pass has freed the graph of loss."""
        operands = [tensor for tensor, _ in before]
        if not self.freed or not any(
            (node := node_of(one)) is not None and node._sequence_nr() in self.freed for one in operands
        ):
            return
        place = self.recorder.place(frame)
        passes, last, count = self.running.get(place, (0, lambda: None, 0))
        goes_on = passes < self.doubts.passes and last() is not None and any(one is last() for one in operands)
        self.running[place] = [self.doubts.passes, weakref.ref(result), count + 1 if goes_on else max(count, 1)]
        if goes_on and count >= 2:
            self.doubts.say(
                ("running", place), place,
                "this adds to a graph that a pass has freed, and keeps the graph of every step alive: add loss.item(), "
                "or loss.detach()",
            )  # fmt: skip

    # --- passes ---

    def before_pass(self, given, kwargs, place, frame):
        nodes = self.doubts.graph[0]
        for number in nodes.values():
            for cut in self.joined.get(number, ()):
                if cut.place is not None:
                    self.consumed[cut.place] = cut, self.doubts.passes
        if self.terms:
            self.look_for_terms(place)
        self.numbers.clear()
        self.terms.clear()
        self.joined.clear()
        kept = kwargs.get("retain_graph") or kwargs.get("create_graph")
        self.freed = set() if kept else set(nodes.values())

    def look_for_terms(self, place):
        """Terms of the loss without a history: behind its sums and means."""
        stack, seen = list(self.doubts.roots), set()
        while stack:
            node = stack.pop()
            if node is None or node in seen or hasattr(node, "variable") or not node.name().startswith(PASSED_ON):
                continue
            seen.add(node)
            stack.extend(one for one, _ in node.next_functions)
            cut = self.terms.get(sequence_nr(node))
            if cut is None or cut.place is None:
                continue
            cut = self.origin(cut)
            self.doubts.say(
                ("term", cut.place), cut.place,
                f"a term of the loss has no history: {self.why(cut)}; the pass of line {place.line} gets "
                "no gradient from it",
            )  # fmt: skip

    def why(self, cut):
        if cut.name == "CheckpointFunction":
            return (
                "no tensor that checkpoint() is given requires grad, so its reentrant kind records nothing "
                "(use_reentrant=False)"
            )
        return f"{cut.name}() gives numbers" if cut.name in NUMBERS or cut.name in MAKERS else why_cut(cut)[1]

    def origin(self, cut, parameter=None):
        """The first of a chain of cuts, as far as this parameter is behind it."""
        seen = set()
        while (one := self.before_it.get(cut.place)) is not None and one.place not in seen:
            if parameter is not None and id(parameter) not in self.behind.get(one.place, {}):
                break
            seen.add(cut.place)
            cut = one
        return cut

    # --- judgements ---

    def cause(self, parameter):
        """The Cut because of which no pass has reached this parameter; None where none was seen."""
        found = []
        for place, (cut, number) in self.consumed.items():
            behind = self.behind.get(place, {}).get(id(parameter))
            if behind is not None and behind() is parameter:
                found.append((number, cut))
        if not found:
            return None
        return self.origin(max(found, key=lambda one: one[0])[1], parameter)  # the step after it has missed it
