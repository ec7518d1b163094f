"""`step`: a backward pass, one node at a time."""
