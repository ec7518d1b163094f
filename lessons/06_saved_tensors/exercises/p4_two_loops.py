"""Exercise 06.p4: two loops that retain."""

from backscope.memory.ledger import ledger
from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import leaf, numbers, some_numbers


def truth(torch):
    """The bytes that nodes hold after four steps with a state, and after four with a gate in front."""
    x, c = leaf(torch, numbers(3)), torch.tensor(numbers(3))
    with ledger() as by_states:
        state = torch.zeros(3)
        for _ in range(4):
            state = (state + x).sin()
            state.sum().backward(retain_graph=True)
        first = by_states.now
    with ledger() as by_gate:
        gate = x.sigmoid()
        for _ in range(4):
            loss = (gate + c).sin().sum()
            loss.backward(retain_graph=True)
        return [first, by_gate.now]


EXERCISE = Predict(
    id="06.p4", title="Two loops that retain", minutes=3, difficulty=2, puzzles=(6, 8),
    question="Four steps of `state = (state + x).sin()`, and four of `loss = (gate + c).sin().sum()` with one gate in "
    "front, each with backward(retain_graph=True): how many bytes do the nodes hold at the end?",
    hints=(
        "Which slots does one step fill? Addition and sum save nothing, sin saves its input.",
        "After the last step, who still holds the nodes of the first one? Follow the arrows from the newest result.",
    ),
    solution="answer = [48, 24]",
    why="Each state leads to the one before, so the inputs of four sines are held. A new loss leads to the gate, and "
    "to no older loss: what is held is the sigmoid's result and the input of one sin.",
    alternatives=("answer = (48.0, 24.0)", 'answer = "48, 24"'),
    read=some_numbers(2), truth=truth, wanted="Give two numbers: the bytes after the loop with the state, and after "
    "the loop with the gate.",
    shown="a graph lives as long as something leads to it, and retained tensors live as long as their graph.",
    otherwise="For each loop: which slots does one step fill, and who still leads to the nodes of the first step?",
    mistakes=(
        Mistake("both pile up", "You let the second loop pile up as well. Does an arrow lead from a new loss to an old "
                "one? If not, the old one dies when its name is given away.", [48, 60]),
        Mistake("neither piles up", "You let the old steps of the state die. But the newest state was computed from "
                "the one before, so its node leads to that one's node.", [12, 24], also=([12, 12],)),
        Mistake("the other way round", "You have it the other way round: the state leads to its past, a new loss does "
                "not lead to an old one.", [12, 60], also=([24, 48],)),
        Mistake("no gate", "The first number is right. In the second loop the sigmoid holds something, too: its "
                "result.", [48, 12]),
        Mistake("too much for a step", "36 is one tensor too many. The sigmoid saves its result and sin its input; "
                "addition and sum save nothing.", [48, 36], also=([96, 36],)),
        Mistake("everything goes", "That would be so without the flag. Both loops retain, so their passes let nothing "
                "go.", [0, 0]),
        Mistake("elements", "These are elements. Each is a float32 and takes four bytes.", [12, 6]),
    ),
    reveals=("step 3: 48 bytes", "still leads to all the steps before it", "an old loss dies"),
)  # fmt: skip
