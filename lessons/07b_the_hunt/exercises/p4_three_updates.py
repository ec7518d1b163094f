"""Exercise 07b.p4: three updates between two passes."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among, small_network

UPDATES = {"A": "b2 -= 0.1 * b2.grad", "B": "W2 = W2 - 0.1 * W2.grad", "C": "W2 -= 0.1 * W2.grad"}


def truth(torch):
    """The letters of the updates after which a second pass over the kept graph raises."""
    refused = set()
    for letter, update in UPDATES.items():
        x, t, space = small_network(torch)
        W1, b1, W2, b2 = space.values()
        loss = ((torch.relu(x @ W1 + b1) @ W2 + b2 - t) ** 2).mean()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            exec(update, space)
        try:
            loss.backward()
        except RuntimeError:
            refused.add(letter)
    return refused


EXERCISE = Predict(
    id="07b.p4", title="Three updates between two passes", minutes=2, difficulty=2, puzzles=(1, 8),
    question="Two passes over one loss, the first with `retain_graph=True`. One update stands between them, under "
    "`no_grad`. After which does the second pass raise?\n\n"
    + "\n".join(f"- {letter}: `{update}`" for letter, update in UPDATES.items()),
    hints=(
        "What the flag keeps is the slots. Which of the parameters stands in a slot (07.p6)?",
        "Which of the updates write into the tensor in that slot, and which makes a new tensor?",
    ),
    solution='answer = ["C"]',
    why="Only W2 was saved, and only C writes into the tensor that was saved. B makes a new tensor and moves the name, "
    "and the bias of A is in no slot.",
    alternatives=('answer = {"C"}', 'answer = "c"'),
    read=names_among(*UPDATES), truth=truth,
    wanted='Give a list with some of the letters "A", "B" and "C"; it may be empty.',
    shown="you ask what is in the slots, and which line writes into it.",
    otherwise="For each of them: is the parameter in a slot, and is the line a write into its memory?",
    mistakes=(
        Mistake("the flag is a cure", "The flag keeps the slots, and the version of what they hold is still compared. "
                "One of the lines writes into a tensor that was saved.", []),
        Mistake("every update", "Not every parameter was saved (07.p6), and not every line writes into the old tensor.",
                ["A", "B", "C"]),
        Mistake("every in-place update", "A: a bias is added, and an addition saves neither operand. Writing into it "
                "does no harm.", ["A", "C"], also=(["A"], ["A", "B"])),
        Mistake("the name was saved", "B: a node saves a tensor, not a name. W2 = W2 - … computes a new tensor, and "
                "what was saved stays as it was.", ["B", "C"]),
        Mistake("turned round", "B and C: which of the two lines leaves the numbers of the old tensor alone?", ["B"]),
    ),
    reveals=("In A nothing had saved the bias", "the name `W2` has moved"),
)  # fmt: skip
