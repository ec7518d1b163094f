"""Exercises of lesson 12: hooks of tensors, nodes, leaves and modules: when, with what, and what they may return."""

import functools
import inspect
import math
import random
import re

from course_lib.teach.exercises.outcomes import check_cures, check_table, happens, tidy
from course_lib.teach.exercises.shared import agree, as_number, flat, leaf, near, numbers
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

NOT_A_TENSOR = "expected Variable, but hook returned"
PLAIN = "cannot register a hook on a tensor that doesn't require gradient"


def tensor_hooks(t):
    """The tensor hooks and the post-accumulate hooks of a tensor, in one list."""
    return [*(t._backward_hooks or {}).values(), *(t._post_accumulate_grad_hooks or {}).values()]


def leaf_like(torch, *shape, low=0.5, high=2.0):
    """A random float64 leaf that requires grad."""
    values = torch.tensor(numbers(math.prod(shape), low, high), dtype=torch.float64).reshape(shape)
    return values.detach().requires_grad_()


def hooks_in_words(check):
    """A check that says of an error in a pass that a learner's hook raised it, or that it returned what is refused."""

    @functools.wraps(check)
    def careful(answer, torch):
        try:
            return check(answer, torch)
        except Exception as error:
            code, step, met = getattr(inspect.unwrap(answer), "__code__", None), error.__traceback__, []
            while step is not None:
                met.append(step.tb_frame.f_code)
                step = step.tb_next
            if code is None or code in met:
                raise
            if re.search(r"hook '.*' has|hook returned|hooks should return", str(error)):
                return not_yet(f"The pass refuses what your hook returned: {error}.")
            if not any(each.co_filename == code.co_filename for each in met):
                raise
            return not_yet(f"When the pass called your hook, it raised {type(error).__name__}: {error}.")

    return careful


# --- 12.p1 ----------------------------------------------------------------------------------------


def residual(torch, hook):
    """The gradient of x in the lesson's block, with this hook on the branch."""
    x = leaf(torch, [1.0, 2.0])
    f = x * 3
    out = x + f
    f.register_hook(hook)
    (out * torch.tensor([1.0, 2.0])).sum().backward()
    return x.grad.tolist()


def check_12_p1(answer, torch):
    if not isinstance(answer, (list, tuple)) or len(answer) != 2 or any(as_number(part) is None for part in answer):
        return not_yet("Give a list of two numbers.")
    given = [as_number(part) for part in answer]
    if near(given, residual(torch, lambda grad: grad.clamp(-0.5, 0.5))):
        return correct("the connection kept its gradient, the branch was cut off before its node ran.")
    wrong = {
        (4.0, 8.0): "only looked",
        (0.5, 0.5): "all of x",
        (1.5, 2.5): "after the node",
        (2.0, 2.0): "both ways",
        (1.5, 1.5): "the branch alone",
        (2.5, 4.5): "the second number",
        (1.0, 2.0): "the connection alone",
        (2.5, 5.0): "cut at half",
        (2.5, 2.5): "ones for the loss",
    }
    named = wrong.get(tuple(round(part, 4) for part in given))
    return almost(named) if named else not_yet(
        "Two gradients are added at x: one through the connection, one through the branch. Work out each."
    )  # fmt: skip


P1 = Exercise(
    id="12.p1", kind="predict", title="A tamed branch", minutes=2, difficulty=1, puzzles=(),
    question="`f = x * 3`, `out = x + f`, the loss weighs `out` with 1 and 2, and a hook on `f` returns "
    "`grad.clamp(-0.5, 0.5)`. What is `x.grad`?",
    name="answer", starter="answer = None",
    hints=(
        "Which gradient comes back to out? The addition hands it on, unchanged, along both arrows.",
        "The hook stands on f, the result of the product. Is it called before or after the node of that product "
        "multiplies by 3?",
    ),
    solution="answer = [2.5, 3.5]",
    why="[1, 2] comes to out and goes on to x and to f. At f it is cut to [0.5, 0.5], then the node multiplies by 3, "
    "and x gets [1, 2] + [1.5, 1.5].",
    alternatives=("answer = (2.5, 3.5)", "answer = [2.50, 3.50]"),
    mistakes=(
        Mistake("only looked",
                "That would be so if the hook had returned None. It returns a tensor, and that takes the place of the "
                "gradient.", "answer = [4, 8]"),
        Mistake("all of x",
                "The hook stands on f, not on x. What comes through the connection never passes it.",
                "answer = [0.5, 0.5]"),
        Mistake("after the node",
                "You cut off what the product sends to x, after the multiplication by 3. The hook stands on the result "
                "of the product: it is called before that node runs.", "answer = [1.5, 2.5]"),
        Mistake("both ways",
                "You cut off the gradient of the connection as well. (With clamp_ in the place of clamp you would be "
                "right; the lesson comes to that.)", "answer = [2, 2]"),
        Mistake("the branch alone",
                "That is what comes through the branch. The connection sends [1, 2] besides.", "answer = [1.5, 1.5]"),
        Mistake("the second number",
                "The first number is right. For the second, 2 comes back to out and to f: what does the cut leave of "
                "it?", "answer = [2.5, 4.5]"),
        Mistake("the connection alone",
                "That is what comes through the connection. The branch sends something besides: cut off, but not 0.",
                "answer = [1, 2]"),
        Mistake("cut at half",
                "You halved the gradient of f. clamp(-0.5, 0.5) does not scale: what is above 0.5 becomes 0.5.",
                "answer = [2.5, 5]"),
        Mistake("ones for the loss",
                "The loss weighs the two numbers of out with 1 and 2, so [1, 2] comes back to it, not [1, 1].",
                "answer = [2.5, 2.5]"),
    ),
    check=check_12_p1,
)  # fmt: skip


# --- 12.p2 ----------------------------------------------------------------------------------------


def order_of_hooks(torch):
    """The letters of the lesson's five hooks in the order in which they are called."""
    called = []

    def tell(letter):
        return lambda *given: called.append(letter)

    w, x = leaf(torch, 3.0), torch.tensor(2.0)
    y = w * x
    w.register_post_accumulate_grad_hook(tell("A"))
    y.register_hook(tell("B"))
    y.grad_fn.register_hook(tell("C"))
    w.register_hook(tell("D"))
    y.grad_fn.register_prehook(tell("E"))
    y.backward()
    return "".join(called)


def check_12_p2(answer, torch):
    if not isinstance(answer, str):
        return not_yet('Give the five letters, in one text such as "ABCDE".')
    given = "".join(letter for letter in answer.upper() if letter.isalpha())
    if sorted(given) != list("ABCDE"):
        return not_yet("Each of the letters A to E stands in it once.")
    truth = order_of_hooks(torch)
    if given == truth:
        return correct("tensor, node, leaf: before and after each, you know who is called.")
    if given == "ABCDE":
        return almost("as registered")
    at = given.index
    if at("A") < at("D"):
        return almost("stored first")
    if min(at("B"), at("C"), at("E")) > min(at("A"), at("D")):
        return almost("forwards")
    if at("C") < at("E"):
        return almost("hook and prehook")
    if at("C") < at("B"):
        return almost("tensor after node")
    if at("E") < at("B"):
        return almost("node before tensor")
    return almost("the leaf too early")


P2 = Exercise(
    id="12.p2", kind="predict", title="Who is called when", minutes=3, difficulty=2, puzzles=(20,),
    question="A: post-accumulate hook of w; B: hook of y; C: hook of y's node; D: hook of w; E: prehook of y's node. "
    "In which order are they called?",
    name="answer", starter="answer = None",
    hints=(
        "Go backwards from y: first its gradient is known, then its node runs, then the gradient of w is known.",
        "Of the kinds at one place: a tensor's hooks may still change the gradient. Before whom must that be done?",
    ),
    solution='answer = "BECDA"',
    why="The gradient of y is complete (B), the node is about to run (E) and has run (C); the gradient of w is "
    "complete (D) and has been added to .grad (A).",
    alternatives=('answer = "b, e, c, d, a"', 'answer = ["B", "E", "C", "D", "A"]'),
    mistakes=(
        Mistake("as registered",
                "That is the order of registration. It only decides among hooks of one kind at one place.",
                'answer = "ABCDE"'),
        Mistake("stored first",
                "A is called after the gradient was added to w.grad. D may still change that gradient, so it must come "
                "before.", 'answer = "BECAD"'),
        Mistake("forwards",
                "The pass goes back from y to w: nothing can happen at w before the node of y has run.",
                'answer = "DABEC"'),
        Mistake("hook and prehook",
                "E is called before the node runs, C after it.", 'answer = "BCEDA"'),
        Mistake("node before tensor",
                "Near. First y's own hooks, which decide what its gradient is; then the node is told what it will run "
                "on.", 'answer = "EBCDA"'),
        Mistake("tensor after node",
                "B is called when the gradient of y is complete. By the time of C the node has used it.",
                'answer = "ECBDA"'),
        Mistake("the leaf too early",
                "D is called with the gradient of w. Nobody knows it before the node of y has run, and what C returns "
                "may change it.", 'answer = "BEDCA"'),
    ),
    check=check_12_p2,
)  # fmt: skip


