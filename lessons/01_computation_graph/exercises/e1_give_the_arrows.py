"""Exercise 01.1: give the arrows."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import nodes_behind

from .shared import DRAWN, given, run_program


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
    """Read where an arrow leads, however it was written: 3, "3" and the pair (3, 0) are one target; "None" is None."""
    if isinstance(entry, (list, tuple)) and len(entry) == 2 and entry[1] == 0:
        entry = entry[0]
    if isinstance(entry, str) and entry.strip() in ("None", "nothing"):
        return None
    return int(entry) if isinstance(entry, str) and entry.isdigit() else entry


def check(answer, torch):
    if not isinstance(answer, dict) or set(answer) != {1, 2, 3, 4}:
        return not_yet("Keep the dictionary with the keys 4, 3, 2, 1, and put a list in the place of each None.")
    lists = {box: list(to) if isinstance(to, (list, tuple)) else [to] for box, to in answer.items()}
    lists = {box: [target(entry) for entry in to] for box, to in lists.items()}
    truth = arrows_of(DRAWN["F"], torch)
    if lists == truth:
        return correct("you read every arrow, the one to nothing among them.")
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


EXERCISE = Exercise(
    id="01.1", kind="edges", title="Give the arrows", minutes=4, difficulty=1,
    question="For each numbered box of picture F: where do its arrows lead, operand by operand? A box's number, a "
    "leaf's name in quotes, or None for an arrow to nothing.",
    name="arrows", starter="arrows = {4: None, 3: None, 2: None, 1: None}",
    hints=(
        "Only black arrows count. Where there are two operands, an arrow has its operand's number at the end where it "
        "begins. Blue ones are the paper.",
        "How many operands does a subtraction have, a division, an exp, a product? A short line that ends in a ring "
        "is an arrow, too.",
    ),
    solution='arrows = {4: [3, 1], 3: ["b", 2], 2: [1], 1: ["a", None]}',
    why="The picture is b / exp(a * c) - a * c with the product computed once: two arrows meet in box 1. c is plain, "
    "so the product's second arrow leads to nothing.",
    alternatives=(
        'arrows = {1: ("a", None), 2: (1,), 3: ("b", 2), 4: (3, 1)}',
        'arrows = {1: ["a", None], 2: 1, 3: ["b", 2], 4: [3, 1]}',
        'arrows = {1: ["a", "None"], 2: [1], 3: ["b", 2], 4: [3, 1]}',
        'arrows = {4: [(3, 0), (1, 0)], 3: [("b", 0), (2, 0)], 2: [("1", 0)], 1: [("a", 0), (None, 0)]}',
    ),
    mistakes=(
        Mistake("turned round", "You list for each box who leads *to* it. An arrow belongs to the box it starts "
                "from, and starts at the result.", "arrows = {4: [], 3: [4], 2: [3], 1: [2, 4]}"),
        Mistake("nothing left out", "All arrows that lead to a box are right. A product has two operands; the short "
                "line that ends in a ring is an arrow, too: to nothing.",
                'arrows = {4: [3, 1], 3: ["b", 2], 2: [1], 1: ["a"]}'),
        Mistake("an arrow to plain data", "c is an operand, on paper. It requires no grad, so in memory there is no "
                "arrow to it.", 'arrows = {4: [3, 1], 3: ["b", 2], 2: [1], 1: ["a", "c"]}'),
        Mistake("where it came from", "4: the result of exp is no operand of the subtraction. Follow the black arrow "
                "that has a 1 at box 4.", 'arrows = {4: [3, 2], 3: ["b", 2], 2: [1], 1: ["a", None]}'),
        Mistake("past a box", "3: from the division to box 1 the way leads through another box. Follow the black "
                "arrow that has a 1 at box 3.", 'arrows = {4: [3, 1], 3: ["b", 1], 2: [1], 1: ["a", None]}'),
        Mistake("another order", "The right arrows, in another order. The first entry is arrow 0, the first operand.",
                'arrows = {4: [1, 3], 3: [2, "b"], 2: [1], 1: ["a", None]}'),
        Mistake("first arrow only", "You follow one arrow for each box. Every operand has its own.",
                'arrows = {4: [3], 3: ["b"], 2: [1], 1: ["a"]}'),
        Mistake("names of nodes", "Say where an arrow leads by the number of the box, not by its name, and write a "
                "leaf's name, \"a\" or \"b\", for its accumulator.",
                'arrows = {4: ["DivBackward0", "MulBackward0"], 3: ["b", "ExpBackward0"], 2: ["MulBackward0"], 1: '
                '["a", None]}'),
    ),
    check=check,
)  # fmt: skip
