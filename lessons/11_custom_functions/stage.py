"""The network that lesson 11 trains and shows in a chart: it reads digits, with weights that may be rounded."""

from coursekit import chart, digits

KNOWN, EPOCHS, BATCH = 1400, 8, 50


def train(torch, scores, rounded):
    """Train `scores(images, weights, rounded)` on digits: the weights, and the share of unseen images read by epoch."""
    torch.manual_seed(0)
    images, labels = digits(torch)
    order = torch.randperm(len(labels))
    images, labels = images.reshape(-1, 64).double()[order], labels[order]
    shapes = (64, 32), (32, 10)
    weights = [(torch.rand(*shape, dtype=torch.float64) - 0.5).requires_grad_() for shape in shapes]
    optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)
    share = {0: read(torch, scores, images, labels, weights, rounded)}
    for epoch in range(1, EPOCHS + 1):
        for start in range(0, KNOWN, BATCH):
            batch = slice(start, start + BATCH)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores(images[batch], weights, rounded), labels[batch]).backward()
            optimizer.step()
        share[epoch] = read(torch, scores, images, labels, weights, rounded)
    rounded_late = read(torch, scores, images, labels, weights, torch.round)
    return share, rounded_late


def read(torch, scores, images, labels, weights, rounded):
    """Return the share of the unseen images that is read."""
    with torch.no_grad():
        right = scores(images[KNOWN:], weights, rounded).argmax(1) == labels[KNOWN:]
    return round(right.double().mean().item(), 3)


def stairs():
    """The staircase that round() is, and the line that the straight-through estimator puts in its place."""
    steps = {x: round(x) for x in (0.0, 0.499, 0.501, 1.499, 1.501, 2.499, 2.501, 3.0)}
    return chart({"rounding": {"round(x)": steps, "x itself": {0.0: 0.0, 3.0: 3.0}}}, across="x", up="value")


def accuracy(lines):
    """Draw how many unseen digits a network reads after each epoch: {name: {epoch: share}}."""
    percent = {name: {epoch: 100 * share for epoch, share in line.items()} for name, line in lines.items()}
    return chart({"unseen digits that are read": percent}, across="epoch", up="percent")