# --- 12.1 -----------------------------------------------------------------------------------------

PROGRAMS = {  # letter -> (program, the x.grad that is wanted)
    "A": ("x.register_hook(print); y = x * 3", [3.0, 3.0]),
    "B": ("x.register_hook(lambda g: g.norm()); y = x * 3", [3.0, 3.0]),
    "C": ("h = x * 3; h.register_hook(lambda g: g.mul_(0)); y = (h + x) * 2", [2.0, 2.0]),
    "D": ("h = x * 1; h.register_hook(lambda g: g.clamp(max=1)); h.mul_(10); y = h * 1", [10.0, 10.0]),
    "E": ("h = x.detach() * 3; h.register_hook(print); y = h + x", [1.0, 1.0]),
    "F": ("x.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(c)); y = x * 3", [0.0, 3.0]),
    "G": ("with x.register_hook(lambda g: g * c): y = x * 3", [0.0, 3.0]),
    "H": ("h = x * 3; r = h * 1; r.register_hook(lambda g: -g); y = h * 2 + r", [3.0, 3.0]),
}
HAPPENS = {
    "A": "fine",
    "B": "raises at backward",
    "C": "silently wrong",
    "D": "silently wrong",
    "E": "raises now",
    "F": "raises at backward",
    "G": "silently wrong",
    "H": "fine",
}
WRONG_HAPPENS = {
    ("A", "raises now"): "before y",
    ("A", "raises at backward"): "print returns",
    ("A", "silently wrong"): "print returns",
    ("B", "fine"): "only a look",
    ("B", "silently wrong"): "a number for two",
    ("B", "raises now"): "checked early",
    ("C", "fine"): "the branch alone",
    ("C", "raises now"): "mul_ now",
    ("C", "raises at backward"): "a guard on gradients",
    ("D", "fine"): "the new h",
    ("D", "raises at backward"): "edits break hooks",
    ("D", "raises now"): "edits break hooks",
    ("E", "fine"): "plain hooks",
    ("E", "raises at backward"): "plain waits",
    ("E", "silently wrong"): "plain is silent",
    ("F", "fine"): "lambda returns",
    ("F", "silently wrong"): "parameter unchanged",
    ("F", "raises now"): "checked early too",
    ("G", "fine"): "gone before",
    ("G", "raises now"): "a hook in a with",
    ("G", "raises at backward"): "gone is no error",
    ("H", "raises now"): "r takes a hook",
    ("H", "silently wrong"): "both reversed",
    ("H", "raises at backward"): "both reversed",
}


