"""Notice what does not raise: writes that nothing counted, parameters that learn nothing, gradients never cleared.

Each doubt is said once, with the line that it is about. Where nothing is doubtful nothing is said.
"""

import sys
import weakref

from backscope.script import habits
from backscope.script.drops import Drops
from backscope.script.findings import at
from backscope.script.histories import Histories, graph_of
from backscope.script.lives import Lives
from backscope.script.models import Models
from backscope.script.names import Living, in_words
from backscope.script.passes import Passes
from backscope.script.places import CHOSEN, OWN, Spot, iter_frames
from backscope.script.recorder import forget
from backscope.script.shared import Shared
from backscope.script.targets import Targets
from backscope.script.watching import Ears, Watcher

FIRST = 3  # passes whose files are read
NORMS_AT = 3, 6  # steps at which is looked for frozen norms in training mode
LOOKED = {2**n for n in range(2, 12)}  # steps at which is looked for a best model that is the living one


class Doubts(Watcher):
    """Watches a Recorder and the optimizers' steps, and collects Lines; Lives, Histories and Models help."""

    def __init__(self, torch, recorder):
        self.torch, self.recorder = torch, recorder
        self.found, self.said = {}, set()  # key -> Lines; what was said of which line
        self.running = False  # while backward() runs
        self.hidden = []  # writes through .data since the last pass
        self.norms = {}  # since the last pass: memory of running statistics -> (newest node, place) of batch_norm
        self.stepped_at = -1  # the newest node at the last optimizer step
        weak = torch.utils.weak.WeakTensorKeyDictionary
        self.used = weak()  # a gradient that a step has used -> its version then
        self.assigned = weak()  # a tensor without history that was told to require grad -> the place
        self.reached = set()  # ids of parameters for which a step has found a gradient
        self.without = {}  # id of a parameter that a step found without a gradient -> Missing
        self.passes = self.steps = self.stepping = 0
        self.closure = None  # where the last pass was started, if by the closure of a step
        self.made = []  # weak references to optimizers, in the order of their making
        self.owned, self.stepped = set(), set()  # ids of parameters that optimizers have; that they have stepped
        self.last_step, self.all_missed = None, set()  # places of steps; of those without any gradient
        self.graph, self.roots = ({}, {}), []  # nodes and leaves of the pass that begins, and the nodes it starts from
        self.names = Living(self)
        self.lives, self.models, self.inside, self.drops = Lives(self), Models(self), Passes(self), Drops(self)
        self.shared, self.histories, self.targets = Shared(self), Histories(self), Targets(self)
        self.parts = self.lives, self.histories, self.models, self.inside, self.drops, self.shared, self.targets
        self.files = set()  # the user's files that run passes
        self.best = {}  # file -> what habits.kept_best() found
        self.handles, self.ears = [], Ears(recorder)

    def __enter__(self):
        self.recorder.watchers += [self, *self.parts]
        self.recorder.close += [self.lives, self.histories, self.targets]
        optimizers = sys.modules[self.torch.optim.Optimizer.__module__]

        def step_begins(optimizer, args, kwargs):
            with self.torch._C.DisableTorchFunction():  # what we read is not the script's doing
                self.recorder.guarded(self.before_step, optimizer, sys._getframe(1))

        def step_ends(optimizer, args, kwargs):
            self.stepping = 0
            if self.lives.moving:
                with self.torch._C.DisableTorchFunction():
                    self.recorder.guarded(self.lives.after_step)

        hooks = optimizers.register_optimizer_step_pre_hook, optimizers.register_optimizer_step_post_hook
        self.handles[:] = [hook(told) for hook, told in zip(hooks, (step_begins, step_ends), strict=True)]
        self.ears.listen(optimizers.Optimizer, "__init__", after=self.after_optimizer)
        for each in self.parts:
            each.hear(self.ears)
        return self

    def __exit__(self, *error):
        self.end()
        for each in (self, *self.parts):
            self.recorder.watchers.remove(each)
        self.recorder.close.clear()

    def end(self):
        for handle in self.handles:
            handle.remove()
        self.ears.take_out()

    def lines(self, whole=True):
        """List what is doubtful, now that the script is over; after half a script a gradient may be still to come."""
        for file in self.files:
            for line, text in habits.never_called(file):
                self.say(("called", file, line), self.spot(file, line, ""), f"this calls nothing: {text}()")
            for line, name in habits.misspelt(file):
                what = f"this sets a new attribute, {name}, and changes nothing: the flag is called requires_grad"
                self.say(("called", file, line), self.spot(file, line, ""), what)
        if any("zero_grad()" in lines[0].what for key, lines in self.found.items() if key[0] == "called"):
            self.found = {key: lines for key, lines in self.found.items() if key[0] != "grad"}  # its consequence
        self.lives.judge()
        self.models.judge()
        self.inside.judge()
        self.drops.judge()
        self.targets.judge()
        nothing = [lines[0] for key, lines in self.found.items() if key[0] in ("root", "assigned")]
        causes, places, dropped = {}, {}, {}
        for key, one in self.without.items() if whole else ():
            if one.cause is not None:
                causes.setdefault(one.cause.place, []).append(one)
            elif (line := self.drops.cause(key)) is not None and not (nothing and one.place in self.all_missed):
                dropped.setdefault(line, []).append(one)
            else:
                places.setdefault(one.place, []).append(one)
        for place, missed in causes.items():
            self.say_cause(place, missed)
        for place, missed in dropped.items():
            self.say(
                ("loss", place), place,
                "this loss is computed and dropped: no pass starts from it, and no gradient has ever reached "
                f"{in_words([one.name for one in missed])}",
            )  # fmt: skip
        late = [
            lines for key, lines in self.found.items() if key[0] == "owner" and "after the optimizer" in lines[0].what
        ]
        for place, missed in places.items():
            gone = [one for one in missed if late and one.name.startswith("parameter ")]  # replaced by the late one
            if gone:
                late[0][0].what += f", which still has {in_words([one.name for one in gone])}"
            missed = [one for one in missed if one not in gone]
            which = in_words([one.name for one in missed])
            if nothing and place in self.all_missed:
                nothing[0].what += f", and no gradient reaches {which}"
            elif missed:
                self.say(("none", place), place, f"this optimizer steps, but no gradient has ever reached {which}")
        return [line for lines in self.found.values() for line in lines]

    def say_cause(self, place, missed):
        """No gradient reaches some parameters: the line that has cut them off."""
        cut, which, step = missed[0].cause, in_words([one.name for one in missed]), missed[0].place
        term = self.found.get(("term", place))
        if term is not None:
            term[0].what += f", and {which} none at all"
            return
        off = self.histories.off.get(place)
        more = () if off is None else (("off", off[0], "recording is switched off here", off[1]),)
        self.say(
            ("cut", place), off[0] if off is not None and off[0].file == place.file else place,
            f"no gradient has ever reached {which}: {self.histories.why(cut)}, and the loss is "
            f"computed from the result; the optimizer steps in line {step.line}", *more,
        )  # fmt: skip

    def say(self, key, place, what, *more, line=None):
        """Note a doubt once. more: (role, place, what, another line of that file) of other lines that belong to it."""
        if place is None or key in self.found:
            return
        said = (key[0], place.file, line or place.line, what)
        if said in self.said:
            return
        self.said.add(said)
        lines = self.found[key] = [at("doubt", place, what)]
        lines[0].number = line or lines[0].number
        for role, where, said, *number in more:
            if where is not None:
                lines.append(at(role, where, said))
                lines[-1].number = number[0] if number else lines[-1].number

    # --- what the parts ask for ---

    def place(self, frame):
        return self.recorder.place(frame)

    def is_users(self, frame):
        """Tell whether a frame runs code of the user's, or of a library that is neither PyTorch's nor Python's."""
        return self.recorder.rank(frame.f_code.co_filename) in (OWN, CHOSEN)

    def in_words(self, names):
        return in_words(list(dict.fromkeys(names)))

    def is_own(self, file):
        return self.recorder.rank(file) == OWN

    def spot(self, file, line, name):
        """A line that was read, and not seen running."""
        return Spot(file, line, name)

    def key(self, frame):
        """Return who started a pass: the user's lines, at most three."""
        found = []
        while frame is not None and len(found) < 3:
            if self.is_users(frame):
                found.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return tuple(found)

    def frames(self):
        """The user's frames around the running line."""
        return [frame for frame in iter_frames(sys._getframe(1)) if self.is_users(frame)]

    def scopes(self):
        """The variables around the running line: those of the user's calls, and of the script."""
        found = []
        for frame in self.frames():
            held = frame.f_locals
            found.append(dict(held))
            if frame.f_locals is not frame.f_globals:
                forget(held)
        main = sys.modules.get("__main__")
        return [*found, vars(main)] if main is not None else found

    def optimizers(self):
        return [one for reference in self.made if (one := reference()) is not None]

    def count(self):
        return len(self.made)

    def number_of(self, optimizer):
        """Its place in the order of all optimizers."""
        for number, reference in enumerate(self.made):
            if reference() is optimizer:
                return number
        self.made.append(weakref.ref(optimizer))
        return len(self.made) - 1

    def index_of(self, parameter):
        """Its place among the parameters of its optimizer."""
        for one in self.optimizers():
            for number, each in enumerate(p for group in one.param_groups for p in group["params"]):
                if each is parameter:
                    return number
        return None

    def after_optimizer(self, frame, result, optimizer, *args, **kwargs):
        """An optimizer was made."""
        ids = {id(p) for group in optimizer.param_groups for p in group["params"]}
        self.owned |= ids
        self.models.after_optimizer(self.number_of(optimizer), optimizer, frozenset(ids), self.place(frame))

    # --- what the recorder tells ---

    def after_write(self, write, tensor):
        if write.through_data:
            self.hidden.append(write)
            del self.hidden[:-1000]

    def after_pass(self, given):
        self.running = False

    def after_norm(self, statistics, place):
        """batch_norm() ran in training mode: it writes to its running statistics, and their counters do not move."""
        for tensor in statistics:
            self.norms[self.recorder.memory(tensor)] = self.recorder.newest, place

    def after_setting(self, function, args, place):
        """`x.requires_grad_()`, `x.requires_grad = True`."""
        flag = self.torch.Tensor.requires_grad
        is_flag = getattr(function, "__self__", None) is flag or function.__name__ == "requires_grad_"
        tensor = args[0]
        if is_flag and tensor.requires_grad and tensor.dim() == 0 and not isinstance(tensor, self.torch.nn.Parameter):
            self.assigned[tensor] = place

    def before_pass(self, given, kwargs, place, frame):
        """backward() or grad() is about to run."""
        self.passes += 1
        self.running = place is not None and not self.asked_for(frame)
        self.graph, self.roots = ({}, {}), []
        if self.recorder.rests:
            return
        self.closure = place if self.stepping else None
        if place is not None and self.passes <= FIRST:
            self.files.update(one.file for one in place.outwards)
        roots = [one for one in self.tensors(given)]
        self.roots = [root.grad_fn for root in roots]
        self.graph = graph_of(self.roots)
        for root in self.tensors([kwargs.get("outputs", given[0])] if given else []):
            if root.grad_fn is None and root in self.assigned:
                self.say(
                    ("assigned", self.assigned[root]), self.assigned[root],
                    "this tensor had no history when it was told to require grad: backward() from it reaches no "
                    "parameter",
                )  # fmt: skip
            elif root.grad_fn is None and root in self.histories.made:
                self.say(
                    ("root", self.histories.made[root]), self.histories.made[root],
                    "this makes a tensor that has no history, of numbers, and requires_grad=True changes nothing about "
                    "that: backward() from it reaches no parameter",
                )  # fmt: skip
            elif root.grad_fn is None and root.requires_grad:
                self.say(
                    ("root", place), place,
                    "backward() starts here at a tensor that has no history, because it was made with "
                    "requires_grad=True: it reaches no parameter",
                )  # fmt: skip
        nodes = self.graph[0]
        self.look_for_old_parts(nodes)
        if self.norms:
            self.look_for_new_statistics(nodes)
            self.norms.clear()
        if self.hidden:
            self.look_for_hidden_writes(nodes)
            self.hidden.clear()

    def asked_for(self, frame):
        """Tell whether it is autograd.grad(), which gives its result to the one who asks."""
        while frame is not None and not self.is_users(frame):
            if frame.f_code.co_name == "grad":
                return True
            frame = frame.f_back
        return False

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
        return {self.recorder.memory(one) for one in self.saved_by(node)}

    def saved_by(self, node):
        """The tensors that a node has saved."""
        for name in dir(node):
            if name.startswith("_saved_") or name == "saved_tensors":
                try:
                    held = getattr(node, name)
                except Exception:
                    continue
                yield from self.tensors([held])

    # --- what optimizers tell ---

    def before_step(self, optimizer, frame):
        """An optimizer is about to step: whom did no gradient reach, whose gradient was used before?"""
        self.steps += 1
        if self.recorder.rests:
            return self.glance(optimizer)
        place, number = self.recorder.place(frame), self.number_of(optimizer)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        ids = set(map(id, parameters))
        self.owned |= ids
        self.lives.before_step(number, optimizer, place)
        self.inside.before_step(number, parameters)
        self.shared.before_step(number, parameters)
        if self.steps == NORMS_AT[0] and self.models.froze:
            self.models.look_at_norms()
        elif self.steps == NORMS_AT[1] and self.models.norms:
            self.models.look_at_norms_again()
        if self.steps in LOOKED:
            self.look_for_a_best_that_lives(ids, place)
        missed = 0
        for parameter in parameters:
            gradient = parameter.grad
            if gradient is None:
                missed += parameter.requires_grad
                if parameter.requires_grad and self.passes and id(parameter) not in self.reached:
                    self.miss(parameter, place)
                continue
            self.reached.add(id(parameter))
            self.stepped.add(id(parameter))
            self.without.pop(id(parameter), None)
            version = self.used.get(gradient)
            if version is not None and gradient._version > version and not self.was_cleared(gradient, version):
                if self.closure is not None:
                    self.say(
                        ("grad", place), self.closure,
                        "this pass of the closure adds to the gradients of the one before: nothing clears them in "
                        f"between (optimizer.zero_grad() in the closure), and the step of line {place.line} uses sums",
                    )  # fmt: skip
                self.say(
                    ("grad", place), place,
                    "the gradients of this step were added to those of the step before: nothing has cleared them in "
                    "between (optimizer.zero_grad())",
                )  # fmt: skip
            self.used[gradient] = gradient._version
        if missed == len(parameters):
            self.all_missed.add(place)
        self.models.after_step(ids)
        self.stepping, self.last_step = 1, place
        self.stepped_at = self.recorder.newest

    def look_for_a_best_that_lives(self, ids, place):
        """`best = model`, below a comparison: the model that is kept is the one that steps."""
        best = {name: (file, *what) for file in self.files for name, what in habits.kept_best(file).items()}
        if not best:
            return
        for held in self.scopes():
            holders = [
                held,
                *(
                    vars(one)
                    for one in list(held.values())
                    if type(one).__module__ == "__main__" and hasattr(one, "__dict__")
                ),
            ]
            for holder in holders:
                for name in best.keys() & holder.keys():
                    file, line, kept = best[name]
                    if self.is_living(holder[name], ids):
                        self.say(
                            ("best", file, line), self.spot(file, line, ""),
                            f"this keeps no copy: {name} is {kept} itself, or has its tensors, and the step of line "
                            f"{place.line} goes on changing it (copy.deepcopy)",
                        )  # fmt: skip

    def is_living(self, kept, ids):
        """Tell whether a module, or a state dict, has parameters that step."""
        if isinstance(kept, self.torch.nn.Module):
            return any(id(one) in ids for one in kept.parameters())
        known = self.models.dicts.get(id(kept))
        if known is None or known[0]() is not kept or known[2] >= self.steps or (module := known[3]()) is None:
            return False
        return any(
            id(one) in ids and name in kept and self.models.same(one, kept[name])
            for name, one in module.named_parameters()
        )

    def glance(self, optimizer):
        """A step while the recorder rests: has a gradient come after all, is a mode left on, did a flag do nothing?"""
        for key, one in list(self.without.items()):
            parameter = one.parameter()
            if parameter is not None and parameter.grad is not None:
                del self.without[key]
        if self.inside.zero:
            self.inside.before_step(None, [p for group in optimizer.param_groups for p in group["params"]])
        if self.models.evals or self.models.flags:
            self.models.after_step({id(p) for group in optimizer.param_groups for p in group["params"]})
        return None

    def miss(self, parameter, place):
        """A step has found a parameter without a gradient, which no pass has reached yet."""
        known = self.without.get(id(parameter))
        cleared = self.lives.lives.get(id(parameter))
        if cleared is not None and cleared.cleared is not None:  # a pass has reached it
            return
        if known is None or known.parameter() is not parameter:
            known = self.without[id(parameter)] = Missing(parameter, self.names.name(parameter), place)
        if known.cause is None:
            known.cause = self.histories.cause(parameter)

    def was_cleared(self, gradient, version):
        """Tell whether a call set this gradient to zero after the version at which it was used."""
        memory = self.recorder.memory(gradient)
        for write in reversed(self.recorder.writes):
            if write.memory == memory:
                if write.version <= version:
                    return False
                if "zero" in write.name or write.name in ("fill_", "copy_"):
                    return True
        return False


class Missing:
    """A parameter that an optimizer has, and no gradient has reached."""

    def __init__(self, parameter, name, place):
        self.parameter, self.name, self.place, self.cause = weakref.ref(parameter), name, place, None
