"""Exercise 10b.2: a test that leaves no trace."""

import copy
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import flat, near
from lessons.training import random_tensor

MOST = 32  # rows of a batch


class Task:
    """A network with two batch norms, one of them frozen, data for it, and a log of its forward passes."""

    def __init__(self, torch, rows, training):
        nn, self.torch = torch.nn, torch
        self.frozen = nn.BatchNorm1d(5)
        self.net = nn.Sequential(nn.Linear(3, 5), self.frozen, nn.Dropout(0.3), nn.Linear(5, 6), nn.BatchNorm1d(6),
                                 nn.ReLU(), nn.Linear(6, 4))  # fmt: skip
        for layer in (self.net[1], self.net[4]):  # averages that are far from those of any batch
            layer.running_mean.copy_(random_tensor(torch, len(layer.running_mean)))
        self.inputs = random_tensor(torch, rows, 3) * 2
        self.labels = torch.tensor([random.randrange(4) for _ in range(rows)])
        self.data = torch.utils.data.TensorDataset(self.inputs, self.labels)
        self.net.train(training)
        self.frozen.eval()
        reference = copy.deepcopy(self.net).eval()
        with torch.no_grad():
            self.outputs = reference(self.inputs)
        self.rows, self.woken, self.recorded = [], [], []
        self.net.register_forward_hook(lambda *given: self.note(*given))  # a function: a copy of the net keeps it

    def note(self, net, given, outputs):
        """A forward pass: how many rows, was any layer in train mode, and is there a graph?"""
        self.rows.append(len(given[0]))
        self.woken.append(any(layer.training for layer in net.modules()))
        self.recorded.append(outputs.requires_grad)

    def loss(self, outputs, labels):
        """The mean cross-entropy."""
        return self.torch.nn.functional.cross_entropy(outputs, labels).item()


def check(answer, torch):
    for rows, training in ((70, True), (64, True), (33, False), (5, True)):
        task = Task(torch, rows, training)
        state = {name: flat(value) for name, value in task.net.state_dict().items()}
        returned = answer(torch, task.net, task.data)
        verdict = (
            judged_passes(task, rows)
            or judged_traces(task, state)
            or judged_numbers(task, returned, rows)
        )  # fmt: skip
        if verdict:
            return verdict
    return correct("the right two numbers, and the network does not know that it was tested.")


def judged_passes(task, rows):
    """Judge the forward passes."""
    if not task.rows:
        return not_yet("The network that you were given, or a copy of it, was never called on the data.")
    if any(task.woken):
        return almost("tested in train mode")
    if any(task.recorded):
        return almost("a graph")
    if max(task.rows) > MOST:
        return almost("all at once")
    if sum(task.rows) < rows:
        return almost("a batch left out")
    return None


def judged_traces(task, state):
    """Judge what was left behind. (The guard looks at the modes.)"""
    if state != {name: flat(value) for name, value in task.net.state_dict().items()}:
        return not_yet("Parameters or buffers of the network are not what they were before.")
    return None


def judged_numbers(task, returned, rows):
    """Judge the pair that came back."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        return not_yet("Two numbers should come back: the mean loss, and the share of right answers.")
    if any(isinstance(value, task.torch.Tensor) for value in returned):
        return almost("tensors")
    right = (task.outputs.argmax(1) == task.labels).sum().item()
    loss, share = task.loss(task.outputs, task.labels), right / rows
    found = [float(value) for value in returned]
    if near(found, [loss, share]):
        return None
    parts = [task.loss(task.outputs[i : i + MOST], task.labels[i : i + MOST]) for i in range(0, rows, MOST)]
    if near(found, [share, loss]):
        return almost("the other way round")
    if near(found[:1], [loss]):
        named = {right: "a count", 100 * share: "percent", 1 - share: "the wrong ones"}
        named |= {right / len(parts): "divided by batches"}
        return next((almost(name) for value, name in named.items() if near(found[1:], [value])), not_yet(
            f"The share of right answers should be {share:.4f}; yours is {found[1]:.4f}."))  # fmt: skip
    named = {"mean of means": sum(parts) / len(parts), "sum of means": sum(parts), "a sum": loss * rows,
             "divided twice": sum(parts) / rows, "softmax twice": task.loss(task.outputs.softmax(1), task.labels),
             "the last batch": parts[-1]}  # fmt: skip
    name = next((name for name, value in named.items() if near(found[:1], [value])), "")
    return almost(name) if name else not_yet(f"The mean loss should be {loss:.4f}; yours is {found[0]:.4f}.")


STARTER = """\
def tested(torch, net, data):
    cross_entropy = torch.nn.CrossEntropyLoss()
    losses, right = [], 0
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=32, drop_last=True):
        outputs = net(inputs)
        losses.append(cross_entropy(outputs, targets))
        right += (outputs.argmax(1) == targets).sum()
    return sum(losses) / len(losses), right / len(data)
