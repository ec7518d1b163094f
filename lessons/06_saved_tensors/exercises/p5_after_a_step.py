"""Exercise 06.p5: two results, after a step."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import flat, leaf, near, numbers

SAME = {"raises at backward": "raises", "error": "raises", "right": "fine", "wrong": "silently wrong"}
WORDS = ("fine", "raises", "silently wrong")


def read(answer):
    """The words for A and B."""
    if not isinstance(answer, (list, tuple)) or not all(isinstance(each, str) for each in answer):
        return None
    said = [" ".join(each.lower().split()) for each in answer]
    said = [SAME.get(each, each) for each in said]
    return said if len(said) == 2 and set(said) <= set(WORDS) else None


def truth(torch):
    """Run both passes after the step, and compare what arrives with the gradient at the present x."""
    x, c = leaf(torch, numbers(3)), torch.tensor(numbers(3))
    kinds = (lambda: x.exp(), lambda: x * x)
    results = [kind() for kind in kinds]
    (results[0] * c).sum().backward(retain_graph=True)
    with torch.no_grad():
        x -= 0.02 * x.grad
    found = []
    for result, kind in zip(results, kinds, strict=True):
        x.grad = None
        (kind() * c).sum().backward()
        right, x.grad = flat(x.grad), None
        try:
            (result * c).sum().backward(retain_graph=True)
        except RuntimeError:
            found.append("raises")
        else:
            found.append("fine" if near(flat(x.grad), right) else "silently wrong")
    return found


EXERCISE = Predict(
    id="06.p5", title="Two results, after a step", minutes=3, difficulty=2, puzzles=(1, 6, 8),
    question="`scale = x.exp()` and `square = x * x` are computed once, then x is updated in place. A runs backward "
    "through `scale`, B through `square`: fine, raises, or silently wrong?",
    hints=(
        "Which tensor does each of the two nodes save? Into which memory did the step write?",
        "Nothing was freed. So what can raise is a changed count, and what can go wrong is an old number.",
    ),
    solution='answer = ["silently wrong", "raises"]',
    why="exp saved its result, and the step did not write there: the slot is in order, with the old numbers. The "
    "product saved x, into which the step wrote, so the count has changed.",
    alternatives=(
        'answer = ("silently wrong", "raises")', 'answer = ["Silently wrong", "raises at backward"]',
        'answer = "silently wrong, raises"',
    ),
    read=read, truth=truth,
    wanted='Give two of the phrases "fine", "raises" and "silently wrong": for A, and for B.',
    shown="what a node saved decides whether a step is noticed.",
    mistakes=(
        Mistake("the other way round", "You have it the other way round. Which of the two nodes saved x, into which "
                "the step wrote?", ["raises", "silently wrong"]),
        Mistake("a step changes nothing", "Both nodes hold what they saved before the step. Can a gradient made of it "
                "be that of the present x?", ["fine", "fine"]),
        Mistake("every write is noticed", "A: a pass compares the count of the memory that the node saved. exp saved "
                "its result, and the step wrote into x.", ["raises", "raises"]),
        Mistake("no write is noticed", "B: the product saved x itself, and the step wrote into x. The pass looks at "
                "the count before it reads.", ["silently wrong", "silently wrong"]),
        Mistake("no error, so fine", "B is right. In A there is no error, but look at the slot of exp: of which x is "
                "the number in it?", ["fine", "raises"]),
        Mistake("the product reads the new x", "A is right. In B, the product saved x itself, and would read the new "
                "numbers. But the step has written there since it saved.", ["silently wrong", "fine"]),
        Mistake("exp is checked", "A: exp saved its result. The step has not written there, so its count has not "
                "changed.", ["raises", "fine"]),
        Mistake("both missed", "A: the number in the slot of exp belongs to the old x. B: the product saved x, and "
                "the step wrote into it.", ["fine", "silently wrong"]),
    ),
    reveals=("right: 94.70", "is nothing to notice", "backward finds version 3", "now v3, STALE"),
)  # fmt: skip
