"""Exercise 13.2: repair a gradient penalty."""

import weakref

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons import shared
from lessons.shared import array, finite_differences, flat

from .shared import near, no_collector, quiet


def make_critic(torch, inputs=3, hidden=4):
    """A small critic with smooth units that remembers what it was asked about."""

    class Critic(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, shape in (("W1", (inputs, hidden)), ("b1", (hidden,)), ("W2", (hidden, 1)), ("b2", (1,))):
                setattr(self, name, torch.nn.Parameter(array(torch, *shape)))
            self.asked = []

        def forward(self, x):
            self.asked.append(weakref.ref(x))
            return torch.tanh(x @ self.W1 + self.b1) @ self.W2 + self.b2

    return Critic()


def scores_and_slopes(torch, critic, x, create_graph=False):
    """The gradient of the sum of scores for a copy of x, with or without its history."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(critic(x).sum(), x, create_graph=create_graph)[0]


def reference_loss(torch, critic, real, fake, weight):
    """The loss that 13.2 wants, with its history."""
    g = scores_and_slopes(torch, critic, real, create_graph=True)
    return critic(fake).mean() - critic(real).mean() + weight * (g**2).sum(dim=1).mean()


def by_finite_differences(torch, critic, real, fake, weight):
    """The gradients of that loss for the critic's parameters, measured."""
    parameters = list(critic.parameters())
    kept = [p.detach().clone() for p in parameters]

    def put(values):
        with torch.no_grad():
            for p, value in zip(parameters, values, strict=True):
                p.copy_(value)

    def value(*values):
        put(values)
        return reference_loss(torch, critic, real, fake, weight).item()

    try:
        return finite_differences(torch, value, kept)
    finally:
        put(kept)


def all_near(found, wanted, tolerance=1e-5):
    return all(near(a, b, tolerance) for a, b in zip(found, wanted, strict=True))


def check(answer, torch):
    with quiet(), no_collector():
        for reals, fakes, weight in ((4, 5, 2.3), (1, 2, 5.1), (2, 2, 0.7)):
            verdict = one_critic(answer, torch, reals, fakes, weight)
            if verdict is not None:
                return verdict
    return correct("the penalty pulls, nothing else is in .grad, and every step goes with its last name.")


def one_critic(answer, torch, reals, fakes, weight):
    """The verdict on one random critic and batch, or None when all is well."""
    critic, real, fake = make_critic(torch), array(torch, reals, 3), array(torch, fakes, 3)
    parameters = list(critic.parameters())
    wanted_value = reference_loss(torch, critic, real, fake, weight).item()
    wanted = by_finite_differences(torch, critic, real, fake, weight)
    without = torch.autograd.grad(reference_loss(torch, critic, real, fake, 0), parameters)
    critic.asked.clear()
    before = [torch.zeros_like(p) for p in parameters]
    if reals == 1:  # gradients from an earlier pass
        before = [array(torch, *p.shape) for p in parameters]
        for p, grad in zip(parameters, before, strict=True):
            p.grad = grad.clone()
    try:
        loss = answer(torch, critic, real, fake, weight)
    except RuntimeError as error:
        if "only for scalar outputs" in str(error):
            return almost("many scores")
        raise
    if not isinstance(loss, torch.Tensor):
        return not_yet("Return the loss as a tensor, so that backward can be called on it.")
    if loss.numel() != 1 or not shared.near(flat(loss), [wanted_value], 1e-7):
        return name_value(torch, critic, real, fake, weight, loss)
    if not loss.requires_grad:
        return not_yet("The number is right. But the loss has no history, and backward() cannot start from it.")
    try:
        loss.backward()
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        return almost("released")
    found = [b * 0 if p.grad is None else p.grad.detach() - b for p, b in zip(parameters, before, strict=True)]
    if not all_near(found, wanted):
        if all_near(found, without):
            return almost("constant")
        for kept in (critic(fake).mean(), -critic(real).mean()):
            part = torch.autograd.grad(kept, parameters)
            if all_near(found, [w - p for w, p in zip(wanted, part, strict=True)]):
                return almost("a score cut off")
        return not_yet("The loss is right, but its gradients differ from finite differences.")
    del loss
    points = [each() for each in critic.asked if each() is not None and each() is not real and each() is not fake]
    rings = [point for point in points if point.is_leaf and point.grad is not None and point.grad.requires_grad]
    for point in rings:
        point.grad = None
    return almost("ring") if rings else None


def name_value(torch, critic, real, fake, weight, loss):
    """The verdict on a loss whose number is not the one wanted."""
    if loss.numel() != 1:
        return not_yet(f"The loss should be one number; yours has the shape {tuple(loss.shape)}.")
    g, at_fake = (scores_and_slopes(torch, critic, x) for x in (real, fake))
    scores = (critic(fake).mean() - critic(real).mean()).detach()
    right = (g**2).sum(dim=1).mean()
    losses = {
        "not a mean": scores + weight * (g**2).sum(),
        "mean of everything": scores + weight * (g**2).mean(),
        "mean of the scores": scores + weight * ((g / len(g)) ** 2).sum(dim=1).mean(),
        "the mean of columns": scores + weight * (g**2).sum(dim=0).mean(),
        "pulled to 1": scores + weight * ((g.norm(dim=1) - 1) ** 2).mean(),
        "lengths": scores + weight * g.norm(dim=1).mean(),
        "at the fakes": scores + weight * (at_fake**2).sum(dim=1).mean(),
        "without the weight": scores + right,
        "the penalty alone": weight * right,
        "rewarded": scores - weight * right,
    }
    for name, value in losses.items():
        if near(loss.detach().reshape(()), value.reshape(())):
            return almost(name)
    return not_yet(f"For some critic your function returns {loss.item():.4g}, and the loss of the question is "
                   f"{(scores + weight * right).item():.4g}; {scores.item():.4g} of that are the scores.")  # fmt: skip


STARTER_2 = """\
def critic_loss(torch, critic, real, fake, weight):
    x = real.clone().requires_grad_()
    scores = critic(x)
    scores.sum().backward(retain_graph=True)
    penalty = (x.grad**2).sum(dim=1).mean()
    return critic(fake).mean() - scores.mean() + weight * penalty"""
OLD_2 = "scores.sum().backward(retain_graph=True)"
SOLVED_2 = STARTER_2.replace(
    OLD_2, "(g,) = torch.autograd.grad(scores.sum(), x, create_graph=True)"
).replace("x.grad**2", "g**2")  # fmt: skip
RECORDED_2 = STARTER_2.replace("retain_graph", "create_graph")

EXERCISE = Exercise(
    id="13.2", kind="repair", title="Repair a gradient penalty", minutes=7, difficulty=2, puzzles=(18,),
    question="The slopes grow whatever the weight. Repair it: right gradients in the parameters' .grad, nothing else "
    "there, and no ring.",
    name="critic_loss", starter=STARTER_2,
    hints=(
        "What is x.grad.requires_grad? Then what is the penalty, for the loss?",
        "What else has the inner backward() filled, besides x.grad? Which function returns gradients and fills "
        "nothing?",
    ),
    solution=SOLVED_2 + "\n",
    why="A gradient without a history makes the penalty a constant. backward with create_graph would give it one, but "
    "it also fills the .grad of every parameter, and closes a ring at each. autograd.grad returns the slopes and "
    "stores nothing; create_graph retains the graph of the scores, which the loss needs once more.",
    alternatives=(
        SOLVED_2.replace("scores.sum(), x, ", "scores, x, torch.ones_like(scores), "),
        RECORDED_2.replace("create_graph=True)", "create_graph=True, inputs=[x])\n    g, x.grad = x.grad, None")
            .replace("x.grad**2", "g**2"),
        SOLVED_2.replace("g**2).sum(dim=1)", "g.norm(dim=1) ** 2)"),
    ),
    mistakes=(
        Mistake("guard: changed a .grad", "The caller adds the gradient of the loss to what is there: your function "
                "should not touch it.", RECORDED_2),
        Mistake("constant", "The number that is returned is right, and its gradient is that of the scores alone. The "
                "penalty in it is a constant: between the slopes and the loss, or already in the slopes, the history "
                "is missing.", SOLVED_2.replace("create_graph", "retain_graph")),
        Mistake("guard: changed a .grad, and a constant", "",
                STARTER_2.replace("(x.grad**2)", "(x.grad.clone() ** 2)")),
        Mistake("guard: changed a .grad, cleared afterwards", "",
                RECORDED_2.replace("create_graph=True)", "create_graph=True)\n    for p in critic.parameters():\n"
                                   "        p.grad = None\n    g, x.grad = x.grad, None").replace("x.grad**2", "g**2")),
        Mistake("released", "The pass for the slopes has released the graph of the scores, and the loss needs it "
                "again. retain_graph=True hides that and loses the penalty; which flag retains and records?",
                SOLVED_2.replace(", create_graph=True", "")),
        Mistake("ring", "All gradients are right. But x.grad has a history that leads to x, and x holds its .grad: "
                "each step leaves such a ring behind.", RECORDED_2.replace("=True)", "=True, inputs=[x])")),
        Mistake("not a mean", "The squares of all samples are added up. The penalty is the mean over the samples.",
                SOLVED_2.replace(".sum(dim=1).mean()", ".sum()")),
        Mistake("mean of everything", "The length of a sample's slopes is a sum over its inputs; only over samples "
                "the mean is taken.", SOLVED_2.replace(".sum(dim=1).mean()", ".mean()")),
        Mistake("mean of the scores", "The gradient of the mean is smaller by the number of samples, and so are your "
                "slopes. The sum gives each sample its own.", SOLVED_2.replace("scores.sum()", "scores.mean()")),
        Mistake("the mean of columns", "You add up over the samples and take the mean over the inputs. A sample's "
                "slopes stand in a row.", SOLVED_2.replace("sum(dim=1)", "sum(dim=0)")),
        Mistake("pulled to 1", "That is the penalty of the lesson, which pulls the lengths towards 1. Here the "
                "squared length itself is the penalty.",
                SOLVED_2.replace("(g**2).sum(dim=1).mean()", "((g.norm(dim=1) - 1) ** 2).mean()")),
        Mistake("lengths", "You take the lengths. Asked are their squares.",
                SOLVED_2.replace("(g**2).sum(dim=1)", "g.norm(dim=1)")),
        Mistake("without the weight", "weight is not in the loss.", SOLVED_2.replace("weight * penalty", "penalty")),
        Mistake("rewarded", "The penalty is subtracted: descent would make the slopes longer.",
                SOLVED_2.replace("+ weight", "- weight")),
        Mistake("the penalty alone", "The scores are not in the loss any more.",
                SOLVED_2.replace("critic(fake).mean() - scores.mean() + ", "")),
        Mistake("at the fakes", "The slopes are asked for at the real samples; yours are those at the fakes.",
                SOLVED_2.replace("real.clone()", "fake.clone()").replace("- scores.mean()", "- critic(real).mean()")),
        Mistake("guard: changed a flag", "Leave the flags of the caller's tensors alone: slopes can be asked for at "
                "a tensor of your own.",
                SOLVED_2.replace("x = real.clone().requires_grad_()", "x = real.requires_grad_()")),
        Mistake("a score cut off", "The number that is returned is right, and the penalty pulls. But the scores of "
                "one of the two batches are constants in the loss: the gradient has nothing of them.",
                SOLVED_2.replace("scores.mean() +", "scores.mean().detach() +")),
        Mistake("many scores", "There is one score for each sample, and grad wants one number or weights for all of "
                "them.", SOLVED_2.replace("scores.sum()", "scores")),
    ),
    check=check,
)  # fmt: skip
