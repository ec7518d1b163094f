"""Exercise 11b.p3: which of the four slots of a posted Function are needed, and which are checked?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.functions import function, number_or_word


def pooled(torch, left_out=None):
    """The posted Function; `left_out`: the number of a slot that holds None."""

    def forward(ctx, img, spx):
        k = spx.max() + 1
        member = (spx.reshape(-1, 1) == torch.arange(k.item())).to(img.dtype)
        size = member.sum(0)
        ctx.save_for_backward(*(None if i == left_out else each for i, each in enumerate((size, img, spx, k))))
        return img.reshape(*img.shape[:2], -1) @ member / size

    def backward(ctx, grad):
        pool_size, _, spx, _ = ctx.saved_tensors
        return (grad / pool_size)[..., spx], torch.zeros_like(spx)

    return function(torch, forward, backward, "Pooled")


def runs(torch, left_out=None, write=False):
    """Does the backward run?"""
    x = torch.ones(1, 3, 4, 4, requires_grad=True)
    img = x * 1
    out = pooled(torch, left_out).apply(img, torch.arange(16).reshape(4, 4) // 4)
    if write:
        img.relu_()
    try:
        out.sum().backward()
    except (RuntimeError, TypeError):
        return False
    return x.grad is not None and x.grad.shape == x.shape


def truth(torch):
    return [sum(not runs(torch, left_out) for left_out in range(4)), "fine" if runs(torch, write=True) else "error"]


def read(answer):
    """A number and a word; "none" and the like are no words here."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    number, word = map(number_or_word, answer)
    return [number, word] if isinstance(number, float) and word in ("fine", "error") else None


EXERCISE = Predict(
    id="11b.p3", title="Four slots", minutes=3, difficulty=2,
    question="Pooled saves pool_size, img, spx and K, and img is written to after the call. How many of the four does "
    'its backward need for its answers, and does it run, "fine", or raise, "error"?',
    hints=(
        "Line 6 is where the answers are made. Which of the four names stand in it?",
        "Line 5 reads all four slots. When is the version of a slot compared: when it is read, or when its tensor is "
        "computed with?",
    ),
    solution='answer = (2, "error")',
    why="Line 6 computes with pool_size and spx. But line 5 reads ctx.saved_tensors, and each reading checks all "
    "slots: that of img is at another version.",
    alternatives=('answer = [2.0, "Error"]',),
    read=read, truth=truth, wanted='Give a pair: a number from 0 to 4, and "fine" or "error".',
    shown="what is saved for nothing is checked all the same.",
    otherwise="Line 6 makes the answers, and line 5 reads the slots. Look at each of the two.",
    mistakes=(
        Mistake("only what is used", "Two is right. But the versions are compared in line 5, where the slots are read, "
                "and it reads all of them.", (2, "fine")),
        Mistake("all of them", "It raises, that is right. To be read is not to be needed: which names stand in line 6?",
                (4, "error"), also=((3, "error"),)),
        Mistake("spx is no tensor of numbers", "It raises, that is right. spx says for each pixel whose gradient it "
                "gets: without it nothing can be sent back.", (1, "error"), also=((0, "error"),)),
        Mistake("harmless", "relu_ changes no number here, but it counts as a write, and line 5 reads the slot of img. "
                "And which names stand in line 6?", (4, "fine"), also=((3, "fine"), (1, "fine"), (0, "fine"))),
    ),
    reveals=("Backward computes with `pool_size` and `spx` only", "raises because of `img`"),
)  # fmt: skip
