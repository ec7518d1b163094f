"""Exercises of lesson 01: reading and building graphs, and the pictures they ask about."""

import copy
import functools
import html
import math
import random
import re
import weakref

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import TooManyLines, as_names, as_number, nodes_behind, within_lines
from course_lib.teach.pictures.draw import draw
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

# --- graphs as data -----------------------------------------------------------------------------------------


def shape_of(y, leaves):
    """The graph behind `y` as plain data, equal for equal graphs; leaves are written as their names.

    Nodes are numbered in the order of the walk; for each: its name, and for each arrow where it leads to (a
    number, a leaf's name, or None) and which output of that node is meant.
    """
    nodes = nodes_behind(y)
    number = {node: place for place, node in enumerate(nodes)}

    def name(node):
        if node is None:
            return None
        if not hasattr(node, "variable"):
            return number[node]
        return next((known for known, leaf in leaves.items() if leaf is node.variable), "another leaf")

    return [
        (type(node).__name__, [(name(after), output) for after, output in node.next_functions])
        for node in nodes
        if not hasattr(node, "variable")
    ]


def numbers(count):
    """Random numbers, none close to another or to zero."""
    return random.sample([0.5, 0.75, 1.25, 1.5, 1.75, 2.25, 2.5], count)


def given(torch, values=None):
    """The tensors of the exercises: a and b require grad, c does not."""
    a, b, c = values or numbers(3)
    return {
        "a": torch.tensor(a, requires_grad=True),
        "b": torch.tensor(b, requires_grad=True),
        "c": torch.tensor(c),
    }


def run_program(program, space):
    """Run a program's text with the names in `space`, and return what it calls y."""
    exec(program, space)
    return space["y"]


PROGRAMS = {
    1: "h = a * b; y = h * h",
    2: "y = (a * b) * (a * b)",
    3: "y = (c * c) * a",
    4: "y = c * (c * a)",
    5: "y = a - b",
    6: "y = a + (-b)",
    7: "y = a * (a * a)",
    8: "y = a ** 3",
    9: "y = a\nfor _ in range(2): y = y * a",
    10: "z = (a * b).exp(); y = a.exp() * b",
    11: "z = a.exp(); y = z * b; del z",
    12: "y = -b + a",
}
DRAWN = {
    "A": PROGRAMS[1],
    "B": PROGRAMS[4],
    "C": PROGRAMS[6],
    "D": PROGRAMS[9],
    "E": PROGRAMS[10],
    "F": "s = a * c; t = s.exp(); y = b / t - s",
    "G": "e = b.exp(); y = e * (a + e)",
}


class Pictures:
    """Several pictures in one output, each under its letter."""

    def __init__(self, drawn):
        self.drawn = drawn  # letter -> Picture

    def __repr__(self):
        return "\n\n".join(f"Picture {letter}. {picture}" for letter, picture in self.drawn.items())

    def _repr_mimebundle_(self, include=None, exclude=None):
        cards = [
            f'<figure style="margin:0 0 14px"><figcaption><b>Picture {html.escape(letter)}</b></figcaption>'
            f"{picture.html}</figure>"
            for letter, picture in self.drawn.items()
        ]
        return {"text/plain": repr(self), "text/html": "".join(cards)}


def pictures(torch, letters):
    """The pictures with these letters, drawn from programs that are not shown."""
    drawn = {}
    for letter in letters:
        leaves = given(torch, (2.0, 3.0, 5.0))
        names = {name: tensor for name, tensor in leaves.items() if re.search(rf"\b{name}\b", DRAWN[letter])}
        names["y"] = run_program(DRAWN[letter], dict(leaves))
        drawn[letter] = draw(names["y"], names=names, detail=0)
    return Pictures(drawn)


# --- predictions --------------------------------------------------------------------------------------------

FIRST = "p = w * x; q = x + 1; y = p * p + q"


def first_program(torch):
    """The tensors of the lesson's first program, by name."""
    w, x = numbers(2)
    space = {"w": torch.tensor(w, requires_grad=True), "x": torch.tensor(x)}
    run_program(FIRST, space)
    return {name: space[name] for name in "wxpqy"}


def check_01_p1(answer, torch):
    value = as_number(answer)
    if value is None:
        return not_yet("A whole number is wanted: how many nodes?")
    if value == len(nodes_behind(first_program(torch)["y"])):
        return correct("three operations were recorded, and one leaf waits for a gradient.")
    named = {3: "no leaf", 5: "x + 1 too", 6: "everything", 9: "the paper", 2: "one product", 1: "one for y"}
    if value in named:
        return almost(named[value])
    return not_yet("Go through the operations one by one: does any operand require grad? Then count the "
        "leaves that do.")


P1 = Exercise(
    id="01.p1", kind="predict", title="Nodes behind y", minutes=2, difficulty=1,
    question=f"`w` requires grad, `x` does not. `{FIRST}`. How many backward nodes are behind `y`?",
    name="answer", starter="answer = None",
    hints=(
        "Lesson 00: with plain tensors nobody will ask for slopes, so no node is made.",
        "Two numbers to add: operations with an operand that requires grad, and leaves that do.",
    ),
    solution="answer = 4",
    why="w * x, p * p and the addition are recorded, x + 1 is not; w has an accumulator, plain x has none.",
    alternatives=("answer = 4.0", "answer = torch.tensor(4)"),
    mistakes=(
        Mistake("no leaf", "3 is the number of recorded operations. The leaf's accumulator is a node as well.",
                "answer = 3"),
        Mistake("x + 1 too", "One too many. Plain x has no node, and neither has x + 1: both its operands are plain.",
                "answer = 5"),
        Mistake("everything", "6 would be four operations and two leaves, as on paper. Plain data "
                "takes no part in the graph, and neither does what is computed from plain data alone.", "answer = 6"),
        Mistake("the paper", "9 would be the paper's four operations and five values. The values are tensors; a "
                "node stands for an operation, or for a leaf that waits for a gradient.", "answer = 9"),
        Mistake("one product", "2 is too few. p * p and w * x are two operations, though both are products; the "
                "addition is a third. Each has a node.",
                "answer = 2"),
        Mistake("one for y", "1 would be the node of y alone. Its arrows lead to further nodes, and these count as "
                "well.",
                "answer = 1"),
    ),
    check=check_01_p1,
)  # fmt: skip


