"""Exercise 05.p3: what does `.grad` hold in the third step?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree


def truth(torch):
    """The loop of the hook, up to the backward pass of the third step."""
    w = torch.tensor(1.0, requires_grad=True)
    for step in range(3):
        (w * w / 2).backward()
        if step < 2:
            with torch.no_grad():
                w -= 0.5 * w.grad
    return w.grad.item()


def read(answer):
    """A number, also in a tensor or alone in a list."""
    if isinstance(answer, (list, tuple)) and len(answer) == 1:
        answer = answer[0]
    try:
        return None if isinstance(answer, bool) else float(answer)
    except (TypeError, ValueError):
        return None


EXERCISE = Predict(
    id="05.p3", title="The third step", minutes=2, difficulty=2, puzzles=(12,),
    question="In the three steps `w` is 1, 0.5 and -0.25, and so is the slope of `w * w / 2`. Nothing clears `.grad`. "
    "What does `w.grad` hold after the third backward pass? One number.",
    hints=(
        "Each pass sends one number to `w`: the slope at the `w` of its step.",
        "What does a pass do with the number that is in `.grad` already? Nothing takes one out again.",
    ),
    solution="answer = 1.25\n",
    why="Each pass adds its slope: 1, then 1 + 0.5, then 1.5 - 0.25.",
    alternatives=("answer = torch.tensor(1.25)\n", "answer = [1.25]\n"),
    read=read, truth=truth, equal=agree, wanted="One number is wanted.",
    shown="`.grad` holds 1 + 0.5 - 0.25. It is above 0 although the slope is below 0, so the step goes the wrong way.",
    otherwise="The program gives another number. Write down what each of the three passes sends to `w`, and what was "
    "in `.grad` before.",
    mistakes=(
        Mistake("this slope alone", "-0.25 is what the third pass sends. The slopes of the first two passes are still "
                "in `.grad`, and it is added to them.", -0.25),
        Mistake("two passes", "1.5 is what `.grad` held after two passes. The third one adds its slope, and that "
                "slope is below 0.", 1.5),
        Mistake("all slopes upwards", "1.75 adds 0.25. The slope at w = -0.25 is -0.25.", 1.75),
        Mistake("the last two", "0.25 adds the slopes of the last two passes. Nothing has taken the 1 of the first "
                "one out.", 0.25),
        Mistake("the mean of the slopes", "You divide by the number of passes. Backward adds, and divides by "
                "nothing.", 1.25 / 3),
        Mistake("times the rate", "You multiply by the learning rate. That happens in the step, after `.grad` was "
                "read.", 0.625),
    ),
    reveals=(".grad  1.250", "1.25, above 0", "still in `.grad`"),
)  # fmt: skip
