"""Exercise 06.1: who keeps what."""

from coursekit.judge.exercise import Exercise, Mistake, correct, edit, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import leaf, numbers, set_of_names

from .shared import saved_tensors_of

EXPRESSIONS = ("x + y", "x * y", "x * c", "x ** 2", "x.exp()", "x.relu()", "x.log()", "x.sum()")
KEEPS = {
    "x + y": [], "x * y": ["x", "y"], "x * c": ["c"], "x ** 2": ["x"], "x.exp()": ["r"], "x.relu()": ["r"],
    "x.log()": ["x"], "x.sum()": [],
}  # fmt: skip
ADDITION_KEEPS, GIVEN_KEEPS = "addition keeps its inputs", "a product keeps what it is given"
POWER_RESULT, LOG_RESULT = "power keeps its result", "log keeps its result"
RELU_NOTHING, PRODUCT_NOTHING = "relu keeps nothing", "a product keeps nothing"
HALF_A_PRODUCT, PRODUCT_RESULT = "half a product", "a product keeps its result"
EXP_INPUT, RELU_INPUT, SUM_INPUT = "exp keeps its input", "relu keeps its input", "sum keeps its input"
EXP_NOTHING, POWER_NOTHING, LOG_NOTHING = "exp keeps nothing", "power keeps nothing", "log keeps nothing"
SUM_RESULT = "sum keeps its result"
WRONG_KEEPS = {
    **{("x + y", names): ADDITION_KEEPS for names in ("x", "y", "xy", "r", "rx", "ry", "rxy")},
    ("x.exp()", ""): EXP_NOTHING,
    ("x ** 2", ""): POWER_NOTHING,
    ("x.log()", ""): LOG_NOTHING,
    ("x.sum()", "r"): SUM_RESULT,
    ("x.sum()", "rx"): SUM_INPUT,
    ("x * y", "x"): HALF_A_PRODUCT,
    ("x * y", "y"): HALF_A_PRODUCT,
    ("x * y", "r"): PRODUCT_RESULT,
    ("x * y", "rx"): PRODUCT_RESULT,
    ("x * y", "ry"): PRODUCT_RESULT,
    ("x * y", "rxy"): PRODUCT_RESULT,
    ("x * c", "rx"): GIVEN_KEEPS,
    ("x * c", "crx"): GIVEN_KEEPS,
    ("x * c", "r"): PRODUCT_RESULT,
    ("x * c", "cr"): PRODUCT_RESULT,
    ("x.exp()", "rx"): EXP_INPUT,
    ("x.relu()", "rx"): RELU_INPUT,
    ("x.log()", "rx"): LOG_RESULT,
    ("x * c", "cx"): GIVEN_KEEPS,
    ("x * c", "x"): GIVEN_KEEPS,
    ("x ** 2", "r"): POWER_RESULT,
    ("x ** 2", "rx"): POWER_RESULT,
    ("x.exp()", "x"): EXP_INPUT,
    ("x.relu()", "x"): RELU_INPUT,
    ("x.relu()", ""): RELU_NOTHING,
    ("x * y", ""): PRODUCT_NOTHING,
    ("x * c", ""): PRODUCT_NOTHING,
    ("x.log()", "r"): LOG_RESULT,
    ("x.sum()", "x"): SUM_INPUT,
}


def truth_06_1(torch):
    """{expression: names saved}, read off the nodes."""
    x, y, c = leaf(torch, numbers(3)), leaf(torch, numbers(3)), torch.tensor(numbers(3))
    truth = {}
    for expression in EXPRESSIONS:
        names = {"x": x, "y": y, "c": c}
        names["r"] = result = eval(expression, {}, names)
        kept = {tensor.data_ptr() for tensor in saved_tensors_of(result.grad_fn, torch)}
        truth[expression] = {name for name in "xycr" if names[name].data_ptr() in kept}
    return truth


