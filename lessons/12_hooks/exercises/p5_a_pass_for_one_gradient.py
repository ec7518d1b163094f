"""Exercise 12.p5: a pass for one gradient."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names, leaf


def read(answer):
    """The letters of an answer in alphabetical order, as one text; "" when none is called."""
    names = as_names(answer)
    letters = "" if names is None else "".join(names).upper()
    if names is None or set(letters) - set("ADFG") or len(set(letters)) < len(letters):
        return "" if letters == "NONE" else None
    return "".join(sorted(letters))


def truth(torch):
    """The letters of the hooks of w and of its accumulator that autograd.grad calls."""
    called = []

    def tell(letter):
        return lambda *given: called.append(letter)

    w = leaf(torch, 3.0)
    y = w * 2
    accumulator = y.grad_fn.next_functions[0][0]
    w.register_post_accumulate_grad_hook(tell("A"))
    w.register_hook(tell("D"))
    accumulator.register_prehook(tell("F"))
    accumulator.register_hook(tell("G"))
    torch.autograd.grad(y, w)
    return read(called)


EXERCISE = Predict(
    id="12.p5", title="A pass for one gradient", minutes=2, difficulty=2, puzzles=(20,),
    question="D is a hook of w, A a post-accumulate hook of w, F and G are a prehook and a hook of its accumulator. "
    "Which of them does torch.autograd.grad(y, w) call?",
    hints=(
        "At which moment is each of the four called?",
        "Where does autograd.grad put the gradient: into .grad, or into your hands? Which node need not run then?",
    ),
    solution='answer = ["D"]',
    why="D may change the gradient of w, and that gradient is what was asked for. The accumulator would add it to "
    "w.grad. Nobody wants that here, so it does not run, and nobody calls F, A and G.",
    alternatives=('answer = "D"', 'answer = ["d"]'),
    read=read, truth=truth, wanted='A list of letters from A, D, F and G is wanted, such as ["D", "F"].',
    shown="a hook of the tensor belongs to the gradient, the other three belong to adding it to .grad.",
    mistakes=(
        Mistake("all four", "That is what backward calls. Does autograd.grad add anything to w.grad?", "ADFG"),
        Mistake("none at all", "The gradient of w is computed, and D is a hook of this gradient. What D returns is "
                "what you are handed.", ""),
        Mistake("both of the leaf", "D, yes. But A is called after the gradient was added to w.grad. Who adds it there "
                "now?", "AD"),
        Mistake("before and after", "D, yes. F and G are called around the accumulator. Does it have to run when "
                "nothing is added to w.grad?", "DFG"),
        Mistake("as long as it may change", "D, yes. F is told what the accumulator is about to add. Does it add "
                "anything?", "DF"),
        Mistake("without D", "You leave out D. It may change the gradient of w, and you want the changed one.", "AFG",
                when=lambda given, _: "D" not in given),
    ),
    reveals=("and D, the hook of the tensor that it was asked for", "It calls none of A"),
)  # fmt: skip
