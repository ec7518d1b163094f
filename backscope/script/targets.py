"""Notice what a loss compares with: targets of another shape, samples without a history, targets that learn, too."""

import weakref

from backscope.script.recorder import node_of
from backscope.script.watching import Watcher

SUBS = {"sub", "__sub__", "__rsub__", "rsub"}
LOSSES = {"mse_loss", "smooth_l1_loss", "huber_loss"}
VIEWS = ("Squeeze", "Unsqueeze", "View", "Reshape", "Alias", "Flatten")
MOST = 200


class Targets(Watcher):
    """Follows differences, samples and losses until a pass goes through them."""

    def __init__(self, doubts):
        self.doubts, self.recorder, self.torch = doubts, doubts.recorder, doubts.torch
        self.wide = {}  # number of a node -> (place, one number of the target's memory and version, words)
        self.seen = {}  # place -> [passes, targets, words]: a difference of a column and a row
        self.drawn = {}  # id of a distribution -> (weak reference, place of sample()), since the last pass
        self.compared = {}  # id of a distribution -> weak reference: kl_divergence() was asked for it, since then
        self.both = set()  # places of samples whose distribution was compared, too, since the last pass
        self.scored = set()  # places of samples whose distribution was asked for log_prob()
        self.plain = {}  # place of a sample -> passes that it went through together with the divergence
        self.bootstrapped = {}  # number of the node of a loss -> place

    def hear(self, ears):
        kinds = self.torch.distributions
        for kind in (kinds.Distribution, kinds.Normal, kinds.Independent):
            ears.listen(kind, "sample", after=self.after_sample)
            ears.listen(kind, "log_prob", after=self.after_score)
        for owner in (kinds, kinds.kl):
            ears.listen(owner, "kl_divergence", after=self.after_divergence)

    # --- shapes ---

    def after_call(self, name, args, before, result, node, frame):
        if node is None or len(before) != 2:
            return
        if name in LOSSES and len(self.bootstrapped) < MOST:
            self.look_at_loss(before[0][0], before[1][0], node, frame)
        elif name in SUBS and result.dim() == 2 and result.shape[0] == result.shape[1] > 1 and len(self.wide) < MOST:
            self.look_at_shapes(before[0][0], before[1][0], node, frame)

    def look_at_shapes(self, one, other, node, frame):
        """Note a difference of (N, 1) and (N,), of which one was computed and the other is a target."""
        given, target = (one, other) if one.requires_grad else (other, one)
        column, row = (given, target) if given.dim() == 2 else (target, given)
        fits = column.dim() == 2 and row.dim() == 1 and column.shape == (len(row), 1)
        if not fits or target.requires_grad or id(target) in self.recorder.cuts or target._base is not None:
            return
        made = node_of(given)
        if made is None or given is column and made.name().startswith((*VIEWS, "Select", "Slice", "Index", "Expand")):
            return  # a column that was made one for this purpose: all pairs are wanted
        place = self.recorder.place(frame)
        if place is not None:
            number, count = node._sequence_nr(), len(row)
            words = f"{tuple(one.shape)} and {tuple(other.shape)} give ({count}, {count})"
            self.wide[number] = place, (self.recorder.memory(target), target._version), words

    # --- samples ---

    def after_sample(self, frame, result, drawn, *args, **kwargs):
        if self.torch.is_grad_enabled() and drawn.has_rsample and not self.recorder.rests and len(self.drawn) < MOST:
            place = self.recorder.place(frame)
            self.drawn[id(drawn)] = weakref.ref(drawn), place
            if (known := self.compared.get(id(drawn))) is not None and known() is drawn:
                self.both.add(place)

    def after_score(self, frame, result, drawn, *args, **kwargs):
        known = self.drawn.get(id(drawn))
        if known is not None and known[0]() is drawn:
            self.scored.add(known[1])

    def after_divergence(self, frame, result, one, other):
        if not self.recorder.rests and len(self.compared) < MOST:
            for each in (one, other):
                self.compared[id(each)] = weakref.ref(each)
                if (known := self.drawn.get(id(each))) is not None and known[0]() is each:
                    self.both.add(known[1])

    # --- targets that learn ---

    def look_at_loss(self, given, target, node, frame):
        """Note a loss between q and r + gamma * max q', where both are computed from the same parameters."""
        if not target.requires_grad or not given.requires_grad:
            return
        made = node_of(target)
        if made is None or not made.name().startswith("Add"):
            return
        ways = [following for following, _ in made.next_functions]
        if len(ways) != 2 or ways.count(None) != 1:
            return
        way, scaled = ways[0] or ways[1], False
        while way is not None and way.name().startswith((*VIEWS, "Mul")):
            scaled |= way.name().startswith("Mul")
            parts = [following for following, _ in way.next_functions if following is not None]
            way = parts[0] if len(parts) == 1 else None
        if way is None or not scaled or not way.name().startswith(("Max", "Amax")):
            return
        from backscope.script.histories import graph_of

        if graph_of([node_of(given)])[1].keys() & graph_of([way])[1].keys() & self.doubts.owned:
            self.bootstrapped[node._sequence_nr()] = self.recorder.place(frame)

    # --- passes ---

    def before_pass(self, given, kwargs, place, frame):
        if not (self.wide or self.drawn or self.bootstrapped):
            return
        numbers, now = set(self.doubts.graph[0].values()), self.doubts.passes
        for number, (where, target, words) in self.wide.items():
            if number in numbers:
                known = self.seen.setdefault(where, [set(), set(), words])
                known[0].add(now)
                known[1].add(target)
        for where in self.both:
            if self.doubts.histories.consumed.get(where, (None, -1))[1] == now:
                self.plain.setdefault(where, set()).add(now)
        for number, where in self.bootstrapped.items():
            if number in numbers and where is not None:
                self.doubts.say(
                    ("target", where), where,
                    "the target of this loss has a history, too: the pass also changes the value of the next state, "
                    "which is to be compared with. Compute the target under torch.no_grad(), or .detach() it",
                )  # fmt: skip
        self.wide.clear()
        self.drawn.clear()
        self.compared.clear()
        self.both.clear()
        self.bootstrapped.clear()

    def judge(self):
        """Say which shapes met, and which samples have cut a history."""
        for place, (passes, targets, words) in self.seen.items():
            if len(passes) >= 2 and len(targets) >= 2:
                self.doubts.say(
                    ("shapes", place), place,
                    f"each prediction meets each target here: {words}, and the loss is the mean of all pairs. Give "
                    "both one shape (prediction.squeeze(1))",
                )  # fmt: skip
        for place, passes in self.plain.items():
            if place is not None and place not in self.scored and len(passes) >= 2:
                self.doubts.say(
                    ("sample", place), place,
                    "sample() gives numbers without a history: what is computed from them has no gradient for the "
                    "distribution, which learns from its divergence only (rsample())",
                )  # fmt: skip
