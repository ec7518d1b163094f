"""Exercise 06.3: A part outside the loop."""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import flat, leaf, near, numbers


class Box:
    """The box that a saved tensor is packed into, to count how often a pass reads it."""

    def __init__(self, tensor):
        self.tensor, self.reads = tensor, 0


def run_counted(answer, torch, w, batches):
    """Call the answer. How often the most-read saved tensor was read (-1: none), how many nodes of exp, what reached w.

    A node of exp saves its result, and no other node has to save that: the batches need no gradient.
    """
    boxes, arrived = [], []

    def pack(tensor):
        boxes.append(Box(tensor.detach()))  # a result itself would hold its node, which holds the box: a ring
        return boxes[-1]

    def unpack(box):
        box.reads += 1
        return box.tensor

    handle = w.register_hook(lambda grad: arrived.append(flat(grad)))
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        answer(torch, w, batches)
    handle.remove()
    result = [math.exp(value) for value in flat(w)]
    computed = sum(tuple(box.tensor.shape) == tuple(w.shape) and near(flat(box.tensor), result) for box in boxes)
    return max((box.reads for box in boxes), default=-1), computed, arrived


def added(lists):
    """The sum of lists of numbers, element by element."""
    return [sum(column) for column in zip(*lists, strict=True)]


def check(answer, torch):
    most, more = -1, 0
    for shape, count in (((3,), 4), ((2, 3), 1), ((), 2), ((2, 1), 5)):  # counts that are no number of elements
        size = math.prod(shape)
        values, plain = numbers(size, -1.0, 1.0), [numbers(size, -2.0, 2.0) for _ in range(count)]
        w = torch.tensor(values).reshape(shape).requires_grad_()
        batches = [torch.tensor(batch).reshape(shape) for batch in plain]
        wanted = [[math.exp(v) * b for v, b in zip(values, batch, strict=True)] for batch in plain]
        try:
            reads, computed, arrived = run_counted(answer, torch, w, list(batches))
        except RuntimeError as error:
            if "a second time" in str(error):
                return almost("still shared" if one_batch_runs(answer, torch) else "twice through one batch")
            if "does not require grad" in str(error):
                return almost("cut")
            raise
        if w.grad is None:
            return almost("not stored" if arrived else "another leaf")
        if not near(flat(w), values):
            return not_yet("w has other values afterwards. Only its gradient is asked for.")
        found = flat(w.grad)
        if not near(found, added(wanted)):
            return wrong_sum(found, wanted, arrived, shape)
        if not arrived or not near(added(arrived), found):
            return almost("no pass")
        if w.grad.requires_grad:
            return almost("a gradient with a history")
        most, more = max(most, reads), max(more, computed)
    if most > 1:
        return almost("retain")
    if more > 1:
        return correct("every saved tensor was read by one pass, so each pass could let go of what it used. The price "
                       "is one w.exp() for each batch. If that were expensive: what has to be added up before "
                       "anything runs through it, so that once is enough?")
    return correct("w.exp() was computed once, and every saved tensor was read by one pass, so nothing was retained.")


def one_batch_runs(answer, torch):
    """Does the answer run through when there is only one batch?"""
    try:
        answer(torch, leaf(torch, numbers(2)), [torch.tensor(numbers(2))])
    except RuntimeError:
        return False
    return True


def wrong_sum(found, wanted, arrived, shape):
    """Say why w.grad is not the sum, from what each pass brought to w."""
    count, size = len(wanted), math.prod(shape)
    if len(arrived) == 1 and count > 1:
        for name, batch in (("last only", wanted[-1]), ("first only", wanted[0])):
            if near(arrived[0], batch):
                return almost(name)
    if len(arrived) > 1 and near(added(arrived), added(wanted)):
        return almost("thrown away")
    for name, factor in (("averaged", count), ("mean for sum", size)):
        if near([number * factor for number in found], added(wanted)):
            return almost(name)
    return not_yet(f"w.grad is not the sum of the batches' gradients, for {count} batches of shape {list(shape)}.")


STARTER_3 = """\
def collect(torch, w, batches):
    scale = w.exp()
    for batch in batches:
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad"""

ANEW = """\
def collect(torch, w, batches):
    for batch in batches:
        scale = w.exp()
        loss = (scale * batch).sum()
        loss.backward()
    return w.grad
"""

