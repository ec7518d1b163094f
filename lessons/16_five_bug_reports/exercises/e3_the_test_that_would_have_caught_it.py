"""Exercise 16.3: the test that would have caught it."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet


def network(torch):
    """Four parameters with names."""
    layers = {"first": torch.nn.Linear(2, 3), "second": torch.nn.Linear(3, 2)}
    return torch.nn.ModuleDict(layers)


def check(answer, torch):
    """Trainings with a planted bug, and sound ones: the names have to be those of the plan."""
    for name, plan, rests in PLANS:
        verdict = judged(answer, torch, name, plan, rests)
        if verdict:
            return verdict
    return swallowing(answer, torch) or correct("your test tells trainings that learn from trainings that only run.")


FIRST, SECOND = ("first.weight", "first.bias"), ("second.weight", "second.bias")
ALL = {*FIRST, *SECOND}
PLANS = (  # (name, {parameter: how it moves}, which should rest); those not in it move as in any training
    ("sound, with a rest", dict.fromkeys(SECOND, "rests"), set(SECOND)),
    ("sound", {}, set()),
    ("a bias rests", {"second.bias": "rests"}, {"first.bias"}),
    ("two rest", {"first.weight": "rests", "first.bias": "rests"}, set()),
    ("one moves that should not", {"first.bias": "rests"}, {"first.bias", "second.weight"}),
    ("there and back", {"first.weight": "sum stays"}, set()),
    ("a turn late", {"second.weight": "late"}, set()),
    ("with a gradient all the same", {"first.weight": "rests, with a gradient"}, set()),
    ("without a gradient all the same", {"second.weight": "moves, without a gradient"}, {"second.weight"}),
    ("small steps", dict.fromkeys(ALL, "small"), set()),
    ("rounding", dict.fromkeys(SECOND, "rounding"), set(SECOND)),
    ("backwards", dict.fromkeys(FIRST, "downwards"), set()),
    ("one number", {"first.weight": "one number"}, {"first.weight"}),
    ("frozen by mistake", {"first.weight": "rests, frozen"}, set()),
    ("frozen, as it should be", {"first.weight": "rests, frozen"}, {"first.weight"}),
)


def wrong_names(plan, rests):
    """The names that a right test returns."""
    still = {name for name, how in plan.items() if how.startswith(("rests", "rounding"))}
    return sorted(name for name in ALL if (name in still) != (name in rests))


def judged(answer, torch, name, plan, rests):
    model, steps = network(torch), []
    step = trainer(torch, model, plan, steps)
    wanted, found = wrong_names(plan, rests), answer(torch, model, step, set(rests))
    if isinstance(found, (set, tuple)):
        found = sorted(found)
    if not isinstance(found, list) or any(each not in ALL for each in found):
        return not_yet(f"Return the list of names; your function gave {found!r}.")
    if len(steps) < 5:
        by = {0: "no step"}.get(len(steps), "too few steps")
        return almost(by)
    if len(steps) > 5:
        return not_yet(f"Five steps are to be made; you made {len(steps)}.")
    if sorted(found) == wanted:
        return None if found == sorted(found) else not_yet("The names are right, but they are not sorted.")
    return almost(why(name, found, wanted, rests))


def trainer(torch, model, plan, steps):
    """step(): what one training step does, by the plan."""
    parameters = dict(model.named_parameters())

    def step():
        steps.append(1)
        with torch.no_grad():
            for name, p in parameters.items():
                how = plan.get(name, "moves")
                p.requires_grad_(how != "rests, frozen")
                without = how in ("rests", "rests, frozen", "moves, without a gradient")
                p.grad = None if without else torch.ones(tuple(p.shape))
                change(p, how, len(steps))

    def change(p, how, turn):
        if how in ("moves", "moves, without a gradient") or (how == "late" and turn > 1):
            p += random.uniform(0.01, 0.1)
        elif how == "small":
            p += 0.00002
        elif how == "rounding":
            p += 0.00000002
        elif how == "downwards":
            p -= 0.1
        elif how == "sum stays":
            p.copy_(p[[1, 2, 0]].clone())  # rows trade places
        elif how == "one number":
            p[0, 0] += 0.1

    return step


def why(name, found, wanted, rests):
    """Tell which of the known slips gives this answer."""
    if name in ("sound", "sound, with a rest") and set(found) == ALL - set(rests):
        return "the same tensor"
    if not rests and not found:
        known = {"there and back": "sums", "a turn late": "too few steps", "two rest": "one is enough",
                 "with a gradient all the same": "looks at gradients",
                 "frozen by mistake": "skips the frozen"}  # fmt: skip
        return known.get(name, "one is enough")
    if name in ("with a gradient all the same", "without a gradient all the same", "small steps"):
        return {"small steps": "too coarse"}.get(name, "looks at gradients")
    if name == "rounding":
        return "too fine"
    if name == "backwards":
        return "one direction"
    if name == "one number":
        return "not all numbers"
    if name == "there and back":
        return "sums"
    if set(found) == ALL - set(wanted):
        return "the others"
    if not set(found) & set(rests) and set(wanted) & set(rests):
        return "forgets the rest"
    if set(found) <= set(rests) or not set(found) - set(rests):
        return "forgets the learning"
    return "looks at gradients"


def swallowing(answer, torch):
    """An error in step() has to come out."""

    def failing():
        raise RuntimeError("the step failed")

    try:
        answer(torch, network(torch), failing, set())
    except RuntimeError as error:
        return None if "the step failed" in str(error) else not_yet("An error in step comes out as another one.")
    return almost("swallowed")


STARTER = """\
def audit(torch, model, step, rests):
    step()
    return sorted(name for name, p in model.named_parameters() if p.grad is None)
