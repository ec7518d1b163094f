"""Exercise 14c.p1: three lengths."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import peak_and_runs
from lessons.shared import some_numbers

EXERCISE = Predict(
    id="14c.p1", title="Three lengths", minutes=5, difficulty=3,
    question="16 layers, each of which saves its result and nothing else that counts. They are checkpointed in "
    "segments of 1, of 4, or of 16 layers. What is the peak, in activations, each time? A list of three.",
    hints=(
        "At the end of forward: each segment has put aside its input. How many inputs are results of a layer, and not "
        "the input of the network?",
        "Backward begins with the last segment. It is run again, with recording on: what is saved then, and what is "
        "still put aside at that moment?",
        "With a single segment, nothing is put aside. But what has to be there before the first node of the small "
        "graph can run?",
    ),
    solution="answer = [16, 7, 16]",
    why="n/k - 1 inputs are put aside, and the second run of a segment saves k: 15 + 1, 3 + 4, 0 + 16.",
    alternatives=("answer = (16.0, 7.0, 16.0)", 'answer = ["16", "7", "16"]'),
    read=some_numbers(3), truth=lambda torch: [peak_and_runs(torch, [k] * (16 // k))[0] for k in (1, 4, 16)],
    wanted="A list of three numbers is wanted.",
    shown="the peak is what is put aside plus what one segment saves.",
    otherwise="Add up two things: the inputs that are put aside, and what the second run of one segment saves.",
    mistakes=(
        Mistake("put aside only", "You counted what is put aside at the end of forward. In backward each segment is "
                "run again with recording on, and then it saves.", [15, 3, 0], also=([16, 4, 1], [16, 4, 0])),
        Mistake("the longer the better", "A longer segment puts less aside. But its second run saves more, and all of "
                "it at once.", [15, 3, 1], when=lambda three, _: three[0] > three[1] > three[2]),
        Mistake("the shorter the better", "A short segment saves little in its second run. But every segment has put "
                "aside its input, and of short ones there are many.", [1, 4, 16],
                when=lambda three, _: three[0] < three[1] < three[2]),
        Mistake("the first input counted", "The input of the first segment is the input of the network, a leaf: it is "
                "not counted.", [17, 8, 17], also=([17, 8, 16], [16, 8, 16], [16, 8, 17])),
        Mistake("no gain at all", "With 4 there is something in between: 3 inputs are put aside, and one segment at a "
                "time saves its activations.", [16, 16, 16]),
        Mistake("the last result", "The result of a segment need not be there already: its second run makes it, and "
                "it is one of the k.", [15, 6, 15], also=([16, 6, 16],)),
        Mistake("one end", "One end is right. For the other, write down both parts: inputs put aside, and what one "
                "second run saves.", [16, 7, 1], also=([1, 7, 16], [16, 7, 0], [2, 7, 16], [16, 7, 17], [15, 7, 16])),
    ),
    reveals=("At both ends, nothing is gained", "7 activations instead of 16", "√n law"),
)  # fmt: skip
