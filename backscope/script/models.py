"""Modules and optimizers: what no optimizer has, what was copied by reference, which mode was left on."""

import ast
import weakref

from backscope.script.histories import tree_of
from backscope.script.names import children_of, in_words, modules_alive
from backscope.script.watching import Watcher

NORMS = "BatchNorm", "SyncBatchNorm", "InstanceNorm"
INNER = "train", "state_dict", "load_state_dict", "load"
MOST = 500  # parameters that are looked into when they receive gradients that nobody uses
REASONS = {
    "hidden": "made here, and held in a list or dict that parameters() does not look into (nn.ModuleList)",
    "late": "it became part of the model here, after the optimizer was made",
    "thawed": "it is told to require grad here, after the optimizer was made without it (add_param_group)",
    "beside": "one has others of the same module",
    "alone": "it is part of no module, and was given to none",
}


def made_at(name, file):
    """The line of a file that assigns an nn.Parameter, or a tensor that requires grad, to this name; None if unsure."""
    found = []
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Assign) and any(
            getattr(target, "id", getattr(target, "attr", "")) == name for target in node.targets
        ):
            found.append(node.lineno)
    return found[0] if len(found) == 1 else None


class Models(Watcher):
    """Follows modules and optimizers."""

    def __init__(self, doubts):
        self.doubts, self.recorder, self.torch = doubts, doubts.recorder, doubts.torch
        self.flag = self.torch.Tensor.requires_grad
        self.copied = {}  # the same as placed, of parameters that deepcopy() has made
        self.placed = {}  # id of a parameter -> (weak reference, place where it became a module's, optimizers, passes)
        self.received = {}  # id of a parameter that no optimizer has -> Received
        self.states = weakref.WeakKeyDictionary()  # module -> (place of the last state_dict(), steps then)
        self.dicts = {}  # id of a state dict -> (weak reference to it, place, steps then, weak reference to its module)
        self.evals = {}  # id of a module -> [weak reference, place of eval(), steps since]
        self.thawed = {}  # id of a parameter -> (weak reference, place): told to require grad when optimizers were made
        self.fresh = {}  # place that makes parameters -> [passes that met new ones, passes that met any, Received]
        self.makings = {}  # (place, ids of parameters) -> numbers of the optimizers made there that remember something
        self.froze = {}  # id of a parameter -> (weak reference, place): told to need no gradient
        self.evaluated = {}  # id of a module -> (weak reference, place of eval()) until its own train()
        self.undone = {}  # id of a norm -> (place of eval(), place of the train() of a module around it)
        self.norms = []  # Norm: of frozen parameters, in training mode
        self.flags = []  # (weak reference to a module, value, place, steps then) of module.requires_grad = …

    def hear(self, ears):
        module = self.torch.nn.Module
        ears.listen(module, "__setattr__", after=self.after_attribute)
        ears.listen(module, "add_module", after=lambda frame, _, owner, name, one: self.after_place(one, frame))
        ears.listen(module, "register_parameter", after=self.after_parameter)
        ears.listen(module, "train", before=self.before_train)
        ears.listen(module, "state_dict", after=self.after_state)
        ears.listen(module, "load_state_dict", before=self.before_load)
        ears.listen(self.torch, "save", before=self.before_save)
        ears.listen(self.torch.nn.Parameter, "__deepcopy__", after=self.after_copy)

    # --- where parameters come from ---

    def after_parameter(self, frame, _, owner, name, parameter=None):
        if parameter is not None:
            place, passes = self.doubts.place(frame), self.doubts.passes
            self.placed[id(parameter)] = weakref.ref(parameter), place, self.doubts.count(), passes

    def after_copy(self, frame, result, *args):
        """copy.deepcopy() of a parameter, most often of a whole module."""
        if self.doubts.count():
            self.copied[id(result)] = weakref.ref(result), self.doubts.place(frame), self.doubts.count()

    def after_optimizer(self, number, optimizer, ids, place):
        kinds = "momentum", "betas", "alpha", "rho"
        if any(optimizer.defaults.get(one) for one in kinds):
            self.makings.setdefault((place, ids), []).append(number)

    def after_setting(self, function, args, place):
        one = args[0]
        if not isinstance(one, self.torch.nn.Parameter):
            return
        if getattr(function, "__name__", "") == "requires_grad_" or function.__self__ is self.flag:
            if not one.requires_grad:
                self.froze[id(one)] = weakref.ref(one), place
            elif self.doubts.count():
                self.thawed[id(one)] = weakref.ref(one), place

    def after_attribute(self, frame, _, owner, name, value):
        if name == "requires_grad":
            inside = frame.f_code.co_varnames[:1] and frame.f_locals.get(frame.f_code.co_varnames[0]) is owner
            if not inside:  # a class may have an attribute of that name for itself
                self.flags.append((weakref.ref(owner), bool(value), self.doubts.place(frame), self.doubts.steps))
        elif isinstance(value, self.torch.nn.Module):
            self.after_place(value, frame)

    def after_place(self, module, frame):
        """A module has become part of another one, after an optimizer was made."""
        if module is None or not self.doubts.count():
            return
        place = self.doubts.place(frame)
        for parameter in module.parameters():
            made = self.known(parameter, self.placed)
            passes = made[3] if made is not None else -1
            self.placed[id(parameter)] = weakref.ref(parameter), place, self.doubts.count(), passes

    def before_pass(self, given, kwargs, place, frame):
        owned, new = self.doubts.owned, []
        for key, leaf in self.doubts.graph[1].items():
            if key in owned or not isinstance(leaf, self.torch.nn.Parameter):
                continue
            found = self.received.get(key)
            if found is None or found.parameter() is not leaf:
                found = self.received[key] = Received(leaf)
            found.passes += 1
            found.read |= not self.doubts.running
            if found.passes == 1 and self.doubts.steps:
                self.look_for_fresh(leaf, found)
            if found.passes >= 2 and self.doubts.steps and not found.asked:
                found.asked = True
                new.append(leaf)
        if new:
            tree = Tree(self.torch.nn.Module, owned)
            for leaf in new[:MOST]:
                found = self.received[id(leaf)]
                here = self.known(leaf, self.copied) or self.known(leaf, self.placed) or (None, None, 0)
                found.why, found.place = self.suspicion(leaf, tree, here), here[1]
                if found.why == "thawed":
                    found.place = self.thawed[id(leaf)][1]
                found.name = self.doubts.names.name(leaf) if found.why else ""

    def known(self, parameter, where):
        found = where.get(id(parameter))
        return found if found is not None and found[0]() is parameter else None

    def look_for_fresh(self, leaf, found):
        """A pass reaches a parameter that nobody has, for the first time: is there another one in each pass?"""
        here = self.known(leaf, self.placed)
        if here is None or here[1] is None or here[3] != self.doubts.passes - 1:  # made since the last pass
            return
        count, last, all_of = self.fresh.setdefault(here[1], [0, -1, []])
        if last != self.doubts.passes:
            self.fresh[here[1]][:2] = count + 1, self.doubts.passes
        if len(all_of) < MOST:
            all_of.append(found)

    def suspicion(self, parameter, tree, here):
        """Say why this parameter seems to be forgotten, and not left out on purpose; "" if it does not."""
        direct = tree.owners.get(id(parameter), [])
        if not direct:
            return "alone"
        registered = tree.above(direct, tree.parents)
        if not registered & tree.served:
            if here[2] > 0 and self.doubts.all_missed:  # the optimizer that steps has another model's
                return "late"
            return "hidden" if tree.above(direct, tree.parents, tree.hidden) & tree.served else ""
        if here[2] > 0:
            return "late"
        if self.known(parameter, self.thawed):
            return "thawed"
        return "beside" if set(map(id, direct)) & tree.direct else ""

    # --- modes, states ---

    def before_train(self, frame, module, mode=True):
        if self.is_inner(frame):  # a child of the one that was called
            return
        self.note_norms(module, mode, frame)
        if mode:
            self.evals = {key: one for key, one in self.evals.items() if not within(one, module)}
        elif module.training and not type(module).__name__.startswith(NORMS):
            if any(id(p) in self.doubts.stepped for p in module.parameters()):
                self.evals[id(module)] = [weakref.ref(module), self.doubts.place(frame), 0]

    def note_norms(self, module, mode, frame):
        """eval() of a part, and a later train() of the whole, which takes it back."""
        if not mode:
            self.evaluated[id(module)] = weakref.ref(module), self.doubts.place(frame)
            return
        for key, (reference, place) in list(self.evaluated.items()):
            part = reference()
            if part is None or part is module:
                del self.evaluated[key]
            elif any(part is one for one in module.modules()):
                for one in part.modules():
                    self.undone[id(one)] = place, self.doubts.place(frame)

    def look_at_norms(self):
        """At one step: norms whose parameters were frozen, in a model that learns, and that are in training mode."""
        tree = Tree(self.torch.nn.Module, self.doubts.owned)
        for one in modules_alive(self.torch.nn.Module):
            if is_moving(one) and self.known(one.weight, self.froze) and tree.above([one], tree.parents) & tree.served:
                self.norms.append(Norm(one))

    def look_at_norms_again(self):
        """Some steps later: have their statistics moved, and nothing else?"""
        for one in self.norms:
            module = one.module()
            if module is not None and is_moving(module) and one.has_moved(module):
                one.name = self.doubts.names.name(module.weight).rpartition(".")[0]
                one.where = self.undone.get(id(module)) or (None, self.froze[id(module.weight)][1])

    def is_inner(self, frame):
        """Tell whether PyTorch calls a method of a module for one of its children."""
        return frame.f_code.co_filename.endswith("module.py") and frame.f_code.co_name in INNER

    def after_step(self, parameters):
        """An optimizer has these, and steps."""
        for one in self.evals.values():
            module = one[0]()
            if (
                module is not None
                and not module.training
                and any(p.grad is not None and id(p) in parameters for p in module.parameters())
            ):
                one[2] += 1
                if one[2] == 2 and depends_on_mode(module) and one[1] is not None:
                    self.doubts.say(
                        ("eval", one[1]), one[1],
                        "this switches to evaluation, and training goes on in it: no train() follows, so dropout does "
                        "nothing and batch norm keeps its statistics",
                    )  # fmt: skip
        for reference, value, place, steps in self.flags:
            module = reference()
            wrong = [p for p in module.parameters() if p.requires_grad is not value] if module is not None else []
            if wrong and self.doubts.steps > steps:
                done = "thaws" if value else "freezes"
                self.doubts.say(
                    ("flag", place), place,
                    f"a module has no requires_grad: this sets an attribute and {done} nothing, "
                    f"{self.doubts.names.of(wrong)} stay as they were (module.requires_grad_({value}))",
                )  # fmt: skip
        self.flags = [one for one in self.flags if self.doubts.steps <= one[3]]

    def after_state(self, frame, result, module, *args, **kwargs):
        if self.is_inner(frame):
            return
        place = self.doubts.place(frame)
        self.states[module] = place, self.doubts.steps
        if isinstance(result, dict):
            if len(self.dicts) > 200:
                self.dicts.pop(next(iter(self.dicts)))
            try:
                self.dicts[id(result)] = weakref.ref(result), place, self.doubts.steps, weakref.ref(module)
            except TypeError:  # another kind of dict
                pass

    def before_load(self, frame, module, state, *args, **kwargs):
        if self.is_inner(frame) or not hasattr(state, "items"):
            return
        if (known := self.dicts.get(id(state))) is not None and known[0]() is state and known[3]() is not module:
            self.look_for_a_late_load(known, state, self.doubts.place(frame))
        own = {name: one for name, one in module.named_parameters() if one.numel()}
        given = {name: one for name, one in state.items() if name in own and isinstance(one, self.recorder.tensor)}
        if not given or any(not self.same(own[name], one) for name, one in given.items()):
            return
        place, steps = self.states.get(module, (None, 0))
        line = self.doubts.place(frame)
        if line is None or not self.doubts.steps:
            return
        if place is not None and steps < self.doubts.steps:
            what = (
                f"this keeps no copy: state_dict() gives the living tensors, and load_state_dict() in line {line.line} "
                "copies them onto themselves (copy.deepcopy(model.state_dict()))"
            )
            self.doubts.say(("state", place), place, what, ("loaded", line, "this changes nothing"))
        else:
            what = "this copies a model's parameters onto themselves: both are one model, or the state was no copy"
            self.doubts.say(("state", line), line, what)

    def look_for_a_late_load(self, known, state, line):
        """A model gets a state that another one gave some steps ago, and that has changed with it since."""
        _, place, steps, reference = known
        module = reference()
        if module is None or steps >= self.doubts.steps or place is None or line is None:
            return
        own = {name: one for name, one in module.named_parameters() if one.numel() and id(one) in self.doubts.stepped}
        if own and all(name in state and self.same(one, state[name]) for name, one in own.items()):
            what = (
                f"this keeps no copy: steps have changed it since, and line {line.line} loads what the model is then "
                "(copy.deepcopy(model.state_dict()))"
            )
            self.doubts.say(("state", place), place, what, ("loaded", line, "the living tensors"))

    def before_save(self, frame, thing, *args, **kwargs):
        """torch.save(best): a state that was taken before the last steps has changed with them."""
        held = [thing, *thing.values()] if isinstance(thing, dict) else [thing]
        for one in held:
            known = self.dicts.get(id(one))
            if known is None or known[0]() is not one:
                continue
            module, line = known[3](), self.doubts.place(frame)
            if module is None or self.doubts.steps - known[2] < 1 or known[1] is None or line is None:
                continue
            own = dict(module.named_parameters())
            if own and all(name in one and self.same(own[name], one[name]) for name in own):
                what = (
                    f"this keeps no copy: steps have changed it since, and line {line.line} saves what the model is "
                    "then (copy.deepcopy(model.state_dict()))"
                )
                self.doubts.say(("state", known[1]), known[1], what, ("saved", line, "this saves the living tensors"))

    def same(self, one, other):
        return one.data_ptr() == other.data_ptr() and one.shape == other.shape

    # --- judgements ---

    def judge(self):
        found, fresh = {}, set()
        for place, (count, _, some) in self.fresh.items():
            changed = any((p := one.parameter()) is not None and p._version != one.version for one in some)
            if count >= 3 and not changed and not any(one.read or one.key in self.doubts.owned for one in some):
                fresh.add(place)
                here = next((one for one in place.outwards if one.function.split(".")[-1] != "__init__"), place)
                self.doubts.say(
                    ("fresh", here), here,
                    f"this makes new parameters in each pass ({count} passes have met new ones): they receive one "
                    "gradient, no optimizer has them, and the next pass has others. Make the layer once, in __init__",
                )  # fmt: skip
        norms = {}
        for one in self.norms:
            if one.where is not None and one.key not in self.thawed:
                norms.setdefault(one.where, []).append(one.name)
        for (before, place), names in norms.items():
            done = (
                f"this freezes the parameters of {in_words(names)}, and not their running statistics"
                if before is None or place is None
                else f"this puts {in_words(names)} back into training mode, after the eval() of line {before.line}"
            )
            self.doubts.say(
                ("norm", place), place,
                f"{done}: their parameters are frozen, and each forward pass goes on changing their statistics (eval() "
                "of the frozen part, after each train())",
            )  # fmt: skip
        for (place, _), numbers in self.makings.items():
            if len(numbers) >= 3 and all(self.doubts.lives.stepped.get(one) == 1 for one in numbers):
                self.doubts.say(
                    ("anew", place), place,
                    f"this makes an optimizer anew for each step ({len(numbers)} of them, with the same parameters): "
                    "what it remembers, such as momentum or the moments of Adam, is lost. Make it once",
                )  # fmt: skip
        for key, one in self.received.items():
            parameter = one.parameter()
            if one.why and key not in self.doubts.owned and (parameter is None or parameter._version == one.version):
                found.setdefault((one.place, one.why), []).append(one)
        for (place, why), some in found.items():
            if place in fresh:
                continue
            names = in_words(sorted(dict.fromkeys(one.name for one in some), key=lambda name: name.rpartition(".")[0]))
            has, times = "them" if len(some) > 1 else "it", some[0].passes
            where = place or self.doubts.last_step
            line = made_at(some[0].name, where.file) if place is None and where is not None else None
            self.doubts.say(
                ("owner", where), where,
                f"{names} received {times} gradients, and no optimizer has {has}: {REASONS[why]}", line=line,
            )  # fmt: skip


