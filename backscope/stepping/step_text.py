"""The trace of a backward pass: every frame in words, and the same text for the same program on both libraries."""

from backscope.graph.listing import count, held
from backscope.graph.model import FREED, STALE
from backscope.stepping.step_record import NOTHING

MANY = 12  # items of a list that are named
SMALL = 24  # a graph with more nodes has only those counts listed that are above one


def some(items, say=str, most=MANY, between=", ") -> str:
    """Write items in one line, the first of them when there are many; 'empty' for none. `say` puts one in words."""
    items = list(items)
    if not items:
        return "empty"
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return between.join(map(say, items[:most])) + more


def queue_words(recording, frame) -> str:
    """Write the ready queue, the next node first."""
    return some(frame.ready, recording.graph.node_title)


# --- sentences on the whole pass ---------------------------------------------------------------------------


def headline(recording) -> str:
    """Say where the pass began and how far it came."""
    asked = ", ".join(recording.graph.title(i) for i in recording.graph.asked)
    ran = sum(not step.error for step in recording.steps)
    total = len(recording.planned)
    if recording.error is None:
        return f"The backward pass from {asked}, one node at a time: {count(ran, 'node')} ran."
    where = ""
    if recording.failed:
        where = f" at {recording.graph.node_title(recording.failed.node)}"
    return f"The backward pass from {asked}, one node at a time: {ran} of {count(total, 'node')} ran; it failed{where}."


def notes(recording, retain_graph, create_graph, chosen) -> list[str]:
    """Say what is special about this pass."""
    found = []
    if chosen:
        left = len(recording.graph.nodes) - len(recording.needed)
        found.append(
            "inputs= was given: only nodes on a path to one of them run"
            + (f"; {left} of {len(recording.graph.nodes)} nodes {'stay' + 's' * (left == 1)} out." if left else ".")
        )
    if create_graph:
        found.append(
            "create_graph=True: the pass is itself recorded, so that its result can be differentiated. A leaf and its "
            ".grad may now hold each other (PyTorch warns of it): set .grad to None when you are done."
        )
    if retain_graph or (create_graph and retain_graph is None):
        found.append("Saved tensors are kept for another pass.")
    if recording.strays:
        found.append(
            "The newest ready node should run first, and AccumulateGrad before all others; the engine did not keep "
            f"to that at {'step' if len(recording.strays) == 1 else 'steps'} {some(recording.strays)}. "
            "This is the order in which the nodes really ran."
        )
    return found


def left_out(recording, shown) -> str:
    """Write a sentence on the frames that are not shown, or nothing."""
    total = len(recording.steps)
    missing = total + 1 - len(shown)
    if not missing:
        return ""
    gaps, expect = [], 0
    for number in [*shown, total + 1]:
        if number > expect:
            gaps.append(str(expect) if number == expect + 1 else f"{expect} to {number - 1}")
        expect = number + 1
    return f"Frames left out: {' and '.join(gaps)}. Ask for others with .part(first, last)."


def ending(recording) -> str:
    """Say how the pass ended."""
    grads = dict(recording.first_grads)
    for step in recording.steps:
        grads.update((v, after) for v, _, after in step.grads)
    stored = grad_words(recording, grads)
    if recording.error is None:
        return f"The queue is empty, the pass is over. {stored}"
    never = recording.never_ran()
    rest = f" {count(len(never), 'node')} did not finish: {some(never, recording.graph.node_title)}." if never else ""
    return f"The pass ended in an error.{rest} What ran is not undone. {stored}"


def grad_words(recording, grads) -> str:
    """Write 'x.grad: 4.' for each tensor that receives a gradient."""
    return some(grads, lambda v: f"{recording.graph.title(v)}.grad: {grads[v]}", between="; ")


# --- one frame ---------------------------------------------------------------------------------------------


def title(recording, frame) -> str:
    """Write a step's title: 'Step 3 of 5: 2 ExpBackward0 runs'."""
    if frame.step is None:
        return "Start"
    what = "fails" if frame.step.error else "runs"
    return f"Step {frame.number} of {len(recording.planned)}: {recording.graph.node_title(frame.step.node)} {what}"


def sentence(recording, frame) -> str:
    """Tell what happened in a step: what came, what went on, who is ready now."""
    step, graph = frame.step, recording.graph
    if step is None:
        seeds = "; ".join(f"{graph.node_title(i)} holds {text}" for i, text in recording.seeds.items())
        end = "" if seeds.endswith(".") else "."
        return f"Before the first step: {seeds}{end} A node runs when a gradient has come along each arrow to it."
    who = graph.node_title(step.node)
    if step.error:
        return " ".join([f"{who} fails: {step.error}", culprit(recording, step)]).strip()
    told = [f"{who} got {got_words(step)}"]
    told += [line[0].upper() + line[1:] for line in written_words(recording, step)]
    to = {}
    for sent, counts in zip(step.sent, frame.counts, strict=True):
        if counts is not None:
            to.setdefault(sent.target, ([], []))[0].append(sent.text)
            to[sent.target][1].append(counts[1])
    for target, (texts, left) in to.items():
        then = f"which waits for {left[-1]} more" if left[-1] else "which is ready now"
        told.append(f"It sent {' and '.join(texts)} to {graph.node_title(target)}, {then}")
    told += change_words(recording, step)
    if step.freed:
        told.append(f"It let go of {some(step.freed)}")
    return " ".join(line if line.endswith(".") else line + "." for line in told)


