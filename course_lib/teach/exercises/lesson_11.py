"""Exercises of lesson 11: custom Functions, ctx and its methods, and four programs that people really write."""

import functools
import gc
import math
import random
import re
import weakref

from course_lib.teach.exercises import shared
from course_lib.teach.exercises.outcomes import check_cures, check_table, happens
from course_lib.teach.exercises.shared import array, called, finite_differences, flat
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

IN_PLACE = "modified by an inplace operation"
COUNT = "incorrect number of gradients"
SHAPE = "returned an invalid gradient"
ONCE = "marked with @once_differentiable"


def near(found, wanted, tolerance=1e-5):
    """Two tensors have one shape and agree."""
    return shared.alike(found, wanted, tolerance)


def is_function(answer, torch):
    """Is it a Function class that fits this engine?"""
    return isinstance(answer, type) and issubclass(answer, torch.autograd.Function)


NO_FUNCTION = "Keep the class line: the answer is a subclass of torch.autograd.Function."
RETURNED = (  # what the engine says about backward's return, and how to say it to the learner
    (r"incorrect number of gradients \(expected (\d+), got (\d+)\)",
     "backward must return {} gradients, one for each argument of forward. It returned {}."),
    (r"gradient different than None at position (\d+)",
     "Argument {} of forward is no tensor, so backward returns None for it, and nothing else will do."),
    (r"invalid gradient at index (\d+) - got (\[.*?\]) but expected shape compatible with (\[.*?\])",
     "backward's gradient number {} (counted from 0) has the shape {}; its argument has the shape {}."),
    (r"expected Variable or None \(got (\w+)\)",
     "backward returned a {} where the gradient of a tensor belongs: a tensor, or None."),
)  # fmt: skip


def of_a_function(check):
    """A check that asks for a Function class first, and puts what the engine says of its return into words."""

    @functools.wraps(check)
    def careful(answer, torch):
        if not is_function(answer, torch):
            return not_yet(NO_FUNCTION)
        try:
            return check(answer, torch)
        except RuntimeError as error:
            for pattern, words in RETURNED:
                if found := re.search(pattern, str(error)):
                    return not_yet(words.format(*found.groups()))
            raise

    return careful


