"""Exercise 16.2: a fair game."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.reports import (
    NO_GRAPH,
    SECOND,
    STALE,
    alike_all,
    errors_of_passes,
    fresh,
    values,
)


def check(answer, torch):
    """Some rounds with each kind of optimizer; every step is compared with the steps of each player's own loss."""
    F = torch.nn.functional

    def high(scores):
        return F.binary_cross_entropy_with_logits(scores, torch.ones(tuple(scores.shape)))

    def low(scores):
        return F.binary_cross_entropy_with_logits(scores, torch.zeros(tuple(scores.shape)))

    for wide, count in ((3, 5), (2, 1), (4, 3)):
        nn = torch.nn
        G = fresh(torch, nn.Sequential(nn.Linear(2, wide), nn.Tanh(), nn.Linear(wide, 1)), 2.0)
        D = fresh(torch, nn.Sequential(nn.Linear(1, wide), nn.Tanh(), nn.Linear(wide, 1)), 2.0)
        game = Game(torch, G, D, random.uniform(0.3, 0.6), high, low)
        for _ in range(3):
            verdict = game.judged_round(answer, torch.rand(count, 2), torch.rand(count, 1) + 2)
            if verdict:
                return verdict
    return correct("each player moves by the gradient of its own loss, and by nothing else.")


class Game:
    """Two players, their optimizers, and what an honest round would do to them."""

    def __init__(self, torch, G, D, rate, high, low):
        self.torch, self.G, self.D, self.rate, self.high, self.low = torch, G, D, rate, high, low
        self.optimizers = [torch.optim.SGD(each.parameters(), lr=rate) for each in (G, D)]
        self.number = 0

    def judged_round(self, answer, z, real):
        self.number += 1
        G, D = list(self.G.parameters()), list(self.D.parameters())
        starts = [[p.detach().clone() for p in player] for player in (G, D)]
        versions = [player[0]._version for player in (G, D)]
        left = [[0 if p.grad is None else p.grad.clone() for p in player] for player in (G, D)]
        try:
            with errors_of_passes(self.torch) as raised:
                answer(self.torch, self.G, self.D, *self.optimizers, z, real, self.high, self.low)
        except RuntimeError as error:
            return refused(error)
        if raised:
            return almost("swallowed")
        ends = [[p.detach().clone() for p in player] for player in (G, D)]
        if any(not p.requires_grad for p in G + D):
            return almost("a player frozen")
        counted = [player[0]._version != version for player, version in zip((G, D), versions, strict=True)]
        verdict = self.compared(z, real, starts, ends, left, counted)
        for player, end in zip((G, D), ends, strict=True):
            self.put(player, end)
        return verdict

    def put(self, player, numbers):
        with self.torch.no_grad():
            for p, number in zip(player, numbers, strict=True):
                p.copy_(number)

    def gradient(self, loss, player):
        return self.torch.autograd.grad(loss, list(player.parameters()))

    def step(self, start, *gradients):
        """Numbers after one step from `start` by the sum of the gradients."""
        return [p - self.rate * sum(gs) for p, *gs in zip(start, *gradients, strict=True)]

    def compared(self, z, real, starts, ends, left, counted):
        """The verdict, by comparing both ends with those of honest rounds, and of the usual other ones."""
        at_G, at_D = starts
        worlds_G, worlds_D = [], []
        for at in (at_D, ends[1]):  # G's loss, scored before or after D's step
            self.put(self.G.parameters(), at_G)
            self.put(self.D.parameters(), at)
            worlds_G.append(self.step(at_G, self.gradient(self.high(self.D(self.G(z))), self.G)))
        for at in (at_G, ends[0]):  # D's loss, with the fakes of before or after G's step
            self.put(self.G.parameters(), at)
            self.put(self.D.parameters(), at_D)
            fake = self.G(z).detach()
            worlds_D.append(self.step(at_D, self.gradient(self.high(self.D(real)) + self.low(self.D(fake)), self.D)))
        right_G = any(same(ends[0], world) for world in worlds_G)
        right_D = any(same(ends[1], world) for world in worlds_D)
        if right_G and right_D:
            return None if all(counted) else almost("uncounted")
        return self.named(z, real, starts, ends, left, right_G, right_D, counted)

    def named(self, z, real, starts, ends, left, right_G, right_D, counted):
        at_G, at_D = starts
        rests_G, rests_D = same(ends[0], at_G), same(ends[1], at_D)
        if rests_G and rests_D:
            return almost("nobody moves")
        if rests_G:
            return almost("the generator rests")
        if rests_D:
            return almost("the discriminator rests")
        self.put(self.G.parameters(), at_G)
        self.put(self.D.parameters(), at_D)
        gradients = {}
        for which, loss in enumerate("GD"):
            for player, net in (("G", self.G), ("D", self.D)):
                gradients[loss, player] = self.gradient(self.losses(z, real)[which], net)
        if same(ends[1], self.step(at_D, gradients["D", "D"], gradients["G", "D"])):
            return almost("both losses in D")
        if self.number > 1 and same(ends[1], self.step(at_D, gradients["D", "D"], left[1])):
            return almost("leftovers in D")
        if right_D:
            for at in (at_D, ends[1]):
                self.put(self.D.parameters(), at)
                own = self.gradient(self.losses(z, real)[0], self.G)
                if same(ends[0], self.step(at_G, own, gradients["D", "G"])):
                    return almost("both losses in G")
                if same(ends[0], self.step(at_G, self.gradient(self.low(self.D(self.G(z))), self.G))):
                    return almost("the generator hides")
        if not counted[1]:
            return almost("uncounted")
        who = "G" if not right_G else "D"
        return not_yet(f"In round {self.number}, {who} does not move by the gradient of its own loss, for the z and "
                       "the real samples that the round was given.")  # fmt: skip

    def losses(self, z, real):
        fake = self.G(z)
        return self.high(self.D(fake)), self.high(self.D(real)) + self.low(self.D(fake))