def check_01_p2(answer, torch):
    found = as_names(answer)
    if found is None or not set(found) <= set("wxpqy"):
        return not_yet('Give a list with some of the names "w", "x", "p", "q", "y".')
    tensors = first_program(torch)
    truth = {
        name
        for name, tensor in tensors.items()
        if any(getattr(node, "variable", None) is tensors["w"] for node in nodes_behind(tensor))
    }
    found = set(found)
    if found == truth:
        return correct("the way leads back from results, and only along what was recorded.")
    if found == {"w"}:
        return almost("forwards")
    if "q" in found:
        return almost("q meets w in y")
    if "x" in found:
        return almost("partners")
    if found == truth | {"w"}:
        return almost("the leaf itself")
    if found == {"p"}:
        return almost("one step")
    if found == {"y"}:
        return almost("the end only")
    return not_yet("Start at each tensor's grad_fn, if it has one, and follow the arrows back.")


P2 = Exercise(
    id="01.p2", kind="predict", title="Ways to w", minutes=2, difficulty=1,
    question=f"`{FIRST}`. From the grad_fn of which of w, x, p, q, y do arrows lead to the accumulator of w?",
    name="answer", starter="answer = None",
    hints=(
        "Which of the five have a grad_fn at all?",
        "An arrow runs from a result to what it was computed from, however many steps.",
    ),
    solution='answer = ["p", "y"]',
    why="p and y are the recorded results, and both were computed from w. A leaf has no grad_fn to start at.",
    alternatives=('answer = {"y", "p"}', 'answer = "p, y"'),
    mistakes=(
        Mistake("the leaf itself", "w is the end of the way. It has no grad_fn: no recorded operation "
                "computed it, so there is nothing to start at.", 'answer = ["w", "p", "y"]'),
        Mistake("q meets w in y", "q has no grad_fn: nothing that went into it requires grad. That q and w meet "
                "in y makes no way between them; arrows lead from a result to its operands.",
                'answer = ["p", "q", "y"]'),
        Mistake("partners", "x is w's partner in a product; that does not connect the two. Arrows lead from "
                "the product to its operands.", 'answer = ["x", "p", "y"]'),
        Mistake("forwards", "You follow the values: from w onwards. The arrows in memory run the other way.",
                'answer = ["w"]'),
        Mistake("the end only", "y leads there, on a way through the node of p. Start at p's node, and you are on "
                "that way.",
                'answer = ["y"]'),
        Mistake("one step", "p leads to w in one step. y gets there as well, in more steps.", 'answer = ["p"]'),
    ),
    check=check_01_p2,
)  # fmt: skip


def second_program(torch):
    """The function of the lesson's second round: its result, and weak references to three tensors of it."""
    x = torch.tensor(4.0, requires_grad=True)

    def run(x):
        w = torch.tensor(2.0, requires_grad=True)
        h = x * w
        h = h + 1
        unused = h.exp()
        y = h / 3
        return y, {"w": weakref.ref(w), "h": weakref.ref(h), "unused": weakref.ref(unused)}

    return run(x)


def check_01_p3(answer, torch):
    found = as_names(answer)
    if found is None:
        return not_yet('A list of strings is wanted, for example ["SubBackward0", "SinBackward0"].')
    y, _ = second_program(torch)
    truth, node = [], y.grad_fn
    while node.next_functions:
        truth.append(type(node).__name__)
        node = node.next_functions[0][0]
    if found == truth:
        return correct("both tensors that were called h have left a node; the one nobody used is not on the way.")
    if found == truth[::-1]:
        return almost("forwards")
    if any("Exp" in name for name in found):
        return almost("the unused one")
    if found == truth[:2]:
        return almost("the old h")
    if found and found[:-1] == truth and "AccumulateGrad" in found[-1]:
        return almost("accumulator")
    if [name.lower().removesuffix("0").removesuffix("backward") for name in found] == ["div", "add", "mul"] and (
        found != [name.rstrip("0123456789") for name in truth]
    ):
        return almost("forward names")
    if found == [name.rstrip("0123456789") for name in truth]:
        return almost("no digit")
    if [name.rstrip("0123456789") for name in found] == [name.rstrip("0123456789") for name in truth]:
        return almost("counted")
    if found == [truth[0], truth[2]]:
        return almost("the added 1")
    return not_yet("Begin with the operation that made y, then the one that made its first operand, and so on.")


