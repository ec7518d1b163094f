"""Exercise 10.3: which happens?"""

import random

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import near
from lessons.training import fresh

PROGRAMS = {
    "A": ("loss = loss_of()", "loss.backward(retain_graph=True)", "optimizer.step()", "loss.backward()",
          "optimizer.step()"),
    "B": (
        "one_round()",
        "before = [p.item() for p in model.parameters()]",
        "loss = loss_of()",
        "torch.optim.SGD(model[0].parameters(), lr=0.1).step()",
        "optimizer.zero_grad()",
        "loss.backward()",
    ),
    "C": ("kept = model.state_dict()", "one_round()", "model.load_state_dict(kept)"),
    "D": (
        "kept = {name: value.clone() for name, value in model.state_dict().items()}",
        "one_round()",
        "model.load_state_dict(kept)",
    ),
    "E": ("model[1] = torch.nn.Linear(1, 1, bias=False)", "before = [p.item() for p in model.parameters()]",
          "one_round()"),
    "F": ("model.double()", "x, t = x.double(), t.double()", "one_round()"),
    "G": ("one_round()", "before = [p.item() for p in model.parameters()]", "model[1].requires_grad_(False)",
          "optimizer.step()"),
    "H": ("optimizer = torch.optim.SGD([p.double() for p in model.parameters()], lr=0.1)", "one_round()"),
}  # fmt: skip


def slopes_right(now, space):
    """Are the gradients those of (uvx - t)² at the weights that computed the loss?"""
    (u, v), t = space["before"], space["t"].item()
    return near([p.grad.item() for p in space["model"].parameters()], [2 * (u * v - t) * v, 2 * (u * v - t) * u])


RIGHT = {  # (the weights now, the space) -> was it what the comment wanted?
    "A": lambda now, space: True,
    "B": slopes_right,
    "C": lambda now, space: now == [1.0, 1.0],
    "D": lambda now, space: now == [1.0, 1.0],
    "E": lambda now, space: all(a != b for a, b in zip(now, space["before"], strict=True)),
    "F": lambda now, space: all(value != 1.0 for value in now),
    "G": lambda now, space: now[1] == space["before"][1],
    "H": lambda now, space: all(value != 1.0 for value in now),
}


def run_10_2(torch, letter):
    """Run one program and say which of the four outcomes it has."""
    model, optimizer = fresh(torch, momentum=0.9)
    t = random.uniform(2.5, 3.5)
    space = {"torch": torch, "model": model, "optimizer": optimizer, "x": torch.ones(1, 1), "t": torch.full((1, 1), t)}

    def loss_of():
        return torch.nn.MSELoss()(model(space["x"]), space["t"])

    def one_round():
        space["optimizer"].zero_grad()
        loss_of().backward()
        space["optimizer"].step()

    space |= {"loss_of": loss_of, "one_round": one_round}

    def right(space):
        return RIGHT[letter]([p.item() for p in model.parameters()], space)

    return happens(PROGRAMS[letter], space, right, (RuntimeError, ValueError))


EXERCISE = WhichHappens(
    id="10.3", title="Which happens?", minutes=8, difficulty=2, puzzles=(8,),
    question="Eight programs around the lesson's network: fine, raises now, raises at backward or silently wrong?",
    hints=(
        "For A and B: which of the two weights does backward still have to read, and was that one written to?",
        "For C to F: do two names mean one memory, and do the optimizer and the model mean the same tensors?",
        "For G: what does a step look at, and what is still there? For H: is p.double() a parameter of the model, or a "
        "result that was computed from one?",
    ),
    why="A writes a weight that backward has to read; B writes the one that it does not. C keeps no copy, D does. In "
    "E the optimizer holds the old layer, in F the model has its old parameters with new values. In G an old gradient "
    "is used once more, and H offers results.",
    right={"A": "raises at backward", "B": "fine", "C": "silently wrong", "D": "fine", "E": "silently wrong",
           "F": "fine", "G": "silently wrong", "H": "raises now"},
    measure=run_10_2,
    shown="you found the three loops that are silently wrong, C, E and G.",
    mistakes=(
        Mistake("retained is enough", "A: retain_graph keeps the slots, not the values in them. The step wrote to "
                "the last weight, which the second pass must read.", {"A": "fine"}),
        Mistake("old slope at new weights", "A: that is what the check of versions prevents: an error, and no wrong "
                "number.", {"A": "silently wrong"}),
        Mistake("the step is refused", "A: a step between two passes is allowed. The trouble comes when somebody "
                "reads.", {"A": "raises now"}),
        Mistake("any write", "B: a write harms only where somebody kept that tensor. The input is plain, so the "
                "first weight was kept by nobody.", {"B": "raises at backward"}),
        Mistake("wrong slopes", "B: the slopes are made of the error, the last weight and what the first layer gave. "
                "Has any of these been written to?", {"B": "silently wrong"}),
        Mistake("a copy", "C: a dictionary of its own, but not of copies: its tensors lie in the model's memory, "
                "where the step has written.", {"C": "fine"}),
        Mistake("two optimizers", "B: any number of optimizers may hold the same parameters. A step asks nobody.",
                {"B": "raises now"}),
        Mistake("loading refused", "C: load_state_dict copies values into the parameters, without recording. It may "
                "copy them onto themselves.", {"C": "raises now"}),
        Mistake("loaded too late", "C: the only backward is the one inside one_round(), and nothing has been written "
                "before it.", {"C": "raises at backward"}),
        Mistake("clones refused", "D: load_state_dict wants a dictionary with the right names and shapes; whose "
                "tensors they are is all the same to it.", {"D": "raises now"}),
        Mistake("clones change", "D: clone() has memory of its own. What the step writes does not arrive there.",
                {"D": "silently wrong"}),
        Mistake("the name counts", "E: the model finds the new layer by its place, but the optimizer holds the "
                "tensors of the old one.", {"E": "fine"}),
        Mistake("it complains", "E: nobody compares the model with the optimizer. A parameter without gradient is "
                "skipped in silence.", {"E": ("raises now", "raises at backward")}),
        Mistake("new parameters", "F: double() changes the type inside the parameters. The optimizer holds the very "
                "same objects.", {"F": "silently wrong"}),
        Mistake("the type changed", "F: model and data are double by now, so their gradients are, too, and the step "
                "computes with what is double.", {"F": ("raises now", "raises at backward")}),
        Mistake("frozen rests", "G: the flag keeps new gradients away. The old one is still in .grad, and a step "
                "asks for no more.", {"G": "fine"}),
        Mistake("frozen refuses", "G: nothing is refused. A step runs under no_grad, and a frozen tensor may be "
                "written to.", {"G": "raises now"}),
        Mistake("frozen graph", "G: no backward runs after the freezing. The second line only steps.",
                {"G": "raises at backward"}),
        Mistake("results taken", "H: not silently. An optimizer looks at what it is given, and p.double() is a "
                "result, no leaf.", {"H": "silently wrong"}),
        Mistake("results learn", "H: p.double() is a result, computed from p. Steps would change the result, and the "
                "model would never see it; so it is refused.", {"H": "fine"}),
        Mistake("results later", "H: it does raise, but not so late: the optimizer looks at its parameters when it "
                "is made.", {"H": "raises at backward"}),
    ),
    prepare=fresh,
)  # fmt: skip
