"""Exercise 05.4: momentum that respects None."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import agree, flat


def check(answer, torch):
    """Compare with momentum done by hand: several shapes and factors, changing rates, steps without a gradient."""
    for shape, mu in (((2,), 0.8), ((1,), 0.5), ((2, 1, 2), random.uniform(0.6, 0.95))):
        found = judge_momentum(answer, torch, shape, mu)
        if found is not None:
            return found
    return correct("A velocity in place, and rest on None: SGD with momentum, as PyTorch's optimizer does it.")


def judge_momentum(answer, torch, shape, mu):
    """Judge steps on a parameter of one shape: a verdict, or None."""
    start = torch.rand(shape) * 2 - 1
    p, v = start.clone().requires_grad_(), torch.rand(shape) + 0.5
    count = p.numel()
    at, speed = flat(p), flat(v)
    worlds = {name: (list(at), list(speed)) for name in WORLDS}
    for lr, size in ((0.1, 2), (0.5, 2), (0.2, None), (0.3, 2), (0.1, 0), (0.1, None), (0.2, 2)):
        gradient = None if size is None else [random.choice((-1, 1)) * random.uniform(0.5, 1) * size
                                              for _ in range(count)]  # fmt: skip
        p.grad = given = None if gradient is None else torch.tensor(gradient).reshape(shape)
        version = None if given is None else given._version
        before, speed_before, memory = flat(p), flat(v), (p.data_ptr(), v.data_ptr())
        try:
            answer(torch, p, v, lr, mu)
        except RuntimeError as error:
            if "leaf Variable" in str(error):
                return almost("recording is on")
            raise
        except (TypeError, AttributeError):
            if gradient is None:
                return almost("None is not handled")
            raise
        if (p.data_ptr(), v.data_ptr()) != memory:
            return almost("memory exchanged")
        if gradient is None:
            if not agree(flat(p), before):
                return almost("None as zero")
            if not agree(flat(v), speed_before):
                return almost("velocity decays on None")
            continue
        if not agree(flat(given), gradient):
            return almost("writes into the gradient")
        if p.grad is not given:
            return almost("gradient taken away")
        if given._version != version:
            return not_yet("p.grad was written to in place, if with the same numbers. It is only to be read.")
        speed = [mu * s + g for s, g in zip(speed, gradient, strict=True)]
        at = [a - lr * s for a, s in zip(at, speed, strict=True)]
        _other_worlds(worlds, gradient, lr, mu)
        if agree(flat(p), at) and agree(flat(v), speed):
            continue
        if agree(flat(p), before):
            return almost("rebinds names" if size else "zero as None")
        if agree(flat(p), at) and agree(flat(v), speed_before):
            return almost("velocity forgotten")
        for name, (where, _) in worlds.items():
            if agree(flat(p), where):
                return almost(name)
        if agree(flat(p), at) and agree(flat(v), [lr * s for s in speed]):
            return almost("velocity scaled")
        if agree(flat(p), at):
            return not_yet(f"p is right, but with mu={mu:.2g} v became {_short(flat(v))}, not {_short(speed)}.")
        return not_yet(f"With lr={lr}, p went from {_short(before)} to {_short(flat(p))}, not to {_short(at)}.")
    if not p.requires_grad or p.grad_fn is not None or v.grad_fn is not None:
        return not_yet("Afterwards `p` should still be a leaf that requires grad, and `v` should have no history.")
    return None


WORLDS = {  # name of the misreading -> (the velocity's factor, the gradient's, the step's); each from mu and lr
    "lr inside the velocity": lambda mu, lr: (mu, lr, -1.0),
    "damped": lambda mu, lr: (mu, 1 - mu, -lr),
    "uphill": lambda mu, lr: (mu, 1.0, lr),
    "no friction": lambda mu, lr: (1.0, 1.0, -lr),
    "no momentum": lambda mu, lr: (0.0, 1.0, -lr),
    "friction on the gradient": lambda mu, lr: (mu, mu, -lr),
    "no rate": lambda mu, lr: (mu, 1.0, -1.0),
    "on top of itself": lambda mu, lr: (1 + mu, 1.0, -lr),
    "minus twice": lambda mu, lr: (mu, -1.0, -lr),
    "the other sign": lambda mu, lr: (mu, -lr, 1.0),
    "exchanged": lambda mu, lr: (lr, 1.0, -mu),
    "always 0.9": lambda mu, lr: (0.9, 1.0, -lr),
    "velocity too late": None,
    "a step ahead": None,
}


def _other_worlds(worlds, gradient, lr, mu):
    """Take the same step under each of the usual misreadings."""
    for name, (where, speed) in worlds.items():
        if name == "velocity too late":
            where[:] = [a - lr * s for a, s in zip(where, speed, strict=True)]
            speed[:] = [mu * s + g for s, g in zip(speed, gradient, strict=True)]
            continue
        if name == "a step ahead":
            speed[:] = [mu * s + g for s, g in zip(speed, gradient, strict=True)]
            where[:] = [a - lr * (g + mu * s) for a, s, g in zip(where, speed, gradient, strict=True)]
            continue
        keep, take, move = WORLDS[name](mu, lr)
        speed[:] = [keep * s + take * g for s, g in zip(speed, gradient, strict=True)]
        where[:] = [a + move * s for a, s in zip(where, speed, strict=True)]


def _short(numbers):
    return [round(number, 3) for number in numbers]


STEP = "def momentum(torch, p, v, lr, mu):\n"

EXERCISE = Exercise(
    id="05.4", kind="repair", title="Momentum that respects None", minutes=5, difficulty=2, puzzles=(13,),
    question="One step of SGD with momentum: v becomes mu times itself plus the gradient, then p moves by -lr times "
    "v. Same tensors afterwards; p.grad is only read; without a gradient, nothing is touched.",
    name="momentum", starter=STEP + "    v = mu * v + p.grad\n    p = p - lr * v\n",
    hints=(
        "`v = …` gives a new tensor a name inside your function; the caller's tensor does not change. Which "
        "operations write into a tensor?",
        "Without a gradient, return at once. With one, recall how the lesson updates a leaf: which block is around "
        "it, and which operations end in an underscore?",
    ),
    solution=STEP
    + "    if p.grad is None:\n"
    + "        return\n"
    + "    with torch.no_grad():\n"
    + "        v.mul_(mu).add_(p.grad)\n"
    + "        p.sub_(lr * v)\n",
    why="In-place operations write into the caller's tensors; no_grad lets a leaf be written; None means skip.",
    alternatives=(
        edit("None", "not None",
             "return\n    with torch.no_grad():\n        v.mul_(mu).add_(p.grad)\n        p.sub_(lr * v",
             "v *= mu\n        v += p.grad\n        p.detach().sub_(v * lr"),
    ),
    mistakes=(
        Mistake("rebinds names", "p did not change. A line that begins with `p = …` only gives a new tensor that "
                "name inside the function; something has to write into p.",
                edit(".mul_(mu).add_(p.grad)\n        p.sub_(lr * v)", " = mu * v + p.grad\n        p = p - lr * v")),
        Mistake("zero as None", "A gradient of zero was skipped. It did arrive, and the velocity rolls on; only None "
                "means skip.", edit("None:", "None or (p.grad == 0).all():")),
        Mistake("velocity forgotten", "p moved rightly, but the caller's velocity is what it was: `v = …` is a new "
                "tensor, gone after the call.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu).add_(p.grad)\n        p.sub_(lr * v)",
                     "\n            v = mu * v + p.grad\n            p -= lr * v")),
        Mistake("velocity scaled", "p moved rightly, but v was multiplied by lr on the way, and the next step begins "
                "with that. Compute `lr * v` as a new tensor.",
                edit("p.sub_(lr * v)", "p.sub_(v.mul_(lr))")),
        Mistake("velocity too late", "p moved by the old velocity: first the velocity takes in the gradient, then p "
                "moves.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            p.sub_(lr * v)\n            v",
                     "\n        p.sub_(lr * v)", "")),
        Mistake("writes into the gradient", "p and v may be right, but p.grad holds other numbers now: it was "
                "written to, and whoever logged it sees that.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu).add_(p.grad)\n        ",
                     "\n            v.copy_(p.grad.add_(mu * v))\n            ")),
        Mistake("recording is on", "The in-place write to the leaf is refused while recording is on.",
                STEP + "    if p.grad is not None:\n        v.mul_(mu).add_(p.grad)\n        p.sub_(lr * v)\n"),
        Mistake("None is not handled", "Right while there is a gradient; with None the arithmetic itself fails.",
                STEP + "    with torch.no_grad():\n" + "        v.mul_(mu).add_(p.grad)\n        p.sub_(lr * v)\n"),
        Mistake("None as zero", "A missing gradient was treated as zero, and the velocity carried the parameter on.",
                edit("if p.grad is None:\n        return\n    ", "",
                     ").", ")\n        if p.grad is not None:\n            v.")),
        Mistake("velocity decays on None", "p rests on None, but its velocity shrank: with None the whole step is to "
                "be skipped.",
                STEP
                + "    with torch.no_grad():\n"
                + "        v.mul_(mu)\n"
                + "        if p.grad is not None:\n"
                + "            v.add_(p.grad)\n"
                + "            p.sub_(lr * v)\n"),
        Mistake("lr inside the velocity", "You put lr into the velocity; then a change of lr does not reach what is "
                "already rolling.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            v",
                     "p.grad)\n        p.sub_(lr * ", "lr * p.grad)\n            p.sub_(")),
        Mistake("damped", "You weigh the gradient by 1 - mu, as a running average does; here it enters whole.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            v",
                     "p.grad)\n        ", "(1 - mu) * p.grad)\n            ")),
        Mistake("uphill", "The size is right and the sign is not: descent goes against the velocity's gradients.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            v",
                     "\n        p.sub_", "\n            p.add_")),
        Mistake("on top of itself", "mu times the velocity was added to the whole velocity. It should take its place.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu).add_(p.grad)\n        ",
                     "\n            v.add_(mu * v + p.grad)\n            ")),
        Mistake("minus twice", "The gradient is subtracted from the velocity, and the velocity from p: two minus "
                "signs go uphill.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu).add_(p.grad)\n        ",
                     "\n            v.mul_(mu).sub_(p.grad)\n            ")),
        Mistake("the other sign", "That is another way to write momentum, with lr and a minus inside the velocity. A "
                "velocity that comes from PyTorch's SGD, or from here, then has the wrong sign and size.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu).add_(p.grad)\n        p.sub_(lr * ",
                     "\n            v.mul_(mu).sub_(lr * p.grad)\n            p.add_(")),
        Mistake("exchanged", "mu and lr are exchanged: mu belongs to the velocity, lr to the step.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu", "\n            v.mul_(lr",
                     "\n        p.sub_(lr", "\n            p.sub_(mu")),
        Mistake("always 0.9", "The velocity is multiplied by 0.9, whatever mu is.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu", "\n            v.mul_(0.9",
                     ")\n        ", ")\n            ")),
        Mistake("a step ahead", "p moved by the gradient plus mu times the new velocity. That is Nesterov's variant; "
                "here p moves by the velocity itself.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            v",
                     "\n        p.sub_(lr * v)", "\n            p.sub_(lr * (p.grad + mu * v))")),
        Mistake("guard: left a setting", "Grad mode stays off for the whole notebook then. `with torch.no_grad():` "
                "ends by itself.",
                edit("None", "not None", "return\n    with torch.no_grad():", "torch.set_grad_enabled(False)")),
        Mistake("no friction", "The velocity only grows: before it takes in the gradient it is multiplied by mu.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu)", "\n            v",
                     ")\n        ", ")\n            ")),
        Mistake("no momentum", "p moved by the gradient alone. It should move by the velocity, which remembers "
                "earlier gradients.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            v",
                     "\n        p.sub_(lr * v", "\n            p.sub_(lr * p.grad")),
        Mistake("friction on the gradient", "mu multiplied the new gradient too. Only what was in the velocity "
                "before is multiplied.",
                edit("None", "not None",
                     "return\n    ", "",
                     "\n        v.mul_(mu)", "\n            v",
                     ")\n        ", ").mul_(mu)\n            ")),
        Mistake("no rate", "p moved by the whole velocity; the learning rate is missing.",
                edit("None", "not None",
                     "return\n    ", "",
                     ":\n        v", ":\n            v",
                     "\n        p.sub_(lr * ", "\n            p.sub_(")),
        Mistake("gradient taken away", "The step is right, but afterwards p.grad is not the tensor it was. Clearing "
                "it is the caller's business.",
                STEP
                + "    if p.grad is not None:\n"
                + "        with torch.no_grad():\n"
                + "            v.mul_(mu).add_(p.grad)\n"
                + "            p.sub_(lr * v)\n"
                + "            p.grad = None\n"),
        Mistake("memory exchanged", "p or v lies in other memory than before, as after `p.data = …`. Whoever looks "
                "at the old memory does not see the step.",
                edit("None:\n        return\n    with torch.no_grad():\n        v.mul_(mu).add_(p.grad)\n"
                     "        p.sub_(lr * v)",
                     "not None:\n        v.data = mu * v + p.grad\n        p.data = p.data - lr * v")),
    ),
    may_change=("p", "v"),
    check=check,
)  # fmt: skip
