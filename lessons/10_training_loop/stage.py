"""The picture of lesson 10: the lanes of a training loop, who reads and who writes."""

import copy

from backscope import draw
from backscope.pictures.chart import Figure, chart
from backscope.pictures.style import Page, as_image

Z, F, B, S = "optimizer. zero_grad()", "loss = mse(model(x), t)", "loss. backward()", "optimizer. step()"
C, R = "clip_grad_ norm_(…)", "scheduler. step()"
LANES = {  # lane -> {line of the loop: what it does there}
    "parameters": {F: "reads", B: "reads (some)", S: "reads, WRITES"},
    "the graph": {F: "WRITES (new)", B: "reads, FREES"},
    ".grad": {Z: "WRITES None", B: "WRITES (adds)", C: "reads, WRITES", S: "reads"},
    "buffers": {F: "reads, WRITES"},
    "state": {S: "reads, WRITES"},
    "rate": {S: "reads", R: "reads, WRITES"},
}
LETTERS = {"Z": Z, "B": B, "S": S}


class Lanes(Figure):
    """Lanes from left to right, one for each thing that is kept; a box where a line of the loop reads or writes it."""

    def __init__(self, lines, lanes, lit):
        self.lines, self.lanes, self.lit = lines, lanes, lit
        self.text = "\n".join(
            f"{lane:10}  "
            + " → ".join(f"{line.replace('. ', '.').replace('_ ', '_')} {LANES[lane][line]}"
                         for line in lines if line in LANES[lane])
            for lane in lanes
            if lit in (None, lane)
        )  # fmt: skip

    @property
    def html(self):
        """The picture, described by its text."""
        left, wide, high, top = 88, 104 if len(self.lines) > 4 else 140, 40, 54
        page = Page(left + wide * len(self.lines) + 8, top + high * len(self.lanes) + 8, "")
        for number, line in enumerate(self.lines):
            middle = left + wide * (number + 0.5)
            for row, part in enumerate(words_in_two(line)):
                page.text(middle, 22 + 15 * row, part, "strong")
        for row, lane in enumerate(self.lanes):
            y, lit = top + high * row, self.lit in (None, lane)
            page.rect("node" if lit else "done", 8, y, page.width - 16, high - 6)
            page.text(16, y + 21, lane, "strong", "ink" if lit else "ink2", "start")
            for number, line in enumerate(self.lines):
                does = LANES[lane].get(line)
                if does:
                    kind = ("tensor" if does.startswith("reads") and "," not in does else "run") if lit else "done"
                    page.rect(kind, left + wide * number + 4, y + 4, wide - 8, high - 14)
                    colour = {"run": "run_t", "tensor": "tensor_t", "done": "ink2"}[kind]
                    page.text(left + wide * (number + 0.5), y + 21, does, "strong", colour)
        return as_image(page.svg(), self.text.replace("\n", "; "))


def words_in_two(line):
    """A line of code as it stands above its column, in one row or two."""
    parts = line.split(" ", 1) if ". " in line or "_ " in line else line.split(" = ")
    return [parts[0] + " =", parts[1]] if " = " in line else parts


def lanes(order="ZBS", lit=None):
    """Draw who reads and who writes in one round, with the three lines in this order; lit: a single lane."""
    return Lanes([F, *(LETTERS[letter] for letter in order)], ["parameters", "the graph", ".grad"], lit)


def all_lanes():
    """The same for a whole loop: clipping, a scheduler, and what the model and the optimizer keep."""
    return Lanes([Z, F, B, C, S, R], list(LANES), None)


def losses(lines):
    """Lists of losses as lines over the rounds."""
    found = {name: dict(enumerate(values, 1)) for name, values in lines.items()}
    return chart({"the loss, round by round": found}, across="round", up="loss")


def at_the_end(model, state):
    """Draw the last weight of the model, the same in a kept state dictionary, and in a copy of it made now."""
    copied = copy.deepcopy(state)
    return draw(model[1].weight, state["1.weight"], copied["1.weight"], names=["the weight", "kept", "copied"])
