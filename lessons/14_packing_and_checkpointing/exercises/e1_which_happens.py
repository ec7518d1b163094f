"""Exercise 14.1: which happens?"""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.checkpoints import checkpoint_of, hooks_of, quiet
from lessons.shared import flat, leaf, near

PROGRAMS = {
    "A": ("h = x * 1", "with hooks(lambda t: t.clone(), lambda p: p): y = h.sin()", "h.mul_(3)"),
    "B": ("h = x * 1", "with hooks(lambda t: t.detach(), lambda p: p): y = h.sin()", "h.mul_(3)"),
    "C": ("with hooks(lambda t: None, lambda p: x.detach()): y = x.sin()",),
    "D": ("with hooks(lambda t: t.tolist(), lambda p: p): y = x.sin()",),
    "E": ("with hooks(lambda t: t.mul_(2), lambda p: p / 2): y = (x * 1).sin()",),
    "F": ("h = x * 1", "y = checkpoint(torch.sin, h, use_reentrant=False)", "h.mul_(3)"),
    "G": ("k = torch.ones(2)", "y = checkpoint(lambda a: (a * k).sin(), x, use_reentrant=False)", "k.mul_(3)"),
    "H": ("y = checkpoint(torch.sin, x.detach(), use_reentrant=True)",),
}


def what_happens(program, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    values = [0.5, 1.0]
    x = leaf(torch, values)
    space = {"torch": torch, "x": x, "hooks": hooks_of(torch), "checkpoint": checkpoint_of(torch)}
    wanted = [math.cos(v) for v in values]
    with quiet():
        return happens(
            (*program, "y.sum().backward()"), space, lambda space: near(flat(x.grad), wanted), (RuntimeError, TypeError)
        )


EXERCISE = WhichHappens(
    id="14.1", title="Which happens?", minutes=8, difficulty=2, puzzles=(24,),
    question="In every program y is the sine of x, and then comes `y.sum().backward()`: fine, raises now, raises at "
    "backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{'; '.join(program)}`" for letter, program in PROGRAMS.items()),
    hints=(
        "For each program: what does the node of sin hold at the end of forward? What will be read in backward, and "
        "which numbers are in it by then?",
        "Three things raise in this lesson: a pack that writes, an unpack that returns no tensor, and an argument of "
        "a checkpoint that was overwritten. A fourth one is old: a loss without a history.",
    ),
    why="A holds a copy, B an alias that is overwritten. C holds nothing, and unpack has the right numbers. D returns "
    "a list, E writes. F overwrites an argument, which is checked; G something that the function finds outside, which "
    "is not. H has no argument that requires a gradient, so there is no node.",
    right={"A": "fine", "B": "silently wrong", "C": "fine", "D": "raises at backward", "E": "raises now",
           "F": "raises at backward", "G": "silently wrong", "H": "raises at backward"},
    measure=lambda torch, letter: what_happens(PROGRAMS[letter], torch),
    shown="you can say what a slot or a checkpoint reads in backward, and what is checked.",
    mistakes=(
        Mistake("no copy", "A: h was overwritten, but the node holds a copy of its own, made before.",
                {"A": ("silently wrong", "raises at backward")}),
        Mistake("still checked", "B: the alias shares the counter with h. But with hooks no version is compared.",
                {"B": "raises at backward"}),
        Mistake("alias", "B: detach() copies nothing. The node reads what h holds in backward.", {"B": "fine"}),
        Mistake("nothing held", "C: it is true that the node holds None. But the formula reads what unpack returns, "
                "and these are the numbers that sin was given.", {"C": ("raises at backward", "silently wrong")}),
        Mistake("a list will do", "D: unpack must return a tensor, and a list is not one.",
                {"D": ("fine", "silently wrong")}),
        Mistake("pack is free", "D: what pack returns may be anything. The error comes when it is read.",
                {"D": "raises now"}),
        Mistake("undone again", "E: pack is given the tensor with which your program goes on. Writing into it is "
                "refused at once, even if unpack would undo "
                "it.", {"E": ("fine", "silently wrong", "raises at backward")}),
        Mistake("not looked at", "F: h is an argument of the checkpoint, so it is put aside like a saved tensor, with "
                "its version.", {"F": ("silently wrong", "fine")}),
        Mistake("looked at", "G: k is no argument. The second run finds it outside, with other numbers in it, and "
                "nothing is compared.", {"G": "raises at backward"}),
        Mistake("old numbers", "G: nothing remembers what k was. The second run reads it anew.", {"G": "fine"}),
        Mistake("somebody will start it", "H: no tensor among the arguments requires a gradient. So there is no node, "
                "and y has no history.", {"H": ("fine", "silently wrong")}),
        Mistake("forward refuses", "H: forward warns, and raises no error. The error comes from backward(), which "
                "finds no history.", {"H": "raises now"}),
    ),
)  # fmt: skip