def tensors_on(node, torch):
    """The tensors that somebody put on a node as attributes, also inside a list, tuple or dict."""
    found = []
    for name, value in list(vars(node).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            value = list(value.values())
        values = value if isinstance(value, (list, tuple)) else [value]
        found += [one for one in values if isinstance(one, torch.Tensor)]
    return found


def slots_of(node):
    """The tensors in the slots of a custom Function's node."""
    return [slot for slot in node.saved_tensors if slot is not None]


def shares(one, other):
    """Do two tensors lie in one memory?"""
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def graph_of_gradient(torch, output, inputs):
    """What differentiating the gradients once more would meet: "a graph", "an error", or "nothing"."""
    grad = torch.full(tuple(output.shape), 0.5, dtype=torch.float64, requires_grad=True)
    found = torch.autograd.grad(output, inputs, grad, create_graph=True)
    if not all(each.requires_grad for each in found):
        return "nothing"
    try:
        sum((each * each).sum() for each in found).backward()  # the node that refuses leads to no input
    except RuntimeError as error:
        if ONCE not in str(error):
            raise
        return "an error"
    return "a graph"


def function(torch, forward, backward, name="Fn"):
    """A Function class with these two static methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)


# --- 11.p1 ----------------------------------------------------------------------------------------


def check_11_p1(answer, torch):
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return not_yet('Give a list of two: for the slot, then for the attribute; a number or "error" each.')

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mine = x
        return x**3

    truth = []
    for read in (lambda ctx: ctx.saved_tensors[0], lambda ctx: ctx.mine):
        x = torch.tensor([2.0], requires_grad=True)
        h = x * 1
        y = function(torch, forward, lambda ctx, g, read=read: 3 * read(ctx) ** 2 * g).apply(h)
        h.mul_(10)
        try:
            y.backward()
            truth.append(x.grad.item())
        except RuntimeError:
            truth.append("error")
    given = [number_or_word(part) for part in answer]
    if any(isinstance(part, str) and part != "error" for part in given):
        return not_yet('Each of the two is a number or "error".')
    if given == truth:
        return correct("a slot knows its version, an attribute knows nothing.")
    wrong = {
        ("error", "error"): "both checked",
        (12.0, 12.0): "copies",
        ("error", 12.0): "attribute copies",
        (1200.0, "error"): "swapped",
        (12.0, "error"): "swapped",
        (1200.0, 1200.0): "nobody checks",
        (12.0, 1200.0): "slot copies",
    }
    if given[0] == "error":
        return almost(wrong.get(tuple(given), "another number"))
    named = wrong.get(tuple(given))
    return almost(named) if named else not_yet("Which memory does each of them look at, and who notices a write?")


def number_or_word(part):
    """A number, also one written as text; any other text in lower case."""
    try:
        return float(part)
    except (TypeError, ValueError):
        return str(part).strip().lower()


P1 = Exercise(
    id="11.p1", kind="predict", title="Slot and attribute", minutes=2, difficulty=1, puzzles=(17,),
    question="`h` is 2 when it is kept, and 20 at backward. What is `x.grad` with `ctx.saved_tensors`, and what "
    'with `ctx.mine`? A list of two, each a number or `"error"`.',
    name="answer", starter="answer = None",
    hints=(
        "Neither of the two copies: both keep h by reference, and h is now 20.",
        "Lesson 07: who notes a version, and who compares it? What is 3 · 20²?",
    ),
    solution='answer = ["error", 1200]',
    why="The slot noted version 0 and finds version 1. The attribute is any Python attribute: it gives h as it is "
    "now, and 3 · 20² = 1200.",
    alternatives=('answer = ("error", 1200.0)', 'answer = ["Error", "1200"]'),
    mistakes=(
        Mistake("both checked",
                "An attribute of ctx is a plain Python attribute. Nobody notes a version for it, so nothing can be "
                "compared.", 'answer = ["error", "error"]'),
        Mistake("copies",
                "That would need copies of h. Neither way copies: a copy of every activation would double the memory.",
                "answer = [12, 12]"),
        Mistake("attribute copies",
                "The slot is right. The attribute is only another name for h, and h is 20 by now.",
                'answer = ["error", 12]'),
        Mistake("swapped",
                "The other way round: save_for_backward makes the checked slot, the attribute is unknown to the "
                "engine.", 'answer = [1200, "error"]'),
        Mistake("nobody checks",
                "For the attribute yes. The slot noted the version of h when it was saved, and mul_ has added one.",
                "answer = [1200, 1200]"),
        Mistake("slot copies",
                "The attribute is right. The slot has no copy either; it has the version at which h was saved.",
                "answer = [12, 1200]"),
        Mistake("another number",
                "The slot raises, yes. And the attribute gives a number, but not this one: put h as it is at backward "
                "into 3 · h · h, and remember that the slope of x * 1 is 1.", 'answer = ["error", 12000]'),
    ),
    check=check_11_p1,
)  # fmt: skip


# --- 11.p2 ----------------------------------------------------------------------------------------


def mix_forward(ctx, x, y, z):
    w = x * z
    ctx.save_for_backward(x, y, w)
    ctx.z = z
    return x * y + y * z + w * y


def mix_backward(ctx, grad):
    x, y, w = ctx.saved_tensors
    return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None


def second_derivatives(torch, apply, x, y, z):
    """gx by y and gy by x; 0 where the engine sees no path."""
    gx, gy = torch.autograd.grad(apply(x, y, z), (x, y), create_graph=True)
    found = []
    for g, v in ((gx, y), (gy, x)):
        (second,) = torch.autograd.grad(g, v, retain_graph=True, allow_unused=True)
        found.append(0.0 if second is None else second.item())
    return found


def scalar(torch, value):
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


def check_11_p2(answer, torch):
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return not_yet("Give a pair of numbers: gx by y, and gy by x.")
    mix = function(torch, mix_forward, mix_backward, "Mix")
    truth = second_derivatives(torch, mix.apply, scalar(torch, 2), scalar(torch, 3), 4.0)
    given = [number_or_word(part) for part in answer]
    if any(isinstance(part, str) for part in given):
        return almost("an error")
    if given == truth:
        return correct("an intermediate is a number to whoever differentiates once more.")
    wrong = {
        (5.0, 5.0): "as in calculus",
        (1.0, 5.0): "the wrong one",
        (1.0, 1.0): "both",
        (0.0, 0.0): "nothing recorded",
        (5.0, 0.0): "no path at all",
        (15.0, 14.0): "first derivatives",
    }
    named = wrong.get(tuple(given))
    return almost(named) if named else not_yet("Write gx and gy with the saved letters, and differentiate those.")


P2 = Exercise(
    id="11.p2", kind="predict", title="The same number twice?", minutes=3, difficulty=2, puzzles=(),
    question="x = 2, y = 3, z = 4, gx = y + y·z and gy = x + z + w with w saved by forward. gx by y, and gy by x?",
    name="answer", starter="answer = None",
    hints=(
        "x and y are inputs: what was saved is the caller's own tensor, with its history.",
        "Was forward recorded while it computed w = x * z? Then what does w know of x?",
    ),
    solution="answer = (5, 1)",
    why="gx = y + y·z depends on the input y: 1 + z = 5. gy = x + z + w depends on x twice, but w was computed "
    "without recording and is a constant: 1 is left.",
    alternatives=("answer = [5.0, 1.0]",),
    mistakes=(
        Mistake("as in calculus",
                "Calculus says so. But w was computed in forward, where nothing is recorded, so the path from w to x "
                "is missing.", "answer = (5, 5)"),
        Mistake("the wrong one",
                "One of them is 1, but not that one: w stands in gy, and gx is made of the input y alone.",
                "answer = (1, 5)"),
        Mistake("both",
                "gx = y + y·z has no w in it. It loses nothing.", "answer = (1, 1)"),
        Mistake("nothing recorded",
                "forward is not recorded, but backward is, with create_graph=True, and saved inputs come back "
                "with their history.", "answer = (0, 0)"),
        Mistake("no path at all",
                "gy = x + z + w: the path through w is gone, the x in front is still there.", "answer = (5, 0)"),
        Mistake("first derivatives",
                "Those are gx and gy themselves. Asked is how gx changes with y, and gy with x.",
                "answer = (15, 14)"),
        Mistake("an error",
                "Both are numbers, and that is the trouble: a path that is missing in a graph is no error.",
                'answer = (5, "error")'),
    ),
    check=check_11_p2,
)  # fmt: skip


# --- 11.1 -----------------------------------------------------------------------------------------

PROGRAMS = {
    "A": "h = x * 1; y = Exp.apply(h, True); h.mul_(10)",
    "B": "y = Exp.apply(x, True); y.mul_(2)",
    "C": "y = Exp.apply(x, False); y.mul_(2)",
    "D": "h = x * 1; y = Cube.apply(h); h.detach().mul_(10)",
    "E": "y = Pair.apply(x)",
    "F": "h = x * 1; Triple.apply(h, False); y = h * 1",
    "G": "y = Triple.apply(x, True)",
    "H": "y = Times.apply(x, k)",
}
SLOPES = {  # of the formula that computed y
    "A": math.exp,
    "B": lambda v: 2 * math.exp(v),
    "C": lambda v: 2 * math.exp(v),
    "D": lambda v: 3 * v * v,
    "E": lambda v: 1.0,
    "F": lambda v: 3.0,
    "G": lambda v: 3.0,
    "H": lambda v: 5.0,
}
HAPPENS = {
    "A": "fine",
    "B": "raises at backward",
    "C": "silently wrong",
    "D": "raises at backward",
    "E": "raises now",
    "F": "silently wrong",
    "G": "raises now",
    "H": "raises at backward",
}
WRONG_HAPPENS = {
    ("A", "raises at backward"): "input for result",
    ("A", "silently wrong"): "input for result",
    ("B", "fine"): "only inputs",
    ("B", "silently wrong"): "only inputs",
    ("B", "raises now"): "written, not read",
    ("C", "raises at backward"): "attribute checked",
    ("C", "fine"): "attribute harmless",
    ("D", "fine"): "detached",
    ("D", "silently wrong"): "detached",
    ("E", "fine"): "a number is kept",
    ("E", "raises at backward"): "a number waits",
    ("F", "fine"): "unmarked is fine",
    ("F", "raises at backward"): "unmarked raises",
    ("F", "raises now"): "unmarked raises",
    ("G", "fine"): "a leaf",
    ("G", "raises at backward"): "a leaf",
    ("G", "silently wrong"): "a leaf",
    ("H", "raises now"): "counted early",
    ("H", "fine"): "one is enough",
    ("H", "silently wrong"): "one is enough",
}


def programs_functions(torch):
    """The Functions that the programs of 11.1 use."""

    def exp_forward(ctx, x, slot):
        result = x.exp()
        ctx.save_for_backward(result if slot else None)
        ctx.result = None if slot else result
        return result

    def exp_backward(ctx, grad):
        (kept,) = ctx.saved_tensors
        return grad * (ctx.result if kept is None else kept), None

    def cube_forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def pair_forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 1

    def triple_forward(ctx, x, mark):
        x.mul_(3)
        if mark:
            ctx.mark_dirty(x)
        return x

    def times_forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k

    return {
        "Exp": function(torch, exp_forward, exp_backward, "Exp"),
        "Cube": function(torch, cube_forward, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, "Cube"),
        "Pair": function(torch, pair_forward, lambda ctx, g: g, "Pair"),
        "Triple": function(torch, triple_forward, lambda ctx, g: (3 * g, None), "Triple"),
        "Times": function(torch, times_forward, lambda ctx, g: g * ctx.saved_tensors[1], "Times"),
    }


def what_happens(program, slope, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    x, wanted = shared.leaf(torch, values), [slope(value) for value in values]
    space = {"torch": torch, "x": x, "k": shared.leaf(torch, [5.0, 5.0]), **programs_functions(torch)}
    steps = program, "y.sum().backward()"
    return happens(steps, space, lambda space: shared.near(flat(x.grad), wanted), (RuntimeError, TypeError))


def check_11_1(answer, torch):
    def measure(letter):
        return what_happens(PROGRAMS[letter], SLOPES[letter], torch)

    if isinstance(answer, dict) and all(isinstance(value, str) for value in answer.values()):
        answer = {str(letter).strip().upper(): value.strip().lower() for letter, value in answer.items()}
    return check_table(
        answer, PROGRAMS, measure, WRONG_HAPPENS,
        shown="you know what ctx guards, what it refuses at once, and where it must believe you.",
    )  # fmt: skip


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX1 = Exercise(
    id="11.1", kind="which happens", title="Which happens?", minutes=7, difficulty=2, puzzles=(1, 17),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    name="happens", starter="happens = {" + ", ".join(f'"{letter}": None' for letter in PROGRAMS) + "}",
    hints=(
        "A to D: what was kept, in a slot or on ctx, and was that memory written to afterwards?",
        "E to H: when can the engine know? When apply packs what you named, when forward has written into an input, "
        "or only when backward has returned?",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="Slots are checked when backward reads them (B, D), whatever name the write used. Attributes are not (C). A "
    "number in a slot and a write into a leaf are seen while apply runs (E, G); a missing gradient only when backward "
    "has returned (H); a missing mark never (F).",
    alternatives=(
        f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",
        f"happens = {({k: v.capitalize() for k, v in HAPPENS.items()})!r}",
    ),
    mistakes=(
        Mistake("input for result",
                "A: Exp keeps its result. h is the input, and nobody needs it any more.",
                happens_but("A", "raises at backward")),
        Mistake("only inputs",
                "B: results are checked as well as inputs. y is the memory that the slot holds, and mul_ wrote "
                "into it.", happens_but("B", "fine")),
        Mistake("written, not read",
                "B: the write itself is allowed. The version is compared when the slot is read.",
                happens_but("B", "raises now")),
        Mistake("attribute checked",
                "C: the result is on ctx, not in a slot. There is no version to compare, so there is no error.",
                happens_but("C", "raises at backward")),
        Mistake("attribute harmless",
                "C: no error indeed, but ctx.result is y itself, and y is twice as large by now: the gradient is "
                "twice what it should be.", happens_but("C", "fine")),
        Mistake("detached",
                "D: detach() shares memory and counter with h, so the write is counted, and Cube's slot holds h.",
                happens_but("D", "silently wrong")),
        Mistake("a number is kept",
                "E: save_for_backward takes tensors and None. A number belongs on ctx.", happens_but("E", "fine")),
        Mistake("a number waits",
                "E: it is refused earlier, when apply packs the slots after forward, in the line that calls apply.",
                happens_but("E", "raises at backward")),
        Mistake("unmarked is fine",
                "F: without the mark, h keeps its old history, in which nobody multiplied by 3: the gradient says 1.",
                happens_but("F", "fine")),
        Mistake("unmarked raises",
                "F: nothing raises. No slot holds h, and nobody told the engine that forward wrote into it.",
                happens_but("F", "raises at backward")),
        Mistake("a leaf",
                "G: x is a leaf that requires grad. A marked write into it is refused at once, as for x.mul_(3).",
                happens_but("G", "fine")),
        Mistake("counted early",
                "H: before backward has run, nobody can know how many gradients it will return.",
                happens_but("H", "raises now")),
        Mistake("one is enough",
                "H: two arguments, one gradient: the engine will not guess which of the two it belongs to.",
                happens_but("H", "fine")),
    ),
    check=check_11_1,
)  # fmt: skip


# --- 11.2 -----------------------------------------------------------------------------------------

METHODS = ("save_for_backward", "needs_input_grad", "once_differentiable", "mark_dirty", "mark_non_differentiable",
           "set_materialize_grads")  # fmt: skip
CURES = dict(zip("ABCDEFG", ("save_for_backward", "mark_non_differentiable", "mark_dirty", "needs_input_grad",
                             "once_differentiable", "set_materialize_grads", "save_for_backward"),
                 strict=True))  # fmt: skip


def memory_waits(torch, method):
    """A: is the result still alive when nobody has a name for it?"""

    def forward(ctx, x):
        out = x.exp()
        if method == "save_for_backward":
            ctx.save_for_backward(out)
        else:
            ctx.out = out
        return out

    collecting = gc.isenabled()
    gc.disable()
    try:
        result = function(torch, forward, lambda ctx, g: g).apply(scalar(torch, 1))
        seen = weakref.ref(result)
        del result
        return seen() is not None
    finally:
        if collecting:
            gc.enable()


def trains_on_places(torch, method):
    """B: does a loss made of the places run, and teach nothing?"""

    def forward(ctx, x):
        ctx.set_materialize_grads(method != "set_materialize_grads")
        places = x * 0 + 1
        if method == "mark_non_differentiable":
            ctx.mark_non_differentiable(places)
        return x * 2, places

    x = scalar(torch, 1)
    _, places = function(torch, forward, lambda ctx, g, _: None if g is None else 2 * g).apply(x)
    try:
        places.backward()
    except RuntimeError:
        return False
    return x.grad is None or x.grad.item() == 0


def forgets_the_write(torch, method):
    """C: does the tensor that was passed in have gradients as if forward had not run?"""

    def forward(ctx, x):
        x.mul_(3)
        if method == "mark_dirty":
            ctx.mark_dirty(x)
        return x

    x = scalar(torch, 1)
    h = x * 1
    function(torch, forward, lambda ctx, g: 3 * g).apply(h)
    return torch.autograd.grad(h, x)[0].item() == 1


def works_for_nothing(torch, method):
    """D: is the gradient of a frozen weight computed?"""
    computed = []

    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        if method == "needs_input_grad" and not ctx.needs_input_grad[1]:
            return grad * weight, None
        computed.append("weight")
        return grad * weight, grad * x

    function(torch, forward, backward).apply(scalar(torch, 1), scalar(torch, 2).detach()).backward()
    return bool(computed)


def second_is_wrong(torch, method):
    """E: does a gradient penalty run, with a term missing?"""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0].detach()  # outside the graph, as NumPy is

    if method == "once_differentiable":
        backward = torch.autograd.function.once_differentiable(backward)
    x = scalar(torch, 3)
    y = function(torch, forward, backward).apply(x)
    (g,) = torch.autograd.grad(y * y, x, create_graph=True)
    try:
        (g * g).backward()
    except RuntimeError:
        return False
    return True


def fills_with_zeros(torch, method):
    """F: does backward get tensors for outputs that nobody used?"""
    got = []

    def forward(ctx, x):
        ctx.set_materialize_grads(method != "set_materialize_grads")
        return x * 2, x * 3

    def backward(ctx, first, second):
        got.append(second)
        return 2 * first

    function(torch, forward, backward).apply(scalar(torch, 1))[0].backward()
    return got[0] is not None


def overlooks_a_write(torch, method):
    """G: is the gradient wrong, without an error, when the caller writes into the input after forward?"""

    def forward(ctx, x):
        if method == "save_for_backward":
            ctx.save_for_backward(x)
        else:
            ctx.x = x
        return x * x

    def backward(ctx, grad):
        return grad * 2 * (ctx.saved_tensors[0] if method == "save_for_backward" else ctx.x)

    x = scalar(torch, 3)
    h = x * 1
    y = function(torch, forward, backward).apply(h)
    h.mul_(10)
    try:
        y.backward()
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        return False
    return x.grad.item() != 6


SYMPTOMS = {"A": memory_waits, "B": trains_on_places, "C": forgets_the_write, "D": works_for_nothing,
            "E": second_is_wrong, "F": fills_with_zeros, "G": overlooks_a_write}  # fmt: skip
WRONG_CURES = {
    ("A", "set_materialize_grads"): "zeros for a ring",
    ("A", "needs_input_grad"): "asking for keeping",
    ("B", "set_materialize_grads"): "zeros for nothing",
    ("B", "needs_input_grad"): "inputs for outputs",
    ("C", "save_for_backward"): "the slot for the write",
    ("C", "once_differentiable"): "an error for the write",
    ("D", "set_materialize_grads"): "outputs for inputs",
    ("D", "mark_non_differentiable"): "the output marked",
    ("E", "save_for_backward"): "a slot for NumPy",
    ("E", "mark_non_differentiable"): "no gradient at all",
    ("F", "mark_non_differentiable"): "all outputs marked",
    ("F", "needs_input_grad"): "flags of the inputs",
    ("A", "mark_dirty"): "a mark for a ring",
    ("A", "mark_non_differentiable"): "a mark for a ring",
    ("D", "once_differentiable"): "second for frozen",
    ("D", "save_for_backward"): "kept for frozen",
    ("E", "needs_input_grad"): "asked for twice",
    ("G", "mark_dirty"): "not your write",
    ("G", "once_differentiable"): "the first is wrong",
}


def check_11_2(answer, torch):
    return check_cures(answer, torch, CURES, SYMPTOMS, WRONG_CURES, METHODS, method_meant, "the name of a method")


def method_meant(text):
    """A method's name as it may be written: with ctx., brackets or an @."""
    return text.split("(")[0].strip("@ ").removeprefix("ctx.")


def cures_but(letter, method):
    return f"cures = {CURES | {letter: method}!r}"


EX2 = Exercise(
    id="11.2", kind="diagnose", title="Diagnose", minutes=5, difficulty=2, puzzles=(17,),
    question="Seven bug reports; name the method that is the cure of each. One of the six methods cures two.",
    name="cures", starter="cures = {" + ", ".join(f'"{letter}": None' for letter in CURES) + "}",
    hints=(
        "Ask of each report: is it about inputs, about outputs, about what is kept, or about backward itself?",
        "The table under Break it has a last column, 'left out'. Which line of it does the report describe?",
    ),
    solution=f"cures = {CURES!r}",
    why="A is a ring through ctx, and G a tensor on ctx whose version nobody noted: one slot cures both. B and F are "
    "about outputs: one should have no gradient, the others should cost nothing when unused. C is a write the engine "
    "was not told of. D asks about an input. E turns a wrong number into an error.",
    alternatives=(
        f"cures = dict({', '.join(f'{k}={v!r}' for k, v in reversed(CURES.items()))})",
        f"cures = { {k: f'ctx.{v}(…)' for k, v in CURES.items()}!r}",
    ),
    mistakes=(
        Mistake("zeros for a ring",
                "A: the zeros are made in backward and soon gone. What waits for the collector is a ring: the result "
                "holds its node, and ctx, the node, holds the result.", cures_but("A", "set_materialize_grads")),
        Mistake("asking for keeping",
                "A: asking who needs a gradient may save work. The ring through ctx.out is still there.",
                cures_but("A", "needs_input_grad")),
        Mistake("zeros for nothing",
                "B: with None instead of zeros the loss still runs and still teaches nothing. The places must not "
                "require grad at all.", cures_but("B", "set_materialize_grads")),
        Mistake("inputs for outputs",
                "B: that flag speaks of forward's inputs. The places are an output.",
                cures_but("B", "needs_input_grad")),
        Mistake("the slot for the write",
                "C: keeping the tensor does not tell anybody that forward wrote into it.",
                cures_but("C", "save_for_backward")),
        Mistake("an error for the write",
                "C: that concerns second derivatives. Here the first is wrong, because the write is missing in the "
                "history of the tensor.", cures_but("C", "once_differentiable")),
        Mistake("outputs for inputs",
                "D: that changes what backward gets for unused outputs. The frozen weight is an input.",
                cures_but("D", "set_materialize_grads")),
        Mistake("the output marked",
                "D: then the layer's output would have no gradient, and nothing before it would learn.",
                cures_but("D", "mark_non_differentiable")),
        Mistake("a slot for NumPy",
                "E: what is kept is not the trouble. backward leaves the graph, so its own derivative is lost.",
                cures_but("E", "save_for_backward")),
        Mistake("no gradient at all",
                "E: the first derivative is right and wanted. Only differentiating it again should raise.",
                cures_but("E", "mark_non_differentiable")),
        Mistake("all outputs marked",
                "F: each of the outputs has a gradient when somebody uses it. Marking them would take it away.",
                cures_but("F", "mark_non_differentiable")),
        Mistake("flags of the inputs",
                "F: those flags speak of inputs. The zeros stand for outputs that nobody used.",
                cures_but("F", "needs_input_grad")),
        Mistake("a mark for a ring",
                "A: a mark says something about the result. It does not take it off ctx, and there the ring is.",
                cures_but("A", "mark_dirty")),
        Mistake("second for frozen",
                "D: that is about differentiating the gradients again. Here a first gradient is computed that nobody "
                "wants.", cures_but("D", "once_differentiable")),
        Mistake("kept for frozen",
                "D: where a tensor is kept does not change what backward computes from it.",
                cures_but("D", "save_for_backward")),
        Mistake("asked for twice",
                "E: the flags tell you who wants a gradient, and he does want one. That backward leaves the graph must "
                "be said.", cures_but("E", "needs_input_grad")),
        Mistake("not your write",
                "G: forward has not written into the input, the caller did, and later. Who compares versions?",
                cures_but("G", "mark_dirty")),
        Mistake("the first is wrong",
                "G: nobody differentiates twice. The first gradient is made of values that have changed.",
                cures_but("G", "once_differentiable")),
    ),
    check=check_11_2,
)  # fmt: skip


# --- 11.3 -----------------------------------------------------------------------------------------


def random_labels(torch, height, width, regions):
    """A label map in which every region has a pixel."""
    labels = list(range(regions)) + [random.randrange(regions) for _ in range(height * width - regions)]
    random.shuffle(labels)
    return torch.tensor(labels).reshape(height, width)


def region_means(image, labels, regions):
    """The mean of each region by plain loops, as a nested list's flat form."""
    names, pixels, means = labels.reshape(-1).tolist(), image.shape[2] * image.shape[3], []
    for start in range(0, image.numel(), pixels):
        plane = flat(image)[start : start + pixels]
        for region in range(regions):
            inside = [value for value, name in zip(plane, names, strict=True) if name == region]
            means.append(sum(inside) / len(inside))
    return means


@of_a_function
def check_11_3(answer, torch):
    for n, c, h, w, regions in ((2, 3, 3, 4, 5), (1, 2, 4, 3, 3), (2, 1, 3, 3, 1)):
        image, labels = array(torch, n, c, h, w, requires_grad=True), random_labels(torch, h, w, regions)
        pooled = answer.apply(image, labels)
        if tuple(pooled.shape) != (n, c, regions) or not near(
            pooled, torch.tensor(region_means(image, labels, regions), dtype=torch.float64).reshape(n, c, regions)
        ):
            return not_yet("forward no longer gives the mean of each region; only backward was missing.")
        grad = array(torch, n, c, regions)
        try:
            (found,) = torch.autograd.grad(pooled, image, grad, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if COUNT in str(error):
                return almost("one gradient")
            if SHAPE in str(error) and f"got {[n, c, regions]}" in str(error):
                return almost("not spread")
            raise
        if found is None:
            return almost("none")
        size = torch.tensor([float((labels == region).sum()) for region in range(regions)], dtype=torch.float64)
        spread = grad[:, :, labels]
        wanted = (grad / size)[:, :, labels]
        if near(found, wanted, 1e-12):
            continue
        if near(found, wanted):
            return almost("float32")
        if near(found, spread):
            return almost("no division")
        if near(found, spread / labels.numel()):
            return almost("all pixels")
        if near(found, (grad * size)[:, :, labels]):
            return almost("multiplied")
        return not_yet("backward runs, but finite differences give other numbers.")
    image, labels = array(torch, 1, 2, 3, 3, requires_grad=True), random_labels(torch, 3, 3, 4)
    if not torch.autograd.gradcheck(lambda image: answer.apply(image, labels), (image,), raise_exception=False):
        return not_yet("gradcheck does not agree with it.")
    pooled = answer.apply(image, labels)
    if tensors_on(pooled.grad_fn, torch):
        return almost("on ctx")
    if any(shares(slot, image) for slot in slots_of(pooled.grad_fn)):
        return almost("image kept")
    if any(slot.numel() > labels.numel() for slot in slots_of(pooled.grad_fn)):
        return almost("table kept")
    if graph_of_gradient(torch, pooled, (image,)) == "nothing":
        return almost("cut off")
    return correct("gradcheck agrees: a mean spreads its gradient evenly over its own pixels.")


STARTER_3 = """\
class SuperpixelMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, image, labels):
        member = (labels.reshape(-1, 1) == torch.arange(labels.max().item() + 1)).to(image.dtype)
        size = member.sum(0)  # pixels in each region
        ctx.save_for_backward(labels, size)
        return image.reshape(*image.shape[:2], -1) @ member / size

    @staticmethod
    def backward(ctx, grad):
        ..."""


def pooling(*lines):
    """The source of an answer with these lines as the body of backward."""
    return STARTER_3.replace("        ...", "\n".join(f"        {line}" for line in lines)) + "\n"


UNPACK_3 = "labels, size = ctx.saved_tensors"
EX3 = Exercise(
    id="11.3", kind="write a Function", title="Superpixel pooling", minutes=8, difficulty=2, puzzles=(),
    question="Write the backward of a mean over regions: un-pooling, and no gradient for the labels.",
    name="SuperpixelMean", starter=STARTER_3,
    hints=(
        "Move one pixel by d. Which mean moves, and by how much?",
        "So each pixel needs the number that belongs to its own region. What does table[:, :, labels] do when table is "
        "(N, C, K) and labels is (H, W)?",
        "forward has two arguments, so backward returns two things.",
    ),
    solution=pooling(UNPACK_3, "return (grad / size)[:, :, labels], None"),
    why="A pixel moves the mean of its region by 1 / size, so it gets that region's gradient divided by size. Indexing "
    "with the label map looks up one number for each pixel: that is un-pooling. The image itself was never needed, and "
    "is not kept.",
    alternatives=(
        pooling(
            UNPACK_3,
            "member = (labels.reshape(-1, 1) == torch.arange(len(size))).to(grad.dtype)",
            "return ((grad / size) @ member.T).reshape(*grad.shape[:2], *labels.shape), None",
        ),
        pooling(UNPACK_3, "return grad[:, :, labels] / size[labels], None"),
        pooling(UNPACK_3, "member = (labels.unsqueeze(-1) == torch.arange(len(size))).to(grad.dtype)",
                "return torch.einsum('nck,hwk->nchw', grad / size, member), None"),
        pooling(UNPACK_3, "return torch.tensor((grad / size).tolist(), dtype=grad.dtype)[:, :, labels], None")
        .replace("    @staticmethod\n    def backward",
                 "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward"),
    ),
    mistakes=(
        Mistake("one gradient",
                "backward returned one thing, and not a tuple of two. forward has two arguments: the labels get None.",
                pooling(UNPACK_3, "return (grad / size)[:, :, labels]")),
        Mistake("guard: wrote into the gradient", "",
                pooling(UNPACK_3, "grad /= size", "return grad[:, :, labels], None")),
        Mistake("no division",
                "That is the gradient of a sum. In a mean each pixel counts only one part in size.",
                pooling(UNPACK_3, "return grad[:, :, labels], None")),
        Mistake("float32",
                "Right to seven digits: somewhere in backward float64 becomes float32, and the engine turns it back "
                "without a word. Keep the dtype of the gradient that comes in.",
                pooling(UNPACK_3, "return (grad / size).float()[:, :, labels], None")),
        Mistake("all pixels",
                "You divided by all pixels of the image. Each mean is over its own region.",
                pooling(UNPACK_3, "return grad[:, :, labels] / labels.numel(), None")),
        Mistake("not spread",
                "The gradient has the form of the pooled values; it must have the form of the image: one number for "
                "each pixel.", pooling(UNPACK_3, "return grad / size, None")),
        Mistake("multiplied",
                "You multiplied by the size. A pixel in a large region matters less, not more.",
                pooling(UNPACK_3, "return (grad * size)[:, :, labels], None")),
        Mistake("none",
                "The image got None: nothing flows back to it. The labels are the second argument.",
                pooling(UNPACK_3, "return None, (grad / size)[:, :, labels]")),
        Mistake("on ctx",
                "The gradients are right. But a tensor on ctx has no version check, and backward does not release it. "
                "Keep tensors with save_for_backward.",
                pooling("return (grad / ctx.size)[:, :, ctx.labels], None").replace(
                    "ctx.save_for_backward(labels, size)", "ctx.labels, ctx.size = labels, size")),
        Mistake("image kept",
                "The gradients are right. But you keep the image, the largest tensor here, and the slope of a mean "
                "does not depend on it.",
                pooling("labels, size, _ = ctx.saved_tensors", "return (grad / size)[:, :, labels], None").replace(
                    "(labels, size)", "(labels, size, image)")),
        Mistake("table kept",
                "The gradients are right. But you keep the table of pixels and regions, K numbers for each pixel. The "
                "labels hold the same in one.",
                pooling("member, size, labels = ctx.saved_tensors",
                        "spread = (grad / size) @ member.T",
                        "return spread.reshape(*grad.shape[:2], *labels.shape), None").replace(
                    "(labels, size)", "(member, size, labels)")),
        Mistake("cut off",
                "The gradients are right, but they have no history: something in backward leaves the graph (detach, "
                "no_grad, NumPy, a gradient asked for without create_graph), and second derivatives lose this Function "
                "without an error. Use tensor operations, or say @once_differentiable.",
                pooling(UNPACK_3, "return (grad.detach() / size)[:, :, labels], None")),
    ),
    check=check_11_3,
)  # fmt: skip


# --- 11.4 -----------------------------------------------------------------------------------------


@of_a_function
def check_11_4(answer, torch):
    separate = answer.setup_context is not torch.autograd.Function.setup_context
    for _ in range(2):
        z = random.uniform(1.0, 3.0)
        x, y = array(torch, 3, requires_grad=True), array(torch, 3, requires_grad=True)
        try:
            out = answer.apply(x, y, z)
        except TypeError as error:
            if "can only save variables" in str(error):
                return almost("number saved")
            if "missing" in str(error) and "argument: 'z'" in str(error):
                return almost("who gets ctx")
            if not separate and "positional arguments but 4 were given" in str(error):
                return not_yet("forward was called with ctx: apply leaves it out only when there is a setup_context.")
            raise
        if not isinstance(out, torch.Tensor):
            return not_yet("apply should return one tensor, as before.")
        if not near(out, (x * y + y * z + x * y * z).detach()):
            return not_yet("The result is no longer x*y + y*z + x*y*z.")
        if not out.requires_grad:
            return not_yet("The result does not require grad any more, so nothing flows back.")

        def apply(x, y, z=z):
            return answer.apply(x, y, z)

        try:
            first = torch.autograd.gradcheck(apply, (x, y), raise_exception=False)
        except RuntimeError as error:
            if COUNT not in str(error):
                raise
            return almost("three arguments")
        if not first:
            return not_yet("The first derivatives are wrong: gradcheck does not agree.")
        if not right_twice(torch, apply, x, y):
            return almost(why_not_twice(torch, answer, separate))
    if not separate:
        return almost("one method")
    if tensors_on(out.grad_fn, torch):
        return almost("inputs on ctx")
    if any(not any(shares(slot, given) for given in (x, y, out)) for slot in slots_of(out.grad_fn)):
        return almost("a number in a tensor")
    nothing = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    found = torch.autograd.grad(answer.apply(x, nothing, z).sum(), (x, nothing))
    if not all(map(near, found, (nothing.detach(), (x + z + x * z).detach()))):
        return almost("not at 0")
    direct = answer.forward(x, y, z)
    if not near(direct.detach(), out):
        return not_yet("forward, called on its own, should give the same result.")
    if not direct.requires_grad:
        return almost("forward cut off")
    return correct("computing and keeping are apart, and all that is kept has a history.")


def right_twice(torch, apply, x, y):
    """Does gradgradcheck agree? Not when a gradient has no history at all, or refuses to be differentiated."""
    try:
        return torch.autograd.gradgradcheck(apply, (x, y), raise_exception=False)
    except (RuntimeError, ValueError):
        return False


def why_not_twice(torch, answer, separate):
    """Which mistake leaves the second derivatives wrong."""
    x, y = scalar(torch, 2), scalar(torch, 3)
    out = answer.apply(x, y, 4.0)
    kept = slots_of(out.grad_fn)
    if graph_of_gradient(torch, out, (x, y)) == "an error":
        return "an error instead"
    if not separate:
        return "one method, and w"
    inputs_only = all(any(shares(slot, given) for given in (x, y)) for slot in kept)
    return "lost in backward" if inputs_only else "still an intermediate"


STARTER_4 = """\
class TwoMethods(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        w = x * z
        ctx.save_for_backward(x, y, w)
        ctx.z = z
        return x * y + y * z + w * y

    @staticmethod
    def backward(ctx, grad):
        x, y, w = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None"""
SETUP_4 = """\
class TwoMethods(torch.autograd.Function):
    @staticmethod
    def forward(x, y, z):
        return x * y + y * z + x * y * z

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.z = inputs
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + x * ctx.z), None"""
WITH_W_4 = (
    SETUP_4.replace("ctx.save_for_backward(x, y)", "ctx.save_for_backward(x, y, x * ctx.z)")
    .replace("x, y = ctx.saved", "x, y, w = ctx.saved")
    .replace("+ x * ctx.z)", "+ w)")
)

EX4 = Exercise(
    id="11.4", kind="repair", title="Two methods, and right twice", minutes=6, difficulty=2, puzzles=(),
    question="Write Mix with setup_context, so that gradcheck and gradgradcheck agree.",
    name="TwoMethods", starter=STARTER_4,
    hints=(
        "forward loses ctx. setup_context(ctx, inputs, output) gets the tuple (x, y, z) and the result, and does what "
        "forward did with ctx.",
        "w is out of reach there, and would have no history anyway. From what can backward compute it?",
    ),
    solution=SETUP_4 + "\n",
    why="setup_context sees inputs and outputs, and these have a history. backward computes x * z itself, which is "
    "recorded whenever somebody wants second derivatives.",
    alternatives=(
        SETUP_4.replace(
            "    def backward(ctx, grad):\n        x, y = ctx.saved_tensors\n",
            "    def backward(ctx, grad):\n        x, y = ctx.saved_tensors\n        w = x * ctx.z\n",
        ).replace("ctx.z + x * ctx.z)", "ctx.z + w)"),
        SETUP_4.replace("return x * y + y * z + x * y * z", "return (x + z + x * z) * y"),
        SETUP_4.replace(
            "        return grad * (y + y * ctx.z), grad * (x + ctx.z + x * ctx.z), None",
            "        with torch.enable_grad():\n"
            "            out = TwoMethods.forward(x, y, ctx.z)\n"
            "            return *torch.autograd.grad(out, (x, y), grad, create_graph=True), None",
        ),
    ),
    mistakes=(
        Mistake("still an intermediate",
                "Two methods, and first derivatives are right. But what you save is still a product without a "
                "history: setup_context is not recorded either.", WITH_W_4),
        Mistake("lost in backward",
                "You save inputs only, as you should. But in backward something loses its history (detach, no_grad, or "
                "a gradient asked for without create_graph), so the second derivatives lack a term.",
                SETUP_4.replace("x * ctx.z)", "x.detach() * ctx.z)")),
        Mistake("inputs on ctx",
                "All derivatives are right. But there is a tensor on ctx: nobody notices a write into it, and backward "
                "does not release it. Only the number belongs there.",
                SETUP_4.replace("x, y, ctx.z = inputs\n        ctx.save_for_backward(x, y)",
                                "ctx.x, ctx.y, ctx.z = inputs").replace("ctx.saved_tensors", "ctx.x, ctx.y")),
        Mistake("forward cut off",
                "apply is right. But called on its own, forward should be recorded like any other code, and its result "
                "has no history: a detach or a no_grad in forward does nothing for apply.",
                SETUP_4.replace("return x * y + y * z + x * y * z", "return (x * y + y * z + x * y * z).detach()")),
        Mistake("one method",
                "All derivatives are right. Still asked: forward without ctx, and setup_context for the keeping.",
                STARTER_4.replace("        w = x * z\n        ctx.save_for_backward(x, y, w)",
                                  "        ctx.save_for_backward(x, y)")
                .replace("w * y", "x * y * z").replace("x, y, w =", "x, y =").replace("+ w)", "+ x * ctx.z)")),
        Mistake("an error instead",
                "once_differentiable turns the wrong second derivative into an error. Asked is the right one.",
                WITH_W_4.replace("    @staticmethod\n    def backward",
                                 "    @staticmethod\n    @torch.autograd.function.once_differentiable\n"
                                 "    def backward")),
        Mistake("number saved",
                "z is a plain number. save_for_backward takes tensors and None; a number becomes an attribute of ctx.",
                SETUP_4.replace("x, y, ctx.z = inputs\n        ctx.save_for_backward(x, y)",
                                "ctx.save_for_backward(*inputs)")
                .replace("x, y = ctx", "x, y, z = ctx").replace("ctx.z", "z")),
        Mistake("not at 0",
                "All derivatives are right where y is not 0. At y = 0 the gradients are not: is there a division?",
                SETUP_4.replace("ctx.save_for_backward(x, y)", "ctx.save_for_backward(x, y, output)")
                .replace("x, y = ctx.saved", "x, y, out = ctx.saved").replace("(x + ctx.z + x * ctx.z)", "out / y")),
        Mistake("a number in a tensor",
                "All derivatives are right. But a slot holds a tensor that is neither an input nor the result. A plain "
                "number needs no tensor and no slot: it belongs on ctx.",
                SETUP_4.replace("x, y, ctx.z = inputs\n        ctx.save_for_backward(x, y)",
                                "x, y, z = inputs\n        ctx.save_for_backward(x, y, torch.tensor(z))")
                .replace("x, y = ctx", "x, y, z = ctx").replace("ctx.z", "z")
                .replace("tensor(z)", "tensor(z, dtype=x.dtype)")),
        Mistake("three arguments",
                "forward has three arguments; backward returns a tuple of three, and z gets None.",
                SETUP_4.replace(", None", "")),
        Mistake("who gets ctx",
                "With setup_context, forward is called without ctx: forward(x, y, z).",
                SETUP_4.replace("forward(x, y, z)", "forward(ctx, x, y, z)")),
        Mistake("one method, and w",
                "Something has changed, but w is still saved by forward, where nothing is recorded, and there is no "
                "setup_context yet.", STARTER_4.replace("w * y", "x * z * y")),
    ),
    check=check_11_4,
)  # fmt: skip


# --- 11.5 -----------------------------------------------------------------------------------------


@of_a_function
def check_11_5(answer, torch):
    # A ragged start makes every shifted reading of the gradients visible.
    for sizes in ((2, 1, 3), (1, 3, 1, 2), (4,), (1, 1, 1)):
        rank = [3 * segment + 1 for segment, size in enumerate(sizes) for _ in range(size)]
        segment_of = torch.tensor([segment for segment, size in enumerate(sizes) for _ in range(size)])
        x, place = array(torch, len(rank), 2, requires_grad=True), array(torch, len(rank), 3)
        results = answer.apply(x, place, torch.tensor(rank))
        if not isinstance(results, tuple) or len(results) != 2:
            return not_yet("forward returns a tuple of two: the sums, and the places of the kept rows.")
        sums, places = results
        wanted = torch.stack([x.detach()[segment_of == segment].sum(0) for segment in range(len(sizes))])
        if not near(sums, wanted):
            return not_yet("The sums of the cells are wrong now. forward's arithmetic was in order.")
        if not near(places, place[torch.tensor([a != b for a, b in zip(rank, [*rank[1:], None], strict=True)])]):
            return not_yet("The second result should be the places of the kept rows, as before.")
        if not sums.requires_grad:
            return almost("sums marked")
        grad = array(torch, len(sizes), 2)
        try:
            (found,) = torch.autograd.grad(sums, x, grad)
        except IndexError:
            return almost("marked only" if not places.requires_grad else "out of range")
        wanted = grad[segment_of]
        if not near(found, wanted):
            kept = torch.tensor([a != b for a, b in zip(rank, [*rank[1:], None], strict=True)])
            row = kept.cumsum(0)
            only_kept = torch.zeros_like(found)
            only_kept[kept] = grad
            if near(found, only_kept):
                return almost("kept rows only")
            if near(found, only_kept.cumsum(0)):
                return almost("summed forwards")
            if near(found, grad[row - 1]):
                return almost("shifted")
            if near(found, grad[row.clamp(max=len(sizes) - 1)]):
                return almost("clamped")
            return not_yet("backward runs, but some rows get something else than the gradient of their cell.")
        if places.requires_grad:
            return almost("detached" if mentions_detach(answer) else "unmarked")
    x, place = array(torch, 6, 2, requires_grad=True), array(torch, 6, 3)
    rank = torch.tensor([1, 1, 4, 6, 6, 6])
    if not torch.autograd.gradcheck(lambda x: answer.apply(x, place, rank)[0], (x,), raise_exception=False):
        return not_yet("gradcheck does not agree with it.")
    sums, _ = answer.apply(x, place, rank)
    if tensors_on(sums.grad_fn, torch):
        return almost("rows on ctx")
    if any(shares(slot, x) for slot in slots_of(sums.grad_fn)):
        return almost("x kept")
    if graph_of_gradient(torch, sums, (x,)) == "nothing":
        return almost("cut off")
    return correct("each row reads its own cell's gradient, and nobody can train on the places by accident.")


def mentions_detach(answer):
    """Does its forward call detach? Only chooses between two sentences."""
    return called(answer.forward, "detach")


STARTER_5 = """\
class SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, place, rank):
        kept = torch.cat((rank[1:] != rank[:-1], torch.ones(1, dtype=torch.bool)))
        total = x.cumsum(0)[kept]
        ctx.save_for_backward(kept)
        return torch.cat((total[:1], total[1:] - total[:-1])), place[kept]

    @staticmethod
    def backward(ctx, grad, grad_place):
        (kept,) = ctx.saved_tensors
        return grad[kept.cumsum(0)], None, None"""
MARKED_5 = STARTER_5.replace(
    "        return torch.cat((total[:1], total[1:] - total[:-1])), place[kept]\n",
    "        place = place[kept]\n        ctx.mark_non_differentiable(place)\n"
    "        return torch.cat((total[:1], total[1:] - total[:-1])), place\n",
)
OLD_5 = "        return grad[kept.cumsum(0)], None, None"
ROWS_5 = "        row = kept.cumsum(0)\n        row[kept] -= 1\n        return grad[row], None, None"

EX5 = Exercise(
    id="11.5", kind="repair", title="Repair QuickCumsum", minutes=10, difficulty=3, puzzles=(),
    question="Sums over cells by one running total. Repair the rows that backward reads, and find what is wrong "
    "without an error.",
    name="SegmentSum", starter=STARTER_5,
    hints=(
        "Print kept.cumsum(0) for ranks 5, 5, 7, 9, 9, and beside it the rows you want: 0, 0, 1, 2, 2.",
        "cumsum counts the ends of cells up to and including this row. How many ended before it?",
        "The second result is of floats and passes through apply. What would a loss made of it do?",
    ),
    solution=MARKED_5.replace(OLD_5, ROWS_5) + "\n",
    why="The number of a row's cell is the number of cells that ended before it: the running count, less one where "
    "the row itself is an end. The places are a floating-point output, so without the mark they would require grad. "
    "The mask is a tensor that is neither input nor output, and may be saved all the same. (In float32 a long running "
    "total loses digits: the price of having no loop.)",
    alternatives=(
        MARKED_5.replace(OLD_5, "        return grad[kept.cumsum(0) - kept.to(torch.int64)], None, None"),
        MARKED_5.replace(
            OLD_5,
            "        ends = kept.to(torch.int64)\n"
            "        before = torch.cat((torch.zeros(1, dtype=torch.int64), ends[:-1].cumsum(0)))\n"
            "        return grad[before], None, None",
        ),
        MARKED_5.replace(
            OLD_5,
            "        rows, cell = [], 0\n"
            "        for is_last in kept.tolist():\n"
            "            rows.append(cell)\n"
            "            cell += is_last\n"
            "        return grad[rows], None, None",
        ),
    ),
    mistakes=(
        Mistake("marked only",
                "The places are marked now. backward still reads a row of the gradient that does not exist: there is "
                "one row for each cell, counted from 0.", MARKED_5),
        Mistake("unmarked",
                "The sums are right, gradients too. But the places still require grad: a loss made of them runs "
                "without an error, and x gets zeros from it. Mark the tensor that you return, in one call.",
                STARTER_5.replace(OLD_5, ROWS_5)),
        Mistake("detached",
                "detach() inside forward does nothing: nothing is recorded there. It is apply that gives every "
                "floating-point output a node, unless you mark it.",
                STARTER_5.replace(OLD_5, ROWS_5).replace("place[kept]", "place[kept].detach()")),
        Mistake("out of range",
                "You have changed something, but backward still reads a row of the gradient that does not exist.",
                STARTER_5.replace("grad[kept.cumsum(0)]", "grad[kept.cumsum(0)] * 1")),
        Mistake("shifted",
                "One less everywhere: right for the last row of each cell. All other rows now read the cell before, "
                "and row -1 is the last one.",
                MARKED_5.replace("kept.cumsum(0)]", "kept.cumsum(0) - 1]")),
        Mistake("clamped",
                "The error is gone because the index is cut off. The last row of each cell still reads the next "
                "cell's gradient.",
                MARKED_5.replace("kept.cumsum(0)]", "kept.cumsum(0).clamp(max=len(grad) - 1)]")),
        Mistake("summed forwards",
                "Turning a running total round also turns its direction: a row is in the totals below it. And the "
                "subtraction of neighbours has a backward too. Together they are simpler than that.",
                MARKED_5.replace(
                    OLD_5,
                    "        out = torch.zeros(len(kept), grad.shape[1], dtype=grad.dtype)\n"
                    "        out[kept] = grad\n        return out.cumsum(0), None, None")),
        Mistake("sums marked",
                "The sums do not require grad any more, so nothing flows back at all. Mark the places alone.",
                MARKED_5.replace("ctx.mark_non_differentiable(place)\n", "ctx.mark_non_differentiable(place, total)\n")
                .replace("return torch.cat((total[:1], total[1:] - total[:-1])), place",
                         "return total, place")
                .replace("[kept]\n        ctx.save", "[kept]\n        total[1:] -= total[:-1] * 1\n        ctx.save")
                .replace(OLD_5, ROWS_5)),
        Mistake("rows on ctx",
                "The gradients are right. But a tensor on ctx stays until the result is gone; from a slot, backward "
                "releases it.",
                MARKED_5.replace("ctx.save_for_backward(kept)", "ctx.kept = kept")
                .replace("(kept,) = ctx.saved_tensors", "kept = ctx.kept").replace(OLD_5, ROWS_5)),
        Mistake("x kept",
                "The gradients are right. But you keep x, the largest tensor here, and no slope of a sum needs it.",
                MARKED_5.replace("save_for_backward(kept)", "save_for_backward(kept, x)")
                .replace("(kept,) =", "kept, x =").replace(OLD_5, ROWS_5)),
        Mistake("cut off",
                "The gradients are right, but they have no history: with detach or no_grad in backward, second "
                "derivatives lose this Function without an error.",
                MARKED_5.replace(OLD_5, ROWS_5.replace("grad[row]", "grad.detach()[row]"))),
        Mistake("kept rows only",
                "Only the last row of each cell gets a gradient. All rows were added up, so all of them get it.",
                MARKED_5.replace(
                    OLD_5,
                    "        out = torch.zeros(len(kept), grad.shape[1], dtype=grad.dtype)\n"
                    "        out[kept] = grad\n        return out, None, None")),
    ),
    check=check_11_5,
)  # fmt: skip


# --- 11.6 -----------------------------------------------------------------------------------------


@of_a_function
def check_11_6(answer, torch):
    for needs_x, needs_k in ((True, True), (True, False), (False, True)):
        x, k = array(torch, 4, low=0.5, high=2.0), array(torch, 1, low=1.5, high=2.5).reshape(())
        x, k = x.detach().requires_grad_(needs_x), k.detach().requires_grad_(needs_k)
        start, weights = x.detach().clone(), array(torch, 4, low=0.5, high=1.5)
        h = x * 1
        try:
            y = answer.apply(h, k)
        except RuntimeError as error:
            if "marked as dirty" in str(error):
                return almost("not returned")
            raise
        wanted = start * k.detach()
        if near(h.detach(), start):
            return almost("not in place")
        if not isinstance(y, torch.Tensor) or not near(h.detach(), wanted) or not near(y.detach(), wanted):
            return not_yet("h should hold x · k afterwards, and be returned.")
        if y is not h:
            return almost("unmarked")
        on_ctx = any(value.numel() == 4 for value in tensors_on(h.grad_fn, torch))
        copies = [slot for slot in slots_of(h.grad_fn) if slot.numel() == 4]
        if not needs_k and any(shares(copy, h) for copy in copies):
            return almost("divided")
        if not needs_k and copies:
            return almost("always a copy" if k_learns(answer, torch) else "the wrong flag")
        leaves = [leaf for leaf in (x, k) if leaf.requires_grad]
        try:
            found = torch.autograd.grad((h * weights).sum(), leaves, allow_unused=True)
        except RuntimeError as error:
            if COUNT in str(error):
                return almost("one gradient")
            raise
        if None in found:
            return almost("no gradient for k") if leaves[found.index(None)] is k else not_yet("x got None.")
        for leaf, grad, right in zip(leaves, found, scale_slopes(torch, x, k, weights, needs_x), strict=True):
            if not near(grad, right):
                if leaf is k and near(grad, right * k.detach()):
                    return almost("saved after the write")
                return not_yet(f"The gradient of {'k' if leaf is k else 'x'} differs from finite differences.")
        if on_ctx:
            return almost("copy on ctx")
    shown = correct("in place, marked, checked, refused twice, and without a copy that nobody reads.")
    return (when_k_is_zero(answer, torch) or when_k_is_overwritten(answer, torch) or
            when_k_has_a_dimension(answer, torch) or shown)


def scale_slopes(torch, x, k, weights, needs_x):
    """Central differences of the weighted sum of x · k, for those of x and k that require grad."""

    def value(*moved):
        with torch.no_grad():
            values = list(moved)
            first = values.pop(0) if needs_x else x
            return (first * (values.pop(0) if values else k) * weights).sum().item()

    return finite_differences(torch, value, [leaf.detach() for leaf in (x, k) if leaf.requires_grad])


def k_learns(answer, torch):
    """Does k get a gradient when only k requires one?"""
    h, k = array(torch, 4), scalar(torch, 2)
    return torch.autograd.grad((answer.apply(h, k) * 1).sum(), k, allow_unused=True)[0] is not None


def when_k_is_zero(answer, torch):
    """The verdict on k = 0, where nothing can be had back by dividing, and on second derivatives; or None."""
    x, k = array(torch, 4, low=0.5, requires_grad=True), scalar(torch, 0)
    h = answer.apply(x * 1, k)
    (found,) = torch.autograd.grad((h * 1).sum(), k, retain_graph=True)
    if not near(found.reshape(()), x.detach().sum()):
        return almost("divided")
    return None if graph_of_gradient(torch, h, (x, k)) == "an error" else almost("twice")


def when_k_has_a_dimension(answer, torch):
    """The verdict on a k of shape (1,), which has one element too; or None."""
    x, k = array(torch, 4, low=0.5, requires_grad=True), torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    try:
        (found,) = torch.autograd.grad((answer.apply(x * 1, k) * 1).sum(), k)
    except RuntimeError as error:
        if SHAPE not in str(error):
            raise
        return almost("the shape of k")
    return None if near(found, x.detach().sum().reshape(1)) else not_yet("With k of shape (1,) its gradient is wrong.")


def when_k_is_overwritten(answer, torch):
    """The verdict on a write into k between forward and backward, or None."""
    x, k = array(torch, 3, requires_grad=True), scalar(torch, 2)
    h, k_now = x * 1, k * 1
    y = (answer.apply(h, k_now) * 1).sum()  # sum alone sends one number, expanded
    on_ctx = tensors_on(h.grad_fn, torch)
    k_now.detach().mul_(5)
    try:
        y.backward()
    except RuntimeError as error:
        if IN_PLACE not in str(error):
            raise
        return None
    if near(x.grad, torch.full((3,), 2.0, dtype=torch.float64)):
        return almost("a copy of k")
    return almost("k unchecked" if on_ctx else "another counter")


STARTER_6 = """\
class Scale_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ...

    @staticmethod
    def backward(ctx, grad):
        ..."""


def scaled(forward, backward):
    """The source of an answer with these lines in forward and in backward."""
    first, second = ("\n".join(f"        {line}" for line in lines) for lines in (forward, backward))
    return STARTER_6.replace("        ...", first, 1).replace("        ...", second, 1) + "\n"


FIRST_6 = "    @staticmethod\n    def backward"
REFUSED_6 = "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward"


def scaled_once(forward, backward):
    """The same, with second derivatives refused."""
    return scaled(forward, backward).replace(FIRST_6, REFUSED_6)


BACK_6 = ("before, k = ctx.saved_tensors", "return grad * k, None if before is None else grad * before")
SAVE_6 = "ctx.save_for_backward(x.clone() if ctx.needs_input_grad[1] else None, k)"
WRITE_6 = ("x.mul_(k)", "ctx.mark_dirty(x)", "return x")
EX6 = Exercise(
    id="11.6", kind="write a Function", title="In place", minutes=12, difficulty=3, puzzles=(2, 17),
    question="Multiply h in place by a tensor k: right gradients for both, also through h; an error when k is "
    "overwritten, and when somebody differentiates twice; a copy of h only if it is needed.",
    name="Scale_", starter=STARTER_6,
    hints=(
        "The gradient of x needs k. The gradient of k needs x as it was before the write: who asks for it?",
        "Three things in forward: keep (before you write), write, tell ctx that you wrote. And return x itself.",
        "save_for_backward accepts None in a place where there is nothing to keep.",
        "The copy is made in forward: has it a history? What did the lesson do with a backward that uses such a "
        "thing?",
    ),
    solution=scaled_once((SAVE_6, *WRITE_6), BACK_6),
    why="mark_dirty moves x itself on to the new node. The old values are copied only when k needs a gradient, since "
    "only then they are read; grad * before is wider than k, and the engine sums it to the shape of k. k is in a slot, "
    "so a later write into it is noticed. The copy is an intermediate without a history, so second derivatives would "
    "lack a term, and are refused.",
    alternatives=(
        scaled_once(
            ("before = x.clone() if ctx.needs_input_grad[1] else None", "x *= k", "ctx.mark_dirty(x)",
             "ctx.save_for_backward(k, before)", "return x"),
            ("k, before = ctx.saved_tensors", "return grad * k, grad * before if before is not None else None"),
        ),
        scaled_once(
            ("ctx.mark_dirty(x)", "ctx.save_for_backward(k, x * 1 if k.requires_grad else None)",
             "return x.copy_(x * k)"),
            ("k, before = ctx.saved_tensors",
             "return grad * k, None if before is None else (grad * before).sum().reshape(k.shape)"),
        ),
    ),
    mistakes=(
        Mistake("unmarked",
                "The values are right, but what apply returns is not h itself: unmarked, a returned input becomes a "
                "view, and h keeps its old history.", scaled_once((SAVE_6, "x.mul_(k)", "return x"), BACK_6)),
        Mistake("guard: wrote into the gradient", "",
                scaled_once((SAVE_6, *WRITE_6),
                            (BACK_6[0], "grad_k = None if before is None else grad * before",
                             "return grad.mul_(k), grad_k"))),
        Mistake("not in place",
                "h has not changed. (x * k, for one, makes a new tensor.) Asked is a write into x.",
                scaled_once((SAVE_6, "return x * k"), BACK_6)),
        Mistake("saved after the write",
                "The gradient of k is k times what it should be: what you kept is x after the write. Keep a copy "
                "made before it.",
                scaled_once(("x.mul_(k)", "ctx.mark_dirty(x)", SAVE_6, "return x"), BACK_6)),
        Mistake("always a copy",
                "Right, and dearer than need be: when k is frozen nobody reads the old values, and they are still "
                "kept.", scaled_once(("ctx.save_for_backward(x.clone(), k)", *WRITE_6), BACK_6)),
        Mistake("the wrong flag",
                "You ask whether x needs a gradient, and keep the old values then. They are read for the gradient of "
                "k: the flags stand in the order of forward's arguments.",
                scaled_once((SAVE_6.replace("[1]", "[0]"), *WRITE_6), BACK_6)),
        Mistake("copy on ctx",
                "The gradients are right. But the copy is on ctx, and stays there after backward, as long as h lives. "
                "From a slot it is released.",
                scaled_once(("ctx.save_for_backward(k)",
                             "ctx.before = x.clone() if ctx.needs_input_grad[1] else None", *WRITE_6),
                            ("(k,) = ctx.saved_tensors",
                             "return grad * k, None if ctx.before is None else (grad * ctx.before).sum()"))),
        Mistake("divided",
                "You keep x after the write, and divide to get the old values back. With k = 0 nothing comes back, and "
                "the caller's next in-place line makes the slot stale. Keep a copy made before.",
                scaled_once(("ctx.save_for_backward(x, k)", *WRITE_6),
                            ("after, k = ctx.saved_tensors", "return grad * k, (grad * after / k).sum()"))),
        Mistake("k unchecked",
                "Everything is right until somebody overwrites k: on ctx it has no version, and the gradient is wrong "
                "without an error.",
                scaled_once(("ctx.save_for_backward(x.clone() if ctx.needs_input_grad[1] else None)", "ctx.k = k",
                             *WRITE_6),
                            ("(before,) = ctx.saved_tensors",
                             "return grad * ctx.k, None if before is None else (grad * before).sum()"))),
        Mistake("another counter",
                "Everything is right until somebody overwrites k: what you keep shares the memory of k but not its "
                "version counter, and the gradient is wrong without an error.",
                scaled_once((SAVE_6.replace(", k)", ", k.data)"), *WRITE_6), BACK_6)),
        Mistake("a copy of k",
                "When k is overwritten, the gradient is still right, because you keep a copy of its value. Asked is an "
                "error, at the price of no copy: keep k itself in a slot.",
                scaled_once((SAVE_6.replace(", k)", ", k.clone())"), *WRITE_6), BACK_6)),
        Mistake("the shape of k",
                "Right for a k without dimensions. With k of shape (1,), which has one element too, the gradient must "
                "have that shape: what is wider than k is summed for you, what is smaller is refused.",
                scaled_once((SAVE_6, *WRITE_6),
                            (BACK_6[0], "return grad * k, None if before is None else (grad * before).sum()"))),
        Mistake("twice",
                "First derivatives are right, and checked. But the copy of the old values has no history, so second "
                "derivatives lack a term without an error. Let them be refused.",
                scaled((SAVE_6, *WRITE_6), BACK_6)),
        Mistake("no gradient for k",
                "k is a tensor and may require grad, and it gets None.",
                scaled_once(("ctx.save_for_backward(None, k)", *WRITE_6), (BACK_6[0], "return grad * k, None"))),
        Mistake("not returned",
                "What is marked must be what forward writes into, and must be returned: mark x alone, and return x "
                "itself.", scaled_once((SAVE_6, *WRITE_6[:2], "return x.clone()"), BACK_6)),
        Mistake("one gradient",
                "forward has two arguments, x and k; backward returns two things.",
                scaled_once((SAVE_6, *WRITE_6), (BACK_6[0], "return grad * k"))),
    ),
    may_change=("x",),
    check=check_11_6,
)  # fmt: skip


# --- 11.7 -----------------------------------------------------------------------------------------


def potential(torch, x, weight):
    """What forward of 11.7 computes before the threshold."""
    return torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]


def through_filter(torch, x, weight, grad_u, ahead=False):
    """The gradients of the filter alone, for a given gradient of u; ahead: of one that looks into the future."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    if ahead:
        u = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, -x.shape[2] :]
    else:
        u = potential(torch, x, weight)
    return torch.autograd.grad(u, (x, weight), grad_u)


def draw_neurons(torch, n, c, t, o, k):
    """Random inputs, weights and a threshold such that some neurons fire and some do not."""
    while True:
        x, weight, threshold = array(torch, n, c, t), array(torch, o, c, k), random.uniform(0.2, 0.6)
        fired = (potential(torch, x, weight) >= threshold).to(torch.float64).mean().item()
        if 0 < fired < 1:
            return x.requires_grad_(), weight.requires_grad_(), threshold


@of_a_function
def check_11_7(answer, torch):
    one, half = (torch.tensor([[[value]]], dtype=torch.float64) for value in (1.0, 0.5))
    if answer.apply(one, half, 0.5, 2.0).item() == 0:
        return almost("above only")
    for n, c, t, o, k in ((2, 2, 5, 3, 3), (1, 1, 6, 2, 4), (2, 3, 4, 1, 1)):
        x, weight, threshold = draw_neurons(torch, n, c, t, o, k)
        steepness = random.uniform(2.0, 4.0)
        grad = array(torch, n, o, t, low=0.2, high=1.0)
        fired = answer.apply(x, weight, threshold, steepness)
        with torch.no_grad():
            u = potential(torch, x, weight)
            if not near(fired, (u >= threshold).to(torch.float64)):
                return not_yet("forward no longer gives 1 where the potential reaches the threshold, and 0 elsewhere.")
        try:
            found = torch.autograd.grad(fired, (x, weight), grad, allow_unused=True)
        except RuntimeError as error:
            if COUNT not in str(error):
                raise
            return almost("two gradients")
        if None in found:
            return almost("nothing" if found[0] is None else "the weight forgotten")
        if x.grad is not None or weight.grad is not None:
            return almost("backward in backward")

        def smooth(x, weight, grad=grad, threshold=threshold, steepness=steepness):
            with torch.no_grad():
                s = torch.sigmoid(steepness * (potential(torch, x, weight) - threshold))
                return (grad * s).sum().item()

        wanted = finite_differences(torch, smooth, (x.detach(), weight.detach()))
        if all(map(near, found, wanted)):
            s = torch.sigmoid(steepness * (u - threshold))
            exact = through_filter(torch, x, weight, grad * steepness * s * (1 - s))
            if not all(near(*pair, 1e-12) for pair in zip(found, exact, strict=True)):
                return almost("float32")
            continue
        named = name_surrogate(torch, found, wanted, x, weight, grad, u, threshold, steepness)
        if named:
            return almost(named)
        return not_yet(
            "backward runs. The smooth neuron's finite differences differ, for x and for the weight: so look at the "
            "slope at the threshold first, and then at the filter."
        )
    frozen = answer.apply(x, weight.detach(), threshold, steepness)
    (found,) = torch.autograd.grad(frozen, x, grad)
    if not near(found, wanted[0]):
        return not_yet("With a frozen weight the gradient of x comes out different.")
    fired = answer.apply(x, weight, threshold, steepness)
    if tensors_on(fired.grad_fn, torch):
        return almost("on ctx")
    if graph_of_gradient(torch, fired, (x, weight)) != "an error":
        return almost("not refused")
    return correct("the step in forward, the smooth slope in backward: the neuron can learn.")


def name_surrogate(torch, found, wanted, x, weight, grad, u, threshold, steepness):
    """The name of the mistake that gives these gradients, or None."""
    s = torch.sigmoid(steepness * (u - threshold))
    low = torch.sigmoid(steepness * u)
    fired = (u >= threshold).to(torch.float64)
    slope_of = {
        "true slope": fired * 0,
        "straight through": fired * 0 + 1,
        "no steepness": s * (1 - s),
        "no threshold": steepness * low * (1 - low),
        "slope of the spikes": steepness * fired * (1 - fired),
        "only where it fired": steepness * s * (1 - s) * fired,
        "half a slope": steepness * s,
    }
    for name, slope in slope_of.items():
        if all(map(near, found, through_filter(torch, x, weight, grad * slope))):
            return "true slope" if name == "slope of the spikes" else name
    if all(map(near, found, through_filter(torch, x, weight, steepness * s * (1 - s)))):
        return "weights forgotten"
    if near(found[1], wanted[1]) or near(found[0], wanted[0]):
        return "half right"
    if all(map(near, found, through_filter(torch, x, weight, grad * steepness * s * (1 - s), ahead=True))):
        return "ahead"
    return None


STARTER_7 = """\
class Spikes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, threshold, steepness):
        u = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]
        ctx.save_for_backward(x, weight, u)
        ctx.threshold, ctx.steepness = threshold, steepness  # plain numbers: attributes
        return (u >= threshold).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        ..."""


def spikes(slope, *lines):
    """The source of an answer: the slope's line, then how it goes on through the filter."""
    body = ("x, weight, u = ctx.saved_tensors", *slope, *lines)
    source = STARTER_7.replace("        ...", "\n".join(f"        {line}" for line in body)) + "\n"
    return source.replace(FIRST_6, REFUSED_6)


