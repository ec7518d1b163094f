"""The listing: a picture in words, complete, and the same text for the same program on both libraries."""

from backscope.graph.model import DETACHED, FREED, OK, PACKED, STALE, UNWATCHED, Graph

MOST = 8  # tensors that the first line names
SENTENCES = 3  # stale tensors with a sentence of their own


def facts(graph: Graph) -> list[str]:
    """Write the sentences that matter most: what would fail, what is not what it seems, what was folded."""
    found = [*stale_facts(graph), *freed_facts(graph), *detached_facts(graph)]
    for value in graph.values:
        if value.problem:
            found.append(f"{value.name} cannot be used any more: {value.problem}.")
    for a, b in graph.other_counter:
        found.append(
            f"{graph.title(b)} looks at the memory of {graph.title(a)} with a version counter of its own: "
            f"a write through one is not counted by the other."
        )
    leaves = {node.leaf for node in graph.nodes}
    asked = [graph.values[i] for i in graph.asked if i not in leaves]
    lonely = [value for value in asked if value.node is None and not value.outside and not value.problem]
    if len(lonely) > 1 and not graph.counts[0]:
        names = ", ".join(value.name for value in lonely[:-1])
        found.append(f"No graph is behind {names} and {lonely[-1].name}: no recorded operation computed them.")
    else:
        found += [alone(graph, value) for value in lonely]
    for value in graph.values:
        if value.grad_of is not None:
            leaf = graph.title(value.grad_of)
            found.append(f"A ring: {leaf} holds its .grad, and the history of this .grad leads back to {leaf}.")
    if graph.missed:
        more = f" and {len(graph.missed) - 6} more" if len(graph.missed) > 6 else ""
        found.append(f"No gradient reaches {', '.join(graph.missed[:6])}{more} from here.")
    return list(dict.fromkeys(found)) + graph.folds


def alone(graph, value) -> str:
    """Write a sentence on a tensor that was asked for and has no graph behind it."""
    if value.requires_grad and graph.counts[0]:
        return f"No gradient reaches {value.name} from here: it is a leaf, and no recorded way leads back to it."
    if value.requires_grad:
        return f"{value.name} is a leaf: no recorded operation computed it, so there is no graph behind it."
    return f"{value.name} has no history and requires no grad: backward() has nowhere to go from it."


def stale_facts(graph) -> list[str]:
    """Write a sentence for each of the first stale slots, and how many more there are."""
    found, more = [], 0
    for index, node in enumerate(graph.nodes):
        more += node.folded_slots.get(STALE, 0)
        for slot in node.slots:
            if slot.state == STALE:
                reads = " if its backward reads ctx.saved_tensors" if of_function(node) else ""
                found.append(
                    f"A backward pass that reaches {graph.node_words(index)} fails{reads}: it saved "
                    f"{held(graph, slot)} at version {slot.saved}, now at version {slot.now}."
                )
    shown = list(dict.fromkeys(found[:SENTENCES]))
    more += len(found[SENTENCES:])
    if more:
        shown.append(f"{count(more, 'more saved tensor')} {'is' if more == 1 else 'are'} STALE.")
    return shown


def freed_facts(graph) -> list[str]:
    """Write one sentence on all nodes that let go of what they saved."""
    freed = [i for i, node in enumerate(graph.nodes) if any(slot.state == FREED for slot in node.slots)]
    if not freed:
        return []
    names = ", ".join(graph.node_words(i) for i in freed[:3]) + (", …" if len(freed) > 3 else "")
    own = [of_function(graph.nodes[i]) for i in freed]
    reads = ("" if all(own) else ", in a custom Function") + " if its backward reads ctx.saved_tensors"
    reads = reads if any(own) else ""
    return [f"A backward pass has freed what {names} saved: a second pass fails there{reads}."]


def of_function(node) -> bool:
    """Tell the node of a custom Function: a backward that reads no saved tensor never finds out about them."""
    return node.name.endswith("Backward")  # all others end in a number


def detached_facts(graph) -> list[str]:
    """Write a sentence for each slot whose tensor was taken out of the graph by detach_()."""
    return [
        f"A backward pass that reaches {graph.node_words(i)} fails: {held(graph, slot)} was detached in place."
        for i, node in enumerate(graph.nodes)
        for slot in node.slots
        if slot.state == DETACHED
    ]


def held(graph, slot) -> str:
    """Say what a slot holds: 'its result, z' or 'x'."""
    name = graph.title(slot.value) if slot.value is not None else slot.content or "a tensor"
    return f"its {slot.name}, {name}," if slot.name.startswith("result") else name


def count(number, noun) -> str:
    """Count things in words: '1 leaf', '2 leaves', 'no leaves'."""
    plural = {"leaf": "leaves", "box": "boxes"}.get(noun, noun + "s")
    return f"{number or 'no'} {noun if number == 1 else plural}"


def headline(graph) -> str:
    """Say what was drawn and how much of it there is."""
    names = [graph.title(i) for i in graph.asked]
    asked = ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
    inner, leaves, slots = graph.counts
    require = "requires" if leaves == 1 else "require"
    return (
        f"The graph of {asked}: {count(inner, 'backward node')}, {count(leaves, 'leaf')} that {require} "
        f"grad, {count(slots, 'saved tensor')}."
    )


# --- the listing -------------------------------------------------------------------------------------------