def check(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put a list in place of each None.")
    waiting = [expression for expression in EXPRESSIONS if answer.get(expression) is None]
    if waiting:
        return not_yet(f"There is no answer yet for {', '.join(waiting)}.")
    truth, wrong = truth_06_1(torch), []
    for expression in EXPRESSIONS:
        given = set_of_names(answer[expression])
        if given is not None:  # "xy" and "nothing" mean what they say
            given = set("".join(given - {"nothing"}))
        if given is None or not given <= set("xycr"):
            return not_yet(f'For {expression}, give a list with some of "x", "y", "c", "r", or an empty one.')
        if given != truth[expression]:
            wrong.append((expression, "".join(sorted(given))))
    named = {one[0]: WRONG_KEEPS[one] for one in wrong if one in WRONG_KEEPS}
    rows = [expression for expression, _ in wrong]
    return judged_rows(rows, EXPRESSIONS, named, "agree with the nodes") or correct(
        "from a formula you can say what will stay in memory."
    )


EXERCISE = Exercise(
    id="06.1", kind="predict saved", title="Who saves what", minutes=5, difficulty=1, puzzles=(1,),
    question="For each expression, list what its node saves: any of x, y, c, r (the result), or nothing.",
    name="keeps", starter="keeps = {\n" + "".join(f'    "{e}": None,\n' for e in EXPRESSIONS) + "}",
    hints=(
        "Write the slope beside each expression. If it is a plain number, nothing has to be saved.",
        "If the slope can be made of the result alone, the result is saved. For which functions is that so? What does "
        "the slope of relu need to know, apart from which elements are positive?",
    ),
    solution=f"keeps = {KEEPS!r}",
    why="Slope 1: nothing. Slope made of the result (exp: the result itself; relu: where it is positive): the result. "
    "Otherwise the inputs that stand in the slope of an operand that needs one.",
    alternatives=(f"keeps = { {e: set(n) for e, n in KEEPS.items()}!r}",),
    mistakes=(
        Mistake(ADDITION_KEEPS, "x + y has slope 1 for both, whatever x and y are. Keeping a tensor would cost "
                "memory and tell backward nothing.", edit("[],", "['x', 'y'],")),
        Mistake(GIVEN_KEEPS, "For x * c you listed x. x is read by the formula for c's gradient; c is plain, so that "
                "formula never runs.", edit("['c", "['x', 'c")),
        Mistake(POWER_RESULT, "The slope of x ** 2 is 2 * x: it is made of the input. You could get at it from the "
                "result by a root, but that loses the sign.", edit("2': ['x'], '", "2': ['r'], '")),
        Mistake(EXP_INPUT, "From its input, exp's slope would have to be computed anew. exp is its own slope, so the "
                "result is exactly what backward needs.", edit("exp()': ['r'], 'x.", "exp()': ['x'], 'x.")),
        Mistake(RELU_INPUT, "relu's slope is 1 where the input is positive, and there the result is positive too. It "
                "saves the result, and the input may go.", edit("relu()': ['r'], 'x.", "relu()': ['x'], 'x.")),
        Mistake(RELU_NOTHING, "relu's slope is 0 or 1, but which of them, and where? Backward has to look that up in "
                "a tensor.", edit("relu()': ['r'], 'x.", "relu()': [], 'x.")),
        Mistake(PRODUCT_NOTHING, "The slope of a product is the other factor. Without a saved factor there is nothing "
                "to multiply by.", edit("'x', 'y'", "")),
        Mistake(HALF_A_PRODUCT, "In x * y both factors need a gradient, and each stands in the slope of the other: "
                "both are saved.", edit("'x', ", "")),
        Mistake(PRODUCT_RESULT, "The result of a product stands in neither slope. Each slope is the other factor.",
                edit("x', 'y", "r")),
        Mistake(LOG_RESULT, "The slope of log is 1 / x. The result would have to go through exp first to give x "
                "back, so the input is saved.", edit(")': ['x'], '", ")': ['r'], '")),
        Mistake(SUM_INPUT, "sum spreads the incoming slope over the old shape. The shape is saved, as numbers; the "
                "values of x are not.", edit("[]}", "['x']}")),
        Mistake(SUM_RESULT, "For x.sum() you listed the result. Each slope of a sum is 1, whatever the sum is.",
                edit("[]}", "['r']}")),
        Mistake(EXP_NOTHING, "For x.exp() you listed nothing. But its slope differs from element to element, so "
                "backward has to read it from a tensor.", edit("exp()': ['r'], 'x.", "exp()': [], 'x.")),
        Mistake(POWER_NOTHING, "For x ** 2 you listed nothing. The exponent 2 is saved as a number, but its slope "
                "2 * x needs more than the 2.", edit("2': ['x'], '", "2': [], '")),
        Mistake(LOG_NOTHING, "For x.log() you listed nothing. Its slope is 1 / x: which x, if it is not saved?",
                edit(")': ['x'], '", ")': [], '")),
    ),
    check=check,
)  # fmt: skip
