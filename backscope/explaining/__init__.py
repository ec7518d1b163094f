"""`explain`: what an error of autograd means, what caused it here, and what cures it."""