SMOOTH = ("s = torch.sigmoid(ctx.steepness * (u - ctx.threshold))", "grad_u = grad * ctx.steepness * s * (1 - s)")
RERUN = (
    "with torch.enable_grad():",
    "    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()",
    "    again = torch.nn.functional.conv1d(x, weight, padding=weight.shape[2] - 1)[:, :, : x.shape[2]]",
)
GRADS = "return *torch.autograd.grad(again, (x, weight), grad_u), None, None"
BY_HAND = (
    "conv1d, last = torch.nn.functional.conv1d, weight.shape[2] - 1",
    "grad_x = conv1d(grad_u, weight.flip(2).transpose(0, 1), padding=last)[:, :, last:]",
    "grad_weight = conv1d(x.transpose(0, 1), grad_u.transpose(0, 1), padding=last)[:, :, : last + 1]",
    "return grad_x, grad_weight.transpose(0, 1), None, None",
)

EX7 = Exercise(
    id="11.7", kind="write a Function", title="A spiking neuron", minutes=12, difficulty=3, puzzles=(),
    question="A causal filter and a threshold; write the backward with the slope of a smooth step in place of the "
    "step's, and refuse second derivatives.",
    name="Spikes", starter=STARTER_7,
    hints=(
        "Two parts. First the gradient of u: the gradient of the spikes times the replaced slope at u.",
        "Then through the filter, whose own derivative is exact. You may let the engine do it: build the filter once "
        "more from detached x and weight, recorded, and ask torch.autograd.grad for both with the gradient of u.",
        "forward has four arguments. And the line that refuses second derivatives stands above def backward.",
    ),
    solution=spikes(SMOOTH, *RERUN, GRADS),
    why="The slope is replaced in one place only, at the threshold. The filter is run again under enable_grad, so that "
    "the engine gives its exact gradients; by hand it is a convolution with the weight turned round, and one of the "
    "inputs with the gradient. threshold and steepness are plain numbers: on ctx, and None at the end. u is an "
    "intermediate without a history: @once_differentiable says so.",
    alternatives=(
        spikes(SMOOTH, *BY_HAND),
        spikes((), *RERUN, "    s = torch.sigmoid(ctx.steepness * (again - ctx.threshold))",
               "return *torch.autograd.grad(s, (x, weight), grad), None, None").replace("(x, weight, u)", "(x, weight)")
        .replace("x, weight, u =", "x, weight ="),
    ),
    mistakes=(
        Mistake("true slope",
                "That is the step's true slope: 0 everywhere. It is honest, and nothing learns.",
                spikes(("grad_u = grad * 0",), *RERUN, GRADS)),
        Mistake("straight through",
                "You passed the gradient on as if the step were not there. Asked is the smooth step's slope, which is "
                "small far from the threshold.", spikes(("grad_u = grad",), *RERUN, GRADS)),
        Mistake("no steepness",
                "Almost: the sigmoid's argument has the factor steepness inside, so the chain rule gives one more.",
                spikes((SMOOTH[0], "grad_u = grad * s * (1 - s)"), *RERUN, GRADS)),
        Mistake("guard: wrote into the gradient", "",
                spikes((SMOOTH[0], "grad *= ctx.steepness * s * (1 - s)", "grad_u = grad"), *RERUN, GRADS)),
        Mistake("no threshold",
                "The smooth step stands at 0. It must stand at the threshold, where the hard step is.",
                spikes(("s = torch.sigmoid(ctx.steepness * u)", SMOOTH[1]), *RERUN, GRADS)),
        Mistake("weights forgotten",
                "That is the slope alone, as if every spike counted once. backward is handed a weight for each of "
                "them, grad, and it must be in the gradient of u.",
                spikes((SMOOTH[0], "grad_u = ctx.steepness * s * (1 - s)"), *RERUN, GRADS)),
        Mistake("only where it fired",
                "Neurons that did not fire get no gradient. Those just below the threshold are the ones that should "
                "learn most.",
                spikes((SMOOTH[0], SMOOTH[1] + " * (u >= ctx.threshold).to(u.dtype)"), *RERUN, GRADS)),
        Mistake("two gradients",
                "The numbers may be right. But forward has four arguments, so backward returns a tuple of four; the "
                "two settings get None.",
                spikes(SMOOTH, *RERUN, GRADS.replace("*", "").replace(", None, None", ""))),
        Mistake("half right",
                "One of the two gradients agrees with finite differences, the other does not. By hand, the weight is "
                "turned round in time for x, and x and gradient change batch with channels for the weight.",
                spikes(SMOOTH, *BY_HAND).replace(".flip(2)", "")),
        Mistake("above only",
                "A potential that is equal to the threshold must fire, as in the forward that you were given: it asks "
                ">=.", spikes(SMOOTH, *RERUN, GRADS).replace("u >= threshold", "u > threshold")),
        Mistake("float32",
                "The slopes are right to seven digits only. Somewhere on the way float64 became float32; the gradient "
                "that you return is turned back to float64, the digits are lost.",
                spikes((SMOOTH[0].replace("(ctx", "((ctx").replace("hold))", "hold)).float())"), SMOOTH[1]), *RERUN,
                       GRADS)),
        Mistake("nothing",
                "x got None: nothing flows back.", spikes(SMOOTH, "return None, None, None, None")),
        Mistake("the weight forgotten",
                "x has a gradient. But the weight got None, and it is the weight that should learn.",
                spikes(SMOOTH, *RERUN, "return torch.autograd.grad(again, x, grad_u)[0], None, None, None")),
        Mistake("half a slope",
                "The slope of a sigmoid is s · (1 − s). You have only the first half.",
                spikes((SMOOTH[0], SMOOTH[1].replace(" * (1 - s)", "")), *RERUN, GRADS)),
        Mistake("ahead",
                "The slope is right, but the filter that you run again looks into the future: forward keeps the first "
                "T steps, you keep the last T.",
                spikes(SMOOTH, *RERUN[:2], RERUN[2].replace(": x.shape[2]]", "-x.shape[2] :]"), GRADS)),
        Mistake("guard: changed a .grad",
                "backward() inside backward adds to the .grad of the leaves by itself, so they get their gradient "
                "twice. torch.autograd.grad returns the gradients and adds to nothing.",
                spikes(SMOOTH, RERUN[0], RERUN[2], "    again.backward(grad_u)",
                       "return x.grad, weight.grad, None, None")),
        Mistake("on ctx",
                "The gradients are right. But there is a tensor on ctx: backward does not release it, and for an input "
                "nobody compares versions. Only the two numbers belong there.",
                spikes(SMOOTH, *RERUN, GRADS).replace("(x, weight, u)", "(x, weight)\n        ctx.u = u")
                .replace("x, weight, u = ctx.saved_tensors", "(x, weight), u = ctx.saved_tensors, ctx.u")),
        Mistake("not refused",
                "The gradients are right. Still asked: who differentiates them once more should get an error, not a "
                "number that lacks terms.", spikes(SMOOTH, *RERUN, GRADS).replace(REFUSED_6, FIRST_6)),
    ),
    check=check_11_7,
)  # fmt: skip


EXERCISES = [P1, P2, EX1, EX2, EX3, EX4, EX5, EX6, EX7]
