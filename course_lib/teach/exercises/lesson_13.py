"""Exercises of lesson 13: gradients that are differentiated again, and how their history gets lost."""

import contextlib
import functools
import gc
import inspect
import random
import warnings
import weakref

from course_lib.teach.exercises import shared
from course_lib.teach.exercises.outcomes import check_cures, check_table, happens, outcome_table
from course_lib.teach.exercises.shared import array, as_names, finite_differences, flat, leaf
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

IN_PLACE = "modified by an inplace operation"
NO_HISTORY = "does not require grad"
UNUSED = "appears to not have been used"


def near(found, wanted, tolerance=1e-6):
    """Two tensors have one shape and agree."""
    return shared.alike(found, wanted, tolerance)


@contextlib.contextmanager
def no_collector():
    """Without the garbage collector, so that a ring is still there when we look; collected afterwards."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextlib.contextmanager
def quiet():
    """Without the warning that PyTorch gives of backward(create_graph=True): the checks say it in their own words."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*")
        yield


# --- 13.p1 ----------------------------------------------------------------------------------------


def check_13_p1(answer, torch):
    if isinstance(answer, (int, float)):
        answer = [answer]
    if isinstance(answer, str):
        answer = [int(word) for word in as_names(answer) if word.isdigit()]
    if not isinstance(answer, (list, tuple, set)) or not all(part in (1, 2, 3) for part in answer):
        return not_yet("Give a list with some of the numbers 1, 2 and 3; it may be empty.")
    given = set(answer)
    x = leaf(torch, 2.0)
    g = x**3
    try:
        for number in (1, 2, 3):
            (g,) = torch.autograd.grad(g, x, create_graph=number in given)
        runs = True
    except RuntimeError:
        runs = False
    if runs and len(given) == 2:
        return correct("a pass is recorded for the sake of the one that follows it.")
    named = {
        (1, 2, 3): "all three",
        (1,): "the first",
        (2,): "the second",
        (3,): "the last",
        (2, 3): "not the first",
        (1, 3): "not the second",
        (): "none",
    }
    return almost(named[tuple(sorted(given))])


P1 = Exercise(
    id="13.p1", kind="predict", title="Three derivatives", minutes=2, difficulty=1, puzzles=(),
    question="Three calls of `grad`, one on the result of the other: which need `create_graph=True`?",
    name="answer", starter="answer = None",
    hints=(
        "Of which tensors is a derivative taken? Those must have a history.",
        "The result of call 3 is printed and no more. Does a number that is only printed need a history?",
    ),
    solution="answer = [1, 2]",
    why="Call 2 differentiates the result of call 1, and call 3 that of call 2. Nobody differentiates the result of "
    "call 3.",
    alternatives=("answer = (2, 1)", "answer = {1, 2}", 'answer = "1, 2"'),
    mistakes=(
        Mistake("all three",
                "It would run, but the third is too much: nobody differentiates its result, and a recorded pass "
                "releases nothing.", "answer = [1, 2, 3]"),
        Mistake("the first",
                "With this, call 2 runs. Its result is again a plain number, and call 3 cannot differentiate it.",
                "answer = [1]"),
        Mistake("the second",
                "The program does not get that far: call 2 asks for the derivative of a gradient without a history.",
                "answer = [2]"),
        Mistake("the last",
                "The other way round: the last is the one call whose result nobody differentiates.", "answer = [3]"),
        Mistake("not the first",
                "y has a history, so call 1 runs. But what call 1 returns must have one too, for call 2.",
                "answer = [2, 3]"),
        Mistake("not the second",
                "Being recorded is not handed on: every call that should leave a history must say so.",
                "answer = [1, 3]"),
        Mistake("none",
                "Then every gradient is a plain number. The program stops at call 2.", "answer = []"),
    ),
    check=check_13_p1,
)  # fmt: skip


# --- 13.p2 ----------------------------------------------------------------------------------------


