"""Exercise 00.2: give the edges."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import nodes_behind

from .shared import node_name


def short_name(given):
    """A node's name as it was given; `node.name()` has a longer one for accumulators."""
    return str(given).removeprefix("torch::autograd::")


def arrows_behind(y):
    """All arrows behind `y` as a sorted list of (from, to) names; two between the same nodes count twice."""
    return sorted(
        (node_name(node), node_name(below))
        for node in nodes_behind(y)
        for below, _ in node.next_functions
        if below is not None
    )


OPERATIONS = {"exp": "ExpBackward0", "add": "AddBackward0", "mul": "MulBackward0"}


def check(answer, torch):
    """Compare with the arrows of the graph of the program itself, as a bag of pairs."""
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(5.0)
    truth = arrows_behind((a * b + a).exp())
    try:
        given = sorted((short_name(start), short_name(end)) for start, end in answer)
    except (TypeError, ValueError):
        return not_yet('A list of pairs is wanted, such as [("SinBackward0", "AccumulateGrad")] for `y = a.sin()`.')
    if given == truth:
        return correct("Four arrows: two of them end in the accumulator of `a`, none in one for `b`.")
    if given == sorted((end, start) for start, end in truth):
        return almost("forwards")
    if given == sorted([*truth, ("MulBackward0", "AccumulateGrad")]):
        return almost("a node for b")
    if given == sorted(set(truth) - {("AddBackward0", "AccumulateGrad")}):
        return almost("one path only")
    if given == [arrow for arrow in truth if "AccumulateGrad" not in arrow]:
        return almost("no leaves")
    if sorted(arrow for arrow in given if arrow[0] != "AccumulateGrad") == truth:
        return almost("the green arrow")
    if sorted(arrow for arrow in given if "None" not in arrow[1]) == truth:
        return almost("arrows to nothing")
    if len(given) == 3 and set(given) == {("ExpBackward0", end) for end in ("MulBackward0", "AccumulateGrad")} | {
        ("MulBackward0", "AccumulateGrad")
    }:
        return almost("past the sum")
    names = {name for arrow in truth for name in arrow}
    strange = sorted({name for arrow in given for name in arrow} - names)
    if set(strange) & {"a", "x", "leaf", "b", "y"}:
        return almost("tensors for nodes")
    spelled = {spelling(name): name for name in names}
    if sorted(tuple(spelled.get(spelling(name), name) for name in arrow) for arrow in given) == truth:
        return almost("names of operations" if {name.lower() for name in strange} <= set(OPERATIONS) else "counted")
    if strange:
        return not_yet(f"No node behind `y` is called {strange[0]}. One of their names is MulBackward0.")
    missing, extra = list(truth), []
    for arrow in given:
        missing.remove(arrow) if arrow in missing else extra.append(arrow)
    return not_yet(f"Arrows that are missing: {len(missing)}. Arrows too many: {len(extra)}.")


def spelling(name):
    """An operation's name without what its node's name adds to it: "AddBackward1" and "add" are one."""
    return name.lower().rstrip("0123456789").removesuffix("backward")


EXERCISE = Exercise(
    id="00.2", kind="edges", title="Give the edges", minutes=4, difficulty=2,
    question="`a` requires grad, `b` does not, and `y = (a * b + a).exp()`. List every arrow behind `y` as a pair "
    '`("from", "to")` of node names, without arrows to nothing.',
    name="edges", starter="edges = None\n",
    hints=(
        "Start at `y` and go back: which operation ran last? What were its operands?",
        "Every operand gives one arrow, unless it needs no gradient. The name at a leaf is `AccumulateGrad`.",
    ),
    solution="edges = [\n"
    '    ("ExpBackward0", "AddBackward0"),\n'
    '    ("AddBackward0", "MulBackward0"),\n'
    '    ("AddBackward0", "AccumulateGrad"),\n'
    '    ("MulBackward0", "AccumulateGrad"),\n'
    "]\n",
    why="exp has one operand, the sum two, and of the product's two operands only `a` needs a gradient.",
    alternatives=(
        'm, a, c = "MulBackward0", "AddBackward0", "AccumulateGrad"\n'
        'edges = {(m, c), (a, c), (a, m), ("ExpBackward0", a)}\n',
        'm, a, c = "MulBackward0", "AddBackward0", "torch::autograd::AccumulateGrad"\n'
        'edges = [["ExpBackward0", a], [a, m], [a, c], [m, c]]\n',
    ),
    mistakes=(
        Mistake("forwards", "The right arrows, all turned round: they point from the result back to the operands.",
                edit("ExpBackward0", 'AddBackward0", "ExpBackward0"),\n    ("MulBackward0',
                     '("AddBackward0", "MulBackward0',
                     '("AccumulateGrad", "AddBackward0"),\n    ("AccumulateGrad", "MulBackward0',
                     '\n    ("AddBackward0", "AccumulateGrad"),\n    ("MulBackward0", "AccumulateGrad"),', "")),
        Mistake("a node for b", "`b` does not require grad, so it has no accumulator: its place in `next_functions` is "
                "an arrow to nothing.",
                edit('MulBackward0", "AccumulateGrad"),',
                     'MulBackward0", "AccumulateGrad"),\n    ("MulBackward0", "AccumulateGrad"),')),
        Mistake("one path only", "`a` is used twice: once in the product and once, directly, in the sum. One arrow "
                "is missing.", edit('AddBackward0", "AccumulateGrad"),\n    ("', "")),
        Mistake("no leaves", "The operations are right, but the graph does not stop there: where do a leaf's slopes "
                "arrive?", 'edges = [("ExpBackward0", "AddBackward0"), ("AddBackward0", "MulBackward0")]\n'),
        Mistake("arrows to nothing", "All four are there. What leads to nothing was to be left out.",
                edit('MulBackward0", "AccumulateGrad"),',
                     'MulBackward0", "AccumulateGrad"),\n    ("MulBackward0", None),')),
        Mistake("the green arrow", "All four are there. The green arrow from an accumulator to its leaf is no arrow "
                "between nodes: it is the accumulator's `variable`.",
                edit('MulBackward0", "AccumulateGrad"),',
                     'MulBackward0", "AccumulateGrad"),\n    ("AccumulateGrad", "a"),')),
        Mistake("past the sum", "Your arrows run past the addition. It is an operation of its own, with a node and "
                "two arrows.",
                'edges = [("ExpBackward0", "MulBackward0"), ("ExpBackward0", "AccumulateGrad"),\n'
                '         ("MulBackward0", "AccumulateGrad")]\n'),
        Mistake("names of operations", "The right arrows, between operations. Their nodes' names end in `Backward0`.",
                'edges = [("exp", "add"), ("add", "mul"), ("add", "AccumulateGrad"), ("mul", "AccumulateGrad")]\n'),
        Mistake("counted", "The right arrows, but not the nodes' exact names: each of these three operations leaves "
                "a 0 at the end. The digit counts nothing.",
                'edges = [("ExpBackward2", "AddBackward1"), ("AddBackward1", "MulBackward0"),\n'
                '         ("AddBackward1", "AccumulateGrad"), ("MulBackward0", "AccumulateGrad")]\n'),
        Mistake("tensors for nodes", "An arrow runs from node to node. What is the node called in which a leaf's "
                "arrows end?",
                edit('AddBackward0", "AccumulateGrad"),', 'AddBackward0", "a"),',
                     'MulBackward0", "AccumulateGrad"),', 'MulBackward0", "a"),')),
    ),
    check=check,
)  # fmt: skip
