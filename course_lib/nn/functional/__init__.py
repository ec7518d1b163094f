"""The functions behind the layers, by theme. Each sorts out its arguments and picks rows of the table, no more.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Linear.cpp, Loss.cpp, Dropout.cpp, Convolution.cpp).
"""

from course_lib.engine.tensor import Tensor
from course_lib.nn.functional import activations, convolution, linear, losses, normalizing
from course_lib.surface import left_out as _left_out

__all__ = """
    Tensor avg_pool2d batch_norm binary_cross_entropy binary_cross_entropy_with_logits conv1d conv2d
    cross_entropy dropout embedding gelu glu huber_loss l1_loss layer_norm leaky_relu
    linear log_softmax logsigmoid max_pool2d mse_loss nll_loss normalize one_hot pad relu relu_
    scaled_dot_product_attention sigmoid silu softmax softplus tanh
""".split()
for _file in (activations, convolution, losses, normalizing, linear):
    globals().update({name: value for name, value in vars(_file).items() if name in __all__})
__getattr__, __dir__ = _left_out.doors("torch.nn.functional", __all__)
