"""Exercise 15c.1: whose graph is it?"""

import re

from coursekit.judge.exercise import Mistake
from coursekit.records import records
from lessons.words import Words

PLAIN, ONCE, TWICE = "as it is", "autocast", "autocast, one layer twice"
COMPILED, FROZEN, BREAK, DDP = "compile", "compile, first layer frozen", "compile, with a break", "DDP"


def truth(_torch):
    """Read off the listings, which a test makes anew on real PyTorch."""
    parts = re.split(r"^([A-F])\n", records()["whose graph"], flags=re.MULTILINE)[1:]
    return {letter: whose(text) for letter, text in zip(parts[::2], parts[1::2], strict=True)}


def whose(listing):
    """Tell which of the choices leaves this listing."""
    compiled = [line for line in listing.splitlines() if line.startswith("CompiledFunctionBackward")]
    if compiled:
        frozen = compiled[0].count("None") > 1
        return BREAK if len(compiled) > 1 else FROZEN if frozen else COMPILED
    if "ToCopyBackward0" in listing:
        return TWICE if listing.count("-> a leaf") == 2 else ONCE
    return DDP if "_DDPSinkBackward" in listing else PLAIN


EXERCISE = Words(
    id="15c.1", kind="diagnose", title="Whose graph is it?", minutes=8, difficulty=2,
    question="Six listings of the network Linear(4, 4), Tanh, Linear(4, 4). What was put around it in each of them?",
    name="whose",
    hints=(
        "Count: how many compiled nodes are there, how many copies, and how many leaves do the arrows lead to?",
        "None on the right stands for what requires no gradient. In which place does the data stand, and what else "
        "could be None?",
    ),
    right={"A": ONCE, "B": FROZEN, "C": TWICE, "D": BREAK, "E": DDP, "F": COMPILED},
    why="Autocast leaves a copy for each parameter, once in a block; the compiler one node for each piece, with an "
    "arrow for each input; DDP at most one node of its own.",
    choices=(PLAIN, ONCE, TWICE, COMPILED, FROZEN, BREAK, DDP), truth=truth, ask="what was put around the network",
    shown="you can tell from a graph what was put around a model.",
    mistakes=(
        Mistake("how many copies", "Four copies in A: each of the four parameters of two layers has its own.",
                {"A": TWICE}),
        Mistake("a None too many", "In a network as usual only the data requires no gradient. In B three inputs do "
                "not.", {"B": COMPILED}),
        Mistake("cut, not broken", "A break leaves two compiled nodes. In B there is one.", {"B": BREAK}),
        Mistake("a copy for each use", "In C there are two products and only two copies. Whose copies can these be?",
                {"C": ONCE}),
        Mistake("one piece", "A compiled piece is one node. In D there are two of them.", {"D": (COMPILED, FROZEN)}),
        Mistake("a node in front", "In E the model's nodes are as usual, but one stands in front of them that no "
                "operation of the model has made.", {"E": PLAIN}),
        Mistake("nothing is frozen", "In F one input requires no gradient, and that is the data.", {"F": FROZEN}),
    ),
)  # fmt: skip
