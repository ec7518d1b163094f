"""Exercises of lesson 06: what nodes keep, and until when."""

import math

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import as_number, flat, leaf, near, nodes_behind, numbers, set_of_names
from course_lib.teach.instruments.ledger import ledger
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

# --- what is asked about tensors, by looking at them ----------------------------------------------


def saved_tensors_of(node, torch):
    """The tensors in a node's slots, in slot order; released slots are left out."""
    found = []
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:
                continue
            if isinstance(value, torch.Tensor):
                found.append(value)
    return found


def as_numbers(answer, count):
    """The answer as a list of `count` floats; None when it is something else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != count:
        return None
    numbers = [as_number(number) for number in answer]
    return None if None in numbers else numbers


# --- 06.p1 ----------------------------------------------------------------------------------------


def check_06_p1(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= {"x", "c", "p"}:
        return not_yet('Give a list with some of the names "x", "c" and "p"; it may be empty.')
    tensors = {"x": leaf(torch, numbers(3)), "c": torch.tensor(numbers(3))}
    tensors["p"] = tensors["x"] * tensors["c"]
    kept = {tensor.data_ptr() for tensor in saved_tensors_of(tensors["p"].grad_fn, torch)}
    truth = {name for name, tensor in tensors.items() if tensor.data_ptr() in kept}
    if given == truth:
        return correct("the node keeps what the slope of x is made of, and only that.")
    wrong = {frozenset("xc"): "both", frozenset("x"): "own", frozenset(): "nothing", frozenset("p"): "only the result",
             frozenset("xcp"): "everything"}  # fmt: skip
    return almost(wrong.get(frozenset(given), "result"))


P1 = Exercise(
    id="06.p1", kind="predict", title="What does x * c keep?", minutes=1, difficulty=1, puzzles=(1,),
    question='`p = x * c`, where only `x` requires grad. Which of "x", "c", "p" does `p.grad_fn` keep?',
    name="answer", starter="answer = None",
    hints=(
        "Write down the slope of x * c with respect to x. Which tensor stands in it?",
        "Will anybody ever ask for the slope with respect to c?",
    ),
    solution='answer = ["c"]',
    why="The slope with respect to x is c, so c is kept. The formula that reads x is the one for c, and it "
    "never runs.",
    alternatives=('answer = ("c",)', 'answer = {"c"}', 'answer = ["C"]', 'answer = "c"'),
    mistakes=(
        Mistake("both",
                "That would be right if c needed a gradient too. x is read only by the formula for c's "
                "gradient, and nobody will ask for that one.", 'answer = ["x", "c"]'),
        Mistake("own",
                "You kept the tensor that gets the gradient. But its gradient is made of the *other* factor: "
                "the slope of x * c with respect to x is c.", 'answer = ["x"]'),
        Mistake("nothing",
                "Then backward would have to multiply by 4, 5 and 6 without knowing them: when it runs, "
                "the variable c may be gone.", "answer = []"),
        Mistake("result",
                "The product itself stands in no slope of a product. Keeping the result pays only when "
                "the slope is made of it, as for exp.", 'answer = ["c", "p"]'),
        Mistake("only the result",
                "From p alone backward could not find the slope of x * c: it would have to divide p by x, and nobody "
                "promised that x is not 0.", 'answer = ["p"]'),
        Mistake("everything",
                "You kept all three. A node keeps only what the formulas that will run have to read, and here only one "
                "of them runs.", 'answer = ["x", "c", "p"]'),
    ),
    check=check_06_p1,
)  # fmt: skip


# --- 06.p2 ----------------------------------------------------------------------------------------

BATCH, FEATURES, HIDDEN = 100, 20, 30
SIZES = {
    "X": 4 * BATCH * FEATURES,
    "W1": 4 * FEATURES * HIDDEN,
    "h": 4 * BATCH * HIDDEN,
    "W2": 4 * HIDDEN,
    "out": 4 * BATCH,
}


def bytes_over_time(torch):
    """The bytes kept after forward, and when each of the four nodes has run."""
    X, W1 = torch.ones(BATCH, FEATURES), torch.ones(FEATURES, HIDDEN, requires_grad=True)
    W2 = torch.ones(HIDDEN, 1, requires_grad=True)
    with ledger() as held:
        product = X @ W1
        h = torch.relu(product)
        out = h @ W2
        loss = out.sum()
        kept = [held.now]
        for result in (out, h, product):  # its hook runs when the node that used it has run
            result.register_hook(lambda grad: kept.append(held.now))
        loss.backward()
    return [*kept, held.now]


def check_06_p2(answer, torch):
    truth = bytes_over_time(torch)
    given = as_numbers(answer, len(truth))
    if given is None:
        return not_yet("Give a list of five numbers: after forward, and when each of the four nodes has run.")
    if given == truth:
        return correct("you can read a network's memory off its formulas, and say when it is let go.")
    right = sum(one == other for one, other in zip(given, truth, strict=True))
    count = f"{right} of the five are right. "
    named = wrong_bytes(given, truth)
    if named:
        return almost(named, count if right < len(truth) - 1 else "")
    if given[0] != truth[0]:
        return not_yet(f"{count}Begin with the first number: a list of nodes, what their formulas read, elements times "
                       "four.")  # fmt: skip
    return not_yet(f"{count}Write beside each memory the nodes that keep it.")


def wrong_bytes(given, truth):
    """The name of the mistake behind five wrong numbers, or None."""
    first, rest = given[0], given[1:]
    touched = truth[0] + SIZES["W1"] + SIZES["out"]
    wrong = {
        touched: "everything",
        touched + SIZES["h"]: "everything",
        truth[0] + SIZES["h"]: "twice",
        truth[0] + SIZES["W1"]: "frozen input",
        truth[0] + SIZES["out"]: "output",
        truth[0] / 4: "elements",
        SIZES["h"]: "activation only",
        truth[0] - SIZES["W2"]: "weights are free",
        truth[0] - SIZES["X"]: "data is free",
    }
    if first in wrong:
        return wrong[first]
    if first != truth[0]:
        return None
    if rest[-1] != 0:
        return "something stays"
    if rest == [first, first, first, 0]:
        return "all at the end"
    if rest[0] != first:
        return "sum lets go"
    if rest[1] in (SIZES["X"], SIZES["X"] + SIZES["W2"]):
        return "gone with its first reader"
    if rest == [first, first - SIZES["W2"], first - SIZES["W2"], 0]:
        return "held too long"
    if rest == [first, first, SIZES["X"], 0]:
        return "the product holds on"
    if rest[1] == first - SIZES["X"]:
        return "first made, first freed"
    return None


P2 = Exercise(
    id="06.p2", kind="predict", title="Bytes behind a small network", minutes=4, difficulty=2,
    question="How many bytes do the nodes behind `loss = (torch.relu(X @ W1) @ W2).sum()` keep: after forward, and "
    "when sum, the second product, relu, and the first product have run?",
    name="answer", starter="answer = None",
    hints=(
        "There are four nodes: two products, relu and sum. Ask of each which tensors its formulas read.",
        "relu keeps its result. The second product keeps its first operand. Is that one memory or two?",
        "A memory that two nodes keep is let go when both of them have run.",
    ),
    solution="answer = [8000 + 12000 + 120, 20120, 8000 + 12000, 8000, 0]",
    why="X for W1's gradient, h once for relu and for W2's gradient, W2 for h's gradient: 8000 + 12000 + 120 bytes. "
    "sum keeps nothing. The second product lets W2 go, and its hold on h; relu holds h a little longer.",
    alternatives=("answer = (20120.0, 20120.0, 20000.0, 8000.0, 0.0)",),
    mistakes=(
        Mistake("twice",
                "After forward, 12000 too many. Either you counted h for relu and again for the product, which keep "
                "the same memory, or you counted X @ W1, which relu does not keep.",
                "answer = [32120, 32120, 20000, 8000, 0]"),
        Mistake("frozen input",
                "You let the first product keep W1. W1 is read only by the formula for X's gradient, "
                "and X is plain data: nobody asks for that gradient.", "answer = [22520, 22520, 22400, 10400, 0]"),
        Mistake("output",
                "You let sum keep its input. Each slope of a sum is 1; the node needs the shape, and a shape "
                "is no tensor.", "answer = [20520, 20120, 20000, 8000, 0]"),
        Mistake("elements", "You counted elements. A float32 takes four bytes.",
                "answer = [5030, 5030, 5000, 2000, 0]"),
        Mistake("activation only",
                "h is kept, but not alone: W1's gradient is made of X, and h's gradient of W2.",
                "answer = [12000, 12000, 12000, 0, 0]"),
        Mistake("weights are free",
                "W2 is a leaf that lives anyway, so keeping it costs nothing new; but the node "
                "does hold it, and if you drop your own name for it, it stays.",
                "answer = [20000, 20000, 20000, 8000, 0]"),
        Mistake("data is free",
                "You left out X. It needs no gradient, but W1's gradient is made of it, so the first product "
                "keeps it.", "answer = [12120, 12120, 12000, 0, 0]"),
        Mistake("something stays",
                "The first number is right. The last is 0: when the first product has run too, no node has "
                "anything left to read.", "answer = [20120, 20120, 20000, 8000, 8000]"),
        Mistake("all at the end",
                "You let everything go at the end of the pass. Each node lets go when it has run itself, and the "
                "memory that only it kept is free from then on.", "answer = [20120, 20120, 20120, 20120, 0]"),
        Mistake("sum lets go",
                "After forward you are right. sum runs first, but it kept no tensor, so nothing can go with it.",
                "answer = [20120, 8120, 8000, 8000, 0]"),
        Mistake("gone with its first reader",
                "You let h go with the second product. relu keeps the same memory, and has not run yet.",
                "answer = [20120, 20120, 8000, 8000, 0]"),
        Mistake("held too long",
                "You keep h until the end. Two nodes hold it, relu and the second product; both have run before the "
                "first product does.", "answer = [20120, 20120, 20000, 20000, 0]"),
        Mistake("everything",
                "You counted every tensor of the forward pass. Ask at each node what its formulas will read: sum reads "
                "no numbers, and no formula runs for X.", "answer = [34920, 34920, 20000, 8000, 0]"),
        Mistake("the product holds on",
                "You let nothing go when the second product has run. One of the tensors that it kept is kept by nobody "
                "else.", "answer = [20120, 20120, 20120, 8000, 0]"),
        Mistake("first made, first freed",
                "You let X go first, in the order of the forward pass. Backward runs the other way: what was kept "
                "last goes first.", "answer = [20120, 20120, 12120, 120, 0]"),
    ),
    check=check_06_p2,
)  # fmt: skip


# --- 06.p3 ----------------------------------------------------------------------------------------


def check_06_p3(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= set("abev"):
        return not_yet('Give a list with some of the letters "a", "b", "e" and "v"; it may be empty.')
    x = leaf(torch, numbers(3))
    results = {"a": (x + 1).sum(), "b": (x * x).sum(), "e": x.exp().sum(), "v": x.view(3, 1).sum()}
    truth = set()
    for letter, y in results.items():
        y.backward()
        try:
            y.backward()
        except RuntimeError:
            truth.add(letter)
    if given == truth:
        return correct("a second pass fails where a tensor was kept, and only there.")
    wrong = {
        frozenset("abev"): "all",
        frozenset(): "none",
        frozenset("b"): "inputs only",
        frozenset("e"): "results only",
        frozenset("abe"): "arithmetic",
        frozenset("bev"): "a view keeps its base",
        frozenset("av"): "the ones without a tensor",
    }
    one_too_many = "arithmetic" if "a" in given else "a view keeps its base"
    return almost(wrong.get(frozenset(given), one_too_many))


P3 = Exercise(
    id="06.p3", kind="predict", title="Backward twice", minutes=2, difficulty=1, puzzles=(5,),
    question="Backward is called twice on each of four results. Which second calls raise?",
    name="answer", starter="answer = None",
    hints=(
        "Backward releases saved tensors. Which of the four nodes has one?",
        "A view only has to know the old shape, and that is not a tensor.",
    ),
    solution='answer = ["b", "e"]',
    why="The product kept x (twice) and exp kept its result; both were released by the first pass. "
    "Addition, view and sum kept no tensor, so a second pass finds all it needs.",
    alternatives=('answer = {"e", "b"}', 'answer = "be"', 'answer = ["B", "E"]', 'answer = "b, e"'),
    mistakes=(
        Mistake("all",
                "That would mean backward takes the graph apart. It takes only the saved tensors away, and "
                "two of these four have none.", 'answer = ["a", "b", "e", "v"]'),
        Mistake("none",
                "That would mean nothing is given up after the first pass. But memory has to come from "
                "somewhere: saved tensors are released as soon as they were used.", "answer = []"),
        Mistake("inputs only",
                "You counted saved inputs. exp keeps a tensor as well, its own result, and that slot "
                "is emptied like any other.", 'answer = ["b"]'),
        Mistake("results only",
                "You may have thought that x is safe because the variable x still holds it. The "
                "tensor is safe; the node's slot is empty all the same.", 'answer = ["e"]'),
        Mistake("arithmetic",
                "Addition is arithmetic, but its slope is 1 whatever the numbers are. It keeps no "
                "tensor, so there is nothing to miss.", 'answer = ["a", "b", "e"]'),
        Mistake("a view keeps its base",
                "v looks at x's memory, but that is the tensor. Its node only puts the slope back into the "
                "old shape, and a shape is not a tensor.", 'answer = ["b", "e", "v"]'),
        Mistake("the ones without a tensor",
                "The nodes of these two kept no tensor, so the first pass had nothing to take from them. Ask the same "
                "of the other two.", 'answer = ["a", "v"]'),
    ),
    check=check_06_p3,
)  # fmt: skip


# --- 06.1 -----------------------------------------------------------------------------------------

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
    """{expression: names kept}, read off the nodes."""
    x, y, c = leaf(torch, numbers(3)), leaf(torch, numbers(3)), torch.tensor(numbers(3))
    truth = {}
    for expression in EXPRESSIONS:
        names = {"x": x, "y": y, "c": c}
        names["r"] = result = eval(expression, {}, names)
        kept = {tensor.data_ptr() for tensor in saved_tensors_of(result.grad_fn, torch)}
        truth[expression] = {name for name in "xycr" if names[name].data_ptr() in kept}
    return truth


def check_06_1(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put a list in the place of each None.")
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


def keeps_but(expression, names):
    """The source of an answer that is right but for one expression."""
    return f"keeps = {KEEPS | {expression: names}!r}"


EX1 = Exercise(
    id="06.1", kind="predict saved", title="Who keeps what", minutes=5, difficulty=1, puzzles=(1,),
    question="For each expression, list what its node keeps: any of x, y, c, r (the result), or nothing.",
    name="keeps",
    starter="keeps = {\n" + "".join(f'    "{e}": None,\n' for e in EXPRESSIONS) + "}",
    hints=(
        "Write the slope beside each expression. If it is a plain number, nothing has to be kept.",
        "If the slope can be made of the result alone, the result is kept. For which functions is that so? "
        "What does the slope of relu need to know, apart from which elements are positive?",
    ),
    solution=f"keeps = {KEEPS!r}",
    why="Slope 1: nothing. Slope made of the result (exp: the result itself; relu: where it is positive): "
    "the result. Otherwise the inputs that stand in the slope of an operand that needs one.",
    alternatives=(f"keeps = { {e: set(n) for e, n in KEEPS.items()}!r}",),
    mistakes=(
        Mistake(ADDITION_KEEPS, "x + y has slope 1 for both, whatever x and y are. Keeping a tensor would "
                "cost memory and tell backward nothing.", keeps_but("x + y", ["x", "y"])),
        Mistake(GIVEN_KEEPS, "For x * c you kept x. x is read by the formula for c's gradient; c is plain, "
                "so that formula never runs.", keeps_but("x * c", ["x", "c"])),
        Mistake(POWER_RESULT, "The slope of x ** 2 is 2 * x: it is made of the input. You could get at it "
                "from the result by a root, but that loses the sign.", keeps_but("x ** 2", ["r"])),
        Mistake(EXP_INPUT, "From its input, exp's slope would have to be computed anew. exp is its own "
                "slope, so the result is exactly what backward needs.", keeps_but("x.exp()", ["x"])),
        Mistake(RELU_INPUT, "relu's slope is 1 where the input is positive, and there the result is "
                "positive too. It keeps the result, and the input may go.", keeps_but("x.relu()", ["x"])),
        Mistake(RELU_NOTHING, "relu's slope is 0 or 1, but which of them, and where? Backward has to look "
                "that up in a tensor.", keeps_but("x.relu()", [])),
        Mistake(PRODUCT_NOTHING, "The slope of a product is the other factor. Without a kept factor there is "
                "nothing to multiply by.", keeps_but("x * y", [])),
        Mistake(HALF_A_PRODUCT, "In x * y both factors need a gradient, and each stands in the slope of the other: "
                "both are kept.", keeps_but("x * y", ["y"])),
        Mistake(PRODUCT_RESULT, "The result of a product stands in neither slope. Each slope is the other factor.",
                keeps_but("x * y", ["r"])),
        Mistake(LOG_RESULT, "The slope of log is 1 / x. The result would have to go through exp first to "
                "give x back, so the input is kept.", keeps_but("x.log()", ["r"])),
        Mistake(SUM_INPUT, "sum spreads the incoming slope over the old shape. The shape is kept, as "
                "numbers; the values of x are not.", keeps_but("x.sum()", ["x"])),
        Mistake(SUM_RESULT, "For x.sum() you kept the result. Each slope of a sum is 1, whatever the sum is.",
                keeps_but("x.sum()", ["r"])),
        Mistake(EXP_NOTHING, "For x.exp() you kept nothing. But its slope differs from element to element, so backward "
                "has to read it from a tensor.", keeps_but("x.exp()", [])),
        Mistake(POWER_NOTHING, "For x ** 2 you kept nothing. The exponent 2 is kept as a number, but its slope 2 * x "
                "needs more than the 2.", keeps_but("x ** 2", [])),
        Mistake(LOG_NOTHING, "For x.log() you kept nothing. Its slope is 1 / x: which x, if it is not kept?",
                keeps_but("x.log()", [])),
    ),
    check=check_06_1,
)  # fmt: skip


# --- 06.2 -----------------------------------------------------------------------------------------

PROGRAMS = {
    "A": "y = (x + 1).sum(); y.backward(); x.grad = None; y.backward()",
    "B": "y = (x * x).sum(); y.backward(); x.grad = None; y.backward()",
    "C": "y = (x * x).sum(); y.backward(retain_graph=True); y.backward()",
    "D": "p = x * x; y = p.sum(); y.backward(); print(p.grad_fn._saved_self)",
    "E": "h = x.exp(); z = h.sum(); y = (h * 3).sum(); z.backward(); x.grad = None; y.backward()",
    "F": "h = x + 1; z = h.sum(); y = (h * h).sum(); z.backward(); x.grad = None; y.backward()",
}
SLOPES = {  # what the author of each program wants in x.grad
    "A": lambda v: 1.0,
    "B": lambda v: 2 * v,
    "C": lambda v: 2 * v,
    "D": lambda v: 2 * v,
    "E": lambda v: 3 * math.exp(v),
    "F": lambda v: 2 * (v + 1),
}
HAPPENS = {
    "A": "fine",
    "B": "raises at backward",
    "C": "silently wrong",
    "D": "raises now",
    "E": "raises at backward",
    "F": "fine",
}
WRONG_HAPPENS = {
    ("A", "raises at backward"): "every second pass fails",
    ("B", "fine"): "nothing is released",
    ("B", "raises now"): "a backward is a backward",
    ("E", "raises now"): "a backward is a backward",
    ("C", "fine"): "the second pass replaces",
    ("C", "raises at backward"): "retain does nothing",
    ("D", "fine"): "reading is free",
    ("D", "silently wrong"): "reading is free",
    ("D", "raises at backward"): "D is not a backward",
    ("E", "fine"): "two results, two graphs",
    ("F", "raises at backward"): "sharing is enough",
    ("A", "silently wrong"): "the first pass still counts",
    ("F", "silently wrong"): "the first pass still counts",
    ("B", "silently wrong"): "it goes on without",
    ("E", "silently wrong"): "it goes on without",
}


def what_happens(program, slope, torch):
    """Run a program one statement at a time and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    space = {"torch": torch, "x": leaf(torch, values)}
    slopes = [slope(v) for v in values]
    return happens(program.split("; "), space, lambda space: near(flat(space["x"].grad), slopes))