P3 = Exercise(
    id="01.p3", kind="predict", title="Arrow 0, again and again", minutes=2, difficulty=1,
    question="`h = x * w; h = h + 1; unused = h.exp(); y = h / 3`: which names do you meet from y.grad_fn "
    "along arrow 0, before the accumulator?",
    name="answer", starter="answer = None",
    hints=(
        "Give the tensors names of your own, h1 and h2, and write each line again with them.",
        "A name of a node is the operation's, with Backward0 behind it: DivBackward0 for a division.",
    ),
    solution='answer = ["DivBackward0", "AddBackward0", "MulBackward0"]',
    why="With h1 = x * w and h2 = h1 + 1, y is h2 / 3. exp has a node of its own, but no arrow from y leads there.",
    alternatives=('answer = ("DivBackward0", "AddBackward0", "MulBackward0")',),
    mistakes=(
        Mistake("the old h", "You stop at the last h. The addition that made it has an operand, the earlier "
                "h, and the product that made *that* is still there.", 'answer = ["DivBackward0", "AddBackward0"]'),
        Mistake("the unused one", "exp used h, so an arrow leads from exp to h's node. None leads from y to "
                "exp: y was not computed from it.",
                'answer = ["DivBackward0", "ExpBackward0", "AddBackward0", "MulBackward0"]'),
        Mistake("forwards", "The right nodes, met in the order of the program. You start at the result.",
                'answer = ["MulBackward0", "AddBackward0", "DivBackward0"]'),
        Mistake("accumulator", "Right, with one name too many: the accumulator was to be left out.",
                'answer = ["DivBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"]'),
        Mistake("forward names", "The right operations. Their nodes' names end in Backward0.",
                'answer = ["Div", "Add", "Mul"]'),
        Mistake("no digit", "The right operations in the right order. A node's full name ends in a digit, here 0.",
                'answer = ["DivBackward", "AddBackward", "MulBackward"]'),
        Mistake("the added 1", "`h + 1` is an operation, and was recorded: one of its operands requires grad. That "
                "the other is a plain 1 takes no node away.", 'answer = ["DivBackward0", "MulBackward0"]'),
        Mistake("counted", "The right operations in the right order. The digit at the end tells forms of one "
                "operation apart; it counts nothing.",
                'answer = ["DivBackward2", "AddBackward1", "MulBackward0"]'),
    ),
    check=check_01_p3,
)  # fmt: skip


def check_01_p4(answer, torch):
    found = as_names(answer)
    if found is None or not set(found) <= {"w", "h", "unused"}:
        return not_yet('Give a list with some of the names "w", "h", "unused"; it may be empty.')
    y, looks = second_program(torch)
    truth = {name for name, look in looks.items() if look() is not None}
    del y
    found = set(found)
    if found == truth:
        return correct("the graph keeps the leaf, and no tensor that no node needs.")
    if not found:
        return almost("local names")
    if found == {"h"}:
        return almost("only h")
    if found == {"w", "h"}:
        return almost("h too")
    if found == {"w", "h", "unused"}:
        return almost("all")
    return not_yet("Follow the arrows from y. Which of the three can be reached, and is it a tensor or only "
        "its node?")


P4 = Exercise(
    id="01.p4", kind="predict", title="Who is still alive?", minutes=2, difficulty=2,
    question="The function returned `y`; its local names are gone. Which of the tensors `w`, `h` (the last "
    "one), `unused` are still alive?",
    name="answer", starter="answer = None",
    hints=(
        "y holds its node. Whom do nodes hold?",
        "An accumulator has a `variable`. Does the node of an addition have anything of the kind?",
    ),
    solution='answer = ["w"]',
    why="y → its node → … → the accumulator → w. The node of h is on that way, the tensor h is not: "
    "dividing by 3 needs the 3. Nothing leads to unused.",
    alternatives=('answer = {"w"}', 'answer = "w"'),
    mistakes=(
        Mistake("local names", "The names are gone. Tensors live as long as something holds them, and y's "
                "graph must deliver a gradient to a leaf.", "answer = []"),
        Mistake("h too", "The node of h lives, for y's node leads to it. The tensor h is not needed: the "
                "slope of h / 3 is made of the 3.", 'answer = ["w", "h"]'),
        Mistake("all", "That would be a graph that holds everything that ran. It holds what its arrows lead "
                "to, and no arrow leads forwards to unused.", 'answer = ["w", "h", "unused"]'),
        Mistake("only h", "The other way round: a node in between does not need its tensor, an accumulator "
                "does need its leaf.", 'answer = ["h"]'),
    ),
    check=check_01_p4,
)  # fmt: skip


# --- 01.1 ---------------------------------------------------------------------------------------------------


def arrows_of(program, torch):
    """{box number: [box number, leaf name or None, …]} with boxes numbered in the order they were made."""
    space = given(torch)
    leaves = dict(space)
    y = run_program(program, space)
    made = sorted((n for n in nodes_behind(y) if n.next_functions), key=lambda n: n._sequence_nr())
    number = {node: place for place, node in enumerate(made, 1)}

    def name(node):
        if node is None or node in number:
            return number.get(node)
        return next(known for known, leaf in leaves.items() if leaf is node.variable)

    return {number[node]: [name(after) for after, _ in node.next_functions] for node in made}


def target(entry):
    """Where an arrow leads, however it was written: 3, "3" and the pair (3, 0) are one target; "None" is None."""
    if isinstance(entry, (list, tuple)) and len(entry) == 2 and entry[1] == 0:
        entry = entry[0]
    if isinstance(entry, str) and entry.strip() in ("None", "nothing"):
        return None
    return int(entry) if isinstance(entry, str) and entry.isdigit() else entry


