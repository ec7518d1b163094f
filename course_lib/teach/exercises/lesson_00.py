"""The exercises of lesson 00: start here, with the graph idea."""

import random
from collections.abc import Iterator

from course_lib.teach.exercises.outcomes import check_table, happens
from course_lib.teach.exercises.shared import TooManyLines, as_names, as_number, nodes_behind, within_lines
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

# --- what the checks measure --------------------------------------------------------------------------------


def node_name(node):
    """The name a node's class carries, the same in both engines."""
    return type(node).__name__


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


# --- predictions --------------------------------------------------------------------------------------------


def check_00_p1(answer, torch):
    """Compare with the gradient of the program itself."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    y.backward()
    value = as_number(answer)
    if value is None:
        return not_yet("A number is wanted, for example 1.5.")
    if value == x.grad.item():
        return correct("7 it is, the slope 2x + 1 at 3. Now find out where it comes from.")
    named = {6.0: "only the product", 12.0: "the value", 1.0: "only the last operation", 4.0: "x once"}
    named |= {9.0: "the square", 3.0: "one path of three"}
    if value in named:
        return almost(named[value])
    return not_yet(f"The program prints another number than {answer!r}. Differentiate x*x + x by hand.")


def check_00_p2(answer, torch):
    """Compare with a walk over the graph."""
    x = torch.tensor(3.0, requires_grad=True)
    value = as_number(answer)
    if value is None:
        return not_yet("A whole number is wanted: how many nodes?")
    if value == len(nodes_behind(x * x + x)):
        return correct("Two operations and one leaf make three nodes, though `x` is written three times.")
    named = {2.0: "no leaf", 5.0: "a leaf per use", 4.0: "a node for y", 1.0: "one for all", 6.0: "all that is written"}
    if value in named:
        return almost(named[value])
    return not_yet(f"Not {answer!r}: count one node for each operation that ran and one for each leaf.")


def check_00_p3(answer, torch):
    """Compare with the chain of names read off the program's own graph."""
    x = torch.tensor(3.0, requires_grad=True)
    truth = [node_name(node) for node in nodes_behind(x + x + x) if node.next_functions]
    given = as_names(answer)
    if given is None:
        return not_yet('A list of strings is wanted, for example ["MulBackward0", "SinBackward0"].')
    if given == truth:
        return correct("The loop leaves one node for each time it ran, and the `if` leaves nothing.")
    if given == truth[:1]:
        return almost("one box for the loop")
    if given == truth + truth[:1]:
        return almost("n times")
    if any("Exp" in name for name in given):
        return almost("both branches")
    if given == [*truth, "AccumulateGrad"]:
        return almost("accumulator left in")
    if given == ["AddBackward", "AddBackward"]:
        return almost("no digit")
    if [name.lower().removesuffix("0").removesuffix("backward") for name in given] == ["add", "add"]:
        return almost("forward names")
    if [name.rstrip("0123456789") for name in given] == ["AddBackward", "AddBackward"]:
        return almost("counted")
    if given == ["MulBackward0"]:
        return almost("the mathematics")
    return not_yet(f"{given} is not what hangs behind the result. Write down each operation as it runs.")


# --- exercises ----------------------------------------------------------------------------------------------


def check_00_1(answer, torch):
    """Look at the returned tensor's node, and count the leaves behind it."""
    y = answer(torch)
    if isinstance(y, float | int):
        return almost("a number")
    if not hasattr(y, "grad_fn"):
        return not_yet(f"A tensor is wanted, and the function returned {type(y).__name__}.")
    if y.grad_fn is None:
        return almost("the leaf itself" if y.requires_grad else "plain")
    if node_name(y.grad_fn) != "ExpBackward0":
        names = {node_name(node) for node in nodes_behind(y)}
        if "ExpBackward0" in names:
            return almost("one operation too many")
        if node_name(y.grad_fn).startswith("PowBackward"):
            return almost("a power")
        return not_yet(f"The result's node is {node_name(y.grad_fn)}.")
    if y.numel() != 1:
        return almost("several elements")
    leaves = [node for node in nodes_behind(y) if not node.next_functions]
    if len(leaves) != 1:
        return almost("two leaves")
    if not leaves[0].variable.requires_grad:
        return almost("switched off")
    if len(nodes_behind(y)) > 2:
        return correct("`exp` ran last, and behind all your operations there is one leaf.")
    return correct("One operation on one leaf: two nodes, one arrow. That is the smallest graph there is.")


OPERATIONS = {"exp": "ExpBackward0", "add": "AddBackward0", "mul": "MulBackward0"}


def check_00_2(answer, torch):
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


