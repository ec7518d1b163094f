"""Exercise 01.5: was it used?"""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import TooManyLines, within_lines

from .shared import given, numbers

USES = {  # what a case is about: was t used for y
    "near leaf": (True, "a leaf that is an operand of y's own operation"),
    "near result": (True, "a result that is an operand of y's own operation"),
    "straight leaf": (True, "a leaf several operations behind y, always along arrow 0"),
    "straight result": (True, "a result several operations behind y, always along arrow 0"),
    "last leaf": (True, "a leaf two operations behind y, along arrow 1"),
    "leaf": (True, "a leaf several operations behind y"),
    "result": (True, "a result several operations behind y"),
    "past nothing": (True, "a leaf behind operations that also have an arrow to nothing"),
    "stranger": (False, "a leaf that y never saw"),
    "other leaf": (False, "a leaf that y never saw, equal to one that it did see"),
    "twin": (False, "a result that y never saw, computed like one that y was computed from"),
    "aside": (False, "a result that y never saw, computed from the same leaf as y"),
    "plain": (False, "a plain tensor"),
    "forwards": (False, "a t that was computed from y"),
    "output": (False, "the first result of an operation of which y saw the third"),
    "other output": (False, "the second result of an operation of which y saw the third"),
    "third": (True, "a result that is the third operand of an operation behind y"),
    "sibling": (False, "the first result of an operation whose third result is y itself"),
}
USED = {about for about, (truth, _) in USES.items() if truth}
OUTPUTS = {"output", "other output", "sibling"}
LEAF_CASES = {about for about in USED if about.endswith("leaf")} | {"past nothing"}


def cases_of_use(torch):
    """(what the case is about, y, t) for exercise 01.5."""
    space = given(torch)
    a, b, c = (space[name] for name in "abc")
    other = torch.tensor(a.item(), requires_grad=True)
    stranger = torch.tensor(a.item() + 3, requires_grad=True)
    h, twin, aside = a.exp(), a.exp(), a.sin()
    k = b - h
    y = c * (k * b)
    rows = torch.tensor(numbers(3), requires_grad=True)
    one, two, three = rows.unbind()
    third = (three * b).exp()
    return [
        ("leaf", y, a),
        ("near leaf", h, a),
        ("near result", -h, h),
        ("last leaf", y, b),
        ("result", y, k),
        ("result", y, h),
        ("straight leaf", third, rows),
        ("straight result", third, three),
        ("past nothing", (h * 1) * 1, a),
        ("stranger", y, stranger),
        ("other leaf", y, other),
        ("twin", y, twin),
        ("aside", y, aside),
        ("plain", y, c),
        ("forwards", h, y),
        ("forwards", k, y),
        ("output", third, one),
        ("other output", third, two),
        ("third", torch.stack([a.sin(), b * 1, h.exp()]).sum(), h),
        ("sibling", three, one),
        ("straight leaf", three, rows),
    ]


def harder_cases(torch):
    """(name of a mistake, y, t) where y was computed from t and that mistake says it was not."""
    one, _, three = torch.tensor(numbers(3), requires_grad=True).unbind()
    both = one * three  # two arrows into one node, one for each result
    x = torch.tensor(numbers(1)[0], requires_grad=True)
    return [
        ("one visit a node", both, one),
        ("one visit a node", both, three),
        ("a slope of 0", (x * 0).exp(), x),
    ]


def wider_cases(torch):
    """(y, t, was it used) where y has several elements, in several shapes."""
    x = torch.tensor([numbers(3)], requires_grad=True)
    h = x.exp()
    other = torch.tensor(numbers(3), requires_grad=True)
    return [(h * 2, x, True), (h.reshape(3, 1, 1) + other, h, True), (h.sin(), other, False), (h[:, :1], x, True)]


