"""Exercise 09.3: A bug report: validation runs out of memory."""

import random
import weakref

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree, as_number, called


def check(answer, torch):
    """Count what is alive whenever the next batch begins, and look at the total and at .grad."""
    for preset in (None, random.uniform(1, 2)):
        w = torch.tensor([random.uniform(0.5, 1.5)], requires_grad=True)
        w.grad = None if preset is None else torch.tensor([preset])
        verdict = judged_epoch(answer, torch, w, [random.uniform(0.5, 2) for _ in range(random.choice((4, 6)))])
        if verdict is None and not agree(w.grad, None if preset is None else [preset]):
            verdict = almost("backward in validation")
        if verdict:
            return verdict
    return correct("Numbers add up, graphs do not: each batch's activations are gone before the next begins.")


def judged_epoch(answer, torch, w, batches):
    """The verdict about one run over the batches of 09.3, or None when it is right."""
    before = None if w.grad is None else w.grad.tolist()
    weight = w.item()
    truth = sum((weight * batch) ** 2 for batch in batches)
    activations, losses, most = [], [], [0, 0]

    def loss_of(batch):
        most[0] = max(most[0], _alive(activations))
        most[1] = max(most[1], _alive(losses))
        activation = w * batch
        loss = (activation * activation).sum()
        activations.append(weakref.ref(activation))
        if loss.grad_fn is not None:  # under no_grad a loss is one number, and holds nothing else alive
            losses.append(weakref.ref(loss))
        return loss

    total = answer(torch, loss_of, list(batches))
    if not agree(w.grad, before):
        return almost("backward in validation")
    if hasattr(total, "requires_grad"):
        return almost("returns the graph" if total.requires_grad else "returns a tensor")
    value = None if isinstance(total, str) else as_number(total)
    if value is None:
        return not_yet(f"A number is wanted, and this is {total!r}.")
    if agree(value, truth / len(batches)):
        return almost("average")
    if agree(value, (weight * batches[-1]) ** 2):
        return almost("last only")
    if not agree(value, truth):
        return not_yet(
            f"The losses of the {len(batches)} batches add up to {truth:.4f}, and you returned {value:.4f}."
        )
    if len(activations) != len(batches):
        return not_yet(f"There are {len(batches)} batches, and loss_of was called {len(activations)} times.")
    if most[1] > 1:
        return almost("keeps the losses")
    if most[0] > 1:
        return almost("adds attached losses")
    if most[0]:
        return almost("no_grad too late" if called(answer, "no_grad", "set_grad_enabled") else "the loss before")
    return None


def _alive(references):
    return sum(reference() is not None for reference in references)


EVAL = "def evaluate(torch, loss_of, batches):\n"

EXERCISE = Exercise(
    id="09.3", kind="diagnose", title="A bug report: validation runs out of memory", minutes=8, difficulty=2,
    puzzles=(16,),
    question="Return the total of `loss_of(batch)` over all batches as a Python number, with at most one batch's "
    "activations alive at a time (they are gone when the next forward begins), and leave every `.grad` alone.",
    name="evaluate",
    starter=EVAL
    + "    total = 0.0\n"
    + "    for batch in batches:\n"
    + "        total = total + loss_of(batch)\n"
    + "    return total.item()\n",
    hints=(
        "What is `total` after the second batch: a number, or a tensor with a history?",
        "Let only the number into the total: take it out of each loss as soon as you have it.",
    ),
    solution=EVAL + "    return sum(loss_of(batch).item() for batch in batches)\n",
    why="item() turns each loss into a number at once, and the batch's graph dies with the loss.",
    alternatives=(
        edit("return sum(loss_of(batch).item() ", "total = 0.0\n    ",
             "in batches)", "in batches:\n        total = total + loss_of(batch).detach()\n    return total.item()"),
        edit("return sum(", "with torch.no_grad():\n        losses = [",
             ").item(", "",
             "in batches)", "in batches]\n    return sum(loss.item() for loss in losses)"),
        edit("return sum(loss_of(batch).item() ", "with torch.no_grad():\n        total = torch.zeros(())\n        ",
             "in batches)", "in batches:\n            total += loss_of(batch)\n    return float(total)"),
        edit("return sum(loss_of(batch).item() ", "total = 0.0\n    ",
             "in batches)",
             "in batches:\n        loss = loss_of(batch)\n        total += loss.item()\n        del loss\n"
             "    return total"),
    ),
    mistakes=(
        Mistake("adds attached losses", "The activations of several earlier batches are still alive: something of "
                "yours, such as a total that is attached, leads to their graphs.",
                edit("return sum(loss_of(batch).item() ", "total = torch.zeros(())\n    ",
                     "in batches)",
                     "in batches:\n        total = total + loss_of(batch).clone()\n    return total.detach().item()")),
        Mistake("keeps the losses", "Several losses are alive at once, and each of them holds its batch's graph.",
                EVAL
                + "    losses = [loss_of(batch) for batch in batches]\n"
                + "    return sum(loss.item() for loss in losses)\n"),
        Mistake("backward in validation", "A `.grad` is another than before: a backward frees memory, but it leaves "
                "gradients behind, and the next training step would use them.",
                edit("return sum(loss_of(batch).item() ", "total = 0.0\n    ",
                     "in batches)",
                     "in batches:\n        loss = loss_of(batch)\n        loss.backward()\n"
                     "        total += loss.item()\n    return total")),
        Mistake("returns the graph", "What you return is attached: whoever logs it keeps the graphs of the whole "
                "epoch.", EVAL + "    return sum(loss_of(batch) for batch in batches)\n"),
        Mistake("returns a tensor", "It is cut off, but still a tensor; a Python number was asked for.",
                EVAL + "    return sum(loss_of(batch).detach() for batch in batches)\n"),
        Mistake("average", "That is the average; the total was asked for.",
                EVAL + "    return sum(loss_of(batch).item() for batch in batches) / len(batches)\n"),
        Mistake("last only", "Only the last batch's loss came back: it replaces the total in each turn.",
                edit("return sum(", "total = 0.0\n    for batch in batches:\n        total = ",
                     " for batch in batches)", "\n    return total")),
        Mistake("the loss before", "While a batch runs forward, the activations of the one before are still alive: a "
                "name holds its loss until the next one has been computed.",
                edit("return sum(loss_of(batch).item() ", "total = 0.0\n    ",
                     "in batches)",
                     "in batches:\n        loss = loss_of(batch)\n        total += loss.item()\n    return total")),
        Mistake("no_grad too late", "The sum of the losses is not recorded, but each loss is: it brings the graph "
                "that loss_of has built, and that is still there when the next batch runs forward.",
                edit("return sum(loss_of(batch).item() ", "total = 0.0\n    ",
                     "in batches)",
                     "in batches:\n        loss = loss_of(batch)\n        with torch.no_grad():\n"
                     "            total = total + loss\n    return total.item()")),
        Mistake("guard: left a setting", "", edit(":", ":\n    torch.set_grad_enabled(False)")),
        Mistake("guard: swallows errors", "A batch whose loss cannot be computed would be left out, and the total "
                "would be too small.",
                edit("return sum(", "total = 0.0\n    for batch in batches:\n        try:\n            total += ",
                     " for batch in batches)", "\n        except Exception:\n            pass\n    return total")),
        Mistake("guard: changed a container", "",
                edit("return sum(loss_of(batch).item() for batch in batches)",
                     "total = 0.0\n    while batches:\n        total += loss_of(batches.pop()).item()\n"
                     "    return total")),
    ),
    check=check,
)  # fmt: skip