def check_00_3(answer, torch):
    """Try the walk on graphs of all kinds of shape: each tells one mistake from the others."""
    x = torch.tensor(random.uniform(0.5, 2.0), requires_grad=True)
    w = torch.tensor(random.uniform(0.5, 2.0), requires_grad=True)
    square, many = x * x, torch.tensor([1.0, 2.0], requires_grad=True)
    one, two = (many * w).unbind()
    graphs = {
        "x.exp()": x.exp(),
        "(x * 2).exp()": (x * 2).exp(),
        "x.sin() * w": x.sin() * w,
        "p * x.sin(), where p is plain": torch.tensor(2.0) * x.sin(),
        "x.exp().exp()": x.exp().exp(),
        "(x * 2).exp() * w": (x * 2).exp() * w,
        "s + s.exp(), where s = x * x": square + square.exp(),
        "s.exp() + s, where s = x * x": square.exp() + square,
        "torch.stack([x.exp(), x.sin(), w])": torch.stack([x.exp(), x.sin(), w]),
        "one / two, where one, two = (v * w).unbind()": one / two,
        "two.exp(), where one, two = (v * w).unbind()": two.exp(),
    }
    once, again = names_found(answer, graphs["x.exp()"]), names_found(answer, graphs["x.exp()"])
    if once is not None and again is not None and once != again:
        return almost("a list that stays" if len(again) > len(once) else "a set that stays")
    wrong = {}
    for title, y in graphs.items():
        got, truth = names_found(answer, y), sorted(node_name(node) for node in nodes_behind(y))
        if got is None:
            return not_yet("A list of names is wanted: strings, one for each node.")
        if got != truth:
            wrong[title] = got, truth
    if wrong:
        return what_is_wrong_with(wrong)
    y = x
    for _ in range(20):
        y = y + y
    try:
        within_lines(lambda: list(answer(y)))
    except TooManyLines:
        return almost("every path")
    y = x
    for _ in range(3000):
        y = y + 1
    try:
        deep = len(names_found(answer, y) or ())
    except RecursionError:
        return almost("recursion")
    if deep != 3001:
        return not_yet(f"A chain of 3000 additions has 3001 nodes, with its leaf; you listed {deep}.")
    return correct("Your walk visits each node once, however many arrows reach it: the engine needs the same care.")


NOTHINGS = ("(x * 2).exp()", "p * x.sin(), where p is plain", "(x * 2).exp() * w")
MEETINGS = {
    "s + s.exp(), where s = x * x",
    "s.exp() + s, where s = x * x",
    "one / two, where one, two = (v * w).unbind()",
    "torch.stack([x.exp(), x.sin(), w])",
}


def what_is_wrong_with(wrong):
    """The verdict on a walk that gave other names than the right ones: {graph: (names given, right names)}."""
    given = [name for got, _ in wrong.values() for name in got]
    if "NoneType" in given:
        return almost("counts nothing")
    if any("::" in name for name in given):
        return almost("another name")
    if "x.exp()" in wrong and all(
        got == [name for name in truth if name != "AccumulateGrad"] for got, truth in wrong.values()
    ):
        return almost("stops before the leaves")
    fewer = all(len(got) < len(truth) and set(got) <= set(truth) for got, truth in wrong.values())
    if fewer and set(wrong) & {*NOTHINGS[:2]} and set(wrong) <= {*NOTHINGS, *MEETINGS}:
        return almost("stops at nothing")
    if set(wrong) == {"torch.stack([x.exp(), x.sin(), w])"}:
        return almost("two arrows at most")
    if fewer and set(wrong) <= MEETINGS:
        return almost("stops at a meeting")
    if fewer and "x.exp().exp()" in wrong and all(len(set(got)) == len(got) for got, _ in wrong.values()):
        return almost("names, not nodes")
    if all(got == joined(truth) for got, truth in wrong.values()):
        return almost("numbers, not nodes")
    if fewer and "x.sin() * w" in wrong and not {"x.exp()", "(x * 2).exp()", "x.exp().exp()"} & set(wrong):
        return almost("first arrow only")
    if all(len(got) > len(truth) and set(got) == set(truth) for got, truth in wrong.values()):
        return almost("noted twice" if "x.exp()" in wrong else "one entry per path")
    title = next(iter(wrong))
    got, truth = wrong[title]
    return not_yet(f"Behind {title} there are {len(truth)} nodes; you listed {got}.")


def joined(names):
    """These names with one accumulator at most."""
    return sorted([name for name in names if name != "AccumulateGrad"] + ["AccumulateGrad"])


def names_found(answer, y):
    """The learner's names, sorted; None when they are not a collection of strings."""
    got = answer(y)
    got = list(got) if isinstance(got, Iterator) else got
    if not isinstance(got, list | tuple | set) or not all(isinstance(name, str) for name in got):
        return None
    return sorted(got)


