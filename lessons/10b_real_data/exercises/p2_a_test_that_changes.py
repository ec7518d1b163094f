"""Exercise 10b.p2: which test changes the network?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def truth(torch):
    """The cases in which the running mean is another one afterwards."""
    changed = set()
    for letter in "ABCD":
        norm = torch.nn.BatchNorm1d(1)
        norm.train(letter in "AB")
        with torch.set_grad_enabled(letter in "AC"):
            norm(torch.tensor([[1.0], [3.0]]))
        if norm.running_mean.item() != 0:
            changed.add(letter)
    return changed


EXERCISE = Predict(
    id="10b.p2", title="A test that changes the network", minutes=2, difficulty=2,
    question="A batch goes through a batch norm: A in train mode; B in train mode under no_grad; C in eval mode; D in "
    "eval mode under no_grad. In which cases is the running mean another one afterwards?",
    hints=(
        "Does batch norm need a gradient to move its running mean?",
        "What exactly does no_grad switch off (lesson 09)?",
    ),
    solution='answer = ["A", "B"]',
    why="The running mean is moved by the forward pass, in train mode. no_grad only says that operations are not "
    "recorded, and a write needs no record.",
    alternatives=('answer = "A, B"', 'answer = {"B", "A"}'),
    read=names_among("A", "B", "C", "D"), truth=truth, wanted='Give a list with some of "A", "B", "C" and "D".',
    shown="the mode decides about the buffers, and no_grad only about the graph.",
    otherwise="Ask of each case two questions: in which mode is it, and does recording matter for a write?",
    mistakes=(
        Mistake("no_grad protects", "B: no_grad switches off recording. The running mean is moved by the forward pass "
                "itself, and not by a gradient.", ["A"]),
        Mistake("only recording decides", "You let recording decide, and not the mode. C: in eval mode the buffers are "
                "only read.", ["A", "C"]),
        Mistake("anything but both", "C: eval mode alone is enough to keep the buffers as they are.", ["A", "B", "C"]),
        Mistake("every pass", "In eval mode batch norm uses the buffers in place of the batch, and writes nothing.",
                ["A", "B", "C", "D"]),
        Mistake("only steps change", "No step is needed: buffers are not parameters. In train mode the forward pass "
                "writes them.", []),
        Mistake("the modes swapped", "You have the modes the wrong way round: eval mode is the one that only reads.",
                ["C", "D"]),
        Mistake("no_grad writes", "B is right. But with recording it writes as well: recording does not matter here.",
                ["B"], also=(["B", "D"],)),
    ),
    reveals=("Only the mode decides", "forward pass itself writes the buffers",
             "switches off recording, and not training"),
)  # fmt: skip
