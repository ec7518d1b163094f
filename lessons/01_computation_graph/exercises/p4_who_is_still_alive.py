"""Exercise 01.p4: who is still alive?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among

from .shared import second_program


def truth(torch):
    """The names of the tensors that are alive beside y."""
    y, looks = second_program(torch)
    alive = {name for name, look in looks.items() if look() is not None}
    del y
    return alive


EXERCISE = Predict(
    id="01.p4", title="Who is still alive?", minutes=2, difficulty=2,
    question="The function returned `y`; its local names are gone. Which of the tensors `w`, `h` (the last one), "
    "`unused` are still alive?",
    hints=(
        "y holds its node. Whom do nodes hold?",
        "An accumulator has a `variable`. Does the node of an addition have anything of the kind?",
    ),
    solution='answer = ["w"]',
    why="y → its node → … → the accumulator → w. The node of h is on that way, the tensor h is not: dividing by 3 "
    "needs the 3. Nothing leads to unused.",
    alternatives=('answer = {"w"}', 'answer = "w"'),
    read=names_among("w", "h", "unused"), truth=truth,
    wanted='Give a list with some of the names "w", "h", "unused"; it may be empty.',
    shown="the graph keeps the leaf, and no tensor that no node needs.",
    otherwise="Follow the arrows from y. Which of the three can be reached, and is it a tensor or only its node?",
    mistakes=(
        Mistake("local names", "The names are gone. Tensors live as long as something holds them, and y's graph must "
                "deliver a gradient to a leaf.", []),
        Mistake("h too", "The node of h lives, for y's node leads to it. The tensor h is not needed: the slope of h "
                "/ 3 is made of the 3.", ["w", "h"]),
        Mistake("all", "That would be a graph that holds everything that ran. It holds what its arrows lead to, and "
                "no arrow leads forwards to unused.", ["w", "h", "unused"]),
        Mistake("only h", "The other way round: a node in between does not need its tensor, an accumulator does need "
                "its leaf.", ["h"]),
    ),
    reveals=("'w': True", "That is `w`. No variable"),
)  # fmt: skip
