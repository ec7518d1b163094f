"""Exercise 10b.p3: four tests of one network."""

import copy
import functools

from coursekit.data.digits import digits
from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


@functools.cache
def shares(torch):
    """{letter: share of right answers}: the lesson's network, trained as there, tested in four ways."""
    nn, data, state = torch.nn, torch.utils.data, torch.get_rng_state()
    images, labels = digits(torch)
    everything = data.TensorDataset(images.double(), labels)
    torch.manual_seed(0)
    known, unseen = data.random_split(everything, [1400, 397])
    layers = nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10)
    net, cross_entropy = nn.Sequential(nn.Flatten(), *layers).double(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loader = data.DataLoader(known, batch_size=50, shuffle=True)
    for _ in range(10):
        for inputs, targets in loader:
            optimizer.zero_grad()
            cross_entropy(net(inputs), targets).backward()
            optimizer.step()
    in_order = data.Subset(everything, sorted(unseen.indices, key=lambda i: labels[i].item()))
    trained, found = copy.deepcopy(net.state_dict()), {}
    for letter, mode, chosen in zip("ABCD", (False, False, True, True), (unseen, in_order) * 2, strict=True):
        net.load_state_dict(trained)
        net.train(mode)
        with torch.no_grad():
            right = sum((net(x).argmax(1) == t).sum().item() for x, t in data.DataLoader(chosen, batch_size=40))
        found[letter] = right / len(chosen)
    torch.set_rng_state(state)  # the notebook's own random numbers go on where they were
    return found


def truth(torch):
    return {letter for letter, share in shares(torch).items() if share > 0.9}


EXERCISE = Predict(
    id="10b.p3", title="Four tests", minutes=3, difficulty=2,
    question="The trained network with batch norm is tested in batches of 40: A in eval mode, as the images come; B in "
    "eval mode, sorted by digit; C in train mode, as they come; D in train mode, sorted. Which tests find that more "
    "than 90 % are right?",
    hints=(
        "From where does batch norm take a mean in train mode, and from where in eval mode?",
        "Is the mean of forty mixed images close to the mean of all? And the mean of forty zeros?",
    ),
    solution='answer = ["A", "B", "C"]',
    why="In eval mode the buffers are used, whatever the batch holds. In train mode it is the batch's own mean: near "
    "that of all images if they are mixed, and another one if they are all the same digit.",
    alternatives=('answer = "A, B, C"', 'answer = {"C", "B", "A"}'),
    read=names_among("A", "B", "C", "D"), truth=truth, wanted='Give a list with some of "A", "B", "C" and "D".',
    shown="only a batch of one kind, in train mode, gets a mean that misleads the network.",
    otherwise="Ask of each test: which mean does batch norm subtract, and how far is it from the mean of all images?",
    prepare=shares,
    mistakes=(
        Mistake("train mode is always bad", "C: this is how the network was trained, with the mean of a mixed batch. "
                "It is close to the mean of all images.", ["A", "B"]),
        Mistake("order is always bad", "B: in eval mode nothing of the batch is used, so it does not matter which "
                "images stand beside each other.", ["A", "C"]),
        Mistake("only the careful one", "You let both the mode and the order spoil a test by themselves. Ask for each "
                "of B and C from where the mean comes.", ["A"]),
        Mistake("no difference", "D: batch norm subtracts the mean of the batch. What is left of forty zeros if the "
                "mean of zeros is subtracted?", ["A", "B", "C", "D"]),
        Mistake("eval mode is bad", "A: this is the mode that is made for testing. The buffers hold a mean of many "
                "training batches.", ["C"], also=(["B", "C"], ["C", "D"], ["B", "C", "D"])),
        Mistake("mixed for sorted", "C and D: which of them is more like the batches of the training?",
                ["A", "B", "D"], also=(["B", "D"], ["A", "D"])),
        Mistake("B alone", "B uses the buffers and D uses the batch. A sorted batch can mislead only a network that "
                "looks at the batch.", ["A", "C", "D"]),
        Mistake("order helps", "B: if the sorted ones are read in eval mode, so are the others. It uses the same "
                "numbers for both.", ["B"]),
        Mistake("none", "An empty list: but the lesson has just seen such a test, in eval mode.", []),
    ),
    reveals=("two of three answers are wrong", "that is what makes them zeros", "30% right"),
)  # fmt: skip
