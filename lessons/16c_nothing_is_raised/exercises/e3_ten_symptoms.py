"""Exercise 16c.3: ten symptoms."""

import warnings

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import Diagnose
from lessons.shared import flat, near

CHOICES = (
    "zero_grad", "eval()", "train()", "raw scores", "one permutation", "squeeze", "make the optimizer later", "item()",
    "ModuleList", "once an epoch", "smaller rate", "retain_graph=True",
)  # fmt: skip


def swings(torch, cure):
    """A: does the loss rise again, with a rate that suits a single gradient?"""
    w = torch.tensor([4.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.05 if cure == "smaller rate" else 0.4)
    losses, sizes = [], []
    for _ in range(12):
        if cure == "zero_grad":
            optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward(retain_graph=cure == "retain_graph=True")
        before = w.item()
        optimizer.step()
        losses.append(loss.item())
        sizes.append(abs(w.item() - before))
    return any(later > before + 1e-6 for before, later in zip(losses, losses[1:], strict=False)) or sizes[1] > sizes[0]


def dropout_net(torch):
    return torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Dropout(0.5), torch.nn.Linear(64, 1))


def two_losses(torch, cure):
    """B: do two evaluations of one batch differ?"""
    model, x = dropout_net(torch), torch.ones(2, 4)
    model.train()
    if cure == "eval()":
        model.eval()
    return not near(flat(model(x)), flat(model(x)), 1e-7)


def no_dropout(torch, cure):
    """C: is the model still in evaluation mode in the second epoch?"""
    model, x = dropout_net(torch), torch.ones(2, 4)
    model.eval()  # to measure the accuracy
    model(x)
    if cure == "train()":
        model.train()
    return near(flat(model(x)), flat(model(x)), 1e-7)


def stuck(torch, cure):
    """D: where does the cross-entropy of perfect scores end?"""
    scores = torch.tensor([[9.0, -9.0, -9.0], [-9.0, 9.0, -9.0], [-9.0, -9.0, 9.0]])
    given = scores if cure == "raw scores" else torch.nn.functional.softmax(scores, dim=1)
    return torch.nn.functional.cross_entropy(given, torch.tensor([0, 1, 2])).item() > 0.5


def at_chance(torch, cure):
    """E: do samples and labels belong together after shuffling?"""
    x, generator = torch.arange(50).to(torch.float32), torch.Generator()
    generator.manual_seed(1)
    label = x * 2
    one = torch.randperm(50, generator=generator)
    other = one if cure == "one permutation" else torch.randperm(50, generator=generator)
    return not near(flat(x[one] * 2), flat(label[other]))


