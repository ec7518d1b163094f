"""Exercise 14.p1: how often is it called?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import hooks_of
from lessons.shared import leaf, some_numbers


def truth(torch):
    """Calls of pack and of unpack in forward, of unpack in the first and in the second pass."""
    packs, unpacks = [], []

    def pack(tensor):
        packs.append(1)
        return tensor.detach()

    def unpack(packed):
        unpacks.append(1)
        return packed

    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    with hooks_of(torch)(pack, unpack):
        total = ((x * w).sin() + x).sum()
    counts = [len(packs), len(unpacks)]
    for _ in range(2):
        before = len(unpacks)
        total.backward(retain_graph=True)
        counts.append(len(unpacks) - before)
    return counts


EXERCISE = Predict(
    id="14.p1", title="How often is it called?", minutes=3, difficulty=2,
    question="`total = ((x * w).sin() + x).sum()` under a pair of saved-tensor hooks, then two backward passes "
    "outside of the block. How many calls of `pack` and of `unpack` are there in forward, and how many of `unpack` in "
    "the first and in the second backward? A list of four.",
    hints=(
        "There are four operations. Which of them save a tensor, and how many does the product save if both factors "
        "require a gradient?",
        "When are the numbers needed again? Are they remembered after the first time?",
    ),
    solution="answer = [3, 0, 3, 3]",
    why="The product saves both factors, and sin its input: three calls of pack, at once. unpack is called when a "
    "slot is read, so three times in each pass, wherever the pass runs.",
    alternatives=("answer = (3, 0, 3, 3)", 'answer = ["3", "0", "3", "3"]'),
    read=some_numbers(4), truth=truth, wanted="A list of four numbers is wanted.",
    shown="packing happens when a node saves, unpacking at each reading.",
    otherwise="Count the tensors that the four operations save. Then ask when unpack is called.",
    mistakes=(
        Mistake("outside of the block", "The passes run outside of the block, but the slots were filled inside of it. "
                "The pair stays with these slots.", [3, 0, 0, 0]),
        Mistake("unpacked once", "Your second pass finds what the first one has unpacked. Then the numbers would have "
                "to be stored in between, and packing is there to avoid that.", [3, 0, 3, 0]),
        Mistake("the addition saves", "You let the addition save something. Its slopes are 1, whatever its operands "
                "are.", [4, 0, 4, 4], also=([5, 0, 5, 5],)),
        Mistake("one factor", "Both factors of the product require a gradient, and each stands in the slope of the "
                "other.", [2, 0, 2, 2]),
        Mistake("packed late", "Nothing is packed later: between forward and backward the node would have to hold the "
                "tensor itself.", [0, 0, 3, 3], also=([0, 0, 3, 0],)),
        Mistake("unpacked at once", "In forward your program goes on with the tensors that it has. What would read a "
                "slot there?", [3, 3, 3, 3], also=([3, 3, 0, 0],)),
        Mistake("two passes in one", "There are three slots, and each pass reads each of them once. The question is "
                "about this pass alone, not about the sum.", [3, 0, 3, 6]),
    ),
    reveals=("`pack` was called three times", "`unpack` was called when a slot was read"),
)  # fmt: skip