class Norm:
    """A batch norm with frozen parameters, in training mode."""

    def __init__(self, module):
        self.module, self.key = weakref.ref(module), id(module.weight)
        self.weight, self.mean = module.weight.detach().clone(), module.running_mean.clone()
        self.name, self.where = "", None

    def has_moved(self, module):
        """Tell whether its statistics have changed, and its weights have not: those of an averaged copy do."""
        return module.weight.equal(self.weight) and not module.running_mean.equal(self.mean)


def is_moving(module):
    """Tell whether it is a norm with frozen parameters whose forward changes running statistics."""
    if not type(module).__name__.startswith(NORMS) or not module.training:
        return False
    weight, mean = getattr(module, "weight", None), getattr(module, "running_mean", None)
    return weight is not None and mean is not None and not weight.requires_grad


class Received:
    """A parameter that receives gradients, and that no optimizer has."""

    def __init__(self, parameter):
        self.parameter, self.version = weakref.ref(parameter), parameter._version
        self.key, self.read = id(parameter), False  # read: whether a line of the user's has looked at its gradient
        self.passes, self.asked, self.why, self.name, self.place = 0, False, "", "", None


class Tree:
    """The tree of modules: which of them hold which, now."""

    def __init__(self, kind, owned):
        self.owners, self.parents, self.hidden = {}, {}, {}  # id of a parameter or module -> modules right above it
        self.direct = set()  # ids of modules with a parameter of their own that an optimizer has
        for one in modules_alive(kind):
            for parameter in one._parameters.values():
                if parameter is not None:
                    self.owners.setdefault(id(parameter), []).append(one)
                    if id(parameter) in owned:
                        self.direct.add(id(one))
            for child in children_of(one, kind).values():
                registered = any(child is each for each in one._modules.values())
                (self.parents if registered else self.hidden).setdefault(id(child), []).append(one)
        self.served = set()  # ids of modules with one of an optimizer's, also inside of registered ones
        for one in modules_alive(kind):
            if id(one) in self.direct:
                self.served |= self.above([one], self.parents)

    def above(self, modules, *ways):
        """Ids of these modules and of those that hold them."""
        seen, stack = set(), list(modules)
        while stack:
            one = stack.pop()
            if id(one) not in seen:
                seen.add(id(one))
                for way in ways:
                    stack.extend(way.get(id(one), ()))
        return seen


def within(one, module):
    held = one[0]()
    return held is None or any(held is each for each in module.modules())


def depends_on_mode(module):
    """Tell whether it has dropout, or a norm with statistics of its own."""
    for one in module.modules():
        name = type(one).__name__
        if (
            "Dropout" in name
            and getattr(one, "p", 1)
            or name.startswith(NORMS)
            and getattr(one, "track_running_stats", True)
        ):
            return True
        if getattr(one, "dropout", 0) and isinstance(one.dropout, float):
            return True
    return False