def check_06_2(answer, torch):
    def measure(letter):
        return what_happens(PROGRAMS[letter], SLOPES[letter], torch)

    return check_table(
        answer,
        PROGRAMS,
        measure,
        WRONG_HAPPENS,
        shown="you can tell, before running it, whether a second pass has what it needs.",
    )


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX2 = Exercise(
    id="06.2", kind="which happens", title="Which happens?", minutes=8, difficulty=2, puzzles=(1, 5, 6),
    question="Six programs: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    name="happens",
    starter='happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}',
    hints=(
        "For each program mark the nodes that keep a tensor. Then follow the first pass: which of them did "
        "it run?",
        "A pass without an error is not yet a right gradient: what did the pass before it leave in x.grad?",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="A and F share only nodes that kept nothing with the first pass. B and E need a released tensor. C "
    "adds the same gradient twice. D reads a released slot without any backward.",
    alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",),
    mistakes=(
        Mistake("every second pass fails",
                "A: you expect every second pass to fail. A pass fails when it misses a "
                "saved tensor, and neither addition nor sum had one.",
                happens_but("A", "raises at backward")),
        Mistake("nothing is released",
                "B: the product kept x, and the first pass released it. Setting x.grad to None "
                "empties the gradient; it does not fill the slot again.", happens_but("B", "fine")),
        Mistake("a backward is a backward",
                "It does raise, and in a call of backward. “Raises now” stands for any other line.",
                happens_but("B", "raises now")),
        Mistake("the second pass replaces",
                "C: both passes run, and the second one adds. x.grad ends up at twice the "
                "gradient, and nothing says so.", happens_but("C", "fine")),
        Mistake("retain does nothing",
                "C: the first pass was told to retain, so nothing is missing in the second. "
                "Look at what that second pass does to x.grad.", happens_but("C", "raises at backward")),
        Mistake("reading is free",
                "D: the slot was released, so there is nothing to read. Node and slot are still "
                "there; the tensor is not.", happens_but("D", "fine")),
        Mistake("D is not a backward",
                "D: the only backward in it is the first one, and that one finds everything. "
                "The error comes from another line.", happens_but("D", "raises at backward")),
        Mistake("two results, two graphs",
                "E: y and z have nodes of their own, but both stand on exp's node. z's pass "
                "has run that node and released its result.", happens_but("E", "fine")),
        Mistake("sharing is enough",
                "F: the shared node is an addition, which kept nothing. The product that keeps h "
                "was not run by z's pass.", happens_but("F", "raises at backward")),
        Mistake("the first pass still counts",
                "A and F: x.grad was set to None between the passes, so the second pass adds to nothing, and its own "
                "gradient is all that x.grad holds.", happens_but("F", "silently wrong")),
        Mistake("it goes on without",
                "B and E: a node that finds its slot empty does not go on with another number. It raises.",
                happens_but("E", "silently wrong")),
    ),
    check=check_06_2,
)  # fmt: skip


# --- 06.3 -----------------------------------------------------------------------------------------


class Box:
    """What a saved tensor is packed into, to count how often a pass reads it."""

    def __init__(self, tensor):
        self.tensor, self.reads = tensor, 0


def run_counted(answer, torch, w, batches):
    """Call the answer. How often the most-read saved tensor was read (-1: none was saved), and what reached w."""
    boxes, arrived = [], []

    def pack(tensor):
        boxes.append(Box(tensor.detach()))  # a result itself would hold its node, which holds the box: a ring
        return boxes[-1]

    def unpack(box):
        box.reads += 1
        return box.tensor

    handle = w.register_hook(lambda grad: arrived.append(flat(grad)))
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        answer(torch, w, batches)
    handle.remove()
    return max((box.reads for box in boxes), default=-1), arrived


def added(lists):
    """The sum of lists of numbers, element by element."""
    return [sum(column) for column in zip(*lists, strict=True)]


def check_06_3(answer, torch):
    most = -1
    for shape, count in (((3,), 4), ((2, 3), 1), ((), 2), ((2, 1), 5)):  # counts that are no number of elements
        size = math.prod(shape)
        values, plain = numbers(size, -1.0, 1.0), [numbers(size, -2.0, 2.0) for _ in range(count)]
        w = torch.tensor(values).reshape(shape).requires_grad_()
        batches = [torch.tensor(batch).reshape(shape) for batch in plain]
        wanted = [[math.exp(v) * b for v, b in zip(values, batch, strict=True)] for batch in plain]
        try:
            reads, arrived = run_counted(answer, torch, w, list(batches))
        except RuntimeError as error:
            if "a second time" in str(error):
                return almost("still shared" if one_batch_runs(answer, torch) else "twice through one batch")
            if "does not require grad" in str(error):
                return almost("cut")
            raise
        if w.grad is None:
            return almost("not stored" if arrived else "another leaf")
        if not near(flat(w), values):
            return not_yet("w has other values afterwards. Only its gradient is asked for.")
        found = flat(w.grad)
        if not near(found, added(wanted)):
            return wrong_sum(found, wanted, arrived, shape)
        if not arrived or not near(added(arrived), found):
            return almost("no pass")
        if w.grad.requires_grad:
            return almost("a gradient with a history")
        most = max(most, reads)
    if most > 1:
        return almost("retain")
    return correct("every saved tensor was read by one pass, so each pass could let go of what it used.")


def one_batch_runs(answer, torch):
    """Does the answer run through when there is only one batch?"""
    try:
        answer(torch, leaf(torch, numbers(2)), [torch.tensor(numbers(2))])
    except RuntimeError:
        return False
    return True


def wrong_sum(found, wanted, arrived, shape):
    """Why w.grad is not the sum: from what each pass brought to w."""
    count, size = len(wanted), math.prod(shape)
    if len(arrived) == 1 and count > 1:
        for name, batch in (("last only", wanted[-1]), ("first only", wanted[0])):
            if near(arrived[0], batch):
                return almost(name)
    if len(arrived) > 1 and near(added(arrived), added(wanted)):
        return almost("thrown away")
    for name, factor in (("averaged", count), ("mean for sum", size)):
        if near([number * factor for number in found], added(wanted)):
            return almost(name)
    return not_yet(f"w.grad is not the sum of the batches' gradients, for {count} batches of shape {list(shape)}.")


STARTER_3 = """\
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad"""

EX3 = Exercise(
    id="06.3", kind="repair", title="A part outside the loop", minutes=8, difficulty=2, puzzles=(6, 8),
    question="Repair the loop so that w.grad holds the sum over all batches and no saved tensor is read by "
    "two passes.",
    name="collect", starter=STARTER_3,
    hints=(
        "Which node is run by every pass, and which tensor does it lose in the first?",
        "Either every step gets an exp node of its own, or exp's node is run once, after all steps are "
        "known.",
    ),
    solution="""\
def collect(torch, w, batches):
    for batch in batches:
        scale = w.exp()
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad
""",
    why="Each step builds its own exp node and releases it. The price is one exp per step; the gain is that "
    "nothing is retained. Adding up the losses and calling backward once is as good, but keeps all batches "
    "until then.",
    alternatives=(
        """\
def collect(torch, w, batches):
    scale = w.exp()
    total = 0
    for batch in batches:
        total = total + (scale * batch).sum()
    total.backward()
    return w.grad
""",
        """\
def collect(torch, w, batches):
    scale = w.exp()
    edge = scale.detach().requires_grad_()
    for batch in batches:
        (edge * batch).sum().backward()
    scale.backward(edge.grad)
    return w.grad
""",
        """\
def collect(torch, w, batches):
    for batch in batches:
        w.exp().backward(batch)
    return w.grad
""",
        "def collect(torch, w, batches):\n"
        "    w.grad = sum(torch.autograd.grad((w.exp() * batch).sum(), w)[0] for batch in batches)\n"
        "    return w.grad\n",
        "def collect(torch, w, batches):\n    (w.exp() * torch.stack(batches)).sum().backward()\n    return w.grad\n",
        STARTER_3.replace("        loss.backward()", "        loss.backward()\n        scale = w.exp()"),
    ),
    mistakes=(
        Mistake("retain",
                "The numbers are right, but one saved tensor was read by several passes, so it had to be kept until "
                "the last of them. With retain_graph=True nothing is let go.",
                STARTER_3.replace("()\n    return", "(retain_graph=True)\n    return")),
        Mistake("still shared",
                "It still raises in the second step: all steps stand on one exp node, and that one has been "
                "run and emptied. A copy of its result, or a new product of it, is not a new exp.",
                STARTER_3.replace("scale * batch", "scale.clone() * batch")),
        Mistake("twice through one batch",
                "It raises with a single batch already: two passes run over one and the same loss.",
                "def collect(torch, w, batches):\n    for batch in batches:\n        loss = (w.exp() * batch).sum()\n"
                "        loss.backward()\n        loss.backward()\n    return w.grad\n"),
        Mistake("cut",
                "Nothing is missing any more, because nothing leads to w any more: the loss has no way back. "
                "The error about a second pass is gone, and so is the gradient.",
                STARTER_3.replace("w.exp()", "w.exp().detach()")),
        Mistake("no pass",
                "The numbers are right, but no backward pass has brought them to w: you differentiated the formula "
                "yourself. Let backward passes find the gradient.",
                "def collect(torch, w, batches):\n    w.grad = (w.exp() * sum(batches)).detach()\n    return w.grad\n"),
        Mistake("guard: changed a container", "",
                "def collect(torch, w, batches):\n    while batches:\n"
                "        (w.exp() * batches.pop()).sum().backward()\n    return w.grad\n"),
        Mistake("guard: wrote into an argument", "The next epoch would read other data.",
                "def collect(torch, w, batches):\n    total = batches[0]\n    for batch in batches[1:]:\n"
                "        total += batch\n    (w.exp() * total).sum().backward()\n    return w.grad\n"),
        Mistake("not stored",
                "Passes have reached w, but w.grad is None. autograd.grad returns gradients and stores them nowhere.",
                "def collect(torch, w, batches):\n"
                "    return sum(torch.autograd.grad((w.exp() * batch).sum(), w)[0] for batch in batches)\n"),
        Mistake("another leaf",
                "w.grad is still None: no backward pass has reached w. If one ran, it ended in another tensor.",
                STARTER_3.replace("    scale", "    w = w.detach().requires_grad_()\n    scale")
                .replace("    scale = w.exp()\n", "").replace("scale *", "w.exp() *")),
        Mistake("last only",
                "Only one pass has reached w, and it came from the last batch. If backward is called after the "
                "loop, `loss` is the last loss by then, and nothing else.",
                STARTER_3.replace("        loss.backward()", "    loss.backward()")),
        Mistake("thrown away",
                "Every batch's gradient has reached w, but w.grad does not hold all of them. Passes add into .grad by "
                "themselves; something in your code clears or replaces it in between.", """\
def collect(torch, w, batches):
    for batch in batches:
        w.grad = None
        (w.exp() * batch).sum().backward()
    return w.grad
"""),
        Mistake("a gradient with a history",
                "The numbers are right, but w.grad has a history of its own: with create_graph=True the passes were "
                "recorded, and w.grad holds their graph.",
                "def collect(torch, w, batches):\n    losses = [(w.exp() * batch).sum() for batch in batches]\n"
                "    w.grad = torch.autograd.grad(sum(losses), w, create_graph=True)[0]\n    return w.grad\n"),
        Mistake("averaged",
                "w.grad is the sum divided by the number of batches. The sum was asked for.",
                "def collect(torch, w, batches):\n    for batch in batches:\n"
                "        ((w.exp() * batch).sum() / len(batches)).backward()\n    return w.grad\n"),
        Mistake("mean for sum",
                "w.grad is the sum divided by the number of elements of w: the loss of a batch is a sum over its "
                "elements, not a mean.",
                "def collect(torch, w, batches):\n    for batch in batches:\n"
                "        (w.exp() * batch).mean().backward()\n    return w.grad\n"),
        Mistake("first only",
                "Only one pass has reached w, and it came from the first batch. Nothing of the other batches arrived.",
                """\
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        loss = (scale * batch).sum()
        try:
            loss.backward()
        except RuntimeError:
            break
    return w.grad
"""),
        Mistake("guard: swallows errors",
                "Here each step still asks for what an earlier pass has let go, fails, and does its work again. Give "
                "a step what it needs before its pass.", """\
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        try:
            (scale * batch).sum().backward()
        except RuntimeError:
            scale = w.exp()
            (scale * batch).sum().backward()
    return w.grad
"""),
    ),
    may_change=("w.grad",),
    check=check_06_3,
)  # fmt: skip


# --- 06.4 -----------------------------------------------------------------------------------------

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
    """The most bytes that nodes kept at one time while a program ran."""
    space = {"torch": torch, "x": torch.ones(1000, requires_grad=True), "c": torch.ones(1000)}
    with ledger() as held:
        exec(program, space)
    return held.peak


def check_06_4(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put a number in the place of each None.")
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
        "you can say what a program will keep before it runs, and what makes its peak."
    )


def peaks_but(letter, number):
    """The source of an answer that is right but for one program."""
    return f"peaks = {PEAKS | {letter: number}!r}"


EX4 = Exercise(
    id="06.4", kind="predict state", title="The bill", minutes=8, difficulty=2,
    question="x and c take 4000 bytes each. What is the peak, the most bytes that nodes keep at one time?\n\n"
    + "\n".join(f"- {letter}: `{' · '.join(program.splitlines())}`" for letter, program in BILLS.items()),
    name="peaks",
    starter='peaks = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None}',
    hints=(
        "Under each program write its nodes, beside each node the tensors in its slots, and strike out what you "
        "have twice.",
        "When a program calls backward, ask what is still kept when the next line runs.",
    ),
    solution=f"peaks = {PEAKS!r}",
    why="A: x + c for sin, and the result of exp. B: c, twice after each other. C: h, in three slots. D: h for the "
    "slope of x; under no_grad exp left no node. E: a slice keeps all of its base. F: each pass lets go before the "
    "next step. G: nothing is let go until the end, so three results of exp, and c once.",
    alternatives=(f"peaks = dict({', '.join(f'{k}={float(v)!r}' for k, v in reversed(PEAKS.items()))})",),
    mistakes=(
        Mistake("only what was computed last",
                "A: exp keeps its result, and sin keeps what it was given, x + c. That is another memory.",
                peaks_but("A", 4000)),
        Mistake("a sum keeps its operands",
                "A: too much. An addition keeps neither operand, sin does not keep its result, and exp does not keep "
                "what it was given.",
                peaks_but("A", 12000)),
        Mistake("the second graph on top",
                "B: when the last line runs, backward has emptied the first graph. And c is one memory in any case.",
                peaks_but("B", 8000)),
        Mistake("products keep their results",
                "B: too much. A product keeps the other factor and not its result; 3 and 1 are no tensors of this "
                "size.",
                peaks_but("B", 12000)),
        Mistake("all three",
                "D: three memories are too many. A product does not keep its result, and only one of its factors needs "
                "a gradient.", peaks_but("D", 12000)),
        Mistake("the factor is missing",
                "F: the result of exp is one memory. x * c keeps something, too, until backward has run.",
                peaks_but("F", 4000)),
        Mistake("after the pass",
                "B: that is what is kept when backward has run. The peak lies before it, and the last line keeps c "
                "again.", peaks_but("B", 0)),
        Mistake("two readers, two memories",
                "C: h sits in three slots, as exp's result and as what sin and cos were given. One memory, paid once.",
                peaks_but("C", 8000)),
        Mistake("no_grad reaches further",
                "D: the block ends before the product. The slope of x in h * x is h, and it is kept although it has "
                "no history.", peaks_but("D", 0)),
        Mistake("the factor of a constant",
                "D: h was made under no_grad and needs no gradient. So nobody will read x, and it is not kept.",
                peaks_but("D", 8000)),
        Mistake("only the slice",
                "E: ten elements are read, but a slice is a view of c's memory, and memory can only be held whole.",
                peaks_but("E", 40)),
        Mistake("both slices",
                "E: c needs no gradient, so the slice of x will not be read. Only the slice of c is kept.",
                peaks_but("E", 8000)),
        Mistake("three steps at once",
                "F: each step's backward lets go of what the step kept. The next one begins at zero.",
                peaks_but("F", 24000)),
        Mistake("one step at a time",
                "G: no backward runs before the end. All three graphs hang on total, each with its own result of exp.",
                peaks_but("G", 8000)),
        Mistake("c three times",
                "G: three nodes keep c, but it is one memory. The three results of exp are three.",
                peaks_but("G", 24000)),
        Mistake("c not at all",
                "G: three results of exp are 12000 bytes. What stands in the slope of x * c?", peaks_but("G", 12000)),
        Mistake("elements", "These are numbers of elements; bytes are asked for, and a float32 has four.",
                f"peaks = { {k: v // 4 for k, v in PEAKS.items()}!r}"),
    ),
    check=check_06_4,
)  # fmt: skip


# --- 06.5 -----------------------------------------------------------------------------------------


def check_06_5(answer, torch):
    for shape in ((5,), (2, 3), (), (2, 1, 2)):
        size = math.prod(shape)
        values = numbers(size, -2.0, 2.0)
        given = [numbers(size, -2.0, 2.0), numbers(size, -2.0, 2.0), numbers(size)]
        x = torch.tensor(values).reshape(shape).requires_grad_()
        loss = answer(torch, x, *(torch.tensor(one).reshape(shape) for one in given))
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return not_yet("The function should return a tensor with one element, the loss.")
        if not near(flat(x), values):
            return not_yet("x has other values afterwards; it belongs to the caller.")
        factors = [m * w / s for m, w, s in zip(*given, strict=True)]
        if not near(flat(loss), [sum(math.sin(v * f) for v, f in zip(values, factors, strict=True))]):
            return not_yet(f"The loss has another value than that of the starter, for tensors of shape {list(shape)}.")
        if loss.grad_fn is None:
            return almost("cut")
        slots = [tensor for node in nodes_behind(loss) for tensor in saved_tensors_of(node, torch)]
        storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in slots}
        memories = int(sum(storages.values()) / (4 * size) + 0.4)  # of the size of x; a number or two are no memory
        written = any(tensor._version for tensor in slots)
        loss.backward()
        slopes = [f * math.cos(v * f) for v, f in zip(values, factors, strict=True)]
        if x.grad is None or not near(flat(x.grad), slopes):
            return almost("another gradient")
        if memories > 3 and size > 1:
            if all(tensor.numel() == 1 for tensor in slots):
                return almost("one by one")
            return almost("in place" if written else "names")
        if memories > 2 and size > 1:
            return almost("half way")
    return correct("plain factors are multiplied first, without a node, and only their product is kept.")


