"""Exercises of lesson 03: vector-Jacobian products, their weights, their rules and their cost."""

import math
import random

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import agree
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet


def numbers(*shape):
    """Nested lists of random numbers away from 0 and from each other's products."""
    if not shape:
        return random.choice((-1, 1)) * random.uniform(0.5, 2.0)
    return [numbers(*shape[1:]) for _ in range(shape[0])]


def plain(answer):
    """A prediction as numbers in lists: tensors and tuples become lists. None when it is anything else."""
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)):
        parts = [plain(part) for part in answer]
        return None if None in parts else parts
    return answer if type(answer) in (int, float) else None


WRITTEN = (
    "The same grad may be on its way to other nodes, and a saved operand belongs to the user: make a new tensor, "
    "without *=, += or a method ending in _."
)


# --- 03.p1 and 03.p2 -------------------------------------------------------------------------------


def two_outputs(torch, u=2.0, v=3.0):
    """The tensors of the first question: two leaves and their product and sum, side by side."""
    u, v = torch.tensor(u, requires_grad=True), torch.tensor(v, requires_grad=True)
    return u, v, torch.stack([u * v, u + v])


RAISES = {"it", "an", "a", "raise", "raises", "raised", "error", "errors", "exception", "runtimeerror"}


def check_03_p1(answer, torch):
    word = answer.lower() if isinstance(answer, str) else None
    if word and set(word.replace(".", " ").split()) <= RAISES:
        word = "raises"
    words = ("sum", "mean", "first", "table", "raises")
    if word and sum(each in word for each in words) > 1:
        return almost("two words")
    if word not in words:
        return not_yet('Give one of the words "sum", "mean", "first", "table", "raises".')
    _, _, y = two_outputs(torch)
    try:
        y.backward()
    except RuntimeError:
        return correct("with two outputs there is no obvious place to start.") if word == "raises" else almost(word)
    return not_yet("This library started all the same; that is news to the course.")


P1 = Exercise(
    id="03.p1", kind="predict", title="Two outputs, no weights", minutes=1, difficulty=1,
    question="`y` has two elements. What does `y.backward()` do: `sum`, `mean`, `first`, `table` or `raises`?",
    name="answer", starter="answer = None",
    hints=(
        "Each of the first four words is a sensible wish. How would backward know which one is yours?",
        "In lessons 00 to 02, what did every backward() start from?",
    ),
    solution='answer = "raises"',
    why="The sum, the mean and the first output have different gradients, so backward refuses to guess. Only a "
    "tensor with one element leaves no choice.",
    alternatives=('answer = "Raises"', 'answer = "it raises an error"'),
    mistakes=(
        Mistake("sum", "The sum is a fair guess, but only a guess: many losses want the mean. backward() does not "
                "choose for you; write y.sum().backward() if you mean the sum.", 'answer = "sum"'),
        Mistake("mean", "The mean would be convenient for losses and wrong for everything else. backward() does not "
                "choose for you; write y.mean().backward().", 'answer = "mean"'),
        Mistake("first", "Taking the first output would drop the others without a word, and hide mistakes.",
                'answer = "first"'),
        Mistake("table", "Then u.grad would need room for two slopes, but .grad has the shape of u, a single "
                "number.", 'answer = "table"'),
        Mistake("two words", "Those are two answers. Only one of them can happen: settle on it.",
                'answer = "raises or sum"'),
    ),
    check=check_03_p1,
)  # fmt: skip


def check_03_p2(answer, torch):
    given = plain(answer)
    u, v, y = two_outputs(torch)
    y.backward(gradient=torch.tensor([10.0, 1.0]))
    if given is not None and agree(given, [u.grad, v.grad]):
        return correct("each output's slopes count as often as its weight says.")
    named = (
        ([10, 1], "weights handed back"),
        ([4, 3], "no weights"),
        ([30, 20], "first output only"),
        ([[30, 20], [1, 1]], "a table"),
        ([21, 31], "exchanged"),
        ([31, 31], "one answer for both"),
        ([60, 5], "weighted outputs"),
        ([30, 1], "one output for each"),
        ([3, 2], "one slope each"),
        ([11, 11], "weights added"),
        ([40, 30], "one weight for both"),
    )
    for wrong, name in named:
        if given is not None and agree(given, wrong):
            return almost(name)
    if given is None or not isinstance(given, list) or len(given) != 2:
        return not_yet("Give two numbers in a list: u.grad and v.grad.")
    return not_yet("Find the slopes of u * v and of u + v first, then let the 10 and the 1 count them.")


P2 = Exercise(
    id="03.p2", kind="predict", title="Ten and one", minutes=2, difficulty=1,
    question="`y` is `[u * v, u + v]` at u = 2, v = 3. After `y.backward(gradient=[10, 1])`: u.grad and v.grad?",
    name="answer", starter="answer = None",
    hints=(
        "What is the slope of u * v for u? And that of u + v?",
        "The first output counts ten times, the second once; then add what arrives at u.",
    ),
    solution="answer = [31, 21]",
    why="u gets ten times the slope 3 of the product and once the slope 1 of the sum; v gets ten times 2, and 1.",
    alternatives=("answer = (31.0, 21.0)",),
    mistakes=(
        Mistake("weights handed back", "10 and 1 belong to the two outputs. They are multiplied by slopes on the way "
                "to u and v.", "answer = [10, 1]"),
        Mistake("no weights", "That is the gradient of the plain sum of both outputs: every weight 1. Here the first "
                "output counts ten times.", "answer = [4, 3]"),
        Mistake("first output only", "The second output has weight 1, not 0, and its slopes are 1 and 1: add them.",
                "answer = [30, 20]"),
        Mistake("a table", "These are the right contributions, one row an output. They meet at u and at v, and "
                "what meets is added.", "answer = [[30, 20], [1, 1]]"),
        Mistake("exchanged", "The slope of u * v for u is v, which is 3, not 2.", "answer = [21, 31]"),
        Mistake("one answer for both", "v has slopes of its own: that of u * v for v is u, which is 2.",
                "answer = [31, 31]"),
        Mistake("one output for each", "That pairs u with the first output and v with the second. Both outputs use "
                "both inputs, so each input gets two shares.", "answer = [30, 1]"),
        Mistake("one slope each", "Those are the slopes of the first output alone, unweighted. Each output has a slope "
                "for each input, and a weight.", "answer = [3, 2]"),
        Mistake("weights added", "You added the weights. On its way to u each of them is multiplied by the slope of "
                "its output, and those are not all 1.", "answer = [11, 11]"),
        Mistake("one weight for both", "10 is the weight of the first output only; you let it count the second one as "
                "well.", "answer = [40, 30]"),
        Mistake("weighted outputs", "You multiplied the outputs themselves, 6 and 5, by the weights. What travels "
                "back is slopes.", "answer = [60, 5]"),
    ),
    check=check_03_p2,
)  # fmt: skip


# --- 03.p3 ----------------------------------------------------------------------------------------


