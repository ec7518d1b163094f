"""Exercise 03.4: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import agree

PROGRAMS = {
    "A": "y = x * x; y.backward(); got = x.grad",
    "B": "y = x * x; y.backward(torch.ones(2)); got = x.grad",
    "C": "y = x * x; y[1:].backward(); got = x.grad",
    "D": "y = x * x; y.backward(torch.ones(1)); got = x.grad",
    "E": "M = torch.zeros(3, 2); x.grad = torch.ones(3, 2); got = x.grad",
    "F": "S, T = torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]); got = T.T @ torch.ones(2, 2)",
    "G": "torch.autograd.grad((x * x).sum(), x); got = x.grad",
    "H": "got = torch.autograd.grad((x * x).sum(), [x, z], materialize_grads=True)[1]",
}
WISHES = {  # letter -> (in words, the function to differentiate, which of its inputs)
    "A": ("[2, 4], the gradient of the sum of x * x", lambda torch, x: (x * x).sum()),
    "B": ("[1, 2], the gradient of the mean of x * x", lambda torch, x: (x * x).mean()),
    "C": ("[0, 4], the gradient of the last element of x * x", lambda torch, x: (x * x)[1]),
    "D": ("[2, 4] again", lambda torch, x: (x * x).sum()),
    "E": ("[3, 3], the gradient of the sum of x + M", lambda torch, x: (x + torch.zeros(3, 2)).sum()),
    "F": ("the gradient of the sum of S @ T for S", None),
    "G": ("[2, 4] in x.grad", lambda torch, x: (x * x).sum()),
    "H": ("[0, 0], how much the sum of x * x depends on z", None),
}


def wanted_in(letter, torch):
    """Compute what the comment of a program asks for, by another way than the program's."""
    if letter == "F":
        T = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        return [[(row.sum()).item() for row in T]] * 2  # each S[i, k] acts on row i with the slopes T[k, :]
    if letter == "H":
        return [0.0, 0.0]
    f, step, slopes = WISHES[letter][1], 1e-4, []
    for place in range(2):
        ends = []
        for sign in (1, -1):
            values = [1.0, 2.0]
            values[place] += sign * step
            ends.append(f(torch, torch.tensor(values, dtype=torch.float64)).item())
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return slopes


def what_happens(torch, letter):
    """Run a program statement by statement, and say which of the four outcomes it has."""
    space = {"torch": torch}
    for name, values in (("x", [1.0, 2.0]), ("z", [1.0, 1.0])):
        space[name] = torch.tensor(values, requires_grad=True)
    return happens(PROGRAMS[letter].split("; "), space, lambda space: agree(space["got"], wanted_in(letter, torch)))


EXERCISE = WhichHappens(
    id="03.4", title="Which happens?", minutes=7, difficulty=2,
    question="Each program starts with the leaves x = [1., 2.] and z = [1., 1.]: fine, raises now, raises at "
    "backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}` (wanted: {WISHES[letter][0]})" for letter, program in PROGRAMS.items()),
    hints=(
        "For A to D: how many elements does the tensor have on which backward is called, and which upstream "
        "gradient does each get?",
        "A shape that fits proves nothing. In F, check one element by hand; in G, ask where the result went.",
    ),
    why="A has two outputs and no upstream gradient, D one number of it for two outputs. B is the sum, not the mean. "
    "y[1:] has one element. E hands over a gradient that nobody has summed. F multiplies in the wrong order, and "
    "square matrices hide it. G drops what grad returned. H asks for zeros and gets them.",
    right={"A": "raises at backward", "B": "silently wrong", "C": "fine", "D": "raises at backward",
           "E": "raises now", "F": "silently wrong", "G": "silently wrong", "H": "fine"},
    measure=what_happens,
    shown="you know where a pass may start, what its upstream gradient means, and who watches over shapes.",
    mistakes=(
        Mistake("guessed sum", "A: x * x has two elements, and backward() does not guess that you meant their sum.",
                {"A": ("fine", "silently wrong")}),
        Mistake("a backward is a backward", "A: it raises, in the call of backward itself. “Raises now” stands for "
                "the ordinary lines.", {"A": "raises now"}),
        Mistake("ones are the mean", "B: ones count every output once. That is the sum; for the mean of two each "
                "counts 1/2.", {"B": "fine"}),
        Mistake("weights are a cure", "B: with a number for each output backward has a start, and it runs. Whether "
                "these numbers are the ones that were wanted is another matter.", {"B": "raises at backward"}),
        Mistake("one element is enough", "C: y[1:] has shape (1,). It is no bare number, but it has one element, and "
                "that is enough to start from, with 1.", {"C": ("raises at backward", "raises now")}),
        Mistake("ordinary squares", "B: x * x is an ordinary line, and the pass has a number for each output. "
                "Nothing is refused here; look at what the numbers mean.", {"B": "raises now"}),
        Mistake("slices are recorded", "C: taking a slice is an operation like any other. Backward through it gives "
                "the element that was left out a zero, as the comment wants.", {"C": "silently wrong"}),
        Mistake("weights are broadcast", "D: operands of an addition are broadcast, an upstream gradient is not: one "
                "number for two outputs is a mismatch.", {"D": ("fine", "silently wrong")}),
        Mistake("compared at the call", "D: it raises, but torch.ones(1) alone is an ordinary tensor. Its shape is "
                "compared in the call of backward.", {"D": "raises now"}),
        Mistake("somebody sums", "E: x has two numbers and the gradient six. The engine sums gradients that pass "
                "through it; one that you assign yourself must fit.", {"E": ("fine", "silently wrong")}),
        Mistake("assignment is guarded", "E: there is no backward in this program. The assignment itself compares "
                "the shapes, and raises.", {"E": "raises at backward"}),
        Mistake("shapes prove nothing", "F: all matrices are 2 by 2, so every order of factors runs. But the "
                "gradient for the left factor is upstream times T.T, and here T.T stands first.", {"F": "fine"}),
        Mistake("every order runs", "F: 2 by 2 times 2 by 2 runs in any order. So there is no error, and the numbers "
                "alone decide.", {"F": "raises now"}),
        Mistake("a product by hand", "F: no pass is run in this program. It writes the gradient down by hand.",
                {"F": "raises at backward"}),
        Mistake("grad stores", "G: autograd.grad returns gradients and stores none. Here the result was dropped, and "
                "x.grad is still None.", {"G": "fine"}),
        Mistake("grad may be ignored", "G: nothing is wrong with the call; its result is simply not used.",
                {"G": ("raises at backward", "raises now")}),
        Mistake("zeros are the answer", "H: the sum of x * x does not change when z does. So its slopes for z are 0, "
                "and the zeros are no stopgap but right.", {"H": "silently wrong"}),
        Mistake("zeros were asked for", "H: without materialize_grads this would raise, because z was never used. "
                "With it an unused input gets zeros, and zeros are wanted.",
                {"H": ("raises at backward", "raises now")}),
    ),
)  # fmt: skip
