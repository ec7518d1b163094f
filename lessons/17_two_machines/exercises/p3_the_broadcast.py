"""Exercise 17.p3: the broadcast of a buffer."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import numbers_or_errors


def truth(torch):
    """w.grad with no write, a counted write and an uncounted one."""
    found = []
    for write in (lambda s: None, lambda s: s.copy_(torch.tensor([2.0])), lambda s: s.data.copy_(torch.tensor([2.0]))):
        w, size = torch.ones(1, requires_grad=True), torch.tensor([8.0])
        first = w * 8.0 / size
        write(size)
        try:
            (first + w * 24.0 / torch.tensor([24.0])).sum().backward()
            found.append(w.grad.item())
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="17.p3", title="The broadcast", minutes=3, difficulty=2, puzzles=(22,),
    question="A module divides by its buffer, 8 in the first forward and 24 in the second. In between a 2 is copied "
    "into the first buffer: not at all, with `copy_`, with `.data.copy_`. What is `w.grad` each time? The first is 2.",
    hints=(
        "Which tensors does the division of the first forward save?",
        "The second forward makes a new buffer, so the copy spoils only the first one. Who counts the write?",
    ),
    solution='answer = [2, "error", 5]',
    why="Right is 1 + 1. The counted write is noticed. The other one is not, and 8 / 2 + 1 = 5.",
    alternatives=('answer = (2.0, "error", 5.0)', 'answer = ["2", "Raises", "5"]'),
    read=numbers_or_errors(3), truth=truth, wanted='A list of three is wanted, such as [1, 2, "error"].',
    shown="a broadcast is a write like any other, if it is counted.",
    otherwise="Compute each forward by itself: w * x / size, with the size that backward finds.",
    mistakes=(
        Mistake("both raise", "A write through .data is not counted, so no check can notice it.",
                [2, "error", "error"]),
        Mistake("none raises", "copy_ counts, under no_grad, too. The division had saved the buffer.", [2, 5, 5]),
        Mistake("no_grad is a shield", "no_grad stops recording. The write is counted all the same.", [2, 2, 5],
                also=([2, 2, 2],)),
        Mistake("numbers were kept", "A node saves the tensor and no copy of its numbers. It finds the 2.",
                [2, "error", 2]),
        Mistake("second one, too", "The second forward makes a new buffer, 24, after the copy. Only the first is "
                "spoiled.", [2, "error", 16]),
        Mistake("both ranks", "3.5 is the average of both ranks. Asked is rank 1 alone.", [2, "error", 3.5]),
        Mistake("exchanged", "It is the other way round: which of the two writes is counted?", [2, 5, "error"]),
        Mistake("forbidden anyway", "Without a write nothing is spoiled: each forward has a buffer of its own.",
                ["error", "error", 5]),
    ),
    reveals=("the division of the first forward, has saved the buffer", "gives 8/2 + 1 = 5"),
)  # fmt: skip
