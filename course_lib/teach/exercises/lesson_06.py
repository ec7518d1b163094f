"""Exercises of lesson 06: what nodes keep, and until when."""

import gc
import math
import random
import weakref

from course_lib.teach.exercise import Exercise, Mistake, almost, correct, not_yet
from course_lib.teach.exercises.outcomes import check_table

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


def memories_of(y, torch):
    """{address: bytes} of every memory that the nodes behind y keep."""
    memories, seen, waiting = {}, [], [y.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.append(node)
        memories.update((tensor.data_ptr(), tensor.nbytes) for tensor in saved_tensors_of(node, torch))
        waiting += [after for after, _ in node.next_functions if after is not None]
    return memories


def as_names(answer):
    """A set of names from a list, tuple, set or single name; None when it is something else."""
    if isinstance(answer, str):
        answer = answer.replace(",", " ").split()
    if not isinstance(answer, (list, tuple, set, frozenset)):
        return None
    if not all(isinstance(name, str) for name in answer):
        return None
    return {name.strip() for name in answer}


def numbers(count, low=0.5, high=2.0):
    """Random numbers away from zero, so that no slope is zero by accident."""
    return [random.uniform(low, high) for _ in range(count)]


def leaf(torch, values, dtype=None):
    return torch.tensor(values, requires_grad=True, dtype=dtype or torch.float32)


def close(tensor, wanted, tolerance=1e-4):
    """Has the tensor these values?"""
    found = tensor.detach().reshape(-1).tolist()
    return len(found) == len(wanted) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(found, wanted, strict=True)
    )


# --- 06.p1 ----------------------------------------------------------------------------------------


def check_06_p1(answer, torch):
    given = as_names(answer)
    if given is None or not given <= {"x", "c", "p"}:
        return not_yet('Give a list with some of the names "x", "c" and "p"; it may be empty.')
    tensors = {"x": leaf(torch, numbers(3)), "c": torch.tensor(numbers(3))}
    tensors["p"] = tensors["x"] * tensors["c"]
    kept = {tensor.data_ptr() for tensor in saved_tensors_of(tensors["p"].grad_fn, torch)}
    truth = {name for name, tensor in tensors.items() if tensor.data_ptr() in kept}
    if given == truth:
        return correct("the node keeps what the slope of x is made of, and only that.")
    wrong = {frozenset("xc"): "both", frozenset("x"): "own", frozenset(): "nothing"}
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
    alternatives=('answer = ("c",)', 'answer = {"c"}'),
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
    ),
    check=check_06_p1,
)  # fmt: skip


# --- 06.p2 ----------------------------------------------------------------------------------------


def check_06_p2(answer, torch):
    given = as_names(answer)
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
    }
    named = wrong.get(frozenset(given))
    return almost(named) if named else not_yet("Go through them one by one: which tensor does its slope "
    "contain?")


P2 = Exercise(
    id="06.p2", kind="predict", title="Backward twice", minutes=2, difficulty=1, puzzles=(5,),
    question="Backward is called twice on each of four results. Which second calls raise?",
    name="answer", starter="answer = None",
    hints=(
        "Backward releases saved tensors. Which of the four nodes has one?",
        "A view only has to know the old shape, and that is not a tensor.",
    ),
    solution='answer = ["b", "e"]',
    why="The product kept x (twice) and exp kept its result; both were released by the first pass. "
    "Addition, view and sum kept no tensor, so a second pass finds all it needs.",
    alternatives=('answer = {"e", "b"}',),
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
    ),
    check=check_06_p2,
)  # fmt: skip


# --- 06.p3 ----------------------------------------------------------------------------------------

BATCH, FEATURES, HIDDEN = 100, 20, 30
SIZES = {
    "W1": 4 * FEATURES * HIDDEN,
    "h": 4 * BATCH * HIDDEN,
    "W2": 4 * HIDDEN,
    "out": 4 * BATCH,
}


