"""The logic of the rows in errors/*.toml: facts that follow from others, and the functions that a `when` can name.

`by` is the name of the operation that wrote to the saved tensor, known when the command has recorded the run.
"""

from backscope.adapters import loaded

NO_TWIN = {"bernoulli_", "set_", "resize_"}  # `y.bernoulli()` is another operation than `y.bernoulli_(p)`
TYPES = {"FloatTensor": "float32", "DoubleTensor": "float64", "LongTensor": "int64", "CPUBoolType": "bool"}


def facts_of(facts) -> dict[str, str]:
    """Complete the facts of a message: element types and operations by their usual names, how often was written."""
    for name in ("mode", "how"):
        if name + "2" in facts:
            facts[name] = facts[name + "2"]
    if "kind" in facts:
        facts["kind"] = TYPES.get(facts["kind"].rpartition(".")[2], facts["kind"])
    if "op" in facts:
        facts["op"] = facts["op"].rpartition("::")[2]
    if "now" in facts:
        facts["writes"] = str(int(facts["now"]) - int(facts["wanted"]))
    return facts


def embedding_wrote(facts) -> bool:
    """Decide whether embedding() or embedding_bag() shortened rows of its weight: max_norm."""
    return facts.get("by", "").startswith("embedding")


def wrote_through_an_argument(facts) -> bool:
    """Decide whether inplace=True or out= made an operation write, whose name has no _ at its end."""
    return "by" in facts and not facts["by"].endswith("_")


def has_a_twin(facts) -> bool:
    """Decide whether the operation that wrote also exists out of place, under its name without _."""
    twin = facts.get("twin")
    return bool(twin) and facts["by"] not in NO_TWIN and all(hasattr(each.Tensor, twin) for each in loaded()[:1])
