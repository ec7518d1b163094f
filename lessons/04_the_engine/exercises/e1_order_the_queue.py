"""Exercise 04.1: order the queue."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from coursekit.judge.table import judged_rows

from .shared import number

PROGRAM = """\
a = w * x
b = a.exp()
c = a.sin()
d = c * x
e = -a
f = d + b
g = f * v
"""
USES = {"f": "g", "v": "g", "d": "f", "b": "f", "c": "d", "a": "bc", "x": "da", "w": "a"}  # node -> its consumers
WAITS = {"a": 2, "b": 1, "c": 1, "d": 1, "f": 1, "v": 1, "w": 1, "x": 2}
QUEUE = {"waits": WAITS, "order": "gvfdcbawx"}


def measured_queue(torch):
    """The order in which the nodes of PROGRAM really run, one letter for each."""
    names = {name: number(torch, random.uniform(0.5, 1.5)) for name in "wxv"}
    exec(PROGRAM, names)
    order = []
    for name in "abcdefg":
        names[name].grad_fn.register_prehook(lambda grads, name=name: order.append(name))
    for name in "wxv":
        names[name].register_hook(lambda grad, name=name: order.append(name))
    names["g"].backward()
    return "".join(order)


def check(answer, torch):
    if not isinstance(answer, dict) or not {"waits", "order"} <= set(answer):
        return not_yet('Keep the dictionary with the keys "waits" and "order".')
    waits, order = answer["waits"], answer["order"]
    if not isinstance(waits, dict) or any(type(waits.get(name)) is not int for name in WAITS):
        return not_yet("Put a whole number in the place of each None under \"waits\".")
    if isinstance(order, (list, tuple)) and all(isinstance(name, str) for name in order):
        order = "".join(order)
    if not isinstance(order, str) or not order.strip():
        return not_yet('Write the order as a text of letters, "g" first.')
    order = "".join(letter for letter in order.lower() if letter.isalpha())
    truth = measured_queue(torch)
    wrong = [name for name in WAITS if waits[name] != WAITS[name]]
    names = {("a", 3): "waits for ever", ("a", 1): "a waits once", ("x", 1): "x waits once"}
    named = {name: names[name, waits[name]] for name in wrong if (name, waits[name]) in names}
    if len(wrong) == 1 and not named:
        return not_yet(f"The count of {wrong[0]} is another one. Which lines behind g use it?")
    if wrong:
        return judged_rows(wrong, list(WAITS), named, "counts are right")
    if "e" in order:
        return almost("runs e")
    if len(set(order)) < len(order):
        return almost("twice")
    missing = sorted(set(truth) - set(order))
    if missing and set(missing) <= set("wxv"):
        return almost("leaves do not run")
    if missing:
        return not_yet(f"Every node behind g runs once, g's own and those of the three leaves included. Not in your "
                       f"order: {', '.join(missing)}.")
    if strange := sorted(set(order) - set(truth)):
        return not_yet(f"No node behind g is called {', '.join(strange)}.")
    early = [(node, use) for node, uses in USES.items() for use in uses if order.index(node) < order.index(use)]
    if order[::-1] == "g" + order[-2::-1] and early:
        return almost("forwards")
    if early and order.index("g"):
        return not_yet("A pass begins at g; from there everything else gets its gradient.")
    if any(node == "x" for node, _ in early):
        return almost("x before its time")
    if any(node == "a" for node, _ in early):
        return almost("before its time")
    if early:
        return not_yet("In your order {} runs before {} has run, which has to send it a gradient.".format(*early[0]))
    if order in (truth, truth[:-2] + truth[:-3:-1]):  # two accumulators that are ready together: either first
        return correct("you can run the queue in your head: counts first, then newest first, leaves at once.")
    if order.index("b") < order.index("d"):
        return almost("oldest first")
    if order.index("b") < order.index("c"):
        return almost("breadth first")
    if order.index("v") > order.index("f"):
        return almost("leaves last")
    return not_yet("Keep a list of the nodes that are ready, and cross out the newest each time.")


def queue_but(order=None, **waits):
    return f"queue = {dict(waits=WAITS | waits, order=order or QUEUE['order'])!r}"


EXERCISE = Exercise(
    id="04.1", kind="order the queue", title="Order the queue", minutes=7, difficulty=2, puzzles=(25,),
    question="A node is called by the letter of the tensor that it made, a leaf's accumulator by the leaf's. "
    f"For `g.backward()` give the counts and the order.\n\n```python\n{PROGRAM}```",
    name="queue",
    starter='queue = {\n    "waits": {"a": None, "b": None, "c": None, "d": None, "f": None, "v": None, '
    '"w": None, "x": None},\n    "order": "g",\n}',
    hints=(
        "First the walk: begin at g, and go only where arrows lead. Do you ever come to e?",
        "Then the loop: keep the list of ready nodes. A leaf goes at once; otherwise the letter furthest on in the "
        "alphabet.",
    ),
    solution=f"queue = {QUEUE!r}",
    why="Nothing leads from g to e, so a waits for b and c only. v is complete as soon as g has run. Then always the "
    "newest: f, d, c, and b only when c and d have gone.",
    alternatives=(edit("gvfdcbawx", "gvfdcbaxw"), queue_but(order=list("gvfdcbawx"), e=0)),
    mistakes=(
        Mistake("waits for ever", "You let a wait for e. Nothing behind g leads to e, so it never runs and never "
                "delivers: a would wait for ever, and so would w and x.", edit(" 2,", " 3,")),
        Mistake("runs e", "e was computed from a, but g was not computed from e. A pass starts at g and never gets "
                "there.", edit("gvfdcbawx", "gvfedcbawx")),
        Mistake("x waits once", "x is used in two lines behind g, so two gradients are on their way to it.",
                edit(" 2}", " 1}")),
        Mistake("a waits once", "b and c are both computed from a, and both are behind g.", edit(" 2,", " 1,")),
        Mistake("leaves do not run", "A leaf has a node, too: an accumulator. It waits for its gradients and runs, "
                "so that .grad gets its sum.", edit("gvfdcbawx", "gvfdcba")),
        Mistake("forwards", "That is the way in which the results were made. A pass begins at g, the result, and "
                "goes back.", edit("gvfdcbawx", "wxabcdfvg")),
        Mistake("twice", "A node that two arrows reach is run once, on the sum. Your order has one letter twice.",
                edit("gvfdcbawx", "gvfdcabawx")),
        Mistake("before its time", "In your order a runs before both b and c have delivered. Its count is not yet at "
                "0 then.", edit("gvfdcbawx", "gvfdcabwx")),
        Mistake("x before its time", "x has two consumers behind g, d and a. In your order its accumulator runs "
                "before both have sent it something; at once means as soon as its count is 0.",
                edit("gvfdcbawx", "gvfdxcbaw")),
        Mistake("oldest first", "When f has run, d and b are both ready. You took the older one; the one made last "
                "goes first.", edit("gvfdcbawx", "gvfbdcawx")),
        Mistake("breadth first", "When d has run, b and c are both ready. c was made later, so it goes before b, "
                "though b has waited longer.", edit("gvfdcbawx", "gvfdbcawx")),
        Mistake("leaves last", "v is complete when g has run, and an accumulator goes before all other nodes.",
                edit("gvfdcbawx", "gfdcbavwx")),
    ),
    check=check,
)  # fmt: skip
