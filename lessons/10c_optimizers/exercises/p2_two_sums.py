"""Exercise 10c.p2: momentum and decay, two steps by hand."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, some_numbers


def truth(torch):
    """The two sums of the question's program."""
    p = torch.tensor([1.0], requires_grad=True)
    optimizer, sums = torch.optim.SGD([p], lr=0.1, momentum=0.9, weight_decay=0.5), []
    for _ in range(2):
        p.grad = torch.tensor([2.0])
        optimizer.step()
        sums.append(optimizer.state[p]["momentum_buffer"].item())
    return sums


EXERCISE = Predict(
    id="10c.p2", title="Two sums", minutes=3, difficulty=2,
    question="SGD with the rate 0.1, momentum 0.9 and weight decay 0.5. p is 1 at first, and its gradient is 2 in both "
    "steps. Which two running sums stand in the optimizer's state?",
    hints=(
        "First the decay: what is added to the gradient of 2 before anything else happens?",
        "After the first step p is no longer 1. What does the decay add in the second one?",
    ),
    solution="answer = [2.5, 4.625]",
    why="2 + 0.5 · 1 = 2.5, and p goes to 1 − 0.1 · 2.5 = 0.75. Then 0.9 · 2.5 + 2 + 0.5 · 0.75 = 4.625.",
    alternatives=("answer = (2.5, 4.625)", 'answer = "2.5, 4.625"'),
    read=some_numbers(2), truth=truth, equal=agree, wanted="A list of two numbers is wanted.",
    shown="the decay goes into the gradient, the gradient into the sum, and the sum moves the weight.",
    otherwise=lambda answer, sums: (
        "The first sum is right. For the second: where is p now, what does decay add there, and what is 0.9 of the sum?"
        if agree(some_numbers(2)(answer)[0], sums[0])
        else "The first sum is another one: it begins from nothing, and takes the gradient together with the decay."
    ),
    mistakes=(
        Mistake("no decay", "You left the decay out. 0.5 times p is added to the gradient before it goes into the sum.",
                [2, 3.8]),
        Mistake("decay at the old p", "The first sum is right. But it has moved p, so in the second step decay adds "
                "less than 0.5.", [2.5, 4.75]),
        Mistake("no decay in the second", "The first sum is right. But the decay comes again: 0.5 times the new p is "
                "added in the second step, too.", [2.5, 4.25]),
        Mistake("no momentum", "The second sum has forgotten the first one: 0.9 of it is still there.", [2.5, 2.375]),
        Mistake("nothing fades", "The old sum is multiplied by 0.9 before it is used again.", [2.5, 4.875]),
        Mistake("decay by itself", "The first sum is right. In the second you add the decay of p to the old sum, and "
                "not the gradient of 2.", [2.5, 2.625]),
        Mistake("the weights", "That is p after each step. Asked is the sum by which it moves.", [0.75, 0.2875]),
        Mistake("times the rate", "The rate comes last: it is no part of the sum. (Nor is it an average: the new "
                "gradient is added whole.)", [0.25, 0.4625]),
        Mistake("decay subtracted", "The decay has the wrong sign. It is added to the gradient, and the step goes "
                "against the gradient: so it pulls p towards 0.", [1.5, 2.925]),
    ),
    reveals=("4.625", "2 + 0.5 · 1"),
)  # fmt: skip
