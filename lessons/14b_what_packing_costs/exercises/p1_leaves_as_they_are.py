"""Exercise 14b.p1: how much does a pair pack that gives leaves back?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import hooks_of
from lessons.shared import some_numbers


def truth(torch):
    """The bytes that are packed in four layers, at two bytes a number."""
    sizes = []

    def pack(tensor):
        if not tensor.is_leaf:
            sizes.append(tensor.numel() * 2)
        return tensor.detach()

    ws, h = [torch.eye(64).requires_grad_() for _ in range(4)], torch.ones(64, 64, requires_grad=True)
    with hooks_of(torch)(pack, lambda packed: packed):
        for w in ws:
            h = torch.tanh(h @ w)
    return [sum(sizes)]


def one_number(answer):
    """A number, alone or in a list."""
    return some_numbers(1)(answer if isinstance(answer, (list, tuple)) else [answer])


EXERCISE = Predict(
    id="14b.p1", title="Leaves as they are", minutes=2, difficulty=2,
    question="Four layers `tanh(h @ w)`, each activation 8,192 bytes in float16. A product saves its operands, tanh "
    "its result. `pack` gives leaves back as they are. How many bytes does it pack?",
    hints=(
        "Count the slots that hold no leaf: four of tanh, and those of the products.",
        "The first product's input is a leaf. The input of every other product is the result of a tanh.",
    ),
    solution="answer = 57344",
    why="Four slots of tanh and three of products, 8,192 bytes each. Three results stand in two slots, and are packed "
    "twice.",
    alternatives=("answer = [57_344]", 'answer = "57344"'),
    read=one_number, truth=truth, wanted="One number is wanted.",
    shown="pack is called once for each slot, also for the same tensor.",
    otherwise="8,192 bytes for each slot that holds no leaf: how many slots are there?",
    mistakes=(
        Mistake("each tensor once", "Each result once: that would be the half. `pack` is called for each slot that is "
                "filled. Is the result of a layer saved by one node only?", 32768),
        Mistake("the input, too", "The input of the first product is a leaf, and is given back as it is.", 65536),
        Mistake("float32", "Those are the bytes of seven slots in float32. A float16 takes half of that.", 114688,
                also=(65536 * 2,)),
        Mistake("everything", "That is with the weights and the input of the network. They are leaves.", 98304),
    ),
    reveals=("57,344 bytes in 7 calls", "7 slots of 8,192 bytes"),
)  # fmt: skip
