"""Exercise 01.p3: arrow 0, again and again."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names

from .shared import second_program


def truth(torch):
    """The names along arrow 0 of the program itself."""
    y, _ = second_program(torch)
    names, node = [], y.grad_fn
    while node.next_functions:
        names.append(type(node).__name__)
        node = node.next_functions[0][0]
    return names


def operations(names):
    """The operations of some nodes, whatever stands behind their names."""
    return [name.lower().removesuffix("0").removesuffix("backward") for name in names]


def without_digits(names):
    return [name.rstrip("0123456789") for name in names]


EXERCISE = Predict(
    id="01.p3", title="Arrow 0, again and again", minutes=2, difficulty=1,
    question="`h = x * w; h = h + 1; unused = h.exp(); y = h / 3`: which names do you meet from y.grad_fn along arrow "
    "0, before the accumulator?",
    hints=(
        "Give the tensors names of your own, h1 and h2, and write each line again with them.",
        "A name of a node is the operation's, with Backward0 behind it: DivBackward0 for a division.",
    ),
    solution='answer = ["DivBackward0", "AddBackward0", "MulBackward0"]',
    why="With h1 = x * w and h2 = h1 + 1, y is h2 / 3. exp has a node of its own, but no arrow from y leads there.",
    alternatives=('answer = ("DivBackward0", "AddBackward0", "MulBackward0")',),
    read=as_names, truth=truth, wanted='A list of strings is wanted, for example ["SubBackward0", "SinBackward0"].',
    shown="both tensors that were called h have left a node; the one nobody used is not on the way.",
    otherwise="Begin with the operation that made y, then the one that made its first operand, and so on.",
    mistakes=(
        Mistake("the old h", "You stop at the last h. The addition that made it has an operand, the earlier h, and "
                "the product that made *that* is still there.", ["DivBackward0", "AddBackward0"]),
        Mistake("the unused one", "exp used h, so an arrow leads from exp to h's node. None leads from y to exp: y "
                "was not computed from it.",
                ["DivBackward0", "ExpBackward0", "AddBackward0", "MulBackward0"],
                when=lambda names, _: any("Exp" in name for name in names)),
        Mistake("forwards", "The right nodes, met in the order of the program. You start at the result.",
                ["MulBackward0", "AddBackward0", "DivBackward0"]),
        Mistake("accumulator", "Right, with one name too many: the accumulator was to be left out.",
                ["DivBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"],
                when=lambda names, truth: names[:-1] == truth and "AccumulateGrad" in names[-1]),
        Mistake("forward names", "The right operations. Their nodes' names end in Backward0.",
                ["Div", "Add", "Mul"], when=lambda names, truth: operations(names) == operations(truth)),
        Mistake("no digit", "The right operations in the right order. A node's full name ends in a digit, here 0.",
                ["DivBackward", "AddBackward", "MulBackward"]),
        Mistake("the added 1", "`h + 1` is an operation, and was recorded: one of its operands requires grad. That "
                "the other is a plain 1 takes no node away.", ["DivBackward0", "MulBackward0"]),
        Mistake("counted", "The right operations in the right order. The digit at the end tells forms of one "
                "operation apart; it counts nothing.",
                ["DivBackward2", "AddBackward1", "MulBackward0"],
                when=lambda names, truth: without_digits(names) == without_digits(truth)),
    ),
    reveals=("DivBackward0",),
)  # fmt: skip
