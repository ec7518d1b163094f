"""Exercise 09b.3: two players."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree


def check(answer, torch):
    """Play some rounds and compare both players with the same moves done by hand."""
    for shape, dtype in (((), torch.float32), ((1,), torch.float64)):
        z, real, lr = random.uniform(0.5, 2), random.uniform(3, 4), random.uniform(0.05, 0.2)
        g, d = (torch.full(shape, random.uniform(0.5, 2), dtype=dtype).requires_grad_() for _ in "gd")
        for turn in range(3):
            verdict = judged_turn(answer, torch, g, d, z, real, lr, turn)
            if verdict:
                return verdict
    return correct(
        "Each loss moves its own player: g is scored again by the new d, and nothing is left over in .grad."
    )


def judged_turn(answer, torch, g, d, z, real, lr, turn):
    """The verdict about one call of `play`, or None when both players have moved as they should."""
    if not (g.requires_grad and d.requires_grad):
        return almost("a player frozen")
    at_g, at_d = g.item(), d.item()
    left_g, left_d = (0.0 if player.grad is None else player.grad.item() for player in (g, d))
    versions, to_g, to_d = (g._version, d._version), [], []
    hooks = [player.register_hook(arrived.append) for player, arrived in ((g, to_g), (d, to_d))]
    try:
        answer(torch, g, d, torch.full(g.shape, z, dtype=g.dtype), torch.full(g.shape, real, dtype=g.dtype), lr)
    except TypeError as error:
        if "NoneType" not in str(error):
            raise
        return no_gradient(to_g, to_d)
    except RuntimeError as error:
        return refused_pass(error, d._version != versions[1])
    finally:
        for hook in hooks:
            hook.remove()
    of_d = at_g * z - real  # the gradient of d's own loss
    want_d = at_d - lr * of_d
    want_g = at_g + lr * want_d * z
    got_g, got_d = g.item(), d.item()
    if agree(got_g, want_g) and agree(got_d, want_d):
        return almost("uncounted write") if d._version == versions[1] or g._version == versions[0] else None
    first, right_d = turn == 0, agree(got_d, want_d)
    if first and right_d and agree(got_g, at_g):
        return almost("generator not moved") if to_g else no_gradient(to_g, to_d)
    if first and agree(got_d, at_d) and agree(got_g, want_g):
        return almost("another d")
    if first and agree(got_d, at_d + lr * of_d):
        return almost("d climbs")
    if first and right_d and agree(got_g, at_g - lr * want_d * z):
        return almost("g climbs")
    if first and right_d and agree(got_g, at_g + lr * (want_d - at_d) * z):
        return almost("d's loss moves g")
    if first and agree(got_g, at_g + lr * at_d * z):
        if agree(got_d, at_d + lr * real):
            return almost("both passes first")
        if right_d:
            return almost("scored by the old d")
        if agree(got_d, at_d - lr * (got_g * z - real)):
            return almost("generator first")
    if agree(got_d, at_d) and agree(got_g, at_g):
        return almost("neither moved")
    for more_d, more_g in ((left_d, left_g), (left_d, 0.0), (0.0, left_g)):
        stale_d = at_d - lr * (of_d + more_d)
        if agree(got_d, stale_d) and agree(got_g, at_g + lr * (stale_d * z - more_g)):
            return almost("leftovers")
    return not_yet(
        f"Call {turn + 1}: from g={at_g:.3f}, d={at_d:.3f} the step leads to g={got_g:.3f}, d={got_d:.3f}; "
        f"by hand it is g={want_g:.3f}, d={want_d:.3f}."
    )


def no_gradient(to_g, to_d):
    """The verdict when a .grad was None where it was wanted; to_g, to_d: what arrived at the players."""
    if not to_g and not to_d:
        return not_yet("No backward pass has brought either player a gradient, and a `.grad` is used.")
    if not to_d:
        return almost("no gradient for d")
    if to_g:
        return almost("cleared before use")
    return almost("detached for g" if len(to_d) > 1 and not to_g else "untrained generator")


def refused_pass(error, d_moved):
    """The verdict about a backward pass that raised; other errors are raised again."""
    if "modified by an inplace operation" in str(error) and d_moved:
        return almost("stale score")
    if "does not require grad" in str(error):
        return almost("generator without graph")
    if "second time" in str(error):
        return almost("shared graph released")
    raise error


GAN = "def play(torch, g, d, z, real, lr):\n"

EXERCISE = Exercise(
    id="09b.3", kind="repair", title="Two players", minutes=10, difficulty=3, puzzles=(9,),
    question="d lowers `d * fake - d * real`, then g (fake = g * z) lowers `-(d * fake)` as scored by the new d. Each "
    "moves by a counted in-place write of -lr times the gradient of its own loss, in every call. "
    "At the first, neither has a `.grad`.",
    name="play",
    starter=GAN
    + "    fake = g * z\n"
    + "    score = d * fake\n"
    + "    (score - d * real).backward()\n"
    + "    with torch.no_grad():\n"
    + "        d -= lr * d.grad\n"
    + "    (-score).backward()\n"
    + "    with torch.no_grad():\n"
    + "        g -= lr * g.grad\n"
    + "    g.grad = d.grad = None\n",
    hints=(
        "Two losses, two scores. Which of them may reach g, and which must not?",
        "d's loss sees `fake.detach()`. g's score is made after d has moved. And what has g's backward left in d.grad?",
    ),
    solution=GAN
    + "    fake = g * z\n"
    + "    (d * fake.detach() - d * real).backward()\n"
    + "    with torch.no_grad():\n"
    + "        d -= lr * d.grad\n"
    + "    (-(d * fake)).backward()\n"
    + "    with torch.no_grad():\n"
    + "        g -= lr * g.grad\n"
    + "    g.grad = d.grad = None\n",
    why="detach keeps d's loss away from g and its graph; scoring again uses the new d; clearing throws away what g's "
    "pass left in d.grad.",
    alternatives=(
        edit("fake = g * z\n    (d * fake.detach() - d * real).backward(",
             "loss_d = d * (g * z) - d * real\n    (of_d,) = torch.autograd.grad(loss_d, [d]",
             " -= lr * d.grad\n    (-(d * fake)).backward(",
             ".sub_(lr * of_d)\n    (of_g,) = torch.autograd.grad(-(d * (g * z)), [g]",
             " -= lr * g.grad\n    g.grad = d.grad = None", ".sub_(lr * of_g)"),
        edit("fake = g * z\n    (d * fake", "g.grad = d.grad = None\n    (d * (g * z)",
             " -= lr * d.grad\n    (-(d * fake", ".sub_(d.grad, alpha=lr)\n    (-(d.detach() * g * z",
             " -= lr * g.grad\n    g.grad = d.grad = None", ".copy_(g - lr * g.grad)"),
    ),
    mistakes=(
        Mistake("stale score", "The first error is gone and the next is here: a pass needs d as it was when the "
                "score was made, and d has moved since.",
                edit("(d * fake.detach()", "score = d * fake\n    (score",
                     "real).backward()", "real).backward(retain_graph=True)",
                     "(d * fake)", "score")),
        Mistake("detached for g", "g gets no gradient: the pass from its own loss has reached d, and found no way to "
                "g. Something in the generator's own branch is cut off.", edit("fake)", "fake.detach())")),
        Mistake("no gradient for d", "d gets no gradient from its own loss: something is cut off in its branch. What "
                "may be cut there is the fake, not the score.",
                edit(" * fake.detach() - d * real", ".detach() * (fake - real)")),
        Mistake("d's loss moves g", "The discriminator's loss reaches g as well: its part of g.grad pulls the "
                "generator the other way.",
                edit("fake = g * z\n    (d * fake.detach(", "(d * (g * z", "fake)", "(g * z))")),
        Mistake("leftovers", "The first call is right, a later one is not: some .grad still holds what an earlier "
                "pass left in it.", edit("d.grad = ", "")),
        Mistake("scored by the old d", "g was scored by the d of before the step; the new d was asked for.",
                edit("(d * fake.",
                     "(of_g,) = torch.autograd.grad(-(d * fake), [g])\n    (of_d,) = torch.autograd.grad(d * fake.",
                     "real).backward(", "real, [d]",
                     "d.grad\n    (-(d * fake)).backward()\n    with torch.no_grad():", "of_d",
                     "g.grad\n    g.grad = d.grad = None", "of_g")),
        Mistake("uncounted write", "The numbers are right, but the write to a player was not counted: that is how a "
                "stale score goes unnoticed. Write under no_grad, and score again.",
                edit("(d * fake.detach()", "score = d * fake\n    (score",
                     ")\n    with torch.no_grad():\n        d", "retain_graph=True)\n    d.data",
                     "(-(d * fake)", "g.grad = None\n    (-score",
                     "with torch.no_grad():\n        g", "g.data")),
        Mistake("both passes first", "Both passes ran before any step: d.grad then holds the generator's part as "
                "well, and g was scored by the old d.",
                edit("with torch.no_grad():\n        d -= lr * d.grad\n    ", "",
                     ")).backward()\n    with torch.no_grad():",
                     ")).backward()\n    with torch.no_grad():\n        d -= lr * d.grad")),
        Mistake("generator first", "The generator moved first, and d then judged a fake that was already better.",
                edit("fake = g * z\n    (d * fake",
                     "(-(d * (g * z))).backward()\n    with torch.no_grad():\n        g -= lr * g.grad\n"
                     "    d.grad = None\n    (d * (g * z)",
                     "(-(d * fake)).backward()\n    with torch.no_grad():\n        g -= lr * g.grad\n    ", "")),
        Mistake("generator without graph", "A loss requires no grad: what it is made of was not recorded, or was cut "
                "off, so there is no graph through which a player could learn.",
                edit("fake ", "with torch.no_grad():\n        fake ", ".detach()", "", "-(d * ", "-(d.detach() * ")),
        Mistake("another d", "g was scored by a d that has moved, but the caller's d has not. `d = d - …` makes a "
                "new tensor, which is called d inside the function only.",
                edit("with torch.no_grad():\n        d -=", "d = d -", "d.grad = ", "")),
        Mistake("shared graph released", "A pass walks through a graph that an earlier pass has released. Whatever "
                "both losses lead through, such as a score or `fake`, is released by the first.",
                edit(".detach()", "", "* d.grad", "* d.grad\n    g.grad = None")),
        Mistake("untrained generator", "g is to be moved, and no gradient has come to it: no pass from a loss of its "
                "own has reached it.",
                edit("(-(d * fake)).backward()\n    with torch.no_grad():\n        g -= lr * g.grad\n    g.grad = ",
                     "")),
        Mistake("generator not moved", "A gradient has come to g, and g is where it was: no write of yours has moved "
                "it.",
                edit("fake = g * z\n    (d * fake", "(d * (g * z)",
                     "fake)", "(g * z))",
                     "\n    with torch.no_grad():\n        g -= lr * g.grad", "")),
        Mistake("cleared before use", "Gradients have come to both players, and a `.grad` is None when it is used: "
                "it was cleared too early.",
                GAN
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    with torch.no_grad():\n"
                + "        d -= lr * d.grad\n"
                + "    (-(d * (g * z))).backward()\n"
                + "    g.grad = d.grad = None\n"
                + "    with torch.no_grad():\n"
                + "        g -= lr * g.grad\n"),
        Mistake("neither moved", "Neither player has moved. The caller's tensors must be written to; `g = g - …` "
                "only gives the name g to a new tensor.",
                GAN
                + "    (d * (g * z).detach() - d * real).backward()\n"
                + "    new_d = (d - lr * d.grad).detach()\n"
                + "    (-(new_d * (g * z))).backward()\n"
                + "    g, d = g - lr * g.grad, new_d\n"),
        Mistake("a player frozen", "After a call, a player no longer requires grad, so in the next call no gradient "
                "can come to it.",
                edit("fake = g * z\n    (d * fake.detach(", "g.requires_grad_(False)\n    (d * (g * z",
                     "(-(d * fake", "g.requires_grad_(True)\n    d.requires_grad_(False)\n    (-(d * (g * z)")),
        Mistake("d climbs", "d goes up its loss instead of down: a player moves by -lr times the gradient.",
                edit("fake = g * z\n    (d * fake", "(-(d * (g * z)", "real)", "real))", "fake)", "(g * z))")),
        Mistake("g climbs", "g makes the score smaller. Its loss is `-(d * fake)`: the generator wants a high score.",
                edit("fake = g * z\n    (d * fake", "(d * (g * z)", "-(d * fake", "d * (g * z")),
    ),
    may_change=("g", "d"),
    prepare=lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1),
    check=check,
)  # fmt: skip
