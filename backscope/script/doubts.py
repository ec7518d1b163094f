"""What does not raise: writes that nothing counted, parameters that learn nothing, gradients that were never cleared.

Each doubt is said once, with the line that it is about. Where nothing is doubtful nothing is said.
"""


import sys

from backscope.adapters import adapter
from backscope.graph.tensor_facts import is_module
from backscope.pictures.draw import named_by
from backscope.script.findings import at, nodes_behind


class Doubts:
    """Watches a Recorder and the optimizers' steps, and collects Lines."""

    def __init__(self, torch, recorder):
        self.torch, self.recorder = torch, recorder
        self.found = {}  # key -> Line
        self.hidden = []  # writes through .data since the last pass
        self.norms = {}  # since the last pass: memory of running statistics -> (newest node, place) of batch_norm
        self.stepped_at = -1  # the newest node at the last optimizer step
        weak = torch.utils.weak.WeakTensorKeyDictionary
        self.used = weak()  # a gradient that a step has used -> its version then
        self.assigned = weak()  # a tensor without history that was told to require grad -> the place
        self.cleared = {}  # since the last pass: id of a parameter, or memory and version of a gradient -> the place
        self.used_up = set()  # ids of the parameters whose gradients a step has used since the last pass
        self.reached = set()  # ids of parameters for which a step has found a gradient
        self.without = {}  # id of a parameter that a step found without a gradient -> (its name, the place)
        self.passes = 0

    def __enter__(self):
        self.recorder.watchers.append(self)

        def step_begins(optimizer, args, kwargs):
            self.recorder.guarded(self.before_step, optimizer, sys._getframe(1))

        self.handle = adapter("torch").register_optimizer_step_pre_hook(step_begins)
        return self

    def __exit__(self, *error):
        self.handle.remove()
        self.recorder.watchers.remove(self)

    def end(self):
        """The recorder ends before the script does."""
        self.handle.remove()

    def after_pass(self, given):
        pass

    def lines(self, whole=True):
        """What is doubtful, now that the script is over; after half a script a gradient may be still to come."""
        places = {}
        for name, place in self.without.values() if whole else ():
            places.setdefault(place, []).append(name)
        for place, missed in places.items():
            which = ", ".join(missed[:6]) + (f" and {len(missed) - 6} more" if len(missed) > 6 else "")
            self.say(("none", place), place, f"this optimizer steps, but no gradient has ever reached {which}")
        return list(self.found.values())

    def say(self, key, place, what):
        if place is not None:
            self.found.setdefault(key, at("doubt", place, what))

    # --- what the recorder tells ---

    def after_write(self, write, tensor):
        if write.through_data:
            self.hidden.append(write)
            del self.hidden[:-1000]
        if self.passes and "zero" in write.name and tensor._base is None:  # a row may be set to zero on purpose
            self.cleared[write.memory, write.version] = write.place

    def after_norm(self, statistics, place):
        """batch_norm() ran in training mode: it writes to its running statistics, and their counters do not move."""
        for tensor in statistics:
            self.norms[self.recorder.memory(tensor)] = self.recorder.newest, place

    def after_setting(self, function, args, place):
        """`x.requires_grad_()`, `x.requires_grad = True` and `x.grad = None`."""
        flag = self.torch.Tensor.requires_grad
        if getattr(function, "__self__", None) is self.torch.Tensor.grad and args[1] is None:
            self.cleared[id(args[0])] = place
        is_flag = getattr(function, "__self__", None) is flag or function.__name__ == "requires_grad_"
        tensor = args[0]
        if is_flag and tensor.requires_grad and tensor.dim() == 0 and not isinstance(tensor, self.torch.nn.Parameter):
            self.assigned[tensor] = place

    def before_pass(self, given, kwargs, place):
        """backward() or grad() is about to run."""
        self.passes += 1
        self.cleared.clear()
        self.used_up.clear()
        roots = [one for one in self.tensors(given)]
        for root in self.tensors([kwargs.get("outputs", given[0])] if given else []):
            if root.grad_fn is None and root in self.assigned:
                self.say(
                    ("assigned", self.assigned[root]), self.assigned[root],
                    "this tensor had no history when it was told to require grad: backward() from it reaches no "
                    "parameter",
                )  # fmt: skip
            elif root.grad_fn is None and root.requires_grad:
                self.say(
                    ("root", place), place,
                    "backward() starts here at a tensor that has no history, because it was made with "
                    "requires_grad=True: it reaches no parameter",
                )  # fmt: skip
        nodes = nodes_behind([root.grad_fn for root in roots])
        self.look_for_old_parts(nodes)
        if self.norms:
            self.look_for_new_statistics(nodes)
            self.norms.clear()
        if self.hidden:
            self.look_for_hidden_writes(nodes)
            self.hidden.clear()

    def tensors(self, given):
        for one in given:
            if isinstance(one, self.recorder.tensor):
                yield one
            elif type(one) in (list, tuple):
                yield from (x for x in one if isinstance(x, self.recorder.tensor))

    def look_for_old_parts(self, nodes):
        """A part of this graph that was there at the last step, and leads to a parameter that was written to since."""
        written = {}  # memory -> the newest node at the last write
        for write in self.recorder.writes if any(number <= self.stepped_at for number in nodes.values()) else ():
            written[write.memory] = write.after
        for node, number in nodes.items():
            leaves = [to.variable for to, _ in node.next_functions if hasattr(to, "variable")]
            last = max((written.get(self.recorder.memory(leaf), -1) for leaf in leaves), default=-1)
            if number <= min(self.stepped_at, last):
                call = self.recorder.call_of(node)
                if call is not None:
                    self.say(
                        ("old", call[1]), call[1],
                        f"{node.name()} was made here before the last optimizer step, and this pass goes through it "
                        "again: a part of the gradient belongs to the old parameters",
                    )  # fmt: skip

    def look_for_hidden_writes(self, nodes):
        """A write through .data to memory that a node of this graph has saved before."""
        for write in self.hidden:
            for node, number in nodes.items():
                if number <= write.after and write.memory in self.saved(node):
                    self.say(
                        ("data", write.place), write.place,
                        f"{write.name} wrote through .data to a tensor that {node.name()} had saved: no counter moved, "
                        "and the gradient is computed from the new numbers",
                    )  # fmt: skip
                    break

    def look_for_new_statistics(self, nodes):
        """Running statistics that a batch norm has saved in eval mode, and has written to in training mode since."""
        for node, number in nodes.items():
            if "BatchNorm" in node.name() and getattr(node, "_saved_training", True) is False:
                last, place = self.norms.get(self.recorder.memory(node._saved_running_var), (-1, None))
                if number < last:
                    self.say(
                        ("norm", place), place,
                        f"batch_norm in training mode wrote to running statistics that {node.name()} had saved in "
                        "eval mode: no counter moved, and the gradient is computed from the new numbers",
                    )  # fmt: skip

    def saved(self, node):
        """The memories of what a node has saved."""
        found = set()
        for name in dir(node):
            if name.startswith("_saved_") or name == "saved_tensors":
                try:
                    held = getattr(node, name)
                except Exception:
                    continue
                found.update(self.recorder.memory(one) for one in self.tensors([held]))
        return found

    # --- what optimizers tell ---

    def before_step(self, optimizer, frame):
        """An optimizer is about to step: whom did no gradient reach, whose gradient was used before?"""
        place = self.recorder.place(frame)
        for number, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"]):
            gradient = parameter.grad
            now = id(parameter) if gradient is None else (self.recorder.memory(gradient), gradient._version)
            cleared = self.cleared.get(now)
            if cleared is not None and self.passes and id(parameter) not in self.used_up and place is not None:
                self.say(
                    ("cleared", cleared, place), cleared,
                    "this clears the gradients of the last backward() before a step has used them: the optimizer "
                    f"steps in line {place.line}",
                )  # fmt: skip
                continue
            if gradient is None:
                known = id(parameter) in self.without or id(parameter) in self.reached
                if parameter.requires_grad and self.passes and not known:
                    shape = "×".join(map(str, parameter.shape)) or "a single number"
                    name = name_of(parameter, frame) or f"parameter {number} ({shape})"
                    self.without[id(parameter)] = name, place
                continue
            self.used_up.add(id(parameter))
            self.reached.add(id(parameter))
            self.without.pop(id(parameter), None)
            version = self.used.get(gradient)
            if version is not None and gradient._version > version and not self.was_cleared(gradient, version):
                self.say(
                    ("grad", place), place,
                    "the gradients of this step were added to those of the step before: nothing has cleared them in "
                    "between (optimizer.zero_grad())",
                )  # fmt: skip
            self.used[gradient] = gradient._version
        self.stepped_at = self.recorder.newest

    def was_cleared(self, gradient, version):
        """Whether a call set this gradient to zero after the version at which it was used."""
        memory = self.recorder.memory(gradient)
        for write in reversed(self.recorder.writes):
            if write.memory == memory:
                if write.version <= version:
                    return False
                if "zero" in write.name or write.name in ("fill_", "copy_"):
                    return True
        return False


def name_of(parameter, frame):
    """What a module among the variables of these calls calls a parameter, after its own name; None if none does."""
    while frame is not None:
        for name, thing in list(frame.f_locals.items()):
            if is_module(thing):
                for path, tensor in named_by([thing]):
                    if tensor is parameter:
                        return f"{name}.{path}"
        frame = frame.f_back
    return None
