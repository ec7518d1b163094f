"""Exercise 11.p3: slot and attribute."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.functions import function, number_or_word


def read(answer):
    """Two entries, each a number or "error"."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return None
    given = [number_or_word(part) for part in answer]
    if any(isinstance(part, str) and part != "error" for part in given):
        return not_yet('Each of the two is a number or "error".')
    return given


def forward(ctx, x):
    ctx.save_for_backward(x)
    ctx.mine = x
    return x**3


def truth(torch):
    found = []
    for read in (lambda ctx: ctx.saved_tensors[0], lambda ctx: ctx.mine):
        x = torch.tensor([2.0], requires_grad=True)
        h = x + 0
        y = function(torch, forward, lambda ctx, g, read=read: 3 * read(ctx) ** 2 * g).apply(h)
        h.mul_(10)
        try:
            y.backward()
            found.append(x.grad.item())
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="11.p3", title="Slot and attribute", minutes=2, difficulty=1, puzzles=(17,),
    question="`h` is 2 when it is kept, and 20 at backward. What is `x.grad` with `ctx.saved_tensors`, and what with "
    '`ctx.mine`? A list of two, each a number or `"error"`.',
    hints=(
        "Neither of the two copies: both keep h by reference, and h is now 20.",
        "Lesson 07: who notes a version, and who compares it? What is 3 · 20²?",
    ),
    solution='answer = ["error", 1200]',
    why="The slot noted version 0 and finds version 1. The attribute is any Python attribute: it gives h as it is "
    "now, and 3 · 20² = 1200.",
    alternatives=('answer = ("error", 1200.0)', 'answer = ["Error", "1200"]'),
    read=read, truth=truth,
    wanted='Give a list of two: for the slot, then for the attribute; a number or "error" each.',
    shown="a slot knows its version, an attribute knows nothing.",
    otherwise="Which memory does each of them look at, and who notices a write?",
    mistakes=(
        Mistake("both checked", "An attribute of ctx is a plain Python attribute. Nobody notes a version for it, so "
                "nothing can be compared.", ["error", "error"]),
        Mistake("copies", "That would need copies of h. Neither way copies: a copy of every activation would double "
                "the memory.", [12, 12]),
        Mistake("attribute copies", "The slot is right. The attribute is only another name for h, and h is 20 by now.",
                ["error", 12]),
        Mistake("swapped", "The other way round: save_for_backward makes the checked slot, the attribute is unknown "
                "to the engine.", [1200, "error"], also=([12, "error"],)),
        Mistake("nobody checks", "For the attribute yes. The slot noted the version of h when it was saved, and mul_ "
                "has added one.", [1200, 1200]),
        Mistake("slot copies", "The attribute is right. The slot has no copy either; it has the version at which h "
                "was saved.", [12, 1200]),
        Mistake("another number", "The slot raises, yes. And the attribute gives a number, but not this one: put h "
                "as it is at backward into 3 · h · h, and remember that the slope of x + 0 is 1.",
                ["error", 12000], when=lambda two, _: two[0] == "error"),
    ),
    reveals=("1200",),
)  # fmt: skip
