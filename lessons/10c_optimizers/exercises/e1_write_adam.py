"""Exercise 10c.1: write Adam."""

import math
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import as_number, flat, near, numbers
from lessons.training import fresh


class Hand:
    """Adam for one number, by hand, and the usual slips of a pen."""

    def __init__(self, start, slip=""):
        self.p, self.m, self.s, self.n, self.slip = start, 0.0, 0.0, 0, slip

    def step(self, g, calls, steps, lr, b1, b2, eps):
        """One step; calls: how often `adam` was called by now, steps: how many parameters it has stepped by now."""
        slip = self.slip
        if g is None and slip != "None as zero":
            return
        g, self.n = g or 0.0, self.n + 1
        n = {"count of calls": calls, "count of all": steps, "count stays 1": 1,
             "a step behind": max(1, self.n - 1)}.get(slip, self.n)
        if slip == "betas exchanged":
            b1, b2 = b2, b1
        if slip in ("shares exchanged", "first shares"):
            b1 = 1 - b1
        if slip == "shares exchanged":
            b2 = 1 - b2
        if self.n == 1 and slip in ("begun with g", "begun with both"):
            self.m = g
        if self.n == 1 and slip in ("begun with squares", "begun with both"):
            self.s = g * g
        self.m = (0 if slip == "average replaced" else b1) * self.m + (1 if slip == "no share" else 1 - b1) * g
        self.s = (0 if slip == "squares replaced" else b2) * self.s
        self.s += (1 if slip == "no share of squares" else 1 - b2) * (abs(g) if slip == "not squared" else g * g)
        if slip in ("shares exchanged", "first shares"):
            b1 = 1 - b1
        if slip == "shares exchanged":
            b2 = 1 - b2
        first = 1 if slip in ("no correction", "no first") else 1 - b1 ** (1 if slip == "first stays" else n)
        second = 1 if slip in ("no correction", "no second") else 1 - b2 ** (1 if slip == "second stays" else n)
        if slip == "eps under the root":
            size = math.sqrt(self.s / second + eps)
        elif slip == "no root":
            size = self.s / second + eps
        elif slip == "root before correction":
            size = math.sqrt(self.s) / second + eps
        else:
            size = math.sqrt(self.s / second) + (0 if slip == "no eps" else eps)
        self.p -= (-1 if slip == "uphill" else 1) * lr * self.m / first / (size or 1)
        self.corrected = self.m / first, self.s / second


SLIPS = {  # what may have slipped -> the name of the mistake
    **{slip: "no correction" for slip in ("no correction", "no first", "no second")},
    **{slip: "shared count" for slip in ("count of calls", "count of all")},
    **{slip: "no share" for slip in ("no share", "no share of squares")},
    **{slip: "count stays 1" for slip in ("count stays 1", "first stays", "second stays")},
    **{slip: "shares exchanged" for slip in ("shares exchanged", "first shares")},
    **{slip: "begun with the gradient" for slip in ("begun with g", "begun with squares", "begun with both")},
    **{slip: "average replaced" for slip in ("average replaced", "squares replaced")},
    **{slip: slip for slip in ("eps under the root", "no root", "root before correction", "betas exchanged",
                               "not squared", "uphill", "None as zero", "stopped at None", "no eps",
                               "a step behind")},
}  # fmt: skip
NAMES = {"step", "exp_avg", "exp_avg_sq"}


def check(answer, torch):
    for dtype, shapes in ((torch.float64, ((2,), (), (1, 3))), (torch.float32, ((), (2, 2), (1,)))):
        verdict = judged_adam(answer, torch, dtype, shapes)
        if verdict:
            return verdict
    if frozen_rests(answer, torch):
        return almost("frozen is skipped")
    return correct("two averages and a count for each parameter: this is what a checkpoint has to carry along.")


def frozen_rests(answer, torch):
    """Is a parameter left alone that was frozen when it had a gradient already?"""
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    p.grad = torch.tensor([3.0, -4.0])
    p.requires_grad_(False)
    answer(torch, [p], {}, 0.1, 0.8, 0.9, 0.05)
    return p.tolist() == [1.0, 2.0]


