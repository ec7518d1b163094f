"""Exercise 12.p6: refused at once."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names, leaf


def read(answer):
    """The letters of an answer in alphabetical order, as one text; "" when none raises."""
    names = as_names(answer)
    letters = "" if names is None else "".join(names).upper()
    if names is None or set(letters) - set("ABCDE") or len(set(letters)) < len(letters):
        return "" if letters == "NONE" else None
    return "".join(sorted(letters))


def truth(torch):
    """The letters of the lines that raise when they register their hook."""
    found, norms = [], {}
    lines = {
        "A": lambda x, f: f.register_hook(lambda grad: grad.norm()),
        "B": lambda x, f: f.detach().register_hook(print),
        "C": lambda x, f: f.register_hook(lambda grad: norms.setdefault("f", grad.norm().item())),
        "D": lambda x, f: f.register_post_accumulate_grad_hook(print),
        "E": lambda x, f: x.register_post_accumulate_grad_hook(lambda p: p.grad / 2),
    }
    for letter, register in lines.items():
        x = leaf(torch, [1.0, 2.0])
        try:
            register(x, x * 3)
        except RuntimeError:
            found.append(letter)
    return read(found)


EXERCISE = Predict(
    id="12.p6", title="Refused at once", minutes=2, difficulty=2, puzzles=(20,),
    question="Five wrong hooks. A: f's hook returns grad.norm(). B: a hook on f.detach(). C: f's hook returns a Python "
    "number. D: a post-accumulate hook on the result f. E: a post-accumulate hook of the leaf x returns p.grad / 2. "
    "Which of them raise already at registration?",
    hints=(
        "What does a tensor know of a function that is registered with it, before it is called?",
        "Two of the lines are wrong whatever the hook would do: on such a tensor no pass would ever call it.",
    ),
    solution='answer = ["B", "D"]',
    why="f.detach() gets no gradient, and the result f has no accumulator, so no pass would call those hooks. What a "
    "hook returns is seen when it is called.",
    alternatives=('answer = "BD"', 'answer = ["d", "b"]'),
    read=read, truth=truth, wanted='A list of letters from A to E is wanted, such as ["A", "E"].',
    shown="which tensor it is can be seen at once, what the hook returns only in the pass.",
    otherwise="Ask of each: is the tensor wrong for such a hook, or what the hook returns?",
    mistakes=(
        Mistake("all five", "All five are wrong. But a hook's return value is not known before the hook is called.",
                "ABCDE"),
        Mistake("none at all", "Two of them hang on a tensor on which no pass would ever call them. That can be seen "
                "at once.", ""),
        Mistake("B alone", "B, yes. But D, too, hangs on a tensor where no pass would call it: nothing is accumulated "
                "at a result.", "B"),
        Mistake("D alone", "D, yes. But B, too, hangs on a tensor where no pass would call it: f.detach() gets no "
                "gradient.", "D"),
        Mistake("the other three", "The other way round: A, C and E return what is refused, and that is seen in the "
                "pass.", "ACE"),
        Mistake("by what it returns", "Among your letters is a hook whose return value is wrong. Nobody knows that "
                "before the pass calls it.", "BDE",
                when=lambda given, _: bool(set(given) & set("ACE"))),
    ),
    reveals=("Only B and D raised at registration",),
)  # fmt: skip
