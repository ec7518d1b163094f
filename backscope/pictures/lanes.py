"""Where everything stands: three lanes, one step of the computation after the other, arrows on tracks.

Graphviz draws the picture, but it is told where: its own placement mixes the lanes as soon as a graph has a
diamond in it. Two axes: `t`, time, runs along the lanes, and `c` across them. A picture that lies has time
running right and the backward nodes on top; one that stands has time running down and them on the left.
Both are the same plan, turned at the very end.

An arrow to a neighbour is straight. Any other leaves its lane, runs along a track of its own and comes back,
so that no arrow passes through a box and no two lie on each other.
"""

from dataclasses import dataclass, field

BACK, VALUE, SAVED = "back", "value", "saved"
ROUND = 6  # radius of an arrow's corners
TRACK = 8  # distance between tracks
STUB = 12  # length of an arrow to nothing

# Widths of Arial's letters in thousandths of the font size, from the space to the tilde.
LETTERS = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
    722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
    278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
]  # fmt: skip


def text_width(text, size):
    """How wide a line of text is in Arial, in points."""
    widths = (LETTERS[ord(c) - 32] if 32 <= ord(c) < 127 else 278 if c == "·" else 1000 for c in text)
    return sum(widths) * size / 1000


@dataclass
class Box:
    """A rectangle with words. `t`, `c` is its middle, `dt`, `dc` its extent along the two axes."""

    key: str
    lane: str
    lines: list
    size: float  # of the font
    width: float
    height: float
    dt: float = 0
    dc: float = 0
    t: float = 0
    c: float = 0
    step: int = 0
    sublane: int = 0

    @property
    def front(self):
        return self.t - self.dt / 2

    @property
    def rear(self):
        return self.t + self.dt / 2

    @property
    def near(self):
        """The side towards the backward nodes."""
        return self.c - self.dc / 2

    @property
    def far(self):
        """The side towards the saved tensors."""
        return self.c + self.dc / 2


@dataclass
class Step:
    """What stands side by side: a backward node, the values it made, the tensors it saved."""

    node: Box | None = None
    values: list = field(default_factory=list)
    slots: list = field(default_factory=list)
    before: float = 0  # room for the line to the saved tensors
    after: float = 0  # room for lines behind several values
    t: float = 0
    start: float = 0
    end: float = 0


@dataclass
class Route:
    """An arrow: the corners of its path, from its tail to its head."""

    kind: str
    tail: Box
    head: Box
    points: list = field(default_factory=list)
    curved: bool = False  # two points joined by an S instead of a line
    label: str = ""
    label_at: tuple | None = None
    slot: object = None
    dotted: bool = False
    sides: dict = field(default_factory=dict)  # in a comparison: on which side it is seen, and with what look


def box(key, lane, lines, size, double=False):
    """A box that fits its words; a leaf's double border needs a little more."""
    width = max(text_width(line, size) for line in lines) * 1.03 + 15
    height = len(lines) * size * 1.2 + 8
    extra = 8 if double else 0
    return Box(key, lane, lines, size, round(width + extra, 1), round(height + extra, 1))