def check_01_1(answer, torch):
    if not isinstance(answer, dict) or set(answer) != {1, 2, 3, 4}:
        return not_yet("Keep the dictionary with the keys 4, 3, 2, 1, and put a list in the place of each None.")
    lists = {box: list(to) if isinstance(to, (list, tuple)) else [to] for box, to in answer.items()}
    lists = {box: [target(entry) for entry in to] for box, to in lists.items()}
    truth = arrows_of(DRAWN["F"], torch)
    if lists == truth:
        return correct("you read every arrow, the invisible one among them.")
    turned = {box: sorted(other for other in truth if box in truth[other]) for box in truth}
    if {box: sorted(n for n in to if isinstance(n, int)) for box, to in lists.items()} == turned:
        return almost("turned round")
    if all(sorted(map(str, lists[box])) == sorted(map(str, truth[box])) for box in truth):
        return almost("another order")
    without = {box: [n for n in to if n is not None] for box, to in truth.items()}
    if lists == without:
        return almost("nothing left out")
    if any(n not in ("a", "b", "c") for to in lists.values() for n in to if isinstance(n, str)):
        return almost("names of nodes")
    if all(lists[box] in (truth[box][:1], without[box][:1]) for box in truth):
        return almost("first arrow only")
    wrong = [box for box in truth if lists[box] != truth[box]]
    named = {1: "an arrow to plain data"} if lists[1] == ["a", "c"] else {}
    named |= {4: "where it came from"} if lists[4] == [3, 2] else {}
    named |= {3: "past a box"} if lists[3] == ["b", 1] else {}
    return judged_rows(wrong, list(truth), named, "boxes are right")


EX1 = Exercise(
    id="01.1", kind="edges", title="Give the arrows", minutes=4, difficulty=1,
    question="For each numbered box of picture F: where do its arrows lead, operand by operand? A box's "
    "number, a leaf's name in quotes, or None for an arrow to nothing.",
    name="arrows", starter="arrows = {4: None, 3: None, 2: None, 1: None}",
    hints=(
        "Only black arrows count. Where there are two operands, an arrow has its operand's number at the end where it "
        "begins. Blue ones are the paper.",
        "How many operands does a subtraction have, a division, an exp, a product? If an arrow is missing "
        "in the picture, whose place is it?",
    ),
    solution='arrows = {4: [3, 1], 3: ["b", 2], 2: [1], 1: ["a", None]}',
    why="The picture is b / exp(a * c) - a * c with the product computed once: two arrows meet in box 1. c "
    "is plain, so the product's second arrow leads to nothing.",
    alternatives=('arrows = {1: ("a", None), 2: (1,), 3: ("b", 2), 4: (3, 1)}',
                  'arrows = {1: ["a", None], 2: 1, 3: ["b", 2], 4: [3, 1]}',
                  'arrows = {1: ["a", "None"], 2: [1], 3: ["b", 2], 4: [3, 1]}',
                  'arrows = {4: [(3, 0), (1, 0)], 3: [("b", 0), (2, 0)], 2: [("1", 0)], 1: [("a", 0), (None, 0)]}'),
    mistakes=(
        Mistake("turned round", "You list for each box who leads *to* it. An arrow belongs to the box it "
                "starts from, and starts at the result.", "arrows = {4: [], 3: [4], 2: [3], 1: [2, 4]}"),
        Mistake("nothing left out", "All arrows that can be seen are right. A product has two operands; one "
                "place in its row is kept free.", 'arrows = {4: [3, 1], 3: ["b", 2], 2: [1], 1: ["a"]}'),
        Mistake("an arrow to plain data", "c is an operand, on paper. It requires no grad, so in memory "
                "there is no arrow to it.", 'arrows = {4: [3, 1], 3: ["b", 2], 2: [1], 1: ["a", "c"]}'),
        Mistake("where it came from", "4: the result of exp is no operand of the subtraction. Follow the black arrow "
                "that has a 1 at box 4.", 'arrows = {4: [3, 2], 3: ["b", 2], 2: [1], 1: ["a", None]}'),
        Mistake("past a box", "3: from the division to box 1 the way leads through another box. Follow the black "
                "arrow that has a 1 at box 3.", 'arrows = {4: [3, 1], 3: ["b", 1], 2: [1], 1: ["a", None]}'),
        Mistake("another order", "The right arrows, in another order. The first entry is arrow 0, the first operand.",
                'arrows = {4: [1, 3], 3: [2, "b"], 2: [1], 1: ["a", None]}'),
        Mistake("first arrow only", "You follow one arrow for each box. Every operand has its own.",
                'arrows = {4: [3], 3: ["b"], 2: [1], 1: ["a"]}'),
        Mistake("names of nodes", "Say where an arrow leads by the number of the box, not by its name, and "
                "write a leaf's name, \"a\" or \"b\", for its accumulator.",
                'arrows = {4: ["DivBackward0", "MulBackward0"], 3: ["b", "ExpBackward0"], 2: '
                '["MulBackward0"], 1: ["a", None]}'),
    ),
    check=check_01_1,
)  # fmt: skip


# --- 01.2 ---------------------------------------------------------------------------------------------------

WRONG_PROGRAMS = {
    ("A", 2): "computed twice",
    ("B", 3): "plain first",
    ("C", 5): "another operation",
    ("C", 12): "operands the other way",
    ("D", 7): "factors the other way",
    ("D", 8): "a power",
    ("B", 9): "nothing in its place",
    ("D", 2): "too many leaves",
    ("E", 1): "other boxes",
}


def choices(answer):
    """The programs in one entry of an answer: one number, or several where several are right; [] for anything else."""
    several = list(answer) if isinstance(answer, (list, tuple, set)) else [answer]
    several = [as_number(each) for each in several]
    return [int(each) for each in several] if all(each in PROGRAMS for each in several) else []


def check_01_2(answer, torch):
    if not isinstance(answer, dict) or set(answer) != set("ABCDE"):
        return not_yet("Keep the dictionary with the letters A to E.")
    given_numbers = {letter: choices(answer[letter]) for letter in "ABCDE"}
    strange = [letter for letter, chosen in given_numbers.items() if not chosen]
    if strange:
        return not_yet(f"For {', '.join(strange)}, give the number of a program, 1 to 12.")
    wrong = []  # (letter, number)
    for letter in "ABCDE":
        space = given(torch)
        leaves = dict(space)
        drawn = shape_of(run_program(DRAWN[letter], dict(space)), leaves)
        for number in given_numbers[letter]:
            if shape_of(run_program(PROGRAMS[number], dict(space)), leaves) != drawn:
                wrong.append((letter, number))
    named = {one[0]: WRONG_PROGRAMS[one] for one in wrong if one in WRONG_PROGRAMS}
    letters = list(dict.fromkeys(letter for letter, _ in wrong))
    return judged_rows(letters, "ABCDE", named, "are right") or correct(
        "from the picture to the program: only order, sharing and what requires grad decide.")


