"""Exercise 10.p1: six orders."""

import itertools

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import set_of_names
from lessons.training import fresh

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


def read(answer):
    """The orders that train, as a set; an answer may also say which one raises."""
    if isinstance(answer, (list, tuple)) and len(answer) == 2 and isinstance(answer[0], (list, tuple)):
        answer = answer[0]
    names = set_of_names(answer)
    given = None if names is None else {name.upper() for name in names}
    return None if given is None or not given <= set(ORDERS) else given


def truth(torch):
    ran = {order: outcome_of_order(torch, order) for order in ORDERS}
    return {order for order, losses in ran.items() if losses == ran["ZBS"]}


EXERCISE = Predict(
    id="10.p1", title="Six orders", minutes=2, difficulty=1, puzzles=(12,),
    question="zero_grad (Z), backward (B) and step (S) follow the forward pass in one of six orders. Which of them "
    "train the network as they should?",
    hints=(
        "What does step need to find, and which line puts it there?",
        "The lines form a ring: what comes last in one round comes before the first line of the next.",
    ),
    solution='answer = ["ZBS", "BSZ"]',
    why="No clearing may stand between backward and step, and no step between the forward pass and backward. SZB "
    "raises, in its second round: step then has gradients to use, and writes to what the forward pass has kept.",
    alternatives=('answer = {"BSZ", "ZBS"}', 'answer = "zbs, bsz"', 'answer = (["ZBS", "BSZ"], "SZB")'),
    read=read, truth=truth,
    wanted='Give a list with some of the orders "ZBS", "ZSB", "BZS", "BSZ", "SZB" and "SBZ".',
    shown="backward before step, and no clearing between them. One of the others even raises, below.",
    mistakes=(
        Mistake("one order", "There is a second one. In the ring of rounds, clearing at the end of one is clearing "
                "at the start of the next.", ["ZBS"]),
        Mistake("cleared late only", "That one trains. So does the order in which the loop of the question was "
                "written.", ["BSZ"]),
        Mistake("cleared before", "In BZS the gradients are cleared after backward and before step. step finds None "
                "everywhere, and nothing moves.", ["ZBS", "BSZ", "BZS"], when=lambda orders, _: "BZS" in orders),
        Mistake("step first", "In an order with Z just before S, or at the end of a round that begins with S, step "
                "never finds a gradient.",
                ["ZBS", "BSZ", "SBZ"], when=lambda orders, _: orders & {"ZSB", "SBZ"} and "SZB" not in orders),
        Mistake("the second round", "SZB uses the gradients of the round before, and writes the weights after the "
                "forward pass has kept them. Which comparison fails then?",
                ["ZBS", "BSZ", "SZB"], when=lambda orders, _: "SZB" in orders),
        Mistake("none", "An empty list: then no loop would ever train. The order of the question is a good one.", []),
    ),
    prepare=fresh,
    reveals=("Two of them train", "It finds None for every parameter", "BSZ [4.0"),
)  # fmt: skip
