"""The life of a gradient, from the pass that makes it to the step that uses it: who clears, clips and scales between.

Each judgement is made when the script is over, from what happened most of the time: a step that is skipped because of
a NaN, or a layer that has to wait, is nobody's mistake.
"""

import weakref

from backscope.script.watching import Watcher

MOST_PASSES = 5000  # that are remembered


class Pass:
    """One backward pass: where it was started, whom it reached, what became of that."""

    def __init__(self, number, place, key):
        self.number, self.place, self.key = number, place, key
        self.reached = set()  # ids of parameters
        self.cleared = {}  # place -> ids of parameters whose gradients were cleared there, unused
        self.users = set()  # numbers of the optimizers that stepped with it
        self.read = False  # whether a line of the user's has looked at a gradient of it
        self.alone = False  # whether it reached nothing but parameters that optimizers have
        self.scaled = False  # whether it started from what a GradScaler had scaled


class Life:
    """The life of one parameter's .grad: what is in it now."""

    __slots__ = ("cleared", "own", "parameter", "parts", "read", "used")

    def __init__(self, parameter):
        self.parameter = weakref.ref(parameter)
        self.parts = []  # the passes that have added to it since it was cleared
        self.used = self.read = self.own = False  # by a step; by a line of the user's; assigned by one
        self.cleared = None  # where it was cleared last


