"""Exercise 08.2: walk the histories."""

import re

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import leaf, numbers

from .shared import counted

HISTORY = """\
y = x * 2
old = y[:2]
y[1:].mul_(10)
y.add_(1)
new = y[:2]
"""
END = ["CopySlices", "MulBackward0", "AccumulateGrad"]
WALKS = {
    "y": ["AddBackward0", *END],
    "old": ["AsStridedBackward0", "AddBackward0", *END],
    "new": ["SliceBackward0", "AddBackward0", *END],
}


def walk(tensor):
    """The short names of the nodes met along the first edges."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def node_names(nodes):
    """The names in a list of names, of "<AddBackward0 object at 0x…>", or of "A -> B -> C"."""
    text = " ".join(str(node) for node in nodes).replace("torch::autograd::", "")
    return [word for word in re.findall(r"\w+", text) if word not in ("object", "at") and not word.startswith("0x")]


def check(answer, torch):
    if not isinstance(answer, dict) or any(answer.get(name) is None for name in WALKS):
        return not_yet("Put a list of names in the place of each None; keep the three names.")
    if not all(isinstance(answer[name], (list, tuple)) for name in WALKS):
        return not_yet('Each answer is a list of names, such as ["AddBackward0", "AccumulateGrad"].')
    space = {"x": leaf(torch, numbers(3))}
    exec(HISTORY, space)
    truth = {name: walk(space[name]) for name in WALKS}
    given = {name: node_names(answer[name]) for name in WALKS}
    if given == truth:
        return correct("you can rewrite a history by hand, and you know which views were told.")
    if all(given[name] == truth[name][::-1] for name in WALKS):
        return almost("from the leaf")
    known = {name for nodes in truth.values() for name in nodes}
    for name in (name for nodes in given.values() for name in nodes):
        if name not in known and not re.fullmatch(r"[A-Z]\w*Backward0", name):
            return not_yet(f"There is no node called {name!r}: write the whole name, as type(node).__name__ gives it.")
    y, old, new = (given[name] for name in WALKS)
    right = sum(given[name] == truth[name] for name in WALKS)
    if y == truth["y"][::-1]:
        return almost("from the leaf")
    if any(given[name] == truth[name][:-1] for name in WALKS):
        return almost("no accumulator")
    if y != truth["y"]:
        look, named = "y's walk is not: each write to y put one node on top.", WRONG_WALKS["y"].get(tuple(y))
    elif old != truth["old"]:
        look = "y's walk is right. Which node stands on top of it when old is asked now?"
        named = WRONG_WALKS["old"].get(tuple(old))
    else:
        look, named = "Nothing was written after new was made.", WRONG_WALKS["new"].get(tuple(new))
    return counted(named, right, len(WALKS), look, EXERCISE)


WRONG_WALKS = {
    "y": {
        ("AddBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad"): "mul for CopySlices",
        ("AddBackward0", "MulBackward0", "AccumulateGrad"): "the base is not told",
        ("AddBackward0", "CopySlices", "AccumulateGrad"): "replaced",
        ("CopySlices", *END): "add_ in slices",
    },
    "old": {
        ("SliceBackward0", "MulBackward0", "AccumulateGrad"): "old is old",
        ("AsStridedBackward0", *END): "told once",
        ("SliceBackward0", "AddBackward0", *END): "same slice",
        ("AsStridedBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"): "past the write",
        ("AsStridedBackward0", "MulBackward0", "AccumulateGrad"): "past the write",
    },
    "new": {
        ("AsStridedBackward0", *WALKS["y"]): "every view",
        ("SliceBackward0", "MulBackward0", "AccumulateGrad"): "new stands on the old",
    },
}


def walks_but(**changed):
    return f"walks = {WALKS | changed!r}"


EXERCISE = Exercise(
    id="08.2", kind="edges", title="Walk the histories", minutes=5, difficulty=2,
    question=f"The names along next_functions[0], from y, old and new.\n\n```python\n{HISTORY}```",
    name="walks", starter='walks = {"y": None, "old": None, "new": None}',
    hints=(
        "Begin with y. It was written to twice: once through a view, once by itself. What does each put on top of the "
        "node that was there?",
        "old and new show the same part of the same memory. One was made before the writes, one after. Which of them "
        "has to catch up?",
    ),
    solution=f"walks = {WALKS!r}",
    why="The write through the slice puts CopySlices on the product, y.add_ puts an ordinary AddBackward0 on that. "
    "old was made before, so it is given AsStridedBackward0 on top of y as it is now; new was made after, and keeps "
    "the node it was made with.",
    alternatives=(
        f"walks = { {name: tuple(nodes) for name, nodes in WALKS.items()}!r}",
        f"walks = {WALKS!r}".replace("CopySlices", "torch::autograd::CopySlices"),
        f"walks = { {name: ' -> '.join(nodes) for name, nodes in WALKS.items()}!r}",
        f"walks = { {name: [f'<{node} object at 0x7f00>' for node in nodes] for name, nodes in WALKS.items()}!r}",
    ),
    mistakes=(
        Mistake("mul for CopySlices", "The multiplication reached only a part. Its node is packed inside CopySlices, "
                "which is what y's history shows.",
                walks_but(y=["AddBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("the base is not told", "y[1:].mul_(10) is missing from y's history. The gradient would be that of "
                "other numbers.", edit("['AddBackward0', 'CopySlices',", "['AddBackward0',")),
        Mistake("replaced", "CopySlices stands on y's old node, it does not replace it: the part that was not "
                "written to, and the old numbers of the part, came from there.",
                walks_but(y=["AddBackward0", "CopySlices", "AccumulateGrad"])),
        Mistake("add_ in slices", "y.add_(1) was called on the base itself. There is no part to be replaced, so an "
                "ordinary node is put on top.", edit("['AddBackward0',", "['CopySlices',")),
        Mistake("old is old", "That is old's history before the writes. The memory has moved on since, and when old "
                "is asked, it gets a new node.",
                edit("AsStridedBackward0', 'AddBackward0', 'CopySlices", "SliceBackward0")),
        Mistake("told once", "old is not told at the moment of the write, it catches up when it is asked. By then "
                "y.add_(1) has happened too.", edit("AsStridedBackward0', 'AddBackward0'", "AsStridedBackward0'")),
        Mistake("same slice", "The way down is right, the top is not: old's slicing node belonged to the old "
                "history. The one that replaces it has another name.", edit("AsStridedBackward0", "SliceBackward0")),
        Mistake("past the write", "old begins rightly, but the way down is not y's. Below its own node a view stands "
                "on its base as the base is now.",
                walks_but(old=["AsStridedBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("new stands on the old", "new was cut from y when both writes had been made, so it stands on what "
                "y's history was by then.", walks_but(new=["SliceBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("every view", "new was made after the last write, so it has nothing to catch up with, and keeps the "
                "node of its slicing.", edit("SliceBackward0", "AsStridedBackward0")),
        Mistake("from the leaf", "All there, in the other direction. grad_fn is where backward begins, so begin at "
                "the tensor and end at the leaf.",
                f"walks = { {name: nodes[::-1] for name, nodes in WALKS.items()}!r}"),
        Mistake("no accumulator", "A walk ends too early: below the last operation there is one more node, which "
                "stores the gradient in the leaf.",
                f"walks = { {name: nodes[:-1] for name, nodes in WALKS.items()}!r}"),
    ),
    check=check,
)  # fmt: skip
