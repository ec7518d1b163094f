"""Exercise 06.p2: bytes behind a small network."""

from backscope.memory.ledger import ledger
from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet

from .shared import as_numbers

BATCH, FEATURES, HIDDEN = 100, 20, 30
SIZES = {
    "X": 4 * BATCH * FEATURES,
    "W1": 4 * FEATURES * HIDDEN,
    "h": 4 * BATCH * HIDDEN,
    "W2": 4 * HIDDEN,
    "out": 4 * BATCH,
}


def bytes_over_time(torch):
    """The bytes saved after forward, and when each of the four nodes has run."""
    X, W1 = torch.ones(BATCH, FEATURES), torch.ones(FEATURES, HIDDEN, requires_grad=True)
    W2 = torch.ones(HIDDEN, 1, requires_grad=True)
    with ledger() as held:
        product = X @ W1
        h = torch.relu(product)
        out = h @ W2
        loss = out.sum()
        kept = [held.now]
        for result in (out, h, product):  # its hook runs when the node that used it has run
            result.register_hook(lambda grad: kept.append(held.now))
        loss.backward()
    return [*kept, held.now]


def check(answer, torch):
    truth = bytes_over_time(torch)
    given = as_numbers(answer, len(truth))
    if given is None:
        return not_yet("Give a list of five numbers: after forward, and when each of the four nodes has run.")
    if given == truth:
        return correct("you can read a network's memory off its formulas, and say when it is let go.")
    right = sum(one == other for one, other in zip(given, truth, strict=True))
    count = f"{right} of the five are right. "
    named = wrong_bytes(given, truth)
    if named:
        return almost(named, count if right < len(truth) - 1 else "")
    if given[0] != truth[0]:
        return not_yet(f"{count}Begin with the first number: a list of nodes, what their formulas read, elements times "
                       "four.")  # fmt: skip
    return not_yet(f"{count}Write beside each memory the nodes that save it.")


def wrong_bytes(given, truth):
    """The name of the mistake behind five wrong numbers, or None."""
    first, rest = given[0], given[1:]
    touched = truth[0] + SIZES["W1"] + SIZES["out"]
    wrong = {
        touched: "everything",
        touched + SIZES["h"]: "everything",
        truth[0] + SIZES["h"]: "twice",
        truth[0] + SIZES["W1"]: "frozen input",
        truth[0] + SIZES["out"]: "output",
        truth[0] / 4: "elements",
        SIZES["h"]: "activation only",
        truth[0] - SIZES["W2"]: "weights are free",
        truth[0] - SIZES["X"]: "data is free",
    }
    if first in wrong:
        return wrong[first]
    if first != truth[0]:
        return None
    if rest[-1] != 0:
        return "something stays"
    if rest == [first, first, first, 0]:
        return "all at the end"
    if rest[0] != first:
        return "sum lets go"
    if rest[1] in (SIZES["X"], SIZES["X"] + SIZES["W2"]):
        return "gone with its first reader"
    if rest == [first, first - SIZES["W2"], first - SIZES["W2"], 0]:
        return "held too long"
    if rest == [first, first, SIZES["X"], 0]:
        return "the product holds on"
    if rest[1] == first - SIZES["X"]:
        return "first made, first freed"
    return None


EXERCISE = Exercise(
    id="06.p2", kind="predict", title="Bytes of a small network", minutes=4, difficulty=2,
    question="How many bytes do the nodes of `loss = (torch.relu(X @ W1) @ W2).sum()` save: after forward, and "
    "when sum, the second product, relu, and the first product have run?",
    name="answer", starter="answer = None",
    hints=(
        "There are four nodes: two products, relu and sum. Ask of each which tensors its formulas read.",
        "relu saves its result. The second product saves its first operand. Is that one memory or two?",
        "A memory that two nodes save is let go when both of them have run.",
    ),
    solution="answer = [8000 + 12000 + 120, 20120, 8000 + 12000, 8000, 0]",
    why="X for W1's gradient, h once for relu and for W2's gradient, W2 for h's gradient: 8000 + 12000 + 120 bytes. "
    "sum saves nothing. The second product lets W2 go, and its hold on h; relu holds h a little longer.",
    alternatives=("answer = (20120.0, 20120.0, 20000.0, 8000.0, 0.0)",),
    mistakes=(
        Mistake("twice", "After forward, 12000 too many. Either you counted h for relu and again for the product, "
                "which save the same memory, or you counted X @ W1, which relu does not save.",
                "answer = [32120, 32120, 20000, 8000, 0]"),
        Mistake("frozen input", "You let the first product save W1. W1 is read only by the formula for X's gradient, "
                "and X is plain data: that formula never runs.", "answer = [22520, 22520, 22400, 10400, 0]"),
        Mistake("output", "You let sum save its input. Each slope of a sum is 1; the node needs the shape, and a "
                "shape is no tensor.", "answer = [20520, 20120, 20000, 8000, 0]"),
        Mistake("elements", "You counted elements. A float32 takes four bytes.",
                "answer = [5030, 5030, 5000, 2000, 0]"),
        Mistake("activation only", "h is saved, but not alone: W1's gradient is made of X, and h's gradient of W2.",
                "answer = [12000, 12000, 12000, 0, 0]"),
        Mistake("weights are free", "W2 is a leaf that lives anyway, so saving it costs nothing new; but the node "
                "does hold it, and if you drop your own name for it, it stays.",
                "answer = [20000, 20000, 20000, 8000, 0]"),
        Mistake("data is free", "You left out X. It needs no gradient, but W1's gradient is made of it, so the first "
                "product saves it.", "answer = [12120, 12120, 12000, 0, 0]"),
        Mistake("something stays", "The first number is right. The last is 0: when the first product has run too, no "
                "node has anything left to read.", "answer = [20120, 20120, 20000, 8000, 8000]"),
        Mistake("all at the end", "You let everything go at the end of the pass. Each node lets go when it has run "
                "itself, and the memory that only it saved is free from then on.",
                "answer = [20120, 20120, 20120, 20120, 0]"),
        Mistake("sum lets go", "After forward you are right. sum runs first, but it saved no tensor, so nothing can "
                "go with it.", "answer = [20120, 8120, 8000, 8000, 0]"),
        Mistake("gone with its first reader", "You let h go with the second product. relu saves the same memory, and "
                "has not run yet.", "answer = [20120, 20120, 8000, 8000, 0]"),
        Mistake("held too long", "You keep h until the end. Two nodes hold it, relu and the second product; both "
                "have run before the first product does.", "answer = [20120, 20120, 20000, 20000, 0]"),
        Mistake("everything", "You counted every tensor of the forward pass. Ask at each node what its formulas will "
                "read: sum reads no numbers, and no formula runs for X.", "answer = [34920, 34920, 20000, 8000, 0]"),
        Mistake("the product holds on", "You let nothing go when the second product has run. One of the tensors that "
                "it saved is saved by no other node.", "answer = [20120, 20120, 20120, 8000, 0]"),
        Mistake("first made, first freed", "You let X go first, in the order of the forward pass. Backward runs the "
                "other way: what was saved last goes first.", "answer = [20120, 20120, 12120, 120, 0]"),
    ),
    reveals=("after forward: 20120", "four slots, but only three memories", "20120, 20120, 20000, 8000 and 0"),
    check=check,
)  # fmt: skip
