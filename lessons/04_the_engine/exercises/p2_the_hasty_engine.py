"""Exercise 04.p2: the hasty engine."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict

from .shared import FIVE, hasty, near

EXERCISE = Predict(
    id="04.p2", title="The hasty engine", minutes=4, difficulty=2,
    question="`a = x*x; b = a+x; c = b*a; d = c+b; e = d*a` at x = 2. An engine runs each node once, in the order in "
    "which nodes first got a gradient. What does it report for x?",
    hints=(
        "e sends 4 to d and 30 to a. They join the queue in that order.",
        "The queue is e, d, a, then c and b, then x. What has a got when its turn comes? And b?",
    ),
    solution="answer = 140.0",
    why="a runs third, on the 30 from e alone, and sends 60 twice. b runs on 4 + 16 = 20 and sends 20 to x. What b "
    "and c send to a comes too late: 120 + 20 = 140.",
    alternatives=("answer = 140", "answer = 30.0 * 4 + 20"),
    read=lambda answer: answer if isinstance(answer, (int, float)) else None,
    truth=lambda torch: hasty(FIVE, "e")["x"], equal=near, wanted="Give one number.",
    shown="a ran on 30 when 44 more was still to come, and nobody told x.",
    otherwise=lambda answer, _: f"Not {answer:g}. Write down the queue: e; then d and a; then what d and a bring in.",
    mistakes=(
        Mistake("the slope", "316 is the true slope. This engine does not wait: follow its queue and see what a has "
                "got when its turn comes.", 316.0),
        Mistake("x stands still", "120 is what a sends to x. x has one more consumer, b, which adds 20: only a node "
                "that has already run ignores what comes late.", 120.0),
        Mistake("depth first", "There are two ways to 80. Either you went all the way down along first arrows, e to "
                "d to c to b, but a queue takes the one that has waited longest. Or you used one arrow from a to x, "
                "and there are two.", 80.0),
        Mistake("from b alone", "20 is what b sends to x. a leads to x as well, and it has run by then, if on too "
                "little.", 20.0),
        Mistake("at a, in time", "30 is what a has got when its turn comes. It is multiplied on its way to x, and x "
                "has another consumer.", 30.0),
        Mistake("at a, too late", "44 is what comes to a too late. The question is what x gets from what came in "
                "time.", 44.0),
        Mistake("half of b", "b ran on the 4 from d alone. But c stands before b in the queue, and has sent its 16 "
                "by then.", 124.0),
        Mistake("what is lost", "176 is what x misses, 44 times 4. The question is what it gets.", 176.0),
        Mistake("lost at a", "44 never leaves a, that is right. But each 1 at a is worth 4 at x, for two arrows of "
                "slope 2 lead there.", 272.0),
        Mistake("paths", "10 is the number of paths from e to x. The question is for the number at x.", 10.0),
        Mistake("a itself", "74 is the gradient that a should have run on, 30 + 24 + 20. How much of it is there "
                "when a runs?", 74.0),
    ),
    reveals=("316 − 176", "'x': 140.0", "30 · 4 = 120"),
)  # fmt: skip