def what_went_wrong(wrong):
    """The verdict on a walk that answers these kinds of case wrongly."""
    missed, invented = wrong & USED, wrong - USED
    if missed == USED:
        if "forwards" in invented:
            return almost("turned round")
        return not_yet("You say False wherever y was computed from t. Where does your walk begin?")
    if missed == {"third"} and not invented:
        return almost("two arrows at most")
    if not missed:
        if wrong == {"sibling"}:
            return almost("begins at output 0")
        if wrong <= OUTPUTS and "other output" in wrong:
            return almost("which output")
        if wrong <= {"output", "sibling"}:
            return almost("the same memory")
        if wrong == {"other leaf"}:
            return almost("an equal leaf")
        if "plain" in wrong and wrong <= {"plain", "other leaf", "stranger"} | OUTPUTS:
            return almost("nothing is nothing")
        if "twin" in wrong and wrong <= {"twin", "aside", "forwards"} | OUTPUTS:
            return almost("same names" if "forwards" not in wrong and "aside" not in wrong else "a leaf in common")
    if missed == {"near result", "straight result", "result", "third"} and not invented:
        return almost("leaves only")
    if missed == LEAF_CASES and invented <= {"plain"} | OUTPUTS:
        return almost("results only")
    if missed == USED - {"near leaf", "near result"}:
        return almost("one step")
    straight = {"straight leaf", "straight result"}
    if "past nothing" in missed and not missed & (straight | {"near leaf", "near result"}):
        return almost("stopped by nothing")
    first_only = missed == {"leaf", "last leaf", "result", "third"}
    if not invented - OUTPUTS and (first_only or (missed >= straight and "last leaf" not in missed)):
        return almost("one arrow only")
    about = next(about for about in USES if about in wrong)
    truth, words = USES[about]
    return not_yet(f"You say {not truth} for {words}. Draw such a graph, and follow your walk by hand.")


def runs_a_pass(torch, answer):
    """Does an answer have nodes run?"""
    x, ran = torch.tensor(numbers(1)[0], requires_grad=True), []
    y = (x * 2).exp()
    y.grad_fn.register_prehook(lambda grads: ran.append("once more"))
    answer(torch, y, x)
    return bool(ran)


def is_used_up(y):
    """Has a backward pass through the graph of y freed what its nodes had saved?"""
    try:
        y.sum().backward(retain_graph=True)
    except RuntimeError as error:
        return "a second time" in str(error)
    return False


def check(answer, torch):
    wrong, used_up = set(), False
    for stored in (None, 7.0):  # what is in .grad of the leaves beforehand
        cases = cases_of_use(torch)
        _, y, t = cases[0]
        if stored is None and bool(answer(torch, y, t)) and not answer(torch, y, t):
            return almost("used up" if is_used_up(y) else "a set that stays")
        leaves = [t for _, _, t in cases if t.is_leaf and t.requires_grad]
        for t in leaves:
            t.grad = None if stored is None else torch.full_like(t, stored)
        for about, y, t in cases:
            found = answer(torch, y, t)
            if found is None:
                return not_yet("Return True or False.")
            if bool(found) != USES[about][0]:
                wrong.add(about)
        try:
            cases[0][1].backward()
        except RuntimeError as error:
            if "a second time" not in str(error):
                raise
            used_up = True
    if used_up:
        return almost("used up")
    if wrong:
        return what_went_wrong(wrong)
    for mistake, y, t in harder_cases(torch):
        if not answer(torch, y, t):
            return almost(mistake)
    for y, t, used in wider_cases(torch):
        if bool(answer(torch, y, t)) != used:
            return almost("several elements") if used else not_yet("For a y of shape (1, 3) you find a leaf that was "
                "never used.")
    if answer(torch, torch.tensor(2.0), t):
        return not_yet("A plain y was computed from nothing that the graph knows, and you say True.")
    x, other = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    y = x
    for _ in range(3000):
        y = y * 1
    try:
        found = answer(torch, y, x)
    except RecursionError:
        return almost("recursion")
    if not found:
        return not_yet("A chain of 3000 operations leads back to x, and you say it does not.")
    y = x
    for _ in range(20):
        y = y + y
    try:
        found = within_lines(lambda: answer(torch, y, other))
    except TooManyLines:
        return almost("every path")
    if found:
        return not_yet("Twenty times y = y + y, and you find a leaf that was never used.")
    if runs_a_pass(torch, answer):
        return correct("you let the engine compute gradients and saw where one arrives. A walk over the graph answers "
                       "it, too, without computing anything: the arrows are the history.")
    return correct("a walk over the graph answers it: the arrows are the history.")


DEPENDS = "def depends(torch, y, t):\n"
WALK = """\
    seen, waiting = set(), [(y.grad_fn, y.output_nr)]
    while waiting:
        node, output = waiting.pop()
        if node is None or (node, output) in seen:
            continue
        seen.add((node, output))
"""
FOLLOW = "        waiting += node.next_functions\n    return False\n"
LEAF = "        if getattr(node, 'variable', None) is t:\n            return True\n"
RESULT = "        if t.grad_fn is not None and node is t.grad_fn and output == t.output_nr:\n            return True\n"

