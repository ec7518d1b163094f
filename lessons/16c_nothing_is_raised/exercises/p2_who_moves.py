"""Exercise 16c.p2: in which programs does the head move?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def moves(torch, to_none, freeze=False, extra=False, momentum=0.9, weight_decay=0.01):
    """Does `cats` move in a step of `dogs`, after a step of its own?"""
    cats, dogs = (torch.ones(2, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([cats, dogs], lr=0.1, momentum=momentum, weight_decay=weight_decay)
    (cats * 2).sum().backward()
    optimizer.step()
    before = cats.tolist()
    if freeze:
        cats.requires_grad_(False)
    optimizer.zero_grad(set_to_none=to_none)
    loss = (dogs * 3).sum()
    (loss + 0 * cats.sum() if extra else loss).backward()
    optimizer.step()
    return cats.tolist() != before


def truth(torch):
    """The letters of the programs in which it moves."""
    programs = {
        "A": moves(torch, False),
        "B": moves(torch, True),
        "C": moves(torch, False, freeze=True),
        "D": moves(torch, True, extra=True),
        "E": moves(torch, False, momentum=0, weight_decay=0),
    }
    return {letter for letter, moved in programs.items() if moved}


EXERCISE = Predict(
    id="16c.p2", title="Who moves?", minutes=4, difficulty=2, puzzles=(13,),
    question="A clears to zeros, B to None, C freezes the head and clears to zeros, D adds zero times the head's "
    "result to the loss, E has plain SGD and clears to zeros. In which does the head of `cats` move?",
    hints=(
        "What is in the `.grad` of the head when the optimizer looks, None or zeros?",
        "With zeros: does anything else in the update of this optimizer move a weight?",
    ),
    solution='answer = ["A", "C", "D"]',
    why="In A, C and D the optimizer meets zeros, and its momentum and weight decay act. In B it meets None. In E it "
    "meets zeros and has nothing to add.",
    alternatives=('answer = {"a", "c", "d"}', 'answer = "A, C, D"'),
    read=names_among("A", "B", "C", "D", "E"), truth=truth, wanted='A list of letters is wanted, such as ["A", "B"].',
    shown="None rests, zero goes on, and a flag changes neither.",
    otherwise="For each program: what is in `.grad` of the head when the optimizer looks, and what does it do with it?",
    mistakes=(
        Mistake("frozen rests", "C: the flag keeps new gradients out. What does zero_grad(set_to_none=False) do with "
                "the tensor that is in `.grad` already?", ["A", "D"]),
        Mistake("zero times is nothing", "D: the head is in the graph of the loss, so backward stores a gradient for "
                "it. Which one?", ["A", "C"]),
        Mistake("the flag and the zero", "C and D: ask in both what the optimizer finds in `.grad`.", ["A"]),
        Mistake("every zero moves", "E: plain SGD subtracts the rate times the gradient. With a gradient of zero?",
                ["A", "C", "D", "E"]),
        Mistake("None moves, too", "B: without a gradient the optimizer skips the parameter, and all that it knows of "
                "it.", ["A", "B", "C", "D"], also=(["A", "B", "C", "D", "E"],)),
        Mistake("only the hack", "A: the gradient is zero, and the velocity of the first evening is not.", ["D"],
                also=(["C", "D"],)),
    ),
    reveals=("The flag `requires_grad` says that no *new* gradient", "undoes B", "None means \"rest\""),
)  # fmt: skip
