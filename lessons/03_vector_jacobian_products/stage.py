"""Tables of numbers that lesson 03 shows: pictures that would tell a prediction, were they written in its cells."""

from coursekit import grids


def upstream_times_jacobian(upstream, jacobian):
    """A row of numbers times a table, with the rows of the table coloured like the numbers that multiply them."""
    result = [sum(k * row[place] for k, row in zip(upstream, jacobian, strict=True)) for place in (0, 1)]
    return grids(
        ["upstream", [upstream], "@", "Jacobian", jacobian, "=", "for u, for v", [result]],
        colours=("columns", "rows", "none"),
    )


def upstream_of_the_bias(G):
    """The upstream gradient of two rows, and what becomes of it for a bias that was added to both."""
    return grids(["upstream, G", G.tolist(), "add each column", "for c", [G.sum(0).tolist()]])


def slope_of_the_product(G, B, i, k):
    """Row i of G times row k of B, number by number: the gradient for one element of A in `A @ B`."""
    upstream, slopes = G[i].tolist(), B[k].tolist()
    products = [a * b for a, b in zip(upstream, slopes, strict=True)]
    return grids(
        [f"row {i} of G", [upstream], "times", f"row {k} of B", [slopes], "=", "products", [products], "add",
         f"for A[{i}, {k}]", [[sum(products)]]],
        colours=("columns", "columns", "columns", "none"),
    )
