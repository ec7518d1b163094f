"""Exercise 10b.3: the best epoch."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import flat, near, numbers
from lessons.training import fresh, random_tensor


class Epochs:
    """A random task for `keep_best`: a network, and test losses whose course over the epochs is laid down."""

    def __init__(self, torch, best, epochs, course):
        nn = torch.nn
        self.torch, self.best, self.epochs, self.states, self.changed = torch, best, epochs, {}, False
        self.trained, self.tested = [], []  # (train mode?, grad mode?); (epoch, train mode?, with a graph?)
        self.model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.2), nn.Linear(3, 1))
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.SGD(self.parameters, lr=0.1)
        lowest, *others, highest = sorted(numbers(epochs, low=0.5, high=40.0))
        self.losses = random.sample(others, len(others))
        self.losses.insert(random.randrange(len(others)), highest)  # not as the last
        self.losses.insert(best, lowest)
        self.losses = [course(loss, lowest) for loss in self.losses]

    def run(self, model):
        """The loss of the model on a random batch."""
        x, t = random_tensor(self.torch, 4, 2), random_tensor(self.torch, 4, 1)
        return self.torch.nn.functional.mse_loss(model(x), t)

    def train_epoch(self, model):
        """Two steps, in the mode in which the model is."""
        if self.states and state_of(model) != self.states[max(self.states)]:
            self.changed = True
        self.trained.append((model.training, self.torch.is_grad_enabled()))
        for _ in range(2):
            self.optimizer.zero_grad()
            with self.torch.enable_grad():  # so that what is wrong can be told afterwards
                self.run(model).backward()
            self.optimizer.step()

    def test_loss(self, model):
        """A forward pass, in the mode in which the model is; its loss is the one laid down for this epoch."""
        epoch = len(self.trained) - 1
        self.states[epoch] = state_of(model)
        loss = self.run(model) * 0 + self.losses[epoch]
        self.tested.append((epoch, model.training, loss.requires_grad))
        return loss


def state_of(model):
    return {name: flat(value) for name, value in model.state_dict().items()}


def check(answer, torch):
    for best, epochs, course in (
        (random.choice((1, 2)), 5, lambda loss, lowest: loss),
        (2, 5, lambda loss, lowest: loss - lowest),  # the best is 0
        (random.choice((0, 5)), 6, lambda loss, lowest: loss - 50),  # all are negative
        (1, 4, lambda loss, lowest: loss * 1e6),
    ):
        task = Epochs(torch, best, epochs, course)
        returned = answer(torch, task.model, task.train_epoch, task.test_loss, epochs)
        verdict = judged_run(torch, task, returned)
        if verdict:
            return verdict
    return correct("a copy of the best state, buffers too, tested without a graph and without a trace.")


def judged_run(torch, task, returned):
    """The verdict about one run, or None when it was as it should be."""
    if len(task.trained) != task.epochs or [epoch for epoch, _, _ in task.tested] != list(range(task.epochs)):
        return not_yet(f"Epochs: {task.epochs}. Trainings: {len(task.trained)}, tests: {len(task.tested)}. Each epoch "
                       "should train once, and then be tested once.")  # fmt: skip
    if any(training for _, training, _ in task.tested):
        return almost("tested in train mode")
    if not all(training for training, _ in task.trained):
        return almost("trained in eval mode")
    if not all(recording for _, recording in task.trained):
        return almost("trained without recording")
    if any(recording for _, _, recording in task.tested):
        return almost("a graph for the test")
    if isinstance(returned, torch.Tensor):
        return almost("a tensor returned")
    if not isinstance(returned, float):
        return not_yet("The best test loss should come back as a number.")
    if not near([returned], [min(task.losses)], 1e-6):
        if min(task.losses) == 0 and any(near([returned], [loss], 1e-6) for loss in task.losses[task.best + 1 :]):
            return almost("zero is no loss")
        if near([returned], [task.losses[-1]]):
            return almost("the last loss")
        return almost("the highest loss") if near([returned], [max(task.losses)]) else not_yet(
            f"The smallest test loss was {min(task.losses):.4f}; what came back is {returned:.4f}.")  # fmt: skip
    if task.changed:
        return almost("put back too early")
    return not_the_best(task)


def not_the_best(task):
    """The verdict about a model that should be in its best state, or None when it is."""
    model, state, now = task.model, task.states[task.best], state_of(task.model)
    parameters = {name for name, _ in model.named_parameters()}
    wrong = [name for name in state if now[name] != state[name]]
    if not wrong:
        if any(p is not old for p, old in zip(model.parameters(), task.parameters, strict=True)):
            return almost("other parameters")
        return None if all(p.requires_grad for p in task.parameters) else not_yet("The parameters are frozen now.")
    if now == task.states[task.epochs - 1]:
        return almost("the last epoch")
    if not parameters & set(wrong):
        return almost("buffers forgotten")
    if now == task.states.get(task.best - 1):
        return almost("an epoch too early")
    if now in task.states.values():
        return not_yet("The model is in the state of a test, but not of the one with the lowest loss.")
    return not_yet(f"The model is in no state that it had at a test: {', '.join(wrong)} should have other values.")


BEST = """\
def keep_best(torch, model, train_epoch, test_loss, epochs):
    best = float("inf")
    for _ in range(epochs):
        train_epoch(model)
        loss = test_loss(model)
        if loss < best:
            best, kept = loss, model.state_dict()
    model.load_state_dict(kept)
    return best
