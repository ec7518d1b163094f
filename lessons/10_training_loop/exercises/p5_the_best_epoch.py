"""Exercise 10.p5: the best epoch."""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree, some_numbers
from lessons.training import fresh


def early_stopping(torch):
    """Run the question's program, and return what it prints."""
    model, optimizer = fresh(torch, lr=0.25)
    x, t, best = torch.ones(1, 1), torch.full((1, 1), 3.0), {"loss": math.inf}
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.MSELoss()(model(x), t).backward()
        optimizer.step()
        loss = torch.nn.MSELoss()(model(x), t).item()
        if loss < best["loss"]:
            best = {"loss": loss, "state": model.state_dict()}
    model.load_state_dict(best["state"])
    return best["loss"], torch.nn.MSELoss()(model(x), t).item()


def read(answer):
    """Two numbers, or "error" where one stands anywhere in the answer."""
    return "error" if "error" in str(answer).lower() else some_numbers(2)(answer)


EXERCISE = Predict(
    id="10.p5", title="The best epoch", minutes=2, difficulty=2,
    question="The loss after the four epochs is 1, 4, 1, 4. Which two numbers are printed?",
    hints=(
        "loss is a number, and a number does not change afterwards. Is a dictionary of tensors like that?",
        "A step writes in place. Who looks at the memory that it writes to?",
    ),
    solution="answer = (1, 4)",
    why="The loss was noted as a number. The state is a dictionary of tensors in the model's memory, and every later "
    "step wrote there; load_state_dict copied the weights onto themselves.",
    alternatives=("answer = [1.0, 4.0]", 'answer = "1, 4"'),
    read=read, truth=early_stopping, equal=agree,
    wanted="Give a pair of numbers: the best loss that was noted, and the loss after load_state_dict.",
    shown="a state that nobody copied is the model itself, whatever epoch you took it from.",
    otherwise="The losses are 1, 4, 1, 4, and the last line prints two of them.",
    mistakes=(
        Mistake("a snapshot", "That is what the program wants, and it would be right if the dictionary held copies. "
                "But step writes in place, and whose memory does state_dict() hand out?", (1, 1)),
        Mistake("both from the end", "The loss was noted as a number, by item(), when it was 1. Nothing writes to a "
                "number.", (4, 4)),
        Mistake("the other way round", "The first number is the smallest loss that was seen; look again at what `if` "
                "lets through.", (4, 1)),
        Mistake("refused", "Nothing raises. load_state_dict copies numbers into parameters, and numbers may also be "
                "copied onto themselves.", (1, "error"), when=lambda given, _: given == "error"),
    ),
    prepare=fresh,
    reveals=("1.0 4.0", "lies in one memory with the weight", "copied the weights onto themselves"),
)  # fmt: skip
