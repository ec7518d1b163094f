"""Exercise 05.1: read the state."""

from coursekit.judge.exercise import Exercise, Mistake, correct, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import agree


def as_list(value):
    """A tensor as nested lists; None and plain values as they are."""
    return value.tolist() if hasattr(value, "tolist") else value


def check(answer, torch):
    """Run the program and compare the four facts one by one."""
    p, q, r = (torch.ones(2, requires_grad=True) for _ in range(3))
    (p * 2 * q).sum().backward()
    early = p.grad
    (p * 3).sum().backward()
    q.grad = None
    (q * 0).sum().backward()
    truth = {
        "p.grad": as_list(p.grad),
        "q.grad": as_list(q.grad),
        "r.grad": as_list(r.grad),
        "early is p.grad": early is p.grad,
    }
    if not isinstance(answer, dict) or set(answer) != set(truth):
        return not_yet(f"Keep the dictionary with the keys {', '.join(truth)}.")
    given = answer
    for key in ("p.grad", "q.grad", "r.grad"):
        if given[key] is not None and not isinstance(given[key], list | tuple):
            return not_yet(f"Give {key} as a list of two numbers, or None.")
    if type(given["early is p.grad"]) is not bool:
        return not_yet("`early is p.grad` is a question with the answer True or False.")
    names = {
        "p.grad": (([3, 3], "overwritten"), ([2, 2], "first pass only"), ([6, 6], "slopes multiplied")),
        "q.grad": ((None, "zero is none"), ([2, 2], "cleared in vain")),
        "r.grad": ((given["r.grad"], "zeros from the start"),),
        "early is p.grad": ((False, "a new tensor each time"),),
    }
    wrong = [key for key in truth if not agree(given[key], truth[key])]
    named = {key: name for key in wrong for value, name in names[key] if agree(given[key], value)}
    if len(wrong) == 1 and wrong[0] not in named:
        return not_yet(f"{wrong[0]} is not {given[wrong[0]]}. Add up what each pass sends to this leaf.")
    if found := judged_rows(wrong, list(truth), named, "are right"):
        return found
    return correct("Added in place, cleared by None, zeros where a zero arrived, None where nothing did.")


STATE = 'state = {{"p.grad": {}, "q.grad": {}, "r.grad": {}, "early is p.grad": {}}}\n'

EXERCISE = Exercise(
    id="05.1", kind="predict state", title="Read the state", minutes=5, difficulty=2, puzzles=(12,),
    question="After the program, give `p.grad`, `q.grad` and `r.grad` as lists (or None), and whether `early is "
    "p.grad`.",
    name="state", starter='state = {"p.grad": None, "q.grad": None, "r.grad": None, "early is p.grad": None}\n',
    hints=(
        "Go through the program pass by pass, and keep one column for each leaf.",
        "`p` takes part in two passes. `q` is cleared, and then takes part in one more, multiplied by 0.",
    ),
    solution=STATE.format("[5, 5]", "[0, 0]", "None", "True"),
    why="2 + 3 arrive at p, added in place; a zero arrives at q after it was cleared; nothing ever reaches r.",
    alternatives=(STATE.format("torch.tensor([5.0, 5.0])", "(0.0, 0.0)", "None", "True"),),
    mistakes=(
        Mistake("overwritten", "p.grad: 3 is the second pass alone, and the 2s of the first pass are still there.",
                STATE.format("[3, 3]", "[0, 0]", "None", "True")),
        Mistake("first pass only", "p.grad: 2 is the first pass alone. p is used in the second line with backward, "
                "too.", STATE.format("[2, 2]", "[0, 0]", "None", "True")),
        Mistake("slopes multiplied", "p.grad: 2 times 3 would be right along one path. These are two passes, and "
                "their gradients are added.", STATE.format("[6, 6]", "[0, 0]", "None", "True")),
        Mistake("zero is none", "q.grad: multiplying by 0 is a path; a gradient did arrive, and it was zero.",
                STATE.format("[5, 5]", "None", "None", "True")),
        Mistake("cleared in vain", "q.grad: the 2s of the first pass were let go by `q.grad = None`, before the last "
                "pass.", STATE.format("[5, 5]", "[2, 2]", "None", "True")),
        Mistake("zeros from the start", "r.grad: r took part in nothing, so nothing arrived, and `.grad` is still "
                "None.", STATE.format("[5, 5]", "[0, 0]", "[0, 0]", "True")),
        Mistake("a new tensor each time", "`early is p.grad`: the second pass added in place, so both names mean one "
                "tensor.", STATE.format("[5, 5]", "[0, 0]", "None", "False")),
    ),
    check=check,
)  # fmt: skip
