"""Exercise 05.2: repair the micro-batches."""

import random
import weakref

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree


def check(answer, torch):
    """Compare with the whole batch's gradient, count arrivals at w, and see when each graph was built."""
    for number, empty in ((3, False), (2, False), (4, True), (1, False)):
        sizes = random.sample([2, 3, 5, 7], number)
        parts = [_pair(torch, size) for size in sizes]
        start, before = random.uniform(-1, 1), 0.0 if empty else random.uniform(-2, 2)
        count = sum(sizes)
        terms = [[2 * (a * start - b) * a for a, b in zip(x.tolist(), y.tolist(), strict=True)] for x, y in parts]
        w = torch.tensor(start, requires_grad=True)
        w.grad = None if empty else torch.tensor(before)
        arrivals, begun, at_once, held, late = [], set(), [], weakref.WeakSet(), []

        def note(tensor, begun=begun, held=held, late=late):
            """Parts differ in size, so the size of a saved tensor tells whose graph has been begun."""
            size = tensor.numel()
            begun.add(size)
            late.extend(other for other in held if 1 != other.tensor.numel() != size != 1)
            kept = Held(tensor)
            held.add(kept)
            return kept

        def arrived(grad, arrivals=arrivals, begun=begun, at_once=at_once):
            arrivals.append(grad.item())
            at_once.append(len(begun - {1}) - len(arrivals) + 1)

        w.register_hook(arrived)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda kept: kept.tensor):
            answer(torch, w, [(x.clone(), y.clone()) for x, y in parts])
        if w.grad is None:
            return not_yet("Afterwards w.grad is None.")
        if w.item() != torch.tensor(start).item():
            return not_yet("w itself has changed. Only its gradient is asked for; stepping is somebody else's work.")
        got, truth = w.grad.item(), before + sum(map(sum, terms)) / count
        if agree(got, truth) and len(arrivals) == len(parts):
            if max(at_once) > 1:
                return almost("all built first")
            if late:
                return almost("retained")
            continue
        if not arrivals:
            if agree(got, truth):
                return almost("by hand")
            return not_yet("Nothing arrived at w: is there a backward for each part?")
        if agree(got, truth) and len(arrivals) > len(parts):
            return almost("more than one for a part")
        if agree(got, truth) and len(arrivals) > 1:
            return not_yet(f"The number is right, but for {len(parts)} parts there were {len(arrivals)} passes.")
        if name := name_of_gradient(got, truth, before, terms):
            return almost(name)
        return not_yet(f"With parts of sizes {sizes}, w.grad is {got:.4f}, and the full batch gives {truth:.4f}.")
    return correct("Every sample weighs the same, whatever part it was in, and what a part kept was gone by the next.")


def name_of_gradient(got, truth, before, terms):
    """The mistake that leaves `got` in w.grad, or None; before: what was there; terms: the slopes, part by part."""
    means, sums, count = [sum(term) / len(term) for term in terms], sum(map(sum, terms)), sum(map(len, terms))
    named = (
        (truth, "one big graph"),
        (before + sum(means) / len(means), "mean of means"),
        (before + sum(means), "sum of means"),
        (before + sums, "never divided"),
        (truth - before, "erased what was there"),
        (sum(terms[-1]) / count, "last part only"),
        ((before + sums) / count, "divides what was there"),
        ((before + sum(means)) / len(means), "divides at the end"),
        (before + sum(means) / count, "divided twice"),
        (before + sums / len(terms), "parts counted for samples"),
        (before + sums / (len(terms[0]) * len(terms)), "the first part's size"),
        (before + sum(terms[-1]) / count, "one backward, after the loop"),
    )
    return next((name for value, name in named if agree(got, value)), None)


class Held:
    """A saved tensor, in a box that can be watched."""

    def __init__(self, tensor):
        self.tensor = tensor


def _pair(torch, size):
    """Random inputs and targets of one micro-batch."""
    return tuple(torch.tensor([random.uniform(-2, 2) for _ in range(size)]) for _ in range(2))


ACC = "def accumulate(torch, w, parts):\n"

