"""The signal of part 16b, and what becomes of the loss."""

from coursekit import chart
from lessons.three_questions import copies, moved, slopes


def signal(torch, windows, length=6, rows=16):
    """Windows of a signal, and what should be said in them: the signal, two steps late."""
    numbers = torch.randn(windows * length + 2, rows, 1).sign()
    starts = range(2, 2 + windows * length, length)
    return [(numbers[k : k + length], numbers[k - 2 : k - 2 + length]) for k in starts]


def silence(torch, rows=16, size=16):
    """A state of zeros."""
    return torch.zeros(rows, size), torch.zeros(rows, size)


def listened(torch, model, carried, windows=150, retain_graph=False):
    """Train on a signal, window by window, and return the losses; `carried` gives the state for the next window."""
    torch.manual_seed(0)
    optimizer, state, losses = torch.optim.Adam(model.parameters(), lr=0.02), silence(torch), []
    for window, target in signal(torch, windows):
        said, state = model(window, carried(state))
        loss = ((said - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=retain_graph)
        optimizer.step()
        losses.append(loss.item())
    return losses


def listen(torch, kind, carried, retain_graph=False):
    """Train a new model, and print its loss at the beginning and at the end: the mean of ten windows."""
    torch.manual_seed(0)
    losses = listened(torch, kind(), carried, retain_graph=retain_graph)
    print(f"loss {sum(losses[:10]) / 10:.2f}, at the end {sum(losses[-10:]) / 10:.2f}")


def learned(torch, answers):
    """The losses of some answers in one chart. One that raises has no line."""
    lines = {}
    for name, (kind, carried) in answers.items():
        torch.manual_seed(0)
        try:
            losses = listened(torch, kind(), carried)
        except RuntimeError:
            continue
        lines[name] = {k: round(sum(losses[k - 10 : k]) / 10, 2) for k in range(10, len(losses) + 1, 20)}
    return chart({"loss (means of ten windows)": lines}, "window", "loss")


def asked(torch, kind, carried):
    """The second question: is a window's gradient the measured slope of its loss? And the third: what has moved?"""
    torch.manual_seed(0)
    model, ((window, target),) = kind(), signal(torch, 1)
    parameters, before = list(model.parameters()), copies(model)
    print("2.", slopes(torch, lambda: ((model(window, silence(torch))[0] - target) ** 2).mean(), parameters))
    listened(torch, model, carried, windows=5)
    print(f"3. moved: {len(moved(model, before))} of {len(before)} parameters")
