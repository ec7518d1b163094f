"""`gradients(model)`: what is in each `.grad` now, and what has changed since it was looked at before."""

from dataclasses import dataclass
from html import escape
from typing import Any

from backscope.graph.tensor_facts import grad_of, is_module, is_tensor, shape_of, token_of
from backscope.pictures.draw import named_by

_seen: dict = {}  # token of a parameter -> what the last call saw of it: numbers, and no tensor
MANY = 10_000  # parameters that are remembered from one call to the next


@dataclass(frozen=True)
class Row:
    """One parameter."""

    name: str
    shape: str
    trainable: bool
    norm: float | None  # None: there is no gradient
    said: str  # what is to be noticed


class Gradients:
    """A table of gradients. Holds numbers and words, no tensor."""

    def __init__(self, rows: list[Row], counts: tuple[int, int]) -> None:
        self.rows, self.trainable, self.all = rows, *counts

    @property
    def summary(self) -> str:
        """Say how many numbers are trained, and how many parameters have a gradient."""
        with_one = sum(row.norm is not None for row in self.rows)
        return (
            f"{self.trainable:,} of {self.all:,} numbers are trainable; {with_one} of {len(self.rows)} parameters have "
            "a gradient"
        )

    @property
    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (row.name, row.shape, "yes" if row.trainable else "no", "None" if row.norm is None else f"{row.norm:.3g}",
             row.said)
            for row in self.rows
        ]  # fmt: skip

    def __str__(self) -> str:
        table = [("parameter", "shape", "trainable", "norm", ""), *self._cells]
        widths = [max(len(row[at]) for row in table) for at in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([*(line.rstrip() for line in lines), "", self.summary])

    __repr__ = __str__

    @property
    def text(self) -> str:
        """Return the table in words."""
        return str(self)

    @property
    def html(self) -> str:
        """Return the table for a page."""
        titles = ("parameter", "shape", "trainable", "norm", "")
        head = "".join(f"<th style='text-align:left'>{one}</th>" for one in titles)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells
        )
        return f"<table><tr>{head}</tr>{body}</table><p>{escape(self.summary)}</p>"

    def _repr_html_(self) -> str:
        return self.html


def gradients(*models: Any) -> Gradients:
    """Tabulate the gradients of models, or of tensors: norm, None, zeros, stale, and what changed since the last call.

    *Stale*: the parameter was written to since the last call, and its gradient is as it was, so it belongs to the old
    values, as after `optimizer.step()`. The first call has nothing to compare with, and says nothing about it.
    """
    modules = [one for one in models if is_module(one)]
    named = [(name, one) for name, one in named_by(modules) if one.is_leaf and hasattr(one, "requires_grad")]
    buffers = {id(one) for module in modules for _, one in getattr(module, "named_buffers", list)()}
    named = [(name, one) for name, one in named if id(one) not in buffers]
    for number, one in enumerate(models):
        if is_tensor(one):
            named.append((f"tensor {number}", one))
        elif not is_module(one):
            raise TypeError(f"gradients() takes models and tensors; argument {number} is a {type(one).__name__}.")
    rows = [row_of(name, one) for name, one in named]
    sizes = [(one.numel(), bool(one.requires_grad)) for _, one in named]
    return Gradients(rows, (sum(n for n, trained in sizes if trained), sum(n for n, _ in sizes)))


def row_of(name: str, parameter: Any) -> Row:
    """Return one parameter, beside what the last call saw of it."""
    gradient = grad_of(parameter)
    now = (parameter._version, None if gradient is None else (token_of(gradient), gradient._version))
    before = _seen.pop(token_of(parameter), None)
    _seen[token_of(parameter)] = now
    if len(_seen) > MANY:
        _seen.pop(next(iter(_seen)))
    norm = None
    if gradient is not None:
        flat = gradient.detach()
        flat = flat.to_dense() if getattr(flat, "is_sparse", False) else flat
        norm = float((flat * flat).sum()) ** 0.5
    said = []
    if not parameter.requires_grad:
        said.append("frozen" if gradient is None else "frozen, and has a gradient from before")
    if norm == 0:
        said.append("zeros")
    elif norm is not None and norm != norm:
        said.append("NaN in it")
    if before is not None:
        if before[1] != now[1]:
            said.append("cleared since" if now[1] is None else "new" if before[1] is None else "changed since")
        elif now[1] is not None and before[0] != now[0]:
            said.append("stale: the parameter was written to since")
    return Row(name, shape_of(parameter), bool(parameter.requires_grad), norm, ", ".join(said))
