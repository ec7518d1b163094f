"""Activations in NumPy: their values, and the slopes that take more than one expression.

PyTorch: aten/src/ATen/native (Activation.cpp, cpu/Activation.cpp, SoftMax.cpp).

A slope is written with operators and with functions that have both forms, so it serves arrays and tensors alike (see
`twin_of` in engine/build.py).
"""

import math

import numpy as np

from course_lib.arrays.kernels import error_function, floats, logistic, reject_bool, softmax


def threshold(x: np.ndarray, threshold: float, value: float) -> np.ndarray:
    """Return x where it is above the threshold, `value` elsewhere."""
    reject_bool(x, "\"threshold_cpu\" not implemented for 'Bool'", NotImplementedError)
    return np.where(x <= threshold, x.dtype.type(value), x)


def softplus(x: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    """Return log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    floats(x, "softplus_cpu")
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def log_sigmoid(x: np.ndarray) -> tuple:
    """Return (log(sigmoid(x)), exp(-|x|)): the second is what PyTorch's node keeps."""
    x = np.asarray(floats(x, "log_sigmoid_cpu"), order="C")
    buffer = np.exp(-np.abs(x))
    return np.minimum(x, 0) - np.log1p(buffer), buffer


def safe_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """Return softmax, and 0 where every element is -inf: what may look nowhere sees nothing."""
    return np.where(np.all(x == -math.inf, axis=dim, keepdims=True), x.dtype.type(0), softmax(x, dim))


def gelu(x: np.ndarray, approximate: str) -> np.ndarray:
    """Return x times the chance that a standard normal number is below x; "tanh" approximates that chance."""
    floats(x, "GeluKernelImpl")
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    return (x * (0.5 * (1 + error_function(x * math.sqrt(0.5))))).astype(x.dtype)


def gelu_slope(x: np.ndarray, approximate: str) -> np.ndarray:
    """Return the slope of gelu: the chance up to x, plus x times its density."""
    if approximate == "tanh":
        t = tanh(0.7978845608028654 * (x + 0.044715 * x**3))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608028654 * (1 + 0.134145 * x * x))
    return 0.5 * (1 + error_function(x * math.sqrt(0.5))) + x * exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


# Names that the slopes use in both forms: here for arrays; for tensors see nn/derivatives.py.

exp, sigmoid, tanh = np.exp, logistic, np.tanh
