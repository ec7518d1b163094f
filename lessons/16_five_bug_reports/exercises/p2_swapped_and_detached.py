"""Exercise 16.p2: what four answers about the GAN are worth."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.reports import FOUR, alike_all, four_words, values, what_happens


def detached(G, D, step_G, step_D, z):
    fake = G(z).detach()
    step_D(lambda: (D(fake) ** 2).sum())
    step_G(lambda: -D(fake).sum())


def both_first(G, D, step_G, step_D, z):
    score = D(G(z))
    step_D.clear()
    (score**2).sum().backward(retain_graph=True)
    step_G.clear()
    (-score.sum()).backward()
    step_D.go()
    step_G.go()


def again(G, D, step_G, step_D, z):
    fake = G(z)
    step_D(lambda: (D(fake.detach()) ** 2).sum())
    step_G(lambda: -D(fake).sum())


def swapped(G, D, step_G, step_D, z):
    score = D(G(z))
    step_G(lambda: -score.sum(), retain_graph=True)
    step_D(lambda: (score**2).sum())


class Step:
    """A player's turn: clear, backward, step. It keeps the gradients that the step met."""

    def __init__(self, torch, parameters):
        self.parameters = list(parameters)
        self.optimizer = torch.optim.SGD(self.parameters, lr=0.1)
        self.met = None

    def clear(self):
        self.optimizer.zero_grad()

    def go(self):
        self.met = [None if p.grad is None else p.grad.clone() for p in self.parameters]
        self.optimizer.step()

    def __call__(self, loss, **options):
        self.clear()
        loss().backward(**options)
        self.go()


def truth(torch):
    """Does each player meet the gradient of its own loss?"""
    found = []
    for play in (detached, both_first, again, swapped):
        net = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        D, z = net, torch.rand(4, 2) + 0.5
        G = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        wanted = torch.autograd.grad((D(G(z)) ** 2).sum(), list(D.parameters()))
        turns = Step(torch, G.parameters()), Step(torch, D.parameters())

        def run(play=play, G=G, D=D, z=z, turns=turns, wanted=wanted):
            play(G, D, *turns, z)
            return turns[0].met[0] is not None and alike_all(values(turns[1].met), values(wanted))

        found.append(what_happens(run))
    return found


EXERCISE = Predict(
    id="16.p2", title="Four answers about the GAN", minutes=5, difficulty=3, puzzles=(9,),
    question="1 detaches the fake for both players and scores it once for each loss, 2 does both passes "
    "and then both steps, 3 scores the fake again and detaches it for the discriminator only, 4 swaps the "
    "players. Which raises, which is silent, which cures?",
    hints=(
        "For each answer follow the pass of the generator's loss: which networks does it run through, and where does "
        "it leave gradients?",
        "In answer 4 the discriminator's loss is differentiated last. Through which network that has just moved does "
        "its pass run?",
    ),
    solution='answer = ["silent", "silent", "cured", "raises"]',
    why="Answer 1 cuts the generator's own branch. In 2 both passes leave gradients in D, and they are added. In 4 the "
    "last pass runs through G, which has moved.",
    alternatives=('answer = ("Silent", "Silent", "Cured", "Raises")',
                  'answer = [" silent", "silent", "CURED", "raises"]'),
    read=four_words, truth=truth, wanted=FOUR,
    shown="you have followed each pass through both networks.",
    otherwise="Which networks does each of the two passes run through, and has one of them moved meanwhile?",
    mistakes=(
        Mistake("both first is fine", "Answer 2: no weight has moved before the passes, so nothing raises. But the "
                "generator's pass runs through the discriminator. What does it leave there?",
                ["silent", "cured", "cured", "raises"]),
        Mistake("swapping is fine", "Answer 4: the fake is not detached, so the pass of the discriminator's loss runs "
                "through the generator, which has moved by then.", ["silent", "silent", "cured", "cured"],
                also=(["silent", "silent", "cured", "silent"], ["silent", "cured", "cured", "cured"])),
        Mistake("detached is fine", "Answer 1: the fake is detached before *both* losses. Which way leads from the "
                "generator's loss to the generator?", ["cured", "silent", "cured", "raises"],
                also=(["cured", "cured", "cured", "raises"], ["cured", "cured", "cured", "cured"])),
        Mistake("detached raises", "Answer 1: each loss has a score of its own, made after the last step. And "
                "backward needs some way to some parameter; there is one, to those of the discriminator.",
                ["raises", "silent", "cured", "raises"]),
        Mistake("both first raises", "Answer 2: at the time of the second pass no step has been made, so no version "
                "has changed.", ["silent", "raises", "cured", "raises"],
                also=(["silent", "raises", "cured", "cured"],)),
        Mistake("again raises", "Answer 3: the second score is made with the weights as they are after the step. "
                "Nothing that it saved is written to before its pass.", ["silent", "silent", "raises", "raises"]),
    ),
    reveals=("D's gradient is off by", "The `detach` was put into *both* branches", "steps by the sum of both losses"),
)  # fmt: skip
