"""Exercise 11b.7: which happens?"""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons import shared
from lessons.functions import function
from lessons.shared import flat

PROGRAMS = {
    "A": "h = x * 1; y = ExpInSlot.apply(h); h.mul_(10)",
    "B": "y = ExpInSlot.apply(x); y.mul_(2)",
    "C": "y = ExpOnCtx.apply(x); y.mul_(2)",
    "D": "h = x * 1; y = Cube.apply(h); h.detach().mul_(10)",
    "E": "y = Pair.apply(x)",
    "F": "h = x * 1; Triple.apply(h, False); y = h * 1",
    "G": "y = Triple.apply(x, True)",
    "H": "y = Times.apply(x, k)",
}
SLOPES = {  # of the formula that computed y
    "A": math.exp,
    "B": lambda v: 2 * math.exp(v),
    "C": lambda v: 2 * math.exp(v),
    "D": lambda v: 3 * v * v,
    "E": lambda v: 1.0,
    "F": lambda v: 3.0,
    "G": lambda v: 3.0,
    "H": lambda v: 5.0,
}


def programs_functions(torch):
    """The Functions that the programs of 11b.7 use."""

    def slot_forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    def ctx_forward(ctx, x):
        ctx.result = x.exp()
        return ctx.result

    def cube_forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def pair_forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 1

    def triple_forward(ctx, x, mark):
        x.mul_(3)
        if mark:
            ctx.mark_dirty(x)
        return x

    def times_forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k

    return {
        "ExpInSlot": function(torch, slot_forward, lambda ctx, g: g * ctx.saved_tensors[0], "ExpInSlot"),
        "ExpOnCtx": function(torch, ctx_forward, lambda ctx, g: g * ctx.result, "ExpOnCtx"),
        "Cube": function(torch, cube_forward, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, "Cube"),
        "Pair": function(torch, pair_forward, lambda ctx, g: g, "Pair"),
        "Triple": function(torch, triple_forward, lambda ctx, g: (3 * g, None), "Triple"),
        "Times": function(torch, times_forward, lambda ctx, g: g * ctx.saved_tensors[1], "Times"),
    }


def what_happens(program, slope, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    x, wanted = shared.leaf(torch, values), [slope(value) for value in values]
    space = {"torch": torch, "x": x, "k": shared.leaf(torch, [5.0, 5.0]), **programs_functions(torch)}
    steps = program, "y.sum().backward()"
    return happens(steps, space, lambda space: shared.near(flat(x.grad), wanted), (RuntimeError, TypeError))


EXERCISE = WhichHappens(
    id="11b.7", title="Which happens?", minutes=7, difficulty=2, puzzles=(1, 17),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    hints=(
        "A to D: what was kept, in a slot or on ctx, and was that memory written to afterwards?",
        "E to H: when can the engine know? When apply packs what you named, when forward has written into an input, "
        "or only when backward has returned?",
    ),
    why="Slots are checked when backward reads them (B, D), whatever name the write used. Attributes are not (C). A "
    "number in a slot and a write into a leaf are seen while apply runs (E, G); a missing gradient only when backward "
    "has returned (H); a missing mark never (F).",
    right={"A": "fine", "B": "raises at backward", "C": "silently wrong", "D": "raises at backward",
           "E": "raises now", "F": "silently wrong", "G": "raises now", "H": "raises at backward"},
    measure=lambda torch, letter: what_happens(PROGRAMS[letter], SLOPES[letter], torch),
    shown="you know what ctx guards, what it refuses at once, and where it must believe you.",
    mistakes=(
        Mistake("input for result", "A: ExpInSlot keeps its result. h is the input, and nobody needs it any more.",
                {"A": ("raises at backward", "silently wrong")}),
        Mistake("only inputs", "B: results are checked as well as inputs. y is the memory that the slot holds, and "
                "mul_ wrote into it.", {"B": ("fine", "silently wrong")}),
        Mistake("written, not read", "B: the write itself is allowed. The version is compared when the slot is read.",
                {"B": "raises now"}),
        Mistake("attribute checked", "C: the result is on ctx, not in a slot. There is no version to compare, so "
                "there is no error.", {"C": "raises at backward"}),
        Mistake("attribute harmless", "C: no error indeed, but ctx.result is y itself, and y is twice as large by "
                "now: the gradient is twice what it should be.", {"C": "fine"}),
        Mistake("detached", "D: detach() shares memory and counter with h, so the write is counted, and Cube's slot "
                "holds h.", {"D": ("silently wrong", "fine")}),
        Mistake("a number is kept", "E: save_for_backward takes tensors and None. A number belongs on ctx.",
                {"E": "fine"}),
        Mistake("a number waits", "E: it is refused earlier, when apply packs the slots after forward, in the line "
                "that calls apply.", {"E": "raises at backward"}),
        Mistake("unmarked is fine", "F: without the mark, h keeps its old history, in which nobody multiplied by 3: "
                "the gradient says 1.", {"F": "fine"}),
        Mistake("unmarked raises", "F: nothing raises. No slot holds h, and nobody told the engine that forward "
                "wrote into it.", {"F": ("raises at backward", "raises now")}),
        Mistake("a leaf", "G: x is a leaf that requires grad. A marked write into it is refused at once, as for "
                "x.mul_(3).", {"G": ("fine", "raises at backward", "silently wrong")}),
        Mistake("counted early", "H: before backward has run, nobody can know how many gradients it will return.",
                {"H": "raises now"}),
        Mistake("one is enough", "H: two arguments, one gradient: the engine will not guess which of the two it "
                "belongs to.", {"H": ("fine", "silently wrong")}),
    ),
)  # fmt: skip
