"""Exercise 10.p2: which weights make the critic's backward raise?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among
from lessons.training import fresh


def truth(torch):
    """The weights of which each alone, stepped between the two passes, makes the second one raise."""
    found = set()
    for letter in "ABCD":
        trunk, (actor, critic) = fresh(torch)[0], fresh(torch)[0]
        x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()
        stepped = {"A": trunk[0], "B": trunk[1], "C": actor}.get(letter)  # the first optimizer does not hold the critic
        h = trunk(x)
        loss_a, loss_c = mse(actor(h), t), mse(critic(h), t)
        loss_a.backward(retain_graph=True)
        if stepped is not None:
            torch.optim.SGD(stepped.parameters(), lr=0.1).step()
        try:
            loss_c.backward()
        except RuntimeError:
            found.add(letter)
    return found


EXERCISE = Predict(
    id="10.p2", title="Whose weight raises?", minutes=2, difficulty=2, puzzles=(8,),
    question="Actor and critic share a trunk of two layers, on plain data. The first optimizer holds trunk and actor, "
    "and is stepped before the critic's backward. Which weights, if any, make that backward raise? A: trunk[0]; B: "
    "trunk[1]; C: actor; D: critic. A list of letters.",
    hints=(
        "Two things must be true of such a weight: the first optimizer writes to it, and the critic's pass reads it.",
        "The picture of the two layers u and v: which of the two weights has a note, and why not the other?",
    ),
    solution='answer = ["B"]',
    why="trunk[1] was stepped, and its node saved the weight for the way to trunk[0]. The weight of trunk[0] was not "
    "saved, as x is plain data. The critic's pass does not come by the actor, and nobody has stepped the critic.",
    alternatives=('answer = "B"', 'answer = {"B"}'),
    read=names_among("A", "B", "C", "D"), truth=truth, wanted='Give a list with some of "A", "B", "C" and "D".',
    shown="it was stepped, and the second pass still has to read it; both is true of no other weight.",
    otherwise="Ask of each weight: does `first` write to it, and does the critic's pass read it?",
    mistakes=(
        Mistake("the whole trunk", "B is right. A was stepped, too, but its node saved only x: as x is plain data, no "
                "gradient goes on from there.", ["A", "B"]),
        Mistake("all that was stepped", "You name all that was stepped. Which of these weights does the critic's pass "
                "still have to read? It does not come by the actor.", ["A", "B", "C"]),
        Mistake("the stepped and saved", "B is right. The actor's weight was saved and stepped, but only the actor's "
                "own pass reads it.", ["B", "C"]),
        Mistake("all that it reads", "B is right. The critic's pass reads D as well, but the first optimizer does not "
                "hold it, so nothing has written to it.", ["B", "D"]),
        Mistake("the critic", "The critic is not held by the first optimizer, so nothing has written to it.", ["D"]),
        Mistake("the first layer", "A was stepped, but its node saved only x, as x is plain data. And the other layer?",
                ["A"]),
        Mistake("the actor", "The actor was stepped, but the critic's pass does not come by it.", ["C"]),
        Mistake("retained", "retain_graph=True keeps what was saved from being freed. It does not keep a step from "
                "writing to it.", []),
        Mistake("all of them", "The first optimizer does not hold D, and the critic's pass does not come by C. What of "
                "the other two?", ["A", "B", "C", "D"]),
    ),
    reveals=("It is the weight of `trunk[1]`", "The weight of `trunk[0]` was saved nowhere"),
)  # fmt: skip
