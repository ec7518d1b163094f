"""Instruments for autograd: `import backscope` beside your own PyTorch, `python -m backscope train.py`.

They take tensors of PyTorch and of course_lib alike. `help(backscope.draw)` and the gallery notebook show what each
instrument can do.

    backscope.explain()             the last error: what happened, which line, what cures it
    backscope.draw(loss, names=model)
    backscope.step(loss)            backward, one node at a time
    backscope.film("…")             a program statement by statement, and the graph after each
    with backscope.watch() as log:  what was saved, written to, refused, freed
    with backscope.ledger() as held:    bytes that saved tensors hold
    backscope.gradients(model)      each .grad: its norm, None, zeros, stale, what changed since the last call
    backscope.compare(before, after)    what changed between two drawings
"""

from backscope.events.watch import watch
from backscope.explaining.report import explain
from backscope.filming.film import film
from backscope.graph.compare import compare
from backscope.memory.gradients import gradients
from backscope.memory.ledger import ledger
from backscope.pictures.draw import draw
from backscope.stepping.step import step

__all__ = ["compare", "draw", "explain", "film", "gradients", "ledger", "step", "watch"]