def check_03_p3(answer, torch):
    given = plain(answer)
    A, B = torch.tensor(numbers(2, 3)), torch.tensor(numbers(3, 2))
    c = torch.tensor(numbers(2), requires_grad=True)
    G = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
    (truth,) = torch.autograd.grad(A @ B + c, c, G)
    if given is not None and agree(given, truth):
        return correct("c is used once in each row, so its two gradients are added.")
    named = (
        ([[1, 2], [10, 20]], "not added"),
        ([[11, 22]], "two dimensions"),
        ([[11], [22]], "two dimensions"),
        ([1100, 4400], "times the value"),
        ([3, 30], "along the row"),
        ([5.5, 11], "averaged"),
        ([2, 2], "no weights"),
        ([1, 1], "one row, no weights"),
        (33, "one number"),
        ([1, 2], "first row"),
        ([10, 20], "last row"),
        ([[11, 22], [11, 22]], "in the shape of y"),
        ([[1, 1], [1, 1]], "a slope for each place"),
        (11, "half of it"),
    )
    for wrong, name in named:
        if given is not None and agree(given, wrong):
            return almost(name)
    return not_yet("c[0] is added in row 0 and in row 1. With which weights do these two places count?")


P3 = Exercise(
    id="03.p3", kind="predict", title="The gradient of the bias", minutes=2, difficulty=1,
    question="`y = A @ B + c` is 2 by 2, `c` has two numbers, and the weights are [[1, 2], [10, 20]]. The gradient "
    "for `c`?",
    name="answer", starter="answer = None",
    hints=(
        "Write y out: c[0] is added in how many places, and which weights do these have?",
        "A gradient has the shape of its tensor, and c has shape (2,).",
    ),
    solution="answer = [11, 22]",
    why="c[0] stands in both rows of column 0, with weights 1 and 10; c[1] in column 1, with 2 and 20. The slope of "
    "an addition is 1.",
    alternatives=("answer = (11.0, 22.0)",),
    mistakes=(
        Mistake("not added", "That has the shape of y. c has two numbers, and each stands in two places: its two "
                "gradients are added.", "answer = [[1, 2], [10, 20]]"),
        Mistake("two dimensions", "The numbers are right. c has one dimension, so its gradient has one as well.",
                "answer = [[11, 22]]"),
        Mistake("in the shape of y", "The two numbers are right, and c has only two: the rows of y are two uses of "
                "them, and the gradient does not repeat.", "answer = [[11, 22], [11, 22]]"),
        Mistake("a slope for each place", "The slope of each of the four places is 1. They still want their weights, "
                "and c has two numbers.", "answer = [[1, 1], [1, 1]]"),
        Mistake("half of it", "That is what c[0] gets. c has two numbers.", "answer = 11"),
        Mistake("times the value", "You multiplied by the values of c. What c holds does not matter: the slope of an "
                "addition is 1.", "answer = [1100, 4400]"),
        Mistake("along the row", "You added within the rows. c[0] is used down column 0, in both rows, so its "
                "weights are 1 and 10.", "answer = [3, 30]"),
        Mistake("averaged", "Two uses of one number add up; nothing divides by two.", "answer = [5.5, 11]"),
        Mistake("no weights", "That counts the uses of each number of c, with weight 1 each. G gives them other "
                "weights.", "answer = [2, 2]"),
        Mistake("one row, no weights", "The slope of an addition is 1, true, but each number is used twice, and "
                "G holds the weights of its uses.", "answer = [1, 1]"),
        Mistake("one number", "You added everything. c[0] and c[1] are different inputs, each with a gradient of "
                "its own.", "answer = 33"),
        Mistake("first row", "c was added to the second row, too.", "answer = [1, 2]"),
        Mistake("last row", "Nothing is overwritten: the first row used c as well, and uses add up.",
                "answer = [10, 20]"),
    ),
    check=check_03_p3,
)  # fmt: skip


# --- 03.1 -----------------------------------------------------------------------------------------

PROGRAMS = {
    "A": "y = x * x; y.backward(); got = x.grad",
    "B": "y = x * x; y.backward(torch.ones(2)); got = x.grad",
    "C": "y = x * x; y[1:].backward(); got = x.grad",
    "D": "y = x * x; y.backward(torch.ones(1)); got = x.grad",
    "E": "M = torch.zeros(3, 2); x.grad = torch.ones(3, 2); got = x.grad",
    "F": "S, T = torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]); got = T.T @ torch.ones(2, 2)",
    "G": "torch.autograd.grad((x * x).sum(), x); got = x.grad",
    "H": "got = torch.autograd.grad((x * x).sum(), [x, z], materialize_grads=True)[1]",
}
WISHES = {  # letter -> (in words, the function to differentiate, which of its inputs)
    "A": ("[2, 4], the gradient of the sum of x * x", lambda torch, x: (x * x).sum()),
    "B": ("[1, 2], the gradient of the mean of x * x", lambda torch, x: (x * x).mean()),
    "C": ("[0, 4], the gradient of the last element of x * x", lambda torch, x: (x * x)[1]),
    "D": ("[2, 4] again", lambda torch, x: (x * x).sum()),
    "E": ("[3, 3], the gradient of the sum of x + M", lambda torch, x: (x + torch.zeros(3, 2)).sum()),
    "F": ("the gradient of the sum of S @ T for S", None),
    "G": ("[2, 4] in x.grad", lambda torch, x: (x * x).sum()),
    "H": ("[0, 0], how much the sum of x * x depends on z", None),
}
HAPPENS = {
    "A": "raises at backward",
    "B": "silently wrong",
    "C": "fine",
    "D": "raises at backward",
    "E": "raises now",
    "F": "silently wrong",
    "G": "silently wrong",
    "H": "fine",
}
WRONG_HAPPENS = {
    ("A", "fine"): "guessed sum",
    ("A", "silently wrong"): "guessed sum",
    ("A", "raises now"): "a backward is a backward",
    ("B", "fine"): "ones are the mean",
    ("B", "raises at backward"): "weights are a cure",
    ("B", "raises now"): "ordinary squares",
    ("C", "raises at backward"): "one element is enough",
    ("C", "raises now"): "one element is enough",
    ("C", "silently wrong"): "slices are recorded",
    ("D", "fine"): "weights are broadcast",
    ("D", "silently wrong"): "weights are broadcast",
    ("D", "raises now"): "compared at the call",
    ("E", "fine"): "somebody sums",
    ("E", "silently wrong"): "somebody sums",
    ("E", "raises at backward"): "assignment is guarded",
    ("F", "fine"): "shapes prove nothing",
    ("F", "raises now"): "every order runs",
    ("F", "raises at backward"): "a product by hand",
    ("G", "fine"): "grad stores",
    ("G", "raises at backward"): "grad may be ignored",
    ("G", "raises now"): "grad may be ignored",
    ("H", "raises at backward"): "zeros were asked for",
    ("H", "raises now"): "zeros were asked for",
    ("H", "silently wrong"): "zeros are the answer",
}


def wanted_in(letter, torch):
    """What the comment of a program asks for, by another way than the program's."""
    if letter == "F":
        T = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        return [[(row.sum()).item() for row in T]] * 2  # each S[i, k] acts on row i with the slopes T[k, :]
    if letter == "H":
        return [0.0, 0.0]
    f, step, slopes = WISHES[letter][1], 1e-4, []
    for place in range(2):
        ends = []
        for sign in (1, -1):
            values = [1.0, 2.0]
            values[place] += sign * step
            ends.append(f(torch, torch.tensor(values, dtype=torch.float64)).item())
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return slopes


