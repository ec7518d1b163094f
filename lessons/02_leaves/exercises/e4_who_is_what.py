"""Exercise 02.4: who is what?"""

from coursekit.judge.exercise import Exercise, Mistake, correct, edit, not_yet
from coursekit.judge.table import judged_rows

from .shared import stored

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


def check(answer, torch):
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


EXERCISE = Exercise(
    id="02.4", kind="predict state", title="Who is what?", minutes=5, difficulty=1, puzzles=(10,),
    question="For each of c to g, after the last line: is it a leaf, does it require grad, has it a .grad?"
    "\n\n```python\n"
    + STATE_PROGRAM + "```",
    name="state", starter='state = {"c": None, "d": None, "e": None, "f": None, "g": None}',
    hints=(
        "Begin with the flag: which operands had it when the line ran? Only then ask whether the operation was "
        "recorded.",
        "A result that requires no grad was not recorded, and what is not recorded makes a leaf.",
        "One of the five is not a new tensor.",
    ),
    solution=f"state = {STATE!r}",
    why="c and g are recorded results. d is computed, but unrecorded: a leaf without the flag. e was such a leaf when "
    "it was given the flag. f is a itself.",
    alternatives=(f"state = dict({', '.join(f'{name}={tuple(three)}' for name, three in reversed(STATE.items()))})",),
    mistakes=(
        Mistake("every result is no leaf", "d was computed, but from plain tensors, and so nothing was recorded. A "
                "leaf is what no *recorded* operation computed.", edit(" [True, False", " [False, False")),
        Mistake("plain", "d is a leaf, right. But b does not require grad, so b * b does not either.",
                edit("False, False", "True, True")),
        Mistake("stored without the flag", "d is a leaf without the flag, right. But a gradient is stored where both "
                "come together, leaf and flag.", edit("False, False],", "False, True],")),
        Mistake("flag on a result", "When e was given the flag it was a plain leaf, for b * 0.1 was not recorded. "
                "And the sum was computed from it.", state_but(e=[False, True, False])),
        Mistake("float made a copy", "a is float32 already, so f is a itself: the same leaf, the same gradient.",
                state_but(f=[False, True, False])),
        Mistake("the cast", "double() of a float32 tensor computes new numbers. g is a result; what arrives there "
                "goes on to a.", edit("[False, True, False]}", "[True, True, True]}")),
        Mistake("results store", "The gradient of c passes through, and is not stored there: nobody called "
                "retain_grad() on c.", edit("True, False],", "True, True],")),
        Mistake("a recorded leaf", "c was computed from a, which requires grad, so the product was recorded: c is a "
                "result.", edit("[False, True, False],", "[True, True, True],")),
        Mistake("two are needed", "c was computed from a, which requires grad. One such operand is enough.",
                edit("[False, True, False],", "[False, False, False],")),
        Mistake("plain makes plain", "d: b * b has no operand that requires grad. Then it requires none itself, was "
                "not recorded, and is a leaf.", edit("[True, False", "[False, True")),
        Mistake("a leaf that is used", "e is a leaf that requires grad, right. The sum was computed from it, so its "
                "gradient arrives, and is stored.", edit(", True, True], 'f", ", True, False], 'f")),
        Mistake("asked for", "e: requires_grad_() sets the flag of a plain tensor, and returns that tensor.",
                edit(" [True, True, True], 'f", " [True, False, False], 'f")),
        Mistake("the gradient of a", "f is a leaf that requires grad, right: it is a itself. So what is a.grad is "
                "f.grad.", edit(", True, True], 'g", ", True, False], 'g")),
        Mistake("results store, too", "g is a result, right. What arrives at g goes on to a; nobody called "
                "retain_grad() on g.", edit(", False]}", ", True]}")),
        Mistake("a cast loses the flag", "g: float64 has slopes like float32. The cast is an operation that is "
                "recorded, and its result requires grad.", edit("[False, True, False]}", "[False, False, False]}")),
    ),
    check=check,
)  # fmt: skip
