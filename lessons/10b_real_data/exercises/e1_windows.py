"""Exercise 10b.1: windows of a series, as a dataset."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import alike

CASES = ((10, 3), (7, 1), (5, 4), (9, 2), (4, 4), (3, 5))  # (values in the series, width); the last two have no window


def check(answer, torch):
    """Look at the length, at each sample, and at the batches that a loader makes."""
    for length, width in CASES:
        for dtype in (torch.float32, torch.int64):
            values = random.sample(range(10 * length), length)
            series = torch.tensor(values, dtype=dtype)
            verdict = judged(torch, answer(series, width), series, width)
            if verdict:
                return verdict
    return correct("a loader can ask it for every window, one number at a time, and for nothing beyond.")


def judged(torch, dataset, series, width):
    """The verdict about one dataset, or None when it is right."""
    windows = max(0, len(series) - width)
    try:
        said = len(dataset)
    except ValueError:
        return almost("a negative length")
    verdict = judged_sample(torch, dataset[0], series, width) if windows and said else None
    if verdict:
        return verdict
    if windows > 1 and said > 1 and not alike(dataset[1][0], series[1 : 1 + width]):
        return almost("side by side") if width > 1 else not_yet("The second sample should begin at place 1.")
    if said != windows:
        return wrong_length(said, windows, series, width)
    batches = list(torch.utils.data.DataLoader(dataset, batch_size=4))
    rows = [(inputs[row], targets[row]) for inputs, targets in batches for row in range(len(inputs))]
    for place, (inputs, target) in enumerate(rows):
        if not alike(inputs, series[place : place + width]) or not alike(target, series[place + width]):
            return not_yet(f"Sample {place} of a series of {len(series)}, width {width}, is not what was asked for.")
    if any(targets.dtype != series.dtype for _, targets in batches):
        return almost("a Python number")
    return None


def wrong_length(said, windows, series, width):
    """The verdict about a length."""
    named = {windows + 1: "one too many", windows - 1: "one too few", len(series): "as long as the series",
             len(series) // width: "side by side", (len(series) - 1) // width: "side by side"}  # fmt: skip
    if windows and said in named:
        return almost(named[said])
    return not_yet(f"Of {len(series)} numbers, {windows} windows of {width} have a number after them; you say {said}.")


def judged_sample(torch, sample, series, width):
    """The verdict about sample 0, or None when it is right."""
    if not isinstance(sample, (tuple, list)) or len(sample) != 2:
        return almost("not divided") if isinstance(sample, torch.Tensor) else not_yet(
            "A sample should be a pair: the numbers of the window, and the one after it.")  # fmt: skip
    inputs, target = sample
    if isinstance(target, torch.Tensor) and target.dim() == 1 and alike(inputs, series[:width]):
        return almost("a row of targets" if len(target) == width and width > 1 else "a dimension too many")
    if isinstance(inputs, torch.Tensor) and inputs.dim() == 0:
        return almost("the other way round")
    if not isinstance(inputs, torch.Tensor) or not alike(inputs, series[:width]):
        return almost("begins late") if alike(inputs, series[1 : width + 1]) else not_yet(
            "The first sample should hold the first numbers of the series, as many as the width says.")  # fmt: skip
    value = target.item() if isinstance(target, torch.Tensor) else target
    places = [place for place in range(len(series)) if series[place].item() == value]
    if places == [width]:
        return None
    named = {(width - 1,): "inside the window", (width + 1,): "two steps ahead", (len(series) - 1,): "always the last"}
    name = named.get(tuple(places))
    return almost(name) if name else not_yet("The target of the first sample is not the number after its window.")


STARTER = """\
class Windows(torch.utils.data.Dataset):
    def __init__(self, series, width):
        self.series, self.width = series, width

    def __len__(self):
        ...

    def __getitem__(self, i):
        ...