def same(one, other):
    return alike_all(values(one), values(other), 1e-5)


def refused(error):
    if STALE in str(error):
        return almost("still stale")
    if SECOND in str(error):
        return almost("used up")
    if NO_GRAPH in str(error):
        return almost("no graph")
    raise error


HEAD = "def play(torch, G, D, optimizer_G, optimizer_D, z, real, high, low):\n"
STARTER = HEAD + """\
    fake = G(z)
    score = D(fake)
    loss_D = high(D(real)) + low(score)
    loss_G = high(score)
    optimizer_D.zero_grad()
    loss_D.backward(retain_graph=True)
    optimizer_D.step()
    optimizer_G.zero_grad()
    loss_G.backward()
    optimizer_G.step()
"""
SOLVED = HEAD + """\
    fake = G(z)
    loss_D = high(D(real)) + low(D(fake.detach()))
    optimizer_D.zero_grad()
    loss_D.backward()
    optimizer_D.step()
    loss_G = high(D(fake))
    optimizer_G.zero_grad()
    loss_G.backward()
    optimizer_G.step()
"""
BY_HAND = """\
    with torch.no_grad():
        for p in D.parameters():
            p.data -= optimizer_D.param_groups[0]["lr"] * p.grad
"""

EXERCISE = Exercise(
    id="16.2", kind="repair", title="A fair game", minutes=12, difficulty=2, puzzles=(9,),
    question="Each player makes one step of its optimizer with the gradient of its own loss: D for high(D(real)) + "
    "low(D(fake)), G for high(D(fake)). The other player's part may be from before or after its step.",
    name="play", starter=STARTER,
    hints=(
        "There are two losses and two networks. Write down for each pass which networks it runs through, and where it "
        "leaves gradients that nobody wants.",
        "Of the four pairs (loss, network), two are wanted. What keeps D's loss away from G? And when is the score of "
        "G's loss computed?",
    ),
    solution=SOLVED,
    why="D's loss sees the fakes as data. G's loss is scored anew, by the D that exists then. What G's pass "
    "leaves in D "
    "is cleared at D's next turn.",
    alternatives=(
        HEAD + """\
    fake = G(z)
    loss_G = high(D(fake))
    optimizer_G.zero_grad()
    loss_G.backward()
    optimizer_G.step()
    loss_D = high(D(real)) + low(D(fake.detach()))
    optimizer_D.zero_grad()
    loss_D.backward()
    optimizer_D.step()
""",
        HEAD + """\
    score = D(G(z))
    of_D = torch.autograd.grad(high(D(real)) + low(score), list(D.parameters()), retain_graph=True)
    of_G = torch.autograd.grad(high(score), list(G.parameters()))
    for player, gradients in ((D, of_D), (G, of_G)):
        for p, gradient in zip(player.parameters(), gradients):
            p.grad = gradient
    optimizer_D.step()
    optimizer_G.step()
""",
        HEAD + """\
    with torch.no_grad():
        fake = G(z)
    optimizer_D.zero_grad()
    (high(D(real)) + low(D(fake))).backward()
    optimizer_D.step()
    optimizer_G.zero_grad()
    high(D(G(z))).backward()
    optimizer_G.step()
    optimizer_D.zero_grad()
""",
    ),
    mistakes=(
        Mistake("the generator rests", "No error, and G is where it was: no gradient of its own loss reaches it. "
                "Is its branch cut, or its pass left out?", edit("fake = G(z)", "fake = G(z).detach()")),
        Mistake("swallowed", "A pass of yours raises, and nobody hears of it. What it should have brought is missing, "
                "and the step is made all the same.",
                STARTER.replace("    loss_G.backward()\n", "    try:\n        loss_G.backward()\n"
                                "    except RuntimeError:\n        pass\n")),
        Mistake("both losses in D", "Nothing raises any more, but both passes run through D, and their gradients are "
                "added there. D steps by the sum of both losses, and one of them wants it to be deceived.",
                STARTER.replace("    optimizer_D.step()\n", "").replace("    optimizer_G.step()\n",
                "    optimizer_D.step()\n    optimizer_G.step()\n")),
        Mistake("leftovers in D", "The first round is right. In the second one D also steps by what G's pass has left "
                "in its .grad.", edit("    optimizer_D.zero_grad()\n", "")),
        Mistake("both losses in G", "G moves by the gradient of D's loss as well, which is still connected with it "
                "and wants the fakes to be found out.",
                edit("low(D(fake.detach()))", "low(D(fake))", "    optimizer_D.zero_grad()\n    loss_D.backward()",
                     "    optimizer_D.zero_grad()\n    optimizer_G.zero_grad()\n    loss_D.backward(retain_graph=True)",
                     "high(D(fake))\n    optimizer_G.zero_grad()", "high(D(fake))")),
        Mistake("still stale", "A pass still reads weights that have been stepped since they were saved. Which of the "
                "two networks has moved, and does this pass have to run through it as it was?",
                HEAD + """\
    score = D(G(z))
    loss_G = high(score)
    optimizer_G.zero_grad()
    loss_G.backward(retain_graph=True)
    optimizer_G.step()
    loss_D = high(D(real)) + low(score)
    optimizer_D.zero_grad()
    loss_D.backward()
    optimizer_D.step()
"""),
        Mistake("uncounted", "D's step goes through .data and is not counted. The error is silenced, and nothing "
                "protects G's pass from reading weights of another time.",
                STARTER.replace("    optimizer_D.step()\n", BY_HAND)),
        Mistake("used up", "Without retain_graph the first pass frees what the second one needs. But do both passes "
                "have to run through the same graph?",
                STARTER.replace("retain_graph=True", "")),
        Mistake("no graph", "A loss has no graph at all, so there is nothing to run through. What was computed under "
                "no_grad, or detached as a whole?", edit("loss_G = high(D(fake))", "loss_G = high(D(fake).detach())")),
        Mistake("nobody moves", "No error, no step: neither player has moved.",
                edit("    loss_D.backward()\n    optimizer_D.step()\n", "    loss_D.backward()\n    "
                     "optimizer_D.zero_grad()\n    optimizer_D.step()\n",
                     "    loss_G.backward()\n    optimizer_G.step()", "    loss_G = loss_G.detach().requires_grad_()\n"
                     "    loss_G.backward()\n    optimizer_G.step()")),
        Mistake("the discriminator rests", "D does not move: it gets no gradient of its own loss, or loses it before "
                "its step.", edit("    loss_D.backward()\n    optimizer_D.step()", "    loss_D.backward()\n"
                                  "    optimizer_D.zero_grad()\n    optimizer_D.step()")),
        Mistake("the generator hides", "G makes the scores of its fakes *low*. It should want them to be high.",
                edit("loss_G = high(", "loss_G = low(")),
        Mistake("a player frozen", "A player has been switched off with requires_grad_(False), and stays off.",
                edit("    loss_G =", "    for p in D.parameters():\n        p.requires_grad_(False)\n    loss_G =")),
    ),
    may_change=("G", "D"),
    prepare=lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1),
    check=check,
)  # fmt: skip
