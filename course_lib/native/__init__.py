"""Arithmetic: what NumPy does for us, the functions that everybody expects, and the second page of the table.

PyTorch: aten/src/ATen/native. The engine proper, the part to be read in an evening, is in the folder above.
"""
