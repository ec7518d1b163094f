"""Exercises of lesson 10: a training loop, who reads what and who writes what."""

import copy
import itertools
import math
import random
import warnings

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows, outcome_table
from course_lib.teach.exercises.shared import as_names, as_number, flat, near, numbers, set_of_names
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

# --- what the checks train ----------------------------------------------------------------------------------


def fresh(torch, lr=0.1, **settings):
    """The lesson's network, two layers of one weight each, both 1, and its optimizer."""
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    for p in model.parameters():
        torch.nn.init.ones_(p)
    return model, torch.optim.SGD(model.parameters(), lr=lr, **settings)


def trains(check):
    """A check that makes optimizers. PyTorch's first one imports for seconds, so one is made before the clock runs."""
    check.prepare = fresh
    return check


def random_tensor(torch, *shape):
    """A tensor of random numbers, away from zero, of either sign."""
    values = [random.choice((-1, 1)) * value for value in numbers(math.prod(shape))]
    return torch.tensor(values).reshape(shape)


def values_of(tensors):
    """The numbers of some tensors; None where there is none."""
    return [None if tensor is None else flat(tensor) for tensor in tensors]


def tables_but(name, table):
    """A function that gives the source of a table of answers, with one of them changed."""
    return lambda letter, said: f"{name} = {table | {letter: said}!r}"


# --- 10.p1 --------------------------------------------------------------------------------------------------

ORDERS = tuple("".join(order) for order in itertools.permutations("ZBS"))


def outcome_of_order(torch, order):
    """The losses of four rounds, or None for an order that raises."""
    model, optimizer = fresh(torch)
    x, t, losses = torch.ones(1, 1), torch.full((1, 1), 3.0), []
    try:
        for _ in range(4):
            loss = torch.nn.MSELoss()(model(x), t)
            losses.append(loss.item())
            for letter in order:
                {"Z": optimizer.zero_grad, "B": loss.backward, "S": optimizer.step}[letter]()
    except RuntimeError:
        return None
    return losses


@trains
def check_10_p1(answer, torch):
    if isinstance(answer, (list, tuple)) and len(answer) == 2 and isinstance(answer[0], (list, tuple)):
        answer = answer[0]  # a pair: the orders that train, and the one that raises
    names = as_names(answer)
    given = None if names is None else {name.upper() for name in names}
    if given is None or not given <= set(ORDERS):
        return not_yet('Give a list with some of the orders "ZBS", "ZSB", "BZS", "BSZ", "SZB" and "SBZ".')
    ran = {order: outcome_of_order(torch, order) for order in ORDERS}
    truth = {order for order, losses in ran.items() if losses == ran["ZBS"]}
    if given == truth:
        return correct("backward before step, and no clearing between them. The one that raises is in the next cell.")
    for order, name in (("BZS", "cleared before"), ("SZB", "the second round"), ("ZSB", "step first"),
                        ("SBZ", "step first")):
        if order in given:
            return almost(name)
    if not given:
        return almost("none")
    return almost("one order" if "ZBS" in given else "cleared late only")


P1 = Exercise(
    id="10.p1", kind="predict", title="Six orders", minutes=2, difficulty=1, puzzles=(12,),
    question="zero_grad (Z), backward (B) and step (S) follow the forward pass in one of six orders. Which of them "
    "train the network as they should?",
    name="answer", starter="answer = None",
    hints=(
        "What does step need to find, and which line puts it there?",
        "The lines form a ring: what comes last in one round comes before the first line of the next.",
    ),
    solution='answer = ["ZBS", "BSZ"]',
    why="step must find what backward has just put there; clearing may come anywhere else. SZB raises, in its second "
    "round: step then has gradients to use, and writes between the forward pass and backward.",
    alternatives=('answer = {"BSZ", "ZBS"}', 'answer = "zbs, bsz"', 'answer = (["ZBS", "BSZ"], "SZB")'),
    mistakes=(
        Mistake("one order",
                "There is a second one. In the ring of rounds, clearing at the end of one is clearing at the start of "
                "the next.", 'answer = ["ZBS"]'),
        Mistake("cleared late only",
                "That one trains. So does the order in which the loop of the question was written.",
                'answer = ["BSZ"]'),
        Mistake("cleared before",
                "In BZS the gradients are cleared after backward and before step. step finds None everywhere, and "
                "nothing moves.", 'answer = ["ZBS", "BSZ", "BZS"]'),
        Mistake("step first",
                "In an order with Z just before S, or at the end of a round that begins with S, step never finds a "
                "gradient.", 'answer = ["ZBS", "BSZ", "SBZ"]'),
        Mistake("the second round",
                "SZB uses the gradients of the round before, and writes the weights after the forward pass has kept "
                "them. Which comparison fails then?", 'answer = ["ZBS", "BSZ", "SZB"]'),
        Mistake("none",
                "An empty list: then no loop would ever train. The order of the question is a good one.",
                "answer = []"),
    ),
    check=check_10_p1,
)  # fmt: skip


# --- 10.p2 --------------------------------------------------------------------------------------------------


def early_stopping(torch):
    """What the question's program prints."""
    model, optimizer = fresh(torch, lr=0.25)
    x, t, best = torch.ones(1, 1), torch.full((1, 1), 3.0), {"loss": math.inf}
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.MSELoss()(model(x), t).backward()
        optimizer.step()
        loss = torch.nn.MSELoss()(model(x), t).item()
        if loss < best["loss"]:
            best = {"loss": loss, "state": model.state_dict()}
    model.load_state_dict(best["state"])
    return best["loss"], torch.nn.MSELoss()(model(x), t).item()


@trains
def check_10_p2(answer, torch):
    if "error" in str(answer).lower():
        return almost("refused")
    given = [as_number(value) for value in answer] if isinstance(answer, (list, tuple)) else []
    if len(given) != 2 or None in given:
        return not_yet("Give a pair of numbers: the best loss that was noted, and the loss after load_state_dict.")
    if near(given, early_stopping(torch)):
        return correct("a state that nobody copied is the model itself, whatever epoch you took it from.")
    wrong = {(1, 1): "a snapshot", (4, 4): "both from the end", (4, 1): "the other way round"}
    named = wrong.get(tuple(given))
    return almost(named) if named else not_yet("The losses are 1, 4, 1, 4, and the last line prints two of them.")


P2 = Exercise(
    id="10.p2", kind="predict", title="The best epoch", minutes=2, difficulty=2,
    question="The loss after the four epochs is 1, 4, 1, 4. Which two numbers are printed?",
    name="answer", starter="answer = None",
    hints=(
        "loss is a number, and a number does not change afterwards. Is a dictionary of tensors like that?",
        "A step writes in place. Who looks at the memory that it writes to?",
    ),
    solution="answer = (1, 4)",
    why="The loss was noted as a number. The state is a dictionary of tensors in the model's memory, and every later "
    "step wrote there; load_state_dict copied the weights onto themselves.",
    alternatives=("answer = [1.0, 4.0]", 'answer = "1, 4"'),
    mistakes=(
        Mistake("a snapshot",
                "So it is meant. It would be so if the dictionary held copies; but step writes in place, and whose "
                "memory does state_dict() hand out?", "answer = (1, 1)"),
        Mistake("both from the end",
                "The loss was noted as a number, by item(), when it was 1. Nothing writes to a number.",
                "answer = (4, 4)"),
        Mistake("the other way round",
                "The first number is the smallest loss that was seen; look again at what `if` lets through.",
                "answer = (4, 1)"),
        Mistake("refused",
                "Nothing raises. load_state_dict copies numbers into parameters, and numbers may also be copied onto "
                "themselves.", 'answer = (1, "error")'),
    ),
    check=check_10_p2,
)  # fmt: skip


# --- 10.1 ---------------------------------------------------------------------------------------------------

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