MATCH = {"A": 1, "B": 4, "C": 6, "D": 9, "E": 10}


def matched_but(**changed):
    return f"programs = {MATCH | changed!r}"


EX2 = Exercise(
    id="01.2", kind="edges", title="Which program was it?", minutes=6, difficulty=2,
    question="For each of the pictures A to E, the number of a program that leaves exactly this graph.\n\n"
    + "\n".join(f"{number}. `{program}`" for number, program in PROGRAMS.items()),
    name="programs", starter='programs = {"A": None, "B": None, "C": None, "D": None, "E": None}',
    hints=(
        "Read the names in the grey boxes, and count the green ones: that leaves two to four for each picture.",
        "Then look at the numbers on the arrows. Which operand leads to the leaf, the first or the second?",
        "A value that nobody behind y used does not appear, whatever the program did with it.",
    ),
    solution=f"programs = {MATCH!r}",
    why="A: one node with two arrows into it. B: two products with c, each with an arrow to nothing. C: "
    "minus is a node of its own. D: a loop is what its body ran. E: z is not behind y, and program 11 "
    "leaves the same graph.",
    alternatives=(matched_but(E=11), matched_but(E=[10, 11]), matched_but(A="1"), matched_but(A=1.0)),
    mistakes=(
        Mistake("computed twice", "A: program 2 computes a * b twice and leaves three products. In the "
                "picture two arrows run into one box.", matched_but(A=2)),
        Mistake("plain first", "B: program 3 multiplies plain by plain first, which leaves nothing. The "
                "picture has two products.", matched_but(B=3)),
        Mistake("another operation", "C: the values of a - b and a + (-b) are equal, the operations are "
                "not. Read the names in the boxes.", matched_but(C=5)),
        Mistake("operands the other way", "C: the right boxes, but look at the numbers: which operand of "
                "the addition is the leaf a?", matched_but(C=12)),
        Mistake("factors the other way", "D: the right boxes, but look at the numbers: of the later "
                "product, which operand is the leaf and which the earlier product?", matched_but(D=7)),
        Mistake("nothing in its place", "B: program 9 multiplies by the leaf a each time. In the picture the leaf "
                "is reached by one arrow only; the other operands are plain.", matched_but(B=9)),
        Mistake("too many leaves", "D: program 2 was computed from a and b. How many green boxes has the picture?",
                matched_but(D=2)),
        Mistake("other boxes", "E: program 1 leaves two products. Read the names in the boxes.", matched_but(E=1)),
        Mistake("a power", "D: a ** 3 is one operation, with one box. The picture has two products.",
                matched_but(D=8)),
    ),
    check=check_01_2,
)  # fmt: skip


# --- 01.3 ---------------------------------------------------------------------------------------------------


def check_01_3(answer, torch):
    for _ in range(2):
        space = given(torch)
        leaves = {name: space[name] for name in "ab"}
        y = answer(torch, space["a"], space["b"])
        if not isinstance(y, torch.Tensor) or y.grad_fn is None:
            return not_yet("Return a tensor that was computed from a and b.")
        found, wanted = shape_of(y, leaves), shape_of(run_program(DRAWN["G"], space), leaves)
        if found != wanted:
            break
    else:
        return correct("you can write a program for a graph, with one node for what is used twice.")
    named = {
        "y = b.exp() * (a + b.exp())": "computed twice",
        "e = b.exp(); y = (a + e) * e": "factors swapped",
        "e = b.exp(); y = e * (e + a)": "terms swapped",
        "e = a.exp(); y = e * (b + e)": "the other leaf",
        "e = b.exp(); y = e * a + e * e": "multiplied out",
        "e = b.exp(); y = e.item() * (a + e)": "a number",
        "e = b.exp(); y = e * (a + b)": "added before exp",
        "e = b.exp(); y = b * (a + e)": "multiplied by the leaf",
    }
    for program, name in named.items():
        if found == shape_of(run_program(program, dict(space)), leaves):
            return almost(name)
    boxes = [name for name, _ in found]
    if sorted(boxes) != sorted(name for name, _ in wanted):
        return not_yet(f"Behind your y are the boxes {', '.join(boxes)}. Compare their names with picture G.")
    ends = [to for _, arrows in found for to, _ in arrows]
    if None in ends:
        return not_yet("The boxes are those of picture G. But one of your arrows leads to nothing, and in the picture "
            "every operand has an arrow.")
    if "another leaf" in ends:
        return not_yet("The boxes are those of picture G. But one of your arrows ends in a leaf that is neither the a "
            "nor the b that was given.")
    return not_yet("The boxes are those of picture G, the arrows are not. For each box, where do arrows 0 and 1 lead?")


