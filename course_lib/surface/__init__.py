"""The public names: functions and methods, new tensors, `x[i]`, the table's further pages, and the names left out.

PyTorch: aten/src/ATen/native, torch/csrc/autograd, torch/_tensor.py.
"""
