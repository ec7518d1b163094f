"""Exercise 08.p3: Who raises after the write?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import leaf, names_among


def truth(torch):
    """The names of the results whose backward raises."""
    y = leaf(torch, [5.0, 2.0, 3.0]) + 0
    first, rest = y[:1], y[1:]
    results = {"part": rest.sin(), "whole": y.sin(), "copied": rest.clone().sin(), "added": rest + 1}
    first.mul_(2)
    found = set()
    for name, result in results.items():
        try:
            result.sum().backward()
        except RuntimeError:
            found.add(name)
    return found


EXERCISE = Predict(
    id="08.p3", title="Who raises after the write?", minutes=2, difficulty=2,
    question="`first` and `rest` are different parts of `y`. `part = rest.sin()`, `whole = y.sin()`, `copied = "
    "rest.clone().sin()`, `added = rest + 1`; then `first.mul_(2)`. For which does `.sum().backward()` raise?",
    hints=(
        "Which of the four nodes save anything? And whose memory is it that they save?",
        "Lesson 07: the check does not look at numbers. What does it compare, and how many counters are there here?",
    ),
    solution='answer = ["part", "whole"]',
    why="Both sines saved a tensor on the memory of y, and that memory has one counter. The clone has a memory of its "
    "own, and an addition saves nothing.",
    alternatives=('answer = {"whole", "part"}', 'answer = "part, whole"'),
    read=names_among("part", "whole", "copied", "added"), truth=truth,
    wanted='Give a list with some of the names "part", "whole", "copied", "added"; it may be empty.',
    shown="what is counted is a write to the memory, and not a change of the saved numbers.",
    otherwise="For each of the four, ask what its node saved, and whose counter belongs to that memory.",
    mistakes=(
        Mistake("only what changed", "whole raises, right. You looked whether a saved number has changed. The check "
                "looks at a counter, and one of the others shares it.", ["whole"]),
        Mistake("nobody", "y was written to, and the sine of y saved y. This is the situation of lesson 07.", []),
        Mistake("a copy is watched", "A clone has numbers of its own in a memory of its own, with its own counter. The "
                "write to first never reaches it.", ["part", "whole", "copied"],
                when=lambda names, _: "copied" in names),
        Mistake("a sum saves", "An addition saves nothing, since its slope is 1 whatever was added. There is nothing "
                "that could be out of date.", ["part", "whole", "added"], when=lambda names, _: "added" in names),
        Mistake("only the part", "part raises, right. And whole? Its sine saved y, into which first writes.", ["part"]),
    ),
    reveals=("output 0 of AsStrided, is at version 1", "`added` saved nothing", "the drawer is orange and says STALE"),
)  # fmt: skip