BUILD = "def build(torch, a, b):\n"
EX3 = Exercise(
    id="01.3", kind="edges", title="Build this graph", minutes=5, difficulty=1,
    question="Return a tensor with exactly the graph of picture G behind it; `a` and `b` are given.",
    name="build", starter=BUILD + "    y = a * b\n    return y",
    hints=(
        "Build in the order of the numbers: first the box whose arrow leads to a leaf only.",
        "Two arrows run into box 1. Give its result a name, and use the name twice.",
    ),
    solution=BUILD + "    e = b.exp()\n    return e * (a + e)\n",
    why="One call of exp, used twice. Writing b.exp() twice would have the same value and one box more.",
    alternatives=(
        BUILD + "    e = torch.exp(b)\n    return torch.mul(e, torch.add(a, e))\n",
        BUILD + "    e = b.exp()\n    e.sin()  # leaves nothing behind y\n    s = a.add(e)\n    return e.mul(s)\n",
    ),
    mistakes=(
        Mistake("computed twice", "You call exp twice, and so there are two boxes. In the picture both "
                "arrows run into one.", BUILD + "    return b.exp() * (a + b.exp())\n"),
        Mistake("factors swapped", "All boxes are there. Of the product, which operand leads to the "
                "addition: 0 or 1?",
                BUILD + "    e = b.exp()\n    return (a + e) * e\n"),
        Mistake("terms swapped", "All boxes are there. Of the addition, which operand leads to the leaf: 0 or 1?",
                BUILD + "    e = b.exp()\n    return e * (e + a)\n"),
        Mistake("the other leaf", "a and b have changed places: look to which accumulator the arrow from exp leads.",
                BUILD + "    e = a.exp()\n    return e * (b + e)\n"),
        Mistake("multiplied out", "The same value, by other operations. The graph is that of the operations.",
                BUILD + "    e = b.exp()\n    return e * a + e * e\n"),
        Mistake("added before exp", "All boxes are there. But two arrows run into box 1, and in your graph only "
                "one: where does arrow 1 of the addition lead?", BUILD + "    e = b.exp()\n    return e * (a + b)\n"),
        Mistake("multiplied by the leaf", "All boxes are there. But two arrows run into box 1, and in your graph "
                "only one: "
                "where does arrow 0 of the product lead?", BUILD + "    e = b.exp()\n    return b * (a + e)\n"),
        Mistake("a number", "A number was used in place of a result, as item() gives one: that operand's arrow "
                "leads to nothing.",
                BUILD + "    e = b.exp()\n    return e.item() * (a + e)\n"),
    ),
    check=check_01_3,
)  # fmt: skip


# --- 01.4 ---------------------------------------------------------------------------------------------------

HAPPENS = {  # letter: the program, and the formula whose slope is wanted
    "A": ("h = x * x; y = h * x; h = x.exp(); del h", lambda x: x**3),
    "B": ("y = x * x; y = y.item() * x", lambda x: x**3),
    "C": ("h = copy.deepcopy(x * x); y = h * x", lambda x: x**3),
    "D": ("y = x\nfor _ in range(3): y = y * y", lambda x: x**8),
    "E": ("y = x * x\nif y > 5: y = y * x", lambda x: x**3),
    "F": ("h = (x * x).item(); y = torch.tensor(h) * 2", lambda x: 2 * x**2),
    "G": ("y = (x * x).float() * x", lambda x: x**3),
}


def what_happens(torch, letter):
    """Run one program of exercise 01.4 and compare x.grad with a finite difference of its formula."""
    program, formula = HAPPENS[letter]
    x = torch.tensor(3.0, requires_grad=True)
    slope = (formula(3 + 1e-5) - formula(3 - 1e-5)) / 2e-5

    def right(space):
        return x.grad is not None and math.isclose(x.grad.item(), slope, rel_tol=1e-4)

    return happens((program, "y.backward()"), {"torch": torch, "copy": copy, "x": x}, right)


def check_01_4(answer, torch):
    mistakes = {
        ("A", "raises now"): "the name is the value",
        ("A", "raises at backward"): "a deleted name",
        ("A", "silently wrong"): "the name is the value",
        ("B", "fine"): "a number has a history",
        ("B", "raises now"): "numbers refused",
        ("B", "raises at backward"): "numbers refused",
        ("C", "fine"): "copies of results",
        ("C", "silently wrong"): "copies of results",
        ("C", "raises at backward"): "copies late",
        ("D", "raises now"): "a cycle",
        ("D", "raises at backward"): "a cycle",
        ("D", "silently wrong"): "one y",
        ("E", "silently wrong"): "an if in the way",
        ("E", "raises now"): "an if in the way",
        ("E", "raises at backward"): "an if in the way",
        ("F", "fine"): "a tensor is enough",
        ("F", "silently wrong"): "nothing to start from",
        ("F", "raises now"): "plain is allowed",
        ("G", "silently wrong"): "float cuts",
        ("G", "raises at backward"): "float cuts",
        ("G", "raises now"): "float cuts",
    }
    measure = functools.partial(what_happens, torch)
    return check_table(answer, HAPPENS, measure, mistakes, "you know what a graph remembers, and what it never sees.")


TRUTH_4 = {"A": "fine", "B": "silently wrong", "C": "raises now", "D": "fine", "E": "fine", "F": "raises at backward",
           "G": "fine"}  # fmt: skip


def happens_but(**changed):
    return f"happens = {TRUTH_4 | changed!r}"


