"""Exercise 03b.1: check a gradient with two runs."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import numbers

TRIES = 5  # a random direction may be unlucky once; it is not in most of five


def plain_sum(x):
    return (x * x.exp()).sum()


def neighbours(x):
    return (x[1:] * x[:-1]).sum() + x.tanh().sum()


def gradients(torch, f, x):
    """{name: a gradient to be judged} for f at x; "right" is right, all others are wrong."""
    leaf = x.clone().requires_grad_()
    (right,) = torch.autograd.grad(f(leaf), leaf)
    large = right.abs().max().item()

    def but(**errors):
        return right + large * torch.tensor([errors.get(f"at{i}", 0.0) for i in range(len(x))], dtype=x.dtype)

    return {
        "right": right, "first": but(at0=0.2), "last": but(at4=-0.2), "cancelling": but(at1=0.3, at3=-0.3),
        "slightly": right * 1.01, "double": right * 2, "turned": -right, "zero": right * 0,
    }  # fmt: skip


def accepted(answer, torch, f, x, gradient, runs):
    """True when most of several calls accept the gradient; `runs` gets the number of runs of each call."""

    def counting(t):
        runs[-1] += 1
        return f(t.detach())

    said = []
    for _ in range(TRIES):
        runs.append(0)
        found = answer(torch, counting, x.clone(), gradient.clone())
        if found is None:
            return None
        said.append(bool(found))
    return sum(said) > TRIES / 2


def check(answer, torch):
    wrong, runs = {}, []
    for f in (plain_sum, neighbours):
        for scale in (1.0, 1000.0, 0.001):
            x = torch.tensor(numbers(5), dtype=torch.float64)

            def scaled(t, f=f, scale=scale):
                return f(t) * scale

            for name, gradient in gradients(torch, scaled, x).items():
                found = accepted(answer, torch, scaled, x, gradient, runs)
                if found is None:
                    return not_yet("Return True or False.")
                if found != (name == "right"):
                    wrong.setdefault(name, set()).add(scale)
    if max(runs) > 2:
        return almost("too many runs")
    if not wrong:
        return correct("two runs of a function check all of its slopes at once.")
    named = diagnosis({name: len(scales) == 3 for name, scales in wrong.items()})
    if named:
        return almost(named)
    missed = sorted(wrong.keys() - {"right"})
    return not_yet(
        "You refuse a right gradient." if not missed else f"You accept a gradient that is wrong (the {missed[0]} one)."
    )


def diagnosis(wrong):
    """The mistake behind the gradients that were judged wrongly: {name: whether at every scale}."""
    if wrong.get("right") and wrong.get("double"):
        return "half the way"
    if len(wrong) == 7 and "right" not in wrong and all(wrong.values()):
        return "always"
    if set(wrong) == {"right"}:
        return "too strict" if wrong["right"] else "one size"
    if wrong.keys() == {"cancelling"}:
        return "ones"
    if wrong.keys() == {"last", "cancelling"}:
        return "one element"
    if wrong.get("slightly") and not wrong.keys() & {"right", "turned", "zero"}:
        return "too loose"
    return None if any(wrong.values()) else "one size"


def rule(*lines):
    return "def agrees(torch, f, x, gradient):\n" + "".join(f"    {line}\n" for line in lines)


EXERCISE = Exercise(
    id="03b.1", kind="write it yourself", title="Check a gradient with two runs", minutes=8, difficulty=2,
    question="`x` is a float64 tensor, `f(x)` a single number. Return True if `gradient` is the gradient of `f` at "
    "`x`, and False if any of its elements is wrong. Run `f` at most twice.",
    name="agrees", starter=rule("return None"),
    hints=(
        "One run a little along a direction, one a little against it. What must the difference of the results, "
        "divided by the length of the way, be equal to?",
        "The direction must not be one that somebody could foresee: `torch.randn(x.shape, dtype=x.dtype)`.",
        "The two numbers agree nearly. How near is near enough, if f is in millions, or in millionths?",
    ),
    solution=rule("d, step = torch.randn(x.shape, dtype=x.dtype), 1e-5",
                  "measured = (f(x + step * d) - f(x - step * d)) / (2 * step)",
                  "parts = gradient * d",
                  "return abs(measured - parts.sum()).item() < 1e-5 * parts.abs().sum().item()"),
    why="Along a random direction, the error of a wrong gradient times the direction is hardly ever near 0. What is "
    "near enough is measured by the size of the numbers that are compared.",
    alternatives=(
        rule("d = torch.rand(x.shape, dtype=x.dtype) - 0.5", "ends = [f(x + 1e-4 * sign * d) for sign in (1, -1)]",
             "measured, wanted = (ends[0] - ends[1]).item() / 2e-4, (gradient * d).sum().item()",
             "return abs(measured - wanted) <= 1e-4 * max(abs(measured), abs(wanted))"),
        rule("d = torch.randn(x.shape, dtype=x.dtype)", "measured = (f(x + 1e-7 * d) - f(x)) / 1e-7",
             "return torch.allclose(measured, (gradient * d).sum(), rtol=1e-4, atol=0.0)"),
    ),
    mistakes=(
        Mistake("ones", "A wrong gradient got through: it has two errors, one up and one down, and along a direction "
                "of ones they cancel. Take a random direction.", edit("torch.randn", "torch.ones")),
        Mistake("one element", "You measure along the first element alone. Errors in the others are not seen.",
                edit("1e-5\n", "1e-5\n    d = torch.zeros(x.shape, dtype=x.dtype)\n    d[0] = 1.0\n")),
        Mistake("half the way", "You accept the doubled gradient and refuse the right one. From one end to the other "
                "the way is two steps long.", edit("(2 * step)", "step")),
        Mistake("too strict", "You refuse right gradients. A measured slope agrees nearly, never to the last digit.",
                edit("< 1e-5 * parts.abs().sum().item()", "== 0")),
        Mistake("too loose", "You accept a gradient that is wrong by a hundredth. A central difference in float64 is "
                "far better than that.", edit("< 1e-5", "< 1e-1")),
        Mistake("one size", "Near enough is judged by one fixed number. If f is a thousand times as large, or as "
                "small, that number is too strict or too loose: compare with the size of the slopes.",
                edit("1e-5 * parts.abs().sum().item()", "1e-3")),
        Mistake("always", "You accept every gradient, also one of zeros.", rule("return True")),
        Mistake("too many runs", "You ran f more than twice. A nudge for each element is what we want to get rid of: "
                "nudge all elements at once.",
                rule("d, step = torch.eye(len(x), dtype=x.dtype), 1e-5",
                     "measured = [(f(x + step * e) - f(x - step * e)).item() / (2 * step) for e in d]",
                     "return torch.allclose(torch.tensor(measured, dtype=x.dtype), gradient, rtol=1e-5)")),
    ),
    check=check,
)  # fmt: skip
