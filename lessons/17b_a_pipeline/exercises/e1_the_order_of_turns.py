"""Exercise 17b.1: the order of turns."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet

WORLDS = ((0, 2, 3), (1, 2, 3), (0, 4, 6), (1, 4, 6), (2, 4, 6), (3, 4, 6), (0, 1, 2), (0, 4, 2), (1, 4, 1))


def turns_of(stage, stages, count, ahead=None):
    """The turns of 1F1B, or those of a stage that is otherwise ahead."""
    ahead = min(stages - 1 - stage if ahead is None else ahead, count)
    turns = [f"F{k}" for k in range(ahead)]
    for k in range(count):
        turns += [f"F{k + ahead}"] * (k + ahead < count) + [f"B{k}"]
    return turns


def check(answer, torch):
    """Pipelines of one, two and four stages, with more micro-batches than stages, and with fewer."""
    slips = {
        "all forwards first": lambda stage, stages, count: turns_of(stage, stages, count, count),
        "no ahead": lambda stage, stages, count: turns_of(stage, stages, count, 0),
        "the wrong end": lambda stage, stages, count: turns_of(stage, stages, count, stage),
        "one too far": lambda stage, stages, count: turns_of(stage, stages, count, stages - stage),
    }
    found = {world: answer(*world) for world in WORLDS}
    for turns in found.values():
        if not isinstance(turns, (list, tuple)) or not all(isinstance(turn, str) for turn in turns):
            return not_yet('Return a list of texts, such as ["F0", "B0"].')
    wrong = [world for world in WORLDS if list(found[world]) != turns_of(*world)]
    if not wrong:
        return correct("a stage needs no message to know its order: its place in the pipeline says it.")
    for name, slip in slips.items():
        if all(list(found[world]) == slip(*world) for world in WORLDS if world[2] >= world[1]):
            return almost(name)
    if all(count < stages for _, stages, count in wrong):
        return almost("few")
    stage, stages, count = wrong[0]
    said = list(found[wrong[0]])
    if sorted(said) != sorted(turns_of(*wrong[0])):
        return not_yet(f"In stage {stage} of {stages}, with {count} micro-batches, each needs one F and one B.")
    return not_yet(f"In stage {stage} of {stages}, with {count} micro-batches, the order is another one.")


SOLVED = """\
def turns_of(stage, stages, count):
    ahead = min(stages - 1 - stage, count)
    turns = [f"F{k}" for k in range(ahead)]
    for k in range(count):
        if k + ahead < count:
            turns.append(f"F{k + ahead}")
        turns.append(f"B{k}")
    return turns
"""

EXERCISE = Exercise(
    id="17b.1", kind="write it yourself", title="The order of turns", minutes=6, difficulty=2, puzzles=(),
    question="Return the turns of one stage in the order of 1F1B, as a list of texts. A stage goes ahead by one "
    "forward for each stage that follows it. Then it takes turns: one forward, one backward. When there is no forward "
    "left, the backwards follow. There may be fewer micro-batches than stages.",
    name="turns_of",
    starter="def turns_of(stage, stages, count):\n"
    '    return [f"F{k}" for k in range(count)] + [f"B{k}" for k in range(count)]\n',
    hints=(
        "How far ahead is stage 0 of 4? And stage 3 of 4?",
        "After the forwards that it is ahead, micro-batch k + ahead goes forward just before micro-batch k comes back.",
    ),
    solution=SOLVED,
    why="A gradient that comes back to a stage has passed forward and backward through every stage that follows.",
    alternatives=(
        "def turns_of(stage, stages, count):\n    turns, f, b = [], 0, 0\n    while b < count:\n"
        "        if f < count and f - b <= stages - 1 - stage:\n            turns, f = turns + [f'F{f}'], f + 1\n"
        "        else:\n            turns, b = turns + [f'B{b}'], b + 1\n    return turns\n",
    ),
    mistakes=(
        Mistake("all forwards first", "This is a right order, called *GPipe*. But all micro-batches are under way at "
                "once. 1F1B goes backward as soon as it can.",
                "def turns_of(stage, stages, count):\n    numbers = list(range(count))\n"
                "    return [f'F{k}' for k in numbers] + [f'B{k}' for k in numbers]\n"),
        Mistake("no ahead", "Every stage goes backward right after each forward. Only the last one can: to the others "
                "no gradient has come back by then.", edit("ahead = min(stages - 1 - stage, count)", "ahead = 0")),
        Mistake("the wrong end", "It is turned round: the *first* stage has to wait longest for a gradient, so it is "
                "furthest ahead.", edit("min(stages - 1 - stage, count)", "min(stage, count)")),
        Mistake("one too far", "Each stage is one forward too far ahead. The last stage is not ahead at all.",
                edit("stages - 1 - stage", "stages - stage")),
        Mistake("few", "All is right if there are enough micro-batches. With fewer than stages, a forward is made of a "
                "micro-batch that does not exist.",
                edit("min(stages - 1 - stage, count)", "stages - 1 - stage")),
    ),
    check=check,
)  # fmt: skip
