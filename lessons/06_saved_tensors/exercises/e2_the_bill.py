"""Exercise 06.2: the bill."""

from backscope.memory.ledger import ledger
from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from coursekit.judge.table import judged_rows

from .shared import as_numbers

BILLS = {  # x and c have 1000 elements each
    "A": "y = (x + c).sin().exp().sum()",
    "B": "y = (x * c * 3 + 1).sum(); y.backward(); y = (x * c).sum()",
    "C": "h = x.exp(); y = h.sin() + h.cos()",
    "D": "with torch.no_grad(): h = x.exp()\ny = h * x",
    "E": "y = x[:10] * c[:10]",
    "F": "for _ in range(3): y = (x * c).exp().sum(); y.backward()",
    "G": "total = 0\nfor _ in range(3): total = total + (x * c).exp().sum()\ntotal.backward()",
}
PEAKS = {"A": 8000, "B": 4000, "C": 4000, "D": 4000, "E": 4000, "F": 8000, "G": 16000}
WRONG_PEAKS = {
    ("A", 4000): "only what was computed last",
    ("A", 12000): "a sum keeps its operands",
    ("A", 16000): "a sum keeps its operands",
    ("B", 8000): "the second graph on top",
    ("B", 12000): "products keep their results",
    ("B", 0): "after the pass",
    ("C", 16000): "two readers, two memories",
    ("D", 12000): "all three",
    ("F", 4000): "the factor is missing",
    ("G", 4000): "one step at a time",
    ("C", 8000): "two readers, two memories",
    ("C", 12000): "two readers, two memories",
    ("D", 0): "no_grad reaches further",
    ("D", 8000): "the factor of a constant",
    ("E", 40): "only the slice",
    ("E", 80): "only the slice",
    ("E", 8000): "both slices",
    ("F", 24000): "three steps at once",
    ("F", 16000): "three steps at once",
    ("G", 8000): "one step at a time",
    ("G", 24000): "c three times",
    ("G", 12000): "c not at all",
}


def peak_of(program, torch):
    """The most bytes that nodes saved at one time while a program ran."""
    space = {"torch": torch, "x": torch.ones(1000, requires_grad=True), "c": torch.ones(1000)}
    with ledger() as held:
        exec(program, space)
    return held.peak


def check(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put a number in place of each None.")
    waiting = [letter for letter in BILLS if answer.get(letter) is None]
    if waiting:
        return not_yet(f"There is no answer yet for {', '.join(waiting)}.")
    given = as_numbers([answer[letter] for letter in BILLS], len(BILLS))
    if given is None:
        return not_yet("Each answer is a number of bytes.")
    truth = {letter: peak_of(program, torch) for letter, program in BILLS.items()}
    given = dict(zip(BILLS, given, strict=True))
    wrong = [(letter, given[letter]) for letter in BILLS if given[letter] != truth[letter]]
    if len(wrong) > 3 and all(given[letter] * 4 == truth[letter] for letter in BILLS):
        return almost("elements")
    named = {one[0]: WRONG_PEAKS[one] for one in wrong if one in WRONG_PEAKS}
    rows = [letter for letter, _ in wrong]
    return judged_rows(rows, list(BILLS), named, "agree with the ledger") or correct(
        "you can say what a program will save before it runs, and what makes its peak."
    )


EXERCISE = Exercise(
    id="06.2", kind="predict state", title="The bill", minutes=8, difficulty=2,
    question="x and c take 4000 bytes each. What is the peak, the most bytes that nodes save at one time?\n\n"
    + "\n".join(f"- {letter}: `{' · '.join(program.splitlines())}`" for letter, program in BILLS.items()),
    name="peaks", starter='peaks = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}',
    hints=(
        "Under each program write its nodes, beside each node the tensors in its slots, and strike out what you have "
        "twice.",
        "When a program calls backward, ask what is still saved when the next line runs.",
    ),
    solution=f"peaks = {PEAKS!r}",
    why="A: x + c for sin, and the result of exp. B: c, twice after each other. C: h, in three slots. D: h for the "
    "slope of x; under no_grad exp left no node. E: a slice saves all of its base. F: each pass lets go before the "
    "next step. G: nothing is let go until the end, so three results of exp, and c once.",
    alternatives=(f"peaks = dict({', '.join(f'{k}={float(v)!r}' for k, v in reversed(PEAKS.items()))})",),
    mistakes=(
        Mistake("only what was computed last", "A: exp saves its result, and sin saves what it was given, x + c. "
                "That is another memory.", edit("': 8000, 'B", "': 4000, 'B")),
        Mistake("a sum keeps its operands", "A: too much. An addition saves neither operand, sin does not save its "
                "result, and exp does not save what it was given.", edit("': 8000, 'B", "': 12000, 'B")),
        Mistake("the second graph on top", "B: when the last line runs, backward has emptied the first graph. And c "
                "is one memory in any case.", edit("': 4000, 'C", "': 8000, 'C")),
        Mistake("products keep their results", "B: too much. A product saves the other factor and not its result; 3 "
                "and 1 are no tensors of this size.", edit("': 4000, 'C", "': 12000, 'C")),
        Mistake("all three", "D: three memories are too many. A product does not save its result, and only one of "
                "its factors needs a gradient.", edit("': 4000, 'E", "': 12000, 'E")),
        Mistake("the factor is missing", "F: the result of exp is one memory. x * c saves something, too, until "
                "backward has run.", edit("': 8000, 'G", "': 4000, 'G")),
        Mistake("after the pass", "B: that is what is saved when backward has run. The peak lies before it, and the "
                "last line saves c again.", edit("': 4000, 'C", "': 0, 'C")),
        Mistake("two readers, two memories", "C: h sits in three slots, as exp's result and as what sin and cos were "
                "given. One memory, paid once.", edit("': 4000, 'D", "': 8000, 'D")),
        Mistake("no_grad reaches further", "D: the block ends before the product. The slope of x in h * x is h, and "
                "it is saved although it has no history.", edit("': 4000, 'E", "': 0, 'E")),
        Mistake("the factor of a constant", "D: h was made under no_grad and needs no gradient. So no formula "
                "will read x, and it is not saved.", edit("': 4000, 'E", "': 8000, 'E")),
        Mistake("only the slice", "E: ten elements are read, but a slice is a view of c's memory, and memory can "
                "only be held whole.", edit("': 4000, 'F", "': 40, 'F")),
        Mistake("both slices", "E: c needs no gradient, so the slice of x will not be read. Only the slice of c is "
                "saved.", edit("': 4000, 'F", "': 8000, 'F")),
        Mistake("three steps at once", "F: each step's backward lets go of what the step saved. The next one begins "
                "at zero.", edit("': 8000, 'G", "': 24000, 'G")),
        Mistake("one step at a time", "G: no backward runs before the end. All three graphs hang on total, each with "
                "its own result of exp.", edit("16000", "8000")),
        Mistake("c three times", "G: three nodes save c, but it is one memory. The three results of exp are three.",
                edit("16000", "24000")),
        Mistake("c not at all", "G: three results of exp are 12000 bytes. What stands in the slope of x * c?",
                edit("16000", "12000")),
        Mistake("elements", "These are numbers of elements; bytes are asked for, and a float32 has four.",
                f"peaks = { {k: v // 4 for k, v in PEAKS.items()}!r}"),
    ),
    check=check,
)  # fmt: skip
