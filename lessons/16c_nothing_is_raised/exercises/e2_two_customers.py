"""Exercise 16c.2: two customers."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit
from lessons.reports import alike_all, fresh, values

ROUNDS = (("b", "b", "a", "b", "c"), ("a", "b", "b", "a"), ("a", "a", "b"))


def build(torch, numbers=None, settings=None):
    """A frozen trunk, three heads and one optimizer over them; the numbers of another one, if they are given."""
    trunk = fresh(torch, torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()), 2.0)
    for p in trunk.parameters():
        p.requires_grad_(False)
    heads = torch.nn.ModuleDict({name: fresh(torch, torch.nn.Linear(3, 1), 2.0) for name in "abc"})
    if numbers is not None:
        with torch.no_grad():
            for p, number in zip([*trunk.parameters(), *heads.parameters()], numbers, strict=True):
                p.copy_(number)
    return trunk, heads, torch.optim.SGD(heads.parameters(), **settings)


def check(answer, torch):
    """Tasks in several orders, momentum and weight decay; every head and every velocity after every step."""
    for tasks, settings in zip(ROUNDS, (
        {"lr": 0.2, "momentum": 0.9, "weight_decay": 0.1}, {"lr": 0.3, "momentum": 0.5},
        {"lr": random.uniform(0.1, 0.3), "weight_decay": 0.2},
    ), strict=True):  # fmt: skip
        verdict = judged(answer, torch, tasks, settings)
        if verdict:
            return verdict
    return correct("the head of the task learns as before, and all others rest, with all that belongs to them.")


def judged(answer, torch, tasks, settings):
    trunk, heads, optimizer = build(torch, None, settings)
    numbers = [p.detach().clone() for p in [*trunk.parameters(), *heads.parameters()]]
    twin_trunk, twins, reference = build(torch, numbers, settings)
    for turn, task in enumerate(tasks):
        x, target = torch.rand(4, 2), torch.rand(4, 1)
        before = {name: values(head.parameters()) for name, head in heads.items()}
        remembered = velocities(optimizer, heads)
        left = [0 if p.grad is None else p.grad.clone() for p in heads[task].parameters()]
        answer(torch, trunk, heads, task, x, target, optimizer)
        for p in twins.parameters():
            p.grad = None
        ((twins[task](twin_trunk(x)) - target) ** 2).mean().backward()
        reference.step()
        after = {name: values(head.parameters()) for name, head in heads.items()}
        wanted = {name: values(head.parameters()) for name, head in twins.items()}
        if any(not p.requires_grad for p in heads.parameters()):
            return almost("a flag left")
        resting = [name for name in heads if name != task and not alike_all(after[name], before[name], 1e-6)]
        own = alike_all(after[task], wanted[task], 1e-5)
        now = velocities(optimizer, heads)
        decay = settings.get("weight_decay", 0)
        if own and any(forgotten(remembered[name], now[name], before[name], decay) for name in heads if name != task):
            return almost("thrown away")
        if resting:
            return almost(why_it_moves(heads, resting[0]))
        if alike_all(after[task], before[task], 1e-6):
            return almost("nobody learns")
        right = velocities(reference, twins)
        if not own:
            summed = [a + p.grad for a, p in zip(left, twins[task].parameters(), strict=True)]
            found = [p.grad for p in heads[task].parameters()]
            if turn and None not in found and alike_all(values(found), values(summed), 1e-5):
                return almost("everything adds up")
            return almost("another training" if turn == 0 or not settings.get("momentum") else "the velocity is lost")
        if right[task] is not None and now[task] is None:
            return almost("a new optimizer")
        for name in heads:
            if right[name] is not None and (now[name] is None or not alike_all(now[name], right[name], 1e-5)):
                return almost("put back")
    return None


def velocities(optimizer, heads):
    """{name: the velocities of a head, or None}."""
    found = {}
    for name, head in heads.items():
        each = [optimizer.state.get(p, {}).get("momentum_buffer") for p in head.parameters()]
        found[name] = None if any(one is None for one in each) else values(each)
    return found


def forgotten(old, now, numbers, decay):
    """Is a velocity gone, or begun anew from a gradient of zero? `numbers` are the head's, from before the step."""
    if old is None:
        return False
    return now is None or alike_all(now, [[decay * each for each in row] for row in numbers], 1e-6)


def why_it_moves(heads, name):
    """A head that takes no part has moved: by zeros, by an old gradient?"""
    gradients = [p.grad for p in heads[name].parameters()]
    zeros = all(each is None or float(each.abs().max()) == 0 for each in gradients)
    return "zeros" if zeros else "an old gradient"