@trains
def check_10_1(answer, torch):
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
EX1 = Exercise(
    id="10.1", kind="predict state", title="Who writes what?", minutes=5, difficulty=1,
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
        Mistake("cleared memory",
                "A: zero_grad lets go of gradients. The momentum of earlier steps stays with the optimizer.",
                writes_but("A", ["gradients", "state"])),
        Mistake("forward only reads",
                "B: a forward pass in train mode writes, too: batch norm moves its running averages.",
                writes_but("B", [])),
        Mistake("forward makes gradients",
                "B: the forward pass builds a graph, and no gradient arrives before backward.",
                writes_but("B", ["buffers", "gradients"])),
        Mistake("backward steps",
                "C: backward brings gradients to the parameters and changes none of them. Another line does that.",
                writes_but("C", ["gradients", "parameters"])),
        Mistake("buffers learn",
                "C: no gradient ever goes to a buffer. What changes it is a forward pass.",
                writes_but("C", ["gradients", "buffers"])),
        Mistake("clipped weights",
                "D: parameters() only names them. What is shortened is what stands in their .grad.",
                writes_but("D", ["parameters"])),
        Mistake("clip only looks",
                "D: it returns the norm, but the _ at the end of its name says that it writes. Into what?",
                writes_but("D", [])),
        Mistake("step clears",
                "E: step only reads .grad. The gradients are still there afterwards; another line clears them.",
                writes_but("E", ["gradients", "parameters", "state"])),
        Mistake("nothing remembered",
                "E: with momentum, a step also changes the sum that the next step will begin with.",
                writes_but("E", ["parameters"])),
        Mistake("step sets rates",
                "E: step reads the rate of each group. Writing it is another object's work.",
                writes_but("E", ["parameters", "rates", "state"])),
        Mistake("step averages",
                "E: the optimizer was given parameters(), and buffers are not among them.",
                writes_but("E", ["buffers", "parameters", "state"])),
        Mistake("the scheduler steps",
                "F: in spite of its name, this step moves no parameter. It prepares the next one that does.",
                writes_but("F", ["parameters", "rates"])),
        Mistake("rates in the state",
                "F: rates stand in the groups. What an optimizer remembers of each parameter stands in its state.",
                writes_but("F", ["rates", "state"])),
        Mistake("zeroed weights",
                "A: what is set to zero, or to None, are gradients. The parameters keep their values.",
                writes_but("A", ["gradients", "parameters"])),
        Mistake("nothing cleared",
                "A: what the round before has left in .grad is gone after this line. That is a change.",
                writes_but("A", [])),
        Mistake("backward leaves nothing",
                "C: something has to be there for the step to use. Which of the five is it, and who brings it?",
                writes_but("C", [])),
        Mistake("forward learns",
                "B: the forward pass reads the parameters and writes to none of them.",
                writes_but("B", ["buffers", "parameters"])),
        Mistake("backward remembers",
                "C: what the optimizer remembers is written when it steps. backward knows of no optimizer.",
                writes_but("C", ["gradients", "state"])),
        Mistake("the step only plans",
                "E: this is the line that moves the parameters. Nothing else in the loop does.",
                writes_but("E", ["state"])),
        Mistake("nothing scheduled",
                "F: the scheduler does change something, with step_size=1 each time.", writes_but("F", [])),
    ),
    check=check_10_1,
)  # fmt: skip


# --- 10.2 ---------------------------------------------------------------------------------------------------

