"""Exercise 15.6: a text in chunks."""

import copy

from course_lib.teach.exercises.shared import array, flat, near
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, edit, not_yet


def reference(torch, lstm, head, chunks, keeps=True, steps=True, clears=True, outputs=True):
    """What the losses should be; the options are the faults that can be told apart."""
    optimizer, state, losses = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.5), None, []
    for inputs, targets in chunks:
        output, state = lstm(inputs, state if keeps else None)
        state = tuple(each.detach() for each in state)
        loss = ((head(output if outputs else output.detach()) - targets) ** 2).mean()
        if clears:
            optimizer.zero_grad()
        loss.backward()
        if steps:
            optimizer.step()
        losses.append(loss.item())
    return losses


FAULTS = {
    "starts afresh": {"keeps": False}, "no step": {"steps": False}, "old gradients": {"clears": False},
    "the head alone": {"outputs": False},
}  # fmt: skip


def check(answer, torch):
    for time, batch, count in ((3, 2, 4), (1, 1, 3), (4, 3, 5)):
        lstm, head = torch.nn.LSTM(2, 3), torch.nn.Linear(3, 1)
        chunks = [(array(torch, time, batch, 2).float(), array(torch, time, batch, 1).float()) for _ in range(count)]
        copies = [copy.deepcopy((lstm, head)) for _ in range(1 + len(FAULTS))]
        wanted = reference(torch, *copies[0], chunks)
        optimizer = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.5)
        try:
            losses = answer(torch, lstm, head, optimizer, chunks)
        except RuntimeError as error:
            if "a second time" in str(error) or "inplace operation" in str(error):
                return almost("a history that stays")
            raise
        if not isinstance(losses, (list, tuple)) or len(losses) != count:
            return not_yet("Return a list with the loss of each chunk.")
        if any(isinstance(each, torch.Tensor) for each in losses):
            return almost("tensors kept")
        if near(losses, wanted):
            pairs = zip(lstm.parameters(), copies[0][0].parameters(), strict=True)
            if not all(near(flat(a), flat(b)) for a, b in pairs):
                return almost("other weights")
            continue
        for (name, options), models in zip(FAULTS.items(), copies[1:], strict=True):
            if near(losses, reference(torch, *models, chunks, **options)):
                return almost(name)
        return not_yet(f"The losses should be {[round(each, 4) for each in wanted]}; yours are "
                       f"{[round(float(each), 4) for each in losses]}.")  # fmt: skip
    return correct("the state goes on, its history does not: truncated backpropagation through time, with an LSTM.")


STARTER = """\
def train(torch, lstm, head, optimizer, chunks):
    state, losses = None, []
    for inputs, targets in chunks:
        output, state = lstm(inputs, state)
        loss = ((head(output) - targets) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
"""
CUT = "        state = tuple(each.detach() for each in state)\n"
SOLVED = STARTER.replace("        optimizer.step()\n", "        optimizer.step()\n" + CUT).replace(
    "append(loss)", "append(loss.item())"
)

EXERCISE = Exercise(
    id="15.6", kind="repair", title="A text in chunks", minutes=6, difficulty=2, puzzles=(6, 7, 16),
    question="A long text is cut into chunks, and an LSTM reads them one after the other. The state at the end of a "
    "chunk is where the next one begins. Now backward raises in the second chunk. Repair it: the state goes on, each "
    "chunk makes one step, and the losses come back as plain numbers.",
    name="train", starter=STARTER,
    hints=(
        "What hangs on the state that goes into the second chunk? Who has freed it?",
        "The state of an LSTM is a pair of tensors. Its numbers are wanted, its history is not.",
    ),
    solution=SOLVED,
    why="detach() keeps the numbers of the state and drops its history, for both tensors of the pair; item() does the "
    "same for the loss.",
    alternatives=(
        SOLVED.replace(CUT, "        hidden, cell = state\n        state = hidden.detach(), cell.detach()\n"),
        SOLVED.replace(CUT, "").replace(
            "        output, state = lstm(inputs, state)\n",
            "        if state is not None:\n            state = [each.detach() for each in state]\n"
            "        output, state = lstm(inputs, state)\n"),
    ),
    mistakes=(
        Mistake("starts afresh", "No error, but every chunk begins with an empty state: the model has forgotten what "
                "it has read.", edit("lstm(inputs, state)", "lstm(inputs)")),
        Mistake("a history that stays", "Backward still comes to an earlier chunk, through the state. An LSTM's state "
                "is a pair of tensors, and each of the two has a history.",
                SOLVED.replace(CUT, "        state = state[0].detach(), state[1]\n")),
        Mistake("tensors kept", "The losses come back as tensors. Plain numbers were wanted. (A loss that is not "
                "detached also holds on to its graph.)",
                edit("loss.item()", "loss")),
        Mistake("the head alone", "Backward runs, but nothing reaches the LSTM: it stays as it was, and only the head "
                "learns.",
                STARTER.replace("head(output)", "head(output.detach())").replace("(loss)", "(loss.item())")),
        Mistake("no step", "The losses are those of a model that does not learn between the chunks. One step for each "
                "chunk was asked for.",
                edit("        optimizer.step()\n", "")),
        Mistake("old gradients", "The gradients of all chunks before are added to those of this one.",
                edit("        optimizer.zero_grad()\n", "")),
        Mistake("other weights", "The losses are right, but afterwards the LSTM has other weights than it should have.",
                edit("    return losses", "    with torch.no_grad():\n        for p in lstm.parameters():\n"
                     "            p.mul_(0.5)\n    return losses")),
    ),
    may_change=("lstm", "head", "lstm.grad", "head.grad"),
    check=check,
)  # fmt: skip
