"""The learner's engine, lesson 17, two machines: its program."""

from coursekit.own_engine.checkpoints import print

NOW = "Without a new line it shows what two forwards and a buffer do to each other."


def lesson_17(torch):
    """No new line: two forwards, one backward, and a buffer that is written in between."""
    w, buffer = torch.tensor([2.0], requires_grad=True), torch.tensor([1.0])
    first = (w * buffer).sum()
    with torch.no_grad():
        buffer.mul_(0).add_(5)  # "broadcast_buffers" before the second forward
    second = (w * buffer).sum()
    try:
        (first + second).backward()
    except RuntimeError as error:
        print(str(error)[str(error).index("is at version") :].split(" instead")[0])