def what_the_penalty_gives(torch):
    """ "numbers", "zeros" or "none" for W1, b1, W2, b2 of a random critic."""
    W1, b1 = array(torch, 2, 3, low=0.5, high=1.5, requires_grad=True), array(torch, 3, low=0.2, requires_grad=True)
    W2, b2 = array(torch, 3, 1, low=0.5, high=1.5, requires_grad=True), array(torch, 1, requires_grad=True)
    x = array(torch, 4, 2, low=0.5, requires_grad=True)
    scores = torch.relu(x @ W1 + b1) @ W2 + b2
    (g,) = torch.autograd.grad(scores.sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()
    grads = [p.grad for p in (W1, b1, W2, b2)]
    return ["none" if grad is None else "numbers" if any(flat(grad)) else "zeros" for grad in grads]


def check_13_p2(answer, torch):
    if isinstance(answer, dict):
        answer = [answer.get(name) for name in ("W1", "b1", "W2", "b2")]
    if not isinstance(answer, (list, tuple)) or len(answer) != 4:
        return not_yet('Give a list of four words, for W1, b1, W2, b2: "numbers", "zeros" or "None".')
    given = [str(word).strip().lower() for word in answer]
    if any(word not in ("numbers", "zeros", "none") for word in given):
        return not_yet('Each of the four is "numbers", "zeros" or "None".')
    truth = what_the_penalty_gives(torch)
    if given == truth:
        return correct("the penalty moves the weights, and it knows nothing of where the critic stands.")
    W1, b1, W2, b2 = given
    if given == ["numbers"] * 4:
        return almost("as for the scores")
    if W1 == "none" or W2 == "none":
        return almost("no way to the weights")
    if "zeros" in (W1, W2):
        return almost("constant weights")
    if b2 == "numbers":
        return almost("the last bias")
    if b1 == "numbers":
        return almost("the first bias")
    if (b1, b2) == ("zeros", "zeros"):
        return almost("zeros for both")
    if (b1, b2) == ("none", "none"):
        return almost("None for both")
    return almost("the other way round")


P2 = Exercise(
    id="13.p2", kind="predict", title="Who feels the penalty?", minutes=3, difficulty=2, puzzles=(),
    question="What does a penalty on the slopes for x leave in the .grad of W1, b1, W2, b2?",
    name="answer", starter="answer = None",
    hints=(
        "Write down the slopes of one score for x: which of the four letters stand in them?",
        "relu's backward reads its result (where is it positive?), and that depends on W1 and b1. What was the second "
        "derivative of relu a moment ago: no path, or a path with a number?",
        "How do the slopes change when the same number is added to every score? Is there a path at all?",
    ),
    solution='answer = ["numbers", "zeros", "numbers", "None"]',
    why="The slopes are W2, where relu lets it pass, times W1: both weights. b1 is only in relu's result, which relu's "
    "backward reads: a path, and zeros along it. b2 is in the scores and in no slope: no path.",
    alternatives=(
        'answer = ("Numbers", "Zeros", "Numbers", None)',
        'answer = {"W1": "numbers", "b1": "zeros", "W2": "numbers", "b2": "none"}',
    ),
    mistakes=(
        Mistake("as for the scores",
                "That is what the scores give. The penalty is made of the slopes of the scores: ask what stands in "
                "those.", 'answer = ["numbers", "numbers", "numbers", "numbers"]'),
        Mistake("no way to the weights",
                "The slopes for x are made of both weights: for a single layer they would be the weight itself. The "
                "pass is recorded, so the path is there.", 'answer = ["numbers", "zeros", "None", "None"]'),
        Mistake("constant weights",
                "Where relu is straight, the slopes for x do not depend on x. They do depend on the weights, which are "
                "their factors.", 'answer = ["zeros", "zeros", "numbers", "None"]'),
        Mistake("the last bias",
                "Add 1 to b2: every score rises by 1, and no slope moves.",
                'answer = ["numbers", "zeros", "numbers", "numbers"]'),
        Mistake("the first bias",
                "b1 decides which units are on. But relu's slope is 0 or 1, and a small change of b1 moves neither.",
                'answer = ["numbers", "numbers", "numbers", "None"]'),
        Mistake("zeros for both",
                "Right that both do not matter. But zeros need a path for them to come along. relu's backward reads "
                "what b1 went into; nothing in the slopes has read anything of b2.",
                'answer = ["numbers", "zeros", "numbers", "zeros"]'),
        Mistake("None for both",
                "Right that both do not matter. But relu's backward read its result, and b1 is in that: a path, with "
                "zeros on it.", 'answer = ["numbers", "None", "numbers", "None"]'),
        Mistake("the other way round",
                "b1 and b2 are exchanged: which of the two went into something that a backward formula reads?",
                'answer = ["numbers", "None", "numbers", "zeros"]'),
    ),
    check=check_13_p2,
)  # fmt: skip


# --- 13.1 -----------------------------------------------------------------------------------------

GRAD = "(g,) = torch.autograd.grad(y, x, {}=True); "
PROGRAMS = {
    "A": GRAD.format("retain_graph") + "p = (g * g).sum()",
    "B": GRAD.format("retain_graph") + "p = (g * g).sum() + y",
    "C": "y.backward(create_graph=True); g = x.grad; p = (g * g).sum()",
    "D": "y.backward(create_graph=True); g = x.grad; x.grad = None; p = (g * g).sum()",
    "E": GRAD.format("create_graph") + "x.detach().mul_(0.5); p = (g * g).sum()",
    "F": GRAD.format("create_graph") + "x -= 0.1 * g; p = (x * x).sum()",
    "G": "y = torch.relu(x).sum(); " + GRAD.format("create_graph") + "p = (g * g).sum()",
    "H": "y = (3 * x).sum(); " + GRAD.format("create_graph") + "p = (g * g).sum()",
}
SLOPES = {  # of p, with g = 3 x² and its own slope in it
    **{letter: lambda v: 36 * v**3 for letter in "ACDE"},
    "B": lambda v: 36 * v**3 + 3 * v * v,
    "F": lambda v: 2 * (v - 0.3 * v * v) * (1 - 0.6 * v),
    "G": lambda v: 0.0,
    "H": lambda v: 0.0,
}
HAPPENS = {
    "A": "raises at backward",
    "B": "silently wrong",
    "C": "silently wrong",
    "D": "fine",
    "E": "raises at backward",
    "F": "raises now",
    "G": "fine",
    "H": "raises at backward",
}
WRONG_HAPPENS = {
    ("A", "fine"): "retaining records",
    ("A", "silently wrong"): "alone",
    ("A", "raises now"): "alone",
    ("B", "fine"): "the rest hides it",
    ("B", "raises at backward"): "the rest hides it",
    ("C", "fine"): "already in .grad",
    ("C", "raises at backward"): "only a warning",
    ("C", "raises now"): "only a warning",
    ("B", "raises now"): "plain is allowed",
    ("D", "raises now"): "None is allowed",
    ("D", "raises at backward"): "the name is enough",
    ("D", "silently wrong"): "the name is enough",
    ("E", "fine"): "written in between",
    ("E", "raises now"): "the write is allowed",
    ("E", "silently wrong"): "not counted",
    ("F", "fine"): "the leaf",
    ("F", "raises at backward"): "the leaf",
    ("F", "silently wrong"): "the leaf",
    ("G", "raises at backward"): "zeros are a gradient",
    ("G", "silently wrong"): "zeros are a gradient",
    ("G", "raises now"): "ones are fine",
    ("H", "raises now"): "nobody asks yet",
    ("H", "fine"): "three is a number",
    ("H", "silently wrong"): "three is a number",
}


def what_happens(letter, torch):
    """Run a program of 13.1, then its last backward, and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    x, wanted = leaf(torch, values), [SLOPES[letter](value) for value in values]
    steps = ("y = (x**3).sum()", *PROGRAMS[letter].split("; "), "p.backward()")
    with quiet():
        found = happens(steps, {"torch": torch, "x": x}, lambda space: shared.near(flat(x.grad), wanted))
    x.grad = None  # opens the ring that C may leave
    return found


def check_13_1(answer, torch):
    return check_table(
        answer, PROGRAMS, lambda letter: what_happens(letter, torch), WRONG_HAPPENS,
        shown="you know when a gradient has a history, and what backward does besides.",
    )  # fmt: skip


def happens_but(letter, phrase):
    return outcome_table("happens", HAPPENS, {letter: phrase})


EX1 = Exercise(
    id="13.1", kind="which happens", title="Which happens?", minutes=7, difficulty=2, puzzles=(18,),
    question="Between `y = (x**3).sum()` and `p.backward()`: fine, raises now, raises at backward, or silently wrong?"
    "\n\n" + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    name="happens", starter=outcome_table("happens", dict.fromkeys(PROGRAMS)).replace('"None"', "None"),
    hints=(
        "Ask first: has g a history? Then: has p one, if g has none?",
        "C and D: what is in x.grad before p.backward() adds to it?",
        "E and F: what has the graph of g saved, and which of the two writes is refused on the spot?",
        "G and H: the lesson has shown three kinds of zero, under 'Where calculus says zero'.",
    ),
    solution=outcome_table("happens", HAPPENS),
    why="A and B have a plain g: alone it raises, beside y it is a constant and nobody notices. In C the first "
    "gradient is already in x.grad; D clears it, and g keeps its history. E writes over the x that the graph of g "
    "saved, F into a leaf. relu's slope leads back to x with zeros (G), the 3 leads nowhere (H).",
    alternatives=(
        f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",
        f"happens = {({k: v.capitalize() for k, v in HAPPENS.items()})!r}",
    ),
    mistakes=(
        Mistake("retaining records",
                "A: retain_graph keeps the graph of y. g is computed without recording and has no history, so p has "
                "none.", happens_but("A", "fine")),
        Mistake("alone",
                "A: p is made of g alone, and g has no history. backward has nowhere to start, and says so.",
                happens_but("A", "silently wrong")),
        Mistake("the rest hides it",
                "B: y gives p a history, so backward runs. g is a constant in it, and its part of the gradient is "
                "missing.", happens_but("B", "fine")),
        Mistake("plain is allowed",
                "B: a sum may have an operand without a history; no line refuses it.", happens_but("B", "raises now")),
        Mistake("None is allowed",
                "D: .grad may be set to None at any time.", happens_but("D", "raises now")),
        Mistake("the write is allowed",
                "E: x.detach() requires no grad, so it may be written to. Who has saved what was written over?",
                happens_but("E", "raises now")),
        Mistake("ones are fine",
                "G: the gradient of the sum of relu(x) is made of ones, and nothing forbids to ask for it.",
                happens_but("G", "raises now")),
        Mistake("nobody asks yet",
                "H: g and p are computed like any numbers. A history is asked for in p.backward() only.",
                happens_but("H", "raises now")),
        Mistake("already in .grad",
                "C: the history is there and p.backward() runs. But x.grad is not empty: the gradient of y is in it, "
                "and the new one is added.", happens_but("C", "fine")),
        Mistake("only a warning",
                "C: PyTorch warns of the ring; it is no error. Look at what is in x.grad at the end.",
                happens_but("C", "raises at backward")),
        Mistake("the name is enough",
                "D: x.grad = None only takes the tensor out of that place. g is a name for it, and its history is "
                "still there.", happens_but("D", "raises at backward")),
        Mistake("written in between",
                "E: the gradient is 3x², and its graph has saved x in order to be differentiated. x is at another "
                "version now.", happens_but("E", "fine")),
        Mistake("not counted",
                "E: detach() shares the counter of x (it is .data that does not). The write is noticed.",
                happens_but("E", "silently wrong")),
        Mistake("the leaf",
                "F: x is a leaf that requires grad, and recording is on: the write itself is refused.",
                happens_but("F", "fine")),
        Mistake("zeros are a gradient",
                "G: relu's backward reads its result, which depends on x. So g has a history, and zeros come along it. "
                "That is the right answer, too.", happens_but("G", "raises at backward")),
        Mistake("three is a number",
                "H: the gradient of 3 * x is 3, made of nothing that requires grad. It has no history even with "
                "create_graph=True, and neither has p.", happens_but("H", "fine")),
    ),
    check=check_13_1,
)  # fmt: skip


# --- 13.2 -----------------------------------------------------------------------------------------


def make_critic(torch, inputs=3, hidden=4):
    """A small critic with smooth units that remembers what it was asked about."""

    class Critic(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, shape in (("W1", (inputs, hidden)), ("b1", (hidden,)), ("W2", (hidden, 1)), ("b2", (1,))):
                setattr(self, name, torch.nn.Parameter(array(torch, *shape)))
            self.asked = []

        def forward(self, x):
            self.asked.append(weakref.ref(x))
            return torch.tanh(x @ self.W1 + self.b1) @ self.W2 + self.b2

    return Critic()


def scores_and_slopes(torch, critic, x, create_graph=False):
    """The gradient of the sum of scores for a copy of x, with or without its history."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(critic(x).sum(), x, create_graph=create_graph)[0]


def reference_loss(torch, critic, real, fake, weight):
    """The loss that 13.2 wants, with its history."""
    g = scores_and_slopes(torch, critic, real, create_graph=True)
    return critic(fake).mean() - critic(real).mean() + weight * (g**2).sum(dim=1).mean()


def by_finite_differences(torch, critic, real, fake, weight):
    """The gradients of that loss for the critic's parameters, measured."""
    parameters = list(critic.parameters())
    kept = [p.detach().clone() for p in parameters]

    def put(values):
        with torch.no_grad():
            for p, value in zip(parameters, values, strict=True):
                p.copy_(value)

    def value(*values):
        put(values)
        return reference_loss(torch, critic, real, fake, weight).item()

    try:
        return finite_differences(torch, value, kept)
    finally:
        put(kept)


def all_near(found, wanted, tolerance=1e-5):
    return all(near(a, b, tolerance) for a, b in zip(found, wanted, strict=True))


def check_13_2(answer, torch):
    with quiet(), no_collector():
        for reals, fakes, weight in ((4, 5, 2.3), (1, 2, 5.1), (2, 2, 0.7)):
            verdict = one_critic(answer, torch, reals, fakes, weight)
            if verdict is not None:
                return verdict
    return correct("the penalty pulls, nothing else is in .grad, and every step goes with its last name.")


def one_critic(answer, torch, reals, fakes, weight):
    """The verdict on one random critic and batch, or None when all is well."""
    critic, real, fake = make_critic(torch), array(torch, reals, 3), array(torch, fakes, 3)
    parameters = list(critic.parameters())
    wanted_value = reference_loss(torch, critic, real, fake, weight).item()
    wanted = by_finite_differences(torch, critic, real, fake, weight)
    without = torch.autograd.grad(reference_loss(torch, critic, real, fake, 0), parameters)
    critic.asked.clear()
    before = [torch.zeros_like(p) for p in parameters]
    if reals == 1:  # gradients from an earlier pass
        before = [array(torch, *p.shape) for p in parameters]
        for p, grad in zip(parameters, before, strict=True):
            p.grad = grad.clone()
    try:
        loss = answer(torch, critic, real, fake, weight)
    except RuntimeError as error:
        if "only for scalar outputs" in str(error):
            return almost("many scores")
        raise
    if not isinstance(loss, torch.Tensor):
        return not_yet("Return the loss as a tensor, so that backward can be called on it.")
    if loss.numel() != 1 or not shared.near(flat(loss), [wanted_value], 1e-7):
        return name_value(torch, critic, real, fake, weight, loss)
    if not loss.requires_grad:
        return not_yet("The number is right. But the loss has no history, and backward() cannot start from it.")
    try:
        loss.backward()
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        return almost("released")
    found = [b * 0 if p.grad is None else p.grad.detach() - b for p, b in zip(parameters, before, strict=True)]
    if not all_near(found, wanted):
        if all_near(found, without):
            return almost("constant")
        for kept in (critic(fake).mean(), -critic(real).mean()):
            part = torch.autograd.grad(kept, parameters)
            if all_near(found, [w - p for w, p in zip(wanted, part, strict=True)]):
                return almost("a score cut off")
        return not_yet("The loss is right, but its gradients differ from finite differences.")
    del loss
    points = [each() for each in critic.asked if each() is not None and each() is not real and each() is not fake]
    rings = [point for point in points if point.is_leaf and point.grad is not None and point.grad.requires_grad]
    for point in rings:
        point.grad = None
    return almost("ring") if rings else None


def name_value(torch, critic, real, fake, weight, loss):
    """The verdict on a loss whose number is not the one wanted."""
    if loss.numel() != 1:
        return not_yet(f"The loss should be one number; yours has the shape {tuple(loss.shape)}.")
    g, at_fake = (scores_and_slopes(torch, critic, x) for x in (real, fake))
    scores = (critic(fake).mean() - critic(real).mean()).detach()
    right = (g**2).sum(dim=1).mean()
    losses = {
        "not a mean": scores + weight * (g**2).sum(),
        "mean of everything": scores + weight * (g**2).mean(),
        "mean of the scores": scores + weight * ((g / len(g)) ** 2).sum(dim=1).mean(),
        "the mean of columns": scores + weight * (g**2).sum(dim=0).mean(),
        "pulled to 1": scores + weight * ((g.norm(dim=1) - 1) ** 2).mean(),
        "lengths": scores + weight * g.norm(dim=1).mean(),
        "at the fakes": scores + weight * (at_fake**2).sum(dim=1).mean(),
        "without the weight": scores + right,
        "the penalty alone": weight * right,
        "rewarded": scores - weight * right,
    }
    for name, value in losses.items():
        if near(loss.detach().reshape(()), value.reshape(())):
            return almost(name)
    return not_yet(f"For some critic your function returns {loss.item():.4g}, and the loss of the question is "
                   f"{(scores + weight * right).item():.4g}; {scores.item():.4g} of that are the scores.")  # fmt: skip


STARTER_2 = """\
def critic_loss(torch, critic, real, fake, weight):
    x = real.clone().requires_grad_()
    scores = critic(x)
    scores.sum().backward(retain_graph=True)
    penalty = (x.grad**2).sum(dim=1).mean()
    return critic(fake).mean() - scores.mean() + weight * penalty"""
OLD_2 = "scores.sum().backward(retain_graph=True)"
SOLVED_2 = STARTER_2.replace(
    OLD_2, "(g,) = torch.autograd.grad(scores.sum(), x, create_graph=True)"
).replace("x.grad**2", "g**2")  # fmt: skip
RECORDED_2 = STARTER_2.replace("retain_graph", "create_graph")

EX2 = Exercise(
    id="13.2", kind="repair", title="Repair a gradient penalty", minutes=7, difficulty=2, puzzles=(18,),
    question="The slopes grow whatever the weight. Repair it: right gradients in the parameters' .grad, nothing else "
    "there, and no ring.",
    name="critic_loss", starter=STARTER_2,
    hints=(
        "What is x.grad.requires_grad? Then what is the penalty, for the loss?",
        "What else has the inner backward() filled, besides x.grad? Which function returns gradients and fills "
        "nothing?",
    ),
    solution=SOLVED_2 + "\n",
    why="A gradient without a history makes the penalty a constant. backward with create_graph would give it one, but "
    "it also fills the .grad of every parameter, and closes a ring at each. autograd.grad returns the slopes and "
    "stores nothing; create_graph retains the graph of the scores, which the loss needs once more.",
    alternatives=(
        SOLVED_2.replace("scores.sum(), x, ", "scores, x, torch.ones_like(scores), "),
        RECORDED_2.replace("create_graph=True)", "create_graph=True, inputs=[x])\n    g, x.grad = x.grad, None")
        .replace("x.grad**2", "g**2"),
        SOLVED_2.replace("g**2).sum(dim=1)", "g.norm(dim=1) ** 2)"),
    ),
    mistakes=(
        Mistake("guard: changed a .grad",
                "The caller adds the gradient of the loss to what is there: your function should not touch it.",
                RECORDED_2),
        Mistake("constant",
                "The number that is returned is right, and its gradient is that of the scores alone. The penalty in "
                "it is a constant: between the slopes and the loss, or already in the slopes, the history is missing.",
SOLVED_2.replace("create_graph", "retain_graph")),
        Mistake("guard: changed a .grad, and a constant", "",
                STARTER_2.replace("(x.grad**2)", "(x.grad.clone() ** 2)")),
        Mistake("guard: changed a .grad, cleared afterwards", "",
                RECORDED_2.replace("create_graph=True)", "create_graph=True)\n    for p in critic.parameters():\n"
                                   "        p.grad = None\n    g, x.grad = x.grad, None").replace("x.grad**2", "g**2")),
        Mistake("released",
                "The pass for the slopes has released the graph of the scores, and the loss needs it again. "
                "retain_graph=True hides that and loses the penalty; which flag retains and records?",
                SOLVED_2.replace(", create_graph=True", "")),
        Mistake("ring",
                "All gradients are right. But x.grad has a history that leads to x, and x holds its .grad: each step "
                "leaves such a ring behind.", RECORDED_2.replace("=True)", "=True, inputs=[x])")),
        Mistake("not a mean",
                "The squares of all samples are added up. The penalty is the mean over the samples.",
                SOLVED_2.replace(".sum(dim=1).mean()", ".sum()")),
        Mistake("mean of everything",
                "The length of a sample's slopes is a sum over its inputs; only over samples the mean is taken.",
                SOLVED_2.replace(".sum(dim=1).mean()", ".mean()")),
        Mistake("mean of the scores",
                "The gradient of the mean is smaller by the number of samples, and so are your slopes. The sum gives "
                "each sample its own.", SOLVED_2.replace("scores.sum()", "scores.mean()")),
        Mistake("the mean of columns",
                "You add up over the samples and take the mean over the inputs. A sample's slopes stand in a row.",
                SOLVED_2.replace("sum(dim=1)", "sum(dim=0)")),
        Mistake("pulled to 1",
                "That is the penalty of the lesson, which pulls the lengths towards 1. Here the squared length itself "
                "is the penalty.",
                SOLVED_2.replace("(g**2).sum(dim=1).mean()", "((g.norm(dim=1) - 1) ** 2).mean()")),
        Mistake("lengths",
                "You take the lengths. Asked are their squares.",
                SOLVED_2.replace("(g**2).sum(dim=1)", "g.norm(dim=1)")),
        Mistake("without the weight",
                "weight is not in the loss.", SOLVED_2.replace("weight * penalty", "penalty")),
        Mistake("rewarded",
                "The penalty is subtracted: descent would make the slopes longer.",
                SOLVED_2.replace("+ weight", "- weight")),
        Mistake("the penalty alone",
                "The scores are not in the loss any more.",
                SOLVED_2.replace("critic(fake).mean() - scores.mean() + ", "")),
        Mistake("at the fakes",
                "The slopes are asked for at the real samples; yours are those at the fakes.",
                SOLVED_2.replace("real.clone()", "fake.clone()").replace("- scores.mean()", "- critic(real).mean()")),
        Mistake("guard: changed a flag",
                "Leave the flags of the caller's tensors alone: slopes can be asked for at a tensor of your own.",
                SOLVED_2.replace("x = real.clone().requires_grad_()", "x = real.requires_grad_()")),
        Mistake("a score cut off",
                "The number that is returned is right, and the penalty pulls. But the scores of one of the two "
                "batches are constants in the loss: the gradient has nothing of them.",
                SOLVED_2.replace("scores.mean() +", "scores.mean().detach() +")),
        Mistake("many scores",
                "There is one score for each sample, and grad wants one number or weights for all of them.",
                SOLVED_2.replace("scores.sum()", "scores")),
    ),
    check=check_13_2,
)  # fmt: skip


# --- 13.3 -----------------------------------------------------------------------------------------


class Counted:
    """A function of x that counts its calls, and how often a gradient passes through it."""

    def __init__(self, torch, function):
        self.torch, self.function, self.passes, self.calls = torch, function, 0, 0

    def __call__(self, x):
        self.calls += 1
        h = x * 1
        if h.requires_grad:
            h.register_hook(self.count)
        return self.function(h)

    def count(self, grad):
        self.passes += 1


def functions_of(torch, x):
    """Functions with a known Hessian: name -> (f, its Hessian times v); and the other leaf that one of them reads."""
    a, c = array(torch, *x.shape, low=1.0, high=2.0), array(torch, *x.shape, low=1.0, high=2.0)
    k = torch.tensor(random.uniform(1, 2), dtype=torch.float64, requires_grad=True)
    now, nothing = x.detach(), torch.zeros_like(x)
    return {
        "curved": (lambda x: (c * x**3).sum() + (a * x).sum() ** 2,
                   lambda v: 6 * c * now * v + 2 * a * (a * v).sum()),
        "mixed": (lambda x: (x.reshape(-1)[1:] * x.reshape(-1)[:-1]).sum() ** 2, None),
        "steep": (lambda x: (c * x**3).sum() + 1e6 * (a * x).sum(), lambda v: 6 * c * now * v),
        "straight": (lambda x: (a * x).sum() * 3, lambda v: nothing),
        "times a weight": (lambda x: (k * x).sum(), lambda v: nothing),
        "with a weight": (lambda x: (k * x * x).sum(), lambda v: 2 * k.detach() * v),
        "relu": (lambda x: (a * torch.relu(x)).sum(), lambda v: nothing),
        "valley": (lambda x: (c * (x - now) ** 2).sum(), lambda v: 2 * c * v),
    }, k  # fmt: skip


def check_13_3(answer, torch):
    for shape in ((4,), (2, 3), (), (2, 1, 2)):
        x, v = array(torch, *shape, low=0.5, requires_grad=True), array(torch, *shape)
        if shape != (4,):
            x.detach().mul_(random.choice((-1.0, 1.0)))
            x.grad = array(torch, *shape)  # from an earlier pass of the caller's
        functions, k = functions_of(torch, x)
        for name, (f, product) in (functions.items() if shape else reversed(functions.items())):
            wanted = product(v) if product else torch.autograd.functional.hessian(f, x.detach()).reshape(
                x.numel(), x.numel()) @ v.reshape(-1)  # fmt: skip
            verdict = one_product(answer, torch, name, f, x, v, wanted.reshape(shape))
            if verdict is None and k.grad is not None:
                verdict = almost("another leaf")
            k.grad = None
            if verdict is not None:
                return verdict
    shown = "two passes, no table, and zeros where nothing is left to differentiate."
    return hidden_error(answer, torch) or correct(shown)


def hidden_error(answer, torch):
    """A verdict when an error of the caller's function does not come out.

    Without the guard: PyTorch keeps what a pass that failed had not yet reached, whatever the answer does.
    """

    def overwritten(x):
        h = x * 1
        other = h.detach()  # one memory, one counter

        def write(grad):
            other.add_(0)  # the first pass has read h by now, and its graph has saved it

        h.register_hook(write)
        return (h**3).sum()

    def broken(x):
        raise RuntimeError("an error of f's own")

    def broken_late(x):
        h, passes = x * 1, []

        def hook(grad):
            passes.append(grad)
            if len(passes) == 2:
                raise RuntimeError("an error of f's own, in the second pass")

        h.register_hook(hook)
        return (h**3).sum()

    for f, words in ((overwritten, IN_PLACE), (broken, "f's own"), (broken_late, "f's own")):
        x = array(torch, 3, low=0.5, requires_grad=True)
        x.grad = before = array(torch, 3)
        try:
            inspect.unwrap(answer)(torch, f, x, array(torch, 3))
        except RuntimeError as error:
            if words not in str(error):
                raise
        else:
            return almost("error hidden")
        if x.grad is not before:
            return almost("lost with the error")
    return None


def one_product(answer, torch, name, f, x, v, wanted):
    """The verdict on one function, or None when the product is right."""
    counted, before = Counted(torch, f), None if x.grad is None else flat(x.grad)
    try:
        with quiet():
            found = answer(torch, counted, x, v)
    except RuntimeError as error:
        if NO_HISTORY in str(error) and counted.passes:  # otherwise it is the first call that raises
            return almost("straight" if name in ("straight", "relu") else "no history")
        if UNUSED in str(error):
            return almost("no path")
        if "only for scalar outputs" in str(error):
            return almost("weights forgotten")
        raise
    if before != (None if x.grad is None else flat(x.grad)):
        return not_yet("x.grad is not as it was.")
    if isinstance(found, (tuple, list)) and len(found) == 1:
        return not_yet("grad returns a tuple, even of one; return the tensor in it.")
    if found is None and name in ("straight", "times a weight"):
        return almost("None for zeros")
    if not isinstance(found, torch.Tensor) or tuple(found.shape) != tuple(x.shape):
        return not_yet("Return one tensor, of the shape of x.")
    if found.dtype != x.dtype:
        return not_yet(f"x has the type {x.dtype}, your result {found.dtype}.")
    if name == "valley" and not any(flat(found)):
        return almost("flat is not straight")
    if not near(found, wanted, 1e-8):
        return name_product(torch, counted, f, x, v, found, wanted)
    return almost("row by row") if counted.passes > 4 else None


def name_product(torch, counted, f, x, v, found, wanted):
    """The verdict on a product that is not the Hessian times v."""
    table = torch.autograd.functional.hessian(f, x.detach()).reshape(x.numel(), x.numel())
    rows = table.sum(1).reshape(*x.shape)
    slopes = torch.autograd.functional.vjp(f, x.detach())[1]
    guesses = {"no signs": wanted.abs(), "all ones": rows, "row sums times v": rows * v, "the first gradient": slopes,
               "the first, weighed": slopes * v}  # fmt: skip
    for name, guess in guesses.items():
        if near(found, guess, 1e-8):
            return almost(name)
    if counted.calls > 1 and near(found, wanted, 1e-3):
        return almost("measured")
    shown = [", ".join(f"{value:.4g}" for value in flat(each)[:4]) for each in (found, wanted)]
    return not_yet(f"For one function and x of shape {tuple(x.shape)} your result begins {shown[0]}, and the Hessian "
                   f"times v begins {shown[1]}.")  # fmt: skip


STARTER_3 = """\
def hessian_times(torch, f, x, v):
    return v"""


def product_source(*lines):
    """The source of an answer with these lines."""
    return "def hessian_times(torch, f, x, v):\n" + "".join(f"    {line}\n" for line in lines)


FIRST_3 = "(g,) = torch.autograd.grad(f(x), x, create_graph=True)"
ZERO_3 = ("if not g.requires_grad:", "    return torch.zeros_like(x)")
SECOND_3 = "return torch.autograd.grad(g, x, v, materialize_grads=True)[0]"

EX3 = Exercise(
    id="13.3", kind="write a row", title="A Hessian times a vector", minutes=6, difficulty=2, puzzles=(),
    question="Return the Hessian of f at x times v: no table, no .grad touched, zeros for a straight f; "
    "errors come out.",
    name="hessian_times", starter=STARTER_3,
    hints=(
        "Two calls of torch.autograd.grad. What must the first leave behind, and of what is the second the gradient?",
        "For a straight f there are two kinds of zero that are not numbers: a g with no history, and a g whose history "
        "does not lead to x. One can be asked of g, the other said to grad.",
    ),
    solution=product_source(FIRST_3, *ZERO_3, SECOND_3),
    why="The first pass is recorded, the second goes through it with the weights v. A straight f gives a gradient "
    "without a history, or one whose history does not lead to x: both mean zero.",
    alternatives=(
        product_source(FIRST_3, *ZERO_3, "return torch.autograd.grad((g * v).sum(), x, materialize_grads=True)[0]"),
        product_source("return torch.autograd.functional.hvp(f, x, v)[1]"),
        product_source(FIRST_3, "(p,) = torch.autograd.grad((g * v).sum() + 0 * x.sum(), x)", "return p"),
    ),
    mistakes=(
        Mistake("no history",
                "The second call has nothing to differentiate, though f is curved: the first left a gradient without a "
                "history.",
                product_source(FIRST_3.replace("create", "retain"), SECOND_3)),
        Mistake("straight",
                "Right where f is curved. For a straight f the gradient is a constant without a history, even with "
                "create_graph; then the answer is zeros.", product_source(FIRST_3, SECOND_3)),
        Mistake("no path",
                "For f = k · x with a learnable k, the gradient has a history that leads to k, not to x. Zeros are "
                "wanted there, and grad can make them.",
                product_source(FIRST_3, *ZERO_3, SECOND_3.replace(", materialize_grads=True", ""))),
        Mistake("flat is not straight",
                "At the bottom of a valley all slopes are zero, and your function returns zeros there. But the slopes "
                "change with x.",
                product_source(FIRST_3, ZERO_3[0][:-1] + " or not g.any():", *ZERO_3[1:], SECOND_3)),
        Mistake("None for zeros",
                "For a straight f your function returns None. Asked is the product, which is zeros there.",
                product_source(FIRST_3, *ZERO_3, SECOND_3.replace("materialize_grads", "allow_unused"))),
        Mistake("guard: changed a .grad",
                "autograd.grad stores nothing.",
                product_source("f(x).backward(create_graph=True)", "g = x.grad * 1", *ZERO_3, SECOND_3)),
        Mistake("guard: changed a .grad, and cleared it", "",
                product_source("x.grad = None", "f(x).backward(create_graph=True, inputs=[x])",
                               "g, x.grad = x.grad, None", *ZERO_3, SECOND_3)),
        Mistake("another leaf",
                "The products are right, and x.grad is as it was. But f reads another leaf, a weight, and its .grad "
                "has been filled: backward() fills every leaf that it reaches.",
                product_source("old, x.grad = x.grad, None", "f(x).backward(create_graph=True)",
                               "g, x.grad = x.grad, old", *ZERO_3, SECOND_3)),
        Mistake("error hidden",
                "One f raises an error of its own; with others the second pass raises, because something was written "
                "over or because a hook fails. One of these errors did not come out of your function: zeros are no "
                "answer to it.",
                product_source("try:", f"    {FIRST_3}", "    return torch.autograd.grad(g, x, v)[0]",
                               "except RuntimeError:", "    return torch.zeros_like(x)")),
        Mistake("lost with the error",
                "An error comes out, as it should. But x.grad is not what it was before: what put it back was never "
                "reached.",
                product_source("old, x.grad = x.grad, None", "f(x).backward(create_graph=True, inputs=[x])",
                               "g, x.grad = x.grad, old", *ZERO_3, SECOND_3)),
        Mistake("no signs",
                "The sizes are right, and all signs are +. A Hessian times a vector may be negative.",
                product_source(FIRST_3, *ZERO_3, SECOND_3 + ".abs()")),
        Mistake("all ones",
                "That is the Hessian times a vector of ones: v is not in it.",
                product_source(FIRST_3, *ZERO_3, "return torch.autograd.grad(g.sum(), x, materialize_grads=True)[0]")),
        Mistake("row sums times v",
                "v must weigh the slopes before they are added up. Multiplied afterwards, it weighs the sums of rows.",
                product_source(FIRST_3, *ZERO_3,
                               "return torch.autograd.grad(g.sum(), x, materialize_grads=True)[0] * v")),
        Mistake("the first gradient",
                "That is the gradient itself. The Hessian says how it changes: one more pass.",
                product_source(FIRST_3, "return g.detach()")),
        Mistake("the first, weighed",
                "That is v times the gradient, element by element. Differentiate once more.",
                product_source(FIRST_3, "return (g * v).detach()")),
        Mistake("weights forgotten",
                "g has many elements. Weigh them with v and add them up, or hand v to grad as the weights.",
                product_source(FIRST_3, *ZERO_3, "return torch.autograd.grad(g, x, materialize_grads=True)[0] * v")),
        Mistake("row by row",
                "The numbers are right, but you have built the table: a pass for every element of x.",
                product_source("n = x.numel()",
                               "table = torch.autograd.functional.hessian(f, x).reshape(n, n)",
                               "return (table @ v.reshape(-1)).reshape(x.shape)")),
        Mistake("measured",
                "f is called more than once, and the result is right to a few digits only: that is a measurement. Two "
                "passes at one point are exact.",
                product_source("def slopes(x):", "    return torch.autograd.grad(f(x), x)[0]",
                               "a, b = (x + 1e-4 * v).detach(), (x - 1e-4 * v).detach()",
                               "return (slopes(a.requires_grad_()) - slopes(b.requires_grad_())) / 2e-4 + 1e-7")),
    ),
    check=check_13_3,
)  # fmt: skip


# --- 13.4 -----------------------------------------------------------------------------------------

CHANGES = ("create_graph=True", "retain_graph=True", "autograd.grad", "materialize_grads=True", "a new tensor",
           "a Function")  # fmt: skip
CURES = dict(zip("ABCDEF", ("autograd.grad", "create_graph=True", "a new tensor", "materialize_grads=True",
                            "a Function", "retain_graph=True"), strict=True))  # fmt: skip


def leaves_rings(torch, change):
    """A: is a step still there when all its names are gone?"""

    def step():
        w = leaf(torch, [1.0, 2.0])
        y = (w**3).sum()
        if change == "autograd.grad":
            g = torch.autograd.grad(y, w, create_graph=True)[0]
        else:
            y.backward(create_graph=True, retain_graph=True)
            g = w.grad
        (y + (g * g).sum()).backward()
        return weakref.ref(w)

    with quiet(), no_collector():
        left = step()
        if left() is None:
            return False
        left().grad = None
        return True


def penalty_is_constant(torch, change):
    """B: is the gradient that of the loss without the penalty?"""
    w, x = leaf(torch, 3.0), leaf(torch, 2.0)
    flags = {change.partition("=")[0]: True} if change in ("create_graph=True", "materialize_grads=True") else {}
    (g,) = torch.autograd.grad(w * x * x, x, **{"retain_graph": True, **flags})
    (w + 10 * (g - 1) ** 2).backward()
    return w.grad.item() == 1.0


def rate_learns_nothing(torch, change):
    """C: does the gradient for lr stay None?"""
    w, lr = leaf(torch, 2.0), leaf(torch, 0.125)
    (g,) = torch.autograd.grad((w - 5) ** 2, w, create_graph=True)
    if change == "a new tensor":
        new = w - lr * g
    else:
        with torch.no_grad():
            w -= lr * g
        new = w
    (new**2).backward()
    return lr.grad is None


def unused_raises(torch, change):
    """D: does a pair of weights without a path raise?"""
    a, b = leaf(torch, 2.0), leaf(torch, 3.0)
    first = torch.autograd.grad(a**3 + b**3, [a, b], create_graph=True)
    flags = {"materialize_grads": True} if change == "materialize_grads=True" else {}
    try:
        seconds = [torch.autograd.grad(g, [a, b], retain_graph=True, **flags) for g in first]
    except RuntimeError:
        return True
    return sum(s.item() ** 2 for row in seconds for s in row) != 12.0**2 + 18.0**2


def layer_cuts(torch, change):
    """E: does a penalty behind a layer that computes on arrays have a wrong gradient?"""

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(1 / x.detach().numpy())

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            r = Layer.apply(x) if change == "a Function" else torch.from_numpy(1 / x.detach().numpy())
            return -grad * r * r

    x = leaf(torch, [2.0], torch.float64)
    (g,) = torch.autograd.grad((Layer.apply(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    return not shared.near(flat(second), [6 / 16], 1e-9)


def second_call_raises(torch, change):
    """F: does the second call raise, or are the slopes no plain numbers?"""
    x, W = leaf(torch, 2.0), leaf(torch, 3.0)
    score = (W * x) ** 2
    flags = {change.partition("=")[0]: True} if change.endswith("=True") else {}
    try:
        (first,) = torch.autograd.grad(score, x, **flags)
        torch.autograd.grad(score, W)
    except RuntimeError:
        return True
    return first.requires_grad


SYMPTOMS = {"A": leaves_rings, "B": penalty_is_constant, "C": rate_learns_nothing, "D": unused_raises,
            "E": layer_cuts, "F": second_call_raises}  # fmt: skip
WRONG_CURES = {
    ("A", "create_graph=True"): "already there",
    ("A", "retain_graph=True"): "keeps even more",
    ("A", "a new tensor"): "no write",
    ("B", "retain_graph=True"): "kept, not recorded",
    ("B", "autograd.grad"): "the function is not it",
    ("B", "materialize_grads=True"): "nothing is None",
    ("C", "materialize_grads=True"): "zeros would hide it",
    ("C", "create_graph=True"): "recorded, not used",
    ("C", "retain_graph=True"): "nothing to retain",
    ("C", "autograd.grad"): "the gradient is fine",
    ("D", "create_graph=True"): "no path to record",
    ("D", "retain_graph=True"): "retained anyway",
    ("D", "autograd.grad"): "grad says so",
    ("D", "a new tensor"): "nothing written over",
    ("E", "retain_graph=True"): "nothing released",
    ("E", "create_graph=True"): "the layer is plain",
    ("E", "autograd.grad"): "the layer is plain",
    ("F", "create_graph=True"): "too much",
    ("F", "autograd.grad"): "it is grad already",
    ("F", "a new tensor"): "released, not overwritten",
}


def check_13_4(answer, torch):
    return check_cures(answer, torch, CURES, SYMPTOMS, WRONG_CURES, CHANGES, squeezed, "one of the six changes")


def squeezed(text):
    """A change as it may be written: without spaces, an article or "=True", in lower case."""
    text = " ".join(text.lower().split()).removeprefix("torch.").removeprefix("a ")
    return text.replace(" ", "").replace("=true", "")


def cures_but(letter, change):
    return f"cures = {CURES | {letter: change}!r}"


EX4 = Exercise(
    id="13.4", kind="diagnose", title="Diagnose", minutes=5, difficulty=2, puzzles=(18,),
    question="Six reports, six changes: which change cures each?",
    name="cures", starter="cures = {" + ", ".join(f'"{letter}": None' for letter in CURES) + "}",
    hints=(
        "Ask of each report: is something missing in a graph, is too much of it alive, or is it alive no longer?",
        "Each change is used once. Begin with the reports that quote an error.",
    ),
    solution=f"cures = {CURES!r}",
    why="A is the ring from parameter to .grad to graph; B a gradient without a history; C an update that is not in "
    "the graph; D a zero without a path; E a history cut inside a layer; F a graph that the first call released, and "
    "since plain numbers will do, retaining is enough.",
    alternatives=(
        f"cures = dict({', '.join(f'{k}={v!r}' for k, v in reversed(CURES.items()))})",
        'cures = {"A": "torch.autograd.grad", "B": "create_graph", "C": "new tensor", "D": "materialize_grads", '
        '"E": "Function", "F": "retain_graph"}',
    ),
    mistakes=(
        Mistake("already there",
                "A: create_graph=True is there. In backward() it is what closes the ring: .grad gets a history.",
                cures_but("A", "create_graph=True")),
        Mistake("keeps even more",
                "A: create_graph retains already. What is never let go here is a ring: the parameter, its .grad, the "
                "graph of that.", cures_but("A", "retain_graph=True")),
        Mistake("no write",
                "A: nothing is written in place. The parameter holds its .grad, and the .grad's history holds the "
                "parameter.", cures_but("A", "a new tensor")),
        Mistake("kept, not recorded",
                "B: a retained graph does not give the gradient a history. The penalty stays a constant.",
                cures_but("B", "retain_graph=True")),
        Mistake("the function is not it",
                "B: with either function the gradient is a plain number, unless you ask for more.",
                cures_but("B", "autograd.grad")),
        Mistake("nothing is None",
                "B: the slopes are there, and so is the penalty, 8.0 at first. None stands nowhere.",
                cures_but("B", "materialize_grads=True")),
        Mistake("zeros would hide it",
                "C: zeros in the place of None would hide that lr is in no graph. It would learn as little.",
                cures_but("C", "materialize_grads=True")),
        Mistake("grad says so",
                "D: this message comes from grad. backward() stores in leaves, and you want derivatives of each "
                "gradient.",
                cures_but("D", "autograd.grad")),
        Mistake("nothing written over",
                "D: the message does not speak of a version. Some pairs of weights do not meet in any term.",
                cures_but("D", "a new tensor")),
        Mistake("nothing released",
                "E: had something been released too early, there would be an error. Here a number is wrong.",
                cures_but("E", "retain_graph=True")),
        Mistake("released, not overwritten",
                "F: an overwritten tensor has another message, with two versions in it. Here the graph was released.",
                cures_but("F", "a new tensor")),
        Mistake("recorded, not used",
                "C: g is recorded, the report says so. The update is not: under no_grad nobody notes that w depends "
                "on lr.", cures_but("C", "create_graph=True")),
        Mistake("nothing to retain",
                "C: nothing was released too early. The step from lr to w is in no graph.",
                cures_but("C", "retain_graph=True")),
        Mistake("the gradient is fine",
                "C: g is what it should be. What happens with it afterwards leaves no trace.",
                cures_but("C", "autograd.grad")),
        Mistake("no path to record",
                "D: that derivatives can be taken shows that it is recorded. Between some pairs there is no path, and "
                "grad calls that an error unless you ask for zeros.", cures_but("D", "create_graph=True")),
        Mistake("retained anyway",
                "D: the message does not speak of a graph that was released. Some pairs have no path at all.",
                cures_but("D", "retain_graph=True")),
        Mistake("the layer is plain",
                "E: however you ask, inside the layer's backward the slope comes from arrays, and has no history.",
                cures_but("E", "create_graph=True")),
        Mistake("too much",
                "F: it would run, since it retains as well. But it also records the whole pass, for numbers that "
                "nobody differentiates, and memory is short.", cures_but("F", "create_graph=True")),
        Mistake("it is grad already",
                "F: grad releases what it ran through just as backward does.", cures_but("F", "autograd.grad")),
    ),
    check=check_13_4,
)  # fmt: skip


# --- 13.5 -----------------------------------------------------------------------------------------


def inner_and_outer(torch, a, b):
    """A curved inner loss whose graph keeps w itself, and an outer one."""
    return lambda w: ((w**3) * a).sum() + (w * w).sum() * (w * b).sum(), lambda w: ((w - b) ** 2).sum() + w.prod()


def trained(torch, inner, outer, steps, w, lr):
    """The outer loss after the steps, as a number."""
    for _ in range(steps):
        w = w.detach().requires_grad_()
        w = w - lr * torch.autograd.grad(inner(w), w)[0]
    return outer(w.detach()).item()


CASES_5 = (((3,), 3), ((2, 1, 2), 1), ((), 2), ((1,), 2), ((3,), 0))


def check_13_5(answer, torch):
    for shape, steps in CASES_5:
        w, lr = array(torch, *shape, low=0.2, high=0.9, requires_grad=True), leaf(torch, 0.07, torch.float64)
        inner, outer = inner_and_outer(torch, array(torch, *shape), array(torch, *shape))
        try:
            loss = answer(torch, w, lr, inner, outer, steps)
        except RuntimeError as error:
            if "leaf Variable" in str(error):
                return almost("a leaf")
            if NO_HISTORY in str(error):
                return almost("unrecorded")
            raise
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return not_yet("Return the outer loss, as a tensor of one element.")
        value = functools.partial(trained, torch, inner, outer)
        right = value(steps, w.detach(), lr.detach())
        if not shared.near(flat(loss), [right], 1e-9):
            return name_training(torch, value, inner, steps, w.detach(), lr.detach(), loss.item(), right)
        wanted = finite_differences(torch, functools.partial(value, steps), [w.detach(), lr.detach()])
        verdict = gradients_of_training(torch, loss, (w, lr), wanted, inner, outer, steps)
        if verdict is not None:
            return verdict
    return correct("the outer gradient goes through every step, to where it began and to how long the steps were.")


def name_training(torch, value, inner, steps, w, lr, found, right):
    """The verdict on a number that is not the outer loss after these steps."""
    others = {"uphill": value(steps, w, -lr), "one step too many": value(steps + 1, w, lr)}
    if steps > 1:
        others |= {"one step only": value(1, w, lr), "one step too few": value(steps - 1, w, lr)}
    for name, number in others.items():
        if shared.near([found], [number], 1e-9):
            return almost(name)
    return not_yet(f"After {steps} steps the outer loss is {right:.5g}; your function returns {found:.5g}.")


def gradients_of_training(torch, loss, leaves, wanted, inner, outer, steps):
    """The verdict on the gradients of the outer loss, or None when they are right."""
    if not loss.requires_grad:
        return almost("cut")
    try:
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        return almost("written over")
    if found == (None, None):
        return almost("cut")
    if found[0] is None:
        return almost("last step only")
    if found[1] is None:
        return None if steps == 0 and near(found[0], wanted[0], 1e-5) else almost("lr as a number")
    if all(map(near, found, wanted, (1e-5, 1e-5))):
        return None
    for name in ("first order", "w cut off"):
        if all(map(near, found, half_trained(torch, name, leaves, inner, outer, steps), (1e-7, 1e-7))):
            return almost(name)
    which, at = ("w", 0) if not near(found[0], wanted[0], 1e-5) else ("lr", 1)
    shown = [", ".join(f"{number:.4g}" for number in flat(each[at])) for each in (found, wanted)]
    return not_yet(f"After {steps} steps the outer loss is right. Its gradient for {which} is [{shown[0]}]; finite "
                   f"differences give [{shown[1]}].")  # fmt: skip


def half_trained(torch, name, leaves, inner, outer, steps):
    """The gradients when part of the history is missing from every step."""
    w, lr = leaves
    for _ in range(steps):
        (g,) = torch.autograd.grad(inner(w), w, create_graph=True)
        w = w - lr * g.detach() if name == "first order" else w.detach() - lr * g
    return torch.autograd.grad(outer(w), leaves)


STARTER_5 = """\
def after_training(torch, w, lr, inner, outer, steps):
    for _ in range(steps):
        (g,) = torch.autograd.grad(inner(w), w)
        with torch.no_grad():
            w -= lr * g
    return outer(w)"""
UPDATE_5 = "        with torch.no_grad():\n            w -= lr * g\n"
SOLVED_5 = STARTER_5.replace("(inner(w), w)", "(inner(w), w, create_graph=True)").replace(
    UPDATE_5, "        w = w - lr * g\n"
)

EX5 = Exercise(
    id="13.5", kind="repair", title="Learn the learning rate", minutes=8, difficulty=3, puzzles=(),
    question="Steps on inner, then outer: right gradients for the caller's w and lr, and the caller's w untouched.",
    name="after_training", starter=STARTER_5,
    hints=(
        "There are two places to mend: how the gradient is asked for, and how the step is made.",
        "lr is in the step alone. Is the step in a graph?",
        "If the numbers are close, but wrong: does g know how it depends on w?",
    ),
    solution=SOLVED_5 + "\n",
    why="Each step makes a new tensor, whose history leads to the old one, to lr, and through the recorded gradient "
    "to the old one again. The caller's w is only read.",
    alternatives=(
        SOLVED_5.replace("w = w - lr * g", "w = torch.sub(w, g * lr)"),
        SOLVED_5.replace("    for _", "    w = w.clone()\n    for _"),
        "def after_training(torch, w, lr, inner, outer, steps):\n"
        "    if steps == 0:\n        return outer(w)\n"
        "    (g,) = torch.autograd.grad(inner(w), w, create_graph=True)\n"
        "    return after_training(torch, w - lr * g, lr, inner, outer, steps - 1)\n",
    ),
    mistakes=(
        Mistake("first order",
                "The steps are in the graph, but g is a constant in them. How g depends on w is missing, and that was "
                "the point.", SOLVED_5.replace(", create_graph=True", "")),
        Mistake("guard: wrote into an argument",
                "Take the steps on tensors of your own.",
                STARTER_5.replace("(inner(w), w)", "(inner(w), w, create_graph=True)")),
        Mistake("written over",
                "The steps are recorded, but made in place: they write over the w that the graph of g has saved, and "
                "the outer pass finds another version.",
                SOLVED_5.replace("w = w - lr * g", "w -= lr * g").replace("    for _", "    w = w.clone()\n    for _")),
        Mistake("a leaf",
                "w is a leaf that requires grad: with recording on, it may not be written to in place.",
                SOLVED_5.replace("w = w - lr * g", "w -= lr * g")),
        Mistake("cut",
                "Nothing leads from the result to the caller's w or lr: there is a detach() in between, or a new "
                "leaf, or something was not recorded.",
                SOLVED_5.replace("w = w - lr * g", "w = (w - lr * g).detach().requires_grad_()")),
        Mistake("unrecorded",
                "The new w has no history (no_grad, detach), and the next step asks for its gradient.",
                SOLVED_5.replace("        w = w - lr * g\n",
                                 "        with torch.no_grad():\n            w = w - lr * g\n")),
        Mistake("lr as a number",
                "w has a gradient. But lr went in without its history (item, float, detach, no_grad, "
                "data), so nothing leads to it.",
                SOLVED_5.replace("lr * g", "lr.item() * g")),
        Mistake("guard: wrote into an argument, and put it back", "",
                "def after_training(torch, w, lr, inner, outer, steps):\n"
                "    old = w.detach().clone()\n"
                "    for _ in range(steps):\n"
                "        (g,) = torch.autograd.grad(inner(w), w, create_graph=True)\n"
                "        with torch.no_grad():\n            w -= lr * g\n"
                "    loss = outer(w)\n"
                "    with torch.no_grad():\n        w.copy_(old)\n    return loss\n"),
        Mistake("guard: changed a .grad",
                "autograd.grad returns gradients, and stores nothing.",
                SOLVED_5.replace("(g,) = torch.autograd.grad(inner(w), w, create_graph=True)",
                                 "w.retain_grad()\n        inner(w).backward(create_graph=True)\n        g = w.grad")),
        Mistake("w cut off",
                "g knows how it depends on w. But the w from which lr * g is taken away has lost its history in every "
                "step.", SOLVED_5.replace("w = w - lr * g", "w = w.detach() - lr * g")),
        Mistake("uphill",
                "The steps go along the gradient. Descent goes against it.",
                SOLVED_5.replace("w - lr", "w + lr")),
        Mistake("one step only",
                "Several steps were asked for, and the outer loss is that after one.",
                SOLVED_5.replace("    for _ in range(steps):\n", "    if steps:\n")),
        Mistake("one step too many",
                "The outer loss is that after one step more than asked for.",
                SOLVED_5.replace("range(steps)", "range(steps + 1)")),
        Mistake("one step too few",
                "The outer loss is that after one step less than asked for.",
                SOLVED_5.replace("range(steps)", "range(1, steps)")),
        Mistake("last step only",
                "lr has a gradient, w has none: something between the caller's w and the result is cut, and only the "
                "steps after it are in the graph.",
                SOLVED_5.replace("    for _", "    w = w.detach().requires_grad_()\n    for _")),
    ),
    check=check_13_5,
)  # fmt: skip


# --- 13.6 -----------------------------------------------------------------------------------------


def check_13_6(answer, torch):
    if not isinstance(answer, type) or not issubclass(answer, torch.autograd.Function):
        return not_yet("Keep the class line: the answer is a subclass of torch.autograd.Function.")
    for shape in ((3,), (1,), (2, 1, 2)):
        verdict = one_reciprocal(answer, torch, shape)
        if verdict is not None:
            return verdict
    return after_a_write(answer, torch) or correct("all orders, from a library that knows only arrays.")


def some_input(torch, *shape):
    """Numbers of either sign, away from zero."""
    x = array(torch, *shape, low=0.5, high=2.0, requires_grad=True)
    with torch.no_grad():
        x.view(-1)[::2] *= -1
    return x


def one_reciprocal(answer, torch, shape):
    """The verdict on the values and derivatives for one shape, or None when they are right."""
    x = some_input(torch, *shape)
    y = answer.apply(x)
    if not isinstance(y, torch.Tensor) or not near(y, 1 / x.detach(), 1e-9):
        return not_yet(f"For x of shape {shape}, forward should give 1 / x, as before.")
    if not y.requires_grad:
        return not_yet("The result does not require grad, so nothing flows back.")
    if answer.apply(x.detach().float()).dtype is not torch.float32:
        return almost("another type")
    for weights in (torch.ones_like(y), array(torch, *shape, low=1.5, high=3.0)):
        (g,) = torch.autograd.grad(answer.apply(x), x, weights)
        if not near(g, -weights / x.detach() ** 2):
            found, wanted, came = flat(g)[0], flat(-weights / x.detach() ** 2)[0], flat(weights)[0]
            return not_yet(f"The first derivative at {flat(x)[0]:.4g}, times the {came:.4g} that comes in, is "
                           f"{wanted:.4g}; yours is {found:.4g}.")  # fmt: skip
    if not torch.autograd.gradcheck(answer.apply, (x,), raise_exception=False):
        return not_yet("The first derivative is wrong: gradcheck does not agree.")
    if refuses(answer, torch, x):
        return almost("refused")
    (g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    if not g.requires_grad:
        (g,) = torch.autograd.grad((answer.apply(x) ** 2).sum(), x, create_graph=True)
        return almost("history of grad only" if g.requires_grad else "no history")
    h = torch.zeros_like(x)
    try:
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (k,) = torch.autograd.grad(h.sum(), x, allow_unused=True)
    except RuntimeError:
        return almost("only twice" if near(h, 2 / x.detach() ** 3) else "a constant left")
    if not near(h, 2 / x.detach() ** 3):
        if near(h, 1 / x.detach() ** 3):
            return almost("a constant left")
        found, wanted = flat(h)[0], flat(2 / x.detach() ** 3)[0]
        return not_yet(f"The second derivative at {flat(x)[0]:.4g} is {wanted:.4g}; yours is {found:.4g}.")
    (g,) = torch.autograd.grad((answer.apply(x) ** 2).sum(), x, create_graph=True)
    if not near(torch.autograd.grad(g.sum(), x)[0], 6 / x.detach() ** 4):
        return almost("grad cut off")
    if k is None or not near(k, -6 / x.detach() ** 4):
        return almost("only twice")
    if not torch.autograd.gradgradcheck(answer.apply, (x,), raise_exception=False):
        return not_yet("gradgradcheck does not agree with it.")
    return None


def refuses(answer, torch, x):
    """Is differentiating the gradient an error of once_differentiable?"""
    weights = torch.full(tuple(x.shape), 0.5, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(answer.apply(x), x, weights, create_graph=True)
    try:
        if g.requires_grad:
            torch.autograd.grad((g * g).sum(), [x, weights], allow_unused=True)
            (g * g).sum().backward()
    except RuntimeError as error:
        return "once_differentiable" in str(error)
    finally:
        x.grad = None
    return False


def after_a_write(answer, torch):
    """The verdict when somebody writes into the result, or into the input, before backward; None when all is well."""
    for written in ("result", "input"):
        x = some_input(torch, 3)
        before = x * 1
        y = answer.apply(before)
        wanted = (-2 if written == "result" else -1) / x.detach() ** 2
        (y if written == "result" else before).mul_(2)
        try:
            (found,) = torch.autograd.grad(y.sum(), x)
        except RuntimeError as error:
            if IN_PLACE not in str(error):
                raise
            continue
        if written == "input" and not near(found, wanted):
            return almost("the input unchecked")
        if written == "result":
            return almost("input saved" if near(found, wanted) else "unchecked")
    return None


STARTER_6 = """\
class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.r = 1 / x.detach().numpy()
        return torch.from_numpy(ctx.r)

    @staticmethod
    def backward(ctx, grad):
        return torch.from_numpy(-grad.detach().numpy() * ctx.r * ctx.r)"""


def reciprocal(forward, *backward, refused=False):
    """The source of an answer with these lines in forward and in backward."""
    source = STARTER_6.partition("        ctx.r =")[0] + "".join(f"        {line}\n" for line in forward)
    mark = "    @torch.autograd.function.once_differentiable\n" if refused else ""
    source += f"\n    @staticmethod\n{mark}    def backward(ctx, grad):\n"
    return source + "".join(f"        {line}\n" for line in backward)


ARRAY_6 = "r = torch.from_numpy(1 / x.detach().numpy())"
RESULT_6 = (ARRAY_6, "ctx.save_for_backward(r)", "return r")
INPUT_6 = (ARRAY_6, "ctx.save_for_backward(x)", "return r")
READ_6 = "(r,) = ctx.saved_tensors"

EX6 = Exercise(
    id="13.6", kind="write a Function", title="Arrays inside", minutes=8, difficulty=3, puzzles=(),
    question="1/x from a library that knows only arrays. All derivatives right, and an error if the result is "
    "overwritten before backward.",
    name="Reciprocal", starter=STARTER_6,
    hints=(
        "backward should be made of tensor operations on something that has a history. Lesson 11: which tensors come "
        "out of their slots with a history?",
        "The slope of 1/x is -1/x²: can it be said with the result alone? Then the result is what the node should "
        "keep, and an overwritten result is noticed.",
    ),
    solution=reciprocal(RESULT_6, READ_6, "return -grad * r * r"),
    why="The result comes out of its slot with this very node as its history. So the gradient -grad · r · r depends on "
    "x through Reciprocal again, at every order, and the slot notices when somebody has written into the result.",
    alternatives=(
        reciprocal(RESULT_6, READ_6, "return -(r**2) * grad"),
        reciprocal((ARRAY_6, "ctx.save_for_backward(x, r)", "return r"), "x, r = ctx.saved_tensors",
                   "s = Reciprocal.apply(x)", "return -grad * s * s"),
    ),
    mistakes=(
        Mistake("no history",
                "First derivatives are right. But with create_graph=True the gradient has no history at all: backward "
                "ends in an array, or what it does is not recorded.",
                STARTER_6.replace("ctx.r * ctx.r", "(ctx.r * ctx.r)")),
        Mistake("another type",
                "For x of type float32 the result has another type. 1 / x has the type of x, as before.",
                reciprocal(("r = torch.from_numpy(1 / x.detach().double().numpy())", *RESULT_6[1:]), READ_6,
                           "return -grad * r * r")),
        Mistake("history of grad only",
                "backward multiplies tensors now. But what it multiplies grad with has no history: only grad has one, "
                "and a term is missing.", STARTER_6.replace("torch.from_numpy(-grad.detach().numpy() * ctx.r * ctx.r)",
                                              "-grad * torch.from_numpy(ctx.r * ctx.r)")),
        Mistake("input saved",
                "All derivatives are right, even when the result is overwritten. But an error is asked for then, and "
                "there is none: no slot keeps the result itself.", reciprocal(INPUT_6, "(x,) = ctx.saved_tensors",
"s = Reciprocal.apply(x)",
                                           "return -grad * s * s")),
        Mistake("a constant left",
                "The gradient has a history, but one of its factors is still a constant in it: a term of the second "
                "derivative is missing.", reciprocal(RESULT_6, READ_6, "return -grad * r * r.detach()")),
        Mistake("grad cut off",
                "r has its history. But the gradient that comes in has one, too, and your backward cuts it off: with "
                "anything behind Reciprocal, a term is missing.",
                reciprocal(RESULT_6, READ_6, "return -grad.detach() * r * r")),
        Mistake("the input unchecked",
                "All derivatives are right. But when somebody writes into the input before backward, your gradient is "
                "wrong, and there is no error: a tensor that is read in backward belongs into a slot.",
                reciprocal((ARRAY_6, "ctx.x = x", "ctx.save_for_backward(r)", "return r"), READ_6,
                           "return -grad * r * Reciprocal.apply(ctx.x)")),
        Mistake("refused",
                "Your backward is marked once_differentiable: it may be wrong to differentiate what it gives. Here "
                "second and third derivatives are asked for.",
                reciprocal(RESULT_6, READ_6, "return -grad * r * r", refused=True)),
        Mistake("unchecked",
                "All derivatives are right. But when somebody overwrites the result before backward, your gradient is "
                "wrong and there is no error: what backward reads comes out of no slot that keeps the result.",
                reciprocal((ARRAY_6, "ctx.r = r", "return r"), "return -grad * ctx.r * ctx.r")),
        Mistake("only twice",
                "First and second derivatives are right, the third is not: something that the second derivative is "
                "made of has no history.",
                reciprocal(RESULT_6, READ_6, "return grad * Slope.apply(r)") + '''

class Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r):
        ctx.twice = 2 * r.detach().numpy()
        return -r * r

    @staticmethod
    def backward(ctx, grad):
        return -grad * torch.from_numpy(ctx.twice)
'''),
    ),
    check=check_13_6,
)  # fmt: skip


EXERCISES = [P1, P2, EX1, EX2, EX3, EX4, EX5, EX6]
