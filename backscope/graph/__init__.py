"""Reading a graph: its nodes, tensors and saved slots as data, folded and compared."""
