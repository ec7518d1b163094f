"""The layout of a picture: two lanes, one step of the computation after the other, arrows on tracks.

Two axes: `t`, time, runs along the lanes, and `c` across them. A picture that lies has time running right, the
backward nodes on top and the tensors below; one that stands has time running down, the nodes on the left and the
tensors on the right. Both are the same plan, turned at the very end.

An arrow to a neighbour is straight. Any other leaves its lane, runs along a track of its own and comes back, so that
no arrow passes through a box and no two lie on each other. Arrows of your computation that lead to one result share a
track: they are one bus with several sources.
"""

from dataclasses import dataclass, field

from backscope.pictures.style import pill_width, width_of

BACK, VALUE = "back", "value"
TRACK = 11  # distance between tracks
STUB = 11  # length of an arrow to nothing
HEAD = 24  # from the near side of a node that lies to where straight arrows meet it
DIGIT = "small"  # the style of labels at arrows
STRETCH = 64  # pixels at most by which a gap grows, so that a small picture fills the column


@dataclass
class Box:
    """A rectangle with words. `t`, `c` is its middle, `dt`, `dc` its extent along the two axes."""

    key: str
    lane: str
    width: float
    height: float
    card: object = None  # what is written into it
    dt: float = 0
    dc: float = 0
    t: float = 0
    c: float = 0
    port: float = 0  # from its near side to where straight arrows meet it
    step: int = 0
    sublane: int = 0

    @property
    def front(self) -> float:
        return self.t - self.dt / 2

    @property
    def rear(self) -> float:
        return self.t + self.dt / 2

    @property
    def near(self) -> float:
        """The side away from the tensors for a node, towards the nodes for a tensor."""
        return self.c - self.dc / 2

    @property
    def far(self) -> float:
        """The side towards the tensors for a node, away from the nodes for a tensor."""
        return self.c + self.dc / 2

    @property
    def meets(self) -> float:
        """The point at which straight arrows along the lane meet it."""
        return self.near + self.port if self.port else self.c


@dataclass
class Step:
    """A backward node and the values that it made, which stand side by side."""

    node: Box | None = None
    values: list = field(default_factory=list)
    before: float = 0  # room for lines in front
    after: float = 0  # room for lines behind several values
    t: float = 0
    start: float = 0
    end: float = 0

    @property
    def boxes(self) -> list:
        return [one for one in (self.node, *self.values) if one is not None]


@dataclass
class Route:
    """An arrow: the corners of its path, from its tail to its head."""

    kind: str
    tail: Box
    head: Box
    points: list = field(default_factory=list)
    curved: bool = False  # two points joined by an S instead of a line
    label: str = ""
    label_at: tuple | None = None  # the middle of the label
    pill: str = ""  # what stands in the middle of the arrow
    pill_at: tuple | None = None
    drawer: int = 0  # of the tail, where the line begins that leads from a stale slot to its tensor
    dotted: bool = False
    leaf: bool = False
    sides: dict = field(default_factory=dict)  # in a comparison: on which side it is seen, and with what look


