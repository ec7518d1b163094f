"""Exercise 10.1: who writes what?"""

from coursekit.judge.exercise import Exercise, Mistake, correct, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import flat, set_of_names
from lessons.training import fresh, random_tensor, tables_but


def values_of(tensors):
    """The numbers of some tensors; None where there is none."""
    return [None if tensor is None else flat(tensor) for tensor in tensors]


KINDS = ("parameters", "gradients", "buffers", "state", "rates")
LINES = {
    "A": "optimizer.zero_grad()",
    "B": "loss = mse(model(x), t)",
    "C": "loss.backward()",
    "D": "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)",
    "E": "optimizer.step()",
    "F": "scheduler.step()",
}
WRITES = {
    "A": ["gradients"],
    "B": ["buffers"],
    "C": ["gradients"],
    "D": ["gradients"],
    "E": ["parameters", "state"],
    "F": ["rates"],
}
WRONG_WRITES = {  # (letter, what is wrongly there or missing) -> the mistake
    ("A", "state"): "cleared memory",
    ("A", "parameters"): "zeroed weights",
    ("A", "gradients"): "nothing cleared",
    ("B", "buffers"): "forward only reads",
    ("B", "parameters"): "forward learns",
    ("B", "gradients"): "forward makes gradients",
    ("C", "parameters"): "backward steps",
    ("C", "gradients"): "backward leaves nothing",
    ("C", "buffers"): "buffers learn",
    ("C", "state"): "backward remembers",
    ("D", "parameters"): "clipped weights",
    ("D", "gradients"): "clip only looks",
    ("E", "gradients"): "step clears",
    ("E", "state"): "nothing remembered",
    ("E", "parameters"): "the step only plans",
    ("E", "rates"): "step sets rates",
    ("E", "buffers"): "step averages",
    ("F", "parameters"): "the scheduler steps",
    ("F", "state"): "rates in the state",
    ("F", "rates"): "nothing scheduled",
}


def contents(model, optimizer):
    """Everything that a line of the loop could change, as numbers."""
    return {
        "parameters": values_of(model.parameters()),
        "gradients": values_of(p.grad for p in model.parameters()),
        "buffers": values_of(buffer.to(dtype=model[0].weight.dtype) for buffer in model.buffers()),
        "state": {i: {k: flat(v) for k, v in of.items()} for i, of in optimizer.state_dict()["state"].items()},
        "rates": [group["lr"] for group in optimizer.param_groups],
    }


