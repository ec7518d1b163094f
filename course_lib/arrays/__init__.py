"""NumPy, and nothing of autograd: kernels, element types, memory, printing, the longer texts of errors.

PyTorch: c10/core, aten/src/ATen/native.
"""
