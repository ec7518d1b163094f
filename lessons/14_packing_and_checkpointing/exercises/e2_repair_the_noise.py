"""Exercise 14.2: repair the noise."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.checkpoints import quiet
from lessons.shared import array, flat, near


def check(answer, torch):
    for rows, wide, seed in ((4, 3, 1), (1, 5, 2), (6, 2, 3)):
        verdict = one_block(answer, torch, rows, wide, seed)
        if verdict is not None:
            return verdict
    shown = "the gradient belongs to the output, and the activations are still not stored."
    return correct(shown if trains_on_data(answer, torch) else f"{shown} But w is not an argument of your checkpoint, "
                   "and in the form that you have chosen it gets no gradient when h is plain data.")  # fmt: skip


def trains_on_data(answer, torch):
    """Does w get a gradient when h requires none?"""
    w, generator = array(torch, 3, 3, requires_grad=True), torch.Generator()
    with quiet():
        y = answer(torch, array(torch, 2, 3), w, generator)
    return y.grad_fn is not None


def one_block(answer, torch, rows, wide, seed):
    """The verdict on a block of this size, called twice with one generator, or None."""
    x, w = array(torch, rows, wide, requires_grad=True), array(torch, wide, wide, requires_grad=True)
    generator, same = torch.Generator(), torch.Generator()
    generator.manual_seed(seed)
    same.manual_seed(seed)
    for call in range(2):
        x.grad = w.grad = None
        stored = []

        def pack(tensor, stored=stored):
            if not tensor.is_leaf and tensor.numel() == rows * wide:
                stored.append(tensor)
            return tensor.detach()

        h = x * 1
        noise = torch.rand((rows, wide), generator=same)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
            y = answer(torch, h, w, generator)
        inner = torch.tanh(x @ w)
        wanted = inner * noise
        if not isinstance(y, torch.Tensor) or tuple(y.shape) != (rows, wide):
            return not_yet("The function should return the result of the checkpoint.")
        if not near(flat(y), flat(wanted)):
            if call:
                return almost("the same noise again")
            return almost("no noise" if near(flat(y), flat(inner)) else "other numbers")
        if y.grad_fn is None:
            return almost("cut")
        slopes = [flat(each) for each in torch.autograd.grad(wanted.sum(), (x, w))]
        y.sum().backward()
        if x.grad is None or w.grad is None:
            return almost("cut")
        if not all(near(flat(each.grad), one) for each, one in zip((x, w), slopes, strict=True)):
            return almost("drawn again")
        if any(not torch.equal(tensor.detach(), h.detach()) for tensor in stored):
            return almost("no checkpoint")
        del stored[:]
    return None


STARTER = """\
def noisy_block(torch, h, w, generator):
    def block(h):
        noise = torch.rand(h.shape, generator=generator).to(h.dtype)
        return torch.tanh(h @ w) * noise

    return torch.utils.checkpoint.checkpoint(block, h, use_reentrant=False)
"""
SOLVED = """\
def noisy_block(torch, h, w, generator):
    def block(h, noise):
        return torch.tanh(h @ w) * noise

    noise = torch.rand(h.shape, generator=generator).to(h.dtype)
    return torch.utils.checkpoint.checkpoint(block, h, noise, use_reentrant=False)
"""

EXERCISE = Exercise(
    id="14.2", kind="repair", title="Repair the noise", minutes=5, difficulty=1,
    question="A block multiplies its result by noise from the caller's generator (`w` is square, so the noise has the "
    "shape of `h`). Without the checkpoint its gradients are right, with it they are not. Repair it: the same output "
    "as now, gradients that belong to it, and the result of `tanh` still not stored.",
    name="noisy_block", starter=STARTER,
    hints=(
        "How many times is noise drawn, and when?",
        "The generators of torch itself are set back for the second run. This one belongs to the caller. What else is "
        "the same in both runs?",
    ),
    solution=SOLVED,
    why="Drawn outside, the noise is drawn once, and as an argument it is put aside for the second run.",
    alternatives=(
        edit("h, noise):", "h):", "block, h, noise,", "block, h,"),
        "def noisy_block(torch, h, w, generator):\n    noise = torch.rand(h.shape, generator=generator).to(h.dtype)\n"
        "    inner = torch.utils.checkpoint.checkpoint(lambda a: torch.tanh(a @ w) * noise, h, use_reentrant=False)\n"
        "    return inner\n",
        "def noisy_block(torch, h, w, generator):\n    drawn = []\n\n    def block(h):\n        if not drawn:\n"
        "            drawn.append(torch.rand(h.shape, generator=generator).to(h.dtype))\n"
        "        return torch.tanh(h @ w) * drawn[0]\n\n"
        "    return torch.utils.checkpoint.checkpoint(block, h, use_reentrant=False)\n",
        edit("use_reentrant=False", "use_reentrant=True"),  # right, with a word about plain data
    ),
    mistakes=(
        Mistake("drawn again", "The second run draws other noise, so the gradient belongs to another output. Only the "
                "random numbers of torch itself are set back, whatever you say about preserve_rng_state.",
                STARTER.replace("use_reentrant=False", "use_reentrant=False, preserve_rng_state=True")),
        Mistake("other numbers", "The output is not the one that the caller's generator would give.",
                STARTER.replace(", generator=generator", "")),
        Mistake("the same noise again", "The first call is right. In the second one the caller gets the same noise "
                "once more: the generator was set back or did not move on.",
                STARTER.replace("    def block(h):\n", "    generator.manual_seed(generator.initial_seed())\n\n"
                                "    def block(h):\n        generator.manual_seed(generator.initial_seed())\n")),
        Mistake("no checkpoint", "The gradients are right, but now the result of tanh is stored: nothing is computed "
                "again any more.",
                "def noisy_block(torch, h, w, generator):\n"
                "    noise = torch.rand(h.shape, generator=generator).to(h.dtype)\n"
                "    return torch.tanh(h @ w) * noise\n"),
        Mistake("no noise", "The noise is gone. Without it there is nothing to repair, but it was wanted.",
                edit(" * noise\n\n", "\n\n")),
        Mistake("cut", "Nothing of the gradient reaches h and w any more.", edit("block, h, noise", "block, "
                "h.detach(), noise",
                "h @ w", "h @ w.detach()")),
    ),
    check=check,
)  # fmt: skip
