"""The functions behind the layers, by theme. Each sorts out its arguments and picks rows of the table, no more.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Linear.cpp, Loss.cpp, Dropout.cpp, Convolution.cpp).
"""

from course_lib.engine.tensor import Tensor
from course_lib.nn.functional.activations import (
    elu,
    gelu,
    glu,
    leaky_relu,
    log_softmax,
    logsigmoid,
    relu,
    relu_,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
    threshold,
)
from course_lib.nn.functional.convolution import avg_pool2d, conv1d, conv2d, max_pool2d, pad
from course_lib.nn.functional.linear import embedding, linear, one_hot, scaled_dot_product_attention
from course_lib.nn.functional.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from course_lib.nn.functional.normalizing import (
    batch_norm,
    cosine_similarity,
    dropout,
    layer_norm,
    normalize,
    rms_norm,
)
from course_lib.surface import left_out as _left_out

__all__ = """
    Tensor avg_pool2d batch_norm binary_cross_entropy binary_cross_entropy_with_logits conv1d conv2d
    cosine_similarity cross_entropy dropout elu embedding gelu glu huber_loss kl_div l1_loss layer_norm leaky_relu
    linear log_softmax logsigmoid max_pool2d mse_loss nll_loss normalize one_hot pad relu relu_ rms_norm
    scaled_dot_product_attention sigmoid silu smooth_l1_loss softmax softplus tanh threshold
""".split()
__getattr__, __dir__ = _left_out.doors("torch.nn.functional", __all__)
