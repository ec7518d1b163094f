"""Exercise 07.p2: fill in the message."""

import re

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number, leaf, numbers

from .shared import VERSIONS


def read(answer):
    """Two numbers; also out of the message itself, filled in."""
    if isinstance(answer, (str, list, tuple)) and any(isinstance(each, str) for each in answer):
        answer = [int(number) for number in re.findall(r"\d+", " ".join(map(str, answer)))]
    if not isinstance(answer, (list, tuple)) or len(answer) != 2 or None in [as_number(each) for each in answer]:
        return None
    return tuple(answer)


def truth(torch):
    """The numbers in the message of the program's error."""
    x = leaf(torch, numbers(2))
    h = x * 2
    h.add_(1)
    y = h.sin()
    h.add_(1)
    h.mul_(3)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return tuple(int(number) for number in VERSIONS.search(str(error)).groups())


EXERCISE = Predict(
    id="07.p2", title="Fill in the message", minutes=2, difficulty=1, puzzles=(2,),
    question="`h = x * 2; h.add_(1); y = h.sin(); h.add_(1); h.mul_(3)`: “is at version …; expected version … "
    "instead”.",
    hints=(
        "The second number was noted by sin when it saved h. How many writes had there been?",
        "The first number is read at backward. How many writes have there been by then?",
    ),
    solution="answer = (3, 1)",
    why="One write before sin saved h, so 1 was noted; three in all by the time of backward.",
    alternatives=(
        "answer = [3, 1]",
        'answer = "3, 1"',
        'answer = "(3,1)"',
        "answer = torch.tensor([3, 1])",
        'answer = "is at version 3; expected version 1 instead"',
    ),
    read=read, truth=truth, wanted="Give a pair of numbers: the version it is at, and the version that was expected.",
    shown="the first number is counted to the end, the second only to the save.",
    otherwise="Count the operations that end in _, once to the sin and once to the end.",
    mistakes=(
        Mistake("swapped", "The order of the message is: what it is now, then what was expected. Versions only grow, "
                "so the first number is the larger.", (1, 3), when=lambda two, _: two[0] < two[1]),
        Mistake("from zero", "You expect 0 because h began there. What was noted is the version at the moment of "
                "saving, and h.add_(1) had run before.", (3, 0)),
        Mistake("counted from the save", "That is how often h is written to after the save, beginning at 0. The "
                "counter belongs to the memory, began when the memory was made, and is never set back.", (2, 0)),
        Mistake("one missed", "One write after the save is missing: both h.add_(1) and h.mul_(3) come after sin.",
                (2, 1)),
        Mistake("the save counts", "You counted a write too many. x * 2 and sin read, and put their results into new "
                "memory.", (4, 1), also=((3, 2), (4, 2))),
        Mistake("no difference", "If the two numbers were equal, nothing would have been written after the save, and "
                "there would be no error.", (3, 3), when=lambda two, _: two[0] == two[1]),
        Mistake("one write", "You counted a single write. Every operation whose name ends in _ is one, and there are "
                "three.", (1, 0)),
    ),
    reveals=("is at version 3; expected version 1", "finds 3 where the node noted 1"),
)  # fmt: skip