class ByHand:
    """Three parameters of these shapes, and the same by hand, right and with each slip."""

    def __init__(self, torch, dtype, shapes):
        self.torch, self.dtype, self.shapes = torch, dtype, shapes
        self.start = [[random.uniform(1, 2) for _ in range(math.prod(shape))] for shape in shapes]
        self.params = [self.tensor(values, shape).requires_grad_()
                       for values, shape in zip(self.start, shapes, strict=True)]  # fmt: skip
        self.hands = {slip: [[Hand(v, slip) for v in values] for values in self.start] for slip in ("", *SLIPS)}
        self.near = 1e-7 if dtype is torch.float64 else 1e-4
        self.calls = self.steps = 0

    def tensor(self, values, shape):
        return self.torch.tensor(values, dtype=self.dtype).reshape(shape)

    def go_on(self, gradients, *settings):
        """One step by hand, for each slip."""
        self.calls += 1
        steps = self.steps
        for slip, hands in self.hands.items():
            self.steps, stopped = steps, False
            for hand, g in zip(hands, gradients, strict=True):
                stopped = stopped or (slip == "stopped at None" and g is None)
                self.steps += g is not None
                for one, value in zip(hand, [None] * len(hand) if g is None or stopped else g, strict=True):
                    one.step(value, self.calls, self.steps, *settings)

    def equal(self, slip):
        """Are the parameters where the hand with this slip has them?"""
        return all(near(flat(p), [one.p for one in hand], self.near)
                   for p, hand in zip(self.params, self.hands[slip], strict=True))  # fmt: skip


def judged_adam(answer, torch, dtype, shapes):
    """The verdict about six steps for parameters of these shapes, or None when all are right."""
    by_hand, state, b1, b2, eps = ByHand(torch, dtype, shapes), {}, 0.8, 0.9, 0.05
    params, suspects = by_hand.params, []
    plans = [(1, 1, None), (1, None, None), (1, None, None), (None, 1, None), (0, 1, None), (1, 1, None)]
    for lr, plan in zip((0.1, 0.1, 0.2, 0.05, 0.1, 0.1), plans, strict=True):
        gradients = [None if size is None else [size * g for g in numbers(math.prod(shape))]
                     for size, shape in zip(plan, shapes, strict=True)]  # fmt: skip
        given = [g if g is None else by_hand.tensor(g, shape) for g, shape in zip(gradients, shapes, strict=True)]
        for p, g in zip(params, given, strict=True):
            p.grad = g
        where, marks = [p.data_ptr() for p in params], [p._version for p in params]
        try:
            answer(torch, list(params), state, lr, b1, b2, eps)
        except RuntimeError as error:
            if "leaf Variable" in str(error):
                return almost("recorded")
            raise
        except (TypeError, AttributeError) as error:
            if None in gradients and "NoneType" in str(error):
                answer(torch, [p for p in params if p.grad is not None], {}, lr, b1, b2, eps)  # or is it another None?
                return almost("None is not handled")
            raise
        by_hand.go_on(gradients, lr, b1, b2, eps)
        if any(g is not None and (p.grad is not g or not near(flat(g), values))
               for p, g, values in zip(params, given, gradients, strict=True)):  # fmt: skip
            return almost("gradient changed")
        if [p.data_ptr() for p in params] != where:
            return almost("new memory")
        verdict = judged_values(by_hand)
        if verdict is not None and not isinstance(verdict, list):
            return verdict
        if verdict:  # several slips look alike so far; the next steps tell them apart
            suspects = verdict
            continue
        if verdict := judged_state(by_hand, state):
            return verdict
        if any(p._version == mark for p, mark, g in zip(params, marks, given, strict=True) if g is not None):
            return almost("behind the counter's back")
    if suspects:
        return almost(suspects[0])
    if any(not p.requires_grad or p.grad_fn is not None for p in params):
        return not_yet("Afterwards the parameters should still be leaves that require grad.")
    return None


def judged_values(by_hand):
    """The verdict about where the parameters are, a list of mistakes that it may be, or None when they are right."""
    got = [flat(p) for p in by_hand.params]
    if any(value != value or math.isinf(value) for values in got for value in values):
        late = by_hand.calls == 1
        return almost("counted late") if late else not_yet("A parameter is infinite or no number by now.")
    if by_hand.equal(""):
        return None
    if all(near(one, other, 1e-9) for one, other in zip(got, by_hand.start, strict=True)):
        return almost("names moved")
    names = list(dict.fromkeys(name for slip, name in SLIPS.items() if by_hand.equal(slip)))
    if names:
        return almost(names[0]) if len(names) == 1 else names
    right = [[one.p for one in hand] for hand in by_hand.hands[""]]
    return not_yet(f"The parameters should be {rounded(right)} by now, and they are {rounded(got)}.")


