"""Exercise 02.1: what is kept?"""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import set_of_names

from .shared import matrix

PRODUCTS = {"h1": ("x", "A"), "h2": ("h1", "B"), "h3": ("h2", "C"), "h4": ("h3", "D")}


def kept_in_truth(torch):
    """For each of the four products, the operands that its node holds."""
    tensors = {name: matrix(torch, 2, 2, name in "BD") for name in ("x", "A", "B", "C", "D")}
    found = {}
    for result, (left, right) in PRODUCTS.items():
        tensors[result] = tensors[left] @ tensors[right]
        node = tensors[result].grad_fn
        slots = [] if node is None else [node._saved_self, node._saved_mat2]
        found[result] = {name for name in (left, right) if any(slot is tensors[name] for slot in slots)}
    return found


def check(answer, torch):
    if not isinstance(answer, dict) or set(answer) != set(PRODUCTS):
        return not_yet("Keep the dictionary with the keys h1 to h4.")
    given = {result: set_of_names(names) for result, names in answer.items()}
    for result, names in given.items():
        if names is None or not names <= set(PRODUCTS[result]):
            left, right = PRODUCTS[result]
            return not_yet(f'For {result}, give a list with none, one or both of "{left}" and "{right}".')
    truth = kept_in_truth(torch)
    if given == truth:
        return correct("you know what each slope is made of, and which slopes nobody wants.")
    wrong = [result for result in PRODUCTS if given[result] != truth[result]]
    if all(names == set(PRODUCTS[result]) for result, names in given.items()):
        return almost("everything")
    if given["h2"] == {"B"} and given["h3"] == {"h2"}:
        return almost("itself")
    named = {result: WRONG_KEPT[result, frozenset(given[result])] for result in wrong
             if (result, frozenset(given[result])) in WRONG_KEPT}  # fmt: skip
    return judged_rows(wrong, list(PRODUCTS), named, "are right")


WRONG_KEPT = {  # (product, what was said to be kept): name of the mistake
    ("h1", frozenset({"x"})): "without a node",
    ("h1", frozenset({"A"})): "without a node",
    ("h1", frozenset({"x", "A"})): "without a node",
    ("h2", frozenset({"h1", "B"})): "slopes for plain results",
    ("h2", frozenset()): "plain is left out",
    ("h2", frozenset({"B"})): "the one that learns",
    ("h3", frozenset({"h2", "C"})): "frozen counts",
    ("h3", frozenset()): "frozen cuts",
    ("h3", frozenset({"h2"})): "the one that passes",
    ("h4", frozenset({"h3"})): "one of two",
    ("h4", frozenset({"D"})): "only what is behind",
}
KEPT = {"h1": [], "h2": ["h1"], "h3": ["C"], "h4": ["h3", "D"]}

EXERCISE = Exercise(
    id="02.1", kind="predict saved", title="What is kept?", minutes=5, difficulty=2,
    question="`h1 = x @ A; h2 = h1 @ B; h3 = h2 @ C; h4 = h3 @ D`; only B and D require grad. Which of its two "
    "operands does each node keep?",
    name="kept", starter='kept = {"h1": None, "h2": None, "h3": None, "h4": None}',
    hints=(
        "In a product, the slope for one factor is made of the other.",
        "Write down first which of x, A, h1, B, h2, C, h3, D require grad. Only for those a slope is made.",
    ),
    solution=f"kept = {KEPT!r}",
    why="h1 is not recorded at all. h2 wants a slope for B only, made of h1. h3 wants one for h2 only, made of the "
    "frozen C. h4 wants both.",
    alternatives=(f"kept = dict(h4={{'h3', 'D'}}, h3={('C',)!r}, h2='h1', h1=[])",),
    mistakes=(
        Mistake("everything", "That is a node that keeps all it sees. It keeps what a slope is made of, if somebody "
                "wants that slope.",
                'kept = {"h1": ["x", "A"], "h2": ["h1", "B"], "h3": ["h2", "C"], "h4": ["h3", "D"]}'),
        Mistake("without a node", "h1: neither x nor A requires grad. The product is not recorded, so there is no "
                "node to keep anything.", edit("[]", "['x']")),
        Mistake("the one that learns", "h2: B is what learns, and its slope is made of the other factor.",
                edit("'h1']", "'B']")),
        Mistake("the one that passes", "h3: the slope is for h2, and it is made of the other factor.", edit("C", "h2")),
        Mistake("only what is behind", "h4: two slopes are wanted, for h3, on the way to B, and for D. You have what "
                "one of them is made of.", edit("h3', '", "")),
        Mistake("itself", "You let a node keep the factor that wants a slope. The slope for one factor is made of "
                "the *other*.", edit("h1'], 'h3': ['C", "B'], 'h3': ['h2")),
        Mistake("slopes for plain results", "h2: B would be kept for a slope for h1. h1 requires no grad, so nobody "
                "wants that slope.", edit("'h1']", "'h1', 'B']")),
        Mistake("frozen counts", "h3: h2 would be kept for a slope for C, and C is frozen.", edit("C", "h2', 'C")),
        Mistake("frozen cuts", "h3: C wants no slope, but h2 does, and its slope is made of C. Being frozen does not "
                "mean being left out.", edit("'C'", "")),
        Mistake("plain is left out", "h2: h1 is plain and wants no slope. But B wants one, and it is made of h1.",
                edit("'h1']", "]")),
        Mistake("one of two", "h4: both factors require grad, h3 because of B. So two slopes are wanted.",
                edit(", 'D'", "")),
    ),
    check=check,
)  # fmt: skip
