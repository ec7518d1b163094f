"""Exercise 05b.p2: which gradient arrives in the caller's memory?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict


def truth(torch):
    """The program of the question."""
    x, given, same = torch.ones(2, requires_grad=True), torch.ones(2, 1), []
    x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
    for gradient in (given, given.clone()):
        x.view(2, 1).backward(gradient)
    return same


def read(answer):
    """Two truth values, or one."""
    if not isinstance(answer, (list, tuple)) or len(answer) not in (1, 2):
        return None
    return list(answer) if all(isinstance(each, bool) for each in answer) else None


EXERCISE = Predict(
    id="05b.p2", title="In the memory of given", minutes=1, difficulty=2, puzzles=(26,),
    question="`given` goes backward through `x.view(2, 1)`, and then a clone of it. Does the gradient that arrives at "
    "`x` lie in the memory of `given`? A list of two, True or False for each pass.",
    hints=(
        "What does backward of a view have to compute? Only the shape is another one.",
        "What is a clone made for?",
    ),
    solution="answer = [True, False]\n",
    why="Backward of a view gives the same numbers another shape, and that needs no copy. A clone has its own memory.",
    alternatives=("answer = (True, False)\n",),
    read=read, truth=truth, wanted="A list of two is wanted, True or False for each pass.",
    shown="backward of a view copies nothing, so `given` itself arrives; the clone has a memory of its own.",
    mistakes=(
        Mistake("always a copy", "You let the engine copy in the first pass. Backward of a view only looks at the "
                "gradient in another shape, and that needs no copy.", [False, False]),
        Mistake("a clone is the same", "The first is right. But the clone in the second pass has equal numbers in a "
                "memory of its own.", [True, True]),
        Mistake("the other way round", "You have the passes the wrong way round: the first one hands over `given` "
                "itself, the second one a copy.", [False, True]),
        Mistake("one for two", "That is one answer. Two passes are run, so `same` has two entries.", [True],
                also=([False],)),
    ),
    reveals=("[True, False]", "the very numbers that you had in your hand"),
)  # fmt: skip