EX4 = Exercise(
    id="01.4", kind="which happens", title="Which happens?", minutes=6, difficulty=2,
    question='Fine, raises now, raises at backward, or silently wrong? `x` is a fresh leaf, 3.0; `y.backward()` '
    "follows.\n\n" + "\n".join(f"- {letter}: `{program}`" for letter, (program, _) in HAPPENS.items()),
    name="happens",
    starter='happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}',
    hints=(
        "For each program, walk back from y. Do you reach x, and on every path that the formula has?",
        "Two programs take a number out. In one of them something else still leads back to x, in the other "
        "nothing does.",
        "When is something refused: when it cannot be done. When is nothing said: when it can be done, but "
        "means something else than you thought.",
    ),
    solution=f"happens = {TRUTH_4!r}",
    why="A and D move names, which the graph does not know. E records the branch that ran. G: float() of a "
    "float32 tensor is that tensor. B reaches x on one path of three, F on none, and C asks for a copy of a "
    "history.",
    alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(TRUTH_4.items()))})",),
    mistakes=(
        Mistake("the name is the value", "A: giving h to another tensor changes nothing for y. Its node "
                "leads to the old tensor's node, not to a name.", happens_but(A="silently wrong")),
        Mistake("a deleted name", "A: `del h` takes a name away, and the tensor it named last. What y was computed "
                "from is held by the graph.", happens_but(A="raises at backward")),
        Mistake("one y", "D: the name is the same, the tensors are four: x and three results, each with a node of its "
                "own. The slopes of all three are multiplied.", happens_but(D="silently wrong")),
        Mistake("a number has a history", "B: item() gives a plain number, 9.0. Backward sees 9 times x and "
                "says 9; the slope of x³ at 3 is 27.", happens_but(B="fine")),
        Mistake("numbers refused", "B: multiplying by a number is an ordinary thing to do; nobody can know "
                "that this number came from x.", happens_but(B="raises at backward")),
        Mistake("copies of results", "C: a deep copy of a result would need a copy of its history. Results "
                "refuse, as in Break it.", happens_but(C="fine")),
        Mistake("copies late", "C: you are right that it raises. But who raises: backward, or the line that "
                "makes the copy?", happens_but(C="raises at backward")),
        Mistake("a cycle", "D: y = y * y makes a new tensor each time; three passes leave three nodes in a "
                "row, and no circle.", happens_but(D="raises at backward")),
        Mistake("an if in the way", "E: the condition reads a value and decides what runs. What ran is "
                "recorded as always, and at 3 it is x³.", happens_but(E="silently wrong")),
        Mistake("a tensor is enough", "F: putting a number back into a tensor does not bring its history "
                "back. There is no arrow behind this y at all.", happens_but(F="fine")),
        Mistake("nothing to start from", "F: nothing of x is behind y, right. But then y has no node to "
                "start from, and backward says so.", happens_but(F="silently wrong")),
        Mistake("plain is allowed", "F: computing with plain tensors is always allowed. Who will miss the "
                "history, and when?", happens_but(F="raises now")),
        Mistake("float cuts", "G: x * x is float32 already, so float() hands back that very tensor, node and all.",
                happens_but(G="silently wrong")),
    ),
    check=check_01_4,
)  # fmt: skip


# --- 01.5 ---------------------------------------------------------------------------------------------------


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