def what_happens(letter, torch):
    """Run a program statement by statement, and say which of the four outcomes it has."""
    space = {"torch": torch}
    for name, values in (("x", [1.0, 2.0]), ("z", [1.0, 1.0])):
        space[name] = torch.tensor(values, requires_grad=True)
    return happens(PROGRAMS[letter].split("; "), space, lambda space: agree(space["got"], wanted_in(letter, torch)))


def check_03_1(answer, torch):
    return check_table(
        answer, PROGRAMS, lambda letter: what_happens(letter, torch), WRONG_HAPPENS,
        shown="you know where a pass may start, what its weights mean, and who watches over shapes.",
    )


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX1 = Exercise(
    id="03.1", kind="which happens", title="Which happens?", minutes=7, difficulty=2,
    question="Each program starts with the leaves x = [1., 2.] and z = [1., 1.]: fine, raises now, raises at "
    "backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}` (wanted: {WISHES[letter][0]})" for letter, program in PROGRAMS.items()),
    name="happens",
    starter="happens = {" + ", ".join(f'"{letter}": None' for letter in PROGRAMS) + "}",
    hints=(
        "For A to D: how many elements does the tensor have on which backward is called, and which weights do they "
        "get?",
        "A shape that fits proves nothing. In F, check one element by hand; in G, ask where the result went.",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="A has two outputs and no weights, D one weight for two outputs. B weighs like the sum, not like the mean. "
    "y[1:] has one element. E hands over a gradient that nobody has summed. F multiplies in the wrong order, and "
    "square matrices hide it. G drops what grad returned. H asks for zeros and gets them.",
    alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",),
    mistakes=(
        Mistake("guessed sum", "A: x * x has two elements, and backward() does not guess that you meant their sum.",
                happens_but("A", "fine")),
        Mistake("a backward is a backward", "A: it raises, in the call of backward itself. “Raises now” stands for "
                "the ordinary lines.", happens_but("A", "raises now")),
        Mistake("ones are the mean", "B: weights of 1 count every output once. That is the sum; for the mean of two "
                "each weighs 1/2.", happens_but("B", "fine")),
        Mistake("weights are a cure", "B: with a weight for each output backward has a start, and it runs. Whether "
                "these weights are the ones that were wanted is another matter.",
                happens_but("B", "raises at backward")),
        Mistake("one element is enough", "C: y[1:] has shape (1,). It is no bare number, but it has one element, "
                "and that is enough to start from, with weight 1.", happens_but("C", "raises at backward")),
        Mistake("ordinary squares", "B: x * x is an ordinary line, and the pass has a weight for each output. Nothing "
                "is refused here; look at what the numbers mean.", happens_but("B", "raises now")),
        Mistake("slices are recorded", "C: taking a slice is an operation like any other. Backward through it gives "
                "the element that was left out a zero, as the comment wants.", happens_but("C", "silently wrong")),
        Mistake("weights are broadcast", "D: operands of an addition are broadcast, weights are not: one weight for "
                "two outputs is a mismatch.", happens_but("D", "fine")),
        Mistake("compared at the call", "D: it raises, but torch.ones(1) alone is an ordinary tensor. Its shape is "
                "compared in the call of backward.", happens_but("D", "raises now")),
        Mistake("somebody sums", "E: x has two numbers and the gradient six. The engine sums gradients that pass "
                "through it; one that you assign yourself must fit.", happens_but("E", "fine")),
        Mistake("assignment is guarded", "E: there is no backward in this program. The assignment itself compares "
                "the shapes, and raises.", happens_but("E", "raises at backward")),
        Mistake("shapes prove nothing", "F: all matrices are 2 by 2, so every order of factors runs. But the gradient "
                "for the left factor is the weights times T.T, not T.T times the weights.",
                happens_but("F", "fine")),
        Mistake("every order runs", "F: 2 by 2 times 2 by 2 runs in any order. So there is no error, and the numbers "
                "alone decide.", happens_but("F", "raises now")),
        Mistake("a product by hand", "F: no pass is run in this program. It writes the gradient down by hand.",
                happens_but("F", "raises at backward")),
        Mistake("grad stores", "G: autograd.grad returns gradients and stores none. Here the result was dropped, "
                "and x.grad is still None.", happens_but("G", "fine")),
        Mistake("grad may be ignored", "G: nothing is wrong with the call; its result is simply not used.",
                happens_but("G", "raises at backward")),
        Mistake("zeros are the answer", "H: the sum of x * x does not change when z does. So its slopes for z are 0, "
                "and the zeros are no stopgap but right.", happens_but("H", "silently wrong")),
        Mistake("zeros were asked for", "H: without materialize_grads this would raise, because z was never used. "
                "With it an unused input gets zeros, and zeros are wanted.",
                happens_but("H", "raises at backward")),
    ),
    check=check_03_1,
)  # fmt: skip


# --- 03.2 -----------------------------------------------------------------------------------------


def pair_of_tensors(answer, torch):
    """True for a pair of tensors: what a rule for two operands must return."""
    return isinstance(answer, (list, tuple)) and len(answer) == 2 and all(
        isinstance(part, torch.Tensor) for part in answer
    )


def check_03_2(answer, torch):
    for rows, inputs, outputs in ((3, 3, 3), (2, 3, 4), (4, 1, 2), (1, 2, 2), (1, 1, 1)):
        dtype = torch.float64 if inputs == 1 else torch.float32
        sizes = ((rows, inputs), (outputs, inputs), (rows, outputs))
        x, W, grad = (torch.tensor(numbers(*size), dtype=dtype) for size in sizes)
        leaves = [x.clone().requires_grad_(), W.clone().requires_grad_()]
        truth = torch.autograd.grad(leaves[0] @ leaves[1].T, leaves, grad)
        found = answer(torch, grad, x, W)
        if not pair_of_tensors(found, torch):
            return not_yet("Return two tensors: the gradient for x, then the one for W.")
        if all(agree(got, right) for got, right in zip(found, truth, strict=True)):
            if any(got.dtype != dtype for got in found):
                return almost("another dtype")
            continue
        if rows == inputs == outputs:  # with square matrices every order of factors runs, and can be recognised
            ones = torch.ones(rows, rows)
            wrong = {
                "exchanged": [(truth[1], truth[0])],
                "the lesson's rule": [(grad @ W.T, x.T @ grad)],
                "turned over": [(grad @ W, x.T @ grad)],
                "x turned over": [(W.T @ grad.T, x.T @ grad), (W.T @ grad.T, grad.T @ x)],
                "other side": [(W @ grad, x @ grad.T), (W @ grad, grad.T @ x)],
                "other side of W": [(grad @ W, x @ grad.T), (grad @ W, grad @ x.T)],
                "weight turned over": [(grad @ W.T, grad.T @ x)],
                "divided by the rows": [(grad @ W, grad.T @ x / rows), (grad @ W / rows, grad.T @ x / rows)],
                "only one": [(grad @ W, x), (W, grad.T @ x)],
                "weights forgotten": [(ones @ W, ones @ x)],
                "slopes only": [(W, x), (W.T, x.T), (W, x.T)],
                "element by element": [(grad * W, grad.T * x), (grad * W, grad * x), (grad * W.T, x.T * grad)],
            }
            for name, pairs in wrong.items():
                for pair in pairs:
                    if all(agree(got, expected) for got, expected in zip(found, pair, strict=True)):
                        return almost(name)
        for name, got, operand in zip("xW", found, (x, W), strict=True):
            if got.shape != operand.shape:
                return not_yet(
                    f"{name} had shape {tuple(operand.shape)}, and its gradient came back with {tuple(got.shape)}."
                )
        right = [name for name, got, wanted in zip("xW", found, truth, strict=True) if agree(got, wanted)]
        which = f"only the gradient for {right[0]} is right" if right else "neither gradient is right"
        return not_yet(f"With x {rows} by {inputs} and W {outputs} by {inputs}, {which}.")
    return correct("a layer runs backwards by two products, whichever way its weight is written down.")