def check_00_4(answer, torch):
    """Give every occurrence of x a leaf of its own: each of them receives exactly one path's product."""
    uses = [torch.tensor(2.0, requires_grad=True) for _ in range(4)]
    y = uses[0] * uses[1] * uses[2] + 2 * uses[3]
    y.backward()
    truth = sorted(use.grad.item() for use in uses)
    try:
        given = sorted(float(number) for number in answer)
    except (TypeError, ValueError):
        return not_yet("A list of numbers is wanted, one for each path.")
    if given == truth:
        return correct("Four paths, 4 + 4 + 4 + 2 = 14: what calculus says of 3x² + 2 at 2.")
    named = (
        ([12.0, 2.0], "one per term"),
        ([14.0], "the sum"),
        ([4.0, 2.0], "equal paths once"),
        ([8.0, 4.0], "values"),
        ([4.0, 4.0, 4.0, 4.0], "the value of 2x"),
        ([2.0, 2.0, 2.0, 2.0], "last factor only"),
        ([2.0, 4.0, 8.0], "two paths in one"),
        ([2.0, 4.0, 4.0], "one path of three"),
        ([4.0, 4.0, 4.0], "one term only"),
        ([4.0, 4.0, 4.0, 1.0], "a factor lost"),
        ([8.0, 8.0, 8.0, 4.0], "its own factor too"),
        ([8.0, 8.0, 8.0, 2.0], "its own factor too"),
        ([4.0, 4.0, 4.0, 2.0, 2.0], "a path to the 2"),
        ([4.0, 4.0, 4.0, 2.0, 0.0], "a path to the 2"),
    )
    for numbers, name in named:
        if given == sorted(numbers):
            return almost(name)
    seen = f"You gave {len(given)} numbers with the sum {sum(given):g}; there are {len(truth)} paths."
    return not_yet(seen + " Check each product on its own.")


PROGRAMS = {  # letter: (program, the number its author wants in x.grad)
    "A": ("y = p * x + p; y.backward()", 2.0),
    "B": ("y = p * p; print(y.grad_fn.name()); y = y * x; y.backward()", 4.0),
    "C": ("y = x * x; y = x * x; y.backward()", 6.0),
    "D": ("y = x * x; y.backward(); y = x * x; y.backward()", 6.0),
    "E": ("x = torch.tensor(3.0); y = x * x; x.requires_grad_(); y.backward()", 6.0),
    "F": ("y = x * p if x > 1 else p * p; y.backward()", 2.0),
}
HAPPENS = {
    "A": "fine",
    "B": "raises now",
    "C": "fine",
    "D": "silently wrong",
    "E": "raises at backward",
    "F": "fine",
}
WRONG_HAPPENS = {
    ("A", "raises at backward"): "the plain summand",
    ("B", "fine"): "None has no name",
    ("B", "raises at backward"): "before the pass",
    ("C", "silently wrong"): "computed twice",
    ("D", "fine"): "added up",
    ("D", "raises at backward"): "one pass for ever",
    ("E", "fine"): "too late",
    ("E", "raises now"): "the line itself",
    ("F", "raises at backward"): "the other branch",
    ("C", "raises at backward"): "a name given away",
    ("E", "silently wrong"): "nothing to start from",
    ("A", "silently wrong"): "a slope for p",
    ("A", "raises now"): "the plain summand",
    ("B", "silently wrong"): "None has no name",
    ("C", "raises now"): "a name given away",
    ("F", "raises now"): "the other branch",
    ("F", "silently wrong"): "the other branch",
}


def what_happens(program, wanted, torch):
    """Run a program one statement at a time and say which of the four outcomes it has."""
    space = {"torch": torch, "x": torch.tensor(3.0, requires_grad=True), "p": torch.tensor(2.0)}

    def right(space):
        grad = space["x"].grad
        return grad is not None and grad.item() == wanted

    return happens(program.split("; "), space, right, (RuntimeError, AttributeError))


def check_00_5(answer, torch):
    """Compare the table with what each program does when it is run."""
    return check_table(
        answer, PROGRAMS, lambda letter: what_happens(*PROGRAMS[letter], torch), WRONG_HAPPENS,
        shown="you can tell what a line records, what it does not, and what each pass leaves in `.grad`.",
    )  # fmt: skip


def happens_but(letter, phrase):
    """The source of a table that is right but for one letter."""
    return f"happens = {HAPPENS | {letter: phrase}!r}\n"


MAKE = "def make(torch):\n"
WALK = "def walk(y):\n"

