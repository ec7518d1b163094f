"""Arithmetic: what NumPy does for us, and the functions that everybody expects. No differentiation is decided here.

PyTorch: aten/src/ATen/native. The engine proper, the part to be read in an evening, is in the folder above.
"""
