"""Exercise 17.4: the backward of two ranks."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import array, flat, near

WORLDS = ((2, 2), (1, 3), (3, 1, 2), (4,))


def by_hand(xs, dys, count=None, own=(), mean_only=False, slope_only=False, means=False):
    """The gradients of all shares, one after the other; with the slips that have a name."""
    total = sum(x.numel() for x in xs)
    mean = sum(x.sum() for x in xs) / total
    variance = sum(((x - mean) ** 2).sum() for x in xs) / total
    result = []
    for x, dy in zip(xs, dys, strict=True):
        n = x.numel() if count == "own" else total
        ranks = list(zip(xs, dys, strict=True))
        mine = [(x, dy)]
        weights = [total / len(xs) / v.numel() if means else 1 for v in xs]  # means of the ranks' means
        of_dy, of_xmu = mine if "dy" in own else ranks, mine if "xmu" in own else ranks
        sum_dy = 0 if slope_only else sum(d.sum() * m for (_, d), m in zip(of_dy, weights, strict=False))
        sum_dy_xmu = 0 if mean_only else sum(
            (d * (v - mean)).sum() * m for (v, d), m in zip(of_xmu, weights, strict=False)
        )
        result += flat((dy - sum_dy / n - (x - mean) * sum_dy_xmu / (n * variance)) / variance.sqrt())
    return result


def check(answer, torch):
    """Worlds of several sizes, with unequal shares."""
    for sizes in WORLDS:
        xs, dys = ([array(torch, n) for n in sizes] for _ in range(2))
        total = sum(sizes)
        mean = sum(x.sum() for x in xs) / total
        variance = sum(((x - mean) ** 2).sum() for x in xs) / total
        found = answer([x - mean for x in xs], variance, [dy.clone() for dy in dys])
        if not isinstance(found, (list, tuple)) or [getattr(f, "shape", None) for f in found] != [x.shape for x in xs]:
            return not_yet("Return a list with the gradient of each rank's share.")
        found = [number for each in found for number in flat(each)]
        if near(found, by_hand(xs, dys)):
            continue
        named = {"own count": {"count": "own"}, "own sums": {"own": ("dy", "xmu")},
                 "own both": {"own": ("dy", "xmu"), "count": "own"}, "own sum_dy": {"own": ("dy",)},
                 "own sum_dy_xmu": {"own": ("xmu",)}, "means of means": {"means": True},
                 "no slope": {"mean_only": True}, "no mean": {"slope_only": True}}  # fmt: skip
        for name, slip in named.items():
            if near(found, by_hand(xs, dys, **slip)):
                return almost(name)
        return not_yet(f"With shares of {sizes} samples this is not the gradient of the whole batch.")
    return correct("sums and count are those of all ranks.")


SOLVED = """\
def backward(xmus, variance, dys):
    count = sum(xmu.numel() for xmu in xmus)
    sum_dy = sum(dy.sum() for dy in dys)
    sum_dy_xmu = sum((dy * xmu).sum() for dy, xmu in zip(dys, xmus))
    return [
        (dy - sum_dy / count - xmu * sum_dy_xmu / (count * variance)) / variance.sqrt() for dy, xmu in zip(dys, xmus)
    ]
"""
STARTER = """\
def backward(xmus, variance, dys):
    shares = zip(dys, xmus, strict=True)
    return [(dy - dy.mean() - xmu * (dy * xmu).mean() / variance) / variance.sqrt() for dy, xmu in shares]
"""

EXERCISE = Exercise(
    id="17.4", kind="repair", title="The backward of all ranks", minutes=6, difficulty=2,
    question="`xmus` holds for each rank its samples minus the mean of all, `dys` the gradients that arrive, and "
    "`variance` is that of all samples. The function treats each rank by itself. Repair it: return for each rank the "
    "gradient of its samples.",
    name="backward", starter=STARTER,
    hints=(
        "Which two sums of the formula go over all ranks?",
        "A mean is a sum and a count. Write them apart, and then ask of each: of this rank, or of all?",
    ),
    solution=SOLVED,
    why="Every output depends on every sample, so both sums go over all ranks, and so does the count.",
    alternatives=(
        "def backward(xmus, variance, dys):\n    count = sum(len(xmu) for xmu in xmus)\n"
        "    mean_dy = sum(dy.sum() for dy in dys) / count\n"
        "    slope = sum((dy * xmu).sum() for dy, xmu in zip(dys, xmus)) / count / variance\n"
        "    return [(dy - mean_dy - xmu * slope) * variance**-0.5 for dy, xmu in zip(dys, xmus)]\n",
    ),
    mistakes=(
        Mistake("own count", "The sums are those of all ranks, but you divide by the count of one rank.",
                edit("    return [\n", "    return [\n", "sum_dy / count", "sum_dy / xmu.numel()",
                     "(count * variance)", "(xmu.numel() * variance)")),
        Mistake("own sums", "The count is that of all ranks, but the sums are those of one rank.",
                edit("sum_dy / count", "dy.sum() / count", "xmu * sum_dy_xmu", "xmu * (dy * xmu).sum()")),
        Mistake("own both", "Each rank is still treated by itself. Outputs on other ranks depend on its samples, too.",
                edit("sum_dy / count", "dy.sum() / len(dy)", "xmu * sum_dy_xmu / (count", "xmu * (dy * xmu).sum() / "
                     "(len(dy)")),
        Mistake("own sum_dy", "sum_dy is that of one rank. Every output on every rank depends on the mean.",
                edit("sum_dy / count", "dy.sum() / count")),
        Mistake("own sum_dy_xmu", "sum_dy_xmu is that of one rank. Every output on every rank depends on the variance.",
                edit("xmu * sum_dy_xmu", "xmu * (dy * xmu).sum()")),
        Mistake("means of means", "You average the means of the ranks. With unequal shares that is not the mean of all "
                "samples: add up the sums, and divide once.",
                edit("sum(dy.sum() for dy in dys)", "sum(dy.mean() for dy in dys) / len(dys) * count",
                     "sum((dy * xmu).sum() for dy, xmu in zip(dys, xmus))",
                     "sum((dy * xmu).mean() for dy, xmu in zip(dys, xmus)) / len(dys) * count")),
        Mistake("no slope", "The way through the variance is missing: the part with sum_dy_xmu.",
                edit(" - xmu * sum_dy_xmu / (count * variance)", "")),
        Mistake("no mean", "The way through the mean is missing: the part with sum_dy.", edit(" - sum_dy / count", "")),
    ),
    check=check,
)  # fmt: skip