def got_words(step) -> str:
    """Write what a node ran on."""
    if not step.began:
        return "nothing: it did not begin"
    return f"{step.got} (a hook changed it: it was {step.held})" if step.held else step.got


def written_words(recording, step) -> list[str]:
    """Write one line for each gradient that waited elsewhere and was written into."""
    return [f"the same memory waits in the buffer of {recording.graph.node_title(i)}, so that changed too: "
            f"{before} → {after}" for i, before, after in step.written]  # fmt: skip


def sent_words(recording, frame) -> list[str]:
    """Write one line for each gradient that was passed on."""
    found = []
    several = len(recording.graph.nodes[frame.step.node].edges) > 1
    changed = a_hook_changed_one(recording)
    for sent, counts in zip(frame.step.sent, frame.counts, strict=True):
        where = recording.graph.node_title(sent.target) + (f" output {sent.output}" if sent.output else "")
        line = f"[{sent.position}] " if several else ""
        if counts is None:
            found.append(f"{line}to {where}: not asked for")
            continue
        text = "the same tensor" if sent.again and changed else sent.text
        line += f"{text} to {where}: {counts[0]}→{counts[1]}" + ("" if counts[1] else ", ready")
        found.append(line + (f", {sent.sum}" if sent.sum not in (sent.text, NOTHING) else ""))
    return found


def a_hook_changed_one(recording) -> bool:
    """Tell whether a hook changed a gradient: then it matters which arrows carry one tensor."""
    return any(step.held or step.written for step in recording.steps)


def waiting_words(recording, frame, most=MANY) -> str:
    """Write '1 MulBackward0 for 2' for each node that waits, those first that have got something."""
    order = sorted(frame.waiting, key=lambda i: i not in frame.buffers)
    return some(order, lambda i: f"{recording.graph.node_title(i)} for {frame.waiting[i]}", most)


def buffer_words(recording, frame, nodes, most=MANY) -> str:
    """Write '1 MulBackward0: 4.' for each of these nodes."""
    return some(nodes, lambda i: f"{recording.graph.node_title(i)}: {frame.buffers[i]}", most, "; ")


def change_words(recording, step) -> list[str]:
    """Write 'x.grad: None → 4.' for each gradient that was stored."""
    return [f"{recording.graph.title(v)}.grad: {before} → {after}" for v, before, after in step.grads]


def start_words(recording) -> list[str]:
    """Say for how many gradients each node waits; of a large graph those that wait for more than one."""
    counts = recording.start_counts
    listed = [i for i in counts if len(counts) <= SMALL or counts[i] > 1]
    found = [start_line(recording, i) for i in listed[:SMALL]]
    if len(listed) > SMALL:
        found.append(f"and {len(listed) - SMALL} more that wait for more than one")
    if len(counts) > len(listed):
        found.append(f"the other {len(counts) - len(listed)} nodes wait for 1 or none")
    return found


def start_line(recording, i) -> str:
    left = recording.start_counts[i]
    name = recording.graph.node_title(i)
    seed = f", the pass starts with {recording.seeds[i]} in its buffer" if i in recording.seeds else ""
    return f"{name}: " + (f"waits for {left}" if left else "ready") + seed


def culprit(recording, step) -> str:
    """Say why a node failed, when a saved tensor tells it."""
    graph = recording.graph
    for slot in graph.nodes[step.node].slots:
        if slot.state == STALE:
            return f"It saved {held(graph, slot)} at version {slot.saved}; it is now at version {slot.now}."
        if slot.state == FREED:
            return "An earlier pass freed what it had saved."
    return ""


# --- the trace ---------------------------------------------------------------------------------------------


def trace(recording, shown) -> str:
    """Write the whole pass as text."""
    lines = [headline(recording), *recording.notes]
    if skipped := left_out(recording, shown):
        lines.append(skipped)
    for frame in recording.frames(set(shown)):
        lines += ["", title(recording, frame)]
        lines += ["  " + line for line in frame_lines(recording, frame)]
    if not recording.steps or recording.steps and len(recording.steps) in shown:
        lines += ["", ending(recording)]
    return "\n".join(lines)


def frame_lines(recording, frame) -> list[str]:
    """Write the lines below a frame's title."""
    step = frame.step
    queue = "ready queue: " + queue_words(recording, frame)
    if step is None:
        return [*start_words(recording), queue]
    lines = ["gets " + got_words(step) if step.began else "did not begin", *written_words(recording, step)]
    lines += ["sends " + line for line in sent_words(recording, frame)]
    lines += change_words(recording, step)
    if step.freed and not step.error:
        lines.append("frees " + some(step.freed))
    if step.error:
        return [*lines, step.error, *filter(None, [culprit(recording, step)])]
    lines.append(queue)
    ready = set(frame.ready)
    waiting = [i for i in frame.buffers if i not in ready]
    if waiting:
        lines.append("buffers of waiting nodes: " + buffer_words(recording, frame, waiting))
    return lines
