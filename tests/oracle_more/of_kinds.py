"""Element types: every operator on every pair of kinds, and every write of every kind of operand.

The operands are tensors with one dimension and with none, of each element type, and Python's numbers.
"""

import operator

from kit import programs, raises

OPERATORS = {
    "add": lambda T, a, b: a + b,
    "sub": lambda T, a, b: a - b,
    "mul": lambda T, a, b: a * b,
    "div": lambda T, a, b: a / b,
    "pow": lambda T, a, b: a**b,
    "floor_divide": lambda T, a, b: a // b,
    "remainder": lambda T, a, b: a % b,
    "less": lambda T, a, b: a < b,
    "equal": lambda T, a, b: a == b,
    "maximum": lambda T, a, b: T.maximum(a, b),
    "where": lambda T, a, b: T.where(T.tensor([True]), a, b),
    "both": lambda T, a, b: a & b,
    "either": lambda T, a, b: a | b,
    "one_of": lambda T, a, b: a ^ b,
}
WRITES = "add_ sub_ mul_ div_ pow_ copy_ fill_ remainder_ floor_divide_".split()
IN_PLACE = {"remainder_": operator.imod, "floor_divide_": operator.ifloordiv}


def operands(T):
    """One operand of each kind."""
    kinds = {"bool": T.bool, "long": T.int64, "float": T.float32, "double": T.float64}
    found = {f"{name} vector": T.tensor([2]).to(kind) for name, kind in kinds.items()}
    found |= {f"{name} alone": T.tensor(2).to(kind) for name, kind in kinds.items()}
    return found | {"int": 3, "float": 1.5, "bool": True}


def pairs(T, operator):
    """What an operator makes of each pair."""
    table = {}
    for first, a in operands(T).items():
        for second, b in operands(T).items():
            if isinstance(a, T.Tensor) or isinstance(b, T.Tensor):
                results = []
                error = raises(lambda: results.append(operator(T, a, b)))
                table[f"{first}, {second}"] = [error, results]
    return table


def writes(T, name):
    """What a write makes of a vector of each type."""
    table = {}
    for kind in (T.bool, T.int64, T.float32, T.float64):
        for operand, value in operands(T).items():
            target = T.tensor([1]).to(kind)
            error = raises(lambda: (IN_PLACE.get(name) or getattr(T.Tensor, name))(target, value))
            table[f"{kind} {operand}"] = [error, target, target._version]
    return table


programs(**{name: lambda T, operator=operator: pairs(T, operator) for name, operator in OPERATORS.items()})
programs(**{f"{name}in_place": lambda T, name=name: writes(T, name) for name in WRITES})