class Plan:
    """Places boxes and routes of one picture. `lies` is True for a picture whose time runs to the right."""

    gap = {True: 20, False: 13}  # between two steps

    def __init__(self, steps, clusters, lies, titled=()):
        self.steps, self.clusters, self.lies = steps, clusters, lies
        self.titled = set(titled)  # keys of the nodes above which the name of a part stands
        self.routes = []
        self.boxes = []
        for k, step in enumerate(steps):
            for one in filter(None, [step.node, *step.values, *step.slots]):
                one.step = k
                one.dt, one.dc = (one.width, one.height) if lies else (one.height, one.width)
                self.boxes.append(one)
        self.back = [s.node for s in steps if s.node is not None]
        self.values = [v for s in steps for v in s.values]
        self.give_sublanes()

    # --- lanes ---

    def give_sublanes(self):
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

    def blocked(self, tail, head):
        """True when another value stands in the way of a line between two values."""
        first, last = sorted((tail.step, head.step))
        lane = {tail.sublane, head.sublane}
        return any(first < v.step < last and (len(lane) > 1 or v.sublane in lane) for v in self.values)

    def covered(self, value):
        """True when another value stands between this one and the saved tensors, in the same step."""
        return any(v.step == value.step and v.sublane > value.sublane for v in self.values)

    # --- arrows ---

    def connect(self, kind, tail, head, **more):
        """Ask for an arrow."""
        self.routes.append(Route(kind, tail, head, **more))

    def of(self, *kinds):
        return [r for r in self.routes if r.kind in kinds]

    # --- placing ---

    def place(self):
        """Give every box its place and every arrow its path."""
        self.sort_routes()
        self.make_room()
        self.place_along()
        self.place_across()
        self.route_all()
        return self

    def sort_routes(self):
        """Decide which arrows are straight and which need a track, and on which track each one runs.

        A saved tensor's note says what it holds; a line leads on to the tensor only where that stands beside the note.
        """
        self.routes = [r for r in self.routes if r.kind != "holds" or self.just_above(r)]
        straight = set()
        self.arcs, self.low = [], []
        for r in self.of("next"):
            pair = (r.head.step, r.tail.step)
            if pair in straight or any(pair[0] < b.step < pair[1] for b in self.back):
                self.arcs.append(r)
            else:
                straight.add(pair)
        for r in self.of("forward", "own counter"):
            if r.head.step < r.tail.step or self.blocked(r.tail, r.head):
                self.low.append(r)
        self.low += self.of("grad")
        self.arc_track = tracks(self.arcs, self.span)
        self.low_track = tracks(self.low, self.span)

    def just_above(self, route):
        """A saved tensor that is held by the slot right below it."""
        step = self.steps[route.tail.step]
        return route.head.step == route.tail.step and step.slots[0] is route.tail and not self.covered(route.head)

    def span(self, route):
        """From which step to which an arrow runs."""
        return tuple(sorted((route.tail.step, route.head.step)))

    def make_room(self):
        """Lengthen boxes on whose side many arrows meet."""
        meeting = {}
        for one in [one for r in self.arcs + self.low for one in (r.tail, r.head)]:
            meeting[one.key] = meeting.get(one.key, 0) + 1
        for r in self.of("nothing"):
            meeting[r.tail.key] = meeting.get(r.tail.key, 0) + 1
        for one in self.boxes:
            need = self.beside(one) * meeting.get(one.key, 0) + 10
            if need > one.dt:
                one.dt = need
                if self.lies:
                    one.width = need
                else:
                    one.height = need

    def beside(self, one):
        """How far apart arrows meet on a box's side; where labels stand one above the other they need more."""
        if one.lane != BACK:
            return 8
        return 15 if self.lies else 12

    def place_along(self):
        """Along the lanes: each step as long as its longest box, with room for the lines beside it."""
        at = 0
        named = set() if self.lies else {min(v.step for v in members) for members in self.clusters}
        for k, step in enumerate(self.steps):
            if k in named or step.node is not None and step.node.key in self.titled:
                at += 14  # for the words on the outline
            if step.slots and (step.values or len(step.slots) > 1 or self.sublanes > 1):
                step.before = 9
            if len(step.values) > 1:
                step.before, step.after = max(step.before, 9), max(step.after, 9)
            longest = max(b.dt for b in filter(None, [step.node, *step.values, *step.slots]))
            step.start = at + step.before
            step.end = step.start + longest
            step.t = (step.start + step.end) / 2
            at = step.end + step.after + self.gap[self.lies]
            for one in filter(None, [step.node, *step.values, *step.slots]):
                one.t = step.t

    def place_across(self):
        """Across the lanes: tracks, backward nodes, values, tracks, saved tensors."""
        widest = max((text_width(r.label, 9) for r in self.arcs), default=0)
        self.clear = 14 if self.lies else max(14, widest + 6)  # from the boxes to the first track
        self.arc_base = TRACK * (1 + max(self.arc_track.values(), default=-1)) + (self.clear - 4 if self.arcs else 0)
        depth = max((b.dc for b in self.back), default=0)
        middle = self.arc_base + depth / 2
        for b in self.back:
            b.c = middle
        edge = self.arc_base + depth if self.back else 0
        if self.values:
            edge += 26 if self.lies else 30
            for lane in range(self.sublanes):
                members = [v for v in self.values if v.sublane == lane]
                clustered = any(v in c for c in self.clusters for v in members)
                edge += 8 if clustered else 0
                thick = max(v.dc for v in members)
                if clustered and not self.lies:
                    edge += max(0, 76 - thick / 2)  # for the words on the outline
                for v in members:
                    v.c = edge + thick / 2
                edge += thick + (0 if not clustered else 19 if self.lies else 9) + 12
            edge -= 12
        count = 1 + max(self.low_track.values(), default=-1)
        self.low_base = edge + 9
        edge += max(TRACK * count + 18, 26)
        for step in self.steps:
            at = edge
            for slot in step.slots:
                slot.c = at + slot.dc / 2
                at += slot.dc + (7 if self.lies else 9)

    # --- routing ---

    def route_all(self):
        self.spread()
        for r in self.routes:
            getattr(self, "route_" + r.kind.replace(" ", "_"))(r)

    def spread(self):
        """Where on a box's side its track arrows begin and end: side by side, without crossing."""
        self.at = {}
        track = self.arc_track | self.low_track | {id(r): len(self.routes) for r in self.of("nothing")}
        ends = {}
        for r in self.arcs + self.low:
            side = "near" if r.kind == "next" else "far"
            for one, other in ((r.tail, r.head), (r.head, r.tail)):
                ends.setdefault((one.key, side), []).append((r, one, other))
        for r in self.of("nothing"):
            ends.setdefault((r.tail.key, "near"), []).append((r, r.tail, r.head))
        middle = {r.head.key for r in self.of("holds")}
        for (key, _), group in ends.items():
            one = group[0][1]
            left = [e for e in group if e[2].step < one.step]
            right = [e for e in group if e[2].step >= one.step]
            left.sort(key=lambda e: track[id(e[0])])
            right.sort(key=lambda e: -track[id(e[0])])
            if key in middle:  # the arrow in the middle stays there, the others keep off it
                step = min(8, (one.dt / 2 - 5) / max(len(left), len(right)))
                places = [k * step for k in range(-len(left), len(right) + 1) if k]
            else:
                step = min(self.beside(one), (one.dt - 10) / len(group))
                places = [(k - (len(group) - 1) / 2) * step for k in range(len(group))]
            for place, (r, *_) in zip(places, left + right, strict=True):
                self.at[id(r), key] = one.t + place

    def route_next(self, r):
        """From a backward node to the next: straight along the lane, or over the top."""
        if id(r) not in self.arc_track:
            r.points = [(r.tail.front, r.tail.c), (r.head.rear, r.head.c)]
            middle = (r.tail.front + r.head.rear) / 2 + (3 if self.lies else 2.5)  # clear of the arrow's head
            r.label_at = middle, r.tail.c - 6.5
            return
        level = self.arc_base - self.clear - TRACK * self.arc_track[id(r)]
        a, b = self.at[id(r), r.tail.key], self.at[id(r), r.head.key]
        r.points = [(a, r.tail.near), (a, level), (b, level), (b, r.head.near)]
        self.label_where_it_leaves(r, a)

    def route_nothing(self, r):
        """An arrow to nothing: it ends in a ring, where it has just begun."""
        at = self.at[id(r), r.tail.key]
        r.points = [(at, r.tail.near), (at, r.tail.near - STUB)]
        self.label_where_it_leaves(r, at - (3 if self.lies else 1.5))  # clear of the ring

    def label_where_it_leaves(self, r, at):
        """The number of an arrow that leaves a node on the side of the tracks."""
        if self.lies:
            r.label_at = at - 1.5 - text_width(r.label, 9) / 2, r.tail.near - 6
        else:
            r.label_at = at - 5.5, r.tail.near - 3 - text_width(r.label, 9) / 2

    def route_made(self, r):
        """grad_fn: from a value to its node; and from AccumulateGrad to its leaf."""
        node, value = (r.tail, r.head) if r.tail.lane == BACK else (r.head, r.tail)
        if node.step == value.step:
            r.points = [(node.t, node.far), (value.t, value.near)]
        else:  # a further output of the same node stands in a later step
            middle = node.far + 13
            t = min(node.t + 10, node.rear - 4)
            r.points = [(t, node.far), (t, middle), (value.t, middle), (value.t, value.near)]
        if r.tail.lane != BACK:
            r.points.reverse()

    def route_saves(self, r):
        """From a node to one of its slots: straight down, or around the values of its step."""
        step = self.steps[r.tail.step]
        if r.head is step.slots[0] and not step.values:
            r.points = [(r.tail.t, r.tail.far), (r.head.t, r.head.near)]
            return
        bus, leave, bend = step.start - 7, r.tail.front + 6, max(b.far for b in self.back) + 9
        r.points = [
            (leave, r.tail.far),
            (leave, bend),
            (bus, bend),
            (bus, r.head.c),
            (r.head.front, r.head.c),
        ]

    def route_holds(self, r):
        """From a slot to the value beside it, which it holds."""
        r.points = [(r.tail.t, r.tail.near), (r.head.t, r.head.far)]

    def arrive(self, value, goal, level):
        """The end of a path that comes from a track to a value."""
        if self.covered(value):
            bus = self.steps[value.step].start - 7
            return [(bus, level), (bus, value.c + value.dc / 4), (value.front, value.c + value.dc / 4)]
        return [(goal, level), (goal, value.far)]

    def route_forward(self, r):
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
            out = self.steps[r.tail.step].end + 5
            start = [(r.tail.rear, r.tail.c), (out, r.tail.c), (out, level)]
        else:
            start = [(a, r.tail.far), (a, level)]
        r.points = start + self.arrive(r.head, b, level)

    route_own_counter = route_forward

    def route_grad(self, r):
        """From a leaf to its .grad: below everything, with its name on it."""
        self.route_forward(r)
        (t, c), (u, _) = r.points[1], r.points[2]
        away = 6.5 if self.lies else 4 + text_width(r.label, 9) / 2
        r.label_at = (t + u) / 2, c - away


