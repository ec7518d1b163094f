"""One of three operands was computed in inference mode, in another function."""

import torch


def prepare():
    with torch.inference_mode():
        scale = torch.linspace(0.0, 1.0, 3)  # MADE
    return scale


layer = torch.nn.Linear(3, 3)
bias = torch.ones(3)
scale = prepare()
x = torch.randn(2, 3)
(layer(x) * scale + bias).sum().backward()  # FAILED
