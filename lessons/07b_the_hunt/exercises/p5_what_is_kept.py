"""Exercise 07b.p5: what is kept?"""

from backscope import ledger
from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import some_numbers


def truth(torch):
    """The bytes that the product keeps besides the gate: out of place and in place, plain and learned gate."""
    found = []
    for learned in (False, True):
        for in_place in (False, True):
            h, gate = torch.ones(1000, requires_grad=True) * 1, torch.ones(1000, requires_grad=learned)
            with ledger(leaves=False) as held:
                h = h.mul_(gate) if in_place else h * gate
            found.append(held.now)
    return found


EXERCISE = Predict(
    id="07b.p5", title="What is kept?", minutes=2, difficulty=2, puzzles=(1,),
    question="`h` has 1000 float32 numbers and a history. How many bytes does the product keep besides the gate, after "
    "A: `h = h * gate`, plain gate; B: `h *= gate`, plain gate; C: `h = h * gate`, learned gate; D: `h *= gate`, "
    "learned gate?",
    hints=(
        "A product saves a factor only if the other factor needs a gradient (lesson 06).",
        "In D the gradient of the gate is the old h. Where can it come from, if it was overwritten?",
    ),
    solution="answer = [0, 0, 4000, 4000]",
    why="A plain gate needs no gradient, so the old h is not needed. A learned gate's gradient is made of the old h: C "
    "saves it, and D saves a copy that it makes before it writes.",
    alternatives=("answer = (0, 0, 4000, 4000)", "answer = torch.tensor([0, 0, 4000, 4000])"),
    read=some_numbers(4), truth=truth, wanted="Give a list of four numbers of bytes; h takes 4000.",
    shown="what backward needs must be kept, in place or not.",
    otherwise="For each of them: is the old h needed in backward? A product saves a factor only if the other one needs "
    "a gradient.",
    mistakes=(
        Mistake("in place keeps nothing", "D: backward needs the old h for the gradient of the gate. If nothing kept "
                "it, the gradient would be lost, or wrong.", [0, 0, 4000, 0]),
        Mistake("out of place keeps", "A: the old h would be saved for the gradient of the gate, which a plain gate "
                "does not want.", [4000, 0, 4000, 0], also=([4000, 0, 4000, 4000],)),
        Mistake("always", "A and B: with a plain gate backward does not need the old h.", [4000, 4000, 4000, 4000]),
        Mistake("never", "C and D: a learned gate wants a gradient, and that is made of the old h.", [0, 0, 0, 0]),
        Mistake("the gate as well", "The gate was not to be counted.", [4000, 4000, 8000, 8000]),
        Mistake("two copies", "D: one copy of the old h is enough.", [0, 0, 4000, 8000]),
    ),
    reveals=("D: 4000 bytes", "a hidden clone"),
)  # fmt: skip
