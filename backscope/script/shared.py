"""Memory that two have: arrays that are written to, targets and ties that share a parameter's numbers, states kept."""

import ast
import weakref

from backscope.script.habits import last
from backscope.script.histories import tree_of
from backscope.script.source import base_of, calls_in, source_of
from backscope.script.watching import Watcher

MOST = 500  # arrays, ties that are remembered
SAMPLE = 256  # numbers of an array that are looked at


class Shared(Watcher):
    """Follows memory that has two names."""

    def __init__(self, doubts):
        self.doubts, self.recorder, self.torch = doubts, doubts.recorder, doubts.torch
        self.arrays = {}  # memory of a tensor -> (weak reference to the array that has it too, a sample, place)
        self.ties = {}  # id of a parameter -> [weak reference, weak reference to the one it was tied to, place, steps]
        self.counted = set()  # numbers of optimizers whose parameters were compared
        self.data = self.torch.Tensor.data

    # --- arrays ---

    def hear(self, ears):
        ears.listen(self.torch, "from_numpy", after=lambda frame, result, array: self.after_array(array, result, frame))

    def after_array(self, array, tensor, frame):
        """A tensor and an array have the same memory from now on."""
        if self.recorder.rests or not tensor.numel() or tensor.data_ptr() != array.__array_interface__["data"][0]:
            return
        while len(self.arrays) >= MOST:
            self.arrays.pop(next(iter(self.arrays)))
        known = weakref.ref(array), sample(array), self.recorder.place(frame)
        self.arrays[self.recorder.memory(tensor)] = known

    def after_numpy(self, name, args, result, frame):
        """`torch.as_tensor(array)`, `tensor.numpy()`: one of them is an array, if no copy was made."""
        tensor, array = (result, args[0]) if isinstance(result, self.recorder.tensor) else (args[0], result)
        if (
            type(array).__module__ == "numpy"
            and isinstance(tensor, self.recorder.tensor)
            and tensor.device.type == "cpu"
        ):
            if hasattr(array, "__array_interface__"):
                self.after_array(array, tensor, frame)

    def overwritten(self):
        """Memories whose array has been written to."""
        found = {}
        for memory, (reference, before, place) in self.arrays.items():
            array = reference()
            if array is not None and place is not None and sample(array) != before:
                found[memory] = array, place
        return found

    def before_pass(self, given, kwargs, place, frame):
        written = self.overwritten() if self.arrays else {}
        for node in self.doubts.graph[0] if written else ():
            for tensor in self.doubts.saved_by(node):
                array, where = written.get(self.recorder.memory(tensor), (None, None))
                if array is not None and tensor.numel() == array.size and tensor.data_ptr() == address(array):
                    self.doubts.say(
                        ("array", where), where,
                        f"this tensor has the memory of a NumPy array, which was written to after {node.name()} had "
                        "saved it: no counter moved, and the gradient is computed from the new numbers "
                        "(torch.tensor(array), or .clone())",
                    )  # fmt: skip

    def after_stack(self, operands):
        """Several tensors become one: are they all the same memory, which was filled again for each?"""
        known = {}
        for one in operands:
            if (found := self.arrays.get(self.recorder.memory(one))) is not None:
                known.setdefault(one.data_ptr(), []).append(found)
        for some in known.values():
            place = some[0][2]
            if len({before for _, before, _ in some}) > 1 and place is not None:
                self.doubts.say(
                    ("array", place), place,
                    f"this keeps no copy: {len(some)} of the tensors that are put together have the memory of one "
                    "NumPy array, and all of them show what was written to it last (torch.tensor(array), or .clone())",
                )  # fmt: skip

    # --- parameters ---

    def after_setting(self, function, args, place):
        """`target.data = parameter.data`: from now on both are one."""
        if getattr(function, "__self__", None) is not self.data or place is None:
            return
        target, value = args[0], args[1]
        known = self.doubts.histories.same.get(value)
        source = known[2]() if known is not None else value
        is_parameter = isinstance(source, self.torch.nn.Parameter) and isinstance(target, self.torch.nn.Parameter)
        if is_parameter and source is not target:
            self.ties[id(target)] = [weakref.ref(target), weakref.ref(source), place, 0]
        else:
            self.ties.pop(id(target), None)

    def before_step(self, number, parameters):
        if number not in self.counted:
            self.counted.add(number)
            self.compare(parameters)
        found = {}
        for key, one in list(self.ties.items()):
            target, source = one[0](), one[1]()
            if target is None or source is None or target.data_ptr() != source.data_ptr():
                del self.ties[key]
            elif id(source) in self.doubts.owned or key in self.doubts.owned:
                one[3] += 1
                if one[3] == 2:
                    found.setdefault(one[2], []).append((target, source))
        for place, pairs in found.items():
            targets, sources = (self.doubts.names.of(some) for some in zip(*pairs, strict=True))
            self.doubts.say(
                ("tie", place), place,
                f"this copies nothing: {targets} have the memory of {sources} from now on, and each step changes both "
                "(target.data.copy_(…), under torch.no_grad())",
            )  # fmt: skip

    def compare(self, parameters):
        """Two parameters of an optimizer on one memory: `b.weight = nn.Parameter(a.weight)` copies nothing."""
        seen = {}
        for one in parameters:
            if one.layout is not self.torch.strided or not one.numel() or not one.data_ptr():
                continue
            other = seen.setdefault((one.data_ptr(), one.shape), one)
            if other is not one:
                places = [self.doubts.models.known(each, self.doubts.models.placed) for each in (one, other)]
                places = [each[1] for each in places if each is not None]
                place = max(places, key=lambda each: each.line, default=self.doubts.last_step)
                names = self.doubts.names.of([other, one])
                self.doubts.say(
                    ("twice", place), place,
                    f"{names} are two parameters on one memory: each has a gradient of its own, and the optimizer "
                    "steps twice. To tie them, let both be the same parameter (b.weight = a.weight)",
                )  # fmt: skip

    def after_mix(self, parameter, place):
        """A parameter is compared with itself."""
        kept = self.kept_at(place)
        where = self.doubts.spot(place.file, kept, "") if kept is not None else place
        self.doubts.say(
            ("itself", where.file, where.line), where,
            f"this keeps no copy: line {place.line} compares {self.doubts.names.of([parameter])} with itself "
            "(p.detach().clone())"
            if kept is not None
            else "this compares a parameter with itself, and gives zero: what was kept of it is no copy "
            "(p.detach().clone())",
        )  # fmt: skip

    def after_two_names(self, parameter, place):
        """`t.lerp_(s, 0.1)` where t and s are one parameter; but not `p.add_(p, alpha=-decay)`, which says so."""
        names = self.two_names(place) if place is not None else None
        if names is None:
            return
        line = self.set_to(place.file, names)
        where = self.doubts.spot(place.file, line, "") if line is not None else place
        self.doubts.say(
            ("itself", where.file, where.line), where,
            f"this makes no copy: line {place.line} mixes {self.doubts.names.of([parameter])} with itself, since both "
            "are one model (copy.deepcopy)"
            if line is not None
            else f"this mixes {self.doubts.names.of([parameter])} with itself: both are one model (copy.deepcopy)",
        )  # fmt: skip

    def two_names(self, place):
        """The names in zip(a.parameters(), b.parameters()) of the loop around a line that mixes both; None if one."""
        source = source_of(place.file)
        statement = source.statement_at(place.line)
        calls = calls_in(statement, "add_", "lerp_", "copy_", "lerp", "add", "mul_")
        read = {base.id for call in calls for each in (call.func, *call.args)
                for base in ast.walk(each) if isinstance(base, ast.Name)}  # fmt: skip
        for loop in source.around(statement, ast.For):
            bound = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
            if len(read & bound) >= 2:
                return [last(base_of(one)) for one in getattr(loop.iter, "args", [])[:2]]
        return None

    def set_to(self, file, names):
        """The line that sets one of these names to the other: `self.teacher = self.student`."""
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Assign) and {last(node.targets[0]), last(node.value)} == set(names) - {""}:
                return node.lineno
        return None

    def kept_at(self, place):
        """The line that fills the list or dict which the line of a comparison reads; None if unsure."""
        tree, found = tree_of(place.file), []
        read = {
            name_of(one.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt) and not hasattr(node, "body")
            and node.lineno <= place.line <= node.end_lineno
            for one in ast.walk(node)
            if isinstance(one, ast.Subscript)
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and name_of(node.targets[0]) in read - {""}:
                words = {getattr(one, "attr", "") for one in ast.walk(node.value)}
                kept = getattr(node.value, "value", getattr(node.value, "elt", None))  # of {…: p for … in …}
                if words & {"parameters", "named_parameters"} and isinstance(kept, ast.Name):
                    found.append(node.lineno)
        return found[0] if len(found) == 1 else None


def name_of(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def address(array):
    return array.__array_interface__["data"][0]


def sample(array):
    """Some of its numbers, as bytes."""
    flat = array.reshape(-1) if array.flags["C_CONTIGUOUS"] else array.ravel()
    return flat[:: max(1, flat.size // SAMPLE)].tobytes()
