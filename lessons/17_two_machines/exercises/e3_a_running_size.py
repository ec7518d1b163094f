"""Exercise 17.3: a running size."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import flat, near, numbers

WRITES = (None, "counted", "hidden")


def sizes(start, xs, sent):
    """The running size in both forwards: a number is sent into it in between, or not."""
    first = 0.9 * start + 0.1 * sum(map(abs, xs[0])) / len(xs[0])
    return first, 0.9 * (first if sent is None else sent) + 0.1 * sum(map(abs, xs[1])) / len(xs[1])


def check(answer, torch):
    """Two forwards and one backward, with no broadcast in between, a counted one and a hidden one."""
    for write in WRITES:
        xs = [numbers(count, -4, -1) + numbers(1, 2, 8) for count in (1, 3)]
        start, sent = random.uniform(1, 3), random.uniform(10, 20) if write else None
        verdict = judged(answer, torch, xs, start, sent, write)
        if verdict:
            return verdict
    return correct("each forward has a size of its own, and the buffer is free for everybody who writes into it.")


def judged(answer, torch, xs, start, sent, write):
    module = answer()
    if "size" not in dict(module.named_buffers()):
        return almost("no buffer")
    with torch.no_grad():
        module.size.fill_(start)
    first, second = sizes(start, xs, sent)
    inputs = [torch.tensor(x, requires_grad=True) for x in xs]
    results = [module(inputs[0])]
    after = flat(module.size)
    if write:
        with torch.no_grad():
            (module.size if write == "counted" else module.size.data).copy_(torch.tensor([sent]))
    results.append(module(inputs[1]))
    if near(flat(results[0]), [x / start for x in xs[0]]):
        return almost("the size before")
    if not near(flat(results[0]), [x / first for x in xs[0]], 1e-4):
        return not_yet(f"With {start:.2f} in the buffer and the inputs {[round(x, 2) for x in xs[0]]} the results "
                       f"should be {[round(x / first, 2) for x in xs[0]]}.")  # fmt: skip
    if near(after, [start]):
        return almost("the buffer rests")
    if write and near(flat(results[1]), [x / sizes(start, xs, None)[1] for x in xs[1]], 1e-4):
        return almost("deaf to the broadcast")
    if not near(flat(results[1]), [x / second for x in xs[1]], 1e-4) or not near(flat(module.size), [second], 1e-4):
        return not_yet("After the second forward result or buffer is not what the running mean gives, from the number "
                       "that was in the buffer.")  # fmt: skip
    if "size" not in dict(module.named_buffers()):
        return almost("no buffer")
    try:
        (results[0].sum() + results[1].sum()).backward()
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return almost("still raises" if write == "counted" else "raises on one machine")
    if module.w.grad is None:
        return not_yet("The weight has no gradient after backward.")
    right = sum(xs[0]) / first + sum(xs[1]) / second
    slopes = all(near(flat(x.grad), [1 / size] * len(x), 1e-4) for x, size in zip(inputs, (first, second), strict=True))
    if not near(flat(module.w.grad), [right], 1e-4):
        return almost("silently wrong")
    return None if slopes else almost("a gradient through the size")


STARTER = """\
class RunningSize(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("size", torch.ones(1))

    def forward(self, x):
        with torch.no_grad():
            self.size.mul_(0.9).add_(0.1 * x.abs().mean())
        return self.w * x / self.size
"""
SOLVED = STARTER.replace("/ self.size", "/ self.size.clone()")
UPDATE = "            self.size.mul_(0.9).add_(0.1 * x.abs().mean())\n"

EXERCISE = Exercise(
    id="17.3", kind="repair", title="A running size", minutes=6, difficulty=2, puzzles=(22,),
    question="The module divides by a running mean, kept in a buffer. Repair it for two forwards before one backward, "
    "with a broadcast into the buffer in between, counted or not. A forward begins with the number that is in the "
    "buffer, and no gradient runs through the size.",
    name="RunningSize", starter=STARTER,
    hints=(
        "What does the division save, and who writes into that memory: only the broadcast?",
        "The buffer has to be written to. So what the division reads must be something else.",
    ),
    solution=SOLVED,
    why="The clone belongs to one forward. The next forward and the broadcast write into the buffer, which no "
    "node holds.",
    alternatives=(
        STARTER.replace(UPDATE, "            size = 0.9 * self.size + 0.1 * x.abs().mean()\n"
                        "            self.size.copy_(size)\n").replace("/ self.size", "/ size"),
        STARTER.replace(UPDATE, UPDATE + "            size = self.size + 0\n").replace("x / self.size", "x / size"),
    ),
    mistakes=(
        Mistake("raises on one machine", "It raises without any broadcast: the second forward writes into the tensor "
                "by which the first one has divided.", edit("self.size.clone()", "self.size.detach()")),
        Mistake("still raises", "On one machine all is well. After a broadcast it raises: the division still reads a "
                "tensor into whose memory the broadcast writes.",
                STARTER.replace(UPDATE, "            self.size = 0.9 * self.size + 0.1 * x.abs().mean()\n")),
        Mistake("silently wrong", "No error, and the gradient of w is wrong: backward reads a size that has been "
                "overwritten, and no counter says so.", edit("self.size.clone()", "self.size.data")),
        Mistake("the size before", "The first forward divides by the size from before its update.",
                STARTER.replace("        with torch", "        size = self.size.clone()\n        with torch")
                .replace("x / self.size", "x / size")),
        Mistake("the buffer rests", "The results of the first forward are right, and the buffer is what it was: its "
                "running mean never moves.",
                STARTER.replace(UPDATE, "            size = 0.9 * self.size + 0.1 * x.abs().mean()\n")
                .replace("x / self.size", "x / size")),
        Mistake("deaf to the broadcast", "What arrives in the buffer is not used: the second forward goes on from a "
                "number of its own.",
                STARTER.replace("torch.ones(1))\n\n", "torch.ones(1))\n        self.mine = None\n\n")
                .replace(UPDATE, "            mine = self.size if self.mine is None else self.mine\n"
                         "            self.mine = 0.9 * mine + 0.1 * x.abs().mean()\n"
                         "            self.size.copy_(self.mine)\n").replace("x / self.size", "x / self.mine")),
        Mistake("a gradient through the size", "The gradient of w is right. That of x is not: the size was computed "
                "from x with recording on.",
                STARTER.replace("        with torch.no_grad():\n" + UPDATE,
                                "        size = 0.9 * self.size.clone() + 0.1 * x.abs().mean()\n"
                                "        with torch.no_grad():\n            self.size.copy_(size)\n")
                .replace("x / self.size", "x / size")),
        Mistake("no buffer", "`size` is no buffer any more: it is not saved with the model, and no broadcast reaches "
                "it.", edit('self.register_buffer("size", torch.ones(1))', "self.size = torch.ones(1)")),
    ),
    check=check,
)  # fmt: skip
