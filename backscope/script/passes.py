"""Notice what happens inside of a pass: gradients that are exactly zero, a backward() that writes to what it is given.

Hooks are put on nodes for one pass or two, when something is suspicious, and taken off again.
"""

import ast
import weakref

from backscope.graph.node_facts import sequence_nr
from backscope.script.histories import tree_of
from backscope.script.names import in_words
from backscope.script.recorder import node_of
from backscope.script.watching import Watcher

FLAT = ("Sign", "Sgn", "Round", "Floor", "Ceil", "Trunc")  # functions whose derivative is zero everywhere
LINEAR = ("Add", "Sub", "Rsub", "Neg", "Mul", "Div", "To")
NEAR = 4  # nodes between x and x + (q - x)
PROBES = 3  # passes that are looked through for the place where gradients become zero
APPLIED = 2  # calls of each custom Function whose backward is watched


class Passes(Watcher):
    """Follows parameters whose gradient is exactly zero in each step, and custom Functions."""

    def __init__(self, doubts):
        self.doubts, self.recorder = doubts, doubts.recorder
        self.known = set()  # (number of an optimizer, how many parameters it has): their gradients were looked at
        self.zero = {}  # id of a parameter -> Zero
        self.probes, self.handles = 0, []
        self.flows = {}  # node -> (whether each gradient that it gave was not zero, whether any that it got was not)
        self.single = set()  # nodes of a softmax over one element
        self.applied = {}  # a Function -> how often its backward is watched

    # --- gradients that are zero ---

    def before_step(self, number, parameters):
        """Look at all gradients once, and afterwards at those only that were zero."""
        key = number, len(parameters)
        if key in self.known and not self.zero:
            return
        for one in parameters:
            gradient, found = one.grad, self.zero.get(id(one))
            if gradient is None or gradient.layout is not self.doubts.torch.strided:
                continue
            if found is not None and found.parameter() is one:
                found.steps += 1
                if gradient.any():
                    del self.zero[id(one)]
            elif key not in self.known and gradient.numel() and not gradient.any():
                self.zero[id(one)] = Zero(one)
        if any(one.grad is not None for one in parameters):
            self.known.add(key)

    def before_pass(self, given, kwargs, place, frame):
        nodes, leaves = self.doubts.graph
        wanted = [one for one in self.zero.values() if one.steps >= 2 and one.cause is None and one.key in leaves]
        if not wanted or self.probes >= PROBES or kwargs.get("create_graph") or not self.doubts.running:
            return
        self.probes += 1
        self.single = {node for node in nodes if "oftmax" in node.name() and is_single(node)}
        for node in nodes:
            self.handles.append(node.register_hook(self.watch(node)))

    def watch(self, node):
        def look(given, got):
            self.flows[node] = [not_zero(one) for one in given], any(map(not_zero, got))

        return lambda given, got: self.recorder.guarded(look, given, got)

    def after_pass(self, given):
        for handle in self.handles:
            handle.remove()
        self.handles = []
        if self.flows:
            self.look_for_the_end()
            self.flows, self.single = {}, set()

    def look_for_the_end(self):
        """Find where the gradients that are zero became zero."""
        back, ends = {}, {}  # what follows a node in the pass -> those that give to it; id of a leaf -> its node
        for node in self.flows:
            for number, (following, _) in enumerate(node.next_functions):
                if following is not None:
                    back.setdefault(following, []).append((node, number))
                    if (leaf := getattr(following, "variable", None)) is not None:
                        ends[id(leaf)] = following
        for one in self.zero.values():
            if one.key in ends and one.cause is None and one.steps >= 2 and (leaf := one.parameter()) is not None:
                one.cause, one.name = self.cause(ends[one.key], back), self.doubts.names.name(leaf)

    def cause(self, end, back):
        """(place, words) of the call that makes the gradient zero; None where it is no known kind."""
        stack, seen, cancelled, killed = [end], {end}, [], []
        while stack:
            node = stack.pop()
            for giver, number in back.get(node, ()):
                gave, got = self.flows[giver]
                if got and number < len(gave) and gave[number]:
                    cancelled.append(giver)  # each gives something, and the sum is zero
                elif got:
                    killed.append(giver)
                elif giver not in seen:
                    seen.add(giver)
                    stack.append(giver)
        if any(self.feeds(one, other) for one in cancelled for other in cancelled):
            giver = max(cancelled, key=sequence_nr)
            words = (
                "the gradients that go back here from one tensor cancel, as for x in x + (q - x): detach the "
                "difference, x + (q - x).detach()"
            )
        elif killed and all(one.name().startswith(FLAT) or one in self.single for one in killed):
            giver = max(killed, key=sequence_nr)
            name = giver.name().partition("Backward")[0].lower()
            words = (
                "a softmax over a single element is 1, whatever that is"
                if giver in self.single
                else f"{name}() has the derivative zero everywhere. A straight-through estimator has the gradient of "
                "x: x + (q - x).detach()"
            )
        else:
            return None
        call = self.recorder.call_of(giver)
        return (call[1], words) if call is not None else None

    def feeds(self, one, other):
        """Tell whether what `one` gives back is given on by `other`, over sums and the like: y = x + (q - x)."""
        stack = [one]
        for _ in range(NEAR):
            stack = [
                following
                for node in stack
                if node is not None and node.name().startswith(LINEAR)
                for following, _ in node.next_functions
            ]
            if other in stack:
                return True
        return False

    def judge(self):
        """Say which gradients were zero in all steps."""
        found = {}
        for one in self.zero.values():
            if one.cause is not None and one.steps >= 3:
                found.setdefault(one.cause, []).append(one.name)
        for (place, words), names in found.items():
            self.doubts.say(
                ("zero", place), place,
                f"the gradient of {in_words(names)} is exactly zero in each step: {words}",
            )  # fmt: skip

    # --- custom Functions ---

    def after_function(self, kind, result, frame):
        """A Function was applied: watch what its backward does to the gradients that it is given."""
        first = next(iter(self.doubts.tensors([result])), None)
        node = node_of(first) if first is not None else None
        if node is None or self.applied.get(kind, 0) >= APPLIED or not hasattr(node, "_forward_cls"):
            return
        self.applied[kind] = self.applied.get(kind, 0) + 1
        versions = []

        def before(got):
            versions[:] = [one._version if one is not None else 0 for one in got]

        def after(given, got):
            now = [one._version if one is not None else 0 for one in got]
            if versions and now != versions:
                self.say_written(kind)

        node.register_prehook(lambda got: self.recorder.guarded(before, got))
        node.register_hook(lambda given, got: self.recorder.guarded(after, given, got))

    def say_written(self, kind):
        function = getattr(kind.backward, "__wrapped__", kind.backward)
        code = getattr(function, "__code__", None)
        if code is None or not self.doubts.is_own(code.co_filename):
            return
        line = written_in(code) or code.co_firstlineno
        self.doubts.say(
            ("given", code), self.doubts.spot(code.co_filename, line, code.co_name),
            f"the backward of {kind.__name__} writes to the gradient that it is given. Others are given the same "
            "tensor, such as the other branch of a sum, and get the changed numbers (grad.clone())",
        )  # fmt: skip