EXERCISES = [
    Exercise(
        id="00.p1",
        kind="predict",
        title="What is the slope?",
        question=("`x` is 3 and `y = x * x + x`. After `y.backward()`, what does `print(x.grad)` show? One number."),
        minutes=1,
        difficulty=1,
        name="answer",
        starter="answer = None\n",
        hints=(
            "Forget the tensors for a moment: what is the derivative of x² + x?",
            "It is 2x + 1. The lesson shows how the same number comes out of three small steps.",
        ),
        solution="answer = 7\n",
        why="The derivative of x² + x is 2x + 1, and x is 3.",
        alternatives=("answer = torch.tensor(7.0)\n",),
        mistakes=(
            Mistake(
                "only the product",
                "6 is the slope of x*x alone; the `+ x` adds a path of its own, with slope 1.",
                "answer = 6\n",
            ),
            Mistake(
                "the value",
                "12 is the value of y. `.grad` holds a slope: how fast y moves when x moves.",
                "answer = 12\n",
            ),
            Mistake(
                "only the last operation",
                "1 is what the addition hands straight to x; the product brings more to the same x.",
                "answer = 1\n",
            ),
            Mistake(
                "x once",
                "4 would count x*x as if x stood there once; both factors are x, and each brings a 3.",
                "answer = 4\n",
            ),
            Mistake(
                "the square",
                "9 is the value of x*x. `.grad` holds a slope: how fast y moves when x moves.",
                "answer = 9\n",
            ),
            Mistake(
                "one path of three",
                "3 is what one of the two factors brings. x is written twice more, and every place counts.",
                "answer = 3\n",
            ),
        ),
        check=check_00_p1,
    ),
    Exercise(
        id="00.p2",
        kind="predict",
        title="How many nodes?",
        question=("How many backward nodes hang behind `y = x * x + x`, counting one for each leaf that waits?"),
        minutes=1,
        difficulty=1,
        name="answer",
        starter="answer = None\n",
        hints=(
            "Two operations ran. Which are they?",
            "A leaf has one node, however often it is used.",
        ),
        solution="answer = 3\n",
        why="AddBackward0, MulBackward0 and one AccumulateGrad for x.",
        alternatives=("answer = 3.0\n",),
        mistakes=(
            Mistake(
                "no leaf",
                "2 counts the operations; the place where x's gradient will arrive is a node as well.",
                "answer = 2\n",
            ),
            Mistake(
                "a leaf per use",
                "5 gives x a node for each time it is written; it is one tensor and gets one node.",
                "answer = 5\n",
            ),
            Mistake(
                "a node for y",
                "4 is one too many: x has one node, however often it is written, and y has none beside the addition's.",
                "answer = 4\n",
            ),
            Mistake(
                "one for all",
                "1 would be a node for the whole line; operations are recorded one by one, as they run.",
                "answer = 1\n",
            ),
            Mistake(
                "all that is written",
                "6 counts two operations, x three times, and y. x is one tensor with one node; y has no node of its "
                "own beside that of the addition.",
                "answer = 6\n",
            ),
        ),
        check=check_00_p2,
    ),
    Exercise(
        id="00.p3",
        kind="predict",
        title="Where did the loop go?",
        question="Which node names hang behind `times(x, 3)`, from the result back, accumulator left out?",
        minutes=2,
        difficulty=1,
        name="answer",
        starter="answer = None\n",
        hints=(
            "Run the function in your head, and write down every operation on tensors as it happens.",
            "`range(3 - 1)` runs the body twice, and each time one addition runs.",
        ),
        solution='answer = ["AddBackward0", "AddBackward0"]\n',
        why="Two additions ran and nothing else; the graph does not know that a loop ran them.",
        alternatives=('answer = ("AddBackward0",) * 2\n', 'answer = "AddBackward0, AddBackward0"\n'),
        mistakes=(
            Mistake(
                "one box for the loop",
                "A loop has no box of its own: each time its body runs, a new node is made.",
                'answer = ["AddBackward0"]\n',
            ),
            Mistake(
                "n times",
                "`range(n - 1)` runs the body n - 1 times: the first summand is x itself, without any operation.",
                'answer = ["AddBackward0"] * 3\n',
            ),
            Mistake(
                "both branches",
                "`x.exp()` stands in the code but did not run; only what ran is recorded.",
                'answer = ["AddBackward0", "AddBackward0", "ExpBackward0"]\n',
            ),
            Mistake(
                "forward names",
                "The right operations, but not their nodes' full names: operation, then `Backward`, then a 0.",
                'answer = ["Add", "Add"]\n',
            ),
            Mistake(
                "counted",
                "Two additions, right. But the digit does not count them: each of the two nodes is an AddBackward0.",
                'answer = ["AddBackward1", "AddBackward0"]\n',
            ),
            Mistake(
                "no digit",
                "Two additions, right. A node's full name ends in a digit, here 0.",
                'answer = ["AddBackward", "AddBackward"]\n',
            ),
            Mistake(
                "accumulator left in",
                "All three nodes are there. The question leaves the accumulator out; take it off the list.",
                'answer = ["AddBackward0", "AddBackward0", "AccumulateGrad"]\n',
            ),
            Mistake(
                "the mathematics",
                "3x is what it computes, but nobody multiplied: two additions ran.",
                'answer = ["MulBackward0"]\n',
            ),
        ),
        check=check_00_p3,
    ),
    Exercise(
        id="00.1",
        kind="edges",
        title="Make a graph",
        question=(
            "Return a one-element tensor whose `grad_fn` is an `ExpBackward0` and behind which exactly one "
            "leaf waits for a gradient."
        ),
        minutes=2,
        difficulty=1,
        name="make",
        starter=MAKE + "    x = torch.tensor(1.0)\n    return x\n",
        hints=(
            "A node appears only on a result. Which operation leaves `ExpBackward0` behind?",
            "`x.exp()` is half of it. Look at C00.1: what must be true of `x` for a node to be made at all?",
        ),
        solution=MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp()\n",
        why="The leaf asks for a gradient, so the one operation on it is recorded, and it is the last one.",
        alternatives=(
            MAKE + "    x = torch.zeros(1)\n    x.requires_grad_()\n    return torch.exp(x * 2)\n",
            MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp().exp_()\n",
        ),
        mistakes=(
            Mistake(
                "plain",
                "Your result has no node. Either nothing that went into the operation required grad, or it was not "
                "recorded, or the result was cut from its history afterwards.",
                MAKE + "    x = torch.tensor(1.0)\n    return x.exp()\n",
            ),
            Mistake(
                "a number",
                "That is a Python number: it has a value and no node, as after `.item()`. Return the tensor.",
                MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp().item()\n",
            ),
            Mistake(
                "one operation too many",
                "`grad_fn` is the node of the last operation, and something ran after `exp`.",
                MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x.exp() * 1\n",
            ),
            Mistake(
                "two leaves",
                "The node is right, but more than one leaf waits behind it; one is wanted.",
                MAKE
                + "    x = torch.tensor(1.0, requires_grad=True)\n"
                + "    w = torch.tensor(2.0, requires_grad=True)\n    return (x * w).exp()\n",
            ),
            Mistake(
                "a power",
                "The same value, by another operation: a power leaves another node. The graph is that of what ran.",
                MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return 2.718281828 ** x\n",
            ),
            Mistake(
                "several elements",
                "The node is right, but the tensor has more than one element, or none; one is wanted.",
                MAKE + "    x = torch.tensor([1.0, 2.0], requires_grad=True)\n    return x.exp()\n",
            ),
            Mistake(
                "the leaf itself",
                "You returned a leaf. It waits for a gradient, but it is no result of an operation that was recorded.",
                MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    return x\n",
            ),
            Mistake(
                "switched off",
                "The node is right, and one leaf stands behind it. But its flag was taken away again: it waits for "
                "nothing any more.",
                MAKE + "    x = torch.tensor(1.0, requires_grad=True)\n    y = x.exp()\n"
                + "    x.requires_grad_(False)\n    return y\n",
            ),
        ),
        check=check_00_1,
    ),
    Exercise(
        id="00.2",
        kind="edges",
        title="Give the edges",
        question=(
            "`a` requires grad, `b` does not, and `y = (a * b + a).exp()`. List every arrow behind `y` as a "
            'pair `("from", "to")` of node names, without arrows to nothing.'
        ),
        minutes=4,
        difficulty=2,
        name="edges",
        starter="edges = None\n",
        hints=(
            "Start at `y` and go back: which operation ran last? What were its operands?",
            "Every operand gives one arrow, unless it needs no gradient. The name at a leaf is `AccumulateGrad`.",
        ),
        solution=(
            "edges = [\n"
            '    ("ExpBackward0", "AddBackward0"),\n'
            '    ("AddBackward0", "MulBackward0"),\n'
            '    ("AddBackward0", "AccumulateGrad"),\n'
            '    ("MulBackward0", "AccumulateGrad"),\n'
            "]\n"
        ),
        why="exp has one operand, the sum two, and of the product's two operands only `a` needs a gradient.",
        alternatives=(
            'm, a, c = "MulBackward0", "AddBackward0", "AccumulateGrad"\n'
            'edges = {(m, c), (a, c), (a, m), ("ExpBackward0", a)}\n',
            'm, a, c = "MulBackward0", "AddBackward0", "torch::autograd::AccumulateGrad"\n'
            'edges = [["ExpBackward0", a], [a, m], [a, c], [m, c]]\n',
        ),
        mistakes=(
            Mistake(
                "forwards",
                "The right arrows, all turned round: they point from the result back to the operands.",
                "edges = [\n"
                '    ("AddBackward0", "ExpBackward0"),\n'
                '    ("MulBackward0", "AddBackward0"),\n'
                '    ("AccumulateGrad", "AddBackward0"),\n'
                '    ("AccumulateGrad", "MulBackward0"),\n'
                "]\n",
            ),
            Mistake(
                "a node for b",
                "`b` does not require grad, so it has no accumulator: its place in the row is an arrow to nothing.",
                "edges = [\n"
                '    ("ExpBackward0", "AddBackward0"),\n'
                '    ("AddBackward0", "MulBackward0"),\n'
                '    ("AddBackward0", "AccumulateGrad"),\n'
                '    ("MulBackward0", "AccumulateGrad"),\n'
                '    ("MulBackward0", "AccumulateGrad"),\n'
                "]\n",
            ),
            Mistake(
                "one path only",
                "`a` is used twice: once in the product and once, directly, in the sum. One arrow is missing.",
                "edges = [\n"
                '    ("ExpBackward0", "AddBackward0"),\n'
                '    ("AddBackward0", "MulBackward0"),\n'
                '    ("MulBackward0", "AccumulateGrad"),\n'
                "]\n",
            ),
            Mistake(
                "no leaves",
                "The operations are right, but the graph does not stop there: where do a leaf's slopes arrive?",
                'edges = [("ExpBackward0", "AddBackward0"), ("AddBackward0", "MulBackward0")]\n',
            ),
            Mistake(
                "arrows to nothing",
                "All four are there. What leads to nothing was to be left out.",
                "edges = [\n"
                '    ("ExpBackward0", "AddBackward0"),\n'
                '    ("AddBackward0", "MulBackward0"),\n'
                '    ("AddBackward0", "AccumulateGrad"),\n'
                '    ("MulBackward0", "AccumulateGrad"),\n'
                '    ("MulBackward0", None),\n'
                "]\n",
            ),
            Mistake(
                "past the sum",
                "Your arrows run past the addition. It is an operation of its own, with a node and two arrows.",
                'edges = [("ExpBackward0", "MulBackward0"), ("ExpBackward0", "AccumulateGrad"),\n'
                '         ("MulBackward0", "AccumulateGrad")]\n',
            ),
            Mistake(
                "names of operations",
                "The right arrows, between operations. Their nodes' names end in `Backward0`.",
                'edges = [("exp", "add"), ("add", "mul"), ("add", "AccumulateGrad"), ("mul", "AccumulateGrad")]\n',
            ),
            Mistake(
                "counted",
                "The right arrows, but not the nodes' exact names: each of these three operations leaves a 0 at the "
                "end. The digit counts nothing.",
                'edges = [("ExpBackward2", "AddBackward1"), ("AddBackward1", "MulBackward0"),\n'
                '         ("AddBackward1", "AccumulateGrad"), ("MulBackward0", "AccumulateGrad")]\n',
            ),
            Mistake(
                "tensors for nodes",
                "An arrow runs from node to node. What is the node called in which a leaf's arrows end?",
                "edges = [\n"
                '    ("ExpBackward0", "AddBackward0"),\n'
                '    ("AddBackward0", "MulBackward0"),\n'
                '    ("AddBackward0", "a"),\n'
                '    ("MulBackward0", "a"),\n'
                "]\n",
            ),
        ),
        check=check_00_2,
    ),
    Exercise(
        id="00.3",
        kind="repair",
        title="Repair the walk",
        question=(
            "`walk` should list the names of all nodes behind `y`, each node exactly once, in any order. It "
            "stumbles over an arrow to nothing, and where two paths meet it goes on twice."
        ),
        minutes=5,
        difficulty=2,
        name="walk",
        starter=(
            WALK
            + "    names, waiting = [], [y.grad_fn]\n"
            + "    while waiting:\n"
            + "        node = waiting.pop()\n"
            + "        names.append(type(node).__name__)\n"
            + "        for below, _ in node.next_functions:\n"
            + "            waiting.append(below)\n"
            + "    return names\n"
        ),
        hints=(
            "Two questions to ask of a node before you note its name: is it one at all, and have I been here?",
            "`waiting` is the list of what is still to visit. Beside it, keep a set of the nodes you have "
            "seen; names will not do, for two nodes may have the same name.",
        ),
        solution=(
            WALK
            + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
            + "    while waiting:\n"
            + "        node = waiting.pop()\n"
            + "        if node is None or node in seen:\n"
            + "            continue\n"
            + "        seen.add(node)\n"
            + "        names.append(type(node).__name__)\n"
            + "        waiting += [below for below, output in node.next_functions]\n"
            + "    return names\n"
        ),
        why="The set of seen nodes makes it a walk over the graph instead of one over all its paths.",
        alternatives=(
            WALK
            + "    row = {y.grad_fn}\n"
            + "    seen = set()\n"
            + "    while row:\n"
            + "        seen |= row\n"
            + "        below = {n for node in row for n, _ in node.next_functions if n is not None}\n"
            + "        row = below - seen\n"
            + "    return [type(node).__name__ for node in seen]\n",
            WALK
            + "    seen, waiting = {None}, [y.grad_fn]\n"
            + "    while waiting:\n"
            + "        node = waiting.pop()\n"
            + "        if node not in seen:\n"
            + "            seen.add(node)\n"
            + "            yield type(node).__name__\n"
            + "            waiting += [n for n, _ in node.next_functions]\n",
            WALK
            + "    names = {y.grad_fn: type(y.grad_fn).__name__}\n"
            + "    waiting = [y.grad_fn]\n"
            + "    for node in waiting:  # grows as it goes\n"
            + "        for below, _ in node.next_functions:\n"
            + "            if below is not None and below not in names:\n"
            + "                names[below] = type(below).__name__\n"
            + "                waiting.append(below)\n"
            + "    return list(names.values())\n",
        ),
        mistakes=(
            Mistake(
                "every path",
                "Each node is listed once, but you still visit it once for each path: twenty times `y = y + y` has "
                "few nodes and a million paths. Do not go on from a node that you have seen.",
                WALK
                + "    seen, waiting = set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is not None:\n"
                + "            seen.add(node)\n"
                + "            waiting += [n for n, _ in node.next_functions]\n"
                + "    return [type(node).__name__ for node in seen]\n",
            ),
            Mistake(
                "one entry per path",
                "A node that two arrows reach is listed twice. Remember the nodes you have seen, accumulators "
                "included, and ask when you take a node off the list; it may stand there twice.",
                WALK
                + "    names, waiting = [], [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions if n is not None]\n"
                + "    return names\n",
            ),
            Mistake(
                "noted twice",
                "A name stands twice even behind `x.exp()`, where no two arrows meet: you note one node in two places.",
                WALK
                + "    names, seen, waiting = [type(y.grad_fn).__name__], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is not None and node not in seen:\n"
                + "            seen.add(node)\n"
                + "            names.append(type(node).__name__)\n"
                + "            waiting += [below for below, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "a list that stays",
                "Called twice with the same `y`, your walk lists more the second time: what the first call has "
                "collected is still there. Make the list anew in each call.",
                "names = []\n\n"
                + WALK
                + "    seen, waiting = set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node in seen:\n"
                + "            continue\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return list(names)\n",
            ),
            Mistake(
                "a set that stays",
                "Called twice with the same `y`, your walk gives less the second time: the nodes that the first "
                "call has seen still count as seen. A default value is made once, for all calls.",
                "def walk(y, seen=set()):\n"
                + "    names, waiting = [], [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node in seen:\n"
                + "            continue\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "two arrows at most",
                "You look at two arrows of each node. An operation can have more operands, or fewer: "
                "`next_functions` is as long as it needs to be.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node in seen:\n"
                + "            continue\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions[:2]]\n"
                + "    return names\n",
            ),
            Mistake(
                "numbers, not nodes",
                "Where there are several leaves you list one accumulator. You keep nodes apart by something that is "
                "equal for all accumulators; keep the nodes themselves.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node._sequence_nr() in seen:\n"
                + "            continue\n"
                + "        seen.add(node._sequence_nr())\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "recursion",
                "Right on small graphs; a chain of 3000 operations is deeper than Python's call stack allows.",
                WALK
                + "    seen = []\n"
                + "    def visit(node):\n"
                + "        if node is not None and node not in seen:\n"
                + "            seen.append(node)\n"
                + "            for below, _ in node.next_functions:\n"
                + "                visit(below)\n"
                + "    visit(y.grad_fn)\n"
                + "    return [type(node).__name__ for node in seen]\n",
            ),
            Mistake(
                "first arrow only",
                "You follow one arrow of each node; an operation with two operands has two.",
                WALK
                + "    names, node = [], y.grad_fn\n"
                + "    while node is not None:\n"
                + "        names.append(type(node).__name__)\n"
                + "        arrows = node.next_functions\n"
                + "        node = arrows[0][0] if arrows else None\n"
                + "    return names\n",
            ),
            Mistake(
                "stops before the leaves",
                "The operations are all there, the accumulators are not; they are nodes as well.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node in seen or not node.next_functions:\n"
                + "            continue\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "stops at nothing",
                "The first arrow to nothing ends your whole walk. It has no node to list, but others are waiting.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or node in seen:\n"
                + "            break\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "guard: left a setting",
                "",
                "import sys\n\n"
                + WALK
                + "    sys.setrecursionlimit(100_000)\n"
                + "    seen = []\n"
                + "    def visit(node):\n"
                + "        if node is not None and node not in seen:\n"
                + "            seen.append(node)\n"
                + "            for below, _ in node.next_functions:\n"
                + "                visit(below)\n"
                + "    visit(y.grad_fn)\n"
                + "    return [type(node).__name__ for node in seen]\n",
            ),
            Mistake(
                "stops at a meeting",
                "Where two paths meet, your whole walk ends: nodes that are still waiting are never visited. Leave out "
                "the node that you have seen, and no other.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node in seen:\n"
                + "            break\n"
                + "        if node is not None:\n"
                + "            seen.add(node)\n"
                + "            names.append(type(node).__name__)\n"
                + "            waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "names, not nodes",
                "Two nodes may carry one name; you keep names apart, and have to keep nodes apart.",
                WALK
                + "    names, waiting = [], [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is None or type(node).__name__ in names:\n"
                + "            continue\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "another name",
                "The nodes are right. `node.name()` has a longer name for accumulators; take the type's name.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node is not None and node not in seen:\n"
                + "            seen.add(node)\n"
                + "            names.append(node.name())\n"
                + "            waiting += [n for n, _ in node.next_functions]\n"
                + "    return names\n",
            ),
            Mistake(
                "counts nothing",
                "`NoneType` is in your list: an arrow to nothing leads to no node.",
                WALK
                + "    names, seen, waiting = [], set(), [y.grad_fn]\n"
                + "    while waiting:\n"
                + "        node = waiting.pop()\n"
                + "        if node in seen:\n"
                + "            continue\n"
                + "        seen.add(node)\n"
                + "        names.append(type(node).__name__)\n"
                + "        waiting += [n for n, _ in getattr(node, 'next_functions', ())]\n"
                + "    return names\n",
            ),
        ),
        check=check_00_3,
    ),
    Exercise(
        id="00.4",
        kind="edges",
        title="One number per path",
        question=(
            "`y = x * x * x + 2 * x` at `x = 2`, evaluated as `((x * x) * x) + (2 * x)`. For every path of "
            "arrows from `y` down to `x`, give the product of the slopes along it, in any order."
        ),
        minutes=4,
        difficulty=2,
        name="paths",
        starter="paths = None\n",
        hints=(
            "Each place where `x` is written is the end of one path.",
            "On the way through a multiplication, the slope is multiplied by the value of the other operand.",
        ),
        solution="paths = [2 * 2, 2 * 2, 2 * 2, 2]\n",
        why=(
            "Two paths go through both multiplications (other operands 2 and 2), one through the outer one "
            "only (other operand x*x = 4), and one through 2*x. Their sum, 14, is what lands in x.grad."
        ),
        alternatives=("x = 2\npaths = (2, x * x, x * x, x * x)\n",),
        mistakes=(
            Mistake(
                "one per term",
                "These are the slopes of the two terms; x³ alone has three paths, one for each factor.",
                "paths = [12, 2]\n",
            ),
            Mistake(
                "the sum",
                "That is what arrives in the end. The question is what is added up to make it.",
                "paths = [14]\n",
            ),
            Mistake(
                "equal paths once",
                "Both numbers occur, but several paths carry the same number, and each of them counts.",
                "paths = [4, 2]\n",
            ),
            Mistake(
                "values",
                "Those are the values of the two terms; a path carries a slope.",
                "paths = [8, 4]\n",
            ),
            Mistake(
                "the value of 2x",
                "Three are right. The slope of 2 * x is the other operand, 2, whatever x is.",
                "paths = [4, 4, 4, 4]\n",
            ),
            Mistake(
                "two paths in one",
                "The sum is right, but 8 is two paths in one: `x * x` has two arrows, with 4 along each.",
                "paths = [8, 4, 2]\n",
            ),
            Mistake(
                "one path of three",
                "x * x * x holds three x's, so three paths lead through it. You have two of them.",
                "paths = [4, 4, 2]\n",
            ),
            Mistake(
                "one term only",
                "These are the three paths of x³. `2 * x` adds one more.",
                "paths = [4, 4, 4]\n",
            ),
            Mistake(
                "a factor lost",
                "The three of x³ are right. The way through `2 * x` leads through a multiplication as well.",
                "paths = [4, 4, 4, 1]\n",
            ),
            Mistake(
                "its own factor too",
                "A multiplication hands on the slope times the *other* operand. You multiply the x at the end of the "
                "path in as well.",
                "paths = [8, 8, 8, 2]\n",
            ),
            Mistake(
                "a path to the 2",
                "You have a path too many: the plain 2 of `2 * x` requires no grad, so its arrow leads to nothing.",
                "paths = [4, 4, 4, 2, 2]\n",
            ),
            Mistake(
                "last factor only",
                "On the way through two multiplications there are two factors; multiply both into the path.",
                "paths = [2, 2, 2, 2]\n",
            ),
        ),
        check=check_00_4,
    ),
    Exercise(
        id="00.5",
        kind="which happens",
        title="Which happens?",
        question="Six programs: fine, raises now, raises at backward, or silently wrong?\n\n"
        + "\n".join(f"- {letter}: `{text}`, wanted {wanted:g}" for letter, (text, wanted) in PROGRAMS.items()),
        minutes=4,
        difficulty=2,
        name="happens",
        starter='happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}\n',
        hints=(
            "For each line ask first: does one of its operands require grad? If none does, it leaves no node.",
            "Then count the backward passes: each of them adds what it finds to `x.grad`.",
        ),
        solution=f"happens = {HAPPENS!r}\n",
        why=(
            "A graph is what ran (C, F), on operands one of which requires grad (A, B, E), and every pass "
            "adds to the gradient (D)."
        ),
        alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})\n",),
        mistakes=(
            Mistake(
                "the plain summand",
                "A: `p` needs no gradient, so its arrows lead to nothing. That is no error; the path to `x` is there.",
                happens_but("A", "raises at backward"),
            ),
            Mistake(
                "None has no name",
                "B: `p * p` left no node, so `grad_fn` is None, and None has no `name()`. That line raises.",
                happens_but("B", "fine"),
            ),
            Mistake(
                "before the pass",
                "B: something raises, but which line? The program does not get as far as its backward.",
                happens_but("B", "raises at backward"),
            ),
            Mistake(
                "computed twice",
                "C: the line ran twice and left two graphs, but backward went through one, that of the second `y`.",
                happens_but("C", "silently wrong"),
            ),
            Mistake(
                "added up",
                "D: two graphs, two passes, one accumulator: 6 arrives, and then 6 more is added to it.",
                happens_but("D", "fine"),
            ),
            Mistake(
                "one pass for ever",
                "D: a second pass through the *same* graph can raise (lesson 06). Here the line ran again before it, "
                "and left a new one.",
                happens_but("D", "raises at backward"),
            ),
            Mistake(
                "too late",
                "E: the product had run before `x` required grad. What is switched on later records nothing "
                "backwards in time.",
                happens_but("E", "fine"),
            ),
            Mistake(
                "the line itself",
                "E: `requires_grad_()` is allowed on a leaf of floats at any time, and it works, for what comes "
                "afterwards. Who finds out that `y` has no node?",
                happens_but("E", "raises now"),
            ),
            Mistake(
                "a name given away",
                "C: the second line gives the name `y` to a new result, with a graph of its own. It is whole.",
                happens_but("C", "raises at backward"),
            ),
            Mistake(
                "nothing to start from",
                "E: `y` has no node at all, so the pass has nothing to start from, and backward says so.",
                happens_but("E", "silently wrong"),
            ),
            Mistake(
                "a slope for p",
                "A: that `p` gets no gradient takes nothing from `x`: the slope for `x` is made of the value of `p`.",
                happens_but("A", "silently wrong"),
            ),
            Mistake(
                "the other branch",
                "F: the branch with `p * p` would leave no node. It did not run.",
                happens_but("F", "raises at backward"),
            ),
        ),
        check=check_00_5,
    ),
]