def linear_rule(returned):
    return f"def linear_vjp(torch, grad, x, W):\n    return {returned}\n"


EX2 = Exercise(
    id="03.2", kind="write a row", title="The rule of a linear layer", minutes=5, difficulty=1,
    question="`nn.Linear` computes `x @ W.T`. `grad` holds the weights for that product. Return the gradients for "
    "`x` and for `W`.",
    name="linear_vjp", starter=linear_rule("None, None"),
    hints=(
        "Write down the shapes: x 2 by 3, W 4 by 3, grad 2 by 4. Which product of grad and W has the shape of x?",
        "Call W.T by the name B and use the rule of the lesson. What you get for B must then be turned over, to be a "
        "gradient for W.",
        "For square matrices the shapes do not decide. Output [i, j] adds up x[i, k] * W[j, k] for all k: which "
        "outputs does W[j, k] act on, and with which slopes?",
    ),
    solution=linear_rule("grad @ W, grad.T @ x"),
    why="With B = W.T the lesson's rule gives grad @ B.T = grad @ W for x, and x.T @ grad for B; turned over, that is "
    "grad.T @ x for W. No operand has to be turned over that was not.",
    alternatives=(
        linear_rule("(W.T @ grad.T).T, (x.T @ grad).T"),
        "def linear_vjp(torch, grad, x, W):\n"
        "    for_x = (grad.unsqueeze(2) * W.unsqueeze(0)).sum(1)\n"
        "    for_W = (grad.unsqueeze(2) * x.unsqueeze(1)).sum(0)\n"
        "    return for_x, for_W\n",
    ),
    mistakes=(
        Mistake("the lesson's rule", "That is the rule of x @ W. Here W is turned over first: with B = W.T, the B.T of "
                "the rule is W itself.", linear_rule("grad @ W.T, x.T @ grad")),
        Mistake("turned over", "The gradient for x is right. The other is worked out for W.T, where an output has a "
                "column; in W it has a row.", linear_rule("grad @ W, x.T @ grad")),
        Mistake("x turned over", "Every number is right, but the gradient for x is turned over: each gradient "
                "must have the shape of its tensor.", linear_rule("W.T @ grad.T, x.T @ grad")),
        Mistake("other side", "The factors are there, not all of them in their places. x is the left factor of the "
                "product, and in its gradient the weights take its place on the left.",
                linear_rule("W @ grad, x @ grad.T")),
        Mistake("other side of W", "The gradient for x is right. In the other, grad and x are both there, and each row "
                "of W belongs to an output: it wants the column of grad that belongs to it.",
                linear_rule("grad @ W, x @ grad.T")),
        Mistake("weight turned over", "The gradient for W is right. In the one for x, W has been turned over once "
                "more: the forward pass did that already.", linear_rule("grad @ W.T, grad.T @ x")),
        Mistake("divided by the rows", "You divide by the number of samples. If the loss is a mean, grad is that much "
                "smaller already; the rule of a product only adds.", linear_rule("grad @ W, grad.T @ x / x.shape[0]")),
        Mistake("only one", "One of the two is a product with grad, as it should be. The other operand's gradient "
                "needs its weights as well.", linear_rule("grad @ W, x")),
        Mistake("guard: changed a flag", "Asking autograd is fine, with leaves of your own: detach() and clone() make "
                "them.", "def linear_vjp(torch, grad, x, W):\n    x.requires_grad_()\n    W.requires_grad_()\n"
                "    return torch.autograd.grad(x @ W.T, [x, W], grad)\n"),
        Mistake("weights forgotten", "That is the gradient of the sum of all outputs: every weight is 1. Use the "
                "weights in grad.", linear_rule("torch.ones(*grad.shape) @ W, torch.ones(*grad.shape).T @ x")),
        Mistake("exchanged", "Both are right, in the wrong order: first the gradient for x, then the one for W.",
                linear_rule("grad.T @ x, grad @ W")),
        Mistake("slopes only", "W and x hold the slopes that the weights must be multiplied by. The weights themselves "
                "are missing.", linear_rule("W, x")),
        Mistake("element by element", "You multiplied element by element. Each element of x acts on a whole row of "
                "outputs, so products have to be added: use @.", linear_rule("grad * W, grad.T * x")),
        Mistake("another dtype", "The numbers are right. But a gradient has the dtype of its tensor, float32 or "
                "float64, and not both of yours have.", linear_rule("(grad @ W).float(), (grad.T @ x).float()")),
        Mistake("guard: wrote into an argument", WRITTEN + " A transposed view, .t(), leaves grad alone.",
                linear_rule("grad @ W, grad.t_() @ x")),
    ),
    check=check_03_2,
)  # fmt: skip


# --- 03.3 -----------------------------------------------------------------------------------------

LISTED = (((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 3), (2, 3)), ((1, 1), (2, 3)), ((), (2, 3)), ((2, 3), (2, 3)))
ALIKE = (((3,), (3, 3)), ((3, 1), (3, 3, 3)))  # sizes do not tell which dimension was put in front
PAIRS = (  # shapes of x and of m
    *LISTED,
    ((2, 3), (3,)),
    ((4, 1, 3), (2, 1)),
    ((3,), (4, 2, 3)),
    ((2, 1), (4, 2, 3)),
    ((1, 2, 1), (4, 2, 3)),
    ((1, 1, 1), (4, 1, 3)),
    ((), (4, 2, 3)),
    ((), ()),
    ((1,), (1,)),
    *ALIKE,
)


def product_shape(x_shape, m_shape):
    """The shape of the product of two shapes, laid side by side from the right."""
    n = max(len(x_shape), len(m_shape))
    both = ((1,) * (n - len(x_shape)) + x_shape, (1,) * (n - len(m_shape)) + m_shape)
    return tuple(a if b == 1 else b for a, b in zip(*both, strict=True))


def stretched(pair):
    """How many dimensions of size 1 of x the product has stretched."""
    x_shape, shape = pair[0], product_shape(*pair)
    return sum(a == 1 != b for a, b in zip(x_shape[::-1], shape[::-1], strict=False))


