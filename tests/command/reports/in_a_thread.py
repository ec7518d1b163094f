"""The training runs in a thread, which hands its error to the one that waits for it."""

import threading

import torch

weight = torch.nn.Parameter(torch.ones(3))
caught = []


def train():
    loss = (weight * weight).sum()  # SAVED
    with torch.no_grad():
        weight.mul_(0.9)  # CHANGED
    loss.backward()  # FAILED


def worker():
    try:
        train()
    except RuntimeError as error:
        caught.append(error)


thread = threading.Thread(target=worker)
thread.start()
thread.join()
if caught:
    raise caught[0]
