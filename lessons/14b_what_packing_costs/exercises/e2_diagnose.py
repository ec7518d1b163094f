"""Exercise 14b.2: diagnose."""

import weakref

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import Diagnose
from lessons.checkpoints import checkpoint_of, hooks_of, no_collector, quiet
from lessons.shared import agree, flat, leaf, numbers

CHOICES = (
    "use_reentrant=False", "draw it outside", "give it as an argument", "backward first", "detach in pack",
    "leave leaves alone", "preserve_rng_state=True",
)  # fmt: skip


def grows(torch, cure):
    """A: is a result still alive when nobody has a name for it?"""
    x = leaf(torch, numbers(3))
    pack = (lambda t: t.detach()) if cure == "detach in pack" else (lambda t: t)
    with no_collector():
        with hooks_of(torch)(pack, lambda packed: packed):
            y = x.exp()
        alive = weakref.ref(y)
        del y
        return alive() is not None


def embeddings_rest(torch, cure):
    """B: does the table of embeddings get no gradient?"""
    table, tokens, reentrant = leaf(torch, numbers(5)), torch.tensor([0, 3]), cure != "use_reentrant=False"
    with quiet():
        if cure == "give it as an argument":
            h = checkpoint_of(torch)(lambda tokens, table: table[tokens], tokens, table, use_reentrant=reentrant)
        else:
            h = checkpoint_of(torch)(lambda tokens: table[tokens], tokens, use_reentrant=reentrant)
        (h * leaf(torch, [1.0, 2.0])).sum().backward()
    return table.grad is None


def other_gradients(torch, cure):
    """C: do the gradients differ from those of the noise in the output?"""
    generator, x = torch.Generator(), torch.ones(50, requires_grad=True)
    generator.manual_seed(0)
    if cure == "draw it outside":
        noise = torch.rand(50, generator=generator)
        y = checkpoint_of(torch)(lambda a: a * noise, x, use_reentrant=False)
    elif cure == "give it as an argument":
        y = checkpoint_of(torch)(lambda a, g: a * torch.rand(50, generator=g), x, generator, use_reentrant=False)
    else:
        y = checkpoint_of(torch)(
            lambda a: a * torch.rand(50, generator=generator), x, use_reentrant=cure != "use_reentrant=True"
        )
    y.sum().backward()
    return not agree(flat(y), flat(x.grad))


def clipped_too_early(torch, cure):
    """D: is the gradient that of the clipped weight?"""
    x, w = leaf(torch, [2.0]), leaf(torch, [3.0])
    y = checkpoint_of(torch)(lambda a: w * a**2, x, use_reentrant=False)
    if cure == "backward first":
        y.backward()
    with torch.no_grad():
        w.clamp_(max=1.0)
    if cure != "backward first":
        y.backward()
    return not agree(x.grad, [12.0])


def larger_than_before(torch, cure):
    """E: does packing take more memory than the activations did?"""
    sizes, w = [], leaf(torch, numbers(100))

    def pack(tensor):
        if tensor.is_leaf and cure == "leave leaves alone":
            return tensor
        sizes.append(tensor.numel() * 2)
        return tensor.detach()

    with hooks_of(torch)(pack, lambda packed: packed):
        h = torch.ones(1) * w[:1]
        for _ in range(3):
            h = (h * w).sum().reshape(1)
    return sum(sizes) > 100


def no_error_wanted(torch, cure):
    """F: does a mask that was overwritten go unnoticed?"""
    x, mask = leaf(torch, numbers(3)), torch.ones(3)
    if cure == "give it as an argument":
        y = checkpoint_of(torch)(lambda a, m: (a * m).sin(), x, mask, use_reentrant=False)
    else:
        y = checkpoint_of(torch)(lambda a: (a * mask).sin(), x, use_reentrant=False)
    mask.mul_(0)
    try:
        y.sum().backward()
    except RuntimeError:
        return False
    return True


