"""Exercise 06.p1: what does x * c keep?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import leaf, names_among, numbers

from .shared import saved_tensors_of


def truth(torch):
    """The names of the tensors whose memory the node saves."""
    tensors = {"x": leaf(torch, numbers(3)), "c": torch.tensor(numbers(3))}
    tensors["p"] = tensors["x"] * tensors["c"]
    kept = {tensor.data_ptr() for tensor in saved_tensors_of(tensors["p"].grad_fn, torch)}
    return {name for name, tensor in tensors.items() if tensor.data_ptr() in kept}


EXERCISE = Predict(
    id="06.p1", title="What does x * c save?", minutes=1, difficulty=1, puzzles=(1,),
    question='`p = x * c`, where only `x` requires grad. Which of "x", "c", "p" does `p.grad_fn` save?',
    hints=(
        "Write down the slope of x * c with respect to x. Which tensor stands in it?",
        "Will anybody ever ask for the slope with respect to c?",
    ),
    solution='answer = ["c"]',
    why="The slope with respect to x is c, so c is saved. The formula that reads x is the one for c, and it never "
    "runs.",
    alternatives=('answer = ("c",)', 'answer = {"c"}', 'answer = ["C"]', 'answer = "c"'),
    read=names_among("x", "c", "p"), truth=truth,
    wanted='Give a list with some of the names "x", "c" and "p"; it may be empty.',
    shown="the node saves what the slope of x is made of, and only that.",
    mistakes=(
        Mistake("both", "That would be right if c needed a gradient too. x is read only by the formula for c's "
                "gradient, which will never run.", ["x", "c"]),
        Mistake("own", "You listed the tensor that gets the gradient. But its gradient is made of the *other* factor: "
                "the slope of x * c with respect to x is c.", ["x"]),
        Mistake("nothing", "Then backward would have to multiply by 4, 5 and 6 without knowing them: when it runs, "
                "the variable c may be gone.", []),
        Mistake("result", "The product itself stands in no slope of a product. Keeping the result pays only when the "
                "slope is made of it, as for exp.", ["c", "p"], also=(["x", "p"],)),
        Mistake("only the result", "From p alone backward could not find the slope of x * c: it would have to divide "
                "p by x, and x may be 0.", ["p"]),
        Mistake("everything", "You listed all three. A node saves only what the formulas that will run have to read, "
                "and here only one of them runs.", ["x", "c", "p"]),
    ),
    reveals=("saved other = c", "saved `c`", "formula for the gradient of `x` reads `c`"),
)  # fmt: skip
