"""Exercise 15.p2: the fourth write."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict


def letter(answer):
    """One letter, also in a list of one."""
    if isinstance(answer, (list, tuple, set)) and len(answer) == 1:
        [answer] = answer
    text = answer.strip().upper() if isinstance(answer, str) else ""
    return text if len(text) == 1 and text in "ABCDE" else None


def truth(torch):
    """The line that wrote version 4: a chain of two blocks, each with the two writes, in the model's order."""
    x, writers = torch.zeros(2, requires_grad=True) * 1, {}
    for _block in range(2):
        for line in ("C", "D"):
            x += x.exp().detach()
            writers[x._version] = line
    return writers[4]


EXERCISE = Predict(
    id="15.p2", title="The fourth write", minutes=4, difficulty=2, puzzles=(2,),
    question="Which line of the model wrote the fourth version of x? A: x = letter + place. B: weights *= …. C: x += "
    "attention. D: x += mlp. E: return head(norm(x)). There are two blocks.",
    hints=(
        "Which of the five lines write into memory that was there before, and which make a new tensor?",
        "Which shape do the tensors have that line B writes to? And how often does each line write to x, in which "
        "order?",
    ),
    solution='answer = "D"',
    why="C and D of the first block are writes 1 and 2, C and D of the second block are writes 3 and 4. The layer norm "
    "of line D has saved x between the last two.",
    alternatives=('answer = "d"', 'answer = ["D"]'),
    read=letter, truth=truth, wanted='Answer with one letter, "A" to "E".',
    shown="the message says how many writes there were, and writes can be counted.",
    otherwise="Count the writes to x through both blocks.",
    mistakes=(
        Mistake("made, not written", "Line A makes x. A new tensor begins at version 0, and a sum of two others writes "
                "into neither of them.", "A"),
        Mistake("the other tensor", "Line B does write, and it is a fault, too. But it writes into the table, which "
                "has another shape than the tensor in the message.", "B"),
        Mistake("one too early", "Line C of the second block made version 3. That is the version at which x was saved, "
                "and so it was still expected.", "C"),
        Mistake("only read", "Line E reads x, and may even save it, but it writes nothing. It is not the one who "
                "changed something afterwards.", "E"),
    ),
    reveals=("So the answer to the prediction is D", "bumped to version 4 by add_ at"),
)  # fmt: skip
