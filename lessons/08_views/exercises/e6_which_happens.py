"""Exercise 08.6: which happens?"""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import flat, leaf, near

PROGRAMS = {
    "A": "y = x * 2; y[[1, 2]].mul_(10)",
    "B": "x[0] = 5.0; y = x * 2",
    "C": "y = x * 2; a, b, c = y; b.mul_(10)",
    "D": "h = x * 1; v = h[1:]; y = v * v; h[0] = 7.0",
    "E": "h = x * 1; v = h[1:]; y = v.exp(); h[0] = 7.0",
    "F": "y = x * 2; y.detach()[1:].mul_(10)",
    "G": "h = x * 2; v = h[1:]; h.mul_(10); y = v + 0",
    "H": "h = x * 2; a, b = h.split([1, 2]); h.mul_(10); y = b + 0",
    "I": "y = x.exp(); y[0] = 5.0",
    "J": "f = torch.nn.Linear(3, 3); f.register_full_backward_hook(print); y = f(x).relu_()",
}
SLOPES = {  # of the numbers that y holds, at x = [1, 2, 3]; only for programs that run through
    "A": [2.0, 2.0, 2.0],
    "E": [0.0, math.exp(2), math.exp(3)],
    "F": [2.0, 20.0, 20.0],
    "G": [0.0, 20.0, 20.0],
}


def what_happens(torch, letter):
    """Run a program, then backward, and say which of the four outcomes it has."""
    x = leaf(torch, [1.0, 2.0, 3.0])
    steps = PROGRAMS[letter], "y.sum().backward()"
    return happens(steps, {"torch": torch, "x": x}, lambda space: near(flat(x.grad), SLOPES.get(letter, [])))


EXERCISE = WhichHappens(
    id="08.6", title="Which happens?", minutes=9, difficulty=2, puzzles=(4, 15, 19),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    hints=(
        "First: may this be written to at all? Three programs write where no write is allowed, and a fourth one uses "
        "what may not be used any more.",
        "Then: had a node saved a tensor that lies in the memory that is written to? Any part of it counts.",
        "Last: was the write recorded? Something that is not a view, and lies in the same memory, is the trap.",
    ),
    why="In A a copy was written to, and y is as it was; G is an old view that catches up. E saved a result with "
    "memory of its own. B, C and J write to a view of a leaf, to one of several views, and to a view made by a custom "
    "Function; H uses one of several views after its base was written to. In D and I memory that a node saved is "
    "written to. In F the write is not recorded.",
    starter='happens = {"A": None, "B": None, "C": None, "D": None, "E": None}\n'
    'happens |= {"F": None, "G": None, "H": None, "I": None, "J": None}',
    right={"A": "fine", "B": "raises now", "C": "raises now", "D": "raises at backward", "E": "fine",
           "F": "silently wrong", "G": "fine", "H": "raises now", "I": "raises at backward", "J": "raises now"},
    measure=what_happens,
    shown="you can tell writes that are followed from writes that are refused, and both from one that lies.",
    mistakes=(
        Mistake("a lost write lies", "A: indexing with a list copies, so the write never reached y. It holds [2, 4, "
                "6], and [2, 2, 2] is the gradient of just these numbers: a lost write, but no false gradient.",
                {"A": "silently wrong"}),
        Mistake("every write hurts", "A: y[[1, 2]] is a copy that no node saved. There is nothing that backward could "
                "miss.", {"A": "raises at backward"}),
        Mistake("a list is refused", "A: indexing with a list gives a copy with memory of its own, and such a tensor "
                "may be written to.", {"A": "raises now"}),
        Mistake("only an element", "B: x[0] = 5.0 is a write through the view x[0] of the leaf x, with grad mode on. "
                "One element is enough.", {"B": ("fine", "silently wrong")}),
        Mistake("the leaf waits", "B: writes to leaves and to their views are refused on the spot, before anything "
                "is computed.", {"B": "raises at backward"}),
        Mistake("unpacking is indexing", "C: a, b, c = y asks y for its iterator, and that is unbind: three views "
                "from one call. b = y[1] would have been a view of its own.", {"C": "fine"}),
        Mistake("refused later", "C: right that it is refused, but it is refused by the write itself; backward is "
                "never reached.", {"C": "raises at backward"}),
        Mistake("another part", "D: the saved v does not contain h[0], true. But v and h have one counter between "
                "them, so v counts as changed.", {"D": ("fine", "silently wrong")}),
        Mistake("refused at once", "D and E: h is no leaf, and h[0] is a single view of it: this write is allowed, "
                "and recorded. Whether it does harm shows later.", {"D": "raises now", "E": "raises now"}),
        Mistake("a result goes stale", "E: what exp saved is its own result, and h[0] = 7.0 does not write into "
                "that. It is still the exp of what v was.", {"E": "silently wrong"}),
        Mistake("it passes unnoticed", "C and H: what may not be done with one of several views from one call does "
                "not pass in silence. It raises.", {"H": "silently wrong", "C": "silently wrong"}),
        Mistake("exp saves its input", "E: exp saves its result, and that has memory of its own. Nobody saved v.",
                {"E": "raises at backward"}),
        Mistake("detached writes are recorded", "F: what is done to a detach() is not recorded. y holds [2, "
                "40, 60], and the gradient is still that of [2, 4, 6].", {"F": "fine"}),
        Mistake("detached writes spoil", "F: a version error needs a node that saved y's memory. x * 2 saved only "
                "the 2.", {"F": "raises at backward"}),
        Mistake("detached writes are refused", "F: views of a detach() have no history to protect, so nothing is "
                "refused. That is the trouble with it.", {"F": "raises now"}),
        Mistake("old views are lost", "G: v is a single view from one call. When it is used after the write, it gets "
                "a new node on top of h's new history.", {"G": ("silently wrong", "raises at backward", "raises now")}),
        Mistake("split is slicing", "H: b is one of several views from one call. After a write to h it cannot catch "
                "up as a slice would.", {"H": "fine"}),
        Mistake("unusable later", "H: the very next use of b raises, because b + 0 asks b for its history. Backward "
                "is never reached.", {"H": "raises at backward"}),
        Mistake("replaced anyway", "I: y[0] gets no gradient any more, but exp saved the whole result, with one "
                "counter. Nobody looks which part was written to.", {"I": "fine"}),
        Mistake("nobody notices", "I: y's memory is what exp saved, and it was saved at version 0. That is looked at "
                "before it is used.", {"I": "silently wrong"}),
        Mistake("results are guarded", "I: y is no leaf, so the assignment itself is allowed. Saved memory is not "
                "guarded; it is compared when it is used.", {"I": "raises now"}),
        Mistake("a hook only looks", "J: to see gradients, the hook puts a custom Function after the layer, and "
                "what that hands out is a view. Writing to it is refused.", {"J": ("fine", "silently wrong")}),
        Mistake("relu waits", "J: relu's own saved result is fine. What is refused is the write itself, as soon as "
                "relu_ is called.", {"J": "raises at backward"}),
    ),
)  # fmt: skip
