"""Exercise 15b.2: who raised it?"""

from coursekit.judge.exercise import Mistake
from coursekit.records import records
from lessons.words import Words

CHOICES = (
    "SavedVariable::unpack", "SavedVariable::SavedVariable", "check_inplace", "PyNode::apply",
    "InputMetadata::maybe_reduce", "Engine::evaluate_function", "THPEngine_run_backward",
)  # fmt: skip


def truth(_torch):
    """From the record of real PyTorch, which a test makes anew."""
    lines = (line.partition(": ") for line in records()["eight errors"].splitlines())
    return {row: function for row, _, function in lines}


EXERCISE = Words(
    id="15b.2", kind="diagnose", title="Who raised it?", minutes=8, difficulty=2, puzzles=(2, 4),
    question="Which C++ function raises each of the eight errors?",
    name="raisers",
    hints=(
        "Ask for each when the error comes: when an operation is called, when something is saved, when it is read, "
        "when a node has run, or before anything runs.",
        "A custom Function is a PyNode. Who counts what it has returned, and who looks at the shapes?",
    ),
    right={
        "A": "SavedVariable::unpack", "B": "SavedVariable::unpack", "C": "check_inplace", "D": "PyNode::apply",
        "E": "InputMetadata::maybe_reduce", "F": "Engine::evaluate_function", "G": "THPEngine_run_backward",
        "H": "SavedVariable::SavedVariable",
    },
    why="What is read goes through unpack, what is saved through the constructor; a write is checked before it "
    "happens; a Function's own node counts its gradients, and the engine checks shapes and NaNs.",
    choices=CHOICES, truth=truth, ask="the name of a function",
    shown="from the moment of an error you can tell who raised it.",
    mistakes=(
        Mistake("no pass", "In A there is no backward pass any more. A slot of a node is read, and that is "
                "done by one function, whoever calls it.",
                {"A": ("THPEngine_run_backward", "Engine::evaluate_function")}),
        Mistake("the write itself", "The write in B is allowed: softmax's result is no leaf. The error comes when the "
                "slot is read.", {"B": "check_inplace"}),
        Mistake("when it was saved", "In B all was well when softmax saved its result. The write came later.",
                {"B": "SavedVariable::SavedVariable"}),
        Mistake("nothing was saved", "In C no backward is running, and nothing has been saved. The write into a part "
                "of the leaf is refused on the spot.", {"C": ("SavedVariable::unpack", "SavedVariable::SavedVariable",
                                                  "Engine::evaluate_function", "THPEngine_run_backward")}),
        Mistake("counted by the engine", "The Function's own node knows how many gradients are wanted, and "
                "it counts before the engine sees them.",
                {"D": ("Engine::evaluate_function", "InputMetadata::maybe_reduce")}),
        Mistake("the shape, too", "PyNode::apply only counts. In E the number is right, and one of them has a wrong "
                "shape.",
                {"E": "PyNode::apply"}),
        Mistake("one level too high", "evaluate_function has it done: it calls a function that compares the shapes.",
                {"E": "Engine::evaluate_function"}),
        Mistake("NaN", "No slot is at fault in F, and no shape. Anomaly mode looks at the gradients when the node has "
                "run, and that is done by the function that ran it.",
                {"F": ("SavedVariable::unpack", "InputMetadata::maybe_reduce", "PyNode::apply")}),
        Mistake("after the pass", "In G the whole pass has run without a fault. The function that was called from "
                "Python looks at the answer afterwards.",
                {"G": ("Engine::evaluate_function", "InputMetadata::maybe_reduce")}),
        Mistake("too early to read", "In H forward is still running, and the tensor is put into a slot. It has "
                "not been read yet.",
                {"H": ("SavedVariable::unpack", "PyNode::apply", "check_inplace")}),
    ),
)  # fmt: skip
