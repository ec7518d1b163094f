"""Exercise 15b.p1: two faults."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import as_names
from lessons.words import CHANGED, DETACHED, FREED, begin

WORDS = ("freed", "detached", "version", "fine")


def read(answer):
    """A list of four of the words."""
    names = as_names(answer) if isinstance(answer, (list, tuple, str)) else None
    if names is None or len(names) != 4:
        return None
    names = [name.lower() for name in names]
    strange = [name for name in names if name not in WORDS]
    return not_yet(f"{strange[0]!r} is none of the words {', '.join(WORDS)}.") if strange else names


def said(y):
    """The word for what backward says."""
    try:
        y.backward()
    except RuntimeError as error:
        return next(word for word, part in zip(WORDS, (FREED, DETACHED, CHANGED), strict=False) if part in str(error))
    return "fine"


def truth(torch):
    """The four programs."""
    found = []
    _, h = begin(torch)
    y = h.sin().sum()
    y.backward()
    h.mul_(2)
    found.append(said(y))
    _, h = begin(torch)
    y = h.sin().sum()
    h.mul_(2)
    h.detach_()
    found.append(said(y))
    _, h = begin(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda p: p):
        y = h.sin().sum()
    h.mul_(2)
    found.append(said(y))
    _, h = begin(torch)
    e = h.exp()
    y = e.sum()
    e.mul_(2)
    e.detach_()
    return [*found, said(y)]


EXERCISE = Predict(
    id="15b.p1", title="Two faults", minutes=5, difficulty=3, puzzles=(2, 5),
    question="A: sin, backward, mul_, backward again. B: sin, mul_, detach_, backward. C: sin with hooks that clone, "
    "mul_, backward. D: e = exp, e.mul_, e.detach_, backward. What does the last backward say: freed, detached, "
    "version or fine?",
    hints=(
        "In A the first backward has emptied the slot. Is there still a tensor whose version could be asked?",
        "In C there is a copy. In D the node has saved its own result: who has to be asked for the node that made it?",
    ),
    solution='answer = ["freed", "detached", "fine", "version"]',
    why="The questions come in one order: is anything there, has it been detached, is the version the same. With hooks "
    "the last is not asked; for a node's own result the second is not.",
    alternatives=('answer = ("Freed", "detached", "fine", "version")', 'answer = "freed, detached, fine, version"'),
    read=read, truth=truth,
    wanted='Give a list of four words, each one of "freed", "detached", "version" and "fine".',
    shown="one function asks these questions, one after the other, and the first no ends it.",
    otherwise="For each program: what is in the slot, does the saved tensor still have its node, was its memory "
    "written to?",
    mistakes=(
        Mistake("the version first", "In A the slot is empty. No tensor is left whose version could be asked.",
                ["version", "detached", "fine", "version"],
                when=lambda words, _: words[0] == "version"),
        Mistake("sin keeps nothing", "sin needs its input for the gradient: it saves h, and the first backward frees "
                "it.",
                ["fine", "detached", "fine", "version"], when=lambda words, _: words[0] == "fine"),
        Mistake("copies are checked", "In C the node holds a copy that your hook has made. PyTorch cannot know what "
                "the write means for it, and asks nothing (lesson 14).", ["freed", "detached", "version", "version"],
                when=lambda words, truth: words[2] == "version" and words[:2] == truth[:2]),
        Mistake("the write first", "In B both are wrong, and one question comes first. To say whose output the tensor "
                "is, the message needs a node, so that is asked before the versions are compared.",
                ["freed", "version", "fine", "version"], when=lambda words, truth: words[1] == "version"),
        Mistake("its own result", "In D the node has saved its own result, and keeps that without history. What "
                "detach_() does to your tensor does not reach it. The write does.",
                ["freed", "detached", "fine", "detached"],
                when=lambda words, truth: words[3] == "detached" and words[:3] == truth[:3]),
        Mistake("exp is safe", "exp saves its result, and D writes into that before backward.",
                ["freed", "detached", "fine", "fine"],
                when=lambda words, truth: words[3] == "fine" and words[:3] == truth[:3]),
        Mistake("detach is harmless", "In B the saved tensor is h itself. After detach_() it has no node any more, and "
                "backward notices.",
                ["freed", "fine", "fine", "version"], when=lambda words, truth: words[1] == "fine"),
    ),
    reveals=("The write is not even looked at", "although the version is wrong, too"),
)  # fmt: skip
