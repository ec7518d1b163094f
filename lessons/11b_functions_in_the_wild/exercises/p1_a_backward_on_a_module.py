"""Exercise 11b.p1: a method backward on a module."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, as_number, flat


def truth(torch):
    """x.grad behind a module with a fake backward, one that calls apply, and one that calls forward by hand."""

    class ClipFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad.clamp(-1, 1)

    class A(torch.nn.Module):
        def forward(self, x):
            return x * 1

        def backward(self, grad):
            return grad.clamp(-1, 1)

    found = []
    for run in (A(), ClipFunction.apply, lambda x: ClipFunction.forward(None, x)):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (run(x) * torch.tensor([10.0, 0.5])).sum().backward()
        found.append(flat(x.grad))
    return found


def read(answer):
    """Three lists of two numbers; None when it is anything else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 3:
        return None
    pairs = [[as_number(n) for n in pair] if isinstance(pair, (list, tuple)) else [None] for pair in answer]
    return None if any(len(pair) != 2 or None in pair for pair in pairs) else pairs


FREE, CLIPPED = [10, 0.5], [1, 0.5]

EXERCISE = Predict(
    id="11b.p1", title="A backward on a module", minutes=3, difficulty=2,
    question="Module A has a method backward that clips gradients to 1; B calls apply of a Function that does so; C "
    "calls forward of that Function. The gradient [10, 0.5] arrives. What is x.grad with each of them? Three lists.",
    hints=(
        "What does the engine walk through: modules, or nodes? Which node hangs on the result of each module?",
        "In C the Function's forward runs like any Python function. Who hangs a node of the Function on its result?",
    ),
    solution="answer = [[10, 0.5], [1, 0.5], [10, 0.5]]",
    why="Only apply makes a node whose backward is yours. In A and C the node on the result is that of the product.",
    alternatives=("answer = ([10.0, 0.5], (1, 0.5), [10, 0.5])", 'answer = [["10", "0.5"], ["1", ".5"], [10, 0.5]]'),
    read=read, truth=truth, equal=agree, wanted="Three lists of two numbers are wanted, for A, B and C.",
    shown="the engine asks the node on the result, and only apply makes one of your class.",
    otherwise="Ask for each module which node hangs on its result. Without any limit x.grad would be [10, 0.5].",
    mistakes=(
        Mistake("the fake believed", "A: who would call this method? The engine walks through nodes, and a module is "
                "none.", [CLIPPED, CLIPPED, FREE]),
        Mistake("all clipped", "Two of the three have no node of the Function on their result. Which line makes such a "
                "node?", [CLIPPED, CLIPPED, CLIPPED]),
        Mistake("none clipped", "One of them does hang a node of the Function on its result. That this happens inside "
                "of a module does not matter.", [FREE, FREE, FREE]),
        Mistake("forward is enough", "C: called by hand, forward is an ordinary function, and its product is recorded "
                "as a product. apply is what hangs on a node of your class.", [FREE, CLIPPED, CLIPPED]),
        Mistake("the other way round", "It is the other way round: the method of the module is called by nobody, and "
                "the Function's by its node.", [CLIPPED, FREE, FREE], also=([CLIPPED, FREE, CLIPPED],)),
        Mistake("only by hand", "C: a forward that is called by hand makes no node of the Function. In B, apply does.",
                [FREE, FREE, CLIPPED]),
        Mistake("clipped to the end", "Which of them clip is right. clamp(-1, 1) leaves what lies between the limits "
                "as it is: 0.5 stays 0.5.", [FREE, [1, 1], FREE]),
        Mistake("set to zero", "Which of them clip is right. clamp takes what is too large to the limit, and not to 0.",
                [FREE, [0, 0.5], FREE]),
    ),
    reveals=("Only B limits anything", "A tensor([10.0000, 0.5000])", "Its product was recorded"),
)  # fmt: skip
