"""Exercise 04.p3: ten doublings."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict

from .shared import number


def read(answer):
    """Read how many calls, how many runs."""
    return tuple(answer) if isinstance(answer, (list, tuple)) and len(answer) == 2 else None


def truth(torch):
    """Counted: the calls of the walk, and the runs of nodes."""
    h, runs = number(torch, 1.0), []
    h.register_hook(runs.append)
    for _ in range(10):
        h = h + h
        h.grad_fn.register_prehook(runs.append)
    h.backward()

    def calls(node):
        return 1 + sum(calls(to) for to, _ in node.next_functions)

    return calls(h.grad_fn), len(runs)


def what_to_look_at(answer, truth):
    if answer[0] == truth[0]:
        return "The calls are right. How many nodes does the graph have? The engine runs each once."
    if answer[1] == truth[1]:
        return "The runs are right. For the calls try n = 1 and n = 2 on paper, and count every call."
    return "Neither number is right yet. Try n = 1 and n = 2 on paper: count every call, and every node."


EXERCISE = Predict(
    id="04.p3", title="Ten doublings", minutes=3, difficulty=1,
    question="`h = x`, then ten times `h = h + h`. A function that calls itself along every arrow: how many calls in "
    "all? And how many nodes does the engine run?",
    hints=(
        "One doubling: a call for the addition, and one for each of its two arrows to x. That is 3.",
        "Two doublings: a call for the last addition, and twice what one doubling costs.",
    ),
    solution="answer = (2047, 11)",
    why="Calls double with each level: 1 + 2 + 4 + … + 1024. The engine runs ten additions and one accumulator.",
    alternatives=("answer = [2**11 - 1, 11]",),
    read=read, truth=truth, wanted="Give a pair: calls of the walk, and runs of nodes.",
    shown="2 to the power of 11, less 1, against 11: the engine's work grows with the graph.",
    otherwise=what_to_look_at,
    mistakes=(
        Mistake("ends only", "1024 is the number of paths, so of calls that reach x. Every addition on the way is "
                "called as well, again and again.", (1024, 11)),
        Mistake("paths and additions", "1024 is the number of paths, and 10 that of the additions. But each addition "
                "on the way is called as well, again and again, and x has a node, too.", (1024, 10)),
        Mistake("no leaf", "1023 is the number of calls at additions. x has a node too, an AccumulateGrad, at the "
                "end of every path.", (1023, 10), also=((1023, 11),)),
        Mistake("the first call", "2046 calls come from within the function, two for each addition. The first one, "
                "from outside, counts as well.", (2046, 11)),
        Mistake("the leaf's node", "The calls are right. The engine runs one node more than the ten additions: that "
                "of the leaf.", (2047, 10)),
        Mistake("one run too many", "The calls are right, and one run is too many. The name h = x makes no node, and "
                "the root is one of the ten additions.", (2047, 12)),
        Mistake("two runs an addition", "The calls are right. You let each addition run for each of the two "
                "gradients that reach it; they are added first.", (2047, 20), also=((2047, 21),)),
        Mistake("one run for all", "The calls are right. backward() is called once; inside, each node has its own "
                "run.", (2047, 1)),
        Mistake("a power of two", "One too many: the levels of calls are 1 + 2 + 4 + …, and such a sum stays one "
                "below the next power.", (2048, 11)),
        Mistake("exchanged", "Both numbers, the other way round: first the calls of the walk.", (11, 2047)),
        Mistake("the engine walks too", "The calls are right. The engine adds up what arrives and runs each node "
                "once, however many paths lead there.", (2047, 2047)),
        Mistake("arrows", "You followed each arrow once. The function does not remember where it has been: it is "
                "called anew for every path.", (21, 11), also=((20, 11),)),
        Mistake("nodes", "You counted nodes. The function does not remember where it has been: it comes to a node as "
                "often as there are paths to it.", (11, 11)),
    ),
    reveals=("2047 calls", "11 runs"),
)  # fmt: skip
