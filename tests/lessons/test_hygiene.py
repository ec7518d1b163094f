"""Committed notebooks were built in one run and say the same on every machine."""

from notebook_rules import every_notebook, hygiene, load, report


@every_notebook
def test_hygiene(stem):
    """Counts 1..n; no stderr, path, address or time in outputs; no tag or marker that hides anything."""
    problems = hygiene(load(stem), stem)

    assert not problems, report(stem, problems)