def tracks(routes, span):
    """A track number for each route: short ones inside, and no two that run side by side on one track."""
    placed, found = [], {}
    for r in sorted(routes, key=lambda r: (span(r)[1] - span(r)[0], span(r))):
        low, high = span(r)
        beside = [(a, b, n) for a, b, n in placed if a < high and low < b or low == high and a <= low <= b]
        inside = [n for a, b, n in beside if low <= a and b <= high]
        number = max(inside, default=-1) + 1
        while any(n == number for _, _, n in beside):
            number += 1
        placed.append((low, high, number))
        found[id(r)] = number
    return found


# --- paths -------------------------------------------------------------------------------------------------


def without_idle_corners(points):
    """The same path without corners that do not turn, or that are no distance apart."""
    kept = [points[0]]
    for p in points[1:]:
        if abs(p[0] - kept[-1][0]) < 0.5 and abs(p[1] - kept[-1][1]) < 0.5:
            continue
        if len(kept) > 1 and turn(kept[-2], kept[-1], p) == 0:
            kept[-1] = p
        else:
            kept.append(p)
    return kept


def turn(a, b, c):
    """0 when three points lie on one line."""
    cross = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
    return 0 if abs(cross) < 1e-6 else 1


def spline(points, curved):
    """Control points of cubic curves along a path: straight pieces, and rounded corners between them."""
    if curved:
        (ax, ay), (bx, by) = points
        middle = (ax + bx) / 2
        return [(ax, ay), (middle, ay), (middle, by), (bx, by)]
    points = without_idle_corners(points)
    found = [points[0]]

    def line_to(p):
        (ax, ay), (bx, by) = found[-1], p
        found.extend([((2 * ax + bx) / 3, (2 * ay + by) / 3), ((ax + 2 * bx) / 3, (ay + 2 * by) / 3), p])

    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(ROUND, distance(before, corner) / 2, distance(corner, after) / 2)
        enter, leave = towards(corner, before, radius), towards(corner, after, radius)
        line_to(enter)
        found.extend([towards(corner, before, radius * 0.45), towards(corner, after, radius * 0.45), leave])
    line_to(points[-1])
    return found


def distance(a, b):
    """How far apart two points are."""
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def towards(a, b, length):
    """The point at some distance from a on the way to b."""
    whole = distance(a, b) or 1
    return a[0] + (b[0] - a[0]) * length / whole, a[1] + (b[1] - a[1]) * length / whole