def listing(graph, detail) -> str:
    """Write the whole picture as text."""
    lines = [headline(graph), *facts(graph), "", "Values"]
    width = max(len(value.name) for value in graph.values)
    lines += [f"  {value.name:<{width}}  {value_line(graph, value, detail)}" for value in graph.values]
    if graph.memories:
        lines += ["", "Shared memory"]
        lines += [f"  {memory_line(graph, memory)}" for memory in graph.memories]
    if graph.nodes:
        lines += ["", "Backward nodes, in the order they were made"]
        lines += [f"  ({name}: {first} to {last})" for name, (first, last) in graph.parts.items()]
        for index, node in enumerate(graph.nodes):
            if not node.accumulates:
                lines += node_lines(graph, index, node, detail)
        for node in sorted((node for node in graph.nodes if node.accumulates), key=lambda node: node.leaf):
            lines.append(f"  AccumulateGrad of {accumulator_line(graph, node)}")
    return "\n".join(lines)


def kind(value) -> str:
    """Say what stands behind a value's name: a leaf, a frozen parameter, other data; "" for a computed tensor."""
    if value.requires_grad:
        return "leaf" if value.leaf else ""
    return "frozen" if value.frozen else "no grad"


def value_line(graph, value, detail) -> str:
    """Write everything about one value."""
    parts = [value.preview]
    if value.dtype != "float32":
        parts[0] += " " + value.dtype
    parts.append("no counter" if value.version is None else f"v{value.version}")
    if kind(value):
        parts.append(kind(value))
    if detail >= 2:
        parts.append("shape " + value.shape)
    if value.view_of is not None:
        parts.append("view of " + graph.title(value.view_of))
    if value.inputs:
        parts.append("from " + ", ".join(graph.title(i) for i in value.inputs))
    if value.node is not None:
        output = f" output {value.output_nr}" if value.output_nr else ""
        parts.append(f"grad_fn {graph.node_title(value.node)}{output}")
    elif value.outside:
        parts.append(f"grad_fn {value.outside}, not in this graph")
    if value.grad is not None:
        parts.append(("retained grad: " if value.retains_grad else "grad: ") + value.grad)
    parts += hook_words(value)
    if value.also:
        parts.append("also named " + ", ".join(value.also))
    if not value.named and not value.problem:
        parts.append("no name leads to it")
    if value.problem:
        parts.append("unusable")
    return "; ".join(parts)


class Hook(str):
    """A line about hooks: in a drawing it has a box of its own, below what the hooks are registered on."""


def hook_words(value) -> list:
    """Count hooks in words: '1 hook', '2 post-accumulate hooks'."""
    return hook_lines((value.hooks, "hook"), (value.post_hooks, "post-accumulate hook"))


def hook_lines(*kinds) -> list:
    """Write a line for each kind of hooks that there are; functions that were given names are called by them."""
    found = []
    for names, noun in kinds:
        called = ": " + ", ".join(name or "…" for name in names) if any(names) else ""
        found += [Hook(count(len(names), noun) + called)] if names else []
    return found


def memory_line(graph, memory) -> str:
    """Say who shares one memory and one counter."""
    names = ", ".join(graph.title(i) for i in memory.members)
    return f"{names}: one memory, " + (
        "no counter" if memory.version is None else f"one counter, version {memory.version}"
    )


def node_lines(graph, index, node, detail) -> list[str]:
    """Write a node, where its gradients go, and what it keeps."""
    targets = []
    for k, following, output in node.edges:
        label = f"[{k}] " if len(node.edges) > 1 and not node.folded else ""
        where = "nothing" if following is None else graph.node_title(following)
        slope = f" × {node.slopes[k]}" if k in node.slopes else ""
        targets.append(label + where + (f" output {output}" if output else "") + slope)
    arrow = " -> " + ", ".join(targets) if targets else ""
    lines = [f"  {graph.node_title(index)}{arrow}"]
    if node.folded:
        lines += ["      " + line for line in node.lines[1:]]
    else:
        lines += ["      " + line for line in node.lines]
    lines += ["      " + line for line in node_hook_words(node)]
    lines += [f"      {slot_verb(slot)} {slot_line(graph, slot)}" for slot in node.slots]
    if detail >= 2:
        lines += [f"      kept {name} = {text}" for name, text in node.kept]
    return lines


def slot_verb(slot) -> str:
    """Choose the verb: a tensor that a Function put on ctx by itself is kept; all others are saved."""
    return "kept" if slot.state == UNWATCHED else "saved"


def node_hook_words(node) -> list:
    """Count a node's hooks in words: '1 node prehook', '2 node hooks'."""
    return hook_lines((node.prehooks, "node prehook"), (node.hooks, "node hook"))


def slot_line(graph, slot) -> str:
    """Write one slot: what it holds, at which version it was saved, at which it is now."""
    if slot.state in (FREED, PACKED):
        return f"{slot.name}: {slot.state}"
    what = graph.title(slot.value) if slot.value is not None else slot.content
    if slot.state == UNWATCHED:
        return f"{slot.name} = {what}: no version check"
    if slot.state == DETACHED:
        return f"{slot.name} = {what}: DETACHED in place"
    state = "" if slot.state == OK else f", {slot.state}"
    if slot.now is None:
        return f"{slot.name} = {what}"
    return f"{slot.name} = {what}: v{slot.saved}, now v{slot.now}{state}"


def accumulator_line(graph, node) -> str:
    """Write the leaf and its gradient so far."""
    leaf = graph.values[node.leaf]
    if not leaf.requires_grad:
        return f"{leaf.name}: does nothing, requires_grad is switched off"
    line = f"{leaf.name}, {leaf.name}.grad: {leaf.grad}" if leaf.named else f"{leaf.name}, grad: {leaf.grad}"
    return "; ".join([line, *node_hook_words(node)])