def judged_state(by_hand, state):
    """The verdict about what is remembered, or None when it is right."""
    for place, (p, hand) in enumerate(zip(by_hand.params, by_hand.hands[""], strict=True)):
        known = next((value for key, value in state.items() if key is p), None)
        if not hand[0].n:
            if isinstance(known, dict) and not as_number(known.get("step")):
                return almost("remembered too early")
            continue
        if known is None and state:
            return almost("other keys")
        if not isinstance(known, dict) or not set(known) >= NAMES:
            return not_yet("`state` should have, under each parameter that was stepped, a dictionary with the keys "
                           '"step", "exp_avg" and "exp_avg_sq".')  # fmt: skip
        if as_number(known["step"]) == by_hand.calls == hand[0].n + 1:
            return almost("None counts")
        if as_number(known["step"]) != hand[0].n:
            return not_yet(f'The "step" of a parameter that was stepped {hand[0].n} times is {known["step"]}.')
        averages = known["exp_avg"], known["exp_avg_sq"]
        if any(not hasattr(average, "dtype") for average in averages):
            return not_yet("The averages should be tensors.")
        if any(average.requires_grad for average in averages):
            return almost("averages with a history")
        if any(average.dtype is not p.dtype or average.shape != p.shape for average in averages):
            return almost("averages of another kind")
        exchanged = by_hand.hands["betas exchanged"][place]
        if near(flat(averages[0]), [one.m for one in exchanged], by_hand.near):
            if near(flat(averages[1]), [one.s for one in exchanged], by_hand.near):
                return almost("betas exchanged")
        wanted = [one.m for one in hand], [one.s for one in hand]
        corrected = [one.corrected[0] for one in hand], [one.corrected[1] for one in hand]
        for key, average, right, divided in zip(("exp_avg", "exp_avg_sq"), averages, wanted, corrected, strict=True):
            if not near(flat(average), right, by_hand.near):
                return almost("corrected in place") if near(flat(average), divided, by_hand.near) else not_yet(
                    f'The parameters are right, but "{key}" is {rounded([flat(average)])[0]} under one of them, and '
                    f"should be {rounded([right])[0]}.")  # fmt: skip
    return None


def rounded(lists):
    return [[round(value, 4) for value in values] for values in lists]


ADAM = """\
def adam(torch, params, state, lr, b1, b2, eps):
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                continue
            if p not in state:
                state[p] = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
            mine = state[p]
            mine["step"] += 1
            mine["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)
            mine["exp_avg_sq"].mul_(b2).add_(p.grad**2, alpha=1 - b2)
            m = mine["exp_avg"] / (1 - b1 ** mine["step"])
            s = mine["exp_avg_sq"] / (1 - b2 ** mine["step"])
            p.sub_(lr * m / (s.sqrt() + eps))
"""


def adam_but(*changes):
    """The solution with some of its text replaced."""
    text = ADAM
    for old, new in changes:
        if old not in text:
            raise ValueError(f"the solution has no {old!r}")
        text = text.replace(old, new)
    return text


SKIP = "            if p.grad is None:\n                continue\n"

