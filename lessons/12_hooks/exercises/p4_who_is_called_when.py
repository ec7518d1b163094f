"""Exercise 12.p4: who is called when."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import leaf


def order_of_hooks(torch):
    """The letters of the lesson's five hooks in the order in which they are called."""
    called = []

    def tell(letter):
        return lambda *given: called.append(letter)

    w, x = leaf(torch, 3.0), torch.tensor(2.0)
    y = w * x
    w.register_post_accumulate_grad_hook(tell("A"))
    y.register_hook(tell("B"))
    y.grad_fn.register_hook(tell("C"))
    w.register_hook(tell("D"))
    y.grad_fn.register_prehook(tell("E"))
    y.backward()
    return "".join(called)


def read(answer):
    """The letters of the five hooks, as one text."""
    if not isinstance(answer, str):
        return None
    given = "".join(letter for letter in answer.upper() if letter.isalpha())
    return given if sorted(given) == list("ABCDE") else not_yet("Each of the letters A to E stands in it once.")


def before(one, others):
    """A test whether hook `one` stands in an answer before all the `others`."""
    return lambda given, _: all(given.index(one) < given.index(other) for other in others)


EXERCISE = Predict(
    id="12.p4", title="Who is called when", minutes=3, difficulty=2, puzzles=(20,),
    question="A: post-accumulate hook of w; B: hook of y; C: hook of y's node; D: hook of w; E: prehook of y's node. "
    "In which order are they called?",
    hints=(
        "Go backwards from y: first its gradient is known, then its node runs, then the gradient of w is known.",
        "Of the kinds at one place: a tensor's hooks may still change the gradient. Before whom must that be done?",
    ),
    solution='answer = "BECDA"',
    why="The gradient of y is complete (B), the node is about to run (E) and has run (C); the gradient of w is "
    "complete (D) and has been added to .grad (A).",
    alternatives=('answer = "b, e, c, d, a"', 'answer = ["B", "E", "C", "D", "A"]'),
    read=read, truth=order_of_hooks, wanted='Give the five letters, in one text such as "ABCDE".',
    shown="tensor, node, leaf: before and after each, you know who is called.",
    mistakes=(
        Mistake("as registered", "That is the order of registration. It only decides among hooks of one kind at one "
                "place.", "ABCDE"),
        Mistake("stored first", "A is called after the gradient was added to w.grad. D may still change that "
                "gradient, so it must come before.", "BECAD", when=before("A", "D")),
        Mistake("forwards", "The pass goes back from y to w: nothing can happen at w before the node of y has run.",
                "DABEC", when=lambda given, _: before("A", "BCE")(given, _) or before("D", "BCE")(given, _)),
        Mistake("hook and prehook", "E is called before the node runs, C after it.", "BCEDA", when=before("C", "E")),
        Mistake("node before tensor", "Near. B is called with the gradient of y. E is told what the node will run on, "
                "and that is what B has left of it.",
                "EBCDA", when=lambda given, _: given.index("E") < given.index("B") < given.index("C")),
        Mistake("tensor after node", "B is called when the gradient of y is complete. By the time of C the node has "
                "used it.", "ECBDA", when=before("C", "B")),
        Mistake("the leaf too early", "D is called with the gradient of w. Nobody knows it before the node of y has "
                "run, and what C returns may change it.", "BEDCA", when=lambda given, _: True),
    ),
    reveals=("E → the node runs", "B before the node, D before the accumulator"),
)  # fmt: skip