"""
TESTED = "        model.eval()\n        with torch.no_grad():\n            loss = test_loss(model).item()\n"
SOLVED_5 = (
    BEST.replace("        train_epoch", "        model.train()\n        train_epoch")
    .replace("        loss = test_loss(model)\n", TESTED)
    .replace("model.state_dict()", "copy.deepcopy(model.state_dict())")
    .replace("def keep", "import copy\n\n\ndef keep")
)
COPIED = "copy.deepcopy(model.state_dict())"

EXERCISE = Exercise(
    id="10b.3", kind="repair", title="The best epoch", minutes=8, difficulty=2,
    question="Afterwards the model must be what it was when the test loss was lowest, buffers and all, and that loss "
    "comes back as a number. Each epoch trains on from the one before, in train mode; testing wants eval mode and no "
    "graph.",
    name="keep_best", starter=BEST,
    hints=(
        "Go through it line by line and ask what it writes. Which line writes into the state that was kept?",
        "The test is a forward pass. What does that write in train mode, and what does it keep?",
        "eval() stays until somebody calls train(). Where does the next epoch begin?",
    ),
    solution=SOLVED_5,
    why="The state is copied when it is the best; the test runs in eval mode, under no_grad, and gives a number; and "
    "every epoch begins with train().",
    alternatives=(
        SOLVED_5.replace(COPIED, "{name: value.clone() for name, value in model.state_dict().items()}"),
        SOLVED_5.replace("            best, kept = loss, " + COPIED,
                             "            best = loss\n            kept = [copy.deepcopy(model.state_dict())]")
            .replace("load_state_dict(kept)", "load_state_dict(kept.pop())")
            .replace("        model.train()\n", "")
            .replace("        if loss", "        model.train()\n        if loss"),
        SOLVED_5.replace("        with torch.no_grad():\n    ", "        model.requires_grad_(False)\n")
            .replace("        if loss", "        model.requires_grad_(True)\n        if loss"),
    ),
    mistakes=(
        Mistake("the last epoch", "The model is in the state of the last epoch. Was the best state copied, or does "
                "it share the memory that later steps write to? And was it put back into this model?",
                SOLVED_5.replace(COPIED, "dict(model.state_dict())")),
        Mistake("an epoch too early", "The model is in the state of the epoch before the best one. When is the state "
                "copied: before the training that made it the best, or after the test?",
                SOLVED_5.replace("        model.train()\n", "        before = copy.deepcopy(model.state_dict())\n"
                                 "        model.train()\n").replace("loss, " + COPIED, "loss, before")),
        Mistake("zero is no loss", "A test loss was exactly 0, and a later one, which is higher, has come back. (0.0 "
                "counts as false: `not best` and `best or …` take it for nothing.)",
                SOLVED_5.replace("loss < best", "not best or loss < best").replace('float("inf")', "None")),
        Mistake("buffers forgotten", "The parameters are those of the best epoch, but not all buffers are. Batch "
                "norm has running averages (and counts its batches), and they belong to the state, too.",
                SOLVED_5.replace(COPIED, "[p.detach().clone() for p in model.parameters()]")
                    .replace("    model.load_state_dict(kept)\n", "    with torch.no_grad():\n"
                             "        for p, old in zip(model.parameters(), kept):\n            p.copy_(old)\n")),
        Mistake("tested in train mode", "The test runs in train mode: batch norm uses the test batch, and moves its "
                "averages by it.", SOLVED_5.replace("        model.eval()\n", "")),
        Mistake("trained in eval mode", "An epoch trains in eval mode, without dropout: after a test the model stays "
                "in that mode.", SOLVED_5.replace("        model.train()\n", "")),
        Mistake("a graph for the test", "The test builds a graph that nobody will use. eval() does not switch "
                "recording off.", SOLVED_5.replace("        with torch.no_grad():\n            loss", "        loss")),
        Mistake("trained without recording", "An epoch begins under no_grad, where no graph is built: a loss made "
                "there has no backward. Only the test wants that.",
                SOLVED_5.replace("def keep_best", "@torch.no_grad()\ndef keep_best")
                    .replace("        with torch.no_grad():\n            loss", "        loss")),
        Mistake("put back too early", "Between a test and the next epoch the model's state has changed, so that "
                "epoch trains on from another state than the one before has reached.",
                SOLVED_5.replace("    model.load_state_dict(kept)\n", "        model.load_state_dict(kept)\n")),
        Mistake("other parameters", "The values are right, but the model has other parameters than before. The "
                "optimizer holds the old ones: whoever trains on would move those.",
                SOLVED_5.replace("load_state_dict(kept)", "load_state_dict(kept, assign=True)")),
        Mistake("the last loss", "The loss of the last epoch comes back. The smallest one was asked for.",
                SOLVED_5.replace("return best", "return loss")),
        Mistake("the highest loss", "The highest test loss comes back. The best epoch is the one with the lowest.",
                SOLVED_5.replace("loss < best", "loss > best").replace('float("inf")', 'float("-inf")')),
        Mistake("guard: left a setting", "",
                SOLVED_5.replace("        with torch.no_grad():\n    ", "        torch.set_grad_enabled(False)\n")
                    .replace("        model.train()\n",
                             "        model.train()\n        torch.set_grad_enabled(True)\n")),
        Mistake("guard: swallows errors", "An epoch that fails is left out, and the test loss of the others comes "
                "back as if nothing had been.",
                SOLVED_5.replace("        train_epoch(model)\n", "        try:\n            train_epoch(model)\n"
                                 "        except Exception:\n            continue\n")),
        Mistake("a tensor returned", "A tensor comes back, perhaps with a graph behind it. A number was asked for.",
                SOLVED_5.replace(".item()", "")),
    ),
    may_change=("model", "model.training"),
    prepare=fresh,
    check=check,
)  # fmt: skip