STARTER_5 = """\
def loss_of(torch, x, mask, weight, scale):
    h = x * mask
    h = h * weight
    h = h / scale
    return h.sin().sum()"""


def loss_source(*lines):
    """The source of a loss_of with this body."""
    body = "".join(f"    {line}\n" for line in lines)
    return "def loss_of(torch, x, mask, weight, scale):\n" + body


EX5 = Exercise(
    id="06.5", kind="reorder", title="Same gradient, fewer bytes", minutes=6, difficulty=2, puzzles=(),
    question="The nodes behind the result keep four memories. Rewrite `loss_of` so that they keep two, with the same "
    "value and the same gradient.",
    name="loss_of", starter=STARTER_5,
    hints=(
        "Which four? Three of them are plain: each stands in the slope of one product or quotient.",
        "An operation whose operands are all plain leaves no node, so it keeps nothing. Which parentheses make "
        "most operations plain?",
    ),
    solution=loss_source("h = x * (mask * weight / scale)", "return h.sin().sum()"),
    why="mask * weight / scale is plain arithmetic and leaves no node. One product remains; it keeps one factor, "
    "and sin keeps h.",
    alternatives=(
        loss_source("factor = mask.clone()", "factor.mul_(weight).div_(scale)", "return (factor * x).sin().sum()"),
        loss_source("h = x * (mask * weight / scale)", "return h.sin().mean() * h.numel()"),
        loss_source("with torch.no_grad():", "    factor = mask / scale", "    factor *= weight",
                    "return torch.sin(x * factor).sum()"),
    ),
    mistakes=(
        Mistake("names",
                "Value and gradient are right, and the same tensors are kept as before. Names are not what keeps "
                "them: with each step on x a node keeps its factor.",
                loss_source("return (((x * mask) * weight) / scale).sin().sum()")),
        Mistake("one by one",
                "Element by element, every factor is kept all the same: a slot with one element of `mask` holds all of "
                "its memory.",
                loss_source("parts = zip(x, mask, weight, scale)",
                            "return torch.stack([(a * m * w / s).sin() for a, m, w, s in parts]).sum()")),
        Mistake("in place",
                "In-place operations are recorded too, and keep their factors like the others. You saved "
                "intermediates that no node had kept anyway.",
                loss_source("h = x * mask", "h.mul_(weight).div_(scale)", "return h.sin().sum()")),
        Mistake("half way",
                "Three memories are left, and two will do. Which step on x still keeps a tensor of its own?",
                loss_source("h = x * (mask * weight)", "h = h / scale", "return h.sin().sum()")),
        Mistake("cut",
                "Nothing is kept any more, because nothing leads to x any more: the loss has no way back.",
                loss_source("with torch.no_grad():", "    h = x * mask * weight / scale", "return h.sin().sum()")),
        Mistake("another gradient",
                "The value is right and the gradient is not: a part of the computation is hidden from backward.",
                loss_source("h = x + ((x * mask * weight / scale) - x).detach()", "return h.sin().sum()")),
        Mistake("guard: changed a .grad", "Backward is the caller's to call.",
                loss_source("loss = (x * (mask * weight / scale)).sin().sum()", "loss.backward()", "return loss")),
        Mistake("guard: changed a flag", "",
                loss_source("x.requires_grad_(False)", "return (x * (mask * weight / scale)).sin().sum()")),
        Mistake("guard: wrote into an argument, by out=", "",
                loss_source("torch.mul(mask, weight, out=mask)", "return (x * (mask / scale)).sin().sum()")),
        Mistake("guard: wrote into an argument",
                "The next call will get other factors.",
                loss_source("mask.mul_(weight).div_(scale)", "return (x * mask).sin().sum()")),
    ),
    check=check_06_5,
)  # fmt: skip


EXERCISES = [P1, P2, P3, EX1, EX2, EX3, EX4, EX5]