EXERCISE = Exercise(
    id="05.2", kind="repair", title="Repair the micro-batches", minutes=8, difficulty=2, puzzles=(14,),
    question="Afterwards `w.grad` must have gained the gradient of the mean squared error over all samples of all "
    "parts; each part gets a backward of its own.",
    name="accumulate",
    starter=ACC
    + "    for x, y in parts:\n"
    + "        loss = ((x * w - y) ** 2).mean()\n"
    + "        (loss / len(parts)).backward()\n",
    hints=(
        "What does one sample weigh in the mean over everything? And in your loop?",
        "Count all samples before the loop. A sum over a part, divided by that count, has the right weights.",
    ),
    solution=ACC
    + "    count = sum(len(x) for x, y in parts)\n"
    + "    for x, y in parts:\n"
    + "        loss = ((x * w - y) ** 2).sum()\n"
    + "        (loss / count).backward()\n",
    why="Each squared error is divided by the number of all samples, so the sum over parts is the mean.",
    alternatives=(
        edit("count = sum(len(x", "sizes = [x.numel(",
             ")\n    for x, y in parts:\n        loss = ",
             "]\n    for (x, y), n in zip(parts, sizes):\n        share = n / sum(sizes)\n        (",
             "* 2).sum()\n        (loss / count", " (x * w - y)).mean() * share"),
        edit("count = sum(len(x) for x, y in parts", "weight = 1 / sum(map(len, (x for x, _ in parts))",
             "loss = ((x * w - y) ** 2).sum()\n        (loss / count).backward(",
             "errors = x * w - y\n        (errors * errors).backward(torch.full_like(x, weight)"),
    ),
    mistakes=(
        Mistake("mean of means", "Still each part weighs the same; a part with more samples must weigh more.",
                edit("\n    count = sum(len(x) for x, y in parts)", "",
                     "sum()", "sum() / len(x)",
                     " count)", " len(parts))")),
        Mistake("sum of means", "You add the parts' means without dividing: the gradient grows with the number of "
                "parts.", ACC + "    for x, y in parts:\n" + "        ((x * w - y) ** 2).mean().backward()\n"),
        Mistake("the first part's size", "You take it that all parts are as long as the first. They are not: count "
                "the samples of each.",
                edit("sum(len(x) for x, y in ", "len(parts[0][0]) * len(", "loss = ", "(", "\n        (loss", "")),
        Mistake("one backward, after the loop", "backward() stands after the loop, so it runs once, for the loss of "
                "the last part.", edit("\n        (loss / count)", " / count\n    loss")),
        Mistake("guard: changed a container", "Go through the parts with `for`; taking them out of the list takes "
                "them from the caller.",
                edit("for x, y in parts:\n        loss = ", "while parts:\n        x, y = parts.pop()\n        (",
                     "\n        (loss", "")),
        Mistake("guard: wrote into an argument", "Only the gradient is asked for; stepping is somebody else's work.",
                edit("loss = ", "(",
                     "\n        (loss", "",
                     "backward()", "backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad")),
        Mistake("never divided", "The weights are equal now, but this is the gradient of the sum; the mean was asked "
                "for.", ACC + "    for x, y in parts:\n" + "        ((x * w - y) ** 2).sum().backward()\n"),
        Mistake("erased what was there", "What you add is right, but w.grad held something before, and that has been "
                "lost.", edit("):", "):\n    w.grad = None", "loss = ", "(", "\n        (loss", "")),
        Mistake("last part only", "Only the last part is left: clearing inside the loop throws the others away.",
                edit("loss = ", "w.grad = None\n        (", "\n        (loss", "")),
        Mistake("divides what was there", "Dividing w.grad at the end also divides what was in it before. Divide "
                "each loss.",
                ACC
                + "    for x, y in parts:\n"
                + "        ((x * w - y) ** 2).sum().backward()\n"
                + "    w.grad /= sum(len(x) for x, y in parts)\n"),
        Mistake("divides at the end", "Dividing w.grad at the end also divides what was in it before. And each part "
                "weighs the same then, whatever its size.",
                ACC
                + "    for x, y in parts:\n"
                + "        ((x * w - y) ** 2).mean().backward()\n"
                + "    w.grad /= len(parts)\n"),
        Mistake("divided twice", "`mean()` has divided by the size of the part; dividing by all samples comes on top "
                "of that.", edit("loss = ", "(", "sum()\n        (loss", "mean()")),
        Mistake("parts counted for samples", "You divide the sums by the number of parts. A sample weighs one over "
                "the number of all samples.",
                ACC + "    for x, y in parts:\n" + "        (((x * w - y) ** 2).sum() / len(parts)).backward()\n"),
        Mistake("retained", "The number is right, but a part's tensors are still kept when the next part begins: "
                "something, such as retain_graph=True, keeps the pass from freeing them.",
                edit("\n        (loss / count).backward(", " / count\n        loss.backward(retain_graph=True")),
        Mistake("all built first", "The number is right, but all losses are computed before the first backward: at "
                "that moment all the graphs are alive.",
                edit("for x, y in parts:\n        loss = ", "losses = [",
                     "\n        (loss / count)",
                     " / count for x, y in parts]\n    for loss in losses:\n        loss")),
        Mistake("by hand", "The number is right, but no backward pass brought it to w. A formula differentiated by "
                "hand is no help once a network stands in the place of x * w.",
                edit("loss = ((x * w - y) ** 2).sum()\n        (loss / count).backward()",
                     "w.grad += (2 * x * (x * w.detach() - y)).sum() / count")),
        Mistake("more than one for a part", "The number is right, but backward runs more often than there are parts. "
                "Each part was to have one, for all of its samples together.",
                edit("loss = ((x * w - y) ** 2).sum()\n        (loss",
                     "for a, b in zip(x, y):\n            ((a * w - b) ** 2")),
        Mistake("one big graph", "The number is right, but one backward over everything keeps all the parts' graphs "
                "alive at once.",
                edit("for x, y in parts:\n        loss = ", "total = sum(",
                     "\n        (loss", " for x, y in parts)\n    (total")),
    ),
    may_change=("w.grad",),
    check=check,
)  # fmt: skip
