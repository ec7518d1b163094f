"""Helpers that several exercises of lesson 08 share."""

from coursekit.judge.exercise import almost, not_yet

LEAF_VIEW = "a view of a leaf Variable"
NO_GRAD_VIEW = "was created in no_grad mode"


def counted(named, right, rows, look, exercise):
    """The verdict on a table: the count first where several rows are wrong, and no `almost` where over half are."""
    count = f"{right} of {rows} are right. "
    if named and 2 * right >= rows:
        return almost(named, count if right < rows - 1 else "")
    says = {mistake.name: mistake.says for mistake in exercise.mistakes}
    return not_yet(count + says.get(named, look))