def becomes_the_mean(torch, cure):
    """F: does the loss of perfect predictions differ from zero?"""
    said, target = torch.tensor([[1.0], [2.0], [6.0]]), torch.tensor([1.0, 2.0, 6.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = torch.nn.functional.mse_loss(said.squeeze(1) if cure == "squeeze" else said, target)
    return loss.item() > 1e-6


def new_layer_rests(torch, cure):
    """G: does the new last layer move in a step?"""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1] = torch.nn.Linear(2, 1)
    if cure == "make the optimizer later":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = flat(model[1].bias)
    if cure == "zero_grad":
        optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return near(flat(model[1].bias), before, 1e-7)


def total_grows(torch, cure):
    """H: does the total hold a graph?"""
    model = torch.nn.Linear(2, 1)
    if cure == "eval()":
        model.eval()
    total = 0
    for _ in range(3):
        loss = model(torch.ones(1, 2)).sum()
        total = total + (loss.item() if cure == "item()" else loss)
    return getattr(total, "grad_fn", None) is not None


def nothing_in_parameters(torch, cure):
    """I: are the layers missing from parameters()?"""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layers = [torch.nn.Linear(2, 2) for _ in range(3)]
            self.layers = torch.nn.ModuleList(layers) if cure == "ModuleList" else layers

    return len(list(Model().parameters())) < 6


def rate_gone(torch, cure):
    """J: is the rate gone after one epoch of twenty batches?"""
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
    for _ in range(20):
        w.grad = torch.zeros(1)
        optimizer.step()
        if cure != "once an epoch":
            schedule.step()
    if cure == "once an epoch":
        schedule.step()
    return optimizer.param_groups[0]["lr"] < 1e-3


SYMPTOMS = {"A": swings, "B": two_losses, "C": no_dropout, "D": stuck, "E": at_chance, "F": becomes_the_mean,
            "G": new_layer_rests, "H": total_grows, "I": nothing_in_parameters, "J": rate_gone}  # fmt: skip

EXERCISE = Diagnose(
    id="16c.3", title="Ten symptoms", minutes=8, difficulty=2, puzzles=(12, 16),
    question="Ten scripts with one bug each; which change cures it? Two of the twelve are not needed.",
    hints=(
        "B and C are about two modes of the same model. Which of them is it in, and which should it be in?",
        "In G, I and H ask who holds what: the optimizer its parameters, the model its layers, the total its graphs.",
        "D, E and F are about what the loss is given. In each of them the shapes fit well enough not to raise.",
    ),
    why="A: gradients add up. B, C: eval() for measuring, train() afterwards. D: cross_entropy applies log-softmax "
    "itself. E: one permutation for samples and labels. F: (n, 1) minus (n,) is (n, n). G: the optimizer was made "
    "before. H: a total of tensors keeps all graphs. I: a Python list is no module. J: the schedule was stepped with "
    "each batch.",
    right={"A": "zero_grad", "B": "eval()", "C": "train()", "D": "raw scores", "E": "one permutation", "F": "squeeze",
           "G": "make the optimizer later", "H": "item()", "I": "ModuleList", "J": "once an epoch"},
    symptoms=SYMPTOMS, choices=CHOICES, ask="one of the twelve changes",
    mistakes=(
        Mistake("slower swings", "A: with a smaller rate it swings more slowly. The steps still grow, because each one "
                "uses the sum of all gradients so far.", {"A": "smaller rate"}),
        Mistake("retained", "A: each pass has a graph of its own here. What is left over from the last one is not its "
                "graph.", {"A": "retain_graph=True"}),
        Mistake("the other mode", "B: in train mode dropout draws anew each time. That is what the author sees.",
                {"B": "train()"}),
        Mistake("the same twice", "B: it is one batch, evaluated twice. The order of the samples plays no part.",
                {"B": "one permutation"}),
        Mistake("the mode it is in", "C: the model is in eval mode already, since the first measuring. That is the "
                "symptom.", {"C": "eval()"}),
        Mistake("overfitting by rate", "C: the rate has not changed after the first epoch. Something else has, and it "
                "concerns dropout.", {"C": ("smaller rate", "once an epoch")}),
        Mistake("not the rate", "D: with any rate the loss ends there, because even perfect scores give 0.55. "
                "What does "
                "cross_entropy do with its input?", {"D": ("smaller rate", "zero_grad")}),
        Mistake("not the labels", "D: the network is right about every sample, so samples and labels belong "
                "together.", {"D": ("one permutation", "squeeze")}),
        Mistake("no rate learns chance", "E: after shuffling, sample and label do not belong together. There "
                "is nothing "
                "to learn, at any rate.", {"E": ("smaller rate", "zero_grad")}),
        Mistake("no mode learns chance", "E: dropout or not, there is nothing to learn if sample and label do not "
                "belong together.", {"E": ("train()", "eval()")}),
        Mistake("scores are fine", "E: before shuffling it was fine, with the same loss.", {"E": "raw scores"}),
        Mistake("regression has no softmax", "F: it is a regression, its outputs are raw already. What about the "
                "sizes?", {"F": "raw scores"}),
        Mistake("pairs are right", "F: samples and targets are in the right order. Print the shape of their "
                "difference.", {"F": ("one permutation", "smaller rate")}),
        Mistake("registered already", "G: the new layer is in the model, and gets gradients. Who should step it?",
                {"G": "ModuleList"}),
        Mistake("gradients are there", "G: the gradient of the new layer is there, and is right. Nobody reads it.",
                {"G": ("zero_grad", "train()", "retain_graph=True")}),
        Mistake("a mode records", "H: eval() changes what layers do. It does not switch off recording.",
                {"H": ("eval()", "train()")}),
        Mistake("nothing to retain", "H: far too much is retained already. Who holds the graphs?",
                {"H": ("retain_graph=True", "zero_grad")}),
        Mistake("asked too early", "I: whenever the optimizer asks for parameters, the layers in the list are not "
                "found.", {"I": "make the optimizer later"}),
        Mistake("faster is not it", "J: the rate is small enough, and soon far too small. How often is it divided?",
                {"J": "smaller rate"}),
        Mistake("the optimizer is fine", "J: the optimizer steps what it should, with a rate that is nearly nothing.",
                {"J": ("make the optimizer later", "zero_grad")}),
    ),
)  # fmt: skip