class Lives(Watcher):
    """Follows the gradients of the parameters that optimizers have."""

    def __init__(self, doubts):
        self.doubts, self.recorder = doubts, doubts.recorder
        self.lives = {}  # id of a parameter -> its Life
        self.memories = {}  # memory of a gradient -> its Life, since the last pass
        self.passes = []
        self.steps = []  # (number of the optimizer, passes before it, place)
        self.before = {}  # id of a parameter -> (id of its gradient, its version) when a pass began
        self.early = {}  # (where it was cleared, number of the optimizer) -> [count, place of the step]
        self.stepped = {}  # number of an optimizer -> its steps
        self.two = {}  # (key of a pass, key of another, number of the optimizer) -> [count, pass, pass, step, names]
        self.clips = {}  # place -> {"fine" or "after" or "before" or "scaled": count}
        self.clipped = []  # (place, ids) since the last scaled step
        self.scaled = []  # weak references to what scaler.scale() gave since the last pass
        self.scaling = False  # while scaler.step() runs
        self.unscaled = {}  # place of a step that used scaled gradients, outside of scaler.step() -> count
        self.frozen = {}  # id of a parameter -> (weak reference, place): it had gradients, and was told to need none
        self.moving = []  # (parameter, its values before the step that runs), of frozen ones
        self.moved = {}  # id of a frozen parameter -> number of steps that moved it
        grad = doubts.torch.Tensor.grad
        self.is_grad = lambda function: getattr(function, "__self__", None) is grad

    @property
    def off(self):
        """Tell whether too little is seen to follow anything: judgements keep to what was seen before."""
        return bool(self.recorder.rests)

    def hear(self, ears):
        """Listen to clipping and to scalers."""
        utils = self.doubts.torch.nn.utils
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            for owner in (utils, utils.clip_grad):
                ears.listen(owner, name, before=self.before_clip)
        scaler = getattr(self.doubts.torch.amp, "GradScaler", None)
        if scaler is not None:
            ears.listen(scaler, "step", before=self.before_scaled_step, after=self.after_scaled_step)
            ears.listen(scaler, "scale", after=self.after_scale)
            ears.listen(scaler, "unscale_", after=self.after_unscale)

    def living(self):
        """The Life of each parameter of the optimizers."""
        for one in self.doubts.optimizers():
            for group in one.param_groups:
                for parameter in group["params"]:
                    yield self.life(parameter)

    def life(self, parameter):
        found = self.lives.get(id(parameter))
        if found is None or found.parameter() is not parameter:
            found = self.lives[id(parameter)] = Life(parameter)
        return found

    # --- passes ---

    def before_pass(self, given, kwargs, place, frame):
        if self.off:
            return
        self.before = {}
        for life in self.living():
            gradient = (parameter := life.parameter()).grad
            self.before[id(parameter)] = (id(gradient), gradient._version) if gradient is not None else None
        self.now = now = Pass(self.doubts.passes, place, self.doubts.key(frame))
        leaves = self.doubts.graph[1]
        hooks = "_backward_hooks", "_post_accumulate_grad_hooks"
        now.alone = self.doubts.owned.issuperset(leaves) and not any(
            getattr(leaf, hook, None) for leaf in leaves.values() for hook in hooks
        )
        now.scaled = any(root is one() for one in self.scaled for root in self.doubts.tensors(given))
        self.scaled.clear()

    def after_pass(self, given):
        if self.off or not hasattr(self, "now"):
            return
        now, self.memories = self.now, {}
        for life in self.living():
            parameter = life.parameter()
            gradient = parameter.grad
            if gradient is None:
                continue
            self.memories[self.recorder.memory(gradient)] = life
            if self.before.get(id(parameter)) == (id(gradient), gradient._version):
                continue
            now.reached.add(id(parameter))
            life.parts.append(now)
            life.used = life.read = False
        if not self.doubts.stepping and len(self.passes) < MOST_PASSES:
            self.passes.append(now)

    # --- what is done to gradients ---

    def after_get(self, function, tensor, result, frame):
        if not self.is_grad(function) or not self.doubts.is_users(frame):
            return
        if life := self.lives.get(id(tensor)):
            life.read = True
            for one in life.parts:
                one.read = True
        elif found := self.doubts.models.received.get(id(tensor)):
            found.read = True

    def after_setting(self, function, args, place):
        if self.is_grad(function) and (life := self.lives.get(id(args[0]))):
            if args[1] is None:
                self.clear(life, place)
            else:
                life.own, life.parts = True, []
        elif place is not None and isinstance(args[0], self.doubts.torch.nn.Parameter) and args[0].is_leaf:
            if not args[0].requires_grad and id(args[0]) in self.doubts.reached:
                self.frozen[id(args[0])] = weakref.ref(args[0]), place

    def after_write(self, write, tensor):
        if "zero" in write.name and tensor._base is None and (life := self.memories.get(write.memory)):
            self.clear(life, write.place)

    def clear(self, life, place):
        if not (life.used or life.read or self.doubts.stepping):
            for one in life.parts:
                one.cleared.setdefault(place, set()).add(id(life.parameter()))
        life.parts, life.cleared = [], place
        life.used = life.read = life.own = False

    # --- steps ---

    def before_step(self, number, optimizer, place):
        """An optimizer is about to step."""
        if self.off:
            return
        self.stepped[number] = self.stepped.get(number, 0) + 1
        lives = [self.life(p) for group in optimizer.param_groups for p in group["params"]]
        self.look_for_an_early_clear(number, lives, place)
        self.look_for_two_players(number, lives, place)
        if not self.scaling and any(one.scaled for life in lives for one in life.parts):
            self.unscaled[place] = self.unscaled.get(place, 0) + 1
        if self.frozen:
            self.look_at_frozen([life.parameter() for life in lives])
        for life in lives:
            for one in life.parts:
                one.users.add(number)
            life.used = bool(life.parts)
        self.steps.append((number, self.doubts.passes, place))
        del self.steps[:-200]

    def look_at_frozen(self, parameters):
        """Keep the values of frozen parameters that still have a gradient: does this step move them?"""
        self.moving = [
            (one, one.detach().clone())
            for one in parameters
            if not one.requires_grad
            and one.grad is not None
            and id(one) in self.frozen
            and (self.life(one).used or not self.life(one).parts)  # no gradient of a pass since the last step
        ]

    def after_step(self):
        """A step is over: has it moved what was frozen, for the second time?"""
        again = {}  # place of the freezing -> parameters
        for one, before in self.moving:
            reference, place = self.frozen[id(one)]
            if reference() is one and not one.equal(before):
                self.moved[id(one)] = count = self.moved.get(id(one), 0) + 1
                if count == 2:
                    again.setdefault(place, []).append(one)
        self.moving = []
        for place, some in again.items():
            self.doubts.say(
                ("frozen", place), place,
                f"this freezes {self.doubts.names.of(some)}, and the optimizer goes on moving them: their .grad is not "
                "None, so its momentum or its weight decay acts (p.grad = None, or leave them out of the optimizer)",
            )  # fmt: skip

    def look_for_an_early_clear(self, number, lives, place):
        if any(life.parts or life.own for life in lives):
            return
        ids, last = {id(life.parameter()) for life in lives}, None
        begin = next((passes for who, passes, _ in reversed(self.steps) if who == number), 0)
        for one in reversed(self.passes):
            if one.number <= begin:
                break
            if one.reached & ids:
                last = one
                break
        if last is None or last.read or last.users:
            return
        for where, cleared in last.cleared.items():
            if cleared >= last.reached & ids:
                self.early.setdefault((where, number), [0, place])[0] += 1

    def look_for_two_players(self, number, lives, place):
        found = {}
        for life in lives:
            if life.used:
                continue
            for one, other in zip(life.parts, life.parts[1:], strict=False):
                if one.key != other.key and any(
                    who != number and one.number <= passes < other.number and who in one.users
                    for who, passes, _ in self.steps
                ):
                    found.setdefault((one.key, other.key, number), (one, other, []))[2].append(life.parameter())
        for key, (one, other, parameters) in found.items():
            names = self.doubts.names.of(parameters) if key not in self.two else None
            self.two.setdefault(key, [0, one, other, place, names])[0] += 1

    # --- clipping ---

    def before_clip(self, frame, *args, **kwargs):
        """Clipping begins; an iterator of parameters can be gone through once, and is handed on as another one."""
        limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
        if self.off or not args:
            return None
        given = [args[0]] if isinstance(args[0], self.recorder.tensor) else args[0]
        if not isinstance(given, (list, tuple)):
            given = list(given)
            args = ((one for one in given), *args[1:])
        if limit == float("inf"):  # asks for the norm only
            for one in given:
                for each in life.parts if (life := self.lives.get(id(one))) else ():
                    each.read = True
        else:
            self.recorder.guarded(self.look_at_clip, frame, given)
        return args

    def look_at_clip(self, frame, given):
        lives = [life for one in given if (life := self.lives.get(id(one)))]
        if not lives and given:
            return
        place = self.doubts.place(frame)
        if not given:
            state = "empty"
        elif any(life.own or (life.parts and not life.used) for life in lives):
            state = "fine"
        elif any(life.parts for life in lives):
            state = "after"
        else:
            state = "before" if all(one.grad is None for one in given) or lives[0].cleared else "fine"
        counts = self.clips.setdefault(place, {})
        counts[state] = counts.get(state, 0) + 1
        self.clipped.append((place, {id(one) for one in given}))

    def before_scaled_step(self, frame, scaler, optimizer, *args, **kwargs):
        """scaler.step(optimizer): it may skip the step, and has used the gradients all the same."""
        self.scaling = True
        if self.off or not scaler.is_enabled():
            return
        number = self.doubts.number_of(optimizer)
        states = getattr(scaler, "_per_optimizer_states", {})
        state = states[id(optimizer)]["stage"] if id(optimizer) in states else None
        ids = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for place, clipped in self.clipped:
            if clipped & ids and (state is None or state.name == "READY"):
                counts = self.clips.setdefault(place, {})
                counts["scaled"] = counts.get("scaled", 0) + 1
        self.clipped.clear()
        for one in ids:
            if life := self.lives.get(one):
                for each in life.parts:
                    each.users.add(number)

    def after_scaled_step(self, frame, result, *args, **kwargs):
        self.scaling = False

    def after_scale(self, frame, result, scaler, *args, **kwargs):
        if scaler.is_enabled() and isinstance(result, self.recorder.tensor):
            self.scaled.append(weakref.ref(result))

    def after_unscale(self, frame, result, scaler, optimizer):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                for one in self.life(parameter).parts:
                    one.scaled = False

    # --- judgements ---

    def judge(self):
        """Say what was wrong most of the time."""
        self.judge_early()
        self.judge_lost()
        for place, count in self.unscaled.items():
            if count >= 2:
                self.doubts.say(
                    ("unscaled", place), place,
                    "this step uses gradients that are still multiplied by the scale of the GradScaler: call "
                    "scaler.step(optimizer) in its stead",
                )  # fmt: skip
        for (_, _, number), (count, one, other, place, names) in self.two.items():
            if count >= 2 or self.stepped.get(number, 0) <= 2:
                self.doubts.say(
                    ("two", one.place, place), one.place,
                    f"this pass fills the gradients of {names} too, and nothing clears them: the step in line "
                    f"{place.line} uses the sum of two passes, this one and that of line {other.place.line}, although "
                    "another optimizer has stepped in between (clear them with its zero_grad() right before its "
                    "backward())", ("used", place, "this step uses the gradients of two passes"),
                )  # fmt: skip
        for place, counts in self.clips.items():
            self.judge_clip(place, counts)

    def judge_early(self):
        for (where, number), (count, place) in self.early.items():
            if 2 * count >= self.stepped[number] and place is not None:
                self.doubts.say(
                    ("cleared", where, place), where,
                    "this clears the gradients of the last backward() before a step has used them: the optimizer "
                    f"steps in line {place.line}",
                )  # fmt: skip

    def judge_lost(self):
        lost, used = {}, {}
        for one in self.passes:
            if one.users:
                used[one.key] = used.get(one.key, 0) + 1
            elif not one.read and one.reached:
                for where, ids in one.cleared.items():
                    if ids == one.reached:
                        lost.setdefault((one.key, where), [0, one])[0] += 1
        for (key, where), (count, one) in lost.items():
            times = used.get(key, 0)
            if (
                count >= 2
                and not times
                and one.alone
                and not self.doubts.without
                and 2 * count >= max(self.stepped.values(), default=0) > 0
            ):
                self.doubts.say(
                    ("lost", where), where,
                    f"this clears gradients that no step has used: those of the pass of line {one.place.line}, each "
                    "time. Clear them before the first of the passes that belong together",
                )  # fmt: skip
            if count >= 2 and times and count >= times and one.place is not None:
                self.doubts.say(
                    ("lost", where), where,
                    f"this clears gradients that no step has used: of {count + times} passes of line {one.place.line}, "
                    f"{count} are lost. To accumulate, clear only after step()",
                )  # fmt: skip

    def judge_clip(self, place, counts):
        scaled = counts.pop("scaled", 0)
        if counts.get("empty", 0) >= 2 and counts["empty"] == sum(counts.values()):
            self.doubts.say(
                ("clip", place), place,
                "there is nothing to clip here: the iterator of parameters was used up before (make it a list)",
            )  # fmt: skip
            return
        if counts.get("fine") or sum(counts.values()) < 2:
            if scaled >= 2:
                self.doubts.say(
                    ("clip", place), place,
                    "the gradients that are clipped here are still multiplied by the scale of the GradScaler: call "
                    "scaler.unscale_(optimizer) before",
                )  # fmt: skip
            return
        after = counts.get("after", 0) >= counts.get("before", 0)
        self.doubts.say(
            ("clip", place), place,
            "the step has used these gradients before, and clipping changes nothing: clip between backward() and step()"
            if after
            else "there are no gradients yet to clip, and this changes nothing: clip between backward() and step()",
        )  # fmt: skip
