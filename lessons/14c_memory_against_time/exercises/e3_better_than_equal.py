"""Exercise 14c.3: better than equal segments."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.checkpoints import peak_and_runs
from lessons.shared import as_number

DEPTHS = (12, 1, 2, 3, 6, 7, 10, 16, 55, 56, 100, 1000)


def peak_of(lengths):
    """Return the largest sum of what is put aside in front of a segment and what its second run saves."""
    return max(place + length for place, length in enumerate(lengths))


def least(n):
    """The least peak that segments can have: p + (p - 1) + … + 1 layers fit under a peak of p."""
    p = 1
    while p * (p + 1) // 2 < n:
        p += 1
    return p


def check(answer, torch):
    measured = False
    for n in DEPTHS:
        given = answer(n)
        lengths = whole_numbers(given)
        if lengths is None:
            return not_yet(f"For {n} layers you return {given!r}. A list of whole numbers from 1 up is wanted.")
        if sum(lengths) != n:
            return not_yet(f"For {n} layers your segments have {sum(lengths)} layers together: {list(lengths)[:12]}.")
        if peak_of(lengths) == least(n):
            continue
        if not measured and n <= 16:
            found, measured = peak_and_runs(torch, lengths)[0], True
            said = f"For {n} layers in segments of {list(lengths)} we measured a peak of {found}. "
        else:
            said = f"For {n} layers the peak is {peak_of(lengths)}. "
        return named(lengths, n, said)
    return correct("the later segments are done when an earlier one is run again, so the first ones may be longer.")


def whole_numbers(given):
    """The lengths as a list of whole numbers from 1 up; None when they are something else."""
    if not isinstance(given, (list, tuple)):
        return None
    found = [as_number(each) for each in given]
    return None if any(each is None or each != int(each) or each < 1 for each in found) else [int(x) for x in found]


def named(lengths, n, said):
    """The verdict on lengths with too large a peak."""
    if len(lengths) == 1:
        return almost("one segment", said)
    if set(lengths) == {1}:
        return almost("one by one", said)
    if list(lengths) == sorted(lengths) and lengths[0] < lengths[-1]:
        return almost("growing", said)
    if max(lengths) - min(lengths) <= 1 or len(set(lengths[:-1])) == 1 and lengths[-1] < lengths[0]:
        return almost("equal", said)
    if all(abs(a - 2 * b) <= 1 for a, b in zip(lengths, lengths[1:], strict=False)):
        return almost("halving", said)
    if lengths[0] > least(n) and list(lengths) == sorted(lengths, reverse=True):
        return almost("too long in front", said)
    return not_yet(f"{said}It can be {least(n)}.")


EXERCISE = Exercise(
    id="14c.3", kind="write it yourself", title="Better than equal segments", minutes=12, difficulty=3,
    question="Return the lengths of segments, first to last, for n layers that save one activation each, so that the "
    "peak is as small as it can be with one level of checkpoints.",
    name="plan", starter="def plan(n):\n    return ...\n",
    hints=(
        "When the last segment is run again, all the inputs are put aside. When the first one is, none is. So which "
        "of them may be long?",
        "Turn the question round. If a peak of p is allowed, how many layers may the first segment have, the second, "
        "and so on? How many is that together?",
        "The numbers 1, 3, 6, 10, 15 … are sums of 1, 1 + 2, 1 + 2 + 3 … For an n in between, something has to be "
        "left out.",
    ),
    solution="def plan(n):\n    p = 1\n    while p * (p + 1) // 2 < n:\n        p += 1\n    lengths = []\n"
    "    while n > 0:\n        lengths.append(min(p, n))\n        n -= lengths[-1]\n        p -= 1\n"
    "    return lengths\n",
    why="In front of segment number i there are i inputs, counted from 0. So it may have p - i layers if the peak is "
    "to be p, and p + (p - 1) + … + 1 = p(p + 1)/2 layers fit. The peak is about √(2n), and not 2√n.",
    alternatives=(
        "def plan(n):\n    lengths = []\n    while sum(lengths) < n:\n"
        "        lengths = [length + 1 for length in lengths] + [1]\n"
        "    extra = sum(lengths) - n\n    while extra > 0:\n        cut = min(extra, lengths[-1])\n"
        "        lengths[-1] -= cut\n        extra -= cut\n        lengths = [each for each in lengths if each]\n"
        "    return lengths\n",
        "import math\n\n\ndef plan(n):\n    p = math.ceil((math.sqrt(8 * n + 1) - 1) / 2)\n    lengths = []\n"
        "    for length in range(p, 0, -1):\n        if n > 0:\n            lengths.append(min(length, n))\n"
        "            n -= length\n    return tuple(lengths)\n",
    ),
    mistakes=(
        Mistake("equal", "Your segments are equal, as nearly as they can be. But the last one has the most inputs in "
                "front of it, and the first one has none.",
                "def plan(n):\n    k = max(1, round(n**0.5))\n"
                "    return [min(k, n - i) for i in range(0, n, k)]\n"),
        Mistake("one by one", "With segments of one layer, every activation is put aside.",
                "def plan(n):\n    return [1] * n\n"),
        Mistake("one segment", "With one segment nothing is put aside, and then all of it is saved at once.",
                "def plan(n):\n    return [n]\n"),
        Mistake("growing", "Your segments grow towards the end. Which of them is run again while the most inputs are "
                "still put aside?",
                "def plan(n):\n    p = 1\n    while p * (p + 1) // 2 < n:\n        p += 1\n    lengths = []\n"
                "    while n > 0:\n        lengths.append(min(p, n))\n        n -= lengths[-1]\n        p -= 1\n"
                "    return lengths[::-1]\n"),
        Mistake("halving", "Halves become shorter too quickly: the first segment alone saves half of all activations.",
                "def plan(n):\n    lengths = []\n    while n > 0:\n        lengths.append((n + 1) // 2)\n"
                "        n //= 2\n    return lengths\n"),
        Mistake("too long in front", "Segments that become shorter are the right idea. But the peak is at least what "
                "the first one saves, and yours is longer than it has to be.",
                "def plan(n):\n    p = 1\n    while p * (p + 1) // 2 < n:\n        p += 1\n    p, lengths = p + 1, []\n"
                "    while n > 0:\n        lengths.append(min(p, n))\n        n -= lengths[-1]\n        p -= 1\n"
                "    return lengths\n"),
    ),
    check=check,
)  # fmt: skip