def in_front(pair):
    """How many dimensions the product has in front of those of x."""
    return len(product_shape(*pair)) - len(pair[0])


def try_03_3(answer, torch):
    """{pair of shapes: (what came back, the right gradient, grad, x, m)} for all PAIRS."""
    tried = {}
    for place, (x_shape, m_shape) in enumerate(PAIRS):
        dtype = torch.float64 if place % 3 == 2 else torch.float32
        x, m = torch.tensor(numbers(*x_shape), dtype=dtype), torch.tensor(numbers(*m_shape), dtype=dtype)
        leaf = x.clone().requires_grad_()
        product = leaf * m
        grad = torch.tensor(numbers(*product.shape), dtype=dtype)
        if grad.dim():
            grad[(0,) * grad.dim()] = 0.0  # a weight of 0 is a weight, too
        (truth,) = torch.autograd.grad(product, leaf, grad)
        found = answer(torch, grad.clone(), x.clone(), m.clone())
        if not isinstance(found, torch.Tensor):
            return None
        tried[x_shape, m_shape] = (found, truth, grad, x, m)
    return tried


def check_03_3(answer, torch):
    tried = try_03_3(answer, torch)
    if tried is None:
        return not_yet("Return one tensor: the gradient for x.")
    wrong = [pair for pair, (found, truth, *_) in tried.items() if not (found.shape == truth.shape
                                                                        and agree(found, truth))]  # fmt: skip
    if not wrong:
        if strange := [pair for pair, (found, truth, *_) in tried.items() if found.dtype != truth.dtype]:
            truth = tried[strange[0]][1]
            return not_yet(f"The numbers are right. x was {truth.dtype}, and its gradient came back as another dtype.")
        return correct("whatever broadcasting did, your rule takes it back.")
    name = name_of_values(*tried[LISTED[0]]) or name_of_shapes(tried, wrong)
    if name:
        return almost(name)
    pair = wrong[0]
    found, truth = tried[pair][:2]
    return not_yet(
        f"Right for {len(PAIRS) - len(wrong)} of {len(PAIRS)} pairs of shapes. For x of shape {pair[0]} and a product "
        f"of shape {product_shape(*pair)}, a gradient of shape {tuple(found.shape)} came back, and "
        + ("its values are not right." if found.shape == truth.shape else "x has another shape.")
    )


def name_of_values(found, truth, grad, x, m):
    """The mistake that gives these numbers for x of shape (3,) and a product of shape (2, 3), or None."""
    if found.shape == (2, 3) and agree(found, grad * m):
        return "not added"
    wrong = {
        "averaged": truth / 2, "first copy": (grad * m)[0], "last copy": (grad * m)[1], "weights forgotten": m.sum(0),
        "added apart": grad.sum(0) * m.sum(0), "own factor": (grad * x).sum(0), "no factor": grad.sum(0),
        "everything added": (grad * m).sum() + 0 * truth, "both factors": (grad * m * x).sum(0),
    }  # fmt: skip
    return next((name for name, value in wrong.items() if found.shape == (3,) and agree(found, value)), None)


def name_of_shapes(tried, wrong):
    """The mistake that explains for which shapes a rule is right and for which not, or None.

    Each is a question about all pairs at once: one wrong result may have many causes.
    """
    if all(found.numel() == truth.numel() and agree(found.reshape(-1), truth.reshape(-1))
           for found, truth, *_ in (tried[pair] for pair in wrong)):  # fmt: skip
        return "shape lost"
    if all(agree(found, (grad * m).sum(0) if grad.dim() else grad * m) for found, _, grad, _, m in tried.values()):
        return "always the first"
    if wrong == [pair for pair in tried if stretched(pair)] and all(
        agree(tried[pair][0], front_only(*tried[pair][2:])) for pair in wrong
    ):
        return "leading only"
    if set(wrong) <= set(ALIKE):
        return "sizes alike"
    if {pair for pair in tried if in_front(pair) > 1 and pair[0]} <= set(wrong) <= {
        pair for pair in tried if in_front(pair) > 1
    }:
        return "one in front"
    if wrong == [pair for pair in tried if stretched(pair) > 1]:
        return "one stretched"
    if not set(wrong) & set(LISTED):
        return "as listed"
    return None


def front_only(grad, x, m):
    """What a rule gives that takes back the dimensions in front and no others."""
    g = grad * m
    while g.dim() > x.dim():
        g = g.sum(0)
    return g


def mul_rule(*lines):
    return "def mul_vjp(torch, grad, x, m):\n" + "".join(f"    {line}\n" for line in lines)