STARTER = """\
def train_one(torch, trunk, heads, task, x, target, optimizer):
    optimizer.zero_grad(set_to_none=False)
    loss = ((heads[task](trunk(x)) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
"""
CLEAR = "for p in heads.parameters():\n        p.grad = None"
SOLVED = STARTER.replace("optimizer.zero_grad(set_to_none=False)", CLEAR)

EXERCISE = Exercise(
    id="16c.2", kind="repair", title="Two customers", minutes=8, difficulty=2, puzzles=(13,),
    question="The head of the task learns as before. All other heads rest: their numbers and their velocities. The "
    "flags requires_grad stay as they are.",
    name="train_one", starter=STARTER,
    hints=(
        "What does an optimizer do with a parameter whose gradient is zero, if it has momentum or weight decay? And "
        "with one that has no gradient?",
        "Whoever clears the gradients decides which of the two it will be.",
    ),
    solution=SOLVED,
    why="Cleared to None, the heads that take no part have no gradient when the optimizer looks, and it skips "
    "them with "
    "all that it remembers of them.",
    alternatives=(
        edit(CLEAR, "optimizer.zero_grad()"),
        edit("    loss.backward()", "    heads.zero_grad()\n    loss.backward()", f"    {CLEAR}\n", ""),
        edit("loss.backward()", "gradients = torch.autograd.grad(loss, list(heads[task].parameters()))\n"
             "    for p, gradient in zip(heads[task].parameters(), gradients):\n        p.grad = gradient"),
    ),
    mistakes=(
        Mistake("zeros", "A head that takes no part has moved: there is a gradient of zero in its .grad, so the "
                "optimizer lets momentum and weight decay act.",
                edit("p.grad = None", "if p.grad is not None:\n            p.grad.zero_()")),
        Mistake("a flag left", "Some head does not require a gradient any more. That keeps *new* gradients out, "
                "changes nothing about the old ones, and nobody switches it on again.",
                STARTER.replace("    loss =", "    for name in heads:\n        for p in heads[name].parameters():\n"
                                "            p.requires_grad_(name == task)\n    loss =")),
        Mistake("an old gradient", "Only the head of the task is cleared. Another one still has the gradient of its "
                "last turn, and is stepped by it again and again.", edit(CLEAR, "heads[task].zero_grad()")),
        Mistake("everything adds up", "Nothing is cleared, so each step uses the sum of all gradients so far, and the "
                "other heads are stepped by theirs.", edit(f"    {CLEAR}\n", "")),
        Mistake("put back", "The numbers of the other heads are right, because you put them back. But the "
                "optimizer has "
                "had them in its hands: their velocities have faded, or have taken the decay.",
                STARTER.replace("    optimizer.step()\n", "    kept = {p: p.detach().clone() for name in heads if name "
                                "!= task for p in heads[name].parameters()}\n    optimizer.step()\n"
                                "    with torch.no_grad():\n        for p, numbers in kept.items():\n"
                                "            p.copy_(numbers)\n")),
        Mistake("thrown away", "The velocity of a head that takes no part has been thrown away. It is to rest, too: "
                "the head will need it when its turn comes.",
                STARTER.replace("    optimizer.step()", "    for name in heads:\n        if name != task:\n"
                                "            for p in heads[name].parameters():\n"
                                "                optimizer.state.pop(p, None)\n    optimizer.step()")),
        Mistake("a new optimizer", "The other heads rest, and the head of the task has lost its momentum: your step "
                "uses an optimizer that has just been made and remembers nothing.",
                edit("optimizer.step()", "group = optimizer.param_groups[0]\n    "
                "torch.optim.SGD(heads[task].parameters("
                     "), lr=group['lr'],\n                    momentum=group['momentum'], "
                     "weight_decay=group['weight_decay']).step()")),
        Mistake("the velocity is lost", "The other heads rest because the optimizer has forgotten everything. The head "
                "of the task needs its velocity.", edit("    optimizer.step()", "    optimizer.state.clear()\n"
                                                        "    optimizer.step()")),
        Mistake("another training", "The others rest, but the head of the task learns in another way than before: "
                "rate, momentum or weight decay have changed.",
                STARTER.replace("    optimizer.step()", "    optimizer.param_groups[0].update(momentum=0, "
                                "weight_decay=0)\n    optimizer.step()")),
        Mistake("nobody learns", "The others rest, and so does the head of the task: its gradient is cleared "
                "before the "
                "optimizer sees it.", edit(f"    {CLEAR}\n", "", "    loss.backward()\n",
                                           f"    loss.backward()\n    {CLEAR}\n")),
    ),
    may_change=("heads",),
    prepare=lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1),
    check=check,
)  # fmt: skip
