"""Exercise 05.p2: two micro-batches."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def truth(torch):
    """The loop of the question."""
    x = torch.tensor([2.0, 2.0, 2.0, 10.0])
    w = torch.tensor(1.0, requires_grad=True)
    for part in (x[:3], x[3:]):
        ((w * part).mean() / 2).backward()
    return w.grad.item()


EXERCISE = Predict(
    id="05.p2", title="Two micro-batches", minutes=2, difficulty=1, puzzles=(14,),
    question="`x` is [2, 2, 2, 10]. The parts `x[:3]` and `x[3:]` each send the mean of `w * part`, divided by 2, "
    "backward. What is `w.grad` at the end?",
    hints=(
        "The gradient of `(w * part).mean()` is the mean of the part. Compute both.",
        "The means are 2 and 10, each is divided by 2, and what arrives is added.",
    ),
    solution="answer = 6\n",
    why="2/2 + 10/2 = 6. The outlier counts as much as the three other samples together.",
    alternatives=("answer = torch.tensor(6.0)\n",),
    read=as_number, truth=truth, wanted="One number is wanted.",
    shown="The two means, 2 and 10, count half each: 6, although the mean of the batch is 4.",
    otherwise=lambda answer, _: f"Not {as_number(answer):g}. What is the mean of each part, and what does `/ 2` make "
    "of it?",
    mistakes=(
        Mistake("same as the batch", "4 is the mean over four samples; here each part counts one half, however few "
                "samples it has.", 4),
        Mistake("last part only", "5 is what the second part sends; the first part's gradient is still there and is "
                "added to.", 5),
        Mistake("first part only", "1 is what the first part sends, 2 / 2. The second part has a backward as well, "
                "and it adds.", 1),
        Mistake("sums for means", "8 is half of the sum of all samples. Each part takes the mean of its own samples "
                "first.", 8),
        Mistake("not divided", "12 adds the two means; the loop divides each of them by the number of parts.", 12),
        Mistake("overwritten", "10 is the mean of the last part, undivided and alone. Mind the `/ 2`, and mind the "
                "first part.", 10),
        Mistake("halved", "3 divides twice; nothing divides again after the loop.", 3),
    ),
    reveals=("tensor(6.)", "6 and not 4", "mean of their means"),
)  # fmt: skip
