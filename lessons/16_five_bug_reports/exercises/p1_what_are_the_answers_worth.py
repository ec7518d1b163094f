"""Exercise 16.p1: what four answers about the detector's biases are worth."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.reports import FOUR, four_words, what_happens


def copied(torch, head):
    rows = head.bias.view(2, -1).clone()
    rows[:, 4] += 1.0


def half_inside(torch, head):
    with torch.no_grad():
        rows = head.bias.view(2, -1)
    rows[:, 4] += 1.0


def new_parameter(torch, head):
    rows = head.bias.detach().clone().view(2, -1)
    rows[:, 4] += 1.0
    head.bias = torch.nn.Parameter(rows.view(-1))


def inside(torch, head):
    with torch.no_grad():
        rows = head.bias.view(2, -1)
        rows[:, 4] += 1.0


def truth(torch):
    """Each answer, put in after the optimizer was made; then one step."""
    found = []
    for start in (copied, half_inside, new_parameter, inside):
        head = torch.nn.Linear(2, 12)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        begun = head.bias[4].item()

        def run(start=start, head=head, optimizer=optimizer, begun=begun):
            start(torch, head)
            started = abs(head.bias[4].item() - begun - 1.0) < 1e-4
            now = head.bias[4].item()
            head(torch.ones(3, 2)).sum().backward()
            optimizer.step()
            return started and abs(head.bias[4].item() - now) > 1e-4

        found.append(what_happens(run))
    return found


EXERCISE = Predict(
    id="16.p1", title="Four answers about the biases", minutes=4, difficulty=2, puzzles=(4,),
    question="1 works on a copy, 2 makes the view under no_grad and writes outside, 3 makes a new parameter, 4 puts "
    "all under no_grad. The optimizer exists already. Which raises, which is silent, which cures?",
    hints=(
        "For each answer: whose memory is written to, and is that the tensor which the optimizer holds?",
        "Answer 2 is in lesson 08: the maker of the view and the writer say different things about recording.",
    ),
    solution='answer = ["silent", "raises", "silent", "cured"]',
    why="The copy is another memory. The view of answer 2 is refused. The parameter of answer 3 is unknown to the "
    "optimizer. Answer 4 writes into the one that both share.",
    alternatives=('answer = ("Silent", "Raises", "Silent", "Cured")',
                  'answer = ["silent ", "raises", "silent", "cured"]'),
    read=four_words, truth=truth, wanted=FOUR,
    prepare=lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1),
    shown="for each answer you know whose memory is written to, and who holds it.",
    otherwise="Ask of each answer: whose memory is written to? Does the optimizer hold that tensor?",
    mistakes=(
        Mistake("new is fine", "Answer 3: the optimizer was made before, and was given the old parameter. Who updates "
                "the new one?", ["silent", "raises", "cured", "cured"]),
        Mistake("half is fine", "Answer 2: a view that was made with recording off is written to with recording on. "
                "Lesson 08 has this in its table.", ["silent", "silent", "silent", "cured"],
                also=(["silent", "cured", "silent", "cured"],)),
        Mistake("a copy is fine", "Answer 1: the program goes on to use head.bias. Is that what was written to?",
                ["cured", "raises", "silent", "cured"], also=(["cured", "raises", "cured", "cured"],)),
        Mistake("a copy raises", "Answer 1: a clone is no leaf and no view of one; writing to it is allowed, and "
                "recorded.",
                ["raises", "raises", "silent", "cured"]),
        Mistake("no_grad cuts", "Answer 4: no_grad is around the three lines only. Afterwards recording is on again, "
                "and the parameter is the leaf that it was.", ["silent", "raises", "silent", "silent"]),
        Mistake("new raises", "Answer 3: nothing forbids it. A module takes the new parameter in the place of the "
                "old one.",
                ["silent", "raises", "raises", "cured"]),
    ),
    reveals=("moved by 0.00", "A copy is another tensor", "The optimizer still holds the *old* parameter"),
)  # fmt: skip
