"""Exercise 04.p4: the order in which gradients are complete."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict


def read(answer):
    """The seven letters in a row, however they are separated."""
    if isinstance(answer, (list, tuple)) and all(isinstance(each, str) for each in answer):
        answer = "".join(answer)
    if not isinstance(answer, str):
        return None
    letters = "".join(letter for letter in answer.lower() if letter.isalpha())
    return letters if sorted(letters) == sorted("uvabcsd") else None


def truth(torch):
    """Ask the hooks."""
    u, v = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    a, b = u.exp(), u.sin()
    c = b.cos()
    s = a + c
    d = s * v
    met = []
    for name, tensor in {"u": u, "v": v, "a": a, "b": b, "c": c, "s": s, "d": d}.items():
        tensor.register_hook(lambda grad, name=name: met.append(name))
    d.backward()
    return "".join(met)


def too_early(answer, truth):
    """Tell whether some letter stands before one that has to send to it."""
    needs = {"v": "d", "s": "d", "a": "s", "c": "s", "b": "c", "u": "ab"}
    return any(answer.index(letter) < answer.index(sender) for letter, senders in needs.items() for sender in senders)


EXERCISE = Predict(
    id="04.p4", title="Who comes first?", minutes=3, difficulty=2,
    question="In which order are the seven names printed?",
    hints=(
        "Write down after each step who is ready. After d these are s, whose node is the newest but one, and v.",
        "After s, a and c are ready. Which of the two was made later?",
    ),
    solution='answer = "dvscbau"',
    why="The accumulator of v goes before s. c and b are newer than a, so a waits. u needs what a and b send.",
    alternatives=('answer = ["d", "v", "s", "c", "b", "a", "u"]', 'answer = "d v s c b a u"'),
    read=read, truth=truth, wanted="Give all seven letters, each once, in the order of printing.",
    shown="the newest of those that are ready goes first, and an accumulator before all of them.",
    otherwise="Every name comes after those that send to it. Go step by step: who is ready, and who is newest?",
    mistakes=(
        Mistake("accumulators last", "v is ready as soon as d has run, and an accumulator is not kept waiting.",
                "dscbauv"),
        Mistake("newest for v too", "After d both v and s are ready. The node of s does not go first: v's is an "
                "accumulator.", "dsvcbau", also=("dscvbau", "dscbvau", "dscbavu")),
        Mistake("first come", "a and c are ready at the same moment. The engine does not take the oldest, nor the one "
                "that stands first in the program.", "dvsacbu"),
        Mistake("one branch, then the other", "a was ready before b, but b is newer than a: it was made after it.",
                "dvscabu"),
        Mistake("forward", "That is the order of the program. Backward begins at d.", "uvabcsd"),
        Mistake("oldest first", "You take the oldest node that is ready, all the way, accumulators last.", "dsacbuv"),
        Mistake("too early", "One of your letters stands before one that still has to send to it.", "dvcsbau",
                also=("dvscbua", "vdscbau"), when=too_early),
    ),
    reveals=("d v s c b a u",),
)  # fmt: skip
