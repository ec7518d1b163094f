"""The course's instruments for work: `import backscope` beside your own PyTorch, `python -m backscope train.py`.

Everything here is course_lib.teach's, under a name that is short enough to type while something burns. It takes tensors
of PyTorch and of course_lib alike. `help(backscope.draw)` and the gallery notebook show what each instrument can do.

    backscope.explain()             the last error: what happened, which line, what cures it
    backscope.draw(loss, names=model)
    backscope.step(loss)            backward, one node at a time
    with backscope.watch() as log:  what was saved, written to, refused, freed
    with backscope.ledger() as held:    bytes that saved tensors hold
    backscope.compare(before, after)    what changed between two drawings
"""

from backscope import compare, draw, explain, ledger, step, watch

__all__ = ["compare", "draw", "explain", "ledger", "step", "watch"]


if __name__ == "__main__":
    import sys

    from backscope.script.command import main

    main(sys.argv[1:])