def check_01_5(answer, torch):
    wrong, used_up = set(), False
    for stored in (None, 7.0):  # what is in .grad of the leaves beforehand
        cases = cases_of_use(torch)
        _, y, t = cases[0]
        if stored is None and bool(answer(torch, y, t)) and not answer(torch, y, t):
            return almost("a set that stays")
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
EX5 = Exercise(
    id="01.5", kind="edges", title="Was it used?", minutes=12, difficulty=3,
    question="Return True if, by the graph, `y` was computed from `t`, directly or through other results. "
    "`t` may be a leaf, a result, one of several results of one operation, or plain; `y` may have several elements, "
    "and may be plain.",
    name="depends", starter=DEPENDS + "    return y.grad_fn is t.grad_fn",
    hints=(
        "Walk back from y.grad_fn as in exercise 00.3: a list of what is still to visit, a set of what was seen. "
        "You hold the nodes in that set, and so they can be compared.",
        "How do you recognise t when you arrive? A leaf by its accumulator's variable, a result by its node.",
        "When t is one of several results, the node alone does not decide; the arrow has a second half.",
    ),
    solution=DEPENDS + WALK + LEAF + RESULT + FOLLOW,
    why="Each arrow is a pair, and so is a result: its grad_fn and its output_nr. A leaf is found through "
    "its accumulator; a plain tensor is behind nothing.",
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
        Mistake("leaves only", "Leaves are found, results are not: a result that was used on the way has a "
                "node among those you visit.", DEPENDS + WALK + LEAF + FOLLOW),
        Mistake("results only", "Results are found, leaves are not: a leaf has no grad_fn. What has its accumulator?",
                DEPENDS + WALK + RESULT + FOLLOW),
        Mistake("which output", "Of an operation with several results you say yes to each. One node, but "
                "the second half of the arrow tells them apart.",
                DEPENDS + WALK + LEAF + RESULT.replace(" and output == t.output_nr", "") + FOLLOW),
        Mistake("one visit a node", "Two results of one operation can both be on the way. Your walk sees their node "
                "once and skips it the second time; what was seen is an arrow's end, a node and an output.",
                DEPENDS + WALK.replace("(node, output) in seen", "node in seen").replace(
                "seen.add((node, output))", "seen.add(node)") + LEAF + RESULT + FOLLOW),
        Mistake("a set that stays", "Asked the same question twice, you say True and then False: what the first "
                "call has seen still counts as seen. Make the set anew in each call.",
                "def depends(torch, y, t, seen=set()):\n" + WALK.replace("seen, waiting = set(), ", "waiting = ")
                + LEAF + RESULT + FOLLOW),
        Mistake("the same memory", "You say True for the first result of unbind, which y never saw, and False for the "
                "second. The first begins at the same memory as the leaf that y did see; a tensor is known by `is`.",
                DEPENDS + WALK + LEAF.replace("getattr(node, 'variable', None) is t",
                "hasattr(node, 'variable') and node.variable.data_ptr() == t.data_ptr()") + RESULT + FOLLOW),
        Mistake("two arrows at most", "Of an operation with three operands you look at two arrows. `next_functions` "
                "is as long as it needs to be.",
                DEPENDS + WALK + LEAF + RESULT + FOLLOW.replace("node.next_functions", "node.next_functions[:2]")),
        Mistake("begins at output 0", "y itself can be one of several results, number `y.output_nr`. You take it "
                "for the first.", DEPENDS + WALK.replace("y.output_nr", "0") + LEAF + RESULT + FOLLOW),
        Mistake("several elements", "Right where y is one number. Where y has several elements you say False though "
                "t was used. (If you ask autograd.grad: it does not start there without `grad_outputs`, and an "
                "error is no answer.)",
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
        Mistake("guard: changed a flag",
                "Looking must not change anything.",
                DEPENDS + "    if not y.requires_grad:\n        return False\n"
                "    if t.is_leaf:\n        t.requires_grad_()\n    ones = torch.ones_like(y)\n"
                "    (slope,) = torch.autograd.grad(y, t, ones, retain_graph=True, allow_unused=True)\n"
                "    return slope is not None\n"),
        Mistake("guard: changed a .grad, and threw it away",
                "",
                DEPENDS + "    if not t.requires_grad or not y.requires_grad:\n        return False\n"
                "    t.grad = None\n"
                "    y.backward(torch.ones_like(y), inputs=[t], retain_graph=True)\n    used = t.grad is not None\n"
                "    t.grad = None\n"
                "    return used\n"),
        Mistake("nothing is nothing", "You say that a plain tensor was used: its grad_fn is None, and so is "
                "the node of an arrow to nothing.",
                DEPENDS + WALK.replace("node is None or ", "").replace("node, output = waiting.pop()\n",
                "node, output = waiting.pop()\n        if node is t.grad_fn and output == t.output_nr:\n"
                "            return True\n        if node is None:\n            continue\n") + LEAF + FOLLOW),
        Mistake("one arrow only", "You follow one arrow of each node. An operation has one for each operand.",
                DEPENDS + WALK + LEAF + RESULT + FOLLOW.replace("node.next_functions", "node.next_functions[:1]")),
        Mistake("same names", "A second result of the same operation, that y never saw, gets a yes: you "
                "compare names, and many nodes carry one name.",
                DEPENDS + WALK + LEAF + "        if t.grad_fn is not None and type(node) is type(t.grad_fn) and (\n"
                "            node.next_functions == t.grad_fn.next_functions and output == t.output_nr\n        ):\n"
                "            return True\n" + FOLLOW),
        Mistake("a leaf in common", "You say yes when y and t merely have a leaf in common. t has to be on "
                "the way from y.",
                DEPENDS + "    def leaves(z):\n        found, waiting = set(), [z.grad_fn]\n        while waiting:\n"
                "            node = waiting.pop()\n            if hasattr(node, 'variable'):\n"
                "                found.add(node.variable)\n"
                "            waiting += [n for n, _ in node.next_functions if n] if node else []\n"
                "        return found | ({z} if z.is_leaf else set())\n    return bool(leaves(y) & leaves(t))\n"),
        Mistake("turned round", "You walk from t in search of y. Arrows lead from a result back to what it was "
                "computed from: the walk begins at y.",
                DEPENDS + "    y, t = t, y\n" + WALK + LEAF + RESULT + FOLLOW),
        Mistake("one step", "You look at the arrows of y's own node. The nodes that they lead to have arrows as well.",
                DEPENDS + "    for node, output in y.grad_fn.next_functions if y.grad_fn else ():\n"
                + LEAF + RESULT + "    return False\n"),
        Mistake("stopped by nothing", "At the first arrow to nothing your walk ends. Only that path ends there; "
                "the others go on.",
                DEPENDS + WALK.replace("        if node is None or (node, output) in seen:\n            continue\n",
                "        if node is None:\n            return False\n") + LEAF + RESULT + FOLLOW),
        Mistake("an equal leaf", "You say yes to a leaf that y never saw: it only has the value of one that was used. "
                "A tensor is known by `is`.",
                DEPENDS + WALK + LEAF.replace("getattr(node, 'variable', None) is t",
                "t.requires_grad and t.is_leaf and hasattr(node, 'variable') and torch.equal(node.variable, t)")
                + RESULT + FOLLOW),
        Mistake("every path", "Right on small graphs. But you visit a node once for each path that leads to it, and "
                "twenty sums y + y have a million paths.",
                DEPENDS + WALK.replace(" or (node, output) in seen", "") + LEAF + RESULT + FOLLOW),
        Mistake("recursion", "Right on small graphs. A chain of 3000 operations is deeper than Python's "
                "calls may go.",
                DEPENDS + "    seen = set()\n    def visit(node, output):\n"
                "        if node is None or (node, output) in seen:\n            return False\n"
                "        seen.add((node, output))\n"
                "        if getattr(node, 'variable', None) is t:\n            return True\n"
                "        if t.grad_fn is not None and node is t.grad_fn and output == t.output_nr:\n"
                "            return True\n"
                "        return any(visit(n, o) for n, o in node.next_functions)\n"
                "    return visit(y.grad_fn, y.output_nr)\n"),
        Mistake("used up", "After your question backward fails: it has used up what the nodes had kept. Whoever "
                "asks should leave the graph as it was.",
                DEPENDS + "    if not t.requires_grad:\n        return False\n    try:\n"
                "        (slope,) = torch.autograd.grad(y, t, allow_unused=True)\n    except RuntimeError:\n"
                "        return True\n    return slope is not None\n"),
        Mistake("guard: changed a .grad", "Looking must change nothing.",
                DEPENDS + "    if not t.requires_grad or not y.requires_grad:\n        return False\n    "
                "t.retain_grad()\n"
                "    y.backward(torch.ones_like(y), retain_graph=True)\n    return t.grad is not None\n"),
    ),
    check=check_01_5,
)  # fmt: skip


EXERCISES = [P1, P2, P3, P4, EX1, EX2, EX3, EX4, EX5]