"""
SOLVED = """\
def audit(torch, model, step, rests):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(5):
        step()
    wrong = []
    for name, p in model.named_parameters():
        moved = (p - before[name]).abs().max().item() > 1e-6
        if moved == (name in rests):
            wrong.append(name)
    return sorted(wrong)
"""

EXERCISE = Exercise(
    id="16.3", kind="diagnose", title="The test that would have caught it", minutes=10, difficulty=2,
    puzzles=(9, 11, 13),
    question="Make five steps, and return the sorted names of all parameters that should learn and have not moved, or "
    "should rest and have moved. Moved is what has changed by more than 0.000001 anywhere.",
    name="audit", starter=STARTER,
    hints=(
        "To say whether a tensor has moved you need its numbers from before, in memory of their own.",
        "There are two ways to break the rule. A parameter is fine if exactly one of two things is true of it: it has "
        "moved, or it is in `rests`.",
    ),
    solution=SOLVED,
    why="Numbers from before and after are all that counts. A gradient says what might happen, and the loss "
    "says nothing "
    "about any single parameter.",
    alternatives=(
        edit("p.detach().clone()", "p.tolist()",
             "(p - before[name]).abs().max().item()", "(p - torch.tensor(before[name])).abs().max().item()"),
        "def audit(torch, model, step, rests):\n    names = [name for name, _ in model.named_parameters()]\n"
        "    before = [p.detach() + 0 for p in model.parameters()]\n    for turn in range(5):\n        step()\n"
        "    moved = {name for name, p, q in zip(names, model.parameters(), before) "
        "if bool(((p - q).abs() > 1e-6).any())}\n"
        "    return sorted(moved.symmetric_difference(set(names) - set(rests)))\n",
    ),
    mistakes=(
        Mistake("the same tensor", "By your test nothing ever moves. `before` holds the parameters themselves, or "
                "shares their memory: it moves along.", edit("p.detach().clone()", "p.detach()")),
        Mistake("looks at gradients", "Your test asks for gradients. There are parameters with a gradient that no "
                "optimizer steps, and parameters without one that move all the same.",
                edit("(p - before[name]).abs().max().item() > 1e-6", "p.grad is not None")),
        Mistake("skips the frozen", "Your test passes over parameters that do not require a gradient. One that should "
                "learn and was frozen by mistake is what it has to find.",
                edit("    for name, p in model.named_parameters():\n        moved", "    for name, p in "
                     "model.named_parameters():\n        if not p.requires_grad:\n            continue\n"
                     "        moved")),
        Mistake("too few steps", "One step is not enough. Some parameters move only from the second step on, as those "
                "that are trained in turns do.", edit("range(5)", "range(1)")),
        Mistake("no step", "Your test never calls step. So it compares two tensors that nobody has touched.",
                edit("        step()", "        pass")),
        Mistake("sums", "You compare one number for each parameter, such as a sum or a norm. Two numbers may trade "
                "places, and it is as before.",
                edit("(p - before[name]).abs().max().item()", "abs(p.sum().item() - before[name].sum().item())")),
        Mistake("one direction", "You count only what has become larger. A parameter that was lowered has moved, too.",
                edit(".abs()", "")),
        Mistake("not all numbers", "You ask whether all numbers have moved. A parameter has moved if any of them has.",
                edit(".abs().max()", ".abs().min()")),
        Mistake("too coarse", "Small steps escape your test: a parameter that moves by 0.0001 in five steps learns, if "
                "slowly.", edit("1e-6", "1e-2")),
        Mistake("too fine", "Your test takes rounding for learning: a change far below 0.000001 counts as moved.",
                edit("> 1e-6", "> 0")),
        Mistake("forgets the rest", "You look for what should have moved. What should have rested, and moved, is not "
                "in your list.", edit("moved == (name in rests)", "not moved and name not in rests")),
        Mistake("forgets the learning", "You look for what should have rested. What should have moved, and did not, is "
                "not in your list.", edit("moved == (name in rests)", "moved and name in rests")),
        Mistake("the others", "That is the list of those that keep the rule.",
                edit("moved ==", "moved !=")),
        Mistake("one is enough", "Your test is content if anything at all has moved. One part that learns hides one "
                "that does not.",
                "def audit(torch, model, step, rests):\n    before = [p.detach().clone() for p in model.parameters()]\n"
                "    for _ in range(5):\n        step()\n"
                "    if any(not torch.equal(p, q) for p, q in zip(model.parameters(), before)) and not rests:\n"
                "        return []\n    return sorted(name for (name, p), q in zip(model.named_parameters(), before) "
                "if ((p - q).abs().max().item() > 1e-6) == (name in rests))\n"),
        Mistake("swallowed", "An error in step never comes out of your test. A training that fails is not one that "
                "passes.", edit("        step()\n", "        try:\n            step()\n        except RuntimeError:\n"
                                "            pass\n")),
    ),
    may_change=("model",),
    check=check,
)  # fmt: skip
