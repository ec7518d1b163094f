"""Exercises of lesson 02: leaves, requires_grad, and who gets a gradient."""

import functools
import warnings

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import as_number, called, near, nodes_behind, numbers, set_of_names
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet


def stored(tensor):
    """The tensor's .grad, without the warning that a result gives."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*")
        return tensor.grad


def matrix(torch, height, width, requires_grad=False):
    return torch.tensor([numbers(width) for _ in range(height)], requires_grad=requires_grad)


# --- predictions --------------------------------------------------------------------------------------------


def check_02_p1(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= {"x", "W1", "W2", "W3", "h1", "h2"}:
        return not_yet('Give a list with some of the names "x", "W1", "W2", "W3", "h1", "h2".')
    x, W1 = matrix(torch, 1, 2), matrix(torch, 2, 2, True)
    W2, W3 = matrix(torch, 2, 2), matrix(torch, 2, 1, True)
    h1 = x @ W1
    h2 = h1 @ W2
    (h2 @ W3).sum().backward()
    tensors = {"x": x, "W1": W1, "W2": W2, "W3": W3, "h1": h1, "h2": h2}
    truth = {name for name, tensor in tensors.items() if stored(tensor) is not None}
    if given == truth:
        return correct("the frozen layer in between gets nothing, and stops nothing.")
    if "x" in given:
        return almost("data")
    if "W2" in given:
        return almost("frozen as well")
    if given & {"h1", "h2"}:
        return almost("results")
    if given == {"W3"}:
        return almost("stopped")
    if given == {"W1"}:
        return almost("only the first")
    return almost("none") if not given else not_yet("Who requires grad, and who can be reached from the loss?")


P1 = Exercise(
    id="02.p1", kind="predict", title="Who gets a gradient?", minutes=2, difficulty=1,
    question="`h1 = x @ W1; h2 = h1 @ W2; loss = (h2 @ W3).sum(); loss.backward()`, where W1 and W3 require "
    "grad. Who has a .grad afterwards?",
    name="answer", starter="answer = None",
    hints=(
        "Lesson 00: at which tensors do the arrows end?",
        "Does the way from the loss to W1 lead past W2, or through it?",
    ),
    solution='answer = ["W1", "W3"]',
    why="Gradients are stored in leaves that require grad. The slope for h1 is made of W2's values, whether "
    "W2 is frozen or not, so W1 is reached.",
    alternatives=('answer = {"W3", "W1"}', 'answer = "W1, W3"'),
    mistakes=(
        Mistake("stopped", "You expect the frozen layer to stop the way. It wants no gradient for itself; "
                "W1 behind it still does.", 'answer = ["W3"]'),
        Mistake("frozen as well", "W2 does not require grad. Then nobody asks for its gradient, and it is "
                "not stored.", 'answer = ["W1", "W2", "W3"]'),
        Mistake("results", "Gradients for h1 and h2 are computed on the way, and handed on. Only leaves store.",
                'answer = ["W1", "W3", "h1", "h2"]'),
        Mistake("data", "x is plain data: it does not require grad, so nothing is computed for it.",
                'answer = ["x", "W1", "W3"]'),
        Mistake("only the first", "W1 is reached, right. W3 is a leaf that requires grad, too, and the loss was "
                "computed from it in the last product.", 'answer = ["W1"]'),
        Mistake("none", "Two of the six are leaves that require grad, and the loss was computed from both.",
                "answer = []"),
    ),
    check=check_02_p1,
)  # fmt: skip


def check_02_p2(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= {"w", "v", "u"}:
        return not_yet('Give a list with some of the names "w", "v", "u"; it may be empty.')
    w = torch.tensor(numbers(2), requires_grad=True).double()
    v = torch.tensor(numbers(2), requires_grad=True) * 0.01
    u = torch.tensor(numbers(2), requires_grad=True).float()
    (w * v * u).sum().backward()
    truth = {name for name, tensor in {"w": w, "v": v, "u": u}.items() if stored(tensor) is not None}
    if given == truth:
        return correct("you saw which call computes something, and which has nothing to do.")
    if not given:
        return almost("float computes")
    if given == {"w", "v", "u"}:
        return almost("the flag stays")
    if given == {"w", "u"}:
        return almost("a cast is no operation")
    if "v" in given:
        return almost("a factor is nothing")
    if given == {"w"}:
        return almost("a cast keeps")
    return not_yet("Which of the three were computed from another tensor?")


P2 = Exercise(
    id="02.p2", kind="predict", title="Three parameters", minutes=2, difficulty=2, puzzles=(10,),
    question="`w` is a leaf's `.double()`, `v` a leaf times 0.01, `u` a float32 leaf's `.float()`. Backward "
    "from `(w * v * u).sum()`: who has a .grad?",
    name="answer", starter="answer = None",
    hints=(
        "A leaf is what no recorded operation computed. What does each name refer to at the end of its line?",
        "Lesson 01 had a call that leaves no node.",
    ),
    solution='answer = ["u"]',
    why="w and v name results; the leaves behind them have lost their names. float() of a float32 tensor is "
        "that tensor.",
    alternatives=('answer = "u"', 'answer = {"u"}'),
    mistakes=(
        Mistake("the flag stays", "All three require grad, that is right. But only leaves store gradients, "
                "and not all three are leaves.", 'answer = ["w", "v", "u"]'),
        Mistake("a cast is no operation", "v is a result, right. So is w: a cast to another type computes "
                "new numbers, and is recorded as an operation.", 'answer = ["w", "u"]'),
        Mistake("a factor is nothing", "v is not the leaf: the product made a new tensor, and the name v "
                "was given to that one.", 'answer = ["v", "u"]'),
        Mistake("a cast keeps", "w is a result: the cast was recorded. And one of the other two is the very leaf "
                "that was made on its line.", 'answer = ["w"]'),
        Mistake("float computes", "float() makes float32. The tensor is float32 already, so what is there "
                "to compute, and what is handed back?", "answer = []"),
    ),
    check=check_02_p2,
)  # fmt: skip


def check_02_p3(answer, torch):
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return not_yet("Give a list of two: w.grad and loss.grad, each a number or None.")
    w = torch.tensor(0.5, requires_grad=True)
    hits = (w * torch.tensor([1.0, -2.0, 3.0]) > 0.4).float()
    loss = 1 - hits.mean()
    loss.requires_grad = True
    loss.backward()
    truth = [None if each is None else each.item() for each in (w.grad, loss.grad)]
    if any(isinstance(each, str) or each is not None and as_number(each) is None for each in answer):
        return not_yet("A number, or None without quotes, is wanted for each of the two.")
    answer = [None if each is None else as_number(each) for each in answer]
    if answer == truth:
        return correct("the error is gone, and so is the learning.")
    named = {(0, 1): "zero", (0, 0): "zero", (None, None): "nothing at all", (1, None): "passed on", (1, 1): "through",
             (None, 0): "nothing to say"}  # fmt: skip
    first, second = answer
    if (first, second) in named:
        return almost(named[first, second])
    if first is not None and second in (None, 1):
        return almost("through")
    if first is None:
        return almost("its own slope")
    return not_yet("Begin at the loss, with slope 1. Is there an arrow? And which tensor stores what arrives?")


P3 = Exercise(
    id="02.p3", kind="predict", title="The line from the forum", minutes=2, difficulty=2, puzzles=(11,),
    question="`hits = (w * x > 0.4).float(); loss = 1 - hits.mean(); loss.requires_grad = True; "
    "loss.backward()`: what are w.grad and loss.grad?",
    name="answer", starter="answer = None",
    hints=(
        "What does loss remember of how it was made? It raised without the flag.",
        "After the flag is set, is loss a leaf? What do leaves do with what arrives at them?",
    ),
    solution="answer = [None, 1.0]",
    why="loss has no node. The flag makes it a leaf that requires grad, so the 1 that backward starts with "
    "is stored in loss itself; no arrow leads to w.",
    alternatives=("answer = (None, 1)", "answer = [None, torch.tensor(1.0)]"),
    mistakes=(
        Mistake("zero", "Zero would mean that a gradient arrived at w, and was zero. None means that none "
                "arrived: there is no way from this loss to w.", "answer = [0.0, 1.0]"),
        Mistake("nothing at all", "w gets nothing, right. But backward started somewhere, and that tensor "
                "is now a leaf that requires grad.", "answer = [None, None]"),
        Mistake("passed on", "You expect loss to hand its slope on, as a result does. It has no arrow to "
                "hand it on along.", "answer = [1.0, None]"),
        Mistake("through", "You expect a way from loss to w. Had there been one, the line from the forum "
                "would not have been needed.", "answer = [-0.5, None]"),
        Mistake("its own slope", "w gets nothing, right. loss.grad is the slope of loss for loss itself, not its "
                "value.", "answer = [None, 1 / 3]"),
        Mistake("nothing to say", "w gets nothing, right. A slope of 0 for loss would mean that loss does not move "
                "when loss moves.", "answer = [None, 0.0]"),
    ),
    check=check_02_p3,
)  # fmt: skip


# --- 02.1 ---------------------------------------------------------------------------------------------------

STATE_PROGRAM = """\
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0])
c = a * b
d = b * b
e = (b * 0.1).requires_grad_()
f = a.float(); g = a.double()
((c + d) * e + f * g).sum().backward()
"""


def state_of(tensor):
    return [tensor.is_leaf, tensor.requires_grad, stored(tensor) is not None]


def check_02_1(answer, torch):
    if not isinstance(answer, dict) or set(answer) != set("cdefg"):
        return not_yet("Keep the dictionary with the names c to g.")
    for name, three in answer.items():
        if not isinstance(three, (list, tuple)) or [type(each) for each in three] != [bool] * 3:
            return not_yet(f"For {name}, give three times True or False: leaf, requires grad, has a .grad.")
    space = {"torch": torch}
    exec(STATE_PROGRAM, space)
    truth = {name: state_of(space[name]) for name in "cdefg"}
    given = {name: list(three) for name, three in answer.items()}
    if given == truth:
        return correct("leaf, flag and gradient are three different questions.")
    if {name: [three[1], three[0], three[2]] for name, three in given.items()} == truth:
        return not_yet("Right, if you meant the flag first. The order asked for is: leaf, requires grad, has a .grad.")
    wrong = [name for name in "cdefg" if given[name] != truth[name]]
    said = {name: (name, tuple(given[name])) for name in wrong}
    named = {name: STATE_MISTAKES[said[name]] for name in wrong if said[name] in STATE_MISTAKES}
    return judged_rows(wrong, "cdefg", named, "tensors are right")


STATE_MISTAKES = {  # (name, leaf, flag and gradient as they were given): name of the mistake
    ("c", (True, True, True)): "a recorded leaf",
    ("c", (True, True, False)): "a recorded leaf",
    ("c", (True, False, False)): "a recorded leaf",
    ("c", (False, False, False)): "two are needed",
    ("c", (False, True, True)): "results store",
    ("d", (False, False, False)): "every result is no leaf",
    ("d", (False, True, False)): "plain makes plain",
    ("d", (True, True, True)): "plain",
    ("d", (True, True, False)): "plain",
    ("d", (True, False, True)): "stored without the flag",
    ("e", (False, True, False)): "flag on a result",
    ("e", (False, True, True)): "flag on a result",
    ("e", (True, True, False)): "a leaf that is used",
    ("e", (True, False, False)): "asked for",
    ("f", (False, True, False)): "float made a copy",
    ("f", (False, True, True)): "float made a copy",
    ("f", (True, True, False)): "the gradient of a",
    ("g", (True, True, True)): "the cast",
    ("g", (True, True, False)): "the cast",
    ("g", (False, True, True)): "results store, too",
    ("g", (False, False, False)): "a cast loses the flag",
}


STATE = {
    "c": [False, True, False],
    "d": [True, False, False],
    "e": [True, True, True],
    "f": [True, True, True],
    "g": [False, True, False],
}


def state_but(**changed):
    return f"state = {STATE | changed!r}"


EX1 = Exercise(
    id="02.1", kind="predict state", title="Who is what?", minutes=5, difficulty=1, puzzles=(10,),
    question="For each of c to g, after the last line: is it a leaf, does it require grad, has it a .grad?"
    "\n\n```python\n"
    + STATE_PROGRAM + "```",
    name="state", starter='state = {"c": None, "d": None, "e": None, "f": None, "g": None}',
    hints=(
        "Begin with the flag: which operands had it when the line ran? Only then ask whether the operation "
        "was recorded.",
        "A result that requires no grad was not recorded, and what is not recorded makes a leaf.",
        "One of the five is not a new tensor.",
    ),
    solution=f"state = {STATE!r}",
    why="c and g are recorded results. d is computed, but unrecorded: a leaf without the flag. e was such a "
    "leaf when it was given the flag. f is a itself.",
    alternatives=(f"state = dict({', '.join(f'{name}={tuple(three)}' for name, three in reversed(STATE.items()))})",),
    mistakes=(
        Mistake("every result is no leaf", "d was computed, but from plain tensors, and so nothing was "
                "recorded. A leaf is what no *recorded* operation computed.", state_but(d=[False, False, False])),
        Mistake("plain", "d is a leaf, right. But b does not require grad, so b * b does not either.",
                state_but(d=[True, True, True])),
        Mistake("stored without the flag", "d is a leaf without the flag, right. But a gradient is stored where both "
                "come together, leaf and flag.", state_but(d=[True, False, True])),
        Mistake("flag on a result", "When e was given the flag it was a plain leaf, for b * 0.1 was not "
                "recorded. And the sum was computed from it.", state_but(e=[False, True, False])),
        Mistake("float made a copy", "a is float32 already, so f is a itself: the same leaf, the same gradient.",
                state_but(f=[False, True, False])),
        Mistake("the cast", "double() of a float32 tensor computes new numbers. g is a result; what arrives "
                "there goes on to a.", state_but(g=[True, True, True])),
        Mistake("results store", "The gradient of c passes through, and is not stored there: nobody called "
                "retain_grad() on c.", state_but(c=[False, True, True])),
        Mistake("a recorded leaf", "c was computed from a, which requires grad, so the product was recorded: c is a "
                "result.", state_but(c=[True, True, True])),
        Mistake("two are needed", "c was computed from a, which requires grad. One such operand is enough.",
                state_but(c=[False, False, False])),
        Mistake("plain makes plain", "d: b * b has no operand that requires grad. Then it requires none itself, was "
                "not recorded, and is a leaf.", state_but(d=[False, True, False])),
        Mistake("a leaf that is used", "e is a leaf that requires grad, right. The sum was computed from it, so its "
                "gradient arrives, and is stored.", state_but(e=[True, True, False])),
        Mistake("asked for", "e: requires_grad_() sets the flag of a plain tensor, and returns that tensor.",
                state_but(e=[True, False, False])),
        Mistake("the gradient of a", "f is a leaf that requires grad, right: it is a itself. So what is a.grad is "
                "f.grad.",
                state_but(f=[True, True, False])),
        Mistake("results store, too", "g is a result, right. What arrives at g goes on to a; nobody called "
                "retain_grad() on g.",
                state_but(g=[False, True, True])),
        Mistake("a cast loses the flag", "g: float64 has slopes like float32. The cast is an operation that is "
                "recorded, and its result requires grad.", state_but(g=[False, False, False])),
    ),
    check=check_02_1,
)  # fmt: skip


# --- 02.2 ---------------------------------------------------------------------------------------------------

HAPPENS = {
    "A": "w = leaf * 0.01; loss = (w * x).sum()",
    "B": "w = ones; loss = (w * x).sum(); w.requires_grad_()",
    "C": "w = leaf.float(); loss = (w * x).sum()",
    "D": "w = leaf; loss = 1 - (w * x > 3.5).float().mean()",
    "E": "w = leaf; loss = 1 - (w * x > 3.5).float().mean(); loss.requires_grad = True",
    "F": "w = leaf; h = w * x; h.requires_grad = False; loss = h.sum()",
    "G": "w = leaf.double(); w.retain_grad(); loss = (w * x).sum()",
    "H": "w = ones.long().requires_grad_(); loss = (w * x).sum()",
}


def what_happens(torch, letter):
    """Run one program of exercise 02.2 and compare w.grad with the slope of w * x, which is x."""
    values = [3.0, 4.0]
    space = {
        "x": torch.tensor(values),
        "ones": torch.tensor([1.0, 1.0]),
        "leaf": torch.tensor([1.0, 1.0], requires_grad=True),
    }

    def right(space):
        grad = stored(space["w"])
        return grad is not None and near(grad.tolist(), values)

    return happens((HAPPENS[letter], "loss.backward()"), space, right)


TRUTH_2 = {"A": "silently wrong", "B": "raises at backward", "C": "fine", "D": "raises at backward",
           "E": "silently wrong", "F": "raises now", "G": "fine", "H": "raises now"}  # fmt: skip


def check_02_2(answer, torch):
    mistakes = {
        ("A", "fine"): "scaled leaf",
        ("A", "raises now"): "nothing is refused",
        ("A", "raises at backward"): "nothing is refused",
        ("B", "fine"): "a late flag",
        ("B", "silently wrong"): "nothing to start from",
        ("B", "raises now"): "the flag is allowed",
        ("C", "silently wrong"): "float is a result",
        ("C", "raises now"): "float is a result",
        ("C", "raises at backward"): "float is a result",
        ("D", "fine"): "a truth value has a slope",
        ("D", "silently wrong"): "a flat step",
        ("D", "raises now"): "comparing is allowed",
        ("E", "fine"): "the forum",
        ("E", "raises at backward"): "still an error",
        ("G", "raises at backward"): "retain_grad is refused",
        ("E", "raises now"): "a refused flag",
        ("F", "fine"): "a way to freeze",
        ("F", "raises at backward"): "refused later",
        ("F", "silently wrong"): "a way to freeze",
        ("G", "silently wrong"): "retain_grad does nothing",
        ("G", "raises now"): "retain_grad does nothing",
        ("H", "fine"): "whole numbers",
        ("H", "raises at backward"): "whole numbers later",
        ("H", "silently wrong"): "whole numbers",
    }
    measure = functools.partial(what_happens, torch)
    return check_table(answer, HAPPENS, measure, mistakes, "you know which of these are refused, and which "
        "only mislead.")


def happens_but(**changed):
    return f"happens = {TRUTH_2 | changed!r}"


EX2 = Exercise(
    id="02.2", kind="which happens", title="Which happens?", minutes=8, difficulty=2, puzzles=(10, 11),
    question="Fine, raises now, raises at backward, or silently wrong (no error, but `w.grad` is not the slope of the "
    "loss)?\n\n" + "\n".join(f"- {letter}: `{program}`" for letter, program in HAPPENS.items()),
    name="happens",
    starter='happens = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None, "G": None, "H": None}',
    hints=(
        "Two questions for each: does the loss lead back to a leaf that requires grad, and is w that leaf?",
        "Refused is what can never make sense: a flag on whole numbers, a result's flag switched off.",
        "One program reads the gradient of a result in the way that is meant for it.",
    ),
    solution=f"happens = {TRUTH_2!r}",
    why="A and E run and leave w.grad None. B sets the flag after the operation ran, D loses the way in a "
    "comparison: backward has nothing to start from. F and H are refused on the spot. C is the leaf itself, "
    "G asked in time.",
    alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(TRUTH_2.items()))})",),
    mistakes=(
        Mistake("scaled leaf", "A: w names the product, a result. The gradient arrives at leaf, and w.grad "
                "stays None.",
                happens_but(A="fine")),
        Mistake("nothing is refused", "A: every line is allowed, and backward finds a leaf. It is only not "
                "the tensor whose .grad you read.", happens_but(A="raises at backward")),
        Mistake("a late flag", "B: the flag is set when the product has already run, unrecorded. It adds no arrow.",
                happens_but(B="fine")),
        Mistake("nothing to start from", "B: no operation was recorded, so loss requires no grad, and "
                "backward cannot even start.", happens_but(B="silently wrong")),
        Mistake("the flag is allowed", "B: setting the flag of a leaf of floats is always allowed. It comes too late "
                "for this loss; who notices?", happens_but(B="raises now")),
        Mistake("float is a result", "C: float() of a float32 tensor hands back that tensor: w is the leaf.",
                happens_but(C="silently wrong")),
        Mistake("a truth value has a slope", "D: the comparison gives truth values. They have no slope, and "
                "the float() after it does not bring the way back.", happens_but(D="fine")),
        Mistake("a flat step", "D: one could say that the slope of a step is zero. But nothing was "
                "recorded, so there is no gradient at all, and backward says so.", happens_but(D="silently wrong")),
        Mistake("comparing is allowed", "D: comparing is allowed; one does it to count hits. The error "
                "comes from the one who misses the history.", happens_but(D="raises now")),
        Mistake("the forum", "E: there is no error any more. And w.grad is None: the flag brought no history back.",
                happens_but(E="fine")),
        Mistake("still an error", "E: with the flag, loss is a leaf that requires grad, and backward has "
                "something to start from: loss itself.", happens_but(E="raises at backward")),
        Mistake("a refused flag", "E: a result would refuse the flag. But this loss is a leaf: no recorded operation "
                "computed it, for the comparison had cut the way.", happens_but(E="raises now")),
        Mistake("a way to freeze", "F: a result's flag follows from its operands; the line that sets it raises.",
                happens_but(F="silently wrong")),
        Mistake("refused later", "F: it is refused, but not by backward. Setting the flag of a result raises at once.",
                happens_but(F="raises at backward")),
        Mistake("retain_grad does nothing", "G: w is a result, and retain_grad() was called on it before "
                "backward. That is just what it is for.", happens_but(G="silently wrong")),
        Mistake("retain_grad is refused", "G: the cast result requires grad and has a history, so backward can "
                "start and pass "
                "through it. retain_grad() only keeps what passes.", happens_but(G="raises at backward")),
        Mistake("whole numbers", "H: long() gives whole numbers, and they have no slopes. The flag is refused.",
                happens_but(H="fine")),
        Mistake("whole numbers later", "H: it is refused, but who refuses? The flag cannot even be set.",
                happens_but(H="raises at backward")),
    ),
    check=check_02_2,
)  # fmt: skip


# --- 02.3 ---------------------------------------------------------------------------------------------------


def check_02_3(answer, torch):
    for values in (numbers(3), [-1.5, 0.0, *numbers(3)], numbers(1)):
        verdict = small_weights_are_wrong(answer, torch, values)
        if verdict is not None:
            return verdict
    return correct("first the values, then the flag: what is returned is the leaf.")


def small_weights_are_wrong(answer, torch, values):
    """The verdict on the weights made of `values`, or None when they are right."""
    w = answer(torch, list(values))
    if not isinstance(w, torch.Tensor):
        return not_yet(f"Return a tensor; your function returned {type(w).__name__}.")
    if tuple(w.shape) != (len(values),):
        return not_yet(f"For {len(values)} values the shape is {tuple(w.shape)}: one element for each is wanted.")
    if not near(w.tolist(), [0.01 * value for value in values], 1e-6):
        if near(w.tolist(), values, 1e-6):
            return almost("not scaled")
        place = max(range(len(values)), key=lambda k: abs(w.tolist()[k] - 0.01 * values[k]))
        return not_yet(f"0.01 times {values[place]:.4g} was wanted, and {w.tolist()[place]:.4g} is there.")
    if not w.requires_grad:
        return almost("no flag")
    if w.dtype != torch.float64:
        return almost("single precision")
    if not w.is_leaf:
        return almost("kept, not a leaf" if w.retains_grad else "another result")
    if w.grad is not None and any(w.grad.tolist()):
        return almost("a gradient in advance")
    (w * w).sum().backward()
    if not near(w.grad.tolist(), [2 * each for each in w.tolist()], 1e-6):
        return not_yet("Backward from (w * w).sum() leaves another gradient than 2 * w.")
    return None


SMALL = "def small_weights(torch, values):\n"
EX3 = Exercise(
    id="02.3", kind="repair", title="Small weights", minutes=5, difficulty=1, puzzles=(10,),
    question="Return a float64 leaf that requires grad, with the given values times 0.01.",
    name="small_weights",
    starter=SMALL + "    w = torch.tensor(values, requires_grad=True)\n    return w.double() * 0.01",
    hints=(
        "At which moment does the flag have to be set, so that nothing after it is recorded?",
        "Compute with plain tensors as long as you like: no recorded operation, so whatever comes out is a leaf.",
    ),
    solution=SMALL + "    w = torch.tensor(values, dtype=torch.float64) * 0.01\n    return w.requires_grad_()\n",
    why="As long as nothing requires grad nothing is recorded, so the product is a leaf; then it is given the flag.",
    alternatives=(
        SMALL + "    return (torch.tensor(values).double() * 0.01).requires_grad_()\n",
        SMALL + "    return torch.tensor([0.01 * v for v in values], dtype=torch.float64, requires_grad=True)\n",
        SMALL + "    w = torch.tensor(values, requires_grad=True)\n"
        "    return (w.double() * 0.01).detach().requires_grad_()\n",
    ),
    mistakes=(
        Mistake("kept, not a leaf", "With retain_grad() one can read its gradient, and an optimizer accepts it. But "
                "it is still a result: a step moves the result, and the leaf behind it stays as it was.",
                SMALL + "    w = torch.tensor(values, requires_grad=True).double() * 0.01\n    w.retain_grad()\n"
                "    return w\n"),
        Mistake("another result", "After the flag was first set something was still computed and recorded. What you "
                "return is a result, and no flag makes a leaf of it.",
                SMALL + "    return torch.tensor(values, dtype=torch.float64, requires_grad=True) * 0.01\n"),
        Mistake("single precision", "It requires grad and has the right values, but in float32.",
                SMALL + "    return (torch.tensor(values) * 0.01).requires_grad_()\n"),
        Mistake("no flag", "It has the right values; but it does not require grad.",
                SMALL + "    return torch.tensor(values).double() * 0.01\n"),
        Mistake("a gradient in advance", "Your leaf has a gradient in .grad already, before anybody else has called "
                "backward: the next gradient would be added to it.",
                SMALL + "    w = (torch.tensor(values).double() * 0.01).requires_grad_()\n"
                "    (w * w).sum().backward()  # does it work?\n    return w\n"),
        Mistake("guard: changed a container", "",
                SMALL + "    for place in range(len(values)):\n        values[place] *= 0.01\n"
                "    return torch.tensor(values, dtype=torch.float64, requires_grad=True)\n"),
        Mistake("not scaled", "A leaf with the values as they were given; they were to be multiplied by 0.01.",
                SMALL + "    return torch.tensor(values).double().requires_grad_()\n"),
    ),
    check=check_02_3,
)  # fmt: skip


# --- 02.4 ---------------------------------------------------------------------------------------------------


def mean_squared(w, xs, ts):
    """The loss of exercise 02.4 in plain numbers."""
    errors = [sum(a * b for a, b in zip(w, x, strict=True)) - t for x, t in zip(xs, ts, strict=True)]
    return sum(error * error for error in errors) / len(errors)


def slopes_of(w, xs, ts, step=1e-6):
    """Its slopes for w, by central differences."""
    found = []
    for place in range(len(w)):
        ends = []
        for sign in (1, -1):
            moved = list(w)
            moved[place] += sign * step
            ends.append(mean_squared(moved, xs, ts))
        found.append((ends[0] - ends[1]) / (2 * step))
    return found


def check_02_4(answer, torch):
    for count, width, before in ((4, 2, None), (3, 3, 7.0), (5, 1, None), (1, 2, 7.0)):
        start, xs = numbers(width, -2.0, -0.5), [numbers(width) for _ in range(count)]
        ts = numbers(count, 3.0, 5.0)
        w = torch.tensor(start, requires_grad=True, dtype=torch.float64)
        if before is not None:  # a gradient of an earlier pass
            w.grad = torch.full_like(w, before).detach()
        rows = [torch.tensor(x, dtype=torch.float64) for x in xs]
        try:
            loss = answer(torch, w, rows, [torch.tensor(t, dtype=torch.float64) for t in ts])
        except RuntimeError as error:
            if "can only change requires_grad flags" not in str(error):
                raise
            return almost("the flag left in")
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return almost("one for each row") if isinstance(loss, torch.Tensor) else not_yet(
                f"Return the loss as a tensor; your function returned {type(loss).__name__}.")
        value, wanted = mean_squared(start, xs, ts), slopes_of(start, xs, ts)
        if not near([loss.item()], [value]):
            if near([loss.item()], [value * count]):
                return almost("a sum")
            return not_yet(f"Its value is {loss.item():.5g}, and the mean of the squares is {value:.5g}.")
        if not loss.requires_grad:
            if called(answer, "item"):
                return almost("the error again")
            if called(answer, "tensor") and not called(answer, "detach"):
                return almost("numbers again")
            return not_yet("The loss has no history: somewhere between w and the loss the way still ends. Print "
                "requires_grad of each step.")
        if loss.is_leaf:
            return almost("the forum's line")
        leaves = [node.variable for node in nodes_behind(loss) if hasattr(node, "variable")]
        if all(leaf is not w for leaf in leaves):
            return almost("a leaf of errors")
        loss.backward()
        gradient = [now - (before or 0.0) for now in w.grad.tolist()]
        if near(gradient, [slope / 2 for slope in wanted], 1e-3):
            return almost("half a gradient")
        rows_alone = [slopes_of(start, [x], [t]) for x, t in zip(xs, ts, strict=True)]
        if count > 1 and any(near(gradient, [slope / count for slope in alone], 1e-3) for alone in rows_alone):
            return almost("one row only")
        if not near(gradient, wanted, 1e-3):
            return not_yet("A gradient arrives at w, but it is not that of the mean of the squares.")
    return correct("the loss leads back to w, on every path.")


LOSS = """\
def loss_of(torch, w, xs, ts):
    errors = []
    for x, t in zip(xs, ts, strict=True):
        error = (w * x).sum() - t
        errors.append((error * error).item())
    loss = torch.tensor(errors).mean()
    loss.requires_grad = True
    return loss"""
FLAG = "    loss.requires_grad = True\n"
SOLVED = (
    LOSS.replace("(error * error).item()", "error * error")
    .replace("torch.tensor(errors)", "torch.stack(errors)")
    .replace(FLAG, "")
    + "\n"
)

EX4 = Exercise(
    id="02.4", kind="diagnose", title="A bug report", minutes=8, difficulty=2, puzzles=(11,),
    question="“My model does not learn.” Repair loss_of: the same value, and after loss.backward() the "
    "gradient is in w.grad.",
    name="loss_of", starter=LOSS,
    hints=(
        "Take the flag out first. Then the message is right about something: where does the way from loss to w end?",
        "There are two places where numbers are taken out of their graph. Which two?",
    ),
    solution=SOLVED,
    why="item() took the errors out of the graph, and torch.tensor makes new leaves from numbers. Kept as "
    "tensors and stacked, they keep their history, and no flag is needed.",
    alternatives=(
        "def loss_of(torch, w, xs, ts):\n    total = 0\n    for x, t in zip(xs, ts, strict=True):\n"
        "        total = total + ((w * x).sum() - t) ** 2\n    return total / len(xs)\n",
        "def loss_of(torch, w, xs, ts):\n    errors = (torch.stack(xs) * w).sum(1) - torch.stack(ts)\n"
        "    return (errors * errors).mean()\n",
    ),
    mistakes=(
        Mistake("the forum's line", "The loss is a leaf with a flag: backward runs, and w.grad stays "
                "None. A flag silences the message and repairs nothing.",
                LOSS.replace("torch.tensor(errors)", "torch.tensor(errors, dtype=w.dtype)") + "\n"),
        Mistake("the error again", "Without the flag the message is back, and it is right. Your function "
                "calls item(): what that gives has no history, nor has what is made of it alone.",
                LOSS.replace(FLAG, "") + "\n"),
        Mistake("numbers again", "Nothing calls item() now, and still the loss has no history. torch.tensor, "
                "given results, reads the numbers out of them and makes a new leaf.",
                LOSS.replace("(error * error).item()", "error * error").replace(FLAG, "") + "\n"),
        Mistake("a leaf of errors", "The arrows end in a leaf that your function made. That leaf gets the "
                "gradient, and no arrow leads on to w.",
                LOSS.replace("torch.tensor(errors)", "torch.tensor(errors, requires_grad=True)").replace(FLAG, "")
                + "\n"),
        Mistake("half a gradient", "A gradient arrives, but only half of it, and the value is whole: so half of "
                "the value comes from something without a history. Look at both factors of the square.",
                SOLVED.replace("error * error", "error * error.item()")),
        Mistake("the flag left in", "The loss has a history now, and a result refuses the flag. Is the line still "
                "needed?", SOLVED.replace("    return loss", FLAG + "    return loss")),
        Mistake("guard: wrote into an argument, by a step",
                "",
                SOLVED.replace("    return loss", "    w.data -= 0.1\n    return loss")),
        Mistake("guard: wrote into an argument",
                "Your function was asked for a loss: the caller needs these values again.",
                SOLVED.replace("(w * x).sum()", "x.mul_(w).sum()")),
        Mistake("guard: changed a .grad",
                "Return the loss, and leave .grad to the caller.",
                SOLVED.replace("    return loss", "    loss.backward()\n    return loss")),
        Mistake("guard: changed a .grad, and cleared it", "",
                SOLVED.replace("    return loss", "    w.grad = None\n    return loss")),
        Mistake("guard: changed a container", "The caller's lists are the caller's.",
                SOLVED.replace("    errors = []", "    errors = ts").replace("for x, t in zip(xs, ts, strict=True)",
                "for place, (x, t) in enumerate(zip(xs, list(ts), strict=True))").replace(
                "errors.append(error * error)", "errors[place] = error * error")),
        Mistake("guard: changed a container, by popping", "",
                "def loss_of(torch, w, xs, ts):\n    total, count = 0, len(xs)\n    while xs:\n"
                "        total = total + ((w * xs.pop()).sum() - ts.pop()) ** 2\n    return total / count\n"),
        Mistake("one row only", "A gradient arrives, but of one row alone: the squares of the others are in the "
                "value, and no arrow leads back from them.",
                "def loss_of(torch, w, xs, ts):\n    total = 0\n    for x, t in zip(xs, ts, strict=True):\n"
                "        total = total.item() if isinstance(total, torch.Tensor) else total\n"
                "        total = total + ((w * x).sum() - t) ** 2\n    return total / len(xs)\n"),
        Mistake("one for each row", "Return one number, their mean. What you return has another number of elements.",
                SOLVED.replace(".mean()", "")),
        Mistake("a sum", "The value is the sum of the squares, where it was the mean.",
                SOLVED.replace(".mean()", ".sum()")),
    ),
    check=check_02_4,
)  # fmt: skip


# --- 02.5 ---------------------------------------------------------------------------------------------------

PRODUCTS = {"h1": ("x", "A"), "h2": ("h1", "B"), "h3": ("h2", "C"), "h4": ("h3", "D")}


def kept_in_truth(torch):
    """For each of the four products, the operands that its node holds."""
    tensors = {name: matrix(torch, 2, 2, name in "BD") for name in ("x", "A", "B", "C", "D")}
    found = {}
    for result, (left, right) in PRODUCTS.items():
        tensors[result] = tensors[left] @ tensors[right]
        node = tensors[result].grad_fn
        slots = [] if node is None else [node._saved_self, node._saved_mat2]
        found[result] = {name for name in (left, right) if any(slot is tensors[name] for slot in slots)}
    return found


def check_02_5(answer, torch):
    if not isinstance(answer, dict) or set(answer) != set(PRODUCTS):
        return not_yet("Keep the dictionary with the keys h1 to h4.")
    given = {result: set_of_names(names) for result, names in answer.items()}
    for result, names in given.items():
        if names is None or not names <= set(PRODUCTS[result]):
            left, right = PRODUCTS[result]
            return not_yet(f'For {result}, give a list with none, one or both of "{left}" and "{right}".')
    truth = kept_in_truth(torch)
    if given == truth:
        return correct("you know what each slope is made of, and which slopes nobody wants.")
    wrong = [result for result in PRODUCTS if given[result] != truth[result]]
    if all(names == set(PRODUCTS[result]) for result, names in given.items()):
        return almost("everything")
    if given["h2"] == {"B"} and given["h3"] == {"h2"}:
        return almost("itself")
    named = {result: WRONG_KEPT[result, frozenset(given[result])] for result in wrong
             if (result, frozenset(given[result])) in WRONG_KEPT}  # fmt: skip
    return judged_rows(wrong, list(PRODUCTS), named, "are right")


WRONG_KEPT = {  # (product, what was said to be kept): name of the mistake
    ("h1", frozenset({"x"})): "without a node",
    ("h1", frozenset({"A"})): "without a node",
    ("h1", frozenset({"x", "A"})): "without a node",
    ("h2", frozenset({"h1", "B"})): "slopes for plain results",
    ("h2", frozenset()): "plain is left out",
    ("h2", frozenset({"B"})): "the one that learns",
    ("h3", frozenset({"h2", "C"})): "frozen counts",
    ("h3", frozenset()): "frozen cuts",
    ("h3", frozenset({"h2"})): "the one that passes",
    ("h4", frozenset({"h3"})): "one of two",
    ("h4", frozenset({"D"})): "only what is behind",
}


KEPT = {"h1": [], "h2": ["h1"], "h3": ["C"], "h4": ["h3", "D"]}


def kept_but(**changed):
    return f"kept = {KEPT | changed!r}"


EX5 = Exercise(
    id="02.5", kind="predict saved", title="What is kept?", minutes=5, difficulty=2,
    question="`h1 = x @ A; h2 = h1 @ B; h3 = h2 @ C; h4 = h3 @ D`; only B and D require grad. Which of its "
    "two operands does each node keep?",
    name="kept", starter='kept = {"h1": None, "h2": None, "h3": None, "h4": None}',
    hints=(
        "In a product, the slope for one factor is made of the other.",
        "Write down first which of x, A, h1, B, h2, C, h3, D require grad. Only for those a slope is made.",
    ),
    solution=f"kept = {KEPT!r}",
    why="h1 is not recorded at all. h2 wants a slope for B only, made of h1. h3 wants one for h2 only, made "
    "of the frozen C. h4 wants both.",
    alternatives=(f"kept = dict(h4={{'h3', 'D'}}, h3={('C',)!r}, h2='h1', h1=[])",),
    mistakes=(
        Mistake("everything", "That is a node that keeps all it sees. It keeps what a slope is made of, if "
                "somebody wants that slope.",
                'kept = {"h1": ["x", "A"], "h2": ["h1", "B"], "h3": ["h2", "C"], "h4": ["h3", "D"]}'),
        Mistake("without a node", "h1: neither x nor A requires grad. The product is not recorded, so there "
                "is no node to keep anything.", kept_but(h1=["x"])),
        Mistake("the one that learns", "h2: B is what learns, and its slope is made of the other factor.",
                kept_but(h2=["B"])),
        Mistake("the one that passes", "h3: the slope is for h2, and it is made of the other factor.",
                kept_but(h3=["h2"])),
        Mistake("only what is behind", "h4: two slopes are wanted, for h3, on the way to B, and for D. You have "
                "what one of them is made of.", kept_but(h4=["D"])),
        Mistake("itself", "You let a node keep the factor that wants a slope. The slope for one factor is "
                "made of the *other*.", kept_but(h2=["B"], h3=["h2"])),
        Mistake("slopes for plain results", "h2: B would be kept for a slope for h1. h1 requires no grad, "
                "so nobody wants that slope.", kept_but(h2=["h1", "B"])),
        Mistake("frozen counts", "h3: h2 would be kept for a slope for C, and C is frozen.", kept_but(h3=["h2", "C"])),
        Mistake("frozen cuts", "h3: C wants no slope, but h2 does, and its slope is made of C. Being frozen "
                "does not mean being left out.", kept_but(h3=[])),
        Mistake("plain is left out", "h2: h1 is plain and wants no slope. But B wants one, and it is made of h1.",
                kept_but(h2=[])),
        Mistake("one of two", "h4: both factors require grad, h3 because of B. So two slopes are wanted.",
                kept_but(h4=["h3"])),
    ),
    check=check_02_5,
)  # fmt: skip


EXERCISES = [P1, P2, P3, EX1, EX2, EX3, EX4, EX5]