def writes_of_lines(torch):
    """{letter: what the line changed}, found by running the loop and comparing."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    space = {"torch": torch, "model": model, "optimizer": optimizer, "mse": nn.MSELoss()}
    space["scheduler"] = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    found = {}
    for _ in range(3):
        space |= {"x": random_tensor(torch, 5, 2), "t": 10 + random_tensor(torch, 5, 1)}
        for letter, line in LINES.items():
            before = contents(model, optimizer)
            exec(line, space)
            after = contents(model, optimizer)
            found[letter] = {kind for kind in KINDS if before[kind] != after[kind]}
    return found


def check(answer, torch):
    if not isinstance(answer, dict) or not set(LINES) <= set(answer):
        return not_yet("Keep the dictionary with its six letters, and put a list in the place of each None.")
    given = {letter: set_of_names(answer[letter]) for letter in LINES}
    given = {letter: names and {name.lower() for name in names} for letter, names in given.items()}
    for letter, names in given.items():
        if names is None or not names <= set(KINDS):
            return not_yet(f"For {letter}, give a list with some of: {', '.join(KINDS)}. It may be empty.")
    truth = writes_of_lines(torch)
    wrong = [letter for letter in LINES if given[letter] != truth[letter]]
    named = {letter: mistake for letter in wrong if (mistake := mistake_in_line(letter, given[letter], truth[letter]))}
    shown = "you know what each line of a loop changes, and so what you may put between them."
    return judged_rows(wrong, list(LINES), named, "lines are right") or correct(shown)


def mistake_in_line(letter, given, truth):
    """The name of the first mistake about one line: what is wrongly there, or else what is missing."""
    for kind in [*sorted(given - truth), *sorted(truth - given)]:
        if (letter, kind) in WRONG_WRITES:
            return WRONG_WRITES[letter, kind]
    return None


writes_but = tables_but("writes", WRITES)

EXERCISE = Exercise(
    id="10.1", kind="predict state", title="Who writes what?", minutes=3, difficulty=1,
    question="Which of parameters, gradients, buffers, state and rates does each line of the loop change?",
    name="writes", starter="writes = {" + ", ".join(f'"{letter}": None' for letter in LINES) + "}",
    hints=(
        "Read each line as in the lesson: what does it need to find, and where does it leave its result?",
        "One line changes two of the five. And one changes something although it is not meant to change anything.",
    ),
    solution=f"writes = {WRITES!r}",
    why="zero_grad, backward and clipping write gradients; step reads those, and writes parameters and what it "
    "remembers; the scheduler writes rates. The forward pass moves the averages of batch norm.",
    alternatives=(
        f"writes = { {letter: tuple(reversed(kinds)) for letter, kinds in WRITES.items()}!r}",
        f"writes = { {letter: ', '.join(kinds) for letter, kinds in WRITES.items()}!r}",
    ),
    mistakes=(
        Mistake("cleared memory", "A: zero_grad lets go of gradients. The momentum of earlier steps stays with the "
                "optimizer.", writes_but("A", ["gradients", "state"])),
        Mistake("forward only reads", "B: a forward pass in train mode writes, too: batch norm moves its running "
                "averages.", writes_but("B", [])),
        Mistake("forward makes gradients", "B: the forward pass builds a graph, and no gradient arrives before "
                "backward.", writes_but("B", ["buffers", "gradients"])),
        Mistake("backward steps", "C: backward brings gradients to the parameters and changes none of them. Another "
                "line does that.", writes_but("C", ["gradients", "parameters"])),
        Mistake("buffers learn", "C: no gradient ever goes to a buffer. What changes it is a forward pass.",
                writes_but("C", ["gradients", "buffers"])),
        Mistake("clipped weights", "D: parameters() only names them. What is shortened is what stands in their .grad.",
                writes_but("D", ["parameters"])),
        Mistake("clip only looks", "D: it returns the norm, but the _ at the end of its name says that it writes. "
                "Into what?", writes_but("D", [])),
        Mistake("step clears", "E: step only reads .grad. The gradients are still there afterwards; another line "
                "clears them.", writes_but("E", ["gradients", "parameters", "state"])),
        Mistake("nothing remembered", "E: with momentum, a step also changes the sum that the next step will begin "
                "with.", writes_but("E", ["parameters"])),
        Mistake("step sets rates", "E: step reads the rate of each group. Writing it is another object's work.",
                writes_but("E", ["parameters", "rates", "state"])),
        Mistake("step averages", "E: the optimizer was given parameters(), and buffers are not among them.",
                writes_but("E", ["buffers", "parameters", "state"])),
        Mistake("the scheduler steps", "F: in spite of its name, this step moves no parameter. It prepares the next "
                "one that does.", writes_but("F", ["parameters", "rates"])),
        Mistake("rates in the state", "F: rates stand in the groups. What an optimizer remembers of each parameter "
                "stands in its state.", writes_but("F", ["rates", "state"])),
        Mistake("zeroed weights", "A: what is set to zero, or to None, are gradients. The parameters keep their "
                "values.", writes_but("A", ["gradients", "parameters"])),
        Mistake("nothing cleared", "A: what the round before has left in .grad is gone after this line. That is a "
                "change.", writes_but("A", [])),
        Mistake("backward leaves nothing", "C: something has to be there for the step to use. Which of the five is "
                "it, and who brings it?", writes_but("C", [])),
        Mistake("forward learns", "B: the forward pass reads the parameters and writes to none of them.",
                writes_but("B", ["buffers", "parameters"])),
        Mistake("backward remembers", "C: what the optimizer remembers is written when it steps. backward knows of "
                "no optimizer.", writes_but("C", ["gradients", "state"])),
        Mistake("the step only plans", "E: this is the line that moves the parameters. Nothing else in the loop does.",
                writes_but("E", ["state"])),
        Mistake("nothing scheduled", "F: the scheduler does change something, with step_size=1 each time.",
                writes_but("F", [])),
    ),
    prepare=fresh,
    check=check,
)  # fmt: skip