LEAD = ("g = grad * m", "while g.dim() > x.dim():", "    g = g.sum(0)")
ONES = ("for d, size in enumerate(x.shape):", "    if size == 1:", "        g = g.sum(d, keepdim=True)", "return g")
EX3 = Exercise(
    id="03.3", kind="write a row", title="Undo the broadcast", minutes=8, difficulty=2,
    question="`grad` holds the weights for `x * m`. Return the gradient for `x`, in the shape of `x`, whatever was "
    "broadcast.",
    name="mul_vjp", starter=mul_rule("return grad * m"),
    hints=(
        "First ask what each single element of the product sends back. Then: which of these belong to the same element "
        "of x?",
        "Broadcasting does two things: it puts dimensions in front, and it stretches dimensions of size 1. Take back "
        "each in its own step.",
        "Adding with keepdim=True leaves a dimension of size 1 where it was.",
    ),
    solution=mul_rule(*LEAD, "for d, size in enumerate(x.shape):", "    if size == 1:",
                      "        g = g.sum(d, keepdim=True)", "return g"),
    why="grad * m holds one gradient for each use of an element of x. Dimensions put in front and dimensions "
    "stretched from 1 hold uses of the same element, so they are added; this is what the engine's fit does.",
    alternatives=(
        mul_rule(
            "g = grad * m",
            "lead = g.dim() - x.dim()",
            "for d in range(g.dim()):",
            "    if d < lead or x.shape[d - lead] == 1:",
            "        g = g.sum(d, keepdim=True)",
            "return g.reshape(x.shape)",
        ),
        mul_rule(
            "g = grad * m",
            "for d in range(1, x.dim() + 1):",
            "    if x.shape[-d] != g.shape[-d]:",
            "        g = g.sum(-d, keepdim=True)",
            "return g.sum(list(range(g.dim() - x.dim()))) if g.dim() > x.dim() else g",
        ),
        mul_rule("leaf = x.detach().clone().requires_grad_()",
                 "return torch.autograd.grad(leaf.expand(grad.shape), leaf, grad * m)[0]"),
    ),
    mistakes=(
        Mistake("not added", "Every element of that is right, and it has the shape of the product. Elements that "
                "belong to the same element of x must be added.", mul_rule("return m * grad")),
        Mistake("averaged", "You took the mean over the copies. Each use of a number adds its share; nothing divides.",
                mul_rule("g = grad * m", "return g.mean(0) if x.dim() < g.dim() else g")),
        Mistake("first copy", "You kept the gradient of the first copy and dropped the others. They are uses of the "
                "same numbers, too.", mul_rule("g = grad * m", "return g[0] if x.dim() < g.dim() else g")),
        Mistake("last copy", "You kept the gradient of the last copy, as if it replaced the others. Uses add up.",
                mul_rule("g = grad * m", "while g.dim() > x.dim():", "    g = g[-1]", "return g")),
        Mistake("both factors", "The slope of x * m for x is m alone. x itself does not come in.",
                mul_rule("g = grad * m * x", *LEAD[1:], "return g")),
        Mistake("one in front", "You take back one dimension that was put in front. There may be several: x of shape "
                "(3,) has two in front of it when the product is (4, 2, 3).",
                mul_rule("g = grad * m", "if x.dim() == 0:", "    return g.sum()", "if g.dim() > x.dim():",
                         "    g = g.sum(0)", *ONES)),
        Mistake("one stretched", "You take back one dimension of size 1. In x of shape (1, 1) two are stretched.",
                mul_rule(*LEAD, "for d, size in enumerate(x.shape):", "    if size == 1:",
                         "        return g.sum(d, keepdim=True)", "return g")),
        Mistake("as listed", "Right for each shape that the question lists, and not for other products. Ask how x "
                "differs from its product, whatever the two shapes are.",
                mul_rule("g = grad * m", "if x.shape == (3,):", "    return g.sum(0)", "if x.shape == (1, 3):",
                         "    return g.sum(0, keepdim=True)", "if x.shape == (2, 1):",
                         "    return g.sum(1, keepdim=True)", "if x.numel() == 1:",
                         "    return g.sum().reshape(x.shape)", "return g")),
        Mistake("added apart", "You added grad and m separately and multiplied the sums. The products must be made "
                "first, one for each use, and then added.", mul_rule("return grad.sum(0) * m.sum(0)")),
        Mistake("own factor", "The slope of x * m for x is the other factor, m, not x.",
                mul_rule("g = grad * x", "return g.sum(0) if x.dim() < g.dim() else g")),
        Mistake("no factor", "That is the rule of an addition: the factor m is missing.",
                mul_rule("return grad.sum(0)")),
        Mistake("weights forgotten", "That is the gradient of the plain sum of the product. The weights in grad are "
                "missing.", mul_rule("return m.sum(0)")),
        Mistake("everything added", "You added all elements of the product. Each element of x has uses of its own, and "
                "only those are added.",
                mul_rule("g = (grad * m).sum()", "return g + 0 * x if x.dim() else g")),
        Mistake("guard: wrote into an argument", WRITTEN + " grad times m is new already.",
                mul_rule("grad *= m", *LEAD[1:], "for d, size in enumerate(x.shape):",
                "    if size == 1:", "        g = g.sum(d, keepdim=True)", "return g").replace(
                "    while g", "    g = grad\n    while g", 1)),
        Mistake("always the first", "You always add along the first dimension. Which dimensions were broadcast "
                "depends on the shape of x: with (2, 1) it is the last.", mul_rule("return (grad * m).sum(0)")),
        Mistake("leading only", "Dimensions that were put in front are taken back. A dimension of size 1 that was "
                "stretched is not: x of shape (2, 1) stands in every column.", mul_rule(*LEAD, "return g")),
        Mistake("sizes alike", "Right as long as the sizes differ. With x of shape (3,) and a product (3, 3), sizes do "
                "not tell which dimension was put in front: shapes are laid side by side from the right.",
                mul_rule("g = grad * m", "for d in reversed(range(g.dim())):", "    if g.shape[d] not in x.shape:",
                         "        g = g.sum(d)", "return g.reshape(x.shape) if g.numel() == x.numel() else g")),
        Mistake("shape lost", "The numbers are right, the shape is not: a dimension of size 1 must stay.",
                mul_rule(*LEAD, "for d in range(x.dim() - 1, -1, -1):", "    if x.shape[d] == 1:",
                         "        g = g.sum(d)", "return g")),
    ),
    check=check_03_3,
)  # fmt: skip


# --- 03.4 -----------------------------------------------------------------------------------------


def check_03_4(answer, torch):
    for size, signed in ((3, False), (5, False), (2, False), (4, True), (1, True)):
        x = torch.tensor(numbers(size), requires_grad=True)
        shares = x.exp() / x.exp().sum()
        grad = torch.tensor([1.0 + abs(value) for value in numbers(size)])  # its sum is far from 0 and 1
        if signed:
            grad = torch.tensor([*numbers(size - 1), 0.0])
        (truth,) = torch.autograd.grad(shares, x, grad)
        s = shares.detach()
        found = answer(torch, grad.clone(), s.clone())
        if not isinstance(found, torch.Tensor):
            return not_yet("Return one tensor: the gradient for x.")
        if found.shape == truth.shape and agree(found, truth):
            continue
        mixed, again = (grad * s).sum(), s.exp() / s.exp().sum()
        wrong = {
            "diagonal only": grad * s * (1 - s), "own share only": grad * s, "others only": -s * mixed,
            "not scaled": grad - mixed, "plain sum": s * (grad - grad.sum()), "added": s * (grad + mixed),
            "weights forgotten": grad * 0, "sign": s * (mixed - grad), "diagonal twice": grad * s * (1 - s) - s * mixed,
            "a mean": s * (grad - mixed / size), "log softmax": grad - s * grad.sum(), "weights of the square":
            s * grad - s * s * grad.sum(), "half scaled": s * grad - mixed, "no eye": grad - s * mixed,
            "slopes of the diagonal": s * (1 - s), "softmax of the shares": again * (grad - (grad * again).sum()),
        }
        for name, value in wrong.items():
            if found.shape == value.shape and agree(found, value):
                return almost(name)
        if found.shape == (size, size):
            return almost("a table")
        if found.shape != truth.shape:
            return not_yet(f"x has shape {tuple(truth.shape)}, what came back has shape {tuple(found.shape)}.")
        return not_yet("The values are not grad times the table. For two numbers, write the table down and multiply.")
    return correct(
        "your rule agrees with autograd for any weights. With a table or without? L.solution needs only one sum."
    )


def softmax_rule(*lines):
    return "def softmax_vjp(torch, grad, s):\n" + "".join(f"    {line}\n" for line in lines)


