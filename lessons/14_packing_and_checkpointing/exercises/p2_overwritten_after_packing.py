"""Exercise 14.p2: overwritten after packing."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import hooks_of
from lessons.shared import numbers_or_errors


def truth(torch):
    """x.grad without hooks, with an alias and with a copy."""
    found = []
    for pack in (None, lambda t: t.detach(), lambda t: t.clone()):
        x = torch.tensor([2.0], requires_grad=True)
        h = x * 1
        if pack is None:
            y = h**2
        else:
            with hooks_of(torch)(pack, lambda packed: packed):
                y = h**2
        h.mul_(10)
        try:
            y.sum().backward()
            found.append(x.grad.item())
        except RuntimeError:
            found.append("error")
    return found


EXERCISE = Predict(
    id="14.p2", title="Overwritten after packing", minutes=3, difficulty=2,
    question="`h` is 2 when `y = h ** 2` saves it, and is then multiplied by 10 in place. What is `x.grad` without "
    "hooks, with `pack = lambda t: t.detach()` and with `pack = lambda t: t.clone()`?",
    hints=(
        "What does each of the three hold: h itself, its memory, or numbers of its own?",
        "To compare a version, PyTorch must have noted it, and must know which tensor it belongs to. After packing, "
        "what does PyTorch know?",
    ),
    solution='answer = ["error", 40, 4]',
    why="Without hooks the version is compared. With hooks nothing is compared: the alias shows the 20, and 2 · 20 = "
    "40; the copy still has the 2.",
    alternatives=('answer = ("error", 40.0, 4.0)', 'answer = ["Raises", "40", "4"]'),
    read=numbers_or_errors(3), truth=truth, wanted='A list of three is wanted, such as [1, 2, "error"].',
    shown="with hooks no version is checked, so the pair must return the right numbers.",
    otherwise="Which memory does the node read in each of the three cases, and is a version compared?",
    mistakes=(
        Mistake("all checked", "For the copy an error would be absurd: its memory was never written to. And with the "
                "alias, what could PyTorch compare? It holds only what pack returned.",
                ["error", "error", "error"]),
        Mistake("alias checked", "It is true that detach() shares the version counter. But with hooks no version is "
                "noted, and none is compared.", ["error", "error", 4]),
        Mistake("nothing checked", "Without hooks the node has noted the version of h, and refuses.", [40, 40, 4]),
        Mistake("alias is a copy", "detach() copies nothing. It looks at the memory of h, and that holds 20 now.",
                ["error", 4, 4], also=([4, 4, 4],)),
        Mistake("copy is an alias", "clone() has memory of its own, and mul_ did not write there.",
                ["error", 40, 40], also=([40, 40, 40],)),
        Mistake("the slope of the write", "mul_(10) is recorded, but y does not depend on it: y was computed before.",
                ["error", 400, 40]),
        Mistake("swapped", "The other way round: which of the two has numbers of its own?", ["error", 4, 40]),
    ),
    reveals=("gradient 4 became 40", "there is no check at all", "has no version check"),
)  # fmt: skip
