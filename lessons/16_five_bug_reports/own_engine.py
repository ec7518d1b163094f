"""The learner's engine, lesson 16, bug reports: its program."""

import gc
import weakref

from coursekit.own_engine.checkpoints import print

NOW = "Without a new line it gives the same answers to bug reports as PyTorch."


def lesson_16(torch):
    """No new line: the five bug reports, run on your engine."""
    bias = torch.tensor([1.0, 2.0], requires_grad=True)
    try:  # 1: a start value is written into a parameter, with recording on
        bias.add_(1.0)
    except RuntimeError as error:
        print("a leaf Variable that requires grad" in str(error), end=" ")
    with torch.no_grad():
        bias.add_(1.0)
    print(bias.tolist(), bias.is_leaf, bias._version)

    g, d = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    score, optimizer = g * d, torch.optim.SGD([d], lr=0.5)
    (g.detach() * d).sum().backward()
    optimizer.step()
    try:  # 2: the score is older than the weight
        score.sum().backward()
    except RuntimeError as error:
        print("is at version 1; expected version 0" in str(error), g.grad, end=" ")
    (g * d).sum().backward()
    print(g.grad.tolist())

    w = torch.tensor([1.0], requires_grad=True)
    for cut in (False, True):  # 3: a state that is carried over
        h, w.grad = torch.tensor([1.0]), None
        try:
            for _ in range(2):
                h = (w * (h.detach() if cut else h)).tanh()
                (h * h).sum().backward()
            print("with detach", round(w.grad.item(), 4))
        except RuntimeError as error:
            print(str(error)[:48])

    for slot in (False, True):  # 4: a result on ctx, and in a slot

        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, slot=slot):
                y = x.exp()
                if slot:
                    ctx.save_for_backward(y)
                else:
                    ctx.y = y
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

        gc.disable()
        y = Exp.apply(w * 2)
        seen = weakref.ref(y)
        del y
        print("freed" if seen() is None else "still alive")
        gc.enable()

    for gradient in (None, torch.tensor([0.0])):  # 5: None rests, zero is a step
        p = torch.tensor([1.0], requires_grad=True)
        p.grad = gradient
        torch.optim.SGD([p], lr=0.1).step()
        print(p.tolist(), p._version)
