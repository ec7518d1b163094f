"""The rows that `explain()` knows errors by, one for each kind of message: read from errors/*.toml when needed.

A row, `[[error]]`, has
    key         its name
    lesson      the lesson to read; none where no graph is needed
    example     a message that it is for
    pattern     regular expressions with PyTorch's key phrases, one of which is in the message; named groups are facts
    says        three sentences: what happened. {name} stands for a fact, or for a sentence of sentences.toml
    cures       what repairs it
    cases       other cures for cases that can be told apart; the first whose `when` holds
    silences    what makes the message go away without repairing anything, and what that costs
    seek        what to mark in the picture (report.py)

A `when` is a table of facts and their values (true: it is known, false: it is not), the name of a function of
conditions.py, or a list of these, one of which must hold.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from backscope.explaining import conditions

FOLDER = Path(__file__).with_name("errors")
FILES = (  # in this order: the first row that fits counts
    "neighbours", "saved", "writes", "leaves", "passes", "hooks", "functions", "tools", "shapes", "indexes", "types",
    "networks",
)  # fmt: skip
LESSONS = {
    0: "start here", 1: "a computation is a graph", 2: "leaves and requires_grad", 3: "vector-Jacobian products",
    4: "the engine", 5: "leaf accumulation", 6: "saved tensors and memory", 7: "version counters",
    8: "views share memory", 9: "ways out of the graph", 10: "a training loop", 11: "custom Functions", 12: "hooks",
    13: "double backward", 14: "packing and checkpointing", 15: "reading PyTorch", 16: "five bug reports",
    17: "two machines",
}  # fmt: skip


@dataclass
class Row:
    """One kind of error."""

    key: str
    example: str
    pattern: str
    says: list
    cures: list
    cases: list = ()
    silences: list = ()
    lesson: int | None = None
    seek: str = ""

    def cures_for(self, facts) -> list[str]:
        """Return what repairs the error in the case that the facts describe."""
        return [fill(cure, facts) for cure in chosen(self.cases, facts, {"cures": self.cures})["cures"]]


def read(name) -> dict:
    """Read a file of the folder errors/."""
    import tomllib  # an import of backscope needs no answer yet

    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@functools.cache
def rows() -> list[Row]:
    """Read the rows of all files, in the order in which they are tried."""
    return [Row(**row | {"pattern": "|".join(row["pattern"])}) for name in FILES for row in read(name)["error"]]


@functools.cache
def sentences() -> dict[str, list]:
    """Read the sentences that stand for names in braces: {name: [{"when": …, "says": …}]}."""
    return read("sentences")


def find_row(message) -> tuple[Row | None, dict[str, str]]:
    """Return (row, facts) of the first row whose pattern is in the message; (None, {}) if there is none."""
    for row in rows():
        found = re.search(row.pattern, message, re.DOTALL)
        if found:
            return row, conditions.facts_of({k: v for k, v in found.groupdict().items() if v is not None})
    return None, {}


def fill(sentence, facts) -> str:
    """Put facts, and sentences that depend on them, in the place of their names; other braces stay."""

    def value(name):
        if name[1] in facts:
            return facts[name[1]]
        choice = chosen(sentences().get(name[1], ()), facts)
        return name[0] if choice is None else fill(choice["says"], facts)

    return re.sub(r"\{(\w+)\}", value, sentence)


def chosen(cases, facts, otherwise=None) -> dict | None:
    """Return the first case whose `when` is true of the facts."""
    return next((case for case in cases if holds(case.get("when", {}), facts)), otherwise)


def holds(when, facts) -> bool:
    """Decide whether a `when` is true of the facts."""
    if isinstance(when, list):
        return any(holds(each, facts) for each in when)
    if isinstance(when, str):
        return getattr(conditions, when)(facts)
    return all(
        bool(facts.get(name)) is value if isinstance(value, bool) else facts.get(name) == value
        for name, value in when.items()
    )
