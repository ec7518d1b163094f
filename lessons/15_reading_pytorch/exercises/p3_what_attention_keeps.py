"""Exercise 15.p3: what attention keeps."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among, nodes_behind

NAMES = ("scores", "scaled", "masked", "weights", "keep", "dropped")


def truth(torch):
    """Tell which of the six tables lie in the memory that the slots of the graph hold."""
    q, k, v = [torch.ones(6, 4, requires_grad=True) * 1 for _ in range(3)]
    ahead = torch.ones(6, 6).triu(1) == 1
    tables = {"scores": q @ k.transpose(-2, -1)}
    tables["scaled"] = tables["scores"] / 2
    tables["masked"] = tables["scaled"].masked_fill(ahead, float("-inf"))
    tables["weights"] = tables["masked"].softmax(-1)
    tables["keep"] = torch.ones(6, 6) > 0.1
    tables["dropped"] = tables["weights"] * tables["keep"]
    slots = ("_saved_self", "_saved_other", "_saved_result", "_saved_mat2", "_saved_mask")
    held = [getattr(node, slot, None) for node in nodes_behind(tables["dropped"] @ v) for slot in slots]
    places = {each.data_ptr() for each in held if isinstance(each, torch.Tensor)}
    return {name for name, table in tables.items() if table.data_ptr() in places}


EXERCISE = Predict(
    id="15.p3", title="What attention keeps", minutes=4, difficulty=2, puzzles=(1,),
    question="scores = q @ k.T, scaled = scores / 2, masked = scaled.masked_fill(ahead, -inf), weights = softmax, keep "
    "= rand > 0.1, dropped = weights * keep, mixed = dropped @ v. Which of the six tables does some node save?",
    hints=(
        "A product of two tensors needs, for the gradient of one factor, the other factor. Which factors want a "
        "gradient?",
        "The slope of softmax can be written with its own result. What does a division by 2 need?",
    ),
    solution='answer = ["weights", "keep", "dropped"]',
    why="softmax saves its result; the product saves keep for the gradient of weights, and not weights, because keep "
    "wants no gradient; the last product saves dropped for the gradient of v.",
    alternatives=('answer = {"dropped", "weights", "keep"}', 'answer = "keep dropped weights"'),
    read=names_among(*NAMES), truth=truth, wanted="Give a list with some of the six names.",
    shown="three of six: what the formulas need and nothing else.",
    otherwise="Go through the six operations and write down for each what its gradient formula has in it.",
    mistakes=(
        Mistake("all", "Most of these operations need less than their whole input. Which number does the slope of x / "
                "2 need?", list(NAMES)),
        Mistake("the scores", "scores goes into a division by a plain number. The slope of that is 1/2, whatever the "
                "scores are.", ["scores", "weights", "keep", "dropped"],
                when=lambda names, _: "scores" in names),
        Mistake("the input of the mask", "masked_fill passes a gradient on, or stops it. For that it needs the mask, "
                "and not the numbers.",
                ["scaled", "weights", "keep", "dropped"], when=lambda names, _: "scaled" in names),
        Mistake("the input of softmax", "The slope of softmax can be written with its result alone, as that of exp. So "
                "it saves the result, and the input is let go.", ["masked", "keep", "dropped"],
                when=lambda names, _: "masked" in names),
        Mistake("softmax forgotten", "softmax needs something in backward: which of its two tables, the one before it "
                "or the one after it?", ["keep", "dropped"]),
        Mistake("keep forgotten", "weights gets a gradient, and for that the product needs its other factor.",
                ["weights", "dropped"]),
        Mistake("the last product forgotten", "v wants a gradient. The last product needs its other factor for that.",
                ["weights", "keep"], also=(["weights"],)),
    ),
    reveals=("SoftmaxBackward0 result weights", "So three of the six are held"),
)  # fmt: skip
