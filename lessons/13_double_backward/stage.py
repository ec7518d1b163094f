"""The picture of lesson 13, and the code that only names its parts."""

from backscope import draw


def slopes(g, **leaves):
    """The graph of the critic's slopes, with the lines of its backward pass as bands."""
    bands = {"forward": (1, 3), "gr = 1 @ W2.T": (4, 5), "gz = gr * (z > 0)": (6, 6), "g = gz @ W1.T": (7, 8)}
    last, relus = g.grad_fn, g.grad_fn.next_functions[0][0]  # nodes 8 and 6: what they saved gets names
    names = {"g": g, "gz": last._saved_self, "W1.T": last._saved_mat2, "r": relus._saved_self, **leaves}
    return draw(g, detail=0, parts=bands, names=names)
