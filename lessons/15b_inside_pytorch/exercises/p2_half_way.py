"""Exercise 15b.p2: half way."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def truth(torch):
    """The weights that have a gradient after the error."""
    w = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(4)]
    h0 = torch.ones(2) * w[0]
    h1 = h0 * w[1]
    h2 = h1 * w[2]
    loss = (h2 * w[3]).sum()
    h1.mul_(2)
    try:
        loss.backward()
    except RuntimeError:
        return {f"w{i}" for i, each in enumerate(w) if each.grad is not None}
    raise AssertionError("the program of the question raises")


EXERCISE = Predict(
    id="15b.p2", title="Half way", minutes=3, difficulty=2, puzzles=(2,),
    question="h0 = w0, h1 = h0 * w1, h2 = h1 * w2, h3 = h2 * w3, loss = h3.sum(). Then h1.mul_(2), and loss.backward() "
    "raises. Which of w0, w1, w2, w3 have a gradient afterwards?",
    hints=(
        "In which order do the nodes run? Which one reads h1?",
        "When does the node of a leaf run: at the end of the pass, or as soon as its gradient is complete?",
    ),
    solution='answer = ["w3"]',
    why="The newest product ran and served its leaf. The product with w2 raised before it could deliver "
    "anything, and the pass ended there.",
    alternatives=('answer = "w3"', 'answer = {"W3".lower()}'),
    read=names_among("w0", "w1", "w2", "w3"), truth=truth,
    wanted='Give a list with some of "w0" to "w3"; it may be empty.',
    shown="what was delivered before the error stays, and nothing comes after it.",
    otherwise="Follow the pass from the loss: which node runs, what does it deliver, and where does it stop?",
    mistakes=(
        Mistake("nothing at all", "Nothing is undone when a pass fails. At least one product had run before the error, "
                "and a leaf is served as soon as its gradient is there.", []),
        Mistake("the failing one, too", "The product with w2 raised while it read what it had saved. It came to no "
                "result, and delivered nothing, not even to w2.", ["w2", "w3"]),
        Mistake("all but one", "After an error the pass ends. The older nodes wait for a gradient that never comes.",
                ["w0", "w1", "w3"]),
        Mistake("from the other end", "Backward begins at the loss, so the newest product runs first.", ["w0", "w1"],
                also=(["w0"],)),
        Mistake("all of them", "h1 was overwritten, and one product needs it as it was. What happens when it reads it?",
                ["w0", "w1", "w2", "w3"]),
        Mistake("all but the first", "Which product has saved h1? The pass ends with that one.", ["w1", "w2", "w3"],
                also=(["w1"], ["w2"])),
    ),
    reveals=("w3.grad is tensor", "and `w3` has its gradient"),
)  # fmt: skip