EX4 = Exercise(
    id="03.4", kind="write a row", title="The rule of softmax", minutes=8, difficulty=3,
    question="The slope of `s[i]` for `x[j]` is `s[i] * (1 - s[i])` if i is j, else `-s[i] * s[j]`. Given s and the "
    "weights grad for it, return the gradient for x.",
    name="softmax_vjp", starter=softmax_rule("return grad"),
    hints=(
        "The gradient for x[j] is the sum over i of grad[i] times the slope of s[i] for x[j].",
        "Both cases of the slope have -s[i] * s[j] in them; the diagonal has s[i] in addition. Sum the two parts "
        "separately.",
        "In the sum over i of grad[i] * s[i] * s[j], which factor does not depend on i?",
    ),
    solution=softmax_rule("return s * (grad - (grad * s).sum())"),
    why="The diagonal gives grad[j] * s[j]; the rest gives -s[j] times one number, the sum of grad * s, which is the "
    "same for every j. So n numbers and one sum do the work of n * n slopes.",
    alternatives=(
        softmax_rule("J = torch.eye(len(s)) * s - torch.outer(s, s)", "return grad @ J"),
        softmax_rule("return grad * s - s * (grad * s).sum()"),
    ),
    mistakes=(
        Mistake("diagonal only", "That is the diagonal alone, as if s[i] depended on x[i] only. Raise one x, and all "
                "other shares shrink.", softmax_rule("return grad * s * (1 - s)")),
        Mistake("own share only", "That treats the denominator as a constant. It holds every x, so each share "
                "depends on all of them.", softmax_rule("return grad * s")),
        Mistake("others only", "The part that is common to all i is there; the diagonal has s[i] in addition, with "
                "weight grad[i].", softmax_rule("return -s * (grad * s).sum()")),
        Mistake("a mean", "You took the mean of grad * s. The slopes of all s[i] for x[j] are added up, and nothing "
                "divides by their number.", softmax_rule("return s * (grad - (grad * s).mean())")),
        Mistake("log softmax", "That is the rule of log_softmax, the logarithm of the shares. The shares themselves "
                "have the slopes of the question.", softmax_rule("return grad - s * grad.sum()")),
        Mistake("softmax of the shares", "You took s for x, and made shares of the shares. s is what softmax gave.",
                softmax_rule("x = s.clone().requires_grad_()", "y = x.exp() / x.exp().sum()",
                             "return torch.autograd.grad(y, x, grad)[0]")),
        Mistake("half scaled", "The diagonal part has its factor s[j]. In the sum over all i, each slope -s[i] * s[j] "
                "has one too.", softmax_rule("return s * grad - (grad * s).sum()")),
        Mistake("no eye", "The second part is right. On the diagonal stands s[j] times the weight, not the weight "
                "alone.",
                softmax_rule("J = torch.eye(len(s)) - torch.outer(s, s)", "return grad @ J")),
        Mistake("slopes of the diagonal", "Those are the slopes on the diagonal, without a weight, and without all the "
                "slopes beside it.", softmax_rule("return s * (1 - s)")),
        Mistake("weights of the square", "In the sum over i of grad[i] * s[i] * s[j] you replaced s[i] by s[j]: each "
                "weight goes with the share of its own output.", softmax_rule("return s * grad - s * s * grad.sum()")),
        Mistake("not scaled", "The bracket is right. Every slope for x[j] also has the factor s[j].",
                softmax_rule("return grad - (grad * s).sum()")),
        Mistake("plain sum", "You added the weights alone. In the sum over i, each weight is multiplied by its "
                "share s[i].", softmax_rule("return s * (grad - grad.sum())")),
        Mistake("added", "The sign: off the diagonal the slopes are negative, because the shares compete.",
                softmax_rule("return s * (grad + (grad * s).sum())")),
        Mistake("sign", "Every number is right but for its sign: raise x[j], and its own share s[j] grows.",
                softmax_rule("return s * ((grad * s).sum() - grad)")),
        Mistake("diagonal twice", "The slope for i = j is in there twice: s[j] * (1 - s[j]) on the diagonal, and once "
                "more -s[j] * s[j] in the sum over all i.",
                softmax_rule("return grad * s * (1 - s) - s * (grad * s).sum()")),
        Mistake("a table", "A table came back. What is wanted is weights times table: for each x one number, the sum "
                "over i of grad[i] times the slope of s[i].",
                softmax_rule("J = torch.eye(len(s)) * s - torch.outer(s, s)", "return grad * J")),
        Mistake("weights forgotten", "That comes to zero: in each column the slopes alone add up to 0, for the shares "
                "always add up to 1. Every slope of s[i] must get its own weight, grad[i], before they are added.",
                softmax_rule("return s * (1 - s.sum())")),
        Mistake("guard: wrote into an argument", WRITTEN + " A difference is a new tensor, too.",
                softmax_rule("grad -= (grad * s).sum()", "return s * grad")),
    ),
    check=check_03_4,
)  # fmt: skip


# --- 03.5 -----------------------------------------------------------------------------------------


def mean_of_losses(torch, letter):
    """Report 1: does the change give the gradient of the mean loss?"""
    x, t = torch.tensor(numbers(8)), torch.tensor(numbers(8))
    w = torch.tensor(0.7, requires_grad=True)
    loss = (x * w - t) ** 2
    changes = {
        "a": lambda: loss.backward(torch.ones(8)),
        "b": lambda: loss[0].backward(),
        "c": lambda: loss.mean().backward(),
    }
    changes[letter]()
    slopes = [2 * (a * 0.7 - b) * a for a, b in zip(x.tolist(), t.tolist(), strict=True)]
    return agree(w.grad, sum(slopes) / 8)


def bias_by_hand(torch, letter):
    """Report 2: does the change give the gradient of the bias?"""
    bias, g = torch.tensor(numbers(3), requires_grad=True), torch.tensor(numbers(8, 3))
    (truth,) = torch.autograd.grad(torch.zeros(8, 3) + bias, bias, g)
    bias.grad = {"a": lambda: g.sum(0), "b": lambda: g.mean(0), "c": lambda: g[0]}[letter]()
    return agree(bias.grad, truth)


def unused_input(torch, letter):
    """Report 3: can the squares of all gradients be added?"""
    w, extra = torch.tensor(numbers(2), requires_grad=True), torch.ones(2, requires_grad=True)
    change = {"a": {"retain_graph": True}, "b": {"materialize_grads": True}, "c": {"allow_unused": True}}[letter]
    try:
        gradients = torch.autograd.grad((w * w).sum(), [w, extra], **change)
        total = sum((gradient * gradient).sum().item() for gradient in gradients)
    except (RuntimeError, TypeError):
        return False
    return agree(total, sum(4 * value * value for value in w.tolist()))


def measured_slope(torch, letter):
    """Report 4: is the measured slope of w**3 at 1 within a hundredth of 3?"""
    dtype, step = {"a": (torch.float64, 1e-5), "b": (torch.float32, 1e-12), "c": (torch.float32, 1.0)}[letter]
    w = torch.tensor(1.0, dtype=dtype)
    return abs(((w + step) ** 3 - w**3).item() / step - 3) < 0.03


REPORTS = {1: mean_of_losses, 2: bias_by_hand, 3: unused_input, 4: measured_slope}
CURES = {1: "c", 2: "a", 3: "b", 4: "a"}


def check_03_5(answer, torch):
    if not isinstance(answer, dict) or set(answer) != set(REPORTS):
        return not_yet("Keep the dictionary with the keys 1, 2, 3 and 4.")
    given = answer
    if strange := [number for number, letter in given.items() if letter not in ("a", "b", "c")]:
        return not_yet(f"Report {strange[0]}: choose one of the letters a, b, c.")
    wrong = [number for number, works in REPORTS.items() if not works(torch, given[number])]
    named = {number: f"{number}{given[number]}" for number in wrong}
    judged = judged_rows(wrong, list(REPORTS), named, "changes do what was wanted")
    return judged or correct("you can tell a cure from something that only ends the message.")


def cures_but(number, letter):
    return f"cures = {CURES | {number: letter}!r}"