PROGRAMS = {
    "A": ("loss = loss_of()", "loss.backward(retain_graph=True)", "optimizer.step()", "loss.backward()"),
    "B": (
        "step()",
        "before = [p.item() for p in model.parameters()]",
        "loss = loss_of()",
        "torch.optim.SGD(model[0].parameters(), lr=0.1).step()",
        "optimizer.zero_grad()",
        "loss.backward()",
    ),
    "C": ("kept = model.state_dict()", "step()", "model.load_state_dict(kept)"),
    "D": (
        "kept = {name: value.clone() for name, value in model.state_dict().items()}",
        "step()",
        "model.load_state_dict(kept)",
    ),
    "E": ("model[1] = torch.nn.Linear(1, 1, bias=False)", "before = [p.item() for p in model.parameters()]", "step()"),
    "F": ("model.double()", "x, t = x.double(), t.double()", "step()"),
    "G": ("step()", "before = [p.item() for p in model.parameters()]", "model[1].requires_grad_(False)",
          "optimizer.step()"),
    "H": ("optimizer = torch.optim.SGD([p.double() for p in model.parameters()], lr=0.1)", "step()"),
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
HAPPENS = {
    "A": "raises at backward",
    "B": "fine",
    "C": "silently wrong",
    "D": "fine",
    "E": "silently wrong",
    "F": "fine",
    "G": "silently wrong",
    "H": "raises now",
}
WRONG_HAPPENS = {
    ("A", "fine"): "retained is enough",
    ("A", "silently wrong"): "old slope at new weights",
    ("A", "raises now"): "the step is refused",
    ("B", "raises at backward"): "any write",
    ("B", "silently wrong"): "wrong slopes",
    ("B", "raises now"): "two optimizers",
    ("C", "fine"): "a copy",
    ("C", "raises now"): "loading refused",
    ("C", "raises at backward"): "loaded too late",
    ("D", "silently wrong"): "clones change",
    ("D", "raises now"): "clones refused",
    ("E", "fine"): "the name counts",
    ("E", "raises now"): "it complains",
    ("E", "raises at backward"): "it complains",
    ("F", "silently wrong"): "new parameters",
    ("F", "raises now"): "the type changed",
    ("F", "raises at backward"): "the type changed",
    ("G", "fine"): "frozen rests",
    ("G", "raises now"): "frozen refuses",
    ("G", "raises at backward"): "frozen graph",
    ("H", "silently wrong"): "results taken",
    ("H", "fine"): "results learn",
    ("H", "raises at backward"): "results later",
}


def run_10_2(torch, letter):
    """Run one program and say which of the four outcomes it has."""
    model, optimizer = fresh(torch, momentum=0.9)
    t = random.uniform(2.5, 3.5)
    space = {"torch": torch, "model": model, "optimizer": optimizer, "x": torch.ones(1, 1), "t": torch.full((1, 1), t)}

    def loss_of():
        return torch.nn.MSELoss()(model(space["x"]), space["t"])

    def step():
        space["optimizer"].zero_grad()
        loss_of().backward()
        space["optimizer"].step()

    space |= {"loss_of": loss_of, "step": step}

    def right(space):
        return RIGHT[letter]([p.item() for p in model.parameters()], space)

    return happens(PROGRAMS[letter], space, right, (RuntimeError, ValueError))


@trains
def check_10_2(answer, torch):
    return check_table(
        answer, PROGRAMS, lambda letter: run_10_2(torch, letter), WRONG_HAPPENS,
        shown="of three loops that say nothing and do something else you can say why.",
    )  # fmt: skip


def happens_but(letter, outcome):
    return outcome_table("happens", HAPPENS, {letter: outcome})


EX2 = Exercise(
    id="10.2", kind="which happens", title="Which happens?", minutes=8, difficulty=2, puzzles=(8,),
    question="Eight programs around the lesson's network: fine, raises now, raises at backward or silently wrong?",
    name="happens", starter="happens = {" + ", ".join(f'"{letter}": None' for letter in HAPPENS) + "}",
    hints=(
        "For A and B: which of the two weights does backward still have to read, and was that one written to?",
        "For C to F: do two names mean one memory, and do the optimizer and the model mean the same tensors?",
        "For G: what does a step look at, and what is still there?",
    ),
    solution=outcome_table("happens", HAPPENS),
    why="A writes a weight that backward has to read; B writes the one that it does not. C keeps no copy, D does. In "
    "E the optimizer holds the old layer, in F the model has its old parameters with new values. In G an old gradient "
    "is used once more, and H offers results.",
    alternatives=(
        f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",
        f"happens = { {letter: f' {phrase.capitalize()} ' for letter, phrase in HAPPENS.items()}!r}",
    ),
    mistakes=(
        Mistake("retained is enough",
                "A: retain_graph keeps the slots, not the values in them. The step wrote to the last weight, which the "
                "second pass must read.", happens_but("A", "fine")),
        Mistake("old slope at new weights",
                "A: that is what the check of versions prevents: an error, and no wrong number.",
                happens_but("A", "silently wrong")),
        Mistake("the step is refused",
                "A: a step between two passes is allowed. The trouble comes when somebody reads.",
                happens_but("A", "raises now")),
        Mistake("any write",
                "B: a write harms only where somebody kept that tensor. The input is plain, so the first weight was "
                "kept by nobody.", happens_but("B", "raises at backward")),
        Mistake("wrong slopes",
                "B: the slopes are made of the error, the last weight and what the first layer gave. Has any of these "
                "been written to?", happens_but("B", "silently wrong")),
        Mistake("a copy",
                "C: a dictionary of its own, but not of copies: its tensors lie in the model's memory, where the step "
                "has written.", happens_but("C", "fine")),
        Mistake("two optimizers",
                "B: any number of optimizers may hold the same parameters. A step asks nobody.",
                happens_but("B", "raises now")),
        Mistake("loading refused",
                "C: load_state_dict copies values into the parameters, without recording. It may copy them onto "
                "themselves.", happens_but("C", "raises now")),
        Mistake("loaded too late",
                "C: the only backward is the one inside step(), and nothing has been written before it.",
                happens_but("C", "raises at backward")),
        Mistake("clones refused",
                "D: load_state_dict wants a dictionary with the right names and shapes; whose tensors they are is all "
                "the same to it.", happens_but("D", "raises now")),
        Mistake("clones change",
                "D: clone() has memory of its own. What the step writes does not arrive there.",
                happens_but("D", "silently wrong")),
        Mistake("the name counts",
                "E: the model finds the new layer by its place, but the optimizer holds the tensors of the old one.",
                happens_but("E", "fine")),
        Mistake("it complains",
                "E: nobody compares the model with the optimizer. A parameter without gradient is skipped in silence.",
                happens_but("E", "raises now")),
        Mistake("new parameters",
                "F: double() changes the type inside the parameters. The optimizer holds the very same objects.",
                happens_but("F", "silently wrong")),
        Mistake("the type changed",
                "F: model and data are double by now, so their gradients are, too, and the step computes with what is "
                "double.",
                happens_but("F", "raises now")),
        Mistake("frozen rests",
                "G: the flag keeps new gradients away. The old one is still in .grad, and a step asks for no more.",
                happens_but("G", "fine")),
        Mistake("frozen refuses",
                "G: nothing is refused. A step runs under no_grad, and a frozen tensor may be written to.",
                happens_but("G", "raises now")),
        Mistake("frozen graph",
                "G: no backward runs after the freezing. The second line only steps.",
                happens_but("G", "raises at backward")),
        Mistake("results taken",
                "H: not silently. An optimizer looks at what it is given, and p.double() is a result, no leaf.",
                happens_but("H", "silently wrong")),
        Mistake("results learn",
                "H: p.double() is a result, computed from p. Steps would change the result, and the model would never "
                "see it; so it is refused.", happens_but("H", "fine")),
        Mistake("results later",
                "H: it does raise, but not so late: the optimizer looks at its parameters when it is made.",
                happens_but("H", "raises at backward")),
    ),
    check=check_10_2,
)  # fmt: skip


# --- 10.3 ---------------------------------------------------------------------------------------------------

RATE, ROWS = 0.02, 5  # of the optimizer; of a micro-batch, more than there are micro-batches in any batch
DEVIATIONS = {  # what a loop can do otherwise: (the choice that is asked for, others), each with a mistake's name
    "clear": ("batch", {"part": "only the last part", "never": "never cleared"}),
    "share": ("parts", {
        "one": "sum of means", "batches": "divided by something else", "rows": "averaged twice",
        "size": "divided by its rows", "each": "divided as it grows", "after": "clipped before it is divided",
        "total": "summed over the rows", "all": "summed over the rows", "two": "divided by two"}),
    "clip": ("batch", {"part": "clipped too often", "never": "not clipped", "own": "clipped one by one",
                       "value": "clipped by value", "always": "made longer"}),
    "rate": ("late", {"early": "first rate skipped", "part": "a rate for each part", "never": "rate never changed",
                      "twice": "two rates a batch"}),
}


def run_loop(torch, model, batches, most, clear="batch", share="parts", clip="batch", rate="late"):
    """The parameters after the loop of exercise 10.3, or of one that deviates from it; and the norms on the way."""
    model, norms = copy.deepcopy(model), []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

    def shorten():
        parameters, utils = list(model.parameters()), torch.nn.utils
        if clip == "own":
            return [utils.clip_grad_norm_([p], most) for p in parameters]
        if clip == "value":
            return utils.clip_grad_value_(parameters, most)
        if clip == "always":
            norm = math.sqrt(sum(p.grad.square().sum().item() for p in parameters))
            return [p.grad.mul_(most / norm) for p in parameters]
        norms.append(utils.clip_grad_norm_(parameters, most).item())

    def divide(by):
        for p in model.parameters():
            p.grad.div_(by)

    for parts in batches:
        if clear == "batch":
            optimizer.zero_grad()
        for x, t in parts:
            if clear == "part":
                optimizer.zero_grad()
            by = {"parts": len(parts), "batches": len(batches), "rows": len(x) * len(parts),
                  "size": len(x), "total": len(parts) / len(x), "all": 1 / len(x), "two": 2}.get(share, 1)  # fmt: skip
            (torch.nn.MSELoss()(model(x), t) / by).backward()
            if share == "each":
                divide(len(parts))
            if clip == "part":
                shorten()
            if rate == "part":
                scheduler.step()
        if clip not in ("part", "never"):
            shorten()
        if share == "after":
            divide(len(parts))
        if rate == "early":
            scheduler.step()
        optimizer.step()
        for _ in range({"late": 1, "twice": 2}.get(rate, 0)):
            scheduler.step()
    return [flat(p) for p in model.parameters()], norms


FIRST_DRAFT = {"clear": "part", "share": "one", "clip": "part", "rate": "early"}  # what the starter does


def worlds():
    """The ways to deviate, in few places first: (the settings, the name of the first mistake in them).

    In one place, in two, or in any number of places as the starter does.
    """
    every = [[(key, right, None)] + [(key, other, name) for other, name in others.items()]
             for key, (right, others) in DEVIATIONS.items()]  # fmt: skip
    found = []
    for choice in itertools.product(*every):
        names = [name for _, _, name in choice if name]
        drafted = all(name is None or FIRST_DRAFT[key] == value for key, value, name in choice)
        if names and (len(names) <= 2 or drafted):
            found.append((len(names), {key: value for key, value, _ in choice}, names[0]))
    return [(settings, name) for _, settings, name in sorted(found, key=lambda one: one[0])]


def task_10_3(torch, quiet):
    """A random network, three batches of micro-batches, and a norm that two of them exceed and one does not.

    That one, of `quiet` parts, would not exceed it even if its parts and rows were added and not averaged, so that
    wrong factors show.
    """
    others = [parts for parts in (2, 3, 4) if parts != quiet]
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()

    def part(scale):
        x, t = random_tensor(torch, ROWS, 2).double(), random_tensor(torch, ROWS, 1).double() * scale
        return x, t if scale > 1 else t + model(x).detach()

    while True:
        plan = random.sample([(quiet, 0.03), (others[0], 8.0), (others[1], 4.0)], 3)
        batches = [[part(scale) for _ in range(parts)] for parts, scale in plan]
        most = random.uniform(2, 3)
        _, norms = run_loop(torch, model, batches, most)
        small, middle, _ = sorted(norms)
        if small * 1.2 * ROWS * len(batches[norms.index(small)]) < most < middle / 1.2:
            ends = [run_loop(torch, model, batches, most, clip=clip)[0] for clip in ("never", "own", "value")]
            if not any(same_lists(one, other) for one, other in itertools.combinations(ends, 2)):
                return model, batches, most


def run_answer(answer, torch, model, batches, most):
    """The parameters after the learner's loop, and what was seen on the way.

    seen: "sizes" of what went through the model, "graphs" at a time, "events" in their order ("B" a backward pass, "S"
    a step, "N" a step that finds no gradient), "rates", how often the scheduler was called.
    """
    mine, sizes, arrived, seen = copy.deepcopy(model), [], [], {"graphs": 0, "events": ""}

    def ran(module, inputs, result):
        sizes.append(len(result))
        seen["graphs"] = max(seen["graphs"], len(sizes) - len(arrived))

    def passed(grad):
        arrived.append(grad)
        seen["events"] += "B"

    def steps(*_):
        seen["events"] += "S" if any(p.grad is not None for p in mine.parameters()) else "N"

    mine.register_forward_hook(ran)
    mine[2].bias.register_hook(passed)  # called once for each backward pass
    optimizer = torch.optim.SGD(mine.parameters(), lr=RATE)
    optimizer.register_step_pre_hook(steps)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    answer(torch, mine, optimizer, scheduler, batches, most)
    seen |= {"sizes": sizes, "rates": scheduler.last_epoch, "training": mine.training}
    return [flat(p) for p in mine.parameters()], seen


def same_lists(one, other):
    """Equal up to the 1e-6 that clip_grad_norm_ adds to the norm before it divides."""
    return all(near(a, b, 1e-5) for a, b in zip(one, other, strict=True))


def judged_loop(answer, torch, quiet):
    """The verdict about one random task, or None when it was solved."""
    model, batches, most = task_10_3(torch, quiet)
    wanted, _ = run_loop(torch, model, batches, most)
    got, seen = run_answer(answer, torch, model, batches, most)
    if sum(seen["sizes"]) != sum(len(x) for parts in batches for x, _ in parts):
        return not_yet("Each micro-batch should go through the model once.")
    if max(seen["sizes"]) > ROWS:
        return almost("one big batch")
    if "B" not in seen["events"]:
        return not_yet("No backward pass has reached the model.")
    if seen["graphs"] > 1:
        return almost("all graphs at once")
    return judged_steps(torch, model, batches, most, got, wanted, seen)


def judged_steps(torch, model, batches, most, got, wanted, seen):
    """The verdict about the order of the events, and then about the numbers."""
    steps, parts = seen["events"].replace("B", ""), sum(map(len, batches))
    if not steps:
        return not_yet("The optimizer that was given has taken no step.")
    if "S" not in steps:
        return almost("cleared before the step")
    if "SS" in seen["events"]:
        return almost("two steps, one gradient")
    if len(steps) != len(batches):
        if "N" not in steps and len(steps) == parts:
            return almost("a step for each part")
        return almost("too few steps") if len(steps) < len(batches) else not_yet(
            f"There are {len(batches)} batches and {len(steps)} steps.")  # fmt: skip
    if "N" in steps:
        return almost("a step too early")
    if not seen["training"]:
        return almost("in eval mode")
    if same_lists(got, wanted):
        return None if seen["rates"] == len(batches) else almost("a rate is missing at the end")
    for settings, name in worlds():
        if same_lists(got, run_loop(torch, model, batches, most, **settings)[0]):
            late = name == "rate never changed" and seen["rates"]
            return almost("scheduler after the loop" if late else name)
    return not_yet("The parameters are not those of one step for each batch, as the question describes it.")


@trains
def check_10_3(answer, torch):
    for quiet in random.sample((2, 3), 2):  # no fixed number is right for both
        with warnings.catch_warnings():  # the wrong order of scheduler and optimizer warns; the check says more
            warnings.filterwarnings("ignore", message=".*")
            verdict = judged_loop(answer, torch, quiet)
        if verdict:
            return verdict
    return correct("the gradient is complete, then shortened once, then used at the rate that holds, then cleared.")


FIT = """\
def fit(torch, model, optimizer, scheduler, batches, most):
    mse = torch.nn.MSELoss()
    for parts in batches:
{}"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), most)"


def fit_source(text):
    """The source of an answer with this body of the outer loop, four spaces further in for each `>`."""
    lines = text.replace("CLIP", CLIP).replace("BACK", "(mse(model(x), t) / len(parts)).backward()").split("; ")
    return FIT.format("".join("    " * (2 + line.count(">")) + line.lstrip(">") + "\n" for line in lines))


EX3 = Exercise(
    id="10.3", kind="repair", title="Repair the loop", minutes=10, difficulty=2,
    question="For each batch, a list of micro-batches of equal size: one step, with the gradient of the mean loss over "
    "the whole batch, clipped to the norm `most`, at the rate set so far; then the scheduler goes on by one.",
    name="fit",
    starter=fit_source("for x, t in parts:; >optimizer.zero_grad(); >mse(model(x), t).backward(); >CLIP; "
                       "scheduler.step(); optimizer.step()"),
    hints=(
        "Say of each line how often it should run: for each micro-batch, or for each batch?",
        "mse averages over one micro-batch. What do the averages of all parts add up to?",
        "When is the gradient complete? What may come between that moment and the step?",
    ),
    solution=fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); scheduler.step()"),
    why="Each part sends its share, one over the number of parts, and they add up in .grad. Then the gradient is "
    "complete: clip it, step, set the next rate. Cleared is before the first part, or after the step.",
    alternatives=(
        fit_source("for x, t in parts:; >BACK; CLIP; optimizer.step(); scheduler.step(); model.zero_grad()"),
        fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); "
                   "for p in model.parameters():; >p.grad /= len(parts); CLIP; optimizer.step(); scheduler.step()"),
        fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; grads = [p.grad for p in model.parameters()]; "
                   "norm = sum(grad.square().sum() for grad in grads).sqrt(); if most < norm:; "
                   ">for grad in grads:; >>grad.mul_(most / norm); optimizer.step(); scheduler.step()"),
    ),
    mistakes=(
        Mistake("only the last part",
                "Only the last micro-batch of each batch counts: zero_grad throws the others away as they come.",
                fit_source("for x, t in parts:; >optimizer.zero_grad(); >BACK; CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("never cleared",
                "The gradients of all earlier batches are still there: nothing clears them.",
                fit_source("for x, t in parts:; >BACK; CLIP; optimizer.step(); scheduler.step()")),
        Mistake("cleared before the step",
                "At every step all gradients are None, so nothing has moved: what backward has put there is cleared "
                "before the step comes, or it comes after the step.",
                fit_source("for x, t in parts:; >BACK; CLIP; optimizer.zero_grad(); optimizer.step(); "
                           "scheduler.step()")),
        Mistake("sum of means",
                "The parts' means are added and not averaged, so the gradient is too long wherever it is not clipped.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); CLIP; "
                           "optimizer.step(); scheduler.step()")),
        Mistake("divided by something else",
                "You divide by 3, as many as there are batches. A mean over one batch has as many shares as that batch "
                "has parts.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >(mse(model(x), t) / len(batches)).backward(); "
                           "CLIP; optimizer.step(); scheduler.step()")),
        Mistake("divided by two",
                "You divide by 2, also in a batch of more parts. How many there are, the batch says.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >(mse(model(x), t) / 2).backward(); CLIP; "
                           "optimizer.step(); scheduler.step()")),
        Mistake("clipped too often",
                "Half a sum is shortened when each part is clipped, and the direction is another one afterwards.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; >CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("not clipped",
                "Some batches take a longer step than allowed: the clipping is missing, or it comes when the step has "
                "already used the gradients.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; optimizer.step(); CLIP; "
                           "scheduler.step()")),
        Mistake("first rate skipped",
                "The scheduler goes on before the step, so the first rate is never used, and each step takes the "
                "rate of the next.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; scheduler.step(); "
                           "optimizer.step()")),
        Mistake("a rate for each part",
                "The scheduler goes on with every micro-batch. It should count steps of the optimizer.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; >scheduler.step(); CLIP; "
                           "optimizer.step()")),
        Mistake("rate never changed",
                "The rate stays what it was: nobody calls the scheduler.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step()")),
        Mistake("in eval mode",
                "The model is in eval mode afterwards. This loop trains: layers such as dropout should be at work.",
                fit_source("model.eval(); optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("guard: left a setting",
                "A warning that you silence here is silent in the whole notebook.",
                "import warnings\n\n\n"
                + fit_source("warnings.simplefilter('ignore'); optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; "
                             "scheduler.step(); optimizer.step()")),
        Mistake("guard: left hooks",
                "Called again, your function would look at every pass twice.",
                fit_source("model.register_forward_hook(lambda module, args, out: norms.append(out)); "
                           "optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "scheduler.step()").replace("    mse", "    norms = []\n    mse")),
        Mistake("two rates a batch",
                "The scheduler goes on twice with every batch, so every step but the first has too small a rate.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "scheduler.step(); scheduler.step()")),
        Mistake("scheduler after the loop",
                "The scheduler is called when all batches are over: every step had the first rate.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step()")
                + "    for _ in batches:\n        scheduler.step()\n"),
        Mistake("a rate is missing at the end",
                "The steps are right, but in the end the scheduler has not been called once for each batch: whoever "
                "trains on would begin at another rate.",
                fit_source("if parts is not batches[0]:; >scheduler.step(); optimizer.zero_grad(); for x, t in parts:; "
                           ">BACK; CLIP; optimizer.step()")),
        Mistake("two steps, one gradient",
                "Two steps follow each other without a backward pass between them: the second uses a gradient that has "
                "been used already.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; optimizer.step(); "
                           "optimizer.step(); scheduler.step()")),
        Mistake("too few steps",
                "There are fewer steps than batches. Each batch wants one, when all its parts have arrived.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; scheduler.step()")
                + "    optimizer.step()\n"),
        Mistake("a step too early",
                "A step finds no gradient at all: where it stands, no backward pass of its batch has run yet, or what "
                "it brought has been cleared.",
                fit_source("optimizer.step(); optimizer.zero_grad(); for x, t in parts:; >BACK; CLIP; "
                           "scheduler.step()")),
        Mistake("averaged twice",
                "mse has averaged over the rows of its part already. You divide by the number of rows once more.",
                fit_source("optimizer.zero_grad(); rows = sum(len(x) for x, t in parts); for x, t in parts:; "
                           ">(mse(model(x), t) / rows).backward(); CLIP; optimizer.step(); scheduler.step()")),
        Mistake("divided by its rows",
                "You divide by the number of rows of a part, and mse has done that already. How large is a part's "
                "share in its batch?",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >(mse(model(x), t) / len(x)).backward(); CLIP; "
                           "optimizer.step(); scheduler.step()")),
        Mistake("divided as it grows",
                "What stands in .grad is divided after each part, so the first parts are divided again and again.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); "
                           ">for p in model.parameters():; >>p.grad /= len(parts); CLIP; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("clipped before it is divided",
                "What is clipped is the sum of the parts, and the mean is made afterwards: it is shorter than allowed.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >mse(model(x), t).backward(); CLIP; "
                           "for p in model.parameters():; >p.grad /= len(parts); optimizer.step(); scheduler.step()")),
        Mistake("clipped one by one",
                "Each parameter's gradient is clipped by itself. All of them together are one vector, with one norm "
                "and one factor.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; for p in model.parameters():; "
                           ">torch.nn.utils.clip_grad_norm_([p], most); optimizer.step(); scheduler.step()")),
        Mistake("clipped by value",
                "Single numbers are cut off at `most`. That changes the direction, and the norm may still be greater.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; "
                           "torch.nn.utils.clip_grad_value_(model.parameters(), most); optimizer.step(); "
                           "scheduler.step()")),
        Mistake("summed over the rows",
                "The squares are summed over the rows of a part, so its gradient has as many shares as there are rows. "
                "A mean was asked for.",
                fit_source('optimizer.zero_grad(); mse = torch.nn.MSELoss(reduction="sum"); for x, t in parts:; >BACK; '
                           "CLIP; optimizer.step(); scheduler.step()")),
        Mistake("made longer",
                "A gradient that is shorter than `most` is made longer. Clipping only ever shortens.",
                fit_source("optimizer.zero_grad(); for x, t in parts:; >BACK; "
                           "norm = sum(p.grad.square().sum() for p in model.parameters()).sqrt(); "
                           "for p in model.parameters():; >p.grad *= most / norm; optimizer.step(); "
                           "scheduler.step()")),
        Mistake("a step for each part",
                "There is a step for every micro-batch. One for the whole batch was asked for, when all parts have "
                "arrived.",
                fit_source("for x, t in parts:; >optimizer.zero_grad(); >mse(model(x), t).backward(); >CLIP; "
                           ">optimizer.step(); scheduler.step()")),
        Mistake("all graphs at once",
                "A micro-batch goes forward before the one before has gone backward, so several graphs are alive "
                "together. A backward for each part frees its graph before the next begins.",
                fit_source("optimizer.zero_grad(); loss = sum(mse(model(x), t) for x, t in parts) / len(parts); "
                           "loss.backward(); CLIP; optimizer.step(); scheduler.step()")),
        Mistake("one big batch",
                "Several micro-batches go through the model at once. They are there because a whole batch does not "
                "fit.",
                fit_source("optimizer.zero_grad(); x, t = (torch.cat(part) for part in zip(*parts)); "
                           "mse(model(x), t).backward(); CLIP; optimizer.step(); scheduler.step()")),
    ),
    may_change=("model",),
    check=check_10_3,
)  # fmt: skip


# --- 10.4 ---------------------------------------------------------------------------------------------------


class Hand:
    """Adam for one number, by hand, and the usual slips of a pen."""

    def __init__(self, start, slip=""):
        self.p, self.m, self.s, self.n, self.slip = start, 0.0, 0.0, 0, slip

    def step(self, g, calls, steps, lr, b1, b2, eps):
        """One step; calls: how often `adam` was called by now, steps: how many parameters it has stepped by now."""
        slip = self.slip
        if g is None and slip != "None as zero":
            return
        g, self.n = g or 0.0, self.n + 1
        n = {"count of calls": calls, "count of all": steps, "count stays 1": 1,
             "a step behind": max(1, self.n - 1)}.get(slip, self.n)
        if slip == "betas exchanged":
            b1, b2 = b2, b1
        if slip in ("shares exchanged", "first shares"):
            b1 = 1 - b1
        if slip == "shares exchanged":
            b2 = 1 - b2
        if self.n == 1 and slip in ("begun with g", "begun with both"):
            self.m = g
        if self.n == 1 and slip in ("begun with squares", "begun with both"):
            self.s = g * g
        self.m = (0 if slip == "average replaced" else b1) * self.m + (1 if slip == "no share" else 1 - b1) * g
        self.s = (0 if slip == "squares replaced" else b2) * self.s
        self.s += (1 if slip == "no share of squares" else 1 - b2) * (abs(g) if slip == "not squared" else g * g)
        if slip in ("shares exchanged", "first shares"):
            b1 = 1 - b1
        if slip == "shares exchanged":
            b2 = 1 - b2
        first = 1 if slip in ("no correction", "no first") else 1 - b1 ** (1 if slip == "first stays" else n)
        second = 1 if slip in ("no correction", "no second") else 1 - b2 ** (1 if slip == "second stays" else n)
        if slip == "eps under the root":
            size = math.sqrt(self.s / second + eps)
        elif slip == "no root":
            size = self.s / second + eps
        elif slip == "root before correction":
            size = math.sqrt(self.s) / second + eps
        else:
            size = math.sqrt(self.s / second) + (0 if slip == "no eps" else eps)
        self.p -= (-1 if slip == "uphill" else 1) * lr * self.m / first / (size or 1)
        self.corrected = self.m / first, self.s / second


SLIPS = {  # what may have slipped -> the name of the mistake
    **{slip: "no correction" for slip in ("no correction", "no first", "no second")},
    **{slip: "shared count" for slip in ("count of calls", "count of all")},
    **{slip: "no share" for slip in ("no share", "no share of squares")},
    **{slip: "count stays 1" for slip in ("count stays 1", "first stays", "second stays")},
    **{slip: "shares exchanged" for slip in ("shares exchanged", "first shares")},
    **{slip: "begun with the gradient" for slip in ("begun with g", "begun with squares", "begun with both")},
    **{slip: "average replaced" for slip in ("average replaced", "squares replaced")},
    **{slip: slip for slip in ("eps under the root", "no root", "root before correction", "betas exchanged",
                               "not squared", "uphill", "None as zero", "stopped at None", "no eps",
                               "a step behind")},
}  # fmt: skip
NAMES = {"step", "exp_avg", "exp_avg_sq"}


@trains
def check_10_4(answer, torch):
    for dtype, shapes in ((torch.float64, ((2,), (), (1, 3))), (torch.float32, ((), (2, 2), (1,)))):
        verdict = judged_adam(answer, torch, dtype, shapes)
        if verdict:
            return verdict
    return correct("two averages and a count for each parameter: this is what a checkpoint has to carry along.")


class ByHand:
    """Three parameters of these shapes, and the same by hand, right and with each slip."""

    def __init__(self, torch, dtype, shapes):
        self.torch, self.dtype, self.shapes = torch, dtype, shapes
        self.start = [[random.uniform(1, 2) for _ in range(math.prod(shape))] for shape in shapes]
        self.params = [self.tensor(values, shape).requires_grad_()
                       for values, shape in zip(self.start, shapes, strict=True)]  # fmt: skip
        self.hands = {slip: [[Hand(v, slip) for v in values] for values in self.start] for slip in ("", *SLIPS)}
        self.near = 1e-7 if dtype is torch.float64 else 1e-4
        self.calls = self.steps = 0

    def tensor(self, values, shape):
        return self.torch.tensor(values, dtype=self.dtype).reshape(shape)

    def go_on(self, gradients, *settings):
        """One step by hand, for each slip."""
        self.calls += 1
        steps = self.steps
        for slip, hands in self.hands.items():
            self.steps, stopped = steps, False
            for hand, g in zip(hands, gradients, strict=True):
                stopped = stopped or (slip == "stopped at None" and g is None)
                self.steps += g is not None
                for one, value in zip(hand, [None] * len(hand) if g is None or stopped else g, strict=True):
                    one.step(value, self.calls, self.steps, *settings)

    def equal(self, slip):
        """Are the parameters where the hand with this slip has them?"""
        return all(near(flat(p), [one.p for one in hand], self.near)
                   for p, hand in zip(self.params, self.hands[slip], strict=True))  # fmt: skip


def judged_adam(answer, torch, dtype, shapes):
    """The verdict about six steps for parameters of these shapes, or None when all are right."""
    by_hand, state, b1, b2, eps = ByHand(torch, dtype, shapes), {}, 0.8, 0.9, 0.05
    params, suspects = by_hand.params, []
    plans = [(1, 1, None), (1, None, None), (1, None, None), (None, 1, None), (0, 1, None), (1, 1, None)]
    for lr, plan in zip((0.1, 0.1, 0.2, 0.05, 0.1, 0.1), plans, strict=True):
        gradients = [None if size is None else [size * g for g in numbers(math.prod(shape))]
                     for size, shape in zip(plan, shapes, strict=True)]  # fmt: skip
        given = [g if g is None else by_hand.tensor(g, shape) for g, shape in zip(gradients, shapes, strict=True)]
        for p, g in zip(params, given, strict=True):
            p.grad = g
        where, marks = [p.data_ptr() for p in params], [p._version for p in params]
        try:
            answer(torch, list(params), state, lr, b1, b2, eps)
        except RuntimeError as error:
            if "leaf Variable" in str(error):
                return almost("recorded")
            raise
        except (TypeError, AttributeError) as error:
            if None in gradients and "NoneType" in str(error):
                answer(torch, [p for p in params if p.grad is not None], {}, lr, b1, b2, eps)  # or is it another None?
                return almost("None is not handled")
            raise
        by_hand.go_on(gradients, lr, b1, b2, eps)
        if any(g is not None and (p.grad is not g or not near(flat(g), values))
               for p, g, values in zip(params, given, gradients, strict=True)):  # fmt: skip
            return almost("gradient changed")
        if [p.data_ptr() for p in params] != where:
            return almost("new memory")
        verdict = judged_values(by_hand)
        if verdict is not None and not isinstance(verdict, list):
            return verdict
        if verdict:  # several slips look alike so far; the next steps tell them apart
            suspects = verdict
            continue
        if verdict := judged_state(by_hand, state):
            return verdict
        if any(p._version == mark for p, mark, g in zip(params, marks, given, strict=True) if g is not None):
            return almost("behind the counter's back")
    if suspects:
        return almost(suspects[0])
    if any(not p.requires_grad or p.grad_fn is not None for p in params):
        return not_yet("Afterwards the parameters should still be leaves that require grad.")
    return None


def judged_values(by_hand):
    """The verdict about where the parameters are, a list of mistakes that it may be, or None when they are right."""
    got = [flat(p) for p in by_hand.params]
    if any(value != value or math.isinf(value) for values in got for value in values):
        late = by_hand.calls == 1
        return almost("counted late") if late else not_yet("A parameter is infinite or no number by now.")
    if by_hand.equal(""):
        return None
    if all(near(one, other, 1e-9) for one, other in zip(got, by_hand.start, strict=True)):
        return almost("names moved")
    names = list(dict.fromkeys(name for slip, name in SLIPS.items() if by_hand.equal(slip)))
    if names:
        return almost(names[0]) if len(names) == 1 else names
    right = [[one.p for one in hand] for hand in by_hand.hands[""]]
    return not_yet(f"The parameters should be {rounded(right)} by now, and they are {rounded(got)}.")


def judged_state(by_hand, state):
    """The verdict about what is remembered, or None when it is right."""
    for place, (p, hand) in enumerate(zip(by_hand.params, by_hand.hands[""], strict=True)):
        known = next((value for key, value in state.items() if key is p), None)
        if not hand[0].n:
            if isinstance(known, dict) and not as_number(known.get("step")):
                return almost("remembered too early")
            continue
        if known is None and state:
            return almost("other keys")
        if not isinstance(known, dict) or not set(known) >= NAMES:
            return not_yet("`state` should have, under each parameter that was stepped, a dictionary with the keys "
                           '"step", "exp_avg" and "exp_avg_sq".')  # fmt: skip
        if as_number(known["step"]) == by_hand.calls == hand[0].n + 1:
            return almost("None counts")
        if as_number(known["step"]) != hand[0].n:
            return not_yet(f'The "step" of a parameter that was stepped {hand[0].n} times is {known["step"]}.')
        averages = known["exp_avg"], known["exp_avg_sq"]
        if any(not hasattr(average, "dtype") for average in averages):
            return not_yet("The averages should be tensors.")
        if any(average.requires_grad for average in averages):
            return almost("averages with a history")
        if any(average.dtype is not p.dtype or average.shape != p.shape for average in averages):
            return almost("averages of another kind")
        exchanged = by_hand.hands["betas exchanged"][place]
        if near(flat(averages[0]), [one.m for one in exchanged], by_hand.near):
            if near(flat(averages[1]), [one.s for one in exchanged], by_hand.near):
                return almost("betas exchanged")
        wanted = [one.m for one in hand], [one.s for one in hand]
        corrected = [one.corrected[0] for one in hand], [one.corrected[1] for one in hand]
        for key, average, right, divided in zip(("exp_avg", "exp_avg_sq"), averages, wanted, corrected, strict=True):
            if not near(flat(average), right, by_hand.near):
                return almost("corrected in place") if near(flat(average), divided, by_hand.near) else not_yet(
                    f'The parameters are right, but "{key}" is {rounded([flat(average)])[0]} under one of them, and '
                    f"should be {rounded([right])[0]}.")  # fmt: skip
    return None


def rounded(lists):
    return [[round(value, 4) for value in values] for values in lists]


ADAM = """\
def adam(torch, params, state, lr, b1, b2, eps):
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                continue
            if p not in state:
                state[p] = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
            mine = state[p]
            mine["step"] += 1
            mine["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)
            mine["exp_avg_sq"].mul_(b2).add_(p.grad**2, alpha=1 - b2)
            m = mine["exp_avg"] / (1 - b1 ** mine["step"])
            s = mine["exp_avg_sq"] / (1 - b2 ** mine["step"])
            p.sub_(lr * m / (s.sqrt() + eps))
"""


def adam_but(*changes):
    """The solution with some of its text replaced."""
    text = ADAM
    for old, new in changes:
        if old not in text:
            raise ValueError(f"the solution has no {old!r}")
        text = text.replace(old, new)
    return text


MAKE = "            if p not in state:\n    "
SKIP = "            if p.grad is None:\n                continue\n"
EX4 = Exercise(
    id="10.4", kind="write it yourself", title="Write Adam", minutes=10, difficulty=3,
    question="One step of Adam for all `params`, in place, by the formulas of the text. `state` comes back each time.",
    name="adam", starter="def adam(torch, params, state, lr, b1, b2, eps):\n    ...\n",
    hints=(
        "Under what must a step run, so that leaves may be written to?",
        "The first three formulas change what is remembered, in place or not. The fourth uses corrected copies of it.",
        "What should happen to the count of a parameter that has no gradient this time?",
    ),
    solution=ADAM,
    why="Everything runs under no_grad, None is skipped before anything is remembered, and the corrected averages are "
    "new tensors, so that the running ones stay as they are.",
    alternatives=(
        """\
@torch.no_grad()
def adam(torch, params, state, lr, b1, b2, eps):
    for p in params:
        if p.grad is not None:
            old = state.get(p, {"step": torch.tensor(0.0), "exp_avg": 0 * p, "exp_avg_sq": 0 * p})
            n, g = old["step"] + 1, p.grad
            m, s = b1 * old["exp_avg"] + (1 - b1) * g, b2 * old["exp_avg_sq"] + (1 - b2) * g * g
            state[p] = {"step": n, "exp_avg": m, "exp_avg_sq": s}
            p -= lr * (m / (1 - b1 ** n.item())) / ((s / (1 - b2 ** n.item())).sqrt() + eps)
""",
    ),
    mistakes=(
        Mistake("recorded",
                "A leaf is written to while operations are recorded. What does step() of every optimizer run under?",
                adam_but(("with torch.no_grad():", "if True:"))),
        Mistake("None is not handled",
                "A parameter without gradient came, and None was computed with. It should be skipped.",
                adam_but((SKIP, ""))),
        Mistake("None as zero",
                "None was treated as zero: the averages shrank, the count went up and the parameter moved.",
                adam_but((SKIP, ""), ("p.grad,", "(p.grad if p.grad is not None else torch.zeros_like(p)),"),
                         ("p.grad**2", "(p.grad if p.grad is not None else torch.zeros_like(p)) ** 2"))),
        Mistake("None counts",
                "A parameter without gradient was not moved, but its step was counted. Its next correction is wrong.",
                adam_but((SKIP, ""), ('            mine["exp_avg"].mul_', SKIP + '            mine["exp_avg"].mul_'))),
        Mistake("no correction",
                "The averages begin at 0 and are too small at first. A divisor is missing, or both are.",
                adam_but((' / (1 - b1 ** mine["step"])', ""), (' / (1 - b2 ** mine["step"])', ""))),
        Mistake("counted late",
                "After the first step something is infinite or no number. Which number is the count when it corrects "
                "for the first time? With 0, both divisors are zero.",
                adam_but(('            mine["step"] += 1\n', ""),
                         ("+ eps))\n", '+ eps))\n            mine["step"] += 1\n'))),
        Mistake("eps under the root",
                "eps stands under the root. It is added to the root, where it keeps the divisor away from zero.",
                adam_but(("(s.sqrt() + eps)", "(s + eps).sqrt()"))),
        Mistake("no root",
                "Without the root the average of squares divides a gradient: one power too many.",
                adam_but(("s.sqrt()", "s"))),
        Mistake("root before correction",
                "The root is taken of the uncorrected average; the divisor belongs under it as well.",
                adam_but((' / (1 - b2 ** mine["step"])', ""),
                         ("s.sqrt()", 's.sqrt() / (1 - b2 ** mine["step"])'))),
        Mistake("betas exchanged",
                "b1 and b2 have changed places: b1 belongs to the average of the gradient.",
                adam_but(("    with torch", "    b1, b2 = b2, b1\n    with torch"))),
        Mistake("no share",
                "The whole gradient, or its whole square, goes into the average. The new one has only a share in it: "
                "what b1, or b2, leaves of one.",
                adam_but(("add_(p.grad, alpha=1 - b1)", "add_(p.grad)"))),
        Mistake("not squared",
                "The second average is one of squares; yours is one of absolute values.",
                adam_but(("p.grad**2", "p.grad.abs()"))),
        Mistake("uphill",
                "The sign is the other way round: the parameter goes up the slope.",
                adam_but(("p.sub_(", "p.add_("))),
        Mistake("corrected in place",
                "The parameter is right, the remembered average is not: the corrected one stands in its place, and "
                "the next step would correct it once more.",
                adam_but(('m = mine["exp_avg"] / (1', 'm = mine["exp_avg"].clone() / (1'),
                         ("+ eps))\n", '+ eps))\n            mine["exp_avg"] = m\n'))),
        Mistake("remembered too early",
                "A parameter that was never stepped has something in `state`. It should appear with its first step.",
                adam_but((SKIP, ""), ("            mine = state[p]\n", SKIP + "            mine = state[p]\n"))),
        Mistake("gradient changed",
                ".grad is only to be read: after your step it holds something else.",
                adam_but(("p.grad**2", "p.grad.pow_(2)"))),
        Mistake("new memory",
                "The parameter has another memory now. The model, and everything that shares it, would not notice.",
                adam_but(("p.sub_(lr * m / (s.sqrt() + eps))", "p.data = p - lr * m / (s.sqrt() + eps)"))),
        Mistake("behind the counter's back",
                "The numbers are right, but the write was not counted: a graph that still needs the old values would "
                "not find out.", adam_but(("p.sub_(", "p.data.sub_("))),
        Mistake("names moved",
                "No parameter has changed. (A line such as p = p - … makes a new tensor, and gives it the name p "
                "inside the loop only.)",
                adam_but(("p.sub_(lr * m / (s.sqrt() + eps))", "p = p - lr * m / (s.sqrt() + eps)"))),
        Mistake("average replaced",
                "A running average keeps b1, or b2, of what it was. Here the new part stands alone, so all earlier "
                "gradients are forgotten.",
                adam_but(('mine["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)',
                          'mine["exp_avg"].copy_((1 - b1) * p.grad)'))),
        Mistake("shared count",
                "One count is kept for all parameters together. Each wants a count of its own steps, for some are "
                "skipped where others are not.",
                adam_but(('mine["step"] += 1', 'mine["step"] = state["n"]'),
                         ("        for p in", '        state["n"] = state.get("n", 0) + 1\n        for p in'))),
        Mistake("count stays 1",
                "A divisor is the same in every step. It must come nearer to 1 as the count goes up.",
                adam_but(('mine["step"] += 1', 'mine["step"] = 1'))),
        Mistake("a step behind",
                "The first step is right, and from the second on the count that corrects is too small by one.",
                adam_but(('            mine["step"] += 1\n', '            n = mine["step"] or 1\n'),
                         ('** mine["step"]', "** n"), ("+ eps))\n", '+ eps))\n            mine["step"] += 1\n'))),
        Mistake("begun with the gradient",
                "An average begins with the first gradient, or with its square. It begins at 0: the divisors make up "
                "for that.",
                adam_but(('"exp_avg": torch.zeros_like(p)', '"exp_avg": p.grad.clone()'))),
        Mistake("shares exchanged",
                "The shares have changed places: an average keeps the part b1 of what it was, and the new gradient has "
                "the rest.",
                adam_but(("mul_(b1).add_(p.grad, alpha=1 - b1)", "mul_(1 - b1).add_(p.grad, alpha=b1)"))),
        Mistake("stopped at None",
                "A parameter that comes after one without gradient was not stepped: None ends the whole round, and "
                "not only the turn of its own parameter.",
                adam_but(("                continue\n", "                return\n"))),
        Mistake("no eps",
                "eps is missing: it is added to the root, before anything is divided by that.",
                adam_but((" + eps)", ")"))),
        Mistake("averages of another kind",
                "An average has another type or shape than its parameter. For parameters in double precision, what is "
                "remembered is rounded to single.",
                adam_but(("torch.zeros_like(p), \"exp_avg_sq\": torch.zeros_like(p)",
                          "torch.zeros(p.shape), \"exp_avg_sq\": torch.zeros(p.shape)"))),
        Mistake("other keys",
                "The parameters are right, but whoever looks into `state` for one of them does not find it: the key "
                "must be the parameter itself.",
                adam_but(("state[p]", "state[id(p)]"), ("p not in state", "id(p) not in state"))),
        Mistake("guard: left a setting",
                "",
                adam_but(("    with torch.no_grad():\n        for", "    torch.set_grad_enabled(False)\n    if True:\n"
                          "        for"))),
        Mistake("averages with a history",
                "What is remembered requires grad. It was computed from a parameter while operations were recorded, "
                "and would keep graphs alive.",
                adam_but(("with torch.no_grad():", "if True:"), ("torch.zeros_like(p), ", "p * 0, "),
                         ('mine["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)',
                          'mine["exp_avg"] = mine["exp_avg"] * b1 + (1 - b1) * p.grad'),
                         ("p.sub_(lr", "p.detach().sub_(lr"))),
    ),
    may_change=("params", "state"),
    check=check_10_4,
)  # fmt: skip


# --- 10.5 ---------------------------------------------------------------------------------------------------


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


@trains
def check_10_5(answer, torch):
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
EX5 = Exercise(
    id="10.5", kind="repair", title="The best epoch", minutes=8, difficulty=2,
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
        Mistake("the last epoch",
                "The model is in the state of the last epoch. Was the best state copied, or does it share the memory "
                "that later steps write to? And was it put back into this model?",
                SOLVED_5.replace(COPIED, "dict(model.state_dict())")),
        Mistake("an epoch too early",
                "The model is in the state of the epoch before the best one. When is the state copied: before the "
                "training that made it the best, or after the test?",
                SOLVED_5.replace("        model.train()\n", "        before = copy.deepcopy(model.state_dict())\n"
                                 "        model.train()\n").replace("loss, " + COPIED, "loss, before")),
        Mistake("zero is no loss",
                "A test loss was exactly 0, and a later one, which is higher, has come back. (0.0 counts as false: "
                "`not best` and `best or …` take it for nothing.)",
                SOLVED_5.replace("loss < best", "not best or loss < best").replace('float("inf")', "None")),
        Mistake("buffers forgotten",
                "The parameters are those of the best epoch, but not all buffers are. Batch norm has running averages "
                "and a count of batches, and they belong to the state, too.",
                SOLVED_5.replace(COPIED, "[p.detach().clone() for p in model.parameters()]")
                .replace("    model.load_state_dict(kept)\n", "    with torch.no_grad():\n"
                         "        for p, old in zip(model.parameters(), kept):\n            p.copy_(old)\n")),
        Mistake("tested in train mode",
                "The test runs in train mode: batch norm uses the test batch, and moves its averages by it.",
                SOLVED_5.replace("        model.eval()\n", "")),
        Mistake("trained in eval mode",
                "An epoch trains in eval mode, without dropout: after a test the model stays in that mode.",
                SOLVED_5.replace("        model.train()\n", "")),
        Mistake("a graph for the test",
                "The test builds a graph that nobody will use. eval() does not switch recording off.",
                SOLVED_5.replace("        with torch.no_grad():\n            loss", "        loss")),
        Mistake("trained without recording",
                "An epoch begins under no_grad, where no graph is built: a loss made there has no backward. Only the "
                "test wants that.",
                SOLVED_5.replace("def keep_best", "@torch.no_grad()\ndef keep_best")
                .replace("        with torch.no_grad():\n            loss", "        loss")),
        Mistake("put back too early",
                "Between a test and the next epoch the model's state has changed, so that epoch trains on from another "
                "state than the one before has reached.",
                SOLVED_5.replace("    model.load_state_dict(kept)\n", "        model.load_state_dict(kept)\n")),
        Mistake("other parameters",
                "The values are right, but the model has other parameters than before. The optimizer holds the old "
                "ones: whoever trains on would move those.",
                SOLVED_5.replace("load_state_dict(kept)", "load_state_dict(kept, assign=True)")),
        Mistake("the last loss",
                "The loss of the last epoch comes back. The smallest one was asked for.",
                SOLVED_5.replace("return best", "return loss")),
        Mistake("the highest loss",
                "The highest test loss comes back. The best epoch is the one with the lowest.",
                SOLVED_5.replace("loss < best", "loss > best").replace('float("inf")', 'float("-inf")')),
        Mistake("guard: left a setting",
                "",
                SOLVED_5.replace("        with torch.no_grad():\n    ", "        torch.set_grad_enabled(False)\n")
                .replace("        model.train()\n", "        model.train()\n        torch.set_grad_enabled(True)\n")),
        Mistake("guard: swallows errors",
                "An epoch that fails is left out, and the test loss of the others comes back as if nothing had been.",
                SOLVED_5.replace("        train_epoch(model)\n", "        try:\n            train_epoch(model)\n"
                                 "        except Exception:\n            continue\n")),
        Mistake("a tensor returned",
                "A tensor comes back, perhaps with a graph behind it. A number was asked for.",
                SOLVED_5.replace(".item()", "")),
    ),
    may_change=("model", "model.training"),
    check=check_10_5,
)  # fmt: skip


# --- 10.6 ---------------------------------------------------------------------------------------------------

CURES = {
    "A": "hand over the new parameters",
    "B": "load the optimizer's state",
    "C": "all backwards before any step",
    "D": "zero_grad() with None",
    "E": "once an epoch",
    "F": "eval()",
    "G": "train()",
    "H": "copy the state",
}
WRONG_CURES = {
    ("A", "copy the state"): "copied for new",
    ("A", "load the optimizer's state"): "a state for a stranger",
    ("A", "train()"): "mode for new",
    ("A", "eval()"): "mode for new",
    ("A", "zero_grad() with None"): "None for new",
    ("B", "copy the state"): "copied for resumed",
    ("B", "train()"): "mode for resumed",
    ("B", "eval()"): "mode for resumed",
    ("B", "once an epoch"): "rate for resumed",
    ("C", "zero_grad() with None"): "cleared for order",
    ("C", "copy the state"): "copied for order",
    ("D", "copy the state"): "copied for drift",
    ("D", "hand over the new parameters"): "handed over for drift",
    ("D", "eval()"): "mode for drift",
    ("D", "train()"): "mode for drift",
    ("E", "load the optimizer's state"): "state for rate",
    ("E", "zero_grad() with None"): "cleared for rate",
    ("E", "hand over the new parameters"): "handed over for rate",
    ("E", "train()"): "mode for rate",
    ("E", "eval()"): "mode for rate",
    ("F", "train()"): "modes exchanged",
    ("G", "eval()"): "modes exchanged",
    ("F", "zero_grad() with None"): "cleared for mode",
    ("G", "copy the state"): "copied for mode",
    ("G", "load the optimizer's state"): "state for mode",
    ("H", "load the optimizer's state"): "state for copy",
    ("H", "eval()"): "mode for copy",
    ("H", "train()"): "mode for copy",
    ("H", "once an epoch"): "rate for copy",
    ("D", "once an epoch"): "rate for drift",
}


def plain(cure):
    """The same for all spellings of a cure."""
    return " ".join(cure.replace("'", "").replace("’", "").replace("()", "").lower().split())


PLAIN = {plain(cure): cure for cure in CURES.values()}


def check_10_6(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put a cure in the place of each None.")
    waiting = [letter for letter in CURES if answer.get(letter) is None]
    if waiting:
        return not_yet(f"There is no answer yet for {', '.join(waiting)}.")
    tidy = {letter: plain(str(answer[letter])) for letter in CURES}
    strange = [letter for letter, said in tidy.items() if said not in PLAIN]
    if strange:
        return not_yet(f"For {', '.join(strange)}, choose one of: {'; '.join(sorted(PLAIN.values()))}.")
    wrong = {letter: PLAIN[said] for letter, said in tidy.items() if PLAIN[said] != CURES[letter]}
    named = {letter: WRONG_CURES[letter, said] for letter, said in wrong.items() if (letter, said) in WRONG_CURES}
    shown = "eight reports that come in every week, and you need one look for each."
    return judged_rows(list(wrong), list(CURES), named, "are right") or correct(shown)


cures_but = tables_but("cures", CURES)
EX6 = Exercise(
    id="10.6", kind="diagnose", title="Diagnose", minutes=6, difficulty=2, puzzles=(8, 13),
    question="Eight bug reports; choose the cure of each. Each cures one.",
    name="cures", starter="cures = {" + ", ".join(f'"{letter}": None' for letter in CURES) + "}",
    hints=(
        "Ask of each report: what does not change although it should, or changes although it should not? Who writes "
        "that?",
        "Two reports are about modes: in one the first mode is missing, in the other the way back.",
        "For E, compute how often the rate has been divided after fifty batches.",
    ),
    solution=f"cures = {CURES!r}",
    why="A: the optimizer holds the old layer. B: momentum and averages start again. C: a step between two backward "
    "passes. D: gradients of zero with momentum or decay. E: the scheduler runs with every batch. F and G: one mode "
    "forgotten, and the way back. H: a state that shares the model's memory.",
    alternatives=(f"cures = dict({', '.join(f'{k}={v!r}' for k, v in reversed(CURES.items()))})",),
    mistakes=(
        Mistake("copied for new",
                "A: nothing was lost here. The new layer has never been stepped; who would have had to know of it?",
                cures_but("A", "copy the state")),
        Mistake("a state for a stranger",
                "A: the optimizer cannot remember anything of tensors that it was never given.",
                cures_but("A", "load the optimizer's state")),
        Mistake("mode for new",
                "A: modes change what layers compute. The others learn; who steps the new one?",
                cures_but("A", "train()")),
        Mistake("None for new",
                "A: the new layer does get gradients. Nobody reads them.",
                cures_but("A", "zero_grad() with None")),
        Mistake("copied for resumed",
                "B: the weights are right, by the reporter's own comparison. What else did the first run carry along?",
                cures_but("B", "copy the state")),
        Mistake("mode for resumed",
                "B: a wrong mode would not recover by itself within a few hundred steps.", cures_but("B", "train()")),
        Mistake("rate for resumed",
                "B: what recovers by itself is not the schedule. Something builds up again that had been lost.",
                cures_but("B", "once an epoch")),
        Mistake("cleared for order",
                "C: clearing writes to no parameter. The message speaks of a weight that was written to too early.",
                cures_but("C", "zero_grad() with None")),
        Mistake("copied for order",
                "C: copying the weights would silence it and take the gradient at weights that are no longer used.",
                cures_but("C", "copy the state")),
        Mistake("copied for drift",
                "D: the drift comes from steps with gradients of zero. Why are there gradients at all?",
                cures_but("D", "copy the state")),
        Mistake("handed over for drift",
                "D: the optimizer has the encoder's parameters; it even moves them when it should not.",
                cures_but("D", "hand over the new parameters")),
        Mistake("mode for drift",
                "D: a mode changes what a layer computes. It is step() that moves these weights.",
                cures_but("D", "eval()")),
        Mistake("rate for drift",
                "D: a smaller rate makes the drift slower. It is the gradients of zero that let a step move them.",
                cures_but("D", "once an epoch")),
        Mistake("rate for copy",
                "H: the training went well, its best score was seen. What is put back is not what had that score.",
                cures_but("H", "once an epoch")),
        Mistake("state for rate",
                "E: nothing was restarted. Count how often the rate has been divided by then.",
                cures_but("E", "load the optimizer's state")),
        Mistake("cleared for rate",
                "E: for fifty batches the loop works. What becomes smaller and smaller meanwhile?",
                cures_but("E", "zero_grad() with None")),
        Mistake("handed over for rate",
                "E: for fifty batches everything moves, so the optimizer has its parameters.",
                cures_but("E", "hand over the new parameters")),
        Mistake("mode for rate",
                "E: modes have no counter that runs out after fifty batches. A schedule has.",
                cures_but("E", "train()")),
        Mistake("modes exchanged",
                "F and G: a batch that matters for one picture is train mode; missing dropout is eval mode. Which "
                "call ends which?", cures_but("F", "train()")),
        Mistake("cleared for mode",
                "F: predictions need no gradients. What does batch norm use in train mode?",
                cures_but("F", "zero_grad() with None")),
        Mistake("copied for mode",
                "G: validation has changed the model's mode, not its weights.", cures_but("G", "copy the state")),
        Mistake("state for mode",
                "G: the optimizer has lost nothing. Which call before the validation is still in force?",
                cures_but("G", "load the optimizer's state")),
        Mistake("state for copy",
                "H: what is put back is the model's state. Was it still the one of the best epoch?",
                cures_but("H", "load the optimizer's state")),
        Mistake("mode for copy",
                "H: the score is exactly that of the last epoch, so these are its weights.", cures_but("H", "eval()")),
    ),
    check=check_10_6,
)  # fmt: skip


EXERCISES = [P1, P2, EX1, EX2, EX3, EX4, EX5, EX6]