def check_06_p3(answer, torch):
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return not_yet("Give one number: the bytes.")
    X, W1 = torch.ones(BATCH, FEATURES), torch.ones(FEATURES, HIDDEN, requires_grad=True)
    W2 = torch.ones(HIDDEN, 1, requires_grad=True)
    h = torch.relu(X @ W1)
    loss = (h @ W2).sum()
    truth = sum(memories_of(loss, torch).values())
    if answer == truth:
        return correct("you can read a network's memory off its formulas.")
    wrong = {
        truth + SIZES["h"]: "twice",
        truth + SIZES["W1"]: "frozen input",
        truth + SIZES["out"]: "output",
        truth // 4: "elements",
        SIZES["h"]: "activation only",
        truth - SIZES["W2"]: "weights are free",
        truth - 4 * BATCH * FEATURES: "data is free",
    }
    if answer in wrong:
        return almost(wrong[answer])
    return not_yet("Make a list: node, what its formulas read, number of elements times four.")


P3 = Exercise(
    id="06.p3", kind="predict", title="Bytes behind a small network", minutes=4, difficulty=2,
    question="How many bytes do the nodes behind `loss = (torch.relu(X @ W1) @ W2).sum()` keep alive?",
    name="answer", starter="answer = None",
    hints=(
        "There are four nodes: two products, relu and sum. Ask of each which tensors its formulas read.",
        "relu keeps its result. The second product keeps its first operand. Is that one memory or two?",
    ),
    solution="answer = 4 * (100 * 20 + 100 * 30 + 30)",
    why="X for W1's gradient, h once for relu and for W2's gradient, W2 for h's gradient: 8000 + 12000 + "
    "120 bytes.",
    alternatives=("answer = 20120.0", "answer = 8000 + 12000 + 120"),
    mistakes=(
        Mistake("twice",
                "12000 too many. Either you counted h for relu and again for the product, which keep the "
                "same memory, or you counted X @ W1, which relu does not keep.", "answer = 32120"),
        Mistake("frozen input",
                "You let the first product keep W1. W1 is read only by the formula for X's gradient, "
                "and X is plain data: nobody asks for that gradient.", "answer = 22520"),
        Mistake("output",
                "You let sum keep its input. Each slope of a sum is 1; the node needs the shape, and a shape "
                "is no tensor.", "answer = 20520"),
        Mistake("elements", "You counted elements. A float32 takes four bytes.", "answer = 5030"),
        Mistake("activation only",
                "h is kept, but not alone: W1's gradient is made of X, and h's gradient of W2.",
                "answer = 12000"),
        Mistake("weights are free",
                "W2 is a leaf that lives anyway, so keeping it costs nothing new; but the node "
                "does hold it, and if you drop your own name for it, it stays.", "answer = 20000"),
        Mistake("data is free",
                "You left out X. It needs no gradient, but W1's gradient is made of it, so the first product "
                "keeps it.", "answer = 12120"),
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
EXP_INPUT, RELU_INPUT, SUM_INPUT = "exp keeps its input", "relu keeps its input", "sum keeps its input"
WRONG_KEEPS = {
    ("x + y", "xy"): ADDITION_KEEPS,
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
        given = as_names(answer[expression])
        if given is None or not given <= set("xycr"):
            return not_yet(f'For {expression}, give a list with some of "x", "y", "c", "r", or an empty one.')
        if given != truth[expression]:
            wrong.append((expression, "".join(sorted(given))))
    for one in wrong:
        if one in WRONG_KEEPS:
            return almost(WRONG_KEEPS[one])
    if wrong:
        right = len(truth) - len(wrong)
        return not_yet(f"{right} of {len(truth)} agree with the nodes. Look again at {wrong[0][0]}.")
    return correct("from a formula you can say what will stay in memory.")


def keeps_but(expression, names):
    """The source of an answer that is right but for one expression."""
    return f"keeps = {KEEPS | {expression: names}!r}"


EX1 = Exercise(
    id="06.1", kind="predict saved", title="Who keeps what", minutes=6, difficulty=1, puzzles=(1,),
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
        Mistake(ADDITION_KEEPS, "x + y has slope 1 for both, whatever x and y are. Keeping them would cost "
                "memory and tell backward nothing.", keeps_but("x + y", ["x", "y"])),
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
        Mistake(LOG_RESULT, "The slope of log is 1 / x. The result would have to go through exp first to "
                "give x back, so the input is kept.", keeps_but("x.log()", ["r"])),
        Mistake(SUM_INPUT, "sum spreads the incoming slope over the old shape. The shape is kept, as "
                "numbers; the values of x are not.", keeps_but("x.sum()", ["x"])),
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
    ("C", "fine"): "the second pass replaces",
    ("C", "raises at backward"): "retain does nothing",
    ("D", "fine"): "reading is free",
    ("D", "raises at backward"): "D is not a backward",
    ("E", "fine"): "two results, two graphs",
    ("F", "raises at backward"): "sharing is enough",
}


def what_happens(program, slope, torch):
    """Run a program one statement at a time and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    space = {"torch": torch, "x": leaf(torch, values)}
    for statement in program.split("; "):
        try:
            exec(statement, space)
        except RuntimeError:
            return "raises at backward" if ".backward(" in statement else "raises now"
    return "fine" if close(space["x"].grad, [slope(v) for v in values]) else "silently wrong"


def check_06_2(answer, torch):
    def measure(letter):
        return what_happens(PROGRAMS[letter], SLOPES[letter], torch)

    return check_table(
        answer, PROGRAMS, measure, WRONG_HAPPENS,
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
    ),
    check=check_06_2,
)  # fmt: skip


# --- 06.3 -----------------------------------------------------------------------------------------


class Box:
    """What a saved tensor is packed into, to count how often a pass reads it."""

    def __init__(self, tensor):
        self.tensor, self.reads = tensor, 0


def run_counted(answer, torch, w, batches):
    """Call the answer; returns how often the most-read saved tensor was read."""
    boxes = []

    def pack(tensor):
        boxes.append(Box(tensor))
        return boxes[-1]

    def unpack(box):
        box.reads += 1
        return box.tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        answer(torch, w, batches)
    return max((box.reads for box in boxes), default=0)


def check_06_3(answer, torch):
    reads = 0
    for size, count in ((3, 4), (2, 5)):
        values, plain = numbers(size, 0.0, 1.0), [numbers(size) for _ in range(count)]
        w = leaf(torch, values)
        try:
            reads = max(reads, run_counted(answer, torch, w, [torch.tensor(batch) for batch in plain]))
        except RuntimeError as error:
            if "a second time" in str(error):
                return almost("still shared")
            if "does not require grad" in str(error):
                return almost("cut")
            raise
        if w.grad is None:
            return not_yet("It ran, but w.grad is None: no gradient has arrived at w.")

        def summed(batches, values=values):
            columns = zip(*batches, strict=True)
            return [math.exp(v) * sum(column) for v, column in zip(values, columns, strict=True)]

        if not close(w.grad, summed(plain)):
            for name, part in (("last only", plain[-1:]), ("first only", plain[:1])):
                if close(w.grad, summed(part)):
                    return almost(name)
            return not_yet("w.grad is not the sum of the batches' gradients.")
    if reads > 1:
        return almost("retain")
    return correct("every saved tensor was read by one pass, so each pass could let go of what it used.")


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
    ),
    mistakes=(
        Mistake("retain",
                "The numbers are right, and the cure is retain_graph=True: every pass runs the one exp node "
                "again and reads its result once more, so that it must be kept all along.",
                STARTER_3.replace("()\n    return", "(retain_graph=True)\n    return")),
        Mistake("still shared",
                "It still raises in the second step: all steps stand on one exp node, and that one has been "
                "run and emptied. A copy of its result is not a new exp.",
                STARTER_3.replace("scale * batch", "scale.clone() * batch")),
        Mistake("cut",
                "Nothing is missing any more, because nothing leads to w any more: the loss has no way back. "
                "The error about a second pass is gone, and so is the gradient.",
                STARTER_3.replace("w.exp()", "w.exp().detach()")),
        Mistake("last only",
                "Only the last batch is in w.grad. Passes add into .grad by themselves; something in your "
                "loop throws the earlier ones away.", """\
def collect(torch, w, batches):
    for batch in batches:
        w.grad = None
        (w.exp() * batch).sum().backward()
    return w.grad
"""),
        Mistake("first only",
                "Only the first batch is in w.grad. The error was avoided by not running the other "
                "passes.", """\
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
    ),
    check=check_06_3,
)  # fmt: skip


# --- 06.4 -----------------------------------------------------------------------------------------


def survives_its_names(answer, torch):
    """Does a result of this Function stay alive when nobody holds it? Then it is part of a ring."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        result = answer.apply(leaf(torch, numbers(3)))
        alive = weakref.ref(result)
        del result
        return alive() is not None
    finally:
        if was_enabled:
            gc.enable()


def check_06_4(answer, torch):
    for size in (3, 5):
        values, incoming = numbers(size, -2.0, 2.0), numbers(size)
        x = leaf(torch, values, torch.float64)
        s = answer.apply(x)
        if not isinstance(s, torch.Tensor):
            return not_yet("forward gives back no tensor.")
        sigmoid = [1 / (1 + math.exp(-v)) for v in values]
        if not close(s, sigmoid):
            return not_yet("forward's numbers are not 1 / (1 + exp(-x)).")
        kept = list(s.grad_fn.saved_tensors)
        same_memory = [tensor.data_ptr() == s.data_ptr() for tensor in kept]
        above = torch.tensor(incoming, dtype=torch.float64)
        try:
            s.backward(above)
        except (TypeError, AttributeError) as error:
            if "tuple" in str(error) or "scalar" in str(error) or "index" in str(error):
                return almost("a tuple")
            raise
        if x.grad is None:
            return not_yet("backward gives back no gradient for x.")
        if not close(above, incoming):
            return almost("writes into grad")
        slopes = [a * (1 - a) for a in sigmoid]
        if close(x.grad, slopes):
            return almost("grad dropped")
        if not close(x.grad, [g * a for g, a in zip(incoming, slopes, strict=True)]):
            return not_yet("The gradient disagrees with finite differences. Which slope belongs to s?")
    if len(kept) > 1:
        return almost("too many")
    if not kept or survives_its_names(answer, torch):
        return almost("attribute")
    if not same_memory[0]:
        return almost("input" if kept[0].data_ptr() == x.data_ptr() else "third tensor")
    return correct("one slot, on memory that exists anyway: your sigmoid costs what PyTorch's does.")


def sigmoid_source(forward, backward):
    """The source of a Function with these two bodies."""

    def lines(body):
        return "".join(f"        {line}\n" for line in body.splitlines())

    return (
        "class Sigmoid(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        + lines(forward)
        + "\n    @staticmethod\n    def backward(ctx, grad):\n"
        + lines(backward)
    )


SIGMOID = "s = 1 / (1 + (-x).exp())\n"
EX4 = Exercise(
    id="06.4", kind="write a Function", title="Save exactly one tensor",
    minutes=12, difficulty=3, puzzles=(17,),
    question="Write the sigmoid as a Function that keeps one tensor, its result, in a slot that gets "
    "checked and released.",
    name="Sigmoid", starter=sigmoid_source("...", "..."),
    hints=(
        "The lesson's Exp has the shape you need. Two lines differ: the value and the slope.",
        "backward gets the slope that arrives from above, and must hand on that slope times its own.",
        "ctx.saved_tensors is a tuple, also when it holds one tensor.",
    ),
    solution=sigmoid_source(
        SIGMOID + "ctx.save_for_backward(s)\nreturn s", "(s,) = ctx.saved_tensors\nreturn grad * s * (1 - s)"
    ),
    why="s * (1 - s) needs the result alone. Saved through save_for_backward it is repacked (no ring), "
    "checked, and released as soon as backward has used it.",
    alternatives=(
        sigmoid_source("s = x.sigmoid()\nctx.save_for_backward(s)\nreturn s",
                       "s = ctx.saved_tensors[0]\nreturn grad * (s - s * s)"),
    ),
    mistakes=(
        Mistake("attribute",
                "The gradient is right, but what you kept is an attribute of ctx and not in a slot: "
                "backward does not release it, nobody checks it, and if it is the result, result and node "
                "hold each other until the garbage collector comes.",
                sigmoid_source(SIGMOID + "ctx.s = s\nreturn s", "return grad * ctx.s * (1 - ctx.s)")),
        Mistake("too many",
                "You saved more than one tensor. The slope s * (1 - s) reads one; every other costs memory "
                "until backward.",
                sigmoid_source(SIGMOID + "ctx.save_for_backward(x, s)\nreturn s",
                               "x, s = ctx.saved_tensors\nreturn grad * s * (1 - s)")),
        Mistake("input",
                "You saved the input and computed s again. That is one tensor, but the wrong one: it costs a "
                "second exp, and keeps x alive where the result would do.",
                sigmoid_source(SIGMOID + "ctx.save_for_backward(x)\nreturn s",
                               "(x,) = ctx.saved_tensors\ns = 1 / (1 + (-x).exp())\nreturn grad * s * (1 - "
                               "s)")),
        Mistake("third tensor",
                "You saved neither input nor result but a tensor made for the purpose. That is new "
                "memory; the result exists anyway, and saving it costs nothing.",
                sigmoid_source(SIGMOID + "ctx.save_for_backward(s * (1 - s))\nreturn s",
                               "(slope,) = ctx.saved_tensors\nreturn grad * slope")),
        Mistake("a tuple",
                "ctx.saved_tensors is a tuple, also when it holds one tensor. Take the tensor out: "
                "(s,) = ctx.saved_tensors.",
                sigmoid_source(SIGMOID + "ctx.save_for_backward(s)\nreturn s",
                               "s = ctx.saved_tensors\nreturn grad * s * (1 - s)")),
        Mistake("writes into grad",
                "The numbers are right, but you wrote into the slope that arrived. It is not yours: others "
                "may read the same tensor.",
                sigmoid_source(SIGMOID + "ctx.save_for_backward(s)\nreturn s",
                               "(s,) = ctx.saved_tensors\nreturn grad.mul_(s * (1 - s))")),
        Mistake("grad dropped",
                "backward returns its own slope and forgets the one that arrived. That is right only "
                "when the sigmoid is followed by a plain sum.",
                sigmoid_source(SIGMOID + "ctx.save_for_backward(s)\nreturn s",
                               "(s,) = ctx.saved_tensors\nreturn s * (1 - s)")),
    ),
    check=check_06_4,
)  # fmt: skip


# --- 06.5 -----------------------------------------------------------------------------------------


def cases_06_5(torch):
    """(name, result) pairs; each shows up one way of counting wrongly."""
    x = leaf(torch, numbers(3))
    wide = leaf(torch, numbers(4), torch.float64)
    h = x.exp()
    both, half = x.exp().sum(), x.exp().sum()
    both.backward()
    partly = half + x.sin().sum()
    half.backward()
    return [
        ("two slots", x * x),
        ("two roads", h + h),
        ("two objects", x.exp().sin()),
        ("two tensors", x * leaf(torch, numbers(3))),
        ("eight bytes", wide.sin()),
        ("half released", partly),
        ("all released", both),
    ]


class Step:
    """A node without slots that counts how often its arrows are asked for."""

    def __init__(self, below):
        self.below, self.asked = below, 0

    @property
    def next_functions(self):
        self.asked += 1
        return ((self.below, 0), (self.below, 0)) if self.below is not None else ()


class Top:
    """Stands for a tensor: all that the walk needs of it is its grad_fn."""

    def __init__(self, grad_fn):
        self.grad_fn = grad_fn


def walks_paths(answer, torch):
    """In a ladder of ten nodes with two arrows each: is the last one visited once, or 1024 times?"""
    last = node = Step(None)
    for _ in range(10):
        node = Step(node)
    answer(torch, Top(node))
    return last.asked > 100


def check_06_5(answer, torch):
    found, wanted = {}, {}
    for name, y in cases_06_5(torch):
        wanted[name] = sum(memories_of(y, torch).values())
        try:
            found[name] = answer(torch, y)
        except RuntimeError as error:
            if "already been freed" in str(error):
                return almost("released slot")
            raise
        if not isinstance(found[name], int):
            return not_yet("held should return a whole number of bytes.")
    if found == wanted:
        if walks_paths(answer, torch):
            return almost("walks paths")
        return correct("you can measure what a graph holds, whatever its shape and state.")
    if found["eight bytes"] * 8 == wanted["eight bytes"]:
        return almost("elements")
    if found["two roads"] == 2 * wanted["two roads"]:
        return almost("roads")
    if found["two slots"] == 2 * wanted["two slots"]:
        return almost("slots")
    if found["half released"] == 0:
        return almost("gives up")
    if found["two objects"] != wanted["two objects"]:
        return almost("objects")
    wrong = next(name for name in wanted if found[name] != wanted[name])
    return not_yet(f"On “{wrong}” it says {found[wrong]} bytes, and the nodes keep {wanted[wrong]}.")


STARTER_5 = """\
def held(torch, y):
    total, waiting = 0, [y.grad_fn]
    while waiting:
        node = waiting.pop()
        for name in [name for name in dir(node) if name.startswith("_saved_")]:
            value = getattr(node, name)
            if isinstance(value, torch.Tensor):
                total += value.nbytes
        waiting += [after for after, _ in node.next_functions if after is not None]
    return total"""


def held_source(key="value.data_ptr()", size="value.nbytes", seen=True, missing="continue"):
    """The source of a counter, right or with one part done wrongly."""
    visited = "        if node in seen:\n            continue\n        seen.append(node)\n" if seen else ""
    return f"""\
def held(torch, y):
    memories, seen, waiting = {{}}, [], [y.grad_fn]
    while waiting:
        node = waiting.pop()
{visited}        for name in [name for name in dir(node) if name.startswith("_saved_")]:
            try:
                value = getattr(node, name)
            except RuntimeError:
                {missing}
            if isinstance(value, torch.Tensor):
                memories[{key}] = {size}
        waiting += [after for after, _ in node.next_functions if after is not None]
    return sum(memories.values())
"""


EX5 = Exercise(
    id="06.5", kind="repair", title="Count the bytes", minutes=12, difficulty=3, puzzles=(1,),
    question="Repair `held`: a memory saved twice counts once, a node reached twice is visited once, a "
    "released slot is 0 bytes.",
    name="held", starter=STARTER_5,
    hints=(
        "Two questions need a memory of their own: which nodes have I visited, and which memories have I "
        "counted?",
        "Reading a saved result gives a new object each time. What is the same each time?",
        "Reading a released slot raises RuntimeError. Only that slot is empty; the next may not be.",
    ),
    solution=held_source(),
    why="Nodes are told apart by identity, memories by their address: the objects you read from slots are "
    "too short-lived to be counted. try/except around one slot keeps the others.",
    alternatives=(
        held_source(key="value.untyped_storage().data_ptr()"),
        STARTER_5.replace("total, waiting = 0,", "counted, total, waiting = set(), 0,")
        .replace("            value = getattr(node, name)\n",
                 "            try:\n                value = getattr(node, name)\n"
                 "            except RuntimeError:\n                value = None\n")
        .replace("        for name in [", "        if node in counted:\n            continue\n"
                 "        counted.add(node)\n        for name in [")
        .replace("            if isinstance(value, torch.Tensor):",
                 "            if isinstance(value, torch.Tensor) and value.data_ptr() not in counted:\n"
                 "                counted.add(value.data_ptr())"),
    ),
    mistakes=(
        Mistake("roads",
                "A node that two arrows reach is counted twice: `h + h` shows it. The released slots are "
                "dealt with; now keep track of where you have been.",
                STARTER_5.replace("            value = getattr(node, name)\n",
                                  "            try:\n                value = getattr(node, name)\n"
                                  "            except RuntimeError:\n                continue\n")),
        Mistake("slots", "You visit each node once, but x * x keeps x in two slots, and that is one memory.",
                held_source(key="id(node), name")),
        Mistake("walks paths",
                "The bytes are right, but a node reached twice is walked from twice, so work doubles with "
                "every such node. Remember the nodes you have seen.", held_source(seen=False)),
        Mistake("objects",
                "You tell tensors apart by object. A saved result is repacked, so each reading gives a new "
                "object on the same memory, and exp's result is also sin's input.",
                held_source(key="id(value)", size="value")
                .replace("sum(memories", "sum(t.nbytes for t in memories")),
        Mistake("released slot",
                "Reading a released slot raises, and your walk ends there. Expect that error, at each slot.",
                held_source().replace("            try:\n", "            if True:\n")
                .replace("            except RuntimeError:\n                continue\n", "")),
        Mistake("gives up",
                "When one slot is released you report 0 for everything. After a pass over part of a graph "
                "the other nodes still keep theirs.", held_source(missing="return 0")),
        Mistake("elements", "You counted elements. How many bytes one takes depends on the dtype.",
                held_source(size="value.numel()")),
    ),
    check=check_06_5,
)  # fmt: skip


EXERCISES = [P1, P2, P3, EX1, EX2, EX3, EX4, EX5]