class Zero:
    """A parameter whose gradient is exactly zero."""

    def __init__(self, parameter):
        self.parameter, self.key, self.steps = weakref.ref(parameter), id(parameter), 1
        self.cause, self.name = None, ""


def not_zero(gradient):
    return gradient is not None and bool(gradient.any())


def is_single(node):
    """Tell whether a softmax goes over a dimension with one element."""
    result, dim = getattr(node, "_saved_result", None), getattr(node, "_saved_dim", None)
    if result is None or dim is None or not result.dim():
        return False
    return result.size(dim - 2**64 if dim >= 2**63 else dim) == 1  # a negative one is kept as a large number


def written_in(code):
    """The line of a backward() that writes to one of its arguments; None if that is not to be seen in the text."""
    for node in ast.walk(tree_of(code.co_filename)):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and node.lineno >= code.co_firstlineno:
            names = {one.arg for one in [*node.args.args[1:], node.args.vararg] if one is not None}
            for one in ast.walk(node):
                if isinstance(one, ast.Assign) and isinstance(one.value, (ast.Name, ast.Subscript)):
                    if names & {each.id for each in ast.walk(one.value) if isinstance(each, ast.Name)}:
                        names |= {each.id for each in ast.walk(one.targets[0]) if isinstance(each, ast.Name)}
                if is_write(one, names):
                    return one.lineno
            return None
    return None


def is_write(node, names):
    """`g[…] = …`, `g *= …`, `g.clamp_(…)`, `torch.mul(…, out=g)` for one of these names."""
    if isinstance(node, ast.Call):
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        outs = [word.value for word in node.keywords if word.arg == "out"]
        targets = [node.func.value] if method.endswith("_") and not method.endswith("__") else outs
    elif isinstance(node, ast.Assign):
        targets = [one for one in node.targets if isinstance(one, ast.Subscript)]
    else:
        targets = [node.target] if isinstance(node, ast.AugAssign) else []
    for one in targets:
        while isinstance(one, (ast.Subscript, ast.Attribute)):
            one = one.value
        if isinstance(one, ast.Name) and one.id in names:
            return True
    return False
