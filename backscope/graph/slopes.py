"""Slopes: what backward multiplies by at each arrow of a graph, asked of the nodes one by one, without a pass.

A node is called with ones; what it returns for an input is that input's slope, where the node's result is one number.
What it returns also has the shape of what the next node made, so that this can be called in its turn.
"""

import sys
from typing import Any

from backscope.adapters import library_of
from backscope.graph.listing import of_function
from backscope.graph.model import topological
from backscope.graph.reader import Reader
from backscope.graph.tensor_facts import preview


def read_slopes(reader: Reader, tensors: list) -> None:
    """Write the slopes of the nodes behind these tensors into what the reader has found."""
    library = sys.modules[library_of(tensors[0])]
    results = {}  # node -> a tensor of the shape of its first output
    for tensor in tensors:
        node = reader.index.get(id(tensor.grad_fn))
        if node is not None and not tensor.output_nr:
            results[node] = tensor
    with library.no_grad():
        for i in reversed(topological(reader.backs)):
            node = reader.backs[i]
            if i in results and not node.accumulates and not of_function(node):
                ask(library, reader, i, results)


def ask(library: Any, reader: Reader, i: int, results: dict) -> None:
    """Call one node with ones; a node that cannot answer has no slopes, and nodes behind it may have none."""
    node = reader.backs[i]
    try:
        answer = reader.found[i](library.ones_like(results[i]))
    except Exception:  # freed, stale, or one that takes more than one gradient
        return
    answer = answer if isinstance(answer, tuple) else (answer,)
    for k, following, output in node.edges:
        slope = answer[k] if k < len(answer) else None
        if following is None or slope is None:
            continue
        if not output:
            results.setdefault(following, slope)
        text = preview(slope)
        if results[i].numel() == 1 and not text.startswith("shape"):
            node.slopes[k] = text.removesuffix(".")
