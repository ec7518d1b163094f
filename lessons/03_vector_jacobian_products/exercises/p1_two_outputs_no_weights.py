"""Exercise 03.p1: two outputs, no weights."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict

from .shared import two_outputs

RAISES = {"it", "an", "a", "raise", "raises", "raised", "error", "errors", "exception", "runtimeerror"}
WORDS = ("sum", "mean", "first", "table", "raises")


def read(answer):
    """One of WORDS, however an error was put into words; or "two words"."""
    word = answer.lower() if isinstance(answer, str) else None
    if word and set(word.replace(".", " ").split()) <= RAISES:
        return "raises"
    if word and sum(each in word for each in WORDS) > 1:
        return "two words"
    return word if word in WORDS else None


def truth(torch):
    try:
        two_outputs(torch)[2].backward()
    except RuntimeError:
        return "raises"
    return "starts"


EXERCISE = Predict(
    id="03.p1", title="Two outputs, no weights", minutes=1, difficulty=1,
    question="`y` has two elements. What does `y.backward()` do: `sum`, `mean`, `first`, `table` or `raises`?",
    hints=(
        "Each of the first four words is a sensible wish. How would backward know which one is yours?",
        "In lessons 00 to 02, what did every backward() start from?",
    ),
    solution='answer = "raises"',
    why="The sum, the mean and the first output have different gradients, so backward refuses to guess. Only a tensor "
    "with one element leaves no choice.",
    alternatives=('answer = "Raises"', 'answer = "it raises an error"'),
    read=read, truth=truth, wanted='Give one of the words "sum", "mean", "first", "table", "raises".',
    shown="with two outputs there is no obvious place to start.",
    otherwise="This library started all the same; that is news to the course.",
    mistakes=(
        Mistake("sum", "The sum is a fair guess, but only a guess: many losses want the mean. backward() does not "
                "choose for you; write y.sum().backward() if you mean the sum.", "sum"),
        Mistake("mean", "The mean would be convenient for losses and wrong for everything else. backward() does not "
                "choose for you; write y.mean().backward().", "mean"),
        Mistake("first", "Taking the first output would drop the others without a word, and hide mistakes.", "first"),
        Mistake("table", "Then u.grad would need room for two slopes, but .grad has the shape of u, a single number.",
                "table"),
        Mistake("two words", "Those are two answers. Only one of them can happen: settle on it.", "raises or sum"),
    ),
    reveals=("grad can be implicitly created only", "so it refuses"),
)  # fmt: skip