"""
SOLUTION = """\
def tested(torch, net, data):
    cross_entropy = torch.nn.CrossEntropyLoss()
    modes = {layer: layer.training for layer in net.modules()}
    net.eval()
    loss = right = 0
    with torch.no_grad():
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=32):
            outputs = net(inputs)
            loss += cross_entropy(outputs, targets).item() * len(targets)
            right += (outputs.argmax(1) == targets).sum().item()
    for layer, mode in modes.items():
        layer.training = mode
    return loss / len(data), right / len(data)
"""
MODES = "    for layer, mode in modes.items():\n        layer.training = mode\n"

EXERCISE = Exercise(
    id="10b.2", kind="repair", title="A test without a trace", minutes=12, difficulty=3,
    question="Return the mean loss over all samples of `data` and the share of right answers, as two numbers, tested "
    "in eval mode, with no graph and at most 32 rows at a time. Afterwards the network is as it was found: buffers, "
    "and the mode of each layer.",
    name="tested", starter=STARTER,
    hints=(
        "The last batch may be smaller. How much should it count in the mean over all samples?",
        "Which line decides from where batch norm takes its mean? And which modes does that line forget?",
        "net.modules() gives the network and all layers in it. Each has a flag `training`.",
    ),
    solution=SOLUTION,
    why="Each layer's mode is noted and put back, since train() would also wake layers that were frozen on purpose. "
    "Each batch counts by its rows. eval() and no_grad do different things, and both are needed.",
    alternatives=(
        edit("    modes = {layer: layer.training for layer in net.modules()}\n    net.eval()\n",
             "    import copy\n\n    net = copy.deepcopy(net).eval()\n", MODES, ""),
        edit("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="sum")', " * len(targets)", ""),
        edit("with torch.no_grad():", "with torch.inference_mode():"),
    ),
    mistakes=(
        Mistake("guard: wrote into an argument", "In train mode the forward pass of batch norm itself moves its "
                "buffers, under no_grad too. Does the test run in eval mode?", edit("    net.eval()\n", "")),
        Mistake("tested in train mode", "A forward pass runs with a layer in train mode. There batch norm looks at the "
                "batch, and dropout throws numbers away.",
                edit("    net.eval()\n", "    import copy\n\n    net = copy.deepcopy(net).train()\n", MODES, "")),
        Mistake("a graph", "The outputs have a graph that nobody will use. eval() does not switch recording off.",
                edit("with torch.no_grad():", "if True:")),
        Mistake("all at once", "More than 32 rows go through the network at once. On a large data set they would not "
                "fit into memory.", edit("batch_size=32", "batch_size=len(data)")),
        Mistake("a batch left out", "Some samples were never tested: those of the last batch, which is smaller.",
                edit("batch_size=32", "batch_size=32, drop_last=True")),
        Mistake("guard: left a setting", "Each layer has a flag of its own. Which line notes all of them before the "
                "test, and which line puts each back?", edit(MODES, "")),
        Mistake("guard: left a setting, by waking a frozen layer", "", edit(MODES, "    net.train()\n")),
        Mistake("mean of means", "The loss is the mean of the batches' means. A last batch with fewer rows counts as "
                "much as a full one, so its samples count too much.",
                edit(" * len(targets)", "", "loss / len(data)", "loss / -(-len(data) // 32)")),
        Mistake("sum of means", "The loss is a sum over the batches. The more data, the larger it is.",
                edit(" * len(targets)", "", "loss / len(data)", "loss")),
        Mistake("a sum", "The loss is the sum over all samples. Asked is their mean.",
                edit("loss / len(data)", "loss")),
        Mistake("divided twice", "The loss of each batch is a mean already, and here it is divided by the number of "
                "samples once more.", edit(" * len(targets)", "")),
        Mistake("softmax twice", "The loss is that of probabilities. Cross-entropy wants the scores, and takes the "
                "softmax by itself.", edit("cross_entropy(outputs,", "cross_entropy(outputs.softmax(1),")),
        Mistake("the last batch", "The loss is that of the last batch alone.",
                edit("loss += cross_entropy(outputs, targets).item() * len(targets)",
                     "loss = cross_entropy(outputs, targets).item() * len(data)")),
        Mistake("a count", "The second number says how many answers are right. Asked is their share.",
                edit("right / len(data)", "right")),
        Mistake("percent", "The share comes in percent. A share is between 0 and 1.",
                edit("right / len(data)", "100 * right / len(data)")),
        Mistake("the wrong ones", "The second number is the share of wrong answers.",
                edit("right / len(data)", "1 - right / len(data)")),
        Mistake("tensors", "A tensor comes back, and a number was asked for. (Added up over the batches, it would also "
                "be an operation for each of them.)", edit("targets).sum().item()", "targets).sum()")),
        Mistake("the other way round", "The share comes first in your pair. The mean loss should.",
                edit("loss / len(data), right / len(data)", "right / len(data), loss / len(data)")),
    ),
    check=check,
)  # fmt: skip
