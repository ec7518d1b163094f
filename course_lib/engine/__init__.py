"""The engine, to be read in an evening: tensors and their versions, the graph, what it saves, views, the backward pass.

PyTorch: c10/core, torch/csrc/autograd, tools/autograd. It knows `arrays/` and nothing above itself.
"""