EXERCISE = Exercise(
    id="01.5", kind="edges", title="Was it used?", minutes=12, difficulty=3,
    question="Return True if, by the graph, `y` was computed from `t`, directly or through other results. `t` may be "
    "a leaf, a result, one of several results of one operation, or plain; `y` may have several elements, and may be "
    "plain.",
    name="depends", starter=DEPENDS + "    return y.grad_fn is t.grad_fn",
    hints=(
        "Walk back from y.grad_fn as in exercise 00.4: a list of what is still to visit, a set of what was seen. You "
        "hold the nodes in that set, and so they can be compared.",
        "How do you recognise t when you arrive? A leaf by its accumulator's variable, a result by its node.",
        "When t is one of several results, the node alone does not decide; the arrow has a second half.",
    ),
    solution=DEPENDS + WALK + LEAF + RESULT + FOLLOW,
    why="Each arrow is a pair, and so is a result: its grad_fn and its output_nr. A leaf is found through its "
    "accumulator; a plain tensor is behind nothing.",
    alternatives=(
        DEPENDS
        + "    if not t.requires_grad or not y.requires_grad:\n        return False\n"
        + "    ones = torch.ones_like(y)\n"
        + "    (slope,) = torch.autograd.grad(y, t, ones, retain_graph=True, allow_unused=True)\n"
        + "    return slope is not None\n",
        DEPENDS
        + "    edges, row = set(), {(y.grad_fn, y.output_nr)}\n"
        + "    while row:\n        edges |= row\n"
        + "        row = {e for node, _ in row if node for e in node.next_functions} - edges\n"
        + "    leaves = [getattr(node, 'variable', None) for node, _ in edges]\n"
        + "    if t.is_leaf:\n        return any(leaf is t for leaf in leaves if leaf is not None)\n"
        + "    return (t.grad_fn, t.output_nr) in edges\n",
    ),
    mistakes=(
        Mistake("leaves only", "Leaves are found, results are not: a result that was used on the way has a node "
                "among those you visit.", DEPENDS + WALK + LEAF + FOLLOW),
        Mistake("results only", "Results are found, leaves are not: a leaf has no grad_fn. What has its accumulator?",
                DEPENDS + WALK + RESULT + FOLLOW),
        Mistake("which output", "Of an operation with several results you say yes to each. One node, but the second "
                "half of the arrow tells them apart.", edit(" and output == t.output_nr", "")),
        Mistake("one visit a node", "Two results of one operation can both be on the way. Your walk sees their node "
                "once and skips it the second time; what was seen is an arrow's end, a node and an output.",
                edit("(node, output) ", "node ", "(node, output))", "node)")),
        Mistake("a set that stays", "Asked the same question twice, you say True and then False: what the first call "
                "has seen still counts as seen. Make the set anew in each call.",
                edit("):\n    seen, waiting = set(),", ", seen=set()):\n    waiting =")),
        Mistake("the same memory", "You say True for the first result of unbind, which y never saw, and False for "
                "the second. The first begins at the same memory as the leaf that y did see; a tensor is known by "
                "`is`.", edit("getattr", "hasattr", ", None) is t", ") and node.variable.data_ptr() == t.data_ptr()")),
        Mistake("two arrows at most", "Of an operation with three operands you look at two arrows. `next_functions` "
                "is as long as it needs to be.", edit("next_functions", "next_functions[:2]")),
        Mistake("begins at output 0", "y itself can be one of several results, number `y.output_nr`. You take it for "
                "the first.", edit("y.output_nr", "0")),
        Mistake("several elements", "Right where y is one number. Where y has several elements you say False though "
                "t was used. (If you ask autograd.grad: it does not start there without `grad_outputs`, and an error "
                "is no answer.)",
                DEPENDS + "    if not t.requires_grad:\n        return False\n    try:\n"
                "        (slope,) = torch.autograd.grad(y, t, retain_graph=True, allow_unused=True)\n"
                "    except RuntimeError:\n        return False\n    return slope is not None\n"),
        Mistake("guard: swallows errors", "The graph can be asked without an error: look at the arrows, or at "
                "`requires_grad`.",
                DEPENDS + "    try:\n"
                "        (slope,) = torch.autograd.grad(y.sum(), t, retain_graph=True, allow_unused=True)\n"
                "    except RuntimeError:\n        return False\n    return slope is not None\n"),
        Mistake("a slope of 0", "You take a slope of 0 for no way. y can be computed from t and stand still just "
                "there; the arrows do not ask for values.",
                DEPENDS + "    if not t.requires_grad:\n        return False\n"
                "    (slope,) = torch.autograd.grad(y, t, retain_graph=True, allow_unused=True)\n"
                "    return slope is not None and bool((slope != 0).any())\n"),
        Mistake("guard: changed a flag", "Looking must not change anything.",
                DEPENDS + "    if not y.requires_grad:\n        return False\n"
                "    if t.is_leaf:\n        t.requires_grad_()\n    ones = torch.ones_like(y)\n"
                "    (slope,) = torch.autograd.grad(y, t, ones, retain_graph=True, allow_unused=True)\n"
                "    return slope is not None\n"),
        Mistake("guard: changed a .grad, and threw it away", "",
                DEPENDS + "    if not t.requires_grad or not y.requires_grad:\n        return False\n"
                "    t.grad = None\n"
                "    y.backward(torch.ones_like(y), inputs=[t], retain_graph=True)\n    used = t.grad is not None\n"
                "    t.grad = None\n"
                "    return used\n"),
        Mistake("nothing is nothing", "You say that a plain tensor was used: its grad_fn is None, and so is the node "
                "of an arrow to nothing.",
                DEPENDS + WALK.replace("node is None or ", "").replace("node, output = waiting.pop()\n",
                "node, output = waiting.pop()\n        if node is t.grad_fn and output == t.output_nr:\n"
                "            return True\n        if node is None:\n            continue\n") + LEAF + FOLLOW),
        Mistake("one arrow only", "You follow one arrow of each node. An operation has one for each operand.",
                edit("next_functions", "next_functions[:1]")),
        Mistake("same names", "A second result of the same operation, that y never saw, gets a yes: you compare "
                "names, and many nodes carry one name.",
                DEPENDS + WALK + LEAF + "        if t.grad_fn is not None and type(node) is type(t.grad_fn) and (\n"
                "            node.next_functions == t.grad_fn.next_functions and output == t.output_nr\n        ):\n"
                "            return True\n" + FOLLOW),
        Mistake("a leaf in common", "You say yes when y and t merely have a leaf in common. t has to be on the way "
                "from y.",
                DEPENDS + "    def leaves(z):\n        found, waiting = set(), [z.grad_fn]\n        while waiting:\n"
                "            node = waiting.pop()\n            if hasattr(node, 'variable'):\n"
                "                found.add(node.variable)\n"
                "            waiting += [n for n, _ in node.next_functions if n] if node else []\n"
                "        return found | ({z} if z.is_leaf else set())\n    return bool(leaves(y) & leaves(t))\n"),
        Mistake("turned round", "You walk from t in search of y. Arrows lead from a result back to what it was "
                "computed from: the walk begins at y.", DEPENDS + "    y, t = t, y\n" + WALK + LEAF + RESULT + FOLLOW),
        Mistake("one step", "You look at the arrows of y's own node. The nodes that they lead to have arrows as well.",
                DEPENDS + "    for node, output in y.grad_fn.next_functions if y.grad_fn else ():\n"
                + LEAF + RESULT + "    return False\n"),
        Mistake("stopped by nothing", "At the first arrow to nothing your walk ends. Only that path ends there; the "
                "others go on.", edit(" or (node, output) in seen", "", "continue", "return False")),
        Mistake("an equal leaf", "You say yes to a leaf that y never saw: it only has the value of one that was "
                "used. A tensor is known by `is`.",
                edit("getattr", "t.requires_grad and t.is_leaf and hasattr",
                     ", None) is t", ") and torch.equal(node.variable, t)")),
        Mistake("every path", "Right on small graphs. But you visit a node once for each path that leads to it, and "
                "twenty sums y + y have a million paths.", edit(" or (node, output) in seen", "")),
        Mistake("recursion", "Right on small graphs. A chain of 3000 operations is deeper than Python's calls may go.",
                edit(", waiting = set(), [(y.grad_fn, y.output_nr)]\n    while waiting:\n"
                     "        node, output = waiting.pop()", " = set()\n    def visit(node, output):",
                     "continue", "return False",
                     "waiting +=", "return any(visit(n, o) for n, o in",
                     "\n    return False", ")\n    return visit(y.grad_fn, y.output_nr)")),
        Mistake("used up", "After your question backward fails: it has used up what the nodes had kept. Whoever asks "
                "should leave the graph as it was.",
                DEPENDS + "    if not t.requires_grad:\n        return False\n    try:\n"
                "        (slope,) = torch.autograd.grad(y, t, allow_unused=True)\n    except RuntimeError:\n"
                "        return True\n    return slope is not None\n"),
        Mistake("guard: changed a .grad", "Looking must change nothing.",
                DEPENDS + "    if not t.requires_grad or not y.requires_grad:\n        return False\n    "
                "t.retain_grad()\n"
                "    y.backward(torch.ones_like(y), retain_graph=True)\n    return t.grad is not None\n"),
    ),
    check=check,
)  # fmt: skip
