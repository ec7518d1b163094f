"""Exercise 09b.p1: A state that is carried over."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number


def read(answer):
    """The number of the step, or "never"."""
    given = answer.strip().lower().removeprefix("step").strip() if isinstance(answer, str) else answer
    return given if isinstance(given, str) and given == "never" else as_number(given)


def truth(torch):
    """The step of the loop that raises."""
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    for step in range(3):
        h = torch.tanh(w * h)
        loss = (h - 1) ** 2
        try:
            loss.backward()
        except RuntimeError:
            return step
    return "never"


EXERCISE = Predict(
    id="09b.p1", title="A state that is carried over", minutes=1, difficulty=2, puzzles=(7,),
    question='In which step does the backward pass of the recurrent loop raise: 0, 1, 2 or "never"?',
    hints=(
        "What does a backward pass do to the slots of the nodes it ran?",
        "The loss of step 1 depends on h of step 0. Does the pass stop there?",
    ),
    solution="answer = 1\n",
    why="Step 0 releases what its nodes kept; step 1 walks through h into those nodes.",
    alternatives=("answer = 1.0\n",),
    read=read, truth=truth, wanted='0, 1, 2 or "never" is wanted.',
    shown="Step 0 is fine and empties its slots; step 1 reaches back into them.",
    otherwise=lambda answer, _: f"There is no step {read(answer):g}: the loop has the steps 0, 1 and 2.",
    mistakes=(
        Mistake("at once", "Step 0 has only its own graph, and nothing of it has been released yet.", 0),
        Mistake("one too late", "Step 2 is never reached: the pass of step 1 already needs what step 0 has released.",
                2),
        Mistake("never", "`h` is a new tensor in each step, but its grad_fn leads back to the step before.", "never"),
        Mistake("after the loop", "The loop has the steps 0, 1 and 2, and does not get to its end.", 3),
    ),
    reveals=("FREED", "a second time", "walks into the graph of step 0"),
)  # fmt: skip
