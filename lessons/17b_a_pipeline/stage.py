"""Time lines of part 17b: which stage does what in which turn."""

from coursekit import grids


def turns_of(stage, stages, count):
    """The turns of a stage in 1F1B: first the forwards that it is ahead, then one and one, then the rest."""
    ahead = min(stages - 1 - stage, count)
    turns = [f"F{k}" for k in range(ahead)]
    for k in range(count):
        turns += [f"F{k + ahead}"] * (k + ahead < count) + [f"B{k}"]
    return turns


def time_table(stages, count):
    """Each stage's turns over time, "" where it waits: a turn begins when what it needs has been done."""
    done, rows, left = {}, [[] for _ in range(stages)], [turns_of(stage, stages, count) for stage in range(stages)]
    while any(left):
        now = len(rows[0])
        for stage, row in enumerate(rows):
            turn = left[stage][0] if left[stage] else ""
            needed = (stage - 1, turn) if turn[:1] == "F" else (stage + 1, turn)
            free = done.get(needed, -1 if not 0 <= needed[0] < stages else now) < now
            row.append(left[stage].pop(0) if turn and free else "")
        done |= {(stage, row[-1]): now for stage, row in enumerate(rows) if row[-1]}
    return rows


def time_line(stages, count):
    """A picture: a row for each stage, and a colour for each micro-batch. `count` of 1 is the whole batch at once."""
    rows = time_table(stages, count)
    busy = sum(bool(turn) for row in rows for turn in row) / len(rows) / len(rows[0])
    papers = [[None, *(int(turn[1:]) if turn else None for turn in row)] for row in rows]
    table = [[f"stage {stage}", *row] for stage, row in enumerate(rows)]
    return grids([f"time → (a colour is a micro-batch; busy {busy:.0%})", table], colours=[papers])


def versions(count):
    """Stage 0 of two with a step after each backward: the colour is the version of the weights that a turn uses."""
    (row, _), made, now, newest, papers = time_table(2, count), {}, 0, [], []
    for turn in row:
        if turn[:1] == "F":
            made[turn[1:]] = now
        papers.append(made[turn[1:]] if turn else None)
        newest.append(now)
        now += turn[:1] == "B"
    table = [["stage 0", *row], ["weights", *(f"v{version}" for version in newest)]]
    return grids(["time → (a colour is a version of the weights)", table], colours=[[[None, *papers], [None, *newest]]])