EXERCISE = Exercise(
    id="06.3", kind="repair", title="A part outside the loop", minutes=8, difficulty=2, puzzles=(6, 8),
    question="Repair the loop so that w.grad holds the sum over all batches and no saved tensor is read by two passes; "
    "if you can, with w.exp() computed once.",
    name="collect", starter=STARTER_3,
    hints=(
        "Which node is run by every pass, and which tensor does it lose in the first?",
        "Either every step gets a node of exp of its own, or this node runs once. Then what must be known before?",
    ),
    solution="""\
def collect(torch, w, batches):
    scale = w.exp()
    total = 0
    for batch in batches:
        total = total + (scale * batch).sum()
    total.backward()
    return w.grad
""",
    why="All losses stand on one node of exp, and a single pass over their sum runs it once. The price is that the "
    "nodes of all batches are held until then. (If that is too much, cut after exp: let each batch leave its gradient "
    "in a leaf `scale.detach().requires_grad_()`, and send the sum through exp at the end. Lesson 09 has such cuts.)",
    alternatives=(
        ANEW,
        edit("    total = 0\n", "    losses = []\n", "total = total + (scale * batch).sum()",
             "losses.append((scale * batch).sum())", "total.backward", "sum(losses).backward"),
        edit("total = 0", "edge = scale.detach().requires_grad_()", "total = total + (scale * batch).sum()",
             "(edge * batch).sum().backward()", "total.backward()", "scale.backward(edge.grad)"),
        "def collect(torch, w, batches):\n    (w.exp() * sum(batches)).sum().backward()\n    return w.grad\n",
        "def collect(torch, w, batches):\n    w.exp().backward(sum(batches))\n    return w.grad\n",
        edit("total.backward()", "(w.grad,) = torch.autograd.grad(total, w)"),
        "def collect(torch, w, batches):\n    (w.exp() * torch.stack(batches)).sum().backward()\n    return w.grad\n",
    ),
    mistakes=(
        Mistake("retain", "The numbers are right, but one saved tensor was read by several passes, so it had to be "
                "saved until the last of them. With retain_graph=True nothing is let go.",
                STARTER_3.replace("()\n    return", "(retain_graph=True)\n    return")),
        Mistake("still shared", "It still raises in the second step: all steps stand on one exp node, and that one "
                "has been run and emptied. A copy of its result, or a new product of it, is not a new exp.",
                STARTER_3.replace("scale * batch", "scale.clone() * batch")),
        Mistake("twice through one batch", "It raises with a single batch already: two passes run over one and the "
                "same loss.",
                "def collect(torch, w, batches):\n    for batch in batches:\n        loss = (w.exp() * batch).sum()\n"
                "        loss.backward()\n        loss.backward()\n    return w.grad\n"),
        Mistake("cut", "Nothing is missing any more, because nothing leads to w any more: the loss has no way back. "
                "The error about a second pass is gone, and so is the gradient.",
                STARTER_3.replace("w.exp()", "w.exp().detach()")),
        Mistake("no pass", "The numbers are right, but no backward pass has brought them to w: you differentiated "
                "the formula yourself. Let backward passes find the gradient.",
                "def collect(torch, w, batches):\n    w.grad = (w.exp() * sum(batches)).detach()\n    return w.grad\n"),
        Mistake("guard: changed a container", "",
                "def collect(torch, w, batches):\n    while batches:\n"
                "        (w.exp() * batches.pop()).sum().backward()\n    return w.grad\n"),
        Mistake("guard: wrote into an argument", "The next epoch would read other data.",
                "def collect(torch, w, batches):\n    total = batches[0]\n    for batch in batches[1:]:\n"
                "        total += batch\n    (w.exp() * total).sum().backward()\n    return w.grad\n"),
        Mistake("not stored", "Passes have reached w, but w.grad is None. autograd.grad returns gradients and stores "
                "them nowhere.",
                "def collect(torch, w, batches):\n"
                "    return sum(torch.autograd.grad((w.exp() * batch).sum(), w)[0] for batch in batches)\n"),
        Mistake("another leaf", "w.grad is still None: no backward pass has reached w. If one ran, it ended in "
                "another tensor.",
                STARTER_3.replace("    scale", "    w = w.detach().requires_grad_()\n    scale")
                    .replace("    scale = w.exp()\n", "").replace("scale *", "w.exp() *")),
        Mistake("last only", "Only one pass has reached w, and it came from the last batch. If backward is called "
                "after the loop, `loss` is the last loss by then, and nothing else.",
                STARTER_3.replace("        loss.backward()", "    loss.backward()")),
        Mistake("thrown away", "Every batch's gradient has reached w, but w.grad does not hold all of them. Passes "
                "add into .grad by themselves; something in your code clears or replaces it in between.",
                ANEW.replace("scale =", "w.grad = None\n        scale =")),
        Mistake("a gradient with a history", "The numbers are right, but w.grad has a history of its own: with "
                "create_graph=True the passes were recorded, and w.grad holds their graph.",
                "def collect(torch, w, batches):\n    losses = [(w.exp() * batch).sum() for batch in batches]\n"
                "    w.grad = torch.autograd.grad(sum(losses), w, create_graph=True)[0]\n    return w.grad\n"),
        Mistake("averaged", "w.grad is the sum divided by the number of batches. The sum was asked for.",
                edit("total.backward", "(total / len(batches)).backward")),
        Mistake("mean for sum", "w.grad is the sum divided by the number of elements of w: the loss of a batch is a "
                "sum over its elements, not a mean.",
                "def collect(torch, w, batches):\n    for batch in batches:\n"
                "        (w.exp() * batch).mean().backward()\n    return w.grad\n"),
        Mistake("first only", "Only one pass has reached w, and it came from the first batch. Nothing of the other "
                "batches arrived.",
                STARTER_3.replace("loss.backward()", "try:\n            loss.backward()\n"
                                  "        except RuntimeError:\n            break")),
        Mistake("guard: swallows errors", "If a pass asks for what an earlier one has freed, there is no error.",
                edit("total.backward()", "try:\n        total.backward()\n    except RuntimeError:\n        pass")),
    ),
    may_change=("w.grad",),
    check=check,
)  # fmt: skip