def what_happens(letter, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    program, wanted = PROGRAMS[letter]
    space = {"torch": torch, "x": leaf(torch, [1.0, 2.0]), "c": torch.tensor([0.0, 1.0]), "print": lambda *a: None}
    steps = program, "y.sum().backward()"
    return happens(steps, space, lambda s: near(flat(s["x"].grad), wanted), (RuntimeError, TypeError))


def check_12_1(answer, torch):
    return check_table(
        answer, PROGRAMS, lambda letter: what_happens(letter, torch), WRONG_HAPPENS,
        shown="you know when a hook is called, on which value, and what becomes of what it returns.",
    )  # fmt: skip


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX1 = Exercise(
    id="12.1", kind="which happens", title="Which happens?", minutes=7, difficulty=2, puzzles=(20,),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`, wanted {wanted}" for letter, (program, wanted) in PROGRAMS.items()),
    name="happens", starter="happens = {" + ", ".join(f'"{letter}": None' for letter in PROGRAMS) + "}",
    hints=(
        "Ask of each: is the hook still there when the pass comes by, on which value does it stand, and what does it "
        "return?",
        "A lambda returns its last value. What do print, g.norm() and p.grad.mul_(c) give back?",
        "C and H: who else gets the gradient that this hook was given?",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="print returns None (A); a number is no gradient for two (B), and mul_ returns p.grad, where nothing may come "
    "back (F): both are seen when the hook is called. E is refused at registration. C writes into a gradient that the "
    "addition sent to x as well, D stands on the old value, G is gone before the pass. H has a tensor of its own.",
    alternatives=(
        f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",
        f"happens = {({k: v.capitalize() for k, v in HAPPENS.items()})!r}",
    ),
    mistakes=(
        Mistake("print returns",
                "A: print returns None, and None leaves the gradient as it is.", happens_but("A", "silently wrong")),
        Mistake("before y",
                "A: x takes a hook before anything is computed with it. The hook waits for a pass.",
                happens_but("A", "raises now")),
        Mistake("only a look",
                "B: that lambda does not only look. It returns the norm, and what is returned takes the gradient's "
                "place.", happens_but("B", "fine")),
        Mistake("a number for two",
                "B: one number cannot stand for two; a hook's result is compared with the gradient's shape.",
                happens_but("B", "silently wrong")),
        Mistake("checked early",
                "B: at registration nobody knows what the hook will return. It is seen when the pass calls it.",
                happens_but("B", "raises now")),
        Mistake("the branch alone",
                "C: mul_ writes into the gradient itself, and the addition has sent the same tensor to x.",
                happens_but("C", "fine")),
        Mistake("a guard on gradients",
                "C: nobody guards gradients against a write. The version check of lesson 07 is about saved tensors.",
                happens_but("C", "raises at backward")),
        Mistake("mul_ now",
                "C: mul_ stands in the hook. It runs when the pass calls the hook, not in this line.",
                happens_but("C", "raises now")),
        Mistake("the new h",
                "D: the hook was registered before the edit, so it gets the gradient of the old value, 10, and cuts "
                "it to 1.", happens_but("D", "fine")),
        Mistake("edits break hooks",
                "D: an edit after the registration is allowed, and recorded. The hook stays with the old value.",
                happens_but("D", "raises at backward")),
        Mistake("plain hooks",
                "E: h comes from x.detach() and requires no grad. A hook on it would never be called, and is refused.",
                happens_but("E", "fine")),
        Mistake("plain waits",
                "E: it is refused earlier, in the line that registers the hook.",
                happens_but("E", "raises at backward")),
        Mistake("plain is silent",
                "E: it is not silent. A tensor that requires no grad takes no hook.",
                happens_but("E", "silently wrong")),
        Mistake("lambda returns",
                "F: mul_ returns p.grad, and the lambda hands it on. A post-accumulate hook may not return it.",
                happens_but("F", "fine")),
        Mistake("parameter unchanged",
                "F: something is returned here. Nothing is silent about that: the pass asks for None.",
                happens_but("F", "silently wrong")),
        Mistake("checked early too",
                "F: what a hook returns is known when it is called, in the pass.", happens_but("F", "raises now")),
        Mistake("gone before",
                "G: the with statement ends with that line, and the hook with it. The pass comes later.",
                happens_but("G", "fine")),
        Mistake("gone is no error",
                "G: a hook that was taken away is not missed by anybody.", happens_but("G", "raises at backward")),
        Mistake("a hook in a with",
                "G: register_hook gives a handle, and a handle may stand in a with statement: the line runs.",
                happens_but("G", "raises now")),
        Mistake("r takes a hook",
                "H: r is a result, but it requires grad, and every tensor that requires grad takes a hook.",
                happens_but("H", "raises now")),
        Mistake("both reversed",
                "H: r is a tensor of its own. Its hook turns round what comes from r, and h * 2 sends 2 as ever: "
                "3 times 2 - 1.", happens_but("H", "silently wrong")),
    ),
    check=check_12_1,
)  # fmt: skip


# --- 12.2 -----------------------------------------------------------------------------------------

CURES = {
    "A": "bind the name",
    "B": "detach what you keep",
    "C": "remove the handle",
    "D": "hook the parameter",
    "E": "return None",
    "F": "register it later",
}
CHOICES = (
    "bind the name", "detach what you keep", "remove the handle", "return a new tensor", "return None",
    "register it later", "hook the parameter", "call the module",
)  # fmt: skip


def one_line_log(torch, cure):
    """A: does the log have one line for three parameters?"""
    parameters = {name: leaf(torch, numbers(2)) for name in ("a", "b", "c")}
    log = {}
    for name, p in parameters.items():
        if cure == "bind the name":
            p.register_hook(lambda g, name=name: log.update({name: g.norm()}))
        else:
            p.register_hook(lambda g: log.update({name: g.norm()}))  # noqa: B023  the reported bug
    sum((p * p).sum() for p in parameters.values()).backward()
    return len(log) == 1


def keeps_graphs(torch, cure):
    """B: is the graph of a batch still there when its loss is not?"""
    kept, module = [], torch.nn.ReLU()
    if cure == "detach what you keep":
        module.register_forward_hook(lambda m, args, out: kept.append(out.detach()))
    else:
        module.register_forward_hook(lambda m, args, out: kept.append(out))
    module(leaf(torch, numbers(2)) * 2)
    return kept[0].grad_fn is not None


def counts_again(torch, cure):
    """C: is a batch counted more than once in the third evaluation?"""
    module, counts = torch.nn.ReLU(), []
    for _ in range(3):
        counts.clear()
        handle = module.register_forward_hook(lambda m, args, out: counts.append(1))
        module(torch.ones(2))
        if cure == "remove the handle":
            handle.remove()
    return len(counts) > 1


def weight_unclamped(torch, cure):
    """D: does the weight still get a large gradient?"""
    layer = torch.nn.Linear(2, 1)
    if cure == "hook the parameter":
        layer.weight.register_hook(lambda g: g.clamp(-1, 1))
    else:
        layer.register_full_backward_hook(lambda m, gi, go: tuple(None if g is None else g.clamp(-1, 1) for g in gi))
    layer(torch.full((3, 2), 10.0, requires_grad=True)).sum().backward()
    return layer.weight.grad.abs().max().item() > 1


def layers_in_front_rest(torch, cure):
    """E: do the layers in front get no gradient?"""
    front, module, kept = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1), {}

    def hook(m, args, out):
        result = kept.setdefault(m, out.detach())
        return None if cure == "return None" else result

    module.register_forward_hook(hook)
    w = leaf(torch, 2.0)
    (module(front(torch.ones(1, 2))) * w).sum().backward()
    return front.weight.grad is None


def sees_old_value(torch, cure):
    """F: is what the hook sees `scale` times too large?"""
    seen, scale = [], random.uniform(2, 5)
    h = leaf(torch, numbers(2)) * 1
    if cure == "register it later":
        h.mul_(scale)
        h.register_hook(lambda g: seen.append(g.tolist()))
    else:
        h.register_hook(lambda g: seen.append(g.tolist()))
        h.mul_(scale)
    h.sum().backward()
    return not agree(seen, [[1.0, 1.0]])


SYMPTOMS = {"A": one_line_log, "B": keeps_graphs, "C": counts_again, "D": weight_unclamped,
            "E": layers_in_front_rest, "F": sees_old_value}  # fmt: skip
WRONG_CURES = {
    ("A", "remove the handle"): "one hook too many",
    ("A", "return None"): "update returns",
    ("A", "return a new tensor"): "update returns",
    ("A", "register it later"): "later, one name",
    ("A", "detach what you keep"): "no history here",
    ("A", "hook the parameter"): "hooked already",
    ("B", "remove the handle"): "what is kept stays",
    ("B", "return None"): "append returns",
    ("B", "return a new tensor"): "new but held",
    ("B", "call the module"): "outputs arrive",
    ("C", "return None"): "a count returns nothing",
    ("C", "call the module"): "called too often",
    ("C", "register it later"): "later is as often",
    ("C", "detach what you keep"): "nothing is kept",
    ("D", "return a new tensor"): "another tuple",
    ("D", "return None"): "nothing clamped",
    ("D", "register it later"): "later sees no more",
    ("D", "call the module"): "it was called",
    ("E", "detach what you keep"): "detached already",
    ("E", "call the module"): "it was called, too",
    ("E", "register it later"): "setdefault later",
    ("E", "remove the handle"): "no features then",
    ("F", "return a new tensor"): "it only looks",
    ("F", "bind the name"): "no loop",
    ("F", "return None"): "it returns nothing",
    ("F", "hook the parameter"): "another tensor",
}


def check_12_2(answer, torch):
    return check_cures(answer, torch, CURES, SYMPTOMS, WRONG_CURES, CHOICES, tidy, "one of the eight changes")


def cures_but(letter, cure):
    return f"cures = {CURES | {letter: cure}!r}"


EX2 = Exercise(
    id="12.2", kind="diagnose", title="Diagnose", minutes=6, difficulty=2, puzzles=(),
    question="Six bug reports about hooks; which of the eight changes cures each? Two are not needed.",
    name="cures", starter="cures = {" + ", ".join(f'"{letter}": None' for letter in CURES) + "}",
    hints=(
        "Ask of each report: is the hook called, how often, on which value, and what does it return or hold?",
        "Two reports are about what a hook keeps. One keeps too much; in the other the keeping is right, and "
        "something else happens besides: what does setdefault give back?",
    ),
    solution=f"cures = {CURES!r}",
    why="A: a function looks the name up when it is called, and by then the loop is over. B: an output holds its "
    "graph. C: each evaluation adds one more hook. D: a full backward hook sees inputs and outputs, no weights. "
    "E: setdefault returns the detached output, and that takes the place of the real one. F: a hook stays with the "
    "value that was there when it was registered.",
    alternatives=(f"cures = dict({', '.join(f'{k}={v!r}' for k, v in reversed(CURES.items()))})",),
    mistakes=(
        Mistake("one hook too many",
                "A: there is one hook on each parameter, as wanted, and each runs once. But which name do they write?",
                cures_but("A", "remove the handle")),
        Mistake("update returns",
                "A: update returns None, so nothing is replaced. All hooks write into the same line of the log.",
                cures_but("A", "return None")),
        Mistake("hooked already",
                "A: the hooks stand on parameters. They all use one name.", cures_but("A", "hook the parameter")),
        Mistake("later, one name",
                "A: whenever they are registered, all hooks look up one name, and they do so in the pass.",
                cures_but("A", "register it later")),
        Mistake("no history here",
                "A: in an ordinary pass a gradient has no history, so there is nothing to detach. Lines are missing.",
                cures_but("A", "detach what you keep")),
        Mistake("what is kept stays",
                "B: without the handle nothing more is kept, and nothing is read out either. What is kept "
                "holds its graph.", cures_but("B", "remove the handle")),
        Mistake("append returns",
                "B: append returns None already. It is the list that holds too much.", cures_but("B", "return None")),
        Mistake("new but held",
                "B: a new tensor computed from the output has a history too.",
                cures_but("B", "return a new tensor")),
        Mistake("outputs arrive",
                "B: outputs are kept, so the module is called. What do they hold?", cures_but("B", "call the module")),
        Mistake("a count returns nothing",
                "C: whatever it returns, it is called ten times for a batch.", cures_but("C", "return None")),
        Mistake("called too often",
                "C: the module is called, and the hooks are too: ten of them.", cures_but("C", "call the module")),
        Mistake("later is as often",
                "C: wherever it is registered, each evaluation adds one more hook.",
                cures_but("C", "register it later")),
        Mistake("nothing is kept",
                "C: this hook keeps no tensor. But who takes it away after the evaluation?",
                cures_but("C", "detach what you keep")),
        Mistake("another tuple",
                "D: what it returns goes to the layer's inputs, new or not. The weight's gradient travels by another "
                "arrow.", cures_but("D", "return a new tensor")),
        Mistake("nothing clamped",
                "D: with None the inputs' gradients stay as they are. The weight's does not pass this hook at all.",
                cures_but("D", "return None")),
        Mistake("later sees no more",
                "D: whenever it is registered, it is given the inputs' and outputs' gradients only.",
                cures_but("D", "register it later")),
        Mistake("it was called",
                "D: the hook runs. But the weight's gradient is none of those that it is given.",
                cures_but("D", "call the module")),
        Mistake("detached already",
                "E: what is kept is detached, and that is right. Where else does the detached tensor go?",
                cures_but("E", "detach what you keep")),
        Mistake("it was called, too",
                "E: features arrive, so the hook runs. Look at what the lambda gives back.",
                cures_but("E", "call the module")),
        Mistake("setdefault later",
                "E: whenever it is registered, it gives the same tensor back, and that takes the output's place.",
                cures_but("E", "register it later")),
        Mistake("no features then",
                "E: without the hook the layers in front learn again, and no features are kept. But those are wanted.",
                cures_but("E", "remove the handle")),
        Mistake("it only looks",
                "F: check returns nothing, and nothing is replaced. It is called for another value than you think.",
                cures_but("F", "return a new tensor")),
        Mistake("no loop",
                "F: there is no loop here, and h is the right tensor. But its value changes after the registration.",
                cures_but("F", "bind the name")),
        Mistake("it returns nothing",
                "F: what it returns is not the trouble; it sees the gradient of the value before the edit.",
                cures_but("F", "return None")),
        Mistake("another tensor",
                "F: h is the tensor that is asked about, and the hook is on it. But on which of its values?",
                cures_but("F", "hook the parameter")),
    ),
    check=check_12_2,
)  # fmt: skip


# --- 12.3 -----------------------------------------------------------------------------------------


class Boom(Exception):
    """What a pass of the check fails with."""


def logged_model(torch, filled=("first", "bias", "gain"), masking=True):
    """A model and its twin: a frozen, an unused and a masked parameter, gradients from before, several shapes."""
    shapes = {"first": (2, 3), "bias": (3,), "frozen": (3,), "second": (3,), "gain": (), "masked": (1, 2, 1),
              "idle": (2,)}  # fmt: skip

    class Model(torch.nn.Module):
        def __init__(self, numbers_of):
            super().__init__()
            for name in shapes:
                setattr(self, name, torch.nn.Parameter(numbers_of[name].clone()))
            self.frozen.requires_grad_(False)
            for name in filled:
                getattr(self, name).grad = numbers_of[name, "grad"].clone()

        def forward(self, x, error=None):
            h = x @ self.first + self.bias
            if error is not None:
                h.register_hook(fails(error))
            masked = torch.relu(-self.masked).sum() if masking else 0
            return ((h * self.frozen) @ self.second).sum() * self.gain + masked

    numbers_of = {name: leaf_like(torch, *shape).detach() for name, shape in shapes.items()}
    numbers_of.update({(name, "grad"): leaf_like(torch, *shape).detach() for name, shape in shapes.items()})
    return Model(numbers_of), Model(numbers_of)


def fails(error):
    """A hook that raises this."""

    def hook(grad):
        raise error

    return hook


def check_12_3(answer, torch):
    for filled, masking in (((), True), (("idle", "frozen"), True), ((), False)):
        verdict = one_log(answer, torch, ("first", "bias", "gain", *filled), masking)
        if verdict is not None:
            return verdict
    return check_failing_pass(answer, torch)


def one_log(answer, torch, *kind):
    """The verdict on one pass that ends well, or None when nothing is to be said."""
    (model, twin), x = logged_model(torch, *kind), leaf_like(torch, 4, 2)
    other = x.detach().clone().requires_grad_()
    twin(other).backward()  # what the pass does without a logger
    before = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    calls = []
    model.second.register_hook(lambda g: calls.append("second"))
    model.first.register_post_accumulate_grad_hook(lambda p: calls.append("first"))
    own = {name: tensor_hooks(p) for name, p in model.named_parameters()}
    loss = model(x)
    try:
        found = answer(torch, model, loss)
    except (TypeError, RuntimeError) as error:
        if NOT_A_TENSOR in str(error):
            return almost("a number returned")
        if PLAIN in str(error) and not any(map(len, (tensor_hooks(model.bias), tensor_hooks(model.gain)))):
            return almost("frozen")
        raise
    named = judge_norms(found, model, twin, before) or judge_sums(model, twin)
    if named:
        return named
    if any(p.grad is not None and p.grad.requires_grad for p in model.parameters()):
        return almost("recorded")
    if x.grad is None or not near(flat(x.grad), flat(other.grad)):
        return almost("the rest of the pass")
    if calls.count("second") > 1:
        return almost("two passes")
    if sorted(calls) != ["first", "second"] or leftover(model, own):
        return almost("the caller's hook gone")
    try:
        loss.backward()
    except RuntimeError:
        return None
    return almost("graph kept")


def judge_sums(model, twin):
    """A verdict when some .grad is not what the pass alone would have left there, otherwise None."""
    for (name, p), q in zip(model.named_parameters(), twin.parameters(), strict=True):
        if p.grad is None or q.grad is None:
            if p.grad is not q.grad:
                return not_yet(f"Afterwards {name}.grad is {'None' if p.grad is None else 'not None'}.")
        elif not near(flat(p.grad), flat(q.grad)):
            return almost("not added")
    return None


def judge_norms(found, model, twin, before):
    """A verdict when the dictionary of norms is wrong, otherwise None."""
    if not isinstance(found, dict):
        return not_yet("Return the dictionary: name to norm.")
    try:
        found = {name: float(norm) for name, norm in found.items()}
    except (TypeError, ValueError, RuntimeError):
        return not_yet("The values of the dictionary should be numbers.")
    sums = {name: p.grad for name, p in twin.named_parameters()
            if p.grad is not None and name not in ("idle", "frozen")}  # fmt: skip
    brought = {n: flat(g if before[n] is None else g - before[n]) for n, g in sums.items()}
    wanted = {n: math.hypot(*values) for n, values in brought.items()}
    if list(found) == ["idle"]:  # no gradient reaches it: the name was looked up after the loop
        return almost("one name")
    if "masked" in wanted and found.keys() == wanted.keys() - {"masked"}:
        return almost("norms of 0")
    if extra := [str(name) for name in found if name not in wanted]:
        if all(before.get(name) is not None for name in extra):
            return almost("filled before")
        if extra == ["masked"]:  # which only the passes before have reached
            return almost("from the call before")
        return not_yet(f"In the dictionary, though no gradient reaches it: {', '.join(extra)}.")
    if missing := [name for name in wanted if name not in found]:
        return not_yet(f"A gradient reaches {', '.join(missing)}, and the dictionary does not say so.")
    others = {
        "the whole .grad": {n: math.hypot(*flat(g)) for n, g in sums.items()},
        "norm of the parameter": {n: math.hypot(*flat(p)) for n, p in model.named_parameters()},
        "squared": {n: norm**2 for n, norm in wanted.items()},
    }
    if near([found[n] for n in wanted], list(wanted.values())):
        return None
    for mistake, norms in others.items():
        if near([found[n] for n in wanted], [norms[n] for n in wanted]):
            return almost(mistake)
    first = next(n for n in wanted if not near([found[n]], [wanted[n]]))
    return not_yet(f"For {first} your function gives {found[first]:.4g}, and the norm of what this pass brings to it "
                   f"is {wanted[first]:.4g}.")  # fmt: skip


def leftover(model, own):
    """True when a hook of the caller's is gone. (The guard looks for those that were left behind.)"""
    left = {name: tensor_hooks(p) for name, p in model.named_parameters()}
    return any(not any(hook is one for one in left[name]) for name, hooks in own.items() for hook in hooks)


def check_failing_pass(answer, torch):
    """The pass fails half-way: the error must come out, and what had been added by then must still be there."""
    (model, twin), x = logged_model(torch), leaf_like(torch, 4, 2).detach()
    try:
        twin(x, Boom()).backward()
    except Boom:
        pass
    try:
        answer(torch, model, model(x, Boom()))
    except Boom:
        if judge_sums(model, twin):
            return almost("sums lost")
        return correct("names bound, hooks that return None, and nothing left behind: this logger can stay.")
    except Exception as error:
        if isinstance(error.__cause__ or error.__context__, Boom):
            return almost("another error")
        raise
    return almost("error swallowed")


STARTER_3 = """\
def gradient_norms(torch, model, loss):
    norms = {}
    for name, p in model.named_parameters():
        p.register_hook(lambda grad: norms.setdefault(name, grad.norm().item()))
    loss.backward()
    return norms"""


def logger(register, *after, loop="if p.requires_grad:"):
    """The source of an answer to 12.3: what is done in the loop, and then."""
    lines = ["norms, handles = {}, []", "for name, p in model.named_parameters():", f"    {loop}",
             *(f"        {line}" for line in register), *after]  # fmt: skip
    return "def gradient_norms(torch, model, loss):\n" + "".join(f"    {line}\n" for line in lines)


BOUND = ("def hook(grad, name=name):", "    norms[name] = grad.norm().item()",
         "handles.append(p.register_hook(hook))")  # fmt: skip
FINALLY = ("try:", "    loss.backward()", "finally:", "    for handle in handles:", "        handle.remove()",
           "return norms")  # fmt: skip
REMOVED = ("loss.backward()", "for handle in handles:", "    handle.remove()", "return norms")
UPDATE = "handles.append(p.register_hook(lambda grad, name=name: norms.update({name: grad.norm().item()})))"

EX3 = Exercise(
    id="12.3", kind="repair", title="Repair the logger", minutes=8, difficulty=2, puzzles=(),
    question="Return the norm of the gradient that this pass brings to each parameter; leave no hook behind. For "
    "everybody else the pass should be as loss.backward() alone.",
    name="gradient_norms", starter=STARTER_3,
    hints=(
        "Three things: what the lambda returns, when it looks up `name`, and how long it stays. And a frozen parameter "
        "takes no hook.",
        "An argument with a default, as in lambda grad, name=name, is set when the function is made.",
        "Python's try and finally run the last part whether or not an error passes through.",
    ),
    solution=logger(BOUND, *FINALLY),
    why="name=name binds the name when the function is made, and a function without return gives None. The handles "
    "are removed in finally, so also when the pass fails. The hook sees what arrives, whatever .grad holds already.",
    alternatives=(
        logger((UPDATE,), *FINALLY),
        """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    old, norms = {n: p.grad for n, p in named.items()}, {}
    for p in named.values():
        p.grad = None
    try:
        loss.backward()
    finally:
        for n, p in named.items():
            if p.grad is not None:
                norms[n] = p.grad.norm().item()
            if old[n] is not None:
                p.grad = old[n] if p.grad is None else old[n] + p.grad
    return norms
""",
    ),
    mistakes=(
        Mistake("a number returned",
                "setdefault returns the number, and the lambda hands it on to the pass, which wants a tensor or None "
                "from a hook.",
                logger((UPDATE.replace("update({name: grad.norm().item()})", "setdefault(name, grad.norm().item())"),),
                       *FINALLY)),
        Mistake("one name",
                "The dictionary has one line: your function looks `name` up when it is called, and by then the loop "
                "is over. Bind it when the function is made.", logger((UPDATE.replace(", name=name", ""),), *FINALLY)),
        Mistake("frozen",
                "A frozen parameter requires no grad, and takes no hook. Leave it out.",
                logger((), "try:", "    for name, p in model.named_parameters():",
                       *(f"        {line}" for line in BOUND), *FINALLY[1:], loop="pass")),
        Mistake("guard: left hooks",
                "Somebody who calls your function does not expect a hook of it on the parameters afterwards, whether "
                "the pass went well or not.",
                logger(BOUND, "loss.backward()", "return norms")),
        Mistake("guard: left hooks, after an error", "", logger(BOUND, *REMOVED)),
        Mistake("guard: left hooks, all but one", "",
                logger(BOUND, "try:", "    loss.backward()", "finally:", "    handles[-1].remove()", "return norms")),
        Mistake("norms of 0",
                "A gradient of zeros reaches one parameter, and its norm is 0. That is not the same as a parameter "
                "that no gradient reaches: your dictionary leaves it out.",
                logger(BOUND, *FINALLY[:-1], "return {name: norm for name, norm in norms.items() if norm}")),
        Mistake("filled before",
                "In the dictionary is a parameter that has a .grad from an earlier pass. No gradient of this pass "
                "reaches it.",
                """\
def gradient_norms(torch, model, loss):
    before = {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
    loss.backward()
    grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return {n: (g if before[n] is None else g - before[n]).norm().item() for n, g in grads.items()}
"""),
        Mistake("from the call before",
                "In the dictionary is a parameter that only the pass of an earlier call has reached. (A default value "
                "is made once, with the function, and not in each call.)",
                logger(BOUND, *FINALLY).replace("loss):", "loss, norms={}):").replace("norms, handles = {}, []",
                                                                                     "handles = []")),
        Mistake("sums lost",
                "When the pass ends well, all is right. When it fails half-way, .grad is not what it was plus what had "
                "been added by then.",
                """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    old, norms = {n: p.grad for n, p in named.items()}, {}
    for p in named.values():
        p.grad = None
    loss.backward()
    for n, p in named.items():
        if p.grad is not None:
            norms[n] = p.grad.norm().item()
        if old[n] is not None:
            p.grad = old[n] if p.grad is None else old[n] + p.grad
    return norms
"""),
        Mistake("graph kept",
                "The norms are right. But the graph is kept, with all that it has saved: a pass without your logger "
                "would have let it go.",
                logger(BOUND, "try:", "    loss.backward(retain_graph=True)", *FINALLY[2:])),
        Mistake("recorded",
                "The norms are right. But a .grad has a history now: your pass was recorded, and a pass without "
                "your logger would not have been.",
                logger(BOUND, "try:", "    loss.backward(create_graph=True)", *FINALLY[2:])),
        Mistake("the rest of the pass",
                "The parameters have their gradients. But another leaf behind the loss, the input, has not got what "
                "the pass brings to it: a logger should run the whole pass.",
                """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    norms = {}
    for (n, p), grad in zip(named.items(), grads):
        if grad is not None:
            norms[n] = grad.norm().item()
            p.grad = grad if p.grad is None else p.grad + grad
    return norms
"""),
        Mistake("two passes",
                "The norms are right. But a hook of the caller's was called twice: your function runs two passes, and "
                "the caller has asked for one.",
                """\
def gradient_norms(torch, model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(loss, list(named.values()), retain_graph=True, allow_unused=True)
    loss.backward()
    return {n: grad.norm().item() for n, grad in zip(named, grads) if grad is not None}
"""),
        Mistake("squared",
                "The names are right. The numbers are the sums of squares; a norm is the root of that.",
                logger((UPDATE.replace("grad.norm()", "(grad * grad).sum()"),), *FINALLY)),
        Mistake("another error",
                "The pass failed, and another error than its own comes out of your function: the caller cannot see "
                "what went wrong.",
                logger(BOUND, "try:", "    loss.backward()", "except Exception as error:",
                       "    raise RuntimeError('the pass failed') from error", *FINALLY[2:])),
        Mistake("error swallowed",
                "The pass failed, and your function returned as if nothing had happened. Take the hooks away, and let "
                "the error go on.",
                logger(BOUND, "try:", "    loss.backward()", "except Exception:", "    pass", *REMOVED[1:])),
        Mistake("the whole .grad",
                "Those are the norms of .grad after the pass, which holds earlier passes as well. Asked is what this "
                "pass brings: that is what a hook of the tensor is given.",
                logger(("handles.append(p)",), "loss.backward()",
                       "return {n: p.grad.norm().item() for n, p in model.named_parameters() "
                       "if any(p is q for q in handles) and p.grad is not None}")),
        Mistake("norm of the parameter",
                "Those are the norms of the parameters themselves. What a post-accumulate hook is given is the "
                "parameter, not the gradient.",
                logger((UPDATE.replace("register_hook", "register_post_accumulate_grad_hook"),), *FINALLY)),
        Mistake("not added",
                "The norms are right. But .grad afterwards is not what it was plus what the pass brought: whoever "
                "accumulates over several passes gets other sums.",
                logger(("p.grad = None", *BOUND), *FINALLY)),
        Mistake("the caller's hook gone",
                "A hook of the caller's was not called, or is gone now. A handle takes away only its own.",
                logger(BOUND, "try:", "    loss.backward()", "finally:", "    for p in model.parameters():",
                       "        (p._backward_hooks or {}).clear()", "return norms")),
    ),
    may_change=("model.grad", "leaves.grad", "keeps it alive"),
    check=check_12_3,
)  # fmt: skip


# --- 12.4 -----------------------------------------------------------------------------------------


SHAPES_4 = ((3,), (), (1, 2), (2, 1, 3), (1,))


@hooks_in_words
def check_12_4(answer, torch):
    for shape in SHAPES_4:
        strength = 1.0 if shape == (1,) else random.uniform(0.3, 3.0)
        x, a = leaf_like(torch, *shape), leaf_like(torch, *shape).detach()
        h = x * a if shape != (1, 2) else (x * a).float()
        before, dtype = flat(h), h.dtype
        r = answer(torch, h, strength)
        if not isinstance(r, torch.Tensor):
            return not_yet("Return a tensor.")
        if tuple(r.shape) != shape or r.dtype != dtype or not near(flat(r), before, 1e-5):
            return almost("values turned")
        if not r.requires_grad:
            return almost("cut off")
        b, c = (mixed(torch, shape).to(dtype) for _ in range(2))
        named = judge_reversal(torch, x, a, b, c, h, r, strength)
        if named:
            return named
        if named := reversal_in_place(torch, answer, x, a, b, strength):
            return named
        again = answer(torch, h, 2 * strength)
        (found,) = torch.autograd.grad((r * c + again * b).sum(), x, retain_graph=True)
        if not near(flat(found), flat(-strength * a * c - 2 * strength * a * b)):
            return not_yet("Called twice for one h, the two branches disturb each other.")
        if named := recorded_reversal(torch, x, a, r, strength):
            return named
        r.detach().fill_(0)
        if not near(flat(h), before, 1e-9):
            return almost("one memory")
    return reversal_of_plain(answer, torch)


def mixed(torch, shape):
    """Weights for a loss: of either sign, a zero and a large one among them."""
    sizes, sign = numbers(math.prod(shape), 0.2, 3.0), random.choice((-1, 1))
    sizes[-1] *= 20
    values = [size * sign * (-1) ** place for place, size in enumerate(sizes)]
    values[:1] = [0.0] if len(values) > 2 else values[:1]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def judge_reversal(torch, x, a, b, c, h, r, strength):
    """The name of the mistake in these gradients as a verdict, otherwise None."""
    (found,) = torch.autograd.grad((h * b).sum(), x, retain_graph=True)
    if not near(flat(found), flat(a * b)):
        return almost("both heads")
    (found,) = torch.autograd.grad((r * c).sum(), x, retain_graph=True, allow_unused=True)
    if found is None:
        return almost("cut off")
    wrong = {
        "the sign": strength * a * c,
        "the strength": -a * c,
        "no hook": a * c,
        "twice turned": strength * strength * a * c,
    }
    if not near(flat(found), flat(-strength * a * c)):
        for name, gradient in wrong.items():
            if near(flat(found), flat(gradient)):
                return almost(name)
        pairs = enumerate(zip(flat(found), flat(-strength * a * c), strict=True))
        at = next(place for place, (one, other) in pairs if not near([one], [other]))
        came, went = flat(c)[at], flat(found)[at] / flat(a)[at]
        return not_yet(f"With strength {strength:.4g}, {came:.4g} came back to an element of your tensor, and "
                       f"{went:.4g} went on to h.")  # fmt: skip
    (again,) = torch.autograd.grad((r * c).sum(), x, retain_graph=True)
    if not near(flat(found), flat(again)):
        return almost("the first pass only")
    (found,) = torch.autograd.grad((h * b + r * c).sum(), x, retain_graph=True)
    if not near(flat(found), flat(a * b - strength * a * c)):
        return not_yet("Alone, each head sends what it should. When both are in one loss, h gets something else.")
    return None


def recorded_reversal(torch, x, a, r, strength):
    """A verdict when the gradient has lost its history: somebody may differentiate it again."""
    weights = torch.ones_like(a).to(r.dtype).requires_grad_()
    (found,) = torch.autograd.grad((r * weights).sum(), x, create_graph=True)
    if not found.requires_grad:
        return almost("history cut")
    (second,) = torch.autograd.grad(found.sum(), weights, allow_unused=True)
    if second is None or not near(flat(second), flat(-strength * a)):
        return almost("history cut")
    return None


def reversal_in_place(torch, answer, x, a, b, strength):
    """A verdict when the gradient was changed in place: a sum sends one tensor to h and to the new one."""
    for turn in (False, True):
        h, other = (x * a).to(b.dtype), (x * 1).to(b.dtype)  # made before, so that its turn comes after the hook's
        r = answer(torch, h, strength)
        total = r + other if turn else other + r
        (found,) = torch.autograd.grad((total * b).sum(), x)
        if not near(flat(found), flat(b - strength * a * b)):
            return almost("in place")
    return None


def reversal_of_plain(answer, torch):
    """In evaluation: nothing requires grad, and nothing may raise."""
    try:
        with torch.no_grad():
            h = leaf_like(torch, 3) * 1
            r = answer(torch, h, 0.5)
        ones = torch.ones(3)
        s = answer(torch, ones, 0.5)
    except RuntimeError as error:
        if PLAIN in str(error):
            return almost("evaluation")
        raise
    if isinstance(s, torch.Tensor) and isinstance(r, torch.Tensor):
        for plain, result in ((h, r), (ones, s)):
            if plain.data_ptr() == result.data_ptr():
                return almost("one memory in evaluation")
    if not isinstance(r, torch.Tensor) or not near(flat(r), flat(h)) or not near(flat(s), [1.0, 1.0, 1.0]):
        return not_yet("In evaluation, where h requires no grad, the values are other ones.")
    if r.requires_grad or s.requires_grad:
        return almost("a graph in evaluation")
    return correct("one branch is reversed, and nobody else has noticed.")


STARTER_4 = """\
def turn_round(torch, h, strength):
    ..."""


def turned(*lines):
    return "def turn_round(torch, h, strength):\n" + "".join(f"    {line}\n" for line in lines)


GUARDED = "if r.requires_grad:"
HOOK_4 = "    r.register_hook(lambda grad: -strength * grad)"

EX4 = Exercise(
    id="12.4", kind="write a hook", title="Reverse one branch", minutes=8, difficulty=2, puzzles=(),
    question="Return a tensor with the values of h, in memory of its own, whose gradient goes on to h times -strength; "
    "nobody else may notice. A gradient of the gradient must come out right, too.",
    name="turn_round", starter=STARTER_4,
    hints=(
        "Whose gradient does a hook on h change? The lesson's second paragraph under Explain had a cure.",
        "In evaluation the new tensor requires no grad. What does register_hook say to that?",
    ),
    solution=turned("r = h * 1", GUARDED, HOOK_4, "return r"),
    why="h * 1 is a tensor of its own, and a node of its own, so the hook sees what comes from this branch only. What "
    "requires no grad takes no hook and needs none.",
    alternatives=(
        turned("r = h.clone()", "if r.requires_grad:", "    r.register_hook(lambda grad: grad * -strength)",
               "return r"),
        """\
def turn_round(torch, h, strength):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h * 1

        @staticmethod
        def backward(ctx, grad):
            return -strength * grad

    return Reverse.apply(h)
""",
        turned("return h.detach() * (1 + strength) - h * strength"),
    ),
    mistakes=(
        Mistake("guard: left hooks",
                "A hook on h also gets what comes back from the other head. The branch that is to be turned needs a "
                "tensor of its own.",
                turned("if h.requires_grad:", "    h.register_hook(lambda grad: -strength * grad)", "return h")),
        Mistake("both heads",
                "What comes back to h from the other head is changed, too. The branch that is to be turned needs a "
                "tensor of its own, and a node of its own.",
                turned("if h.requires_grad:", "    h.grad_fn.register_prehook(lambda came: (-strength * came[0],))",
                       "return h * 1")),
        Mistake("one memory",
                "Your tensor is a view of h: they share one memory. Whoever writes into one in place (relu_, mul_) "
                "changes the other, or is refused. Make a tensor with memory of its own.",
                turned("r = h.view_as(h)", GUARDED, HOOK_4, "return r")),
        Mistake("one memory in evaluation",
                "In evaluation your tensor lies in the memory of h: whoever writes into one in place changes the "
                "other. It wants memory of its own there, too.",
                turned("if not h.requires_grad:", "    return h", "r = h * 1", HOOK_4.strip(), "return r")),
        Mistake("history cut",
                "The numbers are right. But in a pass with create_graph=True, what goes on to h is no longer connected "
                "with what came back: in a gradient penalty it is a constant.",
                turned("r = h * 1", GUARDED, "    r.register_hook(lambda grad: -strength * grad.detach())",
                       "return r")),
        Mistake("the first pass only",
                "The first pass is right. A second pass over the same graph sends something else on to h.",
                turned("r = h * 1", GUARDED, "    def hook(grad):", "        handle.remove()",
                       "        return -strength * grad", "    handle = r.register_hook(hook)", "return r")),
        Mistake("values turned",
                "The head must read the values of h, in the shape and the type of h. You changed more than the "
                "gradient.",
                turned("return h * -strength")),
        Mistake("cut off",
                "Nothing leads from your tensor to h: a pass that asks for the gradient of the features gets none "
                "through this head.", turned("return h.detach() * 1")),
        Mistake("the sign",
                "The gradient is scaled, but not turned round: -strength, not strength.",
                turned("r = h * 1", GUARDED, HOOK_4.replace("-strength", "strength"), "return r")),
        Mistake("the strength",
                "The sign is right. It should be -strength times as much, and is -1 times.",
                turned("r = h * 1", GUARDED, HOOK_4.replace("-strength * grad", "-grad"), "return r")),
        Mistake("no hook",
                "The gradient goes through unchanged. Does your hook return something, and on which tensor is it?",
                turned("r = h * 1", GUARDED, "    (r * 1).register_hook(lambda grad: -strength * grad)", "return r")),
        Mistake("twice turned",
                "What goes on to h has the sign of what came, and strength is in it twice: -strength has been applied "
                "two times.",
                turned("r = h * 1", GUARDED, HOOK_4, HOOK_4, "return r")),
        Mistake("guard: wrote into the gradient",
                "An addition sends one tensor to all its operands: their gradients would be changed, too.",
                turned("r = h * 1", GUARDED, "    r.register_hook(lambda grad: grad.mul_(-strength))", "return r")),
        Mistake("in place",
                "Right for this branch. But the gradient that comes in is changed in place, and an addition had sent "
                "the same tensor to others: their gradient is turned round, too. Return a new one.",
                """\
def turn_round(torch, h, strength):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h * 1

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(-strength)

    return Reverse.apply(h)
"""),
        Mistake("guard: changed a flag",
                "h belongs to the caller, and in evaluation it requires no grad on purpose.",
                turned("if not h.requires_grad:", "    h.requires_grad_()", "r = h * 1", GUARDED, HOOK_4, "return r")),
        Mistake("a graph in evaluation",
                "In evaluation h requires no grad, and the tensor that you return does: a graph begins where none "
                "should be.",
                turned("r = h * 1", "if not r.requires_grad:", "    r.requires_grad_()", HOOK_4.strip(), "return r")),
        Mistake("evaluation",
                "Training works. In evaluation the tensor requires no grad, and register_hook raises.",
                turned("r = h * 1", HOOK_4.strip(), "return r")),
    ),
    check=check_12_4,
)  # fmt: skip


# --- 12.5 -----------------------------------------------------------------------------------------


TABLES = (((5, 3), 2, False), ((4, 2), 2, True), ((6, 1), 3, True), ((3, 4), 1, True), ((2, 3), 2, True))


@hooks_in_words
def check_12_5(answer, torch):
    for shape, count, with_grad in TABLES:
        rows, weight, c = random.sample(range(shape[0]), count), leaf_like(torch, *shape), mixed(torch, shape)
        rows.sort(reverse=with_grad)
        if with_grad:
            weight.grad = leaf_like(torch, *shape).detach()
        verdict = one_table(answer, torch, weight, rows, c)
        if verdict is not None:
            return verdict
    return correct("exactly 0 for the frozen rows, and not a number changed anywhere else.")


def one_table(answer, torch, weight, rows, c):
    """The verdict on one table with some rows to be frozen, or None when all is well."""
    before = torch.zeros_like(c) if weight.grad is None else weight.grad.clone()
    values = flat(weight)
    handle = answer(torch, weight, list(rows))
    (weight * c).sum().backward()
    named = judge_frozen(torch, weight, rows, c, before, values)
    if named:
        return named
    if isinstance(handle, (list, tuple)):
        return not_yet("The rows are frozen. But what you return is not one handle: the caller wants to say "
                       "handle.remove() once.")  # fmt: skip
    if not hasattr(handle, "remove"):
        return almost("no handle")
    before = weight.grad.clone()
    (weight * c).sum().backward()
    if judge_frozen(torch, weight, rows, c, before, values):
        return almost("one pass only")
    named = frozen_neighbours(torch, weight, c) or (rows and frozen_infinite(torch, weight, rows, c))
    if named:
        return named
    handle.remove()
    weight.grad = None
    (weight * c).sum().backward()
    if not near(flat(weight.grad), flat(c)):
        return not_yet("After handle.remove() the gradient is not what it was without your hook.")
    if tensor_hooks(weight):
        return not_yet("After handle.remove() a hook of yours is still on the table: the handle takes away one of "
                       "several.")
    return None


def judge_frozen(torch, weight, rows, c, before, values):
    """A verdict when .grad after a pass is wrong, otherwise None."""
    if not near(flat(weight), values):
        return not_yet("The table itself holds other numbers after a pass.")
    if weight.grad is None:
        return not_yet("No gradient has arrived in weight.grad.")
    keep = torch.ones_like(c)
    keep[rows] = 0
    brought = weight.grad - before
    if near(flat(brought), flat(c * keep)):
        return None if not any(flat(brought[rows])) else almost("nearly 0")
    if near(flat(brought), flat(c)):
        return almost("nothing frozen")
    if near(flat(brought), flat(c * (1 - keep))):
        return almost("the others frozen")
    if near(flat(weight.grad), flat((c + before) * keep)):
        return almost("earlier passes lost")
    if near(flat(weight.grad), flat(c * keep)):
        return not_yet("What was in weight.grad before the pass is gone.")
    for row in range(len(c)):
        if not near(flat(brought[row]), flat(c[row] * keep[row])):
            said = "is to be frozen" if row in rows else "is not to be frozen"
            had, got = (", ".join(f"{value:.3g}" for value in flat(each[row])) for each in (c, brought))
            return not_yet(f"With rows = {rows}: row {row} {said}, its gradient is [{had}], and what the pass brings "
                           f"to .grad there is [{got}].")  # fmt: skip
    return None


def frozen_neighbours(torch, weight, c):
    """A verdict when another tensor's gradient is changed: a sum sends one tensor to both."""
    for turn in (False, True):
        weight.grad, other = None, leaf_like(torch, *weight.shape)
        total = weight + other if turn else other + weight
        (total * c).sum().backward()
        if not near(flat(other.grad), flat(c)):
            return not_yet("The table's gradient is right. But another tensor, to which an addition had sent the same "
                           "gradient, gets other numbers: something is changed in place.")  # fmt: skip
    return None


def frozen_infinite(torch, weight, rows, c):
    """A verdict when a gradient that is not finite gets through in the frozen rows, or is hidden in the others."""
    others = [row for row in range(len(weight)) if row not in rows]
    for bad in (math.inf, -math.inf, math.nan):
        weight.grad, spoilt = None, c.clone()
        spoilt[rows[0]] = bad
        (weight * spoilt).sum().backward()
        frozen = flat(weight.grad[rows])
        if any(map(math.isnan, frozen)):
            return almost("nan times zero")
        if any(frozen):
            return not_yet(f"When the gradient of a frozen row is {bad}, what arrives there is not 0.")
        if not near(flat(weight.grad[others]), flat(c[others])):
            return not_yet("Where a frozen row's gradient is not finite, other rows come out wrong.")
        if not others:
            continue
        weight.grad, spoilt = None, c.clone()
        spoilt[others[0]] = bad
        (weight * spoilt).sum().backward()
        if any(math.isfinite(value) for value in flat(weight.grad[others[0]])):
            return almost("hidden")
    return None


STARTER_5 = """\
def freeze_rows(torch, weight, rows):
    def hook(grad):
        grad[rows] = 0
        return grad

    return weight.register_hook(hook)"""


def freezing(*lines, after=("return weight.register_hook(hook)",)):
    body = ["def hook(grad):", *(f"    {line}" for line in lines), *after]
    return "def freeze_rows(torch, weight, rows):\n" + "".join(f"    {line}\n" for line in body)


MASKED = ("keep = torch.ones_like(grad)", "keep[rows] = 0", "return grad * keep")

EX5 = Exercise(
    id="12.5", kind="repair", title="Freeze some rows", minutes=8, difficulty=2, puzzles=(),
    question="A hook that brings exactly 0 to some rows of a table and changes nothing else; return the handle.",
    name="freeze_rows", starter=STARTER_5,
    hints=(
        "Into whose memory does grad[rows] = 0 write, and who else may have been sent it?",
        "What is 0 times infinity? Overwriting is not multiplying.",
    ),
    solution=freezing("grad = grad.clone()", "grad[rows] = 0", "return grad"),
    why="The clone is the hook's own, so it may be written to. Writing 0 into it also removes inf and NaN, which a "
    "product with a mask would leave.",
    alternatives=(
        freezing("keep = torch.ones_like(grad, dtype=torch.bool)", "keep[rows] = False",
                 "return torch.where(keep, grad, torch.zeros_like(grad))"),
        freezing("frozen = set(rows)",
                 "return torch.stack([g * 1 if i not in frozen else torch.zeros_like(g) for i, g in enumerate(grad)])"),
    ),
    mistakes=(
        Mistake("guard: wrote into the gradient",
                "Here an addition may have sent this very tensor to others as well: their rows would be 0, too.",
                freezing("grad[rows] = 0")),
        Mistake("guard: changed a .grad",
                "What earlier passes brought should stay, also that of the frozen rows. Change only what a pass "
                "brings.",
                freezing("grad = grad.clone()", "grad[rows] = 0", "return grad",
                         after=("weight.grad = None", "return weight.register_hook(hook)"))),
        Mistake("guard: changed a container",
                "",
                freezing("grad = grad.clone()", "while rows:", "    grad[rows.pop()] = 0", "return grad",
                         after=("rows.reverse()", "return weight.register_hook(hook)"))),
        Mistake("one pass only",
                "The first pass is right. What the second pass brings is not: does the hook change, or what it reads?",
                freezing("handle.remove()", "grad = grad.clone()", "grad[rows] = 0", "return grad",
                         after=("handle = weight.register_hook(hook)", "return handle"))),
        Mistake("hidden",
                "A row that is not frozen had a gradient that was not finite, and now it is finite: what others should "
                "notice is hidden.",
                freezing("keep = torch.ones_like(grad)", "keep[rows] = 0", "return torch.nan_to_num(grad) * keep")),
        Mistake("nearly 0",
                "In the frozen rows a little arrives in .grad. Asked is exactly 0: a little moves the rows, too.",
                freezing("grad = grad.clone()", "grad[rows] *= 1e-9", "return grad")),
        Mistake("nan times zero",
                "A gradient of infinity or NaN in a frozen row leaves NaN there. (0 times infinity is NaN, and so is "
                "infinity minus infinity.)", freezing(*MASKED)),
        Mistake("nothing frozen",
                "The frozen rows get their gradient as ever. A hook that returns nothing leaves the gradient as it "
                "is, and one on weight[rows] stands on a tensor that nobody uses.",
                freezing("grad = grad.clone()", "grad[rows] = 0")),
        Mistake("the others frozen",
                "The other way round: you let through only the rows that are to stay.",
                freezing("keep = torch.zeros_like(grad)", "keep[rows] = grad[rows]", "return keep")),
        Mistake("earlier passes lost",
                "In the frozen rows, what earlier passes brought to .grad is gone, too. Change the gradient before it "
                "is added, and not .grad.",
                freezing("weight.grad[rows] = 0",
                         after=("return weight.register_post_accumulate_grad_hook(hook)",))),
        Mistake("no handle",
                "The rows are frozen. But what you return has no remove(), so the caller cannot end it.",
                freezing("grad = grad.clone()", "grad[rows] = 0", "return grad",
                         after=("weight.register_hook(hook)",))),
    ),
    may_change=("weight.hooks",),
    check=check_12_5,
)  # fmt: skip


# --- 12.6 -----------------------------------------------------------------------------------------


def stepping_case(torch):
    """Five parameters of a small network, one that takes no part, and the network's input."""
    shapes = ((3, 3), (3, 3), (3, 3), (3,), ())
    return [leaf_like(torch, *shape) for shape in shapes], leaf_like(torch, 3, 3), leaf_like(torch, 4, 3)


def network(torch, parameters, x):
    """Uses its last weight twice, so that a step on half its gradient would show."""
    first, second, last, bias, gain = parameters
    return (((x @ first @ last + x @ second @ last - bias) * gain) ** 2).mean()


@hooks_in_words
def check_12_6(answer, torch):
    for gain in (1.0, 0.03, 1.0):
        parameters, idle, x = stepping_case(torch)
        parameters[-1].detach().mul_(gain)  # small gradients as well
        lr, x = random.uniform(0.0001, 0.0005), x.detach()
        old = [p.detach().clone() for p in parameters]
        grads = torch.autograd.grad(network(torch, parameters, x), parameters)
        handles = answer(torch, iter([*parameters, idle]), lr)
        if any(flat(p) != flat(o) for p, o in zip(parameters, old, strict=True)):
            return not_yet("Parameters have moved before any pass.")
        loss = network(torch, parameters, x)
        try:
            loss.backward(retain_graph=True)
        except Exception as error:
            if any(words in str(error) for words in ("should return None", NOT_A_TENSOR, "has changed the")):
                return almost("something returned")
            if steps_the_last(torch, parameters, idle):
                return almost("only the last")
            raise
        moved = [p.detach() - o for p, o in zip(parameters, old, strict=True)]
        named = judge_steps(torch, parameters, idle, moved, old, grads, lr, handles)
        if named:
            return named
        if not all(p.requires_grad and p.is_leaf for p in parameters):
            return not_yet("After the pass a parameter no longer requires grad: it will never learn again.")
        try:
            loss.backward()
            return almost("uncounted")
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
        if named := second_steps(torch, parameters, handles, x, lr):
            return named
    return correct("each parameter steps when its gradient is whole, and lets it go at once.")


def prepare_12_6(torch):
    """PyTorch's first optimizer imports for seconds, and adds to the warnings filters: an answer may use one."""
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)


check_12_6.prepare = prepare_12_6


def steps_the_last(torch, parameters, idle):
    """Call the hook of the first parameter by hand: does it look at the last one instead of what it is given?"""
    hooks = list((parameters[0]._post_accumulate_grad_hooks or {}).values())
    given, met = leaf_like(torch, 3, 3), []

    for hook in hooks:
        given.grad, idle.grad, before = torch.ones_like(given), torch.ones_like(idle), (flat(given), flat(idle))
        try:
            with torch.no_grad():
                hook(given)
        except Exception:
            return False
        met.append(flat(given) == before[0] and (flat(idle) != before[1] or idle.grad is None))
    idle.grad = None
    return bool(met) and all(met)


def judge_steps(torch, parameters, idle, moved, old, grads, lr, handles):
    """A verdict when the parameters did not move as they should, otherwise None."""

    def all_near(wanted):
        return all(near(flat(m / lr), flat(w / lr), 1e-6) for m, w in zip(moved, wanted, strict=True))

    if all_near([-lr * g for g in grads]):
        if any(p.grad is not None for p in parameters):
            return almost("gradients stay")
        return None
    if all_near([lr * g for g in grads]):
        return almost("uphill")
    if all_near([-lr * o for o in old]):
        return almost("the parameter for the gradient")
    if all_near([-g for g in grads]):
        return almost("lr forgotten")
    if all_near([0 * g for g in grads]):
        if not any(map(tensor_hooks, parameters)):
            if inspect.isgenerator(handles):
                return not_yet("Your function gave back a generator, and that does nothing until somebody asks it.")
            return not_yet("No hook stands on a parameter that the pass reaches. (What `parameters` is may be gone "
                           "through once only, as with net.parameters().)")  # fmt: skip
        return almost("only the last" if steps_the_last(torch, parameters, idle) else "nothing written")
    right = sum(near(flat(m / lr), flat(-g), 1e-6) for m, g in zip(moved, grads, strict=True))
    return not_yet(f"{right} of the {len(grads)} parameters that the pass reaches moved by -lr times their gradient.")


def second_steps(torch, parameters, handles, x, lr):
    """A verdict on a second step, and on the handles; otherwise None."""
    for p in parameters:
        p.grad = None
    old = [p.detach().clone() for p in parameters]
    grads = torch.autograd.grad(network(torch, parameters, x), parameters)
    network(torch, parameters, x).backward()
    for p, o, g in zip(parameters, old, grads, strict=True):
        if not near(flat((p - o) / lr), flat(-g), 1e-6):
            return almost("kept from the first pass")
    if not isinstance(handles, (list, tuple)) or not all(hasattr(handle, "remove") for handle in handles):
        return almost("no handles")
    for handle in handles:
        handle.remove()
    before = [flat(p) for p in parameters]
    network(torch, parameters, x).backward()
    if [flat(p) for p in parameters] != before or any(p.grad is None for p in parameters):
        return not_yet("After the handles are removed, a pass still steps.")
    return None


STARTER_6 = """\
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        handles.append(p.register_hook(lambda grad: p.sub_(lr * grad)))
    return handles"""


def stepping(*lines, register="p.register_post_accumulate_grad_hook(step)", last="return handles"):
    """The source of an answer to 12.6: what the hook does, and how it is registered."""
    body = ["def step(p):", *(f"    {line}" for line in lines), "handles = []", "for p in parameters:",
            f"    handles.append({register})", last]  # fmt: skip
    return "def step_in_backward(torch, parameters, lr):\n" + "".join(f"    {line}\n" for line in body)


SUB, NONE = "p.sub_(lr * p.grad)", "p.grad = None"

EX6 = Exercise(
    id="12.6", kind="repair", title="Step during backward", minutes=10, difficulty=3, puzzles=(20,),
    question="Each pass moves every parameter that it reaches by -lr times its gradient, and leaves .grad None.",
    name="step_in_backward", starter=STARTER_6,
    hints=(
        "Which kind of hook is called when the gradient is in .grad, and so can be taken out again?",
        "What is the argument of that hook? Use it, and not the p of the loop.",
        "Count what your hook returns among the mistakes: a lambda returns what sub_ returns.",
    ),
    solution=stepping("with torch.no_grad():", f"    {SUB}", NONE),
    why="A post-accumulate hook is given the parameter itself, so no name has to be bound, and the gradient is in "
    "p.grad. sub_ is counted, so the old graph is refused; p.grad = None lets the memory go. A def without return "
    "gives None.",
    alternatives=(
        stepping(f"p -= lr * p.grad\n        {NONE}"),
        stepping(SUB, NONE, register="p.register_post_accumulate_grad_hook(lambda q: step(q))"),
    ),
    mistakes=(
        Mistake("gradients stay",
                "The parameters have moved rightly. But a .grad is left: with it the memory is still taken, and the "
                "next pass adds to it.", stepping(SUB)),
        Mistake("the parameter for the gradient",
                "A post-accumulate hook is given the parameter, and you subtract lr times that. The gradient is in its "
                ".grad.",
                stepping("p.sub_(lr * p)", NONE)),
        Mistake("only the last",
                "We called the hook of the first parameter by hand: it looks at the last parameter, and not at the one "
                "that it is given. When the hooks run, the loop is over.",
                """\
def step_in_backward(torch, parameters, lr):
    handles = []
    for p in parameters:
        def step(_):
            p.sub_(lr * p.grad)
            p.grad = None
        handles.append(p.register_post_accumulate_grad_hook(step))
    return handles
"""),
        Mistake("nothing written",
                "Your hooks are there, and no parameter has moved: nothing that they do writes into the parameter "
                "that they are given. (`p = …` inside a hook, for one, gives a name to a new tensor.)",
                stepping("g, p.grad = p.grad, None", "p = p - lr * g")),
        Mistake("lr forgotten",
                "Each parameter moved by minus its gradient: lr is not in it.", stepping("p.sub_(p.grad)", NONE)),
        Mistake("kept from the first pass",
                "The first step is right, the second is not. Does a hook of yours keep something, or go away, after "
                "the first pass?",
                """\
def step_in_backward(torch, parameters, lr):
    sums = {}

    def step(p):
        sums[p] = sums.get(p, 0) + p.grad
        p.sub_(lr * sums[p])
        p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in parameters]
"""),
        Mistake("something returned",
                "Your hook returns something. A post-accumulate hook may not: write a def without return, or return "
                "None.", stepping("q = p.grad", NONE, "return p.sub_(lr * q) * 1")),
        Mistake("uphill",
                "The parameters moved along their gradients. Descent goes against them.",
                stepping("p.add_(lr * p.grad)", NONE)),
        Mistake("uncounted",
                "The steps are right. But the write is not counted, and a second pass over the old graph uses new "
                "weights for old ones without an error. Write to p itself, not through .data.",
                stepping("p.data.sub_(lr * p.grad)", NONE)),
        Mistake("no handles",
                "The steps are right. But what you return is no list of handles, so the caller cannot stop it.",
                stepping(SUB, NONE, last="return None")),
    ),
    check=check_12_6,
)  # fmt: skip


EXERCISES = [P1, P2, EX1, EX2, EX3, EX4, EX5, EX6]