EXERCISE = Exercise(
    id="10c.1", kind="write it yourself", title="Write Adam", minutes=10, difficulty=3,
    question="One step of Adam for all `params`, in place, by the formulas of the text. `state` comes back each time.",
    name="adam", starter="def adam(torch, params, state, lr, b1, b2, eps):\n    ...\n",
    hints=(
        "Under what must a step run, so that leaves may be written to?",
        "The first three formulas change what is remembered, in place or not. The fourth uses corrected copies of it.",
        "What should happen to the count of a parameter that has no gradient this time?",
    ),
    solution=ADAM,
    why="Everything runs under no_grad, None is skipped before anything is remembered, and the corrected averages are "
    "new tensors, so that the running ones stay as they are.",
    alternatives=(
        """\
@torch.no_grad()
def adam(torch, params, state, lr, b1, b2, eps):
    for p in params:
        if p.grad is not None:
            old = state.get(p, {"step": torch.tensor(0.0), "exp_avg": 0 * p, "exp_avg_sq": 0 * p})
            n, g = old["step"] + 1, p.grad
            m, s = b1 * old["exp_avg"] + (1 - b1) * g, b2 * old["exp_avg_sq"] + (1 - b2) * g * g
            state[p] = {"step": n, "exp_avg": m, "exp_avg_sq": s}
            p -= lr * (m / (1 - b1 ** n.item())) / ((s / (1 - b2 ** n.item())).sqrt() + eps)
""",
    ),
    mistakes=(
        Mistake("recorded", "A leaf is written to while operations are recorded. What does step() of every optimizer "
                "run under?", adam_but(("with torch.no_grad():", "if True:"))),
        Mistake("None is not handled", "A parameter without gradient came, and None was computed with. It should be "
                "skipped.", adam_but((SKIP, ""))),
        Mistake("frozen is skipped", "A frozen parameter was left alone, although it still had a gradient. A step asks "
                "for .grad, and never for requires_grad.",
                adam_but(("if p.grad is None:", "if p.grad is None or not p.requires_grad:"))),
        Mistake("None as zero", "None was treated as zero: the averages shrank, the count went up and the parameter "
                "moved.",
                adam_but((SKIP, ""), ("p.grad,", "(p.grad if p.grad is not None else torch.zeros_like(p)),"),
                         ("p.grad**2", "(p.grad if p.grad is not None else torch.zeros_like(p)) ** 2"))),
        Mistake("None counts", "A parameter without gradient was not moved, but its step was counted. Its next "
                "correction is wrong.",
                adam_but((SKIP, ""), ('            mine["exp_avg"].mul_', SKIP + '            mine["exp_avg"].mul_'))),
        Mistake("no correction", "The averages begin at 0 and are too small at first. A divisor is missing, or both "
                "are.", adam_but((' / (1 - b1 ** mine["step"])', ""), (' / (1 - b2 ** mine["step"])', ""))),
        Mistake("counted late", "After the first step something is infinite or no number. Which number is the count "
                "when it corrects for the first time? With 0, both divisors are zero.",
                adam_but(('            mine["step"] += 1\n', ""),
                         ("+ eps))\n", '+ eps))\n            mine["step"] += 1\n'))),
        Mistake("eps under the root", "eps stands under the root. It is added to the root, where it keeps the "
                "divisor away from zero.", adam_but(("(s.sqrt() + eps)", "(s + eps).sqrt()"))),
        Mistake("no root", "Without the root the average of squares divides a gradient: one power too many.",
                adam_but(("s.sqrt()", "s"))),
        Mistake("root before correction", "The root is taken of the uncorrected average; the divisor belongs under "
                "it as well.",
                adam_but((' / (1 - b2 ** mine["step"])', ""), ("s.sqrt()", 's.sqrt() / (1 - b2 ** mine["step"])'))),
        Mistake("betas exchanged", "b1 and b2 have changed places: b1 belongs to the average of the gradient.",
                adam_but(("    with torch", "    b1, b2 = b2, b1\n    with torch"))),
        Mistake("no share", "The whole gradient, or its whole square, goes into the average. The new one has only a "
                "share in it: what b1, or b2, leaves of one.",
                adam_but(("add_(p.grad, alpha=1 - b1)", "add_(p.grad)"))),
        Mistake("not squared", "The second average is one of squares; yours is one of absolute values.",
                adam_but(("p.grad**2", "p.grad.abs()"))),
        Mistake("uphill", "The sign is the other way round: the parameter goes up the slope.",
                adam_but(("p.sub_(", "p.add_("))),
        Mistake("corrected in place", "The parameter is right, the remembered average is not: the corrected one "
                "stands in its place, and the next step would correct it once more.",
                adam_but(('m = mine["exp_avg"] / (1', 'm = mine["exp_avg"].clone() / (1'),
                         ("+ eps))\n", '+ eps))\n            mine["exp_avg"] = m\n'))),
        Mistake("remembered too early", "A parameter that was never stepped has something in `state`. It should "
                "appear with its first step.",
                adam_but((SKIP, ""), ("            mine = state[p]\n", SKIP + "            mine = state[p]\n"))),
        Mistake("gradient changed", ".grad is only to be read: after your step it holds something else.",
                adam_but(("p.grad**2", "p.grad.pow_(2)"))),
        Mistake("new memory", "The parameter has another memory now. The model, and everything that shares it, would "
                "not notice.",
                adam_but(("p.sub_(lr * m / (s.sqrt() + eps))", "p.data = p - lr * m / (s.sqrt() + eps)"))),
        Mistake("behind the counter's back", "The numbers are right, but the write was not counted: a graph that "
                "still needs the old values would not find out.", adam_but(("p.sub_(", "p.data.sub_("))),
        Mistake("names moved", "No parameter has changed. (A line such as p = p - … makes a new tensor, and gives it "
                "the name p inside the loop only.)",
                adam_but(("p.sub_(lr * m / (s.sqrt() + eps))", "p = p - lr * m / (s.sqrt() + eps)"))),
        Mistake("average replaced", "A running average keeps b1, or b2, of what it was. Here the new part stands "
                "alone, so all earlier gradients are forgotten.",
                adam_but(('mine["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)',
                          'mine["exp_avg"].copy_((1 - b1) * p.grad)'))),
        Mistake("shared count", "One count is kept for all parameters together. Each wants a count of its own steps, "
                "for some are skipped where others are not.",
                adam_but(('mine["step"] += 1', 'mine["step"] = state["n"]'),
                         ("        for p in", '        state["n"] = state.get("n", 0) + 1\n        for p in'))),
        Mistake("count stays 1", "A divisor is the same in every step. It must come nearer to 1 as the count goes up.",
                adam_but(('mine["step"] += 1', 'mine["step"] = 1'))),
        Mistake("a step behind", "The first step is right, and from the second on the count that corrects is too "
                "small by one.",
                adam_but(('            mine["step"] += 1\n', '            n = mine["step"] or 1\n'),
                         ('** mine["step"]', "** n"), ("+ eps))\n", '+ eps))\n            mine["step"] += 1\n'))),
        Mistake("begun with the gradient", "An average begins with the first gradient, or with its square. It begins "
                "at 0: the divisors make up for that.",
                adam_but(('"exp_avg": torch.zeros_like(p)', '"exp_avg": p.grad.clone()'))),
        Mistake("shares exchanged", "The shares have changed places: an average keeps the part b1 of what it was, "
                "and the new gradient has the rest.",
                adam_but(("mul_(b1).add_(p.grad, alpha=1 - b1)", "mul_(1 - b1).add_(p.grad, alpha=b1)"))),
        Mistake("stopped at None", "A parameter that comes after one without gradient was not stepped: None ends the "
                "whole round, and not only the turn of its own parameter.",
                adam_but(("                continue\n", "                return\n"))),
        Mistake("no eps", "eps is missing: it is added to the root, before anything is divided by that.",
                adam_but((" + eps)", ")"))),
        Mistake("averages of another kind", "An average has another type or shape than its parameter. For parameters "
                "in double precision, what is remembered is rounded to single.",
                adam_but(("torch.zeros_like(p), \"exp_avg_sq\": torch.zeros_like(p)",
                          "torch.zeros(p.shape), \"exp_avg_sq\": torch.zeros(p.shape)"))),
        Mistake("other keys", "The parameters are right, but whoever looks into `state` for one of them does not "
                "find it: the key must be the parameter itself.",
                adam_but(("state[p]", "state[id(p)]"), ("p not in state", "id(p) not in state"))),
        Mistake("guard: left a setting", "",
                adam_but(("    with torch.no_grad():\n        for", "    torch.set_grad_enabled(False)\n    if True:\n"
                          "        for"))),
        Mistake("averages with a history", "What is remembered requires grad. It was computed from a parameter while "
                "operations were recorded, and would keep graphs alive.",
                adam_but(("with torch.no_grad():", "if True:"), ("torch.zeros_like(p), ", "p * 0, "),
                         ('mine["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)',
                          'mine["exp_avg"] = mine["exp_avg"] * b1 + (1 - b1) * p.grad'),
                         ("p.sub_(lr", "p.detach().sub_(lr"))),
    ),
    may_change=("params", "state"),
    prepare=fresh,
    check=check,
)  # fmt: skip
