"""Exercise 10c.p3: what momentum does along a valley, and across it."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def end(torch, **settings):
    """Return where thirty steps in the question's valley end."""
    p = torch.tensor([10.0, 1.0], requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.018, **settings)
    for _ in range(30):
        optimizer.zero_grad()
        ((p[0] ** 2 + 100 * p[1] ** 2) / 2).backward()
        optimizer.step()
    return p.tolist()


def truth(torch):
    """The letters of the sentences that are true of the run with momentum."""
    (along, across), (long, wide) = end(torch), end(torch, momentum=0.8)
    lower = long**2 + 100 * wide**2 < along**2 + 100 * across**2
    return {
        letter
        for letter, true in {"A": abs(long) < abs(along), "B": abs(wide) < abs(across), "C": lower}.items()
        if true
    }


EXERCISE = Predict(
    id="10c.p3", title="Along and across", minutes=2, difficulty=2,
    question="Thirty steps of SGD in the valley (p[0]² + 100 p[1]²) / 2 from (10, 1), at the rate 0.018, once plain "
    "and once with momentum 0.8. What is true of the run with momentum? A: it comes further along the valley; B: its "
    "swing across the valley dies away sooner; C: it ends with the lower loss. A list of letters.",
    hints=(
        "Along the valley, which signs do the gradients have, one after the other? And what is their running sum?",
        "A sum that forgets slowly still holds the gradients of earlier swings. What does it do when the wall is calm?",
    ),
    solution='answer = ["A", "C"]',
    why="Along the valley all gradients have one sign, and add up. Across it the sum still holds earlier swings, so "
    "at this rate the swing dies away more slowly: 0.035 is left of it, and 0.001 without momentum.",
    alternatives=('answer = "A, C"', 'answer = {"C", "A"}'),
    read=names_among("A", "B", "C"), truth=truth, wanted='Give a list with some of "A", "B" and "C".',
    shown="what momentum gains is the way along the valley; across it, at this rate, the swing goes on for longer.",
    otherwise="Ask of both directions: which signs follow one another, and what becomes of their sum?",
    mistakes=(
        Mistake("the swing is damped", "A and C are right. Most people expect B, too. But the sum still holds the "
                "gradients of earlier swings, and carries them on: at this rate it swings for longer.",
                ["A", "B", "C"]),
        Mistake("only along", "A is right. How much of the loss is left when it comes so much further along?", ["A"]),
        Mistake("only the loss", "C is right. In which direction was the way that plain SGD did not make?", ["C"]),
        Mistake("only the swing", "B is what one expects, but at this rate the sum carries each swing on for longer. "
                "The gain lies in the other direction.", ["B"], also=(["B", "C"], ["A", "B"])),
        Mistake("no gain", "Along the valley all gradients have the same sign. What does a running sum make of them?",
                []),
    ),
    reveals=("at this rate the swing lasts longer", "all gradients have one sign"),
)  # fmt: skip