class Plan:
    """Places boxes and routes of one picture. `lies` is True for a picture whose time runs to the right."""

    gap = {True: 20, False: 22}  # between two steps

    def __init__(self, steps, clusters, lies, titled=(), widest=None, dense=False):
        self.steps, self.clusters, self.lies = steps, clusters, lies
        self.titled = set(titled)  # keys of the nodes above which the name of a part stands
        self.dense = dense
        self.widest = widest  # a picture that lies is stretched to this width, within reason
        self.routes = []
        self.boxes = []
        for k, step in enumerate(steps):
            for one in step.boxes:
                one.step = k
                one.dt, one.dc = (one.width, one.height) if lies else (one.height, one.width)
                self.boxes.append(one)
        self.back = [s.node for s in steps if s.node is not None]
        self.values = [v for s in steps for v in s.values]
        self.give_sublanes()

    # --- lanes ---

    def give_sublanes(self) -> None:
        """Values that share memory stand in one row; whatever else falls in between moves aside."""
        taken = []  # for each sublane, the spans of steps in use
        grouped = {id(v) for members in self.clusters for v in members}
        items = [list(members) for members in self.clusters]
        items += [[v] for v in self.values if id(v) not in grouped]
        for members in items:
            span = min(v.step for v in members), max(v.step for v in members)
            lane = 0
            while lane < len(taken) and any(a <= span[1] and span[0] <= b for a, b in taken[lane]):
                lane += 1
            if lane == len(taken):
                taken.append([])
            taken[lane].append(span)
            for v in members:
                v.sublane = lane
        self.sublanes = len(taken)

    def blocked(self, tail, head) -> bool:
        """Tell whether another value stands in the way of a line between two values."""
        first, last = sorted((tail.step, head.step))
        lane = {tail.sublane, head.sublane}
        return any(first < v.step < last and (len(lane) > 1 or v.sublane in lane) for v in self.values)

    def covered(self, value) -> bool:
        """Tell whether another value stands on the far side of this one, in the same step."""
        return any(v.step == value.step and v.sublane > value.sublane for v in self.values)

    def hidden(self, value) -> bool:
        """Tell whether another value stands between this one and the nodes, in the same step."""
        return any(v.step == value.step and v.sublane < value.sublane for v in self.values)

    # --- arrows ---

    def connect(self, kind, tail, head, **more) -> None:
        """Ask for an arrow."""
        self.routes.append(Route(kind, tail, head, **more))

    def of(self, *kinds) -> list:
        return [r for r in self.routes if r.kind in kinds]

    # --- placing ---

    def place(self) -> "Plan":
        """Give every box its place and every arrow its path."""
        self.sort_routes()
        self.make_room()
        self.place_along()
        self.place_across()
        self.route_all()
        return self

    def sort_routes(self) -> None:
        """Decide which arrows are straight and which need a track, and on which track each one runs."""
        straight = {}
        self.arcs, self.low = [], []
        for r in self.of("next"):
            pair = (r.head.step, r.tail.step)
            if pair in straight or any(pair[0] < b.step < pair[1] for b in self.back):
                self.arcs.append(r)
            else:
                straight[pair] = r
        self.straight = list(straight.values())
        buses = {}
        for r in self.of("forward", "own counter"):
            if r.head.step < r.tail.step or self.blocked(r.tail, r.head):
                bus = (r.head.key, r.head.step > r.tail.step) if r.kind == "forward" and not r.dotted else id(r)
                buses.setdefault(bus, []).append(r)
        for r in self.of("grad"):
            buses[id(r)] = [r]
        self.buses = list(buses.values())
        self.low = [r for bus in self.buses for r in bus]
        self.arc_track = tracks([[r] for r in self.arcs])
        self.low_track = tracks(self.buses)
        self.mid_track = tracks([[r] for r in self.of("stale")], apart=True)

    def make_room(self) -> None:
        """Lengthen boxes on whose side many arrows meet."""
        meeting = {}
        for one in [one for r in self.arcs for one in (r.tail, r.head)]:
            meeting[one.key] = meeting.get(one.key, 0) + 1
        for bus in self.buses:
            for key in {one.key for r in bus for one in (r.tail, r.head)}:
                meeting[key] = meeting.get(key, 0) + 1
        for r in self.of("nothing"):
            meeting[r.tail.key] = meeting.get(r.tail.key, 0) + 1
        for one in self.boxes:
            need = self.beside(one) * meeting.get(one.key, 0) + 12
            if need > one.dt:
                one.dt = need
                if self.lies:
                    one.width = need
                else:
                    one.height = need

    def beside(self, one) -> int:
        """Return how far apart arrows meet on a box's side; where labels stand one above the other they need more."""
        if one.lane != BACK:
            return 10
        return 17 if self.lies else 14

    def gaps(self) -> list:
        """Measure the room between steps: more where a label or a pill stands on a straight arrow."""
        gaps = [19 if self.dense else self.gap[self.lies]] * (len(self.steps) - 1)
        for r in self.straight:
            if self.lies:
                need = 14 + max(width_of(r.label, DIGIT), pill_width(r.pill) + 18 if r.pill else 0)
            else:
                need = 28 if r.pill else 0
            between = range(r.head.step, r.tail.step)
            room = sum(gaps[k] for k in between)
            if need > room:
                gaps[r.tail.step - 1] += need - room
        return gaps

    def place_along(self) -> None:
        """Place the steps along the lanes: each as long as its longest box, with room for the lines beside it."""
        gaps = self.gaps()
        named = set() if self.lies else {min(v.step for v in members) for members in self.clusters}
        before = [0.0] * len(self.steps)
        for k, step in enumerate(self.steps):
            if k in named or step.node is not None and step.node.key in self.titled:
                before[k] += 17  # for the words on the outline
            if len(step.values) > 1:
                step.before, step.after = 12, 12
        longest = [max(b.dt for b in step.boxes) for step in self.steps]
        whole = sum(longest) + sum(gaps) + sum(before) + sum(s.before + s.after for s in self.steps)
        if self.widest and self.lies and gaps and whole < self.widest:
            more = int(min(STRETCH, (self.widest - whole) / len(gaps)))
            gaps = [gap + more for gap in gaps]
        at = 0.0
        for k, step in enumerate(self.steps):
            step.start = at + before[k] + step.before
            step.end = step.start + longest[k]
            step.t = (step.start + step.end) / 2
            at = step.end + step.after + (gaps[k] if k < len(gaps) else 0)
            for one in step.boxes:
                one.t = step.t

    def place_across(self) -> None:
        """Place what lies across the lanes: tracks, backward nodes, a channel for stale lines, values, tracks."""
        widest = max((width_of(r.label, DIGIT) for r in self.arcs), default=0)
        pill = max((pill_width(r.pill) if not self.lies else 20 for r in self.arcs if r.pill), default=0)
        self.clear = max(22, pill / 2 + 16) if self.lies else max(22, widest + 8, pill / 2 + 12)  # to the first track
        self.spacing = max(TRACK, pill + 6) if pill else TRACK
        count = 1 + max(self.arc_track.values(), default=-1)
        self.arc_base = self.spacing * (count - 1) + self.clear if self.arcs else 0
        for b in self.back:
            b.c = self.arc_base + b.dc / 2
        edge = self.arc_base + max((b.dc for b in self.back), default=0)
        self.channel = edge + 16
        edge += TRACK * (1 + max(self.mid_track.values(), default=-1)) + (12 if self.mid_track else 0)
        if self.values:
            edge += (34 if self.lies else 40) if self.back else 0
            for lane in range(self.sublanes):
                members = [v for v in self.values if v.sublane == lane]
                clustered = any(v in c for c in self.clusters for v in members)
                edge += 9 if clustered else 0
                thick = max(v.dc for v in members)
                if clustered and not self.lies:
                    edge += max(0, 86 - thick / 2)  # for the words on the outline
                for v in members:
                    v.c = edge + thick / 2
                edge += thick + (0 if not clustered else 22 if self.lies else 10) + 14
            edge -= 14
        self.low_base = edge + 12

    # --- routing ---

    def route_all(self) -> None:
        self.spread()
        for r in self.routes:
            getattr(self, "route_" + r.kind.replace(" ", "_"))(r)

    def spread(self) -> None:
        """Place the beginnings and ends of track arrows on a box's side: side by side, without crossing."""
        self.at = {}
        track = self.arc_track | self.low_track | {id(r): len(self.routes) for r in self.of("nothing")}
        ends = {}
        for r in self.arcs:
            for one, other in ((r.tail, r.head), (r.head, r.tail)):
                ends.setdefault((one.key, "near"), []).append(([r], one, other))
        for r in self.of("nothing"):
            ends.setdefault((r.tail.key, "near"), []).append(([r], r.tail, r.head))
        for bus in self.buses:
            head = bus[0].head
            first = min((r.tail for r in bus), key=lambda one: one.step)
            ends.setdefault((head.key, "far"), []).append((bus, head, first))
            for r in bus:
                ends.setdefault((r.tail.key, "far"), []).append(([r], r.tail, head))
        for (key, _), group in ends.items():
            one = group[0][1]
            left = [e for e in group if e[2].step < one.step]
            right = [e for e in group if e[2].step >= one.step]
            left.sort(key=lambda e: track[id(e[0][0])])
            right.sort(key=lambda e: -track[id(e[0][0])])
            step = min(self.beside(one), (one.dt - 12) / len(group))
            places = [(k - (len(group) - 1) / 2) * step for k in range(len(group))]
            for place, (routes, *_) in zip(places, left + right, strict=True):
                for r in routes:
                    self.at[id(r), key] = one.t + place

    def route_next(self, r) -> None:
        """From a backward node to the next: straight along the lane, or over the top."""
        if id(r) not in self.arc_track:
            level = r.tail.meets
            r.points = [(r.tail.front, level), (r.head.rear, level)]
            if self.lies:
                r.label_at = r.tail.front - 5 - width_of(r.label, DIGIT) / 2, level - 8
            else:
                r.label_at = r.tail.front - 8, level - 5 - width_of(r.label, DIGIT) / 2
            aside = 0 if self.lies else 9 + pill_width(r.pill) / 2  # where time runs down: beside the arrow
            r.pill_at = (r.tail.front + r.head.rear + 10 * self.lies) / 2, level + aside
            return
        level = self.arc_base - self.clear - self.spacing * self.arc_track[id(r)]
        a, b = self.at[id(r), r.tail.key], self.at[id(r), r.head.key]
        r.points = [(a, r.tail.near), (a, level), (b, level), (b, r.head.near)]
        r.pill_at = (a + b) / 2, level
        self.label_where_it_leaves(r, a)

    def route_nothing(self, r) -> None:
        """Route an arrow to nothing: it ends in a ring, where it has just begun."""
        at = self.at[id(r), r.tail.key]
        r.points = [(at, r.tail.near), (at, r.tail.near - STUB)]
        self.label_where_it_leaves(r, at - (3 if self.lies else 1.5))  # clear of the ring

    def label_where_it_leaves(self, r, at) -> None:
        """Place the number of an arrow that leaves a node on the side of the tracks."""
        if self.lies:
            r.label_at = at - 3 - width_of(r.label, DIGIT) / 2, r.tail.near - 8
        else:
            r.label_at = at - 7, r.tail.near - 4 - width_of(r.label, DIGIT) / 2

    def route_made(self, r) -> None:
        """grad_fn: from a value to its node; and from AccumulateGrad to its leaf."""
        node, value = (r.tail, r.head) if r.tail.lane == BACK else (r.head, r.tail)
        if node.step == value.step:
            t = self.clear_of_stale(value)
            r.points = [(t, node.far), (t, value.near)]
        else:  # a further output of the same node stands in a later step
            middle = node.far + 13
            t = min(node.t + 12, node.rear - 6)
            r.points = [(t, node.far), (t, middle), (value.t, middle), (value.t, value.near)]
        if r.tail.lane != BACK:
            r.points.reverse()

    def clear_of_stale(self, value) -> float:
        """Find where the dotted line meets a value: in the middle, unless a stale line arrives there as well."""
        room = (value.dt / 2 - 12) / 2
        return value.t + (min(14, room) if any(r.head is value for r in self.of("stale")) else 0)

    def route_stale(self, r) -> None:
        """From a drawer whose tensor was overwritten to that tensor, through the channel between the lanes."""
        level = self.channel + TRACK * self.mid_track[id(r)]
        box, value = r.tail, r.head
        along, across, last = box.card.drawer_at(r.drawer, self.lies)
        goal = value.t - min(14, (value.dt / 2 - 12) / 2)
        if not self.lies:
            start = [(box.front + along, box.near + across)]
            start += [(start[0][0], level)]
        elif last:
            out = box.rear - 16
            start = [(out, box.near + across), (out, level)]
        else:
            out = box.rear + 9
            start = [(box.rear - 5, box.near + along), (out, box.near + along), (out, level)]
        if self.hidden(value):
            bus = self.steps[value.step].start - 8
            end = [(bus, level), (bus, value.c), (value.front, value.c)]
        else:
            end = [(goal, level), (goal, value.near)]
        r.points = start + end
        r.label_at = (start[-1][0] + end[0][0]) / 2, level

    def arrive(self, value, goal, level) -> list:
        """Return the end of a path that comes from a track to a value."""
        if self.covered(value):
            bus = self.steps[value.step].start - 9
            return [(bus, level), (bus, value.c + value.dc / 4), (value.front, value.c + value.dc / 4)]
        return [(goal, level), (goal, value.far)]

    def route_forward(self, r) -> None:
        """From an input to what was computed from it."""
        if id(r) not in self.low_track:
            a, b = r.tail, r.head
            if a.step == b.step:
                a, b = sorted((a, b), key=lambda v: v.c)
                r.points = [(a.t, a.far), (b.t, b.near)]
            elif abs(a.c - b.c) < 1:
                r.points = [(a.rear, a.c), (b.front, b.c)]
            else:
                r.points, r.curved = [(a.rear, a.c), (b.front, b.c)], True
            return
        level = self.low_base + TRACK * self.low_track[id(r)]
        a, b = self.at[id(r), r.tail.key], self.at[id(r), r.head.key]
        if self.covered(r.tail):
            out = self.steps[r.tail.step].end + 7
            start = [(r.tail.rear, r.tail.c), (out, r.tail.c), (out, level)]
        else:
            start = [(a, r.tail.far), (a, level)]
        r.points = start + self.arrive(r.head, b, level)

    route_own_counter = route_forward

    def route_grad(self, r) -> None:
        """From a leaf to its .grad: below everything, with its name on it."""
        self.route_forward(r)
        (t, c), (u, _) = r.points[-3], r.points[-2]
        away = 8 if self.lies else 5 + width_of(r.label, DIGIT) / 2
        r.label_at = (t + u) / 2, c - away


def tracks(buses, apart=False) -> dict:
    """Return a track number for each route: short ones inside, and no two buses that run side by side on one track."""
    placed, found = [], {}

    def span(bus):
        steps = [one.step for r in bus for one in (r.tail, r.head)]
        return min(steps), max(steps)

    for bus in sorted(buses, key=lambda bus: (span(bus)[1] - span(bus)[0], span(bus))):
        low, high = span(bus)
        beside = [
            (a, b, n) for a, b, n in placed
            if a < high and low < b or low == high and a <= low <= b or apart and a <= high and low <= b
        ]  # fmt: skip
        inside = [n for a, b, n in beside if low <= a and b <= high]
        number = max(inside, default=-1) + 1
        while any(n == number for _, _, n in beside):
            number += 1
        placed.append((low, high, number))
        found.update({id(r): number for r in bus})
    return found
