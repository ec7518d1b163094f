"""Exercise 07.p4: four relatives."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def truth(torch):
    """The names of those whose version moved with that of t."""
    t = torch.zeros(3)
    relatives = {"view": t[1:], "detached": t.detach(), "data": t.data, "clone": t.clone()}
    t.add_(1)
    return {name for name, tensor in relatives.items() if tensor._version == 1}


EXERCISE = Predict(
    id="07.p4", title="Four relatives", minutes=2, difficulty=2, puzzles=(2, 15),
    question="`view, detached, data, clone = t[1:], t.detach(), t.data, t.clone()`, and then `t.add_(1)`. Which of the "
    "four are at version 1?",
    hints=(
        "Which of the four look at the memory of t, and which has memory of its own?",
        "One of those that look at the memory of t has a counter of its own all the same.",
    ),
    solution='answer = ["view", "detached"]',
    why="The view and the detach() share memory and counter with t. `.data` shares the memory and begins a counter of "
    "its own, and the clone shares neither.",
    alternatives=('answer = {"view", "detached"}', 'answer = "view, detached"'),
    read=names_among("view", "detached", "data", "clone"), truth=truth,
    wanted='Give a list with some of the names "view", "detached", "data" and "clone"; it may be empty.',
    shown="you know who shares the counter, and not only the memory.",
    otherwise="For each of them: does it look at the memory of t, and does it share the counter too?",
    mistakes=(
        Mistake("the same memory", "All three do look at the memory of t. But `.data` has a counter of its own: it "
                "does not count what is written through t.", ["view", "detached", "data"]),
        Mistake("a copy as well", "A clone has memory of its own. t.add_(1) writes to nothing that the clone holds.",
                ["view", "detached", "data", "clone"], when=lambda names, _: "clone" in names),
        Mistake("only the named one", "t[1:] and t.detach() copy nothing: what t.add_(1) writes, they show as well. A "
                "write that they did not count would stay unnoticed.", []),
        Mistake("detached from the counter", "detach() leaves the history, and it keeps the memory and its counter.",
                ["view"], also=(["view", "data"],)),
        Mistake("a part is another tensor", "A view looks at a part of the memory of t. It shares the counter, even "
                "for a write to the other part.", ["detached"], also=(["detached", "data"],)),
        Mistake("the odd one", "`.data` looks at the memory of t, but it is the one that does not share the counter.",
                ["data"]),
    ),
    reveals=("stand in one frame with `t`", "`.data` is the odd one", "one memory, one counter, version 1"),
)  # fmt: skip
