"""Exercise 07.p3: three versions."""

import re

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def read(answer):
    """Three numbers; also out of a text."""
    if isinstance(answer, str):
        answer = re.findall(r"\d+", answer)
    if not isinstance(answer, (list, tuple)) or len(answer) != 3:
        return None
    found = [as_number(each) for each in answer]
    return None if None in found else found


def truth(torch):
    """The version after each of the three lines."""
    t, found = torch.zeros(3), []
    t.add_(0)
    found.append(t._version)
    with torch.no_grad():
        t.mul_(2)
    found.append(t._version)
    t[0] += 1
    return [*found, t._version]


EXERCISE = Predict(
    id="07.p3", title="Three versions", minutes=2, difficulty=1, puzzles=(2,),
    question="The version of `t = torch.zeros(3)` after `t.add_(0)`, then after `t.mul_(2)` under no_grad, then after "
    "`t[0] += 1`?",
    hints=(
        "Does the counter know what was written, or whether the operation was recorded?",
        "What does Python make of `t[0] += 1`? It takes t[0], adds to it in place, and then puts it back.",
    ),
    solution="answer = [1, 2, 4]",
    why="Each write counts, whatever it writes and whether or not it is recorded. The last line writes twice: to the "
    "view t[0], and then back into t.",
    alternatives=("answer = (1, 2, 4)", 'answer = "1, 2, 4"', "answer = torch.tensor([1, 2, 4])"),
    read=read, truth=truth, wanted="A list of three numbers is wanted, such as [0, 0, 0].",
    shown="you count writes, and not changes.",
    otherwise="The version begins at 0 and only grows. Take the lines one by one.",
    mistakes=(
        Mistake("each by itself", "The counter is never set back. Each number goes on from the one before.", [1, 1, 1]),
        Mistake("one for the last", "The first two are right. `t[0] += 1` is two writes: Python adds to the view t[0] "
                "in place, and then assigns it back, t[0] = ….", [1, 2, 3]),
        Mistake("values decide", "The first: no values are compared, so adding 0 is a write like any other.", [0, 1, 2],
                when=lambda three, _: three[0] == 0),
        Mistake("no_grad hides", "The second: no_grad stops the recording, not the counting. Values change there too.",
                [1, 1, 2], when=lambda three, _: three[:2] == [1, 1]),
        Mistake("a part is nothing", "The third: t[0] is a view, it looks at the memory of t, and a write to it counts "
                "for t.", [1, 2, 2]),
    ),
    reveals=("adding 0 is a write like any other", "The last line has added two"),
)  # fmt: skip
