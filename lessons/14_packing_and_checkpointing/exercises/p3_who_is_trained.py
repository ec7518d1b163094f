"""Exercise 14.p3: who is trained?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.checkpoints import checkpoint_of, quiet
from lessons.shared import names_among


def ways(torch):
    """The five lines, as functions of (encode, W, x)."""
    checkpoint = checkpoint_of(torch)

    def d(encode, W, x):
        with torch.enable_grad():
            return checkpoint(encode, x, use_reentrant=True)

    return {
        "A": lambda encode, W, x: checkpoint(encode, x, use_reentrant=False),
        "B": lambda encode, W, x: checkpoint(encode, x.requires_grad_(), use_reentrant=True),
        "C": lambda encode, W, x: checkpoint(lambda a, W: torch.tanh(a @ W), x, W, use_reentrant=True),
        "D": d,
        "E": lambda encode, W, x: checkpoint(encode, x, use_reentrant=True).requires_grad_(),
    }


def truth(torch):
    """The letters with which the encoder's weight gets a gradient."""
    found = set()
    for letter, way in ways(torch).items():
        W, V = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
        with quiet():
            (way(lambda a, W=W: torch.tanh(a @ W), W, torch.ones(3, 2)) @ V).sum().backward()
        if W.grad is not None:
            found.add(letter)
    return found


EXERCISE = Predict(
    id="14.p3", title="Who is trained?", minutes=4, difficulty=2, puzzles=(24,),
    question="An encoder with the weight W is checkpointed, and its input x is plain data. In which of the five lines "
    "does W get a gradient? A: use_reentrant=False. B: x.requires_grad_() first. C: W is an argument of the "
    "checkpoint. D: under enable_grad(). E: the result gets requires_grad_().",
    hints=(
        "With use_reentrant=True the large graph has one node for the encoder, or none. What decides whether apply "
        "makes a node?",
        "For E: what does requires_grad_() do to a tensor that has no history?",
    ),
    solution='answer = ["A", "B", "C"]',
    why="Our Function gets a node if one of its tensors requires a gradient: x in B, W in C. In A every operation "
    "decides for itself. D and E leave the encoder without a node.",
    alternatives=('answer = {"C", "A", "B"}', 'answer = "abc"', 'answer = "A, B, C"'),
    read=names_among(*"ABCDE"), truth=truth,
    wanted='Give a list with some of the letters "A" to "E"; it may be empty.',
    shown="the re-entrant form looks at its arguments, the other one at each operation.",
    otherwise="Ask of each line: which node starts the inner pass, and what made PyTorch record it?",
    mistakes=(
        Mistake("only the new form", "With use_reentrant=True a node is made too, if one of the tensors that apply is "
                "given requires a gradient. In two of the lines one does.", ["A"]),
        Mistake("only the arguments", "A is missing. That form runs the part with recording on, so a @ W is recorded "
                "like anywhere else.", ["B", "C"]),
        Mistake("the input alone", "B is right, and it is not the input as such: any tensor among the arguments that "
                "requires a gradient will do.", ["A", "B"]),
        Mistake("the weight alone", "C is right, and so is another line in which apply is given a tensor that "
                "requires a gradient.", ["A", "C"]),
        Mistake("recording was off", "Recording was on before enable_grad(), too. The Function did not record because "
                "none of its tensors requires a gradient.", ["A", "B", "C", "D"],
                when=lambda letters, _: "D" in letters and "E" not in letters),
        Mistake("the flag brings it back", "E gives the flag to a tensor without history. A leaf is made, and the "
                "pass ends there; lesson 02 had a loss like that.", ["A", "B", "C", "E"],
                when=lambda letters, _: "E" in letters and "D" not in letters),
        Mistake("all", "In the story the call was re-entrant, with plain data, and the encoder rested. Two of the "
                "five change nothing about that.", ["A", "B", "C", "D", "E"]),
        Mistake("none", "At least in A: there a @ W is recorded as it always is.", []),
    ),
    reveals=("give `apply` a tensor that requires a gradient", "runs the part with recording on", "D - W.grad is None"),
)  # fmt: skip