"""
SOLUTION = STARTER.replace("        ...\n", "        return max(0, len(self.series) - self.width)\n", 1).replace(
    "        ...\n", "        return self.series[i : i + self.width], self.series[i + self.width]\n"
)
LENGTH, PAIR = "max(0, len(self.series) - self.width)", "self.series[i : i + self.width], self.series[i + self.width]"

EXERCISE = Exercise(
    id="10b.1", kind="write it yourself", title="Windows", minutes=8, difficulty=2,
    question="Write a dataset of windows: sample i is a pair, the `width` numbers of the series that begin at place i, "
    "and the number right after them.",
    name="Windows", starter=STARTER,
    hints=(
        "Write down a series of five numbers and the windows of width 2. How many of them have a number after them?",
        "The last sample needs the last number of the series as its target. At which place does its window begin?",
        "A series that is too short has no windows. A length cannot be negative.",
    ),
    solution=SOLUTION,
    why="A window that begins at i needs the places up to i + width, so the last one begins at len(series) - width - "
    "1, and there are len(series) - width of them. Slices share memory with the series, so nothing is copied before "
    "the loader stacks a batch.",
    alternatives=(
        SOLUTION.replace("(torch.utils.data.Dataset)", ""),
        "class Windows:\n    def __init__(self, series, width):\n        self.samples = [(series[i : i + width], "
        "series[i + width]) for i in range(len(series) - width)]\n\n    def __len__(self):\n        return "
        "len(self.samples)\n\n    def __getitem__(self, i):\n        return self.samples[i]\n",
        edit(PAIR, "[self.series[i : i + self.width].clone(), self.series[self.width + i].clone()]"),
    ),
    mistakes=(
        Mistake("one too many", "There is one sample too many: the last window has no number after it, and the loader "
                "will fall over it at the end of the first epoch.",
                edit("- self.width)\n", "- self.width + 1)\n")),
        Mistake("one too few", "One sample is missing at the end: that whose target is the last number of the series.",
                edit("- self.width)\n", "- self.width - 1)\n")),
        Mistake("as long as the series", "You say that there are as many windows as numbers. The last numbers begin "
                "no window that has a number after it.", edit(LENGTH, "len(self.series)")),
        Mistake("a negative length", "A series that is shorter than the width has no windows. Yours has a negative "
                "number of them, and Python refuses that.", edit(LENGTH, "len(self.series) - self.width")),
        Mistake("side by side", "Your windows stand side by side. Sample i should begin at place i, so that "
                "neighbouring windows share most of their numbers.",
                edit(LENGTH, "max(0, (len(self.series) - 1) // self.width)",
                     PAIR, "self.series[i * self.width : (i + 1) * self.width], self.series[(i + 1) * self.width]")),
        Mistake("inside the window", "Your target is the last number of the window itself. A network that may look at "
                "its target learns to copy, and its forecast is worthless.",
                edit("self.series[i + self.width]", "self.series[i + self.width - 1]")),
        Mistake("two steps ahead", "Your target leaves out one number: it is the second after the window.",
                edit("self.series[i + self.width]", "self.series[(i + self.width + 1) % len(self.series)]")),
        Mistake("always the last", "Your target is the last number of the whole series, for every window.",
                edit("self.series[i + self.width]", "self.series[-1]")),
        Mistake("begins late", "Your first window begins at place 1, so the first number of the series is in none.",
                edit("[i : i + self.width]", "[i + 1 : i + self.width + 1]")),
        Mistake("a row of targets", "Your target is a whole window, moved by one place. Asked is one number for each "
                "window.", edit("self.series[i + self.width]", "self.series[i + 1 : i + self.width + 1]")),
        Mistake("a dimension too many", "Your target is a row with one number in it, so a batch of them is a column. "
                "A loss that subtracts it from a row of answers makes a whole table of differences, without an error.",
                edit("self.series[i + self.width]", "self.series[i + self.width : i + self.width + 1]")),
        Mistake("a Python number", "Your target is a Python number. The loader makes a tensor of such numbers, of a "
                "type of its own: float64 for floats, whatever the type of the series is.",
                edit("self.series[i + self.width]", "self.series[i + self.width].item()")),
        Mistake("not divided", "A sample is one tensor, with window and target in one. The loop needs them as a pair.",
                edit(PAIR, "self.series[i : i + self.width + 1]")),
        Mistake("the other way round", "The target comes first in your pair. A loop takes the inputs first.",
                edit(PAIR, "self.series[i + self.width], self.series[i : i + self.width]")),
    ),
    check=check,
)  # fmt: skip
