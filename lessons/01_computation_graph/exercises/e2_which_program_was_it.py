"""Exercise 01.2: which program was it?"""

from coursekit.judge.exercise import Exercise, Mistake, correct, edit, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import as_number

from .shared import DRAWN, PROGRAMS, given, run_program, shape_of

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


def check(answer, torch):
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

EXERCISE = Exercise(
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
    why="A: one node with two arrows into it. B: two products with c, each with an arrow to nothing. C: minus is a "
    "node of its own. D: a loop is what its body ran. E: z is not behind y, and program 11 leaves the same graph.",
    alternatives=(edit("10", "11"), edit("10", "[10, 11]"), edit(" 1,", " '1',"), edit("1,", "1.0,")),
    mistakes=(
        Mistake("computed twice", "A: program 2 computes a * b twice and leaves three products. In the picture two "
                "arrows run into one box.", edit(" 1,", " 2,")),
        Mistake("plain first", "B: program 3 multiplies plain by plain first, which leaves nothing. The picture has "
                "two products.", edit("4", "3")),
        Mistake("another operation", "C: the values of a - b and a + (-b) are equal, the operations are not. Read "
                "the names in the boxes.", edit("6", "5")),
        Mistake("operands the other way", "C: the right boxes, but look at the numbers: which operand of the "
                "addition is the leaf a?", edit("6", "12")),
        Mistake("factors the other way", "D: the right boxes, but look at the numbers: of the later product, which "
                "operand is the leaf and which the earlier product?", edit("9", "7")),
        Mistake("nothing in its place", "B: program 9 multiplies by the leaf a each time. In the picture the leaf is "
                "reached by one arrow only; the other operands are plain.", edit("4", "9")),
        Mistake("too many leaves", "D: program 2 was computed from a and b. How many green boxes has the picture?",
                edit("9", "2")),
        Mistake("other boxes", "E: program 1 leaves two products. Read the names in the boxes.", edit("10", "1")),
        Mistake("a power", "D: a ** 3 is one operation, with one box. The picture has two products.", edit("9", "8")),
    ),
    check=check,
)  # fmt: skip
