"""Exercise 15.1: which name?"""

from coursekit.judge.exercise import Mistake
from lessons.words import Words

LINES = {
    "A": "F.linear(x, W)", "B": "x.mean(1)", "C": "x[:, 0]", "D": "x[:1]", "E": "x[torch.tensor([1, 0])]",
    "F": "F.dropout(x, 0.5)", "G": "x.flatten()", "H": "x.t().flatten()", "I": "x.double()", "J": "F.mse_loss(x, t)",
}  # fmt: skip
CHOICES = (
    "LinearBackward0", "MmBackward0", "AddmmBackward0", "MeanBackward0", "MeanBackward1", "SelectBackward0",
    "SliceBackward0", "IndexBackward0", "DropoutBackward0", "MulBackward0", "FlattenBackward0", "ViewBackward0",
    "UnsafeViewBackward0", "ToCopyBackward0", "DoubleBackward0", "MseLossBackward0",
)  # fmt: skip


def truth(torch):
    """The name of the node at the result of each line."""
    space = {
        "torch": torch, "F": torch.nn.functional, "x": torch.ones(2, 2, requires_grad=True),
        "W": torch.ones(3, 2, requires_grad=True), "t": torch.zeros(2, 2),
    }  # fmt: skip
    state = torch.get_rng_state()
    found = {row: eval(line, space).grad_fn.name() for row, line in LINES.items()}
    torch.set_rng_state(state)
    return found


EXERCISE = Words(
    id="15.1", kind="predict saved", title="Which name?", minutes=6, difficulty=1,
    question="What is the grad_fn of each line called? x and W are matrices that require grad, t is data.",
    name="names",
    hints=(
        "Which operation runs in the end? A function such as dropout or flatten is Python, or calls something simpler.",
        "Without a bias there is nothing to add. A number takes one row or column out, a slice keeps the dimension, "
        "and a tensor of places is a table of places.",
        "Two forms of mean: over everything, and over a dimension.",
    ),
    right={
        "A": "MmBackward0", "B": "MeanBackward1", "C": "SelectBackward0", "D": "SliceBackward0", "E": "IndexBackward0",
        "F": "MulBackward0", "G": "ViewBackward0", "H": "UnsafeViewBackward0", "I": "ToCopyBackward0",
        "J": "MseLossBackward0",
    },
    why="Each name is that of the operation which ran: linear without a bias is mm, dropout is a product, flatten is a "
    "view or a copy, and a conversion is a copy into another type.",
    choices=CHOICES, truth=truth, ask="the name of a node",
    shown="you can read a graph by the names in it.",
    mistakes=(
        Mistake("a node for the layer", "No node is called after a layer or after its function: linear calls "
                "operations, and these make the nodes.", {"A": "LinearBackward0"}),
        Mistake("a bias", "addmm multiplies and adds. What is there to add, without a bias?", {"A": "AddmmBackward0"}),
        Mistake("the other mean", "The 0 is the mean over everything. A mean over a dimension is another form.",
                {"B": "MeanBackward0"}),
        Mistake("a slice for a number", "A single number takes the dimension away, and that is another operation than "
                "a slice, which keeps it.", {"C": ("SliceBackward0", "IndexBackward0")}),
        Mistake("select for a slice", "A slice keeps the dimension: x[:1] has one row, but still two dimensions.",
                {"D": ("SelectBackward0", "IndexBackward0", "ViewBackward0")}),
        Mistake("places", "A tensor of places can name them in any order, and twice. No view can do that.",
                {"E": ("SelectBackward0", "SliceBackward0")}),
        Mistake("a node for dropout", "On a CPU, dropout draws a mask and multiplies with it. The product leaves the "
                "node.",
                {"F": "DropoutBackward0"}),
        Mistake("a node for flatten", "flatten calls reshape, and that gives a view where one is possible.",
                {"G": ("FlattenBackward0", "UnsafeViewBackward0")}),
        Mistake("a view of what is turned", "The elements of a turned matrix do not lie in the order that is wanted. "
                "So they are copied, and the copy gets the new shape.", {"H": ("ViewBackward0", "FlattenBackward0")}),
        Mistake("a node for double", "double() calls to(), and that makes a copy of another type.",
                {"I": "DoubleBackward0"}),
    ),
)  # fmt: skip