EX5 = Exercise(
    id="03.5", kind="diagnose", title="Four bug reports", minutes=6, difficulty=2,
    question="Which change, a, b or c, does what each of the four reports wants?",
    name="cures", starter="cures = {1: None, 2: None, 3: None, 4: None}",
    hints=(
        "A change that makes the message go away need not give the number that was wanted. Compute that number in your "
        "head for two samples.",
        "Report 4: float32 keeps about seven digits. What is 1 + 0.00000001 in seven digits?",
    ),
    solution=f"cures = {CURES!r}",
    why="The mean is a tensor with one element, and its gradient is the one that was wanted. The bias is used once for "
    "each sample, so gradients add. Zeros come from materialize_grads. And a difference needs digits to live on.",
    alternatives=('cures = {1: "C", 2: "A", 3: "B", 4: "A"}',),
    mistakes=(
        Mistake("1a", "Report 1: eight weights of 1 give the gradient of the sum, eight times too large for the "
                "mean. The message is gone, and the learning rate is off by 8.", cures_but(1, "a")),
        Mistake("1b", "Report 1: that is the gradient of the first sample. Seven are never learned from.",
                cures_but(1, "b")),
        Mistake("2b", "Report 2: whether the loss is a mean is already in g. The eight uses of the bias are added, as "
                "any uses are.", cures_but(2, "b")),
        Mistake("2c", "Report 2: that has the right shape, and it is the gradient of the first sample only.",
                cures_but(2, "c")),
        Mistake("3a", "Report 3: retain_graph keeps the graph for another pass. extra is still in no graph, and the "
                "message stays.", cures_but(3, "a")),
        Mistake("3c", "Report 3: allow_unused gives None in the place of extra, and squaring None raises on the next "
                "line.", cures_but(3, "c")),
        Mistake("4b", "Report 4: a smaller step makes it worse. 1 + 1e-12 is still exactly 1 in float32, and the "
                "difference is 0.", cures_but(4, "b")),
        Mistake("4c", "Report 4: (8 - 1) / 1 is 7. A step of 1 measures a chord far from the slope of a curve.",
                cures_but(4, "c")),
    ),
    check=check_03_5,
)  # fmt: skip


# --- 03.6 -----------------------------------------------------------------------------------------

SIZES = (100, 20, 5, 2)


def counted(torch):
    """The three costs, counted while the products are really made."""
    spent = []

    def times(a, b):
        spent.append(a.shape[0] * b.numel())
        return a @ b

    def total():
        number = sum(spent)
        spent.clear()
        return number

    J1, J2, J3 = (torch.ones(after, before) for before, after in zip(SIZES, SIZES[1:], strict=False))
    times(times(times(torch.ones(1, SIZES[-1]), J3), J2), J1)
    one = total()
    times(times(times(torch.eye(SIZES[-1]), J3), J2), J1)
    backwards = total()
    times(J3, times(J2, times(J1, torch.eye(SIZES[0]))))
    return {"one pass": one, "backwards": backwards, "forwards": total()}


COST = {"one pass": 2110, "backwards": 4220, "forwards": 211000}


def check_03_6(answer, torch):
    if not isinstance(answer, dict) or any(type(answer.get(name)) not in (int, float) for name in COST):
        return not_yet("Put a number in the place of each None; keep the three names.")
    truth = counted(torch)
    if all(answer[name] == truth[name] for name in COST):
        return correct("one pass an output backwards, one pass an input forwards, and you can price both.")
    one, backwards, forwards = (answer[name] for name in COST)
    first, last = SIZES[0], SIZES[-1]
    if one == truth["backwards"]:
        return almost("two sets of weights")
    if one == sum(SIZES[1:]) or one == sum(SIZES):
        return almost("one a number")
    if one == math.prod(SIZES) or one == 2000 * 100 * 10:
        return almost("multiplied")
    if one == SIZES[0] * SIZES[1]:
        return almost("the largest step")
    if one != truth["one pass"]:
        return not_yet("Begin with one pass: a row of weights times a 2 by 5 table, then 5 by 20, then 20 by 100.")
    if backwards == truth["forwards"] and forwards == truth["backwards"]:
        return almost("exchanged")
    if backwards == one:
        return almost("one output only")
    if forwards == one:
        return almost("one direction only")
    if backwards == truth["backwards"] - last * last * SIZES[-2] or forwards == truth["forwards"] - first * 2000:
        return almost("first step free")
    if backwards == forwards:
        return almost("one price")
    if backwards == truth["forwards"] or forwards == truth["backwards"]:
        return almost("exchanged")
    return not_yet("How many passes are needed for the whole table, in each direction? Each costs the same.")


def cost_but(**changed):
    return f"cost = {COST | {name.replace('_', ' '): value for name, value in changed.items()}!r}"


EX6 = Exercise(
    id="03.6", kind="predict state", title="What does it cost?", minutes=5, difficulty=2,
    question="A chain 100 → 20 → 5 → 2 of three matrix steps: multiplications for one backward pass, for the whole "
    "Jacobian by backward passes, and for it by forward passes?",
    name="cost", starter='cost = {"one pass": None, "backwards": None, "forwards": None}',
    hints=(
        "A row of n weights times a table of n by m takes n * m multiplications. Add the three steps.",
        "Backwards, one pass gives one row of the Jacobian. Forwards, one pass gives one column.",
    ),
    solution=f"cost = {COST!r}",
    why="A pass touches every slope once: 10 + 100 + 2000. The Jacobian has 2 rows and 100 columns, so backwards takes "
    "2 passes and forwards 100.",
    alternatives=('cost = {"one pass": 10 + 100 + 2000, "backwards": 2 * 2110, "forwards": 100 * 2110}',),
    mistakes=(
        Mistake("two sets of weights", "That is the price of two passes. One pass carries one row of weights, a number "
                "for each output.", cost_but(one_pass=4220)),
        Mistake("one a number", "You counted one multiplication for each number that is passed on. Each of them is a "
                "sum of products: a row of n weights times an n by m table takes n * m.", cost_but(one_pass=27)),
        Mistake("multiplied", "You multiplied. The three steps are done one after the other, so their costs are "
                "added.", cost_but(one_pass=2000000)),
        Mistake("the largest step", "That is one of the three steps, the largest. A pass goes through all of them.",
                cost_but(one_pass=2000)),
        Mistake("exchanged", "The other way round: a backward pass serves one output, and there are only 2 of them; a "
                "forward pass serves one input, and there are 100.", cost_but(backwards=211000, forwards=4220)),
        Mistake("one price", "A pass costs the same in both directions, but the number of passes is another: one "
                "for each output backwards, one for each input forwards.", cost_but(forwards=4220)),
        Mistake("one output only", "One backward pass gives one row. The chain has two outputs, so the Jacobian has "
                "two rows.", cost_but(backwards=2110)),
        Mistake("one direction only", "One forward pass tells what one input does. There are 100.",
                cost_but(forwards=2110)),
        Mistake("first step free", "That is the price of multiplying the Jacobians with each other, without the rows "
                "of weights 1 and 0. Clever, but a pass starts from weights; count all three steps of each pass.",
                cost_but(forwards=11000)),
    ),
    check=check_03_6,
)  # fmt: skip


EXERCISES = [P1, P2, P3, EX1, EX2, EX3, EX4, EX5, EX6]