def weights_unreached(torch, cure):
    """G: does autograd.grad find no way to the weight?"""
    x, w = leaf(torch, numbers(2)), leaf(torch, numbers(2))
    y = checkpoint_of(torch)(lambda a: a * w, x, use_reentrant=cure != "use_reentrant=False")
    try:
        torch.autograd.grad(y.sum(), w)
    except RuntimeError:
        return True
    return False


SYMPTOMS = {"A": grows, "B": embeddings_rest, "C": other_gradients, "D": clipped_too_early, "E": larger_than_before,
            "F": no_error_wanted, "G": weights_unreached}  # fmt: skip

EXERCISE = Diagnose(
    id="14b.2", title="Diagnose", minutes=6, difficulty=2, puzzles=(24,),
    question="Seven bug reports about packing and checkpoints; which of the seven changes cures each? One cures two, "
    "and one is not needed.",
    hints=(
        "A and E are about pack hooks: what do they hold? C, D and F are about the second run: what does it find?",
        "In B and G the weights are inside of the checkpoint. What does the large graph know of them?",
        "D and F look alike. But in D the author wants a right gradient, and in F an error.",
    ),
    why="A: a result that pack returns as it is closes a ring. B and G: the re-entrant form has one node, which knows "
    "its arguments only. C: a generator of one's own is not set back. D: the second run finds the clipped weight. E: "
    "a packed leaf is a second copy. F: only arguments have a version that is compared. (In B the table as an "
    "argument would do, too. In G it would not: the re-entrant form refuses autograd.grad altogether.)",
    right={"A": "detach in pack", "B": "use_reentrant=False", "C": "draw it outside", "D": "backward first",
           "E": "leave leaves alone", "F": "give it as an argument", "G": "use_reentrant=False"},
    symptoms=SYMPTOMS,
    alternatives=(
        'cures = {"A": "detach in pack", "B": "give it as an argument", "C": "draw it outside", "D": "backward first", '
        '"E": "leave leaves alone", "F": "give it as an argument", "G": "use_reentrant=False"}',
    ),
    choices=CHOICES,
    ask="one of the seven changes",
    mistakes=(
        Mistake("leaves are harmless", "A: leaves have no node, so they close no ring. It is a result that does.",
                {"A": "leave leaves alone"}),
        Mistake("another kind of hooks", "A: there is no checkpoint in this report. The hook itself returns what it "
                "must not hold.", {"A": ("use_reentrant=False", "backward first")}),
        Mistake("the order is right", "B: backward runs, and comes before the step. But there is no node that would "
                "start the second run.", {"B": "backward first"}),
        Mistake("the default state", "C: that is the default, and it is about the random numbers of torch itself. "
                "This generator is another one.", {"C": "preserve_rng_state=True"}),
        Mistake("either form", "C: both forms run the block a second time, and both draw again.",
                {"C": "use_reentrant=False"}),
        Mistake("the generator as an argument", "C: as an argument it is still the one generator, which has moved on "
                "between the two runs. The noise itself could be an argument, but where would it have to be drawn?",
                {"C": "give it as an argument"}),
        Mistake("an error instead", "D: then there would be an error again. The author wants the right gradient.",
                {"D": "give it as an argument"}),
        Mistake("the newer form, too", "D: in both forms the second run takes the weight as it is then.",
                {"D": "use_reentrant=False"}),
        Mistake("a ring is not a copy", "E: detached or not, every weight is packed into a second copy.",
                {"E": "detach in pack"}),
        Mistake("not the order", "F: that would give the right gradient, and the author has asked for something else: "
                "to be told if somebody writes into the mask.", {"F": "backward first"}),
        Mistake("not random", "F: nothing random is in it. The mask was overwritten.",
                {"F": ("draw it outside", "preserve_rng_state=True")}),
        Mistake("one weight as an argument", "G: with all weights as arguments it would still not work: in this form "
                "autograd.grad is refused altogether. The pass that was asked for has to find nodes.",
                {"G": "give it as an argument"}),
        Mistake("the order is right, too", "G: there is no step in this report. The graph has no way to the weights.",
                {"G": "backward first"}),
    ),
)  # fmt: skip
